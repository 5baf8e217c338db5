// SPDX-License-Identifier: Apache-2.0
// A server on the official TypeScript SDK with the tools, resources and prompts that the conformance suite asks for.
// usage: node conformance-server.mjs   (prints its port as the first line)
import http from 'node:http';
import { randomUUID } from 'node:crypto';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import * as T from '@modelcontextprotocol/sdk/types.js';

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

// name -> [input schema, (arguments, extra) => result]
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
  test_tool_with_logging: [plain, async (_, extra) => {
    for (const data of ['Tool execution started', 'Tool processing data', 'Tool execution completed']) {
      await extra.sendNotification({ method: 'notifications/message', params: { level: 'info', data } });
      await sleep(50);
    }
    return answer(text('Logged three times.'));
  }],
  test_tool_with_progress: [plain, async (_, extra) => {
    const progressToken = extra._meta?.progressToken;
    for (const progress of [0, 50, 100]) {
      if (progressToken !== undefined)
        await extra.sendNotification({ method: 'notifications/progress',
                                       params: { progressToken, progress, total: 100 } });
      await sleep(50);
    }
    return answer(text('Progressed.'));
  }],
  test_sampling: [needs('prompt'), async ({ prompt }, extra) => {
    const reply = await extra.sendRequest({ method: 'sampling/createMessage', params: {
      messages: [{ role: 'user', content: text(prompt) }], maxTokens: 100 } }, T.CreateMessageResultSchema);
    return answer(text(`LLM response: ${reply.content.text}`));
  }],
  test_elicitation: [needs('message'), ({ message }, extra) => elicit(extra, message, needs('username', 'email'))],
  test_elicitation_sep1034_defaults: [plain, (_, extra) => elicit(extra, 'Defaults, please.', DEFAULTS)],
  test_elicitation_sep1330_enums: [plain, (_, extra) => elicit(extra, 'Choices, please.', ENUMS)],
  test_reconnection: [plain, async (_, extra) => {
    extra.closeSSEStream?.();
    await sleep(100);
    return answer(text('The result came over the resumed stream.'));
  }],
  json_schema_2020_12_tool: [WIDE_SCHEMA, () => answer(text('ok'))],
};

async function elicit(extra, message, requestedSchema) {
  const reply = await extra.sendRequest(
    { method: 'elicitation/create', params: { message, requestedSchema } }, T.ElicitResultSchema);
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
};

function read(uri) {
  if (uri === 'test://static-text')
    return { uri, mimeType: 'text/plain', text: 'This is the content of the static text resource.' };
  if (uri === 'test://static-binary')
    return { uri, mimeType: 'image/png', blob: PIXEL };
  const id = /^test:\/\/template\/([^/]+)\/data$/.exec(uri)?.[1];
  if (id)
    return { uri, mimeType: 'application/json',
             text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }) };
  throw new T.McpError(-32602, 'Resource not found', { uri });
}

function makeServer() {
  const server = new Server({ name: 'conformance-server', version: '1.0.0' }, { capabilities: {
    tools: { listChanged: true }, resources: { subscribe: true, listChanged: true }, prompts: { listChanged: true },
    logging: {}, completions: {} } });
  const on = (schema, handler) => server.setRequestHandler(schema, handler);
  on(T.ListToolsRequestSchema, () => ({ tools: Object.entries(TOOLS).map(([name, [inputSchema]]) =>
    ({ name, description: `Conformance tool ${name}`, inputSchema })) }));
  on(T.CallToolRequestSchema, ({ params }, extra) => {
    const tool = TOOLS[params.name];
    if (!tool)
      throw new T.McpError(-32602, `Unknown tool: ${params.name}`);
    return tool[1](params.arguments ?? {}, extra);
  });
  on(T.ListResourcesRequestSchema, () => ({ resources: ['static-text', 'static-binary', 'watched-resource'].map(
    (name) => ({ uri: `test://${name}`, name, description: `Resource ${name}` })) }));
  on(T.ListResourceTemplatesRequestSchema, () => ({ resourceTemplates: [
    { uriTemplate: 'test://template/{id}/data', name: 'template', description: 'A template' }] }));
  on(T.ReadResourceRequestSchema, ({ params }) => ({ contents: [read(params.uri)] }));
  on(T.SubscribeRequestSchema, () => ({}));
  on(T.UnsubscribeRequestSchema, () => ({}));
  on(T.SetLevelRequestSchema, () => ({}));
  on(T.CompleteRequestSchema, () => ({ completion: { values: ['paris', 'park'], total: 2, hasMore: false } }));
  on(T.ListPromptsRequestSchema, () => ({ prompts: Object.entries(PROMPTS).map(([name, [names]]) => ({
    name, description: `Conformance prompt ${name}`, arguments: names.map((n) => ({ name: n, required: true })) })) }));
  on(T.GetPromptRequestSchema, ({ params }) => ({ messages: PROMPTS[params.name][1](params.arguments ?? {}) }));
  return server;
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

const sessions = new Map();

async function serve(request, response) {
  let transport = sessions.get(request.headers['mcp-session-id']);
  if (!transport) {
    if (request.headers['mcp-session-id']) {
      response.writeHead(404).end();
      return;
    }
    transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID, eventStore: new EventStore(), retryInterval: 500,
      onsessioninitialized: (id) => sessions.set(id, transport),
      onsessionclosed: (id) => sessions.delete(id),
      enableDnsRebindingProtection: true, allowedHosts,
    });
    await makeServer().connect(transport);
  }
  await transport.handleRequest(request, response);
}

let allowedHosts = [];
const listener = http.createServer((request, response) => {
  serve(request, response).catch((fault) => {
    console.error(fault);
    if (!response.headersSent)
      response.writeHead(500).end();
  });
});
listener.listen(Number(process.env.PORT ?? 0), '127.0.0.1', () => {
  const { port } = listener.address();
  allowedHosts = [`127.0.0.1:${port}`, `localhost:${port}`];
  console.log(port);
});
