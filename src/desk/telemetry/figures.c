/* SPDX-License-Identifier: Apache-2.0 */
#include "telemetry/figures.h"

#include "base/ascii.h"
#include "base/num.h"
#include "json/text.h"

#include <inttypes.h>
#include <string.h>

#define LABEL_BYTES 4096
#define BUCKETS_MAX 64
#define SECOND_US INT64_C(1000000)
#define LATEST_S (INT64_C(1) << 33)

struct family {
    struct span name, help, type;
    bool has_points;
};

/* One line behind the heads: `name{labels} value`. */
struct sample {
    struct span name, labels, value;
};

struct reading {
    struct otlp_batch *batch;
    struct family family;
    int64_t begun_us, now_us;
    /* of a histogram, until its count came */
    struct {
        struct span bound;
        uint64_t upto;
    } buckets[BUCKETS_MAX];
    size_t bucket_count;
    struct span sum;
};

/* ---- lines ---- */

static bool read_sample(struct span line, struct sample *sample)
{
    size_t open = span_find(line, '{'), blank = line.len;

    while (blank > 0 && line.at[blank - 1] != ' ')
        blank--;
    if (blank == 0)
        return false;
    sample->value = span_part(line, blank, SIZE_MAX);
    line.len = blank - 1;
    sample->name = span_part(line, 0, open);
    sample->labels = SPAN_NONE;
    if (open < line.len) {
        if (line.at[line.len - 1] != '}')
            return false;
        sample->labels = span_part(line, open + 1, line.len - open - 2);
    }
    return sample->name.len > 0 && sample->value.len > 0;
}

/* Reads `name="value"`, and the comma behind it, off the front; in the value `\\`, `\"` and `\n` are escapes. */
static bool next_label(struct span *labels, struct span *name, struct buf *value)
{
    size_t at;

    buf_clear(value);
    at = span_find(*labels, '=');
    *name = span_part(*labels, 0, at);
    if (at + 1 >= labels->len || labels->at[at + 1] != '"' || !ascii_is_all(*name, "a-zA-Z0-9_"))
        return false;
    for (at += 2; at < labels->len && labels->at[at] != '"'; at++) {
        if (labels->at[at] == '\\' && at + 1 < labels->len)
            buf_add_byte(value, labels->at[++at] == 'n' ? '\n' : labels->at[at]);
        else
            buf_add_byte(value, labels->at[at]);
    }
    if (at >= labels->len || (at + 1 < labels->len && labels->at[at + 1] != ','))
        return false;
    *labels = span_part(*labels, at + 2, SIZE_MAX);
    return buf_code(value) == CODE_OK;
}

static bool is_whole(struct span number)
{
    int64_t value;

    return num_i64(number, &value) == CODE_OK;
}

/* A number that JSON has, too: not `+Inf` or `NaN`. */
static bool is_number(struct span text)
{
    return text.len > 0 && ascii_is_all(text, "0-9.eE+-") && json_text_is(text, text.len);
}

/* ---- what is written ---- */

static void end_family(struct reading *reading, const char *tail)
{
    if (reading->family.has_points)
        buf_add_text(&reading->batch->text, tail);
}

static void begin_data(struct reading *reading, const char *kind)
{
    struct buf *out = &reading->batch->text;
    const struct family *family = &reading->family;
    bool is_seconds = span_ends_with(family->name, SPAN_LIT("_seconds"));
    bool is_bytes = span_ends_with(family->name, SPAN_LIT("_bytes"));

    buf_add_text(out, "{\"name\":");
    (void)json_write_string(out, family->name);
    buf_add_text(out, ",\"description\":");
    (void)json_write_string(out, family->help);
    buf_addf(out, ",\"unit\":\"%s\",\"%s\":{\"dataPoints\":[", is_seconds ? "s" : is_bytes ? "By" : "", kind);
}

static enum code add_labels(struct buf *out, struct span labels)
{
    struct otlp_list list = otlp_list_begin(out);
    struct buf value;
    struct span name;
    char key[64];
    enum code code = CODE_OK;

    buf_init(&value, LABEL_BYTES);
    while (labels.len > 0 && code == CODE_OK) {
        if (!next_label(&labels, &name, &value) || name.len >= sizeof key)
            code = CODE_INVALID;
        else {
            memcpy(key, name.at, name.len);
            key[name.len] = '\0';
            otlp_text(&list, key, buf_is_empty(&value) ? SPAN_LIT("") : buf_peek(&value));
        }
    }
    buf_fini(&value);
    otlp_list_end(&list);
    return code;
}

static void add_moments(struct reading *reading, bool is_cumulative)
{
    struct buf *out = &reading->batch->text;

    if (is_cumulative) {
        otlp_time(out, "startTimeUnixNano", reading->begun_us);
        buf_add_byte(out, ',');
    }
    otlp_time(out, "timeUnixNano", reading->now_us);
}

static enum code add_point(struct reading *reading, const struct sample *sample)
{
    struct buf *out = &reading->batch->text;
    bool is_sum = span_is(reading->family.type, "counter");
    enum code code;

    if (!is_number(sample->value))
        return CODE_INVALID;
    if (!reading->family.has_points)
        begin_data(reading, is_sum ? "sum" : "gauge");
    buf_addf(out, "%s{", reading->family.has_points ? "," : "");
    reading->family.has_points = true;
    code = add_labels(out, sample->labels);
    buf_add_byte(out, ',');
    add_moments(reading, is_sum);
    if (is_whole(sample->value))
        buf_addf(out, ",\"asInt\":\"%.*s\"}", SPAN_ARG(sample->value));
    else
        buf_addf(out, ",\"asDouble\":%.*s}", SPAN_ARG(sample->value));
    return code != CODE_OK ? code : buf_code(out);
}

/* ---- histograms ---- */

static enum code add_histogram(struct reading *reading, struct span count)
{
    struct buf *out = &reading->batch->text;
    uint64_t before = 0;

    if (!is_whole(count) || reading->bucket_count == 0 || !is_number(reading->sum))
        return CODE_INVALID;
    begin_data(reading, "histogram");
    buf_add_text(out, "{\"attributes\":[],");
    add_moments(reading, true);
    buf_addf(out, ",\"count\":\"%.*s\",\"sum\":%.*s,\"bucketCounts\":[", SPAN_ARG(count), SPAN_ARG(reading->sum));
    for (size_t i = 0; i < reading->bucket_count; i++) {
        if (reading->buckets[i].upto < before || (i + 1 < reading->bucket_count && !is_number(reading->buckets[i].bound)))
            return CODE_INVALID;
        buf_addf(out, "%s\"%" PRIu64 "\"", i > 0 ? "," : "", reading->buckets[i].upto - before);
        before = reading->buckets[i].upto;
    }
    buf_add_text(out, "],\"explicitBounds\":[");
    for (size_t i = 0; i + 1 < reading->bucket_count; i++)
        buf_addf(out, "%s%.*s", i > 0 ? "," : "", SPAN_ARG(reading->buckets[i].bound));
    buf_add_text(out, "]}],\"aggregationTemporality\":2}}");
    reading->bucket_count = 0;
    return otlp_batch_end_item(reading->batch);
}

/* The gate's histograms have no label but `le`. */
static enum code take_histogram(struct reading *reading, const struct sample *sample)
{
    static const char le[] = "le=\"";
    struct span part = span_part(sample->name, reading->family.name.len, SIZE_MAX), bound;

    if (span_is(part, "_sum"))
        reading->sum = sample->value;
    if (span_is(part, "_count"))
        return add_histogram(reading, sample->value);
    if (!span_is(part, "_bucket"))
        return span_is(part, "_sum") ? CODE_OK : CODE_INVALID;
    if (reading->bucket_count == BUCKETS_MAX || !span_starts_with(sample->labels, SPAN_LIT("le=\"")))
        return CODE_INVALID;
    bound = span_part(sample->labels, sizeof le - 1, sample->labels.len - sizeof le);
    if (!is_number(bound) && !span_is(bound, "+Inf"))
        return CODE_INVALID;
    reading->buckets[reading->bucket_count].bound = bound;
    return num_u64(sample->value, &reading->buckets[reading->bucket_count++].upto);
}

/* ---- the text ---- */

static enum code begin_family(struct reading *reading, struct span line)
{
    struct family *family = &reading->family;
    struct span rest, word = span_cut(span_part(line, 2, SIZE_MAX), ' ', &rest), name = span_cut(rest, ' ', &rest);

    if (span_is(word, "HELP")) {
        end_family(reading, span_is(family->type, "counter") ? "],\"aggregationTemporality\":2,\"isMonotonic\":true}}" : "]}}");
        *family = (struct family){.name = name, .help = rest};
        return otlp_batch_end_item(reading->batch);
    }
    if (!span_is(word, "TYPE") || !span_equals(name, family->name) ||
        !(span_is(rest, "counter") || span_is(rest, "gauge") || span_is(rest, "histogram")))
        return CODE_INVALID;
    family->type = rest;
    return CODE_OK;
}

static enum code take_line(struct reading *reading, struct span line)
{
    struct sample sample;

    if (line.at[0] == '#')
        return begin_family(reading, line);
    if (!read_sample(line, &sample) || !span_starts_with(sample.name, reading->family.name) || reading->family.type.at == NULL)
        return CODE_INVALID;
    if (span_is(reading->family.type, "histogram"))
        return take_histogram(reading, &sample);
    return span_equals(sample.name, reading->family.name) ? add_point(reading, &sample) : CODE_INVALID;
}

/* Returns: 0: the text does not say. */
static int64_t begun_of(struct span text)
{
    static const char wanted[] = "\nprocess_start_time_seconds ";
    const char *found = text.len > 0 ? memmem(text.at, text.len, wanted, sizeof wanted - 1) : NULL;
    struct span rest;
    int64_t seconds = 0;

    if (found == NULL)
        return 0;
    rest = span_part(text, (size_t)(found - text.at) + sizeof wanted - 1, SIZE_MAX);
    if (num_i64(span_cut(rest, '\n', &rest), &seconds) != CODE_OK || seconds < 0 || seconds > LATEST_S)
        return 0;
    return seconds * SECOND_US;
}

enum code figures_add(struct otlp_batch *batch, struct span text, int64_t begun_us, int64_t now_us)
{
    struct reading reading = {.batch = batch, .now_us = now_us, .begun_us = begun_us != 0 ? begun_us : begun_of(text)};
    enum code code = CODE_OK;

    while (text.len > 0 && code == CODE_OK) {
        struct span line = span_cut(text, '\n', &text);

        if (line.len > 0)
            code = take_line(&reading, line);
    }
    if (code == CODE_OK)
        code = begin_family(&reading, SPAN_LIT("# HELP end"));
    return code;
}
