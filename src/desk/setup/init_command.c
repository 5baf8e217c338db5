/* SPDX-License-Identifier: Apache-2.0 */
#include "setup/init_command.h"

#include "base/mem.h"
#include "json/doc.h"
#include "os/clock.h"
#include "os/process.h"
#include "os/sock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LINE_MAX_BYTES ((size_t)8 << 20)
#define WAIT_US (INT64_C(120) * 1000000)
#define READ_BYTES 65536

/* ---- the words ---- */

/* Cuts the next word out of *at, in place. Returns: NULL at the end; *open: a quote has no other. */
static char *next_word(char **at, bool *open)
{
    char *from = *at, *to, *word, quote = '\0';

    while (*from == ' ' || *from == '\t')
        from++;
    if (*from == '\0')
        return NULL;
    for (word = to = from; *from != '\0' && (quote != '\0' || (*from != ' ' && *from != '\t')); from++) {
        if (quote == '\0' && (*from == '\'' || *from == '"')) {
            quote = *from;
        } else if (*from == quote) {
            quote = '\0';
        } else {
            if (*from == '\\' && quote != '\'' && from[1] != '\0')
                from++;
            *to++ = *from;
        }
    }
    *open = quote != '\0';
    *at = *from == '\0' ? from : from + 1;
    *to = '\0';
    return word;
}

enum code init_command_open(struct init_command *command, const char *line, struct why *why)
{
    size_t count = 0;
    bool open = false;
    char *at;

    memset(command, 0, sizeof *command);
    command->pid = command->in = command->out = command->ended = -1;
    buf_init(&command->lines, LINE_MAX_BYTES);
    buf_init(&command->canonical, LINE_MAX_BYTES);
    arena_init(&command->arena, LINE_MAX_BYTES * 8);
    at = command->text = mem_dup(line, strlen(line));
    if (at == NULL)
        return why_set(why, CODE_NOMEM, "not enough memory");
    for (char *word = next_word(&at, &open); word != NULL && !open; word = next_word(&at, &open)) {
        if (count == INIT_WORDS_MAX)
            return why_set(why, CODE_INVALID, "the command has more than %d words; put it into a script", INIT_WORDS_MAX);
        command->words[count++] = word;
    }
    if (open || count == 0)
        return why_set(why, CODE_INVALID, "--command is not a command: %s",
                       open ? "a quote is not closed; close it" : "it is empty; write one");
    return CODE_OK;
}

static bool is_runner(struct span word)
{
    static const char *const runners[] = {"npx", "npm", "exec", "bunx", "bun", "uvx", "uv",
                                          "pipx", "run", "node", "deno", "env"};

    for (size_t i = 0; i < sizeof runners / sizeof *runners; i++)
        if (span_is(word, runners[i]))
            return true;
    return span_starts_with(word, SPAN_LIT("python"));
}

static struct span base_of(const char *word)
{
    const char *slash = strrchr(word, '/');

    return span_text(slash != NULL ? slash + 1 : word);
}

/* Whether every other server is called so, or lies in a folder that is: `dist/index.js`. */
static bool says_nothing(struct span name)
{
    static const char *const words[] = {"index.js", "index.mjs", "main.js", "main.py", "__main__.py",
                                        "cli.js", "main", "dist", "build", "bin", "lib", "src"};

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (span_is(name, words[i]))
            return true;
    return false;
}

static struct span name_of(const char *word)
{
    struct span rest = span_text(word), name;
    const char *slash;

    do {
        slash = memrchr(rest.at, '/', rest.len);
        name = slash != NULL ? span_part(rest, (size_t)(slash + 1 - rest.at), SIZE_MAX) : rest;
        rest.len = slash != NULL ? (size_t)(slash - rest.at) : 0;
    } while (rest.len > 0 && says_nothing(name));
    return name.len > 0 ? name : base_of(word);
}

void init_command_name(const struct init_command *command, char out[64])
{
    static const char *const fronts[] = {"mcp-server-", "server-", "mcp-"};
    static const char *const backs[] = {".py", ".js", ".mjs", "-mcp-server", "-mcp"};
    size_t at = 0;
    struct span name, rest;

    while (command->words[at + 1] != NULL && (is_runner(base_of(command->words[at])) || command->words[at][0] == '-'))
        at++;
    name = span_cut(name_of(command->words[at]), '@', &rest);
    for (size_t i = 0; i < sizeof fronts / sizeof *fronts; i++)
        if (span_starts_with(name, span_text(fronts[i])))
            name = span_part(name, strlen(fronts[i]), SIZE_MAX);
    for (size_t i = 0; i < sizeof backs / sizeof *backs; i++)
        if (name.len > strlen(backs[i]) && span_ends_with(name, span_text(backs[i])))
            name.len -= strlen(backs[i]);
    (void)snprintf(out, 64, "%.*s", (int)(name.len < 40 ? name.len : 40), name.len > 0 ? name.at : "server");
}

/* ---- the process ---- */

enum code init_command_start(struct init_command *command, struct why *why)
{
    int in[2] = {-1, -1}, out[2] = {-1, -1};
    struct process_program program = {.argv = command->words, .err = -1};
    enum code code;

    if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0) {
        code = why_set(why, CODE_IO, "%s cannot be started: %s", command->words[0], strerror(errno));
    } else {
        program.in = in[0];
        program.out = out[1];
        code = process_start(&program, &command->pid, &command->ended, why);
    }
    sock_close(&in[0]);
    sock_close(&out[1]);
    command->in = in[1];
    command->out = out[0];
    return code;
}

void init_command_close(struct init_command *command)
{
    sock_close(&command->in);
    sock_close(&command->out);
    if (command->pid > 0)
        (void)process_finish(command->pid);
    sock_close(&command->ended);
    buf_fini(&command->lines);
    buf_fini(&command->canonical);
    arena_fini(&command->arena);
    mem_free(command->text);
}

static enum code write_line(const struct init_command *command, struct span message, struct why *why)
{
    struct buf line;
    enum code code;

    buf_init(&line, LINE_MAX_BYTES);
    code = buf_add_span(&line, message);
    if (code == CODE_OK)
        code = buf_add_byte(&line, '\n');
    while (code == CODE_OK && !buf_is_empty(&line)) {
        struct span bytes = buf_peek(&line);
        ssize_t done = write(command->in, bytes.at, bytes.len);

        if (done > 0)
            buf_drop(&line, (size_t)done);
        else if (errno != EINTR)
            code = why_set(why, CODE_IO, "%s takes no message: %s", command->words[0], strerror(errno));
    }
    buf_fini(&line);
    return code;
}

static enum code read_more(struct init_command *command, int64_t until_us, struct why *why)
{
    struct pollfd ready = {.fd = command->out, .events = POLLIN};
    int64_t left_us = until_us - clock_monotonic_us();
    ssize_t got;
    char *at;

    if (left_us <= 0 || poll(&ready, 1, (int)(left_us / 1000) + 1) == 0)
        return why_set(why, CODE_IO, "%s did not answer in time", command->words[0]);
    if (buf_reserve(&command->lines, READ_BYTES, &at) != CODE_OK)
        return why_set(why, CODE_LIMIT, "%s writes a line of more than %zu bytes", command->words[0], LINE_MAX_BYTES);
    got = read(command->out, at, READ_BYTES);
    if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN))
        return why_set(why, CODE_IO, "%s has ended without an answer; what it said stands above", command->words[0]);
    buf_commit(&command->lines, got > 0 ? (size_t)got : 0);
    return CODE_OK;
}

/* Of what else it says, nothing is waited for here. Returns: whether the line is an answer; `lines` is one shorter. */
static bool take_line(struct init_command *command, const struct json_node **root)
{
    struct span line = span_part(buf_peek(&command->lines), 0, span_find(buf_peek(&command->lines), '\n'));
    struct json_fault fault;
    bool is_answer;

    buf_clear(&command->canonical);
    arena_reset(&command->arena);
    is_answer = json_read(line, &json_file_rules, &command->canonical, &command->arena, root, &fault) == CODE_OK &&
                json_member(*root, SPAN_LIT("method")) == NULL && json_member(*root, SPAN_LIT("id")) != NULL;
    buf_drop(&command->lines, line.len + 1);
    return is_answer;
}

enum code init_command_ask(struct init_command *command, struct span message, const struct json_node **answer, struct why *why)
{
    int64_t until_us = clock_monotonic_us() + WAIT_US;
    enum code code = write_line(command, message, why);

    while (code == CODE_OK && answer != NULL) {
        struct span text = buf_peek(&command->lines);

        if (span_find(text, '\n') == text.len)
            code = read_more(command, until_us, why);
        else if (take_line(command, answer))
            break;
    }
    if (code != CODE_OK || answer == NULL || json_member(*answer, SPAN_LIT("result")) != NULL)
        return code;
    return why_set(why, CODE_INVALID, "the server answered without a result: %.*s",
                   (*answer)->raw.len < 200 ? (int)(*answer)->raw.len : 200, (*answer)->raw.at);
}

/* ---- what to paste ---- */

/* Clients start the program in a folder of their own. */
static const char *from_anywhere(const char *word, char *out, size_t size)
{
    char here[PATH_MAX];

    if (word[0] == '/' || strchr(word, '/') == NULL || getcwd(here, sizeof here) == NULL)
        return word;
    (void)snprintf(out, size, "%s/%s", here, word);
    return out;
}

static enum code add_client(const struct init_command *command, const char *name, const char *conf, const char *servers,
                            struct buf *out)
{
    char own[PATH_MAX], program[2 * PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", own, sizeof own - 1);
    struct doc *doc = doc_object(), *all = doc_add_object(doc, servers), *server = doc_add_object(all, name), *args;
    const char *const ours[] = {"pipe", "--config", conf, "--route", name, "--"};
    enum code code;

    if (strcmp(servers, "servers") == 0)
        doc_text(server, "type", SPAN_LIT("stdio"));
    doc_text(server, "command", len > 0 ? span_of(own, (size_t)len) : SPAN_LIT("callgate"));
    args = doc_add_array(server, "args");
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        doc_text(args, NULL, span_text(ours[i]));
    doc_text(args, NULL, span_text(from_anywhere(command->words[0], program, sizeof program)));
    for (size_t i = 1; command->words[i] != NULL; i++)
        doc_text(args, NULL, span_text(command->words[i]));
    code = buf_add_text(out, "    ");
    if (code == CODE_OK)
        code = doc_print(doc, out);
    doc_free(&doc);
    return code == CODE_OK ? buf_add_text(out, "\n") : code;
}

enum code init_command_tell(const struct init_command *command, const char *name, const char *conf, struct buf *out)
{
    enum code code = buf_add_text(out, "Claude Desktop (claude_desktop_config.json), Cursor (~/.cursor/mcp.json), most "
                                       "others:\n");

    if (code == CODE_OK)
        code = add_client(command, name, conf, "mcpServers", out);
    if (code == CODE_OK)
        code = buf_add_text(out, "VS Code (.vscode/mcp.json):\n");
    return code == CODE_OK ? add_client(command, name, conf, "servers", out) : code;
}
