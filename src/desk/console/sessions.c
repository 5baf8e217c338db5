/* SPDX-License-Identifier: Apache-2.0 */
#include "console/sessions.h"

#include "base/lock.h"
#include "base/num.h"
#include "crypto/digest.h"
#include "crypto/secret.h"
#include "people/login.h"

#include <stdio.h>
#include <string.h>

#define SESSIONS_MAX 256
#define SESSIONS_OF_ONE 16 /* the next ends the oldest of these, so that nobody keeps others out */

/* A secret is kept as its digest alone: how long a look-up takes says nothing of it. */
struct kept {
    unsigned char cookie[DIGEST_BYTES];
    char token[SESSIONS_SECRET_BYTES];
    unsigned roles;
    char who[SESSIONS_WHO_BYTES];
    char *login; /* in the heap of secrets; NULL: the account */
    size_t login_len;
    int64_t ends_us; /* 0: there is none */
};

static struct {
    pthread_mutex_t lock;
    struct kept all[SESSIONS_MAX];
    unsigned char once[DIGEST_BYTES];
    int64_t once_ends_us; /* 0: it was used */
} sessions = {.lock = PTHREAD_MUTEX_INITIALIZER};

void session_init(struct session *session)
{
    *session = (struct session){.roles = 0};
    buf_init(&session->login, LOGIN_BYTES);
    buf_wipes(&session->login);
}

void session_fini(struct session *session)
{
    buf_fini(&session->login);
}

bool session_copy(struct session *to, const struct session *from)
{
    session_init(to);
    memcpy(to->cookie, from->cookie, sizeof to->cookie);
    memcpy(to->who, from->who, sizeof to->who);
    to->roles = from->roles;
    to->has_login = from->has_login;
    return !from->has_login || buf_put(&to->login, buf_peek(&from->login)) == CODE_OK;
}

const char *session_login(const struct session *session)
{
    return session->has_login ? buf_peek(&session->login).at : NULL;
}

static void make_secret(char secret[SESSIONS_SECRET_BYTES])
{
    unsigned char bytes[32];

    random_bytes(bytes, sizeof bytes);
    num_hex(bytes, sizeof bytes, secret);
    secret[2 * sizeof bytes] = '\0';
}

static void forget(struct kept *kept)
{
    secret_free(kept->login, kept->login_len);
    *kept = (struct kept){.ends_us = 0};
}

/* NULL: there is none. Takes: the lock. */
static struct kept *find(struct span cookie)
{
    unsigned char digest[DIGEST_BYTES];

    digest_of(cookie, digest);
    for (size_t i = 0; i < SESSIONS_MAX; i++)
        if (sessions.all[i].ends_us != 0 && memcmp(sessions.all[i].cookie, digest, DIGEST_BYTES) == 0)
            return &sessions.all[i];
    return NULL;
}

/* A place of one that is over, or of the same person's oldest; NULL: all are taken. */
static struct kept *find_place(const char *who, int64_t now_us)
{
    struct kept *place = NULL, *oldest = NULL;
    unsigned its = 0;

    for (size_t i = 0; i < SESSIONS_MAX; i++) {
        struct kept *one = &sessions.all[i];

        if (one->ends_us <= now_us)
            forget(one);
        if (one->ends_us == 0) {
            place = one;
        } else if (strcmp(one->who, who) == 0) {
            its++;
            oldest = oldest == NULL || one->ends_us < oldest->ends_us ? one : oldest;
        }
    }
    if (its < SESSIONS_OF_ONE)
        return place;
    forget(oldest);
    return oldest;
}

bool sessions_begin(struct session *session, int64_t now_us)
{
    struct kept *kept;
    struct span login = session->has_login ? buf_peek(&session->login) : SPAN_NONE;

    make_secret(session->cookie);
    make_secret(session->token);
    lock_take(&sessions.lock);
    kept = find_place(session->who, now_us);
    if (kept != NULL && login.len > 0 && (kept->login = secret_copy(login.at, login.len)) == NULL)
        kept = NULL;
    if (kept != NULL) {
        digest_of(span_text(session->cookie), kept->cookie);
        memcpy(kept->token, session->token, sizeof kept->token);
        memcpy(kept->who, session->who, sizeof kept->who);
        kept->roles = session->roles;
        kept->login_len = login.len;
        kept->ends_us = now_us + SESSIONS_LIFE_US;
    }
    lock_give(&sessions.lock);
    return kept != NULL;
}

bool sessions_find(struct span cookie, int64_t now_us, struct session *session)
{
    struct kept *kept;
    bool is_there;

    if (cookie.len != SESSIONS_SECRET_BYTES - 1)
        return false;
    lock_take(&sessions.lock);
    kept = find(cookie);
    is_there = kept != NULL && kept->ends_us > now_us &&
               (kept->login == NULL || buf_put(&session->login, span_of(kept->login, kept->login_len)) == CODE_OK);
    if (is_there) {
        (void)snprintf(session->cookie, sizeof session->cookie, "%.*s", SPAN_ARG(cookie));
        memcpy(session->token, kept->token, sizeof session->token);
        memcpy(session->who, kept->who, sizeof session->who);
        session->roles = kept->roles;
        session->has_login = kept->login != NULL;
    }
    lock_give(&sessions.lock);
    return is_there;
}

void sessions_end(struct span cookie)
{
    struct kept *kept;

    lock_take(&sessions.lock);
    kept = find(cookie);
    if (kept != NULL)
        forget(kept);
    lock_give(&sessions.lock);
}

void sessions_offer_once(char secret[SESSIONS_SECRET_BYTES], int64_t now_us)
{
    make_secret(secret);
    lock_take(&sessions.lock);
    digest_of(span_text(secret), sessions.once);
    sessions.once_ends_us = now_us + SESSIONS_ONCE_US;
    lock_give(&sessions.lock);
}

bool sessions_take_once(struct span secret, int64_t now_us)
{
    unsigned char digest[DIGEST_BYTES];
    bool is_it;

    digest_of(secret, digest);
    lock_take(&sessions.lock);
    is_it = sessions.once_ends_us > now_us && memcmp(digest, sessions.once, DIGEST_BYTES) == 0;
    if (is_it)
        sessions.once_ends_us = 0;
    lock_give(&sessions.lock);
    return is_it;
}
