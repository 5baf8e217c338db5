/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of enforce/ share: the shared snapshots and questions, a worker's gate, the texts of a record.
 *
 * Threads: struct gate_shared any, under its locks; struct gate one at a time.
 * Owns: as gate.h says.
 * Lifetime: as gate.h says.
 * Errors: as gate.h says. */
#ifndef ENFORCE_GATE_PRIV_H
#define ENFORCE_GATE_PRIV_H

#include "alert/alerts.h"
#include "rows/fold.h"
#include "base/shares.h"
#include "base/buf.h"
#include "base/list.h"
#include "base/num.h"
#include "base/ref.h"
#include "enforce/gate.h"
#include "enforce/rule_stops.h"

#include <pthread.h>
#include <stdatomic.h>

#define QUESTION_SHARDS 64
#define QUESTION_BUCKETS 256 /* of a shard */

struct question_shard {
    pthread_mutex_t lock;
    struct list by_age; /* oldest first */
    struct open_question *buckets[QUESTION_BUCKETS];
    struct shares shares;
};

struct gate_shared {
    unsigned char *redact_key, *session_key; /* DIGEST_BYTES each, among the secrets */
    /* Workers compare the number and take the lock only when it changed. */
    atomic_uint_fast64_t generation;
    pthread_mutex_t lock;
    struct policy *policy;
    struct policy *coming; /* calls and answers are noted for it too; NULL: none */
    atomic_bool has_coming;
    struct identity_keys *keys;
    struct stops *stops; /* NULL: nobody could read them, so all is stopped */
    struct rule_stops *rule_stops;
    struct definition_set *accepted; /* NULL: nothing is */
    struct definitions *definitions;
    struct fold *fold;
    struct alerts *alerts;
    struct gate_state *state;
    struct wishes *wishes;   /* NULL: the gate is of no fleet */
    atomic_bool is_starting; /* `state` does not know yet what was called before */
    atomic_int withheld;     /* enum reason: by which all are denied; REASON_UNSET: by none */
    bool knows_plans; /* `state` has the steps of plans that were used before the gate began; only who reads the past uses
                       * this */
    struct hash_key past_key; /* names shares in what is kept of `state` */
    int64_t clock_us; /* added to the monotonic clock, it is the state's time */
    struct approvals *approvals;
    struct question_shard shards[QUESTION_SHARDS];
};

#define RULES_TEXT_BYTES 16384
#define MONITOR_TEXT_BYTES 1024
#define CLIENT_SAYS_BYTES 128 /* of each thing that a client says of itself */
#define HELD_TEXT_BYTES 8192 /* of groups, and of scopes */
#define REDACTED_TEXT_BYTES 128
#define REDACTED_MAX 1000 /* values in one call; with more all arguments are redacted as one */

/* The JSON texts of one record. A record can be written even without memory: buffers of fixed size are made with the
 * gate, and arguments that cannot be copied are redacted as a whole. */
struct record_text {
    struct buf rules;
    struct buf monitor;
    struct buf groups, scopes;
    struct buf arguments, params, claims, client;
    struct buf bound, named;
    char definition[2 * DIGEST_BYTES], plan[2 * DIGEST_BYTES], plan_step[NUM_TEXT_BYTES];
    char redacted[REDACTED_TEXT_BYTES], no_params[REDACTED_TEXT_BYTES], no_query[REDACTED_TEXT_BYTES];
};

/* A gate's reference to a policy, for itself and for every call that it judged. It is counted here because one count in the
 * policy would move its cache line between workers with every call. */
struct gate_snapshot {
    struct policy *policy;
    struct ref ref; /* its own, and one of each call, which may end on another thread */
};

#define PLANS_SEEN 256

/* The plan that was read last, and which plans were verified: the digest of the key and the shown text. */
struct plan_reader {
    struct arena arena;
    struct buf text;
    struct plan plan;
    bool is_read; /* `plan` is valid, and was read from a text with the digest `shown` */
    unsigned char shown[DIGEST_BYTES];
    unsigned char seen[PLANS_SEEN][DIGEST_BYTES];
};

struct gate {
    struct gate_shared *shared;
    struct audit_ring *ring;
    uint64_t generation;
    struct policy *policy; /* the policy of `held` */
    struct gate_snapshot *held;
    struct identity_keys *keys;
    struct stops *stops;
    struct definition_set *accepted;
    struct policy_scratch *scratch;
    struct record_text text;
    struct plan_reader plans;
};

/* Whether people have stopped the call. Its row names the stop. Returns: UNSET, or why it is denied. */
enum reason gate__stop(struct gate *gate, struct call *call);
/* A session as the audit has it, written into `hex`; at == NULL: the agent names none. */
struct span gate__session_hex(struct span session, char hex[2 * DIGEST_BYTES]);
/* The denial's rule stops the call's session, principal or agent besides. */
void gate__stop_by_rule(struct gate *gate, const struct call *call, struct span rule, const int64_t *lasts_us);

enum code gate__record_text_init(struct record_text *text) MUST_USE;
void gate__record_text_fini(struct record_text *text);

/* JSON array of the applying rules, with the approvals that a permit takes. */
struct span gate__rules_text(struct record_text *text, const struct verdict *verdict, const struct approval_marks *taken);

/* JSON object of what monitored rules would have done; at == NULL where none applied. */
struct span gate__monitor_text(struct record_text *text, const struct verdict *verdict);

/* JSON array of the names; where some had no room, its last member is their number. at == NULL: there are none. */
struct span gate__held_text(struct buf *out, const struct span *names, uint32_t count);

/* JSON object of the claims that the policy asks for; at == NULL: it asks for none, or the identity has none. */
struct span gate__claims_text(struct record_text *text, const struct policy *policy, const struct json_node *claims);

/* JSON object of what the client says of itself: name, title and version where this message has them (`clientInfo`), and its
 * User-Agent. at == NULL: it says nothing. Takes: is_redacted: something of the message is, so that nothing is repeated. */
struct span gate__client_text(struct record_text *text, const struct call *call, bool is_redacted);

/* The arguments as they may be recorded. *redacted: set where something was replaced; otherwise it stays. */
struct span gate__arguments_text(struct record_text *text, const unsigned char key[DIGEST_BYTES],
                                 const struct json_node *root, const struct verdict *verdict, bool *redacted);

/* The same for the other members of params, and for the query, which is redacted whole or not at all. */
struct span gate__params_text(struct record_text *text, const unsigned char key[DIGEST_BYTES],
                              const struct json_node *params, const struct verdict *verdict, bool *redacted);
struct span gate__query_text(struct record_text *text, const unsigned char key[DIGEST_BYTES], struct span query,
                             const struct verdict *verdict, bool *redacted);

/* JSON array of the paths of what is redacted in all of these, as '$.password', 'query'; at == NULL: nothing is. */
struct span gate__redacted_text(struct record_text *text, const struct call *call);

/* What an approval of the call is bound to beside its arguments: all other members of params, and of _meta those that the
 * policy asks for. Sets `bound`, and bound_has_root where `$` is all of params. */
enum code gate__bound_text(struct record_text *text, const struct policy *policy, struct question *question) MUST_USE;

/* Takes the current snapshots; without a change this is one load. */
void gate__follow(struct gate *gate);
bool gate__is_current(const struct gate *gate); /* whether nothing was published since the gate followed */

/* The past as it is when the call is judged. */
struct gate_moment gate__moment_of(const struct gate *gate, const struct call *call);

/* Notes that the call goes on, or that its answer met rules, for conditions that ask what was before. Takes: judged: the policy
 * that judged. */
void gate__note(struct gate *gate, const struct call *call, const struct policy *judged, const struct policy_met *met,
                bool is_answer);

/* Writes what the record says of redacted values into the call's arena, because the verdict points into the scratch, which
 * the next evaluation overwrites. Without memory all is redacted. */
void gate__keep_redacted(struct gate *gate, struct call *call);

/* people.c: takes the approvals that the permit needs, or notes what a held call waits for. Returns: false: another call was
 * faster, and this one is to be judged again. */
bool gate__mind_approvals(struct gate *gate, struct call *call);
void gate__settle_approvals(struct gate *gate, struct call *call);
void gate__drop_approvals(struct call *call);

/* planned.c: reads the plan that the call shows into the moment. Returns: UNSET, or why the plan has the call refused. */
enum reason gate__plan(struct gate *gate, struct call *call, struct gate_moment *moment);
void gate__plan_texts(struct record_text *text, const struct call_plan *plan, struct audit_decision *record);
/* Records the plan's text before the first record that names it. CODE_BUSY, CODE_DOWN: as gate_record. */
enum code gate__record_plan(struct gate *gate, const struct call *call) MUST_USE;

/* pinned.c: which definition of its tool the call means. */
void gate__find_definition(const struct gate *gate, struct call *call);
/* The definition as people have accepted it; NULL: they have not. It lives until the gate follows. */
const struct definition *gate__accepted(const struct gate *gate, const struct call *call);
/* Denies the call where nobody accepted the definition and its route holds such calls back. A call that the
 * policy denies keeps that reason. */
void gate__mind_definition(const struct gate *gate, struct call *call);
struct span gate__definition_text(struct record_text *text, const struct call *call);

void gate__questions_init(struct gate_shared *shared);
void gate__questions_fini(struct gate_shared *shared);

#endif
