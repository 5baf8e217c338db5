/* SPDX-License-Identifier: Apache-2.0 */
#include "language/compile_priv.h"

#include "base/glob.h"
#include "base/num.h"

#include <stdio.h>
#include <stdlib.h>

#define CALLS_MAX 1000000
#define PATH_TEXT_MAX 128
#define WITHIN_MAX_US (INT64_C(86400) * 1000000)
#define WATCHES_MAX 1024 /* every permitted call looks at each watch */

#define BIT(by) (UINT32_C(1) << (by))

/* A list of words, or one. */
static uint32_t compile_by(struct compiler *c, const struct yaml_node *list)
{
    uint32_t by = 0;

    if (list->type != YAML_STRING && !compiler_is_list(c, list))
        return 0;
    YAML_EACH(one, list) {
        int word = compiler_word(c, one, policy_by_text);

        by |= word < 0 ? 0 : BIT(word);
    }
    if (list->type == YAML_LIST && list->count == 0)
        FAULT(c, list, "an empty `by` says nothing; leave it out or name what to count by, as in [principal, tool]");
    return by;
}

/* A correlation id is the agent's own choice, and so is when a session ends: counted by it, a limit would limit nobody. */
static void compile_limit_by(struct compiler *c, const struct yaml_node *list, struct policy_limit *limit)
{
    if (list == NULL)
        return;
    limit->by = compile_by(c, list);
    if (limit->by & BIT(POLICY_BY_CORRELATION))
        FAULT(c, list, "agents choose their correlation ids, and counting by them limits nobody; write principal or session");
    if (limit->kind != LIMIT_CALLS && (limit->by & BIT(POLICY_BY_SESSION)))
        FAULT(c, list, "an agent begins as many sessions as it likes, each with %s of its own; write principal or tenant",
              limit->kind == LIMIT_SUM ? "a sum" : "values");
}

static void compile_calls(struct compiler *c, const struct yaml_node *node, struct policy_limit *limit)
{
    const struct yaml_node *calls = yaml_member(node, "calls"), *most = yaml_member(node, "at_most");

    if (calls == NULL || calls->type != YAML_INT || num_u64(calls->json, &limit->most) != CODE_OK || limit->most < 1 ||
        limit->most > CALLS_MAX)
        FAULT(c, calls ? calls : node, "a limit counts `calls`, a `sum` that is `at_most` so much, or `distinct` values; write "
              "a whole number of calls from 1 to %d", CALLS_MAX);
    if (most != NULL)
        FAULT_KEY(c, most, "`at_most` goes with `sum`; for a number of calls write `calls: N` alone");
}

bool compile__millionths(const struct yaml_node *node, uint64_t *amount)
{
    return (node->type == YAML_INT || node->type == YAML_FLOAT) &&
           json_number_scaled(node->json, POLICY_SUM_PLACES, amount) == CODE_OK && *amount <= POLICY_SUM_MAX;
}

/* The path of what a limit counts. */
static void compile_counted(struct compiler *c, const struct yaml_node *text, struct policy_limit *limit)
{
    struct path *path = compiler_alloc(c, 1, sizeof *path);
    char copy[PATH_TEXT_MAX + 3];

    if (path == NULL || !compiler_is_string(c, text))
        return;
    if (!c->needs_arguments)
        FAULT(c, text, "%s of tools; name the `tools` in the rule's `match`",
              limit->kind == LIMIT_SUM ? "a sum adds up an argument" : "`distinct` counts values of an argument");
    if (text->text.len > PATH_TEXT_MAX)
        FAULT(c, text, "a path of more than %d bytes; name the argument that is counted, as `$.order.amount`", PATH_TEXT_MAX);
    compiler_path(c, text, path);
    limit->path = path;
    (void)snprintf(copy, sizeof copy, "%s%.*s", text->text.len > 0 && text->text.at[0] == '$' ? "" : "$.",
                   SPAN_ARG(span_part(text->text, 0, PATH_TEXT_MAX)));
    limit->path_text = compiler_copy(c, span_text(copy));
}

static void compile_sum(struct compiler *c, const struct yaml_node *node, const struct yaml_node *sum,
                        struct policy_limit *limit)
{
    const struct yaml_node *most = yaml_member(node, "at_most");

    limit->kind = LIMIT_SUM;
    compile_counted(c, sum, limit);
    if (most == NULL || !compile__millionths(most, &limit->most) || limit->most == 0)
        FAULT(c, most ? most : node, "a sum has its bound in `at_most`; write a number above 0, up to 10^12, with at most six "
              "decimals, as in at_most: 500");
}

static void compile_distinct(struct compiler *c, const struct yaml_node *distinct, struct policy_limit *limit)
{
    static const char *const known[] = {"arg", "most", NULL};
    const struct yaml_node *arg = yaml_member(distinct, "arg"), *most = yaml_member(distinct, "most");

    limit->kind = LIMIT_DISTINCT;
    if (!compiler_is_map_of(c, distinct, known, "`distinct`"))
        return;
    if (arg == NULL)
        FAULT(c, distinct, "`distinct` has no `arg`; name the argument whose values are counted, as in distinct: {arg: "
              "patient, most: 5}");
    else
        compile_counted(c, arg, limit);
    if (most == NULL || most->type != YAML_INT || num_u64(most->json, &limit->most) != CODE_OK || limit->most < 1 ||
        limit->most > POLICY_VALUES_MAX)
        FAULT(c, most ? most : distinct, "`most` is how many different values there may be; write a whole number from 1 to %d",
              POLICY_VALUES_MAX);
}

/* What the limit counts: one of three words. */
static void compile_kind(struct compiler *c, const struct yaml_node *node, struct policy_limit *limit)
{
    const struct yaml_node *sum = yaml_member(node, "sum"), *distinct = yaml_member(node, "distinct");
    const struct yaml_node *counted = sum != NULL ? sum : distinct, *most = yaml_member(node, "at_most");

    if (counted != NULL && (yaml_member(node, "calls") != NULL || (sum != NULL && distinct != NULL)))
        FAULT_KEY(c, counted, "a limit counts `calls`, a `sum` or `distinct` values; write two limits, as in limit: [{calls: "
                  "...}, {%.*s: ...}]", SPAN_ARG(counted->key));
    if (distinct != NULL && most != NULL && sum == NULL)
        FAULT_KEY(c, most, "`at_most` goes with `sum`; how many different values there may be is `most` inside of `distinct`");
    if (sum != NULL)
        compile_sum(c, node, sum, limit);
    else if (distinct != NULL)
        compile_distinct(c, distinct, limit);
    else
        compile_calls(c, node, limit);
}

static void compile_per(struct compiler *c, const struct yaml_node *node, struct policy_limit *limit)
{
    static const struct { const char *word; int64_t seconds; } words[] = {
        {"second", 1}, {"minute", 60}, {"hour", 3600}, {"day", 86400}};
    const struct yaml_node *per = yaml_member(node, "per");
    uint64_t ms = 0;

    limit->per_us = words[0].seconds * 1000000;
    if (per == NULL) {
        FAULT(c, node, "a limit has no `per`; write second, minute, hour, day or a time such as 15min or 7d");
        return;
    }
    for (size_t i = 0; per->type == YAML_STRING && i < sizeof words / sizeof *words; i++)
        if (span_is(per->text, words[i].word)) {
            limit->per_us = words[i].seconds * 1000000;
            return;
        }
    if (per->type == YAML_STRING && num_duration(per->text, &ms) == CODE_OK && ms > 0 && ms <= POLICY_PER_MAX_US / 1000)
        limit->per_us = (int64_t)ms * 1000;
    else
        FAULT(c, per, "`per` is second, minute, hour, day, or a time of at most 31 days; write one such as 90s, 15min, 24h or "
              "7d");
}

static void compile_over(struct compiler *c, const struct yaml_node *over, struct policy_limit *limit)
{
    static const char *const words[] = {"deny", "require_approval", NULL};

    limit->asks = over != NULL && compiler_word(c, over, words) == 1;
}

static void compile_scope(struct compiler *c, const struct yaml_node *scope, struct policy_limit *limit)
{
    static const char *const words[] = {"fleet", "node", NULL};

    limit->is_node = scope != NULL && compiler_word(c, scope, words) == 1;
}

/* Whether both limits count the same: then only the smaller one ever matters. */
static bool is_same_count(const struct policy_limit *a, const struct policy_limit *b)
{
    return a->kind == b->kind && span_equals(a->path_text, b->path_text) && a->per_us == b->per_us && a->by == b->by &&
           a->is_node == b->is_node;
}

static struct policy_limit *compile_one_limit(struct compiler *c, const struct yaml_node *node)
{
    static const char *const known[] = {"calls", "sum", "at_most", "distinct", "per", "by", "over", "scope", "",
                                        "approvals", "approvers", NULL};
    struct policy_limit *limit = compiler_alloc(c, 1, sizeof *limit);

    if (limit == NULL || !compiler_is_map_of(c, node, known, "a limit"))
        return limit;
    for (const char *const *word = known + 9; *word != NULL; word++)
        if (yaml_member(node, *word) != NULL)
            FAULT_KEY(c, yaml_member(node, *word), "`%s` stands in the rule, beside `limit`, since whatever limits a call is "
                      "over it is held once; move it there", *word);
    compile_kind(c, node, limit);
    compile_per(c, node, limit);
    compile_limit_by(c, yaml_member(node, "by"), limit);
    compile_over(c, yaml_member(node, "over"), limit);
    compile_scope(c, yaml_member(node, "scope"), limit);
    limit->rule = c->rule_id;
    return limit;
}

const struct policy_limit *compile__limit(struct compiler *c, const struct yaml_node *node)
{
    struct policy_limit *first = NULL, *last = NULL;
    bool is_list = node != NULL && node->type == YAML_LIST;

    if (node != NULL && c->effect != EFFECT_PERMIT)
        FAULT_KEY(c, node, "`limit` is for permits, which do not apply over it; write it at the permit whose calls it bounds");
    if (is_list && (node->count == 0 || node->count > POLICY_LIMITS_MAX)) {
        FAULT(c, node, "a list of limits holds 1 to %d; write one, or put more into another rule", POLICY_LIMITS_MAX);
        return NULL;
    }
    for (const struct yaml_node *one = is_list ? node->child : node; one != NULL; one = is_list ? one->next : NULL) {
        struct policy_limit *limit = compile_one_limit(c, one);

        if (limit == NULL)
            return NULL;
        for (const struct policy_limit *other = first; other != NULL; other = other->next)
            if (is_same_count(other, limit))
                FAULT(c, one, "another limit of this rule counts the same, `per` and `by` the same; leave the larger one out");
        limit->at = last != NULL ? last->at + 1 : 0;
        if (last != NULL)
            last->next = limit;
        else
            first = limit;
        last = limit;
    }
    return first;
}

/* ---- session ---- */

static int by_bytes(const void *a, const void *b)
{
    return span_compare(((const struct match_name *)a)->text, ((const struct match_name *)b)->text);
}

static void take_name(struct compiler *c, const struct yaml_node *text, void *part)
{
    if (text->text.len == 0)
        FAULT(c, text, "an empty name never matches; write a name or a glob such as 'read_*'");
    *(struct match_name *)part = (struct match_name){.kind = glob_is_literal(text->text) ? NAME_LITERAL : NAME_GLOB,
                                         .text = compiler_copy(c, text->text)};
}

/* Compiles names and globs. They are sorted, so that the same names in another order make the same watch. */
static void compile_names(struct compiler *c, const struct yaml_node *list, compiler_take_fn take, struct names *names)
{
    struct match_name *name;

    names->given = list != NULL;
    if (!compiler_is_list(c, list))
        return;
    if (list->count == 0) {
        FAULT(c, list, "an empty list of names never matches; name at least one");
        return;
    }
    names->name = name = compiler_texts(c, list, sizeof *name, take, &names->count);
    if (names->count > 0)
        qsort(name, names->count, sizeof *name, by_bytes);
}

static void add_names(struct buf *key, char kind, const struct names *names)
{
    for (uint32_t i = 0; i < names->count; i++) {
        buf_addf(key, "%c%zu:", kind, names->name[i].text.len);
        buf_add_span(key, names->name[i].text);
    }
}

/* Conditions that name the same share one watch, which keeps what any of them asks for. */
static void keep_watch(struct compiler *c, const struct yaml_node *node, struct watch *fresh, struct fact *fact)
{
    struct watch *watch = c->policy->watches;

    while (watch != NULL && !span_equals(watch->view.key, fresh->view.key))
        watch = watch->next;
    if (watch == NULL) {
        watch = fresh;
        watch->next = c->policy->watches;
        c->policy->watches = watch;
        if (++c->policy->watch_count > WATCHES_MAX)
            FAULT(c, node, "more than %d different lists of watched tools; let rules share some", WATCHES_MAX);
    }
    watch->view.by |= fact->by;
    if (watch->view.longest_us < fact->within_us)
        watch->view.longest_us = fact->within_us;
    fact->watches[fact->watch_count++] = watch;
}

static void take_rule(struct compiler *c, const struct yaml_node *text, void *part)
{
    *(struct match_name *)part = (struct match_name){.kind = NAME_LITERAL, .text = compiler_copy(c, text->text)};
    compile__name_rule(c, text, ((struct match_name *)part)->text);
}

static void compile_watch(struct compiler *c, const struct yaml_node *node, struct fact *fact)
{
    struct watch *fresh = compiler_alloc(c, 1, sizeof *fresh);
    struct buf key;

    fact->watches = compiler_alloc(c, 1, sizeof *fact->watches);
    if (fresh == NULL || fact->watches == NULL)
        return;
    compile_names(c, yaml_member(node, "called"), take_name, &fresh->tools);
    compile_names(c, yaml_member(node, "upstreams"), take_name, &fresh->upstreams);
    compile_names(c, yaml_member(node, "met"), take_rule, &fresh->rules);
    buf_init(&key, (size_t)16 << 20);
    add_names(&key, 't', &fresh->tools);
    add_names(&key, 'u', &fresh->upstreams);
    add_names(&key, 'r', &fresh->rules);
    c->no_memory |= buf_code(&key) != CODE_OK;
    if (!c->no_memory) {
        fresh->view.key = compiler_copy(c, buf_peek(&key));
        keep_watch(c, node, fresh, fact);
    }
    buf_fini(&key);
}

/* Makes one watch for each label, so that `every` can ask for all of them. Without `by` it warns: a session belongs to one
 * route, and labels mostly name tools of several. */
static void watch_labels(struct compiler *c, const struct yaml_node *list, const struct yaml_node *by, struct fact *fact)
{
    bool is_list = list->type == YAML_LIST;

    if (is_list && list->count == 0)
        FAULT(c, list, "an empty list of labels asks nothing; name at least one");
    if (by == NULL && c->warnings != NULL)
        WARN_KEY(c, list,
                 "a session is one of one upstream, and correlation ids are the agent's choice: what flows from one to another "
                 "is seen by principal; write by: [principal], or by: [session, correlation] if that is meant");
    fact->watches = compiler_alloc(c, is_list ? list->count : 1, sizeof *fact->watches);
    YAML_EACH(one, list) {
        struct watch *fresh = compiler_alloc(c, 1, sizeof *fresh);

        if (c->no_memory)
            return;
        fresh->label = compile__label(c, one);
        fresh->view.key = fresh->label->key;
        keep_watch(c, one, fresh, fact);
    }
}

static void compile_every(struct compiler *c, const struct yaml_node *every, const struct yaml_node *label, struct fact *fact)
{
    fact->every = every != NULL && every->truth;
    if (every != NULL && every->type != YAML_BOOL)
        FAULT(c, every, "`every` is true where all of the labels are asked for, not any%s", yaml_bool_words(every));
    else if (every != NULL && label == NULL)
        FAULT_KEY(c, every, "`every` goes with `label`; write a condition for each of the others");
}

static void compile_within(struct compiler *c, const struct yaml_node *node, const struct yaml_node *within, struct fact *fact)
{
    uint64_t ms = 0;

    if (within == NULL && yaml_member(node, "label") != NULL) {
        fact->within_us = WITHIN_MAX_US;
        return;
    }
    if (within == NULL) {
        FAULT(c, node, "`session` has no `within`; say how long a call is remembered, as in 10min");
        return;
    }
    if (within->type != YAML_STRING || num_duration(within->text, &ms) != CODE_OK || ms == 0 ||
        ms > (uint64_t)WITHIN_MAX_US / 1000)
        FAULT(c, within, "`within` is a time of at most a day; write one such as 30s, 10min or 24h");
    fact->within_us = (int64_t)(ms * 1000 > (uint64_t)WITHIN_MAX_US ? 0 : ms * 1000);
}

void compile__session(struct compiler *c, const struct yaml_node *node, struct fact *fact)
{
    static const char *const known[] = {"called", "upstreams", "met", "label", "every", "within", "by", NULL};
    const uint32_t usable =
        BIT(POLICY_BY_TENANT) | BIT(POLICY_BY_PRINCIPAL) | BIT(POLICY_BY_AGENT) | BIT(POLICY_BY_SESSION) |
        BIT(POLICY_BY_CORRELATION);
    const struct yaml_node *by = yaml_member(node, "by"), *met = yaml_member(node, "met"), *label = yaml_member(node, "label");
    const struct yaml_node *every = yaml_member(node, "every"), *within = yaml_member(node, "within");

    if (!compiler_is_map_of(c, node, known, "`session`"))
        return;
    fact->by = by != NULL ? compile_by(c, by) : BIT(POLICY_BY_SESSION) | BIT(POLICY_BY_CORRELATION);
    if (fact->by & ~usable)
        FAULT(c, by, "`session` asks by session, correlation, principal, agent or tenant; write one or several of them");
    compile_within(c, node, within, fact);
    compile_every(c, every, label, fact);
    if (met == NULL && label == NULL && yaml_member(node, "called") == NULL)
        FAULT(c, node, "`session` has no `called`; name the tools, as in {session: {called: [read_secret], within: 10min}}, or "
              "rules that were `met`, or a `label`");
    else if (met != NULL && node->count > (by != NULL) + 2U)
        FAULT_KEY(c, met, "`met` goes with `within` and `by` alone; ask for tools that were `called` in another condition");
    else if (label != NULL && node->count > 1U + (by != NULL) + (within != NULL) + (every != NULL))
        FAULT_KEY(c, label, "`label` goes with `every`, `within` and `by` alone; ask for tools that were `called` in another "
                  "condition");
    else if (label != NULL)
        watch_labels(c, label, by, fact);
    else
        compile_watch(c, node, fact);
}

/* ---- rules that are named ---- */

void compile__name_rule(struct compiler *c, const struct yaml_node *node, struct span id)
{
    struct named_rule *named = compiler_alloc(c, 1, sizeof *named);

    if (named == NULL)
        return;
    *named = (struct named_rule){c->named_rules, id, c->source, node->line, node->column};
    c->named_rules = named;
}

#define FAULT_AT(c, named, ...) faults_add((c)->faults, (named)->source->path_text, (named)->line, (named)->column, __VA_ARGS__)

void compile__check_named(struct compiler *c)
{
    const char **ids = compiler_alloc(c, c->policy->rule_count + 1, sizeof *ids);

    for (uint32_t i = 0; ids != NULL && i < c->policy->rule_count; i++)
        ids[i] = c->policy->rules[i].id.at;
    for (const struct named_rule *named = c->named_rules; ids != NULL && named != NULL; named = named->next) {
        const struct rule *answers = policy_answer_by_id(c->policy, named->id);
        const struct rule *rule = answers != NULL ? answers : policy_rule_by_id(c->policy, named->id);
        const char *near = rule == NULL ? why_nearest(named->id.at, named->id.len, ids) : NULL;

        if (rule == NULL)
            FAULT_AT(c, named, "no rule of the version is called `%.*s`; %s%s%s", SPAN_ARG(span_part(named->id, 0, 128)),
                     near != NULL ? "did you mean `" : "name the id of a rule, and give the file that has it, too",
                     near != NULL ? near : "", near != NULL ? "`?" : "");
        else if (rule->effect == EFFECT_FORBID && !rule->monitor && answers == NULL)
            FAULT_AT(c, named, "`%.*s` is a forbid, which no call meets that passes; name a permit or a require_approval",
                     SPAN_ARG(named->id));
    }
}
