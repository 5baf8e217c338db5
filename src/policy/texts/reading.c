/* SPDX-License-Identifier: Apache-2.0 */
#include "texts/reading.h"
#include "texts/decode_text.h"

#include "base/ascii.h"
#include "base/num.h"
#include "texts/address.h"
#include "unicode/unicode.h"

#include <string.h>

/* ---- steps ---- */

#define BLANK_BYTES 3 /* of the longest */

/* Whether white space ends the text, escaped or not: URLs lose it, and servers trim it (as Python and JavaScript do). */
static bool ends_in_blank(struct span text)
{
    static const char *const blanks[] = {
        " ", "\xc2\xa0", "\xe1\x9a\x80", "\xe2\x80\xa8", "\xe2\x80\xa9", "\xe2\x80\xaf", "\xe2\x81\x9f", "\xe3\x80\x80",
        "\xef\xbb\xbf"};
    char last[BLANK_BYTES];
    size_t len = 0;

    while (len < BLANK_BYTES && text.len > 0) {
        int byte = text.len >= 3 ? decode_escape_at(text, text.len - 3) : -1;

        last[BLANK_BYTES - ++len] = byte >= 0 ? (char)byte : text.at[text.len - 1];
        text.len -= byte >= 0 ? 3 : 1;
    }
    for (size_t i = 0; i < sizeof blanks / sizeof *blanks; i++)
        if (span_ends_with(span_of(last + BLANK_BYTES - len, len), span_text(blanks[i])))
            return true;
    return len == BLANK_BYTES && memcmp(last, "\xe2\x80", 2) == 0 && (unsigned char)last[2] >= 0x80 &&
           (unsigned char)last[2] <= 0x8a; /* U+2000 to U+200A */
}

unsigned reading_of_steps(struct span text)
{
    unsigned doubts = ends_in_blank(text) ? READING_ODD : 0;
    size_t dots = 0, taken = 0;
    bool only_dots = true, after_separator = false;

    for (bool at_end = false; !at_end; text = span_part(text, taken, SIZE_MAX)) {
        int escaped = decode_escape_at(text, 0);
        uint32_t point = escaped < 0x80 ? (uint32_t)escaped : 'x'; /* a byte of a character beyond ASCII is any letter */
        bool separates, ends;

        at_end = text.len == 0;
        taken = escaped >= 0 ? 3 : unicode_next(text, &point);
        if (!at_end && taken == 0)
            return doubts | READING_ODD;
        separates = !at_end && (point == '/' || point == '\\');
        ends = at_end || separates || point == '?' || point == '#' || point == ';';
        if (escaped >= 0 || point == '%')
            doubts |= READING_ESCAPE;
        if (ends ? !at_end && (escaped >= 0 || !separates) : escaped == '.')
            doubts |= READING_LOOSE;
        if (!at_end && (point == '\\' || point < 0x20 || (point >= 0x7f && point < 0xa0)))
            doubts |= READING_ODD;
        if (separates && after_separator)
            doubts |= READING_EMPTY;
        if (ends && only_dots && dots == 1)
            doubts |= READING_DOT;
        if (ends && only_dots && dots == 2) /* in a URL `..` takes an empty step away, where files have none */
            doubts |= READING_CLIMBS | ((doubts & READING_EMPTY) != 0 ? READING_LOOSE : 0);
        after_separator = separates;
        only_dots = ends || (only_dots && point == '.');
        dots = ends ? 0 : dots + 1;
    }
    return doubts;
}

/* ---- URLs ---- */

uint64_t reading_usual_port(struct span scheme)
{
    static const struct {
        const char *scheme;
        uint64_t port;
    } usual[] = {{"http", 80}, {"https", 443}, {"ws", 80}, {"wss", 443}, {"ftp", 21}};

    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        if (span_equals_nocase(scheme, span_text(usual[i].scheme)))
            return usual[i].port;
    return 0;
}

bool reading_is_scheme(struct span text)
{
    return text.len > 0 && ascii_is_letter(text.at[0]) && ascii_is_all(text, "a-zA-Z0-9+.-");
}

bool reading_is_name(struct span text, const char *more)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.at[i];

        if (c == '.' ? i == 0 || i + 1 == text.len || text.at[i - 1] == '.'
                     : !ascii_is_word(c) && (c == '\0' || strchr(more, c) == NULL))
            return false;
    }
    return text.len > 0;
}

#define LABEL_MAX 63 /* RFC 1035, 2.3.4 */

bool reading_is_domain(struct span text)
{
    if (!reading_is_name(text, "-"))
        return false;
    while (text.len > 0) {
        struct span label = span_cut(text, '.', &text);

        if (label.len > LABEL_MAX || label.at[0] == '-' || label.at[label.len - 1] == '-')
            return false;
    }
    return true;
}

bool reading_ends_in_number(struct span name)
{
    size_t begin = name.len;
    struct span last;

    while (begin > 0 && name.at[begin - 1] != '.')
        begin--;
    last = span_part(name, begin, SIZE_MAX);
    if (last.len >= 2 && last.at[0] == '0' && (last.at[1] | 32) == 'x')
        return true;
    for (size_t i = 0; i < last.len; i++)
        if (!ascii_is_digit(last.at[i]))
            return false;
    return last.len > 0;
}

bool reading_split(struct span text, struct url_parts *url)
{
    struct span rest, authority;
    size_t end = 0;

    *url = (struct url_parts){.scheme = span_cut(text, ':', &rest)};
    if (url->scheme.len == text.len || !reading_is_scheme(url->scheme))
        return false;
    url->rest = rest;
    url->has_authority = span_starts_with(rest, SPAN_LIT("//"));
    if (!url->has_authority)
        return true;
    rest = span_part(rest, 2, SIZE_MAX);
    while (end < rest.len && rest.at[end] != '/' && rest.at[end] != '?' && rest.at[end] != '#')
        end++;
    authority = span_part(rest, 0, end);
    url->rest = span_part(rest, end, SIZE_MAX);
    url->has_userinfo = span_find(authority, '@') < authority.len;
    if (url->has_userinfo)
        (void)span_cut(authority, '@', &authority);
    end = authority.len > 0 && authority.at[0] == '[' ? span_find(authority, ']') : 0;
    end += span_find(span_part(authority, end, SIZE_MAX), ':');
    url->host = span_part(authority, 0, end);
    url->port = span_part(authority, end + 1, SIZE_MAX);
    return true;
}

/* ---- URIs ---- */

/* RFC 3986, 6.2.2: a URI is of ASCII, without `"<>\^`{|}`; its escapes are of capitals, none of a character that stands for
 * itself. Those of `/`, `\`, `%` and controls become something else where a reader decodes too early, or twice. */
static bool has_one_spelling(struct span uri)
{
    for (size_t i = 0; i < uri.len; i++) {
        int byte = decode_escape_at(uri, i);

        if (uri.at[i] <= 0x20 || uri.at[i] >= 0x7f || strchr("\"<>\\^`{|}", uri.at[i]) != NULL)
            return false;
        if (uri.at[i] != '%')
            continue;
        if (byte < 0x20 || byte == 0x7f || (byte < 0x80 && (ascii_is_word((char)byte) ||
                                                            strchr("-._~/\\%", byte) != NULL)))
            return false;
        if (uri.at[i + 1] > 'F' || uri.at[i + 2] > 'F')
            return false;
    }
    return true;
}

static void add(struct uri_readings *readings, struct span text)
{
    for (size_t i = 0; i < text.len; i++)
        readings->usual[readings->len++] = text.at[i];
}

/* Adds the text with ASCII's capitals made small, but for those of escapes. Returns: whether there were capitals. */
static bool add_small(struct uri_readings *readings, struct span text)
{
    bool has_capitals = false;

    for (size_t i = 0, escape = 0; i < text.len; i++) {
        bool is_capital = text.at[i] >= 'A' && text.at[i] <= 'Z' && i >= escape;

        escape = text.at[i] == '%' ? i + 3 : escape;
        has_capitals |= is_capital;
        readings->usual[readings->len++] = is_capital ? (char)(text.at[i] | 32) : text.at[i];
    }
    return has_capitals;
}

/* Whether host and port have one spelling. Every client knows which spellings are the same for `http` and its like; of other
 * schemes it knows only what RFC 3986 says of all. Takes: len: of host, colon and port together. */
static bool is_plain_server(const struct url_parts *url, size_t len)
{
    uint64_t usual = reading_usual_port(url->scheme), port;
    struct address address;

    if (url->port.len == 0 ? url->host.len != len
                           : num_u64(url->port, &port) != CODE_OK || port > 65535 || url->port.at[0] == '0')
        return false;
    if (usual == 0)
        return span_find(url->host, '[') == url->host.len && span_find(url->host, '@') == url->host.len;
    return url->rest.len > 0 && reading_is_name(url->host, "-_") &&
           (!reading_ends_in_number(url->host) || (address_read(url->host, &address) && address.family == 4));
}

/* Counts what one reader leaves out or writes small, and another does not: one such thing makes two readings, several make
 * many. */
static enum reading_count count_readings(const struct url_parts *url, bool is_file, struct uri_readings *readings)
{
    uint64_t known = reading_usual_port(url->scheme), port = 0;
    bool has_known_port = num_u64(url->port, &port) == CODE_OK && port == known;
    bool drops_host = is_file && url->host.len > 0;
    int unusual = url->has_userinfo + has_known_port + drops_host;
    size_t host_at;
    bool had_capitals;

    if (url->has_authority ? (is_file && url->port.len > 0) || !is_plain_server(url, (size_t)(url->rest.at - url->host.at))
                           : is_file || known != 0)
        return READING_MANY;
    had_capitals = add_small(readings, url->scheme);
    add(readings, span_text(url->has_authority ? "://" : ":"));
    host_at = readings->len;
    had_capitals |= add_small(readings, url->host);
    if (drops_host)
        readings->len = host_at;
    if (url->port.len > 0 && !has_known_port)
        add(readings, span_of(url->port.at - 1, url->port.len + 1));
    add(readings, url->rest);
    unusual += had_capitals;
    return unusual == 0 ? READING_ONE : unusual == 1 ? READING_TWO : READING_MANY;
}

enum reading_count reading_of_uri(struct span uri, struct uri_readings *readings)
{
    struct url_parts url;
    bool has_scheme = reading_split(uri, &url);
    bool is_file = has_scheme && span_equals_nocase(url.scheme, SPAN_LIT("file"));
    struct span query, whole = span_cut(uri, '?', &query);
    /* A server may take all that stands behind a scheme of its own for a path, the host and the query included. */
    struct span steps = span_part(whole, has_scheme ? url.scheme.len + (url.has_authority ? 3 : 1) : 0, SIZE_MAX);

    readings->len = 0;
    if (uri.len > READING_URI_MAX || !has_one_spelling(uri) || span_find(uri, '#') < uri.len || ends_in_blank(uri) ||
        (whole.len < uri.len && (is_file || query.len == 0 || (reading_of_steps(query) & READING_CLIMBS) != 0)) ||
        (reading_of_steps(steps) & (READING_DOT | READING_CLIMBS | READING_EMPTY)) != 0)
        return READING_MANY;
    return has_scheme ? count_readings(&url, is_file, readings) : READING_ONE;
}
