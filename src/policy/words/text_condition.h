/* SPDX-License-Identifier: Apache-2.0 */
/* A condition about one text inside of an operator, such as the part behind a `cut` or a word of a command. It is written as in
 * `when`, without a path: operators, `not_matches`, and `not`, `any` and `all` of such maps; a map holds where all of it does.
 *
 * Threads: immutable once compiled.
 * Owns: nothing; all of it lives in the snapshot's arena.
 * Lifetime: the snapshot's.
 * Errors: faults in what an author wrote; a truth never fails, it is undecided. */
#ifndef WORDS_TEXT_CONDITION_H
#define WORDS_TEXT_CONDITION_H

#include "words/compiler.h"
#include "policy/walk.h"

/* Takes: opening: of the operator in which it stands (struct op). Returns: NULL: no memory, or no map, with a fault. */
const struct condition *compiler_text_condition(struct compiler *c, const struct yaml_node *map, bool opening);

/* Faults for what goes with an operator (`anchor`, `front`, `rest`) in a map that lacks it; of conditions in `when`, too. */
void compiler_companions(struct compiler *c, const struct yaml_node *map);

/* Takes: any text in UTF-8; an empty one, too. Its operators charge the walk for themselves. */
enum truth text_condition_truth(struct rule_walk *walk, const struct condition *condition, struct span text);

/* Whether the condition has variables of the call. */
bool text_condition_varies(const struct condition *condition);

/* Hands on texts that are worth asking the condition about. */
void text_condition_sample(const struct condition *condition, struct samples *samples);

#endif
