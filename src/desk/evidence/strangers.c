/* SPDX-License-Identifier: Apache-2.0 */
#include "evidence/strangers.h"

#include "base/mem.h"
#include "base/span.h"
#include "files/files.h"
#include "os/file.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

struct looking {
    const struct trail *trail;
    const char *newest; /* the trail's last file */
    char origin[NOTE_ORIGIN_BYTES]; /* of its log */
    bool is_link;       /* it was asked for by the link to it, of this name: */
    const char *link;
    struct strangers *found;
};

/* Takes: path: becomes the list's. */
static enum code add(struct looking *looking, char *path, const char *what)
{
    struct strangers *found = looking->found;
    struct stranger *list = path != NULL ? mem_resize(found->list, (found->count + 1) * sizeof list[0]) : NULL;

    if (list == NULL) {
        mem_free(path);
        return CODE_NOMEM;
    }
    found->list = list;
    list[found->count].path = path;
    (void)snprintf(list[found->count++].what, sizeof list[0].what, "%s", what);
    return CODE_OK;
}

static bool is_in(const struct trail *trail, const struct stat *file)
{
    struct stat there;

    for (size_t i = 0; i < trail->count; i++)
        if (stat(trail->files[i].path, &there) == 0 && there.st_dev == file->st_dev && there.st_ino == file->st_ino)
            return true;
    return false;
}

/* Named as the trail's own files are, by what stands before the first '-' or '.'. */
static bool is_named_alike(const struct looking *looking, const char *name)
{
    const char *slash = strrchr(looking->newest, '/'), *base = slash != NULL ? slash + 1 : looking->newest;
    size_t len = strcspn(base, "-.");

    return strncmp(base, name, len) == 0 && strcspn(name, "-.") == len;
}

/* "-2026-11-22-000000000001.db" at the end, as the audit's files have it. */
static bool is_dated(const char *name)
{
    const char *number = strrchr(name, '-');
    int end = 0;

    return number != NULL && number - name > 10 &&
           sscanf(number - 11, "-%*4[0-9]-%*2[0-9]-%*2[0-9]-%*20[0-9].db%n", &end) == 0 && end > 0 && number[end - 11] == '\0';
}

/* Takes: path: becomes the list's, or is freed. */
static enum code judge(struct looking *looking, char *path, const char *name)
{
    const struct trail_file *last = &looking->trail->files[looking->trail->count - 1];
    struct trail_candidate candidate;
    char what[sizeof looking->found->list[0].what];
    struct why passed_over = {""};
    enum code code = trail_look_at(path, &candidate, &passed_over);
    bool is_ours = strcmp(candidate.origin, looking->origin) == 0;

    if (code == CODE_OK && candidate.is_damaged)
        return add(looking, path, "a file of an audit that is damaged");
    if (code == CODE_OK && (!is_ours || looking->is_link || candidate.file.before_seq < last->last_seq)) {
        (void)snprintf(what, sizeof what,
                       is_ours ? "of this log, %s, and no part of the trail: it has rows %lld to %lld once more"
                               : "of another log, %s (rows %lld to %lld)", candidate.origin,
                       (long long)candidate.file.before_seq + 1, (long long)candidate.file.last_seq);
        return add(looking, path, what);
    }
    if (code != CODE_OK && code != CODE_BUSY && code != CODE_NOT_FOUND && is_dated(name) && is_named_alike(looking, name))
        return add(looking, path, "named as a file of this audit, and is none");
    mem_free(path);
    return code == CODE_NOMEM ? code : CODE_OK;
}

/* What is no file and beside no audit's. A folder or socket may be anybody's, unless it is named as the audit's files are. */
static const char *kind_of(const struct looking *looking, const char *name, const struct stat *there)
{
    if (S_ISREG(there->st_mode) || S_ISLNK(there->st_mode))
        return NULL;
    if (S_ISSOCK(there->st_mode) && span_ends_with(span_text(name), SPAN_LIT(FILES_HANDOVER)))
        return NULL; /* of the gate that runs, or that was killed */
    if ((S_ISDIR(there->st_mode) || S_ISSOCK(there->st_mode)) && !is_named_alike(looking, name))
        return NULL;
    return S_ISDIR(there->st_mode) ? "a folder, and no file" : "no file";
}

/* What belongs to a database that is gone. */
static enum code look_at_part(struct looking *looking, struct span name)
{
    static const char *const ends[] = {"-journal", "-wal", "-shm"};
    struct stat there;
    char *file = NULL;

    for (size_t i = 0; i < sizeof ends / sizeof ends[0] && file == NULL; i++)
        if (span_ends_with(name, span_text(ends[i])) && is_named_alike(looking, name.at))
            file = file_beside(looking->newest, span_part(name, 0, name.len - strlen(ends[i])));
    if (file == NULL || lstat(file, &there) == 0 || errno != ENOENT) {
        mem_free(file);
        return CODE_OK;
    }
    mem_free(file);
    return add(looking, file_beside(looking->newest, name), "left of a file that is not here");
}

static enum code look_at(struct looking *looking, const char *name)
{
    struct span text = span_text(name);
    struct stat there;
    const char *what;
    char *path;

    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return CODE_OK;
    if (looking->is_link && strcmp(name, looking->link) == 0)
        return CODE_OK; /* to the file that is written, whichever that is by now */
    path = file_beside(looking->newest, text);
    if (path == NULL)
        return CODE_NOMEM;
    if (!span_ends_with(text, SPAN_LIT(".db"))) {
        what = lstat(path, &there) == 0 ? kind_of(looking, name, &there) : NULL;
        if (what != NULL)
            return add(looking, path, what);
        mem_free(path);
        return look_at_part(looking, text);
    }
    if (stat(path, &there) == 0 ? !S_ISREG(there.st_mode) : lstat(path, &there) == 0)
        return add(looking, path, S_ISDIR(there.st_mode) ? "a folder, and no file" : "no file");
    if (is_in(looking->trail, &there)) {
        mem_free(path);
        return CODE_OK;
    }
    return judge(looking, path, name);
}

enum code strangers_find(const char *path, const struct trail *trail, struct strangers *strangers, struct why *why)
{
    struct looking looking = {.trail = trail, .newest = trail->files[trail->count - 1].path, .found = strangers};
    struct trail_candidate newest;
    const struct dirent *entry;
    enum code code = trail_look_at(looking.newest, &newest, why);
    char *folder = file_beside(looking.newest, SPAN_LIT("."));
    DIR *dir = folder != NULL ? opendir(folder) : NULL;

    *strangers = (struct strangers){0};
    looking.is_link = strcmp(path, looking.newest) != 0;
    looking.link = strrchr(path, '/') != NULL ? strrchr(path, '/') + 1 : path;
    memcpy(looking.origin, newest.origin, sizeof looking.origin);
    if (code == CODE_OK && dir == NULL)
        code = why_set(why, CODE_IO, "%s: its folder cannot be read: %s", looking.newest, strerror(errno));
    while (code == CODE_OK && (entry = readdir(dir)) != NULL)
        code = look_at(&looking, entry->d_name);
    if (dir != NULL)
        (void)closedir(dir);
    mem_free(folder);
    return code;
}

void strangers_fini(struct strangers *strangers)
{
    for (size_t i = 0; i < strangers->count; i++)
        mem_free(strangers->list[i].path);
    mem_free(strangers->list);
    *strangers = (struct strangers){0};
}
