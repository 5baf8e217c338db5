/* SPDX-License-Identifier: Apache-2.0 */
/* What operators share.
 *
 * Threads: any.
 * Owns: nothing.
 * Lifetime: none.
 * Errors: none. */
#ifndef WORDS_OPERATOR_PRIV_H
#define WORDS_OPERATOR_PRIV_H

#include "words/compiler.h"
#include "words/operators.h"
#include "policy/variable.h"
#include "policy/walk.h"

/* The text without its case, in the walk's arena. Returns: false: undecided. */
bool operator__fold(struct rule_walk *walk, struct span text, struct span *folded);

/* What an operand with variables says in this call, folded where the operator ignores case. Returns: false: undecided. */
bool operator__said(struct rule_walk *walk, const struct op *op, struct span text, enum variable_place place,
                    struct span *said);

#endif
