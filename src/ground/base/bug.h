/* SPDX-License-Identifier: Apache-2.0 */
/* BUG_ON: aborts, in every build, when an invariant of the program is broken.
 *
 * Threads: any.
 * Owns: nothing.
 * Lifetime: none.
 * Errors: never used for input, memory, descriptors or a peer's behaviour, since with those an attacker
 *   could stop the process. */
#ifndef BASE_BUG_H
#define BASE_BUG_H

_Noreturn void bug_abort(const char *condition, const char *file, int line, const char *function);

#define BUG_ON(condition)                                                   \
    do {                                                                    \
        if (__builtin_expect(!!(condition), 0))                             \
            bug_abort(#condition, __FILE__, __LINE__, __func__);            \
    } while (0)

#endif
