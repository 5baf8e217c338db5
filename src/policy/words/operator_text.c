/* SPDX-License-Identifier: Apache-2.0 */
/* What a text looks like: matches, glob, starts_with, ends_with; what must not be in it: free_of. */
#include "words/foreign.h"
#include "words/operator_priv.h"

#include "base/glob.h"
#include "base/utf8.h"
#include "unicode/unicode.h"

/* ---- matches ---- */

/* A regex, or {pattern: name}. */
static void compile_matches(struct compiler *c, const struct yaml_node *node, struct op *op)
{
    const struct yaml_node *text = node;

    if (node->type == YAML_MAP)
        text = compiler_named(c, node, &c->patterns);
    else if (!compiler_is_string(c, node))
        return;
    if (text == NULL || text->type != YAML_STRING)
        return;
    if (c->pumps && variable_in(text->text)) /* files that are stored keep their meaning */
        FAULT(c, node, "a regex has no variables; ask with `glob`, `starts_with` or `under`, or write \\{...\\} for the braces "
              "themselves");
    op->text = compiler_copy(c, text->text);
    op->regex = compiler_pattern(c, node, op->text, op->whole);
}

static enum truth matches(struct rule_walk *walk, const struct op *op, struct span text)
{
    return policy_regex(op->regex, op->opening, text, op->whole, walk->budget);
}

/* All matches from left to right; behind an empty one the next begins a character on. */
static enum truth find_matches(struct rule_walk *walk, const struct op *op, struct span text, op_found_fn found, void *context)
{
    enum regex_result result = REGEX_MATCH;
    bool is_ascii = true, any = false;
    struct span match;
    uint32_t point;

    if (utf8_check(text, 0, text.len, &is_ascii) == SIZE_MAX)
        return TRUTH_UNDECIDED;
    if (op->whole) {
        found(context, SPAN_NONE, 0, text.len);
        return TRUTH_TRUE;
    }
    for (size_t from = 0; from <= text.len; any = true) {
        size_t at;

        result = regex_find(op->regex, text, is_ascii, from, text.len, walk->budget, &match);
        if (result != REGEX_MATCH)
            break;
        at = (size_t)(match.at - text.at);
        found(context, SPAN_NONE, at, match.len);
        from = at + match.len + (match.len > 0 ? 0 : at < text.len ? unicode_next(span_part(text, at, SIZE_MAX), &point) : 1);
    }
    return result == REGEX_UNDECIDED ? TRUTH_UNDECIDED : truth_of(any);
}

static void sample_matches(const struct op *op, struct samples *samples)
{
    samples->regex(samples, op->text);
}

const struct operator operator__matches = {
    .word = "matches", .types = TYPES_SCALAR, .compile = compile_matches, .of_text = matches, .find = find_matches,
    .has_anchor = true, .sample = sample_matches, .shape = SHAPE_REGEX,
};

/* ---- glob ---- */

static void compile_text(struct compiler *c, const struct yaml_node *node, struct op *op)
{
    if (!compiler_is_string(c, node))
        return;
    op->text = op->folds ? compiler_folded(c, node->text) : compiler_copy(c, node->text);
    op->varies = compiler_varies(c, node);
}

/* Folding would make a plain `*`, which stands for anything, of a wide one. */
static void compile_glob(struct compiler *c, const struct yaml_node *node, struct op *op)
{
    size_t special = 0;

    compile_text(c, node, op);
    if (c->warnings != NULL && node->type == YAML_STRING && c->author->foreign->regex(node->text, false))
        WARN(c, node, "`%.*s` is a glob, in which nothing but `*`, `?` and `\\` has a meaning; write matches: '%.*s' to mean a "
             "regex", SPAN_ARG(node->text), SPAN_ARG(node->text));
    for (size_t i = 0; i < op->text.len; i++)
        special += strchr("*?\\", op->text.at[i]) != NULL;
    for (size_t i = 0; node->type == YAML_STRING && i < node->text.len; i++)
        special -= strchr("*?\\", node->text.at[i]) != NULL;
    if (special != 0 && !c->no_memory)
        FAULT(c, node, "`ignore_case` makes a `*`, `?` or `\\` of a wide character in this glob; write the plain one");
}

static enum truth glob(struct rule_walk *walk, const struct op *op, struct span text)
{
    struct span said = op->text;

    if (op->varies &&
        (!operator__said(walk, op, op->text, VARIABLE_GLOB, &said) || !walk_charge(walk, text.len / 16 * said.len)))
        return TRUTH_UNDECIDED;
    return truth_of(glob_matches(said, text));
}

/* A glob may try its pattern at each place of the text. */
static uint64_t glob_cost(const struct op *op, struct span text)
{
    return (uint64_t)text.len / 16 * (op->text.len > 0 ? op->text.len : 1);
}

static void sample_glob(const struct op *op, struct samples *samples)
{
    samples->glob(samples, op->text);
}

const struct operator operator__glob = {
    .word = "glob", .types = TYPES_SCALAR, .compile = compile_glob, .of_text = glob, .cost = glob_cost, .sample = sample_glob,
    .can_fold = true, .shape = SHAPE_GLOB,
};

/* ---- starts_with, ends_with ---- */

static enum truth starts_with(struct rule_walk *walk, const struct op *op, struct span text)
{
    struct span said = op->text;

    if (op->varies && !operator__said(walk, op, op->text, VARIABLE_TEXT, &said))
        return TRUTH_UNDECIDED;
    return truth_of(span_starts_with(text, said));
}

static enum truth ends_with(struct rule_walk *walk, const struct op *op, struct span text)
{
    struct span said = op->text;

    if (op->varies && !operator__said(walk, op, op->text, VARIABLE_TEXT, &said))
        return TRUTH_UNDECIDED;
    return truth_of(span_ends_with(text, said));
}

static void sample_end(const struct op *op, struct samples *samples)
{
    samples->text(samples, "", op->text, "");
    samples->text(samples, "x", op->text, "");
    samples->text(samples, "", op->text, "x");
}

const struct operator operator__starts_with = {
    .word = "starts_with", .types = TYPES_SCALAR, .compile = compile_text, .of_text = starts_with, .sample = sample_end,
    .can_fold = true, .shape = SHAPE_BEGINNING,
};

const struct operator operator__ends_with = {
    .word = "ends_with", .types = TYPES_SCALAR, .compile = compile_text, .of_text = ends_with, .sample = sample_end,
    .can_fold = true, .shape = SHAPE_ENDING,
};

/* ---- free_of ---- */

static const char *const free_words[] = {"hidden", "line_ends", "encoded_words", NULL};
enum free_word { FREE_HIDDEN = 0, FREE_LINE_ENDS, FREE_ENCODED_WORDS };

static void take_free_word(struct compiler *c, const struct yaml_node *text, void *part)
{
    int word = compiler_word(c, text, free_words);

    *(unsigned *)part = word >= 0 ? 1u << word : 0;
}

static void compile_free_of(struct compiler *c, const struct yaml_node *node, struct op *op)
{
    uint32_t count = 0;
    const unsigned *words = compiler_texts(c, node, sizeof *words, take_free_word, &count);

    op->written = compiler_written(c, node);
    for (uint32_t i = 0; words != NULL && i < count; i++)
        op->count |= words[i];
}

/* What some reader takes for the end of a line: LF, CR, VT, FF, NEL, and Unicode's separators of lines and paragraphs. */
static bool has_line_end(struct span text)
{
    static const char *const more[] = {"\xc2\x85", "\xe2\x80\xa8", "\xe2\x80\xa9"};

    for (size_t i = 0; i < text.len; i++)
        if (text.at[i] >= '\n' && text.at[i] <= '\r')
            return true;
    for (size_t i = 0; i < sizeof more / sizeof *more; i++)
        if (text.len > 0 && memmem(text.at, text.len, more[i], strlen(more[i])) != NULL)
            return true;
    return false;
}

/* RFC 2047: `=?charset?q?...?=`. Some mailers read it without its end, with blanks in it, and with any charset. */
static bool has_encoded_word(struct span text)
{
    for (size_t at = span_find(text, '='); at < text.len; at += 1 + span_find(span_part(text, at + 1, SIZE_MAX), '=')) {
        struct span charset = span_part(text, at + 2, SIZE_MAX), rest;

        if (!span_starts_with(span_part(text, at, SIZE_MAX), SPAN_LIT("=?")))
            continue;
        charset = span_cut(charset, '?', &rest);
        if (rest.len > 1 && rest.at[1] == '?' && strchr("bBqQ", rest.at[0]) != NULL)
            return true;
    }
    return false;
}

static enum truth free_of(struct rule_walk *walk, const struct op *op, struct span text)
{
    (void)walk;
    return truth_of(((op->count >> FREE_HIDDEN & 1) == 0 || !unicode_is_deceptive(text)) &&
                    ((op->count >> FREE_LINE_ENDS & 1) == 0 || !has_line_end(text)) &&
                    ((op->count >> FREE_ENCODED_WORDS & 1) == 0 || !has_encoded_word(text)));
}

static void sample_free_of(const struct op *op, struct samples *samples)
{
    (void)op;
    samples->json(samples, SPAN_LIT("\"a\xe2\x80\x8b" "b\"")); /* U+200B */
    samples->json(samples, SPAN_LIT("\"a\\nb\""));
    samples->json(samples, SPAN_LIT("\"=?utf-8?q?a?=\""));
}

static const char *doubt_free_of(const struct op *op)
{
    (void)op;
    return "this closes what is free of all that and lets what holds it pass; write not: {..., free_of: ...}";
}

const struct operator operator__free_of = {
    .word = "free_of", .types = TYPES_SCALAR, .compile = compile_free_of, .of_text = free_of, .cost = op_text_cost,
    .sample = sample_free_of, .closing_doubt = doubt_free_of,
};
