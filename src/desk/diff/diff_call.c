/* SPDX-License-Identifier: Apache-2.0 */
/* Calls to try on both sides of a change: around every bound that a rule names, with and without each argument, by every name
 * and by one that is not listed. One thing is changed at a time. */
#include "diff/diff_priv.h"
#include "judgement/judgement.h"
#include "policy/variable.h"
#include "policy/walk.h"

#include "base/num.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define BASES_MAX 4         /* tests that are varied, of each side */
#define NAMES_MAX 12        /* names of one list */
#define TARGETS_MAX 8       /* tools, resources or prompts with which every condition is varied */
#define LENGTH_MAX 4096
#define ITEMS_MAX 256
#define HOUR_US INT64_C(3600000000)

struct making {
    const struct rule *rule;
    uint32_t at;            /* which target and which alternative of each `any` the base takes */
    struct question base;
    struct arena arena;     /* of one base and its variants */
    struct buf text, claims; /* claims: what those of the base point to */
    enum code code;         /* sticks */
    diff_put_fn put;
    void *context;
};

/* ---- trying ---- */

static void collect(struct making *m, struct diff_values *v, const struct condition *leaf)
{
    diff__collect(v, &m->arena, &m->base, leaf);
    if (v->code != CODE_OK)
        m->code = v->code;
}

/* Sets what the path names; a path that cannot be laid changes nothing. Returns: whether it was laid. */
static bool set(struct making *m, struct diff_tree *tree, const struct path *path, struct span json)
{
    enum code code = m->code == CODE_OK ? diff__tree_set(&m->arena, tree, path, json) : m->code;

    if (code != CODE_OK && code != CODE_NOT_FOUND)
        m->code = code;
    return code == CODE_OK;
}

/* NULL without memory. */
static struct diff_tree *tree_of(struct making *m, const struct json_node *base)
{
    struct diff_tree *tree = m->code == CODE_OK ? diff__tree_new(&m->arena, base) : NULL;

    if (tree == NULL && m->code == CODE_OK)
        m->code = CODE_NOMEM;
    return tree;
}

static struct path path_to(const struct path_selector *selector, struct path_segment *segment)
{
    *segment = (struct path_segment){.count = 1, .selectors = selector};
    return (struct path){.count = 1, .segments = segment};
}

/* The gate takes the resource from params.uri. Returns: false where there can be no such member. */
static bool name_resource(struct making *m, const struct question *question, struct diff_tree *tree)
{
    const struct path_selector selector = {.kind = SELECTOR_NAME, .name = SPAN_LIT("uri")};
    struct path_segment segment;
    const struct path uri = path_to(&selector, &segment);
    struct diff_values v = {.arena = &m->arena};

    if (question->resource.len == 0 || !question_has_uri(question->method))
        return true;
    diff__add_text(&v.samples, "", question->resource, "");
    if (v.code != CODE_OK)
        m->code = v.code;
    return v.count == 0 || set(m, tree, &uri, v.json[0]);
}

/* What could not arrive is not tried. */
static void put_tree(struct making *m, const struct question *question, struct diff_tree *tree)
{
    struct question asked = *question;
    struct buf canonical;
    struct arena arena;

    buf_clear(&m->text);
    if (!name_resource(m, &asked, tree))
        return;
    diff__tree_write(tree, &m->text);
    if (buf_code(&m->text) == CODE_NOMEM)
        m->code = CODE_NOMEM;
    if (m->code != CODE_OK || buf_code(&m->text) != CODE_OK)
        return;
    arena_init(&arena, DIFF_VALUE_MAX_BYTES * 16);
    asked.root = diff__read_json(buf_peek(&m->text), &canonical, &arena, &m->code);
    if (asked.root != NULL)
        m->code = m->put(m->context, &asked);
    buf_fini(&canonical);
    arena_fini(&arena);
}

/* The base with one value changed. */
static void put_changed(struct making *m, const struct json_node *base, const struct path *path, struct span json)
{
    struct diff_tree *tree = tree_of(m, base);

    if (tree != NULL && set(m, tree, path, json))
        put_tree(m, &m->base, tree);
}

/* Whether its values can be written into the arguments, or into claims. */
static bool is_varied(const struct condition *leaf)
{
    return (leaf->from == FROM_ARG || leaf->from == FROM_CLAIM) && !leaf->asks_keys && leaf->path.count > 0;
}

/* Who asks has this claim, too. Takes: kept: holds what the claims point to. */
static void set_claim(struct making *m, const struct path *path, struct span json, struct buf *kept)
{
    struct diff_tree *tree = tree_of(m, m->base.claims);
    const struct json_node *claims;
    struct buf canonical;

    if (tree == NULL || !set(m, tree, path, json))
        return;
    buf_clear(&m->text);
    diff__tree_write(tree, &m->text);
    if (buf_code(&m->text) == CODE_NOMEM)
        m->code = CODE_NOMEM;
    claims = buf_code(&m->text) == CODE_OK ? diff__read_json(buf_peek(&m->text), &canonical, &m->arena, &m->code) : NULL;
    if (buf_code(&m->text) != CODE_OK)
        return;
    buf_fini(kept);
    *kept = canonical;
    m->base.claims = claims;
}

static void put_claimed(struct making *m, const struct json_node *base, const struct path *path, struct span json)
{
    const struct json_node *claims = m->base.claims;
    struct buf kept;

    buf_init(&kept, DIFF_VALUE_MAX_BYTES);
    set_claim(m, path, json, &kept);
    put_tree(m, &m->base, tree_of(m, base));
    m->base.claims = claims;
    buf_fini(&kept);
}

static void vary_leaf(struct making *m, const struct json_node *base, const struct condition *leaf)
{
    struct diff_values v;

    if (!is_varied(leaf))
        return;
    collect(m, &v, leaf);
    for (const struct path *path = &leaf->path; path != NULL; path = path->next)
        for (size_t i = 0; i <= v.count && m->code == CODE_OK; i++) /* and without it */
            (leaf->from == FROM_CLAIM ? put_claimed : put_changed)(m, base, path, i < v.count ? v.json[i] : SPAN_NONE);
}

/* The call at the edges of some time. */
static void put_around(struct making *m, const struct json_node *base, int64_t time_us)
{
    struct question kept = m->base;
    struct diff_tree *tree = tree_of(m, base);

    for (int i = -1; i <= 0 && time_us > 1 && m->code == CODE_OK; i++) {
        m->base.time_us = time_us + i;
        put_tree(m, &m->base, tree);
    }
    m->base = kept;
}

static void vary_fact(struct making *m, const struct json_node *base, const struct fact *fact)
{
    static const char *const clients[] = {"10.1.2.3", "192.168.1.1", "127.0.0.1", "203.0.113.77", "2001:db8::77"};
    struct question kept = m->base;
    struct diff_tree *tree = tree_of(m, base);

    for (int i = 0; fact->kind == FACT_DURING && i < 7 * 24 && m->code == CODE_OK; i++) {
        m->base.time_us = DIFF_TIME_US + i * HOUR_US;
        put_tree(m, &m->base, tree);
    }
    m->base = kept;
    for (uint32_t i = 0; i < fact->date_count && m->code == CODE_OK; i++) {
        if (fact->dates[i].from_s != INT64_MIN)
            put_around(m, base, zone_moment(fact->zone, fact->dates[i].from_s) * 1000000);
        if (fact->dates[i].to_s != INT64_MAX)
            put_around(m, base, zone_moment(fact->zone, fact->dates[i].to_s) * 1000000);
    }
    if ((m->base.plan.step = fact->kind == FACT_PLAN) != 0 && m->code == CODE_OK)
        put_tree(m, &m->base, tree);
    for (size_t i = 0; fact->kind == FACT_CLIENT && i < sizeof clients / sizeof *clients && m->code == CODE_OK; i++) {
        m->base.client = span_text(clients[i]);
        put_tree(m, &m->base, tree);
    }
    m->base = kept;
}

static void vary(struct making *m, const struct json_node *base, const struct condition *condition)
{
    if (condition->kind == CONDITION_LEAF)
        vary_leaf(m, base, condition);
    if (condition->kind == CONDITION_FACT)
        vary_fact(m, base, condition->fact);
    for (uint32_t i = 0; i < condition->count && m->code == CODE_OK; i++)
        vary(m, base, &condition->members[i]);
}

/* ---- names ---- */

/* A name that the entry takes in, or is meant to. */
static struct span sample_name(struct making *m, const struct match_name *name)
{
    struct diff_values v = {.arena = &m->arena};

    if (name->kind == NAME_LITERAL)
        return name->text;
    if (name->kind == NAME_PROTOCOL)
        return SPAN_LIT("initialize");
    if (name->kind == NAME_GLOB)
        diff__add_glob(&v.samples, name->text);
    else
        diff__add_sample(&v.samples, name->text);
    if (v.code != CODE_OK)
        m->code = v.code;
    /* Without quotes; names hold no escapes. */
    return v.count > 0 ? span_part(v.json[0], 1, v.json[0].len - 2) : name->text;
}

static void name(struct making *m, struct question *question, enum dimension dimension, struct span name)
{
    if (diff__name(&m->arena, question, dimension, name) != CODE_OK)
        m->code = CODE_NOMEM;
}

/* What means every method about its target is tried by the first of them. */
static void put_method(struct making *m, struct question *question, const struct match *match)
{
    for (enum dimension d = DIM_TARGET; d < DIM_HELD; d++)
        if (match->by[d].given && !match->by[DIM_METHOD].given)
            name(m, question, DIM_METHOD, policy_target_methods[d]->name[0].text);
}

/* Of a label the names of one of its entries. */
static void put_name(struct making *m, struct question *question, enum dimension dimension, const struct match_name *of,
                     uint32_t at)
{
    const struct match *match = of->kind == NAME_LABEL ? &of->label->any[at % of->label->count] : NULL;

    if (match == NULL)
        name(m, question, dimension, sample_name(m, of));
    for (enum dimension d = DIM_TENANT; match != NULL && d < DIM_HELD; d++)
        if (match->by[d].count > 0)
            name(m, question, d, sample_name(m, match->by[d].name));
    if (match != NULL)
        put_method(m, question, match);
}

static void vary_names(struct making *m, const struct json_node *base)
{
    for (enum dimension d = DIM_TENANT; d < DIM_COUNT && m->code == CODE_OK; d++) {
        const struct names *names = &m->rule->match.by[d];
        struct question question = m->base;
        struct diff_tree *tree = tree_of(m, base);

        for (uint32_t i = 0; i < names->count && i < NAMES_MAX && m->code == CODE_OK; i++)
            for (uint32_t j = 0; j < NAMES_MAX && j < (d == DIM_LABEL ? names->name[i].label->count : 1); j++) {
                put_name(m, &question, d, &names->name[i], j);
                diff__settle_targets(&question);
                put_tree(m, &question, tree);
            }
        if (d == DIM_LABEL)
            continue; /* calls without it are those of other tools */
        name(m, &question, d, d == DIM_PATH ? SPAN_LIT("/probe-other") : SPAN_LIT("probe-other"));
        diff__settle_targets(&question);
        if (m->code == CODE_OK && d != DIM_METHOD && (d < DIM_HELD || names->given))
            put_tree(m, &question, tree);
        if (m->code == CODE_OK && d >= DIM_HELD && names->given) {
            name(m, &question, d, SPAN_NONE);
            put_tree(m, &question, tree);
        }
    }
}

/* ---- where it begins ---- */

/* Sets a value that fulfils the leaf, where one of those that are tried does. */
static void fulfil_leaf(struct making *m, struct diff_tree *tree, const struct condition *leaf)
{
    struct diff_values v;
    bool good = false;

    if (!is_varied(leaf))
        return;
    collect(m, &v, leaf);
    for (size_t i = 0; i < v.count && !good && m->code == CODE_OK; i++) {
        struct buf canonical;
        const struct json_node *value = diff__read_json(v.json[i], &canonical, &m->arena, &m->code);

        good = value != NULL && policy_fulfils(leaf, &m->base, value);
        buf_fini(&canonical);
        if (good && leaf->from == FROM_CLAIM)
            set_claim(m, &leaf->path, v.json[i], &m->claims);
        else if (good)
            (void)set(m, tree, &leaf->path, v.json[i]);
    }
}

static void fulfil(struct making *m, struct diff_tree *tree, const struct condition *condition)
{
    if (condition->kind == CONDITION_LEAF && condition->absent != TRUTH_TRUE)
        fulfil_leaf(m, tree, condition);
    else if (condition->kind == CONDITION_ANY && condition->count > 0)
        fulfil(m, tree, &condition->members[m->at % condition->count]);
    for (uint32_t i = 0; condition->kind == CONDITION_ALL && i < condition->count && m->code == CODE_OK; i++)
        fulfil(m, tree, &condition->members[i]);
}

static void put_argument(struct making *m, const struct json_node *base, struct span name)
{
    const struct path_selector selector = {.kind = SELECTOR_NAME, .name = name};
    struct path_segment segment;
    const struct path path = path_to(&selector, &segment);

    put_changed(m, base, &path, SPAN_LIT("1"));
}

static void vary_base(struct making *m, const struct json_node *base)
{
    struct diff_tree *tree = tree_of(m, base);

    if (tree != NULL)
        put_tree(m, &m->base, tree);
    put_around(m, base, m->rule->until_us);
    if (m->code == CODE_OK && m->rule->when != NULL)
        vary(m, base, m->rule->when);
    for (uint32_t i = 0; i < m->rule->arg_count && i < NAMES_MAX && m->code == CODE_OK; i++)
        put_argument(m, base, m->rule->args[i]);
    put_argument(m, base, SPAN_LIT("probe_extra"));
}

/* The most alternatives of an `any`. */
static uint32_t alternatives(const struct condition *condition)
{
    uint32_t most = condition->kind == CONDITION_ANY ? condition->count : 1;

    for (uint32_t i = 0; condition->kind != CONDITION_LEAF && i < condition->count; i++) {
        uint32_t inside = alternatives(&condition->members[i]);

        most = inside > most ? inside : most;
    }
    return most;
}

/* From what the rule itself names: some tool, resource or prompt, some alternative. */
static void begin_with_rule(struct making *m)
{
    struct diff_tree *tree = tree_of(m, NULL);
    const struct json_node *base;
    struct buf text, canonical;

    m->base = (struct question){.tenant = SPAN_LIT("test"), .principal = SPAN_LIT("test"), .upstream = SPAN_LIT("test"),
                                .method = SPAN_LIT("tools/call"), .session = SPAN_LIT("test"),
                                .correlation = SPAN_LIT("test"), .time_us = DIFF_TIME_US, .client = SPAN_LIT(DIFF_CLIENT)};
    for (enum dimension d = DIM_TENANT; d < DIM_COUNT; d++) {
        const struct names *names = &m->rule->match.by[d];

        if (names->count > 0)
            put_name(m, &m->base, d, &names->name[d >= DIM_LABEL && m->at < names->count ? m->at : 0], 0);
    }
    put_method(m, &m->base, &m->rule->match);
    diff__settle_targets(&m->base);
    if (m->code == CODE_OK && m->rule->when != NULL)
        fulfil(m, tree, m->rule->when);
    if (m->code != CODE_OK)
        return;
    buf_init(&text, DIFF_VALUE_MAX_BYTES);
    diff__tree_write(tree, &text);
    if (buf_code(&text) == CODE_OK) {
        base = diff__read_json(buf_peek(&text), &canonical, &m->arena, &m->code);
        if (base != NULL)
            vary_base(m, base);
        if (base != NULL && m->at == 0)
            vary_names(m, base);
        buf_fini(&canonical);
    } else if (buf_code(&text) == CODE_NOMEM) {
        m->code = CODE_NOMEM;
    }
    buf_fini(&text);
}

/* From calls of tests that the rule concerns. */
static void begin_with_tests(struct making *m, const struct policy *policy)
{
    unsigned taken = 0;

    for (uint32_t i = 0; policy != NULL && i < policy->case_count && taken < BASES_MAX && m->code == CODE_OK; i++) {
        const struct question *question = &policy->cases[i].question;
        enum dimension undecided;
        struct regex_budget budget;

        regex_budget_init(&budget);
        if (question->root == NULL ||
            policy_match(&m->rule->match, DIM_TENANT, DIM_COUNT, question, &budget, &undecided) != TRUTH_TRUE)
            continue;
        taken++;
        arena_reset(&m->arena);
        m->base = *question;
        vary_base(m, question->root);
    }
}

enum code diff__calls_of(const struct rule *rule, const struct policy *before, const struct policy *after, diff_put_fn put,
                         void *context)
{
    struct making m = {.rule = rule, .put = put, .context = context};
    uint32_t targets = rule->when != NULL ? alternatives(rule->when) : 1;

    arena_init(&m.arena, DIFF_VALUE_MAX_BYTES * 64);
    buf_init(&m.text, DIFF_VALUE_MAX_BYTES);
    buf_init(&m.claims, DIFF_VALUE_MAX_BYTES);
    for (enum dimension d = DIM_LABEL; d < DIM_HELD; d++)
        if (rule->match.by[d].count > targets)
            targets = rule->match.by[d].count;
    for (; m.at < targets && m.at < TARGETS_MAX && m.code == CODE_OK; m.at++) {
        arena_reset(&m.arena);
        begin_with_rule(&m);
    }
    begin_with_tests(&m, before);
    begin_with_tests(&m, after);
    arena_fini(&m.arena);
    buf_fini(&m.text);
    buf_fini(&m.claims);
    return m.code;
}
