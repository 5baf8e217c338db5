/* SPDX-License-Identifier: Apache-2.0 */
/* The memory stream that simulations stand on does what a stream promises, in every weather. */
#include "fakes/cm.h"
#include "fakes/mem_stream.h"

#include <string.h>

static void make(struct stream **a, struct stream **b, size_t capacity)
{
    assert_true(mem_stream_pair(a, b, capacity));
}

TEST_CASE(carries_bytes_both_ways_and_blocks_when_full)
{
    struct stream *a, *b;
    char bytes[16];
    size_t done;

    make(&a, &b, 4);
    assert_int_equal(stream_read(a, bytes, sizeof bytes, &done), IO_WANT_READ);
    assert_int_equal(stream_write(a, "abcdef", 6, &done), IO_OK);
    assert_int_equal(done, 4);
    assert_int_equal(stream_write(a, "ef", 2, &done), IO_WANT_WRITE);
    assert_int_equal(mem_stream_readable(b), 4);
    assert_int_equal(mem_stream_writable(a), 0);
    assert_int_equal(stream_read(b, bytes, 3, &done), IO_OK);
    assert_int_equal(stream_write(a, "ef", 2, &done), IO_OK);
    assert_int_equal(stream_read(b, bytes, sizeof bytes, &done), IO_OK);
    assert_int_equal(done, 3);
    assert_memory_equal(bytes, "def", 3);
    assert_true(mem_stream_put(b, "xy", 2));
    assert_false(mem_stream_put(b, "too long", 8));
    assert_int_equal(mem_stream_get(a, bytes, sizeof bytes), 2);
    stream_close(&a);
    stream_close(&b);
}

TEST_CASE(one_byte_at_a_time_and_again_on_every_second)
{
    struct stream *a, *b;
    char got[64] = "";
    size_t len = 0, agains = 0, done;

    make(&a, &b, 64);
    *mem_stream_weather(b) = (struct mem_weather){.max_read = 1, .again = true};
    assert_true(mem_stream_put(a, "weather", 7));
    while (len < 7) {
        enum io io = stream_read(b, got + len, sizeof got - len, &done);

        assert_true(io == IO_OK || io == IO_WANT_READ);
        assert_int_equal(done, io == IO_OK ? 1 : 0);
        agains += io == IO_WANT_READ;
        len += done;
    }
    assert_string_equal(got, "weather");
    assert_true(agains >= 6);
    stream_close(&a);
    stream_close(&b);
}

TEST_CASE(ends_are_seen_after_the_last_byte)
{
    struct stream *a, *b;
    char bytes[8];
    size_t done;

    make(&a, &b, 8);
    assert_true(mem_stream_put(a, "end", 3));
    assert_int_equal(stream_end(a), IO_OK);
    assert_true(mem_stream_twin_ended(b));
    assert_false(mem_stream_twin_closed(b));
    assert_int_equal(stream_read(b, bytes, sizeof bytes, &done), IO_OK);
    assert_int_equal(stream_read(b, bytes, sizeof bytes, &done), IO_EOF);
    assert_int_equal(stream_write(a, "x", 1, &done), IO_FAIL);
    assert_int_equal(stream_write(b, "x", 1, &done), IO_OK);
    stream_close(&a);
    assert_true(mem_stream_twin_closed(b));
    assert_int_equal(stream_write(b, "x", 1, &done), IO_FAIL);
    assert_string_equal(stream_fault(b), "Broken pipe");
    stream_close(&b);
}

TEST_CASE(handshakes_pending_bytes_and_faults_on_demand)
{
    struct stream *a, *b;
    char bytes[8];
    size_t done;

    make(&a, &b, 8);
    mem_stream_weather(a)->handshakes = 2;
    assert_int_equal(stream_handshake(a), IO_WANT_READ);
    assert_int_equal(stream_handshake(a), IO_WANT_READ);
    assert_int_equal(stream_handshake(a), IO_OK);
    assert_true(mem_stream_put(b, "four", 4));
    assert_int_equal(stream_pending(a), 0);
    mem_stream_weather(a)->as_pending = true;
    assert_int_equal(stream_pending(a), 4);
    mem_stream_weather(a)->fault = "the cable was cut";
    assert_int_equal(stream_read(a, bytes, sizeof bytes, &done), IO_FAIL);
    assert_string_equal(stream_fault(a), "the cable was cut");
    stream_close(&b);
    stream_close(&a);
}

TEST_MAIN(NULL, NULL)
