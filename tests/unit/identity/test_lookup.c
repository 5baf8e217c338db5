/* SPDX-License-Identifier: Apache-2.0 */
#include "identity/lookup.h"

#include "base/mem.h"
#include "fakes/cm.h"

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

static struct lookups *lookups_with(struct heard *heard)
{
    struct lookup_conf conf = {.work = hear_work, .settled = hear_settled, .context = heard};
    struct lookups *lookups;

    for (int kind = 0; kind < LOOKUP_KIND_COUNT; kind++)
        conf.types[kind] = (struct lookup_type){ref, unref};
    assert_int_equal(lookup_new(&conf, &lookups), CODE_OK);
    return lookups;
}

static struct lookup_key key_of(enum lookup_kind kind, unsigned number)
{
    struct lookup_key key = {.kind = kind};

    digest_of(span_of(&number, sizeof number), key.digest);
    return key;
}

static struct lookup_work take(struct lookups *lookups)
{
    struct lookup_work work;

    assert_true(lookup_take(lookups, &work));
    return work;
}

/* 8.1 */
TEST_CASE(it_is_fetched_once_and_known_until_it_is_over)
{
    struct heard heard = {0};
    struct lookups *lookups = lookups_with(&heard);
    struct lookup_key key = key_of(LOOKUP_TOKEN, 1);
    struct lookup_answer first, second;
    struct lookup_work work;
    struct thing thing = {1};

    assert_int_equal(lookup_ask(lookups, &key, SPAN_LIT("opaque"), 1000, &first), LOOKUP_PENDING);
    assert_int_equal(lookup_ask(lookups, &key, SPAN_LIT("opaque"), 1001, &second), LOOKUP_PENDING);
    assert_int_equal(first.ticket, second.ticket);
    assert_false(lookup_is_settled(lookups, first.ticket));
    work = take(lookups);
    assert_true(span_is(work.payload, "opaque"));
    assert_memory_equal(work.key.digest, key.digest, DIGEST_BYTES);
    lookup_work_fini(&work);
    assert_false(lookup_take(lookups, &work));
    lookup_put(lookups, &key, &thing, 10, 0, 2000);
    assert_true(lookup_is_settled(lookups, first.ticket));
    assert_int_equal(heard.work, 1);
    assert_int_equal(heard.settled, 1);
    assert_int_equal(lookup_ask(lookups, &key, SPAN_NONE, 1999, &second), LOOKUP_READY);
    assert_ptr_equal(second.result, &thing);
    assert_int_equal(thing.held, 2);
    unref(second.result);
    assert_int_equal(lookup_ask(lookups, &key, SPAN_NONE, 2000, &second), LOOKUP_PENDING);
    assert_null(lookup_find(lookups, &key, 2000));
    lookup_free(&lookups);
    assert_int_equal(thing.held, 0);
}

/* 8.1: who knows the old one is not slowed while a newer one is fetched, and nobody is asked for it before its time. */
TEST_CASE(a_newer_one_is_asked_for_once_in_a_while)
{
    struct heard heard = {0};
    struct lookups *lookups = lookups_with(&heard);
    struct lookup_key key = key_of(LOOKUP_KEYS, 1);
    struct lookup_answer answer;
    struct lookup_work work;
    struct thing old = {1}, fresh = {1};

    lookup_put(lookups, &key, &old, 10, 0, 1000000);
    assert_int_equal(lookup_ask_newer(lookups, &key, SPAN_NONE, 100, 30, &answer), LOOKUP_PENDING);
    for (int i = 0; i < 10000; i++)
        assert_int_equal(lookup_ask_newer(lookups, &key, SPAN_NONE, 101, 30, &answer), LOOKUP_PENDING);
    assert_int_equal(heard.work, 1);
    assert_int_equal(lookup_ask(lookups, &key, SPAN_NONE, 101, &answer), LOOKUP_READY);
    unref(answer.result);
    work = take(lookups);
    lookup_work_fini(&work);
    lookup_put(lookups, &key, &fresh, 10, 0, 1000000);
    assert_int_equal(old.held, 0);
    assert_int_equal(lookup_ask_newer(lookups, &key, SPAN_NONE, 129, 30, &answer), LOOKUP_FAILED);
    assert_int_equal(answer.reason, REASON_CREDENTIAL_WRONG);
    assert_int_equal(lookup_ask_newer(lookups, &key, SPAN_NONE, 130, 30, &answer), LOOKUP_PENDING);
    lookup_free(&lookups);
    assert_int_equal(fresh.held, 0);
}

TEST_CASE(what_fails_is_not_asked_for_again_at_once)
{
    struct heard heard = {0};
    struct lookups *lookups = lookups_with(&heard);
    struct lookup_key key = key_of(LOOKUP_TOKEN, 1);
    struct lookup_answer answer;
    struct lookup_work work;
    struct thing thing = {1};

    assert_int_equal(lookup_ask(lookups, &key, SPAN_NONE, 100, &answer), LOOKUP_PENDING);
    work = take(lookups);
    lookup_work_fini(&work);
    lookup_fail(lookups, &key, REASON_IDENTITY_UNAVAILABLE, 200);
    assert_int_equal(lookup_ask(lookups, &key, SPAN_NONE, 199, &answer), LOOKUP_FAILED);
    assert_int_equal(answer.reason, REASON_IDENTITY_UNAVAILABLE);
    assert_int_equal(heard.work, 1);
    assert_int_equal(lookup_ask(lookups, &key, SPAN_NONE, 200, &answer), LOOKUP_PENDING);
    /* What was known stays, and is renewed no sooner. */
    lookup_put(lookups, &key, &thing, 10, 300, 1000);
    assert_int_equal(lookup_ask(lookups, &key, SPAN_NONE, 300, &answer), LOOKUP_READY);
    unref(answer.result);
    assert_int_equal(heard.work, 3);
    lookup_fail(lookups, &key, REASON_IDENTITY_UNAVAILABLE, 400);
    assert_int_equal(lookup_ask(lookups, &key, SPAN_NONE, 399, &answer), LOOKUP_READY);
    unref(answer.result);
    assert_int_equal(heard.work, 3);
    assert_int_equal(lookup_ask(lookups, &key, SPAN_NONE, 400, &answer), LOOKUP_READY);
    unref(answer.result);
    assert_int_equal(heard.work, 4);
    lookup_free(&lookups);
    assert_int_equal(thing.held, 0);
}

/* 8.1: an attacker's tokens fill no memory, and drive out no provider's keys. */
TEST_CASE(what_is_kept_is_bounded)
{
    static struct thing things[100000];
    struct heard heard = {0};
    struct lookups *lookups = lookups_with(&heard);
    struct lookup_key keys = key_of(LOOKUP_KEYS, 0);
    struct lookup_stats stats;
    struct thing set = {1};
    int held = 0;

    lookup_put(lookups, &keys, &set, 100, 0, 10);
    for (unsigned i = 0; i < 100000; i++) {
        struct lookup_key key = key_of(LOOKUP_TOKEN, i + 1);

        things[i].held = 1;
        lookup_put(lookups, &key, &things[i], 16384, 0, 1000 + i);
    }
    lookup_stats(lookups, &stats);
    assert_true(stats.bytes <= (uint64_t)64 << 20);
    assert_int_equal(stats.known[LOOKUP_KEYS], 1);
    for (size_t i = 0; i < 100000; i++)
        held += things[i].held;
    assert_int_equal(held, stats.known[LOOKUP_TOKEN]);
    assert_true(held > 3000);
    assert_non_null(lookup_find(lookups, &keys, 9));
    unref(&set);
    lookup_forget(lookups, LOOKUP_TOKEN, NULL);
    lookup_stats(lookups, &stats);
    assert_int_equal(stats.known[LOOKUP_TOKEN], 0);
    assert_int_equal(stats.bytes, 100);
    lookup_free(&lookups);
    assert_int_equal(set.held, 0);
}

TEST_CASE(what_is_under_way_is_bounded)
{
    struct heard heard = {0};
    struct lookups *lookups = lookups_with(&heard);
    struct lookup_answer answer;
    struct lookup_work work;
    unsigned pending = 0;

    for (unsigned i = 0; i < 4 * LOOKUP_PENDING_MAX; i++) {
        struct lookup_key key = key_of(LOOKUP_TOKEN, i);
        enum lookup_state got = lookup_ask(lookups, &key, SPAN_LIT("x"), 1, &answer);

        pending += got == LOOKUP_PENDING;
        if (got == LOOKUP_FAILED)
            assert_int_equal(answer.reason, REASON_IDENTITY_UNAVAILABLE);
    }
    assert_true(pending > LOOKUP_PENDING_MAX / 2 && pending <= LOOKUP_PENDING_MAX);
    while (lookup_take(lookups, &work)) {
        lookup_fail(lookups, &work.key, REASON_CREDENTIAL_WRONG, 2);
        lookup_work_fini(&work);
        pending--;
    }
    assert_int_equal(pending, 0);
    /* One that was answered before it was taken is not taken any more, and its place is free again. */
    for (unsigned i = 0; i < 3 * LOOKUP_PENDING_MAX; i++) {
        struct lookup_key key = key_of(LOOKUP_TOKEN, i);

        assert_int_equal(lookup_ask(lookups, &key, SPAN_LIT("x"), 5 + i, &answer), LOOKUP_PENDING);
        lookup_fail(lookups, &key, REASON_CREDENTIAL_WRONG, 0);
        assert_true(lookup_is_settled(lookups, answer.ticket));
        if (i % 7 == 0)
            assert_false(lookup_take(lookups, &work));
    }
    lookup_free(&lookups);
}

/* One who asks about ever more tokens leaves room for others, and all of them for key sets. */
TEST_CASE(each_has_a_share)
{
    struct heard heard = {0};
    struct lookups *lookups = lookups_with(&heard);
    struct lookup_answer answer;
    struct lookup_work work;
    unsigned pending[5] = {0};

    for (unsigned who = 1; who <= 4; who++)
        for (unsigned i = 0; i < LOOKUP_PENDING_MAX; i++) {
            struct lookup_key key = key_of(LOOKUP_INTROSPECTION, 10000 * who + i);

            key.who = who;
            pending[who] += lookup_ask(lookups, &key, SPAN_LIT("x"), 1, &answer) == LOOKUP_PENDING;
            if (i == LOOKUP_PENDING_MAX - 1)
                assert_int_equal(answer.reason, REASON_IDENTITY_SHARE);
        }
    for (unsigned who = 1, all = LOOKUP_PENDING_MAX / 4 * 3; who <= 4; all -= pending[who++]) /* 10.3, 10.29: half of what is free */
        assert_int_equal(pending[who], all / 2);
    for (unsigned i = 0; i < 100; i++) {
        struct lookup_key key = key_of(LOOKUP_KEYS, i);

        assert_int_equal(lookup_ask(lookups, &key, SPAN_LIT("x"), 1, &answer), LOOKUP_PENDING);
    }
    assert_true(lookup_take(lookups, &work));
    lookup_fail(lookups, &work.key, REASON_CREDENTIAL_WRONG, 2);
    lookup_work_fini(&work);
    work.key = key_of(LOOKUP_INTROSPECTION, 77777);
    work.key.who = 4; /* there is room for one of anybody's again */
    assert_int_equal(lookup_ask(lookups, &work.key, SPAN_LIT("x"), 1, &answer), LOOKUP_PENDING);
    lookup_free(&lookups);
}

/* 10.3: who has nothing under way is not blamed where others have all: 503, and not 429. */
TEST_CASE(others_have_all)
{
    struct heard heard = {0};
    struct lookups *lookups = lookups_with(&heard);
    struct lookup_key key;
    struct lookup_answer answer;
    unsigned who = 0, number = 0, refused = 0;

    while (refused < 100) { /* one more of each, until none finds a place */
        key = key_of(LOOKUP_INTROSPECTION, 10000 + number++);
        key.who = ++who;
        if (lookup_ask(lookups, &key, SPAN_LIT("x"), 1, &answer) == LOOKUP_PENDING)
            continue;
        assert_int_equal(answer.reason, REASON_IDENTITY_UNAVAILABLE);
        refused++;
    }
    assert_true(who > LOOKUP_PENDING_MAX / 4 * 3);
    key = key_of(LOOKUP_INTROSPECTION, 10000 + number);
    key.who = 1; /* he has one */
    assert_int_equal(lookup_ask(lookups, &key, SPAN_LIT("x"), 1, &answer), LOOKUP_FAILED);
    assert_int_equal(answer.reason, REASON_IDENTITY_SHARE);
    number = 0;
    do {
        assert_true(number < LOOKUP_PENDING_MAX); /* the gate's own take the rest */
        key = key_of(LOOKUP_KEYS, number++);
    } while (lookup_ask(lookups, &key, SPAN_LIT("x"), 1, &answer) == LOOKUP_PENDING);
    assert_int_equal(answer.reason, REASON_IDENTITY_UNAVAILABLE);
    lookup_free(&lookups);
}

/* The queue is whole again when it was empty. */
static void next_is_first(struct lookups *lookups)
{
    struct lookup_key key = key_of(LOOKUP_KEYS, 4711);
    struct lookup_answer answer;
    struct lookup_work work;

    assert_int_equal(lookup_ask(lookups, &key, SPAN_LIT("x"), 1, &answer), LOOKUP_PENDING);
    assert_true(lookup_take(lookups, &work));
    assert_memory_equal(work.key.digest, key.digest, DIGEST_BYTES);
    lookup_work_fini(&work);
}

/* Of one server so many at a time, in their order, and others in between. */
TEST_CASE(some_at_once)
{
    struct heard heard = {0};
    struct lookups *lookups = lookups_with(&heard);
    struct lookup_work work[2 * LOOKUP_AT_ONCE + 2];
    struct lookup_answer answer;
    unsigned taken = 0;

    for (unsigned i = 0; i < 2 * LOOKUP_AT_ONCE + 2; i++) {
        struct lookup_key key = key_of(LOOKUP_INTROSPECTION, i);

        key.of = i == 2 * LOOKUP_AT_ONCE ? 2 : i == 2 * LOOKUP_AT_ONCE + 1 ? 0 : 1;
        assert_int_equal(lookup_ask(lookups, &key, SPAN_LIT("x"), 1, &answer), LOOKUP_PENDING);
    }
    while (lookup_take(lookups, &work[taken]))
        lookup_work_fini(&work[taken++]);
    assert_int_equal(taken, LOOKUP_AT_ONCE + 2);
    assert_true(work[taken - 2].key.of == 2 && work[taken - 1].key.of == 0);
    for (unsigned i = 0; i < LOOKUP_AT_ONCE; i++) {
        struct lookup_key next = key_of(LOOKUP_INTROSPECTION, LOOKUP_AT_ONCE + i);

        lookup_fail(lookups, &work[i].key, REASON_CREDENTIAL_WRONG, 2);
        assert_true(lookup_take(lookups, &work[taken]));
        assert_memory_equal(work[taken].key.digest, next.digest, DIGEST_BYTES);
        lookup_work_fini(&work[taken]);
        assert_false(lookup_take(lookups, &work[taken]));
    }
    next_is_first(lookups);
    lookup_free(&lookups);
}

/* Of one agent fewer than of one server: another's turn comes at once. */
TEST_CASE(another_comes_between)
{
    struct heard heard = {0};
    struct lookups *lookups = lookups_with(&heard);
    struct lookup_work work[LOOKUP_AT_ONCE + 1];
    struct lookup_answer answer;
    struct lookup_key key;
    unsigned taken = 0;

    for (unsigned i = 0; i < LOOKUP_PENDING_MAX / 4; i++) {
        key = key_of(LOOKUP_INTROSPECTION, i);
        key.who = key.of = 1;
        assert_int_equal(lookup_ask(lookups, &key, SPAN_LIT("x"), 1, &answer), LOOKUP_PENDING);
    }
    while (lookup_take(lookups, &work[taken]))
        lookup_work_fini(&work[taken++]);
    assert_int_equal(taken, LOOKUP_EACH_AT_ONCE);
    key = key_of(LOOKUP_INTROSPECTION, 4711);
    key.who = 2;
    key.of = 1;
    assert_int_equal(lookup_ask(lookups, &key, SPAN_LIT("x"), 1, &answer), LOOKUP_PENDING);
    assert_true(lookup_take(lookups, &work[taken]));
    assert_int_equal(work[taken].key.who, 2);
    lookup_work_fini(&work[taken]);
    assert_false(lookup_take(lookups, &work[taken]));
    lookup_free(&lookups);
}

/* ---- many threads ---- */

#define THREADS 4
#define ROUNDS 20000

struct crowd {
    struct lookups *lookups;
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
        struct lookup_key key = key_of(LOOKUP_TOKEN, i % 300);
        struct lookup_answer answer;
        struct lookup_work work;

        if (lookup_ask(crowd->lookups, &key, SPAN_LIT("x"), i, &answer) == LOOKUP_READY)
            count_unref(answer.result);
        else if (answer.ticket != 0)
            (void)lookup_is_settled(crowd->lookups, answer.ticket);
        if (lookup_take(crowd->lookups, &work)) {
            if (i % 5 == 0)
                lookup_fail(crowd->lookups, &work.key, REASON_CREDENTIAL_WRONG, i + 3);
            else
                lookup_put(crowd->lookups, &work.key, count_ref(&crowd->held), 5000, 0, i + 50);
            lookup_work_fini(&work);
        }
        lookup_keep(crowd->lookups, &key, count_ref(&crowd->held), 5000, i + 20, lookup_forgotten(crowd->lookups));
        if (i % 1000 == 0)
            lookup_forget(crowd->lookups, LOOKUP_TOKEN, NULL);
    }
    return NULL;
}

TEST_CASE(crowds_lose_and_leak_nothing)
{
    struct lookup_conf conf = {.work = nothing, .settled = nothing, .types[LOOKUP_TOKEN] = {count_ref, count_unref}};
    struct crowd crowd = {.held = 0};
    pthread_t threads[THREADS];
    struct lookup_stats stats;

    assert_int_equal(lookup_new(&conf, &crowd.lookups), CODE_OK);
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, crowd_goes, &crowd), 0);
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    lookup_stats(crowd.lookups, &stats);
    assert_int_equal(stats.known[LOOKUP_TOKEN], atomic_load(&crowd.held));
    lookup_free(&crowd.lookups);
    assert_int_equal(atomic_load(&crowd.held), 0);
}

TEST_MAIN(NULL, NULL)
