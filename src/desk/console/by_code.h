/* SPDX-License-Identifier: Apache-2.0 */
/* Logins by a provider's own page: OpenID Connect's authorization code flow with PKCE (RFC 6749, 4.1; RFC 7636; RFC 9700).
 *
 * Nothing is kept of a login that has begun: the browser has a secret in a cookie, and all else of it (state, nonce, what
 * PKCE proves) is made of that secret under a key of this process. So whoever begins logins fills no table, and what a browser
 * brings back counts in that browser alone, for ten minutes; a code is good once by its provider.
 *
 * Threads: any, after by_code_open.
 * Owns: the room of requests, and what it remembers of the providers' metadata.
 * Lifetime: the process's.
 * Errors: CODE_DENIED with a sentence for the person; CODE_IO: the provider cannot be reached. */
#ifndef CONSOLE_BY_CODE_H
#define CONSOLE_BY_CODE_H

#include "base/why.h"
#include "conf/conf.h"
#include "console/sessions.h"

/* Before the process confines itself: makes the room of requests, and permits what it needs. Takes: conf: lives as long. */
enum code by_code_open(const struct conf_console *conf, struct why *why) MUST_USE;
/* After. Nothing happens where the console is nobody's client. */
enum code by_code_start(struct why *why) MUST_USE;

/* The clients, by whose pages people log in. */
size_t by_code_count(void);
const char *by_code_name(size_t client); /* the provider's */

#define BY_CODE_COOKIE_BYTES 1200
#define BY_CODE_LIFE_S 600

/* Begins a login. Takes: origin: as the browser calls the console, "https://gate.example.com"; next: where it leads, or empty.
 * Returns: CODE_OK with what the cookie is to hold, and where the browser goes, appended to `where`. */
enum code by_code_begin(size_t client, struct span origin, struct span next, char cookie[BY_CODE_COOKIE_BYTES],
                        struct buf *where, struct why *why) MUST_USE;

/* What the browser brings back. */
struct by_code_answer {
    struct span cookie, state, code, error, issuer; /* as RFC 6749, 4.1.2, and RFC 9207 have them; at == NULL: absent */
};
/* Takes the ID token for the code. *next: within the answer's cookie. Returns: CODE_OK with *session's login. */
enum code by_code_end(size_t client, struct span origin, const struct by_code_answer *answer, struct session *session,
                      struct span *next, struct why *why) MUST_USE;

/* Renews the session's login where it is due, and says by `roles` who he is now. What cannot be renewed goes on until it
 * ends. */
void by_code_renew(struct session *session, void (*roles)(struct session *session));

#endif
