/* SPDX-License-Identifier: Apache-2.0 */
/* 1.28, 3.4: audit query: each filter alone and together, over indexed parts and what is above them, over sealed files; and no
 * look at every row where something indexed is asked for. */
#include "files/reader.h"
#include "rows/schema.h"
#include "query/query_priv.h"

#include "rows/row.h"
#include "base/mem.h"
#include "query/entries.h"
#include "fakes/audit_file.h"
#include "fakes/cm.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define CALLS 9000
#define BEGIN_US 1700000000000000

static struct audit_file file;

static const char *const tools[] = {"read", "write", "send"};

/* Call i: tenant t0..t4, tool by thirds, every seventh denied, every eleventh held; one second apart. */
static void fill(struct audit_ring *ring)
{
    struct audit_decision decision = audit_call("", "");
    char tenant[16], correlation[16], rule[16];
    uint64_t ticket = 0, seq;

    decision.expects_outcome = false;
    for (int i = 0; i < CALLS; i++) {
        (void)snprintf(tenant, sizeof tenant, "t%d", i % 5);
        (void)snprintf(correlation, sizeof correlation, "c-%d", i / 2);
        (void)snprintf(rule, sizeof rule, "rule-%d", i % 4);
        decision.time_us = BEGIN_US + (int64_t)i * 1000000;
        decision.tenant = span_text(tenant);
        decision.correlation = span_text(correlation);
        decision.tool = span_text(tools[i % 3]);
        decision.rule = span_text(rule);
        decision.policy_version = i % 3 == 0 ? 8 : 7;
        decision.status = i % 7 == 0 ? 403 : 0;
        decision.arguments = i % 100 == 7 ? SPAN_LIT("{\"query\":\"say \\\"hi\\\" 100% \"}") : SPAN_LIT("{\"query\":\"lamp\"}");
        decision.principal = i % 2 == 0 ? SPAN_LIT("bot") : SPAN_LIT("robot");
        decision.verdict = i % 7 == 0 ? AUDIT_DENY : i % 11 == 0 ? AUDIT_HOLD : AUDIT_PERMIT;
        decision.reason = i % 7 == 0 ? REASON_FORBIDDEN : i % 11 == 0 ? REASON_APPROVAL_REQUIRED : REASON_PERMITTED;
        ticket = audit_file_put(ring, &decision);
    }
    assert_int_equal(audit_file_wait(ring, ticket, &seq), AUDIT_DURABLE);
}

static int setup(void **state)
{
    struct audit *audit;

    (void)state;
    audit_file_init(&file);
    audit = audit_file_open(&file, 1);
    fill(audit_ring(audit, 0));
    audit_close(&audit);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    audit_file_fini(&file);
    return 0;
}

struct seen {
    uint64_t rows;
    long long first, last; /* seq */
    bool ordered;
    enum code answer;
};

static enum code see(void *context, const struct query_row *row)
{
    struct seen *seen = context;
    long long seq;

    assert_string_equal(row->names[0], "seq");
    assert_true(row->values[0].is_number);
    seq = strtoll(row->values[0].text.at, NULL, 10);
    seen->ordered = seen->rows == 0 || (seen->ordered && seq > seen->last);
    seen->first = seen->rows == 0 ? seq : seen->first;
    seen->last = seq;
    seen->rows++;
    return seen->answer;
}

static struct seen ask(const struct query *query, bool more)
{
    struct seen seen = {.ordered = true};
    struct trail trail;
    struct why why = {0};
    bool is_more;

    if (trail_find(file.path, false, &trail, &why) != CODE_OK ||
        audit_query(&trail, query, see, &seen, &is_more, &why) != CODE_OK)
        fail_msg("%s", why.text);
    trail_fini(&trail);
    assert_true(seen.ordered == (query->order != QUERY_NEWEST_FIRST || seen.rows < 2));
    assert_int_equal(is_more, more);
    return seen;
}

static uint64_t count(const struct query *query)
{
    return ask(query, false).rows;
}

static int expected(bool (*is)(int i))
{
    int sum = 0;

    for (int i = 0; i < CALLS; i++)
        sum += is(i);
    return sum;
}

static bool is_t3(int i) { return i % 5 == 3; }
static bool is_send(int i) { return i % 3 == 2; }
static bool is_denied_send(int i) { return i % 3 == 2 && i % 7 == 0; }
static bool is_held_send(int i) { return i % 3 == 2 && i % 7 != 0 && i % 11 == 0; }
static bool is_permit(int i) { return i % 7 != 0 && i % 11 != 0; }
static bool is_t3_permit(int i) { return is_t3(i) && is_permit(i); }
static bool is_rule_1(int i) { return i % 4 == 1; }
static bool is_robot(int i) { return i % 2 == 1; }
static bool is_forbidden(int i) { return i % 7 == 0; }
static bool is_t3_in_time(int i) { return i % 5 == 3 && i >= 100 && i < 8800; }

TEST_CASE(test_each_filter)
{
    assert_int_equal(count(&(struct query){0}), CALLS);
    assert_int_equal(count(&(struct query){.tenant = SPAN_LIT("t3")}), expected(is_t3));
    assert_int_equal(count(&(struct query){.tenant = SPAN_LIT("t")}), 0);
    assert_int_equal(count(&(struct query){.tool = SPAN_LIT("send")}), expected(is_send));
    assert_int_equal(count(&(struct query){.tool = SPAN_LIT("send"), .verdict = SPAN_LIT("deny")}), expected(is_denied_send));
    assert_int_equal(count(&(struct query){.tool = SPAN_LIT("send"), .verdict = SPAN_LIT("hold")}), expected(is_held_send));
    assert_int_equal(count(&(struct query){.verdict = SPAN_LIT("permit")}), expected(is_permit));
    assert_int_equal(count(&(struct query){.rule = SPAN_LIT("rule-1")}), expected(is_rule_1));
    assert_int_equal(count(&(struct query){.principal = SPAN_LIT("robot")}), expected(is_robot));
    assert_int_equal(count(&(struct query){.reason = SPAN_LIT("forbidden")}), expected(is_forbidden));
}

TEST_CASE(test_correlation_wherever_it_lies)
{
    static const char *const ids[] = {"c-0", "c-2000", "c-4095", "c-4096", "c-4499"};

    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++)
        assert_int_equal(count(&(struct query){.correlation = span_text(ids[i])}), 2);
    assert_int_equal(count(&(struct query){.correlation = SPAN_LIT("c-1"), .principal = SPAN_LIT("bot")}), 1);
    assert_int_equal(count(&(struct query){.correlation = SPAN_LIT("c-9999")}), 0);
    assert_int_equal(count(&(struct query){.correlation = SPAN_LIT("")}), 0);
}

TEST_CASE(test_time)
{
    struct seen seen = ask(&(struct query){.since_us = BEGIN_US + 5000000, .until_us = BEGIN_US + 8000000}, false);

    assert_int_equal(seen.rows, 3);
    assert_int_equal(seen.first, 2 + 5);
    assert_int_equal(count(&(struct query){.since_us = BEGIN_US + (int64_t)(CALLS - 4) * 1000000}), 4);
    assert_int_equal(count(&(struct query){.until_us = BEGIN_US}), 0);
    assert_int_equal(count(&(struct query){.tenant = SPAN_LIT("t3"), .since_us = BEGIN_US + 100000000,
                                           .until_us = BEGIN_US + 8800000000}), expected(is_t3_in_time));
}

TEST_CASE(test_limit_takes_the_newest)
{
    struct seen seen = ask(&(struct query){.limit = 10}, true);

    assert_true(seen.rows == 10 && seen.last == CALLS + 1 && seen.first == CALLS - 8);
    assert_int_equal(ask(&(struct query){.limit = CALLS}, false).rows, CALLS);
    assert_int_equal(ask(&(struct query){.tenant = SPAN_LIT("t3"), .limit = 1}, true).last, 2 + 8998);
}

TEST_CASE(test_order)
{
    struct seen seen = ask(&(struct query){.limit = 10, .order = QUERY_NEWEST_FIRST}, true);

    assert_true(seen.rows == 10 && seen.first == CALLS + 1 && seen.last == CALLS - 8);
    seen = ask(&(struct query){.limit = 10, .order = QUERY_OLDEST_FIRST}, true);
    assert_true(seen.rows == 10 && seen.first == 2 && seen.last == 11);
    seen = ask(&(struct query){.tenant = SPAN_LIT("t3"), .limit = 2000, .order = QUERY_NEWEST_FIRST}, false);
    assert_true(seen.rows == (uint64_t)expected(is_t3) && seen.first == 2 + 8998 && seen.last == 2 + 3);
    seen = ask(&(struct query){.tool = SPAN_LIT("send"), .limit = 2, .order = QUERY_OLDEST_FIRST}, true);
    assert_true(seen.first == 2 + 2 && seen.last == 2 + 5);
}

static bool is_policy_8(int i) { return i % 3 == 0; }
static bool is_odd_search(int i) { return i % 100 == 7; }

TEST_CASE(test_further_filters)
{
    static const unsigned char digest[] = { /* of abc.2025-06-18.mac */
        0xcc, 0xb7, 0x4e, 0xac, 0x2e, 0xd3, 0x96, 0x8f, 0x1b, 0x0b, 0xea, 0xce, 0x72, 0x22, 0x0e, 0x1d,
        0x88, 0x13, 0xbe, 0xca, 0x33, 0xdd, 0xff, 0x5a, 0xd7, 0x74, 0xb4, 0x25, 0x7d, 0xb1, 0x21, 0x36};

    assert_int_equal(count(&(struct query){.method = SPAN_LIT("tools/call")}), CALLS);
    assert_int_equal(count(&(struct query){.method = SPAN_LIT("tools/*")}), CALLS);
    assert_int_equal(count(&(struct query){.method = SPAN_LIT("tools")}), 0);
    assert_int_equal(count(&(struct query){.upstream = SPAN_LIT("shop")}), CALLS);
    assert_int_equal(count(&(struct query){.upstream = SPAN_LIT("shoq")}), 0);
    assert_int_equal(count(&(struct query){.client = SPAN_LIT("10.11.*")}), CALLS);
    assert_int_equal(count(&(struct query){.client = SPAN_LIT("10.12.*")}), 0);
    assert_int_equal(count(&(struct query){.tool = SPAN_LIT("s*d")}), expected(is_send));
    assert_int_equal(count(&(struct query){.tool = SPAN_LIT("sen?")}), 0);
    assert_int_equal(count(&(struct query){.tool = SPAN_LIT("s?*")}), 0);
    assert_int_equal(count(&(struct query){.policy_version = 8}), expected(is_policy_8));
    assert_int_equal(count(&(struct query){.session = span_of(digest, sizeof digest)}), CALLS);
    assert_int_equal(count(&(struct query){.session = span_of(digest, 31)}), 0);
    assert_int_equal(count(&(struct query){.status = 403}), expected(is_forbidden));
    assert_int_equal(count(&(struct query){.outcome = SPAN_LIT("result")}), 0); /* none was put */
    assert_int_equal(count(&(struct query){.after_seq = CALLS - 8}), 9);
    assert_int_equal(count(&(struct query){.tenant = SPAN_LIT("t3"), .after_seq = CALLS - 8}), 2);
}

TEST_CASE(test_free_text)
{
    assert_int_equal(count(&(struct query){.text = SPAN_LIT("say \"HI\" 100%")}), expected(is_odd_search));
    assert_int_equal(count(&(struct query){.text = SPAN_LIT("100_")}), 0); /* no wildcards here */
    assert_int_equal(count(&(struct query){.text = SPAN_LIT("rule-1"), .tenant = SPAN_LIT("t3")}), CALLS / 20);
    assert_int_equal(count(&(struct query){.text = SPAN_LIT("nowhere")}), 0);
}

/* ---- against the same question asked of the view, without anything to find rows by ---- */

static uint32_t next_random(uint32_t *seed, uint32_t below)
{
    *seed = *seed * 1664525 + 1013904223;
    return (*seed >> 8) % below;
}

static void ask_text(uint32_t *seed, struct span *filter, const char *column, const char *const *words, char *sql)
{
    const char *word;
    uint32_t count = 0;

    while (words[count] != NULL)
        count++;
    if (next_random(seed, 3) != 0)
        return;
    word = words[next_random(seed, count)];
    *filter = span_text(word);
    (void)snprintf(sql + strlen(sql), 2000 - strlen(sql), " AND %s %s '%s'", column, strchr(word, '*') != NULL ? "GLOB" : "=", word);
}

static void ask_number(uint32_t *seed, int64_t *filter, const char *condition, int64_t number, char *sql)
{
    if (next_random(seed, 4) != 0)
        return;
    *filter = number;
    (void)snprintf(sql + strlen(sql), 2000 - strlen(sql), " AND %s %lld", condition, (long long)number);
}

/* Writes the query in two ways. */
static struct query ask_at_random(uint32_t *seed, char sql[2000])
{
    static const char *const tenants[] = {"t0", "t3", "t*", "t9", "*3", NULL}, *const verdicts[] = {"permit", "deny", "hold", NULL};
    static const char *const some_tools[] = {"send", "re*", "write", "*", "x", NULL};
    static const char *const rules[] = {"rule-1", "rule-*", "*3", "rule", NULL};
    static const char *const ids[] = {"c-0", "c-1", "c-2*", "c-2047", "c-2048", "c-4400", "c-4499", "none", NULL};
    static const char *const principals[] = {"bot", "robot", "*bot", NULL};
    struct query query = {.order = (enum query_order)next_random(seed, 3)};

    ask_text(seed, &query.tenant, "tenant", tenants, sql);
    ask_text(seed, &query.tool, "tool", some_tools, sql);
    ask_text(seed, &query.verdict, "verdict", verdicts, sql);
    ask_text(seed, &query.rule, "rule", rules, sql);
    ask_text(seed, &query.principal, "principal", principals, sql);
    if (next_random(seed, 3) == 0)
        ask_text(seed, &query.correlation, "correlation", ids, sql);
    ask_number(seed, &query.since_us, "time_us >=", BEGIN_US + (int64_t)next_random(seed, CALLS) * 1000000, sql);
    ask_number(seed, &query.until_us, "time_us <", BEGIN_US + (int64_t)next_random(seed, CALLS) * 1000000, sql);
    ask_number(seed, &query.after_seq, "seq >", next_random(seed, CALLS), sql);
    ask_number(seed, &query.before_seq, "seq <", 1 + next_random(seed, CALLS), sql);
    ask_number(seed, &query.policy_version, "policy_version =", 7 + next_random(seed, 3), sql);
    ask_number(seed, &query.status, "status =", 403, sql);
    query.limit = next_random(seed, 3) == 0 ? 1 + next_random(seed, 2000) : 0;
    return query;
}

/* 3.4: any filters together, in any order, with any limit, give the rows that a plain reading gives. */
TEST_CASE(test_random_filters)
{
    uint32_t seed = 7;

    for (int round = 0; round < 80; round++) {
        char where[2000] = "", sql[3000];
        struct query query = ask_at_random(&seed, where);
        uint64_t all, rows;
        bool oldest = query.order == QUERY_OLDEST_FIRST, backwards = query.order == QUERY_NEWEST_FIRST;
        struct seen seen;
        long long least, most;

        (void)snprintf(sql, sizeof sql, "SELECT count(*) FROM call WHERE 1%s", where);
        all = (uint64_t)audit_file_number(&file, sql);
        rows = query.limit != 0 && query.limit < all ? query.limit : all;
        seen = ask(&query, rows < all);
        (void)snprintf(sql, sizeof sql, "SELECT min(seq) FROM (SELECT seq FROM call WHERE 1%s ORDER BY seq %s LIMIT %lld)", where,
                       oldest ? "ASC" : "DESC", (long long)rows);
        least = rows > 0 ? audit_file_number(&file, sql) : 0;
        memcpy(sql, "SELECT max", sizeof "SELECT max" - 1);
        most = rows > 0 ? audit_file_number(&file, sql) : 0;
        if (seen.rows != rows || seen.first != (backwards ? most : least) || seen.last != (backwards ? least : most))
            fail_msg("round %d:%s: %llu rows of %llu, %lld to %lld, not %lld to %lld", round, where, (unsigned long long)seen.rows,
                     (unsigned long long)rows, seen.first, seen.last, least, most);
    }
}

/* The names that commands know are the view's, in its order. */
TEST_CASE(test_columns)
{
    struct db_stmt *stmt;
    struct db *db;

    assert_int_equal(audit_schema_model(&db), CODE_OK);
    assert_int_equal(db_prepare(db, "SELECT * FROM call", &stmt), CODE_OK);
    for (int i = 0; i < db_columns(stmt); i++)
        assert_string_equal(audit_columns()[i], db_column_name(stmt, i));
    assert_null(audit_columns()[db_columns(stmt)]);
    db_finalize(&stmt);
    db_close(&db);
}

static bool is_among(const char *name, const char *const *names)
{
    while (*names != NULL && strcmp(*names, name) != 0)
        names++;
    return *names != NULL;
}

static void expect_told(enum row_table table, const char *const *told, const char *const *kept_back)
{
    const struct row_shape *shape = row_shape(table);

    for (int i = 0; i < shape->count + shape->outside; i++) {
        const char *name = i < shape->count ? shape->columns[i] : shape->outside_columns[i - shape->count];

        if (is_among(name, told) == is_among(name, kept_back))
            fail_msg("%s.%s: readers are told it, or it is kept back here with a reason: one of them", shape->name, name);
    }
}

/* 6.12: a new column is shown to those who ask and to those who export, or somebody has decided that it is not. */
TEST_CASE(test_every_column_is_told)
{
    /* what vouches for others is for verifiers; `call` has the first, and names of two tables alike are told once */
    static const char *const of_call[] = {
        "tenant_previous", "arguments_digest", "begin_digest", "body_digest", "query_digest", "params_digest", "claims_digest",
        "salt", "decision", "response_digest", "response_digest_before", "answer_digest", "answer_salt", NULL};
    static const char *const of_export[] = {
        "tenant_previous", "correlation_replaced", "arguments_digest", "begin_digest", "body_bytes", "body_digest", "query_bytes",
        "query_digest", "params_digest", "claims_digest", "salt", "arguments_begin", "response_digest",
        "response_digest_before", "answer_digest", "answer_salt", NULL};

    expect_told(ROW_DECISION, audit_columns(), of_call);
    expect_told(ROW_OUTCOME, audit_columns(), of_call);
    expect_told(ROW_DECISION, entry_columns(), of_export);
    expect_told(ROW_OUTCOME, entry_columns(), of_export);
    expect_told(ROW_EVENT, entry_columns(), of_export);
}

TEST_CASE(test_the_callback_ends_it)
{
    struct seen seen = {.ordered = true, .answer = CODE_IO};
    struct trail trail;
    struct why why = {0};
    bool more;

    assert_int_equal(trail_find(file.path, false, &trail, &why), CODE_OK);
    assert_int_equal(audit_query(&trail, &(struct query){0}, see, &seen, &more, &why), CODE_IO);
    trail_fini(&trail);
    assert_int_equal(seen.rows, 1);
}

/* Each allocation in turn fails: an error, no crash, nothing lost (the sanitizer watches). */
TEST_CASE(test_out_of_memory)
{
    const struct query query = {.tenant = SPAN_LIT("t3"), .tool = SPAN_LIT("send"), .text = SPAN_LIT("lamp"), .limit = 50};
    enum code code = CODE_NOMEM;

    for (uint64_t n = 1; code != CODE_OK; n++) {
        struct seen seen = {.ordered = true};
        struct why why = {0};
        bool more;

        assert_true(n < 1000);
        struct trail trail;

        mem_fail_at(n, 0);
        code = trail_find(file.path, true, &trail, &why);
        if (code == CODE_OK)
            code = audit_query(&trail, &query, see, &seen, &more, &why);
        trail_fini(&trail);
        mem_fail_at(0, 0);
        assert_true(code == CODE_OK || code == CODE_NOMEM);
    }
}

/* Last, since it stays so: who can write the file could hide calls behind a view of that name, and older files have other columns. */
TEST_CASE(test_a_view_of_the_file_hides_nothing)
{
    struct why why = {""};
    struct db *db;

    assert_int_equal(db_open(file.path, DB_WRITE, &db, &why), CODE_OK);
    assert_int_equal(db_exec(db, "DROP VIEW call; CREATE VIEW call AS SELECT * FROM decision WHERE tenant = 't1'"), CODE_OK);
    db_close(&db);
    assert_int_equal(count(&(struct query){.tenant = SPAN_LIT("t3"), .verdict = SPAN_LIT("permit")}),
                     expected(is_t3_permit));
}

TEST_MAIN(setup, teardown)
