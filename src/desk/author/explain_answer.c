/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of an answer, and where rules for answers found something. Nothing that the answer holds is told: it may be a
 * secret. */
#include "author/explain_priv.h"
#include "judgement/judgement.h"

void telling__left_out(struct telling *telling, const struct policy *policy, const struct question *question)
{
    struct regex_budget budget;
    enum dimension undecided;
    unsigned told = 0;

    regex_budget_init(&budget);
    for (uint32_t i = 0; i < policy->redaction_count; i++) {
        const struct redaction *redaction = &policy->redactions[i];
        enum truth match = redaction->of[REDACT_ANSWER].count == 0
                               ? TRUTH_FALSE
                               : policy_match(&redaction->match, DIM_TENANT, DIM_COUNT, question, &budget, &undecided);

        for (uint32_t p = 0; p < redaction->of[REDACT_ANSWER].count && match != TRUTH_FALSE; p++) {
            struct span path = match == TRUTH_UNDECIDED ? SPAN_LIT("$") : redaction->of[REDACT_ANSWER].path[p].text;

            SAY(telling, "%s%.*s", told++ == 0 ? "redacted in the audit, of the answer: " : ", ", SPAN_ARG(path));
            if (telling->answer != NULL)
                doc_text(telling->answer, NULL, path);
        }
    }
    SAY(telling, "%s", told > 0 ? "\n" : "");
}

/* Takes: leaves: whether some value of theirs that stands alone would be found. */
static bool is_found_by(const struct telling *telling, const struct condition *condition, const struct json_node *value)
{
    bool is_found = condition->kind == CONDITION_LEAF && condition->from == FROM_VALUE &&
                    policy_fulfils(condition, telling->question, value);

    for (uint32_t i = 0; i < condition->count && !is_found; i++)
        is_found = is_found_by(telling, &condition->members[i], value);
    return is_found;
}

/* Names of an answer are its server's, too: one in which a rule would find something is not told. */
static void add_step(struct telling *telling, const struct json_node *member)
{
    const struct json_node value = {.type = JSON_STRING, .text = member->key, .raw = member->key};
    bool is_kept = false;

    for (uint32_t i = 0; i < telling->policy->answer_count && !is_kept; i++)
        is_kept = telling->policy->answers[i].when != NULL && is_found_by(telling, telling->policy->answers[i].when, &value);
    buf_add_text(&telling->text, ".");
    if (is_kept)
        buf_add_text(&telling->text, "(a name that is not shown)");
    else
        words_text(&telling->text, member->key);
}

/* Where a node stands in its document. */
static void add_path(struct telling *telling, const struct json_node *root, const struct json_node *wanted)
{
    buf_add_text(&telling->text, "$");
    while (root != NULL && root != wanted) {
        const struct json_node *child = root->child;
        size_t at = 0;

        while (child != NULL && child->raw.at + child->raw.len <= wanted->raw.at) {
            child = child->next;
            at++;
        }
        if (child != NULL && root->type == JSON_ARRAY)
            buf_addf(&telling->text, "[%zu]", at);
        else if (child != NULL)
            add_step(telling, child);
        root = child;
    }
}

void telling__found(struct trace *heard, const struct rule *rule, const struct trace_found *found)
{
    struct telling *telling = (struct telling *)heard; /* its first member */
    struct doc *doc = doc_add_object(telling->found, NULL);
    const struct path_inside *within = found->within;

    if (telling->answered == NULL)
        return;
    doc_text(doc, "rule", rule->id);
    doc_text(doc, "found", found->name);
    SAY(telling, "     found %.*s", SPAN_ARG(found->name));
    if (found->string == NULL) {
        SAY(telling, " where nothing can be cut out: in a number, a name or a decoded reading\n");
        return;
    }
    add_path(telling, telling->answered->root, within != NULL ? within->string : found->string);
    telling__text(telling, " in ", doc, "path");
    if (within != NULL) {
        add_path(telling, within->root, found->string);
        telling__text(telling, ", in the JSON of that text in ", doc, "inside");
    }
    SAY(telling, ", %zu bytes at byte %zu\n", found->len, found->at);
    doc_int(doc, "at", (int64_t)found->at);
    doc_int(doc, "bytes", (int64_t)found->len);
}

static void say_answer_verdict(struct telling *telling, const struct answer_verdict *verdict)
{
    SAY(telling, "\nanswer: %s", verdict->effect == ANSWER_NONE ? "goes on as it is" : answer_effect_text(verdict->effect));
    if (verdict->rule.at != NULL)
        SAY(telling, " by %.*s", SPAN_ARG(verdict->rule));
    if (verdict->why != ANSWER_AS_WRITTEN)
        SAY(telling, ", because %s", answer_why_text(verdict->why));
    if (verdict->undecided.len > 0)
        SAY(telling, "\nundecided: %.*s", SPAN_ARG(verdict->undecided));
    if (verdict->has_monitor)
        SAY(telling, "\nwere monitored rules active: %s by %.*s", answer_effect_text(verdict->monitor_effect),
            SPAN_ARG(verdict->monitor_rule));
    for (uint32_t i = 0; i < verdict->found_count; i++)
        SAY(telling, "%s%llu %.*s", i == 0 ? "\nfound: " : ", ", (unsigned long long)verdict->found[i].count,
            SPAN_ARG(verdict->found[i].name));
    SAY(telling, "\n");
}

enum code explain_answer(const struct policy *policy, const struct question *question, const struct policy_answer *answer,
                         struct policy_scratch *scratch, struct answer_verdict *verdict, const struct explain_to *to)
{
    struct telling telling = telling_to(to->words, to->rules, NULL, NULL);
    enum code code;

    telling.policy = policy;
    telling.question = question;
    telling.answered = answer;
    telling.found = to->found;
    telling__question(&telling, question);
    policy_walk_answer(policy, question, answer, false, scratch, &telling.heard, verdict);
    if (policy != NULL && verdict->rule_count == 0 && verdict->why == ANSWER_AS_WRITTEN)
        SAY(&telling, "no rule for answers applies\n");
    if (policy != NULL)
        telling__missed(&telling, policy->answers, policy->answer_count, question);
    say_answer_verdict(&telling, verdict);
    buf_fini(&telling.text);
    code = verdict->why == ANSWER_NO_MEMORY ? CODE_NOMEM : telling.code;
    return code == CODE_OK && to->words != NULL ? buf_code(to->words) : code;
}
