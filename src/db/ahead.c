/* SPDX-License-Identifier: Apache-2.0 */
/* A layer over the gathering one for a connection that is opened before its file has the name under which it is written.
 *
 * SQLite asks for the -wal and -shm files by the name that it was given, and only when it needs them. So a connection to
 * NAME.next that is not in WAL mode yet can read the schema and prepare statements; when the file has been renamed to NAME,
 * it is opened once more by that name, and what belongs to it is looked for there. Measured: reading the schema of an audit
 * takes as long as a commit with its sync. */
#include "db/db_priv.h"

#include "base/mem.h"

#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

struct ahead {
    sqlite3_file base;
    sqlite3_vfs *under;
    sqlite3_filename later; /* with the names of what belongs to it */
    bool is_there;
    sqlite3_file *real;     /* one of two, so that one is open while the other is being opened */
    _Alignas(sqlite3_int64) unsigned char files[]; /* SQLite promises no more of where it puts a file */
};

static struct ahead *of(sqlite3_file *file)
{
    return (struct ahead *)(void *)file;
}

static sqlite3_file *real(sqlite3_file *file)
{
    return of(file)->real;
}

static sqlite3_file *file_at(struct ahead *ahead, int which)
{
    size_t align = _Alignof(sqlite3_int64), bytes = ((size_t)ahead->under->szOsFile + align - 1) / align * align;

    return (sqlite3_file *)(void *)(ahead->files + (size_t)which * bytes);
}

static int ahead_close(sqlite3_file *file)
{
    int result = real(file)->pMethods->xClose(real(file));

    sqlite3_free_filename(of(file)->later);
    of(file)->later = NULL;
    return result;
}

static int ahead_read(sqlite3_file *file, void *into, int len, sqlite3_int64 at)
{
    return real(file)->pMethods->xRead(real(file), into, len, at);
}

static int ahead_write(sqlite3_file *file, const void *from, int len, sqlite3_int64 at)
{
    return real(file)->pMethods->xWrite(real(file), from, len, at);
}

static int ahead_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    return real(file)->pMethods->xTruncate(real(file), size);
}

static int ahead_sync(sqlite3_file *file, int flags)
{
    return real(file)->pMethods->xSync(real(file), flags);
}

static int ahead_size(sqlite3_file *file, sqlite3_int64 *size)
{
    return real(file)->pMethods->xFileSize(real(file), size);
}

static int ahead_lock(sqlite3_file *file, int level)
{
    return real(file)->pMethods->xLock(real(file), level);
}

static int ahead_unlock(sqlite3_file *file, int level)
{
    return real(file)->pMethods->xUnlock(real(file), level);
}

static int ahead_reserved(sqlite3_file *file, int *reserved)
{
    return real(file)->pMethods->xCheckReservedLock(real(file), reserved);
}

static int ahead_control(sqlite3_file *file, int what, void *argument)
{
    return real(file)->pMethods->xFileControl(real(file), what, argument);
}

static int ahead_sector(sqlite3_file *file)
{
    return real(file)->pMethods->xSectorSize(real(file));
}

static int ahead_traits(sqlite3_file *file)
{
    return real(file)->pMethods->xDeviceCharacteristics(real(file));
}

static int ahead_map(sqlite3_file *file, int page, int bytes, int extend, void volatile **out)
{
    return real(file)->pMethods->xShmMap(real(file), page, bytes, extend, out);
}

static int ahead_shm_lock(sqlite3_file *file, int from, int count, int flags)
{
    return real(file)->pMethods->xShmLock(real(file), from, count, flags);
}

static void ahead_barrier(sqlite3_file *file)
{
    real(file)->pMethods->xShmBarrier(real(file));
}

static int ahead_unmap(sqlite3_file *file, int remove)
{
    return real(file)->pMethods->xShmUnmap(real(file), remove);
}

/* Version 2: the main file is not mapped. */
static const sqlite3_io_methods methods = {
    .iVersion = 2, .xClose = ahead_close, .xRead = ahead_read, .xWrite = ahead_write, .xTruncate = ahead_truncate,
    .xSync = ahead_sync, .xFileSize = ahead_size, .xLock = ahead_lock, .xUnlock = ahead_unlock,
    .xCheckReservedLock = ahead_reserved, .xFileControl = ahead_control, .xSectorSize = ahead_sector,
    .xDeviceCharacteristics = ahead_traits, .xShmMap = ahead_map, .xShmLock = ahead_shm_lock, .xShmBarrier = ahead_barrier,
    .xShmUnmap = ahead_unmap,
};

static sqlite3_filename name_later(const char *now)
{
    size_t len = strlen(now), suffix = sizeof DB_AHEAD_SUFFIX - 1;
    char later[4096], wal[4096 + 8];

    if (len <= suffix || len - suffix >= sizeof later || strcmp(now + len - suffix, DB_AHEAD_SUFFIX) != 0)
        return NULL;
    (void)snprintf(later, sizeof later, "%.*s", (int)(len - suffix), now);
    (void)snprintf(wal, sizeof wal, "%s-wal", later);
    return sqlite3_create_filename(later, "", wal, 0, NULL);
}

static int open_main(sqlite3_vfs *under, const char *name, sqlite3_file *file, int flags, int *out_flags)
{
    struct ahead *ahead = of(file);
    int result;

    ahead->under = under;
    ahead->is_there = false;
    ahead->base.pMethods = NULL;
    ahead->later = name_later(name);
    if (ahead->later == NULL)
        return SQLITE_CANTOPEN;
    ahead->real = file_at(ahead, 0);
    memset(ahead->real, 0, (size_t)under->szOsFile);
    result = under->xOpen(under, name, ahead->real, flags, out_flags);
    if (result == SQLITE_OK) {
        ahead->base.pMethods = &methods;
        return SQLITE_OK;
    }
    if (ahead->real->pMethods != NULL)
        (void)ahead->real->pMethods->xClose(ahead->real);
    sqlite3_free_filename(ahead->later);
    return result;
}

static int ahead_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out_flags)
{
    sqlite3_vfs *under = vfs->pAppData;
    const struct ahead *ahead;

    if ((flags & SQLITE_OPEN_MAIN_DB) != 0)
        return open_main(under, name, file, flags, out_flags);
    if ((flags & SQLITE_OPEN_WAL) == 0)
        return under->xOpen(under, name, file, flags, out_flags);
    ahead = of(sqlite3_database_file_object(name));
    if (!ahead->is_there) {
        file->pMethods = NULL;
        return SQLITE_CANTOPEN;
    }
    return under->xOpen(under, sqlite3_filename_wal(ahead->later), file, flags, out_flags);
}

enum code db_arrive(struct db *db)
{
    struct ahead *ahead;
    sqlite3_file *file = NULL, *anew;
    int result = sqlite3_file_control(db__handle(db), "main", SQLITE_FCNTL_FILE_POINTER, &file), flags = 0;

    if (result != SQLITE_OK || file == NULL || file->pMethods != &methods)
        return CODE_INVALID;
    ahead = of(file);
    anew = file_at(ahead, ahead->real == file_at(ahead, 0) ? 1 : 0);
    memset(anew, 0, (size_t)ahead->under->szOsFile);
    result = ahead->under->xOpen(ahead->under, ahead->later, anew, SQLITE_OPEN_READWRITE | SQLITE_OPEN_MAIN_DB, &flags);
    if (result == SQLITE_OK && (flags & SQLITE_OPEN_READONLY) != 0)
        result = SQLITE_READONLY;
    if (result == SQLITE_OK)
        result = ahead->real->pMethods->xClose(ahead->real);
    if (result != SQLITE_OK) {
        if (anew->pMethods != NULL)
            (void)anew->pMethods->xClose(anew);
        return db__code_of(result);
    }
    ahead->real = anew;
    ahead->is_there = true;
    return CODE_OK;
}

int db__ahead_register(void)
{
    static sqlite3_vfs vfs;
    sqlite3_vfs *under = sqlite3_vfs_find(DB__GATHER);

    if (under == NULL)
        return SQLITE_ERROR;
    vfs = *under;
    vfs.pNext = NULL;
    vfs.zName = DB__AHEAD;
    vfs.pAppData = under;
    vfs.szOsFile = (int)(sizeof(struct ahead) + 2 * ((size_t)under->szOsFile + _Alignof(sqlite3_int64)));
    vfs.xOpen = ahead_open;
    return sqlite3_vfs_register(&vfs, 0);
}
