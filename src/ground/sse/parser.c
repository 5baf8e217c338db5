/* SPDX-License-Identifier: Apache-2.0 */
#include "sse/parser.h"

#include "base/utf8.h"

#define RETRY_MAX INT32_MAX

enum place { PLACE_NAME = 0, PLACE_COLON, PLACE_VALUE, PLACE_COMMENT };

enum field { FIELD_UNKNOWN = 0, FIELD_EVENT, FIELD_DATA, FIELD_ID, FIELD_RETRY };

enum number_state { NUMBER_EMPTY = 0, NUMBER_DIGITS, NUMBER_BAD };

enum utf8 { UTF8_START = 0, UTF8_ONE, UTF8_TWO, UTF8_THREE, UTF8_E0, UTF8_ED, UTF8_F0, UTF8_F4, UTF8_BAD };

void sse_parser_init(struct sse_parser *parser, size_t max_event_bytes)
{
    *parser = (struct sse_parser){.max_event_bytes = max_event_bytes, .reason = REASON_UNSET, .detail = ""};
    buf_init(&parser->data, max_event_bytes);
}

void sse_parser_fini(struct sse_parser *parser)
{
    buf_fini(&parser->data);
}

static void clear_event(struct sse_parser *parser);

void sse_parser_begin(struct sse_parser *parser, size_t max_event_bytes)
{
    struct buf data = parser->data;

    memset(parser, 0, offsetof(struct sse_parser, name));
    parser->data = data;
    parser->data.cap_bytes = parser->max_event_bytes = max_event_bytes;
    parser->reason = REASON_UNSET;
    parser->detail = "";
    clear_event(parser);
}

static COLD enum sse_step refuse(struct sse_parser *parser, enum reason reason, const char *detail)
{
    parser->reason = reason;
    parser->detail = detail;
    return SSE_STEP_FAULT;
}

static bool is_cont(unsigned char c, unsigned char low, unsigned char high)
{
    return c >= low && c <= high;
}

static enum utf8 utf8_lead(unsigned char c)
{
    if (c < 0x80)
        return UTF8_START;
    if (c < 0xc2 || c > 0xf4)
        return UTF8_BAD; /* a continuation, overlong, or beyond U+10FFFF */
    if (c < 0xe0)
        return UTF8_ONE;
    if (c < 0xf0)
        return c == 0xe0 ? UTF8_E0 : c == 0xed ? UTF8_ED : UTF8_TWO;
    return c == 0xf0 ? UTF8_F0 : c == 0xf4 ? UTF8_F4 : UTF8_THREE;
}

/* Unicode, table 3-7: overlong forms and surrogates show in the second byte. */
static enum utf8 utf8_next(enum utf8 state, unsigned char c)
{
    switch (state) {
    case UTF8_START: return utf8_lead(c);
    case UTF8_ONE: return is_cont(c, 0x80, 0xbf) ? UTF8_START : UTF8_BAD;
    case UTF8_TWO: return is_cont(c, 0x80, 0xbf) ? UTF8_ONE : UTF8_BAD;
    case UTF8_THREE: return is_cont(c, 0x80, 0xbf) ? UTF8_TWO : UTF8_BAD;
    case UTF8_E0: return is_cont(c, 0xa0, 0xbf) ? UTF8_ONE : UTF8_BAD;
    case UTF8_ED: return is_cont(c, 0x80, 0x9f) ? UTF8_ONE : UTF8_BAD;
    case UTF8_F0: return is_cont(c, 0x90, 0xbf) ? UTF8_TWO : UTF8_BAD;
    case UTF8_F4: return is_cont(c, 0x80, 0x8f) ? UTF8_TWO : UTF8_BAD;
    case UTF8_BAD: break;
    }
    return UTF8_BAD;
}

/* Returns: how many bytes from the beginning hold no line end, no NUL and no fault of UTF-8. */
static size_t plain_run(struct sse_parser *parser, struct span in)
{
    enum utf8 state = parser->utf8_state;
    size_t i = 0;

    while (i < in.len) {
        unsigned char c;

        if (state == UTF8_START)
            i += utf8_plain(span_part(in, i, SIZE_MAX));
        if (i == in.len)
            break;
        c = (unsigned char)in.at[i];
        if (c == '\0' || c == '\r' || c == '\n' || utf8_next(state, c) == UTF8_BAD)
            break;
        state = utf8_next(state, c);
        i++;
    }
    parser->utf8_state = (uint8_t)state;
    return i;
}

static void clear_event(struct sse_parser *parser)
{
    parser->event = (struct sse_event){0};
    parser->id_len = 0;
    parser->type_len = 0;
    parser->event_bytes = 0;
    parser->is_open = false;
    parser->told = false;
    parser->view = SPAN_NONE;
    buf_fini(&parser->data);
}

void sse_parser_rest(struct sse_parser *parser)
{
    if (parser->told)
        clear_event(parser);
    if (!parser->is_open)
        buf_fini(&parser->data);
}

static enum field field_of(const struct sse_parser *parser)
{
    struct span name = span_of(parser->name, parser->name_len);

    if (span_is(name, "data"))
        return FIELD_DATA;
    if (span_is(name, "event"))
        return FIELD_EVENT;
    if (span_is(name, "id"))
        return FIELD_ID;
    return span_is(name, "retry") ? FIELD_RETRY : FIELD_UNKNOWN;
}

/* Adds to the event's data. A line that was taken where it lies is copied first, since it is needed for longer. */
static enum sse_step add_data(struct sse_parser *parser, struct span run)
{
    buf_borrow(&parser->data);
    (void)buf_add_span(&parser->data, parser->view);
    parser->view = SPAN_NONE;
    return buf_add_span(&parser->data, run) == CODE_OK ? SSE_STEP_NEED_MORE
                                                       : refuse(parser, REASON_MEMORY, "no memory for the event");
}

/* Begins a field, whose name is whole. Where a field comes twice the later one counts, but for `data`. */
static enum sse_step begin_field(struct sse_parser *parser)
{
    parser->field = (uint8_t)field_of(parser);
    parser->is_open = true;
    switch ((enum field)parser->field) {
    case FIELD_UNKNOWN: break;
    case FIELD_EVENT: parser->type_len = 0; break;
    case FIELD_DATA:
        if (parser->event.has_data)
            return add_data(parser, SPAN_LIT("\n"));
        parser->event.has_data = true;
        break;
    case FIELD_ID:
        parser->id_len = 0;
        parser->event.has_id = true;
        break;
    case FIELD_RETRY:
        parser->number = 0;
        parser->number_state = NUMBER_EMPTY;
        break;
    }
    return SSE_STEP_NEED_MORE;
}

static void add_digits(struct sse_parser *parser, struct span run)
{
    for (size_t i = 0; i < run.len; i++) {
        char c = run.at[i];

        if (parser->number_state == NUMBER_BAD)
            return;
        parser->number_state = c >= '0' && c <= '9' ? NUMBER_DIGITS : NUMBER_BAD;
        parser->number = parser->number * 10 + (uint64_t)(c - '0');
        if (parser->number > RETRY_MAX)
            parser->number_state = NUMBER_BAD;
    }
}

static enum sse_step add_id(struct sse_parser *parser, struct span run)
{
    for (size_t i = 0; i < run.len; i++) {
        if (run.at[i] <= 0x20 || run.at[i] >= 0x7f)
            return refuse(parser, REASON_UPSTREAM_EVENT, "an event's id is not visible ASCII");
        if (parser->id_len == SSE_ID_MAX_BYTES)
            return refuse(parser, REASON_UPSTREAM_EVENT, "an event's id is too long");
        parser->id[parser->id_len++] = run.at[i];
    }
    return SSE_STEP_NEED_MORE;
}

static enum sse_step add_value(struct sse_parser *parser, struct span run)
{
    switch ((enum field)parser->field) {
    case FIELD_UNKNOWN: break;
    case FIELD_EVENT:
        run = span_part(run, 0, sizeof parser->type - parser->type_len);
        if (run.len > 0)
            memcpy(parser->type + parser->type_len, run.at, run.len);
        parser->type_len = (uint8_t)(parser->type_len + run.len);
        break;
    case FIELD_DATA: return add_data(parser, run);
    case FIELD_ID: return add_id(parser, run);
    case FIELD_RETRY: add_digits(parser, run); break;
    }
    return SSE_STEP_NEED_MORE;
}

static enum sse_step hand_out(struct sse_parser *parser)
{
    struct sse_event *event = &parser->event;

    if (!event->has_data && !event->has_id && !event->has_retry && parser->type_len == 0) {
        clear_event(parser);
        return SSE_STEP_NEED_MORE;
    }
    event->type = parser->type_len > 0 ? span_of(parser->type, parser->type_len) : SPAN_LIT("message");
    event->id = span_of(parser->id, parser->id_len);
    event->data = parser->view.at != NULL ? parser->view : buf_peek(&parser->data);
    parser->told = true;
    return SSE_STEP_EVENT;
}

/* Ends a line, at LF or at CR LF. */
static enum sse_step end_line(struct sse_parser *parser)
{
    enum place place = parser->place;
    bool is_empty = place == PLACE_NAME && parser->name_len == 0;

    parser->place = PLACE_NAME;
    parser->after_cr = false;
    if (is_empty)
        return hand_out(parser);
    if (place == PLACE_COMMENT) {
        if (!parser->is_open)
            parser->event_bytes = 0;
        parser->name_len = 0;
        return SSE_STEP_COMMENT;
    }
    if (place == PLACE_NAME && begin_field(parser) == SSE_STEP_FAULT)
        return SSE_STEP_FAULT;
    parser->name_len = 0;
    if (parser->field == FIELD_RETRY && parser->number_state == NUMBER_DIGITS) {
        parser->event.has_retry = true;
        parser->event.retry_ms = parser->number;
    }
    return SSE_STEP_NEED_MORE;
}

/* Takes a byte of a field's name that is no line end. A name that is longer than any known one is not kept whole. */
static enum sse_step take_name_byte(struct sse_parser *parser, char c)
{
    if (c == ':') {
        parser->place = parser->name_len == 0 ? PLACE_COMMENT : PLACE_COLON;
        return parser->name_len == 0 ? SSE_STEP_NEED_MORE : begin_field(parser);
    }
    if (parser->name_len < sizeof parser->name)
        parser->name[parser->name_len++] = c;
    if (parser->name_len == 3 && memcmp(parser->name, "\xef\xbb\xbf", 3) == 0)
        return refuse(parser, REASON_UPSTREAM_EVENT, "a byte order mark at the beginning of a line");
    return SSE_STEP_NEED_MORE;
}

/* Takes a byte that is not part of a plain run, or one of a name. */
static enum sse_step take_byte(struct sse_parser *parser, char c)
{
    enum utf8 state = utf8_next(parser->utf8_state, (unsigned char)c);

    if (parser->after_cr && c != '\n')
        return refuse(parser, REASON_UPSTREAM_EVENT, "CR as a line end of its own");
    if (state == UTF8_BAD)
        return refuse(parser, REASON_UPSTREAM_EVENT, "the event stream is not UTF-8");
    parser->utf8_state = (uint8_t)state;
    if (c == '\0')
        return refuse(parser, REASON_UPSTREAM_EVENT, "a NUL in the event stream");
    if (c == '\n')
        return end_line(parser);
    if (c == '\r') {
        parser->after_cr = true;
        return SSE_STEP_NEED_MORE;
    }
    if (parser->place == PLACE_NAME)
        return take_name_byte(parser, c);
    parser->place = PLACE_VALUE; /* the one SP after the colon */
    return SSE_STEP_NEED_MORE;
}

/* Whether the line is whole in the input, as nearly all are. Returns: false: it is not, or one of its bytes will be refused. */
static bool is_whole_line(struct sse_parser *parser, struct span in, struct span *line, size_t *used)
{
    size_t len, end;

    if (parser->place != PLACE_NAME || parser->name_len != 0 || parser->after_cr ||
        span_starts_with(in, SPAN_LIT("\xef\xbb\xbf")))
        return false;
    len = plain_run(parser, in);
    end = len + (len < in.len && in.at[len] == '\r');
    *line = span_part(in, 0, len);
    *used = end + 1;
    if (parser->utf8_state == UTF8_START && end < in.len && in.at[end] == '\n')
        return true;
    parser->utf8_state = UTF8_START;
    return false;
}

static enum sse_step take_line(struct sse_parser *parser, struct span line)
{
    size_t name_len = span_find(line, ':');
    struct span value = span_part(line, name_len + 1, SIZE_MAX);
    enum sse_step step = SSE_STEP_NEED_MORE;

    if (line.len > 0 && name_len == 0)
        parser->place = PLACE_COMMENT;
    parser->name_len = (uint8_t)(name_len < sizeof parser->name ? name_len : sizeof parser->name);
    if (name_len > 0)
        memcpy(parser->name, line.at, parser->name_len);
    if (name_len > 0 && name_len < line.len) {
        parser->place = PLACE_VALUE;
        step = begin_field(parser);
        if (span_starts_with(value, SPAN_LIT(" ")))
            value = span_part(value, 1, SIZE_MAX);
        if (parser->field == FIELD_DATA && buf_is_empty(&parser->data))
            parser->view = value;
        else if (step == SSE_STEP_NEED_MORE)
            step = add_value(parser, value);
    }
    return step == SSE_STEP_NEED_MORE ? end_line(parser) : step;
}

/* Begins to hand out an event over the limit; what lies in the buffer is its first piece. */
static enum sse_step begin_over(struct sse_parser *parser)
{
    parser->is_over = parser->told = true;
    parser->event.data = parser->view.at != NULL ? parser->view : buf_peek(&parser->data);
    if (parser->name_len > 0)
        parser->place = PLACE_VALUE;
    parser->name_len = 0;
    return SSE_STEP_PASSED;
}

/* Hands out the next piece of an event over the limit, up to the end of a line. An empty line ends the event. */
static enum sse_step pass_by(struct sse_parser *parser, struct span in, size_t *used)
{
    size_t len = span_find(in, '\n');
    bool has_end = len < in.len;
    bool is_empty = parser->place == PLACE_NAME && (len == 0 || (len == 1 && in.at[0] == '\r' && !parser->after_cr));

    *used = len + has_end;
    parser->after_cr = is_empty && !has_end;
    if (is_empty && has_end) {
        parser->is_over = false;
        parser->told = true;
        parser->utf8_state = UTF8_START;
        return SSE_STEP_PASSED;
    }
    if (!is_empty)
        parser->place = PLACE_VALUE;
    parser->event.data = span_part(in, 0, len);
    parser->event.has_data = parser->told = len > 0;
    if (has_end)
        parser->place = PLACE_NAME;
    return len > 0 ? SSE_STEP_PASSED : SSE_STEP_NEED_MORE;
}

/* Goes on by at least one byte. The limit is checked before the byte that would exceed it, so that the answer does not
 * depend on how the stream is cut. */
static enum sse_step advance(struct sse_parser *parser, struct span in, size_t *used)
{
    size_t room = parser->max_event_bytes - parser->event_bytes;
    struct span run = span_part(in, 0, room), line;

    if (parser->is_over)
        return pass_by(parser, in, used);
    if (room == 0 && parser->passes_by && parser->event.has_data && !parser->after_cr)
        return begin_over(parser);
    if (room == 0)
        return refuse(parser, REASON_UPSTREAM_TOO_LARGE, "an event over the limit");
    if (is_whole_line(parser, run, &line, used)) {
        parser->event_bytes += *used;
        return take_line(parser, line);
    }
    if (parser->place == PLACE_NAME || parser->after_cr || (parser->place == PLACE_COLON && in.at[0] == ' ')) {
        *used = 1;
    } else {
        *used = plain_run(parser, run);
        run.len = *used;
        if (run.len > 0 && parser->place == PLACE_COLON)
            parser->place = PLACE_VALUE;
        parser->event_bytes += run.len;
        if (run.len > 0)
            return parser->place == PLACE_VALUE ? add_value(parser, run) : SSE_STEP_NEED_MORE;
        *used = 1;
    }
    parser->event_bytes++;
    return take_byte(parser, in.at[0]);
}

enum sse_step sse_parser_feed(struct sse_parser *parser, struct span in, size_t *used)
{
    enum sse_step step = SSE_STEP_NEED_MORE;

    *used = 0;
    if (parser->reason != REASON_UNSET)
        return SSE_STEP_FAULT;
    if (parser->told)
        clear_event(parser);
    while (*used < in.len && step == SSE_STEP_NEED_MORE) {
        size_t more = 0;

        step = advance(parser, span_part(in, *used, SIZE_MAX), &more);
        *used += more;
    }
    return step == SSE_STEP_NEED_MORE && parser->view.len > 0 ? add_data(parser, SPAN_NONE) : step;
}

enum sse_step sse_parser_eof(struct sse_parser *parser)
{
    if (parser->reason != REASON_UNSET)
        return SSE_STEP_FAULT;
    if (parser->told)
        clear_event(parser);
    if (parser->is_over || parser->is_open || (parser->place == PLACE_NAME && parser->name_len > 0) || parser->after_cr)
        return refuse(parser, REASON_UPSTREAM_EVENT, "the stream ended in the middle of an event");
    return SSE_STEP_NEED_MORE;
}
