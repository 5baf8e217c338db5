/* SPDX-License-Identifier: Apache-2.0 */
#include "args/command.h"
#include "args/print.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/num.h"
#include "os/file.h"
#include "unicode/unicode.h"

#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define WORDS_MAX 64
#define BY_MAX 128
#define WHY_MAX 1000

static const struct command_guest *guest; /* NULL: who runs the process gives the command */

/* What is opened first must not become the standard input of whoever was started without one. */
static bool hold_standard_places(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) == -1 && open("/dev/null", O_RDWR) != fd)
            return false;
    return true;
}

bool command_begin(void)
{
    /* What we make is private unless its own rule says otherwise (audit.db is 0640). */
    umask(0027);
    if (!hold_standard_places())
        return false;
    signal(SIGPIPE, SIG_IGN);
    hash_seed();
    log_init(LOG_INFO, LOG_AUTO);
    return true;
}

int complain(enum exit_status status, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    print_failure((int)status, format, args);
    va_end(args);
    return (int)status;
}

int complain_why(enum code code, const struct why *why)
{
    const char *text = why->text[0] != '\0' ? why->text : code_text(code);

    return complain(code == CODE_INVALID ? STATUS_USAGE : STATUS_CANNOT, "%s", text);
}

int complain_faults(const struct faults *faults)
{
    print_faults(faults, "");
    return STATUS_USAGE;
}

enum code why_of_faults(struct why *why, enum code code, const struct faults *faults)
{
    const struct fault *first = &faults->fault[0];

    if (faults->count == 0)
        return why_set(why, code, "%s", code_text(code));
    if (first->line == 0)
        return why_set(why, code, "%s", first->text);
    return why_set(why, code, "%s:%d:%d: %s", first->file, first->line, first->column, first->text);
}

static void print_usage(const struct usage *usage)
{
    print_safely(stdout, "usage: %s\n\n%s\n\n", usage->synopsis, usage->about);
    for (const struct option *option = usage->options; option->name != NULL; option++) {
        char left[64];

        snprintf(left, sizeof left, "--%s%s%s", option->name, option->takes ? " " : "",
                 option->takes ? option->takes : "");
        print_safely(stdout, "  %-28s %s\n", left, option->help);
    }
    print_safely(stdout, "  %-28s %s\n", "--help", "this text");
}

static int unknown_option(const struct usage *usage, const char *name, size_t len)
{
    const char *words[WORDS_MAX];
    size_t count = 0;
    const char *near;

    for (const struct option *option = usage->options; option->name != NULL && count < WORDS_MAX - 1; option++)
        words[count++] = option->name;
    words[count] = NULL;
    near = why_nearest(name, len, words);
    if (near != NULL)
        return complain(STATUS_USAGE, "unknown option --%.*s; did you mean --%s?", (int)len, name, near);
    return complain(STATUS_USAGE, "unknown option --%.*s; --help lists the options", (int)len, name);
}

int option_number(const char *name, const char *text, uint64_t least, uint64_t *number)
{
    if (num_u64(span_text(text), number) != CODE_OK || *number < least || *number > INT64_MAX)
        return complain(STATUS_USAGE, "--%s \"%s\" is no number from %llu on", name, text, (unsigned long long)least);
    return OPTIONS_GO;
}

static int check_text(const char *option, const char *text, size_t max)
{
    struct span span = span_text(text);

    if (text == NULL)
        return OPTIONS_GO;
    if (span.len == 0 || !unicode_is_utf8(span) || unicode_is_deceptive(span) || span_find(span, '\n') < span.len)
        return complain(STATUS_USAGE, "--%s must be one line of visible characters; write it plainly", option);
    if (unicode_count(span) > max)
        return complain(STATUS_USAGE, "--%s has more than %zu characters; say it shorter", option, max);
    return OPTIONS_GO;
}

int option_says(const char *by, const char *why, const char *example)
{
    int status = check_text("by", by, BY_MAX);

    if (status == OPTIONS_GO && why == NULL)
        status = complain(STATUS_USAGE, "say why, for those who read the audit: --why '%s'", example);
    return status == OPTIONS_GO ? check_text("why", why, WHY_MAX) : status;
}

/* What an option may take from a guest: words that nobody opens. */
static bool is_plain(const char *takes)
{
    static const char *const plain[] = {"TEXT", "NAME", "N", "TIME", "ID", "GLOB", "WORD", "CODE", "ROUTE", "ADDRESS", "LIST",
                                        "END", "FORM", NULL};
    const char *const *one = plain;

    while (*one != NULL && strcmp(*one, takes) != 0)
        one++;
    return *one != NULL;
}

/* Takes: given: bits of the options that were. */
static int store_value(const struct usage *usage, const struct option *option, const char *value, uint64_t *given)
{
    uint64_t bit = UINT64_C(1) << (option - usage->options);

    if (guest != NULL && !is_plain(option->takes))
        return complain(STATUS_USAGE, "--%s names a %s where the gate is, which is not yours to name over its socket; leave "
                        "it out", option->name, option->takes);
    if (option->many != NULL) {
        if (option->many->count == OPTION_VALUES_MAX)
            return complain(STATUS_USAGE, "--%s is given more than %d times; give fewer", option->name,
                            OPTION_VALUES_MAX);
        option->many->value[option->many->count++] = value;
        return OPTIONS_GO;
    }
    if ((*given & bit) != 0)
        return complain(STATUS_USAGE, "--%s is given twice; give it once", option->name);
    *given |= bit;
    if (option->number != NULL)
        return option_number(option->name, value, option->least, option->number);
    *option->value = value;
    return OPTIONS_GO;
}

/* Takes: text after the two dashes; *at is moved when the next word is its value. */
static int read_option(const struct usage *usage, char **argv, int argc, int *at, uint64_t *given)
{
    const char *text = argv[*at] + 2;
    const char *equals = strchr(text, '=');
    size_t len = equals != NULL ? (size_t)(equals - text) : strlen(text);
    const struct option *option = usage->options;

    while (option->name != NULL && (strlen(option->name) != len || strncmp(option->name, text, len) != 0))
        option++;
    if (option->name == NULL)
        return unknown_option(usage, text, len);
    if (option->flag != NULL) {
        if (equals != NULL)
            return complain(STATUS_USAGE, "--%s takes no value; write --%s", option->name, option->name);
        *option->flag = true;
        return OPTIONS_GO;
    }
    if (equals != NULL)
        return store_value(usage, option, equals + 1, given);
    if (*at + 1 >= argc)
        return complain(STATUS_USAGE, "--%s needs a value; write --%s %s", option->name, option->name, option->takes);
    return store_value(usage, option, argv[++*at], given);
}

/* Also of a failure that the words before it make, and where the command has no answer in JSON. */
static bool wants_json(int argc, char **argv)
{
    int i = 0;

    while (i < argc && strcmp(argv[i], "--json") != 0 && strcmp(argv[i], "--") != 0)
        i++;
    return i < argc && strcmp(argv[i], "--json") == 0;
}

int options_read(const struct usage *usage, int argc, char **argv, int *operands)
{
    const int most = guest != NULL && guest->operands_max >= 0 ? guest->operands_max : usage->operands_max;
    bool options_over = false;
    uint64_t given = 0;

    print_failures_as_json(wants_json(argc, argv));
    *operands = 0;
    for (int i = 0; i < argc; i++) {
        int status;

        if (options_over || argv[i][0] != '-' || argv[i][1] == '\0') {
            argv[(*operands)++] = argv[i];
            continue;
        }
        if (strcmp(argv[i], "--") == 0) {
            options_over = true;
            continue;
        }
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            print_usage(usage);
            return STATUS_DONE;
        }
        if (argv[i][1] != '-')
            return complain(STATUS_USAGE, "unknown option %s; options are written --name, --help lists them", argv[i]);
        status = read_option(usage, argv, argc, &i, &given);
        if (status != OPTIONS_GO)
            return status;
    }
    if (*operands < usage->operands_min)
        return complain(STATUS_USAGE, "something is missing; usage: %s", usage->synopsis);
    if (most >= 0 && *operands > most)
        return complain(STATUS_USAGE, "\"%s\" is too much; usage: %s", argv[most], usage->synopsis);
    return OPTIONS_GO;
}

static void print_commands(FILE *out, const struct command *commands, const char *path)
{
    print_safely(out, "usage: %s COMMAND [OPTIONS]\n\n", path);
    for (const struct command *command = commands; command->name != NULL; command++)
        print_safely(out, "  %-12s %s\n", command->name, command->summary);
    print_safely(out, "\n`%s COMMAND --help` says more.\n", path);
}

static int unknown_command(const struct command *commands, const char *path, const char *word)
{
    const char *words[WORDS_MAX];
    size_t count = 0;
    const char *near;

    for (const struct command *command = commands; command->name != NULL && count < WORDS_MAX - 1; command++)
        words[count++] = command->name;
    words[count] = NULL;
    near = why_nearest(word, strlen(word), words);
    if (near != NULL)
        return complain(STATUS_USAGE, "unknown command \"%s\"; did you mean \"%s %s\"?", word, path, near);
    return complain(STATUS_USAGE, "unknown command \"%s\"; `%s --help` lists them", word, path);
}

static bool is_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0;
}

int command_run(const struct command *commands, const char *path, int argc, char **argv)
{
    static char option[] = "--help";
    const struct command *command = commands;
    const bool helps = argc > 0 && is_help(argv[0]); /* `help policy check` says what `policy check --help` does */
    const char *word = helps ? argv[1] : argv[0];
    char deeper[128];

    print_failures_as_json(wants_json(argc, argv));
    if (argc == 0 || (helps && argc == 1)) {
        print_commands(helps ? stdout : stderr, commands, path);
        return helps ? STATUS_DONE : STATUS_USAGE;
    }
    while (command->name != NULL && strcmp(command->name, word) != 0)
        command++;
    if (command->name == NULL)
        return unknown_command(commands, path, word);
    snprintf(deeper, sizeof deeper, "%s %s", path, command->name);
    if (helps)
        argv[1] = option; /* the command's first word now */
    if (helps && command->subs == NULL)
        return command->run(1, argv + 1);
    return command->subs != NULL ? command_run(command->subs, deeper, argc - 1, argv + 1) : command->run(argc - 1, argv + 1);
}

void command_serve(const struct command_guest *whom)
{
    guest = whom;
}

enum code command_file(const char *path, size_t max_bytes, struct buf *out, struct why *why)
{
    return guest != NULL ? guest->read(path, max_bytes, out, why) : file_read(path, FILE_ANY, max_bytes, out, why);
}

void actor_add_alias(struct actor *actor, struct span name)
{
    if (actor->alias_count < ACTOR_ALIASES && name.len > 0 && name.len < ACTOR_ALIAS_BYTES)
        (void)snprintf(actor->alias[actor->alias_count++], ACTOR_ALIAS_BYTES, "%.*s", SPAN_ARG(name));
}

void actor_add_name(struct actor *actor, struct span name)
{
    size_t count = actor->alias_count;

    actor_add_alias(actor, name);
    if (actor->alias_count > count)
        actor->is_own[count] = true;
}

void actor_of(uid_t uid, uid_t login, struct actor *actor)
{
    char name[PERSON_BYTES];

    *actor = (struct actor){.account = login != PERSON_UNKNOWN ? login : uid};
    person_name(uid, login, actor->name);
    person_account(actor->account, name);
    actor_add_name(actor, span_text(name));
    person_account(uid, name);
    actor_add_alias(actor, span_text(name));
}

void actor_find(struct actor *actor)
{
    uid_t login = person_login();
    const char *sudo = getenv("SUDO_USER");
    const struct passwd *user = guest == NULL && login == PERSON_UNKNOWN && sudo != NULL ? getpwnam(sudo) : NULL;

    if (guest != NULL)
        *actor = guest->actor;
    else
        actor_of(getuid(), user != NULL ? user->pw_uid : login, actor);
}

void actor_name(char out[ACTOR_BYTES])
{
    struct actor actor;

    actor_find(&actor);
    memcpy(out, actor.name, ACTOR_BYTES);
}
