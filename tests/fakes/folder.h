/* SPDX-License-Identifier: Apache-2.0 */
/* A test's own folder goes with all that is in it, whatever the test left there.
 *
 * Threads: one at a time.
 * Owns: nothing.
 * Lifetime: none.
 * Errors: none; what cannot be removed stays. */
#ifndef FAKES_FOLDER_H
#define FAKES_FOLDER_H

#include <ftw.h>
#include <stdio.h>

static inline int folder_remove_one(const char *path, const struct stat *there, int kind, struct FTW *where)
{
    (void)there;
    (void)kind;
    (void)where;
    return remove(path);
}

static inline void folder_remove(const char *folder)
{
    (void)nftw(folder, folder_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

#endif
