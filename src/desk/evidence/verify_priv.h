/* SPDX-License-Identifier: Apache-2.0 */
/* A verification under way: what its files share.
 *
 * Threads: one.
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
    struct heads heads;         /* where its tenants stood */
    struct permits permits;     /* what was under way; their heads are among these */
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

struct verifier {
    const struct verify_conf *conf;
    struct db *db;
    struct verify_report *report;
    struct heads heads;
    struct permits permits;
    struct arena arena;
    struct erasure *erasures;
    bool continues;          /* the file before this one holds the beginning */
    unsigned char previous[DIGEST_BYTES]; /* its last hash, as this one says */
    bool stopped;            /* the last row is a `stop` event */
    bool has_checkpoints;    /* the schema has them */
    int64_t begin, last;     /* number before the first row; the last row that is looked at */
    int64_t seq;             /* of the last row */
    int64_t now_us;          /* when `last` was read */
    unsigned char hash[DIGEST_BYTES]; /* of the last row, as stored */
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

/* verify_sequence.c */
enum code verify__read_erasures(struct db *db, const char *sql, struct arena *arena, struct erasure **list) MUST_USE;
enum code verify__continue(struct verifier *verifier) MUST_USE; /* against the file before, before the first row */
void verify__leave(struct verifier *verifier);                  /* to the file behind, after the last row */

/* verify_row.c: one row after the other. */
enum code verify__walked(struct verifier *verifier, const struct walk_row *row) MUST_USE; /* with its hash and values */
void verify__resolve(struct verifier *verifier);           /* after the last row */
void verify__report_open(struct verifier *verifier, const char *when);
bool verify__holds(const struct row_value *value, const unsigned char digest[DIGEST_BYTES]);

/* What is wrong with a row's values; fault == NULL: nothing. */
struct verify_values {
    const char *field, *fault;
    bool is_erased;
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
enum code verify__end_signed(struct verifier *verifier) MUST_USE; /* verify_signed.c: what of the end nobody signed */
void verify__fini_tree(struct verifier *verifier);

/* tables.c: what is not evidence, but what auditors look through. */
enum code verify__schema(struct verifier *verifier) MUST_USE;
enum code verify__has_checkpoints(struct db *db, bool *has) MUST_USE;
enum code verify__indices(struct verifier *verifier) MUST_USE;

#endif
