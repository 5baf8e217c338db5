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
#include "policy/path.h"
#include "words/operator_tbl.h"

#define X(word) extern const struct operator operator__##word; /* each in its own file, one in a room of its own */
OPERATOR_TABLE(X)
#undef X

/* The operator of this word; NULL: there is none. */
const struct operator *policy_operator(struct span word);

/* Adds a type to an `is` by its word. Returns: false: it is no type. */
bool operator_type_add(struct op *op, struct span word);

/* What the operator says of the value. */
enum truth policy_op(struct rule_walk *walk, const struct op *op, const struct json_node *value);

/* Whether one of the leaf's operators is undecided on this array or object at the end of `..*`, and the value is skipped, since
 * what is in it is selected, too. Takes: path: which of the leaf's paths selected the value. */
bool policy_leaf_skips(const struct condition *leaf, const struct path *path, const struct json_node *value);

/* Whether some operator of the leaf looks at what is hidden in this value. */
bool policy_leaf_is_blind(const struct question_hidden *hidden, const struct condition *leaf, const struct json_node *value);

#endif
