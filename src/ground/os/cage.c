/* SPDX-License-Identifier: Apache-2.0 */
#include "os/cage.h"

#include "os/sandbox_priv.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define READ_AND_RUN (LANDLOCK_READ_FILE | LANDLOCK_EXECUTE)

struct walk {
    const struct cage *cage;
    int ruleset;
    uint64_t all;
};

bool cage_can(void)
{
    return sandbox__landlock_version() > 0;
}

/* Whether `path` is `folder`, or within it. */
static bool is_at_or_in(const char *path, const char *folder)
{
    size_t len = strcmp(folder, "/") == 0 ? 0 : strlen(folder);

    return strncmp(path, folder, len) == 0 && (path[len] == '/' || path[len] == '\0');
}

static const struct cage_folder *kept_at(const struct cage *cage, const char *path)
{
    for (size_t i = 0; i < cage->count; i++)
        if (strcmp(cage->kept[i].path, path) == 0)
            return &cage->kept[i];
    return NULL;
}

static bool leads_to_kept(const struct cage *cage, const char *path)
{
    for (size_t i = 0; i < cage->count; i++)
        if (is_at_or_in(cage->kept[i].path, path))
            return true;
    return false;
}

/* Permits the entries of a folder that is kept or leads to a kept one. A link is passed over, since what it names has an
 * entry of its own. */
static bool allow_entries(const struct walk *walk, const char *folder)
{
    const struct cage_folder *kept = kept_at(walk->cage, folder);
    DIR *dir = opendir(folder);
    const struct dirent *entry;
    bool done = true;

    if (dir == NULL) /* the gate's user cannot list it, so that only what the program's arguments name in it is permitted */
        return errno == EACCES || errno == ENOENT || errno == ENOTDIR;
    while (done && (entry = readdir(dir)) != NULL) {
        char path[PATH_MAX];
        struct stat about;
        bool is_folder;

        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
            fstatat(dirfd(dir), entry->d_name, &about, AT_SYMLINK_NOFOLLOW) != 0 || S_ISLNK(about.st_mode) ||
            snprintf(path, sizeof path, "%s/%s", strcmp(folder, "/") == 0 ? "" : folder, entry->d_name) >= (int)sizeof path)
            continue;
        is_folder = S_ISDIR(about.st_mode);
        if (is_folder && leads_to_kept(walk->cage, path))
            done = allow_entries(walk, path);
        else if (kept == NULL || (is_folder && !kept->with_folders))
            done = sandbox__allow(walk->ruleset, dirfd(dir), entry->d_name, walk->all);
        else if (!is_folder && kept->may_read)
            done = sandbox__allow(walk->ruleset, dirfd(dir), entry->d_name, READ_AND_RUN & walk->all);
    }
    (void)closedir(dir);
    return done;
}

/* Follows a word of the command to the file that it names, link by link, as long as the way stays in folders where no
 * program in a cage can put another link. Sets *end: the file. Returns: false: the way leaves these folders, and so needs no
 * permission, or the word names nothing. */
static bool follow_word(const struct cage *cage, const char *folder, const char *word, char end[PATH_MAX])
{
    char rest[PATH_MAX], next[2 * PATH_MAX];
    char *more = NULL;

    if (snprintf(rest, sizeof rest, "%s/%s", word[0] == '/' ? "" : folder, word) >= (int)sizeof rest)
        return false;
    (void)snprintf(end, PATH_MAX, "/");
    for (const char *step = strtok_r(rest, "/", &more); step != NULL; step = strtok_r(NULL, "/", &more)) {
        if (!leads_to_kept(cage, end))
            return false;
        (void)snprintf(next, sizeof next, "%s/%s", end, step);
        if (realpath(next, end) == NULL)
            return false;
    }
    return true;
}

static bool allow_own(const struct walk *walk, const char *const *argv, const char *folder)
{
    char end[PATH_MAX], here[PATH_MAX];
    struct stat about;

    if (realpath(folder != NULL ? folder : ".", here) == NULL)
        return true; /* the start fails for it */
    for (size_t i = 0; argv[i] != NULL; i++)
        if ((i > 0 || strchr(argv[i], '/') != NULL) && follow_word(walk->cage, here, argv[i], end) && stat(end, &about) == 0 &&
            S_ISREG(about.st_mode) &&
            !sandbox__allow(walk->ruleset, AT_FDCWD, end, READ_AND_RUN & walk->all))
            return false;
    return folder == NULL || leads_to_kept(walk->cage, here) || sandbox__allow(walk->ruleset, AT_FDCWD, here, walk->all);
}

enum code cage_open(const struct cage *cage, const char *const *argv, const char *folder, int *fd, struct why *why)
{
    struct walk walk = {.cage = cage};

    *fd = -1;
    if (!cage_can())
        return CODE_OK;
    walk.ruleset = sandbox__ruleset_of_files(&walk.all);
    if (walk.ruleset >= 0 && sandbox__allow(walk.ruleset, AT_FDCWD, "/", LANDLOCK_READ_DIR) && allow_entries(&walk, "/") &&
        allow_own(&walk, argv, folder)) {
        *fd = walk.ruleset;
        return CODE_OK;
    }
    why_set(why, CODE_IO, "%s cannot be kept from the gate's files: %s", argv[0], strerror(errno));
    if (walk.ruleset >= 0)
        (void)close(walk.ruleset);
    return CODE_IO;
}

bool cage_enter(int fd)
{
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && sandbox__restrict_files(fd);
}
