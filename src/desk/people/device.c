/* SPDX-License-Identifier: Apache-2.0 */
/* A login by a provider's device flow (RFC 8628), for a terminal without a browser of its own. What the provider says is shown
 * as somebody else's words, and it is believed only where its certificate is. */
#include "people/login.h"
#include "args/command.h"
#include "unicode/terminal.h"

#include "base/num.h"
#include "crypto/digest.h"
#include "http/writer.h"
#include "identity/token.h"
#include "json/text.h"
#include "os/clock.h"
#include "os/sock.h"
#include "web/web.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define URL_BYTES 2048
#define USER_CODE_BYTES 64
#define INTERVAL_S 5      /* where the provider says nothing */
#define INTERVAL_MAX_S 60
#define LASTS_MAX_S 1800  /* whatever it says */
#define GRANT_DEVICE "urn:ietf:params:oauth:grant-type:device_code"

/* One talk with a provider. */
struct talk {
    struct web *web;
    struct tls_context *tls;
    struct web_answer answer;
    struct arena arena;
    struct buf canonical;
    const struct json_node *root; /* of the answer; NULL: it is no object */
};

static enum code talk_begin(struct talk *talk, const char *ca, struct why *why)
{
    const struct tls_client_conf conf = {.ca = ca};
    enum code code;

    *talk = (struct talk){.root = NULL};
    arena_init(&talk->arena, (size_t)4 << 20);
    buf_init(&talk->canonical, (size_t)1 << 20);
    buf_wipes(&talk->canonical);
    code = ca != NULL ? tls_client_new(&conf, &talk->tls, why) : CODE_OK;
    if (code == CODE_OK)
        code = web_new(&talk->web, why);
    return code == CODE_OK ? web_start(talk->web, why) : code;
}

static void talk_end(struct talk *talk)
{
    web_answer_fini(&talk->answer);
    web_free(&talk->web);
    tls_unref(&talk->tls);
    buf_fini(&talk->canonical);
    arena_fini(&talk->arena);
}

/* Takes: form: of a POST; at == NULL: a GET. Returns: CODE_OK where an answer came, whatever it says. */
static enum code talk_ask(struct talk *talk, struct span url, struct span form, struct why *why)
{
    const struct web_header headers[] = {
        {SPAN_LIT("Accept"), SPAN_LIT("application/json")},
        {SPAN_LIT("Content-Type"), SPAN_LIT("application/x-www-form-urlencoded")},
    };
    const struct web_request request = {
        .url = url, .headers = headers, .header_count = form.at != NULL ? 2 : 1, .body = form, .tls = talk->tls,
    };
    struct json_fault fault;
    enum code code;

    web_answer_fini(&talk->answer);
    talk->answer = (struct web_answer){.status = 0};
    arena_reset(&talk->arena);
    buf_clear(&talk->canonical);
    talk->root = NULL;
    code = web_fetch(talk->web, &request, &talk->answer, why);
    if (code == CODE_OK && (json_read(buf_peek(&talk->answer.body), &json_file_rules, &talk->canonical, &talk->arena,
                                      &talk->root, &fault) != CODE_OK || talk->root->type != JSON_OBJECT))
        talk->root = NULL;
    return code;
}

static int64_t number_of(const struct talk *talk, const char *name, int64_t usual, int64_t max)
{
    const struct json_node *member = talk->root != NULL ? json_member(talk->root, span_text(name)) : NULL;
    int64_t number;

    if (member == NULL || member->type != JSON_NUMBER || num_i64(member->raw, &number) != CODE_OK || number < 1)
        return usual;
    return number < max ? number : max;
}

/* Whatever a provider writes stands on one line, and short. */
static enum code refused(const struct talk *talk, const char *doing, struct why *why)
{
    struct span error = json_member_text(talk->root, "error"), more = json_member_text(talk->root, "error_description");
    struct buf text;

    buf_init(&text, 1024);
    (void)terminal_add(&text, span_part(error, 0, 60));
    if (more.len > 0 && buf_add_text(&text, ": ") == CODE_OK)
        (void)terminal_add(&text, span_part(more, 0, 200));
    (void)why_set(why, CODE_DENIED, "the provider refuses %s: HTTP status %d%s%.*s", doing, talk->answer.status,
                  buf_len(&text) > 0 ? ", " : "", SPAN_ARG(buf_peek(&text)));
    buf_fini(&text);
    return CODE_DENIED;
}

/* ---- the flow ---- */

struct provider {
    char token[URL_BYTES], device[URL_BYTES];
    bool keeps; /* it gives logins that can be renewed */
};

static bool copy_url(const struct talk *talk, const char *name, char out[URL_BYTES])
{
    struct span url = json_member_text(talk->root, name);

    (void)snprintf(out, URL_BYTES, "%.*s", SPAN_ARG(url));
    return url.len > 0 && url.len < URL_BYTES;
}

/* Metadata that name another issuer would let one provider answer in another's place (OpenID discovery, 4.3). */
static enum code discover(struct talk *talk, const char *issuer, struct provider *provider, struct why *why)
{
    size_t len = strlen(issuer);
    char url[URL_BYTES];
    const struct json_node *scopes;
    enum code code;

    if (len == 0)
        return why_set(why, CODE_DENIED, "the gate does not say by whom one logs in");
    (void)snprintf(url, sizeof url, "%.*s/.well-known/openid-configuration", (int)(len - (issuer[len - 1] == '/')), issuer);
    code = talk_ask(talk, span_text(url), SPAN_NONE, why);
    if (code != CODE_OK)
        return code;
    if (talk->answer.status != 200 || talk->root == NULL)
        return refused(talk, "its metadata", why);
    if (!span_is(json_member_text(talk->root, "issuer"), issuer))
        return why_set(why, CODE_DENIED, "what %s publishes is another issuer's; nothing was sent to it", url);
    if (!copy_url(talk, "token_endpoint", provider->token) ||
        !copy_url(talk, "device_authorization_endpoint", provider->device))
        return why_set(why, CODE_DENIED, "%s has no device flow (RFC 8628); log in by a key: `callgate login --key-file FILE`",
                       issuer);
    scopes = json_member(talk->root, SPAN_LIT("scopes_supported"));
    for (const struct json_node *one = scopes != NULL ? scopes->child : NULL; one != NULL; one = one->next)
        provider->keeps = provider->keeps || span_is(one->text, "offline_access");
    return CODE_OK;
}

/* A page that a browser opens at the provider: no script, no file, no program of this machine, and nothing long. */
static bool is_page(struct span url)
{
    struct span rest, host;

    if (!identity_name_is_good(url, URL_BYTES))
        return false;
    if (span_starts_with(url, SPAN_LIT("https://")))
        return true;
    host = span_cut(span_part(url, strlen("http://"), SIZE_MAX), '/', &rest);
    return span_starts_with(url, SPAN_LIT("http://")) && span_find(host, '@') == host.len &&
           sock_host_is_loopback(span_part(host, 0, span_find(host, ':')));
}

/* Shows where to go. Takes: device_code: by which is asked whether he was there, appended to. */
static enum code begin(struct talk *talk, const struct provider *provider, const struct device_ask *ask,
                       struct buf *device_code, struct why *why)
{
    struct span url, user_code;
    struct buf form, scopes;
    enum code code;

    buf_init(&form, LOGIN_BYTES);
    buf_init(&scopes, LOGIN_BYTES);
    for (size_t i = 0; i < ask->scopes->count; i++)
        buf_addf(&scopes, "%s%s", i > 0 ? " " : "", ask->scopes->value[i]);
    if (ask->scopes->count == 0)
        buf_add_text(&scopes, provider->keeps ? "openid offline_access" : "openid");
    http_write_field(&form, "client_id", span_text(ask->client));
    http_write_field(&form, "scope", buf_peek(&scopes));
    code = buf_fail(&form, buf_code(&scopes));
    buf_fini(&scopes);
    if (code == CODE_OK)
        code = talk_ask(talk, span_text(provider->device), buf_peek(&form), why);
    buf_fini(&form);
    if (code != CODE_OK)
        return code;
    url = json_member_text(talk->root, "verification_uri");
    user_code = json_member_text(talk->root, "user_code");
    if (talk->answer.status != 200 || url.len == 0 || user_code.len == 0 ||
        json_member_text(talk->root, "device_code").len == 0)
        return refused(talk, "to begin a login", why);
    if (!is_page(url) || user_code.len > USER_CODE_BYTES)
        return why_set(why, CODE_DENIED, "what the provider would have you open is no https page, or its code is longer than "
                       "%d bytes; nothing of it is shown", USER_CODE_BYTES);
    print_safely(stderr, "Open %.*s and enter %.*s", SPAN_ARG(url), SPAN_ARG(user_code));
    fputc('\n', stderr);
    url = json_member_text(talk->root, "verification_uri_complete");
    if (is_page(url)) {
        print_safely(stderr, "or open %.*s", SPAN_ARG(url));
        fputc('\n', stderr);
    }
    return buf_put(device_code, json_member_text(talk->root, "device_code"));
}

/* When an ID token ends, as it says itself: for renewing it in time, and for nothing else. Returns: 0: it does not say. */
static int64_t token_ends(struct span token)
{
    const struct json_node *exp = NULL;
    struct json_text read = {.root = NULL};
    struct buf claims;
    struct span rest;
    int64_t exp_s = 0;

    buf_init(&claims, LOGIN_BYTES);
    buf_wipes(&claims);
    (void)span_cut(token, '.', &rest);
    if (base64url_decode(span_cut(rest, '.', &rest), &claims) == CODE_OK &&
        json_text_read(&read, buf_peek(&claims), &json_file_rules, LOGIN_BYTES) == CODE_OK)
        exp = json_member(read.root, SPAN_LIT("exp"));
    if (exp == NULL || exp->type != JSON_NUMBER || num_i64(exp->raw, &exp_s) != CODE_OK || exp_s < 0 ||
        exp_s > INT64_MAX / 2000000)
        exp_s = 0;
    buf_fini(&claims);
    json_text_fini(&read);
    return exp_s * 1000000;
}

static struct span keep_text(struct arena *texts, struct span text)
{
    char *copy = arena_dup(texts, text.at, text.len);

    return copy != NULL ? span_of(copy, text.len) : SPAN_NONE;
}

/* Takes what came. Returns: CODE_DENIED where no ID token did. */
static enum code take_tokens(struct talk *talk, struct login_kept *kept, struct arena *texts, struct why *why)
{
    struct span token = json_member_text(talk->root, "id_token"), refresh = json_member_text(talk->root, "refresh_token");

    if (token.len == 0)
        return why_set(why, CODE_DENIED, "the provider gave no ID token; the login's scopes need `openid`");
    kept->token = keep_text(texts, token);
    if (refresh.len > 0) /* else the old one goes on */
        kept->refresh = keep_text(texts, refresh);
    kept->expires_us = token_ends(token);
    return kept->token.at != NULL ? CODE_OK : CODE_NOMEM;
}

static void rest(int64_t seconds)
{
    struct timespec left = {.tv_sec = (time_t)seconds};

    while (nanosleep(&left, &left) != 0)
        continue;
}

/* One question whether he has logged in. Returns: CODE_BUSY: not yet. */
static enum code poll_once(struct talk *talk, const struct provider *provider, struct span form, int64_t *interval_s,
                           struct why *why)
{
    enum code code = talk_ask(talk, span_text(provider->token), form, why);
    struct span error;

    if (code == CODE_IO) { /* as slow_down: RFC 8628, 3.5 */
        *interval_s = *interval_s * 2 < INTERVAL_MAX_S ? *interval_s * 2 : INTERVAL_MAX_S;
        return CODE_BUSY;
    }
    if (code != CODE_OK || talk->answer.status == 200)
        return code;
    error = json_member_text(talk->root, "error");
    if (span_is(error, "slow_down"))
        *interval_s += INTERVAL_S;
    if (span_is(error, "slow_down") || span_is(error, "authorization_pending"))
        return CODE_BUSY;
    if (span_is(error, "access_denied"))
        return why_set(why, CODE_DENIED, "the login was refused in the browser");
    if (span_is(error, "expired_token"))
        return why_set(why, CODE_DENIED, "nobody logged in in time; give `callgate login` again");
    return refused(talk, "the login", why);
}

static enum code wait_for(struct talk *talk, const struct provider *provider, const char *client, struct span device_code,
                          struct why *why)
{
    int64_t interval_s = number_of(talk, "interval", INTERVAL_S, INTERVAL_MAX_S);
    int64_t end_us = clock_monotonic_us() + number_of(talk, "expires_in", LASTS_MAX_S, LASTS_MAX_S) * 1000000;
    struct buf form;
    enum code code;

    buf_init(&form, LOGIN_BYTES);
    buf_wipes(&form);
    http_write_field(&form, "grant_type", SPAN_LIT(GRANT_DEVICE));
    http_write_field(&form, "device_code", device_code);
    http_write_field(&form, "client_id", span_text(client));
    code = buf_code(&form) == CODE_OK ? CODE_BUSY : buf_code(&form);
    while (code == CODE_BUSY) {
        int64_t left_s = (end_us - clock_monotonic_us()) / 1000000;

        if (left_s <= 0) {
            code = why_set(why, CODE_DENIED, "nobody logged in in time; give `callgate login` again");
            break;
        }
        rest(interval_s < left_s ? interval_s : left_s);
        code = poll_once(talk, provider, buf_peek(&form), &interval_s, why);
    }
    buf_fini(&form);
    return code;
}

enum code device_log_in(const struct device_ask *ask, struct arena *texts, struct login_kept *kept, struct why *why)
{
    struct provider provider = {.keeps = false};
    struct buf device_code;
    struct talk talk;
    enum code code = talk_begin(&talk, ask->ca, why);

    buf_init(&device_code, LOGIN_BYTES);
    buf_wipes(&device_code);
    if (code == CODE_OK)
        code = discover(&talk, ask->issuer, &provider, why);
    if (code == CODE_OK)
        code = begin(&talk, &provider, ask, &device_code, why);
    if (code == CODE_OK)
        code = wait_for(&talk, &provider, ask->client, buf_peek(&device_code), why);
    *kept = (struct login_kept){
        .socket = span_text(ask->socket), .issuer = span_text(ask->issuer), .client = span_text(ask->client),
        .ca = ask->ca != NULL ? keep_text(texts, span_text(ask->ca)) : SPAN_NONE,
    };
    if (code == CODE_OK) {
        kept->endpoint = keep_text(texts, span_text(provider.token));
        code = take_tokens(&talk, kept, texts, why);
    }
    buf_fini(&device_code);
    talk_end(&talk);
    return code;
}

enum code device_renew(struct login_kept *kept, struct arena *texts, struct why *why)
{
    char ca[4096];
    struct talk talk;
    struct buf form;
    enum code code;

    (void)snprintf(ca, sizeof ca, "%.*s", SPAN_ARG(kept->ca));
    code = talk_begin(&talk, ca[0] != '\0' ? ca : NULL, why);
    buf_init(&form, LOGIN_BYTES);
    buf_wipes(&form);
    http_write_field(&form, "grant_type", SPAN_LIT("refresh_token"));
    http_write_field(&form, "refresh_token", kept->refresh);
    http_write_field(&form, "client_id", kept->client);
    if (code == CODE_OK)
        code = buf_code(&form);
    if (code == CODE_OK)
        code = talk_ask(&talk, kept->endpoint, buf_peek(&form), why);
    if (code == CODE_OK && talk.answer.status != 200)
        code = why_set(why, CODE_DENIED, "your login cannot be renewed any more (the provider's HTTP status is %d); give "
                       "`callgate login` again", talk.answer.status);
    if (code == CODE_OK)
        code = take_tokens(&talk, kept, texts, why);
    buf_fini(&form);
    talk_end(&talk);
    return code;
}
