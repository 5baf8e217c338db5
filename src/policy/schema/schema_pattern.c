/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns of schemas are ECMA-262's, the gate's regexes are PCRE2's: what PCRE2 would read otherwise is rewritten so that it
 * means the same, and what cannot be rewritten is refused. Patterns are read as ECMA-262 does without flags or with `u`;
 * where the two differ, only what both take is taken, but for `{`, `}` and `]` as themselves. */
#include "schema/schema_priv.h"

#include "base/num.h"
#include "unicode/unicode.h"

#include <ctype.h>
#include <stdio.h>

/* What `\s` matches in ECMA-262, and what `\S` does, as ranges of a class. */
#define BLANKS "\\t-\\r\\x{20}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}\\x{feff}"
#define OTHERS "\\x{0}-\\x{8}\\x{e}-\\x{1f}\\x{21}-\\x{9f}\\x{a1}-\\x{167f}\\x{1681}-\\x{1fff}\\x{200b}-\\x{2027}" \
    "\\x{202a}-\\x{202e}\\x{2030}-\\x{205e}\\x{2060}-\\x{2fff}\\x{3001}-\\x{fefe}\\x{ff00}-\\x{10ffff}"

#define GROUPS_MAX 200 /* nested; PCRE2 takes 250 */

struct translating {
    struct span pattern;
    size_t at;
    struct buf *out;
    struct why *why;
    bool in_class;
    bool repeatable; /* an item stands before that a quantifier may follow */
    bool ranges;     /* in a class: the character before was the `-` of a range, whose end comes next */
    bool is_loose;   /* something that ECMA-262 takes without `u` alone */
    bool is_unicode; /* something that means what is written here with `u` alone */
    unsigned depth;
    bool looks[GROUPS_MAX]; /* of the groups around, which ones look ahead or behind: those are not repeated */
};

static enum code refuse(const struct translating *t, const char *what)
{
    return why_set(t->why, CODE_INVALID, "its byte %zu is %s", t->at + 1, what);
}

static int peek(const struct translating *t, size_t ahead)
{
    return t->at + ahead < t->pattern.len ? (unsigned char)t->pattern.at[t->at + ahead] : -1;
}

/* Takes: t->at behind `\u` or `\x`. Returns: the code unit of `digits` hexadecimal digits; -1: there is none. */
static int32_t read_hex(struct translating *t, size_t digits)
{
    int32_t value = 0;

    for (size_t i = 0; i < digits; i++) {
        int digit = num_hex_digit((char)peek(t, i));

        if (digit < 0)
            return -1;
        value = value * 16 + digit;
    }
    t->at += digits;
    return value;
}

/* Reads what stands behind `\u`: four digits, two surrogates of four each, or digits in braces. */
static int32_t read_unicode(struct translating *t)
{
    int32_t value, low;

    if (peek(t, 0) == '{') {
        size_t digits = 0;

        t->is_unicode = true;
        t->at++;
        while (digits < 6 && peek(t, digits) >= 0 && isxdigit(peek(t, digits)))
            digits++;
        value = digits > 0 ? read_hex(t, digits) : -1;
        return value >= 0 && peek(t, 0) == '}' && t->at++ > 0 ? value : -1;
    }
    value = read_hex(t, 4);
    if (value < 0xd800 || value > 0xdbff || peek(t, 0) != '\\' || peek(t, 1) != 'u')
        return value;
    t->at += 2;
    low = read_hex(t, 4);
    return low >= 0xdc00 && low <= 0xdfff ? 0x10000 + ((value - 0xd800) << 10) + (low - 0xdc00) : -1;
}

static enum code add_point(struct translating *t, int32_t value)
{
    if (value < 0 || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff))
        return refuse(t, "the end of no code point");
    return buf_addf(t->out, "\\x{%x}", (unsigned)value);
}

/* Adds a set of characters, which cannot be the beginning or the end of a range. */
static enum code add_set(struct translating *t, const char *alone, const char *in_class)
{
    if (t->ranges)
        return refuse(t, "a range's end that is a set of characters");
    buf_add_text(t->out, t->in_class ? in_class : alone);
    if (t->in_class && peek(t, 0) == '-' && peek(t, 1) != ']') {
        t->is_loose = true;
        buf_add_text(t->out, "\\-");
        t->at++;
    }
    return CODE_OK;
}

/* Adds a general category by its short name. Scripts and long names are refused, since they are written in too many
 * ways. PCRE2 would take them in any case of letters. */
static enum code add_property(struct translating *t, char letter)
{
    char text[8];
    size_t len = 0;

    while (len < 2 && peek(t, 1 + len) >= 0 && (len == 0 ? isupper(peek(t, 1)) : islower(peek(t, 2))))
        len++;
    if (peek(t, 0) != '{' || len == 0 || peek(t, 1 + len) != '}')
        return refuse(t, "a property that is no short name of a general category, as in \\p{L} or \\p{Nd}");
    snprintf(text, sizeof text, "\\%c{%.*s}", letter, (int)len, t->pattern.at + t->at + 1);
    t->at += len + 2;
    t->is_unicode = true;
    return add_set(t, text, text);
}

static enum code add_letter(struct translating *t, char c)
{
    char same[] = {'\\', c, '\0'};

    switch (c) {
    case 'd': case 'D': case 'w': case 'W': return add_set(t, same, same);
    case 's': return add_set(t, "[" BLANKS "]", BLANKS);
    case 'S': return add_set(t, "[" OTHERS "]", OTHERS);
    case 'p': case 'P': return add_property(t, c);
    case 't': case 'n': case 'r': case 'f': return buf_add_text(t->out, same);
    case 'v': return add_point(t, '\v');
    case 'x': return add_point(t, read_hex(t, 2));
    case 'u': return add_point(t, read_unicode(t));
    case 'b':
        t->repeatable = false;
        return t->in_class ? add_point(t, '\b') : buf_add_text(t->out, same);
    case 'B':
        t->repeatable = false;
        return t->in_class ? refuse(t, "behind a \\B in a class") : buf_add_text(t->out, same);
    case 'c':
        if (peek(t, 0) < 0 || !isalpha(peek(t, 0)))
            return refuse(t, "behind a \\c without a letter");
        return add_point(t, t->pattern.at[t->at++] & 31);
    case '0':
        return peek(t, 0) >= 0 && isdigit(peek(t, 0)) ? refuse(t, "behind an octal escape") : add_point(t, 0);
    default: return refuse(t, isdigit((unsigned char)c) || c == 'k' ? "behind a back reference, which is not taken"
                                                                    : "behind an escape that ECMA-262 does not have");
    }
}

static enum code add_escape(struct translating *t)
{
    int c = peek(t, 1);
    char same[] = {'\\', (char)c, '\0'};

    if (c < 0 || c >= 0x80)
        return refuse(t, "a backslash with nothing to escape");
    t->at += 2;
    t->repeatable = true;
    t->is_loose |= !isalnum(c) && strchr("^$\\.*+?()[]{}|/", c) == NULL && !(c == '-' && t->in_class);
    return isalnum(c) ? add_letter(t, (char)c) : buf_add_text(t->out, same);
}

/* One character of a class, behind its beginning. */
static enum code add_in_class(struct translating *t)
{
    char c = t->pattern.at[t->at];
    bool ranges = c == '-' && !t->ranges && t->pattern.at[t->at - 1] != '[' && t->pattern.at[t->at - 1] != '^' &&
                  peek(t, 1) != ']';
    enum code code = CODE_OK;

    if (c == '\\') {
        code = add_escape(t);
    } else {
        t->in_class = c != ']';
        buf_add_text(t->out, c == '[' ? "\\" : "");
        buf_add_byte(t->out, c);
        t->at++;
    }
    t->ranges = ranges;
    return code;
}

static enum code begin_class(struct translating *t)
{
    bool is_not = peek(t, 1) == '^';

    t->repeatable = true;
    if (peek(t, 1 + is_not) == ']') { /* nothing, or anything */
        t->at += 2 + (size_t)is_not;
        return buf_add_text(t->out, is_not ? "[\\x{0}-\\x{10ffff}]" : "(?!)");
    }
    t->in_class = true;
    t->ranges = false;
    t->at += 1 + (size_t)is_not;
    return buf_add_text(t->out, is_not ? "[^" : "[");
}

/* Nobody asks what a group captured, so that each becomes one that captures nothing. */
static enum code begin_group(struct translating *t)
{
    static const char *const looks[] = {"(?:", "(?=", "(?!", "(?<=", "(?<!"};
    struct span rest = span_part(t->pattern, t->at, SIZE_MAX);

    t->repeatable = false;
    if (t->depth == GROUPS_MAX)
        return refuse(t, "the beginning of a group inside 200 others");
    t->looks[t->depth++] = peek(t, 1) == '?' && peek(t, 2) != ':' &&
                            (peek(t, 2) != '<' || peek(t, 3) == '=' || peek(t, 3) == '!');
    for (size_t i = 0; i < sizeof looks / sizeof *looks; i++)
        if (span_starts_with(rest, span_text(looks[i]))) {
            t->at += strlen(looks[i]);
            return buf_add_text(t->out, looks[i]);
        }
    if (span_starts_with(rest, SPAN_LIT("(?<")) && peek(t, 3) >= 0 && !isdigit(peek(t, 3))) {
        size_t end = 3;

        while (peek(t, end) == '_' || peek(t, end) == '$' || (peek(t, end) >= 0 && isalnum(peek(t, end))))
            end++;
        t->at += end > 3 && peek(t, end) == '>' ? end : 0;
    }
    if (peek(t, 1) == '?')
        return refuse(t, "the beginning of a group that ECMA-262 does not have");
    t->at++;
    return buf_add_text(t->out, "(?:");
}

/* The length of `{n}`, `{n,}` or `{n,m}`; 0: the brace is itself. */
static size_t braces(const struct translating *t)
{
    size_t len = 1;
    bool has_digit = false, has_comma = false;

    for (; peek(t, len) >= 0 && peek(t, len) != '}'; len++) {
        if (peek(t, len) == ',' && has_digit && !has_comma)
            has_comma = true;
        else if (!isdigit(peek(t, len)))
            return 0;
        else
            has_digit = true;
    }
    return has_digit && peek(t, len) == '}' ? len + 1 : 0;
}

static enum code add_quantifier(struct translating *t, size_t len)
{
    if (!t->repeatable)
        return refuse(t, "a quantifier with nothing to repeat");
    t->repeatable = false;
    buf_add_span(t->out, span_part(t->pattern, t->at, len));
    t->at += len;
    if (peek(t, 0) == '?') {
        buf_add_byte(t->out, '?');
        t->at++;
    }
    return CODE_OK;
}

static enum code add_one(struct translating *t)
{
    char c = t->pattern.at[t->at];
    size_t len = c == '{' ? braces(t) : 1;

    if (t->in_class)
        return add_in_class(t);
    switch (c) {
    case '\\': return add_escape(t);
    case '[': return begin_class(t);
    case '(': return begin_group(t);
    case '*':
    case '+':
    case '?': return add_quantifier(t, 1);
    case '{':
        if (len > 0)
            return add_quantifier(t, len);
        break;
    default: break;
    }
    t->at++;
    t->repeatable = c != '^' && c != '$' && c != '|';
    if (c == ')' && t->depth > 0) /* PCRE2 refuses one that closes none */
        t->repeatable = !t->looks[--t->depth];
    t->is_loose |= c == '{' || c == '}' || c == ']';
    if (c == '.')
        return buf_add_text(t->out, "[^\\n\\r\\x{2028}\\x{2029}]");
    if (c == '{' || c == '}' || c == ']')
        buf_add_byte(t->out, '\\');
    return buf_add_byte(t->out, c);
}

enum code schema__ecma_pattern(struct span pattern, struct buf *out, struct why *why)
{
    struct translating t = {.pattern = pattern, .out = out, .why = why};
    enum code code = CODE_OK;

    while (t.at < pattern.len && code == CODE_OK)
        code = add_one(&t);
    if (code == CODE_OK && t.in_class)
        code = refuse(&t, "the end of a class that is still open");
    if (code == CODE_OK && t.is_loose && t.is_unicode)
        code = refuse(&t, "the end of what ECMA-262 takes without the flag `u` alone, where \\p and \\u{} mean something else");
    return code != CODE_OK ? code : buf_code(out);
}
