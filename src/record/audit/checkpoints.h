/* SPDX-License-Identifier: Apache-2.0 */
/* How an audit signs checkpoints of itself: with what, how often, and who hears of them.
 *
 * Threads: any.
 * Owns: nothing; all is borrowed.
 * Lifetime: the audit's.
 * Errors: none. */
#ifndef AUDIT_CHECKPOINTS_H
#define AUDIT_CHECKPOINTS_H

#include "base/span.h"
#include "crypto/sign.h"

#include <stdint.h>

struct signer;

/* Signed checkpoints: after every so many rows, after every so long while rows come, and at the end. They are kept in the
 * database, and go out of it to a file or a function. */
struct audit_checkpoints {
    struct signer *signer;      /* borrowed until audit_close; NULL: */
    const struct sign_key *key; /* likewise; NULL, too: no checkpoints */
    const char *file;           /* appended to, made 0640 where it is missing; NULL: none */
    void (*publish)(void *context, struct span note); /* or NULL; called by a thread of the audit's; must not block */
    void *context;
    uint32_t interval_ms;       /* 0: 1 s */
    uint32_t name_ms;           /* how often an event names the last one, where rows come; 0: 1 min */
    uint64_t rows;              /* 0: 16,384 */
    struct audit_key_change {   /* a person's word on the key, recorded by audit_open; borrowed until it returns */
        struct span detail, actor; /* of an event `checkpoint_key`; empty: none */
    } key_change;
};

/* Records that wait for a checkpoint for longer than this are late: ten intervals, and what a busy disk may take. */
static inline int64_t checkpoint_late_us(uint32_t interval_ms)
{
    return interval_ms < 300 ? 3000000 : (int64_t)interval_ms * 10000;
}

/* Why the last checkpoint that was due is not where it belongs. */
enum checkpoint_fault {
    CHECKPOINT_WELL = 0,
    CHECKPOINT_UNSIGNED,  /* none can be made: of rows that cannot be read, or are not there */
    CHECKPOINT_FORKED,    /* the signer holds other rows than the ledger: the log has two pasts */
    CHECKPOINT_UNWRITTEN, /* it cannot be appended to its file */
};

#endif
