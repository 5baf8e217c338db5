/* SPDX-License-Identifier: Apache-2.0 */
#include "args/command.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/num.h"
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
#define SYNOPSIS_BYTES 512
#define SECRET_BYTES 1024
#define DURATION_MAX_MS (UINT64_C(100) * 366 * 86400 * 1000) /* a hundred years */

static const struct command_guest *guest; /* NULL: the command is given by who runs the process */

/* Fills the places of standard input, output and error where the process was started without one, since the first file that is
 * opened would take that place. What is written to an output that is not there fails, and is told so (print_end). */
static bool hold_standard_places(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) == -1 && open("/dev/null", fd == STDOUT_FILENO ? O_RDONLY : O_RDWR) != fd)
            return false;
    return true;
}

bool command_begin(void)
{
    /* Files are private unless their own rule says otherwise (audit.db is 0640). */
    umask(0027);
    if (!hold_standard_places())
        return false;
    signal(SIGPIPE, SIG_IGN);
    hash_seed();
    log_init(LOG_INFO, LOG_AUTO);
    return true;
}

bool option_is_guests(const struct option *option)
{
    static const bool are[OPTION_TYPES] = {
        [OPTION_FLAG] = true, [OPTION_TEXT] = true, [OPTION_LINE] = true, [OPTION_WORD] = true, [OPTION_NUMBER] = true,
        [OPTION_TIME] = true, [OPTION_DURATION] = true, [OPTION_LIST] = true,
    };

    return are[option->type];
}

void usage_synopsis(const struct usage *usage, char *text, size_t size)
{
    const struct operand *operand = usage->operands;
    const struct option *option = usage->options;
    bool has_more = false;
    size_t at = 0;

    text[0] = '\0';
    if (usage->synopsis != NULL) {
        (void)snprintf(text, size, "%s", usage->synopsis);
        return;
    }
    for (; operand != NULL && operand->name != NULL && at < size; operand++)
        at += (size_t)snprintf(text + at, size - at, " %s%s%s%s", operand->may_lack ? "[" : "", operand->name,
                               operand->is_many ? "..." : "", operand->may_lack ? "]" : "");
    for (; option->name != NULL && at < size; option++) {
        has_more |= option->must == NULL;
        if (option->must != NULL)
            at += (size_t)snprintf(text + at, size - at, " --%s %s", option->name, option->takes);
    }
    if (has_more && at < size)
        (void)snprintf(text + at, size - at, " [OPTIONS]");
}

void usage_print(const struct usage *usage)
{
    char text[SYNOPSIS_BYTES];

    usage_synopsis(usage, text, sizeof text);
    print_safely(stdout, "usage: %s%s\n\n", usage->path, text);
    print_lines(stdout, span_text(usage->about));
    putchar('\n');
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

static bool is_number(const char *text, uint64_t least, uint64_t *number)
{
    return num_u64(span_text(text), number) == CODE_OK && *number >= least && *number <= INT64_MAX;
}

static int read_number(const struct option *option, const char *text, uint64_t *number)
{
    if (!is_number(text, option->least, number))
        return complain(STATUS_USAGE, "--%s \"%s\" is no number from %llu on", option->name, text,
                        (unsigned long long)option->least);
    return OPTIONS_GO;
}

static int read_line(const struct option *option, const char *text)
{
    struct span span = span_text(text);

    if (span.len == 0 || !unicode_is_utf8(span) || unicode_is_deceptive(span) || span_find(span, '\n') < span.len)
        return complain(STATUS_USAGE, "--%s must be one line of visible characters; write it plainly", option->name);
    if (unicode_count(span) > option->most)
        return complain(STATUS_USAGE, "--%s has more than %llu characters; say it shorter", option->name,
                        (unsigned long long)option->most);
    return OPTIONS_GO;
}

static int read_word(const struct option *option, const char *text)
{
    const char *near = why_nearest(text, strlen(text), option->words);
    char all[256] = "";
    size_t at = 0;

    for (const char *const *word = option->words; *word != NULL && at < sizeof all; word++) {
        if (strcmp(*word, text) == 0)
            return OPTIONS_GO;
        at += (size_t)snprintf(all + at, sizeof all - at, "%s%s", at == 0 ? "" : word[1] == NULL ? " or " : ", ", *word);
    }
    return complain(STATUS_USAGE, "--%s \"%s\" is none; %s%s", option->name, text, near != NULL ? "did you mean " : "write ",
                    near != NULL ? near : all);
}

static int read_duration(const struct option *option, const char *text, uint64_t *ms)
{
    uint64_t most = option->most != 0 ? option->most : DURATION_MAX_MS;

    if (num_duration(span_text(text), ms) != CODE_OK || *ms == 0 || *ms > most)
        return complain(STATUS_USAGE, "--%s \"%s\" is no time up to %llud; write for example 30min, 12h or 90d", option->name,
                        text, (unsigned long long)(most / 86400000));
    return OPTIONS_GO;
}

static int add_value(const struct option *option, const char *text, struct option_values *values)
{
    if (values->count == OPTION_VALUES_MAX)
        return complain(STATUS_USAGE, "--%s is given more than %d times; give fewer", option->name, OPTION_VALUES_MAX);
    values->value[values->count++] = text;
    return OPTIONS_GO;
}

static int store_value(const struct option *option, const char *text, struct given *given)
{
    void *to = (char *)given + option->at;
    int status = OPTIONS_GO;

    if (guest != NULL && !option_is_guests(option))
        return complain(STATUS_USAGE, "--%s names a %s where the gate is, which is not yours to name over its socket; leave "
                        "it out", option->name, option->takes);
    switch (option->type) {
    case OPTION_FLAG:
        *(bool *)to = true;
        return OPTIONS_GO;
    case OPTION_NUMBER:
        return read_number(option, text, to);
    case OPTION_TIME:
        return option->when(option->name, text, to);
    case OPTION_DURATION:
        return read_duration(option, text, to);
    case OPTION_LIST:
    case OPTION_FILES:
        return add_value(option, text, to);
    case OPTION_LINE:
        status = read_line(option, text);
        break;
    case OPTION_WORD:
        status = read_word(option, text);
        break;
    case OPTION_TEXT:
    case OPTION_FILE:
        break;
    }
    *(const char **)to = text;
    return status;
}

static bool is_repeatable(const struct option *option)
{
    return option->type == OPTION_FLAG || option->type == OPTION_LIST || option->type == OPTION_FILES;
}

/* The command line that is being read, and which options were given so far. */
struct reading {
    const struct usage *usage;
    struct given *given;
    uint64_t seen; /* bits */
};

static int take_value(struct reading *reading, const struct option *option, const char *value)
{
    uint64_t bit = UINT64_C(1) << (option - reading->usage->options);

    if ((reading->seen & bit) != 0 && !is_repeatable(option))
        return complain(STATUS_USAGE, "--%s is given twice; give it once", option->name);
    reading->seen |= bit;
    return store_value(option, value, reading->given);
}

void spelling_tell(const struct spelling *spelling, const char *dashes)
{
    if (guest == NULL)
        print_safely(stderr, "callgate: `%s%s` is `%s%s` now; the old spelling goes with the next release\n", dashes,
                     spelling->was, dashes, spelling->is);
}

/* The option's name, as it is spelled now: up to a `=`. */
static struct span spelled_now(const struct usage *usage, struct span name)
{
    const struct spelling *one = usage->was;

    while (one != NULL && one->was != NULL && !span_is(name, one->was))
        one++;
    if (one == NULL || one->was == NULL)
        return name;
    spelling_tell(one, "--");
    return span_text(one->is);
}

/* Takes: *at: the option's place in argv, which moves on when the next word is its value. */
static int read_option(struct reading *reading, char **argv, int argc, int *at)
{
    struct span value, meant = span_cut(span_text(argv[*at] + 2), '=', &value), name;
    const struct option *option = reading->usage->options;
    const char *given = strchr(argv[*at], '=') != NULL ? value.at : NULL;

    meant = spelled_now(reading->usage, meant);
    name = span_cut(meant, '=', &value);
    if (name.len < meant.len && given != NULL) /* a file behind what was a flag would be left out unsaid */
        return complain(STATUS_USAGE, "%.*s takes no value; write --%s", (int)strcspn(argv[*at], "="), argv[*at], meant.at);
    if (name.len < meant.len) /* the new spelling has a value */
        given = value.at;
    while (option->name != NULL && !span_is(name, option->name))
        option++;
    if (option->name == NULL)
        return unknown_option(reading->usage, name.at, name.len);
    if (option->type == OPTION_FLAG && given != NULL)
        return complain(STATUS_USAGE, "--%s takes no value; write --%s", option->name, option->name);
    if (option->type == OPTION_FLAG || given != NULL)
        return take_value(reading, option, given);
    if (*at + 1 >= argc)
        return complain(STATUS_USAGE, "--%s needs a value; write --%s %s", option->name, option->name, option->takes);
    return take_value(reading, option, argv[++*at]);
}

static int complain_use(const struct usage *usage, const char *what)
{
    char text[SYNOPSIS_BYTES];

    usage_synopsis(usage, text, sizeof text);
    return complain(STATUS_USAGE, "%s; usage: %s%s", what, usage->path, text);
}

/* Whether what stands at this place, if anything does, names nothing that this process would open. */
static bool is_guests(const struct operand *operand, const struct given *given, int at)
{
    uint64_t number;

    return operand->type != OPERAND_FILE && (operand->type != OPERAND_NUMBER || operand->list != NULL || at >= given->count ||
                                             num_u64(span_text(given->operands[at]), &number) == CODE_OK);
}

static int check_numbers(const struct operand *operand, const struct given *given)
{
    uint64_t number;

    for (int i = 0; i < given->count; i++) {
        if (operand->list != NULL && !is_number(given->operands[i], 1, &number))
            return complain(STATUS_USAGE, "%s \"%s\" is no number from 1 on; `callgate %s` shows them", operand->name,
                            given->operands[i], operand->list);
        operand += !operand->is_many;
    }
    return OPTIONS_GO;
}

static int check_operands(const struct usage *usage, const struct given *given)
{
    int least = 0, most = 0;
    const char *missing = NULL;
    char text[256];

    for (const struct operand *one = usage->operands; one != NULL && one->name != NULL && most >= 0; one++) {
        if (guest != NULL && !is_guests(one, given, most))
            break;
        least += !one->may_lack;
        if (missing == NULL && given->count < least)
            missing = one->name;
        most = one->is_many ? -1 : most + 1;
    }
    if (missing != NULL) {
        (void)snprintf(text, sizeof text, "%s is missing", missing);
        return complain_use(usage, text);
    }
    if (most < 0 || given->count <= most)
        return check_numbers(usage->operands, given);
    (void)snprintf(text, sizeof text, "\"%s\" is too much", given->operands[most]);
    return complain_use(usage, text);
}

static int check_given(const struct reading *reading)
{
    const struct usage *usage = reading->usage;
    char text[64];

    for (const struct option *option = usage->options; option->name != NULL; option++) {
        if (option->must == NULL || (reading->seen & UINT64_C(1) << (option - usage->options)) != 0)
            continue;
        if (option->must[0] != '\0')
            return complain(STATUS_USAGE, "%s", option->must);
        (void)snprintf(text, sizeof text, "--%s is required", option->name);
        return complain_use(usage, text);
    }
    return check_operands(usage, reading->given);
}

static void store_usual(const struct usage *usage, struct given *given)
{
    for (const struct option *option = usage->options; option->name != NULL; option++)
        if (option->type == OPTION_NUMBER)
            *(uint64_t *)(void *)((char *)given + option->at) = option->usual;
}

void failures_as_asked(int argc, char *const *argv)
{
    int i = 0;

    while (i < argc && strcmp(argv[i], "--json") != 0 && strcmp(argv[i], "--") != 0)
        i++;
    print_failures_as_json(i < argc && strcmp(argv[i], "--json") == 0);
}

int options_read(const struct usage *usage, int argc, char **argv, struct given *given)
{
    struct reading reading = {.usage = usage, .given = given};
    bool options_over = false;

    *given = (struct given){.operands = argv};
    store_usual(usage, given);
    for (int i = 0; i < argc; i++) {
        int status;

        if (options_over || argv[i][0] != '-' || argv[i][1] == '\0') {
            argv[given->count++] = argv[i];
            continue;
        }
        if (strcmp(argv[i], "--") == 0) {
            options_over = true;
            continue;
        }
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            usage_print(usage);
            return STATUS_DONE;
        }
        if (argv[i][1] != '-')
            return complain(STATUS_USAGE, "unknown option %s; options are written --name, --help lists them", argv[i]);
        status = read_option(&reading, argv, argc, &i);
        if (status != OPTIONS_GO)
            return status;
    }
    argv[given->count] = NULL; /* for who hands the operands to another program as its argv */
    return check_given(&reading);
}

void command_serve(const struct command_guest *whom)
{
    guest = whom;
}

bool command_is_guests(void)
{
    return guest != NULL;
}

bool command_is_own(void)
{
    return guest != NULL && guest->is_own;
}

bool command_goes_on(void)
{
    return guest == NULL || guest->goes_on == NULL || guest->goes_on();
}

enum code command_file(const char *path, size_t max_bytes, struct buf *out, struct why *why)
{
    return guest != NULL ? guest->read(path, max_bytes, out, why) : file_read(path, FILE_ANY, max_bytes, out, why);
}

enum code command_secret(const char *path, enum file_kind kind, size_t max_bytes, const char *what, struct buf *out,
                         struct why *why)
{
    char line[SECRET_BYTES];
    enum code code;

    if (strcmp(path, "-") != 0)
        return file_read(path, kind, max_bytes, out, why);
    if (isatty(STDIN_FILENO))
        print_safely(stderr, "the %s: ", what);
    if (fgets(line, sizeof line, stdin) == NULL)
        return why_set(why, CODE_INVALID, "standard input holds no %s; give it as one line", what);
    if (strlen(line) == sizeof line - 1 && line[sizeof line - 2] != '\n') /* the rest of the line would be missing */
        code = why_set(why, CODE_INVALID, "standard input's line with the %s is longer than %zu bytes", what, sizeof line - 2);
    else
        code = buf_add_text(out, line);
    mem_wipe(line, sizeof line);
    return code;
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

    if (guest != NULL) {
        *actor = guest->actor;
        return;
    }
    actor_of(getuid(), user != NULL ? user->pw_uid : login, actor);
    actor->opens_store = true;
}

void actor_name(char out[ACTOR_BYTES])
{
    struct actor actor;

    actor_find(&actor);
    memcpy(out, actor.name, ACTOR_BYTES);
}
