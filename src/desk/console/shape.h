/* SPDX-License-Identifier: Apache-2.0 */
/* A page as a table: which commands it asks, and which words tell what they answer. A change is one, too.
 *
 * In a command's line a word may come from the request: `?name` is the option --name with that field, and `!name` the option
 * alone, where the field says something; `+name` is an option that must be said, as `+why`; `=name` the field as an operand,
 * which must be there; `#name` likewise a number, and `#` the number of the path. `~fleet` is --fleet, where
 * the gate is of one.
 *
 * Threads: a visit's.
 * Owns: nothing.
 * Lifetime: static.
 * Errors: answered. */
#ifndef CONSOLE_SHAPE_H
#define CONSOLE_SHAPE_H

#include "console/visit.h"

#define SHAPE_PARTS_MAX 5
#define SHAPE_CHANGES_MAX 2

struct shape {
    const char *page;   /* its place among the pages that each page names */
    const char *title;  /* words, as `words` are: told.h */
    const char *words;
    const char *fields; /* of its query or form, by blanks; no other is taken */
    const char *also;   /* who may give this command sees it, too, with what he may; NULL: who may give the first alone */
    struct {
        const char *key;  /* of the page's document */
        const char *line;
        bool is_list;     /* it answers a line each */
        const char *when; /* it is asked where this field says something, and takes its time: the page says how far it is; or
                             NULL */
    } parts[SHAPE_PARTS_MAX]; /* the first is what the page is about */
    struct {
        const char *word; /* of the field `word` */
        const char *line;
        const char *where; /* to go behind it: words */
    } changes[SHAPE_CHANGES_MAX];
    void (*draw)(struct visit *visit, const struct json_node *view); /* adds what is made of the document; or NULL */
};

extern const struct shape shape_now, shape_policies, shape_policy, shape_diff, shape_replay, shape_tools, shape_tool,
    shape_evidence, shape_fleet, shape_connect, shape_stops, shape_stop;

/* As page_fn: the page of visit->shape in HTML, its document as JSON, and one of its changes. */
void page_shape(struct visit *visit, struct span number);
void page_shape_json(struct visit *visit, struct span number);
void page_change(struct visit *visit, struct span number);

/* The parts of pages that are drawn. */
void page_now_draw(struct visit *visit, const struct json_node *view);
void page_policy_draw(struct visit *visit, const struct json_node *view);
void page_evidence_draw(struct visit *visit, const struct json_node *view);

#endif
