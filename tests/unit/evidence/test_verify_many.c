/* SPDX-License-Identifier: Apache-2.0 */
/* 11.12: the files of a trail, several at once: each is told in its turn, and of each the same as where one is verified after the
 * other, whatever was changed in which, and on however many threads. */
#include "evidence/strangers.h"
#include "evidence/verify_trail.h"
#include "verify_bench.h"

#include <inttypes.h>

#define FILES 6
#define CALLS 40 /* of a file */

struct rig {
    struct bench bench;
    struct sign_key *key;
    struct note_key known;
    struct trail trail;
    char paths[FILES][128]; /* copies, to be changed */
};

/* A call stays open over each seal, and a tenant is new in each file. */
static int make_files(void **state)
{
    struct rig *rig = calloc(1, sizeof *rig);
    struct audit_checkpoints checkpoints = {.interval_ms = 3600 * 1000};
    struct audit *audit;
    struct why why = {""};
    uint64_t open = 0;

    audit_file_init(&rig->bench.file);
    checkpoints.key = rig->key = new_key(&rig->known);
    audit = audit_file_open_signed(&rig->bench.file, 1, &checkpoints);
    for (int file = 0; file < FILES; file++) {
        struct audit_ring *ring = audit_ring(audit, 0);
        struct audit_result answer = audit_answer(open);
        struct audit_decision held;
        char tenant[16];

        (void)snprintf(tenant, sizeof tenant, "t%d", file);
        if (open != 0)
            audit_put_result(ring, &answer);
        for (int i = 0; i < CALLS; i++)
            (void)audit_file_call(ring, i % 3 == 0 ? tenant : "acme", "c");
        held = audit_call(tenant, "held");
        assert_int_equal(audit_file_wait(ring, audit_file_put(ring, &held), &open), AUDIT_DURABLE);
        if (file + 1 < FILES)
            seal(audit);
    }
    audit_close(&audit);
    read_triggers(&rig->bench);
    assert_int_equal(trail_find(rig->bench.file.path, true, &rig->trail, &why), CODE_OK);
    assert_int_equal(rig->trail.count, FILES);
    *state = rig;
    return 0;
}

static int remove_files(void **state)
{
    struct rig *rig = *state;

    trail_fini(&rig->trail);
    sign_key_free(&rig->key);
    for (int i = 0; i < rig->bench.trigger_count; i++) {
        free(rig->bench.triggers[i][0]);
        free(rig->bench.triggers[i][1]);
    }
    audit_file_fini(&rig->bench.file);
    free(rig);
    return 0;
}

/* ---- what is told ------------------------------------------------------------------------------------------------- */

struct told {
    struct buf text;
    size_t count, most; /* files; where `most` were told it ends */
};

static bool tell(void *context, const struct verify_conf *conf, size_t at, enum code code, const struct verify_report *is,
                 const struct why *why)
{
    struct told *told = context;

    assert_int_equal(at, told->count);
    buf_addf(&told->text, "%zu: %s\n", at, code == CODE_OK ? "read" : why->text);
    if (code == CODE_OK)
        buf_addf(&told->text, "  %" PRIu64 " rows from %" PRId64 ", %" PRIu64 " tenants, %" PRIu64 " open, %" PRIu64 " marks, "
                 "%" PRIu64 " proven, %" PRIu64 " and %" PRIu64 " kept, %zu faults\n", is->rows, is->first_seq, is->tenants,
                 is->under_way, is->checkpoints, is->proven_seq, is->heads, is->heads_elsewhere, is->fault_count);
    for (size_t i = 0; code == CODE_OK && i < is->fault_count && i < VERIFY_FAULTS_MAX; i++)
        buf_addf(&told->text, "  %" PRId64 " %s.%s: %s\n", is->fault[i].seq, is->fault[i].table, is->fault[i].field,
                 is->fault[i].text);
    for (size_t i = 0; code == CODE_OK && i < is->doubt_count; i++)
        buf_addf(&told->text, "  %s\n", is->doubt[i]);
    assert_int_equal(conf->ends_trail, at + 1 == FILES);
    return ++told->count < told->most;
}

static void told_init(struct told *told, size_t most)
{
    *told = (struct told){.most = most};
    buf_init(&told->text, 1 << 20);
}

static struct trail trail_of(struct rig *rig, struct trail_file files[FILES])
{
    for (size_t i = 0; i < FILES; i++) {
        files[i] = rig->trail.files[i];
        files[i].path = rig->paths[i];
    }
    return (struct trail){.files = files, .count = FILES};
}

static void copy_all(struct rig *rig)
{
    for (size_t i = 0; i < FILES; i++) {
        (void)snprintf(rig->paths[i], sizeof rig->paths[i], "%s/copy-%zu.db", rig->bench.file.folder, i);
        copy_file(rig->trail.files[i].path, rig->paths[i]);
    }
}

static struct verify_conf conf_with(const struct rig *rig, struct verify_sequence *sequence, const struct buf *heads)
{
    return (struct verify_conf){.keys = keyring_of(&rig->known), .sequence = sequence, .heads = buf_peek(heads)};
}

/* Takes: threads: 0: one file after the other, by the verifier of a file. */
static void verify_on(struct rig *rig, unsigned threads, const struct buf *heads, struct told *told)
{
    struct trail_file files[FILES];
    struct trail trail = trail_of(rig, files);
    struct verify_trail_conf all = {.trail = &trail, .threads = threads, .live = rig->paths[FILES - 1], .tell = tell};
    struct verify_sequence *sequence;
    struct why why = {""};

    assert_int_equal(verify_sequence_new(&trail, &sequence, &why), CODE_OK);
    all.each = conf_with(rig, sequence, heads);
    all.each.context = told;
    if (threads > 0 && verify_trail(&all, &why) != CODE_OK)
        fail_msg("%s", why.text);
    for (size_t i = 0; threads == 0 && i < FILES; i++) {
        struct verify_conf conf = conf_with(rig, sequence, heads);
        enum code code;

        conf.path = rig->paths[i];
        conf.follows = i > 0;
        conf.ends_trail = i + 1 == FILES;
        why = (struct why){""};
        code = audit_verify(&conf, &report, &why);
        (void)tell(told, &conf, i, code, &report, &why);
    }
    verify_sequence_free(&sequence);
}

/* Returns: what was told, of which the caller frees the text. */
static struct told agree(struct rig *rig, const struct buf *heads, const char *what)
{
    static const unsigned threads[] = {1, 2, 8};
    struct told alone;

    told_init(&alone, SIZE_MAX);
    verify_on(rig, 0, heads, &alone);
    for (size_t i = 0; i < sizeof threads / sizeof threads[0]; i++) {
        struct told many;

        told_init(&many, SIZE_MAX);
        verify_on(rig, threads[i], heads, &many);
        assert_int_equal(many.count, FILES);
        if (!span_equals(buf_peek(&alone.text), buf_peek(&many.text)))
            fail_msg("%s, on %u threads:\n%.*s\nalone:\n%.*s", what, threads[i], SPAN_ARG(buf_peek(&many.text)),
                     SPAN_ARG(buf_peek(&alone.text)));
        buf_fini(&many.text);
    }
    return alone;
}

static void says(const struct told *told, const char *wanted)
{
    struct span text = buf_peek(&told->text);

    if (memmem(text.at, text.len, wanted, strlen(wanted)) == NULL)
        fail_msg("%s is not in:\n%.*s", wanted, SPAN_ARG(text));
}

/* ---- tests -------------------------------------------------------------------------------------------------------- */

TEST_CASE(test_as_one_after_the_other)
{
    static const struct { size_t file; const char *sql, *text; } changes[] = {
        {0, NULL, "5: read"},
        {1, "UPDATE decision SET rule = 'another'", "its contents are not what was written"},
        {2, "UPDATE permit_start SET tenant = 'acme'", "not carried over as it was"},
        {3, "UPDATE tenant_start SET hash = randomblob(32)", "it does not begin where tenant"},
        {2, "UPDATE file SET previous = randomblob(32)", "does not go on where the file before it ended"},
        {4, "DELETE FROM event WHERE kind = 'sealed'", "does not end with an event `sealed`"},
        {0, "DELETE FROM outcome WHERE seq = (SELECT min(seq) FROM outcome)", "is missing"},
        {5, "DELETE FROM event WHERE kind = 'stop'", "the end was cut off"},
    };
    const struct buf none = {0};
    struct rig *rig = *state;

    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        struct told told;

        copy_all(rig);
        if (changes[i].sql != NULL)
            assert_true(tamper(&rig->bench, rig->paths[changes[i].file], changes[i].sql));
        told = agree(rig, &none, changes[i].sql != NULL ? changes[i].sql : "as it is");
        says(&told, changes[i].text);
        assert_int_equal(told.count, FILES);
        buf_fini(&told.text);
    }
}

/* The file behind one that says nothing goes on from the one before that, which is a fault. */
TEST_CASE(test_one_that_cannot_be_read)
{
    const struct buf none = {0};
    struct rig *rig = *state;
    struct told told;
    struct db *db;

    copy_all(rig);
    db = open_for_writing(rig->paths[3]);
    assert_int_equal(db_exec(db, "ALTER TABLE outcome RENAME TO income"), CODE_OK);
    db_close(&db);
    told = agree(rig, &none, "another table");
    says(&told, "is a database, but no audit trail");
    says(&told, "4: read");
    says(&told, "does not go on where the file before it ended");
    buf_fini(&told.text);
}

TEST_CASE(test_the_seam_is_told_before_the_rows)
{
    const struct buf none = {0};
    struct rig *rig = *state;
    struct told told;
    struct span text;
    const char *seam, *row;

    copy_all(rig);
    assert_true(tamper(&rig->bench, rig->paths[2], "UPDATE decision SET rule = 'another'")); /* more than a report has room for */
    assert_true(tamper(&rig->bench, rig->paths[2], "DELETE FROM permit_start"));
    told = agree(rig, &none, "both");
    text = buf_peek(&told.text);
    seam = memmem(text.at, text.len, "is not carried over", strlen("is not carried over"));
    row = memmem(text.at, text.len, "its contents are not", strlen("its contents are not"));
    assert_true(seam != NULL && row != NULL && seam < row);
    buf_fini(&told.text);
}

TEST_CASE(test_a_file_that_is_there_twice)
{
    const struct buf none = {0};
    struct rig *rig = *state;
    struct told told;

    copy_all(rig);
    copy_file(rig->trail.files[1].path, rig->paths[2]);
    told = agree(rig, &none, "another copy");
    says(&told, "does not go on where the file before it ended");
    buf_fini(&told.text);
    (void)snprintf(rig->paths[2], sizeof rig->paths[2], "%s", rig->paths[1]);
    told = agree(rig, &none, "the very file");
    says(&told, "does not go on where the file before it ended");
    buf_fini(&told.text);
}

/* Each is judged with the file that it is about, once, however many files are read at the time. */
TEST_CASE(test_kept_checkpoints)
{
    struct rig *rig = *state;
    struct told told;
    struct buf heads;

    buf_init(&heads, FILES * 2 * NOTE_BYTES);
    copy_all(rig);
    for (size_t i = 0; i < FILES; i++) {
        struct db *db = open_for_writing(rig->paths[i]);
        struct db_stmt *stmt;

        assert_int_equal(db_prepare(db, "SELECT note FROM checkpoint ORDER BY size DESC LIMIT 1", &stmt), CODE_OK);
        assert_int_equal(db_step(stmt), CODE_OK);
        assert_int_equal(buf_add_span(&heads, db_text(stmt, 0)), CODE_OK);
        db_finalize(&stmt);
        db_close(&db);
    }
    told = agree(rig, &heads, "kept");
    says(&told, "1 and 5 kept, 0 faults");
    buf_fini(&told.text);
    ((char *)(uintptr_t)buf_peek(&heads).at)[buf_len(&heads) / 2] ^= 1;
    told = agree(rig, &heads, "kept and damaged");
    says(&told, "heads.");
    buf_fini(&told.text);
    buf_fini(&heads);
}

/* A rotation came since the files were looked for: where the link leads by now is no stranger. */
TEST_CASE(test_the_link_is_no_stranger)
{
    struct rig *rig = *state;
    struct trail before = {.files = rig->trail.files, .count = FILES - 1};
    struct strangers found = {0};
    struct why why = {""};
    size_t links = 0;

    assert_int_equal(strangers_find(rig->bench.file.path, &before, &found, &why), CODE_OK);
    assert_true(found.count > 0); /* the newest under its own name, which the next look has in the trail */
    for (size_t i = 0; i < found.count; i++)
        links += strcmp(found.list[i].path, rig->bench.file.path) == 0;
    assert_int_equal(links, 0);
    strangers_fini(&found);
}

/* Those behind are not told, and whoever verifies them ends. */
TEST_CASE(test_ends_where_it_is_told_to)
{
    const struct buf none = {0};
    struct rig *rig = *state;

    copy_all(rig);
    for (size_t most = 1; most < FILES; most++) {
        struct told told;

        told_init(&told, most);
        verify_on(rig, 8, &none, &told);
        assert_int_equal(told.count, most);
        buf_fini(&told.text);
    }
}

TEST_MAIN(make_files, remove_files)
