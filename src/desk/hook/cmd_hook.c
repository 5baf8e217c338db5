/* SPDX-License-Identifier: Apache-2.0 */
/* callgate hook: asks the running gate whether a client's own tool may run. Whatever goes wrong is a denial. */
#include "cli/commands.h"
#include "hook/client.h"
#include "setup/pipe_gate.h"

#include "base/ascii.h"
#include "http/reader.h"
#include "http/writer.h"
#include "args/print.h"
#include "json/text.h"
#include "os/local.h"
#include "os/sock.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#define LONGEST_MS 2000 /* a client that waits longer for us than it is patient lets the tool run */
#define SAID_BYTES ((size_t)64 << 20)
#define ANSWER_BYTES ((size_t)1 << 20)
#define STATUS_DENIED 2 /* that alone stops a client's tool; any other status but 0 is a mere fault to it */

struct hook {
    const struct hook_client *client;
    struct json_text in;         /* what the client says */
    struct hook_said said;
    bool is_read;                /* and could be read */
    struct conf_pipe_route route;
    struct json_text answer;     /* the gate's */
    struct buf text;             /* why it is denied */
};

/* ---- an end in time ---- */

static struct buf late; /* what the client reads then on stdout */
static volatile sig_atomic_t reports;

#define LATE "callgate: the gate did not answer within two seconds, so this call is denied; `callgate status` says how it is.\n"

/* Nobody can be asked to wait no longer: stdin, the disk and the gate may all be slow. So this ends the process, whatever it
 * waits for. */
static void end_late(int signo)
{
    struct span text = buf_peek(&late);

    (void)signo;
    if (reports)
        _exit(STATUS_DONE);
    if (write(STDERR_FILENO, LATE, sizeof LATE - 1) < 0 || write(STDOUT_FILENO, text.at, text.len) < 0)
        _exit(STATUS_DENIED);
    _exit(STATUS_DENIED);
}

/* A client may have blocked the signal, which its children inherit. */
static bool end_in_time(const struct hook_client *client)
{
    const struct itimerval longest = {.it_value = {.tv_sec = LONGEST_MS / 1000, .tv_usec = LONGEST_MS % 1000 * 1000}};
    struct sigaction action = {.sa_handler = end_late};
    sigset_t alarm_set;
    enum code code;

    buf_init(&late, 4096);
    code = hook_deny(client, SPAN_LIT("The gate did not answer in time, so this call is denied."), &late);
    return code == CODE_OK && sigemptyset(&alarm_set) == 0 && sigaddset(&alarm_set, SIGALRM) == 0 &&
           sigaction(SIGALRM, &action, NULL) == 0 && sigprocmask(SIG_UNBLOCK, &alarm_set, NULL) == 0 &&
           setitimer(ITIMER_REAL, &longest, NULL) == 0;
}

/* ---- what the client says ---- */

static enum code read_all(int fd, struct buf *out)
{
    char piece[16384];
    enum code code = CODE_OK;
    ssize_t got = 1;

    while (got != 0 && code == CODE_OK) {
        got = read(fd, piece, sizeof piece);
        if (got < 0 && errno != EINTR)
            code = CODE_IO;
        else if (got > 0)
            code = buf_add(out, piece, (size_t)got);
    }
    return code;
}

static enum code read_client(struct hook *hook, struct why *why)
{
    enum code code;
    struct buf text;

    buf_init(&text, SAID_BYTES);
    code = read_all(STDIN_FILENO, &text);
    if (code == CODE_OK)
        code = json_text_read(&hook->in, buf_peek(&text), &json_file_rules, SAID_BYTES);
    buf_fini(&text);
    if (code != CODE_OK)
        return why_set(why, code, "what the client wrote cannot be read: %s",
                       hook->in.fault.text != NULL ? hook->in.fault.text : code_text(code));
    return hook_read(hook->in.root, &hook->client, &hook->said, why);
}

/* Whether the gate hears of the call in another way: from its client once more, or as a server's that stands behind it. */
static bool comes_again(const struct hook *hook)
{
    const struct hook_said *said = &hook->said;

    if (said->is_asked_later)
        return true;
    for (size_t i = 0; i < hook->route.server_count; i++)
        if ((said->server.len > 0 && span_equals(hook->route.servers[i], said->server)) ||
            (said->url.len > 0 && span_equals(hook->route.urls[i], said->url)))
            return true;
    return false;
}

static enum code read_route(struct hook *hook, const char *conf, struct why *why)
{
    struct faults faults;
    enum code code;

    faults_init(&faults);
    code = conf_pipe_route(conf, hook_client_name(hook->client), true, &hook->route, &faults);
    if (code != CODE_OK && faults.count > 0)
        return why_set(why, code, "%s: %s", conf, faults.fault[0].text);
    return code == CODE_OK ? code : why_set(why, code, "%s: %s", conf, code_text(code));
}

/* ---- the question, and its answer ---- */

static enum code write_request(const struct hook *hook, struct buf *out)
{
    struct buf body;
    enum code code;

    buf_init(&body, SAID_BYTES);
    code = hook_question(&hook->said, &body);
    http_write_request(out, HTTP_METHOD_POST, SPAN_LIT("/"), false, SPAN_NONE);
    http_write_line(out, SPAN_LIT("Host: "), SPAN_LIT("hook"));
    buf_addf(out, "User-Agent: %s", hook_client_name(hook->client));
    if (hook->said.version.len > 0 && ascii_is_all(hook->said.version, "!-~"))
        buf_addf(out, "/%.*s", SPAN_ARG(span_part(hook->said.version, 0, 64)));
    buf_add_text(out, "\r\n");
    http_write_line(out, SPAN_LIT("Accept: "), SPAN_LIT("application/json"));
    http_write_line(out, SPAN_LIT("Content-Type: "), SPAN_LIT("application/json"));
    if (code == CODE_OK)
        http_write_line_u64(out, SPAN_LIT("Content-Length: "), buf_len(&body));
    http_write_head_end(out);
    code = code == CODE_OK ? buf_add_span(out, buf_peek(&body)) : code;
    buf_fini(&body);
    return code;
}

static bool wait_for(int fd, short events)
{
    struct pollfd poll_fd = {.fd = fd, .events = events};

    return poll(&poll_fd, 1, -1) > 0 || errno == EINTR;
}

static enum code send_all(int fd, struct buf *out)
{
    while (!buf_is_empty(out)) {
        struct span rest = buf_peek(out);
        ssize_t sent = send(fd, rest.at, rest.len, MSG_NOSIGNAL);

        if (sent > 0)
            buf_drop(out, (size_t)sent);
        else if (errno != EAGAIN || !wait_for(fd, POLLOUT))
            return CODE_IO;
    }
    return CODE_OK;
}

static enum code receive(int fd, struct buf *in)
{
    char piece[4096];
    ssize_t got;

    while ((got = recv(fd, piece, sizeof piece, 0)) < 0 && (errno == EAGAIN || errno == EINTR))
        if (!wait_for(fd, POLLIN))
            return CODE_IO;
    return got > 0 ? buf_add(in, piece, (size_t)got) : CODE_IO;
}

/* Reads one answer. Takes: body: empty. Returns: CODE_IO: the gate has left. */
static enum code read_answer(int fd, struct http_reader *reader, struct buf *in, struct buf *body)
{
    enum http_step step = HTTP_STEP_NEED_MORE;
    enum code code = CODE_OK;

    while (step != HTTP_STEP_MESSAGE_DONE && code == CODE_OK) {
        struct span piece = SPAN_NONE;
        size_t used = 0;

        step = http_reader_feed(reader, buf_peek(in), &used, &piece);
        if (step == HTTP_STEP_BODY)
            code = buf_add_span(body, piece);
        buf_drop(in, used);
        if (step == HTTP_STEP_FAULT)
            code = CODE_INVALID;
        else if (step == HTTP_STEP_NEED_MORE)
            code = receive(fd, in);
    }
    return code;
}

static enum code exchange(struct hook *hook, int fd, struct why *why)
{
    struct http_reader reader;
    struct buf out, in, body;
    enum code code;

    buf_init(&out, SIZE_MAX / 2);
    buf_init(&in, ANSWER_BYTES);
    buf_init(&body, ANSWER_BYTES);
    http_reader_init_reply(&reader);
    http_reader_begin_reply(&reader, HTTP_METHOD_POST);
    code = write_request(hook, &out);
    if (code == CODE_OK)
        code = send_all(fd, &out);
    if (code == CODE_OK)
        code = read_answer(fd, &reader, &in, &body);
    if (code == CODE_OK)
        code = json_text_read(&hook->answer, buf_peek(&body), &json_file_rules, ANSWER_BYTES);
    if (code != CODE_OK)
        why_set(why, code, "the gate gave no answer that can be read (%s); `callgate status` says how it is", code_text(code));
    http_reader_fini(&reader);
    buf_fini(&body);
    buf_fini(&in);
    buf_fini(&out);
    return code;
}

/* Asks as a pipe does, whose server is nobody: what the gate permits goes on in the client. */
static enum code ask(struct hook *hook, const char *conf, struct why *why)
{
    unsigned char digest[LOCAL_DIGEST_BYTES];
    int fd = -1, ends[2] = {-1, -1};
    enum code code = conf_digest(conf, digest, why);

    if (code == CODE_OK)
        code = pipe_gate_reach(conf, &hook->route.pipe, false, &fd, why);
    if (code == CODE_NOT_FOUND)
        why_set(why, code, "no gate runs here: nobody listens on %s; `callgate serve` starts one", hook->route.pipe.socket);
    if (code == CODE_OK && (local_pair(ends) != CODE_OK || local_introduce(fd, hook->route.name, digest, ends[0]) != CODE_OK))
        code = why_set(why, CODE_IO, "the gate cannot be asked: %s", strerror(errno));
    if (code == CODE_OK)
        code = exchange(hook, fd, why);
    sock_close(&ends[0]);
    sock_close(&ends[1]);
    sock_close(&fd);
    return code;
}

/* ---- the client's answer ---- */

static bool is_permitted(const struct hook *hook)
{
    return span_is(json_member_text(hook->answer.root, "verdict"), "permit");
}

/* What the gate said of its denial: of one that has no route in the words of MCP. */
static enum code write_denial(struct hook *hook)
{
    const struct json_node *root = hook->answer.root;
    struct span text = json_member_text(root, "text"), page = json_member_text(root, "page");

    if (text.at == NULL)
        text = json_member_text(json_member(root, SPAN_LIT("error")), "message");
    buf_add_span(&hook->text, text.at != NULL ? text : SPAN_LIT("The gate did not permit this call."));
    if (page.at != NULL)
        buf_addf(&hook->text, " Whoever may decide opens %.*s", SPAN_ARG(page));
    return buf_code(&hook->text);
}

static int tell(const struct hook *hook, bool is_permit)
{
    struct buf out;
    int status = is_permit ? STATUS_DONE : STATUS_DENIED;
    enum code code;

    buf_init(&out, SIZE_MAX / 2);
    code = is_permit ? hook_permit(hook->client, &out) : hook_deny(hook->client, buf_peek(&hook->text), &out);
    if (code != CODE_OK || print_block(stdout, buf_peek(&out)) != CODE_OK || fflush(stdout) != 0)
        status = STATUS_DENIED;
    if (!is_permit)
        print_lines(stderr, buf_peek(&hook->text));
    buf_fini(&out);
    return status;
}

static int run(struct hook *hook, const char *conf)
{
    struct why why = {""};
    bool is_permit = false;
    enum code code = read_client(hook, &why);

    hook->is_read = code == CODE_OK;
    reports = hook->is_read && hook->said.event == HOOK_REPORTS;
    if (reports && hook->said.id == NULL)
        return STATUS_DONE;
    if (code == CODE_OK)
        code = read_route(hook, conf, &why);
    if (code == CODE_OK && comes_again(hook))
        is_permit = true;
    else if (code == CODE_OK)
        code = ask(hook, conf, &why);
    is_permit = is_permit || (code == CODE_OK && is_permitted(hook));
    if (code != CODE_OK)
        buf_addf(&hook->text, "callgate: %s. So this call is denied.", why.text);
    else if (!is_permit && write_denial(hook) != CODE_OK)
        buf_clear(&hook->text);
    if (reports)
        return STATUS_DONE; /* what was done is done, whatever becomes of its report */
    return tell(hook, is_permit);
}

int cmd_hook(const struct asked *asked)
{
    struct hook hook = {.client = asked->client != NULL ? hook_client_find(asked->client) : NULL};
    int status;

    if (hook.client == NULL)
        return complain(STATUS_USAGE, "--client is %s; say which client asks", HOOK_CLIENTS);
    if (!end_in_time(hook.client))
        return complain(STATUS_USAGE, "no deadline can be set, so this call is denied");
    buf_init(&hook.text, 65536);
    status = run(&hook, conf_file_path(asked->file));
    arena_fini(&hook.route.arena);
    json_text_fini(&hook.answer);
    json_text_fini(&hook.in);
    buf_fini(&hook.text);
    buf_fini(&late);
    return status;
}
