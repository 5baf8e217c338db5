/* SPDX-License-Identifier: Apache-2.0 */
/* Every key of callgate.yaml: name, type, where it goes, bounds, default, meaning. The reader takes what it can from here
 * (conf_value.c), and tools/draw writes schema/callgate.schema.json and schema/callgate.md from the same lines. A default in
 * round brackets is said in words and set elsewhere; any other is what the reader takes. */
#include "conf/conf_priv.h"
#include "rows/record.h"

#include <stddef.h>

#define KIB ((uint64_t)1 << 10)
#define MIB ((uint64_t)1 << 20)
#define GIB ((uint64_t)1 << 30)
#define TIB ((uint64_t)1 << 40)
#define HOUR 3600000
#define DAY 86400000
#define MILLION 1000000
_Static_assert(AUDIT_ANSWER_BYTES == 256 * KIB, "what the audit keeps of an answer is what a route may ask for");

#define KEY(called_, kind, to, least, most, usually, ...)                                                       \
    {.name = called_, .type = CONF_##kind, .at = to, .min = least, .max = most, .usual = usually, .what = __VA_ARGS__}
#define AT(type, member) offsetof(struct type, member)
#define WORDS(...) .words = (const char *const[]){__VA_ARGS__, NULL}
#define IN(list, name) .keys = list, .called = name

/* ---- a listener ---- */

const struct conf_key conf__tls[] = {
    KEY("certificate", FILE, AT(tls_server_conf, certificate), 0, 0, NULL, "The gate's certificate, PEM, with its chain."),
    KEY("key", FILE, AT(tls_server_conf, key), 0, 0, NULL, "Its private key, PEM."),
    KEY("client_ca", FILE, AT(tls_server_conf, client_ca), 0, 0, NULL, "Authorities whose client certificates are accepted."),
    KEY("client_crl", FILES, AT(tls_server_conf, client_crls), 0, 0, NULL, "Lists of revoked client certificates."),
    KEY("ocsp", FILE, AT(tls_server_conf, ocsp), 0, 0, NULL, "The authority's word that its certificate is good, DER: an "
        "OCSP response that agents get with it."),
    KEY("client_certificate", FLAG, AT(tls_server_conf, client_required), 0, 0, "optional",
        "Whether an agent must show a certificate.", WORDS("optional", "required")),
    {.name = NULL}};

static const struct conf_key listener_times[] = {
    KEY("head", TIME, AT(proxy_listen, head_ms), 1, DAY, "10s", "For a request's head to arrive."),
    KEY("body", TIME, AT(proxy_listen, body_ms), 1, DAY, "30s", "For its body, after which `read_rate` holds."),
    KEY("idle", TIME, AT(proxy_listen, idle_ms), 1, DAY, "75s", "Between two requests of a connection."),
    {.name = NULL}};

const struct conf_key conf__listener[] = {
    KEY("address", TEXT, BY_HAND, 0, 0, NULL, "Where agents connect: address and port."),
    KEY("tls", MAP, BY_HAND, 0, 0, "(plain HTTP)", "TLS towards agents.", IN(conf__tls, "`tls`")),
    KEY("timeouts", MAP, 0, 0, 0, NULL, "How long an agent may take.", IN(listener_times, "a listener's `timeouts`")),
    KEY("read_rate", SIZE, AT(proxy_listen, read_rate), 1, GIB, "8 KiB", "Bytes a second that an agent takes at least."),
    KEY("insecure", BOOL, BY_HAND, 0, 0, "false", "Plain HTTP off loopback all the same."),
    {.name = NULL}};

/* ---- an upstream ---- */

/* A program that says a secret, in place of a file. */
#define RUN_KEYS                                                                                                      \
    KEY("run", WORDS, BY_HAND, 0, 0, NULL, "In place of `file`: a program, and its arguments, that prints the value."), \
    KEY("env", ANY, BY_HAND, 0, 0, NULL, "Its environment besides PATH: {NAME: text} or {NAME: {file: NAME}}."),       \
    KEY("timeout", TIME, AT(conf_run, timeout_ms), 100, 60000, "10s", "Until that program is to have ended.")
#define FILE_KEY KEY("file", FILE, BY_HAND, 0, 0, NULL, "Holds one line; nobody but its owner may read it.")
#define PREFIX_KEY KEY("prefix", TEXT, BY_HAND, 0, 0, NULL, "What stands before it, as 'Bearer '.")
#define TTL_KEY                                                                                                       \
    KEY("ttl", TIME, AT(conf_run, ttl_ms), 1000, DAY, "5min", "How long what it printed goes up; it is run anew before.")

const struct conf_key conf__header[] = {FILE_KEY, PREFIX_KEY, RUN_KEYS, TTL_KEY, {.name = NULL}};

/* Of what is no route's: what the gate itself posts. */
const struct conf_key conf__posted_header[] = {FILE_KEY, PREFIX_KEY, {.name = NULL}};

const struct conf_key conf__variable[] = {FILE_KEY, RUN_KEYS, {.name = NULL}};

#define GRANT_KEYS(otherwise)                                                                                       \
    KEY("provider", TEXT, BY_HAND, 0, 0, NULL, "Who gives the token: a name in `providers`."),                       \
    KEY("url", TEXT, BY_HAND, 0, 0, "(where the provider's metadata say)", "Its token endpoint."),                  \
    KEY("client", MAP, BY_HAND, 0, 0, otherwise, "As whom the gate asks.", IN(conf__outgoing_client, "`client`")),   \
    KEY("scopes", TEXTS, BY_HAND, 0, 0, NULL, "What is asked for."),                                                \
    KEY("audience", TEXT, BY_HAND, 0, 0, NULL, "For whom, as the provider names it."),                              \
    KEY("resource", TEXT, BY_HAND, 0, 0, NULL, "For whom, as a URL (RFC 8707).")

const struct conf_key conf__outgoing_client[] = {
    KEY("id", TEXT, BY_HAND, 0, 0, NULL, "Its id; `{tenant}` in it where the secret is each tenant's own."),
    KEY("secret", MAP, BY_HAND, 0, 0, NULL, "Its secret: {file: shop.secret}, or for each tenant "
        "{file: 'secrets/{tenant}.secret'}.", IN(conf__notify_secret, "`secret`")),
    KEY("method", WORD, BY_HAND, 0, 0, "basic", "Where id and secret stand: in Authorization, or in the form.",
        WORDS("basic", "post")),
    {.name = NULL}};

const struct conf_key conf__client_credentials[] = {GRANT_KEYS(NULL), {.name = NULL}};

const struct conf_key conf__exchange[] = {
    GRANT_KEYS(NULL),
    KEY("opaque", BOOL, BY_HAND, 0, 0, "false", "A token that is no JWT is taken, for whom the provider says it is."),
    {.name = NULL}};

const struct conf_key conf__connect[] = {
    GRANT_KEYS("(by a document that the console serves)"),
    KEY("page", TEXT, BY_HAND, 0, 0, "(by its metadata)", "Where people let the gate in: its authorization endpoint."),
    {.name = NULL}};

const struct conf_key conf__outgoing[] = {
    KEY("file", FILE, BY_HAND, 0, 0, NULL, "Holds one line; 'tokens/{tenant}.token' or 'tokens/{tenant}/{principal}.token': "
        "one for each, listed when the configuration is read."),
    KEY("prefix", TEXT, BY_HAND, 0, 0, "'Bearer '", "What stands before it."),
    RUN_KEYS, TTL_KEY,
    KEY("client_credentials", MAP, BY_HAND, 0, 0, NULL, "A token that a provider gives the gate (RFC 6749, 4.4).",
        IN(conf__client_credentials, "`client_credentials`")),
    KEY("exchange", MAP, BY_HAND, 0, 0, NULL, "A token that a provider gives for the agent's (RFC 8693).",
        IN(conf__exchange, "`exchange`")),
    KEY("connect", MAP, BY_HAND, 0, 0, NULL, "A token of the caller's own account at the server, which he connects once at the "
        "console.", IN(conf__connect, "`connect`")),
    {.name = NULL}};

#define CLIENT_KEYS(header_keys)                                                                                      \
    KEY("ca", FILE, BY_HAND, 0, 0, "(the system's authorities)", "The authority of the server's certificate."),      \
    KEY("crl", FILES, BY_HAND, 0, 0, NULL, "Lists of revoked certificates of that authority."),                      \
    KEY("certificate", FILE, BY_HAND, 0, 0, NULL, "The gate's own certificate towards it."),                         \
    KEY("key", FILE, BY_HAND, 0, 0, NULL, "Its private key."),                                                       \
    KEY("insecure", BOOL, BY_HAND, 0, 0, "false", "Plain http to it off loopback all the same."),                    \
    KEY("headers", MAPS, BY_HAND, 0, 0, NULL, "Credentials for it, by header.", IN(header_keys, "a header"))

const struct conf_key conf__front[] = {
    KEY("provider", TEXT, BY_HAND, 0, 0, NULL, "Whose people log in here: a name in `providers`. Routes that take its tokens "
        "lead clients here."),
    KEY("id", TEXT, BY_HAND, 0, 0, NULL, "The public client that is registered there."),
    KEY("authorize", TEXT, BY_HAND, 0, 0, NULL, "Its authorization endpoint: 'https://HOST/PATH'."),
    KEY("scope_prefix", TEXT, BY_HAND, 0, 0, NULL, "What stands there before a scope without `/`: 'api://ID/'."),
    {.name = NULL}};

const struct conf_key conf__url[] = {
    KEY("url", TEXT, BY_HAND, 0, 0, NULL, "The server: 'https://HOST:PORT/PATH'."),
    CLIENT_KEYS(conf__header),
    KEY("ocsp", FLAG, BY_HAND, 0, 0, "off", "Whether it must send its authority's word that its certificate is good.",
        WORDS("off", "require")),
    KEY("preserve_host", BOOL, AT(proxy_upstream, preserve_host), 0, 0, "false", "The agent's Host goes up, not the URL's."),
    KEY("authorization", MAP, BY_HAND, 0, 0, NULL, "What goes up in Authorization, in place of the agent's.",
        IN(conf__outgoing, "`authorization`")),
    KEY("oauth", WORD, BY_HAND, 0, 0, NULL, "relay: its challenges and metadata name the gate's URL, and agents' tokens are "
        "for it. front: it is a provider's token endpoint, and official clients log in at `public_url`.",
        WORDS("relay", "front")),
    KEY("client", MAP, BY_HAND, 0, 0, NULL, "As which client they do, for `oauth: front`.", IN(conf__front, "`client`")),
    KEY("command", WORDS, BY_HAND, 0, 0, NULL, "A program that the gate runs, in place of `url`."),
    {.name = NULL}};

const struct conf_key conf__program[] = {
    KEY("command", WORDS, BY_HAND, 0, 0, NULL, "In place of `url`: a program that the gate runs, and its arguments."),
    KEY("env", ANY, BY_HAND, 0, 0, NULL, "Its environment besides PATH: {NAME: text}, {NAME: {file: shop.token}} or {NAME: "
        "{run: [PROGRAM]}}."),
    KEY("per", WORD, AT(runner_command, per), 0, 0, "session", "Who shares a process.", WORDS("session", "principal", "gate")),
    KEY("idle", TIME, AT(runner_command, idle_ms), 1, DAY, "10min", "A process that long unused is ended."),
    KEY("memory", SIZE, AT(runner_command, memory_bytes), 16 * MIB, TIB, "1 GiB", "Memory of a process."),
    KEY("most", COUNT, AT(runner_command, most), 1, 1000, "32", "Processes at once."),
    KEY("cwd", FILE, BY_HAND, 0, 0, NULL, "The folder that it runs in."),
    KEY("sandbox", FLAG, AT(runner_command, is_free), 0, 0, "on", "Whether it is kept from the gate's own files.",
        WORDS("on", "off")),
    {.name = NULL}};

const struct conf_key conf__server[] = {
    KEY("url", TEXT, BY_HAND, 0, 0, NULL, "Where checkpoints are posted."),
    CLIENT_KEYS(conf__posted_header),
    {.name = NULL}};

const struct conf_key conf__notify_secret[] = {FILE_KEY, {.name = NULL}};

const struct conf_key conf__notify[] = {
    KEY("url", TEXT, BY_HAND, 0, 0, NULL, "Where each call that waits for a person is posted, as JSON."),
    KEY("secret", MAP, BY_HAND, 0, 0, NULL, "Signs what is posted, with HMAC-SHA256.", IN(conf__notify_secret, "`secret`")),
    CLIENT_KEYS(conf__posted_header),
    KEY("run", WORDS, BY_HAND, 0, 0, NULL, "A program, and its arguments, that is run for each, with that JSON on its "
        "standard input; within 10 s it ends with status 0."),
    {.name = NULL}};

const struct conf_key conf__alerts[] = {
    KEY("url", TEXT, BY_HAND, 0, 0, NULL, "Where alerts are posted, as JSON."),
    KEY("secret", MAP, BY_HAND, 0, 0, NULL, "Signs what is posted, with HMAC-SHA256.", IN(conf__notify_secret, "`secret`")),
    CLIENT_KEYS(conf__posted_header),
    KEY("run", WORDS, BY_HAND, 0, 0, NULL, "A program, and its arguments, that is run for each post, with that JSON on its "
        "standard input; within 10 s it ends with status 0."),
    KEY("every", TIME, AT(conf_alerts, every_ms), 1000, DAY, "5min", "The interval: one alert is told again once in it."),
    KEY("certificates", TIME, AT(conf_alerts, certificates_ms), 1000, 2592000000, "14d", "How long before a certificate ends."),
    KEY("disk", SIZE, AT(conf_alerts, disk_bytes), MIB, TIB, "1 GiB", "With less room beside the audit."),
    {.name = NULL}};

/* ---- a route ---- */

static const struct conf_key route_times[] = {
    KEY("connect", TIME, AT(proxy_route, connect_ms), 1, DAY, "5s", "To connect to the upstream."),
    KEY("head", TIME, AT(proxy_route, reply_head_ms), 1, DAY, "(60s, or the dialect's)", "Until its reply begins."),
    KEY("idle", TIME, AT(proxy_route, reply_idle_ms), 1, DAY, "(5min, or the dialect's)", "Between two pieces of its reply."),
    {.name = NULL}};

const struct conf_key conf__rates[] = {
    KEY("principal", RATE, BY_HAND, 0, 0, NULL, "Of each principal."),
    KEY("tenant", RATE, BY_HAND, 0, 0, NULL, "Of each tenant."),
    KEY("address", RATE, BY_HAND, 0, 0, NULL, "Of each address."),
    {.name = NULL}};

static const struct conf_key route_limits[] = {
    KEY("body", SIZE, AT(proxy_limits, body_bytes), KIB, 256 * MIB, "4 MiB", "Of a request's body."),
    KEY("response", SIZE, AT(proxy_limits, response_bytes), KIB, GIB, "(8 MiB, or the dialect's)", "Of a reply."),
    KEY("event", SIZE, AT(proxy_limits, event_bytes), KIB, GIB, "8 MiB", "Of an event of a stream, or a line of a command."),
    KEY("per_principal_requests", COUNT, AT(proxy_limits, per_principal_requests), 1, MILLION, "1024",
        "Requests of a principal at once."),
    KEY("rate", RATE, BY_HAND, 0, 0, "(any)",
        "Requests as '200/s', '10/min' or '5/h' of each principal, tenant and address, or one of its own for some.",
        IN(conf__rates, "`rate`")),
    KEY("burst", COUNT, BY_HAND, 1, MILLION, "(twice the rate)", "Requests that may come at once."),
    KEY("refusals", FLAG, AT(proxy_limits, is_plain), 0, 0, "json-rpc", "How who goes beyond is told.",
        WORDS("json-rpc", "plain")),
    {.name = NULL}};

#define TREATMENTS WORDS("refuse", "strip", "pass")

/* What instructs the model must not deceive who reads it; results carry whatever the world holds, and soft hyphens, marks of
 * direction and colours of a terminal are in much of it. */
static const struct conf_key deceptive[] = {
    KEY("definitions", WORD, AT(mcp_deceptive, definitions), 0, 0, "refuse", "In what defines tools.", TREATMENTS),
    KEY("instructions", WORD, AT(mcp_deceptive, instructions), 0, 0, "refuse", "In a server's instructions.", TREATMENTS),
    KEY("prompts", WORD, AT(mcp_deceptive, prompts), 0, 0, "refuse", "In prompts.", TREATMENTS),
    KEY("results", WORD, AT(mcp_deceptive, results), 0, 0, "pass", "In results.", TREATMENTS),
    KEY("messages", WORD, AT(mcp_deceptive, messages), 0, 0, "pass", "In what servers ask and tell.", TREATMENTS),
    {.name = NULL}};

const struct conf_key conf__route_audit[] = {
    KEY("answers", SIZE, BY_HAND, 1, 256 * KIB, "(nothing)", "So much of each result is kept, as it went on."), {.name = NULL}};

const struct conf_key conf__method[] = {
    KEY("name", TEXT, BY_HAND, 0, 0, NULL, "The method, as 'acme/files/read'."),
    KEY("thing", TEXT, BY_HAND, 0, 0, "(none)", "The member of params that is the URI of what it is about: '$.uri'."),
    KEY("list", TEXT, BY_HAND, 0, 0, "(none)", "What its answer lists, of which nobody sees what he may not read: "
        "'$.files[*].uri'."),
    {.name = NULL}};

const struct conf_key conf__unwrap[] = {
    KEY("tool", TEXT, BY_HAND, 0, 0, NULL, "The tool that calls others, or lists them."),
    KEY("name", TEXT, BY_HAND, 0, 0, NULL, "Where in its arguments the name of the other is: '$.tool_name'."),
    KEY("arguments", TEXT, BY_HAND, 0, 0, "(it has none)",
        "Where those of the other are, as an object, or as JSON in a text."),
    KEY("server", TEXT, BY_HAND, 0, 0, "(there is one)",
        "Where the server is named, in a list by each element: the tool is then SERVER__NAME to policies."),
    KEY("besides", TEXTS, BY_HAND, 0, 0, "(none)", "Members that may stand beside these. Nobody judges them."),
    KEY("lists", ANY, BY_HAND, 0, 0, NULL, "In place of these: where its answer names tools: '$.tools[*].name', or a list of "
        "such places, of which each text of its answer has one."),
    {.name = NULL}};

const struct conf_key conf__apps[] = {
    KEY("domains", TEXTS, BY_HAND, 0, 0, "(none)", "What pages may reach, with the scheme: 'https://*.example.com'."),
    KEY("permissions", TEXTS, BY_HAND, 0, 0, "(none)", "What pages may use: clipboardWrite, geolocation, camera, microphone."),
    {.name = NULL}};

const struct conf_key conf__nobody[] = {
    KEY("principal", TEXT, BY_HAND, 0, 0, NULL, "Who everybody is."),
    KEY("agent", TEXT, BY_HAND, 0, 0, "(none)", "Which program everybody's is."),
    KEY("tenant", TEXT, BY_HAND, 0, 0, NULL, "For whom everybody acts."),
    {.name = NULL}};

const struct conf_key conf__login[] = {
    KEY("tenant", TEXT, BY_HAND, 0, 0, NULL, "For whom all logins act."), {.name = NULL}};

const struct conf_key conf__certificate_tenant[] = {
    KEY("o", BOOL, BY_HAND, 0, 0, NULL, "The subject's only O."),
    KEY("uri", TEXT, BY_HAND, 0, 0, NULL, "A regex over the whole of the only URI, whose group `tenant` is the tenant."),
    {.name = NULL}};

const struct conf_key conf__certificate[] = {
    KEY("principal", WORD, AT(identity_source, name), 0, 0, "cn", "Which name is the principal, the only one of its kind.",
        WORDS("cn", "uri", "dns", "email")),
    KEY("tenant", TEXT, BY_HAND, 0, 0, "(the subject's O)", "The tenant of everybody, or where in the certificate it stands.",
        IN(conf__certificate_tenant, "`tenant`")),
    KEY("from", WORD, BY_HAND, 0, 0, "(this connection)", "The header in which a trusted proxy hands on what it verified.",
        WORDS("X-Forwarded-Client-Cert", "Client-Cert")),
    {.name = NULL}};

const struct conf_key conf__tenant[] = {
    KEY("claim", TEXT, BY_HAND, 0, 0, NULL, "Where in the claims: '$.org'."),
    KEY("is", ANY, BY_HAND, 0, 0, NULL, "The tenant for each of its values: {a1b2: acme}. Any other value is refused."),
    {.name = NULL}};

const struct conf_key conf__agent_by[] = {
    KEY("certificate", WORD, BY_HAND, 0, 0, NULL, "Which name of the client certificate beside the token.",
        WORDS("cn", "uri", "dns", "email")),
    KEY("from", WORD, BY_HAND, 0, 0, "(this connection)", "The header in which a trusted proxy hands on what it verified.",
        WORDS("X-Forwarded-Client-Cert", "Client-Cert")),
    {.name = NULL}};

const struct conf_key conf__token[] = {
    KEY("provider", TEXT, BY_HAND, 0, 0, NULL, "Whose tokens: a name in `providers`."),
    KEY("audience", ANY, BY_HAND, 0, 0, NULL, "What a token must be for, one of these; `{slug}` stands for the route's slug."),
    KEY("principal", TEXT, BY_HAND, 0, 0, "(`$.sub`)", "Where in the claims it says who asks."),
    KEY("tenant", TEXT, BY_HAND, 0, 0, NULL, "Where it says for whom, as '$.org'; or one tenant for all; or a table.",
        IN(conf__tenant, "`tenant`")),
    KEY("agent", TEXT, BY_HAND, 0, 0, "(none)", "Where it says which program acts, as '$.azp'; or whose certificate beside it "
        "says so.", IN(conf__agent_by, "`agent`")),
    KEY("groups", TEXT, BY_HAND, 0, 0, NULL, "Where it says in which groups who asks is: '$.realm_access.roles'."),
    KEY("require", ANY, BY_HAND, 0, 0, NULL, "Claims that must have this value: {token_use: access}."),
    KEY("scopes", TEXTS, BY_HAND, 0, 0, NULL, "What clients are told to ask for."),
    KEY("bound", WORD, BY_HAND, 0, 0, "(any)", "To what a token must be bound, so that nobody else can show it.",
        WORDS("dpop", "certificate")),
    {.name = NULL}};

const struct conf_key conf__source[] = {
    KEY("api_key", TEXT, BY_HAND, 0, 0, NULL, "The header that a key comes in."),
    KEY("bearer", WORD, BY_HAND, 0, 0, NULL, "A key in Authorization.", WORDS("key")),
    KEY("token", MAP, BY_HAND, 0, 0, NULL, "A provider's access token in Authorization.", IN(conf__token, "`token`")),
    KEY("certificate", TEXT, BY_HAND, 0, 0, NULL, "A client certificate; `subject`: its CN and O.",
        IN(conf__certificate, "`certificate`")),
    KEY("login", MAP, BY_HAND, 0, 0, NULL, "Whose process of this machine asks `callgate hook`.", IN(conf__login, "`login`")),
    KEY("none", MAP, BY_HAND, 0, 0, NULL, "No identity is asked for.", IN(conf__nobody, "`none`")),
    KEY("forward", BOOL, AT(identity_source, forward), 0, 0, "false", "The credential goes up, too."),
    {.name = NULL}};

const struct conf_key conf__plan_keys[] = {
    KEY("file", FILE, BY_HAND, 0, 0, NULL, "Public Ed25519 keys, as PEM or as JSON Web Keys."), {.name = NULL}};

const struct conf_key conf__plan[] = {
    KEY("keys", MAP, BY_HAND, 0, 0, NULL, "Whose signature counts.", IN(conf__plan_keys, "`keys`")),
    KEY("header", HEADER, AT(proxy_route, plan_header), 0, 0, "(X-Callgate-Plan)", "The header that a plan comes in."),
    {.name = NULL}};

const struct conf_key conf__route[] = {
    KEY("name", TEXT, BY_HAND, 0, 0, "(the slug)", "What policies, limits and the audit call the upstream."),
    KEY("host", TEXT, BY_HAND, 0, 0, "(any accepted one)", "The Host that it is for."),
    KEY("path", TEXT, BY_HAND, 0, 0, NULL, "Where agents find it: /shop/mcp, /shop/* or /mcp/{slug}."),
    KEY("slugs", TEXTS, BY_HAND, 0, 0, NULL, "Which slugs there are."),
    KEY("unlisted", FLAG, AT(proxy_route, unlisted_is_error), 0, 0, "404",
        "What a message for another slug gets: HTTP's 404, or JSON-RPC's -32001 within 200.", WORDS("404", "error")),
    KEY("dialect", WORD, BY_HAND, 0, 0, "mcp", "What is spoken.", WORDS("mcp", "octopus", "okso", "hook")),
    KEY("revisions", TEXTS, BY_HAND, 0, 0, "(all that are known)", "Of the protocol."),
    KEY("transports", TEXTS, BY_HAND, 0, 0, "(streamable)", "How it is spoken.", WORDS("streamable", "http+sse")),
    KEY("upstream", MAP, BY_HAND, 0, 0, NULL, "The server.", IN(conf__url, "`upstream`")),
    KEY("servers", TEXTS, BY_HAND, 0, 0, NULL,
        "Names of other routes, whose servers agents find here together: tool `search` of shop as shop__search."),
    KEY("name_budget", COUNT, AT(proxy_route, name_budget), 16, 128, "64",
        "With `servers`: tools and prompts whose names are longer are left out of lists."),
    KEY("timeouts", MAP, 0, 0, 0, NULL, "How long the server may take.", IN(route_times, "a route's `timeouts`")),
    KEY("identity", LIST, BY_HAND, 0, 0, "(X-API-Key, and a key as bearer token)", "By what agents are known.",
        IN(conf__source, "an identity")),
    KEY("agent", FLAG, AT(proxy_route, agent_judged), 0, 0, "recorded",
        "Whether a call needs a rule that permits it to the agent, too.", WORDS("recorded", "judged")),
    KEY("plan", MAP, BY_HAND, 0, 0, "(none is looked at)", "Signed plans of what an agent is to do (schema/plan.md).",
        IN(conf__plan, "`plan`")),
    KEY("tenant_header", HEADER, AT(proxy_route, tenant_header), 0, 0, "(the dialect's)", "Names the tenant."),
    KEY("correlation_header", HEADER, AT(proxy_route, correlation_header), 0, 0, "(X-Correlation-Id, or the dialect's)",
        "Names the call for people."),
    KEY("underscore_headers", TEXTS, BY_HAND, 0, 0, NULL, "Headers with `_` that pass."),
    KEY("reply_headers", TEXTS, BY_HAND, 0, 0, NULL,
        "Headers of the upstream that go down besides those that agents need: Set-Cookie."),
    KEY("origins", TEXTS, BY_HAND, 0, 0, "(those whose host is served)", "Browsers' origins that may call."),
    KEY("query", FLAG, AT(proxy_route, query_pass), 0, 0, "refuse", "A query behind the path.", WORDS("refuse", "pass")),
    KEY("params", TEXTS, BY_HAND, 0, 0, NULL, "Members of params besides the specification's."),
    KEY("methods", LIST, BY_HAND, 0, 0, "(those of MCP and of skills)",
        "Methods of extensions that are about resources, so that rules judge them by URI.", IN(conf__method, "a method")),
    KEY("unwrap", LIST, BY_HAND, 0, 0, "(none)", "Tools that call tools: rules speak of the tool that is called.",
        IN(conf__unwrap, "a tool of `unwrap`")),
    KEY("apps", MAP, BY_HAND, 0, 0, "(all that the server says)", "To what pages of the server (MCP Apps) are cut.",
        IN(conf__apps, "`apps`")),
    KEY("meta", WORD, AT(proxy_route, meta), 0, 0, "pass", "What of `_meta` goes up.", WORDS("pass", "known", "none")),
    KEY("tool_names", FLAG, AT(proxy_route, strict_tool_names), 0, 0, "printable", "Which names tools may have.",
        WORDS("printable", "strict")),
    KEY("definitions", WORD, AT(proxy_route, definitions), 0, 0, "watch",
        "What is done where a server tells another definition of a tool than people accepted: its event, or the tool is held.",
        WORDS("watch", "hold", "off")),
    KEY("forwarded", BOOL, AT(proxy_route, forwarded), 0, 0, "false", "The upstream is told the agent's address."),
    KEY("denials", FLAG, AT(proxy_route, denials_sse), 0, 0, "json", "The form of a denial.", WORDS("json", "sse")),
    KEY("deceptive", MAP, AT(proxy_route, deceptive), 0, 0, NULL, "What is done with characters that deceive a reader.",
        IN(deceptive, "`deceptive`")),
    KEY("lenient", TEXTS, BY_HAND, 0, 0, NULL, "Faults of a server that are mended.", WORDS("error_null", "id_type")),
    KEY("audit", MAP, BY_HAND, 0, 0, NULL, "What is recorded of it.", IN(conf__route_audit, "a route's `audit`")),
    KEY("pass", TEXTS, BY_HAND, 0, 0, NULL, "Paths that pass unjudged: 'GET /llms.txt'."),
    KEY("public_url", TEXT, BY_HAND, 0, 0, NULL, "The URL by which agents know the route."),
    KEY("step_up", BOOL, AT(proxy_route, step_up), 0, 0, "false", "A denial that only lacks scopes says which, as 403."),
    KEY("limits", MAP, AT(proxy_route, limits), 0, 0, NULL, "Bounds.", IN(route_limits, "`limits`")),
    {.name = NULL}};

/* ---- the whole ---- */

const struct conf_key conf__limits[] = {
    KEY("memory", SIZE, AT(proxy_conf, memory_bytes), 16 * MIB, 16 * TIB, "1 GiB", "Of bodies and replies."),
    KEY("connections_per_address", COUNT, AT(proxy_conf, connections_per_address), 1, MILLION, "(256)",
        "Connections of one address without an identity."),
    {.name = NULL}};

static const struct conf_key audit[] = {
    KEY("database", FILE, AT(conf_audit, database), 0, 0, "audit.db", "Where calls are recorded."),
    KEY("checkpoints", TEXT, BY_HAND, 0, 0, "(the database's name with .heads)", "A file that signed checkpoints are appended "
        "to, or a URL or server that they are posted to.", IN(conf__server, "`checkpoints`")),
    KEY("checkpoint_key", FILE, AT(conf_audit, checkpoint_key), 0, 0, "audit-key.pem", "Signs them; made at the first start."),
    KEY("checkpoint_interval", TIME, AT(conf_audit, checkpoint_interval_ms), 1, HOUR, "1s", "At least so often."),
    KEY("checkpoint_rows", COUNT, AT(conf_audit, checkpoint_rows), 1, MILLION, "16384", "And after so many records."),
    KEY("redact_key", FILE, AT(conf_audit, redact_key), 0, 0, "redact.key", "Keys what stands for redacted values."),
    KEY("arguments", SIZE, AT(conf_audit, arguments_max_bytes), KIB, 16 * MIB, "64 KiB", "Of arguments in a record."),
    KEY("rotate", SIZE, AT(conf_audit, rotate_bytes), MIB, 16 * TIB, "256 MiB",
        "A file of this size, its -wal not counted, is sealed."),
    {.name = NULL}};

const struct conf_key conf__admin[] = {
    KEY("address", TEXT, BY_HAND, 0, 0, "(127.0.0.1:9901)", "Where health and metrics are served."),
    KEY("public", TEXTS, BY_HAND, 0, 0, "(all)", "Which pages are.", WORDS("healthz", "readyz", "metrics")),
    KEY("tenants", COUNT, AT(conf_admin, tenants), 1, 1000, "(none)",
        "How many tenants have a label in callgate_calls_total, the first ones to call; the others share `other`."),
    {.name = NULL}};

const struct conf_key conf__pipes[] = {
    KEY("socket", FILE, AT(conf_pipe, socket), 0, 0, "callgate.sock",
        "Where `callgate pipe` and `callgate hook` find the gate."),
    KEY("shared", BOOL, AT(conf_pipe, is_shared), 0, 0, "false",
        "Other users of the machine may connect to it, and ask routes of dialect hook."),
    KEY("linger", TIME, AT(conf_pipe, linger_ms), 1, DAY, "10s", "A gate that a pipe started ends so long after its last one."),
    {.name = NULL}};

const struct conf_key conf__console_client[] = {
    KEY("provider", NAME, BY_HAND, 0, 0, NULL, "One of `providers`, by its name."),
    KEY("client", NAME, BY_HAND, 0, 0, NULL, "As which client; `people: {logins}` has it as `console`."),
    KEY("secret", MAP, BY_HAND, 0, 0, "(none: a public client)", "By what the console shows that it is this client.",
        IN(conf__notify_secret, "`secret`")),
    KEY("scopes", TEXTS, BY_HAND, 0, 0, "(openid, and offline_access where the provider has it)", "What is asked for."),
    {.name = NULL}};

const struct conf_key conf__console[] = {
    KEY("address", NAME, AT(conf_console, address), 0, 0, "(127.0.0.1:8480)", "Where browsers connect."),
    KEY("url", NAME, AT(conf_console, url), 0, 0, "(the address)", "How people call it: 'https://gate.example.com'."),
    KEY("tls", MAP, AT(conf_console, tls), 0, 0, "(on loopback alone)", "Its certificate and key.", IN(conf__tls, "`tls`")),
    KEY("clients", LIST, BY_HAND, 0, 0, "(people log in by a key)", "By whose pages people log in.",
        IN(conf__console_client, "a client")),
    {.name = NULL}};

const struct conf_key conf__telemetry[] = {
    KEY("url", TEXT, BY_HAND, 0, 0, NULL, "The collector: 'https://HOST:4318'; /v1/traces, /v1/metrics, /v1/logs are added."),
    CLIENT_KEYS(conf__posted_header),
    KEY("send", TEXTS, BY_HAND, 0, 0, "(all; metrics where there is `admin`)", "What is sent.",
        WORDS("traces", "metrics", "logs")),
    KEY("include", TEXTS, BY_HAND, 0, 0, "(none)", "What names people or is theirs, and is told all the same.",
        WORDS("principals", "arguments", "details")),
    KEY("context", FLAG, AT(conf_telemetry, links), 0, 0, "continue", "What an agent's traceparent is: its call's parent, "
        "whose flag says whether spans are sent; or a link, which decides nothing.", WORDS("continue", "link")),
    KEY("one_in", COUNT, AT(conf_telemetry, one_in), 1, MILLION, "1",
        "One of so many permitted calls has spans, chosen by trace id. What was denied or held always has."),
    KEY("interval", TIME, AT(conf_telemetry, interval_ms), 1000, HOUR, "1min", "How often metrics are sent."),
    KEY("place", TEXT, BY_HAND, 0, 0, "telemetry.place", "A file that says up to which row all was taken."),
    {.name = NULL}};

const struct conf_key conf__logins[] = {
    KEY("provider", NAME, BY_HAND, 0, 0, NULL, "One of `providers`, by its name."),
    KEY("client", NAME, BY_HAND, 0, 0, "(none)", "As which client people log in by `callgate login`; the audience of their ID "
        "tokens."),
    KEY("console", NAME, BY_HAND, 0, 0, "(none)", "As which other client they log in at the console. With it, what a rule "
        "leaves to who asks, by `approvers: self`, is confirmed there alone."),
    KEY("principal", NAME, BY_HAND, 0, 0, "$.sub", "Where the token says who it is."),
    KEY("groups", NAME, BY_HAND, 0, 0, NULL, "Where it lists the groups that `members`, and `approvers` of rules, name."),
    KEY("tenant", TEXT, BY_HAND, 0, 0, "(none)",
        "Whose people they are, as in `identity`: one tenant, or where the token says it. With it they confirm what is asked "
        "in their own name, where a rule says `approvers: self`.", IN(conf__tenant, "`tenant`")),
    {.name = NULL}};

const struct conf_key conf__members[] = {
    KEY("name", NAME, BY_HAND, 0, 0, NULL, "A person's, as it is recorded."),
    KEY("accounts", TEXTS, BY_HAND, 0, 0, NULL, "Accounts of the machine that are this person's."),
    KEY("provider", NAME, BY_HAND, 0, 0, NULL, "Who says who it is, one of `logins`."),
    KEY("subject", TEXT, BY_HAND, 0, 0, NULL, "What the login's `principal` is for this person."),
    KEY("group", TEXT, BY_HAND, 0, 0, NULL, "In place of a name and a subject: all of this group."),
    KEY("principals", TEXTS, BY_HAND, 0, 0, NULL, "Agents that are this person's, whose calls others approve."),
    KEY("roles", TEXTS, BY_HAND, 0, 0, NULL,
        "viewer, approver, 'approver:TENANT', author, auditor, 'auditor:TENANT', responder, admin."),
    {.name = NULL}};

const struct conf_key conf__people[] = {
    KEY("socket", FILE, AT(conf_people, socket), 0, 0, "/run/callgate/control.sock", "Where the gate takes people's commands."),
    KEY("approvers", TEXTS, BY_HAND, 0, 0, NULL, "Groups that may look at held calls and decide."),
    KEY("authors", TEXTS, BY_HAND, 0, 0, NULL, "Groups that may load, remove and activate policies."),
    KEY("auditors", TEXTS, BY_HAND, 0, 0, NULL, "Groups that may read the audit, policies and keys' names."),
    KEY("admins", TEXTS, BY_HAND, 0, 0, NULL, "Groups that may do all of this, and make and revoke keys."),
    KEY("viewers", TEXTS, BY_HAND, 0, 0, NULL, "Groups that may read policies and figures, and no call."),
    KEY("responders", TEXTS, BY_HAND, 0, 0, NULL, "Groups that may stop calls, and resume what they stopped."),
    KEY("logins", LIST, BY_HAND, 0, 0, NULL, "How people show who they are by a provider.", IN(conf__logins, "a login")),
    KEY("members", LIST, BY_HAND, 0, 0, NULL, "People by name, and their roles.", IN(conf__members, "a member")),
    {.name = NULL}};

const struct conf_key conf__fleet[] = {
    KEY("database", NAME, AT(conf_fleet, database), 0, 0, "(as the membership says)",
        "The centre: 'postgresql://HOST/NAME?sslmode=verify-full&sslrootcert=db-ca.pem'."),
    KEY("membership", FILE, AT(conf_fleet, membership), 0, 0, NULL,
        "What `callgate fleet join` made; nobody but its owner may read it."),
    KEY("stale", TIME, AT(conf_fleet, stale_ms), 5000, 2592000000, "15min",
        "How long calls go on without the centre; then they are denied."),
    KEY("arguments", FLAG, AT(conf_fleet, keeps_arguments), 0, 0, "all", "What of calls' arguments goes to the centre.",
        WORDS("all", "digest")),
    {.name = NULL}};

/* ---- providers ---- */

static const struct conf_key provider_keys[] = {
    KEY("url", TEXT, BY_HAND, 0, 0, NULL, "Where its key set is: 'https://HOST/PATH'."),
    KEY("file", FILE, BY_HAND, 0, 0, NULL, "A file that holds it; read again when it changes."),
    KEY("stale", TIME, AT(conf_provider_keys, stale_ms), 60000, 2592000000, "24h",
        "How old a set may get that cannot be fetched anew."),
    {.name = NULL}};

const struct conf_key conf__client[] = {
    KEY("id", TEXT, BY_HAND, 0, 0, NULL, "As whom the gate is known there."),
    KEY("secret", MAP, BY_HAND, 0, 0, NULL, "By what it shows that.", IN(conf__notify_secret, "`secret`")),
    {.name = NULL}};

const struct conf_key conf__introspect[] = {
    KEY("url", TEXT, BY_HAND, 0, 0, NULL, "Where it is asked about opaque tokens (RFC 7662)."),
    KEY("client", MAP, BY_HAND, 0, 0, NULL, "As whom the gate asks.", IN(conf__client, "`client`")),
    {.name = NULL}};

const struct conf_key conf__provider[] = {
    KEY("name", TEXT, BY_HAND, 0, 0, NULL, "What routes call it."),
    KEY("issuer", TEXT, BY_HAND, 0, 0, NULL, "What stands in `iss` of its tokens, byte for byte."),
    KEY("keys", MAP, AT(conf_provider, keys), 0, 0, "(where the issuer's metadata say)", "Its key set.",
        IN(provider_keys, "`keys`")),
    KEY("algorithms", TEXTS, BY_HAND, 0, 0, "(RS256, PS256 and ES256)", "By which its tokens may be signed."),
    KEY("ca", FILE, BY_HAND, 0, 0, "(the system's authorities)", "The authority of its certificate."),
    KEY("leeway", TIME, AT(conf_provider, leeway_ms), 1, HOUR, "60s", "How far clocks may differ."),
    KEY("longest", TIME, AT(conf_provider, longest_ms), 60000, 2592000000, "24h", "How long a token may be valid."),
    KEY("id_token_like", BOOL, AT(conf_provider, id_token_like), 0, 0, "false",
        "Tokens whose `typ` is not at+jwt are taken, too; ID tokens never are."),
    KEY("introspect", MAP, BY_HAND, 0, 0, "(opaque tokens are refused)", "Whom to ask about opaque tokens.",
        IN(conf__introspect, "`introspect`")),
    {.name = NULL}};

const struct conf_key conf__top[] = {
    KEY("routes", LIST, BY_HAND, 0, 0, NULL, "What is served.", IN(conf__route, "a route")),
    KEY("providers", LIST, BY_HAND, 0, 0, NULL, "Whose access tokens routes may take.", IN(conf__provider, "a provider")),
    KEY("listen", LIST, BY_HAND, 0, 0, "(127.0.0.1:8080)", "Where agents connect.", IN(conf__listener, "a listener")),
    KEY("hosts", TEXTS, BY_HAND, 0, 0, "(those of the listeners and routes)", "Names that the gate answers to."),
    KEY("trusted_proxies", TEXTS, BY_HAND, 0, 0, NULL,
        "Addresses and nets whose X-Forwarded-For is believed; without one they are not the client."),
    KEY("workers", COUNT, BY_HAND, 1, 256, "(one a core)", "Threads that serve.", WORDS("auto")),
    KEY("store", FILE, AT(conf, store), 0, 0, "callgate.db", "Keys, policies and approvals."),
    KEY("audit", MAP, AT(conf, audit), 0, 0, NULL, "The record.", IN(audit, "`audit`")),
    KEY("admin", MAP, BY_HAND, 0, 0, "(off)", "Health and metrics.", IN(conf__admin, "`admin`")),
    KEY("notify", MAP, BY_HAND, 0, 0, "(nobody)", "Who is told of calls that wait for a person.", IN(conf__notify, "`notify`")),
    KEY("alerts", MAP, AT(conf, alerts), 0, 0, "(nobody)", "Who is told of what cannot wait.", IN(conf__alerts, "`alerts`")),
    KEY("drain", TIME, AT(conf, drain_ms), 1, HOUR, "30s", "How long open calls have at SIGTERM."),
    KEY("limits", MAP, BY_HAND, 0, 0, NULL, "Bounds of the whole gate.", IN(conf__limits, "`limits`")),
    KEY("user", NAME, AT(conf, user), 0, 0, NULL, "Whom a gate of root's becomes."),
    KEY("sandbox", FLAG, AT(conf, is_unconfined), 0, 0, "on", "Whether the gate confines itself.", WORDS("on", "off")),
    KEY("pipe", MAP, AT(conf, pipe), 0, 0, NULL, "For `callgate pipe` and `callgate hook`.", IN(conf__pipes, "`pipe`")),
    KEY("console", MAP, BY_HAND, 0, 0, NULL, "Of `callgate console`.", IN(conf__console, "`console`")),
    KEY("telemetry", MAP, BY_HAND, 0, 0, NULL, "Of `callgate telemetry`.", IN(conf__telemetry, "`telemetry`")),
    KEY("people", MAP, BY_HAND, 0, 0, "(who may open the store)", "Who may give which commands over a socket of the gate.",
        IN(conf__people, "`people`")),
    KEY("fleet", MAP, BY_HAND, 0, 0, "(by itself)", "Many gates with one policy and one trail, on PostgreSQL.",
        IN(conf__fleet, "`fleet`")),
    {.name = NULL}};
