/* SPDX-License-Identifier: Apache-2.0 */
#include "os/service.h"

#include "base/num.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define FIRST_FD 3 /* where a service manager begins, by its protocol */

static enum code take(int fd, struct why *why)
{
    int value = 0, flags;
    socklen_t len = sizeof value;

    if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &value, &len) == -1 || value == 0)
        return why_set(why, CODE_INVALID, "inherited descriptor %d is not a listening socket; use ListenStream=", fd);
    len = sizeof value;
    if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &value, &len) == -1 ||
        (value != AF_INET && value != AF_INET6 && value != AF_UNIX))
        return why_set(why, CODE_INVALID, "inherited descriptor %d is no socket that the gate listens on; use ListenStream= "
                       "with a port or a path", fd);
    flags = fcntl(fd, F_GETFL);
    if (flags == -1 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) == -1 || fcntl(fd, F_SETFD, FD_CLOEXEC) == -1)
        return why_set(why, CODE_IO, "inherited descriptor %d cannot be set up: %s", fd, strerror(errno));
    return CODE_OK;
}

enum code service_listeners(struct service_sockets *sockets, struct why *why)
{
    const char *pid_text = getenv("LISTEN_PID"), *fds_text = getenv("LISTEN_FDS");
    uint64_t pid, handed = 0;
    enum code code = CODE_OK;

    sockets->count = 0;
    /* Variables that are meant for another process may be inherited by accident, which is no fault. */
    if (pid_text == NULL || fds_text == NULL || num_u64(span_text(pid_text), &pid) != CODE_OK ||
        pid != (uint64_t)getpid())
        return CODE_OK;
    if (num_u64(span_text(fds_text), &handed) != CODE_OK)
        code = why_set(why, CODE_INVALID, "LISTEN_FDS=%.32s is not a number", fds_text);
    else if (handed > SERVICE_SOCKETS_MAX)
        code = why_set(why, CODE_LIMIT, "LISTEN_FDS hands over %zu sockets, more than %d", (size_t)handed, SERVICE_SOCKETS_MAX);
    for (size_t i = 0; code == CODE_OK && i < handed; i++) {
        code = take(FIRST_FD + (int)i, why);
        if (code == CODE_OK)
            sockets->fds[sockets->count++] = FIRST_FD + (int)i;
    }
    (void)unsetenv("LISTEN_PID");
    (void)unsetenv("LISTEN_FDS");
    (void)unsetenv("LISTEN_FDNAMES");
    return code;
}

void service_close(struct service_sockets *sockets)
{
    while (sockets->count > 0)
        sock_close(&sockets->fds[--sockets->count]);
}

static bool listens_at(int fd, const struct sock_address *address, const char *path)
{
    struct sock_address bound;
    struct sockaddr_un local = {.sun_family = AF_UNSPEC};
    socklen_t len = sizeof local;

    if (path == NULL)
        return sock_local(fd, &bound) == CODE_OK && sock_equals(&bound, address);
    return getsockname(fd, (struct sockaddr *)&local, &len) == 0 && local.sun_family == AF_UNIX &&
           strncmp(path, local.sun_path, sizeof local.sun_path) == 0;
}

size_t service_at(const struct service_sockets *sockets, const struct sock_address *address, const char *path, size_t nth,
                  int *fd)
{
    size_t found = 0;

    *fd = -1;
    for (size_t i = 0; i < sockets->count; i++)
        if (listens_at(sockets->fds[i], address, path) && found++ == nth)
            *fd = fcntl(sockets->fds[i], F_DUPFD_CLOEXEC, 3);
    return found;
}

void service_notify(const char *text)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    size_t len = path ? strlen(path) : 0;
    int fd;

    if (len < 2 || len >= sizeof to.sun_path || (path[0] != '/' && path[0] != '@'))
        return;
    memcpy(to.sun_path, path, len);
    if (path[0] == '@') /* an abstract name begins with a zero byte */
        to.sun_path[0] = '\0';
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd == -1)
        return;
    /* A manager that does not listen is its own fault; the gate works on. */
    (void)sendto(fd, text, strlen(text), MSG_NOSIGNAL, (const struct sockaddr *)&to,
                 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len));
    close(fd);
}
