/* SPDX-License-Identifier: Apache-2.0 */
/* callgate audit open: plain SQL over many files. Sealed ones are attached; what is written, or has no place among these, is
 * asked of a copy, so that a session of hours keeps nothing of the gate's. */
#include "trail/cmd_audit_priv.h"
#include "args/print.h"

#include "base/mem.h"
#include "query/attach.h"
#include "query/merge.h"
#include "os/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define ATTACHING_BYTES ((size_t)128 << 10) /* as long as Linux takes a word of a command line */

extern char **environ;

/* ---- the copy, which holds what agents were asked -------------------------------------------------------------------- */

static char copy[4096];

static void remove_copy(int number)
{
    (void)unlink(copy);
    (void)raise(number); /* which ends us once we return, as it would have */
}

static void remove_at_signals(void)
{
    static const int signals[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM};
    const struct sigaction removing = {.sa_handler = remove_copy, .sa_flags = (int)SA_RESETHAND};
    struct sigaction was;

    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
        if (sigaction(signals[i], NULL, &was) == 0 && was.sa_handler != SIG_IGN) /* nohup */
            (void)sigaction(signals[i], &removing, NULL);
}

/* Takes: attaching: what sqlite3 runs first, of files that were left where they are; NULL: all are copied. */
static int merge(const char *path, const struct asked *asked, struct buf *attaching)
{
    struct trail trail = {0};
    struct merged merged = {0};
    struct why why = {""};
    size_t attached = 0;
    int status = STATUS_DONE;
    enum code code = trail_find(path, true, &trail, &why);

    if (code == CODE_OK)
        status = trail_place_tell_missing(&trail, asked->from);
    if (code == CODE_OK)
        attached = attaching != NULL ? audit_attachable(&trail, asked->since_us, asked->until_us) : 0;
    if (code == CODE_OK)
        code = audit_merge(&trail, attached, copy, asked->since_us, asked->until_us, &merged, &why);
    if (code == CODE_OK && attached > 0)
        code = audit_attach(copy, &trail.files[trail.count - attached], attached, asked->since_us, asked->until_us, attaching,
                            &why);
    trail_fini(&trail);
    if (code != CODE_OK)
        return complain(STATUS_CANNOT, "%s", why.text[0] != '\0' ? why.text : code_text(code));
    print_safely(stderr, "callgate: %" PRIu64 " rows of %zu file%s%s", merged.rows, merged.files, merged.files == 1 ? "" : "s",
                 attached > 0 ? "" : "\n");
    if (attached > 0)
        print_safely(stderr, " are copied, %zu sealed ones are asked where they are\n", attached);
    return status;
}

int cmd_audit__merge(const char *path, const struct asked *asked)
{
    const char *out = asked->output;
    int fd = -1, status;

    if (access(out, F_OK) == 0)
        return complain(STATUS_CANNOT, "%s: is there already; name a new file", out);
    if (snprintf(copy, sizeof copy, "%s.part", out) >= (int)sizeof copy)
        return complain(STATUS_CANNOT, "%s: the path is too long", out);
    fd = file_make(copy, O_WRONLY | O_EXCL, 0600);
    if (fd < 0)
        return complain(STATUS_CANNOT, "%s: %s%s", copy, strerror(errno),
                        errno == EEXIST ? "; another export is writing it, or one was killed: then remove it" : "");
    remove_at_signals();
    (void)close(fd);
    status = merge(path, asked, NULL);
    if ((status == STATUS_DONE || status == STATUS_NEGATIVE) && link(copy, out) != 0 &&
        (errno == EEXIST || rename(copy, out) != 0)) /* a disk without links */
        status = complain(STATUS_CANNOT, "%s: %s", out, strerror(errno));
    (void)unlink(copy);
    return status;
}

/* ---- sqlite3 ---------------------------------------------------------------------------------------------------------- */

/* Blocks: until it ends. What ends it from the keyboard does not end us, who remove the copy. */
static int run_sqlite(const char *attaching)
{
    const char *const argv[] = {"sqlite3", "-readonly", "-cmd", attaching, copy, NULL};
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    posix_spawnattr_t attributes;
    sigset_t signals;
    pid_t pid;
    int result, status = 0;

    (void)sigaction(SIGINT, &ignore, NULL);
    (void)sigaction(SIGQUIT, &ignore, NULL);
    (void)sigemptyset(&signals);
    (void)sigaddset(&signals, SIGINT);
    (void)sigaddset(&signals, SIGQUIT);
    (void)posix_spawnattr_init(&attributes);
    (void)posix_spawnattr_setsigdefault(&attributes, &signals);
    (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    result = posix_spawnp(&pid, argv[0], NULL, &attributes, (char *const *)(uintptr_t)argv, environ);
    (void)posix_spawnattr_destroy(&attributes);
    if (result != 0)
        return complain(STATUS_CANNOT, "sqlite3 cannot be started: %s; install it, or write the database with `callgate audit "
                        "export --format sqlite --output FILE`", strerror(result));
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? STATUS_DONE : STATUS_NEGATIVE;
}

static int run(const char *path, const struct asked *asked)
{
    const char *folder = getenv("TMPDIR");
    struct buf attaching;
    int fd = -1, status, ended;

    if (folder == NULL)
        folder = "/var/tmp";
    if (snprintf(copy, sizeof copy, "%s/callgate-XXXXXX.db", folder) < (int)sizeof copy)
        fd = mkstemps(copy, 3);
    if (fd < 0)
        return complain(STATUS_CANNOT, "%s: no copy can be made there: %s; name another folder in TMPDIR", folder,
                        strerror(errno));
    remove_at_signals();
    (void)close(fd);
    buf_init(&attaching, ATTACHING_BYTES);
    status = merge(path, asked, &attaching);
    if (status == STATUS_DONE || status == STATUS_NEGATIVE) {
        ended = buf_add_byte(&attaching, '\0') == CODE_OK ? run_sqlite(buf_peek(&attaching).at)
                                                          : complain(STATUS_CANNOT, "not enough memory");
        status = ended != STATUS_DONE ? ended : status;
    }
    (void)unlink(copy);
    buf_fini(&attaching);
    return status;
}

int cmd_audit_open(const struct asked *asked)
{
    char *path = NULL;
    int status = asked_trail(asked, asked_operand(asked, 0), &path);

    if (status == OPTIONS_GO)
        status = run(path, asked);
    mem_free(path);
    return status;
}
