/* SPDX-License-Identifier: Apache-2.0 */
/* What stands beside a database and is no part of it: what SQLite would roll in, or read in its place. */
#include "db/db_priv.h"

#include "base/mem.h"
#include "db/db.h"

#include <limits.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static sqlite3_vfs past_vfs;
static int (*true_access)(sqlite3_vfs *, const char *, int, int *);

/* "Database Header" of SQLite's format: 1 in byte 19 means that the file is not in WAL mode. The file is read through SQLite's
 * file system, because closing a descriptor of one's own would give up the locks of every connection of the process. */
bool db__is_without_wal(const char *path)
{
    sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
    sqlite3_file *file = vfs != NULL ? mem_zalloc((size_t)vfs->szOsFile) : NULL;
    const char *name = sqlite3_create_filename(path, "", "", 0, NULL);
    char header[20] = {0};
    int flags = 0;

    if (file != NULL && name != NULL &&
        vfs->xOpen(vfs, name, file, SQLITE_OPEN_READONLY | SQLITE_OPEN_MAIN_DB, &flags) == SQLITE_OK &&
        file->pMethods->xRead(file, header, sizeof header, 0) != SQLITE_OK)
        header[19] = 0;
    if (file != NULL && file->pMethods != NULL)
        (void)file->pMethods->xClose(file);
    sqlite3_free_filename(name);
    mem_free(file);
    return header[19] == 1;
}

static int access_past(sqlite3_vfs *vfs, const char *name, int flags, int *there)
{
    struct span path = span_text(name);
    char file[PATH_MAX];
    int result = true_access(vfs, name, flags, there);

    if (result == SQLITE_OK && *there && span_ends_with(path, SPAN_LIT("-journal")))
        *there = 0;
    if (result == SQLITE_OK && *there && span_ends_with(path, SPAN_LIT("-wal")) &&
        snprintf(file, sizeof file, "%.*s", (int)(path.len - strlen("-wal")), name) < (int)sizeof file)
        *there = !db__is_without_wal(file);
    return result;
}

void db__past_register(void)
{
    const sqlite3_vfs *own = sqlite3_vfs_find(NULL);

    if (own == NULL)
        return; /* whoever opens says so */
    past_vfs = *own;
    past_vfs.pNext = NULL;
    past_vfs.zName = DB__PAST_VFS;
    true_access = own->xAccess;
    past_vfs.xAccess = access_past;
    (void)sqlite3_vfs_register(&past_vfs, 0);
}

bool db__stat_beside(const char *path, const char *suffix, struct stat *there)
{
    char target[PATH_MAX], name[PATH_MAX + 16];

    if (realpath(path, target) == NULL)
        return false;
    (void)snprintf(name, sizeof name, "%s%s", target, suffix);
    return stat(name, there) == 0;
}

static bool is_something(const struct stat *there)
{
    return there->st_size > 0 || !S_ISREG(there->st_mode);
}

const char *db_stray(const char *path, struct stat *there)
{
    db__configure();
    if (stat(path, there) != 0 || !S_ISREG(there->st_mode))
        return NULL;
    if (db__stat_beside(path, "-journal", there) && is_something(there))
        return "-journal";
    if (db__stat_beside(path, "-wal", there) && is_something(there) &&
        (!S_ISREG(there->st_mode) || db__is_without_wal(path)))
        return "-wal";
    if (db__stat_beside(path, "-shm", there) && (!S_ISREG(there->st_mode) || db__is_without_wal(path)))
        return "-shm";
    return NULL;
}
