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
#include "policy/policy.h"
#include "store/store_approvals.h"

/* --decision N or the operands, as numbers of approvals. */
#define APPROVALS_MEANT_MAX 256
struct approvals_meant {
    int64_t id[APPROVALS_MEANT_MAX];
    size_t count;
};

/* Returns: OPTIONS_GO, or an exit status after a word on stderr. */
int cmd_approvals__find(struct db *db, const struct asked *asked, struct approvals_meant *meant);

/* Appends by what the rule holds the call, in a sentence; nothing where that cannot be known. */
void cmd_approvals__gist(const struct policy *policy, const struct store_approval *approval, struct buf *out);

/* All that is known of it; NULL: there is no memory. */
struct doc *cmd_approvals__doc(struct db *db, const struct store_approval *approval, int64_t now_us);

#endif
