/* SPDX-License-Identifier: Apache-2.0 */
/* 3.4, 3.7, 6.1: rows are found whatever their correlations are, however often the gate was killed, over a rotation, after an
 * erasure, for who reads an old state: plain SQL and the query find what a look at every row finds. */
#include "query/query.h"

#include "trail_bench.h"

#define FIRST_FILE 20000 /* calls before the rotation */
#define BEFORE_KILLS 40000
#define DIFFERENT 15000 /* correlations, so that each comes some times, far apart */
#define ROUNDS 6
#define LENGTH 160

static struct bench *bench;
static uint64_t random_state = 88172645463325252u;

static uint64_t next_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

/* Forms that gates and agents use, and some that nobody should. */
static const char *correlation_of(unsigned call, char text[LENGTH])
{
    unsigned i = call % DIFFERENT;
    uint64_t mixed = (i + 1) * UINT64_C(0x9e3779b97f4a7c15);

    switch (call % 50 == 0 ? 9 : i % 7) {
    case 0:
        (void)snprintf(text, LENGTH, "c-%u", i);
        break;
    case 1:
        (void)snprintf(text, LENGTH, "%08x-%04x-4abc-8def-%012x", (unsigned)mixed, (unsigned)(mixed >> 32 & 0xffff), i);
        break;
    case 2:
        (void)snprintf(text, LENGTH, "req-%u@gateway-production-eu-west-1.example.com", i);
        break;
    case 3:
        (void)snprintf(text, LENGTH, "\xc3\xbc-%u", i);
        break;
    case 4:
        (void)snprintf(text, LENGTH, " %c%u", i % 2 == 0 ? '-' : '+', i);
        break;
    case 5:
        (void)snprintf(text, LENGTH, "%0127u", i);
        break;
    case 6:
        (void)snprintf(text, LENGTH, "%u", i);
        break;
    default:
        (void)snprintf(text, LENGTH, "often");
    }
    return text;
}

static void put(struct audit *audit, unsigned call)
{
    struct audit_decision decision = {.time_us = 1700000000000000 + (int64_t)call, .reason = REASON_NO_RULE};
    char text[LENGTH];

    decision.tenant = call % 5000 == 0 ? SPAN_LIT("rare") : call % 3 == 0 ? SPAN_LIT("umbra") : SPAN_LIT("acme");
    decision.correlation = span_text(correlation_of(call, text));
    (void)audit_file_put(audit_ring(audit, 0), &decision);
}

static void wait_for_rows(long long seq)
{
    for (int tries = 0; audit_file_number(&bench->file, "SELECT max(seq) FROM decision") < seq; tries++) {
        assert_true(tries < NAPS_MOST);
        nap();
    }
}

/* ---- what is found ------------------------------------------------------------------------------------------------ */

static void ask(struct db *db, const char *sql, const char *correlation, struct buf *out)
{
    struct db_stmt *stmt;

    if (db_prepare(db, sql, &stmt) != CODE_OK)
        fail_msg("%s: %s", sql, db_error(db));
    db_bind_text(stmt, 1, span_text(correlation));
    buf_clear(out);
    while (db_step(stmt) == CODE_OK)
        assert_int_equal(buf_addf(out, "%lld ", (long long)db_int(stmt, 0)), CODE_OK);
    db_finalize(&stmt);
}

static void compare(struct db *db, const char *correlation)
{
    static const char *const questions[] = {
        "SELECT seq FROM call WHERE correlation = ?1 ORDER BY seq",
        "SELECT seq FROM call WHERE correlation IN (?1, 'no-such') ORDER BY seq",
        "SELECT c.seq FROM (SELECT ?1 AS name) AS n JOIN call AS c ON c.correlation = n.name ORDER BY c.seq",
    };
    struct buf all, found;

    buf_init(&all, (size_t)1 << 24);
    buf_init(&found, (size_t)1 << 24);
    ask(db, "SELECT seq FROM decision WHERE +correlation = ?1 ORDER BY seq", correlation, &all);
    for (size_t i = 0; i < sizeof questions / sizeof questions[0]; i++) {
        ask(db, questions[i], correlation, &found);
        if (!span_equals(buf_peek(&all), buf_peek(&found)))
            fail_msg("%s, '%s': found %.*s, there are %.*s", questions[i], correlation, SPAN_ARG(buf_peek(&found)),
                     SPAN_ARG(buf_peek(&all)));
    }
    buf_fini(&all);
    buf_fini(&found);
}

static struct db *reader(const char *path)
{
    struct why why = {0};
    struct db *db;

    assert_int_equal(db_open(path, DB_READ, &db, &why), CODE_OK);
    assert_int_equal(db_exec(db, "BEGIN; SELECT 1 FROM file"), CODE_OK);
    return db;
}

static void compare_some(struct db *db, unsigned count, unsigned calls)
{
    char text[LENGTH];

    for (unsigned i = 0; i < count; i++)
        compare(db, correlation_of((unsigned)(next_random() % calls), text));
    compare(db, "no-such");
}

static enum code count_row(void *context, const struct query_row *row)
{
    (void)row;
    ++*(unsigned *)context;
    return CODE_OK;
}

static unsigned found_by_query(const char *correlation)
{
    const struct query query = {.correlation = span_text(correlation)};
    struct trail trail;
    struct why why = {0};
    unsigned rows = 0;
    bool more;

    assert_int_equal(trail_find(bench->file.path, true, &trail, &why), CODE_OK);
    if (audit_query(&trail, &query, count_row, &rows, &more, &why) != CODE_OK)
        fail_msg("%s", why.text);
    trail_fini(&trail);
    return rows;
}

static unsigned count_in(const char *path, const char *correlation)
{
    struct db *db = reader(path);
    struct buf found;
    unsigned count = 0;

    buf_init(&found, (size_t)1 << 24);
    ask(db, "SELECT seq FROM decision WHERE +correlation = ?1", correlation, &found);
    for (size_t i = 0; i < buf_len(&found); i++)
        count += buf_peek(&found).at[i] == ' ';
    buf_fini(&found);
    db_close(&db);
    return count;
}

/* A start goes on in a new file where somebody has the last one open, so there may be several. */
static unsigned count_in_all(const char *correlation)
{
    struct trail trail;
    struct why why = {0};
    unsigned count = 0;

    assert_int_equal(trail_find(bench->file.path, true, &trail, &why), CODE_OK);
    for (size_t i = 0; i < trail.count; i++)
        count += count_in(trail.files[i].path, correlation);
    trail_fini(&trail);
    return count;
}

static void find_many(void)
{
    struct db *db = reader(bench->file.path);
    char text[LENGTH];

    compare_some(db, 3, BEFORE_KILLS);
    compare(db, "often");
    db_close(&db);
    for (int i = 0; i < 2; i++) {
        const char *correlation = correlation_of((unsigned)(next_random() % BEFORE_KILLS), text);

        assert_int_equal(found_by_query(correlation), count_in_all(correlation));
    }
    assert_int_equal(found_by_query("no-such"), 0);
}

static uint64_t faults(void)
{
    struct verify_report report;
    struct why why = {0};

    assert_int_equal(audit_verify(&(struct verify_conf){.path = bench->file.path}, &report, &why), CODE_OK);
    return report.fault_count;
}

/* ---- the file ----------------------------------------------------------------------------------------------------- */

static int fill(void **state)
{
    unsigned call = 0;

    (void)setup(state);
    bench = *state;
    start(bench);
    for (; call < FIRST_FILE; call++)
        put(bench->audit, call);
    archive(bench);
    for (; call < BEFORE_KILLS; call++)
        put(bench->audit, call);
    audit_close(&bench->audit);
    return 0;
}

static void run_until_killed(unsigned call)
{
    start(bench);
    for (;; call++)
        put(bench->audit, call);
}

TEST_CASE(test_killed_while_it_is_written)
{
    struct db *old = reader(bench->file.path), *db;
    pid_t child;

    for (unsigned kills = 0; kills < ROUNDS; kills++) {
        child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            run_until_killed(BEFORE_KILLS + kills * 20000);
            _exit(0);
        }
        wait_for_rows(audit_file_number(&bench->file, "SELECT max(seq) FROM decision") + 1 + (long long)(next_random() % 5000));
        assert_int_equal(kill(child, SIGKILL), 0);
        assert_int_equal(waitpid(child, NULL, 0), child);
        db = reader(bench->file.path);
        compare_some(db, 1, BEFORE_KILLS);
        db_close(&db);
    }
    compare_some(old, 1, BEFORE_KILLS); /* a state from before */
    db_close(&old);
    start(bench);
    audit_close(&bench->audit);
    assert_int_equal(faults(), 0);
    find_many();
}

TEST_CASE(test_tenant_and_time)
{
    static const char found[] = "SELECT seq FROM call WHERE tenant = ?1 AND time_us >= %lld AND time_us < %lld ORDER BY seq";
    static const char all[] = "SELECT seq FROM decision WHERE +tenant = ?1 AND time_us >= %lld AND time_us < %lld ORDER BY seq";
    struct db *db = reader(bench->file.path);
    struct buf a, b;
    char sql[300];

    buf_init(&a, (size_t)1 << 24);
    buf_init(&b, (size_t)1 << 24);
    for (int i = 0; i < 6; i++) {
        long long from = 1700000000000000 + FIRST_FILE + (long long)(next_random() % (BEFORE_KILLS - FIRST_FILE));
        long long to = from + (long long)(next_random() % 20000);

        (void)snprintf(sql, sizeof sql, all, from, to);
        ask(db, sql, i % 2 == 0 ? "acme" : "umbra", &a);
        (void)snprintf(sql, sizeof sql, found, from, to);
        ask(db, sql, i % 2 == 0 ? "acme" : "umbra", &b);
        assert_true(span_equals(buf_peek(&a), buf_peek(&b)));
    }
    buf_fini(&a);
    buf_fini(&b);
    db_close(&db);
}

TEST_CASE(test_after_an_erasure)
{
    const struct audit_erasure erasure = {SPAN_LIT("rare"), SPAN_LIT("ann"), SPAN_LIT("asked"), INT64_C(1800000000000000), 1};
    struct audit_done done;
    struct db *db;
    char text[LENGTH];

    start(bench);
    assert_int_equal(audit_erase(bench->audit, &erasure), CODE_OK);
    assert_true(is_over(bench, NAPS_MOST, &done));
    assert_int_equal(done.code, CODE_OK);
    audit_close(&bench->audit);
    db = reader(bench->file.path);
    compare(db, correlation_of(5000, text));
    compare(db, correlation_of(FIRST_FILE + 5000 - FIRST_FILE % 5000, text));
    db_close(&db);
}

TEST_MAIN(fill, teardown)
