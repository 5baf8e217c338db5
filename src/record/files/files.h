/* SPDX-License-Identifier: Apache-2.0 */
/* The names of an audit's files. Each has its own from its first row, "audit-2026-11-22-000000000001.db": the day on which it
 * begins (UTC) and its first row's number. The audit's path itself, "audit.db", is a symbolic link to the live one.
 *
 * Threads: any; files_bring on main.
 * Owns: struct files: the open folder.
 * Lifetime: files_begin to files_end.
 * Errors: enum code with a sentence. */
#ifndef FILES_FILES_H
#define FILES_FILES_H

#include "base/why.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#define FILES_PATH_BYTES 4200
#define FILES_LOCK ".lock"         /* behind the audit's path: the lock of the gate that writes it */
#define FILES_HANDOVER ".handover" /* likewise: a socket of that gate */

/* "audit.db.next": the file that a rotation makes. It gets its own name once all of it is on the disk, so that whatever the
 * power leaves, a file with such a name can be read; rows come into it later still. */
#define FILES_NEXT ".next"

/* Goes through the files beside the audit that have names as its own files have, in no order. */
struct files {
    DIR *folder;
    const char *audit;
    char path[FILES_PATH_BYTES]; /* of the file at hand */
    uint64_t first;              /* its first row, as its name has it */
};
bool files_begin(struct files *files, const char *audit); /* false: the folder cannot be read */
bool files_next(struct files *files);
void files_end(struct files *files);

enum code files_name(const char *audit, int64_t time_us, uint64_t first, char name[FILES_PATH_BYTES]) MUST_USE;
/* the file's first row, by its name; 0: it is no file of the audit */
uint64_t files_first(const char *audit, const char *path);

/* Writes "audit.db-wal" and the like. CODE_LIMIT: the path is too long. */
enum code files_beside(const char *path, const char *suffix, char name[FILES_PATH_BYTES]) MUST_USE;
void files_remove(const char *path); /* with its -wal, -shm and -journal */

/* The file that the link names. CODE_NOT_FOUND: there is no link, nor any other file; CODE_EXISTS: a file and no link;
 * CODE_INVALID: a link to something else. */
enum code files_live(const char *audit, char live[FILES_PATH_BYTES]) MUST_USE;

/* Makes the link name `file`, in one step. The folder is not synced yet. */
enum code files_link(const char *audit, const char *file) MUST_USE;

const char *files_base(const char *path); /* its name in the folder */

/* UNBEGUN: it has no rows, since its rotation did not end. DAMAGED: nobody can tell. STRANGER: it is no file of an audit,
 * whatever its name says. */
enum files_found { FOUND_STRANGER = 0, FOUND_UNBEGUN, FOUND_DAMAGED, FOUND_ROWS };
enum files_found files_look_into(const char *path);

/* The newest of its files that has rows; empty: there is none. */
void files_newest(const char *audit, char newest[FILES_PATH_BYTES]);

/* Whether the file is an audit's and not finished: it is in WAL mode, or writable. */
bool files_is_unfinished(const char *path);
bool files_has_log(const char *path); /* it is in WAL mode or something lies beside it, so that files_absorb has work there */
/* Removes what lies beside a file and is no part of it, since SQLite would roll it into the file or read it in its place
 * (db_stray). A kill may leave a -journal that undoes nothing but the mode; whoever may write in the folder may leave
 * anything. Called before each opening to write. */
void files_disarm(const char *path);
/* Clear the place where a file of ours will stand: files_take_away removes what is there. A folder goes aside (`.aside`), since
 * what it holds is not ours to remove. */
bool files_take_away(const char *name);
bool files_set_aside(const char *name);
/* Takes a file that is not written any more out of WAL mode: its -wal file is copied into it and is gone. CODE_BUSY:
 * somebody has the file open. files_finish also lets nobody write it. */
enum code files_absorb(const char *path, struct why *why) MUST_USE;
enum code files_finish(const char *path, struct why *why) MUST_USE;
enum code files_may_write(const char *path, bool may) MUST_USE; /* lets its owner write it, or not */

#endif
