/* SPDX-License-Identifier: Apache-2.0 */
/* A command goes through a form: word by word, in all places at once in which it can be. */
#include "forms/form.h"

#include "words/text_condition.h"

#include <string.h>

/* Where a command can be before one word: how certain each node is, apart by whether a `--` came already. */
struct places {
    signed char at[2][FORM_NODES_MAX + 1]; /* enum truth */
    bool any;
};

/* One of these places. */
struct place {
    bool ended;
    uint32_t node;
    enum truth truth;
};

struct known { /* what a kind said of a word */
    const struct condition *kind;
    struct span word;
    enum truth truth;
};

#define KNOWN_MAX 8

struct fitting {
    struct rule_walk *walk;
    const struct form *form;
    struct places places[3]; /* before this word, the next and the one behind that */
    uint32_t now;
    struct known known[KNOWN_MAX];
    uint32_t known_next;
};

static void clear(struct places *places)
{
    memset(places->at, TRUTH_FALSE, sizeof places->at);
    places->any = false;
}

static struct places *places_in(struct fitting *fitting, uint32_t words)
{
    return &fitting->places[(fitting->now + words) % 3];
}

static void reach(struct places *places, bool ended, uint32_t node, enum truth truth)
{
    places->at[ended][node] = (signed char)truth_or(places->at[ended][node], truth);
    places->any |= truth != TRUTH_FALSE;
}

/* What needs no word leads further on: optional parts, and where all options are there that must be. */
static void pass_by(const struct form *form, struct places *places)
{
    for (int ended = 0; ended < 2; ended++)
        for (uint32_t at = 0; at < form->count; at++)
            for (int i = 0; i < 2 && places->at[ended][at] != TRUTH_FALSE; i++)
                if (form->nodes[at].free[i] > 0)
                    reach(places, ended, form->nodes[at].free[i], places->at[ended][at]);
}

/* What the kind says of the word, which is asked once for all places that ask it now: some kinds take room for each asking. */
static enum truth is_kind(struct fitting *fitting, const struct condition *kind, struct span word)
{
    struct known *known = &fitting->known[fitting->known_next % KNOWN_MAX];

    for (size_t i = 0; i < KNOWN_MAX; i++)
        if (fitting->known[i].kind == kind && fitting->known[i].word.at == word.at && fitting->known[i].word.len == word.len)
            return fitting->known[i].truth;
    *known = (struct known){.kind = kind, .word = word, .truth = text_condition_truth(fitting->walk, kind, word)};
    fitting->known_next++;
    return known->truth;
}

static enum truth takes(struct fitting *fitting, const struct form_value *value, struct span word, bool dashes)
{
    enum truth truth = TRUTH_FALSE;

    for (uint32_t i = 0; i < value->count && word.len > 0 && truth != TRUTH_TRUE; i++) {
        const struct form_choice *choice = &value->choices[i];

        if (!walk_charge(fitting->walk, 1 + word.len / 16))
            return TRUTH_UNDECIDED;
        if (choice->kind == NULL)
            truth = truth_or(truth, truth_of(span_equals(choice->text, word)));
        else if (dashes || word.at[0] != '-')
            truth = truth_or(truth, is_kind(fitting, choice->kind, word));
    }
    return truth;
}

enum truth form_takes(struct rule_walk *walk, const struct form_value *value, struct span word, bool dashes)
{
    struct fitting fitting = {.walk = walk};

    return takes(&fitting, value, word, dashes);
}

static bool is_letters(struct span letters, struct span word)
{
    for (size_t i = 1; i < word.len; i++)
        if (memchr(letters.at, word.at[i], letters.len) == NULL)
            return false;
    return word.len > 1 && word.at[0] == '-';
}

/* Whether the word alone is this option, with its value where that stands in the same word. */
static enum truth is_option(struct fitting *fitting, const struct form_option *option, struct span word)
{
    switch (option->shape) {
    case FORM_PLAIN: return truth_of(span_equals(word, option->text));
    case FORM_LETTERS: return truth_of(is_letters(option->text, word));
    case FORM_DIGITS: return truth_of(is_letters(SPAN_LIT("0123456789"), word));
    case FORM_LETTER:
    case FORM_GLUED:
        return !span_starts_with(word, option->text) ? TRUTH_FALSE
             : takes(fitting, &option->value, span_part(word, option->text.len, SIZE_MAX), true);
    case FORM_WORD:
    case FORM_LONG_WORD: break;
    }
    return TRUTH_FALSE;
}

/* Whether the two words are this option and its value. A `--` is a value nowhere: programs do not agree what it would be. */
static enum truth is_pair(struct fitting *fitting, const struct form_option *option, struct span word, struct span next)
{
    bool has_next = option->shape == FORM_LETTER || option->shape == FORM_WORD || option->shape == FORM_LONG_WORD;

    if (!has_next || !span_equals(word, option->text) || span_is(next, "--"))
        return TRUTH_FALSE;
    return takes(fitting, &option->value, next, option->shape != FORM_LONG_WORD);
}

/* An option is taken at the node: what comes behind it stands at the same, but for what was to be there. */
static void take_option(struct fitting *fitting, struct place place, uint32_t needs, enum truth truth, uint32_t words)
{
    uint32_t seen = fitting->form->nodes[place.node].seen;

    reach(places_in(fitting, words), place.ended, place.node + ((seen | needs) - seen), truth_and(place.truth, truth));
}

/* `-nC3` and `-nC 3`: letters that may stand together, behind them one that has a value. */
static void take_cluster(struct fitting *fitting, struct place place, const struct form_option *letters,
                         const struct form_option *option, const struct json_node *word)
{
    struct span text = word->text;

    for (size_t at = 2; at < text.len && memchr(letters->text.at, text.at[at - 1], letters->text.len) != NULL; at++) {
        struct span value = span_part(text, at + 1, SIZE_MAX);
        uint32_t needs = letters->needs | option->needs;

        if (text.at[at] != option->text.at[1])
            continue;
        if (value.len > 0)
            take_option(fitting, place, needs, takes(fitting, &option->value, value, true), 1);
        else if (word->next != NULL && !span_is(word->next->text, "--"))
            take_option(fitting, place, needs, takes(fitting, &option->value, word->next->text, true), 2);
    }
}

static void take_options(struct fitting *fitting, struct place place, const struct json_node *word)
{
    const struct form_node *node = &fitting->form->nodes[place.node];

    if (word->text.at[0] != '-')
        return;
    for (uint32_t i = 0; i < node->option_count; i++) {
        const struct form_option *option = &node->options[i];

        if (!walk_charge(fitting->walk, 1 + word->text.len / 16))
            return;
        take_option(fitting, place, option->needs, is_option(fitting, option, word->text), 1);
        if (word->next != NULL)
            take_option(fitting, place, option->needs, is_pair(fitting, option, word->text, word->next->text), 2);
        for (uint32_t k = 0; k < node->option_count && option->shape == FORM_LETTER; k++)
            if (node->options[k].shape == FORM_LETTERS)
                take_cluster(fitting, place, &node->options[k], option, word);
    }
}

static void take_word(struct fitting *fitting, struct place place, const struct json_node *word)
{
    const struct form_node *node = &fitting->form->nodes[place.node];
    enum truth truth = truth_and(place.truth, takes(fitting, &node->value, word->text, place.ended));

    reach(places_in(fitting, 1), place.ended || node->ends_options, node->next, truth);
    if (node->repeats)
        reach(places_in(fitting, 1), place.ended, place.node, truth);
}

static void take(struct fitting *fitting, const struct json_node *word)
{
    for (int ended = 0; ended < 2; ended++)
        for (uint32_t at = 0; at < fitting->form->count; at++) {
            struct place place = {.ended = ended, .node = at, .truth = places_in(fitting, 0)->at[ended][at]};

            if (place.truth == TRUTH_FALSE)
                continue;
            if (!walk_charge(fitting->walk, 1))
                return;
            take_options(fitting, place, word);
            take_word(fitting, place, word);
        }
}

enum truth form_fits(struct rule_walk *walk, const struct form *form, const struct json_node *words, uint32_t *reached)
{
    struct fitting fitting = {.walk = walk, .form = form};
    const struct json_node *word = words->child;
    struct places *now = places_in(&fitting, 0);

    for (int i = 0; i < 3; i++)
        clear(&fitting.places[i]);
    reach(now, false, 0, TRUTH_TRUE);
    for (uint32_t taken = 0;; taken++, word = word->next) {
        now = places_in(&fitting, 0);
        pass_by(form, now);
        if (reached != NULL && now->any)
            *reached = taken;
        if (word == NULL || walk->spent || (!now->any && !places_in(&fitting, 1)->any))
            break;
        take(&fitting, word);
        clear(now);
        fitting.now++;
    }
    if (walk->spent)
        return TRUTH_UNDECIDED;
    return word != NULL ? TRUTH_FALSE : truth_or(now->at[0][form->count], now->at[1][form->count]);
}

bool form_is_command(const struct json_node *value)
{
    for (const struct json_node *word = value->child; word != NULL; word = word->next)
        if (word->type != JSON_STRING || word->text.len == 0)
            return false;
    return value->type == JSON_ARRAY;
}
