/* SPDX-License-Identifier: Apache-2.0 */
/* format: forms that a text has or has not; none is ever undecided. */
#include "texts/date.h"
#include "texts/reading.h"
#include "words/operator_priv.h"

#include "base/num.h"

static bool is_uuid(struct span text)
{
    for (size_t i = 0; i < text.len; i++) {
        bool hyphen = i == 8 || i == 13 || i == 18 || i == 23;

        if (hyphen ? text.at[i] != '-' : num_hex_digit(text.at[i]) < 0)
            return false;
    }
    return text.len == 36;
}

static bool is_email(struct span text)
{
    static const char dot_atom[] = "!#$%&'*+-/=?^_`{|}~"; /* RFC 5322, besides letters and digits */
    struct span domain, local = span_cut(text, '@', &domain);

    return text.len <= EMAIL_MAX && local.len <= LOCAL_MAX && reading_is_name(local, dot_atom) && reading_is_domain(domain);
}

static bool is_address(struct span text, unsigned family)
{
    struct address address;

    return address_read(text, &address) && address.family == family;
}

static bool is_ipv4(struct span text)
{
    return is_address(text, 4);
}

static bool is_ipv6(struct span text)
{
    return is_address(text, 6);
}

/* ---- the operator ---- */

static const char *const words[] = {"uuid", "email", "date", "date-time", "ipv4", "ipv6", NULL};

static const struct form {
    bool (*has)(struct span text);
    const char *sample;
} forms[] = {
    {is_uuid, "\"7d444840-9dc0-11d1-b245-5ffdce74fad2\""}, {is_email, "\"ada@example.com\""}, {date_is, "\"2026-11-20\""},
    {date_time_is, "\"2026-11-20T12:00:00Z\""}, {is_ipv4, "\"192.0.2.7\""}, {is_ipv6, "\"2001:db8::7\""},
};

static void compile(struct compiler *c, const struct yaml_node *node, struct op *op)
{
    int word = compiler_word(c, node, words);

    op->written = compiler_written(c, node);
    if (word >= 0)
        op->terms = &forms[word];
}

static enum truth format(struct rule_walk *walk, const struct op *op, struct span text)
{
    const struct form *form = op->terms;

    (void)walk;
    return truth_of(form->has(text));
}

static void sample(const struct op *op, struct samples *samples)
{
    (void)op;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        samples->json(samples, span_text(forms[i].sample));
}

const struct operator operator__format = {
    .word = "format", .types = TYPES_SCALAR, .compile = compile, .of_text = format, .cost = op_text_cost, .sample = sample,
};
