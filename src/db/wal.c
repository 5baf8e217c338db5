/* SPDX-License-Identifier: Apache-2.0 */
/* Why rewriting: a sync that failed leaves pages in the kernel's memory that count as clean. They can be read, no later sync
 * writes them, and nobody is told. Written once more they are dirty again, so that the next sync says the truth about them. */
#include "db/db_priv.h"

#include "base/mem.h"
#include "db/db.h"

#include <sqlite3.h>
#include <stdio.h>
#include <sys/stat.h>

/* Of the format of WAL mode's shared memory, as SQLite documents it: the lock of who copies, and the word that says how many
 * frames are copied. */
#define SHARED_PAGE_BYTES 32768
#define LOCK_COPIES 1
#define WORD_COPIED 24
#define LOCK_TRIES 50
#define LOCK_PAUSE_MS 5

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

enum code db_copy_again(struct db *db)
{
    void volatile *shared = NULL;
    sqlite3_file *file = NULL;
    int result = sqlite3_file_control(db__handle(db), "main", SQLITE_FCNTL_FILE_POINTER, &file);

    if (result == SQLITE_OK && (file == NULL || file->pMethods == NULL || file->pMethods->iVersion < 2))
        return CODE_OK; /* a database in memory */
    if (result == SQLITE_OK)
        result = file->pMethods->xShmMap(file, 0, SHARED_PAGE_BYTES, 0, &shared);
    if (result != SQLITE_OK || shared == NULL)
        return db__code_of(result);
    for (int tries = 0; tries < LOCK_TRIES; tries++) {
        result = file->pMethods->xShmLock(file, LOCK_COPIES, 1, SQLITE_SHM_LOCK | SQLITE_SHM_EXCLUSIVE);
        if (result != SQLITE_BUSY)
            break;
        (void)sqlite3_sleep(LOCK_PAUSE_MS);
    }
    if (result != SQLITE_OK)
        return db__code_of(result);
    ((volatile uint32_t *)shared)[WORD_COPIED] = 0;
    file->pMethods->xShmBarrier(file);
    return db__code_of(file->pMethods->xShmLock(file, LOCK_COPIES, 1, SQLITE_SHM_UNLOCK | SQLITE_SHM_EXCLUSIVE));
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
