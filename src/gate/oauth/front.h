/* SPDX-License-Identifier: Apache-2.0 */
/* A front (`oauth: front`): what official OAuth clients find in the place of a provider at which they cannot register, or which
 * refuses what they send (`resource`, RFC 8707). It knows one public client that somebody registered there. It has no callback,
 * so that nothing of a login comes back through it but the provider's answer to `/token`, and keeps nothing.
 *
 * What goes to the provider is written anew from the parameters that are known here, each once; others, as a server is to do
 * with what it does not know (RFC 6749, 3.1), are left out. Whether an address may be redirected to is the provider's to say.
 *
 * Threads: any; nothing here has state.
 * Owns: nothing.
 * Lifetime: none.
 * Errors: a reason for the client, MEMORY among them; then what was written is not to be used. */
#ifndef OAUTH_FRONT_H
#define OAUTH_FRONT_H

#include "base/buf.h"
#include "base/mem.h"
#include "base/reason.h"
#include "base/span.h"

struct oauth_front {
    struct span url;       /* the issuer that clients know: 'https://gate.example.com/login', without a slash at its end */
    size_t path_at;        /* where its path begins; behind its end where it has none */
    struct span authorize; /* where the provider asks people: the URL of its authorization endpoint */
    struct span issuer;    /* the provider's, whose tokens they are */
    struct span client;    /* the client's id there; empty: there is no front */
    struct span scopes;    /* stands before a scope that has no slash, but those of OpenID Connect; empty: nothing does */
};

/* What a path is to OAuth's clients. */
enum oauth_step {
    OAUTH_NONE = 0,
    OAUTH_RESOURCE, /* metadata of a protected resource (RFC 9728): any route's that takes tokens */
    OAUTH_SERVER,   /* metadata of an authorization server (RFC 8414): a front's, as all that follow */
    OAUTH_AUTHORIZE,
    OAUTH_TOKEN,
    OAUTH_REGISTER
};

enum oauth_step oauth_front_step(const struct oauth_front *front, struct span path);
enum code oauth_front_metadata(const struct oauth_front *front, struct buf *out);
/* Writes where the browser goes. Takes: query: of `/authorize`, as it came. Returns: OAUTH_SENT. */
enum reason oauth_front_authorize(const struct oauth_front *front, struct span query, struct buf *out);
/* Writes the form that goes up. Takes: form: of `/token`, as it came. Returns: PERMITTED. */
enum reason oauth_front_token(const struct oauth_front *front, struct span form, struct buf *out);
/* Writes the answer to a registration (RFC 7591): the one client there is, whoever asks. Takes: body: as it came; arena: for
 * what lasts as long as the call. Returns: OAUTH_REGISTERED. */
enum reason oauth_front_register(const struct oauth_front *front, struct span body, struct arena *arena, struct buf *out);

#endif
