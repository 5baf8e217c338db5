/* SPDX-License-Identifier: Apache-2.0 */
/* 4.5: a start compares the database with the file of its checkpoints. An older copy, a lost -wal file, an end that was cut off
 * and another history are refused, or recorded by whoever goes on; a file of checkpoints that was damaged is told. */
#include "fakes/sample.h"
#include "unit/audit/kept_bench.h"

#include "files/reader.h"
#include "rows/walk.h"

#include <errno.h>

/* ---- losses ------------------------------------------------------------------------------------------------------ */

TEST_CASE_WITH(test_healthy, setup, teardown)
{
    struct bench *bench = *state;

    for (int i = 0; i < 3; i++)
        run(bench, NULL, i);
    refused(bench, "to be safe", "nothing that its checkpoints cover is lost");
    run(bench, NULL, 1);
    assert_int_equal(events(bench, "loss_accepted") + events(bench, "heads_damaged"), 0);
    assert_int_equal(verify(bench, true)->fault_count, 0);
}

TEST_CASE_WITH(test_older_copy, setup, teardown)
{
    struct bench *bench = *state;
    const struct verify_report *report;
    long long rows;

    run(bench, NULL, 2);
    copy_file(bench->file.path, bench->copy);
    rows = audit_file_number(&bench->file, "SELECT max(seq) FROM entry");
    run(bench, NULL, 5);
    copy_file(bench->copy, bench->file.path);
    refused(bench, NULL, "--despite-loss");
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
TEST_CASE_WITH(test_cut_end, setup, teardown)
{
    struct bench *bench = *state;
    struct audit_conf conf = {.path = bench->file.path, .rings = 1, .node = "node-1", .version = SPAN_LIT("0.1.0"),
                              .checkpoints = bench->conf, .loss = {.why = "known", .actor = "ada"}};
    struct audit *audit;
    struct why why;
    struct db *db;

    run(bench, NULL, 3);
    assert_int_equal(db_open(bench->file.path, DB_WRITE, &db, &why), CODE_OK);
    assert_int_equal(db_exec(db, "DROP TRIGGER event_delete; DROP TRIGGER checkpoint_delete; DELETE FROM event WHERE kind = 'stop'; "
                                 "DELETE FROM checkpoint WHERE size > (SELECT max(seq) FROM outcome)"), CODE_OK);
    db_close(&db);
    refused(bench, NULL, "its end was cut off");
    assert_int_equal(audit_open(&conf, &audit, &why), CODE_OK); /* no thread, which would leave the file for another one */
    audit_close(&audit);
    assert_int_equal(events(bench, "crash"), 1);
}

/* As many rows and more, but not those. */
TEST_CASE_WITH(test_other_history, setup, teardown)
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

TEST_CASE_WITH(test_replaced, setup, teardown)
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

/* The file with the rows bears the name of one that is being made, and a journal says that nothing was in it: the start says what
 * is lost, and the rows stay. */
TEST_CASE_WITH(test_rows_under_another_name, setup, teardown)
{
    static const char *const parts[] = {"", "-wal", "-shm"};
    static const unsigned char journal[512] = {0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7, [22] = 2, [26] = 16}; /* of 0 pages */
    struct bench *bench = *state;
    struct audit_file aside;
    char live[FILES_PATH_BYTES], next[80], from[FILES_PATH_BYTES], to[FILES_PATH_BYTES];
    FILE *planted;

    run(bench, NULL, 3);
    assert_int_equal(files_live(bench->file.path, live), CODE_OK);
    (void)snprintf(next, sizeof next, "%.70s.next", bench->file.path);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        assert_int_equal(files_beside(live, parts[i], from), CODE_OK);
        assert_int_equal(files_beside(next, parts[i], to), CODE_OK);
        assert_true(rename(from, to) == 0 || i > 0);
    }
    assert_int_equal(files_beside(next, "-journal", to), CODE_OK);
    planted = fopen(to, "wb");
    assert_true(planted != NULL && fwrite(journal, 1, sizeof journal, planted) == sizeof journal && fclose(planted) == 0);
    refused(bench, NULL, "begins anew");
    assert_int_not_equal(access(next, F_OK), 0);
    (void)snprintf(aside.path, sizeof aside.path, "%.80s.aside", next);
    assert_int_equal(files_beside(next, "-wal.aside", from), CODE_OK);
    assert_int_equal(files_beside(aside.path, "-wal", to), CODE_OK);
    assert_true(rename(from, to) == 0 || errno == ENOENT);
    assert_int_equal(audit_file_number(&aside, "SELECT count(*) FROM decision"), 3);
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
TEST_CASE_WITH(test_forged, setup, teardown)
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

/* Where a file begins with tenants' last rows and open permits, its first row names them: whoever changes them is found, with and
 * without what the file notes of later. Who goes on leaves the file. */
TEST_CASE_WITH(test_a_changed_beginning, setup, teardown)
{
    static const char *const changes[] = {
        "UPDATE tenant_start SET hash = zeroblob(32)", "DELETE FROM tenant_start", "INSERT INTO permit_start VALUES (1, 'acme')",
    };
    struct bench *bench = *state;
    struct audit_done done;
    struct audit *audit;
    char sql[256], live[FILES_PATH_BYTES], left[FILES_PATH_BYTES];
    struct db *db;

    assert_int_equal(open_audit(bench, NULL, &audit), CODE_OK);
    (void)audit_file_call(audit_ring(audit, 0), "acme", "c");
    archive(audit, &done);
    audit_close(&audit);
    run(bench, NULL, 2);
    copy_file(bench->file.path, bench->copy);
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        copy_file(bench->copy, bench->file.path);
        (void)snprintf(sql, sizeof sql, "DELETE FROM head_mark; %s", changes[i]);
        assert_int_equal(db_open(bench->file.path, DB_WRITE, &db, NULL), CODE_OK);
        assert_int_equal(db_exec(db, sql), CODE_OK);
        db_close(&db);
        refused(bench, NULL, "what its file begins with");
    }
    assert_int_equal(files_live(bench->file.path, left), CODE_OK);
    if (open_audit(bench, "so be it", &audit) != CODE_OK)
        fail_msg("%s", bench->why.text);
    do {
        (void)usleep(1000);
        assert_int_equal(files_live(bench->file.path, live), CODE_OK);
    } while (strcmp(live, left) == 0);
    audit_close(&audit);
    run(bench, NULL, 1);
}

/* Makes of the first row the event that accepts a loss of everything, and chains it as it should be. */
static void forge_loss(const struct bench *bench)
{
    unsigned char before[DIGEST_BYTES], hash[DIGEST_BYTES];
    char detail[256], origin[64];
    struct walk_row row;
    struct walk walk;
    struct db *db;

    (void)snprintf(origin, sizeof origin, "%s", audit_file_ask(&bench->file, "SELECT 'callgate/' || lower(hex(id)) FROM file"));
    (void)snprintf(detail, sizeof detail, "{\"fault\":\"shorter\",\"origin\":\"%s\",\"size\":999999999,\"time_us\":%lld}", origin,
                   (long long)clock_wall_us() * 2);
    assert_int_equal(db_open(bench->file.path, DB_WRITE, &db, NULL), CODE_OK);
    assert_int_equal(reader_hash(db, 0, before), CODE_OK);
    assert_int_equal(walk_init(&walk, db, 1, 1), CODE_OK);
    assert_int_equal(walk_next(&walk, &row), CODE_OK);
    row.values[E_KIND] = row_text(SPAN_LIT("loss_accepted"));
    row.values[E_DETAIL] = row_text(span_text(detail));
    row_hash(row.table, row.values, before, hash);
    walk_fini(&walk);
    assert_int_equal(db_exec(db, "DROP TRIGGER event_update"), CODE_OK);
    assert_int_equal(db_change(db, "UPDATE event SET kind = 'loss_accepted', detail = ?1, hash = ?2 WHERE seq = 1",
                               DB_VALUES(db_of_text(span_text(detail)), db_of_blob(span_of(hash, sizeof hash)))), CODE_OK);
    db_close(&db);
}

/* Of so many rows a start reads the last alone, from a signed checkpoint on: an event before it counts where it is signed, too. */
TEST_CASE_WITH(test_a_forged_loss_among_many_rows, setup, teardown)
{
    enum { ROWS = 70000 };
    struct bench *bench = *state;
    struct audit_decision decision = audit_call("acme", "c");
    struct audit *audit;
    uint64_t ticket = 0, seq;

    decision.verdict = AUDIT_DENY;
    decision.expects_outcome = false;
    assert_int_equal(open_audit(bench, NULL, &audit), CODE_OK);
    for (int i = 0; i < ROWS; i++)
        ticket = audit_file_put(audit_ring(audit, 0), &decision);
    assert_int_equal(audit_file_wait(audit_ring(audit, 0), ticket, &seq), AUDIT_DURABLE);
    audit_close(&audit);
    copy_file(bench->file.path, bench->copy);
    run(bench, NULL, 3);
    copy_file(bench->copy, bench->file.path);
    forge_loss(bench);
    refused(bench, NULL, "older copy");
}

/* A file that continues another is compared from the tree that it begins with; what was accepted before outlives its file. */
TEST_CASE_WITH(test_rotated, setup, teardown)
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

TEST_CASE_WITH(test_missing, setup, teardown)
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
    run(bench, NULL, 0);
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

/* A FIFO has nobody to wait for, and a link leads to where nothing is appended. */
enum damage { DAMAGE_FIFO = 0, DAMAGE_FOLDER, DAMAGE_LINK, NO_FILES, DAMAGE_GONE = NO_FILES, DAMAGE_CUT, DAMAGE_ADDED, DAMAGE_OTHER,
              DAMAGES };

static void damage_heads(struct bench *bench, enum damage what)
{
    read_heads(bench);
    if (what == DAMAGE_CUT || what == DAMAGE_ADDED) {
        assert_int_equal(truncate(bench->heads, what == DAMAGE_CUT ? (off_t)bench->len - 1 : (off_t)bench->len + 1), 0);
        return;
    }
    assert_int_equal(unlink(bench->heads), 0);
    if (what == DAMAGE_FIFO)
        assert_int_equal(mkfifo(bench->heads, 0600), 0);
    else if (what == DAMAGE_FOLDER)
        assert_int_equal(mkdir(bench->heads, 0700), 0);
    else if (what == DAMAGE_LINK)
        assert_int_equal(symlink(bench->file.path, bench->heads), 0);
    else if (what == DAMAGE_OTHER)
        write_heads(bench, bench->text, bench->len);
}

/* 10.38 */
TEST_CASE_WITH(test_no_file, setup, teardown)
{
    struct bench *bench = *state;

    for (int what = 0; what < NO_FILES; what++) {
        run(bench, NULL, 1);
        damage_heads(bench, (enum damage)what);
        run(bench, NULL, 3); /* told by the start, and not once more when nothing can be appended */
        assert_int_equal(events(bench, "heads_damaged"), 2 * what + 1);
        assert_int_equal(remove(bench->heads), 0);
        run(bench, NULL, 1); /* it is missing */
        assert_int_equal(events(bench, "heads_damaged"), 2 * what + 2);
    }
}

static void wait_for_damage(const struct bench *bench, long long count)
{
    for (int i = 0; i < NAPS_MOST / 10 && events(bench, "heads_damaged") < count; i++)
        (void)usleep(10000);
    assert_int_equal(events(bench, "heads_damaged"), count);
}

/* Calls until a checkpoint was appended, or could not be. */
static void call_and_wait(struct audit *audit)
{
    audit_file_await_signed(audit, audit_file_call(audit_ring(audit, 0), "acme", "c"));
}

/* 10.38: once for each damage, also where nobody calls, and at the last moment. */
TEST_CASE_WITH(test_damage_while_it_runs, setup, teardown)
{
    static const char *const words[DAMAGES] = {"no ordinary file", "no ordinary file", "no ordinary file", "removed", "cut short",
                                               "somebody else", "replaced"};
    struct bench *bench = *state;
    struct audit *audit;

    assert_int_equal(open_audit(bench, NULL, &audit), CODE_OK);
    for (int what = 0; what < DAMAGES; what++) {
        call_and_wait(audit);
        (void)usleep(20000);
        assert_int_equal(events(bench, "heads_damaged"), what);
        damage_heads(bench, (enum damage)what);
        wait_for_damage(bench, what + 1);
        if (strstr(audit_file_ask(&bench->file, "SELECT detail FROM event WHERE kind = 'heads_damaged' ORDER BY seq DESC"),
                   words[what]) == NULL)
            fail_msg("not \"%s\"", words[what]);
        call_and_wait(audit);
        if (what < NO_FILES)
            assert_int_equal(remove(bench->heads), 0);
    }
    call_and_wait(audit);
    (void)usleep(20000);
    damage_heads(bench, DAMAGE_GONE);
    audit_close(&audit);
    assert_int_equal(events(bench, "heads_damaged"), DAMAGES + 1);
    run(bench, NULL, 1);
    assert_int_equal(events(bench, "heads_damaged"), DAMAGES + 1);
}

/* What a crash or a power cut leaves of the last note is no damage, wherever it was torn. */
TEST_CASE_WITH(test_torn, setup, teardown)
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
TEST_CASE_WITH(test_every_bit, setup, teardown)
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
    assert_int_equal(ledger_init(&ledger, bench->file.path, "node-1"), CODE_OK);
    assert_int_equal(files_live(bench->file.path, ledger.file), CODE_OK);
    assert_int_equal(ledger_open(&ledger, DB_WRITE, 1, &bench->why), CODE_OK);
    assert_int_equal(notary__init(&notary, &bench->conf, &ledger, &shared, &bench->why), CODE_OK);
    conf.heads = span_of(bench->text, bench->len);
    assert_int_equal(kept__compare(&notary, &ledger, &kept, &bench->why), CODE_OK);
    assert_true(kept.loss == NULL && kept.damage.text[0] == '\0');
    assert_int_equal(audit_verify(&conf, &report, &bench->why), CODE_OK);
    assert_int_equal(report.fault_count, 0);
    for (size_t bit = 0; bit < 8 * bench->len; bit += sample_step()) {
        bench->text[bit / 8] = (char)(bench->text[bit / 8] ^ 1 << bit % 8);
        write_heads(bench, bench->text, bench->len);
        assert_int_equal(kept__compare(&notary, &ledger, &kept, &bench->why), CODE_OK);
        if (kept.loss == NULL && kept.damage.text[0] == '\0')
            fail_msg("bit %zu of byte %zu of %zu passes a start:\n%.*s", bit % 8, bit / 8, bench->len, (int)bench->len, bench->text);
        if (bit % 149 == 0) { /* the same walk over the file: some bits tell */
            assert_int_equal(audit_verify(&conf, &report, &bench->why), CODE_OK);
            if (report.fault_count == 0)
                fail_msg("bit %zu of byte %zu of %zu passes audit verify", bit % 8, bit / 8, bench->len);
        }
        bench->text[bit / 8] = (char)(bench->text[bit / 8] ^ 1 << bit % 8);
    }
    notary__fini(&notary);
    ledger_fini(&ledger);
}

TEST_MAIN(NULL, NULL)
