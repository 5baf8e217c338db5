/* SPDX-License-Identifier: Apache-2.0 */
/* 10.1, 10.2: how many readings a path's steps and a URI have, and what names of resources say of these. */
#include "judgement/judgement.h"
#include "texts/reading.h"
#include "unit/policy/judge.h"

#include <string.h>

TEST_CASE(test_steps)
{
    static const struct {
        const char *text;
        unsigned doubts;
    } rows[] = {
        {"", 0}, {"/", 0}, {"/srv/a b/\xc3\xa4", 0}, {"/srv/...", 0}, {"/a.b/.c/c.", 0}, {"a=b&c", 0},
        {".", READING_DOT}, {"/a/..", READING_CLIMBS}, {"/../a", READING_CLIMBS}, {"a/./b", READING_DOT},
        {"//", READING_EMPTY}, {"/a//b", READING_EMPTY}, {"/a/", 0}, {"/a%20b", READING_ESCAPE},
        {"/a%20", READING_ESCAPE | READING_ODD}, {"/.. ", READING_ODD}, {"/a\xc2\xa0", READING_ODD}, {"/a\xe3\x80\x80", READING_ODD},
        {"/a\xe2\x80\x8a", READING_ODD}, {"/a\xe2\x80\x8b", 0}, {"/a\xef\xbb\xbf", READING_ODD}, {" /a b", 0}, {" ", READING_ODD},
        {"/a%C2%A0", READING_ESCAPE | READING_ODD}, {"/a%e2%80%8A", READING_ESCAPE | READING_ODD}, {"/a%A0", READING_ESCAPE},
        {"/a%", READING_ESCAPE},
        {"%2e", READING_DOT | READING_LOOSE | READING_ESCAPE},
        {"/.%2E/x", READING_CLIMBS | READING_LOOSE | READING_ESCAPE},
        {"/a%2f..", READING_CLIMBS | READING_LOOSE | READING_ESCAPE}, {"/a%2F/b", READING_EMPTY | READING_LOOSE | READING_ESCAPE},
        {"/a?b", READING_LOOSE}, {"/..;x", READING_CLIMBS | READING_LOOSE}, {"/..%3Bx", READING_CLIMBS | READING_LOOSE | READING_ESCAPE},
        {"/..x;", READING_LOOSE}, {"/a#..", READING_CLIMBS | READING_LOOSE}, {"%252e", READING_ESCAPE},
        {"/a//..", READING_EMPTY | READING_CLIMBS | READING_LOOSE},
        {"/../a//b", READING_EMPTY | READING_CLIMBS}, {"//./a", READING_EMPTY | READING_DOT},
        {"\\", READING_ODD}, {"a\\..", READING_ODD | READING_CLIMBS},
        {"%5C", READING_ODD | READING_LOOSE | READING_ESCAPE}, {"\n", READING_ODD}, {"%00", READING_ODD | READING_ESCAPE},
        {"\x7f", READING_ODD}, {"\xc2\x85", READING_ODD}, {"%C2%85", READING_ESCAPE}, {"\xff", READING_ODD},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (reading_of_steps(span_text(rows[i].text)) != rows[i].doubts)
            fail_msg("`%s`: %x, wanted %x", rows[i].text, reading_of_steps(span_text(rows[i].text)), rows[i].doubts);
}

/* usual: NULL: one reading; "": many; else the second one. */
static const struct {
    const char *uri, *usual;
} uris[] = {
    {"file:///docs/a.txt", NULL}, {"file:///docs/a%20b/%C3%A4", NULL}, {"file:///docs/", NULL}, {"file:///a;b/c", NULL},
    {"note:A", NULL}, {"note:/a", NULL}, {"urn:x:y", NULL}, {"x", NULL}, {"a/b", NULL}, {"db://orders/1?q=../x//y", NULL},
    {"http://example.com/", NULL}, {"http://example.com:8080/a", NULL}, {"http://10.0.0.1:3000/a", NULL}, {"db:///x", NULL},
    {"db://h:5432/x", NULL}, {"note://1/x", NULL}, {"note://caf%C3%A9", NULL}, {"test+x.y-z://a~b,c=d/e", NULL}, {"db://x", NULL},
    {"file:///a%2Bb%40", NULL}, {"file", NULL}, {"file?", ""},
    /* the scheme or host in capitals, a userinfo, a default port, a file's host: one of them */
    {"FILE:///docs/a", "file:///docs/a"}, {"db://Orders/A", "db://orders/A"}, {"Note:A", "note:A"},
    {"http://example.com:80/A", "http://example.com/A"}, {"wss://h:443/", "wss://h/"}, {"https://h:80/", NULL},
    {"postgres://ada@db.internal:5432/orders/schema", "postgres://db.internal:5432/orders/schema"},
    {"db://u:p@h/x", "db://h/x"}, {"file://localhost/etc/a", "file:///etc/a"}, {"file://server/share", "file:///share"},
    {"db://CAF%C3%A9/x", "db://caf%C3%A9/x"},
    /* several of them */
    {"FILE://localhost/a", ""}, {"file://Server/a", ""}, {"http://me@Example.com/", ""}, {"http://me@h:80/", ""},
    /* who reads it decides */
    {"file:///docs/../key", ""}, {"file:///docs/.", ""}, {"file:///docs/%2e%2e/key", ""}, {"file:///docs/%2E%2E/key", ""},
    {"file:///docs/..%2Fkey", ""}, {"file:///docs\\..\\key", ""}, {"file:///docs%5Ckey", ""}, {"file:///docs//key", ""},
    {"file:////docs/a", ""}, {"file:/docs/a", ""}, {"file:docs", ""}, {"file:///docs/..;x/key", ""}, {"file:///docs/a%00", ""},
    {"file:///docs/%252e%252e/key", ""}, {"file:///docs/..%20", ""}, {"file:///docs/a%20", ""},
    {"file:///docs/a%C2%A0", ""}, {"file:///%64ocs/a", ""}, {"file:///docs/%c3%a4", ""}, {"file:///docs/%", ""},
    {"file:///docs/%2", ""}, {"file:///docs/%zz", ""}, {"file:///docs/a b", ""}, {"file:///docs/\xc3\xa4", ""},
    {"file:///docs/a?b", ""}, {"file:///docs/a#b", ""}, {"db://x/a?", ""}, {"db://x#", ""}, {"file:///C|/a", ""}, {"//x/a", ""},
    {"note:///docs/a?/../../key", ""}, {"note://docs/a?..", ""}, {"note://docs/a?x;../y", ""}, {"note://../key", ""}, {"note://./key", ""},
    {"note://..", ""}, {"note://docs/a?..x/y..", NULL}, {"note://a../..b", NULL},
    {"http:example.com", ""}, {"http:/example.com/", ""}, {"http:///a", ""}, {"http://example.com", ""}, {"http://h?q", NULL},
    {"http://h./", ""}, {"http://127.1/", ""}, {"http://0x7f.0.0.1/", ""}, {"http://2130706433/", ""}, {"http://[::1]/", ""},
    {"http://h%41/", ""}, {"http://h:/", ""}, {"http://h:080/", ""}, {"http://h:x/", ""}, {"http://h:65536/", ""}, {"db://h:/x", ""},
    {"db://a@b@c/x", ""}, {"db://[::1]/x", ""}, {"file://:1/a", ""}, {"file://h:1/a", ""},
};

TEST_CASE(test_uris)
{
    for (size_t i = 0; i < sizeof uris / sizeof *uris; i++) {
        const char *wanted = uris[i].usual;
        enum reading_count count;
        static struct uri_readings readings;
        struct span usual;

        count = reading_of_uri(span_text(uris[i].uri), &readings);
        usual = span_of(readings.usual, readings.len);
        if (count != (wanted == NULL ? READING_ONE : *wanted ? READING_TWO : READING_MANY) ||
            (count == READING_TWO && !span_is(usual, wanted)))
            fail_msg("%s: %d %.*s, wanted %s", uris[i].uri, count, SPAN_ARG(usual), wanted != NULL ? wanted : "one");
    }
}

TEST_CASE(test_long_uri)
{
    char uri[READING_URI_MAX + 1];
    static struct uri_readings readings;

    memset(uri, 'a', sizeof uri);
    assert_int_equal(reading_of_uri(span_of(uri, sizeof uri - 1), &readings), READING_ONE);
    assert_int_equal(reading_of_uri(span_of(uri, sizeof uri), &readings), READING_MANY);
}

/* P: the permit holds alone; F: the forbid denies; -: neither says anything. */
TEST_CASE(test_names)
{
    static const struct {
        const char *name, *uri, *permits, *forbids;
    } rows[] = {
        {"'file:///docs/*'", "file:///docs/a", "P", "F"}, {"'file:///docs/*'", "file:///key", "-", "-"},
        {"'file:///docs/*'", "file:///docs/../key", "-", "F"}, {"'file:///docs/*'", "file:///docs/%2e%2e/key", "-", "F"},
        {"'file:///docs/*'", "file:///docs/..%2fkey", "-", "F"}, {"'file:///docs/*'", "file:///docs/..\\key", "-", "F"},
        {"'file:///docs/*'", "file:///docs//key", "-", "F"}, {"'file:///docs/*'", "file:///x/../docs/a", "-", "F"},
        {"'file:///docs/*'", "FILE:///docs/a", "-", "F"}, {"'file:///docs/*'", "file:////docs/a", "-", "F"},
        {"'file:///docs/*'", "file://localhost/docs/a", "-", "F"}, {"'file:///docs/*'", "FILE:///etc/a", "-", "-"},
        {"'http://h*'", "http://h@evil/x", "-", "F"}, {"'http://h/*'", "http://u@h/x", "-", "F"},
        {"'http://h/*'", "http://h:80/x", "-", "F"},
        {"'http://h:80*'", "http://h:80@evil/x", "-", "F"}, {"'http://h/*'", "http://h:81/x", "-", "-"},
        /* where both readings are the name's, it does not matter which one it is */
        {"'postgres://*/schema'", "postgres://ada@db:5432/orders/schema", "P", "F"}, {"'note://*'", "note://Title", "P", "F"},
        {"'*'", "file:///docs/../key", "P", "F"}, {"'**'", "file:///docs/../key", "-", "F"},
        /* a name that spells one out */
        {"'file:///docs/../key'", "file:///docs/../key", "P", "F"}, {"'FILE:///a'", "FILE:///a", "P", "F"},
        {"'file:///a'", "FILE:///a", "-", "F"}, {"'file:///key'", "file:///docs/../key", "-", "F"}, {"'file:///a'", "FILE:///b", "-", "-"},
        {"{regex: 'file:///docs/.*', anchor: whole}", "file:///docs/a", "P", "F"},
        {"{regex: 'file:///docs/.*', anchor: whole}", "file:///docs/../key", "-", "F"},
        {"{regex: 'file:///docs/', anchor: anywhere}", "FILE:///docs/a", "-", "F"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int forbids = 0; forbids <= 1; forbids++) {
            const char *wanted = forbids ? rows[i].forbids : rows[i].permits;
            struct question question = plain_question();
            const struct verdict *verdict;
            struct court court;
            char text[512];

            /* Beside it a rule for another URI, so that rules are found by their names. */
            snprintf(text, sizeof text, "policy: p\nrules:\n  - {id: r, effect: %s, match: {resources: [%s]}}\n"
                     "  - {id: o, effect: permit, match: {resources: ['never:x']}}\n%s", forbids ? "forbid" : "permit", rows[i].name,
                     forbids ? "  - {id: p, effect: permit, match: {methods: [resources/read]}}\n" : "");
            court_open(&court, text);
            question.method = SPAN_LIT("resources/read");
            question.tool = SPAN_NONE;
            question.resource = span_text(rows[i].uri);
            verdict = judge(&court, question, NULL);
            if ((verdict->kind == VERDICT_PERMIT) != (forbids ? *wanted == '-' : *wanted == 'P'))
                fail_msg("%s on %s: wanted %s", text, rows[i].uri, wanted);
            assert_int_equal(policy_could_permit(court.policy, &question, court.scratch), verdict->kind == VERDICT_PERMIT);
            court_close(&court);
        }
}

TEST_MAIN(NULL, NULL)
