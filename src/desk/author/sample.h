/* SPDX-License-Identifier: Apache-2.0 */
/* A text that a regex is likely to match: a guess that is tried, never a judgement. Of alternatives the first is taken, of
 * repetitions the fewest but one, and what is not understood is left out.
 *
 * Threads: any.
 * Owns: nothing.
 * Lifetime: the holder's.
 * Errors: none; what has no room is left out. */
#ifndef AUTHOR_SAMPLE_H
#define AUTHOR_SAMPLE_H

#include "base/span.h"

#include <stdbool.h>
#include <stdint.h>

#define SAMPLE_MAX 512
#define SAMPLE_ANY_MAX 16

struct sample {
    char text[SAMPLE_MAX];
    size_t len;
    struct sample_any { /* where any character may stand, a dot and a slash among them; `x` does */
        size_t at;
        bool is_run; /* of any length; else it is a dot alone */
    } any[SAMPLE_ANY_MAX];
    uint32_t any_count;
};

void sample_make(struct span pattern, struct sample *sample);

#endif
