/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/definition_words.h"

#include "base/ascii.h"
#include "base/mem.h"
#include "texts/detector.h"
#include "unicode/lookalike.h"
#include "unicode/unicode.h"

#include <string.h>

#define TABLE_MAX 4000 /* lines beyond those that both begin and end with: more are told as all gone and all new */

/* ---- paths ---- */

static bool is_plain(struct span key)
{
    return key.len > 0 && ascii_is_all(key, "a-zA-Z0-9_$-");
}

/* Appends the step to a child. Takes: index: its place in an array. */
static void add_step(struct buf *path, const struct json_node *holder, const struct json_node *child, uint32_t index)
{
    if (holder->type == JSON_ARRAY) {
        buf_addf(path, "[%u]", index);
        return;
    }
    if (is_plain(child->key)) {
        buf_addf(path, "%s%.*s", buf_is_empty(path) ? "" : ".", SPAN_ARG(child->key));
        return;
    }
    buf_add_byte(path, '[');
    json_write_string(path, child->key);
    buf_add_byte(path, ']');
}

/* ---- every value, in the order of canonical JSON ---- */

/* Below a path that is longer than a line its number stands for it: else one long name above many values is told so often
 * that the whole can be shown to nobody. */
#define PATH_SHOWN 200

struct visit {
    struct buf path;
    size_t from;  /* of path: what is shown */
    size_t longs; /* paths that have a number */
    void (*each)(void *context, struct span path, const struct json_node *value);
    /* Of each member and element. Takes: number: that stands for the path from here on; or 0. */
    void (*step)(void *context, struct span path, const struct json_node *child, size_t number);
    void *context;
};

static struct span shown(const struct visit *visit)
{
    return span_part(buf_peek(&visit->path), visit->from, SIZE_MAX);
}

/* Recursion goes no deeper than the reader lets a document be (128). */
static void each_value(const struct json_node *node, struct visit *visit)
{
    size_t len = buf_len(&visit->path), from = visit->from;
    uint32_t index = 0;

    if (node->child == NULL)
        visit->each(visit->context, shown(visit), node);
    for (const struct json_node *child = node->child; child != NULL; child = child->next) {
        bool is_long;

        add_step(&visit->path, node, child, index++);
        is_long = buf_len(&visit->path) - from > PATH_SHOWN;
        visit->longs += is_long;
        visit->step(visit->context, shown(visit), child, is_long ? visit->longs : 0);
        if (is_long) {
            visit->from = buf_len(&visit->path);
            buf_addf(&visit->path, "#%zu", visit->longs);
        }
        each_value(child, visit);
        visit->from = from;
        buf_truncate(&visit->path, len);
    }
}

static enum code visit_all(struct visit *visit, const struct json_node *root)
{
    enum code code;

    buf_init(&visit->path, (size_t)4 << 20);
    each_value(root, visit);
    code = buf_code(&visit->path);
    buf_fini(&visit->path);
    return code;
}

static void write_value(void *context, struct span path, const struct json_node *value)
{
    struct buf *out = context;
    struct span rest = value->text;

    if (value->type != JSON_STRING || span_find(rest, '\n') == rest.len) {
        buf_addf(out, "%.*s: %.*s\n", SPAN_ARG(path), SPAN_ARG(value->raw));
        return;
    }
    while (rest.len > 0) {
        struct span line = span_cut(rest, '\n', &rest);

        buf_addf(out, "%.*s: | ", SPAN_ARG(path));
        json_write_string(out, line);
        buf_add_byte(out, '\n');
    }
    if (value->text.at[value->text.len - 1] == '\n')
        buf_addf(out, "%.*s: | \"\"\n", SPAN_ARG(path));
}

static void write_step(void *context, struct span path, const struct json_node *child, size_t number)
{
    (void)child;
    if (number > 0)
        buf_addf(context, "%.*s: is #%zu below\n", SPAN_ARG(path), number);
}

enum code definition_lines(const struct json_node *definition, struct buf *out)
{
    struct visit visit = {.each = write_value, .step = write_step, .context = out};

    buf_fail(out, visit_all(&visit, definition));
    return buf_code(out);
}

/* ---- what is new ---- */

struct comparing {
    definition_change_fn each;
    void *context;
    struct buf path;
};

static void tell(struct comparing *comparing, char what)
{
    const struct definition_change change = {what, buf_peek(&comparing->path)};

    comparing->each(comparing->context, &change);
}

static void compare(struct comparing *comparing, const struct json_node *old, const struct json_node *now);

static void compare_members(struct comparing *comparing, const struct json_node *old, const struct json_node *now)
{
    size_t len = buf_len(&comparing->path);

    for (int side = 0; side < 2; side++) {
        const struct json_node *here = side == 0 ? old : now, *there = side == 0 ? now : old;

        for (const struct json_node *child = here->child; child != NULL; child = child->next) {
            const struct json_node *other = json_member(there, child->key);

            add_step(&comparing->path, here, child, 0);
            if (other == NULL)
                tell(comparing, side == 0 ? '-' : '+');
            else if (side == 0)
                compare(comparing, child, other);
            buf_truncate(&comparing->path, len);
        }
    }
}

static void compare(struct comparing *comparing, const struct json_node *old, const struct json_node *now)
{
    if (old->type == JSON_OBJECT && now->type == JSON_OBJECT)
        compare_members(comparing, old, now);
    else if (!span_equals(old->raw, now->raw))
        tell(comparing, '~');
}

enum code definition_changes(const struct json_node *old, const struct json_node *now, definition_change_fn each, void *context)
{
    struct comparing comparing = {.each = each, .context = context};
    enum code code;

    buf_init(&comparing.path, (size_t)1 << 20);
    compare(&comparing, old, now);
    code = buf_code(&comparing.path);
    buf_fini(&comparing.path);
    return code;
}

/* ---- by line ---- */

struct lines {
    struct span *line;
    size_t count;
};

static enum code split(struct span text, struct lines *lines)
{
    size_t count = 0;

    for (size_t i = 0; i < text.len; i++)
        count += text.at[i] == '\n';
    lines->line = mem_array(count + 1, sizeof *lines->line);
    lines->count = 0;
    while (lines->line != NULL && text.len > 0)
        lines->line[lines->count++] = span_cut(text, '\n', &text);
    return lines->line != NULL ? CODE_OK : CODE_NOMEM;
}

static void add_line(struct buf *out, char sign, struct span line)
{
    buf_add_byte(out, sign);
    buf_add_span(out, line);
    buf_add_byte(out, '\n');
}

/* longest[i][j]: lines that both have in common from i and j on. */
static void write_between(const struct lines *old, const struct lines *now, size_t from, size_t old_end, size_t now_end,
                          const uint16_t *longest, struct buf *out)
{
    size_t width = now_end - from + 1, i = from, j = from;

    while (i < old_end || j < now_end) {
        const uint16_t *here = longest != NULL ? &longest[(i - from) * width + (j - from)] : NULL;

        if (i < old_end && j < now_end && here != NULL && span_equals(old->line[i], now->line[j])) {
            i++;
            j++;
        } else if (j == now_end || (i < old_end && (here == NULL || here[width] >= here[1]))) {
            add_line(out, '-', old->line[i++]);
        } else {
            add_line(out, '+', now->line[j++]);
        }
    }
}

static uint16_t *make_table(const struct lines *old, const struct lines *now, size_t from, size_t old_end, size_t now_end)
{
    size_t height = old_end - from + 1, width = now_end - from + 1;
    uint16_t *longest = height <= TABLE_MAX && width <= TABLE_MAX ? mem_array(height * width, sizeof *longest) : NULL;

    for (size_t i = height - 1; longest != NULL && i-- > 0;)
        for (size_t j = width - 1; j-- > 0;) {
            uint16_t *here = &longest[i * width + j], below = here[width], beside = here[1];

            *here = span_equals(old->line[from + i], now->line[from + j]) ? (uint16_t)(here[width + 1] + 1)
                    : below > beside                                     ? below : beside;
        }
    return longest;
}

enum code definition_diff(struct span old_text, struct span now_text, struct buf *out)
{
    struct lines old = {NULL, 0}, now = {NULL, 0};
    enum code code = split(old_text, &old);
    size_t from = 0, old_end, now_end;
    uint16_t *longest;

    if (code == CODE_OK)
        code = split(now_text, &now);
    old_end = old.count;
    now_end = now.count;
    while (code == CODE_OK && from < old_end && from < now_end && span_equals(old.line[from], now.line[from]))
        from++;
    while (code == CODE_OK && old_end > from && now_end > from && span_equals(old.line[old_end - 1], now.line[now_end - 1])) {
        old_end--;
        now_end--;
    }
    if (code == CODE_OK) {
        longest = make_table(&old, &now, from, old_end, now_end);
        write_between(&old, &now, from, old_end, now_end, longest, out);
        mem_free(longest);
    }
    mem_free(old.line);
    mem_free(now.line);
    return buf_fail(out, code);
}

/* ---- what is to be looked at twice ---- */

struct marking {
    const struct detector_set *detectors;
    struct regex_budget budget;
    struct buf found;
    definition_mark_fn each;
    void *context;
};

static bool has_step(struct span path, const char *step)
{
    size_t len = strlen(step);

    for (size_t i = 0; i + len <= path.len; i++)
        if (memcmp(path.at + i, step, len) == 0 && (i == 0 || path.at[i - 1] == '.') &&
            (i + len == path.len || path.at[i + len] == '.' || path.at[i + len] == '['))
            return true;
    return false;
}

#define SENTENCE 40

static bool is_sentence(struct span text)
{
    size_t blanks = 0;

    for (size_t i = 0; i < text.len; i++)
        blanks += text.at[i] == ' ';
    return text.len >= SENTENCE && blanks >= 4;
}

/* Where a person who is asked is shown no sentences: models read all of it. Below a number nobody knows. */
static bool is_odd_place(struct span path)
{
    static const char *const places[] = {"_meta", "enum", "const", "default", "examples", "annotations", "title", "icons",
                                         "pattern", "$comment"};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
        if (has_step(path, places[i]))
            return true;
    return path.len > 0 && path.at[0] == '#';
}

/* What cannot be looked through to its end is marked as if it had been found. */
static void mark_text(struct marking *marking, struct span path, struct span text)
{
    bool instructs = false, hides = unicode_is_deceptive(text);
    struct finding finding;
    enum truth truth;

    buf_clear(&marking->found);
    truth = marking->detectors != NULL ? detector_find(marking->detectors, text, &marking->budget, &marking->found)
                                       : TRUTH_FALSE;
    for (struct span rest = buf_peek(&marking->found); rest.len >= sizeof finding;
         rest = span_part(rest, sizeof finding, SIZE_MAX)) {
        memcpy(&finding, rest.at, sizeof finding);
        if (span_is(finding.detector->name, "hidden_text"))
            hides = true;
        else
            instructs = true;
    }
    if (hides)
        marking->each(marking->context, DEFINITION_HIDDEN, path);
    if (instructs || truth == TRUTH_UNDECIDED)
        marking->each(marking->context, DEFINITION_INSTRUCTION, path);
}

static void mark_value(void *context, struct span path, const struct json_node *value)
{
    struct marking *marking = context;

    if (value->type != JSON_STRING)
        return;
    mark_text(marking, path, value->text);
    if (is_sentence(value->text) && is_odd_place(path))
        marking->each(marking->context, DEFINITION_PLACE, path);
    if (span_is(path, "name") && lookalike_mixes_scripts(value->text))
        marking->each(marking->context, DEFINITION_SCRIPTS, path);
}

/* Models read names of members, too. */
static void mark_step(void *context, struct span path, const struct json_node *child, size_t number)
{
    struct marking *marking = context;

    (void)number;
    if (child->key.len == 0 || is_plain(child->key))
        return;
    mark_text(marking, path, child->key);
    if (is_sentence(child->key))
        marking->each(marking->context, DEFINITION_PLACE, path);
}

enum code definition_marks(const struct json_node *definition, const struct detector_set *detectors, definition_mark_fn each,
                           void *context)
{
    struct marking marking = {.detectors = detectors, .each = each, .context = context};
    struct visit visit = {.each = mark_value, .step = mark_step, .context = &marking};
    enum code code;

    buf_init(&marking.found, (size_t)1 << 20);
    regex_budget_init(&marking.budget);
    code = visit_all(&visit, definition);
    buf_fini(&marking.found);
    return code;
}

const char *definition_mark_text(enum definition_mark mark)
{
    switch (mark) {
    case DEFINITION_HIDDEN: return "characters that nobody sees";
    case DEFINITION_INSTRUCTION: return "reads like an instruction to a model";
    case DEFINITION_PLACE: return "whole sentences where people look for none";
    case DEFINITION_SCRIPTS: return "letters of different alphabets";
    }
    return "";
}
