/* SPDX-License-Identifier: Apache-2.0 */
/* The language: text becomes a policy (policies/LANGUAGE.md).
 *
 * Threads: compile on any one thread.
 * Owns: a policy owns copies of the texts.
 * Lifetime: as policy.h.
 * Errors: struct faults (up to 20 with places) and warnings. */
#ifndef LANGUAGE_LANGUAGE_H
#define LANGUAGE_LANGUAGE_H

#include "policy/policy.h"

struct policy_file {
    struct span path; /* as the author gave it; messages name it, and it is stored */
    struct span text; /* YAML */
};

/* What only those need who write policies (words/compiler.h): tests, warnings, words of other languages. */
struct authoring;
extern const struct authoring policy_authoring;

/* Compiles a complete set of files, with all that their authors need.
 * Takes: version (0 for one not stored yet); faults and warnings collect; warnings may be NULL.
 * Returns: CODE_OK with *policy holding one reference; CODE_INVALID with faults; CODE_NOMEM. */
enum code policy_compile(const struct policy_file *files, size_t count, uint64_t version, struct policy **policy,
                         struct faults *faults, struct faults *warnings) MUST_USE;
/* Likewise. Takes: author: NULL where the files are only enforced: their tests are passed over, and there are no warnings. */
enum code policy_compile_for(const struct authoring *author, const struct policy_file *files, size_t count, uint64_t version,
                             struct policy **policy, struct faults *faults, struct faults *warnings) MUST_USE;
/* Appends the `policy:` name of one file's text. */
enum code policy_name_of(struct span text, const char *path, struct buf *name, struct faults *faults) MUST_USE;

/* Whether a file's patterns, lists, detectors or paths are for all files of its version. */
bool policy_shares(struct span text);

/* One call alone, written like `call:` of a test. Returns: CODE_OK with *holder, a policy without rules that holds the call as
 * its only test; CODE_INVALID with faults; CODE_NOMEM. */
enum code policy_call_read(const struct policy_file *file, struct policy **holder, struct faults *faults) MUST_USE;

#endif
