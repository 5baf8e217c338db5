/* SPDX-License-Identifier: Apache-2.0 */
/* Calls to try on both sides of a change: around every bound that a rule names, with and without each argument, by every name
 * and by one that is not listed. One thing is changed at a time. */
#include "author/diff_priv.h"
#include "policy/walk.h"

#include "base/num.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define BASES_MAX 4         /* tests that are varied, of each side */
#define VARIANTS_MAX 48     /* values of one condition */
#define NAMES_MAX 12        /* names of one list */
#define TARGETS_MAX 8       /* tools, resources or prompts with which every condition is varied */
#define LENGTH_MAX 4096
#define ITEMS_MAX 256
#define CALL_MAX_BYTES ((size_t)4 << 20)
#define HOUR_US INT64_C(3600000000)

struct variants {
    struct samples samples; /* which operators add to */
    struct arena *arena;
    struct span json[VARIANTS_MAX];
    size_t count;
    enum code code;
};

struct making {
    const struct rule *rule;
    struct question base;
    struct arena arena;     /* of one base and its variants */
    struct buf text;
    diff_put_fn put;
    void *context;
};

/* ---- values ---- */

static void add(struct samples *samples, struct span json)
{
    struct variants *v = (struct variants *)samples;
    if (v->count == VARIANTS_MAX || v->code != CODE_OK)
        return;
    for (size_t i = 0; i < v->count; i++)
        if (span_equals(v->json[i], json))
            return;
    v->json[v->count].at = arena_dup(v->arena, json.at, json.len);
    if (v->json[v->count].at == NULL)
        v->code = CODE_NOMEM;
    else
        v->json[v->count++].len = json.len;
}

/* before, text and after as one JSON string; controls and all. */
static void add_text(struct samples *samples, const char *before, struct span text, const char *after)
{
    struct variants *v = (struct variants *)samples;
    struct buf whole, json;
    enum code code;

    buf_init(&whole, CALL_MAX_BYTES);
    buf_init(&json, CALL_MAX_BYTES);
    code = buf_add_text(&whole, before);
    if (code == CODE_OK)
        code = buf_add_span(&whole, text);
    if (code == CODE_OK)
        code = buf_add_text(&whole, after);
    if (code == CODE_OK)
        code = json_write_string(&json, buf_peek(&whole));
    if (code == CODE_OK)
        add(samples, buf_peek(&json));
    else if (code == CODE_NOMEM)
        v->code = code;
    buf_fini(&whole);
    buf_fini(&json);
}

static void add_run(struct variants *v, uint64_t count, uint64_t most, const char *open, const char *one, const char *close)
{
    struct buf json;
    enum code code;

    if (count > most)
        return;
    buf_init(&json, CALL_MAX_BYTES);
    code = buf_add_text(&json, open);
    for (uint64_t i = 0; i < count && code == CODE_OK; i++)
        code = buf_addf(&json, "%s%s", i > 0 && *open == '[' ? "," : "", one);
    if (code == CODE_OK)
        code = buf_add_text(&json, close);
    if (code == CODE_OK)
        add(&v->samples, buf_peek(&json));
    else if (code == CODE_NOMEM)
        v->code = code;
    buf_fini(&json);
}

static void add_around(struct samples *samples, uint64_t count, uint64_t most, const char *open, const char *one,
                       const char *close)
{
    struct variants *v = (struct variants *)samples;
    for (uint64_t i = count > 0 ? count - 1 : 0; i <= count + 1; i++)
        add_run(v, i, most, open, one, close);
}

/* What the strings of an operand that is kept as JSON say: hosts, directories, ranges. */
static void add_written(struct samples *samples, struct span written, const char *before, const char *after)
{
    struct variants *v = (struct variants *)samples;
    const struct json_node *root = NULL;
    struct json_fault fault;
    struct buf canonical;

    buf_init(&canonical, CALL_MAX_BYTES);
    if (json_read(written, &json_file_rules, &canonical, v->arena, &root, &fault) == CODE_OK) {
        const struct json_node *hosts = root->type == JSON_OBJECT ? json_member(root, SPAN_LIT("hosts")) : root;

        if (hosts != NULL && hosts->type == JSON_STRING)
            add_text(samples, before, hosts->text, after);
        for (const struct json_node *host = hosts ? hosts->child : NULL; host != NULL; host = host->next)
            if (host->type == JSON_STRING && span_starts_with(host->text, SPAN_LIT("*")))
                add_text(samples, "https://x", span_part(host->text, 1, SIZE_MAX), after);
            else if (host->type == JSON_STRING)
                add_text(samples, before, host->text, after);
    }
    buf_fini(&canonical);
}

static void add_addresses(struct samples *samples, struct span written)
{
    struct variants *v = (struct variants *)samples;
    const struct json_node *root = NULL;
    struct json_fault fault;
    struct buf canonical;

    buf_init(&canonical, CALL_MAX_BYTES);
    if (json_read(written, &json_file_rules, &canonical, v->arena, &root, &fault) == CODE_OK)
        for (const struct json_node *range = root->child; range != NULL; range = range->next)
            add_text(samples, "", span_part(range->text, 0, span_find(range->text, '/')), "");
    buf_fini(&canonical);
}

static void add_sample(struct samples *samples, struct span pattern)
{
    struct variants *v = (struct variants *)samples;
    struct buf text;

    buf_init(&text, CALL_MAX_BYTES);
    if (diff__sample(pattern, &text) == CODE_OK)
        add_text(samples, "", buf_peek(&text), "");
    else
        v->code = CODE_NOMEM;
    buf_fini(&text);
}

static void add_glob(struct samples *samples, struct span glob)
{
    char text[256];
    size_t len = 0;

    for (size_t i = 0; i < glob.len && len < sizeof text; i++) {
        if (glob.at[i] == '\\' && i + 1 < glob.len)
            i++;
        else if (glob.at[i] == '*' || glob.at[i] == '?') {
            text[len++] = 'x';
            continue;
        }
        text[len++] = glob.at[i];
    }
    add_text(samples, "", span_of(text, len), "");
}

static void add_types(struct variants *v)
{
    static const char *const one_of_each[] = {"1", "\"x\"", "1.5", "true", "null", "[\"x\"]", "[]", "{}", "-1", "\"\""};

    for (size_t i = 0; i < sizeof one_of_each / sizeof *one_of_each; i++)
        add(&v->samples, span_text(one_of_each[i]));
}

static const struct samples into_variants = {
    .json = add, .text = add_text, .glob = add_glob, .regex = add_sample, .around = add_around, .written = add_written,
    .addresses = add_addresses,
};

static void collect(struct variants *v, struct arena *arena, const struct condition *leaf)
{
    *v = (struct variants){.samples = into_variants, .arena = arena};
    add_types(v); /* first, being short */
    for (uint32_t i = 0; i < leaf->op_count; i++)
        if (leaf->ops[i].operator->sample != NULL)
            leaf->ops[i].operator->sample(&leaf->ops[i], &v->samples);
}

/* ---- trying ---- */

/* The gate takes the resource from params.uri. */
static enum code name_resource(struct making *m, const struct question *question, struct diff_tree *tree)
{
    struct path uri;
    struct variants v = {.arena = &m->arena};
    struct why why;
    size_t offset;
    enum code code;

    if (question->resource.len == 0)
        return CODE_OK;
    add_text(&v.samples, "", question->resource, "");
    code = v.count > 0 ? path_compile(SPAN_LIT("uri"), &m->arena, &uri, &offset, &why) : v.code;
    return code == CODE_OK && v.count > 0 ? diff__tree_set(&m->arena, tree, &uri, v.json[0]) : code;
}

static enum code put_tree(struct making *m, const struct question *question, struct diff_tree *tree)
{
    struct question asked = *question;
    struct json_fault fault;
    struct buf canonical;
    struct arena arena;
    enum code code = name_resource(m, &asked, tree);

    buf_clear(&m->text);
    arena_init(&arena, CALL_MAX_BYTES * 16);
    buf_init(&canonical, CALL_MAX_BYTES);
    if (code == CODE_OK)
        code = diff__tree_write(tree, &m->text);
    if (code == CODE_OK)
        code = json_read(buf_peek(&m->text), &json_file_rules, &canonical, &arena, &asked.root, &fault);
    if (code == CODE_OK)
        code = m->put(m->context, &asked);
    else if (code != CODE_NOMEM)
        code = CODE_OK; /* nothing that could arrive */
    buf_fini(&canonical);
    arena_fini(&arena);
    return code;
}

/* The base with one value changed. */
static enum code put_changed(struct making *m, const struct json_node *base, const struct path *path, struct span json)
{
    struct diff_tree *tree = diff__tree_new(&m->arena, base);
    enum code code = tree ? diff__tree_set(&m->arena, tree, path, json) : CODE_NOMEM;

    if (code == CODE_NOT_FOUND)
        return CODE_OK;
    return code == CODE_OK ? put_tree(m, &m->base, tree) : code;
}

static enum code vary_leaf(struct making *m, const struct json_node *base, const struct condition *leaf)
{
    struct variants v;
    enum code code;

    if (leaf->from != FROM_ARG || leaf->asks_keys || leaf->path.count == 0)
        return CODE_OK;
    collect(&v, &m->arena, leaf);
    code = v.code;
    for (size_t i = 0; i < v.count && code == CODE_OK; i++)
        code = put_changed(m, base, &leaf->path, v.json[i]);
    return code == CODE_OK ? put_changed(m, base, &leaf->path, SPAN_NONE) : code;
}

static enum code vary_fact(struct making *m, const struct json_node *base, const struct fact *fact)
{
    static const char *const clients[] = {"10.1.2.3", "192.168.1.1", "127.0.0.1", "203.0.113.77", "2001:db8::77"};
    struct question kept = m->base;
    struct diff_tree *tree = diff__tree_new(&m->arena, base);
    enum code code = tree ? CODE_OK : CODE_NOMEM;

    for (int i = 0; fact->kind == FACT_DURING && i < 7 * 24 && code == CODE_OK; i++) {
        m->base.time_us = DIFF_TIME_US + i * HOUR_US;
        code = put_tree(m, &m->base, tree);
    }
    for (size_t i = 0; fact->kind == FACT_CLIENT && i < sizeof clients / sizeof *clients && code == CODE_OK; i++) {
        m->base.client = span_text(clients[i]);
        code = put_tree(m, &m->base, tree);
    }
    m->base = kept;
    return code;
}

static enum code vary(struct making *m, const struct json_node *base, const struct condition *condition)
{
    enum code code = CODE_OK;

    if (condition->kind == CONDITION_LEAF)
        return vary_leaf(m, base, condition);
    if (condition->kind == CONDITION_FACT)
        return vary_fact(m, base, condition->fact);
    for (uint32_t i = 0; i < condition->count && code == CODE_OK; i++)
        code = vary(m, base, &condition->members[i]);
    return code;
}

/* ---- names ---- */

/* What a message with this method is about: one target, or none. */
static void settle_targets(struct question *question)
{
    if (!span_is(question->method, "tools/call"))
        question->tool = SPAN_NONE;
    else if (question->tool.len == 0)
        question->tool = SPAN_LIT("probe");
    if (!span_is(question->method, "prompts/get"))
        question->prompt = SPAN_NONE;
    if (!span_starts_with(question->method, SPAN_LIT("resources/")))
        question->resource = SPAN_NONE;
}

/* A name that the entry takes in, or is meant to. */
static enum code sample_name(struct making *m, const struct match_name *name, struct span *sample)
{
    struct variants v = {.arena = &m->arena};

    *sample = name->text;
    if (name->kind == NAME_LITERAL)
        return CODE_OK;
    *sample = SPAN_LIT("initialize");
    if (name->kind == NAME_PROTOCOL)
        return CODE_OK;
    if (name->kind == NAME_GLOB)
        add_glob(&v.samples, name->text);
    else
        add_sample(&v.samples, name->text);
    if (v.code == CODE_OK && v.count > 0) /* without quotes; names hold no escapes */
        *sample = span_part(v.json[0], 1, v.json[0].len - 2);
    return v.code;
}

static enum code vary_names(struct making *m, const struct json_node *base)
{
    enum code code = CODE_OK;

    for (enum dimension d = DIM_TENANT; d < DIM_COUNT && code == CODE_OK; d++) {
        const struct names *names = &m->rule->match.by[d];
        struct question question = m->base;
        struct diff_tree *tree = diff__tree_new(&m->arena, base);

        if (tree == NULL)
            return CODE_NOMEM;
        for (uint32_t i = 0; i < names->count && i < NAMES_MAX && code == CODE_OK; i++) {
            code = sample_name(m, &names->name[i], question_place(&question, d));
            settle_targets(&question);
            if (code == CODE_OK)
                code = put_tree(m, &question, tree);
        }
        *question_place(&question, d) = d == DIM_PATH ? SPAN_LIT("/probe-other") : SPAN_LIT("probe-other");
        settle_targets(&question);
        if (code == CODE_OK && d != DIM_METHOD)
            code = put_tree(m, &question, tree);
    }
    return code;
}

/* ---- where it begins ---- */

/* A value that fulfils the leaf; SPAN_NONE where none of those that are tried does. */
static enum code fulfil_leaf(struct making *m, struct diff_tree *tree, const struct condition *leaf)
{
    struct variants v;
    enum code code;

    if (leaf->from != FROM_ARG || leaf->asks_keys || leaf->path.count == 0)
        return CODE_OK;
    collect(&v, &m->arena, leaf);
    code = v.code;
    for (size_t i = 0; i < v.count && code == CODE_OK; i++) {
        const struct json_node *value = NULL;
        struct json_fault fault;
        struct buf canonical;
        bool good;

        buf_init(&canonical, CALL_MAX_BYTES);
        good = json_read(v.json[i], &json_file_rules, &canonical, &m->arena, &value, &fault) == CODE_OK &&
               policy_fulfils(leaf, value);
        buf_fini(&canonical);
        if (good) {
            code = diff__tree_set(&m->arena, tree, &leaf->path, v.json[i]);
            return code == CODE_NOT_FOUND ? CODE_OK : code;
        }
    }
    return code;
}

static enum code fulfil(struct making *m, struct diff_tree *tree, const struct condition *condition)
{
    enum code code = CODE_OK;

    if (condition->kind == CONDITION_LEAF)
        return condition->absent == TRUTH_TRUE ? CODE_OK : fulfil_leaf(m, tree, condition);
    if (condition->kind == CONDITION_ANY)
        return condition->count > 0 ? fulfil(m, tree, &condition->members[0]) : CODE_OK;
    for (uint32_t i = 0; condition->kind == CONDITION_ALL && i < condition->count && code == CODE_OK; i++)
        code = fulfil(m, tree, &condition->members[i]);
    return code;
}

static enum code put_argument(struct making *m, const struct json_node *base, struct span name)
{
    const struct path_selector selector = {.kind = SELECTOR_NAME, .name = name};
    const struct path_segment segment = {.count = 1, .selectors = &selector};
    const struct path path = {.count = 1, .segments = &segment};

    return put_changed(m, base, &path, SPAN_LIT("1"));
}

static enum code vary_base(struct making *m, const struct json_node *base)
{
    struct diff_tree *tree = diff__tree_new(&m->arena, base);
    enum code code = tree ? put_tree(m, &m->base, tree) : CODE_NOMEM;

    if (code == CODE_OK && m->rule->when != NULL)
        code = vary(m, base, m->rule->when);
    for (uint32_t i = 0; i < m->rule->arg_count && i < NAMES_MAX && code == CODE_OK; i++)
        code = put_argument(m, base, m->rule->args[i]);
    return code == CODE_OK ? put_argument(m, base, SPAN_LIT("probe_extra")) : code;
}

/* From what the rule itself names. Takes: at: which of its tools, resources or prompts. */
static enum code begin_with_rule(struct making *m, uint32_t at)
{
    struct diff_tree *tree = diff__tree_new(&m->arena, NULL);
    const struct json_node *base = NULL;
    struct json_fault fault;
    struct buf text, canonical;
    enum code code = tree ? CODE_OK : CODE_NOMEM;

    m->base = (struct question){.tenant = SPAN_LIT("test"), .principal = SPAN_LIT("test"), .upstream = SPAN_LIT("test"),
                                .method = SPAN_LIT("tools/call"), .session = SPAN_LIT("test"),
                                .correlation = SPAN_LIT("test"), .time_us = DIFF_TIME_US, .client = SPAN_LIT(DIFF_CLIENT)};
    for (enum dimension d = DIM_TENANT; d < DIM_COUNT && code == CODE_OK; d++) {
        const struct names *names = &m->rule->match.by[d];

        if (names->count > 0)
            code = sample_name(m, &names->name[d >= DIM_TARGET && at < names->count ? at : 0], question_place(&m->base, d));
    }
    settle_targets(&m->base);
    if (code == CODE_OK && m->rule->when != NULL)
        code = fulfil(m, tree, m->rule->when);
    buf_init(&text, CALL_MAX_BYTES);
    buf_init(&canonical, CALL_MAX_BYTES);
    if (code == CODE_OK)
        code = diff__tree_write(tree, &text);
    if (code == CODE_OK && json_read(buf_peek(&text), &json_file_rules, &canonical, &m->arena, &base, &fault) == CODE_OK) {
        code = vary_base(m, base);
        if (code == CODE_OK && at == 0)
            code = vary_names(m, base);
    }
    buf_fini(&text);
    buf_fini(&canonical);
    return code;
}

/* From calls of tests that the rule concerns. */
static enum code begin_with_tests(struct making *m, const struct policy *policy)
{
    enum code code = CODE_OK;
    unsigned taken = 0;

    for (uint32_t i = 0; policy != NULL && i < policy->case_count && taken < BASES_MAX && code == CODE_OK; i++) {
        const struct question *question = &policy->cases[i].question;
        enum dimension undecided;
        struct regex_budget budget;

        regex_budget_init(&budget);
        if (policy_match(&m->rule->match, question, &budget, &undecided) != TRUTH_TRUE || question->root == NULL)
            continue;
        taken++;
        arena_reset(&m->arena);
        m->base = *question;
        code = vary_base(m, question->root);
    }
    return code;
}

enum code diff__calls_of(const struct rule *rule, const struct policy *before, const struct policy *after, diff_put_fn put,
                         void *context)
{
    struct making m = {.rule = rule, .put = put, .context = context};
    uint32_t targets = 1;
    enum code code = CODE_OK;

    arena_init(&m.arena, CALL_MAX_BYTES * 64);
    buf_init(&m.text, CALL_MAX_BYTES);
    for (enum dimension d = DIM_TARGET; d < DIM_COUNT; d++)
        if (rule->match.by[d].count > targets)
            targets = rule->match.by[d].count;
    for (uint32_t at = 0; at < targets && at < TARGETS_MAX && code == CODE_OK; at++) {
        arena_reset(&m.arena);
        code = begin_with_rule(&m, at);
    }
    if (code == CODE_OK)
        code = begin_with_tests(&m, before);
    if (code == CODE_OK)
        code = begin_with_tests(&m, after);
    arena_fini(&m.arena);
    buf_fini(&m.text);
    return code;
}
