/* SPDX-License-Identifier: Apache-2.0 */
/* 14.6: a node's trail is proven from the centre alone, and whatever somebody with all rights there changes, takes out, puts in, moves
 * or cuts off is found. Real PostgreSQL; rows are put there as a node does. */
#include "centre/verify_centre.h"

#include "fakes/pg_server.h"
#include "fakes/sample.h"
#include "files/trail.h"
#include "os/clock.h"
#include "os/file.h"
#include "proof/cosign.h"
#include "rows/walk.h"
#include "verify_bench.h"

#define NODES 3 /* the first two have trails; all three have keys */

static const char *const names[NODES] = {"gate-a", "gate-b", "gate-c"};

static struct {
    struct pg *pg;
    struct audit_file files[2];
    struct trail trails[2];
    struct sign_key *log_keys[2], *keys[NODES];
    struct note_key known[NODES];
} rig;

/* ---- a node puts its rows there ------------------------------------------------------------------------------------- */

static void as(const char *role)
{
    char sql[128];

    pg_server_ask(rig.pg, "RESET SESSION AUTHORIZATION");
    if (role == NULL)
        return;
    (void)snprintf(sql, sizeof sql, "SET SESSION AUTHORIZATION \"%s\"", role);
    pg_server_ask(rig.pg, sql);
}

static bool is_text(const char *name)
{
    static const char *const texts[] = {"authentication", "direction", "verdict", "reason", "outcome", "kind", "answer_effect"};

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (strcmp(texts[i], name) == 0)
            return true;
    return false;
}

static struct pg_value value_of(const char *name, const struct row_value *value)
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

static void add_value(struct buf *sql, struct buf *places, struct pg_value *values, size_t *count, const char *name,
                      const struct row_value *value)
{
    values[*count] = value_of(name, value);
    if (values[*count].type == PG_NULL)
        return;
    buf_addf(places, "%s$%zu", *count > 0 ? ", " : "", *count + 1);
    buf_addf(sql, "%s%s", *count > 0 ? ", " : "", strcmp(name, "node") == 0 ? "host" : name);
    ++*count;
}

static void put_row(const struct walk_row *row, const char *day)
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

static void day_text(int64_t time_us, char day[16])
{
    time_t seconds = (time_t)(time_us / 1000000);
    struct tm tm;

    assert_non_null(gmtime_r(&seconds, &tm));
    (void)strftime(day, 16, "%Y-%m-%d", &tm);
}

static void put_rows(struct db *db, unsigned char last_hash[DIGEST_BYTES], int64_t *last)
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

static void cosign_one(size_t node, size_t by, int64_t size, struct span note_text)
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
static void put_marks(struct db *db, size_t node)
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

static void ship(size_t node)
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

static void make_trail(size_t node)
{
    struct audit_checkpoints checkpoints = {.interval_ms = 20, .name_ms = 50};
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
    for (int i = 0; i < 6; i++) {
        (void)audit_file_call(audit_ring(audit, 0), i % 2 == 0 ? "acme" : "old", "c");
        (void)nanosleep(&(struct timespec){.tv_nsec = 60000000}, NULL);
    }
    assert_int_equal(audit_put_event(audit_ring(audit, 0), &erased), CODE_OK);
    assert_int_equal(audit_file_wait(audit_ring(audit, 0), audit_file_put(audit_ring(audit, 0), &held), &seq), AUDIT_DURABLE);
    seal(audit);
    for (int i = 0; i < 6; i++) {
        (void)audit_file_call(audit_ring(audit, 0), i % 2 == 0 ? "beta" : "acme", "d");
        (void)nanosleep(&(struct timespec){.tv_nsec = 60000000}, NULL);
    }
    answer = audit_answer(seq);
    audit_put_result(audit_ring(audit, 0), &answer);
    audit_close(&audit);
    assert_int_equal(trail_find(rig.files[node].path, true, &rig.trails[node], &why), CODE_OK);
    assert_int_equal(rig.trails[node].count, 2);
}

static int make(void **state)
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
    for (size_t i = 0; i < 2; i++) {
        make_trail(i);
        ship(i);
    }
    return 0;
}

static int drop(void **state)
{
    pg_close(&rig.pg);
    for (size_t i = 0; i < 2; i++) {
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

static bool key_of(void *context, struct span node, size_t at, struct note_key *key)
{
    (void)context;
    for (size_t i = 0; i < NODES && at == 0; i++)
        if (span_is(node, names[i])) {
            *key = rig.known[i];
            return true;
        }
    return false;
}

static void tell(void *context, const struct verify_conf *conf, const struct verify_report *told)
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

static struct verify_centre_report verify_node(size_t node, bool against)
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

static void test_whole(void **state)
{
    (void)state;
    pg_server_ask(rig.pg, "BEGIN");
    for (size_t node = 0; node < 2; node++) {
        struct verify_centre_report at_centre = verify_node(node, true);

        if (said.faults > 0)
            fail_msg("row %lld, %s.%s: %s", (long long)said.first.seq, said.first.table, said.first.field, said.first.text);
        assert_true(said.files == 2 && said.is_proven && said.doubts == 0);
        assert_true(said.rows > 20 && (int64_t)said.rows == at_centre.last_seq);
        assert_true(at_centre.cosigned_seq == at_centre.last_seq && at_centre.cosignatures > 4);
        assert_string_equal(at_centre.cosigner, names[node + 1]);
        assert_true(at_centre.same == said.rows && at_centre.here_seq == at_centre.last_seq && at_centre.dropped_seq == 0);
    }
    pg_server_ask(rig.pg, "ROLLBACK");
}

/* As the superuser, who may all. Either node must tell; nothing of it stays. */
static void expect_found(const char *sql)
{
    size_t faults;
    struct why why = {""};

    pg_server_ask(rig.pg, "BEGIN");
    pg_server_ask(rig.pg, "SET LOCAL session_replication_role = replica"); /* no trigger, no foreign key */
    if (pg_run(rig.pg, sql, &why) != CODE_OK)
        fail_msg("%s: %s", sql, why.text);
    (void)verify_node(0, false);
    faults = said.faults + said.doubts;
    (void)verify_node(1, false);
    if (faults + said.faults + said.doubts == 0)
        fail_msg("not found: %s", sql);
    pg_server_ask(rig.pg, "ROLLBACK");
}

/* pg_run sends its text in a transaction of its own where none is open. */
static void test_changed(void **state)
{
    static const char *const tables[] = {"decision", "outcome", "event", "file"};
    struct pg_rows *rows;
    struct why why = {""};
    size_t tried = 0;

    (void)state;
    for (size_t t = 0; t < 4; t++) {
        char ask[256];

        (void)snprintf(ask, sizeof ask, "SELECT column_name::text, data_type::text FROM information_schema.columns WHERE table_schema = "
                       "'callgate' AND table_name = '%s' AND column_name <> 'node'", tables[t]);
        assert_int_equal(pg_ask(rig.pg, ask, NULL, 0, &rows, &why), CODE_OK);
        for (size_t i = 0; i < pg_rows_count(rows); i++) {
            struct span name = pg_rows_bytes(rows, i, 0), type = pg_rows_bytes(rows, i, 1);
            const char *none = span_is(type, "bigint") ? "5" : span_is(type, "date") ? "'2026-01-01'" : "''";
            const char *more = span_is(type, "bigint") ? "+ 1" : span_is(type, "date") ? "- 1"
                               : span_is(type, "bytea") ? "|| '\\x41'" : "|| 'x'";
            char sql[512];

            (void)snprintf(sql, sizeof sql, "UPDATE callgate.%s SET %.*s = coalesce(%.*s, %s) %s WHERE node = 'gate-a' AND seq = (SELECT "
                           "max(seq) FROM callgate.%s WHERE node = "
                           "'gate-a')", tables[t], SPAN_ARG(name), SPAN_ARG(name), none, more, tables[t]);
            if ((t == 3 && span_is(name, "seq")) || tried++ % sample_step() != 0)
                continue; /* a file's number is below */
            expect_found(sql);
        }
        pg_rows_free(&rows);
    }
    assert_true(tried > 100);
}

#define A "node = 'gate-a'"
#define LAST "seq = (SELECT max(seq) FROM callgate."

static void test_taken_and_put(void **state)
{
    static const char *const attacks[] = {
        /* rows taken out, at the beginning, in the middle, at the end; with what tells of the end */
        "DELETE FROM callgate.event WHERE " A " AND seq = 1",
        "DELETE FROM callgate.decision WHERE " A " AND seq = (SELECT min(seq) FROM callgate.decision WHERE " A ")",
        "DELETE FROM callgate.outcome WHERE " A " AND " LAST "outcome WHERE " A ")",
        "DELETE FROM callgate.event WHERE " A " AND " LAST "event WHERE " A ")",
        "DELETE FROM callgate.event WHERE " A " AND seq > 30; DELETE FROM callgate.decision WHERE " A " AND seq > 30; "
        "DELETE FROM callgate.outcome WHERE " A " AND seq > 30; UPDATE callgate.trail_cursor SET seq = 30 WHERE " A,
        "DELETE FROM callgate.event WHERE " A " AND seq > 30; DELETE FROM callgate.decision WHERE " A " AND seq > 30; "
        "DELETE FROM callgate.outcome WHERE " A " AND seq > 30; DELETE FROM callgate.checkpoint WHERE " A " AND size > 30; "
        "UPDATE callgate.trail_cursor SET seq = 30, hash = (SELECT hash FROM (SELECT seq, hash FROM callgate.decision WHERE " A " UNION "
                                                                                                                                "ALL "
        "SELECT seq, hash FROM callgate.outcome WHERE " A " UNION ALL SELECT seq, hash FROM callgate.event WHERE " A ") AS r "
        "WHERE r.seq = 30) WHERE " A,
        /* put in twice, put in behind the end, swapped within a node and between nodes, given to another */
        "INSERT INTO callgate.decision SELECT * FROM callgate.decision WHERE " A " AND false; INSERT INTO callgate.event (node, day, seq, "
        "time_us, kind, hash) SELECT node, day, seq + 1, time_us, 'reload', hash FROM callgate.event WHERE " A " AND " LAST "event WHERE "
                                                                                                                            "" A ")",
        "UPDATE callgate.decision SET seq = -seq WHERE " A "; UPDATE callgate.decision SET seq = 3 + seq WHERE " A " AND false; "
        "UPDATE callgate.decision SET seq = -seq + 1 WHERE " A,
        "UPDATE callgate.decision SET node = 'gate-x' WHERE node = 'gate-a'; UPDATE callgate.decision SET node = 'gate-a' WHERE node = "
        "'gate-b'; UPDATE callgate.decision SET node = 'gate-b' WHERE node = 'gate-x'",
        "UPDATE callgate.event SET node = 'gate-b', seq = seq + 1000 WHERE " A " AND " LAST "event WHERE " A ")",
        "DELETE FROM callgate.file WHERE " A,
        "DELETE FROM callgate.file WHERE " A " AND seq = 0",
        "DELETE FROM callgate.file WHERE " A " AND seq > 0",
        "UPDATE callgate.file SET seq = seq + 1 WHERE " A " AND seq > 0",
        /* days */
        "UPDATE callgate.decision SET day = '2020-01-01' WHERE " A " AND " LAST "decision WHERE " A ")",
        "UPDATE callgate.outcome SET day = day + 1 WHERE " A " AND " LAST "outcome WHERE " A ")",
        "UPDATE callgate.event SET day = day - 1 WHERE " A " AND seq = 1",
        /* a beginning taken away as if its days had been over, without the proof that those leave, and with a made-up one */
        "DELETE FROM callgate.event WHERE " A " AND seq < 20; DELETE FROM callgate.decision WHERE " A " AND seq < 20; "
        "DELETE FROM callgate.outcome WHERE " A " AND seq < 20",
        "DELETE FROM callgate.event WHERE " A " AND seq < 20; DELETE FROM callgate.decision WHERE " A " AND seq < 20; "
        "DELETE FROM callgate.outcome WHERE " A " AND seq < 20; INSERT INTO callgate.day_proof (node, day, first_seq, last_seq, count) "
        "VALUES ('gate-a', '2026-01-01', 1, 19, 19); INSERT INTO callgate.day_link SELECT 'gate-a', max(size), sha256('x') FROM "
        "callgate.checkpoint WHERE " A " AND size < 20",
        /* checkpoints: taken out, replaced, exchanged, put in */
        "DELETE FROM callgate.checkpoint WHERE " A,
        "DELETE FROM callgate.checkpoint WHERE " A " AND size = (SELECT max(size) FROM callgate.checkpoint WHERE " A ")",
        "UPDATE callgate.checkpoint SET note = (SELECT note FROM callgate.checkpoint WHERE node = 'gate-b' ORDER BY size DESC LIMIT 1) "
        "WHERE " A " AND size = (SELECT max(size) FROM callgate.checkpoint WHERE " A ")",
        "UPDATE callgate.checkpoint SET peaks = peaks || '\\x00' WHERE " A " AND size = (SELECT max(size) FROM callgate.checkpoint WHERE "
                                                                           "" A ")",
        "UPDATE callgate.checkpoint SET time_us = time_us + 1 WHERE " A " AND size = (SELECT max(size) FROM callgate.checkpoint WHERE "
                                                                        "" A ")",
        "UPDATE callgate.checkpoint SET note = set_byte(note, 60, 65) WHERE " A,
        "UPDATE callgate.checkpoint SET note = substring(note FROM 1 FOR position('\\xe28094'::bytea || ' callgate/fleet'::bytea IN note) "
        "- 1) "
        "WHERE " A,
        "UPDATE callgate.checkpoint SET note = substring(note FROM 1 FOR position('\\xe28094'::bytea || ' callgate/fleet'::bytea IN note) "
        "- 1) "
        "WHERE " A " AND size = (SELECT max(size) FROM callgate.checkpoint WHERE " A ")",
        "INSERT INTO callgate.checkpoint (node, size, time_us, peaks, note) SELECT node, size + 1000, time_us, peaks, note FROM "
        "callgate.checkpoint WHERE " A " LIMIT 1",
        /* cosignatures: of another checkpoint, of another node, of nobody, of the node itself, changed */
        "UPDATE callgate.cosignature SET line = (SELECT line FROM callgate.cosignature WHERE " A " ORDER BY size DESC LIMIT 1) WHERE " A,
        "UPDATE callgate.cosignature SET line = (SELECT line FROM callgate.cosignature WHERE node = 'gate-b' LIMIT 1) WHERE " A,
        "UPDATE callgate.cosignature SET cosigner = 'gate-c' WHERE " A,
        "UPDATE callgate.cosignature SET cosigner = 'nobody' WHERE " A,
        "UPDATE callgate.cosignature SET cosigner = 'gate-a' WHERE " A,
        "UPDATE callgate.cosignature SET line = set_byte(line, length(line) - 30, 66) WHERE " A,
        /* what says where it ends, and that it forked */
        "DELETE FROM callgate.trail_cursor WHERE " A,
        "UPDATE callgate.trail_cursor SET seq = seq + 1 WHERE " A,
        "UPDATE callgate.trail_cursor SET hash = sha256('x') WHERE " A,
        "INSERT INTO callgate.trail_fork (node, told_by, seq) VALUES ('gate-a', 'gate-b', 12)",
        /* values that are outside the chain */
        "UPDATE callgate.decision SET arguments = '{}' WHERE " A " AND " LAST "decision WHERE " A ")",
    };

    (void)state;
    for (size_t i = 0; i < sizeof attacks / sizeof attacks[0]; i++)
        expect_found(attacks[i]);
    test_whole(state);
}

/* A row changed, and its hash, and all hashes behind it: the chain is whole, and no checkpoint is. That the centre and the node's files
 * say the same is found only with the files. */
static void test_against(void **state)
{
    (void)state;
    pg_server_ask(rig.pg, "BEGIN");
    pg_server_ask(rig.pg, "UPDATE callgate.event SET hash = sha256('x') WHERE node = 'gate-a' AND seq = 1");
    (void)verify_node(0, true);
    assert_true(said.faults > 1);
    pg_server_ask(rig.pg, "ROLLBACK");
}

/* Days that are over go whole, and what is left is proven from the last checkpoint before it. */
static void test_dropped(void **state)
{
    struct verify_centre_report at_centre;

    (void)state;
    pg_server_ask(rig.pg, "BEGIN");
    pg_server_ask(rig.pg, "SELECT callgate.day_drop(day) FROM (SELECT DISTINCT day FROM callgate.decision WHERE node = 'gate-a' ORDER BY "
                          "day "
                          "LIMIT 1) AS d");
    at_centre = verify_node(0, true);
    if (said.faults > 0)
        fail_msg("row %lld, %s.%s: %s", (long long)said.first.seq, said.first.table, said.first.field, said.first.text);
    assert_true(said.is_proven && said.kept > 0);
    assert_true(at_centre.same > 0);
    pg_server_ask(rig.pg, "UPDATE callgate.day_link SET hash = sha256('x') WHERE node = 'gate-a' AND seq = (SELECT max(seq) FROM "
                          "callgate.day_link WHERE node = 'gate-a')");
    (void)verify_node(0, false);
    assert_true(said.faults > 0);
    pg_server_ask(rig.pg, "ROLLBACK");
}

/* Checkpoints come behind their rows. What has not come yet is no fault, wherever that leaves the centre: within a file, behind `sealed`,
 * behind `stop`; and nothing is vouched for that no checkpoint covers. One that is missing before others was taken out. */
static void test_on_their_way(void **state)
{
    struct pg_rows *rows;
    struct why why = {""};
    size_t tried = 0;

    (void)state;
    assert_int_equal(pg_ask(rig.pg, "SELECT size FROM callgate.checkpoint WHERE node = 'gate-a' ORDER BY size", NULL, 0, &rows, &why),
                     CODE_OK);
    for (size_t i = 0; i < pg_rows_count(rows); i++) {
        char sql[512];

        pg_server_ask(rig.pg, "BEGIN");
        pg_server_ask(rig.pg, "SET LOCAL session_replication_role = replica");
        (void)snprintf(sql, sizeof sql, "DELETE FROM callgate.cosignature WHERE node = 'gate-a' AND size >= %lld; DELETE FROM "
                       "callgate.checkpoint WHERE node = 'gate-a' AND size >= %lld", (long long)pg_rows_int(rows, i, 0),
                       (long long)pg_rows_int(rows, i, 0));
        assert_int_equal(pg_run(rig.pg, sql, &why), CODE_OK);
        (void)verify_node(0, true);
        if (said.faults > 0)
            fail_msg("%s: row %lld, %s.%s: %s", sql, (long long)said.first.seq, said.first.table, said.first.field, said.first.text);
        assert_false(said.is_proven);
        pg_server_ask(rig.pg, "ROLLBACK");
        tried++;
    }
    assert_true(tried > 4);
    pg_rows_free(&rows);
    pg_server_ask(rig.pg, "BEGIN");
    pg_server_ask(rig.pg, "SET LOCAL session_replication_role = replica");
    pg_server_ask(rig.pg, "DELETE FROM callgate.cosignature WHERE node = 'gate-a'");
    pg_server_ask(rig.pg, "DELETE FROM callgate.checkpoint WHERE node = 'gate-a' AND size = (SELECT seq FROM callgate.event WHERE node = "
                          "'gate-a' AND kind = 'sealed')");
    (void)verify_node(0, false);
    assert_true(said.faults > 0);
    pg_server_ask(rig.pg, "ROLLBACK");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole),   cmocka_unit_test(test_changed), cmocka_unit_test(test_taken_and_put),
        cmocka_unit_test(test_against), cmocka_unit_test(test_dropped), cmocka_unit_test(test_on_their_way),
    };

    if (!pg_server_is_there())
        return 0;
    return cmocka_run_group_tests(tests, make, drop);
}
