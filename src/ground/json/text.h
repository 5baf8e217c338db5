/* SPDX-License-Identifier: Apache-2.0 */
/* A JSON text that is read at once, with its tree and the bytes in which that stands: what a file, an answer or a column says.
 * Who keeps a tree beside other things hands his own arena and buffer to json_read (json/json.h).
 *
 * Threads: one at a time.
 * Owns: the tree and its bytes, which are wiped, since some hold a credential.
 * Lifetime: json_text_read to json_text_fini; all zeros is a text that was not read.
 * Errors: as json_read, with `fault`. */
#ifndef JSON_TEXT_H
#define JSON_TEXT_H

#include "json/json.h"

struct json_text {
    const struct json_node *root; /* NULL: there is none, or it could not be read */
    struct json_fault fault;
    struct arena arena;
    struct buf bytes;
};

/* Takes: most: how many canonical bytes it may have; for the tree of any such text there is room. Whatever this returns, the
 * caller calls json_text_fini. */
enum code json_text_read(struct json_text *text, struct span in, const struct json_rules *rules, size_t most) MUST_USE;
void json_text_fini(struct json_text *text);

/* Whether this is a JSON text of at most `most` canonical bytes. */
bool json_text_is(struct span text, size_t most);

#endif
