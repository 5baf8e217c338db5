/* SPDX-License-Identifier: Apache-2.0 */
#include "files/files_live.h"

#include "files/trail.h"
#include "base/log.h"
#include "db/db.h"
#include "os/file.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

/* Looks at the files that begin behind the live one. A file without rows is left from a rotation that did not end, and is
 * removed. A file that goes on from the live one means that the link was set back, which is an error. Files of other logs
 * and copies do not stop the start: `audit verify --all` names them. */
static enum code look_behind(const char *audit, const char *live, struct why *why)
{
    uint64_t first = files_first(audit, live);
    struct files files;
    enum code code = CODE_OK;

    if (!files_begin(&files, audit))
        return why_set(why, CODE_IO, "%s: its folder cannot be read: %s", audit, strerror(errno));
    while (code == CODE_OK && files_next(&files)) {
        enum files_found found = files.first > first ? files_look_into(files.path) : FOUND_STRANGER;

        if (found == FOUND_UNBEGUN)
            files_remove(files.path);
        else if (found >= FOUND_DAMAGED && trail_goes_on(live, files.path))
            code = why_set(why, CODE_INVALID, "%s is a link to %s, but %s begins behind it: link to the newest, or take "
                           "that one away", audit, files_base(live), files_base(files.path));
        else if (files.first > first)
            log_warn("audit", "%s: has the name of a file behind the live one, and is none; it is passed over", files.path);
    }
    files_end(&files);
    return code;
}

/* Reads when the file was made and which row stands before its first. Returns: false: it is no file of an audit. */
static bool read_place(const char *path, int64_t *created_us, int64_t *before)
{
    struct db *db;
    enum code code = db_open(path, DB_PAST, &db, NULL);

    if (code == CODE_OK)
        code = db_number(db, "SELECT created_us FROM file", NULL, 0, created_us);
    if (code == CODE_OK)
        code = db_number(db, "SELECT seq FROM file", NULL, 0, before);
    db_close(&db);
    return code == CODE_OK;
}

/* The audit's path is a file and no link, as a copy of the link becomes one. Nothing says that it is the newest
 * file, so that a person has to settle it; only an empty file is removed. */
static enum code settle_plain(const char *audit, struct why *why)
{
    char wal[FILES_PATH_BYTES], named[FILES_PATH_BYTES];
    int64_t created_us = 0, before = 0;
    struct stat there;
    enum code code = files_beside(audit, "-wal", wal);

    if (code == CODE_OK && stat(audit, &there) == 0 && S_ISREG(there.st_mode) && there.st_size == 0) {
        if (stat(wal, &there) == 0 && there.st_size > 0)
            return why_set(why, CODE_INVALID, "%s is empty, but the last rows of one are in %s: put the file back, or take "
                           "both away", audit, wal);
        files_remove(audit);
        return CODE_NOT_FOUND;
    }
    if (code != CODE_OK || !read_place(audit, &created_us, &before) ||
        files_name(audit, created_us, (uint64_t)before + 1, named) != CODE_OK)
        return why_set(why, CODE_INVALID, "%s: is no audit trail; name another file", audit);
    if (lstat(named, &there) == 0)
        return why_set(why, CODE_EXISTS, "%s is a file, and so is %s, which begins with the same row: a copy of the link "
                       "became one (`cp -a` copies links). Take %s away: the start makes it a link to the newest", audit,
                       files_base(named), audit);
    return why_set(why, CODE_EXISTS, "%s is a file, and has to be a link to the newest of its trail's files: a copy of the "
                   "link became one (`cp -a` copies links). Call it %s: the start makes the link", audit, files_base(named));
}

/* The link names no file. Where a -wal file with the last rows is there, the opening reports that; else the
 * newest file beside it is taken. */
static enum code find_lost(const char *audit, char live[FILES_PATH_BYTES])
{
    char wal[FILES_PATH_BYTES];
    struct stat there;

    if (live[0] != '\0' && files_beside(live, "-wal", wal) == CODE_OK && stat(wal, &there) == 0 && there.st_size > 0)
        return CODE_OK;
    files_newest(audit, live);
    if (live[0] != '\0')
        log_warn("audit", "%s: named no file; it is a link to %s from now on, the newest beside it", audit, files_base(live));
    return live[0] != '\0' ? CODE_OK : CODE_NOT_FOUND;
}

/* What a rotation that did not end has left. The file that it was making had no rows; where one has some, somebody has given it
 * that name. */
static void take_half_away(const char *audit)
{
    static const char *const halves[] = {".link", FILES_NEXT, FILES_NEXT "-journal", FILES_NEXT "-wal", FILES_NEXT "-shm"};
    char half[FILES_PATH_BYTES];
    bool has_rows = files_beside(audit, FILES_NEXT, half) == CODE_OK && files_look_into(half) == FOUND_ROWS;

    if (has_rows)
        log_warn("audit", "%s: has rows, and the name of a file that is being made: it is renamed to %s.aside", half, half);
    for (size_t i = 0; i < sizeof halves / sizeof halves[0]; i++)
        if (files_beside(audit, halves[i], half) == CODE_OK)
            (void)(has_rows ? files_set_aside(half) : files_take_away(half));
}

enum code files_begin_live(const char *audit, char live[FILES_PATH_BYTES], struct why *why)
{
    enum code found = files_live(audit, live), code;

    take_half_away(audit);
    files_disarm(audit);
    if (found == CODE_OK)
        return look_behind(audit, live, why);
    if (found == CODE_INVALID)
        return why_set(why, found, "%s: is a link to something else than a file of its own; name that one in "
                       "audit.database", audit);
    if (found == CODE_IO)
        return why_set(why, found, "%s: %s", audit, strerror(errno));
    code = found == CODE_EXISTS ? settle_plain(audit, why) : CODE_NOT_FOUND;
    if (code == CODE_NOT_FOUND)
        code = find_lost(audit, live);
    if (code == CODE_NOT_FOUND) {
        live[0] = '\0';
        return CODE_OK;
    }
    if (code == CODE_OK && (files_link(audit, live) != CODE_OK || !file_sync_folder(audit)))
        code = why_set(why, CODE_IO, "%s: cannot be made a link to %s: %s", audit, live, strerror(errno));
    return code == CODE_OK ? look_behind(audit, live, why) : code;
}
