/* SPDX-License-Identifier: Apache-2.0 */
#include "proof/cosign.h"

#include "proof/note_priv.h"

#include <endian.h>

#define TIME_BYTES sizeof(uint64_t)
#define LINE_BYTES (NOTE_KEY_ID_BYTES + TIME_BYTES + SIGN_BYTES)

/* What is signed: the words that keep it apart from every other text that the key signs, the time, the note's text. */
static enum code write_message(struct span text, uint64_t time_s, struct buf *out)
{
    buf_addf(out, "cosignature/v1\ntime %llu\n", (unsigned long long)time_s);
    return buf_add_span(out, text);
}

enum code cosign_line(struct span text, struct span name, const struct sign_key *key, uint64_t time_s, struct buf *line)
{
    unsigned char bytes[LINE_BYTES], public[SIGN_PUBLIC_BYTES];
    uint64_t big = htobe64(time_s);
    struct buf message;
    enum code code = time_s <= INT64_MAX ? sign_key_public(key, public) : CODE_INVALID;

    buf_init(&message, 2 * NOTE_BYTES);
    if (code == CODE_OK)
        code = write_message(text, time_s, &message);
    if (code == CODE_OK)
        code = sign_text(key, buf_peek(&message), bytes + NOTE_KEY_ID_BYTES + TIME_BYTES);
    buf_fini(&message);
    if (code != CODE_OK)
        return code;
    note__key_id(name, NOTE_TYPE_COSIGNATURE, public, bytes);
    memcpy(bytes + NOTE_KEY_ID_BYTES, &big, TIME_BYTES);
    buf_addf(line, NOTE_DASH "%.*s ", SPAN_ARG(name));
    (void)base64_encode(span_of(bytes, sizeof bytes), line); /* line tells of a failure at its end */
    return buf_add_byte(line, '\n');
}

enum note_check cosign_check(struct span text, struct span line, const struct note_key *key, uint64_t *time_s)
{
    unsigned char bytes[LINE_BYTES], id[NOTE_KEY_ID_BYTES];
    struct span rest, name;
    struct buf message;
    uint64_t big;
    bool is_good;

    if (!span_starts_with(line, SPAN_LIT(NOTE_DASH)))
        return NOTE_OTHER_KEY;
    name = span_cut(span_part(line, sizeof NOTE_DASH - 1, SIZE_MAX), ' ', &rest);
    note__key_id(name, NOTE_TYPE_COSIGNATURE, key->public, id);
    if (!span_is(name, key->name) || note__read_bytes(span_cut(rest, '\n', &rest), bytes, sizeof bytes) != CODE_OK ||
        rest.len > 0 || memcmp(bytes, id, sizeof id) != 0)
        return NOTE_OTHER_KEY;
    memcpy(&big, bytes + NOTE_KEY_ID_BYTES, TIME_BYTES);
    *time_s = be64toh(big);
    buf_init(&message, 2 * NOTE_BYTES);
    is_good = *time_s <= INT64_MAX && write_message(text, *time_s, &message) == CODE_OK &&
              sign_is_good(key->public, buf_peek(&message), bytes + NOTE_KEY_ID_BYTES + TIME_BYTES);
    buf_fini(&message);
    return is_good ? NOTE_SIGNED : NOTE_FORGED;
}
