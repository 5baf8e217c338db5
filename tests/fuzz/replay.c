/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs one fuzz target over stored inputs without any fuzz engine: each file whole, and each cut short at every byte.
 *
 * usage: replay_<what> [--seconds N | --round N] [FOLDER]     default: tests/fuzz/<what>.in
 *
 * --seconds: instead, inputs made from the stored ones by some random changes (4.16), for so long. Each round has a number, which
 *   alone decides what it tries; the one that ended the target is printed. --round repeats it.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

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

/* ---- random changes ---------------------------------------------------------------------------------------------- */

#define INPUTS_MAX 1024
#define CHANGED_MAX 8192 /* bytes of a changed input */

struct input {
    uint8_t *bytes;
    size_t len;
};

static struct input inputs[INPUTS_MAX];
static size_t input_count;

static bool keep_file(const char *path)
{
    FILE *file = input_count < INPUTS_MAX ? fopen(path, "rb") : NULL;
    struct input *input = &inputs[input_count];

    if (!file || !(input->bytes = malloc(CHANGED_MAX))) {
        fprintf(stderr, "replay: %s: %s\n", path, strerror(errno));
        if (file)
            fclose(file);
        return false;
    }
    input->len = fread(input->bytes, 1, CHANGED_MAX, file);
    input_count++;
    fclose(file);
    return true;
}

/* SplitMix64: https://prng.di.unimi.it/splitmix64.c describes it. Any number is a good beginning. */
static size_t draw(uint64_t *state, size_t below)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return below == 0 ? 0 : (size_t)((z ^ (z >> 31)) % below);
}

/* Puts `piece` in the place of `gone` bytes at `at`; what finds no room stays out. */
static void splice(struct input *into, size_t at, size_t gone, const uint8_t *piece, size_t len)
{
    static uint8_t copy[CHANGED_MAX];

    if (into->len - gone + len > CHANGED_MAX)
        return;
    if (len > 0)
        memcpy(copy, piece, len); /* it may lie in the same bytes */
    memmove(into->bytes + at + len, into->bytes + at + gone, into->len - at - gone);
    memcpy(into->bytes + at, copy, len);
    into->len = into->len - gone + len;
}

static void change(struct input *into, uint64_t *state)
{
    static const uint8_t marks[] = "\0\t\n\r !\"#$%&'()*+,-./0129:;<=>?@AZ[\\]^_`az{|}~\x7f\x80\xbf\xc2\xe2\xed\xf4\xff";
    const struct input *other = &inputs[draw(state, input_count)];
    size_t at = draw(state, into->len + 1), left = into->len - at;
    size_t len = draw(state, 4) ? 1 + draw(state, 8) : draw(state, 256);
    size_t from = draw(state, other->len), gone = len < left ? len : left;

    switch (draw(state, 6)) {
    case 0:
        if (left > 0)
            into->bytes[at] ^= (uint8_t)(1u << draw(state, 8));
        break;
    case 1:
        splice(into, at, left > 0, &marks[draw(state, sizeof marks - 1)], 1);
        break;
    case 2:
        splice(into, at, 0, &marks[draw(state, sizeof marks - 1)], 1);
        break;
    case 3:
        splice(into, at, gone, NULL, 0);
        break;
    case 4:
        splice(into, draw(state, into->len + 1), 0, into->bytes + at, gone);
        break;
    default:
        splice(into, at, draw(state, 2) ? gone : 0, other->bytes + from, len < other->len - from ? len : other->len - from);
        break;
    }
}

static int run_round(uint64_t round)
{
    static uint8_t room[CHANGED_MAX];
    uint64_t state = round;
    const struct input *from = &inputs[draw(&state, input_count)];
    struct input changed = {room, from->len};

    memcpy(room, from->bytes, from->len);
    for (size_t i = 0, count = 1 + draw(&state, 6); i < count; i++)
        change(&changed, &state);
    return run_cut(changed.bytes, changed.len);
}

/* A child runs the target, so that whatever ends it leaves the round's number here. Returns: whether nothing did. */
static bool run_rounds(long seconds)
{
    volatile uint64_t *round = mmap(NULL, sizeof *round, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    time_t end = time(NULL) + seconds;
    int status = -1;
    pid_t child;

    if (round == MAP_FAILED || input_count == 0)
        return false;
    fflush(stdout);
    child = fork();
    if (child == 0) {
        for (; time(NULL) < end && run_round(*round) == 0; (*round)++)
            ;
        exit(time(NULL) < end);
    }
    if (child == -1 || waitpid(child, &status, 0) != child || status != 0) {
        fprintf(stderr, "replay: round %llu ended with %d; again: --round %llu\n", (unsigned long long)*round, status,
                (unsigned long long)*round);
        return false;
    }
    printf("rounds: %llu\n", (unsigned long long)*round);
    return true;
}

/* ---- what is asked for --------------------------------------------------------------------------------------------- */

static void default_folder(const char *program, char *folder, size_t size)
{
    const char *name = strstr(program, "replay_");

    snprintf(folder, size, "tests/fuzz/%s.in", name ? name + strlen("replay_") : "");
}

/* Each stored input in turn. Returns: how many failed; *passed counts the others. */
static int for_each_input(const char *folder, bool keeps, int *passed)
{
    struct dirent **names = NULL;
    char path[PATH_MAX];
    int failed = 0, count = scandir(folder, &names, NULL, alphasort);

    if (count == -1)
        fprintf(stderr, "replay: %s: %s; store at least one input there\n", folder, strerror(errno));
    for (int i = 0; i < count; i++) {
        if (names[i]->d_name[0] != '.') {
            if (snprintf(path, sizeof path, "%s/%s", folder, names[i]->d_name) < (int)sizeof path &&
                (keeps ? keep_file(path) : run_file(path) == 0))
                (*passed)++;
            else
                failed++;
        }
        free(names[i]);
    }
    free(names);
    return failed;
}

int main(int argc, char **argv)
{
    bool random = argc > 2 && strcmp(argv[1], "--seconds") == 0, again = argc > 2 && strcmp(argv[1], "--round") == 0;
    int passed = 0, failed, at = random || again ? 3 : 1;
    char folder[PATH_MAX];

    default_folder(argv[0], folder, sizeof folder);
    if (argc > at)
        snprintf(folder, sizeof folder, "%s", argv[at]);
    failed = for_each_input(folder, random || again, &passed);
    if (again)
        return failed || input_count == 0 || run_round(strtoull(argv[2], NULL, 10)) != 0;
    if (random)
        return failed || !run_rounds(strtol(argv[2], NULL, 10));
    /* The same words as the unit tests' framework, so that one reader sums both. */
    printf("[  PASSED  ] %d test(s).\n", passed);
    if (failed)
        printf("[  FAILED  ] %d test(s), listed above:\n", failed);
    return failed || passed == 0;
}
