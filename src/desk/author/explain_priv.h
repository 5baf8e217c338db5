/* SPDX-License-Identifier: Apache-2.0 */
/* The listener that explains a walk and counts what it met.
 *
 * Threads: one.
 * Owns: nothing.
 * Lifetime: one walk.
 * Errors: after a failed line nothing more is written; the code is told at the end. */
#ifndef AUTHOR_EXPLAIN_PRIV_H
#define AUTHOR_EXPLAIN_PRIV_H

#include "author/coverage.h"
#include "author/explain.h"
#include "author/words.h"
#include "policy/snapshot.h"
#include "policy/trace.h"
#include "policy/walk.h"

#define TRACE_DEPTH_MAX 64 /* conditions in each other; more are not in documents */

/* The documents of a rule or condition; the lists are made with their first member. */
struct trace_level {
    struct doc *self, *members, *values, *readings;
};

#define GIST_RULES_MAX 64 /* candidates; of more the sentence names the rule alone */
#define GIST_TRUTHS 3

/* A verdict in one sentence. Of each truth the texts of what decided first. */
struct gist {
    struct buf value[GIST_TRUTHS]; /* of the leaf at hand */
    struct buf leaf[GIST_TRUTHS];  /* of the rule's own condition at hand */
    struct buf rule[GIST_TRUTHS];  /* of the rule at hand */
    struct buf used_up;            /* what of the rule's limits has no room */
    struct buf said;               /* of all rules so far */
    bool is_opening;               /* the rule at hand */
    struct gist_rule {
        const struct rule *rule;
        size_t at, len; /* in `said` */
        bool is_used_up; /* a limit of it has no room */
    } of[GIST_RULES_MAX];
    size_t count;
    const struct rule *missed; /* the first permit that misses the call by one part of its match alone */
    const char *missed_by;
};

struct telling {
    struct trace heard;
    struct buf *out;           /* words; NULL: none */
    struct doc *rules;         /* the same as a document, an array; NULL: none */
    struct doc *answer;        /* paths of the answer that are redacted, an array; NULL: none */
    const struct policy *policy;
    const struct policy_answer *answered; /* rules for answers are told of, and nothing that the answer holds; or NULL */
    struct doc *found;         /* what they found, an array; NULL: none */
    struct gist *gist;         /* NULL: nobody wants the sentence */
    struct coverage *coverage; /* what the walk met is counted there; NULL: nowhere */
    const struct question *question;
    struct buf text;           /* what words.c says for a document */
    enum code code;            /* of a document */
    unsigned depth;
    bool has_room;             /* under the limits of the rule so far */
    unsigned values;           /* shown of the leaf at hand */
    const struct op *failed;   /* the operator that decided the value at hand */
    struct trace_level levels[TRACE_DEPTH_MAX + 1]; /* the rule, and the conditions down to the one at hand */
};

/* Takes: out, rules, answer, coverage: as the members. Whoever has it ends its `text`. */
struct telling telling_to(struct buf *out, struct doc *rules, struct doc *answer, struct coverage *coverage);

#define SAY(telling, ...) ((telling)->out != NULL ? (void)buf_addf((telling)->out, __VA_ARGS__) : (void)0)

/* Tells what words.c wrote into telling->text: behind `before`, and as the document's member. Takes: before NULL: the document
 * alone; doc NULL: words alone. */
void telling__text(struct telling *telling, const char *before, struct doc *doc, const char *key);

/* explain_around.c: who asks what, and what comes of it. */
void telling__question(struct telling *telling, const struct question *question);
void telling__verdict(struct telling *telling, const struct verdict *verdict);
/* Rules that concern the call but for one part of their match: what an author looks for who wonders where a rule is. */
void telling__missed(struct telling *telling, const struct rule *rules, uint32_t rule_count, const struct question *question);

/* gist.c, while a walk is told, and at its end. Each but the last two does nothing for a telling without one. */
void gist__rule(struct telling *telling, const struct rule *rule);
void gist__value(struct telling *telling, const struct condition *leaf, const struct json_node *value, bool is_recorded,
                 enum truth truth);
void gist__absent(struct telling *telling, const struct condition *leaf);
void gist__fact(struct telling *telling, struct span seen);
/* Before the depth is that of what is around it. */
void gist__leave(struct telling *telling, const struct condition *condition, enum truth truth);
void gist__limit(struct telling *telling, const struct trace_limit *seen);
void gist__applies(struct telling *telling, const struct rule *rule, enum truth truth);
void gist__missed(struct telling *telling, const struct rule *rule, const char *by);
void gist__init(struct gist *gist);
void gist__fini(struct gist *gist);
/* The sentence, without a line end. Takes: about: a rule's id; at == NULL: none decides. */
void gist__say(const struct gist *gist, const struct verdict *verdict, struct span about, struct buf *out);

/* explain_answer.c */
/* What of the answer a route that keeps answers leaves out; which values these are, nobody knows before it is there. */
void telling__left_out(struct telling *telling, const struct policy *policy, const struct question *question);
void telling__found(struct trace *heard, const struct rule *rule, const struct trace_found *found);

struct span telling__short_label(const struct condition *condition); /* without the rule's id */

/* coverage.c */
void coverage__rule(struct coverage *coverage, const struct rule *rule, bool applies);
void coverage__condition(struct coverage *coverage, const struct condition *condition, enum truth truth);

#endif
