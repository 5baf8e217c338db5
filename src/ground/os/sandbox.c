/* SPDX-License-Identifier: Apache-2.0 */
#include "os/sandbox_priv.h"

#include "base/bug.h"
#include "base/mem.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define RULES_MAX 1024
#define ALL_PARTS (SANDBOX_BIT(SANDBOX_PARTS) - 1)
#define TRY_PORTS 64

/* The process has one sandbox. Written on main before other threads are started. */
static struct {
    struct sandbox_rule rules[RULES_MAX];
    size_t count;
    bool has_entered, has_files, has_calls;
    int landlock;
    int rulesets[SANDBOX_PARTS]; /* of each part, where has_files */
} sandbox;

enum code sandbox_harden(struct why *why)
{
    const struct rlimit none = {0, 0};

    if (!SANDBOX_IS_BUILT)
        return CODE_OK;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0 ||
        setrlimit(RLIMIT_CORE, &none) != 0)
        return why_set(why, CODE_IO, "the process cannot give up privileges and dumps: %s", strerror(errno));
    return CODE_OK;
}

/* ---- rules ---- */

static enum code add_rule(const char *path, uint16_t port, bool changes, unsigned parts)
{
    struct sandbox_rule *rule = &sandbox.rules[sandbox.count];

    BUG_ON(sandbox.has_entered);
    for (size_t i = 0; i < sandbox.count; i++) {
        struct sandbox_rule *one = &sandbox.rules[i];

        if (one->changes == changes && one->port == port && (path == NULL) == (one->path == NULL) &&
            (path == NULL || strcmp(one->path, path) == 0)) {
            one->parts |= parts;
            return CODE_OK;
        }
    }
    if (sandbox.count == RULES_MAX)
        return CODE_LIMIT;
    *rule = (struct sandbox_rule){.path = path != NULL ? mem_dup(path, strlen(path)) : NULL, .port = port, .changes = changes,
                                  .parts = parts};
    if (path != NULL && rule->path == NULL)
        return CODE_NOMEM;
    sandbox.count++;
    return CODE_OK;
}

enum code sandbox_may_read(const char *path, unsigned parts)
{
    return add_rule(path, 0, false, parts);
}

enum code sandbox_may_change(const char *folder, unsigned parts)
{
    return add_rule(folder, 0, true, parts);
}

enum code sandbox_may_connect(uint16_t port, unsigned parts)
{
    return add_rule(NULL, port, false, parts);
}

static bool may_connect(uint16_t port)
{
    for (size_t i = 0; i < sandbox.count; i++)
        if (sandbox.rules[i].path == NULL && sandbox.rules[i].port == port)
            return true;
    return false;
}

bool sandbox_knows_port(uint16_t port)
{
    return !sandbox.has_entered || sandbox.landlock < 4 || may_connect(port);
}

const char *sandbox_hint(const char *path, int error)
{
    /* access(2) sees owners and modes alone, and nothing of Landlock. */
    return sandbox.has_entered && sandbox.has_files && error == EACCES && (access(path, R_OK) == 0 || errno == ENOENT)
               ? "; since its start the gate sees only the folders that its configuration named then, so restart it"
               : "";
}

/* ---- entering ---- */

static enum code refused(struct why *why, const char *what)
{
    return why_set(why, CODE_IO, "the process cannot confine itself (%s): %s", what, strerror(errno));
}

/* The rules of each part are opened now, since no thread could open them later. */
static enum code open_rulesets(struct why *why)
{
    for (unsigned part = 0; part < SANDBOX_PARTS; part++) {
        sandbox.rulesets[part] = sandbox__ruleset(sandbox.rules, sandbox.count, SANDBOX_BIT(part));
        if (sandbox.rulesets[part] < 0)
            return refused(why, "files");
    }
    return CODE_OK;
}

enum code sandbox_enter(struct why *why)
{
    enum code code = CODE_OK;
    int all = -1;

    BUG_ON(sandbox.has_entered);
    if (!SANDBOX_IS_BUILT)
        return CODE_OK;
    sandbox.landlock = sandbox__landlock_version();
    if (sandbox.landlock > 0) {
        code = open_rulesets(why);
        if (code == CODE_OK && (all = sandbox__ruleset(sandbox.rules, sandbox.count, ALL_PARTS)) < 0)
            code = refused(why, "files");
        if (code == CODE_OK && !sandbox__restrict_files(all))
            code = refused(why, "files");
        if (all >= 0)
            (void)close(all);
        sandbox.has_files = code == CODE_OK;
    }
    if (code == CODE_OK && sandbox__filters_calls()) {
        sandbox.has_calls = sandbox__restrict_calls(ALL_PARTS | SANDBOX_BIT(SANDBOX_PARTS));
        if (!sandbox.has_calls)
            code = refused(why, "system calls");
    }
    sandbox.has_entered = code == CODE_OK;
    return code;
}

void sandbox_narrow(enum sandbox_part part)
{
    if (!sandbox.has_entered)
        return;
    BUG_ON(sandbox.has_files && !sandbox__restrict_files(sandbox.rulesets[part]));
    BUG_ON(sandbox.has_calls && !sandbox__restrict_calls(SANDBOX_BIT(part)));
}

/* ---- proving ---- */

/* What a part could still do although it may not. */
struct trial {
    bool opened, connected, made_code;
};

static uint16_t forbidden_port(void)
{
    uint16_t port = 1;

    while (port < TRY_PORTS && may_connect(port))
        port++;
    return port;
}

static void try_all(struct trial *trial)
{
    const struct sockaddr_in nobody = {.sin_family = AF_INET, .sin_port = htons(forbidden_port()),
                                       .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int sock = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), folder;
    void *code;

    if (sandbox_enter(NULL) != CODE_OK)
        return;
    folder = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    trial->opened = folder >= 0 || errno != EACCES;
    trial->connected = connect(sock, (const struct sockaddr *)&nobody, sizeof nobody) == 0 || errno != EACCES;
    code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    trial->made_code = code != MAP_FAILED;
}

/* Runs in a child. Tells what could still be done, then makes, as that part, a call that no part may make. */
static _Noreturn void run_trial(int out, enum sandbox_part part)
{
    struct trial trial = {true, true, true};

    try_all(&trial);
    while (write(out, &trial, sizeof trial) < 0 && errno == EINTR)
        continue;
    sandbox_narrow(part);
    (void)syscall(SYS_getppid);
    _exit(0);
}

static enum code prove_one(enum sandbox_part part, struct trial *trial, bool *died, struct why *why)
{
    int ends[2], status = 0;
    ssize_t got;
    pid_t child;

    if (pipe2(ends, O_CLOEXEC) != 0)
        return why_set(why, CODE_IO, "the sandbox cannot be tried: %s", strerror(errno));
    child = fork();
    if (child == 0)
        run_trial(ends[1], part);
    (void)close(ends[1]);
    while ((got = read(ends[0], trial, sizeof *trial)) < 0 && errno == EINTR)
        continue;
    (void)close(ends[0]);
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    *died = child > 0 && WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS;
    if (child > 0 && got == (ssize_t)sizeof *trial)
        return CODE_OK;
    return why_set(why, CODE_IO, "the sandbox cannot be tried: %s", child < 0 ? strerror(errno) : "its trial ended early");
}

enum code sandbox_prove(struct sandbox_proof *proof, struct why *why)
{
    struct trial trial;
    bool died = false, filters = SANDBOX_IS_BUILT && sandbox__filters_calls();
    enum code code;

    *proof = (struct sandbox_proof){.landlock = SANDBOX_IS_BUILT ? sandbox__landlock_version() : 0};
    if (!SANDBOX_IS_BUILT)
        return CODE_OK;
    code = prove_one(SANDBOX_WORKER, &trial, &died, why);
    if (code != CODE_OK)
        return code;
    proof->files = !trial.opened;
    proof->ports = !trial.connected;
    proof->memory = !trial.made_code;
    proof->calls = died;
    if (proof->files == (proof->landlock > 0) && proof->ports == (proof->landlock >= 4) && proof->calls == filters &&
        proof->memory == filters)
        return CODE_OK;
    return why_set(why, CODE_IO, "the sandbox does not hold: files %d, ports %d, calls %d, memory %d, with Landlock %d and %s; "
                   "report it, or write `sandbox: off`", proof->files, proof->ports, proof->calls, proof->memory,
                   proof->landlock, filters ? "seccomp" : "no seccomp");
}
