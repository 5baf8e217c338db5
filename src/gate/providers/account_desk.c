/* SPDX-License-Identifier: Apache-2.0 */
#include "providers/account_desk_priv.h"

#include "base/lock.h"
#include "base/log.h"
#include "base/mem.h"
#include "identity/provider.h"
#include "os/clock.h"
#include "os/pause.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define AGAIN_US INT64_C(500000)   /* who is not connected may be, so soon */
#define CLAIM_US INT64_C(30000000) /* so long another gate waits for one that died amid a request, which takes 10 s at most */

/* ---- what has ended ---- */

const struct proxy_fetched *account__route(const struct proxy_conf *conf, struct span upstream)
{
    for (size_t i = 0; i < conf->fetched_count; i++)
        if (conf->fetched[i].outgoing->kind == OUTGOING_ACCOUNT && span_equals(conf->fetched[i].route->name, upstream))
            return &conf->fetched[i];
    return NULL;
}

struct forgetting {
    struct account_desk *desk;
    const struct proxy_conf *conf;
};

static void forget(void *context, const struct store_account *account)
{
    const struct forgetting *forgetting = context;
    const struct proxy_fetched *of = account__route(forgetting->conf, account->upstream);
    struct lookup_key key;

    if (of == NULL)
        return;
    outgoing_account_key(of->outgoing, account->tenant, account->principal, account->login, &key);
    lookup_forget(forgetting->desk->ways.lookups, LOOKUP_OUTGOING, &key);
    outgoing_account_key(of->outgoing, account->tenant, account->principal, SPAN_NONE, &key);
    lookup_forget(forgetting->desk->ways.lookups, LOOKUP_OUTGOING, &key);
}

/* Forgets the access tokens of accounts that ended since. Returns: false: to be tried again. */
static bool forget_ended(struct account_desk *desk, const struct proxy_conf *conf)
{
    struct forgetting forgetting = {desk, conf};
    struct why why = {""};

    return store_accounts_ended(desk->ways.db, &desk->ended, forget, &forgetting, &why) == CODE_OK;
}

/* ---- endings ---- */

void account__end(struct talk *talk)
{
    list_remove(&talk->all);
    outgoing_token_unref(&talk->token);
    buf_fini(&talk->refresh);
    buf_fini(&talk->scopes);
    buf_fini(&talk->body);
    buf_fini(&talk->texts);
    buf_fini(&talk->login);
    proxy_conf_unref(&talk->conf);
    mem_free(talk);
}

static void log_failure(const struct proxy_fetched *of, const struct store_account *account, const char *why)
{
    if (why[0] != '\0' && outgoing_failed(of->outgoing, why, true, clock_wall_us()))
        log_warn("app", "route %.*s gets no token of the account of tenant %.*s, principal %.*s from provider %s: %s",
                 SPAN_ARG(of->route->name), SPAN_ARG(account->tenant), SPAN_ARG(account->principal),
                 of->outgoing->provider->rules.name, why);
}

void account__fail_person(struct account_desk *desk, int64_t ask, const char *problem)
{
    struct why why = {""};

    if (store_account_failed(desk->ways.db, ask, span_text(problem), &why) != CODE_OK)
        log_error("app", "%s; who connects waits in vain", why.text);
}

/* The trail is to be told what this desk wrote of accounts. */
static void desk_stored(const struct account_desk *desk)
{
    desk->ways.stored(desk->ways.context);
}

/* Nothing more comes of it. Takes: why: for the log and for who connects; "": there is no account, which is no fault. */
void account__fail(struct talk *talk, enum reason reason, int64_t pause, const char *why)
{
    struct why ignored = {""};

    log_failure(talk->of, &talk->account, why);
    if (talk->ask.id != 0)
        account__fail_person(talk->desk, talk->ask.id, why);
    else
        lookup_fail(talk->desk->ways.lookups, &talk->key, reason, clock_wall_us() + pause_us(pause));
    if (talk->ask.id == 0 && talk->account.id != 0)
        (void)!store_account_let(talk->desk->ways.db, &talk->account, &ignored); /* else its time lets others ask */
    account__end(talk);
}

/* Who has just connected may call by that login, or by a key. */
static void put_for_keys(const struct talk *talk, struct outgoing_token *token)
{
    struct lookup_key key;

    outgoing_account_key(talk->of->outgoing, talk->account.tenant, talk->account.principal, SPAN_NONE, &key);
    lookup_put(talk->desk->ways.lookups, &key, outgoing_token_type.ref(token), sizeof *token + token->len, token->renew_us,
               token->until_us);
}

static void succeed(struct talk *talk)
{
    struct outgoing_token *token = talk->token;

    talk->token = NULL;
    if (talk->ask.id != 0) {
        desk_stored(talk->desk);
        (void)forget_ended(talk->desk, talk->conf); /* the account that this one replaces, before its own token is there */
        put_for_keys(talk, token);
    }
    (void)outgoing_fetched(talk->of->outgoing);
    lookup_put(talk->desk->ways.lookups, &talk->key, token, sizeof *token + token->len, token->renew_us, token->until_us);
    if (talk->ask.id != 0)
        log_info("app", "route %.*s: tenant %.*s, principal %.*s has connected an account", SPAN_ARG(talk->of->route->name),
                 SPAN_ARG(talk->account.tenant), SPAN_ARG(talk->account.principal));
    account__end(talk);
}

/* ---- what a provider answered ---- */

/* On web's thread. */
static void answered(void *context, struct web_answer *answer)
{
    struct talk *talk = context;
    struct account_desk *desk = talk->desk;

    talk->code = answer->code;
    talk->why = answer->why;
    talk->status = answer->status;
    talk->is_json = answer->code == CODE_OK && web_answer_is(answer, "application/json");
    if (answer->code == CODE_OK) /* else it holds what was too long */
        buf_move(&talk->body, &answer->body);
    lock_take(&desk->lock);
    talk->is_answered = true;
    lock_give(&desk->lock);
    if (answer->code != CODE_DOWN)
        desk->ways.poke(desk->ways.providers);
}

/* The provider takes the account's token no more: it was revoked there, or has lapsed. */
static void end_account(struct talk *talk, const char *error)
{
    struct why why = {""};
    char text[160];
    enum code code;

    (void)snprintf(text, sizeof text, "the provider takes its token no more (%s)", error);
    code = store_account_end(talk->desk->ways.db, talk->account.id, SPAN_LIT("gate"), span_text(text), clock_wall_us(), &why);
    desk_stored(talk->desk);
    if (code != CODE_OK && code != CODE_EXISTS)
        log_error("app", "%s", why.text); /* the next call hears the same of the provider, and ends it */
    account__fail(talk, REASON_ACCOUNT_MISSING, AGAIN_US, text);
}

/* Reads what came. Returns: whether it goes on: its token is to be kept. */
static bool read_answer(struct talk *talk)
{
    const bool is_person = talk->ask.id != 0;
    struct why why = {""};
    char error[64];

    talk->is_read = true;
    if (talk->code != CODE_OK) {
        account__fail(talk, REASON_OUTGOING_UNAVAILABLE, ACCOUNT__RETRY_US, talk->why.text);
        return false;
    }
    if (talk->status != 200) {
        outgoing_read_error(buf_peek(&talk->body), error);
        /* A page, a redirection, or a server before it that is overloaded may say anything (RFC 6749, 5.2; some have 403). */
        if (!is_person && talk->is_json && (talk->status == 400 || talk->status == 401 || talk->status == 403) &&
            strcmp(error, "invalid_grant") == 0) {
            end_account(talk, error);
            return false;
        }
        (void)snprintf(why.text, sizeof why.text, "it answers HTTP %d%s%s", talk->status, error[0] != '\0' ? ", " : "", error);
        account__fail(talk, REASON_OUTGOING_UNAVAILABLE, ACCOUNT__RETRY_US, why.text);
        return false;
    }
    if (talk->is_json) {
        (void)!outgoing_read_answer(talk->of->outgoing, buf_peek(&talk->body), talk->asked_us, clock_wall_us(), &talk->token,
                                     &why);
        outgoing_read_refresh(buf_peek(&talk->body), &talk->refresh, &talk->scopes);
    } else {
        (void)why_set(&why, CODE_INVALID, "its answer's Content-Type is not application/json");
    }
    if (talk->token != NULL && is_person && buf_is_empty(&talk->refresh))
        (void)why_set(&why, CODE_INVALID, "it gives no token for newer ones (refresh_token); ask for the scope by which it "
                      "does, which often is offline_access");
    if (buf_code(&talk->refresh) != CODE_OK)
        (void)why_set(&why, CODE_NOMEM, "not enough memory for its token for newer ones");
    talk->why = why;
    /* Whatever is wrong with what it gives, it takes the token that it had given before no more. */
    if (why.text[0] == '\0' || (!is_person && !buf_is_empty(&talk->refresh)))
        return true;
    account__fail(talk, REASON_OUTGOING_UNAVAILABLE, ACCOUNT__RETRY_US, why.text);
    return false;
}

/* Keeps the token for newer ones; then, and not before, what came with it goes up. What cannot be kept is tried again. */
static void keep(struct talk *talk)
{
    struct account_desk *desk = talk->desk;
    struct span scopes = buf_is_empty(&talk->scopes) ? SPAN_NONE : buf_peek(&talk->scopes);
    struct why why = {""};
    enum code code;

    if (talk->ask.id != 0)
        code = store_account_made(desk->ways.db, desk->ways.store, &talk->ask, &talk->account, buf_peek(&talk->refresh), scopes,
                                  clock_wall_us(), &why);
    else if (buf_is_empty(&talk->refresh)) /* the one that there was is still good (RFC 6749, 6) */
        code = store_account_let(desk->ways.db, &talk->account, &why);
    else
        code = store_account_keep(desk->ways.db, desk->ways.store, &talk->account, buf_peek(&talk->refresh), clock_wall_us(),
                                  &why);
    if (code == CODE_OK && talk->token == NULL) {
        account__fail(talk, REASON_OUTGOING_UNAVAILABLE, ACCOUNT__RETRY_US, talk->why.text);
    } else if (code == CODE_OK) {
        succeed(talk);
    } else if (code == CODE_NOT_FOUND) {
        talk->account.id = 0;
        account__fail(talk, REASON_ACCOUNT_MISSING, AGAIN_US, "the account has ended meanwhile");
    } else if (code != CODE_BUSY && outgoing_failed(talk->of->outgoing, why.text, true, clock_wall_us())) {
        log_error("app", "route %.*s: a token for newer ones is not kept yet, and nothing goes up: %s",
                  SPAN_ARG(talk->of->route->name), why.text);
    }
}

/* ---- asking ---- */

struct talk *account__talk_new(struct account_desk *desk, struct proxy_conf *conf, const struct proxy_fetched *of)
{
    struct talk *talk = mem_zalloc(sizeof *talk);

    if (talk == NULL)
        return NULL;
    talk->desk = desk;
    talk->conf = proxy_conf_ref(conf);
    talk->of = of;
    buf_init(&talk->texts, 2 * ACCOUNT__BODY_BYTES);
    buf_wipes(&talk->texts);
    buf_init(&talk->login, ACCOUNT__BODY_BYTES);
    buf_init(&talk->body, ACCOUNT__BODY_BYTES);
    buf_wipes(&talk->body);
    buf_init(&talk->refresh, ACCOUNT__TOKEN_BYTES);
    buf_wipes(&talk->refresh);
    buf_init(&talk->scopes, ACCOUNT__TOKEN_BYTES);
    list_append(&desk->under_way, &talk->all);
    return talk;
}

struct span account__issuer(const struct outgoing *outgoing)
{
    return span_text(outgoing->provider->rules.issuer);
}

/* Copies whose account it is. Returns: false: no memory. */
static bool take_names(struct talk *talk, const struct outgoing_wish *wish)
{
    const struct span names[] = {wish->tenant, wish->subject, wish->login}, tenant = wish->tenant, principal = wish->subject;
    char *at;

    if (buf_reserve(&talk->texts, tenant.len + principal.len + wish->login.len + 1, &at) != CODE_OK)
        return false;
    for (size_t i = 0; i < 3; i++)
        buf_add_span(&talk->texts, names[i]);
    buf_add_byte(&talk->texts, '\0');
    talk->account = (struct store_account){
        .tenant = span_of(at, tenant.len), .principal = span_of(at + tenant.len, principal.len),
        .upstream = talk->of->route->name,
        .login = wish->login.len > 0 ? span_of(at + tenant.len + principal.len, wish->login.len) : SPAN_NONE,
        .client = span_text(talk->of->outgoing->client), .issuer = account__issuer(talk->of->outgoing)};
    return true;
}

static bool is_same(const struct store_account *a, struct span tenant, struct span principal, struct span upstream)
{
    return span_equals(a->tenant, tenant) && span_equals(a->principal, principal) && span_equals(a->upstream, upstream);
}

bool account__is_under_way(const struct account_desk *desk, struct span tenant, struct span principal, struct span upstream)
{
    struct list *link, *following;

    LIST_EACH(link, following, &((struct account_desk *)(uintptr_t)desk)->under_way)
        if (is_same(&LIST_ENTRY(link, struct talk, all)->account, tenant, principal, upstream))
            return true;
    return false;
}

/* Where the token is asked for. Returns: 0: not known yet. */
size_t account__find_url(struct account_desk *desk, const struct outgoing *outgoing, const char *own, const char *name,
                       char out[ACCOUNT__URL_BYTES])
{
    if (own != NULL)
        return (size_t)snprintf(out, ACCOUNT__URL_BYTES, "%s", own);
    return desk->ways.endpoint(desk->ways.providers, outgoing->provider, name, out, ACCOUNT__URL_BYTES);
}

/* From here on the talk is web's until it has answered, or it has failed. */
void account__post(struct talk *talk, const char *url, const struct outgoing_wish *wish)
{
    const struct outgoing *outgoing = talk->of->outgoing;
    struct why why = {""};
    enum code code;

    talk->asked_us = clock_wall_us();
    code = outgoing_post(&talk->desk->ways, span_text(url), outgoing, wish, outgoing->entries->value, answered, talk, &why);
    if (code != CODE_OK)
        account__fail(talk, REASON_OUTGOING_UNAVAILABLE, ACCOUNT__RETRY_US, why.text[0] != '\0' ? why.text : code_text(code));
}

/* What is told where an account cannot be asked for. */
static void refuse(struct talk *talk, enum code code, const struct why *why)
{
    const bool is_missing = code == CODE_NOT_FOUND;

    talk->account.id = 0;
    account__fail(talk, is_missing ? REASON_ACCOUNT_MISSING : REASON_OUTGOING_UNAVAILABLE,
                  is_missing ? AGAIN_US : ACCOUNT__RETRY_US, why->text);
}

enum code account_desk_fetch(struct account_desk *desk, struct proxy_conf *conf, const struct proxy_fetched *of,
                             const struct lookup_key *key, const struct outgoing_wish *wish)
{
    struct outgoing_wish with = *wish;
    char url[ACCOUNT__URL_BYTES];
    int64_t now_us = clock_wall_us();
    struct why why = {""};
    struct talk *talk;
    struct buf token;
    enum code code;

    if (account__is_under_way(desk, wish->tenant, wish->subject, of->route->name) ||
        account__find_url(desk, of->outgoing, of->outgoing->token_url, "token_endpoint", url) == 0)
        return CODE_BUSY;
    talk = account__talk_new(desk, conf, of);
    if (talk == NULL)
        return CODE_BUSY;
    talk->key = *key;
    if (!take_names(talk, wish)) {
        account__end(talk);
        return CODE_BUSY;
    }
    buf_init(&token, ACCOUNT__TOKEN_BYTES);
    buf_wipes(&token);
    code = store_account_claim(desk->ways.db, desk->ways.store, &talk->account, desk->ways.asker, now_us, now_us + CLAIM_US,
                               &token, &talk->login, &why);
    with.token = buf_peek(&token);
    if (code == CODE_OK)
        account__post(talk, url, &with);
    else if (code == CODE_BUSY || code == CODE_UNDECIDED)
        account__end(talk);
    else
        refuse(talk, code, &why);
    buf_fini(&token);
    return code == CODE_BUSY || code == CODE_UNDECIDED ? CODE_BUSY : CODE_OK;
}

/* ---- the desk ---- */

void account_desk_changed(struct account_desk *desk)
{
    desk->is_due = true;
}

void account_desk_look(struct account_desk *desk, struct proxy_conf *conf)
{
    struct list *link, *following;

    LIST_EACH(link, following, &desk->under_way) {
        struct talk *talk = LIST_ENTRY(link, struct talk, all);
        bool is_answered;

        lock_take(&desk->lock);
        is_answered = talk->is_answered;
        lock_give(&desk->lock);
        if (is_answered && (talk->is_read || read_answer(talk)))
            keep(talk);
    }
    if (!desk->is_due || desk->ways.db == NULL)
        return;
    desk->is_due = !forget_ended(desk, conf);
    desk->is_due = account__serve_people(desk, conf) || desk->is_due;
}

enum code account_desk_new(const struct outgoing_ways *ways, struct account_desk **out)
{
    struct account_desk *desk = mem_zalloc(sizeof *desk);
    struct why why = {""};

    *out = desk;
    if (desk == NULL)
        return CODE_NOMEM;
    desk->ways = *ways;
    desk->is_due = true;
    if (ways->db != NULL && store_accounts_ended(ways->db, &desk->ended, NULL, NULL, &why) != CODE_OK)
        log_warn("app", "%s", why.text); /* then tokens of accounts that ended long ago are forgotten: there are none */
    list_init(&desk->under_way);
    lock_init(&desk->lock);
    return CODE_OK;
}

void account_desk_free(struct account_desk **out)
{
    struct account_desk *desk = *out;
    struct list *link, *following;

    if (desk == NULL)
        return;
    LIST_EACH(link, following, &desk->under_way) {
        struct talk *talk = LIST_ENTRY(link, struct talk, all);

        if (talk->is_answered && (talk->is_read || read_answer(talk)))
            keep(talk);
    }
    LIST_EACH(link, following, &desk->under_way)
        account__end(LIST_ENTRY(link, struct talk, all));
    pthread_mutex_destroy(&desk->lock);
    mem_free(desk);
    *out = NULL;
}
