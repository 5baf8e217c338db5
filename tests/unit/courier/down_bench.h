/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of the way downwards share: a centre on a real PostgreSQL, and nodes with stores and keys of their own.
 *
 * Threads: the test's.
 * Owns: the server, the nodes.
 * Lifetime: begin to end for a group of tests, arrive to leave for each.
 * Errors: the test fails. */
#ifndef TESTS_DOWN_BENCH_H
#define TESTS_DOWN_BENCH_H

#include "courier/down.h"

#include "fakes/pg_server.h"
#include "fleet/change.h"
#include "language/store.h"
#include "os/clock.h"
#include "store/store.h"
#include "store/store_fleet.h"
#include "fakes/cm.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TEST(name) TEST_CASE_WITH(name, arrive, leave)
#define FLEET "0123456789abcdef0123456789abcdef"
#define NODES 3 /* the last one has left with change 1 */
#define SECOND INT64_C(1000000)

static struct pg *owner;
static char folder[64];
static int64_t now_us = SECOND;

static struct node {
    char name[16], path[96];
    struct db *store;
    struct pg *pg;
    struct sign_key *key;
    unsigned char public[SIGN_PUBLIC_BYTES];
    struct down *down;
} nodes[NODES];

static void run(struct pg *pg, const char *sql)
{
    struct why why = {0};

    if (pg_run(pg, sql, &why) != CODE_OK)
        fail_msg("%s: %s", sql, why.text);
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
    for (int i = 0; i < NODES; i++) {
        char sql[128];

        snprintf(nodes[i].name, sizeof nodes[i].name, "gate-%d", i + 1);
        snprintf(sql, sizeof sql, "CREATE ROLE \"%s\" LOGIN PASSWORD 'a node''s words' IN ROLE callgate_node", nodes[i].name);
        run(owner, sql);
    }
    return 0;
}

static int end(void **state)
{
    pg_close(&owner);
    return pg_server_finish(state);
}

static struct down_roster members; /* what all nodes go by: the last one has left with change 1 */

static int64_t members_number(void)
{
    return members.now != NULL ? members.now->number : 0;
}

/* Another roster, as if it had come. Takes: end: the fleet's last change when it was signed; NULL: there was none. */
__attribute__((unused)) static void make_members(const struct store_fleet_end *end)
{
    const int64_t number = members_number() + 1;

    roster_free(&members.now);
    assert_int_equal(roster_new(FLEET, &members.now), CODE_OK);
    for (int i = 0; i < NODES; i++)
        assert_int_equal(roster_add(members.now, span_text(nodes[i].name), nodes[i].public), CODE_OK);
    assert_int_equal(roster_leave(members.now, span_text(nodes[NODES - 1].name), 1, 0), CODE_OK);
    members.now->number = number;
    if (end != NULL)
        members.now->end = *end;
}

static void start(struct node *node)
{
    const struct down_self self = {.store = node->store, .fleet = SPAN_LIT(FLEET), .node = span_text(node->name),
                                   .key = node->key, .roster = &members};
    struct why why = {0};

    if (down_new(&self, &node->down, &why) != CODE_OK)
        fail_msg("%s", why.text);
}

static void begin_node(struct node *node)
{
    struct why why = {0};
    struct buf pem;

    snprintf(node->path, sizeof node->path, "%s/%s.db", folder, node->name);
    assert_int_equal(store_open(node->path, DB_CREATE, &node->store, &why), CODE_OK);
    buf_init(&pem, 4096);
    assert_int_equal(sign_key_make(&pem), CODE_OK);
    assert_int_equal(sign_key_read(buf_peek(&pem), &node->key), CODE_OK);
    assert_int_equal(sign_key_public(node->key, node->public), CODE_OK);
    buf_fini(&pem);
    node->pg = connect_as(node->name);
    start(node);
}

static int arrive(void **state)
{
    (void)state;
    run(owner, "TRUNCATE callgate.change, callgate.compile_ask, callgate.compile_answer, callgate.node, callgate.roster");
    snprintf(folder, sizeof folder, "/tmp/callgate-down-XXXXXX");
    if (mkdtemp(folder) == NULL)
        return -1;
    for (int i = 0; i < NODES; i++)
        begin_node(&nodes[i]);
    make_members(NULL);
    return 0;
}

static int leave(void **state)
{
    (void)state;
    for (int i = 0; i < NODES; i++) {
        down_free(&nodes[i].down);
        db_close(&nodes[i].store);
        pg_close(&nodes[i].pg);
        sign_key_free(&nodes[i].key);
        unlink(nodes[i].path);
    }
    roster_free(&members.now);
    return rmdir(folder);
}

__attribute__((unused)) static int64_t here(const struct node *node, const char *sql)
{
    int64_t out = 0;

    if (db_number(node->store, sql, NULL, 0, &out) != CODE_OK)
        fail_msg("%s: %s", sql, db_error(node->store));
    return out;
}

/* As the courier does it. */
static void beat(struct node *node)
{
    struct down_state state;
    struct why why = {0};

    assert_int_equal(down_state(node->down, &state, &why), CODE_OK);
    if (pg_ask(node->pg, "SELECT callgate.beat('v', 'c', 1, $1, 0, $2, 60000000, 0, 0, 0, '')",
               PG_VALUES(pg_of_int(state.change), pg_of_int(state.behind)), NULL, &why) != CODE_OK)
        fail_msg("%s", why.text);
}

static enum code turn_why(struct node *node, struct why *why)
{
    why->text[0] = '\0';
    return down_turn(node->down, node->pg, now_us, why);
}

static void turn(struct node *node)
{
    struct why why;

    if (turn_why(node, &why) != CODE_OK)
        fail_msg("%s: %s", node->name, why.text);
    beat(node);
}

/* The first two, until nothing moves any more. */
__attribute__((unused)) static void settle(void)
{
    for (int i = 0; i < 6; i++) {
        turn(&nodes[i % 2]);
        now_us += SECOND;
    }
}

static int64_t active(const struct node *node)
{
    uint64_t version = 0;
    struct why why = {0};

    assert_int_equal(policy_store_active(node->store, &version, &why), CODE_OK);
    return (int64_t)version;
}

__attribute__((unused)) static int64_t ask(struct node *node, const char *kind, const char *rows, const char *without)
{
    const struct store_fleet_command command = {
        .kind = span_text(kind), .rows = span_text(rows), .without = without != NULL ? span_text(without) : SPAN_NONE,
        .onto = active(node), .asked_us = clock_wall_us(), .asked_by = SPAN_LIT("anna")};
    struct why why = {0};
    int64_t id;

    assert_int_equal(store_fleet_ask(node->store, &command, &id, &why), CODE_OK);
    return id;
}

/* Its end: the change's number, 0 where it was refused, -1 where it has none. */
__attribute__((unused)) static int64_t answer(struct node *node, int64_t command, struct why *said)
{
    struct store_fleet_answer answer;
    struct why why = {0};
    enum code code = store_fleet_answered(node->store, command, &answer, said, &why);

    return code == CODE_NOT_FOUND ? -1 : answer.change;
}

#endif
