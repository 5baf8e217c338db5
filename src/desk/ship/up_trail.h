/* SPDX-License-Identifier: Apache-2.0 */
/* The node's own trail, as who ships it reads it: behind a place, so many rows of one file, in a transaction that ends before
 * anything is sent.
 *
 * Threads: one.
 * Owns: what it knows of the trail's files.
 * Lifetime: up_trail_init to up_trail_fini.
 * Errors: enum code with a sentence. */
#ifndef SHIP_UP_TRAIL_H
#define SHIP_UP_TRAIL_H

#include "ship/up_batch.h"

#include "files/trail.h"

#include <sys/stat.h>

/* Up to where rows are at the centre, as it says. */
struct up_place {
    int64_t seq;
    unsigned char hash[DIGEST_BYTES];
    bool is_known; /* false: none are there */
    bool has_hash;
};

struct up_trail {
    const char *audit;  /* the caller's */
    struct trail files; /* as they were when `live` was the last of them */
    struct stat live;
    struct up_table tables[ROW_TABLES];
};

enum code up_trail_init(struct up_trail *trail, const char *audit, struct why *why) MUST_USE;
void up_trail_fini(struct up_trail *trail);
void up_trail_forget(struct up_trail *trail); /* its files are looked for anew */

/* UP_READ: the batch has rows. UP_DONE: there are none behind the place. UP_OTHER: the row at the place is not the one that the
 * centre has, or the trail ends before it; *here is the hash that stands there. UP_GAP: rows behind the place are in no file
 * here; *next is where the trail goes on. */
enum up_found { UP_READ = 0, UP_DONE, UP_OTHER, UP_GAP };

/* Takes: place: of the centre; rows: at most so many. */
enum code up_trail_read(struct up_trail *trail, const struct up_place *place, size_t rows, enum up_form form,
                        struct up_batch *batch, enum up_found *found, struct up_place *next, struct why *why) MUST_USE;

/* Whether the trail says of all rows up to `last` that they were given away. Reads the events of all its files. */
enum code up_trail_is_retired(const struct up_trail *trail, int64_t last, bool *is, struct why *why) MUST_USE;

/* How far the trail is: *tip the last row's number, *waits_us the time of the first row behind `seq`; 0: there is none. */
enum code up_trail_look(struct up_trail *trail, int64_t seq, int64_t *tip, int64_t *waits_us, struct why *why) MUST_USE;

/* A checkpoint of the trail. Owns its bytes: up_mark_free. */
struct up_mark {
    int64_t size, time_us;
    struct span peaks, note;
    char *bytes;
};
/* The first one over at least `from` rows and at most `to`. CODE_NOT_FOUND: there is none, and `mark` is empty. */
enum code up_trail_mark(struct up_trail *trail, int64_t from, int64_t to, struct up_mark *mark, struct why *why) MUST_USE;
void up_mark_free(struct up_mark *mark);

#endif
