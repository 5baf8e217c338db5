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
#include "policy/other.h"
#include "policy/variable.h"
#include "policy/walk.h"

#define LOCAL_MAX 64  /* RFC 5321, 4.5.3.1.1 */
#define EMAIL_MAX 254 /* RFC 5321, 4.5.3.1.3, without the angle brackets */

/* The text as `ignore_case` compares it, in the walk's arena. Returns: false: undecided. */
bool operator__fold(struct rule_walk *walk, struct span text, struct span *folded);

/* What an operand with variables says in this call, folded where the operator ignores case. Returns: false: undecided. */
bool operator__said(struct rule_walk *walk, const struct op *op, struct span text, enum variable_place place,
                    struct span *said);

/* operand.c: operands that name a value, {arg: PATH} or {claim: PATH}, or a moment. The two that read one set op->other. */
bool operand_names_value(const struct yaml_node *node);
void operand_doubt(struct compiler *c, const struct yaml_node *node); /* warns of what looks so and names none */
void operand_value(struct compiler *c, const struct yaml_node *node, struct op *op);
void operand_moment(struct compiler *c, const struct yaml_node *node, struct op *op);

#endif
