/* SPDX-License-Identifier: Apache-2.0 */
/* Where an export stopped, in a file: the last row and its hash, of a fleet's those of each node, and how long the output was
 * then.
 *
 * Threads: main.
 * Owns: the lock on the cursor, so that of two exports over one cursor the second is refused.
 * Lifetime: audit_cursor_open to audit_cursor_close.
 * Errors: enum code with a sentence. */
#ifndef TRAIL_AUDIT_CURSOR_H
#define TRAIL_AUDIT_CURSOR_H

#include "query/entries.h"

#define AUDIT_CURSOR_NODES 4096
struct audit_cursor_node {
    char name[64];
    struct entry_place place;
};

struct audit_cursor {
    const char *path; /* NULL: none is kept */
    int lock_fd;
    bool of_fleet;
    struct entry_place place;        /* of a gate's files */
    struct audit_cursor_node *nodes; /* of a fleet */
    size_t node_count;
    int64_t output_inode, output_bytes; /* 0: stdout */
};

/* Reads the file where there is one; a missing one begins at the first row. Takes: of_fleet: what it must be a cursor of.
 * Returns: CODE_BUSY where another export holds it; CODE_INVALID for what is no cursor. */
enum code audit_cursor_open(struct audit_cursor *cursor, const char *path, bool of_fleet, struct why *why) MUST_USE;

/* To be called before the first row is written, too, so that a first run that is killed leaves a cursor behind. Durable, and in
 * one step: after a crash the file says either what it said before or what it says now. */
enum code audit_cursor_save(const struct audit_cursor *cursor, struct why *why) MUST_USE;
/* A node's place, which is made where it is new, at its first row. NULL: there is no memory, or there are too many nodes. */
struct entry_place *audit_cursor_of(struct audit_cursor *cursor, struct span node);
void audit_cursor_close(struct audit_cursor *cursor);

#endif
