/* SPDX-License-Identifier: Apache-2.0 */
#include "store/account_keys.h"

#include "base/mem.h"
#include "base/num.h"
#include "crypto/digest.h"
#include "os/file.h"

#include <string.h>

#define LINE_BYTES (2 * SEAL_KEY_BYTES)
#define TEXT_BYTES ((size_t)ACCOUNT_KEYS_MAX * (LINE_BYTES + 1))

static void name_it(struct account_keys *keys, size_t at)
{
    unsigned char sum[DIGEST_BYTES];
    char hex[2 * DIGEST_BYTES];

    digest_of(span_of((const char *)keys->key[at], SEAL_KEY_BYTES), sum);
    num_hex(sum, sizeof sum, hex);
    memcpy(keys->name[at], hex, ACCOUNT_KEY_NAME_BYTES - 1);
    keys->name[at][ACCOUNT_KEY_NAME_BYTES - 1] = '\0';
}

static enum code write_file(const char *path, const struct account_keys *keys, bool is_new, struct why *why)
{
    char text[TEXT_BYTES], *at = text;
    struct span whole = span_of(text, keys->count * (LINE_BYTES + 1));
    enum code code;

    for (size_t i = 0; i < keys->count; i++, at += LINE_BYTES + 1) {
        num_hex(keys->key[i], SEAL_KEY_BYTES, at);
        at[LINE_BYTES] = '\n';
    }
    code = is_new ? file_create(path, 0600, whole, why) : file_replace(path, 0600, whole, why);
    mem_wipe(text, sizeof text);
    return code;
}

static enum code parse(const char *path, struct span text, struct account_keys *keys, struct why *why)
{
    keys->count = 0;
    while (text.len > 0 && keys->count < ACCOUNT_KEYS_MAX) {
        struct span line = span_cut(text, '\n', &text);

        if (num_unhex(line, keys->key[keys->count], SEAL_KEY_BYTES) != CODE_OK)
            break;
        name_it(keys, keys->count++);
    }
    return keys->count > 0 && text.len == 0
               ? CODE_OK : why_set(why, CODE_INVALID, "%s must hold 1 to %d lines of %d hexadecimal digits; put back what a "
                                   "backup has, or remove it: then everybody connects anew", path, ACCOUNT_KEYS_MAX,
                                   LINE_BYTES);
}

static enum code read_file(const char *path, bool may_make, struct account_keys *keys, struct why *why)
{
    struct buf text;
    enum code code;

    buf_init(&text, 2 * TEXT_BYTES);
    buf_wipes(&text);
    code = file_read(path, FILE_SECRET, TEXT_BYTES, &text, why);
    if (code == CODE_NOT_FOUND && may_make) {
        random_bytes(keys->key[0], SEAL_KEY_BYTES);
        keys->count = 1;
        code = write_file(path, keys, true, why);
        if (code == CODE_OK || code == CODE_EXISTS) /* whoever was first has made the one that counts */
            code = file_read(path, FILE_SECRET, TEXT_BYTES, &text, why);
    }
    if (code == CODE_OK)
        code = parse(path, buf_peek(&text), keys, why);
    buf_fini(&text);
    return code;
}

enum code account_keys_read(const char *store, bool may_make, struct account_keys *keys, struct why *why)
{
    char *path = file_beside(store, SPAN_LIT(ACCOUNT_KEYS_FILE));
    enum code code = path != NULL ? read_file(path, may_make, keys, why) : CODE_NOMEM;

    mem_free(path);
    return code;
}

static enum code replace(const char *store, struct account_keys *keys, struct why *why)
{
    char *path = file_beside(store, SPAN_LIT(ACCOUNT_KEYS_FILE));
    enum code code = path != NULL ? write_file(path, keys, false, why) : CODE_NOMEM;

    mem_free(path);
    return code;
}

enum code account_keys_turn(const char *store, struct account_keys *keys, struct why *why)
{
    memmove(keys->key[1], keys->key[0], keys->count * sizeof keys->key[0]);
    memmove(keys->name[1], keys->name[0], keys->count * sizeof keys->name[0]);
    keys->count++;
    random_bytes(keys->key[0], SEAL_KEY_BYTES);
    name_it(keys, 0);
    return replace(store, keys, why);
}

enum code account_keys_drop_old(const char *store, struct account_keys *keys, struct why *why)
{
    keys->count = 1;
    return replace(store, keys, why);
}

const unsigned char *account_keys_find(const struct account_keys *keys, struct span name)
{
    for (size_t i = 0; i < keys->count; i++)
        if (span_is(name, keys->name[i]))
            return keys->key[i];
    return NULL;
}

void account_keys_wipe(struct account_keys *keys)
{
    mem_wipe(keys, sizeof *keys);
}
