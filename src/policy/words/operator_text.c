/* SPDX-License-Identifier: Apache-2.0 */
/* What a text looks like: matches, glob, starts_with, ends_with; what must not be in it: free_of. */
#include "words/operator_priv.h"
#include "policy/variable.h"

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
    .has_anchor = true, .sample = sample_matches,
};

/* ---- glob ---- */

static void compile_text(struct compiler *c, const struct yaml_node *node, struct op *op)
{
    if (!compiler_is_string(c, node))
        return;
    op->text = compiler_copy(c, node->text);
    op->varies = compiler_varies(c, node);
}

static enum truth glob(struct rule_walk *walk, const struct op *op, struct span text)
{
    struct span said = op->text;

    if (op->varies && (!variable_said(walk, op->text, VARIABLE_GLOB, &said) || !walk_charge(walk, text.len / 16 * said.len)))
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
    .word = "glob", .types = TYPES_SCALAR, .compile = compile_text, .of_text = glob, .cost = glob_cost, .sample = sample_glob,
};

/* ---- starts_with, ends_with ---- */

static enum truth starts_with(struct rule_walk *walk, const struct op *op, struct span text)
{
    struct span said = op->text;

    if (op->varies && !variable_said(walk, op->text, VARIABLE_TEXT, &said))
        return TRUTH_UNDECIDED;
    return truth_of(span_starts_with(text, said));
}

static enum truth ends_with(struct rule_walk *walk, const struct op *op, struct span text)
{
    struct span said = op->text;

    if (op->varies && !variable_said(walk, op->text, VARIABLE_TEXT, &said))
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
};

const struct operator operator__ends_with = {
    .word = "ends_with", .types = TYPES_SCALAR, .compile = compile_text, .of_text = ends_with, .sample = sample_end,
};

/* ---- free_of ---- */

static void compile_free_of(struct compiler *c, const struct yaml_node *node, struct op *op)
{
    static const char *const words[] = {"hidden", NULL};

    if (compiler_word(c, node, words) == 0)
        op->text = span_text(words[0]);
}

static enum truth free_of(struct rule_walk *walk, const struct op *op, struct span text)
{
    (void)walk;
    (void)op;
    return truth_of(!unicode_is_deceptive(text));
}

static void sample_free_of(const struct op *op, struct samples *samples)
{
    (void)op;
    samples->json(samples, SPAN_LIT("\"a\xe2\x80\x8b" "b\"")); /* U+200B */
}

static const char *doubt_free_of(const struct op *op)
{
    (void)op;
    return "this closes what is free of hidden characters and lets what holds them pass; write not: {..., free_of: hidden}";
}

const struct operator operator__free_of = {
    .word = "free_of", .types = TYPES_SCALAR, .compile = compile_free_of, .of_text = free_of, .cost = op_text_cost,
    .sample = sample_free_of, .closing_doubt = doubt_free_of,
};
