/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of `callgate status` share: findings, and who looks where.
 *
 * Threads: main.
 * Owns: nothing.
 * Lifetime: a report is its holder's.
 * Errors: findings that are bad. */
#ifndef SETUP_CMD_STATUS_PRIV_H
#define SETUP_CMD_STATUS_PRIV_H

#include "conf/conf.h"
#include "db/db.h"
#include "json/doc.h"

#include <stdbool.h>

/* Findings as they are made: printed at once, or kept for --json. */
struct report {
    struct doc *findings; /* NULL: print */
    unsigned bad;
    uint64_t disk_hours, late_s; /* what the running gate says: how long the disk lasts, rows wait for a checkpoint */
};

void cmd_status__find(struct report *report, const char *about, bool is_good, const char *format, ...) PRINTF_LIKE(4, 5);
#define find cmd_status__find /* what these files say most */

/* ---- cmd_status_audit.c ---- */
void cmd_status__ask_gate(struct report *report, const struct conf *conf); /* before the next two */
bool cmd_status__differs(const struct conf *conf); /* whether the file holds something else than what the gate said it runs */
void cmd_status__audit(struct report *report, const struct conf *conf);
void cmd_status__fleet(struct report *report, const struct conf *conf, struct db *store); /* store: NULL: there is none */
void cmd_status__disk(struct report *report, const struct conf *conf);

#endif
