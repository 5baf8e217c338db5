/* SPDX-License-Identifier: Apache-2.0 */
#include "toml/toml.h"

#include "base/ascii.h"
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

static void add_code_point(struct buf *out, unsigned code)
{
    if (code < 0x80)
        (void)buf_add_byte(out, (char)code);
    else if (code < 0x800)
        (void)buf_addf(out, "%c%c", 0xc0 | code >> 6, 0x80 | (code & 0x3f));
    else if (code < 0x10000)
        (void)buf_addf(out, "%c%c%c", 0xe0 | code >> 12, 0x80 | (code >> 6 & 0x3f), 0x80 | (code & 0x3f));
    else
        (void)buf_addf(out, "%c%c%c%c", 0xf0 | code >> 18, 0x80 | (code >> 12 & 0x3f), 0x80 | (code >> 6 & 0x3f),
                       0x80 | (code & 0x3f));
}

static bool read_escape(struct toml *toml, struct buf *out)
{
    static const char letters[] = "btnfr\"\\", means[] = "\b\t\n\f\r\"\\";
    char c = toml->rest.len > 1 ? toml->rest.at[1] : '\0';
    const char *simple = c != '\0' ? strchr(letters, c) : NULL;
    size_t digits = c == 'u' ? 4 : c == 'U' ? 8 : 0;
    unsigned code = 0;

    if (simple != NULL) {
        skip(toml, 2);
        return buf_add_byte(out, means[simple - letters]) == CODE_OK;
    }
    for (size_t i = 0; i < digits; i++) {
        char digit = i + 2 < toml->rest.len ? toml->rest.at[i + 2] : '\0';

        if (!ascii_is_of(digit, "0-9a-fA-F"))
            return fail(toml, "an escape in a text is none that TOML has");
        code = code << 4 | (unsigned)(digit <= '9' ? digit - '0' : (digit | 0x20) - 'a' + 10);
    }
    if (digits == 0 || code == 0 || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
        return fail(toml, "an escape in a text is none that TOML has");
    skip(toml, 2 + digits);
    add_code_point(out, code);
    return true;
}

/* A text in quotes, of one line; into the arena. */
static bool read_text(struct toml *toml, struct span *text)
{
    char quote = next(toml);
    struct buf out;
    bool good = true;

    if (toml->rest.len > 2 && toml->rest.at[1] == quote && toml->rest.at[2] == quote)
        return fail(toml, "a text of several lines is not read here; write it in one, or leave it out of what is imported");
    buf_init(&out, TEXT_BYTES);
    skip(toml, 1);
    while (good && next(toml) != quote) {
        if (toml->rest.len == 0 || next(toml) == '\n')
            good = fail(toml, "a text does not end in its line");
        else if (quote == '"' && next(toml) == '\\')
            good = read_escape(toml, &out);
        else {
            (void)buf_add_byte(&out, next(toml));
            skip(toml, 1);
        }
    }
    skip(toml, 1);
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
    else
        (void)json_write_string(out, text);
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

static bool read_table(struct toml *toml, struct key *table)
{
    bool is_array = toml->rest.len > 1 && toml->rest.at[1] == '[';
    static const struct key none;
    char number[24];

    skip(toml, is_array ? 2 : 1);
    *table = (struct key){.depth = 0};
    if (!read_key(toml, table))
        return false;
    if (next(toml) != ']' || (is_array && (toml->rest.len < 2 || toml->rest.at[1] != ']')))
        return fail(toml, "a table's name ends with `]`");
    skip(toml, is_array ? 2 : 1);
    for (size_t i = 0; i < toml->count && !is_array; i++)
        if (toml->entries[i].json.at == NULL && toml->entries[i].key.depth == table->depth &&
            same_start(&toml->entries[i].key, table, table->depth))
            return fail(toml, "a table stands twice");
    if (is_array && table->depth < PARTS_MOST) {
        struct span name = span_of(number, (size_t)snprintf(number, sizeof number, "%u", toml->tables++));

        if (arena_keep(&toml->arena, name, &table->parts[table->depth]) != CODE_OK)
            return fail(toml, "not enough memory");
        table->depth++;
    }
    return add_entry(toml, table, &none, SPAN_NONE);
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
