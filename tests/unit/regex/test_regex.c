/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/regex/regexes.h"

#include "base/buf.h"
#include "base/mem.h"
#include "os/clock.h"
#include "unicode/unicode.h"

#include <pthread.h>
#include <stdio.h>

static enum regex_result ask(const char *pattern, struct span subject, bool whole)
{
    struct regex *regex = compile(pattern);
    struct regex_budget budget;
    enum regex_result result;

    regex_budget_init(&budget);
    result = regex_match(regex, subject, whole, &budget);
    regex_free(&regex);
    assert_null(regex);
    return result;
}

static void expect(const char *pattern, const char *subject, bool whole, enum regex_result result)
{
    if (ask(pattern, span_text(subject), whole) != result)
        fail_msg("%s on %s, %s: not %d", pattern, subject, whole ? "whole" : "anywhere", result);
}

TEST_CASE(test_whole_and_anywhere)
{
    expect("list_[a-z]+", "list_files", true, REGEX_MATCH);
    expect("list_[a-z]+", "x list_files", true, REGEX_NO_MATCH);
    expect("list_[a-z]+", "x list_files y", false, REGEX_MATCH);
    expect("a|ab", "ab", true, REGEX_MATCH); /* the end is part of the question, not looked at afterwards */
    expect("a|b", "xb", true, REGEX_NO_MATCH);
    expect("^a|b$", "ab", true, REGEX_NO_MATCH);
    expect("", "", true, REGEX_MATCH);
    expect("", "a", true, REGEX_NO_MATCH);
    expect("a*", "", false, REGEX_MATCH);
    expect("(a)(b)(c)", "abc", true, REGEX_MATCH);
    expect("(?x) a  # the end of the line is a comment", "a", true, REGEX_MATCH);
    expect("\\Qa.b", "a.b", true, REGEX_MATCH);
}

TEST_CASE(test_options)
{
    expect("a$", "a\n", false, REGEX_NO_MATCH);       /* DOLLAR_ENDONLY */
    expect("a.b", "a\nb", true, REGEX_MATCH);         /* DOTALL */
    expect("\\w", "\xc3\xa4", true, REGEX_NO_MATCH);  /* UCP off */
    expect("\\d", "\xd9\xa3", true, REGEX_NO_MATCH);
    expect(".", "\xc3\xa4", true, REGEX_MATCH);       /* UTF on */
    expect("(?i)k", "\xe2\x84\xaa", true, REGEX_MATCH);
    assert_int_equal(ask("a.b", span_of("a\0b", 3), true), REGEX_MATCH);
    assert_int_equal(ask("a", SPAN_NONE, false), REGEX_NO_MATCH);
    expect("a", "\xff", false, REGEX_UNDECIDED);
    expect("a", "a\xc3", false, REGEX_UNDECIDED);
}

static void refuse(const char *pattern, size_t at, const char *words)
{
    struct regex *regex;
    struct why why = {""};
    size_t offset = 999;

    assert_int_equal(regex_compile(span_text(pattern), &regex, &offset, &why), CODE_INVALID);
    assert_null(regex);
    if (strstr(why.text, words) == NULL || offset != at)
        fail_msg("%s: `%s` at %zu instead of `%s` at %zu", pattern, why.text, offset, words, at);
}

static void leave_in_memory(int byte)
{
    void *blocks[64];

    for (size_t i = 0; i < 64; i++) {
        blocks[i] = malloc(16 * (i + 1));
        memset(blocks[i], byte, 16 * (i + 1));
    }
    for (size_t i = 0; i < 64; i++)
        free(blocks[i]);
}

/* 10.42: PCRE2 10.46 enumerates the callouts of such a pattern without end, by what lies in memory that it was given: it is not asked. */
TEST_CASE(test_lists_of_code_points)
{
    struct regex *regex;
    struct why why;
    size_t offset;

    for (int byte = 0; byte < 256; byte++) {
        leave_in_memory(byte);
        assert_int_equal(regex_compile(SPAN_LIT("(?!\\A\\x{feff})[\\x{61c}\\x{200b}-\\x{200f}\\x{e0000}-\\x{e007f}]{1,40}|"
                                                "[\\x{fe00}-\\x{fe0f}\\x{e0100}-\\x{e01ef}]{2,40}"), &regex, &offset, &why), CODE_OK);
        regex_free(&regex);
    }
}

/* 1.21 */
TEST_CASE(test_refused_patterns)
{
    struct regex *regex;
    struct why why;
    size_t offset;
    char *big = calloc(1, 20000);

    refuse("a)|(?:b", 1, "parenthes");
    refuse("(a", 2, "parenthes");
    refuse("[a", 2, "]");
    refuse("a(?C1)b", 1, "callout");
    refuse("a(?C'x')b", 1, "callout");
    refuse("(*COMMIT)a", 0, "verb");
    refuse("a(*SKIP)(*FAIL)|b", 1, "verb");
    refuse("(*UTF)a", 0, "verb");
    refuse("a{,3}", 1, "{0,3}"); /* 10.42: versions of PCRE2 read these differently */
    refuse("ab{ 1,2}", 2, "{0,3}");
    refuse("a{,}", 1, "{0,3}");
    refuse("(*LIMIT_MATCH=1)a", 0, "verb");
    refuse("x(*:name)", 1, "verb");
    refuse("\\c\\(*COMMIT)", 3, "verb");
    refuse("a\\C", 3, "\\C");
    refuse("(?<=a+)b", 0, "lookbehind");
    refuse("\\(?C1\\)", 1, "[(]"); /* an escape may be spent already */
    expect("[(]?C1[)]", "(C1)", true, REGEX_MATCH);
    expect("[(][*]UTF", "(*UTF", true, REGEX_MATCH);
    assert_int_equal(regex_compile(SPAN_LIT("a\xff"), &regex, &offset, &why), CODE_INVALID);
    memset(big, 'a', 16385);
    assert_int_equal(regex_compile(span_of(big, 16385), &regex, &offset, &why), CODE_LIMIT);
    free(big);
}

TEST_CASE(test_case_folding_is_seen)
{
    static const struct {
        const char *pattern;
        bool folds;
    } table[] = {{"(?i)a", true},     {"a(?im-s:b)", true}, {"(?mi)a", true},  {"(?^i)a", true},    {"abc", false},
                 {"(?:i)", false},    {"(?-i)a", false},    {"(?=i)", false},  {"(?<i>a)", false},  {"(?s)i", false}};

    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct regex *regex = compile(table[i].pattern);

        if (regex_folds_case(regex) != table[i].folds)
            fail_msg("%s", table[i].pattern);
        regex_free(&regex);
    }
}

/* ---- hostile patterns ---- */

/* `piece` over and over, and `end`. */
static const struct hostile {
    const char *pattern;
    const char *piece, *end;
    size_t bytes;
    bool whole;
} hostile[] = {
    {"\\s+$", " ", "!", 64 << 10, false},
    {"\\s+$", " ", "!", 1 << 20, false},
    {".*.*=.*x", "=", "!", 1 << 20, false},
    {".*.*=.*x", "a", "!", 1 << 20, false},
    {"\\s++\\d", " ", "!", 64 << 10, false},
    {"\\s++\\d", " ", "!", 1 << 20, false},
    {"[^x]*[^x]*=!", "a", "=", 1 << 20, false},
    {"(a+)+$", "a", "!", 8192, false},
    {"(a+)+$", "a", "!", 1 << 20, false},
    {"(a+)+!", "a", "b!", 40, true},
    {"(a|aa)+$", "a", "!", 64, true},
    {"(a*)*b!?", "a", "!", 8192, false},
    {"([a-z]+\\d?)+!", "a", "?!", 2000, false},
    {"a*a*a*a*a*!", "a", "?!", 4000, false},
    {"(.*)\\1(.*)\\2!", "a", "?!", 64 << 10, false},
    {"(\\w*)\\s*\\1!", "a", "?!", 1 << 20, false},
    {"[^x]{60000}y", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaax", "y", 1 << 20, false},
    {"(?:[^y]{30000}){2}y", "a", "x", 1 << 20, false},
    {"(?R)?a+!", "a", "?!", 64 << 10, false},
    {"(?:(?=(a+))a)+!", "a", "?!", 64 << 10, false},
    {"(?i)(x+x+)+y", "xX", "!", 8192, false},
};

/* 1.21: work alone ends every one of them, soon, and says undecided; so does the gate's clock. */
TEST_CASE(test_hostile_patterns_end)
{
    for (size_t i = 0; i < sizeof hostile / sizeof *hostile; i++) {
        const struct hostile *h = &hostile[i];
        struct regex *regex = compile(h->pattern);
        char *subject = pump(h->bytes, h->piece, h->end);
        struct regex_budget budget;
        int64_t begin = clock_thread_cpu_us(), took;
        enum regex_result result;

        regex_budget_init(&budget);
        result = regex_match(regex, span_of(subject, h->bytes), h->whole, &budget);
        took = clock_thread_cpu_us() - begin;
        if (getenv("V"))
            print_message("%-26s %8zu %7.2f ms, %9llu units, %d\n", h->pattern, h->bytes, (double)took / 1000,
                          (unsigned long long)budget.work, result);
        if (result != REGEX_UNDECIDED && !(result == REGEX_NO_MATCH && budget.work < 4000000))
            fail_msg("%s on %zu bytes: %d after %llu units", h->pattern, h->bytes, result, (unsigned long long)budget.work);
        assert_false(budget.spent);
        assert_true(budget.work <= 8000000 + 17 * h->bytes + MIB);
        assert_true(took < 1000000); /* sanitizers included; 40 ms without */
        free(subject);
        regex_free(&regex);
    }
}

/* 1.21 */
TEST_CASE(test_measured_patterns_are_undecided)
{
    for (size_t i = 0; i < 6; i++) {
        char *subject = pump(hostile[i].bytes, hostile[i].piece, hostile[i].end);

        assert_int_equal(ask(hostile[i].pattern, span_of(subject, hostile[i].bytes), false), REGEX_UNDECIDED);
        free(subject);
    }
}

/* 1.21: work is the same on every machine and at every try. */
TEST_CASE(test_work_is_deterministic)
{
    struct regex *regex = compile("(a+)+!");
    char *subject = pump(4096, "a", "?!");
    uint64_t first = 0;

    for (int i = 0; i < 3; i++) {
        struct regex_budget budget;

        regex_budget_init(&budget);
        assert_int_equal(regex_match(regex, span_of(subject, 4096), false, &budget), REGEX_UNDECIDED);
        assert_true(i == 0 || budget.work == first);
        first = budget.work;
    }
    free(subject);
    regex_free(&regex);
}

/* 1.21: a call has one budget for all its matches; used up, it stays so. */
TEST_CASE(test_call_budget)
{
    struct regex *slow = compile("\\s++\\d"), *quick = compile("a");
    char *subject = pump(64 << 10, " ", "!");
    struct regex_budget budget;
    int matches = 0;

    regex_budget_init(&budget);
    while (!budget.spent && matches < 100) {
        assert_int_equal(regex_match(slow, span_of(subject, 64 << 10), false, &budget), REGEX_UNDECIDED);
        matches++;
    }
    assert_true(budget.spent);
    assert_in_range(matches, 8, 20);
    assert_int_equal(regex_match(quick, SPAN_LIT("a"), false, &budget), REGEX_UNDECIDED);
    free(subject);
    regex_free(&slow);
    regex_free(&quick);
}

/* 1.21: the gate also stops at 20 ms of the thread's CPU time. */
TEST_CASE(test_clock)
{
    struct regex *slow = compile("\\s++\\d"), *quick = compile("a");
    char *subject = pump(MIB, " ", "!");
    struct regex_budget budget;
    int64_t begin = clock_thread_cpu_us();

    regex_budget_init_timed(&budget);
    for (int i = 0; i < 100 && !budget.spent; i++)
        assert_int_equal(regex_match(slow, span_of(subject, MIB), false, &budget), REGEX_UNDECIDED);
    assert_true(budget.spent);
    assert_true(budget.cpu_until_us >= begin + 18000); /* two of the twenty are for what comes after */
    assert_true(clock_thread_cpu_us() - begin < 300000);
    regex_budget_init_timed(&budget);
    budget.cpu_until_us = begin - 1000000; /* past already: found out with the first heavy match */
    assert_int_equal(regex_match(slow, span_of(subject, MIB), false, &budget), REGEX_UNDECIDED);
    assert_true(budget.spent);
    assert_true(budget.work < 2 * MIB);
    regex_budget_init_timed(&budget);
    assert_int_equal(regex_match(quick, SPAN_LIT("a"), false, &budget), REGEX_MATCH);
    assert_int_equal(budget.cpu_until_us, 0); /* an ordinary match never asks for the time */
    assert_false(budget.spent);
    free(subject);
    regex_free(&slow);
    regex_free(&quick);
}

/* 1.21: a file being written is an ordinary argument, and ordinary patterns search it. */
TEST_CASE(test_ordinary_patterns_search_a_mib)
{
    static const char *const words[] = {"the ",   "quick ", "brown ", "fox ",    "jumps ", "over ", "lazy ", "dog\n",
                                        "table ", "delta ", "dry ",   "from\n", "return x = y; ", "0x1f, 42, "};
    static const char *const patterns[] = {"(?i)\\b(drop|truncate|delete)\\b\\s+(table|from)\\b", "password",
                                           "\\b\\d{3}-\\d{2}-\\d{4}\\b", "(?:\\d[ -]*?){13,16}",
                                           "(?is)union\\s+(all\\s+)?select", "<script[^>]*>", "(^|/)\\.\\.(/|$)",
                                           "https?://[^\\s]+\\.onion"};
    char *text = malloc(MIB);
    size_t len = 0;
    unsigned next = 1;

    while (len < MIB) {
        const char *word = words[(next = next * 1103515245 + 12345) >> 16 & 15 ? (next >> 16) % 14 : 0];
        size_t part = strlen(word) < MIB - len ? strlen(word) : MIB - len;

        memcpy(text + len, word, part);
        len += part;
    }
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++)
        assert_int_equal(ask(patterns[i], span_of(text, MIB), false), REGEX_NO_MATCH);
    memcpy(text + MIB - 13, "\nDROP  TABLE ", 13);
    assert_int_equal(ask(patterns[0], span_of(text, MIB), false), REGEX_MATCH);
    assert_int_equal(ask("[\\x20-\\x7e\\n]*", span_of(text, MIB), true), REGEX_MATCH);
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) { /* nor does the gate's clock deny them needlessly */
        struct regex *regex = compile(patterns[i]);
        struct regex_budget budget;

        (void)ask_within(regex, span_of(text, MIB), 3 * MIB / 1000, &budget);
        assert_false(budget.spent);
        regex_free(&regex);
    }
    free(text);
}

/* 1.21: PCRE2 is told not to check UTF-8, so that what we take for valid is what utf8proc does: around all bounds of bytes. */
TEST_CASE(test_invalid_utf8_is_undecided)
{
    static const unsigned char bounds[] = {0x00, 0x41, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xc1, 0xc2, 0xdf,
                                           0xe0, 0xe1, 0xec, 0xed, 0xee, 0xef, 0xf0, 0xf1, 0xf3, 0xf4, 0xf5, 0xff};
    struct regex *regex = compile(".*");
    size_t n = sizeof bounds, valid = 0;
    char text[13] = "12345678";

    for (size_t i = 0; i < n * n * n * n; i++) {
        struct regex_budget budget;
        struct span subject = span_of(text, 12);
        bool is_valid;

        text[8] = (char)bounds[i % n];
        text[9] = (char)bounds[i / n % n];
        text[10] = (char)bounds[i / n / n % n];
        text[11] = (char)bounds[i / n / n / n];
        subject = span_part(subject, i % 3 * 4, 12 - i % 7 / 6);
        is_valid = unicode_is_utf8(subject);
        regex_budget_init(&budget);
        if ((regex_match(regex, subject, true, &budget) == REGEX_MATCH) != is_valid)
            fail_msg("%02x %02x %02x %02x", (unsigned char)text[8], (unsigned char)text[9], (unsigned char)text[10],
                     (unsigned char)text[11]);
        valid += is_valid;
    }
    assert_in_range(valid, 100, n * n * n * n / 2);
    regex_free(&regex);
}

/* 6.8: that groups are not noted changes no answer, whatever names them by a number */
TEST_CASE(test_groups_by_number)
{
    static const struct {
        const char *pattern, *matches, *not;
        bool notes; /* groups */
    } cases[] = {
        {"(?i)\\b(drop|delete)\\b", "a DROP b", "a drops b", false}, {"(a|b)c(d)", "bcd", "bce", false},
        {"(a)(b)\\2", "abb", "aba", true}, {"(a)\\g{-1}", "aa", "ab", true}, {"(?<n>a)\\k<n>", "aa", "ab", true},
        {"(a|b)(?1)", "ab", "ac", true}, {"(a|b)(?+1)(c)", "bcc", "bbc", true}, {"(a)?(?(1)b|c)d", "abd", "bd", true},
        {"\\((?:[^()]|(?R))*\\)z", "(a(b)z)z", "(a(bz", false}, {"(?<n>a|b)(?&n)", "ab", "ac", false},
        {"^(a)\\11$", "a\t", "aa", false}, {"^(a)(b)(c)(d)(e)(f)(g)(h)(i)(j)(k)\\11$", "abcdefghijkk", "abcdefghijk\t", true},
        {"(?|(a)|(b))c", "bc", "cc", false},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct regex *regex = compile(cases[i].pattern);
        struct regex_budget budget;

        regex_budget_init(&budget);
        if (regex_match(regex, span_text(cases[i].matches), false, &budget) != REGEX_MATCH ||
            regex_match(regex, span_text(cases[i].not), false, &budget) != REGEX_NO_MATCH ||
            (regex->options == 0) != cases[i].notes)
            fail_msg("%s", cases[i].pattern);
        regex_free(&regex);
    }
}

/* 1.21: what runs on ASCII without UTF says what it says with UTF. */
/* 8.5: what a group of a name took, of the whole subject. */
TEST_CASE(test_named_group)
{
    struct regex *regex = compile("a(?<x>b*)(?:c(?<tenant>[a-z]+))?d");
    struct regex *tenth = compile("(?<a>1)(?<b>2)(?<c>3)(?<d>4)(?<e>5)(?<f>6)(?<g>7)(?<h>8)(?<i>9)(?<tenant>x)");
    struct span found = SPAN_NONE;

    assert_true(regex_has_group(regex, "tenant"));
    assert_false(regex_has_group(regex, "other"));
    assert_false(regex_has_group(tenth, "tenant")); /* places are kept for nine */
    assert_int_equal(regex_match_group(regex, SPAN_LIT("abcacmed"), "tenant", &found), REGEX_MATCH);
    assert_true(span_is(found, "acme"));
    assert_int_equal(regex_match_group(regex, SPAN_LIT("abcacmede"), "tenant", &found), REGEX_NO_MATCH);
    assert_int_equal(regex_match_group(regex, SPAN_LIT("abd"), "tenant", &found), REGEX_UNDECIDED); /* took no part */
    assert_int_equal(regex_match_group(regex, SPAN_LIT("abc\xff""d"), "tenant", &found), REGEX_UNDECIDED);
    regex_free(&regex);
    regex_free(&tenth);
}

TEST_CASE(test_ascii_code_agrees)
{
    static const char *const patterns[] = {
        "(?i)k+", "(?i)[^k]s", "(?i)\\x{e5}?k", "\\xe9?a", "[^\\xe9]b", "[\\x80-\\xff]|a", "(?i)[h-l]+s", "\\w+\\W", "\\p{Lu}b", "\\P{L}",
        "[\\p{L}\\d]+ ", "\\X\\X", "a\\Xb", "\\R", "\\h\\H", "\\v", "\\N+", "(?i)(k)\\1", "(?<=a.)b", "(?<!\\p{L})b", "^.{2}$",
        "\\bk", "[[:^ascii:]]|b", "[[:alpha:]]+", "(?i)(?:s|k)++a", ".{3,5}?b", "\\x{17f}?s", "(?i)\\x{212a}", "\\177|\\x7f", "\xc3\xa4?a",
    };
    static const char letters[] = "abkKsS \n\r\t1\x7f.";

    for (size_t p = 0; p < sizeof patterns / sizeof *patterns; p++) {
        struct regex *quick = compile(patterns[p]), *plain = compile(patterns[p]);
        unsigned next = 7;

        pcre2_code_free(plain->ascii_code);
        plain->ascii_code = NULL;
        for (int i = 0; i < 4000; i++) {
            char text[6];
            size_t len = (size_t)i % 7;
            struct regex_budget a, b;

            for (size_t j = 0; j < len; j++)
                text[j] = letters[((next = next * 1103515245 + 12345) >> 16) % (sizeof letters - 1)];
            regex_budget_init(&a);
            regex_budget_init(&b);
            if (regex_match(quick, span_of(text, len), i % 2, &a) != regex_match(plain, span_of(text, len), i % 2, &b))
                fail_msg("%s on %.*s", patterns[p], (int)len, text);
        }
        regex_free(&quick);
        regex_free(&plain);
    }
}

/* 1.21 */
TEST_CASE(test_affordable)
{
    static const struct {
        const char *pattern;
        bool whole, affordable;
    } table[] = {
        {"password", false, true},
        {"(?i)\\b(drop|truncate|delete)\\b\\s+(table|from)\\b", false, true},
        {"\\b\\d{3}-\\d{2}-\\d{4}\\b", false, true},
        {"[A-Za-z0-9_.-]{1,128}", true, true},
        {"[^@\\s]+@(example\\.com|example\\.org)", true, true},
        {"(?:[a-z]+-)*[a-z]+", true, true},
        {"(?:[a-z]|-)+", true, true},
        {"SELECT\\s[^;]*", true, true},
        {"SELECT\\s+[^;]*", true, false}, /* blanks belong to both: quadratic before a semicolon */
        {"(alpha|beta|gamma|delta|epsilon|zeta|eta|theta|iota|kappa|lambda|mu|nu|xi|omicron|pi|rho|sigma)+", false, true},
        {"/srv/data/[^/]+\\.csv", true, true},
        {"\\s+$", false, false},
        {"\\s+$", true, true},
        {".*.*=.*x", false, false},
        {"(a+)+$", false, false},
        {"(a+)+$", true, false},
        {"x(y+)+z", true, false},
        {"(\\w+\\s?)+!", true, false},
        {"(a|a)*b", true, false},
        {"(\\d+)*;", true, false},
        {"<(\"[^\"]*\"|[^>])*>x", true, false},
        {"\\s++\\d", false, false},
    };

    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct regex *regex = compile(table[i].pattern);
        const char *example;
        int64_t begin = clock_thread_cpu_us();
        bool affordable = regex_is_affordable(regex, table[i].whole, &example);

        if (getenv("V"))
            print_message("%-40.40s %7.2f ms %s\n", table[i].pattern, (double)(clock_thread_cpu_us() - begin) / 1000,
                          example ? example : "fine");
        if (affordable != table[i].affordable)
            fail_msg("%s, %s: %s", table[i].pattern, table[i].whole ? "whole" : "anywhere", example ? example : "fine");
        assert_true(affordable == (example == NULL));
        regex_free(&regex);
    }
}

/* ---- memory ---- */

/* In a thread of its own: what a thread keeps for matching would hide allocations. Returns: NULL when none failed. */
static void *match_without_memory(void *nth)
{
    struct regex *regex;
    struct regex_budget budget;
    struct why why;
    size_t offset;
    enum code code;
    enum regex_result result = REGEX_UNDECIDED;
    bool failed;

    regex_budget_init(&budget);
    mem_fail_at(*(uint64_t *)nth, 0);
    code = regex_compile(SPAN_LIT("(?:a|b(c))+d"), &regex, &offset, &why);
    if (code == CODE_OK)
        result = regex_match(regex, SPAN_LIT("abcabcd"), true, &budget);
    failed = mem_fail_count() >= *(uint64_t *)nth;
    mem_fail_at(0, 0);
    if (code != CODE_OK && (code != CODE_NOMEM || regex != NULL))
        failed = false; /* neither way is right: the caller stops too early and says so */
    if (failed && code == CODE_OK && result == REGEX_NO_MATCH)
        failed = false;
    if (code == CODE_OK)
        result = regex_match(regex, SPAN_LIT("abcabcd"), true, &budget);
    if (code == CODE_OK && result != REGEX_MATCH)
        failed = false;
    regex_free(&regex);
    return failed ? nth : NULL;
}

TEST_CASE(test_out_of_memory)
{
    uint64_t nth = 0;
    void *failed;

    do {
        pthread_t thread;

        nth++;
        assert_int_equal(pthread_create(&thread, NULL, match_without_memory, &nth), 0);
        assert_int_equal(pthread_join(thread, &failed), 0);
    } while (failed != NULL);
    assert_in_range(nth, 12, 40);
}

TEST_CASE(test_pumping_without_memory)
{
    struct regex *regex = compile("(a+)+$");
    const char *example = NULL;

    mem_fail_at(1, 0);
    assert_false(regex_is_affordable(regex, true, &example));
    mem_fail_at(0, 0);
    assert_non_null(strstr(example, "memory"));
    regex_free(&regex);
    regex_free(&regex);
}

TEST_MAIN(NULL, NULL)
