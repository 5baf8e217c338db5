/* SPDX-License-Identifier: Apache-2.0 */
/* Forms of commands: lines as in the SYNOPSIS of a manual page, and whether a command, word by word, is one of them.
 *
 * A form is a row of nodes, which a command goes through from the first to behind the last. Options come in any order and
 * number, so that they stand at nodes and lead to the same, and which of those that must be there came already is part of
 * the node. So a command is in few places at a time, and what fitting costs grows with its words times the form's nodes,
 * however many ways there are to read it.
 *
 * Threads: compiled forms are immutable and shared; a fit is its walk's.
 * Owns: nothing; all of a form lives in the snapshot's arena.
 * Lifetime: the snapshot's.
 * Errors: a form that cannot be read is the author's fault, with its place in the line. A fit that costs too much is
 * undecided. */
#ifndef FORMS_FORM_H
#define FORMS_FORM_H

#include "policy/walk.h"
#include "words/compiler.h"

#define FORM_NODES_MAX 96   /* of one form: a form is a line */
#define FORM_OPTIONS_MAX 64 /* of one set */
#define FORM_NEEDED_MAX 3   /* options of one set that must be there: each doubles its nodes */

/* What may stand in one place: small words for themselves, and kinds. */
struct form_choice {
    struct span text;             /* of a kind its name */
    const struct condition *kind; /* NULL: the text itself */
};

struct form_value {
    const struct form_choice *choices;
    uint32_t count; /* 0: there is no value */
};

enum form_shape {
    FORM_PLAIN = 0, /* `--stat`, `-la`: the text alone */
    FORM_LETTERS,   /* `-{abc}`: some of these letters behind a dash; the text are the letters */
    FORM_DIGITS,    /* `-#` */
    FORM_LETTER,    /* `-n KIND`: the value behind the text or in the next word */
    FORM_WORD,      /* `-name KIND`: the value in the next word */
    FORM_LONG_WORD, /* `[--word KIND]`: likewise, and no value with a dash in front */
    FORM_GLUED,     /* `--word=KIND`: the text ends with the `=` */
};

struct form_option {
    enum form_shape shape;
    bool is_loose;  /* `-n KIND` in no bracket of its own: KIND may have been meant as a word of its own */
    uint32_t needs; /* the bit that says it was there; 0: it may be left out */
    struct span text;
    struct form_value value;
};

/* What may stand before one word. Options stand behind each other in the line, with kinds between and behind them: all these
 * nodes have one list of options, of which those that stand before the node may be there. */
struct form_node {
    const struct form_option *options;
    uint32_t option_count;
    uint32_t seen;           /* the bits of those that must be there and came already; others lie so many nodes further on */
    struct form_value value; /* of a word */
    uint32_t next;           /* behind the word */
    bool repeats;            /* KIND... */
    bool ends_options;       /* the word is `--` */
    uint32_t free[2];        /* nodes that are reached without a word; 0: none. All lie further on */
};

struct form {
    struct span text;
    int line;
    const struct form_node *nodes;
    uint32_t count;
};

/* form_read.c. Takes: node: the string that it is. Returns: whether it could be read; otherwise there is a fault. */
bool form_read(struct compiler *c, const struct yaml_node *node, bool opening, struct form *form);

/* form_fit.c. Whether the words, strings of an array, are this form. Sets: *reached, where it is not NULL: how many of the
 * words some reading of them has taken. */
enum truth form_fits(struct rule_walk *walk, const struct form *form, const struct json_node *words, uint32_t *reached);

/* Whether the value is a command: an array of texts of which none is empty, since no program has other words. */
bool form_is_command(const struct json_node *value);

/* Whether one word is among what may stand there. Takes: dashes: also one with a dash in front. */
enum truth form_takes(struct rule_walk *walk, const struct form_value *value, struct span word, bool dashes);

#endif
