/* SPDX-License-Identifier: Apache-2.0 */
#include "fakes/fault_vfs.h"

#include <dirent.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BLOCK 4096
#define DISK_BYTES ((sqlite3_int64)16 << 20)
#define DISKS 32

/* What of a file is on the disk, and which of its pages the next sync writes. */
struct disk {
    char path[256];
    unsigned char *bytes;
    sqlite3_int64 size;
    bool dirty[DISK_BYTES / BLOCK];
    int errors; /* each is told once to every file that was open then, as Linux does since 4.13 */
};

struct fault_file {
    sqlite3_file base;
    sqlite3_file *real; /* behind this struct */
    int is_wal;
    struct disk *disk; /* NULL: not kept track of */
    int errors_told;
};

static sqlite3_vfs *under;
static sqlite3_vfs vfs;
static atomic_int kind_now, left, matched, failed, unsynced, syncs;
static atomic_bool once;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* one writes or syncs at a time */
static struct disk disks[DISKS];
static enum fault_pages pages_then;
static char tracked[256]; /* the folder, with its slash */

static int fails(enum fault_kind a, enum fault_kind b)
{
    int kind = atomic_load(&kind_now), before;

    if (kind == FAULT_NONE || (kind != (int)a && kind != (int)b))
        return 0;
    atomic_fetch_add(&matched, 1);
    before = atomic_fetch_sub(&left, 1);
    if (before > 1 || (before < 1 && atomic_load(&once)))
        return 0;
    atomic_fetch_add(&failed, 1);
    return 1;
}

static void set(enum fault_kind kind, int nth, bool only_once)
{
    atomic_store(&kind_now, FAULT_NONE);
    atomic_store(&once, only_once);
    atomic_store(&matched, 0);
    atomic_store(&left, nth);
    atomic_store(&failed, 0);
    atomic_store(&kind_now, kind);
}

void fault_vfs_set(enum fault_kind kind, int nth)
{
    set(kind, nth, false);
}

void fault_vfs_set_once(enum fault_kind kind, int nth)
{
    set(kind, nth, true);
}

int fault_vfs_matched(void)
{
    return atomic_load(&matched);
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

/* ---- what is on the disk ----------------------------------------------------------------------------------------- */

static sqlite3_int64 size_of(sqlite3_file *file)
{
    sqlite3_int64 size = 0;

    if (file->pMethods->xFileSize(file, &size) != SQLITE_OK || size > DISK_BYTES)
        abort();
    return size;
}

static void read_block(sqlite3_file *file, sqlite3_int64 at, unsigned char *into)
{
    int result = file->pMethods->xRead(file, into, BLOCK, at); /* a short one is filled up with zeros */

    if (result != SQLITE_OK && result != SQLITE_IOERR_SHORT_READ)
        abort();
}

/* The same for all connections of a path. What the file holds when it is first seen counts as on the disk. */
static struct disk *disk_of(const char *path, sqlite3_file *file)
{
    struct disk *disk = disks;

    while (disk < disks + DISKS && disk->bytes != NULL && strcmp(disk->path, path) != 0)
        disk++;
    if (disk == disks + DISKS)
        abort();
    if (disk->bytes != NULL)
        return disk;
    (void)snprintf(disk->path, sizeof disk->path, "%s", path);
    disk->bytes = calloc(1, DISK_BYTES + BLOCK);
    if (disk->bytes == NULL)
        abort();
    disk->size = size_of(file);
    for (sqlite3_int64 at = 0; at < disk->size; at += BLOCK)
        read_block(file, at, disk->bytes + at);
    return disk;
}

static void mark_dirty(struct disk *disk, sqlite3_int64 at, int amount)
{
    if (at + amount > DISK_BYTES)
        abort();
    for (sqlite3_int64 block = at / BLOCK; block * BLOCK < at + amount; block++)
        disk->dirty[block] = true;
}

static void sync_disk(struct disk *disk, sqlite3_file *file)
{
    sqlite3_int64 size = size_of(file);

    for (sqlite3_int64 at = 0; at < size; at += BLOCK)
        if (disk->dirty[at / BLOCK])
            read_block(file, at, disk->bytes + at);
    if (size < disk->size)
        memset(disk->bytes + size, 0, (size_t)(disk->size - size));
    disk->size = size;
    memset(disk->dirty, 0, sizeof disk->dirty);
}

static void fail_sync(struct disk *disk, sqlite3_file *file)
{
    sqlite3_int64 size = size_of(file);

    for (sqlite3_int64 at = 0; at < size && pages_then == PAGES_DROPPED; at += BLOCK)
        if (disk->dirty[at / BLOCK])
            (void)file->pMethods->xWrite(file, disk->bytes + at, (int)(size - at < BLOCK ? size - at : BLOCK), at);
    memset(disk->dirty, 0, sizeof disk->dirty);
}

void fault_vfs_track(const char *path, enum fault_pages pages)
{
    for (int i = 0; i < DISKS; i++) {
        free(disks[i].bytes);
        memset(&disks[i], 0, sizeof disks[i]);
    }
    pages_then = pages;
    (void)snprintf(tracked, sizeof tracked, "%.*s", (int)(strrchr(path, '/') + 1 - path), path);
}

static void put_disk(const struct disk *disk, const char *to)
{
    FILE *file = fopen(to, "wb");

    if (file == NULL || fwrite(disk->bytes, 1, (size_t)disk->size, file) != (size_t)disk->size || fclose(file) != 0)
        abort();
}

/* Names count as on the disk at once: what a power cut does to them is test_rotate_power.c's. */
static void put_links(const char *folder)
{
    DIR *from = opendir(tracked);
    const struct dirent *entry;
    char name[512], target[256];

    while (from != NULL && (entry = readdir(from)) != NULL) {
        ssize_t len;

        (void)snprintf(name, sizeof name, "%s%s", tracked, entry->d_name);
        len = readlink(name, target, sizeof target - 1);
        if (len <= 0)
            continue;
        target[len] = '\0';
        (void)snprintf(name, sizeof name, "%s%s", folder, entry->d_name);
        if (symlink(target, name) != 0)
            abort();
    }
    if (from != NULL)
        (void)closedir(from);
}

/* One that was read by its link is another disk's file. */
static bool is_link(const char *path)
{
    char target[8];

    return readlink(path, target, sizeof target) >= 0;
}

void fault_vfs_cut_power(const char *path, const char *to)
{
    char folder[256], name[600];

    (void)path;
    (void)snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(to, '/') + 1 - to), to);
    (void)pthread_mutex_lock(&lock);
    for (int i = 0; i < DISKS; i++)
        if (disks[i].bytes != NULL && !is_link(disks[i].path)) {
            (void)snprintf(name, sizeof name, "%s%s", folder, strrchr(disks[i].path, '/') + 1);
            put_disk(&disks[i], name);
        }
    put_links(folder);
    (void)pthread_mutex_unlock(&lock);
}

/* ---- the layer --------------------------------------------------------------------------------------------------- */

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
    struct disk *disk = ((struct fault_file *)file)->disk;
    int result;

    if (fails(FAULT_DISK_FULL, FAULT_WRITE))
        return atomic_load(&kind_now) == FAULT_DISK_FULL ? SQLITE_FULL : SQLITE_IOERR_WRITE;
    if (((struct fault_file *)file)->is_wal)
        atomic_fetch_add(&unsynced, 1);
    (void)pthread_mutex_lock(&lock);
    result = real(file)->pMethods->xWrite(real(file), from, amount, at);
    if (disk != NULL)
        mark_dirty(disk, at, amount);
    (void)pthread_mutex_unlock(&lock);
    return result;
}

static int file_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    return real(file)->pMethods->xTruncate(real(file), size);
}

static int file_sync(sqlite3_file *file, int flags)
{
    struct fault_file *mine = (struct fault_file *)file;
    int result;

    (void)pthread_mutex_lock(&lock);
    result = SQLITE_IOERR_FSYNC;
    if ((tracked[0] != '\0' && mine->disk == NULL) || !fails(FAULT_SYNC, FAULT_SYNC))
        result = real(file)->pMethods->xSync(real(file), flags);
    if (mine->disk != NULL) {
        (result == SQLITE_OK ? sync_disk : fail_sync)(mine->disk, real(file));
        mine->disk->errors += result != SQLITE_OK;
        if (mine->errors_told != mine->disk->errors)
            result = SQLITE_IOERR_FSYNC;
        mine->errors_told = mine->disk->errors;
    }
    (void)pthread_mutex_unlock(&lock);
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
    mine->disk = NULL;
    (void)pthread_mutex_lock(&lock);
    if (result == SQLITE_OK && (flags & (SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_DB)) != 0 && tracked[0] != '\0' &&
        strncmp(name, tracked, strlen(tracked)) == 0)
        mine->disk = disk_of(name, mine->real);
    mine->errors_told = mine->disk != NULL ? mine->disk->errors : 0;
    (void)pthread_mutex_unlock(&lock);
    return result;
}

/* What takes the name later begins empty. */
static int delete_file(sqlite3_vfs *self, const char *name, int sync_folder)
{
    (void)self;
    (void)pthread_mutex_lock(&lock);
    for (int i = 0; i < DISKS; i++)
        if (disks[i].bytes != NULL && strcmp(disks[i].path, name) == 0) {
            free(disks[i].bytes);
            memset(&disks[i], 0, sizeof disks[i]);
            disks[i].bytes = calloc(1, DISK_BYTES + BLOCK);
            (void)snprintf(disks[i].path, sizeof disks[i].path, "%s", name);
        }
    (void)pthread_mutex_unlock(&lock);
    return under->xDelete(under, name, sync_folder);
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
    vfs.xDelete = delete_file;
    (void)sqlite3_vfs_register(&vfs, 1);
}
