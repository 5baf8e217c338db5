// SPDX-License-Identifier: Apache-2.0
// A server on the official TypeScript SDK (2.x) in both eras, with the tools, resources and prompts that the conformance suite
// asks for; other clients' plans use them too.
// usage: PORT=N node conformance-server.mjs [both | modern | json | stdio]   (modern: 2026-07-28 only; json: replies as JSON where
//        it can; stdio: as a child process, both)
import http from 'node:http';
import { randomBytes, randomUUID } from 'node:crypto';
import { NodeStreamableHTTPServerTransport, hostHeaderValidation, toNodeHandler } from '@modelcontextprotocol/node';
import { McpServer, ProtocolError, acceptedContent, classifyInboundRequest, createMcpHandler, createRequestStateCodec,
         fromJsonSchema, inputRequired } from '@modelcontextprotocol/server';

import { serveStdio } from '@modelcontextprotocol/server/stdio';

const mode = process.argv[2] ?? 'both';
const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==';
const SILENCE = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=';
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
const text = (words) => ({ type: 'text', text: words });
const resource = (uri, mimeType, words) => ({ type: 'resource', resource: { uri, mimeType, text: words } });
const image = { type: 'image', data: PIXEL, mimeType: 'image/png' };
const answer = (...content) => ({ content });
const plain = { type: 'object', properties: {} };
const needs = (...names) => ({
  type: 'object', properties: Object.fromEntries(names.map((n) => [n, { type: 'string' }])), required: names,
});

const DEFAULTS = {
  type: 'object',
  properties: {
    name: { type: 'string', default: 'John Doe' },
    age: { type: 'integer', default: 30 },
    score: { type: 'number', default: 95.5 },
    status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
    verified: { type: 'boolean', default: true },
  },
};
const titled = (word) => ['value1', 'value2', 'value3'].map((v, i) => ({ const: v, title: `${word} ${i + 1}` }));
const ENUMS = {
  type: 'object',
  properties: {
    untitledSingle: { type: 'string', enum: ['option1', 'option2', 'option3'] },
    titledSingle: { type: 'string', oneOf: titled('Option') },
    legacyEnum: { type: 'string', enum: ['opt1', 'opt2', 'opt3'], enumNames: ['One', 'Two', 'Three'] },
    untitledMulti: { type: 'array', items: { type: 'string', enum: ['option1', 'option2', 'option3'] } },
    titledMulti: { type: 'array', items: { anyOf: titled('Choice') } },
  },
};
const WIDE_SCHEMA = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  $defs: {
    address: { $anchor: 'addressDef', type: 'object',
               properties: { street: { type: 'string' }, city: { type: 'string' } } },
  },
  properties: {
    name: { type: 'string' }, address: { $ref: '#/$defs/address' },
    contactMethod: { type: 'string', enum: ['phone', 'email'] }, phone: { type: 'string' }, email: { type: 'string' },
  },
  allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
  if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
  then: { required: ['phone'] },
  else: { required: ['email'] },
  additionalProperties: false,
};

// What a tool asks its client for. In the older era the SDK puts the same questions as requests of the server.
const asks = {
  name: inputRequired.elicit({ message: 'What is your name?', requestedSchema: needs('name') }),
  confirm: inputRequired.elicit({ message: 'Sure?', requestedSchema: {
    type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'] } }),
  model: (words) => inputRequired.createMessage({
    messages: [{ role: 'user', content: text(words) }], maxTokens: 100 }),
  roots: inputRequired.listRoots(),
};
const states = createRequestStateCodec({ key: randomBytes(32) });
const given = (context, key) => acceptedContent(context.mcpReq.inputResponses, key);
const missing = (context, key) => context.mcpReq.inputResponses?.[key] === undefined;

async function tellProgress({ mcpReq }, progress) {
  const progressToken = mcpReq._meta?.progressToken;
  if (progressToken !== undefined)
    await mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress, total: 100 } });
}

// name -> [input schema, (arguments, context) => result]
const TOOLS = {
  test_simple_text: [plain, () => answer(text('This is a simple text response for testing.'))],
  test_image_content: [plain, () => answer(image)],
  test_audio_content: [plain, () => answer({ type: 'audio', data: SILENCE, mimeType: 'audio/wav' })],
  test_embedded_resource: [plain, () => answer(
    resource('test://embedded-resource', 'text/plain', 'This is an embedded resource content.'))],
  test_multiple_content_types: [plain, () => answer(text('Multiple content types test:'), image,
    resource('test://mixed-content-resource', 'application/json', '{"test":"data","value":123}'))],
  test_error_handling: [plain, () => ({
    isError: true, content: [text('This tool intentionally returns an error for testing')] })],
  test_tool_with_logging: [plain, async (_, context) => {
    for (const data of ['Tool execution started', 'Tool processing data', 'Tool execution completed']) {
      await context.mcpReq.log('info', data);
      await sleep(50);
    }
    return answer(text('Logged three times.'));
  }],
  test_tool_with_progress: [plain, async (_, context) => {
    for (const progress of [0, 50, 100]) {
      await tellProgress(context, progress);
      await sleep(300); // so that a client that is held up still hears the first long before the result
    }
    return answer(text('Progressed.'));
  }],
  test_sampling: [needs('prompt'), async ({ prompt }, context) => {
    const reply = await context.mcpReq.send({ method: 'sampling/createMessage', params: {
      messages: [{ role: 'user', content: text(prompt) }], maxTokens: 100 } });
    return answer(text(`LLM response: ${reply.content.text}`));
  }],
  test_elicitation: [needs('message'), ({ message }, context) => elicit(context, message, needs('username', 'email'))],
  test_elicitation_sep1034_defaults: [plain, (_, context) => elicit(context, 'Defaults, please.', DEFAULTS)],
  test_elicitation_sep1330_enums: [plain, (_, context) => elicit(context, 'Choices, please.', ENUMS)],
  test_reconnection: [plain, async (_, context) => {
    context.http?.closeSSE?.();
    await sleep(100);
    return answer(text('The result came over the resumed stream.'));
  }],
  json_schema_2020_12_tool: [WIDE_SCHEMA, () => answer(text('ok'))],
  test_x_mcp_header: [{ type: 'object', properties: {
    region: { type: 'string', 'x-mcp-header': 'Region' }, level: { type: 'integer' } } },
    ({ region }) => answer(text(`region=${region}`))],

  // The newer era.
  test_missing_capability: [plain, (_, context) => missing(context, 'model')
    ? inputRequired({ inputRequests: { model: asks.model('Say: pong') } }) : answer(text('sampled'))],
  test_streaming_elicitation: [plain, () => answer(text('No request stands on this stream.'))],
  test_logging_tool: [plain, async (_, context) => {
    await context.mcpReq.log('info', 'only for who asked for it');
    return answer(text('Logged.'));
  }],
  test_input_required_result_elicitation: [plain, (_, context) => given(context, 'user_name')
    ? answer(text(`Hello, ${given(context, 'user_name').name}!`)) : inputRequired({ inputRequests: { user_name: asks.name } })],
  test_input_required_result_sampling: [plain, (_, context) => missing(context, 'capital')
    ? inputRequired({ inputRequests: { capital: asks.model('What is the capital of France?') } })
    : answer(text(`Sampled: ${context.mcpReq.inputResponses.capital.content?.text}`))],
  test_input_required_result_list_roots: [plain, (_, context) => missing(context, 'roots')
    ? inputRequired({ inputRequests: { roots: asks.roots } })
    : answer(text(`Roots: ${context.mcpReq.inputResponses.roots.roots?.map((r) => r.uri).join(' ')}`))],
  test_input_required_result_request_state: [plain, async (_, context) => given(context, 'confirm')
    ? answer(text(`state-ok: ${context.mcpReq.requestState().tool}`))
    : inputRequired({ inputRequests: { confirm: asks.confirm }, requestState: await states.mint({ tool: 'state' }) })],
  test_input_required_result_tampered_state: [plain, async (_, context) => given(context, 'confirm') && context.mcpReq.requestState()
    ? answer(text('integrity-ok'))
    : inputRequired({ inputRequests: { confirm: asks.confirm }, requestState: await states.mint({ tool: 'tampered' }) })],
  test_input_required_result_multiple_inputs: [plain, async (_, context) =>
    ['user_name', 'greeting', 'roots'].some((key) => missing(context, key))
      ? inputRequired({ inputRequests: { user_name: asks.name, greeting: asks.model('Greet!'), roots: asks.roots },
                        requestState: await states.mint({ tool: 'multiple' }) })
      : answer(text(`Hello, ${given(context, 'user_name')?.name}`))],
  test_input_required_result_multi_round: [plain, async (_, context) => {
    const round = context.mcpReq.requestState()?.round ?? 0;
    const step = (n) => inputRequired.elicit({ message: `Step ${n}`, requestedSchema: needs(n === 1 ? 'name' : 'color') });
    if (round < 2)
      return inputRequired({ inputRequests: { [`step${round + 1}`]: step(round + 1) },
                             requestState: await states.mint({ round: round + 1, name: given(context, 'step1')?.name }) });
    return answer(text(`${context.mcpReq.requestState().name} likes ${given(context, 'step2')?.color}`));
  }],
  test_input_required_result_capabilities: [plain, (_, context) => {
    const may = context.mcpReq.envelope?.['io.modelcontextprotocol/clientCapabilities'] ?? {};
    const inputRequests = { ...(may.elicitation && { user_name: asks.name }), ...(may.sampling && { greeting: asks.model('Greet!') }),
                            ...(may.roots && { roots: asks.roots }) };
    return context.mcpReq.inputResponses || !Object.keys(inputRequests).length ? answer(text('Enough.'))
                                                                               : inputRequired({ inputRequests });
  }],
  test_trigger_tool_change: [plain, () => (modern.notify.toolsChanged(), answer(text('told')))],
  test_trigger_prompt_change: [plain, () => (modern.notify.promptsChanged(), answer(text('told')))],
  test_trigger_resource_update: [plain, () => (modern.notify.resourceUpdated('test://watched-resource'), answer(text('told')))],

  // For the plans of other clients.
  echo: [needs('message'), ({ message }) => answer(text(message))],
  big: [{ type: 'object', properties: { bytes: { type: 'integer' } } }, ({ bytes }) => answer(text('x'.repeat(bytes)))],
  slow: [plain, async (_, context) => { // says when it has begun, and is over at once where its client gives it up
    const abort = new Promise((done) => context.mcpReq.signal.addEventListener('abort', done));
    await tellProgress(context, 0);
    await Promise.race([sleep(30000), abort]);
    return answer(text('slept'));
  }],
  forbidden: [plain, () => answer(text('This ran.'))],
};

async function elicit(context, message, requestedSchema) {
  const reply = await context.mcpReq.send({ method: 'elicitation/create', params: { message, requestedSchema } });
  return answer(text(`User response: ${reply.action}, content: ${JSON.stringify(reply.content)}`));
}

const user = (content) => ({ role: 'user', content });
const PROMPTS = {
  test_simple_prompt: [[], () => [user(text('This is a simple prompt for testing.'))]],
  test_prompt_with_arguments: [['arg1', 'arg2'], ({ arg1, arg2 }) =>
    [user(text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`))]],
  test_prompt_with_embedded_resource: [['resourceUri'], ({ resourceUri }) =>
    [user(resource(resourceUri, 'text/plain', 'Embedded resource content for testing.')),
     user(text('Please process the embedded resource above.'))]],
  test_prompt_with_image: [[], () => [user(image), user(text('Please analyze the image above.'))]],
  test_input_required_result_prompt: [[], (_, context) => given(context, 'user_context')
    ? [user(text(`Use the following context: ${given(context, 'user_context').context}`))]
    : inputRequired({ inputRequests: { user_context: inputRequired.elicit({ message: 'Context?', requestedSchema: needs('context') }) } })],
};

function read(uri) {
  if (uri === 'test://static-text' || uri === 'test://watched-resource')
    return { uri, mimeType: 'text/plain', text: 'This is the content of the static text resource.' };
  if (uri === 'test://static-binary')
    return { uri, mimeType: 'image/png', blob: PIXEL };
  const id = /^test:\/\/template\/([^/]+)\/data$/.exec(uri)?.[1];
  if (id)
    return { uri, mimeType: 'application/json',
             text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }) };
  throw new ProtocolError(-32602, 'Resource not found', { uri });
}

function makeServer() {
  const made = new McpServer({ name: 'conformance-server', version: '1.0.0' }, {
    capabilities: { tools: { listChanged: true }, resources: { subscribe: true, listChanged: true },
                    prompts: { listChanged: true }, logging: {}, completions: {} },
    requestState: { verify: states.verify } });
  for (const [name, [schema, work]] of Object.entries(TOOLS))
    made.registerTool(name, { description: `Conformance tool ${name}`, inputSchema: fromJsonSchema(schema) }, work);
  const on = (method, handler) => made.server.setRequestHandler(method, handler);
  on('resources/list', () => ({ resources: ['static-text', 'static-binary', 'watched-resource'].map(
    (name) => ({ uri: `test://${name}`, name, description: `Resource ${name}` })) }));
  on('resources/templates/list', () => ({ resourceTemplates: [
    { uriTemplate: 'test://template/{id}/data', name: 'template', description: 'A template' }] }));
  on('resources/read', ({ params }) => ({ contents: [read(params.uri)] }));
  on('resources/subscribe', () => ({}));
  on('resources/unsubscribe', () => ({}));
  on('completion/complete', () => ({ completion: { values: ['paris', 'park'], total: 2, hasMore: false } }));
  on('prompts/list', () => ({ prompts: Object.entries(PROMPTS).map(([name, [names]]) => ({
    name, description: `Conformance prompt ${name}`, arguments: names.map((n) => ({ name: n, required: true })) })) }));
  on('prompts/get', ({ params }, context) => {
    const answer = PROMPTS[params.name][1](params.arguments ?? {}, context);
    return Array.isArray(answer) ? { messages: answer } : answer;
  });
  return made;
}

// Events are kept so that a client can resume with Last-Event-ID.
class EventStore {
  events = [];
  async storeEvent(stream, message) {
    this.events.push({ id: `${stream}_${this.events.length}`, stream, message });
    return this.events.at(-1).id;
  }
  async replayEventsAfter(last, { send }) {
    const from = this.events.findIndex((e) => e.id === last);
    const stream = this.events[from]?.stream;
    for (const e of this.events.slice(from + 1))
      if (e.stream === stream)
        await send(e.id, e.message);
    return stream;
  }
}

const modern = createMcpHandler(makeServer, { legacy: 'reject', responseMode: mode === 'json' ? 'json' : 'auto',
                                              onerror: (fault) => console.error(fault) });
const serveModern = toNodeHandler(modern);
const sessions = new Map();

async function bodyOf(request) {
  const parts = [];
  for await (const part of request)
    parts.push(part);
  try {
    return parts.length ? JSON.parse(Buffer.concat(parts)) : undefined;
  } catch {
    return Buffer.concat(parts).toString(); // what is no JSON is no message either
  }
}

async function serveSession(request, response, body) {
  const named = request.headers['mcp-session-id'];
  let transport = sessions.get(named);
  if (!transport) {
    if (named) {
      response.writeHead(404).end();
      return;
    }
    transport = new NodeStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID, eventStore: new EventStore(), retryInterval: 500,
      enableJsonResponse: mode === 'json',
      onsessioninitialized: (id) => sessions.set(id, transport),
      onsessionclosed: (id) => sessions.delete(id),
    });
    await makeServer().connect(transport);
  }
  await transport.handleRequest(request, response, body);
}

const hostIsOurs = hostHeaderValidation(['127.0.0.1', 'localhost']);

async function serve(request, response) {
  if (!hostIsOurs(request, response))
    return;
  const body = await bodyOf(request);
  const { kind } = classifyInboundRequest({ httpMethod: request.method, body,
    protocolVersionHeader: request.headers['mcp-protocol-version'], mcpMethodHeader: request.headers['mcp-method'] });
  if (kind === 'legacy' && mode !== 'modern')
    await serveSession(request, response, body);
  else
    await serveModern(request, response, body);
}

if (mode === 'stdio')
  serveStdio(makeServer);
else http.createServer((request, response) => {
  serve(request, response).catch((fault) => {
    console.error(fault);
    if (!response.headersSent)
      response.writeHead(500).end();
  });
}).listen(Number(process.env.PORT ?? 0), '127.0.0.1');
