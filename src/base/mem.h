/* SPDX-License-Identifier: Apache-2.0 */
/* Heap memory: the only door to malloc, so that tests can fail the n-th allocation; and arenas.
 *
 * Threads: mem_* any thread; an arena belongs to one thread.
 * Owns: an arena owns its blocks.
 * Lifetime: what an arena gave lives until arena_reset or arena_fini.
 * Errors: NULL when memory (or the arena's cap) is used up; never aborts. */
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include "base/code.h"

#include <stddef.h>
#include <stdint.h>

void *mem_alloc(size_t bytes) MUST_USE;                        /* not zeroed */
void *mem_zalloc(size_t bytes) MUST_USE;                       /* zeroed */
void *mem_array(size_t count, size_t bytes) MUST_USE;          /* zeroed; NULL too when the product overflows */
void *mem_resize(void *old, size_t bytes) MUST_USE;            /* as realloc; the old block stays valid on NULL */
char *mem_dup(const void *from, size_t bytes) MUST_USE;        /* copies and adds a NUL after it */
void mem_free(void *block);                                    /* NULL is fine */
void mem_wipe(void *block, size_t bytes);                      /* overwrites; never optimised away */

/* For tests: the n-th allocation from now on (1 = the next) and, with `sticky`, all after it fail, on this
 * thread only. 0 switches off. mem_fail_count() says how many allocations came since mem_fail_at(). */
void mem_fail_at(uint64_t nth, int sticky);
uint64_t mem_fail_count(void);

struct arena_block;

/* Bump allocation with a cap over all its blocks. */
struct arena {
    struct arena_block *blocks;
    size_t used_bytes; /* over all blocks, headers included */
    size_t cap_bytes;
};

void arena_init(struct arena *arena, size_t cap_bytes);
void *arena_alloc(struct arena *arena, size_t bytes) MUST_USE; /* 16-byte aligned, not zeroed */
void *arena_zalloc(struct arena *arena, size_t bytes) MUST_USE;
char *arena_dup(struct arena *arena, const void *from, size_t bytes) MUST_USE; /* adds a NUL after it */
void arena_reset(struct arena *arena); /* keeps one small block for the next use, gives the others back */
void arena_fini(struct arena *arena);

#endif
