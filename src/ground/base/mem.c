/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mem.h"

#include "base/bug.h"

#include <link.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static _Thread_local uint64_t fail_nth;
static _Thread_local uint64_t fail_seen;
static _Thread_local int fail_sticky;

static int must_fail(void)
{
    fail_seen++;
    if (fail_nth == 0)
        return 0;
    return fail_sticky ? fail_seen >= fail_nth : fail_seen == fail_nth;
}

void mem_fail_at(uint64_t nth, int sticky)
{
    fail_nth = nth;
    fail_seen = 0;
    fail_sticky = sticky;
}

uint64_t mem_fail_count(void)
{
    return fail_seen;
}

bool mem_is_walked(void)
{
    return fail_nth != 0;
}

void *mem_alloc(size_t bytes)
{
    return must_fail() ? NULL : malloc(bytes ? bytes : 1);
}

void *mem_zalloc(size_t bytes)
{
    return must_fail() ? NULL : calloc(1, bytes ? bytes : 1);
}

void *mem_array(size_t count, size_t bytes)
{
    size_t product;

    if (__builtin_mul_overflow(count, bytes, &product))
        return NULL;
    return mem_zalloc(product);
}

void *mem_resize(void *old, size_t bytes)
{
    return must_fail() ? NULL : realloc(old, bytes ? bytes : 1);
}

void *mem_room(void *old, size_t *room, size_t count, size_t bytes)
{
    size_t more = *room * 2 + 16 > count ? *room * 2 + 16 : count, product;
    void *larger;

    if (count <= *room)
        return old;
    larger = __builtin_mul_overflow(more, bytes, &product) ? NULL : mem_resize(old, product);
    *room = larger != NULL ? more : *room;
    return larger;
}

/* Takes: copy: room for the bytes and a NUL; or NULL, which it returns. */
static char *copy_into(char *copy, const void *from, size_t bytes)
{
    if (copy == NULL)
        return NULL;
    if (bytes > 0)
        memcpy(copy, from, bytes);
    copy[bytes] = '\0';
    return copy;
}

char *mem_dup(const void *from, size_t bytes)
{
    return copy_into(bytes < SIZE_MAX ? mem_alloc(bytes + 1) : NULL, from, bytes);
}

void mem_free(void *block)
{
    free(block);
}

void mem_wipe(void *block, size_t bytes)
{
    if (block != NULL && bytes > 0)
        explicit_bzero(block, bytes);
}

#define SPARES_MAX 256 /* as many as a turn of a loop hands out events */

static _Thread_local struct {
    unsigned count;
    void *blocks[SPARES_MAX];
} spares;

void *mem_spare_take(void)
{
    return spares.count > 0 ? spares.blocks[--spares.count] : NULL;
}

void *mem_spare_new(void)
{
    if (must_fail())
        return NULL;
    return spares.count > 0 ? mem_spare_take() : malloc(MEM_SPARE_BYTES);
}

void mem_spare_give(void *block)
{
    if (MEM_KEEPS_SPARES && spares.count < SPARES_MAX)
        spares.blocks[spares.count++] = block;
    else
        mem_free(block);
}

void mem_spare_drop(void)
{
    while (spares.count > 0)
        mem_free(spares.blocks[--spares.count]);
}

void mem_trim(void)
{
#ifdef __GLIBC__ /* other libraries' allocators give memory back by themselves, or never */
    (void)malloc_trim(0);
#endif
}

static int drop_segments(struct dl_phdr_info *object, size_t size, void *page)
{
    uintptr_t mask = *(const size_t *)page - 1;

    (void)size;
    for (unsigned i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
        uintptr_t begin = object->dlpi_addr + segment->p_vaddr, end = (begin + segment->p_filesz) & ~mask;

        if (segment->p_type != PT_LOAD || (segment->p_flags & PF_W) != 0)
            continue; /* what was written is in no file */
        begin = (begin + mask) & ~mask;
        if (begin < end)
            (void)madvise((void *)begin, end - begin, MADV_DONTNEED);
    }
    return 0;
}

void mem_drop_code(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);

    (void)dl_iterate_phdr(drop_segments, &page);
}

#define KEEP_BYTES (4 << 20)
#define OWN_PAGES_BYTES (2 << 20) /* larger blocks come from the system, and grow without being copied */

void mem_keep(void)
{
#ifdef __GLIBC__
    (void)mallopt(M_MMAP_THRESHOLD, OWN_PAGES_BYTES);
    (void)mallopt(M_TRIM_THRESHOLD, KEEP_BYTES);
#endif
}

struct arena_block {
    struct arena_block *next;
    size_t size_bytes; /* of `room` */
    size_t used_bytes;
    _Alignas(16) unsigned char room[];
};

_Static_assert(sizeof(struct arena_block) <= MEM_SPARE_BYTES - ARENA_BLOCK_BYTES, "a spare block is one of an arena");

void arena_init(struct arena *arena, size_t cap_bytes)
{
    arena->blocks = NULL;
    arena->used_bytes = 0;
    arena->cap_bytes = cap_bytes;
}

static struct arena_block *add_block(struct arena *arena, size_t bytes)
{
    size_t left = arena->used_bytes < arena->cap_bytes ? arena->cap_bytes - arena->used_bytes : 0;
    /* However large the first piece is, what follows lies beside it. */
    size_t small = arena->blocks == NULL ? ARENA_BLOCK_BYTES : ARENA_BLOCK_BYTES / 4;
    size_t want = bytes > small ? bytes : ARENA_BLOCK_BYTES;
    struct arena_block *block;

    if (left < sizeof *block || bytes > left - sizeof *block)
        return NULL;
    if (want > left - sizeof *block)
        want = bytes; /* near the cap only what was asked for */
    block = want == ARENA_BLOCK_BYTES ? mem_spare_new() : mem_alloc(sizeof *block + want);
    if (block == NULL)
        return NULL;
    block->size_bytes = want;
    block->used_bytes = 0;
    arena->used_bytes += sizeof *block + want;
    /* A block made for one large piece goes behind the current one, which still has room. */
    if (arena->blocks != NULL && want == bytes) {
        block->next = arena->blocks->next;
        arena->blocks->next = block;
    } else {
        block->next = arena->blocks;
        arena->blocks = block;
    }
    return block;
}

void *arena_alloc(struct arena *arena, size_t bytes)
{
    struct arena_block *block = arena->blocks;
    void *piece;

    if (bytes > SIZE_MAX - 16)
        return NULL;
    bytes = (bytes + 15) & ~(size_t)15;
    if (bytes == 0)
        bytes = 16;
    if (block == NULL || block->size_bytes - block->used_bytes < bytes) {
        block = add_block(arena, bytes);
        if (block == NULL)
            return NULL;
    }
    piece = block->room + block->used_bytes;
    block->used_bytes += bytes;
    return piece;
}

void *arena_zalloc(struct arena *arena, size_t bytes)
{
    void *piece = arena_alloc(arena, bytes);

    if (piece != NULL)
        memset(piece, 0, bytes);
    return piece;
}

char *arena_dup(struct arena *arena, const void *from, size_t bytes)
{
    return copy_into(bytes < SIZE_MAX ? arena_alloc(arena, bytes + 1) : NULL, from, bytes);
}

enum code arena_keep(struct arena *arena, struct span from, struct span *to)
{
    const char *at = from.at != NULL ? arena_dup(arena, from.at, from.len) : NULL;

    *to = span_of(at, at != NULL ? from.len : 0);
    return at != NULL || from.at == NULL ? CODE_OK : CODE_NOMEM;
}

void *arena_room(struct arena *arena, void *old, size_t *room, size_t count, size_t bytes)
{
    size_t more = *room * 2 + 16 > count ? *room * 2 + 16 : count, product;
    void *larger;

    if (count <= *room)
        return old;
    larger = __builtin_mul_overflow(more, bytes, &product) ? NULL : arena_alloc(arena, product);
    if (larger != NULL && *room > 0)
        memcpy(larger, old, *room * bytes);
    *room = larger != NULL ? more : *room;
    return larger;
}

static void give_block(struct arena_block *block)
{
    if (block->size_bytes == ARENA_BLOCK_BYTES)
        mem_spare_give(block);
    else
        mem_free(block);
}

void arena_reset(struct arena *arena)
{
    struct arena_block *keep = NULL;

    while (arena->blocks != NULL) {
        struct arena_block *block = arena->blocks;

        arena->blocks = block->next;
        if (keep == NULL && block->size_bytes <= ARENA_BLOCK_BYTES)
            keep = block;
        else
            give_block(block);
    }
    arena->used_bytes = 0;
    if (keep != NULL) {
        keep->next = NULL;
        keep->used_bytes = 0;
        arena->blocks = keep;
        arena->used_bytes = sizeof *keep + keep->size_bytes;
    }
}

void arena_fini(struct arena *arena)
{
    while (arena->blocks != NULL) {
        struct arena_block *block = arena->blocks;

        arena->blocks = block->next;
        give_block(block);
    }
    arena->used_bytes = 0;
}
