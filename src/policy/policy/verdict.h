/* SPDX-License-Identifier: Apache-2.0 */
/* The answer of a policy: permit, deny or hold, why, by which rule, and what is to be redacted.
 *
 * Threads: filled and read by one thread.
 * Owns: nothing; texts belong to the snapshot, the rest to the scratch that was handed to policy_eval.
 * Lifetime: while the snapshot is held and the scratch is not used again.
 * Errors: none; a verdict that was never filled denies. */
#ifndef POLICY_VERDICT_H
#define POLICY_VERDICT_H

#include "base/buf.h"
#include "base/reason.h"
#include "base/span.h"
#include "policy/question.h"

#include <stdbool.h>
#include <stdint.h>

enum verdict_kind { VERDICT_DENY = 0, VERDICT_HOLD, VERDICT_PERMIT };

/* Whom a forbid stops besides: the call's own. */
enum verdict_stop { VERDICT_STOP_SESSION = 0, VERDICT_STOP_PRINCIPAL, VERDICT_STOP_AGENT, VERDICT_STOPS };

enum effect { EFFECT_FORBID = 0, EFFECT_REQUIRE_APPROVAL, EFFECT_PERMIT };

#define VERDICT_RULES_MAX 64 /* applying rules that are named in the record; all are counted */

/* A call needs the person's half of a permit; at a route that judges the agent it needs the agent's half, too. Each is found by
 * the rules that give it. A forbid stands in both, since neither can be had against it. */
enum call_half { HALF_PERSON = 0, HALF_AGENT, HALF_COUNT };
#define HALVES_BOTH ((1U << HALF_PERSON) | (1U << HALF_AGENT))

struct verdict_rule {
    struct span id;
    enum effect effect;
    /* a call has 64 of them in it: what they say of it lies in two bytes */
    unsigned char halves; /* that it decides: bits 1 << enum call_half */
    bool monitor : 1; /* would have applied; changed nothing */
    bool limited : 1; /* a permit that would have applied, were it not over a limit */
    bool asks : 1;    /* a permit that has a limit over which a person is asked */
    bool barred : 1;  /* a require_approval that denies: the call has arguments which it does not list */
};

/* The rules that a permitted call met: that applied to it, also those that are only monitored. */
struct policy_met {
    const struct verdict_rule *rules;
    uint32_t count;       /* as verdict.rule_count; beyond VERDICT_RULES_MAX nobody knows which */
    struct span deciding[HALF_COUNT]; /* these rules are met, even if they are over a limit; at == NULL: none */
};

/* What is taken of a permit's limits where its call goes on. */
struct verdict_spent {
    const struct policy_limit *limit; /* the first; NULL: none */
    uint64_t amount[POLICY_LIMITS_MAX];
    const struct policy_value *values; /* as many; they lie in the scratch, and so are taken at once */
    bool beyond; /* a person has approved it: those limits that ask are taken even where they have no room */
};

/* Whom a rule asks, and why. */
struct verdict_people {
    struct span reason;    /* the author's `reason:` */
    struct span rule_hash; /* of what the author wrote, DIGEST_BYTES */
    uint32_t needed;       /* so many have to grant it */
    struct span approvers; /* of these: a line each, "group:treasury", or "self" alone; at == NULL: of whoever may at all */
};

/* A require_approval that applies, or a permit over a limit that asks. */
#define VERDICT_APPROVALS_MAX 8 /* a call that more of them hold is held whatever people say */
struct verdict_approval {
    struct span rule;
    const struct verdict_people *people;
    bool is_granted;
};

struct verdict {
    enum verdict_kind kind;
    enum reason reason;               /* PERMITTED, NO_RULE, METHOD_UNKNOWN, AGENT_UNKNOWN, NO_AGENT_RULE, FORBIDDEN,
                                       * APPROVAL_REQUIRED, APPROVAL_REFUSED, RATE_LIMITED, TOO_COSTLY, NO_POLICY, MEMORY */
    struct span rule;                 /* deciding rule's id; at == NULL: none. Of two halves that say the same, the person's */
    struct span agent_rule;           /* the rule by which the agent's half is given, or held; empty: none gives it; at == NULL:
                                       * the call does not need it */
    struct span rule_reason;          /* the author's `reason:`, for the audit */
    struct span say;                  /* the author's `say:`, for the agent */
    struct span undecided;            /* "rule-id: condition" of the deciding rule's first undecided condition; or empty */
    uint32_t rule_count;              /* of rules; may exceed VERDICT_RULES_MAX */
    struct verdict_spent spent[HALF_COUNT]; /* of the permits that give the halves, each permit once: who lets the call go
                                             * takes it */
    const struct verdict_spent *monitor_spent[HALF_COUNT]; /* likewise, of monitored permits that would give them, or NULL; in
                                                            * the scratch, so that it is taken at once */
    int64_t wait_us;                  /* RATE_LIMITED: until one of the limits has room again */
    enum verdict_kind monitor_kind;   /* what the verdict would be were monitored rules active */
    struct span monitor_rule;
    bool has_monitor;                 /* some monitored rule applied */
    bool stops;                       /* a denial, and a rule that denies stops somebody besides: policy_besides_of each */
    bool alerts;                      /* likewise, has somebody told of it */
    uint64_t policy_version;          /* 0: no policy */
    struct span policy_hash;          /* lower-case hex SHA-256 of the version's text */
    bool guessed;                     /* a condition asked for what is hidden: question_hidden.favours_permit */
    bool redact_all;                  /* a redaction could not be decided, or names `$` */
    const struct json_node *const *redact; /* values under question.root that must not be recorded; sorted in document order */
    uint32_t redact_count;
    const struct json_node *const *redact_params; /* likewise of question.params, of which all may be one */
    uint32_t redact_param_count;
    bool redact_query;
    uint64_t work;                    /* regex work units */
    bool is_cut;                      /* there is no verdict: the question is brief, and takes longer; nothing else counts */
    uint32_t approval_count;
    /* What is behind the counts is not cleared for a new verdict. */
    struct verdict_rule rules[VERDICT_RULES_MAX]; /* all applying ones, by effect and then id, monitored ones too */
    struct verdict_approval approvals[VERDICT_APPROVALS_MAX]; /* HOLD: what is granted and what is to be asked for; PERMIT: all
                                                               * are granted, and are spent by whoever acts on the verdict */
};

const char *verdict_text(enum verdict_kind kind); /* "permit", "deny", "hold" */
/* Appends "group:treasury, role:admin or tenant:acme". */
void approvers_text(struct span approvers, struct buf *out);
const char *effect_text(enum effect effect);      /* "forbid", "require_approval", "permit" */

#endif
