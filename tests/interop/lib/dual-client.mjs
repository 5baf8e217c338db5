// SPDX-License-Identifier: Apache-2.0
// An unmodified official TypeScript client of the newer generation (2.x), which tries the 2026 revision first and falls
// back to `initialize`. usage: node dual-client.mjs URL
import * as sdk from '@modelcontextprotocol/client';

const say = (step, value) => console.log(JSON.stringify({ step, value }));
const transport = new sdk.StreamableHTTPClientTransport(new URL(process.argv[2]));
const client = new sdk.Client({ name: 'interop', version: '1.0.0' }, { versionNegotiation: { mode: 'auto' } });
await client.connect(transport);
say('server', client.getServerVersion().name);
say('revision', client.getNegotiatedProtocolVersion?.() ?? transport.protocolVersion);
say('tools', (await client.listTools()).tools.map((t) => t.name));
say('echo', (await client.callTool({ name: process.argv[3] ?? 'echo', arguments: { message: 'hello', text: 'hello' } })).content);
await client.close();
say('end', true);
