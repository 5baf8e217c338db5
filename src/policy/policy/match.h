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

/* Tool, resource and prompt are targets, of which a message has one or none. Groups and scopes are held: a caller has any
 * number of them. A label is a name that the policy gives to some calls. */
enum dimension {
    DIM_TENANT = 0, DIM_PRINCIPAL, DIM_UPSTREAM, DIM_METHOD, DIM_AGENT, DIM_PATH, DIM_QUERY, DIM_LABEL, DIM_TOOL, DIM_RESOURCE,
    DIM_PROMPT, DIM_GROUP, DIM_SCOPE, DIM_COUNT
};

#define DIM_OPTIONAL DIM_AGENT /* from here on a message may have nothing, and then no list matches it, not even by `*` */

#define DIM_TARGET DIM_TOOL /* the first target */
#define DIM_HELD DIM_GROUP  /* the first that is held; before it, a call has at most one value */

extern const char *const policy_dimension_text[DIM_COUNT]; /* "tenants" ... */

enum name_kind { NAME_LITERAL = 0, NAME_GLOB, NAME_REGEX, NAME_PROTOCOL, NAME_LABEL };

struct label;

struct match_name {
    enum name_kind kind;
    bool whole;                /* REGEX */
    struct span text;
    size_t head;               /* GLOB: how many bytes before the first special one */
    const struct regex *regex; /* REGEX */
    const struct label *label; /* LABEL */
};

struct names {
    bool given; /* false: no list is given, so every call matches */
    uint32_t count;
    const struct match_name *name;
};

struct match {
    struct names by[DIM_COUNT];
    bool opening;
};

/* What an entry of `labels:` stands for: the calls that any of `any` is about, by names and globs alone. */
struct label {
    struct label *next; /* the next label of this version */
    struct span name;
    struct span key; /* its name and what it stands for, unambiguously */
    const struct match *any;
    uint32_t count;
    const void *node; /* where it was written; only the compiler reads it */
    const struct policy_source *source;
    int line, column;
};

enum truth policy_labelled(const struct label *label, const struct question *question, struct regex_budget *budget);

extern const struct names *const policy_target_methods[DIM_COUNT]; /* Meaning 10: the methods that have the target; or NULL */

extern const struct names policy_label_methods; /* those of all targets: what a permit by labels opens */
/* The methods of a rule for answers that names neither methods nor a target; those that only a route declares go with them. */
extern const struct names policy_answer_methods;

/* Takes: a dimension before DIM_HELD; question_place: not DIM_LABEL, for which a question has nothing. */
struct span *question_place(struct question *question, enum dimension dimension);
struct span question_name(const struct question *question, enum dimension dimension);

/* Whether it is not known which name the call has there, or whether it has more. */
static inline bool question_hides_name(const struct question *question, enum dimension dimension)
{
    return question->hidden != NULL && (question->hidden->names >> dimension & 1) != 0;
}

/* What the caller has in a dimension from DIM_HELD on. */
struct held {
    const struct span *name;
    uint32_t count;
};
struct held question_held(const struct question *question, enum dimension dimension);

enum truth policy_name_matches(const struct match_name *name, bool opening, struct span value, struct regex_budget *budget);
enum truth policy_names_match(const struct names *names, enum dimension dimension, bool opening,
                              const struct question *question, struct regex_budget *budget);
/* Matches dimensions from one up to before another. *undecided: the first undecided one, where the result is undecided. */
enum truth policy_match(const struct match *match, enum dimension from, enum dimension to, const struct question *question,
                        struct regex_budget *budget, enum dimension *undecided);

/* Where the condition opens, a regex that folds case is undecided on letters that other readers may fold otherwise. */
enum truth policy_regex(const struct regex *regex, bool opening, struct span subject, bool whole, struct regex_budget *budget);

#endif
