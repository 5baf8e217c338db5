/* SPDX-License-Identifier: Apache-2.0 */
/* Why rewriting: a sync that failed leaves pages in the kernel's memory that count as clean. They can be read, no later sync
 * writes them, and nobody is told. Written once more they are dirty again, so that the next sync says the truth about them. */
#include "db/db_priv.h"

#include "base/mem.h"
#include "db/db.h"

#include <sqlite3.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIECE_BYTES ((sqlite3_int64)64 << 10)

static int rewrite(sqlite3_file *file, unsigned char *piece)
{
    sqlite3_int64 size = 0;
    int result = file->pMethods->xFileSize(file, &size);

    for (sqlite3_int64 at = 0; at < size && result == SQLITE_OK; at += PIECE_BYTES) {
        int len = (int)(size - at < PIECE_BYTES ? size - at : PIECE_BYTES);

        result = file->pMethods->xRead(file, piece, len, at);
        if (result == SQLITE_OK)
            result = file->pMethods->xWrite(file, piece, len, at);
    }
    return result == SQLITE_OK ? file->pMethods->xSync(file, SQLITE_SYNC_NORMAL) : result;
}

static int open_and_rewrite(const char *name)
{
    sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
    sqlite3_file *file = vfs == NULL ? NULL : mem_zalloc((size_t)vfs->szOsFile);
    unsigned char *piece = mem_alloc((size_t)PIECE_BYTES);
    int result = SQLITE_NOMEM, flags = 0;

    if (file != NULL && piece != NULL)
        result = vfs->xOpen(vfs, name, file, SQLITE_OPEN_READWRITE | SQLITE_OPEN_WAL, &flags);
    if (result == SQLITE_OK)
        result = (flags & SQLITE_OPEN_READONLY) != 0 ? SQLITE_READONLY : rewrite(file, piece);
    if (file != NULL && file->pMethods != NULL)
        (void)file->pMethods->xClose(file);
    mem_free(piece);
    mem_free(file);
    return result;
}

enum code db_rewrite_wal(const char *path, struct why *why)
{
    const char *name;
    struct stat there;
    char wal[4096];
    int result;

    if ((size_t)snprintf(wal, sizeof wal, "%s-wal", path) >= sizeof wal || stat(wal, &there) != 0 || there.st_size == 0)
        return CODE_OK;
    db__configure();
    name = sqlite3_create_filename(path, "", wal, 0, NULL); /* SQLite's file systems read behind a name's end */
    result = name == NULL ? SQLITE_NOMEM : open_and_rewrite(sqlite3_filename_wal(name));
    sqlite3_free_filename(name);
    return result == SQLITE_OK ? CODE_OK : why_set(why, db__code_of(result), "%s: %s", wal, sqlite3_errstr(result));
}

enum code db_absorb_wal(const char *path, struct why *why)
{
    struct db_stmt *stmt = NULL;
    char shared[4096];
    struct db *db;
    enum code code = db_open(path, DB_ALONE, &db, why);

    if (code != CODE_OK)
        return code;
    code = db_prepare(db, "PRAGMA journal_mode = DELETE", &stmt);
    if (code == CODE_OK)
        code = db_step(stmt);
    if (code == CODE_OK && !span_is(db_text(stmt, 0), "delete"))
        code = CODE_BUSY;
    db_finalize(&stmt);
    if (code != CODE_OK)
        (void)why_set(why, code, "%s: %s", path, db_error(db));
    else if ((size_t)snprintf(shared, sizeof shared, "%s-shm", path) < sizeof shared)
        (void)unlink(shared); /* this connection had none, and nobody else is here */
    db_close(&db);
    return code;
}
