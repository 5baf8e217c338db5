/* SPDX-License-Identifier: Apache-2.0 */
#include "identity/outgoing.h"

#include "base/ascii.h"
#include "base/hash.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/num.h"
#include "crypto/parts.h"
#include "crypto/secret.h"
#include "http/writer.h"
#include "identity/token.h"
#include "json/text.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MARGIN_US INT64_C(5000000) /* a token is over that long before its end, since it must be valid when it arrives */
#define TOLD_US INT64_C(100000)    /* of failures, no more than one in that time is worth a line in the log */
#define ANSWER_BYTES ((size_t)1 << 20)
#define TENANT "{tenant}"

static bool is_plain(char c)
{
    return ascii_is_of(c, "a-zA-Z0-9_.@+:=~,-");
}

static int digit_of(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

size_t outgoing_name_read(struct span written, char *name)
{
    size_t len = 0;

    for (size_t i = 0; i < written.len; i++) {
        char c = written.at[i];

        if (c == '%') {
            int high = i + 2 < written.len ? digit_of(written.at[i + 1]) : -1;
            int low = high >= 0 ? digit_of(written.at[i + 2]) : -1;

            c = low >= 0 ? (char)(high * 16 + low) : '\0';
            if (c <= ' ' || c > '~' || is_plain(c))
                return 0;
            i += 2;
        } else if (!is_plain(c)) {
            return 0;
        }
        name[len++] = c;
    }
    return written.len > 0 && written.at[0] != '.' ? len : 0;
}

static int compare(const void *left, const void *right)
{
    const struct outgoing_entry *a = left, *b = right;
    int order = span_compare(a->tenant, b->tenant);

    return order != 0 ? order : span_compare(a->principal, b->principal);
}

void outgoing_sort(struct outgoing *outgoing)
{
    if (outgoing->count > 1)
        qsort(outgoing->entries, outgoing->count, sizeof *outgoing->entries, compare);
}

struct span outgoing_find(const struct outgoing *outgoing, struct span tenant, struct span principal)
{
    const struct outgoing_entry asked = {.tenant = outgoing->per_tenant ? tenant : SPAN_NONE,
                                         .principal = outgoing->per_principal ? principal : SPAN_NONE};
    const struct outgoing_entry *found = NULL;

    if (outgoing->count > 0)
        found = bsearch(&asked, outgoing->entries, outgoing->count, sizeof *outgoing->entries, compare);
    return found != NULL ? found->value : SPAN_NONE;
}

void outgoing_fini(struct outgoing *outgoing)
{
    for (size_t i = 0; i < outgoing->count; i++)
        secret_free((void *)(uintptr_t)outgoing->entries[i].value.at, outgoing->entries[i].value.len);
    outgoing->count = 0;
}

void outgoing_seal(struct outgoing *outgoing, const char *issuer)
{
    const char how[] = {(char)outgoing->kind, outgoing->is_posted, outgoing->takes_opaque};
    const struct span parts[] = {
        span_of(how, sizeof how), span_text(issuer), span_text(outgoing->token_url), span_text(outgoing->client),
        span_text(outgoing->file), /* two routes may have one client and other tenants' secrets */
        span_text(outgoing->scopes), span_text(outgoing->audience), span_text(outgoing->resource),
        span_text(outgoing->back_url), /* and so may two have one client and other accounts */
    };
    struct digest digest;

    digest_init(&digest);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        parts_add_maybe(&digest, parts[i]);
    digest_final(&digest, outgoing->digest);
    if (outgoing->health != NULL)
        lock_init(&outgoing->health->lock);
}

/* ---- what is asked ---- */

void outgoing_key(const struct outgoing *outgoing, struct span secret, struct span tenant, struct span token,
                  struct lookup_key *key)
{
    const struct span parts[] = {span_of(outgoing->digest, DIGEST_BYTES), secret,
                                 outgoing->per_tenant ? tenant : SPAN_NONE, token};

    *key = (struct lookup_key){.kind = LOOKUP_OUTGOING}; /* bounded by no share */
    parts_digest(parts, sizeof parts / sizeof parts[0], key->digest);
}

void outgoing_account_key(const struct outgoing *outgoing, struct span tenant, struct span principal, struct span login,
                          struct lookup_key *key)
{
    const struct span parts[] = {span_of(outgoing->digest, DIGEST_BYTES), outgoing->entries->value, tenant, principal, login};

    *key = (struct lookup_key){.kind = LOOKUP_OUTGOING}; /* bounded by no share */
    parts_digest(parts, sizeof parts / sizeof parts[0], key->digest);
}

struct packed {
    int64_t until_us;
    size_t tenant, subject, token, login;
    unsigned char outgoing[DIGEST_BYTES];
};

enum code outgoing_pack(const struct outgoing_wish *wish, struct buf *out)
{
    struct packed packed = {wish->until_us, wish->tenant.len, wish->subject.len, wish->token.len, wish->login.len, {0}};

    memcpy(packed.outgoing, wish->outgoing, sizeof packed.outgoing);
    buf_add_span(out, span_of((const char *)&packed, sizeof packed));
    buf_add_span(out, wish->tenant);
    buf_add_span(out, wish->subject);
    buf_add_span(out, wish->login);
    return buf_add_span(out, wish->token);
}

bool outgoing_unpack(struct span payload, struct outgoing_wish *wish)
{
    struct packed packed;

    if (payload.len < sizeof packed)
        return false;
    memcpy(&packed, payload.at, sizeof packed);
    payload = span_part(payload, sizeof packed, SIZE_MAX);
    if (payload.len != packed.tenant + packed.subject + packed.login + packed.token)
        return false;
    memcpy(wish->outgoing, packed.outgoing, sizeof wish->outgoing);
    wish->until_us = packed.until_us;
    wish->tenant = span_part(payload, 0, packed.tenant);
    wish->subject = span_part(payload, packed.tenant, packed.subject);
    wish->login = span_part(payload, packed.tenant + packed.subject, packed.login);
    wish->token = span_part(payload, packed.tenant + packed.subject + packed.login, packed.token);
    return true;
}

bool outgoing_failed(const struct outgoing *outgoing, const char *why, bool is_callers, int64_t now_us)
{
    struct outgoing_health *health = outgoing->health;
    struct outgoing_report *report = &health->report;
    bool is_news;

    lock_take(&health->lock);
    is_news = now_us - report->failed_us > TOLD_US || now_us < report->failed_us;
    report->failed++;
    report->failed_us = now_us;
    report->is_failing = report->is_failing || !is_callers;
    (void)snprintf(report->why, sizeof report->why, "%s", why);
    lock_give(&health->lock);
    return is_news;
}

bool outgoing_fetched(const struct outgoing *outgoing)
{
    struct outgoing_health *health = outgoing->health;
    bool is_news;

    lock_take(&health->lock);
    is_news = health->report.is_failing;
    health->report.fetched++;
    health->report.is_failing = false;
    lock_give(&health->lock);
    return is_news;
}

void outgoing_look(const struct outgoing *outgoing, struct outgoing_report *report)
{
    lock_take(&outgoing->health->lock);
    *report = outgoing->health->report;
    lock_give(&outgoing->health->lock);
}

bool outgoing_news(const struct outgoing *outgoing, struct outgoing_report *report)
{
    struct outgoing_health *health = outgoing->health;
    bool is_news;

    lock_take(&health->lock);
    *report = health->report;
    is_news = report->is_failing ? health->said != OUTGOING_FAILS : report->fetched > 0 && health->said != OUTGOING_WORKS;
    if (is_news)
        health->said = report->is_failing ? OUTGOING_FAILS : OUTGOING_WORKS;
    lock_give(&health->lock);
    return is_news;
}

/* ---- the form (RFC 6749, 4.4.2 and 2.3.1; RFC 8693, 2.1; RFC 8707, 2) ---- */

/* The tenant stands in the table of entries, so its text is known to be harmless. */
static void write_client(const struct outgoing *outgoing, struct span tenant, struct buf *out)
{
    struct span id = span_text(outgoing->client);
    const char *mark = outgoing->per_tenant ? strstr(outgoing->client, TENANT) : NULL;

    buf_add_span(out, mark != NULL ? span_of(id.at, (size_t)(mark - id.at)) : id);
    if (mark == NULL)
        return;
    buf_add_span(out, tenant);
    buf_add_text(out, mark + sizeof TENANT - 1);
}

enum code outgoing_write_basic(struct span id, struct span secret, struct buf *out)
{
    struct buf both;

    buf_init(&both, 65536);
    buf_wipes(&both);
    http_write_encoded(&both, id);
    buf_add_byte(&both, ':');
    http_write_encoded(&both, secret);
    buf_add_text(out, "Basic ");
    if (buf_fail(out, buf_code(&both)) == CODE_OK)
        base64_encode(buf_peek(&both), out);
    buf_fini(&both);
    return buf_code(out);
}

#define TYPE "urn:ietf:params:oauth:token-type:"

static void write_grant(const struct outgoing *outgoing, const struct outgoing_wish *wish, struct buf *form)
{
    bool is_exchange = outgoing->kind == OUTGOING_EXCHANGE;

    http_write_field(form, "grant_type", is_exchange ? SPAN_LIT("urn:ietf:params:oauth:grant-type:token-exchange")
                                              : SPAN_LIT("client_credentials"));
    if (is_exchange) {
        http_write_field(form, "subject_token", wish->token);
        http_write_field(form, "subject_token_type", SPAN_LIT(TYPE "access_token"));
        http_write_field(form, "requested_token_type", SPAN_LIT(TYPE "access_token"));
    }
    http_write_field(form, "scope", span_text(outgoing->scopes));
    http_write_field(form, "audience", span_text(outgoing->audience));
}

/* Scopes were asked for on the page; who asks for a newer token gets those that the person gave. */
static void write_account_grant(const struct outgoing *outgoing, const struct outgoing_wish *wish, struct buf *form)
{
    const bool is_code = wish->code.len > 0;

    http_write_field(form, "grant_type", is_code ? SPAN_LIT("authorization_code") : SPAN_LIT("refresh_token"));
    http_write_field(form, is_code ? "code" : "refresh_token", is_code ? wish->code : wish->token);
    if (is_code) {
        http_write_field(form, "redirect_uri", span_text(outgoing->back_url));
        http_write_field(form, "code_verifier", wish->verifier);
    }
}

enum code outgoing_write_request(const struct outgoing *outgoing, const struct outgoing_wish *wish, struct span secret,
                                 struct buf *form, struct buf *authorization)
{
    struct buf id;

    if (outgoing->kind == OUTGOING_ACCOUNT)
        write_account_grant(outgoing, wish, form);
    else
        write_grant(outgoing, wish, form);
    http_write_field(form, "resource", span_text(outgoing->resource));
    buf_init(&id, 4096);
    write_client(outgoing, wish->tenant, &id);
    if (outgoing->is_posted || (outgoing->kind == OUTGOING_ACCOUNT && secret.len == 0)) {
        http_write_field(form, "client_id", buf_peek(&id));
        if (secret.len > 0)
            http_write_field(form, "client_secret", secret);
    } else {
        (void)outgoing_write_basic(buf_peek(&id), secret, authorization);
    }
    buf_fail(form, buf_code(&id));
    buf_fini(&id);
    return buf_code(form) != CODE_OK ? buf_code(form) : buf_code(authorization);
}

/* ---- the answer (RFC 6749, 5.1 and 5.2; RFC 8693, 2.2.1) ---- */

static void *token_ref(void *result)
{
    ref_take(&((struct outgoing_token *)result)->ref);
    return result;
}

static void token_unref(void *result)
{
    struct outgoing_token *gone = result;

    if (gone == NULL || !ref_drop(&gone->ref))
        return;
    mem_wipe(gone->value, gone->len);
    mem_free(gone);
}

const struct lookup_type outgoing_token_type = {token_ref, token_unref};

void outgoing_token_unref(struct outgoing_token **token)
{
    token_unref(*token);
    *token = NULL;
}

void outgoing_token_shorten(struct outgoing_token *token, int64_t until_us)
{
    if (until_us < token->until_us)
        token->until_us = until_us;
    if (token->until_us < token->renew_us)
        token->renew_us = token->until_us;
}

/* What is wrong with it, or NULL. */
static const char *fault_of(const struct outgoing *outgoing, const struct json_node *root, struct span *token, uint64_t *life_s)
{
    const struct json_node *life = json_member(root, SPAN_LIT("expires_in"));
    struct span kind = json_member_text(root, "issued_token_type");

    *token = json_member_text(root, "access_token");
    *life_s = 60; /* where it does not say */
    if (!identity_is_token(*token))
        return "its `access_token` is none";
    if (token->len > OUTGOING_TOKEN_BYTES_MAX)
        return "its `access_token` is larger than a header may be";
    if (!span_equals_nocase(json_member_text(root, "token_type"), SPAN_LIT("Bearer")))
        return "its `token_type` is not Bearer";
    if (life != NULL && (life->type != JSON_NUMBER || num_u64(life->raw, life_s) != CODE_OK || *life_s == 0))
        return "its `expires_in` is no number of seconds to come";
    if (outgoing->kind == OUTGOING_EXCHANGE && !span_is(kind, TYPE "access_token") && !span_is(kind, TYPE "jwt"))
        return "its `issued_token_type` is not that of an access token";
    return NULL;
}

struct outgoing_token *outgoing_token_new(struct span prefix, struct span text, int64_t asked_us, int64_t life_us)
{
    struct outgoing_token *token = mem_alloc(sizeof *token + prefix.len + text.len);

    if (token == NULL)
        return NULL;
    ref_init(&token->ref);
    token->got_us = asked_us;
    token->until_us = asked_us + life_us - (life_us / 10 < MARGIN_US ? life_us / 10 : MARGIN_US);
    /* An eighth of the life is left to chance, so that tokens of one moment are not renewed all at once. */
    token->renew_us = asked_us + life_us / 4 * 3 - (int64_t)(hash_span(text) % (uint64_t)(life_us / 8));
    token->len = prefix.len + text.len;
    if (prefix.len > 0)
        memcpy(token->value, prefix.at, prefix.len);
    memcpy(token->value + prefix.len, text.at, text.len);
    return token;
}

enum code outgoing_read_answer(const struct outgoing *outgoing, struct span body, int64_t asked_us, int64_t now_us,
                               struct outgoing_token **token, struct why *why)
{
    struct json_text answer;
    struct span text;
    uint64_t life_s;
    const char *wrong;
    enum code code;

    *token = NULL;
    code = json_text_read(&answer, body, &json_file_rules, ANSWER_BYTES);
    if (code != CODE_OK) {
        code = why_set(why, code == CODE_NOMEM ? code : CODE_INVALID, "the answer is no acceptable JSON: %s",
                       answer.fault.text);
    } else if ((wrong = fault_of(outgoing, answer.root, &text, &life_s)) != NULL) {
        code = why_set(why, CODE_INVALID, "the answer is refused: %s", wrong);
    } else {
        int64_t life_us = life_s < (uint64_t)OUTGOING_LONGEST_US / 1000000 ? (int64_t)life_s * 1000000 : OUTGOING_LONGEST_US;

        *token = outgoing_token_new(SPAN_LIT("Bearer "), text, asked_us, life_us);
        mem_wipe((void *)(uintptr_t)text.at, text.len); /* a text with escapes was decoded into the arena, which wipes
                                                         * nothing */
        code = *token != NULL ? CODE_OK : why_set(why, CODE_NOMEM, "not enough memory");
    }
    if (code == CODE_OK && (*token)->until_us <= now_us) {
        outgoing_token_unref(token);
        code = why_set(why, CODE_INVALID, "the answer is refused: its token is over already");
    }
    json_text_fini(&answer);
    return code;
}

void outgoing_read_error(struct span body, char error[64])
{
    struct json_text answer;
    enum code code = json_text_read(&answer, body, &json_file_rules, ANSWER_BYTES);
    struct span text = code == CODE_OK ? json_member_text(answer.root, "error") : SPAN_NONE;
    size_t len = 0;

    for (; len < text.len && len < 63 && ascii_is_of(text.at[len], "a-z_"); len++)
        error[len] = text.at[len];
    error[len == text.len ? len : 0] = '\0'; /* what only begins as one is none */
    json_text_fini(&answer);
}

void outgoing_read_refresh(struct span body, struct buf *refresh, struct buf *scopes)
{
    struct json_text answer;
    enum code code = json_text_read(&answer, body, &json_file_rules, ANSWER_BYTES);
    struct span token = code == CODE_OK ? json_member_text(answer.root, "refresh_token") : SPAN_NONE;

    if (token.len > 0)
        buf_add_span(refresh, token);
    if (code == CODE_OK && json_member_text(answer.root, "scope").len > 0)
        buf_add_span(scopes, json_member_text(answer.root, "scope"));
    if (token.len > 0)
        mem_wipe((void *)(uintptr_t)token.at, token.len); /* as of an access token */
    json_text_fini(&answer);
}

/* ---- a person lets the gate in ---- */

enum code outgoing_write_page(const struct outgoing *outgoing, struct span page, struct span state, struct span verifier,
                              struct buf *out)
{
    unsigned char sum[DIGEST_BYTES];
    struct buf form, challenge;

    digest_of(verifier, sum);
    buf_init(&form, 65536);
    buf_init(&challenge, 64);
    (void)base64url_encode(span_of((const char *)sum, sizeof sum), &challenge);
    http_write_field(&form, "response_type", SPAN_LIT("code"));
    http_write_field(&form, "client_id", span_text(outgoing->client));
    http_write_field(&form, "redirect_uri", span_text(outgoing->back_url));
    http_write_field(&form, "scope", span_text(outgoing->scopes));
    http_write_field(&form, "audience", span_text(outgoing->audience));
    http_write_field(&form, "resource", span_text(outgoing->resource));
    http_write_field(&form, "state", state);
    http_write_field(&form, "code_challenge", buf_peek(&challenge));
    http_write_field(&form, "code_challenge_method", SPAN_LIT("S256"));
    buf_add_span(out, page);
    buf_add_byte(out, span_find(page, '?') < page.len ? '&' : '?');
    buf_add_span(out, buf_peek(&form));
    buf_fail(out, buf_code(&form) != CODE_OK ? buf_code(&form) : buf_code(&challenge));
    buf_fini(&challenge);
    buf_fini(&form);
    return buf_code(out);
}
