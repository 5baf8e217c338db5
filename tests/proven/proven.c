/* SPDX-License-Identifier: Apache-2.0 */
/* 10.42: what the libraries that are here read of the texts in tests/proven/cases, through the rooms that they live in. `make` runs it
 * behind each build: a library that reads one of them otherwise than those that were tried ends the build, since a verdict must not
 * hang on which version happens to be there.
 *
 * usage: proven FILE           says which lines differ; exit status 1 if any does
 *        proven --write FILE   prints the file with what is read here
 *
 * A line is ROOM, a tab, the text, a tab and what is read of it; backslashes escape (\n, \t, \\, \xNN). */
#include "crypto/digest.h"
#include "crypto/sign.h"
#include "db/db.h"
#include "http/selftest.h"
#include "json/json.h"
#include "texts/sql_read.h"
#include "regex/regex.h"
#include "unicode/unicode.h"
#include "base/utf8.h"
#include "yaml/yaml.h"

#include <stdio.h>
#include <stdlib.h>

static void add_hex(struct buf *out, const unsigned char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        buf_addf(out, "%02x", bytes[i]);
}

static void read_sql(struct span text, struct buf *out)
{
    static const char *const kinds[] = {"", "table ", "function "};
    struct sql_reading reading;
    struct arena arena;

    arena_init(&arena, (size_t)1 << 20);
    if (sql_read(text, &arena, &reading, NULL) != CODE_OK)
        buf_add_text(out, "not read");
    else
        for (uint32_t i = 0; i < reading.count; i++)
            buf_addf(out, "%s%s%.*s%s%.*s", i > 0 ? ", " : "", kinds[reading.names[i].kind], SPAN_ARG(reading.names[i].schema),
                     reading.names[i].schema.len > 0 ? "." : "", SPAN_ARG(reading.names[i].name));
    arena_fini(&arena);
}

/* The pattern, NUL, the subject. */
static void read_regex(struct span text, struct buf *out)
{
    static const char *const said[] = {"undecided", "match", "no match"};
    struct span subject, pattern = span_cut(text, '\0', &subject), found = SPAN_NONE;
    struct regex_budget budget;
    struct regex *regex;
    struct why why;
    size_t offset;

    if (regex_compile(pattern, &regex, &offset, &why) != CODE_OK) {
        buf_add_text(out, "refused");
        return;
    }
    regex_budget_init(&budget);
    buf_addf(out, "%s", said[regex_match(regex, subject, false, &budget)]);
    if (regex_find(regex, subject, false, 0, subject.len, &budget, &found) == REGEX_MATCH)
        buf_addf(out, " %.*s", SPAN_ARG(found));
    regex_free(&regex);
}

static void read_json(struct span text, struct buf *out)
{
    struct json_fault fault;

    if (json_read(text, &json_request_rules, out, NULL, NULL, &fault) != CODE_OK)
        buf_addf(out, "refused at %zu", fault.offset);
}

static void read_yaml(struct span text, struct buf *out)
{
    struct yaml_tree *tree;
    struct faults faults;

    faults_init(&faults);
    if (yaml_read(text, "proven", &tree, &faults) != CODE_OK) {
        buf_addf(out, "refused at %d:%d", faults.fault[0].line, faults.fault[0].column);
        return;
    }
    if (yaml_to_json(yaml_root(tree), out) != CODE_OK)
        buf_add_text(out, "no JSON");
    yaml_tree_free(&tree);
}

static void read_unicode(struct span text, struct buf *out)
{
    if (!unicode_is_utf8(text))
        buf_add_text(out, "no UTF-8");
    else if (unicode_plain(text, out) == CODE_OK && unicode_is_deceptive(text))
        buf_add_text(out, " (deceptive)");
}

/* FIRST-LAST, in hexadecimal digits, of code points that no later version of Unicode has any more to say of. */
static void read_points(struct span text, struct buf *out)
{
    unsigned char digest[DIGEST_BYTES];
    uint32_t first = 0, last = 0;
    struct digest all;

    if (sscanf(text.at, "%x-%x", &first, &last) != 2)
        return;
    digest_init(&all);
    for (uint32_t point = first; point <= last; point++) {
        struct buf plain;
        char bytes[4];
        struct span one = span_of(bytes, utf8_put(bytes, point));
        char more[2] = {unicode_is_deceptive(one), unicode_cells(point) < 0}; /* how wide one is, Unicode 16 sees otherwise */

        buf_init(&plain, 4096);
        if (unicode_is_utf8(one) && unicode_plain(one, &plain) == CODE_OK)
            digest_add(&all, buf_peek(&plain).at, buf_len(&plain));
        digest_add(&all, more, sizeof more);
        buf_fini(&plain);
    }
    digest_final(&all, digest);
    add_hex(out, digest, 8);
}

static void read_http(struct span text, struct buf *out)
{
    struct why why = {""};

    (void)text;
    buf_addf(out, "%s", http_selftest(&why) == CODE_OK ? "what smuggles requests is refused" : why.text);
}

static void read_sqlite(struct span text, struct buf *out)
{
    struct db *db = NULL;
    struct db_stmt *stmt = NULL;
    char *sql = strndup(text.at, text.len);

    if (db_open(":memory:", DB_CREATE, &db, NULL) != CODE_OK || db_find(db, sql, NULL, 0, &stmt) != CODE_OK)
        buf_add_text(out, "refused");
    else
        buf_add_span(out, db_text(stmt, 0));
    db_finalize(&stmt);
    db_close(&db);
    free(sql);
}

/* A key, NUL, a text, NUL, a signature; the bytes in base64. */
static void read_signed(struct span text, struct buf *out)
{
    struct span message, signature, key = span_cut(text, '\0', &message);
    struct buf bytes;

    message = span_cut(message, '\0', &signature);
    buf_init(&bytes, 256);
    if (base64_decode(key, &bytes) != CODE_OK || base64_decode(signature, &bytes) != CODE_OK ||
        buf_len(&bytes) != SIGN_PUBLIC_BYTES + SIGN_BYTES)
        buf_add_text(out, "no base64");
    else
        buf_addf(out, "%s%s", sign_is_good((const unsigned char *)buf_peek(&bytes).at, message,
                                           (const unsigned char *)buf_peek(&bytes).at + SIGN_PUBLIC_BYTES) ? "good" : "bad",
                 sign_public_is_weak((const unsigned char *)buf_peek(&bytes).at) ? ", weak" : "");
    buf_fini(&bytes);
}

static void read_digest(struct span text, struct buf *out)
{
    unsigned char digest[DIGEST_BYTES];

    digest_of(text, digest);
    add_hex(out, digest, sizeof digest);
}

static const struct {
    const char *room;
    void (*read)(struct span text, struct buf *out);
} rooms[] = {
    {"sql", read_sql},       {"regex", read_regex}, {"json", read_json},     {"yaml", read_yaml},     {"unicode", read_unicode},
    {"points", read_points}, {"http", read_http},   {"sqlite", read_sqlite}, {"signed", read_signed}, {"digest", read_digest},
};

static void unescape(struct span text, struct buf *out)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned byte = (unsigned char)text.at[i];
        char digits[3] = "";

        if (byte == '\\' && i + 1 < text.len) {
            byte = (unsigned char)text.at[++i];
            if (byte == 'x' && i + 2 < text.len) {
                memcpy(digits, text.at + i + 1, 2);
                byte = (unsigned)strtoul(digits, NULL, 16);
                i += 2;
            } else if (byte == 'n' || byte == 't') {
                byte = byte == 'n' ? '\n' : '\t';
            }
        }
        buf_addf(out, "%c", (int)byte);
    }
}

static void escape(struct span text, struct buf *out)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned char byte = (unsigned char)text.at[i];

        if (byte == '\\' || byte == '\n' || byte == '\t')
            buf_addf(out, "\\%c", byte == '\n' ? 'n' : byte == '\t' ? 't' : '\\');
        else if (byte < ' ' || byte > '~')
            buf_addf(out, "\\x%02x", byte);
        else
            buf_addf(out, "%c", byte);
    }
}

/* Returns: whether what is read is what the line says. */
static bool check(struct span line, bool writes, int number)
{
    struct span rest, room = span_cut(line, '\t', &rest), wanted, text = span_cut(rest, '\t', &wanted);
    struct buf in, out, said;
    bool is_same, is_known = false;

    buf_init(&in, 65536);
    buf_init(&out, 65536);
    buf_init(&said, 65536);
    unescape(text, &in);
    buf_addf(&in, "%c", 0);
    for (size_t i = 0; i < sizeof rooms / sizeof *rooms; i++)
        if (span_is(room, rooms[i].room)) {
            rooms[i].read(span_of(buf_peek(&in).at, buf_len(&in) - 1), &out);
            is_known = true;
        }
    escape(buf_peek(&out), &said);
    is_same = is_known && span_equals(buf_peek(&said), wanted);
    if (writes)
        printf("%.*s\t%.*s\t%.*s\n", SPAN_ARG(room), SPAN_ARG(text), SPAN_ARG(buf_peek(&said)));
    else if (!is_same)
        fprintf(stderr, "tests/proven/cases:%d: %.*s is read as `%.*s`, where what was tried reads `%.*s`\n", number, SPAN_ARG(room),
                SPAN_ARG(buf_peek(&said)), SPAN_ARG(wanted));
    buf_fini(&in);
    buf_fini(&out);
    buf_fini(&said);
    return is_same;
}

int main(int argc, char **argv)
{
    bool writes = argc == 3 && strcmp(argv[1], "--write") == 0;
    FILE *file = argc == 2 || writes ? fopen(argv[argc - 1], "re") : NULL;
    static char line[65536];
    int differ = 0, number = 0;

    if (file == NULL) {
        fprintf(stderr, "usage: proven [--write] FILE\n");
        return 2;
    }
    while (fgets(line, sizeof line, file) != NULL) {
        number++;
        line[strcspn(line, "\n")] = '\0';
        if (line[0] == '#' && writes)
            printf("%s\n", line);
        else if (line[0] != '#')
            differ += !check(span_text(line), writes, number);
    }
    fclose(file);
    if (writes || (differ == 0 && number > 0))
        return 0;
    fprintf(stderr, "a library here is of a version that reads otherwise than those that were tried (`callgate version --all`): a "
                    "policy's verdicts would be others; build with one that was tried\n");
    return 1;
}
