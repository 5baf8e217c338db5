/* SPDX-License-Identifier: Apache-2.0 */
#include "app/audit_form.h"

#include "app/terminal.h"

#include <string.h>

/* A backslash goes before each of `special`; line ends are \n and \r in an extension, and nothing that steers a terminal is
 * left. */
static enum code add_escaped(struct buf *out, struct span text, const char *special)
{
    struct buf safe;
    struct span rest;
    enum code code;

    buf_init(&safe, SIZE_MAX / 2);
    code = terminal_add(&safe, text);
    rest = buf_peek(&safe);
    for (size_t i = 0; i < rest.len && code == CODE_OK; i++) {
        if (strchr(special, rest.at[i]) != NULL)
            code = buf_add_byte(out, '\\');
        if (code == CODE_OK)
            code = buf_add_byte(out, rest.at[i]);
    }
    buf_fini(&safe);
    return code;
}

static enum code add_extension_text(struct buf *out, struct span text)
{
    enum code code = CODE_OK;

    while (text.len > 0 && code == CODE_OK) {
        size_t line = 0;

        while (line < text.len && text.at[line] != '\n' && text.at[line] != '\r')
            line++;
        code = add_escaped(out, span_part(text, 0, line), "\\=");
        if (code == CODE_OK && line < text.len)
            code = buf_add_text(out, text.at[line] == '\n' ? "\\n" : "\\r");
        text = span_part(text, line + 1, SIZE_MAX);
    }
    return code;
}

static enum code add_pair(struct buf *out, const char *key, struct span value)
{
    enum code code;

    if (value.at == NULL)
        return CODE_OK;
    code = buf_addf(out, "%s%s=", buf_len(out) > 0 && buf_peek(out).at[buf_len(out) - 1] != '|' ? " " : "", key);
    return code == CODE_OK ? add_extension_text(out, value) : code;
}

/* A field of our own needs its label beside it. */
static enum code add_labelled(struct buf *out, const char *key, const char *label, struct span value)
{
    enum code code = add_pair(out, key, value);

    return code == CODE_OK && value.at != NULL ? buf_addf(out, " %sLabel=%s", key, label) : code;
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

static enum code add_head(struct buf *out, enum entry_kind kind, const struct query_row *row)
{
    static const char *const what[] = {"reason", "outcome", "event"};
    struct span method = query_value(row, kind == ENTRY_EVENT ? "event" : "method"), tool = query_value(row, "tool"),
                first = query_value(row, kind == ENTRY_DECISION ? "verdict" : what[kind]);
    enum code code = buf_add_text(out, "CEF:0|Callgate|Callgate|" CALLGATE_VERSION "|");

    if (code == CODE_OK)
        code = add_escaped(out, query_value(row, what[kind]), "\\|");
    if (code == CODE_OK)
        code = buf_add_byte(out, '|');
    if (code == CODE_OK)
        code = add_escaped(out, first, "\\|");
    if (code == CODE_OK && kind != ENTRY_EVENT && (tool.at != NULL || method.at != NULL)) {
        code = buf_add_byte(out, ' ');
        if (code == CODE_OK)
            code = add_escaped(out, tool.at != NULL ? tool : method, "\\|");
    }
    return code == CODE_OK ? buf_addf(out, "|%d|", severity_of(kind, row)) : code;
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
    enum code code = add_head(out, kind, row);

    if (code == CODE_OK)
        code = add_pair(out, "rt", milliseconds(query_value(row, "time_us")));
    if (code == CODE_OK)
        code = add_pair(out, "cat", span_text(kinds[kind]));
    for (size_t i = 0; i < sizeof plain / sizeof plain[0] && code == CODE_OK; i++)
        code = add_pair(out, plain[i].key, query_value(row, plain[i].column));
    if (code == CODE_OK && kind == ENTRY_EVENT) {
        code = add_pair(out, "suser", query_value(row, "actor"));
        if (code == CODE_OK)
            code = add_labelled(out, "cs6", "detail", query_value(row, "detail"));
    }
    for (size_t i = 0; i < sizeof labelled / sizeof labelled[0] && code == CODE_OK; i++)
        code = add_labelled(out, labelled[i].key, labelled[i].label, query_value(row, labelled[i].column));
    if (code == CODE_OK && kind == ENTRY_OUTCOME)
        code = add_labelled(out, "flexString1", "decision", query_value(row, "decision"));
    return code;
}
