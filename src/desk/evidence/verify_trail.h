/* SPDX-License-Identifier: Apache-2.0 */
/* Verifies the files of a trail, as many at once as there are processors, and tells of each in its turn.
 *
 * Threads: the caller's and others, which have ended when verify_trail returns. What is called back is called by one at a time.
 * Owns: nothing; the conf is the caller's.
 * Lifetime: one call.
 * Errors: enum code with a sentence where a thread cannot be started; what becomes of a file is told. */
#ifndef EVIDENCE_VERIFY_TRAIL_H
#define EVIDENCE_VERIFY_TRAIL_H

#include "evidence/verify.h"
#include "files/trail.h"

/* What became of one file. Returns: false: those behind it are not wanted any more. */
typedef bool (*verify_tell)(void *context, const struct verify_conf *conf, size_t at, enum code code,
                            const struct verify_report *report, const struct why *why);

struct verify_trail_conf {
    const struct trail *trail;
    size_t from;              /* the first file that is verified; those before it were */
    unsigned threads;         /* at least one */
    struct verify_conf each;  /* of any of its files; with the sequence, and the context of all that is called back */
    const char *live;         /* where the last of its files is looked for; that one alone may move */
    verify_tell tell;
};

enum code verify_trail(const struct verify_trail_conf *conf, struct why *why) MUST_USE;

#endif
