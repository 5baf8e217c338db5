/* SPDX-License-Identifier: Apache-2.0 */
/* Reading one message in a test.
 *
 * Threads: one.
 * Owns: its buffer and its arena.
 * Lifetime: ask to ask_end.
 * Errors: in `reason`. */
#ifndef TESTS_MCP_HELP_H
#define TESTS_MCP_HELP_H

#include "mcp/denial.h"
#include "mcp/message.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include "fakes/cm.h"

#define CAP_BYTES (16u << 20)

struct asked {
    struct buf canon;
    struct arena arena;
    struct mcp_message message;
    struct json_fault fault;
    enum reason reason;
};

/* A tree is what is read of its bytes, also where they were changed. */
static inline void expect_tree(const struct json_node *root)
{
    const struct json_node *again;
    struct json_fault fault;
    struct arena arena;
    struct buf bytes;

    buf_init(&bytes, CAP_BYTES);
    arena_init(&arena, 8 * CAP_BYTES);
    assert_int_equal(json_read(root->raw, &json_reply_rules, &bytes, &arena, &again, &fault), CODE_OK);
    assert_true(span_equals(buf_peek(&bytes), root->raw) && json_equal(root, again));
    buf_fini(&bytes);
    arena_fini(&arena);
}

static inline void ask_with(struct asked *a, struct span body, const struct mcp_read_rules *rules)
{
    buf_init(&a->canon, CAP_BYTES);
    arena_init(&a->arena, CAP_BYTES);
    a->reason = mcp_read(body, rules, &a->canon, &a->arena, &a->message, &a->fault);
}

static inline void ask(struct asked *a, const char *body)
{
    static const struct mcp_read_rules rules;

    ask_with(a, span_text(body), &rules);
}

static inline void ask_end(struct asked *a)
{
    if (a->reason == REASON_PERMITTED) {
        assert_true(span_equals(a->message.root->raw, buf_peek(&a->canon)));
        expect_tree(a->message.root);
    }
    buf_fini(&a->canon);
    arena_fini(&a->arena);
}

static inline void expect_span(struct span got, const char *text)
{
    if (!span_is(got, text))
        print_error("got:      %.*s\nexpected: %s\n", SPAN_ARG(got), text ? text : "nothing");
    assert_true(span_is(got, text));
}

#endif
