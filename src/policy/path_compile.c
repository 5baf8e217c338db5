/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/path.h"

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
    struct path *path;
    struct path_segment segments[PATH_SEGMENTS_MAX];
    struct path_selector selectors[SELECTORS_MAX]; /* of the segment being read */
};

static bool peek(const struct path_reader *r, char c)
{
    return r->at < r->text.len && r->text.at[r->at] == c;
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
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c >= 0x80;

        if (!letter && !(c >= '0' && c <= '9' && r->at > begin))
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

/* Behind `\u`: a code point, of two halves where it needs them. */
static enum code read_escaped_point(struct path_reader *r, uint32_t *point)
{
    uint32_t low;

    if (!read_hex4(r, point))
        return why_set(r->why, CODE_INVALID, "\\u needs four hexadecimal digits; write \\u00e4");
    if (*point < 0xd800 || *point > 0xdfff)
        return CODE_OK;
    if (*point < 0xdc00 && accept(r, '\\') && accept(r, 'u') && read_hex4(r, &low) && low >= 0xdc00 && low <= 0xdfff) {
        *point = 0x10000 + ((*point - 0xd800) << 10) + (low - 0xdc00);
        return CODE_OK;
    }
    return why_set(r->why, CODE_INVALID, "half a surrogate pair; write both halves or the character itself");
}

static enum code read_escape(struct path_reader *r, char quote, uint32_t *point)
{
    static const char from[] = "bfnrt/\\", to[] = "\b\f\n\r\t/\\";
    char c = r->at < r->text.len ? r->text.at[r->at] : '\0';

    r->at++;
    if (c == 'u')
        return read_escaped_point(r, point);
    for (size_t i = 0; i < sizeof from - 1; i++)
        if (c == from[i]) {
            *point = (uint32_t)to[i];
            return CODE_OK;
        }
    if (c == quote) {
        *point = (uint32_t)c;
        return CODE_OK;
    }
    r->at--;
    return why_set(r->why, CODE_INVALID, "an unknown escape in a quoted name; write \\\\ for a backslash");
}

static enum code read_quoted(struct path_reader *r, struct span *name)
{
    char quote = r->text.at[r->at++];
    char *out = arena_alloc(r->arena, r->text.len); /* decoding never makes it longer */
    size_t len = 0;

    if (out == NULL)
        return CODE_NOMEM;
    while (!peek(r, quote)) {
        enum code code;
        uint32_t point = 0;

        if (r->at >= r->text.len)
            return why_set(r->why, CODE_INVALID, "a quoted name does not end; add %c", quote);
        if ((unsigned char)r->text.at[r->at] < 0x20)
            return why_set(r->why, CODE_INVALID, "a control character in a quoted name; write it as \\u00XX");
        if (!accept(r, '\\')) {
            out[len++] = r->text.at[r->at++];
            continue;
        }
        code = read_escape(r, quote, &point);
        if (code != CODE_OK)
            return code;
        len += utf8_put(out + len, point);
    }
    r->at++;
    *name = span_of(out, len);
    return CODE_OK;
}

static bool at_number(const struct path_reader *r)
{
    return peek(r, '-') || (r->at < r->text.len && r->text.at[r->at] >= '0' && r->text.at[r->at] <= '9');
}

static enum code read_integer(struct path_reader *r, int64_t *value)
{
    bool negative = accept(r, '-');
    size_t begin = r->at;

    *value = 0;
    while (r->at < r->text.len && r->text.at[r->at] >= '0' && r->text.at[r->at] <= '9') {
        *value = *value * 10 + (r->text.at[r->at++] - '0');
        if (*value > SAFE_INTEGER)
            return why_set(r->why, CODE_INVALID, "the index is beyond 2^53-1; write a smaller one");
    }
    if (r->at == begin)
        return why_set(r->why, CODE_INVALID, "a number is missing behind `-`; write -1 for the last element");
    if ((r->at - begin > 1 && r->text.at[begin] == '0') || (negative && *value == 0)) {
        r->at = begin;
        return why_set(r->why, CODE_INVALID, "an index has no leading zero and is not -0; write it plainly");
    }
    if (negative)
        *value = -*value;
    return CODE_OK;
}

static enum code read_index_or_slice(struct path_reader *r, struct path_selector *selector)
{
    enum code code = CODE_OK;

    selector->kind = SELECTOR_INDEX;
    selector->step = 1;
    if (at_number(r)) {
        selector->has_begin = true;
        code = read_integer(r, &selector->index);
        if (code != CODE_OK)
            return code;
        skip_blanks(r);
    }
    if (!accept(r, ':'))
        return CODE_OK;
    selector->kind = SELECTOR_SLICE;
    skip_blanks(r);
    if (at_number(r)) {
        selector->has_end = true;
        code = read_integer(r, &selector->end);
        skip_blanks(r);
    }
    if (code == CODE_OK && accept(r, ':')) {
        skip_blanks(r);
        if (at_number(r))
            code = read_integer(r, &selector->step);
    }
    return code;
}

static enum code read_selector(struct path_reader *r, struct path_selector *selector)
{
    *selector = (struct path_selector){.kind = SELECTOR_NAME};
    if (peek(r, '\'') || peek(r, '"'))
        return read_quoted(r, &selector->name);
    if (accept(r, '*')) {
        selector->kind = SELECTOR_WILD;
        return CODE_OK;
    }
    if (at_number(r) || peek(r, ':'))
        return read_index_or_slice(r, selector);
    if (peek(r, '?'))
        return why_set(r->why, CODE_INVALID, "filter expressions are no part of this language; select more, add a condition");
    return why_set(r->why, CODE_INVALID, "nothing that selects; write ['name'], [0], [1:3] or [*]");
}

static enum code read_bracket(struct path_reader *r, uint32_t *count)
{
    enum code code;

    do {
        skip_blanks(r);
        if (*count == SELECTORS_MAX)
            return why_set(r->why, CODE_INVALID, "more than %d selectors in one bracket; write more conditions", SELECTORS_MAX);
        code = read_selector(r, &r->selectors[*count]);
        if (code != CODE_OK)
            return code;
        *count += 1;
        skip_blanks(r);
    } while (accept(r, ','));
    if (!accept(r, ']'))
        return why_set(r->why, CODE_INVALID, "the bracket does not close here; add ]");
    return CODE_OK;
}

/* Behind the dot or dots. */
static enum code read_dotted(struct path_reader *r, uint32_t *count)
{
    *count = 1;
    r->selectors[0] = (struct path_selector){.kind = SELECTOR_NAME};
    if (accept(r, '*')) {
        r->selectors[0].kind = SELECTOR_WILD;
        return CODE_OK;
    }
    r->selectors[0].name = read_word(r);
    if (r->selectors[0].name.len == 0)
        return why_set(r->why, CODE_INVALID, "a name is missing behind the dot; write .name, or ['a name'] for an unusual one");
    return CODE_OK;
}

/* Reads one segment into r->segments[at]. */
static enum code read_segment(struct path_reader *r, uint32_t at)
{
    struct path_segment *segment = &r->segments[at];
    uint32_t count = 0;
    enum code code;

    segment->descends = false;
    if (accept(r, '[')) {
        code = read_bracket(r, &count);
    } else if (accept(r, '.')) {
        segment->descends = accept(r, '.');
        if (segment->descends && accept(r, '['))
            code = read_bracket(r, &count);
        else
            code = read_dotted(r, &count);
    } else {
        return why_set(r->why, CODE_INVALID, "this cannot follow here; write .name, ['a name'], [0] or [*]");
    }
    if (code != CODE_OK)
        return code;
    segment->count = count;
    segment->selectors = (struct path_selector *)(void *)arena_dup(r->arena, r->selectors, count * sizeof *r->selectors);
    return segment->selectors ? CODE_OK : CODE_NOMEM;
}

static bool has_wild(const struct path_segment *segment)
{
    for (uint32_t i = 0; i < segment->count; i++)
        if (segment->selectors[i].kind == SELECTOR_WILD)
            return true;
    return false;
}

static enum code keep_segments(struct path_reader *r, uint32_t count)
{
    struct path *path = r->path;

    path->count = count;
    path->segments =
        (struct path_segment *)(void *)arena_dup(r->arena, r->segments, count * sizeof *r->segments);
    if (path->segments == NULL)
        return CODE_NOMEM;
    for (uint32_t i = 0; i < count; i++) {
        const struct path_segment *segment = &path->segments[i];

        path->descends |= segment->descends;
        path->has_inner_wild |= i + 1 < count && !segment->descends && has_wild(segment);
        path->ends_everywhere = segment->descends && has_wild(segment);
    }
    return CODE_OK;
}

static enum code read_path(struct path_reader *r)
{
    uint32_t count = 0;

    if (!accept(r, '$')) {
        r->selectors[0] = (struct path_selector){.kind = SELECTOR_NAME, .name = read_word(r)};
        if (r->at < r->text.len || r->at == 0)
            return why_set(r->why, CODE_INVALID,
                           "a path begins with $, and a bare word holds letters, digits and _ only; write '$.a.b' or "
                           "\"$['a b']\"");
        r->segments[0] = (struct path_segment){.count = 1};
        r->segments[0].selectors = (struct path_selector *)(void *)arena_dup(r->arena, r->selectors, sizeof *r->selectors);
        return r->segments[0].selectors ? keep_segments(r, 1) : CODE_NOMEM;
    }
    for (skip_blanks(r); r->at < r->text.len; skip_blanks(r)) {
        enum code code;

        if (count == PATH_SEGMENTS_MAX)
            return why_set(r->why, CODE_INVALID, "more than %d steps; nothing is that deep", PATH_SEGMENTS_MAX);
        code = read_segment(r, count);
        if (code != CODE_OK)
            return code;
        count++;
    }
    if (strchr(" \t\r\n", r->text.at[r->text.len - 1]) != NULL)
        return why_set(r->why, CODE_INVALID, "blanks at the end; take them away");
    return keep_segments(r, count);
}

enum code path_select_members(struct path *path, struct arena *arena)
{
    static const struct path_selector wild = {.kind = SELECTOR_WILD};
    struct path_segment *segments;

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
    enum code code = CODE_INVALID;

    *path = (struct path){.count = 0};
    *offset = 0;
    if (r == NULL)
        return CODE_NOMEM;
    path->text = span_of(arena_dup(arena, text.at, text.len), text.len);
    *r = (struct path_reader){.text = path->text, .arena = arena, .why = why, .path = path};
    if (path->text.at == NULL)
        code = CODE_NOMEM;
    else if (!unicode_is_utf8(text))
        code = why_set(why, CODE_INVALID, "not valid UTF-8; save the file as UTF-8");
    else if (text.len == 0)
        code = why_set(why, CODE_INVALID, "an empty path; write a member's name, or $ for everything");
    else
        code = read_path(r);
    *offset = r->at < text.len ? r->at : text.len;
    mem_free(r);
    return code;
}
