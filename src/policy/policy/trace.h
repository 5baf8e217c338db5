/* SPDX-License-Identifier: Apache-2.0 */
/* Who listens to a walk, so that what is explained and counted is the judgement itself (author/explain.h, author/coverage.h).
 * A gate has none.
 *
 * Threads: the walk's.
 * Owns: nothing.
 * Lifetime: one walk.
 * Errors: none: the listener remembers its own. */
#ifndef POLICY_TRACE_H
#define POLICY_TRACE_H

#include "policy/rule.h"

/* The reading of a string that decided for an operator. */
struct trace_reading {
    const struct op *op;
    struct span text;
    const enum decoder *chain; /* that made it, the first one first */
    size_t depth;              /* of the chain; 0: the string itself */
    uint32_t count;            /* of all readings */
    enum truth truth;
};

/* What a call takes of a limit, and whether there is room for it. */
struct trace_limit {
    const struct policy_limit *limit;
    enum truth known; /* whether the amount is */
    struct policy_amount amount;
    struct policy_room room;
    bool fits;
};

/* Whether it stands for several values, joined: other strings have quotes in `raw`, and names that are asked for no key. */
static inline bool trace_is_joined(const struct json_node *value)
{
    return value->type == JSON_STRING && value->key.at != NULL && value->raw.at == value->text.at;
}

/* Whether it is a URL inside of a text, for a leaf that asks about these: a text of its own has quotes in `raw`. */
static inline bool trace_is_link(const struct condition *leaf, const struct json_node *value)
{
    return leaf->links && value->type == JSON_STRING && value->raw.at == value->text.at;
}

/* What a rule for answers found. */
struct trace_found {
    const struct json_node *string;   /* in which it stands; NULL: in none, but in a number, a name or a decoded reading */
    const struct path_inside *within; /* the text that holds the JSON in which the string stands; or NULL */
    size_t at, len;
    struct span name; /* of the detector; of an operator that is none the rule's id */
};

/* The first member of what the listener is; all are set. */
struct trace {
    void (*rule)(struct trace *trace, const struct rule *rule, enum truth match, enum dimension undecided);
    void (*limit)(struct trace *trace, const struct trace_limit *seen);
    void (*applies)(struct trace *trace, const struct rule *rule, enum truth truth, bool applies);
    void (*found)(struct trace *trace, const struct rule *rule, const struct trace_found *found);
    void (*granted)(struct trace *trace, enum policy_known granted);
    void (*hidden)(struct trace *trace); /* the tool that is described */
    /* What a half came to, where a call needs two. Takes: rule: that decides it; at == NULL: none. */
    void (*half)(struct trace *trace, enum call_half half, enum verdict_kind kind, enum reason reason, struct span rule);
    void (*enter)(struct trace *trace, const struct condition *condition);
    void (*leave)(struct trace *trace, const struct condition *condition, enum truth truth);
    void (*fact)(struct trace *trace, struct span seen);
    void (*op)(struct trace *trace, const struct op *op, enum truth truth); /* of the value that is then told */
    void (*reading)(struct trace *trace, const struct trace_reading *seen);
    void (*too_many)(struct trace *trace); /* readings */
    void (*value)(struct trace *trace, const struct condition *leaf, const struct json_node *value, enum truth truth);
    void (*absent)(struct trace *trace, const struct condition *leaf, bool is_element);
};

#endif
