/* SPDX-License-Identifier: Apache-2.0 */
#include "http/scan_priv.h"

#include "base/bug.h"
#include "base/num.h"
#include "http/authority.h"
#include "http/name_priv.h"

bool http__refuse(struct http_reader *reader, enum reason reason, const char *detail)
{
    if (reader->is_reply && reason != REASON_MEMORY && reason != REASON_UPSTREAM_CLOSED)
        reason = REASON_UPSTREAM_MALFORMED;
    reader->reason = reason;
    reader->detail = detail;
    reader->place = HTTP_PLACE_FAULT;
    return false;
}

/* Heads are at most 16 KiB, so both numbers fit. */
static struct http_piece piece_of(const struct http_head *head, struct span part)
{
    struct span bytes = buf_peek(&head->bytes);

    if (part.len == 0)
        return (struct http_piece){0, 0};
    BUG_ON(part.at < bytes.at || part.at + part.len > bytes.at + bytes.len);
    return (struct http_piece){(uint16_t)(part.at - bytes.at), (uint16_t)part.len};
}

static bool scan_method(struct http_reader *reader, struct span text)
{
    static const enum http_method spoken[] = {HTTP_METHOD_POST, HTTP_METHOD_GET, HTTP_METHOD_DELETE,
                                              HTTP_METHOD_OPTIONS, HTTP_METHOD_HEAD};
    struct http_head *head = &reader->head;

    for (size_t i = 0; i < sizeof spoken / sizeof spoken[0]; i++)
        if (span_is(text, http_method_text(spoken[i]))) {
            head->method = spoken[i];
            head->method_text = piece_of(head, text);
            return true;
        }
    if (!http__is_token(text))
        return http__refuse(reader, REASON_HTTP_MALFORMED, "the method is not a token");
    return http__refuse(reader, REASON_HTTP_METHOD, "the method is none that is spoken here");
}

/* Whether readers must, or might, read the path in more than one way. */
static bool is_debatable(struct span path)
{
    return span_find(path, '%') < path.len || span_find(path, ';') < path.len || span_find(path, '\\') < path.len ||
           span_holds(path, SPAN_LIT("..")) || span_holds(path, SPAN_LIT("//")) || span_holds(path, SPAN_LIT("/./")) ||
           span_ends_with(path, SPAN_LIT("/."));
}

/* Whether the path is of letters between single slashes, as most are, against which no rule has anything. */
static bool is_plain(struct span path)
{
    for (size_t i = 1; i < path.len; i++) {
        bool begins_name = path.at[i - 1] == '/' || path.at[i - 1] == '.';

        if (!http__is_in(path.at[i], HTTP__PATH) || (begins_name && (path.at[i] == '/' || path.at[i] == '.')))
            return false;
    }
    return true;
}

static bool scan_target(struct http_reader *reader, struct span target)
{
    struct http_head *head = &reader->head;
    struct span query;
    struct span path = span_cut(target, '?', &query);
    bool plain = is_plain(path);

    if (path.len == 0 || path.at[0] != '/')
        return http__refuse(reader, REASON_HTTP_MALFORMED, "the target is not in origin form");
    if (!plain && is_debatable(path))
        return http__refuse(reader, REASON_PATH_DEBATABLE, "the path has an escape, a dot segment, '//', ';' or '\\'");
    if (!plain && !http__is_all(path, HTTP__PATH))
        return http__refuse(reader, REASON_HTTP_MALFORMED, "the path has a character that RFC 3986 does not allow");
    if (!http__is_visible(query) || span_find(query, '#') < query.len)
        return http__refuse(reader, REASON_HTTP_MALFORMED, "the query has a character that is not visible ASCII, or '#'");
    head->query = piece_of(head, query);
    head->has_query = path.len < target.len;
    return true;
}

static bool takes_plain_clients(const struct http_reader *reader)
{
    return reader->rules != NULL && reader->rules->plain_clients;
}

static bool scan_version(struct http_reader *reader, struct span version)
{
    if (span_is(version, "HTTP/1.1")) {
        reader->head.minor = 1;
        return true;
    }
    if ((reader->is_reply || takes_plain_clients(reader)) && span_is(version, "HTTP/1.0")) {
        reader->head.minor = 0;
        return true;
    }
    if (span_starts_with(version, SPAN_LIT("HTTP/")))
        return http__refuse(reader, REASON_HTTP_VERSION, "the version is not HTTP/1.1");
    return http__refuse(reader, REASON_HTTP_MALFORMED, "the version is not HTTP's");
}

static bool scan_request_line(struct http_reader *reader, struct span line)
{
    struct span rest, version;
    struct span method = span_cut(line, ' ', &rest);
    struct span target = span_cut(rest, ' ', &version), query;

    /* Set before anything is refused, since a refusal is answered in the form of the route that takes the path. */
    reader->head.path = piece_of(&reader->head, span_cut(target, '?', &query));
    if (!scan_method(reader, method))
        return false;
    if (target.len == 0 || version.len == 0)
        return http__refuse(reader, REASON_HTTP_MALFORMED, "the request line is not METHOD SP target SP version");
    return scan_version(reader, version) && scan_target(reader, target);
}

static bool scan_status_line(struct http_reader *reader, struct span line)
{
    struct span rest, phrase;
    struct span version = span_cut(line, ' ', &rest);
    struct span status = span_cut(rest, ' ', &phrase);
    uint64_t number;

    if (!scan_version(reader, version))
        return false;
    if (status.len != 3 || num_u64(status, &number) != CODE_OK || number < 100 || number > 599)
        return http__refuse(reader, REASON_UPSTREAM_MALFORMED, "the status is not a number from 100 to 599");
    if (!http__is_value(phrase))
        return http__refuse(reader, REASON_UPSTREAM_MALFORMED, "the reason phrase is not visible ASCII");
    reader->head.status = (int)number;
    return true;
}

bool http__scan_start_line(struct http_reader *reader, struct http_piece line)
{
    struct span text = http_head_text(&reader->head, line);

    return reader->is_reply ? scan_status_line(reader, text) : scan_request_line(reader, text);
}

static bool is_listed(struct span name, const struct http_names *list)
{
    for (size_t i = 0; i < list->count; i++)
        if (span_equals_nocase(name, list->names[i]))
            return true;
    return false;
}

static char fold_sign(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ? c : c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : '-';
}

/* Whether a name is not in the list, but counts as one where all signs are alike: in CGI X_Tenant is X-Tenant. */
static bool passes_for_listed(struct span name, const struct http_names *list)
{
    for (size_t i = 0; i < list->count; i++) {
        size_t at = 0;

        while (name.len == list->names[i].len && at < name.len && fold_sign(name.at[at]) == fold_sign(list->names[i].at[at]))
            at++;
        if (at > 0 && at == name.len)
            return !is_listed(name, list);
    }
    return false;
}

static bool has_open_underscore(struct span name, const struct http_rules *rules)
{
    return span_find(name, '_') < name.len && (rules == NULL || !is_listed(name, &rules->underscored));
}

static bool may_occur_once(struct span name, unsigned flags, const struct http_rules *rules)
{
    return (flags & HTTP__ONCE) != 0 || (rules != NULL && is_listed(name, &rules->once));
}

bool http__scan_header(struct http_reader *reader, struct http_piece line)
{
    struct http_head *head = &reader->head;
    struct span text = http_head_text(head, line);
    const char *colon = memchr(text.at, ':', text.len);
    struct span name = span_of(text.at, colon != NULL ? (size_t)(colon - text.at) : text.len);
    struct span value = span_part(text, name.len + 1, SIZE_MAX);
    enum http_name known;
    uint8_t flags = http__name_flags(name, &known);
    bool is_known = known != HTTP_NAME_OTHER; /* known names are tokens without '_' */

    if (text.at[0] == ' ' || text.at[0] == '\t')
        return http__refuse(reader, REASON_HTTP_MALFORMED, "a header line begins with a blank");
    if (colon == NULL || (!is_known && !http__is_token(name)))
        return http__refuse(reader, REASON_HTTP_MALFORMED, "a header's name is not a token followed by ':'");
    if (!http__is_value(value))
        return http__refuse(reader, REASON_HTTP_MALFORMED, "a header's value is not visible ASCII, SP and HTAB");
    if (!reader->is_reply && !is_known && has_open_underscore(name, reader->rules))
        return http__refuse(reader, REASON_HTTP_HEADER_NAME, "a header's name has '_' and no route lists it");
    if (may_occur_once(name, flags, reader->rules) &&
        (is_known ? http_head_has(head, known) : http_head_find(head, name, NULL)))
        return http__refuse(reader, (flags & HTTP__MIRROR) ? REASON_HEADER_MISMATCH : REASON_HTTP_HEADER_TWICE,
                            "a header that may occur once occurs twice");
    if (head->count == HTTP_HEADERS_MAX)
        return http__refuse(reader, REASON_HTTP_HEAD_TOO_LARGE, "the head has more than 64 headers");
    head->headers[head->count++] = (struct http_header){.name = {line.at, (uint16_t)name.len},
                                                        .value = piece_of(head, span_trim(value)),
                                                        .flags = flags,
                                                        .known = (uint8_t)known};
    if (!http_head_has(head, known))
        head->first[known] = (uint8_t)head->count;
    return true;
}

/* Whether no blank follows the value: readers take blanks after Transfer-Encoding and Content-Length in
 * different ways; strict llhttp takes SP, but not HTAB. */
static bool ends_at_once(struct span value)
{
    return value.len == 0 || value.at[value.len] == '\r'; /* a CRLF follows every line of the head */
}

static bool scan_framing(struct http_reader *reader)
{
    struct http_head *head = &reader->head;
    struct span encoding = http_head_known(head, HTTP_NAME_TRANSFER_ENCODING);
    struct span length = http_head_known(head, HTTP_NAME_CONTENT_LENGTH);
    bool has_length = length.at != NULL;

    if (encoding.at != NULL) {
        if (has_length)
            return http__refuse(reader, REASON_HTTP_FRAMING, "Transfer-Encoding and Content-Length in one message");
        if (http_head_count(head, SPAN_LIT("Transfer-Encoding")) > 1 || !span_is(encoding, "chunked") ||
            !ends_at_once(encoding))
            return http__refuse(reader, REASON_HTTP_FRAMING, "Transfer-Encoding is not exactly chunked");
        if (head->minor == 0)
            return http__refuse(reader, REASON_HTTP_FRAMING, "Transfer-Encoding in HTTP/1.0");
        head->framing = HTTP_FRAMING_CHUNKED;
    } else if (has_length) {
        if (num_u64(length, &head->content_length) != CODE_OK || head->content_length > INT64_MAX || !ends_at_once(length))
            return http__refuse(reader, REASON_HTTP_FRAMING, "Content-Length is not one plain number");
        head->framing = HTTP_FRAMING_CONTENT_LENGTH;
    } else {
        head->framing = reader->is_reply ? HTTP_FRAMING_UNTIL_EOF : HTTP_FRAMING_NONE;
    }
    return true;
}

static bool scan_end_of_request(struct http_reader *reader)
{
    struct http_head *head = &reader->head;
    struct span host = http_head_known(head, HTTP_NAME_HOST);
    struct span expect = http_head_known(head, HTTP_NAME_EXPECT);
    struct http_authority authority = {0};

    if (host.at == NULL) {
        if (!takes_plain_clients(reader))
            return http__refuse(reader, REASON_HTTP_MALFORMED, "there is no Host");
    } else if (!http_authority_read(host, &authority)) {
        return http__refuse(reader, REASON_HTTP_MALFORMED, "the Host is not a name with an optional port");
    }
    head->host_name = piece_of(head, authority.name);
    if (head->method != HTTP_METHOD_POST && (head->framing == HTTP_FRAMING_CHUNKED || head->content_length > 0))
        return http__refuse(reader, REASON_BODY_UNEXPECTED, "a body with a method that takes none");
    if (expect.at != NULL) {
        if (!span_equals_nocase(expect, SPAN_LIT("100-continue")))
            return http__refuse(reader, REASON_EXPECTATION, "an Expect other than 100-continue");
        head->expect_continue = head->framing == HTTP_FRAMING_CHUNKED || head->content_length > 0;
    }
    return true;
}

/* RFC 9112, 6.3: replies that have no body whatever their headers say. */
static bool scan_end_of_reply(struct http_reader *reader)
{
    struct http_head *head = &reader->head;
    bool is_interim = head->status < 200;

    if (head->status == 101)
        return http__refuse(reader, REASON_UPSTREAM_MALFORMED, "101, though no upgrade was asked for");
    if (is_interim || head->status == 204) {
        if (head->framing == HTTP_FRAMING_CHUNKED || head->content_length > 0)
            return http__refuse(reader, REASON_UPSTREAM_MALFORMED, "a body with a status that has none");
        head->framing = HTTP_FRAMING_NONE;
    } else if (head->status == 304 || reader->asked == HTTP_METHOD_HEAD) {
        head->framing = HTTP_FRAMING_NONE;
    }
    return true;
}

static void mark_named(struct http_head *head, struct span member)
{
    for (size_t i = 0; i < head->count; i++)
        if (head->headers[i].name.len == member.len && span_equals_nocase(http_head_name(head, i), member))
            head->headers[i].flags |= HTTP__NAMED;
}

/* Reads Connection: marks the headers that it names, and finds whether the connection lives on. */
static void scan_connection(struct http_head *head)
{
    bool closes = false, keeps = head->minor == 1;

    for (size_t i = 0; i < head->count && http_head_has(head, HTTP_NAME_CONNECTION); i++) {
        struct span rest = SPAN_NONE;

        if (head->headers[i].known == HTTP_NAME_CONNECTION)
            rest = http_head_value(head, i);
        while (rest.len > 0) {
            struct span member = span_trim(span_cut(rest, ',', &rest));

            closes |= span_equals_nocase(member, SPAN_LIT("close"));
            keeps |= span_equals_nocase(member, SPAN_LIT("keep-alive"));
            mark_named(head, member);
        }
    }
    head->keep_alive = head->framing != HTTP_FRAMING_UNTIL_EOF && keeps && !closes;
}

bool http__scan_end(struct http_reader *reader)
{
    if (!scan_framing(reader) || !(reader->is_reply ? scan_end_of_reply(reader) : scan_end_of_request(reader)))
        return false;
    scan_connection(&reader->head);
    return true;
}

enum reason http_head_check(const struct http_head *head, const struct http_rules *rules)
{
    for (size_t i = 0; i < head->count; i++) {
        struct span name = http_head_name(head, i);

        if (head->headers[i].known == HTTP_NAME_OTHER &&
            (has_open_underscore(name, rules) || (rules != NULL && passes_for_listed(name, &rules->once))))
            return REASON_HTTP_HEADER_NAME;
        /* Headers that may occur once under any rules were checked when the head was read. */
        if (rules != NULL && is_listed(name, &rules->once) && http_head_count(head, name) > 1)
            return REASON_HTTP_HEADER_TWICE;
    }
    return REASON_UNSET;
}
