/* SPDX-License-Identifier: Apache-2.0 */
/* Notifications of servers: many at once, judged or not, and a policy that changes among them. */
#include "sim/sim_check.h"
#include "language/language.h"

#include <stdio.h>

#define CALL "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":{\"name\":\"search\",\"arguments\":{}}}"
#define RESULT "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"content\":[]}}"
#define PROGRESS "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progress\":1}}"

static bool passes(struct gate *gate, const struct call *message, struct span method, struct gate_passing *passing)
{
    const struct gate_came came = {.method = method};

    return gate_passes(gate, message, &came, passing);
}

static void stream_begins(unsigned index, const char *headers)
{
    sim_upstream_says(sim, index, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n");
    sim_upstream_says(sim, index, headers);
    sim_upstream_says(sim, index, "Connection: close\r\n\r\n");
}

static void event(unsigned index, const char *json)
{
    sim_upstream_says(sim, index, "event: message\ndata: ");
    sim_upstream_says(sim, index, json);
    sim_upstream_says(sim, index, "\n\n");
}

static void publish(const char *more)
{
    char text[1024];
    struct policy_file file = {SPAN_LIT("sim.yaml"), SPAN_NONE};
    struct policy *policy;
    struct faults faults;

    (void)snprintf(text, sizeof text, "policy: sim\nrules:\n"
                   "  - {id: sim.protocol, effect: permit, match: {methods: [protocol]}}\n"
                   "  - {id: sim.tools, effect: permit, match: {tools: ['*']}}\n%s", more);
    file.text = span_text(text);
    faults_init(&faults);
    assert_ok(policy_compile(&file, 1, 8, &policy, &faults, NULL));
    gate_publish_policy(sim->shared, policy);
}

#define LOG(level) "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"" level "\"}}"
#define LINES(json) "event: message\ndata: " json "\n\n"
#define THREE LINES(PROGRESS) LINES(LOG("debug")) LINES(LOG("info"))

/* Verdicts are the same whether a rule looks into notifications or none can, and change with the policy within a stream. */
static void policy_changes_within(void)
{
    struct digest digest;
    unsigned char wanted[DIGEST_BYTES];
    const char *text;

    publish("");
    sim_agent_posts(sim, CALL, "");
    stream_begins(0, "");
    (void)sim_agent_hears(sim);
    sim_upstream_says(sim, 0, THREE);
    text = sim_agent_hears(sim);
    if (sim->weather == SIM_PLAIN)
        has(text, THREE); /* in one chunk: what was read together is written together */
    has(text, LOG("debug"));
    publish("  - {id: f, effect: forbid, match: {methods: [notifications/message]}, when: [{arg: level, equals: debug}]}\n");
    sim_upstream_says(sim, 0, THREE);
    text = sim_agent_hears(sim);
    has(text, PROGRESS);
    has_not(text, LOG("debug"));
    has(text, LOG("info"));
    publish("  - {id: f, effect: forbid, match: {methods: ['notifications/*']}}\n");
    sim_upstream_says(sim, 0, THREE);
    has_not(sim_agent_hears(sim), "data:");
    publish("");
    sim_upstream_says(sim, 0, LINES(PROGRESS));
    event(0, RESULT);
    text = sim_agent_hears(sim);
    has(text, PROGRESS);
    sim_upstream_leaves(sim, 0);
    (void)sim_agent_hears(sim);
    assert_int_equal(sim_last_outcome(sim)->server_notifications, 3 + 2 + 1);
    assert_int_equal(sim_last_outcome(sim)->server_denied, 1 + 3);
    digest_init(&digest);
    text = THREE LINES(PROGRESS) LINES(LOG("info")) LINES(PROGRESS) LINES(RESULT);
    digest_add(&digest, text, strlen(text));
    digest_final(&digest, wanted);
    assert_int_equal(sim_last_outcome(sim)->response_bytes, strlen(text));
    assert_memory_equal(sim_last_outcome(sim)->response_digest, wanted, DIGEST_BYTES);
}

/* An upstream that says much at once is read in steps, and all that it says comes in order. */
static void a_thousand_at_once(void)
{
    static char all[100000];
    const char *text;
    size_t len = 0;

    for (int i = 0; i < 1000; i++)
        len += (size_t)snprintf(all + len, sizeof all - len,
                                "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"n\":%d}}\n\n", i);
    sim->capacity_bytes = 200000;
    sim_connect(sim);
    sim_agent_posts(sim, CALL, "");
    stream_begins(0, "");
    (void)sim_agent_hears(sim);
    sim_upstream_says(sim, 0, all);
    text = sim_agent_hears(sim);
    for (int i = 0; i < 1000; i++) {
        char wanted[32];

        (void)snprintf(wanted, sizeof wanted, "{\"n\":%d}", i);
        text = strstr(text, wanted);
        assert_non_null(text);
    }
    event(0, RESULT);
    sim_upstream_leaves(sim, 0);
    (void)sim_agent_hears(sim);
    assert_int_equal(sim_last_outcome(sim)->server_notifications, 1000);
}

/* What needs no judgement is asked once, and anew with each version. */
static void passing_follows_the_policy(void)
{
    struct call message = {.asked.tenant = SPAN_LIT("acme"), .asked.principal = SPAN_LIT("bot"), .asked.upstream = SPAN_LIT("shop")};
    const struct span progress = SPAN_LIT("notifications/progress"), log = SPAN_LIT("notifications/message");
    struct gate *gate = sim->lane.gate;
    struct gate_passing passing = {0};
    char long_name[200];

    publish("");
    assert_true(passes(gate, &message, progress, &passing));
    assert_true(passes(gate, &message, progress, &passing));
    assert_true(passes(gate, &message, log, &passing));
    publish("  - {id: f, effect: forbid, match: {methods: [notifications/message]}, when: [{arg: level, equals: debug}]}\n");
    assert_false(passes(gate, &message, log, &passing));
    assert_true(passes(gate, &message, progress, &passing));
    assert_false(passes(gate, &message, log, &passing));
    assert_false(passes(gate, &message, SPAN_LIT("unheard/of"), &passing));
    memset(long_name, 'x', sizeof long_name);
    assert_false(passes(gate, &message, span_of(long_name, sizeof long_name), &passing));
    gate_publish_policy(sim->shared, NULL);
    assert_false(passes(gate, &message, progress, &passing)); /* no policy, no permit */
}

TEST_CASE(test_notifications) /* 6.7 */
{
    in_every_weather(passing_follows_the_policy);
    in_every_weather(policy_changes_within);
    in_every_weather(a_thousand_at_once);
}

TEST_MAIN(NULL, NULL)
