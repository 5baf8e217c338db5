/* SPDX-License-Identifier: Apache-2.0 */
#include "providers/providers_priv.h"

#include "base/log.h"
#include "base/mem.h"
#include "http/writer.h"
#include "os/clock.h"
#include "os/pause.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define ASK_US INT64_C(5000000)
#define AWAY_US INT64_C(1000000)
#define ANSWER_BYTES ((size_t)256 << 10)
#define TOLD_US INT64_C(60000000)

/* One question, until its answer is there. */
struct asked {
    struct providers *providers;
    struct lookup_key key;
    char name[128]; /* the provider's, for the log */
};

static void fail(struct asked *asked, const struct why *why)
{
    static atomic_int_fast64_t told_us; /* for all providers, since agents can provoke it */
    int64_t now_us = clock_wall_us(), then_us = atomic_load(&told_us);

    lookup_fail(asked->providers->lookups, &asked->key, REASON_IDENTITY_UNAVAILABLE, now_us + pause_us(AWAY_US));
    if (now_us - then_us >= TOLD_US && atomic_compare_exchange_strong(&told_us, &then_us, now_us))
        log_error("app", "provider %s: opaque tokens let nobody in, since it does not say whose they are: %s", asked->name,
                  why->text);
}

static void answered(void *context, struct web_answer *answer)
{
    struct asked *asked = context;
    struct identity_introspection *said = NULL;
    struct why why = answer->why;
    int64_t now_us = clock_wall_us();

    if (answer->code == CODE_OK && answer->status != 200)
        (void)why_set(&why, CODE_IO, "the answer's status is %d", answer->status);
    else if (answer->code == CODE_OK && !web_answer_is(answer, "application/json"))
        (void)why_set(&why, CODE_IO, "the answer is no application/json");
    else if (answer->code == CODE_OK) {
        size_t bytes = buf_len(&answer->body);

        said = identity_introspection_new(&answer->body, now_us);
        if (said != NULL)
            lookup_put(asked->providers->lookups, &asked->key, said, bytes, 0, now_us + IDENTITY_INTROSPECTION_US);
        else
            (void)why_set(&why, CODE_NOMEM, "not enough memory");
    }
    if (said == NULL)
        fail(asked, &why);
    providers__work(asked->providers); /* begins those that waited for their turn */
    mem_free(asked);
}

static const struct identity_provider *provider_of(const struct proxy_conf *conf, struct span digest)
{
    for (size_t i = 0; i < conf->provider_count; i++)
        if (span_equals(span_of(conf->providers[i].digest, DIGEST_BYTES), digest))
            return &conf->providers[i];
    return NULL;
}

void providers__introspect(struct providers *providers, struct proxy_conf *conf, struct lookup_work *work)
{
    const struct identity_provider *provider = provider_of(conf, span_part(work->payload, 0, DIGEST_BYTES));
    struct asked *asked = provider != NULL ? mem_zalloc(sizeof *asked) : NULL;
    struct why why = {"not enough memory"};
    struct buf body, authorization;

    if (asked == NULL) { /* of a provider that a reload took away */
        lookup_fail(providers->lookups, &work->key, REASON_IDENTITY_UNAVAILABLE, clock_wall_us() + PROVIDERS_GONE_US);
        return;
    }
    asked->providers = providers;
    asked->key = work->key;
    (void)snprintf(asked->name, sizeof asked->name, "%s", provider->rules.name);
    buf_init(&body, 4 * LOOKUP_PAYLOAD_MAX);
    buf_init(&authorization, 2 * 65536);
    buf_wipes(&body);
    buf_wipes(&authorization);
    http_write_field(&body, "token_type_hint", SPAN_LIT("access_token"));
    http_write_field(&body, "token", span_part(work->payload, DIGEST_BYTES, SIZE_MAX));
    if (outgoing_write_basic(span_text(provider->introspect.id), provider->introspect.secret, &authorization) == CODE_OK &&
        buf_code(&body) == CODE_OK) {
        const struct web_header headers[] = {
            {SPAN_LIT("Authorization"), buf_peek(&authorization)}, {SPAN_LIT("Accept"), SPAN_LIT("application/json")},
            {SPAN_LIT("Content-Type"), SPAN_LIT("application/x-www-form-urlencoded")},
        };
        const struct web_request request = {
            .url = span_text(provider->introspect_url), .headers = headers, .header_count = 3, .body = buf_peek(&body),
            .tls = provider->tls, .yields = true, .wait_us = ASK_US, .body_max_bytes = ANSWER_BYTES, .done = answered,
            .context = asked,
        };

        if (web_begin(providers->conf.web, &request, &why) == CODE_OK)
            asked = NULL; /* `answered` frees it */
    }
    if (asked != NULL)
        fail(asked, &why);
    mem_free(asked);
    buf_fini(&body);
    buf_fini(&authorization);
}
