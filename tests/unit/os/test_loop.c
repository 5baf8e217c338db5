/* SPDX-License-Identifier: Apache-2.0 */
/* The loop, timers and watches. 1.5 */
#include "fakes/cm.h"
#include "fakes/fake_clock.h"

#include "base/mem.h"
#include "os/clock.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct watched {
    struct loop *loop;
    struct loop_watch watch;
    struct watched *removes;
    unsigned ready;
    unsigned calls;
    bool stops;
};

static void on_ready(void *context, unsigned ready)
{
    struct watched *w = context;

    w->ready = ready;
    w->calls++;
    if (w->stops)
        loop_watch_want(w->loop, &w->watch, 0);
    if (w->removes)
        loop_watch_remove(w->loop, &w->removes->watch);
}

static struct loop *new_loop(void)
{
    struct loop *loop;

    assert_ok(loop_new(&loop));
    return loop;
}

static void make_pair(int fds[2])
{
    assert_ok(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds));
}

static void watch(struct watched *w, struct loop *loop, int fd, unsigned wanted)
{
    memset(w, 0, sizeof *w);
    w->loop = loop;
    loop_watch_init(&w->watch, fd, on_ready, w);
    loop_watch_want(loop, &w->watch, wanted);
}

TEST_CASE(reports_reading_and_writing_level_triggered)
{
    struct loop *loop = new_loop();
    struct watched w;
    int fds[2];

    make_pair(fds);
    watch(&w, loop, fds[0], LOOP_READ);
    assert_ok(loop_turn(loop, 0));
    assert_int_equal(w.calls, 0);
    assert_int_equal(write(fds[1], "x", 1), 1);
    assert_ok(loop_turn(loop, 0));
    assert_int_equal(w.ready, LOOP_READ);
    assert_ok(loop_turn(loop, 0));
    assert_int_equal(w.calls, 2); /* nothing was read, so it is told again */
    loop_watch_want(loop, &w.watch, LOOP_READ | LOOP_WRITE);
    assert_ok(loop_turn(loop, 0));
    assert_int_equal(w.ready, LOOP_READ | LOOP_WRITE);
    loop_watch_want(loop, &w.watch, 0);
    assert_ok(loop_turn(loop, 0));
    assert_int_equal(w.calls, 3);
    loop_watch_remove(loop, &w.watch);
    loop_watch_remove(loop, &w.watch);
    close(fds[0]);
    close(fds[1]);
    loop_free(&loop);
    assert_null(loop);
}

TEST_CASE(a_change_of_mind_within_a_turn_is_not_told)
{
    struct loop *loop = new_loop();
    struct watched w;
    int fds[2];

    make_pair(fds);
    watch(&w, loop, fds[0], LOOP_READ);
    assert_ok(loop_turn(loop, 0));
    assert_int_equal(w.watch.polled, LOOP_READ);
    loop_watch_want(loop, &w.watch, LOOP_WRITE);
    loop_watch_want(loop, &w.watch, LOOP_READ);
    assert_int_equal(w.watch.polled, LOOP_READ);
    assert_ok(loop_turn(loop, 0));
    assert_int_equal(w.calls, 0);
    loop_watch_remove(loop, &w.watch);
    close(fds[0]);
    close(fds[1]);
    loop_free(&loop);
}

TEST_CASE(a_watch_removed_by_another_is_not_called)
{
    struct loop *loop = new_loop();
    struct watched a, b;
    int first[2], second[2];

    make_pair(first);
    make_pair(second);
    watch(&a, loop, first[0], LOOP_READ);
    watch(&b, loop, second[0], LOOP_READ);
    a.removes = &b;
    b.removes = &a;
    assert_int_equal(write(first[1], "x", 1), 1);
    assert_int_equal(write(second[1], "x", 1), 1);
    assert_ok(loop_turn(loop, 0));
    assert_int_equal(a.calls + b.calls, 1); /* whoever came first took the other off */
    loop_watch_remove(loop, &a.watch);
    loop_watch_remove(loop, &b.watch);
    for (int i = 0; i < 2; i++) {
        close(first[i]);
        close(second[i]);
    }
    loop_free(&loop);
}

TEST_CASE(a_hangup_is_reported_with_what_was_wanted)
{
    struct loop *loop = new_loop();
    struct watched w;
    int fds[2];

    make_pair(fds);
    watch(&w, loop, fds[0], LOOP_WRITE);
    assert_ok(loop_turn(loop, 0));
    close(fds[1]);
    assert_ok(loop_turn(loop, 0));
    assert_int_equal(w.ready, LOOP_WRITE | LOOP_HANGUP);
    loop_watch_remove(loop, &w.watch);
    close(fds[0]);
    loop_free(&loop);
}

TEST_CASE(a_hangup_that_nobody_wants_does_not_spin)
{
    struct loop *loop = new_loop();
    struct watched w;
    int fds[2];

    make_pair(fds);
    watch(&w, loop, fds[0], LOOP_READ);
    w.stops = true;
    assert_int_equal(write(fds[1], "x", 1), 1);
    assert_ok(loop_turn(loop, 0));
    assert_ok(loop_turn(loop, 0)); /* epoll is told that nothing is wanted */
    assert_int_equal(w.calls, 1);
    close(fds[1]);
    for (int i = 0; i < 3; i++)
        assert_ok(loop_turn(loop, 0));
    assert_int_equal(w.calls, 2);
    assert_int_equal(w.ready, LOOP_HANGUP);
    w.stops = false;
    loop_watch_want(loop, &w.watch, LOOP_READ); /* and it can be wanted again */
    assert_ok(loop_turn(loop, 0));
    assert_int_equal(w.ready, LOOP_READ | LOOP_HANGUP);
    loop_watch_remove(loop, &w.watch);
    close(fds[0]);
    loop_free(&loop);
}

TEST_CASE(a_descriptor_that_epoll_refuses_ends_its_connection_only)
{
    struct loop *loop = new_loop();
    struct watched refused, good;
    int fds[2], file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC); /* epoll takes no regular files */

    assert_true(file != -1);
    make_pair(fds);
    watch(&refused, loop, file, LOOP_READ);
    watch(&good, loop, fds[0], LOOP_WRITE);
    assert_ok(loop_turn(loop, 0));
    assert_int_equal(refused.ready, LOOP_HANGUP);
    assert_int_equal(good.ready, LOOP_WRITE);
    loop_watch_remove(loop, &refused.watch);
    loop_watch_remove(loop, &good.watch);
    close(file);
    close(fds[0]);
    close(fds[1]);
    loop_free(&loop);
}

TEST_CASE(what_must_be_watched_says_at_once_when_it_cannot)
{
    struct loop *loop = new_loop();
    struct watched w = {.loop = loop};
    int fds[2], file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

    make_pair(fds);
    loop_watch_init(&w.watch, file, on_ready, &w);
    assert_int_equal(loop_watch_begin(loop, &w.watch, LOOP_READ), CODE_IO);
    assert_ok(loop_turn(loop, 0));
    assert_int_equal(w.calls, 0);
    loop_watch_init(&w.watch, fds[0], on_ready, &w);
    assert_ok(loop_watch_begin(loop, &w.watch, LOOP_WRITE));
    assert_ok(loop_turn(loop, 0));
    assert_int_equal(w.ready, LOOP_WRITE);
    loop_watch_remove(loop, &w.watch);
    close(file);
    close(fds[0]);
    close(fds[1]);
    loop_free(&loop);
}

TEST_CASE(again_does_not_sleep)
{
    struct loop *loop = new_loop();
    int64_t before = clock_monotonic_us();

    loop_again(loop);
    assert_ok(loop_turn(loop, 600000000));
    assert_true(clock_monotonic_us() - before < 300000000);
    assert_ok(loop_turn(loop, 3000)); /* and only once */
    assert_true(clock_monotonic_us() - before >= 3000);
    loop_free(&loop);
}

#define TIMERS 500

struct fired {
    struct loop *loop;
    struct loop_timer timer;
    struct loop_timer *cancels;
    int64_t at_us;
    unsigned count;
    int64_t again_us;
};

static void on_fire(void *context)
{
    struct fired *fired = context;

    fired->count++;
    fired->at_us = loop_now_us(fired->loop);
    if (fired->cancels)
        loop_timer_cancel(fired->loop, fired->cancels);
    if (fired->again_us >= 0)
        assert_ok(loop_timer_arm(fired->loop, &fired->timer, fired->again_us));
}

static void init_fired(struct fired *fired, struct loop *loop)
{
    *fired = (struct fired){.loop = loop, .again_us = -1};
    loop_timer_init(&fired->timer, on_fire, fired);
}

TEST_CASE(many_timers_fire_in_order_whatever_was_moved_or_cancelled)
{
    static struct fired fired[TIMERS];
    static int64_t due[TIMERS];
    struct fake_clock clock = {.now_us = 1000};
    struct loop *loop = new_loop();

    fake_clock_install(&clock, loop);
    srand(7); /* the same numbers each time */
    for (int i = 0; i < TIMERS; i++) {
        init_fired(&fired[i], loop);
        assert_ok(loop_timer_arm(loop, &fired[i].timer, 1 + rand() % 10000));
    }
    for (int i = 0; i < TIMERS; i++) {
        due[i] = 1 + rand() % 10000;
        if (i % 3 == 0)
            assert_ok(loop_timer_arm(loop, &fired[i].timer, due[i]));
        else if (i % 3 == 1)
            loop_timer_cancel(loop, &fired[i].timer);
        else
            due[i] = fired[i].timer.due_us - 1000;
    }
    for (int step = 0; step < 10010; step++)
        fake_clock_advance(&clock, loop, 1);
    for (int i = 0; i < TIMERS; i++) {
        assert_int_equal(fired[i].count, i % 3 == 1 ? 0 : 1);
        assert_int_equal(fired[i].timer.place, 0);
        if (i % 3 != 1)
            assert_int_equal(fired[i].at_us, 1000 + due[i]);
    }
    loop_free(&loop);
}

TEST_CASE(a_timer_may_cancel_another_that_is_due_too)
{
    struct fake_clock clock = {0};
    struct loop *loop = new_loop();
    struct fired a, b;

    fake_clock_install(&clock, loop);
    init_fired(&a, loop);
    init_fired(&b, loop);
    a.cancels = &b.timer;
    b.cancels = &a.timer;
    assert_ok(loop_timer_arm(loop, &a.timer, 5));
    assert_ok(loop_timer_arm(loop, &b.timer, 5));
    fake_clock_advance(&clock, loop, 10);
    assert_int_equal(a.count + b.count, 1);
    loop_free(&loop);
}

TEST_CASE(a_timer_that_arms_itself_at_once_fires_once_a_turn)
{
    struct fake_clock clock = {0};
    struct loop *loop = new_loop();
    struct fired a;

    fake_clock_install(&clock, loop);
    init_fired(&a, loop);
    a.again_us = 0;
    assert_ok(loop_timer_arm(loop, &a.timer, 0));
    fake_clock_advance(&clock, loop, 10);
    assert_int_equal(a.count, 1);
    fake_clock_advance(&clock, loop, 10);
    assert_int_equal(a.count, 2);
    loop_timer_cancel(loop, &a.timer);
    loop_timer_cancel(loop, &a.timer);
    loop_free(&loop);
}

static struct fired *arms;

static void arm_at_once(void *context, unsigned ready)
{
    char byte;

    (void)ready;
    assert_int_equal(read(*(int *)context, &byte, 1), 1);
    assert_ok(loop_timer_arm(arms->loop, &arms->timer, 0));
}

/* 5.24: what is stirred by an event takes no turn of its own */
TEST_CASE(a_timer_that_an_event_arms_at_once_fires_in_its_turn)
{
    struct loop *loop = new_loop();
    struct loop_watch watch;
    struct fired a;
    int ends[2];

    assert_int_equal(pipe(ends), 0);
    init_fired(&a, loop);
    arms = &a;
    loop_watch_init(&watch, ends[0], arm_at_once, &ends[0]);
    assert_ok(loop_watch_begin(loop, &watch, LOOP_READ));
    assert_int_equal(write(ends[1], "x", 1), 1);
    assert_ok(loop_turn(loop, -1));
    assert_int_equal(a.count, 1);
    loop_watch_remove(loop, &watch);
    close(ends[0]);
    close(ends[1]);
    loop_free(&loop);
}

TEST_CASE(the_wait_ends_when_a_timer_is_due)
{
    struct loop *loop = new_loop();
    struct fired a;
    int64_t before = clock_monotonic_us();

    init_fired(&a, loop);
    assert_ok(loop_timer_arm(loop, &a.timer, 4000));
    while (a.count == 0)
        assert_ok(loop_turn(loop, -1));
    assert_true(clock_monotonic_us() - before >= 4000);
    assert_true(clock_monotonic_us() - before < 300000000);
    loop_free(&loop);
}

TEST_CASE(without_memory_nothing_is_armed)
{
    struct loop *loop = new_loop();
    struct loop *none;
    struct fired a;

    init_fired(&a, loop);
    mem_fail_at(1, 0);
    assert_int_equal(loop_timer_arm(loop, &a.timer, 1), CODE_NOMEM);
    assert_int_equal(a.timer.place, 0);
    mem_fail_at(1, 0);
    assert_int_equal(loop_new(&none), CODE_NOMEM);
    assert_null(none);
    mem_fail_at(0, 0);
    assert_ok(loop_timer_arm(loop, &a.timer, INT64_MAX)); /* a time past all time is the end of time */
    assert_ok(loop_turn(loop, 0));
    assert_int_equal(a.count, 0);
    loop_free(&loop);
}

TEST_MAIN(NULL, NULL)
