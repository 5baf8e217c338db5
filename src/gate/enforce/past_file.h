/* SPDX-License-Identifier: Apache-2.0 */
/* What was counted up to a row of the audit, in two files that are written in turn: which row and its hash, what the rules were
 * that asked for it, and the state. A MAC by a key of the store closes each: whoever can write the folder and lacks the key can
 * take them away, and has then made a start read more.
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

/* Where they are, and what closes them. */
struct past_place {
    const char *path;         /* "callgate.db.past-7c4a..."; behind it stands which of the two. NULL: none are kept */
    const unsigned char *key; /* DIGEST_BYTES */
};

struct past_file {
    struct buf bytes;
    uint64_t turn;            /* the later one is larger */
    uint64_t seq;             /* of the row that it stands at */
    unsigned char hash[DIGEST_BYTES];
    int64_t over_us;          /* what was over by then is left out */
    bool has_plans;
    struct span memory;       /* as past_file_memory writes it */
    struct span state;        /* as gate_state_keep */
};

enum code past_file_read(const struct past_place *place, unsigned which, struct past_file *file, struct why *why) MUST_USE;
void past_file_fini(struct past_file *file);

/* Takes: file: all but its bytes. */
enum code past_file_write(const struct past_place *place, unsigned which, const struct past_file *file, struct why *why)
    MUST_USE;

/* What a policy asks counting to keep (policy_each_memory); whether `kept` has all of it, and for as long. */
enum code past_file_memory(const struct policy *policy, struct buf *out) MUST_USE;
bool past_file_covers(struct span kept, struct span asked);

#endif
