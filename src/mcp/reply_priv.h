/* SPDX-License-Identifier: Apache-2.0 */
/* What reply.c learns during its walk, and the pieces that are cut out of the canonical bytes after it.
 *
 * Threads: belongs to one thread.
 * Owns: the list of cuts.
 * Lifetime: one mcp_reply_read.
 * Errors: enum code; `reason` says which ending. */
#ifndef MCP_REPLY_PRIV_H
#define MCP_REPLY_PRIV_H

#include "mcp/mcp_priv.h"
#include "mcp/reply.h"

/* A member or element that does not go on, as offsets into the canonical bytes. */
struct mcp__cut {
    size_t begin;
    size_t end;
};

struct mcp__cuts {
    struct buf list; /* of struct mcp__cut: disjoint, rising */
};

void mcp__cuts_init(struct mcp__cuts *cuts);
void mcp__cuts_fini(struct mcp__cuts *cuts);

/* Takes: pieces in the order of their ends; one that holds earlier ones replaces them. */
enum code mcp__cuts_add(struct mcp__cuts *cuts, size_t begin, size_t end) MUST_USE;

/* Takes the pieces out, each with one comma where it has a neighbour. */
void mcp__cuts_apply(const struct mcp__cuts *cuts, struct buf *out);

#endif
