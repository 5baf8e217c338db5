/* SPDX-License-Identifier: Apache-2.0 */
#include "store/store_priv.h"
#include "store/store_tools.h"

#include "base/mem.h"
#include "fakes/cm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64];
static char path[96];

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/callgate-store-XXXXXX");
    if (mkdtemp(folder) == NULL)
        return -1;
    snprintf(path, sizeof path, "%s/callgate.db", folder);
    return 0;
}

static int drop_folder(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(folder);
}

static struct db *open_store(enum db_mode mode)
{
    struct why why = {0};
    struct db *db;

    if (store_open(path, mode, &db, &why) != CODE_OK)
        fail_msg("%s", why.text);
    return db;
}

static int64_t add(struct db *db, const char *key, const char *principal, int64_t expires_us, const char *const *claims)
{
    struct why why = {0};
    unsigned char digest[DIGEST_BYTES];
    struct store_key row = {
        .principal = span_text(principal), .tenant = SPAN_LIT("acme"), .made_by = SPAN_LIT("root"), .made_us = 5,
        .expires_us = expires_us, .may_claim = claims,
    };
    int64_t id = 0;

    digest_of(span_text(key), digest);
    if (store_key_add(db, &row, digest, &id, &why) != CODE_OK)
        fail_msg("%s", why.text);
    return id;
}

TEST_CASE_WITH(makes_it_private_and_keeps_the_session_key, make_folder, drop_folder)
{
    unsigned char first[DIGEST_BYTES], second[DIGEST_BYTES];
    struct why why = {0};
    struct db *db;
    struct stat info;

    assert_int_equal(store_open(path, DB_READ, &db, &why), CODE_NOT_FOUND);
    db = open_store(DB_CREATE);
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
    assert_int_not_equal(store_secret(db, "session", false, first, &why), CODE_OK);
    assert_int_equal(store_secret(db, "session", true, first, &why), CODE_OK);
    db_close(&db);
    db = open_store(DB_READ);
    assert_int_equal(store_secret(db, "session", false, second, &why), CODE_OK);
    assert_memory_equal(first, second, DIGEST_BYTES);
    assert_int_not_equal(store_secret(db, "approval", false, second, &why), CODE_OK);
    db_close(&db);
    db = open_store(DB_WRITE);
    assert_int_equal(store_secret(db, "approval", true, second, &why), CODE_OK);
    assert_memory_not_equal(first, second, DIGEST_BYTES);
    db_close(&db);
}

TEST_CASE_WITH(refuses_newer_and_foreign_files, make_folder, drop_folder)
{
    struct why why = {0};
    struct db *db = open_store(DB_CREATE);

    assert_int_equal(db_exec(db, "PRAGMA user_version = 9999"), CODE_OK);
    db_close(&db);
    assert_int_equal(store_open(path, DB_CREATE, &db, &why), CODE_DENIED);
    assert_non_null(strstr(why.text, "newer"));
    assert_null(db);
    unlink(path);
    assert_int_equal(db_open(path, DB_CREATE, &db, &why), CODE_OK);
    assert_int_equal(db_exec(db, "CREATE TABLE x(a); PRAGMA user_version = 1"), CODE_OK);
    db_close(&db);
    assert_int_equal(store_open(path, DB_CREATE, &db, &why), CODE_DENIED);
    assert_non_null(strstr(why.text, "another program"));
}

static int64_t number(struct db *db, const char *sql)
{
    int64_t found;

    assert_int_equal(db_number(db, sql, NULL, 0, &found), CODE_OK);
    return found;
}

/* 10.10, 11.7: a store that lacks a step is copied as it was before it gets it; who only reads brings none up. */
TEST_CASE_WITH(keeps_what_it_was_before_an_upgrade, make_folder, drop_folder)
{
    static const char *const steps[] = {"CREATE TABLE a(x); INSERT INTO a VALUES (7)",
                                        "ALTER TABLE a ADD COLUMN y NOT NULL DEFAULT 8", "nonsense"};
    char old[128];
    struct why why = {0};
    struct stat info;
    struct db *db;

    snprintf(old, sizeof old, "%s.step-1", path);
    assert_int_equal(db_open(path, DB_CREATE, &db, &why), CODE_OK);
    assert_int_equal(store__settle(db, path, true, steps, 1, &why), CODE_OK);
    assert_int_equal(number(db, "PRAGMA user_version"), 1);
    assert_int_not_equal(stat(old, &info), 0); /* a new store has nothing to keep */
    assert_int_equal(store__settle(db, path, false, steps, 2, &why), CODE_DENIED);
    assert_non_null(strstr(why.text, "older callgate"));
    assert_int_equal(store__settle(db, path, true, steps, 2, &why), CODE_OK);
    assert_int_equal(number(db, "SELECT y FROM a"), 8);
    assert_int_not_equal(store__settle(db, path, true, steps, 3, &why), CODE_OK);
    assert_int_equal(number(db, "PRAGMA user_version"), 2); /* all of a step, or nothing */
    db_close(&db);
    assert_int_equal(stat(old, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
    assert_int_equal(db_open(old, DB_READ, &db, &why), CODE_OK);
    assert_int_equal(number(db, "PRAGMA user_version"), 1);
    assert_int_equal(number(db, "SELECT x FROM a"), 7);
    db_close(&db);
    unlink(old);
    snprintf(old, sizeof old, "%s.step-2", path);
    unlink(old);
}

struct listing {
    int keys, revoked;
    char claims[64];
};

static enum code count_keys(void *context, const struct store_key *key)
{
    struct listing *listing = context;

    listing->keys++;
    listing->revoked += key->revoked_us != 0;
    for (const char *const *claim = key->may_claim; *claim != NULL; claim++)
        snprintf(listing->claims + strlen(listing->claims), sizeof listing->claims - strlen(listing->claims), "%s ", *claim);
    return CODE_OK;
}

static struct span find_key(const void *context, const char *name)
{
    (void)name;
    return span_text(context);
}

static enum reason ask(const struct identity_keys *keys, const char *key, const char *claim)
{
    const struct identity_source source = {.kind = IDENTITY_API_KEY, .header = "X-API-Key"};
    struct identity_request request = {.header = find_key, .context = key, .now_us = 50, .claimed_tenant = span_text(claim)};
    struct identity identity;

    return identity_decide(&source, 1, keys, &request, &identity);
}

/* 1.29 */
TEST_CASE_WITH(keys_are_made_listed_and_revoked, make_folder, drop_folder)
{
    static const char *const claims[] = {"red-*", "blue", NULL};
    struct db *db = open_store(DB_CREATE), *other;
    struct identity_keys *keys;
    struct listing listing = {0};
    struct why why = {0};
    int64_t before, after, first;

    first = add(db, "one", "bot", 0, claims);
    add(db, "two", "late", 40, NULL);
    add(db, "three", "gone", 0, NULL);
    assert_int_equal(store_data_version(db, &before, &why), CODE_OK);
    other = open_store(DB_WRITE);
    assert_int_equal(store_key_revoke(other, first + 2, "root", SPAN_NONE, 45, &why), CODE_OK);
    assert_int_equal(store_key_revoke(other, first + 2, "root", SPAN_NONE, 46, &why), CODE_EXISTS);
    assert_int_equal(store_key_revoke(other, 77, "root", SPAN_NONE, 46, &why), CODE_NOT_FOUND);
    db_close(&other);
    assert_int_equal(store_data_version(db, &after, &why), CODE_OK);
    assert_int_not_equal(before, after);

    assert_int_equal(store_keys_each(db, count_keys, &listing, &why), CODE_OK);
    assert_int_equal(listing.keys, 3);
    assert_int_equal(listing.revoked, 1);
    assert_string_equal(listing.claims, "blue red-* ");

    assert_int_equal(store_keys_load(db, 50, &keys, &why), CODE_OK);
    assert_int_equal(ask(keys, "one", NULL), REASON_PERMITTED);
    assert_int_equal(ask(keys, "one", "red-1"), REASON_PERMITTED);
    assert_int_equal(ask(keys, "one", "green"), REASON_TENANT_NOT_ALLOWED);
    assert_int_equal(ask(keys, "two", NULL), REASON_CREDENTIAL_WRONG);
    assert_int_equal(ask(keys, "three", NULL), REASON_CREDENTIAL_WRONG);
    identity_keys_unref(&keys);

    /* What was done stays on record. */
    assert_int_not_equal(db_exec(db, "DELETE FROM agent_key_revocation"), CODE_OK);
    assert_int_not_equal(db_exec(db, "UPDATE agent_key SET tenant = 'x'"), CODE_OK);
    assert_int_not_equal(db_exec(db, "DELETE FROM agent_key_claim"), CODE_OK);
    db_close(&db);
}

/* 8.8: each kind of key is looked for among its own. */
TEST_CASE_WITH(keys_of_people_open_no_route, make_folder, drop_folder)
{
    struct db *db = open_store(DB_CREATE);
    struct store_key key = {
        .principal = SPAN_LIT("ann"), .tenant = SPAN_LIT(""), .made_by = SPAN_LIT("root"), .made_us = 5, .expires_us = 60,
        .roles = SPAN_LIT("approver auditor:acme"),
    };
    unsigned char plain[DIGEST_BYTES];
    struct store_person_key found;
    struct identity_keys *keys;
    struct why why = {0};
    struct digest digest;
    int64_t id;

    add(db, "agent", "bot", 0, NULL);
    digest_init(&digest);
    digest_add(&digest, "person", 6);
    digest_final(&digest, plain);
    assert_int_equal(store_key_add(db, &key, plain, &id, &why), CODE_OK);
    assert_int_equal(store_keys_load(db, 50, &keys, &why), CODE_OK);
    assert_int_equal(ask(keys, "agent", NULL), REASON_PERMITTED);
    assert_int_equal(ask(keys, "person", NULL), REASON_CREDENTIAL_WRONG);
    identity_keys_unref(&keys);
    assert_int_equal(store_key_of_person(db, SPAN_LIT("person"), 50, &found, &why), CODE_OK);
    assert_string_equal(found.name, "ann");
    assert_string_equal(found.roles, "approver auditor:acme");
    assert_int_equal(store_key_of_person(db, SPAN_LIT("agent"), 50, &found, &why), CODE_DENIED);
    assert_int_equal(store_key_of_person(db, SPAN_LIT(""), 50, &found, &why), CODE_DENIED);
    assert_int_equal(store_key_of_person(db, SPAN_LIT("person"), 60, &found, &why), CODE_DENIED);
    assert_int_equal(store_key_revoke(db, id, "root", SPAN_NONE, 45, &why), CODE_OK);
    assert_int_equal(store_key_of_person(db, SPAN_LIT("person"), 50, &found, &why), CODE_DENIED);
    db_close(&db);
}

TEST_CASE_WITH(tells_how_far_the_audit_knows, make_folder, drop_folder)
{
    struct db *db = open_store(DB_CREATE);
    struct why why = {0};
    int64_t id;

    assert_int_equal(store_told(db, "agent_key", &id, &why), CODE_OK);
    assert_int_equal(id, 0);
    assert_int_equal(store_set_told(db, "agent_key", 7, &why), CODE_OK);
    assert_int_equal(store_set_told(db, "agent_key", 3, &why), CODE_OK);
    assert_int_equal(store_told(db, "agent_key", &id, &why), CODE_OK);
    assert_int_equal(id, 7);
    db_close(&db);
}

TEST_CASE_WITH(survives_no_memory, make_folder, drop_folder)
{
    static const char *const claims[] = {"a*", "b*", NULL};
    struct db *db = open_store(DB_CREATE);
    struct identity_keys *keys;
    struct why why = {0};
    uint64_t allocations;

    for (int i = 0; i < 70; i++) {
        char text[16];

        snprintf(text, sizeof text, "k%d", i);
        add(db, text, "p", 0, claims);
    }
    mem_fail_at(0, 0);
    assert_int_equal(store_keys_load(db, 1, &keys, &why), CODE_OK);
    allocations = mem_fail_count();
    identity_keys_unref(&keys);
    for (uint64_t n = 1; n <= allocations; n++) {
        mem_fail_at(n, 0);
        assert_int_not_equal(store_keys_load(db, 1, &keys, &why), CODE_OK);
        assert_null(keys);
    }
    mem_fail_at(0, 0);
    db_close(&db);
}

/* 7.2: the last list of an upstream takes the place of the one before; a route for slugs has the tools of all of them. */
TEST_CASE_WITH(keeps_what_servers_listed, make_folder, drop_folder)
{
    struct policy_route routes[] = {{.name = "shop"}, {.name = "dojo-*"}, {.name = "new"}};
    struct route_names names = {.routes = routes, .count = 3};
    struct db *db = open_store(DB_CREATE);
    struct why why = {0};

    arena_init(&names.arena, 1 << 20);
    assert_int_equal(store_tools_put(db, SPAN_LIT("shop\0old\0dojo-a\0x\0dojo-b\0y\0other\0z\0"), &why), CODE_OK);
    assert_int_equal(store_tools_put(db, SPAN_LIT("shop\0search\0shop\0get\0shop\0get\0"), &why), CODE_OK);
    assert_int_equal(store_tools_take(db, &names, &why), CODE_OK);
    assert_string_equal(routes[0].tools[0], "get");
    assert_string_equal(routes[0].tools[1], "search");
    assert_null(routes[0].tools[2]);
    assert_string_equal(routes[1].tools[0], "x");
    assert_string_equal(routes[1].tools[1], "y");
    assert_null(routes[1].tools[2]);
    assert_null(routes[2].tools);
    arena_fini(&names.arena);
    db_close(&db);
}

TEST_MAIN(NULL, NULL)
