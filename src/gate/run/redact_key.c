/* SPDX-License-Identifier: Apache-2.0 */
#include "run/serve_priv.h"

#include "base/mem.h"
#include "base/num.h"
#include "os/file.h"

#define TEXT_BYTES (2 * DIGEST_BYTES)

/* 64 hexadecimal digits and a newline: a file that an editor, a copy and a backup leave as it is. */
static enum code make_key(const char *path, struct why *why)
{
    unsigned char key[DIGEST_BYTES];
    char text[TEXT_BYTES + 1];
    enum code code;

    random_bytes(key, sizeof key);
    num_hex(key, sizeof key, text);
    text[TEXT_BYTES] = '\n';
    code = file_create(path, 0600, span_of(text, sizeof text), why);
    mem_wipe(key, sizeof key);
    mem_wipe(text, sizeof text);
    return code == CODE_EXISTS ? CODE_OK : code;
}

enum code serve_redact_key(const char *path, bool may_make, unsigned char key[DIGEST_BYTES], struct why *why)
{
    struct buf text;
    struct span digits;
    enum code code;

    buf_init(&text, 4096);
    code = file_read(path, FILE_SECRET, 4096, &text, why);
    if (code == CODE_NOT_FOUND && may_make) {
        code = make_key(path, why);
        if (code == CODE_OK)
            code = file_read(path, FILE_SECRET, 4096, &text, why);
    }
    if (code == CODE_OK) {
        digits = buf_peek(&text);
        if (digits.len > 0 && digits.at[digits.len - 1] == '\n')
            digits.len--;
        if (num_unhex(digits, key, DIGEST_BYTES) != CODE_OK)
            code = why_set(why, CODE_INVALID, "%s must hold 64 hexadecimal digits; remove it, and the gate makes another",
                           path);
    }
    mem_wipe(text.block, text.size);
    buf_fini(&text);
    return code;
}
