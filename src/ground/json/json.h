/* SPDX-License-Identifier: Apache-2.0 */
/* The strict JSON reader: RFC 8259 text in, canonical bytes and, where asked for, a tree over them out.
 *
 * One single-pass, table-driven, non-recursive validator emits canonical bytes: minified, number lexemes verbatim,
 * minimal escapes, U+2028/2029/0085 escaped, member order kept. The canonical bytes are judged, recorded and sent.
 * What it refuses is listed in http/README.md, "JSON"; every refusal has an offset into the input.
 *
 * The tree is this room's own, not cJSON's. cJSON keeps numbers as doubles, but policies compare the decimal that
 * was written, and a second parse of every body cost a quarter of the gate's speed. cJSON builds the program's own
 * documents (json/doc.h) and reads canonical bytes again in tests, as a second opinion.
 *
 * Threads: any; a tree belongs to one thread at a time, a finished one may be read by several.
 * Owns: a tree's nodes live in the arena that was handed in.
 * Lifetime: nodes and their spans live as long as the arena *and* the canonical buffer stay untouched.
 * Errors: struct json_fault; memory as JSON_FAULT_MEMORY. */
#ifndef JSON_JSON_H
#define JSON_JSON_H

#include "base/buf.h"
#include "base/code.h"
#include "base/mem.h"
#include "base/span.h"

#include <stdbool.h>
#include <stdint.h>

enum json_type { JSON_NONE = 0, JSON_NULL, JSON_FALSE, JSON_TRUE, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

enum json_fault_kind {
    JSON_FAULT_NONE = 0,
    JSON_FAULT_SYNTAX,     /* not the RFC 8259 grammar, trailing bytes, empty */
    JSON_FAULT_UTF8,       /* invalid, overlong, surrogate, BOM */
    JSON_FAULT_STRING,     /* NUL, \u0000, lone surrogate, control character, bad escape */
    JSON_FAULT_NUMBER,     /* over 400 digits or beyond the range of a double */
    JSON_FAULT_DUPLICATE,  /* equal keys in one object, after unescaping (or folded where the rules say so) */
    JSON_FAULT_DEPTH,
    JSON_FAULT_NODES,      /* too many nodes, or keys in one object */
    JSON_FAULT_SIZE,       /* canonical bytes over the out buffer's cap */
    JSON_FAULT_MEMORY
};

struct json_fault {
    enum json_fault_kind kind;
    size_t offset;      /* into the input */
    const char *text;   /* static: what is wrong */
};

/* Where keys are compared more strictly than byte for byte (http/README.md, "JSON"). */
enum json_folding {
    JSON_FOLD_NONE = 0,
    JSON_FOLD_ENVELOPE, /* in the root object and its `params`, keys that are equal under ASCII folding plus U+017F and
                         * U+212A are duplicates; in `params.arguments` only those of them that differ by more than ASCII
                         * case */
    JSON_FOLD_PARAMS,   /* the root is treated as `params` is under ENVELOPE: for dialects without an envelope */
    JSON_FOLD_ROOT      /* the root is treated as `params.arguments` is: for dialects whose body is the arguments */
};

struct json_rules {
    uint32_t max_depth;       /* 64 for requests, 128 for replies */
    uint32_t max_nodes;       /* 200,000 for requests; 0: no cap, as for replies, whose tree only the arena bounds */
    uint32_t max_keys;        /* in one object: 4,096 for requests, 65,536 for replies */
    enum json_folding folding;
    uint32_t text_depth;      /* json_walk: strings that lie deeper have no text in their events; 0: all have */
};

extern const struct json_rules json_request_rules; /* 64, 200000, 4096, ENVELOPE */
extern const struct json_rules json_reply_rules;   /* 128, 0, 65536, NONE */
extern const struct json_rules json_file_rules;    /* 64, 200000, 4096, NONE: for the gate's own files and CLI input */

/* A value of the tree. Children hang on a singly linked list in document order. */
struct json_node {
    enum json_type type;
    uint32_t count;                /* members of an array or object */
    struct span raw;               /* canonical bytes of the whole value; a number's is the lexeme that was sent */
    struct span text;              /* a string's decoded UTF-8 (no NULs inside); otherwise empty */
    struct span key;               /* decoded member name; empty outside objects */
    const struct json_node *child; /* first member, or NULL */
    const struct json_node *next;  /* next sibling, or NULL */
};

/* Validates `in` and appends its canonical bytes to `out`; with `arena` also builds the tree, whose spans point into
 * `out` (so `out` must not change afterwards: hand in an empty buffer whose bytes stay) or into the arena.
 * Takes: arena and root may both be NULL (no tree); `in` may be all that `out` holds, which becomes canonical where it
 * stands. On failure `out` is as before the call, but empty where `in` was all that it held.
 * Returns: CODE_OK; CODE_INVALID, CODE_LIMIT or CODE_NOMEM with *fault set. */
enum code json_read(struct span in, const struct json_rules *rules, struct buf *out, struct arena *arena,
                    const struct json_node **root, struct json_fault *fault) MUST_USE;

/* The same walk without a tree: `event` is called for each value as its canonical bytes are done. For replies. */
enum json_event_kind { JSON_EVENT_SCALAR = 0, JSON_EVENT_BEGIN, JSON_EVENT_END };

struct json_event {
    enum json_event_kind kind; /* BEGIN and END for arrays and objects */
    enum json_type type;
    uint32_t depth;            /* 0: the root value */
    struct span key;           /* decoded member name; empty for elements and the root; valid during the call */
    struct span text;          /* SCALAR: decoded string, or a number's lexeme; valid during the call */
    struct span raw;           /* SCALAR and END: canonical bytes; valid during the call */
    size_t begin;              /* offset from out's length at the start of the walk: of the value itself */
    size_t end;                /* SCALAR and END: one past the value */
    size_t member;             /* offset where the member begins (at its key's quote; same as begin for elements) */
};

/* Returns: CODE_OK to go on; anything else ends the walk and is returned by json_walk. */
typedef enum code (*json_event_fn)(void *context, const struct json_event *event);

/* The tree of one value of a walk: of the one at whose SCALAR or BEGIN the listener sets `arena`. It grows beside the events
 * until that ends. Where the arena is full there is none, and the walk goes on. */
struct json_tree {
    struct arena *arena;          /* NULL: nothing is built now */
    const struct json_node *root; /* after the walk; NULL: there is none */
    bool is_full;                 /* for want of room in the arena */
};

/* Takes: tree: without arena and root; or NULL: none is wanted. */
enum code json_walk_tree(struct span in, const struct json_rules *rules, struct buf *out, struct json_tree *tree,
                         json_event_fn event, void *context, struct json_fault *fault) MUST_USE;
enum code json_walk(struct span in, const struct json_rules *rules, struct buf *out, json_event_fn event, void *context,
                    struct json_fault *fault) MUST_USE;

/* Changes of a canonical document, made in its own bytes. A piece replaces earlier ones that lie in it; other overlaps are a
 * bug. Takes: offsets from the document's first byte. Returns: CODE_OK, CODE_NOMEM. */
struct json_edits {
    struct json__piece *piece; /* in the document's order */
    size_t count, room;
    struct buf texts;
};

void json_edits_init(struct json_edits *edits);
void json_edits_fini(struct json_edits *edits);
/* Leaves out a member from its key on, or an element; with one comma where it has a neighbour. */
enum code json_edits_cut(struct json_edits *edits, size_t begin, size_t end) MUST_USE;
/* The same of a member of a tree over the document. */
enum code json_edits_cut_member(struct json_edits *edits, struct span document, const struct json_node *member) MUST_USE;
/* Puts canonical JSON in the place of a value; json_edits_say puts a string with this text there. */
enum code json_edits_put(struct json_edits *edits, size_t begin, size_t end, struct span json) MUST_USE;
enum code json_edits_say(struct json_edits *edits, size_t begin, size_t end, struct span text) MUST_USE;

/* Makes the changes. Takes: root: a tree over the document, of which only members, elements and texts of strings are changed;
 * it is one over what the document becomes then; NULL: there is none; arena: for its texts.
 * Returns: CODE_OK; CODE_LIMIT: it would grow over its cap; CODE_NOMEM. Both are lost with a failure. */
enum code json_edits_apply(struct json_edits *edits, struct buf *document, struct arena *arena,
                           const struct json_node *root) MUST_USE;

/* The member of an object with exactly this name, or NULL. */
const struct json_node *json_member(const struct json_node *object, struct span name);
/* The text of that member; at == NULL: there is none, or it is no text. */
struct span json_member_text(const struct json_node *object, const char *name);
/* Whether that member is a whole number from `least` to `most`, which *number becomes; else *number stays. */
bool json_member_number(const struct json_node *object, const char *name, int64_t least, int64_t most, int64_t *number);

/* The member that `path` names, one literal key a step: json_at(root, "params", "name", NULL). */
const struct json_node *json_at(const struct json_node *node, ...) __attribute__((sentinel));

/* Whether readers that ignore case may take the key for the name: equal under ASCII folding plus U+017F and U+212A.
 * Takes: name: ASCII. */
bool json_key_is_like(struct span key, struct span name);
bool json_key_is_misspelled(struct span key, struct span name); /* Likewise, and the key is not the name itself. */

/* Appends `text` as a JSON string with quotes and canonical escapes. Takes: valid UTF-8; invalid sequences are written
 * as U+FFFD, so that the result always parses. */
enum code json_write_string(struct buf *out, struct span text);

/* Appends what a JSON text says to some reader: of a string its own characters; of any other value its text without blanks,
 * with every string in it decoded between its quotes. It takes what any reader takes: equal keys, NUL and numbers of any
 * size pass, half a surrogate pair is U+FFFD.
 * Takes: valid UTF-8. Returns: CODE_OK; CODE_INVALID: not RFC 8259; CODE_LIMIT: over 1,024 levels; CODE_NOMEM. */
enum code json_say(struct span text, struct buf *out) MUST_USE;

/* Appends the value as RFC 8785 has it: members by name, numbers as ECMAScript writes them, one spelling for each value.
 * Errors: CODE_INVALID: a number that no double holds exactly. They stick in the buffer. */
enum code json_canonical(const struct json_node *node, struct buf *out);

/* Exact decimal comparison of two number lexemes: <0, 0, >0. 10 = 10.0 = 1e1. Cost is linear in the lexemes. */
int json_number_compare(struct span a, struct span b);

/* Appends one spelling for all numbers that are equal by json_number_compare: digits without zeros around them, and
 * where the point is. */
enum code json_number_plain(struct span lexeme, struct buf *out);

/* The first number of canonical bytes from `at` on, which is in no string. Returns: empty: there is none. */
struct span json_number_next(struct span canonical, size_t at);

/* Whether a lexeme has no fractional value (1e2 and 5.0 have none). */
bool json_number_is_integer(struct span lexeme);

/* Whether a lexeme is an integer outside +-(2^53-1). */
bool json_number_is_unsafe(struct span lexeme);

/* *value: the lexeme's value times 10^places, exactly. CODE_INVALID: it is negative, or has more places than that; CODE_LIMIT:
 * it does not fit. */
enum code json_number_scaled(struct span lexeme, unsigned places, uint64_t *value) MUST_USE;

/* Equal values: types equal, numbers by decimal value, strings byte for byte, arrays in order, objects as sets of
 * members. Cost is linear where members stand in the same order, else members of `a` times members of `b`. */
bool json_equal(const struct json_node *a, const struct json_node *b);

#endif
