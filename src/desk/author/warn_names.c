/* SPDX-License-Identifier: Apache-2.0 */
#include "author/warn_priv.h"

#include "mcp/method.h"
#include "unicode/lookalike.h"

#include <ctype.h>
#include <stdlib.h>

/* Names that a reader takes for one another, and slips of the pen. Names that stand in one list together are both meant. */

#define SKELETON_BYTES 160
#define PAIRS_MAX 1000000
#define TOLD_MAX 20 /* of one kind of names */
#define TENANT_LETTERS 4 /* words must be so long for one wrong letter to be a slip: get_x and set_x are two tools */
#define WORD_LETTERS 5
#define TURNED_LETTERS 4

enum kind { KIND_ID = 0, KIND_TOOL, KIND_TENANT, KIND_AGENT, KIND_GROUP, KIND_SCOPE, KIND_COUNT };

static const char *const kind_text[KIND_COUNT] = {"rule", "tool", "tenant", "agent", "group", "scope"};
static const enum dimension named_by[KIND_COUNT] = {
    [KIND_TOOL] = DIM_TOOL, [KIND_TENANT] = DIM_TENANT, [KIND_AGENT] = DIM_AGENT, [KIND_GROUP] = DIM_GROUP,
    [KIND_SCOPE] = DIM_SCOPE};

struct named {
    struct span text;
    const struct rule *rule; /* the first that has it */
    size_t skeleton_len;     /* 0: too long to be compared */
    char skeleton[SKELETON_BYTES];
};

struct naming_kind {
    const struct policy *policy;
    struct faults *warnings;
    enum kind kind;
    struct named *names;
    size_t count;
    size_t told;
};

static int by_text(const void *a, const void *b)
{
    return span_compare(((const struct named *)a)->text, ((const struct named *)b)->text);
}

static int by_skeleton(const void *a, const void *b)
{
    const struct named *left = a, *right = b;
    int order = span_compare(span_of(left->skeleton, left->skeleton_len), span_of(right->skeleton, right->skeleton_len));

    return order != 0 ? order : span_compare(left->text, right->text);
}

/* ---- one slip ---- */

static bool is_separator(char c)
{
    return c == '_' || c == '-' || c == '.' || c == '/' || c == ':';
}

/* The letters of the word around a place. */
static size_t word_around(struct span name, size_t at)
{
    size_t from = at, to = at;

    while (from > 0 && !is_separator(name.at[from - 1]))
        from--;
    while (to < name.len && !is_separator(name.at[to]))
        to++;
    return to - from;
}

/* `with` has one byte more than `without`, at `at`. Plurals and tenses are no slips. */
static bool is_slip_of_one(struct span with, size_t at, size_t letters)
{
    bool ends_word = at + 1 == with.len || is_separator(with.at[at + 1]);

    if (is_separator(with.at[at]))
        return with.len > letters;
    if (isdigit((unsigned char)with.at[at]) || (ends_word && (with.at[at] == 's' || with.at[at] == 'd')))
        return false;
    return word_around(with, at) > letters;
}

static bool is_slip(struct span a, struct span b, size_t letters)
{
    size_t at = 0, end = 0, shorter = a.len < b.len ? a.len : b.len;

    while (at < shorter && a.at[at] == b.at[at])
        at++;
    while (end < shorter - at && a.at[a.len - 1 - end] == b.at[b.len - 1 - end])
        end++;
    if (a.len != b.len)
        return at + end == shorter && (a.len > b.len ? a.len - b.len : b.len - a.len) == 1 &&
               is_slip_of_one(a.len > b.len ? a : b, at, letters);
    if (at + end + 1 == a.len) {
        if (is_separator(a.at[at]) || is_separator(b.at[at]))
            return is_separator(a.at[at]) && is_separator(b.at[at]) && a.len > letters;
        return isalpha((unsigned char)a.at[at]) && isalpha((unsigned char)b.at[at]) && word_around(a, at) >= letters;
    }
    return at + end + 2 == a.len && a.at[at] == b.at[at + 1] && a.at[at + 1] == b.at[at] && isalpha((unsigned char)a.at[at]) &&
           isalpha((unsigned char)b.at[at]) && word_around(a, at) >= TURNED_LETTERS;
}

/* ---- telling ---- */

static bool lists_both(const struct names *names, struct span a, struct span b)
{
    bool has_a = false, has_b = false;

    for (uint32_t i = 0; i < names->count; i++) {
        has_a |= span_equals(names->name[i].text, a);
        has_b |= span_equals(names->name[i].text, b);
    }
    return has_a && has_b;
}

static bool are_meant(const struct naming_kind *of, struct span a, struct span b)
{
    const struct policy *policy = of->policy;
    enum dimension dimension = named_by[of->kind];

    for (uint32_t i = 0; of->kind != KIND_ID && i < policy->rule_count; i++)
        if (lists_both(&policy->rules[i].match.by[dimension], a, b))
            return true;
    return false;
}

static void tell_pair(struct naming_kind *of, const struct named *a, const struct named *b, const char *how)
{
    bool swapped = a->rule->source == b->rule->source ? a->rule->line > b->rule->line : a->rule->source > b->rule->source;
    const struct named *first = swapped ? b : a, *second = swapped ? a : b;

    if (of->told >= TOLD_MAX || are_meant(of, a->text, b->text))
        return;
    of->told++;
    faults_add(of->warnings, second->rule->source->path_text, second->rule->line, second->rule->column,
               "the %s `%.*s` looks like `%.*s` of %s:%d (%s); %s", kind_text[of->kind],
               SPAN_ARG(span_part(second->text, 0, 100)), SPAN_ARG(span_part(first->text, 0, 100)),
               first->rule->source->path_text, first->rule->line, how,
               of->kind == KIND_ID ? "rename one of them" : "write it alike, or name both in one list if both are meant");
}

static bool is_case_only(struct span a, struct span b)
{
    return span_equals_nocase(a, b);
}

static void compare_all(struct naming_kind *of)
{
    size_t letters = of->kind == KIND_TENANT ? TENANT_LETTERS : WORD_LETTERS;

    for (size_t i = 0; i + 1 < of->count; i++) {
        const struct named *a = &of->names[i], *b = &of->names[i + 1];

        if (a->skeleton_len > 0 && a->skeleton_len == b->skeleton_len && memcmp(a->skeleton, b->skeleton, a->skeleton_len) == 0)
            tell_pair(of, a, b, is_case_only(a->text, b->text) ? "they differ in case only" : "they read the same");
    }
    if (of->count > 1 && of->count > PAIRS_MAX / of->count)
        return;
    for (size_t i = 0; i < of->count; i++)
        for (size_t j = i + 1; j < of->count && of->told < TOLD_MAX; j++)
            if (is_slip(of->names[i].text, of->names[j].text, letters))
                tell_pair(of, &of->names[i], &of->names[j], "one slip apart");
}

/* ---- collecting ---- */

static void add_name(struct naming_kind *of, struct span text, const struct rule *rule)
{
    struct named *named = &of->names[of->count++];

    named->text = text;
    named->rule = rule;
    if (lookalike_mixes_scripts(text) && of->told < TOLD_MAX) {
        of->told++;
        faults_add(of->warnings, rule->source->path_text, rule->line, rule->column,
                   "the %s `%.*s` mixes letters of several alphabets; write it in one", kind_text[of->kind],
                   SPAN_ARG(span_part(text, 0, 100)));
    }
}

static void drop_doubles(struct naming_kind *of)
{
    size_t kept = 0;

    qsort(of->names, of->count, sizeof *of->names, by_text);
    for (size_t i = 0; i < of->count; i++) {
        struct named *named = &of->names[i];

        if (kept > 0 && span_equals(of->names[kept - 1].text, named->text)) {
            if (named->rule < of->names[kept - 1].rule)
                of->names[kept - 1].rule = named->rule;
            continue;
        }
        named->skeleton_len = lookalike_skeleton(named->text, named->skeleton, sizeof named->skeleton);
        if (kept != i)
            of->names[kept] = *named;
        kept++;
    }
    of->count = kept;
    qsort(of->names, of->count, sizeof *of->names, by_skeleton);
}

static size_t count_names(const struct policy *policy, enum kind kind)
{
    size_t count = policy->rule_count;

    for (uint32_t i = 0; kind != KIND_ID && i < policy->rule_count; i++)
        count += policy->rules[i].match.by[named_by[kind]].count;
    return count;
}

static enum code warn_kind(const struct policy *policy, enum kind kind, struct faults *warnings)
{
    struct naming_kind of = {.policy = policy, .warnings = warnings, .kind = kind,
                             .names = mem_array(count_names(policy, kind), sizeof *of.names)};

    if (of.names == NULL)
        return CODE_NOMEM;
    for (uint32_t i = 0; i < policy->rule_count; i++) {
        const struct rule *rule = &policy->rules[i];
        const struct names *names = &rule->match.by[named_by[kind]];

        if (kind == KIND_ID)
            add_name(&of, rule->id, rule);
        for (uint32_t n = 0; kind != KIND_ID && n < names->count; n++)
            if (names->name[n].kind == NAME_LITERAL)
                add_name(&of, names->name[n].text, rule);
    }
    drop_doubles(&of);
    compare_all(&of);
    mem_free(of.names);
    return CODE_OK;
}

/* ---- methods, whose names are known ---- */

#define METHODS_MAX 64

static void warn_methods(const struct rule *rule, struct faults *warnings)
{
    const char *methods[METHODS_MAX + 2] = {"protocol"};
    const struct names *names = &rule->match.by[DIM_METHOD];

    for (size_t i = 0; i < METHODS_MAX && mcp_method_at(i) != NULL; i++)
        methods[i + 1] = mcp_method_at(i);
    for (uint32_t i = 0; i < names->count; i++) {
        struct span text = names->name[i].text;
        const char *nearest = names->name[i].kind == NAME_LITERAL ? why_nearest(text.at, text.len, methods) : NULL;

        if (nearest != NULL && !span_is(text, nearest))
            faults_add(warnings, rule->source->path_text, rule->line, rule->column,
                       "the method `%.*s` is none that is known; did you mean `%s`?", SPAN_ARG(text), nearest);
    }
}

enum code warn__names(const struct policy *policy, struct faults *warnings)
{
    enum code code = CODE_OK;

    for (enum kind kind = KIND_ID; kind < KIND_COUNT && code == CODE_OK; kind++)
        code = warn_kind(policy, kind, warnings);
    for (uint32_t i = 0; i < policy->rule_count; i++)
        warn_methods(&policy->rules[i], warnings);
    return code;
}
