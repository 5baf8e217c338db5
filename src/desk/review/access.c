/* SPDX-License-Identifier: Apache-2.0 */
/* The evaluator judges twice, with all that is hidden against a permit and in favour of one; what both leave open is what calls
 * may come to (judgement/hidden.c). So no second judgement stands beside that of the gate. */
#include "review/access.h"

#include "author/words.h"
#include "policy/match.h"
#include "policy/snapshot.h"

#define BIT(dimension) (UINT32_C(1) << (dimension))

/* ---- what is known of such calls ---- */

static uint32_t hidden_names(const struct access_who *who)
{
    uint32_t names = BIT(DIM_PATH) | BIT(DIM_QUERY);

    if (who->tenant.at == NULL)
        names |= BIT(DIM_TENANT);
    if (who->kind != ACCESS_PRINCIPAL)
        names |= BIT(DIM_PRINCIPAL);
    if (who->kind != ACCESS_AGENT)
        names |= BIT(DIM_AGENT);
    if (who->kind != ACCESS_PRINCIPAL || !who->is_known) /* of a group's people, too: they may be of others */
        names |= BIT(DIM_GROUP) | BIT(DIM_SCOPE);
    return names;
}

struct asking {
    struct question_hidden hidden;
    const struct json_node *nodes[1];
    struct json_node arguments; /* stands in for whatever they are */
};

/* A limit has room, or it is used up. */
static enum policy_known has_room(void *context, const struct question *question, const struct policy_limit *limit,
                                  const struct policy_amount *amount, struct policy_room *room)
{
    const struct asking *asking = context;

    (void)question;
    (void)amount;
    *room = (struct policy_room){.wait_us = limit->per_us};
    return asking->hidden.favours_permit ? POLICY_YES : POLICY_NO;
}

static struct question question_of(const struct access_who *who, struct asking *asking)
{
    static const struct policy_past past = {.has_room = has_room};
    struct question question = {.tenant = who->tenant, .method = SPAN_LIT("tools/call"), .root = &asking->arguments,
                                .hidden = &asking->hidden, .state = {.past = &past, .context = asking}};

    asking->arguments = (struct json_node){.type = JSON_OBJECT};
    asking->nodes[0] = &asking->arguments;
    asking->hidden = (struct question_hidden){.nodes = asking->nodes, .count = 1, .names = hidden_names(who), .around = true,
                                              .meta = true, .claims = true, .hints = true};
    switch (who->kind) {
    case ACCESS_PRINCIPAL:
        question.principal = who->name;
        question.groups = who->groups;
        question.group_count = who->group_count;
        question.scopes = who->scopes;
        question.scope_count = who->scope_count;
        break;
    case ACCESS_GROUP:
        question.groups = &who->name;
        question.group_count = 1;
        break;
    case ACCESS_AGENT: question.agent = who->name; break;
    case ACCESS_KINDS: break;
    }
    return question;
}

/* ---- what it hangs on ---- */

static bool has_rule(const struct verdict *verdict, const struct verdict_rule *rule)
{
    for (uint32_t i = 0; i < verdict->rule_count && i < VERDICT_RULES_MAX; i++)
        if (span_equals(verdict->rules[i].id, rule->id) && verdict->rules[i].limited == rule->limited &&
            verdict->rules[i].barred == rule->barred)
            return true;
    return false;
}

static bool hangs_already(const struct access_answer *answer, struct span id)
{
    for (uint32_t i = 0; i < answer->count; i++)
        if (span_equals(answer->hangs_on[i]->id, id))
            return true;
    return false;
}

/* Those that apply, or have room, under one guess alone. */
static void add_differing(const struct policy *policy, const struct verdict *one, const struct verdict *other,
                          struct access_answer *answer)
{
    answer->has_more |= one->rule_count > VERDICT_RULES_MAX;
    for (uint32_t i = 0; i < one->rule_count && i < VERDICT_RULES_MAX; i++) {
        const struct verdict_rule *rule = &one->rules[i];

        if (rule->monitor || has_rule(other, rule) || hangs_already(answer, rule->id))
            continue;
        answer->has_more |= answer->count == ACCESS_HANGS_MAX;
        if (answer->count < ACCESS_HANGS_MAX)
            answer->hangs_on[answer->count++] = policy_rule_by_id(policy, rule->id);
    }
}

/* At a route of one kind. Returns: the rule that decides in any case; at == NULL: none does, or several verdicts are open. */
static struct span ask_at(const struct policy *policy, struct policy_scratch *scratch, struct question *question,
                          struct asking *asking, struct access_answer *answer)
{
    struct verdict against = {.kind = VERDICT_DENY}, favouring = {.kind = VERDICT_DENY};
    unsigned may;

    asking->hidden.favours_permit = false;
    policy_eval(policy, question, false, scratch, &against);
    asking->hidden.favours_permit = true;
    policy_eval(policy, question, false, scratch, &favouring);
    may = policy_possible(&against, &favouring);
    if (against.reason == REASON_MEMORY || favouring.reason == REASON_MEMORY)
        may = POLICY_ALL_POSSIBLE;
    answer->may |= may;
    if ((may & (may - 1)) == 0) /* what decides under the guess that speaks against it does so in any case */
        return may == 1U << VERDICT_PERMIT ? against.rule : favouring.rule;
    add_differing(policy, &against, &favouring, answer);
    add_differing(policy, &favouring, &against, answer);
    return SPAN_NONE;
}

void access_ask(const struct policy *policy, struct policy_scratch *scratch, const struct access_who *who,
                unsigned route, struct span upstream, struct span tool, int64_t now_us, struct access_answer *answer)
{
    struct asking asking;
    struct question question = question_of(who, &asking);

    *answer = (struct access_answer){.may = 0};
    if ((route & ACCESS_CALLS_OTHERS) != 0) {
        answer->may = POLICY_ALL_POSSIBLE;
        answer->besides = "the tool that it calls, which is judged in its place";
        return;
    }
    question.upstream = upstream;
    question.tool = tool;
    question.time_us = now_us;
    if ((route & ACCESS_PERSON_JUDGED) != 0)
        answer->rule = ask_at(policy, scratch, &question, &asking, answer);
    question.is_agent_judged = true;
    if ((route & ACCESS_AGENT_JUDGED) != 0)
        answer->rule = ask_at(policy, scratch, &question, &asking, answer);
    if ((answer->may & (answer->may - 1)) != 0)
        answer->rule = SPAN_NONE;
    if ((route & ACCESS_HOLDS) != 0 && answer->may != 1U << VERDICT_DENY) {
        answer->may |= 1U << VERDICT_DENY;
        answer->besides = "its definition, which must be an accepted one";
    }
}

/* ---- in words ---- */

const char *access_text(unsigned may)
{
    switch (may) {
    case 1U << VERDICT_PERMIT: return "permit";
    case 1U << VERDICT_HOLD: return "ask";
    case 1U << VERDICT_DENY: return "forbid";
    default: return "depends";
    }
}

const char *access_kind_text(enum access_kind kind)
{
    static const char *const texts[ACCESS_KINDS] = {"principal", "group", "agent"};

    return kind < ACCESS_KINDS ? texts[kind] : "";
}

static void say_conditions(struct buf *out, const struct condition *group, const char *between);

static void say_condition(struct buf *out, const struct condition *condition)
{
    switch (condition->kind) {
    case CONDITION_LEAF:
        buf_add_text(out, condition->asks_keys ? "a name in " : condition->links ? "a link in " : "");
        buf_addf(out, "%s%s`%.*s` ", condition->from != FROM_ARG ? policy_root_text[condition->from] : "",
                 condition->from != FROM_ARG ? " " : "", SPAN_ARG(condition->path.text));
        words_ops(out, condition);
        break;
    case CONDITION_FACT: words_fact(out, condition->fact); break;
    case CONDITION_NOT:
        buf_add_text(out, "not (");
        say_conditions(out, condition, "; ");
        buf_add_byte(out, ')');
        break;
    case CONDITION_ALL:
    case CONDITION_ANY:
        buf_add_byte(out, '(');
        say_conditions(out, condition, condition->kind == CONDITION_ANY ? " or " : " and ");
        buf_add_byte(out, ')');
        break;
    case CONDITION_EACH: /* of schemas alone */
    case CONDITION_ONE: break;
    }
}

static void say_conditions(struct buf *out, const struct condition *group, const char *between)
{
    for (uint32_t i = 0; i < group->count; i++) {
        buf_add_text(out, i > 0 ? between : "");
        say_condition(out, &group->members[i]);
    }
}

static void say_part(struct buf *out, const char **before)
{
    buf_add_text(out, *before);
    *before = "; ";
}

static void say_arguments(struct buf *out, const struct rule *rule, const char **before)
{
    if (rule->restricts_args) {
        say_part(out, before);
        buf_add_text(out, rule->arg_count > 0 ? "no arguments but " : "no arguments");
        for (uint32_t i = 0; i < rule->arg_count; i++) {
            buf_add_text(out, i > 0 ? ", " : "");
            words_text(out, rule->args[i]);
        }
    }
    if (rule->by_schema) {
        say_part(out, before);
        buf_add_text(out, "arguments as the accepted definition has them");
    }
}

void access_condition(struct buf *out, const struct access_who *who, const struct rule *rule)
{
    const uint32_t names = hidden_names(who) | BIT(DIM_LABEL); /* a label may ask for any of them */
    const char *before = "";

    for (enum dimension d = DIM_TENANT; d < DIM_COUNT; d++) {
        if (!rule->match.by[d].given || (names >> d & 1) == 0)
            continue;
        say_part(out, &before);
        buf_addf(out, "%s ", policy_dimension_text[d]);
        words_names(out, &rule->match.by[d]);
    }
    if (rule->when != NULL) {
        say_part(out, &before);
        say_conditions(out, rule->when, "; ");
    }
    say_arguments(out, rule, &before);
    if (rule->limit != NULL) {
        say_part(out, &before);
        words_limits(out, rule->limit);
    }
}
