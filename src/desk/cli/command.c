/* SPDX-License-Identifier: Apache-2.0 */
/* What is made of the table of commands: the command that words mean, help, and the table itself as JSON. */
#include "cli/progress.h"
#include "cli/commands.h"

#include "args/print.h"
#include "base/mem.h"

#include <stdio.h>
#include <string.h>

/* ---- old spellings ---- */

const struct spelling commands_were[] = {
    {"approvals watch", "approvals list --follow"}, {"audit tail", "audit query --follow"}, {NULL, NULL},
};

#define WORDS_MAX 64

const struct usage *command_usage(const struct command *command)
{
    return command->of_another != NULL ? command->of_another : &command->usage;
}

const char *command_name_within(const struct command *command, const char *group)
{
    size_t len = strlen(group);
    const char *name = command->words;

    if (len > 0 && (strncmp(name, group, len) != 0 || name[len] != ' '))
        return NULL;
    name += len > 0 ? len + 1 : 0;
    return strchr(name, ' ') == NULL ? name : NULL;
}

static const struct command *find_within(const char *group, const char *word)
{
    for (const struct command *command = commands; command->words != NULL; command++) {
        const char *name = command_name_within(command, group);

        if (name != NULL && strcmp(name, word) == 0)
            return command;
    }
    return NULL;
}

const struct command *command_find(int argc, char *const *argv, int *used)
{
    const struct command *command = argc > 0 ? find_within("", argv[0]) : NULL;

    *used = command != NULL ? 1 : 0;
    if (command == NULL || command->run != NULL)
        return command;
    command = argc > 1 ? find_within(command->words, argv[1]) : NULL;
    *used = command != NULL ? 2 : 1;
    return command;
}

char **command_respell(int argc, char **argv, int *count)
{
    static char now[64];
    const struct spelling *one = commands_were;
    char was[64] = "", *rest = NULL, **words;

    if (argc > 1)
        (void)snprintf(was, sizeof was, "%s %s", argv[0], argv[1]);
    while (one->was != NULL && strcmp(one->was, was) != 0)
        one++;
    words = mem_array(2 * ((size_t)argc + sizeof now), sizeof *words);
    *count = 0;
    if (words != NULL && one->was != NULL) {
        spelling_tell(one, "");
        (void)snprintf(now, sizeof now, "%s", one->is);
        for (char *word = strtok_r(now, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest))
            words[(*count)++] = word;
    }
    for (int i = one->was != NULL ? 2 : 0; words != NULL && i < argc; i++)
        words[(*count)++] = argv[i];
    if (words != NULL)
        memcpy(words + *count + 1, words, (size_t)*count * sizeof *words);
    return words;
}

/* ---- help ---- */

static void print_names(FILE *out, const char *group)
{
    const char *before = ": ";

    for (const struct command *command = commands; command->words != NULL; command++) {
        const char *name = command_name_within(command, group);

        if (name != NULL)
            print_safely(out, "%s%s", before, name);
        before = name != NULL ? ", " : before;
    }
}

static void print_group(FILE *out, const char *group)
{
    char path[64];

    (void)snprintf(path, sizeof path, "callgate%s%s", group[0] != '\0' ? " " : "", group);
    print_safely(out, "usage: %s COMMAND [OPTIONS]\n\n", path);
    for (const struct command *command = commands; command->words != NULL; command++) {
        const char *name = command_name_within(command, group);

        if (name == NULL)
            continue;
        print_safely(out, "  %-12s %s", name, command->sentence);
        if (command->run == NULL)
            print_names(out, command->words);
        putc('\n', out);
    }
    print_safely(out, "\n`%s COMMAND --help` says more.\n", path);
}

/* What most people come for, each with an example. */
static void print_first(FILE *out)
{
    print_safely(out, "usage: callgate COMMAND [OPTIONS]\n\n");
    for (const struct command *command = commands; command->words != NULL; command++)
        if (command->example != NULL)
            print_safely(out, "  %-18s %s\n%21scallgate %s\n", command->words, command->sentence, "", command->example);
    print_safely(out, "\n`callgate help --all` lists every command, `callgate help COMMAND` says more of one.\n");
}

static int complain_unknown(const char *group, const char *word)
{
    const char *words[WORDS_MAX + 1], *near, *blank = group[0] != '\0' ? " " : "";
    size_t count = 0;

    for (const struct command *command = commands; command->words != NULL && count < WORDS_MAX; command++)
        if ((words[count] = command_name_within(command, group)) != NULL)
            count++;
    words[count] = NULL;
    near = why_nearest(word, strlen(word), words);
    if (near != NULL)
        return complain(STATUS_USAGE, "unknown command \"%s\"; did you mean \"callgate %s%s%s\"?", word, group, blank, near);
    return complain(STATUS_USAGE, "unknown command \"%s\"; `callgate help %s` lists them", word,
                    group[0] != '\0' ? group : "--all");
}

static bool is_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0;
}

/* `help policy check`, `policy help check` and `policy check --help` say the same. */
static bool take_help(int *argc, char **argv, int at)
{
    if (at >= *argc || !is_help(argv[at]))
        return false;
    memmove(&argv[at], &argv[at + 1], (size_t)(*argc - at) * sizeof *argv); /* with the NULL behind the last */
    (*argc)--;
    return true;
}

int command_ask(const struct command *command, int argc, char **argv, struct asked *asked)
{
    if (command->of_another == NULL) {
        int status = options_read(&command->usage, argc, argv, &asked->given);

        asked->file = conf_file_new(asked->config);
        if (asked->file == NULL)
            return complain(STATUS_CANNOT, "not enough memory");
        progress_as_json(asked->progress);
        if (status != OPTIONS_GO || asked->format == NULL)
            return status;
        if (asked->json && strcmp(asked->format, "json") != 0)
            return complain(STATUS_USAGE, "--json and --format %s exclude each other; name one", asked->format);
        asked->json = strcmp(asked->format, "json") == 0;
        return OPTIONS_GO;
    }
    asked->given = (struct given){.operands = argv, .count = argc};
    return OPTIONS_GO;
}

int command_read(int argc, char **argv, const struct command **command, struct asked *asked)
{
    bool helps = take_help(&argc, argv, 0);
    const char *group = "";
    int used;

    failures_as_asked(argc, argv);
    if (helps && argc == 1 && strcmp(argv[0], "--json") == 0)
        return commands_print();
    if (helps && argc == 1 && strcmp(argv[0], "--all") == 0) {
        print_group(stdout, "");
        return STATUS_DONE;
    }
    *command = command_find(argc, argv, &used);
    if (*command == NULL && used == 1) {
        group = argv[0];
        helps = take_help(&argc, argv, 1) || helps;
        *command = command_find(argc, argv, &used);
    }
    if (*command == NULL && used < argc)
        return complain_unknown(group, argv[used]);
    if (*command == NULL) {
        FILE *out = helps ? stdout : stderr;

        if (group[0] == '\0')
            print_first(out);
        else
            print_group(out, group);
        return helps ? STATUS_DONE : STATUS_USAGE;
    }
    if (helps) {
        usage_print(command_usage(*command));
        return STATUS_DONE;
    }
    return command_ask(*command, argc - used, argv + used, asked);
}

/* ---- the table as a document ---- */

static void fill_operands(struct doc *list, const struct usage *usage)
{
    static const char *const types[] = {[OPERAND_TEXT] = "text", [OPERAND_NUMBER] = "number",
                                        [OPERAND_CONTENT] = "content", [OPERAND_FILE] = "file"};

    for (const struct operand *operand = usage->operands; operand != NULL && operand->name != NULL; operand++) {
        struct doc *one = doc_add_object(list, NULL);

        doc_text(one, "name", span_text(operand->name));
        doc_text(one, "type", span_text(types[operand->type]));
        doc_bool(one, "may_lack", operand->may_lack);
        doc_bool(one, "many", operand->is_many);
    }
}

static void fill_options(struct doc *list, const struct usage *usage)
{
    static const char *const types[OPTION_TYPES] = {
        [OPTION_FLAG] = "flag", [OPTION_TEXT] = "text", [OPTION_LINE] = "line", [OPTION_WORD] = "word",
        [OPTION_NUMBER] = "number", [OPTION_TIME] = "time", [OPTION_DURATION] = "duration", [OPTION_LIST] = "list",
        [OPTION_FILE] = "file", [OPTION_FILES] = "files",
    };

    for (const struct option *option = usage->options; option->name != NULL; option++) {
        struct doc *one = doc_add_object(list, NULL), *words;

        doc_text(one, "name", span_text(option->name));
        doc_text(one, "type", span_text(types[option->type]));
        doc_text_or_null(one, "takes", span_text(option->takes));
        doc_text(one, "help", span_text(option->help));
        doc_bool(one, "must", option->must != NULL);
        doc_bool(one, "for_guests", option_is_guests(option));
        words = option->words != NULL ? doc_add_array(one, "words") : NULL;
        for (const char *const *word = option->words; word != NULL && *word != NULL; word++)
            doc_text(words, NULL, span_text(*word));
    }
}

static void fill_command(struct doc *doc, const struct command *command)
{
    const struct usage *usage = command_usage(command);
    char synopsis[512], whole[640];
    struct doc *roles;

    doc_text(doc, "command", span_text(command->words));
    doc_text(doc, "sentence", span_text(command->sentence));
    if (command->run == NULL)
        return;
    usage_synopsis(usage, synopsis, sizeof synopsis);
    (void)snprintf(whole, sizeof whole, "%s%s", usage->path, synopsis);
    doc_text(doc, "usage", span_text(whole));
    doc_text(doc, "about", span_text(usage->about));
    fill_operands(doc_add_array(doc, "operands"), usage);
    fill_options(doc_add_array(doc, "options"), usage);
    roles = doc_add_array(doc, "roles");
    for (int role = 0; role < PEOPLE_ROLES; role++)
        if ((command->roles & PEOPLE_BIT(role)) != 0)
            doc_text(roles, NULL, people_role_names[role]);
    doc_bool(doc, "writes", command->writes);
    doc_bool(doc, "lasts", command->lasts);
}

int commands_print(void)
{
    struct doc *doc = doc_object(), *list = doc_add_array(doc, "commands");

    for (const struct command *command = commands; command->words != NULL; command++)
        fill_command(doc_add_object(list, NULL), command);
    return print_doc(&doc);
}
