/* SPDX-License-Identifier: Apache-2.0 */
/* The writer's side of a ring, and what a record looks like inside one.
 *
 * Threads: ring_new and ring_free on main; the rest on the writer thread alone.
 * Owns: the ring owns its bytes; a view borrows them (or the scratch) until the next ring_next on the same cursor.
 * Lifetime: records stay in the ring until ring_release.
 * Errors: none past creation. */
#ifndef ROWS_RING_DRAIN_H
#define ROWS_RING_DRAIN_H

#include "rows/record.h"
#include "rows/row.h"

#include <stdatomic.h>

enum ring_kind { RING_DECISION = 0, RING_RESULT, RING_EVENT };

/* Texts of a decision in the order in which they stand behind its fixed part: those that are cut, JSON
 * (from TEXT_RULES on), what is outside the chain. */
#define RING_TEXT(NAME, ...) TEXT_##NAME,
enum ring_text {
    DECISION_TABLE(ROW_SKIP, ROW_SKIP, ROW_SKIP, RING_TEXT, ROW_SKIP, ROW_SKIP, ROW_SKIP)
    DECISION_TABLE(ROW_SKIP, ROW_SKIP, ROW_SKIP, ROW_SKIP, RING_TEXT, ROW_SKIP, ROW_SKIP)
    DECISION_OUTSIDE_TABLE(ROW_SKIP, RING_TEXT) TEXT_COUNT
};

#define RING_EVENT_TEXT(NAME, name) EVENT_##NAME,
enum event_text { EVENT_TABLE(ROW_SKIP, ROW_SKIP, RING_EVENT_TEXT, RING_EVENT_TEXT) EVENT_TEXTS };

/* Texts of an outcome: those for which audit_reserve_said reserves room, and the answer. */
#define RING_RESULT_TEXT(NAME, name) RESULT_##NAME,
enum result_text {
    OUTCOME_TABLE(ROW_SKIP, ROW_SKIP, RING_RESULT_TEXT, ROW_SKIP)
    OUTCOME_TABLE(ROW_SKIP, ROW_SKIP, ROW_SKIP, RING_RESULT_TEXT) RESULT_ANSWER, RESULT_TEXTS
};

/* Of a decision, before its texts: the record's numbers as they are, and what the ring makes of it. */
#define RING_NUMBER(NAME, name) __typeof__(((struct audit_decision *)NULL)->name) name;
#define RING_SIZE(NAME, name, text) uint64_t name;
#define RING_HAS(NAME, name, text) bool has_##text;
#define RING_DIGEST(NAME, name, there) unsigned char name[DIGEST_BYTES];
struct ring_decision {
    uint64_t ticket;
    DECISION_TABLE(ROW_SKIP, ROW_SKIP, ROW_SKIP, ROW_SKIP, ROW_SKIP, RING_SIZE, ROW_SKIP)
    DECISION_TABLE(ROW_SKIP, RING_NUMBER, RING_NUMBER, ROW_SKIP, ROW_SKIP, ROW_SKIP, ROW_SKIP)
    DECISION_TABLE(ROW_SKIP, ROW_SKIP, ROW_SKIP, ROW_SKIP, ROW_SKIP, ROW_SKIP, RING_DIGEST)
    unsigned char salt[ROW_SALT_BYTES], arguments_digest[DIGEST_BYTES];
    bool has_session, has_policy_hash, arguments_cut, is_told_later;
    DECISION_TABLE(ROW_SKIP, ROW_SKIP, ROW_SKIP, ROW_SKIP, ROW_SKIP, RING_HAS, ROW_SKIP)
};

/* What a decision, an outcome (a struct audit_result as it is, with its texts) or an event becomes in the ring:
 * head, fixed part, lengths of the texts, texts; padded to 8 bytes. */
struct ring_head {
    uint32_t bytes; /* of the whole record, padding included */
    enum ring_kind kind;
};

#define RING_NULL UINT32_MAX /* as a length: the text is NULL */
/* Room for an outcome without its texts, which each decision reserves; and for its texts, which audit_reserve_said does. */
#define RING_RESULT_BYTES \
    ((sizeof(struct ring_head) + sizeof(struct audit_result) + RESULT_TEXTS * sizeof(uint32_t) + 7) / 8 * 8)
#define RING_SAID_BYTES (RESULT_ANSWER * (size_t)AUDIT_SAID_JSON_BYTES)

/* What rings share with their writer. */
struct ring_shared {
    atomic_bool down;
    atomic_bool is_broken; /* ring_break */
    atomic_int sleeps;     /* enum ring_sleep; the writer sleeps on this word */
    uint64_t arguments_max_bytes;
};

/* How deep the writer sleeps, and so what wakes it. Outcomes start no commit of their own, so they do not wake it from
 * a doze, in which a commit is due within 10 ms anyway. */
enum ring_sleep { RING_AWAKE = 0, RING_DOZES, RING_SLEEPS };

struct audit_ring {
    /* set once */
    struct ring_shared *shared;
    unsigned char *bytes;
    uint64_t most; /* the size up to which it grows */
    _Atomic uint64_t *seq_of; /* [ticket % AUDIT_TICKETS]; 0: failed */

    /* the producer's */
    char apart_producer[64]; /* a cache line of its own for each side */
    _Atomic uint64_t tail;
    _Atomic uint64_t size; /* power of two */
    _Atomic uint64_t pressing; /* decisions and events put so far: what starts a commit */
    uint64_t head_seen;
    uint64_t tickets;  /* handed out */
    uint64_t reserved; /* outcomes for which room is reserved and that have not come yet */
    uint64_t reserved_said; /* bytes reserved for their texts */
    unsigned char random[512]; /* salts, drawn by one system call for 32 of them */
    size_t random_left;
    char policy_hex[2 * DIGEST_BYTES]; /* of the last decision, and the bytes that it stands for */
    unsigned char policy_hash[DIGEST_BYTES];
    atomic_bool starved; /* the producer was told CODE_BUSY */
    _Atomic uint64_t answers_lost; /* answers that were kept empty for lack of room */

    /* the writer's */
    char apart_writer[64];
    _Atomic uint64_t head;
    _Atomic uint64_t settled;
    _Atomic uint64_t rooms_lost; /* room that was reserved for outcomes of decisions that failed */

    /* by both: refused while the audit was down, for the `audit_up` event */
    char apart_both[64];
    _Atomic uint64_t refused[REASON_COUNT];
    atomic_bool is_lost; /* what it holds cannot be read: whoever waits for a fate is told that it failed */
};

enum code ring_new(struct ring_shared *shared, uint64_t bytes, struct audit_ring **ring) MUST_USE;
void ring_free(struct audit_ring **ring);

/* A record, read in place, or in the scratch where it goes over the end of the room. */
struct ring_view {
    enum ring_kind kind;
    struct ring_decision decision; /* RING_DECISION */
    struct audit_result result;    /* RING_RESULT */
    int64_t event_time_us;         /* RING_EVENT */
    struct span text[TEXT_COUNT];  /* enum ring_text, result_text or event_text, by its kind */
};

/* Holds a record that goes over the end of the room. The writer has one. */
struct ring_scratch {
    unsigned char *bytes;
    size_t size;
};
size_t ring_record_max(const struct ring_shared *shared);

/* Reads the record at *at and moves *at behind it. Returns: false where `end` is reached, or what stands there is no record. */
bool ring_next(struct audit_ring *ring, struct ring_scratch *scratch, uint64_t *at, uint64_t end,
               struct ring_view *view);

static inline uint64_t ring_head(const struct audit_ring *ring)
{
    return atomic_load_explicit(&ring->head, memory_order_relaxed);
}

/* Sequentially consistent, as the word on which the writer sleeps: either the writer sees the tail, or the producer
 * sees that the writer sleeps. */
static inline uint64_t ring_tail(const struct audit_ring *ring)
{
    return atomic_load(&ring->tail);
}

/* Whether the ring is so full that its records must not wait for others. */
static inline bool ring_is_pressed(const struct audit_ring *ring)
{
    return ring_tail(ring) - ring_head(ring) > ring->most / 4;
}

static inline uint64_t ring_pressing(const struct audit_ring *ring)
{
    return atomic_load(&ring->pressing);
}

/* Gives the room before `at` back. Returns: whether the producer waits for room. */
bool ring_release(struct audit_ring *ring, uint64_t at);

/* Sets the fate of a ticket: seq, or 0 for failed. The producer sees it after ring_settle. */
void ring_set_seq(struct audit_ring *ring, uint64_t ticket, uint64_t seq);
uint64_t ring_seq(const struct audit_ring *ring, uint64_t ticket);
void ring_settle(struct audit_ring *ring, uint64_t ticket);

/* Tells that a record is broken as no sound program makes it. From then on calls are denied, as while the audit is down,
 * until a restart. Nothing is aborted, since an abort would lose what the rings hold. Any thread. */
void ring_break(struct ring_shared *shared, const char *what);

/* Wakes the writer if it sleeps at least this deep. Any thread. */
void ring_wake_writer(struct ring_shared *shared, enum ring_sleep from);

#endif
