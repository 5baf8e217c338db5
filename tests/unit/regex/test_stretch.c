/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/regex/regexes.h"

/* 2.12: PCRE2 cannot be stopped while one item takes in all that is left, nor while it looks for the next start. So it does not
 * begin what would not end in time; a stretch that no callout announces would show here as work that went on. */
TEST_CASE(test_long_stretches_do_not_begin)
{
    static const struct {
        const char *pattern, *piece;
        unsigned rate; /* units a byte of the stretch */
    } table[] = {{"\\s++\\d", " ", 2},       {"\\s+\\d", " ", 2},           {"[^;]*\\d", "a", 2},
                 {"a{3,}\\d", "a", 2},       {"(a++)+\\d", "a", 2},         {"[^;]*\\d", "\xc3\xa9", 3},
                 {"(?x)[^;]*  \\d", "a", 2}, {"\\\\++\\d", "\\", 2},        {"\\p{L}*+\\d", "a", 4},
                 {"[\\p{L} ]*+\\d", "a", 7}, {"[^\\p{N}\xe2\x82\xac]*\\d", "a", 8}, {"\\X++\\d", "a", 8},
                 {"[qz]\\d", "a", 2},        {"(?:q|z)+\\d", "a", 2}};

    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct regex *regex = compile(table[i].pattern);
        char *subject = pump(MIB, table[i].piece, "\xc3\xa9");
        struct span text = span_of(subject, table[i].rate == 2 ? MIB - 2 : MIB);
        struct regex_budget budget;

        (void)ask_within(regex, text, table[i].rate * (text.len - 4096) / 1000, &budget);
        if (!budget.spent || budget.work > text.len / 2 + 4096)
            fail_msg("%s: %llu units, so that a stretch began", table[i].pattern, (unsigned long long)budget.work);
        (void)ask_within(regex, text, (table[i].rate + 1) * text.len / 1000, &budget);
        if (budget.spent && budget.work < text.len)
            fail_msg("%s: denied though there was time", table[i].pattern);
        free(subject);
        regex_free(&regex);
    }
}

/* 1.21: texts are often bounded by what their characters may be; the gate's clock denies none of them needlessly. */
TEST_CASE(test_classes_of_properties_read_a_mib)
{
    static const char *const patterns[] = {"[\\p{L}\\p{N}\\p{P}\\p{Z}\\s]*", "[\\p{L}\\p{M}\\p{N}\\p{P}\\p{S}\\p{Z}\\r\\n\\t]*",
                                           "[\\p{Latin}\\p{Greek}\\p{Cyrillic}\\p{Common}]*", "[^\\p{Cc}\\p{Cf}\\p{Cs}]*",
                                           "\\P{Cc}*", "\\X*"};
    static const char *const texts[] = {"42 quick, brown (foxes) jump; ", "F\xc3\xbcnf Z\xc3\xa4hne \xe2\x80\x93 sagte Ren\xc3\xa9... "};

    for (size_t i = 0; i < sizeof patterns / sizeof *patterns * 2; i++) {
        struct regex *regex = compile(patterns[i / 2]);
        char *subject = pump(MIB, texts[i % 2], "");
        struct regex_budget budget;

        regex_budget_init_timed(&budget);
        budget.now_us = stopped_us;
        if (regex_match(regex, span_of(subject, MIB), true, &budget) != REGEX_MATCH)
            fail_msg("%s: denied though there was time", patterns[i / 2]);
        free(subject);
        regex_free(&regex);
    }
}

/* 2.12: the subject's check is no stretch either. */
TEST_CASE(test_utf8_check_looks_at_the_clock)
{
    struct regex *regex = compile("q");
    char *subject = pump(MIB, "\xc3\xa9", "");
    struct regex_budget budget;

    regex_budget_init_timed(&budget);
    budget.look_at = UINT64_MAX;
    budget.cpu_until_us = 1; /* long over */
    assert_int_equal(regex_match(regex, span_of(subject, MIB), false, &budget), REGEX_UNDECIDED);
    assert_true(budget.spent);
    free(subject);
    regex_free(&regex);
}

TEST_MAIN(NULL, NULL)
