/* SPDX-License-Identifier: Apache-2.0 */
/* Which operators there are. Each stands in a file operator_*.c of this folder; operator_tbl.h has their words.
 *
 * Threads: any.
 * Owns: nothing.
 * Lifetime: none.
 * Errors: none. */
#ifndef WORDS_OPERATORS_H
#define WORDS_OPERATORS_H

#include "policy/operator.h"
#include "words/operator_tbl.h"

/* By its word; NULL: there is none. */
const struct operator *policy_operator(struct span word);

/* Adds a type to an `is` by its word. Returns: false: it is no type. */
bool operator_type_add(struct op *op, struct span word);

#endif
