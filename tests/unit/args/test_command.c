/* SPDX-License-Identifier: Apache-2.0 */
#include "args/command.h"
#include "fakes/cm.h"

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

struct words {
    struct given given;
    bool verbose;
    const char *name, *order, *path;
    struct option_values many;
    uint64_t count, lasts_ms;
};

#define AT(member) offsetof(struct words, member)

static const char *const orders[] = {"newest", "oldest", "none", NULL};
static const struct option options[] = {
    {.name = "verbose", .help = "more", .type = OPTION_FLAG, .at = AT(verbose)},
    {.name = "name", .takes = "NAME", .help = "a name", .type = OPTION_LINE, .at = AT(name), .most = 4},
    {.name = "order", .takes = "END", .help = "a word", .type = OPTION_WORD, .at = AT(order), .words = orders},
    {.name = "may-claim", .takes = "GLOB", .help = "repeatable", .type = OPTION_LIST, .at = AT(many)},
    {.name = "count", .takes = "N", .help = "a number", .type = OPTION_NUMBER, .at = AT(count), .least = 2, .usual = 7},
    {.name = "for", .takes = "TIME", .help = "a while", .type = OPTION_DURATION, .at = AT(lasts_ms), .most = 86400000},
    {.name = "output", .takes = "FILE", .help = "a file", .type = OPTION_FILE, .at = AT(path)},
    {0},
};
static const struct operand none[] = {{.name = NULL}};
static const struct operand one[] = {{.name = "ONE"}, {.name = NULL}};
static const struct operand two[] = {{.name = "A", .may_lack = true}, {.name = "B", .may_lack = true}, {.name = NULL}};
static const struct operand any[] = {
    {.name = "FILE", .type = OPERAND_CONTENT, .may_lack = true, .is_many = true}, {.name = NULL}};
static const struct operand behind[] = {
    {.name = "N"}, {.name = "DATABASE", .type = OPERAND_FILE, .may_lack = true}, {.name = NULL}};

static int read_words(struct words *to, const char *const *words, const struct operand *operands)
{
    const struct usage usage = {.path = "callgate test", .about = "Tests.", .operands = operands, .options = options};
    static char copies[16][64];
    static char *argv[17];
    int argc = 0, status, saved;
    FILE *file;

    *to = (struct words){.verbose = false};
    for (; words[argc] != NULL; argc++) {
        snprintf(copies[argc], sizeof copies[argc], "%s", words[argc]);
        argv[argc] = copies[argc];
    }
    argv[argc] = NULL;
    file = listen_to(&saved, STDERR_FILENO);
    status = options_read(&usage, argc, argv, &to->given);
    hear(file, saved, STDERR_FILENO);
    return status;
}

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

TEST_CASE(options_and_operands_mix)
{
    struct words to;

    assert_int_equal(read_words(&to, WORDS("one", "--verbose", "--name", "bot", "two", "--may-claim=a*", "--may-claim", "b",
                                           "--count=2", "--for", "12h", "--order=oldest", "--", "--three"), any), OPTIONS_GO);
    assert_int_equal(to.count, 2);
    assert_int_equal(to.lasts_ms, 43200000);
    assert_true(to.verbose);
    assert_string_equal(to.name, "bot");
    assert_string_equal(to.order, "oldest");
    assert_int_equal(to.many.count, 2);
    assert_string_equal(to.many.value[0], "a*");
    assert_int_equal(to.given.count, 3);
    assert_string_equal(to.given.operands[0], "one");
    assert_string_equal(to.given.operands[1], "two");
    assert_string_equal(to.given.operands[2], "--three");
    assert_null(to.given.operands[3]);
    assert_int_equal(read_words(&to, WORDS("one"), one), OPTIONS_GO);
    assert_int_equal(to.count, 7); /* as usual */
}

TEST_CASE(wrong_use_is_told)
{
    static const struct { const char *words[4]; const char *says; } cases[] = {
        {{"--nmae", "x"}, "did you mean --name?"},
        {{"--wholly-unknown"}, "--help lists"},
        {{"--name"}, "needs a value"},
        {{"--name", "a", "--name=b"}, "given twice"},
        {{"--name", "hello"}, "more than 4 characters"},
        {{"--name", "a\nb"}, "one line of visible characters"},
        {{"--name="}, "one line of visible characters"},
        {{"--order", "last"}, "is none; write newest, oldest or none"},
        {{"--order", "newst"}, "did you mean newest"},
        {{"--count", "1"}, "--count \"1\" is no number from 2 on"},
        {{"--count", "2x"}, "is no number from 2 on"},
        {{"--count=18446744073709551615"}, "is no number"},
        {{"--count=3", "--count=3"}, "given twice"},
        {{"--for=2d"}, "is no time up to 1d"},
        {{"--for=0s"}, "is no time"},
        {{"--verbose=yes"}, "takes no value"},
        {{"-v"}, "written --name"},
        {{"one", "two", "three"}, "\"three\" is too much; usage: callgate test [A] [B] [OPTIONS]"},
    };
    struct words to;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(read_words(&to, cases[i].words, two), STATUS_USAGE);
        if (strncmp(said, "callgate: ", 10) != 0 || strstr(said, cases[i].says) == NULL)
            fail_msg("%s: said %s", cases[i].words[0], said);
    }
    assert_int_equal(read_words(&to, WORDS("--verbose"), one), STATUS_USAGE);
    assert_non_null(strstr(said, "callgate: ONE is missing; usage: callgate test ONE [OPTIONS]"));
    assert_int_equal(read_words(&to, WORDS("x"), none), STATUS_USAGE);
}

TEST_CASE(what_must_be_given_is_told)
{
    static const struct option must[] = {
        {.name = "name", .takes = "NAME", .help = "a name", .type = OPTION_TEXT, .at = AT(name), .must = ""},
        {.name = "output", .takes = "FILE", .help = "a file", .type = OPTION_FILE, .at = AT(path),
         .must = "say where: --output FILE"},
        {0},
    };
    const struct usage usage = {.path = "callgate test", .about = "Tests.", .options = must};
    char first[] = "--name=a", second[] = "--output=b", *argv[] = {first, second, NULL}, *one_word[] = {first, NULL};
    char *none_at_all = NULL;
    struct words to = {.verbose = false};
    int saved, status;
    FILE *file = listen_to(&saved, STDERR_FILENO);

    status = options_read(&usage, 0, &none_at_all, &to.given);
    hear(file, saved, STDERR_FILENO);
    assert_int_equal(status, STATUS_USAGE);
    assert_string_equal(said, "callgate: --name is required; usage: callgate test --name NAME --output FILE\n");
    file = listen_to(&saved, STDERR_FILENO);
    status = options_read(&usage, 1, one_word, &to.given);
    hear(file, saved, STDERR_FILENO);
    assert_int_equal(status, STATUS_USAGE);
    assert_string_equal(said, "callgate: say where: --output FILE\n");
    assert_int_equal(options_read(&usage, 2, argv, &to.given), OPTIONS_GO);
}

static const char *asked_for;

static enum code read_for_guest(const char *path, size_t max_bytes, struct buf *out, struct why *why)
{
    (void)max_bytes;
    (void)out;
    asked_for = path;
    return why_set(why, CODE_IO, "not today");
}

/* 7.9: who gives a command over the gate's socket names no file of it, in whatever way, and is recorded by the name that it is
 * told. */
TEST_CASE(a_guest_names_no_file)
{
    const struct command_guest guest = {.actor = {.name = "ada"}, .read = read_for_guest};
    char name[ACTOR_BYTES];
    struct words to;
    struct why why = {""};

    command_serve(&guest);
    assert_int_equal(read_words(&to, WORDS("--output=/etc/passwd"), none), STATUS_USAGE);
    assert_non_null(strstr(said, "not yours to name"));
    assert_null(to.path);
    assert_int_equal(read_words(&to, WORDS("--name", "bot", "one"), behind), OPTIONS_GO);
    assert_int_equal(read_words(&to, WORDS("one", "two"), behind), STATUS_USAGE);
    assert_non_null(strstr(said, "\"two\" is too much"));
    assert_int_equal(read_words(&to, WORDS("one", "two"), any), OPTIONS_GO); /* his own, which he is asked for */
    assert_int_equal(command_file("/etc/hostname", 64, NULL, &why), CODE_IO);
    assert_string_equal(asked_for, "/etc/hostname");
    actor_name(name);
    assert_string_equal(name, "ada");
    command_serve(NULL);
    assert_int_equal(read_words(&to, WORDS("one", "two", "--output=x"), behind), OPTIONS_GO);
}

TEST_MAIN(NULL, NULL)
