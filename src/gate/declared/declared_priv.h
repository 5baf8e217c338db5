/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this room share: ways to values, and names of a server's tools.
 *
 * Threads: any.
 * Owns: nothing.
 * Lifetime: none.
 * Errors: enum reason. */
#ifndef DECLARED_DECLARED_PRIV_H
#define DECLARED_DECLARED_PRIV_H

#include "declared/declared.h"

/* The value there; NULL: there is none. Of a path without a step it is the node itself. */
const struct json_node *declared__at(const struct json_node *node, const struct declared_path *path);

/* Makes SERVER__NAME. Returns: PERMITTED; INNER_CALL: no server has such a name; MEMORY. */
enum reason declared__name(struct span server, struct span name, struct arena *arena, struct span *tool);

#endif
