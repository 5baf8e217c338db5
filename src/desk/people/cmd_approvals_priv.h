/* SPDX-License-Identifier: Apache-2.0 */
/* The sub-commands of `callgate approvals`, and how they find what is meant.
 *
 * Threads: main.
 * Owns: nothing.
 * Lifetime: static.
 * Errors: exit statuses. */
#ifndef PEOPLE_CMD_APPROVALS_PRIV_H
#define PEOPLE_CMD_APPROVALS_PRIV_H

#include "cli/commands.h"
#include "store/store_approvals.h"

/* --decision N or the operands, as numbers of approvals. */
#define APPROVALS_MEANT_MAX 256
struct approvals_meant {
    int64_t id[APPROVALS_MEANT_MAX];
    size_t count;
};

/* Returns: OPTIONS_GO, or an exit status after a word on stderr. */
int cmd_approvals__find(struct db *db, const struct asked *asked, struct approvals_meant *meant);

/* All that is known of it; NULL: there is no memory. */
struct doc *cmd_approvals__doc(struct db *db, const struct store_approval *approval, int64_t now_us);

#endif
