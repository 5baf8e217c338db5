/* SPDX-License-Identifier: Apache-2.0 */
/* The commands, one a file, as main.c lists them, and where a command finds the store.
 *
 * Threads: main.
 * Owns: nothing.
 * Lifetime: static.
 * Errors: exit statuses; see args/command.h. */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include "args/command.h"
#include "db/db.h"

extern const struct command cmd_init;
extern const struct command cmd_serve;
extern const struct command cmd_pipe;
extern const struct command cmd_status;
extern const struct command cmd_policy;
extern const struct command cmd_approvals;
extern const struct command cmd_tools;
extern const struct command cmd_key;
extern const struct command cmd_plan;
extern const struct command cmd_identity;
extern const struct command cmd_audit;
extern const struct command cmd_backup;
extern const struct command cmd_restore;
extern const struct command cmd_login;
extern const struct command cmd_logout;
extern const struct command cmd_version;

/* `--config` and `--store` as they were given; both may be NULL: see conf_find. */
struct store_place {
    const char *config;
    const char *store;
};

/* The options that fill it. */
#define STORE_OPTIONS(where)         \
    CONFIG_OPTION(&(where)->config), \
    {.name = "store", .takes = "FILE", .help = "the store itself, without a configuration", .value = &(where)->store}

/* Opens the store that a command means. */
enum code store_find(const struct store_place *place, enum db_mode mode, struct db **db, struct why *why) MUST_USE;

#endif
