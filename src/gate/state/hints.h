/* SPDX-License-Identifier: Apache-2.0 */
/* What servers say of their tools in tools/list: which tools there are, for who writes policies, and four hints a tool, which
 * are untrusted and serve closing rules only.
 *
 * Threads: any; one short lock a shard of upstreams.
 * Owns: copies of the names.
 * Lifetime: hints_new to hints_free. Bounded: 8,192 tools an upstream, of which the one that was told first gives way; the
 *   upstreams are those that the configuration names, and 4,096 that a glob for slugs takes with 131,072 tools in all, of
 *   which the oldest of the tenant who has caused most give way.
 * Errors: without memory a tool or hint is not known. */
#ifndef STATE_HINTS_H
#define STATE_HINTS_H

#include "base/buf.h"
#include "policy/question.h"

struct hints;

enum code hints_new(struct hints **hints) MUST_USE;
void hints_free(struct hints **hints);
void hints_clear(struct hints *hints);

/* Learns a tool's hints; later ones replace earlier ones. Takes: said: POLICY_UNKNOWN: the server does not say; home: the
 * tenant of the credential that asked; is_minted: the caller chose the upstream's name, within some glob, so that such names
 * never push out what is known of others. */
void hints_learn(struct hints *hints, struct span home, struct span upstream, bool is_minted, struct span tool,
                 const enum policy_known said[POLICY_HINT_COUNT]);
/* Adds each tool, as "upstream NUL tool NUL", of the upstreams that have listed something new since this was asked last;
 * not of minted ones. Where that is too much for `out`, its code sticks. */
void hints_listed(struct hints *hints, struct buf *out);
enum policy_known hints_ask(struct hints *hints, struct span upstream, struct span tool, enum policy_hint hint);

#endif
