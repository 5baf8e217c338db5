// SPDX-License-Identifier: Apache-2.0
// 4.16: Node's own readers behind a pipe, for tests/oracle/differential: node:http's server and client, and JSON.parse.
//
// A question is `WHAT BYTES MORE\n` and so many bytes twice; its answer is one line of JSON.
//     json            the document and our canonical bytes of it: {"same": true, false, or null where Node refuses the document}
//     http-request    what a connection brings: {"messages": [{"method", "target", "headers": [[NAME, VALUE]], "body", "whole"}]} in hex
//     http-reply METHOD is asked as `METHOD`: one reply, with "status" in place of method and target
import http from 'node:http';
import { Duplex } from 'node:stream';
import { isDeepStrictEqual } from 'node:util';

// One end of a connection: what came is all that comes, at once or when something was asked; what is written goes nowhere.
class Wire extends Duplex {
  constructor(bytes, asks) { super(); this.bytes = bytes; if (!asks) this.bring(); }
  bring() { if (this.bytes) { this.push(this.bytes); this.push(null); this.bytes = null; } }
  _read() {}
  _write(piece, encoding, done) { done(); this.bring(); }
  setTimeout() { return this; }
  setNoDelay() { return this; }
  setKeepAlive() { return this; }
  ref() { return this; }
  unref() { return this; }
}

const hex = (text) => Buffer.from(text, 'latin1').toString('hex');
const pairs = (raw) => raw.flatMap((name, at) => (at % 2 ? [] : [[hex(name), hex(raw[at + 1])]]));

function collect(message, into) {
  const pieces = [];
  into.headers = pairs(message.rawHeaders);
  into.whole = false;
  message.on('data', (piece) => pieces.push(piece));
  message.on('error', () => {});
  return new Promise((done) => {
    message.on('end', () => { into.whole = message.complete; into.body = Buffer.concat(pieces).toString('hex'); done(); });
    message.on('close', done);
  });
}

let seen;
const server = http.createServer({ keepAliveTimeout: 0 }, onRequest);
function onRequest(request, response) {
  const message = { method: request.method, target: hex(request.url) };
  seen.push(message);
  collect(request, message).then(() => response.end());
}
server.on('checkContinue', onRequest);
server.on('checkExpectation', onRequest);
server.on('clientError', (error, wire) => setImmediate(() => wire.destroy())); // what came before is told first
server.timeout = server.headersTimeout = server.requestTimeout = 0;
await new Promise((done) => server.listen(0, '127.0.0.1', done)); // it sets itself up when it listens

function readRequests(bytes) {
  seen = [];
  const wire = new Wire(bytes);
  wire.on('error', () => {});
  return new Promise((done) => {
    wire.on('close', () => done({ messages: seen.filter((one) => one.whole) }));
    server.emit('connection', wire);
  });
}

function readReply(bytes, method) {
  return new Promise((done) => {
    const message = {};
    const finish = () => done({ messages: message.whole ? [message] : [] });
    const request = http.request({ method, createConnection: () => new Wire(bytes, true) });
    request.on('response', (response) => { message.status = response.statusCode; collect(response, message).then(finish); });
    request.on('upgrade', finish);
    request.on('error', () => setImmediate(finish)); // about what follows a message that it may be telling still
    request.end();
  });
}

function readJson(bytes, canonical) {
  try {
    return { same: isDeepStrictEqual(JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)),
                                     JSON.parse(canonical.toString())) };
  } catch (error) {
    return { same: null };
  }
}

function answer(what, bytes, more) {
  if (what === 'json') return readJson(bytes, more);
  return what === 'http-request' ? readRequests(bytes) : readReply(bytes, what);
}

let waiting = Buffer.alloc(0);
for await (const piece of process.stdin) {
  waiting = Buffer.concat([waiting, piece]);
  for (;;) {
    const end = waiting.indexOf(10);
    if (end < 0) break;
    const [what, ...sizes] = waiting.subarray(0, end).toString().split(' ');
    const [first, second] = sizes.map(Number);
    if (waiting.length < end + 1 + first + second) break;
    const bytes = waiting.subarray(end + 1, end + 1 + first), more = waiting.subarray(end + 1 + first, end + 1 + first + second);
    waiting = Buffer.from(waiting.subarray(end + 1 + first + second));
    process.stdout.write(JSON.stringify(await answer(what, bytes, more)) + '\n');
  }
}
process.exit(0);
