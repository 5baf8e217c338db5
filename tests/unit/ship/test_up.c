/* SPDX-License-Identifier: Apache-2.0 */
/* 14.3, P193, P195: the trail's rows at a real PostgreSQL: each once, in order, every byte of them; over rotations, a killed server, a
 * server that lacks what it had, two nodes of one name, rows that it refuses. */
#include "up_bench.h"

TEST(test_each_row_once)
{
    fill(3000);
    ship();
    fill(40);
    close_audit();
    ship();
    same_as_here();
    assert_true(number("SELECT count(*) FROM callgate.decision AS d JOIN callgate.outcome AS o ON o.node = d.node AND o.decision = d.seq "
                       "AND o.day = d.day") == 3040);
    assert_int_equal(up_figures(node.up)->hollow, 0);
}

static struct span any_bytes(char *bytes, size_t size)
{
    size_t len = (size_t)random() % size;

    for (size_t i = 0; i < len; i++)
        bytes[i] = (char)random();
    return span_of(bytes, len);
}

/* What came was never a text: every value of a byte, everywhere, long and short, at any time. */
TEST(test_any_byte)
{
    static char bytes[10][4000], all[256], large[200000];
    static const int64_t times[] = {INT64_MIN, -1, 0, INT64_MAX, 253402300799999999, -62135596800000001, 1700000000000000};
    struct audit_ring *ring = audit_ring(node.audit, 0);
    uint64_t ticket = 0, seq;

    for (size_t i = 0; i < sizeof all; i++)
        all[i] = (char)i;
    for (size_t i = 0; i < sizeof large; i++)
        large[i] = (char)random();
    for (int i = 0; i < 400; i++) {
        struct audit_decision decision = audit_call("acme", "c");
        struct span *fields[] = {&decision.tenant, &decision.principal, &decision.correlation, &decision.method, &decision.tool,
                                 &decision.rpc_id, &decision.protocol_version, &decision.rule, &decision.client, &decision.target};

        decision.expects_outcome = false;
        for (size_t field = 0; field < sizeof fields / sizeof fields[0]; field++)
            *fields[field] = i % 7 == 0 ? span_of(all, sizeof all) : any_bytes(bytes[field], i % 3 == 0 ? 40 : sizeof bytes[0]);
        decision.arguments = i % 5 == 0 ? span_of(large, sizeof large) : any_bytes(large, 3000);
        decision.time_us = times[(size_t)i % (sizeof times / sizeof times[0])];
        ticket = audit_file_put(ring, &decision);
    }
    assert_int_equal(audit_file_wait(ring, ticket, &seq), AUDIT_DURABLE);
    close_audit();
    ship();
    same_as_here();
    assert_int_equal(up_figures(node.up)->hollow, 0);
    assert_int_equal(number("SELECT count(*) FROM callgate.decision WHERE callgate.text_of(tool) IS NULL"), 0);
}

static void archive(void)
{
    struct audit_done done = {.code = CODE_OK};

    assert_int_equal(audit_archive(node.audit, SPAN_LIT("tester")), CODE_OK);
    while (!audit_job_over(node.audit, &done))
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    assert_int_equal(done.code, CODE_OK);
}

/* Over rotations, also where the outcome comes into a later file than its decision; by couriers that end at any time. */
TEST(test_rotations)
{
    const struct audit_decision call = audit_call("acme", "long");
    struct audit_ring *ring = audit_ring(node.audit, 0);
    struct audit_result answer;
    uint64_t seq = 0, ticket;
    bool more;

    ticket = audit_file_put(ring, &call);
    assert_int_equal(audit_file_wait(ring, ticket, &seq), AUDIT_DURABLE);
    for (int i = 0; i < 6; i++) {
        fill(200);
        archive();
        assert_int_equal(turn(&more), CODE_OK);
        up_free(&node.up); /* as one that was killed: it has no memory */
        open_up();
    }
    answer = audit_answer(seq);
    answer.time_us = call.time_us + 3 * DAY_US;
    audit_put_result(ring, &answer);
    fill(10);
    close_audit();
    ship();
    same_as_here();
    assert_int_equal(number("SELECT count(*) FROM callgate.outcome AS o JOIN callgate.decision AS d ON o.node = d.node AND o.decision = "
                            "d.seq WHERE o.day <> d.day"), 0);
}

/* What a promoted standby that was behind has: the rows and the cursor of some seconds ago. */
static void go_back(int64_t to)
{
    char sql[2048];

    (void)snprintf(sql, sizeof sql, "DELETE FROM callgate.decision WHERE seq > %lld; DELETE FROM callgate.outcome WHERE seq > %lld; "
                   "DELETE FROM callgate.event WHERE seq > %lld; UPDATE callgate.trail_cursor SET seq = %lld, hash = "
                   "(SELECT hash FROM callgate.decision WHERE seq = %lld UNION ALL SELECT hash FROM callgate.outcome WHERE seq = "
                   "%lld UNION ALL SELECT hash FROM callgate.event WHERE seq = %lld)", (long long)to, (long long)to, (long long)to,
                   (long long)to, (long long)to, (long long)to, (long long)to);
    run(owner, sql);
}

TEST(test_a_server_that_lacks_the_last)
{
    bool more;

    fill(900);
    ship();
    go_back(1000);
    fill(10); /* the courier still believes that the centre has all: it does not move the cursor, and asks */
    assert_int_equal(turn(&more), CODE_OK);
    ship();
    assert_false(up_figures(node.up)->is_forked);
    go_back(17);
    up_anew(node.up);
    close_audit();
    ship();
    same_as_here();
    assert_int_equal(number("SELECT count(*) FROM callgate.trail_fork"), 0);
}

/* The server is killed in the middle of it; nobody knows which commits were. */
TEST(test_a_killed_server)
{
    bool more = true;

    fill(4000);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(turn(&more), CODE_OK);
        pg_server_tell("kill");
        assert_int_not_equal(turn(&more), CODE_OK);
        assert_true(pg_is_lost(node.pg));
        pg_server_tell("start");
        pg_close(&node.pg);
        pg_close(&owner);
        owner = connect_as(NULL);
        node.pg = connect_as("gate-1");
        up_anew(node.up);
    }
    close_audit();
    ship();
    same_as_here();
}

/* A commit whose answer did not come, and was made all the same: the next courier finds the cursor moved. */
TEST(test_two_couriers)
{
    struct up *other = NULL;
    struct why why = {0};
    bool more = true;

    fill(2000);
    assert_int_equal(up_new(node.file.path, false, 0, &other, &why), CODE_OK);
    for (int i = 0; i < 60; i++) { /* by turns: each finds the cursor where it did not leave it */
        assert_int_equal(turn(&more), CODE_OK);
        assert_int_equal(up_turn(other, node.pg, &more, &why), CODE_OK);
    }
    assert_false(up_figures(other)->is_forked);
    up_free(&other);
    close_audit();
    ship();
    same_as_here();
}

TEST(test_a_fork)
{
    struct audit_file file;
    struct audit *audit;
    struct up *other = NULL;
    struct why why = {0};
    bool more = true;

    fill(100);
    ship();
    audit_file_init(&file);
    audit = audit_file_open(&file, 1);
    (void)audit_file_call(audit_ring(audit, 0), "acme", "c");
    audit_close(&audit);
    assert_int_equal(up_new(file.path, false, 0, &other, &why), CODE_OK);
    for (int i = 0; i < 10 && more; i++)
        assert_int_equal(up_turn(other, node.pg, &more, &why), CODE_OK);
    assert_true(up_figures(other)->is_forked);
    assert_int_equal(up_figures(other)->rows, 0);
    assert_int_equal(number("SELECT count(*) FROM callgate.trail_fork WHERE node = 'gate-1'"), 1);
    up_free(&other);
    audit_file_fini(&file);
    close_audit();
    ship(); /* the first goes on */
    same_as_here();
}

/* A row that the server refuses, for whatever: the others come, and its hash comes. */
TEST(test_a_row_that_is_refused)
{
    struct audit_decision bad = audit_call("acme", "bad");

    run(owner, "CREATE FUNCTION callgate.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF NEW.correlation = 'bad' THEN RAISE "
               "SQLSTATE '22000'; END IF; RETURN NEW; END $$; CREATE TRIGGER refuse BEFORE INSERT ON callgate.decision FOR EACH ROW "
               "EXECUTE FUNCTION callgate.refuse()");
    fill(300);
    bad.expects_outcome = false;
    (void)audit_file_put(audit_ring(node.audit, 0), &bad);
    fill(300);
    close_audit();
    ship();
    run(owner, "DROP TRIGGER refuse ON callgate.decision; DROP FUNCTION callgate.refuse()");
    assert_int_equal(up_figures(node.up)->hollow, 1);
    assert_int_equal(number("SELECT count(*) FROM callgate.decision"), 601);
    assert_int_equal(number("SELECT count(*) FROM callgate.decision WHERE tool IS NULL AND hash IS NOT NULL"), 1);
}

TEST(test_arguments_at_home)
{
    struct why why = {0};

    up_free(&node.up);
    assert_int_equal(up_new(node.file.path, true, 0, &node.up, &why), CODE_OK);
    fill(20);
    ship();
    assert_int_equal(number("SELECT count(*) FROM callgate.decision"), 20);
    assert_int_equal(number("SELECT count(*) FROM callgate.decision WHERE arguments IS NULL AND salt IS NULL AND "
                            "arguments_digest IS NOT NULL"), 20);
}

int main(void)
{
    srandom(11);
    return pg_server_is_there() ? tests_run(begin, end) : 0;
}
