/* SPDX-License-Identifier: Apache-2.0 */
/* 11.9: parts of a configuration, for commands: read when the first is asked for and once, and no certificate or credential of it. */
#include "names/route_names_read.h"
#include "conf/conf.h"
#include "lane/route_names.h"
#include "base/mem.h"
#include "fakes/cm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[] = "/tmp/callgate-file-XXXXXX";
static char path[64];

static void put(const char *text)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    fclose(file);
}

static void expect_path(char *found, const char *name)
{
    char whole[128];

    snprintf(whole, sizeof whole, "%s/%s", folder, name);
    assert_string_equal(found, whole);
    mem_free(found);
}

TEST_CASE(each_part_is_of_one_reading)
{
    struct conf_file *file = conf_file_new(path);
    struct conf_people people;
    struct route_names names;
    struct faults faults;
    struct arena arena;
    char *found;

    faults_init(&faults);
    route_names_init(&names);
    put("store: x/y.db\npeople: {socket: here.sock}\nroutes: [{name: a, upstream: {ca: not-there.pem}}]\n");
    assert_int_equal(conf_store_path(file, &found, &faults), CODE_OK);
    expect_path(found, "x/y.db");
    (void)unlink(path); /* it is known by now */
    assert_int_equal(conf_audit_path(file, &found, &faults), CODE_OK);
    expect_path(found, "audit.db");
    assert_int_equal(conf_people(file, &arena, &people, &faults), CODE_OK);
    assert_true(people.is_on && strstr(people.socket, "/here.sock") != NULL);
    assert_int_equal(route_names_read(file, &names, &faults), CODE_OK);
    assert_int_equal(names.count, 1);
    route_names_fini(&names);
    arena_fini(&arena);
    conf_file_free(&file);
}

/* 14.1: which fleet a gate is of. */
TEST_CASE(a_fleet_is_named_by_its_membership)
{
    static const char *const wrong[] = {
        "fleet: {stale: 5min}\n", "fleet: {membership: m, stale: 0}\n", "fleet: {membership: m, stale: 1s}\n",
        "fleet: {membership: m, database: 'mysql://db/x'}\n", "fleet: {membership: m, arguments: none}\n",
    };
    struct conf_fleet fleet;
    struct faults faults;
    struct arena arena;

    for (size_t i = 0; i <= sizeof wrong / sizeof *wrong; i++) {
        struct conf_file *file = conf_file_new(path);
        bool is_good = i == sizeof wrong / sizeof *wrong;

        faults_init(&faults);
        put(is_good ? "fleet: {membership: eu.member, arguments: digest}\n" : wrong[i]);
        assert_int_equal(conf_fleet(file, &arena, &fleet, &faults), is_good ? CODE_OK : CODE_INVALID);
        assert_true(is_good ? faults.count == 0 : faults.count > 0);
        if (is_good) {
            assert_non_null(strstr(fleet.membership, "/eu.member"));
            assert_null(fleet.database);
            assert_true(fleet.keeps_arguments && fleet.stale_ms == 900000);
        }
        arena_fini(&arena);
        conf_file_free(&file);
    }
}

/* As a person's command reads it, who may not read what is the gate's. */
TEST_CASE(people_are_read_where_a_providers_keys_are_not)
{
    struct conf_file *file = conf_file_new(path);
    struct conf_people people;
    struct faults faults;
    struct arena arena;

    faults_init(&faults);
    put("people: {socket: here.sock, logins: [{provider: corp, client: cli}]}\n"
        "providers: [{name: corp, issuer: 'http://127.0.0.1:9/', keys: {file: not-there.json}}]\n");
    assert_int_equal(conf_people(file, &arena, &people, &faults), CODE_OK);
    assert_int_equal(people.login_count, 1);
    assert_int_equal(faults.count, 0);
    arena_fini(&arena);
    conf_file_free(&file);
}

/* 12.8: the tenant is all behind the first colon, and a role is written as it is. */
TEST_CASE(a_role_is_of_one_tenant)
{
    static const struct {
        const char *text, *tenant;
        unsigned bit;
    } roles[] = {
        {"approver", NULL, PEOPLE_BIT(PEOPLE_APPROVERS)}, {"approver:acme", "acme", PEOPLE_DECIDES_TENANTS},
        {"approver:acme:x", "acme:x", PEOPLE_DECIDES_TENANTS}, {"auditor:a:b", "a:b", PEOPLE_AUDITS_TENANTS},
        {"approver::", ":", PEOPLE_DECIDES_TENANTS}, {"approver:", NULL, 0}, {"approver:a b", NULL, 0}, {"approver :a", NULL, 0},
        {"Approver:acme", NULL, 0}, {"admin:acme", NULL, 0}, {"viewer:", NULL, 0}, {":acme", NULL, 0}, {"", NULL, 0},
    };
    struct span tenant;

    for (size_t i = 0; i < sizeof roles / sizeof roles[0]; i++) {
        assert_int_equal(people_role_read(span_text(roles[i].text), &tenant), roles[i].bit);
        if (roles[i].tenant != NULL)
            assert_true(span_is(tenant, roles[i].tenant));
    }
}

/* 12.8: whose a login is: one tenant for all, where the token says it, or a table. */
TEST_CASE(a_login_says_whose_it_is)
{
    static const struct {
        const char *tenant, *fault;
    } cases[] = {
        {"acme", NULL}, {"$.org", NULL}, {"{claim: $.org, is: {a1: acme}}", NULL}, {"'a b'", "a tenant is 1 to 128"},
        {"'$.a['", "$.a["}, {"{claim: $.org}", "is"}, {"[acme]", "a text is expected"},
    };
    char text[512];

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct conf_file *file = conf_file_new(path);
        struct conf_people people;
        struct faults faults;
        struct arena arena;

        snprintf(text, sizeof text, "people: {logins: [{provider: corp, client: cli, tenant: %s}]}\n"
                 "providers: [{name: corp, issuer: 'http://127.0.0.1:9/'}]\n", cases[i].tenant);
        put(text);
        faults_init(&faults);
        assert_int_equal(conf_people(file, &arena, &people, &faults), cases[i].fault == NULL ? CODE_OK : CODE_INVALID);
        if (cases[i].fault != NULL && strstr(faults.fault[0].text, cases[i].fault) == NULL)
            fail_msg("%s: %s", cases[i].tenant, faults.fault[0].text);
        if (cases[i].fault == NULL)
            assert_true(people.logins[0].tenant.constant != NULL || people.logins[0].tenant.claim.count > 0);
        arena_fini(&arena);
        conf_file_free(&file);
    }
}

TEST_CASE(what_is_wrong_is_said_of_each_part)
{
    struct conf_file *file = conf_file_new(path);
    struct faults faults;
    char *found;

    (void)unlink(path);
    for (int i = 0; i < 2; i++) {
        faults_init(&faults);
        assert_int_equal(conf_store_path(file, &found, &faults), CODE_INVALID);
        assert_int_equal(faults.count, 1);
        assert_non_null(strstr(faults.fault[0].text, "`callgate init` writes a first one"));
        assert_null(found);
    }
    conf_file_free(&file);
    file = conf_file_new(path);
    put("store: [1]\n");
    faults_init(&faults);
    assert_int_equal(conf_store_path(file, &found, &faults), CODE_INVALID);
    assert_int_equal(faults.count, 1);
    assert_null(found);
    assert_int_equal(conf_audit_path(file, &found, &faults), CODE_OK); /* which is as it should be */
    expect_path(found, "audit.db");
    conf_file_free(&file);
}

static int setup(void **state)
{
    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/callgate.yaml", folder);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    (void)unlink(path);
    return rmdir(folder);
}

TEST_MAIN(setup, teardown)
