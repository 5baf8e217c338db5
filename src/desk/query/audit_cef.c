/* SPDX-License-Identifier: Apache-2.0 */
#include "query/audit_form.h"

#include "unicode/terminal.h"

#include <string.h>

/* A backslash goes before each of `special`; line ends are \n and \r in an extension, and nothing that steers a terminal is
 * left. */
static void add_escaped(struct buf *out, struct span text, const char *special)
{
    struct buf safe;
    struct span rest;

    buf_init(&safe, SIZE_MAX / 2);
    rest = buf_fail(out, terminal_add(&safe, text)) == CODE_OK ? buf_peek(&safe) : SPAN_NONE;
    for (size_t i = 0; i < rest.len; i++) {
        if (strchr(special, rest.at[i]) != NULL)
            buf_add_byte(out, '\\');
        buf_add_byte(out, rest.at[i]);
    }
    buf_fini(&safe);
}

static void add_extension_text(struct buf *out, struct span text)
{
    while (text.len > 0) {
        size_t line = 0;

        while (line < text.len && text.at[line] != '\n' && text.at[line] != '\r')
            line++;
        add_escaped(out, span_part(text, 0, line), "\\=");
        if (line < text.len)
            buf_add_text(out, text.at[line] == '\n' ? "\\n" : "\\r");
        text = span_part(text, line + 1, SIZE_MAX);
    }
}

static void add_pair(struct buf *out, const char *key, struct span value)
{
    if (value.at == NULL || buf_code(out) != CODE_OK)
        return;
    buf_addf(out, "%s%s=", span_ends_with(buf_peek(out), SPAN_LIT("|")) ? "" : " ", key);
    add_extension_text(out, value);
}

/* A field of our own needs its label beside it. */
static void add_labelled(struct buf *out, const char *key, const char *label, struct span value)
{
    add_pair(out, key, value);
    if (value.at != NULL)
        buf_addf(out, " %sLabel=%s", key, label);
}

static int severity_of(enum entry_kind kind, const struct query_row *row)
{
    struct span verdict = query_value(row, "verdict"), outcome = query_value(row, "outcome"), event = query_value(row, "event");

    if (span_is(verdict, "deny") || span_is(event, "crash") || span_is(event, "audit_down"))
        return 6;
    if (span_is(verdict, "hold"))
        return 4;
    return kind == ENTRY_OUTCOME && !span_is(outcome, "result") && !span_is(outcome, "accepted") &&
           !span_is(outcome, "stream_ended") ? 3 : 1;
}

static void add_head(struct buf *out, enum entry_kind kind, const struct query_row *row)
{
    static const char *const what[] = {"reason", "outcome", "event"};
    struct span method = query_value(row, kind == ENTRY_EVENT ? "event" : "method"), tool = query_value(row, "tool"),
                first = query_value(row, kind == ENTRY_DECISION ? "verdict" : what[kind]);

    buf_add_text(out, "CEF:0|Callgate|Callgate|" CALLGATE_VERSION "|");
    add_escaped(out, query_value(row, what[kind]), "\\|");
    buf_add_byte(out, '|');
    add_escaped(out, first, "\\|");
    if (kind != ENTRY_EVENT && (tool.at != NULL || method.at != NULL)) {
        buf_add_byte(out, ' ');
        add_escaped(out, tool.at != NULL ? tool : method, "\\|");
    }
    buf_addf(out, "|%d|", severity_of(kind, row));
}

/* Milliseconds, as CEF takes them. */
static struct span milliseconds(struct span us)
{
    return us.len > 3 ? span_part(us, 0, us.len - 3) : SPAN_LIT("0");
}

enum code audit_form_cef(struct buf *out, enum entry_kind kind, const struct query_row *row)
{
    static const char *const kinds[] = {"decision", "outcome", "event"};
    static const struct { const char *key, *column; } plain[] = {
        {"externalId", "seq"}, {"act", "verdict"}, {"outcome", "outcome"}, {"reason", "reason"}, {"suser", "principal"},
        {"src", "client"}, {"dvchost", "node"}, {"requestMethod", "method"}, {"app", "dialect"}, {"msg", "rule_reason"},
        {"suid", "session"}, {"out", "response_bytes"},
    };
    static const struct { const char *key, *label, *column; } labelled[] = {
        {"cs1", "tenant", "tenant"}, {"cs2", "tool", "tool"}, {"cs3", "correlation", "correlation"}, {"cs4", "rule", "rule"},
        {"cs5", "upstream", "upstream"}, {"cs6", "arguments", "arguments"}, {"cn1", "policyVersion", "policy_version"},
        {"cn2", "status", "status"}, {"cn3", "latencyMicroseconds", "latency_us"},
    };

    add_head(out, kind, row);
    add_pair(out, "rt", milliseconds(query_value(row, "time_us")));
    add_pair(out, "cat", span_text(kinds[kind]));
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++)
        add_pair(out, plain[i].key, query_value(row, plain[i].column));
    if (kind == ENTRY_EVENT) {
        add_pair(out, "suser", query_value(row, "actor"));
        add_labelled(out, "cs6", "detail", query_value(row, "detail"));
    }
    for (size_t i = 0; i < sizeof labelled / sizeof labelled[0]; i++)
        add_labelled(out, labelled[i].key, labelled[i].label, query_value(row, labelled[i].column));
    if (kind == ENTRY_OUTCOME)
        add_labelled(out, "flexString1", "decision", query_value(row, "decision"));
    return buf_code(out);
}
