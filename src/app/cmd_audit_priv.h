/* SPDX-License-Identifier: Apache-2.0 */
/* The sub-commands of `callgate audit`, one function each.
 *
 * Threads: main.
 * Owns: nothing.
 * Lifetime: static.
 * Errors: exit statuses; see app/command.h. */
#ifndef APP_CMD_AUDIT_PRIV_H
#define APP_CMD_AUDIT_PRIV_H

#include "audit/trail.h"

/* The database that a command means: its operand, or the configuration's. Returns: OPTIONS_GO with *path, which is the
 * caller's (mem_free), or the exit status. */
int cmd_audit__find(const char *operand, const char *config, char **path);

/* Says on stderr which rows of the trail are missing, but for those before number `from`: they were given away on purpose.
 * Returns: STATUS_DONE, or STATUS_NEGATIVE where something is missing. */
int cmd_audit__tell_missing(const struct trail *trail, uint64_t from);
#define AUDIT_FROM_OPTION(row) \
    {.name = "from", .takes = "N", .help = "rows before number N were given away, and may be missing", .number = row, \
     .least = 1}

/* The worse of two: broken or unreadable files before what is only not vouched for. */
int cmd_audit__worse(int one, int other);

/* What ended a command. Returns: an exit status. */
int cmd_audit__complain(enum code code, const struct why *why);

/* The rows of a time of all files of the trail, as one database, which has its name once it is whole and takes nobody's place.
 * Returns: an exit status. */
int cmd_audit__merge(const char *path, const char *out, int64_t since_us, int64_t until_us, uint64_t from);

int cmd_audit__archive(int argc, char **argv);
int cmd_audit__erase(int argc, char **argv);
int cmd_audit__export(int argc, char **argv);
int cmd_audit__open(int argc, char **argv);
int cmd_audit__query(int argc, char **argv);
int cmd_audit__show(int argc, char **argv);
int cmd_audit__stats(int argc, char **argv);
int cmd_audit__tail(int argc, char **argv);
int cmd_audit__verify(int argc, char **argv);
int cmd_audit__prove(int argc, char **argv);
int cmd_audit__rotate_key(int argc, char **argv);

#endif
