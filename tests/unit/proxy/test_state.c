/* SPDX-License-Identifier: Apache-2.0 */
#include "fakes/cm.h"
#include "proxy/pair_priv.h"
#include "proxy/question_priv.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* The drawing of src/README.md, "States of a pair", written down a second time. */
static const char *const legal[] = {
    "head who", "head body", "head judge", "head deny", "who body", "who judge", "body judge", "judge audit", "judge deny",
    "audit connect", "audit deny", "connect send", "connect deny", "send reply", "send deny", "reply head", "reply deny", "deny head", NULL,
};

static bool is_legal(enum state from, enum state to)
{
    char move[64];

    if (to == STATE_CLOSING)
        return from != STATE_CLOSING;
    (void)snprintf(move, sizeof move, "%s %s", state__text(from), state__text(to));
    for (const char *const *at = legal; *at; at++)
        if (strcmp(*at, move) == 0)
            return true;
    return false;
}

static void test_moves(void **state) /* 1.5 */
{
    (void)state;
    for (enum state from = STATE_HEAD; from < STATE_COUNT; from++)
        for (enum state to = STATE_HEAD; to < STATE_COUNT; to++)
            assert_int_equal(state__may_follow(from, to), is_legal(from, to));
}

static void test_illegal_move_aborts(void **state) /* 1.5 */
{
    static struct pair pair;
    int status;
    pid_t child;

    (void)state;
    pair.state = STATE_AUDIT;
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)close(STDERR_FILENO);
        pair__set_state(&pair, STATE_SEND); /* before the record is on disk */
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
}

/* The machine of a server's question: nothing is delivered that was not judged, and nothing that is over goes on. */
static void test_question_moves(void **state) /* 5.1, 6.15 */
{
    static const bool may[QUESTION_COUNT][QUESTION_COUNT] = {
        [QUESTION_READ] = {[QUESTION_JUDGED] = true, [QUESTION_OVER] = true},
        [QUESTION_JUDGED] = {[QUESTION_RECORDED] = true, [QUESTION_OVER] = true},
        [QUESTION_RECORDED] = {[QUESTION_READ] = true, [QUESTION_OVER] = true},
    };

    (void)state;
    for (enum question_state from = QUESTION_READ; from < QUESTION_COUNT; from++)
        for (enum question_state to = QUESTION_READ; to < QUESTION_COUNT; to++)
            assert_int_equal(question__may_follow(from, to), may[from][to]);
}

static void test_illegal_question_move_aborts(void **state) /* 5.1 */
{
    static struct server_question question;
    int status;
    pid_t child;

    (void)state;
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)close(STDERR_FILENO);
        question__set_state(&question, QUESTION_RECORDED); /* before it was judged */
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_moves),
        cmocka_unit_test(test_illegal_move_aborts),
        cmocka_unit_test(test_question_moves),
        cmocka_unit_test(test_illegal_question_move_aborts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
