/* SPDX-License-Identifier: Apache-2.0 */
#include "telemetry/otlp.h"

#include "base/utf8.h"
#include "json/json.h"

#include <inttypes.h>
#include <string.h>

#define BATCH_BYTES ((size_t)256 << 20)

static const struct {
    const char *name, *resources, *scopes, *items;
} signals[OTLP_SIGNALS] = {
    [OTLP_TRACES] = {"traces", "resourceSpans", "scopeSpans", "spans"},
    [OTLP_METRICS] = {"metrics", "resourceMetrics", "scopeMetrics", "metrics"},
    [OTLP_LOGS] = {"logs", "resourceLogs", "scopeLogs", "logRecords"},
};

const char *otlp_signal_name(enum otlp_signal signal)
{
    return signals[signal].name;
}

/* ---- values ---- */

void otlp_cut(struct buf *out, struct span text, size_t most)
{
    struct span kept = text.len > most ? utf8_cut(text, most) : text;

    (void)json_write_string(out, kept);
    if (kept.len == text.len || buf_code(out) != CODE_OK)
        return;
    buf_truncate(out, buf_len(out) - 1);
    buf_add_text(out, "\xe2\x80\xa6\"");
}

void otlp_time(struct buf *out, const char *name, int64_t us)
{
    buf_addf(out, "\"%s\":\"%" PRIu64 "\"", name, us > 0 ? (uint64_t)us * 1000 : 0);
}

struct otlp_list otlp_list_begin(struct buf *out)
{
    buf_add_text(out, "\"attributes\":[");
    return (struct otlp_list){.out = out};
}

void otlp_list_end(struct otlp_list *list)
{
    buf_add_byte(list->out, ']');
}

static void begin_value(struct otlp_list *list, const char *name, const char *kind)
{
    buf_addf(list->out, "%s{\"key\":\"%s\",\"value\":{\"%s\":", list->has_some ? "," : "", name, kind);
    list->has_some = true;
}

static void add_text(struct otlp_list *list, const char *name, struct span value, size_t most)
{
    if (value.at == NULL)
        return;
    begin_value(list, name, "stringValue");
    otlp_cut(list->out, value, most);
    buf_add_text(list->out, "}}");
}

void otlp_text(struct otlp_list *list, const char *name, struct span value)
{
    add_text(list, name, value, OTLP_TEXT_BYTES);
}

void otlp_long(struct otlp_list *list, const char *name, struct span value)
{
    add_text(list, name, value, OTLP_LONG_BYTES);
}

void otlp_number(struct otlp_list *list, const char *name, struct span digits)
{
    if (digits.at == NULL)
        return;
    begin_value(list, name, "intValue");
    (void)json_write_string(list->out, digits);
    buf_add_text(list->out, "}}");
}

void otlp_true(struct otlp_list *list, const char *name)
{
    begin_value(list, name, "boolValue");
    buf_add_text(list->out, "true}}");
}

/* ---- batches ---- */

void otlp_batch_init(struct otlp_batch *batch)
{
    *batch = (struct otlp_batch){.count = 0};
    buf_init(&batch->text, BATCH_BYTES);
    buf_init(&batch->ends, BATCH_BYTES);
}

void otlp_batch_fini(struct otlp_batch *batch)
{
    buf_fini(&batch->text);
    buf_fini(&batch->ends);
}

void otlp_batch_clear(struct otlp_batch *batch)
{
    buf_clear(&batch->text);
    buf_clear(&batch->ends);
    batch->count = 0;
}

static size_t end_of(const struct otlp_batch *batch, size_t item)
{
    size_t end;

    memcpy(&end, buf_peek(&batch->ends).at + item * sizeof end, sizeof end);
    return end;
}

static size_t begin_of(const struct otlp_batch *batch, size_t item)
{
    return item > 0 ? end_of(batch, item - 1) : 0;
}

enum code otlp_batch_end_item(struct otlp_batch *batch)
{
    size_t end;

    if (buf_code(&batch->text) != CODE_OK)
        return buf_code(&batch->text);
    end = buf_len(&batch->text);
    if (end == begin_of(batch, batch->count))
        return CODE_OK;
    if (buf_add(&batch->ends, &end, sizeof end) == CODE_OK)
        batch->count++;
    return buf_code(&batch->ends);
}

size_t otlp_batch_fit(const struct otlp_batch *batch, size_t first, size_t most_items, size_t most_bytes)
{
    size_t begin = begin_of(batch, first), count = 1;

    while (count < most_items && first + count < batch->count && end_of(batch, first + count) - begin <= most_bytes)
        count++;
    return count;
}

static void add_resource(struct buf *out, const char *node)
{
    struct otlp_list list;

    buf_add_text(out, "\"resource\":{");
    list = otlp_list_begin(out);
    otlp_text(&list, "service.name", SPAN_LIT("callgate"));
    otlp_text(&list, "service.version", SPAN_LIT(CALLGATE_VERSION));
    otlp_text(&list, "service.instance.id", span_text(node));
    otlp_text(&list, "host.name", span_text(node));
    otlp_list_end(&list);
    buf_add_text(out, "}");
}

enum code otlp_batch_body(const struct otlp_batch *batch, enum otlp_signal signal, const char *node, size_t first, size_t count,
                          struct buf *out)
{
    struct span text = buf_peek(&batch->text);

    buf_addf(out, "{\"%s\":[{", signals[signal].resources);
    add_resource(out, node);
    buf_addf(out, ",\"%s\":[{\"scope\":{\"name\":\"callgate\",\"version\":\"" CALLGATE_VERSION "\"},\"%s\":[",
             signals[signal].scopes, signals[signal].items);
    for (size_t i = first; i < first + count; i++) {
        if (i > first)
            buf_add_byte(out, ',');
        buf_add_span(out, span_part(text, begin_of(batch, i), end_of(batch, i) - begin_of(batch, i)));
    }
    buf_add_text(out, "],\"schemaUrl\":\"https://opentelemetry.io/schemas/" OTLP_CONVENTIONS "\"}]}]}");
    return buf_code(out);
}
