/* SPDX-License-Identifier: Apache-2.0 */
#include "proof/succession.h"

#include <stdio.h>

#define KEYS "keys "

static enum code add_signature(struct span signed_text, struct span name, const struct sign_key *key, struct buf *out)
{
    unsigned char signature[SIGN_BYTES], public[SIGN_PUBLIC_BYTES];
    struct span first = buf_peek(out);
    struct buf whole;
    enum code code = sign_key_public(key, public);

    if (code == CODE_OK)
        code = sign_text(key, signed_text, signature);
    buf_init(&whole, NOTE_BYTES);
    if (code == CODE_OK) /* note_seal adds a newline before the line, so that the last one goes */
        code = note_seal(span_part(first, 0, first.len - 1), name, public, signature, &whole);
    buf_clear(out);
    if (code == CODE_OK)
        code = buf_add_span(out, buf_peek(&whole));
    buf_fini(&whole);
    return code;
}

enum code succession_write(const struct note *note, const struct sign_key *before, const struct sign_key *after,
                           struct buf *out)
{
    unsigned char old[SIGN_PUBLIC_BYTES], new[SIGN_PUBLIC_BYTES];
    struct buf text;
    enum code code = sign_key_public(before, old);

    buf_init(&text, NOTE_BYTES);
    if (code == CODE_OK)
        code = sign_key_public(after, new);
    if (code == CODE_OK)
        code = note_write(note, &text);
    if (code == CODE_OK)
        code = buf_add_text(&text, KEYS);
    if (code == CODE_OK)
        code = note_key_write(note->origin, old, &text);
    if (code == CODE_OK)
        code = buf_add_byte(&text, ' ');
    if (code == CODE_OK)
        code = note_key_write(note->origin, new, &text);
    if (code == CODE_OK)
        code = buf_add_byte(&text, '\n');
    if (code == CODE_OK)
        code = note_sign(buf_peek(&text), note->origin, before, out);
    if (code == CODE_OK)
        code = add_signature(buf_peek(&text), note->origin, after, out);
    buf_fini(&text);
    return code;
}

/* The line `keys`, which stands behind the three that every checkpoint has. */
static struct span find_keys(const struct note *note)
{
    struct span rest = note->text;

    while (rest.len > 0) {
        struct span line = span_cut(rest, '\n', &rest);

        if (span_starts_with(line, SPAN_LIT(KEYS)))
            return span_part(line, sizeof KEYS - 1, SIZE_MAX);
    }
    return SPAN_NONE;
}

enum code succession_read(struct span text, struct succession *out)
{
    struct span before, after;
    struct note note;

    if (note_read(text, &note) != CODE_OK)
        return CODE_INVALID;
    before = span_cut(find_keys(&note), ' ', &after);
    *out = (struct succession){.size = note.size};
    memcpy(out->root, note.root, DIGEST_BYTES);
    (void)snprintf(out->origin, sizeof out->origin, "%.*s", SPAN_ARG(note.origin));
    if (note_key_read(before, &out->before) != CODE_OK || note_key_read(after, &out->after) != CODE_OK ||
        memcmp(out->before.public, out->after.public, SIGN_PUBLIC_BYTES) == 0)
        return CODE_INVALID;
    return note_verify(&note, &out->before) == NOTE_SIGNED && note_verify(&note, &out->after) == NOTE_SIGNED ? CODE_OK
                                                                                                            : CODE_INVALID;
}

enum code successions_read(struct successions *successions, struct db *db)
{
    struct db_stmt *stmt;
    enum code code = db_prepare(db, "SELECT json_extract(detail, '$.note') FROM event WHERE kind = 'checkpoint_key' AND "
                                "json_valid(detail) AND json_type(detail, '$.note') = 'text' ORDER BY seq", &stmt);

    while (db_next(&stmt, &code))
        if (successions->count < SUCCESSIONS_MAX &&
            succession_read(db_text(stmt, 0), &successions->at[successions->count]) == CODE_OK)
            successions->count++;
    return code;
}

/* Lets a key count up to `end` (0: without an end), or further where it does already. Returns: whether that is new. */
static bool trust(struct keyring *ring, const struct note_key *key, uint64_t end)
{
    size_t at = keyring_find(ring, key);

    if (at < ring->count && (ring->ends[at] == 0 || (end != 0 && end <= ring->ends[at])))
        return false;
    keyring_add(ring, key);
    if (at < ring->count)
        ring->ends[at] = end;
    return at < ring->count;
}

static bool follow(const struct succession *succession, struct keyring *ring)
{
    size_t before = keyring_find(ring, &succession->before), after = keyring_find(ring, &succession->after);

    if (before < ring->count && ring->ends[before] == 0)
        return trust(ring, &succession->after, 0);
    if (after < ring->count && (ring->ends[after] == 0 || succession->size <= ring->ends[after]))
        return trust(ring, &succession->before, succession->size);
    return false;
}

void successions_follow(const struct successions *successions, struct keyring *ring)
{
    bool is_news = true;

    while (is_news) {
        is_news = false;
        for (size_t i = 0; i < successions->count; i++)
            is_news = follow(&successions->at[i], ring) || is_news;
    }
}
