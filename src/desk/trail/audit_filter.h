/* SPDX-License-Identifier: Apache-2.0 */
/* Which calls an audit command means, by the options that query, tail, stats and export share.
 *
 * Threads: main.
 * Owns: nothing.
 * Lifetime: the query borrows from it and from argv.
 * Errors: exit statuses, told on stderr. */
#ifndef TRAIL_AUDIT_FILTER_H
#define TRAIL_AUDIT_FILTER_H

#include "cli/asked.h"
#include "crypto/digest.h"
#include "query/query.h"

/* Takes: digest: of a session; lives as long as the query. Returns: OPTIONS_GO with the query's filters set, or an exit
 * status. */
int audit_filter_read(const struct asked *asked, unsigned char digest[DIGEST_BYTES], struct query *query);

#endif
