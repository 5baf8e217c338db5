/* SPDX-License-Identifier: Apache-2.0 */
/* The places of a policy file by its keys: a word that takes globs, regexes, ids or paths of arguments has its line here. */
#include "fill/spot.h"

struct word {
    const char *key;
    enum place place;
    bool is_data, is_one;
};

static const struct word rule_words[] = {
    {"id", PLACE_ID, false, false}, {"met", PLACE_RULE, false, false},
    {"matches", PLACE_REGEX, false, false}, {"not_matches", PLACE_REGEX, false, false}, {"regex", PLACE_REGEX, false, false},
    {"pattern", PLACE_REGEX, false, false}, {"forms", PLACE_REGEX, false, false},
    {"tenants", PLACE_GLOB, false, false}, {"principals", PLACE_GLOB, false, false}, {"agents", PLACE_GLOB, false, false},
    {"upstreams", PLACE_GLOB, false, false},
    {"methods", PLACE_GLOB, false, false}, {"tools", PLACE_GLOB, false, false}, {"resources", PLACE_GLOB, false, false},
    {"prompts", PLACE_GLOB, false, false}, {"paths", PLACE_GLOB, false, false}, {"queries", PLACE_GLOB, false, false},
    {"groups", PLACE_GLOB, false, false}, {"scopes", PLACE_GLOB, false, false}, {"called", PLACE_GLOB, false, false},
    {"glob", PLACE_GLOB, false, false}, {"hosts", PLACE_GLOB, false, false}, {"tables", PLACE_GLOB, false, false},
    {"functions", PLACE_GLOB, false, false}, {"hidden", PLACE_GLOB, false, false}, {"names", PLACE_GLOB, false, false},
    {"none_of", PLACE_GLOB, false, false}, {"domains", PLACE_GLOB, false, false}, {"local", PLACE_GLOB, false, false},
    {"arg", PLACE_PATH, false, false}, {"meta", PLACE_PATH, false, false}, {"param", PLACE_PATH, false, false},
    {"claim", PLACE_PATH, false, false}, {"value", PLACE_PATH, false, false}, {"sum", PLACE_PATH, false, false},
    {"args", PLACE_PATH, false, false}, {"params", PLACE_PATH, false, false}, {"answer", PLACE_PATH, false, false},
    {"equals", PLACE_TEXT, true, true}, {"not_equals", PLACE_TEXT, true, true}, {"contains", PLACE_TEXT, true, true},
    {"in", PLACE_TEXT, true, false}, {NULL, PLACE_TEXT, false, false},
};

static const struct word test_words[] = {
    {"rule", PLACE_RULE, false, false}, {"met", PLACE_RULE, false, false}, {"approved", PLACE_RULE, false, false},
    {"arguments", PLACE_TEXT, true, false}, {"params", PLACE_TEXT, true, false}, {"param", PLACE_TEXT, true, false},
    {"meta", PLACE_TEXT, true, false}, {"claims", PLACE_TEXT, true, false}, {"answer", PLACE_TEXT, true, false},
    {"schema", PLACE_TEXT, true, false}, {"left", PLACE_TEXT, true, false}, {NULL, PLACE_TEXT, false, false},
};

static const struct word root_words[] = {
    {"patterns", PLACE_REGEX, false, false}, {"detectors", PLACE_REGEX, false, false}, {"labels", PLACE_GLOB, false, false},
    {"allow", PLACE_GLOB, false, false}, {"ask", PLACE_GLOB, false, false}, {"deny", PLACE_GLOB, false, false},
    {NULL, PLACE_TEXT, false, false},
};

static const struct word *word_of(const struct word *words, struct span key)
{
    while (words->key != NULL && !span_is(key, words->key))
        words++;
    return words;
}

/* Whether the rule's match says what is closed. */
static bool closes(const struct yaml_node *rule)
{
    const struct yaml_node *effect = yaml_member(rule, "effect");

    return effect == NULL || !span_is(effect->text, "permit");
}

struct spot spot_below(const struct spot *spot, const struct yaml_node *map, const struct yaml_node *member)
{
    const struct word *word = word_of(spot->is_test ? test_words : rule_words, member->key);
    struct spot below = *spot;

    below.is_one = below.defines = false;
    if (spot->defines || spot->names_keys || spot->is_data || spot->place == PLACE_REGEX)
        return below; /* keys have no meaning of their own */
    below.place = word->key != NULL ? word->place : spot->place;
    below.is_data = word->is_data;
    below.is_one = word->is_one;
    below.defines = !spot->is_test && span_is(member->key, "approvers"); /* names of people, and no globs */
    below.keeps_objects |= word->is_one && !span_is(member->key, "contains");
    below.ids_keys = spot->is_test && span_is(member->key, "spent");
    if (!spot->is_test && span_is(member->key, "match")) {
        below.closes = spot->closes || closes(map);
        below.rule = map;
    }
    return below;
}

struct spot spot_at_root(const struct yaml_node *member)
{
    const struct word *word = word_of(root_words, member->key);
    bool is_short = span_is(member->key, "allow") || span_is(member->key, "ask") || span_is(member->key, "deny");
    bool is_labels = span_is(member->key, "labels"), is_tests = span_is(member->key, "tests");
    bool defines = is_labels || span_is(member->key, "paths") || span_is(member->key, "kinds") ||
                   span_is(member->key, "patterns");

    return (struct spot){.place = word->place, .is_test = is_tests, .keeps_objects = is_tests, .names_keys = is_short,
                         .closes = is_labels || (is_short && !span_is(member->key, "allow")),
                         .defines = defines};
}
