/* SPDX-License-Identifier: Apache-2.0 */
/* 14.3, 14.5, P194, P195: the trail's rows at a real PostgreSQL, later: erased, given indices, dropped with their proof; and what a node's
 * role may not do with them. */
#include "up_bench.h"

static enum code try(struct pg *pg, const char *sql)
{
    struct why why = {0};

    return pg_run(pg, sql, &why);
}

static int64_t erased_at(const char *tenant)
{
    const struct audit_erasure erasure = {span_text(tenant), SPAN_LIT("anna"), SPAN_LIT("asked"), clock_wall_us(), 7};
    struct audit_done done = {.code = CODE_OK};

    assert_int_equal(audit_erase(node.audit, &erasure), CODE_OK);
    while (!audit_job_over(node.audit, &done))
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    assert_int_equal(done.code, CODE_OK);
    return audit_file_number(&node.file, "SELECT seq FROM event WHERE kind = 'erased' ORDER BY seq DESC LIMIT 1");
}

/* What a node's trail erases is emptied at the centre, of that node and that tenant alone. */
TEST(test_an_erasure)
{
    int64_t event;

    fill(5000);
    ship();
    run(owner, "INSERT INTO callgate.decision (node, day, seq, time_us, tenant, arguments, salt) VALUES ('gate-2', '2023-11-14', 1, "
               "1700000000000000, 'acme', 'x', 'y')");
    assert_int_equal(number("SELECT count(*) FROM callgate.decision WHERE arguments IS NOT NULL"), 5001);
    event = erased_at("acme");
    ship();
    assert_int_equal(number("SELECT max(seq) FROM callgate.erasure WHERE done IS NOT NULL"), event);
    assert_int_equal(number("SELECT count(*) FROM callgate.decision WHERE arguments IS NOT NULL AND tenant = 'acme' AND "
                            "node = 'gate-1'"), 0);
    assert_int_equal(number("SELECT count(*) FROM callgate.decision WHERE arguments IS NOT NULL AND tenant = 'globex'"), 2500);
    assert_int_equal(number("SELECT count(*) FROM callgate.decision WHERE arguments IS NOT NULL AND node = 'gate-2'"), 1);
    assert_int_equal(number("SELECT emptied FROM callgate.erasure WHERE done IS NOT NULL"), 2500);
    run(owner, "DELETE FROM callgate.decision WHERE node = 'gate-2'");
    close_audit();
    ship();
    same_as_here();
}

/* Days: opened for their rows, given indices when they are over, dropped with the chain's proof. */
TEST(test_days)
{
    int64_t midnight_us = clock_wall_us() / DAY_US * DAY_US;
    struct audit_ring *ring = audit_ring(node.audit, 0);
    struct audit_decision call = audit_call("acme", "c");
    struct why why = {0};
    uint64_t ticket = 0, seq;
    bool more = true;

    call.expects_outcome = false;
    for (int i = 0; i < 90; i++) { /* six to four days ago, and one row of the first day behind the second's first */
        call.time_us = midnight_us - (6 - i / 30 + (i == 40)) * DAY_US;
        ticket = audit_file_put(ring, &call);
    }
    assert_int_equal(audit_file_wait(ring, ticket, &seq), AUDIT_DURABLE);
    ship();
    assert_int_equal(number("SELECT count(*) FROM callgate.decision_other"), 0);
    while (more)
        assert_int_equal(up_centre_tend(node.pg, &more, &why), CODE_OK);
    assert_int_equal(number("SELECT count(*) FROM callgate.trail_day WHERE closed IS NOT NULL AND day >= current_date - 6"), 3);
    assert_int_equal(number("SELECT count(*) FROM callgate.decision"), 90);
    run(owner, "UPDATE callgate.event SET day = current_date - 6 WHERE seq = 1"); /* as if the gate had started then */
    run(owner, "UPDATE callgate.trail_keep SET keep_days = 5, known = (now() AT TIME ZONE 'UTC')::date");
    for (more = true; more;)
        assert_int_equal(up_centre_tend(node.pg, &more, &why), CODE_OK);
    assert_int_equal(number("SELECT count(*) FROM callgate.decision"), 59);
    assert_int_equal(number("SELECT count(*) FROM callgate.day_proof WHERE count = 32 AND octet_length(first_hash) = 32 AND "
                            "octet_length(last_hash) = 32"), 1);
    /* the tree goes on from the last checkpoint before what is left: there is none, so that all hashes stay */
    assert_int_equal(number("SELECT count(*) FROM callgate.day_link WHERE octet_length(hash) = 32"), 32);
    assert_int_equal(number("SELECT count(*) FROM callgate.day_link WHERE seq > (SELECT min(seq) FROM callgate.decision)"), 1);
    /* a clock that is years ahead drops a day an hour at most: the known day goes on by one */
    run(owner, "UPDATE callgate.trail_keep SET known = known - 40, looked = now() - interval '2 hours'");
    for (more = true; more;)
        assert_int_equal(up_centre_tend(node.pg, &more, &why), CODE_OK);
    assert_int_equal(number("SELECT (now() AT TIME ZONE 'UTC')::date - known FROM callgate.trail_keep"), 39);
    run(owner, "UPDATE callgate.trail_keep SET keep_days = NULL, known = (now() AT TIME ZONE 'UTC')::date");
}

/* A day that is over has indices, and a late row with a text that is too long for them comes all the same. */
TEST(test_a_late_row)
{
    static char noise[4000];
    struct audit_decision call = audit_call("acme", "c");
    struct why why = {0};
    bool more = true;

    call.expects_outcome = false;
    call.time_us = clock_wall_us() - 20 * DAY_US;
    (void)audit_file_put(audit_ring(node.audit, 0), &call);
    (void)audit_file_call(audit_ring(node.audit, 0), "acme", "d");
    ship();
    while (more)
        assert_int_equal(up_centre_tend(node.pg, &more, &why), CODE_OK);
    for (size_t i = 0; i < sizeof noise; i++)
        noise[i] = (char)('a' + random() % 26);
    call.tool = span_of(noise, sizeof noise);
    (void)audit_file_put(audit_ring(node.audit, 0), &call);
    close_audit();
    ship();
    same_as_here();
    assert_int_equal(up_figures(node.up)->hollow, 0);
    for (more = true; more;)
        assert_int_equal(up_centre_tend(node.pg, &more, &why), CODE_OK);
    assert_int_equal(number("SELECT count(*) FROM callgate.trail_day WHERE closed IS NULL AND day < current_date - 1"), 0);
}

/* P193: a node reads no row, writes in no other name, moves nobody else's cursor, changes and deletes nothing. */
TEST(test_what_a_node_may_not)
{
    static const char *const refused[] = {
        "SELECT * FROM callgate.decision", "SELECT count(*) FROM callgate.outcome", "SELECT seq FROM callgate.event",
        "SELECT * FROM callgate.file", "SELECT * FROM callgate.trail_cursor", "SELECT * FROM callgate.erasure",
        "INSERT INTO callgate.event (node, day, seq) VALUES ('gate-2', current_date, 1)",
        "COPY callgate.event (node, day, seq) FROM STDIN", "COPY callgate.event TO STDOUT",
        "INSERT INTO callgate.event (day, seq) VALUES (current_date, 1) RETURNING node",
        "UPDATE callgate.event SET kind = 'x'", "DELETE FROM callgate.decision", "TRUNCATE callgate.outcome",
        "DROP TABLE callgate.event", "UPDATE callgate.trail_cursor SET seq = 0", "INSERT INTO callgate.trail_cursor VALUES ('gate-2', 9)",
        "UPDATE callgate.trail_keep SET keep_days = 1", "INSERT INTO callgate.erasure VALUES ('gate-2', 1, 'acme', 9)",
        "SELECT callgate.day_drop(current_date)", "SELECT callgate.day_make(current_date + 9)", "SELECT callgate.day_index(current_date)",
        "SELECT callgate.erase_some(NULL, 'other', 1)", "SELECT callgate.row_hash_of('gate-1', current_date, 1)",
        "SET ROLE \"gate-1\"", "SET SESSION AUTHORIZATION \"gate-1\"", "CREATE TABLE callgate.x (a int)",
        "CREATE FUNCTION callgate.x() RETURNS int LANGUAGE sql AS 'SELECT 1'",
        "ALTER TABLE callgate.event DISABLE TRIGGER ALL", "LOCK TABLE callgate.event IN ACCESS EXCLUSIVE MODE",
    };
    struct pg *other = connect_as("gate-2");
    int64_t before;

    fill(50);
    (void)audit_file_call(audit_ring(node.audit, 0), "acme", "c-3"); /* what was put before it is on disk with it */
    ship();
    before = number("SELECT count(*) FROM callgate.decision WHERE arguments IS NOT NULL");
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
        if (try(other, refused[i]) == CODE_OK)
            fail_msg("a node may: %s", refused[i]);
    run(other, "SELECT callgate.cursor_move(0, NULL, 77, 'x')");           /* moves its own */
    run(other, "INSERT INTO callgate.event (day, seq, kind, tenant, detail) VALUES (current_date, 90, 'erased', 'acme', "
               "'{\"before_us\":2000000000000000,\"x\":1}')");
    run(other, "SELECT callgate.erase_note(current_date, 90); SELECT callgate.erase_step(); SELECT callgate.erase_step()");
    assert_int_equal(number("SELECT count(*) FROM callgate.decision WHERE arguments IS NOT NULL"), before); /* erases its own */
    assert_true(number("SELECT seq FROM callgate.trail_cursor WHERE node = 'gate-1'") > 77);
    assert_int_equal(number("SELECT count(*) FROM callgate.event WHERE node = 'gate-2'"), 1);
    pg_close(&other);
}

int main(void)
{
    srandom(11);
    return pg_server_is_there() ? tests_run(begin, end) : 0;
}
