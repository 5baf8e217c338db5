/* SPDX-License-Identifier: Apache-2.0 */
/* A line as in a manual page's SYNOPSIS becomes a form. What could be read in two ways is a fault, not a guess. */
#include "forms/form.h"

#include "base/glob.h"
#include "unicode/unicode.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define DEPTH_MAX 8 /* of brackets in each other */
#define CHOICES_MAX 32
#define OPERANDS_MAX 16

struct operand { /* a kind in a stretch */
    struct form_value value;
    bool repeats, is_optional;
    uint32_t option_count; /* of those before it */
};

struct reader {
    struct compiler *c;
    const struct yaml_node *node;
    bool opening;
    struct span text;
    size_t at;
    unsigned depth;
    bool failed;
    struct form_node *nodes;
    uint32_t count;
    /* the stretch at hand: options, and kinds behind and between them, until something else stands behind it */
    struct form_option *options;
    uint32_t option_count, needed; /* needed: the bits of those that must be there */
    struct operand operands[OPERANDS_MAX];
    uint32_t operand_count;
};

static void read_sequence(struct reader *r);

static void PRINTF_LIKE(3, 4) fail(struct reader *r, size_t at, const char *format, ...)
{
    char text[400];
    va_list args;

    if (r->failed)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    r->failed = true;
    FAULT(r->c, r->node, "the form `%.*s` at its byte %zu: %s", SPAN_ARG(span_part(r->text, 0, 200)), at + 1, text);
}

/* ---- words of the line ---- */

static char peek(const struct reader *r)
{
    return r->at < r->text.len ? r->text.at[r->at] : '\0';
}

static void skip_blanks(struct reader *r)
{
    while (peek(r) == ' ')
        r->at++;
}

/* What ends a word of the line. Braces do not: they stand in `-{abc}` alone, and elsewhere they are a fault. */
static bool is_mark(char c)
{
    return c == '\0' || strchr(" []()|", c) != NULL;
}

static struct span word_at(const struct reader *r)
{
    size_t end = r->at;

    while (end < r->text.len && !is_mark(r->text.at[end]))
        end++;
    return span_part(r->text, r->at, end - r->at);
}

static bool is_capital(char c)
{
    return c >= 'A' && c <= 'Z';
}

static bool is_capital_more(char c)
{
    return is_capital(c) || (c >= '0' && c <= '9') || c == '_';
}

/* How many bytes of the word are a capital word that it begins with. */
static size_t capital_len(struct span word)
{
    size_t len = 0;

    while (len < word.len && (len == 0 ? is_capital(word.at[0]) : is_capital_more(word.at[len])))
        len++;
    return len;
}

/* A part of the word, between marks of its own, that is all capitals: nobody could say whether it stands for itself. */
static struct span capital_inside(struct span word)
{
    for (size_t at = 0, end; at < word.len; at = end + 1) {
        end = at;
        while (end < word.len && (isalnum((unsigned char)word.at[end]) || word.at[end] == '_' || word.at[end] < 0))
            end++;
        if (end > at && capital_len(span_part(word, at, end - at)) == end - at)
            return span_part(word, at, end - at);
    }
    return SPAN_NONE;
}

/* ---- what may stand in one place ---- */

static void fail_unknown(struct reader *r, struct span name)
{
    char defined[160] = "";
    size_t len = 0;

    for (const struct yaml_node *one = r->c->kinds.map ? r->c->kinds.map->child : NULL; one != NULL && len < 120;
         one = one->next)
        len += (size_t)snprintf(defined + len, sizeof defined - len, "%s%.*s", len > 0 ? ", " : "; there are ",
                                SPAN_ARG(span_part(one->key, 0, 30)));
    fail(r, (size_t)(name.at - r->text.at), "no kind is called `%.*s`; say under `kinds:` what this word may be, as in {%.*s: "
         "{matches: '[0-9]{1,6}'}}%s", SPAN_ARG(name), SPAN_ARG(name), defined);
}

/* Whether its author thinks of something that no form says: quotes, a place as `<file>` or `file...`. Go has a word `./...`. */
static bool is_odd(struct span word)
{
    for (size_t i = 0; i < word.len; i++)
        if (strchr("'\"<>`", word.at[i]) != NULL)
            return true;
    return span_ends_with(word, SPAN_LIT("...")) && !span_ends_with(word, SPAN_LIT("/..."));
}

/* A small word, or a kind, which stands at hand. */
static void read_choice(struct reader *r, struct span word, struct form_choice *choice)
{
    size_t at = r->at, capitals = capital_len(word);
    struct span inside = capital_inside(word);

    if (word.len == 0)
        fail(r, at, "a word is missing here; write a small word that stands for itself, or a capital word of `kinds:`");
    else if (memchr(word.at, '{', word.len) != NULL || memchr(word.at, '}', word.len) != NULL)
        fail(r, at, "braces stand in `-{abc}` alone, for letters behind one dash; there are no variables in forms");
    else if (capitals == word.len && !compiler_kind(r->c, word, r->opening, &choice->kind))
        fail_unknown(r, word);
    else if (capitals < word.len && is_odd(word))
        fail(r, at, "`%.*s` is no word of a form, where quotes are not read and `...` goes behind a capital word; write a "
             "small word for itself, or one in capitals such as FILE, and under `kinds:` what it may be", SPAN_ARG(word));
    else if (capitals < word.len && inside.len > 0)
        fail(r, at, "`%.*s` in `%.*s` is neither a capital word, which stands alone, nor a small one, which stands for itself; "
             "define a kind for all of it, as in {NAME: {equals: '%.*s'}}", SPAN_ARG(inside), SPAN_ARG(word), SPAN_ARG(word));
    else if (capitals < word.len && r->c->warnings != NULL && !glob_is_literal(word))
        WARN(r->c, r->node, "`%.*s` stands for itself in a form, as no shell reads it; write a capital word such as FILE or "
             "FILE..., and under `kinds:` what it may be", SPAN_ARG(word));
    choice->text = compiler_copy(r->c, word);
}

/* Keeps what may stand in one place. */
static void keep_choices(struct reader *r, const struct form_choice *choices, uint32_t count, struct form_value *value)
{
    struct form_choice *kept = compiler_alloc(r->c, count, sizeof *kept);

    r->failed |= kept == NULL;
    if (r->failed)
        return;
    memcpy(kept, choices, count * sizeof *kept);
    *value = (struct form_value){.choices = kept, .count = count};
}

/* One word of the line as all that may stand there. */
static void read_one(struct reader *r, struct span word, struct form_value *value)
{
    struct form_choice choice = {.kind = NULL};

    read_choice(r, word, &choice);
    keep_choices(r, &choice, 1, value);
    r->at += word.len;
}

/* `(a|b)`, whose bracket is the next byte. */
static void read_choices(struct reader *r, struct form_value *value)
{
    struct form_choice choices[CHOICES_MAX] = {{.kind = NULL}};
    size_t open = r->at;
    uint32_t count = 0;

    do {
        struct span word;

        r->at++;
        skip_blanks(r);
        word = word_at(r);
        if (word.len > 0 && word.at[0] == '-')
            fail(r, r->at, "an option stands in no `(a|b)`; write each in a bracket of its own, as in [-q] [--quiet]");
        if (count == CHOICES_MAX)
            fail(r, r->at, "more than %d words to choose from; say them under `kinds:`, as in {NAME: {in: [...]}}",
                 CHOICES_MAX);
        if (r->failed)
            return;
        read_choice(r, word, &choices[count++]);
        r->at += word.len;
        skip_blanks(r);
    } while (!r->failed && peek(r) == '|');
    if (peek(r) != ')')
        fail(r, r->at, "`(` at byte %zu has no `)`; write (a|b)", open + 1);
    keep_choices(r, choices, count, value);
    r->at++;
}

/* ---- options ---- */

/* Whether an option begins here; `-` and `--` alone are words. */
static bool at_option(const struct reader *r)
{
    struct span word = word_at(r);

    return word.len > 1 && word.at[0] == '-' && !span_is(word, "--");
}

/* Whether `(` at hand is one around an option, as in (-n KIND). */
static bool holds_option(const struct reader *r)
{
    struct reader inside = *r;

    inside.at++;
    skip_blanks(&inside);
    return at_option(&inside);
}

static void read_letters(struct reader *r, struct span word, struct form_option *option)
{
    struct span letters = span_part(word, 2, word.len - 3);

    if (word.len < 4 || word.at[word.len - 1] != '}')
        fail(r, r->at, "letters that may stand together are written -{abc}, and nothing stands behind them");
    for (size_t i = 0; i < letters.len && !r->failed; i++)
        if (!isalnum((unsigned char)letters.at[i]))
            fail(r, r->at + 2 + i, "`%c` is no letter or digit; name each letter that may stand behind the dash, as in -{abc}",
                 isprint((unsigned char)letters.at[i]) ? letters.at[i] : '?');
    option->shape = FORM_LETTERS;
    option->text = compiler_copy(r->c, letters);
}

/* `--word=KIND`, `--word=never`, `--word=(a|b)`. Takes: glued: up to the `=`. */
static void read_glued(struct reader *r, struct span glued, struct form_option *option)
{
    option->shape = FORM_GLUED;
    option->text = compiler_copy(r->c, glued);
    r->at += glued.len;
    if (peek(r) == '(')
        read_choices(r, &option->value);
    else
        read_one(r, word_at(r), &option->value);
}

/* The value behind `-n` or `-name`, or in a bracket behind `--word`; nothing where none stands there. */
static void read_next(struct reader *r, bool alone, struct form_option *option)
{
    bool is_long = span_starts_with(option->text, SPAN_LIT("--"));
    size_t before = r->at;
    struct span word;

    skip_blanks(r);
    word = word_at(r);
    if ((is_long && !alone) || (peek(r) == '(' ? holds_option(r) : word.len == 0 || capital_len(word) < word.len)) {
        r->at = before;
        return;
    }
    option->shape = is_long ? FORM_LONG_WORD : option->text.len == 2 ? FORM_LETTER : FORM_WORD;
    option->is_loose = !alone;
    if (peek(r) == '(')
        read_choices(r, &option->value);
    else
        read_one(r, word, &option->value);
}

/* Takes: alone: it is all that its bracket holds, so that what stands behind it is its value. */
static void read_option(struct reader *r, bool alone, struct form_option *option)
{
    struct span word = word_at(r);
    size_t sign = span_find(word, '='), digits = span_find(word, '#');

    *option = (struct form_option){.shape = FORM_PLAIN};
    if (span_starts_with(word, SPAN_LIT("-{"))) {
        read_letters(r, word, option);
        r->at += word.len;
    } else if (span_is(word, "-#")) {
        option->shape = FORM_DIGITS;
        option->text = SPAN_LIT("-");
        r->at += word.len;
    } else if (memchr(word.at, '{', sign) != NULL || memchr(word.at, '}', sign) != NULL || digits < sign) {
        fail(r, r->at, "`%.*s` is no option; write -{abc}, -#, -n KIND, --word or --word=KIND", SPAN_ARG(word));
    } else if (sign < word.len) {
        read_glued(r, span_part(word, 0, sign + 1), option);
    } else {
        option->text = compiler_copy(r->c, word);
        r->at += word.len;
        read_next(r, alone, option);
    }
}

/* ---- the row of nodes ---- */

static struct form_node *add_node(struct reader *r)
{
    uint32_t at;

    if (!r->failed && r->count == FORM_NODES_MAX)
        fail(r, r->at, "a form has at most %d parts; write several forms", FORM_NODES_MAX);
    at = r->failed ? FORM_NODES_MAX : r->count++;
    r->nodes[at] = (struct form_node){.free = {0, 0}};
    return &r->nodes[at];
}

/* The stretch becomes nodes: one for each place before and behind its kinds, and each mask of options that must be there. */
static void end_stretch(struct reader *r)
{
    struct form_option *options = compiler_alloc(r->c, r->option_count, sizeof *options);

    r->failed |= options == NULL;
    if (r->option_count == 0 && r->operand_count == 0)
        return;
    if (!r->failed && r->option_count > 0)
        memcpy(options, r->options, r->option_count * sizeof *options);
    for (uint32_t place = 0; place <= r->operand_count && !r->failed; place++)
        for (uint32_t seen = 0; seen <= r->needed && !r->failed; seen++) {
            const struct operand *operand = place < r->operand_count ? &r->operands[place] : NULL;
            struct form_node *node = add_node(r);

            *node = (struct form_node){.options = options, .option_count = r->option_count, .seen = seen};
            if (operand != NULL) {
                node->option_count = operand->option_count;
                node->value = operand->value;
                node->repeats = operand->repeats;
                node->next = r->count + r->needed;
                node->free[0] = operand->is_optional ? node->next : 0;
            } else if (seen == r->needed) {
                node->free[0] = r->count;
            }
        }
    r->option_count = 0;
    r->operand_count = 0;
    r->needed = 0;
}

/* Takes: needed: it must be there. */
static void add_option(struct reader *r, const struct form_option *option, bool needed)
{
    if (r->option_count == FORM_OPTIONS_MAX)
        fail(r, r->at, "more than %d options one behind the other; write several forms", FORM_OPTIONS_MAX);
    if (needed && r->needed >> (FORM_NEEDED_MAX - 1) != 0)
        fail(r, r->at, "more than %d options of one place must be there; put those that may be left out in brackets",
             FORM_NEEDED_MAX);
    if (r->failed)
        return;
    r->options[r->option_count] = *option;
    if (needed) {
        r->options[r->option_count].needs = r->needed + 1;
        r->needed = r->needed * 2 + 1;
    }
    r->option_count++;
}

/* Whether `[` or `(` at hand holds one option and nothing else; then that is read. */
static bool read_lone_option(struct reader *r, char close, struct form_option *option)
{
    size_t before = r->at;

    r->at++;
    skip_blanks(r);
    if (at_option(r)) {
        read_option(r, true, option);
        skip_blanks(r);
        if (r->failed || peek(r) == close) {
            r->at++;
            return true;
        }
    }
    r->at = before;
    return false;
}

/* `...` behind a capital word or a choice. */
static bool read_dots(struct reader *r)
{
    struct span dots = word_at(r);
    bool repeats = span_is(dots, "...");

    if (dots.len > 0 && !repeats)
        fail(r, r->at, "`%.*s` stands behind a capital word or `)`; a blank or `...` goes there", SPAN_ARG(dots));
    r->at += dots.len;
    return repeats;
}

/* A word of the line, or a choice of words. */
static void read_operand(struct reader *r, struct operand *operand)
{
    struct span word = word_at(r);
    size_t capitals = capital_len(word);

    *operand = (struct operand){.repeats = false};
    if (peek(r) == '(') {
        read_choices(r, &operand->value);
        operand->repeats = !r->failed && read_dots(r);
        return;
    }
    if (span_is(word, "..."))
        fail(r, r->at, "`...` stands directly behind its capital word, as in FILE...");
    if (capitals > 0 && span_is(span_part(word, capitals, SIZE_MAX), "..."))
        word.len = capitals;
    read_one(r, word, &operand->value);
    operand->repeats = capitals > 0 && capitals == word.len && read_dots(r);
}

static bool has_kind(const struct operand *operand)
{
    for (uint32_t i = 0; i < operand->value.count; i++)
        if (operand->value.choices[i].kind != NULL)
            return true;
    return false;
}

static void add_operand(struct reader *r, const struct operand *operand, bool is_optional)
{
    if (r->operand_count == OPERANDS_MAX)
        fail(r, r->at, "more than %d capital words one behind the other; write several forms", OPERANDS_MAX);
    if (r->failed)
        return;
    r->operands[r->operand_count] = *operand;
    r->operands[r->operand_count].is_optional = is_optional;
    r->operands[r->operand_count++].option_count = r->option_count;
}

/* Whether `[` at hand holds one kind, or a choice with one, and nothing else; then that is read. */
static bool read_lone_operand(struct reader *r, struct operand *operand)
{
    size_t before = r->at;

    r->at++;
    skip_blanks(r);
    if (peek(r) == '(' ? !holds_option(r) : capital_len(word_at(r)) > 0) {
        read_operand(r, operand);
        skip_blanks(r);
        if (r->failed || (peek(r) == ']' && has_kind(operand))) {
            r->at++;
            return true;
        }
    }
    r->at = before;
    return false;
}

/* Brackets with anything in them: all of it is there, or nothing. */
static void read_optional(struct reader *r)
{
    size_t open = r->at;
    uint32_t begin;

    if (++r->depth > DEPTH_MAX)
        fail(r, open, "brackets nested more than %d deep; write several forms", DEPTH_MAX);
    end_stretch(r);
    begin = r->count;
    (void)add_node(r);
    r->at++;
    read_sequence(r);
    end_stretch(r);
    r->depth--;
    if (!r->failed && peek(r) != ']')
        fail(r, open, peek(r) == '|' ? "of several words one is written (a|b), or [(a|b)] where it may be left out"
                                     : "this `[` has no `]`; write one behind what may be left out");
    else if (!r->failed && r->count == begin + 1)
        fail(r, open, "nothing stands in these brackets; leave them out");
    if (r->failed)
        return;
    r->nodes[begin].free[0] = begin + 1;
    r->nodes[begin].free[1] = r->count;
    r->at++;
}

static void read_word(struct reader *r)
{
    struct operand operand;
    struct form_node *node;
    bool is_dashes = span_is(word_at(r), "--");

    read_operand(r, &operand);
    if (r->failed || has_kind(&operand)) {
        add_operand(r, &operand, false);
        return;
    }
    end_stretch(r);
    node = add_node(r);
    *node = (struct form_node){.value = operand.value, .repeats = operand.repeats, .ends_options = is_dashes, .next = r->count};
}

static void read_item(struct reader *r)
{
    struct form_option option;
    struct operand operand;
    char c = peek(r);

    if (c == '[' && read_lone_option(r, ']', &option))
        add_option(r, &option, false);
    else if (c == '[' && read_lone_operand(r, &operand))
        add_operand(r, &operand, true);
    else if (c == '[')
        read_optional(r);
    else if (c == '(' && read_lone_option(r, ')', &option))
        add_option(r, &option, true);
    else if (at_option(r)) {
        read_option(r, false, &option);
        add_option(r, &option, true);
    } else {
        read_word(r);
    }
}

/* Until the end of the line or of the brackets. */
static void read_sequence(struct reader *r)
{
    for (skip_blanks(r); !r->failed && r->at < r->text.len && peek(r) != ']'; skip_blanks(r)) {
        size_t before = r->at;
        bool is_apart;

        if (peek(r) == ')' || peek(r) == '|')
            break;
        read_item(r);
        is_apart = peek(r) == ' ' || peek(r) == ']' || peek(r) == '\0' || peek(r) == '|' || peek(r) == ')';
        if (!r->failed && !is_apart)
            fail(r, r->at, "`%.*s` goes on here without a blank; a word of the line is one word of the command",
                 SPAN_ARG(span_part(r->text, before, r->at - before)));
    }
}

static void check_text(struct reader *r)
{
    if (r->text.len == 0 || span_trim(r->text).len == 0)
        fail(r, 0, "it is empty; write a command as in the SYNOPSIS of its manual page: ls [-{la}] [FILE...]");
    for (size_t i = 0; i < r->text.len; i++)
        if ((unsigned char)r->text.at[i] < ' ' || r->text.at[i] == 0x7f)
            fail(r, i, "a control character stands here; blanks separate words, and a form is one line");
    if (unicode_is_deceptive(r->text))
        fail(r, 0, "it holds characters that nobody sees; write the plain words");
}

bool form_read(struct compiler *c, const struct yaml_node *node, bool opening, struct form *form)
{
    struct form_option options[FORM_OPTIONS_MAX];
    struct form_node nodes[FORM_NODES_MAX + 1], *kept; /* the last one takes what is too much */
    struct reader r = {.c = c, .node = node, .opening = opening, .text = compiler_copy(c, node->text), .nodes = nodes,
                       .options = options};

    if (c->no_memory)
        return false;
    check_text(&r);
    if (!r.failed)
        read_sequence(&r);
    end_stretch(&r);
    if (!r.failed && r.at < r.text.len)
        fail(&r, r.at, "`%c` closes nothing here; write (a|b) for one of several words, [...] for what may be left out",
             peek(&r));
    kept = compiler_alloc(c, r.count, sizeof *kept);
    if (r.failed || kept == NULL)
        return false;
    memcpy(kept, nodes, r.count * sizeof *kept);
    *form = (struct form){.text = r.text, .line = node->line, .nodes = kept, .count = r.count};
    return true;
}
