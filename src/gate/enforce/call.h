/* SPDX-License-Identifier: Apache-2.0 */
/* One call, from its head to its outcome: what came, what is asked of a policy, what was judged and what became of it. Whoever
 * learns a fact about a call writes it here, once; who needs it reads it here.
 *
 * An agent's call, one of several in a body, and what a server says in the stream of one are each a call. It knows no
 * transport: bytes that move, connections and time limits belong to whoever moves it.
 *
 * Threads: one at a time.
 * Owns: what gate_judge took for it, until gate_let_go; its two buffers, until call_fini. All else is borrowed from the memory
 *   in which it lies, from its head, or from the snapshot that it holds.
 * Lifetime: begun with its head, in whose arena it lies; over with its outcome.
 * Errors: none of its own. */
#ifndef ENFORCE_CALL_H
#define ENFORCE_CALL_H

#include "rows/record.h"
#include "base/buf.h"
#include "crypto/digest.h"
#include "identity/identity.h"
#include "mcp/message.h"
#include "policy/policy.h"
#include "state/approvals.h"
#include "state/definitions.h"
#include "state/state.h"

struct answered;
struct gate_snapshot;

/* The plan that a call showed, once it is known whose it is. */
struct call_plan {
    bool is_known;
    uint32_t step; /* as question_plan: used where the call is permitted */
    unsigned char digest[DIGEST_BYTES];
};

/* Invariants: owes_outcome: a permit that expects an outcome was recorded and has none yet. */
struct call {
    /* What its head says, which is the same for all that comes in its body and in its stream: call_begin. */
    struct question asked;      /* of which call_ask fills in the rest; `state`, `plan` and `bound` are the judgement's */
    const struct identity *who; /* NULL: nobody has shown it */
    struct span correlation_replaced, trace, dialect, protocol_version;
    struct span shown_plan;     /* as the header carries it; at == NULL: none was shown, or none is asked for */
    const struct plan_keys *plan_keys; /* by which it is signed; NULL: no plan is looked at */
    enum definitions_mode definitions; /* of tools, on this route */
    struct arena *arena;        /* in which it lies, and what lives as long */
    bool may_step_up;           /* who asks may come again with more scopes: lists show what these would open */
    int64_t began_us;           /* monotonic, when its head was complete */

    /* What came. */
    struct call *next;          /* that came in the same body */
    struct call *within;        /* in whose stream a server said it; NULL: an agent did */
    struct mcp_message message; /* of a server's message its id alone */
    struct span target;         /* for the audit's column `tool` */
    struct span body;           /* canonical, as it is recorded */
    int64_t read_us;            /* monotonic, when it had been read and its judging began */
    enum reason refused;        /* UNSET: to be judged; PERMITTED: permitted without judging (`pass`, preflight never);
                                 * anything else: refused already, only to be recorded */
    bool expects_outcome;       /* when permitted */

    /* What becomes of it. */
    bool is_permitted;
    bool owes_outcome;
    bool is_answered;           /* the response to the request went down */
    bool was_mended;            /* some message, as the route's `lenient` allows */
    bool keeps_answer;          /* the result's beginning is in `answer` */
    enum reason refusal;        /* why it is answered by us; UNSET: it is not */
    uint64_t seq;               /* of its record; 0: there is none yet */
    struct answered *answered;  /* what rules for answers did; NULL: none had an effect */
    struct audit_result outcome; /* its `reason` is UNSET until it has ended */
    struct buf canonical;       /* what is judged, recorded and sent */
    struct buf answer;          /* the result's beginning, for the audit */
    struct digest digest;       /* of what was delivered, once something was */

    /* What is judged of it: gate_judge, until gate_let_go. */
    struct policy *policy;      /* that judged; NULL: none */
    struct gate_snapshot *held; /* which keeps it, and counts for one gate alone */
    int64_t judge_us;
    uint64_t ticket;            /* 0: not recorded (audit down, folded) */
    uint64_t held_as;           /* held and settled: the decision by whose number people find the call */
    bool folded;                /* one of a flood of refusals: counted in an event, no row */
    struct span arguments, params; /* as they may be recorded; at == NULL: nothing of them is replaced, or all is */
    struct span redacted;       /* of a held call: what is replaced, for the person who decides; or at == NULL */
    struct call_plan plan;
    bool has_definition;        /* of the tool that is called; its digest: */
    unsigned char definition[DIGEST_BYTES];
    struct gate_token token;    /* of the deciding permit's limits and of the plan, until the call goes on */
    struct approval_marks approvals; /* that a permit took, or that a held call waits for; until settled */
    struct verdict verdict;     /* kind DENY until judged; rule texts live as long as `policy` is held */
};

/* Nothing came, nothing is judged. Takes: head: whose head it shares; NULL: it has one of its own, of which nothing is read. */
void call_begin(struct call *call, const struct call *head, struct arena *arena);
void call_fini(struct call *call); /* its buffers; callable twice */

void call_unjudge(struct call *call); /* what was judged was given back */

/* The message becomes what is asked. */
void call_ask(struct call *call);

/* The tool, prompt or resource that a method is about, which the audit calls the row's tool. */
void call_aim(struct question *question, struct span target);

/* The credential's own tenant, by which floods are told apart and who is charged. */
static inline struct span call_home(const struct call *call)
{
    return call->who != NULL ? call->who->home : SPAN_NONE;
}

static inline bool call_is_permit(const struct call *call)
{
    return call->verdict.kind == VERDICT_PERMIT;
}

/* Whether the call uses a step of a plan whose steps have an order. */
static inline bool call_is_ordered(const struct call *call)
{
    return call->token.state != NULL && call->token.step != 0 && call->token.is_ordered;
}

#endif
