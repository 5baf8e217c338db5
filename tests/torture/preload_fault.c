/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loaded into the program by LD_PRELOAD: counts its system calls by name and fails the ones that are asked for.
 *
 * FAULT_CALL=fdatasync FAULT_AT=17 FAULT_LEN=1 FAULT_ERRNO=5   the 17th fdatasync, and FAULT_LEN-1 after it, say EIO
 * FAULT_SHORT=1                                                those that write do half of it instead, and say so
 * FAULT_COUNTS=FILE                                            at the end the counts go there, `name number` a line
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

enum name {
    N_write, N_pwrite64, N_fdatasync, N_fsync, N_ftruncate64, N_open64, N_socket, N_connect, N_accept4, N_recv, N_send,
    N_epoll_ctl, N_epoll_wait, N_eventfd, N_setsockopt, N_getsockopt, N_pread64, N_pthread_create, N_read_socket,
    N_write_socket, N_COUNT
};

static const char *const names[N_COUNT] = {
    "write", "pwrite64", "fdatasync", "fsync", "ftruncate64", "open64", "socket", "connect", "accept4", "recv", "send",
    "epoll_ctl", "epoll_wait", "eventfd", "setsockopt", "getsockopt", "pread64", "pthread_create", "read_socket", "write_socket"};

static atomic_long counts[N_COUNT];
static long fault_at, fault_len = 1;
static int fault_call = -1, fault_errno = EIO;
static bool is_short;
static pid_t gate; /* its signer is another process, which may ask for nothing: it is left alone */

static long number_of(const char *variable, long otherwise)
{
    const char *text = getenv(variable);

    return text ? strtol(text, NULL, 10) : otherwise;
}

__attribute__((constructor)) static void read_orders(void)
{
    const char *call = getenv("FAULT_CALL");

    gate = getpid();
    for (int i = 0; call && i < N_COUNT; i++)
        if (strcmp(call, names[i]) == 0)
            fault_call = i;
    fault_at = number_of("FAULT_AT", 0);
    fault_len = number_of("FAULT_LEN", 1);
    fault_errno = (int)number_of("FAULT_ERRNO", EIO);
    is_short = number_of("FAULT_SHORT", 0) != 0;
}

__attribute__((destructor)) static void tell_counts(void)
{
    const char *path = getenv("FAULT_COUNTS");
    FILE *file = path ? fopen(path, "w") : NULL;

    if (!file)
        return;
    for (int i = 0; i < N_COUNT; i++)
        fprintf(file, "%s %ld\n", names[i], atomic_load(&counts[i]));
    fclose(file);
}

static bool must_fail(enum name name)
{
    long seen = atomic_fetch_add(&counts[name], 1) + 1;

    if (getpid() != gate || (int)name != fault_call || fault_at == 0 || seen < fault_at || seen >= fault_at + fault_len)
        return false;
    errno = fault_errno;
    return true;
}

#define WRAP(result, call, declared, given)                         \
    result call declared;                                           \
    result call declared                                            \
    {                                                               \
        static result(*real) declared;                              \
                                                                    \
        if (!real)                                                  \
            *(void **)&real = dlsym(RTLD_NEXT, #call);              \
        return must_fail(N_##call) ? (result)-1 : real given;       \
    }

static bool is_kind(int fd, mode_t kind)
{
    struct stat stat;

    return getpid() == gate && fstat(fd, &stat) == 0 && (stat.st_mode & S_IFMT) == kind;
}

/* Files and sockets apart (OpenSSL reads and writes sockets so); never an eventfd, which cannot fail as they can. */
ssize_t write(int fd, const void *at, size_t len)
{
    static ssize_t (*real)(int, const void *, size_t);

    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "write");
    if (is_kind(fd, S_IFREG) && must_fail(N_write))
        return is_short ? real(fd, at, (len + 1) / 2) : -1;
    if (is_kind(fd, S_IFSOCK) && must_fail(N_write_socket))
        return -1;
    return real(fd, at, len);
}

ssize_t read(int fd, void *at, size_t len)
{
    static ssize_t (*real)(int, void *, size_t);

    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "read");
    return is_kind(fd, S_IFSOCK) && must_fail(N_read_socket) ? -1 : real(fd, at, len);
}

ssize_t pwrite64(int fd, const void *at, size_t len, off64_t offset)
{
    static ssize_t (*real)(int, const void *, size_t, off64_t);

    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "pwrite64");
    if (must_fail(N_pwrite64))
        return is_short ? real(fd, at, (len + 1) / 2, offset) : -1;
    return real(fd, at, len, offset);
}

WRAP(ssize_t, pread64, (int fd, void *at, size_t len, off64_t offset), (fd, at, len, offset))
WRAP(int, fdatasync, (int fd), (fd))
WRAP(int, fsync, (int fd), (fd))
WRAP(int, ftruncate64, (int fd, off64_t len), (fd, len))
WRAP(int, socket, (int domain, int type, int protocol), (domain, type, protocol))
WRAP(int, connect, (int fd, const struct sockaddr *to, socklen_t len), (fd, to, len))
WRAP(int, accept4, (int fd, struct sockaddr *peer, socklen_t *len, int flags), (fd, peer, len, flags))
WRAP(ssize_t, recv, (int fd, void *at, size_t len, int flags), (fd, at, len, flags))
WRAP(ssize_t, send, (int fd, const void *at, size_t len, int flags), (fd, at, len, flags))
/* A descriptor that is in the set is always taken out: that needs no memory. */
int epoll_ctl(int epoll, int what, int fd, struct epoll_event *event)
{
    static int (*real)(int, int, int, struct epoll_event *);

    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "epoll_ctl");
    return what != EPOLL_CTL_DEL && must_fail(N_epoll_ctl) ? -1 : real(epoll, what, fd, event);
}

WRAP(int, epoll_wait, (int epoll, struct epoll_event *events, int max, int ms), (epoll, events, max, ms))
WRAP(int, eventfd, (unsigned initial, int flags), (initial, flags))
WRAP(int, setsockopt, (int fd, int level, int option, const void *at, socklen_t len), (fd, level, option, at, len))
WRAP(int, getsockopt, (int fd, int level, int option, void *at, socklen_t *len), (fd, level, option, at, len))

int open64(const char *path, int flags, ...);
int open64(const char *path, int flags, ...)
{
    static int (*real)(const char *, int, ...);
    va_list arguments;
    mode_t mode;

    va_start(arguments, flags);
    mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "open64");
    return must_fail(N_open64) ? -1 : real(path, flags, mode);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *argument)
{
    static int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
    return must_fail(N_pthread_create) ? EAGAIN : real(thread, attributes, run, argument);
}
