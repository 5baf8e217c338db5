/* SPDX-License-Identifier: Apache-2.0 */
/* One gate holds PATH.lock. While no row can be written the file says why, since the audit itself cannot. */
#include "audit/writer_priv.h"

#include "base/mem.h"
#include "os/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

#define SAID_BYTES 512

void writer__say(const struct audit *audit, const char *text)
{
    char said[SAID_BYTES];

    memset(said, ' ', sizeof said);
    memcpy(said, text, strnlen(text, sizeof said - 1));
    said[sizeof said - 1] = '\n';
    if (pwrite(audit->lock_fd, said, sizeof said, 0) < 0)
        return; /* the log says it, too */
}

enum code audit_hold(const char *audit, int *fd, struct why *why)
{
    char *path = mem_alloc(strlen(audit) + sizeof FILES_LOCK);
    enum code code = CODE_OK;

    *fd = -1;
    if (path == NULL)
        return CODE_NOMEM;
    (void)snprintf(path, strlen(audit) + sizeof FILES_LOCK, "%s" FILES_LOCK, audit);
    *fd = file_make(path, O_RDWR, 0640);
    mem_free(path);
    if (*fd < 0)
        return why_set(why, CODE_IO, "%s" FILES_LOCK ": cannot be made: %s", audit, strerror(errno));
    if (flock(*fd, LOCK_EX | LOCK_NB) == 0)
        return CODE_OK;
    if (errno == EWOULDBLOCK)
        code = why_set(why, CODE_BUSY, "%s: another gate writes it; stop that one or name another audit.database", audit);
    else
        code = why_set(why, CODE_IO, "%s" FILES_LOCK ": %s", audit, strerror(errno));
    (void)close(*fd);
    *fd = -1;
    return code;
}

enum code writer__take_lock(struct audit *audit, int fd_take, struct why *why)
{
    enum code code = fd_take == 0 ? audit_hold(audit->ledger.path, &audit->lock_fd, why) : CODE_OK;

    if (fd_take != 0)
        audit->lock_fd = fd_take;

    if (code == CODE_OK)
        writer__say(audit, ""); /* this takes the file's room now, which a full disk would not give later */
    return code;
}

bool audit_is_said_down(const char *path, char *text, size_t size)
{
    char name[4096];
    int fd = snprintf(name, sizeof name, "%s" FILES_LOCK, path) < (int)sizeof name ? open(name, O_RDONLY | O_CLOEXEC) : -1;
    bool is_held;
    ssize_t len;

    text[0] = '\0';
    if (fd < 0)
        return false;
    is_held = flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    len = is_held ? pread(fd, text, size - 1, 0) : 0;
    (void)close(fd);
    while (len > 0 && (text[len - 1] == ' ' || text[len - 1] == '\n'))
        len--;
    text[len > 0 ? len : 0] = '\0';
    return text[0] != '\0';
}
