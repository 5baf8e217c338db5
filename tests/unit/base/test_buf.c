/* SPDX-License-Identifier: Apache-2.0 */
#include "fakes/cm.h"

#include "base/buf.h"
#include "base/mem.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static void holds(const struct buf *buf, const char *text)
{
    if (!span_is(buf_peek(buf), text))
        fail_msg("'%.*s' instead of '%s'", SPAN_ARG(buf_peek(buf)), text);
    assert_true(buf->head <= buf->tail && buf->tail <= buf->size && buf->size <= buf->cap_bytes);
}

TEST_CASE(appends_and_drops)
{
    struct buf buf;

    buf_init(&buf, 1000);
    assert_true(buf_is_empty(&buf));
    assert_null(buf_peek(&buf).at);
    assert_ok(buf_add(&buf, NULL, 0));
    assert_ok(buf_add_text(&buf, "hello"));
    assert_ok(buf_add_byte(&buf, ' '));
    assert_ok(buf_add_span(&buf, SPAN_LIT("wor\0ld")));
    assert_int_equal(buf_len(&buf), 12);
    buf_drop(&buf, 6);
    assert_true(span_equals(buf_peek(&buf), SPAN_LIT("wor\0ld")));
    buf_truncate(&buf, 3);
    holds(&buf, "wor");
    assert_ok(buf_addf(&buf, "%s-%d", "x", 7));
    holds(&buf, "worx-7");
    assert_ok(buf_addf(&buf, "%s", ""));
    holds(&buf, "worx-7");
    buf_drop(&buf, 6);
    assert_int_equal(buf.head, 0); /* empty: the whole block is free again */
    buf_clear(&buf);
    holds(&buf, "");
    assert_ok(buf_add_text(&buf, "again"));
    buf_fini(&buf);
    assert_null(buf.block);
    assert_int_equal(buf.cap_bytes, 1000);
    assert_ok(buf_add_text(&buf, "after"));
    holds(&buf, "after");
    buf_fini(&buf);
}

TEST_CASE(the_cap_holds)
{
    static const size_t caps[] = {0, 1, 2, 3, 10, 255, 256, 257, 511, 513, 1000};

    for (size_t i = 0; i < sizeof caps / sizeof caps[0]; i++) {
        struct buf buf;

        buf_init(&buf, caps[i]);
        for (size_t n = 0; n < caps[i]; n++) {
            assert_int_equal(buf_room(&buf), caps[i] - n);
            assert_ok(n % 2 ? buf_addf(&buf, "%c", 'a') : buf_add_byte(&buf, 'a'));
        }
        assert_int_equal(buf_put(&buf, SPAN_LIT("x")), CODE_LIMIT);
        assert_int_equal(buf_put(&buf, SPAN_LIT("xyz")), CODE_LIMIT);
        assert_ok(buf_code(&buf)); /* what is put and finds no room changes nothing */
        assert_int_equal(buf_len(&buf), caps[i]);
        assert_true(buf.size <= caps[i]);
        /* What was dropped makes room again, though the block is full. */
        if (caps[i] > 0) {
            buf_drop(&buf, 1);
            assert_ok(buf_add_byte(&buf, 'b'));
            assert_int_equal(buf_peek(&buf).at[caps[i] - 1], 'b');
        }
        buf_fini(&buf);
    }
}

TEST_CASE(reserve_and_commit)
{
    struct buf buf;
    char *at;

    buf_init(&buf, 600);
    assert_ok(buf_add_text(&buf, "ab"));
    buf_drop(&buf, 1);
    assert_ok(buf_reserve(&buf, 599, &at)); /* moves what is left to the front */
    memset(at, 'x', 599);
    buf_commit(&buf, 2);
    holds(&buf, "bxx");
    assert_int_equal(buf_reserve(&buf, 598, &at), CODE_LIMIT);
    assert_int_equal(buf_reserve(&buf, SIZE_MAX, &at), CODE_LIMIT);
    holds(&buf, "bxx");
    buf_fini(&buf);
}

static void dies(void (*reads)(struct buf *buf), struct buf *buf)
{
    int status;
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        const struct rlimit none = {0, 0};

        (void)setrlimit(RLIMIT_CORE, &none);
        (void)signal(SIGABRT, SIG_DFL);
        (void)close(STDERR_FILENO);
        reads(buf);
        _exit(0);
    }
    assert_true(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

static void peeks(struct buf *buf)
{
    (void)buf_peek(buf);
}

static void moves(struct buf *buf)
{
    struct buf to;

    buf_init(&to, buf->cap_bytes);
    buf_move(&to, buf);
}

/* 6.14: what lacks something is never read as if it were whole, and forgets that only where it is emptied or taken back. */
TEST_CASE(a_failure_sticks)
{
    struct buf_mark mark;
    struct buf buf;
    char *at;

    buf_init(&buf, 8);
    buf_add_text(&buf, "abcd");
    buf_add_text(&buf, "efghi"); /* no room: and what would fit is not added behind the gap */
    assert_int_equal(buf_add_byte(&buf, 'j'), CODE_LIMIT);
    assert_int_equal(buf_add(&buf, "", 0), CODE_LIMIT);
    assert_int_equal(buf_addf(&buf, "%d", 1), CODE_LIMIT);
    assert_int_equal(buf_put(&buf, SPAN_LIT("k")), CODE_LIMIT);
    assert_int_equal(buf_reserve(&buf, 1, &at), CODE_LIMIT);
    assert_int_equal(buf_fail(&buf, CODE_NOMEM), CODE_LIMIT); /* the first one counts */
    assert_int_equal(buf_len(&buf), 4);
    dies(peeks, &buf);
    buf_drop(&buf, 1);
    buf_truncate(&buf, 1); /* neither makes it whole */
    assert_int_equal(buf_code(&buf), CODE_LIMIT);
    buf_truncate(&buf, 0);
    dies(peeks, &buf);
    dies(moves, &buf);
    buf_clear(&buf);
    assert_ok(buf_add_text(&buf, "abc"));
    assert_int_equal(buf_reserve(&buf, 6, &at), CODE_LIMIT);
    holds(&buf, "abc"); /* nothing of it lacks */
    assert_int_equal(buf_fail(&buf, CODE_INVALID), CODE_INVALID);
    buf_fini(&buf);
    assert_ok(buf_add_text(&buf, "abc"));
    mark = buf_mark(&buf);
    buf_add_text(&buf, "def");
    assert_ok(buf_settle(&buf, mark));
    holds(&buf, "abcdef");
    mark = buf_mark(&buf);
    buf_add_text(&buf, "gh");
    buf_add_text(&buf, "i");
    assert_int_equal(buf_settle(&buf, mark), CODE_LIMIT);
    holds(&buf, "abcdef");
    buf_add_text(&buf, "too long");
    mark = buf_mark(&buf); /* what failed before stays so, whatever is taken back since */
    buf_add_byte(&buf, 'g');
    assert_int_equal(buf_settle(&buf, mark), CODE_LIMIT);
    buf_rewind(&buf, mark);
    dies(peeks, &buf);
    buf_fini(&buf);
}

/* A failed append changes nothing, wherever memory runs out. */
TEST_CASE(memory_runs_out)
{
    bool done = false;

    for (uint64_t nth = 1; !done; nth++) {
        struct buf buf;
        enum code code = CODE_OK;
        size_t before = 0;

        buf_init(&buf, 1 << 20);
        mem_fail_at(nth, 0);
        for (int i = 0; i < 200 && code == CODE_OK; i++) {
            before = buf_len(&buf);
            code = i % 2 ? buf_addf(&buf, "%0100d", i) : buf_add(&buf, "0123456789", 10);
        }
        done = mem_fail_count() < nth;
        mem_fail_at(0, 0);
        assert_int_equal(code, done ? CODE_OK : CODE_NOMEM);
        if (!done)
            assert_int_equal(buf_len(&buf), before);
        assert_int_equal(buf_add_byte(&buf, 'x'), code);
        assert_true(!done || nth > 3);
        buf_fini(&buf);
    }
}

TEST_CASE(a_spare_block_is_lent)
{
    struct buf first, second, small;
    void *spare;
    char *at;

    mem_spare_drop(); /* of the tests before */
    buf_init(&first, 100000);
    buf_init(&second, 100000);
    buf_init(&small, 1000);
    buf_borrow(&first); /* there is none: a new one */
    spare = first.block;
    assert_non_null(spare);
    buf_fini(&first);
    buf_borrow(&small); /* whose cap is under a block */
    assert_int_equal(small.size, 0);
    buf_borrow(&first);
#if MEM_KEEPS_SPARES
    assert_ptr_equal(first.block, spare);
    assert_int_equal(first.size, MEM_SPARE_BYTES - 1);
#endif
    assert_ok(buf_add_text(&first, "one"));
    buf_borrow(&first); /* who has a block keeps it */
    holds(&first, "one");
    buf_fini(&first);
    buf_borrow(&second);
#if MEM_KEEPS_SPARES
    assert_ptr_equal(second.block, spare);
#endif
    holds(&second, "");
    assert_ok(buf_reserve(&second, 10000, &at)); /* one that outgrows it is no spare any more */
    buf_commit(&second, 10000);
    buf_fini(&second);
    assert_null(mem_spare_take());
    assert_ok(buf_reserve(&first, 4096, &at)); /* what is read from a peer makes new ones */
    buf_fini(&first);
#if MEM_KEEPS_SPARES
    mem_free(mem_spare_take());
#endif
}

TEST_CASE(bytes_change_hands) /* 4.8 */
{
    struct buf from, to;
    char *at, *block;

    buf_init(&from, 1000000);
    buf_init(&to, 2000000);
    assert_ok(buf_add_text(&to, "gone"));
    buf_drop(&to, 4);
    assert_ok(buf_reserve(&from, 600000, &at));
    memset(at, 'a', 600000);
    buf_commit(&from, 600000);
    assert_true(from.size > 800000);
    buf_fit(&from);
    assert_int_equal(from.size, 600000);
    block = from.block;
    buf_move(&to, &from);
    assert_true(buf_is_empty(&from) && from.block == NULL && from.cap_bytes == 1000000);
    assert_ptr_equal(to.block, block); /* nothing was copied */
    assert_true(buf_len(&to) == 600000 && to.cap_bytes == 2000000);
    buf_drop(&to, 599999);
    buf_fit(&to); /* what lies before the head stays */
    holds(&to, "a");
    assert_ok(buf_add_text(&to, "b"));
    holds(&to, "ab");
    buf_fini(&to);
    buf_fini(&from);
}

/* Whether the block holds the word outside of what the buffer holds. */
static bool left(const struct buf *buf, const char *word)
{
    return memmem(buf->block, buf->head, word, strlen(word)) != NULL ||
           memmem(buf->block + buf->tail, buf->size - buf->tail, word, strlen(word)) != NULL;
}

TEST_CASE(who_takes_over_wipes_too) /* 4.15 */
{
    struct buf from, to;

    buf_init(&from, 100);
    buf_init(&to, 100);
    buf_wipes(&from);
    assert_ok(buf_add_text(&from, "secret"));
    buf_move(&to, &from);
    assert_true(to.wipes && from.wipes);
    holds(&to, "secret");
    buf_truncate(&to, 1);
    assert_null(memmem(to.block, to.size, "ecret", 5));
    buf_fini(&to);
}

TEST_CASE(what_leaves_is_wiped) /* 4.15 */
{
    struct buf buf;
    void *block;
    char *at;

    buf_init(&buf, 100000);
    buf_wipes(&buf);
    buf_borrow(&buf);
    assert_ok(buf_reserve(&buf, 1, &at));
    memset(buf.block, 0, buf.size); /* `left` reads also what was never written, which valgrind tells of */
    assert_ok(buf_add_text(&buf, "first-secret second-secret"));
    buf_drop(&buf, strlen("first-secret "));
    assert_false(left(&buf, "first-secret"));
    holds(&buf, "second-secret");
    assert_ok(buf_reserve(&buf, buf.size - strlen("second-secret"), &at)); /* moves it to the front */
    assert_false(left(&buf, "secret"));
    buf_truncate(&buf, 3);
    assert_false(left(&buf, "ond-secret"));
    buf_clear(&buf);
    assert_false(left(&buf, "sec"));
    assert_ok(buf_add_text(&buf, "third-secret"));
    assert_ok(buf_reserve(&buf, 50000, &at)); /* grows: a copy elsewhere */
    holds(&buf, "third-secret");
    buf_fini(&buf);
    block = mem_spare_new();
    assert_non_null(block);
    memset(block, 0, MEM_SPARE_BYTES);
    mem_spare_give(block);
    buf_borrow(&buf);
    assert_ok(buf_add_text(&buf, "fourth-secret"));
    buf_fini(&buf); /* and wipes on, when it is used again */
    assert_true(buf.wipes);
#if MEM_KEEPS_SPARES
    block = mem_spare_take();
    assert_null(memmem(block, MEM_SPARE_BYTES, "secret", 6));
    mem_free(block);
#endif
}

TEST_MAIN(NULL, NULL)
