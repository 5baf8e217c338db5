/* SPDX-License-Identifier: Apache-2.0 */
/* The files of one audit trail: the live audit.db and the sealed ones beside it, in the order in which they were written.
 *
 * A sealed file is recognised by its content and not by its name: the next file names the hash of its last row as
 * `file.previous`. Where a file is missing, the trail goes on with older files of the same log and has a gap, which whoever
 * reads the trail reports.
 *
 * Threads: one.
 * Owns: the paths.
 * Lifetime: trail_find to trail_fini.
 * Errors: enum code with a sentence; files beside that are no part of the trail, or cannot be read, are passed over: a gap. */
#ifndef FILES_TRAIL_H
#define FILES_TRAIL_H

#include "files/files.h"
#include "proof/note.h"
#include "base/why.h"
#include "crypto/digest.h"
#include "db/db.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TRAIL_PATH_BYTES FILES_PATH_BYTES

struct trail_file {
    char *path;
    int64_t before_seq; /* the number before its first row */
    int64_t last_seq;   /* when it was looked at; the last file may be growing */
    int64_t first_us, last_us; /* times of its calls; INT64_MIN and INT64_MAX where it has no index that says so */
    bool follows;       /* it goes on from the file before it in the list, or begins the log */
};

/* A database that may be one of them. */
struct trail_candidate {
    struct trail_file file;
    unsigned char previous[DIGEST_BYTES], head[DIGEST_BYTES];
    char origin[NOTE_ORIGIN_BYTES]; /* of its log; empty: it does not say */
    bool has_place;  /* it says where it stands */
    bool continues;  /* there was a file before it */
    bool is_damaged; /* nobody can tell what goes on from it, but its rows can still be asked for */
};
/* CODE_INVALID for what is no file of an audit; `file.path` is not set. */
enum code trail_look_at(const char *path, struct trail_candidate *candidate, struct why *why) MUST_USE;

struct trail {
    struct trail_file *files; /* oldest first; the one that was named is the last */
    size_t count;
    int64_t missing_to;       /* the end of the last gap: rows behind this one are all here; 0: none is missing */
};

/* Takes: the path of an audit.db, or of a sealed one; all: also the older files that lead to it. */
enum code trail_find(const char *path, bool all, struct trail *trail, struct why *why) MUST_USE;
void trail_fini(struct trail *trail);
/* Whether one of its files may hold calls of a time; 0: without that bound. */
bool trail_file_reaches(const struct trail_file *file, int64_t since_us, int64_t until_us);

/* The file that a start goes on with: `path`. Where that leads to no file, since somebody removed the link, it is the newest
 * file beside it; without such a file `path` again. */
void trail_settle(const char *path, char settled[TRAIL_PATH_BYTES]);

/* Whether `other` holds rows of the log of `live` behind it; false for a copy, another log's file and what is no file. */
bool trail_goes_on(const char *live, const char *other);

/* When the first call was made that a trail still tells of whose beginning is not beside it any more. Returns: INT64_MIN: all
 * of it is there, there is no call, or it cannot be read. */
int64_t trail_begins_us(const char *path);

/* The hash of one of its rows, or of the last row of the file before, which it names. CODE_NOT_FOUND, CODE_INVALID. */
enum code trail_row_hash(const struct trail_file *file, int64_t seq, unsigned char hash[DIGEST_BYTES], struct why *why)
    MUST_USE;

/* Open one of its files for reading; trail_open as DB_PAST. */
enum code trail_open(const char *path, struct db **db, struct why *why) MUST_USE;
enum code trail_open_as(const char *path, enum db_mode mode, struct db **db, struct why *why) MUST_USE;
/* Which rows are missing before file `at`. Returns: false: none. *last < *first: no number is missing, but the two files
 * do not belong together. */
bool trail_gap(const struct trail *trail, size_t at, int64_t *first, int64_t *last);

#endif
