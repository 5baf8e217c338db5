/* SPDX-License-Identifier: Apache-2.0 */
/* What stands in the folder of a trail, is named like a database or like a part of one, and is none of the trail's: copies of
 * its files, other logs' files, folders, FIFOs, what is left of files that are gone. Databases of no audit are no concern.
 *
 * Threads: one.
 * Owns: the paths.
 * Lifetime: strangers_find to strangers_fini.
 * Errors: enum code with a sentence. */
#ifndef EVIDENCE_STRANGERS_H
#define EVIDENCE_STRANGERS_H

#include "files/trail.h"

struct strangers {
    struct stranger {
        char *path;
        char what[160]; /* for people */
    } *list;
    size_t count;
};

/* Takes: path: as the trail was asked for; a link leads to the newest file, which none stands behind. */
enum code strangers_find(const char *path, const struct trail *trail, struct strangers *strangers, struct why *why) MUST_USE;
void strangers_fini(struct strangers *strangers);

#endif
