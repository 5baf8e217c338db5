/* SPDX-License-Identifier: Apache-2.0 */
/* An installation as one folder: its configuration with every file that it names, its store, its trail and its keys.
 *
 * What lies under the configuration's folder stands in the backup under `here/` at the same place, so that a restore may put it
 * elsewhere; every other file stands under `root/` by its whole path. `manifest.json` has each with its mode, owner and
 * SHA-256.
 *
 * Threads: main.
 * Owns: its texts, in its arena.
 * Lifetime: backup_init to backup_fini.
 * Errors: enum code with a sentence. */
#ifndef SETUP_BACKUP_H
#define SETUP_BACKUP_H

#include "base/buf.h"
#include "base/mem.h"
#include "base/why.h"
#include "crypto/digest.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#define BACKUP_FILES_MAX 4096
#define BACKUP_NAME_BYTES 4096

/* What a file of the backup is. */
enum backup_part { BACKUP_NAMED = 0, BACKUP_CONFIGURATION, BACKUP_STORE, BACKUP_AUDIT, BACKUP_TRAIL, BACKUP_CHECKPOINTS,
                   BACKUP_PUBLIC_KEY, BACKUP_PARTS };

struct backup_file {
    enum backup_part part;
    const char *name;      /* in the backup */
    const char *link;      /* what a link says, of BACKUP_AUDIT; NULL: it is a file */
    const char *owner, *group; /* as the machine calls them; "" where it does not */
    unsigned mode;
    uint64_t bytes;
    unsigned char sha256[DIGEST_BYTES];
};

struct backup {
    struct arena arena;
    const char *folder;    /* the backup's */
    const char *here;      /* the configuration's, without a slash at its end */
    const char *made, *by; /* when and by whom, as text */
    struct backup_file files[BACKUP_FILES_MAX];
    size_t count;
};

/* Takes: folder: borrowed; config: a configuration's path, in a folder that is there. */
enum code backup_init(struct backup *backup, const char *folder, const char *config, struct why *why) MUST_USE;
void backup_fini(struct backup *backup);

/* A file in the backup, and where it belongs on the machine. Returns: the arena's, or NULL without memory. */
const char *backup_inside(struct backup *backup, const char *name) MUST_USE;
const char *backup_outside(struct backup *backup, const char *name) MUST_USE;

/* One more of the installation's files: *file has its name, owner and mode; what it holds is the caller's to copy. *file is
 * NULL where the backup has it already. */
enum code backup_add(struct backup *backup, enum backup_part part, const char *path, struct backup_file **file,
                     struct why *why) MUST_USE;
/* The first of a part, or NULL. */
const struct backup_file *backup_find(const struct backup *backup, enum backup_part part);

/* A folder that is made under another name, `part`, until all of it is there. Returns: OPTIONS_GO, or an exit status where it
 * cannot be begun, which is said. */
int backup_begin_folder(const char *folder, char part[PATH_MAX]) MUST_USE;
/* Gives it its name, durably. */
enum code backup_end_folder(const char *part, const char *folder, struct why *why) MUST_USE;

/* Digests what stands in the backup under the file's name. */
enum code backup_digest(const char *path, uint64_t *bytes, unsigned char sha256[DIGEST_BYTES], struct why *why) MUST_USE;
/* Copies a regular file to where none is, with this mode, durably. */
enum code backup_copy(const char *from, const char *to, unsigned mode, struct why *why) MUST_USE;
/* Makes the folders that lead to a path, 0700, where they are missing. */
enum code backup_lead(const char *path, struct why *why) MUST_USE;

enum code backup_write_manifest(struct backup *backup, struct why *why) MUST_USE;
/* Reads it, and refuses names that lead out of the backup. */
enum code backup_read_manifest(struct backup *backup, struct why *why) MUST_USE;

#endif
