/* SPDX-License-Identifier: Apache-2.0 */
/* What came back, judged by rules for answers: the one place that asks them, whatever brought it.
 *
 * The answer to a call is judged by the snapshot that permitted the call, which its row names. What belongs to no call that is
 * known, and what a server says besides, is judged by the snapshot in force, as its permission is.
 *
 * Threads: as its gate's.
 * Owns: nothing.
 * Lifetime: texts of gate_weighed live in the arena that was handed in.
 * Errors: none: what cannot be judged, or not be rewritten, is withheld. */
#ifndef ENFORCE_ANSWER_H
#define ENFORCE_ANSWER_H

#include "enforce/gate.h"
#include "policy/answer.h"

/* A message on its way to an agent. */
struct gate_came {
    struct span body;    /* canonical; of plain dialects the document */
    const struct json_node *root; /* `$` of rules: what of it is `result`, `error` or `params`, over `body`. NULL: there are no
                                   * params; an answer that has no tree is withheld */
    struct span method;  /* a notification's, or that of a server's request; empty: it is an answer */
    bool of_unknown;     /* as policy_answer says */
};

struct gate_weighed {
    enum answer_effect effect;
    struct span rule, say, undecided; /* or empty */
    uint32_t found_count, rule_count;
    const struct answer_found *found;
    const struct answer_rule *rules; /* all that apply; monitored ones, too */
};

/* Whether a rule could have an effect on it; body and root are not looked at. Takes: call: in whose stream it came; is_own:
 * which it answers, so that the snapshot that permitted it judges; else the one in force does. */
bool gate_weighs(struct gate *gate, const struct call *call, bool is_own, const struct gate_came *came);

/* Judges. REDACT: the message as it may go on is appended to `out`. */
void gate_weigh(struct gate *gate, const struct call *call, bool is_own, const struct gate_came *came, struct arena *arena,
                struct buf *out, struct gate_weighed *weighed);

/* The text as a copy in the arena. Returns: false: no memory. */
bool gate_keep_text(struct arena *arena, struct span *text) MUST_USE;

/* Room in the audit for what the outcome of a call says of them, once a call: without it nothing goes on that they had an
 * effect on. */
bool gate_reserve_said(struct gate *gate) MUST_USE;

/* What was asked last, and what was said; all zero: nothing yet. */
struct gate_passing {
    uint64_t generation; /* of the snapshots by which it was answered */
    bool passes;
    uint8_t method_len;
    char method[128];
};

/* Whether every notification of came->method that a server sends in this exchange is permitted under the current snapshot,
 * whatever it holds, and leaves nothing behind, and no rule for answers concerns it: then none needs to be judged. */
bool gate_passes(struct gate *gate, const struct call *call, const struct gate_came *came, struct gate_passing *passing);

#endif
