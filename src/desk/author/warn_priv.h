/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of warn_policy.
 *
 * Threads: as warn.h.
 * Owns: nothing.
 * Lifetime: none.
 * Errors: CODE_NOMEM. */
#ifndef AUTHOR_WARN_PRIV_H
#define AUTHOR_WARN_PRIV_H

#include "author/warn.h"
#include "policy/snapshot.h"
#include "policy/walk.h"

/* What of it holds everywhere, or nowhere. */
void warn__wide(const struct policy *policy, size_t route_count, struct faults *warnings);
bool warn__name_covers(const struct match_name *outer, const struct match_name *inner);
/* Whether every call in `inner` is in `outer`, as far as can be read off the names. */
bool warn__covers(const struct match *outer, const struct match *inner);
void warn__holes(const struct policy *policy, struct faults *warnings); /* a condition takes more than it says */
void warn__never(const struct rule *rule, struct faults *warnings);                            /* no call fulfils it */
enum code warn__names(const struct policy *policy, struct faults *warnings) MUST_USE;          /* names that look alike */

#endif
