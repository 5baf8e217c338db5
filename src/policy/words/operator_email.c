/* SPDX-License-Identifier: Apache-2.0 */
/* email: bare addresses of mail, one or several, and whose they are. What some mailer reads otherwise than it is written
 * (quotes, comments, routes, `%`, `!`, options of programs) is undecided. */
#include "words/operator_priv.h"
#include "policy/variable.h"
#include "texts/reading.h"

#include "base/ascii.h"
#include "base/glob.h"
#include "base/num.h"

#include <stdio.h>

struct part_term {
    struct span text; /* a glob; of a domain in lower case */
    bool varies;
};

struct email_terms {
    const struct part_term *domains, *locals; /* NULL: any */
    uint32_t domain_count, local_count;
    uint64_t most; /* 0: any number */
    bool none;     /* there may be no address at all */
};

struct email_parts {
    char domain[EMAIL_MAX], folded[LOCAL_MAX]; /* in lower case */
    struct span local;
    size_t domain_len;
};

/* ---- the policy's side ---- */

static void take_domain(struct compiler *c, const struct yaml_node *text, void *part)
{
    struct part_term *term = part;

    term->varies = compiler_varies(c, text);
    term->text = compiler_lower(c, text->text);
    if (text->text.len == 0 || !ascii_is_all(text->text, term->varies ? "a-zA-Z0-9.*?{}_-" : "a-zA-Z0-9.*?-") ||
        (!term->varies && glob_is_literal(text->text) && !reading_is_domain(text->text)))
        FAULT(c, text, "`%.*s` is no domain of mail; write one as in example.com, '*.example.com' for those below it, other "
              "letters as xn--...", SPAN_ARG(text->text));
}

static void take_local(struct compiler *c, const struct yaml_node *text, void *part)
{
    struct part_term *term = part;

    term->varies = compiler_varies(c, text);
    term->text = compiler_copy(c, text->text);
    if (text->text.len == 0 || !ascii_is_all(text->text, term->varies ? "a-zA-Z0-9._+*?{}-" : "a-zA-Z0-9._+*?-"))
        FAULT(c, text, "`%.*s` is no local part; write what stands in front of the `@`: letters, digits and `._+-`, and `*` "
              "and `?` for parts of it", SPAN_ARG(text->text));
}

static void compile_most(struct compiler *c, const struct yaml_node *most, struct email_terms *terms)
{
    if (most != NULL && (most->type != YAML_INT || num_u64(most->json, &terms->most) != CODE_OK || terms->most == 0))
        FAULT(c, most, "`most` is how many addresses there may be; write a whole number from 1 on");
}

static void compile_none(struct compiler *c, const struct yaml_node *none, struct email_terms *terms)
{
    terms->none = none != NULL && none->truth;
    if (none != NULL && none->type != YAML_BOOL)
        FAULT(c, none, "`none` is true where there may be no address at all%s", yaml_bool_words(none));
}

static void compile(struct compiler *c, const struct yaml_node *node, struct op *op)
{
    static const char *const known[] = {"domains", "local", "most", "none", NULL};
    const struct yaml_node *domains = yaml_member(node, "domains"), *local = yaml_member(node, "local");
    struct email_terms *terms = compiler_alloc(c, 1, sizeof *terms);

    op->written = compiler_written(c, node);
    op->terms = terms;
    if (terms == NULL || !compiler_is_map_of(c, node, known, "`email`"))
        return;
    if (node->count == 0)
        FAULT(c, node, "an empty `email` does not say whose; write {domains: [example.com]}, or {most: 1} for any one "
              "address");
    if (domains != NULL)
        terms->domains = compiler_texts(c, domains, sizeof *terms->domains, take_domain, &terms->domain_count);
    if (local != NULL)
        terms->locals = compiler_texts(c, local, sizeof *terms->locals, take_local, &terms->local_count);
    for (uint32_t i = 0; terms->domains != NULL && i < terms->domain_count; i++)
        op->varies |= terms->domains[i].varies;
    for (uint32_t i = 0; terms->locals != NULL && i < terms->local_count; i++)
        op->varies |= terms->locals[i].varies;
    compile_most(c, yaml_member(node, "most"), terms);
    compile_none(c, yaml_member(node, "none"), terms);
    if (!terms->none)
        op->types &= ~TYPE_BIT(JSON_NULL);
}

/* ---- one address ---- */

/* Letters, digits, `_+-` and single dots inside; not `-` or `+` first, which programs take for options. */
static bool is_local(struct span local)
{
    return local.len <= LOCAL_MAX && reading_is_name(local, "_+-") && !ascii_is_of(local.at[0], "+-");
}

/* Returns: false: it is no bare address. */
static bool read_parts(struct span text, struct email_parts *parts)
{
    struct span domain;

    parts->local = span_cut(text, '@', &domain);
    if (text.len > EMAIL_MAX || !is_local(parts->local) || !reading_is_domain(domain) || reading_ends_in_number(domain))
        return false;
    parts->domain_len = domain.len;
    (void)ascii_lower_all(domain, parts->domain);
    (void)ascii_lower_all(parts->local, parts->folded);
    return true;
}

static enum truth domain_truth(struct rule_walk *walk, const struct email_terms *terms, struct span domain)
{
    enum truth truth = terms->domains == NULL ? TRUTH_TRUE : TRUTH_FALSE;

    for (uint32_t i = 0; i < terms->domain_count && truth != TRUTH_TRUE; i++) {
        struct span said = terms->domains[i].text;
        bool is_said = !terms->domains[i].varies || variable_said(walk, terms->domains[i].text, VARIABLE_LABEL, &said);

        truth = truth_or(truth, is_said ? truth_of(glob_matches(said, domain)) : TRUTH_UNDECIDED);
    }
    return truth;
}

/* Most servers deliver `Ada@` and `ada+news@` to ada, and some do not: such a local part is undecided. */
static enum truth local_matches(struct span said, const struct email_parts *parts)
{
    struct span folded = span_of(parts->folded, parts->local.len);
    char small[2 * LOCAL_MAX];

    if (glob_matches(said, parts->local))
        return TRUTH_TRUE;
    if (said.len > sizeof small)
        return TRUTH_UNDECIDED;
    said = ascii_lower_all(said, small);
    if (glob_matches(said, folded) || glob_matches(said, span_part(folded, 0, span_find(folded, '+'))))
        return TRUTH_UNDECIDED;
    return TRUTH_FALSE;
}

static enum truth local_truth(struct rule_walk *walk, const struct email_terms *terms, const struct email_parts *parts)
{
    enum truth truth = terms->locals == NULL ? TRUTH_TRUE : TRUTH_FALSE;

    for (uint32_t i = 0; i < terms->local_count && truth != TRUTH_TRUE; i++) {
        struct span said = terms->locals[i].text;
        bool is_said = !terms->locals[i].varies || variable_said(walk, terms->locals[i].text, VARIABLE_GLOB, &said);

        truth = truth_or(truth, is_said ? local_matches(said, parts) : TRUTH_UNDECIDED);
    }
    return truth;
}

static enum truth address_truth(struct rule_walk *walk, const struct email_terms *terms, struct span text)
{
    struct email_parts parts;

    if (!read_parts(text, &parts))
        return TRUTH_UNDECIDED;
    return truth_and(domain_truth(walk, terms, span_of(parts.domain, parts.domain_len)), local_truth(walk, terms, &parts));
}

/* ---- several ---- */

struct addresses {
    enum truth truth; /* of all, where the condition opens; else of any */
    uint64_t count;
};

static bool take(struct rule_walk *walk, const struct op *op, struct span text, struct addresses *all)
{
    const struct email_terms *terms = op->terms;
    enum truth truth;

    if (!walk_charge(walk, 1 + text.len / 16 + ((uint64_t)terms->domain_count + terms->local_count) * (EMAIL_MAX / 16)))
        return false;
    truth = address_truth(walk, terms, text);
    all->truth = all->count == 0 ? truth : op->opening ? truth_and(all->truth, truth) : truth_or(all->truth, truth);
    all->count++;
    return true;
}

/* Where something is no bare address, the number is in doubt, too: a comma may stand in quotes. */
static enum truth whole_truth(const struct op *op, const struct addresses *all)
{
    const struct email_terms *terms = op->terms;

    if (all->count == 0)
        return truth_of(terms->none);
    if (terms->most > 0 && all->count > terms->most && (op->opening || all->truth == TRUTH_TRUE))
        return TRUTH_FALSE;
    return all->truth;
}

/* Addresses stand between commas, with blanks behind each. */
static enum truth text_truth(struct rule_walk *walk, const struct op *op, struct span text)
{
    struct addresses all = {.count = 0};

    for (bool is_last = text.len == 0; !is_last;) {
        struct span one, rest;

        is_last = span_find(text, ',') == text.len;
        one = span_cut(text, ',', &rest);
        if (!take(walk, op, one, &all))
            return TRUTH_UNDECIDED;
        while (rest.len > 0 && rest.at[0] == ' ')
            rest = span_part(rest, 1, SIZE_MAX);
        text = rest;
    }
    return whole_truth(op, &all);
}

static enum truth email(struct rule_walk *walk, const struct op *op, const struct json_node *value)
{
    const struct email_terms *terms = op->terms;
    struct addresses all = {.count = 0};

    if (value->type == JSON_STRING)
        return text_truth(walk, op, value->text);
    if (value->type == JSON_NULL && terms->none)
        return TRUTH_TRUE;
    if (value->type != JSON_ARRAY)
        return TRUTH_UNDECIDED;
    for (const struct json_node *one = value->child; one != NULL; one = one->next)
        if (!take(walk, op, one->type == JSON_STRING ? one->text : SPAN_NONE, &all))
            return TRUTH_UNDECIDED;
    return whole_truth(op, &all);
}

/* ---- for authors ---- */

/* An address of each domain, one of the domain beside it, and what mailers read otherwise. */
static void sample(const struct op *op, struct samples *samples)
{
    const struct email_terms *terms = op->terms;
    struct span local = terms->locals != NULL && glob_is_literal(terms->locals->text) ? terms->locals->text : SPAN_LIT("ada");

    for (uint32_t i = 0; i < terms->domain_count; i++) {
        struct span domain = terms->domains[i].text;
        bool is_below = span_starts_with(domain, SPAN_LIT("*"));
        char before[LOCAL_MAX + 3];

        snprintf(before, sizeof before, "%.*s@%s", SPAN_ARG(span_part(local, 0, LOCAL_MAX)), is_below ? "x" : "");
        samples->text(samples, before, span_part(domain, is_below, SIZE_MAX), "");
        samples->text(samples, "ada@x", span_part(domain, is_below, SIZE_MAX), "");
        samples->text(samples, "mallory%evil.example@", span_part(domain, is_below, SIZE_MAX), "");
    }
    samples->text(samples, "", local, "@example.com");
    samples->json(samples, SPAN_LIT("\"ada@example.com, bob@example.org\""));
    samples->json(samples, SPAN_LIT("[\"ada@example.com\", \"bob@example.com\"]"));
    samples->json(samples, SPAN_LIT("\"\""));
}

static const char *closing_doubt(const struct op *op)
{
    const struct email_terms *terms = op->terms;

    return terms->most > 0
               ? "this closes lists of so many addresses and lets longer ones pass; write not: {..., email: ...}, or leave "
                 "`most` out"
               : NULL;
}

const struct operator operator__email = {
    .word = "email", .types = TYPE_BIT(JSON_STRING) | TYPE_BIT(JSON_ARRAY) | TYPE_BIT(JSON_NULL), .compile = compile,
    .of_value = email, .reads_decoded = true, .looks_inside = true, .sample = sample, .closing_doubt = closing_doubt,
};
