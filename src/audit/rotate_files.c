/* SPDX-License-Identifier: Apache-2.0 */
/* The files of a rotation, and what is left of one that was killed. */
#include "audit/rotate_priv.h"

#include "audit/schema.h"
#include "base/log.h"
#include "os/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const around[] = {"", "-wal", "-shm", "-journal"};

static enum code with_suffix(const char *path, const char *suffix, char out[ROTATE_PATH_BYTES])
{
    return snprintf(out, ROTATE_PATH_BYTES, "%s%s", path, suffix) < ROTATE_PATH_BYTES ? CODE_OK : CODE_LIMIT;
}

static void remove_next(const char *path)
{
    char name[ROTATE_PATH_BYTES];

    for (size_t i = 0; i < sizeof around / sizeof around[0]; i++)
        if (snprintf(name, sizeof name, "%s.next%s", path, around[i]) < (int)sizeof name)
            (void)unlink(name);
}

enum code rotate__name(const char *path, uint64_t first, uint64_t last, char name[ROTATE_PATH_BYTES])
{
    size_t len = strlen(path);

    if (len > 3 && strcmp(path + len - 3, ".db") == 0)
        len -= 3;
    return snprintf(name, ROTATE_PATH_BYTES, "%.*s-%llu-%llu.db", (int)len, path, (unsigned long long)first,
                    (unsigned long long)last) < ROTATE_PATH_BYTES ? CODE_OK : CODE_LIMIT;
}

/* Whoever could read the audit can go on reading it; where that is not ours to give, the gate's own user and group stay. */
static void take_after(const char *path, const char *next)
{
    struct stat there;

    if (stat(path, &there) != 0)
        return;
    if (chown(next, there.st_uid, there.st_gid) != 0 && chown(next, (uid_t)-1, there.st_gid) != 0)
        log_info("audit", "%s: the next file cannot be given to its group: %s", path, strerror(errno));
    (void)chmod(next, there.st_mode & 0777);
}

void rotate__give_up(const char *path, struct ledger *ahead)
{
    ledger__close(ahead);
    remove_next(path);
}

enum code rotate__sync(const char *path)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    enum code code = fd >= 0 && fsync(fd) == 0 ? CODE_OK : CODE_IO;

    if (fd >= 0)
        (void)close(fd);
    return code;
}

enum code rotate__prepare(const char *path, struct ledger *ahead)
{
    char next[ROTATE_PATH_BYTES], pragmas[128];
    struct db *db = NULL;
    enum code code = with_suffix(path, ".next", next);

    if (code != CODE_OK)
        return code;
    rotate__give_up(path, ahead);
    code = db_open(next, DB_CREATE, &db, NULL);
    (void)snprintf(pragmas, sizeof pragmas, "PRAGMA application_id = %d; PRAGMA user_version = %d", AUDIT_APPLICATION_ID,
                   AUDIT_SCHEMA_VERSION);
    if (code == CODE_OK)
        code = db_exec(db, "PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; BEGIN");
    if (code == CODE_OK)
        code = db_exec(db, audit__schema);
    if (code == CODE_OK)
        code = db_exec(db, pragmas);
    if (code == CODE_OK)
        code = db_commit(db);
    db_close(&db);
    if (code == CODE_OK)
        take_after(path, next);
    if (code == CODE_OK) /* in the pause there is little left to be synced then */
        code = rotate__sync(next);
    return code == CODE_OK ? ledger__open_ahead(ahead, next) : code;
}

/* In the first 100 bytes of an SQLite file, the "Database Header" of its format. */
#define HEADER_BYTES 100
#define HEADER_WRITE_VERSION 18 /* 2: WAL */
#define HEADER_APPLICATION_ID 68

/* One that was killed while its header changed is either: a journal says what it was. */
static bool is_unsettled(const char *path)
{
    unsigned char header[HEADER_BYTES];
    char journal[ROTATE_PATH_BYTES];
    uint32_t id = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK); /* a FIFO of that name would never open */
    bool is_read;

    if (fd < 0)
        return false;
    is_read = read(fd, header, sizeof header) == (ssize_t)sizeof header;
    (void)close(fd);
    for (size_t i = 0; is_read && i < 4; i++)
        id = id << 8 | header[HEADER_APPLICATION_ID + i];
    if (!is_read || id != AUDIT_APPLICATION_ID)
        return false;
    return header[HEADER_WRITE_VERSION] == 2 ||
           (with_suffix(path, "-journal", journal) == CODE_OK && access(journal, F_OK) == 0);
}

/* Takes it out of WAL mode. Returns: CODE_BUSY while somebody has it open. */
static enum code settle(const char *sealed)
{
    struct db_stmt *stmt = NULL;
    struct db *db = NULL;
    enum code code = db_open(sealed, DB_WRITE, &db, NULL);

    if (code == CODE_OK) {
        db_busy_wait(db, 0);
        code = db_prepare(db, "PRAGMA journal_mode = DELETE", &stmt);
    }
    if (code == CODE_OK)
        code = db_step(stmt);
    if (code == CODE_OK && !span_is(db_text(stmt, 0), "delete"))
        code = CODE_BUSY;
    db_finalize(&stmt);
    db_close(&db);
    return code;
}

/* "audit-1-4096.db" beside "audit.db". */
static bool is_sealed_name(struct span stem, const char *name)
{
    unsigned long long first, last;
    int end = 0;

    return strlen(name) > stem.len && memcmp(name, stem.at, stem.len) == 0 &&
           sscanf(name + stem.len, "-%20llu-%20llu.db%n", &first, &last, &end) == 2 && end > 0 &&
           name[stem.len + (size_t)end] == '\0';
}

/* The sealed files of an audit. */
struct beside {
    DIR *dir;
    struct span stem;
    char folder[ROTATE_PATH_BYTES], full[ROTATE_PATH_BYTES];
};

static bool look_beside(const char *path, struct beside *beside)
{
    const char *slash = strrchr(path, '/');
    size_t folder_len = slash != NULL ? (size_t)(slash - path) + 1 : 0, len = strlen(path);

    beside->stem = span_of(path + folder_len, len - folder_len);
    if (beside->stem.len > 3 && memcmp(path + len - 3, ".db", 3) == 0)
        beside->stem.len -= 3;
    if (snprintf(beside->folder, sizeof beside->folder, "%.*s", (int)folder_len, path) >= (int)sizeof beside->folder)
        return false;
    beside->dir = opendir(folder_len == 0 ? "." : beside->folder);
    return beside->dir != NULL;
}

static bool next_beside(struct beside *beside)
{
    const struct dirent *entry;

    while ((entry = readdir(beside->dir)) != NULL)
        if (is_sealed_name(beside->stem, entry->d_name) &&
            snprintf(beside->full, sizeof beside->full, "%s%s", beside->folder, entry->d_name) < (int)sizeof beside->full)
            return true;
    return false;
}

static void end_beside(struct beside *beside)
{
    (void)closedir(beside->dir);
}

bool rotate__settle(const char *path)
{
    struct beside beside;
    bool again = false;

    if (!look_beside(path, &beside))
        return false;
    while (next_beside(&beside))
        if (is_unsettled(beside.full))
            again = settle(beside.full) == CODE_BUSY || again;
    end_beside(&beside);
    return again;
}

/* ---- the second name --------------------------------------------------------------------------------------------- */

static bool is_same(const char *one, const char *other)
{
    struct stat a, b;

    return stat(one, &a) == 0 && stat(other, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

struct kept {
    char name[ROTATE_PATH_BYTES], wal[ROTATE_PATH_BYTES], shm[ROTATE_PATH_BYTES];
    char path_wal[ROTATE_PATH_BYTES], path_shm[ROTATE_PATH_BYTES];
};

static enum code name_kept(const char *path, struct kept *kept)
{
    const struct { const char *suffix; char *out; } names[] = {
        {".keep", kept->name}, {".keep-wal", kept->wal}, {".keep-shm", kept->shm}, {"-wal", kept->path_wal},
        {"-shm", kept->path_shm},
    };
    enum code code = CODE_OK;

    for (size_t i = 0; i < sizeof names / sizeof names[0] && code == CODE_OK; i++)
        code = with_suffix(path, names[i].suffix, names[i].out);
    return code;
}

static void remove_kept(const struct kept *kept)
{
    (void)unlink(kept->name);
    (void)unlink(kept->shm);
    (void)unlink(kept->wal); /* the last: whose it was must be known while the first is there */
}

bool rotate__hold(const char *path)
{
    struct kept kept;

    if (name_kept(path, &kept) != CODE_OK)
        return false;
    rotate__let_go(path);
    if (link(path, kept.name) != 0)
        return false;
    (void)unlink(kept.wal);
    if (link(kept.path_wal, kept.wal) == 0 && file_sync_folder(path))
        return true;
    remove_kept(&kept);
    return false;
}

bool rotate__is_held(const char *path)
{
    struct kept kept;

    return name_kept(path, &kept) == CODE_OK && is_same(kept.name, path) && is_same(kept.wal, kept.path_wal);
}

static bool has_sealed_name(const char *path, const char *name)
{
    struct beside beside;
    bool found = false;

    if (!look_beside(path, &beside))
        return false;
    while (!found && next_beside(&beside))
        found = is_same(beside.full, name);
    end_beside(&beside);
    return found;
}

/* A name that is about to go may be the only one that is on the disk yet. */
void rotate__let_go(const char *path)
{
    struct kept kept;

    if (name_kept(path, &kept) == CODE_OK && access(kept.name, F_OK) == 0 &&
        (is_same(kept.name, path) || has_sealed_name(path, kept.name)) && file_sync_folder(path))
        remove_kept(&kept);
}

/* The file that was replaced, by what it says of itself. */
static enum code name_of_sealed(const char *path, const char *kept, char name[ROTATE_PATH_BYTES])
{
    struct db *db = NULL;
    int64_t before = 0, last = 0, sealed = 0;
    enum code code = db_open(kept, DB_READ, &db, NULL);

    if (code == CODE_OK)
        code = db_number(db, "SELECT seq FROM file", &before);
    if (code == CODE_OK)
        code = db_number(db, ROW_MAX_SEQ, &last);
    if (code == CODE_OK)
        code = db_number(db, "SELECT max(seq) FROM event WHERE kind = 'sealed'", &sealed);
    db_close(&db);
    if (code == CODE_OK && (sealed != last || last == 0))
        code = CODE_INVALID;
    return code == CODE_OK ? rotate__name(path, (uint64_t)before + 1, (uint64_t)last, name) : code;
}

/* After a power cut, that the audit's path names the next file may be on the disk and the sealed file's own name not, nor that
 * the -wal file of the sealed one is no longer that of the path. */
static enum code tidy_kept(const char *path, struct why *why)
{
    char sealed[ROTATE_PATH_BYTES];
    struct kept kept;

    if (name_kept(path, &kept) != CODE_OK)
        return CODE_OK;
    if (access(kept.name, F_OK) != 0)
        remove_kept(&kept); /* what a power cut left of making or removing them */
    if (!is_same(kept.name, path) && is_same(kept.path_wal, kept.wal)) {
        (void)unlink(kept.path_shm);
        if (unlink(kept.path_wal) != 0)
            return why_set(why, CODE_IO, "%s: is not this file's, and cannot be removed: %s", kept.path_wal, strerror(errno));
    }
    rotate__let_go(path);
    if (access(kept.name, F_OK) != 0)
        return CODE_OK;
    if (name_of_sealed(path, kept.name, sealed) != CODE_OK || link(kept.name, sealed) != 0) {
        log_warn("audit", "%s: is left of a rotation, and cannot be named for what it holds; look at it, and move it away",
                 kept.name);
        return CODE_OK;
    }
    log_warn("audit", "%s: gave %s, which a rotation left without, its name", path, sealed);
    rotate__let_go(path);
    return CODE_OK;
}

static bool has_file_row(const char *next)
{
    struct db *db = NULL;
    int64_t rows = 0;
    bool has = db_open(next, DB_READ, &db, NULL) == CODE_OK &&
               db_number(db, "SELECT count(*) FROM file", &rows) == CODE_OK && rows == 1;

    db_close(&db);
    return has;
}

/* A file system without hard links has a moment in which only the sealed file and the filled new one are there. */
enum code rotate__tidy(const char *path, struct why *why)
{
    char next[ROTATE_PATH_BYTES];
    enum code code = with_suffix(path, ".next", next);

    if (code != CODE_OK)
        return why_set(why, code, "%s: the path is too long", path);
    if (access(path, F_OK) != 0 && has_file_row(next)) {
        if (rename(next, path) != 0 || !file_sync_folder(path))
            return why_set(why, CODE_IO, "%s: cannot be given the name %s: %s", next, path, strerror(errno));
        log_warn("audit", "%s: went on with a rotation that the last gate did not end", path);
    }
    remove_next(path);
    return tidy_kept(path, why);
}

/* Sealed and linked, but not replaced: the file goes on. */
void rotate__tidy_name(const struct ledger *ledger)
{
    char name[ROTATE_PATH_BYTES], beside[ROTATE_PATH_BYTES];
    struct stat there;

    if (rotate__name(ledger->path, ledger->begin_seq + 1, ledger->tip.seq, name) == CODE_OK && stat(name, &there) == 0 &&
        there.st_dev == ledger->device && there.st_ino == ledger->inode)
        for (size_t i = sizeof around / sizeof around[0]; i-- > 0;) /* who read it by that name left some; itself last */
            if (with_suffix(name, around[i], beside) == CODE_OK)
                (void)unlink(beside);
}
