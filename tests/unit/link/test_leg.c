/* SPDX-License-Identifier: Apache-2.0 */
#include "fakes/cm.h"
#include "fakes/fake_clock.h"
#include "fakes/mem_stream.h"
#include "link/leg.h"

#include <string.h>

/* A connection that does nothing but be driven and freed. */
struct thing {
    struct connection connection;
    struct leg leg;
    unsigned driven;
    unsigned *freed;
    struct worker *worker;
    bool stirs_itself;
};

static void drive(struct connection *connection)
{
    struct thing *thing = (struct thing *)connection;

    thing->driven++;
    if (thing->stirs_itself)
        worker_stir(thing->worker, connection);
}

static void let_go(struct connection *connection)
{
    struct thing *thing = (struct thing *)connection;

    leg_fini(&thing->leg);
    (*thing->freed)++;
}

static struct worker worker;
static struct budget budget;
static struct thing thing;
static struct stream *twin;
static unsigned freed;

static int begin(void **state)
{
    struct stream *stream;

    (void)state;
    freed = 0;
    assert_ok(budget_init(&budget, 0, 0));
    assert_ok(worker_init(&worker, 0, NULL, &budget));
    memset(&thing, 0, sizeof thing);
    thing.connection.drive = drive;
    thing.connection.free = let_go;
    thing.freed = &freed;
    thing.worker = &worker;
    worker_add(&worker, &thing.connection);
    leg_init(&thing.leg, &worker, &thing.connection, 8192, 65536);
    assert_true(mem_stream_pair(&stream, &twin, 4096));
    leg_open(&thing.leg, stream);
    return 0;
}

static int end(void **state)
{
    (void)state;
    stream_close(&twin);
    worker_bury(&worker, &thing.connection);
    worker_settle(&worker);
    assert_int_equal(freed, 1);
    worker_fini(&worker);
    budget_fini(&budget);
    return 0;
}

TEST_CASE_WITH(test_interest, begin, end) /* 1.5: what is waited for follows from the buffers */
{
    struct leg *leg = &thing.leg;
    static char block[9000];

    leg_settle(leg);
    assert_int_equal(leg->wanted, LOOP_READ | LOOP_WRITE); /* the handshake */
    leg_ready(leg, LOOP_WRITE);
    assert_true(leg->is_ready);
    leg_settle(leg);
    assert_int_equal(leg->wanted, LOOP_READ);
    assert_ok(buf_add(&leg->out, block, sizeof block));
    leg_drain(leg);
    leg_settle(leg);
    assert_int_equal(leg->wanted, LOOP_READ | LOOP_WRITE); /* 4096 went, the rest waits */
    assert_int_equal(leg->written_bytes, 4096);
    for (int i = 0; i < 2; i++) {
        assert_true(mem_stream_put(twin, block, 4096));
        leg_ready(leg, LOOP_READ);
        leg_ready(leg, LOOP_READ);
    }
    assert_int_equal(buf_len(&leg->in), 8192);
    leg_settle(leg);
    assert_int_equal(leg->wanted, LOOP_WRITE); /* `in` is full: nothing is read */
    buf_drop(&leg->in, 1);
    leg_settle(leg);
    assert_int_equal(leg->wanted, LOOP_READ | LOOP_WRITE);
}

/* 6.8: what is its connection's goes out behind what is its own, without a copy */
TEST_CASE_WITH(test_borrowed, begin, end)
{
    struct leg *leg = &thing.leg;
    static char block[9000], got[16384];

    memset(block, 'r', sizeof block);
    leg_ready(leg, LOOP_READ);
    assert_ok(buf_add_text(&leg->out, "head"));
    leg->rest = span_of(block, sizeof block);
    assert_int_equal(leg_unsent(leg), 9004);
    leg_drain(leg);
    leg_end(leg);
    assert_false(leg->is_ended);
    leg_settle(leg);
    assert_int_equal(leg->wanted, LOOP_READ | LOOP_WRITE);
    assert_int_equal(leg_unsent(leg), 9004 - 4096);
    assert_int_equal(mem_stream_get(twin, got, sizeof got), 4096);
    assert_memory_equal(got, "headrrr", 7);
    leg_drain(leg);
    assert_int_equal(mem_stream_get(twin, got, sizeof got), 4096);
    leg_drain(leg);
    assert_int_equal(leg_unsent(leg), 0);
    leg_end(leg);
    assert_true(leg->is_ended);
}

TEST_CASE_WITH(test_pending, begin, end) /* 1.5, 1.6 */
{
    struct leg *leg = &thing.leg;

    mem_stream_weather(leg->stream)->as_pending = true;
    mem_stream_weather(leg->stream)->max_read = 10;
    assert_true(mem_stream_put(twin, "0123456789012345678901234567890123456789012345678901234567890123456789", 70));
    leg_ready(leg, LOOP_READ);
    assert_int_equal(buf_len(&leg->in), 40); /* some records a turn, then others have theirs */
    assert_true(leg_has_pending(leg));
    leg_fill(leg);
    assert_false(leg_has_pending(leg));
}

TEST_CASE_WITH(test_ends, begin, end)
{
    struct leg *leg = &thing.leg;
    char byte;

    leg_ready(leg, LOOP_READ);
    assert_ok(buf_add_text(&leg->out, "bye"));
    leg_end(leg);
    assert_false(leg->is_ended); /* not before the last byte */
    leg_drain(leg);
    leg_end(leg);
    assert_true(leg->is_ended);
    assert_true(mem_stream_twin_ended(twin));
    assert_int_equal(stream_end(twin), IO_OK);
    leg_ready(leg, LOOP_READ);
    assert_true(leg->is_eof);
    leg_settle(leg);
    assert_int_equal(leg->wanted, 0);
    assert_int_equal(mem_stream_get(twin, &byte, 1), 1);
}

TEST_CASE_WITH(test_fault, begin, end)
{
    struct leg *leg = &thing.leg;

    assert_true(mem_stream_put(twin, "kept", 4));
    leg_ready(leg, LOOP_READ);
    mem_stream_weather(leg->stream)->fault = "Connection reset by peer";
    leg_ready(leg, LOOP_READ);
    assert_true(leg->is_broken);
    assert_int_equal(buf_len(&leg->in), 4); /* what was read before is not lost */
    assert_string_equal(stream_fault(leg->stream), "Connection reset by peer");
    leg_settle(leg);
    assert_int_equal(leg->wanted, 0);
}

TEST_CASE_WITH(test_rest, begin, end) /* 1.7 */
{
    struct leg *leg = &thing.leg;

    assert_true(mem_stream_put(twin, "x", 1));
    leg_ready(leg, LOOP_READ);
    leg_rest(leg);
    assert_true(leg->in.size > 0); /* a byte waits in it */
    buf_drop(&leg->in, 1);
    leg_rest(leg);
    assert_int_equal(leg->in.size + leg->out.size, 0);
}

TEST_CASE_WITH(test_reap, begin, end) /* 1.5: only at the end of the turn, whoever asked how often */
{
    struct stream *stream, *other;

    assert_true(mem_stream_pair(&stream, &other, 16));
    leg_drop(&thing.leg);
    leg_open(&thing.leg, stream);
    leg_drop(&thing.leg);
    assert_false(mem_stream_twin_closed(other));
    assert_false(mem_stream_twin_closed(twin));
    worker_bury(&worker, &thing.connection);
    worker_bury(&worker, &thing.connection);
    worker_stir(&worker, &thing.connection);
    assert_int_equal(freed, 0);
    worker_settle(&worker);
    assert_int_equal(freed, 1);
    assert_int_equal(thing.driven, 0); /* what is dead is not driven */
    assert_true(mem_stream_twin_closed(other));
    assert_true(mem_stream_twin_closed(twin));
    stream_close(&other);
    memset(&thing, 0, sizeof thing);
    thing.connection.free = let_go;
    thing.freed = &freed;
    freed = 0;
    worker_add(&worker, &thing.connection);
}

TEST_CASE_WITH(test_fairness, begin, end) /* 1.5: one that stirs itself does not keep the loop */
{
    thing.stirs_itself = true;
    worker_stir(&worker, &thing.connection);
    worker_stir(&worker, &thing.connection);
    worker_settle(&worker);
    assert_int_equal(thing.driven, 1);
    assert_ok(worker_turn(&worker, -1)); /* does not sleep */
    assert_int_equal(thing.driven, 2);
    thing.stirs_itself = false;
}

static char order[8];

struct named {
    struct connection connection;
    char name;
};

static void note(struct connection *connection)
{
    order[strlen(order)] = ((struct named *)connection)->name;
}

static void forget(struct connection *connection)
{
    (void)connection;
}

/* 11.11: those at one stage are driven one after another, in the order in which they were stirred. */
TEST_CASE_WITH(test_stages, begin, end)
{
    static const unsigned stages[] = {5, 0, WORKER_STAGES - 1, 5, 0};
    struct named named[5];

    memset(order, 0, sizeof order);
    for (unsigned i = 0; i < 5; i++) {
        named[i] = (struct named){.connection = {.drive = note, .free = forget, .stage = stages[i]}, .name = (char)('a' + i)};
        worker_add(&worker, &named[i].connection);
        worker_stir(&worker, &named[i].connection);
    }
    worker_settle(&worker);
    assert_string_equal(order, "beadc");
    for (unsigned i = 0; i < 5; i++)
        worker_bury(&worker, &named[i].connection);
    worker_reap(&worker);
}

TEST_MAIN(NULL, NULL)
