/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this room share: ways to values and lists, and names of a server's tools.
 *
 * Threads: any.
 * Owns: nothing.
 * Lifetime: none.
 * Errors: enum reason. */
#ifndef DECLARED_DECLARED_PRIV_H
#define DECLARED_DECLARED_PRIV_H

#include "declared/declared.h"

/* Reads `$.tools[*].name`; `$.names[*]` where the elements are names, `$[*]` where the document is the list. Takes: text: lives
 * as long as the list. Returns: whether it is one. */
bool declared__list_read(struct span text, struct declared_list *list);
/* Copies what was read of a file into the reader's arena. */
struct span declared__keep(struct declared_reader *reader, struct span text);
void declared__path_keep(struct declared_reader *reader, struct declared_path *path);

/* The value there; NULL: there is none. Of a path without a step it is the node itself. */
const struct json_node *declared__at(const struct json_node *node, const struct declared_path *path);

/* Makes SERVER__NAME. Returns: PERMITTED; INNER_CALL: no server has such a name; MEMORY. */
enum reason declared__name(struct span server, struct span name, struct arena *arena, struct span *tool);

#endif
