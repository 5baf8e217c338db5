/* SPDX-License-Identifier: Apache-2.0 */
/* The sub-commands of `callgate audit`, one function each.
 *
 * Threads: main.
 * Owns: nothing.
 * Lifetime: static.
 * Errors: exit statuses; see app/command.h. */
#ifndef APP_CMD_AUDIT_PRIV_H
#define APP_CMD_AUDIT_PRIV_H

/* The database that a command means: its operand, or the configuration's. Returns: OPTIONS_GO with *path, which is the
 * caller's (mem_free), or the exit status. */
int cmd_audit__find(const char *operand, const char *config, char **path);

int cmd_audit__query(int argc, char **argv);
int cmd_audit__verify(int argc, char **argv);

#endif
