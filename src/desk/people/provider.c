/* SPDX-License-Identifier: Apache-2.0 */
#include "people/provider.h"

#include "crypto/digest.h"
#include "http/writer.h"
#include "identity/token.h"
#include "os/sock.h"
#include "people/login.h"
#include "unicode/terminal.h"

#include <stdio.h>
#include <string.h>

void provider_begin(struct provider_talk *talk, struct web *web, struct tls_context *tls)
{
    *talk = (struct provider_talk){.web = web, .tls = tls};
    arena_init(&talk->arena, (size_t)4 << 20);
    buf_init(&talk->canonical, (size_t)1 << 20);
    buf_wipes(&talk->canonical);
    buf_init(&talk->claims, LOGIN_BYTES);
    buf_wipes(&talk->claims);
}

void provider_end(struct provider_talk *talk)
{
    web_answer_fini(&talk->answer);
    buf_fini(&talk->canonical);
    buf_fini(&talk->claims);
    arena_fini(&talk->arena);
}

enum code provider_ask(struct provider_talk *talk, struct span url, struct span form, struct span authorization,
                       struct why *why)
{
    const struct web_header headers[] = {
        {SPAN_LIT("Accept"), SPAN_LIT("application/json")},
        {SPAN_LIT("Content-Type"), SPAN_LIT("application/x-www-form-urlencoded")},
        {SPAN_LIT("Authorization"), authorization},
    };
    const struct web_request request = {
        .url = url, .headers = headers, .header_count = form.at == NULL ? 1 : authorization.len == 0 ? 2 : 3, .body = form,
        .tls = talk->tls,
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

enum code provider_refuses(const struct provider_talk *talk, const char *doing, struct why *why)
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

bool provider_url(const struct provider_talk *talk, const char *name, char out[PROVIDER_URL_BYTES])
{
    struct span url = json_member_text(talk->root, name);

    (void)snprintf(out, PROVIDER_URL_BYTES, "%.*s", SPAN_ARG(url));
    return url.len > 0 && url.len < PROVIDER_URL_BYTES;
}

bool provider_lists(const struct provider_talk *talk, const char *list, const char *word)
{
    const struct json_node *all = json_member(talk->root, span_text(list));

    for (const struct json_node *one = all != NULL ? all->child : NULL; one != NULL; one = one->next)
        if (span_is(one->text, word))
            return true;
    return false;
}

/* Metadata that name another issuer would let one provider answer in another's place (OpenID discovery, 4.3). */
enum code provider_discover(struct provider_talk *talk, const char *issuer, struct why *why)
{
    size_t len = strlen(issuer);
    char url[PROVIDER_URL_BYTES];
    enum code code;

    if (len == 0)
        return why_set(why, CODE_DENIED, "the gate does not say by whom one logs in");
    (void)snprintf(url, sizeof url, "%.*s/.well-known/openid-configuration", (int)(len - (issuer[len - 1] == '/')), issuer);
    code = provider_ask(talk, span_text(url), SPAN_NONE, SPAN_NONE, why);
    if (code != CODE_OK)
        return code;
    if (talk->answer.status != 200 || talk->root == NULL)
        return provider_refuses(talk, "its metadata", why);
    if (!span_is(json_member_text(talk->root, "issuer"), issuer))
        return why_set(why, CODE_DENIED, "what %s publishes is another issuer's; nothing was sent to it", url);
    return CODE_OK;
}

bool provider_is_page(struct span url)
{
    struct span rest, host;

    if (!identity_name_is_good(url, PROVIDER_URL_BYTES))
        return false;
    if (span_starts_with(url, SPAN_LIT("https://")))
        return true;
    host = span_cut(span_part(url, strlen("http://"), SIZE_MAX), '/', &rest);
    return span_starts_with(url, SPAN_LIT("http://")) && span_find(host, '@') == host.len &&
           sock_host_is_loopback(span_part(host, 0, span_find(host, ':')));
}

/* ---- tokens ---- */

const struct json_node *provider_claims(struct provider_talk *talk, struct span token)
{
    const struct json_node *root = NULL;
    struct json_fault fault;
    struct span rest;

    buf_clear(&talk->claims);
    (void)span_cut(token, '.', &rest);
    if (base64url_decode(span_cut(rest, '.', &rest), &talk->claims) != CODE_OK ||
        json_read(buf_peek(&talk->claims), &json_file_rules, &talk->claims, &talk->arena, &root, &fault) != CODE_OK ||
        root->type != JSON_OBJECT)
        return NULL;
    return root;
}

static int64_t ends_us(const struct json_node *claims)
{
    int64_t exp_s = 0;

    (void)json_member_number(claims, "exp", 0, INT64_MAX / 2000000, &exp_s);
    return exp_s * 1000000;
}

enum code provider_take(struct provider_talk *talk, struct arena *texts, struct provider_tokens *tokens, struct why *why)
{
    struct span id = json_member_text(talk->root, "id_token"), refresh = json_member_text(talk->root, "refresh_token");
    const struct json_node *claims = provider_claims(talk, tokens->id);
    struct span subject;
    enum code code = arena_keep(texts, json_member_text(claims, "sub"), &subject);

    if (code != CODE_OK)
        return code;
    claims = provider_claims(talk, id);
    if (id.len == 0)
        return why_set(why, CODE_DENIED, "the provider gave no ID token; the login's scopes need `openid`");
    if (tokens->id.len > 0 && !span_equals(json_member_text(claims, "sub"), subject))
        return why_set(why, CODE_DENIED, "the provider gave another person's ID token for this login; log in again");
    code = arena_keep(texts, id, &tokens->id);
    if (code == CODE_OK && refresh.len > 0) /* else the old one goes on */
        code = arena_keep(texts, refresh, &tokens->refresh);
    tokens->expires_us = ends_us(claims);
    return code;
}

enum code provider_renew(struct provider_talk *talk, struct span url, struct buf *form, struct span authorization,
                         struct arena *texts, struct provider_tokens *tokens, struct why *why)
{
    enum code code;

    http_write_field(form, "grant_type", SPAN_LIT("refresh_token"));
    http_write_field(form, "refresh_token", tokens->refresh);
    code = buf_code(form);
    if (code == CODE_OK)
        code = provider_ask(talk, url, buf_peek(form), authorization, why);
    if (code == CODE_OK && talk->answer.status >= 500)
        code = why_set(why, CODE_IO, "the provider cannot renew a login at the moment (HTTP status %d)", talk->answer.status);
    if (code == CODE_OK && talk->answer.status != 200)
        code = why_set(why, CODE_DENIED, "your login cannot be renewed any more (the provider's HTTP status is %d); log in "
                       "again, at a shell by `callgate login`", talk->answer.status);
    return code == CODE_OK ? provider_take(talk, texts, tokens, why) : code;
}
