/* SPDX-License-Identifier: Apache-2.0 */
/* Changes of the policies in the store: a new version out of the active one, and what is in force.
 *
 * Threads: that of the connection.
 * Owns: nothing.
 * Lifetime: none.
 * Errors: as language/store.h. */
#ifndef AUTHOR_STORE_CHANGE_H
#define AUTHOR_STORE_CHANGE_H

#include "judgement/judgement.h"
#include "language/language.h"
#include "language/store.h"
#include "language/stray.h"

const char *policy_store_fate_text(enum policy_store_fate fate); /* "kept" ... */

/* One change of the active set into a new version. */
struct policy_store_change {
    const struct policy_file *files; /* load: they replace those of their `policy:` names */
    size_t file_count;
    struct span remove;              /* or the name of the one to leave out */
    bool only;                       /* exactly these files */
    bool may_remove;                 /* `only` may remove others (--yes) */
    bool activate;
    struct span author;
    struct span why;                 /* may be empty */
    const struct policy_route *routes; /* whose names the files' rules are held against */
    size_t route_count;                /* 0: nothing is known of them */
    bool despite_tests, despite_strays; /* it is stored although tests of the whole set fail, or routes are missing */
    policy_test_fn failed;           /* told of each test of the set that fails */
    int64_t now_us;
    void (*tell)(void *context, struct span name, enum policy_store_fate fate); /* by name; after all went well */
    void *context;
};

/* What became of a change. */
struct policy_stored {
    uint64_t version; /* which has these texts; 0: there is none, and none was made */
    bool is_new, is_activated; /* by this change */
    bool is_active;
};

/* Runs the `tests:` of the whole set that would be stored; as long as it compiles and tests, it locks nothing. What its new
 * files forbid, hold or redact for upstreams that no route has is a fault, in what stays a warning. A set is stored once: where
 * the active version has these very texts nothing happens. Where another has them that one is activated, unless it or this
 * change was stored despite something, which the new version says of itself. Returns: CODE_OK with *stored; CODE_INVALID with
 * faults; CODE_DENIED where tests fail and may not, or where --yes is missing; CODE_NOT_FOUND for the name to remove;
 * CODE_EXISTS where others' versions became active meanwhile; else the store's failure. Warnings may be NULL. */
enum code policy_store_apply(struct db *db, const struct policy_store_change *change, struct policy_stored *stored,
                             struct faults *faults, struct faults *warnings, struct why *why) MUST_USE;

/* Compiles what policy_store_apply would store, and stores nothing; its version is 0. Errors as there. */
enum code policy_store_preview(struct db *db, const struct policy_store_change *change, struct policy **policy,
                               struct faults *faults, struct why *why) MUST_USE;

/* Rollback is activation of an old version. It must compile here. Takes: message: why; may be empty. */
enum code policy_store_activate(struct db *db, uint64_t version, struct span author, struct span message, int64_t now_us,
                                struct faults *faults, struct why *why) MUST_USE;

#endif
