/* SPDX-License-Identifier: Apache-2.0 */
/* A worker's ring: records by value to the writer, numbers back.
 *
 * Threads: one worker puts and asks; the writer thread takes. Lock-free, single producer and single consumer.
 * Owns: its memory; belongs to the writer (audit/writer.h).
 * Lifetime: the writer's.
 * Errors: CODE_BUSY full (stop reading, ask again after the next wake), CODE_DOWN the audit is down (deny; the writer
 * counts it for `audit_up`). Every record fits: long texts are cut (rows/record.h). A record is never dropped. */
#ifndef ROWS_RING_H
#define ROWS_RING_H

#include "rows/record.h"
#include "base/code.h"

struct audit_ring;

/* Puts a decision. With expects_outcome, room for its outcome is reserved at the same time.
 * Arguments are cut (schema/audit-format.md: 64 KiB; 4 KiB in denials) before they enter the ring.
 * Returns: CODE_OK with *ticket, the worker's running number from 1. */
enum code audit_put_decision(struct audit_ring *ring, const struct audit_decision *decision, uint64_t *ticket) MUST_USE;

/* Reserves room for what rules for answers did to the answers of a call, before the first of them goes on; audit_put_result
 * gives it back by `has_said_room`. Returns: false: there is none; then the answer may not go on. */
bool audit_reserve_said(struct audit_ring *ring);

/* Puts the outcome of a permit, exactly once for each that was put with expects_outcome and became durable; cannot fail.
 * By ticket it may come before the fate is known (an agent that went away: OUTCOME_NOT_SENT). For a ticket that FAILED
 * none is due, and one that was put is passed over. */
void audit_put_result(struct audit_ring *ring, const struct audit_result *result);

/* Puts the outcome of a permit that was put with is_told_later and is durable, once; on any worker's ring. Takes: one without
 * an answer. Returns: CODE_OK, CODE_BUSY, CODE_DOWN. */
enum code audit_put_told(struct audit_ring *ring, const struct audit_result *result) MUST_USE;

/* Puts an event, or returns CODE_BUSY at once. While the audit is down, events wait in the ring. */
enum code audit_put_event(struct audit_ring *ring, const struct audit_event *event) MUST_USE;

/* What became of a ticket. Ask soon after it is settled: the fate is forgotten AUDIT_TICKETS tickets later. */
#define AUDIT_TICKETS 16384
enum audit_fate { AUDIT_WAITING = 0, AUDIT_DURABLE, AUDIT_FAILED };
enum audit_fate audit_fate(const struct audit_ring *ring, uint64_t ticket, uint64_t *seq);

/* All tickets up to this one have a fate. */
uint64_t audit_settled(const struct audit_ring *ring);

bool audit_is_down(const struct audit_ring *ring);

#endif
