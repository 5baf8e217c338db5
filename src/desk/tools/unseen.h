/* SPDX-License-Identifier: Apache-2.0 */
/* Stored tools of whose calls no rule sees all: those that look as if they called other tools, or listed them, where no
 * `unwrap` of the configuration says so, and those that take a program's text. It is guessed from names of tools and of their
 * arguments, so what is not named may be one all the same.
 *
 * Threads: main.
 * Owns: nothing.
 * Lifetime: none.
 * Errors: enum code with a sentence. */
#ifndef TOOLS_UNSEEN_H
#define TOOLS_UNSEEN_H

#include "conf/conf.h"
#include "db/db.h"
#include "json/doc.h"

enum unseen { UNSEEN_NOTHING = 0, UNSEEN_CALLS, UNSEEN_CALLS_SEVERAL, UNSEEN_LISTS, UNSEEN_PROGRAM };

/* What is to be thought of a definition. Takes: out: gets a sentence without its subject; nothing: it looks like any tool. */
enum unseen unseen_of(const struct json_node *definition, struct buf *out);

/* The same of a stored one: nothing, too, where the configuration declares the tool. Takes: file: one that cannot be read
 * declares nothing. */
enum unseen unseen_by(struct conf_file *file, struct span upstream, struct span tool, const struct json_node *definition,
                      struct buf *out);
const char *unseen_word(enum unseen unseen); /* "calls tools"; NULL: nothing */
#define UNSEEN_MAX_BYTES 1024                /* of a sentence */

/* Adds {upstream, tool, unseen}, the last the sentence, for each tool as its server told it last. */
enum code unseen_tools(struct db *db, struct conf_file *file, struct doc *list, struct why *why) MUST_USE;

#endif
