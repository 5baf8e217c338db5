/* SPDX-License-Identifier: Apache-2.0 */
/* What people have beside their clients, as allow, ask and deny of tools by server: permission rules and lists of tools.
 *
 * Never wider than the client: what is not understood is left out of what is allowed, and what is denied or asked for is taken
 * as widely as it may be meant.
 *
 * Threads: one.
 * Owns: its entries and texts.
 * Lifetime: import_init to import_fini.
 * Errors: CODE_INVALID with faults; CODE_NOMEM. What is left out is no error. */
#ifndef RULES_IMPORT_H
#define RULES_IMPORT_H

#include "base/buf.h"
#include "base/mem.h"
#include "base/why.h"
#include "json/doc.h"

/* Whose file it is. The forms are those of the documentation in November 2026. */
enum import_form { IMPORT_CLAUDE = 0, IMPORT_CURSOR, IMPORT_CODEX, IMPORT_DOCKER, IMPORT_TOOLHIVE };
#define IMPORT_FORMS "claude", "cursor", "codex", "docker", "toolhive"

enum import_effect { IMPORT_ALLOW = 0, IMPORT_ASK, IMPORT_DENY };

struct import_entry {
    enum import_effect effect;
    struct span server, tool; /* tool "": all that the server does */
    struct span from;         /* where it stands in the file, and how it is written */
};

struct import {
    struct arena arena;
    struct import_entry *entries;
    size_t count;
    struct doc *doc, *left_out; /* a document; in it objects with `from` and `why` */
    size_t left_out_count;
    const char *upstream; /* of a file that names no server */
    enum code code;       /* the first failure */
};

void import_init(struct import *import);
void import_fini(struct import *import);

/* Takes: upstream: the server of a file that names none; empty: nothing was said. */
enum code import_read(struct import *import, enum import_form form, struct span text, const char *file, struct span upstream,
                      struct faults *faults) MUST_USE;
/* A policy of that name. */
enum code import_write(const struct import *import, const char *name, const char *file, struct buf *out) MUST_USE;

/* ---- for the files of this part ---- */

/* An entry, where both names are such as a policy may hold; else it is left out. */
void import_add(struct import *import, enum import_effect effect, struct span server, struct span tool, struct span from);
/* Whether a policy may hold it as it is: none of its characters means anything there but `*`, which means the same. */
bool import_is_name(struct span name);
void import_leave(struct import *import, struct span from, const char *why);

#endif
