/* SPDX-License-Identifier: Apache-2.0 */
#include "enforce/past_file.h"

#include "base/mem.h"
#include "os/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_BYTES ((size_t)1 << 28)
#define PATH_BYTES 4400

/* Numbers are in this machine's byte order; a file of the other order is refused like one of another build. */
struct head {
    char what[24];
    uint64_t order;
    uint64_t turn, seq;
    unsigned char hash[DIGEST_BYTES];
    int64_t over_us;
    uint64_t has_plans, memory_bytes, state_bytes;
};
_Static_assert(sizeof(struct head) == 24 + DIGEST_BYTES + 7 * 8, "nothing unset lies between its members");

#define WHAT "callgate past 1\n"
#define ORDER UINT64_C(0x0102030405060708)

struct memory {
    unsigned char words[DIGEST_BYTES];
    int64_t reach_us;
};

static void name(const struct past_place *place, unsigned which, char path[PATH_BYTES])
{
    (void)snprintf(path, PATH_BYTES, "%s.%u", place->path, which);
}

/* ---- reading ---- */

static bool take_apart(struct past_file *file, const unsigned char *key)
{
    struct span all = buf_peek(&file->bytes), body;
    unsigned char mac[DIGEST_BYTES];
    struct head head;

    if (all.len < sizeof head + DIGEST_BYTES)
        return false;
    body = span_part(all, 0, all.len - DIGEST_BYTES);
    hmac_of(span_of(key, DIGEST_BYTES), body, mac);
    if (memcmp(mac, all.at + body.len, DIGEST_BYTES) != 0)
        return false;
    memcpy(&head, body.at, sizeof head);
    body = span_part(body, sizeof head, SIZE_MAX);
    if (memcmp(head.what, WHAT, sizeof WHAT) != 0 || head.order != ORDER || head.memory_bytes > body.len ||
        head.state_bytes != body.len - head.memory_bytes)
        return false;
    file->turn = head.turn;
    file->seq = head.seq;
    memcpy(file->hash, head.hash, DIGEST_BYTES);
    file->over_us = head.over_us;
    file->has_plans = head.has_plans != 0;
    file->memory = span_part(body, 0, (size_t)head.memory_bytes);
    file->state = span_part(body, (size_t)head.memory_bytes, SIZE_MAX);
    return true;
}

enum code past_file_read(const struct past_place *place, unsigned which, struct past_file *file, struct why *why)
{
    char path[PATH_BYTES];
    enum code code;

    name(place, which, path);
    *file = (struct past_file){.turn = 0};
    buf_init(&file->bytes, FILE_BYTES);
    code = file_read(path, FILE_SECRET, FILE_BYTES, &file->bytes, why);
    if (code == CODE_OK && !take_apart(file, place->key))
        code = why_set(why, CODE_INVALID, "%s: is torn, or of another store or build", path);
    if (code != CODE_OK)
        past_file_fini(file);
    return code;
}

void past_file_fini(struct past_file *file)
{
    buf_fini(&file->bytes);
    *file = (struct past_file){.turn = 0};
}

/* ---- writing ---- */

enum code past_file_write(const struct past_place *place, unsigned which, const struct past_file *file, struct why *why)
{
    struct head head = {.what = WHAT, .order = ORDER, .turn = file->turn, .seq = file->seq, .over_us = file->over_us,
                        .has_plans = file->has_plans, .memory_bytes = file->memory.len, .state_bytes = file->state.len};
    unsigned char mac[DIGEST_BYTES];
    char path[PATH_BYTES];
    struct buf bytes;
    enum code code;

    name(place, which, path);
    memcpy(head.hash, file->hash, DIGEST_BYTES);
    buf_init(&bytes, FILE_BYTES);
    buf_add(&bytes, &head, sizeof head);
    buf_add_span(&bytes, file->memory);
    code = buf_add_span(&bytes, file->state);
    if (code == CODE_OK) {
        hmac_of(span_of(place->key, DIGEST_BYTES), buf_peek(&bytes), mac);
        code = buf_add(&bytes, mac, sizeof mac);
    }
    if (code != CODE_OK)
        (void)why_set(why, code, "%s: %s", path, code_text(code));
    else
        code = file_replace(path, 0600, buf_peek(&bytes), why);
    buf_fini(&bytes);
    return code;
}

/* ---- what is asked of the past ---- */

static void add_memory(void *context, const unsigned char words[DIGEST_BYTES], int64_t reach_us)
{
    struct memory memory = {.reach_us = reach_us};

    memcpy(memory.words, words, DIGEST_BYTES);
    buf_add(context, &memory, sizeof memory);
}

static int by_words(const void *left, const void *right)
{
    return memcmp(left, right, DIGEST_BYTES);
}

enum code past_file_memory(const struct policy *policy, struct buf *out)
{
    char *at;
    size_t len;
    enum code code;

    if (policy != NULL)
        policy_each_memory(policy, add_memory, out);
    len = buf_len(out);
    code = buf_code(out);
    if (code != CODE_OK || len == 0)
        return code;
    at = mem_dup(buf_peek(out).at, len);
    if (at == NULL)
        return CODE_NOMEM;
    qsort(at, len / sizeof(struct memory), sizeof(struct memory), by_words);
    buf_clear(out);
    code = buf_add(out, at, len);
    mem_free(at);
    return code;
}

/* Both are sorted, so one walk over both is enough. */
bool past_file_covers(struct span kept, struct span asked)
{
    while (asked.len >= sizeof(struct memory)) {
        struct memory one, other = {.reach_us = -1};

        memcpy(&one, asked.at, sizeof one);
        while (kept.len >= sizeof other && memcmp(kept.at, one.words, DIGEST_BYTES) < 0)
            kept = span_part(kept, sizeof other, SIZE_MAX);
        if (kept.len >= sizeof other)
            memcpy(&other, kept.at, sizeof other);
        if (memcmp(other.words, one.words, DIGEST_BYTES) != 0 || other.reach_us < one.reach_us)
            return false;
        asked = span_part(asked, sizeof one, SIZE_MAX);
    }
    return true;
}
