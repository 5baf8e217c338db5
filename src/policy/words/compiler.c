/* SPDX-License-Identifier: Apache-2.0 */
#include "words/compiler.h"
#include "words/foreign.h"
#include "words/public.h"
#include "policy/variable.h"

#include "base/ascii.h"
#include "base/hash.h"
#include "base/utf8.h"
#include "unicode/unicode.h"

#include <stdio.h>

#define OPERAND_MAX_BYTES ((size_t)16 << 20)
#define WRITTEN_MAX_BYTES ((size_t)1 << 20)
#define NAME_SHOWN_MAX 60

void *compiler_alloc(struct compiler *c, size_t count, size_t bytes)
{
    size_t product;
    void *at = __builtin_mul_overflow(count, bytes, &product) ? NULL : arena_zalloc(&c->policy->arena, product);

    c->no_memory |= at == NULL;
    return at;
}

struct span compiler_copy(struct compiler *c, struct span text)
{
    char *at = arena_dup(&c->policy->arena, text.at, text.len);

    c->no_memory |= at == NULL;
    return span_of(at, at != NULL ? text.len : 0);
}

struct span compiler_lower(struct compiler *c, struct span text)
{
    char *at = compiler_alloc(c, text.len, 1);

    return at != NULL ? ascii_lower_all(text, at) : SPAN_NONE;
}

struct span compiler_folded(struct compiler *c, struct span text)
{
    struct span folded = SPAN_NONE;
    struct buf out;

    buf_init(&out, OPERAND_MAX_BYTES);
    if (unicode_fold(text, &out) == CODE_OK)
        folded = compiler_copy(c, buf_peek(&out));
    else
        c->no_memory = true;
    buf_fini(&out);
    return folded;
}

static const char *type_text(enum yaml_type type)
{
    switch (type) {
    case YAML_NONE: return "nothing";
    case YAML_NULL: return "null";
    case YAML_BOOL: return "a boolean";
    case YAML_INT:
    case YAML_FLOAT: return "a number";
    case YAML_STRING: return "a string";
    case YAML_LIST: return "a list";
    case YAML_MAP: return "a map";
    }
    return "nothing";
}

/* Takes: what: the map's name, where one is asked for; or NULL. */
static bool is_type(struct compiler *c, const struct yaml_node *node, enum yaml_type type, const char *what)
{
    char expected[200];

    if (node == NULL)
        return false;
    if (node->type == type)
        return true;
    (void)snprintf(expected, sizeof expected, "%s", type_text(type));
    if (c->author != NULL)
        c->author->foreign->expected(node, type, what, expected, sizeof expected);
    if (node->key.len > 0)
        FAULT(c, node, "`%.*s` is %s; write %s", SPAN_ARG(node->key), type_text(node->type), expected);
    else
        FAULT(c, node, "this is %s; write %s", type_text(node->type), expected);
    return false;
}

bool compiler_is_string(struct compiler *c, const struct yaml_node *node)
{
    return is_type(c, node, YAML_STRING, NULL);
}

bool compiler_is_list(struct compiler *c, const struct yaml_node *node)
{
    return is_type(c, node, YAML_LIST, NULL);
}

bool compiler_is_map(struct compiler *c, const struct yaml_node *node)
{
    return is_type(c, node, YAML_MAP, NULL);
}

static bool is_known(struct span key, const char *const *known)
{
    while (*known != NULL && !span_is(key, *known))
        known++;
    return *known != NULL;
}

bool compiler_is_map_of(struct compiler *c, const struct yaml_node *node, const char *const *known, const char *what)
{
    const struct foreign_words *foreign = c->author != NULL ? c->author->foreign : NULL;

    if (!is_type(c, node, YAML_MAP, what))
        return false;
    for (const struct yaml_node *key = node->child; key != NULL; key = key->next) {
        const char *instead, *word;

        if (is_known(key->key, known))
            continue;
        instead = foreign != NULL ? foreign->key(key->key, what) : NULL;
        word = foreign != NULL ? foreign->word(key->key, known) : NULL;
        if (instead != NULL)
            FAULT_KEY(c, key, "%s knows no `%.*s`; %s", what, SPAN_ARG(utf8_cut(key->key, NAME_SHOWN_MAX)), instead);
        else
            yaml_fault_key(c->tree, key, known, what,
                           word != NULL ? word : why_nearest(key->key.at, key->key.len, known), c->faults);
    }
    return true;
}

int compiler_word(struct compiler *c, const struct yaml_node *node, const char *const *words)
{
    const char *nearest;
    char all[256];

    if (!compiler_is_string(c, node))
        return -1;
    for (int i = 0; words[i] != NULL; i++)
        if (span_is(node->text, words[i]))
            return i;
    nearest = c->author != NULL ? c->author->foreign->word(node->text, words) : NULL;
    if (nearest == NULL)
        nearest = why_nearest(node->text.at, node->text.len, words);
    why_list(words, "or", all, sizeof all);
    if (nearest != NULL)
        FAULT(c, node, "`%.*s` is unknown here; did you mean `%s`?", SPAN_ARG(node->text), nearest);
    else
        FAULT(c, node, "`%.*s` is unknown here; write %s", SPAN_ARG(node->text), all);
    return -1;
}

const struct json_node *compiler_value(struct compiler *c, const struct yaml_node *node)
{
    struct kept_buf *kept = compiler_alloc(c, 1, sizeof *kept);
    const struct json_node *value = NULL;
    struct json_fault fault = {.text = "it cannot be written as JSON"};
    struct buf text;
    enum code code;

    if (kept == NULL)
        return NULL;
    buf_init(&kept->buf, OPERAND_MAX_BYTES);
    kept->next = c->policy->kept;
    c->policy->kept = kept;
    buf_init(&text, OPERAND_MAX_BYTES);
    code = yaml_to_json(node, &text);
    if (code == CODE_OK)
        code = json_read(buf_peek(&text), &json_file_rules, &kept->buf, &c->policy->arena, &value, &fault);
    buf_fini(&text);
    c->no_memory |= code == CODE_NOMEM;
    if (code != CODE_OK && code != CODE_NOMEM)
        FAULT(c, node, "this value can never arrive: %s; write another", fault.text);
    return code == CODE_OK ? value : NULL;
}

struct span compiler_written(struct compiler *c, const struct yaml_node *node)
{
    struct span written = SPAN_NONE;
    struct buf text;
    enum code code;

    buf_init(&text, WRITTEN_MAX_BYTES);
    code = yaml_to_json(node, &text);
    if (code == CODE_OK)
        written = compiler_copy(c, buf_peek(&text));
    c->no_memory |= code == CODE_NOMEM;
    buf_fini(&text);
    return written;
}

/* The pattern of this text, which is made when the text is new. Returns: NULL: not enough memory. */
static struct pattern *pattern_of(struct compiler *c, struct span text)
{
    struct pattern **bucket = &c->policy->patterns[hash_span(text) % PATTERN_BUCKETS], *pattern;
    struct why why = {""};
    enum code code;

    for (pattern = *bucket; pattern != NULL; pattern = pattern->next)
        if (span_equals(pattern->text, text))
            return pattern;
    pattern = compiler_alloc(c, 1, sizeof *pattern);
    if (pattern == NULL)
        return NULL;
    pattern->text = compiler_copy(c, text);
    code = regex_compile(pattern->text, &pattern->regex, &pattern->offset, &why);
    c->no_memory |= code == CODE_NOMEM;
    snprintf(pattern->why, sizeof pattern->why, "%.255s", why.text);
    pattern->next = *bucket;
    *bucket = pattern;
    return pattern;
}

static void pump(struct compiler *c, const struct yaml_node *node, struct pattern *pattern, bool whole)
{
    if (!pattern->pumped[whole].done)
        pattern->pumped[whole].affordable =
            regex_is_affordable(pattern->regex, whole, &pattern->pumped[whole].example);
    pattern->pumped[whole].done = true;
    if (!pattern->pumped[whole].affordable)
        FAULT(c, node, "the regex's cost explodes on %s; write it without nested or neighbouring repetition, or accept it "
              "with `slow_regex: allow` on the rule", pattern->pumped[whole].example);
}

const struct regex *compiler_pattern(struct compiler *c, const struct yaml_node *node, struct span text, bool whole)
{
    struct pattern *pattern = pattern_of(c, text);

    if (pattern == NULL || c->no_memory)
        return NULL;
    if (pattern->regex == NULL)
        FAULT(c, node, "the regex is not usable at its byte %zu: %s%s", pattern->offset + 1, pattern->why,
              text.len > 0 && text.at[0] == '*' ? "; a glob, in which `*` is any text, stands behind `glob`" : "");
    else if (c->pumps && !c->slow_allowed)
        pump(c, node, pattern, whole);
    return pattern->regex;
}

void compiler_path(struct compiler *c, const struct yaml_node *node, struct path *path)
{
    struct why why = {""};
    size_t offset = 0;
    enum code code;

    *path = (struct path){.count = 0};
    if (!compiler_is_string(c, node))
        return;
    code = path_compile(node->text, &c->policy->arena, path, &offset, &why);
    c->no_memory |= code == CODE_NOMEM;
    if (code == CODE_INVALID)
        FAULT(c, node, "the path `%.*s` at its byte %zu: %s", SPAN_ARG(node->text), offset + 1, why.text);
}

void compiler_paths(struct compiler *c, const struct yaml_node *node, struct path *path)
{
    struct path *paths;
    uint32_t count = 0;

    if (node->type != YAML_LIST) {
        compiler_path(c, node, path);
        return;
    }
    *path = (struct path){.count = 0};
    paths = compiler_alloc(c, node->count, sizeof *paths);
    if (node->count == 0)
        FAULT(c, node, "nothing is in an empty list; name at least one path");
    for (const struct yaml_node *one = node->child; paths != NULL && one != NULL; one = one->next, count++) {
        compiler_path(c, one, &paths[count]);
        if (paths[count].text.at == NULL)
            return;
        if (count > 0)
            paths[count - 1].next = &paths[count];
    }
    if (count == 0)
        return;
    *path = paths[0];
    path->text = compiler_written(c, node);
}

const struct yaml_node *compiler_shared(const struct yaml_node *root, const char *key)
{
    const struct yaml_node *shared = yaml_member(root, "shared"), *map = yaml_member(root, key);
    bool shares = shared != NULL && shared->type == YAML_BOOL && shared->truth;

    return shares && map != NULL && map->type == YAML_MAP ? map : NULL;
}

bool compiler_shares(const struct yaml_node *root)
{
    return compiler_shared(root, "patterns") != NULL || compiler_shared(root, "lists") != NULL ||
           compiler_shared(root, "labels") != NULL || compiler_shared(root, "detectors") != NULL ||
           compiler_shared(root, "paths") != NULL;
}

const struct yaml_node *compiler_definition(const struct compiler *c, const struct part *part, struct span name)
{
    const struct yaml_node *found = yaml_member_named(part->map, name);

    for (uint32_t i = 0; i < c->shared_count && found == NULL; i++)
        found = yaml_member_named(compiler_shared(c->shared[i].root, part->key), name);
    return found;
}

struct policy_source *compiler_enter(struct compiler *c, const struct part *part, const struct yaml_node *definition,
                                     struct policy_source *there)
{
    struct policy_source *back = c->source;

    for (uint32_t i = 0; i < c->shared_count; i++) {
        const struct yaml_node *map = compiler_shared(c->shared[i].root, part->key);

        if (yaml_member_named(map, definition->key) != definition)
            continue;
        *there = (struct policy_source){.path_text = c->shared[i].path};
        c->source = there;
    }
    return back;
}

#define NAMES_TRIED 256

static size_t add_names(const struct yaml_node *map, const char **names, size_t count)
{
    for (const struct yaml_node *member = map != NULL ? map->child : NULL; member != NULL && count < NAMES_TRIED;
         member = member->next)
        if (member->key.at != NULL && member->key.len <= 64)
            names[count++] = member->key.at; /* which ends in a NUL */
    return count;
}

static void fault_unnamed(struct compiler *c, const struct yaml_node *node, const struct part *part)
{
    const char *names[NAMES_TRIED + 1], *nearest, *shipped;
    size_t count = add_names(part->map, names, 0);

    for (uint32_t i = 0; i < c->shared_count; i++)
        count = add_names(compiler_shared(c->shared[i].root, part->key), names, count);
    names[count] = NULL;
    nearest = why_nearest(node->text.at, node->text.len, names);
    shipped = part == &c->detectors ? compiler_detector_file(node->text) : NULL;
    if (shipped != NULL)
        FAULT(c, node, "this set has no detector `%.*s`; policies/detectors/%s has it: load that file, too, or keep it in the "
              "set", SPAN_ARG(node->text), shipped);
    else if (nearest != NULL)
        FAULT(c, node, "this file has no %s `%.*s`; did you mean `%s`?", part->word, SPAN_ARG(node->text), nearest);
    else
        FAULT(c, node, "this file has no %s `%.*s`, and none that says `shared: true` is there to have it; define it here "
              "under `%s:`, or keep the file that shares it in the set", part->word, SPAN_ARG(node->text), part->key);
}

const struct yaml_node *compiler_named(struct compiler *c, const struct yaml_node *map, struct part *part)
{
    const struct yaml_node *node = yaml_member(map, part->word);

    if (node == NULL || map->count != 1)
        FAULT(c, map, "a map here names a %s; write {%s: name}", part->word, part->word);
    if (node == NULL || map->count != 1 || !compiler_is_string(c, node))
        return NULL;
    return compiler_named_text(c, node, part);
}

const struct yaml_node *compiler_named_text(struct compiler *c, const struct yaml_node *name, struct part *part)
{
    const struct yaml_node *found = compiler_definition(c, part, name->text);
    size_t at = 0;

    if (found == NULL)
        fault_unnamed(c, name, part);
    for (const struct yaml_node *member = part->map ? part->map->child : NULL; member != NULL; member = member->next, at++)
        part->used[at] |= member == found;
    return found;
}

void *compiler_texts(struct compiler *c, const struct yaml_node *node, size_t bytes, compiler_take_fn take, uint32_t *count)
{
    bool is_list = node->type == YAML_LIST;
    char *parts = compiler_alloc(c, is_list ? node->count : 1, bytes);

    if (is_list && node->count == 0)
        FAULT(c, node, "nothing is in an empty list; name at least one");
    YAML_EACH(one, node)
        if (parts != NULL && compiler_is_string(c, one))
            take(c, one, parts + bytes * (*count)++);
    return parts;
}

const struct public_space *compiler_public(struct compiler *c)
{
    if (c->public == NULL && public_space_make(&c->policy->arena, &c->public) != CODE_OK)
        c->no_memory = true;
    return c->public;
}

bool compiler_varies(struct compiler *c, const struct yaml_node *text)
{
    if (text->type != YAML_STRING)
        return false;
    if (c->warnings != NULL)
        c->author->warn_text(c, text);
    return variable_in(text->text);
}
