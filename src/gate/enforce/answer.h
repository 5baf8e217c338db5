/* SPDX-License-Identifier: Apache-2.0 */
/* Judges what came back by rules for answers. No other place does, whatever brought the answer.
 *
 * The answer to a call is judged by the snapshot that permitted the call, which its row names. An answer to no known call, and
 * other messages of a server, are judged by the snapshot in force, which also permits them.
 *
 * Threads: as its gate's.
 * Owns: nothing.
 * Lifetime: texts of gate_weighed live in the arena that was handed in.
 * Errors: none: an answer that cannot be judged or rewritten is withheld. */
#ifndef ENFORCE_ANSWER_H
#define ENFORCE_ANSWER_H

#include "enforce/gate.h"
#include "policy/answer.h"

/* A message on its way to an agent. */
struct gate_came {
    struct span body;    /* canonical; in plain dialects the document */
    const struct json_node *root; /* `$` of rules: what of it is `result`, `error` or `params`, over `body`. NULL: there are no
                                   * params; an answer that has no tree is withheld */
    struct span method;  /* of a notification or of a server's request; empty: it is an answer */
    bool of_unknown;     /* as in policy_answer */
};

struct gate_weighed {
    enum answer_effect effect;
    struct span rule, say, undecided; /* each may be empty */
    uint32_t found_count, rule_count;
    const struct answer_found *found;
    const struct answer_rule *rules; /* all rules that apply, monitored ones too */
};

/* Whether a rule could have an effect on what came; its body and root are not looked at. Takes: call: in whose stream it came;
 * is_own: it answers that call, so the snapshot that permitted the call judges, and not the one in force. */
bool gate_weighs(struct gate *gate, const struct call *call, bool is_own, const struct gate_came *came);

/* Judges. Where the effect is REDACT, `edits` get what is left out of the body. */
void gate_weigh(struct gate *gate, const struct call *call, bool is_own, const struct gate_came *came, struct arena *arena,
                struct json_edits *edits, struct gate_weighed *weighed);

/* Replaces the text by a copy in the arena. Returns: false: no memory. */
bool gate_keep_text(struct arena *arena, struct span *text) MUST_USE;

/* Reserves room in the audit for what the outcome of a call says of rules for answers, once a call. Without that room no
 * message goes on that such a rule had an effect on. */
bool gate_reserve_said(struct gate *gate) MUST_USE;

/* The last question to gate_passes and its answer; all zero: there was none yet. */
struct gate_passing {
    uint64_t generation; /* number of the snapshots that gave the answer */
    bool passes;
    uint8_t method_len;
    char method[128];
};

/* Whether every notification of came->method that a server sends in this exchange is permitted under the current snapshot,
 * whatever it holds, and leaves nothing behind, and no rule for answers concerns it: then none needs to be judged. */
bool gate_passes(struct gate *gate, const struct call *call, const struct gate_came *came, struct gate_passing *passing);

#endif
