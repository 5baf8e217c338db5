/* SPDX-License-Identifier: Apache-2.0 */
#include "fakes/audit_file.h"

#include "db/db.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void must(bool holds, const char *what, const char *why)
{
    if (holds)
        return;
    (void)fprintf(stderr, "audit_file: %s: %s\n", what, why);
    abort();
}

void audit_file_init(struct audit_file *file)
{
    const char *base = getenv("CALLGATE_TEST_FOLDER");

    int len = snprintf(file->folder, sizeof file->folder, "%s/callgate-audit-XXXXXX", base != NULL ? base : "/tmp");

    must(len > 0 && (size_t)len < sizeof file->folder, "CALLGATE_TEST_FOLDER has more than 40 bytes; give a shorter one", base);
    must(mkdtemp(file->folder) != NULL, "mkdtemp", file->folder);
    (void)snprintf(file->path, sizeof file->path, "%s/audit.db", file->folder);
}

/* With whatever a test has put beside the file. */
void audit_file_fini(struct audit_file *file)
{
    DIR *folder = opendir(file->folder);
    const struct dirent *entry;

    must(folder != NULL, "opendir", file->folder);
    while ((entry = readdir(folder)) != NULL)
        if (entry->d_name[0] != '.')
            (void)unlinkat(dirfd(folder), entry->d_name, 0);
    (void)closedir(folder);
    must(rmdir(file->folder) == 0, "rmdir", file->folder);
}

struct audit *audit_file_open(const struct audit_file *file, unsigned rings)
{
    return audit_file_open_signed(file, rings, &(struct audit_checkpoints){.key = NULL});
}

struct audit *audit_file_open_signed(const struct audit_file *file, unsigned rings, const struct audit_checkpoints *checkpoints)
{
    const struct audit_conf conf = {
        .path = file->path, .rings = rings, .node = "node-1", .version = SPAN_LIT("0.1.0"),
        .checkpoints = *checkpoints,
    };
    struct why why = {0};
    struct audit *audit;

    must(audit_open(&conf, &audit, &why) == CODE_OK, "audit_open", why.text);
    must(audit_start(audit, &why) == CODE_OK, "audit_start", why.text);
    return audit;
}

struct audit_decision audit_call(const char *tenant, const char *correlation)
{
    return (struct audit_decision){
        .time_us = 1700000000000000, .tenant = span_text(tenant), .principal = SPAN_LIT("shop-bot"),
        .authentication = SPAN_LIT("api_key"), .client = SPAN_LIT("10.11.12.13"), .session = SPAN_LIT("abc.2025-06-18.mac"),
        .correlation = span_text(correlation), .upstream = SPAN_LIT("shop"), .dialect = SPAN_LIT("mcp"),
        .protocol_version = SPAN_LIT("2025-06-18"), .direction = SPAN_LIT("agent"), .method = SPAN_LIT("tools/call"),
        .tool = SPAN_LIT("search_products"), .rpc_id = SPAN_LIT("17"),
        .arguments = SPAN_LIT("{\"query\":\"lamp\",\"limit\":10}"),
        .body = SPAN_LIT("{\"jsonrpc\":\"2.0\",\"id\":17,\"method\":\"tools/call\"}"),
        .verdict = AUDIT_PERMIT, .reason = REASON_PERMITTED, .rule = SPAN_LIT("store.search"),
        .rules = SPAN_LIT("[{\"id\":\"store.search\",\"effect\":\"permit\",\"monitor\":false}]"), .policy_version = 7,
        .policy_hash = SPAN_LIT("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"), .judge_us = 4,
        .expects_outcome = true,
    };
}

struct audit_result audit_answer(uint64_t decision)
{
    return (struct audit_result){
        .decision = decision, .time_us = 1700000000001000, .outcome = OUTCOME_RESULT, .reason = REASON_COMPLETED,
        .status = 200, .response_bytes = 512, .has_digest = true, .response_digest = {1, 2, 3}, .latency_us = 1234,
        .upstream_us = 900,
    };
}

static void nap(void)
{
    (void)nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
}

uint64_t audit_file_put(struct audit_ring *ring, const struct audit_decision *decision)
{
    uint64_t ticket;
    enum code code;

    while ((code = audit_put_decision(ring, decision, &ticket)) == CODE_BUSY)
        nap();
    must(code == CODE_OK, "audit_put_decision", code_text(code));
    return ticket;
}

enum audit_fate audit_file_wait(struct audit_ring *ring, uint64_t ticket, uint64_t *seq)
{
    enum audit_fate fate;
    int naps = 0;

    while ((fate = audit_fate(ring, ticket, seq)) == AUDIT_WAITING) {
        must(++naps < 20 * NAPS_MOST, "audit_fate", "still waiting");
        nap();
    }
    return fate;
}

static uint64_t end_call(struct audit_ring *ring, uint64_t ticket)
{
    struct audit_result answer;
    uint64_t seq;

    must(audit_file_wait(ring, ticket, &seq) == AUDIT_DURABLE, "audit_fate", "failed");
    answer = audit_answer(seq);
    audit_put_result(ring, &answer);
    return seq;
}

uint64_t audit_file_call(struct audit_ring *ring, const char *tenant, const char *correlation)
{
    const struct audit_decision decision = audit_call(tenant, correlation);

    return end_call(ring, audit_file_put(ring, &decision));
}

void audit_file_await_signed(const struct audit *audit, uint64_t seq)
{
    struct audit_gauges gauges = {.signed_seq = 0};

    for (int naps = 0; audit_gauges(audit, &gauges), gauges.signed_seq < seq; naps++) {
        must(naps < 20 * NAPS_MOST, "no checkpoint is over a row", "still waiting");
        nap();
    }
}

void audit_file_fill(struct audit_ring *ring, const struct audit_decision *kinds, size_t kind_count, size_t count)
{
    uint64_t tickets[64];
    size_t begun = 0, ended = 0;

    while (ended < count) {
        for (; begun < count && begun < ended + 64; begun++)
            tickets[begun % 64] = audit_file_put(ring, &kinds[begun % kind_count]);
        while (ended < begun)
            (void)end_call(ring, tickets[ended++ % 64]);
    }
}

const char *audit_file_ask(const struct audit_file *file, const char *sql)
{
    static char text[65536];
    struct why why = {0};
    struct db *db;
    struct db_stmt *stmt;
    struct span value;
    enum code code;

    must(db_open(file->path, DB_READ, &db, &why) == CODE_OK, "db_open", why.text);
    must(db_prepare(db, sql, &stmt) == CODE_OK, sql, db_error(db));
    code = db_step(stmt);
    must(code == CODE_OK || code == CODE_NOT_FOUND, sql, db_error(db));
    value = code == CODE_NOT_FOUND ? SPAN_LIT("none") : db_is_null(stmt, 0) ? SPAN_LIT("NULL") : db_text(stmt, 0);
    (void)snprintf(text, sizeof text, "%.*s", SPAN_ARG(value));
    db_finalize(&stmt);
    db_close(&db);
    return text;
}

long long audit_file_number(const struct audit_file *file, const char *sql)
{
    return strtoll(audit_file_ask(file, sql), NULL, 10);
}
