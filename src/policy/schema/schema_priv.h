/* SPDX-License-Identifier: Apache-2.0 */
/* What the compiler of schemas is made of: schema_compile.c holds what all keywords need, and $ref; schema_keyword.c the
 * keywords; schema_pattern.c ECMA-262's regular expressions.
 *
 * Threads: one compilation belongs to one thread.
 * Owns: what it makes belongs to the schema.
 * Lifetime: one policy_schema_compile.
 * Errors: the first one sticks; what is made from then on may be incomplete. */
#ifndef SCHEMA_SCHEMA_PRIV_H
#define SCHEMA_SCHEMA_PRIV_H

#include "base/buf.h"
#include "words/operators.h"
#include "schema/schema_compile.h"
#include "policy/walk.h"

enum schema_dialect { DRAFT_06, DRAFT_07, DRAFT_2019, DRAFT_2020 };

/* A schema that some $ref names. */
struct schema_referred {
    struct schema_referred *next;
    const struct json_node *node;
    struct condition *condition;
    unsigned level;
    bool negated, is_open; /* it is being compiled */
};

struct schemer {
    struct policy_schema *schema;
    const struct json_node *root;
    struct schema_referred *referred;
    struct buf pointer; /* of the schema at hand */
    struct why *why;
    enum code code;        /* the first failure */
    unsigned depth, level; /* level: steps down into the value */
    uint32_t count;
    bool negated; /* under an odd number of `not` */
    enum schema_dialect dialect;
};

/* What a schema is compiled to: one leaf of operators, and further conditions that must hold. */
struct schema_body {
    struct condition leaf;
    struct op *ops;
    struct condition *parts;
    uint32_t part_count, part_room;
};

struct schema_keyword {
    const char *word;
    enum schema_family { OF_ANY = 0, OF_NUMBER, OF_STRING, OF_ARRAY, OF_OBJECT, FAMILY_COUNT } family;
    /* NULL: an annotation, or it is read with another keyword. */
    void (*take)(struct schemer *s, const struct schema_keyword *keyword, const struct json_node *schema,
                 const struct json_node *value, struct schema_body *body);
    const char *asks;    /* the operator that it becomes */
    const char *refused; /* why it is not taken; NULL: it is */
    enum schema_dialect first, last; /* the dialects that have it: a reader of another ignores it, and so would say something
                                      * else under `not` */
};

/* schema_keyword.c. Returns: NULL: no schema has it. */
const struct schema_keyword *schema__keyword(struct span word);

/* schema_compile.c */
void schema__fail(struct schemer *s, enum code code, const char *word, const char *what);
void *schema__alloc(struct schemer *s, size_t count, size_t bytes) MUST_USE; /* zeroed; NULL: it failed */
struct condition *schema__part(struct schemer *s, struct schema_body *body) MUST_USE;
/* Operators are named by the language's words. */
void schema__init_op(const struct schemer *s, struct op *op, const char *word);
struct op *schema__op(struct schemer *s, struct schema_body *body, const char *word);

/* A leaf of one operator about `$`, or about a path of one step. Takes: path: NULL: `$`. */
struct op *schema__leaf(struct schemer *s, struct condition *leaf, const struct path *path, const char *word);
/* Joins `count` conditions. Returns: where they go; NULL: it failed. */
struct condition *schema__group(struct schemer *s, struct condition *group, enum condition_kind kind, uint32_t count);

/* Compiles the schema that stands below a keyword. Takes: name: the member of the keyword in which it stands, or at == NULL;
 * path: the part of the value that it is about; NULL: all of it. */
void schema__at(struct schemer *s, const char *word, struct span name, const struct json_node *node,
                const struct path *path, struct condition *out);
bool schema__asks_nothing(const struct condition *condition);

/* A path of one step. */
struct path schema__to(struct schemer *s, struct path_selector selector, const char *text);

/* Appends the pattern so that PCRE2 takes it for what ECMA-262 does. Returns: CODE_OK; CODE_INVALID: it cannot be written so;
 * the buffer's codes. */
enum code schema__ecma_pattern(struct span pattern, struct buf *out, struct why *why) MUST_USE;

#endif
