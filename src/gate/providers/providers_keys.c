/* SPDX-License-Identifier: Apache-2.0 */
#include "providers/providers_priv.h"

#include "providers/kept_keys.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/mem.h"
#include "json/text.h"
#include "os/clock.h"
#include "os/pause.h"
#include "os/file.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define REFRESH_US INT64_C(300000000) /* sets are fetched anew so often, so a withdrawn key is trusted for so long at most */
#define AGAIN_US INT64_C(30000000)    /* after a failure, where a set is known */
#define AWAY_US INT64_C(3000000)      /* after a failure, where no set is known: for so long calls are refused without asking */
#define STEP_US INT64_C(4000000)      /* three of them fit into what a call waits */
#define FOREVER_US (INT64_MAX / 2)

static struct lookup_key key_of(const struct providers_source *source)
{
    struct lookup_key key = {.kind = LOOKUP_KEYS};

    memcpy(key.digest, source->provider->digest, DIGEST_BYTES);
    return key;
}

void providers__source_fini(struct providers_source *source)
{
    buf_fini(&source->set);
    buf_fini(&source->metadata);
}

/* ---- what is in force ---- */

/* Logs a failure once until it changes, since a provider that is away is asked again and again. */
static void fail(struct providers *providers, struct providers_source *source, const struct why *why, int64_t now_us)
{
    struct lookup_key key = key_of(source);
    int64_t until_us = source->fetched_us + source->provider->stale_us;
    bool is_told = strcmp(source->why.text, why->text) == 0;

    source->is_under_way = false;
    source->failures++;
    source->why = *why;
    source->next_us = now_us + pause_us(source->fetched_us != 0 ? AGAIN_US : AWAY_US);
    lookup_fail(providers->lookups, &key, REASON_IDENTITY_UNAVAILABLE, now_us + pause_us(AWAY_US));
    if (is_told)
        return;
    if (source->fetched_us != 0 && now_us < until_us)
        log_warn("app", "provider %s: its key set does not come: %s; the one of %" PRId64 " s ago stays in force for %" PRId64
                 " s", source->provider->rules.name, why->text, (now_us - source->fetched_us) / 1000000,
                 (until_us - now_us) / 1000000);
    else
        log_error("app", "provider %s: no key set is known, and its tokens let nobody in: %s", source->provider->rules.name,
                  why->text);
}

/* Puts a set in force. Takes: fetched_us: when the provider gave it. Returns: whether it is in force. */
static bool put(struct providers *providers, struct providers_source *source, struct span text, int64_t fetched_us,
                struct why *why)
{
    const struct identity_provider *provider = source->provider;
    struct lookup_key key = key_of(source);
    struct identity_key_set *set;
    bool is_other = !span_equals(buf_peek(&source->set), text);

    if (identity_key_set_read(text, &set, why) != CODE_OK)
        return false;
    if (is_other) {
        buf_clear(&source->set);
        if (buf_add_span(&source->set, text) != CODE_OK)
            buf_clear(&source->set); /* so that the next set counts as a new one */
    }
    source->keys = identity_key_set_count(set);
    source->fetched_us = fetched_us;
    if (is_other)
        log_info("app", "provider %s: %zu key%s, and %zu of other kinds", provider->rules.name, source->keys,
                 source->keys == 1 ? "" : "s", identity_key_set_passed_over(set));
    lookup_put(providers->lookups, &key, set, text.len, 0,
               provider->keys_file != NULL ? FOREVER_US : fetched_us + provider->stale_us);
    if (is_other)
        lookup_forget(providers->lookups, LOOKUP_TOKEN, NULL); /* some tokens were verified by keys that may be gone */
    return true;
}

/* ---- beside the store ---- */

static void keep(struct providers *providers, const struct providers_source *source)
{
    struct why why = {""};

    if (kept_keys_write(providers->store, source->provider, buf_peek(&source->set), source->fetched_us, &why) != CODE_OK)
        log_warn("app", "provider %s: its key set is not kept for a restart: %s", source->provider->rules.name, why.text);
}

void providers__recall(struct providers *providers, struct providers_source *source)
{
    struct why why = {""};
    int64_t fetched_us;
    struct buf text;
    struct span set;
    enum code code;

    if (source->provider->keys_file != NULL)
        return;
    buf_init(&text, SIZE_MAX / 2);
    code = kept_keys_read(providers->store, source->provider, clock_wall_us(), &text, &set, &fetched_us, &why);
    if (code == CODE_OK && !put(providers, source, set, fetched_us, &why))
        code = CODE_INVALID;
    if (code != CODE_OK && code != CODE_NOT_FOUND)
        log_warn("app", "provider %s: its key set from before is not taken: %s", source->provider->rules.name, why.text);
    buf_fini(&text);
}

/* ---- from a file ---- */

static void look_at_file(struct providers *providers, struct providers_source *source, bool is_due, int64_t now_us)
{
    const char *path = source->provider->keys_file;
    struct stat now;
    int64_t mark[3] = {1, 0, 0};
    struct why why = {""};
    struct buf text;

    if (stat(path, &now) == 0)
        memcpy(mark, (int64_t[]){(int64_t)now.st_ino, now.st_mtim.tv_sec * 1000000000 + now.st_mtim.tv_nsec, now.st_size},
               sizeof mark);
    if (!is_due && memcmp(mark, source->file_mark, sizeof mark) == 0)
        return;
    memcpy(source->file_mark, mark, sizeof mark);
    source->fetches++;
    buf_init(&text, IDENTITY_KEY_SET_BYTES_MAX + 1);
    if (file_read(path, FILE_TRUSTED, IDENTITY_KEY_SET_BYTES_MAX, &text, &why) == CODE_OK &&
        put(providers, source, buf_peek(&text), now_us, &why)) {
        source->why.text[0] = '\0';
        keep(providers, source);
    } else {
        fail(providers, source, &why, now_us);
    }
    buf_fini(&text);
}

/* ---- from the network ---- */

static const char *media_of(enum providers_step step)
{
    return step == PROVIDERS_SET ? "application/json, application/jwk-set+json" : "application/json";
}

/* On web's thread: what came, or why it did not, goes to main. */
static void came(void *context, struct web_answer *answer)
{
    struct providers_came *came = context;
    struct providers *providers = came->providers;

    if (answer->code == CODE_LIMIT)
        (void)why_set(&came->why, CODE_LIMIT, "the answer is larger than %d bytes", IDENTITY_KEY_SET_BYTES_MAX);
    else if (answer->code != CODE_OK)
        came->why = answer->why;
    else if (answer->status != 200)
        (void)why_set(&came->why, CODE_IO, "the answer's status is %d%s", answer->status,
                      answer->status / 100 == 3 ? ", and no redirect is followed" : "");
    else if (!web_answer_is(answer, "application/json") &&
             !(came->step == PROVIDERS_SET && web_answer_is(answer, "application/jwk-set+json")))
        (void)why_set(&came->why, CODE_IO, "the answer is no application/json");
    else
        buf_move(&came->body, &answer->body);
    lock_take(&providers->lock);
    came->next = providers->came;
    providers->came = came;
    lock_give(&providers->lock);
    inbox_poke(&providers->inbox);
}

static void begin(struct providers *providers, struct providers_source *source, enum providers_step step, const char *url)
{
    struct web_header accept = {SPAN_LIT("Accept"), span_text(media_of(step))};
    struct providers_came *asked = mem_zalloc(sizeof *asked);
    struct web_request request = {
        .url = span_text(url), .headers = &accept, .header_count = 1, .tls = source->provider->tls, .wait_us = STEP_US,
        .body_max_bytes = IDENTITY_KEY_SET_BYTES_MAX, .done = came, .context = asked,
    };
    struct why why = {"not enough memory"};

    source->is_under_way = true;
    source->fetches += step == PROVIDERS_SET;
    if (asked != NULL) {
        asked->providers = providers;
        asked->step = step;
        memcpy(asked->digest, source->provider->digest, DIGEST_BYTES);
        buf_init(&asked->body, SIZE_MAX / 2); /* bounded by the request */
        buf_wipes(&asked->body);
        if (web_begin(providers->conf.web, &request, &why) == CODE_OK)
            return;
    }
    mem_free(asked);
    fail(providers, source, &why, clock_wall_us());
}

static void ask_metadata(struct providers *providers, struct providers_source *source, enum providers_step step)
{
    char url[IDENTITY_URL_BYTES];

    identity_metadata_url(source->provider, step == PROVIDERS_OAUTH, url);
    begin(providers, source, step, url);
}

/* Whether the URL is https, or http where the issuer's is, which `providers:` lets be so only on this machine. */
static bool is_https(struct span url, const struct identity_provider *provider)
{
    return span_starts_with(url, SPAN_LIT("https://")) ||
           (span_starts_with(url, SPAN_LIT("http://")) &&
            span_starts_with(span_text(provider->rules.issuer), SPAN_LIT("http://")));
}

/* Metadata that do not name the issuer exactly are somebody else's (RFC 8414, 3.3). */
static void take_metadata(struct providers *providers, struct providers_source *source, struct providers_came *came)
{
    struct json_text metadata;
    struct why why = {""};
    char url[IDENTITY_URL_BYTES] = "";
    enum code code = json_text_read(&metadata, buf_peek(&came->body), &json_file_rules, IDENTITY_KEY_SET_BYTES_MAX);
    struct span issuer = json_member_text(metadata.root, "issuer"), keys = json_member_text(metadata.root, "jwks_uri");

    if (code != CODE_OK)
        (void)why_set(&why, CODE_INVALID, "its metadata are no JSON that has one reading");
    else if (issuer.at == NULL || !span_is(issuer, source->provider->rules.issuer))
        (void)why_set(&why, CODE_INVALID, "its metadata name another `issuer` than the configuration");
    else if (keys.at == NULL || keys.len >= sizeof url || !is_https(keys, source->provider))
        (void)why_set(&why, CODE_INVALID, "its metadata have no `jwks_uri` with https");
    else
        (void)snprintf(url, sizeof url, "%.*s", SPAN_ARG(keys));
    if (why.text[0] == '\0') {
        lock_take(&providers->lock);
        buf_clear(&source->metadata);
        if (buf_add_span(&source->metadata, buf_peek(&metadata.bytes)) != CODE_OK)
            buf_clear(&source->metadata);
        lock_give(&providers->lock);
    }
    json_text_fini(&metadata);
    if (why.text[0] != '\0')
        fail(providers, source, &why, clock_wall_us());
    else
        begin(providers, source, PROVIDERS_SET, source->provider->keys_url != NULL ? source->provider->keys_url : url);
}

void providers__take(struct providers *providers, struct providers_source *source, struct providers_came *came)
{
    int64_t now_us = clock_wall_us();

    if (came->why.text[0] != '\0' && came->step == PROVIDERS_OPENID) {
        ask_metadata(providers, source, PROVIDERS_OAUTH);
        return;
    }
    if (came->why.text[0] == '\0' && came->step != PROVIDERS_SET) {
        take_metadata(providers, source, came);
        return;
    }
    if (came->why.text[0] != '\0' || !put(providers, source, buf_peek(&came->body), now_us, &came->why)) {
        fail(providers, source, &came->why, now_us);
        return;
    }
    if (source->why.text[0] != '\0')
        log_info("app", "provider %s: its key set comes again", source->provider->rules.name);
    source->is_under_way = false;
    source->why.text[0] = '\0';
    source->next_us = now_us + REFRESH_US;
    keep(providers, source);
}

void providers__look_at(struct providers *providers, struct providers_source *source, int64_t now_us)
{
    bool is_due;

    if (source->is_under_way)
        return;
    lock_take(&providers->lock);
    is_due = source->is_due;
    source->is_due = false;
    lock_give(&providers->lock);
    if (source->provider->keys_file != NULL)
        look_at_file(providers, source, is_due, now_us);
    else if (!is_due && now_us < source->next_us)
        return;
    else if (source->provider->keys_url != NULL)
        begin(providers, source, PROVIDERS_SET, source->provider->keys_url);
    else
        ask_metadata(providers, source, PROVIDERS_OPENID);
}
