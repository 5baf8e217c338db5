/* SPDX-License-Identifier: Apache-2.0 */
/* 3.3, 3.11: what ties the files of a trail to each other, and rows to checkpoints, each by itself: what somebody changed is named as
 * what it is. */
#include "proof/note.h"
#include "files/trail.h"
#include "verify_bench.h"

#define LAST "size = (SELECT max(size) FROM checkpoint)"
#define FIRST "size = (SELECT min(size) FROM checkpoint)"
#define NOTE_COPIES 4

struct rig {
    struct bench bench;
    struct sign_key *key, *other_key;
    struct note_key known, other;
    struct trail trail; /* the sealed file, and the one that goes on */
};

static int make_trail(void **state)
{
    struct rig *rig = calloc(1, sizeof *rig);
    struct why why = {0};
    struct audit_checkpoints checkpoints = {.interval_ms = 3600 * 1000};
    const struct audit_decision held = audit_call("acme", "held");
    struct audit_result answer;
    struct audit *audit;
    uint64_t seq;

    audit_file_init(&rig->bench.file);
    checkpoints.key = rig->key = new_key(&rig->known);
    rig->other_key = new_key(&rig->other);
    audit = audit_file_open_signed(&rig->bench.file, 1, &checkpoints);
    (void)audit_file_call(audit_ring(audit, 0), "acme", "c-1");
    (void)audit_file_call(audit_ring(audit, 0), "beta", "c-2");
    assert_int_equal(audit_file_wait(audit_ring(audit, 0), audit_file_put(audit_ring(audit, 0), &held), &seq), AUDIT_DURABLE);
    seal(audit);
    (void)audit_file_call(audit_ring(audit, 0), "beta", "c-3");
    answer = audit_answer(seq);
    audit_put_result(audit_ring(audit, 0), &answer);
    audit_close(&audit);
    read_triggers(&rig->bench);
    assert_int_equal(trail_find(rig->bench.file.path, true, &rig->trail, &why), CODE_OK);
    assert_int_equal(rig->trail.count, 2);
    *state = rig;
    return 0;
}

static int remove_trail(void **state)
{
    struct rig *rig = *state;

    trail_fini(&rig->trail);
    sign_key_free(&rig->key);
    sign_key_free(&rig->other_key);
    for (int i = 0; i < rig->bench.trigger_count; i++) {
        free(rig->bench.triggers[i][0]);
        free(rig->bench.triggers[i][1]);
    }
    audit_file_fini(&rig->bench.file);
    free(rig);
    return 0;
}

/* Copies of both, to be changed. */
static void copies(const struct rig *rig, char paths[2][128])
{
    for (int i = 0; i < 2; i++) {
        (void)snprintf(paths[i], sizeof paths[i], "%s/copy-%d.db", rig->bench.file.folder, i);
        copy_file(rig->trail.files[i].path, paths[i]);
    }
}

static bool is_among(const char *table, const char *field, const char *text)
{
    for (size_t i = 0; i < report.fault_count && i < VERIFY_FAULTS_MAX; i++)
        if (strcmp(report.fault[i].table, table) == 0 && strcmp(report.fault[i].field, field) == 0 &&
            strstr(report.fault[i].text, text) != NULL)
            return true;
    return false;
}

/* One after the other; the report is the second one's, or the first one's where that must be `first`. */
static void verify_both(const struct rig *rig, char paths[2][128], bool first)
{
    struct trail_file files[2] = {rig->trail.files[0], rig->trail.files[1]};
    const struct trail trail = {.files = files, .count = 2};
    struct verify_sequence *sequence;
    struct why why = {0};

    files[0].path = paths[0];
    files[1].path = paths[1];
    assert_int_equal(verify_sequence_new(&trail, &sequence, &why), CODE_OK);
    for (int i = 0; i < (first ? 1 : 2); i++)
        if (audit_verify(&(struct verify_conf){.path = paths[i], .sequence = sequence, .follows = i > 0}, &report, &why) != CODE_OK)
            fail_msg("%s", why.text);
    verify_sequence_free(&sequence);
}

TEST_CASE(test_files_against_each_other)
{
    static const struct { int file; const char *sql, *table, *field, *text; } changes[] = {
        {1, "INSERT INTO permit_start VALUES (0, 'acme')", "permit_start", "decision", "does not stand before this file"},
        {1, "INSERT INTO permit_start VALUES (100000, 'acme')", "permit_start", "decision", "does not stand before this file"},
        {1, "INSERT INTO permit_start VALUES (1, 'acme')", "permit_start", "decision", "1 of its permits had none to wait for"},
        {1, "UPDATE permit_start SET tenant = 'beta'", "permit_start", "decision", "not carried over as it was"},
        {1, "DELETE FROM permit_start", "permit_start", "decision", "not carried over as it was"},
        {1, "UPDATE tenant_start SET seq = seq - 1 WHERE tenant = 'beta'", "tenant_start", "hash", "tenant 'beta' stood"},
        {1, "UPDATE tenant_start SET hash = randomblob(32) WHERE tenant = 'beta'", "tenant_start", "hash", "tenant 'beta' stood"},
        {1, "DELETE FROM tenant_start WHERE tenant = 'beta'", "tenant_start", "hash", "tenant 'beta' stood"},
        {1, "UPDATE tenant_start SET seq = 100000 WHERE tenant = 'beta'", "tenant_start", "hash", "names a row that does not"},
        {1, "UPDATE tenant_start SET seq = 0 WHERE tenant = 'beta'", "tenant_start", "hash", "names a row that does not"},
        {1, "INSERT INTO tenant_start VALUES ('ghost', 1, zeroblob(32))", "tenant_start", "tenant", "knows 1 tenants fewer"},
        {1, "UPDATE checkpoint SET note = note || substr(note, instr(note, char(10) || char(10)) + 2) WHERE " FIRST, "checkpoint",
         "note", "first one is not the last one of the file before"},
        {1, "DELETE FROM checkpoint WHERE " FIRST, "checkpoint", "size", "does not begin with its last checkpoint"},
        {1, "UPDATE file SET previous = randomblob(32)", "file", "previous", "does not go on where"},
        {1, "UPDATE file SET seq = seq + 1", "file", "previous", "does not go on where"},
        {0, "DELETE FROM event WHERE kind = 'sealed'", "file", "previous", "does not end with an event `sealed`"},
    };
    struct rig *rig = *state;
    char paths[2][128];

    copies(rig, paths);
    verify_both(rig, paths, true);
    assert_true(report.fault_count == 0 && report.is_sealed);
    verify_both(rig, paths, false);
    assert_true(report.fault_count == 0 && !report.is_sealed);
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        copies(rig, paths);
        if (!tamper(&rig->bench, paths[changes[i].file], changes[i].sql))
            fail_msg("not possible: %s", changes[i].sql);
        verify_both(rig, paths, false);
        if (!is_among(changes[i].table, changes[i].field, changes[i].text))
            fail_msg("not found, but %zu others (%s): %s", report.fault_count, report.fault[0].text, changes[i].sql);
    }
}

/* ---- checkpoints ------------------------------------------------------------------------------------------------- */

enum forgery { AS_IT_IS = 0, OTHER_ORIGIN, OTHER_ROOT, OTHER_TENANTS, OTHER_KEY, CHANGED_SIGNATURE };

/* The checkpoint of a file, first or last, signed anew. */
static struct buf forge(const struct rig *rig, const char *path, const char *which, enum forgery forgery)
{
    struct sign_key *key = forgery == OTHER_KEY ? rig->other_key : rig->key;
    struct db *db = open_for_writing(path);
    struct db_stmt *stmt;
    struct buf text, out;
    struct note note;
    char sql[160];

    buf_init(&text, NOTE_BYTES);
    buf_init(&out, NOTE_COPIES * NOTE_BYTES);
    (void)snprintf(sql, sizeof sql, "SELECT note FROM checkpoint WHERE %s", which);
    assert_int_equal(db_prepare(db, sql, &stmt), CODE_OK);
    assert_int_equal(db_step(stmt), CODE_OK);
    assert_int_equal(note_read(db_text(stmt, 0), &note), CODE_OK);
    note.origin = forgery == OTHER_ORIGIN ? SPAN_LIT("callgate/another") : note.origin;
    note.root[0] ^= forgery == OTHER_ROOT;
    note.tenants_root[0] ^= forgery == OTHER_TENANTS;
    assert_int_equal(note_write(&note, &text), CODE_OK);
    assert_int_equal(note_sign(buf_peek(&text), note.origin, key, &out), CODE_OK);
    if (forgery == CHANGED_SIGNATURE) {
        char *at = (char *)(uintptr_t)buf_peek(&out).at + buf_len(&out) - 20;

        *at = *at == 'A' ? 'B' : 'A';
    }
    db_finalize(&stmt);
    db_close(&db);
    buf_fini(&text);
    return out;
}

static void put_note(const struct rig *rig, const char *path, const char *which, const struct buf *note)
{
    struct db *db = open_for_writing(path);
    struct db_stmt *stmt;
    char sql[160];

    drop_triggers(&rig->bench, db);
    (void)snprintf(sql, sizeof sql, "UPDATE checkpoint SET note = ? WHERE %s", which);
    assert_int_equal(db_prepare(db, sql, &stmt), CODE_OK);
    db_bind_text(stmt, 1, buf_peek(note));
    assert_int_equal(db_run(stmt), CODE_OK);
    db_finalize(&stmt);
    put_triggers_back(&rig->bench, db);
    db_close(&db);
}

TEST_CASE(test_checkpoints_in_the_file)
{
    static const struct { enum forgery forgery; const char *which, *sql, *table, *field, *text; } changes[] = {
        {OTHER_ORIGIN, LAST, NULL, "checkpoint", "note", "of another log"},
        {OTHER_ROOT, LAST, NULL, "checkpoint", "root", "is one that the checkpoint"},
        {OTHER_TENANTS, LAST, NULL, "checkpoint", "tenants", "not those it names"},
        {OTHER_KEY, LAST, NULL, "checkpoint", "note", "a key that no event names"},
        {CHANGED_SIGNATURE, LAST, NULL, "checkpoint", "note", "not of this text"},
        {OTHER_ROOT, FIRST, NULL, "event", "detail", "the checkpoint that it names is not there"},
        {AS_IT_IS, LAST, "UPDATE checkpoint SET time_us = time_us + 1 WHERE " LAST, "checkpoint", "time_us", "not the time"},
        {AS_IT_IS, LAST, "UPDATE checkpoint SET size = size - 1 WHERE " LAST, "checkpoint", "size", "not the number"},
        {AS_IT_IS, LAST, "UPDATE checkpoint SET peaks = zeroblob(length(peaks)) WHERE " LAST, "checkpoint", "peaks", "its tree"},
        {AS_IT_IS, LAST, "DELETE FROM event WHERE kind = 'stop'", "checkpoint", "size", "the end was cut off"},
    };
    struct rig *rig = *state;
    char paths[2][128];

    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        struct buf note;

        copies(rig, paths);
        note = forge(rig, paths[1], changes[i].which, changes[i].forgery);
        put_note(rig, paths[1], changes[i].which, &note);
        verify(paths[1]);
        assert_true(changes[i].sql == NULL || report.fault_count == 0);
        if (changes[i].sql != NULL)
            assert_true(tamper(&rig->bench, paths[1], changes[i].sql));
        verify(paths[1]);
        if (!is_among(changes[i].table, changes[i].field, changes[i].text))
            fail_msg("not found, but %zu others (%s): %s", report.fault_count, report.fault[0].text, changes[i].text);
        buf_fini(&note);
    }
}

/* ---- what somebody kept ------------------------------------------------------------------------------------------ */

static void verify_with(const char *path, const struct note_key *key, const struct buf *heads)
{
    struct why why = {0};

    if (audit_verify(&(struct verify_conf){.path = path, .keys = keyring_of(key), .heads = buf_peek(heads)}, &report, &why) != CODE_OK)
        fail_msg("%s", why.text);
}

TEST_CASE(test_kept_outside)
{
    static const struct { enum forgery forgery; bool with_key; const char *field, *text; } kept[] = {
        {AS_IT_IS, true, NULL, NULL}, {AS_IT_IS, false, NULL, NULL},
        {OTHER_KEY, false, "note", "is not signed with the key"}, /* 4.5: with none that the file's events name */
        {OTHER_KEY, true, "note", "is not signed with the key"},
        {CHANGED_SIGNATURE, false, "note", "is not signed with the key"},
        {CHANGED_SIGNATURE, true, "note", "is not signed with the key"},
        {OTHER_ROOT, false, "root", "is one that the checkpoint"},
        {OTHER_ORIGIN, true, "origin", "are of another log"},
    };
    struct rig *rig = *state;
    const char *path = rig->trail.files[1].path;

    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++) {
        struct buf note = forge(rig, path, LAST, kept[i].forgery), again;

        verify_with(path, kept[i].with_key ? &rig->known : NULL, &note);
        if (kept[i].text == NULL ? report.fault_count != 0 || report.heads != 1 : !is_among("heads", kept[i].field, kept[i].text))
            fail_msg("%zu: %zu faults (%s)", i, report.fault_count, report.fault[0].text);
        if (kept[i].forgery == OTHER_ORIGIN) { /* among the log's own it is passed over */
            again = forge(rig, path, LAST, AS_IT_IS);
            assert_int_equal(buf_add_span(&note, buf_peek(&again)), CODE_OK);
            verify_with(path, &rig->known, &note);
            assert_true(report.fault_count == 0 && report.heads == 1 && report.heads_elsewhere == 1);
            buf_fini(&again);
        }
        buf_fini(&note);
    }
    verify_with(path, &rig->other, &(struct buf){0});
    assert_true(is_among("checkpoint", "key", "no checkpoint is signed with the key"));
}

/* Larger ones are about files behind a sealed one where whoever signed them signed its seal, too (4.1): also the newest alone. */
TEST_CASE(test_kept_of_a_sealed_file)
{
    struct rig *rig = *state;
    const char *sealed = rig->trail.files[0].path;
    struct buf kept = forge(rig, rig->trail.files[1].path, LAST, AS_IT_IS), own = forge(rig, sealed, LAST, AS_IT_IS);
    struct buf others = forge(rig, rig->trail.files[1].path, LAST, OTHER_KEY);

    verify_with(sealed, &rig->known, &others);
    assert_true(report.is_sealed && is_among("heads", "size", "the end was cut off"));
    verify_with(sealed, &rig->known, &kept);
    assert_true(report.fault_count == 0 && report.heads == 0 && report.heads_behind == 1);
    assert_int_equal(buf_add_span(&kept, buf_peek(&own)), CODE_OK);
    verify_with(sealed, &rig->known, &kept);
    assert_true(report.fault_count == 0 && report.heads == 1 && report.heads_elsewhere == 1);
    assert_true(report.heads_behind == 1 && report.heads_behind_seq > (uint64_t)report.last_seq); /* 4.1 */
    buf_fini(&others);
    buf_fini(&kept);
    buf_fini(&own);
}

/* 4.1: the last file of a trail has no file behind it that would hold what it lacks. */
TEST_CASE(test_a_sealed_file_at_the_end)
{
    struct rig *rig = *state;
    const char *sealed = rig->trail.files[0].path;
    struct buf kept = forge(rig, rig->trail.files[1].path, LAST, AS_IT_IS), own = forge(rig, sealed, LAST, AS_IT_IS);
    struct verify_conf conf = {.path = sealed, .keys = keyring_of(&rig->known), .ends_trail = true};
    struct why why = {0};

    assert_int_equal(audit_verify(&conf, &report, &why), CODE_OK);
    assert_true(report.fault_count == 0 && report.doubt_count == 1 && strstr(report.doubt[0], "ends with a sealed file") != NULL);
    assert_int_equal(buf_add_span(&kept, buf_peek(&own)), CODE_OK);
    conf.heads = buf_peek(&kept);
    assert_int_equal(audit_verify(&conf, &report, &why), CODE_OK);
    assert_true(is_among("heads", "size", "the end was cut off"));
    buf_fini(&kept);
    buf_fini(&own);
}

/* 4.3: `stop` and `sealed` are signed in the commit that writes them; other rows are within seconds. */
TEST_CASE(test_an_end_that_nobody_signed)
{
    static const char last_out[] = "DROP TRIGGER checkpoint_delete; DELETE FROM checkpoint WHERE " LAST;
    struct rig *rig = *state;
    char paths[2][128];

    copies(rig, paths);
    for (int i = 0; i < 2; i++) {
        struct verify_conf conf = {.path = paths[i], .keys = keyring_of(i == 0 ? &rig->known : NULL)};
        struct db *db = open_for_writing(paths[i]);
        struct why why = {0};

        assert_int_equal(audit_verify(&conf, &report, &why), CODE_OK);
        assert_true(report.fault_count == 0 && report.doubt_count == 0 && report.is_proven == (i == 0));
        assert_int_equal(db_exec(db, last_out), CODE_OK);
        db_close(&db);
        assert_int_equal(audit_verify(&conf, &report, &why), CODE_OK);
        assert_true(!report.is_proven);
        assert_true(i == 0 ? is_among("checkpoint", "key", "no checkpoint is signed")
                           : is_among("event", "kind", "which a gate always signs"));
    }
}

TEST_MAIN(make_trail, remove_trail)
