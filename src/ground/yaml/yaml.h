/* SPDX-License-Identifier: Apache-2.0 */
/* The strict YAML reader: libyaml's events into a small tree with places. Policies and configuration.
 *
 * Refused with a place: anchors, aliases, tags, merge keys, duplicate keys, several documents, non-scalar keys, more than
 * 64 levels, more than 1,000,000 nodes, NUL, invalid UTF-8. YAML 1.2 core types only: `yes`, `no`, `on` are strings.
 *
 * Threads: any; a tree may be read by several once made.
 * Owns: the tree owns its nodes and texts (one arena).
 * Lifetime: yaml_tree_free (not yaml_free: libyaml exports a function of that name).
 * Errors: struct faults, several in one run where libyaml can go on. */
#ifndef YAML_YAML_H
#define YAML_YAML_H

#include "base/span.h"
#include "base/why.h"

#include <stdbool.h>
#include <stdint.h>

enum yaml_type { YAML_NONE = 0, YAML_NULL, YAML_BOOL, YAML_INT, YAML_FLOAT, YAML_STRING, YAML_LIST, YAML_MAP };

struct yaml_node {
    enum yaml_type type;
    bool truth;                    /* YAML_BOOL */
    uint32_t count;                /* members */
    int line, column;              /* of the value, from 1 */
    int key_line, key_column;      /* of its key, in a map */
    struct span key;               /* in a map; decoded */
    struct span text;              /* a scalar as written (decoded); INT and FLOAT: the lexeme */
    struct span json;              /* a scalar as canonical JSON; a number's is a JSON lexeme (0x1f is written in decimal) */
    const struct yaml_node *child; /* first member */
    const struct yaml_node *next;
};

struct yaml_tree; /* holds everything */

/* Takes: `file` names the place in messages only. Returns: CODE_OK with *tree; CODE_INVALID with faults; CODE_NOMEM.
 * An empty document is a YAML_NULL root. */
enum code yaml_read(struct span text, const char *file, struct yaml_tree **tree, struct faults *faults) MUST_USE;
void yaml_tree_free(struct yaml_tree **tree);

const struct yaml_node *yaml_root(const struct yaml_tree *tree);
const char *yaml_file(const struct yaml_tree *tree);

/* For whoever puts something in the place of what was read, before others look: what is made for the tree lives in its arena;
 * a node becomes a string of this text, or says no memory; and another root stands for the one that was read, which stays. */
struct arena;
struct arena *yaml_arena(struct yaml_tree *tree);
enum code yaml_put_text(struct yaml_tree *tree, struct yaml_node *node, struct span text) MUST_USE;
void yaml_put_root(struct yaml_tree *tree, const struct yaml_node *root);

/* The member of a map with exactly this key, or NULL. */
const struct yaml_node *yaml_member(const struct yaml_node *map, const char *key);
const struct yaml_node *yaml_member_named(const struct yaml_node *map, struct span key);

/* For `one` of what is one value or a list of them. */
#define YAML_EACH(one, of) \
    for (const struct yaml_node *one = (of)->type == YAML_LIST ? (of)->child : (of); one != NULL; \
         one = (of)->type == YAML_LIST ? one->next : NULL)

/* Members that are put one behind another, and become those of a list or map. */
struct yaml_chain {
    const struct yaml_node *first;
    struct yaml_node *last;
    uint32_t count;
};
void yaml_chain_add(struct yaml_chain *chain, struct yaml_node *node); /* NULL adds nothing */
void yaml_chain_into(const struct yaml_chain *chain, struct yaml_node *node, enum yaml_type type);

/* Adds a fault for each key of `map` that is not in `known` (which ends with NULL), with "did you mean" and the list of known
 * keys. An empty word in `known` ends that list; keys behind it are not listed, and their own checks refuse them elsewhere.
 * Nobody is told to leave a key out: without it the rest may say more than was meant. */
void yaml_check_keys(const struct yaml_tree *tree, const struct yaml_node *map, const char *const *known,
                     const char *what, struct faults *faults);
/* The fault of one key. Takes: nearest: what was meant, or NULL. */
void yaml_fault_key(const struct yaml_tree *tree, const struct yaml_node *key, const char *const *known, const char *what,
                    const char *nearest, struct faults *faults);

/* What to write in place of a value that is no boolean: "; write true or false", or the one that `yes` or `off` means. */
const char *yaml_bool_words(const struct yaml_node *node);

/* The value as canonical JSON appended to `out` (for `call:` in tests, `equals:` and the like). */
struct buf;
enum code yaml_to_json(const struct yaml_node *node, struct buf *out);

/* The library behind this room and its version, for people. Threads: main. */
const char *yaml_library(void);

#endif
