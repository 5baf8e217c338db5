/* SPDX-License-Identifier: Apache-2.0 */
/* Whether who gives a command touches alone what is his own: the process serves a guest whose role does not let him touch
 * another's. `resume` ends what was stopped in his name, `connect list` and `revoke` know the accounts of the principal he is.
 *
 * Threads: main.
 * Owns: nothing.
 * Lifetime: the process's.
 * Errors: none. */
#ifndef PEOPLE_OWN_H
#define PEOPLE_OWN_H

#include <stdbool.h>

void own_restrict(void); /* from now on */
bool own_alone(void);

#endif
