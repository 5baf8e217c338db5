/* SPDX-License-Identifier: Apache-2.0 */
/* The trails of all nodes of a fleet, asked at its centre: what audit_query, audit_stats, audit_entries and follow.h ask of the
 * files of one gate, PostgreSQL is asked of all of them, by the same struct query, and rows are handed out alike. Each row has
 * `node`, the gate's name in the fleet, in front; what a gate's file calls so, its machine, is `host`. Reads only, and may read
 * from a standby.
 *
 * Threads: one.
 * Owns: the connection.
 * Lifetime: centre_open to centre_close; a row's texts live during the callback.
 * Errors: enum code with a sentence, as of pg/pg.h; what a callback returns ends the question and is returned. */
#ifndef QUERY_CENTRE_H
#define QUERY_CENTRE_H

#include "pg/pg.h"
#include "query/entries.h"
#include "query/stats.h"

struct centre;

/* A question may take ten minutes. */
enum code centre_open(const struct pg_place *place, struct centre **centre, struct why *why) MUST_USE;
void centre_close(struct centre **centre); /* *centre may be NULL */

/* The columns of a row of centre_query, ended by NULL: `node`, then those of audit_columns. */
const char *const *centre_columns(void);

/* Likewise of a row of centre_entries. */
const char *const *centre_entry_columns(void);

/* As audit_query. Over many nodes it is time that orders; rows of one time by node and number. */
enum code centre_query(struct centre *centre, const struct query *query, query_row_fn row, void *context, bool *more,
                       struct why *why) MUST_USE;
/* As audit_stats. */
enum code centre_stats(struct centre *centre, const struct query *query, unsigned bys, struct stats **stats, struct why *why)
    MUST_USE;

/* The names of the nodes that have rows, one after the other. */
typedef enum code (*centre_node_fn)(void *context, struct span node);
enum code centre_nodes(struct centre *centre, centre_node_fn each, void *context, struct why *why) MUST_USE;

/* As audit_entries, of one node. CODE_NOT_FOUND: rows behind the place were dropped at the centre. */
enum code centre_entries(struct centre *centre, struct span node, const struct query *query, unsigned wanted,
                         struct entry_place *place, entry_fn row, void *context, struct why *why) MUST_USE;

/* As audit_approvals_of: a call is held at one node, and used, it may be, at another; told are all nodes' events of its
 * approvals. */
enum code centre_approvals_of(struct centre *centre, struct span node, int64_t decision, query_row_fn row, void *context,
                              struct why *why) MUST_USE;

/* As follow.h has it, of all nodes: what ended is told in the order in which each node wrote it, once it has come to the
 * centre. */
struct centre_follow;
enum code centre_follow_open(struct centre *centre, const struct query *query, uint64_t lines, query_row_fn row, void *context,
                             struct centre_follow **follow, struct why *why) MUST_USE;
enum code centre_follow_next(struct centre_follow *follow, const struct query *query, query_row_fn row, void *context,
                             struct why *why) MUST_USE;
void centre_follow_close(struct centre_follow **follow);

#endif
