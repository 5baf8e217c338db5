/* SPDX-License-Identifier: Apache-2.0 */
/* Near misses that pass: what an opening condition takes although it differs in one thing from what was written.
 *
 * Threads: any one.
 * Owns: nothing.
 * Lifetime: none.
 * Errors: the document's. */
#ifndef AUTHOR_NEAR_H
#define AUTHOR_NEAR_H

#include "json/doc.h"
#include "policy/policy.h"

/* Adds an object for each written part, such as a form, of which some near miss passes: file, line, rule, form, how many were
 * tried, the first few that pass, and how many more do. Each part is told once, wherever several rules name it.
 * Returns: how many near misses were tried. */
uint64_t near_misses(const struct policy *policy, struct doc *list);

#endif
