/* SPDX-License-Identifier: Apache-2.0 */
/* Sockets handed over by a service manager, and what it hears. 1.8 */
#include "fakes/cm.h"

#include "os/service.h"
#include "os/sock.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static void hand_over(const char *pid, const char *fds)
{
    char self[32];

    snprintf(self, sizeof self, "%d", (int)getpid());
    setenv("LISTEN_PID", pid ? pid : self, 1);
    setenv("LISTEN_FDS", fds, 1);
    setenv("LISTEN_FDNAMES", "any", 1);
}

TEST_CASE(nothing_handed_over_is_no_fault)
{
    struct service_sockets sockets = {.count = 9};

    unsetenv("LISTEN_PID");
    unsetenv("LISTEN_FDS");
    assert_ok(service_listeners(&sockets, NULL));
    assert_int_equal(sockets.count, 0);
    hand_over("1", "2"); /* meant for another process */
    assert_ok(service_listeners(&sockets, NULL));
    assert_int_equal(sockets.count, 0);
}

TEST_CASE(nonsense_is_said)
{
    struct service_sockets sockets;
    struct why why;

    hand_over(NULL, "two");
    assert_int_equal(service_listeners(&sockets, &why), CODE_INVALID);
    hand_over(NULL, "1025");
    assert_int_equal(service_listeners(&sockets, &why), CODE_LIMIT);
    assert_null(getenv("LISTEN_FDS"));
}

/* In a child, because the protocol begins at descriptor 3, whatever that is here. */
static int child_takes(int fd)
{
    struct why why = {.text = ""};
    struct service_sockets sockets;
    enum code code;

    if (fd != 3)
        dup2(fd, 3);
    fcntl(3, F_SETFD, 0);
    hand_over(NULL, "1");
    code = service_listeners(&sockets, &why);
    if (code != CODE_OK)
        return strstr(why.text, "descriptor 3") ? 1 : 2;
    if (sockets.count != 1 || sockets.fds[0] != 3 || getenv("LISTEN_PID") || getenv("LISTEN_FDS") || getenv("LISTEN_FDNAMES"))
        return 3;
    return (fcntl(3, F_GETFL) & O_NONBLOCK) && (fcntl(3, F_GETFD) & FD_CLOEXEC) ? 0 : 4;
}

static int takes(int fd)
{
    int status;
    pid_t child = fork();

    assert_true(child != -1);
    if (child == 0)
        _exit(child_takes(fd));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

TEST_CASE(only_listening_sockets_are_taken)
{
    struct sock_address address;
    struct sockaddr_un local = {.sun_family = AF_UNIX};
    int listener, plain = socket(AF_INET, SOCK_STREAM, 0), unix_fd = socket(AF_UNIX, SOCK_STREAM, 0), pipes[2];

    assert_ok(sock_parse(SPAN_LIT("127.0.0.1:0"), &address, NULL));
    assert_ok(sock_listen(&address, &listener, NULL));
    assert_ok(fcntl(listener, F_SETFL, 0)); /* handed over blocking */
    assert_int_equal(takes(listener), 0);
    assert_int_equal(takes(plain), 1);
    assert_ok(pipe(pipes));
    assert_int_equal(takes(pipes[0]), 1);
    assert_ok(bind(unix_fd, (struct sockaddr *)&local, sizeof local.sun_family)); /* a name the kernel chooses */
    assert_ok(listen(unix_fd, 1));
    assert_int_equal(takes(unix_fd), 0);
    close(listener);
    close(plain);
    close(unix_fd);
    close(pipes[0]);
    close(pipes[1]);
}

TEST_CASE(sockets_are_found_by_their_place)
{
    struct service_sockets sockets = {.count = 3};
    struct sockaddr_un local = {.sun_family = AF_UNIX};
    struct sock_address address, other;
    int fd;

    assert_ok(sock_parse(SPAN_LIT("127.0.0.1:0"), &address, NULL));
    assert_ok(sock_parse(SPAN_LIT("127.0.0.2:1"), &other, NULL));
    assert_ok(sock_listen(&address, &sockets.fds[0], NULL));
    assert_ok(sock_local(sockets.fds[0], &address));
    assert_ok(sock_listen(&address, &sockets.fds[1], NULL)); /* as workers have one each */
    sockets.fds[2] = socket(AF_UNIX, SOCK_STREAM, 0);
    snprintf(local.sun_path, sizeof local.sun_path, "/tmp/test-service-%d", (int)getpid());
    assert_ok(bind(sockets.fds[2], (struct sockaddr *)&local, sizeof local));
    assert_ok(unlink(local.sun_path));
    assert_int_equal(service_at(&sockets, &address, NULL, 1, &fd), 2);
    assert_true(fd > 2);
    close(fd);
    assert_int_equal(service_at(&sockets, &address, NULL, 2, &fd), 2);
    assert_int_equal(fd, -1);
    assert_int_equal(service_at(&sockets, &other, NULL, 0, &fd), 0);
    assert_int_equal(service_at(&sockets, NULL, local.sun_path, 0, &fd), 1);
    assert_true(fd > 2);
    close(fd);
    assert_int_equal(service_at(&sockets, NULL, "/tmp/test-service", 0, &fd), 0);
    service_close(&sockets);
    assert_int_equal(sockets.count, 0);
}

TEST_CASE(the_manager_hears)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    socklen_t len = sizeof to;
    char name[sizeof to.sun_path + 1] = "", heard[64] = "";
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);

    assert_ok(bind(fd, (struct sockaddr *)&to, sizeof to.sun_family));
    assert_ok(getsockname(fd, (struct sockaddr *)&to, &len));
    name[0] = '@';
    memcpy(name + 1, to.sun_path + 1, len - offsetof(struct sockaddr_un, sun_path) - 1);
    setenv("NOTIFY_SOCKET", name, 1);
    service_notify("READY=1");
    assert_int_equal(recv(fd, heard, sizeof heard, 0), 7);
    assert_string_equal(heard, "READY=1");
    unsetenv("NOTIFY_SOCKET");
    service_notify("STOPPING=1");
    setenv("NOTIFY_SOCKET", "relative", 1);
    service_notify("STOPPING=1");
    setenv("NOTIFY_SOCKET", "/no/such/socket", 1);
    service_notify("STOPPING=1");
    assert_int_equal(recv(fd, heard, sizeof heard, 0), -1);
    unsetenv("NOTIFY_SOCKET");
    close(fd);
}

TEST_MAIN(NULL, NULL)
