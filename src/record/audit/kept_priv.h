/* SPDX-License-Identifier: Apache-2.0 */
/* Compares a database that is being opened with the file of checkpoints. An older copy, a lost -wal file, an end that was cut
 * off or another history shows in a signed checkpoint that the rows do not give. It also looks at the rows behind the
 * database's last checkpoint: which are there, and whether a gate that died may have left them.
 *
 * Threads: main, before the writer is started.
 * Owns: nothing.
 * Lifetime: one opening.
 * Errors: enum code with a sentence: the database could not be read. A loss and damage are answers. */
#ifndef AUDIT_KEPT_PRIV_H
#define AUDIT_KEPT_PRIV_H

#include "proof/loss.h"
#include "audit/notary_priv.h"

/* Rows behind the last checkpoint, which a start signs with its own. */
struct kept_unsigned {
    int64_t from, to; /* numbers; 0: there are none */
    int64_t oldest_us, newest_us;
};

struct kept {
    const char *loss;      /* "shorter", "other", "replaced", "unsigned", "begin"; NULL: all is there, and nothing else */
    struct why found;      /* of a loss: place and fault */
    char origin[NOTE_ORIGIN_BYTES];
    uint64_t size;         /* of the largest checkpoint */
    int64_t time_us;       /* of the youngest */
    unsigned char root[DIGEST_BYTES];
    uint64_t rows;         /* number of the last row that is there */
    struct kept_unsigned unsigned_rows;
    struct why damage;     /* of the file of checkpoints; empty: none */
};

/* Takes: a notary that is not started, and its ledger, open. Reads the end of the file of checkpoints, 1 MiB at most, and the
 * hashes of up to 65,536 rows. */
enum code kept__compare(const struct notary *notary, const struct ledger *ledger, struct kept *kept, struct why *why) MUST_USE;

/* Whether a checkpoint under the gate's own key covers the row, and the row is as it was written. */
enum code kept__is_signed(const struct notary *notary, struct db *db, int64_t seq, bool *is) MUST_USE;

/* kept_unsigned.c. Takes: mark: the last checkpoint of the database that counts, or NULL. */
enum code kept__check_unsigned(const struct notary *notary, const struct ledger *ledger, const struct note *mark,
                               struct kept *kept) MUST_USE;

/* Records, inside the first transaction, that somebody went on after a loss, rows that nobody signed, and damage. */
enum code kept__record(struct ledger *ledger, const struct kept *kept, const struct audit_loss *accepted, int64_t time_us)
    MUST_USE;

/* Records an event `heads_damaged`, inside any transaction. */
enum code kept__put_damage(struct ledger *ledger, const struct why *damage, int64_t time_us) MUST_USE;

#endif
