/* SPDX-License-Identifier: Apache-2.0 */
/* 2.12: our evaluation of the calls that the other engines are asked, and what a large set costs in time and memory.
 *
 * usage: bench_judge POLICY CALLS ROUNDS    one JSON object a line in CALLS: {"tool": ..., "arguments": {...}}
 *        bench_judge --memory RULES         bytes that a compiled set of so many rules takes, and its milliseconds
 *        bench_judge --worst                the dearest of hostile patterns (accepted by `slow_regex: allow`) on 4 MiB values
 * Prints one JSON object: the verdicts, the median nanoseconds of an evaluation, and of reading the JSON and evaluating. */
#include "base/mem.h"
#include "os/clock.h"
#include "judgement/judgement.h"
#include "language/language.h"
#include "policy/policy.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CALLS_MAX 64
#define TOGETHER 16 /* evaluations between two looks at the clock, which itself costs 25 ns */

struct call {
    struct buf bytes;
    struct arena arena;
    const struct json_node *root;
    struct span line;
};

struct bench {
    struct policy *policy;
    struct policy_scratch *scratch;
    struct call calls[CALLS_MAX];
    int count;
    double *samples;
};

static int64_t now_ns(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static struct span read_file(const char *path)
{
    FILE *file = fopen(path, "r");
    char *text = malloc(1 << 20);
    size_t len;

    if (file == NULL || text == NULL)
        exit(3);
    len = fread(text, 1, 1 << 20, file);
    (void)fclose(file);
    return span_of(text, len);
}

static struct policy *compile(const char *path, struct span text)
{
    static struct faults faults;
    struct policy_file file = {span_text(path), text};
    struct policy *policy;

    faults_init(&faults);
    if (policy_compile(&file, 1, 1, &policy, &faults, NULL) != CODE_OK)
        exit(2);
    return policy;
}

static void read_call(struct call *call)
{
    struct json_fault fault;

    buf_clear(&call->bytes);
    arena_reset(&call->arena);
    if (json_read(call->line, &json_request_rules, &call->bytes, &call->arena, &call->root, &fault) != CODE_OK)
        exit(2);
}

static bool judge(struct bench *bench, const struct call *call)
{
    static struct verdict verdict;
    struct question question = {
        .tenant = SPAN_LIT("acme"), .principal = SPAN_LIT("bot"), .upstream = SPAN_LIT("shop"), .method = SPAN_LIT("tools/call"),
        .tool = json_at(call->root, "tool", NULL)->text, .root = json_at(call->root, "arguments", NULL),
    };

    policy_eval(bench->policy, &question, true, bench->scratch, &verdict);
    return verdict.kind == VERDICT_PERMIT;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median_ns(struct bench *bench, int rounds, bool reads)
{
    int samples = 0;

    for (int round = 0; round < rounds; round++)
        for (int at = 0; at < bench->count; at++) {
            int64_t begin = now_ns();

            for (int i = 0; i < TOGETHER; i++) {
                if (reads)
                    read_call(&bench->calls[at]);
                (void)judge(bench, &bench->calls[at]);
            }
            bench->samples[samples++] = (double)(now_ns() - begin) / TOGETHER;
        }
    qsort(bench->samples, (size_t)samples, sizeof bench->samples[0], by_size);
    return bench->samples[samples / 2];
}

static void load_calls(struct bench *bench, const char *path)
{
    struct span rest = read_file(path);

    while (rest.len > 0 && bench->count < CALLS_MAX) {
        struct call *call = &bench->calls[bench->count];

        call->line = span_cut(rest, '\n', &rest);
        if (call->line.len == 0)
            continue;
        bench->count++;
        buf_init(&call->bytes, 1 << 20);
        arena_init(&call->arena, 1 << 20);
        read_call(call);
    }
}

static int measure(const char *policy, const char *calls, int rounds)
{
    static struct bench bench;

    bench.policy = compile(policy, read_file(policy));
    load_calls(&bench, calls);
    bench.samples = calloc((size_t)rounds * CALLS_MAX, sizeof bench.samples[0]);
    if (bench.samples == NULL || policy_scratch_new(&bench.scratch) != CODE_OK)
        return 3;
    printf("{\"verdicts\": [");
    for (int at = 0; at < bench.count; at++)
        printf("%s%s", at > 0 ? ", " : "", judge(&bench, &bench.calls[at]) ? "true" : "false");
    printf("], \"p50_ns\": %.0f, ", median_ns(&bench, rounds, false));
    printf("\"p50_with_reading_ns\": %.0f}\n", median_ns(&bench, rounds, true));
    return 0;
}

static int weigh(int rules)
{
    size_t size = 64 + (size_t)rules * 200, at, before;
    char *text = malloc(size);
    int64_t begin;
    double compile_ms;

    if (text == NULL)
        return 3;
    at = (size_t)snprintf(text, size, "policy: bench\nrules:\n");
    for (int i = 0; i < rules; i++)
        at += (size_t)snprintf(text + at, size - at,
                               "  - {id: r%d, effect: permit, match: {upstreams: [shop], tools: [tool_%d]}, "
                               "when: [{arg: limit, is: integer, max: %d, optional: true}, {arg: query, matches: '[a-z%d]+'}]}\n",
                               i, i, i, i % 10);
    before = mallinfo2().uordblks + mallinfo2().hblkhd;
    begin = clock_thread_cpu_us();
    (void)compile("bench.yaml", span_of(text, at));
    compile_ms = (double)(clock_thread_cpu_us() - begin) / 1000;
    printf("{\"rules\": %d, \"bytes\": %zu, \"compile_ms\": %.1f}\n", rules,
           mallinfo2().uordblks + mallinfo2().hblkhd - before, compile_ms);
    return 0;
}

/* Over and over, with blanks where no whole one fits. */
static void fill(char *at, size_t size, const char *piece)
{
    size_t len = strlen(piece), used;

    for (used = 0; used + len <= size; used += len)
        memcpy(at + used, piece, len);
    memset(at + used, ' ', size - used);
}

/* Each in a forbid of its own; a call that cannot be judged within the budget must be denied. */
static int judge_hostile(void)
{
    static const char *const patterns[] = {
        "(a+)+$", "(a|aa)+$", "(a*)*b", "^(([a-z])+.)+[A-Z]([a-z])+$", "(\\s*\\w+\\s*)*x", "\\s++\\d", "(.*)*=.*", "(?:a?){40}a{40}",
        "(x+x+)+y", "^(.*?,){40}P", "a*a*a*a*a*a*b", "(?i)(ſ|s)+k",
        "(?i)s++\\d", "\\p{L}++\\d", "[\\p{L}\\p{N}_]++!!", "[^é]*é\\d", "\\w++é",
    };
    static const char *const fills[] = {"a", " ", "x", ",", "s", "é", "s日"}; /* those with others than ASCII are matched as UTF-8 */
    size_t size = (size_t)4 << 20, judged = 0, denied = 0;
    char *value = malloc(size + 32);
    double worst_ms = 0;

    if (value == NULL)
        return 3;
    for (size_t p = 0; p < sizeof patterns / sizeof patterns[0]; p++)
        for (size_t f = 0; f < sizeof fills / sizeof fills[0]; f++) {
            static struct verdict verdict;
            char text[512];
            struct call call = {.line = SPAN_NONE};
            struct question question = {.tenant = SPAN_LIT("t"), .principal = SPAN_LIT("p"), .upstream = SPAN_LIT("u"),
                                        .method = SPAN_LIT("tools/call"), .tool = SPAN_LIT("x")};
            struct policy_scratch *scratch;
            struct policy *policy;
            int64_t begin;
            double took_ms;

            (void)snprintf(text, sizeof text, "policy: p\nrules:\n  - {id: a, effect: permit, match: {tools: [x]}}\n"
                           "  - {id: b, effect: forbid, slow_regex: allow, match: {tools: [x]}, when: [{arg: v, matches: '%s'}]}\n",
                           patterns[p]);
            policy = compile("hostile.yaml", span_text(text));
            memcpy(value, "{\"v\":\"", 6);
            fill(value + 6, size - 64, fills[f]);
            memcpy(value + 6 + size - 64, "!\"}", 4);
            call.line = span_text(value);
            buf_init(&call.bytes, size * 2);
            arena_init(&call.arena, size * 2);
            read_call(&call);
            question.root = call.root;
            if (policy_scratch_new(&scratch) != CODE_OK)
                return 3;
            begin = clock_thread_cpu_us();
            policy_eval(policy, &question, true, scratch, &verdict);
            took_ms = (double)(clock_thread_cpu_us() - begin) / 1000;
            worst_ms = took_ms > worst_ms ? took_ms : worst_ms;
            judged++;
            denied += verdict.kind != VERDICT_PERMIT;
            policy_scratch_free(&scratch);
            policy_unref(&policy);
            buf_fini(&call.bytes);
            arena_fini(&call.arena);
        }
    printf("{\"judged\": %zu, \"denied\": %zu, \"worst_ms\": %.1f}\n", judged, denied, worst_ms);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--memory") == 0)
        return weigh((int)strtol(argv[2], NULL, 10));
    if (argc == 2 && strcmp(argv[1], "--worst") == 0)
        return judge_hostile();
    if (argc != 4)
        return 2;
    return measure(argv[1], argv[2], (int)strtol(argv[3], NULL, 10));
}
