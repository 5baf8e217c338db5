/* SPDX-License-Identifier: Apache-2.0 */
/* What an operand names in place of a value: another argument, a claim of who calls, the moment of the call.
 *
 * Threads: immutable once compiled.
 * Owns: nothing; it lives in the snapshot's arena.
 * Lifetime: the snapshot's.
 * Errors: none: what is not there, or is of another type, leaves whoever asks undecided. */
#ifndef POLICY_OTHER_H
#define POLICY_OTHER_H

#include "policy/walk.h"

enum other_kind { OTHER_VALUE = 0, OTHER_NOW, OTHER_MOMENT };

struct op_other {
    enum other_kind kind;
    enum condition_root from; /* VALUE: FROM_ARG or FROM_CLAIM */
    struct path path;         /* selects one value at most */
    const struct claim_ask *claim;
    struct op_other *next; /* while it is compiled */
    int64_t plus_us; /* of moments: added; of MOMENT: since 1970 */
};

/* The value that is named. Returns: NULL: there is none, or it was lost with the record; *instead is then what to answer.
 * Takes: op->other: of a value. */
const struct json_node *other_value(struct rule_walk *walk, const struct op *op, enum truth *instead);

/* The moment that is named. Returns: false: as other_value. */
bool other_moment(struct rule_walk *walk, const struct op *op, int64_t *time_us, enum truth *instead);

#endif
