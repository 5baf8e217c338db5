/* SPDX-License-Identifier: Apache-2.0 */
/* An audit.db that somebody changes in copies, for our verifier and the one that was written from the paper alone.
 *
 * Threads: the test's.
 * Owns: struct bench: the file, its copies and their folder.
 * Lifetime: setup to teardown.
 * Errors: the test fails. */
#ifndef AUDIT_VERIFY_BENCH_H
#define AUDIT_VERIFY_BENCH_H

#include "evidence/verify.h"

#include "proof/note.h"
#include "rows/row.h"
#include "fakes/audit_file.h"
#include "fakes/cm.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

#define COPIES_MAX 400
#define TRIGGERS_MAX 16

struct bench {
    struct audit_file file;
    char *triggers[TRIGGERS_MAX][2]; /* name, text */
    int trigger_count;
    char *copies[COPIES_MAX]; /* paths of tampered files, for the other verifier */
    int copy_count;
};

static struct verify_report report;

/* Two tenants, permits with and without outcome due, cut and redacted arguments, an erasure, events with a tenant. */
static inline void fill(struct audit *audit)
{
    static char text[9000];
    struct audit_ring *ring = audit_ring(audit, 0);
    struct audit_decision decision = audit_call("acme", "c-1");
    struct audit_event event = {.time_us = 1700000000000002, .kind = SPAN_LIT("erased"), .tenant = SPAN_LIT("old"),
                                .actor = SPAN_LIT("alice"), .detail = SPAN_LIT("{\"before_us\":1700000000000001}")};
    struct audit_result result;
    uint64_t seq;

    memset(text, 'a', sizeof text);
    (void)audit_file_call(ring, "old", "c-0");
    decision.trace = SPAN_LIT("0af7651916cd43dd8448eb211c80319c");
    decision.correlation_replaced = SPAN_LIT("?");
    decision.query = SPAN_LIT("a=b");
    decision.target = SPAN_LIT("/v1/x");
    decision.params = SPAN_LIT("{\"_meta\":{\"progressToken\":1}}");
    decision.rule_reason = SPAN_LIT("because");
    decision.undecided = SPAN_LIT("r: arg");
    decision.monitor = SPAN_LIT("{}");
    assert_int_equal(audit_file_wait(ring, audit_file_put(ring, &decision), &seq), AUDIT_DURABLE);
    result = audit_answer(seq);
    result.has_error_code = true;
    result.error_code = -1;
    audit_put_result(ring, &result);
    (void)audit_file_call(ring, "beta", "c-2");
    decision.verdict = AUDIT_DENY;
    decision.expects_outcome = false;
    decision.status = 403;
    decision.latency_us = 5;
    decision.arguments = span_of(text, sizeof text);
    decision.arguments_redacted = true;
    assert_int_equal(audit_file_wait(ring, audit_file_put(ring, &decision), &seq), AUDIT_DURABLE);
    assert_int_equal(audit_put_event(ring, &event), CODE_OK);
    event.kind = SPAN_LIT("key_made");
    event.tenant = SPAN_LIT("acme");
    assert_int_equal(audit_put_event(ring, &event), CODE_OK);
    (void)audit_file_call(ring, "acme", "c-3");
    (void)audit_file_call(ring, "beta", "c-4");
}

/* ---- trails of several files ---- */

static inline struct sign_key *new_key(struct note_key *known)
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

static inline void seal(struct audit *audit)
{
    struct audit_done done;

    assert_int_equal(audit_archive(audit, SPAN_LIT("ann")), CODE_OK);
    for (int tries = 0; !audit_job_over(audit, &done); tries++) {
        assert_true(tries < NAPS_MOST);
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    assert_int_equal(done.code, CODE_OK);
}

/* ---- what somebody does to a file ---- */

static inline struct db *open_for_writing(const char *path)
{
    struct why why = {0};
    struct db *db;

    if (db_open(path, DB_WRITE, &db, &why) != CODE_OK)
        fail_msg("%s", why.text);
    return db;
}

static inline void read_triggers(struct bench *bench)
{
    struct db *db = open_for_writing(bench->file.path);
    struct db_stmt *stmt;

    assert_int_equal(db_exec(db, "UPDATE decision SET salt = NULL, arguments = NULL WHERE tenant = 'old'"), CODE_OK);
    assert_int_equal(db_prepare(db, "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'", &stmt), CODE_OK);
    while (db_step(stmt) == CODE_OK) {
        assert_true(bench->trigger_count < TRIGGERS_MAX);
        for (int i = 0; i < 2; i++)
            bench->triggers[bench->trigger_count][i] = strndup(db_text(stmt, i).at, db_text(stmt, i).len);
        bench->trigger_count++;
    }
    db_finalize(&stmt);
    db_close(&db);
}

static inline int setup(void **state)
{
    struct bench *bench = calloc(1, sizeof *bench);
    struct audit *audit;

    audit_file_init(&bench->file);
    audit = audit_file_open(&bench->file, 1);
    fill(audit);
    audit_close(&audit);
    read_triggers(bench);
    *state = bench;
    return 0;
}

static inline int teardown(void **state)
{
    struct bench *bench = *state;

    for (int i = 0; i < bench->trigger_count; i++) {
        free(bench->triggers[i][0]);
        free(bench->triggers[i][1]);
    }
    for (int i = 0; i < bench->copy_count; i++)
        free(bench->copies[i]);
    audit_file_fini(&bench->file);
    free(bench);
    return 0;
}

static inline void copy_file(const char *from, const char *to)
{
    char bytes[65536];
    int in = open(from, O_RDONLY | O_CLOEXEC), out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0640);
    ssize_t got;

    assert_true(in >= 0 && out >= 0);
    while ((got = read(in, bytes, sizeof bytes)) > 0)
        assert_int_equal(write(out, bytes, (size_t)got), got);
    (void)close(in);
    (void)close(out);
}

static inline const char *new_copy(struct bench *bench)
{
    char path[128];

    assert_true(bench->copy_count < COPIES_MAX);
    (void)snprintf(path, sizeof path, "%s.%d", bench->file.path, bench->copy_count);
    copy_file(bench->file.path, path);
    bench->copies[bench->copy_count++] = strdup(path);
    return bench->copies[bench->copy_count - 1];
}

static inline long long changed_rows(struct db *db)
{
    struct db_stmt *stmt;
    long long rows;

    assert_int_equal(db_prepare(db, "SELECT changes()", &stmt), CODE_OK);
    assert_int_equal(db_step(stmt), CODE_OK);
    rows = db_int(stmt, 0);
    db_finalize(&stmt);
    return rows;
}

static inline void drop_triggers(const struct bench *bench, struct db *db)
{
    char drop[96];

    assert_int_equal(db_exec(db, "PRAGMA synchronous = OFF; BEGIN"), CODE_OK);
    for (int i = 0; i < bench->trigger_count; i++) {
        (void)snprintf(drop, sizeof drop, "DROP TRIGGER %s", bench->triggers[i][0]);
        assert_int_equal(db_exec(db, drop), CODE_OK);
    }
}

static inline void put_triggers_back(const struct bench *bench, struct db *db)
{
    for (int i = 0; i < bench->trigger_count; i++)
        assert_int_equal(db_exec(db, bench->triggers[i][1]), CODE_OK);
    assert_int_equal(db_commit(db), CODE_OK);
}

/* Changes a copy as somebody who knows the triggers would. Returns: false where a constraint does not even allow it. */
static inline bool tamper(struct bench *bench, const char *path, const char *sql)
{
    struct db *db = open_for_writing(path);
    bool changed;

    drop_triggers(bench, db);
    changed = db_exec(db, sql) == CODE_OK && changed_rows(db) > 0;
    put_triggers_back(bench, db);
    db_close(&db);
    return changed;
}

static inline void verify(const char *path)
{
    struct why why = {0};

    if (audit_verify(&(struct verify_conf){.path = path}, &report, &why) != CODE_OK)
        fail_msg("%s", why.text);
}

/* The one written from schema/audit-format.md: `broken` says whether every file must be found broken, or whole. */
static inline void verify_by_paper(struct bench *bench, bool broken)
{
    char *arguments[COPIES_MAX + 3] = {(char *)"python3", (char *)"tools/verify-audit"};
    char out[128], line[512];
    posix_spawn_file_actions_t actions;
    pid_t child;
    FILE *lines;
    int status, count = 0;

    for (int i = 0; i < bench->copy_count; i++)
        arguments[i + 2] = bench->copies[i];
    (void)snprintf(out, sizeof out, "%s.copy", bench->file.path);
    assert_int_equal(posix_spawn_file_actions_init(&actions), 0);
    assert_int_equal(posix_spawn_file_actions_addopen(&actions, 1, out, O_WRONLY | O_CREAT | O_TRUNC, 0600), 0);
    assert_int_equal(posix_spawnp(&child, "python3", &actions, NULL, arguments, environ), 0);
    (void)posix_spawn_file_actions_destroy(&actions);
    assert_int_equal(waitpid(child, &status, 0), child);
    lines = fopen(out, "r");
    assert_non_null(lines);
    for (; fgets(line, sizeof line, lines) != NULL; count++)
        if ((strcmp(line, "whole\n") != 0) != broken)
            fail_msg("%s: %s", bench->copies[count], line);
    (void)fclose(lines);
    assert_int_equal(count, bench->copy_count);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == broken);
}

#endif
