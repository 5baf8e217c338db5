/* SPDX-License-Identifier: Apache-2.0 */
/* How far a command is that takes long: a bar on stderr, where that is a terminal, or lines of JSON there for another program.
 *
 * Threads: one; work on other threads is told by the one that waits for them.
 * Owns: the last line of the terminal between progress_begin and progress_end.
 * Lifetime: one piece of work.
 * Errors: none. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
    bool shown;
    const char *what; /* "replaying"; must outlive the bar */
    uint64_t total;   /* 0: not known; then only what is done is told */
    int64_t at;       /* the number of the row that it stands at; 0: of none */
    int64_t began_us;
    int64_t drawn_us;
};

/* From here on each is told as {"progress": what, "done":, "total":, "at":}, one a line. */
void progress_as_json(bool wanted);

void progress_begin(struct progress *progress, const char *what, uint64_t total);
/* Draws at most ten times a second; may be called as often as one likes. */
void progress_tell(struct progress *progress, uint64_t done);
/* Wipes the line, so that something can be told; the next progress_tell draws it again. */
void progress_clear(struct progress *progress);
/* Wipes it for good. */
void progress_end(struct progress *progress);

#endif
