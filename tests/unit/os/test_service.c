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

static void nothing_handed_over_is_no_fault(void **state)
{
    int fds[4];
    size_t count = 9;

    (void)state;
    unsetenv("LISTEN_PID");
    unsetenv("LISTEN_FDS");
    assert_ok(service_listeners(fds, 4, &count, NULL));
    assert_int_equal(count, 0);
    hand_over("1", "2"); /* meant for another process */
    assert_ok(service_listeners(fds, 4, &count, NULL));
    assert_int_equal(count, 0);
}

static void nonsense_is_said(void **state)
{
    int fds[4];
    size_t count;
    struct why why;

    (void)state;
    hand_over(NULL, "two");
    assert_int_equal(service_listeners(fds, 4, &count, &why), CODE_INVALID);
    hand_over(NULL, "5");
    assert_int_equal(service_listeners(fds, 4, &count, &why), CODE_LIMIT);
    assert_null(getenv("LISTEN_FDS"));
}

/* In a child, because the protocol begins at descriptor 3, whatever that is here. */
static int child_takes(int fd)
{
    struct why why = {.text = ""};
    int fds[4];
    size_t count;
    enum code code;

    if (fd != 3)
        dup2(fd, 3);
    fcntl(3, F_SETFD, 0);
    hand_over(NULL, "1");
    code = service_listeners(fds, 4, &count, &why);
    if (code != CODE_OK)
        return strstr(why.text, "descriptor 3") ? 1 : 2;
    if (count != 1 || fds[0] != 3 || getenv("LISTEN_PID") || getenv("LISTEN_FDS") || getenv("LISTEN_FDNAMES"))
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

static void only_listening_tcp_sockets_are_taken(void **state)
{
    struct sock_address address;
    struct sockaddr_un local = {.sun_family = AF_UNIX};
    int listener, plain = socket(AF_INET, SOCK_STREAM, 0), unix_fd = socket(AF_UNIX, SOCK_STREAM, 0), pipes[2];

    (void)state;
    assert_ok(sock_parse(SPAN_LIT("127.0.0.1:0"), &address, NULL));
    assert_ok(sock_listen(&address, &listener, NULL));
    assert_ok(fcntl(listener, F_SETFL, 0)); /* handed over blocking */
    assert_int_equal(takes(listener), 0);
    assert_int_equal(takes(plain), 1);
    assert_ok(pipe(pipes));
    assert_int_equal(takes(pipes[0]), 1);
    assert_ok(bind(unix_fd, (struct sockaddr *)&local, sizeof local.sun_family)); /* a name the kernel chooses */
    assert_ok(listen(unix_fd, 1));
    assert_int_equal(takes(unix_fd), 1);
    close(listener);
    close(plain);
    close(unix_fd);
    close(pipes[0]);
    close(pipes[1]);
}

static void the_manager_hears(void **state)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    socklen_t len = sizeof to;
    char name[sizeof to.sun_path + 1] = "", heard[64] = "";
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);

    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_handed_over_is_no_fault),
        cmocka_unit_test(nonsense_is_said),
        cmocka_unit_test(only_listening_tcp_sockets_are_taken),
        cmocka_unit_test(the_manager_hears),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
