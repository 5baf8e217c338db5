/* SPDX-License-Identifier: Apache-2.0 */
/* Policies in the store: immutable numbered complete versions, and an append-only history of what was activated.
 *
 * Threads: that of the connection.
 * Owns: nothing; results are copied out or lent during a callback.
 * Lifetime: none.
 * Errors: struct why for the store and the request, struct faults for the policies' own text. One transaction or nothing:
 * what does not compile is not stored, and a version whose text was changed behind our back is refused. */
#ifndef POLICY_STORE_H
#define POLICY_STORE_H

#include "db/db.h"
#include "policy/policy.h"

/* SQL that makes the tables, for the store's migrations, each a step of its own. */
extern const char policy_store_schema[];
extern const char policy_store_schema_why[]; /* activations say why */
extern const char policy_store_schema_tests[]; /* versions say which tests failed, and why they are stored all the same */

/* The active version; 0: none. Cheap enough to be asked every second. */
enum code policy_store_active(struct db *db, uint64_t *version, struct why *why) MUST_USE;

/* Compiles a stored version. Returns: CODE_NOT_FOUND; CODE_INVALID with faults, or with why where the text is not the
 * one that was stored. */
enum code policy_store_compile(struct db *db, uint64_t version, struct policy **policy, struct faults *faults,
                               struct why *why) MUST_USE;

enum policy_store_fate { POLICY_KEPT = 0, POLICY_REPLACED, POLICY_ADDED, POLICY_REMOVED };
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
    struct span message;             /* may be empty */
    struct span despite;             /* why it is stored although tests of the whole set fail; empty: it is not */
    policy_test_fn failed;           /* told of each test of the set that fails */
    int64_t now_us;
    void (*tell)(void *context, struct span name, enum policy_store_fate fate); /* by name; after all went well */
    void *context;
};

/* Runs the `tests:` of the whole set that would be stored. Returns: CODE_OK with *version; CODE_INVALID with faults;
 * CODE_DENIED where tests fail and `despite` is empty, or where --yes is missing; CODE_NOT_FOUND for the name to remove; else
 * the store's failure. Warnings may be NULL. */
enum code policy_store_apply(struct db *db, const struct policy_store_change *change, uint64_t *version,
                             struct faults *faults, struct faults *warnings, struct why *why) MUST_USE;

/* Compiles what policy_store_apply would store, and stores nothing; its version is 0. Errors as there. */
enum code policy_store_preview(struct db *db, const struct policy_store_change *change, struct policy **policy,
                               struct faults *faults, struct why *why) MUST_USE;

/* Rollback is activation of an old version. It must compile here. Takes: message, why; may be empty. */
enum code policy_store_activate(struct db *db, uint64_t version, struct span author, struct span message, int64_t now_us,
                                struct faults *faults, struct why *why) MUST_USE;

struct policy_store_version {
    uint64_t version;
    int64_t created_us;
    struct span author, message, hash;
    uint64_t files;
    uint64_t failing_tests;
    struct span despite;  /* why it was stored although they failed */
    int64_t activated_us; /* when last; 0: never */
    struct span activated_by, activated_why;
    bool is_active;
};

/* Newest first. */
typedef enum code (*policy_store_version_fn)(void *context, const struct policy_store_version *version);
enum code policy_store_list(struct db *db, policy_store_version_fn each, void *context, struct why *why) MUST_USE;

/* Every activation, the newest first: what was in force when, by whom and why. */
struct policy_store_activation {
    uint64_t version;
    int64_t activated_us;
    struct span activated_by, message;
};
typedef enum code (*policy_store_activation_fn)(void *context, const struct policy_store_activation *activation);
enum code policy_store_activations(struct db *db, policy_store_activation_fn each, void *context, struct why *why) MUST_USE;

/* The files of a version, by name, after all of them were found to be what its hash says. CODE_NOT_FOUND where there is no such
 * version, CODE_INVALID where its text is another one now. */
struct policy_store_file {
    struct span name, path, text, sha256;
};
typedef enum code (*policy_store_file_fn)(void *context, const struct policy_store_file *file);
enum code policy_store_files(struct db *db, uint64_t version, policy_store_file_fn each, void *context,
                             struct why *why) MUST_USE;

/* Whether the version is there with the text that has this hash (hexadecimal). Errors as of policy_store_files. */
enum code policy_store_check(struct db *db, uint64_t version, struct span hash, struct why *why) MUST_USE;

#endif
