/* SPDX-License-Identifier: Apache-2.0 */
/* One call, from its head to its outcome: what came, what is asked of a policy, what was judged and what became of it. Each
 * fact about a call is kept here once, by whoever learns it.
 *
 * An agent's call, each of several in a body, and each message of a server in the stream of one are calls. A call knows no
 * transport: moving bytes, connections and time limits belong to the code that moves it.
 *
 * Threads: one at a time.
 * Owns: what gate_judge took for it, until gate_let_go; its two buffers, until call_fini. All else is borrowed from the arena
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

/* The plan that a call showed, once its signature was verified. */
struct call_plan {
    bool is_known;
    uint32_t step; /* as in question_plan: the step that the call uses where it is permitted */
    unsigned char digest[DIGEST_BYTES];
};

/* Invariants: owes_outcome: a permit that expects an outcome was recorded and has none yet. */
struct call {
    /* What its head says. call_begin copies it to all that comes in the same body and stream. */
    struct question asked;      /* call_ask fills in what the message says; the judgement sets `state`, `plan` and `bound` */
    const struct identity *who; /* NULL: the agent has shown no credential */
    struct span correlation_replaced, trace, dialect, protocol_version;
    struct span user_agent;     /* what the head says of the client's program; nobody has verified it */
    struct span shown_plan;     /* as the header carries it; at == NULL: none was shown, or the route takes none */
    const struct plan_keys *plan_keys; /* keys that may sign plans; NULL: no plan is looked at */
    enum definitions_mode definitions; /* what this route does about tools' definitions */
    struct arena *arena;        /* in which the call lies, and what must live as long */
    bool is_join;               /* of a joined endpoint: each of its parts is a call of its own, which is judged and recorded;
                                 * this one is neither, but for what is refused before */
    bool may_step_up;           /* the caller may come again with more scopes, so lists also show what these would permit */
    int64_t began_us;           /* monotonic, when its head was complete */

    /* What came. */
    struct call *next;          /* that came in the same body */
    struct call *within;        /* the call in whose stream a server sent this message; NULL: it is an agent's */
    struct mcp_message message; /* for a server's message only its id is set */
    struct span target;         /* for the audit's column `tool` */
    struct span body;           /* canonical, as it is recorded */
    int64_t read_us;            /* monotonic, when it had been read and its judging began */
    enum reason refused;        /* UNSET: it is to be judged; PERMITTED: it is permitted without judging (`pass`; never a
                                 * preflight); anything else: it is refused already and only recorded */
    bool expects_outcome : 1;   /* when permitted */
    bool is_own : 1;            /* of its client, which makes it itself, and may say later that it is over */
    bool is_report : 1;         /* it says so, of another call: neither judged nor recorded */
    bool may_wait : 1;          /* for an approval that people have given, and of which it is not known yet whose it is */

    /* What becomes of it. */
    bool is_permitted;
    bool owes_outcome;
    bool is_answered;           /* the response to the request went down */
    bool was_mended;            /* some message was mended, as the route's `lenient` allows */
    bool keeps_answer;          /* the result's beginning is in `answer` */
    enum reason refusal;        /* why the gate itself answers; UNSET: it does not */
    uint64_t seq;               /* of its record; 0: there is none yet */
    struct answered *answered;  /* what rules for answers did; NULL: none had an effect */
    struct audit_result outcome; /* its `reason` is UNSET until it has ended */
    struct buf canonical;       /* what is judged, recorded and sent */
    struct buf inner;           /* the arguments of the call that stands in it */
    struct buf answer;          /* the result's beginning, for the audit */
    struct digest digest;       /* of what was delivered, once something was */

    /* What is judged of it: gate_judge, until gate_let_go. */
    struct policy *policy;      /* the one that judged; NULL: none */
    struct gate_snapshot *held; /* keeps `policy` alive; one gate's own count of its users */
    int64_t judge_us;
    uint64_t ticket;            /* 0: not recorded (audit down, folded) */
    uint64_t held_as;           /* of a held call, once settled: the number of the decision by which people find it */
    bool waits;                 /* for that: the verdict is none yet, and it is to be judged again */
    bool is_offered;            /* of a held call, once settled: who asks is shown the page where he decides it himself */
    bool folded;                /* without a row: one of a flood of refusals, which an event counts; or its parts have rows */
    bool has_definition;        /* of the tool that is called: `definition` is its digest */
    struct span arguments, params; /* as they may be recorded; at == NULL: nothing is redacted in them, or all is */
    struct span redacted;       /* of a held call: what is redacted, for the person who decides; or at == NULL */
    struct call_plan plan;
    unsigned char definition[DIGEST_BYTES];
    struct gate_token token;    /* of the deciding permit's limits and of the plan, until the call goes on */
    struct approval_marks approvals; /* that a permit took, or that a held call waits for; until settled */
    struct verdict verdict;     /* kind DENY until judged; rule texts live as long as `policy` is held */
};

/* Makes a call of which nothing came and nothing is judged. Takes: head: a call whose head it shares; NULL: it has a head of
 * its own, of which nothing is read yet. */
void call_begin(struct call *call, const struct call *head, struct arena *arena);
void call_fini(struct call *call); /* frees its buffers; may be called twice */

void call_unjudge(struct call *call); /* forgets what was judged, which was given back before */

/* Fills in the question from the message. */
void call_ask(struct call *call);

/* Sets the question's tool, prompt or resource, by the method. The audit writes the target into the column `tool`. */
void call_aim(struct question *question, struct span target);

/* The credential's own tenant: floods are counted by it, and it is charged for memory. */
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
