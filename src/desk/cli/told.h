/* SPDX-License-Identifier: Apache-2.0 */
/* A document told in words: what it says is read again, as whoever gets it as JSON reads it, and put into sentences.
 *
 * Threads: main.
 * Owns: the tree and its bytes.
 * Lifetime: told_read to told_end.
 * Errors: enum code; exit statuses. */
#ifndef CLI_TOLD_H
#define CLI_TOLD_H

#include "json/doc.h"
#include "json/json.h"

struct told {
    struct arena arena;
    struct buf text;
    const struct json_node *root;
};

/* In any case told_end is the caller's. */
enum code told_read(struct told *told, const struct doc *doc) MUST_USE;
void told_end(struct told *told);

/* A member as text: a string's own characters, anything else as JSON has it. at == NULL: it is null, or not there. */
struct span told_text(const struct json_node *object, const char *key);

/* Prints the words on stdout. `{key}` is a member, as print_span shows it. What stands in square brackets is left out where a
 * member within it says nothing; `{?key}` and `{!key}` stand for no text, and for whether it says something: not null, not
 * empty, not false, not 0. Brackets do not nest. */
void told_say(const struct json_node *object, const char *words);

/* A command's one answer: a line of JSON, or the words. Frees the document. Returns: an exit status. */
int told_answer(struct doc **doc, bool as_json, const char *words);

#endif
