/* SPDX-License-Identifier: Apache-2.0 */
#include "proof/keyring.h"

size_t keyring_find(const struct keyring *ring, const struct note_key *key)
{
    size_t at = 0;

    while (at < ring->count && memcmp(ring->keys[at].public, key->public, SIGN_PUBLIC_BYTES) != 0)
        at++;
    return at;
}

void keyring_add(struct keyring *ring, const struct note_key *key)
{
    if (keyring_find(ring, key) == ring->count && ring->count < KEYRING_MAX)
        ring->keys[ring->count++] = *key;
}

enum code keyring_read(struct keyring *ring, struct db *db)
{
    struct db_stmt *stmt;
    struct note_key key;
    enum code code = db_prepare(db, "SELECT json_extract(detail, '$.key') FROM event WHERE kind = 'checkpoint_key' "
                                "AND json_valid(detail) ORDER BY seq", &stmt);

    while (db_next(&stmt, &code))
        if (note_key_read(db_text(stmt, 0), &key) == CODE_OK)
            keyring_add(ring, &key);
    return code;
}

enum note_check keyring_verify(const struct keyring *ring, const struct note *note, size_t *by)
{
    for (size_t i = 0; i < ring->count; i++) {
        enum note_check check = note_verify(note, &ring->keys[i]);

        *by = i;
        if (check != NOTE_OTHER_KEY)
            return check;
    }
    return NOTE_OTHER_KEY;
}
