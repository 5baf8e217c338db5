/* SPDX-License-Identifier: Apache-2.0 */
/* The sub-commands of `callgate tools`, and how they find what is meant.
 *
 * Threads: main.
 * Owns: nothing; a struct tools_meant the definitions that it lists.
 * Lifetime: static; tools_meant until cmd_tools__drop.
 * Errors: exit statuses. */
#ifndef RULES_CMD_TOOLS_PRIV_H
#define RULES_CMD_TOOLS_PRIV_H

#include "cli/commands.h"
#include "store/store_definitions.h"
#include "cli/text_detectors.h"
#include "base/mem.h"

/* Copies of rows. */
struct tools_meant {
    struct arena arena;
    struct store_definition *all;
    size_t count, room;
    struct text_detectors detectors; /* where definitions are shown */
    struct conf_file *file;          /* likewise: what is declared of them */
};
void cmd_tools__init(struct tools_meant *meant);
void cmd_tools__drop(struct tools_meant *meant);
enum code cmd_tools__keep(void *context, const struct store_definition *definition); /* a store_definition_fn */

/* A name, TOOL or TOOL@DIGEST, of any upstream or of one.
 * Returns: OPTIONS_GO, or an exit status after a word on stderr: there is none of that name. */
int cmd_tools__find(struct db *db, const char *upstream, const char *name, struct tools_meant *meant);

#define TOOLS_DIGEST_SHOWN 12

#endif
