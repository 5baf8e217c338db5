/* SPDX-License-Identifier: Apache-2.0 */
/* The proxy's configuration as one immutable counted snapshot: listeners, routes, limits.
 *
 * conf/ makes one with proxy_conf_new, fills it with memory of its arena, and seals it; from then on nothing changes.
 *
 * Threads: filled by one; sealed it is read by all; ref and unref from any.
 * Owns: its arena, and one reference to each tls_context in it. The resolver's names are the caller's.
 * Lifetime: counted; a call keeps the snapshot that it began with.
 * Errors: proxy_conf_seal: CODE_INVALID with a sentence, CODE_NOMEM. */
#ifndef LANE_CONF_H
#define LANE_CONF_H

#include "base/mem.h"
#include "base/ref.h"
#include "base/why.h"
#include "crypto/digest.h"
#include "declared/declared.h"
#include "state/definitions.h"
#include "state/plan.h"
#include "http/reader.h"
#include "identity/identity.h"
#include "identity/outgoing.h"
#include "mcp/dialect.h"
#include "oauth/front.h"
#include "link/rate.h"
#include "os/sock.h"
#include "lane/slug.h"
#include "tls/tls.h"

struct proxy_listen {
    struct sock_address address;    /* port 0: the kernel chooses one, and proxy_address returns it */
    const char *socket;             /* a Unix socket, for pipes alone, in place of the address; NULL: none */
    bool is_shared;                 /* of it: other users of this machine may ask there, too */
    struct tls_context *tls;        /* NULL: plain HTTP */
    uint32_t head_ms, body_ms, idle_ms; /* 0: the defaults 10 s, 30 s, 75 s */
    uint64_t read_rate;             /* bytes a second that an agent must take at least, after body_ms; 0: 8 KiB */
};

/* One of `upstream.headers`: its value is a secret (crypto/secret.h), wiped with the upstream. */
struct proxy_header {
    struct span name;
    struct span value;
    struct outgoing *program;       /* says it, in place of `value`; NULL: none */
};

struct proxy_upstream {
    struct span command;            /* not empty: the upstream is a command's children, which proxy_start.dial_command
                                     * reaches; there is no address then, and `host` is only for people */
    struct tls_context *tls;        /* NULL: plain HTTP */
    const char *host;               /* a name, or an address (IPv6 without brackets), as the resolver's table has it; NULL:
                                     * there is no one host, since each connection of a pipe brings its own upstream */
    uint16_t port;
    struct span path;               /* begins with '/'; for a subtree without a trailing '/'; with the mark of a slug route */
    struct span authority;          /* what the Host header says upstream: the URL's authority */
    bool preserve_host;             /* the agent's Host goes up instead */
    const struct proxy_header *headers;
    size_t header_count;
    struct outgoing outgoing;       /* what goes up in Authorization; then `headers` has no Authorization */
};
/* A credential for upstreams that is asked for while the gate runs: its kind is PROGRAM, CLIENT or EXCHANGE. */
struct proxy_fetched {
    const struct proxy_route *route;
    const struct outgoing *outgoing;
};
void proxy_upstream_fini(struct proxy_upstream *upstream); /* frees TLS and secrets; an arena owns the rest */

/* `pass`: a declared path, which is forwarded without identity and judgement, for GET and HEAD or for POST. One that matches
 * more than one path, and one for POST, is tried after the paths of routes, and never leads to where calls are judged. */
struct proxy_pass {
    struct span path;               /* with a slug's mark where the route has slugs; a wildcard without its slash and star */
    struct span upstream_path;      /* likewise */
    bool is_post;
    bool is_wild;
    enum oauth_step oauth;          /* what it is to OAuth's clients: no configuration declares these. NONE: it leads upstream
                                     * as it came; TOKEN: written anew; else the gate answers */
};

/* What the metadata of a route that takes tokens say (RFC 9728). The resource is the route at its public_url. */
struct proxy_resource {
    struct span *servers;           /* servers whose tokens the route takes; none: the gate makes no metadata */
    size_t server_count;
    const struct span *scopes;      /* scopes that clients ask for at first */
    size_t scope_count;
    bool dpop, certificate;         /* what tokens must be bound to */
};

struct proxy_limits {
    uint64_t body_bytes;            /* 0: 4 MiB */
    uint64_t response_bytes;        /* 0: 8 MiB */
    uint64_t event_bytes;           /* 0: 8 MiB */
    uint32_t per_principal_requests; /* 0: 1024 */
    bool is_plain;                  /* who exceeds these limits gets {"error": text}, not JSON-RPC */
    struct rate principal_rate, tenant_rate, address_rate; /* rates of requests on this route; zeroed: no limit */
};

struct proxy_route {
    struct span name;               /* the policy's `upstream`; with the mark of a slug: its template */
    struct span host;               /* lower case, without port; empty: any accepted one */
    struct span path;               /* byte-exact but for a slug's mark; a subtree without its trailing slash and star */
    bool subtree;
    struct slug_list slugs;         /* empty: there is no mark in the route */
    bool unlisted_is_error;         /* a message for another slug is answered by a JSON-RPC error within 200, not by 404 */
    struct span public_url;         /* the URL by which agents know the route, with a slug's mark; empty: metadata pass as
                                     * they are */
    size_t public_path_at;          /* where the path of public_url begins */
    struct proxy_resource resource;
    struct oauth_front front;       /* its client empty: none. A front's route takes no calls; its upstream is where the
                                     * provider gives tokens */
    bool step_up;                   /* a denial for lack of a scope is a 403 that names the scope */
    const struct span *servers;     /* a joined endpoint: names of the routes that it puts together; it has no upstream */
    size_t server_count;            /* 0: it is none */
    uint32_t name_budget;           /* of a joined endpoint: the longest name of a tool or prompt that it lists; 0: 64 */
    const struct dialect *dialect;  /* NULL: the default */
    bool is_pipe;                   /* only for connections of pipes, which name it (os/local.h): it has no path */
    const char *const *revisions;   /* NULL-terminated, at least one */
    struct proxy_upstream upstream;
    uint32_t connect_ms, reply_head_ms, reply_idle_ms; /* 0: 5 s, 60 s, 5 min */
    const struct identity_source *identity;
    size_t identity_count;
    bool agent_judged;              /* calls need the agent's half of a permit, too */
    struct plan_keys plan_keys;     /* keys that may sign plans; count 0: no plan is looked at */
    struct span plan_header;
    struct span tenant_header;      /* empty: the dialect's, or none */
    struct span correlation_header; /* empty: the dialect's, or X-Correlation-Id */
    const struct span *origins;     /* globs; with count 0: an Origin whose host passes the Host check */
    size_t origin_count;
    const struct span *underscored; /* header names with '_' that are not refused */
    size_t underscored_count;
    const struct span *reply_headers; /* headers of replies that go down besides those that all agents get */
    size_t reply_header_count;
    const struct span *params;      /* members of params that may stand beside those of the specification */
    size_t param_count;
    struct mcp_methods methods;     /* `methods`: what messages of extensions are about */
    struct declared_unwraps unwraps; /* `unwrap`: tools that call tools */
    struct declared_apps apps;      /* `apps`: what pages of its server may reach and use */
    enum mcp_meta meta;
    bool query_pass;
    bool http_sse, http_sse_only;   /* `transports`: HTTP+SSE of 2024-11-05 too, or alone */
    bool strict_tool_names;
    enum definitions_mode definitions;
    bool forwarded;
    bool denials_sse;
    struct mcp_deceptive deceptive;
    unsigned lenient;           /* bits of enum mcp_leniency */
    uint32_t answer_bytes;          /* how much of each result the audit keeps; 0: nothing */
    const struct proxy_pass *pass;
    size_t pass_count;
    struct proxy_limits limits;

    struct http_rules rules;        /* made by proxy_conf_seal */
};

/* The name of the header: the configured one, or the dialect's, or the gate's own; a tenant's header may be empty: there is
 * none. Takes: a route with a dialect. */
#define PROXY_DEFAULT_CORRELATION SPAN_LIT("X-Correlation-Id")
struct span proxy_correlation_header(const struct proxy_route *route);
struct span proxy_tenant_header(const struct proxy_route *route);

struct proxy_conf {
    struct arena arena;
    struct proxy_listen *listens;
    size_t listen_count;
    struct proxy_route *routes;
    size_t route_count;
    const struct span *hosts;       /* `hosts:`, lower case */
    size_t host_count;
    const struct sock_net *trusted_proxies;
    size_t trusted_proxy_count;
    struct identity_provider *providers;
    size_t provider_count;
    const char *console_url;        /* where people confirm their own calls; NULL: nobody is sent there */
    uint64_t memory_bytes;          /* of bodies and replies over all workers; 0: 1 GiB */
    uint32_t connections_per_address; /* connections that show no identity; 0: 256 */

    unsigned char digest[DIGEST_BYTES]; /* of the text that it was read from; pipes say which one they have read */

    struct ref ref;
    struct http_rules rules;        /* made by proxy_conf_seal: the union over all routes */
    bool has_hosts;                 /* likewise: some route or `hosts:` names one */
    bool has_fronts;                /* likewise: some route is a front */
    const struct proxy_fetched *fetched; /* likewise */
    size_t fetched_count;
};

/* Makes one, zeroed, with an empty arena and one reference. Returns: NULL: no memory. */
struct proxy_conf *proxy_conf_new(void) MUST_USE;

/* Fills in defaults, puts the routes into the order in which they are tried, and refuses two that take the same path. */
enum code proxy_conf_seal(struct proxy_conf *conf, struct why *why) MUST_USE;

/* Whether some route's calls go to this path of the upstream's server, as a careless server reads paths. */
bool proxy_conf_judges(const struct proxy_conf *conf, const struct proxy_upstream *server, struct span path);
bool proxy_conf_trusts(const struct proxy_conf *conf, const struct sock_address *address); /* a trusted proxy's */
/* Whether a declared POST may lead to this path of the server: then calls may not go there, since the POST
 * would pass unjudged. */
bool proxy_conf_declares(const struct proxy_conf *conf, const struct proxy_upstream *server, struct span path);

struct proxy_conf *proxy_conf_ref(struct proxy_conf *conf);
void proxy_conf_unref(struct proxy_conf **conf);

#endif
