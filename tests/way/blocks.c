/* SPDX-License-Identifier: Apache-2.0 */
/* 11.15: notes which blocks of code were run, for tools/mutants: it compiles the files of a room so that each block calls this, and links
 * this into each program. The place of a block is a byte of a file that the tool has made and reads when the test is over; a file, and no
 * variable of the environment names it, because people's commands are run without one.
 *
 * Threads: any.
 * Owns: the mapping of that file, as long as the process lives.
 * Lifetime: none.
 * Errors: without the file nothing is noted. */
#include <fcntl.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define HIDDEN __attribute__((visibility("hidden")))

HIDDEN extern const char __ehdr_start[]; /* where the linker put the program's first byte */
HIDDEN char blocks_file[256] = "@blocks@";  /* tools/mutants writes the path over it in what is linked */
HIDDEN void __sanitizer_cov_trace_pc(void); /* GCC's name */

static volatile unsigned char *seen;
static size_t room;

__attribute__((constructor)) static void open_file(void)
{
    int fd = open(blocks_file, O_RDWR | O_CLOEXEC);
    struct stat there;
    void *place;

    if (fd < 0)
        return;
    place = fstat(fd, &there) == 0 ? mmap(NULL, (size_t)there.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
    (void)close(fd);
    if (place == MAP_FAILED)
        return;
    room = (size_t)there.st_size;
    seen = place;
}

void __sanitizer_cov_trace_pc(void)
{
    size_t at = (size_t)((const char *)__builtin_return_address(0) - __ehdr_start);

    if (seen != NULL && at < room && seen[at] == 0)
        seen[at] = 1;
}
