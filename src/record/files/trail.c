/* SPDX-License-Identifier: Apache-2.0 */
#include "files/trail.h"

#include "files/reader.h"
#include "rows/row.h"
#include "rows/schema.h"
#include "base/mem.h"
#include "base/num.h"
#include "os/file.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILES_MAX 4096
#define LINKS_MAX 8

/* Reads the log's name from a checkpoint. The first file needs none, since the log is named after it. */
static void read_origin(struct db *db, struct trail_candidate *candidate)
{
    struct db_stmt *stmt;
    char hex[NOTE_ORIGIN_ID + 1] = {0};

    if (db_find(db, "SELECT note FROM checkpoint ORDER BY size LIMIT 1", NULL, 0, &stmt) == CODE_OK) {
        struct span rest, origin = span_cut(db_text(stmt, 0), '\n', &rest);

        (void)snprintf(candidate->origin, sizeof candidate->origin, "%.*s", SPAN_ARG(origin));
    }
    db_finalize(&stmt);
    if (candidate->origin[0] != '\0' || candidate->continues)
        return;
    if (db_find(db, "SELECT id FROM file WHERE length(id) = 16", NULL, 0, &stmt) == CODE_OK) {
        num_hex(db_blob(stmt, 0).at, NOTE_ORIGIN_ID / 2, hex);
        (void)snprintf(candidate->origin, sizeof candidate->origin, NOTE_ORIGIN "%s", hex);
    }
    db_finalize(&stmt);
}

static enum code read_file_row(struct db *db, struct trail_candidate *candidate)
{
    struct db_stmt *stmt;
    enum code code = db_find(db, "SELECT seq, previous FROM file", NULL, 0, &stmt);
    struct span previous;

    if (code == CODE_OK) {
        candidate->file.before_seq = db_int(stmt, 0);
        candidate->has_place = candidate->file.before_seq >= 0;
        previous = db_blob(stmt, 1);
        candidate->continues = previous.at != NULL || candidate->file.before_seq > 0;
        if (previous.len == DIGEST_BYTES)
            memcpy(candidate->previous, previous.at, DIGEST_BYTES);
    }
    db_finalize(&stmt);
    return code;
}

/* The times of a sealed file's calls; another has no index from which they can be read. */
static enum code read_times(struct db *db, struct trail_file *file)
{
    int64_t indexed = 0;
    enum code code = db_number(db, "SELECT count(*) FROM sqlite_schema WHERE name = 'decision_time'", NULL, 0, &indexed);

    file->first_us = INT64_MIN;
    file->last_us = INT64_MAX;
    if (code != CODE_OK || indexed == 0)
        return code;
    code = db_number(db, "SELECT coalesce(min(time_us), 1) FROM decision", NULL, 0, &file->first_us);
    return code == CODE_OK ? db_number(db, "SELECT coalesce(max(time_us), 0) FROM decision", NULL, 0, &file->last_us) : code;
}

static enum code look_into(struct db *db, struct trail_candidate *candidate)
{
    enum code code = read_file_row(db, candidate);

    if (code == CODE_OK)
        code = db_number(db, ROW_MAX_SEQ, NULL, 0, &candidate->file.last_seq);
    if (code == CODE_OK)
        code = read_times(db, &candidate->file);
    if (candidate->file.last_seq < candidate->file.before_seq) /* no row yet */
        candidate->file.last_seq = candidate->file.before_seq;
    if (code == CODE_OK)
        code = reader_hash(db, candidate->file.last_seq, candidate->head);
    candidate->is_damaged = code == CODE_INVALID || code == CODE_NOT_FOUND;
    read_origin(db, candidate);
    return candidate->is_damaged ? CODE_OK : code;
}

enum code trail_open_as(const char *path, enum db_mode mode, struct db **db, struct why *why)
{
    enum code code = db_open(path, mode, db, why);
    char newest[FILES_PATH_BYTES];

    if (code != CODE_NOT_FOUND)
        return code;
    files_newest(path, newest); /* a copy without the link */
    if (newest[0] != '\0')
        return why_set(why, code, "%s: leads to no file, but %s is there: name that one, or make %s a link to it", path, newest,
                       path);
    return code;
}

/* Takes: mode: DB_LOOK, or DB_PAST where that met a change. */
static enum code look_as(const char *path, enum db_mode mode, struct trail_candidate *candidate, bool *again, struct why *why)
{
    struct db *db;
    enum code code = trail_open_as(path, mode, &db, why);

    *again = false;
    *candidate = (struct trail_candidate){.continues = false};
    if (code != CODE_OK)
        return code;
    code = audit_take_views(db);
    if (code == CODE_OK)
        code = reader_is_trail(db, path, why);
    if (code == CODE_OK)
        code = look_into(db, candidate);
    *again = db_has_changed(db);
    if (code != CODE_OK)
        (void)reader_why(why, code, path, db);
    db_close(&db);
    return code;
}

enum code trail_look_at(const char *path, struct trail_candidate *candidate, struct why *why)
{
    struct why first = {""};
    bool again;
    enum code code = look_as(path, DB_LOOK, candidate, &again, &first);

    if (again)
        return look_as(path, DB_PAST, candidate, &again, why);
    if (code != CODE_OK)
        *why = first;
    return code;
}

static bool is_database(const char *name)
{
    size_t len = strlen(name);

    return len > 3 && strcmp(name + len - 3, ".db") == 0;
}

struct beside {
    struct trail_candidate *list;
    size_t count, room;
};

/* Whether both are one file, as when one is a link to the other. */
static bool is_same(const char *one, const char *other)
{
    struct stat a, b;

    return stat(one, &a) == 0 && stat(other, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* Whether the names are alike before the first '-' or '.'. */
static bool is_named_alike(const char *path, const char *name)
{
    size_t len = strcspn(files_base(path), "-.");

    return strncmp(files_base(path), name, len) == 0 && strcspn(name, "-.") == len;
}

/* A file that somebody has locked, such as a gate that finishes it, may or may not belong to the trail. Where its name is alike
 * that is an error, since the trail would seem to have a gap without it. */
static enum code add_beside(struct beside *beside, const char *path, const char *name, struct why *why)
{
    struct why passed_over = {""};
    struct trail_candidate *candidate = mem_room(beside->list, &beside->room, beside->count + 1, sizeof *candidate);
    char *full;
    enum code code;

    if (candidate == NULL)
        return CODE_NOMEM;
    beside->list = candidate;
    full = file_beside(path, span_text(name));
    if (full == NULL)
        return CODE_NOMEM;
    if (is_same(path, full)) {
        mem_free(full);
        return CODE_OK;
    }
    candidate = &beside->list[beside->count];
    code = trail_look_at(full, candidate, &passed_over);
    candidate->file.path = full;
    if (code == CODE_BUSY && is_named_alike(path, name))
        (void)why_set(why, code, "%s: somebody has it to himself, as a gate that finishes it; ask again in a moment", full);
    else if (code != CODE_NOMEM && code != CODE_OK)
        code = CODE_NOT_FOUND;
    if (code == CODE_OK)
        beside->count++;
    else
        mem_free(full);
    return code == CODE_NOT_FOUND ? CODE_OK : code;
}

static int by_path(const void *left, const void *right)
{
    const struct trail_candidate *a = left, *b = right;

    return strcmp(a->file.path, b->file.path);
}

static enum code look_around(const char *path, struct beside *beside, struct why *why)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash == NULL ? mem_dup(".", 1) : mem_dup(path, slash == path ? 1 : (size_t)(slash - path));
    const struct dirent *entry;
    enum code code = CODE_OK;
    DIR *dir;

    if (folder == NULL)
        return CODE_NOMEM;
    dir = opendir(folder);
    if (dir == NULL)
        code = why_set(why, CODE_IO, "%s: %s; --all needs to read the folder", folder, strerror(errno));
    while (code == CODE_OK && beside->count < FILES_MAX && (entry = readdir(dir)) != NULL)
        if (is_database(entry->d_name))
            code = add_beside(beside, path, entry->d_name, why);
    if (dir != NULL)
        (void)closedir(dir);
    mem_free(folder);
    if (code == CODE_OK && beside->count > 1) /* so that of two copies always the same one is taken */
        qsort(beside->list, beside->count, sizeof beside->list[0], by_path);
    return code;
}

static struct trail_candidate *find_before(const struct beside *beside, const struct trail_candidate *after)
{
    for (size_t i = 0; i < beside->count; i++) {
        struct trail_candidate *candidate = &beside->list[i];

        if (candidate->file.path != NULL && !candidate->is_damaged && candidate->file.last_seq == after->file.before_seq &&
            candidate->file.before_seq < after->file.before_seq &&
            memcmp(candidate->head, after->previous, DIGEST_BYTES) == 0)
            return candidate;
    }
    return NULL;
}

/* Where the file before is not here: the nearest older file of the same log; of copies the longest. */
static struct trail_candidate *find_island(const struct beside *beside, const struct trail_candidate *after, const char *origin)
{
    struct trail_candidate *nearest = NULL;

    for (size_t i = 0; i < beside->count && origin[0] != '\0'; i++) {
        struct trail_candidate *candidate = &beside->list[i];
        const struct trail_file *file = &candidate->file;

        if (file->path == NULL || strcmp(candidate->origin, origin) != 0 || !candidate->has_place ||
            file->last_seq <= file->before_seq || file->last_seq > after->file.before_seq)
            continue;
        if (nearest == NULL || file->last_seq > nearest->file.last_seq ||
            (file->last_seq == nearest->file.last_seq && file->before_seq < nearest->file.before_seq))
            nearest = candidate;
    }
    return nearest;
}

bool trail_gap(const struct trail *trail, size_t at, int64_t *first, int64_t *last)
{
    *first = (at > 0 ? trail->files[at - 1].last_seq : 0) + 1;
    *last = trail->files[at].before_seq;
    return !trail->files[at].follows;
}

/* Lists the files from the named one back to the first, then turns the list round. */
static enum code link_up(struct trail *trail, struct trail_candidate *last, struct beside *beside)
{
    const struct trail_candidate *at = last;
    int64_t first, missing_to;

    trail->files = mem_array(beside->count + 1, sizeof trail->files[0]);
    if (trail->files == NULL)
        return CODE_NOMEM;
    trail->files[trail->count++] = last->file;
    last->file.path = NULL;
    while (at->continues && trail->count <= beside->count) {
        struct trail_candidate *before = find_before(beside, at);

        trail->files[trail->count - 1].follows = before != NULL;
        if (before == NULL)
            before = find_island(beside, at, last->origin);
        if (before == NULL)
            break;
        trail->files[trail->count++] = before->file;
        before->file.path = NULL;
        at = before;
    }
    if (!at->continues)
        trail->files[trail->count - 1].follows = true;
    for (size_t i = 0; i < trail->count / 2; i++) {
        struct trail_file file = trail->files[i];

        trail->files[i] = trail->files[trail->count - 1 - i];
        trail->files[trail->count - 1 - i] = file;
    }
    for (size_t i = 0; i < trail->count; i++)
        if (trail_gap(trail, i, &first, &missing_to))
            trail->missing_to = missing_to;
    return CODE_OK;
}

/* Follows the link to the file of now, so that the same one is opened later: after a rotation the link leads elsewhere. */
static char *follow_links(const char *path)
{
    char *at = mem_dup(path, strlen(path)), *next, target[PATH_MAX];
    ssize_t len;

    for (int i = 0; i < LINKS_MAX && at != NULL && (len = readlink(at, target, sizeof target)) > 0; i++) {
        next = file_beside(at, span_of(target, (size_t)len));
        mem_free(at);
        at = next;
    }
    return at;
}

enum code trail_find(const char *path, bool all, struct trail *trail, struct why *why)
{
    struct trail_candidate last = {.continues = false};
    struct beside beside = {0};
    char *file = follow_links(path);
    enum code code = file != NULL ? trail_look_at(file, &last, why) : CODE_NOMEM;

    *trail = (struct trail){0};
    last.file.path = file;
    if (code == CODE_OK && all && last.continues)
        code = look_around(file, &beside, why);
    if (code == CODE_OK)
        code = link_up(trail, &last, &beside);
    for (size_t i = 0; i < beside.count; i++)
        mem_free(beside.list[i].file.path);
    mem_free(beside.list);
    mem_free(last.file.path);
    if (code == CODE_NOMEM)
        (void)why_set(why, code, "%s: out of memory", path);
    return code;
}

bool trail_file_reaches(const struct trail_file *file, int64_t since_us, int64_t until_us)
{
    return (since_us == 0 || file->last_us >= since_us) && (until_us == 0 || file->first_us < until_us);
}

void trail_fini(struct trail *trail)
{
    for (size_t i = 0; i < trail->count; i++)
        mem_free(trail->files[i].path);
    mem_free(trail->files);
    *trail = (struct trail){0};
}

void trail_settle(const char *path, char settled[TRAIL_PATH_BYTES])
{
    settled[0] = '\0';
    if (access(path, F_OK) != 0)
        files_newest(path, settled);
    if (settled[0] == '\0')
        (void)snprintf(settled, TRAIL_PATH_BYTES, "%s", path);
}

bool trail_goes_on(const char *live, const char *other)
{
    struct trail_candidate one, two;
    struct why why = {""};

    if (trail_look_at(live, &one, &why) != CODE_OK || trail_look_at(other, &two, &why) != CODE_OK)
        return true; /* a person has to judge what cannot be read */
    return two.file.before_seq >= one.file.last_seq && (one.origin[0] == '\0' || two.origin[0] == '\0' ||
                                                        strcmp(one.origin, two.origin) == 0);
}

enum code trail_open(const char *path, struct db **db, struct why *why)
{
    return trail_open_as(path, DB_PAST, db, why);
}

enum code trail_row_hash(const struct trail_file *file, int64_t seq, unsigned char hash[DIGEST_BYTES], struct why *why)
{
    struct db *db;
    enum code code = trail_open(file->path, &db, why);

    if (code != CODE_OK)
        return code;
    code = seq == file->before_seq ? reader_previous(db, seq, hash) : reader_hash(db, seq, hash);
    if (code != CODE_OK)
        (void)why_set(why, code, "%s: its row %lld cannot be read", file->path, (long long)seq);
    db_close(&db);
    return code;
}

int64_t trail_begins_us(const char *path)
{
    struct trail trail = {.count = 0};
    struct db_stmt *row = NULL;
    struct db *db = NULL;
    struct why why = {""};
    int64_t first_us = INT64_MIN;

    if (trail_find(path, true, &trail, &why) == CODE_OK && trail.count > 0 && trail.files[0].before_seq > 0 &&
        trail_open(trail.files[0].path, &db, &why) == CODE_OK &&
        db_find(db, "SELECT time_us FROM decision ORDER BY seq LIMIT 1", NULL, 0, &row) == CODE_OK)
        first_us = db_int(row, 0);
    db_finalize(&row);
    db_close(&db);
    trail_fini(&trail);
    return first_us;
}
