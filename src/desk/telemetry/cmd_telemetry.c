/* SPDX-License-Identifier: Apache-2.0 */
/* callgate telemetry: follows the trail, and sends what it tells to an OpenTelemetry collector. It reads the trail as an
 * auditor does, and the gate knows nothing of it. What a collector took is behind a place in a file; whatever ends this
 * program, it goes on there, so that nothing is left out and little comes twice. */
#include "cli/commands.h"
#include "cli/trail_place.h"
#include "telemetry/call_spans.h"
#include "telemetry/deliver.h"
#include "telemetry/figures.h"
#include "trail/audit_cursor.h"

#include "base/log.h"
#include "base/mem.h"
#include "crypto/secret.h"
#include "os/clock.h"
#include "os/pause.h"
#include "os/sandbox.h"
#include "os/service.h"

#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TURN_ROWS 512 /* all that is held of them in memory at once */
#define LOOK_US INT64_C(1000000)
#define GAP_US INT64_C(10000000)
#define METRICS_BYTES ((size_t)16 << 20)
#define POSTER SANDBOX_BIT(SANDBOX_POSTER)
#define MAIN SANDBOX_BIT(SANDBOX_MAIN)

static struct {
    const struct asked *asked;
    struct conf_telemetry conf;
    struct call_spans spans;
    char *trail, node[256];
    struct trail files;           /* of it, as they were when `live` was the last of them */
    struct stat live;
    struct audit_cursor place;
    struct web *web;
    struct deliver deliver;
    struct otlp_batch calls, events, figures;
    int64_t began_us, metrics_us; /* wall; monotonic: when metrics are due */
    uint64_t missed;              /* rows that were given away before they were sent */
    bool is_blind;                /* the trail cannot be read, which was told */
} telemetry;

/* ---- metrics ---- */

static int64_t rows_behind(void)
{
    struct trail trail;
    struct why why = {""};
    int64_t behind = 0;

    if (trail_find(telemetry.trail, false, &trail, &why) == CODE_OK && trail.count > 0)
        behind = trail.files[trail.count - 1].last_seq - telemetry.place.place.seq;
    trail_fini(&trail);
    return behind > 0 ? behind : 0;
}

static void add_own_counts(struct buf *out, const char *name, const char *help, const uint64_t counts[OTLP_SIGNALS])
{
    buf_addf(out, "# HELP %s %s\n# TYPE %s counter\n", name, help, name);
    for (size_t i = 0; i < OTLP_SIGNALS; i++)
        buf_addf(out, "%s{signal=\"%s\"} %" PRIu64 "\n", name, otlp_signal_name((enum otlp_signal)i), counts[i]);
}

static void add_own_count(struct buf *out, const char *name, const char *help, const char *type, uint64_t count)
{
    buf_addf(out, "# HELP %s %s\n# TYPE %s %s\n%s %" PRIu64 "\n", name, help, name, type, name, count);
}

/* What this program counts of itself, so that what it leaves out or has still to send is seen where the rest is. */
static enum code add_own(bool has_gate)
{
    const struct deliver *deliver = &telemetry.deliver;
    struct buf text;
    enum code code;

    buf_init(&text, METRICS_BYTES);
    add_own_count(&text, "callgate_telemetry_gate_up", "1 where the gate's /metrics answered.", "gauge", has_gate);
    add_own_count(&text, "callgate_telemetry_rows_behind", "Rows of the trail that wait to be sent.", "gauge",
                  (uint64_t)rows_behind());
    add_own_count(&text, "callgate_telemetry_rows_missed_total", "Rows that were given away before they were sent.", "counter",
                  telemetry.missed);
    add_own_counts(&text, "callgate_telemetry_taken_total", "Calls, metrics and events that the collector took.",
                   deliver->taken);
    add_own_counts(&text, "callgate_telemetry_refused_total", "Those that it refused for good.", deliver->refused);
    add_own_count(&text, "callgate_telemetry_rejected_total", "Spans, points and records that it left out of what it took.",
                  "counter", deliver->rejected);
    add_own_count(&text, "callgate_telemetry_failed_requests_total", "Requests to it that came to nothing.", "counter",
                  deliver->failed);
    code = buf_code(&text);
    if (code == CODE_OK)
        code = figures_add(&telemetry.figures, buf_peek(&text), telemetry.began_us, clock_wall_us());
    buf_fini(&text);
    return code;
}

/* The gate's port, on this machine where it is every address of it. */
static void admin_url(char *url, size_t size)
{
    struct sock_address address = telemetry.conf.admin.address;
    char text[SOCK_TEXT_BYTES];

    sock_text(&address, text);
    if (strncmp(text, "0.0.0.0:", 8) == 0 || strncmp(text, "[::]:", 5) == 0)
        (void)snprintf(url, size, "http://localhost:%u/metrics", sock_port(&address));
    else
        (void)snprintf(url, size, "http://%s/metrics", text);
}

static bool add_gates(void)
{
    struct web_answer answer = {.code = CODE_OK};
    struct why why = {""};
    char url[512];
    struct web_request request = {.insecure = true, .body_max_bytes = METRICS_BYTES};
    bool is_read;

    admin_url(url, sizeof url);
    request.url = span_text(url);
    is_read = web_fetch(telemetry.web, &request, &answer, &why) == CODE_OK && answer.status == 200 &&
              figures_add(&telemetry.figures, buf_peek(&answer.body), 0, clock_wall_us()) == CODE_OK;
    web_answer_fini(&answer);
    if (!is_read)
        otlp_batch_clear(&telemetry.figures); /* half of it would look like all */
    return is_read;
}

static void send_metrics(void)
{
    bool has_gate;

    otlp_batch_clear(&telemetry.figures);
    has_gate = add_gates();
    if (add_own(has_gate) != CODE_OK || deliver_once(&telemetry.deliver, OTLP_METRICS, &telemetry.figures) != CODE_OK)
        log_warn("telemetry", "there is no memory for metrics");
}

static void rest(void *nothing, int64_t us)
{
    int64_t until_us = clock_monotonic_us() + us;

    (void)nothing;
    for (;;) {
        int64_t now_us = clock_monotonic_us(), next_us = until_us;

        if (telemetry.conf.metrics && now_us >= telemetry.metrics_us) {
            send_metrics();
            telemetry.metrics_us = clock_monotonic_us() + (int64_t)telemetry.conf.interval_ms * 1000;
            continue;
        }
        if (now_us >= until_us)
            return;
        if (telemetry.conf.metrics && telemetry.metrics_us < next_us)
            next_us = telemetry.metrics_us;
        (void)poll(NULL, 0, (int)((next_us - now_us) / 1000) + 1);
    }
}

/* ---- the trail ---- */

static enum code take(void *context, enum entry_kind kind, int64_t seq, const struct query_row *row)
{
    enum code code = CODE_OK;

    (void)context;
    (void)seq;
    if (kind != ENTRY_EVENT && telemetry.conf.traces)
        code = call_spans_add(&telemetry.calls.text, &telemetry.spans, kind, row);
    if (kind == ENTRY_EVENT && telemetry.conf.logs)
        code = call_spans_log(&telemetry.events.text, &telemetry.spans, row);
    if (code == CODE_OK)
        code = otlp_batch_end_item(&telemetry.calls);
    return code == CODE_OK ? otlp_batch_end_item(&telemetry.events) : code;
}

/* Goes on behind rows that are in no file here, where the trail says that they were given away, or somebody said so. */
static enum code pass_gap(const struct trail *trail, struct why *why)
{
    struct entry_place *place = &telemetry.place.place;
    int64_t first, last, retired = 0;
    enum code code = CODE_OK;

    for (size_t i = 0; i < trail->count && code == CODE_OK; i++) {
        if (!trail_gap(trail, i, &first, &last) || place->seq + 1 < first || place->seq >= last)
            continue;
        code = trail_place_retired_to(trail, &retired, why);
        if (code != CODE_OK || (retired < last && last >= (int64_t)telemetry.asked->from))
            continue;
        log_warn("telemetry", "rows %" PRId64 " to %" PRId64 " were given away before they were sent", place->seq + 1, last);
        telemetry.missed += (uint64_t)(last - place->seq);
        *place = (struct entry_place){.seq = last};
    }
    return code;
}

/* Looks through the folder where the link leads elsewhere than before: there may be years of files. */
static enum code find_files(struct why *why)
{
    struct stat there = {0};
    enum code code;

    if (stat(telemetry.trail, &there) == 0 && telemetry.files.count > 0 && there.st_dev == telemetry.live.st_dev &&
        there.st_ino == telemetry.live.st_ino)
        return CODE_OK;
    trail_fini(&telemetry.files);
    telemetry.live = there;
    code = trail_find(telemetry.trail, true, &telemetry.files, why);
    return code == CODE_OK ? pass_gap(&telemetry.files, why) : code;
}

/* Reads a turn, and leaves the trail alone before it is sent: who reads holds its files up. */
static enum code read_turn(struct entry_place *next, struct why *why)
{
    static const struct query query = {.limit = TURN_ROWS};
    struct trail *files = &telemetry.files;
    enum code code = find_files(why);

    otlp_batch_clear(&telemetry.calls);
    otlp_batch_clear(&telemetry.events);
    *next = telemetry.place.place;
    if (code == CODE_OK)
        code = audit_entries(files, &query, ENTRIES_WHOLE | ENTRIES_EVENTS, next, take, NULL, why);
    if (code != CODE_OK)
        trail_fini(files);
    else if (next->seq > files->files[files->count - 1].last_seq)
        files->files[files->count - 1].last_seq = next->seq;
    return code;
}

static enum code send_turn(const struct entry_place *next, struct why *why)
{
    enum code code = deliver_all(&telemetry.deliver, OTLP_TRACES, &telemetry.calls);

    if (code == CODE_OK)
        code = deliver_all(&telemetry.deliver, OTLP_LOGS, &telemetry.events);
    if (code != CODE_OK)
        return why_set(why, code, "%s", code_text(code));
    telemetry.place.place = *next;
    return audit_cursor_save(&telemetry.place, why);
}

/* Another trail, and want of memory, end it. All else may pass: a gate that has not started, a file that is not there yet. */
static enum code wait_out(enum code code, const struct why *why)
{
    if (code == CODE_DENIED || code == CODE_NOMEM)
        return code;
    if (!telemetry.is_blind)
        log_warn("telemetry", "the trail cannot be read at the moment: %s", why->text);
    telemetry.is_blind = true;
    rest(NULL, pause_us(GAP_US));
    return CODE_OK;
}

static enum code turn(struct why *why)
{
    struct entry_place next;
    int64_t rows;
    enum code code;

    rest(NULL, 0);
    code = read_turn(&next, why);
    if (code != CODE_OK)
        return wait_out(code, why);
    telemetry.is_blind = false;
    rows = next.seq - telemetry.place.place.seq;
    if (rows != 0)
        code = send_turn(&next, why);
    if (code == CODE_OK && rows < TURN_ROWS) /* what comes meanwhile goes together */
        rest(NULL, pause_us(LOOK_US));
    return code;
}

/* ---- the start ---- */

/* Where there is no place yet, it is the end of what there is; with --all, its beginning. */
static enum code begin_place(struct why *why)
{
    struct entry_place *place = &telemetry.place.place;
    struct trail trail;
    const struct trail_file *last;
    enum code code;

    if (access(telemetry.conf.place, F_OK) == 0 || telemetry.asked->all)
        return CODE_OK;
    code = trail_find(telemetry.trail, false, &trail, why);
    last = code == CODE_OK && trail.count > 0 ? &trail.files[trail.count - 1] : NULL;
    if (last != NULL && last->last_seq > 0) {
        place->seq = last->last_seq;
        place->is_known = true;
        code = trail_row_hash(last, place->seq, place->hash, why);
    }
    trail_fini(&trail);
    return code;
}

static enum code open_place(struct why *why)
{
    enum code code = audit_cursor_open(&telemetry.place, telemetry.conf.place, false, why);

    if (code == CODE_OK)
        code = begin_place(why);
    return code == CODE_OK ? audit_cursor_save(&telemetry.place, why) : code;
}

/* The folder, since files in it are replaced; where a link leads, too. */
static enum code may(enum code (*rule)(const char *path, unsigned parts), const char *path)
{
    char real[PATH_MAX];
    const char *const paths[] = {path, realpath(path, real)};
    enum code code = CODE_OK;

    for (size_t i = 0; i < 2 && code == CODE_OK; i++) {
        const char *slash = paths[i] != NULL ? strrchr(paths[i], '/') : NULL;
        char *folder = slash == NULL ? mem_dup(".", 1) : mem_dup(paths[i], slash == paths[i] ? 1 : (size_t)(slash - paths[i]));

        code = folder != NULL ? rule(folder, MAIN) : CODE_NOMEM;
        mem_free(folder);
    }
    return code;
}

/* Files of the trail to read, the place to write; two ports, and nothing else. */
static enum code confine(struct why *why)
{
    enum code code = may(sandbox_may_read, telemetry.trail);

    if (code == CODE_OK)
        code = may(sandbox_may_change, telemetry.conf.place);
    if (code == CODE_OK)
        code = web_permit(0);
    if (code == CODE_OK)
        code = sandbox_may_connect(telemetry.conf.server.port, POSTER);
    if (code == CODE_OK && telemetry.conf.metrics)
        code = sandbox_may_connect(sock_port(&telemetry.conf.admin.address), POSTER);
    if (code == CODE_OK && web_proxy_port() != 0)
        code = sandbox_may_connect(web_proxy_port(), POSTER);
    if (code == CODE_OK)
        code = web_new(&telemetry.web, why);
    if (code == CODE_OK)
        code = sandbox_enter(why);
    return code == CODE_OK ? web_start(telemetry.web, why) : code;
}

static void prepare(const struct asked *asked)
{
    const struct conf_telemetry *conf = &telemetry.conf;

    telemetry.asked = asked;
    telemetry.began_us = clock_wall_us();
    telemetry.spans = (struct call_spans){.principals = conf->principals, .arguments = conf->arguments,
                                          .details = conf->details, .links = conf->links, .one_in = conf->one_in};
    if (gethostname(telemetry.node, sizeof telemetry.node - 1) != 0)
        telemetry.node[0] = '\0'; /* as the gate says it of itself */
    otlp_batch_init(&telemetry.calls);
    otlp_batch_init(&telemetry.events);
    otlp_batch_init(&telemetry.figures);
}

static int run(const struct asked *asked)
{
    struct why why = {""};
    enum code code;

    prepare(asked);
    code = open_place(&why);
    if (code == CODE_OK)
        code = confine(&why);
    deliver_init(&telemetry.deliver, telemetry.web, &telemetry.conf.server, telemetry.node);
    telemetry.deliver.rest = rest;
    if (code == CODE_OK) {
        log_info("telemetry", "rows behind %" PRId64 " go to %.*s", telemetry.place.place.seq,
                 SPAN_ARG(telemetry.conf.server.authority));
        service_notify("READY=1");
    }
    while (code == CODE_OK)
        code = turn(&why);
    audit_cursor_close(&telemetry.place);
    return trail_place_complain(code, &why);
}

int cmd_telemetry(const struct asked *asked)
{
    struct faults faults;
    struct arena arena;
    struct why why = {""};
    enum code code = sandbox_harden(&why);
    int status;

    if (code == CODE_OK)
        code = secret_heap_open(&why);
    if (code != CODE_OK)
        return complain_why(code, &why);
    faults_init(&faults);
    status = conf_telemetry(asked->file, &arena, &telemetry.conf, &faults) == CODE_OK ? OPTIONS_GO : complain_faults(&faults);
    if (status == OPTIONS_GO)
        status = asked_trail(asked, NULL, &telemetry.trail);
    if (status == OPTIONS_GO)
        status = asked->check ? STATUS_DONE : run(asked);
    web_free(&telemetry.web);
    deliver_fini(&telemetry.deliver);
    otlp_batch_fini(&telemetry.calls);
    otlp_batch_fini(&telemetry.events);
    otlp_batch_fini(&telemetry.figures);
    proxy_upstream_fini(&telemetry.conf.server);
    trail_fini(&telemetry.files);
    mem_free(telemetry.trail);
    arena_fini(&arena);
    return status;
}
