/* SPDX-License-Identifier: Apache-2.0 */
/* Resolves names to addresses on a thread of its own, into an immutable counted table that is made anew at an interval.
 *
 * Threads: one thread asks the system; resolver_table and table reads from any; the rest from the main thread.
 * Owns: the thread, the names, the current table.
 * Lifetime: a table lives until its last reader gives it back; the resolver's thread outlives a stuck lookup by itself.
 * Errors: a name that cannot be resolved keeps its last addresses; one that never could be has none. */
#ifndef OS_RESOLVE_H
#define OS_RESOLVE_H

#include "base/span.h"
#include "base/why.h"
#include "os/sock.h"

struct resolver;
struct resolve_table;

#define RESOLVE_HOST_BYTES 254 /* the longest DNS name, with its NUL */
#define RESOLVE_ADDRESSES_MAX 16 /* of one name; more are left out */

struct resolve_name {
    char host[RESOLVE_HOST_BYTES]; /* a name, or an address (IPv6 without brackets) */
    uint16_t port;
};

/* Asks for one name. Returns: how many addresses were written; 0 when it has none or cannot be asked. */
typedef size_t (*resolve_lookup_fn)(const char *host, uint16_t port, struct sock_address *out, size_t max);

/* Called on the resolver's thread after a new table is in place; it may only poke. */
typedef void (*resolve_changed_fn)(void *context);

struct resolver_conf {
    unsigned every_ms;         /* 0: 30 seconds */
    resolve_lookup_fn lookup;  /* NULL: getaddrinfo(3) */
    resolve_changed_fn changed; /* may be NULL */
    void *context;
};

/* Literal addresses are in the table at once; names follow. Takes: a copy of the names. */
enum code resolver_new(struct resolver **resolver, const struct resolver_conf *conf, const struct resolve_name *names,
                       size_t count, struct why *why) MUST_USE;

/* Sets other names from now on; names that stay keep their addresses. */
enum code resolver_set(struct resolver *resolver, const struct resolve_name *names, size_t count) MUST_USE;

/* Blocks: until every name was asked once, at most wait_ms. Returns: whether that is so. */
bool resolver_wait(struct resolver *resolver, unsigned wait_ms);

/* After it returns, `changed` is not called any more. Blocks: a second at most, for a lookup under way. */
void resolver_free(struct resolver **resolver);

/* The current table, counted for the caller. */
struct resolve_table *resolver_table(struct resolver *resolver);
struct resolve_table *resolve_table_ref(struct resolve_table *table);
void resolve_table_unref(struct resolve_table **table); /* NULL is fine; *table becomes NULL */

/* Returns: the addresses in the order in which to try them, and *count; *count is 0 where there is none. */
const struct sock_address *resolve_find(const struct resolve_table *table, struct span host, uint16_t port,
                                        size_t *count);

#endif
