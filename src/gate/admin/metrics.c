/* SPDX-License-Identifier: Apache-2.0 */
#include "admin/metrics.h"

#include "base/bug.h"
#include "base/hash.h"
#include "base/mem.h"

#include <inttypes.h>
#include <stdatomic.h>

#define BUCKETS 14

/* Upper bounds in microseconds; a histogram has one more for what is above. */
static const int64_t bounds_us[BUCKETS] = {10,    25,    50,     100,    250,     500,     1000,
                                           2500,  5000,  10000,  50000,  250000,  1000000, 10000000};

/* Written by one worker, read by anybody. */
struct count {
    _Atomic uint64_t value;
    char apart[MEM_LINE_BYTES - sizeof(uint64_t)];
};

struct histogram {
    _Atomic uint64_t buckets[BUCKETS + 1];
    _Atomic uint64_t sum_us;
};

enum time { TIME_JUDGE = 0, TIME_AUDIT, TIME_UPSTREAM, TIME_COUNT };

struct worker_counts {
    struct histogram times[TIME_COUNT];
    _Atomic uint64_t overflow;
    char apart[MEM_LINE_BYTES];
};

/* One label set; immutable but for its counts, one of each worker. */
struct series {
    uint64_t hash;
    struct span upstream, tool, tenant;
    const char *verdict;
    enum reason reason;
    char *text; /* behind the counts */
    char apart[MEM_LINE_BYTES];
    struct count counts[];
};

struct metrics {
    _Atomic(struct series *) table[METRICS_SERIES_MAX * 2]; /* open addressing, never more than half full */
    _Atomic uint32_t used;
    _Atomic(char *) *tenants; /* each behind the one before it; NULL: not told apart */
    unsigned tenants_max;
    unsigned workers;
    struct worker_counts by_worker[];
};

enum code metrics_new(unsigned workers, unsigned tenants, struct metrics **metrics)
{
    *metrics = mem_zalloc(sizeof **metrics + workers * sizeof(struct worker_counts));
    if (*metrics == NULL)
        return CODE_NOMEM;
    (*metrics)->workers = workers;
    (*metrics)->tenants_max = tenants;
    if (tenants > 0 && ((*metrics)->tenants = mem_zalloc(tenants * sizeof *(*metrics)->tenants)) == NULL)
        metrics_free(metrics);
    return *metrics != NULL ? CODE_OK : CODE_NOMEM;
}

void metrics_free(struct metrics **metrics)
{
    if (*metrics == NULL)
        return;
    for (size_t i = 0; i < METRICS_SERIES_MAX * 2; i++)
        mem_free(atomic_load_explicit(&(*metrics)->table[i], memory_order_relaxed));
    for (unsigned i = 0; i < (*metrics)->tenants_max && (*metrics)->tenants != NULL; i++)
        mem_free(atomic_load_explicit(&(*metrics)->tenants[i], memory_order_relaxed));
    mem_free((*metrics)->tenants);
    mem_free(*metrics);
    *metrics = NULL;
}

static void add(_Atomic uint64_t *count, uint64_t by)
{
    atomic_store_explicit(count, atomic_load_explicit(count, memory_order_relaxed) + by, memory_order_relaxed);
}

static void add_time(struct histogram *histogram, int64_t us)
{
    size_t bucket = 0;

    if (us < 0)
        return;
    while (bucket < BUCKETS && us > bounds_us[bucket])
        bucket++;
    add(&histogram->buckets[bucket], 1);
    add(&histogram->sum_us, (uint64_t)us);
}

/* Which tenant a call counts under: keys may let agents name tenants, so the first ones alone are told apart. */
static struct span tenant_of(struct metrics *metrics, struct span tenant)
{
    for (unsigned i = 0; i < metrics->tenants_max && !span_is_empty(tenant); i++) {
        char *known = atomic_load_explicit(&metrics->tenants[i], memory_order_acquire), *made;

        if (known == NULL && (made = mem_alloc(tenant.len + 1)) != NULL) {
            memcpy(made, tenant.at, tenant.len);
            made[tenant.len] = '\0';
            if (atomic_compare_exchange_strong(&metrics->tenants[i], &known, made))
                known = made;
            else
                mem_free(made);
        }
        if (known != NULL && span_is(tenant, known))
            return tenant;
    }
    return SPAN_NONE;
}

static struct series *series_new(const struct metrics *metrics, const struct metrics_call *call, uint64_t hash)
{
    size_t counts = metrics->workers * sizeof(struct count);
    struct series *series = mem_zalloc(sizeof *series + counts + call->upstream.len + call->tool.len + call->tenant.len + 1);

    if (series == NULL)
        return NULL;
    series->hash = hash;
    series->verdict = call->verdict;
    series->reason = call->reason;
    series->text = (char *)(series->counts + metrics->workers);
    if (call->upstream.len > 0)
        memcpy(series->text, call->upstream.at, call->upstream.len);
    if (call->tool.len > 0)
        memcpy(series->text + call->upstream.len, call->tool.at, call->tool.len);
    if (call->tenant.len > 0)
        memcpy(series->text + call->upstream.len + call->tool.len, call->tenant.at, call->tenant.len);
    series->upstream = span_of(series->text, call->upstream.len);
    series->tenant = span_of(series->text + call->upstream.len + call->tool.len, call->tenant.len);
    series->tool = span_of(series->text + call->upstream.len, call->tool.len);
    return series;
}

static bool is_same(const struct series *series, const struct metrics_call *call, uint64_t hash)
{
    return series->hash == hash && series->reason == call->reason && series->verdict == call->verdict &&
           span_equals(series->upstream, call->upstream) && span_equals(series->tool, call->tool) &&
           span_equals(series->tenant, call->tenant);
}

/* Returns: the slot's series after trying to put a new one there; NULL when there may be no more. */
static struct series *claim(struct metrics *metrics, size_t slot, const struct metrics_call *call, uint64_t hash)
{
    struct series *found = NULL, *made;

    if (atomic_fetch_add_explicit(&metrics->used, 1, memory_order_relaxed) >= METRICS_SERIES_MAX ||
        (made = series_new(metrics, call, hash)) == NULL) {
        (void)atomic_fetch_sub_explicit(&metrics->used, 1, memory_order_relaxed);
        return NULL;
    }
    if (atomic_compare_exchange_strong(&metrics->table[slot], &found, made))
        return made;
    (void)atomic_fetch_sub_explicit(&metrics->used, 1, memory_order_relaxed);
    mem_free(made);
    return found; /* another thread was first, perhaps with another label set */
}

static struct series *series_of(struct metrics *metrics, const struct metrics_call *call)
{
    uint64_t hash = hash_mix(hash_mix(hash_span(call->upstream), hash_span(call->tool)),
                             hash_mix((uint64_t)call->reason, (uint64_t)(uintptr_t)call->verdict) ^ hash_span(call->tenant));

    for (size_t step = 0; step < METRICS_SERIES_MAX * 2; step++) {
        size_t slot = (hash + step) % (METRICS_SERIES_MAX * 2);
        struct series *series = atomic_load_explicit(&metrics->table[slot], memory_order_acquire);

        if (series == NULL)
            series = claim(metrics, slot, call, hash);
        if (series == NULL)
            return NULL;
        if (is_same(series, call, hash))
            return series;
    }
    return NULL;
}

void metrics_call(struct metrics *metrics, const struct metrics_call *call)
{
    struct metrics_call labelled = *call;
    struct series *series;
    struct worker_counts *own = &metrics->by_worker[call->worker];

    BUG_ON(call->worker >= metrics->workers);
    labelled.tenant = tenant_of(metrics, call->tenant);
    series = series_of(metrics, &labelled);
    add(series != NULL ? &series->counts[call->worker].value : &own->overflow, 1);
    add_time(&own->times[TIME_JUDGE], call->judge_us);
    add_time(&own->times[TIME_AUDIT], call->audit_us);
    add_time(&own->times[TIME_UPSTREAM], call->upstream_us);
}

static uint64_t seen(const _Atomic uint64_t *count)
{
    return atomic_load_explicit(count, memory_order_relaxed);
}

static uint64_t calls_of(const struct metrics *metrics, const struct series *series)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < metrics->workers; i++)
        sum += seen(&series->counts[i].value);
    return sum;
}

void metrics_label(struct buf *out, struct span value)
{
    for (size_t i = 0; i < value.len; i++) {
        if (value.at[i] == '\\' || value.at[i] == '"' || value.at[i] == '\n')
            buf_add_byte(out, '\\');
        buf_add_byte(out, value.at[i] == '\n' ? 'n' : value.at[i]);
    }
}

static void write_call_line(struct buf *out, const struct metrics *metrics, struct span upstream, struct span tool,
                            struct span tenant, const char *verdict, const char *reason, uint64_t count)
{
    buf_add_text(out, "callgate_calls_total{upstream=\"");
    metrics_label(out, upstream);
    buf_add_text(out, "\",tool=\"");
    metrics_label(out, tool.len > 0 ? tool : SPAN_LIT("other"));
    if (metrics->tenants_max > 0) {
        buf_add_text(out, "\",tenant=\"");
        metrics_label(out, tenant.len > 0 ? tenant : SPAN_LIT("other"));
    }
    buf_addf(out, "\",verdict=\"%s\",reason=\"%s\"} %" PRIu64 "\n", verdict, reason, count);
}

static void write_calls(const struct metrics *metrics, struct buf *out)
{
    uint64_t overflow = 0;

    buf_add_text(out, "# HELP callgate_calls_total Calls judged.\n# TYPE callgate_calls_total counter\n");
    for (unsigned i = 0; i < metrics->workers; i++)
        overflow += seen(&metrics->by_worker[i].overflow);
    for (size_t i = 0; i < METRICS_SERIES_MAX * 2; i++) {
        const struct series *series = atomic_load_explicit(&metrics->table[i], memory_order_acquire);

        if (series != NULL)
            write_call_line(out, metrics, series->upstream, series->tool, series->tenant, series->verdict,
                            reason_name(series->reason), calls_of(metrics, series));
    }
    if (overflow > 0)
        write_call_line(out, metrics, SPAN_LIT("other"), SPAN_NONE, SPAN_NONE, "other", "other", overflow);
}

static void write_endings(struct buf *out)
{
    buf_add_text(out, "# HELP callgate_endings_total Ends of calls and connections by reason.\n"
                                       "# TYPE callgate_endings_total counter\n");
    for (int reason = 0; reason < REASON_COUNT; reason++)
        buf_addf(out, "callgate_endings_total{reason=\"%s\"} %" PRIu64 "\n", reason_name((enum reason)reason),
                 reason_counted((enum reason)reason));
}

static void write_histogram(const struct metrics *metrics, enum time time, const char *name, const char *help,
                            struct buf *out)
{
    uint64_t total = 0, sum_us = 0;

    buf_addf(out, "# HELP %s %s\n# TYPE %s histogram\n", name, help, name);
    for (size_t i = 0; i <= BUCKETS; i++) {
        for (unsigned j = 0; j < metrics->workers; j++)
            total += seen(&metrics->by_worker[j].times[time].buckets[i]);
        if (i < BUCKETS)
            buf_addf(out, "%s_bucket{le=\"%g\"} %" PRIu64 "\n", name, (double)bounds_us[i] / 1e6, total);
        else
            buf_addf(out, "%s_bucket{le=\"+Inf\"} %" PRIu64 "\n", name, total);
    }
    for (unsigned j = 0; j < metrics->workers; j++)
        sum_us += seen(&metrics->by_worker[j].times[time].sum_us);
    buf_addf(out, "%s_sum %g\n%s_count %" PRIu64 "\n", name, (double)sum_us / 1e6, name, total);
}

enum code metrics_write(const struct metrics *metrics, const struct metrics_gauge *gauges, size_t count, struct buf *out)
{
    write_calls(metrics, out);
    write_endings(out);
    write_histogram(metrics, TIME_JUDGE, "callgate_judge_seconds", "Time to judge a call.", out);
    write_histogram(metrics, TIME_AUDIT, "callgate_audit_seconds", "Time until a call's record was durable.", out);
    write_histogram(metrics, TIME_UPSTREAM, "callgate_upstream_seconds", "Time until the upstream answered.", out);
    for (size_t i = 0; i < count; i++)
        buf_addf(out, "# HELP %s %s\n# TYPE %s %s\n%s %" PRIu64 "\n", gauges[i].name, gauges[i].help, gauges[i].name,
                 gauges[i].type, gauges[i].name, gauges[i].value);
    return buf_code(out);
}
