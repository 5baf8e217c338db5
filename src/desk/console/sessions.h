/* SPDX-License-Identifier: Apache-2.0 */
/* Who is logged in at the console: by a key that was typed, by a provider's page, or by an URL that is good once and stands for
 * the account that runs the console. A session ends with its login, and after eight hours at most.
 *
 * Threads: any.
 * Owns: the sessions; a login is wiped with its own.
 * Lifetime: the process's.
 * Errors: false where there is none, or none more. */
#ifndef CONSOLE_SESSIONS_H
#define CONSOLE_SESSIONS_H

#include "base/buf.h"

#include <stdint.h>

#define SESSIONS_SECRET_BYTES 65 /* 32 bytes in hexadecimal, with a NUL */
#define SESSIONS_KNOWN_US (INT64_C(15) * 1000000) /* so long it is believed who somebody is */
#define SESSIONS_LIFE_US (INT64_C(8) * 3600 * 1000000)
#define SESSIONS_ONCE_US (INT64_C(600) * 1000000) /* how long the URL for one use is good */
#define SESSIONS_WHO_BYTES 8192

/* What a request knows of its session. */
struct session {
    char cookie[SESSIONS_SECRET_BYTES]; /* names it */
    char token[SESSIONS_SECRET_BYTES];  /* each of its changes must show it */
    unsigned roles;                     /* PEOPLE_BIT of each, PEOPLE_AUDITS_TENANTS */
    char who[SESSIONS_WHO_BYTES];       /* of what `callgate login --who --json` says */
    bool has_login;
    struct buf login;                   /* what is shown to the gate, with a NUL; wiped by session_fini */
    struct buf refresh;                 /* by which its provider gives a newer one; likewise; empty: it cannot */
    unsigned by;                        /* which of the console's clients that is */
    bool is_due;                        /* the gate is to be asked anew who he is, by whoever has found the session so */
    int64_t ends_us, renew_us;          /* wall clock: when the login ends; when it is to be renewed */
};
void session_init(struct session *session);
void session_fini(struct session *session);
/* Makes another that gives the same commands; it is the caller's (session_fini) in any case. */
bool session_copy(struct session *to, const struct session *from);
/* Keeps these tokens in place of those that it has. Takes: refresh: empty, or the session's own, which stays. */
void session_take(struct session *session, struct span login, struct span refresh);
/* NULL: the account. */
const char *session_login(const struct session *session);

/* Makes a new one of what *session says of roles, who and login, and fills in the rest. */
bool sessions_begin(struct session *session, int64_t now_us);
/* Takes: session: as session_init has left it. */
bool sessions_find(struct span cookie, int64_t now_us, struct session *session);
void sessions_end(struct span cookie);
/* Takes what *session has of roles and who. */
void sessions_know(const struct session *session);

/* Whether the caller is the one who renews this session's login now, which he ends by sessions_renewed. Where somebody else
 * does, that is waited for, for some seconds, and *session is as that has left it. */
bool sessions_renew(struct session *session, int64_t now_us);
/* Takes what *session has of login, refresh, times, roles and who. */
void sessions_renewed(const struct session *session);

/* What an URL for one use holds from now on, for so long: an older one is good no more. */
void sessions_offer_once(char secret[SESSIONS_SECRET_BYTES], int64_t now_us);
/* Whether it is that, and nobody has used it. */
bool sessions_take_once(struct span secret, int64_t now_us);

#endif
