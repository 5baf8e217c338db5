/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/compile_priv.h"

#include "unicode/unicode.h"

#include <stdio.h>
#include <stdlib.h>

#define ID_MAX 128
#define SAY_MAX 200
#define REASON_MAX 1000

/* Ids go into the audit, into replies of commands and onto command lines. */
static bool is_id(struct span text)
{
    if (text.len == 0 || text.len > ID_MAX)
        return false;
    for (size_t i = 0; i < text.len; i++)
        if (text.at[i] <= ' ' || text.at[i] > '~' || text.at[i] == '"' || text.at[i] == '\\')
            return false;
    return true;
}

static enum code compile_id(struct compiler *c, const struct yaml_node *node, struct rule *rule)
{
    const struct yaml_node *id = yaml_member(node, "id");
    enum code code;

    rule->id = SPAN_LIT("?");
    if (id == NULL) {
        FAULT(c, node, "a rule has no `id`; add one that is unique over all files, such as team.reading");
    } else if (policy__is_string(c, id)) {
        if (!is_id(id->text))
            FAULT(c, id, "`%.*s` is no id; write 1 to %d visible ASCII characters without blanks and quotes",
                  SPAN_ARG(span_part(id->text, 0, ID_MAX)), ID_MAX);
        code = policy__copy(c, id->text, &rule->id);
        if (code != CODE_OK)
            return code;
    }
    c->rule_id = rule->id;
    return CODE_OK;
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
    word = policy__word(c, effect, words);
    if (word >= 0)
        rule->effect = effects[word];
}

static void compile_mode(struct compiler *c, const struct yaml_node *node, bool *monitor)
{
    static const char *const words[] = {"enforce", "monitor", NULL};
    const struct yaml_node *mode = yaml_member(node, "mode");

    if (mode != NULL)
        *monitor = policy__word(c, mode, words) == 1;
}

static void compile_slow_regex(struct compiler *c, const struct yaml_node *node)
{
    static const char *const words[] = {"allow", NULL};
    const struct yaml_node *slow = yaml_member(node, "slow_regex");

    c->slow_allowed = slow != NULL && policy__word(c, slow, words) == 0;
}

static enum code compile_sentence(struct compiler *c, const struct yaml_node *text, size_t max, struct span *sentence)
{
    if (text == NULL || !policy__is_string(c, text))
        return CODE_OK;
    if (text->text.len == 0)
        FAULT(c, text, "an empty `%.*s` says nothing; leave it out", SPAN_ARG(text->key));
    if (unicode_count(text->text) > max)
        FAULT(c, text, "`%.*s` holds more than %zu characters; say it shorter", SPAN_ARG(text->key), max);
    if (unicode_is_deceptive(text->text))
        FAULT(c, text, "`%.*s` holds invisible or control characters; write plain text", SPAN_ARG(text->key));
    return policy__copy(c, text->text, sentence);
}

static int by_bytes(const void *a, const void *b)
{
    return span_compare(*(const struct span *)a, *(const struct span *)b);
}

static enum code compile_only_args(struct compiler *c, const struct yaml_node *list, struct rule *rule)
{
    struct span *args;
    char label[ID_MAX + 16];
    int len;

    if (list == NULL)
        return CODE_OK;
    if (rule->effect != EFFECT_PERMIT)
        FAULT_KEY(c, list, "`only_args` is for permits; in a forbid name the unwanted argument with {arg: NAME, exists: true}");
    if (!policy__is_list(c, list))
        return CODE_OK;
    rule->restricts_args = true;
    c->policy->meta_asks[false].all |= !c->needs_arguments; /* it sees whether `$` has a _meta */
    rule->args = args = policy__alloc(c, list->count, sizeof *args);
    if (args == NULL)
        return CODE_NOMEM;
    for (const struct yaml_node *member = list->child; member != NULL; member = member->next)
        if (policy__is_string(c, member)) {
            enum code code = policy__copy(c, member->text, &args[rule->arg_count]);

            if (code != CODE_OK)
                return code;
            rule->arg_count++;
        }
    qsort(args, rule->arg_count, sizeof *args, by_bytes);
    len = snprintf(label, sizeof label, "%.*s: only_args", SPAN_ARG(span_part(rule->id, 0, ID_MAX)));
    rule->only_args.line = list->line;
    return policy__copy(c, span_of(label, len > 0 ? (size_t)len : 0), &rule->only_args.label);
}

enum code policy__compile_rule(struct compiler *c, const struct yaml_node *node, struct rule *rule)
{
    static const char *const known[] = {"id", "effect", "match", "when", "only_args", "reason", "say", "mode", "slow_regex",
                                        "limit", "during", "session", "client", "annotations", NULL};
    const struct yaml_node *when;
    enum code code;

    *rule = (struct rule){.source = c->source, .line = node->line, .column = node->column, .monitor = c->source->monitor};
    rule->id = SPAN_LIT("?");
    if (!policy__is_map(c, node))
        return CODE_OK;
    policy__check_keys(c, node, known, "a rule");
    policy__misplaced_fact(c, node);
    code = compile_id(c, node, rule);
    if (code != CODE_OK)
        return code;
    compile_effect(c, node, rule);
    c->effect = rule->effect;
    if (rule->effect == EFFECT_REQUIRE_APPROVAL)
        policy__hash_rule(c, node, rule->hash);
    compile_mode(c, node, &rule->monitor);
    compile_slow_regex(c, node);
    code = policy__compile_match(c, yaml_member(node, "match"), rule->effect == EFFECT_PERMIT, &rule->match);
    c->needs_arguments = rule->match.by[DIM_TOOL].given || rule->match.by[DIM_PROMPT].given;
    when = yaml_member(node, "when");
    if (code == CODE_OK && when != NULL)
        code = policy__compile_when(c, when, &rule->when);
    if (code == CODE_OK)
        code = compile_only_args(c, yaml_member(node, "only_args"), rule);
    if (code == CODE_OK)
        code = policy__compile_limit(c, yaml_member(node, "limit"), &rule->limit);
    if (code == CODE_OK)
        code = compile_sentence(c, yaml_member(node, "reason"), REASON_MAX, &rule->reason);
    if (code == CODE_OK)
        code = compile_sentence(c, yaml_member(node, "say"), SAY_MAX, &rule->say);
    return code;
}

/* Takes: list NULL: there is none. */
static enum code compile_paths(struct compiler *c, const struct yaml_node *list, const char *example, const struct path **out,
                               uint32_t *count)
{
    struct path *paths;
    enum code code = CODE_OK;

    if (list == NULL || !policy__is_list(c, list))
        return CODE_OK;
    if (list->count == 0)
        FAULT(c, list, "an empty list redacts nothing; name %s, or write ['$'] for all", example);
    *out = paths = policy__alloc(c, list->count, sizeof *paths);
    if (paths == NULL)
        return CODE_NOMEM;
    for (const struct yaml_node *member = list->child; member != NULL && code == CODE_OK; member = member->next)
        code = policy__path(c, member, &paths[(*count)++]);
    return code;
}

static void compile_redact_query(struct compiler *c, const struct yaml_node *node, struct redaction *redaction)
{
    if (node != NULL && node->type == YAML_BOOL && node->truth)
        redaction->query = true;
    else if (node != NULL)
        FAULT(c, node, "`query` of a redaction is true: the query is left out as a whole; for none, leave the line out");
}

enum code policy__compile_redaction(struct compiler *c, const struct yaml_node *node, struct redaction *redaction)
{
    static const char *const known[] = {"match", "args", "params", "answer", "query", NULL};
    static const struct { const char *key, *example; } parts[REDACT_PART_COUNT] = {
        [REDACT_ARGS] = {"args", "the arguments"},
        [REDACT_PARAMS] = {"params", "members of `params`"},
        [REDACT_ANSWER] = {"answer", "parts of the answer"},
    };
    enum code code;
    bool any = false;

    *redaction = (struct redaction){.query = false};
    if (!policy__is_map(c, node))
        return CODE_OK;
    policy__check_keys(c, node, known, "a redaction");
    c->slow_allowed = false;
    code = policy__compile_match(c, yaml_member(node, "match"), false, &redaction->match);
    for (enum redaction_part part = REDACT_ARGS; part < REDACT_PART_COUNT && code == CODE_OK; part++) {
        const struct yaml_node *list = yaml_member(node, parts[part].key);

        any |= list != NULL;
        code = compile_paths(c, list, parts[part].example, &redaction->of[part].path, &redaction->of[part].count);
    }
    if (code == CODE_OK)
        compile_redact_query(c, yaml_member(node, "query"), redaction);
    if (code == CODE_OK && !any && yaml_member(node, "query") == NULL)
        FAULT(c, node, "a redaction has no `args`, `params`, `answer` or `query`; name what is left out, as in args: "
              "[password, '$.auth.token'], params: ['$._meta.token'], answer: ['$.content[*].text'] or query: true");
    return code;
}
