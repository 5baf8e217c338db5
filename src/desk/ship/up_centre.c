/* SPDX-License-Identifier: Apache-2.0 */
#include "ship/up_centre.h"

#include "base/log.h"

#include <stdio.h>

#define DAY_TEXT "(date '1970-01-01' + $1::int8::int4)"

static struct pg_value hash_of(const struct up_place *place)
{
    return place->has_hash ? pg_of_bytes(span_of(place->hash, DIGEST_BYTES)) : (struct pg_value){.type = PG_BYTES};
}

enum code up_centre_cursor(struct pg *pg, struct up_place *place, struct why *why)
{
    struct pg_rows *rows = NULL;
    enum code code = pg_ask(pg, "SELECT seq, hash FROM callgate.cursor_read()", NULL, 0, &rows, why);

    *place = (struct up_place){.seq = 0};
    if (code == CODE_OK && pg_rows_count(rows) > 0) {
        struct span hash = pg_rows_bytes(rows, 0, 1);

        place->is_known = true;
        place->seq = pg_rows_int(rows, 0, 0);
        place->has_hash = hash.at != NULL && hash.len == DIGEST_BYTES;
        if (place->has_hash)
            memcpy(place->hash, hash.at, DIGEST_BYTES);
    }
    pg_rows_free(&rows);
    return code;
}

static enum code move(struct pg *pg, const struct up_place *from, const struct up_place *to, bool *moved, struct why *why)
{
    int64_t has_moved;
    enum code code = pg_number(pg, "SELECT callgate.cursor_move($1, $2, $3, $4)",
                               PG_VALUES(pg_of_int(from->seq), hash_of(from), pg_of_int(to->seq), hash_of(to)), &has_moved,
                               why);

    *moved = has_moved != 0;
    return code;
}

enum code up_centre_pass(struct pg *pg, const struct up_place *from, const struct up_place *to, bool *moved, struct why *why)
{
    return move(pg, from, to, moved, why);
}

static enum code copy(struct pg *pg, const struct up_batch *batch, enum row_table table, const struct up_table *at,
                      struct why *why)
{
    uint64_t rows = 0;
    enum code code;

    if (batch->counts[table] == 0)
        return CODE_OK;
    code = pg_copy_begin(pg, at->copy, why);
    if (code != CODE_OK)
        return code;
    up_batch_send(batch, table, at, pg);
    code = pg_copy_end(pg, &rows, why);
    if (code == CODE_OK && rows != batch->counts[table])
        code = why_set(why, CODE_IO, "the database took %llu rows of %zu", (unsigned long long)rows, batch->counts[table]);
    return code;
}

static enum code note_erasures(struct pg *pg, const struct up_batch *batch, struct why *why)
{
    enum code code = CODE_OK;

    for (size_t i = 0; i < batch->erased_count && code == CODE_OK; i++)
        code = pg_ask(pg, "SELECT callgate.erase_note(" DAY_TEXT ", $2)",
                      PG_VALUES(pg_of_int(batch->erased[i].day), pg_of_int(batch->erased[i].seq)), NULL, why);
    return code;
}

/* Decisions before their outcomes, so that who reads meanwhile finds them. The file's own row first. */
static enum code put(struct pg *pg, const struct up_batch *batch, const struct up_table tables[ROW_TABLES], struct why *why)
{
    enum code code = CODE_OK;

    for (enum row_table table = ROW_FILE; table < ROW_TABLES && code == CODE_OK; table++)
        code = copy(pg, batch, table, &tables[table], why);
    return code == CODE_OK ? note_erasures(pg, batch, why) : code;
}

enum code up_centre_put(struct pg *pg, const struct up_place *from, const struct up_batch *batch,
                        const struct up_table tables[ROW_TABLES], bool *moved, char state[6], struct why *why)
{
    struct up_place to = {.seq = batch->last, .is_known = true, .has_hash = batch->has_hash};
    enum code code = pg_begin(pg, why);

    memcpy(to.hash, batch->hash, DIGEST_BYTES);
    *moved = false;
    state[0] = '\0';
    if (code != CODE_OK)
        return code;
    code = move(pg, from, &to, moved, why);
    if (code == CODE_OK && *moved)
        code = put(pg, batch, tables, why);
    if (code == CODE_OK && *moved)
        return pg_commit(pg, NULL, why);
    (void)snprintf(state, 6, "%s", pg_sqlstate(pg));
    pg_rollback(pg);
    return code;
}

enum code up_centre_open(struct pg *pg, int32_t day, struct why *why)
{
    return pg_ask(pg, "SELECT callgate.day_open(" DAY_TEXT ")", PG_VALUES(pg_of_int(day)), NULL, why);
}

enum code up_centre_unindex(struct pg *pg, int32_t day, struct why *why)
{
    return pg_ask(pg, "SELECT callgate.day_unindex(" DAY_TEXT ")", PG_VALUES(pg_of_int(day)), NULL, why);
}

enum code up_centre_fork(struct pg *pg, const struct up_place *there, const struct up_place *here, struct why *why)
{
    return pg_ask(pg, "SELECT callgate.fork_tell($1, $2, $3)",
                  PG_VALUES(pg_of_int(there->seq), hash_of(there), hash_of(here)), NULL, why);
}

enum code up_centre_erase(struct pg *pg, int64_t *seq, bool *more, struct why *why)
{
    struct pg_rows *rows = NULL;
    enum code code = pg_ask(pg, "SELECT number, is_done FROM callgate.erase_step()", NULL, 0, &rows, why);

    *more = code == CODE_OK && pg_rows_count(rows) > 0;
    *seq = *more && pg_rows_int(rows, 0, 1) != 0 ? pg_rows_int(rows, 0, 0) : 0;
    pg_rows_free(&rows);
    return code;
}

enum code up_centre_tend(struct pg *pg, bool *more, struct why *why)
{
    struct pg_rows *rows = NULL;
    enum code code = pg_ask(pg, "SELECT callgate.trail_tend()", NULL, 0, &rows, why);

    *more = code == CODE_OK && pg_rows_count(rows) > 0 && !pg_rows_null(rows, 0, 0);
    if (*more)
        log_info("fleet", "the centre's days: %.*s", SPAN_ARG(pg_rows_bytes(rows, 0, 0)));
    pg_rows_free(&rows);
    return code;
}
