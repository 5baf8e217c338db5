/* SPDX-License-Identifier: Apache-2.0 */
/* Verifies an audit.db: chain, tenants' chains, numbers without gaps, one outcome a permit, values against their digests,
 * finding tables and schema. Reads only, also while a gate writes.
 *
 * Threads: one.
 * Owns: nothing; the report is the caller's.
 * Lifetime: one call.
 * Errors: CODE_OK with a report, which may hold faults; anything else with a sentence: the file could not be read at all. */
#ifndef AUDIT_VERIFY_H
#define AUDIT_VERIFY_H

#include "base/why.h"
#include "crypto/digest.h"

#include <stdbool.h>
#include <stdint.h>

#define VERIFY_FAULTS_MAX 20

struct verify_fault {
    int64_t seq;     /* 0: of no row */
    char table[24];  /* decision, outcome, event, file, lookup, tenant_head, schema */
    char field[32];
    char text[224];
};

struct verify_report {
    uint64_t rows, decisions, outcomes, events, tenants;
    int64_t first_seq, last_seq;           /* 0: no rows */
    uint64_t under_way;                    /* permits of the running gate that wait for their outcome */
    uint64_t erased;                       /* decisions whose values were erased, as recorded */
    unsigned char head[DIGEST_BYTES];      /* hash of the last row */
    size_t fault_count;                    /* all, also those that found no place below */
    struct verify_fault fault[VERIFY_FAULTS_MAX]; /* in the order of the rows, then what concerns none */
};

typedef void (*verify_progress_fn)(void *context, uint64_t done, uint64_t total);

/* Takes: progress may be NULL; it is called now and then. */
enum code audit_verify(const char *path, verify_progress_fn progress, void *context, struct verify_report *report,
                       struct why *why) MUST_USE;

#endif
