/* SPDX-License-Identifier: Apache-2.0 */
/* The commands: one table, from which help, completions, the manual page and the list of what is given over the gate's socket
 * are made. A command is a line of it, and a function.
 *
 * Threads: main.
 * Owns: nothing.
 * Lifetime: static.
 * Errors: exit statuses; see args/command.h. */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include "cli/asked.h"

typedef int command_fn(const struct asked *asked);

struct command {
    const char *words;      /* "key create"; a word alone may be a group, of the lines that follow */
    const char *sentence;   /* for lists */
    const char *example;    /* behind `callgate`: it stands on the first screen of help, with few others; else NULL */
    command_fn *run;        /* NULL: a group */
    unsigned roles;         /* PEOPLE_BIT of each that may give it over the gate's socket; 0: nobody */
    bool writes;            /* the store, or what the gate has */
    bool lasts;             /* as long as the person looks on */
    bool is_of_audit;       /* it reads the audit, and not the store */
    bool shows_held;        /* it shows arguments that wait for a person */
    struct usage usage;
    const struct usage *of_another; /* its words are another program's, which reads them itself; else NULL */
};

/* Ends with words == NULL. */
extern const struct command commands[];

/* Of commands that are written otherwise now; ends with was == NULL. */
extern const struct spelling commands_were[];

const struct usage *command_usage(const struct command *command);

/* The last word of its name, where what stands before is the group; NULL: it is none of that group. Takes: group: "" of all. */
const char *command_name_within(const struct command *command, const char *group);

/* The words as they are spelled now, and once more behind their NULL, to be read, which moves them. Returns: the caller's
 * (mem_free), with *count; or NULL. */
char **command_respell(int argc, char **argv, int *count);

/* The command that the words begin with. Returns: NULL where none is; *used: how many words are its name. */
const struct command *command_find(int argc, char *const *argv, int *used);

/* Reads the words behind its name; asked_end is the caller's. Returns: OPTIONS_GO, or the exit status after help or a fault
 * that was told. */
int command_ask(const struct command *command, int argc, char **argv, struct asked *asked);

/* Reads the words, which are a command and what it is asked. Returns: OPTIONS_GO with *command, or the exit status as
 * above. */
int command_read(int argc, char **argv, const struct command **command, struct asked *asked);

/* All of the table as one JSON document, for whatever makes something of it. Returns: an exit status. */
int commands_print(void);

extern command_fn cmd_init, cmd_serve, cmd_pipe, cmd_hook, cmd_init_client, cmd_init_registry, cmd_upgrade, cmd_status,
    cmd_backup, cmd_restore, cmd_login, cmd_logout,
    cmd_console, cmd_telemetry, cmd_completion, cmd_version;
extern command_fn cmd_policy_check, cmd_policy_fmt, cmd_policy_test, cmd_policy_load, cmd_policy_remove, cmd_policy_activate,
    cmd_policy_list, cmd_policy_show, cmd_policy_diff, cmd_policy_explain, cmd_policy_replay, cmd_policy_learn,
    cmd_policy_import, cmd_policy_access;
extern command_fn cmd_approvals_list, cmd_approvals_show, cmd_approvals_approve, cmd_approvals_refuse;
extern command_fn cmd_tools_list, cmd_tools_show, cmd_tools_diff, cmd_tools_fetch, cmd_tools_accept, cmd_tools_withdraw;
extern command_fn cmd_fleet_init, cmd_fleet_join, cmd_fleet_leave, cmd_fleet_rejoin, cmd_fleet_upgrade, cmd_fleet_status;
extern command_fn cmd_connect_begin, cmd_connect_finish, cmd_connect_list, cmd_connect_revoke, cmd_connect_rekey;
extern command_fn cmd_stop, cmd_resume, cmd_stops;
extern command_fn cmd_key_create, cmd_key_list, cmd_key_revoke, cmd_plan_sign, cmd_plan_check, cmd_identity_explain;
extern command_fn cmd_audit_query, cmd_audit_show, cmd_audit_stats, cmd_audit_open, cmd_audit_export,
    cmd_audit_verify, cmd_audit_prove, cmd_audit_files, cmd_audit_archive, cmd_audit_rotate_key, cmd_audit_retire,
    cmd_audit_hold, cmd_audit_release, cmd_audit_holds, cmd_audit_erase, cmd_audit_evidence;

#endif
