/* SPDX-License-Identifier: Apache-2.0 */
#include "query/stats_priv.h"

#include "files/reader.h"
#include "files/reader_open.h"
#include "base/bug.h"
#include "base/hash.h"
#include "base/mem.h"
#include "query/query_priv.h"
#include "json/json.h"
#include "os/clock.h"

#include <stdlib.h>

#define BUCKETS 8192
#define FINE 32       /* buckets for each doubling */
#define DOUBLINGS 40  /* up to two weeks */
#define MEMORY_BYTES ((size_t)512 << 20)
#define FOUND_BYTES ((size_t)1 << 20)
#define TOLD_CALLS 4096
#define MINUTE_CHARS 16 /* of a time as text */

struct stats_latency {
    uint32_t count[DOUBLINGS * FINE];
};

struct kind {
    struct stats_group **buckets; /* BUCKETS of them; NULL: not asked for */
    struct stats_group *rest;
    const struct stats_group **list;
    size_t count;
};

struct stats {
    struct arena arena;
    struct stats_group total;
    struct kind kind[STATS_BYS];
};

const char *stats_by_text(enum stats_by by)
{
    static const char *const texts[] = {"tenant", "tool", "verdict", "reason", "rule", "principal", "agent", "upstream",
                                        "method", "outcome", "answer", "answer_rule", "detector", "node", "minute"};

    BUG_ON((unsigned)by >= STATS_BYS);
    return texts[by];
}

/* ---- latencies ---- */

/* Values below 32 have a bucket of their own; from there on, 32 to each doubling. */
static unsigned bucket_of(uint64_t us)
{
    unsigned doubling = us < FINE ? 0 : (unsigned)(63 - __builtin_clzll(us)) - 4; /* 1 for 32 to 63 */
    uint64_t at = us < FINE ? us : (uint64_t)doubling * FINE + (us >> (doubling - 1)) - FINE;

    return at < DOUBLINGS * FINE ? (unsigned)at : DOUBLINGS * FINE - 1;
}

/* The largest value of a bucket. */
static int64_t bucket_end(unsigned at)
{
    unsigned doubling = at / FINE;

    return doubling == 0 ? (int64_t)at : (int64_t)((((uint64_t)at % FINE + FINE + 1) << (doubling - 1)) - 1);
}

static enum code note_latency(struct stats *stats, struct stats_group *group, int64_t us)
{
    if (group->latency == NULL)
        group->latency = arena_zalloc(&stats->arena, sizeof *group->latency);
    if (group->latency == NULL)
        return CODE_NOMEM;
    group->latency->count[bucket_of(us < 0 ? 0 : (uint64_t)us)]++;
    group->latencies++;
    group->max_latency_us = us > group->max_latency_us ? us : group->max_latency_us;
    return CODE_OK;
}

int64_t stats_percentile(const struct stats_group *group, unsigned percent)
{
    uint64_t wanted = (group->latencies * percent + 99) / 100, seen = 0;

    for (unsigned i = 0; group->latency != NULL && i < DOUBLINGS * FINE; i++) {
        seen += group->latency->count[i];
        if (seen >= wanted && seen > 0)
            return bucket_end(i) < group->max_latency_us ? bucket_end(i) : group->max_latency_us;
    }
    return 0;
}

/* ---- groups ---- */

static enum code new_group(struct stats *stats, struct span name, struct stats_group **out)
{
    struct stats_group *group = arena_zalloc(&stats->arena, sizeof *group);

    *out = group;
    if (group == NULL)
        return CODE_NOMEM;
    return arena_keep(&stats->arena, name, &group->name);
}

static enum code find_group(struct stats *stats, struct kind *kind, struct span name, struct stats_group **out)
{
    struct stats_group **bucket = &kind->buckets[name.at == NULL ? 0 : hash_span(name) % BUCKETS];
    enum code code;

    for (*out = *bucket; *out != NULL; *out = (*out)->next)
        if (((*out)->name.at == NULL) == (name.at == NULL) && span_equals((*out)->name, name))
            return CODE_OK;
    if (kind->rest != NULL) {
        *out = kind->rest;
        return CODE_OK;
    }
    code = new_group(stats, kind->count < STATS_GROUPS_MAX ? name : SPAN_NONE, out);
    if (code != CODE_OK)
        return code;
    if (kind->count++ < STATS_GROUPS_MAX) {
        (*out)->next = *bucket;
        *bucket = *out;
    } else {
        (*out)->is_rest = true;
        kind->rest = *out;
    }
    return CODE_OK;
}

/* What one row adds. */
struct counted_call {
    struct span name[STATS_BYS];
    bool permitted, held, failed, open, redacted, withheld, flagged, has_latency;
    int64_t latency_us, time_us;
};

static enum code add_to(struct stats *stats, struct stats_group *group, const struct counted_call *call)
{
    group->calls++;
    group->first_us = group->first_us == 0 || call->time_us < group->first_us ? call->time_us : group->first_us;
    group->last_us = call->time_us > group->last_us ? call->time_us : group->last_us;
    group->permitted += call->permitted;
    group->held += call->held;
    group->denied += !call->permitted && !call->held;
    group->failed += call->failed;
    group->open += call->open;
    group->redacted += call->redacted;
    group->withheld += call->withheld;
    group->flagged += call->flagged;
    return call->has_latency ? note_latency(stats, group, call->latency_us) : CODE_OK;
}

#define CALLS(of, latency, source) STATS_CALLS(of, latency) source " WHERE 1 = 1"
#define HERE(column) "o." column
#define HERE_OR_LATER(column) "coalesce(o." column ", k." column ")"

static bool is_failure(struct span outcome)
{
    static const char *const failures[] = {"tool_error", "protocol_error", "http_error", "upstream_failure", "timeout",
                                           "refused", "unknown", NULL};

    for (size_t i = 0; failures[i] != NULL; i++)
        if (span_is(outcome, failures[i]))
            return true;
    return false;
}

static enum code add_by_name(struct stats *stats, struct kind *kind, struct span name, const struct counted_call *call)
{
    struct stats_group *group;
    enum code code = find_group(stats, kind, name, &group);

    return code == CODE_OK ? add_to(stats, group, call) : code;
}

/* Names stand in a JSON object; what is none was too long for the record. */
static enum code add_by_detector(struct stats *stats, const struct counted_call *call)
{
    const struct json_node *found = NULL;
    struct json_fault fault;
    struct arena arena;
    struct buf text;
    enum code code;

    arena_init(&arena, FOUND_BYTES);
    buf_init(&text, FOUND_BYTES);
    code = json_read(call->name[STATS_DETECTOR], &json_file_rules, &text, &arena, &found, &fault);
    if (code == CODE_OK)
        for (const struct json_node *one = found->child; one != NULL && code == CODE_OK; one = one->next)
            code = add_by_name(stats, &stats->kind[STATS_DETECTOR], one->key, call);
    buf_fini(&text);
    arena_fini(&arena);
    return code == CODE_NOMEM ? code : CODE_OK;
}

enum code stats__take(struct stats *stats, const struct query *query, const struct stats_call *of)
{
    struct counted_call call = {.time_us = of->time_us, .has_latency = of->has_latency, .latency_us = of->latency_us};
    char minute[CLOCK_TEXT_BYTES];
    enum code code;

    memcpy(call.name, of->name, sizeof call.name);
    if (stats->kind[STATS_MINUTE].buckets != NULL) {
        clock_text(call.time_us, minute);
        call.name[STATS_MINUTE] = span_of(minute, MINUTE_CHARS);
    }
    call.permitted = span_is(call.name[STATS_VERDICT], "permit");
    call.held = span_is(call.name[STATS_VERDICT], "hold");
    call.failed = is_failure(call.name[STATS_OUTCOME]);
    call.open = call.name[STATS_OUTCOME].at == NULL && of->expects_outcome;
    call.redacted = span_is(call.name[STATS_ANSWER], "redact");
    call.withheld = span_is(call.name[STATS_ANSWER], "withhold");
    call.flagged = span_is(call.name[STATS_ANSWER], "flag");
    code = add_to(stats, &stats->total, &call);
    for (int by = 0; by < STATS_BYS && code == CODE_OK; by++)
        if (stats->kind[by].buckets != NULL)
            code = by == STATS_DETECTOR && call.name[by].at != NULL
                       ? add_by_detector(stats, &call) : add_by_name(stats, &stats->kind[by], call.name[by], &call);
    if (query->looked != NULL && stats->total.calls % TOLD_CALLS == 0)
        query->looked(query->context, (int64_t)stats->total.calls);
    return code;
}

static enum code take(struct stats *stats, const struct query *query, struct db_stmt *row)
{
    struct stats_call call = {.time_us = db_int(row, STATS_TIME), .has_latency = !db_is_null(row, STATS_LATENCY),
                              .latency_us = db_int(row, STATS_LATENCY), .expects_outcome = db_int(row, STATS_EXPECTS) == 1};

    for (int by = 0; by < STATS_BYS; by++)
        call.name[by] = db_text(row, by);
    return stats__take(stats, query, &call);
}

static int by_calls(const void *left, const void *right)
{
    const struct stats_group *a = *(const struct stats_group *const *)left, *b = *(const struct stats_group *const *)right;

    if (a->is_rest != b->is_rest)
        return a->is_rest ? 1 : -1;
    if (a->calls != b->calls)
        return a->calls < b->calls ? 1 : -1;
    return span_compare(a->name, b->name);
}

static enum code sort(struct stats *stats, struct kind *kind)
{
    size_t count = 0;

    kind->list = arena_alloc(&stats->arena, (kind->count + 1) * sizeof kind->list[0]);
    if (kind->list == NULL)
        return CODE_NOMEM;
    for (size_t i = 0; i < BUCKETS; i++)
        for (const struct stats_group *group = kind->buckets[i]; group != NULL; group = group->next)
            kind->list[count++] = group;
    if (kind->rest != NULL)
        kind->list[count++] = kind->rest;
    qsort(kind->list, count, sizeof kind->list[0], by_calls);
    return CODE_OK;
}

bool stats__is_enough(const struct stats *stats, const struct query *query)
{
    return query->limit != 0 && stats->total.calls >= query->limit;
}

static enum code count_file(struct stats *stats, const struct trail *trail, size_t file, const struct query *query,
                            struct why *why)
{
    const char *path = trail->files[file].path;
    struct query_shape shape = {.head = CALLS(HERE, "coalesce(o.latency_us, d.latency_us)", QUERY_OUTCOMES)};
    struct db_stmt *stmt = NULL;
    struct query_sql sql;
    struct db *db;
    enum code code = reader_open(path, &db, why);

    if (code != CODE_OK)
        return code;
    shape.order = query->limit != 0 ? "d.seq DESC" : NULL;
    if (file + 1 < trail->count && reader_later(db, trail, file)) {
        shape.of = QUERY_OF_FILES;
        shape.head = CALLS(HERE_OR_LATER, "coalesce(o.latency_us, k.latency_us, d.latency_us)",
                           QUERY_OUTCOMES_LATER);
    }
    code = query__select(db, query, &shape, &sql, &stmt); /* one statement: one view of a file that may be growing */
    while (!stats__is_enough(stats, query) && db_next(&stmt, &code))
        code = take(stats, query, stmt);
    db_finalize(&stmt);
    if (code != CODE_OK)
        (void)reader_why(why, code, path, db);
    query__fini(&sql);
    db_close(&db);
    return code;
}

enum code stats__begin(unsigned bys, struct stats **out, struct why *why)
{
    struct stats *stats = mem_zalloc(sizeof *stats);
    enum code code = CODE_OK;

    *out = stats;
    if (stats == NULL)
        return why_set(why, CODE_NOMEM, "%s", code_text(CODE_NOMEM));
    arena_init(&stats->arena, MEMORY_BYTES);
    for (int by = 0; by < STATS_BYS && code == CODE_OK; by++)
        if ((bys & (1u << by)) != 0) {
            stats->kind[by].buckets = arena_zalloc(&stats->arena, BUCKETS * sizeof stats->kind[by].buckets[0]);
            code = stats->kind[by].buckets != NULL ? CODE_OK : CODE_NOMEM;
        }
    return code;
}

enum code stats__end(struct stats **stats, enum code code, struct why *why)
{
    for (int by = 0; by < STATS_BYS && code == CODE_OK; by++)
        if ((*stats)->kind[by].buckets != NULL)
            code = sort(*stats, &(*stats)->kind[by]);
    if (code != CODE_OK)
        stats_free(stats);
    return code == CODE_NOMEM && why->text[0] == '\0' ? why_set(why, code, "%s", code_text(code)) : code;
}

enum code audit_stats(const struct trail *trail, const struct query *query, unsigned bys, struct stats **stats,
                      struct why *why)
{
    enum code code = stats__begin(bys, stats, why);

    for (size_t i = trail->count; i > 0 && code == CODE_OK && !stats__is_enough(*stats, query); i--) /* the newest first */
        if (trail_file_reaches(&trail->files[i - 1], query->since_us, query->until_us))
            code = count_file(*stats, trail, i - 1, query, why);
    return stats__end(stats, code, why);
}

void stats_free(struct stats **stats)
{
    if (*stats == NULL)
        return;
    arena_fini(&(*stats)->arena);
    mem_free(*stats);
    *stats = NULL;
}

const struct stats_group *stats_total(const struct stats *stats)
{
    return &stats->total;
}

size_t stats_groups(const struct stats *stats, enum stats_by by, const struct stats_group *const **groups)
{
    *groups = stats->kind[by].list;
    return stats->kind[by].count < STATS_GROUPS_MAX + 1 ? stats->kind[by].count : STATS_GROUPS_MAX + 1;
}
