/* SPDX-License-Identifier: Apache-2.0 */
#include "texts/links.h"

#include "base/ascii.h"
#include "texts/reading.h"
#include "unicode/unicode.h"

#include <string.h>

static bool is_scheme_byte(char c)
{
    return ascii_is_of(c, "a-zA-Z0-9+.-");
}

static bool is_slash(char c)
{
    return c == '/' || c == '\\';
}

/* What clients of URLs leave out wherever it stands. */
static bool is_left_out(char c)
{
    return c == '\t' || c == '\n' || c == '\r';
}

enum ender { ENDS_NOT = 0, ENDS_BLANK, ENDS_ANGLE, ENDS_QUOTE };

/* How the character at the front ends a link, if it does. Sets *taken to its bytes. */
static enum ender ends(struct span text, size_t *taken)
{
    unsigned char byte = (unsigned char)text.at[0];
    uint32_t point = byte;

    *taken = 1;
    if (byte <= ' ' || byte == 0x7f)
        return ENDS_BLANK;
    if (byte < 0x80)
        return byte == '<' || byte == '>' ? ENDS_ANGLE : byte == '"' || byte == '\'' || byte == '`' ? ENDS_QUOTE : ENDS_NOT;
    *taken = unicode_next(text, &point);
    if (*taken == 0)
        *taken = 1;
    if (point < 0xa1 || point == 0x1680 || (point >= 0x2000 && point <= 0x200a) || point == 0x2028 || point == 0x2029 ||
        point == 0x202f || point == 0x205f || point == 0x3000)
        return ENDS_BLANK;
    return point == 0xab || point == 0xbb || (point >= 0x2018 && point <= 0x201f) || point == 0x2039 || point == 0x203a
               ? ENDS_QUOTE : ENDS_NOT;
}

/* Behind the colon: past two slashes, or those that clients take for them. Returns: 0: no link begins here. */
static size_t past_slashes(struct span text, struct span scheme, size_t colon)
{
    size_t at = colon + 1;

    if (span_starts_with(span_part(text, at, SIZE_MAX), SPAN_LIT("//")))
        return at + 2;
    if (reading_usual_port(scheme) == 0)
        return 0;
    while (at < text.len && is_left_out(text.at[at]))
        at++;
    if (at == text.len || !is_slash(text.at[at]))
        return 0;
    while (at < text.len && (is_slash(text.at[at]) || is_left_out(text.at[at])))
        at++;
    return at;
}

static bool is_authority_end(char c)
{
    return is_slash(c) || c == '?' || c == '#';
}

static bool may_stand_in_host(char c)
{
    return is_scheme_byte(c) || c == '_' || c == '%' || (unsigned char)c >= 0x80;
}

/* What a link may stand in. */
enum place { IN_SENTENCE = ' ', IN_NOTHING = 0 }; /* else the character that closes it: a quote, or `>` */

static bool ends_place(struct span text, size_t at, enum ender ender, char place)
{
    if (place == IN_SENTENCE)
        return ender == ENDS_BLANK || text.at[at] == '>';
    return place != IN_NOTHING && text.at[at] == place;
}

/* Where the reader stops who goes on furthest over what ends the host for others: `user'@` and `user @` are users to some, and
 * some leave tabs out. Returns: `stop`: nobody goes on. */
static size_t stop_of_others(struct span text, size_t stop, char place)
{
    size_t end = stop, first = stop, taken;

    while (end < text.len && !is_authority_end(text.at[end])) {
        enum ender ender = ends(span_part(text, end, SIZE_MAX), &taken);

        if (ends_place(text, end, ender, place))
            break;
        if (text.at[end] == '@')
            return end + 1;
        end += taken;
    }
    while (first < end && (is_left_out(text.at[first]) || ends(span_part(text, first, SIZE_MAX), &taken) == ENDS_QUOTE))
        first += is_left_out(text.at[first]) ? 1 : taken;
    while (end > first && strchr(" \t\r\n.,;:!?)'\"`", text.at[end - 1]) != NULL)
        end--;
    if (first == stop || first == end || !may_stand_in_host(text.at[first]))
        return stop;
    for (size_t at = first; at < end; at += taken) {
        enum ender ender = ends(span_part(text, at, SIZE_MAX), &taken);

        if (ender == ENDS_ANGLE || (ender == ENDS_BLANK && !is_left_out(text.at[at])))
            return stop; /* no host holds such a character */
    }
    return end;
}

/* Back over the blanks in front of `at`. */
static size_t before_blanks(struct span text, size_t at)
{
    for (;;) {
        size_t lead = at, taken;

        while (lead > 0 && at - lead < 4 && ((unsigned char)text.at[--lead] & 0xc0) == 0x80)
            ;
        if (lead == at || ends(span_part(text, lead, at - lead), &taken) != ENDS_BLANK || taken != at - lead)
            return at;
        at = lead;
    }
}

/* What the link stands in. A client may take for one URL all of a text that begins with it, all between the quotes of HTML and
 * JSON, and all between Markdown's angles. A quote with blanks behind it may as well close what stands in front, unless it
 * opens an attribute's value. */
static char place_of(struct span text, size_t begin)
{
    size_t first = before_blanks(text, begin), equals;
    char before = first > 0 ? text.at[first - 1] : '\0';

    if (first == 0)
        return IN_NOTHING;
    if (before == '<')
        return '>';
    if (before != '"' && before != '\'' && before != '`')
        return IN_SENTENCE;
    equals = before_blanks(text, first - 1);
    return first == begin || (equals > 0 && text.at[equals - 1] == '=') ? before : IN_SENTENCE;
}

/* What a sentence puts behind a host. */
static size_t without_punctuation(struct span text, size_t host, size_t stop)
{
    bool in_brackets = span_find(span_part(text, host, stop - host), '[') < stop - host;

    while (stop > host && (strchr(".,;:!)}*_~|", text.at[stop - 1]) != NULL || (text.at[stop - 1] == ']' && !in_brackets)))
        stop--;
    return stop;
}

/* Where the link ends whose host begins here. */
static size_t end_of(struct links *links, size_t begin, size_t host)
{
    struct span text = links->text;
    size_t stop = links->stop > host ? links->stop : host, taken, others, further;
    bool has_authority_end = false;

    while (links->stop <= host && stop < text.len && ends(span_part(text, stop, SIZE_MAX), &taken) == ENDS_NOT)
        stop += taken;
    links->stop = stop;
    for (size_t i = host; i < stop && !has_authority_end; i++)
        has_authority_end = is_authority_end(text.at[i]);
    if (has_authority_end)
        return stop;
    others = stop_of_others(text, stop, IN_SENTENCE);
    further = stop_of_others(text, stop, place_of(text, begin));
    others = further > others ? further : others;
    return others > stop ? others : without_punctuation(text, host, stop);
}

/* Programs that look for `http` find it behind other letters, too: xhttp://. Returns: 0: there are none. */
static size_t letters_before_http(struct span scheme)
{
    static const struct span plain[] = {SPAN_LIT("https"), SPAN_LIT("http")};

    for (size_t i = 0; i < 2; i++)
        if (scheme.len > plain[i].len &&
            span_equals_nocase(span_part(scheme, scheme.len - plain[i].len, SIZE_MAX), plain[i]))
            return scheme.len - plain[i].len;
    return 0;
}

bool links_next(struct links *links, struct span *link)
{
    struct span text = links->text, scheme;

    while (links->at < text.len) {
        size_t colon = links->at + span_find(span_part(text, links->at, SIZE_MAX), ':'), begin = colon, more, host;

        if (colon == text.len)
            break;
        while (begin > links->at && is_scheme_byte(text.at[begin - 1]))
            begin--;
        while (begin < colon && !ascii_is_letter(text.at[begin]))
            begin++;
        more = letters_before_http(span_part(text, begin, colon - begin));
        begin += links->again ? more : 0;
        scheme = span_part(text, begin, colon - begin);
        host = scheme.len > 0 ? past_slashes(text, scheme, colon) : 0;
        links->again = !links->again && more > 0;
        if (!links->again)
            links->at = colon + 1;
        if (host == 0)
            continue;
        *link = span_part(text, begin, end_of(links, begin, host) - begin);
        return true;
    }
    return false;
}
