/* SPDX-License-Identifier: Apache-2.0 */
/* 8.1: a call waits until it is known who asks, and goes on as if it had been known at once. */
#include "sim/sim_check.h"

#include "fakes/fake_provider.h"
#include "os/clock.h"

#include <stdio.h>

#define ISSUER "https://id.example.com/realms/corp"
#define AUDIENCE "https://mcp.example.com/shop/mcp"
#define CALL "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"t\",\"arguments\":{}}}"
#define ANSWER "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[]}}"

static struct fake_key *ours, *others;
static struct lookups *lookups;
static struct identity_proofs *proofs;
static struct identity_provider provider;
static const char *const audiences[] = {AUDIENCE, NULL};
static unsigned lookup_work;

static void work(void *context)
{
    (void)context;
    lookup_work++;
}

static void settled(void *context)
{
    lane_woken(&((struct sim *)context)->lane);
}

static struct identity_path path_of(const char *text)
{
    struct identity_path path;

    assert_ok(identity_path_read(text, &path, NULL));
    return path;
}

static void set_up(void)
{
    struct lookup_conf conf = {
        .work = work, .settled = settled, .context = sim,
        .types = {[LOOKUP_KEYS] = identity_keys_type, [LOOKUP_INTROSPECTION] = identity_introspection_type,
                  [LOOKUP_TOKEN] = identity_token_type},
    };

    assert_ok(lookup_new(&conf, &lookups));
    assert_ok(identity_proofs_new(clock_wall_us(), &proofs));
    lookup_work = 0;
    provider = (struct identity_provider){
        .rules = {.name = "corp", .issuer = ISSUER, .algorithms = identity_algorithm_bit(SPAN_LIT("ES256")),
                  .leeway_us = 60000000, .longest_us = INT64_C(86400000000)},
    };
    identity_provider_seal(&provider);
    sim->identity[0] = (struct identity_source){
        .kind = IDENTITY_TOKEN, .header = "DPoP", .provider = &provider,
        .rules = {.audiences = audiences, .principal = {.claim = path_of("$.sub")}, .tenant = {.claim = path_of("$.org")}},
    };
    sim->lane.conf->providers = &provider;
    sim->lane.conf->provider_count = 1;
    sim->lane.lookups = lookups;
    sim->lane.proofs = proofs;
}

static void tear_down(void)
{
    sim_agent_leaves(sim);
    sim_pass(sim, 1000000);
    sim->lane.lookups = NULL;
    sim->lane.conf->provider_count = 0;
    lookup_free(&lookups);
    identity_proofs_free(&proofs);
}

static void in_each(scene_fn scene);
static scene_fn played;

static void play(void)
{
    set_up();
    played();
    tear_down();
}

static void in_each(scene_fn scene)
{
    played = scene;
    in_every_weather(play);
}

/* Takes: kid: NULL: none; more: further claims, with a comma before. */
static const char *bearer(const struct fake_key *key, const char *kid, const char *more)
{
    static char line[4096];
    char header[100], claims[1000];
    long long now = (long long)(clock_wall_us() / 1000000);
    struct buf text;

    buf_init(&text, 65536);
    (void)snprintf(header, sizeof header, "{\"alg\":\"ES256\",%s%s%s\"typ\":\"at+jwt\"}", kid != NULL ? "\"kid\":\"" : "",
                   kid != NULL ? kid : "", kid != NULL ? "\"," : "");
    (void)snprintf(claims, sizeof claims, "{\"iss\":\"" ISSUER "\",\"aud\":\"" AUDIENCE "\",\"sub\":\"bot\",\"org\":\"acme\","
                   "\"iat\":%lld,\"exp\":%lld%s}", now, now + 300, more);
    (void)snprintf(line, sizeof line, "Authorization: Bearer %.*s\r\n",
                   SPAN_ARG(fake_token(key, "ES256", header, claims, &text)));
    buf_fini(&text);
    return line;
}

static struct lookup_key keys_key(void)
{
    struct lookup_key key = {.kind = LOOKUP_KEYS};

    memcpy(key.digest, provider.digest, DIGEST_BYTES);
    return key;
}

static void give_set(const struct fake_key *key, const char *kid)
{
    struct lookup_key of = keys_key();
    struct identity_key_set *set;
    struct lookup_work taken;
    char more[64];
    struct buf text;

    while (lookup_take(lookups, &taken))
        lookup_work_fini(&taken);
    buf_init(&text, 65536);
    (void)snprintf(more, sizeof more, ",\"kid\":\"%s\"", kid);
    fake_set(key, more, &text);
    assert_ok(identity_key_set_read(buf_peek(&text), &set, NULL));
    lookup_put(lookups, &of, set, 100, 0, INT64_MAX);
    buf_fini(&text);
    sim_run(sim);
}

static enum step state_now(void)
{
    return sim_pair(sim)->step;
}

static void answer_it(void)
{
    has(sim_upstream_hears(sim, 0), CALL);
    sim_upstream_answers(sim, 0, "application/json", ANSWER);
    has(sim_agent_hears(sim), ANSWER);
    assert_string_equal(sim_last_decision(sim)->tenant, "acme");
}

static void it_waits(void)
{
    sim_agent_posts(sim, CALL, bearer(ours, "k1", ""));
    assert_int_equal(state_now(), STEP_IDENTIFY);
    assert_int_equal(sim->ring->decision_count, 0);
    assert_int_equal(sim->upstream_count, 0);
    assert_string_equal(sim_agent_hears(sim), "");
    assert_int_equal(lookup_work, 1);
    give_set(ours, "k1");
    answer_it();
    sim_agent_posts(sim, CALL, bearer(ours, "k1", "")); /* on the same connection, and known at once */
    assert_int_equal(sim->ring->decision_count, 2);
    assert_int_equal(lookup_work, 1);
}

TEST_CASE(test_it_waits)
{
    in_each(it_waits);
}

/* A key id nobody knows: after one fetch it is 401; who has a known one is not held up meanwhile. */
static void unknown_key(void)
{
    struct lookup_key of = keys_key();

    give_set(ours, "k1");
    sim_agent_posts(sim, CALL, bearer(others, "k2", ""));
    assert_int_equal(state_now(), STEP_IDENTIFY);
    lookup_fail(lookups, &of, REASON_IDENTITY_UNAVAILABLE, 0);
    sim_run(sim);
    has(sim_agent_hears(sim), "HTTP/1.1 401 ");
    assert_int_equal(sim_last_decision(sim)->reason, REASON_CREDENTIAL_WRONG);
    for (int i = 0; i < 10; i++) {
        sim_connect(sim); /* what was refused with its head leaves its body unread */
        sim_agent_posts(sim, CALL, bearer(others, "k2", ""));
        has(sim_agent_hears(sim), "HTTP/1.1 401 ");
    }
    assert_int_equal(lookup_work, 1);
    sim_connect(sim);
    sim_agent_posts(sim, CALL, bearer(ours, "k1", ""));
    answer_it();
}

TEST_CASE(test_unknown_key)
{
    in_each(unknown_key);
}

static void away(void)
{
    struct lookup_key of = keys_key();

    sim_agent_posts(sim, CALL, bearer(ours, "k1", ""));
    lookup_fail(lookups, &of, REASON_IDENTITY_UNAVAILABLE, INT64_MAX);
    sim_run(sim);
    has(sim_agent_hears(sim), "HTTP/1.1 503 ");
    assert_int_equal(sim_last_decision(sim)->reason, REASON_IDENTITY_UNAVAILABLE);
    sim_connect(sim);
    sim_agent_posts(sim, CALL, bearer(ours, "k1", "")); /* nobody is asked again so soon */
    has(sim_agent_hears(sim), "HTTP/1.1 503 ");
    assert_int_equal(lookup_work, 1);
}

static void never_answered(void)
{
    sim_agent_posts(sim, CALL, bearer(ours, "k1", ""));
    sim_pass(sim, LOOKUP_WAIT_US + 1000);
    has(sim_agent_hears(sim), "HTTP/1.1 503 ");
    assert_int_equal(sim_last_decision(sim)->reason, REASON_IDENTITY_UNAVAILABLE);
    assert_int_equal(sim->upstream_count, 0);
    give_set(ours, "k1");
    sim_connect(sim);
    sim_agent_posts(sim, CALL, bearer(ours, "k1", ""));
    answer_it();
}

TEST_CASE(test_away)
{
    in_each(away);
    in_each(never_answered);
}

static void agent_leaves(void)
{
    sim_agent_posts(sim, CALL, bearer(ours, "k1", ""));
    assert_int_equal(state_now(), STEP_IDENTIFY);
    sim_agent_leaves(sim);
    sim_run(sim);
    assert_null(sim_pair(sim));
    give_set(ours, "k1");
    assert_int_equal(sim->ring->decision_count, 0);
    assert_int_equal(sim->upstream_count, 0);
}

static void gate_drains(void)
{
    sim_agent_posts(sim, CALL, bearer(ours, "k1", ""));
    lane_go(&sim->lane, LANE_DRAINS, 1, -1);
    sim_run(sim);
    assert_int_equal(state_now(), STEP_IDENTIFY);
    give_set(ours, "k1");
    has(sim_upstream_hears(sim, 0), CALL);
    sim_upstream_answers(sim, 0, "application/json", ANSWER);
    has(sim_agent_hears(sim), "Connection: close\r\n");
}

static void gate_stops(void)
{
    sim_agent_posts(sim, CALL, bearer(ours, "k1", ""));
    pair_close(sim_pair(sim), REASON_DRAINING);
    sim_run(sim);
    assert_null(sim_pair(sim));
    give_set(ours, "k1");
    assert_int_equal(sim->ring->decision_count, 0);
}

TEST_CASE(test_endings)
{
    in_each(agent_leaves);
    in_each(gate_drains);
    in_each(gate_stops);
}

/* What HEAD would have refused behind the identity is refused behind the waiting. */
static void refused_behind(void)
{
    char headers[4200];

    (void)snprintf(headers, sizeof headers, "%sMcp-Session-Id: forged\r\n", bearer(ours, "k1", ""));
    sim_agent_posts(sim, CALL, headers);
    assert_int_equal(state_now(), STEP_IDENTIFY);
    give_set(ours, "k1");
    has(sim_agent_hears(sim), "HTTP/1.1 404 ");
    assert_int_equal(sim_last_decision(sim)->reason, REASON_SESSION_FOREIGN);
}

/* Its body comes while it waits, more of it than a buffer holds; and a batch is read as ever. */
static void large_body(void)
{
    static char body[200000], head[5000];
    size_t len;

    (void)snprintf(body, sizeof body, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"t\","
                   "\"arguments\":{\"a\":\"");
    len = strlen(body);
    memset(body + len, 'x', 150000);
    memcpy(body + len + 150000, "\"}}}", 5);
    (void)snprintf(head, sizeof head, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                   "Accept: application/json, text/event-stream\r\nContent-Length: %zu\r\n%s\r\n", strlen(body),
                   bearer(ours, "k1", ""));
    sim_agent_says(sim, head);
    sim_agent_says(sim, body);
    assert_int_equal(state_now(), STEP_IDENTIFY);
    give_set(ours, "k1");
    has(sim_upstream_hears(sim, 0), body + len - 20);
}

/* A reload takes the provider away while a call waits: what that says of its token then counts no more. */
static void provider_goes(void)
{
    sim_agent_posts(sim, CALL, bearer(ours, "k1", ""));
    assert_int_equal(state_now(), STEP_IDENTIFY);
    sim->lane.conf->provider_count = 0;
    give_set(ours, "k1");
    has(sim_agent_hears(sim), "HTTP/1.1 401 ");
    assert_int_equal(sim_last_decision(sim)->reason, REASON_CREDENTIAL_WRONG);
    assert_int_equal(sim->upstream_count, 0);
}

TEST_CASE(test_what_follows)
{
    in_each(refused_behind);
    in_each(large_body);
    in_each(provider_goes);
}

/* 8.2: a stream ends when its token's key is taken from the set, also where the token names no key, and where another key has its
 * name then. */
static void stream_until(const char *kid, const char *after)
{
    char head[5000];

    (void)snprintf(head, sizeof head, "GET /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n%s\r\n",
                   bearer(ours, kid, ""));
    sim_agent_says(sim, head);
    assert_int_equal(state_now(), STEP_IDENTIFY);
    give_set(ours, "k1");
    sim_upstream_says(sim, 0, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
                              "6\r\n: hi\n\n\r\n");
    sim_pass(sim, 2000000); /* its head waits for a first event, and not for long */
    has(sim_agent_hears(sim), "HTTP/1.1 200 ");
    give_set(ours, "k1");
    sim_pass(sim, 2000000);
    assert_int_equal(state_now(), STEP_RELAY);
    give_set(others, after);
    sim_pass(sim, 2000000);
    assert_null(sim_pair(sim));
}

static void open_stream(void)
{
    stream_until("k1", "k2");
}

static void open_stream_without_name(void)
{
    stream_until(NULL, "k1");
}

static void open_stream_same_name(void)
{
    stream_until("k1", "k1");
}

TEST_CASE(test_open_stream)
{
    in_each(open_stream);
    in_each(open_stream_without_name);
    in_each(open_stream_same_name);
}

static int make_keys(void **state)
{
    (void)state;
    ours = fake_key_make("P-256");
    others = fake_key_make("P-256");
    return 0;
}

static int free_keys(void **state)
{
    (void)state;
    fake_key_free(&ours);
    fake_key_free(&others);
    return 0;
}

TEST_MAIN(make_keys, free_keys)
