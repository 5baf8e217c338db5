/* SPDX-License-Identifier: Apache-2.0 */
/* 11.9, 7.9: the table of commands: what is found, guessed and helped with; and of every option of every command, what somebody
 * may give over the gate's socket. */
#include "cli/commands.h"

#include "fakes/audit_file.h"
#include "people/control.h"
#include "store/store.h"
#include "fakes/cm.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/wait.h>
#include <unistd.h>

#define SECONDS_MAX 20 /* of a command that should end at once */

static char said[16384];

/* Reads the words, split at blanks. What is said on both outputs goes to `said`. */
static int read_words(const char *line, const struct command **command)
{
    static struct asked asked;
    static char copy[256];
    static char *argv[32];
    int argc = 0, status, saved[2] = {dup(1), dup(2)};
    FILE *file = tmpfile();
    char *save = NULL;
    size_t len;

    snprintf(copy, sizeof copy, "%s", line);
    for (char *word = strtok_r(copy, " ", &save); word != NULL; word = strtok_r(NULL, " ", &save))
        argv[argc++] = word;
    argv[argc] = NULL;
    asked = (struct asked){.config = NULL};
    fflush(NULL);
    dup2(fileno(file), 1);
    dup2(fileno(file), 2);
    status = command_read(argc, argv, command, &asked);
    asked_end(&asked);
    fflush(NULL);
    for (int i = 0; i < 2; i++) {
        dup2(saved[i], i + 1);
        close(saved[i]);
    }
    rewind(file);
    len = fread(said, 1, sizeof said - 1, file);
    said[len] = '\0';
    fclose(file);
    return status;
}

static void expect(const char *line, int status, const char *part)
{
    const struct command *command = NULL;
    int got = read_words(line, &command);

    if (got != status || strstr(said, part) == NULL)
        fail_msg("%s: status %d, said %s", line, got, said);
}

TEST_CASE(commands_are_found_or_guessed)
{
    const struct command *command = NULL;

    assert_int_equal(read_words("key list --json", &command), OPTIONS_GO);
    assert_ptr_equal(command->run, cmd_key_list);
    assert_int_equal(read_words("version", &command), OPTIONS_GO);
    assert_ptr_equal(command->run, cmd_version);
    expect("key creat", STATUS_USAGE, "did you mean \"callgate key create\"?");
    expect("statsu", STATUS_USAGE, "did you mean \"callgate status\"?");
    expect("frobnicate", STATUS_USAGE, "`callgate help --all` lists them");
    expect("key frobnicate", STATUS_USAGE, "`callgate help key` lists them");
    expect("frobnicate --json", STATUS_USAGE, "{\"error\":");
    expect("", STATUS_USAGE, "usage: callgate COMMAND");
    expect("key", STATUS_USAGE, "usage: callgate key COMMAND");
}

TEST_CASE(help_is_given_of_what_is_named)
{
    expect("help --all", STATUS_DONE, "  key          keys of agents and people: create, list, revoke\n");
    expect("help", STATUS_DONE, "usage: callgate COMMAND");
    expect("help version", STATUS_DONE, "usage: callgate version");
    expect("help key", STATUS_DONE, "usage: callgate key COMMAND");
    expect("key --help", STATUS_DONE, "usage: callgate key COMMAND");
    expect("help key create", STATUS_DONE, "usage: callgate key create --principal NAME");
    expect("key help create", STATUS_DONE, "usage: callgate key create --principal NAME");
    expect("key create --help", STATUS_DONE, "usage: callgate key create --principal NAME");
    expect("help policy test", STATUS_DONE, "as one complete set. Exit status 1 where one\nfails.\n\n  --filter GLOB ");
    expect("help serve", STATUS_DONE, "usage: callgate serve");
    expect("help kez", STATUS_USAGE, "did you mean \"callgate key\"?");
    expect("help key frobnicate", STATUS_USAGE, "unknown command");
}

/* An example's words, as a shell parts them: quotes hold some together. Returns: how many. */
static int split(char *line, char **argv)
{
    int argc = 0;

    while (*line != '\0') {
        char end = *line == '\'' ? '\'' : ' ';

        argv[argc++] = line += end == '\'';
        line += strcspn(line, (char[]){end, '\0'});
        if (*line != '\0')
            *line++ = '\0';
        line += *line == ' ' && end == '\'';
    }
    argv[argc] = NULL;
    return argc;
}

/* 12.15: the first screen has eight commands at most, each with an example that can be typed. */
TEST_CASE(first_screen_is_short)
{
    size_t count = 0;

    for (const struct command *one = commands; one->words != NULL; one++) {
        const struct command *command;
        static struct asked asked;
        char line[128], *argv[32];

        if (one->example == NULL)
            continue;
        count++;
        expect("help", STATUS_DONE, one->example);
        snprintf(line, sizeof line, "%s", one->example);
        asked = (struct asked){.config = NULL};
        assert_int_equal(command_read(split(line, argv), argv, &command, &asked), OPTIONS_GO);
        assert_ptr_equal(command, one);
        asked_end(&asked);
    }
    assert_in_range(count, 1, 8);
    expect("help", STATUS_DONE, "callgate help --all");
    assert_null(strstr(said, "rotate-key"));
    expect("help --all", STATUS_DONE, "rotate-key");
}

static const struct option *option_of(const struct usage *usage, const char *name, size_t len)
{
    const struct option *option = usage->options;

    while (option->name != NULL && (strlen(option->name) != len || strncmp(option->name, name, len) != 0))
        option++;
    return option->name != NULL ? option : NULL;
}

/* 12.15: what was spelled otherwise is understood and is no name of something else; what is new is one of the command's. */
TEST_CASE(old_spellings_name_new_ones)
{
    static char typed[2][16];
    char *argv[] = {typed[0], typed[1], (char *)"--limit=2", NULL};
    const struct command *command;
    size_t options = 0;

    for (const struct spelling *one = commands_were; one->was != NULL; one++) {
        static struct asked asked;
        char line[64], *words[8], **now;
        int count, used;

        (void)sscanf(one->was, "%15s %15s", typed[0], typed[1]);
        command = command_find(2, argv, &used);
        assert_null(command);
        now = command_respell(3, argv, &count);
        snprintf(line, sizeof line, "%s", one->is);
        assert_int_equal(count, split(line, words) + 1);
        assert_string_equal(now[count - 1], argv[2]);
        assert_null(now[count]);
        asked = (struct asked){.config = NULL};
        assert_int_equal(command_read(count - 1, now + count + 1, &command, &asked), OPTIONS_GO);
        assert_true(asked.follow);
        asked_end(&asked);
        free(now);
    }
    for (command = commands; command->words != NULL; command++) {
        const struct usage *usage = command_usage(command);

        for (const struct spelling *one = usage->was; one != NULL && one->was != NULL; one++, options++) {
            const struct option *is = option_of(usage, one->is, strcspn(one->is, "="));

            if (option_of(usage, one->was, strlen(one->was)) != NULL || is == NULL)
                fail_msg("%s: --%s is %s now", command->words, one->was, one->is);
            assert_true(one->is[strcspn(one->is, "=")] == '\0' || is->type != OPTION_FLAG);
        }
    }
    assert_true(options > 10);
    expect("policy check --sarif --json x", STATUS_USAGE, "`--sarif` is `--format=sarif` now");
    expect("policy check --sarif --json x", STATUS_USAGE, "--json and --format sarif exclude each other");
    expect("audit stats --by=tool --per tool", STATUS_USAGE, "--per is given twice");
    expect("login --key --key-file x", STATUS_USAGE, "--key-file is given twice");
}

/* ---- 12.15: conventions, as src/desk/README.md has them ---- */

/* What prints something for another program, or nothing. */
static const char *const answer_nobody[] = {"serve", "pipe", "hook", "audit open", "audit prove", "plan sign", "logout", "telemetry",
                                            "completion", NULL};
/* By what nothing is let through and nothing is taken away. */
static const char *const need_no_reason[] = {"init", "tools fetch", "audit archive", "connect begin", "connect finish",
                                             "connect rekey", NULL};

static bool is_among(const char *command, const char *const *list)
{
    while (*list != NULL && strcmp(*list, command) != 0)
        list++;
    return *list != NULL;
}

static bool is_same(const struct option *a, const struct option *b, bool is_one_struct)
{
    return a->type == b->type && (a->takes == NULL) == (b->takes == NULL) &&
           (a->takes == NULL || strcmp(a->takes, b->takes) == 0) && a->usual == b->usual && a->least == b->least &&
           (!is_one_struct || a->at == b->at);
}

/* A name is one thing: of one type, with one default, in one member of what was asked, and that has no other name. */
TEST_CASE(a_name_is_one_thing)
{
    for (const struct command *one = commands; one->words != NULL; one++)
        for (const struct option *option = one->run != NULL ? command_usage(one)->options : NULL;
             option != NULL && option->name != NULL; option++)
            for (const struct command *other = one + 1; other->words != NULL; other++) {
                const bool is_one_struct = one->of_another == NULL && other->of_another == NULL;
                const struct usage *usage = command_usage(other);

                for (const struct option *it = other->run != NULL ? usage->options : NULL; it != NULL && it->name != NULL; it++) {
                    if (strcmp(it->name, option->name) == 0 && !is_same(option, it, is_one_struct))
                        fail_msg("--%s of %s is another thing than that of %s", it->name, one->words, other->words);
                    if (strcmp(it->name, option->name) != 0 && is_one_struct && it->at == option->at)
                        fail_msg("--%s of %s is called --%s by %s", option->name, one->words, it->name, other->words);
                }
            }
}

/* Whatever answers does so as JSON, whatever changes something takes the reason, and what goes on despite something needs it. */
TEST_CASE(commands_take_what_all_take)
{
    for (const struct command *one = commands; one->words != NULL; one++) {
        const struct usage *usage = command_usage(one);
        const struct option *why;

        if (one->run == NULL)
            continue;
        why = option_of(usage, "why", 3);
        if ((option_of(usage, "json", 4) == NULL) != is_among(one->words, answer_nobody))
            fail_msg("%s: --json", one->words);
        if ((one->writes && why == NULL && !is_among(one->words, need_no_reason)) || (why != NULL && why->type != OPTION_LINE))
            fail_msg("%s changes something and takes no line --why", one->words);
        for (const struct option *option = usage->options; option->name != NULL; option++) {
            if (strncmp(option->name, "despite-", 8) == 0 && (option->type != OPTION_FLAG || why == NULL))
                fail_msg("%s --%s needs a --why", one->words, option->name);
            if (option->type == OPTION_DURATION)
                assert_string_equal(option->takes, "DURATION");
            if (option->type == OPTION_TIME)
                assert_string_equal(option->takes, "TIME");
        }
        for (const struct operand *operand = usage->operands; operand != NULL && operand->name != NULL; operand++)
            assert_int_equal(strcspn(operand->name, "abcdefghijklmnopqrstuvwxyz "), strlen(operand->name));
    }
}

/* 12.15: each shell's script names each command and option; what shells make of it is asked in 03-installed. */
TEST_CASE(completions_name_everything)
{
    const struct command *command;
    static struct asked asked;

    expect("completion", STATUS_USAGE, "usage: callgate completion bash|zsh|fish");
    for (const char *const *shell = (const char *const[]){"bash", "zsh", "fish", NULL}; *shell != NULL; shell++) {
        char script[1 << 17], words[2][16] = {"completion"}, *argv[] = {words[0], words[1], NULL};
        FILE *file = tmpfile();
        int saved = dup(1);
        size_t len;

        snprintf(words[1], sizeof words[1], "%s", *shell);
        asked = (struct asked){.config = NULL};
        assert_int_equal(command_read(2, argv, &command, &asked), OPTIONS_GO);
        fflush(NULL);
        dup2(fileno(file), 1);
        assert_int_equal(command->run(&asked), STATUS_DONE);
        asked_end(&asked);
        fflush(NULL);
        dup2(saved, 1);
        close(saved);
        rewind(file);
        len = fread(script, 1, sizeof script - 1, file);
        script[len] = '\0';
        fclose(file);
        assert_true(len > 1000 && len < sizeof script - 1);
        for (const struct command *one = commands; one->words != NULL; one++) {
            const char *name = strchr(one->words, ' ');

            assert_non_null(strstr(script, name != NULL ? name + 1 : one->words));
            for (const struct option *option = one->run != NULL ? command_usage(one)->options : NULL;
                 option != NULL && option->name != NULL; option++)
                assert_non_null(strstr(script, option->name));
        }
    }
    asked = (struct asked){.given = {.operands = (char *[]){(char[]){"tcsh"}}, .count = 1}};
    assert_int_equal(cmd_completion(&asked), STATUS_USAGE);
}

/* ---- 11.9: what a guest may name ---- */

static char folder[64], trap[96], config[96];
static struct audit_file audit;

static enum code read_nothing(const char *path, size_t max_bytes, struct buf *out, struct why *why)
{
    (void)path;
    (void)max_bytes;
    return buf_add_text(out, "policy: a\n") == CODE_OK ? CODE_OK : why_set(why, CODE_NOMEM, "no memory");
}

static int make_folder(void **state)
{
    static struct why why;
    struct audit *writer;
    struct db *store;
    char path[96];
    FILE *file;

    (void)state;
    snprintf(folder, sizeof folder, "/tmp/callgate-test-XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(trap, sizeof trap, "%s/trap", folder);
    snprintf(config, sizeof config, "%s/callgate.yaml", folder);
    snprintf(path, sizeof path, "%s/callgate.db", folder);
    assert_int_equal(store_open(path, DB_CREATE, &store, &why), CODE_OK);
    db_close(&store);
    audit_file_init(&audit);
    writer = audit_file_open(&audit, 1);
    (void)audit_file_call(audit_ring(writer, 0), "acme", "c-1");
    audit_close(&writer);
    file = fopen(trap, "w");
    assert_non_null(file);
    fclose(file);
    file = fopen(config, "w");
    assert_non_null(file);
    fprintf(file, "store: callgate.db\naudit: {database: '%s'}\n", audit.path);
    fclose(file);
    return setenv("CALLGATE_CONFIG", config, 1);
}

static int remove_folder(void **state)
{
    static const char *const names[] = {"trap", "callgate.yaml", "callgate.db", "callgate.db-wal", "callgate.db-shm"};
    char path[128];

    (void)state;
    audit_file_fini(&audit);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        (void)unlink(path);
    }
    return rmdir(folder);
}

/* A command with all that it needs, and one option, as a guest gives it; nobody reads what it prints. Returns: as waitpid. */
static int give(const struct command *command, const struct option *given, const char *value)
{
    static const struct command_guest guest = {.actor = {.name = "ada"}, .read = read_nothing};
    static char words[16][256];
    pid_t pid = fork();
    int status = 0;

    assert_true(pid >= 0);
    if (pid == 0) {
        static struct asked asked;
        int ends[2], argc = 0, null = open("/dev/null", O_RDWR);
        char *argv[17];

        (void)alarm(SECONDS_MAX);
        (void)signal(SIGPIPE, SIG_IGN);
        if (pipe(ends) != 0 || close(ends[0]) != 0 || dup2(ends[1], 1) < 0 || dup2(null, 2) < 0)
            _exit(99);
        for (const struct operand *one = command->usage.operands; one != NULL && one->name != NULL && !one->may_lack; one++)
            snprintf(words[argc++], sizeof words[0], "1");
        for (const struct option *one = command->usage.options; one->name != NULL; one++)
            if (one->must != NULL && one != given)
                snprintf(words[argc++], sizeof words[0], "--%s=x", one->name);
        snprintf(words[argc++], sizeof words[0], "--%s%s%s", given->name, value != NULL ? "=" : "", value != NULL ? value : "");
        for (int i = 0; i < argc; i++)
            argv[i] = words[i];
        argv[argc] = NULL;
        command_serve(&guest);
        status = command_ask(command, argc, argv, &asked);
        if (status == OPTIONS_GO)
            status = command->run(&asked);
        _exit(status);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static bool was_touched(int watch)
{
    char events[4096];

    return read(watch, events, sizeof events) > 0;
}

/* What takes words is given the path of a file: it is opened, and made, by no command that somebody may give over the socket.
 * What takes a file is refused to him before anything is done. */
TEST_CASE_WITH(no_option_of_a_guest_opens_a_file, make_folder, remove_folder)
{
    int watch = inotify_init1(IN_NONBLOCK), commands_tried = 0, words = 0, files = 0;
    char missing[128];

    snprintf(missing, sizeof missing, "%s/other", folder);
    assert_true(inotify_add_watch(watch, trap, IN_OPEN) >= 0);
    for (const struct command *command = commands; command->words != NULL; command++) {
        commands_tried += command->roles != 0;
        for (const struct option *option = command->usage.options; command->roles != 0 && option->name != NULL; option++) {
            bool is_file = option->type == OPTION_FILE || option->type == OPTION_FILES;
            int status = give(command, option, option->type != OPTION_FLAG ? trap : NULL);

            if (!WIFEXITED(status) || (is_file && WEXITSTATUS(status) != STATUS_USAGE))
                fail_msg("%s --%s: %x", command->words, option->name, (unsigned)status);
            if (was_touched(watch))
                fail_msg("%s --%s is given by guests, and opened %s", command->words, option->name, trap);
            if (option->type != OPTION_FLAG && option->type != OPTION_FILE)
                (void)give(command, option, missing);
            if (access(missing, F_OK) == 0)
                fail_msg("%s --%s is given by guests, and made %s", command->words, option->name, missing);
            files += is_file;
            words += !is_file;
        }
    }
    assert_true(commands_tried >= 24);
    assert_true(words > 150 && files > 40);
    close(watch);
}

/* The same trap does catch what is no guest's: else nothing above means anything. */
TEST_CASE_WITH(the_trap_catches, make_folder, remove_folder)
{
    int watch = inotify_init1(IN_NONBLOCK);
    const struct command *command = NULL;
    static struct asked asked;
    char word[128], *argv[] = {(char *)"policy", (char *)"check", word, NULL};

    snprintf(word, sizeof word, "--config=%s", trap);
    assert_true(inotify_add_watch(watch, trap, IN_OPEN) >= 0);
    argv[1] = (char *)"list";
    assert_int_equal(command_read(3, argv, &command, &asked), OPTIONS_GO);
    assert_int_not_equal(command->run(&asked), STATUS_DONE);
    asked_end(&asked);
    assert_true(was_touched(watch));
    close(watch);
}

/* 11.9: whether a command is to be given over the socket, its store and its trail are said by one reading of the configuration. */
TEST_CASE_WITH(the_configuration_is_read_once, make_folder, remove_folder)
{
    static const char *const lines[] = {"key list", "audit query", "policy list", "audit stats"};

    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        static struct asked asked;
        char copy[32], *argv[3] = {copy, NULL, NULL}, events[4096];
        const struct command *command = NULL;
        int watch = inotify_init1(IN_NONBLOCK), null = open("/dev/null", O_WRONLY), out = dup(STDOUT_FILENO);
        ssize_t got;

        snprintf(copy, sizeof copy, "%s", lines[i]);
        argv[1] = strchr(copy, ' ') + 1;
        argv[1][-1] = '\0';
        assert_true(inotify_add_watch(watch, config, IN_OPEN | IN_CLOSE) >= 0);
        asked = (struct asked){.config = NULL};
        assert_int_equal(command_read(2, argv, &command, &asked), OPTIONS_GO);
        assert_int_equal(control_ask(command, &asked), OPTIONS_GO);
        fflush(stdout);
        dup2(null, STDOUT_FILENO);
        assert_int_equal(command->run(&asked), STATUS_DONE);
        fflush(stdout);
        dup2(out, STDOUT_FILENO);
        got = read(watch, events, sizeof events);
        assert_int_equal(got, 2 * (ssize_t)sizeof(struct inotify_event)); /* opened and closed: equal ones in a row would be one */
        asked_end(&asked);
        close(watch);
        close(null);
        close(out);
    }
}

/* A database that somebody names is opened where the gate is, and so is no guest's, whatever stands before it. */
TEST_CASE(no_operand_of_a_guest_is_a_file_of_the_gates)
{
    static const struct command_guest guest = {.actor = {.name = "ada"}, .read = read_nothing};

    command_serve(&guest);
    expect("audit query /tmp/other.db", STATUS_USAGE, "\"/tmp/other.db\" is too much");
    expect("audit show 1 /tmp/other.db", STATUS_USAGE, "\"/tmp/other.db\" is too much");
    command_serve(NULL);
    for (const struct command *command = commands; command->words != NULL; command++)
        for (const struct operand *one = command->usage.operands; one != NULL && one->name != NULL; one++)
            if (command->roles != 0 && one->type == OPERAND_FILE && !one->may_lack)
                fail_msg("%s cannot be given over the socket: it needs the file %s there", command->words, one->name);
}

TEST_MAIN(NULL, NULL)
