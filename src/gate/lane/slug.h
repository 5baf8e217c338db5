/* SPDX-License-Identifier: Apache-2.0 */
/* Slugs: one segment of a path that names which of many servers behind one host is meant. A template, `/mcp/{slug}`, says
 * where it stands; a route's list says which there are, by name or by glob (`*` and `?`).
 *
 * A slug is 1 to 64 of a-z, 0-9, `_`, `-` and `.`, begins with a letter or digit and does not end with a dot: in no other
 * case, so that no server takes two of them for one, and never a dot segment or a folder of /.well-known's kind.
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
bool slug_glob_is_fit(struct span glob); /* of the same characters, `*` and `?` */

bool slug_is_in(struct span text); /* whether the mark is */

/* Whether `path` is the template with a slug of the list in its place, or equal where it has no mark. */
bool slug_matches(const struct slug_list *list, struct span template, struct span path, struct span *slug);
/* Whether it begins so, with `/` behind it; *rest is what follows, from that `/` on. */
bool slug_matches_below(const struct slug_list *list, struct span template, struct span path, struct span *slug,
                        struct span *rest);

/* Whether one of the list is this very slug, not a glob for it. */
bool slug_is_named(const struct slug_list *list, struct span slug);

/* Whether a careless server may take `path` for the template with some slug: in any case, with slashes at its end, and where
 * `below` is true with more behind it. */
bool slug_resembles(struct span template, struct span path, bool below);

/* The template with the slug in its place. Returns: its length; SIZE_MAX where it is longer than `size`. */
size_t slug_put(struct span template, struct span slug, char *out, size_t size);

#endif
