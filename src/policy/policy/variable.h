/* SPDX-License-Identifier: Apache-2.0 */
/* Variables of a call in what an author wrote: {principal}, {tenant}, {upstream} and {agent}, which no agent chooses.
 * `{{principal}}` is the text `{principal}`; any other brace is itself.
 *
 * Threads: any; what is written stays as it is, and each call says it anew.
 * Owns: nothing.
 * Lifetime: what is said lives in the arena that it was given.
 * Errors: CODE_INVALID: what a variable stands for cannot stand there, so that whoever asks is undecided; CODE_NOMEM. */
#ifndef POLICY_VARIABLE_H
#define POLICY_VARIABLE_H

#include "base/buf.h"
#include "base/mem.h"
#include "policy/question.h"

/* Where the value is to stand. A value that is empty, `.` or `..`, or holds characters that nobody sees, stands nowhere. */
enum variable_place {
    VARIABLE_TEXT = 0, /* as it is */
    VARIABLE_GLOB,     /* `*`, `?` and `\` escaped */
    VARIABLE_STEP,     /* of a path: without `/`, `\` and `%` */
    VARIABLE_LABEL,    /* of a host: a-z, 0-9, `-` and `_` */
};

extern const struct span policy_variables[]; /* "{principal}" ..., an empty one */

/* What one of them stands for in the call. */
struct span variable_value(const struct question *question, struct span variable);

/* Whether a variable stands in the text. */
bool variable_in(struct span text);
bool variable_is_name(struct span word); /* without braces */

/* Cuts the next piece from the front of a text in which names stand in braces; {{name}} is the text {name}. Behind the `\` of a
 * glob a brace is itself, as is any letter.
 * Takes: len_at: how many bytes the name at the front has with its braces; 0: none stands there.
 * Returns: whether *piece is a name, with its braces, and not a text. */
bool variable_cut(struct span *rest, bool is_glob, size_t (*len_at)(const void *context, struct span text),
                  const void *context, struct span *piece);

enum code variable_say(const struct question *question, struct span text, enum variable_place place, struct arena *arena,
                       struct span *said) MUST_USE;

/* Appends what is written to say just this text. */
void variable_quote(struct span text, struct buf *out);

struct rule_walk;

/* The same in a walk. Returns: false: undecided; who listens hears why. */
bool variable_said(struct rule_walk *walk, struct span text, enum variable_place place, struct span *said);

#endif
