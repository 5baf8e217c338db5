/* SPDX-License-Identifier: Apache-2.0 */
/* Verifies an audit.db: chain, tenants' chains, numbers without gaps, one outcome a permit, values against their digests,
 * signed checkpoints, finding tables and schema. Reads only, also while a gate writes.
 *
 * Threads: one.
 * Owns: nothing; the report is the caller's.
 * Lifetime: one call.
 * Errors: CODE_OK with a report, which may hold faults; anything else with a sentence: the file could not be read at all. */
#ifndef EVIDENCE_VERIFY_H
#define EVIDENCE_VERIFY_H

#include "proof/keyring.h"
#include "rows/walk.h"
#include "base/why.h"
#include "crypto/digest.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define VERIFY_FAULTS_MAX 20
#define VERIFY_DOUBTS_MAX 3
#define VERIFY_UNSIGNED_US ((int64_t)10 * 1000000) /* as old may rows be that no checkpoint covers yet */

struct verify_fault {
    int64_t seq;     /* 0: of no row */
    char table[24];  /* decision, outcome, event, file, checkpoint, heads, index, schema */
    char field[32];
    char text[224];
};
/* Counts each; only the first ones find room in the list. */
void verify_fault_add(struct verify_fault list[VERIFY_FAULTS_MAX], size_t *count, int64_t seq, const char *table,
                      const char *field, const char *format, va_list args) PRINTF_LIKE(6, 0);

struct verify_report {
    uint64_t rows, decisions, outcomes, events, tenants;
    int64_t first_seq, last_seq;           /* 0: no rows */
    uint64_t under_way;                    /* permits of the running gate that wait for their outcome */
    uint64_t erased;                       /* decisions whose values were erased, as recorded */
    uint64_t at_home;                      /* rows of a source whose values it does not have: they stayed in the file */
    uint64_t kept;                         /* rows that are gone, as recorded, and whose hashes stand in their place */
    uint64_t erasures_elsewhere;           /* recorded in files behind this one, if table `erasure` is right: not looked at */
    uint64_t checkpoints;                  /* of the database, that agree with the rows */
    uint64_t proven_seq;                   /* rows up to this one are covered by a checkpoint that the given key signed */
    uint64_t heads, heads_seq;             /* checkpoints from outside that agree; what the largest of them covers */
    uint64_t heads_elsewhere;              /* those about files before this one or after it */
    uint64_t heads_behind, heads_behind_seq; /* of these, about rows behind a sealed file; up to which */
    uint64_t losses;                       /* events by which somebody went on without rows that checkpoints cover */
    bool is_sealed;                        /* the last row says so */
    bool is_proven;                        /* the given key signed every row, but for the gate's own about checkpoints */
    unsigned char head[DIGEST_BYTES];      /* hash of the last row */
    size_t fault_count;                    /* all, also those that found no place below */
    struct verify_fault fault[VERIFY_FAULTS_MAX]; /* in the order of the rows, then what concerns none */
    size_t doubt_count;                    /* what agrees with itself, and nobody vouches for */
    char doubt[VERIFY_DOUBTS_MAX][256];
};

struct trail;

/* What files say of each other: where the last one ended, and what those behind erase. */
struct verify_sequence;
enum code verify_sequence_new(const struct trail *trail, struct verify_sequence **sequence, struct why *why) MUST_USE;
/* The same where one database has the events of all files (pieces.h). */
enum code verify_sequence_of(struct db *db, struct verify_sequence **sequence, struct why *why) MUST_USE;
/* After a rotation: what the files of the new trail erase, and where the last verified file ended, as before. */
enum code verify_sequence_renew(const struct trail *trail, struct verify_sequence *sequence, struct why *why) MUST_USE;
void verify_sequence_forget(struct verify_sequence *sequence); /* the next file goes on from none that was verified */
void verify_sequence_free(struct verify_sequence **sequence);

/* Adds a key that somebody gave: a file of it, or the key itself as name+id+key. CODE_INVALID where it is none. */
enum code verify_key_read(const char *given, struct keyring *keys, struct why *why) MUST_USE;

/* Rows that come from elsewhere than a file (pieces.h). */
struct verify_source {
    struct db *db; /* borrowed: one file of the trail without its decisions and outcomes */
    /* The next row of all three tables, in the order of their numbers, each once. Its values are good until the next one is
     * asked for. CODE_NOT_FOUND: there are no more. */
    enum code (*next)(void *context, struct walk_row *row);
    void *context;
    int64_t last;       /* number of the last row */
    int64_t marked;     /* checkpoints come behind their rows, in their order: so many have all that they will have */
    bool is_cut;        /* what stood before it is gone, and with it which tenants and open permits there were; it left: */
    int64_t cut_seq;    /* its last row, */
    unsigned char cut_hash[DIGEST_BYTES]; /* whose hash is this */
};

struct verify_conf {
    const char *path;           /* of a source: what it is called */
    const struct verify_source *source; /* in place of the file; NULL: there is none */
    const struct keyring *keys; /* whose signatures prove, one behind the other; NULL: none is known */
    struct verify_sequence *sequence; /* of the files of a trail; NULL: the file by itself */
    bool follows;               /* a file of it before this one is verified, too, with what it shares with this one */
    bool ends_trail;            /* it is the last of them: no file behind it excuses what it does not hold */
    int64_t unsigned_us;        /* 0: VERIFY_UNSIGNED_US */
    struct span heads;          /* checkpoints kept outside the file, as in audit.db.heads; at == NULL: none */
    bool may_retry;             /* the caller looks again where an erasure came while it was read, or after `sequence` was */
    bool (*has_moved)(void *context); /* or NULL; whether another file stands at the path since the caller looked at it */
    void (*progress)(void *context, uint64_t done, uint64_t total); /* or NULL; rows, now and then */
    /* Or NULL: the file before is verified already. Waits until it is: what this one shares with it is judged then. What it
     * fails with ends the verification. */
    enum code (*await_before)(void *context);
    void *context;
    const atomic_bool *stop;    /* or NULL; once it is set, the verification ends with CODE_BUSY */
};

/* CODE_BUSY where the file has moved meanwhile, so that what was read may be of two, or where `sequence` is older than an
 * erasure in it, or values were erased meanwhile: nothing is said. A sealed file that
 * ends its trail is given a second, in which a rotation puts the next one in its place. */
enum code audit_verify(const struct verify_conf *conf, struct verify_report *report, struct why *why) MUST_USE;

#endif
