/* SPDX-License-Identifier: Apache-2.0 */
/* The lists of names in `match`, and whether a call has one of them.
 *
 * Threads: immutable once compiled.
 * Owns: nothing; all of it lives in the snapshot's arena.
 * Lifetime: the snapshot's.
 * Errors: none; a regex or glob that costs too much is undecided. */
#ifndef POLICY_MATCH_H
#define POLICY_MATCH_H

#include "policy/question.h"
#include "texts/truth.h"
#include "regex/regex.h"

#define VISIT_WORK 5 /* units of a regex budget: one budget bounds all that a call costs */

/* Tool, resource and prompt are targets, of which a message has one or none. Groups and scopes are held: who asks has any
 * number of them. A label is what a version calls some of the calls. */
enum dimension {
    DIM_TENANT = 0, DIM_PRINCIPAL, DIM_UPSTREAM, DIM_METHOD, DIM_PATH, DIM_QUERY, DIM_LABEL, DIM_TOOL, DIM_RESOURCE, DIM_PROMPT,
    DIM_GROUP, DIM_SCOPE, DIM_COUNT
};

#define DIM_OPTIONAL DIM_PATH /* what some messages have: from here on a list matches none that has nothing, not even by `*` */

#define DIM_TARGET DIM_TOOL /* the first target */
#define DIM_HELD DIM_GROUP  /* the first that is held, and so the end of those of which a call has one value at most */

extern const char *const policy_dimension_text[DIM_COUNT]; /* "tenants" ... */

enum name_kind { NAME_LITERAL = 0, NAME_GLOB, NAME_REGEX, NAME_PROTOCOL, NAME_LABEL };

struct label;

struct match_name {
    enum name_kind kind;
    bool whole;                /* REGEX */
    struct span text;
    size_t head;               /* GLOB: bytes that stand for themselves, before the first that does not */
    const struct regex *regex; /* REGEX */
    const struct label *label; /* LABEL */
};

struct names {
    bool given; /* false: every call holds */
    uint32_t count;
    const struct match_name *name;
};

struct match {
    struct names by[DIM_COUNT];
    bool opening;
};

/* What an entry of `labels:` stands for: the calls that any of `any` is about, by names and globs alone. */
struct label {
    struct label *next; /* of all of the version */
    struct span name;
    struct span key; /* its name and what it stands for, unambiguously */
    const struct match *any;
    uint32_t count;
    const void *node; /* where it was written; only the compiler reads it */
    const struct policy_source *source;
    int line, column;
};

enum truth policy_labelled(const struct label *label, const struct question *question, struct regex_budget *budget);

extern const struct names *const policy_target_methods[DIM_COUNT]; /* Meaning 10: those that have the target; or NULL */

extern const struct names policy_answer_methods; /* those of a rule for answers that names none, and no target */

/* Takes: a dimension before DIM_HELD; question_place not DIM_LABEL, of which nothing stands in a question. */
struct span *question_place(struct question *question, enum dimension dimension);
struct span question_name(const struct question *question, enum dimension dimension);

/* What who asks has of a dimension from DIM_HELD on. */
struct held {
    const struct span *name;
    uint32_t count;
};
struct held question_held(const struct question *question, enum dimension dimension);

enum truth policy_name_matches(const struct match_name *name, bool opening, struct span value, struct regex_budget *budget);
enum truth policy_names_match(const struct names *names, enum dimension dimension, bool opening,
                              const struct question *question, struct regex_budget *budget);
/* From one dimension to before another. *undecided: the first undecided one, where the result is undecided. */
enum truth policy_match(const struct match *match, enum dimension from, enum dimension to, const struct question *question,
                        struct regex_budget *budget, enum dimension *undecided);

/* Where the condition opens, a regex that folds case is undecided on letters that other readers may fold otherwise. */
enum truth policy_regex(const struct regex *regex, bool opening, struct span subject, bool whole, struct regex_budget *budget);

#endif
