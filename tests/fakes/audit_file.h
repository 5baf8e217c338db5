/* SPDX-License-Identifier: Apache-2.0 */
/* An audit in a folder of its own for tests: opened, filled with ordinary calls, asked by SQL.
 *
 * Threads: the test's.
 * Owns: the folder and what is in it.
 * Lifetime: audit_file_init to audit_file_fini.
 * Errors: the test fails. */
#ifndef FAKES_AUDIT_FILE_H
#define FAKES_AUDIT_FILE_H

#include "proof/keyring.h"
#include "audit/writer.h"

/* One key, or none where it is NULL, as verifiers take them; until the next call. */
static inline const struct keyring *keyring_of(const struct note_key *key)
{
    static struct keyring ring;

    if (key == NULL)
        return NULL;
    ring = (struct keyring){.keys = {*key}, .count = 1};
    return &ring;
}

/* Of a millisecond: a test that has waited for so many of them waits for what does not come, however busy the machine is. */
#define NAPS_MOST 100000

struct audit_file {
    char folder[64];
    char path[96];
};

void audit_file_init(struct audit_file *file);
void audit_file_fini(struct audit_file *file);

struct audit *audit_file_open(const struct audit_file *file, unsigned rings); /* and start */
struct audit *audit_file_open_signed(const struct audit_file *file, unsigned rings, const struct audit_checkpoints *checkpoints);

/* An ordinary permitted call. */
struct audit_decision audit_call(const char *tenant, const char *correlation);
struct audit_result audit_answer(uint64_t decision);

/* Puts, waiting while the ring is full. */
uint64_t audit_file_put(struct audit_ring *ring, const struct audit_decision *decision);
enum audit_fate audit_file_wait(struct audit_ring *ring, uint64_t ticket, uint64_t *seq);
uint64_t audit_file_call(struct audit_ring *ring, const char *tenant, const char *correlation); /* to the end; its seq */

/* Until a checkpoint is over the row: with `interval_ms` in its configuration, some time after it is on disk. */
void audit_file_await_signed(const struct audit *audit, uint64_t seq);

/* Calls to their end, one kind after the other, many of them at once, so that a commit takes many. */
void audit_file_fill(struct audit_ring *ring, const struct audit_decision *kinds, size_t kind_count, size_t count);

/* The first column of the first row as text, in static memory; "NULL" for NULL, "none" without a row. */
const char *audit_file_ask(const struct audit_file *file, const char *sql);
long long audit_file_number(const struct audit_file *file, const char *sql);

#endif
