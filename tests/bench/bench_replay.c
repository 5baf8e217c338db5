/* SPDX-License-Identifier: Apache-2.0 */
/* 2.5: how many recorded calls a second a policy can be replayed over.
 *
 * usage: bench_replay [CALLS [FOLDER]]
 * Writes an audit of that many calls (1,000,000 by default, each with its outcome), replays a policy of which three rules
 * concern each call, and prints one JSON object: calls a second on one thread, on all cores, and in order under a policy
 * with a limit and a sequence. Removes the file. */
#include "audit/writer.h"
#include "past/replay.h"
#include "os/clock.h"
#include "os/thread.h"
#include "language/language.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define WAVE 2048 /* calls that are put before the last of them is waited for */

static const char policy_text[] =
    "policy: bench\n"
    "rules:\n"
    "  - {id: a, effect: permit, match: {upstreams: [shop], tools: ['search_*']},\n"
    "     when: [{arg: limit, is: integer, max: 100, optional: true}, {arg: query, max_length: 200}], only_args: [query, limit]}\n"
    "  - {id: b, effect: forbid, match: {tools: ['*']}, when: [{arg: '$..*', matches: '(?i)drop table'}]}\n"
    "  - {id: c, effect: forbid, match: {tenants: ['t-1*']}, when: [{arg: query, starts_with: secret}]}\n";

/* All of it holds for every call, so that none flips. */
static const char ordered_text[] =
    "policy: bench\n"
    "rules:\n"
    "  - {id: a, effect: permit, match: {upstreams: [shop], tools: ['search_*']}, only_args: [query, limit],\n"
    "     limit: {calls: 1000000, per: hour, by: [tenant, tool]}}\n"
    "  - {id: b, effect: forbid, match: {tools: ['*']}, when: [{session: {called: [read_secret], within: 10min}}]}\n";

static void die(const char *what)
{
    (void)fprintf(stderr, "bench_replay: %s\n", what);
    exit(3);
}

static uint64_t put(struct audit_ring *ring, unsigned long number)
{
    static char correlation[48], tenant[16], tool[24], arguments[256];
    struct audit_decision call = {
        .time_us = 1700000000000000 + (int64_t)number * 1000, .principal = SPAN_LIT("shop-bot"),
        .authentication = SPAN_LIT("api_key"), .client = SPAN_LIT("10.11.12.13"), .session = SPAN_LIT("abc.2025-06-18.mac"),
        .upstream = SPAN_LIT("shop"), .dialect = SPAN_LIT("mcp"), .protocol_version = SPAN_LIT("2025-06-18"),
        .direction = SPAN_LIT("agent"), .method = SPAN_LIT("tools/call"), .rpc_id = SPAN_LIT("17"),
        .body = SPAN_LIT("{\"jsonrpc\":\"2.0\",\"id\":17,\"method\":\"tools/call\"}"),
        .verdict = AUDIT_PERMIT, .reason = REASON_PERMITTED, .rule = SPAN_LIT("a"),
        .rules = SPAN_LIT("[{\"id\":\"a\",\"effect\":\"permit\",\"monitor\":false}]"), .policy_version = 1, .judge_us = 4,
        .policy_hash = SPAN_LIT("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"), .expects_outcome = true,
    };
    uint64_t ticket;
    enum code code;

    (void)snprintf(correlation, sizeof correlation, "%08x-0000-4000-8000-%012lx", (unsigned)number * 2654435761u, number);
    (void)snprintf(tenant, sizeof tenant, "t-%lu", number % 50);
    (void)snprintf(tool, sizeof tool, "search_%lu", number % 20);
    (void)snprintf(arguments, sizeof arguments, "{\"query\":\"lamp number %lu with a long cord\",\"limit\":%lu}", number,
                   number % 101);
    call.correlation = span_text(correlation);
    call.tenant = span_text(tenant);
    call.tool = span_text(tool);
    call.arguments = span_text(arguments);
    while ((code = audit_put_decision(ring, &call, &ticket)) == CODE_BUSY)
        (void)usleep(50);
    if (code != CODE_OK)
        die("the audit takes no row");
    return ticket;
}

static void answer(struct audit_ring *ring, uint64_t ticket)
{
    const struct audit_result result = {
        .time_us = clock_wall_us(), .outcome = OUTCOME_RESULT, .reason = REASON_COMPLETED, .status = 200,
        .response_bytes = 512, .latency_us = 1000, .upstream_us = 800, .ticket = ticket,
    };

    audit_put_result(ring, &result);
}

static void fill(const char *path, unsigned long calls)
{
    const struct audit_conf conf = {.path = path, .rings = 1, .node = "bench", .version = SPAN_LIT("0")};
    struct why why = {""};
    struct audit *audit;
    struct audit_ring *ring;
    uint64_t ticket = 0, seq;

    if (audit_open(&conf, &audit, &why) != CODE_OK || audit_start(audit, &why) != CODE_OK)
        die(why.text);
    ring = audit_ring(audit, 0);
    for (unsigned long i = 0; i < calls; i++) {
        ticket = put(ring, i);
        answer(ring, ticket);
        while (i % WAVE == 0 && audit_fate(ring, ticket, &seq) == AUDIT_WAITING)
            (void)usleep(100);
    }
    while (audit_fate(ring, ticket, &seq) == AUDIT_WAITING)
        (void)usleep(100);
    audit_close(&audit);
}

static double replay(char *path, const struct policy *policy, unsigned threads, unsigned long calls)
{
    struct trail_file only = {.path = path};
    const struct trail trail = {.files = &only, .count = 1};
    const struct replay_conf conf = {.trail = &trail, .policy = policy, .threads = threads};
    int64_t began_us = clock_monotonic_us();
    struct replay_sum sum;
    struct why why = {""};

    if (replay_run(&conf, &sum, &why) != CODE_OK)
        die(why.text);
    if (sum.fates[REPLAY_SAME] != calls)
        die("not every call kept its verdict");
    return (double)sum.calls * 1e6 / (double)(clock_monotonic_us() - began_us);
}

static struct policy *compile(const char *text)
{
    const struct policy_file file = {SPAN_LIT("bench.yaml"), span_text(text)};
    struct policy *policy;
    struct faults faults;

    faults_init(&faults);
    if (policy_compile(&file, 1, 1, &policy, &faults, NULL) != CODE_OK)
        die(faults.fault[0].text);
    return policy;
}

int main(int argc, char **argv)
{
    unsigned long calls = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000000;
    struct policy *policy = compile(policy_text), *ordered = compile(ordered_text);
    char path[256], beside[300];
    double one, all, in_order;

    (void)snprintf(path, sizeof path, "%s/bench-replay.db", argc > 2 ? argv[2] : ".");
    (void)unlink(path);
    fill(path, calls);
    one = replay(path, policy, 1, calls);
    all = replay(path, policy, thread_cores(), calls);
    in_order = replay(path, ordered, thread_cores(), calls);
    (void)printf("{\"calls\":%lu,\"calls_per_s_one_thread\":%.0f,\"threads\":%u,\"calls_per_s\":%.0f,"
                 "\"calls_per_s_in_order\":%.0f}\n", calls, one, thread_cores(), all, in_order);
    policy_unref(&policy);
    policy_unref(&ordered);
    for (size_t i = 0; i < 5; i++) {
        static const char *const tails[] = {"", "-wal", "-shm", ".lock", ".heads"};

        (void)snprintf(beside, sizeof beside, "%s%s", path, tails[i]);
        (void)unlink(beside);
    }
    return 0;
}
