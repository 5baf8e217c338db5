/* SPDX-License-Identifier: Apache-2.0 */
/* 4.5: a start compares the database with the file of its checkpoints. An older copy, a lost -wal file, an end that was cut off
 * and another history are refused, or recorded by whoever goes on; a file of checkpoints that was damaged is told. */
#include "audit/kept_priv.h"
#include "evidence/verify.h"
#include "audit/files_priv.h"
#include "fakes/audit_file.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct bench {
    struct audit_file file;
    struct audit_checkpoints conf;
    struct sign_key *key;
    char heads[128], copy[128];
    struct why why;
    char text[1 << 16]; /* of heads */
    size_t len;
};

static void new_key(struct sign_key **key)
{
    struct buf pem;

    buf_init(&pem, 4096);
    assert_int_equal(sign_key_make(&pem), CODE_OK);
    assert_int_equal(sign_key_read(buf_peek(&pem), key), CODE_OK);
    buf_fini(&pem);
}

static int setup(void **state)
{
    struct bench *bench = calloc(1, sizeof *bench);

    audit_file_init(&bench->file);
    (void)snprintf(bench->heads, sizeof bench->heads, "%s.heads", bench->file.path);
    (void)snprintf(bench->copy, sizeof bench->copy, "%s/copy", bench->file.folder);
    new_key(&bench->key);
    bench->conf = (struct audit_checkpoints){.key = bench->key, .file = bench->heads, .interval_ms = 5, .rows = 1000000};
    *state = bench;
    return 0;
}

static int teardown(void **state)
{
    struct bench *bench = *state;

    audit_file_fini(&bench->file);
    sign_key_free(&bench->key);
    free(bench);
    return 0;
}

static void copy_file(const char *from, const char *to)
{
    static char bytes[1 << 20];
    FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
    size_t n;

    assert_true(in != NULL && out != NULL);
    while ((n = fread(bytes, 1, sizeof bytes, in)) > 0)
        assert_int_equal(fwrite(bytes, 1, n, out), n);
    fclose(in);
    fclose(out);
}

/* The live file and the link to it. */
static void lose(const struct bench *bench)
{
    char live[FILES_PATH_BYTES];

    assert_int_equal(files__live(bench->file.path, live), CODE_OK);
    files__remove(live);
    assert_int_equal(unlink(bench->file.path), 0);
}

static enum code open_audit(struct bench *bench, const char *accepted, struct audit **audit)
{
    const struct audit_conf conf = {.path = bench->file.path, .rings = 1, .node = "node-1", .version = SPAN_LIT("0.1.0"),
                                    .checkpoints = bench->conf, .loss = {.why = accepted, .actor = "ada"}};
    enum code code = audit_open(&conf, audit, &bench->why);

    if (code == CODE_OK)
        assert_int_equal(audit_start(*audit, &bench->why), CODE_OK);
    return code;
}

static void run(struct bench *bench, const char *accepted, int calls)
{
    struct audit *audit;

    if (open_audit(bench, accepted, &audit) != CODE_OK)
        fail_msg("%s", bench->why.text);
    for (int i = 0; i < calls; i++)
        (void)audit_file_call(audit_ring(audit, 0), "acme", "c");
    audit_close(&audit);
}

static void refused(struct bench *bench, const char *accepted, const char *word)
{
    struct audit *audit;

    bench->why.text[0] = '\0';
    assert_int_equal(open_audit(bench, accepted, &audit), CODE_INVALID);
    if (strstr(bench->why.text, word) == NULL)
        fail_msg("no \"%s\" in: %s", word, bench->why.text);
}

static long long events(const struct bench *bench, const char *kind)
{
    char sql[128];

    (void)snprintf(sql, sizeof sql, "SELECT count(*) FROM event WHERE kind = '%s'", kind);
    return audit_file_number(&bench->file, sql);
}

static void read_heads(struct bench *bench)
{
    FILE *file = fopen(bench->heads, "rb");

    assert_non_null(file);
    bench->len = fread(bench->text, 1, sizeof bench->text, file);
    fclose(file);
    assert_true(bench->len > 0 && bench->len < sizeof bench->text);
}

static void write_heads(struct bench *bench, const char *text, size_t len)
{
    FILE *file = fopen(bench->heads, "wb");

    assert_true(file != NULL && fwrite(text, 1, len, file) == len);
    fclose(file);
}

static const struct verify_report *verify(struct bench *bench, bool with_heads)
{
    static struct verify_report report;
    struct verify_conf conf = {.path = bench->file.path};

    if (with_heads) {
        read_heads(bench);
        conf.heads = span_of(bench->text, bench->len);
    }
    assert_int_equal(audit_verify(&conf, &report, &bench->why), CODE_OK);
    return &report;
}

/* ---- losses ------------------------------------------------------------------------------------------------------ */

static void test_healthy(void **state)
{
    struct bench *bench = *state;

    for (int i = 0; i < 3; i++)
        run(bench, NULL, i);
    refused(bench, "to be safe", "nothing that its checkpoints cover is lost");
    run(bench, NULL, 1);
    assert_int_equal(events(bench, "loss_accepted") + events(bench, "heads_damaged"), 0);
    assert_int_equal(verify(bench, true)->fault_count, 0);
}

static void test_older_copy(void **state)
{
    struct bench *bench = *state;
    const struct verify_report *report;
    long long rows;

    run(bench, NULL, 2);
    copy_file(bench->file.path, bench->copy);
    rows = audit_file_number(&bench->file, "SELECT max(seq) FROM entry");
    run(bench, NULL, 5);
    copy_file(bench->copy, bench->file.path);
    refused(bench, NULL, "--continue-after-loss");
    assert_non_null(strstr(bench->why.text, "older copy"));
    assert_int_equal(audit_file_number(&bench->file, "SELECT max(seq) FROM entry"), rows); /* nothing was written over it */

    run(bench, "the disk broke", 1);
    assert_int_equal(audit_file_number(&bench->file, "SELECT seq FROM event WHERE kind = 'loss_accepted'"), rows + 1);
    assert_string_equal(audit_file_ask(&bench->file, "SELECT actor || ': ' || (detail ->> 'why') || ', ' || (detail ->> 'fault') "
                                       "FROM event WHERE kind = 'loss_accepted'"), "ada: the disk broke, shorter");
    assert_int_equal(audit_file_number(&bench->file, "SELECT detail ->> 'rows' FROM event WHERE kind = 'loss_accepted'"), rows);
    report = verify(bench, false);
    assert_int_equal(report->fault_count, 0);
    assert_int_equal(report->losses, 1);
    report = verify(bench, true); /* who kept what was signed sees it */
    assert_true(report->fault_count > 0);
    assert_non_null(strstr(report->fault[0].text, "loss_accepted"));
    assert_int_equal(report->fault[0].seq, rows + 1);

    run(bench, NULL, 1); /* the same loss is accepted once */
    copy_file(bench->file.path, bench->copy);
    run(bench, NULL, 1);
    copy_file(bench->copy, bench->file.path);
    refused(bench, NULL, "older copy"); /* and no other is covered by that */
}

/* A start that meets a file which ends early, whatever its own end says. */
static void test_cut_end(void **state)
{
    struct bench *bench = *state;
    struct audit *audit;
    struct why why;
    struct db *db;

    run(bench, NULL, 3);
    assert_int_equal(db_open(bench->file.path, DB_WRITE, &db, &why), CODE_OK);
    assert_int_equal(db_exec(db, "DROP TRIGGER event_delete; DROP TRIGGER checkpoint_delete; DELETE FROM event WHERE kind = 'stop'; "
                                 "DELETE FROM checkpoint WHERE size > (SELECT max(seq) FROM outcome)"), CODE_OK);
    db_close(&db);
    refused(bench, NULL, "its end was cut off");
    assert_int_equal(open_audit(bench, "known", &audit), CODE_OK);
    audit_close(&audit);
    assert_int_equal(events(bench, "crash"), 1);
}

/* As many rows and more, but not those. */
static void test_other_history(void **state)
{
    struct bench *bench = *state;

    run(bench, NULL, 1);
    copy_file(bench->file.path, bench->copy);
    run(bench, NULL, 3);
    read_heads(bench);
    copy_file(bench->copy, bench->file.path);
    (void)unlink(bench->heads);
    run(bench, NULL, 9);
    write_heads(bench, bench->text, bench->len);
    refused(bench, NULL, "another history");
    run(bench, "restored", 1);
    run(bench, NULL, 1);
    assert_int_equal(verify(bench, false)->losses, 1);
    assert_true(verify(bench, true)->fault_count > 0);
}

static void test_replaced(void **state)
{
    struct bench *bench = *state;

    run(bench, NULL, 1);
    lose(bench);
    refused(bench, NULL, "begins anew");
    run(bench, "a new house", 1);
    assert_int_equal(audit_file_number(&bench->file, "SELECT seq FROM event WHERE kind = 'loss_accepted'"), 1);
    run(bench, NULL, 1);
    assert_int_equal(verify(bench, true)->fault_count, 0); /* the other log's checkpoints are not of this one */
}

static void archive(struct audit *audit, struct audit_done *done)
{
    assert_int_equal(audit_archive(audit, SPAN_LIT("ada")), CODE_OK);
    while (!audit_job_over(audit, done))
        (void)usleep(1000);
    assert_int_equal(done->code, CODE_OK);
}

/* What somebody makes of the file who has no key but his own, with the checkpoints left as they were. */
enum forgery { FORGED_TAIL = 0, FORGED_LOSS, FORGED_BEGINNING, FORGED_LOG, FORGERIES };

static void forge(struct bench *bench, enum forgery what)
{
    struct audit_done done;
    struct audit *audit;

    if (what == FORGED_LOG)
        lose(bench);
    else
        copy_file(bench->copy, bench->file.path);
    if (what != FORGED_LOSS)
        assert_int_equal(unlink(bench->heads), 0);
    if (what != FORGED_BEGINNING) {
        run(bench, what == FORGED_LOSS ? "so they say" : NULL, 9);
        return;
    }
    assert_int_equal(open_audit(bench, NULL, &audit), CODE_OK);
    for (int i = 0; i < 9; i++)
        (void)audit_file_call(audit_ring(audit, 0), "acme", "c");
    archive(audit, &done);
    audit_close(&audit);
    assert_int_equal(unlink(done.text), 0);
}

/* Who can write the database can name a key in it and sign with that, also an event that accepts a loss. */
static void test_forged(void **state)
{
    static const char *const words[FORGERIES] = {"another history", "another history", "another history", "begins anew"};
    struct bench *bench = *state;
    struct sign_key *own = bench->key, *thief;
    char *kept = malloc(sizeof bench->text), *both = malloc(2 * sizeof bench->text);
    size_t len;

    assert_true(kept != NULL && both != NULL);

    new_key(&thief);
    run(bench, NULL, 1);
    copy_file(bench->file.path, bench->copy);
    run(bench, NULL, 3);
    read_heads(bench);
    len = bench->len;
    memcpy(kept, bench->text, len);
    for (int what = 0; what < FORGERIES; what++) {
        bench->conf.key = thief;
        write_heads(bench, kept, len);
        forge(bench, (enum forgery)what);
        bench->conf.key = own;
        read_heads(bench); /* with his own checkpoints behind those that were there */
        memcpy(both, kept, len);
        memcpy(both + len, "\n\n", 2);
        memcpy(both + len + 2, bench->text, bench->len);
        write_heads(bench, both, what == FORGED_TAIL ? len + 2 + bench->len : len);
        refused(bench, NULL, words[what]);
    }
    free(kept);
    free(both);
    sign_key_free(&thief);
}

/* A file that continues another is compared from the tree that it begins with; what was accepted before outlives its file. */
static void test_rotated(void **state)
{
    struct bench *bench = *state;
    struct audit_done done;
    struct audit *audit;

    run(bench, NULL, 2);
    copy_file(bench->file.path, bench->copy);
    run(bench, NULL, 20);
    copy_file(bench->copy, bench->file.path);
    assert_int_equal(open_audit(bench, "known", &audit), CODE_OK);
    archive(audit, &done);
    audit_close(&audit);
    run(bench, NULL, 1);
    copy_file(bench->file.path, bench->copy);
    run(bench, NULL, 1);
    copy_file(bench->copy, bench->file.path);
    refused(bench, NULL, "older copy");
    copy_file(done.text, bench->file.path);
    refused(bench, NULL, "older copy");
}

/* ---- damage ------------------------------------------------------------------------------------------------------ */

static void test_missing(void **state)
{
    struct bench *bench = *state;
    struct sign_key *other, *own = bench->key;

    run(bench, NULL, 1);
    assert_int_equal(unlink(bench->heads), 0);
    run(bench, NULL, 1);
    assert_int_equal(events(bench, "heads_damaged"), 1);
    write_heads(bench, "", 0);
    run(bench, NULL, 1);
    assert_int_equal(events(bench, "heads_damaged"), 2);
    assert_int_equal(unlink(bench->heads), 0);
    assert_int_equal(mkfifo(bench->heads, 0600), 0); /* nothing to be read again, and nobody to wait for */
    bench->conf.key = NULL;
    run(bench, NULL, 1);
    assert_int_equal(unlink(bench->heads), 0);
    new_key(&other); /* the key changes, the checkpoints under the old one stay good */
    bench->conf.key = own;
    run(bench, NULL, 1);
    bench->conf.key = other;
    run(bench, NULL, 1);
    run(bench, NULL, 1);
    assert_int_equal(events(bench, "heads_damaged"), 3);
    sign_key_free(&other);
}

/* What a crash or a power cut leaves of the last note is no damage, wherever it was torn. */
static void test_torn(void **state)
{
    static char torn[1 << 16];
    struct bench *bench = *state;
    struct span rest, piece, last = SPAN_NONE;
    size_t begin;

    run(bench, NULL, 1);
    read_heads(bench);
    for (rest = span_of(bench->text, bench->len); note_next(&rest, &piece);)
        last = piece;
    begin = (size_t)(last.at - bench->text);
    for (size_t keep = begin; keep <= bench->len; keep++)
        for (int zeros = 0; zeros < 2; zeros++) {
            struct span left = span_of(torn, bench->len);

            memset(torn, 0, sizeof torn);
            memcpy(torn, bench->text, keep);
            if (zeros == 0)
                left.len = keep;
            for (enum note_piece kind; (kind = note_scan(&left, &piece)) != NOTE_NONE;)
                if (kind == NOTE_DAMAGED)
                    fail_msg("torn at %zu of %zu%s", keep - begin, last.len, zeros ? ", zeros behind it" : "");
            if (zeros == 0) { /* the next start writes behind it */
                memcpy(torn + keep, "\n\n", 2);
                memcpy(torn + keep + 2, last.at, last.len);
                left = span_of(torn, keep + 2 + last.len);
                for (enum note_piece kind; (kind = note_scan(&left, &piece)) != NOTE_NONE;)
                    if (kind == NOTE_DAMAGED || (left.len == 0 && kind != NOTE_WHOLE))
                        fail_msg("torn at %zu of %zu, one behind it", keep - begin, last.len);
            }
        }
}

/* Every bit of every byte: a finding at the start, and for `audit verify`. */
static void test_every_bit(void **state)
{
    struct bench *bench = *state;
    struct ring_shared shared = {0};
    struct ledger ledger;
    struct notary notary;
    struct kept kept;
    struct verify_report report;
    struct verify_conf conf = {.path = bench->file.path};

    bench->conf.interval_ms = 60000;
    run(bench, NULL, 1);
    run(bench, NULL, 1);
    read_heads(bench);
    assert_true(bench->len < 2000);
    assert_int_equal(ledger__init(&ledger, bench->file.path, "node-1"), CODE_OK);
    assert_int_equal(files__live(bench->file.path, ledger.file), CODE_OK);
    assert_int_equal(ledger__open(&ledger, DB_WRITE, 1, &bench->why), CODE_OK);
    assert_int_equal(notary__init(&notary, &bench->conf, &ledger, &shared, &bench->why), CODE_OK);
    conf.heads = span_of(bench->text, bench->len);
    assert_int_equal(kept__compare(&notary, &ledger, &kept, &bench->why), CODE_OK);
    assert_true(kept.loss == NULL && kept.damage.text[0] == '\0');
    assert_int_equal(audit_verify(&conf, &report, &bench->why), CODE_OK);
    assert_int_equal(report.fault_count, 0);
    for (size_t bit = 0; bit < 8 * bench->len; bit++) {
        bench->text[bit / 8] = (char)(bench->text[bit / 8] ^ 1 << bit % 8);
        write_heads(bench, bench->text, bench->len);
        assert_int_equal(kept__compare(&notary, &ledger, &kept, &bench->why), CODE_OK);
        if (kept.loss == NULL && kept.damage.text[0] == '\0')
            fail_msg("bit %zu of byte %zu of %zu passes a start:\n%.*s", bit % 8, bit / 8, bench->len, (int)bench->len, bench->text);
        if (bit % 37 == 0) { /* the same walk over the file: some bits tell */
        assert_int_equal(audit_verify(&conf, &report, &bench->why), CODE_OK);
        if (report.fault_count == 0)
            fail_msg("bit %zu of byte %zu of %zu passes audit verify", bit % 8, bit / 8, bench->len);
        }
        bench->text[bit / 8] = (char)(bench->text[bit / 8] ^ 1 << bit % 8);
    }
    notary__fini(&notary);
    ledger__fini(&ledger);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_healthy), TEST(test_older_copy), TEST(test_cut_end), TEST(test_other_history), TEST(test_replaced),
        TEST(test_forged), TEST(test_rotated), TEST(test_missing), TEST(test_torn), TEST(test_every_bit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
