/* SPDX-License-Identifier: Apache-2.0 */
/* 11.10: of what is tried at many places in the same way, `make check` and the sanitizers' step of `make test` try each n-th, `make test`
 * itself and `make asan` all.
 *
 * Threads: any.
 * Owns: nothing.
 * Lifetime: none.
 * Errors: none. */
#ifndef FAKES_SAMPLE_H
#define FAKES_SAMPLE_H

#include <stdlib.h>

static inline unsigned sample_step(void)
{
    const char *said = getenv("CALLGATE_SAMPLE");
    unsigned long step = said != NULL ? strtoul(said, NULL, 10) : 1;

    return step > 1 ? (unsigned)step : 1;
}

#endif
