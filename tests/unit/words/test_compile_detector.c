/* SPDX-License-Identifier: Apache-2.0 */
/* 9.1: `detectors:` of a file, what is said of those that cannot be, and the files of them that are handed out. */
#include "diff/diff.h"
#include "fakes/sample.h"
#include "os/clock.h"
#include "os/file.h"
#include "language/compile_priv.h"
#include "texts/detector.h"
#include "unit/policy/rows.h"

#include <glob.h>

#define FILE_OF(detectors) "policy: p\ndetectors:\n" detectors
#define USER(names) \
    "policy: user\nrules:\n  - {id: r, effect: require_approval, match: {tools: [t]}, when: [{arg: '$..*', detect: " names "}]}\n"
#define SHARED(pattern) "policy: words\nshared: true\ndetectors:\n  key: {pattern: '" pattern "', literals: [key_], finds: [key_112]}\n"

static struct faults faults;

static enum code compile_two(const char *first, const char *second, struct policy **policy)
{
    struct policy_file files[] = {{SPAN_LIT("one.yaml"), span_text(first)}, {SPAN_LIT("two.yaml"), span_text(second)}};

    faults_init(&faults);
    return policy_compile(files, second[0] != '\0' ? 2 : 1, 0, policy, &faults, NULL);
}

TEST_CASE(test_faults)
{
    static const struct {
        const char *first, *second, *words;
    } rows[] = {
        {FILE_OF("  a: x\n"), "", "write a map"},
        {FILE_OF("  a: {finds: [x]}\n"), "", "a detector without a `pattern` finds nothing"},
        {FILE_OF("  a: {pattern: abc}\n"), "", "a detector without an example may find nothing; add `finds:`"},
        {FILE_OF("  a: {pattern: abc, finds: []}\n"), "", "add `finds:`"},
        {FILE_OF("  A: {pattern: abc, finds: [abc]}\n"), "", "`A` is no name of a detector"},
        {FILE_OF("  a: {pattern: 'a(', finds: [abc]}\n"), "", "the regex is not usable"},
        {FILE_OF("  a: {pattern: 'a|bc', finds: [bc]}\n"), "", "no literal can be seen at the pattern's front; write `literals:`"},
        {FILE_OF("  a: {pattern: 'ab?', finds: [ab]}\n"), "", "no literal can be seen"},
        {FILE_OF("  a: {pattern: 'abc', literals: [a], finds: [abc]}\n"), "", "`a` is no literal"},
        {FILE_OF("  a: {pattern: 'abc', literals: ['a\\q'], finds: [abc]}\n"), "", "is no literal"},
        {FILE_OF("  a: {pattern: 'abc', literals: [], finds: [abc]}\n"), "", "nothing is in an empty list"},
        {FILE_OF("  a: {pattern: 'abc', before: 0, finds: [abc]}\n"), "", "write a number from 1 to 256"},
        {FILE_OF("  a: {pattern: 'abc', check: lune, finds: [abc]}\n"), "", "did you mean `luhn`?"},
        {FILE_OF("  a: {pattern: 'abc', finds: [abd]}\n"), "", "the detector `a` finds nothing in this example of `finds`"},
        {FILE_OF("  a: {pattern: 'xabc', literals: [abc], finds: [xabc]}\n"), "", "finds nothing in this example of `finds`"},
        {FILE_OF("  a: {pattern: 'abc', finds: [abc], passes: [xabc]}\n"), "", "finds something in this example of `passes`"},
        {USER("[key]"), SHARED("key_(1+1+)+2"), "the cost of the detector `key` explodes on 8 KiB of"},
        {FILE_OF("  a: {pattern: abc, finds: [abc], tests: []}\n"), "", "a detector knows no `tests`"},
        {USER("[key]"), "", "this file has no detector `key`, and none that says `shared: true` is there to have it"},
        {USER("[payment_card]"), "", "policies/detectors/payment.yaml has it: load that file, too"},
        {USER("[kez]"), SHARED("key_[0-9]{3}"), "did you mean `key`?"},
        {USER("[key]"), "policy: words\ndetectors: {key: {pattern: abc, finds: [abc]}}\n", "no detector `key`"},
        {USER("[]"), "", "nothing is in an empty list"},
        {USER("{detector: key}"), SHARED("key_[0-9]{3}"), "write a string"},
        {SHARED("key_[0-9]{3}"), "policy: more\nshared: true\ndetectors: {key: {pattern: abc, finds: [abc]}}\n",
         "the detector `key` is also shared by one.yaml:4"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct policy *policy;
        bool found = false;

        assert_int_equal(compile_two(rows[i].first, rows[i].second, &policy), CODE_INVALID);
        for (size_t k = 0; k < faults.count; k++)
            found |= strstr(faults.fault[k].text, rows[i].words) != NULL;
        if (!found) {
            print_faults(&faults);
            fail_msg("row %zu: wanted %s", i, rows[i].words);
        }
    }
}

TEST_CASE(test_sharing)
{
    struct policy *first, *second, *swapped;
    struct diff *diff;
    bool told = false;

    assert_int_equal(compile_two(SHARED("key_[0-9]{3}"), USER("[key]"), &first), CODE_OK);
    assert_int_equal(compile_two(USER("[key]"), SHARED("key_[0-9]{3}"), &swapped), CODE_OK);
    assert_int_equal(compile_two(SHARED("key_[0-9]{1,3}"), USER("[key]"), &second), CODE_OK);
    assert_true(span_equals(first->rules[0].people.rule_hash, swapped->rules[0].people.rule_hash));
    assert_false(span_equals(first->rules[0].people.rule_hash, second->rules[0].people.rule_hash)); /* approvals are bound to it */
    assert_true(span_is(first->detectors->detector.name, "key") && first->detectors->next == NULL);
    assert_int_equal(diff_new(first, second, &diff), CODE_OK);
    for (size_t i = 0; i < diff->change_count; i++)
        told |= span_is(diff->changes[i].rule, "r");
    assert_true(told);
    diff_free(&diff);
    policy_unref(&first);
    policy_unref(&second);
    policy_unref(&swapped);
}

/* Lists that name the same are one set; a name twice is no fault. */
TEST_CASE(test_sets_are_made_once)
{
    static const char two[] = "policy: p\nshared: true\ndetectors:\n"
                              "  a: {pattern: abc, finds: [abc]}\n  b: {pattern: bcd, finds: [bcd]}\nrules:\n"
                              "  - {id: r, effect: forbid, when: [{arg: x, detect: [a, b], absent: ignored}]}\n"
                              "  - {id: s, effect: forbid, when: [{arg: y, detect: [a, b], absent: ignored}]}\n"
                              "  - {id: t, effect: forbid, when: [{arg: y, detect: a, absent: ignored}]}\n";
    struct policy *policy;
    size_t sets = 0;

    assert_int_equal(compile_two(two, "", &policy), CODE_OK);
    for (const struct known_set *set = policy->sets; set != NULL; set = set->next)
        sets++;
    assert_int_equal(sets, 2);
    policy_unref(&policy);
}

/* What is said of a name that was forgotten is true of the files that are handed out, and no name of theirs is missing. */
TEST_CASE(test_files_are_named)
{
    static struct buf text;
    glob_t found;
    size_t names = 0;

    assert_int_equal(glob("policies/detectors/*.yaml", 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        struct yaml_tree *tree;
        const struct yaml_node *map;

        buf_init(&text, 1 << 20);
        faults_init(&faults);
        assert_int_equal(file_read(found.gl_pathv[i], FILE_ANY, 1 << 20, &text, NULL), CODE_OK);
        assert_int_equal(yaml_read(buf_peek(&text), found.gl_pathv[i], &tree, &faults), CODE_OK);
        map = yaml_member(yaml_root(tree), "detectors");
        for (const struct yaml_node *one = map->child; one != NULL; one = one->next, names++) {
            const char *file = compiler_detector_file(one->key);

            if (file == NULL || strcmp(file, strrchr(found.gl_pathv[i], '/') + 1) != 0)
                fail_msg("compile_detector.c says that %.*s is in %s", SPAN_ARG(one->key), file != NULL ? file : "no file");
        }
        yaml_tree_free(&tree);
        buf_fini(&text);
    }
    assert_true(names >= 95);
    globfree(&found);
}

/* 9.1: something is found or not; arrays and objects are undecided, as for every string operator. */
static const struct row detect_rows[] = {
    {"detect: card", "\"card 4111 1111 1111 1111, please\"", 'T', 'T'},
    {"detect: card", "4111111111111111", 'T', 'T'}, /* as it was sent */
    {"detect: card", "\"4111 1111 1111 1112\"", 'F', 'F'},
    {"detect: card", "\"\"", 'F', 'F'},
    {"detect: card", "[\"4111111111111111\"]", 'U', 'U'},
    {"detect: [nul, card]", "\"4111111111111111\"", 'T', 'T'},
    {"detect: card", "\"NDExMTExMTExMTExMTExMQ==\"", 'F', 'F'},
    {"detect: card, decode: [base64]", "\"NDExMTExMTExMTExMTExMQ==\"", 'T', 'F'}, /* closing: a reading suffices */
    {"detect: card, keys: true", "{\"4111111111111111\":1}", 'T', 'T'},
};

TEST_CASE(test_detect)
{
    CHECK(detect_rows);
}

/* Cards of an issuer are found with as many digits as it gives them, and with no other number of them. */
TEST_CASE(test_cards)
{
    static const struct { const char *first; unsigned lengths[4]; } issuers[] = {
        {"400000", {13, 16, 19}}, {"499999", {13, 16, 19}}, {"510000", {16}}, {"559999", {16}}, {"222100", {16}}, {"272099", {16}},
        {"340000", {15}}, {"349999", {15}}, {"370000", {15}}, {"379999", {15}}, {"300000", {14, 16}}, {"305999", {14, 16}},
        {"309500", {14, 16}}, {"309599", {14, 16}}, {"360000", {14, 16}}, {"369999", {14, 16}}, {"380000", {14, 16}}, {"399999", {14, 16}},
        {"352800", {16, 17, 18, 19}}, {"358999", {16, 17, 18, 19}}, {"601100", {16, 19}}, {"601199", {16, 19}}, {"644000", {16, 19}},
        {"659999", {16, 19}}, {"620000", {16, 17, 18, 19}}, {"629999", {16, 17, 18, 19}}, {"810000", {16}}, {"817199", {16}},
        {"500000", {16, 19}}, {"509999", {16, 19}}, {"560000", {16, 19}}, {"589999", {16, 19}}, {"670000", {16, 19}}, {"679999", {16, 19}},
        {"220000", {16, 19}}, {"220499", {16, 19}}, {"399999", {14, 16}}, {"220500", {0}}, {"222099", {0}}, {"272100", {0}},
        {"306000", {0}}, {"309499", {0}}, {"309600", {0}}, {"339999", {0}}, {"352799", {0}}, {"359000", {0}}, {"601099", {0}},
        {"601200", {0}}, {"643999", {0}}, {"660000", {0}}, {"669999", {0}}, {"680000", {0}}, {"809999", {0}}, {"817200", {0}},
    };

    for (size_t i = 0; i < sizeof issuers / sizeof issuers[0]; i++)
        for (unsigned len = 12; len <= 20; len++) {
            char value[32] = "\"";
            unsigned sum = 0;
            bool is_one = false;
            struct row row = {"detect: card", value, 'F', 'F'};

            for (unsigned k = 0; k < len; k++) {
                unsigned digit = k < 6 ? (unsigned)(issuers[i].first[k] - '0') : k + 1 < len ? 7 - k % 3 : (10 - sum % 10) % 10;
                unsigned twice = (len - k) % 2 == 0 ? 2 * digit : digit; /* by Luhn */

                sum += twice > 9 ? twice - 9 : twice;
                value[1 + k] = (char)('0' + digit);
            }
            value[1 + len] = '"';
            for (size_t k = 0; k < 4; k++)
                is_one = is_one || issuers[i].lengths[k] == len;
            row.opening = row.closing = is_one ? 'T' : 'F';
            check_rows(&row, 1);
        }
}

#ifdef __SANITIZE_ADDRESS__ /* which looks at each access, and with libFuzzer counts each branch */
enum { SLOWER = 20 };
#else
enum { SLOWER = 1 };
#endif

/* With as many of them as there is room for, and blanks. */
static void fill(char *text, size_t len, struct span with)
{
    size_t whole = len / with.len * with.len;

    memcpy(text, with.at, with.len);
    for (size_t done = with.len; done < whole; done *= 2)
        memcpy(text + done, text, done < whole - done ? done : whole - done);
    memset(text + whole, ' ', len - whole);
}

/* 9.5: 8 MiB of what each detector that is handed out nearly finds, asked of all of them: it ends with the budget, whether work alone or
 * the clock bounds it, and takes no longer than that. */
static void try_near_misses(const char *of)
{
    static const struct detector *list[DETECTORS_MAX];
    static struct policy_file files[16];
    static struct buf texts[16];
    const size_t len = (size_t)8 << 20;
    char *text = malloc(len);
    const struct detector_set *set;
    struct policy *policy;
    struct arena arena;
    uint32_t count = 0;
    glob_t found;

    assert_non_null(text);
    arena_init(&arena, (size_t)1 << 20);
    faults_init(&faults);
    assert_int_equal(glob(of, 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        buf_init(&texts[i], 1 << 20);
        assert_int_equal(file_read(found.gl_pathv[i], FILE_ANY, 1 << 20, &texts[i], NULL), CODE_OK);
        files[i] = (struct policy_file){span_text(found.gl_pathv[i]), buf_peek(&texts[i])};
    }
    assert_int_equal(policy_compile(files, found.gl_pathc, 1, &policy, &faults, NULL), CODE_OK);
    for (const struct known_detector *one = policy->detectors; one != NULL; one = one->next)
        list[count++] = &one->detector;
    assert_int_equal(detector_set_make(list, count, &arena, &set), CODE_OK);
    for (uint32_t i = 0; i < count; i += sample_step()) {
        struct span near = list[i]->example;
        int64_t work_us, time_us;
        struct regex_budget budget;

        near.len -= near.len > 3 ? 1 + i % 2 * (near.len / 3) : 0;
        while (near.len > 0 && ((unsigned char)near.at[near.len] & 0xc0) == 0x80)
            near.len--;
        fill(text, len, near);
        regex_budget_init(&budget);
        work_us = clock_thread_cpu_us();
        (void)detector_find(set, span_of(text, len), &budget, NULL);
        work_us = clock_thread_cpu_us() - work_us;
        regex_budget_init_timed(&budget);
        time_us = clock_thread_cpu_us();
        (void)detector_find(set, span_of(text, len), &budget, NULL);
        time_us = clock_thread_cpu_us() - time_us;
        if (getenv("SHOW") != NULL)
            print_message("%.*s: %lld us by work, %lld by time\n", SPAN_ARG(list[i]->name), (long long)work_us, (long long)time_us);
        assert_true((work_us < SLOWER * 2000000 && time_us < SLOWER * 100000) || getenv("CALLGATE_VALGRIND") != NULL);
    }
    for (size_t i = 0; i < found.gl_pathc; i++)
        buf_fini(&texts[i]);
    globfree(&found);
    policy_unref(&policy);
    arena_fini(&arena);
    free(text);
}

TEST_CASE(test_near_misses)
{
    try_near_misses("policies/detectors/*.yaml");
    try_near_misses("policies/words/*.yaml");
}

/* Whether each detector of the files has a pattern of so many bytes at most, and shows five texts of both kinds. */
static size_t all_show(const char *pattern, size_t longest)
{
    static struct buf text;
    glob_t found;
    size_t words = 0;

    assert_int_equal(glob(pattern, 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        struct yaml_tree *tree;
        const struct yaml_node *map;

        buf_init(&text, 1 << 20);
        faults_init(&faults);
        assert_int_equal(file_read(found.gl_pathv[i], FILE_ANY, 1 << 20, &text, NULL), CODE_OK);
        assert_int_equal(yaml_read(buf_peek(&text), found.gl_pathv[i], &tree, &faults), CODE_OK);
        map = yaml_member(yaml_root(tree), "detectors");
        for (const struct yaml_node *one = map != NULL ? map->child : NULL; one != NULL; one = one->next, words++) {
            const struct yaml_node *finds = yaml_member(one, "finds"), *passes = yaml_member(one, "passes");

            if (yaml_member(one, "pattern")->text.len > longest || finds == NULL || finds->count < 5 || passes == NULL ||
                passes->count < 5)
                fail_msg("%s: %.*s has a pattern of %zu bytes, or less than five texts that it finds, or passes by", found.gl_pathv[i],
                         SPAN_ARG(one->key), yaml_member(one, "pattern")->text.len);
        }
        yaml_tree_free(&tree);
        buf_fini(&text);
    }
    globfree(&found);
    return words;
}

/* 12.11: whoever reads a word sees what it finds and what it passes by; a pattern that nobody reads is no word. Cards, and what
 * hides a text, are written in more ways than others. */
TEST_CASE(test_words_show_what_they_find)
{
    assert_true(all_show("policies/words/*.yaml", 300) >= 50);
    assert_true(all_show("policies/detectors/*.yaml", 340) >= 80);
}

TEST_MAIN(NULL, NULL)
