/* SPDX-License-Identifier: Apache-2.0 */
/* Reads policies from the store: immutable numbered complete versions, and an append-only history of what was activated.
 *
 * Threads: that of the connection.
 * Owns: nothing; results are copied out or lent during a callback.
 * Lifetime: none.
 * Errors: struct why for the store, struct faults for the policies' own text. A version whose text was changed outside of
 * callgate is refused. */
#ifndef LANGUAGE_STORE_H
#define LANGUAGE_STORE_H

#include "db/db.h"
#include "language/store_set.h"
#include "policy/policy.h"

/* The active version; 0: none. Cheap enough to be asked every second. */
enum code policy_store_active(struct db *db, uint64_t *version, struct why *why) MUST_USE;

/* Compiles a stored version. Takes: author: as policy_compile_for. Returns: CODE_NOT_FOUND; CODE_INVALID with faults, or with
 * why where the text is not the one that was stored. */
enum code policy_store_compile(struct db *db, uint64_t version, const struct authoring *author, struct policy **policy,
                               struct faults *faults, struct why *why) MUST_USE;

struct policy_store_version {
    uint64_t version;
    int64_t created_us;
    struct span author, message, hash;
    uint64_t files;
    uint64_t failing_tests;
    struct span despite;  /* why it was stored although they failed */
    int64_t activated_us; /* when, of a version when last; 0: never */
    struct span activated_by, activated_why;
    bool is_active;
};

/* Newest first. */
typedef enum code (*policy_store_version_fn)(void *context, const struct policy_store_version *version);
enum code policy_store_list(struct db *db, policy_store_version_fn each, void *context, struct why *why) MUST_USE;

/* A version each time that it was activated, the newest first: what was in force when, by whom and why. */
enum code policy_store_activations(struct db *db, policy_store_version_fn each, void *context, struct why *why) MUST_USE;

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

/* Reads a version into an empty set. All stored texts are read by this, so that nobody sees a text that its version's hash does
 * not cover. Errors: as of policy_store_files. */
enum code policy_set_read(struct db *db, uint64_t version, struct policy_set *set, char hash[2 * DIGEST_BYTES],
                          struct why *why) MUST_USE;

#endif
