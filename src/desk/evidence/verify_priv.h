/* SPDX-License-Identifier: Apache-2.0 */
/* A verification under way: what its files share.
 *
 * Threads: one a verifier. A sequence belongs to whoever's turn it is; what its files say of each other changes while nobody
 *   verifies.
 * Owns: the connection, the maps of tenants and open permits, the recorded erasures, the tree.
 * Lifetime: one audit_verify.
 * Errors: enum code; faults of the file go into the report. */
#ifndef EVIDENCE_VERIFY_PRIV_H
#define EVIDENCE_VERIFY_PRIV_H

#include "rows/heads.h"
#include "proof/keyring.h"
#include "proof/loss.h"
#include "proof/succession.h"
#include "proof/tenants.h"
#include "rows/walk.h"
#include "base/mem.h"
#include "evidence/verify.h"

struct erasure {
    struct erasure *next;
    struct span tenant; /* at == NULL: rows without a tenant */
    int64_t seq, before_us;
};

/* Where tenants stand, and which permits wait for their outcome. */
struct verify_standing {
    struct heads heads;
    struct permits permits; /* their heads are among these */
};

struct verify_sequence {
    struct arena arena;
    struct erasure *erasures;   /* recorded in any of the files; likewise: */
    struct losses losses;
    struct successions successions;
    int64_t read_to;            /* erasures that rows behind this one record may not be among them */
    bool has_before;            /* a file was verified; it left: */
    int64_t seq;
    unsigned char hash[DIGEST_BYTES];
    bool is_sealed;
    struct verify_standing standing; /* how its last row left them */
    unsigned char mark[DIGEST_BYTES]; /* of its last checkpoint's note */
    bool has_mark;
};

enum verify_event {
    VERIFY_EVENT_OTHER = 0, VERIFY_EVENT_START, VERIFY_EVENT_STOP, VERIFY_EVENT_SEALED, VERIFY_EVENT_CHECKPOINT,
    VERIFY_EVENT_KEY
};

/* What is asked of a row in its place among the others; its texts are borrowed from the statement. */
struct verify_row {
    enum row_table table;
    enum row_kind previous_kind; /* of tenant_previous; ROW_FOREIGN: a blob that is no hash, too */
    enum verify_event event;
    bool expects_outcome, is_permit, is_erased, has_hash;
    int64_t seq, decision;
    struct span tenant, detail;  /* detail: of events `checkpoint` and `checkpoint_key` alone */
    unsigned char hash[DIGEST_BYTES], leaf[DIGEST_BYTES], previous[DIGEST_BYTES];
};

/* A checkpoint as it stands in the database, its signature judged. */
struct verify_mark {
    int64_t size;
    struct note note;        /* texts are not kept */
    struct span peaks;
    const char *field, *fault; /* what is wrong with it by itself; NULL: nothing */
    size_t by;               /* whose signature it bears: its place among the keys */
    bool is_proof;           /* signed with the key that was given */
    unsigned char digest[DIGEST_BYTES]; /* of the whole note */
};

/* Faults in the order in which they are told, which is not that in which they are found: what the file before this one left is
 * known last. */
enum verify_part {
    VERIFY_BEFORE = 0, /* of the rows */
    VERIFY_SEAM,       /* against the file before */
    VERIFY_ROWS,
    VERIFY_END,        /* what the end leaves open */
    VERIFY_INDICES,    /* from here on what is around the evidence */
    VERIFY_SCHEMA,
    VERIFY_PARTS
};

struct verify_faults {
    size_t count; /* all, also those that found no place */
    struct verify_fault fault[VERIFY_FAULTS_MAX];
};

/* Decisions and outcomes behind the last row that a checkpoint which counts is over. */
struct verify_unsigned {
    int64_t covered; /* that row's number */
    int64_t count, first, oldest_us, newest_us;
};

#define VERIFY_INDICES_MAX 16
#define VERIFY_INDEX_COLUMNS 4

/* An index of a table of rows, and what the rows that were read come to in it (db_mark). */
struct verify_index {
    enum row_table table;
    bool is_unique, has_no_sum;
    char name[48];
    int columns[VERIFY_INDEX_COLUMNS], count; /* places in the row */
    uint64_t sum;
};

struct verifier {
    const struct verify_conf *conf;
    struct db *db;
    struct verify_report *report;
    struct verify_faults faults[VERIFY_PARTS];
    enum verify_part part;        /* whose faults are found */
    struct heads heads;           /* where tenants stand */
    struct permits permits;       /* what waits for its outcome; their heads are among these */
    struct verify_standing began; /* both as the file says that it begins; only of one of a sequence */
    struct arena arena;
    struct erasure *erasures;
    bool continues;          /* the file before this one holds the beginning */
    bool is_cut;             /* and is gone, so that nothing is known of it but where it ended */
    unsigned char previous[DIGEST_BYTES]; /* its last hash, as this one says */
    bool stopped;            /* the last row is a `stop` event */
    bool has_checkpoints;    /* the schema has them */
    int64_t begin, last;     /* number before the first row; the last row that is looked at */
    int64_t seq;             /* of the last row */
    int64_t now_us;          /* when `last` was read */
    unsigned char hash[DIGEST_BYTES]; /* of the last row, as stored */
    struct verify_index indices[VERIFY_INDICES_MAX];
    size_t index_count;
    bool has_other_indices;  /* than can be compared so */
    /* A row whose hash did not match: the next row tells whether its contents or its hash were changed. */
    bool suspects;
    int64_t suspect_seq;
    enum row_table suspect_table;
    unsigned char suspect_hash[DIGEST_BYTES]; /* as computed */
    struct head *last_head;  /* of the last row's tenant, or NULL */

    /* trees */
    struct merkle tree;
    struct tenants tenants;
    bool has_tree, has_tenants;
    bool tree_is_broken;     /* told once: all later checkpoints disagree, too */
    int64_t agreed;          /* size of the last checkpoint that agrees with the rows */
    size_t agreed_by;        /* whose signature the database's last one bears */
    struct verify_unsigned unsigned_rows;
    char origin[NOTE_ORIGIN_BYTES]; /* of all checkpoints; empty: not known yet */
    struct keyring keys;     /* those that were given first and what follows from them, then those that events name */
    size_t given;            /* how many were, or follow */
    struct verify_outside {
        uint64_t size;
        struct span note;
    } *outside;              /* checkpoints from outside, by size */
    size_t outside_count, outside_next;
    size_t outside_seen;     /* checkpoints in the file of them, of whichever log */
    struct losses losses;
    uint64_t heads_lost, lost_size; /* of these, explained by a loss that was accepted; up to which size */
    int64_t lost_by;         /* the event */
    unsigned char last_mark[DIGEST_BYTES]; /* digest of the database's last checkpoint that is signed as it should be */
};

#define VERIFY_ERASURES "SELECT seq, tenant, json_extract(detail, '$.before_us') AS before_us FROM event " \
                        "WHERE kind = 'erased' AND json_valid(detail)"

void verify__doubt(struct verifier *verifier, const char *format, ...) PRINTF_LIKE(2, 3);
void verify__fault(struct verifier *verifier, int64_t seq, const char *table, const char *field, const char *format, ...)
    PRINTF_LIKE(5, 6);

size_t verify__evident_faults(const struct verifier *verifier); /* so far, but for those of what is around the evidence */

/* Whether a checkpoint over rows up to number `seq` may not have come yet to where they are. */
static inline bool verify__awaits(const struct verifier *verifier, int64_t seq)
{
    return verifier->conf->source != NULL && verifier->conf->source->marked < seq;
}

/* verify_sequence.c */
enum code verify__read_erasures(struct db *db, const char *sql, struct arena *arena, struct erasure **list) MUST_USE;
enum code verify__standing_init(struct verify_standing *standing) MUST_USE;
void verify__standing_fini(struct verify_standing *standing);
enum code verify__continue(struct verifier *verifier) MUST_USE; /* against the file before, once that is verified */
void verify__leave(struct verifier *verifier);                  /* to the file behind, after the last row */

/* verify_row.c: one row after the other. */
enum code verify__walked(struct verifier *verifier, const struct walk_row *row) MUST_USE; /* with its hash and values */
/* A row of which nothing but its hash was kept. */
enum code verify__passed(struct verifier *verifier, int64_t seq, struct span hash, struct span tenant) MUST_USE;
void verify__resolve(struct verifier *verifier);           /* after the last row */
void verify__report_open(struct verifier *verifier, const char *when);
bool verify__holds(const struct row_value *value, const unsigned char digest[DIGEST_BYTES]);

/* What is wrong with a row's values; fault == NULL: nothing. */
struct verify_values {
    const char *field, *fault;
    bool is_erased, is_at_home;
};
struct verify_values verify__values(const struct verifier *verifier, const struct walk_row *row);
void verify__digest(const struct walk_row *row, struct verify_row *out); /* borrows */

/* verify_tree.c */
enum code verify__begin_tree(struct verifier *verifier) MUST_USE;
void verify__judge_mark(const struct verifier *verifier, struct db_stmt *stmt, struct verify_mark *mark);
enum code verify__add_leaf(struct verifier *verifier, const struct verify_row *row) MUST_USE;
enum code verify__mark(struct verifier *verifier, const struct verify_mark *mark) MUST_USE; /* before the row behind it */
enum code verify__named(struct verifier *verifier, const struct verify_row *event) MUST_USE; /* an event `checkpoint` */
enum code verify__key_told(struct verifier *verifier, const struct verify_row *event) MUST_USE; /* an event `checkpoint_key` */
/* The number of the last row; where there is none yet, of the one that the file goes on from. */
enum code verify__last_seq(const struct verifier *verifier, int64_t *last) MUST_USE;
enum code verify__end_tree(struct verifier *verifier) MUST_USE;
/* verify_signed.c: what of the end nobody signed */
void verify__note_unsigned(struct verifier *verifier, const struct walk_row *row); /* after its place in the tree */
enum code verify__end_signed(struct verifier *verifier) MUST_USE;
void verify__fini_tree(struct verifier *verifier);

/* tables.c: what is not evidence, but what auditors look through. */
enum code verify__schema(struct verifier *verifier) MUST_USE;
enum code verify__has_checkpoints(struct db *db, bool *has) MUST_USE;
enum code verify__find_indices(struct verifier *verifier) MUST_USE;                   /* before the first row */
void verify__note_entries(struct verifier *verifier, const struct walk_row *row);
enum code verify__indices(struct verifier *verifier) MUST_USE;                        /* after the last one */

#endif
