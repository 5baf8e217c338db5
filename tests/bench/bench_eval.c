/* SPDX-License-Identifier: Apache-2.0 */
/* 1.34: what judging costs with 10 rules and with 10,000, for calls that concern three of them.
 *
 * usage: bench_eval [ROUNDS]
 * Prints one JSON object: nanoseconds a call (the least of the rounds), warm and with names never seen before, the ratio,
 * and how long the set took to compile. */
#include "base/mem.h"
#include "os/clock.h"
#include "judgement/judgement.h"
#include "language/language.h"
#include "policy/policy.h"

#include <stdio.h>
#include <stdlib.h>

#define CALLS 100000

struct result {
    double warm_ns, cold_ns, compile_ms;
};

static char *write_rules(int count)
{
    size_t size = 1024 + (size_t)count * 200, at;
    char *text = malloc(size);

    if (text == NULL)
        abort();
    at = (size_t)snprintf(text, size,
                          "policy: bench\nrules:\n"
                          "  - {id: a, effect: permit, match: {upstreams: [shop], tools: [search]},\n"
                          "     when: [{arg: limit, is: integer, max: 100, optional: true}]}\n"
                          "  - {id: b, effect: forbid, match: {tools: ['*']},\n"
                          "     when: [{arg: '$..*', matches: '(?i)drop table'}]}\n"
                          "  - {id: c, effect: forbid, match: {tenants: [evil]}}\n");
    for (int i = 3; i < count; i++)
        at += (size_t)snprintf(text + at, size - at,
                               "  - {id: r%d, effect: permit, match: {upstreams: [shop], tools: [tool_%d]}, "
                               "when: [{arg: limit, max: %d}]}\n", i, i, i);
    return text;
}

static double time_calls(const struct policy *policy, struct policy_scratch *scratch, const struct json_node *root, bool cold)
{
    static struct verdict verdict;
    char tenant[32] = "acme";
    struct question question = {.tenant = span_text(tenant), .principal = SPAN_LIT("bot"), .upstream = SPAN_LIT("shop"),
                                .method = SPAN_LIT("tools/call"), .tool = SPAN_LIT("search"), .root = root};
    int64_t begin = clock_thread_cpu_us();

    for (int i = 0; i < CALLS; i++) {
        if (cold)
            question.tenant.len = (size_t)snprintf(tenant, sizeof tenant, "t%d", i);
        policy_eval(policy, &question, true, scratch, &verdict);
        if (verdict.kind != VERDICT_PERMIT)
            abort();
    }
    return (double)(clock_thread_cpu_us() - begin) * 1000 / CALLS;
}

static struct result measure(int rules, int rounds)
{
    static struct faults faults;
    const struct span arguments = SPAN_LIT("{\"query\":\"lamp for the desk\",\"limit\":10}");
    struct result result = {.warm_ns = 1e9, .cold_ns = 1e9};
    char *text = write_rules(rules);
    struct policy_file file = {SPAN_LIT("bench.yaml"), span_text(text)};
    struct policy_scratch *scratch;
    const struct json_node *root;
    struct json_fault fault;
    struct policy *policy;
    struct arena arena;
    struct buf out;
    int64_t begin = clock_thread_cpu_us();

    arena_init(&arena, 1 << 20);
    buf_init(&out, 1 << 20);
    faults_init(&faults);
    if (policy_compile(&file, 1, 1, &policy, &faults, NULL) != CODE_OK || policy_scratch_new(&scratch) != CODE_OK ||
        json_read(arguments, &json_request_rules, &out, &arena, &root, &fault) != CODE_OK)
        abort();
    result.compile_ms = (double)(clock_thread_cpu_us() - begin) / 1000;
    for (int i = 0; i < rounds; i++) {
        double warm = time_calls(policy, scratch, root, false), cold = time_calls(policy, scratch, root, true);

        result.warm_ns = warm < result.warm_ns ? warm : result.warm_ns;
        result.cold_ns = cold < result.cold_ns ? cold : result.cold_ns;
    }
    policy_scratch_free(&scratch);
    policy_unref(&policy);
    arena_fini(&arena);
    buf_fini(&out);
    free(text);
    return result;
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 5;
    struct result few = measure(10, rounds), many = measure(10000, rounds);

    printf("{\"rules\": [10, 10000], \"warm_ns\": [%.0f, %.0f], \"cold_ns\": [%.0f, %.0f], \"compile_ms\": [%.1f, %.1f], "
           "\"warm_ratio\": %.2f, \"cold_ratio\": %.2f}\n",
           few.warm_ns, many.warm_ns, few.cold_ns, many.cold_ns, few.compile_ms, many.compile_ms,
           many.warm_ns / few.warm_ns, many.cold_ns / few.cold_ns);
    return 0;
}
