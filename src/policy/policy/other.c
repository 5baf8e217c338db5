/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/other.h"

#include "policy/trace.h"
#include "texts/date.h"

#include <stdio.h>

#define SHOWN_MAX 120

static bool keep(struct path_walk *path, const struct json_node *value)
{
    *(const struct json_node **)path->context = value;
    return true;
}

static void tell(const struct rule_walk *walk, const struct op_other *other, const struct json_node *value)
{
    char text[2 * SHOWN_MAX + 32];
    int len;

    if (walk->trace == NULL)
        return;
    len = snprintf(text, sizeof text, "%s `%.*s` is %.*s", policy_root_text[other->from],
                   SPAN_ARG(span_part(other->path.text, 0, SHOWN_MAX)),
                   SPAN_ARG(value != NULL ? span_part(value->raw, 0, SHOWN_MAX) : SPAN_LIT("not there")));
    walk->trace->fact(walk->trace, span_of(text, len > 0 ? (size_t)len : 0));
}

const struct json_node *other_value(struct rule_walk *walk, const struct op *op, enum truth *instead)
{
    const struct op_other *other = op->other;
    const struct json_node *root = walk_root(walk, other->from), *found = NULL;
    struct path path = other->path;
    struct path_walk search = {.path = &path, .visit = keep, .context = &found, .visits_left = &walk->visits_left,
                                .hidden = walk->question->hidden};

    *instead = TRUTH_UNDECIDED;
    if (walk_has_lost(walk, other->from, other->claim, &path, &root)) {
        *instead = walk_guess(walk, op->opening);
        return NULL;
    }
    path_run(&search, root);
    walk->spent |= search.spent;
    if (search.met_hidden || (found != NULL && search.hidden != NULL && question_hides(search.hidden, found))) {
        *instead = walk_guess(walk, op->opening);
        return NULL;
    }
    tell(walk, other, found);
    return found;
}

bool other_moment(struct rule_walk *walk, const struct op *op, int64_t *time_us, enum truth *instead)
{
    const struct op_other *other = op->other;
    const struct json_node *value;

    *time_us = 0;
    *instead = TRUTH_UNDECIDED;
    if (other->kind == OTHER_NOW) {
        *time_us = walk->question->time_us;
        if (*time_us <= 0)
            return false; /* as in a test that names none */
    } else if (other->kind == OTHER_VALUE) {
        value = other_value(walk, op, instead);
        if (value == NULL || value->type != JSON_STRING || !date_time_read(value->text, time_us))
            return false;
    }
    *time_us += other->plus_us;
    return true;
}
