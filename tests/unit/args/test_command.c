/* SPDX-License-Identifier: Apache-2.0 */
#include "args/command.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char said[4096];

/* What a command says goes to a file meanwhile. */
static FILE *listen_to(int *saved, int fd)
{
    FILE *file = tmpfile();

    assert_non_null(file);
    fflush(NULL);
    *saved = dup(fd);
    assert_true(dup2(fileno(file), fd) >= 0);
    return file;
}

static void hear(FILE *file, int saved, int fd)
{
    size_t len;

    fflush(NULL);
    dup2(saved, fd);
    close(saved);
    rewind(file);
    len = fread(said, 1, sizeof said - 1, file);
    said[len] = '\0';
    fclose(file);
}

struct given {
    bool verbose;
    const char *name;
    struct option_values many;
    uint64_t count;
    int operands;
    const char *operand[8];
};

static int read_words(struct given *given, const char *const *words, int min, int max)
{
    const struct option options[] = {
        {.name = "verbose", .help = "more", .flag = &given->verbose},
        {.name = "name", .takes = "NAME", .help = "a name", .value = &given->name},
        {.name = "may-claim", .takes = "GLOB", .help = "repeatable", .many = &given->many},
        {.name = "count", .takes = "N", .help = "a number", .number = &given->count, .least = 2},
        {0},
    };
    const struct usage usage = {"callgate test [OPTIONS]", "Tests.", options, min, max};
    static char copies[16][64];
    char *argv[17];
    int argc = 0, status, saved;
    FILE *file;

    *given = (struct given){0};
    for (; words[argc] != NULL; argc++) {
        snprintf(copies[argc], sizeof copies[argc], "%s", words[argc]);
        argv[argc] = copies[argc];
    }
    argv[argc] = NULL;
    file = listen_to(&saved, STDERR_FILENO);
    status = options_read(&usage, argc, argv, &given->operands);
    hear(file, saved, STDERR_FILENO);
    for (int i = 0; i < given->operands && i < 8; i++)
        given->operand[i] = argv[i];
    return status;
}

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void options_and_operands_mix(void **state)
{
    struct given given;

    (void)state;
    assert_int_equal(read_words(&given, WORDS("one", "--verbose", "--name", "bot", "two", "--may-claim=a*", "--may-claim",
                                              "b", "--count=2", "--", "--three"), 0, -1), OPTIONS_GO);
    assert_int_equal(given.count, 2);
    assert_true(given.verbose);
    assert_string_equal(given.name, "bot");
    assert_int_equal(given.many.count, 2);
    assert_string_equal(given.many.value[0], "a*");
    assert_int_equal(given.operands, 3);
    assert_string_equal(given.operand[0], "one");
    assert_string_equal(given.operand[1], "two");
    assert_string_equal(given.operand[2], "--three");
}

static void wrong_use_is_told(void **state)
{
    static const struct { const char *words[4]; const char *says; } cases[] = {
        {{"--nmae", "x"}, "did you mean --name?"},
        {{"--wholly-unknown"}, "--help lists"},
        {{"--name"}, "needs a value"},
        {{"--name", "a", "--name=b"}, "given twice"},
        {{"--count", "1"}, "is no number from 2 on"},
        {{"--count", "2x"}, "is no number from 2 on"},
        {{"--count=18446744073709551615"}, "is no number"},
        {{"--count=3", "--count=3"}, "given twice"},
        {{"--verbose=yes"}, "takes no value"},
        {{"-v"}, "written --name"},
        {{"one", "two", "three"}, "\"three\" is too much"},
    };
    struct given given;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(read_words(&given, cases[i].words, 0, 2), STATUS_USAGE);
        if (strncmp(said, "callgate: ", 10) != 0 || strstr(said, cases[i].says) == NULL)
            fail_msg("%s: said %s", cases[i].words[0], said);
    }
    assert_int_equal(read_words(&given, WORDS("--verbose"), 1, 1), STATUS_USAGE);
    assert_non_null(strstr(said, "missing"));
}

static const char *asked_for;

static enum code read_for_guest(const char *path, size_t max_bytes, struct buf *out, struct why *why)
{
    (void)max_bytes;
    (void)out;
    asked_for = path;
    return why_set(why, CODE_IO, "not today");
}

/* 7.9: who gives a command over the gate's socket names no file of it, in whatever way, and is recorded by the name that it is told. */
static void a_guest_names_no_file(void **state)
{
    const struct command_guest guest = {.actor = {.name = "ada"}, .operands_max = 1, .read = read_for_guest};
    const char *path = NULL;
    const struct option options[] = {{.name = "output", .takes = "FILE", .help = "a file", .value = &path}, {0}};
    const struct usage usage = {"callgate test", "Tests.", options, 0, -1};
    char name[ACTOR_BYTES], word[] = "--output=/etc/passwd", *argv[] = {word, NULL};
    struct given given;
    struct why why = {""};
    FILE *file;
    int saved, operands, status;

    (void)state;
    command_serve(&guest);
    file = listen_to(&saved, STDERR_FILENO);
    status = options_read(&usage, 1, argv, &operands);
    hear(file, saved, STDERR_FILENO);
    assert_int_equal(status, STATUS_USAGE);
    assert_null(path);
    assert_int_equal(read_words(&given, WORDS("--name", "bot", "one"), 0, -1), OPTIONS_GO);
    assert_int_equal(read_words(&given, WORDS("one", "two"), 0, -1), STATUS_USAGE);
    assert_int_equal(command_file("/etc/hostname", 64, NULL, &why), CODE_IO);
    assert_string_equal(asked_for, "/etc/hostname");
    actor_name(name);
    assert_string_equal(name, "ada");
    command_serve(NULL);
    assert_int_equal(read_words(&given, WORDS("one", "two"), 0, -1), OPTIONS_GO);
}

static int ran;

static int run_leaf(int argc, char **argv)
{
    ran = argc;
    return argc > 0 ? argv[0][0] - '0' : STATUS_DONE;
}

static int dispatch(int argc, char **argv, int fd)
{
    static const struct command subs[] = {{"create", "make", run_leaf, NULL}, {0}};
    const struct command commands[] = {{"key", "keys", NULL, subs}, {"version", "which", run_leaf, NULL}, {0}};
    int saved, status;
    FILE *file = listen_to(&saved, fd);

    ran = -1;
    status = command_run(commands, "callgate", argc, argv);
    hear(file, saved, fd);
    return status;
}

static void commands_are_found_or_guessed(void **state)
{
    (void)state;
    assert_int_equal(dispatch(2, (char *[]){(char *)"version", (char *)"3", NULL}, STDERR_FILENO), 3);
    assert_int_equal(ran, 1);
    assert_int_equal(dispatch(2, (char *[]){(char *)"key", (char *)"create", NULL}, STDERR_FILENO), STATUS_DONE);
    assert_int_equal(ran, 0);
    assert_int_equal(dispatch(2, (char *[]){(char *)"key", (char *)"creat", NULL}, STDERR_FILENO), STATUS_USAGE);
    assert_non_null(strstr(said, "did you mean \"callgate key create\"?"));
    assert_int_equal(dispatch(1, (char *[]){(char *)"frobnicate", NULL}, STDERR_FILENO), STATUS_USAGE);
    assert_non_null(strstr(said, "--help"));
    assert_int_equal(dispatch(1, (char *[]){(char *)"--help", NULL}, STDOUT_FILENO), STATUS_DONE);
    assert_non_null(strstr(said, "version"));
    assert_int_equal(dispatch(0, (char *[]){NULL}, STDERR_FILENO), STATUS_USAGE);
    assert_int_equal(dispatch(1, (char *[]){(char *)"key", NULL}, STDERR_FILENO), STATUS_USAGE);
    assert_int_equal(ran, -1);
}

static int run_told(int argc, char **argv)
{
    ran = argc;
    return strcmp(argv[0], "--help") == 0 ? STATUS_DONE : STATUS_CANNOT;
}

static int ask_help(const char *const *words, int fd)
{
    static const struct command subs[] = {{"create", "make", run_told, NULL}, {0}};
    const struct command commands[] = {{"key", "keys", NULL, subs}, {"version", "which", run_told, NULL}, {0}};
    static char copies[4][16];
    char *argv[5] = {NULL};
    int argc = 0, saved, status;
    FILE *file;

    for (; words[argc] != NULL; argc++) {
        snprintf(copies[argc], sizeof copies[argc], "%s", words[argc]);
        argv[argc] = copies[argc];
    }
    ran = -1;
    file = listen_to(&saved, fd);
    status = command_run(commands, "callgate", argc, argv);
    hear(file, saved, fd);
    return status;
}

static void help_is_given_of_what_is_named(void **state)
{
    (void)state;
    assert_int_equal(ask_help(WORDS("help", "version"), STDOUT_FILENO), STATUS_DONE);
    assert_int_equal(ran, 1);
    assert_int_equal(ask_help(WORDS("help", "key", "create"), STDOUT_FILENO), STATUS_DONE);
    assert_int_equal(ran, 1);
    assert_int_equal(ask_help(WORDS("key", "help", "create"), STDOUT_FILENO), STATUS_DONE);
    assert_int_equal(ran, 1);
    assert_int_equal(ask_help(WORDS("help", "key"), STDOUT_FILENO), STATUS_DONE);
    assert_non_null(strstr(said, "usage: callgate key COMMAND"));
    assert_int_equal(ask_help(WORDS("help", "kez"), STDERR_FILENO), STATUS_USAGE);
    assert_non_null(strstr(said, "did you mean \"callgate key\"?"));
    assert_int_equal(ask_help(WORDS("help", "key", "frobnicate"), STDERR_FILENO), STATUS_USAGE);
    assert_int_equal(ran, -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_and_operands_mix),
        cmocka_unit_test(wrong_use_is_told),
        cmocka_unit_test(a_guest_names_no_file),
        cmocka_unit_test(commands_are_found_or_guessed),
        cmocka_unit_test(help_is_given_of_what_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
