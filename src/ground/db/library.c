/* SPDX-License-Identifier: Apache-2.0 */
#include "db/db.h"

#include <sqlite3.h>
#include <stdio.h>

const char *db_library(void)
{
    static char text[32];

    snprintf(text, sizeof text, "SQLite %s", sqlite3_libversion());
    return text;
}
