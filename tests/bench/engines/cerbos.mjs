// SPDX-License-Identifier: Apache-2.0
// Cerbos as its users run it: a server on loopback, one kept connection, one request after the other.
// usage: cerbos.mjs PORT CALLS ROUNDS   Prints one JSON object: the verdicts and the median nanoseconds of a call.
import { readFileSync } from "node:fs";
import http from "node:http";

const [port, callsPath, rounds] = process.argv.slice(2);
const calls = readFileSync(callsPath, "utf8").trim().split("\n").map((line) => JSON.parse(line));
const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
const bodies = calls.map((call) => JSON.stringify({
  requestId: "1",
  principal: { id: "bot", roles: ["agent"] },
  resources: [{ actions: ["call"], resource: { kind: "tool", id: "1", attr: { tool: call.tool, args: call.arguments } } }],
}));

function ask(body) {
  return new Promise((resolve, reject) => {
    const options = { host: "127.0.0.1", port, path: "/api/check/resources", method: "POST", agent,
      headers: { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(body) } };
    const request = http.request(options, (response) => {
      let text = "";
      response.on("data", (part) => { text += part; });
      response.on("end", () => resolve(JSON.parse(text).results[0].actions.call === "EFFECT_ALLOW"));
    });
    request.on("error", reject);
    request.end(body);
  });
}

const times = [];
const verdicts = [];
for (const body of bodies) verdicts.push(await ask(body));
for (let round = 0; round < Number(rounds); round++) {
  for (const body of bodies) {
    const begin = process.hrtime.bigint();
    await ask(body);
    times.push(Number(process.hrtime.bigint() - begin));
  }
}
times.sort((a, b) => a - b);
agent.destroy();
console.log(JSON.stringify({ verdicts, p50_ns: times[times.length >> 1] }));
