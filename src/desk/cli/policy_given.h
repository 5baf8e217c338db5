/* SPDX-License-Identifier: Apache-2.0 */
/* What is put into policy files where they are loaded: --set, --as, and small files that name another one (`with:`). It becomes
 * `set:` and `as:` of the file's own text, so that what is stored says all itself.
 *
 * Threads: main.
 * Owns: nothing.
 * Lifetime: one command's.
 * Errors: exit statuses, told on stderr. */
#ifndef CLI_POLICY_GIVEN_H
#define CLI_POLICY_GIVEN_H

#include "base/mem.h"
#include "cli/asked.h"
#include "language/language.h"

#define POLICY_FILE_MAX_BYTES ((size_t)32 << 20)

struct policy_files {
    struct arena arena; /* paths of files that others name */
    struct policy_file *files;
    struct buf *texts;
    size_t count;
};

/* Follows `with:`, and writes the values into the texts. Takes: tries: parameters without a value take their `example`, since
 * nothing is put in force. Returns: OPTIONS_GO, or the exit status. */
int policy_given_put(struct policy_files *files, const struct asked *asked, bool tries);

/* Whether this file on the person's machine names that path by `with:`, so that it may be read for him, too. */
bool policy_given_names(const char *file, struct span path);

#endif
