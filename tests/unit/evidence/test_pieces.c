/* SPDX-License-Identifier: Apache-2.0 */
/* 14.6: rows that come piece by piece from elsewhere than a file are verified as a file's are: whatever is changed is found, and
 * told in the same words. Rows that are gone leave their hashes, which prove what is left. */
#include "evidence/pieces.h"

#include "verify_bench.h"

#include "fakes/sample.h"

/* A file as a source. */
struct source {
    struct pieces pieces;
    struct db *file;
    struct verify_source source;
    struct walk walk;
    int64_t from; /* rows before this number do not come */
};

static void put_events(struct source *source)
{
    struct walk walk;
    struct walk_row row;
    enum code code;

    assert_int_equal(walk_init(&walk, source->file, INT64_MIN, INT64_MAX), CODE_OK);
    while ((code = walk_next(&walk, &row)) == CODE_OK)
        if (row.table == ROW_EVENT)
            assert_int_equal(pieces_put(&source->pieces, &row), CODE_OK);
    assert_int_equal(code, CODE_NOT_FOUND);
    walk_fini(&walk);
}

static enum code next_row(void *context, struct walk_row *row)
{
    struct source *source = context;
    enum code code;

    do
        code = walk_next(&source->walk, row);
    while (code == CODE_OK && row->seq < source->from);
    return code;
}

static void open_source(struct source *source, const char *path)
{
    struct why why = {""};
    struct db_stmt *stmt;
    struct walk_row row;
    enum code code;

    *source = (struct source){.from = INT64_MIN};
    assert_int_equal(pieces_init(&source->pieces), CODE_OK);
    assert_int_equal(db_open(path, DB_READ, &source->file, &why), CODE_OK);
    code = walk_file(source->file, &stmt, &row);
    if (code == CODE_OK)
        assert_int_equal(pieces_put(&source->pieces, &row), CODE_OK);
    db_finalize(&stmt);
    put_events(source);
    code = db_prepare(source->file, "SELECT size, time_us, peaks, note FROM checkpoint", &stmt);
    while (db_next(&stmt, &code))
        assert_int_equal(pieces_put_mark(&source->pieces, db_int(stmt, 0), db_int(stmt, 1), db_blob(stmt, 2), db_text(stmt, 3)),
                         CODE_OK);
    source->source = (struct verify_source){.db = source->pieces.db,
                                             .next = next_row, .context = source, .marked = INT64_MAX};
    assert_int_equal(db_number(source->file, ROW_MAX_SEQ, NULL, 0, &source->source.last), CODE_OK);
    assert_int_equal(walk_init(&source->walk, source->file, INT64_MIN, INT64_MAX), CODE_OK);
}

static void close_source(struct source *source)
{
    walk_fini(&source->walk);
    pieces_fini(&source->pieces);
    db_close(&source->file);
}

static void verify_source(struct source *source, const struct note_key *key, struct verify_report *out)
{
    const struct verify_conf conf = {.path = "node", .source = &source->source, .keys = keyring_of(key)};
    struct why why = {""};

    if (audit_verify(&conf, out, &why) != CODE_OK)
        fail_msg("%s", why.text);
}

/* What is a file's alone. Values that are gone, as a source has it, stayed in the file. */
static bool is_around(const struct verify_fault *fault)
{
    return strcmp(fault->table, "schema") == 0 || strcmp(fault->table, "index") == 0 || strstr(fault->text, "its values are gone") != NULL;
}

/* A file and its rows from elsewhere have the same faults, but for what is around the evidence. */
static void expect_same(const char *path, const char *sql)
{
    struct verify_report other;
    struct source source;
    size_t at = 0;

    verify(path);
    open_source(&source, path);
    verify_source(&source, NULL, &other);
    for (size_t i = 0; i < report.fault_count && i < VERIFY_FAULTS_MAX; i++) {
        const struct verify_fault *fault = &report.fault[i];

        if (is_around(fault))
            continue;
        if (at >= other.fault_count || other.fault[at].seq != fault->seq || strcmp(other.fault[at].text, fault->text) != 0)
            fail_msg("%s: the file's row %lld: %s; the source's: %s", sql, (long long)fault->seq, fault->text,
                     at < other.fault_count ? other.fault[at].text : "nothing");
        at++;
    }
    if (report.fault_count < VERIFY_FAULTS_MAX)
        assert_int_equal(at, other.fault_count);
    assert_int_equal(report.rows, other.rows);
    close_source(&source);
}

TEST_CASE_WITH(test_whole, setup, teardown)
{
    struct bench *bench = *state;
    struct verify_report other;
    struct source source;

    expect_same(new_copy(bench), "whole");
    assert_int_equal(report.fault_count, 0);
    open_source(&source, bench->file.path);
    verify_source(&source, NULL, &other);
    assert_true(other.decisions == 6 && other.outcomes == 5 && other.events == 4 && other.tenants == 3 && other.erased == 1);
    assert_memory_equal(other.head, report.head, DIGEST_BYTES);
    close_source(&source);
}

static void tamper_column(struct bench *bench, enum row_table table, const char *column)
{
    static const char *const changes[] = {"NULL", "1", "x'30313233343536373031323334353637'", "'x'"};
    const char *name = row_shape(table)->name;

    static unsigned tried;

    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++)
        for (int empty = 0; empty < 2; empty++) {
            const char *path;
            char sql[512];

            if (tried++ % sample_step() != 0)
                continue;
            path = new_copy(bench);

            (void)snprintf(sql, sizeof sql, "UPDATE %s SET %s = %s WHERE seq = (SELECT max(seq) FROM %s WHERE %s IS %s NULL)",
                           name, column, changes[i], name, column, empty == 1 ? "" : "NOT");
            if (tamper(bench, path, sql))
                expect_same(path, sql);
            (void)unlink(path);
            free(bench->copies[--bench->copy_count]);
        }
}

TEST_CASE_WITH(test_each_column, setup, teardown)
{
    struct bench *bench = *state;

    for (enum row_table table = ROW_FILE; table < ROW_TABLES; table++) {
        const struct row_shape *shape = row_shape(table);

        for (int i = 0; i < shape->count; i++)
            tamper_column(bench, table, shape->columns[i]);
        for (int i = 0; i < shape->outside; i++)
            tamper_column(bench, table, shape->outside_columns[i]);
        tamper_column(bench, table, "hash");
    }
}

TEST_CASE_WITH(test_rows_moved, setup, teardown)
{
    static const char *const changes[] = {
        "DELETE FROM decision WHERE correlation = 'c-2'",
        "DELETE FROM decision",
        "DELETE FROM outcome WHERE seq = (SELECT max(seq) FROM outcome)",
        "DELETE FROM event WHERE kind = 'key_made'",
        "DELETE FROM event",
        "DELETE FROM file",
        "UPDATE outcome SET seq = seq + 1000 WHERE seq = (SELECT max(seq) FROM outcome)",
        "UPDATE decision SET seq = -1 WHERE seq = (SELECT min(seq) FROM decision)",
        "INSERT INTO event SELECT 5, time_us, NULL, NULL, 'reload', actor, NULL, hash FROM event WHERE kind = 'stop'",
        "INSERT INTO event SELECT 16, time_us, NULL, NULL, 'reload', actor, NULL, hash FROM event WHERE kind = 'stop'",
        "INSERT INTO checkpoint VALUES (99, 0, x'00', 'x')",
    };
    struct bench *bench = *state;

    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        const char *path = new_copy(bench);

        assert_true(tamper(bench, path, changes[i]));
        expect_same(path, changes[i]);
    }
}

/* ---- rows that are gone ---- */

struct rig {
    struct bench bench;
    struct sign_key *key;
    struct note_key known;
};

static int make_signed(void **state)
{
    struct rig *rig = calloc(1, sizeof *rig);
    struct audit_checkpoints checkpoints = {.interval_ms = 1};
    struct audit *audit;

    audit_file_init(&rig->bench.file);
    checkpoints.key = rig->key = new_key(&rig->known);
    audit = audit_file_open_signed(&rig->bench.file, 1, &checkpoints);
    for (int i = 0; i < 10; i++)
        audit_file_await_signed(audit, audit_file_call(audit_ring(audit, 0), i % 3 == 0 ? "beta" : "acme", "c"));
    audit_close(&audit);
    *state = rig;
    return 0;
}

static int remove_signed(void **state)
{
    struct rig *rig = *state;

    sign_key_free(&rig->key);
    audit_file_fini(&rig->bench.file);
    free(rig);
    return 0;
}

/* Rows up to a checkpoint are gone, and behind it those of one tenant, whose hashes were kept. */
static void cut(struct source *source, int64_t *size)
{
    struct db_stmt *stmt;
    enum code code;

    assert_int_equal(db_number(source->file, "SELECT size FROM checkpoint WHERE size >= 8 ORDER BY size LIMIT 1", NULL, 0, size), CODE_OK);
    source->source.is_cut = true;
    source->source.cut_seq = *size;
    assert_int_equal(db_find(source->file, "SELECT hash FROM entry WHERE seq = ?", DB_VALUES(db_of_int(*size)), &stmt), CODE_OK);
    memcpy(source->source.cut_hash, db_blob(stmt, 0).at, DIGEST_BYTES);
    db_finalize(&stmt);
    code = db_select(source->file, "SELECT seq, hash, tenant FROM entry WHERE seq > ? AND tenant = 'beta'",
                     DB_VALUES(db_of_int(*size)), &stmt);
    while (db_next(&stmt, &code))
        assert_int_equal(pieces_put_kept(&source->pieces, db_int(stmt, 0), db_blob(stmt, 1), db_text(stmt, 2)), CODE_OK);
    assert_int_equal(db_change(source->pieces.db, "DELETE FROM event WHERE seq <= ?", DB_VALUES(db_of_int(*size))), CODE_OK);
    assert_int_equal(db_change(source->pieces.db, "DELETE FROM checkpoint WHERE size < ?", DB_VALUES(db_of_int(*size))), CODE_OK);
    assert_int_equal(db_exec(source->pieces.db, "DELETE FROM file"), CODE_OK);
}

static enum code next_acme(void *context, struct walk_row *row)
{
    enum code code;

    do
        code = next_row(context, row);
    while (code == CODE_OK && row->table != ROW_EVENT && span_is(row->values[D_TENANT].bytes, "beta"));
    return code;
}

TEST_CASE_WITH(test_gone, make_signed, remove_signed)
{
    static const char *const changes[] = {
        NULL,
        "UPDATE kept SET hash = zeroblob(32) WHERE seq = (SELECT max(seq) FROM kept)",
        "DELETE FROM kept WHERE seq = (SELECT min(seq) FROM kept)",
        "INSERT INTO kept SELECT seq, hash, tenant FROM kept ORDER BY seq LIMIT 1",
        "UPDATE checkpoint SET peaks = zeroblob(length(peaks)) WHERE size = (SELECT min(size) FROM checkpoint)",
        "UPDATE kept SET tenant = 'acme'",
    };
    struct rig *rig = *state;

    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        struct verify_report other;
        struct source source;
        int64_t size;

        open_source(&source, rig->bench.file.path);
        cut(&source, &size);
        source.from = size + 1;
        source.source.next = next_acme;
        if (changes[i] != NULL)
            assert_int_equal(db_exec(source.pieces.db, changes[i]), CODE_OK);
        verify_source(&source, &rig->known, &other);
        if ((other.fault_count > 0) != (changes[i] != NULL))
            fail_msg("%s: %s", changes[i], other.fault_count > 0 ? other.fault[0].text : "no fault");
        if (changes[i] == NULL)
            assert_true(other.is_proven && other.kept > 0 && other.rows > 0 && other.first_seq > size);
        close_source(&source);
    }
}

TEST_MAIN(NULL, NULL)
