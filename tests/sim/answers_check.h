/* SPDX-License-Identifier: Apache-2.0 */
/* What simulations of rules for answers share: `PAN7` is cut out, a `secret` stays here, `seen` is noted. */
#ifndef SIM_ANSWERS_CHECK_H
#define SIM_ANSWERS_CHECK_H

#include "sim/sim_check.h"
#include "language/language.h"

#include <stdio.h>

#define CALL(name) "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":{\"name\":\"" name "\",\"arguments\":{}}}"
#define TEXT(text) "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"" text "\"}],\"n\":1.50}}"
#define ERROR(message, data) "{\"jsonrpc\":\"2.0\",\"id\":3,\"error\":{\"code\":-3,\"message\":\"" message "\",\"data\":" data "}}"
#define PROGRESS(text) \
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progress\":1,\"message\":\"" text "\"}}"
#define SAMPLING(text) \
    "{\"jsonrpc\":\"2.0\",\"id\":\"s1\",\"method\":\"sampling/createMessage\",\"params\":{\"systemPrompt\":\"" text "\"}}"
#define CUT "[left out: cards]"
#define WITHHELD "This call was made, and what came back is withheld; do not retry it. Ask the owner."

static const char *const rules =
    "policy: answers\n"
    "rules:\n"
    "  - {id: all, effect: permit, match: {methods: ['*']}}\n"
    "  - {id: tools, effect: permit, match: {tools: ['*']}}\n"
    "answers:\n"
    "  - {id: cards, effect: redact, match: {upstreams: [shop]}, when: [{value: '$..*', matches: 'PAN7|77007'}]}\n"
    "  - {id: inside, effect: withhold, say: Ask the owner., when: [{value: '$..*', matches: secret}]}\n"
    "  - {id: noted, effect: flag, match: {tools: [search]}, when: [{value: '$..*', matches: seen}]}\n"
    "  - {id: vault, effect: withhold, match: {tools: [vault]}}\n";

static inline void publish(const char *text)
{
    struct policy_file file = {SPAN_LIT("answers.yaml"), span_text(text)};
    struct policy *policy;
    struct faults faults;

    faults_init(&faults);
    if (policy_compile(&file, 1, 8, &policy, &faults, NULL) != CODE_OK)
        fail_msg("%s:%d: %s", faults.fault[0].file, faults.fault[0].line, faults.fault[0].text);
    gate_publish_policy(sim->shared, policy);
}

static inline void ended(enum audit_outcome outcome, enum reason reason, const char *effect, const char *rule)
{
    const struct fake_outcome *last = sim_last_outcome(sim);

    assert_int_equal(last->outcome, outcome);
    assert_int_equal(last->reason, reason);
    assert_string_equal(last->answer_effect, effect);
    assert_string_equal(last->answer_rule, rule);
}

static inline void stream_begins(unsigned index)
{
    sim_upstream_says(sim, index, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n");
    (void)sim_agent_hears(sim);
}

static inline void event(unsigned index, const char *json)
{
    sim_upstream_says(sim, index, "data: ");
    sim_upstream_says(sim, index, json);
    sim_upstream_says(sim, index, "\n\n");
}

/* Takes: head: status line and lines, each with CRLF. */
static inline void says(const char *head, const char *body)
{
    char text[2048];

    (void)snprintf(text, sizeof text, "HTTP/1.1 %sContent-Length: %zu\r\n\r\n%s", head, strlen(body), body);
    sim_upstream_says(sim, 0, text);
}

#define JSON_HEAD "Content-Type: application/json\r\n"

static inline void answers(const char *body)
{
    sim_upstream_answers(sim, 0, "application/json", body);
}

static char session[1024];

static inline void open_session(const char *revision)
{
    char text[512];
    const char *at;
    size_t len;

    (void)snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"%s\","
                   "\"capabilities\":{},\"clientInfo\":{\"name\":\"a\",\"version\":\"1\"}}}", revision);
    sim_agent_posts(sim, text, "");
    (void)sim_upstream_hears(sim, 0);
    (void)snprintf(text, sizeof text, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nMcp-Session-Id: inner\r\nConnection: close"
                   "\r\n\r\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocolVersion\":\"%s\",\"capabilities\":{},"
                   "\"serverInfo\":{\"name\":\"s\",\"version\":\"1\"}}}\n\n", revision);
    sim_upstream_says(sim, 0, text);
    at = strstr(sim_agent_hears(sim), "Mcp-Session-Id: inner.");
    assert_non_null(at);
    len = strcspn(at, "\r");
    memcpy(session, at, len);
    memcpy(session + len, "\r\n", 3);
    sim_upstream_leaves(sim, 0);
    (void)sim_agent_hears(sim);
}

#endif
