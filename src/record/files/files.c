/* SPDX-License-Identifier: Apache-2.0 */
#include "files/files.h"

#include "rows/schema.h"
#include "base/log.h"
#include "base/span.h"
#include "db/db.h"
#include "os/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ---- names ------------------------------------------------------------------------------------------------------- */

const char *files_base(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL ? slash + 1 : path;
}

static struct span stem_of(const char *audit)
{
    struct span stem = span_text(files_base(audit));

    return stem.len > 3 && memcmp(stem.at + stem.len - 3, ".db", 3) == 0 ? span_part(stem, 0, stem.len - 3) : stem;
}

enum code files_beside(const char *path, const char *suffix, char name[FILES_PATH_BYTES])
{
    return snprintf(name, FILES_PATH_BYTES, "%s%s", path, suffix) < FILES_PATH_BYTES ? CODE_OK : CODE_LIMIT;
}

/* The name of a file in the audit's folder. */
static enum code in_folder(const char *audit, const char *base, char name[FILES_PATH_BYTES])
{
    int folder_len = (int)(files_base(audit) - audit);

    return snprintf(name, FILES_PATH_BYTES, "%.*s%s", folder_len, audit, base) < FILES_PATH_BYTES ? CODE_OK : CODE_LIMIT;
}

enum code files_name(const char *audit, int64_t time_us, uint64_t first, char name[FILES_PATH_BYTES])
{
    time_t seconds = (time_t)(time_us / 1000000);
    char base[NAME_MAX + 1], day[16];
    struct tm parts;

    if (gmtime_r(&seconds, &parts) == NULL || strftime(day, sizeof day, "%Y-%m-%d", &parts) == 0 ||
        snprintf(base, sizeof base, "%.*s-%s-%012llu.db", SPAN_ARG(stem_of(audit)), day, (unsigned long long)first) >=
            (int)sizeof base)
        return CODE_LIMIT;
    return in_folder(audit, base, name);
}

uint64_t files_first(const char *audit, const char *path)
{
    struct span stem = stem_of(audit);
    const char *base = files_base(path), *rest = base + stem.len;
    unsigned long long first = 0;
    int end = 0;

    if (strlen(base) <= stem.len || memcmp(base, stem.at, stem.len) != 0)
        return 0;
    if (sscanf(rest, "-%*4[0-9]-%*2[0-9]-%*2[0-9]-%20llu.db%n", &first, &end) != 1 || end == 0 || rest[end] != '\0')
        return 0;
    return first;
}

bool files_begin(struct files *files, const char *audit)
{
    char folder[FILES_PATH_BYTES];

    *files = (struct files){.audit = audit};
    if (in_folder(audit, "", folder) == CODE_OK)
        files->folder = opendir(folder[0] == '\0' ? "." : folder);
    return files->folder != NULL;
}

bool files_next(struct files *files)
{
    const struct dirent *entry;

    while ((entry = readdir(files->folder)) != NULL) {
        files->first = files_first(files->audit, entry->d_name);
        if (files->first != 0 && in_folder(files->audit, entry->d_name, files->path) == CODE_OK)
            return true;
    }
    return false;
}

void files_end(struct files *files)
{
    (void)closedir(files->folder);
}

void files_remove(const char *path)
{
    static const char *const around[] = {"-journal", "-shm", "-wal", ""};
    char name[FILES_PATH_BYTES];

    for (size_t i = 0; i < sizeof around / sizeof around[0]; i++)
        if (files_beside(path, around[i], name) == CODE_OK)
            (void)unlink(name);
}

/* ---- the link ---------------------------------------------------------------------------------------------------- */

enum code files_live(const char *audit, char live[FILES_PATH_BYTES])
{
    char target[NAME_MAX + 1];
    struct stat there;
    ssize_t len;

    live[0] = '\0';
    if (lstat(audit, &there) != 0)
        return errno == ENOENT ? CODE_NOT_FOUND : CODE_IO;
    if (!S_ISLNK(there.st_mode))
        return CODE_EXISTS;
    len = readlink(audit, target, sizeof target - 1);
    if (len <= 0)
        return CODE_IO;
    target[len] = '\0';
    if (strchr(target, '/') != NULL || files_first(audit, target) == 0 || in_folder(audit, target, live) != CODE_OK)
        return CODE_INVALID;
    return lstat(live, &there) != 0 ? CODE_NOT_FOUND : S_ISREG(there.st_mode) ? CODE_OK : CODE_INVALID;
}

enum code files_link(const char *audit, const char *file)
{
    char anew[FILES_PATH_BYTES];
    enum code code = files_beside(audit, ".link", anew);

    if (code != CODE_OK)
        return code;
    (void)unlink(anew);
    return symlink(files_base(file), anew) == 0 && rename(anew, audit) == 0 ? CODE_OK : CODE_IO;
}

/* ---- a file that is not written any more -------------------------------------------------------------------------- */

/* Places in the first 100 bytes of an SQLite file, which are the "Database Header" of its format. */
#define HEADER_BYTES 100
#define HEADER_WRITE_VERSION 18 /* 2: WAL */
#define HEADER_APPLICATION_ID 68

/* Whether the -wal file says that this is an audit's file: until the first checkpoint the file itself may say nothing. */
static bool is_ours_by_wal(const char *path)
{
    char wal[FILES_PATH_BYTES];
    struct db *db = NULL;
    struct stat there;
    int64_t id = 0;
    bool is_ours = files_beside(path, "-wal", wal) == CODE_OK && stat(wal, &there) == 0 && there.st_size > 0 &&
                   db_open(path, DB_PAST, &db, NULL) == CODE_OK &&
                   db_number(db, "PRAGMA application_id", NULL, 0, &id) == CODE_OK &&
                   id == AUDIT_APPLICATION_ID;

    db_close(&db);
    return is_ours;
}

static bool read_header(const char *path, struct stat *there, unsigned char header[HEADER_BYTES])
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK); /* a FIFO of that name would never open */
    uint32_t id = 0;
    bool is_read;

    if (fd < 0)
        return false;
    is_read = fstat(fd, there) == 0 && S_ISREG(there->st_mode) && read(fd, header, HEADER_BYTES) == HEADER_BYTES;
    (void)close(fd);
    for (size_t i = 0; is_read && i < 4; i++)
        id = id << 8 | header[HEADER_APPLICATION_ID + i];
    return is_read && (id == AUDIT_APPLICATION_ID || (id == 0 && is_ours_by_wal(path)));
}

bool files_has_log(const char *path)
{
    unsigned char header[HEADER_BYTES];
    struct stat there;

    return read_header(path, &there, header) && (header[HEADER_WRITE_VERSION] == 2 || db_stray(path, &there) != NULL);
}

/* A finished file with something beside it counts as unfinished: finishing it again removes that. */
bool files_is_unfinished(const char *path)
{
    unsigned char header[HEADER_BYTES];
    struct stat there;

    return read_header(path, &there, header) && ((there.st_mode & 0222) != 0 || files_has_log(path));
}

/* Opens a file so that its mode can be changed by the descriptor. Where its owner may not read it, he first gets that right. */
static int open_own(const char *path)
{
    const int flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW;
    int fd = open(path, flags);
    struct stat there;

    if (fd >= 0 || errno != EACCES || lstat(path, &there) != 0 || !S_ISREG(there.st_mode) ||
        chmod(path, (there.st_mode & 0777) | 0600) != 0)
        return fd;
    return open(path, flags);
}

static bool may_write(const char *path, bool may)
{
    int fd = open_own(path);
    struct stat there;
    bool done = fd >= 0 && fstat(fd, &there) == 0 &&
                fchmod(fd, may ? (there.st_mode & 0777) | 0600 : there.st_mode & 0555) == 0 && fsync(fd) == 0;

    if (fd >= 0)
        (void)close(fd);
    return done;
}

bool files_set_aside(const char *name)
{
    char aside[FILES_PATH_BYTES];

    return files_beside(name, ".aside", aside) == CODE_OK && rename(name, aside) == 0;
}

bool files_take_away(const char *name)
{
    return unlink(name) == 0 || files_set_aside(name);
}

void files_disarm(const char *path)
{
    const char *suffix;
    char name[FILES_PATH_BYTES], target[PATH_MAX];
    struct stat there;

    while ((suffix = db_stray(path, &there)) != NULL && realpath(path, target) != NULL &&
           files_beside(target, suffix, name) == CODE_OK && files_take_away(name))
        log_warn("audit", "%s: was beside the file and no part of it: it is removed (a folder: renamed to %s.aside), "
                 "and nothing of it was taken in", name, name);
}

enum code files_may_write(const char *path, bool may)
{
    static const char *const around[] = {"-wal", "-shm"};
    char name[FILES_PATH_BYTES];

    if (may)
        files_disarm(path);
    for (size_t i = 0; may && i < sizeof around / sizeof around[0]; i++)
        if (files_beside(path, around[i], name) == CODE_OK && access(name, F_OK) == 0)
            (void)may_write(name, true); /* where this fails, SQLite reports it */
    return may_write(path, may) ? CODE_OK : CODE_IO;
}

enum code files_absorb(const char *path, struct why *why)
{
    enum code code = db_absorb_wal(path, why);

    return code != CODE_OK || file_sync_folder(path) ? code : CODE_IO;
}

enum code files_finish(const char *path, struct why *why)
{
    enum code code = files_absorb(path, why);

    return code == CODE_OK ? files_may_write(path, false) : code;
}

/* ---- what is in them ---------------------------------------------------------------------------------------------- */

enum files_found files_look_into(const char *path)
{
    unsigned char header[HEADER_BYTES];
    struct stat there;
    struct db *db = NULL;
    int64_t rows = 0;
    enum code code;

    if (lstat(path, &there) != 0 || !S_ISREG(there.st_mode))
        return FOUND_STRANGER;
    if (there.st_size == 0)
        return FOUND_UNBEGUN;
    if (!read_header(path, &there, header))
        return FOUND_STRANGER;
    code = db_open(path, DB_LOOK, &db, NULL);
    if (code == CODE_OK)
        code = db_number(db, "SELECT EXISTS (SELECT 1 FROM decision) + EXISTS (SELECT 1 FROM event)", NULL, 0, &rows);
    db_close(&db);
    return code != CODE_OK ? FOUND_DAMAGED : rows > 0 ? FOUND_ROWS : FOUND_UNBEGUN;
}

void files_newest(const char *audit, char newest[FILES_PATH_BYTES])
{
    struct files files;
    uint64_t first = 0;

    newest[0] = '\0';
    if (!files_begin(&files, audit))
        return;
    while (files_next(&files))
        if (files.first > first && files_look_into(files.path) >= FOUND_DAMAGED) {
            first = files.first;
            (void)snprintf(newest, FILES_PATH_BYTES, "%s", files.path);
        }
    files_end(&files);
}
