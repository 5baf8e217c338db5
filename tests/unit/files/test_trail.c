/* SPDX-License-Identifier: Apache-2.0 */
/* 3.4: sealed files beside the live one are found by what they hold, and asked in their order; a rotation is followed. */
#include "rows/schema.h"
#include "query/entries.h"
#include "query/follow.h"
#include "query/stats.h"

#include "fakes/audit_file.h"
#include "fakes/cm.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static void make(const struct audit_file *file, const char *name, long long before, int previous, int rows, int head)
{
    char path[200], sql[600];
    struct why why = {0};
    struct db *db;

    (void)snprintf(path, sizeof path, "%s/%s", file->folder, name);
    assert_int_equal(db_open(path, DB_CREATE, &db, &why), CODE_OK);
    assert_int_equal(db_exec(db, "PRAGMA synchronous = OFF; BEGIN"), CODE_OK);
    assert_int_equal(db_exec(db, audit_schema), CODE_OK);
    /* a hash is a number printed into 32 bytes */
    (void)snprintf(sql, sizeof sql, "PRAGMA application_id = %d; PRAGMA user_version = %d; "
                   "INSERT INTO file VALUES (%lld, 1, 1, x'00', CASE WHEN %d THEN CAST(printf('%%032d', %d) AS BLOB) END, zeroblob(32))",
                   AUDIT_APPLICATION_ID, AUDIT_SCHEMA_VERSION, before, previous, previous);
    if (db_exec(db, sql) != CODE_OK)
        fail_msg("%s", db_error(db));
    for (int i = 1; i <= rows; i++) {
        (void)snprintf(sql, sizeof sql, "INSERT INTO decision (seq, time_us, tenant, correlation, arguments_cut, arguments_redacted, "
                       "verdict, reason, expects_outcome, hash) VALUES (%lld, %lld, 'acme', 'c', 0, 0, 'deny', 'forbidden', 0, "
                       "CAST(printf('%%032d', %d) AS BLOB))", before + i, before + i, i == rows ? head : 999);
        if (db_exec(db, sql) != CODE_OK)
            fail_msg("%s", db_error(db));
    }
    assert_int_equal(db_exec(db, "COMMIT"), CODE_OK);
    db_close(&db);
}

static struct audit_file file;

static int setup(void **state)
{
    (void)state;
    audit_file_init(&file);
    make(&file, "audit-1-3.db", 0, 0, 3, 13);
    make(&file, "audit-4-9.db", 3, 13, 6, 19);
    make(&file, "audit.db", 9, 19, 2, 21);
    make(&file, "other-4-9.db", 3, 14, 6, 20);     /* another trail's */
    make(&file, "another.db", 0, 0, 9, 77);        /* ends where ours goes on, but with another hash */
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    audit_file_fini(&file);
    return 0;
}

struct seen {
    char text[400];
    size_t len;
};

static char outcome_seen[32]; /* of the last call */

static enum code see(void *context, const struct query_row *row)
{
    struct seen *seen = context;

    (void)snprintf(outcome_seen, sizeof outcome_seen, "%.*s", SPAN_ARG(query_value(row, "outcome")));

    seen->len += (size_t)snprintf(seen->text + seen->len, sizeof seen->text - seen->len, "%.*s ",
                                  SPAN_ARG(query_value(row, "seq")));
    return CODE_OK;
}

static const char *ask(bool all, const struct query *query)
{
    static struct seen seen;
    struct trail trail;
    struct why why = {0};
    bool more;

    seen = (struct seen){.len = 0};
    assert_int_equal(trail_find(file.path, all, &trail, &why), CODE_OK);
    assert_int_equal(audit_query(&trail, query, see, &seen, &more, &why), CODE_OK);
    trail_fini(&trail);
    return seen.text;
}

TEST_CASE_WITH(test_chain_of_files, setup, teardown)
{
    struct trail trail;
    struct why why = {0};

    assert_int_equal(trail_find(file.path, true, &trail, &why), CODE_OK);
    assert_int_equal(trail.count, 3);
    assert_non_null(strstr(trail.files[0].path, "/audit-1-3.db"));
    assert_non_null(strstr(trail.files[1].path, "/audit-4-9.db"));
    assert_string_equal(trail.files[2].path, file.path);
    assert_true(trail.files[1].before_seq == 3 && trail.files[1].last_seq == 9 && trail.missing_to == 0);
    trail_fini(&trail);
    assert_int_equal(trail_find(file.path, false, &trail, &why), CODE_OK);
    assert_true(trail.count == 1 && trail.missing_to == 9);
    trail_fini(&trail);
}

TEST_CASE_WITH(test_asked_in_order, setup, teardown)
{
    assert_string_equal(ask(false, &(struct query){0}), "10 11 ");
    assert_string_equal(ask(true, &(struct query){0}), "1 2 3 4 5 6 7 8 9 10 11 ");
    assert_string_equal(ask(true, &(struct query){.limit = 4}), "8 9 10 11 ");
    assert_string_equal(ask(true, &(struct query){.limit = 4, .order = QUERY_NEWEST_FIRST}), "11 10 9 8 ");
    assert_string_equal(ask(true, &(struct query){.limit = 4, .order = QUERY_OLDEST_FIRST}), "1 2 3 4 ");
    assert_string_equal(ask(true, &(struct query){.correlation = SPAN_LIT("c"), .since_us = 3, .until_us = 11}),
                        "3 4 5 6 7 8 9 10 ");
    assert_string_equal(ask(true, &(struct query){.after_seq = 8}), "9 10 11 ");
}

/* What is not there is said, and is no reason to show nothing. */
TEST_CASE_WITH(test_a_missing_file, setup, teardown)
{
    struct trail trail;
    struct why why = {0};
    char path[200];

    (void)snprintf(path, sizeof path, "%s/audit-1-3.db", file.folder);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(trail_find(file.path, true, &trail, &why), CODE_OK);
    assert_true(trail.count == 2 && trail.missing_to == 3);
    trail_fini(&trail);
    assert_int_equal(trail_find("nowhere.db", true, &trail, &why), CODE_NOT_FOUND);
}

/* ---- following ---- */

static struct seen followed;

static const char *next(struct follow *follow, const struct query *query)
{
    struct why why = {0};

    followed = (struct seen){.len = 0};
    if (follow_next(follow, query, see, &followed, &why) != CODE_OK)
        fail_msg("%s", why.text);
    return followed.text;
}

static void change(const char *name, const char *sql)
{
    char path[200];
    struct why why = {0};
    struct db *db;

    (void)snprintf(path, sizeof path, "%s/%s", file.folder, name);
    assert_int_equal(db_open(path, DB_WRITE, &db, &why), CODE_OK);
    if (db_exec(db, "PRAGMA synchronous = OFF") != CODE_OK || db_exec(db, sql) != CODE_OK)
        fail_msg("%s", db_error(db));
    db_close(&db);
}

#define COLUMNS "(seq, time_us, tenant, method, arguments_cut, arguments_redacted, verdict, reason, expects_outcome, hash)"
#define PERMIT(seq) "INSERT INTO decision " COLUMNS " VALUES (" #seq ", 1, 'acme', 'm', 0, 0, 'permit', 'permitted', 1, zeroblob(32)); "
#define DENY(seq, hash) "INSERT INTO decision " COLUMNS " VALUES (" #seq ", 1, 'acme', NULL, 0, 0, 'deny', 'forbidden', 0, " \
                        "CAST(printf('%032d', " #hash ") AS BLOB)); "
#define RESULT(seq, of) "INSERT INTO outcome (seq, time_us, tenant, decision, outcome, reason, status, response_bytes, " \
                        "server_requests, server_notifications, server_denied, latency_us, upstream_us, hash, answer_effect, " \
                        "answer_rule, answer_found, answer_rules) VALUES (" #seq ", 1, 'acme', " #of ", 'result', 'completed', 200, " \
                        "1, 0, 0, 0, 5, 5, zeroblob(32), 'redact', 'cards', " \
                        "'{\"iban\":2,\"email\":1}', '[{\"id\":\"cards\"},{\"id\":\"seen\"}]'); "

TEST_CASE_WITH(test_followed_as_they_end, setup, teardown)
{
    struct follow *follow;
    struct why why = {0};

    assert_int_equal(follow_open(file.path, &follow, &why), CODE_OK);
    followed = (struct seen){.len = 0};
    assert_int_equal(follow_last(follow, &(struct query){0}, 1, see, &followed, &why), CODE_OK);
    assert_string_equal(followed.text, "11 ");
    assert_string_equal(next(follow, &(struct query){0}), "");
    change("audit.db", PERMIT(12) DENY(13, 1) PERMIT(14));
    assert_string_equal(next(follow, &(struct query){0}), "13 "); /* the others are under way */
    change("audit.db", RESULT(15, 14) DENY(16, 1) RESULT(17, 12));
    assert_string_equal(next(follow, &(struct query){0}), "14 16 12 ");
    assert_string_equal(next(follow, &(struct query){0}), "");
    change("audit.db", DENY(18, 1));
    assert_string_equal(next(follow, &(struct query){.verdict = SPAN_LIT("permit")}), ""); /* filtered, and done with */
    assert_string_equal(next(follow, &(struct query){0}), "");
    follow_close(&follow);
}

static void rotate(const char *to)
{
    char path[200];

    (void)snprintf(path, sizeof path, "%s/%s", file.folder, to);
    assert_int_equal(rename(file.path, path), 0);
}

static int looks_left; /* at the audit's path before it is another file's; 0: it stays */

int stat(const char *path, struct stat *there)
{
    union { void *symbol; int (*call)(const char *path, struct stat *there); } real = {dlsym(RTLD_NEXT, "stat")};
    char spare[200];

    if (looks_left > 0 && strcmp(path, file.path) == 0 && --looks_left == 0) {
        rotate("audit-10-11.db");
        (void)snprintf(spare, sizeof spare, "%s/spare.db", file.folder);
        assert_int_equal(rename(spare, file.path), 0);
    }
    return real.call(path, there);
}

TEST_CASE_WITH(test_followed_from_the_middle_of_a_rotation, setup, teardown)
{
    char told[2 * sizeof followed.text], sealed[200];
    struct follow *follow;
    struct why why = {0};

    make(&file, "spare.db", 11, 21, 2, 23);
    for (int looks = 1; looks <= 4; looks++) {
        looks_left = looks;
        assert_int_equal(follow_open(file.path, &follow, &why), CODE_OK);
        followed = (struct seen){.len = 0};
        assert_int_equal(follow_last(follow, &(struct query){0}, 2, see, &followed, &why), CODE_OK);
        (void)snprintf(told, sizeof told, "%s", followed.text);
        for (int turn = 0; turn < 3; turn++)
            (void)snprintf(told + strlen(told), sizeof told - strlen(told), "%s", next(follow, &(struct query){0}));
        assert_int_equal(looks_left, 0);
        if (strcmp(told, "12 13 ") != 0)
            assert_string_equal(told, "10 11 12 13 ");
        follow_close(&follow);
        rotate("spare.db");
        (void)snprintf(sealed, sizeof sealed, "%s/audit-10-11.db", file.folder);
        assert_int_equal(rename(sealed, file.path), 0);
    }
}

TEST_CASE_WITH(test_followed_over_rotations, setup, teardown)
{
    struct follow *follow;
    struct why why = {0};

    assert_int_equal(follow_open(file.path, &follow, &why), CODE_OK);
    followed = (struct seen){.len = 0};
    assert_int_equal(follow_last(follow, &(struct query){0}, 0, see, &followed, &why), CODE_OK);
    assert_string_equal(followed.text, "");
    change("audit.db", DENY(12, 32));
    rotate("audit-10-12.db");
    assert_string_equal(next(follow, &(struct query){0}), "12 "); /* its rest; nothing stands in its place yet */
    assert_string_equal(next(follow, &(struct query){0}), "");
    make(&file, "audit.db", 12, 32, 2, 34);
    assert_string_equal(next(follow, &(struct query){0}), "13 14 ");
    rotate("audit-13-14.db"); /* and twice between two looks */
    make(&file, "audit.db", 14, 34, 2, 36);
    rotate("audit-15-16.db");
    make(&file, "audit.db", 16, 36, 1, 37);
    assert_string_equal(next(follow, &(struct query){0}), "15 16 17 ");
    assert_string_equal(next(follow, &(struct query){0}), "");
    follow_close(&follow);
}

static enum code see_entry(void *context, enum entry_kind kind, int64_t seq, const struct query_row *row)
{
    struct seen *seen = context;

    seen->len += (size_t)snprintf(seen->text + seen->len, sizeof seen->text - seen->len, "%c%lld:%.*s ", "doe"[kind],
                                  (long long)seq, SPAN_ARG(query_value(row, "method")));
    return CODE_OK;
}

static const char *entries(const struct query *query)
{
    struct entry_place place = {.seq = 11};
    struct trail trail;
    struct why why = {0};

    followed = (struct seen){.len = 0};
    assert_int_equal(trail_find(file.path, true, &trail, &why), CODE_OK);
    for (int64_t before = -1; before != place.seq;) {
        before = place.seq;
        if (audit_entries(&trail, query, ENTRIES_EVENTS, &place, see_entry, &followed, &why) != CODE_OK)
            fail_msg("%s", why.text);
    }
    assert_true(place.seq == 15 && place.is_known);
    trail_fini(&trail);
    return followed.text;
}

/* A call that was under way when its file was sealed has its outcome in the next one. */
TEST_CASE_WITH(test_an_outcome_behind_a_rotation, setup, teardown)
{
    struct query query = {.after_seq = 11, .limit = 1, .order = QUERY_OLDEST_FIRST};
    const struct stats_group *const *groups;
    struct stats *stats;
    struct trail trail;
    struct follow *follow;
    struct why why = {0};

    assert_int_equal(follow_open(file.path, &follow, &why), CODE_OK);
    assert_int_equal(follow_last(follow, &query, 0, see, &followed, &why), CODE_OK);
    change("audit.db", PERMIT(12) );
    change("audit.db", DENY(13, 33));
    rotate("audit-10-13.db");
    make(&file, "audit.db", 13, 33, 1, 40);
    change("audit.db", RESULT(15, 12));
    assert_string_equal(next(follow, &(struct query){0}), "13 14 12 ");
    assert_string_equal(next(follow, &(struct query){0}), "");
    follow_close(&follow);
    assert_string_equal(ask(true, &query), "12 ");
    assert_string_equal(outcome_seen, "result");
    query = (struct query){.outcome = SPAN_LIT("result"), .status = 200};
    assert_string_equal(ask(true, &query), "12 ");
    query.outcome = SPAN_LIT("timeout");
    assert_string_equal(ask(true, &query), "");
    /* 9.2: what rules for answers did, likewise */
    query = (struct query){.answer = SPAN_LIT("redact"), .answer_rule = SPAN_LIT("see*"), .detector = SPAN_LIT("email")};
    assert_string_equal(ask(true, &query), "12 ");
    assert_string_equal(ask(true, &(struct query){.answer = SPAN_LIT("withhold")}), "");
    assert_string_equal(ask(true, &(struct query){.answer_rule = SPAN_LIT("see")}), "");
    assert_string_equal(ask(true, &(struct query){.detector = SPAN_LIT("2")}), "");
    assert_int_equal(trail_find(file.path, true, &trail, &why), CODE_OK);
    assert_int_equal(audit_stats(&trail, &(struct query){0}, 0, &stats, &why), CODE_OK);
    assert_true(stats_total(stats)->open == 0 && stats_total(stats)->permitted == 1 && stats_total(stats)->latencies == 1);
    stats_free(&stats);
    assert_int_equal(audit_stats(&trail, &(struct query){0}, 1u << STATS_ANSWER | 1u << STATS_DETECTOR, &stats, &why), CODE_OK);
    assert_true(stats_total(stats)->redacted == 1 && stats_total(stats)->withheld == 0);
    assert_int_equal(stats_groups(stats, STATS_DETECTOR, &groups), 3);
    assert_true(groups[0]->name.at == NULL && groups[1]->calls == 1 && groups[2]->calls == 1);
    assert_true(span_is(groups[1]->name, "email") && span_is(groups[2]->name, "iban"));
    assert_int_equal(stats_groups(stats, STATS_ANSWER, &groups), 2);
    assert_true(span_is(groups[1]->name, "redact"));
    stats_free(&stats);
    trail_fini(&trail);
    assert_string_equal(entries(&(struct query){0}), "d12:m d13: d14: o15:m ");
    assert_string_equal(entries(&(struct query){.verdict = SPAN_LIT("permit")}), "d12:m o15:m ");
    assert_string_equal(entries(&(struct query){.verdict = SPAN_LIT("deny")}), "d13: d14: ");
}

/* 6.3: a call that lasted over two rotations. */
TEST_CASE_WITH(test_an_outcome_two_files_behind, setup, teardown)
{
    struct stats *stats;
    struct trail trail;
    struct why why = {0};

    change("audit.db", PERMIT(12) DENY(13, 33));
    rotate("audit-10-13.db");
    make(&file, "audit.db", 13, 33, 1, 40);
    change("audit.db", "INSERT INTO permit_start VALUES (12, 'acme')");
    rotate("audit-14-14.db");
    make(&file, "audit.db", 14, 40, 1, 41);
    change("audit.db", "INSERT INTO permit_start VALUES (12, 'acme'); " RESULT(16, 12));
    assert_string_equal(ask(true, &(struct query){.outcome = SPAN_LIT("result")}), "12 ");
    assert_string_equal(ask(true, &(struct query){.status = 200}), "12 ");
    assert_string_equal(ask(true, &(struct query){.outcome = SPAN_LIT("time*")}), "");
    assert_int_equal(trail_find(file.path, true, &trail, &why), CODE_OK);
    assert_int_equal(audit_stats(&trail, &(struct query){.outcome = SPAN_LIT("result")}, 0, &stats, &why), CODE_OK);
    assert_true(stats_total(stats)->calls == 1 && stats_total(stats)->open == 0);
    stats_free(&stats);
    trail_fini(&trail);
}

/* 6.3: a rotation between the look and the reading leaves no file out. */
TEST_CASE_WITH(test_a_link_that_moves_on, setup, teardown)
{
    static struct seen seen;
    struct trail trail;
    struct why why = {0};
    bool more;

    rotate("audit-10-11.db");
    assert_int_equal(symlink("audit-10-11.db", file.path), 0);
    assert_int_equal(trail_find(file.path, true, &trail, &why), CODE_OK);
    make(&file, "audit-12-12.db", 11, 21, 1, 22);
    assert_int_equal(unlink(file.path), 0);
    assert_int_equal(symlink("audit-12-12.db", file.path), 0);
    seen = (struct seen){.len = 0};
    assert_int_equal(audit_query(&trail, &(struct query){.order = QUERY_OLDEST_FIRST}, see, &seen, &more, &why), CODE_OK);
    assert_string_equal(seen.text, "1 2 3 4 5 6 7 8 9 10 11 ");
    trail_fini(&trail);
    assert_string_equal(ask(true, &(struct query){.order = QUERY_OLDEST_FIRST}), "1 2 3 4 5 6 7 8 9 10 11 12 ");
}

/* What cannot be looked at for the moment is no gap. */
TEST_CASE_WITH(test_one_that_is_being_finished, setup, teardown)
{
    char path[sizeof file.path + 16];
    struct trail trail;
    struct why why = {0};
    struct db *db;

    (void)snprintf(path, sizeof path, "%.*saudit-4-9.db", (int)(strlen(file.path) - strlen("audit.db")), file.path);
    assert_int_equal(db_open(path, DB_WRITE, &db, &why), CODE_OK);
    assert_int_equal(db_exec(db, "PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE"), CODE_OK);
    assert_int_equal(trail_find(file.path, true, &trail, &why), CODE_BUSY);
    assert_non_null(strstr(why.text, "audit-4-9.db: somebody has it"));
    db_rollback(db);
    db_close(&db);
    assert_int_equal(trail_find(file.path, true, &trail, &why), CODE_OK);
    assert_int_equal(trail.missing_to, 0);
    trail_fini(&trail);
}

/* Somebody who looks into what was done to a file can still ask it. */
TEST_CASE_WITH(test_a_damaged_file_answers, setup, teardown)
{
    change("audit.db", "DROP TRIGGER file_delete; DROP TRIGGER decision_update; DELETE FROM file; UPDATE decision SET hash = x'00'");
    assert_string_equal(ask(true, &(struct query){0}), "10 11 ");
    change("audit-4-9.db", "DROP TRIGGER decision_update; UPDATE decision SET hash = x'00' WHERE seq = 9");
    assert_string_equal(ask(false, &(struct query){.limit = 1}), "11 ");
}

static struct why refusal;

static enum code go_on(int64_t seq, bool is_known)
{
    struct entry_place place = {.seq = seq, .is_known = is_known};
    struct trail trail;
    enum code code;

    refusal = (struct why){0};
    followed = (struct seen){.len = 0};
    assert_int_equal(trail_find(file.path, true, &trail, &refusal), CODE_OK);
    code = audit_entries(&trail, &(struct query){0}, ENTRIES_EVENTS, &place, see_entry, &followed, &refusal);
    trail_fini(&trail);
    return code;
}

/* What lies between is never passed over. */
TEST_CASE_WITH(test_places_that_are_not_there, setup, teardown)
{
    char path[200];

    assert_int_equal(go_on(0, false), CODE_OK);
    assert_string_equal(followed.text, "d1: d2: d3: "); /* a turn is of one file */
    assert_int_equal(go_on(3, true), CODE_DENIED);      /* a file begins behind it, and names another hash */
    assert_int_equal(go_on(4, true), CODE_DENIED);      /* another hash */
    assert_non_null(strstr(refusal.text, "row 4 is not the one"));
    assert_int_equal(go_on(99, true), CODE_DENIED);
    assert_non_null(strstr(refusal.text, "rows were cut off"));
    assert_string_equal(followed.text, "");
    (void)snprintf(path, sizeof path, "%s/audit-1-3.db", file.folder);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(go_on(1, false), CODE_NOT_FOUND);
    assert_int_equal(go_on(3, false), CODE_OK);
    assert_string_equal(followed.text, "d4: d5: d6: d7: d8: d9: ");
}

/* The window that is looked at from the end grows until enough is found. */
TEST_CASE_WITH(test_the_last_of_many, setup, teardown)
{
    struct query query = {.principal = SPAN_LIT("rare")};
    struct follow *follow;
    struct why why = {0};

    change("audit.db", "INSERT INTO decision (seq, time_us, principal, arguments_cut, arguments_redacted, verdict, reason, "
                       "expects_outcome, hash) WITH RECURSIVE n(i) AS (VALUES (12) UNION ALL SELECT i + 1 FROM n WHERE i < 6000) "
                       "SELECT i, 1, CASE WHEN i IN (40, 3000, 5999) THEN 'rare' END, 0, 0, 'deny', 'forbidden', 0, zeroblob(32) FROM n");
    assert_int_equal(follow_open(file.path, &follow, &why), CODE_OK);
    for (uint64_t lines = 1; lines <= 4; lines++) {
        static const char *const expected[] = {"5999 ", "3000 5999 ", "40 3000 5999 ", "40 3000 5999 "};

        followed = (struct seen){.len = 0};
        assert_int_equal(follow_last(follow, &query, lines, see, &followed, &why), CODE_OK);
        assert_string_equal(followed.text, expected[lines - 1]);
    }
    follow_close(&follow);
}

/* The same with the gate's own rotation. */
TEST_CASE(test_a_real_rotation)
{
    struct audit_file real;
    struct audit_done done = {.code = CODE_BUSY};
    const struct audit_decision decision = audit_call("acme", "open");
    struct audit_result result;
    struct trail trail;
    struct follow *follow;
    struct why why = {0};
    struct seen seen = {.len = 0};
    struct query query = {.correlation = SPAN_LIT("open")};
    struct audit *audit;
    uint64_t seq;
    bool more;

    audit_file_init(&real);
    audit = audit_file_open(&real, 1);
    assert_int_equal(audit_file_wait(audit_ring(audit, 0), audit_file_put(audit_ring(audit, 0), &decision), &seq), AUDIT_DURABLE);
    assert_int_equal(follow_open(real.path, &follow, &why), CODE_OK);
    assert_int_equal(follow_last(follow, &query, 9, see, &seen, &why), CODE_OK);
    assert_int_equal(audit_archive(audit, SPAN_LIT("ada")), CODE_OK);
    for (int naps = 0; !audit_job_over(audit, &done); naps++) {
        assert_true(naps < NAPS_MOST);
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        assert_int_equal(follow_next(follow, &query, see, &seen, &why), CODE_OK);
    }
    assert_int_equal(done.code, CODE_OK);
    assert_string_equal(seen.text, ""); /* it has not ended yet */
    result = audit_answer(seq);
    audit_put_result(audit_ring(audit, 0), &result);
    for (int naps = 0; seen.len == 0; naps++) {
        assert_true(naps < NAPS_MOST);
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        assert_int_equal(follow_next(follow, &query, see, &seen, &why), CODE_OK);
    }
    assert_string_equal(outcome_seen, "result");
    follow_close(&follow);
    audit_close(&audit);
    seen = (struct seen){.len = 0};
    outcome_seen[0] = '\0';
    assert_int_equal(trail_find(real.path, true, &trail, &why), CODE_OK);
    assert_true(trail.count == 2 && trail.missing_to == 0 && strcmp(trail.files[0].path, done.text) == 0);
    assert_int_equal(audit_query(&trail, &query, see, &seen, &more, &why), CODE_OK);
    assert_string_equal(outcome_seen, "result");
    trail_fini(&trail);
    audit_file_fini(&real);
}

TEST_MAIN(NULL, NULL)
