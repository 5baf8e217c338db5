/* SPDX-License-Identifier: Apache-2.0 */
/* Any JSON as arguments, under a policy with every operator: a permit, a forbid and a require_approval that ask the same
 * must agree as the language says they do. */
#include "base/bug.h"
#include "judgement/judgement.h"
#include "language/language.h"
#include "policy/policy.h"

#include <stdio.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static const char *const conditions[] = {
    "{arg: '$..*', matches: 'a+b'}", "{arg: '$..*', contains: a}", "{arg: '$[*].a', max: 5}",
    "{arg: '$.a[*].b', is: integer}",
    "{arg: a, in: [1, x, null, [2]]}", "{arg: '$.a[-1]', equals: {b: [1]}}", "{arg: '$.a[1:3]', min_length: 2}",
    "{arg: '$[\"a\",\"b\"]', glob: 'a*?b'}", "{arg: '$.b[::-2]', max_items: 2}", "{arg: '$..a', exists: true}",
    "{arg: '$..b..a', starts_with: a, ends_with: b}", "{arg: '$..*', max_length: 3, is: string}",
    "{arg: b, not_matches: 'x.y'}",
    "{any: [{arg: a, min: 1}, {not: {arg: b, matches: '(?i)k'}}]}", "{all: [{arg: a, max: 9}, {not: {arg: '$.b[*]', min: 2}}]}",
    "{arg: '$', min_items: 1}",
    "{arg: '$..*', contains: drop, decode: [percent, base64, unicode, html, json]}",
    "{arg: '$..*', keys: true, equals: a, decode: [json, html]}", "{arg: '$.a[*].b', keys: true, max_length: 2}",
    "{arg: a, in: [x, /b], decode: [percent], under: [/b, /c/d], not_matches: 'y'}", "{arg: '$..*', under: /a/b}",
    "{arg: '$..*', path: [{under: [/a, '/{tenant}', .], not_under: [/a/b, b], below: 1+, hidden: [.c],"
    " none_of: [card, 'd*'], without: ':k'}, {under: /a, names: 'x*', endings: .c, letters: plain}]}",
    "{arg: '$..*', cut: ':', front: {not: {in: [a, '{tenant}']}, max_length: 9},"
    " rest: {any: [{path: {under: .}}, {cut: a, rest: {matches: 'x+'}}]}}",
    "{arg: '$..*', url: {path: {under: /a, hidden: any}, query: none}}",
    "{arg: '$..*', url: {schemes: [https, s3], hosts: ['*.a.b', '[::1]', 10.0.0.1], ports: [443, 8443]}}",
    "{arg: '$..a', url: {hosts: ['*']}}",
    "{arg: '$..*', sql: {statements: [select], tables: ['*'], functions: ['a*']}}", "{arg: '$..*', cidr: [10.0.0.0/8, '2001:db8::/33']}",
    "{arg: '$..*', format: date-time}", "{arg: '$..b', format: email}",
    "{arg: '$..*', glob: '{principal}*', ends_with: 'a{tenant}'}", "{arg: '$..*', under: ['/{principal}', '/{{tenant}}/b']}",
    "{arg: a, in: [x, '{tenant}', 1]}",
    "{arg: '$..*', free_of: hidden, decode: [percent, html]}",
    "{arg: '$..*', detect: [card, name, seen], decode: [base64]}", "{arg: '$..*', keys: true, detect: seen}",
    "{arg: '$..*', contains: drop, joined: true, decode: [hex, base64_inside, homoglyph]}",
    "{arg: '$..*', keys: true, joined: true, equals: ab, decode: [base64, hex]}", "{arg: '$.a[*]', joined: true, max_length: 3}",
    "{claim: '$.a.b[*].a', equals: 1}", "{claim: '$..*', contains: a, decode: [base64, json]}",
};

#define CONDITIONS (sizeof conditions / sizeof *conditions)

static struct policy *policies[CONDITIONS];
static struct policy_scratch *scratch;

/* Rules that differ in effect and in one `not`; the tool picks the rule. */
static void make_policy(size_t at)
{
    static struct faults faults;
    char text[4096];
    struct policy_file file = {.path = SPAN_LIT("fuzz.yaml")};
    int size = snprintf(text, sizeof text,
                        "policy: p\ndetectors:\n"
                        "  card: {pattern: '\\d{4}(?: ?\\d){9,18}', literals: ['\\b\\d\\d\\d\\d'], check: payment_card, finds: [x]}\n"
                        "  name: {pattern: '[a-z]{1,9}@[a-z]+', literals: ['@\\l'], before: 9, check: mixed, finds: [x]}\n"
                        "  seen: {pattern: '[\\x{200b}-\\x{200f}]+', literals: ['\\xe2\\x80'], check: hidden, finds: [x]}\n"
                        "rules:\n"
                        "  - {id: permit, effect: permit, match: {tools: [permit]}, when: [%s]}\n"
                        "  - {id: permit-not-not, effect: permit, match: {tools: [permit-not-not]}, when: [{not: {not: %s}}]}\n"
                        "  - {id: permit-not, effect: permit, match: {tools: [permit-not]}, when: [{not: %s}]}\n"
                        "  - {id: hold, effect: require_approval, match: {tools: [hold]}, when: [%s]}\n"
                        "  - {id: forbid, effect: forbid, match: {tools: [forbid]}, when: [%s]}\n"
                        "  - {id: forbid-not-not, effect: forbid, match: {tools: [forbid-not-not]}, when: [{not: {not: %s}}]}\n"
                        "redact: [{args: ['$..a', '$.b[*]']}]\n",
                        conditions[at], conditions[at], conditions[at], conditions[at], conditions[at], conditions[at]);

    BUG_ON(size < 0 || size >= (int)sizeof text);
    file.text = span_of(text, (size_t)size);
    faults_init(&faults);
    BUG_ON(policy_compile(&file, 1, 1, &policies[at], &faults, NULL) != CODE_OK);
}

static bool applies(const struct policy *policy, const char *tool, const struct json_node *root)
{
    static struct verdict verdict;
    struct question question = {.tenant = SPAN_LIT("t"), .principal = SPAN_LIT("p"), .upstream = SPAN_LIT("u"),
                                .method = SPAN_LIT("tools/call"), .tool = span_text(tool), .root = root, .claims = root};

    policy_eval(policy, &question, false, scratch, &verdict);
    BUG_ON(verdict.reason == REASON_MEMORY || verdict.reason == REASON_TOO_COSTLY);
    for (uint32_t i = 1; i < verdict.redact_count; i++)
        BUG_ON(verdict.redact[i - 1]->raw.at + verdict.redact[i - 1]->raw.len > verdict.redact[i]->raw.at);
    return verdict.rule.at != NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    const struct json_node *root = NULL;
    struct json_fault fault;
    struct arena arena;
    struct buf out;

    if (scratch == NULL) {
        BUG_ON(policy_scratch_new(&scratch) != CODE_OK);
        for (size_t i = 0; i < CONDITIONS; i++)
            make_policy(i);
    }
    if (len > 65536)
        return 0;
    arena_init(&arena, 64 << 20);
    buf_init(&out, 1 << 20);
    if (json_read(span_of(bytes, len), &json_request_rules, &out, &arena, &root, &fault) == CODE_OK)
        for (size_t i = 0; i < CONDITIONS; i++) {
            const struct policy *policy = policies[i];

            /* Two nots change nothing; forbid and require_approval close alike; nothing opens both ways. */
            BUG_ON(applies(policy, "permit", root) != applies(policy, "permit-not-not", root));
            BUG_ON(applies(policy, "forbid", root) != applies(policy, "forbid-not-not", root));
            BUG_ON(applies(policy, "forbid", root) != applies(policy, "hold", root));
            BUG_ON(applies(policy, "permit", root) && applies(policy, "permit-not", root));
        }
    buf_fini(&out);
    arena_fini(&arena);
    return 0;
}
