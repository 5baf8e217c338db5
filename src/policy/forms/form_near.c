/* SPDX-License-Identifier: Apache-2.0 */
#include "forms/form_near.h"

#include "words/text_condition.h"

#include <stdio.h>
#include <string.h>

#define WORDS_MAX (2 * FORM_NODES_MAX)

/* Words that many kinds take, ordinary ones first. */
static const char *const usual[] = {
    "main",  "a.c",    "src/a.c",  "1",   "1,2", "HEAD",  "*.c", "a:b.c",     "2026-01-01",
    "%h %s", "HEAD~1", "0a1b2c3d", "src", "x y", "./a.c", "-1",  "/srv/work", "a@example.com", NULL};
/* Words that mean more to programs and systems than their letters. */
static const char *const hostile[] = {"/etc/passwd", "../a", ".git/config", "~/a", "-Z",  "--x=a", "--", "@a", ":a",
                                      "+a",          "a b",  "$A",          "`a`", "*",   "|",     "a\nb", NULL};

static const struct question no_call;

static enum truth takes(const struct form_value *value, struct span word, bool dashes)
{
    struct walk_alone alone;
    enum truth truth;

    walk_alone_init(&alone, &no_call);
    truth = form_takes(&alone.walk, value, word, dashes);
    walk_alone_fini(&alone);
    return truth;
}

static bool passes(const struct form *form, const struct json_node *words)
{
    struct walk_alone alone;
    enum truth truth;

    walk_alone_init(&alone, &no_call);
    truth = form_fits(&alone.walk, form, words, NULL);
    walk_alone_fini(&alone);
    return truth == TRUTH_TRUE;
}

/* The form that the command is, beside any call, or the one that it follows furthest; NULL: none. All forms together may cost
 * what one call may. Sets: *reached: as form_fits; *fits. */
static const struct form *nearest_of(const struct form *forms, uint32_t count, const struct json_node *words, uint32_t *reached,
                                     bool *fits)
{
    const struct form *nearest = NULL;
    struct walk_alone alone;

    *reached = 0;
    *fits = false;
    walk_alone_init(&alone, &no_call);
    for (uint32_t i = 0; i < count && !*fits && !alone.walk.spent; i++) {
        uint32_t here = 0;

        arena_reset(&alone.arena);
        *fits = form_fits(&alone.walk, &forms[i], words, &here) == TRUTH_TRUE;
        if (*fits || here > *reached) {
            nearest = &forms[i];
            *reached = here;
        }
    }
    walk_alone_fini(&alone);
    return nearest;
}

/* ---- a command of the form ---- */

/* A text that some operator of the condition names. */
static struct span named_in(const struct condition *condition)
{
    struct span found = SPAN_NONE;

    for (uint32_t i = 0; i < condition->op_count && found.len == 0; i++) {
        const struct op *op = &condition->ops[i];
        const struct json_node *value = op->value != NULL ? op->value : op->value_count > 0 ? op->values[0] : NULL;

        if (value != NULL && value->type == JSON_STRING)
            found = value->text;
    }
    for (uint32_t i = 0; i < condition->count && found.len == 0; i++)
        found = named_in(&condition->members[i]);
    return found;
}

/* A word that may stand there; empty: none was found. */
static struct span example_of(const struct form_value *value)
{
    const struct form_choice *first = value->choices;
    struct span named = first->kind != NULL ? named_in(first->kind) : first->text;

    if (takes(value, named, false) == TRUTH_TRUE)
        return named;
    for (size_t i = 0; usual[i] != NULL; i++)
        if (takes(value, span_text(usual[i]), false) == TRUTH_TRUE)
            return span_text(usual[i]);
    return SPAN_NONE;
}

struct command {
    struct span word[WORDS_MAX];
    const struct form_value *value[WORDS_MAX]; /* of words that a kind may be; or NULL */
    uint32_t count, first_free; /* the first word that is no small one in front */
    char glued[WORDS_MAX][96];
    bool failed;
};

static void put_word(struct command *command, struct span word, const struct form_value *value)
{
    command->failed |= word.len == 0 || command->count == WORDS_MAX;
    if (command->failed)
        return;
    command->value[command->count] = value != NULL && value->choices->kind != NULL ? value : NULL;
    command->word[command->count++] = word;
}

static void put_option(struct command *command, const struct form_option *option)
{
    struct span value = option->value.count > 0 ? example_of(&option->value) : SPAN_NONE;
    size_t size = sizeof command->glued[0];
    char *text = command->count < WORDS_MAX ? command->glued[command->count] : NULL;
    int len = 0;

    command->failed |= text == NULL || (option->value.count > 0 && value.len == 0);
    if (command->failed)
        return;
    if (option->shape == FORM_LETTERS)
        len = snprintf(text, size, "-%c", option->text.at[0]);
    else if (option->shape == FORM_DIGITS)
        len = snprintf(text, size, "-1");
    else if (option->shape == FORM_GLUED)
        len = snprintf(text, size, "%.*s%.*s", SPAN_ARG(option->text), SPAN_ARG(value));
    put_word(command, len == 0 ? option->text : span_of(text, (size_t)len < size ? (size_t)len : 0), NULL);
    if (len == 0 && option->value.count > 0)
        put_word(command, value, &option->value);
}

static void put_needed(struct command *command, const struct form_node *node)
{
    for (uint32_t i = 0; i < node->option_count; i++)
        if ((node->options[i].needs & ~node->seen) != 0)
            put_option(command, &node->options[i]);
}

/* The mask of what is there once all options of the node that must be there are. */
static uint32_t needed_by(const struct form_node *node)
{
    uint32_t needed = node->seen;

    for (uint32_t i = 0; i < node->option_count; i++)
        needed |= node->options[i].needs;
    return needed;
}

/* Takes: all: with what may be left out, but for options. */
static void build(const struct form *form, bool all, struct command *command)
{
    bool in_front = true;

    memset(command, 0, sizeof *command);
    for (uint32_t at = 0; at < form->count && !command->failed;) {
        const struct form_node *node = &form->nodes[at];
        bool may_pass = node->free[0] > 0;

        in_front = in_front && node->option_count == 0 && !may_pass && !node->ends_options &&
                   (node->value.count == 0 || node->value.choices->kind == NULL);
        if (needed_by(node) != node->seen) {
            put_needed(command, node);
            at += needed_by(node) - node->seen;
        } else if (node->value.count > 0 && (all || !may_pass)) {
            put_word(command, example_of(&node->value), &node->value);
            at = node->next;
        } else {
            command->failed |= !may_pass;
            at = node->free[!all && node->free[1] > 0];
        }
        if (in_front)
            command->first_free = command->count;
    }
}

/* Whether it is the last node with these options: of all that share them only this one is asked. */
static bool is_last(const struct form *form, uint32_t at)
{
    return at + 1 == form->count || form->nodes[at + 1].options != form->nodes[at].options;
}

/* ---- what differs from it in one thing ---- */

struct giving {
    const struct form *form;
    op_near_fn take;
    void *context;
};

/* Takes: word: put in front of word `at`, or instead of it where `instead`; empty: the command is as it is. */
static void give(const struct giving *giving, const struct command *command, uint32_t at, bool instead, struct span word,
                 const char *change)
{
    struct json_node words[WORDS_MAX + 2] = {{.type = JSON_ARRAY}};
    struct op_near near;
    uint32_t count = 0;

    for (uint32_t i = 0; i <= command->count; i++) {
        if (i == at && word.len > 0)
            words[++count] = (struct json_node){.type = JSON_STRING, .text = word};
        if (i < command->count && (i != at || !instead))
            words[++count] = (struct json_node){.type = JSON_STRING, .text = command->word[i]};
    }
    for (uint32_t i = 1; i < count; i++)
        words[i].next = &words[i + 1];
    words[0].child = count > 0 ? &words[1] : NULL;
    words[0].count = count;
    near = (struct op_near){.form = giving->form->text, .line = giving->form->line, .value = words, .change = change,
                           .passes = passes(giving->form, words)};
    giving->take(giving->context, &near);
}

/* Options of the form cut short, said otherwise, and behind the words. */
static void give_options(const struct giving *giving, const struct command *command)
{
    for (uint32_t at = 0; at < giving->form->count; at++) {
        const struct form_node *node = &giving->form->nodes[at];

        for (uint32_t i = 0; i < node->option_count && is_last(giving->form, at); i++) {
            const struct form_option *option = &node->options[i];
            char glued[128];
            int len = snprintf(glued, sizeof glued, "%.*s=a", SPAN_ARG(option->text));

            if (option->shape == FORM_LETTERS || option->shape == FORM_DIGITS || option->text.len > 100)
                continue;
            if (option->shape == FORM_GLUED)
                len = snprintf(glued, sizeof glued, "%.*s=a", SPAN_ARG(span_part(option->text, 0, option->text.len - 2)));
            give(giving, command, command->first_free, false,
                 option->shape == FORM_GLUED ? span_of(glued, (size_t)len) : span_part(option->text, 0, option->text.len - 1),
                 "an option cut short");
            if (option->shape == FORM_PLAIN)
                give(giving, command, command->first_free, false, span_of(glued, (size_t)len), "an option with a value");
        }
    }
    give(giving, command, command->first_free, false, SPAN_LIT("-Z"), "an option that is not written");
    give(giving, command, command->first_free, false, SPAN_LIT("--zz"), "an option that is not written");
    give(giving, command, command->count, false, SPAN_LIT("--zz"), "an option that is not written");
    give(giving, command, command->first_free, false, SPAN_LIT("--"), "a `--` that is not written");
}

/* A word as the last one that stands for others. */
static struct span one_more(const struct command *command)
{
    struct span word = SPAN_LIT("a");

    for (uint32_t i = 0; i < command->count; i++)
        word = command->value[i] != NULL ? command->word[i] : word;
    return word;
}

static void give_words(const struct giving *giving, const struct command *command)
{
    for (uint32_t i = 0; i < command->count; i++) {
        if (command->value[i] == NULL)
            continue;
        for (size_t k = 0; hostile[k] != NULL; k++)
            if (!span_is(command->word[i], hostile[k]))
                give(giving, command, i, true, span_text(hostile[k]), "a word of another kind");
    }
}

/* Hands on a command of this form, and each near miss of it. */
static void give_form(const struct form *form, op_near_fn take, void *context)
{
    struct giving giving = {.form = form, .take = take, .context = context};
    uint32_t given = UINT32_MAX;

    for (int all = 1; all >= 0; all--) {
        struct command command;

        build(form, all, &command);
        if (command.failed || (!all && command.count == given))
            continue;
        given = command.count;
        give(&giving, &command, WORDS_MAX, false, SPAN_NONE, NULL);
        if (all)
            give(&giving, &command, command.count, false, one_more(&command), "one word more");
        give_words(&giving, &command);
        give_options(&giving, &command);
    }
}

/* ---- what authors are told ---- */

/* Names the form that the command is, or the one that it follows furthest and the word that this does not take. */
static void tell(const struct op *op, const struct json_node *value, struct buf *out)
{
    const struct json_node *word = value->child;
    const struct form *nearest;
    uint32_t furthest;
    bool fits;

    if (!form_is_command(value)) {
        buf_add_text(out, "no command, which is an array of texts of which none is empty");
        return;
    }
    nearest = nearest_of(op->terms, op->term_count, value, &furthest, &fits);
    if (fits) {
        buf_addf(out, "the form `%.*s`", SPAN_ARG(nearest->text));
        return;
    }
    for (uint32_t i = 0; i < furthest && word != NULL; i++)
        word = word->next;
    if (nearest == NULL)
        buf_add_text(out, "a command with which no form begins");
    else if (word == NULL)
        buf_addf(out, "the beginning of `%.*s`, without its end", SPAN_ARG(nearest->text));
    else
        buf_addf(out, "`%.*s` up to its word %u, `%.*s`, which cannot stand there", SPAN_ARG(nearest->text), furthest + 1,
                 SPAN_ARG(span_part(word->text, 0, 80)));
}

/* Each command of a form, and what is nearly one: the form is told with its line. */
static void near(const struct op *op, op_near_fn take, void *context)
{
    const struct form *forms = op->terms;

    for (uint32_t i = 0; i < op->term_count; i++)
        give_form(&forms[i], take, context);
}

struct sampling {
    struct samples *samples;
    struct span form;
    uint32_t given; /* of this form */
};

/* Of each form its commands and some of what is nearly one: the first are those in which a word is another. */
#define SAMPLES_EACH 4

static void give_sample(void *context, const struct op_near *near)
{
    struct sampling *sampling = context;
    const char *sep = "[";
    struct buf json;

    sampling->given = near->form.at == sampling->form.at ? sampling->given + 1 : 1;
    sampling->form = near->form;
    if (sampling->given > SAMPLES_EACH)
        return;
    buf_init(&json, (size_t)64 << 10);
    for (const struct json_node *word = near->value->child; word != NULL; word = word->next, sep = ",") {
        buf_add_text(&json, sep);
        json_write_string(&json, word->text);
    }
    buf_add_text(&json, *sep == '[' ? "[]" : "]");
    if (buf_code(&json) == CODE_OK)
        sampling->samples->json(sampling->samples, buf_peek(&json));
    buf_fini(&json);
}

static void sample(const struct op *op, struct samples *samples)
{
    struct sampling sampling = {.samples = samples};

    near(op, give_sample, &sampling);
}

const struct op_guide form_guide = {.sample = sample, .tell = tell, .near = near};

void form_warn(struct compiler *c, const struct yaml_node *node, const struct form *form)
{
    for (uint32_t at = 0; at < form->count; at++) {
        for (uint32_t i = 0; i < form->nodes[at].option_count && is_last(form, at); i++) {
            const struct form_option *option = &form->nodes[at].options[i];
            bool glued = option->shape == FORM_LETTER && takes(&option->value, SPAN_LIT("x"), true) == TRUTH_TRUE;

            if (option->is_loose && (glued || takes(&option->value, SPAN_LIT("-x"), true) == TRUTH_TRUE))
                WARN(c, node, "the form `%.*s` lets `%.*s%s` pass, as what stands behind `%.*s` is read as its value; write "
                     "(%.*s %.*s) where that is meant, [%.*s] or -{...} where it is a word of its own",
                     SPAN_ARG(span_part(form->text, 0, 200)),
                     SPAN_ARG(option->text), glued ? "x" : " -x", SPAN_ARG(option->text), SPAN_ARG(option->text),
                     SPAN_ARG(option->value.choices->text), SPAN_ARG(option->text));
        }
    }
}
