/* SPDX-License-Identifier: Apache-2.0 */
/* What `audit show` prints. Everything goes into one buffer first, and through unicode/terminal.h. */
#include "trail/cmd_audit_show_priv.h"

#include "trail/audit_out.h"
#include "args/command.h"
#include "args/print.h"
#include "unicode/terminal.h"

#include "base/num.h"
#include "base/utf8.h"
#include "json/json.h"

#include <inttypes.h>
#include <stdio.h>

#define VALUE_SHOWN 4096

struct story {
    const struct show *show;
    struct buf text; /* remembers the first failure */
};

static void say(struct story *story, const char *text)
{
    buf_add_text(&story->text, text);
}

static void say_safe(struct story *story, struct span text)
{
    terminal_add(&story->text, text);
}

/* "before VALUE after", or nothing where there is no value. */
static void say_value(struct story *story, const char *before, const char *name, const char *after)
{
    struct span value = show__value(&story->show->call, name);

    if (value.at == NULL)
        return;
    say(story, before);
    say_safe(story, value);
    say(story, after);
}

static void title(struct story *story, const char *name)
{
    char text[40];

    (void)snprintf(text, sizeof text, "\n  %-13s", name);
    say(story, text);
}

/* ---- arguments ---- */

/* Line ends and indentation between the parts of a canonical JSON text. */
static void say_json(struct story *story, struct span json)
{
    int depth = 0;
    bool in_string = false;

    for (size_t i = 0; i < json.len; i++) {
        char c = json.at[i];
        bool opens = !in_string && (c == '{' || c == '['), closes = !in_string && (c == '}' || c == ']');
        bool empty = opens && i + 1 < json.len && (json.at[i + 1] == '}' || json.at[i + 1] == ']');
        char pad[96];

        if (in_string && c == '\\' && i + 1 < json.len) {
            buf_add(&story->text, json.at + i++, 2);
            continue;
        }
        in_string = in_string != (c == '"');
        depth -= closes;
        (void)snprintf(pad, sizeof pad, "\n%*s", 15 + 2 * (depth + opens < 32 ? depth + opens : 32), "");
        if (closes && json.at[i - 1] != '{' && json.at[i - 1] != '[')
            say(story, pad);
        buf_add_byte(&story->text, c);
        if ((opens && !empty) || (!in_string && c == ','))
            say(story, pad);
        depth += opens;
        if (!in_string && c == ':')
            say(story, " ");
    }
}

static void say_value_kept(struct story *story, struct span json)
{
    struct buf safe;

    buf_init(&safe, SHOW_MEMORY_BYTES);
    if (buf_fail(&story->text, terminal_add(&safe, utf8_cut(json, VALUE_SHOWN))) == CODE_OK)
        say_json(story, buf_peek(&safe));
    if (json.len > VALUE_SHOWN)
        say(story, " ... (--json has all of it)");
    buf_fini(&safe);
}

static void say_arguments(struct story *story)
{
    struct span arguments = show__value(&story->show->call, "arguments");
    struct span begin = show__value(&story->show->call, "arguments_begin");
    bool cut = span_is(show__value(&story->show->call, "arguments_cut"), "1");

    title(story, "arguments");
    if (arguments.at != NULL) {
        say_value_kept(story, arguments);
    } else if (cut) {
        say_safe(story, span_part(begin, 0, VALUE_SHOWN));
        say_value(story, " ... (the beginning of ", "arguments_bytes", " bytes; the rest was too long to be kept)");
    } else {
        say(story, show__value(&story->show->call, "arguments_bytes").at != NULL ? "erased" : "none");
    }
    if (span_is(show__value(&story->show->call, "arguments_redacted"), "1"))
        say(story, "\n               (a policy has replaced values by digests)");
}

/* Of a route that keeps answers. No JSON is empty: where nothing is there, nothing was kept. */
static void say_answer(struct story *story)
{
    struct span answer = show__value(&story->show->call, "answer"), bytes = show__value(&story->show->call, "answer_bytes");
    uint64_t whole = 0;

    if (bytes.at == NULL)
        return;
    title(story, "answer");
    if (answer.at == NULL)
        say_value(story, "erased; it had ", "answer_bytes", " bytes");
    else if (answer.len == 0)
        say_value(story, "nothing of its ", "answer_bytes", " bytes was kept: the gate was short of room for them");
    else
        say_value_kept(story, answer);
    if (answer.len > 0 && num_u64(bytes, &whole) == CODE_OK && whole > answer.len)
        say_value(story, " ... (the beginning of ", "answer_bytes", " bytes; the rest was not kept)");
}

/* ---- the parts ---- */

/* A line of its own, where there is such a value. */
static void say_line(struct story *story, const char *name, const char *column)
{
    if (show__value(&story->show->call, column).at != NULL)
        title(story, name);
    say_value(story, "", column, "");
}

static void say_request(struct story *story)
{
    title(story, "when");
    say_value(story, "", "time", "");
    title(story, "who");
    if (show__value(&story->show->call, "principal").at == NULL)
        say(story, "nobody known");
    say_value(story, "", "principal", "");
    say_value(story, " of ", "tenant", "");
    say_value(story, " (", "authentication", "");
    say_value(story, " ", "api_key", "");
    say(story, show__value(&story->show->call, "authentication").at != NULL ? ")" : "");
    say_value(story, ", from ", "client", "");
    say_value(story, ", at ", "node", "");
    say_line(story, "agent", "agent");
    say_value(story, ", by ", "agent_from", "");
    say_line(story, "acting", "actors");
    say_line(story, "client", "client_says");
    say_line(story, "groups", "groups");
    say_line(story, "scopes", "scopes");
    say_line(story, "claims", "claims");
    say_line(story, "token of", "issuer");
    say_value(story, ", by its key ", "token_key", "");
    say_line(story, "plan", "plan");
    say_value(story, ", step ", "plan_step", "");
    say_line(story, "session", "session");
    title(story, "what");
    say_value(story, "", "method", " ");
    say_value(story, "", "tool", " ");
    say_value(story, "on ", "upstream", "");
    say_value(story, " (", "dialect", "");
    say_value(story, " ", "protocol_version", "");
    say(story, show__value(&story->show->call, "dialect").at != NULL ? ")" : "");
    say_line(story, "definition", "definition");
    say_line(story, "correlation", "correlation");
    say_value(story, ", instead of ", "correlation_replaced", "");
    say_value(story, ", trace ", "trace", "");
    say_arguments(story);
}

static void say_verdict(struct story *story)
{
    title(story, "verdict");
    say_value(story, "", "verdict", "");
    say_value(story, ": ", "reason", "");
    say_value(story, ", by rule ", "rule", "");
    say_value(story, " (", "rule_reason", ")");
    say_line(story, "undecided", "undecided");
    say_line(story, "monitored", "monitor");
    title(story, "policy");
    if (show__value(&story->show->call, "policy_version").at == NULL)
        say(story, "none");
    say_value(story, "version ", "policy_version", "");
    say_value(story, ", judged in ", "judge_us", " us");
    title(story, "outcome");
    if (show__value(&story->show->call, "outcome").at == NULL)
        say(story, span_is(show__value(&story->show->call, "expects_outcome"), "1") ? "not yet: the call is under way"
                   : span_is(show__value(&story->show->call, "verdict"), "permit") ? "none is due" : "nothing went up");
    say_value(story, "", "outcome", "");
    say_value(story, ": ", "outcome_reason", "");
    say_value(story, ", HTTP ", "status", "");
    say_value(story, ", JSON-RPC error ", "error_code", "");
    say_value(story, ", ", "response_bytes", " bytes");
    say_value(story, ", in ", "latency_us", " us");
    say_value(story, ", the upstream's part ", "upstream_us", " us");
    say_line(story, "came back", "answer_effect");
    say_value(story, ", by rule ", "answer_rule", "");
    say_value(story, ", found ", "answer_found", "");
    say_value(story, ", undecided ", "answer_undecided", "");
    if (show__value(&story->show->call, "server_withheld").at != NULL) {
        say_line(story, "withheld", "server_withheld");
        say_value(story, " notifications of the server; it sent ", "server_notifications", " others");
    }
    say_line(story, "applying", "answer_rules");
    say_answer(story);
}

static void say_walk(struct story *story)
{
    const struct show *show = story->show;
    struct span rest = buf_peek(&show->words), verdict = show__value(&show->call, "verdict");

    say(story, "\n\nthe policy's walk\n");
    if (show->no_walk[0] != '\0') {
        say(story, "  ");
        say_safe(story, span_text(show->no_walk));
        say(story, "\n");
    }
    while (rest.len > 0) {
        struct span line = span_cut(rest, '\n', &rest);

        say(story, line.len > 0 ? "  " : "");
        say_safe(story, line);
        say(story, "\n");
    }
    if (show->is_guessed) {
        say(story, "  (it hangs on what the record lost: it could as well be ");
        say(story, show->otherwise);
        say(story, ")\n");
    } else if (show->walked != NULL && !span_is(verdict, show->walked)) {
        say(story, "  (the record says otherwise: approvals and `_meta` are not in it)\n");
    }
}

static void say_event(struct story *story, const struct show_row *row, const char *kind)
{
    say_safe(story, show__value(row, "time"));
    say(story, "  ");
    say_safe(story, show__value(row, kind));
    say(story, "  by ");
    say_safe(story, show__value(row, "actor"));
    say(story, "  ");
    say_safe(story, show__value(row, "detail"));
    say(story, "\n");
}

static int print(struct story *story, int status)
{
    enum code code = buf_code(&story->text);

    if (code == CODE_OK)
        code = print_block(stdout, buf_peek(&story->text));
    buf_fini(&story->text);
    return code == CODE_OK ? status : complain(STATUS_CANNOT, "%s", code_text(code));
}

/* The calls around it, as `audit query` shows them. */
static int print_neighbours(const struct show *show)
{
    static const struct asked table = {.fields = "seq,time,principal,tool,verdict,reason,rule,outcome"};
    static struct audit_out out;
    int status;
    enum code code = CODE_OK;

    if (show->neighbours < 2)
        return STATUS_DONE;
    printf("\nin the same correlation, %" PRIu64 " of %" PRIu64 " calls\n", (uint64_t)show->neighbours, show->related);
    out = (struct audit_out){.rows = 0};
    status = audit_out_begin(&out, &table);
    for (size_t i = 0; i < show->neighbours && code == CODE_OK; i++)
        code = audit_out_row(&out, &(struct query_row){show->neighbour[i].count, show->neighbour[i].names,
                                                       show->neighbour[i].values});
    if (code == CODE_OK)
        code = audit_out_flush(&out);
    audit_out_end(&out);
    return code == CODE_OK && status == OPTIONS_GO ? STATUS_DONE : complain(STATUS_CANNOT, "%s", code_text(code));
}

int show__text(const struct show *show)
{
    struct story story = {.show = show};
    int status;

    buf_init(&story.text, SHOW_MEMORY_BYTES);
    if (show->kind == ENTRY_EVENT) {
        say(&story, "event ");
        say_safe(&story, show__value(&show->event, "seq"));
        say(&story, "\n  ");
        say_event(&story, &show->event, "event");
        return print(&story, STATUS_DONE);
    }
    say_value(&story, "decision ", "seq", "");
    say_value(&story, " (its outcome is row ", "outcome_seq", ")");
    say_request(&story);
    say(&story, "\n");
    say_verdict(&story);
    say_walk(&story);
    if (show->approvals > 0)
        say(&story, "\napprovals\n");
    for (size_t i = 0; i < show->approvals; i++) {
        say(&story, "  ");
        say_event(&story, &show->approval[i], "kind");
    }
    status = print(&story, STATUS_DONE);
    return status == STATUS_DONE ? print_neighbours(show) : status;
}

/* ---- JSON ---- */

static void add_row(struct buf *out, const struct show_row *row)
{
    static const struct audit_out every_column = {.as_json = true};

    audit_out_json(out, &every_column, &(struct query_row){row->count, row->names, row->values});
}

static void add_rows(struct buf *out, const char *name, const struct show_row *rows, size_t count)
{
    buf_addf(out, ",\"%s\":[", name);
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            buf_add_byte(out, ',');
        add_row(out, &rows[i]);
    }
    buf_add_byte(out, ']');
}

static void add_walk(struct buf *out, const struct show *show)
{
    buf_add_text(out, ",\"walk\":");
    if (show->walked == NULL) {
        buf_add_text(out, "{\"why_not\":");
        json_write_string(out, span_text(show->no_walk));
    } else {
        buf_addf(out, "{\"verdict\":\"%s\",\"guessed\":%s,\"text\":", show->walked, show->is_guessed ? "true" : "false");
        json_write_string(out, buf_peek(&show->words));
    }
    buf_add_byte(out, '}');
}

int show__json(const struct show *show)
{
    struct story story = {.show = show};
    struct buf line;

    buf_init(&line, SHOW_MEMORY_BYTES);
    buf_init(&story.text, 2 * SHOW_MEMORY_BYTES);
    buf_add_text(&line, show->kind == ENTRY_EVENT ? "{\"event\":" : "{\"call\":");
    add_row(&line, show->kind == ENTRY_EVENT ? &show->event : &show->call);
    if (show->kind != ENTRY_EVENT) {
        add_walk(&line, show);
        add_rows(&line, "approvals", show->approval, show->approvals);
        add_rows(&line, "neighbours", show->neighbour, show->neighbours);
    }
    if (buf_fail(&story.text, buf_add_text(&line, "}")) == CODE_OK)
        say_safe(&story, buf_peek(&line));
    say(&story, "\n");
    buf_fini(&line);
    return print(&story, STATUS_DONE);
}
