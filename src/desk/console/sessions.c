/* SPDX-License-Identifier: Apache-2.0 */
#include "console/sessions.h"

#include "base/lock.h"
#include "base/num.h"
#include "crypto/digest.h"
#include "crypto/secret.h"
#include "os/clock.h"
#include "people/login.h"

#include <stdio.h>
#include <string.h>

#define SESSIONS_MAX 256
#define RENEWED_MS 15000 /* so long a page waits for somebody else who renews its login */
#define SESSIONS_OF_ONE 16 /* the next ends the oldest of these, so that nobody keeps others out */

/* A secret is kept as its digest alone: how long a look-up takes says nothing of it. */
struct kept {
    unsigned char cookie[DIGEST_BYTES];
    char token[SESSIONS_SECRET_BYTES];
    unsigned roles;
    char who[SESSIONS_WHO_BYTES];
    struct secret {
        char *at; /* in the heap of secrets; NULL: there is none, and of the login that it is the account */
        size_t len;
    } login, refresh;
    unsigned by;
    int64_t login_ends_us, renew_us, known_us; /* known_us: monotonic: when the gate was asked last who that is */
    bool is_renewed; /* at the moment, by somebody */
    int64_t ends_us; /* 0: there is none */
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t renewed;
    bool has_sign; /* renewed is made */
    struct kept all[SESSIONS_MAX];
    unsigned char once[DIGEST_BYTES];
    int64_t once_ends_us; /* 0: it was used */
} sessions = {.lock = PTHREAD_MUTEX_INITIALIZER};

void session_init(struct session *session)
{
    *session = (struct session){.roles = 0};
    buf_init(&session->login, LOGIN_BYTES);
    buf_wipes(&session->login);
    buf_init(&session->refresh, LOGIN_BYTES);
    buf_wipes(&session->refresh);
}

void session_fini(struct session *session)
{
    buf_fini(&session->login);
    buf_fini(&session->refresh);
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

void session_take(struct session *session, struct span login, struct span refresh)
{
    bool is_kept = refresh.at == buf_peek(&session->refresh).at;

    buf_clear(&session->login);
    if (!is_kept)
        buf_clear(&session->refresh);
    session->has_login = buf_put(&session->login, login) == CODE_OK && buf_add_byte(&session->login, '\0') == CODE_OK &&
                         (is_kept || buf_put(&session->refresh, refresh) == CODE_OK);
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
    secret_free(kept->login.at, kept->login.len);
    secret_free(kept->refresh.at, kept->refresh.len);
    *kept = (struct kept){.ends_us = 0};
}

/* Returns: false where there is no memory for it, and nothing of it is kept. */
static bool keep_secret(struct secret *secret, struct span text)
{
    secret_free(secret->at, secret->len);
    *secret = (struct secret){.at = text.len > 0 ? secret_copy(text.at, text.len) : NULL, .len = text.len};
    return text.len == 0 || secret->at != NULL;
}

static void keep_who(struct kept *kept, const struct session *session)
{
    kept->roles = session->roles;
    memcpy(kept->who, session->who, sizeof kept->who);
}

/* Of a login that is there. */
static bool keep_login(struct kept *kept, const struct session *session)
{
    kept->by = session->by;
    kept->login_ends_us = session->ends_us;
    kept->renew_us = session->renew_us;
    keep_who(kept, session);
    return keep_secret(&kept->login, session->has_login ? buf_peek(&session->login) : SPAN_NONE) &&
           keep_secret(&kept->refresh, buf_peek(&session->refresh));
}

static bool show_login(const struct kept *kept, struct session *session)
{
    buf_clear(&session->login);
    buf_clear(&session->refresh);
    session->by = kept->by;
    session->ends_us = kept->login_ends_us;
    session->renew_us = kept->renew_us;
    session->roles = kept->roles;
    session->has_login = kept->login.at != NULL;
    memcpy(session->who, kept->who, sizeof session->who);
    return buf_put(&session->login, span_of(kept->login.at, kept->login.at != NULL ? kept->login.len : 0)) == CODE_OK &&
           buf_put(&session->refresh, span_of(kept->refresh.at, kept->refresh.at != NULL ? kept->refresh.len : 0)) == CODE_OK;
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

    make_secret(session->cookie);
    make_secret(session->token);
    lock_take(&sessions.lock);
    kept = find_place(session->who, now_us);
    if (kept != NULL && !keep_login(kept, session)) {
        forget(kept);
        kept = NULL;
    }
    if (kept != NULL) {
        digest_of(span_text(session->cookie), kept->cookie);
        memcpy(kept->token, session->token, sizeof kept->token);
        kept->ends_us = now_us + SESSIONS_LIFE_US;
        kept->known_us = now_us;
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
    is_there = kept != NULL && kept->ends_us > now_us && show_login(kept, session);
    if (is_there) {
        (void)snprintf(session->cookie, sizeof session->cookie, "%.*s", SPAN_ARG(cookie));
        memcpy(session->token, kept->token, sizeof session->token);
        session->is_due = now_us - kept->known_us >= SESSIONS_KNOWN_US;
        kept->known_us = session->is_due ? now_us : kept->known_us; /* one asks, however many pages are open */
    }
    lock_give(&sessions.lock);
    return is_there;
}

/* What renews a login is good once with many providers: two who show it would end the login. */
bool sessions_renew(struct session *session, int64_t now_us)
{
    const struct timespec until = clock_after_ms(RENEWED_MS);
    struct kept *kept;
    bool is_ours, is_late = false;

    lock_take(&sessions.lock);
    if (!sessions.has_sign)
        lock_sign_init(&sessions.renewed);
    sessions.has_sign = true;
    while ((kept = find(span_text(session->cookie))) != NULL && kept->is_renewed && !is_late)
        is_late = pthread_cond_timedwait(&sessions.renewed, &sessions.lock, &until) != 0;
    is_ours = kept != NULL && !kept->is_renewed && kept->renew_us <= now_us && show_login(kept, session);
    if (is_ours)
        kept->is_renewed = true;
    else if (kept != NULL)
        (void)show_login(kept, session);
    lock_give(&sessions.lock);
    return is_ours;
}

void sessions_renewed(const struct session *session)
{
    struct kept *kept;

    lock_take(&sessions.lock);
    kept = find(span_text(session->cookie));
    if (kept != NULL && !keep_login(kept, session))
        forget(kept);
    else if (kept != NULL)
        kept->is_renewed = false;
    pthread_cond_broadcast(&sessions.renewed);
    lock_give(&sessions.lock);
}

void sessions_know(const struct session *session)
{
    struct kept *kept;

    lock_take(&sessions.lock);
    kept = find(span_text(session->cookie));
    if (kept != NULL)
        keep_who(kept, session);
    lock_give(&sessions.lock);
}

void sessions_end(struct span cookie)
{
    struct kept *kept;

    lock_take(&sessions.lock);
    kept = find(cookie);
    if (kept != NULL)
        forget(kept);
    if (sessions.has_sign)
        pthread_cond_broadcast(&sessions.renewed);
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
