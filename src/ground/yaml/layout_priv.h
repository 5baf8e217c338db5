/* SPDX-License-Identifier: Apache-2.0 */
/* What reading and writing a layout share.
 *
 * Threads: as layout.h.
 * Owns: nothing.
 * Lifetime: the layout's.
 * Errors: marked on the buffer. */
#ifndef YAML_LAYOUT_PRIV_H
#define YAML_LAYOUT_PRIV_H

#include "base/mem.h"
#include "yaml/layout.h"

struct layout {
    struct arena arena;
    struct span text;
    struct layout_node *root;
    struct layout_comment *head, *foot; /* in front of the first key, and behind all */
    bool gap;                           /* a blank line stands between the head and what follows */
};

/* Appends a scalar, or a key, with the quotes that it needs. Several lines stand as they were, but for what moves them.
 * Takes: moved: by how many columns it begins further right than it did; least: where further lines begin at least. */
void layout__scalar(struct buf *out, const struct layout_node *node, long moved, size_t least);
void layout__key(struct buf *out, const struct layout_node *node);
/* Appends a text of `|` or `>`, whose lines stand in this column. */
void layout__block(struct buf *out, const struct layout_node *node, size_t column);

#endif
