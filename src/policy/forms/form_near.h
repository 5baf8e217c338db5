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

/* Hands on a command of this form, and each near miss of it, with how it differs; op_near_fn of operator.h. */
void form_near(const struct form *form, op_near_fn take, void *context);

/* Whether some kind of the form has variables of the call. */
bool form_varies(const struct form *form);

/* The form that the command is, beside any call, or the one that it follows furthest; NULL: none. All forms together may cost
 * what one call may. Sets: *reached: as form_fits; *fits. */
const struct form *form_nearest(const struct form *forms, uint32_t count, const struct json_node *words, uint32_t *reached,
                                bool *fits);

/* Warns of an option behind which a kind was read as its value, and which thereby says more than its author may have meant. */
void form_warn(struct compiler *c, const struct yaml_node *node, const struct form *form);

#endif
