/* SPDX-License-Identifier: Apache-2.0 */
#include "console/by_code.h"

#include "base/ascii.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/num.h"
#include "crypto/parts.h"
#include "crypto/secret.h"
#include "http/writer.h"
#include "identity/outgoing.h"
#include "os/clock.h"
#include "os/sandbox.h"
#include "people/login.h"
#include "people/provider.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SECRET_BYTES 32
#define MADE_BYTES 44 /* 32 bytes as base64url, with a NUL */
#define NEXT_BYTES 1000
#define CODE_BYTES 4096
#define KNOWN_US INT64_C(300000000)  /* so long metadata are believed */
#define AGAIN_US INT64_C(5000000)    /* so long a provider that cannot be asked is not asked again */
#define RENEW_US INT64_C(60000000)   /* before a login ends */
#define LATER_US INT64_C(10000000)   /* until a renewal that could not be asked for is tried again */
#define HTTPS_PORT 443

/* What a provider publishes of itself. */
struct known {
    char page[PROVIDER_URL_BYTES], token[PROVIDER_URL_BYTES];
    bool keeps;     /* it has offline_access */
    bool says_who;  /* authorization_response_iss_parameter_supported (RFC 9207, 3) */
    bool is_posted; /* a secret stands in the form */
    int64_t until_us;
    enum code code; /* of the last attempt */
    struct why why;
};

static struct {
    const struct conf_console *conf;
    struct web *web;
    unsigned char *key; /* DIGEST_BYTES, among the secrets */
    pthread_mutex_t lock; /* over the rest */
    struct known known[CONF_CONSOLE_CLIENTS];
    bool is_asked[CONF_CONSOLE_CLIENTS]; /* by somebody, at the moment */
} by_code = {.lock = PTHREAD_MUTEX_INITIALIZER};

size_t by_code_count(void)
{
    return by_code.conf != NULL ? by_code.conf->client_count : 0;
}

static const struct conf_console_client *client_at(size_t client)
{
    return &by_code.conf->clients[client];
}

const char *by_code_name(size_t client)
{
    return client_at(client)->by.rules.name;
}

enum code by_code_open(const struct conf_console *conf, struct why *why)
{
    unsigned char key[DIGEST_BYTES];
    enum code code = conf->client_count > 0 ? web_permit(0) : CODE_OK;

    if (conf->client_count == 0)
        return CODE_OK;
    by_code.conf = conf;
    random_bytes(key, sizeof key);
    by_code.key = secret_copy(key, sizeof key);
    mem_wipe(key, sizeof key);
    if (by_code.key == NULL)
        return CODE_NOMEM;
    for (size_t i = 0; i < conf->client_count && code == CODE_OK; i++)
        code = sandbox_may_connect(identity_url_port(conf->clients[i].by.rules.issuer), SANDBOX_BIT(SANDBOX_POSTER));
    if (code == CODE_OK) /* whatever port its metadata name */
        code = sandbox_may_connect(HTTPS_PORT, SANDBOX_BIT(SANDBOX_POSTER));
    if (code == CODE_OK && web_proxy_port() != 0)
        code = sandbox_may_connect(web_proxy_port(), SANDBOX_BIT(SANDBOX_POSTER));
    return code == CODE_OK ? web_new(&by_code.web, why) : code;
}

enum code by_code_start(struct why *why)
{
    return by_code.web != NULL ? web_start(by_code.web, why) : CODE_OK;
}

/* ---- what is known of a provider ---- */

static void discover(size_t client, struct known *known)
{
    struct provider_talk talk;
    enum code code;

    *known = (struct known){.keeps = false};
    provider_begin(&talk, by_code.web, client_at(client)->by.tls);
    code = provider_discover(&talk, client_at(client)->by.rules.issuer, &known->why);
    if (code == CODE_OK && (!provider_url(&talk, "authorization_endpoint", known->page) ||
                            !provider_url(&talk, "token_endpoint", known->token) || !provider_is_page(span_text(known->page))))
        code = why_set(&known->why, CODE_DENIED, "the provider names no https page for logins");
    if (code == CODE_OK) {
        const struct json_node *iss = json_member(talk.root, SPAN_LIT("authorization_response_iss_parameter_supported"));

        known->keeps = provider_lists(&talk, "scopes_supported", "offline_access");
        known->is_posted = !provider_lists(&talk, "token_endpoint_auth_methods_supported", "client_secret_basic") &&
                           provider_lists(&talk, "token_endpoint_auth_methods_supported", "client_secret_post");
        known->says_who = iss != NULL && span_is(iss->raw, "true");
    }
    provider_end(&talk);
    known->code = code;
    known->until_us = clock_monotonic_us() + (code == CODE_OK ? KNOWN_US : AGAIN_US);
}

/* Asked for at most every few minutes, however many begin a login; by one, for whom the others do not wait. */
static enum code know(size_t client, struct known *known, struct why *why)
{
    bool is_ours;

    lock_take(&by_code.lock);
    *known = by_code.known[client];
    is_ours = known->until_us <= clock_monotonic_us() && !by_code.is_asked[client];
    by_code.is_asked[client] |= is_ours;
    lock_give(&by_code.lock);
    if (!is_ours && known->until_us == 0)
        return why_set(why, CODE_IO, "the provider has not answered yet; try again");
    if (is_ours) {
        discover(client, known);
        lock_take(&by_code.lock);
        by_code.known[client] = *known;
        by_code.is_asked[client] = false;
        lock_give(&by_code.lock);
    }
    if (known->code != CODE_OK)
        *why = known->why;
    return known->code;
}

/* ---- what a login is recognised by ---- */

struct begun {
    struct span secret, ends, next; /* of the cookie */
    size_t client;
};

/* One of the texts that hang on the cookie's secret: each for its own use. */
static bool make(const struct begun *begun, const char *use, char out[MADE_BYTES])
{
    const struct span parts[] = {span_text(use), begun->secret, begun->ends, begun->next,
                                 span_text(client_at(begun->client)->by.rules.issuer), client_at(begun->client)->client};
    unsigned char sum[DIGEST_BYTES], mac[DIGEST_BYTES];
    struct buf text;
    bool is_made;

    parts_digest(parts, sizeof parts / sizeof parts[0], sum);
    buf_init(&text, MADE_BYTES);
    buf_wipes(&text);
    hmac_of(span_of((const char *)by_code.key, DIGEST_BYTES), span_of((const char *)sum, sizeof sum), mac);
    is_made = base64url_encode(span_of((const char *)mac, sizeof mac), &text) == CODE_OK && buf_len(&text) < MADE_BYTES;
    (void)snprintf(out, MADE_BYTES, "%.*s", SPAN_ARG(buf_peek(&text)));
    buf_fini(&text);
    return is_made;
}

static int64_t now_s(void)
{
    return clock_monotonic_us() / 1000000;
}

/* Whether the browser has begun this login, and lately. */
static bool is_begun(struct span cookie, struct span state, size_t client, struct begun *begun)
{
    struct span rest;
    char made[MADE_BYTES];
    int64_t ends_s;

    *begun = (struct begun){.secret = span_cut(cookie, '.', &rest), .client = client};
    begun->ends = span_cut(rest, '.', &begun->next);
    return begun->secret.len == 2 * (size_t)SECRET_BYTES && num_i64(begun->ends, &ends_s) == CODE_OK && ends_s > now_s() &&
           ends_s <= now_s() + BY_CODE_LIFE_S && make(begun, "state", made) && secret_equals(state, span_text(made));
}

/* ---- there ---- */

static void write_scopes(size_t client, const struct known *known, struct buf *out)
{
    const struct conf_console_client *conf = client_at(client);

    for (size_t i = 0; i < conf->scope_count; i++)
        buf_addf(out, "%s%.*s", i > 0 ? " " : "", SPAN_ARG(conf->scopes[i]));
    if (conf->scope_count == 0)
        buf_add_text(out, known->keeps ? "openid offline_access" : "openid");
}

static void write_back(size_t client, struct span origin, struct buf *out)
{
    buf_addf(out, "%.*s/login/%s", SPAN_ARG(origin), by_code_name(client));
}

/* Where the browser is sent. A page of the provider's may have a query of its own. */
static enum code write_page(const struct begun *begun, const struct known *known, struct span origin, struct buf *out)
{
    char state[MADE_BYTES], nonce[MADE_BYTES], verifier[MADE_BYTES];
    unsigned char sum[DIGEST_BYTES];
    struct buf form, scopes, back, challenge;
    enum code code = make(begun, "state", state) && make(begun, "nonce", nonce) && make(begun, "verifier", verifier)
                         ? CODE_OK : CODE_NOMEM;

    digest_of(span_text(verifier), sum);
    buf_init(&form, LOGIN_BYTES);
    buf_init(&scopes, LOGIN_BYTES);
    buf_init(&back, LOGIN_BYTES);
    buf_init(&challenge, MADE_BYTES);
    write_scopes(begun->client, known, &scopes);
    write_back(begun->client, origin, &back);
    (void)base64url_encode(span_of((const char *)sum, sizeof sum), &challenge);
    http_write_field(&form, "response_type", SPAN_LIT("code"));
    http_write_field(&form, "client_id", client_at(begun->client)->client);
    http_write_field(&form, "redirect_uri", buf_peek(&back));
    http_write_field(&form, "scope", buf_peek(&scopes));
    http_write_field(&form, "state", span_text(state));
    http_write_field(&form, "nonce", span_text(nonce));
    http_write_field(&form, "code_challenge", buf_peek(&challenge));
    http_write_field(&form, "code_challenge_method", SPAN_LIT("S256"));
    if (code == CODE_OK)
        code = buf_fail(&form, buf_code(&scopes) != CODE_OK ? buf_code(&scopes) : buf_code(&back));
    buf_addf(out, "%s%c%.*s", known->page, strchr(known->page, '?') != NULL ? '&' : '?', SPAN_ARG(buf_peek(&form)));
    mem_wipe(verifier, sizeof verifier);
    buf_fini(&challenge);
    buf_fini(&back);
    buf_fini(&scopes);
    buf_fini(&form);
    return code == CODE_OK ? buf_code(out) : code;
}

enum code by_code_begin(size_t client, struct span origin, struct span next, char cookie[BY_CODE_COOKIE_BYTES],
                        struct buf *where, struct why *why)
{
    unsigned char bytes[SECRET_BYTES];
    char secret[2 * SECRET_BYTES + 1], ends[24];
    struct begun begun = {.secret = span_of(secret, 2 * (size_t)SECRET_BYTES), .client = client,
                          .next = next.len <= NEXT_BYTES ? next : SPAN_NONE};
    struct known known;
    enum code code = know(client, &known, why);

    random_bytes(bytes, sizeof bytes);
    num_hex(bytes, sizeof bytes, secret);
    secret[2 * SECRET_BYTES] = '\0';
    (void)snprintf(ends, sizeof ends, "%" PRId64, now_s() + BY_CODE_LIFE_S);
    begun.ends = span_text(ends);
    (void)snprintf(cookie, BY_CODE_COOKIE_BYTES, "%s.%s.%.*s", secret, ends, SPAN_ARG(begun.next));
    return code == CODE_OK ? write_page(&begun, &known, origin, where) : code;
}

/* ---- and back ---- */

/* RFC 9207, 2.4: which provider answers, so that no other's code is shown to this one. */
static bool is_from(size_t client, const struct known *known, struct span issuer)
{
    return issuer.at != NULL ? span_is(issuer, client_at(client)->by.rules.issuer) : !known->says_who;
}

/* The secret where the provider takes it: the header's value, or a field. */
static enum code show_client(size_t client, const struct known *known, struct buf *authorization, struct buf *form)
{
    const struct conf_console_client *conf = client_at(client);

    if (conf->secret.len > 0 && known->is_posted)
        http_write_field(form, "client_secret", conf->secret);
    else if (conf->secret.len > 0)
        return outgoing_write_basic(conf->client, conf->secret, authorization);
    return buf_code(form);
}

static enum code ask_tokens(struct provider_talk *talk, const struct begun *begun, const struct known *known,
                            struct span origin, struct span code_given, struct why *why)
{
    char verifier[MADE_BYTES];
    struct buf form, back, authorization;
    enum code code;

    buf_init(&form, LOGIN_BYTES);
    buf_wipes(&form);
    buf_init(&back, LOGIN_BYTES);
    buf_init(&authorization, LOGIN_BYTES);
    buf_wipes(&authorization);
    write_back(begun->client, origin, &back);
    http_write_field(&form, "grant_type", SPAN_LIT("authorization_code"));
    http_write_field(&form, "code", code_given);
    http_write_field(&form, "redirect_uri", buf_peek(&back));
    http_write_field(&form, "client_id", client_at(begun->client)->client);
    code = make(begun, "verifier", verifier) ? CODE_OK : CODE_NOMEM;
    http_write_field(&form, "code_verifier", span_text(verifier));
    mem_wipe(verifier, sizeof verifier);
    if (code == CODE_OK)
        code = show_client(begun->client, known, &authorization, &form);
    if (code == CODE_OK)
        code = buf_code(&form);
    if (code == CODE_OK)
        code = provider_ask(talk, span_text(known->token), buf_peek(&form), buf_peek(&authorization), why);
    if (code == CODE_OK && talk->answer.status >= 500)
        code = CODE_IO;
    if (code == CODE_OK && talk->answer.status != 200)
        code = provider_refuses(talk, "this login", why);
    buf_fini(&authorization);
    buf_fini(&back);
    buf_fini(&form);
    return code;
}

/* OpenID Connect Core, 3.1.3.7: whose it is, for whom, and of this very login. That it is signed, and until when it counts, the
 * gate says. */
static bool is_of_login(const struct json_node *claims, const struct begun *begun)
{
    const struct conf_console_client *conf = client_at(begun->client);
    const struct json_node *audience = json_member(claims, SPAN_LIT("aud")), *party = json_member(claims, SPAN_LIT("azp"));
    char nonce[MADE_BYTES];

    if (audience != NULL && audience->type == JSON_ARRAY)
        audience = audience->count == 1 ? audience->child : NULL;
    return make(begun, "nonce", nonce) && secret_equals(json_member_text(claims, "nonce"), span_text(nonce)) &&
           span_is(json_member_text(claims, "iss"), conf->by.rules.issuer) && audience != NULL &&
           audience->type == JSON_STRING && span_equals(audience->text, conf->client) &&
           (party == NULL || (party->type == JSON_STRING && span_equals(party->text, conf->client)));
}

/* A login that lives shorter than the usual is renewed in its second half. */
static void keep_tokens(const struct provider_tokens *tokens, size_t client, struct session *session)
{
    int64_t now_us = clock_wall_us(), lives_us = tokens->expires_us - now_us;

    session_take(session, tokens->id, tokens->refresh);
    session->by = (unsigned)client;
    session->ends_us = tokens->expires_us;
    session->renew_us = tokens->refresh.len == 0 ? INT64_MAX
                        : tokens->expires_us - (lives_us < 2 * RENEW_US ? lives_us / 2 : RENEW_US);
}

enum code by_code_end(size_t client, struct span origin, const struct by_code_answer *answer, struct session *session,
                      struct span *next, struct why *why)
{
    struct provider_tokens tokens = {.expires_us = 0};
    struct provider_talk talk;
    struct begun begun;
    struct known known;
    struct arena texts;
    enum code code;

    if (!is_begun(answer->cookie, answer->state, client, &begun))
        return why_set(why, CODE_DENIED, "this browser has not begun such a login, or longer ago than ten minutes; begin "
                       "again");
    *next = begun.next;
    code = know(client, &known, why);
    if (code == CODE_OK && !is_from(client, &known, answer->issuer))
        return why_set(why, CODE_DENIED, "the answer came from another provider; nothing was sent to either");
    if (code == CODE_OK && answer->error.at != NULL)
        return why_set(why, CODE_DENIED, "the provider let nobody in: %.*s",
                       SPAN_ARG(ascii_is_all(answer->error, "a-z_") ? span_part(answer->error, 0, 60) : SPAN_LIT("an error")));
    if (code == CODE_OK && (answer->code.len == 0 || answer->code.len > CODE_BYTES))
        return why_set(why, CODE_DENIED, "the provider's answer has no code");
    provider_begin(&talk, by_code.web, client_at(client)->by.tls);
    arena_init(&texts, 4 * LOGIN_BYTES);
    if (code == CODE_OK)
        code = ask_tokens(&talk, &begun, &known, origin, answer->code, why);
    if (code == CODE_OK)
        code = provider_take(&talk, &texts, &tokens, why);
    if (code == CODE_OK && !is_of_login(provider_claims(&talk, tokens.id), &begun))
        code = why_set(why, CODE_DENIED, "the provider's ID token is not of this login, or not for the console");
    if (code == CODE_OK)
        keep_tokens(&tokens, client, session);
    if (code == CODE_OK && !session->has_login)
        code = why_set(why, CODE_DENIED, "the provider's ID token is longer than %zu bytes; ask for fewer claims", LOGIN_BYTES);
    arena_fini(&texts);
    provider_end(&talk);
    return code;
}

/* ---- going on ---- */

static enum code renew(struct session *session, struct why *why)
{
    const struct span login = buf_peek(&session->login);
    struct provider_tokens tokens = {.id = span_part(login, 0, login.len - 1), .refresh = buf_peek(&session->refresh)};
    const struct conf_console_client *conf = client_at(session->by);
    struct provider_talk talk;
    struct known known;
    struct arena texts;
    struct buf authorization, form;
    enum code code = know(session->by, &known, why);

    arena_init(&texts, 4 * LOGIN_BYTES);
    buf_init(&authorization, LOGIN_BYTES);
    buf_wipes(&authorization);
    buf_init(&form, LOGIN_BYTES);
    buf_wipes(&form);
    http_write_field(&form, "client_id", conf->client);
    provider_begin(&talk, by_code.web, conf->by.tls);
    if (code == CODE_OK)
        code = show_client(session->by, &known, &authorization, &form);
    if (code == CODE_OK)
        code = provider_renew(&talk, span_text(known.token), &form, buf_peek(&authorization), &texts, &tokens, why);
    if (code == CODE_OK)
        keep_tokens(&tokens, session->by, session);
    provider_end(&talk);
    buf_fini(&form);
    buf_fini(&authorization);
    arena_fini(&texts);
    return code;
}

void by_code_renew(struct session *session, void (*roles)(struct session *session))
{
    struct why why = {""};
    enum code code;

    if (buf_is_empty(&session->refresh) || session->renew_us > clock_wall_us() || !sessions_renew(session, clock_wall_us()))
        return;
    code = renew(session, &why);
    if (code == CODE_OK)
        roles(session);
    else if (code == CODE_DENIED)
        session->renew_us = INT64_MAX;
    else
        session->renew_us = clock_wall_us() + LATER_US;
    if (code != CODE_OK)
        log_warn("console", "a login by %s is not renewed: %s", by_code_name(session->by), why.text);
    sessions_renewed(session);
}
