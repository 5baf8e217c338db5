/* SPDX-License-Identifier: Apache-2.0 */
/* The judgement: it joins identity, policy and audit, and knows no transport. No call is permitted but here.
 *
 * A transport judges each message (gate_judge), learns the verdict, works out the status of its answer, and records it
 * (gate_record). A permitted message may go on, and a denial may be answered, only after gate_fate says DURABLE.
 *
 * Threads: gate_shared is for all; a gate belongs to one thread at a time. gate_publish_* from main. A decision may end on
 *   another thread than the one that judged.
 * Owns: gate_shared: the current snapshots, the state (state/state.h), the open questions. A gate: its scratch and snapshot
 *   references.
 * Lifetime: gates are freed before gate_shared.
 * Errors: where no verdict can be reached, the call is denied with the reason. */
#ifndef ENFORCE_GATE_H
#define ENFORCE_GATE_H

#include "rows/ring.h"
#include "enforce/call.h"
#include "state/stops.h"

struct alerts;
struct rule_stops;
struct gate_shared;
struct gate;

struct gate_shared_conf {
    unsigned char redact_key[DIGEST_BYTES];  /* HMAC key for redacted values; kept outside the database */
    unsigned char session_key[DIGEST_BYTES]; /* MAC key of sessions; kept in the store */
    unsigned char approval_key[DIGEST_BYTES]; /* HMAC key by which held calls are recognised; kept in the store */
    unsigned char past_key[DIGEST_BYTES];    /* MAC key of the files that keep the past; kept in the store */
    bool has_fleet;                          /* limits and steps of plans count over all nodes, whom wishes ask */
};

enum code gate_shared_new(const struct gate_shared_conf *conf, struct gate_shared **shared) MUST_USE;
void gate_shared_free(struct gate_shared **shared);

/* From now on permitted calls are noted for this version too, until a version is published, so that who then reads the
 * record (gate_remember_watches) misses none. Takes: coming: stays the caller's; NULL: none. */
void gate_announce_policy(struct gate_shared *shared, struct policy *coming);

/* Whether from now on every call that rules would judge is denied as `starting`, because what rules ask of the past is not
 * known yet. */
void gate_hold_back(struct gate_shared *shared, bool is_starting);

/* From now on every call that rules would judge is denied for this reason; REASON_UNSET: for none. */
void gate_withhold(struct gate_shared *shared, enum reason reason);

/* Makes a snapshot the current one; takes the caller's reference. Workers follow at their next call. */
void gate_publish_policy(struct gate_shared *shared, struct policy *policy_take);
void gate_publish_keys(struct gate_shared *shared, struct identity_keys *keys_take);
void gate_publish_definitions(struct gate_shared *shared, struct definition_set *set_take);
void gate_publish_stops(struct gate_shared *shared, struct stops *stops_take); /* NULL: they cannot be read: all is denied */

/* Returns: a reference to the policy in force; NULL where none is. Threads: any. */
struct policy *gate_policy(struct gate_shared *shared);

struct gate_state *gate_state_of(struct gate_shared *shared);
struct definitions *gate_definitions(struct gate_shared *shared); /* from which main takes definitions that are new */

size_t gate_stops_count(struct gate_shared *shared, int64_t now_us); /* that stand */
struct rule_stops *gate_rule_stops(struct gate_shared *shared); /* which main puts into the store */
struct alerts *gate_alerts(struct gate_shared *shared); /* which main tells people of */

/* What people are asked and what they answered; for main's verbs. */
struct approvals *gate_approvals(struct gate_shared *shared);

enum code gate_new(struct gate_shared *shared, struct audit_ring *ring, struct gate **gate) MUST_USE;
/* Makes one more gate for the same worker, with which another thread may judge. */
enum code gate_beside(const struct gate *gate, struct gate **beside) MUST_USE;
void gate_free(struct gate **gate);

/* Follows the current snapshot. Returns: its keys, valid until the next call on this gate. */
struct identity_keys *gate_keys(struct gate *gate);
/* Likewise the stops that stand. Returns: NULL: nobody could read them. */
struct stops *gate_stops_of(struct gate *gate);
/* Whether people have stopped such a call, whatever was said of it before. Returns: STOPPED, with the stop in *stop, or
 * STOPS_UNKNOWN; UNSET: it may go on. */
enum reason gate_stopped(struct gate *gate, const struct call *call, int64_t now_us, const struct stop **stop);
const unsigned char *gate_session_key(const struct gate *gate);

/* Puts events of folded refusals into main's ring: those whose second is over, or with `all` every one. Main calls it
 * about once a second. */
void gate_tick(struct gate_shared *shared, struct audit_ring *ring, int64_t now_us, int64_t time_us, bool all);

/* Judges a call that was begun (unless it is refused already). Never fails: it denies. */
void gate_judge(struct gate *gate, struct call *call);

/* ---- limits and steps of plans that count over a fleet: between judging and recording ---- */

struct wishes *gate_wishes(const struct gate *gate); /* NULL: the gate is of no fleet */
struct wishes *gate_wishes_of(struct gate_shared *shared);
/* Adds what the call's permit took and the fleet counts; of a call that is denied since another step of its plan comes first,
 * that it is asked what was used. CODE_LIMIT: too much for one wish; CODE_NOMEM. */
enum code gate_wish(const struct gate *gate, const struct call *call, struct wish **wish) MUST_USE;
/* Goes by what the fleet said of the wish, which had this call's among it; gate_given: all was given. */
void gate_given(const struct gate *gate, struct call *call);
enum code gate_hear(const struct gate *gate, const struct call *call, const struct wish *wish) MUST_USE;
/* As gate_state_write_uses; of the parts there are TALLY_PARTS. */
void gate_write_uses(struct gate_shared *shared, uint32_t part, struct buf *out);
bool gate_is_starting(const struct gate_shared *shared); /* it does not know yet what was called before */

/* Records the decision. Takes: status: what the agent will get when it is a denial; gate: any that shares snapshots with
 * the one that judged.
 * Returns: CODE_OK (wait for gate_fate, or folded: answer at once), CODE_BUSY (ring full: call again after the next wake),
 * CODE_DOWN (deny with AUDIT_DOWN, no row; counted for the `audit_up` event). */
enum code gate_record(struct gate *gate, struct call *call, int status) MUST_USE;

/* What a transport asks after gate_record has said CODE_OK. */
enum audit_fate gate_fate(const struct gate *gate, uint64_t ticket, uint64_t *seq);

/* Notes a denial of which somebody is to be told. gate_settle does so for an agent's call; who judges a server's message does
 * it itself. */
void gate_alert(struct gate *gate, const struct call *call, uint64_t seq);

/* Settles a call once its fate is known, before anything else is done with it. Where it was recorded (call->seq is not 0), the
 * token and the approvals that a permit took are used, later calls find this one, and a person is asked about a held call;
 * otherwise they are given back. */
void gate_settle(struct gate *gate, struct call *call);

/* Appends the beginning of a result as it may be recorded, redacted as the call's policy says. *answer_bytes: the length
 * of the whole. A result of more than 1 MiB is not taken apart: where a part of it would be redacted, all of it is.
 * Takes: root: the result's tree, where gate_redacts_answer says that it is needed; NULL: there was no room for it. */
enum code gate_answer(struct gate *gate, const struct call *call, struct span result, const struct json_node *root,
                      size_t max_bytes, struct buf *out, uint64_t *answer_bytes) MUST_USE;
/* Whether gate_answer needs the tree of the result. */
bool gate_redacts_answer(struct gate *gate, const struct call *call);

/* Records an outcome: exactly one for each permit that expects one. */
void gate_outcome(struct gate *gate, const struct audit_result *result);

/* Turns a permit that was not recorded yet into a denial for `reason`, and gives back what it took: the call may not go on
 * for another cause than its own rules. */
void gate_revoke(struct call *call, enum reason reason);

/* Joins two permits of one message into the first, which is not recorded yet: it takes the second's approvals, and what was
 * taken for it of limits. The second, which uses no step of a plan, is over.
 * Returns: CODE_LIMIT, CODE_NOMEM: there is no room for its approvals, or none at all, and nothing was done. */
enum code gate_join(struct call *call, struct call *other) MUST_USE;

/* The first call takes the question and the judgement of the second, to be recorded as that; both are over then. Takes: item:
 * a call with the same head. */
void gate_stand_for(struct call *call, struct call *item);

/* A permitted message goes on without a record of its own, as a server's notification does. */
void gate_pass(struct call *call);

/* Ends what was judged, so that the call may be judged anew. Where nothing was recorded, its token and approvals are given
 * back. Where a record's fate was not settled, they count as used. */
void gate_let_go(struct call *call);

/* What an upstream says of a tool in a list. */
struct gate_tool {
    struct span name;
    const enum policy_known *said; /* as in hints_learn */
    bool is_minted;
    struct span share, definition; /* as in struct definition_told */
    bool begins;
};
/* Takes: call: the one that asks for the list. Returns: whether the list may show the tool, because somebody has accepted this
 * definition or the route holds none back. */
bool gate_learn(struct gate *gate, const struct call *call, const struct gate_tool *tool);

/* The inputSchema of the definition that a call of the tool would mean, in canonical JSON, until the gate's next message; at ==
 * NULL: nobody has accepted it, or its schema cannot bind. */
struct span gate_schema_text(struct gate *gate, const struct call *call, struct span tool);

/* Whether this principal may see in a list what `method` takes as its target, or whether some rule could permit such a message
 * of a server at all (without a target), under the current snapshot.
 * Takes: is_template: the target is a template of URIs, of which some could be permitted. */
bool gate_may_see(struct gate *gate, const struct call *call, struct span method, struct span target, bool is_template);

/* After a denial with NO_RULE or NO_AGENT_RULE: the scope that would have had the call permitted, as
 * policy_lacking_scope says; at == NULL: none would. It lives as long as the call holds its policy. */
struct span gate_lacking_scope(struct gate *gate, const struct call *call);

#endif
