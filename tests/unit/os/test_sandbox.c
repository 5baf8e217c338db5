/* SPDX-License-Identifier: Apache-2.0 */
/* What a confined process can do no more, each tried in a child of its own: files, ports, calls by kind of thread, code. 4.15 */
#include "fakes/cm.h"

#include "os/sandbox.h"
#include "os/thread.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define DIED (-1)
#define FORBIDDEN 31 /* what a child says by its exit status, as other numbers are errnos */

static char inside[] = "/tmp/callgate-inside-XXXXXX", outside[] = "/tmp/callgate-outside-XXXXXX";
static uint16_t open_port, other_port;

/* What is done as one part, in a child: 0, an errno, or DIED of SIGSYS. */
static int as(enum sandbox_part part, int (*deed)(void))
{
    int status;
    pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0) {
        unsigned all = (1u << SANDBOX_PARTS) - 1;

        if (sandbox_harden(NULL) != CODE_OK || sandbox_may_change(inside, SANDBOX_BIT(SANDBOX_WRITER)) != CODE_OK ||
            sandbox_may_read("/etc", SANDBOX_BIT(SANDBOX_RESOLVER)) != CODE_OK ||
            sandbox_may_read("/dev/null", all) != CODE_OK ||
            sandbox_may_connect(open_port, SANDBOX_BIT(SANDBOX_WORKER)) != CODE_OK || sandbox_enter(NULL) != CODE_OK)
            _exit(FORBIDDEN);
        sandbox_narrow(part);
        _exit(deed());
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFSIGNALED(status))
        assert_int_equal(WTERMSIG(status), SIGSYS);
    return WIFSIGNALED(status) ? DIED : WEXITSTATUS(status);
}

static int result(long value)
{
    return value >= 0 ? 0 : errno;
}

static int makes_in(const char *folder)
{
    char path[100], other[100];
    int fd;

    (void)snprintf(path, sizeof path, "%s/file", folder);
    (void)snprintf(other, sizeof other, "%s/other", folder);
    fd = open(path, O_RDWR | O_CREAT, 0600);
    if (fd < 0)
        return errno;
    return write(fd, "x", 1) != 1 || ftruncate(fd, 0) != 0 || rename(path, other) != 0 || link(other, path) != 0 ||
                   unlink(other) != 0 || unlink(path) != 0
               ? errno : 0;
}

static int makes_inside(void) { return makes_in(inside); }
static int makes_outside(void) { return makes_in(outside); }
static int reads_etc(void) { return result(open("/etc/passwd", O_RDONLY)); }
static int lists_root(void) { return result(open("/", O_RDONLY | O_DIRECTORY)); }
static int reads_null(void) { return result(open("/dev/null", O_RDONLY)); }
static int writes_null(void) { return result(open("/dev/null", O_WRONLY)); }

static int dials_by(uint16_t port, int protocol)
{
    const struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int sock = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol);

    if (sock < 0)
        return errno;
    return connect(sock, (const struct sockaddr *)&to, sizeof to) == 0 || errno == EINPROGRESS ? 0 : errno;
}

static int dials_open(void) { return dials_by(open_port, 0); }
static int dials_open_tcp(void) { return dials_by(open_port, IPPROTO_TCP); }
static int dials_other(void) { return dials_by(other_port, 0); }
static int dials_other_mptcp(void) { return dials_by(other_port, 262); } /* IPPROTO_MPTCP: Landlock asks nothing of it */
/* 10.42: each version of libcurl has one of these ways to wake itself, and only one version is here. */
static int wakes_itself(void)
{
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0 || pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
        return errno;
    return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) >= 0 ? 0 : errno;
}

static int opens_udp(void) { return result(socket(AF_INET, SOCK_DGRAM, 0)); }
static int opens_local(void) { return result(socket(AF_UNIX, SOCK_STREAM, 0)); }
static int opens_packet(void) { return result(socket(AF_PACKET, SOCK_RAW, 0)); }
static int sends_to(void)
{
    const struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(other_port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

    return result(sendto(socket(AF_INET, SOCK_STREAM, 0), "x", 1, MSG_FASTOPEN | MSG_NOSIGNAL, (const struct sockaddr *)&to, sizeof to));
}
static int sends_messages(void)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(other_port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    char byte = 0;
    struct iovec text = {&byte, 1};
    struct mmsghdr one = {.msg_hdr = {.msg_name = &to, .msg_namelen = sizeof to, .msg_iov = &text, .msg_iovlen = 1}};

    return result(sendmmsg(socket(AF_INET, SOCK_STREAM, 0), &one, 1, MSG_FASTOPEN | MSG_NOSIGNAL));
}
static int sends_message(void)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(other_port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    char byte = 0;
    struct iovec text = {&byte, 1};
    const struct msghdr one = {.msg_name = &to, .msg_namelen = sizeof to, .msg_iov = &text, .msg_iovlen = 1};

    return result(sendmsg(socket(AF_INET, SOCK_STREAM, 0), &one, MSG_FASTOPEN | MSG_NOSIGNAL));
}
static int asks_clocks(void)
{
    struct timespec now;
    struct timeval then;

    /* As where the kernel gives processes no clock to read: by calls. */
    return result(syscall(SYS_clock_gettime, CLOCK_REALTIME, &now)) + result(syscall(SYS_gettimeofday, &then, NULL))
#ifdef SYS_time
           + result(syscall(SYS_time, NULL))
#endif
        ;
}
static int forks(void) { return fork() == 0 ? 0 : 0; }
static int executes(void) { return result(execl("/bin/true", "true", NULL)); }
static int traces(void) { return result(syscall(SYS_ptrace, 0, 0, 0, 0)); }
static int kills(void) { return result(kill(getpid(), 0)); }
static int reads_memory(void) { return result(syscall(SYS_process_vm_readv, 1, NULL, 0, NULL, 0, 0)); }
static int dumps_again(void) { return result(prctl(PR_SET_DUMPABLE, 1)); }
static int rings(void) { return result(syscall(SYS_io_uring_setup, 1, NULL)); }
static int unfilters(void) { return result(syscall(SYS_seccomp, 0, 0, NULL)); }
static int sleeps(void) { return result(usleep(1)); }
static int maps_code(void)
{
    return mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED ? 0 : errno;
}
static int turns_to_code(void)
{
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return page == MAP_FAILED ? FORBIDDEN : result(mprotect(page, 4096, PROT_READ | PROT_EXEC));
}
static int resolves(void)
{
    struct addrinfo *found = NULL;
    int code = getaddrinfo("localhost", "80", NULL, &found);

    /* 10.15: a machine may know no localhost: then whoever is asked for names does not, or is not there. */
    return (code == 0 && found != NULL) || code == EAI_NONAME || code == EAI_AGAIN ? 0 : FORBIDDEN;
}

static int loads_module(void)
{
    struct statfs stat;
    const struct timespec none = {0, 0};

    /* What libcap, libselinux and older modules ask, whatever their answer. */
    (void)prctl(PR_CAPBSET_READ, 40);
    (void)statfs("/sys/fs/selinux", &stat);
    return (int)(getgid() - getgid()) + result(pselect(0, NULL, NULL, NULL, &none, NULL));
}

static void nothing(void *argument) { (void)argument; }
static int starts_thread(void)
{
    struct thread thread = {.started = false};

    if (thread_start(&thread, "more", nothing, NULL, NULL) != CODE_OK)
        return FORBIDDEN;
    thread_join(&thread);
    return 0;
}

TEST_CASE(files_and_ports)
{
    struct sandbox_proof proof;
    struct why why = {""};

    assert_ok(sandbox_harden(&why)); /* without it Landlock and seccomp are root's alone */
    assert_ok(sandbox_prove(&proof, &why));
    assert_true(proof.files == (proof.landlock > 0));
    if (!proof.files) {
        print_message("skipped: this kernel has no Landlock\n");
        return;
    }
    assert_int_equal(as(SANDBOX_WRITER, makes_inside), 0);
    assert_int_equal(as(SANDBOX_WRITER, makes_outside), EACCES);
    assert_int_equal(as(SANDBOX_KEEPER, makes_inside), EACCES); /* another part's */
    assert_int_equal(as(SANDBOX_WRITER, reads_etc), EACCES);
    assert_int_equal(as(SANDBOX_RESOLVER, reads_etc), 0);
    assert_int_equal(as(SANDBOX_WRITER, lists_root), EACCES);
    assert_int_equal(as(SANDBOX_WRITER, reads_null), 0);
    assert_int_equal(as(SANDBOX_WRITER, writes_null), EACCES);
    assert_int_equal(as(SANDBOX_WORKER, dials_open), 0);
    if (proof.landlock >= 4) {
        assert_true(proof.ports);
        assert_int_equal(as(SANDBOX_WORKER, dials_other), EACCES);
        assert_int_equal(as(SANDBOX_POSTER, dials_open), EACCES);
    }
}

TEST_CASE(calls_by_part)
{
    static int (*const never[])(void) = {forks, executes, traces, kills, reads_memory, dumps_again, rings, unfilters, opens_packet};
    static const struct {
        enum sandbox_part part;
        int (*deed)(void);
        int end;
    } some[] = {
        {SANDBOX_WORKER, opens_udp, DIED}, {SANDBOX_WORKER, opens_local, DIED}, {SANDBOX_WORKER, makes_inside, EACCES},
        {SANDBOX_WORKER, dials_open_tcp, 0}, {SANDBOX_WORKER, dials_other_mptcp, DIED},
        {SANDBOX_RESOLVER, dials_other_mptcp, DIED}, {SANDBOX_POSTER, dials_other_mptcp, DIED},
        {SANDBOX_RESOLVER, sends_to, DIED}, {SANDBOX_RESOLVER, sends_message, DIED}, {SANDBOX_RESOLVER, sends_messages, DIED},
        {SANDBOX_WORKER, sends_to, DIED}, {SANDBOX_WORKER, starts_thread, DIED}, {SANDBOX_WRITER, dials_open, DIED},
        {SANDBOX_WRITER, starts_thread, 0}, {SANDBOX_KEEPER, dials_open, DIED}, {SANDBOX_NOTARY, dials_open, DIED},
        {SANDBOX_MAIN, dials_open, DIED}, {SANDBOX_MAIN, opens_local, 0}, {SANDBOX_RESOLVER, opens_udp, 0},
        {SANDBOX_RESOLVER, resolves, 0}, {SANDBOX_RESOLVER, loads_module, 0},
        {SANDBOX_RESOLVER, writes_null, EACCES}, {SANDBOX_POSTER, opens_udp, DIED}, {SANDBOX_POSTER, wakes_itself, 0},
        {SANDBOX_JUDGE, reads_null, EACCES}, {SANDBOX_JUDGE, opens_local, DIED}, {SANDBOX_JUDGE, dials_open, DIED},
        {SANDBOX_JUDGE, starts_thread, DIED},
        {SANDBOX_SIGNER, reads_null, DIED}, {SANDBOX_SIGNER, opens_local, DIED}, {SANDBOX_SIGNER, starts_thread, DIED},
        {SANDBOX_VISIT, reads_null, EACCES}, {SANDBOX_VISIT, opens_local, 0}, {SANDBOX_VISIT, dials_open, DIED},
        {SANDBOX_VISIT, opens_udp, DIED}, {SANDBOX_VISIT, starts_thread, 0},
    };
    struct sandbox_proof proof;

    assert_ok(sandbox_harden(NULL));
    assert_ok(sandbox_prove(&proof, NULL));
    if (!proof.calls) {
        print_message("skipped: no seccomp here\n");
        return;
    }
    for (unsigned part = 0; part < SANDBOX_PARTS; part++) {
        assert_int_equal(as(part, sleeps), 0);
        assert_int_equal(as(part, asks_clocks), 0);
        assert_int_equal(as(part, maps_code), EACCES);
        assert_int_equal(as(part, turns_to_code), EACCES);
        for (size_t i = 0; i < sizeof never / sizeof never[0]; i++)
            assert_int_equal(as(part, never[i]), DIED);
    }
    for (size_t i = 0; i < sizeof some / sizeof some[0]; i++)
        if (as(some[i].part, some[i].deed) != some[i].end)
            fail_msg("deed %zu ends in %d", i, as(some[i].part, some[i].deed));
}

TEST_CASE(what_is_said)
{
    int status;
    pid_t child;

    assert_string_equal(sandbox_hint("/", EACCES), "");
    assert_true(sandbox_knows_port(other_port));
    child = fork();
    if (child == 0) {
        struct rlimit limit;
        bool good = sandbox_harden(NULL) == CODE_OK && prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 &&
                    prctl(PR_GET_DUMPABLE) == 0 && getrlimit(RLIMIT_CORE, &limit) == 0 && limit.rlim_max == 0 &&
                    sandbox_may_connect(open_port, SANDBOX_BIT(SANDBOX_WORKER)) == CODE_OK && sandbox_enter(NULL) == CODE_OK &&
                    sandbox_knows_port(open_port) && (access("/proc/self", F_OK) != 0 || strlen(sandbox_hint("/", ENOENT)) == 0);

        _exit(good ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static uint16_t listen_somewhere(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    int sock = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(bind(sock, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(sock, 5), 0);
    assert_int_equal(getsockname(sock, (struct sockaddr *)&address, &len), 0);
    return ntohs(address.sin_port);
}

static int begin(void **state)
{
    (void)state;
    open_port = listen_somewhere();
    other_port = listen_somewhere();
    return mkdtemp(inside) != NULL && mkdtemp(outside) != NULL ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    return rmdir(inside) == 0 && rmdir(outside) == 0 ? 0 : -1;
}

/* Of a build, or under a tool, that cannot be confined. */
static void nothing_is_claimed(void **state)
{
    struct sandbox_proof proof;

    (void)state;
    print_message("skipped: such a process cannot be confined\n");
    assert_true(sandbox_knows_port(other_port));
    if (SANDBOX_IS_BUILT)
        return;
    assert_ok(sandbox_harden(NULL));
    assert_ok(sandbox_prove(&proof, NULL));
    assert_false(proof.files || proof.ports || proof.calls || proof.memory || proof.landlock > 0);
    assert_ok(sandbox_enter(NULL));
    sandbox_narrow(SANDBOX_WORKER);
    assert_true(getppid() > 0);
}

int main(void)
{
    const struct CMUnitTest none[] = {cmocka_unit_test(nothing_is_claimed)};

    if (!SANDBOX_IS_BUILT || getenv("CALLGATE_VALGRIND") != NULL)
        return cmocka_run_group_tests(none, begin, end);
    return tests_run(begin, end);
}
