/* SPDX-License-Identifier: Apache-2.0 */
#include "providers/providers_priv.h"

#include "base/lock.h"
#include "base/mem.h"
#include "json/text.h"
#include "os/clock.h"

#include <string.h>

struct lookups *providers_lookups(struct providers *providers)
{
    return providers->lookups;
}

static struct providers_source *find_source(struct providers *providers, const unsigned char digest[DIGEST_BYTES])
{
    for (size_t i = 0; i < providers->source_count; i++)
        if (memcmp(providers->sources[i].provider->digest, digest, DIGEST_BYTES) == 0)
            return &providers->sources[i];
    return NULL;
}

/* ---- what is asked for: any thread ---- */

static bool make_due(struct providers *providers, const unsigned char digest[DIGEST_BYTES])
{
    struct providers_source *source;

    lock_take(&providers->lock);
    source = find_source(providers, digest);
    if (source != NULL)
        source->is_due = true;
    lock_give(&providers->lock);
    if (source != NULL)
        inbox_poke(&providers->inbox);
    return source != NULL;
}

static void fetch_keys(struct providers *providers, struct proxy_conf *conf, struct lookup_work *work)
{
    (void)conf;
    if (!make_due(providers, work->key.digest)) /* its provider was removed by a reload */
        lookup_fail(providers->lookups, &work->key, REASON_IDENTITY_UNAVAILABLE, clock_wall_us() + PROVIDERS_GONE_US);
}

static void fetch_outgoing(struct providers *providers, struct proxy_conf *conf, struct lookup_work *work)
{
    outgoing_desk_fetch(providers->desk, conf, work);
}

static void poke(struct providers *providers)
{
    inbox_poke(&providers->inbox);
}

typedef void (*fetch_fn)(struct providers *providers, struct proxy_conf *conf, struct lookup_work *work);
static const fetch_fn fetches[LOOKUP_KIND_COUNT] = {
    [LOOKUP_KEYS] = fetch_keys, [LOOKUP_INTROSPECTION] = providers__introspect, [LOOKUP_OUTGOING] = fetch_outgoing,
};

void providers__work(void *context)
{
    struct providers *providers = context;
    struct lookup_work work;
    struct proxy_conf *conf;

    lock_take(&providers->lock);
    conf = proxy_conf_ref(providers->proxy);
    lock_give(&providers->lock);
    while (lookup_take(providers->lookups, &work)) {
        fetches[work.key.kind](providers, conf, &work);
        lookup_work_fini(&work);
    }
    proxy_conf_unref(&conf);
}

static void settled(void *context)
{
    struct providers *providers = context;

    lock_take(&providers->lock);
    if (!providers->is_deaf)
        providers->conf.settled(providers->conf.context);
    lock_give(&providers->lock);
}

void providers_unhear(struct providers *providers)
{
    if (providers == NULL)
        return;
    lock_take(&providers->lock);
    providers->is_deaf = true;
    lock_give(&providers->lock);
}

static size_t write_endpoint(struct providers *providers, const struct identity_provider *provider, const char *name, char *out,
                             size_t size)
{
    struct json_text metadata = {.root = NULL};
    struct providers_source *source;
    const struct json_node *node = NULL;
    struct span found = SPAN_NONE;
    size_t len = 0;

    lock_take(&providers->lock);
    source = find_source(providers, provider->digest);
    if (source != NULL && !buf_is_empty(&source->metadata) &&
        json_text_read(&metadata, buf_peek(&source->metadata), &json_file_rules, IDENTITY_KEY_SET_BYTES_MAX) == CODE_OK)
        node = json_member(metadata.root, span_text(name));
    if (node != NULL)
        found = node->type == JSON_STRING ? node->text : node->raw;
    lock_give(&providers->lock);
    if (found.at != NULL && found.len < size) {
        len = found.len;
        memcpy(out, found.at, len);
        out[len] = '\0';
    }
    if (len == 0)
        (void)make_due(providers, provider->digest);
    json_text_fini(&metadata);
    return len;
}

/* Any thread. */
void providers_newer_keys(struct providers *providers, const struct identity_provider *provider)
{
    struct lookup_key key = {.kind = LOOKUP_KEYS};
    struct lookup_answer answer;

    memcpy(key.digest, provider->digest, DIGEST_BYTES);
    (void)lookup_ask_newer(providers->lookups, &key, SPAN_NONE, clock_wall_us(), LOOKUP_KEYS_GAP_US, &answer);
}

/* ---- sets: main ---- */

/* What came, the oldest first. */
static struct providers_came *take_came(struct providers *providers)
{
    struct providers_came *first = NULL, *next;

    lock_take(&providers->lock);
    for (struct providers_came *came = providers->came; came != NULL; came = next) {
        next = came->next;
        came->next = first;
        first = came;
    }
    providers->came = NULL;
    lock_give(&providers->lock);
    return first;
}

void providers_look(struct providers *providers)
{
    int64_t now_us = clock_wall_us();

    for (struct providers_came *came = take_came(providers), *next; came != NULL; came = next) {
        struct providers_source *source = find_source(providers, came->digest);

        next = came->next;
        if (source != NULL)
            providers__take(providers, source, came);
        buf_fini(&came->body);
        mem_free(came);
    }
    for (size_t i = 0; i < providers->source_count; i++)
        providers__look_at(providers, &providers->sources[i], now_us);
    outgoing_desk_look(providers->desk, providers->proxy);
}

void providers_store_changed(struct providers *providers)
{
    outgoing_desk_changed(providers->desk);
}

static void poked(void *context)
{
    providers_look(context);
}

/* ---- life ---- */

static enum code make_sources(struct providers *providers, struct proxy_conf *proxy, struct providers_source **sources)
{
    *sources = mem_array(proxy->provider_count + 1, sizeof **sources);
    for (size_t i = 0; *sources != NULL && i < proxy->provider_count; i++) {
        struct providers_source *source = &(*sources)[i];
        struct providers_source *before = find_source(providers, proxy->providers[i].digest);

        if (before != NULL) {
            *source = *before;
            *before = (struct providers_source){.provider = before->provider};
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
static void drop_sources(struct providers *providers, struct providers_source *sources, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct lookup_key key = {.kind = LOOKUP_KEYS};

        memcpy(key.digest, sources[i].provider->digest, DIGEST_BYTES);
        if (find_source(providers, key.digest) == NULL) {
            lookup_fail(providers->lookups, &key, REASON_IDENTITY_UNAVAILABLE, 0); /* nobody fetches it any more */
            lookup_forget(providers->lookups, LOOKUP_KEYS, &key);
        }
        providers__source_fini(&sources[i]);
    }
    mem_free(sources);
}

void providers_reload(struct providers *providers, struct proxy_conf *proxy)
{
    struct providers_source *before = providers->sources, *sources;
    struct proxy_conf *old = providers->proxy;
    size_t before_count = providers->source_count;

    lock_take(&providers->lock);
    if (make_sources(providers, proxy, &sources) == CODE_OK) {
        providers->proxy = proxy_conf_ref(proxy);
        providers->sources = sources;
        providers->source_count = proxy->provider_count;
    }
    lock_give(&providers->lock);
    if (providers->sources == before)
        return; /* no memory: tokens go on under the providers of before */
    drop_sources(providers, before, before_count);
    proxy_conf_unref(&old);
    lookup_forget(providers->lookups, LOOKUP_INTROSPECTION, NULL);
    lookup_forget(providers->lookups, LOOKUP_TOKEN, NULL);
    for (size_t i = 0; i < providers->source_count; i++)
        if (providers->sources[i].fetched_us == 0)
            providers__recall(providers, &providers->sources[i]);
    outgoing_desk_anew(providers->desk, providers->proxy);
    providers_look(providers);
}

enum code providers_new(const struct providers_conf *conf, struct providers **out, struct why *why)
{
    struct providers *providers = mem_zalloc(sizeof *providers);
    struct lookup_conf lookups = {
        .work = providers__work, .settled = settled, .context = providers,
        .types = {[LOOKUP_KEYS] = identity_keys_type, [LOOKUP_INTROSPECTION] = identity_introspection_type,
                  [LOOKUP_TOKEN] = identity_token_type, [LOOKUP_OUTGOING] = outgoing_token_type},
    };
    struct outgoing_ways ways;
    enum code code;

    *out = providers;
    if (providers == NULL)
        return why_set(why, CODE_NOMEM, "not enough memory for providers");
    providers->conf = *conf;
    providers->store = mem_dup(conf->store, strlen(conf->store)); /* a copy, since the configuration's goes with it */
    lock_init(&providers->lock);
    code = providers->store != NULL ? lookup_new(&lookups, &providers->lookups) : CODE_NOMEM;
    ways = (struct outgoing_ways){.lookups = providers->lookups, .web = conf->web, .providers = providers,
                                  .endpoint = write_endpoint, .poke = poke, .loop = conf->loop, .dial = conf->dial,
                                  .context = conf->context, .db = conf->db, .store = providers->store, .asker = conf->gate,
                                  .stored = conf->stored};
    if (code == CODE_OK)
        code = outgoing_desk_new(&ways, &providers->desk);
    if (code == CODE_OK)
        code = make_sources(providers, conf->proxy, &providers->sources);
    if (code == CODE_OK) {
        providers->proxy = proxy_conf_ref(conf->proxy);
        providers->source_count = conf->proxy->provider_count;
        code = inbox_init(&providers->inbox, conf->loop, poked, providers);
        providers->has_inbox = code == CODE_OK;
    }
    for (size_t i = 0; i < providers->source_count; i++)
        providers__recall(providers, &providers->sources[i]);
    return code == CODE_OK ? code : why_set(why, code, "not enough memory for providers");
}

void providers_free(struct providers **out)
{
    struct providers *providers = *out;

    if (providers == NULL)
        return;
    for (struct providers_came *came = take_came(providers), *next; came != NULL; came = next) {
        next = came->next;
        buf_fini(&came->body);
        mem_free(came);
    }
    if (providers->sources != NULL)
        drop_sources(providers, providers->sources, providers->source_count);
    outgoing_desk_free(&providers->desk);
    if (providers->has_inbox)
        inbox_fini(&providers->inbox);
    lookup_free(&providers->lookups);
    proxy_conf_unref(&providers->proxy);
    mem_free(providers->store);
    pthread_mutex_destroy(&providers->lock);
    mem_free(providers);
    *out = NULL;
}

size_t providers_gauges(const struct providers *providers, struct providers_gauges gauges[IDENTITY_PROVIDERS_MAX])
{
    for (size_t i = 0; i < providers->source_count; i++) {
        const struct providers_source *source = &providers->sources[i];

        gauges[i] = (struct providers_gauges){source->provider->rules.name, source->keys, source->fetched_us, source->fetches,
                                            source->failures};
    }
    return providers->source_count;
}
