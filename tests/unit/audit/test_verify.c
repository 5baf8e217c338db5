/* SPDX-License-Identifier: Apache-2.0 */
/* 1.24, 1.28, 3.3, 3.11: whatever is changed in an audit.db is found, by our verifier and by the one that was written from the paper
 * alone, and ours names the row. */
#include "audit/verify.h"

#include "audit/row_priv.h"
#include "fakes/audit_file.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

#define COPIES_MAX 400
#define TRIGGERS_MAX 16

struct bench {
    struct audit_file file;
    char *triggers[TRIGGERS_MAX][2]; /* name, text */
    int trigger_count;
    char *copies[COPIES_MAX]; /* paths of tampered files, for the other verifier */
    int copy_count;
};

static struct verify_report report;

/* Two tenants, permits with and without outcome due, cut and redacted arguments, an erasure, events with a tenant. */
static void fill(struct audit *audit)
{
    static char text[9000];
    struct audit_ring *ring = audit_ring(audit, 0);
    struct audit_decision decision = audit_call("acme", "c-1");
    struct audit_event event = {.time_us = 1700000000000002, .kind = SPAN_LIT("erased"), .tenant = SPAN_LIT("old"),
                                .actor = SPAN_LIT("alice"), .detail = SPAN_LIT("{\"before_us\":1700000000000001}")};
    struct audit_result result;
    uint64_t seq;

    memset(text, 'a', sizeof text);
    (void)audit_file_call(ring, "old", "c-0");
    decision.trace = SPAN_LIT("0af7651916cd43dd8448eb211c80319c");
    decision.correlation_replaced = SPAN_LIT("?");
    decision.query = SPAN_LIT("a=b");
    decision.rule_reason = SPAN_LIT("because");
    decision.undecided = SPAN_LIT("r: arg");
    decision.monitor = SPAN_LIT("{}");
    assert_int_equal(audit_file_wait(ring, audit_file_put(ring, &decision), &seq), AUDIT_DURABLE);
    result = audit_answer(seq);
    result.has_error_code = true;
    result.error_code = -1;
    audit_put_result(ring, &result);
    (void)audit_file_call(ring, "beta", "c-2");
    decision.verdict = AUDIT_DENY;
    decision.expects_outcome = false;
    decision.status = 403;
    decision.latency_us = 5;
    decision.arguments = span_of(text, sizeof text);
    decision.arguments_redacted = true;
    assert_int_equal(audit_file_wait(ring, audit_file_put(ring, &decision), &seq), AUDIT_DURABLE);
    assert_int_equal(audit_put_event(ring, &event), CODE_OK);
    event.kind = SPAN_LIT("key_made");
    event.tenant = SPAN_LIT("acme");
    assert_int_equal(audit_put_event(ring, &event), CODE_OK);
    (void)audit_file_call(ring, "acme", "c-3");
    (void)audit_file_call(ring, "beta", "c-4");
}

static struct db *open_for_writing(const char *path)
{
    struct why why = {0};
    struct db *db;

    if (db_open(path, DB_WRITE, &db, &why) != CODE_OK)
        fail_msg("%s", why.text);
    return db;
}

static void read_triggers(struct bench *bench)
{
    struct db *db = open_for_writing(bench->file.path);
    struct db_stmt *stmt;

    assert_int_equal(db_exec(db, "UPDATE decision SET salt = NULL, arguments = NULL WHERE tenant = 'old'"), CODE_OK);
    assert_int_equal(db_prepare(db, "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'", &stmt), CODE_OK);
    while (db_step(stmt) == CODE_OK) {
        assert_true(bench->trigger_count < TRIGGERS_MAX);
        for (int i = 0; i < 2; i++)
            bench->triggers[bench->trigger_count][i] = strndup(db_text(stmt, i).at, db_text(stmt, i).len);
        bench->trigger_count++;
    }
    db_finalize(&stmt);
    db_close(&db);
}

static int setup(void **state)
{
    struct bench *bench = calloc(1, sizeof *bench);
    struct audit *audit;

    audit_file_init(&bench->file);
    audit = audit_file_open(&bench->file, 1);
    fill(audit);
    audit_close(&audit);
    read_triggers(bench);
    *state = bench;
    return 0;
}

static int teardown(void **state)
{
    struct bench *bench = *state;

    for (int i = 0; i < bench->trigger_count; i++) {
        free(bench->triggers[i][0]);
        free(bench->triggers[i][1]);
    }
    for (int i = 0; i < bench->copy_count; i++)
        free(bench->copies[i]);
    audit_file_fini(&bench->file);
    free(bench);
    return 0;
}

static void copy_file(const char *from, const char *to)
{
    char bytes[65536];
    int in = open(from, O_RDONLY | O_CLOEXEC), out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0640);
    ssize_t got;

    assert_true(in >= 0 && out >= 0);
    while ((got = read(in, bytes, sizeof bytes)) > 0)
        assert_int_equal(write(out, bytes, (size_t)got), got);
    (void)close(in);
    (void)close(out);
}

static const char *new_copy(struct bench *bench)
{
    char path[128];

    assert_true(bench->copy_count < COPIES_MAX);
    (void)snprintf(path, sizeof path, "%s.%d", bench->file.path, bench->copy_count);
    copy_file(bench->file.path, path);
    bench->copies[bench->copy_count++] = strdup(path);
    return bench->copies[bench->copy_count - 1];
}

static long long changed_rows(struct db *db)
{
    struct db_stmt *stmt;
    long long rows;

    assert_int_equal(db_prepare(db, "SELECT changes()", &stmt), CODE_OK);
    assert_int_equal(db_step(stmt), CODE_OK);
    rows = db_int(stmt, 0);
    db_finalize(&stmt);
    return rows;
}

/* Changes a copy as somebody who knows the triggers would. Returns: false where a constraint does not even allow it. */
static bool tamper(struct bench *bench, const char *path, const char *sql)
{
    struct db *db = open_for_writing(path);
    char drop[96];
    bool changed;

    assert_int_equal(db_exec(db, "PRAGMA synchronous = OFF; BEGIN"), CODE_OK);
    for (int i = 0; i < bench->trigger_count; i++) {
        (void)snprintf(drop, sizeof drop, "DROP TRIGGER %s", bench->triggers[i][0]);
        assert_int_equal(db_exec(db, drop), CODE_OK);
    }
    changed = db_exec(db, sql) == CODE_OK && changed_rows(db) > 0;
    for (int i = 0; i < bench->trigger_count; i++)
        assert_int_equal(db_exec(db, bench->triggers[i][1]), CODE_OK);
    assert_int_equal(db_commit(db), CODE_OK);
    db_close(&db);
    return changed;
}

static void verify(const char *path)
{
    struct why why = {0};

    if (audit_verify(&(struct verify_conf){.path = path}, &report, &why) != CODE_OK)
        fail_msg("%s", why.text);
}

/* The one written from schema/audit-format.md: `broken` says whether every file must be found broken, or whole. */
static void verify_by_paper(struct bench *bench, bool broken)
{
    char *arguments[COPIES_MAX + 3] = {(char *)"python3", (char *)"tools/verify-audit"};
    char out[128], line[512];
    posix_spawn_file_actions_t actions;
    pid_t child;
    FILE *lines;
    int status, count = 0;

    for (int i = 0; i < bench->copy_count; i++)
        arguments[i + 2] = bench->copies[i];
    (void)snprintf(out, sizeof out, "%s.copy", bench->file.path);
    assert_int_equal(posix_spawn_file_actions_init(&actions), 0);
    assert_int_equal(posix_spawn_file_actions_addopen(&actions, 1, out, O_WRONLY | O_CREAT | O_TRUNC, 0600), 0);
    assert_int_equal(posix_spawnp(&child, "python3", &actions, NULL, arguments, environ), 0);
    (void)posix_spawn_file_actions_destroy(&actions);
    assert_int_equal(waitpid(child, &status, 0), child);
    lines = fopen(out, "r");
    assert_non_null(lines);
    for (; fgets(line, sizeof line, lines) != NULL; count++)
        if ((strcmp(line, "whole\n") != 0) != broken)
            fail_msg("%s: %s", bench->copies[count], line);
    (void)fclose(lines);
    assert_int_equal(count, bench->copy_count);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == broken);
}

/* 1.24 */
static void test_whole(void **state)
{
    struct bench *bench = *state;

    verify(new_copy(bench));
    if (report.fault_count > 0)
        fail_msg("row %lld %s", (long long)report.fault[0].seq, report.fault[0].text);
    assert_int_equal(report.rows, report.decisions + report.outcomes + report.events);
    assert_true(report.decisions == 6 && report.outcomes == 5 && report.events == 4 && report.tenants == 3);
    assert_true(report.first_seq == 1 && report.last_seq == 15 && report.erased == 1 && report.under_way == 0);
    verify_by_paper(bench, false);
}

/* How a value is changed, and in which row. */
static const struct {
    const char *set;
    const char *which;
} changes[] = {
    {"CASE typeof(@) WHEN 'integer' THEN @ + 1000 WHEN 'text' THEN @ || 'x' ELSE CAST(substr(@, 1, length(@) - 1) || "
     "CASE substr(@, -1) WHEN x'fe' THEN x'01' ELSE x'fe' END AS BLOB) END",
     "SELECT max(seq) FROM # WHERE @ IS NOT NULL"},
    {"NULL", "SELECT min(seq) FROM # WHERE @ IS NOT NULL"},
    {"1", "SELECT min(seq) FROM # WHERE @ IS NULL"},
    {"x'30313233343536373031323334353637'", "SELECT min(seq) FROM # WHERE @ IS NULL"},
};

/* `#` becomes the table, `@` the column. */
static void expand(const char *pattern, const char *table, const char *column, char *out, size_t size)
{
    size_t len = 0;

    for (; *pattern != '\0' && len < size - 64; pattern++)
        if (*pattern == '#' || *pattern == '@')
            len += (size_t)snprintf(out + len, size - len, "%s", *pattern == '#' ? table : column);
        else
            out[len++] = *pattern;
    out[len] = '\0';
}

/* Among the first three: a changed erasure is also missed by the rows that it vouched for. */
static bool names(long long seq)
{
    for (size_t i = 0; i < 3 && i < report.fault_count; i++)
        if (report.fault[i].seq == seq)
            return true;
    return false;
}

static int tamper_column(struct bench *bench, enum row_table table, const char *column)
{
    const char *name = row__shape(table)->name;
    int made = 0;

    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        const char *path = new_copy(bench);
        char sql[1024], set[512], which[256];
        long long seq;

        expand(changes[i].set, name, column, set, sizeof set);
        expand(changes[i].which, name, column, which, sizeof which);
        (void)snprintf(sql, sizeof sql, "UPDATE %s SET %s = %s WHERE seq = (%s)", name, column, set, which);
        seq = audit_file_number(&bench->file, which);
        if (!tamper(bench, path, sql)) {
            (void)unlink(path);
            free(bench->copies[--bench->copy_count]);
            continue;
        }
        made++;
        verify(path);
        if (report.fault_count == 0)
            fail_msg("not found: %s", sql);
        if (table != ROW_FILE && !names(seq))
            fail_msg("row %lld was changed, row %lld named: %s", seq, (long long)report.fault[0].seq, sql);
    }
    return made;
}

/* 1.24, 1.28 */
static void test_each_column_of_each_table(void **state)
{
    static const char *const outside[] = {"salt", "arguments", "arguments_begin"};
    struct bench *bench = *state;

    for (int table = 0; table < ROW_TABLES; table++) {
        const struct row_shape *shape = row__shape((enum row_table)table);

        for (int i = 0; i < shape->count + 1 + shape->outside; i++) {
            const char *column = i < shape->count ? shape->columns[i] : i == shape->count ? "hash"
                                                                                            : outside[i - shape->count - 1];

            if (tamper_column(bench, (enum row_table)table, column) == 0 && strcmp(column, "format") != 0)
                fail_msg("%s.%s could not be changed at all", shape->name, column);
        }
    }
    assert_true(bench->copy_count > 120);
    verify_by_paper(bench, true);
}

static void expect_found(struct bench *bench, const char *sql, long long seq, const char *field)
{
    const char *path = new_copy(bench);

    if (!tamper(bench, path, sql))
        fail_msg("not possible: %s", sql);
    verify(path);
    if (report.fault_count == 0)
        fail_msg("not found: %s", sql);
    if (report.fault[0].seq != seq || strcmp(report.fault[0].field, field) != 0)
        fail_msg("row %lld %s named: %s", (long long)report.fault[0].seq, report.fault[0].field, sql);
}

/* 1.28: gaps, insertions, order, pairing */
static void test_rows_moved(void **state)
{
    static const char insert[] =
        "INSERT INTO event SELECT 16, time_us, NULL, NULL, 'reload', actor, NULL, hash FROM event WHERE kind = 'stop'";
    struct bench *bench = *state;
    const struct audit_file *file = &bench->file;
    long long decision = audit_file_number(file, "SELECT seq FROM decision WHERE correlation = 'c-2'");
    long long outcome = audit_file_number(file, "SELECT seq FROM outcome WHERE decision = (SELECT seq FROM decision WHERE "
                                                "correlation = 'c-2')");
    long long event = audit_file_number(file, "SELECT seq FROM event WHERE kind = 'key_made'");
    long long first = audit_file_number(file, "SELECT min(seq) FROM outcome");
    long long last = audit_file_number(file, "SELECT max(seq) FROM outcome");
    char swap[256];

    expect_found(bench, "DELETE FROM decision WHERE correlation = 'c-2'", decision, "seq");
    expect_found(bench, "DELETE FROM outcome WHERE decision = (SELECT seq FROM decision WHERE correlation = 'c-2')", outcome,
                 "seq");
    expect_found(bench, "DELETE FROM event WHERE kind = 'key_made'", event, "seq");
    expect_found(bench, insert, 16, "contents");
    expect_found(bench, "INSERT INTO event SELECT 5, time_us, NULL, NULL, 'reload', actor, NULL, hash FROM event WHERE "
                        "kind = "
                        "'stop'", 5, "seq");
    (void)snprintf(swap, sizeof swap, "UPDATE outcome SET seq = -1 WHERE seq = %lld; UPDATE outcome SET seq = %lld "
                                      "WHERE seq = "
                   "%lld; UPDATE outcome SET seq = %lld WHERE seq = -1", first, first, last, last);
    expect_found(bench, swap, first, "tenant_previous");
    verify_by_paper(bench, true);
}

/* 1.28: what only a look at the values, not at the chain, can tell */
static void test_faults_are_named(void **state)
{
    struct bench *bench = *state;
    long long decision = audit_file_number(&bench->file, "SELECT seq FROM decision WHERE correlation = 'c-2'");
    long long cut = audit_file_number(&bench->file, "SELECT seq FROM decision WHERE arguments_cut");

    expect_found(bench, "UPDATE decision SET arguments = '{}' WHERE correlation = 'c-2'", decision, "arguments");
    expect_found(bench, "UPDATE decision SET salt = randomblob(16) WHERE correlation = 'c-2'", decision, "arguments");
    expect_found(bench, "UPDATE decision SET salt = NULL, arguments = NULL WHERE correlation = 'c-2'", decision, "salt");
    expect_found(bench, "UPDATE decision SET arguments_begin = 'b' WHERE arguments_cut", cut, "arguments_begin");
    expect_found(bench, "UPDATE decision SET tool = 'x' WHERE correlation = 'c-2'", decision, "contents");
    expect_found(bench, "UPDATE decision SET hash = randomblob(32) WHERE correlation = 'c-2'", decision, "hash");
    assert_int_equal(report.fault_count, 1); /* and nothing else is blamed */
}

/* Whoever cuts off the end is not found without a checkpoint from outside: said, not promised. */
static void test_end_cut_off(void **state)
{
    struct bench *bench = *state;
    const char *path = new_copy(bench);

    assert_true(tamper(bench, path, "DELETE FROM event WHERE kind = 'stop'"));
    verify(path);
    assert_int_equal(report.fault_count, 0);
    assert_int_equal(report.last_seq, 14);
}

/* 1.28: views and indices that hide rows deceive as well */
static void test_schema_and_finding_tables(void **state)
{
    static const char *const deceptions[] = {
        "DROP VIEW call; CREATE VIEW call AS SELECT * FROM decision WHERE tenant <> 'acme'", "DROP VIEW denial",
        "CREATE TRIGGER more AFTER INSERT ON decision BEGIN SELECT 1; END", "DROP TRIGGER outcome_update",
        "UPDATE lookup SET seqs = '[1]' WHERE kind = 1", "DELETE FROM lookup WHERE value = 'c-7'",
        "UPDATE lookup SET value = 'c-x' WHERE value = 'c-7'", "UPDATE lookup SET kind = 2 WHERE value = 'c-7'",
        "UPDATE lookup SET part = 9 WHERE value = 'c-7'", "UPDATE part SET first_seq = first_seq + 1",
        "UPDATE part SET last_seq = last_seq - 1", "UPDATE part SET first_us = 0", "UPDATE part SET last_us = 0",
        "UPDATE part SET part = 3", "UPDATE tenant_head SET seq = seq - 1", "UPDATE tenant_head SET hash = randomblob(32)",
        "UPDATE tenant_head SET tenant = 'x' WHERE tenant = 'acme'", "DELETE FROM tenant_head", "INSERT INTO "
                                                                                                "tenant_head VALUES ('x', 3, "
                                                                          "randomblob(32))",
    };
    struct bench *bench = *state;
    struct audit *audit = audit_file_open(&bench->file, 1);
    struct audit_decision decision = {.time_us = 1700000000000000, .reason = REASON_NO_RULE, .tenant = SPAN_LIT("acme")};
    char correlation[16];

    for (int i = 0; i < 4200; i++) {
        (void)snprintf(correlation, sizeof correlation, "c-%d", i);
        decision.correlation = span_text(correlation);
        decision.time_us++;
        (void)audit_file_put(audit_ring(audit, 0), &decision);
    }
    for (int tries = 0; audit_file_number(&bench->file, "SELECT count(*) FROM part") < 1; tries++) {
        assert_true(tries < 20000);
        (void)nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    }
    audit_close(&audit);
    for (size_t i = 0; i < sizeof deceptions / sizeof deceptions[0]; i++) {
        const char *path = new_copy(bench);
        struct db *db;

        if (i == 0) {
            verify(path);
            assert_int_equal(report.fault_count, 0);
        }
        db = open_for_writing(path);
        if (db_exec(db, deceptions[i]) != CODE_OK)
            fail_msg("%s: %s", deceptions[i], db_error(db));
        db_close(&db);
        verify(path);
        if (report.fault_count == 0)
            fail_msg("not found: %s", deceptions[i]);
        assert_int_equal(report.fault[0].seq, 0); /* no row is blamed */
    }
}

/* A page that is garbage: the verifier says where reading ends, or which row is broken; it does not fail or crash. */
static void test_damaged_pages(void **state)
{
    struct bench *bench = *state;
    unsigned char garbage[4096];

    for (int page = 1; page < 12; page++) {
        const char *path = new_copy(bench);
        int fd = open(path, O_WRONLY | O_CLOEXEC);
        struct why why = {0};

        for (size_t i = 0; i < sizeof garbage; i++)
            garbage[i] = (unsigned char)(i * 131 + (size_t)page);
        assert_int_equal(pwrite(fd, garbage, sizeof garbage, 4096 * page), sizeof garbage);
        (void)close(fd);
        if (audit_verify(&(struct verify_conf){.path = path}, &report, &why) == CODE_OK && report.fault_count == 0)
            fail_msg("page %d is garbage and nothing was found", page + 1);
    }
}

/* 1.28: while the gate writes */
static void test_live(void **state)
{
    struct bench *bench = *state;
    struct audit *audit = audit_file_open(&bench->file, 1);
    const struct audit_decision decision = audit_call("acme", "live");
    uint64_t seq;

    for (int i = 0; i < 20; i++) {
        assert_int_equal(audit_file_wait(audit_ring(audit, 0), audit_file_put(audit_ring(audit, 0), &decision), &seq),
                         AUDIT_DURABLE);
        verify(bench->file.path);
        assert_int_equal(report.fault_count, 0);
        assert_int_equal(report.under_way, i + 1);
    }
    audit_close(&audit);
    verify(bench->file.path);
    assert_int_equal(report.fault_count, 0);
    assert_int_equal(report.under_way, 0);
}

static void test_what_cannot_be_verified(void **state)
{
    struct bench *bench = *state;
    struct why why = {0};
    struct db *db;
    char path[128];

    (void)snprintf(path, sizeof path, "%s.copy", bench->file.path);
    assert_int_equal(audit_verify(&(struct verify_conf){.path = path}, &report, &why), CODE_NOT_FOUND);
    assert_int_equal(db_open(path, DB_CREATE, &db, &why), CODE_OK);
    db_close(&db);
    assert_int_equal(audit_verify(&(struct verify_conf){.path = path}, &report, &why), CODE_INVALID);
    assert_non_null(strstr(why.text, "no audit trail"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_whole), TEST(test_each_column_of_each_table), TEST(test_rows_moved), TEST(test_faults_are_named),
        TEST(test_end_cut_off), TEST(test_schema_and_finding_tables), TEST(test_damaged_pages), TEST(test_live),
        TEST(test_what_cannot_be_verified),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
