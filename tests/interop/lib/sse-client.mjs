// SPDX-License-Identifier: Apache-2.0
// An unmodified official TypeScript client over HTTP+SSE (2024-11-05) does what agents do and prints one JSON line a step.
// usage: node sse-client.mjs URL [denied]
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import * as T from '@modelcontextprotocol/sdk/types.js';

const client = new Client({ name: 'interop', version: '1.0.0' }, { capabilities: { sampling: {}, roots: { listChanged: true } } });
const say = (step, value) => console.log(JSON.stringify({ step, value }));
const call = (name, args, options) => client.callTool({ name, arguments: args }, undefined, options);
client.setRequestHandler(T.CreateMessageRequestSchema, () => (
  { role: 'assistant', model: 'none', stopReason: 'endTurn', content: { type: 'text', text: 'sampled' } }));
client.setRequestHandler(T.ListRootsRequestSchema, () => ({ roots: [{ uri: 'file:///somewhere', name: 'somewhere' }] }));

await client.connect(new SSEClientTransport(new URL(process.argv[2])));
say('tools', (await client.listTools()).tools.map((tool) => tool.name));
if (process.argv[3] === 'denied') {
  const denied = async (name, args) => (await call(name, args)).isError ?? false;
  say('forbidden tool', await denied('get-env', {}));
  say('forbidden value', await denied('echo', { message: 'x; DROP TABLE users' }));
  say('permitted', await denied('echo', { message: 'hello' }));
} else {
  say('server', [client.getServerVersion().name, Object.keys(client.getServerCapabilities()).sort()]);
  say('ping', await client.ping());
  say('echo', await call('echo', { message: 'grüße \u2028 \u{1F600} "x"' }));
  say('image', await call('get-tiny-image', {}));
  const seen = [];
  const long = await call('trigger-long-running-operation', { duration: 1, steps: 3 },
                          { onprogress: ({ progress }) => seen.push(progress) });
  say('progress', [long, seen]);
  say('sampling', (await call('trigger-sampling-request', { prompt: 'hi', maxTokens: 10 })).isError ?? false);
  say('resources', (await client.listResources()).resources.length);
  say('prompt', await client.getPrompt({ name: 'simple-prompt' }));
  const many = await Promise.all([...Array(20).keys()].map((i) => call('echo', { message: `m${i}` })));
  say('many', many.map((one) => one.content[0].text));
}
await client.close();
say('end', true);
