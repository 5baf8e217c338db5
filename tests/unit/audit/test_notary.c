/* SPDX-License-Identifier: Apache-2.0 */
/* 3.1: checkpoints are made while rows come, after so many rows and at the end; they cover what is committed, go on over
 * restarts, and are in the database, in the file and with whoever wants them. */
#include "audit/notary_priv.h"
#include "proof/note.h"
#include "rows/walk.h"
#include "base/mem.h"
#include "evidence/verify.h"
#include "fakes/audit_file.h"
#include "fakes/fake_signer.h"
#include "fakes/cm.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

struct bench {
    struct audit_file file;
    struct audit_checkpoints conf;
    struct sign_key *key;
    struct note_key known;
    struct fake_signer signer;
    bool signs_elsewhere; /* as the gate does: in another process */
    char heads[128];
    _Atomic unsigned published;
};

static struct sign_key *new_key(struct note_key *known)
{
    struct sign_key *key;
    struct buf pem;

    buf_init(&pem, 4096);
    assert_int_equal(sign_key_make(&pem), CODE_OK);
    assert_int_equal(sign_key_read(buf_peek(&pem), &key), CODE_OK);
    *known = (struct note_key){.name = ""};
    assert_int_equal(sign_key_public(key, known->public), CODE_OK);
    buf_fini(&pem);
    return key;
}

static void count_published(void *context, struct span note)
{
    struct bench *bench = context;
    struct note read;

    if (note_read(note, &read) == CODE_OK && note_verify(&read, &bench->known) == NOTE_SIGNED)
        bench->published++;
}

static int setup(void **state)
{
    struct bench *bench = calloc(1, sizeof *bench);

    audit_file_init(&bench->file);
    (void)snprintf(bench->heads, sizeof bench->heads, "%s.heads", bench->file.path);
    bench->key = new_key(&bench->known);
    bench->conf = (struct audit_checkpoints){.key = bench->key, .file = bench->heads, .publish = count_published,
                                             .context = bench, .interval_ms = 5, .rows = 1000000};
    *state = bench;
    return 0;
}

static int setup_elsewhere(void **state)
{
    int done = setup(state);

    ((struct bench *)*state)->signs_elsewhere = true;
    return done;
}

static int teardown(void **state)
{
    struct bench *bench = *state;

    audit_file_fini(&bench->file);
    fake_signer_stop(&bench->signer);
    sign_key_free(&bench->key);
    free(bench);
    return 0;
}

static struct audit *open_signed(struct bench *bench)
{
    if (bench->signs_elsewhere) {
        bench->conf.key = NULL;
        bench->conf.signer = fake_signer_start(&bench->signer, bench->key);
    }
    return audit_file_open_signed(&bench->file, 1, &bench->conf);
}

/* Every checkpoint of the database against the rows as they are read back; returns how many, *last: the last one's size. */
static int check_all(struct bench *bench, int64_t *last)
{
    struct merkle tree = {0};
    struct tenants tenants;
    struct db_stmt *stmt;
    struct walk leaves;
    struct leaf leaf;
    struct why why;
    struct db *db;
    int count = 0;
    enum code code;

    assert_int_equal(db_open(bench->file.path, DB_READ, &db, &why), CODE_OK);
    assert_int_equal(tenants_init(&tenants), CODE_OK);
    assert_int_equal(db_prepare(db, "SELECT size, peaks, note FROM checkpoint ORDER BY size", &stmt), CODE_OK);
    assert_int_equal(walk_leaves(&leaves, db, 1, INT64_MAX), CODE_OK);
    for (; (code = db_step(stmt)) == CODE_OK; count++) {
        unsigned char root[DIGEST_BYTES], hash[DIGEST_BYTES], peaks[MERKLE_PEAKS * DIGEST_BYTES];
        struct note note;

        *last = db_int(stmt, 0);
        while (tree.size < (uint64_t)*last) {
            assert_int_equal(walk_next_leaf(&leaves, &leaf), CODE_OK);
            merkle_leaf(leaf.hash, hash);
            merkle_add(&tree, hash);
            if (leaf.tenant.at != NULL)
                assert_int_equal(tenants_set(&tenants, leaf.tenant, (uint64_t)leaf.seq, (const unsigned char *)leaf.hash.at),
                                 CODE_OK);
        }
        merkle_root(&tree, root);
        assert_int_equal(note_read(db_text(stmt, 2), &note), CODE_OK);
        assert_int_equal(note_verify(&note, &bench->known), NOTE_SIGNED);
        assert_int_equal(note.size, *last);
        assert_memory_equal(note.root, root, DIGEST_BYTES);
        assert_true(span_equals(db_blob(stmt, 1), span_of(peaks, merkle_save(&tree, peaks))));
        assert_int_equal(tenants_root(&tenants, root), CODE_OK);
        assert_true(note.has_tenants && note.tenants == tenants.heads.count);
        assert_memory_equal(note.tenants_root, root, DIGEST_BYTES);
    }
    assert_int_equal(code, CODE_NOT_FOUND);
    walk_fini(&leaves);
    db_finalize(&stmt);
    tenants_fini(&tenants);
    db_close(&db);
    return count;
}

/* How many good notes the file of heads holds, and whether its last one is of this size. */
/* Those of all sizes, or for `only` of the last size alone. */
static int count_notes(struct bench *bench, int64_t last, bool only)
{
    static char text[1 << 20];
    struct span rest, one;
    struct note note = {.size = 0};
    int count = 0, fd = open(bench->heads, O_RDONLY | O_CLOEXEC);
    ssize_t len = read(fd, text, sizeof text);

    (void)close(fd);
    assert_true(fd >= 0 && len > 0);
    for (rest = span_of(text, (size_t)len); note_next(&rest, &one); count += !only || (int64_t)note.size == last) {
        assert_int_equal(note_read(one, &note), CODE_OK);
        assert_int_equal(note_verify(&note, &bench->known), NOTE_SIGNED);
    }
    assert_int_equal(note.size, last);
    return count;
}

static int notes_in_file(struct bench *bench, int64_t last)
{
    return count_notes(bench, last, false);
}

/* Each of them here and elsewhere. */
#define TEST(name) TEST_ALSO_WITH(name, name##_elsewhere, setup_elsewhere, teardown) TEST_CASE_WITH(name, setup, teardown)

TEST(test_while_rows_come_and_at_the_end)
{
    struct bench *bench = *state;
    struct audit *audit = open_signed(bench);
    int64_t last = 0;
    int made;

    for (int i = 0; i < 5; i++) {
        uint64_t seq = audit_file_call(audit_ring(audit, 0), i % 2 ? "acme" : "beta", "c");

        audit_file_await_signed(audit, seq);
    }
    audit_close(&audit);
    made = check_all(bench, &last);
    assert_true(made >= 2); /* one that the writer finds no time to take is superseded by the next */
    assert_int_equal(last, audit_file_number(&bench->file, "SELECT max(seq) FROM event WHERE kind = 'stop'"));
    assert_true(notes_in_file(bench, last) >= 6);
    assert_int_equal(bench->published, notes_in_file(bench, last));
    assert_int_equal(audit_file_number(&bench->file, "SELECT count(*) FROM event WHERE kind = 'checkpoint_key'"), 1);
    assert_int_equal(audit_file_number(&bench->file, "SELECT count(*) FROM event WHERE kind = 'checkpoint'"), 0);
}

/* No row, no checkpoint: also the rows that tell of checkpoints make none due. */
TEST(test_quiet)
{
    struct bench *bench = *state;
    struct audit *audit;
    struct audit_gauges gauges, later;

    bench->conf.rows = 1;
    audit = open_signed(bench);
    audit_file_await_signed(audit, audit_file_call(audit_ring(audit, 0), "acme", "c"));
    do { /* until the outcome and the event about the last checkpoint are written, and nothing more comes */
        audit_gauges(audit, &gauges);
        (void)nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
        audit_gauges(audit, &later);
    } while (gauges.last_seq != later.last_seq || later.last_seq <= later.signed_seq ||
             audit_file_number(&bench->file, "SELECT count(*) FROM event WHERE kind = 'checkpoint'") == 0);
    audit_close(&audit);
    assert_int_equal(audit_file_number(&bench->file, "SELECT count(*) FROM event AS e JOIN checkpoint AS c ON "
                                       "c.size = e.detail ->> 'size' AND instr(c.note, e.detail ->> 'root') > 0 "
                                       "WHERE e.kind = 'checkpoint'"),
                     audit_file_number(&bench->file, "SELECT count(*) FROM event WHERE kind = 'checkpoint'"));
}

/* 3.3, 3.11: rows behind what the given key signed, under somebody else's key alone, are not proven. */
static void expect_proven(const struct bench *bench, const struct note_key *key, bool proven)
{
    static struct verify_report report;
    struct why why;

    assert_int_equal(audit_verify(&(struct verify_conf){.path = bench->file.path, .keys = keyring_of(key)}, &report, &why), CODE_OK);
    assert_int_equal(report.fault_count, proven ? 0 : 1);
    if (proven) {
        assert_int_equal(report.proven_seq, report.last_seq);
        return;
    }
    assert_string_equal(report.fault[0].field, "key");
    assert_true(report.proven_seq > 0 && report.fault[0].seq == (int64_t)report.proven_seq + 1);
}

/* 4.3: in a minute in which rows come, one of its checkpoints is named, so that nobody takes it out unseen. */
TEST(test_named_once_in_a_while)
{
    struct bench *bench = *state;
    struct audit *audit;

    bench->conf.name_ms = 1;
    audit = open_signed(bench);
    for (int i = 0; audit_file_number(&bench->file, "SELECT count(*) FROM event WHERE kind = 'checkpoint'") < 2; i++) {
        assert_true(i < 1000);
        audit_file_await_signed(audit, audit_file_call(audit_ring(audit, 0), "acme", "c"));
    }
    audit_close(&audit);
    assert_int_equal(audit_file_number(&bench->file, "SELECT count(*) FROM event AS e LEFT JOIN checkpoint AS c ON "
                                       "c.size = e.detail ->> 'size' WHERE e.kind = 'checkpoint' AND c.size IS NULL"), 0);
    expect_proven(bench, &bench->known, true);
}

static void put_many(struct audit *audit, int calls)
{
    struct audit_ring *ring = audit_ring(audit, 0);
    char tenant[16];

    for (int i = 0; i < calls; i++) {
        struct audit_decision decision;

        (void)snprintf(tenant, sizeof tenant, "t-%d", i % 300);
        decision = audit_call(tenant, "many");
        decision.verdict = AUDIT_DENY;
        decision.expects_outcome = false;
        (void)audit_file_put(ring, &decision);
    }
}

/* After so many rows, whatever the interval; and on from there after a restart. */
TEST(test_after_rows_and_restarts)
{
    struct bench *bench = *state;
    int64_t last = 0, before;

    bench->conf.interval_ms = 3600 * 1000;
    bench->conf.rows = 2000;
    for (int run = 0; run < 3; run++) {
        struct audit *audit = open_signed(bench);

        before = last;
        put_many(audit, 6000);
        audit_file_await_signed(audit, (uint64_t)before + 2000);
        audit_close(&audit);
        assert_true(check_all(bench, &last) >= run + 1);
        assert_true(last >= before + 6000);
    }
    assert_true(audit_file_number(&bench->file, "SELECT count(*) FROM event WHERE kind = 'checkpoint'") >= 3);
    assert_int_equal(audit_file_number(&bench->file, "SELECT count(*) FROM event WHERE kind = 'checkpoint_key'"), 1);
}

/* Rows of gates without a key, and a last checkpoint that somebody changed: the tree is made from the rows. */
TEST(test_from_the_rows)
{
    struct bench *bench = *state;
    struct audit *audit = audit_file_open(&bench->file, 1);
    char trigger[256];
    struct db *db;
    int64_t last = 0;

    bench->conf.interval_ms = 3600 * 1000; /* one checkpoint at each end alone, however slow the machine is */
    put_many(audit, 5000);
    audit_close(&audit);
    audit = open_signed(bench);
    audit_close(&audit);
    assert_int_equal(check_all(bench, &last), 1);
    (void)snprintf(trigger, sizeof trigger, "%s", audit_file_ask(&bench->file, "SELECT sql FROM sqlite_schema WHERE "
                   "name = 'checkpoint_update'"));
    assert_int_equal(db_open(bench->file.path, DB_WRITE, &db, NULL), CODE_OK);
    assert_int_equal(db_exec(db, "DROP TRIGGER checkpoint_update; UPDATE checkpoint SET peaks = zeroblob(length(peaks))"),
                     CODE_OK);
    assert_int_equal(db_exec(db, trigger), CODE_OK); /* a file that lacks it is left */
    db_close(&db);
    audit = open_signed(bench);
    audit_close(&audit);
    assert_int_equal(audit_file_number(&bench->file, "SELECT count(*) FROM checkpoint"), 2);
    assert_int_equal(db_open(bench->file.path, DB_WRITE, &db, NULL), CODE_OK);
    assert_int_not_equal(db_exec(db, "DELETE FROM checkpoint"), CODE_OK);
    assert_int_equal(db_exec(db, "DROP TRIGGER checkpoint_delete; DELETE FROM checkpoint WHERE size = "
                             "(SELECT min(size) FROM checkpoint)"), CODE_OK);
    db_close(&db);
    assert_int_equal(check_all(bench, &last), 1);
}

/* A notary by itself, over the file as it is; the writer called all but the last `behind` rows durable. */
static void start_alone(struct bench *bench, struct notary *notary, struct ledger *ledger, struct ring_shared *shared,
                        uint64_t behind, uint64_t *there)
{
    struct why why = {0};

    *there = (uint64_t)audit_file_number(&bench->file, "SELECT max(seq) FROM event");
    *ledger = (struct ledger){.path = bench->file.path, .committed.seq = *there - behind};
    *shared = (struct ring_shared){.arguments_max_bytes = 0};
    bench->conf.interval_ms = 1;
    assert_int_equal(db_open(bench->file.path, DB_WRITE, &ledger->db, NULL), CODE_OK);
    assert_int_equal(notary__init(notary, &bench->conf, ledger, shared, &why), CODE_OK);
    assert_int_equal(notary__start(notary, &why), CODE_OK);
    for (int naps = 0; naps < 100 && atomic_load(&notary->signed_size) == 0; naps++)
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

/* Rows that are in the file and that the writer has not called durable yet may vanish, and a signature would convict the gate. A
 * file with a gap is not what the gate wrote. */
TEST(test_what_is_not_signed)
{
    struct bench *bench = *state;
    struct audit *audit = audit_file_open(&bench->file, 1);
    struct ring_shared shared;
    struct ledger ledger;
    struct notary notary;
    uint64_t there;

    put_many(audit, 20);
    audit_close(&audit);
    start_alone(bench, &notary, &ledger, &shared, 5, &there);
    assert_int_equal(atomic_load(&notary.signed_size), 0);
    notary__push(&notary, there, SPAN_NONE, 0, 0);
    for (int naps = 0; atomic_load(&notary.signed_size) != there; naps++) {
        assert_true(naps < NAPS_MOST);
        (void)nanosleep(&(struct timespec){.tv_nsec = 500000}, NULL);
    }
    notary__push(&notary, there + 1, SPAN_NONE, 1, 0); /* a row that is not there: it waits for a checkpoint */
    assert_true(atomic_load(&notary.unsigned_since_us) > 0);
    notary__stop(&notary);
    assert_int_equal(atomic_load(&notary.fault), CHECKPOINT_WELL);
    assert_true(atomic_load(&notary.unsigned_since_us) > 0);
    notary__fini(&notary);
    assert_int_equal(db_exec(ledger.db, "DROP TRIGGER decision_delete; DELETE FROM decision WHERE seq = 20"), CODE_OK);
    db_close(&ledger.db);
    start_alone(bench, &notary, &ledger, &shared, 0, &there);
    notary__stop(&notary);
    assert_int_equal(atomic_load(&notary.signed_size), 0);
    assert_int_equal(atomic_load(&notary.fault), CHECKPOINT_UNSIGNED);
    notary__fini(&notary);
    db_close(&ledger.db);
}

static void nap(void)
{
    (void)nanosleep(&(struct timespec){.tv_nsec = 500000}, NULL);
}

/* What the writer has signed over rows that are not durable yet is not told before it says so, and where it never does, the
 * tree is that of the file again. */
TEST(test_before_it_is_durable)
{
    struct bench *bench = *state;
    struct audit *audit = audit_file_open(&bench->file, 1);
    struct {
        uint32_t len;
        unsigned char hash[DIGEST_BYTES];
    } leaf = {.len = UINT32_MAX};
    struct span row = span_of(&leaf, sizeof leaf);
    struct ring_shared shared;
    struct ledger ledger;
    struct notary notary;
    struct checkpoint *made;
    uint64_t there;

    put_many(audit, 20);
    audit_close(&audit);
    start_alone(bench, &notary, &ledger, &shared, 0, &there);
    while (atomic_load(&notary.signed_size) != there)
        nap();
    for (bool is_durable = false;; is_durable = true) {
        while (!notary__seize(&notary))
            nap();
        assert_int_equal(notary__sign(&notary, there + 1, row, 1, &made), CODE_OK);
        notary__release(&notary);
        assert_int_equal(made->size, there + 1);
        for (int naps = 0; naps < 40; naps++) {
            notary__wake(&notary);
            nap();
        }
        assert_int_equal(atomic_load(&notary.signed_size), there);
        if (is_durable)
            break;
        mem_free(made);
        notary__distrust(&notary);
    }
    while (!notary__seize(&notary))
        nap();
    notary__hand_over(&notary, made);
    notary__release(&notary);
    notary__push(&notary, there + 1, row, 1, 0);
    while (atomic_load(&notary.signed_size) != there + 1)
        nap();
    /* The thread may have signed the rows before once more when it read the file anew; this one is told once. */
    assert_int_equal(count_notes(bench, (int64_t)there + 1, true), 1);
    while (!notary__seize(&notary))
        nap();
    notary__distrust(&notary);
    notary__release(&notary);
    notary__push(&notary, there + 5, SPAN_NONE, 0, 0); /* they must be read from the file: the thread's work */
    assert_false(notary__seize(&notary));
    notary__stop(&notary);
    notary__fini(&notary);
    db_close(&ledger.db);
}

/* A new key is told in the chain; a file that cannot be appended to holds up nobody. */
TEST(test_new_key_and_no_file)
{
    struct bench *bench = *state;
    struct note_key before = bench->known;
    struct audit *audit = open_signed(bench);
    struct audit_gauges gauges;

    audit_file_await_signed(audit, audit_file_call(audit_ring(audit, 0), "acme", "b"));
    audit_close(&audit);
    fake_signer_stop(&bench->signer);
    sign_key_free(&bench->key);
    bench->key = new_key(&bench->known);
    bench->conf.key = bench->key;
    bench->conf.file = "/nowhere/at/all";
    audit = open_signed(bench);
    audit_file_await_signed(audit, audit_file_call(audit_ring(audit, 0), "acme", "c"));
    audit_gauges(audit, &gauges);
    assert_true(gauges.checkpoint_failures > 0);
    audit_close(&audit);
    assert_int_equal(audit_file_number(&bench->file, "SELECT count(DISTINCT detail) FROM event WHERE kind = 'checkpoint_key'"),
                     2);
    expect_proven(bench, &bench->known, true);
    expect_proven(bench, &before, false);
}

/* Waits, as a slow disk under the file would, until the writer has what is being published. */
static void wait_for_row(void *context, struct span note)
{
    struct bench *bench = context;
    struct note read;
    char sql[80];

    assert_int_equal(note_read(note, &read), CODE_OK);
    (void)snprintf(sql, sizeof sql, "SELECT count(*) FROM checkpoint WHERE size = %llu", (unsigned long long)read.size);
    for (int naps = 0; bench->published == 0 && naps < NAPS_MOST; naps++) {
        bench->published = audit_file_number(&bench->file, sql) == 1;
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
}

TEST(test_the_writer_comes_first)
{
    struct bench *bench = *state;
    struct audit *audit;

    bench->conf.publish = wait_for_row;
    audit = open_signed(bench);
    audit_file_call(audit_ring(audit, 0), "acme", "c-1");
    for (int naps = 0; bench->published == 0 && naps < NAPS_MOST; naps++)
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    assert_int_equal(bench->published, 1);
    audit_close(&audit);
}

TEST_MAIN(NULL, NULL)
