/* SPDX-License-Identifier: Apache-2.0 */
/* What a condition comes to: Kleene's three values. `and` is the least, `or` the greatest, `not` the negative.
 *
 * Threads: any.
 * Owns: nothing.
 * Lifetime: none.
 * Errors: none. */
#ifndef TEXTS_TRUTH_H
#define TEXTS_TRUTH_H

#include <stdbool.h>

enum truth { TRUTH_FALSE = -1, TRUTH_UNDECIDED = 0, TRUTH_TRUE = 1 };

static inline enum truth truth_of(bool is)
{
    return is ? TRUTH_TRUE : TRUTH_FALSE;
}

static inline enum truth truth_and(enum truth a, enum truth b)
{
    return a < b ? a : b;
}

static inline enum truth truth_or(enum truth a, enum truth b)
{
    return a > b ? a : b;
}

static inline enum truth truth_not(enum truth a)
{
    return (enum truth)(-(int)a);
}

#endif
