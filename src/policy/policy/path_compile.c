/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/path.h"

#include "base/ascii.h"
#include "base/num.h"
#include "base/utf8.h"
#include "unicode/unicode.h"

#define SELECTORS_MAX 64
#define SAFE_INTEGER INT64_C(9007199254740991)

struct path_reader {
    struct span text;
    size_t at;
    struct arena *arena;
    struct why *why;
    enum code code; /* sticks; the first fault is the one that is told, and `at` stays there */
    struct path *path;
    struct path_segment segments[PATH_SEGMENTS_MAX];
    struct path_selector selectors[SELECTORS_MAX]; /* of the segment being read */
};

/* Behind the first fault nothing more is read. */
static bool is_over(const struct path_reader *r)
{
    return r->at >= r->text.len || r->code != CODE_OK;
}

static bool peek(const struct path_reader *r, char c)
{
    return !is_over(r) && r->text.at[r->at] == c;
}

static bool accept(struct path_reader *r, char c)
{
    if (!peek(r, c))
        return false;
    r->at++;
    return true;
}

static void skip_blanks(struct path_reader *r)
{
    while (peek(r, ' ') || peek(r, '\t') || peek(r, '\n') || peek(r, '\r'))
        r->at++;
}

/* RFC 9535, member-name-shorthand: a letter, `_` or anything beyond ASCII first, then digits too. */
static struct span read_word(struct path_reader *r)
{
    size_t begin = r->at;

    while (r->at < r->text.len) {
        unsigned char c = (unsigned char)r->text.at[r->at];
        if (!ascii_is_letter((char)c) && c != '_' && c < 0x80 && !(ascii_is_digit((char)c) && r->at > begin))
            break;
        r->at++;
    }
    return span_part(r->text, begin, r->at - begin);
}

static bool read_hex4(struct path_reader *r, uint32_t *value)
{
    *value = 0;
    for (int i = 0; i < 4; i++, r->at++) {
        int digit = r->at < r->text.len ? num_hex_digit(r->text.at[r->at]) : -1;

        if (digit < 0)
            return false;
        *value = *value << 4 | (uint32_t)digit;
    }
    return true;
}

#define FAULT(r, ...) \
    do { \
        if ((r)->code == CODE_OK) \
            (r)->code = why_set((r)->why, CODE_INVALID, __VA_ARGS__); \
    } while (0)

/* Behind `\u`: a code point, of two halves where it needs them. */
static uint32_t read_escaped_point(struct path_reader *r)
{
    uint32_t point, low;

    if (!read_hex4(r, &point))
        FAULT(r, "\\u needs four hexadecimal digits; write \\u00e4");
    if (point < 0xd800 || point > 0xdfff)
        return point;
    if (point < 0xdc00 && accept(r, '\\') && accept(r, 'u') && read_hex4(r, &low) && low >= 0xdc00 && low <= 0xdfff)
        return 0x10000 + ((point - 0xd800) << 10) + (low - 0xdc00);
    FAULT(r, "half a surrogate pair; write both halves or the character itself");
    return 0;
}

static uint32_t read_escape(struct path_reader *r, char quote)
{
    static const char from[] = "bfnrt/\\", to[] = "\b\f\n\r\t/\\";
    char c = r->at < r->text.len ? r->text.at[r->at] : '\0';

    r->at++;
    if (c == 'u')
        return read_escaped_point(r);
    for (size_t i = 0; i < sizeof from - 1; i++)
        if (c == from[i])
            return (uint32_t)to[i];
    if (c == quote)
        return (uint32_t)c;
    r->at--;
    FAULT(r, "an unknown escape in a quoted name; write \\\\ for a backslash");
    return 0;
}

static struct span read_quoted(struct path_reader *r)
{
    char quote = r->text.at[r->at++];
    char *out = arena_alloc(r->arena, r->text.len); /* decoding never makes it longer */
    size_t len = 0;

    if (out == NULL)
        r->code = CODE_NOMEM;
    while (r->code == CODE_OK && !accept(r, quote)) {
        if (r->at >= r->text.len)
            FAULT(r, "a quoted name does not end; add %c", quote);
        else if ((unsigned char)r->text.at[r->at] < 0x20)
            FAULT(r, "a control character in a quoted name; write it as \\u00XX");
        else if (accept(r, '\\'))
            len += utf8_put(out + len, read_escape(r, quote));
        else
            out[len++] = r->text.at[r->at++];
    }
    return span_of(out, len);
}

static bool at_digit(const struct path_reader *r)
{
    return !is_over(r) && ascii_is_digit(r->text.at[r->at]);
}

static bool at_number(const struct path_reader *r)
{
    return peek(r, '-') || at_digit(r);
}

static int64_t read_integer(struct path_reader *r)
{
    bool negative = accept(r, '-');
    size_t begin = r->at;
    int64_t value = 0;

    while (at_digit(r)) {
        value = value * 10 + (r->text.at[r->at++] - '0');
        if (value > SAFE_INTEGER)
            FAULT(r, "the index is beyond 2^53-1; write a smaller one");
    }
    if (r->at == begin)
        FAULT(r, "a number is missing behind `-`; write -1 for the last element");
    if (r->code == CODE_OK && ((r->at - begin > 1 && r->text.at[begin] == '0') || (negative && value == 0))) {
        r->at = begin;
        FAULT(r, "an index has no leading zero and is not -0; write it plainly");
    }
    return negative ? -value : value;
}

static void read_index_or_slice(struct path_reader *r, struct path_selector *selector)
{
    selector->kind = SELECTOR_INDEX;
    selector->step = 1;
    if (at_number(r)) {
        selector->has_begin = true;
        selector->index = read_integer(r);
        skip_blanks(r);
    }
    if (!accept(r, ':'))
        return;
    selector->kind = SELECTOR_SLICE;
    skip_blanks(r);
    if (at_number(r)) {
        selector->has_end = true;
        selector->end = read_integer(r);
        skip_blanks(r);
    }
    if (accept(r, ':')) {
        skip_blanks(r);
        if (at_number(r))
            selector->step = read_integer(r);
    }
}

static void read_selector(struct path_reader *r, struct path_selector *selector)
{
    *selector = (struct path_selector){.kind = SELECTOR_NAME};
    if (peek(r, '\'') || peek(r, '"'))
        selector->name = read_quoted(r);
    else if (accept(r, '*'))
        selector->kind = SELECTOR_WILD;
    else if (at_number(r) || peek(r, ':'))
        read_index_or_slice(r, selector);
    else if (peek(r, '?'))
        FAULT(r, "filter expressions are no part of this language; select more, add a condition");
    else
        FAULT(r, "nothing that selects; write ['name'], [0], [1:3] or [*]");
}

static uint32_t read_bracket(struct path_reader *r)
{
    uint32_t count = 0;

    do {
        skip_blanks(r);
        if (count == SELECTORS_MAX)
            FAULT(r, "more than %d selectors in one bracket; write more conditions", SELECTORS_MAX);
        else
            read_selector(r, &r->selectors[count++]);
        skip_blanks(r);
    } while (accept(r, ','));
    if (!accept(r, ']'))
        FAULT(r, "the bracket does not close here; add ]");
    return count;
}

/* Behind the dot or dots. */
static uint32_t read_dotted(struct path_reader *r)
{
    r->selectors[0] = (struct path_selector){.kind = SELECTOR_NAME};
    if (accept(r, '*')) {
        r->selectors[0].kind = SELECTOR_WILD;
        return 1;
    }
    r->selectors[0].name = read_word(r);
    if (r->selectors[0].name.len == 0)
        FAULT(r, "a name is missing behind the dot; write .name, or ['a name'] for an unusual one");
    return 1;
}

/* Makes the segment of the selectors that were read. */
static struct path_segment segment_of(struct path_reader *r, bool descends, uint32_t count)
{
    char *selectors = r->code == CODE_OK ? arena_dup(r->arena, r->selectors, count * sizeof *r->selectors) : NULL;

    if (selectors == NULL && r->code == CODE_OK)
        r->code = CODE_NOMEM;
    return (struct path_segment){descends, count, (const struct path_selector *)(void *)selectors};
}

static struct path_segment read_segment(struct path_reader *r)
{
    bool descends = false;
    uint32_t count = 0;

    if (accept(r, '[')) {
        count = read_bracket(r);
    } else if (accept(r, '.')) {
        descends = accept(r, '.');
        count = descends && accept(r, '[') ? read_bracket(r) : read_dotted(r);
    } else {
        FAULT(r, "this cannot follow here; write .name, ['a name'], [0] or [*]");
    }
    return segment_of(r, descends, count);
}

static bool has_wild(const struct path_segment *segment)
{
    for (uint32_t i = 0; i < segment->count; i++)
        if (segment->selectors[i].kind == SELECTOR_WILD)
            return true;
    return false;
}

static void keep_segments(struct path_reader *r, uint32_t count)
{
    struct path *path = r->path;
    char *segments = r->code == CODE_OK ? arena_dup(r->arena, r->segments, count * sizeof *r->segments) : NULL;

    if (segments == NULL) {
        r->code = r->code == CODE_OK ? CODE_NOMEM : r->code;
        return;
    }
    path->count = count;
    path->segments = (const struct path_segment *)(void *)segments;
    for (uint32_t i = 0; i < count; i++) {
        const struct path_segment *segment = &path->segments[i];

        path->descends |= segment->descends;
        path->has_inner_wild |= i + 1 < count && !segment->descends && has_wild(segment);
        path->ends_everywhere = segment->descends && has_wild(segment);
    }
}

static void read_path(struct path_reader *r)
{
    uint32_t count = 0;

    if (!accept(r, '$')) {
        r->selectors[0] = (struct path_selector){.kind = SELECTOR_NAME, .name = read_word(r)};
        if (r->at < r->text.len || r->at == 0)
            FAULT(r, "a path begins with $, and a bare word holds letters, digits and _ only; write '$.a.b' or \"$['a b']\"");
        r->segments[count++] = segment_of(r, false, 1);
    } else {
        for (skip_blanks(r); !is_over(r); skip_blanks(r)) {
            if (count == PATH_SEGMENTS_MAX)
                FAULT(r, "more than %d steps; nothing is that deep", PATH_SEGMENTS_MAX);
            else
                r->segments[count++] = read_segment(r);
        }
        if (r->code == CODE_OK && strchr(" \t\r\n", r->text.at[r->text.len - 1]) != NULL)
            FAULT(r, "blanks at the end; take them away");
    }
    keep_segments(r, count);
}

enum code path_select_members(struct path *path, struct arena *arena)
{
    static const struct path_selector wild = {.kind = SELECTOR_WILD};
    struct path_segment *segments;
    struct path *next;

    if (path->next != NULL) {
        next = arena_alloc(arena, sizeof *next);
        if (next == NULL)
            return CODE_NOMEM;
        *next = *path->next;
        path->next = next;
        if (path_select_members(next, arena) != CODE_OK)
            return CODE_NOMEM;
    }
    if (path->count > 0 && has_wild(&path->segments[path->count - 1]))
        return CODE_OK;
    segments = arena_zalloc(arena, (path->count + 1) * sizeof *segments);
    if (segments == NULL)
        return CODE_NOMEM;
    if (path->count > 0)
        memcpy(segments, path->segments, path->count * sizeof *segments);
    segments[path->count++] = (struct path_segment){.count = 1, .selectors = &wild};
    path->segments = segments;
    return CODE_OK;
}

enum code path_compile(struct span text, struct arena *arena, struct path *path, size_t *offset, struct why *why)
{
    struct path_reader *r = mem_zalloc(sizeof *r);
    enum code code;

    *path = (struct path){.count = 0};
    *offset = 0;
    if (r == NULL)
        return CODE_NOMEM;
    path->text = span_of(arena_dup(arena, text.at, text.len), text.len);
    *r = (struct path_reader){.text = path->text, .arena = arena, .why = why, .path = path};
    if (path->text.at == NULL)
        r->code = CODE_NOMEM;
    else if (!unicode_is_utf8(text))
        FAULT(r, "not valid UTF-8; save the file as UTF-8");
    else if (text.len == 0)
        FAULT(r, "an empty path; write a member's name, or $ for everything");
    else
        read_path(r);
    *offset = r->at < text.len ? r->at : text.len;
    code = r->code;
    mem_free(r);
    return code;
}
