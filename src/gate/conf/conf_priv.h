/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the configuration's reader share: values with their faults, and the parts of the file.
 *
 * Threads: main.
 * Owns: nothing; texts go into the arena that is set.
 * Lifetime: one conf_load.
 * Errors: told as faults at their place; absent or faulty values are zero. Without memory `out_of_memory` sticks. */
#ifndef CONF_CONF_PRIV_H
#define CONF_CONF_PRIV_H

#include "conf/conf.h"
#include "yaml/yaml.h"

struct conf_reader {
    const char *path;
    const struct yaml_tree *tree;
    struct arena *arena;      /* where texts go: the configuration's own, or the proxy's */
    struct faults *faults;
    struct faults *warnings;
    struct proxy_conf *proxy;
    struct runner_commands *commands; /* NULL until there is one */
    const char **files;       /* in the configuration's arena; file_count of them */
    size_t file_count;
    struct arena *own_arena;
    bool has_client_ca;       /* some listener asks for client certificates */
    bool out_of_memory;
};

/* Takes: node: whose value is faulty. */
#define CONF_FAULT(reader, node, ...) \
    faults_add((reader)->faults, yaml_file((reader)->tree), (node)->line, (node)->column, __VA_ARGS__)
#define CONF_WARN(reader, node, ...) \
    faults_add((reader)->warnings, yaml_file((reader)->tree), (node)->line, (node)->column, __VA_ARGS__)

/* ---- conf_keys.c: what keys there are ---- */

enum conf_type {
    CONF_ANY,
    CONF_TEXT,
    CONF_NAME,   /* a text; into a const char * */
    CONF_HEADER, /* a header's name; into a struct span */
    CONF_FILE,   /* beside the configuration; into a const char * */
    CONF_FILES,  /* such ones, NULL at the end */
    CONF_BOOL,
    CONF_FLAG,   /* one of two words; true is the second */
    CONF_WORD,   /* one of several; into an enum */
    CONF_SIZE,   /* bytes; into a uint64_t */
    CONF_TIME,   /* milliseconds; into a uint32_t */
    CONF_COUNT,  /* into a uint32_t */
    CONF_RATE,
    CONF_TEXTS,  /* a list of texts, or of one of some words */
    CONF_WORDS,  /* a command's */
    CONF_MAP,    /* of `keys` */
    CONF_MAPS,   /* such a map for each name that the configuration chooses */
    CONF_LIST    /* of such maps */
};

/* One key of a map. */
struct conf_key {
    const char *name; /* NULL: behind the last */
    enum conf_type type;
    size_t at;        /* where in the map's struct the value goes; BY_HAND: its map's function reads it */
    uint64_t min, max; /* of sizes in bytes, of times in milliseconds */
    const char *usual; /* the default, as one would write it; in round brackets: in words, and set elsewhere */
    const char *what;  /* what it means, for people */
    const char *const *words;
    const struct conf_key *keys; /* of CONF_MAP and CONF_LIST */
    const char *called;          /* what a fault calls such a map */
};
#define BY_HAND SIZE_MAX

extern const struct conf_key conf__top[], conf__limits[], conf__admin[], conf__listener[], conf__tls[], conf__route[],
    conf__route_audit[], conf__method[], conf__unwrap[], conf__apps[], conf__rates[], conf__front[], conf__url[],
    conf__program[], conf__server[], conf__header[], conf__posted_header[], conf__variable[], conf__outgoing[],
    conf__outgoing_client[], conf__client_credentials[], conf__exchange[], conf__connect[], conf__source[],
    conf__certificate[], conf__certificate_tenant[], conf__agent_by[], conf__login[], conf__nobody[], conf__token[],
    conf__tenant[], conf__provider[], conf__introspect[], conf__client[], conf__plan[], conf__plan_keys[], conf__pipes[],
    conf__console[], conf__console_client[], conf__telemetry[], conf__people[], conf__logins[], conf__members[],
    conf__notify[], conf__notify_secret[], conf__alerts[], conf__fleet[];

/* What is read by these tables of a program that says a secret. */
struct conf_run {
    uint32_t timeout_ms, ttl_ms;
};

/* What conf_provider.c reads of a provider by these tables. */
struct conf_provider_keys {
    uint32_t stale_ms;
};
struct conf_provider {
    struct conf_provider_keys keys;
    uint32_t leeway_ms, longest_ms;
    bool id_token_like;
};

/* ---- conf_value.c: `map` may be anything, `key` its member ---- */

/* Whether it is a map; tells unknown keys. Takes: what: "a route". */
bool conf__map(struct conf_reader *reader, const struct yaml_node *node, const struct conf_key *keys, const char *what);
/* Reads all keys of a map that are not read by hand into the struct that they are of, absent ones by their default.
 * Takes: node: NULL, or no map (a fault): all by default. Returns: whether it is a map. */
bool conf__read(struct conf_reader *reader, const struct yaml_node *node, const struct conf_key *keys, const char *what,
                void *into);
const struct yaml_node *conf__need(struct conf_reader *reader, const struct yaml_node *map, const char *key,
                                   const char *example);
/* The member where it is a list of at least one and at most `max`, else NULL. */
const struct yaml_node *conf__list(struct conf_reader *reader, const struct yaml_node *map, const char *key, uint32_t max);

/* A string that is not empty and holds no control character; copied, with a NUL. at == NULL: none. */
struct span conf__text(struct conf_reader *reader, const struct yaml_node *node);
struct span conf__text_of(struct conf_reader *reader, const struct yaml_node *map, const char *key);
struct span conf__copy(struct conf_reader *reader, struct span text);
struct span conf__lower(struct conf_reader *reader, struct span text);
/* A file beside the configuration; `otherwise` where the key is absent (NULL gives NULL). */
const char *conf__path(struct conf_reader *reader, const struct yaml_node *map, const char *key, const char *otherwise);
const char *conf__beside(struct conf_reader *reader, struct span text); /* likewise; at == NULL gives NULL */
/* A list of such files, NULL at its end; NULL where the key is absent or nothing in it can be read. */
const char *const *conf__paths(struct conf_reader *reader, const struct yaml_node *map, const char *key, uint32_t max);
#define CONF_MAX_LISTS 64 /* files of revoked certificates */
bool conf__bool(struct conf_reader *reader, const struct yaml_node *map, const char *key);
/* The index of the word in `words` (NULL-terminated); 0 where the key is absent or faulty. */
size_t conf__choice(struct conf_reader *reader, const struct yaml_node *map, const char *key, const char *const *words);
size_t conf__word(struct conf_reader *reader, const struct yaml_node *node, const char *key, const char *const *words);
uint64_t conf__size(struct conf_reader *reader, const struct yaml_node *map, const char *key, uint64_t min, uint64_t max);
uint32_t conf__number(struct conf_reader *reader, const struct yaml_node *map, const char *key, uint32_t max);
/* A header's name that nothing but this key decides on. */
struct span conf__header_name(struct conf_reader *reader, const struct yaml_node *node);
/* Visible ASCII of 1 to 128 bytes. */
struct span conf__principal(struct conf_reader *reader, const struct yaml_node *map, const char *key, const char *example);
/* An array in the arena, zeroed. */
void *conf__array(struct conf_reader *reader, size_t count, size_t bytes);
/* The texts of a list, each as `one` makes it, which tells what is wrong with it. Returns: how many there are. */
size_t conf__texts(struct conf_reader *reader, const struct yaml_node *map, const char *key, uint32_t max,
                   struct span (*one)(struct conf_reader *reader, const struct yaml_node *node), const struct span **texts);
/* A host's name or address in lower case. */
struct span conf__host(struct conf_reader *reader, const struct yaml_node *node);
#define CONF_FILES_MAX 512

/* ---- the parts ---- */

/* The file as a map; a missing or unreadable one is a fault like any other. Takes: digest: set to its text's; or NULL. */
enum code conf__tree(const char *path, struct yaml_tree **tree, unsigned char *digest, struct faults *faults) MUST_USE;

/* Begins to read a part. Takes: unheard: gets warnings, which are told where all of it is read. */
enum code conf__begin(struct conf_file *file, struct arena *arena, struct faults *unheard, struct faults *faults,
                      struct conf_reader *reader, const struct yaml_node **root) MUST_USE;
/* Names the files of a part that another program reads, so that a backup has them. */
void conf__name_files(struct conf_reader *reader, const struct yaml_node *map, const struct conf_key *keys);
void conf__admin_of(struct conf_reader *reader, const struct yaml_node *root, struct conf_admin *admin);

/* Warns where a revocation list has run out: nothing that it speaks of is accepted. A fault would keep an older
 * configuration, and with it what newer lists revoke. */
void conf__warn_of_old_lists(struct conf_reader *reader, const struct yaml_node *node, const struct tls_context *context);
void conf__listens(struct conf_reader *reader, const struct yaml_node *root, const struct conf_pipe *pipe);
void conf__routes(struct conf_reader *reader, const struct yaml_node *root);
const struct dialect *conf__dialect(struct conf_reader *reader, const struct yaml_node *route); /* or the default */
bool conf__is_pipe(const struct yaml_node *route); /* a route with a dialect, and with neither path nor upstream */
bool conf__has_pipes(const struct yaml_node *root, bool alone); /* some route is for pipes; alone: all are */
void conf__check_pipe(struct conf_reader *reader, const struct yaml_node *root, const struct conf_pipe *pipe);
void conf__upstream(struct conf_reader *reader, const struct yaml_node *yaml_route, struct proxy_route *route);
/* `upstream: {command:}`. Takes: map: the upstream's; route: whose name it has. */
void conf__command(struct conf_reader *reader, const struct yaml_node *map, const struct yaml_node *yaml_route,
                   struct proxy_route *route);
/* The URL at `node`, with what stands beside it in `map`. Takes: map: NULL: nothing does; subtree: its path is a beginning;
 * route: whose it is; at == NULL: no route's, whose headers no program says. */
void conf__server_of(struct conf_reader *reader, const struct yaml_node *map, const struct yaml_node *node, bool subtree,
                     struct span route, struct proxy_upstream *out);
/* {run: [...]}, for a header of the route. Takes: map: read by a table with RUN_KEYS into `run`. */
void conf__value_program(struct conf_reader *reader, const struct yaml_node *map, struct span route, struct span prefix,
                         const struct conf_run *run, struct outgoing *out);
/* Whether `map` has one of `file` and `run`; a fault where it has both or none, or has `ttl` and the like without `run`. */
bool conf__has_one_source(struct conf_reader *reader, const struct yaml_node *map, const char *what);
/* Reads `upstream: {authorization:}`, after the headers; then checks whether the identity of the route allows it. */
void conf__authorization(struct conf_reader *reader, const struct yaml_node *upstream, struct span route,
                         struct proxy_upstream *out);
void conf__check_authorization(struct conf_reader *reader, const struct yaml_node *map, const struct proxy_route *route);
/* One line of a file that only its owner may read. Returns: empty, with a fault at `node`. Takes: path NULL: there was a fault;
 * text: empty; wiped by the caller. */
struct span conf__secret(struct conf_reader *reader, const struct yaml_node *node, const char *path, struct buf *text);
/* Likewise with what stands before it, as a header's value among the secrets. */
struct span conf__prefix(struct conf_reader *reader, const struct yaml_node *map, const char *otherwise);
struct span conf__prefixed_secret(struct conf_reader *reader, const struct yaml_node *node, const char *path,
                                  struct span prefix);
struct span conf__secret_of(struct conf_reader *reader, const struct yaml_node *map, const char *example); /* of {file: NAME} */
#define CONF_SECRET_BYTES 8192
/* Whether `checkpoints` names a server: a URL, or a map with one. Otherwise it is a file. */
bool conf__checkpoint_server(struct conf_reader *reader, const struct yaml_node *node, struct proxy_upstream *out);
/* `notify` and `alerts`. Takes: command: as what the program of its `run` is known; no route can be named so. */
void conf__notification(struct conf_reader *reader, const struct yaml_node *node, const struct conf_key *keys,
                        const char *command, struct conf_notify *notify);
void conf__notify_program(struct conf_reader *reader, const struct yaml_node *map, const char *name,
                          struct proxy_upstream *out);
/* After path and upstream were read; `pass` after the slugs. */
void conf__slugs(struct conf_reader *reader, const struct yaml_node *map, struct proxy_route *route);
void conf__pass(struct conf_reader *reader, const struct yaml_node *map, struct proxy_route *route);
void conf__resource(struct conf_reader *reader, const struct yaml_node *map, struct proxy_route *route); /* the last of it */
void conf__identity(struct conf_reader *reader, const struct yaml_node *map, struct proxy_route *route);
void conf__people_of(struct conf_reader *reader, const struct yaml_node *root, struct conf_people *people);
void conf__fleet_of(struct conf_reader *reader, const struct yaml_node *root, struct conf_fleet *fleet);
void conf__console_of(struct conf_reader *reader, const struct yaml_node *root, struct conf_console *console);
/* Finds whom `provider` names among `providers`. Where no proxy is read, nobody has read them, and *by gets its rules here.
 * *number: which it is. Returns: its map; NULL after a fault at `node`. */
const struct yaml_node *conf__find_provider(struct conf_reader *reader, const struct yaml_node *root,
                                            const struct yaml_node *node, struct span provider, size_t *number,
                                            struct identity_provider *by);
void conf__provider_tls(struct conf_reader *reader, const struct yaml_node *map, struct identity_provider *provider);
/* The header in which a trusted proxy hands on a certificate, as `from` says. Returns: NULL: the connection's own counts. */
const char *conf__certificate_from(struct conf_reader *reader, const struct yaml_node *map);
void conf__source_certificate(struct conf_reader *reader, const struct yaml_node *node, struct identity_source *source);
/* Before the routes, which name them. */
void conf__providers(struct conf_reader *reader, const struct yaml_node *root);
/* One provider, but for its TLS and secrets: enough to check a token by a set that was kept. */
void conf__provider_rules(struct conf_reader *reader, const struct yaml_node *map, struct identity_provider *provider);
/* The provider that `provider` names; NULL after a fault. */
const struct identity_provider *conf__provider_of(struct conf_reader *reader, const struct yaml_node *map);
/* The tenant of who shows a token: a constant, a claim's path, or a table; a fault where `map` has none. */
void conf__tenant_of(struct conf_reader *reader, const struct yaml_node *map, struct identity_naming *tenant);
/* A URL of a provider's: https, or http on this machine. Returns: NULL after a fault. */
const char *conf__provider_url(struct conf_reader *reader, const struct yaml_node *node);
/* `- token:`. */
void conf__token_of(struct conf_reader *reader, const struct yaml_node *node, struct identity_source *source);

#endif
