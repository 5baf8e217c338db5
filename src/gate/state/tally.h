/* SPDX-License-Identifier: Apache-2.0 */
/* What calls leave behind for later ones: how much in a stretch of time, and when the last one was; by key, for all workers.
 *
 * A limit is a sliding window: an amount may be taken at t where what was taken in (t - per, t] leaves room for it under
 * `most`; where calls are counted, each takes 1. Up to TALLY_EXACT takings in a window that is exact to the microsecond; of
 * more, those in the same 256th of the window come back together, with the last of them: never more than `most` in any window,
 * each at most per/256 late. Where different values are counted, one may be taken where it and those taken in the window are no
 * more than `most`, exactly.
 *
 * Threads: any; sharded, one short lock a shard (base/map.h).
 * Owns: its entries.
 * Lifetime: tally_new to tally_free. Bounded by cap_bytes: entries whose time is over give way, others never do; whoever made
 *   an entry is charged for it, within his share (base/shares.h). Where there is no room (POLICY_UNKNOWN, CODE_NOMEM),
 *   what could not be noted makes later questions of that tenant undecided.
 * Errors: enum code; time that runs backwards stands still, for each key. The same calls with the same times give the same
 *   answers, whatever the clock of the machine says. */
#ifndef STATE_TALLY_H
#define STATE_TALLY_H

#include "base/buf.h"
#include "base/shares.h"
#include "policy/verdict.h"

#define TALLY_EXACT 256

struct tally;

#define TALLY_KEY_BYTES 16
struct tally_key {
    unsigned char bytes[TALLY_KEY_BYTES]; /* of a SHA-256: equal only where what was counted is equal */
    struct share share;      /* whose room it takes where there is no entry yet */
    uint64_t tenant;         /* a hash: questions of his are undecided where a note was lost; follows from what was counted */
};

enum code tally_new(size_t cap_bytes, struct tally **tally) MUST_USE;
void tally_free(struct tally **tally);
void tally_clear(struct tally *tally); /* nothing happened yet */

/* An amount under one limit, or a value. */
struct tally_take {
    struct tally_key key;
    uint64_t most;
    uint64_t amount;
    int64_t per_us;
    int64_t taken_us;  /* when it was taken; by this it is given back */
    int64_t before_us; /* a value: when it was taken before */
    struct policy_value value;
    bool of_values;
    bool is_any;       /* a value that is asked for: it may be one of those that have places */
    bool beyond;       /* it is taken even where there is no room under `most`; a value then takes no place */
    bool is_past;      /* beyond, too, and a value takes a place: it is what a record says */
    bool of_fleet;     /* all nodes of a fleet count together: what is here is this node's part */
};

/* Whether it could be taken. room->wait_us: where not, after how long (at least 1). */
enum policy_known tally_has_room(struct tally *tally, const struct tally_take *take, int64_t now_us, struct policy_room *room);

/* Takes all, or none: CODE_OK; CODE_LIMIT, CODE_NOMEM. Takes: different keys. */
#define TALLY_TAKES_MAX (HALF_COUNT * POLICY_LIMITS_MAX) /* of a permit for each half */
enum code tally_take(struct tally *tally, struct tally_take *takes, uint32_t count, int64_t now_us) MUST_USE;
void tally_give_back(struct tally *tally, const struct tally_take *take);

/* Elsewhere there is no room for it (as much of it, or this value) for so long. One such word is kept of a key.
 * Takes: taken: what the window holds there. */
void tally_refuse(struct tally *tally, const struct tally_take *take, int64_t now_us, int64_t wait_us, uint64_t taken);

/* Of an amount that was taken: what of the window's before it is settled, and still counts for a fleet whose time is not quite
 * ours. */
uint64_t tally_settled(struct tally *tally, const struct tally_take *take);

/* Appends all amounts and values of one of TALLY_PARTS parts that count `of_fleet`, each a struct wish_told. */
#define TALLY_PARTS 64
void tally_write_uses(struct tally *tally, uint32_t part, int64_t now_us, struct buf *out);

/* It happened now, and is remembered for so long at least. */
void tally_note(struct tally *tally, const struct tally_key *key, int64_t now_us, int64_t keep_us);

/* It may have happened now: for so long, whoever asks for the key is told that nobody knows. */
void tally_doubt(struct tally *tally, const struct tally_key *key, int64_t now_us, int64_t keep_us);

void tally_doubt_all(struct tally *tally, int64_t now_us, int64_t keep_us); /* whatever the key */

/* Whether it was noted within so long: a note at t counts up to t + within, both included. */
enum policy_known tally_was_noted(struct tally *tally, const struct tally_key *key, int64_t now_us, int64_t within_us);

/* Writes all of it as bytes, and reads them into an empty one.
 * Takes: kept: moved behind it; over_us: what was over by then is left out; now_us: what was later is taken for now.
 * Returns: CODE_INVALID: these are no such bytes; CODE_NOMEM, too where there is less room. Then it holds some of it. */
void tally_keep(struct tally *tally, struct buf *out);
enum code tally_read(struct tally *tally, struct span *kept, int64_t over_us, int64_t now_us) MUST_USE;

struct tally_stats {
    uint64_t keys;
    uint64_t bytes;
    uint64_t refused; /* times that there was no room for a new key */
};
void tally_stats(struct tally *tally, struct tally_stats *stats);

#endif
