/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a large audit.db with the gate's own writer, for measuring what asks it: many tenants of unequal size, tools, agents,
 * four calls to a correlation, some denied, some held, some failing.
 *
 * usage: fill_audit DATABASE CALLS [MIB [KEY]]
 * MIB: a file is sealed at that size, and has its indices at the end. KEY: PEM, by which checkpoints are signed as a gate does;
 * then the last call is made now.
 * A call every 20 ms from 2026-01-01 on; the same calls each time, but for salts and hashes. */
#include "rows/indices.h"
#include "files/trail.h"
#include "audit/writer.h"
#include "os/clock.h"
#include "os/file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define BEGIN_US 1767225600000000
#define STEP_US 20000

static int64_t begin_us = BEGIN_US;
static uint64_t random_state = 88172645463325252u;

static uint64_t next_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

/* Small numbers more often: the tenant 0 has about half of all calls. */
static unsigned skewed(unsigned count)
{
    unsigned at = 0;

    for (uint64_t bits = next_random(); (bits & 1) != 0 && at + 1 < count; bits >>= 1)
        at++;
    return at < 8 ? at : 8 + (unsigned)(next_random() % (count - 8));
}

static void nap(void)
{
    (void)nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
}

static void put(struct audit_ring *ring, uint64_t i)
{
    char tenant[24], principal[24], tool[24], correlation[40], rule[32], arguments[160];
    unsigned kind = (unsigned)(next_random() % 100), t = skewed(50), u = (unsigned)(next_random() % 40);
    struct audit_decision decision = {
        .time_us = begin_us + (int64_t)i * STEP_US, .authentication = SPAN_LIT("api_key"), .client = SPAN_LIT("10.11.12.13"),
        .session = SPAN_LIT("abc.2025-06-18.mac"), .upstream = SPAN_LIT("shop"), .dialect = SPAN_LIT("mcp"),
        .protocol_version = SPAN_LIT("2025-06-18"), .direction = SPAN_LIT("agent"), .method = SPAN_LIT("tools/call"),
        .rpc_id = SPAN_LIT("17"), .body = SPAN_LIT("{\"jsonrpc\":\"2.0\",\"id\":17,\"method\":\"tools/call\"}"),
        .rules = SPAN_LIT("[{\"id\":\"shop.search\",\"effect\":\"permit\",\"monitor\":false}]"), .policy_version = 7,
        .policy_hash = SPAN_LIT("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"), .judge_us = 4,
    };
    struct audit_result result = {
        .time_us = decision.time_us + 1500, .outcome = kind > 90 ? OUTCOME_TOOL_ERROR : OUTCOME_RESULT,
        .reason = REASON_COMPLETED, .status = 200, .response_bytes = 512, .latency_us = (int64_t)(400 + next_random() % 90000),
        .upstream_us = 300,
    };
    enum code code;

    (void)snprintf(tenant, sizeof tenant, "tenant-%u", t);
    (void)snprintf(principal, sizeof principal, "bot-%u-%u", t, u % 7);
    (void)snprintf(tool, sizeof tool, "tool_%u", u);
    (void)snprintf(correlation, sizeof correlation, "c-%016" PRIx64, (i / 4) * 0x9e3779b97f4a7c15u);
    (void)snprintf(rule, sizeof rule, "shop.rule-%u", u % 12);
    (void)snprintf(arguments, sizeof arguments, "{\"query\":\"lamp %u with a long cord\",\"limit\":%u,\"path\":\"/data/%u\"}",
                   (unsigned)(next_random() % 100000), u, t);
    decision.tenant = span_text(tenant);
    decision.principal = span_text(principal);
    decision.tool = span_text(tool);
    decision.correlation = span_text(correlation);
    decision.rule = span_text(rule);
    decision.arguments = span_text(arguments);
    decision.verdict = kind < 5 ? AUDIT_DENY : kind < 6 ? AUDIT_HOLD : AUDIT_PERMIT;
    decision.reason = kind < 5 ? REASON_FORBIDDEN : kind < 6 ? REASON_APPROVAL_REQUIRED : REASON_PERMITTED;
    decision.expects_outcome = decision.verdict == AUDIT_PERMIT;
    decision.status = decision.expects_outcome ? 0 : 403;
    while ((code = audit_put_decision(ring, &decision, &result.ticket)) == CODE_BUSY)
        nap();
    if (code != CODE_OK) {
        (void)fprintf(stderr, "fill_audit: %s\n", code_text(code));
        exit(1);
    }
    if (decision.expects_outcome)
        audit_put_result(ring, &result);
}

static int index_sealed(const char *path)
{
    struct trail trail;
    struct why why = {""};
    enum code code = trail_find(path, true, &trail, &why);

    for (size_t i = 0; i + 1 < trail.count && code == CODE_OK; i++)
        code = indices_build(trail.files[i].path, NULL, &why);
    trail_fini(&trail);
    if (code != CODE_OK)
        (void)fprintf(stderr, "fill_audit: %s\n", why.text);
    return code == CODE_OK ? 0 : 1;
}

static struct sign_key *read_key(const char *path)
{
    struct sign_key *key = NULL;
    struct why why = {""};
    struct buf pem;

    buf_init(&pem, 65536);
    if (file_read(path, FILE_ANY, 65536, &pem, &why) != CODE_OK || sign_key_read(buf_peek(&pem), &key) != CODE_OK) {
        (void)fprintf(stderr, "fill_audit: %s: no key: %s\n", path, why.text);
        exit(1);
    }
    buf_fini(&pem);
    return key;
}

int main(int argc, char **argv)
{
    char heads[4096];
    struct audit_conf conf = {.rings = 1, .node = "node-1", .version = SPAN_LIT("bench")};
    struct why why = {""};
    struct audit *audit;

    if (argc < 3 || argc > 5) {
        (void)fprintf(stderr, "usage: fill_audit DATABASE CALLS [MIB [KEY]]\n");
        return 2;
    }
    conf.path = argv[1];
    conf.rotate_bytes = argc >= 4 ? strtoull(argv[3], NULL, 10) << 20 : 0;
    if (argc == 5) {
        (void)snprintf(heads, sizeof heads, "%s.heads", argv[1]);
        conf.checkpoints.key = read_key(argv[4]);
        conf.checkpoints.file = heads;
        begin_us = clock_wall_us() - (int64_t)strtoull(argv[2], NULL, 10) * STEP_US;
    }
    if (audit_open(&conf, &audit, &why) != CODE_OK || audit_start(audit, &why) != CODE_OK) {
        (void)fprintf(stderr, "fill_audit: %s\n", why.text);
        return 1;
    }
    for (uint64_t i = 0, calls = strtoull(argv[2], NULL, 10); i < calls; i++)
        put(audit_ring(audit, 0), i);
    audit_close(&audit);
    return index_sealed(argv[1]);
}
