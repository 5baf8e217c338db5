/* SPDX-License-Identifier: Apache-2.0 */
/* 6.1, 6.3: the indices of a sealed file: each kind of question goes by one, with nothing but SQLite; they are made again after any
 * kill; a file may lack them, and what they hold is compared with the rows. */
#include "rows/indices.h"
#include "rows/schema.h"
#include "query/query.h"
#include "evidence/verify.h"
#include "fakes/audit_file.h"
#include "fakes/cm.h"

#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CALLS 5000
#define BEGIN_US INT64_C(1700000000000000)

static struct audit_file file;

static int setup(void **state)
{
    struct audit_decision decision = {.reason = REASON_NO_RULE, .rule = SPAN_LIT("shop.rule")};
    struct audit *audit;
    char tenant[16], correlation[24], tool[16];
    uint64_t ticket = 0, seq;

    (void)state;
    audit_file_init(&file);
    audit = audit_file_open(&file, 1);
    for (int i = 0; i < CALLS; i++) {
        (void)snprintf(tenant, sizeof tenant, "t%d", i % 7);
        (void)snprintf(correlation, sizeof correlation, "c-%d", i / 3);
        (void)snprintf(tool, sizeof tool, "tool%d", i % 5);
        decision.tenant = decision.principal = span_text(tenant);
        decision.correlation = span_text(correlation);
        decision.tool = span_text(tool);
        decision.time_us = BEGIN_US + i;
        ticket = audit_file_put(audit_ring(audit, 0), &decision);
    }
    assert_int_equal(audit_file_wait(audit_ring(audit, 0), ticket, &seq), AUDIT_DURABLE);
    audit_close(&audit);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    audit_file_fini(&file);
    return 0;
}

static void build(void)
{
    struct why why = {""};

    if (indices_build(file.path, NULL, &why) != CODE_OK)
        fail_msg("%s", why.text);
}

static void change(const char *sql)
{
    struct why why = {""};
    struct db *db;

    assert_int_equal(db_open(file.path, DB_WRITE, &db, &why), CODE_OK);
    if (db_exec(db, sql) != CODE_OK)
        fail_msg("%s: %s", sql, db_error(db));
    db_close(&db);
}

static uint64_t faults(void)
{
    struct verify_report report;
    struct why why = {""};

    if (audit_verify(&(struct verify_conf){.path = file.path}, &report, &why) != CODE_OK)
        fail_msg("%s", why.text);
    return report.fault_count;
}

static long long indices(void)
{
    return audit_file_number(&file, "SELECT count(*) FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL");
}

/* ---- what they are for -------------------------------------------------------------------------------------------- */

static void plan_of(struct db *db, const char *sql, char out[4096])
{
    struct db_stmt *stmt;
    char text[1024];
    size_t len = 0;

    (void)snprintf(text, sizeof text, "EXPLAIN QUERY PLAN %s", sql);
    if (db_prepare(db, text, &stmt) != CODE_OK)
        fail_msg("%s: %s", sql, db_error(db));
    out[0] = '\0';
    while (db_step(stmt) == CODE_OK)
        len += (size_t)snprintf(out + len, 4096 - len, "%.*s; ", SPAN_ARG(db_text(stmt, 3)));
    db_finalize(&stmt);
}

/* The view `call` asks once which event is the last one, backwards by its number: that is one row, though the plan says SCAN. */
static bool looks_through_a_table(const char *plan)
{
    const char *scan = strstr(plan, "SCAN ");

    return scan != NULL && (strncmp(scan, "SCAN event; ", strlen("SCAN event; ")) != 0 || strstr(scan + 1, "SCAN ") != NULL);
}

TEST_CASE(test_plain_sql_goes_by_an_index)
{
    static const struct { const char *sql, *index; } questions[] = {
        {"SELECT * FROM call WHERE correlation = ?", "decision_correlation (correlation=?)"},
        {"SELECT * FROM call WHERE correlation IN (?, ?, ?)", "decision_correlation (correlation=?)"},
        {"SELECT * FROM call WHERE correlation IN (SELECT correlation FROM decision WHERE seq = 7)",
         "decision_correlation (correlation=?)"},
        {"SELECT b.* FROM call AS a JOIN call AS b ON b.correlation = a.correlation WHERE a.seq = ?",
         "decision_correlation (correlation=?)"},
        {"SELECT * FROM call WHERE tenant = ? AND time_us >= ? AND time_us < ?", "decision_tenant (tenant=? AND time_us>? AND time_us<?)"},
        {"SELECT * FROM call WHERE tenant = ? AND correlation = ?", "decision_correlation (correlation=?)"},
        {"SELECT * FROM call WHERE tool = ? AND verdict = 'deny'", "decision_tool (tool=? AND verdict=?)"},
        {"SELECT * FROM call WHERE tool = ? AND verdict = ? AND time_us > ?", "decision_tool (tool=? AND verdict=? AND time_us>?)"},
        {"SELECT * FROM call WHERE principal = ? AND time_us > ?", "decision_principal (principal=? AND time_us>?)"},
        {"SELECT * FROM call WHERE rule = ? AND time_us BETWEEN ? AND ?", "decision_rule (rule=? AND time_us>? AND time_us<?)"},
        {"SELECT * FROM denial WHERE time_us >= ? AND time_us < ?", "decision_time (time_us>? AND time_us<?)"},
    };
    char plan[4096];
    struct why why = {""};
    struct db *db;

    build();
    assert_int_equal(db_open(file.path, DB_READ, &db, &why), CODE_OK);
    for (size_t i = 0; i < sizeof questions / sizeof questions[0]; i++) {
        plan_of(db, questions[i].sql, plan);
        if (strstr(plan, questions[i].index) == NULL || looks_through_a_table(plan))
            fail_msg("%s: %s", questions[i].sql, plan);
    }
    plan_of(db, "SELECT * FROM tool_use", plan); /* whoever reads all goes through the table in its order */
    assert_null(strstr(plan, "decision_t"));
    plan_of(db, "SELECT * FROM tenant_day", plan);
    assert_null(strstr(plan, "decision_t"));
    db_close(&db);
}

/* ---- how they are made -------------------------------------------------------------------------------------------- */

TEST_CASE(test_stopped_and_gone_on_with)
{
    atomic_bool stop = true;
    struct why why = {""};

    change("DROP TABLE sqlite_stat1; DROP INDEX decision_rule; DROP INDEX decision_tool");
    assert_int_equal(faults(), 0); /* a file may lack some */
    assert_int_equal(indices_build(file.path, &stop, &why), CODE_BUSY);
    assert_int_equal(faults(), 0);
    build();
    assert_int_equal(indices(), 7);
    assert_int_equal(faults(), 0);
}

TEST_CASE(test_killed_and_made_again)
{
    for (int round = 0; round < 12; round++) {
        pid_t child;

        change("DROP TABLE IF EXISTS sqlite_stat1; DROP INDEX IF EXISTS decision_correlation; DROP INDEX IF EXISTS decision_time;"
               "DROP INDEX IF EXISTS decision_tenant; DROP INDEX IF EXISTS decision_tool; DROP INDEX IF EXISTS decision_principal");
        child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            struct why why = {""};

            _exit(indices_build(file.path, NULL, &why) == CODE_OK ? 0 : 1);
        }
        (void)nanosleep(&(struct timespec){.tv_nsec = round * 1250000}, NULL);
        (void)kill(child, SIGKILL);
        assert_int_equal(waitpid(child, NULL, 0), child);
        assert_int_equal(faults(), 0);
        build();
        assert_int_equal(indices(), 7);
        assert_int_equal(audit_file_number(&file, "SELECT count(*) FROM sqlite_stat1 WHERE idx = 'decision_time'"), 1);
        assert_int_equal(faults(), 0);
    }
}

/* Whoever reads meanwhile sees the file as it was. */
TEST_CASE(test_beside_a_reader)
{
    struct why why = {""};
    struct db *db;
    int64_t count = 0;

    change("DROP INDEX decision_time");
    assert_int_equal(db_open(file.path, DB_READ, &db, &why), CODE_OK);
    assert_int_equal(db_exec(db, "BEGIN; SELECT count(*) FROM decision"), CODE_OK);
    build();
    assert_int_equal(db_number(db, "SELECT count(*) FROM decision WHERE time_us >= 0", NULL, 0, &count), CODE_OK);
    assert_int_equal(count, CALLS);
    db_close(&db);
    assert_int_equal(indices(), 7);
}

/* ---- what is compared --------------------------------------------------------------------------------------------- */

/* One that says what it should and hides rows all the same: tests/integration/76-tampering. */
TEST_CASE(test_another_index_is_found)
{
    change("DROP INDEX decision_tenant; CREATE INDEX decision_tenant ON decision(tenant, time_us, seq)");
    assert_true(faults() > 0);
    change("DROP INDEX decision_tenant");
    assert_int_equal(faults(), 0);
    change("CREATE INDEX own ON decision(tenant)");
    assert_true(faults() > 0);
    change("DROP INDEX own");
    build();
}

/* 11.12: an index that says what it should, beside the rows: it lacks some, has others, or is in another order. */
TEST_CASE(test_an_index_that_lies)
{
    static const char own[] = "CREATE INDEX decision_tool ON decision(tool, verdict, time_us)";
    static const struct { const char *on; bool lies; } made[] = {
        {"(tool, verdict, time_us)", false},
        {"(tool, verdict, time_us) WHERE seq <> 77", true},
        {"(tool, verdict, time_us) WHERE tool <> 'tool1'", true},
        {"(iif(seq = 77, 'another', tool), verdict, time_us)", true},
        {"(tool, verdict, iif(seq = 77, time_us + 1, time_us))", true},
        {"(tool, verdict, iif(seq = 77, cast(time_us AS TEXT), time_us))", true},
        {"(principal, verdict, time_us)", true},
        {"(tool DESC, verdict, time_us)", true}, /* every row is there, and none is found */
        {"(tool, verdict, time_us DESC)", true},
    };

    build();
    for (size_t i = 0; i < sizeof made / sizeof made[0]; i++) {
        char sql[512];
        sqlite3 *raw;

        (void)snprintf(sql, sizeof sql, "DROP INDEX decision_tool; CREATE INDEX decision_tool ON decision%s; PRAGMA writable_schema = "
                       "ON; UPDATE sqlite_schema SET sql = '%s' WHERE name = 'decision_tool'", made[i].on, own);
        assert_int_equal(sqlite3_open(file.path, &raw), SQLITE_OK);
        assert_int_equal(sqlite3_exec(raw, sql, NULL, NULL, NULL), SQLITE_OK);
        assert_int_equal(sqlite3_close(raw), SQLITE_OK);
        if ((faults() > 0) != made[i].lies)
            fail_msg("%s", made[i].on);
    }
    change("DROP INDEX decision_tool; DROP TABLE sqlite_stat1");
    build();
    assert_int_equal(faults(), 0);
}

#define SECOND "INSERT INTO outcome (seq, time_us, decision, outcome, reason, server_requests, server_notifications, " \
               "server_denied, hash) VALUES "

/* Two outcomes of one decision cannot be written. */
TEST_CASE(test_a_second_outcome)
{
    struct why why = {""};
    struct db *db;

    assert_int_equal(db_open(file.path, DB_WRITE, &db, &why), CODE_OK);
    assert_int_equal(db_exec(db, "BEGIN; " SECOND "(900001, 1, 9, 'ok', 'ok', 0, 0, 0, x'00')"), CODE_OK);
    assert_int_equal(db_exec(db, SECOND "(900002, 1, 9, 'ok', 'ok', 0, 0, 0, x'00')"), CODE_EXISTS);
    db_rollback(db);
    db_close(&db);
}

/* ---- the query ----------------------------------------------------------------------------------------------------- */

static enum code count_row(void *context, const struct query_row *row)
{
    (void)row;
    ++*(unsigned *)context;
    return CODE_OK;
}

/* A sealed file says by its index of times which these are. What lies outside a query's window is not opened again. */
TEST_CASE(test_files_outside_the_window_are_not_opened)
{
    struct query query = {.since_us = BEGIN_US + 100, .until_us = BEGIN_US + 200, .tool = SPAN_LIT("tool1")};
    struct trail trail;
    struct why why = {""};
    unsigned rows = 0;
    bool more;

    build();
    assert_int_equal(trail_find(file.path, false, &trail, &why), CODE_OK);
    assert_true(trail.files[0].first_us == BEGIN_US && trail.files[0].last_us == BEGIN_US + CALLS - 1);
    assert_int_equal(audit_query(&trail, &query, count_row, &rows, &more, &why), CODE_OK);
    assert_int_equal(rows, 20);
    trail.files[0].path[0] = 'x'; /* it would not be found */
    assert_true(audit_query(&trail, &query, count_row, &rows, &more, &why) != CODE_OK);
    query.since_us = BEGIN_US + CALLS;
    query.until_us = 0;
    assert_int_equal(audit_query(&trail, &query, count_row, &rows, &more, &why), CODE_OK);
    query.since_us = 0;
    query.until_us = BEGIN_US;
    assert_int_equal(audit_query(&trail, &query, count_row, &rows, &more, &why), CODE_OK);
    assert_int_equal(rows, 20);
    trail_fini(&trail);
}

TEST_MAIN(setup, teardown)
