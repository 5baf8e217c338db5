/* SPDX-License-Identifier: Apache-2.0 */
/* 10.31: what somebody plants in the schema of the live file, before a start or under a running writer. */
#include "place_bench.h"

#include "evidence/verify.h"

#include <string.h>

static struct sign_key *key;

static int make_key(void **state)
{
    struct buf pem;

    (void)state;
    buf_init(&pem, 4096);
    assert_int_equal(sign_key_make(&pem), CODE_OK);
    assert_int_equal(sign_key_read(buf_peek(&pem), &key), CODE_OK);
    buf_fini(&pem);
    return 0;
}

static int free_key(void **state)
{
    (void)state;
    sign_key_free(&key);
    return 0;
}

static struct audit *open_signed(const struct audit_file *file)
{
    return audit_file_open_signed(file, 1, &(struct audit_checkpoints){.key = key, .interval_ms = 1});
}

static int setup_signed(void **state)
{
    return set_up(state, open_signed);
}

/* 10.31: what somebody plants never keeps a row from its table, and the file is left, whether it was planted before a start or under
 * a running writer. */
TEST_CASE_WITH(test_planted, setup, teardown)
{
    static const char *const planted[] = {
        "CREATE TRIGGER silent BEFORE INSERT ON decision BEGIN SELECT RAISE(IGNORE); END",
        "CREATE TRIGGER other AFTER INSERT ON decision BEGIN UPDATE decision SET tool = 'x' WHERE seq = NEW.seq; END",
        "CREATE TRIGGER sweeper AFTER INSERT ON event BEGIN DELETE FROM erasure; END",
        "CREATE VIEW own AS SELECT 1", "DROP VIEW denial", "DROP TRIGGER decision_delete",
    };
    static const char *const named[] = {"silent", "other", "sweeper", "own", "denial", "decision_delete"};
    struct bench *bench = *state;

    for (size_t i = 0; i < sizeof planted / sizeof planted[0]; i++) {
        change(bench, planted[i]);
        call_some(bench, 3);
        rotated(bench, 1);
        audit_close(&bench->audit);
        change(bench, planted[i]);
        bench->audit = audit_file_open(&bench->file, 1);
        call_some(bench, 3);
        rotated(bench, 1);
        call_some(bench, 3);
    }
    audit_close(&bench->audit);
    assert_int_equal(audit_whole_sum(&bench->file, "SELECT count(*) FROM decision WHERE correlation = 'told' AND tool <> 'x'"),
                     bench->told);
    assert_int_equal(audit_whole_sum(&bench->file, "SELECT count(*) FROM event WHERE kind = 'sealed' AND detail LIKE '%why%'"),
                     2 * sizeof planted / sizeof planted[0]);
    for (size_t i = 0; i < sizeof named / sizeof named[0]; i++) {
        char sql[128];

        (void)snprintf(sql, sizeof sql, "SELECT count(*) FROM event WHERE kind = 'sealed' AND detail LIKE '%%its %s %%'", named[i]);
        assert_int_equal(audit_whole_sum(&bench->file, sql), 1); /* at the start; a running writer knows only that there is a change */
    }
}

static void end_call(struct bench *bench, uint64_t seq)
{
    const struct audit_result result = {.decision = seq, .outcome = OUTCOME_RESULT, .upstream_us = -1};

    audit_put_result(audit_ring(bench->audit, 0), &result);
}

static void call_until_told(struct bench *bench)
{
    const struct audit_decision call = audit_call("acme", "told");
    uint64_t ticket, seq = 0;

    for (int naps = 0; audit_put_decision(audit_ring(bench->audit, 0), &call, &ticket) != CODE_OK ||
                       audit_file_wait(audit_ring(bench->audit, 0), ticket, &seq) != AUDIT_DURABLE; naps++) {
        assert_true(naps < NAPS_MOST);
        nap();
    }
    end_call(bench, seq);
    bench->told++;
}

/* A verifier finds `text` in the file that was live then, and nothing wrong with its rows. */
static void expect_named(const char *path, const char *text)
{
    const struct verify_conf conf = {.path = path};
    static struct verify_report report;
    struct why why = {""};
    bool is_named = false;

    assert_int_equal(audit_verify(&conf, &report, &why), CODE_OK);
    for (size_t i = 0; i < report.fault_count && i < VERIFY_FAULTS_MAX; i++) {
        is_named = is_named || strstr(report.fault[i].text, text) != NULL;
        if (strcmp(report.fault[i].table, "schema") != 0)
            fail_msg("%s: row %lld %s.%s: %s", path, (long long)report.fault[i].seq, report.fault[i].table, report.fault[i].field,
                     report.fault[i].text);
    }
    if (!is_named)
        fail_msg("%s: nobody names %s", path, text);
}

/* In one transaction. Takes: last: asks for the number in it. */
static void plant(struct bench *bench, const char *sql, const char *last)
{
    char text[256];
    int64_t number = 0;
    struct why why = {""};
    struct db *db;

    assert_int_equal(db_open(bench->file.path, DB_WRITE, &db, &why), CODE_OK);
    assert_int_equal(db_begin(db), CODE_OK);
    assert_int_equal(db_number(db, last, NULL, 0, &number), CODE_OK);
    (void)snprintf(text, sizeof text, "%.200s", sql);
    if (strstr(sql, "(LAST)") != NULL)
        (void)snprintf(text, sizeof text, "%.*s%lld", (int)(strstr(sql, "(LAST)") - sql), sql, (long long)number);
    assert_int_equal(db_exec(db, text), CODE_OK);
    assert_int_equal(db_commit(db), CODE_OK);
    db_close(&db);
}

/* 10.31: what makes rows impossible, planted in the live file: it is left, sealed where it takes an event, and named by a verifier; the
 * audit goes on in the next one, with the permit that was open. */
static void left(struct bench *bench, const char *sql, const char *last, bool runs, const char *named, bool is_sealed)
{
    const struct audit_decision call = audit_call("acme", "told");
    char before[FILES_PATH_BYTES];
    uint64_t seq;

    assert_int_equal(audit_file_wait(audit_ring(bench->audit, 0), audit_file_put(audit_ring(bench->audit, 0), &call), &seq), AUDIT_DURABLE);
    bench->told++;
    assert_int_equal(files_live(bench->file.path, before), CODE_OK);
    if (runs) {
        plant(bench, sql, last);
    } else {
        end_call(bench, seq);
        audit_close(&bench->audit);
        plant(bench, sql, last);
        bench->audit = bench->open(&bench->file);
    }
    call_until_told(bench);
    call_until_told(bench);
    rotated(bench, 1);
    if (runs) /* of a permit in the file that was left */
        end_call(bench, seq);
    call_until_told(bench);
    assert_int_equal(files_live(bench->file.path, bench->live), CODE_OK);
    assert_string_not_equal(bench->live, before);
    audit_close(&bench->audit);
    expect_named(before, named);
    assert_int_equal(audit_file_number(&bench->file, "SELECT count(*) FROM event WHERE kind = 'continued' AND "
                                       "detail ->> 'unsealed' IS NOT NULL"), !is_sealed);
    assert_int_equal(audit_file_number(&bench->file, "SELECT count(*) FROM outcome WHERE outcome = 'unknown'"), 0);
    assert_int_equal(audit_whole_sum(&bench->file, "SELECT count(*) FROM decision WHERE correlation = 'told'"), bench->told);
    bench->audit = bench->open(&bench->file);
}

TEST_ALSO_WITH(test_rows_refused, test_rows_refused_signed, setup_signed, teardown)
TEST_CASE_WITH(test_rows_refused, setup, teardown)
{
    static const struct { const char *index, *last; bool takes_seal; } planted[] = {
        {"CREATE UNIQUE INDEX theirs ON decision(verdict) WHERE seq >= (LAST)", "SELECT max(seq) FROM decision", true},
        {"CREATE UNIQUE INDEX theirs ON outcome(outcome) WHERE seq >= (LAST)", "SELECT max(seq) FROM outcome", true},
        {"CREATE UNIQUE INDEX theirs ON event(actor) WHERE actor = 'gate' AND seq >= (LAST)", "SELECT max(seq) FROM event", false},
    };
    struct bench *bench = *state;

    call_some(bench, 3);
    for (size_t i = 0; i < 2 * sizeof planted / sizeof planted[0]; i++) {
        call_until_told(bench);
        left(bench, planted[i / 2].index, planted[i / 2].last, i % 2 == 0, "theirs is not of the gate's making", planted[i / 2].takes_seal);
    }
}

TEST_ALSO_WITH(test_other_tables, test_other_tables_signed, setup_signed, teardown)
TEST_CASE_WITH(test_other_tables, setup, teardown)
{
    static const struct { const char *sql, *named; } planted[] = {
        {"ALTER TABLE decision RENAME TO kept; CREATE VIEW decision AS SELECT * FROM kept", "decision is not as the gate made it"},
        {"ALTER TABLE event ADD COLUMN more TEXT", "event is not as the gate made it"},
        {"ALTER TABLE checkpoint RENAME TO kept; CREATE VIEW checkpoint AS SELECT * FROM kept", "checkpoint is not as the gate made it"},
        {"ALTER TABLE tenant_start RENAME TO kept; CREATE VIEW tenant_start AS SELECT * FROM kept",
         "tenant_start is not as the gate made it"},
        {"ALTER TABLE tenant_head RENAME TO kept; CREATE VIEW tenant_head AS SELECT * FROM kept",
         "tenant_head is not as the gate made it"},
        {"ALTER TABLE head_mark RENAME TO kept; CREATE VIEW head_mark AS SELECT * FROM kept",
         "head_mark is not as the gate made it"},
        {"ALTER TABLE permit_start RENAME TO kept; CREATE VIEW permit_start AS SELECT * FROM kept",
         "permit_start is not as the gate made it"},
    };
    struct bench *bench = *state;

    call_some(bench, 3);
    for (size_t i = 0; i < 2 * sizeof planted / sizeof planted[0]; i++)
        left(bench, planted[i / 2].sql, "SELECT 0", i % 2 == 0, planted[i / 2].named, false);
}

/* 10.31: what a file that is left says of open permits is what the next one begins with, also where outcomes came with the row that was
 * refused. */
TEST_CASE_WITH(test_seal_counts_what_is_open, setup, teardown)
{
    const struct audit_decision call = audit_call("acme", "told");
    struct bench *bench = *state;
    uint64_t seqs[3];

    for (size_t i = 0; i < sizeof seqs / sizeof seqs[0]; i++, bench->told++)
        assert_int_equal(audit_file_wait(audit_ring(bench->audit, 0), audit_file_put(audit_ring(bench->audit, 0), &call), &seqs[i]),
                         AUDIT_DURABLE);
    plant(bench, "CREATE UNIQUE INDEX theirs ON decision(verdict) WHERE seq >= (LAST)", "SELECT max(seq) FROM decision");
    end_call(bench, seqs[0]);
    end_call(bench, seqs[1]);
    call_until_told(bench);
    rotated(bench, 1);
    end_call(bench, seqs[2]);
    audit_close(&bench->audit);
    assert_int_equal(audit_whole_sum(&bench->file, "SELECT detail ->> 'open_permits' FROM event WHERE kind = 'sealed'"),
                     audit_file_number(&bench->file, "SELECT count(*) FROM permit_start"));
}

/* 10.31: what is no schema, but says whose a file is: put right again, and told. */
TEST_CASE_WITH(test_other_numbers, setup_signed, teardown)
{
    static const char *const numbers[] = {"PRAGMA application_id = 7", "PRAGMA user_version = 9"};
    struct bench *bench = *state;

    for (size_t i = 0; i < 2 * sizeof numbers / sizeof numbers[0]; i++) {
        call_until_told(bench);
        if (i % 2 == 0) {
            change(bench, numbers[i / 2]);
        } else {
            audit_close(&bench->audit);
            change(bench, numbers[i / 2]);
            bench->audit = bench->open(&bench->file);
        }
        call_until_told(bench);
        rotated(bench, 1);
        audit_close(&bench->audit);
        bench->audit = bench->open(&bench->file);
    }
    expect_all(bench, "is not as the gate made it");
}

/* 10.31: rows that cannot be read are a loss, which no start passes over. */
TEST_CASE_WITH(test_row_tables_gone, setup, teardown)
{
    struct bench *bench = *state;
    const struct audit_conf conf = {.path = bench->file.path, .rings = 1};
    struct why why = {""};

    call_some(bench, 3);
    audit_close(&bench->audit);
    change(bench, "ALTER TABLE decision RENAME TO kept");
    assert_int_not_equal(audit_open(&conf, &bench->audit, &why), CODE_OK);
    assert_non_null(strstr(why.text, "keep the file as evidence"));
    change(bench, "ALTER TABLE kept RENAME TO decision");
    bench->audit = bench->open(&bench->file);
}

TEST_MAIN(make_key, free_key)
