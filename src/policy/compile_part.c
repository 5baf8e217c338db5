/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/compile_priv.h"

#include "base/hash.h"

#include <stdio.h>

#define OPERAND_MAX_BYTES ((size_t)16 << 20)

void *policy__alloc(struct compiler *c, size_t count, size_t bytes)
{
    size_t product;

    if (__builtin_mul_overflow(count, bytes, &product))
        return NULL;
    return arena_zalloc(&c->policy->arena, product);
}

enum code policy__copy(struct compiler *c, struct span text, struct span *copy)
{
    char *at = arena_dup(&c->policy->arena, text.at, text.len);

    if (at == NULL)
        return CODE_NOMEM;
    *copy = span_of(at, text.len);
    return CODE_OK;
}

void policy__check_keys(struct compiler *c, const struct yaml_node *map, const char *const *known, const char *what)
{
    yaml_check_keys(c->tree, map, known, what, c->faults);
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

static bool is_type(struct compiler *c, const struct yaml_node *node, enum yaml_type type, const char *repair)
{
    if (node == NULL)
        return false;
    if (node->type == type)
        return true;
    if (node->key.len > 0)
        FAULT(c, node, "`%.*s` is %s; write %s", SPAN_ARG(node->key), type_text(node->type), repair);
    else
        FAULT(c, node, "this is %s; write %s", type_text(node->type), repair);
    return false;
}

bool policy__is_string(struct compiler *c, const struct yaml_node *node)
{
    return is_type(c, node, YAML_STRING, "a string, in single quotes where it looks like something else");
}

bool policy__is_list(struct compiler *c, const struct yaml_node *node)
{
    return is_type(c, node, YAML_LIST, "a list, as in [a, b]");
}

bool policy__is_map(struct compiler *c, const struct yaml_node *node)
{
    return is_type(c, node, YAML_MAP, "a map, as in {key: value}");
}

int policy__word(struct compiler *c, const struct yaml_node *node, const char *const *words)
{
    char all[256] = "";
    const char *nearest;
    size_t len = 0;

    if (!policy__is_string(c, node))
        return -1;
    for (int i = 0; words[i] != NULL; i++)
        if (span_is(node->text, words[i]))
            return i;
    nearest = why_nearest(node->text.at, node->text.len, words);
    if (nearest != NULL) {
        FAULT(c, node, "`%.*s` is unknown here; did you mean `%s`?", SPAN_ARG(node->text), nearest);
        return -1;
    }
    for (int i = 0; words[i] != NULL && len < sizeof all - 1; i++) {
        int more = snprintf(all + len, sizeof all - len, "%s%s", i > 0 ? ", " : "", words[i]);

        len += more > 0 ? (size_t)more : 0;
    }
    FAULT(c, node, "`%.*s` is unknown here; write one of: %s", SPAN_ARG(node->text), all);
    return -1;
}

enum code policy__value(struct compiler *c, const struct yaml_node *node, const struct json_node **value)
{
    struct kept *kept = policy__alloc(c, 1, sizeof *kept);
    struct json_fault fault;
    struct buf text;
    enum code code;

    if (kept == NULL)
        return CODE_NOMEM;
    buf_init(&kept->buf, OPERAND_MAX_BYTES);
    kept->next = c->policy->kept;
    c->policy->kept = kept;
    buf_init(&text, OPERAND_MAX_BYTES);
    code = yaml_to_json(node, &text);
    if (code == CODE_OK)
        code = json_read(buf_peek(&text), &json_file_rules, &kept->buf, &c->policy->arena, value, &fault);
    else if (code != CODE_NOMEM)
        fault = (struct json_fault){.text = "it cannot be written as JSON"};
    buf_fini(&text);
    if (code == CODE_OK || code == CODE_NOMEM)
        return code;
    FAULT(c, node, "this value can never arrive: %s; write another", fault.text);
    return CODE_OK;
}

static struct pattern *find_pattern(struct policy *policy, struct span text, struct pattern ***bucket)
{
    *bucket = &policy->patterns[hash_span(text) % PATTERN_BUCKETS];
    for (struct pattern *pattern = **bucket; pattern != NULL; pattern = pattern->next)
        if (span_equals(pattern->text, text))
            return pattern;
    return NULL;
}

static enum code add_pattern(struct compiler *c, struct span text, struct pattern **bucket, struct pattern **made)
{
    struct pattern *pattern = policy__alloc(c, 1, sizeof *pattern);
    struct why why = {""};
    enum code code;

    if (pattern == NULL)
        return CODE_NOMEM;
    code = policy__copy(c, text, &pattern->text);
    if (code == CODE_OK)
        code = regex_compile(pattern->text, &pattern->regex, &pattern->offset, &why);
    if (code == CODE_NOMEM)
        return code;
    snprintf(pattern->why, sizeof pattern->why, "%.255s", why.text);
    pattern->next = *bucket;
    *bucket = *made = pattern;
    return CODE_OK;
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

enum code policy__pattern(struct compiler *c, const struct yaml_node *node, struct span text, bool whole,
                          const struct regex **regex)
{
    struct pattern **bucket;
    struct pattern *pattern = find_pattern(c->policy, text, &bucket);

    if (pattern == NULL) {
        enum code code = add_pattern(c, text, bucket, &pattern);

        if (code != CODE_OK)
            return code;
    }
    *regex = pattern->regex;
    if (pattern->regex == NULL) {
        FAULT(c, node, "the regex is not usable at its byte %zu: %s", pattern->offset + 1, pattern->why);
        return CODE_OK;
    }
    if (c->pumps && !c->slow_allowed)
        pump(c, node, pattern, whole);
    return CODE_OK;
}

enum code policy__path(struct compiler *c, const struct yaml_node *node, struct path *path)
{
    struct why why = {""};
    size_t offset = 0;
    enum code code;

    *path = (struct path){.count = 0};
    if (!policy__is_string(c, node))
        return CODE_OK;
    code = path_compile(node->text, &c->policy->arena, path, &offset, &why);
    if (code == CODE_INVALID) {
        FAULT(c, node, "the path `%.*s` at its byte %zu: %s", SPAN_ARG(node->text), offset + 1, why.text);
        return CODE_OK;
    }
    return code;
}

const struct yaml_node *policy__named(struct compiler *c, const struct yaml_node *node, const struct yaml_node *map,
                                      bool *used, const char *what)
{
    const char *names[65];
    char copies[64][65];
    const char *nearest;
    size_t count = 0, at = 0;

    if (!policy__is_string(c, node))
        return NULL;
    for (const struct yaml_node *member = map ? map->child : NULL; member != NULL; member = member->next, at++) {
        if (span_equals(member->key, node->text)) {
            used[at] = true;
            return member;
        }
        if (count < 64 && member->key.len <= 64) {
            snprintf(copies[count], sizeof copies[count], "%.*s", SPAN_ARG(member->key));
            names[count] = copies[count];
            count++;
        }
    }
    names[count] = NULL;
    nearest = why_nearest(node->text.at, node->text.len, names);
    if (nearest != NULL)
        FAULT(c, node, "this file has no %s `%.*s`; did you mean `%s`?", what, SPAN_ARG(node->text), nearest);
    else
        FAULT(c, node, "this file has no %s `%.*s`; define it in this file under `%ss:`", what, SPAN_ARG(node->text), what);
    return NULL;
}

enum code policy__texts(struct compiler *c, const struct yaml_node *node, size_t bytes, policy__take_fn take, void **parts,
                        uint32_t *count)
{
    bool is_list = node->type == YAML_LIST;
    char *part = policy__alloc(c, is_list ? node->count : 1, bytes);

    *parts = part;
    if (part == NULL)
        return CODE_NOMEM;
    if (is_list && node->count == 0)
        FAULT(c, node, "nothing is in an empty list; name at least one");
    for (const struct yaml_node *one = is_list ? node->child : node; one != NULL; one = is_list ? one->next : NULL) {
        enum code code;

        if (!policy__is_string(c, one))
            continue;
        code = take(c, one, part + bytes * *count);
        if (code != CODE_OK)
            return code;
        *count += 1;
    }
    return CODE_OK;
}
