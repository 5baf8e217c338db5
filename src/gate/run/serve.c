/* SPDX-License-Identifier: Apache-2.0 */
#include "run/serve_priv.h"

#include "store/store.h"
#include "base/log.h"
#include "base/mem.h"
#include "http/selftest.h"
#include "os/clock.h"
#include "os/sandbox.h"
#include "os/service.h"

#include <inttypes.h>
#include <signal.h>
#include <unistd.h>

#define DRAIN_LOOK_US 20000
#define CALM_US 200000 /* idle connections may ask once more: who writes at the moment of a close learns nothing of his call */
#define TRIM_CONNECTIONS 1000 /* so many connections have gone since the peak: about 10 MiB */
#define TRIM_BYTES (32u << 20)
#define TRIM_PAUSE_US 10000000
#define POST_WAIT_US 5000000
#define ANSWERS_WAITING 256 /* how many answers, as large as a route keeps them, a worker's ring has room for */
#define RING_MAX_BYTES ((uint64_t)32 << 20)
#define LISTED_MAX_BYTES ((size_t)16 << 20)
#define STORE_WAIT_MS 20 /* once it runs, main waits no longer for the store, since signals and the admin port wait behind it;
                          * a locked store is asked again at the next look. A start waits as commands do: its courier
                          * writes, too */

static void take_names(void *context)
{
    struct serve *serve = context;

    if (serve->proxy != NULL && serve->resolver != NULL)
        proxy_publish_names(serve->proxy, resolver_table(serve->resolver));
}

static void names_came(void *context)
{
    struct serve *serve = context;

    inbox_poke(&serve->names_changed);
}

static enum code open_loop(struct serve *serve, struct why *why)
{
    enum code code = loop_new(&serve->loop);

    if (code == CODE_OK)
        code = inbox_init(&serve->names_changed, serve->loop, take_names, serve);
    serve->has_inbox = code == CODE_OK;
    if (code == CODE_OK)
        code = inbox_init(&serve->looks, serve->loop, serve__look_for_pipes, serve);
    serve->has_looks = code == CODE_OK;
    return code == CODE_OK ? code : why_set(why, code, "the event loop cannot be made: %s", code_text(code));
}

static enum code open_shared(struct serve *serve, struct why *why)
{
    struct gate_shared_conf conf = {.has_fleet = serve->fleet.is_on};
    enum code code = store_open(serve->conf->store, DB_CREATE, &serve->store, why);

    if (code == CODE_OK)
        code = store_secret(serve->store, "session", true, conf.session_key, why);
    if (code == CODE_OK)
        code = store_secret(serve->store, "approval", true, conf.approval_key, why);
    if (code == CODE_OK)
        code = store_secret(serve->store, "past", true, conf.past_key, why);
    if (code == CODE_OK)
        code = serve->fleet.is_on ? store_secret(serve->store, "redact", false, conf.redact_key, why)
                                  : serve_redact_key(serve->conf->audit.redact_key, true, conf.redact_key, why);
    if (code == CODE_OK) {
        code = gate_shared_new(&conf, &serve->shared);
        if (code == CODE_OK)
            code = serve__past_keeps(&serve->past, serve->conf, conf.past_key);
    }
    mem_wipe(&conf, sizeof conf);
    return code;
}

/* The size of a worker's ring. Answers wait in it while the disk works; an answer that finds no room is not kept. */
static uint64_t ring_bytes(const struct proxy_conf *conf)
{
    uint64_t largest = 0;

    for (size_t i = 0; i < conf->route_count; i++)
        if (conf->routes[i].answer_bytes > largest)
            largest = conf->routes[i].answer_bytes;
    return largest * ANSWERS_WAITING < RING_MAX_BYTES ? largest * ANSWERS_WAITING : RING_MAX_BYTES;
}

enum code serve_open_audit(struct serve *serve, struct why *why)
{
    char node[256];
    struct audit_conf conf = {
        .path = serve->conf->audit.database, .rings = serve->conf->workers + 1, .ring_bytes = ring_bytes(serve->conf->proxy),
        .arguments_max_bytes = serve->conf->audit.arguments_max_bytes,
        .node = node, .version = span_text(CALLGATE_VERSION),
        .checkpoints = {.file = serve->conf->audit.checkpoints, .interval_ms = serve->conf->audit.checkpoint_interval_ms,
                        .rows = serve->conf->audit.checkpoint_rows, .key_change = serve->key_change},
        .rotate_bytes = serve->conf->audit.rotate_bytes, .confined = buf_peek(&serve->confined),
        .lock_fd_take = serve->lock_fd,
        .loss = {.why = serve->continue_why, .actor = serve->continue_actor, .is_elsewhere = serve->store_was_behind},
    };
    /* a command that opens the audit has no signer yet */
    enum code code = serve->signer == NULL ? serve__start_signer(serve, why) : CODE_OK;

    if (gethostname(node, sizeof node - 1) != 0)
        node[0] = '\0';
    node[sizeof node - 1] = '\0';
    serve->lock_fd = 0;
    conf.checkpoints.signer = serve->signer;
    if (code == CODE_OK && serve->conf->audit.checkpoint_server.host != NULL) {
        const struct poster_conf post = {
            .what = "checkpoint", .server = &serve->conf->audit.checkpoint_server, .media = "text/plain; charset=utf-8",
            .keeps_newest = true, .wait_us = POST_WAIT_US, .web = serve->web,
        };

        code = poster_new(&post, &serve->poster, why);
        conf.checkpoints.publish = poster_put;
        conf.checkpoints.context = serve->poster;
    }
    if (code == CODE_OK)
        code = audit_open(&conf, &serve->audit, why);
    if (code == CODE_OK)
        code = serve__publish_checkpoint_key(serve, why);
    if (code == CODE_OK)
        serve->ring = audit_ring(serve->audit, serve->conf->workers);
    return code;
}

void serve_close_audit(struct serve *serve)
{
    audit_close(&serve->audit);
    poster_free(&serve->poster); /* after the last checkpoint */
    signer_free(&serve->signer);
}

static enum code open_gates(struct serve *serve)
{
    serve->gates = mem_array(serve->conf->workers, sizeof(struct gate *));
    if (serve->gates == NULL)
        return CODE_NOMEM;
    for (unsigned i = 0; i < serve->conf->workers; i++) {
        enum code code = gate_new(serve->shared, audit_ring(serve->audit, i), &serve->gates[i]);

        if (code != CODE_OK)
            return code;
    }
    return CODE_OK;
}

/* Warns of a socket that the service manager handed over and that the configuration does not name. */
static void warn_of_unused(const struct proxy_conf *conf, const struct conf_admin *admin,
                           const struct service_sockets *inherited)
{
    for (size_t i = 0; i < inherited->count; i++) {
        struct sock_address address;
        char text[SOCK_TEXT_BYTES];
        size_t listen = 0;

        if (sock_local(inherited->fds[i], &address) != CODE_OK || address.any.sa_family == AF_UNIX ||
            (admin->is_on && sock_equals(&admin->address, &address)))
            continue;
        while (listen < conf->listen_count && !sock_equals(&conf->listens[listen].address, &address))
            listen++;
        sock_text(&address, text);
        if (listen == conf->listen_count)
            log_warn("app", "%s was handed over, which `listen` does not name; it is not used", text);
    }
}

static void wake_workers(void *context)
{
    struct serve *serve = context;

    for (unsigned i = 0; i < serve->conf->workers; i++)
        proxy_wake(proxy_wake_context(serve->proxy, i));
}

static void accounts_stored(void *context)
{
    ((struct serve *)context)->owes_events = true;
}

static enum code open_providers(struct serve *serve, struct why *why)
{
    const struct providers_conf conf = {
        .loop = serve->loop, .web = serve->web, .store = serve->conf->store, .db = serve->store, .gate = serve->gate_mark,
        .proxy = serve->conf->proxy,
        .settled = wake_workers, .dial = serve__dial_command, .stored = accounts_stored, .context = serve,
    };
    enum code code = providers_new(&conf, &serve->providers, why);

    if (code == CODE_OK && identity_proofs_new(clock_wall_us(), &serve->proofs) != CODE_OK)
        code = why_set(why, CODE_NOMEM, "not enough memory for proofs of possession");
    return code;
}

static void pipe_differs(void *context)
{
    struct serve *serve = context;

    inbox_poke(&serve->looks);
}

static enum code open_proxy(struct serve *serve, struct why *why)
{
    struct proxy_start start = {
        .workers = serve->conf->workers, .gates = serve->gates, .conf_take = proxy_conf_ref(serve->conf->proxy),
        .inherited = &serve->inherited, .dial_command = serve__dial_command, .dial_context = serve,
        .lookups = providers_lookups(serve->providers), .proofs = serve->proofs, .look = pipe_differs, .look_context = serve,
    };
    enum code code = service_listeners(&serve->inherited, why);

    if (code == CODE_OK) {
        warn_of_unused(serve->conf->proxy, &serve->conf->admin, &serve->inherited);
        code = proxy_open(&start, &serve->proxy, why);
    }
    if (code == CODE_OK)
        handover_adopt(&serve->handover, serve->proxy);
    if (code != CODE_OK)
        proxy_conf_unref(&start.conf_take);
    return code;
}

static enum code open_trail(struct serve *serve, struct why *why)
{
    bool is_marked = serve__mark_audit(serve, why) == CODE_OK; /* else the audit is new or missing: audit_open says which */
    enum code code = serve__compare_store(serve, why);

    if (code == CODE_OK)
        code = serve_open_audit(serve, why);
    return code == CODE_OK && !is_marked ? serve__mark_audit(serve, why) : code;
}

enum code serve_open(struct serve *serve, struct conf *conf_take, const struct serve_asked *asked, struct why *why)
{
    enum code code;

    *serve = (struct serve){.conf = conf_take, .store_seen = -1, .stops_mark = -1, .control = -1,
                             .audit_jobs = {.store_seen = -1},
                             .continue_why = asked->why,
                             .linger_us = (int64_t)asked->while_used_ms * 1000};
    handover_init(&serve->handover, asked->before_fd);
    fleet_watch_init(&serve->fleet, conf_take);
    serve->file.taken_us = clock_wall_us();
    serve->clock_ahead_us = clock_wall_us() - clock_monotonic_us();
    buf_init(&serve->listed, LISTED_MAX_BYTES);
    buf_init(&serve->definitions.notes, SIZE_MAX / 2);
    serve->definitions.mark = -1;
    list_init(&serve->approvals.asks);
    code = serve__past_init(&serve->past, conf_take->audit.database);
    actor_name(serve->continue_actor); /* before the process is confined: names may be asked of a service */
    if (code == CODE_OK)
        code = serve__prepare(serve, why);
    if (code == CODE_OK)
        code = serve__start_signer(serve, why);
    if (code == CODE_OK)
        code = serve__start_runner(serve, why);
    if (code == CODE_OK)
        code = serve__start_control(serve, why);
    if (code == CODE_OK)
        code = http_selftest(why);
    if (code == CODE_OK && serve_asks(serve->conf))
        code = web_new(&serve->web, why);
    if (code == CODE_OK)
        code = open_loop(serve, why);
    if (code == CODE_OK) /* what stands above changes nothing: where it fails, a gate that runs goes on */
        code = handover_take_lock(&serve->handover, serve->conf->audit.database, serve->conf->drain_ms, &serve->lock_fd,
                                  &serve->is_called_off, why);
    if (code == CODE_OK) /* a node has one at a time, as one gate has the audit's lock; it brings the store the fleet's keys */
        code = fleet_watch_start(&serve->fleet, serve->conf, why);
    if (code == CODE_OK)
        code = open_shared(serve, why);
    if (code == CODE_OK)
        code = fleet_watch_ask(&serve->fleet, serve->shared, why);
    if (code == CODE_OK)
        code = open_trail(serve, why);
    if (code == CODE_OK)
        code = serve__open_notify(serve, why);
    if (code == CODE_OK)
        code = serve__open_alerts(serve, why);
    if (code == CODE_OK)
        code = open_gates(serve);
    if (code == CODE_OK)
        code = open_providers(serve, why);
    if (code == CODE_OK)
        code = open_proxy(serve, why);
    if (code == CODE_OK)
        code = serve__open_admin(serve, why);
    service_close(&serve->inherited);
    return code;
}

/* Starts the threads last, since the process must be confined before the first of them. */
static enum code start_threads(struct serve *serve, struct why *why)
{
    const struct resolver_conf conf = {.changed = names_came, .context = serve};
    enum code code;

    for (unsigned i = 0; i < serve->conf->workers; i++)
        audit_on_settled(serve->audit, i, proxy_wake, proxy_wake_context(serve->proxy, i));
    code = serve__confine(serve, why);
    if (code == CODE_OK && serve->web != NULL)
        code = web_start(serve->web, why);
    if (code == CODE_OK && serve->poster != NULL)
        code = poster_start(serve->poster, why);
    if (code == CODE_OK)
        code = serve__start_notify(serve, why);
    if (code == CODE_OK)
        code = serve__start_alerts(serve, why);
    if (code == CODE_OK)
        code = audit_start(serve->audit, why);
    if (code == CODE_OK)
        code = serve__start_past(serve, why);
    if (code == CODE_OK)
        code = fleet_watch_run(&serve->fleet, why);
    if (code == CODE_OK)
        code = resolver_new(&serve->resolver, &conf, serve->conf->names, serve->conf->name_count, why);
    if (code != CODE_OK)
        return code;
    if (!resolver_wait(serve->resolver, NAMES_WAIT_MS))
        log_warn("app", "not every upstream's name is resolved yet; their calls fail until it is");
    take_names(serve);
    providers_look(serve->providers);
    serve__mind_past(serve, PAST_START_WAIT_MS);
    mem_drop_code();
    code = proxy_run(serve->proxy, why);
    sandbox_narrow(SANDBOX_MAIN);
    return code;
}

/* Blocks of a thousand connections that have gone, or of large messages, lie around those of the others, where the C library
 * gives nothing back by itself. What lies at the end of a worker's heap it may keep all the same. */
static void give_memory_back(struct serve *serve)
{
    struct proxy_gauges now;
    uint64_t seen = serve->connections_seen, seen_bytes = serve->memory_seen_bytes;

    proxy_gauges(serve->proxy, &now);
    serve->connections_seen = now.connections;
    serve->memory_seen_bytes = now.memory_bytes;
    if (serve->connections_peak < now.connections)
        serve->connections_peak = now.connections;
    if (serve->memory_peak_bytes < now.memory_bytes)
        serve->memory_peak_bytes = now.memory_bytes;
    if ((serve->connections_peak - now.connections < TRIM_CONNECTIONS &&
         serve->memory_peak_bytes - now.memory_bytes < TRIM_BYTES) ||
        now.connections + TRIM_CONNECTIONS / 10 < seen || now.memory_bytes + TRIM_BYTES / 10 < seen_bytes ||
        loop_now_us(serve->loop) - serve->trimmed_us < TRIM_PAUSE_US)
        return; /* not enough has gone, or more is still going, or it was done just now */
    serve->connections_peak = now.connections;
    serve->memory_peak_bytes = now.memory_bytes;
    serve->trimmed_us = loop_now_us(serve->loop);
    mem_trim();
}

static void go(struct serve *serve, bool hurries)
{
    int heir = handover_heir(&serve->handover);

    proxy_go(serve->proxy, !serve->is_draining ? LANE_SERVES : heir != -1 ? LANE_PAUSES : LANE_DRAINS, hurries, heir);
}

static void look_drained(void *context)
{
    struct serve *serve = context;
    struct proxy_gauges now;

    proxy_gauges(serve->proxy, &now);
    if (loop_now_us(serve->loop) >= serve->calm_until_us && (handover_heir(&serve->handover) == -1 || now.in_flight == 0))
        go(serve, true);
    serve->is_over = proxy_is_drained(serve->proxy) || loop_now_us(serve->loop) >= serve->drain_until_us;
    if (!serve->is_over && loop_timer_arm(serve->loop, &serve->drain, DRAIN_LOOK_US) != CODE_OK)
        serve->is_over = true;
}

static void begin_drain(struct serve *serve)
{
    if (serve->is_draining) { /* a second signal: somebody is in a hurry */
        serve->is_over = true;
        return;
    }
    log_info("app", "draining, for at most %u ms", serve->conf->drain_ms);
    if (handover_heir(&serve->handover) == -1)
        service_notify("STOPPING=1");
    handover_pause(&serve->handover, true);
    serve->is_draining = true;
    serve->calm_until_us = loop_now_us(serve->loop) + CALM_US;
    serve->drain_until_us = loop_now_us(serve->loop) + (int64_t)serve->conf->drain_ms * 1000;
    go(serve, false);
    look_drained(serve);
}

/* Ends the gate where the signer has ended: rows would go on, but nobody could prove them later. Who started the gate
 * starts it again with a new signer. */
static void mind_signer(struct serve *serve)
{
    if (serve->signer_is_lost || !signer_is_gone(serve->signer))
        return;
    serve->signer_is_lost = true;
    log_error("app", "the process that signs checkpoints has ended; the gate ends, too: what it records would not be proven");
    if (!serve->is_draining)
        begin_drain(serve);
}

/* Ends an on-demand gate that nobody uses. A pipe that comes while it drains starts the next one. */
static void mind_use(struct serve *serve)
{
    struct proxy_gauges now;
    int64_t now_us = loop_now_us(serve->loop);

    if (serve->linger_us == 0 || serve->is_draining)
        return;
    proxy_gauges(serve->proxy, &now);
    if (now.connections > 0 || serve->used_us == 0)
        serve->used_us = now_us;
    else if (now_us - serve->used_us >= serve->linger_us)
        begin_drain(serve);
}

static void poll_store(void *context)
{
    struct serve *serve = context;

    give_memory_back(serve);
    providers_look(serve->providers);
    serve__follow_conf(serve, false);
    serve__mind_past(serve, 0);
    serve__follow_store(serve);
    serve__mind_approvals(serve);
    serve__keep_listed(serve);
    serve__keep_definitions(serve);
    serve__notify(serve);
    serve__put_store_events(serve);
    serve__run_audit_jobs(serve);
    serve__record_outgoing(serve);
    serve__watch_clock(serve);
    serve__watch_disk(serve);
    serve__mind_alerts(serve);
    mind_signer(serve);
    serve__mind_control(serve);
    mind_use(serve);
    if (serve__runner_is_lost(serve) && !serve->is_draining)
        begin_drain(serve);
    gate_tick(serve->shared, serve->ring, clock_monotonic_us(), clock_wall_us(), false);
    if (loop_timer_arm(serve->loop, &serve->poll, serve__awaits_approvals(serve) ? HURRY_US : POLL_US) != CODE_OK) {
        /* without the timer revoked keys would go on working */
        log_error("app", "not enough memory to follow the store; ending");
        serve->is_over = true;
    }
}

static void signal_came(void *context, int signo)
{
    struct serve *serve = context;

    if (signo == SIGHUP && !serve->is_draining)
        serve__reload(serve);
    else if (signo != SIGHUP)
        begin_drain(serve);
}

static void somebody_takes_over(void *context)
{
    begin_drain(context);
}

static void nobody_takes_over(void *context)
{
    struct serve *serve = context;

    serve->is_draining = false;
    loop_timer_cancel(serve->loop, &serve->drain);
    go(serve, false);
}

static void offer_handover(struct serve *serve)
{
    const struct handover_conf conf = {
        .audit = serve->conf->audit.database, .drain_ms = serve->conf->drain_ms, .linger_ms = (uint64_t)serve->linger_us / 1000,
        .loop = serve->loop, .proxy = serve->proxy, .admin = serve->admin != NULL ? admin_socket(serve->admin) : -1,
        .begin = somebody_takes_over, .again = nobody_takes_over, .context = serve,
    };

    handover_offer(&serve->handover, &conf);
}

static enum code get_ready(struct serve *serve, int ready_fd, struct why *why)
{
    static const int signos[] = {SIGTERM, SIGINT, SIGHUP, 0};
    enum code code = signals_init(&serve->signals, serve->loop, signos, signal_came, serve, why);

    serve->has_signals = code == CODE_OK;
    if (code != CODE_OK)
        return code;
    serve__follow_store(serve);
    code = serve__open_approvals(serve, why);
    db_busy_wait(serve->store, STORE_WAIT_MS);
    if (code != CODE_OK)
        return code;
    serve__mind_approvals(serve);
    offer_handover(serve);
    code = start_threads(serve, why);
    if (code != CODE_OK)
        return code;
    loop_timer_init(&serve->poll, poll_store, serve);
    loop_timer_init(&serve->drain, look_drained, serve);
    code = loop_timer_arm(serve->loop, &serve->poll, POLL_US);
    if (code == CODE_OK)
        serve__put_store_events(serve);
    if (code != CODE_OK)
        return why_set(why, code, "the gate cannot begin to serve: %s", code_text(code));
    if (serve__report_ready(serve, ready_fd) != CODE_OK) /* it serves all the same, since an upgrade has left no other */
        log_warn("app", "whoever started the gate is not there to hear that it is ready");
    service_notify("READY=1");
    return CODE_OK;
}

enum code serve_run(struct serve *serve, int ready_fd, struct why *why)
{
    enum code code;

    mem_keep();
    code = get_ready(serve, ready_fd, why);
    while (code == CODE_OK && !serve->is_over) {
        code = loop_turn(serve->loop, -1);
        if (serve->admin != NULL)
            admin_settle(serve->admin);
        if (code != CODE_OK)
            why_set(why, code, "the event loop failed: %s", code_text(code));
    }
    handover_end(&serve->handover);
    if (code == CODE_OK && serve->runner_is_lost)
        code = why_set(why, CODE_IO, "the process that starts commands has ended; start the gate again");
    if (code == CODE_OK && serve->signer_is_lost)
        code = why_set(why, CODE_IO, "the process that signs checkpoints has ended; start the gate again");
    return code;
}

/* Closes in reverse order, so that every permit gets its outcome: first the workers, then what they write to. */
void serve_close(struct serve *serve)
{
    struct audit_gauges gauges = {.down = true};

    admin_close(&serve->admin);
    serve__close_past(serve);
    resolver_free(&serve->resolver);
    providers_unhear(serve->providers);
    proxy_stop(serve->proxy);
    fleet_watch_hush(&serve->fleet);
    serve__close_alerts(serve);
    serve__close_notify(serve); /* closed before the runner, which one of them uses */
    runner_close(&serve->runner);
    metrics_free(&serve->metrics);
    if (serve->shared != NULL && serve->ring != NULL) {
        gate_tick(serve->shared, serve->ring, clock_monotonic_us(), clock_wall_us(), true);
        serve__close_approvals(serve);
        serve__keep_definitions(serve); /* what the last lists have told of definitions */
        serve__keep_stops(serve);
        serve__put_store_events(serve);
        audit_gauges(serve->audit, &gauges);
    }
    for (unsigned i = 0; serve->gates != NULL && i < serve->conf->workers; i++)
        gate_free(&serve->gates[i]);
    mem_free(serve->gates);
    serve_close_audit(serve);
    if (serve->ring != NULL && handover_heir(&serve->handover) == -1) /* else the next gate's courier brings what is left */
        fleet_watch_end(&serve->fleet);
    proxy_free(&serve->proxy);
    web_free(&serve->web); /* after the last checkpoint */
    providers_free(&serve->providers);
    identity_proofs_free(&serve->proofs);
    if (!gauges.down)
        serve__mark_told(serve);
    serve__drop_asks(serve);
    gate_shared_free(&serve->shared);
    db_close(&serve->store);
    if (serve->has_signals)
        signals_fini(&serve->signals);
    if (serve->has_inbox)
        inbox_fini(&serve->names_changed);
    if (serve->has_looks)
        inbox_fini(&serve->looks);
    if (serve->loop != NULL)
        loop_free(&serve->loop);
    handover_fini(&serve->handover);
    fleet_watch_fini(&serve->fleet);
    buf_fini(&serve->confined);
    buf_fini(&serve->listed);
    buf_fini(&serve->definitions.notes);
    definition_set_unref(&serve->definitions.accepted);
    conf_free(&serve->conf);
}
