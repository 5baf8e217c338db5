/* SPDX-License-Identifier: Apache-2.0 */
/* The person's side of the control socket, beside a process that answers as the gate's does. */
#include "people/control.h"
#include "os/clock.h"
#include "os/local.h"
#include "os/sock.h"
#include "fakes/cm.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define LINGERS_MS 300

static char home[64], path[96];

static int begin(void **state)
{
    (void)state;
    snprintf(home, sizeof home, "/tmp/callgate-control-XXXXXX");
    if (mkdtemp(home) == NULL)
        return -1;
    snprintf(path, sizeof path, "%s/control.sock", home);
    return chmod(home, 0755);
}

static int end(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(home);
}

/* Answers one command, and lingers. */
static _Noreturn void serve(int listener, enum control_kind kind, struct span text)
{
    int fd = accept(listener, NULL, NULL);

    if (control_send(fd, kind, text) == CODE_OK)
        (void)poll(NULL, 0, LINGERS_MS);
    _exit(0);
}

/* Returns: the status; *took_ms: until it was there. */
static int talk(enum control_kind kind, struct span text, struct buf *said, int64_t *took_ms)
{
    char group[] = "approvals", list[] = "list", *words[] = {group, list};
    struct asked asked = {.words = words, .word_count = 2};
    struct why why = {""};
    int listener = -1, status;
    int64_t began_us;
    pid_t pid;

    assert_int_equal(local_listen(path, "people", 0600, &listener, &why), CODE_OK);
    pid = fork();
    if (pid == 0) {
        (void)fcntl(listener, F_SETFL, fcntl(listener, F_GETFL) & ~O_NONBLOCK);
        serve(listener, kind, text);
    }
    assert_true(pid > 0);
    began_us = clock_monotonic_us();
    status = control_talk(&(struct control_talk){.socket = path, .asked = &asked, .out = STDOUT_FILENO, .err = STDERR_FILENO,
                                                 .said = said});
    *took_ms = (clock_monotonic_us() - began_us) / 1000;
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    sock_close(&listener);
    return status;
}

/* The gate counts the process of a command as one of its person's until that is gone: whoever gives one command after the other
 * is not to be turned away for those that are over. */
TEST_CASE_WITH(test_a_command_is_over_when_its_process_is, begin, end)
{
    int64_t took_ms;
    struct buf said;

    buf_init(&said, 1024);
    assert_int_equal(talk(CONTROL_STATUS, SPAN_LIT("\7"), &said, &took_ms), 7);
    assert_true(took_ms >= LINGERS_MS * 9 / 10);
    assert_int_equal(talk(CONTROL_LATER, SPAN_LIT("too many"), &said, &took_ms), STATUS_CANNOT);
    assert_true(took_ms >= LINGERS_MS * 9 / 10);
    assert_true(span_is(buf_peek(&said), "too many"));
    buf_fini(&said);
}

TEST_MAIN(NULL, NULL)
