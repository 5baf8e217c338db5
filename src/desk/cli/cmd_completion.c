/* SPDX-License-Identifier: Apache-2.0 */
/* callgate completion: what a shell completes behind `callgate`, out of the table of commands. */
#include "cli/commands.h"

#include <stdio.h>
#include <string.h>

/* Prints a text with something in front of each character of the set; `'` becomes what a shell takes for one in quotes. */
static void print_behind(const char *text, const char *set, const char *quote)
{
    for (; *text != '\0'; text++) {
        if (*text == '\'')
            print_safely(stdout, "%s", quote);
        else
            print_safely(stdout, "%s%c", strchr(set, *text) != NULL ? "\\" : "", *text);
    }
}

static bool names_file(const struct option *option)
{
    return option->type == OPTION_FILE || option->type == OPTION_FILES;
}

static bool takes_file(const struct usage *usage)
{
    const struct operand *operand = usage->operands;

    while (operand != NULL && operand->name != NULL && (operand->type == OPERAND_TEXT || operand->list != NULL))
        operand++;
    return operand != NULL && operand->name != NULL;
}

static void print_words(const struct option *option)
{
    for (const char *const *word = option->words; word != NULL && *word != NULL; word++)
        print_safely(stdout, "%s%s", word == option->words ? "" : " ", *word);
}

/* ---- bash ---- */

static const char bash_function[] =
    "\n_callgate()\n{\n"
    "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]} behind=1 from\n"
    "    COMPREPLY=()\n"
    "    if [[ $COMP_CWORD -gt 1 && -n ${_callgate_names[$command]-} ]]; then\n"
    "        [[ $COMP_CWORD -gt 2 ]] && command=\"$command ${COMP_WORDS[2]}\"\n"
    "        behind=2\n"
    "    fi\n"
    "    if [[ $COMP_CWORD -le $behind ]]; then\n"
    "        [[ $behind == 1 ]] && command=.\n"
    "        from=${_callgate_names[$command]-}\n"
    "    elif [[ -n ${_callgate_values[$command $before]+is} ]]; then\n"
    "        from=${_callgate_values[$command $before]}\n"
    "    elif [[ $word == -* ]]; then\n"
    "        from=${_callgate_options[$command]-}\n"
    "    else\n"
    "        from=${_callgate_operands[$command]-}\n"
    "    fi\n"
    "    if [[ $from == FILE ]]; then\n"
    "        compopt -o filenames 2>/dev/null\n"
    "        mapfile -t COMPREPLY < <(compgen -f -- \"$word\")\n"
    "    else\n"
    "        mapfile -t COMPREPLY < <(compgen -W \"$from\" -- \"$word\")\n"
    "    fi\n"
    "}\n"
    "complete -F _callgate callgate\n";

static void bash_names(const char *group)
{
    print_safely(stdout, "    [\"%s\"]=\"", group[0] != '\0' ? group : ".");
    for (const struct command *one = commands; one->words != NULL; one++)
        if (command_name_within(one, group) != NULL)
            print_safely(stdout, "%s ", command_name_within(one, group));
    printf("\"\n");
}

static void bash_values(const struct command *command)
{
    for (const struct option *option = command_usage(command)->options; option->name != NULL; option++) {
        if (option->takes == NULL)
            continue;
        print_safely(stdout, "    [\"%s --%s\"]=\"%s", command->words, option->name, names_file(option) ? "FILE" : "");
        print_words(option);
        printf("\"\n");
    }
}

static void bash_options(const struct command *command)
{
    print_safely(stdout, "    [\"%s\"]=\"", command->words);
    for (const struct option *option = command_usage(command)->options; option->name != NULL; option++)
        print_safely(stdout, "--%s ", option->name);
    printf("--help\"\n");
}

static void bash_operands(const struct command *command)
{
    if (takes_file(command_usage(command)))
        print_safely(stdout, "    [\"%s\"]=FILE\n", command->words);
}

static void each_command(const char *head, void (*print)(const struct command *command), const char *tail)
{
    print_lines(stdout, span_text(head));
    for (const struct command *one = commands; one->words != NULL; one++)
        if (one->run != NULL)
            print(one);
    print_lines(stdout, span_text(tail));
}

static void print_bash(void)
{
    printf("# bash completion of callgate\ndeclare -A _callgate_names=(\n");
    bash_names("");
    for (const struct command *one = commands; one->words != NULL; one++)
        if (one->run == NULL)
            bash_names(one->words);
    printf(")\n");
    each_command("declare -A _callgate_options=(\n", bash_options, ")\n");
    each_command("declare -A _callgate_values=(\n", bash_values, ")\n");
    each_command("declare -A _callgate_operands=(\n", bash_operands, ")\n");
    print_lines(stdout, span_text(bash_function));
}

/* ---- zsh ---- */

static void zsh_text(const char *text)
{
    print_behind(text, "[]:", "'\\''");
}

static void zsh_names(const char *group)
{
    for (const struct command *one = commands; one->words != NULL; one++) {
        const char *name = command_name_within(one, group);

        if (name == NULL)
            continue;
        print_safely(stdout, " '%s:", name);
        zsh_text(one->sentence);
        printf("'");
    }
}

static void zsh_option(const struct option *option)
{
    bool is_many = option->type == OPTION_LIST || option->type == OPTION_FILES;

    print_safely(stdout, " '%s--%s%s[", is_many ? "*" : "", option->name, option->takes != NULL ? "=" : "");
    zsh_text(option->help);
    printf("]");
    if (option->takes != NULL)
        print_safely(stdout, ":%s:%s", option->takes, names_file(option) ? "_files" : option->words != NULL ? "(" : "");
    print_words(option);
    print_safely(stdout, "%s'", option->words != NULL ? ")" : "");
}

static void zsh_command(const struct command *command)
{
    bool is_in_group = strchr(command->words, ' ') != NULL;

    print_safely(stdout, is_in_group ? "\"%s\") shift words; (( CURRENT-- )); " : "%s\\ *) ", command->words);
    printf("shift words; (( CURRENT-- )); _arguments");
    for (const struct option *option = command_usage(command)->options; option->name != NULL; option++)
        zsh_option(option);
    print_safely(stdout, " '--help[this text]'%s ;;\n", takes_file(command_usage(command)) ? " '*:FILE:_files'" : "");
}

static void print_zsh(void)
{
    printf("#compdef callgate\nlocal -a names\n(( CURRENT == 2 )) && { names=(");
    zsh_names("");
    printf("); _describe command names; return }\ncase $words[2] in\n");
    for (const struct command *one = commands; one->words != NULL; one++) {
        if (one->run != NULL)
            continue;
        print_safely(stdout, "%s) (( CURRENT == 3 )) && { names=(", one->words);
        zsh_names(one->words);
        printf("); _describe command names; return } ;;\n");
    }
    each_command("esac\ncase \"$words[2] $words[3]\" in\n", zsh_command, "esac\n");
}

/* ---- fish ---- */

static const char fish_functions[] =
    "# fish completion of callgate\n"
    "function __callgate_is\n"
    "    set -l words (commandline -opc)\n"
    "    set -l last (math (count $argv) + 1)\n"
    "    test (count $words) -ge $last; and test \"$words[2..$last]\" = \"$argv\"\n"
    "end\n"
    "function __callgate_is_at\n"
    "    set -l words (commandline -opc)\n"
    "    test (count $words) -eq (math (count $argv) + 1); and __callgate_is $argv\n"
    "end\n"
    "complete -c callgate -f\n";

static void fish_text(const char *text)
{
    printf(" -d '");
    print_behind(text, "\\", "\\'");
    printf("'\n");
}

static void fish_name(const struct command *command)
{
    const char *name = strchr(command->words, ' ');

    if (name == NULL)
        print_safely(stdout, "complete -c callgate -n __fish_use_subcommand -a %s", command->words);
    else
        print_safely(stdout, "complete -c callgate -n '__callgate_is_at %.*s' -a %s", (int)(name - command->words),
                     command->words, name + 1);
    fish_text(command->sentence);
}

static void fish_command(const struct command *command)
{
    for (const struct option *option = command_usage(command)->options; option->name != NULL; option++) {
        print_safely(stdout, "complete -c callgate -n '__callgate_is %s' -l %s%s", command->words, option->name,
                     option->takes == NULL ? "" : names_file(option) ? " -r -F" : " -x");
        if (option->words != NULL) {
            printf(" -a '");
            print_words(option);
            printf("'");
        }
        fish_text(option->help);
    }
    if (takes_file(command_usage(command)))
        print_safely(stdout, "complete -c callgate -n '__callgate_is %s' -F\n", command->words);
}

static void print_fish(void)
{
    print_lines(stdout, span_text(fish_functions));
    for (const struct command *one = commands; one->words != NULL; one++)
        fish_name(one);
    each_command("", fish_command, "");
}

int cmd_completion(const struct asked *asked)
{
    static const struct { const char *shell; void (*print)(void); } shells[] = {
        {"bash", print_bash}, {"zsh", print_zsh}, {"fish", print_fish},
    };
    const char *shell = asked->given.operands[0];

    for (size_t i = 0; i < sizeof shells / sizeof *shells; i++)
        if (strcmp(shells[i].shell, shell) == 0) {
            shells[i].print();
            return STATUS_DONE;
        }
    return complain(STATUS_USAGE, "there is no completion for \"%s\"; write bash, zsh or fish", shell);
}
