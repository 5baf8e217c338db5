/* SPDX-License-Identifier: Apache-2.0 */
/* What a snapshot is made of, shared by the compiler, the index, the evaluation and the explanation.
 *
 * Threads: a finished snapshot is immutable; a struct compiler, a struct walk and a scratch belong to one thread.
 * Owns: everything compiled lives in the snapshot's arena; regexes and operand buffers are freed with it.
 * Lifetime: the snapshot's.
 * Errors: compile functions return CODE_OK also where they added a fault, so that one run finds up to 20; anything else
 * is CODE_NOMEM and ends the run. */
#ifndef POLICY_SNAPSHOT_H
#define POLICY_SNAPSHOT_H

#include "base/mem.h"
#include "crypto/digest.h"
#include "json/json.h"
#include "policy/address.h"
#include "policy/operator.h"
#include "policy/path.h"
#include "policy/policy.h"
#include "policy/zone.h"
#include "regex/regex.h"
#include "yaml/yaml.h"

#include <stdatomic.h>

/* ---- names: the lists of `match` ---- */

/* The last three are targets, of which a message has one or none. */
enum dimension {
    DIM_TENANT = 0, DIM_PRINCIPAL, DIM_UPSTREAM, DIM_METHOD, DIM_PATH, DIM_QUERY, DIM_TOOL, DIM_RESOURCE, DIM_PROMPT, DIM_COUNT
};

#define DIM_OPTIONAL DIM_PATH /* what some messages have: from here on a list matches none that has nothing, not even by `*` */

#define DIM_TARGET DIM_TOOL /* the first of them */


extern const char *const policy__dimension_text[DIM_COUNT]; /* "tenants" ... */

enum name_kind { NAME_LITERAL = 0, NAME_GLOB, NAME_REGEX, NAME_PROTOCOL };

struct name {
    enum name_kind kind;
    bool whole;                /* REGEX */
    struct span text;
    size_t head;               /* GLOB: bytes that stand for themselves, before the first that does not */
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

extern const struct names *const policy__target_methods[DIM_COUNT]; /* Meaning 10: those that have the target; or NULL */

enum decoder { DECODER_PERCENT = 0, DECODER_BASE64, DECODER_UNICODE, DECODER_HTML, DECODER_JSON, DECODER_COUNT };

extern const char *const policy__decoder_text[DECODER_COUNT + 1]; /* "percent" ..., NULL */

/* ---- what conditions ask about beyond arguments ---- */

/* Tools that some `session` watches; one for each set of names. */
struct watch {
    struct watch *next;
    struct policy_watch view;
    struct names tools, upstreams;
};

struct hours { /* of the local day, in minutes; from > to: past midnight, of the day on which it begins */
    int from, to;
};

enum fact_kind { FACT_DURING = 0, FACT_SESSION, FACT_CLIENT, FACT_ANNOTATIONS, FACT_COUNT };

extern const char *const policy__fact_text[FACT_COUNT]; /* "during" ... */
extern const char *const policy__by_text[POLICY_BY_COUNT + 1]; /* "tenant" ..., NULL */
extern const char *const policy__hint_text[]; /* "readOnlyHint" ..., NULL */

struct fact {
    enum fact_kind kind;
    uint32_t days;                 /* DURING: bits, 0 is Sunday */
    const struct hours *hours;     /* DURING */
    uint32_t count;                /* of hours or ranges */
    const struct zone *zone;       /* DURING */
    struct span zone_name;
    const struct watch *watch;     /* SESSION */
    uint32_t by;                   /* SESSION: bits of enum policy_by */
    int64_t within_us;             /* SESSION */
    struct span written;           /* as JSON, for words */
    const struct address_range *ranges; /* CLIENT */
    bool asks[POLICY_HINT_COUNT];  /* ANNOTATIONS */
    bool wants[POLICY_HINT_COUNT];
    enum truth absent;             /* ANNOTATIONS: of a hint that is not known */
    bool opening;                  /* ANNOTATIONS */
};

/* ---- conditions ---- */

enum condition_kind { CONDITION_LEAF = 0, CONDITION_ALL, CONDITION_ANY, CONDITION_NOT, CONDITION_FACT };

/* Where a leaf's path begins: `arg:` at `$`, `meta:` at params._meta, `param:` at what else stands in params. */
enum condition_root { FROM_ARG = 0, FROM_META, FROM_PARAM };

/* What conditions ask of _meta, and an approval is bound to. */
struct meta_key {
    struct span name;
    const struct meta_key *next;
};
struct meta_asks {
    const struct meta_key *keys; /* members that some path goes through */
    bool all;                    /* some path may select _meta or any member of it */
};

struct condition {
    enum condition_kind kind;
    struct span label; /* "rule-id: when[0].any[1] $.q matches" */
    int line;
    uint32_t count;    /* ALL, ANY, NOT (one) */
    const struct condition *members;
    const struct fact *fact; /* FACT */
    /* LEAF */
    struct path path;
    enum condition_root from;
    bool asks_keys; /* names of members in place of their values */
    unsigned decoders; /* 1 << enum decoder; 0: strings are read as they are */
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
    unsigned char hash[DIGEST_BYTES]; /* REQUIRE_APPROVAL: of what the author wrote */
    const struct policy_limit *limit; /* of a permit, or NULL */
    const struct source *source;
    int line, column;
};

enum redaction_part { REDACT_ARGS, REDACT_PARAMS, REDACT_ANSWER, REDACT_PART_COUNT };

struct redaction {
    struct match match;
    struct {
        const struct path *path;
        uint32_t count;
    } of[REDACT_PART_COUNT];
    bool query;
};

/* A rule that a test names. */
struct case_rule {
    struct span rule;
    uint64_t calls; /* `spent`: that count under its limit */
    int line, column;
};

/* A call that was permitted before; what it does not say is as in the call that is tested. */
struct case_earlier {
    struct question question;
    int64_t ago_us;
};

struct policy_case { /* one of `tests:` */
    const struct source *source;
    struct span name;
    int line, column;
    struct question question;
    const struct case_rule *approved; /* rules whose approval a person has given */
    uint32_t approved_count;
    const struct case_earlier *earlier;
    uint32_t earlier_count;
    const struct case_rule *spent;
    uint32_t spent_count;
    enum policy_known hints[POLICY_HINT_COUNT];
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

struct known_zone { /* one for each name of the set */
    struct known_zone *next;
    struct span name;
    const struct zone *zone;
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
    struct known_zone *zones;
    struct watch *watches;
    uint32_t watch_count;
    struct source *sources;
    uint32_t source_count;
    struct rule *rules; /* by effect, then id in byte order */
    uint32_t rule_count;
    const struct rule **by_id;
    struct redaction *redactions;
    uint32_t redaction_count;
    struct policy_case *cases;
    uint32_t case_count;
    struct meta_asks meta_asks[2]; /* [question_has_arguments]: of other methods `arg:` reaches _meta, too */
    bool asks_principal, asks_path, asks_query, asks_resource, asks_prompt; /* some rule or redaction restricts them */
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


#define VISITS_MAX UINT64_C(20000000) /* values looked at in one call; more is too costly */
#define VISIT_WORK 5                  /* units of a regex budget: one budget bounds all that a call costs */
#define VISITS_EACH 4096              /* spent from it at once, so that its clock is looked at within a leaf too */

struct trace; /* policy/trace.h: who listens to a walk */

/* One walk over conditions. */
struct walk {
    const struct question *question;
    struct regex_budget *budget;
    uint64_t visits_left, visits_told; /* what is between them is not spent from the budget yet */
    struct arena *arena; /* what one value is turned into; emptied for the next */
    bool spent;          /* the visits were used up */
    bool guessed;        /* see verdict.guessed */
    bool no_memory;
    struct trace *trace; /* NULL: nobody listens */
};

enum truth policy__name_matches(const struct name *name, bool opening, struct span value, struct regex_budget *budget);
enum truth policy__names_match(const struct names *names, enum dimension dimension, bool opening,
                               const struct question *question, struct regex_budget *budget);
/* *undecided: the first undecided dimension, where the result is undecided. */
enum truth policy__match(const struct match *match, const struct question *question, struct regex_budget *budget,
                         enum dimension *undecided);
/* uris.c: of a template's URIs, whether some could be among the names, or whether all are. Names that are not given hold for
 * every URI; of a regex anything may be assumed. */
bool policy__names_meet(const struct names *names, struct span uri_template);
bool policy__names_cover(const struct names *names, struct span uri_template);
/* Whether a name of `called` or its `upstreams` holds; both are names and globs only, which need no budget. */
const struct watch *policy__watch_of(const struct policy_watch *view);
bool policy__is_watched(const struct watch *watch, const struct question *question);
enum truth policy__fact(struct walk *walk, const struct fact *fact);
/* *undecided: the label of the first undecided condition, where the result is undecided. */
enum truth policy__rule_conditions(struct walk *walk, const struct rule *rule, struct span *undecided);
/* hidden.c: what a condition asks of a hidden value. Marks the walk. */
enum truth policy__guess(struct walk *walk, bool opening);
bool policy__date_time(struct span text, int64_t *time_us); /* RFC 3339; false for anything else */
/* operator_cidr.c */
enum truth policy__in_ranges(const struct address_range *ranges, uint32_t count, struct span text);

/* Spends the visits from the budget. Returns: false where the call became too costly. */
bool policy__spend_visits(struct walk *walk);

/* Counts what costs more than one visit. Returns: as policy__spend_visits. */
bool policy__charge(struct walk *walk, uint64_t visits);

/* decode.c: all operators of a leaf with decoders, on all readings of a string. */
enum truth policy__decoded(struct walk *walk, const struct condition *leaf, const struct json_node *string);

/* decode_text.c. Takes: out: room for text.len bytes, and policy__html_growth() more. Returns: how many were written. */
size_t policy__read_percent(struct span text, char *out);
size_t policy__read_html(struct span text, char *out);
size_t policy__html_growth(size_t len);

/* Whether the value alone makes the leaf's operators true. */
bool policy__fulfils(const struct condition *leaf, const struct json_node *value);
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
    struct arena arena;    /* of one verdict */
    struct arena readings; /* of one value */
    struct cache_entry **cache;
    size_t cache_bytes;
};

/* What the verdict says of redactions, of a call that the candidates were found for. */
enum code policy__redact(const struct policy *policy, const struct candidates *candidates, const struct question *question,
                         struct policy_scratch *scratch, struct verdict *verdict) MUST_USE;

/* The walk behind policy_eval and policy_explain; `trace` may be NULL. */
void policy__judge(const struct policy *policy, const struct question *question, struct regex_budget *budget,
                   struct policy_scratch *scratch, struct trace *trace, struct verdict *verdict);

/* call_text.c: appends a call's text so that the YAML reader takes it, if it is JSON. */
enum code policy__call_text(struct span text, struct buf *out) MUST_USE;

/* case.c: a test's call, judged by any policy, also one that it does not belong to. `trace` may be NULL. */
void policy__judge_case(const struct policy *policy, const struct policy_case *kase, struct policy_scratch *scratch,
                        struct trace *trace, struct verdict *verdict);

/* compile_hash.c: a text behind its length in eight bytes, big end first. */
void policy__hash_text(struct digest *digest, struct span text);

/* snapshot.c: one file of a version, which are hashed in byte order of their names. */
void policy__hash_file(struct digest *digest, struct span name, struct span text);

#endif
