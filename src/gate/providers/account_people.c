/* SPDX-License-Identifier: Apache-2.0 */
/* People who connect an account: where their browsers go, and what becomes of the code that they bring back. */
#include "providers/account_desk_priv.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/num.h"
#include "crypto/digest.h"
#include "identity/provider.h"
#include "os/clock.h"

#include <string.h>

#define SECRET_BYTES 32
#define METADATA_US INT64_C(10000000) /* so long who connects waits for the provider's metadata */

static void make_text(char out[2 * SECRET_BYTES + 1])
{
    unsigned char bytes[SECRET_BYTES];

    random_bytes(bytes, sizeof bytes);
    num_hex(bytes, sizeof bytes, out);
    out[2 * SECRET_BYTES] = '\0';
    mem_wipe(bytes, sizeof bytes);
}

/* Whether the provider reads from a document who the gate is. Where its page is written down, no metadata need be there. */
static bool reads_documents(struct account_desk *desk, const struct outgoing *outgoing)
{
    char says[ACCOUNT__URL_BYTES];

    return desk->ways.endpoint(desk->ways.providers, outgoing->provider, "client_id_metadata_document_supported", says,
                               sizeof says) == 0 ? outgoing->page_url != NULL : strcmp(says, "true") == 0;
}

/* What keeps a browser from going there, or NULL. */
static const char *fault_of_page(struct account_desk *desk, const struct outgoing *outgoing, const char *page)
{
    struct http_authority authority;
    bool is_tls;

    if (identity_url_split(span_text(page), &authority, &is_tls) != NULL)
        return "the provider's metadata name no page by https where people let the gate in";
    if (outgoing->is_document && !reads_documents(desk, outgoing))
        return "the provider takes no client that it does not know (client_id_metadata_document_supported); an admin registers "
               "one there, and writes it into the configuration: client: {id: callgate}";
    return NULL;
}

/* Makes where the browser goes. Returns: CODE_BUSY: to be tried again soon. */
static enum code begin_person(struct account_desk *desk, const struct store_account_ask *ask, const struct proxy_fetched *of)
{
    char page[ACCOUNT__URL_BYTES], state[2 * SECRET_BYTES + 1], verifier[2 * SECRET_BYTES + 1], sum_text[2 * DIGEST_BYTES];
    unsigned char sum[DIGEST_BYTES];
    struct why why = {""};
    const char *fault;
    struct buf url;
    enum code code;

    if (account__find_url(desk, of->outgoing, of->outgoing->page_url, "authorization_endpoint", page) == 0)
        return CODE_BUSY;
    fault = fault_of_page(desk, of->outgoing, page);
    if (fault != NULL) {
        account__fail_person(desk, ask->id, fault);
        return CODE_OK;
    }
    make_text(state);
    make_text(verifier);
    digest_of(span_text(state), sum);
    num_hex(sum, sizeof sum, sum_text);
    buf_init(&url, ACCOUNT__BODY_BYTES);
    code = outgoing_write_page(of->outgoing, span_text(page), span_text(state), span_text(verifier), &url);
    if (code == CODE_OK)
        code = store_account_begun(desk->ways.db, desk->ways.store, ask, span_of(sum_text, sizeof sum_text),
                                   span_text(verifier), buf_peek(&url), &why);
    mem_wipe(verifier, sizeof verifier);
    buf_fini(&url);
    if (code != CODE_OK && code != CODE_BUSY && code != CODE_NOT_FOUND) {
        log_error("app", "route %.*s: nobody can connect: %s", SPAN_ARG(of->route->name), why.text);
        account__fail_person(desk, ask->id, "the gate cannot keep what it needs; its log says why");
    }
    return code == CODE_BUSY ? code : CODE_OK;
}

/* RFC 9207, 2.4: which provider answers, so that no other's code is shown to this one. */
static bool is_from(struct account_desk *desk, const struct outgoing *outgoing, struct span said_by)
{
    char says[ACCOUNT__URL_BYTES];

    if (said_by.at != NULL)
        return span_equals(said_by, account__issuer(outgoing));
    return desk->ways.endpoint(desk->ways.providers, outgoing->provider, "authorization_response_iss_parameter_supported", says,
                               sizeof says) == 0 || strcmp(says, "true") != 0;
}

/* Shows the provider what the browser brought. Likewise. */
static enum code end_person(struct account_desk *desk, struct proxy_conf *conf, const struct store_account_ask *ask,
                            struct buf *texts, const struct proxy_fetched *of)
{
    struct outgoing_wish wish = {.code = ask->code};
    char url[ACCOUNT__URL_BYTES];
    struct why why = {""};
    struct talk *talk;
    struct buf verifier;
    enum code code;

    if (!is_from(desk, of->outgoing, ask->said_by)) {
        account__fail_person(desk, ask->id, "the answer came from another provider; nothing was sent to either");
        return CODE_OK;
    }
    if (account__is_under_way(desk, ask->tenant, ask->principal, ask->upstream) ||
        account__find_url(desk, of->outgoing, of->outgoing->token_url, "token_endpoint", url) == 0 ||
        (talk = account__talk_new(desk, conf, of)) == NULL)
        return CODE_BUSY;
    buf_move(&talk->texts, texts);
    talk->ask = *ask;
    talk->account = (struct store_account){.tenant = ask->tenant, .principal = ask->principal, .upstream = of->route->name,
                                           .login = ask->login, .client = span_text(of->outgoing->client),
                                           .issuer = account__issuer(of->outgoing)};
    outgoing_account_key(of->outgoing, ask->tenant, ask->principal, ask->login, &talk->key);
    buf_init(&verifier, ACCOUNT__TOKEN_BYTES);
    buf_wipes(&verifier);
    code = store_account_shown(desk->ways.db, desk->ways.store, ask, &verifier, &why);
    wish.verifier = buf_peek(&verifier);
    if (code == CODE_OK)
        account__post(talk, url, &wish);
    else if (code == CODE_BUSY || code == CODE_NOT_FOUND)
        account__end(talk);
    else
        account__fail(talk, REASON_OUTGOING_UNAVAILABLE, ACCOUNT__RETRY_US, why.text);
    buf_fini(&verifier);
    return code == CODE_BUSY ? code : CODE_OK;
}

/* Returns: whether somebody waits for a later look. */
bool account__serve_people(struct account_desk *desk, struct proxy_conf *conf)
{
    struct store_account_ask ask = {.id = 0};
    struct why why = {""};
    bool waits = false;
    struct buf texts;
    enum code code;

    for (;;) {
        const struct proxy_fetched *of;

        buf_init(&texts, 2 * ACCOUNT__BODY_BYTES);
        buf_wipes(&texts);
        code = store_account_next(desk->ways.db, ask.id, &ask, &texts, &why);
        if (code != CODE_OK)
            break;
        of = account__route(conf, ask.upstream);
        if (of == NULL)
            account__fail_person(desk, ask.id, "the gate has no such server any more to which people connect");
        else if ((ask.is_back ? end_person(desk, conf, &ask, &texts, of) : begin_person(desk, &ask, of)) != CODE_OK &&
                 clock_wall_us() - ask.asked_us > (ask.is_back ? STORE_ACCOUNT_ASK_US : METADATA_US))
            account__fail_person(desk, ask.id, "the provider's metadata, which name where people let the gate in, do not come");
        else
            waits = true;
        buf_fini(&texts);
    }
    buf_fini(&texts);
    return waits || code != CODE_NOT_FOUND;
}
