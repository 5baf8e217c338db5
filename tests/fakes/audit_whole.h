/* SPDX-License-Identifier: Apache-2.0 */
/* Questions to all files of an audit, one after the other.
 *
 * Threads: the test's.
 * Owns: nothing.
 * Lifetime: one call each.
 * Errors: the process ends with a sentence. */
#ifndef FAKES_AUDIT_WHOLE_H
#define FAKES_AUDIT_WHOLE_H

#include "fakes/audit_file.h"

#include <stddef.h>
#include <stdint.h>

struct note_key;

long long audit_whole_sum(const struct audit_file *file, const char *sql); /* of the first columns */

/* Each of the numbers is exactly once in the first columns of what the files answer to sql, which may say more; told: what the test
 * calls the numbers. Each file is opened once, however many numbers there are. */
void audit_whole_has(const struct audit_file *file, const char *sql, const uint64_t *numbers, size_t count, const char *told);

/* Every file is whole and goes on from the one before. key: NULL: signatures are not asked for; heads: held against the last one. */
void audit_whole_verify(const struct audit_file *file, const struct note_key *key, struct span heads, const char *when);

#endif
