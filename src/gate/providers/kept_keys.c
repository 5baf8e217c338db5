/* SPDX-License-Identifier: Apache-2.0 */
#include "providers/kept_keys.h"

#include "base/mem.h"
#include "base/num.h"
#include "os/file.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The head before the set always has the same length (microseconds until 2286). */
#define HEAD "{\"fetched\":\"%016" PRId64 "\",\"of\":\"%s\",\"set\":"
#define TIME_AT (sizeof "{\"fetched\":\"" - 1)
#define TIME_BYTES 16
#define FILE_BYTES (2 * IDENTITY_KEY_SET_BYTES_MAX)

static char *path_of(const char *store, const struct identity_provider *provider)
{
    char name[128];

    (void)snprintf(name, sizeof name, "jwks-%s.json", provider->rules.name);
    return file_beside(store, span_text(name));
}

static size_t head_of(const struct identity_provider *provider, int64_t fetched_us, char *out, size_t size)
{
    char of[2 * DIGEST_BYTES + 1];

    num_hex(provider->digest, DIGEST_BYTES, of);
    of[sizeof of - 1] = '\0';
    return (size_t)snprintf(out, size, HEAD, fetched_us, of);
}

enum code kept_keys_write(const char *store, const struct identity_provider *provider, struct span set, int64_t fetched_us,
                          struct why *why)
{
    char *path = path_of(store, provider), head[256];
    struct buf text;
    enum code code;

    buf_init(&text, FILE_BYTES);
    buf_add(&text, head, head_of(provider, fetched_us, head, sizeof head));
    buf_add_span(&text, set);
    code = buf_add_text(&text, "}\n");
    if (code != CODE_OK || path == NULL)
        code = why_set(why, CODE_NOMEM, "not enough memory");
    else
        code = file_replace(path, 0600, buf_peek(&text), why);
    buf_fini(&text);
    mem_free(path);
    return code;
}

/* Takes a file apart, which must be byte for byte as it was written, but for the time. */
static bool take_apart(struct span all, const struct identity_provider *provider, struct span *set, int64_t *fetched_us)
{
    char head[256];
    size_t len = head_of(provider, 0, head, sizeof head);
    uint64_t time_us;

    if (all.len < len + 2 || num_u64(span_part(all, TIME_AT, TIME_BYTES), &time_us) != CODE_OK ||
        memcmp(all.at, head, TIME_AT) != 0 ||
        memcmp(all.at + TIME_AT + TIME_BYTES, head + TIME_AT + TIME_BYTES, len - TIME_AT - TIME_BYTES) != 0)
        return false;
    *set = span_part(all, len, all.len - len - 2);
    *fetched_us = (int64_t)time_us;
    return true;
}

enum code kept_keys_read(const char *store, const struct identity_provider *provider, int64_t now_us, struct buf *text,
                         struct span *set, int64_t *fetched_us, struct why *why)
{
    char *path = path_of(store, provider);
    enum code code = path != NULL ? file_read(path, FILE_TRUSTED, FILE_BYTES, text, why)
                                  : why_set(why, CODE_NOMEM, "not enough memory");

    if (code == CODE_OK && !take_apart(buf_peek(text), provider, set, fetched_us))
        code = why_set(why, CODE_INVALID, "%s is another issuer's, or broken", path);
    else if (code == CODE_OK && (now_us >= *fetched_us + provider->stale_us || *fetched_us > now_us + provider->stale_us))
        code = why_set(why, CODE_INVALID, "%s is too old", path);
    mem_free(path);
    return code;
}
