/* SPDX-License-Identifier: Apache-2.0 */
/* The admin port's answers: what operators see of the running gate, from the counts of its rooms. */
#include "run/serve_priv.h"

#include "expiry/expiry.h"
#include "base/log.h"
#include "base/num.h"
#include "os/clock.h"
#include "os/file.h"

#include <stdio.h>
#include <stdlib.h>

#define JUMP_US 500000 /* smaller steps are those of a clock that is kept right */

static void write_low_disk(const struct serve *serve, struct buf *out)
{
    uint64_t room_bytes;

    if (file_disk_room(serve->conf->audit.database, &room_bytes) == CODE_OK && room_bytes < DISK_LOW_BYTES)
        buf_addf(out, "the disk of the audit has %llu KiB left: make room\n", (unsigned long long)(room_bytes >> 10));
}

/* Says whether the gate is ready. Only what already denies calls makes it unready: taking a gate out of service for
 * what may come would deny more calls than a disk that is nearly full. */
static enum code unready(void *context, struct buf *out)
{
    const struct serve *serve = context;
    struct audit_gauges audit;

    audit_gauges(serve->audit, &audit);
    if (audit.down) {
        buf_add_text(out, "the audit is down: calls are denied until it can be written again\n");
        write_low_disk(serve, out);
    }
    if (serve->policy_active == 0)
        buf_add_text(out, "no policy is active: everything is denied; `callgate policy load FILES`\n");
    if (serve->past.is_starting)
        buf_add_text(out, "the gate is starting: calls are denied until the audit is read as far back as limits and sequences "
                     "reach\n");
    fleet_watch_say(&serve->fleet, out);
    if (serve->is_draining)
        buf_add_text(out, "the gate is draining\n");
    return buf_code(out);
}

int64_t serve__checkpoint_late_us(const struct serve *serve, const struct audit_gauges *audit)
{
    struct poster_gauges poster = {.waiting = 0};
    int64_t now_us = clock_monotonic_us(), since_us = audit->unsigned_since_us;

    poster_gauges(serve->poster, &poster);
    if (poster.failing_since_us != 0 && (since_us == 0 || poster.failing_since_us < since_us))
        since_us = poster.failing_since_us;
    return since_us != 0 && since_us < now_us ? now_us - since_us : 0;
}

static void write_late_checkpoints(const struct serve *serve, struct buf *out)
{
    struct audit_gauges audit;
    int64_t late_us;

    audit_gauges(serve->audit, &audit);
    late_us = serve__checkpoint_late_us(serve, &audit);
    if (late_us > checkpoint_late_us(serve->conf->audit.checkpoint_interval_ms))
        buf_addf(out, "records wait since %lld s for a checkpoint, without which they cannot be proven: the log says why\n",
                 (long long)(late_us / 1000000));
}

static enum code note(void *context, struct buf *out)
{
    const struct serve *serve = context;

    write_low_disk(serve, out);
    write_late_checkpoints(serve, out);
    fleet_watch_note(&serve->fleet, out);
    if (serve->file.refused.text[0] != '\0')
        buf_addf(out, "the last reload was refused, an older configuration runs: %s\n", serve->file.refused.text);
    else if (serve->file.differs)
        buf_addf(out, "%s holds something else than what runs: reload it (SIGHUP)\n", serve->conf->path);
    return buf_code(out);
}

/* Logs a disk that gets nearly full. Only twice the room counts as enough again, so that a disk at the edge is logged once. */
void serve__watch_disk(struct serve *serve)
{
    uint64_t room_bytes;

    if (file_disk_room(serve->conf->audit.database, &room_bytes) != CODE_OK)
        return;
    disk_note(&serve->disk_growth, room_bytes, clock_monotonic_us());
    if (!serve->disk_is_low && room_bytes < DISK_LOW_BYTES) {
        serve->disk_is_low = true;
        log_warn("app", "the disk of the audit has %llu MiB left: when it is full, every call is denied; make room",
                 (unsigned long long)(room_bytes >> 20));
    } else if (serve->disk_is_low && room_bytes >= 2 * DISK_LOW_BYTES) {
        serve->disk_is_low = false;
        log_info("app", "the disk of the audit has %llu MiB left again", (unsigned long long)(room_bytes >> 20));
    }
}

/* Compares with what the trail was last told, so that many small steps are told as one. A clock that is slewed takes the
 * monotonic one with it; the clock of a machine that slept has jumped. */
void serve__watch_clock(struct serve *serve)
{
    int64_t ahead_us = clock_wall_us() - clock_monotonic_us(), by_us = ahead_us - serve->clock_ahead_us;
    char detail[64];

    if (llabs(by_us) < JUMP_US)
        return;
    (void)snprintf(detail, sizeof detail, "{\"by_us\":%lld}", (long long)by_us);
    log_warn("app", "the clock has jumped by %lld ms; the audit's times go by it", (long long)(by_us / 1000));
    serve__event(serve, "clock_jumped", span_text(detail));
    serve->clock_ahead_us = ahead_us;
}

/* Names of routes and addresses hold nothing that a label would escape. */
static void write_expiry(void *out, const char *side, struct span name, int64_t until_us)
{
    buf_addf(out, "callgate_certificate_expiry_timestamp_seconds{side=\"%s\",name=\"%.*s\"} %lld\n", side, SPAN_ARG(name),
             (long long)(until_us / 1000000));
}

static void write_certificates(const struct conf *conf, struct buf *out)
{
    buf_add_text(out, "# HELP callgate_certificate_expiry_timestamp_seconds When the first certificate of a chain ends: a "
                      "listener's, ours to an upstream (client), an upstream's as last met; when the last of the authorities "
                      "ends that are believed of agents (client_ca) or upstreams (ca).\n"
                      "# TYPE callgate_certificate_expiry_timestamp_seconds gauge\n");
    expiry_each(conf, write_expiry, out);
}

/* A provider's name holds nothing that a label would escape. */
static void write_providers(const struct serve *serve, struct buf *out)
{
    static const char *const heads[] = {
        "# HELP callgate_provider_keys Keys of an identity provider's set in force; 0: none, its tokens let nobody in.\n"
        "# TYPE callgate_provider_keys gauge\n",
        "# HELP callgate_provider_keys_age_seconds How long ago it was had from the provider.\n"
        "# TYPE callgate_provider_keys_age_seconds gauge\n",
        "# HELP callgate_provider_fetches_total Times that it was asked for since the start.\n"
        "# TYPE callgate_provider_fetches_total counter\n",
        "# HELP callgate_provider_failures_total Of these, those that came to nothing.\n"
        "# TYPE callgate_provider_failures_total counter\n",
    };
    static const char *const names[] = {"keys", "keys_age_seconds", "fetches_total", "failures_total"};
    struct providers_gauges gauges[IDENTITY_PROVIDERS_MAX];
    size_t count = providers_gauges(serve->providers, gauges);
    int64_t now_us = clock_wall_us();

    for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++) {
        buf_add_text(out, heads[i]);
        for (size_t j = 0; j < count; j++) {
            const uint64_t values[] = {gauges[j].keys,
                                       gauges[j].fetched_us != 0 ? (uint64_t)(now_us - gauges[j].fetched_us) / 1000000 : 0,
                                       gauges[j].fetches, gauges[j].failures};

            buf_addf(out, "callgate_provider_%s{provider=\"%s\"} %llu\n", names[i], gauges[j].name,
                     (unsigned long long)values[i]);
        }
    }
}

static void write_answers(const struct proxy_gauges *proxy, struct buf *out)
{
    buf_add_text(out, "# HELP callgate_answers_total Answers and messages of servers, by what rules for answers did to them.\n"
                      "# TYPE callgate_answers_total counter\n");
    for (enum answer_effect effect = ANSWER_FLAG; effect < ANSWER_EFFECTS; effect++)
        buf_addf(out, "callgate_answers_total{effect=\"%s\"} %llu\n", answer_effect_text(effect),
                 (unsigned long long)proxy->answers[effect]);
}

static void write_definitions(const struct serve_definitions *definitions, struct buf *out)
{
    buf_addf(out, "# HELP callgate_definitions_total Definitions of tools that the store did not have: of new tools, of tools "
                  "that had another before, and those that were not kept, for want of room.\n"
                  "# TYPE callgate_definitions_total counter\ncallgate_definitions_total{kind=\"new\"} %llu\n"
                  "callgate_definitions_total{kind=\"changed\"} %llu\ncallgate_definitions_total{kind=\"dropped\"} %llu\n",
             (unsigned long long)(definitions->fresh - definitions->changed), (unsigned long long)definitions->changed,
             (unsigned long long)definitions->dropped);
}

static void write_configuration(const struct serve *serve, struct buf *out)
{
    char hex[2 * DIGEST_BYTES];

    num_hex(serve->conf->proxy->digest, DIGEST_BYTES, hex);
    buf_add_text(out, "# HELP callgate_config_info 1; its labels say which file runs, and the SHA-256 of its text.\n"
                      "# TYPE callgate_config_info gauge\ncallgate_config_info{file=\"");
    metrics_label(out, span_text(serve->conf->path));
    buf_addf(out, "\",sha256=\"%.*s\"} 1\n", (int)sizeof hex, hex);
    buf_addf(out, "# HELP callgate_config_differs 1 while the file holds something else than what runs, or cannot be read.\n"
                  "# TYPE callgate_config_differs gauge\ncallgate_config_differs %d\n", serve->file.differs);
    buf_addf(out, "# HELP callgate_config_reload_success 1 where what was read last, at the start or a reload, was taken.\n"
                  "# TYPE callgate_config_reload_success gauge\ncallgate_config_reload_success %d\n",
             serve->file.refused.text[0] == '\0');
    buf_addf(out, "# HELP callgate_config_reload_timestamp_seconds When what runs was read, in seconds since 1970.\n"
                  "# TYPE callgate_config_reload_timestamp_seconds gauge\ncallgate_config_reload_timestamp_seconds %lld\n",
             (long long)(serve->file.taken_us / 1000000));
}

static void write_checkpoints(const struct serve *serve, struct buf *out)
{
    struct audit_gauges audit;

    audit_gauges(serve->audit, &audit);
    buf_addf(out, "# HELP callgate_audit_checkpoint_timestamp_seconds When the last was signed, in seconds since 1970; 0: none "
                  "since the start.\n# TYPE callgate_audit_checkpoint_timestamp_seconds gauge\n"
                  "callgate_audit_checkpoint_timestamp_seconds %lld\n", (long long)(audit.checkpoint_us / 1000000));
    buf_addf(out, "# HELP callgate_audit_checkpoint_late_seconds How long the oldest record waits for a checkpoint that is "
                  "in its file, or posted; 0: none waits.\n# TYPE callgate_audit_checkpoint_late_seconds gauge\n"
                  "callgate_audit_checkpoint_late_seconds %lld\n",
             (long long)(serve__checkpoint_late_us(serve, &audit) / 1000000));
}

static void write_labelled(const struct serve *serve, const struct proxy_gauges *proxy, struct buf *out)
{
    write_configuration(serve, out);
    write_certificates(serve->conf, out);
    write_providers(serve, out);
    serve__measure_outgoing(serve, out);
    write_answers(proxy, out);
    write_checkpoints(serve, out);
    serve__measure_alerts(serve, out);
    fleet_watch_measure(&serve->fleet, out);
    write_definitions(&serve->definitions, out);
}

static enum code measure(void *context, struct buf *out)
{
    const struct serve *serve = context;
    struct audit_gauges audit;
    struct poster_gauges poster = {0}, notified = {0};
    struct proxy_gauges proxy;
    struct runner_gauges runner;
    struct tally_stats state;
    struct lookup_stats lookups;
    uint64_t room_bytes = 0;

    lookup_stats(providers_lookups(serve->providers), &lookups);
    audit_gauges(serve->audit, &audit);
    poster_gauges(serve->poster, &poster);
    for (size_t i = 0; i < SERVE_POSTERS; i++)
        poster_gauges(serve->notify.posters[i], &notified);
    gate_state_stats(gate_state_of(serve->shared), &state);
    proxy_gauges(serve->proxy, &proxy);
    runner_gauges(serve->runner, &runner);
    if (file_disk_room(serve->conf->audit.database, &room_bytes) != CODE_OK)
        room_bytes = 0;
    const struct metrics_gauge gauges[] = {
        {"process_start_time_seconds", "When the process started, in seconds since 1970.", "gauge",
         (uint64_t)(serve->started_us / 1000000)},
        {"callgate_connections", "Connections of agents.", "gauge", proxy.connections},
        {"callgate_connections_accepted_total", "Connections of agents since the start.", "counter", proxy.accepted},
        {"callgate_requests_total", "Messages of agents that were judged.", "counter", proxy.requests},
        {"callgate_in_flight", "Connections with a request under way.", "gauge", proxy.in_flight},
        {"callgate_streams", "Event streams that are open.", "gauge", proxy.streams},
        {"callgate_body_bytes", "Memory of bodies and replies, but for up to 64 KiB a worker.", "gauge", proxy.memory_bytes},
        {"callgate_upstream_connections_total", "Connections made to upstreams.", "counter", proxy.upstream_connections},
        {"callgate_events_dropped_total", "Server events of unknown types, not delivered.", "counter", proxy.events_dropped},
        {"callgate_children", "Processes of commands that are upstreams.", "gauge", runner.children},
        {"callgate_child_starts_total", "Such processes that were started.", "counter", runner.starts},
        {"callgate_child_ends_total", "Such processes that have ended.", "counter", runner.ends},
        {"callgate_children_refused_total", "Requests for which there were too many of them.", "counter", runner.refused},
        {"callgate_audit_up", "1 while records can be written.", "gauge", audit.down ? 0 : 1},
        {"callgate_audit_seq", "Number of the last durable record.", "gauge", audit.last_seq},
        {"callgate_audit_rows_total", "Records written since the start.", "counter", audit.rows},
        {"callgate_audit_commits_total", "Commits since the start.", "counter", audit.commits},
        {"callgate_audit_ring_bytes", "Records that wait for the writer.", "gauge", audit.ring_bytes_used},
        {"callgate_audit_answers_lost_total", "Answers of which nothing was kept, for want of room.", "counter",
         audit.answers_lost},
        {"callgate_audit_wal_bytes", "Size of the audit's write-ahead log.", "gauge", audit.wal_bytes},
        {"callgate_audit_open_permits", "Permits without their outcome yet.", "gauge", audit.open_permits},
        {"callgate_audit_checkpoint_seq", "Number of the last record that a signed checkpoint covers.", "gauge",
         audit.signed_seq},
        {"callgate_audit_checkpoint_failures_total", "Checkpoints that could not be appended to their file.", "counter",
         audit.checkpoint_failures},
        {"callgate_checkpoints_waiting", "Checkpoints that wait to be posted.", "gauge", poster.waiting},
        {"callgate_checkpoints_posted_total", "Checkpoints that were posted.", "counter", poster.posted},
        {"callgate_checkpoint_posts_failed_total", "Attempts to post a checkpoint that failed.", "counter", poster.failed},
        {"callgate_checkpoints_dropped_total", "Checkpoints that were given up, since later ones say as much.", "counter",
         poster.dropped},
        {"callgate_notifications_posted_total", "Calls that wait of which somebody was told.", "counter", notified.posted},
        {"callgate_notification_posts_failed_total", "Attempts to tell somebody that failed.", "counter", notified.failed},
        {"callgate_notifications_dropped_total", "Calls that wait of which nobody was told, after all attempts.", "counter",
         notified.dropped},
        {"callgate_audit_rotations_total", "Files of the audit that were sealed since the start.", "counter", audit.rotations},
        {"callgate_disk_free_bytes", "Room on the audit's disk.", "gauge", room_bytes},
        {"callgate_disk_hours_left", "Hours until it is full, as it fills now; 87600: no end in sight.", "gauge",
         disk_hours_left(&serve->disk_growth, room_bytes, clock_monotonic_us())},
        {"callgate_log_lines_lost_total", "Log lines that nobody took in time.", "counter", log_lost()},
        {"callgate_stops", "Stops that stand.", "gauge", gate_stops_count(serve->shared, clock_wall_us())},
        {"callgate_approvals_waiting", "Held calls that wait for a person.", "gauge", (uint64_t)serve->approvals.waiting},
        {"callgate_approvals_waiting_here", "Of these, those that came to this gate and take its room.", "gauge",
         approvals_waiting(gate_approvals(serve->shared))},
        {"callgate_state_keys", "Limits and called tools that are counted.", "gauge", state.keys},
        {"callgate_state_bytes", "Memory of what is counted.", "gauge", state.bytes},
        {"callgate_state_refused_total", "Times that there was no room to count one more.", "counter", state.refused},
        {"callgate_tokens_known", "Verified access tokens that are kept.", "gauge", lookups.known[LOOKUP_TOKEN]},
        {"callgate_outside_waiting", "Questions to providers that are under way.", "gauge", lookups.pending},
        {"callgate_outside_refused_total", "Times that there were too many of them.", "counter", lookups.refused},
        {"callgate_policy_version", "The active policy's version; 0: none.", "gauge", serve->policy_active},
    };

    buf_add_text(out, "# HELP callgate_build_info 1; its label says which version runs.\n# TYPE callgate_build_info gauge\n"
                      "callgate_build_info{version=\"" CALLGATE_VERSION "\"} 1\n");
    write_labelled(serve, &proxy, out);
    return metrics_write(serve->metrics, gauges, sizeof gauges / sizeof gauges[0], out);
}

static void count_call(void *context, const struct proxy_call *call)
{
    const struct metrics_call counted = {
        .worker = call->worker, .upstream = call->upstream, .tenant = call->tenant,
        .tool = call->names_tool ? call->tool : SPAN_NONE,
        .verdict = verdict_text(call->verdict), .reason = call->reason, .judge_us = call->judge_us,
        .audit_us = call->audit_us, .upstream_us = call->upstream_us,
    };

    metrics_call(context, &counted);
}

enum code serve__open_admin(struct serve *serve, struct why *why)
{
    const struct conf_admin *from = &serve->conf->admin;
    const struct admin_conf conf = {
        .address = from->address, .healthz = from->public_healthz, .readyz = from->public_readyz,
        .metrics = from->public_metrics, .unready = unready, .note = note, .measure = measure, .context = serve,
        .inherited = &serve->inherited,
    };
    enum code code;

    if (!from->is_on)
        return CODE_OK;
    serve->started_us = clock_wall_us();
    code = metrics_new(serve->conf->workers, from->tenants, &serve->metrics);
    if (code != CODE_OK)
        return why_set(why, code, "not enough memory for metrics");
    code = admin_open(&conf, serve->loop, &serve->admin, why);
    if (code == CODE_OK)
        proxy_on_call(serve->proxy, count_call, serve->metrics);
    return code;
}
