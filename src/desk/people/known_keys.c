/* SPDX-License-Identifier: Apache-2.0 */
#include "people/known_keys.h"

#include "os/file.h"
#include "providers/kept_keys.h"

#define TEXT_BYTES ((size_t)2 * IDENTITY_KEY_SET_BYTES_MAX)

enum code known_keys_read(const char *store, const struct identity_provider *provider, const char *named, int64_t now_us,
                          struct identity_key_set **set, int64_t *fetched_us, struct why *why)
{
    const char *file = named != NULL ? named : provider->keys_file;
    struct span kept;
    struct buf text;
    enum code code;

    *set = NULL;
    *fetched_us = now_us;
    buf_init(&text, TEXT_BYTES);
    if (file == NULL) {
        code = kept_keys_read(store, provider, now_us, &text, &kept, fetched_us, why);
    } else {
        code = file_read(file, named != NULL ? FILE_ANY : FILE_TRUSTED, TEXT_BYTES, &text, why);
        kept = code == CODE_OK ? buf_peek(&text) : SPAN_NONE;
    }
    if (code == CODE_OK)
        code = identity_key_set_read(kept, set, why);
    buf_fini(&text);
    return code;
}
