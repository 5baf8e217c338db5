/* SPDX-License-Identifier: Apache-2.0 */
#include "proof/note_priv.h"

#include "base/num.h"

#include <stdio.h>

#define BASE64_LEN(bytes) (((bytes) + 2) / 3 * 4)

/* ---- base64 of a known size -------------------------------------------------------------------------------------- */

enum code note__read_bytes(struct span text, void *out, size_t len)
{
    struct buf bytes;
    enum code code;

    buf_init(&bytes, NOTE_BYTES);
    code = base64_decode(text, &bytes);
    if (code == CODE_OK && buf_len(&bytes) != len)
        code = CODE_INVALID;
    if (code == CODE_OK)
        memcpy(out, buf_peek(&bytes).at, len);
    buf_fini(&bytes);
    return code;
}

static enum code add_bytes(struct buf *out, const void *bytes, size_t len)
{
    return base64_encode(span_of(bytes, len), out);
}

void note__key_id(struct span name, enum note_type type, const unsigned char public[SIGN_PUBLIC_BYTES],
                  unsigned char id[NOTE_KEY_ID_BYTES])
{
    unsigned char middle[2] = {'\n', (unsigned char)type};
    unsigned char hash[DIGEST_BYTES];
    struct digest digest;

    digest_init(&digest);
    digest_add(&digest, name.at, name.len);
    digest_add(&digest, middle, sizeof middle);
    digest_add(&digest, public, SIGN_PUBLIC_BYTES);
    digest_final(&digest, hash);
    memcpy(id, hash, NOTE_KEY_ID_BYTES);
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

enum code note_write(const struct note *note, struct buf *out)
{
    buf_addf(out, "%.*s\n%llu\n", SPAN_ARG(note->origin), (unsigned long long)note->size);
    add_bytes(out, note->root, DIGEST_BYTES);
    buf_addf(out, "\ntime %lld\n", (long long)note->time_us);
    if (buf_code(out) != CODE_OK || !note->has_tenants)
        return buf_code(out);
    buf_addf(out, "tenants %llu ", (unsigned long long)note->tenants);
    add_bytes(out, note->tenants_root, DIGEST_BYTES);
    return buf_add_byte(out, '\n');
}

enum code note_sign(struct span text, struct span name, const struct sign_key *key, struct buf *out)
{
    unsigned char signature[SIGN_BYTES], public[SIGN_PUBLIC_BYTES];
    enum code code = sign_key_public(key, public);

    if (code == CODE_OK)
        code = sign_text(key, text, signature);
    return code == CODE_OK ? note_seal(text, name, public, signature, out) : code;
}

enum code note_seal(struct span text, struct span name, const unsigned char public[SIGN_PUBLIC_BYTES],
                    const unsigned char signature[SIGN_BYTES], struct buf *out)
{
    unsigned char line[NOTE_KEY_ID_BYTES + SIGN_BYTES];

    buf_add_span(out, text);
    note__key_id(name, NOTE_TYPE_SIGNATURE, public, line);
    memcpy(line + NOTE_KEY_ID_BYTES, signature, SIGN_BYTES);
    buf_addf(out, "\n" NOTE_DASH "%.*s ", SPAN_ARG(name));
    add_bytes(out, line, sizeof line);
    return buf_add_byte(out, '\n');
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static enum code read_extension(struct span line, struct note *note)
{
    struct span rest, count, word = span_cut(line, ' ', &rest);

    if (span_is(word, "time"))
        return num_i64(rest, &note->time_us);
    if (!span_is(word, "tenants"))
        return line.len > 0 ? CODE_OK : CODE_INVALID; /* a line of somebody else */
    count = span_cut(rest, ' ', &rest);
    note->has_tenants = true;
    return num_u64(count, &note->tenants) == CODE_OK ? note__read_bytes(rest, note->tenants_root, DIGEST_BYTES)
                                                     : CODE_INVALID;
}

/* The place of the last empty line, which ends the signed text; 0: there is none. */
static size_t end_of_text(struct span text)
{
    for (size_t at = text.len; at > 1; at--)
        if (text.at[at - 1] == '\n' && text.at[at - 2] == '\n')
            return at - 1;
    return 0;
}

static bool is_signature(struct span line)
{
    return span_starts_with(line, SPAN_LIT(NOTE_DASH));
}

/* Whether the line has a name and base64 of an id and a signature, whoever signed. */
static bool is_whole_signature(struct span line)
{
    struct span rest, name = span_cut(span_part(line, sizeof NOTE_DASH - 1, SIZE_MAX), ' ', &rest);
    struct buf bytes;
    bool whole;

    buf_init(&bytes, NOTE_BYTES);
    whole = is_signature(line) && name.len > 0 && base64_decode(rest, &bytes) == CODE_OK &&
            buf_len(&bytes) >= NOTE_KEY_ID_BYTES + SIGN_BYTES;
    buf_fini(&bytes);
    return whole;
}

static bool are_signatures(struct span lines)
{
    if (!span_ends_with(lines, SPAN_LIT("\n")))
        return false;
    while (lines.len > 0)
        if (!is_whole_signature(span_cut(lines, '\n', &lines)))
            return false;
    return true;
}

enum code note_read(struct span text, struct note *note)
{
    size_t end = end_of_text(text);
    struct span rest, size, root;
    enum code code;

    *note = (struct note){.text = span_part(text, 0, end), .signatures = span_part(text, end + 1, SIZE_MAX)};
    if (end == 0 || text.len > NOTE_BYTES || !are_signatures(note->signatures))
        return CODE_INVALID;
    rest = span_part(note->text, 0, end - 1); /* without the last newline */
    if (span_ends_with(rest, SPAN_LIT("\n"))) /* no line of it is empty */
        return CODE_INVALID;
    note->origin = span_cut(rest, '\n', &rest);
    size = span_cut(rest, '\n', &rest);
    root = span_cut(rest, '\n', &rest);
    if (note->origin.len == 0 || note->origin.len >= NOTE_ORIGIN_BYTES)
        return CODE_INVALID;
    code = num_u64(size, &note->size);
    if (code == CODE_OK)
        code = note__read_bytes(root, note->root, DIGEST_BYTES);
    while (code == CODE_OK && rest.len > 0)
        code = read_extension(span_cut(rest, '\n', &rest), note);
    return code == CODE_LIMIT ? CODE_INVALID : code;
}

/* ---- several in a file ------------------------------------------------------------------------------------------- */

/* Whether the line is a signature, or only the first bytes of one. */
static bool begins_signature(struct span line)
{
    while (span_ends_with(line, span_of("", 1)))
        line.len--;
    return line.len > 0 && (is_signature(line) || span_starts_with(SPAN_LIT(NOTE_DASH), line));
}

/* The end of the piece that begins here: text, an empty line, signatures; or the beginning of these. */
static size_t piece_end(struct span file)
{
    bool in_signatures = false;
    size_t at = 0;

    while (at < file.len) {
        struct span rest, line = span_cut(span_part(file, at, SIZE_MAX), '\n', &rest);

        if (in_signatures && !begins_signature(line))
            return at;
        if (line.len == 0) {
            struct span after, next = span_cut(rest, '\n', &after);

            if (!begins_signature(next))
                return at;
            in_signatures = true;
        }
        at = file.len - rest.len;
    }
    return at;
}

/* A piece that is compared, from its first byte on, with what note_write and note_sign write. */
struct torn {
    struct span rest;
    bool differs; /* from what a gate writes */
};

static void pass_text(struct torn *torn, struct span text)
{
    size_t len = text.len < torn->rest.len ? text.len : torn->rest.len;

    torn->differs = torn->differs || memcmp(text.at, torn->rest.at, len) != 0;
    torn->rest = span_part(torn->rest, len, SIZE_MAX);
}

/* A kind of letters is the first so many of LETTERS. */
enum { LETTERS_DIGITS = 10, LETTERS_HEX = 16, LETTERS_BASE64 = 65 };
#define LETTERS "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ+/="

/* Passes `len` letters of the kind; 0: one or more. */
static void pass_letters(struct torn *torn, size_t kind, size_t len)
{
    size_t at = 0;

    while (at < torn->rest.len && (len == 0 || at < len) && memchr(LETTERS, torn->rest.at[at], kind) != NULL)
        at++;
    torn->differs = torn->differs || (at < torn->rest.len && (len == 0 ? at == 0 : at < len));
    torn->rest = span_part(torn->rest, at, SIZE_MAX);
}

/* A torn piece is the beginning of what note_write and note_sign make. A piece that is complete and yet no note was damaged. */
static bool is_torn(struct span piece)
{
    struct torn torn = {.rest = piece};
    struct span rest, origin = span_cut(piece, '\n', &rest);
    bool is_ended = span_ends_with(piece, SPAN_LIT("\n"));

    while (torn.rest.len > 0 && (torn.rest.at[torn.rest.len - 1] == '\n' || torn.rest.at[torn.rest.len - 1] == '\0'))
        torn.rest.len--;
    pass_text(&torn, SPAN_LIT(NOTE_ORIGIN));
    pass_letters(&torn, LETTERS_HEX, NOTE_ORIGIN_ID);
    pass_text(&torn, SPAN_LIT("\n"));
    pass_letters(&torn, LETTERS_DIGITS, 0);
    pass_text(&torn, SPAN_LIT("\n"));
    pass_letters(&torn, LETTERS_BASE64, BASE64_LEN(DIGEST_BYTES));
    pass_text(&torn, SPAN_LIT("\ntime "));
    pass_letters(&torn, LETTERS_DIGITS, 0);
    pass_text(&torn, SPAN_LIT("\n"));
    if (span_starts_with(torn.rest, SPAN_LIT("t"))) {
        pass_text(&torn, SPAN_LIT("tenants "));
        pass_letters(&torn, LETTERS_DIGITS, 0);
        pass_text(&torn, SPAN_LIT(" "));
        pass_letters(&torn, LETTERS_BASE64, BASE64_LEN(DIGEST_BYTES));
        pass_text(&torn, SPAN_LIT("\n"));
    }
    pass_text(&torn, SPAN_LIT("\n" NOTE_DASH));
    pass_text(&torn, origin);
    pass_text(&torn, SPAN_LIT(" "));
    if (torn.rest.len >= BASE64_LEN(NOTE_KEY_ID_BYTES + SIGN_BYTES) && is_ended)
        return false;
    pass_letters(&torn, LETTERS_BASE64, BASE64_LEN(NOTE_KEY_ID_BYTES + SIGN_BYTES));
    return !torn.differs && torn.rest.len == 0;
}

enum note_piece note_scan(struct span *file, struct span *piece)
{
    struct note note;

    while (span_starts_with(*file, SPAN_LIT("\n")))
        *file = span_part(*file, 1, SIZE_MAX);
    *piece = span_part(*file, 0, piece_end(*file));
    *file = span_part(*file, piece->len, SIZE_MAX);
    if (piece->len == 0)
        return NOTE_NONE;
    if (note_read(*piece, &note) == CODE_OK)
        return NOTE_WHOLE;
    return is_torn(*piece) ? NOTE_TORN : NOTE_DAMAGED;
}

bool note_next(struct span *file, struct span *note)
{
    enum note_piece piece = note_scan(file, note);

    while (piece == NOTE_TORN || piece == NOTE_DAMAGED)
        piece = note_scan(file, note);
    return piece == NOTE_WHOLE;
}

/* ---- keys -------------------------------------------------------------------------------------------------------- */

static enum code read_vkey(struct span line, struct note_key *key)
{
    unsigned char bytes[1 + SIGN_PUBLIC_BYTES], id[NOTE_KEY_ID_BYTES], said[NOTE_KEY_ID_BYTES];
    struct span rest, name = span_cut(line, '+', &rest), hex = span_cut(rest, '+', &rest);

    if (name.len == 0 || name.len >= sizeof key->name || num_unhex(hex, said, sizeof said) != CODE_OK ||
        note__read_bytes(rest, bytes, sizeof bytes) != CODE_OK || bytes[0] != NOTE_TYPE_SIGNATURE)
        return CODE_INVALID;
    (void)snprintf(key->name, sizeof key->name, "%.*s", SPAN_ARG(name));
    memcpy(key->public, bytes + 1, SIGN_PUBLIC_BYTES);
    note__key_id(name, NOTE_TYPE_SIGNATURE, key->public, id);
    return memcmp(id, said, sizeof id) == 0 ? CODE_OK : CODE_INVALID;
}

enum code note_key_read(struct span text, struct note_key *key)
{
    struct span rest, line = span_trim(span_cut(text, '\n', &rest));
    enum code code = read_vkey(line, key);

    if (code != CODE_OK) {
        *key = (struct note_key){.name = ""};
        code = sign_public_read(text, key->public);
    }
    return code == CODE_OK && sign_public_is_weak(key->public) ? CODE_INVALID : code;
}

enum code note_key_write(struct span name, const unsigned char public[SIGN_PUBLIC_BYTES], struct buf *out)
{
    unsigned char bytes[1 + SIGN_PUBLIC_BYTES] = {NOTE_TYPE_SIGNATURE}, id[NOTE_KEY_ID_BYTES];
    char hex[2 * NOTE_KEY_ID_BYTES + 1] = {0};

    note__key_id(name, NOTE_TYPE_SIGNATURE, public, id);
    num_hex(id, sizeof id, hex);
    memcpy(bytes + 1, public, SIGN_PUBLIC_BYTES);
    buf_addf(out, "%.*s+%s+", SPAN_ARG(name), hex);
    return add_bytes(out, bytes, sizeof bytes);
}

static enum note_check verify_line(const struct note *note, struct span name, const struct note_key *key, struct span line)
{
    unsigned char bytes[NOTE_KEY_ID_BYTES + SIGN_BYTES], id[NOTE_KEY_ID_BYTES];
    struct span rest = span_part(line, sizeof NOTE_DASH - 1, SIZE_MAX), signer = span_cut(rest, ' ', &rest);

    note__key_id(name, NOTE_TYPE_SIGNATURE, key->public, id);
    if (!is_signature(line) || !span_equals(signer, name) || note__read_bytes(rest, bytes, sizeof bytes) != CODE_OK ||
        memcmp(bytes, id, sizeof id) != 0)
        return NOTE_OTHER_KEY;
    return sign_is_good(key->public, note->text, bytes + NOTE_KEY_ID_BYTES) ? NOTE_SIGNED : NOTE_FORGED;
}

bool note_is_named(const struct note *note)
{
    struct span rest = note->signatures;

    while (rest.len > 0) {
        struct span more, line = span_cut(rest, '\n', &rest);

        if (span_equals(span_cut(span_part(line, sizeof NOTE_DASH - 1, SIZE_MAX), ' ', &more), note->origin))
            return true;
    }
    return false;
}

enum note_check note_verify(const struct note *note, const struct note_key *key)
{
    struct span name = key->name[0] != '\0' ? span_text(key->name) : note->origin, rest = note->signatures;

    while (rest.len > 0) {
        enum note_check check = verify_line(note, name, key, span_cut(rest, '\n', &rest));

        if (check != NOTE_OTHER_KEY)
            return check;
    }
    return NOTE_OTHER_KEY;
}
