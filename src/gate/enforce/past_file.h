/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps what was counted up to a row of the audit, in two files that are written in turn: the row and its hash, what the rules
 * asked to be counted, and the state. A MAC by a key of the store ends each. Whoever can write the folder but lacks the key can
 * only remove the files; then a start reads more.
 *
 * Threads: one at a time for a pair of files.
 * Owns: struct past_file its bytes.
 * Lifetime: past_file_read to past_file_fini.
 * Errors: enum code with a sentence; CODE_NOT_FOUND: there is none; CODE_INVALID: torn, of another key, of another build. */
#ifndef ENFORCE_PAST_FILE_H
#define ENFORCE_PAST_FILE_H

#include "base/buf.h"
#include "base/why.h"
#include "crypto/digest.h"
#include "policy/policy.h"

#include <stdbool.h>
#include <stdint.h>

#define PAST_FILES 2

/* Where the files are, and the key of their MAC. */
struct past_place {
    const char *path;         /* "callgate.db.past-7c4a...", to which the number of the file is added; NULL: none are kept */
    const unsigned char *key; /* DIGEST_BYTES */
};

struct past_file {
    struct buf bytes;
    uint64_t turn;            /* the later one is larger */
    uint64_t seq;             /* the last row that was counted */
    unsigned char hash[DIGEST_BYTES];
    int64_t over_us;          /* what was over at this time is left out */
    bool has_plans;
    struct span memory;       /* as past_file_memory writes it */
    struct span state;        /* as gate_state_keep writes it */
};

enum code past_file_read(const struct past_place *place, unsigned which, struct past_file *file, struct why *why) MUST_USE;
void past_file_fini(struct past_file *file);

/* Takes: file: all but its bytes. */
enum code past_file_write(const struct past_place *place, unsigned which, const struct past_file *file, struct why *why)
    MUST_USE;

/* past_file_memory: what a policy needs counted (policy_each_memory). past_file_covers: whether `kept` has
 * all of `asked`, for as long. */
enum code past_file_memory(const struct policy *policy, struct buf *out) MUST_USE;
bool past_file_covers(struct span kept, struct span asked);

#endif
