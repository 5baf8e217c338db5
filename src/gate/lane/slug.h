/* SPDX-License-Identifier: Apache-2.0 */
/* Slugs: one segment of a path that names which of many servers behind one host is meant. A template, `/mcp/{slug}`, says
 * where it is; a route's list says which slugs there are, by name or by glob (`*` and `?`).
 *
 * A slug is 1 to 64 of a-z, 0-9, `_`, `-` and `.`, begins with a letter or digit and does not end with a dot. Capitals
 * are excluded so that no server takes two slugs for one; dots at the ends, so that none is a dot segment or a folder
 * such as /.well-known.
 *
 * Threads: any.
 * Owns: nothing.
 * Lifetime: a slug points into the text that it was found in.
 * Errors: none. */
#ifndef LANE_SLUG_H
#define LANE_SLUG_H

#include "base/span.h"

#define SLUG_MARK "{slug}"
#define SLUG_MAX_BYTES 64

struct slug_list {
    const struct span *globs;
    size_t count;
};

bool slug_is_fit(struct span slug);
bool slug_glob_is_fit(struct span glob); /* a glob of the same characters, `*` and `?` */

bool slug_is_in(struct span text); /* whether the text has the mark */

/* Whether `path` is the template with a slug of the list in place of the mark, or equals a template without a mark. */
bool slug_matches(const struct slug_list *list, struct span template, struct span path, struct span *slug);
/* Whether `path`, or a beginning of it before a `/`, matches so. *rest: what follows, from that `/` on. */
bool slug_matches_below(const struct slug_list *list, struct span template, struct span path, struct span *slug,
                        struct span *rest);

/* Whether the list has this very slug, not only a glob for it. */
bool slug_is_named(const struct slug_list *list, struct span slug);

/* Whether a careless server may take `path` for the template with some slug: in capitals or small letters, with slashes at
 * its end, and where `below` is true with more behind it. */
bool slug_resembles(struct span template, struct span path, bool below);

/* Writes the template with the slug in place of the mark. Returns: its length; SIZE_MAX: it is longer than `size`. */
size_t slug_put(struct span template, struct span slug, char *out, size_t size);

bool slug_path_is_fit(struct span path); /* a plain path, perhaps with one segment that is a slug's mark */

#endif
