/* SPDX-License-Identifier: Apache-2.0 */
/* Replies as a test reads them, under one set of rules.
 *
 * Threads: one.
 * Owns: what struct got holds, until get_end.
 * Lifetime: one test.
 * Errors: cmocka's. */
#ifndef TESTS_REPLY_HELP_H
#define TESTS_REPLY_HELP_H

#include "mcp/reply.h"

#include "mcp_help.h"

#define RESULT(result) "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":" result "}"

static const char *const revisions[] = {"2024-11-05", "2025-06-18", NULL};

/* As a route has them that says nothing. */
static struct mcp_deceptive treatments = {.results = MCP_PASS, .messages = MCP_PASS};

struct got {
    struct buf out;
    struct arena arena;
    struct mcp_reply reply;
    struct json_fault fault;
    enum reason reason;
};

static void get(struct got *g, const char *data, const char *method, mcp_keep_fn keep, void *context)
{
    struct mcp_reply_rules rules = {.request_method = span_text(method), .revisions = revisions, .keep = keep,
                                    .keep_context = context, .deceptive = treatments};

    buf_init(&g->out, CAP_BYTES);
    arena_init(&g->arena, CAP_BYTES);
    g->reason = mcp_reply_read(span_text(data), &rules, &g->out, &g->arena, &g->reply, &g->fault);
}

static void get_end(struct got *g)
{
    buf_fini(&g->out);
    arena_fini(&g->arena);
}

static void expect(const char *data, const char *method, enum reason reason)
{
    struct got g;

    get(&g, data, method, NULL, NULL);
    if (g.reason != reason)
        fail_msg("%.*s: %s, %s", SPAN_ARG(span_text(data)), reason_name(g.reason), g.fault.text);
    if (reason != REASON_PERMITTED) {
        assert_int_equal(buf_len(&g.out), 0);
        assert_true(g.fault.text[0] != '\0');
    }
    get_end(&g);
}

/* What goes on, under a predicate that keeps what names are listed in `kept` (comma-separated). */
static const char *wanted_use; /* NULL: not looked at */

static bool keep_listed(void *context, struct span method, struct span tool, bool is_template)
{
    struct span rest = span_text(context);

    if (wanted_use != NULL && !span_is(method, wanted_use))
        fail_msg("%.*s", SPAN_ARG(method));
    assert_true(!is_template || span_is(method, "resources/read"));

    while (rest.len > 0)
        if (span_equals(span_cut(rest, ',', &rest), tool))
            return true;
    return false;
}

static uint32_t expect_body(const char *data, const char *method, const char *kept, const char *body)
{
    struct got g;
    uint32_t removed;

    get(&g, data, method, kept ? keep_listed : NULL, (void *)(uintptr_t)kept);
    if (g.reason != REASON_PERMITTED)
        print_error("%s: %s, %s\n", data, reason_name(g.reason), g.fault.text);
    assert_int_equal(g.reason, REASON_PERMITTED);
    expect_span(g.reply.body, body);
    assert_true(span_equals(g.reply.body, buf_peek(&g.out)));
    removed = g.reply.removed;
    get_end(&g);
    return removed;
}

#define TOOL(name) "{\"name\":\"" name "\",\"description\":\"does " name ", and {more}\",\"inputSchema\":{\"type\":\"object\"}}"
#define LIST(tools) RESULT("{\"tools\":[" tools "],\"nextCursor\":\"c\"}")

#endif
