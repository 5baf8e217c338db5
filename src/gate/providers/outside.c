/* SPDX-License-Identifier: Apache-2.0 */
#include "providers/outside_priv.h"

#include "base/lock.h"
#include "base/mem.h"
#include "json/text.h"
#include "os/clock.h"

#include <string.h>

struct wanted *outside_wanted(struct outside *outside)
{
    return outside->wanted;
}

struct outside_source *outside__find(struct outside *outside, const unsigned char digest[DIGEST_BYTES])
{
    for (size_t i = 0; i < outside->source_count; i++)
        if (memcmp(outside->sources[i].provider->digest, digest, DIGEST_BYTES) == 0)
            return &outside->sources[i];
    return NULL;
}

/* ---- what is wanted: any thread ---- */

static bool make_due(struct outside *outside, const unsigned char digest[DIGEST_BYTES])
{
    struct outside_source *source;

    lock_take(&outside->lock);
    source = outside__find(outside, digest);
    if (source != NULL)
        source->is_due = true;
    lock_give(&outside->lock);
    if (source != NULL)
        inbox_poke(&outside->inbox);
    return source != NULL;
}

static void fetch_keys(struct outside *outside, struct proxy_conf *conf, struct wanted_work *work)
{
    (void)conf;
    if (!make_due(outside, work->key.digest)) /* its provider was removed by a reload */
        wanted_fail(outside->wanted, &work->key, REASON_IDENTITY_UNAVAILABLE, clock_wall_us() + OUTSIDE_GONE_US);
}

static void fetch_outgoing(struct outside *outside, struct proxy_conf *conf, struct wanted_work *work)
{
    outgoing_desk_fetch(outside->desk, conf, work);
}

typedef void (*fetch_fn)(struct outside *outside, struct proxy_conf *conf, struct wanted_work *work);
static const fetch_fn fetches[WANTED_KIND_COUNT] = {
    [WANTED_KEYS] = fetch_keys, [WANTED_INTROSPECTION] = outside__introspect, [WANTED_OUTGOING] = fetch_outgoing,
};

void outside__work(void *context)
{
    struct outside *outside = context;
    struct wanted_work work;
    struct proxy_conf *conf;

    lock_take(&outside->lock);
    conf = proxy_conf_ref(outside->proxy);
    lock_give(&outside->lock);
    while (wanted_take(outside->wanted, &work)) {
        fetches[work.key.kind](outside, conf, &work);
        wanted_work_fini(&work);
    }
    proxy_conf_unref(&conf);
}

static void settled(void *context)
{
    struct outside *outside = context;

    lock_take(&outside->lock);
    if (!outside->is_deaf)
        outside->conf.settled(outside->conf.context);
    lock_give(&outside->lock);
}

void outside_unhear(struct outside *outside)
{
    if (outside == NULL)
        return;
    lock_take(&outside->lock);
    outside->is_deaf = true;
    lock_give(&outside->lock);
}

size_t outside_endpoint(struct outside *outside, const struct identity_provider *provider, const char *name, char *out,
                        size_t size)
{
    struct json_text metadata = {.root = NULL};
    struct outside_source *source;
    struct span found = SPAN_NONE;
    size_t len = 0;

    lock_take(&outside->lock);
    source = outside__find(outside, provider->digest);
    if (source != NULL && !buf_is_empty(&source->metadata) &&
        json_text_read(&metadata, buf_peek(&source->metadata), &json_file_rules, IDENTITY_KEY_SET_BYTES_MAX) == CODE_OK)
        found = json_member_text(metadata.root, name);
    lock_give(&outside->lock);
    if (found.at != NULL && found.len < size) {
        len = found.len;
        memcpy(out, found.at, len);
        out[len] = '\0';
    }
    if (len == 0)
        (void)make_due(outside, provider->digest);
    json_text_fini(&metadata);
    return len;
}

/* Any thread. */
void outside_newer_keys(struct outside *outside, const struct identity_provider *provider)
{
    struct wanted_key key = {.kind = WANTED_KEYS};
    struct wanted_answer answer;

    memcpy(key.digest, provider->digest, DIGEST_BYTES);
    (void)wanted_ask_newer(outside->wanted, &key, SPAN_NONE, clock_wall_us(), WANTED_KEYS_GAP_US, &answer);
}

/* ---- sets: main ---- */

/* What came, the oldest first. */
static struct outside_came *take_came(struct outside *outside)
{
    struct outside_came *first = NULL, *next;

    lock_take(&outside->lock);
    for (struct outside_came *came = outside->came; came != NULL; came = next) {
        next = came->next;
        came->next = first;
        first = came;
    }
    outside->came = NULL;
    lock_give(&outside->lock);
    return first;
}

void outside_look(struct outside *outside)
{
    int64_t now_us = clock_wall_us();

    for (struct outside_came *came = take_came(outside), *next; came != NULL; came = next) {
        struct outside_source *source = outside__find(outside, came->digest);

        next = came->next;
        if (source != NULL)
            outside__take(outside, source, came);
        buf_fini(&came->body);
        mem_free(came);
    }
    for (size_t i = 0; i < outside->source_count; i++)
        outside__look_at(outside, &outside->sources[i], now_us);
    outgoing_desk_look(outside->desk, outside->proxy);
}

static void poked(void *context)
{
    outside_look(context);
}

/* ---- life ---- */

static enum code make_sources(struct outside *outside, struct proxy_conf *proxy, struct outside_source **sources)
{
    *sources = mem_array(proxy->provider_count + 1, sizeof **sources);
    for (size_t i = 0; *sources != NULL && i < proxy->provider_count; i++) {
        struct outside_source *source = &(*sources)[i];
        struct outside_source *before = outside__find(outside, proxy->providers[i].digest);

        if (before != NULL) {
            *source = *before;
            *before = (struct outside_source){.provider = before->provider};
        } else {
            buf_init(&source->set, IDENTITY_KEY_SET_BYTES_MAX);
            buf_init(&source->metadata, IDENTITY_KEY_SET_BYTES_MAX);
        }
        source->provider = &proxy->providers[i];
        source->next_us = 0;
        source->file_mark[0] = 0;
    }
    return *sources != NULL ? CODE_OK : CODE_NOMEM;
}

/* Drops sources. The set of a provider that is gone is forgotten. */
static void drop_sources(struct outside *outside, struct outside_source *sources, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct wanted_key key = {.kind = WANTED_KEYS};

        memcpy(key.digest, sources[i].provider->digest, DIGEST_BYTES);
        if (outside__find(outside, key.digest) == NULL) {
            wanted_fail(outside->wanted, &key, REASON_IDENTITY_UNAVAILABLE, 0); /* nobody fetches it any more */
            wanted_forget(outside->wanted, WANTED_KEYS, &key);
        }
        outside__source_fini(&sources[i]);
    }
    mem_free(sources);
}

void outside_reload(struct outside *outside, struct proxy_conf *proxy)
{
    struct outside_source *before = outside->sources, *sources;
    struct proxy_conf *old = outside->proxy;
    size_t before_count = outside->source_count;

    lock_take(&outside->lock);
    if (make_sources(outside, proxy, &sources) == CODE_OK) {
        outside->proxy = proxy_conf_ref(proxy);
        outside->sources = sources;
        outside->source_count = proxy->provider_count;
    }
    lock_give(&outside->lock);
    if (outside->sources == before)
        return; /* no memory: tokens go on under the providers of before */
    drop_sources(outside, before, before_count);
    proxy_conf_unref(&old);
    wanted_forget(outside->wanted, WANTED_INTROSPECTION, NULL);
    wanted_forget(outside->wanted, WANTED_TOKEN, NULL);
    for (size_t i = 0; i < outside->source_count; i++)
        if (outside->sources[i].fetched_us == 0)
            outside__recall(outside, &outside->sources[i]);
    outside_look(outside);
}

enum code outside_new(const struct outside_conf *conf, struct outside **out, struct why *why)
{
    struct outside *outside = mem_zalloc(sizeof *outside);
    struct wanted_conf wanted = {
        .work = outside__work, .settled = settled, .context = outside,
        .types = {[WANTED_KEYS] = identity_keys_type, [WANTED_INTROSPECTION] = identity_introspection_type,
                  [WANTED_TOKEN] = identity_token_type, [WANTED_OUTGOING] = outgoing_token_type},
    };
    struct outgoing_ways ways;
    enum code code;

    *out = outside;
    if (outside == NULL)
        return why_set(why, CODE_NOMEM, "not enough memory for providers");
    outside->conf = *conf;
    outside->store = mem_dup(conf->store, strlen(conf->store)); /* a copy, since the configuration's goes with it */
    lock_init(&outside->lock);
    code = outside->store != NULL ? wanted_new(&wanted, &outside->wanted) : CODE_NOMEM;
    ways = (struct outgoing_ways){outside->wanted, conf->web, outside, outside_endpoint};
    if (code == CODE_OK)
        code = outgoing_desk_new(&ways, &outside->desk);
    if (code == CODE_OK)
        code = make_sources(outside, conf->proxy, &outside->sources);
    if (code == CODE_OK) {
        outside->proxy = proxy_conf_ref(conf->proxy);
        outside->source_count = conf->proxy->provider_count;
        code = inbox_init(&outside->inbox, conf->loop, poked, outside);
        outside->has_inbox = code == CODE_OK;
    }
    for (size_t i = 0; i < outside->source_count; i++)
        outside__recall(outside, &outside->sources[i]);
    return code == CODE_OK ? code : why_set(why, code, "not enough memory for providers");
}

void outside_free(struct outside **out)
{
    struct outside *outside = *out;

    if (outside == NULL)
        return;
    for (struct outside_came *came = take_came(outside), *next; came != NULL; came = next) {
        next = came->next;
        buf_fini(&came->body);
        mem_free(came);
    }
    if (outside->sources != NULL)
        drop_sources(outside, outside->sources, outside->source_count);
    outgoing_desk_free(&outside->desk);
    if (outside->has_inbox)
        inbox_fini(&outside->inbox);
    wanted_free(&outside->wanted);
    proxy_conf_unref(&outside->proxy);
    mem_free(outside->store);
    pthread_mutex_destroy(&outside->lock);
    mem_free(outside);
    *out = NULL;
}

size_t outside_gauges(const struct outside *outside, struct outside_gauges gauges[IDENTITY_PROVIDERS_MAX])
{
    for (size_t i = 0; i < outside->source_count; i++) {
        const struct outside_source *source = &outside->sources[i];

        gauges[i] = (struct outside_gauges){source->provider->rules.name, source->keys, source->fetched_us, source->fetches,
                                            source->failures, source->why.text};
    }
    return outside->source_count;
}
