/* SPDX-License-Identifier: Apache-2.0 */
#include "judgement/answer_priv.h"
#include "judgement/candidates_priv.h"
#include "judgement/judgement.h"
#include "policy/trace.h"

#include <stdlib.h>

#define WORK_PER_BYTE 64 /* work that a large answer may cost beyond what any judgement may */

/* A rule that concerns the answer. */
struct answering {
    const struct rule *rule;
    enum truth match, truth;
    enum dimension dimension; /* the dimension that left the match undecided */
    enum answer_effect effect; /* NONE: it does not apply */
    enum answer_why why;
    struct span undecided;
    struct cuts cuts;
};

struct judging_answer {
    struct policy_scratch *scratch;
    const struct policy_answer *answer;
    struct question question;
    struct question_hidden hidden;
    struct answering *rules;
    uint32_t count;
    struct path_inside *inside;
    uint32_t inside_count, inside_size;
    struct buf *documents; /* buffers of the JSON texts, as many as there are; freed at the end */
    bool has_read_texts, spent, no_memory;
};

/* ---- texts that hold JSON ---- */

static bool looks_like_json(struct span text)
{
    size_t at = 0;

    while (at < text.len && memchr(" \t\r\n", text.at[at], 4) != NULL)
        at++;
    return at < text.len && (text.at[at] == '{' || text.at[at] == '[');
}

static bool make_room(struct judging_answer *judging)
{
    uint32_t size = judging->inside_size * 2 + 16;
    struct path_inside *inside;
    struct buf *documents;

    if (judging->inside_count < judging->inside_size)
        return true;
    inside = mem_resize(judging->inside, size * sizeof *inside);
    judging->inside = inside != NULL ? inside : judging->inside;
    documents = mem_resize(judging->documents, size * sizeof *documents);
    judging->documents = documents != NULL ? documents : judging->documents;
    if (inside != NULL && documents != NULL)
        judging->inside_size = size;
    return inside != NULL && documents != NULL;
}

/* Reads a text as JSON, strictly: a text that two readers might read differently stays a text. Where a text is too much to
 * be read, nobody knows whether it is JSON. */
static void read_text(struct judging_answer *judging, const struct json_node *string)
{
    struct path_inside inside = {.string = string};
    struct json_fault fault;
    struct buf *document;
    enum code code;

    if (!looks_like_json(string->text))
        return;
    if (!make_room(judging)) {
        judging->no_memory = true;
        return;
    }
    document = &judging->documents[judging->inside_count];
    buf_init(document, SIZE_MAX / 2);
    code = json_read(string->text, &json_reply_rules, document, &judging->scratch->arena, &inside.root, &fault);
    if (code != CODE_OK) {
        buf_fini(document);
        judging->no_memory |= code == CODE_NOMEM;
        judging->spent |= code == CODE_LIMIT;
        return;
    }
    inside.document = buf_peek(document);
    judging->inside[judging->inside_count++] = inside;
}

static void read_texts(struct judging_answer *judging, const struct json_node *node)
{
    if (node->type == JSON_STRING)
        read_text(judging, node);
    for (const struct json_node *child = node->child; child != NULL && !judging->no_memory; child = child->next)
        read_texts(judging, child);
}

static void free_texts(struct judging_answer *judging)
{
    for (uint32_t i = 0; i < judging->inside_count; i++)
        buf_fini(&judging->documents[i]);
    mem_free(judging->documents);
    mem_free(judging->inside);
}

/* ---- rules ---- */

static bool cannot_judge(const struct judging_answer *judging)
{
    return judging->no_memory || judging->spent;
}

static void tell_found(const struct rule_walk *walk, struct answering *one)
{
    if (walk->trace == NULL)
        return;
    eval__sort_cuts(&one->cuts);
    for (uint32_t i = 0; i < one->cuts.count; i++) {
        const struct cut *cut = &one->cuts.cut[i];

        walk->trace->found(walk->trace, one->rule,
                           &(struct trace_found){cut->string, cut->within, cut->at, cut->len, cut->name});
    }
}

/* Undecided counts as the safe side: what cannot be cut for certain is withheld. A rule that only flags
 * still flags, since that stops nothing. */
static void judge_rule(struct judging_answer *judging, struct rule_walk *walk, struct answering *one)
{
    const struct cuts_mark nothing = eval__mark_cuts(&one->cuts);
    const struct rule *rule = one->rule;

    if (walk->trace != NULL)
        walk->trace->rule(walk->trace, rule, one->match, one->dimension);
    walk->cuts = &one->cuts;
    one->truth = truth_and(one->match, policy_rule_conditions(walk, rule, &one->undecided));
    walk->cuts = NULL;
    if (walk->trace != NULL)
        walk->trace->applies(walk->trace, rule, one->truth, one->truth != TRUTH_FALSE);
    if (one->truth != TRUTH_TRUE)
        eval__rewind_cuts(&one->cuts, &nothing);
    if (one->truth == TRUTH_FALSE)
        return;
    one->effect = rule->answer;
    if (one->truth == TRUTH_UNDECIDED) {
        if (one->match == TRUTH_UNDECIDED)
            one->undecided = eval__match_label(judging->scratch, rule, one->dimension, &judging->no_memory);
        if (rule->answer == ANSWER_REDACT)
            one->why = ANSWER_UNDECIDED;
    } else {
        one->undecided = SPAN_NONE;
        if (rule->answer == ANSWER_REDACT) {
            eval__sort_cuts(&one->cuts);
            eval__cut_likewise(walk, &one->cuts);
            eval__sort_cuts(&one->cuts);
            tell_found(walk, one);
            if (question_is_of_skill(judging->question.method, judging->question.resource))
                one->why = ANSWER_OF_SKILL;
            else if (!eval__can_cut(walk, &one->cuts))
                one->why = one->cuts.undecided ? ANSWER_UNDECIDED : ANSWER_NOT_IN_TEXT;
        } else {
            tell_found(walk, one);
        }
    }
    if (one->why != ANSWER_AS_WRITTEN)
        one->effect = ANSWER_WITHHOLD;
}

static bool is_binding(const struct rule *rule)
{
    return rule->answer != ANSWER_FLAG && !rule->monitor;
}

/* Reads texts as JSON only for rules that ask for values. */
static void judge_rules(struct judging_answer *judging, struct rule_walk *walk, bool binding)
{
    const struct json_node *root = judging->answer->root;
    bool reads = false;

    for (uint32_t i = 0; i < judging->count; i++)
        reads |= is_binding(judging->rules[i].rule) == binding && judging->rules[i].rule->reads_value;
    if (reads && root != NULL && !judging->has_read_texts)
        read_texts(judging, root);
    judging->has_read_texts |= reads;
    walk->inside = judging->inside;
    walk->inside_count = judging->inside_count;
    for (uint32_t i = 0; i < judging->count && !(binding && cannot_judge(judging)); i++)
        if (is_binding(judging->rules[i].rule) == binding)
            judge_rule(judging, walk, &judging->rules[i]);
    judging->no_memory |= walk->no_memory;
    judging->spent |= walk->spent || walk->budget->spent;
}

/* ---- the verdict ---- */

static void note_found(struct answer_verdict *verdict, struct span name)
{
    uint32_t at = 0;

    while (at < verdict->found_count && span_compare(verdict->found[at].name, name) < 0)
        at++;
    if (at < verdict->found_count && span_equals(verdict->found[at].name, name)) {
        verdict->found[at].count++;
        return;
    }
    if (verdict->found_count == ANSWER_FOUND_MAX)
        return;
    memmove(&verdict->found[at + 1], &verdict->found[at], (verdict->found_count - at) * sizeof *verdict->found);
    verdict->found[at] = (struct answer_found){name, 1};
    verdict->found_count++;
}

/* Joins all that enforced rules found, each once. Takes: redactions: only what redactions cut. */
static void join_cuts(struct judging_answer *judging, bool redactions, struct cuts *all)
{
    *all = (struct cuts){.arena = &judging->scratch->arena};
    for (uint32_t i = 0; i < judging->count; i++)
        if (!judging->rules[i].rule->monitor && (!redactions || judging->rules[i].effect == ANSWER_REDACT))
            all->room += judging->rules[i].cuts.count;
    all->cut = arena_alloc(all->arena, all->room * sizeof *all->cut);
    judging->no_memory |= all->cut == NULL;
    for (uint32_t i = 0; i < judging->count && all->cut != NULL; i++) {
        const struct answering *one = &judging->rules[i];

        if (one->rule->monitor || (redactions && one->effect != ANSWER_REDACT) || one->cuts.count == 0)
            continue;
        memcpy(all->cut + all->count, one->cuts.cut, one->cuts.count * sizeof *all->cut);
        all->count += one->cuts.count;
    }
    if (all->cut != NULL)
        eval__sort_cuts(all);
}

/* Whether a rule decides in place of the one so far. Rules come by their written effect and then by id, so
 * among redactions that became another effect the smallest id decides. */
static bool outweighs(enum answer_effect effect, const struct answering *one, const struct answering *first)
{
    return first == NULL || effect > first->effect ||
           (effect == first->effect && span_compare(one->rule->id, first->rule->id) < 0);
}

static void combine(struct judging_answer *judging, struct answer_verdict *verdict)
{
    const struct answering *first = NULL, *monitored = NULL;

    for (uint32_t i = 0; i < judging->count; i++) {
        const struct answering *one = &judging->rules[i];
        const struct rule *rule = one->rule;

        if (one->effect == ANSWER_NONE)
            continue;
        if (verdict->rule_count < ANSWER_RULES_MAX)
            verdict->rules[verdict->rule_count] = (struct answer_rule){
                .id = rule->id, .effect = one->effect, .monitor = rule->monitor};
        verdict->rule_count++;
        verdict->has_monitor |= rule->monitor;
        if (outweighs(one->effect, one, monitored))
            monitored = one;
        if (!rule->monitor && outweighs(one->effect, one, first))
            first = one;
    }
    if (monitored != NULL) {
        verdict->monitor_effect = monitored->effect;
        verdict->monitor_rule = monitored->rule->id;
    }
    if (first == NULL)
        return;
    verdict->effect = first->effect;
    verdict->rule = first->rule->id;
    verdict->say = first->rule->say;
    verdict->why = first->why;
    verdict->undecided = first->undecided;
}

static void withhold(struct answer_verdict *verdict, enum answer_why why)
{
    verdict->effect = verdict->monitor_effect = ANSWER_WITHHOLD;
    verdict->why = why;
    verdict->rule = verdict->say = verdict->undecided = verdict->monitor_rule = SPAN_NONE;
    verdict->edits = NULL;
    verdict->edit_count = 0;
}

/* ---- judging ---- */

/* Returns: false: no rule concerns it, or memory ran out. */
static bool find_rules(struct judging_answer *judging, const struct policy *policy)
{
    struct arena *arena = &judging->scratch->arena;
    struct candidates found;

    if (eval__candidates(policy, &judging->question, judging->answer, judging->scratch, &found) == CODE_OK)
        judging->rules = arena_zalloc(arena, found.rule_count * sizeof *judging->rules);
    judging->no_memory = judging->rules == NULL;
    judging->count = judging->rules != NULL ? found.rule_count : 0;
    for (uint32_t i = 0; i < judging->count; i++) {
        struct answering *one = &judging->rules[i];

        one->rule = &policy->answers[found.rules[i].at];
        one->match = found.rules[i].match;
        one->dimension = found.rules[i].undecided;
        one->cuts = (struct cuts){.arena = arena, .rule = one->rule};
    }
    return judging->count > 0;
}

static void begin(struct judging_answer *judging, bool timed, struct rule_walk *walk, struct regex_budget *budget)
{
    const struct json_node *root = judging->answer->root;

    if (timed)
        regex_budget_init_timed(budget);
    else
        regex_budget_init(budget);
    regex_budget_widen(budget, WORK_PER_BYTE * (uint64_t)(root != NULL ? root->raw.len : 0));
    walk->budget = budget;
    walk->visits_left = walk->visits_told = VISITS_MAX;
}

/* Makes the edits of an answer of which nothing is withheld. */
static void make_edits(struct judging_answer *judging, struct rule_walk *walk, struct answer_verdict *verdict)
{
    enum answer_effect strongest = ANSWER_NONE;
    struct cuts all;

    for (uint32_t i = 0; i < judging->count; i++)
        if (is_binding(judging->rules[i].rule) && judging->rules[i].effect > strongest)
            strongest = judging->rules[i].effect;
    if (strongest != ANSWER_REDACT)
        return;
    join_cuts(judging, true, &all);
    eval__cut_edits(walk, &all, verdict);
    judging->no_memory |= walk->no_memory;
}

/* Notes what was found. Without memory to join the cuts, what several rules found counts once for each of them. */
static void note_all(struct judging_answer *judging, struct answer_verdict *verdict)
{
    struct cuts all;

    join_cuts(judging, false, &all);
    for (uint32_t i = 0; i < all.count; i++)
        note_found(verdict, all.cut[i].name);
    for (uint32_t i = 0; i < judging->count && all.cut == NULL; i++)
        for (uint32_t j = 0; j < judging->rules[i].cuts.count && !judging->rules[i].rule->monitor; j++)
            note_found(verdict, judging->rules[i].cuts.cut[j].name);
}

/* Judges the rules that may stop an answer first, with a budget of their own and all the memory. The others get what is
 * left: where it does not suffice, nothing is withheld, only less is found. */
static void judge(struct judging_answer *judging, bool timed, struct trace *trace, struct answer_verdict *verdict)
{
    struct regex_budget budgets[2];
    struct rule_walk walk = {.question = &judging->question, .answer = judging->answer, .trace = trace,
                             .arena = &judging->scratch->readings};

    for (int i = 0; i < 2; i++) {
        begin(judging, timed, &walk, &budgets[i]);
        judge_rules(judging, &walk, i == 0);
        verdict->work += budgets[i].work;
        if (i == 0 && !cannot_judge(judging))
            make_edits(judging, &walk, verdict);
        if (i == 0 && cannot_judge(judging))
            return;
    }
    combine(judging, verdict);
    note_all(judging, verdict);
    judging->no_memory = judging->spent = false;
}

void policy_walk_answer(const struct policy *policy, const struct question *question, const struct policy_answer *answer,
                        bool timed, struct policy_scratch *scratch, struct trace *trace, struct answer_verdict *verdict)
{
    struct judging_answer judging = {.scratch = scratch, .answer = answer, .question = *question};

    memset(verdict, 0, sizeof *verdict);
    if (policy == NULL) {
        withhold(verdict, ANSWER_UNDECIDED);
        return;
    }
    if (policy->answer_count == 0)
        return;
    arena_reset(&scratch->arena);
    if (answer->of_unknown) { /* conditions on the call are guessed so that the rule applies */
        if (question->hidden != NULL)
            judging.hidden = *question->hidden;
        judging.question.hidden = &judging.hidden;
    }
    if (find_rules(&judging, policy))
        judge(&judging, timed, trace, verdict);
    if (cannot_judge(&judging))
        withhold(verdict, judging.no_memory ? ANSWER_NO_MEMORY : ANSWER_TOO_COSTLY);
    free_texts(&judging);
}

void policy_judge_answer(const struct policy *policy, const struct question *question, const struct policy_answer *answer,
                         bool timed, struct policy_scratch *scratch, struct answer_verdict *verdict)
{
    policy_walk_answer(policy, question, answer, timed, scratch, NULL, verdict);
}

bool policy_has_answer_rules_for(const struct policy *policy, const struct question *question,
                                 const struct policy_answer *answer, struct policy_scratch *scratch)
{
    struct candidates found;

    if (policy == NULL || policy->answer_count == 0)
        return false;
    arena_reset(&scratch->arena);
    return eval__candidates(policy, question, answer, scratch, &found) != CODE_OK || found.rule_count > 0;
}

enum code policy_answer_edits(const struct answer_verdict *verdict, struct span document, struct json_edits *edits)
{
    enum code code = CODE_OK;

    for (uint32_t i = 0; i < verdict->edit_count && code == CODE_OK; i++) {
        struct span raw = verdict->edits[i].node->raw;
        size_t begin = (size_t)(raw.at - document.at);

        code = json_edits_say(edits, begin, begin + raw.len, verdict->edits[i].text);
    }
    return code;
}

enum code policy_answer_write(const struct answer_verdict *verdict, struct span document, struct buf *out)
{
    struct json_edits edits;
    enum code code;

    json_edits_init(&edits);
    code = policy_answer_edits(verdict, document, &edits);
    if (code == CODE_OK)
        code = eval__write_edits(&edits, document, out);
    json_edits_fini(&edits);
    return code;
}
