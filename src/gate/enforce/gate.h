/* SPDX-License-Identifier: Apache-2.0 */
/* The judgement: identity, policy and audit joined; knows no transport. The one enforcement path.
 *
 * A transport judges each message (gate_judge), learns the verdict, works out the status of its answer, and records it
 * (gate_record). A permitted message may go on, and a denial may be answered, only after gate_fate says DURABLE.
 *
 * Threads: gate_shared is for all; a gate belongs to one thread at a time. gate_publish_* from main. A decision may end on
 *   another thread than the one that judged.
 * Owns: gate_shared: the current snapshots, the state (state/state.h), the open questions. A gate: its scratch and snapshot
 *   references.
 * Lifetime: gates are freed before gate_shared.
 * Errors: a verdict that cannot be reached is a denial with its reason; nothing here ever opens. */
#ifndef ENFORCE_GATE_H
#define ENFORCE_GATE_H

#include "audit/ring.h"
#include "state/definitions.h"
#include "state/state.h"
#include "identity/identity.h"
#include "policy/policy.h"

struct gate_shared;
struct gate;

struct gate_shared_conf {
    unsigned char redact_key[DIGEST_BYTES];  /* HMAC key for redacted values; kept outside the database */
    unsigned char session_key[DIGEST_BYTES]; /* MAC key of sessions, of the store */
    unsigned char approval_key[DIGEST_BYTES]; /* HMAC key by which held calls are recognised, of the store */
};

enum code gate_shared_new(const struct gate_shared_conf *conf, struct gate_shared **shared) MUST_USE;
void gate_shared_free(struct gate_shared **shared);

/* What is permitted from now on is noted for this version, too, until one is published: so whoever then reads the record
 * (gate_remember_watches) misses nothing. Takes: coming: stays the caller's; NULL: none. */
void gate_announce_policy(struct gate_shared *shared, struct policy *coming);

/* From now on, or no longer, every call that rules would judge is denied `starting`: what they ask of the past is not known
 * yet. */
void gate_hold_back(struct gate_shared *shared, bool is_starting);

/* Makes a snapshot the current one; takes the caller's reference. Workers follow at their next call. */
void gate_publish_policy(struct gate_shared *shared, struct policy *policy_take);
void gate_publish_keys(struct gate_shared *shared, struct identity_keys *keys_take);
void gate_publish_definitions(struct gate_shared *shared, struct definition_set *set_take);

/* Returns: a reference to the policy in force; NULL where none is. Threads: any. */
struct policy *gate_policy(struct gate_shared *shared);

struct gate_state *gate_state_of(struct gate_shared *shared);
struct definitions *gate_definitions(struct gate_shared *shared); /* for main to take what is new */

/* What people are asked and what they said; for main's verbs. */
struct approvals *gate_approvals(struct gate_shared *shared);

enum code gate_new(struct gate_shared *shared, struct audit_ring *ring, struct gate **gate) MUST_USE;
/* One more for the same worker: another thread may judge with it while nobody else does. */
enum code gate_beside(const struct gate *gate, struct gate **beside) MUST_USE;
void gate_free(struct gate **gate);

/* The current tables, refreshed; valid until the next call on this gate. */
struct identity_keys *gate_keys(struct gate *gate);
const unsigned char *gate_session_key(const struct gate *gate);

/* Events of refusals that were folded and whose second is over (with `all`: every one). From main, about once a second,
 * into main's ring. */
void gate_tick(struct gate_shared *shared, struct audit_ring *ring, int64_t now_us, int64_t time_us, bool all);

/* One message as its transport read it. All spans are borrowed. */
struct gate_message {
    int64_t time_us;            /* UTC, when it had been read and was judged; of what never is, when its head was complete */
    int64_t read_us;            /* monotonic, likewise */
    int64_t began_us;           /* monotonic, when its head was complete */
    struct span tenant, principal, authentication, client;
    const struct span *groups, *scopes; /* as in policy/question.h */
    uint32_t group_count, scope_count;
    bool may_step_up;           /* who asks may come again with more scopes: lists show what these would open */
    const struct json_node *claims;
    struct span issuer, token_key; /* of the access token, and its key's id; for the record alone */
    int64_t api_key;            /* number of the key that called; likewise; 0: none */
    struct span home;           /* the credential's own tenant, by which floods are told apart */
    struct span session, correlation, correlation_replaced, trace;
    struct span upstream, dialect, protocol_version;
    enum definitions_mode definitions; /* of tools, on this route */
    bool from_server;
    struct span method;         /* or a pseudo-name */
    struct span answers;        /* method `response`: what is answered */
    struct span tool;           /* tools/call */
    struct span target;         /* for the audit's column `tool` */
    struct span rpc_id;
    const struct json_node *params; /* what stands in params beside what root holds; or NULL */
    const struct json_node *root, *meta; /* see policy/question.h; root is also what is recorded as arguments */
    struct span path;           /* below the route; at == NULL: the route is exact */
    struct span body, query;
    struct span plan;           /* as the header carries it; at == NULL: none was shown, or none is asked for */
    const struct plan_keys *plan_keys; /* by which it is signed; NULL: no plan is looked at */
    enum reason refused;        /* UNSET: to be judged; PERMITTED: permitted without judging (`pass`, preflight never);
                                 * anything else: refused already, only to be recorded */
    bool expects_outcome;       /* when permitted */
};

/* The plan that a call showed, once it is known whose it is. */
struct gate_planned {
    bool is_known;
    uint32_t step;              /* as question_plan: used where the call is permitted */
    unsigned char digest[DIGEST_BYTES];
};

struct gate_decision {
    struct policy *policy;      /* that judged; NULL: none */
    struct gate_snapshot *held; /* which keeps it, and counts for one gate alone */
    int64_t judge_us;
    uint64_t ticket;            /* 0: not recorded (audit down, folded) */
    uint64_t asked;             /* held and settled: the decision by whose number people find the call */
    bool folded;                /* one of a flood of refusals: counted in an event, no row */
    const struct gate *by;      /* in whose scratch the parts to redact lie, */
    uint64_t serial;            /* and of which evaluation it must be */
    struct approval_marks approvals; /* that a permit took, or that a held call waits for; until settled */
    struct gate_token token;    /* of the deciding permit's limits and of the plan, until the call goes on */
    struct gate_planned plan;
    bool has_definition;        /* of the tool that is called; its digest: */
    unsigned char definition[DIGEST_BYTES];
    struct verdict verdict;     /* kind DENY until judged; rule texts live as long as `policy` is held */
};

/* The tool, prompt or resource that a method is about, which the audit calls the row's tool. */
void gate_aim(struct question *question, struct span target);

/* Nothing judged yet, nothing held. */
void gate_decision_init(struct gate_decision *decision);

/* Judges (unless refused already). Never fails: it denies. */
void gate_judge(struct gate *gate, const struct gate_message *message, struct gate_decision *decision);

/* Records the decision; `status` is what the agent will get when it is a denial. Other messages may be judged between
 * gate_judge and gate_record: redactions are then worked out again, under the same snapshot.
 * Returns: CODE_OK (wait for gate_fate, or folded: answer at once), CODE_BUSY (ring full: call again after the next wake),
 * CODE_DOWN (deny with AUDIT_DOWN, no row; counted for the `audit_up` event). */
enum code gate_record(struct gate *gate, const struct gate_message *message, struct gate_decision *decision, int status)
    MUST_USE;

/* Whether the call uses a step of a plan whose steps have an order. */
static inline bool gate_is_ordered(const struct gate_decision *decision)
{
    return decision->token.state != NULL && decision->token.step != 0 && decision->token.is_ordered;
}

/* What a transport asks after gate_record has said CODE_OK. */
enum audit_fate gate_fate(const struct gate *gate, uint64_t ticket, uint64_t *seq);

/* Once its fate is known and before anything else is done: the token and the approvals that a permit took are used, or are
 * given back, and later calls find this one; a person is asked about a held call. Takes: seq: of the durable record; 0: it
 * failed. */
void gate_settle(struct gate *gate, const struct gate_message *message, struct gate_decision *decision, uint64_t seq);

/* Appends the beginning of a result as it may be recorded: what the call's policy redacts is replaced. *answer_bytes: of
 * the whole. Takes: message, decision: of the call. A result of more than 1 MiB is not taken apart: where something of it
 * would be redacted, all is. */
enum code gate_answer(struct gate *gate, const struct gate_message *message, const struct gate_decision *decision,
                      struct span result, size_t max_bytes, struct buf *out, uint64_t *answer_bytes) MUST_USE;

/* Exactly one for each permit that expects one. */
void gate_outcome(struct gate *gate, const struct audit_result *result);

/* A permit that was not recorded yet is one no more, since the call may not go on for a `reason` that is not its own: what it
 * took is given back. */
void gate_revoke(struct gate_decision *decision, enum reason reason);

/* The approvals that the second permit took belong to the first from now on, which was not recorded yet, and its token to the
 * caller, who spends it or gives it back; the second is over.
 * Returns: false: there is no room for its approvals, and nothing was done. */
bool gate_join(struct gate_decision *decision, struct gate_decision *other, struct gate_token *token) MUST_USE;

/* A permitted message goes on without a record of its own, as a server's notification does. */
void gate_pass(struct gate_decision *decision);

/* Drops the policy reference; the token of a call that did not go on is given back. An approval is given back where nothing
 * was recorded, and used up where the record's fate was not settled. */
void gate_decision_fini(struct gate_decision *decision);

/* What an upstream says of a tool in a list that passes. Takes: message: that asks for it. Returns: whether the list may show
 * it: somebody has accepted this definition, or the route holds none. */
struct gate_tool {
    struct span name;
    const enum policy_known *said; /* as hints_learn */
    bool is_minted;
    struct span share, definition; /* as struct definition_told */
    bool begins;
};
bool gate_learn(struct gate *gate, const struct gate_message *message, const struct gate_tool *tool);

/* The inputSchema of the definition that a call of the tool would mean, in canonical JSON, until the gate's next message; at ==
 * NULL: nobody has accepted it, or its schema cannot bind. */
struct span gate_schema_text(struct gate *gate, const struct gate_message *message, struct span tool);

/* Whether this principal may see in a list what `method` takes as its target, or whether some rule could permit such a message
 * of a server at all (without a target), under the current snapshot.
 * Takes: is_template: the target is a template of URIs, of which some could be permitted. */
bool gate_may_see(struct gate *gate, const struct gate_message *message, struct span method, struct span target,
                  bool is_template);

/* After a denial with NO_RULE: the scope for want of which the call was denied, as policy_lacking_scope says; at == NULL: it is
 * no scope. It lives as long as the decision holds its policy. */
struct span gate_lacking_scope(struct gate *gate, const struct gate_message *message, const struct gate_decision *decision);

/* What was asked last, and what was said; all zero: nothing yet. */
struct gate_passing {
    uint64_t generation; /* of the snapshots by which it was answered */
    bool passes;
    uint8_t method_len;
    char method[128];
};

struct gate_came;

/* Whether every notification of came->method that a server sends in this exchange is permitted under the current snapshot,
 * whatever it holds, and leaves nothing behind, and no rule for answers concerns it: then none needs to be judged. */
bool gate_passes(struct gate *gate, const struct gate_message *message, const struct gate_came *came,
                 struct gate_passing *passing);

#endif
