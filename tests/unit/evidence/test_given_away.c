/* SPDX-License-Identifier: Apache-2.0 */
/* 14.6: rows that a node gave away before they came to the centre are missing there for a reason that its trail proves, and those are told
 * from rows that somebody took out. Real PostgreSQL. */
#include "centre_rig.h"

/* In place of a row that is missing, one that says that so many rows were given away. */
static void forge(size_t node, long long seq, long long last)
{
    char sql[512];

    (void)snprintf(sql, sizeof sql, "INSERT INTO callgate.event(node, day, seq, time_us, kind, actor, detail, hash) VALUES ('%s', "
                   "'2023-11-14', %lld, 1700000000000001, 'retired', 'alice', "
                   "convert_to('{\"row\":1,\"first\":1,\"last\":%lld,\"shipped\":null}', 'UTF8'), decode(repeat('ab', 32), 'hex'))",
                   names[node], seq, last);
    pg_server_ask(rig.pg, sql);
}

/* Without rows of these numbers, and all that is said of them. Takes: forged: so many rows an event says to be gone that stands in the
 * place of the first one, where nobody has the node's files; 0: there is none. Returns: what is told of it. */
static struct verify_centre_report without_but(size_t node, long long first, long long last, long long forged)
{
    static const char *const tables[] = {"decision", "outcome", "event"};
    struct verify_centre_report at_centre;
    char sql[256];

    pg_server_ask(rig.pg, "BEGIN");
    pg_server_ask(rig.pg, "SET LOCAL session_replication_role = replica");
    for (size_t i = 0; i < 3; i++) {
        (void)snprintf(sql, sizeof sql, "DELETE FROM callgate.%s WHERE node = '%s' AND seq BETWEEN %lld AND %lld", tables[i], names[node],
                       first, last);
        pg_server_ask(rig.pg, sql);
    }
    (void)snprintf(sql, sizeof sql, "DELETE FROM callgate.cosignature WHERE node = '%s' AND size >= %lld AND size < %lld", names[node],
                   first, last);
    pg_server_ask(rig.pg, sql);
    (void)snprintf(sql, sizeof sql, "DELETE FROM callgate.checkpoint WHERE node = '%s' AND size >= %lld AND size < %lld", names[node],
                   first, last);
    pg_server_ask(rig.pg, sql);
    if (first == 1)
        (void)snprintf(sql, sizeof sql, "DELETE FROM callgate.file WHERE node = '%s' AND seq = 0", names[node]);
    pg_server_ask(rig.pg, sql);
    if (forged > 0)
        forge(node, first, forged);
    at_centre = verify_node(node, forged == 0);
    pg_server_ask(rig.pg, "ROLLBACK");
    return at_centre;
}

static struct verify_centre_report without(size_t node, long long first, long long last)
{
    return without_but(node, first, last, 0);
}

/* Rows that were given away before they came are no fault, as far as the node's trail says so, and no others. */
TEST_CASE(test_given_away)
{
    struct verify_centre_report at_centre;
    long long end = rig.trails[1].files[1].before_seq;
    const long long others[][2] = {{SHIPPED, end}, /* the centre had the first of these, as the event says */
                                   {SHIPPED + 1, end + 1}, {SHIPPED + 1, end - 1}, {1, end}};

    at_centre = without(1, SHIPPED + 1, end);
    expect_none();
    assert_true(said.files == 2 && at_centre.given_away == end - SHIPPED);
    assert_true((int64_t)said.rows == at_centre.last_seq - end + SHIPPED);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        (void)without(1, others[i][0], others[i][1]);
        if (said.faults == 0)
            fail_msg("not found: rows %lld to %lld", others[i][0], others[i][1]);
    }
    end = rig.trails[2].files[1].before_seq;
    at_centre = without(2, 1, end);
    expect_none();
    assert_true(said.files == 1 && said.is_proven && at_centre.given_away == end);
    (void)without(2, 1, end + 1);
    assert_true(said.faults > 0);
    (void)without(0, 1, rig.trails[0].files[1].before_seq); /* where no event says so */
    assert_true(said.faults > 0);
}

/* An event that stands among what it says to be gone is not proven by the rows that are left. */
TEST_CASE(test_told_by_nobody)
{
    long long end = rig.trails[0].files[1].before_seq;

    (void)without_but(0, 1, end, end);
    assert_true(said.faults > 0);
    (void)without_but(0, 1, end, INT64_MAX);
    assert_true(said.faults > 0);
    (void)without_but(2, 1, rig.trails[2].files[1].before_seq, 4); /* where what it says of the rest is true */
    assert_true(said.faults > 0);
}

int main(void)
{
    if (!pg_server_is_there())
        return 0;
    return tests_run(make, drop);
}
