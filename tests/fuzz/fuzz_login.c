/* SPDX-License-Identifier: Apache-2.0 */
/* 13.1: a login by a provider's page is taken where the browser that began it brings back its own state, and the provider's ID token is of
 * this very login; whatever else browser and provider say, nobody is let in, and no provider is asked. Lines: which provider; the query
 * that comes back; the cookies; where the login leads; the provider's answer; what its ID token claims. STATE, COOKIE, TOKEN and NONCE in
 * them stand for the genuine ones. */
#include "base/bug.h"
#include "console/by_code.h"
#include "console/request.h"
#include "crypto/secret.h"
#include "http/reader.h"
#include "web/web.h"

#include <string.h>

#define LIMIT ((size_t)1 << 16)
#define LINES 6
#define PROVIDERS 3

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static const struct span origin = {"https://gate.example.com", 24};

/* ---- the web, which is the input ---- */

static struct {
    struct span says;
    unsigned asked; /* but for metadata */
} provider;

enum code web_new(struct web **web, struct why *why)
{
    (void)why;
    *web = (struct web *)&provider;
    return CODE_OK;
}

enum code web_start(struct web *web, struct why *why)
{
    (void)web;
    (void)why;
    return CODE_OK;
}

enum code web_permit(unsigned parts)
{
    (void)parts;
    return CODE_OK;
}

uint16_t web_proxy_port(void)
{
    return 0;
}

enum code web_fetch(struct web *web, const struct web_request *request, struct web_answer *answer, struct why *why)
{
    const char which = request->url.at[strlen("https://idp.example/")];

    (void)web;
    (void)why;
    buf_init(&answer->head, 0);
    buf_init(&answer->body, LIMIT);
    answer->status = 200;
    provider.asked += request->body.at != NULL;
    if (request->body.at != NULL)
        return buf_put(&answer->body, provider.says);
    return buf_addf(&answer->body, "{\"issuer\":\"https://idp.example/%c\",\"authorization_endpoint\":\"https://idp.example/page%s\","
                    "\"token_endpoint\":\"https://idp.example/token\",\"scopes_supported\":[\"offline_access\"],"
                    "\"authorization_response_iss_parameter_supported\":%s,"
                    "\"token_endpoint_auth_methods_supported\":[\"client_secret_%s\"]}",
                    which, which == '1' ? "?a=b" : "", which == '2' ? "true" : "false", which == '1' ? "post" : "basic");
}

void web_answer_fini(struct web_answer *answer)
{
    buf_fini(&answer->head);
    buf_fini(&answer->body);
}

static void open_clients(void)
{
    static struct conf_console_client clients[PROVIDERS];
    static const char *const issuers[PROVIDERS] = {"https://idp.example/0", "https://idp.example/1", "https://idp.example/2"};
    static struct conf_console conf = {.clients = clients, .client_count = PROVIDERS};
    struct why why;

    if (by_code_count() > 0)
        return;
    for (size_t i = 0; i < PROVIDERS; i++) {
        clients[i].client = SPAN_LIT("console");
        clients[i].secret = i > 0 ? SPAN_LIT("secret") : SPAN_NONE;
        clients[i].by.rules.issuer = issuers[i];
        clients[i].by.rules.name = issuers[i] + strlen("https://idp.example/");
    }
    BUG_ON(secret_heap_open(&why) != CODE_OK || by_code_open(&conf, &why) != CODE_OK);
}

/* ---- the browser ---- */

static void fill_in(struct buf *out, struct span text, const char *word, struct span with)
{
    buf_init(out, LIMIT);
    while (text.len > 0) {
        bool is_word = span_starts_with(text, span_text(word));

        buf_add_span(out, is_word ? with : span_part(text, 0, 1));
        text = span_part(text, is_word ? strlen(word) : 1, SIZE_MAX);
    }
}

/* A field of where the browser was sent: it needs no decoding, being made of base64url. */
static struct span sent(const struct buf *where, const char *name)
{
    for (struct span rest = buf_peek(where), value; rest.len > 0;)
        if (span_is(span_cut(span_cut(rest, '&', &rest), '=', &value), name))
            return value;
    return SPAN_NONE;
}

/* Reads what comes back as the console does. Returns: false: it is no request, or none that can be read in one way. */
static bool come_back(struct http_reader *reader, struct span query, struct span cookies, struct arena *arena, struct request *request)
{
    struct buf text;
    struct span body;
    size_t used;
    bool is_read;

    buf_init(&text, 4 * LIMIT);
    buf_addf(&text, "GET /login/x?%.*s HTTP/1.1\r\nHost: a\r\nCookie: %.*s\r\n\r\n", SPAN_ARG(query), SPAN_ARG(cookies));
    is_read = buf_code(&text) == CODE_OK && http_reader_feed(reader, buf_peek(&text), &used, &body) == HTTP_STEP_HEAD_DONE &&
              request_read(&reader->head, SPAN_NONE, arena, request);
    buf_fini(&text);
    return is_read;
}

struct begun {
    size_t client;
    struct span cookie, state, nonce, next;
};

/* What whoever is let in must have shown. */
static void check_claims(const struct begun *begun, struct span claims)
{
    const struct json_node *root = NULL;
    struct json_fault fault;
    struct arena arena;
    struct buf text;

    arena_init(&arena, 64 * LIMIT);
    buf_init(&text, LIMIT);
    BUG_ON(json_read(claims, &json_file_rules, &text, &arena, &root, &fault) != CODE_OK);
    BUG_ON(!span_equals(json_member_text(root, "nonce"), begun->nonce));
    BUG_ON(!span_starts_with(json_member_text(root, "iss"), SPAN_LIT("https://idp.example/")));
    BUG_ON(json_member_text(root, "iss").at[strlen("https://idp.example/")] != (char)('0' + (char)begun->client));
    buf_fini(&text);
    arena_fini(&arena);
}

static void end(const struct begun *begun, const struct request *request, struct span claims)
{
    const struct by_code_answer answer = {
        .cookie = request_cookie(request, "login"), .state = request_field(request, "state"), .code = request_field(request, "code"),
        .error = request_field(request, "error"), .issuer = request_field(request, "iss"),
    };
    const bool is_its = span_equals(answer.cookie, begun->cookie) && span_equals(answer.state, begun->state);
    struct session session;
    struct span next = SPAN_NONE;
    struct why why;
    enum code code;

    provider.asked = 0;
    session_init(&session);
    code = by_code_end(begun->client, origin, &answer, &session, &next, &why);
    BUG_ON(!is_its && (code != CODE_DENIED || provider.asked > 0));
    BUG_ON(answer.error.at != NULL && provider.asked > 0);
    BUG_ON(code == CODE_OK && (!session.has_login || !span_equals(next, begun->next)));
    if (code == CODE_OK)
        check_claims(begun, claims);
    session_fini(&session);
}

/* Takes: lines: but the last two, which are the provider's. */
static void try_login(const struct begun *begun, const struct span *lines, struct span claims)
{
    struct http_reader reader;
    struct request request;
    struct buf query, cookies;
    struct arena arena;

    fill_in(&query, lines[1], "STATE", begun->state);
    fill_in(&cookies, lines[2], "COOKIE", begun->cookie);
    arena_init(&arena, 16 * LIMIT);
    http_reader_init_request(&reader, NULL);
    if (come_back(&reader, buf_peek(&query), buf_peek(&cookies), &arena, &request))
        end(begun, &request, claims);
    http_reader_fini(&reader);
    arena_fini(&arena);
    buf_fini(&cookies);
    buf_fini(&query);
}

static void give_token(const struct begun *begun, const struct span *lines)
{
    struct buf claims, token, says;

    fill_in(&claims, lines[5], "NONCE", begun->nonce);
    buf_init(&token, LIMIT);
    buf_add_text(&token, "e30.");
    (void)!base64url_encode(buf_peek(&claims), &token);
    buf_add_text(&token, ".c2ln");
    fill_in(&says, lines[4], "TOKEN", buf_peek(&token));
    provider.says = buf_peek(&says);
    try_login(begun, lines, buf_peek(&claims));
    buf_fini(&says);
    buf_fini(&token);
    buf_fini(&claims);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct span lines[LINES], rest = span_of(bytes, len < LIMIT / 2 ? len : LIMIT / 2);
    char cookie[BY_CODE_COOKIE_BYTES];
    struct begun begun;
    struct why why;
    struct buf where;

    open_clients();
    for (size_t i = 0; i < LINES; i++)
        lines[i] = span_cut(rest, '\n', &rest);
    buf_init(&where, LIMIT);
    begun = (struct begun){.client = lines[0].len > 0 ? (unsigned char)lines[0].at[0] % PROVIDERS : 0, .next = lines[3]};
    if (by_code_begin(begun.client, origin, begun.next, cookie, &where, &why) == CODE_OK) {
        begun.cookie = span_text(cookie);
        begun.state = sent(&where, "state");
        begun.nonce = sent(&where, "nonce");
        BUG_ON(begun.state.len == 0 || begun.nonce.len == 0);
        give_token(&begun, lines);
    }
    buf_fini(&where);
    return 0;
}
