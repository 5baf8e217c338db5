/* SPDX-License-Identifier: Apache-2.0 */
/* A login by a provider's device flow (RFC 8628), for a terminal without a browser of its own. What the provider says is shown
 * as somebody else's words, and it is believed only where its certificate is. */
#include "people/login.h"
#include "people/provider.h"
#include "args/command.h"
#include "unicode/terminal.h"

#include "http/writer.h"
#include "os/clock.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define USER_CODE_BYTES 64
#define INTERVAL_S 5      /* where the provider says nothing */
#define INTERVAL_MAX_S 60
#define LASTS_MAX_S 1800  /* whatever it says */
#define GRANT_DEVICE "urn:ietf:params:oauth:grant-type:device_code"

static int64_t number_of(const struct provider_talk *talk, const char *name, int64_t usual, int64_t max)
{
    int64_t number = usual;

    (void)json_member_number(talk->root, name, 1, INT64_MAX, &number);
    return number < max ? number : max;
}

/* ---- the flow ---- */

struct provider {
    char token[PROVIDER_URL_BYTES], device[PROVIDER_URL_BYTES];
    bool keeps; /* it gives logins that can be renewed */
};

static enum code discover(struct provider_talk *talk, const char *issuer, struct provider *provider, struct why *why)
{
    enum code code = provider_discover(talk, issuer, why);

    if (code == CODE_OK && (!provider_url(talk, "token_endpoint", provider->token) ||
                            !provider_url(talk, "device_authorization_endpoint", provider->device)))
        return why_set(why, CODE_DENIED, "%s has no device flow (RFC 8628); log in by a key: `callgate login --key-file FILE`",
                       issuer);
    provider->keeps = provider_lists(talk, "scopes_supported", "offline_access");
    return code;
}

/* Shows where to go. Takes: device_code: by which is asked whether he was there, appended to. */
static enum code begin(struct provider_talk *talk, const struct provider *provider, const struct device_ask *ask,
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
        code = provider_ask(talk, span_text(provider->device), buf_peek(&form), SPAN_NONE, why);
    buf_fini(&form);
    if (code != CODE_OK)
        return code;
    url = json_member_text(talk->root, "verification_uri");
    user_code = json_member_text(talk->root, "user_code");
    if (talk->answer.status != 200 || url.len == 0 || user_code.len == 0 ||
        json_member_text(talk->root, "device_code").len == 0)
        return provider_refuses(talk, "to begin a login", why);
    if (!provider_is_page(url) || user_code.len > USER_CODE_BYTES)
        return why_set(why, CODE_DENIED, "what the provider would have you open is no https page, or its code is longer than "
                       "%d bytes; nothing of it is shown", USER_CODE_BYTES);
    print_safely(stderr, "Open %.*s and enter %.*s", SPAN_ARG(url), SPAN_ARG(user_code));
    fputc('\n', stderr);
    url = json_member_text(talk->root, "verification_uri_complete");
    if (provider_is_page(url)) {
        print_safely(stderr, "or open %.*s", SPAN_ARG(url));
        fputc('\n', stderr);
    }
    return buf_put(device_code, json_member_text(talk->root, "device_code"));
}

static void rest(int64_t seconds)
{
    struct timespec left = {.tv_sec = (time_t)seconds};

    while (nanosleep(&left, &left) != 0)
        continue;
}

/* One question whether he has logged in. Returns: CODE_BUSY: not yet. */
static enum code poll_once(struct provider_talk *talk, const struct provider *provider, struct span form, int64_t *interval_s,
                           struct why *why)
{
    enum code code = provider_ask(talk, span_text(provider->token), form, SPAN_NONE, why);
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
    return provider_refuses(talk, "the login", why);
}

static enum code wait_for(struct provider_talk *talk, const struct provider *provider, const char *client,
                          struct span device_code, struct why *why)
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

/* What a talk stands on, which a command has for itself. */
struct line {
    struct web *web;
    struct tls_context *tls;
    struct provider_talk talk;
};

static enum code line_begin(struct line *line, const char *ca, struct why *why)
{
    const struct tls_client_conf conf = {.ca = ca};
    enum code code;

    *line = (struct line){.web = NULL};
    code = ca != NULL ? tls_client_new(&conf, &line->tls, why) : CODE_OK;
    if (code == CODE_OK)
        code = web_new(&line->web, why);
    provider_begin(&line->talk, line->web, line->tls);
    return code == CODE_OK ? web_start(line->web, why) : code;
}

static void line_end(struct line *line)
{
    provider_end(&line->talk);
    web_free(&line->web);
    tls_unref(&line->tls);
}

static void keep(const struct provider_tokens *tokens, struct login_kept *kept)
{
    kept->token = tokens->id;
    kept->refresh = tokens->refresh;
    kept->expires_us = tokens->expires_us;
}

enum code device_log_in(const struct device_ask *ask, struct arena *texts, struct login_kept *kept, struct why *why)
{
    struct provider provider = {.keeps = false};
    struct provider_tokens tokens = {.expires_us = 0};
    struct buf device_code;
    struct line line;
    enum code code = line_begin(&line, ask->ca, why);

    buf_init(&device_code, LOGIN_BYTES);
    buf_wipes(&device_code);
    if (code == CODE_OK)
        code = discover(&line.talk, ask->issuer, &provider, why);
    if (code == CODE_OK)
        code = begin(&line.talk, &provider, ask, &device_code, why);
    if (code == CODE_OK)
        code = wait_for(&line.talk, &provider, ask->client, buf_peek(&device_code), why);
    *kept = (struct login_kept){
        .socket = span_text(ask->socket), .issuer = span_text(ask->issuer), .client = span_text(ask->client),
    };
    if (code == CODE_OK)
        code = arena_keep(texts, span_text(ask->ca), &kept->ca);
    if (code == CODE_OK)
        code = arena_keep(texts, span_text(provider.token), &kept->endpoint);
    if (code == CODE_OK)
        code = provider_take(&line.talk, texts, &tokens, why);
    keep(&tokens, kept);
    buf_fini(&device_code);
    line_end(&line);
    return code;
}

enum code device_renew(struct login_kept *kept, struct arena *texts, struct why *why)
{
    struct provider_tokens tokens = {.id = kept->token, .refresh = kept->refresh};
    char ca[4096];
    struct line line;
    struct buf form;
    enum code code;

    buf_init(&form, LOGIN_BYTES);
    buf_wipes(&form);
    http_write_field(&form, "client_id", kept->client);
    (void)snprintf(ca, sizeof ca, "%.*s", SPAN_ARG(kept->ca));
    code = line_begin(&line, ca[0] != '\0' ? ca : NULL, why);
    if (code == CODE_OK)
        code = provider_renew(&line.talk, kept->endpoint, &form, SPAN_NONE, texts, &tokens, why);
    if (code == CODE_OK)
        keep(&tokens, kept);
    buf_fini(&form);
    line_end(&line);
    return code;
}
