/* SPDX-License-Identifier: Apache-2.0 */
/* 14.6: a node's trail is proven from the centre alone, and whatever somebody with all rights there changes, takes out, puts in, moves
 * or cuts off is found. Real PostgreSQL; rows are put there as a node does. */
#include "centre_rig.h"

TEST_CASE(test_whole)
{
    pg_server_ask(rig.pg, "BEGIN");
    for (size_t node = 0; node < TRAILS; node++) {
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
TEST_CASE(test_changed)
{
    static const char *const tables[] = {"decision", "outcome", "event", "file"};
    struct pg_rows *rows;
    struct why why = {""};
    size_t tried = 0;

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

TEST_CASE(test_taken_and_put)
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

    for (size_t i = 0; i < sizeof attacks / sizeof attacks[0]; i++)
        expect_found(attacks[i]);
    test_whole(state);
}

/* A row changed, and its hash, and all hashes behind it: the chain is whole, and no checkpoint is. That the centre and the node's files
 * say the same is found only with the files. */
TEST_CASE(test_against)
{
    pg_server_ask(rig.pg, "BEGIN");
    pg_server_ask(rig.pg, "UPDATE callgate.event SET hash = sha256('x') WHERE node = 'gate-a' AND seq = 1");
    (void)verify_node(0, true);
    assert_true(said.faults > 1);
    pg_server_ask(rig.pg, "ROLLBACK");
}

/* Days that are over go whole, and what is left is proven from the last checkpoint before it. */
TEST_CASE(test_dropped)
{
    struct verify_centre_report at_centre;

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
TEST_CASE(test_on_their_way)
{
    struct pg_rows *rows;
    struct why why = {""};
    size_t tried = 0;

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
    if (!pg_server_is_there())
        return 0;
    return tests_run(make, drop);
}
