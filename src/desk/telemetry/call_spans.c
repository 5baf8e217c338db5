/* SPDX-License-Identifier: Apache-2.0 */
#include "telemetry/call_spans.h"

#include "base/num.h"
#include "base/utf8.h"
#include "http/trace.h"
#include "json/text.h"
#include "os/sock.h"
#include "telemetry/otlp.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define LATEST_US (INT64_C(1) << 53)
#define TURN_US INT64_C(1000000)
#define PARAMS_BYTES ((size_t)1 << 20)

enum { KIND_INTERNAL = 1, KIND_SERVER = 2, KIND_CLIENT = 3 };
enum { FLAG_SAMPLED = 0x01, FLAG_KNOWS_REMOTE = 0x100, FLAG_IS_REMOTE = 0x200 };
enum span_of_call { SPAN_CALL = 0, SPAN_JUDGE, SPAN_RECORD, SPAN_UPSTREAM, SPANS };

/* What the agent says of its trace (W3C Trace Context). */
struct context {
    char trace[TRACE_DIGITS], parent[PARENT_DIGITS];
    bool has_trace, has_parent, is_unsampled;
};

struct telling {
    struct buf *out;
    const struct call_spans *spans;
    const struct query_row *row;
    struct context context;
    char trace[TRACE_DIGITS], ids[SPANS][PARENT_DIGITS];
    int64_t begin_us, judged_us, decided_us, end_us, upstream_us; /* upstream_us: how long; -1: nobody knows */
    bool has_outcome, has_spans; /* has_spans: one was written */
};

static struct span value_of(const struct telling *telling, const char *name)
{
    return query_value(telling->row, name);
}

static int64_t number_of(const struct telling *telling, const char *name, int64_t otherwise)
{
    int64_t number = otherwise;

    return num_i64(value_of(telling, name), &number) == CODE_OK ? number : otherwise;
}

/* ---- the agent's context ---- */

static void read_parent(struct span value, struct context *context)
{
    struct trace trace;

    if (!trace_read(value, &trace))
        return;
    memcpy(context->trace, trace.id.at, TRACE_DIGITS);
    memcpy(context->parent, trace.parent.at, PARENT_DIGITS);
    context->has_trace = context->has_parent = true;
    context->is_unsampled = !trace.is_sampled;
}

/* `_meta` of the message is what MCP has for it; of the header the row knows the trace alone. */
static void find_context(struct telling *telling)
{
    static const char wanted[] = "\"traceparent\"";
    struct span params = value_of(telling, "params"), trace = value_of(telling, "trace");
    struct json_text read;

    if (params.at != NULL && memmem(params.at, params.len, wanted, sizeof wanted - 1) != NULL) {
        if (json_text_read(&read, params, &json_file_rules, PARAMS_BYTES) == CODE_OK)
            read_parent(json_member_text(json_member(read.root, SPAN_LIT("_meta")), "traceparent"), &telling->context);
        json_text_fini(&read);
    }
    if (!telling->context.has_trace && trace_is_id(trace, TRACE_DIGITS)) {
        memcpy(telling->context.trace, trace.at, TRACE_DIGITS);
        telling->context.has_trace = true;
    }
}

/* Ids are made of the row's hash: the same row has the same ones, and no two rows have equal ones. */
static void make_ids(struct telling *telling)
{
    unsigned char ids[DIGEST_BYTES], trace[DIGEST_BYTES];
    struct span hash = value_of(telling, "hash");

    digest_of_two(SPAN_LIT("callgate span"), hash, ids);
    for (size_t i = 0; i < SPANS; i++)
        num_hex(ids + i * PARENT_DIGITS / 2, PARENT_DIGITS / 2, telling->ids[i]);
    digest_of_two(SPAN_LIT("callgate trace"), hash, trace);
    num_hex(trace, TRACE_DIGITS / 2, telling->trace);
    if (telling->context.has_trace && !telling->spans->links)
        memcpy(telling->trace, telling->context.trace, TRACE_DIGITS);
}

/* By the last 56 bits of the trace id, as OpenTelemetry's samplers choose, so that all of a trace is there or none. */
static bool is_chosen(const struct telling *telling)
{
    uint64_t random = 0, from = ((uint64_t)1 << 56) - ((uint64_t)1 << 56) / telling->spans->one_in;

    if (!span_is(value_of(telling, "verdict"), "permit"))
        return true;
    if (telling->context.is_unsampled && !telling->spans->links)
        return false;
    for (size_t i = TRACE_DIGITS - 14; i < TRACE_DIGITS; i++)
        random = random << 4 | (uint64_t)num_hex_digit(telling->trace[i]);
    return telling->spans->one_in <= 1 || random >= from;
}

/* ---- times ---- */

static int64_t within(int64_t us, int64_t from, int64_t to)
{
    return us < from ? from : us > to ? to : us;
}

/* A moment or a length, of which no file says one that cannot be. */
static int64_t time_of(const struct telling *telling, const char *name, int64_t otherwise)
{
    return within(number_of(telling, name, otherwise), otherwise < 0 ? -1 : 0, LATEST_US);
}

/* The trail has three moments and three lengths: when it was judged and for how long, when the answer was done, how long that
 * was since the head, and how long the server took. All else lies between them. */
static void find_times(struct telling *telling)
{
    int64_t own_us = time_of(telling, "time_us", 0), judge_us = time_of(telling, "judge_us", 0);

    telling->decided_us = telling->has_outcome ? time_of(telling, "decided_us", own_us) : own_us;
    telling->end_us = telling->has_outcome ? own_us : telling->decided_us + judge_us;
    telling->begin_us = telling->end_us - time_of(telling, "latency_us", judge_us);
    /* The gate looks at one of its clocks once a turn; where they are further apart, one of them jumped. */
    if (telling->decided_us < telling->begin_us && telling->begin_us - telling->decided_us < TURN_US)
        telling->begin_us = telling->decided_us;
    telling->decided_us = within(telling->decided_us, telling->begin_us, telling->end_us);
    telling->judged_us = within(telling->decided_us + judge_us, telling->decided_us, telling->end_us);
    telling->upstream_us = telling->has_outcome ? time_of(telling, "upstream_us", -1) : -1;
    if (telling->upstream_us > telling->end_us - telling->judged_us)
        telling->upstream_us = telling->end_us - telling->judged_us;
}

/* ---- spans ---- */

static struct otlp_list begin_span(struct telling *telling, enum span_of_call which, int kind, struct span name,
                                   int64_t from_us, int64_t to_us)
{
    const struct context *context = &telling->context;
    bool is_root = which == SPAN_CALL, continues = context->has_parent && !telling->spans->links;
    struct buf *out = telling->out;

    buf_addf(out, "%s{\"traceId\":\"%.*s\",\"spanId\":\"%.*s\"", telling->has_spans ? "," : "", TRACE_DIGITS, telling->trace,
             PARENT_DIGITS, telling->ids[which]);
    if (!is_root || continues)
        buf_addf(out, ",\"parentSpanId\":\"%.*s\"", PARENT_DIGITS, is_root ? context->parent : telling->ids[SPAN_CALL]);
    buf_addf(out, ",\"flags\":%d,\"kind\":%d,\"name\":",
             FLAG_SAMPLED | FLAG_KNOWS_REMOTE | (is_root && continues ? FLAG_IS_REMOTE : 0), kind);
    otlp_cut(out, name, OTLP_TEXT_BYTES);
    buf_add_byte(out, ',');
    otlp_time(out, "startTimeUnixNano", from_us);
    buf_add_byte(out, ',');
    otlp_time(out, "endTimeUnixNano", to_us);
    buf_add_byte(out, ',');
    telling->has_spans = true;
    return otlp_list_begin(out);
}

static void end_span(struct otlp_list *list, bool has_failed)
{
    otlp_list_end(list);
    buf_add_text(list->out, has_failed ? ",\"status\":{\"code\":2}}" : "}");
}

static bool is_tool_call(const struct telling *telling)
{
    return span_is(value_of(telling, "method"), "tools/call");
}

static bool is_prompt(const struct telling *telling)
{
    return span_is(value_of(telling, "method"), "prompts/get");
}

/* `{mcp.method.name} {target}`, of which URIs of resources are none, since there are too many. */
static void name_call(const struct telling *telling, struct buf *name)
{
    struct span method = value_of(telling, "method"), tool = value_of(telling, "tool");

    buf_add_span(name, method.at != NULL ? method : SPAN_LIT("unknown"));
    if (tool.len > 0 && (is_tool_call(telling) || is_prompt(telling)))
        buf_addf(name, " %.*s", SPAN_ARG(tool));
}

/* What the call failed of; at == NULL: it did not. A held call has not failed yet. */
static struct span error_of(const struct telling *telling, bool by_server)
{
    static const char *const good[] = {"result", "accepted", "stream_ended", "detached", "reported"};
    struct span outcome = value_of(telling, "outcome"), error = value_of(telling, "error_code");

    if (!telling->has_outcome)
        return span_is(value_of(telling, "verdict"), "deny") ? value_of(telling, "reason") : SPAN_NONE;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        if (span_is(outcome, good[i]))
            return SPAN_NONE;
    if (span_is(outcome, "protocol_error") && error.at != NULL)
        return error;
    if (by_server && (span_is(outcome, "refused") || span_is(outcome, "not_sent")))
        return SPAN_NONE; /* what the gate made of it */
    return span_is(outcome, "http_error") && value_of(telling, "status").at != NULL ? value_of(telling, "status") : outcome;
}

static void add_request_id(const struct telling *telling, struct otlp_list *list)
{
    struct span id = value_of(telling, "rpc_id");

    if (id.len >= 2 && id.at[0] == '"')
        id = span_part(id, 1, id.len - 2);
    if (!span_is(id, "null"))
        otlp_text(list, "jsonrpc.request.id", id);
}

/* What the conventions for MCP have of both sides. */
static void add_mcp(const struct telling *telling, struct otlp_list *list)
{
    struct span tool = value_of(telling, "tool"), method = value_of(telling, "method");

    otlp_text(list, "mcp.method.name", method);
    otlp_text(list, "mcp.protocol.version", value_of(telling, "protocol_version"));
    add_request_id(telling, list);
    if (is_tool_call(telling)) {
        otlp_text(list, "gen_ai.operation.name", SPAN_LIT("execute_tool"));
        otlp_text(list, "gen_ai.tool.name", tool);
    } else if (is_prompt(telling)) {
        otlp_text(list, "gen_ai.prompt.name", tool);
    } else if (span_starts_with(method, SPAN_LIT("resources/")) || span_is(method, "skills/get")) {
        otlp_text(list, "mcp.resource.uri", tool);
    }
    otlp_text(list, "rpc.response.status_code", value_of(telling, "error_code"));
}

static void add_people(const struct telling *telling, struct otlp_list *list)
{
    struct span client = value_of(telling, "client");
    struct sock_address address;

    otlp_text(list, "enduser.id", value_of(telling, "principal"));
    otlp_text(list, "gen_ai.agent.name", value_of(telling, "agent"));
    if (client.at != NULL && sock_parse_ip(client, 0, &address) == CODE_OK)
        otlp_text(list, "client.address", client);
}

/* Our own, by the trail's names. */
static void add_own(const struct telling *telling, struct otlp_list *list)
{
    static const char *const texts[] = {"tenant", "upstream", "correlation", "dialect", "verdict", "reason", "rule", "outcome",
                                        "plan", "answer_rule", "answer_effect"};
    static const char *const numbers[] = {"policy_version", "response_bytes", "server_withheld"};
    char name[64];

    otlp_number(list, "callgate.decision", value_of(telling, telling->has_outcome ? "decision" : "seq"));
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        (void)snprintf(name, sizeof name, "callgate.%s", texts[i]);
        otlp_text(list, name, value_of(telling, texts[i]));
    }
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        (void)snprintf(name, sizeof name, "callgate.%s", numbers[i]);
        otlp_number(list, name, value_of(telling, numbers[i]));
    }
    if (span_is(value_of(telling, "direction"), "server"))
        otlp_true(list, "callgate.from_server");
}

static void add_call(struct telling *telling, struct span name)
{
    struct span error = error_of(telling, false);
    struct otlp_list list = begin_span(telling, SPAN_CALL, KIND_SERVER, name, telling->begin_us, telling->end_us);

    add_mcp(telling, &list);
    otlp_text(&list, "network.transport",
              span_starts_with(value_of(telling, "client"), SPAN_LIT("unix:")) ? SPAN_LIT("pipe") : SPAN_LIT("tcp"));
    otlp_number(&list, "http.response.status_code", value_of(telling, "status"));
    otlp_text(&list, "error.type", error);
    add_own(telling, &list);
    if (telling->spans->principals)
        add_people(telling, &list);
    if (telling->spans->arguments && is_tool_call(telling))
        otlp_long(&list, "gen_ai.tool.call.arguments", value_of(telling, "arguments"));
    otlp_list_end(&list);
    if (telling->context.has_parent && telling->spans->links)
        buf_addf(telling->out, ",\"links\":[{\"traceId\":\"%.*s\",\"spanId\":\"%.*s\"}]", TRACE_DIGITS, telling->context.trace,
                 PARENT_DIGITS, telling->context.parent);
    buf_add_text(telling->out, error.at != NULL ? ",\"status\":{\"code\":2}}" : "}");
}

/* The row says how long the server took, and not when it was asked: it is told as if that had ended with the call, so that
 * what lies before it is at most what recording took, with what was left of the answer behind the server's first byte. */
static void add_behind_judge(struct telling *telling, struct span name)
{
    int64_t asked_us = telling->end_us - (telling->upstream_us > 0 ? telling->upstream_us : 0);
    struct otlp_list list = begin_span(telling, SPAN_RECORD, KIND_INTERNAL, SPAN_LIT("record"), telling->judged_us, asked_us);
    struct span error = error_of(telling, true);

    otlp_true(&list, "callgate.at_most");
    end_span(&list, false);
    if (telling->upstream_us < 0)
        return;
    list = begin_span(telling, SPAN_UPSTREAM, KIND_CLIENT, name, asked_us, telling->end_us);
    add_mcp(telling, &list);
    otlp_text(&list, "callgate.upstream", value_of(telling, "upstream"));
    otlp_text(&list, "error.type", error);
    end_span(&list, error.at != NULL);
}

static void add_judge(struct telling *telling)
{
    struct otlp_list list = begin_span(telling, SPAN_JUDGE, KIND_INTERNAL, SPAN_LIT("judge"), telling->decided_us,
                                       telling->judged_us);

    otlp_text(&list, "callgate.verdict", value_of(telling, "verdict"));
    otlp_text(&list, "callgate.rule", value_of(telling, "rule"));
    end_span(&list, false);
}

enum code call_spans_add(struct buf *out, const struct call_spans *spans, enum entry_kind kind, const struct query_row *row)
{
    struct telling telling = {.out = out, .spans = spans, .row = row, .has_outcome = kind == ENTRY_OUTCOME};
    struct buf name;

    if (kind == ENTRY_EVENT || (kind == ENTRY_DECISION && span_is(value_of(&telling, "expects_outcome"), "1")))
        return CODE_OK;
    find_context(&telling);
    make_ids(&telling);
    if (!is_chosen(&telling))
        return CODE_OK;
    find_times(&telling);
    buf_init(&name, (size_t)64 << 10);
    name_call(&telling, &name);
    if (buf_fail(out, buf_code(&name)) == CODE_OK) {
        add_call(&telling, buf_peek(&name));
        add_judge(&telling);
        if (telling.has_outcome)
            add_behind_judge(&telling, buf_peek(&name));
    }
    buf_fini(&name);
    return buf_code(out);
}

/* ---- events ---- */

enum { SEVERITY_INFO = 9, SEVERITY_WARN = 13, SEVERITY_ERROR = 17 };

static const struct {
    int severity;
    const char *text;
    const char *kinds[8];
} severities[] = {
    {SEVERITY_ERROR, "ERROR", {"crash", "audit_down", "loss_accepted", "heads_damaged", NULL}},
    {SEVERITY_WARN, "WARN", {"folded", "clock_jumped", "unsigned_rows", "restored", "erased", "retired", NULL}},
    {SEVERITY_INFO, "INFO", {NULL}},
};

static size_t severity_of(struct span kind)
{
    size_t last = sizeof severities / sizeof severities[0] - 1;

    for (size_t i = 0; i < last; i++)
        for (const char *const *one = severities[i].kinds; *one != NULL; one++)
            if (span_is(kind, *one))
                return i;
    return last;
}

enum code call_spans_log(struct buf *out, const struct call_spans *spans, const struct query_row *row)
{
    struct telling telling = {.out = out, .spans = spans, .row = row};
    struct span kind = value_of(&telling, "event");
    size_t severity = severity_of(kind);
    struct otlp_list list;
    char name[128];

    (void)snprintf(name, sizeof name, "callgate.%.*s", SPAN_ARG(utf8_cut(kind, 64)));
    buf_add_byte(out, '{');
    otlp_time(out, "timeUnixNano", time_of(&telling, "time_us", 0));
    buf_add_byte(out, ',');
    otlp_time(out, "observedTimeUnixNano", time_of(&telling, "time_us", 0));
    buf_addf(out, ",\"severityNumber\":%d,\"severityText\":\"%s\",\"eventName\":", severities[severity].severity,
             severities[severity].text);
    otlp_cut(out, span_text(name), OTLP_TEXT_BYTES);
    buf_add_text(out, ",\"body\":{\"stringValue\":");
    /* a policy's text is the policy, and is not told to whoever reads logs */
    if (spans->details && !span_is(kind, "policy_text") && value_of(&telling, "detail").at != NULL)
        otlp_cut(out, value_of(&telling, "detail"), OTLP_LONG_BYTES);
    else
        otlp_cut(out, kind, OTLP_TEXT_BYTES);
    buf_add_text(out, "},");
    list = otlp_list_begin(out);
    otlp_number(&list, "callgate.seq", value_of(&telling, "seq"));
    otlp_text(&list, "callgate.hash", value_of(&telling, "hash"));
    otlp_text(&list, "callgate.tenant", value_of(&telling, "tenant"));
    if (spans->principals)
        otlp_text(&list, "callgate.actor", value_of(&telling, "actor"));
    otlp_list_end(&list);
    buf_add_byte(out, '}');
    return buf_code(out);
}
