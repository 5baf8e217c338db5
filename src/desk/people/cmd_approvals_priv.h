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

/* Words of a call: what it is about; "40 s", "5 min", "3 h", "2 d". */
struct span cmd_approvals__subject(const struct store_approval *approval);
const char *cmd_approvals__age(int64_t since_us, int64_t now_us, char text[32]);
enum code cmd_approvals__print_json(struct db *db, const struct store_approval *approval, int64_t now_us);
/* Who approves it now, or approved it when it was decided. Without the store's word nobody does. */
void cmd_approvals__voices(struct db *db, const struct store_approval *approval, int64_t now_us, struct store_voices *voices);
/* Appends "1 of 2, by ann" where it needs several people. */
enum code cmd_approvals__add_people(struct db *db, const struct store_approval *approval, int64_t now_us, struct buf *out);

#endif
