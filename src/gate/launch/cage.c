/* SPDX-License-Identifier: Apache-2.0 */
/* From which folders the programs of `upstream: {command:}` are kept: those in which files of the gate stand that others may
 * not read, or that decide what it does. Where everybody may read them, a program may, too, and not change them. */
#include "launch/cage.h"

#include "base/log.h"
#include "base/mem.h"
#include "os/cage.h"
#include "os/file.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINKS_MAX 40 /* as the kernel follows */

/* Keeps the real path of the folder in which the last step of the way stands. */
static enum code keep(struct conf *conf, const char *file, bool with_folders, bool may_read)
{
    struct cage *cage = &conf->commands->cage;
    struct cage_folder *kept = (struct cage_folder *)(uintptr_t)cage->kept;
    char *folder = file_beside(file, SPAN_LIT(".")), real[PATH_MAX];
    bool is_there = folder != NULL && realpath(folder, real) != NULL;
    size_t at = 0;

    if (folder == NULL)
        return CODE_NOMEM;
    mem_free(folder);
    if (!is_there)
        return CODE_OK;
    while (at < cage->count && strcmp(kept[at].path, real) != 0)
        at++;
    if (at == cage->count && (at & (at - 1)) == 0) { /* the list has room for a power of two */
        kept = arena_zalloc(&conf->commands->arena, (at > 0 ? 2 * at : 1) * sizeof *kept);
        if (kept == NULL)
            return CODE_NOMEM;
        if (at > 0)
            memcpy(kept, cage->kept, at * sizeof *kept);
        cage->kept = kept;
    }
    kept[at].with_folders = kept[at].with_folders || with_folders;
    kept[at].may_read = may_read && (kept[at].may_read || at == cage->count);
    if (at < cage->count)
        return CODE_OK;
    kept[at].path = arena_dup(&conf->commands->arena, real, strlen(real));
    cage->count += kept[at].path != NULL;
    return kept[at].path != NULL ? CODE_OK : CODE_NOMEM;
}

/* ---- the way to a file: through links, of which the last leads to it ---- */

/* Returns: how long the way is up to its first link, with it; 0: no step of it is a link. */
static size_t first_link(char *way)
{
    struct stat about;
    bool is_link = false;
    size_t len = 0;

    do {
        char behind;

        len += 1 + strcspn(way + len + 1, "/");
        behind = way[len];
        way[len] = '\0';
        is_link = lstat(way, &about) == 0 && S_ISLNK(about.st_mode);
        way[len] = behind;
    } while (!is_link && way[len] != '\0');
    return is_link ? len : 0;
}

/* Puts in place of the link what it names. Takes: len: first_link. Returns: false: it cannot be read, or is too long. */
static bool follow_link(char way[PATH_MAX], size_t len)
{
    char target[PATH_MAX], rest[PATH_MAX];
    size_t folder = len;
    ssize_t size;

    (void)snprintf(rest, sizeof rest, "%s", way + len);
    way[len] = '\0';
    size = readlink(way, target, sizeof target - 1);
    if (size <= 0)
        return false;
    target[size] = '\0';
    while (folder > 0 && way[folder - 1] != '/')
        folder--;
    folder = target[0] == '/' ? 0 : folder;
    return (size_t)snprintf(way + folder, PATH_MAX - folder, "%s%s", target, rest) < PATH_MAX - folder;
}

/* Keeps the file's folder, and each in which a link of the way to it stands, since whoever changes a link leads the way
 * elsewhere. */
static enum code keep_way(struct conf *conf, const char *file, bool may_read)
{
    char way[PATH_MAX];
    enum code code = CODE_OK;

    if (file[0] == '\0' || snprintf(way, sizeof way, "%s", file) >= (int)sizeof way)
        return CODE_OK; /* there is no such file */
    for (int links = 0; links < LINKS_MAX; links++) {
        size_t len = first_link(way);
        char behind = way[len];

        if (len == 0)
            break;
        way[len] = '\0';
        code = keep(conf, way, false, may_read);
        way[len] = behind;
        if (code != CODE_OK || !follow_link(way, len))
            return code;
    }
    return keep(conf, way, false, may_read);
}

static bool is_ours(const char *path)
{
    struct stat about;

    return access(path, W_OK) == 0 || (stat(path, &about) == 0 && about.st_uid == geteuid());
}

/* Whether the gate's user, as whom the programs run, too, can change the file, or any folder of the way to it, where another
 * folder or link could be put. What only other users can write needs no cage. */
static bool can_be_changed(const char *file)
{
    char way[PATH_MAX];

    if (file[0] == '\0' || snprintf(way, sizeof way, "%s", file) >= (int)sizeof way)
        return true;
    for (int links = 0; links < LINKS_MAX; links++) {
        size_t len = first_link(way), end = len > 0 ? len : strlen(way);

        if (way[0] == '/' ? is_ours("/") : is_ours("."))
            return true;
        for (size_t i = 1; i < end; i++) {
            bool can;

            if (way[i] != '/')
                continue;
            way[i] = '\0';
            can = is_ours(way);
            way[i] = '/';
            if (can)
                return true;
        }
        if (len == 0)
            return is_ours(way);
        if (!follow_link(way, len))
            return true;
    }
    return true;
}

/* A name with {tenant} or {principal} in it stands for many files, so that its folder is kept with all that are in it. */
static enum code keep_named(struct conf *conf, const char *file)
{
    struct stat about;

    if (strchr(file, '{') != NULL)
        return keep(conf, file, true, false);
    if (stat(file, &about) != 0 || !S_ISREG(about.st_mode))
        return CODE_OK;
    if ((about.st_mode & S_IROTH) == 0)
        return keep_way(conf, file, false);
    return can_be_changed(file) ? keep_way(conf, file, true) : CODE_OK;
}

enum code cage_commands(struct conf *conf)
{
    const char *own[] = {conf->path, conf->store, conf->audit.database, conf->audit.checkpoints, conf->audit.checkpoint_key,
                         conf->audit.redact_key, conf->pipe.socket, conf->people.is_on ? conf->people.socket : NULL};
    size_t owns = sizeof own / sizeof own[0];
    enum code code = CODE_OK;

    if (conf->is_unconfined)
        return CODE_OK;
    for (size_t i = 0; i < owns && code == CODE_OK; i++)
        if (own[i] != NULL)
            code = keep_way(conf, own[i], false);
    for (size_t i = 0; i < conf->file_count && code == CODE_OK; i++)
        code = keep_named(conf, conf->files[i]);
    return code;
}
