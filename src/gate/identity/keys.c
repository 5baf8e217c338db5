/* SPDX-License-Identifier: Apache-2.0 */
#include "identity/keys_priv.h"

#include "base/bug.h"
#include "base/mem.h"
#include "base/ref.h"

#include <string.h>

struct identity_keys {
    struct ref ref;
    struct arena arena;
    struct identity_key *rows;
    uint32_t *slots; /* place in rows plus one; 0: empty */
    size_t slot_mask;
};

/* A SHA-256 is already as good as random, so its first bytes are the hash. */
static size_t slot_of(const struct identity_keys *table, const unsigned char digest[DIGEST_BYTES])
{
    uint64_t hash;

    memcpy(&hash, digest, sizeof hash);
    return (size_t)hash & table->slot_mask;
}

static enum code copy_globs(struct arena *arena, const char *const *from, const char *const **to)
{
    size_t count = 0;
    const char **copy;

    *to = NULL;
    if (from == NULL)
        return CODE_OK;
    while (from[count] != NULL)
        count++;
    copy = arena_zalloc(arena, (count + 1) * sizeof *copy);
    if (copy == NULL)
        return CODE_NOMEM;
    for (size_t i = 0; i < count; i++) {
        copy[i] = arena_dup(arena, from[i], strlen(from[i]));
        if (copy[i] == NULL)
            return CODE_NOMEM;
    }
    *to = copy;
    return CODE_OK;
}

static enum code copy_row(struct arena *arena, const struct identity_key *from, struct identity_key *to)
{
    *to = *from;
    to->principal = arena_dup(arena, from->principal, strlen(from->principal));
    to->tenant = arena_dup(arena, from->tenant, strlen(from->tenant));
    to->agent = from->agent != NULL ? arena_dup(arena, from->agent, strlen(from->agent)) : NULL;
    if (to->principal == NULL || to->tenant == NULL || (from->agent != NULL && to->agent == NULL))
        return CODE_NOMEM;
    return copy_globs(arena, from->may_claim, &to->may_claim);
}

static enum code fill(struct identity_keys *table, const struct identity_key *keys, size_t count)
{
    size_t slots = 8;

    if (count > UINT32_MAX / 4)
        return CODE_LIMIT;
    while (slots < count * 2)
        slots *= 2;
    table->slot_mask = slots - 1;
    table->rows = arena_zalloc(&table->arena, (count + 1) * sizeof *table->rows);
    table->slots = arena_zalloc(&table->arena, slots * sizeof *table->slots);
    if (table->rows == NULL || table->slots == NULL)
        return CODE_NOMEM;
    for (size_t i = 0; i < count; i++) {
        enum code code = copy_row(&table->arena, &keys[i], &table->rows[i]);
        size_t slot = slot_of(table, keys[i].digest);

        if (code != CODE_OK)
            return code;
        while (table->slots[slot] != 0)
            slot = (slot + 1) & table->slot_mask;
        table->slots[slot] = (uint32_t)i + 1;
    }
    return CODE_OK;
}

enum code identity_keys_new(const struct identity_key *keys, size_t count, struct identity_keys **out)
{
    struct identity_keys *table = mem_zalloc(sizeof *table);
    enum code code;

    *out = NULL;
    if (table == NULL)
        return CODE_NOMEM;
    ref_init(&table->ref);
    arena_init(&table->arena, SIZE_MAX);
    code = fill(table, keys, count);
    if (code != CODE_OK)
        identity_keys_unref(&table);
    *out = table;
    return code;
}

struct identity_keys *identity_keys_ref(struct identity_keys *table)
{
    if (table != NULL)
        ref_take(&table->ref);
    return table;
}

void identity_keys_unref(struct identity_keys **table)
{
    struct identity_keys *gone = *table;

    *table = NULL;
    if (gone == NULL || !ref_drop(&gone->ref))
        return;
    arena_fini(&gone->arena);
    mem_free(gone);
}

const struct identity_key *identity__key_find(const struct identity_keys *table,
                                              const unsigned char digest[DIGEST_BYTES])
{
    size_t slot;

    if (table == NULL)
        return NULL;
    slot = slot_of(table, digest);
    while (table->slots[slot] != 0) {
        const struct identity_key *row = &table->rows[table->slots[slot] - 1];

        if (secret_equals(span_of(row->digest, DIGEST_BYTES), span_of(digest, DIGEST_BYTES)))
            return row;
        slot = (slot + 1) & table->slot_mask;
    }
    return NULL;
}

enum code identity_key_make(char text[48], unsigned char digest[DIGEST_BYTES])
{
    unsigned char secret[32];
    struct buf buf;
    enum code code;

    random_bytes(secret, sizeof secret);
    buf_init(&buf, 47);
    buf_add_text(&buf, "cg_");
    code = base64url_encode(span_of(secret, sizeof secret), &buf);
    mem_wipe(secret, sizeof secret);
    if (code == CODE_OK) {
        BUG_ON(buf_len(&buf) != 46);
        memcpy(text, buf_peek(&buf).at, 46);
        text[46] = '\0';
        digest_of(span_text(text), digest);
    }
    mem_wipe(buf.block, buf.size);
    buf_fini(&buf);
    return code;
}
