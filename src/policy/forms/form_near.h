/* SPDX-License-Identifier: Apache-2.0 */
/* Near misses of a form: commands that differ from it in one thing. What a form takes of them its author may not have meant.
 *
 * Threads: any.
 * Owns: nothing.
 * Lifetime: none.
 * Errors: none; a form whose kinds take none of the usual words has no near misses, as nobody knows what it takes. */
#ifndef FORMS_FORM_NEAR_H
#define FORMS_FORM_NEAR_H

#include "policy/operator.h"
#include "forms/form.h"

/* Of `words`: each command of a form, and what is nearly one; of a command, the form that it is or nearly is. */
extern const struct op_guide form_guide;

/* Warns of an option behind which a kind was read as its value, and which thereby says more than its author may have meant. */
void form_warn(struct compiler *c, const struct yaml_node *node, const struct form *form);

#endif
