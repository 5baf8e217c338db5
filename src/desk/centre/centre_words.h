/* SPDX-License-Identifier: Apache-2.0 */
/* What else the centre says of a node's trail than its rows: where it ends, that it forked, who cosigned it, and what the
 * node's own files say.
 *
 * Threads: the connection's.
 * Owns: nothing.
 * Lifetime: one call.
 * Errors: enum code with a sentence; faults go into the report of the trail's last file. */
#ifndef CENTRE_CENTRE_WORDS_H
#define CENTRE_CENTRE_WORDS_H

#include "centre/centre_gone.h"
#include "evidence/verify.h"
#include "files/trail.h"
#include "pg/pg.h"

/* The key of a node, under the name with which it signs (note_key.name). at: from 0 on: one that has left and come again has
 * had several. False: the roster has no such node, or no further key of it. */
typedef bool (*centre_key)(void *context, struct span node, size_t at, struct note_key *key);
/* One file of the node's trail was verified. */
typedef void (*centre_tell)(void *context, const struct verify_conf *conf, const struct verify_report *report);

struct verify_centre_conf {
    struct span node;
    centre_key key_of;
    centre_tell tell;
    void *context;
    const struct trail *against; /* or NULL; its files */
    void (*progress)(void *context, uint64_t done, uint64_t total); /* or NULL */
};

/* What is said of a node besides its files' reports. */
struct verify_centre_report {
    int64_t last_seq;       /* of the centre's last row; 0: it has none */
    int64_t dropped_seq;    /* up to here rows went with their days, as recorded */
    int64_t given_away;     /* so many rows were, before they came here, as recorded */
    int64_t cosigned_seq;   /* up to here another node has cosigned; 0: nowhere */
    char cosigner[64];      /* which */
    uint64_t cosignatures;  /* that are good */
    uint64_t hollow;        /* rows of which the centre has number and hash alone */
    uint64_t same;          /* rows that the node's files have, too, and as they are here */
    int64_t here_seq;       /* the last of the files; rows behind last_seq have not come to the centre yet */
};

enum code centre_words(struct pg *pg, const struct verify_centre_conf *conf, const struct centre_gone *gone,
                       struct verify_centre_report *said, struct verify_report *report, struct why *why) MUST_USE;

void centre_fault(struct verify_report *report, int64_t seq, const char *table, const char *field, const char *format, ...)
    PRINTF_LIKE(5, 6);

#endif
