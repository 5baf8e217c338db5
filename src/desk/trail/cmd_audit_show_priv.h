/* SPDX-License-Identifier: Apache-2.0 */
/* One call as `audit show` has gathered it, and the ways to tell it.
 *
 * Threads: main.
 * Owns: the arena holds copies of every row.
 * Lifetime: one run of the command.
 * Errors: enum code while gathering, exit statuses while telling. */
#ifndef TRAIL_CMD_AUDIT_SHOW_PRIV_H
#define TRAIL_CMD_AUDIT_SHOW_PRIV_H

#include "trail/audit_filter.h"
#include "cli/commands.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/num.h"
#include "query/entries.h"

#define SHOW_AROUND 10 /* calls of the correlation before it and after it */
#define SHOW_APPROVALS_MAX 32
#define SHOW_MEMORY_BYTES ((size_t)256 << 20)

struct show_row {
    int count; /* 0: none */
    const char **names;
    struct query_value *values;
};

struct show {
    const struct asked *asked;
    struct arena arena;
    char *path;
    struct trail trail;
    int64_t number, seq; /* the number that was given; the decision's */
    char seq_text[NUM_TEXT_BYTES + 1];
    enum entry_kind kind; /* of the number that was given */
    struct show_row call, event;
    struct show_row neighbour[2 * SHOW_AROUND + 1];
    size_t neighbours;
    uint64_t related, related_at, related_seen; /* calls of the correlation; the place of this one; counted while reading */
    struct show_row approval[SHOW_APPROVALS_MAX]; /* events */
    size_t approvals;
    /* the walk */
    struct buf words;          /* empty: there is none, and then */
    char no_walk[600];         /* why */
    bool is_guessed;           /* the verdict hangs on what the record lost */
    const char *walked, *otherwise; /* verdicts */
};

/* Copies a row. */
enum code show__keep(struct show *show, struct show_row *to, const struct query_row *row) MUST_USE;
struct span show__value(const struct show_row *row, const char *name);

/* Judges the call again by the version that judged it. What hinders that is told in no_walk and is no failure. */
enum code show__walk(struct show *show, struct why *why) MUST_USE;

int show__json(const struct show *show);
int show__text(const struct show *show);

#endif
