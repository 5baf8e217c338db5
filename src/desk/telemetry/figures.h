/* SPDX-License-Identifier: Apache-2.0 */
/* What /metrics says as metrics of OpenTelemetry, as its rules for Prometheus have it: names stay; a counter is a monotonic
 * cumulative sum, a histogram one with its buckets no longer added up, both since the process began.
 *
 * Threads: any.
 * Owns: nothing.
 * Lifetime: one call.
 * Errors: CODE_INVALID for what is no text of the gate's; the buffer's own. */
#ifndef TELEMETRY_FIGURES_H
#define TELEMETRY_FIGURES_H

#include "telemetry/otlp.h"

/* Appends an item for each metric. Takes: text: of the gate's /metrics (text exposition format 0.0.4); begun_us: since when
 * counters count; 0: the text says it (process_start_time_seconds). */
enum code figures_add(struct otlp_batch *batch, struct span text, int64_t begun_us, int64_t now_us) MUST_USE;

#endif
