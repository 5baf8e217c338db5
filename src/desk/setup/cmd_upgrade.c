/* SPDX-License-Identifier: Apache-2.0 */
/* callgate upgrade: starts a gate that takes the listening sockets and the audit over from the one that runs. */
#include "cli/commands.h"
#include "setup/upgrade.h"

#include "cli/told.h"
#include "files/files.h"
#include "os/local.h"
#include "os/process.h"
#include "os/user.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define FIRST_FD 3
#define OFFER_MS 10000  /* a gate's main thread may be busy for a while */
#define WORDS_BYTES ((size_t)1 << 20)
#define OWN_PROGRAM "/proc/self/exe"

/* ---- the gate that runs ---- */

/* The new gate is to be whom the old one is: files that it makes have an owner. */
static enum code check_user(const struct conf *conf, const char *place, struct why *why)
{
    struct stat there;

    if (lstat(place, &there) != 0)
        return CODE_OK; /* whoever sends something there is told */
    if (there.st_uid == geteuid() || (geteuid() == 0 && conf->user != NULL && user_is(conf->user, there.st_uid)))
        return CODE_OK;
    return why_set(why, CODE_DENIED, "the gate that runs is user %u's; upgrade it as that user", (unsigned)there.st_uid);
}

/* Reads one of the messages, with its sockets. */
static enum code take_some(struct upgrade_offer *offer, struct why *why)
{
    struct pollfd comes = {.fd = offer->gate, .events = POLLIN};
    size_t count = SERVICE_SOCKETS_MAX - offer->sockets.count;
    enum code code = poll(&comes, 1, OFFER_MS) == 1 ? local_take_handed(offer->gate, &offer->said, sizeof offer->said,
                                                                        offer->sockets.fds + offer->sockets.count, &count)
                                                    : CODE_BUSY;

    offer->sockets.count += code == CODE_OK ? count : 0;
    if (code != CODE_OK)
        return why_set(why, CODE_IO, "the gate that runs did not hand over its sockets; its log says why");
    offer->said.version[sizeof offer->said.version - 1] = '\0';
    return memcmp(offer->said.magic, HANDOVER_MAGIC, sizeof HANDOVER_MAGIC) == 0
               ? CODE_OK : why_set(why, CODE_INVALID, "the gate that runs hands over in another way than this program takes: "
                                   "restart it");
}

/* Shows that this process may write what the gate writes, with a stream's end on which it answers. */
static enum code show(const struct conf *conf, const char *place, const char *magic, int *gate, struct why *why)
{
    char path[4096];
    int ends[2] = {-1, -1}, lock;
    enum code code;

    (void)snprintf(path, sizeof path, "%s" FILES_LOCK, conf->audit.database);
    lock = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (lock == -1)
        code = errno == ENOENT ? CODE_NOT_FOUND : why_set(why, CODE_IO, "%s: %s", path, strerror(errno));
    else if ((code = local_pair(ends)) == CODE_OK)
        code = local_post(place, span_of(magic, sizeof HANDOVER_MAGIC), (const int[]){lock, ends[1]}, 2, OFFER_MS);
    if (code == CODE_NOT_FOUND)
        (void)why_set(why, code, "no gate runs that hands over its sockets at %s: start one", place);
    else if (code != CODE_OK && lock != -1)
        (void)why_set(why, code, "%s cannot be reached: %s", place, strerror(errno));
    *gate = ends[0];
    sock_close(&ends[1]); /* the gate alone has it now, so that its end is seen */
    sock_close(&lock);
    return code;
}

/* Takes: looks: nothing is to be taken over, and an upgrade that is under way goes on. CODE_NOT_FOUND: no gate writes this
 * audit, or it is one of before 0.6, which hands nothing over. */
static enum code ask_gate(const struct conf *conf, bool looks, struct upgrade_offer *offer, struct why *why)
{
    char place[4096];
    enum code code;

    *offer = (struct upgrade_offer){.gate = -1};
    (void)snprintf(place, sizeof place, "%s" FILES_HANDOVER, conf->audit.database);
    code = check_user(conf, place, why);
    if (code == CODE_OK)
        code = show(conf, place, looks ? HANDOVER_LOOKS : HANDOVER_MAGIC, &offer->gate, why);
    do
        code = code == CODE_OK ? take_some(offer, why) : code;
    while (code == CODE_OK && offer->sockets.count < offer->said.sockets);
    return code;
}

static void offer_end(struct upgrade_offer *offer)
{
    service_close(&offer->sockets);
    sock_close(&offer->gate);
}

/* ---- programs ---- */

int upgrade_run(const char *const *words, struct buf *out)
{
    int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC), said[2] = {-1, -1}, status = -1, ended = -1;
    struct process_program program = {.argv = words, .in = nothing};
    struct why why = {""};
    char piece[4096];
    ssize_t got;
    pid_t pid;

    if (nothing < 0 || pipe2(said, O_CLOEXEC) != 0) {
        sock_close(&nothing);
        return -1;
    }
    program.out = program.err = said[1];
    if (process_start(&program, &pid, &ended, &why) == CODE_OK) {
        sock_close(&said[1]);
        while ((got = read(said[0], piece, sizeof piece)) > 0 || (got < 0 && errno == EINTR))
            if (got > 0)
                (void)buf_add(out, piece, (size_t)got); /* a program that never ends its words is read all the same */
        status = process_finish(pid);
        status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    } else {
        buf_add_text(out, why.text);
    }
    sock_close(&ended);
    sock_close(&said[0]);
    sock_close(&said[1]);
    sock_close(&nothing);
    return status;
}

/* ---- the new gate ---- */

/* Puts descriptors behind one another from FIRST_FD on, where they stay open in the next program. */
static bool arrange(const int *fds, size_t count)
{
    int above = FIRST_FD + (int)count;

    for (size_t i = 0; i < count; i++) {
        int moved = fcntl(fds[i], F_DUPFD, above + (int)i); /* out of the way of all that come before it */

        if (moved == -1)
            return false;
        ((int *)(uintptr_t)fds)[i] = moved;
    }
    for (size_t i = 0; i < count; i++)
        if (dup2(fds[i], FIRST_FD + (int)i) == -1)
            return false;
    return syscall(SYS_close_range, above, ~0u, 0) == 0;
}

/* Whoever waits for what this command prints is not to wait for the gate, which logs where this one complains. */
static bool close_standard(void)
{
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);

    return nothing != -1 && dup2(nothing, STDIN_FILENO) != -1 && dup2(nothing, STDOUT_FILENO) != -1;
}

static _Noreturn void be_gate(const struct conf *conf, const char *program, struct upgrade_offer *offer, int ready)
{
    static int fds[SERVICE_SOCKETS_MAX + 2];
    const size_t count = offer->sockets.count;
    char pid[16], sockets[16], ready_fd[16], gate_fd[16], linger[32];
    char *words[] = {(char[]){"callgate"}, (char[]){"serve"}, (char[]){"--config"}, (char *)(uintptr_t)conf->path,
                     (char[]){"--ready-fd"}, ready_fd, (char[]){"--upgrades"}, gate_fd,
                     (char[]){"--while-used"}, linger, NULL};

    memcpy(fds, offer->sockets.fds, count * sizeof *fds);
    fds[count] = ready;
    fds[count + 1] = offer->gate;
    (void)snprintf(pid, sizeof pid, "%d", (int)getpid());
    (void)snprintf(sockets, sizeof sockets, "%zu", count);
    (void)snprintf(ready_fd, sizeof ready_fd, "%zu", FIRST_FD + count);
    (void)snprintf(gate_fd, sizeof gate_fd, "%zu", FIRST_FD + count + 1);
    (void)snprintf(linger, sizeof linger, "%llums", (unsigned long long)offer->said.linger_ms);
    if (offer->said.linger_ms == 0)
        words[8] = NULL;
    if (!close_standard() || !arrange(fds, count + 2) || setenv("LISTEN_PID", pid, 1) != 0 ||
        setenv("LISTEN_FDS", sockets, 1) != 0)
        _exit(126);
    (void)setsid(); /* a terminal that closes must not reach it */
    execv(program, words);
    (void)complain(STATUS_CANNOT, "%s cannot be started: %s", program, strerror(errno));
    _exit(127);
}

/* Whether the gate that ran serves as it did: one that ends has left its place. */
static bool goes_on(const struct conf *conf)
{
    struct upgrade_offer again;
    struct why why = {""};
    bool is_there = ask_gate(conf, true, &again, &why) == CODE_OK;

    offer_end(&again);
    return is_there;
}

static int say(const struct upgrade_offer *offer, pid_t gate, bool as_json)
{
    struct doc *doc = doc_object();

    doc_int(doc, "process", gate);
    doc_int(doc, "was", (int64_t)offer->said.pid);
    doc_text(doc, "was_version", span_text(offer->said.version));
    return told_answer(&doc, as_json, "process {process} serves in the place of {was}, which was callgate {was_version}\n");
}

static int start(const struct conf *conf, const char *program, struct upgrade_offer *offer, bool as_json)
{
    int ready[2];
    char line[1024];
    ssize_t got;
    pid_t gate = pipe2(ready, O_CLOEXEC) == 0 ? fork() : -1;

    if (gate == 0)
        be_gate(conf, program, offer, ready[1]);
    if (gate < 0)
        return complain(STATUS_CANNOT, "no process can be made: %s", strerror(errno));
    (void)close(ready[1]);
    sock_close(&offer->gate); /* the old gate sees whether the new one lives by that one's end alone */
    while ((got = read(ready[0], line, sizeof line)) < 0 && errno == EINTR)
        continue;
    (void)close(ready[0]);
    if (got > 0)
        return say(offer, gate, as_json);
    return complain(STATUS_CANNOT, "the new gate did not start; %s", goes_on(conf)
                    ? "the one that runs goes on" : "the one before has ended: mend it, and start a gate at once");
}

int cmd_upgrade(const struct asked *asked)
{
    const char *program = asked->given.count > 0 ? asked->given.operands[0] : OWN_PROGRAM;
    const char *const check[] = {program, "serve", "--check", "--config", conf_find(asked->config), NULL};
    static struct upgrade_offer offer;
    struct why why = {""};
    struct conf *conf = NULL;
    struct buf words;
    int status = asked_conf(asked, &conf);
    enum code code;

    if (status != OPTIONS_GO)
        return status;
    buf_init(&words, WORDS_BYTES);
    (void)sock_descriptor_limit();
    code = ask_gate(conf, asked->check, &offer, &why);
    if (asked->check && (code == CODE_OK || code == CODE_NOT_FOUND))
        status = upgrade_check(conf, program, &offer, asked->json);
    else if (code != CODE_OK)
        status = complain_why(code, &why);
    else if (upgrade_run(check, &words) != 0) /* before anything is asked of the gate that runs */
        status = complain(STATUS_CANNOT, "%s does not take the configuration; the gate that runs goes on: %.*s", program,
                          SPAN_ARG(buf_peek(&words)));
    else
        status = start(conf, program, &offer, asked->json);
    offer_end(&offer);
    buf_fini(&words);
    conf_free(&conf);
    return status;
}
