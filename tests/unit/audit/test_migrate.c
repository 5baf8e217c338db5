/* SPDX-License-Identifier: Apache-2.0 */
/* 3.6: a trail that an older gate wrote is brought up at start, in one transaction, rows untouched; one that a newer gate wrote
 * is refused. */
#include "audit/erase_priv.h"
#include "audit/reader.h"
#include "audit/indices.h"
#include "audit/schema.h"
#include "evidence/verify.h"

#include "base/mem.h"
#include "fakes/audit_file.h"
#include "os/file.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define OLD "tests/unit/audit/old/audit-1.sql"
#define ROWS "SELECT group_concat(hex(hash), '') FROM (SELECT hash FROM entry WHERE seq <= 10 ORDER BY seq)"
#define OBJECTS "SELECT count(*) || ' ' || group_concat(name || sql, '') FROM (SELECT name, sql FROM sqlite_schema " \
                "WHERE sql IS NOT NULL ORDER BY name)"

static struct buf old;
static int64_t version; /* of the file that is brought up */

/* The rows of the oldest file, in tables of version 2. */
static void make_2(struct db *db, struct span dump)
{
    assert_int_equal(db_exec(db, audit__schema_of(2)), CODE_OK);
    assert_int_equal(db_exec(db, "PRAGMA application_id = 1128743253; PRAGMA user_version = 2"), CODE_OK);
    while (dump.len > 0) {
        struct span line = span_cut(dump, '\n', &dump);
        char *sql = strndup(line.at, line.len);

        if (span_starts_with(line, SPAN_LIT("INSERT INTO ")) && db_exec(db, sql) != CODE_OK)
            fail_msg("%s: %s", db_error(db), sql);
        free(sql);
    }
}

/* And in those of version 4 and 5, whose `decision` and `outcome` have more. */
static void make_later(struct db *db, struct span dump, const char *path, const char *more)
{
    char sql[512];
    struct db *two;

    assert_int_equal(db_exec(db, audit__schema_of(version)), CODE_OK);
    (void)snprintf(sql, sizeof sql, "PRAGMA application_id = 1128743253; PRAGMA user_version = %d", (int)version);
    assert_int_equal(db_exec(db, sql), CODE_OK);
    assert_int_equal(db_open(":memory:", DB_CREATE, &two, NULL), CODE_OK);
    make_2(two, dump);
    (void)snprintf(sql, sizeof sql, "ATTACH '%s' AS later", path);
    assert_int_equal(db_exec(two, sql), CODE_OK);
    (void)snprintf(sql, sizeof sql, "INSERT INTO later.file SELECT * FROM main.file; INSERT INTO later.event SELECT * FROM main.event;"
                   "INSERT INTO later.outcome SELECT *, NULL, NULL, NULL, NULL FROM main.outcome;"
                   "INSERT INTO later.decision SELECT *, NULL, NULL, NULL, NULL, NULL%s FROM main.decision", more);
    if (db_exec(two, sql) != CODE_OK)
        fail_msg("%s", db_error(two));
    db_close(&two);
}

static int setup_of(void **state)
{
    static struct audit_file file;
    struct why why = {0};
    struct db *db;

    *state = &file;
    audit_file_init(&file);
    buf_init(&old, (size_t)1 << 20);
    assert_int_equal(file_read(OLD, FILE_ANY, (size_t)1 << 20, &old, &why), CODE_OK);
    assert_int_equal(buf_add_byte(&old, '\0'), CODE_OK);
    assert_int_equal(db_open(file.path, DB_CREATE, &db, &why), CODE_OK);
    if (version == 2)
        make_2(db, buf_peek(&old));
    else if (version >= 4)
        make_later(db, buf_peek(&old), file.path, version == 4 ? "" : ", NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL");
    else if (db_exec(db, buf_peek(&old).at) != CODE_OK)
        fail_msg("%s", db_error(db));
    db_close(&db);
    return 0;
}

static int setup_1(void **state)
{
    version = 1;
    return setup_of(state);
}

static int setup_2(void **state)
{
    version = 2;
    return setup_of(state);
}

static int setup_4(void **state) /* 8.4 */
{
    version = 4;
    return setup_of(state);
}

static int setup_5(void **state) /* 9.2 */
{
    version = 5;
    return setup_of(state);
}

static int teardown(void **state)
{
    buf_fini(&old);
    audit_file_fini(*state);
    return 0;
}

static uint64_t faults_of(const struct audit_file *file)
{
    struct verify_report report;
    struct why why = {0};

    assert_int_equal(audit_verify(&(struct verify_conf){.path = file->path}, &report, &why), CODE_OK);
    if (report.fault_count > 0)
        print_message("%s.%s: %s\n", report.fault[0].table, report.fault[0].field, report.fault[0].text);
    return report.fault_count;
}

static void test_an_old_file_is_brought_up(void **state)
{
    struct audit_file *file = *state, fresh;
    char rows[1024], migrated[32];
    struct audit *audit;

    (void)snprintf(migrated, sizeof migrated, "{\"from\":%d,\"to\":%d}", (int)version, AUDIT_SCHEMA_VERSION);
    assert_int_equal(audit_file_number(file, "PRAGMA user_version"), version);
    assert_int_equal(faults_of(file), 0); /* as it was made: judged by what its version was */
    (void)snprintf(rows, sizeof rows, "%s", audit_file_ask(file, ROWS));
    audit = audit_file_open(file, 1);
    (void)audit_file_call(audit_ring(audit, 0), "acme", "after");
    audit_close(&audit);
    assert_int_equal(audit_file_number(file, "PRAGMA user_version"), AUDIT_SCHEMA_VERSION);
    assert_string_equal(audit_file_ask(file, ROWS), rows);
    assert_int_equal(faults_of(file), 0);
    assert_string_equal(audit_file_ask(file, "SELECT detail FROM event WHERE kind = 'migrated'"),
                        migrated);
    assert_int_equal(audit_file_number(file, "SELECT count(*) FROM call WHERE tenant = 'acme'"), 5);
    assert_string_equal(audit_file_ask(file, "SELECT kind FROM event WHERE seq = 11"), "start"); /* no crash was found */

    audit_file_init(&fresh);
    audit = audit_file_open(&fresh, 1);
    audit_close(&audit);
    (void)snprintf(rows, sizeof rows, "%s", audit_file_ask(&fresh, OBJECTS));
    assert_true(strncmp(audit_file_ask(file, OBJECTS), rows, sizeof rows - 1) == 0); /* the rest is verify's to compare */
    assert_int_equal(audit_file_number(&fresh, "SELECT count(*) FROM event WHERE kind = 'migrated'"), 0);
    audit_file_fini(&fresh);

    audit = audit_file_open(file, 1);
    audit_close(&audit);
    assert_int_equal(audit_file_number(file, "SELECT count(*) FROM event WHERE kind = 'migrated'"), 1);
}

/* 6.1: a sealed file of an earlier version is brought up when it gets its indices; its chain is untouched. */
static void test_a_sealed_one_gets_indices(void **state)
{
    struct audit_file *file = *state;
    char rows[1024];
    struct why why = {0};

    (void)snprintf(rows, sizeof rows, "%s", audit_file_ask(file, ROWS));
    assert_int_equal(indices__build(file->path, NULL, &why), CODE_OK);
    assert_int_equal(audit_file_number(file, "PRAGMA user_version"), AUDIT_SCHEMA_VERSION);
    assert_int_equal(audit_file_number(file, "SELECT count(*) FROM sqlite_schema WHERE name IN ('part', 'lookup', 'tenant_head')"), 0);
    assert_int_equal(audit_file_number(file, "SELECT count(*) FROM sqlite_schema WHERE name LIKE 'decision_%' AND type = 'index'"), 6);
    assert_string_equal(audit_file_ask(file, ROWS), rows);
    assert_int_equal(faults_of(file), 0);
}

/* A view that somebody changed in an old file is still found there. */
static void test_an_old_file_is_verified_as_such(void **state)
{
    struct audit_file *file = *state;
    struct verify_report report;
    struct why why = {0};
    struct db *db;

    assert_int_equal(db_open(file->path, DB_WRITE, &db, &why), CODE_OK);
    assert_int_equal(db_exec(db, "DROP VIEW denial"), CODE_OK);
    db_close(&db);
    assert_int_equal(faults_of(file), 1);
    assert_int_equal(db_open(file->path, DB_WRITE, &db, &why), CODE_OK);
    assert_int_equal(db_exec(db, "PRAGMA user_version = -1"), CODE_OK);
    assert_int_equal(faults_of(file), 1);
    assert_int_equal(db_exec(db, "PRAGMA user_version = 9"), CODE_OK); /* not broken: we are too old to say */
    db_close(&db);
    assert_int_equal(audit_verify(&(struct verify_conf){.path = file->path}, &report, &why), CODE_DENIED);
    assert_non_null(strstr(why.text, "was written by a newer callgate, 0.1.0 (schema 9, this one, " CALLGATE_VERSION ", knows "));
}

/* Tables of the chain keep their columns, whatever a version brings: others come behind them. */
static void test_the_chain_is_no_steps_business(void **state)
{
    static const char *const tables[] = {"file", "decision", "outcome", "event"};
    struct db *now;

    (void)state;
    assert_int_equal(audit__schema_model(AUDIT_SCHEMA_VERSION, &now), CODE_OK);
    for (int64_t older = 1; older < AUDIT_SCHEMA_VERSION; older++)
        for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
            const char *ask = "SELECT sql FROM sqlite_schema WHERE name = ?";
            struct db_stmt *a, *b;
            struct db *then;

            assert_int_equal(audit__schema_model(older, &then), CODE_OK);
            assert_int_equal(db_prepare(now, ask, &a), CODE_OK);
            assert_int_equal(db_prepare(then, ask, &b), CODE_OK);
            db_bind_text(a, 1, span_text(tables[i]));
            db_bind_text(b, 1, span_text(tables[i]));
            assert_int_equal(db_step(a), CODE_OK);
            assert_int_equal(db_step(b), CODE_OK);
            assert_true(span_starts_with(db_text(a, 0), span_part(db_text(b, 0), 0, db_text(b, 0).len - strlen(") STRICT") - 1)));
            db_finalize(&a);
            db_finalize(&b);
            db_close(&then);
        }
    db_close(&now);
    assert_int_equal(audit__schema_model(AUDIT_SCHEMA_VERSION + 1, &now), CODE_NOT_FOUND);
}

/* A step that fails anywhere leaves the old file whole. */
static void test_all_or_nothing(void **state)
{
    struct audit_file *file = *state;
    enum code code = CODE_NOMEM;

    for (uint64_t n = 1; code != CODE_OK; n++) {
        struct why why = {0};
        int64_t from;
        struct db *db;

        assert_true(n < 1000);
        assert_int_equal(db_open(file->path, DB_WRITE, &db, &why), CODE_OK);
        mem_fail_at(n, 0);
        code = audit__migrate(db, &from);
        mem_fail_at(0, 0);
        db_close(&db);
        if (code != CODE_OK)
            assert_int_equal(audit_file_number(file, "PRAGMA user_version"), version);
        if (n % 16 == 1 || code == CODE_OK)
            assert_int_equal(faults_of(file), 0);
    }
    assert_int_equal(audit_file_number(file, "PRAGMA user_version"), AUDIT_SCHEMA_VERSION);
}

/* Another connection holds the lock: the gate waits, and then says so. */
static void test_a_locked_file_waits(void **state)
{
    struct audit_file *file = *state;
    const struct audit_conf conf = {.path = file->path, .rings = 1};
    struct why why = {0};
    struct audit *audit;
    struct db *db;

    assert_int_equal(db_open(file->path, DB_WRITE, &db, &why), CODE_OK);
    assert_int_equal(db_begin(db), CODE_OK);
    assert_int_equal(audit_open(&conf, &audit, &why), CODE_BUSY);
    db_rollback(db);
    db_close(&db);
    assert_int_equal(audit_file_number(file, "PRAGMA user_version"), version);
    audit = audit_file_open(file, 1);
    audit_close(&audit);
    assert_int_equal(audit_file_number(file, "PRAGMA user_version"), AUDIT_SCHEMA_VERSION);
}

static void test_a_newer_file_is_refused(void **state)
{
    struct audit_file *file = *state;
    const struct audit_conf conf = {.path = file->path, .rings = 1};
    struct why why = {0};
    struct audit *audit;
    struct db *db;

    assert_int_equal(db_open(file->path, DB_WRITE, &db, &why), CODE_OK);
    assert_int_equal(db_exec(db, "PRAGMA user_version = 9999"), CODE_OK);
    db_close(&db);
    assert_int_equal(audit_open(&conf, &audit, &why), CODE_DENIED);
    assert_non_null(strstr(why.text, "newer"));
    assert_int_equal(audit_file_number(file, "SELECT max(seq) FROM entry"), 10);
    assert_int_equal(db_open(file->path, DB_WRITE, &db, &why), CODE_OK);
    assert_int_equal(db_exec(db, "PRAGMA user_version = 0"), CODE_OK);
    db_close(&db);
    assert_int_equal(audit_open(&conf, &audit, &why), CODE_INVALID);
}

/* What an older file lacks is NULL for whoever reads it as it is, and its values can be erased. */
static void test_an_old_file_is_read_and_erased(void **state)
{
    struct audit_file *file = *state;
    const struct erase_what what = {.seq = 99, .before_us = INT64_MAX, .tenant = "acme"};
    struct why why = {0};
    struct db_stmt *stmt;
    int64_t rows = 0;
    struct db *db;

    assert_int_equal(reader__open(file->path, &db, &why), CODE_OK);
    assert_int_equal(db_prepare(db, "SELECT count(*), count(target), count(groups), count(answer) + count(answer_rule) "
                                "FROM call", &stmt), CODE_OK);
    assert_int_equal(db_step(stmt), CODE_OK);
    assert_true(db_int(stmt, 0) == 4 && db_int(stmt, 1) == 0 && db_int(stmt, 2) == 0 && db_int(stmt, 3) == 0);
    db_finalize(&stmt);
    db_close(&db);
    if (version < 2)
        return;
    assert_int_equal(db_open(file->path, DB_WRITE, &db, &why), CODE_OK);
    assert_int_equal(erase__note(db, &what), CODE_OK);
    if (erase__slice(db, &what, 0, 100, &rows) != CODE_OK)
        fail_msg("%s", db_error(db));
    db_close(&db);
    assert_int_equal(rows, 4);
    assert_int_equal(audit_file_number(file, "SELECT count(salt) + count(arguments) FROM decision"), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup_1, teardown), \
                   cmocka_unit_test_setup_teardown(name, setup_2, teardown), \
                   cmocka_unit_test_setup_teardown(name, setup_4, teardown), \
                   cmocka_unit_test_setup_teardown(name, setup_5, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_an_old_file_is_brought_up), TEST(test_an_old_file_is_verified_as_such), TEST(test_a_sealed_one_gets_indices),
        TEST(test_the_chain_is_no_steps_business), TEST(test_all_or_nothing), TEST(test_a_locked_file_waits),
        TEST(test_a_newer_file_is_refused), TEST(test_an_old_file_is_read_and_erased),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
