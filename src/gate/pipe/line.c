/* SPDX-License-Identifier: Apache-2.0 */
#include "pipe/line.h"

#include "json/json.h"

#define VERSION SPAN_LIT("io.modelcontextprotocol/protocolVersion")
#define SUBSCRIPTION SPAN_LIT("io.modelcontextprotocol/subscriptionId")

enum part { PART_OTHER = 0, PART_PARAMS, PART_RESULT, PART_ERROR };

struct reading {
    struct line *line;
    enum part part; /* which member of the root the walk is in */
    bool in_meta;   /* and there in `_meta` */
    bool is_object, is_version_2, has_outcome;
    struct line_place plain_token; /* params.progressToken */
};

static struct line_place place_of(const struct json_event *event)
{
    return (struct line_place){event->begin, event->end};
}

static void see_member(struct reading *reading, const struct json_event *event)
{
    struct line *line = reading->line;

    reading->in_meta = false;
    reading->part = PART_OTHER;
    if (span_is(event->key, "params"))
        reading->part = PART_PARAMS;
    else if (span_is(event->key, "result"))
        reading->part = PART_RESULT;
    else if (span_is(event->key, "error"))
        reading->part = PART_ERROR;
    reading->has_outcome = reading->has_outcome || reading->part == PART_RESULT || reading->part == PART_ERROR;
    if (event->kind != JSON_EVENT_SCALAR)
        return;
    if (span_is(event->key, "jsonrpc"))
        reading->is_version_2 = event->type == JSON_STRING && span_is(event->text, "2.0");
    else if (span_is(event->key, "id") && (event->type == JSON_STRING || event->type == JSON_NUMBER))
        line->id = place_of(event);
    else if (span_is(event->key, "method") && event->type == JSON_STRING)
        line->method = place_of(event);
}

static void see_part(struct reading *reading, const struct json_event *event)
{
    struct line *line = reading->line;

    if (event->kind != JSON_EVENT_END)
        reading->in_meta = event->kind == JSON_EVENT_BEGIN && span_is(event->key, "_meta");
    if (event->kind == JSON_EVENT_BEGIN)
        return;
    if (reading->part == PART_ERROR && span_is(event->key, "code"))
        line->code = place_of(event);
    if (reading->part != PART_PARAMS)
        return;
    if (span_is(event->key, "capabilities"))
        line->capabilities = place_of(event);
    else if (span_is(event->key, "requestId"))
        line->cancels = place_of(event);
    else if (span_is(event->key, "progressToken"))
        reading->plain_token = place_of(event);
}

static void see_meta(struct reading *reading, const struct json_event *event)
{
    struct line *line = reading->line;

    if (reading->part == PART_PARAMS && span_equals(event->key, VERSION))
        line->is_modern = true;
    if (event->kind != JSON_EVENT_SCALAR)
        return;
    if (reading->part == PART_PARAMS && span_is(event->key, "progressToken"))
        line->token = place_of(event);
    else if (span_equals(event->key, SUBSCRIPTION))
        line->subscription = place_of(event);
}

static enum code see(void *context, const struct json_event *event)
{
    struct reading *reading = context;

    if (event->depth == 0) {
        reading->is_object = reading->is_object || event->type == JSON_OBJECT;
        if (event->type == JSON_ARRAY)
            reading->line->kind = LINE_BATCH;
    } else if (!reading->is_object) {
        return CODE_OK;
    } else if (event->depth == 1 && event->kind != JSON_EVENT_END) {
        see_member(reading, event);
    } else if (event->depth == 2) {
        see_part(reading, event);
    } else if (event->depth == 3 && reading->in_meta) {
        see_meta(reading, event);
    }
    return CODE_OK;
}

enum code line_read(struct span text, struct buf *out, struct line *line)
{
    struct reading reading = {.line = line};
    struct json_fault fault;
    enum code code;

    *line = (struct line){.kind = LINE_NONE};
    code = json_walk(text, &json_reply_rules, out, see, &reading, &fault);
    if (code != CODE_OK || line->kind == LINE_BATCH)
        return code;
    if (!reading.is_object || !reading.is_version_2)
        return CODE_INVALID;
    if (line->method.end > 0)
        line->kind = reading.has_outcome ? LINE_NONE : line->id.end > 0 ? LINE_REQUEST : LINE_NOTIFICATION;
    else if (reading.has_outcome)
        line->kind = LINE_RESPONSE;
    if (line->kind == LINE_NOTIFICATION) /* other notifications name no request */
        line->token = line_method_is(buf_peek(out), line, "notifications/progress") ? reading.plain_token
                                                                                   : (struct line_place){0, 0};
    return line->kind != LINE_NONE ? CODE_OK : CODE_INVALID;
}

bool line_method_is(struct span canonical, const struct line *line, const char *method)
{
    struct span text = line_text(canonical, line->method);

    return text.len > 2 && span_is(span_part(text, 1, text.len - 2), method);
}

/* The bytes are canonical, so that no blank stands between tokens. */
bool line_member(struct span batch, size_t *at, struct span *member)
{
    size_t begin = *at == 0 ? 1 : *at, end = begin;
    unsigned depth = 0;
    bool in_string = false;

    for (; end < batch.len; end++) {
        char c = batch.at[end];

        if (in_string) {
            end += c == '\\';
            in_string = c != '"';
        } else if (c == '"') {
            in_string = true;
        } else if (c == '[' || c == '{') {
            depth++;
        } else if (depth > 0 && (c == ']' || c == '}')) {
            depth--;
        } else if (depth == 0 && (c == ',' || c == ']')) {
            break;
        }
    }
    *member = span_part(batch, begin, end - begin);
    *at = end + 1;
    return member->len > 0;
}

enum code line_write(struct span canonical, struct line_edit *edits, size_t count, struct buf *out)
{
    size_t from = 0;

    while (buf_code(out) == CODE_OK) {
        struct line_edit *next = NULL;

        for (size_t i = 0; i < count; i++)
            if (edits[i].place.end > 0 && edits[i].place.begin >= from &&
                (next == NULL || edits[i].place.begin < next->place.begin))
                next = &edits[i];
        if (next == NULL)
            break;
        buf_add_span(out, span_part(canonical, from, next->place.begin - from));
        buf_add_span(out, next->text);
        from = next->place.end;
    }
    return buf_add_span(out, span_part(canonical, from, SIZE_MAX));
}
