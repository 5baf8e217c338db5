/* SPDX-License-Identifier: Apache-2.0 */
#include "query/entries.h"

#include "files/reader.h"
#include "files/reader_open.h"
#include "rows/row.h"
#include "query/entries_priv.h"
#include "query/query_priv.h"

#include <inttypes.h>

#define TURN_ROWS 65536
#define OUTCOME_DECISION 16 /* its column among those of an outcome */

static const char *const columns[] = {
    "seq", "kind", "time", "time_us", "tenant", "principal", "authentication", "client", "session", "node", "correlation",
    "trace", "upstream", "dialect", "protocol_version", "direction", "method", "tool", "rpc_id", "arguments", "arguments_bytes",
    "arguments_cut", "arguments_redacted", "verdict", "reason", "rule", "rule_reason", "rules", "undecided", "monitor",
    "policy_version", "policy_hash", "judge_us", "expects_outcome", "decision", "outcome", "status", "error_code",
    "response_bytes", "latency_us", "upstream_us", "server_requests", "server_notifications", "server_denied", "event", "actor",
    "detail", "hash", "target", "query", "params", "params_bytes", "answer", "answer_bytes",
    QUERY_LATER_OF_DECISION(QUERY_NAME) QUERY_LATER_OF_OUTCOME(QUERY_NAME) NULL,
};

#define JUDGED ENTRIES_JUDGED
#define OUTCOMES(more) \
    ENTRIES_OUTCOME(QUERY_TIME, "d.node") more " FROM outcome AS o LEFT JOIN decision AS d ON d.seq = o.decision WHERE "

#define OF_THIS_FILE "o.decision > (SELECT seq FROM file) AND o.seq > ?1"
#define OF_A_FILE_BEFORE "o.decision <= (SELECT seq FROM file) AND o.seq > ?1"

/* What is read side by side: the kinds, and outcomes whose decisions are in a file before. */
enum { CARRIED = ENTRY_KINDS, STREAMS };

static const char *const statements[STREAMS] = {
    [ENTRY_DECISION] = ENTRIES_DECISION(QUERY_TIME, "d.node") " FROM decision AS d WHERE d.seq > ?1",
    [ENTRY_OUTCOME] = OUTCOMES("") OF_THIS_FILE,
    [ENTRY_EVENT] = ENTRIES_EVENT(QUERY_TIME) " FROM event AS d WHERE d.seq > ?1",
    [CARRIED] = OUTCOMES("") OF_A_FILE_BEFORE,
};

static const char *statement_of(int stream, bool whole)
{
    if (!whole || (stream != ENTRY_OUTCOME && stream != CARRIED))
        return statements[stream];
    return stream == CARRIED ? OUTCOMES(", " JUDGED) OF_A_FILE_BEFORE : OUTCOMES(", " JUDGED) OF_THIS_FILE;
}

const char *const *entry_columns(void)
{
    return columns;
}

/* Who and what of an outcome whose decision is in a file before. */
#define DECISION_BEFORE(more) \
    "d.principal, d.client, d.node, d.correlation, d.trace, d.upstream, d.dialect, d.protocol_version, d.method, d.tool, " \
    "d.rpc_id" more " FROM decision AS d WHERE d.seq = ?1"

/* ---- one file ---- */

struct reading {
    const struct trail *trail;
    const struct query *query;
    size_t file;
    struct db *db;
    struct db_stmt *stmt[STREAMS];
    struct query_sql sql[STREAMS]; /* behind the statements */
    bool has[STREAMS];
    int64_t upto;                      /* the last row of this turn */
    bool whole;                        /* outcomes with all of their decisions */
    entry_fn row;
    void *context;
};

struct giving {
    struct reading *reading;
    int stream;
    int64_t seq;
};

static enum entry_kind kind_of(int stream)
{
    return stream == CARRIED ? ENTRY_OUTCOME : (enum entry_kind)stream;
}

static enum code give(void *context, const struct query_row *row)
{
    const struct giving *giving = context;

    return giving->reading->row(giving->reading->context, kind_of(giving->stream), giving->seq, row);
}

/* The decision was made before the file before was sealed: it is asked there whether it matches, and who and what it was. */
static enum code give_carried(struct giving *giving, int64_t decision)
{
    struct reading *reading = giving->reading;
    struct why why = {""};
    enum code code = CODE_NOT_FOUND;

    for (size_t i = 0; i < reading->file && code == CODE_NOT_FOUND; i++) {
        const struct query_shape shape = {.head = reading->whole ? DECISION_BEFORE(", " JUDGED) : DECISION_BEFORE(""),
                                          .after_seq = decision};
        struct db_stmt *before = NULL;
        struct query_sql sql;
        struct db *db;

        if (decision <= reading->trail->files[i].before_seq || decision > reading->trail->files[i].last_seq)
            continue;
        code = reader_open(reading->trail->files[i].path, &db, &why);
        if (code != CODE_OK)
            return code;
        code = query__select(db, reading->query, &shape, &sql, &before);
        if (code == CODE_OK)
            code = db_step(before);
        if (code == CODE_OK)
            code = query__give(reading->stmt[CARRIED], before, give, giving);
        db_finalize(&before);
        query__fini(&sql);
        db_close(&db);
        return code == CODE_NOT_FOUND ? CODE_OK : code;
    }
    return query__give(reading->stmt[CARRIED], NULL, give, giving);
}

static enum code give_row(struct giving *giving)
{
    struct db_stmt *stmt = giving->reading->stmt[giving->stream];

    if (giving->stream == CARRIED)
        return give_carried(giving, db_int(stmt, OUTCOME_DECISION));
    return query__give(stmt, NULL, give, giving);
}

static enum code step(struct reading *reading, int stream)
{
    enum code code = db_step(reading->stmt[stream]);

    reading->has[stream] = code == CODE_OK;
    return code == CODE_NOT_FOUND ? CODE_OK : code;
}

static enum code start(struct reading *reading, int stream, int64_t after_seq)
{
    static const struct query everything = {0}; /* carried ones are asked for later whether they match */
    const struct query_shape shape = {.head = statement_of(stream, reading->whole), .after_seq = after_seq,
                                      .order = kind_of(stream) == ENTRY_OUTCOME ? "o.seq" : "d.seq",
                                      .tenant = stream == CARRIED ? "o.tenant" : NULL};
    enum code code = query__select(reading->db, stream == CARRIED ? &everything : reading->query, &shape, &reading->sql[stream],
                                   &reading->stmt[stream]);

    return code == CODE_OK ? step(reading, stream) : code;
}

static enum code read_file(struct reading *reading)
{
    enum code code = CODE_OK;

    while (code == CODE_OK) {
        struct giving giving = {.reading = reading, .seq = INT64_MAX};

        for (int stream = 0; stream < STREAMS; stream++)
            if (reading->has[stream] && db_int(reading->stmt[stream], 0) < giving.seq) {
                giving.stream = stream;
                giving.seq = db_int(reading->stmt[stream], 0);
            }
        if (giving.seq > reading->upto) /* also where there is none left */
            return CODE_OK;
        code = give_row(&giving);
        if (code == CODE_OK)
            code = step(reading, giving.stream);
    }
    return code;
}

/* ---- the place ---- */

/* The row that a place names must be the one that was there. */
static enum code check_place(struct db *db, const struct trail_file *file, const struct entry_place *place, struct why *why)
{
    unsigned char hash[DIGEST_BYTES];
    enum code code = place->seq == file->before_seq ? reader_previous(db, place->seq, hash)
                                                     : reader_hash(db, place->seq, hash);

    if (code == CODE_NOT_FOUND || (code == CODE_OK && memcmp(hash, place->hash, DIGEST_BYTES) != 0))
        return why_set(why, CODE_DENIED, "%s: row %" PRId64 " is not the one that the cursor stopped at: this is another "
                       "trail, or it was changed; `callgate audit verify` tells", file->path, place->seq);
    return code;
}

/* One view of the file must not last long: what is written meanwhile piles up in its -wal. */
static enum code move_place(struct db *db, const struct query *query, struct entry_place *place)
{
    int64_t tip, turn = query->limit > 0 && query->limit < TURN_ROWS ? (int64_t)query->limit : TURN_ROWS;
    enum code code = db_number(db, ROW_MAX_SEQ, NULL, 0, &tip);

    if (code != CODE_OK || tip <= place->seq)
        return code;
    tip = tip - place->seq > turn ? place->seq + turn : tip;
    place->seq = tip;
    place->is_known = true;
    return reader_hash(db, tip, place->hash);
}

/* Events are nobody's call. */
bool entries__asks_for_calls(const struct query *query)
{
    return query->correlation.at != NULL || query->principal.at != NULL || query->agent.at != NULL ||
           query->tool.at != NULL || query->via.at != NULL || query->method.at != NULL || query->upstream.at != NULL ||
           query->verdict.at != NULL || query->reason.at != NULL || query->rule.at != NULL ||
           query->client.at != NULL || query->node.at != NULL || query->session.at != NULL || query->text.at != NULL ||
           query->policy_version != 0;
}

static enum code read_from(const struct trail_file *file, struct reading *reading, const struct query *query, unsigned wanted,
                           struct entry_place *place, struct why *why)
{
    struct entry_place next = *place;
    enum code code = reader_open(file->path, &reading->db, why);

    if (code != CODE_OK)
        return code;
    code = db_exec(reading->db, "BEGIN");
    if (code == CODE_OK && place->is_known && place->seq >= file->before_seq)
        code = check_place(reading->db, file, place, why);
    if (code == CODE_OK)
        code = move_place(reading->db, query, &next);
    reading->upto = next.seq;
    for (int stream = 0; stream < STREAMS && code == CODE_OK; stream++)
        if (stream != ENTRY_EVENT || ((wanted & ENTRIES_EVENTS) != 0 && !entries__asks_for_calls(query)))
            code = start(reading, stream, place->seq);
    if (code == CODE_OK)
        code = read_file(reading);
    if (code != CODE_OK && code != CODE_DENIED)
        (void)reader_why(why, code, file->path, reading->db);
    for (int stream = 0; stream < STREAMS; stream++) {
        db_finalize(&reading->stmt[stream]);
        query__fini(&reading->sql[stream]);
        reading->has[stream] = false;
    }
    db_rollback(reading->db);
    db_close(&reading->db);
    if (code == CODE_OK)
        *place = next;
    return code;
}

enum code audit_entries(const struct trail *trail, const struct query *query, unsigned wanted, struct entry_place *place,
                        entry_fn row, void *context, struct why *why)
{
    struct reading reading = {.trail = trail, .query = query, .row = row, .context = context,
                              .whole = (wanted & ENTRIES_WHOLE) != 0};
    int64_t last = trail->files[trail->count - 1].last_seq;
    enum code code = CODE_OK;

    if (place->is_known && place->seq > last)
        return why_set(why, CODE_DENIED, "%s ends at row %" PRId64 ", the cursor stopped at %" PRId64 ": rows were cut off, "
                       "or this is another trail", trail->files[trail->count - 1].path, last, place->seq);
    for (size_t i = 0; i < trail->count; i++)
        if (trail->files[i].last_seq > place->seq || i + 1 == trail->count) {
            if (place->seq < trail->files[i].before_seq)
                return why_set(why, CODE_NOT_FOUND, "rows %" PRId64 " to %" PRId64 " are in files that are not beside %s; put "
                               "them there", place->seq + 1, trail->files[i].before_seq, trail->files[trail->count - 1].path);
            reading.file = i;
            code = read_from(&trail->files[i], &reading, query, wanted, place, why);
            break;
        }
    return code;
}
