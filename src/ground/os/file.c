/* SPDX-License-Identifier: Apache-2.0 */
#include "os/file.h"

#include "base/mem.h"
#include "os/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

static enum code cannot(struct why *why, const char *path, const char *what, int error)
{
    return why_set(why, error == ENOENT ? CODE_NOT_FOUND : CODE_IO, "%s cannot be %s: %s%s", path, what,
                   strerror(error), sandbox_hint(path, error));
}

static enum code check_kind(const struct stat *stat, const char *path, enum file_kind kind, struct why *why)
{
    if (!S_ISREG(stat->st_mode))
        return why_set(why, CODE_DENIED, "%s is not a regular file; name a file", path);
    if (kind != FILE_ANY && (stat->st_mode & (S_IWGRP | S_IWOTH)))
        return why_set(why, CODE_DENIED, "%s may be written by others than its owner (mode %04o); chmod go-w it", path,
                       stat->st_mode & 07777u);
    if (kind == FILE_SECRET && (stat->st_mode & (S_IRGRP | S_IROTH)))
        return why_set(why, CODE_DENIED, "%s may be read by others than its owner (mode %04o); chmod go-rwx it", path,
                       stat->st_mode & 07777u);
    return CODE_OK;
}

static enum code too_large(struct why *why, const char *path, size_t max_bytes)
{
    return why_set(why, CODE_LIMIT, "%s is larger than %zu bytes; make it smaller", path, max_bytes);
}

/* Makes room for the whole file at once, so that no copy of a secret stays behind in blocks that the buffer outgrew. */
static enum code make_room(const struct stat *stat, const char *path, size_t max_bytes, struct buf *out,
                           struct why *why)
{
    enum code code = CODE_OK;
    char *ignored;

    if ((uint64_t)stat->st_size > max_bytes)
        return too_large(why, path, max_bytes);
    if (stat->st_size > 0)
        code = buf_reserve(out, (size_t)stat->st_size, &ignored);
    return code == CODE_OK ? code : why_set(why, code, "%s cannot be read: %s", path, code_text(code));
}

/* Reads to the end, whatever size the file was said to have: it may grow meanwhile. */
static enum code read_all(int fd, const char *path, size_t max_bytes, struct buf *out, struct why *why)
{
    struct buf_mark begin = buf_mark(out);
    char chunk[16384];
    enum code code = CODE_OK;

    while (code == CODE_OK) {
        ssize_t n = read(fd, chunk, sizeof chunk);

        if (n == 0)
            break;
        if (n == -1 && errno == EINTR)
            continue;
        if (n == -1)
            code = cannot(why, path, "read", errno);
        else if ((size_t)n > max_bytes - (buf_len(out) - begin.len))
            code = too_large(why, path, max_bytes);
        else if ((code = buf_add(out, chunk, (size_t)n)) != CODE_OK)
            (void)why_set(why, code, "%s cannot be read: %s", path, code_text(code));
    }
    mem_wipe(chunk, sizeof chunk);
    if (code != CODE_OK)
        buf_rewind(out, begin);
    return code;
}

enum code file_read(const char *path, enum file_kind kind, size_t max_bytes, struct buf *out, struct why *why)
{
    struct stat stat;
    enum code code;
    /* O_NONBLOCK: opening a FIFO must not wait for a writer; it is refused below. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

    if (fd == -1)
        return cannot(why, path, "opened", errno);
    if (fstat(fd, &stat) == -1)
        code = cannot(why, path, "looked at", errno);
    else
        code = check_kind(&stat, path, kind, why);
    if (code == CODE_OK)
        code = make_room(&stat, path, max_bytes, out, why);
    if (code == CODE_OK)
        code = read_all(fd, path, max_bytes, out, why);
    close(fd);
    return code;
}

static bool write_all(int fd, struct span content)
{
    while (content.len > 0) {
        ssize_t n = write(fd, content.at, content.len);

        if (n == -1 && errno == EINTR)
            continue;
        if (n == -1)
            return false;
        content = span_part(content, (size_t)n, content.len);
    }
    return true;
}

/* A new name is durable only when its folder is synced, too. */
bool file_sync_folder(const char *path)
{
    char *folder = file_beside(path, SPAN_LIT("."));
    bool done = false;
    int fd;

    if (folder == NULL) {
        errno = ENOMEM;
        return false;
    }
    fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd != -1) {
        done = fsync(fd) == 0;
        close(fd);
    }
    mem_free(folder);
    return done;
}

int file_make(const char *path, int flags, unsigned mode)
{
    /* O_NONBLOCK: whoever writes to a FIFO that somebody has put there waits for no reader. */
    return open(path, flags | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK, (mode_t)mode);
}

enum code file_create(const char *path, unsigned mode, struct span content, struct why *why)
{
    int fd = file_make(path, O_WRONLY | O_EXCL, mode);
    int error = 0;

    if (fd == -1 && errno == EEXIST)
        return why_set(why, CODE_EXISTS, "%s exists already; move it away or choose another name", path);
    if (fd == -1)
        return cannot(why, path, "made", errno);
    /* The mode that was asked for, whatever the umask took away. */
    if (fchmod(fd, (mode_t)mode) == -1 || !write_all(fd, content) || fsync(fd) == -1 || !file_sync_folder(path)) {
        error = errno;
        (void)unlink(path);
    }
    if (close(fd) == -1 && error == 0) {
        error = errno;
        (void)unlink(path);
    }
    return error == 0 ? CODE_OK : cannot(why, path, "written", error);
}

enum code file_replace(const char *path, unsigned mode, struct span content, struct why *why)
{
    size_t len = strlen(path);
    char *fresh = mem_alloc(len + sizeof ".new");
    enum code code;

    if (fresh == NULL)
        return why_set(why, CODE_NOMEM, "%s: %s", path, code_text(CODE_NOMEM));
    memcpy(fresh, path, len);
    memcpy(fresh + len, ".new", sizeof ".new");
    (void)unlink(fresh); /* a process that was killed may have left it */
    code = file_create(fresh, mode, content, why);
    if (code == CODE_OK && (rename(fresh, path) != 0 || !file_sync_folder(path)))
        code = cannot(why, path, "replaced", errno);
    mem_free(fresh);
    return code;
}

char *file_beside(const char *base, struct span path)
{
    const char *slash = strrchr(base, '/');
    size_t folder_len = slash ? (size_t)(slash - base) + 1 : 0;
    char *out;

    if (path.len > 0 && path.at[0] == '/')
        return mem_dup(path.at, path.len);
    out = mem_alloc(folder_len + path.len + 1);
    if (out == NULL)
        return NULL;
    memcpy(out, base, folder_len);
    if (path.len > 0)
        memcpy(out + folder_len, path.at, path.len);
    out[folder_len + path.len] = '\0';
    return out;
}

enum code file_disk_room(const char *path, uint64_t *bytes)
{
    struct statvfs disk;

    if (statvfs(path, &disk) != 0)
        return errno == ENOENT ? CODE_NOT_FOUND : CODE_IO;
    *bytes = (uint64_t)disk.f_bavail * disk.f_frsize;
    return CODE_OK;
}
