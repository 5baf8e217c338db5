/* SPDX-License-Identifier: Apache-2.0 */
/* callgate.yaml as a checked whole: schema/callgate.md. Every path in it is already seen from its folder.
 *
 * Threads: made on main; the parts that workers read are in `proxy`, counted and immutable.
 * Owns: everything in it, one reference to `proxy`.
 * Lifetime: conf_free; `proxy` may outlive it.
 * Errors: up to 20 faults as file:line:column, certificates, keys and credential files that cannot be read among them. */
#ifndef CONF_CONF_H
#define CONF_CONF_H

#include "crypto/digest.h"
#include "identity/people_role.h"
#include "identity/provider.h"
#include "os/resolve.h"
#include "runner/runner.h"
#include "lane/conf.h"
#include "lane/route_names.h"

#define DISK_LOW_BYTES (UINT64_C(64) << 20) /* less room than this beside the audit: the log, /readyz and `status` say so */

struct conf_audit {
    const char *database;          /* audit.db */
    const char *checkpoints;       /* audit.db.heads: what signed checkpoints are appended to; NULL: they are posted */
    struct proxy_upstream checkpoint_server; /* where they are posted; host == NULL: nowhere */
    const char *checkpoint_key;    /* audit-key.pem; made at first start where it is missing */
    uint32_t checkpoint_interval_ms; /* 1 s */
    uint32_t checkpoint_rows;      /* 16,384 */
    const char *redact_key;        /* redact.key; made at first start where it is missing */
    uint64_t arguments_max_bytes;  /* 64 KiB */
    uint64_t rotate_bytes;         /* a file of this size is sealed */
};

struct conf_admin {
    bool is_on;
    struct sock_address address;
    bool public_healthz, public_readyz, public_metrics;
    uint32_t tenants;              /* that have a label in callgate_calls_total; 0: none has */
};

struct conf_notify {
    struct proxy_upstream server;  /* host == NULL: none */
    struct span secret;            /* signs what is posted; among the secrets */
    struct proxy_upstream program; /* a command of this name is run; host == NULL: none */
};

struct conf_alerts {
    struct conf_notify to;
    uint32_t every_ms, certificates_ms; /* 5 min; 14 d */
    uint64_t disk_bytes;           /* 1 GiB */
};

struct conf_pipe {
    const char *socket;            /* callgate.sock */
    bool is_shared;                /* other users of this machine may ask routes in dialect hook */
    uint32_t linger_ms;            /* 10 s: a gate that a pipe started ends so long after its last connection */
    const char *user;              /* whom a gate of root's becomes; NULL: nobody. For the pipe alone */
};

/* One of `members`: a person by name, or all whom a provider says to be in a group. */
struct conf_member {
    struct span name;                  /* empty: of a group, by whose login he is called */
    const struct span *accounts;       /* of the machine, which are this person's */
    const struct span *principals;     /* of agents that are */
    size_t account_count, principal_count;
    struct span provider, subject, group;
    const struct span *roles;
    size_t role_count;
};

/* One of `logins`: how people show by a provider who they are. */
struct conf_login {
    struct span provider;
    struct span client, console;       /* as which people log in by `callgate login`, and at the console; empty: they do not */
    struct span principal, groups;     /* paths into the claims; of groups empty: there are none */
    struct identity_naming tenant;     /* neither a constant nor a claim: logins say none */
    size_t number;                     /* of the provider in `providers` */
    struct identity_provider by;       /* read by conf_people alone; without TLS and secrets */
};

struct conf_people {
    bool is_on;
    const char *socket;            /* /run/callgate/control.sock */
    struct {
        const struct span *names;
        size_t count;
    } groups[PEOPLE_ROLES];
    const struct conf_login *logins;
    const struct conf_member *members;
    size_t login_count, member_count;
};

/* One of `console: {clients}`: as whom the console is known to a provider that logs people in. */
#define CONF_CONSOLE_CLIENTS 16
struct conf_console_client {
    struct span provider, client, secret; /* secret: read by conf_console alone; empty: the client has none */
    const struct span *scopes;
    size_t scope_count;
    struct identity_provider by;          /* read by conf_console alone: its rules and its authority */
};

/* What `callgate console` reads. */
struct conf_console {
    const char *address, *url; /* NULL: by default */
    struct tls_server_conf tls;
    struct conf_console_client *clients;
    size_t client_count;
};

/* What `callgate telemetry` reads. */
struct conf_telemetry {
    struct proxy_upstream server;      /* its path goes before the signals' */
    const char *place;
    bool traces, metrics, logs;
    bool principals, arguments, details;
    bool links;
    uint32_t one_in, interval_ms;
    struct conf_admin admin;
};

/* `fleet:`: many gates with one policy and one trail, at a centre. membership NULL: this gate is by itself. */
struct conf_fleet {
    const char *database;      /* the centre's URL; NULL: the one of the membership */
    const char *membership;    /* what `callgate fleet join` made */
    uint32_t stale_ms;         /* calls go on so long without the centre */
    bool keeps_arguments;      /* they stay here, and their digests go to the centre */
};

struct conf {
    struct arena arena;
    const char *path;              /* of the file itself */
    const char *const *files;      /* every file that it names and that is there to be read */
    size_t file_count;
    const char *user;              /* whom root becomes; NULL: nobody */
    bool is_unconfined;            /* `sandbox: off` */
    const char *store;             /* callgate.db */
    unsigned workers;              /* `auto` is worked out */
    uint32_t drain_ms;             /* 30 s */
    struct conf_audit audit;
    struct conf_admin admin;
    struct conf_notify notify;
    struct conf_alerts alerts;
    struct conf_pipe pipe;
    struct conf_console console;
    struct conf_people people;
    struct conf_fleet fleet;
    struct proxy_conf *proxy;      /* sealed */
    struct runner_commands *commands; /* of upstreams and of `notify`; NULL: taken, or there are none */
    const struct resolve_name *names; /* hosts of all upstreams, each once */
    size_t name_count;
};

/* Which file a command means. Takes: given, what --config says; NULL: the first of the file that the environment names in
 * CALLGATE_CONFIG, ./callgate.yaml and /etc/callgate/callgate.yaml; one that is named counts whether it is there or not.
 * Returns: a name that lives as long as given and the environment do. */
const char *conf_find(const char *given);

/* SHA-256 of the file's text: the whole configuration, since a file includes no other. Certificates, credentials and key sets
 * that it names have lives of their own, and a pipe may not read them; every reload reads them anew. Errors: as file_read. */
enum code conf_digest(const char *path, unsigned char digest[DIGEST_BYTES], struct why *why) MUST_USE;

/* Reads and checks everything: the file, certificates, credential files. Warnings may be NULL.
 * Returns: CODE_OK with *conf; CODE_INVALID with faults; CODE_NOMEM. */
enum code conf_load(const char *path, struct conf **conf, struct faults *faults, struct faults *warnings) MUST_USE;
void conf_free(struct conf **conf); /* NULL is fine */

/* What `callgate pipe` and `callgate hook` have to know of their route. Owned by its arena. */
struct conf_pipe_route {
    struct arena arena;
    struct conf_pipe pipe;
    struct span name;
    const struct dialect *dialect;
    uint64_t line_bytes;           /* limits.body */
    struct span key_header;        /* where the gate asks for a key; empty: it asks for none */
    const char *key_prefix;        /* before the key there */
    const struct span *servers;    /* for hooks: names of the routes that lead to servers; one with slugs has none */
    const struct span *urls;       /* likewise their public_url; or empty */
    size_t server_count;
};
/* Takes: name NULL: the only one; hooks: one of dialect hook, and of no other. *out is the caller's in any case
 * (arena_fini). */
enum code conf_pipe_route(const char *path, const char *name, bool hooks, struct conf_pipe_route *out,
                          struct faults *faults) MUST_USE;

/* A configuration of which a command needs parts, and no certificate or credential. It is read when the first part is asked
 * for, and once. Takes: given: as conf_find. Returns: NULL: out of memory. */
struct conf_file;
struct conf_file *conf_file_new(const char *given);
void conf_file_free(struct conf_file **file); /* NULL is fine */
const char *conf_file_path(struct conf_file *file);

/* The root of the file, which lives as long. A missing or unreadable one is a fault like any other. */
enum code conf_file_root(struct conf_file *file, const struct yaml_node **root, struct faults *faults) MUST_USE;

/* What `store:` and `audit: {database:}` name, or their defaults. *store and *database are the caller's (mem_free). */
enum code conf_store_path(struct conf_file *file, char **store, struct faults *faults) MUST_USE;
enum code conf_audit_path(struct conf_file *file, char **database, struct faults *faults) MUST_USE;

/* What `people:` says. *out is the arena's, which is the caller's in any case (arena_fini). */
enum code conf_people(struct conf_file *file, struct arena *arena, struct conf_people *out, struct faults *faults) MUST_USE;
/* Likewise of `fleet:`. */
enum code conf_fleet(struct conf_file *file, struct arena *arena, struct conf_fleet *out, struct faults *faults) MUST_USE;
/* Likewise of `console:`. */
enum code conf_console(struct conf_file *file, struct arena *arena, struct conf_console *out, struct faults *faults) MUST_USE;
/* Likewise of `telemetry:` and of `admin:`. *out holds secrets, which proxy_upstream_fini(&out->server) frees in any case. */
enum code conf_telemetry(struct conf_file *file, struct arena *arena, struct conf_telemetry *out, struct faults *faults)
    MUST_USE;

struct yaml_node;
bool conf_is_front(const struct yaml_node *route); /* whether people log in by it, and nobody calls */

#endif
