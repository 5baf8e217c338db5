/* SPDX-License-Identifier: Apache-2.0 */
#include "judgement/candidates_priv.h"
#include "policy/index.h"
#include "judgement/judgement.h"

#include "base/hash.h"

#include <stdlib.h>

#define CACHE_BITS 10
#define CACHE_SLOTS (1 << CACHE_BITS)
#define CACHE_MAX_BYTES ((size_t)8 << 20)
#define ENTRY_MAX_BYTES ((size_t)128 << 10)
#define SCRATCH_MAX_BYTES ((size_t)256 << 20)
#define KEY_PARTS 13
#define SHORT_KEY_BYTES 1024 /* what such short names find is remembered, so that even a brief question may take long for them
                              * once */

/* The candidates of one kind of call. The candidates and then the key's bytes follow in the same block. */
struct cache_entry {
    uint64_t hash;
    uint64_t serial; /* of the snapshot */
    size_t bytes;
    size_t part_len[KEY_PARTS];
    struct candidates candidates;
    const char *key;
};

struct key {
    struct span part[KEY_PARTS];
    size_t bytes;
    uint64_t hash;
};

/* Stands for any text. No call has this one, as it is no UTF-8. */
#define ANY SPAN_LIT("\xff")

static struct span kind_of(const struct policy_answer *answer)
{
    return answer == NULL ? SPAN_NONE : answer->of_unknown ? SPAN_LIT("unknown") : SPAN_LIT("answer");
}

static void make_key(const struct policy *policy, const struct question *question, const struct policy_answer *answer,
                     struct key *key)
{
    *key = (struct key){.part = {question->tenant, question->upstream, question->method, question->answers, question->tool,
                                 policy->asks_principal ? question->principal : SPAN_NONE,
                                 policy->asks_agent ? question->agent : SPAN_NONE,
                                 policy->asks_path ? question->path : SPAN_NONE,
                                 policy->asks_query ? question->query : SPAN_NONE,
                                 question->any_resource || (!policy->asks_resource && question->resource.len > 0)
                                     ? ANY /* whether it has one is asked of answers, whatever rules name */
                                     : question->resource,
                                 policy->asks_prompt ? question->prompt : SPAN_NONE,
                                 kind_of(answer), answer != NULL ? answer->method : SPAN_NONE}};
    key->hash = policy->serial;
    for (int i = 0; i < KEY_PARTS; i++) {
        key->hash = hash_mix_span(key->hash, key->part[i]);
        key->bytes += key->part[i].len;
    }
}

static bool is_entry_of(const struct cache_entry *entry, const struct policy *policy, const struct key *key)
{
    const char *at = entry->key;

    if (entry->hash != key->hash || entry->serial != policy->serial)
        return false;
    for (int i = 0; i < KEY_PARTS; i++) {
        if (!span_equals(span_of(at, entry->part_len[i]), key->part[i]))
            return false;
        at += entry->part_len[i];
    }
    return true;
}

/* The upper bits of the hash choose the slot, since every byte of the key changes them. */
static struct cache_entry **slot_of(struct policy_scratch *scratch, const struct key *key)
{
    return &scratch->cache[key->hash >> (64 - CACHE_BITS)];
}

static void drop(struct policy_scratch *scratch, struct cache_entry **slot)
{
    if (*slot == NULL)
        return;
    scratch->cache_bytes -= (*slot)->bytes;
    mem_free(*slot);
    *slot = NULL;
}

static void drop_all(struct policy_scratch *scratch)
{
    for (size_t i = 0; i < CACHE_SLOTS; i++)
        drop(scratch, &scratch->cache[i]);
}

/* Without memory nothing is remembered, which costs time only. */
static void remember(struct policy_scratch *scratch, const struct policy *policy, const struct key *key,
                     const struct candidates *found)
{
    size_t rules = found->rule_count * sizeof *found->rules, redactions = found->redaction_count * sizeof *found->redactions;
    size_t bytes = sizeof(struct cache_entry) + rules + redactions + key->bytes;
    struct cache_entry **slot = slot_of(scratch, key), *entry;
    char *at;

    drop(scratch, slot);
    if (bytes > ENTRY_MAX_BYTES)
        return;
    if (scratch->cache_bytes + bytes > CACHE_MAX_BYTES)
        drop_all(scratch);
    entry = mem_alloc(bytes);
    if (entry == NULL)
        return;
    *entry = (struct cache_entry){.hash = key->hash, .serial = policy->serial, .bytes = bytes, .candidates = *found};
    at = (char *)(entry + 1);
    entry->candidates.rules = memcpy(at, found->rules, rules);
    entry->candidates.redactions = memcpy(at + rules, found->redactions, redactions);
    at += rules + redactions;
    entry->key = at;
    for (int i = 0; i < KEY_PARTS; i++) {
        entry->part_len[i] = key->part[i].len;
        if (key->part[i].len > 0)
            memcpy(at, key->part[i].at, key->part[i].len);
        at += key->part[i].len;
    }
    *slot = entry;
    scratch->cache_bytes += bytes;
}

/* Of such a question nothing is remembered: what there is of its names is not all that its rules were found by. */
static bool hides_names(const struct question *question)
{
    return question->hidden != NULL && question->hidden->names != 0;
}

/* ---- looking for them ---- */

struct candidate_search {
    const struct policy *policy;
    const struct question *question;
    const struct policy_answer *answer;
    struct regex_budget budget, monitor_budget;
    uint32_t *numbers;
    uint32_t count;
    size_t room;
    bool is_brief;
};

static enum code add_numbers(void *context, const uint32_t *rules, uint32_t count)
{
    struct candidate_search *search = context;
    uint32_t *numbers = mem_room(search->numbers, &search->room, (size_t)search->count + count, sizeof *numbers);

    if (numbers == NULL && count > 0)
        return CODE_NOMEM;
    search->numbers = numbers;
    if (count > 0)
        memcpy(search->numbers + search->count, rules, count * sizeof *rules);
    search->count += count;
    return CODE_OK;
}

static int ascending(const void *a, const void *b)
{
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;

    return left < right ? -1 : left > right;
}

/* A call that many rules concern mostly finds them in one bucket of the index, which is sorted already. */
static bool is_ascending(const struct candidate_search *search)
{
    for (uint32_t i = 1; i < search->count; i++)
        if (search->numbers[i - 1] > search->numbers[i])
            return false;
    return true;
}

/* Whether only servers send messages of this method, so that no call has it. */
static bool is_servers(const struct match_name *name)
{
    return name->kind == NAME_LITERAL && (span_starts_with(name->text, SPAN_LIT("notifications/")) ||
                                          span_is(name->text, "sampling/createMessage") ||
                                          span_is(name->text, "elicitation/create") || span_is(name->text, "roots/list"));
}

/* Of an answer whose call is not known: whether the rule's methods may hold for the call or for the answer. */
static enum truth may_concern(const struct names *methods, const struct policy_answer *answer, struct regex_budget *budget)
{
    struct question own = {.method = answer->method};

    for (uint32_t i = 0; i < methods->count; i++)
        if (!is_servers(&methods->name[i]))
            return TRUTH_TRUE;
    return policy_names_match(methods, DIM_METHOD, false, &own, budget);
}

/* A message that comes back concerns the rules for its call, and those that name its own method. */
static enum truth answer_match(const struct match *match, const struct candidate_search *search, struct regex_budget *budget,
                               enum dimension *undecided)
{
    const struct policy_answer *answer = search->answer;
    struct question own = *search->question;
    enum truth truth;

    if (answer->of_unknown) {
        truth = policy_match(match, DIM_TENANT, DIM_METHOD, search->question, budget, undecided);
        truth = truth_and(truth, may_concern(&match->by[DIM_METHOD], answer, budget));
        return truth_and(truth, policy_match(match, DIM_METHOD + 1, DIM_LABEL, search->question, budget, undecided));
    }
    if (match->by[DIM_METHOD].name == policy_answer_methods.name && own.resource.len > 0 && !question_has_uri(own.method))
        own.method = SPAN_LIT("resources/read"); /* to who named no method, what a route declares of a resource reads it */
    truth = policy_match(match, DIM_TENANT, DIM_HELD, &own, budget, undecided);
    own.method = answer->method;
    return truth == TRUTH_TRUE || own.method.len == 0
               ? truth : truth_or(truth, policy_match(match, DIM_TENANT, DIM_HELD, &own, budget, undecided));
}

/* Work alone bounds these regexes, since what is remembered must not depend on how fast the machine is. */
static void begin_budget(bool is_brief, struct regex_budget *budget)
{
    if (is_brief)
        regex_budget_init_brief(budget);
    else
        regex_budget_init(budget);
}

/* Monitored rules spend a budget of their own: they must not make an enforced rule too costly. */
static void ask(struct candidate_search *search, const struct match *match, bool monitor, uint32_t number,
                struct rule_candidate *candidates, uint32_t *count)
{
    struct regex_budget *budget = monitor ? &search->monitor_budget : &search->budget;
    struct rule_candidate candidate = {.at = number};

    if (search->answer != NULL)
        candidate.match = answer_match(match, search, budget, &candidate.undecided);
    else
        candidate.match = policy_match(match, DIM_TENANT, DIM_HELD, search->question, budget, &candidate.undecided);
    if (candidate.match != TRUTH_FALSE)
        candidates[(*count)++] = candidate;
}

/* Rules for answers are few, so that all are looked at, once for each kind of answer. */
static enum code find_for_answer(struct candidate_search *search, struct policy_scratch *scratch, struct candidates *found)
{
    const struct policy *policy = search->policy;
    struct rule_candidate *rules = arena_alloc(&scratch->arena, policy->answer_count * sizeof *rules);

    if (rules == NULL)
        return CODE_NOMEM;
    *found = (struct candidates){.rules = rules, .redactions = rules};
    for (uint32_t i = 0; i < policy->answer_count; i++)
        ask(search, &policy->answers[i].match, policy->answers[i].monitor, i, rules, &found->rule_count);
    return CODE_OK;
}

static enum code find_for_call(struct candidate_search *search, struct policy_scratch *scratch, struct candidates *found)
{
    const struct policy *policy = search->policy;
    struct rule_candidate *rules, *redactions;
    enum code code = policy_index_each(policy, search->question, add_numbers, search);

    if (code != CODE_OK)
        return code;
    rules = arena_alloc(&scratch->arena, search->count * sizeof *rules);
    redactions = arena_alloc(&scratch->arena, policy->redaction_count * sizeof *redactions);
    if (rules == NULL || redactions == NULL)
        return CODE_NOMEM;
    if (!is_ascending(search))
        qsort(search->numbers, search->count, sizeof *search->numbers, ascending);
    *found = (struct candidates){.rules = rules, .redactions = redactions};
    for (uint32_t i = 0; i < search->count; i++) {
        const struct rule *rule = &policy->rules[search->numbers[i]];

        /* A rule that names both `response` and the method that is answered is found twice. */
        if (i > 0 && search->numbers[i] == search->numbers[i - 1])
            continue;
        ask(search, &rule->match, rule->monitor, search->numbers[i], rules, &found->rule_count);
    }
    found->spent = search->budget.spent;
    found->monitor_spent = search->monitor_budget.spent;
    begin_budget(search->is_brief, &search->budget);
    for (uint32_t i = 0; i < policy->redaction_count; i++)
        ask(search, &policy->redactions[i].match, false, i, redactions, &found->redaction_count);
    found->spent |= search->is_brief && search->budget.spent;
    return CODE_OK;
}

static __attribute__((noinline)) enum code find_and_remember(const struct policy *policy, const struct question *question,
                                                             const struct policy_answer *answer,
                                                             struct policy_scratch *scratch, const struct key *key,
                                                             struct candidates *candidates)
{
    struct candidate_search search = {.policy = policy, .question = question, .answer = answer,
                                       .is_brief = question->is_brief && key->bytes > SHORT_KEY_BYTES};
    enum code code;

    begin_budget(search.is_brief, &search.budget);
    begin_budget(search.is_brief, &search.monitor_budget);
    code = (answer != NULL ? find_for_answer : find_for_call)(&search, scratch, candidates);
    mem_free(search.numbers);
    if (code == CODE_OK && !hides_names(question) && !(search.is_brief && (candidates->spent || candidates->monitor_spent)))
        remember(scratch, policy, key, candidates); /* a brief question that took too long has not found all */
    return code;
}

/* ---- groups and scopes, and names that are hidden ---- */

/* What the match says of the caller's groups and scopes. */
static enum truth ask_held(const struct match *match, const struct question *question, struct regex_budget *budget,
                           enum dimension *undecided)
{
    enum truth all = TRUTH_TRUE;

    for (enum dimension d = DIM_HELD; d < DIM_COUNT && all != TRUTH_FALSE; d++) {
        enum truth truth = policy_names_match(&match->by[d], d, match->opening, question, budget);

        if (truth == TRUTH_UNDECIDED && all == TRUTH_TRUE)
            *undecided = d;
        all = truth_and(all, truth);
    }
    return all;
}

/* Takes out the candidates that the caller's groups and scopes rule out. These are no part of the key by which candidates are
 * remembered, since they differ from principal to principal and may be long. Where names are hidden, what is undecided is
 * guessed, as with other hidden parts. Takes: rules: NULL: of redactions. */
static enum code narrow(const struct policy *policy, const struct rule *rules, const struct question *question,
                        struct policy_scratch *scratch, struct regex_budget budgets[2], struct candidates *candidates)
{
    bool redactions = rules == NULL;
    const struct rule_candidate *from = redactions ? candidates->redactions : candidates->rules;
    uint32_t count = redactions ? candidates->redaction_count : candidates->rule_count, kept = 0;
    struct rule_candidate *left = arena_alloc(&scratch->arena, (count + 1) * sizeof *left);

    if (left == NULL)
        return CODE_NOMEM;
    for (uint32_t i = 0; i < count; i++) {
        const struct rule *rule = redactions ? NULL : &rules[from[i].at];
        const struct match *match = rule != NULL ? &rule->match : &policy->redactions[from[i].at].match;
        enum dimension undecided = from[i].undecided;
        enum truth truth = ask_held(match, question, &budgets[rule != NULL && rule->monitor], &undecided);

        left[kept] = from[i];
        if (truth == TRUTH_UNDECIDED && from[i].match == TRUTH_TRUE)
            left[kept].undecided = undecided;
        left[kept].match = truth_and(from[i].match, truth);
        if (left[kept].match == TRUTH_UNDECIDED && hides_names(question)) {
            candidates->guessed = true;
            left[kept].match = truth_of(question->hidden->favours_permit == match->opening);
        }
        kept += left[kept].match != TRUTH_FALSE;
    }
    if (redactions) {
        candidates->redactions = left;
        candidates->redaction_count = kept;
    } else {
        candidates->rules = left;
        candidates->rule_count = kept;
    }
    return CODE_OK;
}

/* Work alone bounds this, too, so that the same question always gets the same candidates. */
static enum code narrow_both(const struct policy *policy, const struct rule *rules, const struct question *question,
                             struct policy_scratch *scratch, struct candidates *candidates)
{
    struct regex_budget budgets[2];
    enum code code;

    begin_budget(question->is_brief, &budgets[0]);
    begin_budget(question->is_brief, &budgets[1]);
    code = narrow(policy, rules, question, scratch, budgets, candidates);
    candidates->spent |= budgets[0].spent;
    candidates->monitor_spent |= budgets[1].spent;
    begin_budget(question->is_brief, &budgets[0]);
    if (code == CODE_OK)
        code = narrow(policy, NULL, question, scratch, budgets, candidates);
    candidates->spent |= question->is_brief && budgets[0].spent;
    return code;
}

enum code eval__candidates(const struct policy *policy, const struct question *question, const struct policy_answer *answer,
                           struct policy_scratch *scratch, struct candidates *candidates)
{
    const struct cache_entry *entry;
    enum code code = CODE_OK;
    struct key key;

    make_key(policy, question, answer, &key);
    entry = hides_names(question) ? NULL : *slot_of(scratch, &key);
    if (entry == NULL || !is_entry_of(entry, policy, &key))
        code = find_and_remember(policy, question, answer, scratch, &key, candidates);
    else
        *candidates = entry->candidates;
    if (code != CODE_OK || !(policy->asks_held || hides_names(question)))
        return code;
    return narrow_both(policy, answer != NULL ? policy->answers : policy->rules, question, scratch, candidates);
}

enum code policy_scratch_new(struct policy_scratch **scratch)
{
    *scratch = mem_zalloc(sizeof **scratch);
    if (*scratch == NULL)
        return CODE_NOMEM;
    arena_init(&(*scratch)->arena, SCRATCH_MAX_BYTES);
    arena_init(&(*scratch)->readings, SCRATCH_MAX_BYTES);
    (*scratch)->cache = mem_array(CACHE_SLOTS, sizeof(struct cache_entry *));
    if ((*scratch)->cache == NULL) {
        policy_scratch_free(scratch);
        return CODE_NOMEM;
    }
    return CODE_OK;
}

void policy_scratch_free(struct policy_scratch **scratch)
{
    if (*scratch == NULL)
        return;
    if ((*scratch)->cache != NULL)
        drop_all(*scratch);
    mem_free((*scratch)->cache);
    arena_fini(&(*scratch)->arena);
    arena_fini(&(*scratch)->readings);
    mem_free(*scratch);
    *scratch = NULL;
}
