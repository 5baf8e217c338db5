/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs one fuzz target over stored inputs without any fuzz engine: each file whole, and each cut short at every byte.
 *
 * usage: replay_<what> [FOLDER]     default: tests/fuzz/<what>.in
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

/* A long input is cut at this many evenly spaced places, so that a big file does not make the check slow. */
#define MAX_CUTS 1024
#define MAX_INPUT_BYTES (16u << 20)

/* Each cut is its own allocation of just that length, so that a sanitizer sees a read past the end. */
static int run_cut(const uint8_t *bytes, size_t len)
{
    uint8_t *copy = malloc(len ? len : 1);

    if (!copy)
        return -1;
    memcpy(copy, bytes, len);
    LLVMFuzzerTestOneInput(copy, len);
    free(copy);
    return 0;
}

static int run_all_cuts(const uint8_t *bytes, size_t len)
{
    size_t step = len / MAX_CUTS + 1;

    for (size_t cut = 0; cut < len; cut += step)
        if (run_cut(bytes, cut) != 0)
            return -1;
    return run_cut(bytes, len);
}

static int run_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    uint8_t *bytes = malloc(MAX_INPUT_BYTES);
    int result = -1;

    if (!file || !bytes) {
        fprintf(stderr, "replay: %s: %s\n", path, strerror(errno));
    } else {
        size_t len = fread(bytes, 1, MAX_INPUT_BYTES, file);

        printf("replaying %s\n", path);
        fflush(stdout); /* A crash must leave the name of its input behind. */
        result = run_all_cuts(bytes, len);
    }
    free(bytes);
    if (file)
        fclose(file);
    return result;
}

static void default_folder(const char *program, char *folder, size_t size)
{
    const char *name = strstr(program, "replay_");

    snprintf(folder, size, "tests/fuzz/%s.in", name ? name + strlen("replay_") : "");
}

int main(int argc, char **argv)
{
    char folder[PATH_MAX], path[PATH_MAX];
    struct dirent **names = NULL;
    int passed = 0, failed = 0, count;

    default_folder(argv[0], folder, sizeof folder);
    if (argc > 1)
        snprintf(folder, sizeof folder, "%s", argv[1]);
    count = scandir(folder, &names, NULL, alphasort);
    if (count == -1)
        fprintf(stderr, "replay: %s: %s; store at least one input there\n", folder, strerror(errno));
    for (int i = 0; i < count; i++) {
        if (names[i]->d_name[0] != '.') {
            if (snprintf(path, sizeof path, "%s/%s", folder, names[i]->d_name) < (int)sizeof path &&
                run_file(path) == 0)
                passed++;
            else
                failed++;
        }
        free(names[i]);
    }
    free(names);
    /* The same words as the unit tests' framework, so that one reader sums both. */
    printf("[  PASSED  ] %d test(s).\n", passed);
    if (failed)
        printf("[  FAILED  ] %d test(s), listed above:\n", failed);
    return failed || passed == 0;
}
