/* SPDX-License-Identifier: Apache-2.0 */
/* What a file says: rules, and redactions of the audit.
 *
 * Threads: immutable once compiled.
 * Owns: nothing; all of it lives in the snapshot's arena.
 * Lifetime: the snapshot's.
 * Errors: none. */
#ifndef POLICY_RULE_H
#define POLICY_RULE_H

#include "crypto/digest.h"
#include "policy/answer.h"
#include "policy/condition.h"
#include "policy/verdict.h"

enum parameter_type {
    PARAMETER_TEXT = 0, PARAMETER_FOLDER, PARAMETER_HOST, PARAMETER_UPSTREAM, PARAMETER_TOOL, PARAMETER_NUMBER, PARAMETER_LIST
};

/* A value that the file left open, for who shows it, and for who holds upstreams against the routes. */
struct policy_parameter {
    struct span name, json; /* json: the value */
    enum parameter_type type, of;
    const struct span *texts; /* the value, or each of a list; of numbers none */
    uint32_t text_count;
    bool is_set; /* false: it is the default */
    int line, column;
};

/* One file of the set. */
struct policy_source {
    struct span path, name, text;
    struct span base; /* what the file calls itself: of a copy another name */
    const char *path_text; /* with a NUL */
    bool monitor;
    int allow_line; /* where `allow` stands, which binds no arguments; 0: nowhere */
    const struct policy_parameter *parameters;
    uint32_t parameter_count;
};

struct rule {
    struct span id;
    enum effect effect;
    unsigned char halves; /* of a call that it decides: bits 1 << enum call_half */
    enum answer_effect answer; /* what it does to answers; NONE: it is a rule for calls */
    bool reads_value;          /* some condition asks what the answer holds */
    bool finds;                /* some condition tells where it found something */
    bool monitor;
    bool restricts_args; /* only_args is given */
    bool alerts;         /* alert: true: somebody is told of what it denies */
    bool stops;          /* some of the next are given */
    int64_t stops_us[VERDICT_STOPS];
    struct span reason, say;
    struct match match;
    const struct condition *when; /* ALL, or NULL */
    struct condition only_args;   /* for its label and line */
    const struct span *args;      /* in byte order */
    uint32_t arg_count;
    bool by_schema;               /* arguments: by_schema */
    struct condition schema;      /* for its label and line */
    bool asks;                    /* a permit with a limit over which a person is asked */
    struct verdict_people people; /* who decides, where somebody may be asked */
    const struct policy_limit *limit; /* of a permit, the first; or NULL */
    int64_t until_us;                 /* from then on it does not apply; 0: it has no end */
    struct span until_label;
    const struct policy_source *source;
    int line, column;
};

/* Whether the rule has not ended yet. */
static inline enum truth rule_lasts(const struct rule *rule, const struct question *question)
{
    if (rule->until_us == 0)
        return TRUTH_TRUE;
    return question->time_us <= 0 ? TRUTH_UNDECIDED : truth_of(question->time_us < rule->until_us);
}

enum redaction_part { REDACT_ARGS, REDACT_PARAMS, REDACT_ANSWER, REDACT_PART_COUNT };

struct redaction {
    struct match match;
    struct {
        const struct path *path;
        uint32_t count;
    } of[REDACT_PART_COUNT];
    bool query;
    const struct policy_source *source;
    int line, column;
};

#endif
