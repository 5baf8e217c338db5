/* SPDX-License-Identifier: Apache-2.0 */
/* 14.1, P191: what a database's URL may say, without a server; test_pg.c asks a real one. */
#include "pg/pg.h"
#include "fakes/cm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void check(const char *url, const char *user, enum code wanted, const char *words)
{
    struct pg_place place = {.database = url, .user = span_text(user), .password = SPAN_LIT("pw")};
    struct why why = {0};
    enum code code = pg_check(&place, &why);

    if (code != wanted || strstr(why.text, words) == NULL)
        fail_msg("%s: %d: %s", url, code, why.text);
    assert_null(strstr(why.text, "hunter2"));
}

#define TLS "sslmode=verify-full&sslrootcert=/etc/passwd"

TEST_CASE(test_urls)
{
    check("postgresql://db.internal/callgate?" TLS, "node", CODE_OK, "");
    check("postgres://a,b:5433/callgate?" TLS, "node", CODE_OK, "");
    check("postgresql://anna@db/callgate?" TLS, "", CODE_OK, "");
    check("postgresql://%2Frun%2Fpg/callgate", "node", CODE_OK, "");
    check("host=db dbname=callgate", "node", CODE_INVALID, "is no URL");
    check("postgresql://db:port:9/callgate?x", "node", CODE_INVALID, "cannot be read");
    check("postgresql://anna:hunter2@db/c?nothing=hunter2&" TLS, "", CODE_INVALID, "cannot be read");
    check("postgresql://anna:hunter2@db/callgate?" TLS, "", CODE_INVALID, "holds a password");
    check("postgresql://anna@db/callgate?" TLS, "node", CODE_INVALID, "names a user");
    check("postgresql://db/callgate?" TLS, "", CODE_INVALID, "as which role");
    check("postgresql:///callgate?" TLS, "node", CODE_INVALID, "names no host");
    check("postgresql://db?" TLS, "node", CODE_INVALID, "has no name");
    check("postgresql://a,%2Frun/callgate?" TLS, "node", CODE_INVALID, "one kind");
}

TEST_CASE(test_what_weakens_is_refused)
{
    static const char *const parameters[] = {
        "passfile=/x", "service=s", "sslmode=require&sslrootcert=/etc/passwd", "channel_binding=disable&" TLS, "gssencmode=require&" TLS,
        "options=-csession_replication_role%3Dreplica&" TLS, "target_session_attrs=any&" TLS, "sslcert=/x&" TLS, "sslpassword=x&" TLS,
        "ssl_min_protocol_version=TLSv1&" TLS, "requirepeer=root&" TLS, "client_encoding=LATIN1&" TLS, "sslmode=verify-full",
        "sslmode=verify-full&sslrootcert=/nothing/here", "sslmode=verify-ca&sslrootcert=/etc/passwd", "",
    };
    char url[256];

    for (size_t i = 0; i < sizeof parameters / sizeof *parameters; i++) {
        (void)snprintf(url, sizeof url, "postgresql://db/callgate?%s", parameters[i]);
        check(url, "node", CODE_INVALID, "");
    }
}

TEST_CASE(test_an_authority_is_beside_its_file)
{
    struct pg_place place = {.database = "postgresql://db/callgate?sslmode=verify-full&sslrootcert=passwd", .folder = "/etc",
                             .user = SPAN_LIT("node")};

    assert_int_equal(pg_check(&place, NULL), CODE_OK);
    place.folder = "/";
    assert_int_equal(pg_check(&place, NULL), CODE_INVALID);
}

/* A question that failed has no rows: what is read of them all the same is nothing. */
TEST_CASE(test_no_rows)
{
    assert_int_equal(pg_rows_count(NULL), 0);
    assert_int_equal(pg_rows_int(NULL, 0, 0), 0);
    assert_true(pg_rows_null(NULL, 0, 0));
    assert_null(pg_rows_bytes(NULL, 0, 0).at);
}

/* What whoever confines himself has to permit. */
TEST_CASE(test_needs)
{
    struct pg_place place = {.folder = "/etc", .user = SPAN_LIT("node"),
                             .database = "postgresql://a,b:6543/callgate?sslmode=verify-full&sslrootcert=passwd"};
    struct pg_needs needs;

    assert_int_equal(pg_needs(&place, &needs, NULL), CODE_OK);
    assert_int_equal(needs.port_count, 2);
    assert_int_equal(needs.ports[0], 5432);
    assert_int_equal(needs.ports[1], 6543);
    assert_string_equal(needs.root, "/etc/passwd");
    place.database = "postgresql://%2Frun/callgate";
    assert_int_equal(pg_needs(&place, &needs, NULL), CODE_OK);
    assert_int_equal(needs.port_count, 0);
    assert_string_equal(needs.root, "");
    place.database = "mysql://db/callgate";
    assert_int_equal(pg_needs(&place, &needs, NULL), CODE_INVALID);
    assert_int_equal(needs.port_count, 0);
}

/* What the environment says of PostgreSQL is forgotten before libpq reads it. */
TEST_CASE(test_the_environment_is_forgotten)
{
    assert_null(getenv("PGPASSWORD"));
    assert_null(getenv("PGSERVICE"));
    assert_null(getenv("PGOPTIONS"));
    assert_non_null(getenv("NOTPG"));
}

TEST_CASE(test_quotes)
{
    char out[32];

    assert_int_equal(pg_quote_text(SPAN_LIT("it's \\"), out, sizeof out), CODE_OK);
    assert_string_equal(out, "E'it''s \\\\'");
    assert_int_equal(pg_quote_text(span_of("a\0b", 3), out, sizeof out), CODE_INVALID);
    assert_int_equal(pg_quote_text(SPAN_LIT("fifteen letters"), out, sizeof out), CODE_LIMIT);
}

int main(void)
{
    (void)setenv("PGPASSWORD", "other", 1);
    (void)setenv("PGSERVICE", "other", 1);
    (void)setenv("PGOPTIONS", "-c x=y", 1);
    (void)setenv("NOTPG", "1", 1);
    return tests_run(NULL, NULL);
}
