/* SPDX-License-Identifier: Apache-2.0 */
/* What was written in hexadecimal digits or base64 inside of a text. Each run that could be either is read from every letter at
 * which a value may begin. The pieces of text that come of it take the run's place, a line each; the rest of the text stays. */
#include "texts/decode_text.h"

#include "base/num.h"
#include "base/utf8.h"
#include "crypto/digest.h"

#include <ctype.h>

#define PIECE_MIN 8   /* bytes: of fewer, words and numbers hold too many */
#define LETTERS_MIN 11 /* of base64, that give a piece */
#define LINE_MIN 16   /* letters of a line, behind whose end the run goes on */
#define WORD_MAX 64    /* letters of a run that takes no memory */
#define BOTH_MAX 4096 /* letters of a run that is read in both alphabets though it fits one: hardly a URL is longer */

struct runs {
    struct span text;
    size_t escape; /* where the next escape (\x41) stands; the text's end: nowhere */
    struct buf letters, bytes, pieces; /* of the run that is read */
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static size_t behind_blanks(struct span text, size_t at)
{
    while (at < text.len && is_blank(text.at[at]))
        at++;
    return at;
}

/* ---- pieces of text ---- */

static bool is_text(char c)
{
    return (c >= 0x20 && c < 0x7f) || is_blank(c);
}

/* UTF-8 without control characters but tab and line ends. */
static bool is_whole(struct span bytes)
{
    const unsigned char *at = (const unsigned char *)bytes.at, *end = at + bytes.len;
    size_t len = 1;

    for (; at < end && len > 0; at += len) {
        bool is_control = *at < 0x80 ? !is_text((char)*at) : *at == 0xc2 && end - at > 1 && at[1] < 0xa0;

        len = is_control ? 0 : utf8_length(at, end);
    }
    return at == end && len > 0;
}

static void add_piece(struct runs *runs, struct span piece)
{
    if (!buf_is_empty(&runs->pieces))
        buf_add_byte(&runs->pieces, '\n');
    buf_add_span(&runs->pieces, piece);
}

/* Adds all of the bytes where they are text, or the pieces of them that are text in ASCII. Returns: whether all was added. */
static bool add_pieces(struct runs *runs, struct span bytes, size_t min)
{
    if (bytes.len >= min && is_whole(bytes)) {
        add_piece(runs, bytes);
        return true;
    }
    for (size_t at = 0; bytes.len >= min && at <= bytes.len - min;) {
        size_t begin = at + min, end = begin;

        while (begin > at && is_text(bytes.at[begin - 1])) /* from behind, so that most are never looked at */
            begin--;
        while (begin == at && end < bytes.len && is_text(bytes.at[end]))
            end++;
        if (begin == at)
            add_piece(runs, span_part(bytes, at, end - at));
        at = begin == at ? end : begin;
    }
    return false;
}

/* ---- base64 ---- */

static inline void put_three(const char letters[4], char *at)
{
    unsigned held = (unsigned)(base64_value(letters[0]) << 18 | base64_value(letters[1]) << 12 |
                               base64_value(letters[2]) << 6 | base64_value(letters[3]));

    at[0] = (char)(held >> 16);
    at[1] = (char)(held >> 8);
    at[2] = (char)held;
}

/* Letters that are missing in the last four count as zero, and bits that are left over are dropped. */
static bool add_letters(struct runs *runs, struct span letters)
{
    char few[WORD_MAX], *bytes = few, *at, last[4] = "AAA"; /* most runs are words, which give nothing */

    buf_clear(&runs->bytes);
    if (letters.len > WORD_MAX &&
        buf_fail(&runs->pieces, buf_reserve(&runs->bytes, letters.len * 3 / 4 + 3, &bytes)) != CODE_OK)
        return false;
    at = bytes;
    for (size_t left = letters.len; left >= 4; left -= 4, at += 3)
        put_three(letters.at + letters.len - left, at);
    memcpy(last, letters.at + letters.len / 4 * 4, letters.len % 4);
    last[3] = 'A';
    put_three(last, at);
    return add_pieces(runs, span_of(bytes, letters.len * 3 / 4), PIECE_MIN);
}

/* The parts of a run between two letters that an alphabet lacks, each from its first four letters on. Returns: whether the
 * whole run is text. */
static bool add_parts(struct runs *runs, struct span letters, const char *lacks)
{
    size_t all = letters.len;
    bool whole = false;

    while (letters.len >= LETTERS_MIN) {
        struct span part = span_part(letters, 0, 0);

        while (part.len < letters.len && letters.at[part.len] != lacks[0] && letters.at[part.len] != lacks[1])
            part.len++;
        for (size_t skipped = 0; skipped < 4 && part.len >= skipped + LETTERS_MIN; skipped++)
            if (add_letters(runs, span_part(part, skipped, SIZE_MAX))) {
                whole = skipped == 0 && part.len == all;
                break;
            }
        letters = span_part(letters, part.len + 1, SIZE_MAX);
    }
    return whole;
}

/* In a path `/` stands between values, in a name `-` and `_`: a run that is short enough is read in both alphabets. */
static void add_run(struct runs *runs, struct span letters)
{
    bool standard = span_find(letters, '+') < letters.len || span_find(letters, '/') < letters.len;
    bool for_urls = span_find(letters, '-') < letters.len || span_find(letters, '_') < letters.len;
    bool first_for_urls = for_urls && !standard;
    bool whole = add_parts(runs, letters, first_for_urls ? "+/" : "-_");

    if (!whole && (standard || for_urls) && (standard == for_urls || letters.len <= BOTH_MAX))
        add_parts(runs, letters, first_for_urls ? "-_" : "+/");
}

#define STEP 16
typedef signed char step_bytes __attribute__((vector_size(STEP)));

/* Skips what is no run of so many letters, as two blocks of four beside each other are in each: 16 bytes at a time. Takes some
 * other characters for letters, too. */
static size_t skip_short(struct span text, size_t at)
{
    size_t begin = at;
    unsigned blocks = 0; /* that are all letters: the one before, and these four */

    for (; text.len - at >= STEP; at += STEP) {
        step_bytes bytes, lower, letters;
        uint32_t block[4];

        memcpy(&bytes, text.at + at, STEP);
        lower = bytes | 32;
        letters = ((lower >= 'a') & (lower <= 'z')) | ((bytes >= '+') & (bytes <= '9')) | (bytes == '_');
        memcpy(block, &letters, STEP);
        blocks = blocks >> 4 | (unsigned)((block[0] == UINT32_MAX) << 1 | (block[1] == UINT32_MAX) << 2 |
                                          (block[2] == UINT32_MAX) << 3 | (block[3] == UINT32_MAX) << 4);
        if ((blocks & blocks >> 1) != 0)
            break;
    }
    return at - begin < 7 ? begin : at - 7;
}

/* Where LETTERS_MIN letters begin; the text's end: nowhere. */
static size_t next_letters(struct span text, size_t at)
{
    while (text.len - (at = skip_short(text, at)) >= LETTERS_MIN) {
        size_t begin = at + LETTERS_MIN;

        while (begin > at && base64_value(text.at[begin - 1]) >= 0) /* from behind, so that most are never looked at */
            begin--;
        if (begin == at)
            return at;
        at = begin;
    }
    return text.len;
}

static size_t read_base64(struct runs *runs, size_t *at)
{
    struct span text = runs->text, letters;
    size_t begin = next_letters(text, *at), line = begin, end = begin;

    *at = begin;
    buf_clear(&runs->letters);
    for (size_t next = begin;;) {
        while (next < text.len && base64_value(text.at[next]) >= 0)
            next++;
        if (next == line)
            break;
        end = next;
        next = behind_blanks(text, end);
        if (end - line < LINE_MIN || span_find(span_part(text, end, next - end), '\n') == next - end)
            break;
        buf_add_span(&runs->letters, span_part(text, line, end - line));
        line = next;
    }
    letters = span_part(text, line, line < end ? end - line : 0);
    if (line > begin) {
        buf_add_span(&runs->letters, letters);
        letters = buf_fail(&runs->pieces, buf_code(&runs->letters)) == CODE_OK ? buf_peek(&runs->letters) : SPAN_NONE;
    }
    add_run(runs, letters);
    for (int i = 0; i < 2 && end < text.len && text.at[end] == '='; i++)
        end++;
    return end;
}

/* ---- hexadecimal digits ---- */

static bool is_digit(struct span text, size_t at)
{
    return at < text.len && num_hex_digit(text.at[at]) >= 0;
}

static size_t behind_digits(struct span text, size_t at)
{
    while (is_digit(text, at))
        at++;
    return at;
}

static bool is_marked(struct span text, size_t at, char mark)
{
    return at + 2 < text.len && text.at[at] == mark && (text.at[at + 1] | 32) == 'x' && is_digit(text, at + 2);
}

static bool is_escape(struct span text, size_t at)
{
    return is_marked(text, at, '\\') && is_digit(text, at + 3);
}

static bool add_bytes(struct runs *runs, size_t min)
{
    return buf_fail(&runs->pieces, buf_code(&runs->bytes)) == CODE_OK && add_pieces(runs, buf_peek(&runs->bytes), min);
}

static void add_digits(struct runs *runs, struct span digits)
{
    for (size_t i = 0; i + 1 < digits.len; i += 2)
        buf_add_byte(&runs->bytes, (char)(num_hex_digit(digits.at[i]) << 4 | num_hex_digit(digits.at[i + 1])));
}

/* The place behind one separator, blanks, or both. */
static size_t behind_separator(struct span text, size_t at)
{
    at = behind_blanks(text, at);
    if (at < text.len && strchr(":,;.-_", text.at[at]) != NULL && text.at[at] != '\0')
        at++;
    return behind_blanks(text, at);
}

/* `\x41\x42`: each stands for itself, so one is enough. */
static size_t read_escapes(struct runs *runs, size_t at)
{
    for (; is_escape(runs->text, at); at += 4)
        add_digits(runs, span_part(runs->text, at + 2, 2));
    add_bytes(runs, 1);
    return at;
}

static const bool is_of_numbers[256] = {
    ['0' ... '9'] = true, ['a' ... 'f'] = true, ['A' ... 'F'] = true, ['x'] = true, ['X'] = true, [' '] = true, ['\t'] = true,
    ['\r'] = true, ['\n'] = true, [':'] = true, [','] = true, [';'] = true, ['.'] = true, ['_'] = true, ['-'] = true,
};

static size_t next_escape(const struct runs *runs, size_t at)
{
    struct span text = runs->text;

    if (at > 0 && runs->escape >= at)
        return runs->escape;
    for (; at < text.len && !is_escape(text, at); at++)
        at += span_find(span_part(text, at + 1, SIZE_MAX), '\\');
    return at;
}

/* Where digits begin that may be enough for a piece; the text's end: nowhere. The byte that stands farthest ahead is looked at
 * first, so that most are never looked at. */
static size_t next_numbers(struct span text, size_t at)
{
    size_t known = at; /* up to there all is of numbers, from `at` on */

    while (text.len - at >= 2 * PIECE_MIN) {
        size_t end = at + 2 * PIECE_MIN, begin = end;

        while (begin > known && is_of_numbers[(unsigned char)text.at[begin - 1]])
            begin--;
        if (begin > known) {
            at = known = begin;
            continue;
        }
        if (is_digit(text, at))
            return at;
        known = end;
        at++;
    }
    return text.len;
}

/* Where an escape stands, or what may be digits enough for a piece; the text's end: nowhere. */
static size_t next_digits(struct runs *runs, size_t at)
{
    size_t numbers;

    runs->escape = next_escape(runs, at);
    numbers = next_numbers(runs->text, at);
    return numbers < runs->escape ? numbers : runs->escape;
}

/* Pairs of digits in numbers of any length, `0x` before each or not, something between them. */
static size_t read_hex(struct runs *runs, size_t *at)
{
    struct span text = runs->text, digits = SPAN_NONE;
    size_t begin = *at == 0 && is_digit(text, 0) ? 0 : next_digits(runs, *at), end = begin, numbers = 0, min;
    bool is_in_word = begin > 0 && isalnum((unsigned char)text.at[begin - 1]);

    *at = begin;
    buf_clear(&runs->bytes);
    if (begin < text.len && text.at[begin] == '\\')
        return read_escapes(runs, begin);
    for (size_t next = begin; is_digit(text, next); next = behind_separator(text, end)) {
        size_t first = next + (is_marked(text, next, '0') ? 2 : 0), behind = behind_digits(text, first);

        if (numbers > 0 && (behind - first) % 2 != 0)
            break;
        numbers++;
        end = behind;
        digits = span_part(text, first, end - first);
        add_digits(runs, digits);
        if (digits.len % 2 != 0 || is_in_word)
            break;
    }
    min = begin == 0 && end == text.len ? 1 : PIECE_MIN;
    if (!add_bytes(runs, min) && numbers == 1 && digits.len > 2 * min) {
        buf_clear(&runs->bytes);
        add_digits(runs, span_part(digits, 1, SIZE_MAX));
        add_bytes(runs, min);
    }
    return end > begin ? end : begin + 1;
}

/* ---- all of a text ---- */

/* Takes: read: looks for a run from *at on; sets *at to where that begins, or to the text's end; returns where it ends. */
static enum code read_runs(struct span text, size_t (*read)(struct runs *runs, size_t *at), struct buf *out)
{
    struct runs runs = {.text = text};
    struct buf_mark before = buf_mark(out);
    size_t copied = 0;
    enum code code;

    buf_init(&runs.letters, buf_room(out));
    buf_init(&runs.bytes, buf_room(out));
    buf_init(&runs.pieces, buf_room(out));
    for (size_t at = 0, end; at < text.len && buf_code(out) == CODE_OK; at = end) {
        end = read(&runs, &at);
        if (buf_fail(out, buf_code(&runs.pieces)) != CODE_OK || buf_is_empty(&runs.pieces))
            continue;
        buf_add_span(out, span_part(text, copied, at - copied));
        buf_add_span(out, buf_peek(&runs.pieces));
        buf_clear(&runs.pieces);
        copied = end;
    }
    code = buf_add_span(out, span_part(text, copied, SIZE_MAX));
    buf_fini(&runs.letters);
    buf_fini(&runs.bytes);
    buf_fini(&runs.pieces);
    if (code != CODE_OK || copied == 0)
        buf_rewind(out, before);
    return code != CODE_OK ? code : copied == 0 ? CODE_INVALID : CODE_OK;
}

enum code decode_base64(struct span text, struct buf *out)
{
    return read_runs(text, read_base64, out);
}

enum code decode_hex(struct span text, struct buf *out)
{
    return read_runs(text, read_hex, out);
}
