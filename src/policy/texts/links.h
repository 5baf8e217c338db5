/* SPDX-License-Identifier: Apache-2.0 */
/* The URLs inside of a text, as those who make links of them find them: from a scheme and `://` to a blank, a control
 * character, a quote, `<`, `>` or a backquote.
 *
 * Threads: any.
 * Owns: nothing; a link points into the text.
 * Lifetime: none.
 * Errors: none. A link that readers end in different places is given so long that `url` is undecided of it. */
#ifndef TEXTS_LINKS_H
#define TEXTS_LINKS_H

#include "base/span.h"

#include <stdbool.h>

struct links {
    struct span text; /* the caller sets it, and nothing else */
    size_t at;        /* what stands before it is done */
    size_t stop;      /* where the last link stopped; a link that begins before that stops there, too */
    bool again;       /* the next link is the last one again, without the letters in front of its `http` */
};

/* Finds the next link, from left to right; one may lie in another. Returns: false: there is none. */
bool links_next(struct links *links, struct span *link);

#endif
