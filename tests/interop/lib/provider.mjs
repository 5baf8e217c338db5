// SPDX-License-Identifier: Apache-2.0
// A real authorization server on loopback, on npm `oidc-provider`: what identity scenarios ask for tokens. It discovers, registers
// clients, gives codes with PKCE, refreshes, serves devices and services, exchanges tokens (RFC 8693), introspects and revokes;
// tokens are JWTs for the resource that was asked for (RFC 8707, 9068), bound by DPoP or a certificate where the client wants that.
// Its people say yes at once: whoever walks /auth with a jar of cookies comes to the redirect URI. Tests steer it below /test.
// usage: node provider.mjs '{"tls": {"certificate": FILE, "key": FILE, "authority": FILE}, "path": "/realms/corp", "clients": […],
//   "accounts": {NAME: CLAIMS}, "claims": [those of them that stand in ID tokens], "scopes": […],
//   "resources": {URL: {scope, opaque, algorithm, seconds}}, "seconds": 300,
//   "entra": {"api": ID, "tenant": ID, "client": ID}}'
// With `entra` it behaves as Microsoft documents its v2.0 endpoints, and as clients' threads tell (November 2026): nobody registers, by
// RFC 7591 or by a document; `resource` other than the API's URI is refused (AADSTS9010010), and so is a scope without it; there is no
// metadata by RFC 8414, none says `code_challenge_methods_supported`, and no answer has `iss`; access tokens are v2.0's, with `typ` JWT.
// Prints one line when it is ready: {"issuer": URL, "port": NUMBER}.
import { createServer } from 'node:http';
import { createServer as createSecure } from 'node:https';
import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Provider, errors } from 'oidc-provider';
import { SignJWT, importJWK, jwtVerify } from 'jose';

const EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange';
const ACCESS = 'urn:ietf:params:oauth:token-type:access_token';
const DEVICE = 'urn:ietf:params:oauth:grant-type:device_code';
const options = { path: '', accounts: {}, resources: {}, seconds: 300, scopes: ['tools:read', 'tools:write', 'tools:admin'],
                  ...JSON.parse(process.argv[2] ?? '{}') };
const { tls } = options;
// Whose browser it is, what exchanges answer as subject, and answers that are not the server's own: [path, {status, headers, body, delay, late}].
const state = { login: Object.keys(options.accounts)[0] ?? 'alice', exchanged: null, faults: new Map(), seen: {}, under: 0, issued: null };
let keys = [], provider, origin;

class Adapter {
  static all = new Map();
  constructor(model) { this.model = model; }
  at(id) { return `${this.model} ${id}`; }
  where(test) { return [...Adapter.all].find(([at, value]) => at.startsWith(`${this.model} `) && test(value))?.[1]; }
  async upsert(id, payload) { Adapter.all.set(this.at(id), payload); }
  async find(id) { return Adapter.all.get(this.at(id)); }
  async findByUid(uid) { return this.where((value) => value.uid === uid); }
  async findByUserCode(code) { return this.where((value) => value.userCode === code); }
  async consume(id) {
    const mark = () => { const value = Adapter.all.get(this.at(id)); value && (value.consumed = Math.floor(Date.now() / 1000)); };
    this.model === 'RefreshToken' && options.graceMs ? setTimeout(mark, options.graceMs) : mark();
  }
  async destroy(id) { Adapter.all.delete(this.at(id)); }
  async revokeByGrantId(grant) {
    for (const [at, value] of Adapter.all)
      if (value.grantId === grant)
        Adapter.all.delete(at);
  }
}

const makeKeys = () => [['RS256', 'rsa', { modulusLength: 2048 }], ['ES256', 'ec', { namedCurve: 'P-256' }], ['EdDSA', 'ed25519', {}]]
  .map(([alg, type, more]) => ({ ...generateKeyPairSync(type, more).privateKey.export({ format: 'jwk' }), use: 'sig',
                                kid: randomUUID(), ...(type !== 'rsa' && { alg }) }));
const keyFor = (alg) => keys.find((key) => key.kty === { R: 'RSA', P: 'RSA', E: alg === 'EdDSA' ? 'OKP' : 'EC' }[alg[0]]);
const claimsOf = (account) => options.accounts[account] ?? {};

const { entra } = options;
const api = entra && `api://${entra.api}`;
const OPENID = ['openid', 'profile', 'email', 'offline_access'];

// What Entra ID's v2.0 access tokens hold; `groups`, or what stands in their place where they are too many, are the account's claims.
function asEntra(token, jwt) {
  const { iss, iat, exp, sub, client_id, scope } = jwt.payload;
  jwt.header = { typ: 'JWT' };
  jwt.payload = { aud: entra.api, iss, iat, nbf: iat, exp, azp: client_id, azpacr: '0', oid: `00000000-${sub}`, sub: `pairwise-${sub}`,
                  scp: scope?.split(' ').filter((one) => one.startsWith(api)).map((one) => one.slice(api.length + 1)).join(' '),
                  tid: entra.tenant, ver: '2.0', ...claimsOf(token.accountId) };
}

// What it refuses before anything else.
async function refuseAsEntra(ctx, next) {
  if (ctx.path.startsWith('/.well-known/oauth-authorization-server') || ctx.path === '/reg') {
    ctx.status = 404;
    return;
  }
  await next();
  if (ctx.path.startsWith('/.well-known/'))
    for (const name of ['code_challenge_methods_supported', 'authorization_response_iss_parameter_supported', 'registration_endpoint'])
      delete ctx.body?.[name];
  const location = ctx.response.get('location');
  if (location?.includes('iss='))
    ctx.set('location', location.replace(/&?iss=[^&]*/, ''));
}

function wanted(ctx, url) {
  const scopes = (ctx.oidc.params.scope ?? '').split(' ').filter((one) => one && !OPENID.includes(one));
  if (entra && url !== api)
    throw new errors.InvalidTarget("AADSTS9010010: The resource parameter provided in the request doesn't match with the requested scopes.");
  if (entra && scopes.some((one) => !one.startsWith(`${api}/`)))
    throw new errors.InvalidScope("AADSTS650053: The application asked for a scope that doesn't exist on the resource.");
  return resourceServer(url);
}

function resourceServer(url) {
  const { scope, opaque, algorithm, seconds } = options.resources[url] ?? {};
  return { scope: (scope ? scope.split(' ') : options.scopes).join(' '), audience: url, accessTokenTTL: seconds ?? options.seconds,
           accessTokenFormat: opaque ? 'opaque' : 'jwt', jwt: { sign: { alg: algorithm ?? 'RS256' } } };
}

const configuration = () => ({
  adapter: Adapter, jwks: { keys },
  clients: [
    { client_id: 'gate', client_secret: 'gate-secret', grant_types: ['client_credentials', EXCHANGE], redirect_uris: [], response_types: [] },
    { client_id: 'service', client_secret: 'service-secret', grant_types: ['client_credentials'], redirect_uris: [], response_types: [] },
    { client_id: 'command', token_endpoint_auth_method: 'none', grant_types: [DEVICE, 'refresh_token'], redirect_uris: [], response_types: [] },
    { client_id: 'app', token_endpoint_auth_method: 'none', grant_types: ['authorization_code', 'refresh_token'],
      redirect_uris: ['http://127.0.0.1/callback'], application_type: 'native' },
    ...(tls ? [{ client_id: 'bound', token_endpoint_auth_method: 'tls_client_auth', tls_client_auth_subject_dn: 'CN=bound',
                 tls_client_certificate_bound_access_tokens: true, grant_types: ['client_credentials'], redirect_uris: [],
                 response_types: [] }] : []),
    ...entra ? [{ client_id: entra.client, token_endpoint_auth_method: 'none', grant_types: ['authorization_code', 'refresh_token'],
                  redirect_uris: ['http://127.0.0.1/callback'], application_type: 'native' }] : [],
    ...options.clients ?? []],
  scopes: ['openid', 'offline_access', ...options.scopes],
  clientAuthMethods: ['client_secret_basic', 'client_secret_post', 'private_key_jwt', 'none', ...(tls ? ['tls_client_auth'] : [])],
  features: {
    devInteractions: { enabled: false }, registration: { enabled: !entra }, introspection: { enabled: true, allowedPolicy: () => true },
    revocation: { enabled: true }, clientCredentials: { enabled: true }, deviceFlow: { enabled: true }, dPoP: { enabled: true },
    clientIdMetadataDocument: { enabled: !entra, ack: 'draft-02' },
    mTLS: { enabled: Boolean(tls), certificateBoundAccessTokens: true, tlsClientAuth: true,
            getCertificate: (ctx) => ctx.socket.getPeerX509Certificate?.(),
            certificateAuthorized: (ctx) => ctx.socket.authorized,
            certificateSubjectMatches: (ctx, property, expected) =>
              property === 'tls_client_auth_subject_dn' && ctx.socket.getPeerX509Certificate().subject === expected },
    resourceIndicators: { enabled: true, useGrantedResource: () => true, getResourceServerInfo: wanted,
                          defaultResource: (_, __, one) => (Array.isArray(one) ? one[0] : one ?? api) },
  },
  formats: { customizers: { ...entra && { jwt: (_, token, jwt) => asEntra(token, jwt) } } },
  claims: { openid: ['sub', ...options.claims ?? []] }, conformIdTokenClaims: false, ttl: { IdToken: () => options.loginSeconds ?? 3600 },
  extraTokenClaims: (_, token) => ({ ...claimsOf(token.accountId ?? token.clientId),
                                     ...(token.gty === 'exchange' && { act: { sub: token.clientId } }) }),
  findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id, ...claimsOf(id) }) }),
  interactions: { url: (_, { uid }) => `${options.path}/yes/${uid}` },
  issueRefreshToken: (_, client) => client.grantTypeAllowed('refresh_token'),
  expiresWithSession: () => false, clientBasedCORS: () => true, pkce: { required: () => true }, clockTolerance: 0,
  routes: { authorization: '/auth' }, cookies: { keys: ['test'] }, fetchResponseBodyLimits: {},
  fetch: (url, { dispatcher, ...more }) => globalThis.fetch(url, more), // tests' clients are on this machine
  ...options.rotates && { rotateRefreshToken: true },
});

// The agent's token against one for another resource, for the same subject; or for another's, where a test asks for that.
async function exchange(ctx) {
  const { client, params } = ctx.oidc;
  const published = keys.map(({ d, p, q, dp, dq, qi, ...rest }) => rest);
  if (params.subject_token_type !== ACCESS && params.subject_token_type !== 'urn:ietf:params:oauth:token-type:jwt')
    throw new errors.InvalidRequest('the subject_token_type is not known');
  const { payload } = await jwtVerify(params.subject_token, ({ kid, alg }) => importJWK(published.find((key) => key.kid === kid), alg),
                                      { issuer: provider.issuer, typ: 'at+jwt' })
    .catch((cause) => { throw new errors.InvalidGrant(cause.message); });
  const wanted = params.resource ?? params.audience;
  if (!wanted)
    throw new errors.InvalidTarget('no resource and no audience');
  const server = new provider.ResourceServer(wanted, resourceServer(wanted));
  const token = new provider.AccessToken({ client, accountId: state.exchanged ?? payload.sub, grantId: randomUUID(), gty: 'exchange',
                                          scope: (params.scope ?? payload.scope)?.split(' ').filter((one) => server.scopes.has(one)).join(' ') });
  token.resourceServer = server;
  ctx.body = { access_token: await token.save(), issued_token_type: ACCESS, token_type: 'Bearer', expires_in: token.expiration,
               scope: token.scope };
}

function renew(keep) {
  keys = [...makeKeys(), ...(keep ? keys : [])];
  provider = new Provider(origin + options.path, configuration());
  provider.registerGrantType(EXCHANGE, exchange, ['subject_token', 'subject_token_type', 'actor_token', 'actor_token_type',
                                                  'requested_token_type', 'audience', 'resource', 'scope']);
  // What a client registers is no bound on what it may ask for later, as servers that know step-up have it.
  provider.on('registration_create.success', (_, { clientId }) => { delete Adapter.all.get(`Client ${clientId}`).scope; });
  if (entra)
    provider.use(refuseAsEntra);
  for (const event of ['authorization.error', 'grant.error'])
    provider.on(event, (_, error) => { state.seen[error.error] = (state.seen[error.error] ?? 0) + 1; });
  provider.on('access_token.issued', ({ jti }) => { state.issued = jti; });
  provider.on('server_error', (_, error) => console.error(error));
}

async function grantFor(clientId, accountId, scope, resources) {
  const grant = new provider.Grant({ clientId, accountId });
  grant.addOIDCScope(`openid offline_access ${scope}`.trim());
  for (const url of [resources ?? api ?? []].flat())
    grant.addResourceScope(url, scope || resourceServer(url).scope);
  return grant.save();
}

// The person at the browser says yes to all that is asked.
async function sayYes(request, response) {
  const { prompt, params } = await provider.interactionDetails(request, response);
  const account = params.login_hint ?? state.login;
  const result = prompt.name === 'login' ? { login: { accountId: account } }
    : { consent: { grantId: await grantFor(params.client_id, account, params.scope ?? '', params.resource) } };
  await provider.interactionFinished(request, response, result, { mergeWithLastSubmission: true });
}

const TEST = {
  login: ({ account }) => { state.login = account; },                      // who is at the browser from now on
  account: ({ account, claims }) => { options.accounts[account] = claims; }, // more claims of a person, or of a service by its client id
  resource: ({ resource, ...more }) => { options.resources[resource] = more; },
  refresh: () => ({ tokens: [...Adapter.all.keys()].filter((at) => at.startsWith('RefreshToken ')).map((at) => at.slice(13)) }), // that were given
  forget: ({ account }) => {                                               // what a person let in is let in no more
    for (const [at, value] of Adapter.all)
      if (value.accountId === account && !at.startsWith('Session '))
        Adapter.all.delete(at);
  },
  seconds: ({ seconds }) => { options.seconds = seconds; },                // how long tokens live
  login_seconds: ({ seconds }) => { options.loginSeconds = seconds; },     // how long ID tokens live
  exchanged: ({ subject }) => { state.exchanged = subject; },              // whom exchanged tokens are for; null: the subject
  rotate: ({ keep = false }) => renew(keep),                               // new keys; the old ones stay in the set, or not
  fault: ({ path, ...answer }) => { Object.keys(answer).length ? state.faults.set(path, answer) : state.faults.delete(path); },
  issued: () => ({ jti: state.issued }),                                   // the access token that was given last
  grace: ({ ms }) => { options.graceMs = ms; },                            // so long a refresh token is good once another was given for it
  rest: async () => {                                                      // answers once nothing is under way
    while (state.under > 0)
      await new Promise((done) => setTimeout(done, 10));
  },
  seen: () => state.seen,                                                  // how often each path was asked for, and each error given
  keys: () => ({ keys }),                                                  // with their secrets, for forgeries
  // Any token, signed by a key of ours: what an attacker's friend at the provider could make.
  sign: async ({ header, claims }) => {
    const key = keys.find(({ kid }) => kid === header?.kid) ?? keyFor(header?.alg ?? 'RS256');
    const full = { alg: 'RS256', typ: 'at+jwt', kid: key.kid, ...header };
    return { token: await new SignJWT(claims).setProtectedHeader(full).sign(await importJWK(key, full.alg)) };
  },
  // A person types the code that a device shows.
  device: async ({ user_code, account }) => {
    const code = await provider.DeviceCode.findByUserCode(user_code.replace(/-/g, ''));
    const { scope = '', resource } = code.params;
    Object.assign(code, { accountId: account ?? state.login, authTime: Math.floor(Date.now() / 1000), scope, resource, claims: undefined,
                          grantId: await grantFor(code.clientId, account ?? state.login, scope, resource) });
    await code.save();
  },
};

async function serve(request, response) {
  const { pathname } = new URL(request.url, origin);
  if (pathname.startsWith('/test/')) {
    const body = Buffer.concat(await request.toArray()).toString() || '{}';
    const answer = await TEST[pathname.slice(6)](JSON.parse(body));
    return response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer ?? {}));
  }
  state.seen[pathname] = (state.seen[pathname] ?? 0) + 1;
  state.under++;
  return provide(request, response, pathname).finally(() => { state.under--; });
}

async function provide(request, response, pathname) {
  const fault = state.faults.get(pathname);
  if (fault) {
    await new Promise((done) => setTimeout(done, fault.delay ?? 0));
    if (fault.status)
      return response.writeHead(fault.status, fault.headers ?? {}).end(fault.body ?? '');
    if (fault.late) { // it has done what was asked, and says so later
      const end = response.end.bind(response);
      response.end = (...words) => { setTimeout(() => end(...words), fault.late); return response; };
    }
  }
  // RFC 8414 puts the well-known part before the issuer's path, OpenID behind it.
  request.originalUrl = request.url;
  if (options.path && request.url.startsWith('/.well-known/') && pathname.endsWith(options.path))
    request.url = pathname.slice(0, -options.path.length);
  else if (request.url.startsWith(options.path))
    request.url = request.url.slice(options.path.length) || '/';
  else
    return response.writeHead(404).end();
  request.originalUrl = options.path + request.url;
  if (request.url.startsWith('/yes/'))
    return sayYes(request, response);
  return provider.callback()(request, response);
}

const answer = (request, response) => serve(request, response).catch((error) => {
  console.error(error);
  response.headersSent || response.writeHead(500);
  response.end(String(error));
});
const server = tls ? createSecure({ cert: readFileSync(tls.certificate), key: readFileSync(tls.key), ca: tls.authority && readFileSync(tls.authority),
                                    requestCert: Boolean(tls.authority), rejectUnauthorized: false }, answer) : createServer(answer);
server.listen(options.port ?? 0, '127.0.0.1', () => {
  const { port } = server.address();
  origin = `${tls ? 'https' : 'http'}://${options.host ?? '127.0.0.1'}:${port}`;
  renew(false);
  console.log(JSON.stringify({ issuer: provider.issuer, port }));
});
