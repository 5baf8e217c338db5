/* SPDX-License-Identifier: Apache-2.0 */
#include "state/hints.h"

#include "base/lock.h"
#include "base/hash.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/shares.h"

#include <pthread.h>
#include <string.h>

#define SHARDS 16
#define BUCKETS 512 /* of an upstream */
#define TOOLS_MAX 8192
#define MINTED_MAX 256 /* upstreams of a shard, with TOOLS_MAX tools in all */

struct tool {
    struct list by_age; /* in the order in which tools were first told */
    struct tool *next;  /* in the bucket */
    enum policy_known said[POLICY_HINT_COUNT];
    size_t len;
    char name[];
};

struct server {
    struct server *next;
    struct list by_age;
    struct tool *buckets[BUCKETS];
    bool is_minted, is_new; /* is_new: it has listed a tool that hints_listed has not named yet */
    struct share whose;     /* of a minted upstream: who asked first */
    size_t count, len;
    char name[];
};

struct shard {
    pthread_mutex_t lock;
    struct server *servers;
    struct shares shares; /* who asked for how many tools of minted ones */
};

struct hints {
    struct shard shards[SHARDS];
};

enum code hints_new(struct hints **out)
{
    struct hints *hints = mem_zalloc(sizeof *hints);

    *out = hints;
    if (hints == NULL)
        return CODE_NOMEM;
    for (size_t i = 0; i < SHARDS; i++) {
        lock_init(&hints->shards[i].lock);
        shares_init(&hints->shards[i].shares, SIZE_MAX);
    }
    return CODE_OK;
}

static struct shard *lock_shard(struct hints *hints, size_t at)
{
    lock_take(&hints->shards[at].lock);
    return &hints->shards[at];
}

static struct tool **place_of(struct server *server, struct span name)
{
    struct tool **at = &server->buckets[hash_span(name) % BUCKETS];

    while (*at != NULL && !span_equals(span_of((*at)->name, (*at)->len), name))
        at = &(*at)->next;
    return at;
}

static void forget_oldest(struct server *server)
{
    struct tool *tool = LIST_ENTRY(server->by_age.next, struct tool, by_age);

    *place_of(server, span_of(tool->name, tool->len)) = tool->next;
    list_remove(&tool->by_age);
    server->count--;
    mem_free(tool);
}

static void forget_server(struct shard *shard, struct server **at)
{
    struct server *server = *at;

    if (server->is_minted)
        shares_give(&shard->shares, server->whose, server->count);
    while (server->count > 0)
        forget_oldest(server);
    *at = server->next;
    mem_free(server);
}

/* Forgets a made-up upstream: the oldest of the tenant who has most, so that made-up names push out no other upstreams. */
static void forget_minted(struct shard *shard, const struct server *but)
{
    for (;;) {
        struct server **gone = NULL;
        size_t servers = 0, tools = 0, most = 0;

        for (struct server **at = &shard->servers; *at != NULL; at = &(*at)->next) {
            if (!(*at)->is_minted)
                continue;
            servers++;
            tools += (*at)->count;
            if (*at == but || shares_held(&shard->shares, (*at)->whose.tenant) < most)
                continue;
            most = shares_held(&shard->shares, (*at)->whose.tenant);
            gone = at; /* new ones stand at the front */
        }
        if (gone == NULL || (servers <= MINTED_MAX && tools <= TOOLS_MAX))
            return;
        forget_server(shard, gone);
    }
}

void hints_clear(struct hints *hints)
{
    for (size_t i = 0; i < SHARDS; i++) {
        struct shard *shard = lock_shard(hints, i);

        while (shard->servers != NULL)
            forget_server(shard, &shard->servers);
        lock_give(&shard->lock);
    }
}

void hints_free(struct hints **hints)
{
    struct hints *gone = *hints;

    *hints = NULL;
    if (gone == NULL)
        return;
    hints_clear(gone);
    for (size_t i = 0; i < SHARDS; i++) {
        shares_fini(&gone->shards[i].shares);
        pthread_mutex_destroy(&gone->shards[i].lock);
    }
    mem_free(gone);
}

static struct server *find_server(const struct shard *shard, struct span name)
{
    struct server *server = shard->servers;

    while (server != NULL && !span_equals(span_of(server->name, server->len), name))
        server = server->next;
    return server;
}

static struct server *add_server(struct shard *shard, struct span home, struct span name, bool is_minted)
{
    struct server *server = mem_zalloc(sizeof *server + name.len);

    if (server == NULL)
        return NULL;
    list_init(&server->by_age);
    server->is_minted = is_minted;
    server->whose = share_of(home, SPAN_NONE);
    server->len = name.len;
    memcpy(server->name, name.at, name.len);
    server->next = shard->servers;
    shard->servers = server;
    return server;
}

static struct tool *add_tool(struct shard *shard, struct server *server, struct span name)
{
    struct tool *tool = mem_zalloc(sizeof *tool + name.len);
    bool grows = server->count < TOOLS_MAX;

    if (tool == NULL || (server->is_minted && grows && shares_take(&shard->shares, server->whose, 1) != CODE_OK)) {
        mem_free(tool);
        return NULL;
    }
    if (!grows)
        forget_oldest(server);
    tool->len = name.len;
    memcpy(tool->name, name.at, name.len);
    *place_of(server, name) = tool;
    list_append(&server->by_age, &tool->by_age);
    server->count++;
    server->is_new = true;
    return tool;
}

void hints_learn(struct hints *hints, struct span home, struct span upstream, bool is_minted, struct span name,
                 const enum policy_known said[POLICY_HINT_COUNT])
{
    struct shard *shard = lock_shard(hints, hash_span(upstream) % SHARDS);
    struct server *server = find_server(shard, upstream);
    struct tool *tool = server != NULL ? *place_of(server, name) : NULL;

    if (tool == NULL && upstream.len > 0 && name.len > 0) {
        if (server == NULL)
            server = add_server(shard, home, upstream, is_minted);
        tool = server != NULL ? add_tool(shard, server, name) : NULL;
        if (is_minted)
            forget_minted(shard, server);
    }
    if (tool != NULL)
        memcpy(tool->said, said, sizeof tool->said);
    lock_give(&shard->lock);
}

static void add_listed(const struct server *server, struct buf *out)
{
    for (const struct list *at = server->by_age.next; at != &server->by_age; at = at->next) {
        const struct tool *tool = LIST_ENTRY(at, const struct tool, by_age);

        buf_add(out, server->name, server->len);
        buf_add_byte(out, '\0');
        buf_add(out, tool->name, tool->len);
        buf_add_byte(out, '\0');
    }
}

void hints_listed(struct hints *hints, struct buf *out)
{
    for (size_t i = 0; i < SHARDS; i++) {
        struct shard *shard = lock_shard(hints, i);

        for (struct server *server = shard->servers; server != NULL; server = server->next) {
            if (server->is_new && !server->is_minted)
                add_listed(server, out);
            server->is_new = false;
        }
        lock_give(&shard->lock);
    }
}

enum policy_known hints_ask(struct hints *hints, struct span upstream, struct span name, enum policy_hint hint)
{
    struct shard *shard = lock_shard(hints, hash_span(upstream) % SHARDS);
    struct server *server = find_server(shard, upstream);
    const struct tool *tool = server != NULL ? *place_of(server, name) : NULL;
    enum policy_known known = tool != NULL ? tool->said[hint] : POLICY_UNKNOWN;

    lock_give(&shard->lock);
    return known;
}
