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
#include "base/span.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void *mem_alloc(size_t bytes) MUST_USE;                        /* not zeroed */
void *mem_zalloc(size_t bytes) MUST_USE;                       /* zeroed */
void *mem_array(size_t count, size_t bytes) MUST_USE;          /* zeroed; NULL too when the product overflows */
void *mem_resize(void *old, size_t bytes) MUST_USE;            /* as realloc; the old block stays valid on NULL */
/* For a list that grows: the block itself where *room is `count` or more, else a larger one and its *room. NULL: as
 * mem_resize. */
void *mem_room(void *old, size_t *room, size_t count, size_t bytes) MUST_USE;
char *mem_dup(const void *from, size_t bytes) MUST_USE;        /* copies and adds a NUL after it */
void mem_free(void *block);                                    /* NULL is fine */
void mem_wipe(void *block, size_t bytes);                      /* overwrites; never optimised away */

/* Prefetches cache lines that are used soon, so that they arrive together. Nothing is read, so the bytes may end earlier or
 * not be there. */
#define MEM_LINE_BYTES 64
static inline void mem_fetch_ahead(const void *from, size_t bytes)
{
    uintptr_t at = (uintptr_t)from;

    for (size_t i = 0; i < bytes; i += MEM_LINE_BYTES)
        __builtin_prefetch((const void *)(at + i));
}

/* Gives free pages between blocks in use back to the system; the C library itself gives back the end of a heap. It takes
 * some milliseconds for each 10 MiB, in which other threads may wait for memory, so call it after a peak only. */
void mem_trim(void);

/* Unmaps the pages of code that were read so far; to call once a program has started. A page that is needed again comes back
 * from the page cache, and the rest the system may reuse, because no process maps it any more. */
void mem_drop_code(void);

/* From now on memory that one large message needed stays with its thread for the next, because a page that is given back
 * and taken anew costs as much as reading all of it. */
void mem_keep(void);

/* For tests: the n-th allocation from now on (1 = the next) and, with `sticky`, all after it fail, on this
 * thread only. 0 switches off. mem_fail_count() says how many allocations came since mem_fail_at(). */
void mem_fail_at(uint64_t nth, int sticky);
uint64_t mem_fail_count(void);
bool mem_is_walked(void); /* whether mem_fail_at is in use: then buffers grow by what is appended, so that each append is an
                           * allocation */

/* Spare blocks of one size that a thread uses again and again. The one that was given last is taken first, since the
 * processor's caches still hold it. What lives no longer than a turn of a loop is built in them; if each connection had a
 * block of its own, it would be fetched into the cache for every call. Under the address sanitizer none is kept, so that
 * it sees every use after its end. */
#define MEM_SPARE_BYTES 4160 /* a page, and a header in front of it */
#if defined(__SANITIZE_ADDRESS__)
#define MEM_KEEPS_SPARES 0
#elif defined(__has_feature)
#define MEM_KEEPS_SPARES (!__has_feature(address_sanitizer))
#else
#define MEM_KEEPS_SPARES 1
#endif
void *mem_spare_new(void) MUST_USE;  /* a spare one or, where there is none, a new one; not zeroed; mem_free takes it too */
void *mem_spare_take(void) MUST_USE; /* a spare one; NULL where there is none, which is no failure */
void mem_spare_give(void *block);    /* takes a block of MEM_SPARE_BYTES, whichever of these functions made it */
void mem_spare_drop(void);           /* frees all that the thread keeps; to call before it ends */

struct arena_block;

#define ARENA_BLOCK_BYTES (MEM_SPARE_BYTES - 32) /* what the first piece of an arena may have, to lie in a spare block */

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
/* Likewise of a text, which may be *to; what is absent stays absent. CODE_NOMEM: *to is, too. */
enum code arena_keep(struct arena *arena, struct span from, struct span *to) MUST_USE;
void *arena_room(struct arena *arena, void *old, size_t *room, size_t count, size_t bytes) MUST_USE; /* as mem_room */
void arena_reset(struct arena *arena); /* keeps one small block for the next use and frees the others */
void arena_fini(struct arena *arena);  /* may be used again */

#endif
