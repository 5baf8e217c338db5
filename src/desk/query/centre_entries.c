/* SPDX-License-Identifier: Apache-2.0 */
#include "query/centre_priv.h"
#include "query/entries_priv.h"

#include <inttypes.h>

#define TURN_ROWS 65536
#define SEQ 1 /* its column, behind the node's */

#define OF_A_NODE " d.node = $2 AND d.seq > $1 AND d.seq <= $3"
#define OUTCOMES_OF_A_NODE(more) \
    "o.node, " ENTRIES_OUTCOME(QUERY_TIME_OF_CENTRE, "d.host") more " FROM outcome AS o " \
    "LEFT JOIN decision AS d ON d.node = o.node AND d.seq = o.decision AND d.day = o.day " \
    "WHERE o.node = $2 AND o.seq > $1 AND o.seq <= $3"

struct reading {
    struct centre_rows rows[ENTRY_KINDS];
    bool has[ENTRY_KINDS];
    entry_fn row;
    void *context;
    enum entry_kind kind; /* of the row at hand */
    int64_t seq;
};

static const char *head_of(enum entry_kind kind, bool whole)
{
    if (kind == ENTRY_OUTCOME)
        return whole ? OUTCOMES_OF_A_NODE(", " ENTRIES_JUDGED) : OUTCOMES_OF_A_NODE("");
    return kind == ENTRY_DECISION
               ? "d.node, " ENTRIES_DECISION(QUERY_TIME_OF_CENTRE, "d.host") " FROM decision AS d WHERE" OF_A_NODE
               : "d.node, " ENTRIES_EVENT(QUERY_TIME_OF_CENTRE) " FROM event AS d WHERE" OF_A_NODE;
}

static enum code step(struct reading *reading, enum entry_kind kind, struct why *why)
{
    enum code code = centre__next(&reading->rows[kind], why);

    reading->has[kind] = code == CODE_OK;
    return code == CODE_NOT_FOUND ? CODE_OK : code;
}

static enum code give(void *context, const struct query_row *row)
{
    const struct reading *reading = context;

    return reading->row(reading->context, reading->kind, reading->seq, row);
}

/* The kinds side by side, in the order of their numbers. */
static enum code read_kinds(struct reading *reading, struct why *why)
{
    enum code code = CODE_OK;

    while (code == CODE_OK) {
        struct centre_rows *rows;

        reading->seq = INT64_MAX;
        for (int kind = 0; kind < ENTRY_KINDS; kind++) {
            rows = &reading->rows[kind];
            if (reading->has[kind] && pg_rows_int(rows->piece, rows->at, SEQ) < reading->seq) {
                reading->kind = (enum entry_kind)kind;
                reading->seq = pg_rows_int(rows->piece, rows->at, SEQ);
            }
        }
        if (reading->seq == INT64_MAX)
            return CODE_OK;
        rows = &reading->rows[reading->kind];
        code = centre__give(rows->piece, rows->at, 0, give, reading);
        if (code == CODE_OK)
            code = step(reading, reading->kind, why);
    }
    return code;
}

/* ---- the place ---- */

static enum code hash_of(struct centre *centre, struct span node, int64_t seq, unsigned char hash[DIGEST_BYTES],
                         struct why *why)
{
    struct pg_rows *rows = NULL;
    struct span found;
    enum code code = pg_ask(centre->pg, "SELECT hash FROM entry WHERE node = $1 AND seq = $2",
                            PG_VALUES(pg_of_text(node), pg_of_int(seq)), &rows, why);

    found = code == CODE_OK && pg_rows_count(rows) > 0 ? pg_rows_bytes(rows, 0, 0) : SPAN_NONE;
    if (code == CODE_OK && found.len != DIGEST_BYTES)
        code = CODE_NOT_FOUND;
    if (code == CODE_OK)
        memcpy(hash, found.at, DIGEST_BYTES);
    pg_rows_free(&rows);
    return code;
}

/* The first row that is behind a place; 0: none is. */
static enum code first_behind(struct centre *centre, struct span node, int64_t seq, int64_t *first, struct why *why)
{
    return pg_number(centre->pg, "SELECT least((SELECT min(seq) FROM decision WHERE node = $1 AND seq > $2), "
                     "(SELECT min(seq) FROM outcome WHERE node = $1 AND seq > $2), "
                     "(SELECT min(seq) FROM event WHERE node = $1 AND seq > $2))",
                     PG_VALUES(pg_of_text(node), pg_of_int(seq)), first, why);
}

/* The row that a place names must be the one that was there; one before days that were dropped is there no more. */
static enum code check_place(struct centre *centre, struct span node, const struct entry_place *place, int64_t first,
                             struct why *why)
{
    unsigned char hash[DIGEST_BYTES];
    enum code code;

    if (!place->is_known)
        return CODE_OK;
    if (first > place->seq + 1)
        return why_set(why, CODE_NOT_FOUND, "rows %" PRId64 " to %" PRId64 " of %.*s are at the centre no more: the fleet does "
                       "not keep them so long", place->seq + 1, first - 1, SPAN_ARG(node));
    code = hash_of(centre, node, place->seq, hash, why);
    if (code == CODE_NOT_FOUND)
        return CODE_OK; /* it lay in the last day that was dropped */
    if (code == CODE_OK && memcmp(hash, place->hash, DIGEST_BYTES) != 0)
        return why_set(why, CODE_DENIED, "row %" PRId64 " of %.*s is not the one that the cursor stopped at: this is another "
                       "trail, or it was changed; `callgate audit verify --fleet` tells", place->seq, SPAN_ARG(node));
    return code;
}

/* Takes: next: the place; it is moved to the end of this turn. */
static enum code move_place(struct centre *centre, struct span node, const struct query *query, struct entry_place *next,
                            struct why *why)
{
    int64_t tip, first, turn = query->limit > 0 && query->limit < TURN_ROWS ? (int64_t)query->limit : TURN_ROWS;
    enum code code = centre__tip(centre, node, &tip, why);

    if (code == CODE_OK && next->is_known && next->seq > tip)
        return why_set(why, CODE_DENIED, "%.*s ends at row %" PRId64 " at the centre, the cursor stopped at %" PRId64 ": rows "
                       "were cut off, or this is another trail", SPAN_ARG(node), tip, next->seq);
    if (code != CODE_OK || tip <= next->seq)
        return code;
    code = first_behind(centre, node, next->seq, &first, why);
    if (code == CODE_OK)
        code = check_place(centre, node, next, first, why);
    if (code != CODE_OK || first == 0)
        return code;
    next->seq = tip - first >= turn ? first + turn - 1 : tip;
    next->is_known = true;
    return hash_of(centre, node, next->seq, next->hash, why);
}

static enum code read_to(struct centre *centre, struct span node, const struct query *query, unsigned wanted, int64_t from,
                         int64_t upto, struct reading *reading, struct why *why)
{
    static const char *const names[ENTRY_KINDS] = {"decisions", "outcomes", "events"};
    enum code code = CODE_OK;

    for (int kind = 0; kind < ENTRY_KINDS && code == CODE_OK; kind++) {
        const struct query_shape shape = {.head = head_of((enum entry_kind)kind, (wanted & ENTRIES_WHOLE) != 0),
                                          .order = kind == ENTRY_OUTCOME ? "o.seq" : "d.seq", .of = QUERY_OF_CENTRE,
                                          .after_seq = from, .session = "encode(d.session, 'hex')", .node = node, .upto = upto};

        if (kind == ENTRY_EVENT && ((wanted & ENTRIES_EVENTS) == 0 || entries__asks_for_calls(query)))
            continue;
        code = centre__ask(centre, names[kind], query, &shape, &reading->rows[kind], why);
        if (code == CODE_OK)
            code = step(reading, (enum entry_kind)kind, why);
    }
    return code == CODE_OK ? read_kinds(reading, why) : code;
}

enum code centre_entries(struct centre *centre, struct span node, const struct query *query, unsigned wanted,
                         struct entry_place *place, entry_fn row, void *context, struct why *why)
{
    struct reading reading = {.row = row, .context = context};
    struct entry_place next = *place;
    struct query of_node = *query;
    enum code code = centre__begin(centre, why);

    of_node.node = SPAN_NONE; /* which it is says the parameter */
    if (code == CODE_OK)
        code = move_place(centre, node, query, &next, why);
    if (code == CODE_OK && next.seq > place->seq)
        code = read_to(centre, node, &of_node, wanted, place->seq, next.seq, &reading, why);
    for (int kind = 0; kind < ENTRY_KINDS; kind++)
        centre__end(&reading.rows[kind]);
    centre__leave(centre);
    if (code == CODE_OK)
        *place = next;
    return code;
}

/* ---- approvals ---- */

/* A number, unless somebody made something else of it. */
#define APPROVAL \
    "CASE WHEN json_extract(e.detail, '$.approval') ~ '^[0-9]{1,18}$' THEN json_extract(e.detail, '$.approval')::bigint END " \
    "AS approval, "

enum code centre_approvals_of(struct centre *centre, struct span node, int64_t decision, query_row_fn row, void *context,
                              struct why *why)
{
    struct pg_rows *rows = NULL;
    enum code code = pg_ask(
        centre->pg,
        "SELECT " APPROVAL "e.node, e.seq, e.time, e.kind, e.actor, e.tenant, e.detail, "
        "e.time_us FROM event_log AS e WHERE e.kind LIKE 'approval\\_%' AND json_extract(e.detail, '$.approval') IN "
        "(SELECT json_extract(a.detail, '$.approval') FROM event AS a WHERE a.node = $1 "
        "AND a.kind IN ('approval_asked', 'approval_used') AND json_extract(a.detail, '$.decision') = $2::text) "
        "ORDER BY e.time_us, e.node, e.seq", PG_VALUES(pg_of_text(node), pg_of_int(decision)), &rows, why);

    for (size_t i = 0; i < pg_rows_count(rows) && code == CODE_OK; i++)
        code = centre__give(rows, i, 0, row, context);
    pg_rows_free(&rows);
    return code;
}
