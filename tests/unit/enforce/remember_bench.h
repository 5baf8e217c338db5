/* SPDX-License-Identifier: Apache-2.0 */
/* A gate over an audit of its own, which is closed and started again, and calls through it.
 *
 * Threads: one.
 * Owns: struct house its folder.
 * Lifetime: open_house to close_house.
 * Errors: fail the test. */
#ifndef REMEMBER_BENCH_H
#define REMEMBER_BENCH_H

#include "enforce/remember.h"
#include "unit/enforce/call_help.h"

#include "enforce/gate_priv.h"

#include "audit/writer.h"
#include "base/mem.h"
#include "base/num.h"
#include "db/db.h"
#include "os/clock.h"
#include "os/file.h"
#include "language/language.h"
#include "fakes/cm.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MINUTE INT64_C(60000000)

static const char text[] =
    "policy: test\n"
    "rules:\n"
    "  - {id: read, effect: permit, match: {tools: [read_secret, send_mail]}, limit: {calls: 3, per: hour, by: [session, tool]}}\n"
    "  - {id: leak, effect: forbid, match: {tools: [send_mail]}, when: [{session: {called: ['read_*'], within: 2h}}]}\n"
    "  - {id: docs, effect: permit, match: {resources: ['a:*']}, limit: {calls: 1, per: day, by: [principal]}}\n"
    "  - {id: plain, effect: permit, match: {tools: [plain]}}\n"
    "  - {id: gone, effect: forbid, match: {tools: [plain], principals: [other]}}\n"
    "  - {id: pay, effect: permit, match: {tools: [pay]}, limit: [{sum: amount, at_most: 500, per: day, by: [principal]}, "
    "{sum: '$.fee[*]', at_most: 10, per: hour, by: [tenant]}, {calls: 10, per: day}]}\n"
    "  - {id: pay.large, effect: permit, match: {tools: [pay]}, when: [{arg: amount, min: 100}, {arg: amount, max: 0}]}\n"
    "  - {id: pay.small, effect: permit, mode: monitor, match: {tools: [pay]}, when: [{arg: amount, max: 10}]}\n"
    "  - {id: pay.no, effect: forbid, match: {tools: [plain]}, when: [{session: {met: [pay.small], within: 2h, by: principal}}]}\n"
    "redact:\n"
    "  - {match: {tools: [pay]}, args: [secret, '$.hidden.fee']}\n";

struct house {
    char folder[64], path[96];
    struct audit *audit;
    struct gate_shared *shared;
    struct gate *gate;
    int64_t began_us;
    struct past_place kept; /* path NULL: nothing is */
};

static inline struct policy *compile(const char *yaml)
{
    struct policy_file file = {SPAN_LIT("test.yaml"), span_text(yaml)};
    struct policy *policy;
    struct faults faults;

    faults_init(&faults);
    if (policy_compile(&file, 1, 1, &policy, &faults, NULL) != CODE_OK)
        fail_msg("%d: %s", faults.fault[0].line, faults.fault[0].text);
    return policy;
}

static inline void start(struct house *house)
{
    struct gate_shared_conf conf = {.redact_key = "redact", .session_key = "session"};
    struct audit_conf audit_conf = {
        .rings = 2, .node = "here", .version = SPAN_LIT("test"), .arguments_max_bytes = 65536, .path = house->path};
    struct why why = {0};

    if (audit_open(&audit_conf, &house->audit, &why) != CODE_OK || audit_start(house->audit, &why) != CODE_OK)
        fail_msg("%s", why.text);
    assert_int_equal(gate_shared_new(&conf, &house->shared), CODE_OK);
    assert_int_equal(gate_new(house->shared, audit_ring(house->audit, 0), &house->gate), CODE_OK);
    gate_publish_policy(house->shared, compile(text));
}

static inline void close_gate(struct house *house)
{
    gate_free(&house->gate);
    audit_close(&house->audit);
    gate_shared_free(&house->shared);
}

static inline int open_house(void **state)
{
    static struct house house;

    memset(&house, 0, sizeof house);
    snprintf(house.folder, sizeof house.folder, "/tmp/callgate-remember-XXXXXX");
    if (mkdtemp(house.folder) == NULL)
        return -1;
    snprintf(house.path, sizeof house.path, "%s/audit.db", house.folder);
    start(&house);
    *state = &house;
    return 0;
}

static inline int empty(const char *path)
{
    DIR *folder = opendir(path);
    struct dirent *entry;

    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        char file[512];

        snprintf(file, sizeof file, "%s/%s", path, entry->d_name);
        unlink(file);
    }
    closedir(folder);
    return rmdir(path);
}

static inline int close_house(void **state)
{
    struct house *house = *state;

    close_gate(house);
    return empty(house->folder);
}

static inline struct call ask(const char *method, const char *target, const char *session, int64_t ago_us)
{
    struct call message = {
        .asked.time_us = clock_wall_us() - ago_us, .read_us = clock_monotonic_us() - ago_us,
        .asked.tenant = SPAN_LIT("acme"), .asked.principal = SPAN_LIT("bot"), .who = &by_key,
        .asked.client = SPAN_LIT("192.0.2.1"), .asked.correlation = SPAN_LIT("c-1"), .asked.upstream = SPAN_LIT("shop"),
        .dialect = SPAN_LIT("mcp"), .asked.method = span_text(method), .message.id = SPAN_LIT("1"), .target = span_text(target),
        .asked.session = session ? span_text(session) : SPAN_NONE,
    };

    call_aim(&message.asked, message.target);
    return message;
}

/* Judges, records, waits, as a transport does. */
static inline enum reason make(struct house *house, struct call *call)
{
    enum reason reason;

    gate_judge(house->gate, call);
    reason = call->verdict.reason;
    assert_int_equal(gate_record(house->gate, call, 200), CODE_OK);
    for (int i = 0; i < 60000 && gate_fate(house->gate, call->ticket, &call->seq) == AUDIT_WAITING; i++)
        usleep(1000);
    assert_int_not_equal(call->seq, 0);
    gate_settle(house->gate, call);
    gate_let_go(call);
    return reason;
}

static inline void call(struct house *house, const char *tool, const char *session, int64_t ago_us, enum reason reason)
{
    struct call message = ask("tools/call", tool, session, ago_us);

    assert_string_equal(reason_name(make(house, &message)), reason_name(reason));
}

static inline uint64_t remember(struct house *house, bool again)
{
    struct remembered remembered;
    struct why why = {0};

    if (again) {
        close_gate(house);
        start(house);
    }
    if (gate_remember(house->shared, &(struct remembering){.path = house->path, .now_us = clock_wall_us(), .kept = house->kept},
                      &remembered, &why) != CODE_OK)
        fail_msg("%s", why.text);
    return remembered.calls;
}

static inline void pay(struct house *house, const char *arguments, int64_t ago_us, enum reason reason)
{
    struct call message = ask("tools/call", "pay", "s1", ago_us);
    struct json_fault fault;
    struct arena arena;
    struct buf canonical;

    arena_init(&arena, (size_t)1 << 24);
    message.arena = &arena;
    buf_init(&canonical, (size_t)1 << 24);
    assert_int_equal(json_read(span_text(arguments), &json_request_rules, &canonical, &arena, &message.asked.root, &fault), CODE_OK);
    assert_string_equal(reason_name(make(house, &message)), reason_name(reason));
    buf_fini(&canonical);
    arena_fini(&arena);
}

#endif
