/* SPDX-License-Identifier: Apache-2.0 */
/* Guesses what the author meant where libyaml cannot go on. libyaml's messages speak of tokens; these say what to write
 * instead. A wrong guess changes a message and nothing else. */
#include "base/utf8.h"
#include "yaml/yaml_priv.h"

#include <stdio.h>
#include <string.h>

#define SHOWN_MAX 60

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static bool ends_line(char c)
{
    return c == '\n' || c == '\r' || c == '\0';
}

static char byte_at(const struct yaml_slip *slip, size_t at)
{
    return at < slip->text.len ? slip->text.at[at] : '\0';
}

static size_t line_of(const struct yaml_slip *slip, size_t at)
{
    size_t line = 1;

    for (size_t i = 0; i < at && i < slip->text.len; i++)
        line += slip->text.at[i] == '\n';
    return line;
}

/* Where the value around `at` begins: behind the last `: `, `- ` or `, ` of its line. Returns: SIZE_MAX: behind none. */
static size_t value_begin(const struct yaml_slip *slip, size_t at)
{
    for (size_t i = at; i > 1 && !ends_line(byte_at(slip, i - 1)); i--)
        if (is_blank(byte_at(slip, i - 1)) && !is_blank(byte_at(slip, i)) &&
            memchr(":-,", byte_at(slip, i - 2), 3) != NULL)
            return i;
    return SIZE_MAX;
}

/* Behind the brackets that open in front of a value: in [/home/{a}] it is /home/{a}. */
static size_t behind_opening(const struct yaml_slip *slip, size_t begin)
{
    while (begin < slip->at && (is_blank(byte_at(slip, begin)) || memchr("[{", byte_at(slip, begin), 2) != NULL))
        begin++;
    return begin;
}

/* Finds the text of the line above where it looks like `key: value` but lacks the blank: `- id:x`, `policy:x`.
 * Returns: SIZE_MAX: it is a `key: value`, or something else. */
static size_t keyless_above(const struct yaml_slip *slip)
{
    size_t end = slip->at, begin;
    bool is_entry, has_colon = false;

    while (end > 0 && byte_at(slip, end - 1) != '\n')
        end--;
    end -= end > 0;
    for (begin = end; begin > 0 && byte_at(slip, begin - 1) != '\n';)
        begin--;
    while (begin < end && is_blank(byte_at(slip, begin)))
        begin++;
    is_entry = byte_at(slip, begin) == '-' && is_blank(byte_at(slip, begin + 1));
    begin += is_entry ? 2 : 0;
    for (size_t i = begin; i < end; i++) {
        has_colon |= byte_at(slip, i) == ':';
        if (byte_at(slip, i) == ':' && (is_blank(byte_at(slip, i + 1)) || ends_line(byte_at(slip, i + 1))))
            return SIZE_MAX;
    }
    return begin < end && byte_at(slip, begin) != '#' && (is_entry || has_colon) ? begin : SIZE_MAX;
}

/* The value to the end of the line, or in brackets to the comma or bracket that ends it; pairs of brackets
 * within it are part of it. */
static struct span value_from(const struct yaml_slip *slip, size_t begin)
{
    size_t end = begin, depth = 0;

    for (; !ends_line(byte_at(slip, end)); end++) {
        char c = byte_at(slip, end);

        if (slip->in_brackets && depth == 0 && memchr(",}]", c, 3) != NULL)
            break;
        depth += c == '[' || c == '{';
        depth -= depth > 0 && (c == ']' || c == '}');
    }
    while (end > begin && is_blank(byte_at(slip, end - 1)))
        end--;
    return utf8_cut(span_part(slip->text, begin, end - begin), SHOWN_MAX);
}

#define SAY(slip, ...) ((void)snprintf((slip)->words, sizeof (slip)->words, __VA_ARGS__))

/* "...; quote it: 'value'", with the quotes that the value does not hold itself. */
static void say_quote(struct yaml_slip *slip, const char *what, size_t begin)
{
    struct span value = begin != SIZE_MAX ? value_from(slip, begin) : SPAN_NONE;

    if (value.len == 0 || memchr(value.at, '\'', value.len) != NULL)
        SAY(slip, "%s; write the whole value in single quotes, and '' for one inside", what);
    else
        SAY(slip, "%s; quote it: '%.*s'", what, SPAN_ARG(value));
}

#define INNER_BRACKET "a bracket or brace inside of [...] or {...} ends a text without quotes"

/* Whether what begins at `at` stands behind a bracket within a word, as the `*` of `$.to[*]`. */
static bool in_word(const struct yaml_slip *slip, size_t at)
{
    return slip->in_brackets && at > 1 && byte_at(slip, at - 1) == '[' && !is_blank(byte_at(slip, at - 2)) &&
           memchr(":,[{\n", byte_at(slip, at - 2), 5) == NULL;
}

/* A character that cannot begin a value. */
static bool in_token(struct yaml_slip *slip)
{
    char what[96], first = byte_at(slip, slip->at);

    if (strstr(slip->problem, "tab character") != NULL || first == '\t') {
        SAY(slip, "a tab, by which YAML cannot tell what belongs to what; indent with blanks alone");
    } else if (strstr(slip->about, "scanning an a") != NULL && in_word(slip, slip->context)) {
        slip->at = slip->context - 1;
        say_quote(slip, INNER_BRACKET, behind_opening(slip, value_begin(slip, slip->at)));
    } else if (strstr(slip->about, "scanning an alias") != NULL || strstr(slip->about, "scanning an anchor") != NULL ||
               strstr(slip->about, "block scalar") != NULL || strstr(slip->about, "directive") != NULL) {
        slip->at = slip->context;
        (void)snprintf(what, sizeof what, "a value that begins with `%c` means something else in YAML",
                       byte_at(slip, slip->at));
        say_quote(slip, what, slip->at);
    } else if (strstr(slip->problem, "cannot start any token") != NULL) {
        (void)snprintf(what, sizeof what, "a value cannot begin with `%c` in YAML", first);
        slip->in_brackets |= first == '|' || first == '>'; /* outside of brackets they begin a block */
        say_quote(slip, what, slip->at);
    } else if (strstr(slip->problem, "unknown escape") != NULL) {
        SAY(slip, "`\\%c` in double quotes is no escape that YAML knows; write the text in single quotes, where a backslash "
            "is a backslash", byte_at(slip, slip->at + 1));
    } else if (strstr(slip->about, "quoted scalar") != NULL && strstr(slip->problem, "unexpected") != NULL) {
        SAY(slip, "the quote that opens in line %zu is not closed; close it, and write '' for a single quote inside",
            line_of(slip, slip->context));
    } else {
        return false;
    }
    return true;
}

/* Text behind the end of a value. */
static bool behind_value(struct yaml_slip *slip)
{
    size_t before = slip->at, begin = value_begin(slip, slip->at - (slip->at > 0));
    char last;

    while (before > 1 && is_blank(byte_at(slip, before - 1)))
        before--;
    last = before > 0 ? byte_at(slip, before - 1) : '\0';

    if (last == '\'' || last == '"') {
        SAY(slip, "text behind the closing quote; write %s for a quote inside, or quote the value as a whole",
            last == '"' ? "\\\"" : "''");
    } else if (before == slip->at && (last == ']' || last == '}')) {
        if (begin != SIZE_MAX && memchr("[{", byte_at(slip, begin), 2) == NULL)
            return false;
        say_quote(slip, last == ']' ? "a value that begins with `[` is a list and ends with its `]`"
                                    : "a value that begins with `{` is a map and ends with its `}`", begin);
    } else {
        return false;
    }
    return true;
}

static bool in_brackets(struct yaml_slip *slip)
{
    char first = byte_at(slip, slip->at), open = byte_at(slip, slip->context);

    slip->in_brackets = true;
    if (first == ':' && value_begin(slip, slip->at) != SIZE_MAX)
        say_quote(slip, "a second `: ` in one value", value_begin(slip, slip->at));
    else if ((first == '[' || first == '{') && slip->at > 0 && !is_blank(byte_at(slip, slip->at - 1)))
        say_quote(slip, INNER_BRACKET, behind_opening(slip, value_begin(slip, slip->at)));
    else if (behind_value(slip))
        return true;
    else
        SAY(slip, "what `%c` opens in line %zu is not closed; write `%c`, or a comma before what follows", open,
            line_of(slip, slip->context), open == '[' ? ']' : '}');
    return true;
}

static bool in_block(struct yaml_slip *slip)
{
    char first = byte_at(slip, slip->at);
    bool is_value = strstr(slip->problem, "mapping values are not allowed") != NULL;
    bool is_keyless = strstr(slip->about, "simple key") != NULL;
    size_t above = is_value || is_keyless ? keyless_above(slip) : SIZE_MAX;

    if (is_value && value_begin(slip, slip->at) != SIZE_MAX) {
        say_quote(slip, "a second `: ` in one value", value_begin(slip, slip->at));
    } else if (above != SIZE_MAX || is_keyless) {
        slip->at = above != SIZE_MAX ? above : slip->at;
        SAY(slip, "a blank is missing behind the `:`, or the `:` itself; write `key: value`");
    } else if (is_value)
        SAY(slip, "this line is indented deeper than the one above it, whose value it goes on; begin it in the same column");
    else if (strstr(slip->problem, "block sequence entries") != NULL)
        SAY(slip, "a list with `-` begins on a line of its own; write it below its key or as [a, b], or quote the text");
    else if (strstr(slip->problem, "expected node content") != NULL)
        SAY(slip, "a value is missing here, or the bracket that closes; write it, or '' for an empty text");
    else if (strstr(slip->problem, "expected key") == NULL && strstr(slip->problem, "'-' indicator") == NULL &&
             strstr(slip->problem, "document start") == NULL)
        return false;
    else if (first == ']' || first == '}')
        SAY(slip, "a `%c` that closes nothing; leave it out", first);
    else if (!behind_value(slip))
        SAY(slip, "this line begins in another column than its neighbours above; indent it as they are");
    return true;
}

bool yaml__slip(struct yaml_slip *slip)
{
    bool flow = strstr(slip->problem, "expected ','") != NULL;

    /* In `{a}*` the text behind a value looks like the beginning of another. */
    if (strstr(slip->about, "alias") != NULL && slip->context > 0 && memchr("]}'\"", byte_at(slip, slip->context - 1), 4)) {
        slip->at = slip->context;
        return behind_value(slip);
    }
    return in_token(slip) || (flow ? in_brackets(slip) : in_block(slip));
}
