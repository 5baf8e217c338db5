// SPDX-License-Identifier: Apache-2.0
// An unmodified official TypeScript client does the steps of a plan and prints what it saw, one JSON line a step: the same
// lines must come whether it talks to the server or through the gate. The steps are in interop.py.
// usage: node ts-client.mjs GENERATION TARGET PLAN MODE
//   GENERATION: 1 or 2   TARGET: a URL, or a JSON list: a command that speaks over stdio   MODE: legacy, auto, or a revision
const [generation, target, plan, mode] = process.argv.slice(2);
const old = generation === '1';
const at = old ? '@modelcontextprotocol/sdk/client' : '@modelcontextprotocol/client';
const { Client } = await import(old ? `${at}/index.js` : at);
const { StreamableHTTPClientTransport } = await import(old ? `${at}/streamableHttp.js` : at);
const { StdioClientTransport } = await import(old ? `${at}/stdio.js` : `${at}/stdio`);
const T = old ? await import('@modelcontextprotocol/sdk/types.js') : {};

const logs = [], asked = [], told = [], pages = [];
// URLS=1: a person's browser is at hand; the client says so.
const capabilities = { sampling: {}, elicitation: process.env.URLS ? { form: {}, url: {} } : {}, roots: { listChanged: true } };
const negotiation = mode === 'legacy' || mode === 'auto' ? mode : { pin: mode };
const person = process.env.OAUTH && new (await import('./oauth.mjs')).Person();
const client = new Client({ name: 'interop', version: '1.0.0' },
                          { capabilities, ...(!old && { versionNegotiation: { mode: negotiation } }) });
const ANSWERS = { ok: true, age: 7, score: 1.5, verified: false };
const on = (schema, method, answer) => client.setRequestHandler(old ? T[schema] : method, (request) => {
  asked.push(method);
  return answer(request.params);
});
on('CreateMessageRequestSchema', 'sampling/createMessage', ({ messages }) => (
  { role: 'assistant', model: 'none', stopReason: 'endTurn', content: { type: 'text', text: `sampled ${messages.length}` } }));
on('ElicitRequestSchema', 'elicitation/create', ({ mode, url, message, requestedSchema }) => {
  if (mode !== 'url')
    return { action: 'accept', content: Object.fromEntries((requestedSchema?.required ?? []).map((key) => [key, ANSWERS[key] ?? 'given'])) };
  pages.push({ url, message });
  return { action: 'accept' };
});
on('ListRootsRequestSchema', 'roots/list', () => ({ roots: [{ uri: 'file:///somewhere', name: 'somewhere' }] }));
const hear = (schema, method, listener) => client.setNotificationHandler(old ? T[schema] : method, listener);
hear('LoggingMessageNotificationSchema', 'notifications/message', ({ params }) => { logs.push(params.data); });
for (const [schema, method] of [['ToolListChangedNotificationSchema', 'notifications/tools/list_changed'],
                                ['ResourceUpdatedNotificationSchema', 'notifications/resources/updated']])
  hear(schema, method, () => { told.push(method); });

const open = () => target.startsWith('[')
  ? new StdioClientTransport({ command: JSON.parse(target)[0], args: JSON.parse(target).slice(1), env: process.env })
  : new StreamableHTTPClientTransport(new URL(target), process.env.BEARER ? { requestInit: { headers: { Authorization: `Bearer ${process.env.BEARER}` } } }
                                                                          : person && { authProvider: person });
let transport = open();
// A client that has sent its person to the provider's pages waits to be told what came of it.
const authorized = (act) => act().catch(async (error) => {
  if (!person?.callback)
    throw error;
  person.finishing = person.callback;
  delete person.callback;
  const { words } = person.finishing;
  await transport.finishAuth(old ? words.get('code') : words);
  return act(true);
});
const until = async (question) => {
  for (let turn = 0; turn < 1000 && !question(); turn++)
    await new Promise((done) => setTimeout(done, 20));
};
const call = (name, args, options) => old ? client.callTool({ name, arguments: args }, undefined, options)
                                          : client.callTool({ name, arguments: args }, options);

const STEPS = {
  server: () => [client.getServerVersion()?.name, Object.keys(client.getServerCapabilities()).sort()],
  revision: () => client.getNegotiatedProtocolVersion?.() ?? transport.protocolVersion,
  ping: () => client.ping(),
  tools: () => client.listTools(),
  call: (name, args) => call(name, args),
  progress: async (name, args) => {
    // The first comes before the result is ready, not together with it. Who was held up meanwhile hears both at once, and asks again.
    for (let turn = 1; ; turn++) {
      const seen = [];
      const result = await call(name, args, { onprogress: ({ progress }) => seen.push([progress, Date.now()]) });
      const is_early = seen.length > 0 && Date.now() - seen[0][1] > 60;
      if (is_early || turn === 5)
        return [result, seen.map(([progress]) => progress), is_early];
    }
  },
  cancel: async (name, args, seconds) => {
    const abort = new AbortController();
    if (seconds)
      setTimeout(() => abort.abort(), seconds * 1000);
    return call(name, args, { signal: abort.signal, ...!seconds && { onprogress: () => abort.abort() } }).then(() => 'answered', () => 'cancelled');
  },
  many: (name, args, count) => Promise.all([...Array(count).keys()].map((i) => call(name, { ...args, message: `m${i}` }))),
  size: async (name, args) => (await call(name, args)).content[0].text.length,
  resources: () => client.listResources(),
  templates: () => client.listResourceTemplates(),
  read: (uri) => client.readResource({ uri }),
  subscribe: (uri) => client.subscribeResource({ uri }),
  listen: async (uri) => {
    const stream = await client.listen({ toolsListChanged: true, resourceSubscriptions: [uri] });
    await call('test_trigger_tool_change', {});
    await call('test_trigger_resource_update', {});
    await until(() => told.length >= 2);
    await stream.close();
    return told;
  },
  prompts: () => client.listPrompts(),
  prompt: (name, args) => client.getPrompt({ name, arguments: args }),
  complete: (name, argument, value) => client.complete({ ref: { type: 'ref/prompt', name }, argument: { name: argument, value } }),
  level: (level) => client.setLoggingLevel(level),
  logs: async (count) => (await until(() => logs.length >= count), logs),
  asked: () => asked,
  // Pages that somebody was to open: by a question, or by an error as clients throw it.
  offered: async (name, args) => {
    const result = await call(name, args).catch((error) => error);
    return { pages: [...pages, ...(result.elicitations ?? result.data?.elicitations ?? [])], code: result.code ?? null,
             denial: result._meta?.['dev.callgate/denial']?.code ?? null, text: result.content?.[0]?.text ?? null };
  },
  // Waits for a line on its standard input.
  line: () => new Promise((done) => process.stdin.once('data', () => { process.stdin.pause(); done(); })),
  sleep: (seconds) => new Promise((done) => setTimeout(done, seconds * 1000)),
  oauth: () => person.events,
};

const say = (step, value = null) => console.log(JSON.stringify({ step, value }));
await authorized((again) => client.connect(transport = again ? open() : transport));
for (const [step, ...words] of JSON.parse(plan))
  say([step, ...words], await authorized(async () => STEPS[step](...words)).catch((e) => `${e.name} ${e.code}: ${e.message}`));
await transport.terminateSession?.();
await client.close();
say('end', true);
