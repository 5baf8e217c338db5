/* SPDX-License-Identifier: Apache-2.0 */
/* A person connects an account of his own: his browser is sent to the provider's page, and comes back with a code. Which
 * browser that is, its cookie says; whose session, that session's own; the rest the gate knows. The code goes to the gate
 * unread. */
#include "console/pages.h"

#include "base/ascii.h"
#include "base/num.h"
#include "console/texts.h"
#include "crypto/parts.h"
#include "identity/outgoing.h"
#include "json/doc.h"
#include "json/text.h"

#include <stdio.h>
#include <string.h>

#define URL_BYTES ((size_t)65536)
#define SECRET_BYTES 32
#define CODE_BYTES 4096

/* By what the gate knows the browser again: of its cookie and its session, so that another login does not end what this one
 * began. */
static void know_browser(const struct visit *visit, struct span cookie, char out[2 * DIGEST_BYTES + 1])
{
    const struct span parts[] = {SPAN_LIT("connect"), cookie, span_text(visit->session.cookie)};
    unsigned char sum[DIGEST_BYTES];

    parts_digest(parts, sizeof parts / sizeof parts[0], sum);
    num_hex(sum, sizeof sum, out);
    out[2 * DIGEST_BYTES] = '\0';
}

static void begin_words(struct words *words, struct arena *arena, const char *command, struct span upstream,
                        const char *browser)
{
    words_begin(words, arena);
    words_add_all(words, command);
    words_add(words, NULL, SPAN_LIT("--"));
    words_add(words, NULL, upstream);
    words_add(words, NULL, span_text(browser));
}

/* The head's word by which the browser goes where the gate sends it, in the arena; NULL: nowhere that a head can name. */
static const char *way_of(struct visit *visit, const struct answer *answer)
{
    struct json_text text;
    const char *way = NULL;
    struct buf line;

    if (json_text_read(&text, buf_peek(&answer->out), &json_file_rules, URL_BYTES) == CODE_OK) {
        struct span url = json_member_text(text.root, "url");

        buf_init(&line, URL_BYTES);
        if (url.len > 0 && ascii_is_all(url, "!-~") && buf_addf(&line, "0; url=%.*s", SPAN_ARG(url)) == CODE_OK)
            way = arena_dup(&visit->arena, buf_peek(&line).at, buf_len(&line));
        buf_fini(&line);
    }
    json_text_fini(&text);
    return way;
}

/* The form was ours; where a form leads elsewhere browsers stop, so that the page does. */
void page_connect_begin(struct visit *visit, struct span upstream)
{
    char secret[2 * SECRET_BYTES + 1], browser[2 * DIGEST_BYTES + 1];
    unsigned char bytes[SECRET_BYTES];
    struct words words;
    struct answer answer;

    if (!visit_may(visit, "connect begin")) {
        visit_fault(visit, 403, "Your login is no principal in whose name agents call, so that there is no account of yours.");
        return;
    }
    random_bytes(bytes, sizeof bytes);
    num_hex(bytes, sizeof bytes, secret);
    secret[2 * SECRET_BYTES] = '\0';
    know_browser(visit, span_text(secret), browser);
    begin_words(&words, &visit->arena, "connect begin --json", upstream, browser);
    if (visit_ask(visit, &words, &answer)) {
        visit->goes_on = answer.status == STATUS_DONE ? way_of(visit, &answer) : NULL;
        if (visit->goes_on == NULL) {
            visit_fault(visit, answer.status == STATUS_USAGE ? 400 : 409, visit_said(visit, &answer));
        } else {
            visit_set_begun(visit, VISIT_CONNECT, secret);
            doc_text(visit->view, "upstream", upstream);
            visit_show(visit, 200, "Connecting", texts_connecting);
        }
    }
    answer_fini(&answer);
}

/* The browser comes back. */
void page_connect_back(struct visit *visit, struct span upstream)
{
    const struct request *request = &visit->request;
    struct span code = request_field(request, "code"), state = request_field(request, "state"),
                issuer = request_field(request, "iss"), error = request_field(request, "error");
    struct span cookie = visit_begun_cookie(visit, VISIT_CONNECT);
    char browser[2 * DIGEST_BYTES + 1];
    struct words words;
    struct answer answer;

    if (cookie.len == 0) {
        visit_fault(visit, 403, "This browser has not begun to connect an account. Begin on the page Accounts.");
        return;
    }
    visit_set_begun(visit, VISIT_CONNECT, ""); /* whatever comes of it, it was once */
    if (error.at != NULL || code.len == 0 || code.len > CODE_BYTES || state.len == 0) {
        visit_fault(visit, 403, error.at != NULL ? "The provider's page did not let the gate in: somebody said no there, or "
                                                   "there is no such access."
                                                 : "The provider's page sent no code. Begin again.");
        return;
    }
    know_browser(visit, cookie, browser);
    begin_words(&words, &visit->arena, "connect finish --json", upstream, browser);
    words_add(&words, NULL, state);
    words_add(&words, NULL, code);
    if (issuer.at != NULL)
        words_add(&words, NULL, issuer);
    if (visit_ask(visit, &words, &answer)) {
        if (answer.status == STATUS_DONE)
            visit_go(visit, "/connect");
        else
            visit_fault(visit, answer.status == STATUS_CANNOT ? 503 : 403, visit_said(visit, &answer));
    }
    answer_fini(&answer);
}

/* Who connects there, for its provider to read (draft-ietf-oauth-client-id-metadata-document): a public client, whose browsers
 * come back here alone. It says nothing of which servers there are. */
void page_connect_client(struct visit *visit, struct span upstream)
{
    struct doc *doc = doc_object(), *list;
    char origin[VISIT_ORIGIN_BYTES];
    struct buf text, url;

    visit_origin(visit, origin);
    buf_init(&text, 4 * URL_BYTES);
    buf_init(&url, URL_BYTES);
    buf_addf(&url, "%s/connect/%.*s", origin, SPAN_ARG(upstream));
    list = doc_add_array(doc, "redirect_uris");
    doc_text(list, NULL, buf_peek(&url));
    buf_add_text(&url, ACCOUNT_DOCUMENT);
    doc_text(doc, "client_id", buf_peek(&url));
    doc_text(doc, "client_name", SPAN_LIT("Callgate"));
    doc_text(doc, "client_uri", span_text(origin));
    list = doc_add_array(doc, "grant_types");
    doc_text(list, NULL, SPAN_LIT("authorization_code"));
    doc_text(list, NULL, SPAN_LIT("refresh_token"));
    list = doc_add_array(doc, "response_types");
    doc_text(list, NULL, SPAN_LIT("code"));
    doc_text(doc, "token_endpoint_auth_method", SPAN_LIT("none"));
    if (buf_code(&url) == CODE_OK && doc_print(doc, &text) == CODE_OK)
        visit_give(visit, "application/json", NULL, buf_peek(&text));
    else
        visit_fault(visit, 503, "The console is short of memory.");
    doc_free(&doc);
    buf_fini(&url);
    buf_fini(&text);
}
