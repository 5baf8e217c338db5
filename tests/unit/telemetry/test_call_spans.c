/* SPDX-License-Identifier: Apache-2.0 */
/* 13.6: what a row says as spans and logs, by OTLP's JSON mapping: ids in hexadecimal, times in nanoseconds as text, kinds as
 * numbers; the agent's context; what is chosen; whatever a text holds. */
#include "json/text.h"
#include "telemetry/call_spans.h"
#include "telemetry/otlp.h"
#include "fakes/cm.h"

#include <string.h>

#define PARENT "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
#define MOST ((size_t)1 << 20)

static struct buf out;
static struct json_text said;

static const char *names[32];
static struct query_value values[32];
static struct query_row row = {.names = names, .values = values};

static void put(const char *name, const char *value)
{
    for (int i = 0; i < row.count; i++)
        if (strcmp(names[i], name) == 0) {
            values[i].text = value != NULL ? span_text(value) : SPAN_NONE;
            return;
        }
    names[row.count] = name;
    values[row.count++].text = value != NULL ? span_text(value) : SPAN_NONE;
}

/* A permitted call, answered. */
static void answered(void)
{
    row.count = 0;
    put("hash", "c406cecfa359b188b18c55c9663194be669b2cf10d672f7284e1abeca2a5a749");
    put("decision", "7");
    put("method", "tools/call");
    put("tool", "search");
    put("rpc_id", "\"a-1\"");
    put("verdict", "permit");
    put("outcome", "result");
    put("status", "200");
    put("time_us", "1795862452371665");
    put("decided_us", "1795862452253634");
    put("judge_us", "14");
    put("latency_us", "118105");
    put("upstream_us", "61037");
    put("principal", "ann");
    put("arguments", "{\"card\":\"4111\"}");
}

static const struct json_node *tell(const struct call_spans *spans, enum entry_kind kind)
{
    struct buf list;

    json_text_fini(&said);
    buf_clear(&out);
    assert_int_equal(call_spans_add(&out, spans, kind, &row), CODE_OK);
    if (buf_is_empty(&out))
        return NULL;
    buf_init(&list, MOST);
    assert_int_equal(buf_addf(&list, "[%.*s]", SPAN_ARG(buf_peek(&out))), CODE_OK);
    assert_int_equal(json_text_read(&said, buf_peek(&list), &json_file_rules, MOST), CODE_OK);
    buf_fini(&list);
    return said.root->child;
}

static struct span attribute(const struct json_node *span, const char *name, const char *kind)
{
    for (const struct json_node *one = json_member(span, SPAN_LIT("attributes"))->child; one != NULL; one = one->next)
        if (span_is(json_member_text(one, "key"), name))
            return json_member_text(json_member(one, SPAN_LIT("value")), kind);
    return SPAN_NONE;
}

static void is(struct span got, const char *wanted)
{
    if (!span_is(got, wanted))
        fail_msg("%.*s is not %s", SPAN_ARG(got), wanted);
}

TEST_CASE(tells_a_call)
{
    static const struct call_spans spans = {.one_in = 1};
    const struct json_node *call, *judge, *record, *upstream;

    answered();
    call = tell(&spans, ENTRY_OUTCOME);
    judge = call->next;
    record = judge->next;
    upstream = record->next;
    assert_null(upstream->next);
    is(json_member_text(call, "name"), "tools/call search");
    is(json_member(call, SPAN_LIT("kind"))->raw, "2");
    is(json_member_text(call, "startTimeUnixNano"), "1795862452253560000");
    is(json_member_text(call, "endTimeUnixNano"), "1795862452371665000");
    is(json_member_text(judge, "startTimeUnixNano"), "1795862452253634000");
    is(json_member_text(judge, "endTimeUnixNano"), "1795862452253648000");
    is(json_member_text(record, "startTimeUnixNano"), "1795862452253648000");
    is(json_member_text(record, "endTimeUnixNano"), "1795862452310628000");
    is(json_member_text(upstream, "startTimeUnixNano"), "1795862452310628000");
    is(json_member_text(upstream, "endTimeUnixNano"), "1795862452371665000");
    is(json_member(upstream, SPAN_LIT("kind"))->raw, "3");
    assert_int_equal(json_member_text(call, "traceId").len, 32);
    assert_int_equal(json_member_text(call, "spanId").len, 16);
    assert_null(json_member(call, SPAN_LIT("parentSpanId")));
    for (const struct json_node *child = judge; child != NULL; child = child->next) {
        assert_true(span_equals(json_member_text(child, "parentSpanId"), json_member_text(call, "spanId")));
        assert_true(span_equals(json_member_text(child, "traceId"), json_member_text(call, "traceId")));
        assert_false(span_equals(json_member_text(child, "spanId"), json_member_text(call, "spanId")));
    }
    is(attribute(call, "gen_ai.tool.name", "stringValue"), "search");
    is(attribute(call, "gen_ai.operation.name", "stringValue"), "execute_tool");
    is(attribute(call, "mcp.method.name", "stringValue"), "tools/call");
    is(attribute(call, "jsonrpc.request.id", "stringValue"), "a-1");
    is(attribute(call, "http.response.status_code", "intValue"), "200");
    is(attribute(call, "callgate.decision", "intValue"), "7");
    assert_null(json_member(call, SPAN_LIT("status")));
    assert_null(attribute(call, "enduser.id", "stringValue").at);
    assert_null(attribute(call, "gen_ai.tool.call.arguments", "stringValue").at);
}

TEST_CASE(tells_more_where_it_is_asked_to)
{
    static const struct call_spans spans = {.one_in = 1, .principals = true, .arguments = true};
    const struct json_node *call;

    answered();
    call = tell(&spans, ENTRY_OUTCOME);
    is(attribute(call, "enduser.id", "stringValue"), "ann");
    is(attribute(call, "gen_ai.tool.call.arguments", "stringValue"), "{\"card\":\"4111\"}");
    put("arguments", NULL); /* erased, or never kept */
    assert_null(attribute(tell(&spans, ENTRY_OUTCOME), "gen_ai.tool.call.arguments", "stringValue").at);
}

/* A row has the same ids each time, so that a collector knows what it has; another row has others. */
TEST_CASE(ids_are_the_rows)
{
    static const struct call_spans spans = {.one_in = 1};
    const struct json_node *call;
    char first[16];

    answered();
    call = tell(&spans, ENTRY_OUTCOME);
    memcpy(first, json_member_text(call, "spanId").at, sizeof first);
    call = tell(&spans, ENTRY_OUTCOME);
    assert_memory_equal(first, json_member_text(call, "spanId").at, sizeof first);
    put("hash", "c406cecfa359b188b18c55c9663194be669b2cf10d672f7284e1abeca2a5a74a");
    call = tell(&spans, ENTRY_OUTCOME);
    assert_memory_not_equal(first, json_member_text(call, "spanId").at, sizeof first);
}

TEST_CASE(says_what_failed)
{
    static const struct {
        const char *verdict, *outcome, *error_code, *error;
    } cases[] = {
        {"permit", "tool_error", NULL, "tool_error"}, {"permit", "protocol_error", "-32602", "-32602"},
        {"permit", "http_error", NULL, "200"}, {"permit", "timeout", NULL, "timeout"}, {"permit", "accepted", NULL, NULL},
        {"permit", "refused", NULL, "refused"}, {"deny", NULL, NULL, "forbidden"}, {"hold", NULL, NULL, NULL},
    };
    static const struct call_spans spans = {.one_in = 1};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct json_node *call;
        struct span error;

        answered();
        put("verdict", cases[i].verdict);
        put("outcome", cases[i].outcome);
        put("error_code", cases[i].error_code);
        put("reason", "forbidden");
        call = tell(&spans, cases[i].outcome != NULL ? ENTRY_OUTCOME : ENTRY_DECISION);
        error = attribute(call, "error.type", "stringValue");
        if (cases[i].error == NULL)
            assert_null(error.at);
        else
            is(error, cases[i].error);
        assert_true((error.at != NULL) == (json_member(call, SPAN_LIT("status")) != NULL));
        if (cases[i].outcome == NULL)
            assert_null(call->next->next); /* when its record was durable, its row does not say */
    }
}

/* ---- the agent's context ---- */

TEST_CASE(goes_on_with_the_agents_trace)
{
    static const struct call_spans spans = {.one_in = 1}, links = {.one_in = 1, .links = true};
    const struct json_node *call, *link;

    answered();
    put("params", "{\"_meta\":{\"traceparent\":\"" PARENT "\"}}");
    put("trace", "4bf92f3577b34da6a3ce929d0e0e4736");
    call = tell(&spans, ENTRY_OUTCOME);
    is(json_member_text(call, "traceId"), "4bf92f3577b34da6a3ce929d0e0e4736");
    is(json_member_text(call, "parentSpanId"), "00f067aa0ba902b7");
    is(json_member(call, SPAN_LIT("flags"))->raw, "769");
    put("params", NULL); /* of a header the row has the trace alone */
    call = tell(&spans, ENTRY_OUTCOME);
    is(json_member_text(call, "traceId"), "4bf92f3577b34da6a3ce929d0e0e4736");
    assert_null(json_member(call, SPAN_LIT("parentSpanId")));
    put("params", "{\"_meta\":{\"traceparent\":\"" PARENT "\"}}");
    call = tell(&links, ENTRY_OUTCOME);
    assert_false(span_is(json_member_text(call, "traceId"), "4bf92f3577b34da6a3ce929d0e0e4736"));
    link = json_member(call, SPAN_LIT("links"))->child;
    is(json_member_text(link, "traceId"), "4bf92f3577b34da6a3ce929d0e0e4736");
    is(json_member_text(link, "spanId"), "00f067aa0ba902b7");
}

TEST_CASE(takes_no_crooked_context)
{
    static const char *const crooked[] = {
        "00-00000000000000000000000000000000-00f067aa0ba902b7-01", "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
        "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-x", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0", "",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-zz", "\\\"},{\\\"traceId\\\":\\\"",
    };
    static const struct call_spans spans = {.one_in = 1};
    char params[256];

    for (size_t i = 0; i < sizeof crooked / sizeof crooked[0]; i++) {
        answered();
        (void)snprintf(params, sizeof params, "{\"_meta\":{\"traceparent\":\"%s\"}}", crooked[i]);
        put("params", params);
        assert_null(json_member(tell(&spans, ENTRY_OUTCOME), SPAN_LIT("parentSpanId")));
    }
    put("params", "{\"_meta\":{\"traceparent\":\"" PARENT); /* cut */
    assert_null(json_member(tell(&spans, ENTRY_OUTCOME), SPAN_LIT("parentSpanId")));
    put("params", "{\"_meta\":{\"traceparent\":\"01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more\"}}");
    is(json_member_text(tell(&spans, ENTRY_OUTCOME), "parentSpanId"), "00f067aa0ba902b7");
}

/* ---- what is chosen ---- */

TEST_CASE(chooses)
{
    static const struct call_spans all = {.one_in = 1}, links = {.one_in = 1, .links = true}, tenth = {.one_in = 10};
    char trace[33];
    int chosen = 0;

    answered();
    put("params", "{\"_meta\":{\"traceparent\":\"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00\"}}");
    assert_null(tell(&all, ENTRY_OUTCOME)); /* the agent's own trace is not kept */
    assert_non_null(tell(&links, ENTRY_OUTCOME));
    put("verdict", "deny");
    put("outcome", NULL);
    assert_non_null(tell(&all, ENTRY_DECISION)); /* an agent keeps no denial back */
    answered();
    for (int i = 0; i < 1000; i++) {
        (void)snprintf(trace, sizeof trace, "4bf92f3577b34da6a3%014llx", (1ULL << 56) / 1000 * (unsigned)i);
        put("trace", trace);
        chosen += tell(&tenth, ENTRY_OUTCOME) != NULL;
    }
    assert_in_range(chosen, 99, 101);
    put("trace", "4bf92f3577b34da6a3e6666666666666"); /* a tenth, as OpenTelemetry's samplers have it, begins here */
    assert_null(tell(&tenth, ENTRY_OUTCOME));
    put("trace", "4bf92f3577b34da6a3e6666666666667");
    assert_non_null(tell(&tenth, ENTRY_OUTCOME));
    assert_int_equal(call_spans_add(&out, &tenth, ENTRY_EVENT, &row), CODE_OK);
    put("expects_outcome", "1");
    assert_null(tell(&all, ENTRY_DECISION)); /* its outcome is due */
}

/* ---- whatever stands in a row ---- */

TEST_CASE(takes_any_text)
{
    static const struct call_spans spans = {.one_in = 1, .principals = true, .arguments = true, .details = true};
    static char longer[8192];
    const struct json_node *call;

    answered();
    put("tool", "a\"b\\c\n\x01\xff\xe2\x80");
    call = tell(&spans, ENTRY_OUTCOME);
    is(json_member_text(call, "name"), "tools/call a\"b\\c\n\x01\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
    memset(longer, 'x', sizeof longer - 1);
    put("tool", longer);
    call = tell(&spans, ENTRY_OUTCOME);
    assert_int_equal(attribute(call, "gen_ai.tool.name", "stringValue").len, OTLP_TEXT_BYTES + 3);
    put("method", NULL);
    is(json_member_text(tell(&spans, ENTRY_OUTCOME), "name"), "unknown");
    put("time_us", "-9223372036854775808");
    put("latency_us", "9223372036854775807");
    put("decided_us", "9223372036854775807");
    put("upstream_us", "9223372036854775807");
    assert_non_null(tell(&spans, ENTRY_OUTCOME));
}

/* The clock was set back while the server had the call: no span begins outside of its parent. */
TEST_CASE(clocks_jump)
{
    static const struct call_spans spans = {.one_in = 1};
    const struct json_node *call;

    answered();
    put("decided_us", "1795862999999999");
    call = tell(&spans, ENTRY_OUTCOME);
    for (const struct json_node *child = call->next; child != NULL; child = child->next) {
        assert_true(span_compare(json_member_text(child, "startTimeUnixNano"), json_member_text(call, "startTimeUnixNano")) >= 0);
        assert_true(span_compare(json_member_text(child, "endTimeUnixNano"), json_member_text(call, "endTimeUnixNano")) <= 0);
        assert_true(span_compare(json_member_text(child, "startTimeUnixNano"), json_member_text(child, "endTimeUnixNano")) <= 0);
    }
}

/* ---- events ---- */

static const struct json_node *log_of(const struct call_spans *spans)
{
    json_text_fini(&said);
    buf_clear(&out);
    assert_int_equal(call_spans_log(&out, spans, &row), CODE_OK);
    assert_int_equal(json_text_read(&said, buf_peek(&out), &json_file_rules, MOST), CODE_OK);
    return said.root;
}

TEST_CASE(logs_events)
{
    static const struct call_spans little = {.one_in = 1}, much = {.one_in = 1, .principals = true, .details = true};
    const struct json_node *log;

    row.count = 0;
    put("seq", "5");
    put("event", "audit_down");
    put("time_us", "1795862452371665");
    put("actor", "ann");
    put("detail", "{\"why\":\"disk\"}");
    log = log_of(&little);
    is(json_member_text(log, "eventName"), "callgate.audit_down");
    is(json_member(log, SPAN_LIT("severityNumber"))->raw, "17");
    is(json_member_text(log, "timeUnixNano"), "1795862452371665000");
    is(json_member_text(json_member(log, SPAN_LIT("body")), "stringValue"), "audit_down");
    assert_null(attribute(log, "callgate.actor", "stringValue").at);
    log = log_of(&much);
    is(json_member_text(json_member(log, SPAN_LIT("body")), "stringValue"), "{\"why\":\"disk\"}");
    is(attribute(log, "callgate.actor", "stringValue"), "ann");
    put("event", "policy_text"); /* a policy is nobody's to read in a log */
    is(json_member_text(json_member(log_of(&much), SPAN_LIT("body")), "stringValue"), "policy_text");
    put("event", "x\"}\x01");
    is(json_member_text(log_of(&much), "eventName"), "callgate.x\"}\x01");
}

int main(void)
{
    int failed;

    buf_init(&out, MOST);
    failed = tests_run(NULL, NULL);
    json_text_fini(&said);
    buf_fini(&out);
    return failed;
}
