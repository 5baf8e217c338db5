/* SPDX-License-Identifier: Apache-2.0 */
/* The keywords of JSON Schema, one row each at the end of the file. */
#include "schema/schema_priv.h"

#include "base/utf8.h"
#include "unicode/unicode.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#define TAKES                                                                                                             \
    struct schemer *s, const struct schema_keyword *keyword, const struct json_node *schema, const struct json_node *value, \
        struct schema_body *body

static bool is_type(struct schemer *s, const struct schema_keyword *keyword, const struct json_node *value, enum json_type type,
                    const char *what)
{
    if (value->type != type)
        schema__fail(s, CODE_INVALID, keyword->word, what);
    return value->type == type;
}

/* ---- of any value ---- */

static int by_type_and_text(const void *a, const void *b)
{
    const struct json_node *left = *(const struct json_node *const *)a, *right = *(const struct json_node *const *)b;

    if ((left->type == JSON_STRING) != (right->type == JSON_STRING))
        return left->type == JSON_STRING ? -1 : 1;
    return left->type == JSON_STRING ? span_compare(left->text, right->text) : 0;
}

static void take_enum(TAKES)
{
    const struct json_node **values;
    struct op *op;

    (void)schema;
    if (!is_type(s, keyword, value, JSON_ARRAY, "it is no list of values"))
        return;
    values = schema__alloc(s, value->count + 1, sizeof *values);
    if (values == NULL)
        return;
    op = schema__op(s, body, keyword->asks);
    op->values = values;
    for (const struct json_node *one = value->child; one != NULL; one = one->next) {
        values[op->value_count++] = one;
        op->string_count += one->type == JSON_STRING;
    }
    qsort(values, op->value_count, sizeof *values, by_type_and_text);
}

static void take_const(TAKES)
{
    (void)schema;
    schema__op(s, body, keyword->asks)->value = value;
}

/* allOf, anyOf, oneOf. */
static void take_group(TAKES)
{
    enum condition_kind kind = keyword->word[1] == 'l' ? CONDITION_ALL : CONDITION_ANY;
    struct condition *part, *members;
    char index[16];

    (void)schema;
    if (!is_type(s, keyword, value, JSON_ARRAY, "it is no list of schemas"))
        return;
    if (value->count == 0)
        schema__fail(s, CODE_INVALID, keyword->word, "the list is empty");
    part = schema__part(s, body);
    members = part != NULL ? schema__group(s, part, keyword->word[0] == 'o' ? CONDITION_ONE : kind, value->count) : NULL;
    value = value->child;
    for (uint32_t i = 0; members != NULL && value != NULL; i++, value = value->next) {
        snprintf(index, sizeof index, "%u", i);
        schema__at(s, keyword->word, span_text(index), value, NULL, &members[i]);
    }
}

static void negate(struct schemer *s, const char *word, const struct json_node *node, struct condition *out)
{
    struct condition *member = schema__group(s, out, CONDITION_NOT, 1);

    s->negated = !s->negated;
    if (member != NULL)
        schema__at(s, word, SPAN_NONE, node, NULL, member);
    s->negated = !s->negated;
}

static void take_not(TAKES)
{
    struct condition *part = schema__part(s, body);

    (void)schema;
    if (part != NULL)
        negate(s, keyword->word, value, part);
}

/* `then` is asked where `if` holds, `else` where it does not. */
static void take_if(TAKES)
{
    static const char *const words[] = {"then", "else"};

    for (int otherwise = 0; otherwise < 2; otherwise++) {
        const struct json_node *next = json_member(schema, span_text(words[otherwise]));
        struct condition *part = next != NULL ? schema__part(s, body) : NULL;
        struct condition *members = part != NULL ? schema__group(s, part, CONDITION_ANY, 2) : NULL;

        if (members == NULL)
            continue;
        if (otherwise)
            schema__at(s, keyword->word, SPAN_NONE, value, NULL, &members[0]);
        else
            negate(s, keyword->word, value, &members[0]);
        schema__at(s, words[otherwise], SPAN_NONE, next, NULL, &members[1]);
    }
}

/* ---- of numbers and strings; counts ---- */

static void take_number(TAKES)
{
    (void)schema;
    if (!is_type(s, keyword, value, JSON_NUMBER, "it is no number"))
        return;
    if (strcmp(keyword->word, "multipleOf") == 0 && json_number_compare(value->raw, SPAN_LIT("0")) <= 0)
        schema__fail(s, CODE_INVALID, keyword->word, "it is not more than 0");
    schema__op(s, body, keyword->asks)->value = value;
}

/* "More than 5" is written as "not at most 5", in which an undecided comparison stays undecided. */
static void take_exclusive(TAKES)
{
    struct condition *part, *member;
    struct op *op = NULL;

    (void)schema;
    if (!is_type(s, keyword, value, JSON_NUMBER, "it is no number; true and false stood here before draft-06"))
        return;
    part = schema__part(s, body);
    member = part != NULL ? schema__group(s, part, CONDITION_NOT, 1) : NULL;
    s->negated = !s->negated;
    if (member != NULL)
        op = schema__leaf(s, member, NULL, keyword->asks);
    s->negated = !s->negated;
    if (op != NULL)
        op->value = value;
}

static void take_count(TAKES)
{
    struct op *op;

    (void)schema;
    if (!is_type(s, keyword, value, JSON_NUMBER, "it is no whole number from 0 on"))
        return;
    op = schema__op(s, body, keyword->asks);
    op->value = value;
    if (json_number_scaled(value->raw, 0, &op->count) != CODE_OK)
        schema__fail(s, CODE_INVALID, keyword->word, "it is no whole number from 0 on");
}

/* Compiles a pattern, which may match anywhere in the text. Takes: word: the keyword, for errors. */
static void set_pattern(struct schemer *s, const char *word, struct span pattern, struct op *op)
{
    struct kept_regex *kept = schema__alloc(s, 1, sizeof *kept);
    struct why why = {""};
    struct buf text;
    size_t offset;
    enum code code;

    if (kept == NULL)
        return;
    buf_init(&text, POLICY_SCHEMA_MAX_BYTES);
    code = schema__ecma_pattern(pattern, &text, &why);
    if (code == CODE_OK)
        code = regex_compile(buf_peek(&text), &kept->regex, &offset, &why);
    buf_fini(&text);
    if (code != CODE_OK) {
        schema__fail(s, code, word, why.text);
        return;
    }
    kept->next = s->schema->regexes;
    s->schema->regexes = kept;
    op->text = pattern;
    op->regex = kept->regex;
}

static void take_pattern(TAKES)
{
    (void)schema;
    if (is_type(s, keyword, value, JSON_STRING, "it is no text"))
        set_pattern(s, keyword->word, value->text, schema__op(s, body, keyword->asks));
}

/* ---- of arrays ---- */

static void take_unique(TAKES)
{
    (void)schema;
    if (value->type == JSON_TRUE)
        schema__op(s, body, keyword->asks)->text = SPAN_LIT("true");
    else
        (void)is_type(s, keyword, value, JSON_FALSE, "it is neither true nor false");
}

/* The path to all elements from one on. It is a slice, which selects in arrays alone; a wildcard would
 * select members of objects, too. */
static struct path to_elements(struct schemer *s, uint32_t from)
{
    char text[32] = "$[*]";

    if (from > 0)
        snprintf(text, sizeof text, "$[%u:]", from);
    return schema__to(
        s, (struct path_selector){.kind = SELECTOR_SLICE, .has_begin = true, .index = from, .step = 1}, text);
}

/* Adds a schema for each member or element that the path selects. Returns: NULL: it asks nothing and was left out. */
static struct condition *take_below(struct schemer *s, const char *word, struct span name, const struct json_node *node,
                                    struct path path, struct schema_body *body)
{
    struct condition *part = schema__part(s, body);

    if (part == NULL)
        return NULL;
    schema__at(s, word, name, node, &path, part);
    if (!schema__asks_nothing(part))
        return part;
    body->part_count--;
    return NULL;
}

/* prefixItems, and `items` where it is a list. */
static void take_tuple(TAKES)
{
    char text[32];
    uint32_t at = 0;

    (void)schema;
    if (!is_type(s, keyword, value, JSON_ARRAY, "it is no list of schemas"))
        return;
    for (const struct json_node *one = value->child; one != NULL; one = one->next, at++) {
        snprintf(text, sizeof text, "$[%u]", at);
        (void)take_below(s, keyword->word, span_part(span_text(text), 2, strlen(text) - 3), one,
                         schema__to(s, (struct path_selector){.kind = SELECTOR_INDEX, .index = at}, text), body);
    }
}

static void take_items(TAKES)
{
    const struct json_node *prefix = json_member(schema, SPAN_LIT("prefixItems"));

    if (value->type == JSON_ARRAY && s->dialect == DRAFT_2020)
        schema__fail(s, CODE_INVALID, keyword->word, "a list of schemas is `prefixItems` in 2020-12; write that, or say "
                     "by `$schema` which dialect it is");
    else if (value->type == JSON_ARRAY)
        take_tuple(s, keyword, schema, value, body);
    else
        (void)take_below(s, keyword->word, SPAN_NONE, value, to_elements(s, prefix != NULL ? prefix->count : 0), body);
}

/* `additionalItems` says something only beside a list of `items`. */
static void take_more_items(TAKES)
{
    const struct json_node *items = json_member(schema, SPAN_LIT("items"));

    if (items != NULL && items->type == JSON_ARRAY)
        (void)take_below(s, keyword->word, SPAN_NONE, value, to_elements(s, items->count), body);
}

static void take_contains(TAKES)
{
    const struct json_node *least = json_member(schema, SPAN_LIT("minContains"));
    struct path path = to_elements(s, 0);
    struct condition *part;

    if (least != NULL && json_number_compare(least->raw, SPAN_LIT("0")) == 0)
        return;
    part = schema__part(s, body);
    if (part == NULL)
        return;
    schema__at(s, keyword->word, SPAN_NONE, value, &path, part);
    part->every = false;
    part->absent = TRUTH_FALSE;
}

static void check_contains(TAKES)
{
    uint64_t count;

    (void)schema;
    (void)body;
    if (keyword->word[1] == 'a' || value->type != JSON_NUMBER || json_number_scaled(value->raw, 0, &count) != CODE_OK ||
        count > 1)
        schema__fail(s, CODE_INVALID, keyword->word, "how many elements fit is not counted; only a minContains of 0 "
                     "or 1 is taken");
}

/* ---- of objects ---- */

static struct path to_member(struct schemer *s, struct span name)
{
    char text[128];
    bool is_bare = name.len > 0;

    for (size_t i = 0; i < name.len; i++)
        is_bare &= isalnum((unsigned char)name.at[i]) || name.at[i] == '_';
    if (unicode_is_deceptive(name))
        snprintf(text, sizeof text, "$[(hidden characters)]");
    else
        snprintf(text, sizeof text, "$%s%.*s%s", is_bare ? "." : "['", SPAN_ARG(utf8_cut(name, 100)),
                 is_bare ? "" : "']");
    return schema__to(s, (struct path_selector){.kind = SELECTOR_NAME, .name = name}, text);
}

static struct path to_members(struct schemer *s, const char *text)
{
    return schema__to(s, (struct path_selector){.kind = SELECTOR_WILD}, text);
}

static void take_properties(TAKES)
{
    (void)schema;
    if (!is_type(s, keyword, value, JSON_OBJECT, "it is no object of schemas"))
        return;
    for (const struct json_node *one = value->child; one != NULL; one = one->next)
        (void)take_below(s, keyword->word, one->key, one, to_member(s, one->key), body);
}

static void ask_exists(struct schemer *s, struct condition *leaf, const struct json_node *name, bool exists)
{
    struct path path = to_member(s, name->text);
    struct op *op = schema__leaf(s, leaf, &path, "exists");

    if (op == NULL)
        return;
    op->truth = exists;
    op->text = exists ? SPAN_LIT("true") : SPAN_LIT("false");
    leaf->absent = truth_of(!exists);
}

static bool is_names(struct schemer *s, const struct schema_keyword *keyword, const struct json_node *list)
{
    if (!is_type(s, keyword, list, JSON_ARRAY, "it is no list of names"))
        return false;
    for (const struct json_node *one = list->child; one != NULL; one = one->next)
        if (!is_type(s, keyword, one, JSON_STRING, "it holds what is no name"))
            return false;
    return true;
}

static void take_required(TAKES)
{
    (void)schema;
    if (!is_names(s, keyword, value))
        return;
    for (const struct json_node *one = value->child; one != NULL; one = one->next) {
        struct condition *part = schema__part(s, body);

        if (part != NULL)
            ask_exists(s, part, one, true);
    }
}

/* Takes: listed, patterns: objects whose members' names are meant, or NULL. */
static const struct member_names *make_names(struct schemer *s, const char *word, const struct json_node *listed,
                                             const struct json_node *patterns, bool others)
{
    struct member_names *names = schema__alloc(s, 1, sizeof *names);
    struct span *list = schema__alloc(s, listed != NULL ? listed->count + 1 : 1, sizeof *list);
    struct op *ops = schema__alloc(s, patterns != NULL ? patterns->count + 1 : 1, sizeof *ops);

    if (names == NULL || list == NULL || ops == NULL)
        return NULL;
    *names = (struct member_names){.listed = list, .patterns = ops, .others = others};
    for (const struct json_node *one = listed != NULL ? listed->child : NULL; one != NULL; one = one->next)
        list[names->count++] = one->key;
    for (const struct json_node *one = patterns != NULL ? patterns->child : NULL; one != NULL; one = one->next) {
        struct op *op = &ops[names->pattern_count++];

        schema__init_op(s, op, "matches");
        set_pattern(s, word, one->key, op);
    }
    qsort(list, names->count, sizeof *list, span_order);
    return names;
}

static void take_patterns(TAKES)
{
    (void)schema;
    if (!is_type(s, keyword, value, JSON_OBJECT, "it is no object of schemas"))
        return;
    for (const struct json_node *one = value->child; one != NULL; one = one->next) {
        struct json_node alone = {.type = JSON_OBJECT, .count = 1, .child = &(struct json_node){.key = one->key}};
        struct condition *part =
            take_below(s, keyword->word, one->key, one, to_members(s, "$.* (of names that fit)"), body);

        if (part != NULL)
            part->names = make_names(s, keyword->word, NULL, &alone, false);
    }
}

static void take_additional(TAKES)
{
    struct condition *part =
        take_below(s, keyword->word, SPAN_NONE, value, to_members(s, "$.* (but those named)"), body);

    if (part != NULL)
        part->names = make_names(s, keyword->word, json_member(schema, SPAN_LIT("properties")),
                                 json_member(schema, SPAN_LIT("patternProperties")), true);
}

static void take_names(TAKES)
{
    struct condition *part;

    (void)schema;
    part = take_below(s, keyword->word, SPAN_NONE, value, to_members(s, "$.*"), body);
    if (part != NULL)
        part->asks_keys = true;
}

/* dependentRequired, dependentSchemas, dependencies: what they ask holds for objects that have a member of the given name. */
static void take_dependent(TAKES)
{
    (void)schema;
    if (!is_type(s, keyword, value, JSON_OBJECT, "it is no object"))
        return;
    for (const struct json_node *one = value->child; one != NULL; one = one->next) {
        struct json_node name = {.type = JSON_STRING, .text = one->key};
        struct condition *part = schema__part(s, body), *all;
        struct condition *members = part != NULL ? schema__group(s, part, CONDITION_ANY, 2) : NULL;

        if (members == NULL)
            return;
        ask_exists(s, &members[0], &name, false);
        if (one->type != JSON_ARRAY) {
            schema__at(s, keyword->word, one->key, one, NULL, &members[1]);
            continue;
        }
        all = is_names(s, keyword, one) ? schema__group(s, &members[1], CONDITION_ALL, one->count) : NULL;
        for (const struct json_node *needed = one->child; all != NULL && needed != NULL; needed = needed->next)
            ask_exists(s, all++, needed, true);
    }
}

/* ---- all of them ---- */

#define NOTE(word) {word, OF_ANY, NULL, NULL, NULL, ALWAYS}
#define ALWAYS DRAFT_06, DRAFT_2020

static const struct schema_keyword keywords[] = {
    NOTE("type"), NOTE("$ref"), /* schema_compile.c takes both */
    {"enum", OF_ANY, take_enum, "in", NULL, ALWAYS},
    {"const", OF_ANY, take_const, "equals", NULL, ALWAYS},
    {"allOf", OF_ANY, take_group, NULL, NULL, ALWAYS},
    {"anyOf", OF_ANY, take_group, NULL, NULL, ALWAYS},
    {"oneOf", OF_ANY, take_group, NULL, NULL, ALWAYS},
    {"not", OF_ANY, take_not, NULL, NULL, ALWAYS},
    {"if", OF_ANY, take_if, NULL, NULL, DRAFT_07, DRAFT_2020}, NOTE("then"), NOTE("else"),
    {"minimum", OF_NUMBER, take_number, "min", NULL, ALWAYS},
    {"maximum", OF_NUMBER, take_number, "max", NULL, ALWAYS},
    {"exclusiveMinimum", OF_NUMBER, take_exclusive, "max", NULL, ALWAYS},
    {"exclusiveMaximum", OF_NUMBER, take_exclusive, "min", NULL, ALWAYS},
    {"multipleOf", OF_NUMBER, take_number, "multiple_of", NULL, ALWAYS},
    {"minLength", OF_STRING, take_count, "min_length", NULL, ALWAYS},
    {"maxLength", OF_STRING, take_count, "max_length", NULL, ALWAYS},
    {"pattern", OF_STRING, take_pattern, "matches", NULL, ALWAYS},
    {"minItems", OF_ARRAY, take_count, "min_items", NULL, ALWAYS},
    {"maxItems", OF_ARRAY, take_count, "max_items", NULL, ALWAYS},
    {"uniqueItems", OF_ARRAY, take_unique, "unique", NULL, ALWAYS},
    {"prefixItems", OF_ARRAY, take_tuple, NULL, NULL, DRAFT_2020, DRAFT_2020},
    {"items", OF_ARRAY, take_items, NULL, NULL, ALWAYS},
    {"additionalItems", OF_ARRAY, take_more_items, NULL, NULL, DRAFT_06, DRAFT_2019},
    {"contains", OF_ARRAY, take_contains, NULL, NULL, ALWAYS},
    {"minContains", OF_ARRAY, check_contains, NULL, NULL, DRAFT_2019, DRAFT_2020},
    {"maxContains", OF_ARRAY, check_contains, NULL, NULL, ALWAYS},
    {"minProperties", OF_OBJECT, take_count, "min_items", NULL, ALWAYS},
    {"maxProperties", OF_OBJECT, take_count, "max_items", NULL, ALWAYS},
    {"required", OF_OBJECT, take_required, NULL, NULL, ALWAYS},
    {"properties", OF_OBJECT, take_properties, NULL, NULL, ALWAYS},
    {"patternProperties", OF_OBJECT, take_patterns, NULL, NULL, ALWAYS},
    {"additionalProperties", OF_OBJECT, take_additional, NULL, NULL, ALWAYS},
    {"propertyNames", OF_OBJECT, take_names, NULL, NULL, ALWAYS},
    {"dependentRequired", OF_OBJECT, take_dependent, NULL, NULL, DRAFT_2019, DRAFT_2020},
    {"dependentSchemas", OF_OBJECT, take_dependent, NULL, NULL, DRAFT_2019, DRAFT_2020},
    {"dependencies", OF_OBJECT, take_dependent, NULL, NULL, DRAFT_06, DRAFT_07},
    NOTE("$schema"), NOTE("$id"), NOTE("$anchor"), NOTE("$dynamicAnchor"), NOTE("$comment"), NOTE("$defs"), NOTE("definitions"),
    NOTE("title"), NOTE("description"), NOTE("default"), NOTE("examples"), NOTE("example"), NOTE("deprecated"),
    NOTE("readOnly"), NOTE("writeOnly"), NOTE("format"), NOTE("contentEncoding"), NOTE("contentMediaType"),
    NOTE("contentSchema"),
    {"unevaluatedProperties", OF_ANY, NULL, NULL, "what other keywords have seen is not kept; write additionalProperties",
        ALWAYS},
    {"unevaluatedItems", OF_ANY, NULL, NULL, "what other keywords have seen is not kept; write items beside prefixItems",
        ALWAYS},
    {"$dynamicRef", OF_ANY, NULL, NULL, "what it names depends on the way there; write $ref", ALWAYS},
    {"$recursiveRef", OF_ANY, NULL, NULL, "what it names depends on the way there; write $ref", ALWAYS},
};

const struct schema_keyword *schema__keyword(struct span word)
{
    static const struct schema_keyword note = NOTE("x-");

    for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++)
        if (span_is(word, keywords[i].word))
            return &keywords[i];
    return span_starts_with(word, SPAN_LIT("x-")) ? &note : NULL;
}
