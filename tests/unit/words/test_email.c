/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/policy/rows.h"

#define OURS "email: {domains: [example.com, '*.example.org', XN--BCHER-KVA.example]}"
#define BARE "email: {most: 3}"
#define NONE "email: {domains: [example.com], none: true}"
#define TEN "abcdefghij"

/* 12.5: a bare address of one of the domains; an array, or a text with commas. Where the condition opens all must be, where it closes
 * any. */
TEST_CASE(test_whose)
{
    static const struct row rows[] = {
        {OURS, "\"ada@example.com\"", 'T', 'T'},
        {OURS, "\"ADA.b+c_d-e9@EXAMPLE.com\"", 'T', 'T'},
        {OURS, "\"_x@mail.example.org\"", 'T', 'T'},
        {OURS, "\"ada@xn--bcher-kva.example\"", 'T', 'T'},
        {OURS, "\"ada@example.org\"", 'F', 'F'},
        {OURS, "\"ada@example.com.evil.net\"", 'F', 'F'},
        {OURS, "\"ada@evilexample.com\"", 'F', 'F'},
        {OURS, "\"ada@evil.net\"", 'F', 'F'},
        {OURS, "[\"ada@example.com\",\"bob@a.example.org\"]", 'T', 'T'},
        {OURS, "[\"ada@example.com\",\"bob@evil.net\"]", 'T', 'F'},
        {OURS, "[\"ann@evil.net\",\"bob@evil.net\"]", 'F', 'F'},
        {OURS, "\"ada@example.com,bob@a.example.org\"", 'T', 'T'},
        {OURS, "\"ada@example.com, bob@a.example.org\"", 'T', 'T'},
        {OURS, "\"ada@example.com,  bob@evil.net\"", 'T', 'F'},
        {OURS, "[\"ada@example.com\",\"Bob <bob@example.com>\"]", 'T', 'U'},
        {OURS, "[\"ada@evil.net\",\"Bob <bob@example.com>\"]", 'U', 'F'},
        {OURS, "[\"ada@example.com\",\"bob@example.com,eve@evil.net\"]", 'T', 'U'}, /* a list in a list */
        {OURS, "[[\"ada@example.com\"]]", 'U', 'U'},
        {OURS, "[\"ada@example.com\",null]", 'T', 'U'},
        {OURS, "{\"to\":\"ada@example.com\"}", 'U', 'U'},
        {OURS, "null", 'U', 'U'},
        {OURS, "7", 'U', 'U'},
        {OURS, "true", 'U', 'U'},
        {OURS, "\"\"", 'F', 'F'},
        {OURS, "[]", 'F', 'F'},
        {NONE, "\"\"", 'T', 'T'},
        {NONE, "[]", 'T', 'T'},
        {NONE, "null", 'T', 'T'},
        {NONE, "\" \"", 'U', 'U'},
        {NONE, "[\"\"]", 'U', 'U'},
        {NONE, "[null]", 'U', 'U'},
        {NONE, "\"ada@example.com\"", 'T', 'T'},
        {NONE, "\"ada@evil.net\"", 'F', 'F'},
        {BARE, "\"a@b, c@d, e@f\"", 'T', 'T'},
        {BARE, "\"a@b, c@d, e@f, g@h\"", 'F', 'F'},
        {BARE, "[\"a@b\",\"c@d\",\"e@f\",\"g@h\"]", 'F', 'F'},
        {BARE, "[\"a@b\",\"c@d\",\"e@f\",\"\\\"g,h\\\"@i\"]", 'F', 'F'},
        {BARE, "\"'a,b',c\\\"d,e\\\"@f\"", 'U', 'F'}, /* how many they are depends on who reads them */
    };

    CHECK(rows);
}

/* 12.5: what some mailer reads as an address of somebody else, as several, as an option or as a route. */
TEST_CASE(test_read_otherwise)
{
    static const char *const odd[] = {
        "mallory%evil.net@example.com", "evil.net!mallory@example.com", "@evil.net:ada@example.com", "ada@evil.net@example.com",
        "-oQ/tmp@example.com", "-X/var/www/x.php@example.com", "+ada@example.com", ".ada@example.com", "ada.@example.com",
        "a..b@example.com", "ada(comment)@example.com", "ada@(comment)example.com", "(x)ada@example.com", "ada@example.com(x)",
        "\"ada\"@example.com", "\"mallory@evil.net \"@example.com", "\"a b\"@example.com", "ada <mallory@evil.net>",
        "ada@example.com <mallory@evil.net>", "<ada@example.com>", "Ada <ada@example.com>", "group:ada@example.com;",
        "ada@example.com;mallory@evil.net", "ada@example.com mallory@evil.net", "ada@example.com\\nBcc: m@evil.net",
        "ada@example.com\\r\\n", "\\nada@example.com", "ada\\t@example.com", " ada@example.com",
        "ada@example.com ", "ada @example.com", "ada@ example.com", "ada@example.com.", "ada@.example.com", "ada@example..com",
        "ada@-example.com", "ada@example-.com", "ada@exa_mple.com", "ada@[10.0.0.1]", "ada@[IPv6:::1]", "ada@10.0.0.1",
        "ada@2130706433", "ada@0x7f.1", "ada@ex\\u00e4mple.com", "\\u00e4da@example.com", "ada@example.com\\u200b",
        "ada@example\\u3002com", "ada@\\uff45xample.com", "ada\\uff20example.com", "ada@example.com,", ",ada@example.com",
        "ada@example.com,,bob@example.com", "ada@example.com\\uff0cmallory@evil.net", "ada@example.com,\\tbob@example.com",
        "mailto:ada@example.com", "ada@example.com?bcc=mallory@evil.net", "ada/x@example.com", "ada|sh@example.com", "`id`@example.com",
        "$HOME@example.com", "ada&@example.com", "ada*@example.com", "a{b}@example.com", "ada=x@example.com", "~ada@example.com",
        "'ada'@example.com", "#ada@example.com", "ada@example.com#x", "ada@example.com/x", "=?utf-8?q?ada?=@example.com", "ada@",
        "@example.com", "ada", "@", "a@b@", TEN TEN TEN TEN TEN TEN "abcde@example.com",
        "ada@" TEN TEN TEN TEN TEN TEN "abcd.example.com",
        "ada@" TEN TEN TEN TEN TEN "." TEN TEN TEN TEN TEN "." TEN TEN TEN TEN TEN "." TEN TEN TEN TEN TEN "." TEN TEN TEN TEN TEN
        ".example.com",
    };

    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
        for (int opening = 0; opening <= 1; opening++) {
            char arguments[1024], truth;

            snprintf(arguments, sizeof arguments, "{\"v\":\"%s\"}", strchr(odd[i], '"') != NULL ? "" : odd[i]);
            if (strchr(odd[i], '"') != NULL) { /* as JSON has it */
                size_t len = 6;

                for (const char *c = odd[i]; *c != '\0'; c++) {
                    if (*c == '"')
                        arguments[len++] = '\\';
                    arguments[len++] = *c;
                }
                snprintf(arguments + len, sizeof arguments - len, "\"}");
            }
            truth = truth_of_condition("{arg: v, email: {domains: ['*']}}", span_text(arguments), opening);
            if (truth != 'U' && !(truth == 'T' && !opening && strchr(odd[i], ',') != NULL)) /* one of several is an address */
                fail_msg("%s is %c", odd[i], truth);
        }
}

/* 12.5: the local part is the caller's own; what servers deliver to the same person perhaps is undecided. */
TEST_CASE(test_local)
{
    static const struct row rows[] = {
        {"email: {domains: [example.com], local: bot}", "\"bot@example.com\"", 'T', 'T'},
        {"email: {domains: [example.com], local: '{principal}'}", "\"bot@example.com\"", 'T', 'T'},
        {"email: {domains: [example.com], local: '{principal}'}", "\"bob@example.com\"", 'F', 'F'},
        {"email: {domains: [example.com], local: '{principal}'}", "\"Bot@example.com\"", 'U', 'U'},
        {"email: {domains: [example.com], local: '{principal}'}", "\"bot+x@example.com\"", 'U', 'U'},
        {"email: {domains: [example.com], local: '{principal}'}", "\"bot@example.net\"", 'F', 'F'},
        {"email: {domains: ['{tenant}.example.com'], local: [ada, 'team-*']}", "\"team-a@acme.example.com\"", 'T', 'T'},
        {"email: {domains: ['{tenant}.example.com'], local: [ada, 'team-*']}", "\"ada@acme2.example.com\"", 'F', 'F'},
        {"email: {local: ADA}", "\"ada@example.com\"", 'U', 'U'},
    };

    CHECK(rows);
}

/* 12.5: what cannot be meant is said with its repair. */
TEST_CASE(test_faults)
{
    expect_fault("permit", "{arg: v, email: {}}", "does not say whose");
    expect_fault("permit", "{arg: v, email: example.com}", "write a map");
    expect_fault("permit", "{arg: v, email: {domain: [a]}}", "domains");
    expect_fault("permit", "{arg: v, email: {domains: []}}", "empty list");
    expect_fault("permit", "{arg: v, email: {domains: ['@example.com']}}", "no domain of mail");
    expect_fault("permit", "{arg: v, email: {domains: [exa_mple.com]}}", "no domain of mail");
    expect_fault("permit", "{arg: v, email: {domains: [b\xc3\xbc" "cher.example]}}", "xn--");
    expect_fault("permit", "{arg: v, email: {local: 'ada@example.com'}}", "no local part");
    expect_fault("permit", "{arg: v, email: {most: 0}}", "from 1 on");
    expect_fault("permit", "{arg: v, email: {most: '2'}}", "from 1 on");
    expect_fault("permit", "{arg: v, email: {none: 1}}", "true where");
    expect_fault("permit", "{arg: v, is: array, links: true}", "asks nothing of a text");
    expect_fault("permit", "{arg: v, url: {to: privat}}", "unknown here");
    expect_fault("permit", "{arg: v, url: {ports: any}, links: true, joined: true}", "write two conditions");
}

TEST_MAIN(NULL, NULL)
