/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/told_priv.h"

#include "base/bug.h"
#include "base/num.h"
#include "base/utf8.h"
#include "cli/when.h"
#include "http/writer.h"
#include "os/clock.h"
#include "unicode/terminal.h"
#include "json/text.h"

#include <inttypes.h>
#include <stdio.h>

#define TREE_DEPTH 32 /* parts deeper than that are not moved further in */
#define TREE_BYTES 4096
#define INDENT 2
#define MEMBERS_BYTES ((size_t)1 << 20)
#define NAME_CELLS 24 /* a longer name moves no other value */
#define GAP 2

typedef void form_fn(struct buf *out, const struct told_member *member, struct span with);

static size_t number_of(struct span with)
{
    uint64_t number = 0;

    BUG_ON(num_u64(with, &number) != CODE_OK);
    return (size_t)number;
}

static void add_blanks(struct buf *out, size_t count)
{
    while (count-- > 0)
        buf_add_byte(out, ' ');
}

/* ---- parts of it ---- */

/* first N: the first N bytes: of a time, 10 are its day, 19 go up to its second. */
static void add_first(struct buf *out, const struct told_member *member, struct span with)
{
    terminal_add(out, utf8_cut(told__span(member->value), number_of(with)));
}

/* moment: a time up to its second, for people. */
static void add_moment(struct buf *out, const struct told_member *member, struct span with)
{
    struct span rest, day = span_cut(utf8_cut(told__span(member->value), 19), 'T', &rest);

    (void)with;
    terminal_add(out, day);
    buf_add_text(out, rest.len > 0 ? " " : "");
    terminal_add(out, rest);
}

/* cut N: likewise, and it is shown that there was more. */
static void add_cut(struct buf *out, const struct told_member *member, struct span with)
{
    add_first(out, member, with);
    if (told__span(member->value).len > number_of(with))
        buf_add_text(out, "...");
}

/* json: as JSON has it, also what says nothing. */
static void add_json(struct buf *out, const struct told_member *member, struct span with)
{
    (void)with;
    if (member->value != NULL)
        terminal_add(out, member->value->raw);
}

/* unlike KEY: where another member says something else. */
static void add_unlike(struct buf *out, const struct told_member *member, struct span with)
{
    if (!span_equals(told__span(member->value), told__span(json_member(member->around, with))))
        terminal_add(out, told__span(member->value));
}

/* any: as it is, which says something also where it is 0 or false. */
static void add_any(struct buf *out, const struct told_member *member, struct span with)
{
    (void)with;
    terminal_add(out, told__span(member->value));
}

/* new: where what stands before it in the list says another. */
static void add_new(struct buf *out, const struct told_member *member, struct span with)
{
    (void)with;
    if (member->before == NULL || member->value == NULL ||
        !span_equals(told__span(json_member(member->before, member->value->key)), told__span(member->value)))
        terminal_add(out, told__span(member->value));
}

/* count: how many values a list or object has. beyond N: how many more than N, where it has more. */
static void add_count(struct buf *out, const struct told_member *member, struct span with)
{
    (void)with;
    buf_addf(out, "%" PRIu32, member->value != NULL ? member->value->count : 0);
}

static void add_beyond(struct buf *out, const struct told_member *member, struct span with)
{
    size_t most = number_of(with);

    if (member->value != NULL && member->value->count > most)
        buf_addf(out, "%zu", member->value->count - most);
}

/* ---- numbers ---- */

/* us: microseconds as "850 us", "12.3 ms", "4.56 s": three figures. */
static void add_us(struct buf *out, const struct told_member *member, struct span with)
{
    static const struct { int64_t below; double unit; const char *name; } units[] = {
        {1000, 1, "us"}, {1000000, 1e3, "ms"}, {INT64_MAX, 1e6, "s"},
    };
    int64_t us = 0;
    double count;
    size_t i = 0;

    (void)with;
    if (num_i64(told__span(member->value), &us) != CODE_OK)
        return;
    while (us >= units[i].below && i < 2)
        i++;
    count = (double)us / units[i].unit;
    buf_addf(out, "%.*f %s", i == 0 ? 0 : count < 10 ? 2 : count < 100 ? 1 : 0, count, units[i].name);
}

/* share KEY: what part it is of another number, "12.5 %". */
static void add_share(struct buf *out, const struct told_member *member, struct span with)
{
    uint64_t part = 0, whole = 0;

    if (num_u64(told__span(member->value), &part) == CODE_OK &&
        num_u64(told__span(json_member(member->around, with)), &whole) == CODE_OK)
        buf_addf(out, "%.1f %%", whole == 0 ? 0 : 100.0 * (double)part / (double)whole);
}

/* ago: how long ago a time was. */
static void add_ago(struct buf *out, const struct told_member *member, struct span with)
{
    int64_t now_us = clock_wall_us(), time_us;
    char age[WHEN_AGE_BYTES];
    struct why why;

    (void)with;
    if (when_parse(told__span(member->value), now_us, &time_us, &why) == CODE_OK)
        buf_add_text(out, when_age(time_us, now_us, age));
}

/* ---- room ---- */

/* right N, left N: in so many cells at least. */
static void add_right(struct buf *out, const struct told_member *member, struct span with)
{
    size_t cells = terminal_cells(told__span(member->value)), wanted = number_of(with);

    add_blanks(out, wanted > cells ? wanted - cells : 0);
    terminal_add(out, told__span(member->value));
}

static void add_left(struct buf *out, const struct told_member *member, struct span with)
{
    size_t cells = terminal_cells(told__span(member->value)), wanted = number_of(with);

    terminal_add(out, told__span(member->value));
    add_blanks(out, wanted > cells ? wanted - cells : 0);
}

/* lines N: each line of a text on one of its own, N cells in. */
static void add_lines(struct buf *out, const struct told_member *member, struct span with)
{
    struct span text = told__span(member->value);

    while (text.len > 0) {
        struct span line = span_cut(text, '\n', &text);

        add_blanks(out, line.len > 0 ? number_of(with) : 0);
        terminal_add(out, line);
        buf_add_byte(out, '\n');
    }
}

/* A line end between the parts of a canonical JSON text. */
static void add_indented(struct buf *out, struct span json, size_t cells)
{
    size_t depth = 0;
    bool in_string = false;

    for (size_t i = 0; i < json.len; i++) {
        char c = json.at[i];
        bool opens = !in_string && (c == '{' || c == '['), closes = !in_string && (c == '}' || c == ']');
        bool is_empty = opens && i + 1 < json.len && (json.at[i + 1] == '}' || json.at[i + 1] == ']');

        if (in_string && c == '\\' && i + 1 < json.len) {
            buf_add(out, json.at + i++, 2);
            continue;
        }
        in_string = in_string != (c == '"');
        depth -= closes && depth > 0;
        if (closes && json.at[i - 1] != '{' && json.at[i - 1] != '[') {
            buf_add_byte(out, '\n');
            add_blanks(out, cells + INDENT * (depth < TREE_DEPTH ? depth : TREE_DEPTH));
        }
        buf_add_byte(out, c);
        depth += opens;
        if ((opens && !is_empty) || (!in_string && c == ',')) {
            buf_add_byte(out, '\n');
            add_blanks(out, cells + INDENT * (depth < TREE_DEPTH ? depth : TREE_DEPTH));
        }
        if (!in_string && c == ':')
            buf_add_byte(out, ' ');
    }
}

/* tree N: JSON over several lines, further ones N cells in; of a long one, its beginning. */
static void add_tree(struct buf *out, const struct told_member *member, struct span with)
{
    struct span text = told__span(member->value);
    struct buf safe;

    buf_init(&safe, 16 * TREE_BYTES);
    if (buf_fail(out, terminal_add(&safe, utf8_cut(text, TREE_BYTES))) == CODE_OK)
        add_indented(out, buf_peek(&safe), number_of(with));
    if (text.len > TREE_BYTES)
        buf_add_text(out, " ... (--json has all of it)");
    buf_fini(&safe);
}

/* members N: of a text that holds an object, each member on a line, N cells in; of another text, all of it on one. */
static void add_members(struct buf *out, const struct told_member *member, struct span with)
{
    const struct json_node *root = NULL;
    struct span text = told__span(member->value);
    size_t cells = number_of(with), widest = 0;
    struct json_text read = {.root = NULL};

    if (text.at != NULL && (json_text_read(&read, text, &json_file_rules, MEMBERS_BYTES) != CODE_OK ||
                            (root = read.root)->type != JSON_OBJECT || root->child == NULL)) {
        add_blanks(out, cells);
        terminal_add(out, root != NULL && root->type == JSON_OBJECT ? SPAN_LIT("(none)") : text);
        buf_add_byte(out, '\n');
        root = NULL;
    }
    for (const struct json_node *one = root != NULL ? root->child : NULL; one != NULL; one = one->next)
        widest = one->key.len > widest && one->key.len <= NAME_CELLS ? one->key.len : widest;
    for (const struct json_node *one = root != NULL ? root->child : NULL; one != NULL; one = one->next) {
        add_blanks(out, cells);
        terminal_add(out, one->key);
        add_blanks(out, GAP + (one->key.len < widest ? widest - one->key.len : 0));
        terminal_add(out, one->raw);
        buf_add_byte(out, '\n');
    }
    json_text_fini(&read);
}

/* ---- for others than people ---- */

/* url: as a part of a URL. */
static void add_url(struct buf *out, const struct told_member *member, struct span with)
{
    (void)with;
    http_write_encoded(out, told__span(member->value));
}

/* What no eye sees as a shell takes it, byte by byte: $'...'. */
static void add_sh_escaped(struct buf *out, struct span text)
{
    buf_add_text(out, "$'");
    for (size_t i = 0; i < text.len; i++)
        if (text.at[i] >= ' ' && text.at[i] <= '~' && text.at[i] != '\'' && text.at[i] != '\\')
            buf_add_byte(out, text.at[i]);
        else
            buf_addf(out, "\\%03o", (unsigned char)text.at[i]);
    buf_add_byte(out, '\'');
}

static void add_sh_quoted(struct buf *out, struct span rest)
{
    buf_add_byte(out, '\'');
    while (rest.len > 0) {
        size_t part = span_find(rest, '\'');

        buf_add_span(out, span_part(rest, 0, part));
        buf_add_text(out, part < rest.len ? "'\\''" : "");
        rest = span_part(rest, part + 1, SIZE_MAX);
    }
    buf_add_byte(out, '\'');
}

/* sh: one word of a shell's. */
static void add_sh(struct buf *out, const struct told_member *member, struct span with)
{
    struct span text = told__span(member->value);
    struct buf drawn;

    (void)with;
    buf_init(&drawn, MEMBERS_BYTES);
    (terminal_add(&drawn, text) == CODE_OK && span_equals(buf_peek(&drawn), text) ? add_sh_quoted : add_sh_escaped)(out, text);
    buf_fini(&drawn);
}

void told__form(struct buf *out, const struct told_member *member, struct span form, struct span with)
{
    static const struct { const char *name; form_fn *add; } forms[] = {
        {"any", add_any}, {"json", add_json}, {"first", add_first}, {"moment", add_moment}, {"cut", add_cut}, {"new", add_new},
        {"count", add_count}, {"beyond", add_beyond}, {"us", add_us}, {"share", add_share}, {"ago", add_ago},
        {"right", add_right}, {"left", add_left}, {"lines", add_lines}, {"tree", add_tree}, {"members", add_members},
        {"unlike", add_unlike},
        {"url", add_url}, {"sh", add_sh},
    };

    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++)
        if (span_is(form, forms[i].name)) {
            forms[i].add(out, member, with);
            return;
        }
    BUG_ON(true); /* there is no such form */
}
