/* SPDX-License-Identifier: Apache-2.0 */
/* 3.1: a file that continues another: numbers, tree, heads of tenants and proofs go on over both. What an archive leaves is
 * made here by hand, from schema/audit-format.md. */
#include "rows/row.h"
#include "rows/schema.h"
#include "evidence/prove.h"
#include "evidence/verify.h"
#include "fakes/audit_file.h"

#include "fakes/cm.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct bench {
    struct audit_file first, second;
    struct sign_key *key;
    struct note_key known;
    struct audit_checkpoints conf;
    char heads[128];
    char named[1024]; /* the second, by its first row */
};

static int setup(void **state)
{
    struct bench *bench = calloc(1, sizeof *bench);
    struct buf pem;

    audit_file_init(&bench->first);
    audit_file_init(&bench->second);
    (void)snprintf(bench->heads, sizeof bench->heads, "%s.heads", bench->first.path);
    buf_init(&pem, 4096);
    assert_int_equal(sign_key_make(&pem), CODE_OK);
    assert_int_equal(sign_key_read(buf_peek(&pem), &bench->key), CODE_OK);
    assert_int_equal(sign_key_public(bench->key, bench->known.public), CODE_OK);
    buf_fini(&pem);
    bench->conf = (struct audit_checkpoints){.key = bench->key, .file = bench->heads, .interval_ms = 3600 * 1000, .rows = 7};
    *state = bench;
    return 0;
}

static int teardown(void **state)
{
    struct bench *bench = *state;

    audit_file_fini(&bench->first);
    audit_file_fini(&bench->second);
    sign_key_free(&bench->key);
    free(bench);
    return 0;
}

static void run(struct bench *bench, const struct audit_file *file, int calls)
{
    struct audit *audit = audit_file_open_signed(file, 1, &bench->conf);

    for (int i = 0; i < calls; i++)
        (void)audit_file_call(audit_ring(audit, 0), i % 3 == 0 ? "acme" : i % 3 == 1 ? "beta" : "gone", "c");
    audit_close(&audit);
}

static void copy(struct db *to, const char *sql, struct db *from, const char *select, int columns)
{
    struct db_stmt *read, *write;

    assert_int_equal(db_prepare(from, select, &read), CODE_OK);
    assert_int_equal(db_prepare(to, sql, &write), CODE_OK);
    while (db_step(read) == CODE_OK) {
        for (int i = 0; i < columns; i++) {
            struct row_value value = row_read(read, i);

            row_bind(write, i + 1, &value);
        }
        assert_int_equal(db_run(write), CODE_OK);
    }
    db_finalize(&read);
    db_finalize(&write);
}

static void write_file_row(struct db *db, int64_t seq, struct span previous)
{
    struct row_value values[F_COUNT] = {
        [F_SEQ] = row_int(seq), [F_FORMAT] = row_int(1), [F_CREATED] = row_int(5), [F_ID] = row_blob("0123456789abcdef", 16),
        [F_PREVIOUS] = row_blob(previous.at, previous.len),
    };
    unsigned char hash[DIGEST_BYTES];
    struct row_value hashed;
    struct db_stmt *stmt;

    row_hash(ROW_FILE, values, (const unsigned char *)previous.at, hash);
    assert_int_equal(row_prepare_insert(db, ROW_FILE, &stmt), CODE_OK);
    for (int i = 0; i < F_COUNT; i++)
        row_bind(stmt, i + 1, &values[i]);
    hashed = row_blob(hash, sizeof hash);
    row_bind(stmt, F_COUNT + 1, &hashed);
    assert_int_equal(db_run(stmt), CODE_OK);
    db_finalize(&stmt);
}

/* Gives it the name of its first row. */
static void link_second(struct bench *bench, int64_t first)
{
    char base[64];

    (void)snprintf(base, sizeof base, "audit-1970-01-01-%012lld.db", (long long)first);
    (void)snprintf(bench->named, sizeof bench->named, "%s/%s", bench->second.folder, base);
    assert_int_equal(rename(bench->second.path, bench->named), 0);
    assert_int_equal(symlink(base, bench->second.path), 0);
}

/* The second file, as the first one's archive would leave it. */
static void go_on(struct bench *bench)
{
    int64_t first_seq;
    struct db *first, *second;
    struct db_stmt *stmt;
    char pragmas[96];

    assert_int_equal(db_open(bench->first.path, DB_READ, &first, NULL), CODE_OK);
    assert_int_equal(db_open(bench->second.path, DB_CREATE, &second, NULL), CODE_OK);
    assert_int_equal(db_exec(second, audit_schema), CODE_OK);
    (void)snprintf(pragmas, sizeof pragmas, "PRAGMA application_id = %d; PRAGMA user_version = %d", AUDIT_APPLICATION_ID,
                   AUDIT_SCHEMA_VERSION);
    assert_int_equal(db_exec(second, pragmas), CODE_OK);
    assert_int_equal(db_prepare(first, "SELECT seq, hash FROM entry ORDER BY seq DESC LIMIT 1", &stmt), CODE_OK);
    assert_int_equal(db_step(stmt), CODE_OK);
    first_seq = db_int(stmt, 0) + 1;
    write_file_row(second, first_seq - 1, db_blob(stmt, 1));
    db_finalize(&stmt);
    copy(second, "INSERT INTO checkpoint VALUES (?, ?, ?, ?)", first, "SELECT * FROM checkpoint ORDER BY size DESC LIMIT 1", 4);
    copy(second, "INSERT INTO tenant_start VALUES (?, ?, ?)", first,
         "SELECT tenant, seq, hash FROM entry WHERE seq IN (SELECT max(seq) FROM entry WHERE tenant IS NOT NULL GROUP BY tenant)", 3);
    db_close(&first);
    db_close(&second);
    link_second(bench, first_seq);
}

static struct buf heads_of(const struct bench *bench)
{
    struct buf text;
    char bytes[65536];
    int fd = open(bench->heads, O_RDONLY | O_CLOEXEC);
    ssize_t got;

    buf_init(&text, 1 << 20);
    while ((got = read(fd, bytes, sizeof bytes)) > 0)
        assert_int_equal(buf_add(&text, bytes, (size_t)got), CODE_OK);
    (void)close(fd);
    return text;
}

static void verify(const struct bench *bench, const char *path, struct verify_report *report)
{
    struct buf heads = heads_of(bench);
    const struct verify_conf conf = {.path = path, .keys = keyring_of(&bench->known), .heads = buf_peek(&heads)};
    struct why why = {""};

    if (audit_verify(&conf, report, &why) != CODE_OK)
        fail_msg("%s", why.text);
    for (size_t i = 0; i < report->fault_count; i++)
        print_message("row %lld, %s.%s: %s\n", (long long)report->fault[i].seq, report->fault[i].table, report->fault[i].field,
                      report->fault[i].text);
    buf_fini(&heads);
}

static void check_proof(const struct bench *bench, const struct buf *proof)
{
    struct proof_report report;

    assert_int_equal(audit_check_proof(buf_peek(proof), keyring_of(&bench->known), SPAN_NONE, &report), CODE_OK);
    assert_string_equal(report.fault, "");
    assert_true(report.is_signed);
}

static enum code keep_text(void *context, struct span text)
{
    return buf_add_span(context, text);
}

static void test_proofs_over_two_files(const struct bench *bench, const struct verify_report *second)
{
    struct buf proof, old;
    struct why why = {""};

    buf_init(&proof, 1 << 20);
    buf_init(&old, 1 << 16);
    for (int64_t seq = second->first_seq; seq <= second->last_seq; seq++) {
        buf_clear(&proof);
        if (audit_prove_row(bench->second.path, (uint64_t)seq, 0, &proof, &why) != CODE_OK)
            fail_msg("row %lld: %s", (long long)seq, why.text);
        check_proof(bench, &proof);
    }
    assert_int_equal(audit_prove_row(bench->second.path, 1, 0, &proof, &why), CODE_NOT_FOUND);
    assert_int_equal(audit_find_checkpoint(bench->first.path, 0, &old, &why), CODE_OK); /* the sealed one */
    buf_clear(&proof);
    assert_int_equal(audit_prove_consistency(bench->second.path, buf_peek(&old), 0, &proof, &why), CODE_OK);
    check_proof(bench, &proof);
    buf_clear(&proof);
    assert_int_equal(audit_prove_tenant(bench->second.path, SPAN_LIT("acme"), 0, keep_text, &proof, &why), CODE_OK);
    check_proof(bench, &proof);
    buf_fini(&old);
    buf_fini(&proof);
}

TEST_CASE_WITH(test_two_files, setup, teardown)
{
    struct bench *bench = *state;
    struct verify_report first, second;

    run(bench, &bench->first, 5);
    run(bench, &bench->first, 6); /* each end has its checkpoint, so that one is of a size before the second file's begin */
    verify(bench, bench->first.path, &first);
    assert_true(first.fault_count == 0 && first.heads > 0 && first.heads_elsewhere == 0);
    go_on(bench);
    run(bench, &bench->second, 13);
    run(bench, &bench->second, 2);
    verify(bench, bench->second.path, &second);
    assert_int_equal(second.fault_count, 0);
    assert_int_equal(second.first_seq, first.last_seq + 1);
    assert_int_equal(second.proven_seq, second.last_seq);
    assert_true(second.heads > 0 && second.heads_elsewhere > 0 && second.tenants == 3);
    test_proofs_over_two_files(bench, &second);
}

/* What does not fit together is found. */
TEST_CASE_WITH(test_other_beginnings, setup, teardown)
{
    static const char *const changes[] = {
        "DELETE FROM tenant_start WHERE tenant = 'acme'", "UPDATE tenant_start SET hash = randomblob(32) WHERE tenant = 'beta'",
        "UPDATE tenant_start SET seq = seq - 1 WHERE tenant = 'gone'",
        "DROP TRIGGER checkpoint_delete; DELETE FROM checkpoint WHERE size = (SELECT min(size) FROM checkpoint)",
        "DROP TRIGGER checkpoint_update; UPDATE checkpoint SET peaks = randomblob(length(peaks)) WHERE size = (SELECT min(size) "
        "FROM checkpoint)",
    };
    struct bench *bench = *state;
    struct verify_report report;

    run(bench, &bench->first, 6);
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        struct db *db;

        (void)unlink(bench->second.path);
        (void)unlink(bench->named);
        go_on(bench);
        run(bench, &bench->second, 4);
        assert_int_equal(db_open(bench->second.path, DB_WRITE, &db, NULL), CODE_OK);
        if (db_exec(db, changes[i]) != CODE_OK)
            fail_msg("%s: %s", changes[i], db_error(db));
        db_close(&db);
        verify(bench, bench->second.path, &report);
        if (report.fault_count == 0)
            fail_msg("not found: %s", changes[i]);
        (void)unlink(bench->heads); /* each second file is another one */
        run(bench, &bench->first, 0);
    }
}

TEST_MAIN(NULL, NULL)
