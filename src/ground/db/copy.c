/* SPDX-License-Identifier: Apache-2.0 */
#include "db/db.h"
#include "db/db_priv.h"

#include <sqlite3.h>
#include <unistd.h>

enum code db_copy(struct db *from, const char *path, struct why *why)
{
    struct db *to = NULL;
    sqlite3_backup *copy = NULL;
    int result = SQLITE_ERROR;
    enum code code = access(path, F_OK) == 0 ? why_set(why, CODE_EXISTS, "%s exists already; move it away", path)
                                             : db_open(path, DB_CREATE, &to, why);

    if (code != CODE_OK)
        return code;
    copy = sqlite3_backup_init(db__handle(to), "main", db__handle(from), "main");
    if (copy != NULL) {
        result = sqlite3_backup_step(copy, -1); /* all pages of one snapshot, however many are written meanwhile */
        (void)sqlite3_backup_finish(copy);
    }
    /* A copy is one file: it is read where nobody may make a second one beside it. */
    if (result == SQLITE_DONE)
        result = sqlite3_exec(db__handle(to), "PRAGMA journal_mode = DELETE", NULL, NULL, NULL);
    code = db__code_of(result);
    if (code != CODE_OK)
        (void)why_set(why, code, "%s: cannot be written: %s", path, db_error(to));
    db_close(&to);
    if (code != CODE_OK)
        (void)unlink(path);
    return code;
}
