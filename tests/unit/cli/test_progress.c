/* SPDX-License-Identifier: Apache-2.0 */
/* 2.5: how far a command is is drawn on a terminal, told to a program that asked for it, and kept from everybody else. */
#include "cli/progress.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char said[4096];
static int saved;

static void tell_into(int fd)
{
    saved = dup(STDERR_FILENO);
    assert_true(fd >= 0 && dup2(fd, STDERR_FILENO) >= 0);
}

/* A piece of work of 200 parts: half of it told twice at once, then its end. */
static void work(void)
{
    struct progress progress;

    progress_begin(&progress, "reading", 200);
    progress.at = 7;
    progress_tell(&progress, 100);
    progress_tell(&progress, 101); /* too soon after the other */
    progress_end(&progress);
    progress_tell(&progress, 200); /* nobody's any more */
}

static void hear(int fd)
{
    ssize_t len;

    (void)fflush(stderr);
    dup2(saved, STDERR_FILENO);
    close(saved);
    assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
    len = read(fd, said, sizeof said - 1);
    assert_true(len >= 0 || errno == EAGAIN);
    said[len > 0 ? len : 0] = '\0';
    close(fd);
}

static void told_through_a_pipe(void)
{
    int ends[2];

    assert_int_equal(pipe(ends), 0);
    tell_into(ends[1]);
    work();
    hear(ends[0]);
    close(ends[1]);
}

static void a_log_has_no_bar(void **state)
{
    (void)state;
    told_through_a_pipe();
    assert_string_equal(said, "");
}

static void a_program_is_told_lines(void **state)
{
    (void)state;
    progress_as_json(true);
    told_through_a_pipe();
    progress_as_json(false);
    assert_string_equal(said, "{\"progress\":\"reading\",\"done\":100,\"total\":200,\"at\":7}\n");
}

static void a_terminal_has_a_bar_until_the_end(void **state)
{
    const char bar[] = "\r\033[Kreading [###############               ]  50%  ", wiped[] = "\r\033[K";
    int terminal = posix_openpt(O_RDWR | O_NOCTTY), line = -1;

    (void)state;
    if (terminal >= 0 && grantpt(terminal) == 0 && unlockpt(terminal) == 0)
        line = open(ptsname(terminal), O_RDWR | O_NOCTTY);
    if (line < 0)
        skip(); /* no pseudo-terminals here */
    tell_into(line);
    work();
    hear(terminal);
    close(line);
    assert_ptr_equal(strstr(said, bar), said);
    assert_null(strstr(said + sizeof bar - 1, "reading"));
    assert_string_equal(said + strlen(said) - strlen(wiped), wiped);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_log_has_no_bar),
        cmocka_unit_test(a_program_is_told_lines),
        cmocka_unit_test(a_terminal_has_a_bar_until_the_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
