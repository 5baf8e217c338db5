/* SPDX-License-Identifier: Apache-2.0 */
/* Which steps were used of the plans that agents showed, for all workers.
 *
 * Threads: any; sharded, one short lock a shard (base/map.h).
 * Owns: its entries.
 * Lifetime: plan_uses_new to plan_uses_free. Bounded by cap_bytes: entries of plans that have ended give way, others never do.
 *   A plan is charged to whom it is for, within his share (base/shares.h).
 * Errors: no room: CODE_NOMEM, and nothing is taken. */
#ifndef STATE_PLAN_USES_H
#define STATE_PLAN_USES_H

#include "base/hash.h"
#include "base/reason.h"
#include "state/plan.h"
#include "wish/wish.h"

struct plan_uses;

/* Takes: key: of shares. */
enum code plan_uses_new(size_t cap_bytes, const struct hash_key *key, struct plan_uses **uses) MUST_USE;
void plan_uses_free(struct plan_uses **uses);
void plan_uses_clear(struct plan_uses *uses); /* as if nothing was used yet */

/* The first step in the plan's order that fits and may be used now, from 1; 0: none, with the reason why not. */
uint32_t plan_uses_find(struct plan_uses *uses, const struct plan *plan, const struct plan_fit *fit, enum reason *why);

/* Uses the step that plan_uses_find would name, until plan_uses_give_back. CODE_LIMIT: there is none; CODE_NOMEM. Takes: home:
 * the tenant that is charged; now_us: as the state's time. */
enum code plan_uses_take(struct plan_uses *uses, const struct plan *plan, struct span home, const struct plan_fit *fit,
                         int64_t now_us, uint32_t *step) MUST_USE;
void plan_uses_give_back(struct plan_uses *uses, const unsigned char digest[DIGEST_BYTES], uint32_t step);
/* Says of a strict plan that a use stays. Until then no later step can be used, since this one may yet be given back. */
void plan_uses_settle(struct plan_uses *uses, const unsigned char digest[DIGEST_BYTES]);

/* Counts a use of which a record says when it was, for as long as a plan that was used then can last.
 * CODE_NOMEM: from now on no plan can be used of which this may have been a use. */
enum code plan_uses_count(struct plan_uses *uses, const unsigned char digest[DIGEST_BYTES], uint32_t step, struct span tenant,
                          int64_t used_us, int64_t now_us) MUST_USE;

/* Learns what is known elsewhere of a plan's steps: each was used so often at least. CODE_NOMEM: it is not known here then. */
enum code plan_uses_learn(struct plan_uses *uses, const unsigned char digest[DIGEST_BYTES], struct span tenant,
                          const struct wish_used *used, uint32_t count, int64_t now_us) MUST_USE;

/* Appends what is known of plans that have not ended, of one of PLAN_USES_PARTS parts, each step a struct wish_told. */
#define PLAN_USES_PARTS 64
void plan_uses_write(struct plan_uses *uses, uint32_t part, int64_t now_us, struct buf *out);

/* Says that nobody knows what was used up to then: no plan can be used that was valid by that time. */
void plan_uses_lose(struct plan_uses *uses, int64_t used_us);

/* Whether the plan's text was recorded; plan_uses_told says that it was. Where there is no room to remember
 * this, the text is recorded again. */
bool plan_uses_is_told(struct plan_uses *uses, const unsigned char digest[DIGEST_BYTES]);
void plan_uses_told(struct plan_uses *uses, const struct plan *plan, struct span home, int64_t now_us);

/* Writes what was used as bytes, and reads them into an empty one, as tally_keep and tally_read do. */
void plan_uses_keep(struct plan_uses *uses, struct buf *out);
enum code plan_uses_read(struct plan_uses *uses, struct span *kept, int64_t over_us) MUST_USE;

#endif
