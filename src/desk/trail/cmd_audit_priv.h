/* SPDX-License-Identifier: Apache-2.0 */
/* The sub-commands of `callgate audit`, one function each.
 *
 * Threads: main.
 * Owns: nothing.
 * Lifetime: static.
 * Errors: exit statuses; see args/command.h. */
#ifndef TRAIL_CMD_AUDIT_PRIV_H
#define TRAIL_CMD_AUDIT_PRIV_H

#include "cli/trail_place.h"

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
