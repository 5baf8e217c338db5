/* SPDX-License-Identifier: Apache-2.0 */
/* The audit writer alone: workers that keep a number of calls open each, every call a decision and an outcome, durable.
 *
 * usage: bench_audit [CALLS-OPEN [SECONDS [WORKERS [FOLDER [signed]]]]]
 * Prints one JSON object: rows a second, rows a commit, time from put to durable, bytes a call, and what a bare
 * fdatasync takes on the same disk. */
#include "audit/writer.h"
#include "os/clock.h"
#include "os/thread.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define OPEN_MAX_CALLS 4096
#define SAMPLES (1 << 20)

struct worker {
    struct thread thread;
    struct audit_ring *ring;
    int wake_fd;
    unsigned calls;
    unsigned number;
    int64_t until_us;
    uint64_t finished;
    uint32_t *samples;
    size_t sample_count;
};

static void poke(void *context)
{
    struct worker *worker = context;
    uint64_t one = 1;

    if (write(worker->wake_fd, &one, sizeof one) < 0)
        return;
}

static struct audit_decision call(const char *correlation)
{
    return (struct audit_decision){
        .time_us = clock_wall_us(), .tenant = SPAN_LIT("acme"), .principal = SPAN_LIT("shop-bot"),
        .authentication = SPAN_LIT("api_key"), .client = SPAN_LIT("10.11.12.13"), .session = SPAN_LIT("abc.2025-06-18.mac"),
        .correlation = span_text(correlation), .upstream = SPAN_LIT("shop"), .dialect = SPAN_LIT("mcp"),
        .protocol_version = SPAN_LIT("2025-06-18"), .direction = SPAN_LIT("agent"), .method = SPAN_LIT("tools/call"),
        .tool = SPAN_LIT("search_products"), .rpc_id = SPAN_LIT("17"),
        .arguments = SPAN_LIT("{\"query\":\"lamp with a long cord\",\"limit\":10}"),
        .body = SPAN_LIT("{\"jsonrpc\":\"2.0\",\"id\":17,\"method\":\"tools/call\",\"params\":{\"name\":\"search_products\","
                         "\"arguments\":{\"query\":\"lamp with a long cord\",\"limit\":10}}}"),
        .verdict = AUDIT_PERMIT, .reason = REASON_PERMITTED, .rule = SPAN_LIT("bench.search"),
        .rules = SPAN_LIT("[{\"id\":\"bench.search\",\"effect\":\"permit\",\"monitor\":false}]"), .policy_version = 7,
        .policy_hash = SPAN_LIT("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"), .judge_us = 4,
        .expects_outcome = true,
    };
}

/* One call after another in each of `calls` places, as connections of a proxy would. */
static void run(void *argument)
{
    struct worker *worker = argument;
    uint64_t tickets[OPEN_MAX_CALLS] = {0}, serial = 0, seq;
    int64_t began[OPEN_MAX_CALLS];
    struct pollfd watch = {.fd = worker->wake_fd, .events = POLLIN};

    for (;;) {
        bool going = clock_monotonic_us() < worker->until_us;
        unsigned open = 0;

        for (unsigned i = 0; i < worker->calls; i++) {
            char correlation[40];
            struct audit_decision decision;

            if (tickets[i] != 0 && audit_fate(worker->ring, tickets[i], &seq) != AUDIT_WAITING) {
                const struct audit_result result = {
                    .decision = seq, .time_us = clock_wall_us(), .outcome = OUTCOME_RESULT, .reason = REASON_COMPLETED,
                    .status = 200, .response_bytes = 512, .has_digest = true, .latency_us = 1000, .upstream_us = 800,
                };

                if (worker->sample_count < SAMPLES)
                    worker->samples[worker->sample_count++] = (uint32_t)(clock_monotonic_us() - began[i]);
                audit_put_result(worker->ring, &result);
                worker->finished++;
                tickets[i] = 0;
            }
            if (tickets[i] == 0 && going) {
                (void)snprintf(correlation, sizeof correlation, "%08x-%04x-4abc-8def-%012llx", (unsigned)serial * 2654435761u,
                               worker->number, (unsigned long long)serial);
                serial++;
                decision = call(correlation);
                began[i] = clock_monotonic_us();
                if (audit_put_decision(worker->ring, &decision, &tickets[i]) == CODE_DOWN)
                    exit(3);
            }
            open += tickets[i] != 0;
        }
        if (open == 0 && !going)
            return;
        (void)poll(&watch, 1, 100);
        if (read(worker->wake_fd, &seq, sizeof seq) < 0)
            continue;
    }
}

static int by_size(const void *a, const void *b)
{
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;

    return (left > right) - (left < right);
}

static double sync_ms(const char *folder)
{
    char path[256], block[4096] = {1};
    uint32_t us[64];
    int fd;

    (void)snprintf(path, sizeof path, "%s/sync.tmp", folder);
    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    for (int i = 0; i < 64; i++) {
        int64_t began = clock_monotonic_us();

        if (pwrite(fd, block, sizeof block, (i % 8) * 4096) < 0 || fdatasync(fd) != 0)
            exit(3);
        us[i] = (uint32_t)(clock_monotonic_us() - began);
    }
    (void)close(fd);
    (void)unlink(path);
    qsort(us, 64, sizeof us[0], by_size);
    return us[32] / 1000.0;
}

/* The fifth argument: checkpoints are signed. */
static struct sign_key *new_key(void)
{
    struct sign_key *key;
    struct buf pem;

    buf_init(&pem, 4096);
    if (sign_key_make(&pem) != CODE_OK || sign_key_read(buf_peek(&pem), &key) != CODE_OK)
        exit(3);
    buf_fini(&pem);
    return key;
}

int main(int argc, char **argv)
{
    unsigned calls = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 64;
    unsigned seconds = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 3;
    unsigned workers = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 2;
    const char *folder = argc > 4 ? argv[4] : ".";
    struct worker worker[16] = {0};
    struct audit_gauges gauges;
    struct audit *audit;
    struct why why = {0};
    struct stat size;
    struct rusage usage;
    char path[256];
    uint64_t finished = 0;
    uint32_t *samples = malloc(sizeof *samples * SAMPLES * 16);
    size_t count = 0;
    double sync = sync_ms(folder);

    if (workers == 0 || workers > 15 || calls == 0 || calls / workers > OPEN_MAX_CALLS || samples == NULL)
        return 2;
    (void)snprintf(path, sizeof path, "%s/bench-audit.db", folder);
    if (audit_open(&(struct audit_conf){.path = path, .rings = workers + 1, .node = "bench", .version = SPAN_LIT("0"),
                                        .checkpoints = {.key = argc > 5 ? new_key() : NULL, .file = "/dev/null"}},
                   &audit, &why) != CODE_OK) {
        (void)fprintf(stderr, "bench_audit: %s\n", why.text);
        return 3;
    }
    for (unsigned i = 0; i < workers; i++) {
        worker[i] = (struct worker){.ring = audit_ring(audit, i), .wake_fd = eventfd(0, EFD_NONBLOCK), .number = i,
                                    .calls = (calls + workers - 1 - i) / workers, .samples = samples + (size_t)i * SAMPLES};
        audit_on_settled(audit, i, poke, &worker[i]);
    }
    if (audit_start(audit, &why) != CODE_OK)
        return 3;
    for (unsigned i = 0; i < workers; i++) {
        worker[i].until_us = clock_monotonic_us() + (int64_t)seconds * 1000000;
        if (thread_start(&worker[i].thread, "worker", run, &worker[i], &why) != CODE_OK)
            return 3;
    }
    for (unsigned i = 0; i < workers; i++) {
        thread_join(&worker[i].thread);
        finished += worker[i].finished;
        memmove(samples + count, worker[i].samples, worker[i].sample_count * sizeof *samples);
        count += worker[i].sample_count;
    }
    audit_gauges(audit, &gauges);
    audit_close(&audit);
    (void)getrusage(RUSAGE_SELF, &usage);
    (void)stat(path, &size);
    qsort(samples, count, sizeof *samples, by_size);
    (void)printf("{\"calls_open\":%u,\"workers\":%u,\"calls_per_s\":%llu,\"rows_per_s\":%llu,\"rows_per_commit\":%.1f,"
                 "\"durable_p50_ms\":%.3f,\"durable_p99_ms\":%.3f,\"bytes_per_call\":%llu,\"cpu_us_per_call\":%.2f,"
                 "\"fdatasync_p50_ms\":%.3f,\"rss_kib\":%ld}\n",
                 calls, workers, (unsigned long long)(finished / seconds), (unsigned long long)(2 * finished / seconds),
                 (double)gauges.rows / (double)gauges.commits, count > 0 ? samples[count / 2] / 1000.0 : 0,
                 count > 0 ? samples[count / 100 * 99] / 1000.0 : 0,
                 (unsigned long long)((uint64_t)size.st_size / (finished > 0 ? finished : 1)),
                 (double)(usage.ru_utime.tv_sec * 1000000 + usage.ru_utime.tv_usec + usage.ru_stime.tv_sec * 1000000 +
                          usage.ru_stime.tv_usec) / (double)(finished > 0 ? finished : 1),
                 sync, usage.ru_maxrss - (long)(count * sizeof *samples / 1024));
    free(samples);
    return 0;
}
