// SPDX-License-Identifier: Apache-2.0
// An unmodified official TypeScript client (1.x) does what agents do and prints what it saw, one JSON line a step.
// The same lines must come whether it talks to the server or through the gate.
// usage: node ts-client.mjs URL [denied]
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import * as T from '@modelcontextprotocol/sdk/types.js';

const transport = new StreamableHTTPClientTransport(new URL(process.argv[2]));
const client = new Client({ name: 'interop', version: '1.0.0' },
                          { capabilities: { sampling: {}, elicitation: {}, roots: { listChanged: true } } });
const say = (step, value) => console.log(JSON.stringify({ step, value }));
const asked = [];
client.setRequestHandler(T.CreateMessageRequestSchema, (request) => {
  asked.push('sampling');
  return { role: 'assistant', model: 'none', stopReason: 'endTurn',
           content: { type: 'text', text: `sampled ${request.params.messages.length}` } };
});
client.setRequestHandler(T.ElicitRequestSchema, () => {
  asked.push('elicitation');
  return { action: 'decline' };
});
client.setRequestHandler(T.ListRootsRequestSchema, () => ({ roots: [{ uri: 'file:///somewhere', name: 'somewhere' }] }));

await client.connect(transport);
if (process.argv[3] === 'denied') {
  const denied = async (name, args) => (await client.callTool({ name, arguments: args })).isError ?? false;
  say('forbidden tool', await denied('get-env', {}));
  say('forbidden value', await denied('echo', { message: 'x; DROP TABLE users' }));
  say('permitted', await denied('echo', { message: 'hello' }));
  await client.close();
  process.exit(0);
}
say('server', [client.getServerVersion().name, Object.keys(client.getServerCapabilities()).sort()]);
say('revision', transport.protocolVersion);
say('ping', await client.ping());
say('tools', (await client.listTools()).tools);
say('echo', await client.callTool({ name: 'echo', arguments: { message: 'grüße \u2028 \u{1F600} "x"' } }));
say('sum', await client.callTool({ name: 'get-sum', arguments: { a: 19.99, b: 1e2 } }));
say('image', await client.callTool({ name: 'get-tiny-image', arguments: {} }));
say('structured', (await client.callTool({ name: 'get-structured-content', arguments: { location: 'Chicago' } })));
say('wrong', await client.callTool({ name: 'get-sum', arguments: { a: 'x' } }));
const progress = [];
const long = await client.callTool(
  { name: 'trigger-long-running-operation', arguments: { duration: 1, steps: 3 } }, undefined,
  { onprogress: (p) => progress.push([p.progress, Date.now()]) });
say('long', [long, progress.map(([p]) => p)]);
// The first notification came before the result was ready, not together with it.
say('streamed', progress.length > 0 && Date.now() - progress[0][1] > 300);
say('sampling', (await client.callTool({ name: 'trigger-sampling-request',
                                          arguments: { prompt: 'hi', maxTokens: 10 } })).isError ?? false);
say('elicitation', (await client.callTool({ name: 'trigger-elicitation-request', arguments: {} })).content?.length);
say('asked', asked);
say('resources', (await client.listResources()).resources.length);
const first = (await client.listResources()).resources[0];
say('read', (await client.readResource({ uri: first.uri })).contents.length);
say('templates', (await client.listResourceTemplates()).resourceTemplates.map((t) => t.uriTemplate));
say('subscribe', await client.subscribeResource({ uri: first.uri }));
say('prompts', (await client.listPrompts()).prompts.map((p) => p.name));
say('prompt', await client.getPrompt({ name: 'simple-prompt' }));
say('level', await client.setLoggingLevel('warning'));
const slow = new AbortController();
const cancelled = client.callTool({ name: 'trigger-long-running-operation', arguments: { duration: 20, steps: 2 } },
                                  undefined, { signal: slow.signal }).catch((e) => `cancelled: ${e.name}`);
setTimeout(() => slow.abort(), 200);
say('cancel', await cancelled);
const many = await Promise.all([...Array(20).keys()].map((i) =>
  client.callTool({ name: 'echo', arguments: { message: `m${i}` } })));
say('many', many.map((m) => m.content[0].text));
await transport.terminateSession();
await client.close();
say('end', true);
