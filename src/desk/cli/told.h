/* SPDX-License-Identifier: Apache-2.0 */
/* A document told in words: what it says is read again, as whoever gets it as JSON reads it, and put into sentences.
 *
 * Words are text with places for what the document says:
 *
 *   {key}        a member, or a member of a member: {was.rule}. `.` is the value at hand, `@` its own name.
 *                What no terminal should see is drawn (unicode/terminal.h).
 *   {key:form}   the member in another form, with what the form needs behind a blank: told_forms.c has them.
 *   [ ... ]      is left out where a member within it says nothing: is not there, null, empty, false or 0. A text says what it
 *                is, since somebody may be called "0". Brackets nest; what an inner one leaves out is nothing to the outer one.
 *   {?key} {!key} {?key=word} {!key=word} {?key:form} ...
 *                no text, but whether a member says something, or is that word. A bracket that has some asks these alone.
 *   {*key} ... {/between}
 *                the words within for each value of a list or object, and what stands between two of them. A member that the
 *                value does not have is that of what is around it. To a bracket around it, an empty list says nothing.
 *                {*key:first 12} goes no further than that.
 *   \            the character behind it is one of the text.
 *
 * Threads: main.
 * Owns: the tree and its bytes.
 * Lifetime: told_read to told_end.
 * Errors: enum code; exit statuses. */
#ifndef CLI_TOLD_H
#define CLI_TOLD_H

#include "json/doc.h"
#include "json/json.h"

#include <stdio.h>

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

/* Appends the words. */
enum code told_add(struct buf *out, const struct json_node *object, const char *words);
/* Likewise, where the words are HTML: nothing that a member says is markup, be it a text or within an attribute's quotes. */
enum code told_add_html(struct buf *out, const struct json_node *object, const char *words);
/* Prints them, on stdout. */
void told_print(FILE *out, const struct json_node *object, const char *words);
void told_say(const struct json_node *object, const char *words);

/* A command's one answer: a line of JSON, or the words. Frees the document. Returns: an exit status. */
int told_answer(struct doc **doc, bool as_json, const char *words);

#endif
