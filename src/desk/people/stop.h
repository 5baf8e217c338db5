/* SPDX-License-Identifier: Apache-2.0 */
/* What commands know of stops.
 *
 * Threads: main.
 * Owns: nothing.
 * Lifetime: none.
 * Errors: none. */
#ifndef PEOPLE_STOP_H
#define PEOPLE_STOP_H

/* From now on `resume` ends only what was stopped in the name of whoever gives it: the process serves a guest whose role does
 * not let him end another's. */
void stops_restrict(void);

#endif
