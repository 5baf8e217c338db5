/* SPDX-License-Identifier: Apache-2.0 */
/* Requests and answers of a dialect in a test, through its table alone.
 *
 * Threads: one.
 * Owns: its buffers and arena.
 * Lifetime: say_begin to say_end.
 * Errors: in `reason`. */
#ifndef TESTS_DIALECT_HELP_H
#define TESTS_DIALECT_HELP_H

#include "mcp/dialect.h"
#include "mcp_help.h"

struct said {
    struct buf out;
    struct arena arena;
    struct mcp_message message;
    struct mcp_reply reply;
    struct json_fault fault;
    enum reason reason;
};

static inline void say_begin(struct said *s)
{
    *s = (struct said){.reason = REASON_UNSET};
    buf_init(&s->out, CAP_BYTES);
    arena_init(&s->arena, CAP_BYTES);
}

static inline void say_end(struct said *s)
{
    buf_fini(&s->out);
    arena_fini(&s->arena);
}

/* Takes: body NULL: none. */
static inline void say(struct said *s, const struct dialect *dialect, enum http_method verb, const char *path, const char *body,
                       const struct mcp_read_rules *rules)
{
    static const struct mcp_read_rules none;

    say_begin(s);
    s->reason = dialect->open(verb, path != NULL ? span_text(path) : SPAN_NONE, &s->message);
    if (s->reason == REASON_UNSET && body != NULL)
        s->reason = dialect->read(span_text(body), rules != NULL ? rules : &none, &s->out, &s->arena, &s->message, &s->fault);
}

static inline void expect_refusal(const struct dialect *dialect, enum http_method verb, const char *path, const char *body,
                                  enum reason reason)
{
    struct said s;

    say(&s, dialect, verb, path, body, NULL);
    if (s.reason != reason)
        print_error("%s %s: %s\n", path ? path : "", body ? body : "", reason_name(s.reason));
    assert_int_equal(s.reason, reason);
    say_end(&s);
}

/* Keeps what is named in the context, which may hold several names. */
static inline bool keep_named(void *context, struct span method, struct span target, bool is_template)
{
    struct span rest = span_text(context);

    assert_true(span_is(method, "tools/call") && !is_template);
    while (rest.len > 0)
        if (span_equals(span_cut(rest, ' ', &rest), target))
            return true;
    return false;
}

static inline void hear(struct said *s, const struct dialect *dialect, const char *method, const char *target, const char *kept,
                        const char *data)
{
    static char all[] = "";
    const struct mcp_reply_rules rules = {
        .request_method = span_text(method), .request_target = target != NULL ? span_text(target) : SPAN_NONE,
        .deceptive = {.results = MCP_STRIP}, .keep = kept != NULL ? keep_named : NULL,
        .keep_context = kept != NULL ? (void *)(uintptr_t)kept : all,
    };

    say_begin(s);
    s->reason = dialect->reply_read(span_text(data), &rules, &s->out, &s->arena, &s->reply, &s->fault);
}

/* Takes: text NULL: refused for `reason`. */
static inline void expect_reply(const struct dialect *dialect, const char *method, const char *target, const char *kept,
                                const char *data, enum reason reason, const char *text)
{
    struct said s;

    hear(&s, dialect, method, target, kept, data);
    if (s.reason != reason)
        print_error("%s: %s: %s\n", data, reason_name(s.reason), s.fault.text ? s.fault.text : "");
    assert_int_equal(s.reason, reason);
    if (text != NULL)
        expect_span(s.reply.body, text);
    else
        assert_true(buf_is_empty(&s.out) && s.fault.text != NULL && s.fault.text[0] != '\0');
    say_end(&s);
}

static inline void expect_no(const struct dialect *dialect, const struct mcp_message *message, const struct mcp_denial *denial,
                             int status, const char *text)
{
    enum mcp_form form;
    struct buf out;

    buf_init(&out, CAP_BYTES);
    assert_int_equal(dialect->denial_status(message, denial), status);
    assert_int_equal(dialect->denial_write(message, denial, &out, &form), CODE_OK);
    assert_int_equal(form, MCP_FORM_JSON);
    expect_span(buf_peek(&out), text);
    buf_fini(&out);
}

#endif
