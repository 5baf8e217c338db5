/* SPDX-License-Identifier: Apache-2.0 */
/* utf8proc's own normalization sorts marks by exchanging neighbours: half a million marks on one letter would take
 * minutes. So utf8proc only decomposes and composes here, and the marks are sorted in this file. A text is taken in
 * pieces that begin with a code point of ASCII, because that never joins what stands before it. */
#include "base/ascii.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "unicode/unicode.h"

#include <utf8proc.h>

#define POINTS_MAX ((size_t)1 << 20)
#define ONE_MAX 32 /* room for what one code point becomes: 18 at most (UAX 15) */
#define FEW 16     /* marks that are sorted in place */
#define OPTIONS (UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_COMPAT)
#define FOLDS (OPTIONS | UTF8PROC_CASEFOLD)

struct piece {
    utf8proc_int32_t *points, *sorted;
    size_t count, size;
    utf8proc_option_t options;
};

static enum code make_room(struct piece *piece)
{
    size_t size = piece->size > 0 ? piece->size * 2 : 256;
    utf8proc_int32_t *points;

    if (piece->count + ONE_MAX > POINTS_MAX)
        return CODE_LIMIT;
    if (piece->count + ONE_MAX <= piece->size)
        return CODE_OK;
    points = mem_resize(piece->points, size * sizeof *points);
    if (points == NULL)
        return CODE_NOMEM;
    piece->points = points;
    piece->size = size;
    mem_free(piece->sorted);
    piece->sorted = NULL;
    return CODE_OK;
}

static enum code decompose(struct piece *piece, struct span text)
{
    piece->count = 0;
    while (text.len > 0) {
        utf8proc_ssize_t more;
        uint32_t point;
        size_t taken = unicode_next(text, &point);
        enum code code = make_room(piece);

        if (taken == 0)
            return CODE_INVALID;
        if (code != CODE_OK)
            return code;
        text = span_part(text, taken, SIZE_MAX);
        if (piece->options != FOLDS && unicode_is_ignorable(point))
            continue;
        more = utf8proc_decompose_char((utf8proc_int32_t)point, piece->points + piece->count, ONE_MAX, OPTIONS, NULL);
        if (more < 0 || more > ONE_MAX)
            return CODE_INVALID;
        piece->count += (size_t)more;
    }
    return CODE_OK;
}

static unsigned class_of(utf8proc_int32_t point)
{
    return (unsigned)utf8proc_get_property(point)->combining_class & 0xff;
}

static void sort_few(utf8proc_int32_t *marks, size_t count)
{
    for (size_t i = 1; i < count; i++)
        for (size_t k = i; k > 0 && class_of(marks[k - 1]) > class_of(marks[k]); k--) {
            utf8proc_int32_t mark = marks[k];

            marks[k] = marks[k - 1];
            marks[k - 1] = mark;
        }
}

/* Sorts by counting, which keeps the order of marks of equal class. */
static void sort_many(utf8proc_int32_t *marks, utf8proc_int32_t *sorted, size_t count)
{
    size_t begin[257] = {0};

    for (size_t i = 0; i < count; i++)
        begin[class_of(marks[i]) + 1]++;
    for (size_t i = 1; i < 257; i++)
        begin[i] += begin[i - 1];
    for (size_t i = 0; i < count; i++)
        sorted[begin[class_of(marks[i])]++] = marks[i];
    memcpy(marks, sorted, count * sizeof *marks);
}

/* Unicode's canonical ordering: each run of marks by class. */
static enum code order(struct piece *piece)
{
    for (size_t i = 0; i < piece->count; i++) {
        size_t begin = i;

        while (i < piece->count && class_of(piece->points[i]) != 0)
            i++;
        if (i - begin <= FEW) {
            sort_few(piece->points + begin, i - begin);
            continue;
        }
        if (piece->sorted == NULL)
            piece->sorted = mem_alloc(piece->size * sizeof *piece->sorted);
        if (piece->sorted == NULL)
            return CODE_NOMEM;
        sort_many(piece->points + begin, piece->sorted, i - begin);
    }
    return CODE_OK;
}

/* Folds what is decomposed and in order: a mark that becomes a letter (U+0345) must have been behind the others by then. */
static enum code fold(struct piece *piece)
{
    size_t count = piece->count;
    utf8proc_int32_t *points = mem_alloc((count + 1) * sizeof *points);
    enum code code = points != NULL ? CODE_OK : CODE_NOMEM;

    if (points != NULL && count > 0)
        memcpy(points, piece->points, count * sizeof *points);
    piece->count = 0;
    for (size_t i = 0; i < count && code == CODE_OK; i++) {
        utf8proc_ssize_t more;

        code = make_room(piece);
        if (code != CODE_OK)
            break;
        more = utf8proc_decompose_char(points[i], piece->points + piece->count, ONE_MAX, FOLDS, NULL);
        if (more < 0 || more > ONE_MAX)
            code = CODE_INVALID;
        else
            piece->count += (size_t)more;
    }
    mem_free(points);
    return code == CODE_OK ? order(piece) : code;
}

static enum code add_piece(struct piece *piece, struct span text, struct buf *out)
{
    enum code code = decompose(piece, text);
    utf8proc_ssize_t count;
    size_t len = 0;
    char *at;

    if (code == CODE_OK)
        code = order(piece);
    if (code == CODE_OK && piece->options == FOLDS)
        code = fold(piece);
    if (code != CODE_OK)
        return code;
    count = utf8proc_normalize_utf32(piece->points, (utf8proc_ssize_t)piece->count, OPTIONS);
    if (count < 0)
        return CODE_INVALID;
    code = buf_reserve(out, 4 * (size_t)count, &at);
    if (code != CODE_OK)
        return code;
    for (utf8proc_ssize_t i = 0; i < count; i++)
        len += utf8_put(at + len, (uint32_t)piece->points[i]);
    buf_commit(out, len);
    return CODE_OK;
}

static size_t run_of(struct span text, bool ascii)
{
    size_t len = 0;

    while (len < text.len && ((unsigned char)text.at[len] < 0x80) == ascii)
        len++;
    return len;
}

/* Appends ASCII, which is in every normal form already. */
static enum code add_ascii(struct span text, bool folds, struct buf *out)
{
    enum code code;
    char *at;

    if (!folds)
        return buf_add_span(out, text);
    code = buf_reserve(out, text.len, &at);
    if (code != CODE_OK)
        return code;
    (void)ascii_lower_all(text, at);
    buf_commit(out, text.len);
    return CODE_OK;
}

static enum code add_normal(struct span text, utf8proc_option_t options, struct buf *out)
{
    struct piece piece = {.options = options};
    struct buf_mark before = buf_mark(out);
    enum code code = CODE_OK;

    while (text.len > 0 && code == CODE_OK) {
        size_t ascii = run_of(text, true), others = run_of(span_part(text, ascii, SIZE_MAX), false);
        size_t joined = ascii > 0 && others > 0; /* the last of ASCII takes the marks behind it */

        code = add_ascii(span_part(text, 0, ascii - joined), options == FOLDS, out);
        if (code == CODE_OK && others > 0)
            code = add_piece(&piece, span_part(text, ascii - joined, joined + others), out);
        text = span_part(text, ascii + others, SIZE_MAX);
    }
    if (code != CODE_OK)
        buf_rewind(out, before);
    mem_free(piece.points);
    mem_free(piece.sorted);
    return code;
}

enum code unicode_plain(struct span text, struct buf *out)
{
    return add_normal(text, OPTIONS, out);
}

enum code unicode_fold(struct span text, struct buf *out)
{
    return add_normal(text, FOLDS, out);
}
