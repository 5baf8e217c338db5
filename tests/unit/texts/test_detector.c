/* SPDX-License-Identifier: Apache-2.0 */
/* 9.1: what a set of detectors finds in a text, where, and what it costs. */
#include "os/clock.h"
#include "texts/detector_priv.h"
#include "fakes/cm.h"

#include <stdlib.h>

#include <stdio.h>

struct kit {
    struct arena arena;
    struct detector detectors[3];
    struct detector_literal literals[3];
    const struct detector *list[3];
    struct regex *regexes[3];
    const struct detector_set *set;
};

static size_t check_even(struct span text, size_t at, size_t len)
{
    return (text.at[at + len - 1] - '0') % 2 == 0 ? len : 0;
}

static void add(struct kit *kit, unsigned i, const char *name, const char *pattern, const char *literal, uint32_t before)
{
    struct why why;
    size_t offset;

    assert_true(detector_literal_read(span_text(literal), &kit->literals[i]));
    assert_int_equal(regex_compile(span_text(pattern), &kit->regexes[i], &offset, &why), CODE_OK);
    kit->detectors[i] = (struct detector){.name = span_text(name), .regex = kit->regexes[i], .literals = &kit->literals[i],
                                          .literal_count = 1, .before = before};
    kit->list[i] = &kit->detectors[i];
}

static void begin(struct kit *kit)
{
    *kit = (struct kit){.set = NULL};
    arena_init(&kit->arena, (size_t)1 << 20);
    add(kit, 0, "key", "key_[A-Za-z0-9]{8}(?![A-Za-z0-9])", "key_", 0);
    add(kit, 1, "mail", "(?<![a-z])[a-z]{1,8}@[a-z]+\\.[a-z]+", "@\\l", 8);
    add(kit, 2, "even", "(?<!\\d)\\d{4}(?!\\d)", "\\b\\d\\d\\d\\d", 0);
    kit->detectors[2].check = check_even;
    assert_int_equal(detector_set_make(kit->list, 3, &kit->arena, &kit->set), CODE_OK);
}

static void end(struct kit *kit)
{
    for (unsigned i = 0; i < 3; i++)
        regex_free(&kit->regexes[i]);
    arena_fini(&kit->arena);
}

/* "key:TEXT mail:TEXT", or "?" where it is undecided. */
static void say(struct kit *kit, struct span text, char *out, size_t size)
{
    struct regex_budget budget;
    struct finding one;
    struct buf found;
    size_t at = 0;
    enum truth all, any;

    buf_init(&found, (size_t)1 << 20);
    regex_budget_init(&budget);
    all = detector_find(kit->set, text, &budget, &found);
    regex_budget_init(&budget);
    any = detector_find(kit->set, text, &budget, NULL);
    out[0] = '\0';
    for (size_t i = 0; i < buf_len(&found) / sizeof one && at < size; i++) {
        memcpy(&one, buf_peek(&found).at + i * sizeof one, sizeof one);
        at += (size_t)snprintf(out + at, size - at, "%s%.*s:%.*s", i > 0 ? " " : "", SPAN_ARG(one.detector->name),
                               SPAN_ARG(span_part(text, one.at, one.len)));
    }
    if (all == TRUTH_UNDECIDED)
        snprintf(out, size, "?");
    else
        assert_int_equal(any, all);
    assert_int_equal(all == TRUTH_TRUE, out[0] != '\0' && out[0] != '?');
    buf_fini(&found);
}

TEST_CASE(test_what_is_found)
{
    static const struct {
        const char *text, *found;
    } rows[] = {
        {"", ""}, {"k", ""}, {"key_", ""}, {"key_ABCDEFG", ""}, {"key_ABCDEFGHI", ""},
        {"key_ABCDEFGH", "key:key_ABCDEFGH"},
        {"KEY_ABCDEFGH", ""}, /* the pattern decides about case */
        {"xkey_key_ABCDEFGH", "key:key_ABCDEFGH"},
        {"key_ABCDEFGH,key_ABCDEFGH", "key:key_ABCDEFGH key:key_ABCDEFGH"},
        {"a@b.de", "mail:a@b.de"}, {"@b.de", ""}, {"abcdefghi@b.de", ""}, {"\xc3\xa4" "ab@b.de", "mail:ab@b.de"},
        {"a@b.de a@b.de", "mail:a@b.de mail:a@b.de"},
        {"1234 1235 12345 x1234 _1234", "even:1234 even:1234"},
        {"x\\n1234 x\\t5678,n1234 \\x1234 \\", "even:1234 even:5678"}, /* in JSON inside a text */
        {"\xe5\x8d\xa1" "1234", "even:1234"}, /* what is no letter of ASCII is no part of a word */
        {"1234 a@b.de key_ABCDEFGH", "even:1234 mail:a@b.de key:key_ABCDEFGH"},
        {"key@b.de key_key@b.de1234", "mail:key@b.de mail:key@b.de"},
    };
    struct kit kit;

    begin(&kit);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char found[256];

        say(&kit, span_text(rows[i].text), found, sizeof found);
        assert_string_equal(found, rows[i].found);
    }
    end(&kit);
}

TEST_CASE(test_literals)
{
    struct detector_literal literal;

    assert_false(detector_literal_read(SPAN_LIT("a"), &literal));
    assert_false(detector_literal_read(SPAN_LIT("\\b\\d"), &literal));
    assert_false(detector_literal_read(SPAN_LIT("a\\x"), &literal));
    assert_true(detector_literal_read(SPAN_LIT("ab\\"), &literal));
    assert_false(detector_literal_read(SPAN_LIT("0123456789012345678901234"), &literal));
    assert_true(detector_literal_read(SPAN_LIT("\\b\\\\\\w"), &literal));
    assert_int_equal(literal.len, 2);
    assert_true(literal.begins_word && literal.is_class[1] && !literal.is_class[0]);
    assert_true(detector_literal_read(SPAN_LIT("the:_x"), &literal));
    assert_int_equal(literal.pair, 3); /* what is rare is looked for */
}

TEST_CASE(test_across_pieces)
{
    char found[64], *text = malloc(40000);
    struct kit kit;

    assert_non_null(text);
    begin(&kit);
    for (size_t at = 16368; at < 16400; at++) {
        memset(text, ' ', 40000);
        memcpy(text + at, "key_ABCDEFGH", 12);
        say(&kit, span_of(text, 40000), found, sizeof found);
        assert_string_equal(found, "key:key_ABCDEFGH");
    }
    free(text);
    end(&kit);
}

/* 12.11: literals are seen by a pair of bytes that may stand far behind their front, so that one which begins later may come
 * first; and a match whose check fails hides none that begins behind it. */
TEST_CASE(test_literals_that_overlap)
{
    static const struct { const char *pattern, *first, *second, *text, *found; uint32_t before; } overlap[] = {
        {"tftp://x|ftp://y", "tftp:", "ftp:", "a tftp://x b", "one:tftp://x", 0},
        {"tftp://x|ftp://y", "ftp:", "tftp:", "a tftp://x b", "one:tftp://x", 0},
        {"also silently now|silently so", "also silently", "silently\\x20", "and also silently now", "one:also silently now", 0},
        {"also silently now|silently so", "silently\\x20", "also silently", "also silently so it", "one:silently so", 0},
        {"also silently now|silently ", "silently\\x20", "also silently", "also silently now", "", 0},
    };

    for (size_t i = 0; i < sizeof overlap / sizeof *overlap; i++) {
        struct kit kit = {.set = NULL};
        struct detector_literal literals[2];
        char out[256];

        arena_init(&kit.arena, (size_t)1 << 20);
        add(&kit, 0, "one", overlap[i].pattern, overlap[i].first, overlap[i].before);
        assert_true(detector_literal_read(span_text(overlap[i].first), &literals[0]));
        assert_true(detector_literal_read(span_text(overlap[i].second), &literals[1]));
        kit.detectors[0].literals = literals;
        kit.detectors[0].literal_count = 2;
        assert_int_equal(detector_set_make(kit.list, 1, &kit.arena, &kit.set), CODE_OK);
        say(&kit, span_text(overlap[i].text), out, sizeof out);
        assert_non_null(strstr(out, "one:"));
        if (i < 4)
            assert_string_equal(out, overlap[i].found);
        else
            assert_non_null(strstr(out, "one:also silently now"));
        regex_free(&kit.regexes[0]);
        arena_fini(&kit.arena);
    }
}

/* 9.5: what is nearly found everywhere ends with the budget. */
TEST_CASE(test_near_misses_are_bounded)
{
    static const char *const pieces[] = {"key_", "@", "a@b", "key_AAAAAAA ", "1234567", "1 12345 "};
    const bool is_slow = getenv("CALLGATE_VALGRIND") != NULL; /* twenty times */
    size_t len = (size_t)8 << 20;
    char *text = malloc(len);
    struct kit kit;

    assert_non_null(text);
    begin(&kit);
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        struct regex_budget budget;
        int64_t start;

        for (size_t at = 0; at < len; at++)
            text[at] = pieces[i][at % strlen(pieces[i])];
        regex_budget_init(&budget);
        start = clock_thread_cpu_us();
        assert_int_not_equal(detector_find(kit.set, span_of(text, len), &budget, NULL), TRUTH_TRUE);
        assert_true(clock_thread_cpu_us() - start < 2000000 || is_slow);
        regex_budget_init_timed(&budget);
        start = clock_thread_cpu_us();
        assert_int_not_equal(detector_find(kit.set, span_of(text, len), &budget, NULL), TRUTH_TRUE);
        assert_true(clock_thread_cpu_us() - start < 200000 || is_slow);
    }
    free(text);
    end(&kit);
}

/* An author may put any check behind any pattern. */
TEST_CASE(test_checks_take_anything)
{
    static const char *const texts[] = {
        "a", "7", "A1", "XYZ", "-----BEGIN", "\xe2\x80\x8b", "eyJ.", "ZZZZZZZZZZZZZZZZ", "12345678901", "1234567890Z", "GB", "GB82",
        " - ", "0",
        "999999999999999999999999999999999999999999999", "zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz",
    };

    for (size_t check = 0; detector_check_names[check] != NULL; check++)
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
            size_t len = strlen(texts[i]);
            char *alone = malloc(len); /* so that a byte more is noticed */

            assert_non_null(alone);
            memcpy(alone, texts[i], len);
            assert_true(detector_checks[check](span_of(alone, len), 0, len) <= len);
            free(alone);
        }
}

TEST_MAIN(NULL, NULL)
