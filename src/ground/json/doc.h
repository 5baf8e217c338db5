/* SPDX-License-Identifier: Apache-2.0 */
/* Documents that the program itself makes and writes as JSON: replies, rows of the command line, notes. cJSON builds
 * and prints them.
 *
 * Threads: any; a document belongs to one thread.
 * Owns: a doc owns its members; adding one to another hands it over.
 * Lifetime: doc_free of the root frees all.
 * Errors: a builder that could not allocate marks its document; doc_print then says CODE_NOMEM. NULL docs are accepted
 *   everywhere and do nothing, so that building needs no check at each line. */
#ifndef JSON_DOC_H
#define JSON_DOC_H

#include "base/buf.h"
#include "base/span.h"

#include <stdbool.h>
#include <stdint.h>

struct doc;

struct doc *doc_object(void);
void doc_free(struct doc **doc);

void doc_text(struct doc *object, const char *key, struct span value);    /* key NULL: appends to an array */
void doc_int(struct doc *object, const char *key, int64_t value);
void doc_bool(struct doc *object, const char *key, bool value);
void doc_text_or_null(struct doc *object, const char *key, struct span value); /* null where value.at is */
void doc_null(struct doc *object, const char *key);
void doc_lines(struct doc *object, const char *key, struct span lines);   /* a list of them; empty where there are none */
void doc_json(struct doc *object, const char *key, struct span json);     /* canonical; null where json.at is */
struct doc *doc_add_object(struct doc *object, const char *key);          /* borrowed */
struct doc *doc_add_array(struct doc *object, const char *key);           /* borrowed */

/* Appends the minified text to `out`. */
enum code doc_print(const struct doc *doc, struct buf *out) MUST_USE;

/* The library behind this room and its version, for people. Threads: main. */
const char *json_library(void);

#endif
