/* SPDX-License-Identifier: Apache-2.0 */
#include "language/compile_priv.h"

#include "base/num.h"

const struct yaml_node *compile__fact_node(const struct yaml_node *condition, enum fact_kind *kind)
{
    for (*kind = FACT_DURING; *kind < FACT_COUNT; ++*kind) {
        const struct yaml_node *node = yaml_member(condition, policy_fact_text[*kind]);

        if (node != NULL)
            return node;
    }
    return NULL;
}

void compile__misplaced_fact(struct compiler *c, const struct yaml_node *map)
{
    enum fact_kind kind;
    const struct yaml_node *node = compile__fact_node(map, &kind);

    if (node != NULL)
        FAULT_KEY(c, node, "`%s` is a condition; write it under `when`, as in when: [{%s: ...}]", policy_fact_text[kind],
                  policy_fact_text[kind]);
}

bool compile__absent_applies(struct compiler *c, const struct yaml_node *absent)
{
    static const char *const words[] = {"applies", "ignored", NULL};

    return compiler_word(c, absent, words) == 0;
}

void compile__hints(struct compiler *c, const struct yaml_node *map, enum policy_known hints[POLICY_HINT_COUNT])
{
    if (!compiler_is_map_of(c, map, policy_hint_text, "`annotations`"))
        return;
    for (int hint = 0; hint < POLICY_HINT_COUNT; hint++) {
        const struct yaml_node *member = yaml_member(map, policy_hint_text[hint]);

        if (member == NULL)
            continue;
        hints[hint] = member->truth ? POLICY_YES : POLICY_NO;
        if (member->type != YAML_BOOL)
            FAULT(c, member, "a hint is true or false%s", yaml_bool_words(member));
    }
}

/* Meaning 7: a hint that is not known lets the rule apply only where its author says so. */
static void compile_annotations(struct compiler *c, const struct yaml_node *node, const struct yaml_node *absent, bool negated,
                                struct fact *fact)
{
    enum policy_known hints[POLICY_HINT_COUNT] = {POLICY_UNKNOWN};

    if (c->effect == EFFECT_PERMIT)
        FAULT_KEY(c, node, "annotations are a server's own words, which no permit may trust; ask for them in a forbid or "
                  "require_approval");
    compile__hints(c, node, hints);
    if (node->type != YAML_MAP)
        return;
    if (node->count == 0)
        FAULT(c, node, "`annotations` asks nothing; write a hint, as in {destructiveHint: true}");
    for (int hint = 0; hint < POLICY_HINT_COUNT; hint++) {
        fact->asks[hint] = hints[hint] != POLICY_UNKNOWN;
        fact->wants[hint] = hints[hint] == POLICY_YES;
    }
    fact->opening = negated; /* only rules that close ask for annotations */
    fact->absent = (absent != NULL && compile__absent_applies(c, absent)) != negated ? TRUTH_TRUE : TRUTH_FALSE;
    if (absent == NULL && c->warnings != NULL && c->effect != EFFECT_PERMIT)
        WARN_KEY(c, node,
                 "what a server has not said of its tool is not known, and always so before the first tools/list; write "
                 "`absent: applies` if this %s should then apply, `absent: ignored` if not",
                 c->of_answers ? "rule" : effect_text(c->effect));
}

static void compile_plan(struct compiler *c, const struct yaml_node *node)
{
    static const char *const words[] = {"required", NULL};

    (void)compiler_word(c, node, words);
}

/* ---- of answers ---- */

static void compile_size(struct compiler *c, const struct yaml_node *node, const struct yaml_node *max, struct fact *fact)
{
    static const char *const words[] = {"result", NULL};

    (void)compiler_word(c, node, words);
    fact->written = compiler_written(c, max != NULL ? max : node);
    if (max == NULL)
        FAULT(c, node, "`size` has no `max`; write {size: result, max: 1 MiB}, which holds where the result is larger");
    else if ((max->type != YAML_STRING && max->type != YAML_INT) ||
             num_size(max->type == YAML_STRING ? max->text : max->json, &fact->most) != CODE_OK)
        FAULT(c, max, "`max` of a size is a number of bytes; write one such as 64 KiB, 1 MiB or 5000");
}

static void take_media(struct compiler *c, const struct yaml_node *text, void *part)
{
    struct span copy = compiler_lower(c, text->text);

    if (span_find(copy, '/') == copy.len && !span_is(copy, "*"))
        FAULT(c, text, "`%.*s` is no media type; write one such as image/png, or a glob such as image/*", SPAN_ARG(text->text));
    *(struct span *)part = copy;
}

const struct fact *compile__fact(struct compiler *c, const struct yaml_node *condition, bool negated)
{
    struct fact *fact = compiler_alloc(c, 1, sizeof *fact);
    enum fact_kind kind;
    const struct yaml_node *node = compile__fact_node(condition, &kind), *absent = yaml_member(condition, "absent");
    bool takes_more = kind == FACT_ANNOTATIONS ? absent != NULL : kind == FACT_SIZE && yaml_member(condition, "max") != NULL;

    if (fact == NULL)
        return NULL;
    fact->kind = kind;
    fact->written = compiler_written(c, node);
    if (c->of_answers ? kind == FACT_PLAN : kind == FACT_SIZE || kind == FACT_MEDIA)
        FAULT_KEY(c, node, "`%s` asks about %s; write it in a rule under `%s:`", policy_fact_text[kind],
                  c->of_answers ? "a call" : "what came back", c->of_answers ? "rules" : "answers");
    if (condition->count != 1U + takes_more)
        FAULT(c, condition, "`%s` stands alone in its condition%s; write another entry for the rest", policy_fact_text[kind],
              kind == FACT_ANNOTATIONS ? ", but for `absent`" : kind == FACT_SIZE ? ", but for `max`" : "");
    switch (kind) {
    case FACT_DURING: compile__during(c, node, fact); break;
    case FACT_SESSION: compile__session(c, node, fact); break;
    case FACT_CLIENT: fact->ranges = compiler_ranges(c, node, &fact->count); break;
    case FACT_ANNOTATIONS: compile_annotations(c, node, absent, negated, fact); break;
    case FACT_PLAN: compile_plan(c, node); break;
    case FACT_SIZE: compile_size(c, node, yaml_member(condition, "max"), fact); break;
    case FACT_MEDIA: fact->globs = compiler_texts(c, node, sizeof *fact->globs, take_media, &fact->count); break;
    case FACT_COUNT: break;
    }
    return fact;
}
