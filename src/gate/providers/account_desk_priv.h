/* SPDX-License-Identifier: Apache-2.0 */
/* What the two halves of the desk of people's accounts share: newer tokens (account_desk.c), people who connect
 * (account_people.c).
 *
 * Threads: main, but for what web/ answers.
 * Owns: nothing.
 * Lifetime: the desk's.
 * Errors: told to who waits. */
#ifndef PROVIDERS_ACCOUNT_DESK_PRIV_H
#define PROVIDERS_ACCOUNT_DESK_PRIV_H

#include "base/list.h"
#include "providers/account_desk.h"
#include "store/store_accounts.h"

#include <pthread.h>

#define ACCOUNT__RETRY_US INT64_C(5000000) /* a provider that gave none is not asked again before */
#define ACCOUNT__BODY_BYTES ((size_t)64 << 10)
#define ACCOUNT__TOKEN_BYTES ACCOUNT__BODY_BYTES /* whatever an answer holds is kept */
#define ACCOUNT__URL_BYTES 4096

struct account_desk {
    struct outgoing_ways ways;
    struct list under_way;  /* main's */
    bool is_due;            /* the store may hold what is to be done */
    int64_t ended;          /* up to which end of an account was told */
    pthread_mutex_t lock;   /* over what web/ has answered, in the talks */
};

/* One request to a provider. */
struct talk {
    struct list all;
    struct account_desk *desk;
    struct proxy_conf *conf;
    const struct proxy_fetched *of;
    struct lookup_key key;         /* whoever waits for the token */
    struct store_account account;  /* its texts lie in `texts` */
    struct store_account_ask ask;  /* id 0: nobody connects, a newer token is asked for; likewise */
    struct buf texts, login;       /* login: likewise */
    int64_t asked_us;
    bool is_answered, is_read;     /* is_answered: under the desk's lock; what web/ writes is read behind it */
    enum code code;
    int status;
    bool is_json;
    struct why why;
    struct buf body;
    struct outgoing_token *token;  /* that goes up once `refresh` is kept */
    struct buf refresh, scopes;
};

/* The route of that name to which people connect; NULL: there is none. */
const struct proxy_fetched *account__route(const struct proxy_conf *conf, struct span upstream);
struct span account__issuer(const struct outgoing *outgoing);
/* Where something of a provider is: as the route says, or its metadata under `name`. Returns: 0: not known yet. */
size_t account__find_url(struct account_desk *desk, const struct outgoing *outgoing, const char *own, const char *name,
                         char out[ACCOUNT__URL_BYTES]);
bool account__is_under_way(const struct account_desk *desk, struct span tenant, struct span principal, struct span upstream);

/* Returns: NULL: no memory. */
struct talk *account__talk_new(struct account_desk *desk, struct proxy_conf *conf, const struct proxy_fetched *of);
void account__end(struct talk *talk);
/* Nothing more comes of it. Takes: why: for the log and for who connects. */
void account__fail(struct talk *talk, enum reason reason, int64_t pause, const char *why);
/* From here on the talk is web's until it has answered, or it has failed. */
void account__post(struct talk *talk, const char *url, const struct outgoing_wish *wish);

void account__fail_person(struct account_desk *desk, int64_t ask, const char *problem);
/* Returns: whether somebody waits for a later look. */
bool account__serve_people(struct account_desk *desk, struct proxy_conf *conf);

#endif
