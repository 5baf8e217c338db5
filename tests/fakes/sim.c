/* SPDX-License-Identifier: Apache-2.0 */
#include "fakes/sim.h"

#include "base/bug.h"
#include "base/mem.h"
#include "language/language.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NEED(condition) BUG_ON(!(condition))

static const char policy_text[] =
    "policy: sim\n"
    "rules:\n"
    "  - {id: sim.protocol, effect: permit, match: {methods: [protocol]}}\n"
    "  - {id: sim.tools, effect: permit, match: {methods: [tools/call], tools: ['*']}}\n"
    "  - {id: sim.server, effect: permit, match: {methods: [sampling/createMessage, response, stream/message, subscriptions/listen]}}\n"
    "  - {id: sim.forbidden, effect: forbid, match: {tools: [forbidden]}, say: Try another tool.}\n";

static const char *const revisions[] = {"2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28", NULL};

static void set_weather(const struct sim *sim, struct stream *stream)
{
    struct mem_weather *weather = mem_stream_weather(stream);

    weather->again = sim->weather == SIM_AGAIN;
    if (sim->weather == SIM_ONE_BYTE)
        weather->max_read = weather->max_write = 1;
}

static enum code dial(void *context, const struct proxy_upstream *upstream, const struct sock_address *address,
                      struct stream **stream)
{
    struct sim *sim = context;

    (void)upstream, (void)address;
    NEED(sim->upstream_count < SIM_UPSTREAMS);
    if (sim->refuses_dials)
        return CODE_IO;
    NEED(mem_stream_pair(stream, &sim->upstreams[sim->upstream_count++], sim->capacity_bytes));
    set_weather(sim, *stream);
    mem_stream_weather(*stream)->handshakes = sim->handshakes;
    if (sim->greeting != NULL)
        NEED(mem_stream_put(sim->upstreams[sim->upstream_count - 1], sim->greeting, strlen(sim->greeting)));
    if (sim->hangs_up)
        stream_close(&sim->upstreams[sim->upstream_count - 1]);
    return CODE_OK;
}

static struct policy *compile(void)
{
    struct policy_file file = {SPAN_LIT("sim.yaml"), span_text(policy_text)};
    struct faults faults;
    struct policy *policy;

    faults_init(&faults);
    if (policy_compile(&file, 1, 7, &policy, &faults, NULL) == CODE_OK)
        return policy;
    (void)fprintf(stderr, "%s:%d: %s\n", faults.fault[0].file, faults.fault[0].line, faults.fault[0].text);
    NEED(false);
    return NULL;
}

static struct proxy_conf *configure(struct sim *sim)
{
    struct proxy_conf *conf = proxy_conf_new();
    struct why why;

    NEED(conf != NULL);
    sim->identity[0] = (struct identity_source){.kind = IDENTITY_NONE, .principal = "bot", .tenant = "acme"};
    sim->listens[0] = (struct proxy_listen){0};
    NEED(sock_parse(SPAN_LIT("127.0.0.1:8080"), &sim->listens[0].address, &why) == CODE_OK);
    sim->routes[0] = (struct proxy_route){
        .name = SPAN_LIT("shop"), .path = SPAN_LIT("/mcp"), .revisions = revisions,
        .upstream = {.host = "127.0.0.1", .port = 9000, .path = SPAN_LIT("/up"), .authority = SPAN_LIT("127.0.0.1:9000")},
        .identity = sim->identity, .identity_count = 1,
    };
    conf->listens = sim->listens;
    conf->listen_count = 1;
    conf->routes = sim->routes;
    conf->route_count = 1;
    NEED(proxy_conf_seal(conf, &why) == CODE_OK);
    sim->route = &sim->routes[0];
    sim->listen = &sim->listens[0];
    return conf;
}

void sim_init(struct sim *sim, enum sim_weather weather)
{
    struct resolve_name name = {.host = "127.0.0.1", .port = 9000};
    struct resolver_conf names = {0};
    struct gate_shared_conf shared = {.redact_key = {1}, .session_key = {2}, .approval_key = {3}, .past_key = {4}};
    struct why why;

    memset(sim, 0, sizeof *sim);
    sim->weather = weather;
    sim->capacity_bytes = 1 << 20;
    sim->clock.now_us = 1000000;
    sim->ring = calloc(1, sizeof *sim->ring);
    NEED(sim->ring != NULL);
    NEED(budget_init(&sim->budget, 0, 0) == CODE_OK);
    NEED(gate_shared_new(&shared, &sim->shared) == CODE_OK);
    gate_publish_policy(sim->shared, compile());
    NEED(lane_init(&sim->lane, 0, &sim->budget, &front__above) == CODE_OK);
    NEED(rates_new(&sim->lane.rates) == CODE_OK);
    NEED(mailboxes_new(&sim->lane.mailboxes) == CODE_OK);
    fake_clock_install(&sim->clock, sim->lane.worker.loop);
    NEED(loop_timer_arm(sim->lane.worker.loop, &sim->lane.beat, 1) == CODE_OK); /* it was armed by the real clock */
    NEED(gate_new(sim->shared, sim->ring, &sim->lane.gate) == CODE_OK);
    NEED(resolver_new(&sim->resolver, &names, &name, 1, &why) == CODE_OK);
    sim->lane.conf = configure(sim);
    sim->lane.names = resolver_table(sim->resolver);
    sim->lane.dial = dial;
    sim->lane.dial_context = sim;
}

/* ---- events, as epoll would report them ---- */

static bool poke(struct leg *leg)
{
    unsigned ready = 0;

    if (leg->stream == NULL)
        return false;
    if (mem_stream_readable(leg->stream) > 0 || mem_stream_twin_ended(leg->stream))
        ready |= LOOP_READ;
    if (mem_stream_writable(leg->stream) > 0)
        ready |= LOOP_WRITE;
    if (!leg->is_ready && !leg->is_broken) {
        leg_ready(leg, LOOP_READ);
        return leg->is_ready || leg->is_broken;
    }
    ready &= leg->wanted;
    if (ready == 0)
        return false;
    leg_ready(leg, ready);
    return true;
}

static bool poke_all(struct sim *sim)
{
    bool moved = false;

    for (struct list *link = sim->lane.worker.all.next; link != &sim->lane.worker.all; link = link->next) {
        struct pair *pair = pair_of(LIST_ENTRY(link, struct connection, all));

        if (pair != NULL)
            moved = ((int)poke(&pair->front) | (int)(!sim->is_deaf_behind && poke(&pair->back))) != 0 || moved;
        else
            moved = poke(errand__leg(LIST_ENTRY(link, struct connection, all))) || moved;
    }
    return moved;
}

static void turn(struct sim *sim)
{
    NEED(worker_turn(&sim->lane.worker, 0) == CODE_OK);
}

static bool commit(struct sim *sim)
{
    if (sim->holds_audit || !fake_audit_settle(sim->ring, AUDIT_DURABLE))
        return false;
    if (sim->weather == SIM_SLOW_AUDIT)
        sim->clock.now_us += 5000;
    lane_woken(&sim->lane);
    return true;
}

void sim_run(struct sim *sim)
{
    /* A slow disk lets everybody else go on as far as they can first. */
    for (unsigned quiet = 0; quiet < 3;) {
        bool moved = poke_all(sim);

        turn(sim);
        moved = moved || !list_is_empty(&sim->lane.worker.dirty);
        if (sim->weather != SIM_SLOW_AUDIT || quiet == 2)
            moved = commit(sim) || moved;
        quiet = moved ? 0 : quiet + 1;
    }
}

static void pass(struct sim *sim, int64_t us, int64_t step_us)
{
    int64_t until_us = sim->clock.now_us + us;

    while (sim->clock.now_us < until_us) {
        int64_t left_us = until_us - sim->clock.now_us;

        sim->clock.now_us += left_us > step_us ? step_us : left_us;
        turn(sim);
        sim_run(sim);
    }
}

void sim_pass(struct sim *sim, int64_t us)
{
    pass(sim, us, 250000);
}

/* ---- the end ---- */

static void close_ends(struct sim *sim)
{
    stream_close(&sim->agent);
    for (unsigned i = 0; i < sim->upstream_count; i++)
        stream_close(&sim->upstreams[i]);
}

void sim_fini(struct sim *sim)
{
    struct gate *gate = sim->lane.gate;

    close_ends(sim);
    sim->holds_audit = false;
    sim_run(sim);
    pass(sim, 600 * INT64_C(1000000), 5000000); /* nobody is there who would be served late */
    NEED(sim->lane.worker.connections == 0);
    for (unsigned i = 0; i < sim->ring->decision_count; i++) {
        const struct fake_decision *row = &sim->ring->decisions[i];

        if (row->fate == AUDIT_DURABLE)
            NEED(row->outcomes == (row->expects_outcome ? 1u : 0u));
    }
    NEED(atomic_load(&sim->budget.memory_bytes) == 0);
    rates_free(&sim->lane.rates);
    mailboxes_free(&sim->lane.mailboxes);
    lane_fini(&sim->lane);
    gate_free(&gate);
    gate_shared_free(&sim->shared);
    resolver_free(&sim->resolver);
    budget_fini(&sim->budget);
    free(sim->ring);
}

/* ---- scripts ---- */

void sim_connect(struct sim *sim)
{
    struct stream *stream;
    struct sock_address peer;

    if (sim->agent != NULL)
        stream_close(&sim->agent);
    NEED(sock_parse(SPAN_LIT("127.0.0.1:5555"), &peer, NULL) == CODE_OK);
    NEED(mem_stream_pair(&stream, &sim->agent, sim->capacity_bytes));
    set_weather(sim, stream);
    NEED(budget_take_connection(&sim->budget));
    lane_accept(&sim->lane, 0, stream, &peer);
    sim_run(sim);
}

void sim_agent_says(struct sim *sim, const char *text)
{
    NEED(mem_stream_put(sim->agent, text, strlen(text)));
    sim_run(sim);
}

void sim_agent_posts(struct sim *sim, const char *json, const char *headers)
{
    char head[2048];

    (void)snprintf(head, sizeof head,
                   "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n%sContent-Length: %zu\r\n\r\n",
                   headers, strlen(json));
    NEED(mem_stream_put(sim->agent, head, strlen(head)));
    sim_agent_says(sim, json);
}

void sim_agent_leaves(struct sim *sim)
{
    stream_close(&sim->agent);
    sim_run(sim);
}

static const char *hear(struct sim *sim, struct stream *stream)
{
    sim->got_len = mem_stream_get(stream, sim->got, SIM_TEXT - 1);
    sim->got[sim->got_len] = '\0';
    return sim->got;
}

const char *sim_agent_hears(struct sim *sim)
{
    return hear(sim, sim->agent);
}

void sim_upstream_says(struct sim *sim, unsigned index, const char *text)
{
    NEED(index < sim->upstream_count && mem_stream_put(sim->upstreams[index], text, strlen(text)));
    sim_run(sim);
}

void sim_upstream_answers(struct sim *sim, unsigned index, const char *media, const char *body)
{
    char head[256];

    (void)snprintf(head, sizeof head, "HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %zu\r\n\r\n", media,
                   strlen(body));
    NEED(index < sim->upstream_count && mem_stream_put(sim->upstreams[index], head, strlen(head)));
    sim_upstream_says(sim, index, body);
}

const char *sim_upstream_hears(struct sim *sim, unsigned index)
{
    NEED(index < sim->upstream_count);
    return hear(sim, sim->upstreams[index]);
}

void sim_upstream_leaves(struct sim *sim, unsigned index)
{
    stream_close(&sim->upstreams[index]);
    sim_run(sim);
}

struct pair *sim_pair(struct sim *sim)
{
    if (list_is_empty(&sim->lane.worker.all))
        return NULL;
    return pair_of(LIST_ENTRY(sim->lane.worker.all.next, struct connection, all));
}

const struct fake_outcome *sim_last_outcome(const struct sim *sim)
{
    NEED(sim->ring->outcome_count > 0);
    return &sim->ring->outcomes[sim->ring->outcome_count - 1];
}

const struct fake_decision *sim_last_decision(const struct sim *sim)
{
    NEED(sim->ring->decision_count > 0);
    return &sim->ring->decisions[sim->ring->decision_count - 1];
}
