/* SPDX-License-Identifier: Apache-2.0 */
/* A compiled policy, as others see it: what it asks for. language/ makes one of texts, judgement/ asks it, snapshot.h is its
 * inside.
 *
 * Threads: any; a snapshot is immutable and shared.
 * Owns: a snapshot owns everything it was compiled from, copies of the texts included.
 * Lifetime: policy_ref / policy_unref; atomic, from any thread.
 * Errors: CODE_NOMEM where a code is returned. */
#ifndef POLICY_POLICY_H
#define POLICY_POLICY_H

#include "base/buf.h"
#include "base/why.h"
#include "crypto/digest.h"
#include "policy/question.h"
#include "policy/verdict.h"

struct policy; /* a compiled snapshot */

struct policy *policy_ref(struct policy *policy);
void policy_unref(struct policy **policy);

uint64_t policy_version(const struct policy *policy);
struct span policy_hash(const struct policy *policy); /* of the set: names and texts, length-prefixed, in byte order of names */
size_t policy_rule_count(const struct policy *policy);

/* The hash to which an approval under this require_approval, or over a limit of this permit, is bound; at == NULL: there
 * is no such rule. */
struct span policy_approval_hash(const struct policy *policy, struct span rule_id);

/* What the rule with this id does besides where it denies. `stops_us`: how long it stops each of VERDICT_STOPS, in
 * microseconds; 0: it does not; NULL: there is no such rule. */
struct policy_besides {
    struct span reason; /* the author's `reason:` */
    bool alerts;        /* somebody is told */
    const int64_t *stops_us;
};
struct policy_besides policy_besides_of(const struct policy *policy, struct span rule);

/* Whether some rule names this tool letter by letter. Such names are as many as authors wrote, however many agents make up. */
bool policy_names_tool(const struct policy *policy, struct span tool);

/* The limits of the rule with this id, the first; or NULL. */
const struct policy_limit *policy_limit_of(const struct policy *policy, struct span rule);

/* How far back limits and watches ask; 0: nothing of the past is asked. */
int64_t policy_memory_us(const struct policy *policy);

/* What counting must keep for the policy. `told` gets, for each limit, and for each watch and each dimension by which it
 * is asked, a digest of the words that tell it from others, and how far back it reaches. */
void policy_each_memory(const struct policy *policy,
                        void (*told)(void *context, const unsigned char words[DIGEST_BYTES], int64_t reach_us), void *context);

/* Writes an amount in millionths as a number, without zeros behind its last place. */
void policy_write_millionths(struct buf *out, uint64_t amount);
bool policy_limits_by(const struct policy *policy, enum policy_limit_kind kind); /* whether some limit is of that kind */

/* What a LIMIT_DISTINCT counts. policy_is_value: strings, numbers and booleans are values; null is none, since servers take it
 * for an argument that is left out. policy_value_of: the value's digest. policy_value_lost: the digest of a value that a record
 * has lost, to which no other is equal. */
static inline bool policy_is_value(const struct json_node *node)
{
    return node->type == JSON_STRING || node->type == JSON_NUMBER || node->type == JSON_TRUE || node->type == JSON_FALSE;
}

enum code policy_value_of(const struct json_node *node, struct policy_value *value) MUST_USE;
void policy_value_lost(uint64_t record, struct policy_value *value);

/* Whether `policy` watches all that `other` watches, by the same dimensions and for as long. */
bool policy_watches_all_of(const struct policy *policy, const struct policy *other);

/* Whether some rule or redaction asks for queries. */
bool policy_asks_query(const struct policy *policy);

/* Whether some rule could hold a call for a person. */
bool policy_holds(const struct policy *policy);

/* Whether some rule asks for this member of params._meta in such a call; whether one may ask for any, or for _meta itself. */
bool policy_asks_meta(const struct policy *policy, const struct question *question, struct span key);
bool policy_asks_all_meta(const struct policy *policy, const struct question *question);

/* policy_asks_claims: whether some rule asks for claims. policy_claims_write: the claims as they are recorded, by their
 * normalised paths, each in a list that is empty where the claim is absent. */
bool policy_asks_claims(const struct policy *policy);
enum code policy_claims_write(const struct policy *policy, const struct json_node *claims, struct buf *out) MUST_USE;

bool policy_watches(const struct policy *policy); /* whether there is any watch */
bool policy_watches_answers(const struct policy *policy); /* for a rule for answers */

/* Calls `told` for each watch (question.h) that a permitted call is one of, or may be (is_sure false). A version has 1,024 at
 * most. */
void policy_each_watch(const struct policy *policy, const struct question *question, const struct policy_met *met,
                       void (*told)(void *context, const struct policy_watch *watch, bool is_sure), void *context);

/* Meaning 10: whether the word `protocol` in `methods` stands for this method. */
bool policy_is_protocol(struct span method);

#endif
