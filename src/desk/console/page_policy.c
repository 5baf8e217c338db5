/* SPDX-License-Identifier: Apache-2.0 */
/* A policy's text with the use of each rule beside the line that names it. */
#include "console/shape.h"

#include "cli/told.h"

#include <string.h>

/* Whether the line has `id: NAME`, with whatever quotes. */
static bool names(struct span line, struct span rule)
{
    for (size_t at = 0; at + 3 < line.len; at++) {
        struct span rest = span_part(line, at + 3, SIZE_MAX);

        if (memcmp(line.at + at, "id:", 3) != 0 || (at > 0 && strchr(" {,-", line.at[at - 1]) == NULL))
            continue;
        while (rest.len > 0 && strchr(" '\"", rest.at[0]) != NULL)
            rest = span_part(rest, 1, SIZE_MAX);
        if (span_starts_with(rest, rule) && (rest.len == rule.len || strchr(" '\",}#", rest.at[rule.len]) != NULL))
            return true;
    }
    return false;
}

static const struct json_node *find_named(const struct json_node *list, struct span name)
{
    const struct json_node *one = list != NULL ? list->child : NULL;

    while (one != NULL && !span_equals(told_text(one, "name"), name))
        one = one->next;
    return one;
}

struct using {
    const struct json_node *rules, *counted; /* counted NULL: he may not know */
};

/* What is told of a rule, which has no count where nothing came by it. */
static void fill_use(struct doc *to, const struct using *using, const struct json_node *rule)
{
    const struct json_node *use = find_named(using->counted, told_text(rule, "id"));

    doc_text(to, "rule", told_text(rule, "id"));
    doc_text_or_null(to, "effect", told_text(rule, "effect"));
    doc_json(to, "use", use != NULL ? use->raw : SPAN_NONE);
    doc_bool(to, "never", use == NULL && using->counted != NULL);
}

static void add_line(struct doc *list, const struct using *using, struct span line)
{
    struct doc *one = doc_add_object(list, NULL);

    doc_text(one, "text", line);
    for (const struct json_node *rule = using->rules; rule != NULL; rule = rule->next)
        if (names(line, told_text(rule, "id"))) {
            fill_use(one, using, rule);
            return;
        }
}

static void add_file(struct doc *list, const struct using *using, const struct json_node *file)
{
    struct doc *one = doc_add_object(list, NULL), *lines, *unwritten;
    struct span text = told_text(file, "text");

    doc_text(one, "policy", told_text(file, "policy"));
    doc_text_or_null(one, "path", told_text(file, "path"));
    doc_text_or_null(one, "set", told_text(file, "set"));
    lines = doc_add_array(one, "lines");
    for (struct span rest = text; rest.len > 0;)
        add_line(lines, using, span_cut(rest, '\n', &rest));
    unwritten = doc_add_array(one, "unwritten"); /* rules for which the text has a shorter word */
    for (const struct json_node *rule = using->rules; rule != NULL; rule = rule->next) {
        bool is_written = false;

        for (struct span rest = text; rest.len > 0 && !is_written;)
            is_written = names(span_cut(rest, '\n', &rest), told_text(rule, "id"));
        if (!is_written)
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
    const struct json_node *stats = json_member(view, SPAN_LIT("used_all")), *groups, *files, *written;
    struct doc *list = doc_add_array(visit->view, "files");
    struct using using = {.rules = NULL};

    if (stats == NULL || stats->type != JSON_OBJECT)
        stats = json_member(view, SPAN_LIT("used_newest"));
    doc_json(visit->view, "counted", stats != NULL && stats->type == JSON_OBJECT ? stats->raw : SPAN_NONE);
    groups = stats != NULL && stats->type == JSON_OBJECT ? json_member(stats, SPAN_LIT("per")) : NULL;
    using.counted = groups != NULL ? json_member(groups, SPAN_LIT("rule")) : NULL;
    add_active(visit, view);
    files = json_member(json_member(view, SPAN_LIT("policy")), SPAN_LIT("texts"));
    written = json_member(view, SPAN_LIT("written"));
    written = written != NULL && written->type == JSON_OBJECT ? json_member(written, SPAN_LIT("texts")) : NULL;
    for (const struct json_node *file = files != NULL ? files->child : NULL; file != NULL; file = file->next) {
        const struct json_node *same = written != NULL ? written->child : NULL;

        while (same != NULL && !span_equals(told_text(same, "policy"), told_text(file, "policy")))
            same = same->next;
        using.rules = same != NULL ? json_member(same, SPAN_LIT("rules"))->child : NULL;
        add_file(list, &using, file);
    }
}
