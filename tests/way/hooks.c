/* SPDX-License-Identifier: Apache-2.0 */
/* 11.1: hears which functions are entered in a gate that was built with FLAVOUR=way, and writes them into a file that tools/way has
 * made and maps, too. Loaded before the C library, whose own hooks do nothing; the gate is not linked with it.
 *
 * Threads: any.
 * Owns: the mapping of the file that CALLGATE_WAY names, as long as the process lives.
 * Lifetime: none.
 * Errors: without the file nothing is heard; what comes when it is full is counted and not written. */
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* As tools/way reads it. */
struct entry {
    uint64_t function;
    uint64_t thread;
};
struct heard {
    _Atomic uint64_t count;
    struct entry entries[];
};

static struct heard *heard;
static uint64_t room;

void __cyg_profile_func_enter(void *function, void *caller);
void __cyg_profile_func_exit(void *function, void *caller);

__attribute__((constructor)) static void open_file(void)
{
    const char *path = getenv("CALLGATE_WAY");
    int fd = path == NULL ? -1 : open(path, O_RDWR | O_CLOEXEC);
    struct stat seen;
    void *place;

    if (fd < 0)
        return;
    place = fstat(fd, &seen) == 0 ? mmap(NULL, (size_t)seen.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
    (void)close(fd);
    if (place == MAP_FAILED)
        return;
    heard = place;
    room = ((uint64_t)seen.st_size - sizeof *heard) / sizeof heard->entries[0];
}

void __cyg_profile_func_enter(void *function, void *caller)
{
    uint64_t at;

    (void)caller;
    if (heard == NULL)
        return;
    at = atomic_fetch_add(&heard->count, 1);
    if (at < room)
        heard->entries[at] = (struct entry){(uint64_t)(uintptr_t)function, (uint64_t)syscall(SYS_gettid)};
}

void __cyg_profile_func_exit(void *function, void *caller)
{
    (void)function;
    (void)caller;
}
