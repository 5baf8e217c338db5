/* SPDX-License-Identifier: Apache-2.0 */
#include "diff/diff_priv.h"
#include "author/words.h"

#include <stdarg.h>
#include <stdio.h>

#define TEXT_MAX_BYTES ((size_t)1 << 20)

bool diff__holds(const struct diff_telling *t, const struct yaml_node *list, bool is_before, const struct yaml_node *wanted)
{
    const struct diff_rule *here = is_before ? &t->pair->before : &t->pair->after;
    const struct diff_rule *there = is_before ? &t->pair->after : &t->pair->before;

    for (const struct yaml_node *member = list ? list->child : NULL; member != NULL; member = member->next)
        if (diff__same(here, member, there, wanted))
            return true;
    return false;
}

/* ---- ways ---- */

enum diff_way diff__way_of(const struct diff_pair *pair, bool wider)
{
    const struct rule *rule = pair->after.rule ? pair->after.rule : pair->before.rule;

    if (rule->monitor)
        return DIFF_NOTHING;
    if (pair->before.rule != NULL && pair->after.rule != NULL &&
        (pair->before.rule->effect != rule->effect || pair->before.rule->answer != rule->answer))
        return DIFF_EITHER;
    if (rule->answer == ANSWER_FLAG)
        return DIFF_NOTHING;
    if (rule->answer != ANSWER_NONE)
        return wider ? DIFF_KEEPS_BACK : DIFF_LETS_BACK;
    switch (rule->effect) {
    case EFFECT_PERMIT: return wider ? DIFF_PERMITS : DIFF_DENIES;
    case EFFECT_FORBID: return wider ? DIFF_DENIES : DIFF_PERMITS;
    case EFFECT_REQUIRE_APPROVAL: return wider ? DIFF_HOLDS : DIFF_RELEASES;
    }
    return DIFF_EITHER;
}

enum diff_way diff__either(const struct diff_pair *pair)
{
    return diff__way_of(pair, true) == DIFF_NOTHING ? DIFF_NOTHING : DIFF_EITHER;
}

/* The change that says the same already; or NULL. */
static struct diff_change *said_before(const struct diff *diff, const struct diff_change *change, struct span text)
{
    for (size_t i = 0; i < diff->change_count; i++) {
        struct diff_change *said = &diff->changes[i];

        if (said->sites != NULL && said->way == change->way && span_equals(said->text, text) &&
            span_equals(said->file, change->file) && (strcmp(said->effect, change->effect) == 0 || said->way == DIFF_NOTHING))
            return said;
    }
    return NULL;
}

static struct diff_change *add_change(struct diff_telling *t, const struct diff_change *change)
{
    struct diff *diff = t->diff;
    char *text = arena_dup(&diff->arena, buf_peek(&t->text).at, buf_len(&t->text));

    struct diff_change *changes = mem_room(diff->changes, &diff->change_room, diff->change_count + 1, sizeof *changes);

    if (changes == NULL)
        return NULL;
    diff->changes = changes;
    if (text == NULL)
        return NULL;
    diff->changes[diff->change_count] = *change;
    diff->changes[diff->change_count].text = span_of(text, buf_len(&t->text));
    return &diff->changes[diff->change_count++];
}

/* Notes that the change is this rule's, too. */
static void add_site(struct diff_telling *t, struct diff_change *change)
{
    struct diff_site *site = change != NULL ? arena_zalloc(&t->diff->arena, sizeof *site) : NULL, **last;

    if (site == NULL) {
        t->code = CODE_NOMEM;
        return;
    }
    *site = (struct diff_site){.rules = {t->pair->before.rule, t->pair->after.rule}, .part = t->part,
                               .at = {t->at[0], t->at[1]}};
    for (last = &change->sites; *last != NULL; last = &(*last)->next)
        ;
    *last = site;
}

void diff__keep_as(struct diff_telling *t, enum diff_way way, bool is_shared)
{
    const struct rule *rule = t->pair == NULL ? NULL : t->pair->after.rule ? t->pair->after.rule : t->pair->before.rule;
    struct diff_change change = {.way = way}, *kept = NULL;

    if (t->code == CODE_OK)
        t->code = buf_code(&t->text);
    if (rule != NULL) {
        change.rule = rule->id;
        change.effect = words_effect(rule);
        change.file = rule->source->path;
        change.line = rule->line;
        t->pair->differs |= way != DIFF_NOTHING || rule->answer == ANSWER_FLAG;
    }
    if (t->code == CODE_OK) {
        kept = is_shared ? said_before(t->diff, &change, buf_peek(&t->text)) : NULL;
        if (kept == NULL)
            kept = add_change(t, &change);
        if (kept == NULL)
            t->code = CODE_NOMEM;
        else if (rule != NULL)
            add_site(t, kept);
    }
    buf_clear(&t->text);
}

void diff__keep(struct diff_telling *t, enum diff_way way)
{
    diff__keep_as(t, way, false);
}

/* ---- lists of names ---- */

static uint32_t say_missing(struct diff_telling *t, const struct yaml_node *from, const struct yaml_node *list, bool is_before)
{
    uint32_t count = 0;

    for (const struct yaml_node *member = from->child; member != NULL; member = member->next) {
        if (diff__holds(t, list, is_before, member))
            continue;
        SAY(t, "%s", count++ > 0 ? ", " : "");
        diff__say(&t->text, member);
    }
    return count;
}

/* Methods have a usual value, which hangs on what else is named (Meaning 10); a permit's is tools/call. */
static bool moves_methods(const struct diff_telling *t, const char *what)
{
    const struct rule *rule = t->pair->after.rule ? t->pair->after.rule : t->pair->before.rule;

    return strcmp(what, "match.methods") == 0 ||
           (rule->effect == EFFECT_PERMIT && (strcmp(what, "match.resources") == 0 || strcmp(what, "match.prompts") == 0 ||
                                               strcmp(what, "match.labels") == 0));
}

/* With another argument a permit does not apply, and a require_approval denies. */
static enum diff_way list_way(const struct diff_telling *t, const char *what, bool wider)
{
    bool bars = strcmp(what, "only_args") == 0 && t->pair->after.rule->effect == EFFECT_REQUIRE_APPROVAL;

    return bars ? diff__either(t->pair) : diff__way_of(t->pair, wider);
}

static void compare_list(struct diff_telling *t, const char *what, const struct yaml_node *before,
                         const struct yaml_node *after)
{
    if (before == NULL || after == NULL) {
        SAY(t, before == NULL ? "%s is now " : "%s is left out; it was ", what);
        diff__say(&t->text, before ? before : after);
        diff__keep(t, moves_methods(t, what) ? diff__either(t->pair) : list_way(t, what, after == NULL));
        return;
    }
    SAY(t, "%s also takes ", what);
    if (say_missing(t, after, before, true) > 0)
        diff__keep(t, list_way(t, what, true));
    buf_clear(&t->text);
    SAY(t, "%s no longer takes ", what);
    if (say_missing(t, before, after, false) > 0)
        diff__keep(t, list_way(t, what, false));
    buf_clear(&t->text);
}

typedef void (*compare_fn)(struct diff_telling *t, const struct yaml_node *before, const struct yaml_node *after);

/* Each member that stands on either side, those of the old one first. Takes: maps, or NULL. */
static void each_member(struct diff_telling *t, const struct yaml_node *before, const struct yaml_node *after,
                        compare_fn compare)
{
    for (const struct yaml_node *member = before ? before->child : NULL; member != NULL; member = member->next)
        compare(t, member, after ? diff__member(after, member->key) : NULL);
    for (const struct yaml_node *member = after ? after->child : NULL; member != NULL; member = member->next)
        if (before == NULL || diff__member(before, member->key) == NULL)
            compare(t, NULL, member);
}

static void compare_names(struct diff_telling *t, const struct yaml_node *before, const struct yaml_node *after)
{
    struct span key = before ? before->key : after->key;
    char what[64];

    t->part = DIFF_NAMES;
    for (t->at[0] = 0; t->at[0] + 1 < DIM_COUNT && !span_is(key, policy_dimension_text[t->at[0]]); t->at[0]++)
        ;
    snprintf(what, sizeof what, "match.%.*s", SPAN_ARG(span_part(key, 0, 40)));
    compare_list(t, what, before, after);
    if (t->at[0] == DIM_LABEL && before != NULL && after != NULL)
        diff__compare_definitions(t, key, before, diff__either(t->pair));
}

/* ---- everything else ---- */

static enum diff_way other_way(const struct diff_telling *t, struct span key, const struct yaml_node *before,
                               const struct yaml_node *after)
{
    static const char *const harmless[] = {"reason", "say", "alert", "slow_regex", NULL};
    bool wider = false;

    for (const char *const *word = harmless; *word != NULL; word++)
        if (span_is(key, *word))
            return DIFF_NOTHING;
    if (span_is(key, "arguments") && t->pair->after.rule->effect == EFFECT_REQUIRE_APPROVAL)
        return diff__either(t->pair); /* what does not fit is denied where it was held */
    if (span_is(key, "approvals") || span_is(key, "approvers"))
        return diff__either(t->pair); /* no call is judged otherwise, and fewer people, more, or others let it go */
    if (before == NULL || after == NULL)
        return diff__way_of(t->pair, after == NULL);
    if (span_is(key, "until"))
        return diff__way_of(t->pair, t->pair->after.rule->until_us > t->pair->before.rule->until_us);
    return diff__is_one_way(t, before, after, &wider) ? diff__way_of(t->pair, wider) : diff__either(t->pair);
}

static void compare_other(struct diff_telling *t, const struct yaml_node *before, const struct yaml_node *after)
{
    struct span key = before ? before->key : after->key;

    SAY(t, "`%.*s` ", SPAN_ARG(key));
    if (after != NULL) {
        SAY(t, "is now ");
        diff__say(&t->text, after);
    }
    if (before != NULL) {
        SAY(t, after != NULL ? "; it was " : "is left out; it was ");
        diff__say(&t->text, before);
    }
    t->part = span_is(key, "limit") ? DIFF_LIMIT : span_is(key, "until") ? DIFF_UNTIL : DIFF_WHOLE;
    if (span_is(key, "arguments"))
        t->part = DIFF_ARGS;
    diff__keep(t, other_way(t, key, before, after));
}

static void compare_member(struct diff_telling *t, const struct yaml_node *before, const struct yaml_node *after)
{
    struct span key = before ? before->key : after->key;

    if (span_is(key, "id") || span_is(key, "effect") || span_is(key, "mode"))
        return; /* told from what they became */
    if (span_is(key, "when")) {
        diff__compare_when(t, before, after);
        return;
    }
    if (before != NULL && after != NULL && diff__same(&t->pair->before, before, &t->pair->after, after))
        return;
    t->part = DIFF_ARGS;
    if (span_is(key, "match"))
        each_member(t, before, after, compare_names);
    else if (span_is(key, "only_args"))
        compare_list(t, "only_args", before, after);
    else
        compare_other(t, before, after);
}

/* What was held is perhaps denied now: an undecided require_approval applied, an undecided permit does not. */
static enum diff_way effect_way(const struct rule *before, const struct rule *after)
{
    if (before->monitor && after->monitor)
        return DIFF_NOTHING;
    if (after->answer != ANSWER_NONE)
        return after->answer > before->answer ? DIFF_KEEPS_BACK : DIFF_LETS_BACK;
    if (after->effect == EFFECT_PERMIT)
        return before->effect == EFFECT_FORBID ? DIFF_PERMITS : DIFF_RELEASES;
    return after->effect == EFFECT_FORBID ? DIFF_DENIES : DIFF_HOLDS;
}

static void compare_nature(struct diff_telling *t, const struct rule *before, const struct rule *after)
{
    if (before->effect != after->effect || before->answer != after->answer) {
        SAY(t, "is a %s, was a %s", words_effect(after), words_effect(before));
        diff__keep(t, effect_way(before, after));
    }
    if (before->monitor != after->monitor) {
        struct diff_pair enforced = {.after.rule = before->monitor ? after : before};

        SAY(t, after->monitor ? "is only monitored, was enforced" : "is enforced, was only monitored");
        diff__keep(t, diff__way_of(&enforced, before->monitor));
    }
    if (!span_equals(before->source->name, after->source->name)) {
        SAY(t, "stands in the policy `%.*s`, stood in `%.*s`", SPAN_ARG(after->source->name), SPAN_ARG(before->source->name));
        diff__keep_as(t, DIFF_NOTHING, true);
    }
    if (!span_equals(before->id, after->id)) {
        SAY(t, "was named `%.*s`", SPAN_ARG(before->id));
        diff__keep(t, DIFF_NOTHING);
    }
}

/* What a rule says that is new or gone. */
static void tell_whole(struct diff_telling *t, const struct diff_rule *rule, bool is_new)
{
    const struct yaml_node *match = rule->node ? yaml_member(rule->node, "match") : NULL;
    const struct yaml_node *when = rule->node ? yaml_member(rule->node, "when") : NULL;

    SAY(t, is_new ? "is new" : "is gone");
    if (rule->rule->monitor)
        SAY(t, " (only monitored)");
    SAY(t, ": for %s", match != NULL && match->count > 0 ? "" : rule->rule->answer != ANSWER_NONE ? "all answers"
                                                                                                  : "all calls");
    if (match != NULL)
        diff__say_members(&t->text, match, ", ", true, NULL);
    for (const struct yaml_node *entry = when ? when->child : NULL; entry != NULL; entry = entry->next) {
        SAY(t, entry == when->child ? " where " : " and ");
        diff__say(&t->text, entry);
    }
    for (const struct yaml_node *member = rule->node ? rule->node->child : NULL; member != NULL; member = member->next)
        if (span_is(member->key, "only_args") || span_is(member->key, "arguments") || span_is(member->key, "limit")) {
            SAY(t, ", %.*s ", SPAN_ARG(member->key));
            diff__say(&t->text, member);
        }
    diff__keep(t, diff__way_of(t->pair, is_new));
}

enum code diff__compare(struct diff *diff, struct diff_pair *pair)
{
    struct diff_telling t = {.diff = diff, .pair = pair};
    const struct yaml_node *before = pair->before.node, *after = pair->after.node;

    buf_init(&t.text, TEXT_MAX_BYTES);
    if (pair->before.rule == NULL || pair->after.rule == NULL) {
        tell_whole(&t, pair->after.rule ? &pair->after : &pair->before, pair->after.rule != NULL);
    } else if (before != NULL && after != NULL) {
        compare_nature(&t, pair->before.rule, pair->after.rule);
        each_member(&t, before, after, compare_member);
    }
    buf_fini(&t.text);
    return t.code;
}

static bool is_in(const struct yaml_node *list, const struct yaml_node *entry)
{
    for (const struct yaml_node *member = list ? list->child : NULL; member != NULL; member = member->next)
        if (diff__reads_alike(member, entry))
            return true;
    return false;
}

/* The only entry of the same `match` that the other list has not; or NULL. */
static const struct yaml_node *only_like(const struct yaml_node *list, const struct yaml_node *entry,
                                         const struct yaml_node *other)
{
    const struct yaml_node *match = yaml_member(entry, "match"), *found = NULL;

    for (const struct yaml_node *member = list ? list->child : NULL; member != NULL && match != NULL; member = member->next) {
        const struct yaml_node *its = yaml_member(member, "match");

        if (its == NULL || !diff__reads_alike(match, its) || is_in(other, member))
            continue;
        if (found != NULL)
            return NULL;
        found = member;
    }
    return found;
}

/* What the entry of `here` is on the other side, where each of them is the only one of its `match` that differs. */
static const struct yaml_node *became(const struct yaml_node *here, const struct yaml_node *entry,
                                      const struct yaml_node *there)
{
    const struct yaml_node *other = only_like(there, entry, here);

    return other != NULL && only_like(here, entry, there) == entry ? other : NULL;
}

static void tell_redaction(struct diff_telling *t, struct span file, const char *word, const struct yaml_node *entry,
                           const struct yaml_node *old)
{
    SAY(t, "the policy `%.*s` %s in the audit: ", SPAN_ARG(file), word);
    diff__say_members(&t->text, entry, ", ", true, NULL);
    if (old != NULL) {
        SAY(t, "; it was ");
        diff__say_members(&t->text, old, ", ", true, "match");
    }
    diff__keep(t, DIFF_NOTHING);
}

enum code diff__compare_redactions(struct diff *diff, struct span file, const struct yaml_node *before,
                                   const struct yaml_node *after)
{
    struct diff_telling t = {.diff = diff};

    buf_init(&t.text, TEXT_MAX_BYTES);
    for (const struct yaml_node *entry = before ? before->child : NULL; entry != NULL; entry = entry->next)
        if (!is_in(after, entry) && became(before, entry, after) == NULL)
            tell_redaction(&t, file, "no longer redacts", entry, NULL);
    for (const struct yaml_node *entry = after ? after->child : NULL; entry != NULL; entry = entry->next) {
        const struct yaml_node *old = became(after, entry, before);

        if (!is_in(before, entry))
            tell_redaction(&t, file, old != NULL ? "now redacts" : "also redacts", entry, old);
    }
    buf_fini(&t.text);
    return t.code;
}
