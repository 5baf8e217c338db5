// SPDX-License-Identifier: Apache-2.0
// A server on the official TypeScript SDK (1.x) behind its own middleware for protected resources: it verifies the provider's tokens,
// points at its metadata, and wants a scope more for one tool.
// usage: PORT=N node protected-server.mjs ISSUER
import { createRequire } from 'node:module';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { requireBearerAuth } from '@modelcontextprotocol/sdk/server/auth/middleware/bearerAuth.js';
import { getOAuthProtectedResourceMetadataUrl, mcpAuthMetadataRouter } from '@modelcontextprotocol/sdk/server/auth/router.js';
import { InvalidTokenError } from '@modelcontextprotocol/sdk/server/auth/errors.js';
import { createRemoteJWKSet, jwtVerify } from 'jose';

const express = createRequire(import.meta.url)('express');
const issuer = process.argv[2];
const here = new URL(`http://127.0.0.1:${process.env.PORT}/inner/mcp`);
const metadata = await (await fetch(`${issuer}/.well-known/openid-configuration`)).json();
const keys = createRemoteJWKSet(new URL(metadata.jwks_uri));
const verifier = { verifyAccessToken: async (token) => {
  const { payload } = await jwtVerify(token, keys, { issuer }).catch((error) => { throw new InvalidTokenError(error.code ?? 'no'); });
  return { token, clientId: payload.client_id, scopes: (payload.scope ?? '').split(' '), expiresAt: payload.exp, resource: new URL(payload.aud),
           extra: { sub: payload.sub } };
} };

const guarded = (scopes) => requireBearerAuth({ verifier, requiredScopes: scopes, resourceMetadataUrl: getOAuthProtectedResourceMetadataUrl(here) });
const app = express();
app.use(mcpAuthMetadataRouter({ oauthMetadata: metadata, resourceServerUrl: here, scopesSupported: ['tools:read'], resourceName: 'inner' }));
app.use(express.json());
app.post('/inner/mcp', (request, response, next) =>
  guarded(request.body?.params?.name === 'write' ? ['tools:read', 'tools:write'] : ['tools:read'])(request, response, next),
async (request, response) => {
  const server = new McpServer({ name: 'protected', version: '1.0.0' });
  for (const name of ['who', 'write'])
    server.registerTool(name, {}, ({ authInfo }) => ({ content: [{ type: 'text', text: `${authInfo.extra.sub} ${authInfo.resource.href}` }] }));
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined, enableJsonResponse: true });
  response.on('close', () => { transport.close(); server.close(); });
  await server.connect(transport);
  await transport.handleRequest(request, response, request.body);
});
app.all('/inner/mcp', (_, response) => response.status(405).end());
app.listen(Number(process.env.PORT), '127.0.0.1');
