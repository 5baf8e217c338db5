/* SPDX-License-Identifier: Apache-2.0 */
/* A tool's definition for whoever is to accept it: as lines, one a value; what is new in it; what a reader may overlook.
 *
 * Threads: any.
 * Owns: nothing.
 * Lifetime: none.
 * Errors: enum code; those of buffers stick. */
#ifndef TOOLS_DEFINITION_WORDS_H
#define TOOLS_DEFINITION_WORDS_H

#include "base/buf.h"
#include "json/json.h"

/* Appends a line for each value, as `inputSchema.properties.to.type: "string"`; of a text with line ends one for each of its
 * lines. Values stand as JSON; a terminal needs unicode/terminal.h. */
enum code definition_lines(const struct json_node *definition, struct buf *out);

/* What differs, each as it is found: */
struct definition_change {
    char what;        /* '+' a member is new, '-' it is gone, '~' it is another */
    struct span path;
};
typedef void (*definition_change_fn)(void *context, const struct definition_change *change);
enum code definition_changes(const struct json_node *old, const struct json_node *now, definition_change_fn each,
                             void *context) MUST_USE;

/* Of two such texts of lines those that one of them lacks, behind '-' or '+'. */
enum code definition_diff(struct span old, struct span now, struct buf *out);

/* What is to be looked at twice. Takes: detectors: what is looked for in texts beside what is built in, hidden_text by its name
 * and all others as what instructs; or NULL. `path`: where; the name's own is "name". */
enum definition_mark { DEFINITION_HIDDEN = 0, DEFINITION_INSTRUCTION, DEFINITION_PLACE, DEFINITION_SCRIPTS };
typedef void (*definition_mark_fn)(void *context, enum definition_mark mark, struct span path);
struct detector_set;
enum code definition_marks(const struct json_node *definition, const struct detector_set *detectors, definition_mark_fn each,
                           void *context) MUST_USE;
const char *definition_mark_text(enum definition_mark mark);

#endif
