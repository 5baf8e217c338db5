/* SPDX-License-Identifier: Apache-2.0 */
/* Inboxes and threads. 1.5 */
#include "fakes/cm.h"

#include "os/clock.h"
#include "os/inbox.h"
#include "os/thread.h"

#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

struct box {
    struct inbox inbox;
    atomic_uint sent;
    unsigned seen;
    unsigned calls;
};

static void on_arrived(void *context)
{
    struct box *box = context;

    box->seen = atomic_load(&box->sent);
    box->calls++;
}

TEST_CASE(pokes_are_coalesced)
{
    struct loop *loop;
    struct box box = {.calls = 0};

    assert_ok(loop_new(&loop));
    assert_ok(inbox_init(&box.inbox, loop, on_arrived, &box));
    assert_ok(loop_turn(loop, 0));
    assert_int_equal(box.calls, 0);
    for (int i = 0; i < 100; i++)
        inbox_poke(&box.inbox);
    assert_ok(loop_turn(loop, 0));
    assert_ok(loop_turn(loop, 0));
    assert_int_equal(box.calls, 1);
    inbox_poke(&box.inbox);
    assert_ok(loop_turn(loop, 0));
    assert_int_equal(box.calls, 2);
    inbox_fini(&box.inbox);
    inbox_fini(&box.inbox);
    loop_free(&loop);
}

#define SENT 20000

static void send_many(void *argument)
{
    struct box *box = argument;

    for (unsigned i = 0; i < SENT; i++) {
        atomic_fetch_add(&box->sent, 1);
        inbox_poke(&box->inbox);
    }
}

TEST_CASE(no_poke_of_two_threads_is_lost)
{
    struct loop *loop;
    struct box box = {.calls = 0};
    struct thread threads[2] = {{.started = false}, {.started = false}};

    assert_ok(loop_new(&loop));
    assert_ok(inbox_init(&box.inbox, loop, on_arrived, &box));
    for (int i = 0; i < 2; i++)
        assert_ok(thread_start(&threads[i], "sender", send_many, &box, NULL));
    /* A lost wake-up leaves the loop asleep before all was seen. */
    while (box.seen < 2 * SENT) {
        unsigned calls = box.calls;

        assert_ok(loop_turn(loop, 20000000));
        assert_true(box.calls > calls);
    }
    for (int i = 0; i < 2; i++)
        thread_join(&threads[i]);
    inbox_fini(&box.inbox);
    loop_free(&loop);
}

struct looked {
    char name[16];
    bool term_is_blocked;
};

static void look(void *argument)
{
    struct looked *looked = argument;
    sigset_t set;

    (void)pthread_getname_np(pthread_self(), looked->name, sizeof looked->name);
    pthread_sigmask(SIG_BLOCK, NULL, &set);
    looked->term_is_blocked = sigismember(&set, SIGTERM) == 1;
}

TEST_CASE(a_thread_has_its_name_and_no_signals)
{
    struct thread thread = {.started = false};
    struct looked looked;
    sigset_t set;

    assert_ok(thread_start(&thread, "a name longer than sixteen", look, &looked, NULL));
    thread_join(&thread);
    thread_join(&thread); /* once more is fine */
    assert_string_equal(looked.name, "a name longer t");
    assert_true(looked.term_is_blocked);
    pthread_sigmask(SIG_BLOCK, NULL, &set);
    assert_false(sigismember(&set, SIGTERM)); /* ours is as it was */
    assert_true(thread_cores() >= 1);
}

static void wait_for_gate(void *argument)
{
    atomic_bool *open = argument;

    while (!atomic_load(open))
        usleep(500);
}

TEST_CASE(joining_waits_as_long_as_it_may)
{
    static atomic_bool open;
    struct thread thread = {.started = false};

    assert_true(thread_join_within(&thread, 1));
    assert_ok(thread_start(&thread, "waiter", wait_for_gate, &open, NULL));
    assert_false(thread_join_within(&thread, 20));
    atomic_store(&open, true);
    assert_true(thread_join_within(&thread, 20000));
    assert_false(thread.started);
}

TEST_MAIN(NULL, NULL)
