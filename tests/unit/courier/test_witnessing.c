/* SPDX-License-Identifier: Apache-2.0 */
/* 14.6: a node's checkpoints go to a real PostgreSQL, the next node by name looks whether each goes on from the last and cosigns it, and
 * says so where one does not. */
#include "courier/marks.h"
#include "courier/witnessing.h"
#include "db/db.h"
#include "fleet/witness_memory.h"
#include "proof/cosign.h"
#include "unit/ship/up_bench.h"

#define FLEET "00112233445566778899aabbccddeeff"

static const char *const names[] = {"gate-1", "gate-2", "gate-3"};

static const char tables[] = "CREATE TABLE fleet_witness (node TEXT PRIMARY KEY, origin TEXT, size INTEGER, root, peaks); "
                             "CREATE TABLE fleet_fork (id INTEGER PRIMARY KEY, node, told_by, seq, what, heard_us)";

static struct {
    struct sign_key *log, *keys[3];
    unsigned char public[3][SIGN_PUBLIC_BYTES];
    struct marks marks;
    struct db *stores[3];
    struct pg *pgs[3];
} fleet;

static struct sign_key *new_key(unsigned char public[SIGN_PUBLIC_BYTES])
{
    struct sign_key *key;
    struct buf pem;

    buf_init(&pem, 4096);
    assert_int_equal(sign_key_make(&pem), CODE_OK);
    assert_int_equal(sign_key_read(buf_peek(&pem), &key), CODE_OK);
    assert_int_equal(sign_key_public(key, public), CODE_OK);
    buf_fini(&pem);
    return key;
}

static bool key_of(void *context, struct span name, unsigned char key[SIGN_PUBLIC_BYTES])
{
    (void)context;
    for (size_t i = 0; i < 3; i++)
        if (span_is(name, names[i])) {
            memcpy(key, fleet.public[i], SIGN_PUBLIC_BYTES);
            return true;
        }
    return false;
}

static void beat(size_t who, int seconds_ago)
{
    char sql[512];

    (void)snprintf(sql, sizeof sql, "INSERT INTO callgate.node VALUES ('%s', now() - interval '%d s', 0, '', '', 0, 0, 0, 0, 0, "
                   "0, 0, '') "
                   "ON CONFLICT (name) DO UPDATE SET beat_at = excluded.beat_at", names[who], seconds_ago);
    run(owner, sql);
}

static int join(void **state)
{
    struct audit_checkpoints checkpoints = {.interval_ms = 10, .name_ms = 50};
    unsigned char unused[SIGN_PUBLIC_BYTES];
    struct why why = {""};

    (void)state;
    run(owner, "TRUNCATE callgate.decision, callgate.outcome, callgate.event, callgate.file, callgate.trail_cursor, callgate.trail_fork, "
               "callgate.day_proof, callgate.day_link, callgate.checkpoint, callgate.cosignature, callgate.node");
    audit_file_init(&node.file);
    checkpoints.key = fleet.log = new_key(unused);
    node.audit = audit_file_open_signed(&node.file, 1, &checkpoints);
    node.pg = connect_as("gate-1");
    open_up();
    for (size_t i = 0; i < 3; i++) {
        fleet.keys[i] = new_key(fleet.public[i]);
        fleet.pgs[i] = connect_as(names[i]);
        beat(i, 0);
        assert_int_equal(db_open(":memory:", DB_CREATE, &fleet.stores[i], &why), CODE_OK);
        assert_int_equal(db_exec(fleet.stores[i], tables), CODE_OK);
    }
    assert_int_equal(marks_init(&fleet.marks, node.file.path, SPAN_LIT(FLEET), SPAN_LIT("gate-1"), fleet.keys[0], &why), CODE_OK);
    return 0;
}

static int part(void **state)
{
    marks_fini(&fleet.marks);
    for (size_t i = 0; i < 3; i++) {
        pg_close(&fleet.pgs[i]);
        db_close(&fleet.stores[i]);
        sign_key_free(&fleet.keys[i]);
    }
    (void)leave(state);
    sign_key_free(&fleet.log);
    return 0;
}

static void make_rows(int count)
{
    for (int i = 0; i < count; i++) {
        fill(3);
        audit_file_await_signed(node.audit, (uint64_t)audit_file_number(&node.file, "SELECT max(seq) FROM decision"));
    }
}

static void ship_marks(void)
{
    struct why why = {""};
    bool more = true;

    ship();
    while (more)
        if (marks_turn(&fleet.marks, node.pg, up_figures(node.up)->shipped_seq, &more, &why) != CODE_OK)
            fail_msg("%s", why.text);
}

/* Returns: what the witness finds wrong, whose clock says that. */
static const char *look_at_time(size_t who, uint64_t time_s)
{
    struct witnessing self = {.store = fleet.stores[who], .fleet = SPAN_LIT(FLEET), .node = span_text(names[who]), .key = fleet.keys[who],
                              .key_of = key_of};
    static struct why problem;
    struct why why = {""};
    bool more = true;

    for (int i = 0; more; i++) {
        assert_true(i < 1000);
        if (witnessing_turn(&self, fleet.pgs[who], time_s, &more, &problem, &why) != CODE_OK)
            fail_msg("%s", why.text);
    }
    return problem.text;
}

static const char *look_as(size_t who)
{
    return look_at_time(who, (uint64_t)(clock_wall_us() / 1000000));
}

static int64_t last_of(const char *table, const char *by)
{
    char sql[256];

    (void)snprintf(sql, sizeof sql, "SELECT coalesce(max(size), 0) FROM callgate.%s WHERE node = 'gate-1'%s%s%s", table,
                   by != NULL ? " AND cosigner = '" : "", by != NULL ? by : "", by != NULL ? "'" : "");
    return number(sql);
}

TEST_CASE_WITH(test_cosigned, join, part)
{
    struct note_key key = {.name = ""};
    struct pg_rows *rows;
    struct why why = {""};
    struct note note;
    uint64_t time_s;

    make_rows(10);
    ship_marks();
    assert_string_equal(look_as(1), "");
    assert_true(last_of("checkpoint", NULL) > 0);
    assert_int_equal(last_of("cosignature", "gate-2"), last_of("checkpoint", NULL));
    assert_string_equal(look_as(2), ""); /* not the next one by name */
    assert_int_equal(last_of("cosignature", "gate-3"), 0);
    make_rows(5);
    close_audit();
    ship_marks();
    assert_string_equal(look_as(1), "");
    assert_int_equal(last_of("checkpoint", NULL), up_figures(node.up)->shipped_seq);
    assert_int_equal(last_of("cosignature", "gate-2"), up_figures(node.up)->shipped_seq);
    assert_int_equal(pg_ask(owner, "SELECT c.note, s.line FROM callgate.cosignature AS s JOIN callgate.checkpoint AS c USING (node, size) "
                            "ORDER BY size DESC LIMIT 1", NULL, 0, &rows, &why), CODE_OK);
    assert_int_equal(note_read(pg_rows_bytes(rows, 0, 0), &note), CODE_OK);
    marks_name(SPAN_LIT(FLEET), SPAN_LIT("gate-2"), key.name);
    memcpy(key.public, fleet.public[1], SIGN_PUBLIC_BYTES);
    assert_int_equal(cosign_check(note.text, pg_rows_bytes(rows, 0, 1), &key, &time_s), NOTE_SIGNED);
    marks_name(SPAN_LIT(FLEET), SPAN_LIT("gate-1"), key.name);
    memcpy(key.public, fleet.public[0], SIGN_PUBLIC_BYTES);
    assert_int_equal(note_verify(&note, &key), NOTE_SIGNED); /* the node's own */
    assert_true(note_is_named(&note));                       /* and its log's */
    pg_rows_free(&rows);
    assert_int_equal(number("SELECT count(*) FROM callgate.trail_fork"), 0);
}

/* Who was not heard of for a minute is skipped, and whoever comes next goes on from what others cosigned. Alone there is none. */
TEST_CASE_WITH(test_silent, join, part)
{
    make_rows(5);
    ship_marks();
    assert_string_equal(look_as(1), "");
    beat(1, 3600);
    make_rows(5);
    ship_marks();
    assert_string_equal(look_as(1), "");
    assert_true(last_of("cosignature", "gate-2") < last_of("checkpoint", NULL));
    assert_string_equal(look_as(2), "");
    assert_int_equal(last_of("cosignature", "gate-3"), last_of("checkpoint", NULL));
    beat(1, 0);
    beat(2, 3600);
    make_rows(5);
    ship_marks();
    assert_string_equal(look_as(1), "");
    assert_int_equal(last_of("cosignature", "gate-2"), last_of("checkpoint", NULL));
    run(owner, "DELETE FROM callgate.node WHERE name <> 'gate-1'");
    assert_int_equal(number("SELECT (callgate.witness_of('gate-1') IS NULL)::int"), 1);
}

/* Rows changed at the centre, or a checkpoint of another past by the node's own key: it does not go on. Once told, it stays. */
TEST_CASE_WITH(test_forked, join, part)
{
    struct why why = {""};
    bool is_forked;

    make_rows(5);
    ship_marks();
    assert_string_equal(look_as(1), "");
    make_rows(5);
    ship_marks();
    run(owner, "UPDATE callgate.decision SET hash = sha256('x') WHERE node = 'gate-1' AND seq = (SELECT max(seq) FROM callgate.decision)");
    assert_non_null(strstr(look_as(1), "'gate-1' is forked: its checkpoint over"));
    assert_int_equal(number("SELECT count(*) FROM callgate.trail_fork WHERE node = 'gate-1' AND told_by = 'gate-2'"), 1);
    assert_int_equal(number("SELECT callgate.is_forked('gate-1')::int"), 1);
    assert_int_equal(witness_memory_is_forked(fleet.stores[1], SPAN_LIT("gate-1"), &is_forked, &why), CODE_OK);
    assert_true(is_forked);
    assert_int_equal(witness_memory_is_forked(fleet.stores[1], SPAN_LIT("gate-2"), &is_forked, &why), CODE_OK);
    assert_false(is_forked);
    assert_int_equal(pg_server_number(node.pg, "SELECT count(*) FROM callgate.fork_read()"), 1);
    assert_int_equal(pg_server_number(node.pg, "SELECT (callgate.approval_take('gate-3', 1) IS NULL)::int"), 1);
    assert_int_equal(pg_server_number(fleet.pgs[1], "SELECT (callgate.approval_take('gate-3', 1) = 'gate-2')::int"), 1);
    assert_int_equal(pg_server_number(node.pg, "SELECT (callgate.approval_take('gate-3', 1) = 'gate-2')::int"), 1);
    make_rows(2);
    ship_marks();
    assert_string_equal(look_as(1), "");
    assert_true(last_of("cosignature", NULL) < last_of("checkpoint", NULL));
}

/* Checkpoints that are not the node's, rows that went, and an end that was cut off: not cosigned, and said. */
TEST_CASE_WITH(test_not_believed, join, part)
{
    int64_t cosigned;

    make_rows(5);
    ship_marks();
    assert_string_equal(look_as(1), "");
    cosigned = last_of("cosignature", "gate-2");
    make_rows(5);
    ship_marks();
    run(owner, "BEGIN; SET LOCAL session_replication_role = replica; CREATE TABLE callgate.aside AS SELECT * FROM callgate.checkpoint; "
               "UPDATE callgate.checkpoint SET note = substring(note FROM 1 FOR position('\\xe28094'::bytea || convert_to(' callgate/" FLEET
               "', 'UTF8') IN note) - 1); COMMIT");
    assert_non_null(strstr(look_as(1), "is not signed by that node"));
    assert_int_equal(last_of("cosignature", "gate-2"), cosigned);
    run(owner, "BEGIN; SET LOCAL session_replication_role = replica; DELETE FROM callgate.checkpoint; INSERT INTO callgate.checkpoint "
               "SELECT * FROM callgate.aside; CREATE TABLE callgate.gone AS SELECT * FROM callgate.outcome; "
               "DELETE FROM callgate.outcome WHERE seq = (SELECT max(seq) - 8 FROM callgate.outcome); COMMIT");
    assert_non_null(strstr(look_as(1), "covers rows that are not there"));
    run(owner, "BEGIN; SET LOCAL session_replication_role = replica; DELETE FROM callgate.outcome; INSERT INTO callgate.outcome SELECT * "
               "FROM "
               "callgate.gone; DROP TABLE callgate.gone; COMMIT");
    assert_string_equal(look_as(1), "");
    assert_int_equal(last_of("cosignature", "gate-2"), last_of("checkpoint", NULL));
    run(owner, "BEGIN; SET LOCAL session_replication_role = replica; DELETE FROM callgate.checkpoint WHERE size > 5; DELETE FROM "
               "callgate.cosignature WHERE size > 5; COMMIT");
    assert_non_null(strstr(look_as(1), "the end was cut off there"));
    run(owner, "DROP TABLE callgate.aside");
    assert_int_equal(number("SELECT count(*) FROM callgate.trail_fork"), 0);
}

/* Nobody may do more than is his: not as another node's witness, not with another's name, no rows of another's. */
TEST_CASE_WITH(test_rights, join, part)
{
    static const char *const others[] = {
        "SELECT callgate.cosign('gate-3', 1, 'x')", "SELECT callgate.cosign('gate-2', 1, 'x')",
        "SELECT count(*) FROM callgate.witness_marks('gate-3', 0, 10)", "SELECT count(*) FROM callgate.witness_begin('gate-3')",
        "SELECT (callgate.witness_hashes('gate-3', 1, 2, '-infinity') IS NOT NULL)::int",
    };
    static const char *const refused[] = {
        "SELECT * FROM callgate.checkpoint", "INSERT INTO callgate.checkpoint (size, time_us, peaks, note) VALUES (1, 1, '', '')",
        "INSERT INTO callgate.cosignature (node, size, line) VALUES ('gate-1', 1, 'x')", "SELECT * FROM callgate.trail_fork",
        "INSERT INTO callgate.trail_fork (node, seq) VALUES ('gate-1', 1)", "SELECT callgate.proof_from('gate-1', 2)",
        "DELETE FROM callgate.cosignature", "SELECT callgate.is_forked('gate-1')",
    };
    struct why why = {""};

    make_rows(3);
    ship_marks();
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        assert_int_equal(pg_server_number(fleet.pgs[1], others[i]), 0);
    assert_int_equal(pg_server_number(fleet.pgs[1], "SELECT (callgate.witness_hashes('gate-1', 1, 2, '-infinity') IS NOT NULL)::int"), 1);
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
        assert_int_equal(pg_ask(fleet.pgs[1], refused[i], NULL, 0, NULL, &why), CODE_DENIED);
    pg_server_ask(fleet.pgs[1], "SELECT callgate.fork_found('gate-3', 1, 'x')"); /* whose witness it is not */
    assert_int_equal(number("SELECT count(*) FROM callgate.trail_fork"), 0);
    assert_int_equal(pg_ask(owner, "UPDATE callgate.checkpoint SET size = size", NULL, 0, NULL, &why), CODE_DENIED);
    assert_int_equal(pg_ask(owner, "DELETE FROM callgate.cosignature", NULL, 0, NULL, &why), CODE_DENIED);
}

/* Puts a checkpoint over a million rows more than the last one, signed by that key; NULL: by nobody else than the last. */
static void put_later(const struct sign_key *key)
{
    struct pg_rows *rows = NULL;
    struct why why = {""};
    struct buf text, made;
    struct note last;
    const char *size, *rest;

    assert_int_equal(pg_ask(owner, "SELECT size, note FROM callgate.checkpoint ORDER BY size DESC LIMIT 1", NULL, 0, &rows, &why), CODE_OK);
    buf_init(&text, NOTE_BYTES);
    buf_init(&made, NOTE_BYTES);
    assert_int_equal(note_read(pg_rows_bytes(rows, 0, 1), &last), CODE_OK);
    size = memchr(last.text.at, '\n', last.text.len);
    rest = memchr(size + 1, '\n', last.text.len);
    buf_addf(&text, "%.*s\n%lld%.*s", (int)(size - last.text.at), last.text.at, (long long)last.size + 1000000,
             (int)(last.text.at + last.text.len - rest), rest);
    if (key != NULL)
        assert_int_equal(note_sign(buf_peek(&text), span_text(fleet.marks.name), key, &made), CODE_OK);
    assert_int_equal(pg_ask(owner, "INSERT INTO callgate.checkpoint (node, size, time_us, peaks, note) SELECT node, size + 1000000, "
                            "time_us, peaks, coalesce($1, note) FROM callgate.checkpoint ORDER BY size DESC LIMIT 1",
                            PG_VALUES(pg_of_bytes(key != NULL ? buf_peek(&made) : SPAN_NONE)), NULL, &why), CODE_OK);
    buf_fini(&made);
    buf_fini(&text);
    pg_rows_free(&rows);
}

/* The centre has a checkpoint that this node did not make: of a trail that was set back, which it has signed itself; or of
 * somebody else's making, which makes no fork of it. */
TEST_CASE_WITH(test_set_back, join, part)
{
    struct why why = {""};
    bool more;

    make_rows(5);
    ship_marks();
    for (int i = 0; i < 2; i++) {
        put_later(i == 0 ? NULL : fleet.keys[1]);
        marks_anew(&fleet.marks);
        assert_int_equal(marks_turn(&fleet.marks, node.pg, up_figures(node.up)->shipped_seq, &more, &why), CODE_DENIED);
        assert_false(fleet.marks.is_forked);
        assert_non_null(strstr(why.text, "somebody put it there"));
        run(owner, "BEGIN; SET LOCAL session_replication_role = replica; DELETE FROM callgate.checkpoint WHERE size > 1000000; COMMIT");
    }
    make_rows(2);
    ship_marks();
    put_later(fleet.keys[0]);
    marks_anew(&fleet.marks);
    assert_int_equal(marks_turn(&fleet.marks, node.pg, up_figures(node.up)->shipped_seq, &more, &why), CODE_OK);
    assert_true(fleet.marks.is_forked);
    assert_int_equal(number("SELECT count(*) FROM callgate.trail_fork WHERE node = 'gate-1' AND told_by = 'gate-1'"), 1);
}

/* ---- clocks ---- */

/* Of the checkpoints that nobody has cosigned the last alone stays, as the node's clock had it. */
static void set_mark_time(int64_t time_us)
{
    static const char stays[] = "size = (SELECT max(size) FROM callgate.checkpoint)";
    struct pg_rows *rows = NULL;
    struct why why = {""};
    struct buf text, made;
    struct note note;
    char sql[512];

    buf_init(&text, NOTE_BYTES);
    buf_init(&made, NOTE_BYTES);
    (void)snprintf(sql, sizeof sql, "SELECT note FROM callgate.checkpoint WHERE %s", stays);
    assert_int_equal(pg_ask(owner, sql, NULL, 0, &rows, &why), CODE_OK);
    assert_int_equal(note_read(pg_rows_bytes(rows, 0, 0), &note), CODE_OK);
    note.time_us = time_us;
    assert_int_equal(note_write(&note, &text), CODE_OK);
    assert_int_equal(note_sign(buf_peek(&text), span_text(fleet.marks.name), fleet.keys[0], &made), CODE_OK);
    run(owner, "SET session_replication_role = replica");
    (void)snprintf(sql, sizeof sql, "DELETE FROM callgate.checkpoint WHERE size > %lld AND NOT %s",
                   (long long)last_of("cosignature", NULL), stays);
    run(owner, sql);
    (void)snprintf(sql, sizeof sql, "UPDATE callgate.checkpoint SET time_us = $2, note = $1 WHERE %s", stays);
    assert_int_equal(pg_ask(owner, sql, PG_VALUES(pg_of_bytes(buf_peek(&made)), pg_of_int(time_us)), NULL, &why), CODE_OK);
    run(owner, "SET session_replication_role = origin");
    pg_rows_free(&rows);
    buf_fini(&made);
    buf_fini(&text);
}

/* When the last checkpoint of gate-1 was cosigned, as gate-2's line says. */
static uint64_t time_of_cosignature(void)
{
    struct note_key key = {.name = ""};
    struct pg_rows *rows = NULL;
    struct why why = {""};
    struct note note;
    uint64_t time_s = 0;

    assert_int_equal(pg_ask(owner, "SELECT c.note, s.line FROM callgate.cosignature AS s JOIN callgate.checkpoint AS c USING (node, size) "
                            "ORDER BY size DESC LIMIT 1", NULL, 0, &rows, &why), CODE_OK);
    assert_int_equal(note_read(pg_rows_bytes(rows, 0, 0), &note), CODE_OK);
    marks_name(SPAN_LIT(FLEET), SPAN_LIT("gate-2"), key.name);
    memcpy(key.public, fleet.public[1], SIGN_PUBLIC_BYTES);
    assert_int_equal(cosign_check(note.text, pg_rows_bytes(rows, 0, 1), &key, &time_s), NOTE_SIGNED);
    pg_rows_free(&rows);
    return time_s;
}

/* Rows decide, and no clock: a checkpoint that goes on is cosigned whatever time it has, also one of before the last, and one
 * that does not is a fork. The witness's line has the witness's own time. Rows of the checkpoint's day and of the two before
 * are asked first, then all. */
TEST_CASE_WITH(test_clocks, join, part)
{
    static const int64_t day_us = INT64_C(1700000000000000) / DAY_US * DAY_US; /* the rows' */
    const int64_t times[] = {
        day_us, day_us + 3 * DAY_US - 1, day_us + 3 * DAY_US, day_us + 1000 * DAY_US, day_us - DAY_US, day_us - 1000 * DAY_US,
        0, -1, -719160 * DAY_US, -719161 * DAY_US, 2932898 * DAY_US, 2932899 * DAY_US, INT64_MAX, INT64_MIN,
    };
    const uint64_t own[] = {0, 1, (uint64_t)(day_us / 1000000), (uint64_t)INT64_MAX - 1, INT64_MAX};

    make_rows(3);
    ship_marks();
    assert_string_equal(look_as(1), "");
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
        uint64_t time_s = own[i % (sizeof own / sizeof own[0])];

        make_rows(3);
        ship_marks();
        set_mark_time(times[i]);
        assert_true(last_of("cosignature", "gate-2") < last_of("checkpoint", NULL));
        assert_string_equal(look_at_time(1, time_s), "");
        assert_int_equal(last_of("cosignature", "gate-2"), last_of("checkpoint", NULL));
        assert_int_equal(time_of_cosignature(), time_s);
    }
    make_rows(3);
    ship_marks();
    set_mark_time(day_us);
    assert_string_equal(look_at_time(1, UINT64_MAX), ""); /* a clock of before 1970: there is no line for that, */
    assert_true(last_of("cosignature", "gate-2") < last_of("checkpoint", NULL));
    make_rows(3);
    ship_marks();
    assert_string_equal(look_as(1), ""); /* and the next one is cosigned once it goes right */
    assert_int_equal(last_of("cosignature", "gate-2"), last_of("checkpoint", NULL));
    assert_int_equal(number("SELECT count(*) FROM callgate.trail_fork"), 0);
    make_rows(3);
    ship_marks();
    set_mark_time(INT64_MAX);
    run(owner, "UPDATE callgate.decision SET hash = sha256('x') WHERE node = 'gate-1' AND seq = (SELECT max(seq) FROM callgate.decision)");
    assert_non_null(strstr(look_at_time(1, 0), "'gate-1' is forked"));
}


int main(void)
{
    return pg_server_is_there() ? tests_run(begin, end) : 0;
}
