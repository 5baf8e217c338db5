/* SPDX-License-Identifier: Apache-2.0 */
/* 9.6: what detectors find in many texts, for tests/figures/detectors.
 *
 * usage: finds FILE.yaml...
 *
 * Compiles the files as one version and asks all detectors that they share. A text comes on stdin as `BYTES\n` and that many
 * bytes, and is answered by a line: ` NAME AT LEN` for each finding, or `?` where it is undecided or no UTF-8. */
#include "os/file.h"
#include "texts/detector.h"
#include "language/language.h"
#include "policy/policy.h"
#include "policy/snapshot.h"
#include "unicode/unicode.h"

#include <stdio.h>
#include <stdlib.h>

#define FILES_MAX 32
#define TEXT_MAX ((size_t)64 << 20)

static void fail(const char *what)
{
    fprintf(stderr, "finds: %s\n", what);
    exit(2);
}

static struct policy *compile(char **paths, size_t count)
{
    static struct policy_file files[FILES_MAX];
    static struct buf texts[FILES_MAX];
    static struct faults faults;
    struct policy *policy;

    faults_init(&faults);
    for (size_t i = 0; i < count; i++) {
        buf_init(&texts[i], TEXT_MAX);
        if (file_read(paths[i], FILE_ANY, TEXT_MAX, &texts[i], NULL) != CODE_OK)
            fail(paths[i]);
        files[i] = (struct policy_file){span_text(paths[i]), buf_peek(&texts[i])};
    }
    if (policy_compile(files, count, 0, &policy, &faults, NULL) != CODE_OK)
        fail(faults.count > 0 ? faults.fault[0].text : "not enough memory");
    for (size_t i = 0; i < count; i++)
        buf_fini(&texts[i]);
    return policy;
}

static void answer(const struct detector_set *set, struct span text, struct buf *found)
{
    struct regex_budget budget;
    struct finding one;

    regex_budget_init(&budget);
    buf_clear(found);
    if (!unicode_is_utf8(text) || detector_find(set, text, &budget, found) == TRUTH_UNDECIDED)
        fputs("?", stdout);
    for (size_t at = 0; at + sizeof one <= buf_len(found); at += sizeof one) {
        memcpy(&one, buf_peek(found).at + at, sizeof one);
        printf(" %.*s %zu %zu", SPAN_ARG(one.detector->name), one.at, one.len);
    }
    putchar('\n');
}

int main(int count, char **arguments)
{
    static const struct detector *list[DETECTORS_MAX];
    const struct detector_set *set;
    struct policy *policy;
    struct arena arena;
    struct buf found;
    uint32_t used = 0;
    char *text = malloc(TEXT_MAX);
    size_t len;

    if (count < 2 || count - 1 > FILES_MAX || text == NULL)
        fail("name files of detectors");
    policy = compile(arguments + 1, (size_t)count - 1);
    arena_init(&arena, TEXT_MAX);
    buf_init(&found, TEXT_MAX);
    for (const struct known_detector *one = policy->detectors; one != NULL && used < DETECTORS_MAX; one = one->next)
        list[used++] = &one->detector;
    if (detector_set_make(list, used, &arena, &set) != CODE_OK)
        fail("too many detectors");
    while (scanf("%zu", &len) == 1 && getchar() == '\n') {
        if (len > TEXT_MAX || fread(text, 1, len, stdin) != len)
            fail("a text ends early");
        answer(set, span_of(text, len), &found);
    }
    buf_fini(&found);
    arena_fini(&arena);
    policy_unref(&policy);
    free(text);
    return 0;
}
