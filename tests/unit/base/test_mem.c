/* SPDX-License-Identifier: Apache-2.0 */
#include "fakes/cm.h"

#include "base/mem.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

TEST_CASE(blocks)
{
    char *copy = mem_dup("ab\0c", 4);
    unsigned char *zero = mem_zalloc(64);
    unsigned char *array = mem_array(8, 8);

    assert_non_null(copy);
    assert_memory_equal(copy, "ab\0c", 5);
    for (size_t i = 0; i < 64; i++)
        assert_int_equal(zero[i] | array[i], 0);
    copy = mem_resize(copy, 100);
    assert_memory_equal(copy, "ab\0c", 5);
    mem_wipe(copy, 4);
    assert_memory_equal(copy, "\0\0\0\0", 4);
    mem_wipe(NULL, 0);
    assert_null(mem_array(SIZE_MAX / 2, 4));
    assert_null(mem_dup("", SIZE_MAX));
    mem_free(copy);
    mem_free(zero);
    mem_free(array);
    mem_free(mem_alloc(0));
    mem_free(NULL);
}

static bool fails(void)
{
    void *block = mem_alloc(1);

    mem_free(block);
    return block == NULL;
}

TEST_CASE(failures_on_demand)
{
    mem_fail_at(2, 0);
    assert_false(fails());
    assert_true(fails());
    assert_false(fails());
    assert_int_equal(mem_fail_count(), 3);
    mem_fail_at(1, 1);
    assert_true(fails());
    assert_true(fails());
    assert_null(mem_zalloc(1));
    assert_null(mem_array(1, 1));
    assert_null(mem_dup("a", 1));
    assert_null(mem_resize(NULL, 1));
    mem_fail_at(0, 0);
    assert_false(fails());
}

TEST_CASE(arenas)
{
    struct span kept;
    struct arena arena;
    char *pieces[300];

    arena_init(&arena, 1 << 20);
    for (size_t i = 0; i < 300; i++) {
        size_t len = i * 7 % 3000;

        pieces[i] = arena_alloc(&arena, len);
        assert_non_null(pieces[i]);
        assert_int_equal((uintptr_t)pieces[i] % 16, 0);
        memset(pieces[i], (int)i, len);
    }
    for (size_t i = 0; i < 300; i++)
        for (size_t j = 0; j < i * 7 % 3000; j++)
            assert_int_equal((unsigned char)pieces[i][j], i & 0xff);
    assert_string_equal(arena_dup(&arena, "text", 4), "text");
    assert_int_equal(arena_keep(&arena, SPAN_LIT("kept"), &kept), CODE_OK);
    assert_true(span_is(kept, "kept") && kept.at[kept.len] == '\0');
    assert_int_equal(arena_keep(&arena, SPAN_NONE, &kept), CODE_OK);
    assert_null(kept.at);
    assert_true(arena.used_bytes <= arena.cap_bytes);
    arena_reset(&arena);
    assert_true(arena.used_bytes < 10000); /* one small block is kept */
    mem_fail_at(1, 1);
    assert_non_null(arena_zalloc(&arena, 100)); /* and used */
    assert_null(arena_alloc(&arena, 9000));
    mem_fail_at(0, 0);
    assert_non_null(arena_alloc(&arena, 9000));
    arena_reset(&arena);
    arena_fini(&arena);
    assert_null(arena.blocks);
    assert_int_equal(arena.used_bytes, 0);
}

TEST_CASE(a_spare_block_is_the_last_one_given)
{
    char *first, *second;
    struct arena arena;

    mem_spare_drop(); /* of the tests before */
    first = mem_spare_new();
    second = mem_spare_new();
    assert_non_null(first);
    assert_non_null(second);
    memset(first, 1, MEM_SPARE_BYTES);
    memset(second, 2, MEM_SPARE_BYTES);
    mem_spare_give(first);
    mem_spare_give(second);
#if MEM_KEEPS_SPARES
    assert_ptr_equal(mem_spare_take(), second);
    assert_ptr_equal(mem_spare_new(), first);
    assert_null(mem_spare_take());
    mem_spare_give(second);
    mem_spare_give(first);
    mem_fail_at(1, 0); /* a block that is there counts as one that is asked for: what fails does not depend on the past */
    assert_null(mem_spare_new());
    mem_fail_at(0, 0);
    arena_init(&arena, 1 << 20);
    assert_non_null(arena_alloc(&arena, 100));
    assert_ptr_equal(arena.blocks, first);
    arena_fini(&arena);
    assert_ptr_equal(mem_spare_take(), first);
    mem_spare_give(first);
#else
    (void)arena;
#endif
    for (int i = 0; i < 1000; i++) { /* more than are kept go to where they came from */
        void *block = mem_alloc(MEM_SPARE_BYTES);

        assert_non_null(block);
        mem_spare_give(block);
    }
    mem_spare_drop();
    assert_null(mem_spare_take());
}

TEST_CASE(the_cap_of_an_arena_holds)
{
    for (size_t cap = 0; cap < 20000; cap += 997) {
        struct arena arena;
        size_t got = 0;

        arena_init(&arena, cap);
        assert_null(arena_alloc(&arena, SIZE_MAX));
        assert_null(arena_alloc(&arena, SIZE_MAX - 20));
        assert_null(arena_alloc(&arena, cap + 1));
        assert_null(arena_dup(&arena, "", SIZE_MAX));
        while (arena_alloc(&arena, 100) != NULL)
            got += 112;
        assert_true(arena.used_bytes <= cap);
        assert_true(got <= cap);
        assert_true(got * 2 + 600 > cap); /* most of the cap can be used */
        arena_fini(&arena);
    }
}

/* A large piece does not cost the room that the current block still has. */
TEST_CASE(large_pieces_stand_aside)
{
    struct arena arena;
    void *large;
    char *first, *second;

    arena_init(&arena, 1 << 20);
    first = arena_alloc(&arena, 16);
    large = arena_alloc(&arena, 100000);
    second = arena_alloc(&arena, 16);
    assert_non_null(large);
    assert_ptr_equal(second, first + 16);
    arena_fini(&arena);
}

static unsigned long pages_of_files(void)
{
    unsigned long all = 0, resident = 0, of_files = 0;
    FILE *file = fopen("/proc/self/statm", "r");

    assert_non_null(file);
    assert_int_equal(fscanf(file, "%lu %lu %lu", &all, &resident, &of_files), 3);
    (void)fclose(file);
    return of_files;
}

/* 11.2: what a start has read of libraries is no memory of the gate's for ever; all goes on as before. */
TEST_CASE(code_comes_back)
{
    static char written[] = "as it was";
    unsigned long before = pages_of_files();

    memcpy(written + 6, "now", 3);
    mem_drop_code();
    assert_true(pages_of_files() < before);
    assert_string_equal(written, "as it now");
    mem_drop_code();
    blocks(state);
}

TEST_MAIN(NULL, NULL)
