/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of learning share: shapes of values, kinds of calls, the writer of YAML.
 *
 * Threads: one.
 * Owns: all lives in the arena of a struct learn.
 * Lifetime: that of the struct learn.
 * Errors: CODE_NOMEM; a writer keeps the first failure and writes no more. */
#ifndef PAST_LEARN_PRIV_H
#define PAST_LEARN_PRIV_H

#include "past/learn.h"

#define LEARN_VALUES_MAX 12     /* distinct values that are remembered of one place */
#define LEARN_VALUE_BYTES 200   /* of one of them */
#define LEARN_PREFIX_BYTES 200
#define LEARN_MEMBERS_MAX 64    /* names of one object; with more they are free */
#define LEARN_DEPTH_MAX 8       /* what is deeper has no conditions */
#define LEARN_SHAPES_MAX 1000   /* places of one kind of call */
#define LEARN_NAMES_MAX 32      /* tenants or principals that are listed */
#define LEARN_KINDS_MAX 2000    /* upstreams times tools */
#define LEARN_SAMPLES_MAX 2     /* calls of each kind that become tests */
#define LEARN_SAMPLE_BYTES 1000

struct learn_value {
    struct span text; /* a string decoded, or a number's lexeme */
    uint64_t count;
};

/* Few distinct values; with too many, or too long ones, none of them counts. */
struct learn_values {
    struct learn_value *value;
    uint32_t count;
    bool many;
};

/* What was seen at one place of the arguments. */
struct shape {
    struct span name;       /* of a member */
    struct shape *parent;   /* NULL: the arguments themselves */
    struct shape *next;     /* sibling member, in byte order of names */
    struct shape *members;
    struct shape *element;  /* of arrays; all elements together */
    unsigned depth;
    uint64_t present;       /* values here */
    uint64_t hidden;        /* of these, redacted */
    uint64_t nulls, trues, falses, numbers, strings, arrays, objects;
    /* numbers */
    uint64_t integers, unsafe;
    struct span least, most;
    struct learn_values lexemes;
    /* strings */
    struct learn_values texts;
    struct span prefix;     /* common to all, up to LEARN_PREFIX_BYTES */
    struct span folder;     /* common to all as file paths */
    bool no_paths;          /* some is no plain absolute path */
    size_t shortest, longest; /* code points */
    /* arrays and objects */
    uint64_t fewest, mostest; /* items */
    uint64_t thinnest, fattest; /* members */
    uint32_t member_count;
    bool unbounded;         /* more than can be told: members or places */
};

/* A set of names, listed while there are few. */
struct learn_names {
    struct span *name; /* in byte order */
    uint32_t count;
    bool many;
};

enum learn_about {
    LEARN_PLAIN = 0, /* a method that is permitted by its name: protocol, what servers ask */
    LEARN_TOOL,
    LEARN_PROMPT,
    LEARN_PARAMS     /* a method with params to look at */
};

struct learn_sample {
    struct span tenant, principal, agent;
    struct span answers;
    struct span raw; /* canonical arguments; at == NULL: none */
};

/* Calls that get one rule. */
struct learn_kind {
    enum learn_about about;
    struct span upstream, method, target, path; /* target of tools and prompts; path of all but plain ones */
    uint64_t calls;
    uint64_t approved;    /* more calls, which passed because a person had said so */
    uint64_t lost;        /* arguments cut, erased, redacted as a whole, damaged */
    uint64_t cut, erased, redacted; /* of these */
    int64_t first_us, last_us;
    struct learn_names tenants, principals, agents; /* agents: `many`, too, where a call had none */
    struct shape *root;
    uint32_t shapes;
    bool too_many_shapes;
    struct learn_sample samples[LEARN_SAMPLES_MAX];
    uint32_t sample_count;
    const struct policy_schema *schema; /* of a tool, as it is accepted; or NULL */
    uint64_t unfit;       /* calls that do not fit it, or perhaps not */
    bool drafted;         /* after learn_write */
    struct span id;       /* of its rule */
};

struct learn {
    struct arena arena;
    const struct definition_set *definitions; /* or NULL */
    struct learn_kind **kinds; /* by upstream, about, method, target, path */
    uint32_t kind_count;
    uint64_t further_calls;    /* of kinds beyond the bound */
    uint64_t calls;
    int64_t first_us, last_us;
};

/* learn.c */
enum code learn__copy(struct learn *learn, struct span text, struct span *copy) MUST_USE;

/* learn_shape.c: adds one value and what is below it. Takes: recorded: says what is hidden; kind: counts places. */
enum code learn__shape(struct learn *learn, struct learn_kind *kind, const struct recorded *recorded,
                            struct shape *shape, const struct json_node *value) MUST_USE;
struct shape *learn__new_shape(struct learn *learn, struct learn_kind *kind, struct shape *parent, struct span name);

/* ---- writing ---- */

struct draft {
    struct buf *out; /* which remembers the first failure */
    unsigned indent;
};

/* learn_text.c: what YAML, globs and paths need around a text. */
void draft__line(struct draft *draft, const char *format, ...) PRINTF_LIKE(2, 3); /* indented */
void draft__operand(struct draft *draft, struct span text); /* likewise, without variables of the policy language */
void draft__text(struct draft *draft, struct span text);   /* a string: plain where that is safe, else quoted */
void draft__quoted(struct draft *draft, struct span text);
void draft__name(struct draft *draft, struct span name);   /* as in `match`: what is special in a glob escaped */
void draft__value(struct draft *draft, const struct json_node *value); /* JSON, which is YAML */
void draft__pattern(struct draft *draft, const struct shape *shape); /* a regex over the texts of its scalars */
void draft__path(struct draft *draft, const struct shape *shape, const char *tail); /* quoted; `tail` behind it */

/* learn_condition.c: the entries of `when`. Returns: how many. */
unsigned draft__conditions(struct draft *draft, const struct learn_kind *kind);

#endif
