/* SPDX-License-Identifier: Apache-2.0 */
/* 12.2: a text in two, each part asked a condition of one text. */
#include "unit/policy/rows.h"

#define REVISION "cut: ':', front: {matches: '[a-z]+', max_length: 4}, rest: {starts_with: src/, not: {contains: '..'}}"

static const struct row rows[] = {
    {REVISION, "\"head:src/a.c\"", 'T', 'T'},
    {REVISION, "\"head:\"", 'F', 'F'},
    {REVISION, "\"head:src/../x\"", 'F', 'F'},
    {REVISION, "\"head:/etc/passwd\"", 'F', 'F'},
    {REVISION, "\"head:src/a:b\"", 'T', 'T'}, /* at the first one */
    {REVISION, "\":src/a\"", 'F', 'F'},
    {REVISION, "\"heads:src/a\"", 'F', 'F'},
    {REVISION, "\"HEAD:src/a\"", 'F', 'F'},
    {REVISION, "\"9x9:src/a\"", 'T', 'F'}, /* where it closes a regex is found anywhere */
    {REVISION, "\"head\"", 'F', 'F'},
    {REVISION, "\"\"", 'F', 'F'},
    {REVISION, "5", 'F', 'F'},
    {REVISION, "[\"head:src/a\"]", 'U', 'U'},
    {"cut: 'e', front: {equals: tru}", "true", 'T', 'T'},
    {"cut: 'e', front: {equals: tr, not_matches: x}", "\"tre\"", 'T', 'T'},
    {"cut: \"\\u00e4\", rest: {in: [b, c]}", "\"a\\u00e4b\"", 'T', 'T'},
    {"cut: \"\\u00e4\", rest: {in: [b, c]}", "\"aa\\u0308b\"", 'F', 'F'},
    {"cut: ':', front: {not: {in: [a, b]}}", "\"a:\"", 'F', 'F'},
    {"cut: ':', front: {not: {in: [a, b]}}", "\"c:\"", 'T', 'T'},
    {"cut: ':', front: {any: [{equals: a}, {glob: 'b*', max_length: 2}]}", "\"bc:\"", 'T', 'T'},
    {"cut: ':', front: {any: [{equals: a}, {glob: 'b*', max_length: 2}]}", "\"bcd:\"", 'F', 'F'},
    {"cut: ':', front: {all: [{starts_with: a}, {ends_with: b}], min_length: 3}", "\"axb:\"", 'T', 'T'},
    {"cut: ':', front: {all: [{starts_with: a}, {ends_with: b}], min_length: 3}", "\"ab:\"", 'F', 'F'},
    {"cut: ':', front: {matches: a, anchor: anywhere}", "\"xax:\"", 'T', 'T'},
    {"cut: ':', front: {matches: a, anchor: whole}", "\"xax:\"", 'F', 'F'},
    {"cut: ':', rest: {cut: ':', front: {equals: b}, rest: {equals: c}}", "\"a:b:c\"", 'T', 'T'},
    {"cut: ':', rest: {cut: ':', front: {equals: b}, rest: {equals: c}}", "\"a:b\"", 'F', 'F'},
    {"cut: ':', front: {equals: '{tenant}'}", "\"acme:x\"", 'T', 'T'},
    {"cut: ':', front: {equals: '{tenant}'}", "\"other:x\"", 'F', 'F'},
    {"cut: ':', front: {equals: a}, max_length: 3", "\"a:bc\"", 'F', 'F'},
    {"cut: ':', front: {equals: a}, decode: [percent]", "\"a%3Ab\"", 'T', 'F'},
    {"cut: ':', front: {cidr: 10.0.0.0/8}", "\"x:80\"", 'U', 'U'},
    {"cut: ':', front: {cidr: 10.0.0.0/8}, rest: {equals: '80'}", "\"x:81\"", 'F', 'F'},
};

TEST_CASE(test_rows)
{
    CHECK(rows);
}

#define RULE(condition) \
    "policy: p\nrules:\n  - {id: r, effect: permit, match: {upstreams: [u], tools: [t]}, when: [{arg: v, " condition "}]}\n"

TEST_CASE(test_faults)
{
    static const struct {
        const char *text, *words;
    } faulty[] = {
        {RULE("cut: ':'"), "`cut` alone asks nothing"},
        {RULE("cut: '::', front: {equals: a}"), "cut at one character"},
        {RULE("cut: '', front: {equals: a}"), "cut at one character"},
        {RULE("cut: 5, front: {equals: a}"), "write a string"},
        {RULE("equals: a, front: {equals: a}"), "`front` is a part of a text that is cut in two"},
        {RULE("equals: a, rest: {equals: a}"), "`rest` is a part of a text that is cut in two"},
        {RULE("cut: ':', front: a"), "write a map"},
        {RULE("cut: ':', front: {}"), "asks nothing of the text"},
        {RULE("cut: ':', front: {arg: x, equals: a}"), "a condition of one text knows no `arg`"},
        {RULE("cut: ':', front: {min: 5}"), "`min` asks nothing of a text"},
        {RULE("cut: ':', front: {exists: true}"), "`exists` asks nothing of a text"},
        {RULE("cut: ':', front: {is: string}"), "`is` asks nothing of a text"},
        {RULE("cut: ':', front: {equals: a, anchor: whole}"), "`anchor` belongs to"},
        {RULE("cut: ':', front: {equals: a, rest: {equals: b}}"), "`rest` is a part"},
        {RULE("cut: ':', front: {any: []}"), "an empty `any` says nothing"},
        {RULE("cut: ':', front: {not: a}"), "write a map"},
        {RULE("cut: ':', front: {matches: '('}"), "not usable"},
        {RULE("cut: ':', front: {matches: '(a+)+$'}"), "cost explodes"},
    };
    static struct faults faults;

    for (size_t i = 0; i < sizeof faulty / sizeof *faulty; i++) {
        struct policy *policy;

        if (compile_text(faulty[i].text, &policy, &faults, NULL) != CODE_INVALID || faults.count != 1 ||
            strstr(faults.fault[0].text, faulty[i].words) == NULL)
            fail_msg("%s: %zu faults, wanted `%s`, got `%s`", faulty[i].text, faults.count, faulty[i].words, faults.fault[0].text);
    }
}

TEST_MAIN(NULL, NULL)
