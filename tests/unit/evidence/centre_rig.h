/* SPDX-License-Identifier: Apache-2.0 */
/* Three nodes' trails at a centre that is a real PostgreSQL, put there as nodes do, with checkpoints and
 * cosignatures; and what is told of them. */
#ifndef TESTS_CENTRE_RIG_H
#define TESTS_CENTRE_RIG_H

#include "centre/verify_centre.h"

#include "fakes/pg_server.h"
#include "fakes/sample.h"
#include "files/trail.h"
#include "os/clock.h"
#include "os/file.h"
#include "proof/cosign.h"
#include "rows/walk.h"
#include "verify_bench.h"

#define NODES 4 /* all but the last have trails; all have keys */
#define TRAILS 3

static const char *const names[NODES] = {"gate-a", "gate-b", "gate-c", "gate-d"};

static struct {
    struct pg *pg;
    struct audit_file files[TRAILS];
    struct trail trails[TRAILS];
    struct sign_key *log_keys[TRAILS], *keys[NODES];
    struct note_key known[NODES];
} rig;

/* ---- a node puts its rows there ------------------------------------------------------------------------------------- */

static inline void as(const char *role)
{
    char sql[128];

    pg_server_ask(rig.pg, "RESET SESSION AUTHORIZATION");
    if (role == NULL)
        return;
    (void)snprintf(sql, sizeof sql, "SET SESSION AUTHORIZATION \"%s\"", role);
    pg_server_ask(rig.pg, sql);
}

static inline bool is_text(const char *name)
{
    static const char *const texts[] = {"authentication", "direction", "verdict", "reason", "outcome", "kind", "answer_effect"};

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (strcmp(texts[i], name) == 0)
            return true;
    return false;
}

static inline struct pg_value value_of(const char *name, const struct row_value *value)
{
    switch (value->kind) {
    case ROW_INT:
        return pg_of_int(value->number);
    case ROW_TEXT:
        return is_text(name) ? pg_of_text(value->bytes) : pg_of_bytes(value->bytes);
    case ROW_BLOB:
        return pg_of_bytes(value->bytes);
    case ROW_NULL:
    case ROW_FOREIGN:
        break;
    }
    return (struct pg_value){.type = PG_NULL};
}

static inline void add_value(struct buf *sql, struct buf *places, struct pg_value *values, size_t *count, const char *name,
                      const struct row_value *value)
{
    values[*count] = value_of(name, value);
    if (values[*count].type == PG_NULL)
        return;
    buf_addf(places, "%s$%zu", *count > 0 ? ", " : "", *count + 1);
    buf_addf(sql, "%s%s", *count > 0 ? ", " : "", strcmp(name, "node") == 0 ? "host" : name);
    ++*count;
}

static inline void put_row(const struct walk_row *row, const char *day)
{
    const struct row_shape *shape = row_shape(row->table);
    struct pg_value values[PG_VALUES_MAX + 16];
    struct why why = {""};
    struct buf sql, places;
    size_t count = 0;

    buf_init(&sql, 8192);
    buf_init(&places, 4096);
    buf_addf(&sql, "INSERT INTO callgate.%s (", shape->name);
    for (int i = 0; i < shape->count; i++)
        add_value(&sql, &places, values, &count, shape->columns[i], &row->values[i]);
    add_value(&sql, &places, values, &count, "hash", &row->hash);
    for (int i = 0; i < shape->outside; i++)
        add_value(&sql, &places, values, &count, shape->outside_columns[i], &row->outside[i]);
    buf_addf(&sql, "%s) VALUES (%.*s%s%s%s)", row->table == ROW_FILE ? "" : ", day", SPAN_ARG(buf_peek(&places)),
             row->table == ROW_FILE ? "" : ", '", row->table == ROW_FILE ? "" : day, row->table == ROW_FILE ? "" : "'");
    assert_int_equal(buf_add_byte(&sql, '\0'), CODE_OK);
    if (pg_ask(rig.pg, buf_peek(&sql).at, values, count, NULL, &why) != CODE_OK)
        fail_msg("%s: %s", buf_peek(&sql).at, why.text);
    buf_fini(&places);
    buf_fini(&sql);
}

static inline void day_text(int64_t time_us, char day[16])
{
    time_t seconds = (time_t)(time_us / 1000000);
    struct tm tm;

    assert_non_null(gmtime_r(&seconds, &tm));
    (void)strftime(day, 16, "%Y-%m-%d", &tm);
}

static inline void put_rows(struct db *db, unsigned char last_hash[DIGEST_BYTES], int64_t *last)
{
    struct db_stmt *stmt;
    struct walk walk;
    struct walk_row row;
    char day[16] = "2026-01-01";

    assert_int_equal(walk_file(db, &stmt, &row), CODE_OK);
    put_row(&row, NULL);
    db_finalize(&stmt);
    assert_int_equal(walk_init(&walk, db, 1, INT64_MAX), CODE_OK);
    while (walk_next(&walk, &row) == CODE_OK) {
        int64_t time_us = row.values[D_TIME].number;

        if (row.table == ROW_OUTCOME) {
            struct db_stmt *decision;

            if (db_find(db, "SELECT time_us FROM decision WHERE seq = ?", DB_VALUES(db_of_int(row.values[O_DECISION].number)), &decision) ==
                CODE_OK)
                time_us = db_int(decision, 0);
            db_finalize(&decision);
        }
        day_text(time_us, day);
        put_row(&row, day);
        memcpy(last_hash, row.hash.bytes.at, DIGEST_BYTES);
        *last = row.seq;
    }
    walk_fini(&walk);
}

static inline void cosign_one(size_t node, size_t by, int64_t size, struct span note_text)
{
    struct why why = {""};
    struct note note;
    struct buf line;

    buf_init(&line, NOTE_BYTES);
    assert_int_equal(note_read(note_text, &note), CODE_OK);
    assert_int_equal(cosign_line(note.text, span_text(rig.known[by].name), rig.keys[by], (uint64_t)(clock_wall_us() / 1000000), &line),
                     CODE_OK);
    if (pg_ask(rig.pg, "INSERT INTO callgate.cosignature (node, size, cosigner, line) VALUES ($1, $2, $3, $4)",
               PG_VALUES(pg_of_text(span_text(names[node])), pg_of_int(size), pg_of_text(span_text(names[by])),
                         pg_of_bytes(buf_peek(&line))),
               NULL, &why) != CODE_OK)
        fail_msg("%s", why.text);
    buf_fini(&line);
}

/* The note with the node's own signature under it, too. */
static inline void put_marks(struct db *db, size_t node)
{
    struct db_stmt *stmt;
    enum code code = db_prepare(db, "SELECT size, time_us, peaks, note FROM checkpoint ORDER BY size", &stmt);

    while (db_next(&stmt, &code)) {
        struct note note;
        struct buf alone, whole;
        struct why why = {""};
        struct pg_rows *rows = NULL;

        buf_init(&alone, NOTE_BYTES);
        buf_init(&whole, NOTE_BYTES);
        assert_int_equal(note_read(db_text(stmt, 3), &note), CODE_OK);
        assert_int_equal(note_sign(note.text, span_text(rig.known[node].name), rig.keys[node], &alone), CODE_OK);
        buf_add_span(&whole, db_text(stmt, 3));
        buf_add_span(&whole, span_part(buf_peek(&alone), note.text.len + 1, SIZE_MAX));
        as(names[node]);
        if (pg_ask(rig.pg, "SELECT callgate.checkpoint_put($1, $2, $3, $4)",
                   PG_VALUES(pg_of_int(db_int(stmt, 0)), pg_of_int(db_int(stmt, 1)), pg_of_bytes(db_blob(stmt, 2)),
                             pg_of_bytes(buf_peek(&whole))), &rows, &why) != CODE_OK)
            fail_msg("%s", why.text);
        as(NULL);
        if (pg_rows_int(rows, 0, 0) == 1)
            cosign_one(node, node + 1, db_int(stmt, 0), buf_peek(&whole));
        pg_rows_free(&rows);
        buf_fini(&alone);
        buf_fini(&whole);
    }
}

static inline void ship(size_t node)
{
    unsigned char hash[DIGEST_BYTES], before[DIGEST_BYTES];
    int64_t last = 0, at = 0;

    for (size_t i = 0; i < rig.trails[node].count; i++) {
        struct why why = {""};
        struct pg_rows *rows;
        struct db *db;

        assert_int_equal(trail_open(rig.trails[node].files[i].path, &db, &why), CODE_OK);
        as(names[node]);
        put_rows(db, hash, &last);
        if (pg_ask(rig.pg, "SELECT callgate.cursor_move($1, $2, $3, $4)",
                   PG_VALUES(pg_of_int(at), at > 0 ? pg_of_bytes(span_of(before, DIGEST_BYTES)) : (struct pg_value){.type = PG_BYTES},
                             pg_of_int(last), pg_of_bytes(span_of(hash, DIGEST_BYTES))), &rows, &why) != CODE_OK)
            fail_msg("%s", why.text);
        assert_int_equal(pg_rows_int(rows, 0, 0), 1);
        pg_rows_free(&rows);
        put_marks(db, node);
        db_close(&db);
        memcpy(before, hash, DIGEST_BYTES);
        at = last;
    }
}

/* ---- the rig -------------------------------------------------------------------------------------------------------- */

#define SHIPPED 10

/* That the rows of the first file were given away, says the second one: of gate-b when the centre had SHIPPED, of gate-c before there was
 * a fleet, and where an event that went with them told of the first ones. */
static inline void tell_retired(size_t node, struct audit *audit)
{
    struct audit_event event = {.time_us = 1700000000000003, .kind = SPAN_LIT("retired"), .actor = SPAN_LIT("alice")};
    struct trail trail = {0};
    struct why why = {""};
    char detail[128];

    assert_int_equal(trail_find(rig.files[node].path, true, &trail, &why), CODE_OK);
    (void)snprintf(detail, sizeof detail, "{\"row\":1,\"first\":%d,\"last\":%lld,\"shipped\":%s}", node == 1 ? 1 : 5,
                   (long long)trail.files[1].before_seq, node == 1 ? "10" : "null");
    event.detail = span_text(detail);
    assert_int_equal(audit_put_event(audit_ring(audit, 0), &event), CODE_OK);
    trail_fini(&trail);
}

#define NAME_MS 50

/* A call, a checkpoint over it, and an event that names that: the last one that was named is older than NAME_MS by then. */
static inline void call_named(struct audit *audit, const char *tenant, const char *correlation)
{
    audit_file_await_signed(audit, audit_file_call(audit_ring(audit, 0), tenant, correlation));
    (void)nanosleep(&(struct timespec){.tv_nsec = (NAME_MS + 10) * 1000000}, NULL);
}

static inline void make_trail(size_t node)
{
    struct audit_checkpoints checkpoints = {.interval_ms = 20, .name_ms = NAME_MS};
    const struct audit_decision held = audit_call("acme", "held");
    struct audit_event erased = {.time_us = 1700000000000002, .kind = SPAN_LIT("erased"), .tenant = SPAN_LIT("old"),
                                 .actor = SPAN_LIT("alice"), .detail = SPAN_LIT("{\"before_us\":1700000000000001}")};
    struct audit_result answer;
    struct note_key known;
    struct audit *audit;
    struct why why = {""};
    uint64_t seq;

    audit_file_init(&rig.files[node]);
    checkpoints.key = rig.log_keys[node] = new_key(&known);
    audit = audit_file_open_signed(&rig.files[node], 1, &checkpoints);
    for (int i = 0; i < 6; i++)
        call_named(audit, i % 2 == 0 ? "acme" : "old", "c");
    assert_int_equal(audit_put_event(audit_ring(audit, 0), &erased), CODE_OK);
    assert_int_equal(audit_file_wait(audit_ring(audit, 0), audit_file_put(audit_ring(audit, 0), &held), &seq), AUDIT_DURABLE);
    seal(audit);
    if (node > 0)
        tell_retired(node, audit);
    for (int i = 0; i < 6; i++)
        call_named(audit, i % 2 == 0 ? "beta" : "acme", "d");
    answer = audit_answer(seq);
    audit_put_result(audit_ring(audit, 0), &answer);
    audit_close(&audit);
    assert_int_equal(trail_find(rig.files[node].path, true, &rig.trails[node], &why), CODE_OK);
    assert_int_equal(rig.trails[node].count, 2);
}

static inline int make(void **state)
{
    struct why why = {""};
    struct buf schema;

    if (pg_server_start(state) != 0)
        return -1;
    rig.pg = pg_server_open((struct pg_place){.database = pg_server.local});
    buf_init(&schema, (size_t)1 << 20);
    if (file_read("schema/fleet.sql", FILE_ANY, (size_t)1 << 20, &schema, &why) != CODE_OK || buf_add_byte(&schema, '\0') != CODE_OK)
        fail_msg("%s", why.text);
    if (pg_run(rig.pg, buf_peek(&schema).at, &why) != CODE_OK)
        fail_msg("%s", why.text);
    buf_fini(&schema);
    for (size_t i = 0; i < NODES; i++) {
        char sql[128];

        (void)snprintf(sql, sizeof sql, "CREATE ROLE \"%s\" LOGIN IN ROLE callgate_node", names[i]);
        pg_server_ask(rig.pg, sql);
        rig.keys[i] = new_key(&rig.known[i]);
        (void)snprintf(rig.known[i].name, sizeof rig.known[i].name, "callgate/fleet/%s", names[i]);
    }
    for (size_t i = 0; i < TRAILS; i++) {
        make_trail(i);
        ship(i);
    }
    return 0;
}

static inline int drop(void **state)
{
    pg_close(&rig.pg);
    for (size_t i = 0; i < TRAILS; i++) {
        trail_fini(&rig.trails[i]);
        audit_file_fini(&rig.files[i]);
        sign_key_free(&rig.log_keys[i]);
    }
    for (size_t i = 0; i < NODES; i++)
        sign_key_free(&rig.keys[i]);
    return pg_server_finish(state);
}

/* ---- verifying ------------------------------------------------------------------------------------------------------ */

static struct {
    size_t files, faults, doubts;
    bool is_proven;
    uint64_t rows, kept;
    struct verify_fault first;
} said;

static inline bool key_of(void *context, struct span node, size_t at, struct note_key *key)
{
    (void)context;
    for (size_t i = 0; i < NODES && at == 0; i++)
        if (span_is(node, names[i])) {
            *key = rig.known[i];
            return true;
        }
    return false;
}

static inline void tell(void *context, const struct verify_conf *conf, const struct verify_report *told)
{
    (void)context;
    (void)conf;
    if (said.faults == 0 && told->fault_count > 0)
        said.first = told->fault[0];
    said.files++;
    said.faults += told->fault_count;
    said.doubts += told->doubt_count;
    said.is_proven = told->is_proven;
    said.rows += told->rows;
    said.kept += told->kept;
}

static inline struct verify_centre_report verify_node(size_t node, bool against)
{
    struct verify_centre_conf conf = {.node = span_text(names[node]), .key_of = key_of, .tell = tell,
                                      .against = against ? &rig.trails[node] : NULL};
    struct verify_centre_report at_centre;
    struct why why = {""};

    memset(&said, 0, sizeof said);
    if (verify_centre(rig.pg, &conf, &at_centre, &why) != CODE_OK)
        fail_msg("%s", why.text);
    return at_centre;
}

static inline void expect_none(void)
{
    if (said.faults > 0)
        fail_msg("row %lld, %s.%s: %s", (long long)said.first.seq, said.first.table, said.first.field, said.first.text);
}

#endif
