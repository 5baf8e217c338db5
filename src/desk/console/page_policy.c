/* SPDX-License-Identifier: Apache-2.0 */
/* A policy's text with the use of each rule beside the line that names it. */
#include "console/shape.h"

#include "base/mem.h"
#include "cli/told.h"

#include <stdlib.h>
#include <string.h>

/* The values of a list in the order of their names, so that one is found among ten thousand in a few steps. */
struct named {
    struct span name; /* first, for span_order */
    const struct json_node *value;
    bool is_written; /* some line has it */
};

struct rule_names {
    struct named *all;
    size_t count;
};

/* Takes: key: which member is the name. Without memory it has none, so that less is told, and nothing wrong. */
static struct rule_names names_of(const struct json_node *list, const char *key)
{
    struct rule_names names = {NULL, 0};
    size_t count = 0;

    for (const struct json_node *one = list; one != NULL; one = one->next)
        count++;
    names.all = count > 0 ? mem_zalloc(count * sizeof names.all[0]) : NULL;
    for (const struct json_node *one = list; one != NULL && names.all != NULL; one = one->next)
        names.all[names.count++] = (struct named){.name = told_text(one, key), .value = one};
    if (names.count > 0)
        qsort(names.all, names.count, sizeof names.all[0], span_order);
    return names;
}

static struct named *names_find(const struct rule_names *names, struct span name)
{
    const struct named like = {.name = name};

    return names->count > 0 ? bsearch(&like, names->all, names->count, sizeof like, span_order) : NULL;
}

/* The next `id: NAME` of the line, with whatever quotes; at == NULL: there is none. */
static struct span next_id(struct span *line)
{
    for (size_t at = 0; at + 3 < line->len; at++) {
        struct span rest = span_part(*line, at + 3, SIZE_MAX);
        size_t len = 0;

        if (memcmp(line->at + at, "id:", 3) != 0 || (at > 0 && strchr(" {,-", line->at[at - 1]) == NULL))
            continue;
        while (rest.len > 0 && strchr(" '\"", rest.at[0]) != NULL)
            rest = span_part(rest, 1, SIZE_MAX);
        while (len < rest.len && strchr(" '\",}#", rest.at[len]) == NULL)
            len++;
        *line = span_part(rest, len, SIZE_MAX);
        return span_part(rest, 0, len);
    }
    return SPAN_NONE;
}

struct using {
    struct rule_names rules, counted;
    const struct json_node *first; /* of the rules, in the order of the text */
    bool may_know;
};

/* What is told of a rule, which has no count where nothing came by it. */
static void fill_use(struct doc *to, const struct using *using, const struct json_node *rule)
{
    const struct named *use = names_find(&using->counted, told_text(rule, "id"));

    doc_text(to, "rule", told_text(rule, "id"));
    doc_text_or_null(to, "effect", told_text(rule, "effect"));
    doc_json(to, "use", use != NULL ? use->value->raw : SPAN_NONE);
    doc_bool(to, "never", use == NULL && using->may_know);
}

static void add_line(struct doc *list, const struct using *using, struct span line)
{
    struct doc *one = doc_add_object(list, NULL);
    struct span id;
    bool is_told = false;

    doc_text(one, "text", line);
    while ((id = next_id(&line)).at != NULL) {
        struct named *rule = names_find(&using->rules, id);

        if (rule == NULL)
            continue;
        rule->is_written = true;
        if (!is_told)
            fill_use(one, using, rule->value);
        is_told = true;
    }
}

static void add_file(struct doc *list, const struct using *using, const struct json_node *file)
{
    struct doc *one = doc_add_object(list, NULL), *lines, *unwritten;

    doc_text(one, "policy", told_text(file, "policy"));
    doc_text_or_null(one, "path", told_text(file, "path"));
    doc_text_or_null(one, "set", told_text(file, "set"));
    lines = doc_add_array(one, "lines");
    for (struct span rest = told_text(file, "text"); rest.len > 0;)
        add_line(lines, using, span_cut(rest, '\n', &rest));
    unwritten = doc_add_array(one, "unwritten"); /* rules for which the text has a shorter word */
    for (const struct json_node *rule = using->first; rule != NULL; rule = rule->next) {
        const struct named *named = names_find(&using->rules, told_text(rule, "id"));

        if (named != NULL && !named->is_written)
            fill_use(doc_add_object(unwritten, NULL), using, rule);
    }
}

/* Which version it would take the place of. */
static void add_active(struct visit *visit, const struct json_node *view)
{
    const struct json_node *list = json_member(view, SPAN_LIT("versions")), *one = list != NULL ? list->child : NULL;

    while (one != NULL && !span_is(told_text(one, "active"), "true"))
        one = one->next;
    doc_text_or_null(visit->view, "active_version", one != NULL ? told_text(one, "version") : SPAN_NONE);
}

void page_policy_draw(struct visit *visit, const struct json_node *view)
{
    const struct json_node *stats = json_member(view, SPAN_LIT("used_all")), *groups, *counted, *files, *written;
    struct doc *list = doc_add_array(visit->view, "files");
    struct using using = {.first = NULL};

    if (stats == NULL || stats->type != JSON_OBJECT)
        stats = json_member(view, SPAN_LIT("used_newest"));
    doc_json(visit->view, "counted", stats != NULL && stats->type == JSON_OBJECT ? stats->raw : SPAN_NONE);
    groups = stats != NULL && stats->type == JSON_OBJECT ? json_member(stats, SPAN_LIT("per")) : NULL;
    counted = groups != NULL ? json_member(groups, SPAN_LIT("rule")) : NULL;
    using.counted = names_of(counted != NULL ? counted->child : NULL, "name");
    using.may_know = counted != NULL && (counted->child == NULL || using.counted.count > 0);
    add_active(visit, view);
    files = json_member(json_member(view, SPAN_LIT("policy")), SPAN_LIT("texts"));
    written = json_member(view, SPAN_LIT("written"));
    written = written != NULL && written->type == JSON_OBJECT ? json_member(written, SPAN_LIT("texts")) : NULL;
    for (const struct json_node *file = files != NULL ? files->child : NULL; file != NULL; file = file->next) {
        const struct json_node *same = written != NULL ? written->child : NULL;

        while (same != NULL && !span_equals(told_text(same, "policy"), told_text(file, "policy")))
            same = same->next;
        using.first = same != NULL ? json_member(same, SPAN_LIT("rules"))->child : NULL;
        using.rules = names_of(using.first, "id");
        add_file(list, &using, file);
        mem_free(using.rules.all);
    }
    mem_free(using.counted.all);
}
