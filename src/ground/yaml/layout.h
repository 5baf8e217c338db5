/* SPDX-License-Identifier: Apache-2.0 */
/* A YAML file as its author laid it out: comments, blank lines, quotes and brackets, to be written anew in one manner.
 *
 * What it writes, and does not decide anew: brackets stay brackets, and a break within them stays; blank lines stay, one at a
 * time; comments stay with what they stand in front of or behind. What it decides: how far things are indented, quotes, blanks,
 * breaks of lines that are too long, and the order that somebody asks for.
 *
 * Threads: any; one at a time.
 * Owns: a layout owns its nodes and a copy of the text (one arena).
 * Lifetime: layout_free.
 * Errors: CODE_INVALID for a text that yaml_read has not accepted; CODE_NOMEM. */
#ifndef YAML_LAYOUT_H
#define YAML_LAYOUT_H

#include "base/buf.h"
#include "base/span.h"

#include <stdbool.h>
#include <stdint.h>

struct layout;

enum layout_kind { LAYOUT_SCALAR = 0, LAYOUT_LIST, LAYOUT_MAP };

struct layout_comment {
    struct span text; /* from its # to the end of its line */
    size_t column;    /* from 0 */
    bool after_blank; /* a blank line stands in front */
    struct layout_comment *next;
};

/* A value with its key, if it stands in a map. */
struct layout_node {
    enum layout_kind kind;
    bool has_key;
    struct span key;                            /* decoded */
    struct layout_node *child, *next;           /* members */
    /* layout_*.c alone: */
    bool is_flow;                               /* written in brackets */
    bool after_blank;                           /* a blank line stands in front of it */
    bool breaks, value_breaks;                  /* it begins a line; its value is on a later line than its key */
    bool is_plain, has_bar, is_double;          /* a scalar's style; has_bar: it stands below | or > */
    bool key_is_plain;
    size_t column, inner;                       /* where it began, from 0; a block: where its members do */
    struct span text, raw, key_raw;             /* a scalar: decoded, and as written */
    struct layout_comment *before, *foot;       /* in front of it; at the end of its members */
    struct layout_comment *behind, *behind_key; /* in its last line, or in that of its key */
};

/* Takes: text: what yaml_read has accepted. */
enum code layout_read(struct span text, struct layout **layout) MUST_USE;
void layout_free(struct layout **layout);
/* NULL: there is nothing but comments. */
struct layout_node *layout_root(struct layout *layout);

struct layout_node *layout_member(struct layout_node *map, const char *key); /* NULL: it is no map, or has none */
/* Puts the members of a map in this order (which ends with NULL); those that it does not name follow as they stood. */
void layout_order(struct layout_node *map, const char *const *keys);

/* Appends the text, which stays as it is where it is read and written again. */
enum code layout_write(struct layout *layout, struct buf *out);

#endif
