/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp_help.h"

#define CALL(params) "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":" params "}"

static const char *const revisions[] = {"2024-11-05", "2025-06-18", NULL};

/* The denial of this message: its status, its form and its whole body. Takes: body NULL: no message at all. */
static void expect_denial(const char *body, const struct mcp_denial *denial, int status, enum mcp_form form,
    const char *text)
{
    struct asked a = {.message = {.kind = MCP_NONE}};
    struct json_fault fault;
    struct buf out, canon;
    enum mcp_form got;

    if (body != NULL)
        ask(&a, body);
    buf_init(&out, CAP_BYTES);
    assert_int_equal(mcp_denial_status(body ? &a.message : NULL, denial), status);
    assert_int_equal(mcp_denial_write(body ? &a.message : NULL, denial, &out, &got), CODE_OK);
    assert_int_equal(got, form);
    expect_span(buf_peek(&out), text);
    if (form == MCP_FORM_JSON) { /* what we send is itself canonical */
        buf_init(&canon, CAP_BYTES);
        assert_int_equal(json_read(buf_peek(&out), &json_file_rules, &canon, NULL, NULL, &fault), CODE_OK);
        assert_true(span_equals(buf_peek(&canon), buf_peek(&out)));
        buf_fini(&canon);
    }
    buf_fini(&out);
    if (body != NULL)
        ask_end(&a);
}

/* 1.19: a call that policy denies is a result with isError, and never names the rule */
TEST_CASE(denies_calls)
{
    struct mcp_denial denial = {.reason = REASON_NO_RULE, .decision = 1234};

    expect_denial(CALL("{\"name\":\"t\"}"), &denial, 200, MCP_FORM_JSON,
                  "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"isError\":true,\"content\":[{\"type\":\"text\",\"text\":"
                  "\"This call was not permitted; do not retry it unchanged. (decision 1234)\"}],"
                  "\"_meta\":{\"dev.callgate/denial\":{\"code\":\"policy_denied\",\"decision\":1234}}}}");
    denial = (struct mcp_denial){.reason = REASON_FORBIDDEN, .say = SPAN_LIT("Read-only \"queries\" work."),
        .decision = 9};
    expect_denial(CALL("{\"name\":\"t\"}"), &denial, 200, MCP_FORM_JSON,
                  "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"isError\":true,\"content\":[{\"type\":\"text\",\"text\":"
                  "\"This call was not permitted; do not retry it unchanged. Read-only \\\"queries\\\" work. (decision 9)\"}],"
                  "\"_meta\":{\"dev.callgate/denial\":{\"code\":\"policy_denied\",\"decision\":9}}}}");
    denial = (struct mcp_denial){.reason = REASON_RATE_LIMITED, .decision = 9};
    expect_denial(CALL("{\"name\":\"t\"}"), &denial, 200, MCP_FORM_JSON,
                  "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"isError\":true,\"content\":[{\"type\":\"text\",\"text\":"
                  "\"This call was not permitted: too many calls. Try again later. (decision 9)\"}],"
                  "\"_meta\":{\"dev.callgate/denial\":{\"code\":\"rate_limited\",\"decision\":9}}}}");
    denial = (struct mcp_denial){.reason = REASON_APPROVAL_REQUIRED, .decision = 9, .asked = 8};
    expect_denial(CALL("{\"name\":\"t\"}"), &denial, 200, MCP_FORM_JSON,
                  "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"isError\":true,\"content\":[{\"type\":\"text\",\"text\":"
                  "\"This call was not made: it needs a person's approval, which was asked for. "
                      "Whoever decides finds it with: callgate approvals show --decision 8. "
                      "Once it is approved, make exactly the same call again; until then do not retry it.\"}],"
                  "\"_meta\":{\"dev.callgate/denial\":{\"code\":\"approval_required\",\"decision\":9}}}}");
    denial.reason = REASON_APPROVAL_REFUSED;
    expect_denial(CALL("{\"name\":\"t\"}"), &denial, 200, MCP_FORM_JSON,
                  "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"isError\":true,\"content\":[{\"type\":\"text\",\"text\":"
                  "\"This call was not permitted; do not retry it unchanged. A person has refused the call. (decision 9)\"}],"
                  "\"_meta\":{\"dev.callgate/denial\":{\"code\":\"policy_denied\",\"decision\":9}}}}");
    denial.reason = REASON_APPROVAL_LIMIT;
    expect_denial(CALL("{\"name\":\"t\"}"), &denial, 200, MCP_FORM_JSON,
                  "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"isError\":true,\"content\":[{\"type\":\"text\",\"text\":"
                  "\"This call was not made. Too many calls wait for a person's approval. "
                      "Try again when some of them are decided. (decision 9)\"}],"
                  "\"_meta\":{\"dev.callgate/denial\":{\"code\":\"rate_limited\",\"decision\":9}}}}");
    /* A tool that no rule names is told no other way: whether it exists is nobody's business. */
    denial = (struct mcp_denial){.reason = REASON_METHOD_UNKNOWN, .decision = 9};
    expect_denial(CALL("{\"name\":\"t\"}"), &denial, 200, MCP_FORM_JSON,
                  "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"isError\":true,\"content\":[{\"type\":\"text\",\"text\":"
                  "\"This call was not permitted; do not retry it unchanged. (decision 9)\"}],"
                  "\"_meta\":{\"dev.callgate/denial\":{\"code\":\"policy_denied\",\"decision\":9}}}}");
}

/* 1.19, 1.25: the gate cannot judge or record; without a row there is no number */
TEST_CASE(tells_when_it_cannot)
{
    struct mcp_denial denial = {.reason = REASON_AUDIT_DOWN};

    expect_denial(CALL("{\"name\":\"t\"}"), &denial, 200, MCP_FORM_JSON,
                  "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"isError\":true,\"content\":[{\"type\":\"text\",\"text\":"
                  "\"This call was not made. The gate cannot record calls at the moment. Try again later.\"}],"
                  "\"_meta\":{\"dev.callgate/denial\":{\"code\":\"unavailable\",\"decision\":null}}}}");
    expect_denial("{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"ping\"}", &denial, 200, MCP_FORM_JSON,
                  "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"error\":{\"code\":5030,\"message\":"
                  "\"This call was not made. The gate cannot record calls at the moment. Try again later.\","
                  "\"data\":{\"code\":\"unavailable\",\"decision\":null}}}");
    expect_denial(NULL, &denial, 503, MCP_FORM_JSON,
                  "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":5030,\"message\":"
                  "\"This call was not made. The gate cannot record calls at the moment. Try again later.\","
                  "\"data\":{\"code\":\"unavailable\",\"decision\":null}}}");
    expect_denial("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}", &denial, 503, MCP_FORM_NONE, "");
}

/* 1.19: other methods that rules know */
TEST_CASE(denies_other_requests)
{
    static const struct {
        enum reason reason;
        int code;
        const char *denial;
    } cases[] = {{REASON_NO_RULE, 4030, "policy_denied"}, {REASON_FORBIDDEN, 4030, "policy_denied"},
                 {REASON_APPROVAL_REQUIRED, 4031, "approval_required"}, {REASON_RATE_LIMITED, 4290, "rate_limited"},
                 {REASON_NO_POLICY, 5030, "unavailable"}, {REASON_TOO_COSTLY, 4030, "policy_denied"}};
    static const char *const bodies[] = {
        "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"prompts/get\",\"params\":{\"name\":\"p\"}}",
        "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"resources/read\",\"params\":{\"uri\":\"u\"}}",
        CALL("{\"name\":\"t\",\"task\":{\"ttl\":1}}")}; /* a task-augmented call expects no result */

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (size_t j = 0; j < sizeof bodies / sizeof bodies[0]; j++) {
            struct mcp_denial denial = {.reason = cases[i].reason, .decision = 5};
            struct asked a;
            struct buf out;
            enum mcp_form form;
            char begin[64], end[64];

            ask(&a, bodies[j]);
            buf_init(&out, CAP_BYTES);
            assert_int_equal(mcp_denial_status(&a.message, &denial), 200);
            assert_int_equal(mcp_denial_write(&a.message, &denial, &out, &form), CODE_OK);
            snprintf(begin, sizeof begin, "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":%d,", cases[i].code);
            snprintf(end, sizeof end, "\"data\":{\"code\":\"%s\",\"decision\":5}}}", cases[i].denial);
            assert_true(span_starts_with(buf_peek(&out), span_text(begin)));
            assert_true(span_ends_with(buf_peek(&out), span_text(end)));
            buf_fini(&out);
            ask_end(&a);
        }
}

/* 10.22, 10.23: what the gate does not take of an answer is an error within 200, and a `task` of 2026-07-28 is none */
TEST_CASE(denies_within_200)
{
    static const enum reason reasons[] = {REASON_UPSTREAM_MALFORMED, REASON_UPSTREAM_TYPE, REASON_UPSTREAM_ENCODED,
                                          REASON_UPSTREAM_TOO_LARGE, REASON_UPSTREAM_JSON, REASON_UPSTREAM_UNASKED,
                                          REASON_UPSTREAM_DECEPTIVE};
    struct mcp_denial policy = {.reason = REASON_NO_RULE, .decision = 5};
    struct asked a;

    ask(&a, CALL("{\"name\":\"t\"}"));
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
        struct mcp_denial denial = {.reason = reasons[i], .decision = 5};
        struct mcp_denial of_stream = {.reason = reasons[i], .pseudo = SPAN_LIT("stream/open")};

        assert_int_equal(mcp_denial_status(&a.message, &denial), 200);
        assert_int_equal(mcp_denial_status(NULL, &of_stream), 502);
    }
    { /* 10.25: the number by which a pending call is found is the only one in its text */
        struct mcp_denial held = {.reason = REASON_APPROVAL_REQUIRED, .decision = 9, .asked = 5};
        struct buf out;
        enum mcp_form form;

        buf_init(&out, CAP_BYTES);
        assert_int_equal(mcp_denial_write(&a.message, &held, &out, &form), CODE_OK);
        assert_int_equal(buf_add_byte(&out, '\0'), CODE_OK);
        assert_non_null(strstr(buf_peek(&out).at, "--decision 5."));
        assert_null(strstr(buf_peek(&out).at, "(decision "));
        buf_fini(&out);
    }
    ask_end(&a);
    ask(&a, CALL("{\"name\":\"t\",\"task\":{\"ttl\":1}}"));
    for (int is_modern = 0; is_modern < 2; is_modern++) {
        struct buf out;
        enum mcp_form form;

        a.message.is_modern = is_modern == 1;
        buf_init(&out, CAP_BYTES);
        assert_int_equal(mcp_denial_write(&a.message, &policy, &out, &form), CODE_OK);
        assert_true(span_starts_with(buf_peek(&out), is_modern ? SPAN_LIT("{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{")
                                                               : SPAN_LIT("{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{")));
        buf_fini(&out);
    }
    ask_end(&a);
}

/* 10.24: a path is refused by HTTP, and where a message was read for it, inside the protocol */
TEST_CASE(denies_an_unlisted_slug)
{
    struct mcp_denial denial = {.reason = REASON_ROUTE_UNKNOWN, .decision = 5};

    expect_denial(CALL("{\"name\":\"t\"}"), &denial, 200, MCP_FORM_JSON,
                  "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":-32001,\"message\":\"The path is not served here.\","
                  "\"data\":{\"code\":\"malformed\",\"decision\":5}}}");
    expect_denial(NULL, &denial, 404, MCP_FORM_JSON,
                  "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32600,\"message\":\"The path is not served here.\","
                  "\"data\":{\"code\":\"malformed\",\"decision\":5}}}");
}

/* 1.19: a method that no rule names */
TEST_CASE(denies_unknown_methods)
{
    struct mcp_denial denial = {.reason = REASON_METHOD_UNKNOWN, .decision = 5};

    expect_denial("{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"x/y\"}", &denial, 200, MCP_FORM_JSON,
                  "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":-32601,\"message\":\"Method not found.\","
                  "\"data\":{\"code\":\"policy_denied\",\"decision\":5}}}");
}

/* 1.19 */
TEST_CASE(denies_without_a_body)
{
    struct mcp_denial denial = {.reason = REASON_NO_RULE, .decision = 5};

    expect_denial("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}", &denial, 403, MCP_FORM_NONE, "");
    expect_denial("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}", &denial, 403, MCP_FORM_NONE, "");
    denial.reason = REASON_METHOD_UNKNOWN;
    expect_denial("{\"jsonrpc\":\"2.0\",\"method\":\"x\"}", &denial, 403, MCP_FORM_NONE, "");
    denial.reason = REASON_ANSWER_UNASKED;
    expect_denial("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}", &denial, 403, MCP_FORM_NONE, "");
    denial.reason = REASON_RATE_LIMITED;
    denial.wants_sse = true;
    expect_denial("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}", &denial, 403, MCP_FORM_NONE, "");
    /* GET and DELETE: clients take only 405 for benign. */
    denial = (struct mcp_denial){.reason = REASON_NO_RULE, .pseudo = SPAN_LIT("stream/open")};
    expect_denial(NULL, &denial, 405, MCP_FORM_NONE, "");
    denial = (struct mcp_denial){.reason = REASON_FORBIDDEN, .pseudo = SPAN_LIT("session/end")};
    expect_denial(NULL, &denial, 405, MCP_FORM_NONE, "");
    denial = (struct mcp_denial){.reason = REASON_METHOD_UNKNOWN, .pseudo = SPAN_LIT("session/end")};
    expect_denial(NULL, &denial, 405, MCP_FORM_NONE, "");
    denial = (struct mcp_denial){.reason = REASON_NO_POLICY, .pseudo = SPAN_LIT("stream/open")};
    expect_denial(NULL, &denial, 503, MCP_FORM_JSON,
                  "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":5030,\"message\":"
                  "\"This call was not made. The gate has no active policy. Try again later.\","
                  "\"data\":{\"code\":\"unavailable\",\"decision\":null}}}");
}

/* 1.19: never for policy: credentials, sessions, tenants and the gate's own limits have their HTTP status */
TEST_CASE(keeps_http_statuses)
{
    static const struct {
        enum reason reason;
        int status;
    } cases[] = {{REASON_CREDENTIAL_MISSING, 401}, {REASON_CREDENTIAL_WRONG, 401}, {REASON_TENANT_NOT_ALLOWED, 403},
                 {REASON_SESSION_FOREIGN, 404}, {REASON_PRINCIPAL_LIMIT, 429}, {REASON_UPSTREAM_UNREACHABLE, 502},
                 {REASON_UPSTREAM_SILENT, 504}, {REASON_HOST_FOREIGN, 403}, {REASON_MEDIA_TYPE, 415}};
    static const char *const bodies[] = {NULL, CALL("{\"name\":\"t\"}")};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (size_t j = 0; j < 2; j++) {
            struct mcp_denial denial = {.reason = cases[i].reason, .decision = 5};
            struct asked a;
            struct buf out;
            enum mcp_form form;
            const struct mcp_message *message = NULL;

            if (bodies[j] != NULL) {
                ask(&a, bodies[j]);
                message = &a.message;
            }
            buf_init(&out, CAP_BYTES);
            assert_int_equal(mcp_denial_status(message, &denial), cases[i].status);
            assert_int_equal(mcp_denial_write(message, &denial, &out, &form), CODE_OK);
            assert_int_equal(form, MCP_FORM_JSON); /* a bare 400 would make a client fall back to the old era */
            assert_true(span_starts_with(buf_peek(&out), message ? SPAN_LIT("{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{")
                                                                 : SPAN_LIT("{\"jsonrpc\":\"2.0\",\"id\":null,"
                                                                     "\"error\":{")));
            buf_fini(&out);
            if (message != NULL)
                ask_end(&a);
        }
}

/* 1.19 */
TEST_CASE(answers_malformed_messages)
{
    struct mcp_denial denial = {.reason = REASON_JSON_MALFORMED, .decision = 3};

    expect_denial("{", &denial, 400, MCP_FORM_JSON,
                  "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":\"Parse error.\","
                  "\"data\":{\"code\":\"malformed\",\"decision\":3}}}");
    denial.reason = REASON_ENVELOPE;
    expect_denial("{\"jsonrpc\":\"1.0\",\"id\":\"x\",\"method\":\"ping\"}", &denial, 400, MCP_FORM_JSON,
                  "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"error\":{\"code\":-32600,"
                      "\"message\":\"The JSON-RPC envelope is not valid.\","
                  "\"data\":{\"code\":\"malformed\",\"decision\":3}}}");
    denial.reason = REASON_TOOL_NAME_INVALID;
    expect_denial(CALL("{\"name\":\"a b\"}"), &denial, 400, MCP_FORM_JSON,
                  "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":-32602,"
                      "\"message\":\"The tool's name is not valid.\","
                  "\"data\":{\"code\":\"malformed\",\"decision\":3}}}");
    denial.reason = REASON_HEADER_MISMATCH;
    expect_denial(CALL("{\"name\":\"t\"}"), &denial, 400, MCP_FORM_JSON,
                  "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":-32020,"
                      "\"message\":\"A header differs from the body.\","
                  "\"data\":{\"code\":\"malformed\",\"decision\":3}}}");
}

/* 1.16 */
TEST_CASE(names_the_versions)
{
    struct mcp_denial denial = {.reason = REASON_VERSION_UNSUPPORTED, .decision = 3, .revisions = revisions};

    expect_denial(CALL("{\"name\":\"t\",\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"}}"), &denial, 400,
                  MCP_FORM_JSON,
                  "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":-32022,"
                      "\"message\":\"Unsupported protocol version.\","
                  "\"data\":{\"supported\":[\"2024-11-05\",\"2025-06-18\"],\"requested\":\"2026-07-28\","
                  "\"code\":\"malformed\",\"decision\":3}}}");
    denial.requested = SPAN_LIT("\"2099-01-01\"");
    expect_denial("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server/discover\"}", &denial, 400, MCP_FORM_JSON,
                  "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32022,"
                      "\"message\":\"Unsupported protocol version.\","
                  "\"data\":{\"supported\":[\"2024-11-05\",\"2025-06-18\"],\"requested\":\"2099-01-01\","
                  "\"code\":\"malformed\",\"decision\":3}}}");
    denial.requested = SPAN_NONE;
    expect_denial("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server/discover\"}", &denial, 400, MCP_FORM_JSON,
                  "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32022,"
                      "\"message\":\"Unsupported protocol version.\","
                  "\"data\":{\"supported\":[\"2024-11-05\",\"2025-06-18\"],\"requested\":null,"
                  "\"code\":\"malformed\",\"decision\":3}}}");
    denial.reason = REASON_VERSION_HEADER;
    expect_denial(CALL("{\"name\":\"t\"}"), &denial, 400, MCP_FORM_JSON,
                  "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":-32600,"
                  "\"message\":\"The MCP-Protocol-Version header is not supported.\","
                  "\"data\":{\"supported\":[\"2024-11-05\",\"2025-06-18\"],\"code\":\"malformed\",\"decision\":3}}}");
}

/* 1.18: as one SSE event where that is what the client accepts */
TEST_CASE(denies_as_an_event)
{
    struct mcp_denial denial = {.reason = REASON_NO_RULE, .decision = 1, .wants_sse = true};

    expect_denial(CALL("{\"name\":\"t\"}"), &denial, 200, MCP_FORM_SSE,
                  "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"isError\":true,"
                      "\"content\":[{\"type\":\"text\","
                  "\"text\":\"This call was not permitted; do not retry it unchanged. (decision 1)\"}],"
                  "\"_meta\":{\"dev.callgate/denial\":{\"code\":\"policy_denied\",\"decision\":1}}}}\n\n");
}

/* 1.19: a server's request that no rule permits; a reply that is not fit to deliver */
TEST_CASE(writes_errors)
{
    struct buf out;

    buf_init(&out, CAP_BYTES);
    assert_int_equal(mcp_refusal_write(SPAN_LIT("\"q-1\""), REASON_QUESTION_DENIED, &out), CODE_OK);
    expect_span(buf_peek(&out), "{\"jsonrpc\":\"2.0\",\"id\":\"q-1\",\"error\":{\"code\":4030,"
                                "\"message\":\"The server's request is not permitted.\"}}");
    buf_fini(&out);
}

TEST_CASE(fails_without_memory)
{
    struct mcp_denial denial = {.reason = REASON_NO_RULE, .decision = 1, .wants_sse = true};
    struct asked a;
    struct buf out;
    enum mcp_form form;
    enum code code;

    ask(&a, CALL("{\"name\":\"t\"}"));
    for (uint64_t n = 1;; n++) {
        buf_init(&out, CAP_BYTES);
        mem_fail_at(n, 0);
        code = mcp_denial_write(&a.message, &denial, &out, &form);
        mem_fail_at(0, 0);
        assert_int_equal(buf_code(&out), code); /* what is not whole is never sent */
        buf_fini(&out);
        if (code == CODE_OK)
            break;
        assert_int_equal(code, CODE_NOMEM);
    }
    for (size_t cap = 0; cap < 100; cap++) {
        buf_init(&out, cap);
        assert_sticks(mcp_denial_write(&a.message, &denial, &out, &form), &out, CODE_LIMIT);
        buf_fini(&out);
    }
    ask_end(&a);
}

TEST_MAIN(NULL, NULL)
