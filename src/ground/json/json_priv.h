/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of json/ share: the reader's state, its parts, and the escapes.
 *
 * Threads: a reader belongs to one thread.
 * Owns: the reader owns its key list and its two scratch buffers; the tree goes to the caller's arena.
 * Lifetime: one json_read or json_walk.
 * Errors: each part says false after json__fail; the reader's `code` and *fault then hold what and where. */
#ifndef JSON_JSON_PRIV_H
#define JSON_JSON_PRIV_H

#include "json/json.h"

#include <endian.h>

#define JSON__DEPTH_MAX 128
#define JSON__DIGITS_MAX 400
#define JSON__PAIRWISE_MAX 8  /* for up to this many keys, comparing each with each is fastest */
#define JSON__KEYS_INLINE 32

/* Room beyond the longest result, where the cap allows it, so that its end too is written in whole steps of 16 bytes. */
#define JSON__SLACK 32

/* A string in the canonical bytes, without its quotes, as offsets from the first canonical byte. */
struct json__slice {
    size_t begin;
    size_t end;
    bool escaped; /* has at least one backslash, so that the decoded text differs */
    bool brief;   /* ASCII without escapes, and there is room for 16 bytes from its begin on */
};

struct json__key {
    size_t begin; /* offset into the canonical bytes */
    size_t len;
    size_t offset;  /* into the input, for the fault */
    uint64_t print; /* keys that are equal under some folding have equal prints; 0: only the texts can tell */
};

/* The keys of all objects that are open, the innermost last. */
struct json__keys {
    struct json__key *list; /* points to `few` as long as that is enough */
    size_t count;
    size_t size;
    uint32_t *slots; /* hash table of the object that just ended; 0 is free, else index + 1 */
    size_t slots_size;
    struct buf folded;
    struct json__key few[JSON__KEYS_INLINE];
};

/* How far two keys of an object must differ. OUTSIDE is for the frame around the root value. */
enum json__place { PLACE_PLAIN = 0, PLACE_OUTSIDE, PLACE_ENVELOPE, PLACE_PARAMS, PLACE_ARGUMENTS };

struct json__frame {
    bool is_object;
    enum json__place place;
    uint32_t count;
    size_t first_key; /* place in the key list */
    /* of a tree */
    struct json_node *node;
    const struct json_node **link; /* the pointer that its next member is hung on */
    /* for events */
    size_t begin;
    size_t member;
    struct json__slice key; /* the container's own name */
};

struct json__reader {
    const unsigned char *start, *at, *end; /* the input */
    char *out_start, *out, *out_end;       /* the canonical bytes; never moves during a walk */
    const struct json_rules *rules;
    struct json_fault *fault;
    enum code code;
    struct arena *arena; /* where a tree grows; NULL: no tree is wanted, or none at this place */
    struct json_tree *tree; /* the tree that grows beside events; NULL: there is none, or only a tree is wanted */
    json_event_fn event; /* NULL: no events */
    void *context;
    const struct json_node *root;
    struct json_node *spare; /* nodes that the arena gave in one piece */
    uint32_t spare_count;
    size_t nodes_left;
    uint32_t depth; /* open containers */
    struct json__frame *top; /* the innermost of them; the first frame stands around the root value */
    size_t member;  /* where the value's member begins */
    struct json__slice key;
    struct buf key_text, text; /* decoded strings for events */
    struct json__keys keys;
    struct json__frame frames[JSON__DEPTH_MAX + 1];
};

static inline size_t json__offset(const struct json__reader *r)
{
    return (size_t)(r->out - r->out_start);
}

static inline struct span json__view(const struct json__reader *r, size_t begin, size_t end)
{
    return (struct span){r->out_start + begin, end - begin};
}

COLD void json__set_fault(struct json__reader *r, enum json_fault_kind kind, const unsigned char *at,
                                           const char *text);

/* Returns: false, so that a caller can write `return json__fail(...)`. */
static inline bool json__fail(struct json__reader *r, enum json_fault_kind kind, const unsigned char *at,
                              const char *text)
{
    json__set_fault(r, kind, at, text);
    return false;
}

/* Appends to the canonical bytes. */
static inline bool json__emit(struct json__reader *r, const void *bytes, size_t len)
{
    if ((size_t)(r->out_end - r->out) < len)
        return json__fail(r, JSON_FAULT_SIZE, r->at, "the canonical document is too large");
    memmove(r->out, bytes, len); /* when a document is made canonical in place, the two may overlap */
    r->out += len;
    return true;
}

static inline bool json__emit_byte(struct json__reader *r, char byte)
{
    if (r->out == r->out_end)
        return json__fail(r, JSON_FAULT_SIZE, r->at, "the canonical document is too large");
    *r->out++ = byte;
    return true;
}

/* string.c: at the opening quote; leaves `at` behind the closing one. */
bool json__read_string(struct json__reader *r, struct json__slice *slice);

/* How many bytes more than its input a canonical document can need, because of the escaped separators. */
size_t json__growth(struct span in);

/* Decodes canonical string bytes into `out`, which takes text.len bytes. Returns: how many. */
size_t json__unescape(struct span text, char *out);

/* number.c: at '-' or a digit. */
bool json__read_number(struct json__reader *r);

/* keys.c */
void json__keys_init(struct json__keys *keys);
void json__keys_fini(struct json__keys *keys);
bool json__keys_grow(struct json__reader *r, const unsigned char *at) MUST_USE;

/* The first eight characters, with the bit for case set in all, and the length: ASCII keys that are equal under any folding
 * have equal prints. */
static inline uint64_t json__key_print(const struct json__reader *r, const struct json__slice *key)
{
    size_t len = key->end - key->begin;
    uint64_t first;

    if (!key->brief)
        return 0;
    memcpy(&first, r->out_start + key->begin, sizeof first);
    first = le64toh(first);
    if (len < sizeof first)
        first &= (UINT64_C(1) << 8 * len) - 1;
    return (first | UINT64_C(0x2020202020202020)) + len;
}

/* Takes: at: where the key stands in the input. */
static inline bool json__keys_push(struct json__reader *r, const struct json__slice *key, const unsigned char *at)
{
    struct json__keys *keys = &r->keys;

    if (keys->count == keys->size && !json__keys_grow(r, at))
        return false;
    keys->list[keys->count++] = (struct json__key){key->begin, key->end - key->begin, (size_t)(at - r->start),
                                                   json__key_print(r, key)};
    return true;
}

/* Checks the keys from `first` on, which belong to the object that ends, and drops them. */
bool json__keys_end(struct json__reader *r, size_t first, enum json__place place);

#endif
