/* SPDX-License-Identifier: Apache-2.0 */
#include "identity/wanted.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

/* A result that counts how many hold it. */
struct thing {
    int held;
};

static void *ref(void *result)
{
    ((struct thing *)result)->held++;
    return result;
}

static void unref(void *result)
{
    ((struct thing *)result)->held--;
}

struct heard {
    int work, settled;
};

static void hear_work(void *context)
{
    ((struct heard *)context)->work++;
}

static void hear_settled(void *context)
{
    ((struct heard *)context)->settled++;
}

static struct wanted *wanted_with(struct heard *heard)
{
    struct wanted_conf conf = {.work = hear_work, .settled = hear_settled, .context = heard};
    struct wanted *wanted;

    for (int kind = 0; kind < WANTED_KIND_COUNT; kind++)
        conf.types[kind] = (struct wanted_type){ref, unref};
    assert_int_equal(wanted_new(&conf, &wanted), CODE_OK);
    return wanted;
}

static struct wanted_key key_of(enum wanted_kind kind, unsigned number)
{
    struct wanted_key key = {.kind = kind};

    digest_of(span_of(&number, sizeof number), key.digest);
    return key;
}

static struct wanted_work take(struct wanted *wanted)
{
    struct wanted_work work;

    assert_true(wanted_take(wanted, &work));
    return work;
}

/* 8.1 */
static void it_is_fetched_once_and_known_until_it_is_over(void **state)
{
    struct heard heard = {0};
    struct wanted *wanted = wanted_with(&heard);
    struct wanted_key key = key_of(WANTED_TOKEN, 1);
    struct wanted_answer first, second;
    struct wanted_work work;
    struct thing thing = {1};

    (void)state;
    assert_int_equal(wanted_ask(wanted, &key, SPAN_LIT("opaque"), 1000, &first), WANTED_PENDING);
    assert_int_equal(wanted_ask(wanted, &key, SPAN_LIT("opaque"), 1001, &second), WANTED_PENDING);
    assert_int_equal(first.ticket, second.ticket);
    assert_false(wanted_is_settled(wanted, first.ticket));
    work = take(wanted);
    assert_true(span_is(work.payload, "opaque"));
    assert_memory_equal(work.key.digest, key.digest, DIGEST_BYTES);
    wanted_work_fini(&work);
    assert_false(wanted_take(wanted, &work));
    wanted_put(wanted, &key, &thing, 10, 0, 2000);
    assert_true(wanted_is_settled(wanted, first.ticket));
    assert_int_equal(heard.work, 1);
    assert_int_equal(heard.settled, 1);
    assert_int_equal(wanted_ask(wanted, &key, SPAN_NONE, 1999, &second), WANTED_READY);
    assert_ptr_equal(second.result, &thing);
    assert_int_equal(thing.held, 2);
    unref(second.result);
    assert_int_equal(wanted_ask(wanted, &key, SPAN_NONE, 2000, &second), WANTED_PENDING);
    assert_null(wanted_find(wanted, &key, 2000));
    wanted_free(&wanted);
    assert_int_equal(thing.held, 0);
}

/* 8.1: who knows the old one is not slowed while a newer one is fetched, and nobody is asked for it before its time. */
static void a_newer_one_is_asked_for_once_in_a_while(void **state)
{
    struct heard heard = {0};
    struct wanted *wanted = wanted_with(&heard);
    struct wanted_key key = key_of(WANTED_KEYS, 1);
    struct wanted_answer answer;
    struct wanted_work work;
    struct thing old = {1}, fresh = {1};

    (void)state;
    wanted_put(wanted, &key, &old, 10, 0, 1000000);
    assert_int_equal(wanted_ask_newer(wanted, &key, SPAN_NONE, 100, 30, &answer), WANTED_PENDING);
    for (int i = 0; i < 10000; i++)
        assert_int_equal(wanted_ask_newer(wanted, &key, SPAN_NONE, 101, 30, &answer), WANTED_PENDING);
    assert_int_equal(heard.work, 1);
    assert_int_equal(wanted_ask(wanted, &key, SPAN_NONE, 101, &answer), WANTED_READY);
    unref(answer.result);
    work = take(wanted);
    wanted_work_fini(&work);
    wanted_put(wanted, &key, &fresh, 10, 0, 1000000);
    assert_int_equal(old.held, 0);
    assert_int_equal(wanted_ask_newer(wanted, &key, SPAN_NONE, 129, 30, &answer), WANTED_FAILED);
    assert_int_equal(answer.reason, REASON_CREDENTIAL_WRONG);
    assert_int_equal(wanted_ask_newer(wanted, &key, SPAN_NONE, 130, 30, &answer), WANTED_PENDING);
    wanted_free(&wanted);
    assert_int_equal(fresh.held, 0);
}

static void what_fails_is_not_asked_for_again_at_once(void **state)
{
    struct heard heard = {0};
    struct wanted *wanted = wanted_with(&heard);
    struct wanted_key key = key_of(WANTED_TOKEN, 1);
    struct wanted_answer answer;
    struct wanted_work work;
    struct thing thing = {1};

    (void)state;
    assert_int_equal(wanted_ask(wanted, &key, SPAN_NONE, 100, &answer), WANTED_PENDING);
    work = take(wanted);
    wanted_work_fini(&work);
    wanted_fail(wanted, &key, REASON_IDENTITY_UNAVAILABLE, 200);
    assert_int_equal(wanted_ask(wanted, &key, SPAN_NONE, 199, &answer), WANTED_FAILED);
    assert_int_equal(answer.reason, REASON_IDENTITY_UNAVAILABLE);
    assert_int_equal(heard.work, 1);
    assert_int_equal(wanted_ask(wanted, &key, SPAN_NONE, 200, &answer), WANTED_PENDING);
    /* What was known stays, and is renewed no sooner. */
    wanted_put(wanted, &key, &thing, 10, 300, 1000);
    assert_int_equal(wanted_ask(wanted, &key, SPAN_NONE, 300, &answer), WANTED_READY);
    unref(answer.result);
    assert_int_equal(heard.work, 3);
    wanted_fail(wanted, &key, REASON_IDENTITY_UNAVAILABLE, 400);
    assert_int_equal(wanted_ask(wanted, &key, SPAN_NONE, 399, &answer), WANTED_READY);
    unref(answer.result);
    assert_int_equal(heard.work, 3);
    assert_int_equal(wanted_ask(wanted, &key, SPAN_NONE, 400, &answer), WANTED_READY);
    unref(answer.result);
    assert_int_equal(heard.work, 4);
    wanted_free(&wanted);
    assert_int_equal(thing.held, 0);
}

/* 8.1: an attacker's tokens fill no memory, and drive out no provider's keys. */
static void what_is_kept_is_bounded(void **state)
{
    static struct thing things[100000];
    struct heard heard = {0};
    struct wanted *wanted = wanted_with(&heard);
    struct wanted_key keys = key_of(WANTED_KEYS, 0);
    struct wanted_stats stats;
    struct thing set = {1};
    int held = 0;

    (void)state;
    wanted_put(wanted, &keys, &set, 100, 0, 10);
    for (unsigned i = 0; i < 100000; i++) {
        struct wanted_key key = key_of(WANTED_TOKEN, i + 1);

        things[i].held = 1;
        wanted_put(wanted, &key, &things[i], 16384, 0, 1000 + i);
    }
    wanted_stats(wanted, &stats);
    assert_true(stats.bytes <= (uint64_t)64 << 20);
    assert_int_equal(stats.known[WANTED_KEYS], 1);
    for (size_t i = 0; i < 100000; i++)
        held += things[i].held;
    assert_int_equal(held, stats.known[WANTED_TOKEN]);
    assert_true(held > 3000);
    assert_non_null(wanted_find(wanted, &keys, 9));
    unref(&set);
    wanted_forget(wanted, WANTED_TOKEN, NULL);
    wanted_stats(wanted, &stats);
    assert_int_equal(stats.known[WANTED_TOKEN], 0);
    assert_int_equal(stats.bytes, 100);
    wanted_free(&wanted);
    assert_int_equal(set.held, 0);
}

static void what_is_under_way_is_bounded(void **state)
{
    struct heard heard = {0};
    struct wanted *wanted = wanted_with(&heard);
    struct wanted_answer answer;
    struct wanted_work work;
    unsigned pending = 0;

    (void)state;
    for (unsigned i = 0; i < 4 * WANTED_PENDING_MAX; i++) {
        struct wanted_key key = key_of(WANTED_TOKEN, i);
        enum wanted_state got = wanted_ask(wanted, &key, SPAN_LIT("x"), 1, &answer);

        pending += got == WANTED_PENDING;
        if (got == WANTED_FAILED)
            assert_int_equal(answer.reason, REASON_IDENTITY_UNAVAILABLE);
    }
    assert_true(pending > WANTED_PENDING_MAX / 2 && pending <= WANTED_PENDING_MAX);
    while (wanted_take(wanted, &work)) {
        wanted_fail(wanted, &work.key, REASON_CREDENTIAL_WRONG, 2);
        wanted_work_fini(&work);
        pending--;
    }
    assert_int_equal(pending, 0);
    /* One that was answered before it was taken is not taken any more, and its place is free again. */
    for (unsigned i = 0; i < 3 * WANTED_PENDING_MAX; i++) {
        struct wanted_key key = key_of(WANTED_TOKEN, i);

        assert_int_equal(wanted_ask(wanted, &key, SPAN_LIT("x"), 5 + i, &answer), WANTED_PENDING);
        wanted_fail(wanted, &key, REASON_CREDENTIAL_WRONG, 0);
        assert_true(wanted_is_settled(wanted, answer.ticket));
        if (i % 7 == 0)
            assert_false(wanted_take(wanted, &work));
    }
    wanted_free(&wanted);
}

/* One who asks about ever more tokens leaves room for others, and all of them for key sets. */
static void each_has_a_share(void **state)
{
    struct heard heard = {0};
    struct wanted *wanted = wanted_with(&heard);
    struct wanted_answer answer;
    struct wanted_work work;
    unsigned pending[5] = {0};

    (void)state;
    for (unsigned who = 1; who <= 4; who++)
        for (unsigned i = 0; i < WANTED_PENDING_MAX; i++) {
            struct wanted_key key = key_of(WANTED_INTROSPECTION, 10000 * who + i);

            key.who = who;
            pending[who] += wanted_ask(wanted, &key, SPAN_LIT("x"), 1, &answer) == WANTED_PENDING;
            if (i == WANTED_PENDING_MAX - 1)
                assert_int_equal(answer.reason, REASON_IDENTITY_SHARE);
        }
    for (unsigned who = 1, all = WANTED_PENDING_MAX / 4 * 3; who <= 4; all -= pending[who++]) /* 10.3, 10.29: half of what is free */
        assert_int_equal(pending[who], all / 2);
    for (unsigned i = 0; i < 100; i++) {
        struct wanted_key key = key_of(WANTED_KEYS, i);

        assert_int_equal(wanted_ask(wanted, &key, SPAN_LIT("x"), 1, &answer), WANTED_PENDING);
    }
    assert_true(wanted_take(wanted, &work));
    wanted_fail(wanted, &work.key, REASON_CREDENTIAL_WRONG, 2);
    wanted_work_fini(&work);
    work.key = key_of(WANTED_INTROSPECTION, 77777);
    work.key.who = 4; /* there is room for one of anybody's again */
    assert_int_equal(wanted_ask(wanted, &work.key, SPAN_LIT("x"), 1, &answer), WANTED_PENDING);
    wanted_free(&wanted);
}

/* 10.3: who has nothing under way is not blamed where others have all: 503, and not 429. */
static void others_have_all(void **state)
{
    struct heard heard = {0};
    struct wanted *wanted = wanted_with(&heard);
    struct wanted_key key;
    struct wanted_answer answer;
    unsigned who = 0, number = 0, refused = 0;

    (void)state;
    while (refused < 100) { /* one more of each, until none finds a place */
        key = key_of(WANTED_INTROSPECTION, 10000 + number++);
        key.who = ++who;
        if (wanted_ask(wanted, &key, SPAN_LIT("x"), 1, &answer) == WANTED_PENDING)
            continue;
        assert_int_equal(answer.reason, REASON_IDENTITY_UNAVAILABLE);
        refused++;
    }
    assert_true(who > WANTED_PENDING_MAX / 4 * 3);
    key = key_of(WANTED_INTROSPECTION, 10000 + number);
    key.who = 1; /* he has one */
    assert_int_equal(wanted_ask(wanted, &key, SPAN_LIT("x"), 1, &answer), WANTED_FAILED);
    assert_int_equal(answer.reason, REASON_IDENTITY_SHARE);
    number = 0;
    do {
        assert_true(number < WANTED_PENDING_MAX); /* the gate's own take the rest */
        key = key_of(WANTED_KEYS, number++);
    } while (wanted_ask(wanted, &key, SPAN_LIT("x"), 1, &answer) == WANTED_PENDING);
    assert_int_equal(answer.reason, REASON_IDENTITY_UNAVAILABLE);
    wanted_free(&wanted);
}

/* The queue is whole again when it was empty. */
static void next_is_first(struct wanted *wanted)
{
    struct wanted_key key = key_of(WANTED_KEYS, 4711);
    struct wanted_answer answer;
    struct wanted_work work;

    assert_int_equal(wanted_ask(wanted, &key, SPAN_LIT("x"), 1, &answer), WANTED_PENDING);
    assert_true(wanted_take(wanted, &work));
    assert_memory_equal(work.key.digest, key.digest, DIGEST_BYTES);
    wanted_work_fini(&work);
}

/* Of one server so many at a time, in their order, and others in between. */
static void some_at_once(void **state)
{
    struct heard heard = {0};
    struct wanted *wanted = wanted_with(&heard);
    struct wanted_work work[2 * WANTED_AT_ONCE + 2];
    struct wanted_answer answer;
    unsigned taken = 0;

    (void)state;
    for (unsigned i = 0; i < 2 * WANTED_AT_ONCE + 2; i++) {
        struct wanted_key key = key_of(WANTED_INTROSPECTION, i);

        key.of = i == 2 * WANTED_AT_ONCE ? 2 : i == 2 * WANTED_AT_ONCE + 1 ? 0 : 1;
        assert_int_equal(wanted_ask(wanted, &key, SPAN_LIT("x"), 1, &answer), WANTED_PENDING);
    }
    while (wanted_take(wanted, &work[taken]))
        wanted_work_fini(&work[taken++]);
    assert_int_equal(taken, WANTED_AT_ONCE + 2);
    assert_true(work[taken - 2].key.of == 2 && work[taken - 1].key.of == 0);
    for (unsigned i = 0; i < WANTED_AT_ONCE; i++) {
        struct wanted_key next = key_of(WANTED_INTROSPECTION, WANTED_AT_ONCE + i);

        wanted_fail(wanted, &work[i].key, REASON_CREDENTIAL_WRONG, 2);
        assert_true(wanted_take(wanted, &work[taken]));
        assert_memory_equal(work[taken].key.digest, next.digest, DIGEST_BYTES);
        wanted_work_fini(&work[taken]);
        assert_false(wanted_take(wanted, &work[taken]));
    }
    next_is_first(wanted);
    wanted_free(&wanted);
}

/* Of one agent fewer than of one server: another's turn comes at once. */
static void another_comes_between(void **state)
{
    struct heard heard = {0};
    struct wanted *wanted = wanted_with(&heard);
    struct wanted_work work[WANTED_AT_ONCE + 1];
    struct wanted_answer answer;
    struct wanted_key key;
    unsigned taken = 0;

    (void)state;
    for (unsigned i = 0; i < WANTED_PENDING_MAX / 4; i++) {
        key = key_of(WANTED_INTROSPECTION, i);
        key.who = key.of = 1;
        assert_int_equal(wanted_ask(wanted, &key, SPAN_LIT("x"), 1, &answer), WANTED_PENDING);
    }
    while (wanted_take(wanted, &work[taken]))
        wanted_work_fini(&work[taken++]);
    assert_int_equal(taken, WANTED_EACH_AT_ONCE);
    key = key_of(WANTED_INTROSPECTION, 4711);
    key.who = 2;
    key.of = 1;
    assert_int_equal(wanted_ask(wanted, &key, SPAN_LIT("x"), 1, &answer), WANTED_PENDING);
    assert_true(wanted_take(wanted, &work[taken]));
    assert_int_equal(work[taken].key.who, 2);
    wanted_work_fini(&work[taken]);
    assert_false(wanted_take(wanted, &work[taken]));
    wanted_free(&wanted);
}

/* ---- many threads ---- */

#define THREADS 4
#define ROUNDS 20000

struct crowd {
    struct wanted *wanted;
    atomic_int held;
};

static void *count_ref(void *result)
{
    atomic_fetch_add((atomic_int *)result, 1);
    return result;
}

static void count_unref(void *result)
{
    atomic_fetch_sub((atomic_int *)result, 1);
}

static void nothing(void *context)
{
    (void)context;
}

/* Agents ask, one answers, one forgets: each in turn, on every thread. */
static void *crowd_goes(void *argument)
{
    struct crowd *crowd = argument;

    for (unsigned i = 0; i < ROUNDS; i++) {
        struct wanted_key key = key_of(WANTED_TOKEN, i % 300);
        struct wanted_answer answer;
        struct wanted_work work;

        if (wanted_ask(crowd->wanted, &key, SPAN_LIT("x"), i, &answer) == WANTED_READY)
            count_unref(answer.result);
        else if (answer.ticket != 0)
            (void)wanted_is_settled(crowd->wanted, answer.ticket);
        if (wanted_take(crowd->wanted, &work)) {
            if (i % 5 == 0)
                wanted_fail(crowd->wanted, &work.key, REASON_CREDENTIAL_WRONG, i + 3);
            else
                wanted_put(crowd->wanted, &work.key, count_ref(&crowd->held), 5000, 0, i + 50);
            wanted_work_fini(&work);
        }
        wanted_keep(crowd->wanted, &key, count_ref(&crowd->held), 5000, i + 20, wanted_forgotten(crowd->wanted));
        if (i % 1000 == 0)
            wanted_forget(crowd->wanted, WANTED_TOKEN, NULL);
    }
    return NULL;
}

static void crowds_lose_and_leak_nothing(void **state)
{
    struct wanted_conf conf = {.work = nothing, .settled = nothing, .types[WANTED_TOKEN] = {count_ref, count_unref}};
    struct crowd crowd = {.held = 0};
    pthread_t threads[THREADS];
    struct wanted_stats stats;

    (void)state;
    assert_int_equal(wanted_new(&conf, &crowd.wanted), CODE_OK);
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, crowd_goes, &crowd), 0);
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    wanted_stats(crowd.wanted, &stats);
    assert_int_equal(stats.known[WANTED_TOKEN], atomic_load(&crowd.held));
    wanted_free(&crowd.wanted);
    assert_int_equal(atomic_load(&crowd.held), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_fetched_once_and_known_until_it_is_over),
        cmocka_unit_test(a_newer_one_is_asked_for_once_in_a_while),
        cmocka_unit_test(what_fails_is_not_asked_for_again_at_once),
        cmocka_unit_test(what_is_kept_is_bounded),
        cmocka_unit_test(what_is_under_way_is_bounded),
        cmocka_unit_test(each_has_a_share),
        cmocka_unit_test(others_have_all),
        cmocka_unit_test(some_at_once),
        cmocka_unit_test(another_comes_between),
        cmocka_unit_test(crowds_lose_and_leak_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
