/* SPDX-License-Identifier: Apache-2.0 */
/* Duplicate keys, compared over the canonical bytes: a key has one canonical spelling only, and the letters in escapes
 * are lower case, so nothing needs to be decoded. */
#include "json/json_priv.h"

#include "base/hash.h"

enum how { HOW_EXACT, HOW_FOLDED, HOW_ASCII };

void json__keys_init(struct json__keys *keys)
{
    keys->list = keys->few;
    keys->count = 0;
    keys->size = JSON__KEYS_INLINE;
    keys->slots = NULL;
    keys->slots_size = 0;
    buf_init(&keys->folded, SIZE_MAX / 2);
}

void json__keys_fini(struct json__keys *keys)
{
    if (keys->list != keys->few)
        mem_free(keys->list);
    mem_free(keys->slots);
    buf_fini(&keys->folded);
}

bool json__keys_grow(struct json__reader *r, const unsigned char *at)
{
    struct json__keys *keys = &r->keys;
    struct json__key *old = keys->list == keys->few ? NULL : keys->list;
    struct json__key *list = mem_resize(old, 2 * keys->size * sizeof *list);

    if (list == NULL)
        return json__fail(r, JSON_FAULT_MEMORY, at, "no memory");
    if (old == NULL)
        memcpy(list, keys->few, sizeof keys->few);
    keys->list = list;
    keys->size *= 2;
    return true;
}

/* The next byte of a key as it is compared. U+017F and U+212A fold to s and k for readers that ignore case. */
static int next_folded(struct span *key, enum how how)
{
    unsigned char byte = (unsigned char)key->at[0];
    size_t len = 1;

    if (how == HOW_FOLDED && span_starts_with(*key, SPAN_LIT("\xc5\xbf"))) {
        byte = 's';
        len = 2;
    } else if (how == HOW_FOLDED && span_starts_with(*key, SPAN_LIT("\xe2\x84\xaa"))) {
        byte = 'k';
        len = 3;
    } else if (byte >= 'A' && byte <= 'Z') {
        byte |= 0x20;
    }
    *key = (struct span){key->at + len, key->len - len};
    return byte;
}

static bool is_equal(struct span a, struct span b, enum how how)
{
    if (how == HOW_EXACT)
        return span_equals(a, b);
    while (a.len > 0 && b.len > 0)
        if (next_folded(&a, how) != next_folded(&b, how))
            return false;
    return a.len == 0 && b.len == 0;
}

bool json_key_is_like(struct span key, struct span name)
{
    /* Of what folds to a letter, U+212A has the most bytes. */
    return key.len >= name.len && key.len <= 3 * name.len && is_equal(key, name, HOW_FOLDED);
}

bool json_key_is_misspelled(struct span key, struct span name)
{
    return !span_equals(key, name) && json_key_is_like(key, name);
}

static __attribute__((noinline)) bool is_clash(struct span a, struct span b, enum json__place place)
{
    switch (place) {
    case PLACE_OUTSIDE:
    case PLACE_PLAIN:
        return is_equal(a, b, HOW_EXACT);
    case PLACE_ENVELOPE:
    case PLACE_PARAMS:
        return is_equal(a, b, HOW_FOLDED);
    case PLACE_ARGUMENTS:
        return is_equal(a, b, HOW_EXACT) || (is_equal(a, b, HOW_FOLDED) && !is_equal(a, b, HOW_ASCII));
    }
    return true;
}

static struct span key_view(const struct json__reader *r, const struct json__key *key)
{
    return json__view(r, key->begin, key->begin + key->len);
}

static bool fail_twice(struct json__reader *r, const struct json__key *key)
{
    return json__fail(r, JSON_FAULT_DUPLICATE, r->start + key->offset, "an object has this key twice");
}

static bool check_pairs(struct json__reader *r, const struct json__key *list, size_t count, enum json__place place)
{
    for (size_t i = 1; i < count; i++) {
        uint64_t print = list[i].print;

        for (size_t j = 0; j < i; j++)
            if ((list[j].print == print || list[j].print == 0 || print == 0) &&
                is_clash(key_view(r, &list[i]), key_view(r, &list[j]), place))
                return fail_twice(r, &list[i]);
    }
    return true;
}

static bool hash_key(struct json__reader *r, struct span key, enum how how, uint64_t *hash)
{
    struct buf *folded = &r->keys.folded;
    size_t len = 0;
    char *at;

    if (how == HOW_EXACT) {
        *hash = hash_span(key);
        return true;
    }
    buf_clear(folded);
    if (buf_reserve(folded, key.len, &at) != CODE_OK)
        return json__fail(r, JSON_FAULT_MEMORY, r->at, "no memory");
    while (key.len > 0)
        at[len++] = (char)next_folded(&key, how);
    *hash = hash_bytes(at, len);
    return true;
}

/* An empty table with at least twice as many slots as keys. Only those slots are cleared: one object with many keys must
 * not make all later ones dear. */
static bool make_slots(struct json__reader *r, size_t count, size_t *size)
{
    struct json__keys *keys = &r->keys;

    for (*size = 32; *size < 2 * count; *size *= 2)
        ;
    if (keys->slots_size < *size) {
        uint32_t *slots = mem_resize(keys->slots, *size * sizeof *slots);

        if (slots == NULL)
            return json__fail(r, JSON_FAULT_MEMORY, r->at, "no memory");
        keys->slots = slots;
        keys->slots_size = *size;
    }
    memset(keys->slots, 0, *size * sizeof *keys->slots);
    return true;
}

/* One pass over the keys, each looked up among those before it. Of keys that are equal under `how` the table keeps only
 * the first, so that a thousand spellings of one word cost no more than a thousand words. */
static bool check_hashed(struct json__reader *r, const struct json__key *list, size_t count, enum how how,
                         enum json__place place)
{
    uint32_t *slots;
    size_t size;

    if (!make_slots(r, count, &size))
        return false;
    slots = r->keys.slots;
    for (size_t i = 0; i < count; i++) {
        struct span key = key_view(r, &list[i]);
        uint64_t hash;
        size_t at;

        if (!hash_key(r, key, how, &hash))
            return false;
        at = hash & (size - 1);
        while (slots[at] != 0 && !is_equal(key, key_view(r, &list[slots[at] - 1]), how))
            at = (at + 1) & (size - 1);
        if (slots[at] == 0)
            slots[at] = (uint32_t)i + 1;
        else if (is_clash(key, key_view(r, &list[slots[at] - 1]), place))
            return fail_twice(r, &list[i]);
    }
    return true;
}

bool json__keys_end(struct json__reader *r, size_t first, enum json__place place)
{
    const struct json__key *list = r->keys.list + first;
    size_t count = r->keys.count - first;

    r->keys.count = first;
    if (count <= 1)
        return true;
    if (count <= JSON__PAIRWISE_MAX)
        return check_pairs(r, list, count, place);
    switch (place) {
    case PLACE_OUTSIDE:
    case PLACE_PLAIN:
        return check_hashed(r, list, count, HOW_EXACT, place);
    case PLACE_ENVELOPE:
    case PLACE_PARAMS:
        return check_hashed(r, list, count, HOW_FOLDED, place);
    case PLACE_ARGUMENTS:
        return check_hashed(r, list, count, HOW_EXACT, place) && check_hashed(r, list, count, HOW_FOLDED, place);
    }
    return false;
}
