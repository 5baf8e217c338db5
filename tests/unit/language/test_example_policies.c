/* SPDX-License-Identifier: Apache-2.0 */
/* The policies that are handed out: each compiles without fault or warning and passes its own tests, alone and with all the others. */
#include "author/warn.h"
#include "cli/policy_given.h"
#include "fakes/sample.h"
#include "os/file.h"
#include "judgement/judgement.h"
#include "language/language.h"
#include "policy/policy.h"

#include <glob.h>
#include "fakes/cm.h"

#include <stdio.h>
#include <string.h>


static void report(void *context, const struct policy_test_result *result)
{
    size_t *failed = context;

    if (result->passed)
        return;
    print_error("%.*s:%d: %.*s: expected %.*s, got %.*s\n", SPAN_ARG(result->file), result->line, SPAN_ARG(result->name),
                SPAN_ARG(result->expected), SPAN_ARG(result->got));
    ++*failed;
}

static size_t tell(const char *what, const struct faults *faults)
{
    for (size_t i = 0; i < faults->count && i < FAULTS_MAX; i++)
        print_error("%s:%d:%d: %s: %s\n", faults->fault[i].file, faults->fault[i].line, faults->fault[i].column, what,
                    faults->fault[i].text);
    return faults->count;
}

enum { FILES_MAX = 64 };

/* One version of these files, with the examples of what must be set, as `policy check` has it. Returns: how much is wrong with it;
 * *ran has how many tests it has. */
static size_t check_version(char *const *paths, size_t count, size_t *ran)
{
    const struct asked asked = {0};
    struct policy_file files[FILES_MAX];
    struct buf texts[FILES_MAX];
    struct policy_files given = {.files = files, .texts = texts, .count = count};
    struct faults faults, warnings;
    struct policy_scratch *scratch;
    struct policy *policy;
    size_t passed = 0, failed = 0, told = 0, wrong;

    faults_init(&faults);
    faults_init(&warnings);
    assert_true(count <= FILES_MAX);
    for (size_t i = 0; i < count; i++) {
        buf_init(&texts[i], 1 << 20);
        assert_int_equal(file_read(paths[i], FILE_ANY, 1 << 20, &texts[i], NULL), CODE_OK);
        files[i] = (struct policy_file){span_text(paths[i]), buf_peek(&texts[i])};
    }
    arena_init(&given.arena, 1 << 16);
    assert_int_equal(policy_given_put(&given, &asked, true), OPTIONS_GO);
    if (policy_compile(files, count, 0, &policy, &faults, &warnings) != CODE_OK)
        policy = NULL;
    if (policy != NULL)
        assert_int_equal(warn_policy(policy, 9, &warnings), CODE_OK);
    wrong = tell("fault", &faults) + tell("warning", &warnings);
    if (policy != NULL) {
        assert_int_equal(policy_scratch_new(&scratch), CODE_OK);
        assert_int_equal(policy_test(policy, scratch, report, &told, &passed, &failed), CODE_OK);
        assert_int_equal(told, failed);
        wrong += failed;
        policy_scratch_free(&scratch);
        policy_unref(&policy);
    }
    for (size_t i = 0; i < count; i++)
        buf_fini(&texts[i]);
    arena_fini(&given.arena);
    *ran = passed + failed;
    return wrong;
}

static bool says(const char *path, const char *what)
{
    struct buf text;
    bool found;

    buf_init(&text, 1 << 20);
    assert_int_equal(file_read(path, FILE_ANY, 1 << 20, &text, NULL), CODE_OK);
    found = memmem(buf_peek(&text).at, buf_len(&text), what, strlen(what)) != NULL;
    buf_fini(&text);
    return found;
}

/* 1.23 2.8 12.10: with the words that its head says it is loaded with. */
TEST_CASE(test_every_policy_passes_its_tests)
{
    glob_t found, detectors, words;
    size_t wrong = 0, ran;

    assert_int_equal(glob("policies/detectors/*.yaml", 0, NULL, &detectors), 0);
    assert_int_equal(glob("policies/words/*.yaml", 0, NULL, &words), 0);
    assert_int_equal(glob("policies/*/*.yaml", 0, NULL, &found), 0);
    assert_true(found.gl_pathc >= 21);
    for (size_t i = 0; i < found.gl_pathc; i += sample_step()) {
        const bool only_words =
            strstr(found.gl_pathv[i], "/detectors/") != NULL || strstr(found.gl_pathv[i], "/words/") != NULL;
        char *paths[FILES_MAX];
        size_t count = 0;

        for (size_t j = 0; says(found.gl_pathv[i], "detect: ") && j < detectors.gl_pathc && count < FILES_MAX - 1; j++)
            paths[count++] = detectors.gl_pathv[j];
        for (size_t j = 0; !only_words && j < words.gl_pathc && count < FILES_MAX - 1; j++)
            if (says(found.gl_pathv[i], strrchr(words.gl_pathv[j], '/')))
                paths[count++] = words.gl_pathv[j];
        paths[count++] = found.gl_pathv[i];
        wrong += check_version(paths, count, &ran);
        if (!only_words) /* whose tests are `finds` and `passes` */
            assert_true(ran >= (strstr(found.gl_pathv[i], "/cookbook/") != NULL ? 3 : 10));
    }
    globfree(&found);
    globfree(&detectors);
    globfree(&words);
    assert_int_equal(wrong, 0);
}

/* 7.6: the sets combine. All in one version: so does every choice of them, because a test is decided by rules of its own file
 * (by none where it expects `rule: null`), and fewer files bring neither a permit, nor a forbid, nor a smaller id. The demo,
 * whose forbid is for every upstream on purpose, stands alone. */
TEST_CASE(test_policies_combine)
{
    size_t count = 0, ran;
    glob_t found;

    assert_int_equal(glob("policies/*/*.yaml", 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++)
        if (strstr(found.gl_pathv[i], "/demo/") == NULL) {
            char *path = found.gl_pathv[i];

            found.gl_pathv[i] = found.gl_pathv[count];
            found.gl_pathv[count++] = path;
        }
    assert_true(count >= 20);
    assert_int_equal(check_version(found.gl_pathv, count, &ran), 0);
    assert_true(ran >= 300);
    globfree(&found);
}

/* 2.8 */
TEST_CASE(test_the_cookbook_names_every_file)
{
    struct buf text;
    glob_t found;

    buf_init(&text, 1 << 20);
    assert_int_equal(file_read("policies/README.md", FILE_ANY, 1 << 20, &text, NULL), CODE_OK);
    assert_int_equal(buf_add(&text, "", 1), CODE_OK);
    assert_int_equal(glob("policies/*/*.yaml", 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        const char *path = found.gl_pathv[i] + strlen("policies/");
        char named[128];

        if (strncmp(path, "cookbook/", 9) == 0)
            (void)snprintf(named, sizeof named, "](%s)", path);
        else
            (void)snprintf(named, sizeof named, "](%.*s)", (int)strcspn(path, "/"), path);
        if (strstr(buf_peek(&text).at, named) == NULL)
            fail_msg("policies/README.md does not name %s", path);
    }
    globfree(&found);
    buf_fini(&text);
}

TEST_MAIN(NULL, NULL)
