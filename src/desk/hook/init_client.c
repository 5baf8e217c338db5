/* SPDX-License-Identifier: Apache-2.0 */
/* callgate init --client: the file that has a client ask the gate, with each switch that fails closed. It is printed and not
 * put in its place, where somebody's own settings may stand. Which switch is whose, and since when: policies/HOOKS.md. */
#include "cli/commands.h"
#include "hook/client.h"

#include "args/print.h"
#include "base/ascii.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ASKS = 0, REPORTS = 1 };

struct setting {
    const char *client;
    const char *own, *managed; /* where the file belongs: of one person, of all of the machine */
    enum code (*write)(const struct conf_pipe_route *route, const struct span calls[2], bool managed, struct buf *out);
    const char *closes;        /* behind the command that asks, where the client takes any fault but status 2 for a permit */
    const char *note[2];       /* what the file cannot say: of one person, of all of the machine */
};

/* ---- the command that clients run ---- */

/* Most clients hand it to a shell. */
static enum code add_word(struct buf *out, const char *word)
{
    if (ascii_is_all(span_text(word), "a-zA-Z0-9_./-"))
        return buf_add_text(out, word);
    buf_add_byte(out, '\'');
    for (; *word != '\0'; word++)
        buf_add_text(out, *word == '\'' ? "'\\''" : (const char[]){*word, '\0'});
    return buf_add_byte(out, '\'');
}

static enum code write_command(const char *client, const char *conf, struct buf *out)
{
    char own[PATH_MAX], whole[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", own, sizeof own - 1);

    own[len > 0 ? len : 0] = '\0';
    add_word(out, len > 0 ? own : "callgate");
    buf_addf(out, " hook --client %s --config ", client);
    return add_word(out, realpath(conf, whole) != NULL ? whole : conf);
}

/* ---- Claude Code ---- */

static void add_claude_hook(struct buf *out, const char *event, struct span command, const char *more)
{
    buf_addf(out, "    \"%s\": [{\"hooks\": [{\"type\": \"command\", \"command\": ", event);
    json_write_string(out, command);
    buf_addf(out, ", \"timeout\": 10%s}]}]", more);
}

static void add_claude_servers(struct buf *out, const struct conf_pipe_route *route)
{
    bool is_first = true;

    buf_add_text(out, "  \"allowManagedHooksOnly\": true,\n  \"allowManagedMcpServersOnly\": true,\n");
    buf_add_text(out, "  \"allowedMcpServers\": [");
    for (size_t i = 0; i < route->server_count; i++) {
        if (route->urls[i].len == 0)
            continue;
        buf_add_text(out, is_first ? "{\"serverUrl\": " : ", {\"serverUrl\": ");
        json_write_string(out, route->urls[i]);
        buf_add_byte(out, '}');
        is_first = false;
    }
    buf_add_text(out, "],\n");
}

static enum code write_claude(const struct conf_pipe_route *route, const struct span calls[2], bool managed,
                              struct buf *out)
{
    buf_add_text(out, "{\n");
    if (managed)
        add_claude_servers(out, route);
    buf_add_text(out, "  \"hooks\": {\n");
    add_claude_hook(out, "PreToolUse", calls[ASKS], ", \"onFailure\": \"block\"");
    buf_add_text(out, ",\n");
    add_claude_hook(out, "PostToolUse", calls[REPORTS], "");
    buf_add_text(out, ",\n");
    add_claude_hook(out, "PostToolUseFailure", calls[REPORTS], "");
    return buf_add_text(out, "\n  }\n}\n");
}

/* ---- Codex ---- */

static void add_codex_hook(struct buf *out, const char *event, struct span command)
{
    buf_addf(out, "\n[[hooks.%s]]\n[[hooks.%s.hooks]]\ntype = \"command\"\ncommand = ", event, event);
    json_write_string(out, command); /* a string of JSON is one of TOML */
    buf_add_text(out, "\ntimeout = 10\n");
}

static enum code write_codex(const struct conf_pipe_route *route, const struct span calls[2], bool managed,
                              struct buf *out)
{
    if (managed)
        buf_add_text(out, "allow_managed_hooks_only = true\n\n");
    buf_add_text(out, "[features]\nhooks = true\n");
    if (managed)
        buf_add_text(out, "\n[mcp_servers]\n"); /* one that is not listed is not started */
    for (size_t i = 0; managed && i < route->server_count; i++) {
        if (route->urls[i].len == 0)
            continue;
        json_write_string(out, route->servers[i]);
        buf_add_text(out, " = { identity = { url = ");
        json_write_string(out, route->urls[i]);
        buf_add_text(out, " } }\n");
    }
    add_codex_hook(out, "PreToolUse", calls[ASKS]);
    add_codex_hook(out, "PostToolUse", calls[REPORTS]);
    return buf_code(out);
}

/* ---- Cursor ---- */

static enum code write_cursor(const struct conf_pipe_route *route, const struct span calls[2], bool managed,
                              struct buf *out)
{
    static const struct {
        const char *event;
        bool asks;
    } events[] = {{"preToolUse", true}, {"beforeMCPExecution", true}, {"beforeTabFileRead", true}, {"postToolUse", false},
                  {"postToolUseFailure", false}};

    (void)route;
    (void)managed;
    buf_add_text(out, "{\n  \"version\": 1,\n  \"hooks\": {\n");
    for (size_t i = 0; i < sizeof events / sizeof events[0]; i++) {
        buf_addf(out, "%s    \"%s\": [{\"command\": ", i > 0 ? ",\n" : "", events[i].event);
        json_write_string(out, calls[events[i].asks ? ASKS : REPORTS]);
        buf_addf(out, ", \"timeout\": 10%s}]", events[i].asks ? ", \"failClosed\": true" : "");
    }
    return buf_add_text(out, "\n  }\n}\n");
}

/* ---- the command ---- */

#define BY_NAME "; any server that has a route's name passes unjudged, since it says nothing else of it: --managed lists them"
#define OF_CLAUDE "onFailure is known from 2.1.295 on: an older one lets a tool run where no hook can be started"
#define OF_CODEX "it lets a tool run where no hook can be started; a hook that is not managed waits until /hooks trusts it"
#define OF_CURSOR "no file lists its servers; the dashboard of a team does"

static const struct setting settings[] = {
    {"claude-code", "~/.claude/settings.json", "/etc/claude-code/managed-settings.json", write_claude, " || exit 2",
     {OF_CLAUDE BY_NAME, OF_CLAUDE}},
    {"codex", "~/.codex/config.toml", "/etc/codex/requirements.toml", write_codex, " || exit 2",
     {OF_CODEX BY_NAME, OF_CODEX}},
    {"cursor", "~/.cursor/hooks.json", "/etc/cursor/hooks.json", write_cursor, "",
     {OF_CURSOR, OF_CURSOR}},
};

static int print_setting(const struct setting *setting, const struct asked *asked, struct span text)
{
    const char *place = asked->managed ? setting->managed : setting->own;
    struct doc *doc;

    if (!asked->json) {
        print_lines(stdout, text);
        print_safely(stderr, "This is for %s; what stands there is yours to join. %s: %s.\n", place, setting->client,
                     setting->note[asked->managed]);
        return STATUS_DONE;
    }
    doc = doc_object();
    doc_text(doc, "client", span_text(setting->client));
    doc_bool(doc, "managed", asked->managed);
    doc_text(doc, "path", span_text(place));
    doc_text(doc, "text", text);
    doc_text(doc, "note", span_text(setting->note[asked->managed]));
    return print_doc(&doc);
}

static int write_setting(const struct setting *setting, const struct asked *asked, const char *conf,
                         const struct conf_pipe_route *route)
{
    struct buf asks, reports, text;
    enum code code;
    int status;

    buf_init(&asks, 65536);
    buf_init(&reports, 65536);
    buf_init(&text, (size_t)1 << 20);
    write_command(setting->client, conf, &reports);
    code = write_command(setting->client, conf, &asks);
    if (code == CODE_OK)
        code = buf_add_text(&asks, setting->closes);
    if (code == CODE_OK && buf_code(&reports) == CODE_OK)
        code = setting->write(route, (const struct span[2]){buf_peek(&asks), buf_peek(&reports)}, asked->managed, &text);
    status = code == CODE_OK ? print_setting(setting, asked, buf_peek(&text)) : complain(STATUS_CANNOT, "%s", code_text(code));
    buf_fini(&asks);
    buf_fini(&reports);
    buf_fini(&text);
    return status;
}

int cmd_init_client(const struct asked *asked)
{
    const char *conf = conf_file_path(asked->file);
    const struct setting *setting = NULL;
    struct conf_pipe_route route;
    struct faults faults;
    int status;

    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++)
        if (strcmp(settings[i].client, asked->client) == 0)
            setting = &settings[i];
    if (setting == NULL)
        return complain(STATUS_USAGE, "--client is %s; say which client is to ask", HOOK_CLIENTS);
    faults_init(&faults);
    if (conf_pipe_route(conf, setting->client, true, &route, &faults) != CODE_OK)
        status = faults.count > 0 ? complain_faults(&faults) : complain(STATUS_CANNOT, "%s cannot be read", conf);
    else
        status = write_setting(setting, asked, conf, &route);
    arena_fini(&route.arena);
    return status;
}
