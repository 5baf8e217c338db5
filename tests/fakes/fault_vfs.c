/* SPDX-License-Identifier: Apache-2.0 */
#include "fakes/fault_vfs.h"

#include <sqlite3.h>
#include <stdatomic.h>
#include <string.h>

struct fault_file {
    sqlite3_file base;
    sqlite3_file *real; /* behind this struct */
    int is_wal;
};

static sqlite3_vfs *under;
static sqlite3_vfs vfs;
static atomic_int kind_now, left, failed, unsynced, syncs;

static int fails(enum fault_kind a, enum fault_kind b)
{
    int kind = atomic_load(&kind_now);

    if (kind == FAULT_NONE || (kind != (int)a && kind != (int)b))
        return 0;
    if (atomic_fetch_sub(&left, 1) > 1)
        return 0;
    atomic_fetch_add(&failed, 1);
    return 1;
}

void fault_vfs_set(enum fault_kind kind, int nth)
{
    atomic_store(&kind_now, FAULT_NONE);
    atomic_store(&left, nth);
    atomic_store(&failed, 0);
    atomic_store(&kind_now, kind);
}

int fault_vfs_failed(void)
{
    return atomic_load(&failed);
}

int fault_vfs_unsynced(void)
{
    return atomic_load(&unsynced);
}

int fault_vfs_syncs(void)
{
    return atomic_load(&syncs);
}

static sqlite3_file *real(sqlite3_file *file)
{
    return ((struct fault_file *)file)->real;
}

static int file_close(sqlite3_file *file)
{
    return real(file)->pMethods->xClose(real(file));
}

static int file_read(sqlite3_file *file, void *into, int amount, sqlite3_int64 at)
{
    return fails(FAULT_READ, FAULT_READ) ? SQLITE_IOERR_READ : real(file)->pMethods->xRead(real(file), into, amount, at);
}

static int file_write(sqlite3_file *file, const void *from, int amount, sqlite3_int64 at)
{
    if (fails(FAULT_DISK_FULL, FAULT_WRITE))
        return atomic_load(&kind_now) == FAULT_DISK_FULL ? SQLITE_FULL : SQLITE_IOERR_WRITE;
    if (((struct fault_file *)file)->is_wal)
        atomic_fetch_add(&unsynced, 1);
    return real(file)->pMethods->xWrite(real(file), from, amount, at);
}

static int file_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    return real(file)->pMethods->xTruncate(real(file), size);
}

static int file_sync(sqlite3_file *file, int flags)
{
    int result = fails(FAULT_SYNC, FAULT_SYNC) ? SQLITE_IOERR_FSYNC : real(file)->pMethods->xSync(real(file), flags);

    if (((struct fault_file *)file)->is_wal && result == SQLITE_OK) {
        atomic_store(&unsynced, 0);
        atomic_fetch_add(&syncs, 1);
    }
    return result;
}

static int file_size(sqlite3_file *file, sqlite3_int64 *size)
{
    return real(file)->pMethods->xFileSize(real(file), size);
}

static int file_lock(sqlite3_file *file, int level)
{
    return real(file)->pMethods->xLock(real(file), level);
}

static int file_unlock(sqlite3_file *file, int level)
{
    return real(file)->pMethods->xUnlock(real(file), level);
}

static int file_check_lock(sqlite3_file *file, int *out)
{
    return real(file)->pMethods->xCheckReservedLock(real(file), out);
}

static int file_control(sqlite3_file *file, int op, void *argument)
{
    return real(file)->pMethods->xFileControl(real(file), op, argument);
}

static int file_sector(sqlite3_file *file)
{
    return real(file)->pMethods->xSectorSize(real(file));
}

static int file_traits(sqlite3_file *file)
{
    return real(file)->pMethods->xDeviceCharacteristics(real(file));
}

static int file_shm_map(sqlite3_file *file, int page, int size, int extend, void volatile **out)
{
    return real(file)->pMethods->xShmMap(real(file), page, size, extend, out);
}

static int file_shm_lock(sqlite3_file *file, int offset, int n, int flags)
{
    return real(file)->pMethods->xShmLock(real(file), offset, n, flags);
}

static void file_shm_barrier(sqlite3_file *file)
{
    real(file)->pMethods->xShmBarrier(real(file));
}

static int file_shm_unmap(sqlite3_file *file, int remove)
{
    return real(file)->pMethods->xShmUnmap(real(file), remove);
}

static const sqlite3_io_methods methods = {
    .iVersion = 2, .xClose = file_close, .xRead = file_read, .xWrite = file_write, .xTruncate = file_truncate,
    .xSync = file_sync, .xFileSize = file_size, .xLock = file_lock, .xUnlock = file_unlock,
    .xCheckReservedLock = file_check_lock, .xFileControl = file_control, .xSectorSize = file_sector,
    .xDeviceCharacteristics = file_traits, .xShmMap = file_shm_map, .xShmLock = file_shm_lock,
    .xShmBarrier = file_shm_barrier, .xShmUnmap = file_shm_unmap,
};

static int open_file(sqlite3_vfs *self, const char *name, sqlite3_file *file, int flags, int *out_flags)
{
    struct fault_file *mine = (struct fault_file *)file;
    int result;

    (void)self;
    mine->real = (sqlite3_file *)(mine + 1);
    mine->is_wal = (flags & SQLITE_OPEN_WAL) != 0;
    result = under->xOpen(under, name, mine->real, flags, out_flags);
    mine->base.pMethods = result == SQLITE_OK ? &methods : NULL;
    return result;
}

void fault_vfs_install(void)
{
    if (under != NULL)
        return;
    (void)sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    under = sqlite3_vfs_find(NULL);
    vfs = *under; /* everything but opening files is the real one's */
    vfs.zName = "fault";
    vfs.szOsFile = (int)sizeof(struct fault_file) + under->szOsFile;
    vfs.xOpen = open_file;
    (void)sqlite3_vfs_register(&vfs, 1);
}
