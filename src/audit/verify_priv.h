/* SPDX-License-Identifier: Apache-2.0 */
/* A verification under way: what its two files share.
 *
 * Threads: one.
 * Owns: the connection, the maps of tenants and open permits, the recorded erasures.
 * Lifetime: one audit_verify.
 * Errors: enum code; faults of the file go into the report. */
#ifndef AUDIT_VERIFY_PRIV_H
#define AUDIT_VERIFY_PRIV_H

#include "audit/heads_priv.h"
#include "audit/verify.h"
#include "audit/walk_priv.h"
#include "base/mem.h"

struct erasure {
    struct erasure *next;
    struct span tenant; /* at == NULL: rows without a tenant */
    int64_t seq, before_us;
};

struct verifier {
    struct db *db;
    struct verify_report *report;
    struct heads heads;
    struct permits permits;
    struct arena arena;
    struct erasure *erasures;
    int64_t indexed_seq;
    bool continues;          /* the file before this one holds the beginning */
    bool stopped;            /* the last row is a `stop` event */
    int64_t seq;             /* of the last row */
    unsigned char hash[DIGEST_BYTES]; /* of the last row, as stored */
    /* A row whose hash did not match: the next row tells whether its contents or its hash were changed. */
    bool suspects;
    int64_t suspect_seq;
    enum row_table suspect_table;
    unsigned char suspect_hash[DIGEST_BYTES]; /* as computed */
    struct head *last_head;  /* of the last row's tenant, or NULL */
};

void verify__fault(struct verifier *verifier, int64_t seq, const char *table, const char *field, const char *format, ...)
    PRINTF_LIKE(5, 6);

/* tables.c: what is not evidence, but what auditors look through. */
enum code verify__schema(struct verifier *verifier) MUST_USE;
enum code verify__heads(struct verifier *verifier) MUST_USE; /* when the walk has reached indexed_seq */
enum code verify__index(struct verifier *verifier) MUST_USE;
enum code verify__lookup(struct verifier *verifier) MUST_USE;

#endif
