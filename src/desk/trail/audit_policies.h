/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a store has the policy versions that an audit's rows name, each with the text that judged.
 *
 * Threads: main.
 * Owns: nothing.
 * Lifetime: one call.
 * Errors: exit statuses; see args/command.h. */
#ifndef TRAIL_AUDIT_POLICIES_H
#define TRAIL_AUDIT_POLICIES_H

#include "files/trail.h"

#include <stdbool.h>

/* Prints what it finds. Returns: STATUS_NEGATIVE where a version is missing or its text is another one. */
int audit_policies_check(const struct trail *trail, const char *store, bool as_json);

#endif
