/* SPDX-License-Identifier: Apache-2.0 */
/* System calls by kind of thread, as seccomp's filters. The lists hold the calls that threads were seen to make over all
 * scenarios, and those that the C library may make instead on other versions and architectures. No library is used, since the
 * lists are the work: what is left is a screen of BPF, which another package would not make shorter. */
#include "os/sandbox_priv.h"

#include "base/bug.h"

#include <asm/ioctls.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__) && defined(__AARCH64EL__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

#define MAIN SANDBOX_BIT(SANDBOX_MAIN)
#define WORKER SANDBOX_BIT(SANDBOX_WORKER)
#define JUDGE SANDBOX_BIT(SANDBOX_JUDGE)
#define WRITER SANDBOX_BIT(SANDBOX_WRITER)
#define KEEPER SANDBOX_BIT(SANDBOX_KEEPER)
#define NOTARY SANDBOX_BIT(SANDBOX_NOTARY)
#define RESOLVER SANDBOX_BIT(SANDBOX_RESOLVER)
#define POSTER SANDBOX_BIT(SANDBOX_POSTER)
#define SIGNER SANDBOX_BIT(SANDBOX_SIGNER)
#define VISIT SANDBOX_BIT(SANDBOX_VISIT)
#define COURIER SANDBOX_BIT(SANDBOX_COURIER)
#define ALL (SANDBOX_BIT(SANDBOX_PARTS) - 1)
#define THREADS (ALL & ~(SIGNER | JUDGE)) /* all but those that see nothing of the system */
#define FILES (MAIN | WRITER | KEEPER | NOTARY | COURIER) /* who has databases */
#define NETS (WORKER | RESOLVER | POSTER)        /* who reads some files of the system */
#define STARTERS (MAIN | WRITER | VISIT | COURIER) /* who starts threads */
#define SPEAKERS (MAIN | NETS | VISIT | COURIER)
#define NAMERS (RESOLVER | COURIER) /* who asks the name service */
#define ENTRY SANDBOX_BIT(SANDBOX_PARTS)         /* before a thread is narrowed */

#define SET_VMA 0x53564d41 /* PR_SET_VMA, by which newer C libraries name their mappings */
#ifndef SYS_landlock_restrict_self
#define SYS_landlock_restrict_self 446
#endif

/* What is asked of a call's arguments. */
enum check {
    FREE = 0,
    A_THREAD,  /* clone: no process */
    NO_CODE,   /* mmap, mprotect: nothing becomes executable */
    LIBRARY,   /* mmap: as NO_CODE, or a library's code, which nobody may write */
    TO_READ,   /* openat */
    TCP,       /* socket: over IP */
    NAMES,     /* socket: TCP and UDP, local ones, and the kernel's for its own addresses */
    LOCAL,     /* socket: of this machine */
    CONNECTED, /* sendto: without an address */
    SENT,      /* sendmsg: without MSG_FASTOPEN, which begins a TCP connection to a port that Landlock does not see */
    SENT_TO,   /* sendto, sendmmsg: the same */
    SMALL,     /* prctl: a thread's name and slack, a mapping's name; which rights there are, as libcap asks */
    QUESTION,  /* ioctl: whether it is a terminal and how wide, how much can be read */
    OURSELVES  /* tgkill: a thread of this process, as abort(3) does */
};

struct system_call {
    int number;
    unsigned parts;
    enum check check;
};

/* The kernel goes through a filter from its beginning for each call whose arguments are looked at, and remembers the answer
 * for FREE ones. So the call that a worker makes twice for each request stands first. */
static const struct system_call calls[] = {
    {SYS_sendto, WORKER | POSTER | VISIT, CONNECTED}, {SYS_sendto, MAIN | NAMERS, SENT_TO},
    /* memory, time, threads, ends */
    {SYS_read, ALL, FREE}, {SYS_write, ALL, FREE}, {SYS_close, ALL, FREE}, {SYS_futex, ALL, FREE}, {SYS_munmap, ALL, FREE},
    {SYS_madvise, ALL, FREE}, {SYS_mremap, ALL, FREE}, {SYS_brk, ALL, FREE}, {SYS_exit, ALL, FREE}, {SYS_exit_group, ALL, FREE},
    {SYS_rt_sigprocmask, ALL, FREE}, {SYS_rt_sigreturn, ALL, FREE}, {SYS_rt_sigaction, ALL, FREE},
    {SYS_restart_syscall, ALL, FREE}, {SYS_getpid, ALL, FREE}, {SYS_gettid, ALL, FREE}, {SYS_getrandom, ALL, FREE},
    {SYS_clock_gettime, ALL, FREE},
    {SYS_gettimeofday, ALL, FREE}, {SYS_clock_nanosleep, ALL, FREE}, {SYS_nanosleep, ALL, FREE}, {SYS_sched_yield, ALL, FREE},
    {SYS_ppoll, ALL, FREE}, {SYS_writev, ALL, FREE}, {SYS_tgkill, ALL, OURSELVES}, {SYS_prctl, ALL, SMALL},
    {SYS_mmap, ALL & ~NAMERS, NO_CODE}, {SYS_mmap, NAMERS, LIBRARY}, {SYS_mprotect, ALL, NO_CODE},
    {SYS_clone, STARTERS, A_THREAD}, {SYS_set_robust_list, STARTERS, FREE},
    {SYS_sched_getaffinity, THREADS | JUDGE, FREE}, {SYS_membarrier, THREADS | JUDGE, FREE},
    {SYS_sysinfo, THREADS | JUDGE, FREE},
    {SYS_sched_getattr, WRITER, FREE}, {SYS_sched_setattr, WRITER, FREE},
#ifdef SYS_rseq
    {SYS_rseq, STARTERS, FREE},
#endif
#ifdef SYS_poll
    {SYS_poll, ALL, FREE},
#endif
#ifdef SYS_time /* where the kernel gives processes no clock to read */
    {SYS_time, ALL, FREE},
#endif
    /* files */
    {SYS_openat, FILES, FREE}, {SYS_openat, NETS, TO_READ}, {SYS_fstat, THREADS, FREE}, {SYS_newfstatat, THREADS, FREE},
    {SYS_statx, THREADS, FREE}, {SYS_lseek, THREADS, FREE}, {SYS_getdents64, THREADS, FREE}, {SYS_faccessat, THREADS, FREE},
    {SYS_readlinkat, THREADS, FREE}, {SYS_getcwd, THREADS, FREE}, {SYS_fcntl, THREADS, FREE}, {SYS_pread64, THREADS, FREE},
    {SYS_ioctl, THREADS, QUESTION}, {SYS_geteuid, THREADS, FREE}, {SYS_getuid, THREADS, FREE}, {SYS_uname, THREADS, FREE},
    {SYS_pwrite64, FILES, FREE}, {SYS_fsync, FILES, FREE}, {SYS_fdatasync, FILES, FREE}, {SYS_ftruncate, FILES, FREE},
    {SYS_fallocate, FILES, FREE}, {SYS_fchmod, FILES, FREE}, {SYS_fchown, FILES, FREE}, {SYS_fchownat, FILES, FREE},
    {SYS_fchmodat, FILES, FREE}, {SYS_unlinkat, FILES, FREE}, {SYS_linkat, FILES, FREE}, {SYS_renameat, FILES, FREE},
    {SYS_renameat2, FILES, FREE}, {SYS_symlinkat, FILES, FREE}, {SYS_setpriority, KEEPER, FREE},
    {SYS_flock, FILES, FREE}, {SYS_statfs, FILES, FREE}, {SYS_fstatfs, FILES, FREE},
    {SYS_umask, FILES, FREE}, {SYS_inotify_init1, MAIN | WRITER, FREE}, {SYS_inotify_add_watch, MAIN | WRITER, FREE},
#ifdef SYS_open /* older names of the same, where the architecture has them */
    {SYS_access, THREADS, FREE}, {SYS_stat, THREADS, FREE}, {SYS_lstat, THREADS, FREE}, {SYS_readlink, THREADS, FREE},
    {SYS_chmod, FILES, FREE}, {SYS_chown, FILES, FREE}, {SYS_unlink, FILES, FREE}, {SYS_link, FILES, FREE},
    {SYS_rename, FILES, FREE}, {SYS_symlink, FILES, FREE},
#endif
    /* the network */
    {SYS_socket, WORKER | POSTER, TCP}, {SYS_socket, NAMERS, NAMES}, {SYS_socket, MAIN | VISIT, LOCAL},
    {SYS_socketpair, MAIN | WORKER | POSTER, LOCAL}, /* to what the runner starts: it gets the other end */
    {SYS_socketpair, VISIT, LOCAL},           /* for what a command prints: the gate gets the other end */
    {SYS_pipe2, POSTER, FREE}, /* libcurl 8.5 wakes itself by one, as Ubuntu 24.04 has it */
    {SYS_connect, NETS | VISIT | COURIER, FREE}, {SYS_getsockopt, SPEAKERS, FREE}, {SYS_setsockopt, SPEAKERS, FREE},
    {SYS_getsockname, SPEAKERS, FREE}, {SYS_getpeername, SPEAKERS, FREE}, {SYS_shutdown, SPEAKERS, FREE},
    {SYS_recvfrom, SPEAKERS, FREE}, {SYS_recvmsg, SPEAKERS, FREE}, {SYS_sendmsg, SPEAKERS, SENT},
    {SYS_sendmmsg, NAMERS, SENT_TO}, {SYS_recvmmsg, NAMERS, FREE},
    {SYS_bind, NAMERS, FREE}, {SYS_accept4, MAIN | WORKER | VISIT, FREE},
    {SYS_epoll_ctl, MAIN | WORKER, FREE}, {SYS_epoll_pwait, MAIN | WORKER, FREE}, {SYS_eventfd2, MAIN | POSTER, FREE},
#ifdef SYS_epoll_wait
    {SYS_epoll_wait, MAIN | WORKER, FREE},
#endif
    /* modules of the name service, and the libraries under them while they are loaded */
    {SYS_statfs, NAMERS, FREE}, {SYS_fstatfs, NAMERS, FREE}, {SYS_getgid, NAMERS, FREE}, {SYS_getegid, NAMERS, FREE},
    {SYS_getresuid, NAMERS, FREE}, {SYS_getresgid, NAMERS, FREE}, {SYS_pselect6, NAMERS, FREE},
#ifdef SYS_select
    {SYS_select, NAMERS, FREE},
#endif
    {SYS_seccomp, ENTRY, FREE}, {SYS_landlock_restrict_self, ENTRY, FREE},
};

/* Calls that are refused with an error that their callers handle, instead of ending the process. */
static const struct {
    int number, error;
    unsigned parts;
} refusals[] = {
    {SYS_mmap, EACCES, ALL}, {SYS_mprotect, EACCES, ALL}, {SYS_openat, EACCES, NETS},
    {SYS_openat, EACCES, JUDGE | VISIT}, /* the C library asks how it may give memory back, and does without */
    {SYS_ioctl, ENOTTY, THREADS},
    {SYS_clone3, ENOSYS, STARTERS}, /* the C library takes clone then, whose flags can be seen */
};

#ifdef ARCHITECTURE

struct program {
    struct sock_filter code[1024];
    unsigned short count;
};

static void add(struct program *program, uint16_t code, uint32_t value, uint8_t if_true, uint8_t if_false)
{
    BUG_ON(program->count >= sizeof program->code / sizeof program->code[0]);
    program->code[program->count++] = (struct sock_filter)BPF_JUMP(code, value, if_true, if_false);
}

#define LOAD (BPF_LD | BPF_W | BPF_ABS)
#define EQUAL (BPF_JMP | BPF_JEQ | BPF_K)
#define HAS (BPF_JMP | BPF_JSET | BPF_K)
#define AND (BPF_ALU | BPF_AND | BPF_K)
#define RETURN (BPF_RET | BPF_K)
/* Both architectures are little-endian: the low half comes first. */
#define ARGUMENT(n) (uint32_t)(offsetof(struct seccomp_data, args) + 8 * (n))
#define ALLOW add(program, RETURN, SECCOMP_RET_ALLOW, 0, 0)

/* Adds a check that allows, or goes on with what stands behind it. */
static void add_equal(struct program *program, unsigned argument, uint32_t value)
{
    add(program, LOAD, ARGUMENT(argument), 0, 0);
    add(program, EQUAL, value, 0, 1);
    ALLOW;
}

static void add_socket_check(struct program *program, enum check check)
{
    add(program, LOAD, ARGUMENT(0), 0, 0);
    if (check != TCP) {
        add(program, EQUAL, AF_UNIX, 0, 1);
        ALLOW;
    }
    if (check == NAMES) {
        add(program, EQUAL, AF_NETLINK, 0, 1);
        ALLOW;
    }
    if (check == LOCAL)
        return;
    add(program, EQUAL, AF_INET, 1, 0);
    add(program, EQUAL, AF_INET6, 0, check == NAMES ? 11 : 9);
    add(program, LOAD, ARGUMENT(1), 0, 0);
    add(program, AND, 0xf, 0, 0); /* without SOCK_CLOEXEC and SOCK_NONBLOCK */
    if (check == NAMES) {
        add(program, EQUAL, SOCK_DGRAM, 0, 1);
        ALLOW;
    }
    add(program, EQUAL, SOCK_STREAM, 0, 6);
    add_equal(program, 2, 0);
    add_equal(program, 2, IPPROTO_TCP); /* Landlock asks no port of MPTCP, which goes on as TCP */
}

/* Allows where none of the bits is set. */
static void add_without(struct program *program, unsigned argument, uint32_t bits)
{
    add(program, LOAD, ARGUMENT(argument), 0, 0);
    add(program, HAS, bits, 1, 0);
    ALLOW;
}

static void add_check(struct program *program, enum check check)
{
    switch (check) {
    case FREE: ALLOW; break;
    case A_THREAD:
        add(program, LOAD, ARGUMENT(0), 0, 0);
        add(program, HAS, CLONE_THREAD, 0, 1);
        ALLOW;
        break;
    case LIBRARY:
        add(program, LOAD, ARGUMENT(2), 0, 0);
        add(program, HAS, PROT_WRITE, 3, 0);
        add(program, LOAD, ARGUMENT(3), 0, 0);
        add(program, HAS, MAP_ANONYMOUS, 1, 0);
        ALLOW;
        add_without(program, 2, PROT_EXEC);
        break;
    case NO_CODE: add_without(program, 2, PROT_EXEC); break;
    case TO_READ: add_without(program, 2, O_ACCMODE | O_CREAT | O_TRUNC); break;
    case TCP:
    case NAMES:
    case LOCAL: add_socket_check(program, check); break;
    case CONNECTED:
        add(program, LOAD, ARGUMENT(4), 0, 0);
        add(program, EQUAL, 0, 0, 3);
        add(program, LOAD, ARGUMENT(4) + 4, 0, 0);
        add(program, EQUAL, 0, 0, 1);
        ALLOW;
        break;
    case SENT: add_without(program, 2, MSG_FASTOPEN); break;
    case SENT_TO: add_without(program, 3, MSG_FASTOPEN); break;
    case SMALL:
        add_equal(program, 0, PR_SET_NAME);
        add_equal(program, 0, PR_SET_TIMERSLACK);
        add_equal(program, 0, SET_VMA);
        add_equal(program, 0, PR_CAPBSET_READ);
        break;
    case QUESTION:
        add_equal(program, 1, TCGETS);
        add_equal(program, 1, FIONREAD);
        add_equal(program, 1, TIOCGWINSZ);
        break;
    case OURSELVES: add_equal(program, 0, (uint32_t)getpid()); break;
    }
}

/* Adds one call with its check, which is jumped over where the number is another. */
static void add_call(struct program *program, const struct system_call *call)
{
    unsigned short from;

    add(program, LOAD, offsetof(struct seccomp_data, nr), 0, 0);
    from = program->count;
    add(program, EQUAL, (uint32_t)call->number, 0, 0);
    add_check(program, call->check);
    program->code[from].jf = (uint8_t)(program->count - from - 1);
}

bool sandbox__filters_calls(void)
{
    const uint32_t action = SECCOMP_RET_KILL_PROCESS;

    return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

bool sandbox__restrict_calls(unsigned parts)
{
    struct program program = {.count = 0};
    struct sock_fprog filter = {.filter = program.code};

    add(&program, LOAD, offsetof(struct seccomp_data, arch), 0, 0);
    add(&program, EQUAL, ARCHITECTURE, 1, 0);
    add(&program, RETURN, SECCOMP_RET_KILL_PROCESS, 0, 0);
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
        if ((calls[i].parts & parts) != 0)
            add_call(&program, &calls[i]);
    add(&program, LOAD, offsetof(struct seccomp_data, nr), 0, 0);
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++)
        if ((refusals[i].parts & parts) != 0) {
            add(&program, EQUAL, (uint32_t)refusals[i].number, 0, 1);
            add(&program, RETURN, SECCOMP_RET_ERRNO | (uint32_t)refusals[i].error, 0, 0);
        }
    add(&program, RETURN, SECCOMP_RET_KILL_PROCESS, 0, 0);
    filter.len = program.count;
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) == 0;
}

#else /* an architecture whose calls nobody has measured */

bool sandbox__filters_calls(void)
{
    return false;
}

bool sandbox__restrict_calls(unsigned parts)
{
    (void)parts;
    errno = ENOSYS;
    return false;
}

#endif
