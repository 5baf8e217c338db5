/* SPDX-License-Identifier: Apache-2.0 */
#include "toml/toml.h"

#include "base/ascii.h"
#include "base/num.h"
#include "base/utf8.h"
#include "json/json.h"

#include <stdio.h>
#include <string.h>

#define PARTS_MOST 12
#define KEYS_MOST 4096
#define VALUES_DEEP 16
#define TEXT_BYTES ((size_t)1 << 20)

struct key {
    struct span parts[PARTS_MOST];
    size_t depth;
};

/* A key with its value; a table with none. */
struct entry {
    struct key key;
    struct span json;
    bool is_element; /* of an array of tables: the last part of its key is its number */
};

struct toml {
    struct arena arena;
    struct span rest;
    int line;
    unsigned tables; /* of arrays of tables, each with a number for a name */
    struct entry *entries;
    size_t count;
    const char *file;
    struct faults *faults;
    bool is_bad;
};

static bool fail(struct toml *toml, const char *what)
{
    if (!toml->is_bad)
        faults_add(toml->faults, toml->file, toml->line, 1, "%s", what);
    toml->is_bad = true;
    return false;
}

static char next(const struct toml *toml)
{
    return toml->rest.len > 0 ? toml->rest.at[0] : '\0';
}

static void skip(struct toml *toml, size_t many)
{
    for (size_t i = 0; i < many && i < toml->rest.len; i++)
        toml->line += toml->rest.at[i] == '\n';
    toml->rest = span_part(toml->rest, many, SIZE_MAX);
}

/* Blanks and comments; line ends, too, where they mean nothing. */
static void skip_blanks(struct toml *toml, bool with_lines)
{
    for (;;) {
        char c = next(toml);

        if (toml->rest.len > 0 && c == '#')
            skip(toml, span_find(toml->rest, '\n'));
        else if (c == ' ' || c == '\t' || (with_lines && (c == '\n' || c == '\r')))
            skip(toml, 1);
        else
            return;
    }
}

/* ---- texts ---- */

static bool read_escape(struct toml *toml, struct buf *out)
{
    static const char letters[] = "btnfr\"\\", means[] = "\b\t\n\f\r\"\\";
    char c = toml->rest.len > 1 ? toml->rest.at[1] : '\0';
    const char *simple = c != '\0' ? strchr(letters, c) : NULL;
    size_t digits = c == 'u' ? 4 : c == 'U' ? 8 : 0;
    unsigned code = 0;
    char point[4];

    if (simple != NULL) {
        skip(toml, 2);
        (void)buf_add_byte(out, means[simple - letters]);
        return true;
    }
    for (size_t i = 0; i < digits; i++) {
        int digit = i + 2 < toml->rest.len ? num_hex_digit(toml->rest.at[i + 2]) : -1;

        if (digit < 0)
            return fail(toml, "an escape in a text is none that TOML has");
        code = code << 4 | (unsigned)digit;
    }
    if (digits == 0 || code == 0 || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
        return fail(toml, "an escape in a text is none that TOML has");
    skip(toml, 2 + digits);
    (void)buf_add(out, point, utf8_put(point, code));
    return true;
}

static bool begins_lines(struct span text, char quote)
{
    return text.len > 2 && text.at[0] == quote && text.at[1] == quote && text.at[2] == quote;
}

/* What is blank behind a backslash at a line's end, up to the next character, is not part of the text. */
static bool skip_fold(struct toml *toml)
{
    size_t len = 1;

    while (len < toml->rest.len && ascii_is_of(toml->rest.at[len], " \t\r\n"))
        len++;
    if (span_find(span_part(toml->rest, 0, len), '\n') == len)
        return false;
    skip(toml, len);
    return true;
}

/* How many quotes stand here, of five at most: three end a text of several lines, and two more before them are its own. */
static size_t count_quotes(const struct toml *toml, char quote)
{
    size_t many = 0;

    while (many < 5 && many < toml->rest.len && toml->rest.at[many] == quote)
        many++;
    return many;
}

static bool is_control(const struct toml *toml, bool has_lines)
{
    char c = next(toml);

    return c == '\0' || (ascii_is_of(c, "\x01-\x08\x0b-\x1f\x7f") &&
                         !(has_lines && span_starts_with(toml->rest, SPAN_LIT("\r\n"))));
}

/* What stands next in a text: a character, or what is written for some. */
static bool read_piece(struct toml *toml, char quote, bool has_lines, struct buf *out)
{
    char c = next(toml);

    if (toml->rest.len == 0 || (!has_lines && c == '\n'))
        return fail(toml, has_lines ? "a text of several lines does not end" : "a text does not end in its line");
    if (quote == '"' && c == '\\')
        return (has_lines && skip_fold(toml)) || read_escape(toml, out);
    if (is_control(toml, has_lines))
        return fail(toml, "a control character stands in a text");
    (void)buf_add_byte(out, c);
    skip(toml, 1);
    return true;
}

/* A text in quotes, into the arena. */
static bool read_text(struct toml *toml, struct span *text)
{
    char quote = next(toml);
    size_t quotes = begins_lines(toml->rest, quote) ? 3 : 1, many;
    struct buf out;
    bool good = true;

    buf_init(&out, TEXT_BYTES);
    skip(toml, quotes);
    if (quotes == 3)
        skip(toml, span_starts_with(toml->rest, SPAN_LIT("\r\n")) ? 2 : next(toml) == '\n');
    while (good && (many = count_quotes(toml, quote)) < quotes)
        good = read_piece(toml, quote, quotes == 3, &out);
    if (good && quotes == 3)
        (void)buf_add_span(&out, span_part(toml->rest, 0, many - quotes));
    if (good)
        skip(toml, quotes == 3 ? many : quotes);
    if (good && (buf_code(&out) != CODE_OK || arena_keep(&toml->arena, buf_peek(&out), text) != CODE_OK))
        good = fail(toml, "a text is too long");
    buf_fini(&out);
    return good;
}

/* ---- keys ---- */

static bool read_key(struct toml *toml, struct key *key)
{
    do {
        struct span *part = &key->parts[key->depth];
        size_t len = 0;

        skip_blanks(toml, false);
        if (key->depth == PARTS_MOST)
            return fail(toml, "a key has too many parts");
        if (next(toml) == '"' || next(toml) == '\'') {
            if (begins_lines(toml->rest, next(toml)))
                return fail(toml, "a key stands in one line");
            if (!read_text(toml, part))
                return false;
        } else {
            while (len < toml->rest.len && ascii_is_of(toml->rest.at[len], "a-zA-Z0-9_-"))
                len++;
            if (len == 0)
                return fail(toml, "a key is missing; write NAME = VALUE, or [TABLE]");
            *part = span_part(toml->rest, 0, len);
            skip(toml, len);
        }
        key->depth++;
        skip_blanks(toml, false);
    } while (next(toml) == '.' && (skip(toml, 1), true));
    return true;
}

/* ---- values, as JSON ---- */

static bool write_value(struct toml *toml, unsigned deep, struct buf *out);

static bool write_array(struct toml *toml, unsigned deep, struct buf *out)
{
    skip(toml, 1);
    (void)buf_add_byte(out, '[');
    for (bool any = false;; any = true) {
        skip_blanks(toml, true);
        if (next(toml) == ']')
            break;
        if (any)
            (void)buf_add_byte(out, ',');
        if (!write_value(toml, deep + 1, out))
            return false;
        skip_blanks(toml, true);
        if (next(toml) == ',')
            skip(toml, 1);
        else if (next(toml) != ']')
            return fail(toml, "an array goes on with `,` or ends with `]`");
    }
    skip(toml, 1);
    return buf_add_byte(out, ']') == CODE_OK;
}

static bool write_table(struct toml *toml, unsigned deep, struct buf *out)
{
    skip(toml, 1);
    (void)buf_add_byte(out, '{');
    for (bool any = false;; any = true) {
        struct key key = {.depth = 0};

        skip_blanks(toml, false);
        if (!any && next(toml) == '}')
            break;
        if (!read_key(toml, &key) || (key.depth != 1 && !fail(toml, "a key with a dot in an inline table is not read here")))
            return false;
        if (next(toml) != '=')
            return fail(toml, "a key is followed by `=`");
        skip(toml, 1);
        if (any)
            (void)buf_add_byte(out, ',');
        (void)json_write_string(out, key.parts[0]);
        (void)buf_add_byte(out, ':');
        if (!write_value(toml, deep + 1, out))
            return false;
        skip_blanks(toml, false);
        if (next(toml) == '}')
            break;
        if (next(toml) != ',')
            return fail(toml, "an inline table goes on with `,` or ends with `}`");
        skip(toml, 1);
    }
    skip(toml, 1);
    return buf_add_byte(out, '}') == CODE_OK;
}

static bool is_number_or_time(struct span text)
{
    struct span behind = span_part(text, ascii_is_of(text.at[0], "+-"), SIZE_MAX);

    return ascii_is_of(behind.len > 0 ? behind.at[0] : 'x', "0-9") || span_is(behind, "inf") || span_is(behind, "nan");
}

/* Numbers and times mean nothing here: they are texts. */
static bool write_value(struct toml *toml, unsigned deep, struct buf *out)
{
    struct span text;
    size_t len = 0;

    skip_blanks(toml, false);
    if (deep > VALUES_DEEP)
        return fail(toml, "values stand too deep in one another");
    if (next(toml) == '[')
        return write_array(toml, deep, out);
    if (next(toml) == '{')
        return write_table(toml, deep, out);
    if (next(toml) == '"' || next(toml) == '\'') {
        if (!read_text(toml, &text))
            return false;
        (void)json_write_string(out, text);
        return true;
    }
    while (len < toml->rest.len && ascii_is_of(toml->rest.at[len], "a-zA-Z0-9_.:+-"))
        len++;
    text = span_part(toml->rest, 0, len);
    skip(toml, len);
    if (len == 0)
        return fail(toml, "a value is missing");
    if (span_is(text, "true") || span_is(text, "false"))
        (void)buf_add_span(out, text);
    else if (is_number_or_time(text))
        (void)json_write_string(out, text);
    else
        return fail(toml, "a value is none that TOML has; a text stands in quotes");
    return true;
}

/* ---- the whole ---- */

static bool add_entry(struct toml *toml, const struct key *table, const struct key *key, struct span json)
{
    struct entry *entry = &toml->entries[toml->count];

    if (toml->count == KEYS_MOST)
        return fail(toml, "it has more keys than 4,096");
    if (table->depth + key->depth > PARTS_MOST)
        return fail(toml, "a key has too many parts");
    entry->key = *table;
    for (size_t i = 0; i < key->depth; i++)
        entry->key.parts[entry->key.depth++] = key->parts[i];
    entry->json = json;
    toml->count++;
    return true;
}

static bool same_start(const struct key *a, const struct key *b, size_t depth)
{
    for (size_t i = 0; i < depth; i++)
        if (i >= a->depth || i >= b->depth || !span_equals(a->parts[i], b->parts[i]))
            return false;
    return true;
}

/* The element that stands last of the array of tables with this name; NULL: it is no such array. */
static const struct key *last_element(const struct toml *toml, const struct key *name)
{
    for (size_t i = toml->count; i-- > 0;)
        if (toml->entries[i].is_element && toml->entries[i].key.depth == name->depth + 1 &&
            same_start(&toml->entries[i].key, name, name->depth))
            return &toml->entries[i].key;
    return NULL;
}

/* Writes a table's name with the numbers of the elements that it stands in. */
static bool find_table(struct toml *toml, const struct key *name, bool is_array, struct key *table)
{
    const struct key *element;

    *table = (struct key){.depth = 0};
    for (size_t i = 0; i < name->depth; i++) {
        if (table->depth + 1 >= PARTS_MOST)
            return fail(toml, "a key has too many parts");
        table->parts[table->depth++] = name->parts[i];
        element = last_element(toml, table);
        if (element != NULL && i + 1 < name->depth)
            *table = *element;
        else if (element != NULL && !is_array)
            return fail(toml, "a table stands twice");
    }
    return true;
}

static bool read_table(struct toml *toml, struct key *table)
{
    bool is_array = toml->rest.len > 1 && toml->rest.at[1] == '[';
    static const struct key none;
    struct key name = {.depth = 0};
    char number[24];

    skip(toml, is_array ? 2 : 1);
    if (!read_key(toml, &name))
        return false;
    if (next(toml) != ']' || (is_array && (toml->rest.len < 2 || toml->rest.at[1] != ']')))
        return fail(toml, "a table's name ends with `]`");
    skip(toml, is_array ? 2 : 1);
    if (!find_table(toml, &name, is_array, table))
        return false;
    for (size_t i = 0; i < toml->count && !is_array; i++)
        if (toml->entries[i].json.at == NULL && toml->entries[i].key.depth == table->depth &&
            same_start(&toml->entries[i].key, table, table->depth))
            return fail(toml, "a table stands twice");
    if (is_array && arena_keep(&toml->arena, span_of(number, (size_t)snprintf(number, sizeof number, "%u", toml->tables++)),
                               &table->parts[table->depth++]) != CODE_OK)
        return fail(toml, "not enough memory");
    if (!add_entry(toml, table, &none, SPAN_NONE))
        return false;
    toml->entries[toml->count - 1].is_element = is_array;
    return true;
}

static bool read_line(struct toml *toml, struct key *table)
{
    struct key key = {.depth = 0};
    struct span kept;
    struct buf json;
    bool good;

    if (next(toml) == '[')
        return read_table(toml, table);
    if (!read_key(toml, &key))
        return false;
    if (next(toml) != '=')
        return fail(toml, "a key is followed by `=`");
    skip(toml, 1);
    buf_init(&json, TEXT_BYTES);
    good = write_value(toml, 0, &json);
    if (good && (buf_code(&json) != CODE_OK || arena_keep(&toml->arena, buf_peek(&json), &kept) != CODE_OK))
        good = fail(toml, "a value is too long");
    buf_fini(&json);
    return good && add_entry(toml, table, &key, kept);
}

/* Writes all below the first `depth` parts of `of`. What stands twice is written twice, which the reader of JSON refuses. */
static void write_below(const struct toml *toml, const struct key *of, size_t depth, struct buf *out)
{
    bool any = false;

    (void)buf_add_byte(out, '{');
    for (size_t i = 0; i < toml->count; i++) {
        const struct entry *entry = &toml->entries[i];
        bool is_leaf = entry->key.depth == depth + 1 && entry->json.at != NULL, is_known = false;

        if (entry->key.depth <= depth || !same_start(&entry->key, of, depth))
            continue;
        for (size_t j = 0; j < i && !is_leaf; j++)
            is_known = is_known || (same_start(&toml->entries[j].key, &entry->key, depth + 1) &&
                                    !(toml->entries[j].key.depth == depth + 1 && toml->entries[j].json.at != NULL));
        if (is_known)
            continue;
        if (any)
            (void)buf_add_byte(out, ',');
        any = true;
        (void)json_write_string(out, entry->key.parts[depth]);
        (void)buf_add_byte(out, ':');
        if (is_leaf)
            (void)buf_add_span(out, entry->json);
        else
            write_below(toml, &entry->key, depth + 1, out);
    }
    (void)buf_add_byte(out, '}');
}

enum code toml_to_json(struct span text, const char *file, struct buf *json, struct faults *faults)
{
    struct toml toml = {.rest = text, .line = 1, .file = file, .faults = faults};
    struct key table = {.depth = 0};
    bool good;

    arena_init(&toml.arena, (size_t)64 << 20);
    toml.entries = arena_zalloc(&toml.arena, KEYS_MOST * sizeof *toml.entries);
    good = toml.entries != NULL || fail(&toml, "not enough memory");
    for (skip_blanks(&toml, true); good && toml.rest.len > 0; skip_blanks(&toml, true)) {
        good = read_line(&toml, &table);
        skip_blanks(&toml, false);
        if (good && toml.rest.len > 0 && next(&toml) != '\n' && next(&toml) != '\r')
            good = fail(&toml, "something stands behind a value");
    }
    if (good)
        write_below(&toml, &table, 0, json);
    arena_fini(&toml.arena);
    return good ? buf_code(json) : CODE_INVALID;
}
