/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of the trail's way up share: a centre on a real PostgreSQL with three roles of nodes, one node with an audit of its
 * own, and whether both have the same rows.
 *
 * Threads: the test's.
 * Owns: the server, the node.
 * Lifetime: begin to end for a group of tests, arrive to leave for each.
 * Errors: the test fails. */
#ifndef TESTS_UP_BENCH_H
#define TESTS_UP_BENCH_H

#include "ship/up.h"
#include "ship/up_centre.h"

#include "audit/writer.h"
#include "fakes/audit_file.h"
#include "fakes/pg_server.h"
#include "os/clock.h"
#include "fakes/cm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DAY_US INT64_C(86400000000)
#define TEST(name) TEST_CASE_WITH(name, arrive, leave)

static struct pg *owner;

static void run(struct pg *pg, const char *sql)
{
    struct why why = {0};

    if (pg_run(pg, sql, &why) != CODE_OK)
        fail_msg("%s: %s", sql, why.text);
}

static int64_t number(const char *sql)
{
    return pg_server_number(owner, sql);
}

static struct pg *connect_as(const char *user)
{
    struct pg_place place = {.database = user != NULL ? pg_server.url : pg_server.local};

    if (user != NULL) {
        place.user = span_text(user);
        place.password = SPAN_LIT("a node's words");
    }
    return pg_server_open(place);
}

/* The centre's schema, and three nodes. */
static int begin(void **state)
{
    static char schema[1 << 18];
    FILE *file = fopen("schema/fleet.sql", "rb");
    int failed = pg_server_start(state);

    if (failed != 0 || file == NULL)
        return -1;
    schema[fread(schema, 1, sizeof schema - 1, file)] = '\0';
    (void)fclose(file);
    owner = connect_as(NULL);
    run(owner, schema);
    run(owner, "CREATE ROLE \"gate-1\" LOGIN PASSWORD 'a node''s words' IN ROLE callgate_node;"
               "CREATE ROLE \"gate-2\" LOGIN PASSWORD 'a node''s words' IN ROLE callgate_node;"
               "CREATE ROLE \"gate-3\" LOGIN PASSWORD 'a node''s words' IN ROLE callgate_node");
    return 0;
}

static int end(void **state)
{
    pg_close(&owner);
    return pg_server_finish(state);
}

/* ---- a node ---- */

static struct {
    struct audit_file file;
    struct audit *audit;
    struct pg *pg;
    struct up *up;
} node;

static void open_up(void)
{
    struct why why = {0};

    if (up_new(node.file.path, false, 0, &node.up, &why) != CODE_OK)
        fail_msg("%s", why.text);
}

/* Nothing of the tests before. */
static inline int arrive(void **state)
{
    (void)state;
    run(owner, "ALTER TABLE callgate.trail_fork DISABLE TRIGGER trail_fork_stays; TRUNCATE callgate.decision, callgate.outcome, "
               "callgate.event, callgate.file, callgate.trail_cursor, callgate.trail_fork, callgate.erasure, "
               "callgate.day_proof, callgate.day_link");
    audit_file_init(&node.file);
    node.audit = audit_file_open(&node.file, 1);
    node.pg = connect_as("gate-1");
    open_up();
    return 0;
}

static int leave(void **state)
{
    (void)state;
    up_free(&node.up);
    pg_close(&node.pg);
    if (node.audit != NULL)
        audit_close(&node.audit);
    audit_file_fini(&node.file);
    return 0;
}

static enum code turn(bool *more)
{
    struct why why = {0};
    enum code code = up_turn(node.up, node.pg, more, &why);

    if (code != CODE_OK)
        (void)printf("up: %s\n", why.text);
    return code;
}

static void ship(void)
{
    bool more = true;

    for (int i = 0; more; i++) {
        assert_true(i < 20000);
        assert_int_equal(turn(&more), CODE_OK);
    }
}

static void close_audit(void)
{
    audit_close(&node.audit);
}

/* ---- comparing ---- */

static void same_value(const struct row_value *here, const struct pg_rows *rows, size_t row, size_t column, const char *name, int64_t seq)
{
    struct span bytes = pg_rows_bytes(rows, row, column);
    bool same = here->kind == ROW_NULL ? pg_rows_null(rows, row, column)
                : here->kind == ROW_INT ? !pg_rows_null(rows, row, column) && pg_rows_int(rows, row, column) == here->number
                                        : bytes.at != NULL && span_equals(bytes, here->bytes);

    if (!same)
        fail_msg("row %lld differs at the centre in %s", (long long)seq, name);
}

static struct pg_rows *ask_rows(enum row_table table, int64_t before_seq, int64_t last_seq)
{
    const struct row_shape *shape = row_shape(table);
    struct pg_rows *rows = NULL;
    struct why why = {0};
    char sql[8192];
    int len = snprintf(sql, sizeof sql, "SELECT ");

    for (int i = 0; i < shape->count; i++)
        len += snprintf(sql + len, sizeof sql - (size_t)len, "%s, ",
                        table == ROW_DECISION && strcmp(shape->columns[i], "node") == 0 ? "host" : shape->columns[i]);
    len += snprintf(sql + len, sizeof sql - (size_t)len, "hash");
    for (int i = 0; i < shape->outside; i++)
        len += snprintf(sql + len, sizeof sql - (size_t)len, ", %s", shape->outside_columns[i]);
    (void)snprintf(sql + len, sizeof sql - (size_t)len, " FROM callgate.%s WHERE node = 'gate-1' AND seq > $1 AND seq <= $2 ORDER BY seq",
                   shape->name);
    if (pg_ask(owner, sql, PG_VALUES(pg_of_int(before_seq), pg_of_int(last_seq)), &rows, &why) != CODE_OK)
        fail_msg("%s", why.text);
    return rows;
}

/* One file of the trail and the centre have the same rows, to the byte. Returns: how many. */
static size_t same_file(const struct trail_file *file)
{
    struct pg_rows *rows[ROW_TABLES] = {NULL};
    size_t at[ROW_TABLES] = {0}, count = 0;
    struct why why = {0};
    struct walk_row row;
    struct walk walk;
    struct db *db;

    assert_int_equal(trail_open(file->path, &db, &why), CODE_OK);
    for (enum row_table table = ROW_DECISION; table < ROW_TABLES; table++)
        rows[table] = ask_rows(table, file->before_seq, file->last_seq);
    assert_int_equal(walk_init(&walk, db, file->before_seq + 1, INT64_MAX), CODE_OK);
    while (walk_next(&walk, &row) == CODE_OK) {
        const struct row_shape *shape = row_shape(row.table);
        size_t there = at[row.table]++;

        assert_true(there < pg_rows_count(rows[row.table]));
        for (int i = 0; i < shape->count; i++)
            same_value(&row.values[i], rows[row.table], there, (size_t)i, shape->columns[i], row.seq);
        same_value(&row.hash, rows[row.table], there, (size_t)shape->count, "hash", row.seq);
        for (int i = 0; i < shape->outside; i++)
            same_value(&row.outside[i], rows[row.table], there, (size_t)(shape->count + 1 + i), shape->outside_columns[i], row.seq);
        count++;
    }
    walk_fini(&walk);
    db_close(&db);
    for (enum row_table table = ROW_DECISION; table < ROW_TABLES; table++) {
        assert_int_equal(at[table], pg_rows_count(rows[table]));
        pg_rows_free(&rows[table]);
    }
    return count;
}

static inline void same_as_here(void)
{
    struct why why = {0};
    struct trail trail;
    size_t count = 0;

    assert_int_equal(trail_find(node.file.path, true, &trail, &why), CODE_OK);
    for (size_t i = 0; i < trail.count; i++)
        count += same_file(&trail.files[i]);
    assert_int_equal(number("SELECT (SELECT count(*) FROM callgate.decision WHERE node = 'gate-1') + (SELECT count(*) FROM "
                            "callgate.outcome WHERE node = 'gate-1') + (SELECT count(*) FROM callgate.event WHERE node = 'gate-1')"),
                     count);
    assert_int_equal(number("SELECT count(*) FROM callgate.file"), trail.count);
    assert_int_equal(number("SELECT seq FROM callgate.trail_cursor WHERE node = 'gate-1'"), trail.files[trail.count - 1].last_seq);
    assert_int_equal(up_figures(node.up)->shipped_seq, trail.files[trail.count - 1].last_seq);
    trail_fini(&trail);
}

static void fill(size_t count)
{
    const struct audit_decision kinds[] = {audit_call("acme", "c-1"), audit_call("globex", "c-2")};

    audit_file_fill(audit_ring(node.audit, 0), kinds, 2, count);
}

#endif
