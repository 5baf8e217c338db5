/* SPDX-License-Identifier: Apache-2.0 */
/* Which tables of the store are a fleet's, with their columns as a change has them.
 *
 * Threads: any.
 * Owns: nothing.
 * Lifetime: static.
 * Errors: none. */
#ifndef STORE_STORE_FLEET_PRIV_H
#define STORE_STORE_FLEET_PRIV_H

#include "store/store_fleet.h"

#define STORE__COLUMNS_MAX 12

enum store__fleet_table {
    FLEET_POLICY_VERSION = 0,
    FLEET_POLICY_FILE,
    FLEET_POLICY_ACTIVATION,
    FLEET_AGENT_KEY,
    FLEET_AGENT_KEY_CLAIM,
    FLEET_AGENT_KEY_REVOCATION,
    FLEET_DEFINITION,
    FLEET_DEFINITION_WORD,
    FLEET_AUDIT_HOLD,
    FLEET_AUDIT_HOLD_RELEASE,
    FLEET_STOP,
    FLEET_STOP_END,
    FLEET_ERASURE,
    FLEET_TABLES
};
#define FLEET_NONE FLEET_TABLES

struct store__column {
    const char *name;           /* NULL: there are no more */
    enum db_type type;          /* DB_INT, DB_TEXT, DB_BLOB */
    bool may_lack;
    enum store__fleet_table of; /* whose number it is: its own table's, or the one that it refers to */
};

/* In an order in which what is referred to stands first. */
struct store__table {
    const char *name;
    bool is_numbered;  /* its first column is its number, the same on all nodes */
    bool is_by_word;   /* its first column is its number, each store's own: it is known by `same` */
    const char *same;  /* SQL of what makes a row one that is there already; NULL: all of its columns */
    const char *among; /* SQL of which rows may be among what is new; NULL: those behind the last committed one */
    struct store__column column[STORE__COLUMNS_MAX + 1];
};

extern const struct store__table store__fleet[FLEET_TABLES];

#endif
