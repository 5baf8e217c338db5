/* SPDX-License-Identifier: Apache-2.0 */
#include "os/resolve.h"

#include "base/bug.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/ref.h"
#include "os/clock.h"
#include "os/sandbox.h"
#include "os/thread.h"

#include <errno.h>
#include <netdb.h>
#include <string.h>

#define NAMES_MAX 4096
#define EVERY_MS 30000
#define RETRY_MS 1000 /* while some name has no address at all */
#define FREE_WAIT_MS 1000

struct entry {
    struct resolve_name name;
    bool is_literal;
    bool failed; /* the last lookup failed, so that its addresses are older */
    size_t count;
    struct sock_address addresses[RESOLVE_ADDRESSES_MAX];
};

struct resolve_table {
    struct ref ref;
    size_t count;
    struct entry entries[];
};

struct resolver {
    struct ref ref; /* the caller's and the thread's */
    struct thread thread;
    struct resolver_conf conf;
    pthread_mutex_t lock; /* over all below */
    pthread_cond_t turned;
    struct resolve_table *table;
    uint64_t version; /* of the names */
    uint64_t asked;   /* the version whose names were all asked for */
    bool quit;
};

/* ---- tables ---- */

struct resolve_table *resolve_table_ref(struct resolve_table *table)
{
    ref_take(&table->ref);
    return table;
}

void resolve_table_unref(struct resolve_table **table)
{
    if (*table != NULL && ref_drop(&(*table)->ref))
        mem_free(*table);
    *table = NULL;
}

static struct resolve_table *table_new(size_t count)
{
    struct resolve_table *table = mem_zalloc(sizeof *table + count * sizeof table->entries[0]);

    if (table == NULL)
        return NULL;
    ref_init(&table->ref);
    table->count = count;
    return table;
}

static const struct entry *find_entry(const struct resolve_table *table, struct span host, uint16_t port)
{
    for (size_t i = 0; table != NULL && i < table->count; i++)
        if (table->entries[i].name.port == port && span_is(host, table->entries[i].name.host))
            return &table->entries[i];
    return NULL;
}

const struct sock_address *resolve_find(const struct resolve_table *table, struct span host, uint16_t port,
                                        size_t *count)
{
    const struct entry *entry = find_entry(table, host, port);

    *count = entry ? entry->count : 0;
    return entry ? entry->addresses : NULL;
}

/* A table of the names, with the addresses of literals and of the names that `before` knew; the others have none yet. */
static struct resolve_table *table_of(const struct resolve_name *names, size_t count,
                                      const struct resolve_table *before)
{
    struct resolve_table *table = table_new(count);

    for (size_t i = 0; table != NULL && i < count; i++) {
        struct entry *entry = &table->entries[i];
        struct span host = span_text(names[i].host);
        const struct entry *known = find_entry(before, host, names[i].port);

        if (known != NULL) {
            *entry = *known;
            continue;
        }
        entry->name = names[i];
        entry->is_literal = sock_parse_ip(host, names[i].port, &entry->addresses[0]) == CODE_OK;
        entry->count = entry->is_literal;
    }
    return table;
}

static bool entry_differs(const struct entry *a, const struct entry *b)
{
    if (a->count != b->count)
        return true;
    for (size_t i = 0; i < a->count; i++)
        if (!sock_equals(&a->addresses[i], &b->addresses[i]))
            return true;
    return false;
}

/* ---- asking ---- */

static size_t ask_system(const char *host, uint16_t port, struct sock_address *out, size_t max)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM}, *found = NULL;
    size_t count = 0;

    if (getaddrinfo(host, NULL, &hints, &found) != 0)
        return 0;
    for (const struct addrinfo *one = found; one != NULL && count < max; one = one->ai_next) {
        struct sock_address *address = &out[count];

        if (one->ai_addrlen > sizeof address->v6)
            continue;
        memset(address, 0, sizeof *address);
        memcpy(&address->any, one->ai_addr, one->ai_addrlen);
        address->len = one->ai_addrlen;
        if (one->ai_family == AF_INET)
            address->v4.sin_port = htons(port);
        else if (one->ai_family == AF_INET6)
            address->v6.sin6_port = htons(port);
        else
            continue;
        count++;
    }
    freeaddrinfo(found);
    return count;
}

static void ask(const struct resolver *resolver, struct entry *entry)
{
    struct sock_address found[RESOLVE_ADDRESSES_MAX];
    size_t count;

    if (entry->is_literal)
        return;
    count = resolver->conf.lookup(entry->name.host, entry->name.port, found, RESOLVE_ADDRESSES_MAX);
    BUG_ON(count > RESOLVE_ADDRESSES_MAX);
    if (count == 0) {
        if (!entry->failed)
            log_warn("os", "the upstream name %s cannot be resolved; %s", entry->name.host,
                     entry->count > 0 ? "its last addresses stay in use" : "calls to it fail until it can");
        entry->failed = true;
        return;
    }
    entry->failed = false;
    entry->count = count;
    memcpy(entry->addresses, found, count * sizeof found[0]);
}

/* Takes the table over if the names are still those that were asked for. Called with the lock. */
static void publish(struct resolver *resolver, struct resolve_table *table, uint64_t version)
{
    bool differs = false;

    if (version != resolver->version || resolver->quit) {
        resolve_table_unref(&table);
        return;
    }
    for (size_t i = 0; i < table->count; i++)
        differs = differs || entry_differs(&table->entries[i], &resolver->table->entries[i]);
    resolve_table_unref(&resolver->table);
    resolver->table = table;
    resolver->asked = version;
    pthread_cond_broadcast(&resolver->turned);
    if (differs && resolver->conf.changed != NULL)
        resolver->conf.changed(resolver->conf.context);
}

static bool lacks_any(const struct resolve_table *table)
{
    for (size_t i = 0; i < table->count; i++)
        if (table->entries[i].count == 0)
            return true;
    return false;
}

/* Waits until the interval is over, the names change, or the resolver ends. Called with the lock. */
static void rest(struct resolver *resolver)
{
    unsigned ms = resolver->conf.every_ms;
    uint64_t version = resolver->version;
    struct timespec until;

    if (lacks_any(resolver->table) && ms > RETRY_MS)
        ms = RETRY_MS;
    until = clock_after_ms(ms);
    while (!resolver->quit && resolver->version == version)
        if (pthread_cond_timedwait(&resolver->turned, &resolver->lock, &until) == ETIMEDOUT)
            break;
}

static void resolver_unref(struct resolver *resolver)
{
    if (!ref_drop(&resolver->ref))
        return;
    resolve_table_unref(&resolver->table);
    pthread_cond_destroy(&resolver->turned);
    pthread_mutex_destroy(&resolver->lock);
    mem_free(resolver);
}

static void resolver_run(void *argument)
{
    struct resolver *resolver = argument;

    sandbox_narrow(SANDBOX_RESOLVER);
    lock_take(&resolver->lock);
    while (!resolver->quit) {
        uint64_t version = resolver->version;
        struct resolve_table *next = table_new(resolver->table->count);

        if (next != NULL) {
            memcpy(next->entries, resolver->table->entries, next->count * sizeof next->entries[0]);
            lock_give(&resolver->lock);
            for (size_t i = 0; i < next->count; i++)
                ask(resolver, &next->entries[i]);
            lock_take(&resolver->lock);
            publish(resolver, next, version);
        }
        if (resolver->asked == resolver->version || next == NULL)
            rest(resolver);
    }
    lock_give(&resolver->lock);
    resolver_unref(resolver);
}

/* ---- the resolver ---- */

static void init_waiting(struct resolver *resolver)
{
    lock_init(&resolver->lock);
    lock_sign_init(&resolver->turned);
}

enum code resolver_new(struct resolver **out, const struct resolver_conf *conf, const struct resolve_name *names,
                       size_t count, struct why *why)
{
    struct resolver *resolver;
    enum code code;

    *out = NULL;
    if (count > NAMES_MAX)
        return why_set(why, CODE_LIMIT, "%zu upstream names, more than %d", count, NAMES_MAX);
    resolver = mem_zalloc(sizeof *resolver);
    if (resolver == NULL)
        return why_set(why, CODE_NOMEM, "no memory for resolving names");
    resolver->conf = *conf;
    if (resolver->conf.every_ms == 0)
        resolver->conf.every_ms = EVERY_MS;
    if (resolver->conf.lookup == NULL)
        resolver->conf.lookup = ask_system;
    resolver->version = 1;
    ref_init(&resolver->ref);
    init_waiting(resolver);
    resolver->table = table_of(names, count, NULL);
    if (resolver->table == NULL) {
        resolver_unref(resolver);
        return why_set(why, CODE_NOMEM, "no memory for resolving names");
    }
    ref_take(&resolver->ref);
    code = thread_start(&resolver->thread, "resolver", resolver_run, resolver, why);
    if (code != CODE_OK) {
        resolver_unref(resolver);
        resolver_unref(resolver);
        return code;
    }
    *out = resolver;
    return CODE_OK;
}

enum code resolver_set(struct resolver *resolver, const struct resolve_name *names, size_t count)
{
    struct resolve_table *table;

    if (count > NAMES_MAX)
        return CODE_LIMIT;
    lock_take(&resolver->lock);
    table = table_of(names, count, resolver->table);
    if (table != NULL) {
        resolve_table_unref(&resolver->table);
        resolver->table = table;
        resolver->version++;
        pthread_cond_broadcast(&resolver->turned);
    }
    lock_give(&resolver->lock);
    return table ? CODE_OK : CODE_NOMEM;
}

bool resolver_wait(struct resolver *resolver, unsigned wait_ms)
{
    struct timespec until = clock_after_ms(wait_ms);
    bool done;

    lock_take(&resolver->lock);
    while (resolver->asked != resolver->version)
        if (pthread_cond_timedwait(&resolver->turned, &resolver->lock, &until) == ETIMEDOUT)
            break;
    done = resolver->asked == resolver->version;
    lock_give(&resolver->lock);
    return done;
}

void resolver_free(struct resolver **out)
{
    struct resolver *resolver = *out;

    if (resolver == NULL)
        return;
    *out = NULL;
    lock_take(&resolver->lock);
    resolver->quit = true;
    pthread_cond_broadcast(&resolver->turned);
    lock_give(&resolver->lock);
    /* A lookup that hangs in the C library cannot be ended; its thread then frees what is left by itself. */
    if (!thread_join_within(&resolver->thread, FREE_WAIT_MS))
        thread_detach(&resolver->thread);
    resolver_unref(resolver);
}

struct resolve_table *resolver_table(struct resolver *resolver)
{
    struct resolve_table *table;

    lock_take(&resolver->lock);
    table = resolve_table_ref(resolver->table);
    lock_give(&resolver->lock);
    return table;
}
