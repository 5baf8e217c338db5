/* SPDX-License-Identifier: Apache-2.0 */
/* 2.5: how far a command is is drawn on a terminal, told to a program that asked for it, and kept from everybody else. */
#include "cli/progress.h"
#include "fakes/cm.h"

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

/* A piece of work: so much of it told, something else at once, then its end. */
static void work(uint64_t done, uint64_t total)
{
    struct progress progress;

    progress_begin(&progress, "reading", total);
    progress.at = 7;
    progress_tell(&progress, done);
    progress.drawn_us += INT64_C(3600000000); /* however long that took, it was just now */
    progress_tell(&progress, done + 1);
    progress_end(&progress);
    progress_tell(&progress, 200); /* nobody's any more */
}

static void hear(int fd)
{
    size_t len = 0;
    ssize_t part;

    (void)fflush(stderr);
    dup2(saved, STDERR_FILENO);
    close(saved);
    assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
    while ((part = read(fd, said + len, sizeof said - 1 - len)) > 0)
        len += (size_t)part;
    assert_true(part == 0 || errno == EAGAIN);
    said[len] = '\0';
    close(fd);
}

static void told_through_a_pipe(void)
{
    int ends[2];

    assert_int_equal(pipe(ends), 0);
    tell_into(ends[1]);
    work(100, 200);
    hear(ends[0]);
    close(ends[1]);
}

TEST_CASE(a_log_has_no_bar)
{
    told_through_a_pipe();
    assert_string_equal(said, "");
}

TEST_CASE(a_program_is_told_lines)
{
    progress_as_json(true);
    told_through_a_pipe();
    progress_as_json(false);
    assert_string_equal(said, "{\"progress\":\"reading\",\"done\":100,\"total\":200,\"at\":7}\n");
}

static const struct { uint64_t done, total; const char *drawn; } bars[] = {
    {100, 200, "\r\033[Kreading [###############               ]  50%  "},
    {200, 200, "\r\033[Kreading [##############################] 100%  "},
    {300, 200, "\r\033[Kreading [##############################] 100%  "}, /* more came meanwhile */
    {300, 0, "\r\033[Kreading: 300, "},
};

TEST_CASE(a_terminal_has_a_bar_until_the_end)
{
    static const char wiped[] = "\r\033[K";

    for (size_t i = 0; i < sizeof bars / sizeof bars[0]; i++) {
        int terminal = posix_openpt(O_RDWR | O_NOCTTY), line = -1;

        if (terminal >= 0 && grantpt(terminal) == 0 && unlockpt(terminal) == 0)
            line = open(ptsname(terminal), O_RDWR | O_NOCTTY);
        if (line < 0)
            skip(); /* no pseudo-terminals here */
        tell_into(line);
        work(bars[i].done, bars[i].total);
        hear(terminal);
        close(line);
        assert_ptr_equal(strstr(said, bars[i].drawn), said);
        assert_null(strstr(said + strlen(bars[i].drawn), "reading"));
        assert_string_equal(said + strlen(said) - strlen(wiped), wiped);
    }
}

TEST_MAIN(NULL, NULL)
