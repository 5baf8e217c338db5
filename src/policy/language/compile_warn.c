/* SPDX-License-Identifier: Apache-2.0 */
#include "language/compile_priv.h"
#include "policy/variable.h"
#include "words/foreign.h"

#include "unicode/unicode.h"

#include <ctype.h>

/* Warns of what can be seen at one place while it is read. author/warn.c warns of what takes the whole set to see. */

static void warn_unused(struct compiler *c, const struct part *part)
{
    size_t at = 0;

    for (const struct yaml_node *member = part->map ? part->map->child : NULL; member != NULL; member = member->next, at++)
        if (!part->used[at])
            WARN_KEY(c, member, "the %s `%.*s` is used by no rule; use it or leave it out", part->word,
                     SPAN_ARG(member->key));
}

/* The first `${name}` of the text, for which other programs put in a value; empty: none. */
static struct span shell_variable(struct span text)
{
    for (size_t at = 0; at + 3 < text.len; at++) {
        size_t end = at + 2;

        if (text.at[at] != '$' || text.at[at + 1] != '{')
            continue;
        while (end < text.len && (isalnum((unsigned char)text.at[end]) || memchr("_.:-", text.at[end], 4) != NULL))
            end++;
        if (end > at + 2 && end < text.len && text.at[end] == '}')
            return span_part(text, at, end + 1 - at);
    }
    return SPAN_NONE;
}

/* Whether the value is a regex, in which braces and `$` have a meaning. */
static bool is_regex(struct span key)
{
    return span_is(key, "matches") || span_is(key, "not_matches") || span_is(key, "regex");
}

static void warn_variables(struct compiler *c, const struct yaml_node *node)
{
    struct span found = node->type == YAML_STRING && !is_regex(node->key) ? shell_variable(node->text) : SPAN_NONE;

    if (found.len > 0)
        WARN(c, node, "`%.*s` looks like a variable and stands for itself: nothing is put in its place; write the value out",
             SPAN_ARG(span_part(found, 0, 60)));
    if (node->type == YAML_MAP && node->count == 1 && node->child->type == YAML_NULL && variable_is_name(node->child->key))
        WARN(c, node, "{%.*s} without quotes is a map in YAML, and no variable; quote it: '{%.*s}'", SPAN_ARG(node->child->key),
             SPAN_ARG(node->child->key));
    for (const struct yaml_node *member = node->child; member != NULL; member = member->next)
        warn_variables(c, member);
}

void compile__warn_file(struct compiler *c)
{
    warn_unused(c, &c->kinds);
    if (c->shares)
        return;
    warn_unused(c, &c->patterns);
    warn_unused(c, &c->lists);
    warn_unused(c, &c->labels);
    warn_unused(c, &c->detectors);
    warn_unused(c, &c->paths);
    if (c->lists.map != NULL)
        warn_variables(c, c->lists.map);
    if (c->paths.map != NULL)
        warn_variables(c, c->paths.map);
}

void compile__warn_rule(struct compiler *c, const struct yaml_node *node)
{
    const struct yaml_node *match = yaml_member(node, "match"), *when = yaml_member(node, "when");

    if (c->effect == EFFECT_PERMIT && (match == NULL || (match->type == YAML_MAP && match->count == 0)))
        WARN(c, node, "a permit without a `match` is for every tool of every server and for everybody%s; name upstreams, "
             "tools or callers", when != NULL ? " whose call meets its `when`" : "");
    if (match != NULL)
        warn_variables(c, match);
    if (when != NULL)
        warn_variables(c, when);
}

/* Whether no token can hold this name: RFC 6749 parts scopes by blanks, and the gate takes no name with
 * characters that nobody sees. */
static bool is_never_held(struct span name, enum dimension dimension)
{
    uint32_t point;
    size_t len;

    for (size_t at = 0; at < name.len; at += len) {
        len = unicode_next(span_part(name, at, SIZE_MAX), &point);
        if (len == 0 || unicode_cells(point) < 0 || (dimension == DIM_SCOPE && (point <= ' ' || point > '~' || point == '"')))
            return true;
    }
    return false;
}

/* Whether a `*` stands in the trust domain behind `spiffe://`: it would match beyond the domain's end. */
static bool leaves_trust_domain(struct span name)
{
    static const struct span scheme = SPAN_LIT("spiffe://");
    struct span domain = span_part(name, scheme.len, SIZE_MAX);

    domain = span_part(domain, 0, span_find(domain, '/'));
    return span_starts_with(name, scheme) && memchr(domain.at, '*', domain.len) != NULL && domain.len > 1;
}

void compile__warn_name(struct compiler *c, const struct yaml_node *node, enum dimension dimension)
{
    if (dimension >= DIM_HELD && is_never_held(node->text, dimension))
        WARN(c, node, dimension == DIM_SCOPE ? "no token has this scope: a scope is visible ASCII without blanks and quotes; "
             "write each scope on its own" : "nobody is in this group: the gate takes no name with characters that cannot be "
             "seen; write it as the provider does");
    if (c->author->foreign->regex(node->text, dimension != DIM_RESOURCE))
        WARN(c, node, "`%.*s` is a glob, in which nothing but `*`, `?` and `\\` has a meaning; write {regex: '%.*s'} to mean "
             "a regex", SPAN_ARG(node->text), SPAN_ARG(node->text));
    if (dimension == DIM_PRINCIPAL && leaves_trust_domain(node->text))
        WARN(c, node, "the `*` stands in the trust domain and goes on over its end, so that principals of other domains are "
             "meant, too; write the domain out, as in spiffe://example.org/*");
}

/* `-{abc}` of a form (forms/form.h), which may stand in any list. */
static bool is_letters_of_form(struct span text, size_t brace)
{
    return brace > 0 && text.at[brace - 1] == '-' && (brace == 1 || strchr(" [(", text.at[brace - 2]) != NULL);
}

/* Warns of {word} where it is no variable. `${...}` has a warning of its own, `{{...}}` means braces. */
void compile__warn_text(struct compiler *c, const struct yaml_node *node)
{
    static const char *const names[] = {"principal", "tenant", "upstream", "agent", NULL};
    struct span text = node->text, word;

    for (size_t at = span_find(text, '{'), end; at < text.len; at += 1 + span_find(span_part(text, at + 1, SIZE_MAX), '{')) {
        const char *nearest;

        for (end = at + 1; end < text.len && ((text.at[end] >= 'a' && text.at[end] <= 'z') || text.at[end] == '_'); end++)
            ;
        word = span_part(text, at, end + 1 - at);
        if (end == at + 1 || end == text.len || text.at[end] != '}' || variable_in(word) ||
            (at > 0 && strchr("${", text.at[at - 1]) != NULL) || is_letters_of_form(text, at))
            continue;
        nearest = why_nearest(word.at + 1, word.len - 2, names);
        WARN(c, node, "`%.*s` is no variable and stands for itself; %s%s%s", SPAN_ARG(word), nearest ? "did you mean `{" : "",
             nearest ? nearest : "variables are {principal}, {tenant}, {upstream} and {agent}", nearest ? "}`?" : "");
    }
}

/* ---- conditions ---- */

/* A path with `..` looks everywhere: where it finds nothing, no single argument is absent. */
static void warn_absence(struct compiler *c, const struct yaml_node *node, const struct condition *leaf)
{
    bool descends = false;

    for (const struct path *path = &leaf->path; path != NULL; path = path->next)
        descends |= path->descends;
    if (!descends && !span_is(leaf->path.text, "$"))
        WARN(c, node, "where `%.*s` is absent this %s does not apply; write `absent: applies` if it should, "
             "`absent: ignored` if that is meant", SPAN_ARG(leaf->path.text), c->of_answers ? "rule" : effect_text(c->effect));
}

/* `decode` makes readings of strings, so that only operators that look at strings use it. */
static void warn_decode(struct compiler *c, const struct yaml_node *node, const struct condition *leaf)
{
    bool concerns = leaf->decoders == 0;

    for (uint32_t i = 0; i < leaf->op_count; i++)
        concerns |= op_reads_decoded(&leaf->ops[i]);
    if (!concerns)
        WARN(c, node, "`decode` changes nothing for operators that do not read strings; leave it out");
}

/* Only tokens have claims: a condition that holds without the claim holds for everybody who comes with a key or
 * a certificate. */
static void warn_claim(struct compiler *c, const struct yaml_node *node, const struct condition *leaf)
{
    if (leaf->from == FROM_CLAIM && leaf->opening && leaf->absent == TRUTH_TRUE)
        WARN(c, node, "`%.*s` is absent for who comes without a token, too, and this permit takes that for good; add another "
             "condition, or `groups` or `scopes`, if only tokens are meant", SPAN_ARG(leaf->path.text));
}

static void warn_closing(struct compiler *c, const struct yaml_node *node, const struct condition *leaf)
{
    for (uint32_t i = 0; i < leaf->op_count; i++) {
        const struct op *op = &leaf->ops[i];
        bool may_doubt = !c->no_memory && !leaf->opening && op->operator->closing_doubt != NULL;
        const char *doubt = may_doubt ? op->operator->closing_doubt(op) : NULL;

        if (doubt != NULL)
            WARN(c, node, "%s", doubt);
    }
}

void compile__warn_leaf(struct compiler *c, const struct yaml_node *node, const struct condition *leaf, bool is_silent)
{
    if (is_silent)
        warn_absence(c, node, leaf);
    warn_decode(c, node, leaf);
    warn_closing(c, node, leaf);
    warn_claim(c, node, leaf);
}
