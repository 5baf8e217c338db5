/* SPDX-License-Identifier: Apache-2.0 */
/* A talk with an OpenID Connect provider by whom people log in: what its metadata say, and the tokens that it gives for a code
 * or a login before. What it says is believed only where its certificate is, and is shown as somebody else's words.
 *
 * Threads: one a talk.
 * Owns: what the provider said last, wiped with the talk.
 * Lifetime: provider_begin to provider_end; the room of requests and the authorities are borrowed.
 * Errors: enum code with a sentence; no word of it holds a token, a code or a secret. */
#ifndef PEOPLE_PROVIDER_H
#define PEOPLE_PROVIDER_H

#include "base/buf.h"
#include "base/mem.h"
#include "base/why.h"
#include "json/json.h"
#include "web/web.h"

#define PROVIDER_URL_BYTES 2048

struct provider_talk {
    struct web *web;
    struct tls_context *tls; /* NULL: the system's authorities */
    struct web_answer answer;
    struct arena arena;
    struct buf canonical, claims;
    const struct json_node *root; /* of the answer; NULL: it is no object */
};
void provider_begin(struct provider_talk *talk, struct web *web, struct tls_context *tls);
void provider_end(struct provider_talk *talk);

/* Takes: form: of a POST; at == NULL: a GET. authorization: of the header; or empty. Returns: CODE_OK where an answer came,
 * whatever it says. */
enum code provider_ask(struct provider_talk *talk, struct span url, struct span form, struct span authorization,
                       struct why *why) MUST_USE;
/* Whatever a provider writes stands on one line, and short. Returns: CODE_DENIED. */
enum code provider_refuses(const struct provider_talk *talk, const char *doing, struct why *why);

/* Has its metadata as the answer. */
enum code provider_discover(struct provider_talk *talk, const char *issuer, struct why *why) MUST_USE;
/* A URL of the answer. Returns: false: there is none, or it is too long. */
bool provider_url(const struct provider_talk *talk, const char *name, char out[PROVIDER_URL_BYTES]);
/* Whether a list of the answer has the word. */
bool provider_lists(const struct provider_talk *talk, const char *list, const char *word);
/* A page that a browser opens at the provider: no script, no file, no program of this machine, and nothing long. */
bool provider_is_page(struct span url);

/* What an ID token says, which nobody has verified here: the gate does. Returns: until the next; NULL: it cannot be read. */
const struct json_node *provider_claims(struct provider_talk *talk, struct span token);

struct provider_tokens {
    struct span id, refresh; /* refresh: what renews it; at == NULL: nothing does */
    int64_t expires_us;      /* as the ID token says it: for renewing it in time, and for nothing else; 0: it does not say */
};
/* Takes what came. Takes: tokens: those before, or zero; texts: which holds what is new. Returns: CODE_DENIED where no ID token
 * came, or one of somebody else than before (OpenID Connect Core, 12.2). */
enum code provider_take(struct provider_talk *talk, struct arena *texts, struct provider_tokens *tokens, struct why *why)
    MUST_USE;

/* Newer tokens in the place of these. Takes: form: with who asks, `client_id` and perhaps a secret; authorization: a secret
 * that is shown so; or empty. */
enum code provider_renew(struct provider_talk *talk, struct span url, struct buf *form, struct span authorization,
                         struct arena *texts, struct provider_tokens *tokens, struct why *why) MUST_USE;

#endif
