/* SPDX-License-Identifier: Apache-2.0 */
#include "fakes/cm.h"
#include "fakes/fake_clock.h"
#include "link/listener.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static struct worker worker;
static struct budget budget;
static struct listener listener;
static struct sock_address address;
static int taken[256];
static unsigned count;

static void accepted(void *context, int fd, const struct sock_address *peer)
{
    (void)context;
    assert_true(sock_is_loopback(peer));
    taken[count++] = fd;
}

static int begin(void **state)
{
    struct why why;
    int fd;

    (void)state;
    count = 0;
    assert_ok(budget_init(&budget, 100, 0));
    assert_ok(worker_init(&worker, 0, NULL, &budget));
    assert_ok(sock_parse(SPAN_LIT("127.0.0.1:0"), &address, &why));
    assert_ok(sock_listen(&address, &fd, &why));
    assert_ok(sock_local(fd, &address));
    assert_ok(listener_open(&listener, &worker, fd, accepted, NULL));
    return 0;
}

static int end(void **state)
{
    (void)state;
    while (count > 0)
        (void)close(taken[--count]);
    listener_fini(&listener);
    worker_fini(&worker);
    budget_fini(&budget);
    return 0;
}

static int knock(void)
{
    int fd;

    assert_ok(sock_connect(&address, &fd));
    return fd;
}

static void turns(unsigned n)
{
    while (n-- > 0)
        assert_ok(worker_turn(&worker, 20000));
}

TEST_CASE_WITH(test_budget, begin, end) /* 1.7: at most so many at once, and so many a turn */
{
    int fds[120];

    for (int i = 0; i < 120; i++)
        fds[i] = knock();
    turns(1);
    assert_int_equal(count, 64);
    turns(3);
    assert_int_equal(count, 100); /* 20 were turned away */
    budget_give_connection(&budget);
    (void)close(taken[--count]);
    (void)close(fds[119]);
    fds[119] = knock();
    turns(2);
    assert_int_equal(count, 100);
    for (int i = 0; i < 120; i++)
        (void)close(fds[i]);
}

TEST_CASE_WITH(test_exhaustion, begin, end) /* 1.7: without descriptors it sleeps a second, and does not spin */
{
    struct rlimit old, none;
    struct fake_clock clock = {.now_us = 1000000};
    int fd;

    if (getenv("CALLGATE_VALGRIND")) {
        print_message("skipped: valgrind accepts first and looks at the limit then, so the connection is lost\n");
        skip();
    }
    fd = knock();
    fake_clock_install(&clock, worker.loop);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    none = old;
    none.rlim_cur = (rlim_t)fd + 1;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    for (int i = 0; i < 50 && listener.sleep.place == 0; i++)
        assert_ok(worker_turn(&worker, 0));
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
    assert_int_equal(count, 0);
    assert_true(listener.sleep.place != 0);
    turns(3);
    assert_int_equal(count, 0); /* asleep, although there are descriptors again */
    fake_clock_advance(&clock, worker.loop, 1100000);
    turns(3);
    assert_int_equal(count, 1);
    (void)close(fd);
}

TEST_CASE_WITH(test_stop, begin, end) /* 1.8 */
{
    int fd, waiting = knock();

    listener_stop(&listener, true);
    listener_stop(&listener, true);
    assert_int_equal(count, 1); /* who was in the queue is in */
    (void)close(waiting);
    assert_ok(sock_connect(&address, &fd));
    turns(1);
    assert_int_equal(count, 1);
    assert_int_equal(sock_connect_state(fd), CODE_IO);
    (void)close(fd);
}

TEST_MAIN(NULL, NULL)
