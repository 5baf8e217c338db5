/* SPDX-License-Identifier: Apache-2.0 */
/* 3.3, 3.11: files whose chain is whole, since whoever changed them computed all hashes anew, and which say what no gate writes. Each
 * rule by itself: the fault is named as what it is, and the verifier from the paper alone does not pass it either. */
#include "verify_bench.h"

#include "rows/walk.h"

#define TENANTS_MAX 8
#define OLD_CALL "(SELECT seq FROM decision WHERE correlation = 'c-0')"
#define CALL_3 "(SELECT seq FROM decision WHERE correlation = 'c-3')"
#define CALL_4 "(SELECT seq FROM decision WHERE correlation = 'c-4')"
#define SEALED "INSERT INTO event SELECT seq + 1, time_us, NULL, NULL, 'sealed', actor, NULL, hash FROM event WHERE kind = 'stop'"
#define ERASE_BETA "UPDATE decision SET salt = NULL, arguments = NULL WHERE correlation = 'c-2'"

#define NO_ROW "erasure", "seq", "no row", NULL

struct tenant {
    char name[32];
    unsigned char hash[DIGEST_BYTES];
};

static struct row_value tenant_previous(struct tenant tenants[TENANTS_MAX], const struct row_value *tenant, struct tenant **own)
{
    *own = NULL;
    if (tenant->kind != ROW_TEXT)
        return row_null();
    for (struct tenant *at = tenants; at < tenants + TENANTS_MAX; at++)
        if (at->name[0] == '\0' || span_is(tenant->bytes, at->name + 1)) {
            bool first = at->name[0] == '\0';

            (void)snprintf(at->name, sizeof at->name, "=%.*s", SPAN_ARG(tenant->bytes));
            *own = at;
            return first ? row_null() : row_blob(at->hash, DIGEST_BYTES);
        }
    fail_msg("too many tenants");
    return row_null();
}

static void store(struct db *db, enum row_table table, int64_t seq, const char *column, const struct row_value *value)
{
    struct db_stmt *stmt;
    char sql[128];

    (void)snprintf(sql, sizeof sql, "UPDATE %s SET %s = ? WHERE seq = %lld", row_shape(table)->name, column, (long long)seq);
    assert_int_equal(db_prepare(db, sql, &stmt), CODE_OK);
    row_bind(stmt, 1, value);
    assert_int_equal(db_run(stmt), CODE_OK);
    db_finalize(&stmt);
}

/* The digest of a value outside the chain, put where the row has it. In both tables the salt is the first of them. */
static void salt_anew(struct db *db, struct walk_row *row, int value, int column, unsigned char digest[DIGEST_BYTES])
{
    _Static_assert((int)OUTSIDE_SALT == (int)ANSWER_SALT, "the same place in both");
    digest_of_two(row->outside[OUTSIDE_SALT].bytes, row->outside[value].bytes, digest);
    row->values[column] = row_blob(digest, DIGEST_BYTES);
    store(db, row->table, row->seq, row_shape(row->table)->columns[column], &row->values[column]);
}

/* Computes the digests, tenants' chains and hashes anew; but not `tenant_previous` of the row `kept`. */
static void rehash(const struct bench *bench, const char *path, int64_t kept)
{
    struct db *db = open_for_writing(path);
    struct tenant tenants[TENANTS_MAX] = {{.name = ""}}, *own;
    unsigned char hash[DIGEST_BYTES], digest[4][DIGEST_BYTES];
    struct db_stmt *stmt;
    struct walk_row row;
    struct walk walk;

    drop_triggers(bench, db);
    assert_int_equal(walk_file(db, &stmt, &row), CODE_OK);
    row_hash(ROW_FILE, row.values, (const unsigned char[DIGEST_BYTES]){0}, hash);
    store(db, ROW_FILE, row.seq, "hash", &(struct row_value){ROW_BLOB, 0, span_of(hash, sizeof hash)});
    db_finalize(&stmt);
    assert_int_equal(walk_init(&walk, db, INT64_MIN, INT64_MAX), CODE_OK);
    while (walk_next(&walk, &row) == CODE_OK) {
        int tenant = row.table == ROW_DECISION ? (int)D_TENANT : row.table == ROW_OUTCOME ? (int)O_TENANT : (int)E_TENANT;
        struct row_value previous = tenant_previous(tenants, &row.values[tenant], &own), value;

        if (row.table == ROW_DECISION && row.outside[OUTSIDE_SALT].kind == ROW_BLOB) {
            bool cut = row.values[D_ARGUMENTS_CUT].number == 1;

            salt_anew(db, &row, cut ? OUTSIDE_BEGIN : OUTSIDE_ARGUMENTS, cut ? D_BEGIN_DIGEST : D_ARGUMENTS_DIGEST, digest[0]);
            if (row.values[D_PARAMS_BYTES].kind == ROW_INT)
                salt_anew(db, &row, OUTSIDE_PARAMS, D_PARAMS_DIGEST, digest[1]);
            if (row.values[D_CLAIMS_BYTES].kind == ROW_INT)
                salt_anew(db, &row, OUTSIDE_CLAIMS, D_CLAIMS_DIGEST, digest[3]);
            if (row.values[D_TARGET].kind == ROW_TEXT)
                salt_anew(db, &row, OUTSIDE_QUERY, D_QUERY_DIGEST, digest[2]);
        }
        if (row.table == ROW_OUTCOME && row.outside[ANSWER_SALT].kind == ROW_BLOB)
            salt_anew(db, &row, ANSWER_TEXT, O_ANSWER_DIGEST, digest[0]);
        if (row.seq != kept) {
            row.values[D_TENANT_PREVIOUS] = previous;
            store(db, row.table, row.seq, "tenant_previous", &previous);
        }
        row_hash(row.table, row.values, hash, hash);
        value = row_blob(hash, sizeof hash);
        store(db, row.table, row.seq, "hash", &value);
        if (own != NULL)
            memcpy(own->hash, hash, sizeof hash);
    }
    walk_fini(&walk);
    put_triggers_back(bench, db);
    db_close(&db);
}

struct rule {
    const char *sql;
    const char *table, *field, *text; /* of a fault that must be among those found; NULL: the file is whole */
    const char *kept;                 /* the row whose `tenant_previous` is as `sql` made it */
};

static bool is_among_faults(const struct rule *rule)
{
    for (size_t i = 0; i < report.fault_count && i < VERIFY_FAULTS_MAX; i++)
        if (strcmp(report.fault[i].table, rule->table) == 0 && strcmp(report.fault[i].field, rule->field) == 0 &&
            strstr(report.fault[i].text, rule->text) != NULL)
            return true;
    return false;
}

static void expect(struct bench *bench, const struct rule *rule)
{
    const char *path = new_copy(bench);
    struct audit_file copy = {.folder = ""};

    (void)snprintf(copy.path, sizeof copy.path, "%s", path);
    if (!tamper(bench, path, rule->sql))
        fail_msg("not possible: %s", rule->sql);
    rehash(bench, path, rule->kept != NULL ? audit_file_number(&copy, rule->kept) : -1);
    verify(path);
    if (rule->text == NULL && report.fault_count > 0)
        fail_msg("row %lld, %s.%s: %s: %s", (long long)report.fault[0].seq, report.fault[0].table, report.fault[0].field,
                 report.fault[0].text, rule->sql);
    if (rule->text != NULL && !is_among_faults(rule))
        fail_msg("not found, but %zu others (%s): %s", report.fault_count, report.fault[0].text, rule->sql);
}

TEST_CASE_WITH(test_rules, setup, teardown)
{
    static const struct rule rules[] = {
        {"UPDATE event SET seq = seq + 2 WHERE kind = 'stop'", "entry", "seq", "rows 15 to 16 are missing", NULL},
        {"UPDATE file SET seq = -1", "file", "contents", "not what was written", NULL},
        {"INSERT INTO file SELECT 1, format, created_us, id, previous, hash FROM file", "file", "seq", "more than one", NULL},
        {"UPDATE event SET tenant_previous = randomblob(32) WHERE kind = 'stop'", "event", "tenant_previous", "has no tenant",
         "SELECT max(seq) FROM event"},
        {"UPDATE decision SET tenant_previous = randomblob(32) WHERE correlation = 'c-0'", "decision", "tenant_previous",
         "does not follow", "SELECT " OLD_CALL},
        {"UPDATE decision SET salt = x'01' WHERE correlation = 'c-2'", "decision", "salt", "not what was written", NULL},
        {"UPDATE decision SET arguments = '{}' WHERE arguments_cut", "decision", "arguments", "not what was written", NULL},
        {"UPDATE decision SET arguments_begin = 'x' WHERE correlation = 'c-2'", "decision", "arguments_begin",
         "not what was written", NULL},
        {"UPDATE decision SET expects_outcome = 1 WHERE arguments_cut", "decision", "expects_outcome", "is no permit", NULL},
        {"UPDATE outcome SET tenant = 'acme' WHERE decision = " CALL_4, "outcome", "tenant", "belongs to another", NULL},
        {"DELETE FROM outcome WHERE decision = " CALL_4 "; UPDATE event SET seq = seq - 1 WHERE kind = 'stop'", "decision",
         "outcome", "was stopped after it", NULL},
        {"DELETE FROM outcome WHERE decision = " CALL_4 "; UPDATE event SET seq = seq - 1, kind = 'start' WHERE kind = 'stop'",
         "decision", "outcome", "was started again", NULL},
    };
    struct bench *bench = *state;

    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        expect(bench, &rules[i]);
    verify_by_paper(bench, true);
}

/* Which recorded erasures vouch for which values that are gone. */
TEST_CASE_WITH(test_erasures, setup, teardown)
{
    static const struct rule rules[] = {
        {"UPDATE event SET detail = '{\"before_us\":1700000000000000}' WHERE kind = 'erased'", "decision", "salt", "no erasure",
         NULL},
        {"UPDATE outcome SET tenant = 'old' WHERE decision = " CALL_3 "; UPDATE decision SET tenant = 'old', salt = NULL, "
         "arguments = NULL WHERE correlation = 'c-3'", "decision", "salt", "no erasure", NULL},
        {"UPDATE outcome SET tenant = '' WHERE decision = " OLD_CALL "; UPDATE decision SET tenant = '' WHERE correlation = "
         "'c-0'; UPDATE event SET tenant = NULL WHERE kind = 'erased'", "decision", "salt", "no erasure", NULL},
        {"INSERT INTO erasure SELECT seq, 'acme', 5 FROM event WHERE kind = 'key_made'", NO_ROW},
        {"INSERT INTO erasure SELECT seq, tenant, 5 FROM event WHERE kind = 'erased'", NO_ROW},
        {"INSERT INTO erasure SELECT seq, 'acme', 1700000000000001 FROM event WHERE kind = 'erased'", NO_ROW},
        {SEALED "; " ERASE_BETA "; INSERT INTO erasure SELECT seq, 'beta', 1800000000000000 FROM event WHERE kind = 'sealed'",
         NO_ROW},
        {ERASE_BETA "; INSERT INTO erasure SELECT max(seq) + 7, 'beta', 1800000000000000 FROM event", NO_ROW},
        {"UPDATE event SET kind = 'sealed' WHERE kind = 'key_made'; " ERASE_BETA "; INSERT INTO erasure SELECT max(seq) + 7, "
         "'beta', 1800000000000000 FROM event", NO_ROW},
    };
    struct bench *bench = *state;

    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        expect(bench, &rules[i]);
    verify_by_paper(bench, true);
}

#define ANSWER "UPDATE outcome SET answer_bytes = 9, answer_salt = x'30313233343536373839303132333435', answer = 'a' " \
               "WHERE decision = "
#define QUERY "UPDATE decision SET target = '/a', query_bytes = 3, query = 'a=b' WHERE correlation = 'c-2'"
#define PARAMS "UPDATE decision SET params_bytes = 2, params = '{}' WHERE correlation = 'c-2'"

#define CLAIMS "UPDATE decision SET claims_bytes = 2, claims = '{}' WHERE correlation = 'c-2'"

/* 4.9, 4.10, 4.19, 8.4: what stands behind the columns of earlier versions. */
TEST_CASE_WITH(test_later_columns, setup, teardown)
{
    static const struct rule rules[] = {
        {QUERY "; UPDATE decision SET query = NULL WHERE correlation = 'c-2'", "decision", "query", "not what was written", NULL},
        {"UPDATE decision SET query = 'a=b' WHERE correlation = 'c-2'", "decision", "query", "not what was written", NULL},
        {PARAMS "; UPDATE decision SET params = NULL WHERE correlation = 'c-2'", "decision", "params", "not what", NULL},
        {CLAIMS "; UPDATE decision SET claims = NULL WHERE correlation = 'c-2'", "decision", "claims", "not what", NULL},
        {"UPDATE decision SET claims = '{}' WHERE correlation = 'c-2'", "decision", "claims", "not what", NULL},
        {"UPDATE decision SET params = '{}' WHERE correlation = 'c-2'", "decision", "params", "not what", NULL},
        {"UPDATE decision SET salt = NULL, arguments = NULL, query = 'a' WHERE correlation = 'c-0'", "decision", "salt",
         "not what", NULL},
        {ANSWER CALL_4 "; UPDATE outcome SET answer = NULL WHERE decision = " CALL_4, "outcome", "answer", "not what", NULL},
        {ANSWER CALL_4 "; UPDATE outcome SET answer_salt = NULL WHERE decision = " CALL_4, "outcome", "answer_salt", "not what",
         NULL},
        {ANSWER CALL_4 "; UPDATE outcome SET answer_bytes = NULL WHERE decision = " CALL_4, "outcome", "answer_salt",
         "not what", NULL},
        {ANSWER CALL_4 "; UPDATE outcome SET answer_salt = NULL, answer = NULL WHERE decision = " CALL_4, "outcome", "answer",
         "no erasure", NULL},
    };
    struct bench *bench = *state;

    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        expect(bench, &rules[i]);
    verify_by_paper(bench, true);
}

TEST_CASE_WITH(test_later_columns_whole, setup, teardown)
{
    struct bench *bench = *state;

    expect(bench, &(struct rule){.sql = QUERY});
    expect(bench, &(struct rule){.sql = PARAMS});
    expect(bench, &(struct rule){.sql = CLAIMS});
    expect(bench, &(struct rule){.sql = ANSWER CALL_4});
    expect(bench, &(struct rule){.sql = "UPDATE outcome SET answer_bytes = 9, time_us = 1700000000000000 WHERE decision = "
                                        OLD_CALL}); /* its erasure is recorded */
    verify_by_paper(bench, false);
}

/* And what is no fault, so that none of the above stands for another. */
TEST_CASE_WITH(test_whole, setup, teardown)
{
    struct bench *bench = *state;

    expect(bench, &(struct rule){.sql = "UPDATE event SET actor = 'x' WHERE kind = 'key_made'"});
    assert_false(report.is_sealed);
    expect(bench, &(struct rule){.sql = "DELETE FROM event WHERE kind = 'stop'; DELETE FROM outcome WHERE decision = " CALL_4
                                        "; UPDATE event SET kind = 'stop' WHERE kind = 'key_made'"});
    assert_int_equal(report.under_way, 1);
    expect(bench, &(struct rule){.sql = "DELETE FROM event WHERE kind = 'stop'; UPDATE event SET kind = 'sealed' WHERE kind = "
                                        "'key_made'"});
    assert_false(report.is_sealed); /* it was taken back */
    expect(bench, &(struct rule){.sql = "INSERT INTO erasure SELECT seq, tenant, 1700000000000001 FROM event WHERE kind = "
                                        "'erased'"});
    assert_int_equal(report.erasures_elsewhere, 0);
    expect(bench, &(struct rule){.sql = SEALED "; " ERASE_BETA "; INSERT INTO erasure SELECT seq + 7, 'beta', 1800000000000000 "
                                        "FROM event WHERE kind = 'sealed'"});
    assert_true(report.is_sealed && report.erasures_elsewhere == 1 && report.erased == 2);
    verify_by_paper(bench, false);
}

TEST_MAIN(NULL, NULL)
