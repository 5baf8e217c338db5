/* SPDX-License-Identifier: Apache-2.0 */
/* The sub-commands of `callgate policy`, one function each.
 *
 * Threads: main.
 * Owns: nothing.
 * Lifetime: static.
 * Errors: exit statuses; see args/command.h. */
#ifndef RULES_CMD_POLICY_PRIV_H
#define RULES_CMD_POLICY_PRIV_H

int cmd_policy__check(int argc, char **argv);
int cmd_policy__test(int argc, char **argv);
int cmd_policy__load(int argc, char **argv);
int cmd_policy__remove(int argc, char **argv);
int cmd_policy__activate(int argc, char **argv);
int cmd_policy__list(int argc, char **argv);
int cmd_policy__show(int argc, char **argv);
int cmd_policy__diff(int argc, char **argv);
int cmd_policy__explain(int argc, char **argv);
int cmd_policy__replay(int argc, char **argv);
int cmd_policy__learn(int argc, char **argv);

#endif
