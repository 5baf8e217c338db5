/* SPDX-License-Identifier: Apache-2.0 */
#include "providers/outgoing_desk.h"

#include "base/lock.h"
#include "base/list.h"
#include "base/log.h"
#include "base/mem.h"
#include "identity/provider.h"
#include "json/doc.h"
#include "os/clock.h"
#include "os/pause.h"
#include "providers/account_desk.h"
#include "runner/runner.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define RETRY_US INT64_C(5000000)    /* a fetch that failed is not tried again before */
#define PARKED_US INT64_C(10000000)  /* how long a fetch may wait for metadata and keys */

struct outgoing_desk {
    struct outgoing_ways ways;
    pthread_mutex_t lock;
    struct list parked; /* under the lock */
    struct list heard;  /* main's: what programs are about to say */
    struct account_desk *accounts;
};

/* One token that is asked for. A fetch is with web/, on the desk, or with the function that goes on with it. */
struct fetch {
    struct list all; /* of the desk's parked, or its heard */
    struct outgoing_desk *desk;
    struct proxy_conf *conf;
    struct lookup_work work;
    struct outgoing_wish wish; /* as work.payload has it */
    const struct proxy_route *route;
    const struct outgoing *outgoing;
    const struct proxy_fetched *of; /* both */
    struct outgoing_token *token; /* the token that is to be verified; NULL: the provider has given none yet */
    int64_t asked_us;             /* by the wall clock */
    int64_t parked_us;            /* by the monotonic clock, when it was parked first */
    int64_t looked_us;            /* how long after that it was last looked at */
    struct runner_hearing hearing; /* PROGRAM: what it says; the fetch is among the desk's `heard` meanwhile */
    uint64_t ticket; /* for newer keys of the provider; 0: none were asked for */
    bool has_newest; /* the provider's newest keys have come, or cannot be had */
};

/* ---- endings ---- */

static void end(struct fetch *fetch)
{
    outgoing_token_unref(&fetch->token);
    lookup_work_fini(&fetch->work);
    proxy_conf_unref(&fetch->conf);
    mem_free(fetch);
}

/* Notes how a fetch ended for each route that waits for it. Takes: why: NULL: it was fetched. Returns: whether that is news. */
static bool note(const struct fetch *fetch, const char *why, bool is_callers)
{
    bool is_news = false;

    for (size_t i = 0; i < fetch->conf->fetched_count; i++) {
        const struct outgoing *outgoing = fetch->conf->fetched[i].outgoing;

        if (memcmp(outgoing->digest, fetch->outgoing->digest, sizeof outgoing->digest) != 0)
            continue;
        if (why != NULL ? outgoing_failed(outgoing, why, is_callers, clock_wall_us()) : outgoing_fetched(outgoing))
            is_news = true;
    }
    return is_news;
}

/* "provider corp", or "its program /usr/bin/vault". */
static const char *giver_of(const struct fetch *fetch, char out[512])
{
    bool is_program = fetch->outgoing->kind == OUTGOING_PROGRAM;

    (void)snprintf(out, 512, "%s %s", is_program ? "its program" : "provider",
                   is_program ? fetch->outgoing->file : fetch->outgoing->provider->rules.name);
    return out;
}

/* Takes: why: without a token or secret in it. */
static void fail(struct fetch *fetch, enum reason reason, const char *why)
{
    struct span header = fetch->outgoing->header;
    char giver[512];

    if (note(fetch, why, reason == REASON_EXCHANGE_REFUSED))
        log_line(LOG_WARN, &(struct log_about){.room = "app", .reason = reason_name(reason)},
                 "route %.*s gets no %.*s for its upstream from %s: %s", SPAN_ARG(fetch->route->name),
                 SPAN_ARG(header.len > 0 ? header : SPAN_LIT("token")), giver_of(fetch, giver), why);
    lookup_fail(fetch->desk->ways.lookups, &fetch->work.key, reason, clock_wall_us() + pause_us(RETRY_US));
    end(fetch);
}

static void succeed(struct fetch *fetch)
{
    struct outgoing_token *token = fetch->token;
    bool is_exchange = fetch->outgoing->kind == OUTGOING_EXCHANGE;
    char giver[512];

    if (is_exchange)
        outgoing_token_shorten(token, fetch->wish.until_us);
    if (token->until_us <= clock_wall_us()) { /* who waits would ask for the next one at once */
        fail(fetch, is_exchange ? REASON_EXCHANGE_REFUSED : REASON_OUTGOING_UNAVAILABLE, "the token was over when it came");
        return;
    }
    if (note(fetch, NULL, false))
        log_info("app", "route %.*s gets tokens for its upstream from %s again", SPAN_ARG(fetch->route->name),
                 giver_of(fetch, giver));
    fetch->token = NULL;
    lookup_put(fetch->desk->ways.lookups, &fetch->work.key, token, sizeof *token + token->len, token->renew_us,
               token->until_us);
    end(fetch);
}

static void park(struct fetch *fetch)
{
    struct outgoing_desk *desk = fetch->desk;

    if (fetch->parked_us == 0)
        fetch->parked_us = clock_monotonic_us();
    lock_take(&desk->lock);
    list_append(&desk->parked, &fetch->all);
    lock_give(&desk->lock);
}

/* ---- whom an exchanged token is for ---- */

static struct span text_of(const struct fetch *fetch)
{
    return span_part(span_of(fetch->token->value, fetch->token->len), sizeof "Bearer " - 1, SIZE_MAX);
}

/* Checks that a token is the provider's, for the agent and for this upstream. A JWT says so itself, and when it ends. */
static enum identity_fault check_token(const struct fetch *fetch, const struct identity_key_set *keys, bool *is_anothers)
{
    const struct outgoing *outgoing = fetch->outgoing;
    const char *audiences[3] = {outgoing->audience != NULL ? outgoing->audience : outgoing->resource,
                                outgoing->audience != NULL ? outgoing->resource : NULL, NULL};
    const struct identity_token_rules rules = {.audiences = audiences, .principal.constant = "agent",
                                                .tenant.constant = "agent"};
    struct identity_token *token = NULL;
    enum identity_fault fault = identity_token_read(&outgoing->provider->rules, &rules, keys, text_of(fetch), clock_wall_us(),
                                                    &token);

    *is_anothers = fault == IDENTITY_FAULT_NONE && (!span_equals(token->subject, fetch->wish.subject) || token->bound != 0);
    if (fault == IDENTITY_FAULT_NONE)
        outgoing_token_shorten(fetch->token, token->expires_us); /* whatever `expires_in` says */
    identity_token_unref(&token);
    return fault;
}

static void verify(struct fetch *fetch, const struct identity_key_set *keys)
{
    bool is_anothers;
    enum identity_fault fault = check_token(fetch, keys, &is_anothers);
    char why[256];

    if (fault == IDENTITY_FAULT_NONE && !is_anothers) {
        succeed(fetch);
    } else if (fault == IDENTITY_FAULT_UNKNOWN_KEY && !fetch->has_newest) {
        park(fetch);
    } else if (fault == IDENTITY_FAULT_UNKNOWN_KEY && keys == NULL) {
        fail(fetch, REASON_OUTGOING_UNAVAILABLE, "its keys, by which the answer is checked, are not known");
    } else {
        (void)snprintf(why, sizeof why, "the answer is refused: %s",
                       is_anothers ? "it is for another subject than the agent's token, or bound to a key"
                                   : identity_fault_text(fault));
        fail(fetch, REASON_EXCHANGE_REFUSED, why);
    }
}

static void key_of_keys(const struct fetch *fetch, struct lookup_key *key)
{
    key->kind = LOOKUP_KEYS;
    memcpy(key->digest, fetch->outgoing->provider->digest, sizeof key->digest);
}

static void verify_exchanged(struct fetch *fetch)
{
    struct identity_token_hint hint;
    struct identity_key_set *keys;
    struct lookup_key key;

    if (!identity_token_looks(text_of(fetch), &hint)) {
        if (fetch->outgoing->takes_opaque)
            succeed(fetch);
        else
            fail(fetch, REASON_EXCHANGE_REFUSED, "the answer is no JWT, so that nobody can see whom it is for; `opaque: true` "
                 "takes it on the provider's word");
        return;
    }
    key_of_keys(fetch, &key);
    keys = lookup_find(fetch->desk->ways.lookups, &key, clock_wall_us());
    verify(fetch, keys);
    identity_key_set_unref(&keys);
}

/* ---- what a program says ---- */

static void heard(void *context, struct span value, const char *fault)
{
    struct fetch *fetch = context;
    const struct outgoing *outgoing = fetch->outgoing;

    list_remove(&fetch->all);
    if (fault == NULL)
        fetch->token = outgoing_token_new(outgoing->entries->value, value, fetch->asked_us, outgoing->ttl_us);
    if (fetch->token == NULL)
        fail(fetch, REASON_OUTGOING_UNAVAILABLE, fault != NULL ? fault : "not enough memory");
    else
        succeed(fetch);
}

/* On main, whose loop hears it. */
static void ask_program(struct fetch *fetch)
{
    const struct outgoing_ways *ways = &fetch->desk->ways;
    int fd;

    fetch->asked_us = clock_wall_us();
    fetch->hearing = (struct runner_hearing){.loop = ways->loop, .heard = heard, .context = fetch};
    if (ways->dial(ways->context, fetch->outgoing->program, &fd) != CODE_OK || runner_hear(&fetch->hearing, fd) != CODE_OK)
        fail(fetch, REASON_OUTGOING_UNAVAILABLE, "the process that starts commands takes nothing");
    else
        list_append(&fetch->desk->heard, &fetch->all);
}

/* ---- asking ---- */

static void answered(void *context, struct web_answer *answer)
{
    struct fetch *fetch = context;
    bool is_exchange = fetch->outgoing->kind == OUTGOING_EXCHANGE;
    struct why why = {""};
    char error[64];

    if (answer->code == CODE_DOWN) { /* the gate ends */
        lookup_fail(fetch->desk->ways.lookups, &fetch->work.key, REASON_OUTGOING_UNAVAILABLE, 0);
        end(fetch);
    } else if (answer->code != CODE_OK) {
        fail(fetch, REASON_OUTGOING_UNAVAILABLE, answer->why.text);
    } else if (answer->status != 200) {
        outgoing_read_error(buf_peek(&answer->body), error);
        (void)snprintf(why.text, sizeof why.text, "it answers HTTP %d%s%s", answer->status, error[0] != '\0' ? ", " : "",
                       error);
        is_exchange = is_exchange && answer->status == 400 && strcmp(error, "invalid_client") != 0;
        fail(fetch, is_exchange ? REASON_EXCHANGE_REFUSED : REASON_OUTGOING_UNAVAILABLE, why.text);
    } else if (!web_answer_is(answer, "application/json")) {
        fail(fetch, REASON_OUTGOING_UNAVAILABLE, "its answer's Content-Type is not application/json");
    } else if (outgoing_read_answer(fetch->outgoing, buf_peek(&answer->body), fetch->asked_us, clock_wall_us(), &fetch->token,
                                    &why) != CODE_OK) {
        fail(fetch, is_exchange ? REASON_EXCHANGE_REFUSED : REASON_OUTGOING_UNAVAILABLE, why.text);
    } else if (is_exchange) {
        verify_exchanged(fetch);
    } else {
        succeed(fetch);
    }
}

static void post(struct fetch *fetch, struct span url, struct span secret)
{
    struct why why = {""};
    enum code code;

    fetch->asked_us = clock_wall_us();
    code = outgoing_post(&fetch->desk->ways, url, fetch->outgoing, &fetch->wish, secret, answered, fetch, &why);
    if (code != CODE_OK)
        fail(fetch, REASON_OUTGOING_UNAVAILABLE, why.text[0] != '\0' ? why.text : code_text(code));
}

static void begin(struct fetch *fetch)
{
    const struct outgoing *outgoing = fetch->outgoing;
    struct span secret = outgoing_find(outgoing, fetch->wish.tenant, SPAN_NONE);
    char endpoint[1024];
    size_t len;

    if (outgoing->kind == OUTGOING_PROGRAM || outgoing->kind == OUTGOING_ACCOUNT) {
        park(fetch);
        fetch->desk->ways.poke(fetch->desk->ways.providers);
    } else if (outgoing->kind == OUTGOING_EXCHANGE && fetch->wish.until_us <= clock_wall_us()) {
        fail(fetch, REASON_EXCHANGE_REFUSED, "the agent's token is over, but for the leeway between clocks");
    } else if (secret.at == NULL) {
        fail(fetch, REASON_OUTGOING_UNAVAILABLE, "the client's secret is gone");
    } else if (outgoing->token_url != NULL) {
        post(fetch, span_text(outgoing->token_url), secret);
    } else {
        len = fetch->desk->ways.endpoint(fetch->desk->ways.providers, outgoing->provider, "token_endpoint", endpoint,
                                         sizeof endpoint);
        if (len > 0)
            post(fetch, span_of(endpoint, len), secret);
        else
            park(fetch);
    }
}

/* Finds the route's `outgoing` by its digest, since a reload may have changed the configuration and removed it. */
static bool find_outgoing(struct fetch *fetch)
{
    for (size_t i = 0; i < fetch->conf->fetched_count; i++) {
        const struct outgoing *outgoing = fetch->conf->fetched[i].outgoing;

        if (memcmp(outgoing->digest, fetch->wish.outgoing, sizeof outgoing->digest) == 0) {
            fetch->route = fetch->conf->fetched[i].route;
            fetch->outgoing = outgoing;
            fetch->of = &fetch->conf->fetched[i];
            return true;
        }
    }
    return false;
}

void outgoing_desk_fetch(struct outgoing_desk *desk, struct proxy_conf *conf, struct lookup_work *work)
{
    struct fetch *fetch = mem_zalloc(sizeof *fetch);

    if (fetch == NULL) {
        lookup_fail(desk->ways.lookups, &work->key, REASON_OUTGOING_UNAVAILABLE, clock_wall_us() + PROVIDERS_GONE_US);
        lookup_work_fini(work);
        return;
    }
    fetch->desk = desk;
    fetch->conf = proxy_conf_ref(conf);
    fetch->work = *work;
    work->payload = SPAN_NONE;
    if (outgoing_unpack(fetch->work.payload, &fetch->wish) && find_outgoing(fetch)) {
        begin(fetch);
        return;
    }
    lookup_fail(desk->ways.lookups, &fetch->work.key, REASON_OUTGOING_UNAVAILABLE,
                clock_wall_us() + PROVIDERS_GONE_US);
    end(fetch);
}

/* ---- the desk ---- */

/* Whether the provider's newest keys are there, or cannot be had. */
static bool has_keys(struct fetch *fetch)
{
    struct lookups *lookups = fetch->desk->ways.lookups;
    struct lookup_answer answer;
    struct lookup_key key;

    if (fetch->ticket != 0)
        return lookup_is_settled(lookups, fetch->ticket);
    key_of_keys(fetch, &key);
    if (lookup_ask_newer(lookups, &key, SPAN_NONE, clock_wall_us(), LOOKUP_KEYS_GAP_US, &answer) != LOOKUP_PENDING)
        return true;
    fetch->ticket = answer.ticket;
    return false;
}

/* On main, which has the store. */
static void ask_account(struct fetch *fetch, bool is_late)
{
    if (account_desk_fetch(fetch->desk->accounts, fetch->conf, fetch->of, &fetch->work.key, &fetch->wish) == CODE_OK)
        end(fetch); /* the look-up is the accounts' desk's to answer */
    else if (is_late)
        fail(fetch, REASON_OUTGOING_UNAVAILABLE, "its metadata do not come, or the store is being written all the time");
    else
        park(fetch);
}

static void go_on(struct fetch *fetch)
{
    int64_t waited_us = clock_monotonic_us() - fetch->parked_us;
    bool is_late = waited_us > PARKED_US;

    if (fetch->outgoing->kind == OUTGOING_ACCOUNT) {
        ask_account(fetch, is_late);
        return;
    }
    if (fetch->outgoing->kind == OUTGOING_PROGRAM) {
        ask_program(fetch);
        return;
    }
    if (fetch->token == NULL && !is_late && waited_us < 2 * fetch->looked_us) {
        park(fetch); /* asking for metadata also has them fetched, less and less often while the provider is away */
        return;
    }
    fetch->looked_us = waited_us;
    if (fetch->token == NULL && is_late) {
        fail(fetch, REASON_OUTGOING_UNAVAILABLE, "its metadata, which name its token endpoint, do not come; `url` would name "
             "it");
    } else if (fetch->token == NULL) {
        begin(fetch);
    } else if (has_keys(fetch) || is_late) {
        fetch->has_newest = true;
        verify_exchanged(fetch);
    } else {
        park(fetch);
    }
}

/* The key of a token that a route has for all. Returns: false: there is none. */
static bool key_of(const struct outgoing *outgoing, struct lookup_key *key)
{
    if (outgoing->kind == OUTGOING_EXCHANGE || outgoing->kind == OUTGOING_ACCOUNT || outgoing->per_tenant ||
        outgoing->count == 0)
        return false;
    outgoing_key(outgoing, outgoing->entries[0].value, SPAN_NONE, SPAN_NONE, key);
    return true;
}

/* Tokens that a route has for all are fetched before anybody calls, and renewed whether anybody calls or not. Takes: is_anew:
 * programs are asked though what they said before goes up still. */
static void fetch_ahead(struct outgoing_desk *desk, const struct proxy_conf *conf, bool is_anew)
{
    for (size_t i = 0; i < conf->fetched_count; i++) {
        const struct outgoing *outgoing = conf->fetched[i].outgoing;
        struct outgoing_wish wish = {.until_us = 0};
        enum lookup_state state = LOOKUP_FAILED;
        struct lookup_answer answer;
        struct lookup_key key;
        struct buf payload;

        if (!key_of(outgoing, &key))
            continue;
        memcpy(wish.outgoing, outgoing->digest, sizeof wish.outgoing);
        buf_init(&payload, LOOKUP_PAYLOAD_MAX);
        if (outgoing_pack(&wish, &payload) != CODE_OK)
            ;
        else if (is_anew && outgoing->kind == OUTGOING_PROGRAM)
            state = lookup_ask_newer(desk->ways.lookups, &key, buf_peek(&payload), clock_wall_us(), 0, &answer);
        else
            state = lookup_ask(desk->ways.lookups, &key, buf_peek(&payload), clock_wall_us(), &answer);
        if (state == LOOKUP_READY)
            outgoing_token_type.unref(answer.result);
        buf_fini(&payload);
    }
}

void outgoing_desk_look(struct outgoing_desk *desk, struct proxy_conf *conf)
{
    struct list parked, *link, *following;

    list_init(&parked);
    lock_take(&desk->lock);
    LIST_EACH(link, following, &desk->parked) {
        list_remove(link);
        list_append(&parked, link);
    }
    lock_give(&desk->lock);
    LIST_EACH(link, following, &parked) {
        list_remove(link);
        go_on(LIST_ENTRY(link, struct fetch, all));
    }
    fetch_ahead(desk, conf, false);
    account_desk_look(desk->accounts, conf);
}

void outgoing_desk_changed(struct outgoing_desk *desk)
{
    account_desk_changed(desk->accounts);
}

void outgoing_desk_anew(struct outgoing_desk *desk, const struct proxy_conf *conf)
{
    fetch_ahead(desk, conf, true);
}

enum code outgoing_desk_new(const struct outgoing_ways *ways, struct outgoing_desk **out)
{
    struct outgoing_desk *desk = mem_zalloc(sizeof *desk);

    *out = desk;
    if (desk == NULL)
        return CODE_NOMEM;
    desk->ways = *ways;
    list_init(&desk->parked);
    list_init(&desk->heard);
    lock_init(&desk->lock);
    return account_desk_new(ways, &desk->accounts);
}

void outgoing_desk_free(struct outgoing_desk **desk)
{
    struct list *link, *following;

    if (*desk == NULL)
        return;
    LIST_EACH(link, following, &(*desk)->parked) {
        list_remove(link);
        end(LIST_ENTRY(link, struct fetch, all));
    }
    LIST_EACH(link, following, &(*desk)->heard) {
        list_remove(link);
        runner_hear_end(&LIST_ENTRY(link, struct fetch, all)->hearing);
        end(LIST_ENTRY(link, struct fetch, all));
    }
    account_desk_free(&(*desk)->accounts);
    pthread_mutex_destroy(&(*desk)->lock);
    mem_free(*desk);
    *desk = NULL;
}

struct outgoing_token *outgoing_known(struct lookups *lookups, const struct outgoing *outgoing)
{
    struct lookup_key key;

    return key_of(outgoing, &key) ? lookup_find(lookups, &key, clock_wall_us()) : NULL;
}
