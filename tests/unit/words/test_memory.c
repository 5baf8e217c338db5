/* SPDX-License-Identifier: Apache-2.0 */
/* 12.1 to 12.6: where memory ends in the middle of a word, a call is judged as ever or denied, and a file is refused as such. */
#include "unit/policy/judge.h"

#include "base/mem.h"

#define HEAD                                                                                                              \
    "policy: p\nparameters: {root: {is: folder, default: /srv/a}, ends: {is: list, of: text, default: [.c, .h]}}\n"        \
    "lists: {l: [x, {list: m}], m: [y, '{principal}']}\npaths: {f: {under: '{root}', endings: '{ends}', none_of: bad}}\n"  \
    "detectors: {bad: {pattern: 'key', finds: [key]}}\n"                                                                  \
    "kinds: {F: {path: f}, A: {any: [{equals: {arg: w}}, {cut: ':', front: {max_length: 3}, rest: {path: f}}]}}\n"

static const struct {
    const char *condition, *arguments;
} rows[] = {
    {"{arg: v, path: f}", "{\"v\":\"/srv/a/\\u00fcb/c.c\"}"},
    {"{arg: v, path: f}", "{\"v\":\"/srv/a/KE\\u212a\\u0301y.c\"}"},
    {"{arg: v, path: {under: '/srv/{tenant}', letters: plain}}", "{\"v\":\"/srv/test/b\"}"},
    {"{arg: v, words: {forms: ['ls [-{la}] [-n A] [F...]']}}", "{\"v\":[\"ls\",\"-n\",\"b\",\"/srv/a/\\u00fc.c\"],\"w\":\"b\"}"},
    {"{arg: v, words: {forms: ['ls [-{la}] [-n A] [F...]']}}", "{\"v\":[\"ls\",\"-nabc:/srv/a/b.c\",\"/srv/a/b.c\"]}"},
    {"{arg: v, words: {forms: ['ls [-{la}] [-n A] [F...]']}}", "{\"v\":[\"ls\",\"/srv/b\"]}"},
    {"{arg: v, email: {domains: ['*.{tenant}', example.com], local: '{principal}'}}", "{\"v\":\"ann@a.test, bob@example.com\"}"},
    {"{arg: v, links: true, decode: [percent, html, unicode], url: {to: public, path: {under: /a}, query: none}}",
     "{\"v\":\"a https://example.org/a/%20b &#104;ttp://10.0.0.1/a/\"}"},
    {"{arg: v, links: true, decode: [percent], url: {to: public}}", "{\"v\":\"a https://example.org/a/b\"}"},
    {"{arg: [v, w], ignore_case: true, equals: '{principal}-STRASSE'}", "{\"v\":\"x-stra\\u00dfe\",\"w\":\"X-STRASSE\"}"},
    {"{arg: v, ignore_case: true, in: {arg: w}}", "{\"v\":\"Stra\\u00dfe\",\"w\":[\"a\",\"\\u00c4\",\"STRASSE\"]}"},
    {"{arg: v, ignore_case: true, glob: '\\u00c4*{tenant}'}", "{\"v\":\"\\u00e4btest\"}"},
    {"{arg: v, ignore_case: true, not_equals: {arg: w}}", "{\"v\":\"\\u00c4\",\"w\":\"\\u00e4\"}"},
    {"{arg: v, in: {list: l}}", "{\"v\":\"y\"}"},
    {"{arg: v, is: time, min: {arg: w, plus: 1h}, max: {now: true, plus: 7d}}",
     "{\"v\":\"2026-07-06T09:30:00Z\",\"w\":\"2026-07-06T09:30:00Z\"}"},
    {"{arg: v, free_of: [hidden, line_ends, encoded_words]}", "{\"v\":\"a\\u200b\"}"},
};

static void write_policy(char *text, size_t size, size_t row, bool closes)
{
    snprintf(text, size, HEAD "rules:\n%s  - {id: r, effect: %s, match: {tools: ['*']}, when: [%s]}\n",
             closes ? "  - {id: all, effect: permit, match: {tools: ['*']}}\n" : "", closes ? "forbid" : "permit", rows[row].condition);
}

static void judge_without(const char *text, const char *arguments)
{
    struct court court;
    enum verdict_kind ever;

    court_open(&court, text);
    ever = judge_args(&court, arguments)->kind;
    for (int sticky = 0; sticky < 2; sticky++)
        for (uint64_t nth = 1; nth < 400; nth++) {
            struct question question = plain_question();
            struct policy_scratch *scratch = NULL;
            uint64_t count;

            question.root = court_tree(&court, span_text(arguments));
            assert_int_equal(policy_scratch_new(&scratch), CODE_OK); /* one that keeps no memory from the time before */
            mem_fail_at(nth, sticky);
            policy_eval(court.policy, &question, false, scratch, &court.verdict);
            count = mem_fail_count();
            mem_fail_at(0, 0);
            policy_scratch_free(&scratch);
            if (court.verdict.kind != ever && court.verdict.kind != VERDICT_DENY)
                fail_msg("%s of %s where allocation %d fails; ever %s\n%s", verdict_text(court.verdict.kind), arguments, (int)nth,
                         verdict_text(ever), text);
            if (count < nth)
                break;
        }
    assert_int_equal(judge_args(&court, arguments)->kind, ever);
    court_close(&court);
}

TEST_CASE(test_judged)
{
    char text[4096];

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int closes = 0; closes < 2; closes++) {
            write_policy(text, sizeof text, i, closes);
            judge_without(text, rows[i].arguments);
        }
}

TEST_CASE(test_compiled)
{
    char text[4096];
    struct faults faults, warnings;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int sticky = 0; sticky < 2; sticky++)
            for (uint64_t nth = 1, count = nth; count >= nth && nth < 4000; nth += 1 + nth / 16) {
                struct policy *policy = NULL;
                enum code code;

                write_policy(text, sizeof text, i, false);
                mem_fail_at(nth, sticky);
                code = compile_text(text, &policy, &faults, &warnings);
                count = mem_fail_count();
                mem_fail_at(0, 0);
                if (code != CODE_NOMEM && count >= nth)
                    print_error("code %d where allocation %d of %s fails\n", code, (int)nth, rows[i].condition);
                assert_true(code == CODE_NOMEM || code == CODE_OK);
                policy_unref(&policy);
            }
}

TEST_MAIN(NULL, NULL)
