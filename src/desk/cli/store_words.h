/* SPDX-License-Identifier: Apache-2.0 */
/* What people put into the store that the trail is told of: holds, who reads it, and files that are given away.
 *
 * Threads: a connection belongs to one thread at a time.
 * Owns: nothing.
 * Lifetime: none.
 * Errors: enum code with a sentence. */
#ifndef CLI_STORE_WORDS_H
#define CLI_STORE_WORDS_H

#include "store/store_audit.h"

struct store_hold {
    int64_t id;
    struct span tenant, principal;  /* at == NULL: of any */
    int64_t since_us, until_us;     /* 0: without that bound */
    int64_t held_us, released_us;   /* 0: not released */
    struct span held_by, why, released_by, released_why;
};

enum code store_hold_add(struct db *db, const struct store_hold *hold, int64_t *id, struct why *why) MUST_USE;
/* CODE_NOT_FOUND; CODE_EXISTS where it is released already. */
enum code store_hold_release(struct db *db, int64_t id, struct span actor, struct span reason, int64_t now_us, struct why *why)
    MUST_USE;

/* Calls `each` for every hold, released ones too, by id; spans are valid during the call. */
typedef enum code (*store_hold_fn)(void *context, const struct store_hold *hold);
enum code store_holds_each(struct db *db, store_hold_fn each, void *context, struct why *why) MUST_USE;

/* The oldest erasure of a tenant's values that is under way, so that a hold comes too late for it; 0: none is.
 * Takes: tenant: at == NULL: of any. */
enum code store_audit_erasing(struct db *db, struct span tenant, int64_t *request, struct why *why) MUST_USE;

/* The newest hold's number, 0: there is none. */
enum code store_holds_newest(struct db *db, int64_t *hold, struct why *why) MUST_USE;

/* What that audit alone is told of: that somebody reads it over the socket, and that files of it are given away. */
struct store_reading {
    struct span command, tenants, actor; /* tenants: whose rows alone, as a JSON list; at == NULL: all */
    int64_t asked_us;
};
enum code store_audit_note_reading(struct db *db, const char *mark, const struct store_reading *reading,
                                   struct why *why) MUST_USE;

struct store_retirement {
    int64_t first, last;                 /* rows */
    struct span actor, why;
    int64_t retired_us;
    int64_t newest_hold;                 /* that was looked at; 0: there was none */
    int64_t shipped;                     /* so far the fleet's centre has the trail; -1: there is no fleet */
};
/* *id == 0: a hold was placed meanwhile, and nothing was written. */
enum code store_audit_retire(struct db *db, const char *mark, const struct store_retirement *retirement, int64_t *id,
                             struct why *why) MUST_USE;

#endif
