/* SPDX-License-Identifier: Apache-2.0 */
/* What a file leaves open, and is put into its YAML tree before anything is compiled: the values of its `parameters:`, the
 * entries of {list: NAME}, and `as`, the name of a copy. What was put there is never read again.
 *
 * Threads: that of the compilation.
 * Owns: nothing; all that is made lives in the files' trees.
 * Lifetime: the trees'.
 * Errors: faults, with the place in the file; compiler.no_memory. */
#ifndef FILL_PARAMETERS_H
#define FILL_PARAMETERS_H

#include "words/compiler.h"

/* A parameter of a file. */
struct parameter {
    struct span name;
    enum parameter_type type, of;  /* of: what each entry of a list is */
    bool is_required, is_used;
    const struct yaml_node *node;  /* where it is declared */
    const struct yaml_node *value; /* as it was set, or the default; NULL: with a fault */
    bool is_set;
};

/* A file of a set. */
struct open_file {
    struct yaml_tree *tree; /* NULL: it is no YAML, which was told */
    struct policy_source *source;
    const struct yaml_node *written; /* the root as its author wrote it; yaml_root has the values in their places */
    struct parameter *parameters;
    uint32_t count;
    bool *lists_used; /* by their place in `lists` */
};

/* Reads what each file of the set leaves open, and puts it in. Takes: files: with trees and sources; keeps_lists: among
 * values of `in` {list: NAME} stays as it is, for who compares what authors wrote. */
void parameters_put(struct compiler *c, struct open_file *files, size_t count, bool keeps_lists);

/* The files of a policy as they were compiled: what they leave open is in its place. Takes: trees: as many as it has sources; a
 * tree that was made is the caller's, whatever is returned. */
enum code parameters_trees(const struct policy *policy, bool keeps_lists, struct yaml_tree **trees) MUST_USE;

/* What a file as its author wrote it says of the parameter. Returns: false: it has none of this name. */
bool parameters_declared(const struct yaml_node *root, struct span name, enum parameter_type *type, enum parameter_type *of);

/* The name of the file: that of the copy, where it is one. Returns: the node; NULL: there is none, or it is wrong. */
const struct yaml_node *parameters_name(const struct yaml_node *root);

/* Two copies of one file whose forbids can meet one call would forbid each other's calls. Called when all is compiled. */
void parameters_check_copies(struct compiler *c);

/* Why this cannot be the value, as in "holds braces; write ..."; NULL: it can. */
const char *parameter_wrong(enum parameter_type type, enum parameter_type of, const struct yaml_node *value);

extern const char *const parameter_type_text[]; /* "text" ..., NULL */

/* parameters.c, for fill.c */
/* What the copy that the file is calls this id; ids of other files stay. Takes: at: where it stands. */
struct span parameters__id(struct compiler *c, const struct open_file *file, const struct yaml_node *at, struct span id);
/* fill.c */
void parameters__fill(struct compiler *c, struct open_file *files, size_t count, struct open_file *file, bool keeps_lists);

/* short.c: rules in the place of `allow`, `ask` and `deny`. */
void parameters__expand(struct compiler *c, struct open_file *file);

#endif
