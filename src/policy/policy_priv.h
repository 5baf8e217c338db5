/* SPDX-License-Identifier: Apache-2.0 */
/* What a snapshot is made of, shared by the compiler, the index, the evaluation and the explanation.
 *
 * Threads: a finished snapshot is immutable; a struct compiler, a struct walk and a scratch belong to one thread.
 * Owns: everything compiled lives in the snapshot's arena; regexes and operand buffers are freed with it.
 * Lifetime: the snapshot's.
 * Errors: compile functions return CODE_OK also where they added a fault, so that one run finds up to 20; anything else
 * is CODE_NOMEM and ends the run. */
#ifndef POLICY_POLICY_PRIV_H
#define POLICY_POLICY_PRIV_H

#include "base/mem.h"
#include "json/json.h"
#include "policy/operator_tbl.h"
#include "policy/path.h"
#include "policy/policy.h"
#include "regex/regex.h"
#include "yaml/yaml.h"

#include <stdatomic.h>

/* Kleene's values: `and` is the least, `or` the greatest, `not` the negative. */
enum truth { TRUTH_FALSE = -1, TRUTH_UNDECIDED = 0, TRUTH_TRUE = 1 };

static inline enum truth truth_and(enum truth a, enum truth b)
{
    return a < b ? a : b;
}

static inline enum truth truth_or(enum truth a, enum truth b)
{
    return a > b ? a : b;
}

static inline enum truth truth_not(enum truth a)
{
    return (enum truth)(-(int)a);
}

const char *policy__truth_text(enum truth truth);

/* ---- names: the lists of `match` ---- */

enum dimension { DIM_TENANT = 0, DIM_PRINCIPAL, DIM_UPSTREAM, DIM_METHOD, DIM_TOOL, DIM_COUNT };

extern const char *const policy__dimension_text[DIM_COUNT]; /* "tenants" ... */

enum name_kind { NAME_LITERAL = 0, NAME_GLOB, NAME_REGEX, NAME_PROTOCOL };

struct name {
    enum name_kind kind;
    bool whole;                /* REGEX */
    struct span text;
    const struct regex *regex; /* REGEX */
};

struct names {
    bool given; /* false: every call holds */
    uint32_t count;
    const struct name *name;
};

struct match {
    struct names by[DIM_COUNT];
    bool opening;
};

/* ---- conditions ---- */

enum op_kind {
#define X(name, word, reads_text) OP_##name,
    OPERATOR_TABLE(X)
#undef X
    OP_COUNT
};

extern const char *const policy__op_text[OP_COUNT]; /* "equals" ... */
bool policy__op_reads_text(enum op_kind kind);      /* Meaning 4: the string operators */

#define IS_INTEGER JSON_NONE /* in op.is_type: a number without fractional value */

struct op {
    enum op_kind kind;
    bool whole;                            /* MATCHES */
    bool truth;                            /* EXISTS */
    enum json_type is_type;                /* IS; JSON_TRUE stands for boolean */
    uint64_t count;                        /* lengths and items */
    struct span text;                      /* MATCHES, GLOB, ...: the operand as written */
    const struct regex *regex;             /* MATCHES */
    const struct json_node *value;         /* EQUALS, CONTAINS, MIN, MAX */
    const struct json_node *const *values; /* IN: strings first, in byte order */
    uint32_t value_count, string_count;
};

enum condition_kind { CONDITION_LEAF = 0, CONDITION_ALL, CONDITION_ANY, CONDITION_NOT };

struct condition {
    enum condition_kind kind;
    struct span label; /* "rule-id: when[0].any[1] $.q matches" */
    int line;
    uint32_t count;    /* ALL, ANY, NOT (one) */
    const struct condition *members;
    /* LEAF */
    struct path path;
    const struct op *ops;
    uint32_t op_count;
    bool opening;
    bool every;              /* quantifier */
    bool skips_containers;   /* a string operator at the end of `..*` */
    bool counts_lacks;       /* opening, with `[*]` before further steps */
    enum truth absent;       /* of an absent value */
};

struct rule {
    struct span id;
    enum effect effect;
    bool monitor;
    bool restricts_args; /* only_args is given */
    struct span reason, say;
    struct match match;
    const struct condition *when; /* ALL, or NULL */
    struct condition only_args;   /* for its label and line */
    const struct span *args;      /* in byte order */
    uint32_t arg_count;
    const struct source *source;
    int line, column;
};

struct redaction {
    struct match match;
    const struct path *paths;
    uint32_t path_count;
};

struct policy_case { /* one of `tests:` */
    const struct source *source;
    struct span name;
    int line;
    struct question question;
    enum verdict_kind verdict;
    bool has_rule, has_reason;
    struct span rule; /* at == NULL: none may decide */
    enum reason reason;
};

/* One file of the set. */
struct source {
    struct span path, name, text;
    const char *path_text; /* with a NUL */
    bool monitor;
};

/* ---- what a snapshot owns besides its arena ---- */

struct pattern { /* a regex; one for each text of the set */
    struct pattern *next;
    struct span text;
    struct regex *regex; /* NULL: did not compile; told */
    size_t offset;
    char why[256];
    struct {
        bool done, affordable;
        const char *example;
    } pumped[2]; /* anywhere, whole */
};

struct kept { /* a buffer that parsed operands point into */
    struct kept *next;
    struct buf buf;
};

#define PATTERN_BUCKETS 256

struct bucket {
    struct span key;
    enum dimension dimension;
    uint32_t uses;   /* rules that name it, indexed here or not */
    uint32_t count;
    uint32_t *rules; /* ascending */
};

struct naming {
    uint64_t hash;
    const struct names *upstreams, *methods;
};

/* Rules by one exact name each; the rest has to be looked at for every new kind of call. */
struct index {
    struct bucket *buckets; /* a closed hash table */
    size_t bucket_count;    /* a power of two, or 0 */
    uint32_t *general;
    uint32_t general_count;
    struct naming *namings; /* which methods are named for which upstreams */
    uint32_t naming_count;
};

struct policy {
    _Atomic uint32_t refs;
    uint64_t serial; /* unique in the process, for caches */
    uint64_t version;
    char hash[64];
    struct arena arena;
    struct pattern *patterns[PATTERN_BUCKETS];
    struct kept *kept;
    struct source *sources;
    uint32_t source_count;
    struct rule *rules; /* by effect, then id in byte order */
    uint32_t rule_count;
    const struct rule **by_id;
    struct redaction *redactions;
    uint32_t redaction_count;
    struct policy_case *cases;
    uint32_t case_count;
    bool asks_principal; /* some rule or redaction restricts principals */
    struct index index;
};

enum code policy__index_build(struct policy *policy) MUST_USE;
/* Calls `add` with each rule that could concern the question, in no order, some twice. */
enum code policy__index_each(const struct index *index, const struct question *question,
                             enum code (*add)(void *context, const uint32_t *rules, uint32_t count), void *context) MUST_USE;
/* Whether some rule names the method for this upstream: literally, by glob or by `protocol`. */
bool policy__names_method(const struct policy *policy, const struct question *question, struct regex_budget *budget);
const struct rule *policy__rule_by_id(const struct policy *policy, struct span id);

/* ---- evaluation ---- */

struct trace; /* explain.c: words about a walk */

#define VISITS_MAX UINT64_C(20000000) /* values looked at in one call; more is too costly */
#define VISIT_WORK 5                  /* units of a regex budget: one budget bounds all that a call costs */

/* One walk over conditions. */
struct walk {
    const struct question *question;
    struct regex_budget *budget;
    uint64_t visits_left;
    bool spent;          /* the visits were used up */
    struct trace *trace; /* NULL: nobody listens */
};

enum truth policy__names_match(const struct names *names, enum dimension dimension, bool opening,
                               const struct question *question, struct regex_budget *budget);
/* *undecided: the first undecided dimension, where the result is undecided. */
enum truth policy__match(const struct match *match, const struct question *question, struct regex_budget *budget,
                         enum dimension *undecided);
/* *undecided: the label of the first undecided condition, where the result is undecided. */
enum truth policy__rule_conditions(struct walk *walk, const struct rule *rule, struct span *undecided);
enum truth policy__op(struct walk *walk, const struct condition *leaf, const struct op *op, const struct json_node *value);
/* Whether one of the leaf's operators is undecided on this array or object. */
bool policy__leaf_skips(const struct condition *leaf, const struct json_node *value);
enum truth policy__regex(const struct regex *regex, bool opening, struct span subject, bool whole, struct regex_budget *budget);

/* Rules or redactions whose `match` is not false, ascending. */
struct candidate {
    uint32_t at;
    enum truth match;
    enum dimension undecided;
};

struct candidates {
    const struct candidate *rules, *redactions;
    uint32_t rule_count, redaction_count;
    bool spent, monitor_spent; /* the regexes of `match` used up their budget: of enforced rules, of monitored ones */
};

/* Remembers what it found: the result is a function of the snapshot and the names in the question. */
enum code policy__candidates(const struct policy *policy, const struct question *question,
                             struct policy_scratch *scratch, struct candidates *candidates) MUST_USE;

struct cache_entry;

struct policy_scratch {
    struct arena arena; /* of one verdict */
    struct cache_entry **cache;
    size_t cache_bytes;
};

enum code policy__redact(const struct policy *policy, const struct candidates *candidates, const struct question *question,
                         struct policy_scratch *scratch, struct verdict *verdict) MUST_USE;

/* The walk behind policy_eval and policy_explain; `trace` may be NULL. */
void policy__judge(const struct policy *policy, const struct question *question, struct regex_budget *budget,
                   struct policy_scratch *scratch, struct trace *trace, struct verdict *verdict);

/* What explain.c says along the walk. All do nothing without a trace. */
void policy__trace_rule(struct trace *trace, const struct rule *rule, enum truth match, enum dimension undecided);
void policy__trace_applies(struct trace *trace, const struct rule *rule, enum truth truth, bool applies);
void policy__trace_enter(struct trace *trace, const struct condition *condition);
void policy__trace_leave(struct trace *trace, const struct condition *condition, enum truth truth);
void policy__trace_value(struct trace *trace, const struct condition *leaf, const struct json_node *value, enum truth truth);
void policy__trace_absent(struct trace *trace, const struct condition *leaf, bool is_element);

#endif
