/* SPDX-License-Identifier: Apache-2.0 */
#include "diff/diff_priv.h"

#include "base/hash.h"
#include "os/clock.h"
#include "judgement/judgement.h"
#include "policy/walk.h"

#include <stdlib.h>

#define PROBES_MAX 20000
#define SLOTS 65536                      /* for the hashes of calls; over twice PROBES_MAX */
#define WORK_MAX UINT64_C(4000000000)    /* some seconds of regexes */
#define GROUPS_MAX 256
#define EXAMPLE_MAX_BYTES ((size_t)1 << 16)
#define READINGS_MAX_BYTES ((size_t)64 << 20)

struct probing {
    struct diff *diff;
    struct policy_scratch *scratch;
    struct verdict *before, *after;
    uint64_t *seen; /* a closed hash table; 0: free */
    uint64_t work;
    struct buf text;
    struct arena arena; /* of one condition's readings */
};

/* ---- one flip ---- */

static struct diff_verdict keep_verdict(const struct verdict *verdict)
{
    return (struct diff_verdict){verdict->kind, verdict->reason, verdict->rule};
}

static bool same_verdict(const struct diff_verdict *a, const struct diff_verdict *b)
{
    return a->kind == b->kind && a->reason == b->reason && (a->rule.at == NULL) == (b->rule.at == NULL) &&
           span_equals(a->rule, b->rule);
}

static void add_text(struct buf *out, const char *key, struct span value, const char *usual)
{
    if (value.len == 0 || span_is(value, usual))
        return;
    buf_addf(out, "%s\"%s\":", buf_len(out) > 1 ? "," : "", key);
    json_write_string(out, value);
}

static void add_names(struct buf *out, const char *key, const struct span *names, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (i == 0)
            buf_addf(out, "%s\"%s\":[", buf_len(out) > 1 ? "," : "", key);
        json_write_string(out, names[i]);
        buf_add_byte(out, i + 1 < count ? ',' : ']');
    }
}

static void add_value(struct buf *out, const char *key, const struct json_node *value)
{
    if (value == NULL || value->count == 0)
        return;
    buf_addf(out, "%s\"%s\":", buf_len(out) > 1 ? "," : "", key);
    buf_add_span(out, value->raw);
}

/* As `policy explain --call` reads it. */
static enum code write_call(struct buf *out, const struct question *q)
{
    bool by_arguments = span_is(q->method, "tools/call") || span_is(q->method, "prompts/get");
    char time[CLOCK_TEXT_BYTES];

    buf_add_byte(out, '{');
    add_text(out, "tenant", q->tenant, "test");
    add_text(out, "principal", q->principal, "test");
    add_text(out, "agent", q->agent, "");
    if (q->is_agent_judged)
        buf_addf(out, "%s\"agent_judged\":true", buf_len(out) > 1 ? "," : "");
    add_text(out, "upstream", q->upstream, "test");
    add_text(out, "method", q->method, "tools/call");
    add_text(out, "answers", q->answers, "");
    add_text(out, "tool", q->shown.len > 0 ? q->shown : q->tool, "");
    add_text(out, "prompt", q->prompt, "");
    add_text(out, "path", q->path, "");
    add_text(out, "query", q->query, "");
    add_text(out, "client", q->client, DIFF_CLIENT);
    if (q->time_us != 0 && q->time_us != DIFF_TIME_US) {
        clock_text(q->time_us, time);
        add_text(out, "time", span_text(time), "");
    }
    if (q->plan.step != 0)
        buf_addf(out, "%s\"plan\":%u", buf_len(out) > 1 ? "," : "", q->plan.step);
    add_names(out, "groups", q->groups, q->group_count);
    add_names(out, "scopes", q->scopes, q->scope_count);
    add_value(out, "claims", q->claims);
    add_value(out, by_arguments ? "arguments" : "params", q->root);
    return buf_add_byte(out, '}');
}

/* The shortest call is the easiest to read. */
static enum code keep_example(struct probing *p, struct diff_flip *flip, const struct question *question)
{
    enum code code;
    char *at;

    buf_clear(&p->text);
    code = write_call(&p->text, question);
    if (code == CODE_LIMIT || (code == CODE_OK && flip->example.at != NULL && flip->example.len <= buf_len(&p->text)))
        return CODE_OK;
    if (code != CODE_OK)
        return code;
    at = arena_dup(&p->diff->arena, buf_peek(&p->text).at, buf_len(&p->text));
    if (at == NULL)
        return CODE_NOMEM;
    flip->example = span_of(at, buf_len(&p->text));
    return CODE_OK;
}

/* ---- by which change ---- */

/* Whether that part of the rule lets it apply to the call. */
static bool lets_apply(struct probing *p, const struct diff_site *site, int side, const struct question *question)
{
    const struct rule *rule = site->rules[side];
    struct condition group = {.kind = CONDITION_ALL, .count = 1};
    struct rule part = *rule;
    struct regex_budget budget;
    struct rule_walk walk = {.question = question, .budget = &budget, .visits_left = VISITS_MAX, .visits_told = VISITS_MAX,
                             .arena = &p->arena};
    struct span undecided;
    enum truth truth;

    regex_budget_init(&budget);
    if (site->part == DIFF_NAMES) {
        truth = policy_names_match(&rule->match.by[site->at[0]], (enum dimension)site->at[0], rule->match.opening, question,
                                   &budget);
    } else {
        if (site->part == DIFF_WHEN) {
            part.restricts_args = part.by_schema = false;
            group.members = site->at[side] > 0 ? &rule->when->members[site->at[side] - 1] : NULL;
        }
        part.when = group.members != NULL ? &group : NULL;
        truth = policy_rule_conditions(&walk, &part, &undecided);
        arena_reset(&p->arena);
    }
    return rule->effect == EFFECT_PERMIT ? truth == TRUTH_TRUE : truth != TRUTH_FALSE;
}

static bool is_over_limit(const struct verdict *verdict, const struct rule *rule)
{
    for (uint32_t i = 0; i < verdict->rule_count && i < VERDICT_RULES_MAX; i++)
        if (verdict->rules[i].limited && span_equals(verdict->rules[i].id, rule->id))
            return true;
    return false;
}

/* Whether such a change may turn a verdict into that one. */
static bool may_become(enum diff_way way, enum verdict_kind kind)
{
    switch (way) {
    case DIFF_EITHER: return true;
    case DIFF_PERMITS: return kind != VERDICT_DENY;
    case DIFF_DENIES: return kind != VERDICT_PERMIT;
    case DIFF_HOLDS: return kind == VERDICT_HOLD;
    case DIFF_RELEASES: return kind != VERDICT_HOLD;
    case DIFF_KEEPS_BACK:
    case DIFF_LETS_BACK:
    case DIFF_NOTHING:
    case DIFF_WAYS: break;
    }
    return false;
}

/* Whether one of the rules that decided, before or after, is the site's. */
static bool has_decided(const struct probing *p, const struct diff_site *site)
{
    return (site->rules[0] != NULL && span_equals(p->before->rule, site->rules[0]->id)) ||
           (site->rules[1] != NULL && span_equals(p->after->rule, site->rules[1]->id));
}

static bool made_the_difference(struct probing *p, const struct diff_change *change, const struct diff_site *site,
                                const struct question *question)
{
    if (site->part == DIFF_WHOLE)
        return may_become(change->way, p->after->kind);
    if (site->part == DIFF_UNTIL)
        return rule_lasts(site->rules[0], question) != rule_lasts(site->rules[1], question);
    if (site->part == DIFF_LIMIT)
        return is_over_limit(p->before, site->rules[0]) || is_over_limit(p->after, site->rules[1]);
    return lets_apply(p, site, 0, question) != lets_apply(p, site, 1, question);
}

/* Takes: is_sure: only changes whose own part reads the call otherwise now. Returns: whether there was one. */
static bool credit(struct probing *p, const struct question *question, bool is_sure)
{
    bool found = false;

    for (size_t i = 0; i < p->diff->change_count; i++) {
        struct diff_change *change = &p->diff->changes[i];
        bool counts = false;

        for (const struct diff_site *site = change->sites; site != NULL && !counts && change->way != DIFF_NOTHING;
             site = site->next)
            counts = has_decided(p, site) && (is_sure ? made_the_difference(p, change, site, question)
                                                      : may_become(change->way, p->after->kind));
        change->probes += counts;
        found |= counts;
    }
    return found;
}

static enum code note_flip(struct probing *p, const struct question *question)
{
    const struct diff_verdict before = keep_verdict(p->before), after = keep_verdict(p->after);
    struct diff *diff = p->diff;
    size_t i = 0;

    diff->flipped++;
    if (!credit(p, question, true)) /* where the past made it, which is not asked here */
        (void)credit(p, question, false);
    while (i < diff->flip_count &&
           !(same_verdict(&diff->flips[i].before, &before) && same_verdict(&diff->flips[i].after, &after)))
        i++;
    if (i == GROUPS_MAX)
        return CODE_OK;
    if (i == diff->flip_count)
        diff->flips[diff->flip_count++] = (struct diff_flip){.before = before, .after = after};
    diff->flips[i].calls++;
    return keep_example(p, &diff->flips[i], question);
}

/* ---- calls ---- */

static uint64_t hash_call(const struct question *q)
{
    const struct span parts[] = {q->tenant, q->principal, q->upstream, q->method, q->answers, q->tool, q->client, q->prompt,
                                 q->path, q->query, q->resource, q->shown, q->session, q->correlation, q->agent,
                                 q->root ? q->root->raw : SPAN_NONE, q->meta ? q->meta->raw : SPAN_NONE,
                                 q->params ? q->params->raw : SPAN_NONE, q->claims ? q->claims->raw : SPAN_NONE};
    uint64_t hash = hash_mix(1 + q->plan.step + 512 * q->is_agent_judged, (uint64_t)q->time_us);

    for (enum dimension d = DIM_HELD; d < DIM_COUNT; d++) {
        struct held held = question_held(q, d);

        for (uint32_t i = 0; i < held.count; i++)
            hash = hash_mix(hash, hash_mix(d, hash_span(held.name[i])));
    }

    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        hash = hash_mix(hash, hash_span(parts[i]));
    return hash | 1;
}

static uint64_t hash_amount(uint64_t hash, const struct case_amount *amount)
{
    hash = hash_mix(hash, amount->number);
    for (uint32_t i = 0; i < amount->value_count; i++)
        hash = hash_mix(hash, hash_bytes(amount->values[i].bytes, sizeof amount->values[i].bytes));
    return hash;
}

/* What a test says of the past makes its call another one. */
static uint64_t hash_past(const struct policy_case *kase)
{
    uint64_t hash = (uintptr_t)kase->schema;

    for (int i = 0; i < POLICY_HINT_COUNT; i++)
        hash = hash_mix(hash, (uint64_t)kase->hints[i]);
    for (uint32_t i = 0; i < kase->approved_count; i++)
        hash = hash_mix(hash, hash_span(kase->approved[i].rule));
    for (uint32_t i = 0; i < kase->spent_count; i++) {
        hash = hash_mix(hash, hash_span(kase->spent[i].rule));
        hash = hash_amount(hash, &kase->spent[i].listed);
        for (uint32_t at = 0; at < kase->spent[i].spent_count && at < POLICY_LIMITS_MAX; at++)
            hash = hash_amount(hash, &kase->spent[i].spent[at]);
    }
    for (uint32_t i = 0; i < kase->earlier_count; i++) {
        hash = hash_mix(hash_mix(hash, hash_call(&kase->earlier[i].question)), (uint64_t)kase->earlier[i].ago_us);
        hash = hash_mix(hash, hash_span(kase->earlier[i].met.id));
    }
    return hash;
}

/* Whether the call is new; too many are counted only. */
static bool is_new(struct probing *p, const struct question *question, uint64_t past)
{
    uint64_t hash = hash_mix(past, hash_call(question)) | 1;
    size_t at = (size_t)(hash >> 1) % SLOTS;

    while (p->seen[at] != 0 && p->seen[at] != hash)
        at = (at + 1) % SLOTS;
    if (p->seen[at] == hash)
        return false;
    if (p->diff->probes >= PROBES_MAX || p->work > WORK_MAX) {
        p->diff->left_out++;
        return false;
    }
    p->seen[at] = hash;
    p->diff->probes++;
    return true;
}

static enum code compare(struct probing *p, const struct question *question)
{
    p->work += p->before->work + p->after->work;
    if (p->before->reason == REASON_MEMORY || p->after->reason == REASON_MEMORY)
        return CODE_NOMEM;
    return p->before->kind == p->after->kind ? CODE_OK : note_flip(p, question);
}

static enum code try_one(struct probing *p, const struct question *question)
{
    if (!is_new(p, question, 0))
        return CODE_OK;
    policy_eval(p->diff->before, question, false, p->scratch, p->before);
    policy_eval(p->diff->after, question, false, p->scratch, p->after);
    return compare(p, question);
}

/* Whether it says something else of a call at a route that judges the agent than that it is denied. */
static bool asks_agent(const struct policy *policy)
{
    return policy != NULL && policy->asks_agent;
}

static enum code try_call(void *context, const struct question *question)
{
    struct probing *p = context;
    struct question judged = *question;
    enum code code = try_one(p, question);

    judged.is_agent_judged = true;
    return code == CODE_OK && (asks_agent(p->diff->before) || asks_agent(p->diff->after)) ? try_one(p, &judged) : code;
}

/* A test's call, with what its test says of the past. */
static enum code try_tests(struct probing *p, const struct policy *policy)
{
    enum code code = CODE_OK;

    for (uint32_t i = 0; policy != NULL && i < policy->case_count && code == CODE_OK; i++) {
        const struct policy_case *kase = &policy->cases[i];
        struct question question = case_question(kase);

        if (!is_new(p, &kase->question, hash_past(kase)))
            continue;
        p->diff->test_probes++;
        policy_judge_case(p->diff->before, kase, p->scratch, NULL, p->before);
        policy_judge_case(p->diff->after, kase, p->scratch, NULL, p->after);
        code = compare(p, &question);
    }
    return code;
}

static int by_calls(const void *a, const void *b)
{
    const struct diff_flip *left = a, *right = b;

    if (left->calls != right->calls)
        return left->calls > right->calls ? -1 : 1;
    return span_compare(left->example, right->example);
}

static enum code try_all(struct probing *p, const struct diff_pair *pairs, size_t count)
{
    struct diff *diff = p->diff;
    enum code code = try_tests(p, diff->before);

    if (code == CODE_OK)
        code = try_tests(p, diff->after);
    for (size_t i = 0; i < count && code == CODE_OK; i++) {
        const struct rule *const rules[] = {pairs[i].before.rule, pairs[i].after.rule};

        for (int side = 0; side < 2 && pairs[i].differs && code == CODE_OK; side++)
            if (rules[side] != NULL)
                code = diff__calls_of(rules[side], diff->before, diff->after, try_call, p);
    }
    if (diff->flip_count > 0)
        qsort(diff->flips, diff->flip_count, sizeof *diff->flips, by_calls);
    return code;
}

enum code diff__probe(struct diff *diff, const struct diff_pair *pairs, size_t count)
{
    struct probing p = {.diff = diff, .before = mem_zalloc(sizeof *p.before), .after = mem_zalloc(sizeof *p.after),
                        .seen = mem_array(SLOTS, sizeof *p.seen)};
    enum code code = policy_scratch_new(&p.scratch);

    buf_init(&p.text, EXAMPLE_MAX_BYTES);
    arena_init(&p.arena, READINGS_MAX_BYTES);
    diff->flips = arena_zalloc(&diff->arena, GROUPS_MAX * sizeof *diff->flips);
    if (p.before == NULL || p.after == NULL || p.seen == NULL || diff->flips == NULL)
        code = CODE_NOMEM;
    if (code == CODE_OK)
        code = try_all(&p, pairs, count);
    buf_fini(&p.text);
    arena_fini(&p.arena);
    policy_scratch_free(&p.scratch);
    mem_free(p.before);
    mem_free(p.after);
    mem_free(p.seen);
    return code;
}
