// SPDX-License-Identifier: Apache-2.0
// An unmodified official TypeScript client of the newer generation (2.x), which tries the 2026 revision first and falls
// back to `initialize`. usage: node dual-client.mjs URL [denied]
import * as sdk from '@modelcontextprotocol/client';

const say = (step, value) => console.log(JSON.stringify({ step, value }));
const transport = new sdk.StreamableHTTPClientTransport(new URL(process.argv[2]));
const client = new sdk.Client({ name: 'interop', version: '1.0.0' }, { versionNegotiation: { mode: 'auto' } });
await client.connect(transport);
const args = (words) => ({ message: words, text: words }); // one server's echo takes `message`, another's `text`
if (process.argv[3] === 'denied') {
  const denied = async (name, words) => (await client.callTool({ name, arguments: args(words) })).isError ?? false;
  say('forbidden tool', await denied('get-env', 'x'));
  say('forbidden value', await denied('echo', 'x; DROP TABLE users'));
  say('permitted', await denied('echo', 'hello'));
  await client.close();
  process.exit(0);
}
say('server', client.getServerVersion().name);
say('revision', client.getNegotiatedProtocolVersion?.() ?? transport.protocolVersion);
say('tools', (await client.listTools()).tools.map((t) => t.name));
say('echo', (await client.callTool({ name: 'echo', arguments: args('hello') })).content);
await client.close();
say('end', true);
