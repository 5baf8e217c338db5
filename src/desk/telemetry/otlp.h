/* SPDX-License-Identifier: Apache-2.0 */
/* OpenTelemetry's protocol (OTLP 1.9) as JSON: attributes, and the three bodies that a collector takes. Numbers of 64 bits are
 * texts in it, trace and span ids hexadecimal, kinds and codes numbers.
 *
 * Threads: any; a batch belongs to one.
 * Owns: a batch its texts.
 * Lifetime: otlp_batch_init to otlp_batch_fini.
 * Errors: enum code of the buffers, which sticks in them. */
#ifndef TELEMETRY_OTLP_H
#define TELEMETRY_OTLP_H

#include "base/buf.h"
#include "base/span.h"

#include <stdbool.h>
#include <stdint.h>

/* Which conventions attributes follow: OpenTelemetry's for GenAI and MCP, in a repository of their own since 2026, and the
 * general ones that they build on. */
#define OTLP_GENAI_CONVENTIONS "0.1.0"
#define OTLP_CONVENTIONS "1.45.0"

#define OTLP_TEXT_BYTES 1024 /* of an attribute; longer ones are cut at a character and end with U+2026 */
#define OTLP_LONG_BYTES 4096 /* of arguments and of an event's detail */

enum otlp_signal { OTLP_TRACES = 0, OTLP_METRICS, OTLP_LOGS, OTLP_SIGNALS };
const char *otlp_signal_name(enum otlp_signal signal); /* "traces" ...: also the end of its path */

/* A list of attributes that is being written: what has no value is left out. */
struct otlp_list {
    struct buf *out;
    bool has_some;
};
struct otlp_list otlp_list_begin(struct buf *out); /* writes `"attributes":[` */
void otlp_list_end(struct otlp_list *list);
void otlp_text(struct otlp_list *list, const char *name, struct span value); /* at == NULL: none */
void otlp_long(struct otlp_list *list, const char *name, struct span value);
void otlp_number(struct otlp_list *list, const char *name, struct span digits); /* a whole number as text; at == NULL: none */
void otlp_true(struct otlp_list *list, const char *name);

void otlp_cut(struct buf *out, struct span text, size_t most); /* a JSON string */
void otlp_time(struct buf *out, const char *name, int64_t us); /* `"name":"nanoseconds"` */

/* What is sent in one request or several: items, each one or several JSON objects that stay together. */
struct otlp_batch {
    struct buf text; /* the items, one behind the other */
    struct buf ends; /* size_t each: where it ends */
    size_t count;
};
void otlp_batch_init(struct otlp_batch *batch);
void otlp_batch_fini(struct otlp_batch *batch);
void otlp_batch_clear(struct otlp_batch *batch);
/* Ends the item that was appended to `text` since the last call; where nothing was, there is none. */
enum code otlp_batch_end_item(struct otlp_batch *batch) MUST_USE;

/* How many items from `first` on make a body of about this size; at least one. */
size_t otlp_batch_fit(const struct otlp_batch *batch, size_t first, size_t most_items, size_t most_bytes);
/* Appends the body of a request. Takes: node: the gate's host. */
enum code otlp_batch_body(const struct otlp_batch *batch, enum otlp_signal signal, const char *node, size_t first, size_t count,
                          struct buf *out) MUST_USE;

#endif
