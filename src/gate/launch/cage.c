/* SPDX-License-Identifier: Apache-2.0 */
/* From which folders the programs of `upstream: {command:}` are kept: those in which files of the gate stand that others may
 * not read, or that decide what it does. Where everybody may read them, a program may, too, and not change them. */
#include "launch/cage.h"

#include "base/log.h"
#include "base/mem.h"
#include "os/cage.h"
#include "os/file.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Keeps the real path of the folder: a link on the way to it can be changed from nowhere but the link's own folder. */
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
    kept[at].with_folders = kept[at].with_folders || with_folders;
    kept[at].may_read = may_read && (kept[at].may_read || at == cage->count);
    if (at < cage->count)
        return CODE_OK;
    kept[at].path = arena_dup(&conf->commands->arena, real, strlen(real));
    cage->count += kept[at].path != NULL;
    return kept[at].path != NULL ? CODE_OK : CODE_NOMEM;
}

/* Where its name is, and where the file itself is. */
static enum code keep_both(struct conf *conf, const char *file, bool may_read)
{
    char real[PATH_MAX];
    enum code code = keep(conf, file, false, may_read);

    return code == CODE_OK && realpath(file, real) != NULL ? keep(conf, real, false, may_read) : code;
}

/* By its user, who is the programs', too: in its place or in the way to it. What only others can write needs no cage. */
static bool can_be_changed(const char *file, const struct stat *about)
{
    char *folder = file_beside(file, SPAN_LIT(".")), real[PATH_MAX];
    bool can = about->st_uid == geteuid() || access(file, W_OK) == 0 || folder == NULL || access(folder, W_OK) == 0;

    mem_free(folder);
    return can || (realpath(file, real) != NULL && strcmp(real, file) != 0 && can_be_changed(real, about));
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
        return keep_both(conf, file, false);
    return can_be_changed(file, &about) ? keep_both(conf, file, true) : CODE_OK;
}

enum code cage_commands(struct conf *conf)
{
    const char *own[] = {conf->path, conf->store, conf->audit.database, conf->audit.checkpoints, conf->audit.checkpoint_key,
                         conf->audit.redact_key, conf->pipe.socket, conf->people.is_on ? conf->people.socket : NULL};
    size_t owns = sizeof own / sizeof own[0];
    enum code code = CODE_OK;

    if (conf->is_unconfined)
        return CODE_OK;
    conf->commands->cage.kept = arena_zalloc(&conf->commands->arena,
                                             2 * (owns + conf->file_count) * sizeof(struct cage_folder));
    if (conf->commands->cage.kept == NULL)
        return CODE_NOMEM;
    for (size_t i = 0; i < owns && code == CODE_OK; i++)
        if (own[i] != NULL)
            code = keep_both(conf, own[i], false);
    for (size_t i = 0; i < conf->file_count && code == CODE_OK; i++)
        code = keep_named(conf, conf->files[i]);
    return code;
}
