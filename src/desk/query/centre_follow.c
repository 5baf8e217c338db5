/* SPDX-License-Identifier: Apache-2.0 */
#include "query/centre_priv.h"

#include "base/mem.h"

#define NODES_MAX 4096
#define MOST_LINES 1000000000

/* What ended behind $1, in the order of its last row: that of a decision where no outcome is due, else the outcome's. */
#define ENDED \
    " FROM (SELECT node, day, seq AS at, seq AS call FROM decision " \
    "WHERE expects_outcome = 0 AND node = $2 AND seq > $1 AND seq <= $3 " \
    "UNION ALL SELECT node, day, seq, decision FROM outcome WHERE node = $2 AND seq > $1 AND seq <= $3) AS e " \
    "JOIN call AS d ON d.node = e.node AND d.seq = e.call AND d.day = e.day WHERE 1 = 1"

struct place {
    char name[64];
    int64_t seq; /* told up to here */
};

struct centre_follow {
    struct centre *centre;
    struct place *places; /* by name */
    size_t count;
    struct buf head; /* of the statement */
};

/* What came meanwhile: where each node's rows end at the centre. A node that is new begins at its first. */
struct looking {
    struct centre_follow *follow;
    struct buf tips; /* struct place */
};

static enum code take_tip(void *context, struct span node)
{
    struct looking *looking = context;
    struct place place = {.seq = 0};

    if (node.len >= sizeof place.name || buf_len(&looking->tips) >= NODES_MAX * sizeof place)
        return CODE_OK;
    memcpy(place.name, node.at, node.len);
    return buf_add(&looking->tips, &place, sizeof place);
}

static enum code find_tips(struct looking *looking, struct why *why)
{
    struct centre *centre = looking->follow->centre;
    enum code code = centre_nodes(centre, take_tip, looking, why);
    struct span tips = code == CODE_OK ? buf_peek(&looking->tips) : SPAN_NONE;

    for (size_t i = 0; i < tips.len / sizeof(struct place) && code == CODE_OK; i++) {
        struct place *place = (struct place *)(void *)(uintptr_t)tips.at + i;

        code = centre__tip(centre, span_text(place->name), &place->seq, why);
    }
    return code;
}

static int64_t place_of(const struct centre_follow *follow, const char *name)
{
    for (size_t i = 0; i < follow->count; i++)
        if (strcmp(follow->places[i].name, name) == 0)
            return follow->places[i].seq;
    return 0;
}

static enum code tell_node(struct centre_follow *follow, const struct place *tip, int64_t after, const struct query *query,
                           query_row_fn row, void *context, struct why *why)
{
    const struct query_shape shape = {.head = buf_peek(&follow->head).at, .order = "e.at", .of = QUERY_OF_CENTRE,
                                      .after_seq = after, .node = span_text(tip->name), .upto = tip->seq};
    struct centre_rows rows = {.piece = NULL};
    enum code code = centre__begin(follow->centre, why);

    if (code == CODE_OK)
        code = centre__ask(follow->centre, "ended", query, &shape, &rows, why);
    while (code == CODE_OK && (code = centre__next(&rows, why)) == CODE_OK)
        code = centre__give(rows.piece, rows.at, 0, row, context);
    centre__end(&rows);
    centre__leave(follow->centre);
    return code == CODE_NOT_FOUND ? CODE_OK : code;
}

static enum code keep(struct centre_follow *follow, struct span tips)
{
    struct place *places = tips.len > 0 ? mem_alloc(tips.len) : NULL;

    if (places == NULL && tips.len > 0)
        return CODE_NOMEM;
    if (places != NULL)
        memcpy(places, tips.at, tips.len);
    mem_free(follow->places);
    follow->places = places;
    follow->count = tips.len / sizeof(struct place);
    return CODE_OK;
}

enum code centre_follow_next(struct centre_follow *follow, const struct query *query, query_row_fn row, void *context,
                             struct why *why)
{
    struct looking looking = {.follow = follow};
    struct span tips;
    enum code code;

    buf_init(&looking.tips, NODES_MAX * sizeof(struct place));
    code = find_tips(&looking, why);
    tips = code == CODE_OK ? buf_peek(&looking.tips) : SPAN_NONE;
    for (size_t i = 0; i < tips.len / sizeof(struct place) && code == CODE_OK; i++) {
        struct place tip;
        int64_t after;

        memcpy(&tip, tips.at + i * sizeof tip, sizeof tip);
        after = place_of(follow, tip.name);
        if (tip.seq > after)
            code = tell_node(follow, &tip, after, query, row, context, why);
    }
    if (code == CODE_OK)
        code = keep(follow, tips);
    buf_fini(&looking.tips);
    return code;
}

/* What has not ended is told once it has. */
struct ended {
    query_row_fn row;
    void *context;
};

static enum code tell_ended(void *context, const struct query_row *row)
{
    const struct ended *ended = context;

    if (span_is(query_value(row, "expects_outcome"), "1") && query_value(row, "outcome").at == NULL)
        return CODE_OK;
    return ended->row(ended->context, row);
}

static enum code begin(struct centre_follow *follow, const struct query *query, uint64_t lines, struct ended *ended,
                       struct why *why)
{
    struct looking looking = {.follow = follow};
    struct query newest = *query;
    enum code code;
    bool more;

    buf_init(&looking.tips, NODES_MAX * sizeof(struct place));
    code = find_tips(&looking, why);
    if (code == CODE_OK)
        code = keep(follow, buf_peek(&looking.tips));
    buf_fini(&looking.tips);
    newest.limit = lines < MOST_LINES ? lines : 0;
    newest.order = QUERY_NEWEST_FORWARD;
    return code == CODE_OK && lines > 0 ? centre_query(follow->centre, &newest, tell_ended, ended, &more, why) : code;
}

enum code centre_follow_open(struct centre *centre, const struct query *query, uint64_t lines, query_row_fn row, void *context,
                             struct centre_follow **out, struct why *why)
{
    struct centre_follow *follow = mem_zalloc(sizeof *follow);
    struct ended ended = {row, context};
    enum code code;

    *out = follow;
    if (follow == NULL)
        return why_set(why, CODE_NOMEM, "%s", code_text(CODE_NOMEM));
    follow->centre = centre;
    buf_init(&follow->head, (size_t)32 << 10);
    centre__write_columns(&follow->head);
    buf_add_text(&follow->head, ENDED);
    buf_add_byte(&follow->head, '\0');
    code = buf_code(&follow->head);
    if (code == CODE_OK)
        code = begin(follow, query, lines, &ended, why);
    if (code != CODE_OK)
        centre_follow_close(out);
    return code;
}

void centre_follow_close(struct centre_follow **follow)
{
    if (*follow == NULL)
        return;
    buf_fini(&(*follow)->head);
    mem_free((*follow)->places);
    mem_free(*follow);
    *follow = NULL;
}
