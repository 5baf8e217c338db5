/* SPDX-License-Identifier: Apache-2.0 */
/* What rules find in an answer, and what is left of the answer without it.
 *
 * Threads: one judgement's.
 * Owns: nothing; all of it lives in the scratch's arena.
 * Lifetime: one judgement.
 * Errors: lack of memory marks the walk. */
#ifndef JUDGEMENT_ANSWER_PRIV_H
#define JUDGEMENT_ANSWER_PRIV_H

#include "policy/answer.h"
#include "policy/rule.h"
#include "policy/walk.h"

/* A part of a string, or all of it. */
struct cut {
    const struct path_inside *within; /* the text that holds the string as JSON; NULL: the string is one of the answer's own */
    const struct json_node *string;   /* NULL: what was found is in no string, but in a number, a name or a decoded text */
    size_t at, len;
    struct span name; /* the detector's name, else the rule's id */
    const struct condition *leaf; /* the leaf that found it in the string; NULL: the leaf found it in another string, or the
                                   * string goes as a whole */
    bool everywhere;  /* the leaf has looked at all strings */
    bool whole;       /* the leaf is true of the string as a whole and finds no part of it */
};

/* A string in which something was found, and by what: once all is cut, it must not be there any more. */
struct cut_check {
    const struct condition *leaf;
    const struct path_inside *within;
    const struct json_node *string;
};

struct cuts {
    struct arena *arena;
    const struct rule *rule;
    struct cut *cut;
    uint32_t count;
    size_t room;
    struct cut_check *check;
    uint32_t check_count;
    size_t check_room;
    bool undecided;  /* there may be more than was found */
    bool not_in_text; /* something found is in no string that could be written anew */
};

/* Where a condition's cuts begin. Conditions are walked once: what each leaf finds is collected on the way, and dropped where
 * a condition around it turns out not to be true. */
struct cuts_mark {
    uint32_t count, check_count;
    bool undecided, not_in_text;
};

static inline struct cuts_mark eval__mark_cuts(const struct cuts *cuts)
{
    return cuts == NULL ? (struct cuts_mark){.count = 0}
                        : (struct cuts_mark){cuts->count, cuts->check_count, cuts->undecided, cuts->not_in_text};
}

static inline void eval__rewind_cuts(struct cuts *cuts, const struct cuts_mark *mark)
{
    if (cuts == NULL)
        return;
    cuts->count = mark->count;
    cuts->check_count = mark->check_count;
    cuts->undecided = mark->undecided;
    cuts->not_in_text = mark->not_in_text;
}

/* condition.c calls it for each value that makes a leaf true, or may. */
void eval__cut(struct rule_walk *walk, const struct condition *leaf, const struct json_node *value,
               const struct path_inside *within, enum truth truth);
/* The same for a text that is in no string which could be cut. */
void eval__cut_nowhere(struct rule_walk *walk, const struct condition *leaf, struct span text, enum truth truth);
void eval__cut_undecided(struct cuts *cuts);
bool eval__still_holds(struct rule_walk *walk, const struct condition *leaf, struct span text);

/* Also cuts what was found wherever the answer has the same text. Takes: cuts: sorted; they are not sorted afterwards. */
void eval__cut_likewise(struct rule_walk *walk, struct cuts *cuts);

/* Sorts by place, and leaves one of several equal cuts. */
void eval__sort_cuts(struct cuts *cuts);

/* Whether the answer can be written without what the rule found. Takes: cuts: sorted. */
bool eval__can_cut(struct rule_walk *walk, struct cuts *cuts);

/* Writes the answer's strings without what was cut. Takes: cuts: of all rules, sorted. */
void eval__cut_edits(struct rule_walk *walk, const struct cuts *cuts, struct answer_verdict *verdict);

/* Appends the document without what is left out of it. Takes: out: empty. */
enum code eval__write_edits(struct json_edits *edits, struct span document, struct buf *out) MUST_USE;

#endif
