/* SPDX-License-Identifier: Apache-2.0 */
/* 1.24, 1.28, 3.3, 3.11, 6.10: whatever is changed in an audit.db is found, by our verifier and by the one that was written from the paper
 * alone, and ours names the row. */
#include "verify_bench.h"

/* 1.24 */
TEST_CASE_WITH(test_whole, setup, teardown)
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
    const char *name = row_shape(table)->name;
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
TEST_CASE_WITH(test_each_column_of_each_table, setup, teardown)
{
    struct bench *bench = *state;

    for (int table = 0; table < ROW_TABLES; table++) {
        const struct row_shape *shape = row_shape((enum row_table)table);

        for (int i = 0; i < shape->count + 1 + shape->outside; i++) {
            const char *column = i < shape->count ? shape->columns[i] : i == shape->count ? "hash"
                                                                                            : shape->outside_columns[i - shape->count - 1];

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
TEST_CASE_WITH(test_rows_moved, setup, teardown)
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
TEST_CASE_WITH(test_faults_are_named, setup, teardown)
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
TEST_CASE_WITH(test_end_cut_off, setup, teardown)
{
    struct bench *bench = *state;
    const char *path = new_copy(bench);

    assert_true(tamper(bench, path, "DELETE FROM event WHERE kind = 'stop'"));
    verify(path);
    assert_int_equal(report.fault_count, 0);
    assert_int_equal(report.last_seq, 14);
}

/* 1.28: views and indices that hide rows deceive as well */
TEST_CASE_WITH(test_schema, setup, teardown)
{
    static const char *const deceptions[] = {
        "DROP VIEW call; CREATE VIEW call AS SELECT * FROM decision WHERE tenant <> 'acme'", "DROP VIEW denial",
        "CREATE TRIGGER more AFTER INSERT ON decision BEGIN SELECT 1; END", "DROP TRIGGER outcome_update",
        "CREATE INDEX decision_correlation ON decision(correlation) WHERE correlation <> 'c-7'", "CREATE TABLE decision2 (seq)",
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
TEST_CASE_WITH(test_damaged_pages, setup, teardown)
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
TEST_CASE_WITH(test_live, setup, teardown)
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

TEST_CASE_WITH(test_what_cannot_be_verified, setup, teardown)
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

TEST_MAIN(NULL, NULL)
