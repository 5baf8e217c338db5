/* SPDX-License-Identifier: Apache-2.0 */
/* The process beside the gate that takes people's commands, and one more for each command. */
#include "people/control.h"
#include "store/store.h"
#include "store/store_approvals.h"

#include "base/log.h"
#include "base/mem.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/local.h"
#include "os/person.h"
#include "os/sandbox.h"
#include "os/sock.h"
#include "os/user.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define ASKERS_MAX 32      /* at once */
#define ASKERS_OF_ONE 8    /* of one account */
#define STRANGERS_MAX 16   /* of those in no group: they keep nobody else out */
#define ASK_SECONDS 60     /* for a command that does not last */
#define UNKNOWN_SECONDS 10 /* for somebody in no group to say who he is */
#define WORDS_BYTES ((size_t)1 << 20) /* of its standard error, before anything is written */
#define MEMORY_BYTES ((rlim_t)512 << 20)
#define LOOK_MS 250
#define PLACE_MS 1000      /* between looks whether another gate has left the socket's place */
#define BECOMES SANDBOX_BIT(SANDBOX_MAIN)
#define STRANGER \
    "you are in none of the groups that `people:` of the gate's configuration names; a new membership counts from the next " \
    "login on. Who has a key or a login of a provider gives commands by `callgate login`"

struct desk {
    const char *config, *store, *audit;
    struct arena arena;
    struct conf_people conf;
    struct control_people people;
    unsigned char digest[DIGEST_BYTES]; /* of the configuration's text */
    int listener;
    struct {
        pid_t pid;
        uid_t uid;
        bool is_stranger; /* in no group: he may have a login to show */
    } askers[ASKERS_MAX];
    size_t count;
};

/* ---- one command: in a process of its own ---- */

static struct {
    int fd;
    bool is_unknown; /* in no group */
    volatile sig_atomic_t seconds; /* left; 0: as long as the person looks on */
    struct command_guest guest;
    const char *login;           /* as control_know takes them */
    const struct person *person;
    unsigned roles, was_read;    /* was_read: when it was forked, *reads */
    const struct desk *desk;
    const struct control_rights *rights;
} asker;

/* How many configurations were read, which the process of a command that follows sees, too. */
static atomic_uint *reads;

/* Each second: whoever has gone, whatever he has left unread, or takes too long, ends it. */
static void look(int number)
{
    struct pollfd person = {.fd = asker.fd, .events = POLLRDHUP};
    int error = errno;

    (void)number;
    if (asker.seconds > 0 && --asker.seconds == 0)
        _exit(STATUS_CANNOT);
    if (poll(&person, 1, 0) != 0)
        _exit(STATUS_CANNOT);
    errno = error;
}

static bool bound_it(pid_t parent)
{
    const struct rlimit memory = {MEMORY_BYTES, MEMORY_BYTES};
    const struct sigaction looking = {.sa_handler = look, .sa_flags = SA_RESTART};
    const struct itimerval second = {{1, 0}, {1, 0}};

    asker.seconds = asker.is_unknown ? UNKNOWN_SECONDS : ASK_SECONDS;
    return prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == parent &&
           (!SANDBOX_IS_BUILT || setrlimit(RLIMIT_DATA, &memory) == 0) && /* a sanitizer reserves more */
           sigaction(SIGALRM, &looking, NULL) == 0 && setitimer(ITIMER_REAL, &second, NULL) == 0;
}

static enum code may_change_beside(const char *path)
{
    char *folder = file_beside(path, SPAN_LIT("."));
    enum code code = folder != NULL ? sandbox_may_change(folder, BECOMES) : CODE_NOMEM;

    mem_free(folder);
    return code;
}

/* Nothing but the store and the audit, since nobody knows yet who it is; no program, no network. */
static enum code confine(const struct desk *desk, struct why *why)
{
    static const char *const read[] = {"/etc/localtime", "/usr/share/zoneinfo", "/dev/null", "/dev/urandom"};
    enum code code = may_change_beside(desk->store);

    if (code == CODE_OK)
        code = may_change_beside(desk->audit); /* who reads a database with a -wal writes its -shm */
    for (size_t i = 0; i < sizeof read / sizeof read[0] && code == CODE_OK; i++)
        code = sandbox_may_read(read[i], BECOMES);
    if (code == CODE_OK)
        code = sandbox_may_read(desk->config, BECOMES);
    if (code == CODE_OK)
        code = sandbox_enter(why);
    if (code == CODE_OK)
        sandbox_narrow(SANDBOX_MAIN);
    return code;
}

/* What is printed goes where the person has it go. Takes over the descriptors. */
static bool take_output(int out, int err)
{
    (void)close(STDOUT_FILENO);
    if (fcntl(out, F_DUPFD, STDOUT_FILENO) != STDOUT_FILENO)
        return false;
    (void)close(STDERR_FILENO);
    return fcntl(err, F_DUPFD, STDERR_FILENO) == STDERR_FILENO && close(out) == 0 && close(err) == 0;
}

static bool receive_head(struct control_head *head)
{
    int handed[2];
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof handed)];
    } control = {0};
    struct iovec part = {head, sizeof *head};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control};
    ssize_t got = recvmsg(asker.fd, &message, MSG_CMSG_CLOEXEC);
    const struct cmsghdr *cmsg = got == (ssize_t)sizeof *head ? CMSG_FIRSTHDR(&message) : NULL;

    if (cmsg == NULL || cmsg->cmsg_level != SOL_SOCKET || cmsg->cmsg_type != SCM_RIGHTS ||
        cmsg->cmsg_len != CMSG_LEN(sizeof handed) || (message.msg_flags & MSG_CTRUNC) != 0 ||
        memcmp(head->magic, CONTROL_MAGIC, sizeof head->magic) != 0 || head->bytes > CONTROL_WORDS_BYTES ||
        head->count > head->bytes)
        return false;
    memcpy(handed, CMSG_DATA(cmsg), sizeof handed);
    return take_output(handed[0], handed[1]);
}

/* A file of the person's, as command_file wants it. */
static enum code ask_file(const char *path, size_t max_bytes, struct buf *out, struct why *why)
{
    enum control_kind kind = CONTROL_NO_CONTENT;
    struct buf frame;
    enum code code;

    buf_init(&frame, max_bytes);
    code = control_send(asker.fd, CONTROL_FILE, span_text(path));
    if (code == CODE_OK)
        code = control_receive(asker.fd, &kind, &frame);
    if (code == CODE_OK && kind == CONTROL_CONTENT)
        code = buf_put(out, buf_peek(&frame));
    else
        code = why_set(why, CODE_IO, "%.*s", SPAN_ARG(code == CODE_OK ? buf_peek(&frame) : span_text(code_text(code))));
    buf_fini(&frame);
    return code;
}

static void turn_away(int fd, enum control_kind kind, const char *text)
{
    char bytes[640];
    struct {
        uint32_t kind, len;
    } head = {(uint32_t)kind, (uint32_t)strlen(text)};

    memcpy(bytes, &head, sizeof head);
    memcpy(bytes + sizeof head, text, head.len);
    (void)send(fd, bytes, sizeof head + head.len, MSG_NOSIGNAL | MSG_DONTWAIT); /* it never makes us wait */
}

static void refuse(int fd, const char *text)
{
    turn_away(fd, CONTROL_REFUSED, text);
}

/* As print_hold, which the commands of the store call themselves, for what is said of failures. */
static bool hold_failures(void)
{
    static char buffer[WORDS_BYTES];

    return setvbuf(stderr, buffer, _IOFBF, sizeof buffer) == 0;
}

static bool asks_who(int argc, char **argv)
{
    return argc > 0 && strcmp(argv[0], CONTROL_WHO) == 0 &&
           (argc == 1 || (argc == 2 && strcmp(argv[1], CONTROL_LOOKS_ON) == 0));
}

static int tell_who(const struct desk *desk, const struct control_rights *rights, int argc, char **argv)
{
    const bool reads_some = (rights->roles & ~(PEOPLE_AUDITS_TENANTS | PEOPLE_DECIDES_TENANTS | PEOPLE_DECIDES_OWN)) == 0;
    struct why why = {""};

    if (argc == 1 || control_note_reading(desk->store, desk->audit, asker.guest.actor.name, reads_some ? rights : NULL, argc,
                                          argv, &why) == CODE_OK)
        return control_tell_who(&desk->conf, &asker.guest.actor, rights);
    turn_away(asker.fd, CONTROL_LATER, why.text);
    return -1;
}

/* To what he may decide. */
static void restrict_approvals(const struct control_rights *rights)
{
    static struct store_person person;

    person = (struct store_person){.names = buf_peek(&rights->names), .tenant = asker.guest.actor.tenant,
                                   .principal = asker.guest.actor.principal, .issuer = asker.guest.actor.issuer};
    store_approvals_restrict(&person);
}

/* Whether he is still let in, to the same, by what he has shown. Groups of the machine cannot be looked up here any more, so
 * that another configuration ends what follows. */
static bool goes_on(void)
{
    static struct actor actor;
    const struct desk *desk = asker.desk;
    struct control_rights rights;
    struct why why = {""};
    enum code code;
    bool is_same;

    if (asker.was_read != atomic_load(reads)) {
        (void)complain(STATUS_CANNOT, "the gate's configuration has changed, which says what you may; give the command again");
        return false;
    }
    actor = (struct actor){.account = asker.guest.actor.account};
    code = control_know(&desk->conf, &desk->people, desk->store, asker.person, asker.roles, asker.login, &actor, &rights, &why);
    is_same = code == CODE_OK && control_rights_equal(&rights, asker.rights);
    buf_fini(&rights.names);
    if (code == CODE_OK && !is_same)
        (void)complain(STATUS_CANNOT, "what you may has changed; give the command again");
    else if (code == CODE_DENIED)
        (void)complain(STATUS_CANNOT, "you are let in no more: %s", why.text);
    return is_same || (code != CODE_OK && code != CODE_DENIED); /* a store that is being written is asked at the next look */
}

static int run(const struct desk *desk, const struct control_rights *rights, int argc, char **argv)
{
    static struct asked asked;
    int used, status;
    const struct command *command = command_find(argc, argv, &used);
    unsigned granted = command != NULL ? command->roles & rights->roles : 0;
    struct why why = {""};
    char text[256];
    bool reads_some;

    if (asks_who(argc, argv))
        return tell_who(desk, rights, argc, argv);
    if (granted == 0) {
        (void)snprintf(text, sizeof text, "%s has no role that may give this command; `callgate login --who` says which "
                       "you have, and `people:` of the gate's configuration, or who makes keys, who has which",
                       asker.guest.actor.name);
        refuse(asker.fd, text);
        return -1;
    }
    if ((granted & ~(PEOPLE_DECIDES_TENANTS | PEOPLE_DECIDES_OWN)) == 0)
        restrict_approvals(rights);
    asker.guest.is_own = (granted & PEOPLE_BIT(PEOPLE_ADMINS)) == 0;
    reads_some = command->is_of_audit && (granted & ~(PEOPLE_AUDITS_TENANTS | PEOPLE_BIT(PEOPLE_AUTHORS))) == 0;
    if (reads_some) /* an author who is no auditor has no tenants */
        audit_restrict(rights->tenants, rights->tenant_count);
    if ((command->is_of_audit || command->shows_held) && control_note_reading(desk->store, desk->audit, asker.guest.actor.name,
                                                     reads_some ? rights : NULL, argc, argv, &why) != CODE_OK) {
        turn_away(asker.fd, CONTROL_LATER, why.text);
        return -1;
    }
    asker.guest.read = ask_file;
    asker.guest.goes_on = goes_on;
    asker.desk = desk;
    asker.rights = rights;
    if (command->lasts && granted != PEOPLE_DECIDES_OWN) /* who has no role takes no place for as long as he likes */
        asker.seconds = 0;
    if (!command->is_of_audit && !hold_failures())
        return STATUS_CANNOT;
    command_serve(&asker.guest);
    failures_as_asked(argc, argv);
    status = command_ask(command, argc - used, argv + used, &asked);
    return status == OPTIONS_GO ? command->run(&asked) : status;
}

static void answer(const struct desk *desk, const struct person *person, unsigned roles)
{
    struct control_rights rights;
    const char *login = NULL;
    int argc, skip;
    struct control_head head = {.count = 0};
    char *words = NULL, **argv = NULL, status;
    struct why why = {""};
    enum code code;
    int result;

    if (receive_head(&head)) {
        words = mem_array(head.bytes + 1, 1);
        argv = mem_array((size_t)head.count + 1, sizeof *argv);
    }
    if (words == NULL || argv == NULL || !control_read(asker.fd, words, head.bytes) ||
        !control_words(span_of(words, head.bytes), head.count, argv)) {
        refuse(asker.fd, "this is no command of a callgate of this version");
        return;
    }
    argc = (int)head.count;
    skip = argc > 0 && strncmp(argv[0], CONTROL_LOGIN, strlen(CONTROL_LOGIN)) == 0;
    login = skip == 1 ? argv[0] + strlen(CONTROL_LOGIN) : NULL;
    asker.login = login;
    asker.person = person;
    asker.roles = roles;
    code = control_know(&desk->conf, &desk->people, desk->store, person, roles, login, &asker.guest.actor, &rights, &why);
    if (code != CODE_OK) {
        turn_away(asker.fd, code == CODE_DENIED ? CONTROL_REFUSED : CONTROL_LATER,
                  why.text[0] != '\0' ? why.text : code_text(code));
        return;
    }
    if (rights.roles == 0 && (argc - skip != 1 || strcmp(argv[skip], CONTROL_WHO) != 0)) {
        refuse(asker.fd, login != NULL ? "your login has no role here; `people:` of the gate's configuration says who has one"
                                       : STRANGER);
        return;
    }
    if (rights.roles != 0)
        asker.seconds = ASK_SECONDS;
    result = run(desk, &rights, argc - skip, argv + skip);
    if (result < 0)
        return;
    status = fflush(stdout) == 0 && fflush(stderr) == 0 ? (char)result : STATUS_CANNOT;
    (void)!control_send(asker.fd, CONTROL_STATUS, span_of(&status, 1));
}

/* In no group, and no member by his account: all that is left to him is a login. */
static bool is_stranger(const struct desk *desk, const struct person *person, unsigned roles)
{
    bool is_member = false;

    for (size_t i = 0; i < desk->people.account_count; i++)
        is_member = is_member || desk->people.accounts[i].account == person->uid;
    return roles == 0 && !is_member;
}

/* Takes: roles: of his groups. */
static _Noreturn void be_asker(const struct desk *desk, const struct person *person, unsigned roles, int fd, pid_t parent)
{
    struct why why = {""};

    (void)close(desk->listener);
    asker.fd = fd;
    asker.was_read = atomic_load(reads);
    asker.is_unknown = is_stranger(desk, person, roles);
    actor_of(person->uid, person->login, &asker.guest.actor);
    if (!bound_it(parent))
        turn_away(fd, CONTROL_LATER, "the gate cannot run commands at the moment");
    else if (confine(desk, &why) != CODE_OK)
        turn_away(fd, CONTROL_LATER, why.text);
    else
        answer(desk, person, roles);
    _exit(0);
}

/* ---- who comes ---- */

/* Of that account, or of all strangers. */
static size_t askers_of(const struct desk *desk, uid_t uid, bool strangers)
{
    size_t count = 0;

    for (size_t i = 0; i < desk->count; i++)
        count += strangers ? desk->askers[i].is_stranger : desk->askers[i].uid == uid;
    return count;
}

/* Once a second at most: whoever comes again and again fills no disk. */
static void tell_stranger(const struct person *person)
{
    static int64_t told_us;
    int64_t now_us = clock_monotonic_us();

    if (told_us != 0 && now_us - told_us < 1000000)
        return;
    told_us = now_us;
    log_warn("control", "somebody of no group of `people:` would give a command: uid %lu", (unsigned long)person->uid);
}

static void admit(struct desk *desk, int fd)
{
    struct person person;
    unsigned roles;
    bool stranger;
    pid_t parent = getpid(), pid = -1;

    if (person_of_peer(fd, &person) != CODE_OK) {
        refuse(fd, "who you are cannot be known: the process that connected has to wait for the answer");
        return;
    }
    if (person.is_kept) {
        log_warn("control", "a command of `upstream: {command:}`, or what it has started, would give a command: refused");
        refuse(fd, "a program that the gate has started for an upstream gives it no commands");
        person_fini(&person);
        return;
    }
    roles = control_roles_of(&desk->people, &person);
    stranger = is_stranger(desk, &person, roles);
    if (stranger)
        tell_stranger(&person);
    if (stranger && askers_of(desk, 0, true) >= STRANGERS_MAX)
        turn_away(fd, CONTROL_LATER, STRANGER);
    else if (askers_of(desk, person.uid, false) == ASKERS_OF_ONE)
        turn_away(fd, CONTROL_LATER, "too many commands of this account are under way; wait until one of them is over");
    else if ((pid = fork()) == 0)
        be_asker(desk, &person, roles, fd, parent);
    else if (pid < 0)
        turn_away(fd, CONTROL_LATER, "the gate cannot run commands at the moment");
    person_fini(&person);
    if (pid <= 0)
        return;
    desk->askers[desk->count].is_stranger = stranger;
    desk->askers[desk->count].pid = pid;
    desk->askers[desk->count++].uid = person.uid;
}

static void reap(struct desk *desk)
{
    pid_t pid;

    while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
        for (size_t i = 0; i < desk->count; i++)
            if (desk->askers[i].pid == pid)
                desk->askers[i--] = desk->askers[--desk->count];
}

/* ---- the gate ---- */

/* A folder where others may write is one where they may listen in the gate's place. */
static enum code open_listener(struct desk *desk, struct why *why)
{
    char *folder = file_beside(desk->conf.socket, SPAN_LIT("."));
    struct stat there;
    enum code code;

    if (folder == NULL || stat(folder, &there) != 0)
        code = why_set(why, CODE_IO, "%s has no folder (%s); make it, or name another place with `people: {socket: FILE}`",
                       desk->conf.socket, strerror(errno));
    else if ((there.st_uid != geteuid() && geteuid() != 0) || (there.st_mode & (S_IWGRP | S_IWOTH)) != 0)
        code = why_set(why, CODE_DENIED, "%s does not belong to the gate's user alone; give the socket of `people:` a folder "
                       "where nobody else may write", folder);
    else /* anybody may connect: who it is the kernel is asked, for each */
        code = local_listen(desk->conf.socket, "people", 0666, &desk->listener, why);
    mem_free(folder);
    return code;
}

static enum code read_people(struct desk *desk, struct why *why)
{
    static struct faults faults;
    unsigned char digest[DIGEST_BYTES] = {0};
    struct control_people people;
    struct conf_people conf;
    struct arena arena;
    struct conf_file *file = conf_file_new(desk->config);
    enum code code;

    if (file == NULL)
        return CODE_NOMEM;
    faults_init(&faults);
    code = conf_people(file, &arena, &conf, &faults);
    conf_file_free(&file);
    if (code != CODE_OK)
        (void)why_of_faults(why, code, &faults);
    else
        code = control_people_find(&conf, &people, why);
    if (code != CODE_OK) {
        arena_fini(&arena);
        return code;
    }
    arena_fini(&desk->arena);
    desk->arena = arena;
    desk->conf = conf;
    desk->people = people;
    if (conf_digest(desk->config, digest, why) != CODE_OK || memcmp(digest, desk->digest, sizeof digest) != 0)
        (void)atomic_fetch_add(reads, 1);
    memcpy(desk->digest, digest, sizeof digest);
    return CODE_OK;
}

/* Where memory or time are short, it is not the gate that has to go without. */
static void give_way(void)
{
    FILE *file = fopen("/proc/self/oom_score_adj", "we");

    if (file != NULL) {
        (void)fputs("500", file);
        (void)fclose(file);
    }
    (void)!nice(5);
}

static void tell_gate(const char *text)
{
    (void)!send(CONTROL_GATE_FD, text, strlen(text) + 1, MSG_NOSIGNAL);
}

/* Returns: false where the gate has gone. */
static bool hear_gate(struct desk *desk)
{
    struct why why = {""};
    char word;
    ssize_t got = recv(CONTROL_GATE_FD, &word, 1, MSG_DONTWAIT);

    if (got <= 0)
        return got < 0 && (errno == EAGAIN || errno == EINTR);
    if (read_people(desk, &why) != CODE_OK)
        log_error("control", "the old groups of `people:` stay: %s", why.text);
    return true;
}

/* Where another gate listens there, which may drain, its place is taken when it has gone. */
static void serve(struct desk *desk)
{
    struct why why;
    int fd;

    for (bool goes_on = true; goes_on;) {
        struct pollfd waits[] = {{.fd = CONTROL_GATE_FD, .events = POLLIN},
                                 {.fd = desk->count < ASKERS_MAX ? desk->listener : -1, .events = POLLIN}};

        (void)poll(waits, 2, desk->listener < 0 ? PLACE_MS : desk->count > 0 ? LOOK_MS : -1);
        reap(desk);
        if (waits[0].revents != 0)
            goes_on = hear_gate(desk);
        if (desk->listener < 0)
            (void)!open_listener(desk, &why);
        else if (waits[1].revents != 0 && (fd = accept4(desk->listener, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
            admit(desk, fd);
            sock_close(&fd);
        } else if (waits[1].revents != 0)
            (void)poll(NULL, 0, LOOK_MS); /* the machine is short of something: not as fast as it can */
    }
}

int control_serve(int argc, char **argv)
{
    static struct desk desk = {.listener = -1};
    struct why why = {""};
    sigset_t none;
    enum code code;

    if (argc != 3)
        return complain(STATUS_USAGE, "the gate starts this by itself");
    desk.config = argv[0];
    desk.store = argv[1];
    desk.audit = argv[2];
    give_way();
    sigemptyset(&none);
    code = sigprocmask(SIG_SETMASK, &none, NULL) == 0 && signal(SIGCHLD, SIG_DFL) != SIG_ERR &&
           prctl(PR_SET_NAME, "control") == 0 && setenv("CALLGATE_CONFIG", desk.config, 1) == 0 ? CODE_OK : CODE_IO;
    if (code == CODE_OK)
        code = sandbox_harden(&why);
    if (code == CODE_OK)
        code = user_drop_rights(&why);
    reads = mmap(NULL, sizeof *reads, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (code == CODE_OK)
        code = reads != MAP_FAILED ? read_people(&desk, &why) : CODE_NOMEM;
    if (code == CODE_OK)
        code = open_listener(&desk, &why);
    if (code == CODE_BUSY)
        log_warn("control", "%s; commands are taken there when that has ended", why.text);
    tell_gate(code == CODE_OK || code == CODE_BUSY ? "" : why.text[0] != '\0' ? why.text : code_text(code));
    if (code == CODE_OK || code == CODE_BUSY)
        serve(&desk);
    arena_fini(&desk.arena);
    return STATUS_DONE;
}
