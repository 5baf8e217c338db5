/* SPDX-License-Identifier: Apache-2.0 */
/* Signals as events. 1.8 */
#include "fakes/cm.h"

#include "os/signal.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct heard {
    int signos[8];
    int count;
};

static void on_signal(void *context, int signo)
{
    struct heard *heard = context;

    if (heard->count < 8)
        heard->signos[heard->count] = signo;
    heard->count++;
}

TEST_CASE(asked_signals_arrive_in_the_loop)
{
    static const int signos[] = {SIGTERM, SIGHUP, 0};
    struct signals signals;
    struct heard heard = {.count = 0};
    struct loop *loop;

    signals_block();
    assert_ok(loop_new(&loop));
    assert_ok(signals_init(&signals, loop, signos, on_signal, &heard, NULL));
    assert_ok(loop_turn(loop, 0));
    assert_int_equal(heard.count, 0);
    assert_ok(kill(getpid(), SIGHUP));
    assert_ok(kill(getpid(), SIGTERM));
    assert_ok(loop_turn(loop, 1000000));
    assert_int_equal(heard.count, 2);
    assert_int_equal(heard.signos[0] + heard.signos[1], SIGHUP + SIGTERM);
    assert_ok(loop_turn(loop, 0));
    assert_int_equal(heard.count, 2);
    signals_fini(&signals);
    signals_fini(&signals);
    loop_free(&loop);
}

TEST_CASE(a_closed_pipe_kills_nobody)
{
    int fds[2];

    assert_true(signal(SIGPIPE, SIG_DFL) != SIG_ERR);
    signals_block();
    assert_ok(pipe(fds));
    close(fds[0]);
    assert_int_equal(write(fds[1], "x", 1), -1); /* and we are still here */
    close(fds[1]);
}

TEST_MAIN(NULL, NULL)
