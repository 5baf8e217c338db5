/* SPDX-License-Identifier: Apache-2.0 */
#include "language/compile_priv.h"
#include "language/keys.h"

#include "base/ascii.h"
#include "base/num.h"
#include "unicode/unicode.h"

#include <stdio.h>
#include <stdlib.h>

#define ID_MAX 128
#define SAY_MAX 200
#define REASON_MAX 1000

/* Ids go into the audit, into replies of commands and onto command lines. */
static bool is_id(struct span text)
{
    return text.len > 0 && text.len <= ID_MAX && ascii_is_all(text, ASCII_UNQUOTED);
}

static void compile_id(struct compiler *c, const struct yaml_node *node, struct rule *rule)
{
    const struct yaml_node *id = yaml_member(node, "id");

    if (id == NULL) {
        FAULT(c, node, "a rule has no `id`; add one that is unique over all files, such as team.reading");
    } else if (compiler_is_string(c, id)) {
        if (!is_id(id->text))
            FAULT(c, id, "`%.*s` is no id; write 1 to %d visible ASCII characters without blanks and quotes",
                  SPAN_ARG(span_part(id->text, 0, ID_MAX)), ID_MAX);
        rule->id = compiler_copy(c, id->text);
    }
    c->rule_id = rule->id;
}

static void compile_effect(struct compiler *c, const struct yaml_node *node, struct rule *rule)
{
    static const char *const words[] = {"forbid", "require_approval", "permit", NULL};
    static const enum effect effects[] = {EFFECT_FORBID, EFFECT_REQUIRE_APPROVAL, EFFECT_PERMIT};
    const struct yaml_node *effect = yaml_member(node, "effect");
    int word;

    if (effect == NULL) {
        FAULT(c, node, "a rule has no `effect`; write permit, forbid or require_approval");
        return;
    }
    word = compiler_word(c, effect, words);
    if (word >= 0)
        rule->effect = effects[word];
}

void compile__mode(struct compiler *c, const struct yaml_node *node, bool *monitor)
{
    static const char *const words[] = {"enforce", "monitor", NULL};
    const struct yaml_node *mode = yaml_member(node, "mode");

    if (mode != NULL)
        *monitor = compiler_word(c, mode, words) == 1;
}

static void compile_slow_regex(struct compiler *c, const struct yaml_node *node)
{
    static const char *const words[] = {"allow", NULL};
    const struct yaml_node *slow = yaml_member(node, "slow_regex");

    c->slow_allowed = slow != NULL && compiler_word(c, slow, words) == 0;
}

static struct span compile_sentence(struct compiler *c, const struct yaml_node *text, size_t max)
{
    if (!compiler_is_string(c, text))
        return SPAN_NONE;
    if (text->text.len == 0)
        FAULT(c, text, "an empty `%.*s` says nothing; leave it out", SPAN_ARG(text->key));
    if (unicode_count(text->text) > max)
        FAULT(c, text, "`%.*s` holds more than %zu characters; say it shorter", SPAN_ARG(text->key), max);
    if (unicode_is_deceptive(text->text))
        FAULT(c, text, "`%.*s` holds invisible or control characters; write plain text", SPAN_ARG(text->key));
    return compiler_copy(c, text->text);
}

/* Labels a part of the rule that is no condition of `when`, so that explanations can name it. */
static void set_place(struct compiler *c, const struct yaml_node *node, struct condition *place, const struct rule *rule,
                      const char *what)
{
    char label[ID_MAX + 32];
    int len = snprintf(label, sizeof label, "%.*s: %s", SPAN_ARG(span_part(rule->id, 0, ID_MAX)), what);

    place->line = node->line;
    place->number = c->policy->condition_count++;
    place->label = compiler_copy(c, span_of(label, len > 0 ? (size_t)len : 0));
}

/* `arguments: by_schema` asks for the schema of the tool's definition, which a server says and people have accepted. */
static void compile_arguments(struct compiler *c, const struct yaml_node *node, struct rule *rule)
{
    static const char *const words[] = {"by_schema", NULL};

    if (node == NULL || compiler_word(c, node, words) != 0)
        return;
    if (rule->effect == EFFECT_FORBID)
        FAULT_KEY(c, node, "a forbid has no `arguments`; what does not fit is denied where the permit says `arguments: "
                  "by_schema`");
    else if (!rule->match.by[DIM_TOOL].given)
        FAULT_KEY(c, node, "`arguments: by_schema` asks for the schema of a tool; name `tools` in `match`");
    rule->by_schema = true;
    rule->schema.kind = CONDITION_ALL;
    rule->schema.opening = true;
    set_place(c, node, &rule->schema, rule, "arguments by_schema");
}

static void compile_only_args(struct compiler *c, const struct yaml_node *list, struct rule *rule)
{
    struct span *args;

    if (list == NULL)
        return;
    if (rule->effect == EFFECT_FORBID)
        FAULT_KEY(c, list, "a forbid has no `only_args`; name the unwanted argument with {arg: NAME, exists: true}");
    if (!compiler_is_list(c, list))
        return;
    rule->restricts_args = true;
    c->policy->meta_asks[false].all |= !c->needs_arguments; /* `only_args` sees whether `$` has a _meta */
    rule->args = args = compiler_alloc(c, list->count, sizeof *args);
    for (const struct yaml_node *member = list->child; args != NULL && member != NULL; member = member->next)
        if (compiler_is_string(c, member))
            args[rule->arg_count++] = compiler_copy(c, member->text);
    if (rule->arg_count > 0)
        qsort(args, rule->arg_count, sizeof *args, span_order);
    set_place(c, list, &rule->only_args, rule, "only_args");
}

/* Whether the match names tools or prompts: in calls of these `$` is params.arguments. */
static bool has_arguments(const struct match *match)
{
    bool has = match->by[DIM_TOOL].given || match->by[DIM_PROMPT].given, all = match->by[DIM_LABEL].given;

    for (uint32_t i = 0; i < match->by[DIM_LABEL].count; i++)
        for (uint32_t j = 0; j < match->by[DIM_LABEL].name[i].label->count; j++)
            all = all && has_arguments(&match->by[DIM_LABEL].name[i].label->any[j]);
    return has || all;
}

/* Of what denies by itself. A permit denies nothing; of what is held `notify` tells. */
static void compile_alert(struct compiler *c, const struct yaml_node *node, struct rule *rule)
{
    if (node == NULL)
        return;
    if (node->type != YAML_BOOL || !node->truth)
        FAULT(c, node, "`alert` is true: whom `alerts` of the configuration names is told of what the rule denies; for nobody, "
              "leave the line out");
    else if (rule->effect == EFFECT_PERMIT)
        FAULT_KEY(c, node, "a permit denies nothing of which it could tell; write `alert: true` on the forbid or "
                  "require_approval whose denials are meant");
    rule->alerts = true;
}

#define STOP_MAX_MS (UINT64_C(366) * 86400 * 1000)

/* Whom the rule stops beside the call that it denies. */
static void compile_stop(struct compiler *c, const struct yaml_node *node, struct rule *rule)
{
    static const char *const keys[VERDICT_STOPS + 1] = {"session", "principal", "agent", NULL};

    if (node == NULL || !compiler_is_map_of(c, node, keys, "`stop`"))
        return;
    if (rule->effect != EFFECT_FORBID)
        FAULT_KEY(c, node, "what is stopped is denied already; write `stop` on a forbid");
    else if (node->count == 0)
        FAULT(c, node, "an empty `stop` stops nobody; write how long, as in {principal: 1h}");
    rule->stops = true;
    for (int stop = 0; stop < VERDICT_STOPS; stop++) {
        const struct yaml_node *lasts = yaml_member(node, keys[stop]);
        uint64_t ms = 0;

        if (lasts != NULL && (lasts->type != YAML_STRING || num_duration(lasts->text, &ms) != CODE_OK || ms == 0 ||
                              ms > STOP_MAX_MS))
            FAULT(c, lasts, "how long the %s is stopped is a time of at most 366 days; write one such as 30min, 1h or 7d",
                  keys[stop]);
        else
            rule->stops_us[stop] = (int64_t)ms * 1000;
    }
}

const char *const policy_rule_keys[] = {"id", "effect", "match", "when", "only_args", "arguments", "limit", "approvals",
                                        "approvers", "until", "mode", "reason", "say", "alert", "stop", "slow_regex", "",
                                        "during", "session", "client", "annotations", "plan", NULL};

/* {NAME: {...}} and {permit: {...}}, as other languages have them. */
static bool is_turned_inside_out(struct compiler *c, const struct yaml_node *node)
{
    const struct yaml_node *only = node->type == YAML_MAP && node->count == 1 ? node->child : NULL;
    bool is_effect = only != NULL && (span_is(only->key, "permit") || span_is(only->key, "forbid"));

    if (only == NULL || only->type != YAML_MAP || span_is(only->key, "match"))
        return false;
    FAULT_KEY(c, only, "a rule is one map with its id and its effect in it; write {id: %.*s, effect: %.*s, match: {...}}",
              SPAN_ARG(is_effect ? SPAN_LIT("NAME") : only->key), SPAN_ARG(is_effect ? only->key : SPAN_LIT("permit")));
    return true;
}

/* A permit that names agents gives the agent's half, and the person's as well where it says who that is, too. Any other gives
 * the person's. What a person grants gives what his rule would, were it a permit. */
static unsigned char halves_of(const struct compiler *c, const struct rule *rule)
{
    const struct names *by = rule->match.by;
    bool of_person = by[DIM_PRINCIPAL].given || by[DIM_GROUP].given || by[DIM_SCOPE].given || c->asks_claim;

    if (rule->effect == EFFECT_FORBID)
        return HALVES_BOTH;
    if (!by[DIM_AGENT].given)
        return 1U << HALF_PERSON;
    return of_person ? HALVES_BOTH : 1U << HALF_AGENT;
}

void compile__rule(struct compiler *c, const struct yaml_node *node, struct rule *rule)
{
    size_t before = c->faults->added;

    *rule = (struct rule){.id = SPAN_LIT("?"), .source = c->source, .line = node->line, .column = node->column,
                          .monitor = c->source->monitor};
    if (is_turned_inside_out(c, node) || !compiler_is_map_of(c, node, policy_rule_keys, "a rule"))
        return;
    compile__misplaced_fact(c, node);
    compile_id(c, node, rule);
    compile_effect(c, node, rule);
    c->effect = rule->effect;
    c->of_answers = false;
    compile__mode(c, node, &rule->monitor);
    compile_slow_regex(c, node);
    compile__match(c, yaml_member(node, "match"), rule->effect == EFFECT_PERMIT, &rule->match);
    c->needs_arguments = has_arguments(&rule->match);
    c->asks_claim = false;
    rule->when = compile__when(c, yaml_member(node, "when"));
    rule->halves = halves_of(c, rule);
    compile_only_args(c, yaml_member(node, "only_args"), rule);
    compile_arguments(c, yaml_member(node, "arguments"), rule);
    rule->limit = compile__limit(c, yaml_member(node, "limit"));
    for (const struct policy_limit *limit = rule->limit; limit != NULL; limit = limit->next)
        rule->asks |= limit->asks;
    compile__people(c, node, rule);
    if (rule->effect == EFFECT_REQUIRE_APPROVAL || rule->asks) {
        rule->people.rule_hash = compile__hash_rule(c, node);
        c->policy->holds = true;
    }
    compile__until(c, yaml_member(node, "until"), rule);
    rule->reason = rule->people.reason = compile_sentence(c, yaml_member(node, "reason"), REASON_MAX);
    rule->say = compile_sentence(c, yaml_member(node, "say"), SAY_MAX);
    compile_alert(c, yaml_member(node, "alert"), rule);
    compile_stop(c, yaml_member(node, "stop"), rule);
    if (c->faults->added == before && c->warnings != NULL)
        c->author->warn_rule(c, node);
}

/* ---- rules for answers ---- */

static void compile_answer_effect(struct compiler *c, const struct yaml_node *node, struct rule *rule)
{
    static const char *const words[] = {"flag", "redact", "withhold", NULL};
    const struct yaml_node *effect = yaml_member(node, "effect");
    int word = effect != NULL ? compiler_word(c, effect, words) : -1;

    if (effect == NULL)
        FAULT(c, node, "a rule for answers has no `effect`; write redact, withhold or flag");
    rule->effect = EFFECT_FORBID; /* its conditions close, as those of a forbid */
    rule->answer = word >= 0 ? (enum answer_effect)(ANSWER_FLAG + word) : ANSWER_WITHHOLD;
}

const char *const policy_answer_keys[] = {"id", "effect", "match", "when", "until", "mode", "reason", "say",
                                          "slow_regex", "", "during", "session", "client", "annotations", "plan",
                                          "size", "media", NULL};

void compile__answer(struct compiler *c, const struct yaml_node *node, struct rule *rule)
{
    *rule = (struct rule){.id = SPAN_LIT("?"), .source = c->source, .line = node->line, .column = node->column,
                          .monitor = c->source->monitor};
    if (!compiler_is_map_of(c, node, policy_answer_keys, "a rule for answers"))
        return;
    compile__misplaced_fact(c, node);
    compile_id(c, node, rule);
    compile_answer_effect(c, node, rule);
    c->effect = rule->effect;
    c->of_answers = true;
    c->rule = rule;
    compile__mode(c, node, &rule->monitor);
    compile_slow_regex(c, node);
    compile__match(c, yaml_member(node, "match"), false, &rule->match);
    if (!rule->match.by[DIM_METHOD].given && !rule->match.by[DIM_RESOURCE].given && !rule->match.by[DIM_LABEL].given)
        rule->match.by[DIM_METHOD] = policy_answer_methods;
    c->needs_arguments = true;
    rule->when = compile__when(c, yaml_member(node, "when"));
    compile__until(c, yaml_member(node, "until"), rule);
    rule->reason = compile_sentence(c, yaml_member(node, "reason"), REASON_MAX);
    rule->say = compile_sentence(c, yaml_member(node, "say"), SAY_MAX);
    if (c->warnings != NULL)
        c->author->warn_rule(c, node);
}

/* ---- redactions of the record ---- */

/* Takes: list NULL: there is none. */
static const struct path *compile_paths(struct compiler *c, const struct yaml_node *list, const char *example, uint32_t *count)
{
    struct path *paths;

    if (!compiler_is_list(c, list))
        return NULL;
    if (list->count == 0)
        FAULT(c, list, "an empty list redacts nothing; name %s, or write ['$'] for all", example);
    paths = compiler_alloc(c, list->count, sizeof *paths);
    for (const struct yaml_node *member = list->child; paths != NULL && member != NULL; member = member->next)
        compiler_path(c, member, &paths[(*count)++]);
    return paths;
}

static void compile_redact_query(struct compiler *c, const struct yaml_node *node, struct redaction *redaction)
{
    if (node != NULL && node->type == YAML_BOOL && node->truth)
        redaction->query = true;
    else if (node != NULL)
        FAULT(c, node, "`query` of a redaction is true: the query is left out as a whole; for none, leave the line out");
}

const char *const policy_redaction_keys[] = {"match", "args", "params", "answer", "query", NULL};

void compile__redaction(struct compiler *c, const struct yaml_node *node, struct redaction *redaction)
{
    static const struct { const char *key, *example; } parts[REDACT_PART_COUNT] = {
        [REDACT_ARGS] = {"args", "the arguments"},
        [REDACT_PARAMS] = {"params", "members of `params`"},
        [REDACT_ANSWER] = {"answer", "parts of the answer"},
    };
    const struct yaml_node *query = yaml_member(node, "query");
    bool any = query != NULL;

    *redaction = (struct redaction){.source = c->source, .line = node->line, .column = node->column};
    if (!compiler_is_map_of(c, node, policy_redaction_keys, "a redaction"))
        return;
    c->slow_allowed = false;
    compile__match(c, yaml_member(node, "match"), false, &redaction->match);
    for (enum redaction_part part = REDACT_ARGS; part < REDACT_PART_COUNT; part++) {
        const struct yaml_node *list = yaml_member(node, parts[part].key);

        any |= list != NULL;
        redaction->of[part].path = compile_paths(c, list, parts[part].example, &redaction->of[part].count);
    }
    compile_redact_query(c, query, redaction);
    if (!any)
        FAULT(c, node, "a redaction has no `args`, `params`, `answer` or `query`; name what is left out, as in args: "
              "[password, '$.auth.token'], params: ['$._meta.token'], answer: ['$.content[*].text'] or query: true");
}
