/* SPDX-License-Identifier: Apache-2.0 */
/* What comes back, as rules for answers judge it: it goes on, goes on and is recorded, loses parts, or is withheld.
 *
 * Threads: an answer and its verdict belong to one thread.
 * Owns: nothing; texts belong to the snapshot, the rest to the scratch that was handed in.
 * Lifetime: a verdict's: while snapshot and answer are held and the scratch is not used again.
 * Errors: none; what cannot be decided is withheld. */
#ifndef POLICY_ANSWER_H
#define POLICY_ANSWER_H

#include "base/buf.h"
#include "policy/policy.h"

/* One message to a client, or what is left to be judged of one. */
struct policy_answer {
    /* `$` of `value:`: the `result`, the `error` object, or the `params` of a notification or of a server's own request; in a
     * dialect without envelopes the body. NULL: absent. Its raw spans lie in one document. */
    const struct json_node *root;
    /* The method of a notification or of a server's request: it concerns the rules that name it, and those that concern the
     * call in whose stream it comes. Otherwise empty. */
    struct span method;
    /* The call to which it belongs is not known (a resumed stream, a task, a stream of no call). Of the question only the
     * people, the upstream, path and query count, and every rule that could concern it does. */
    bool of_unknown;
};

enum answer_effect { ANSWER_NONE = 0, ANSWER_FLAG, ANSWER_REDACT, ANSWER_WITHHOLD };
#define ANSWER_EFFECTS (ANSWER_WITHHOLD + 1)

/* Why a rule withholds whose author wrote something else. */
enum answer_why {
    ANSWER_AS_WRITTEN = 0,
    ANSWER_UNDECIDED,  /* a redaction that cannot be decided */
    ANSWER_OF_SKILL, /* what was found is in a skill's file or manifest, which clients hold against a digest */
    ANSWER_NOT_IN_TEXT, /* what was found cannot be cut out of a string: it is in a number, a name or a decoded reading */
    ANSWER_TOO_COSTLY, /* of all rules; verdict.rule is empty */
    ANSWER_NO_MEMORY   /* likewise */
};

#define ANSWER_RULES_MAX 64 /* applying rules that are named in the record; all are counted */
struct answer_rule {
    struct span id;
    enum answer_effect effect; /* what it came to */
    bool monitor; /* the rule only monitors: it would have had the effect */
};

#define ANSWER_FOUND_MAX 64
struct answer_found {
    struct span name; /* the detector's name; of another operator the rule's id */
    uint64_t count;
};

/* A string of the answer's tree, and what it says once everything is cut out of it. */
struct answer_edit {
    const struct json_node *node;
    struct span text;
};

struct answer_verdict {
    enum answer_effect effect;
    struct span rule;        /* that decides: of those with this effect the one with the smallest id; at == NULL: none */
    struct span say;         /* the author's `say:`, for the agent */
    enum answer_why why;     /* of that rule */
    struct span undecided;   /* "rule-id: condition" of its first undecided condition; or empty */
    uint32_t rule_count;     /* may exceed ANSWER_RULES_MAX */
    struct answer_rule rules[ANSWER_RULES_MAX]; /* withhold, redact, flag as written, then by id; monitored ones too */
    enum answer_effect monitor_effect; /* what the effect would be were monitored rules active */
    struct span monitor_rule;
    bool has_monitor;        /* some monitored rule applied */
    uint32_t found_count;    /* by name; beyond ANSWER_FOUND_MAX they are left out */
    struct answer_found found[ANSWER_FOUND_MAX]; /* by enforced rules, withholding and flagging ones too */
    const struct answer_edit *edits; /* REDACT: in document order */
    uint32_t edit_count;
    uint64_t work; /* regex work units */
};

const char *answer_why_text(enum answer_why why);          /* for people */
const char *answer_effect_text(enum answer_effect effect); /* "none", "flag", "redact", "withhold" */

#endif
