/* SPDX-License-Identifier: Apache-2.0 */
/* What a person shows to the gate over its control socket, and the file in which it is kept: a key, or an ID token that a
 * provider gave by its device flow (RFC 8628), with what renews it.
 *
 * The file is the person's own, mode 0600: $XDG_STATE_HOME/callgate/login.json, or ~/.local/state/callgate/login.json.
 *
 * Threads: main.
 * Owns: nothing between calls.
 * Lifetime: none.
 * Errors: enum code with a sentence; no word of it holds a key or a token. */
#ifndef PEOPLE_LOGIN_H
#define PEOPLE_LOGIN_H

#include "base/buf.h"
#include "base/mem.h"
#include "base/why.h"

#define LOGIN_KEY "CALLGATE_LOGIN" /* the environment's: a person's key, before what is in the file */
#define LOGIN_BYTES ((size_t)64 << 10)

/* Whether somebody has shown who he is: in the environment, or in the file for the gate on this socket. */
bool login_is_there(const char *socket);

/* Appends what is to be shown, or nothing. Blocks: some seconds where a token ends, and is renewed before. */
enum code login_find(const char *socket, struct buf *login, struct why *why) MUST_USE;

/* What is kept: texts, of which those with at == NULL are left out. */
struct login_kept {
    struct span socket, key, token, refresh, issuer, client, endpoint, ca;
    int64_t expires_us;
};
enum code login_keep(const struct login_kept *kept, struct why *why) MUST_USE;
/* CODE_NOT_FOUND: there was none. */
enum code login_forget(struct why *why) MUST_USE;

/* ---- a provider ---- */

struct device_ask {
    const char *socket, *issuer, *client;
    const struct option_values *scopes; /* none: openid, and what keeps a login */
    const char *ca;                                /* a file; NULL: the system's authorities */
};
/* Has the person log in by a browser, which is told on stderr how. Blocks: until he has, or has not.
 * Returns: CODE_OK with *kept, whose texts are in `texts`; CODE_DENIED: the provider says no, or it took too long. */
enum code device_log_in(const struct device_ask *ask, struct arena *texts, struct login_kept *kept, struct why *why) MUST_USE;
/* A newer token in the place of that in *kept. */
enum code device_renew(struct login_kept *kept, struct arena *texts, struct why *why) MUST_USE;

#endif
