/* SPDX-License-Identifier: Apache-2.0 */
#include "fakes/cm.h"
#include "lane/pair.h"
#include "back/question_priv.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* The drawing of src/README.md, "The one way of a call", written down a second time. */
static const char *const legal[] = {
    "read_head find_route", "read_head judge", "find_route identify", "find_route read_body", "find_route judge", "find_route deny",
    "identify admit", "identify judge", "admit read_body", "admit judge", "read_body understand", "read_body judge",
    "understand judge", "understand deny", "judge use", "judge record", "use judge", "use record", "record await", "record deny",
    "await connect", "await deny", "connect send", "connect deny",
    "send relay", "send deny", "relay finish", "relay deny", "deny finish", "finish read_head", NULL,
};

static bool is_legal(enum step from, enum step to)
{
    char move[64];

    if (to == STEP_CLOSING)
        return from != STEP_CLOSING;
    (void)snprintf(move, sizeof move, "%s %s", step_text(from), step_text(to));
    for (const char *const *at = legal; *at; at++)
        if (strcmp(*at, move) == 0)
            return true;
    return false;
}

TEST_CASE(test_moves) /* 1.5, 6.15 */
{
    for (enum step from = STEP_READ_HEAD; from < STEP_COUNT; from++)
        for (enum step to = STEP_READ_HEAD; to < STEP_COUNT; to++)
            assert_int_equal(step_may_follow(from, to), is_legal(from, to));
}

TEST_CASE(test_illegal_move_aborts) /* 1.5 */
{
    static struct pair pair;
    int status;
    pid_t child;

    pair.step = STEP_AWAIT;
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)close(STDERR_FILENO);
        pair_go(&pair, STEP_SEND); /* before the record is on disk */
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
}

/* What a server says goes the same way. */
TEST_CASE(test_illegal_question_move_aborts) /* 5.1, 6.15 */
{
    static struct server_question question;
    int status;
    pid_t child;

    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)close(STDERR_FILENO);
        question.step = STEP_JUDGE;
        question__go(&question, STEP_AWAIT); /* before it is recorded */
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
}

TEST_MAIN(NULL, NULL)
