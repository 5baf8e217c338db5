// SPDX-License-Identifier: Apache-2.0
// What an official TypeScript client needs to get tokens: a person's browser, which says yes to whatever the provider of the tests
// asks, and a memory. What it was asked for is told by the step `oauth`.
export class Person {
  constructor() {
    // Proofs of possession (RFC 9449), which the client of 2.x makes.
    if (process.env.OAUTH === 'dpop')
      this.dpop = async () => this.session ??= (await import('@modelcontextprotocol/client')).DpopSession.create();
  }
  events = [];
  // OAUTH=known:ID: somebody has registered it.
  known = { ...process.env.OAUTH.startsWith('known:') && { client: { client_id: process.env.OAUTH.slice(6) } } };
  redirectUrl = 'http://127.0.0.1/callback';
  // The client of 1.x refreshes its token where a wider one is wanted: it gets one only where it has nothing to refresh.
  clientMetadata = { client_name: 'interop', redirect_uris: [this.redirectUrl], response_types: ['code'], token_endpoint_auth_method: 'none',
                     grant_types: ['authorization_code', ...(/^(refresh|known:)/.test(process.env.OAUTH) ? ['refresh_token'] : [])] };
  clientInformation() { return this.known.client; }
  saveClientInformation(client) { this.events.push(['registered']); this.known.client = client; }
  tokens() { return this.known.tokens; }
  saveTokens(tokens) { this.events.push(['token', tokens.scope ?? '', tokens.token_type]); this.known.tokens = tokens; }
  saveCodeVerifier(verifier) { this.known.verifier = verifier; }
  codeVerifier() { return this.finishing.verifier; }
  async redirectToAuthorization(url) {
    const asked = url.searchParams;
    this.events.push(['asked', asked.get('resource'), asked.get('scope') ?? '']);
    // A stream that is opened again may ask at the same time as a call: each code has its own verifier.
    const { verifier } = this.known;
    this.callback = { verifier, words: new URL(await browse(url)).searchParams };
  }
}

async function browse(start) {
  const jar = new Map();
  let url = new URL(start);
  for (let turn = 0; turn < 10; turn++) {
    const page = await fetch(url, { redirect: 'manual', headers: { cookie: [...jar].map(([n, v]) => `${n}=${v}`).join('; ') } });
    for (const cookie of page.headers.getSetCookie()) {
      const [name, value] = cookie.split(';')[0].split(/=(.*)/s);
      jar.set(name, value);
    }
    const next = new URL(page.headers.get('location') ?? '/stays', url);
    const back = new URL(start).searchParams.get('redirect_uri');
    const leads = next.origin === url.origin || url.pathname.endsWith('/authorize'); // within the provider, or from a front to it
    if (!leads || next.href.startsWith(back) || !page.headers.has('location'))
      return next.href;
    url = next;
  }
  return 'http://127.0.0.1/lost';
}
