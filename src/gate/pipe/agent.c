/* SPDX-License-Identifier: Apache-2.0 */
#include "pipe/agent_priv.h"

#include "base/mem.h"
#include "json/text.h"
#include "unicode/terminal.h"

#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define QUEUE_MOST 1024
#define READ_BYTES ((size_t)64 << 10)
#define AGAIN_US INT64_C(1000000)  /* until a stream that ended is asked for again */
#define END_US INT64_C(5000000)    /* for what is under way, where an end has come */
#define LOOK_US INT64_C(20000)     /* until a gate that is not there is looked for again */
#define PATIENCE_US INT64_C(3000000) /* a service manager may be about to start the gate again, so for so long no other one
                                      * is started */
#define WAITING_BYTES ((size_t)8 << 20) /* so many bytes of lines may wait before no more are read; one more line may be long */

void agent__complain(const char *format, ...)
{
    char text[512];
    struct buf safe;
    va_list list;

    va_start(list, format);
    (void)vsnprintf(text, sizeof text, format, list);
    va_end(list);
    buf_init(&safe, SIZE_MAX / 2); /* a gate's words may be a server's */
    buf_add_text(&safe, "callgate: ");
    terminal_add(&safe, span_text(text));
    if (buf_add_byte(&safe, '\n') == CODE_OK)
        (void)fwrite(buf_peek(&safe).at, 1, buf_len(&safe), stderr);
    buf_fini(&safe);
}

/* ---- lines out ---- */

static void stir(struct pipe_agent *agent)
{
    if (agent->stirs.place == 0 && loop_timer_arm(agent->conf.loop, &agent->stirs, 0) != CODE_OK)
        loop_again(agent->conf.loop);
}

/* Writes a JSON text as one line. Line ends between its tokens become blanks; its strings have none. */
void agent__say(struct pipe_agent *agent, struct span json)
{
    char *at;

    if (agent->out.is_broken)
        return;
    if (buf_reserve(&agent->out.out, json.len + 1, &at) != CODE_OK) {
        agent->out.is_broken = true; /* an answer that is cut off would be worse */
        return;
    }
    memcpy(at, json.at, json.len);
    for (size_t i = 0; i < json.len; i++)
        if (at[i] == '\n' || at[i] == '\r')
            at[i] = ' ';
    at[json.len] = '\n';
    buf_commit(&agent->out.out, json.len + 1);
    stir(agent);
}

/* ---- answers ---- */

bool agent__is_no_news(const struct pipe_agent *agent, struct span code)
{
    return agent->in.is_eof && agent->is_finished && !agent->conf.dialect->is_run_once && span_is(code, "5030");
}

static void take_session(struct pipe_agent *agent, const struct http_head *head, struct span body)
{
    const struct json_node *version;
    struct span session = http_head_known(head, HTTP_NAME_MCP_SESSION_ID);
    struct json_text text;

    buf_clear(&agent->session);
    buf_clear(&agent->version);
    if (json_text_read(&text, body, &json_reply_rules, SIZE_MAX / 2) == CODE_OK) {
        version = json_at(text.root, "result", "protocolVersion", NULL);
        if ((version != NULL && version->type == JSON_STRING && buf_add_span(&agent->version, version->text) != CODE_OK) ||
            buf_add_span(&agent->session, session) != CODE_OK)
            agent__complain("there is not enough memory for the session");
        if (buf_code(&agent->version) != CODE_OK || buf_code(&agent->session) != CODE_OK) {
            buf_clear(&agent->version);
            buf_clear(&agent->session);
        }
    }
    json_text_fini(&text);
}

void agent__answered(struct pipe_agent *agent, struct post *post, const struct http_head *head, struct span body)
{
    bool is_good = head->status >= 200 && head->status < 300;

    if (post->method != HTTP_METHOD_POST)
        return;
    if (!is_good) {
        agent__refused(agent, post, head->status, body);
        return;
    }
    if (post->is_initialize)
        take_session(agent, head, body);
    agent->is_begun = agent->is_begun || post->is_initialized;
    if (span_is_empty(body) && post->kind == LINE_REQUEST)
        agent__error(agent, post, -32603, "The request was taken, but not answered.");
    else if (!span_is_empty(body) && !post->is_cancelled)
        agent__say(agent, body);
    post->is_answered = true;
}

/* ---- lines in ---- */

static void take_line(struct pipe_agent *agent, struct span text)
{
    struct post *post = span_is_empty(span_trim(text)) ? NULL : post__of_line(text);

    if (span_is_empty(span_trim(text)))
        return;
    if (post == NULL) {
        agent__complain("there is not enough memory for a line of %zu bytes", text.len);
        return;
    }
    list_append(&agent->queue, &post->queued);
}

static void complain_of_length(const struct pipe_agent *agent)
{
    agent__complain("what came on stdin has more than %llu bytes, and is refused; `limits: {body:}` of the route allows more",
                    (unsigned long long)agent->conf.line_bytes);
}

static void refuse_long(struct pipe_agent *agent)
{
    struct post *post = post__too_long(&agent->skim, agent->skimmed);

    complain_of_length(agent);
    if (post != NULL)
        list_append(&agent->queue, &post->queued);
}

/* Returns: whether the line is over. */
static bool skim_line(struct pipe_agent *agent)
{
    struct span all = buf_peek(&agent->in.in), rest = all;
    enum skim_step step;

    do {
        step = skim_feed(&agent->skim, &rest);
    } while (step == SKIM_MESSAGE);
    agent->skimmed += all.len - rest.len;
    buf_drop(&agent->in.in, all.len - rest.len);
    if (step != SKIM_END && !agent->in.is_eof)
        return false;
    refuse_long(agent);
    agent->skims = false;
    return true;
}

/* Takes one line. `scanned` says how much of a line without an end was searched, so that no byte is looked at twice. */
static bool take_one(struct pipe_agent *agent)
{
    struct buf *in = &agent->in.in;
    struct span text = buf_peek(in), rest = span_part(text, agent->scanned, SIZE_MAX);
    size_t at = span_find(rest, '\n');
    bool is_whole = at < rest.len || (agent->in.is_eof && text.len > 0);
    size_t len = agent->scanned + at;

    if (agent->skims)
        return skim_line(agent);
    if (!is_whole && len <= agent->conf.line_bytes) {
        agent->scanned = text.len;
        return false;
    }
    agent->scanned = 0;
    if (len <= agent->conf.line_bytes) {
        take_line(agent, span_part(text, 0, len));
        buf_drop(in, len + (at < rest.len));
        return true;
    }
    agent->skims = true;
    agent->skim = (struct skim){0};
    agent->skimmed = 0;
    return true;
}

/* Whether so much waits for its turn, or for the gate to take it, that no more may be read. */
static bool is_full(const struct pipe_agent *agent)
{
    size_t count = 0, bytes = 0;

    for (const struct list *link = agent->queue.next; link != &agent->queue; link = link->next, count++)
        bytes += buf_len(&LIST_ENTRY(link, struct post, queued)->text);
    for (const struct list *link = agent->wires.next; link != &agent->wires; link = link->next)
        bytes += buf_len(&LIST_ENTRY(link, struct wire, of_agent)->tube.out);
    return count >= QUEUE_MOST || bytes >= WAITING_BYTES;
}

/* Reads a regular file, for which no loop can say when there is more. */
static void read_file(struct pipe_agent *agent)
{
    struct buf *in = &agent->in.in;
    size_t room = buf_room(in) < READ_BYTES ? buf_room(in) : READ_BYTES;
    ssize_t got;
    char *at;

    if (agent->in.is_eof || room == 0 || buf_reserve(in, room, &at) != CODE_OK)
        return;
    got = read(agent->in.fd, at, room);
    if (got > 0)
        buf_commit(in, (size_t)got);
    agent->in.is_eof = got <= 0;
    stir(agent);
}

/* Takes one object: all that comes until the end of input, or the first line where that is an object. */
static void take_object(struct pipe_agent *agent)
{
    struct span text = buf_peek(&agent->in.in);
    size_t end = span_find(text, '\n');
    struct post *post;
    bool is_whole = end < text.len && text.at[0] == '{' && end > 0 && span_trim(span_part(text, 0, end)).at[0] == '{' &&
                    span_ends_with(span_trim(span_part(text, 0, end)), SPAN_LIT("}"));

    if (agent->is_begun || (!is_whole && !agent->in.is_eof && text.len <= agent->conf.line_bytes))
        return;
    agent->is_begun = agent->in.is_eof = true;
    if (span_is_empty(span_trim(text)) || (post = post__new(HTTP_METHOD_POST)) == NULL) {
        agent__complain("one JSON object is read on stdin");
        return;
    }
    post->kind = LINE_REQUEST;
    if (text.len > agent->conf.line_bytes) {
        complain_of_length(agent);
        post->withheld = text.len;
        list_append(&agent->queue, &post->queued);
    } else if (buf_add_span(&post->text, is_whole ? span_part(text, 0, end) : text) != CODE_OK)
        post__free(&post);
    else
        list_append(&agent->queue, &post->queued);
    buf_clear(&agent->in.in);
}

static void take_lines(struct pipe_agent *agent)
{
    if (agent->reads_file)
        read_file(agent);
    if (agent->conf.dialect->is_run_once) {
        take_object(agent);
        return;
    }
    while (!is_full(agent) && (!buf_is_empty(&agent->in.in) || (agent->skims && agent->in.is_eof)) && take_one(agent))
        continue;
}

/* ---- what goes when ---- */

/* A line waits for the name of the session, and for each message before it that nobody answers. */
static bool may_go(const struct pipe_agent *agent)
{
    for (const struct list *link = agent->wires.next; link != &agent->wires; link = link->next) {
        const struct post *post = LIST_ENTRY(link, struct wire, of_agent)->post;

        if (post != NULL && post->method == HTTP_METHOD_POST &&
            (post->is_initialize || post->kind == LINE_NOTIFICATION || post->kind == LINE_RESPONSE))
            return false;
    }
    return true;
}

static struct wire *find_wire(struct pipe_agent *agent, bool may_start)
{
    for (struct list *link = agent->wires.next; link != &agent->wires; link = link->next) {
        struct wire *wire = LIST_ENTRY(link, struct wire, of_agent);

        if (wire->post == NULL && !wire->is_over && !wire->tube.is_eof && !wire->tube.is_broken)
            return wire;
    }
    return agent->wire_count < WIRES_MOST + 8 ? wire__new(agent, may_start) : NULL;
}

/* Cancels a request, whose answer is not waited for any more. In the newer era closing its connection tells the server.
 * Returns: whether nothing more is to be sent. */
static bool cancel(struct pipe_agent *agent, const struct post *cancels)
{
    for (struct list *link = agent->wires.next; link != &agent->wires; link = link->next) {
        struct wire *wire = LIST_ENTRY(link, struct wire, of_agent);

        if (wire->post == NULL || wire->post->kind != LINE_REQUEST || !span_equals(wire->post->id, cancels->cancels))
            continue;
        wire->post->is_cancelled = true;
        if (!wire->post->is_modern)
            return false;
        wire->is_over = true;
        return true;
    }
    return false;
}

static void send(struct pipe_agent *agent, struct post *post)
{
    struct wire *wire;

    if (post->is_cancel && cancel(agent, post)) {
        post__free(&post);
        return;
    }
    if (agent__is_awaited(post) && agent->wire_count >= WIRES_MOST) {
        agent__error(agent, post, -32000, "Too many requests are under way.");
        post__free(&post);
        return;
    }
    wire = find_wire(agent, post->method == HTTP_METHOD_POST);
    if (wire == NULL && post->method == HTTP_METHOD_GET)
        agent->listens = false;
    if (wire == NULL && agent__is_awaited(post))
        agent__error(agent, post, -32603, "The gate cannot be reached.");
    if (wire == NULL)
        post__free(&post);
    else
        wire__send(wire, post);
}

/* Whether a line can go to the gate. Where no gate runs, lines wait a while, but answers of the client do
 * not. Afterwards `send` may start a gate. */
static bool has_way(struct pipe_agent *agent)
{
    int64_t now = loop_now_us(agent->conf.loop);

    if (agent->is_finished || agent->wire_count >= WIRES_MOST || find_wire(agent, false) != NULL) {
        agent->missing_us = 0;
        return true;
    }
    if (agent->missing_us == 0)
        agent->missing_us = now;
    if (now - agent->missing_us >= PATIENCE_US)
        return true;
    return agent->looks.place == 0 && loop_timer_arm(agent->conf.loop, &agent->looks, LOOK_US) != CODE_OK;
}

static void send_all(struct pipe_agent *agent)
{
    while (!list_is_empty(&agent->queue) && may_go(agent) && has_way(agent)) {
        struct post *post = LIST_ENTRY(agent->queue.next, struct post, queued);

        list_remove(&post->queued);
        if (agent->is_finished && agent__is_awaited(post))
            agent__error(agent, post, -32603, "The server has ended.");
        if (agent->is_finished)
            post__free(&post);
        else
            send(agent, post);
    }
}

/* Opens the stream for what the server says by itself. */
static void listen_on(struct pipe_agent *agent)
{
    struct post *post;

    if (!agent->is_begun || agent->listens || agent->says_end || agent->is_done || agent->conf.dialect->is_run_once ||
        agent->again.place != 0)
        return;
    post = post__new(HTTP_METHOD_GET);
    if (post == NULL)
        return;
    agent->listens = true;
    send(agent, post);
    if (loop_timer_arm(agent->conf.loop, &agent->again, AGAIN_US) != CODE_OK)
        agent->listens = true; /* without the timer, the stream would be asked for without a pause */
}

/* ---- a turn, and the end ---- */

static void step_wires(struct pipe_agent *agent)
{
    struct list *link, *next;
    unsigned idle = 0;

    LIST_EACH(link, next, &agent->wires) {
        struct wire *wire = LIST_ENTRY(link, struct wire, of_agent);
        bool is_quiet;

        wire__step(wire);
        is_quiet = wire->post == NULL || wire->post->method == HTTP_METHOD_GET;
        idle += wire->post == NULL;
        if (wire->is_over || (wire->post == NULL && idle > WIRES_KEPT) || (agent->is_finished && is_quiet))
            wire__free(wire);
    }
}

/* Whether all that the agent has sent has reached the server, or was answered without it. */
static bool is_taken(const struct pipe_agent *agent)
{
    if (!list_is_empty(&agent->queue) || !buf_is_empty(&agent->in.in))
        return false;
    for (const struct list *link = agent->wires.next; link != &agent->wires; link = link->next) {
        const struct wire *wire = LIST_ENTRY(link, struct wire, of_agent);

        if (wire->post != NULL && wire->post->method == HTTP_METHOD_POST && !wire->has_head && !wire->post->is_taken)
            return false;
    }
    return true;
}

/* Ends a session that has a name by a DELETE, so that the trail shows it. Returns: whether that is still under way. */
static bool end_session(struct pipe_agent *agent)
{
    struct post *post;

    if (agent->says_end || buf_is_empty(&agent->session) || agent->is_finished) {
        for (const struct list *link = agent->wires.next; link != &agent->wires && !agent->is_late; link = link->next) {
            post = LIST_ENTRY(link, struct wire, of_agent)->post;
            if (post != NULL && post->method == HTTP_METHOD_DELETE)
                return true;
        }
        return false;
    }
    agent->says_end = true;
    post = post__new(HTTP_METHOD_DELETE);
    if (post == NULL || loop_timer_arm(agent->conf.loop, &agent->again, AGAIN_US) != CODE_OK) {
        post__free(&post);
        return false;
    }
    send(agent, post);
    return true;
}

static void look_for_end(struct pipe_agent *agent)
{
    bool has_left = agent->out.is_broken || (agent->in.is_eof && is_taken(agent));

    if (agent->is_done || !has_left || end_session(agent))
        return;
    agent->is_done = true;
    agent->conf.done(agent->conf.context);
}

static void agent_step(void *context)
{
    struct pipe_agent *agent = context;

    take_lines(agent);
    step_wires(agent);
    send_all(agent);
    step_wires(agent); /* refused lines are gone, but lines that were sent may still be answered */
    listen_on(agent);
    agent->in.is_paused = is_full(agent) || agent->reads_file;
    tube_settle(&agent->out);
    if (!agent->reads_file)
        tube_settle(&agent->in);
    look_for_end(agent);
}

static void look_again(void *context)
{
    stir(context);
}

static void ask_again(void *context)
{
    struct pipe_agent *agent = context;

    agent->is_late = agent->says_end;
    if (agent->is_finished) { /* what is not answered now never will be, since the child has ended */
        for (struct list *link = agent->wires.next; link != &agent->wires; link = link->next)
            LIST_ENTRY(link, struct wire, of_agent)->tube.is_eof = true;
    }
    stir(agent);
}

void pipe_agent_taken(struct pipe_agent *agent, uint64_t number)
{
    for (struct list *link = agent->wires.next; link != &agent->wires; link = link->next) {
        struct wire *wire = LIST_ENTRY(link, struct wire, of_agent);

        if (wire->post != NULL && wire->post->number == number)
            wire->post->is_taken = true;
    }
    stir(agent);
}

void pipe_agent_finish(struct pipe_agent *agent)
{
    agent->is_finished = agent->is_done = true;
    loop_timer_cancel(agent->conf.loop, &agent->again);
    if (loop_timer_arm(agent->conf.loop, &agent->again, END_US) != CODE_OK)
        agent->out.is_broken = true;
    stir(agent);
}

bool pipe_agent_is_over(const struct pipe_agent *agent)
{
    return agent->is_finished &&
           (agent->out.is_broken ||
            (list_is_empty(&agent->wires) && list_is_empty(&agent->queue) && buf_is_empty(&agent->out.out)));
}

/* ---- life ---- */

enum code pipe_agent_start(const struct pipe_agent_conf *conf, struct pipe_agent **out, struct why *why)
{
    struct pipe_agent *agent = mem_zalloc(sizeof *agent);
    struct stat status;
    struct wire *first;

    *out = NULL;
    if (agent == NULL)
        return why_set(why, CODE_NOMEM, "there is not enough memory for the pipe");
    agent->conf = *conf;
    list_init(&agent->queue);
    list_init(&agent->wires);
    buf_init(&agent->session, 1024);
    buf_init(&agent->version, 64);
    loop_timer_init(&agent->stirs, agent_step, agent);
    loop_timer_init(&agent->again, ask_again, agent);
    loop_timer_init(&agent->looks, look_again, agent);
    agent->reads_file = fstat(conf->in_take, &status) == 0 && S_ISREG(status.st_mode);
    tube_open(&agent->out, conf->loop, conf->out_take, 1, &agent->stirs);
    agent->out.is_paused = true;
    tube_settle(&agent->out);
    tube_open(&agent->in, conf->loop, conf->in_take, conf->line_bytes + READ_BYTES, &agent->stirs);
    if (agent->reads_file)
        loop_watch_remove(conf->loop, &agent->in.watch);
    *out = agent;
    first = wire__new(agent, true); /* an on-demand gate stays as long as this connection is open */
    if (first == NULL)
        return why_set(why, CODE_IO, "%s", "the gate cannot be reached");
    stir(agent);
    return CODE_OK;
}

void pipe_agent_free(struct pipe_agent **agent_out)
{
    struct pipe_agent *agent = *agent_out;
    struct list *link, *next;

    *agent_out = NULL;
    if (agent == NULL)
        return;
    LIST_EACH(link, next, &agent->wires)
        wire__free(LIST_ENTRY(link, struct wire, of_agent));
    LIST_EACH(link, next, &agent->queue) {
        struct post *post = LIST_ENTRY(link, struct post, queued);

        post__free(&post);
    }
    loop_timer_cancel(agent->conf.loop, &agent->stirs);
    loop_timer_cancel(agent->conf.loop, &agent->again);
    loop_timer_cancel(agent->conf.loop, &agent->looks);
    tube_close(&agent->in);
    tube_close(&agent->out);
    buf_fini(&agent->session);
    buf_fini(&agent->version);
    mem_free(agent);
}
