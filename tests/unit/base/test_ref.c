/* SPDX-License-Identifier: Apache-2.0 */
/* 11.4: one of several holders is told that it was the last, and sees what all others did with the thing. */
#include "fakes/cm.h"

#include "base/mem.h"
#include "base/ref.h"
#include "os/thread.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 4
#define ROUNDS 20000

struct thing {
    struct ref ref;
    unsigned done[THREADS]; /* each thread's own, and of whoever is the last */
};

struct holder {
    struct thread thread;
    struct thing *thing; /* held */
    unsigned number;
    atomic_uint *ends;   /* of the thing, that somebody was told of; 100 more for what should not be */
};

static void hold_and_let_go(void *argument)
{
    struct holder *holder = argument;
    struct thing *thing = holder->thing;

    for (unsigned i = 0; i < ROUNDS; i++) {
        ref_take(&thing->ref);
        thing->done[holder->number]++;
        if (ref_drop(&thing->ref)) /* it holds the first one still */
            atomic_fetch_add(holder->ends, 100);
    }
    if (!ref_drop(&thing->ref))
        return;
    atomic_fetch_add(holder->ends, 1);
    for (unsigned i = 0; i < THREADS; i++)
        if (thing->done[i] != ROUNDS)
            atomic_fetch_add(holder->ends, 100);
    mem_free(thing);
}

TEST_CASE(tells_one_holder_that_it_was_the_last)
{
    struct thing *thing = mem_zalloc(sizeof *thing);
    struct holder holders[THREADS];
    atomic_uint ends = 0;

    assert_non_null(thing);
    ref_init(&thing->ref);
    for (unsigned i = 0; i < THREADS; i++)
        ref_take(&thing->ref);
    assert_false(ref_drop(&thing->ref)); /* whoever made it lets go before all others */
    for (unsigned i = 0; i < THREADS; i++) {
        holders[i] = (struct holder){.thing = thing, .number = i, .ends = &ends};
        assert_ok(thread_start(&holders[i].thread, "holder", hold_and_let_go, &holders[i], NULL));
    }
    for (unsigned i = 0; i < THREADS; i++)
        thread_join(&holders[i].thread);
    assert_int_equal(ends, 1);
}

static void must_not_be_used_when_it_is_gone(void (*use)(struct ref *ref))
{
    pid_t child = fork();
    int status;

    if (child == 0) {
        struct ref ref;

        (void)close(STDERR_FILENO);
        ref_init(&ref);
        if (ref_drop(&ref))
            use(&ref);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

static void drop(struct ref *ref)
{
    (void)!ref_drop(ref);
}

TEST_CASE(what_nobody_holds_is_neither_held_nor_let_go)
{
    must_not_be_used_when_it_is_gone(ref_take);
    must_not_be_used_when_it_is_gone(drop);
}

TEST_MAIN(NULL, NULL)
