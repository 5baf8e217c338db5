/* SPDX-License-Identifier: Apache-2.0 */
/* Decides which line goes where. The child gets numbers for ids and progress tokens, so that no two askers share one. */
#include "pipe/child_priv.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/num.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#define NOBODY "\"error\":{\"code\":-32601,\"message\":\"Nobody can be asked: several requests share this process.\"}"
#define GONE_MOST 256 /* the most asks whose askers have gone and which have no answer; the oldest are forgotten */

static void ask_free(struct ask *ask)
{
    list_remove(&ask->of_child);
    buf_fini(&ask->original);
    buf_fini(&ask->token);
    mem_free(ask);
}

static struct ask *ask_find(struct pipe_child *child, struct span number)
{
    struct list *link, *next;
    uint64_t id;

    if (num_u64(number, &id) != CODE_OK)
        return NULL;
    LIST_EACH(link, next, &child->asks)
        if (LIST_ENTRY(link, struct ask, of_child)->id == id)
            return LIST_ENTRY(link, struct ask, of_child);
    return NULL;
}

static struct ask *ask_new(struct talk *talk, struct span canonical, const struct line *line)
{
    struct pipe_child *child = talk->child;
    struct ask *ask = mem_zalloc(sizeof *ask);

    if (ask == NULL)
        return NULL;
    buf_init(&ask->original, SIZE_MAX / 2);
    buf_init(&ask->token, SIZE_MAX / 2);
    list_append(&child->asks, &ask->of_child);
    ask->talk = talk;
    ask->id = ++child->next_id;
    ask->is_modern = line->is_modern;
    ask->is_initialize = line_method_is(canonical, line, "initialize");
    ask->is_listen = line_method_is(canonical, line, "subscriptions/listen");
    memcpy(ask->session, talk->session, sizeof ask->session);
    if (buf_add_span(&ask->original, line_text(canonical, line->id)) != CODE_OK ||
        buf_add_span(&ask->token, line_text(canonical, line->token)) != CODE_OK) {
        ask_free(ask);
        return NULL;
    }
    return ask;
}

/* ---- to the child ---- */

static enum code say_edited(struct pipe_child *child, struct span canonical, struct line_edit *edits, size_t count)
{
    enum code code;

    buf_clear(&child->edited);
    code = line_write(canonical, edits, count, &child->edited);
    if (code == CODE_OK && !child__say(child, buf_peek(&child->edited)))
        code = CODE_LIMIT;
    buf_fini(&child->edited);
    return code;
}

static void answer(struct pipe_child *child, struct ask *ask, struct span canonical, const struct line *line);

/* Asks a shared child to initialize only once; later askers get the same answer. Returns: whether the ask is answered or
 * will be; false: it is to go to the child. */
static bool answer_by_first(struct pipe_child *child, struct ask *ask)
{
    struct line line;
    struct buf text;

    if (!child->conf.is_shared || !ask->is_initialize)
        return false;
    if (buf_is_empty(&child->first)) {
        ask->is_first = !child->first_is_asked;
        child->first_is_asked = true;
        return !ask->is_first;
    }
    buf_init(&text, SIZE_MAX / 2);
    if (line_read(buf_peek(&child->first), &text, &line) == CODE_OK)
        answer(child, ask, buf_peek(&text), &line);
    buf_fini(&text);
    return true;
}

/* Asks the child. Returns: false: that was not possible, and nobody will answer. */
static bool ask_child(struct talk *talk, struct span canonical, const struct line *line)
{
    struct pipe_child *child = talk->child;
    struct ask *ask = ask_new(talk, canonical, line);
    char number[24];
    struct line_edit edits[3];

    if (ask == NULL)
        return false;
    talk->waiting++;
    if (answer_by_first(child, ask))
        return true;
    (void)snprintf(number, sizeof number, "%" PRIu64, ask->id);
    edits[0] = (struct line_edit){line->id, span_text(number)};
    edits[1] = (struct line_edit){line->token, span_text(number)};
    edits[2] = (struct line_edit){.text = SPAN_LIT("{}")};
    if (ask->is_initialize && child->conf.refuses_questions)
        edits[2].place = line->capabilities;
    if (say_edited(child, canonical, edits, 3) == CODE_OK)
        return true;
    talk->waiting--;
    child->first_is_asked &= !ask->is_first;
    ask_free(ask);
    return false;
}

static bool is_of(const struct ask *ask, const struct talk *talk, struct span original)
{
    return ask->talk != NULL && !ask->is_modern && !ask->is_first && span_equals(buf_peek(&ask->original), original) &&
           strcmp(ask->session, talk->session) == 0;
}

/* Answers a cancelled request in the child's place. Not every command does, and the asker's connection is to go on. */
static void answer_cancelled(struct ask *ask)
{
    struct talk *talk = ask->talk;
    struct buf text;

    ask->talk = NULL;
    buf_init(&text, SIZE_MAX / 2);
    if (buf_addf(&text, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"error\":{\"code\":5030,\"message\":\"The request was cancelled.\"}"
                 "}", SPAN_ARG(buf_peek(&ask->original))) == CODE_OK)
        talk__answer(talk, 200, buf_peek(&text));
    else {
        carry__gone(talk); /* with all else that it asked */
        talk__fail(talk, 502, "the request was cancelled");
    }
    buf_fini(&text);
}

/* Passes a cancellation on under the child's number. A request that is not open any more needs none. */
static bool cancel(struct talk *talk, struct span canonical, const struct line *line)
{
    struct list *link, *next;
    char number[24];

    LIST_EACH(link, next, &talk->child->asks) {
        struct ask *ask = LIST_ENTRY(link, struct ask, of_child);
        struct line_edit edit = {line->cancels, SPAN_NONE};

        if (!is_of(ask, talk, line_text(canonical, line->cancels)))
            continue;
        edit.text = span_of(number, (size_t)snprintf(number, sizeof number, "%" PRIu64, ask->id));
        if (say_edited(talk->child, canonical, &edit, 1) != CODE_OK)
            return false;
        answer_cancelled(ask);
        return true;
    }
    return true;
}

/* Returns: false: the child cannot be told. */
static bool send_one(struct talk *talk, struct span canonical, const struct line *line)
{
    struct pipe_child *child = talk->child;

    if (line->kind == LINE_REQUEST)
        return ask_child(talk, canonical, line);
    if (line_method_is(canonical, line, "notifications/cancelled"))
        return cancel(talk, canonical, line);
    if (line->kind == LINE_RESPONSE && child->conf.refuses_questions)
        return true; /* the child has asked nobody, so this answers nothing */
    if (child->conf.is_shared && line_method_is(canonical, line, "notifications/initialized")) {
        if (child->was_told)
            return true;
        child->was_told = true;
    }
    return child__say(child, canonical);
}

static bool send_members(struct talk *talk, struct span batch)
{
    struct span member;
    struct buf text;
    size_t at = 0;
    bool told = true; /* also true once the talk was answered; then it has no child, and nothing waits */

    talk->is_batch = true;
    talk->waiting++; /* a member may take back another: the reply does not end before the last was told */
    buf_init(&text, SIZE_MAX / 2);
    while (told && talk->child != NULL && line_member(batch, &at, &member)) {
        struct line line;

        buf_clear(&text);
        told = line_read(member, &text, &line) == CODE_OK && line.kind != LINE_BATCH &&
               send_one(talk, buf_peek(&text), &line);
    }
    buf_fini(&text);
    talk->waiting -= talk->child != NULL;
    return told;
}

static bool choose(struct talk *talk, struct span canonical, const struct line *line)
{
    const struct request request = {.tag = talk->tag, .head = &talk->reader.head, .is_modern = line->is_modern,
                                    .is_initialize = line_method_is(canonical, line, "initialize")};
    struct choice choice = {.status = 502, .text = "the server's process is not there"};

    talk->desk->choose(talk->desk->context, &request, &choice);
    if (choice.child == NULL) {
        talk__fail(talk, choice.status, choice.text);
        return false;
    }
    talk->child = choice.child;
    talk->child->used_us = loop_now_us(talk->desk->loop);
    memcpy(talk->session, choice.session, sizeof talk->session);
    talk->names_session = request.is_initialize && choice.session[0] != '\0';
    return true;
}

/* Tells the asker, where it numbers its messages, that this one was taken. */
static void note_taken(const struct talk *talk)
{
    const struct pipe_child_conf *conf = &talk->child->conf;
    struct span value;
    uint64_t number;

    if (conf->taken != NULL && http_head_find(&talk->reader.head, SPAN_LIT("Callgate-Line"), &value) &&
        num_u64(value, &number) == CODE_OK)
        conf->taken(conf->context, number);
}

void carry__post(struct talk *talk)
{
    struct line line;
    struct buf text;
    enum code code;

    buf_init(&text, SIZE_MAX / 2);
    code = line_read(buf_peek(&talk->body), &text, &line);
    if (!choose(talk, buf_peek(&text), &line)) {
        buf_clear(&text); /* it is answered */
    } else if (talk->child->conf.kind == PIPE_ONCE) {
        note_taken(talk);
        child__run(talk);
    } else if (code != CODE_OK) {
        talk__fail(talk, 400, "this is no JSON-RPC message");
    } else {
        bool told;

        talk->state = TALK_ASKS;
        told = line.kind == LINE_BATCH ? send_members(talk, buf_peek(&text)) : send_one(talk, buf_peek(&text), &line);
        if (talk->child != NULL) /* without a child it is answered already */
            note_taken(talk);
        if (!told) {
            carry__gone(talk);
            talk__fail(talk, 503, "the server's process takes no more");
        } else if (talk->state == TALK_ASKS && talk->waiting == 0) {
            talk__accept(talk);
        }
        if (talk->state == TALK_ASKS)
            buf_fini(&talk->body);
    }
    buf_fini(&text);
}

/* ---- from the child ---- */

/* The HTTP status for an answer, in the revision that has one for it. */
static int status_of(const struct ask *ask, struct span canonical, const struct line *line)
{
    struct span code = line_text(canonical, line->code);

    if (!ask->is_modern)
        return 200;
    if (span_is(code, "-32601"))
        return 404;
    return span_is(code, "-32020") || span_is(code, "-32021") || span_is(code, "-32022") ? 400 : 200;
}

static void answer(struct pipe_child *child, struct ask *ask, struct span canonical, const struct line *line)
{
    struct line_edit edits[2] = {{line->id, buf_peek(&ask->original)}, {line->subscription, buf_peek(&ask->original)}};
    struct talk *talk = ask->talk;
    enum code code;

    child->used_us = loop_now_us(child->conf.loop);
    code = talk != NULL ? line_write(canonical, edits, 2, &child->edited) : CODE_OK;
    if (talk != NULL && code == CODE_OK)
        talk__answer(talk, status_of(ask, canonical, line), buf_peek(&child->edited));
    buf_fini(&child->edited);
    ask_free(ask);
    if (code == CODE_OK)
        return;
    carry__gone(talk); /* so that an answer to what else it asked does not go into its next reply */
    talk__fail(talk, 502, "there is not enough memory for the answer");
}

/* Gives the answer to `initialize` to all who share the child. */
static void answer_first(struct pipe_child *child, struct span canonical, const struct line *line)
{
    struct list *link, *next;

    child->first_is_asked = false;
    if (line->code.end == 0 && buf_add_span(&child->first, canonical) != CODE_OK)
        buf_clear(&child->first);
    LIST_EACH(link, next, &child->asks) {
        struct ask *ask = LIST_ENTRY(link, struct ask, of_child);

        if (ask->is_initialize)
            answer(child, ask, canonical, line);
    }
}

static void take_answer(struct pipe_child *child, struct span canonical, const struct line *line)
{
    struct ask *ask = ask_find(child, line_text(canonical, line->id));

    if (ask == NULL)
        CHILD_LOG(child, LOG_WARN, "the command answers what nobody asked; dropped");
    else if (ask->is_initialize && child->conf.is_shared)
        answer_first(child, canonical, line);
    else
        answer(child, ask, canonical, line);
}

/* Takes a notification that names its request. */
static void take_event(struct pipe_child *child, struct span canonical, struct line_place place)
{
    struct ask *ask = ask_find(child, line_text(canonical, place));
    struct line_edit edit = {place, SPAN_NONE};

    if (ask == NULL || ask->talk == NULL)
        return;
    edit.text = buf_peek(ask->is_listen ? &ask->original : &ask->token);
    if (edit.text.len == 0)
        return;
    buf_clear(&child->edited);
    if (line_write(canonical, &edit, 1, &child->edited) == CODE_OK)
        talk__event(ask->talk, buf_peek(&child->edited));
    buf_fini(&child->edited);
}

/* Whether two requests are of different sessions, so that a message could be for either. */
static bool is_apart(const struct ask *ask, const struct ask *other)
{
    return ask->is_modern || other->is_modern || strcmp(ask->session, other->session) != 0;
}

/* Finds the ask that has waited longest. Returns: false: those that wait are not of one session. */
static bool find_waiting(const struct pipe_child *child, struct ask **out)
{
    struct list *link, *next;

    *out = NULL;
    LIST_EACH(link, next, &child->asks) {
        struct ask *ask = LIST_ENTRY(link, struct ask, of_child);

        if (ask->talk == NULL || ask->is_listen)
            continue;
        if (*out != NULL && child->conf.is_shared && is_apart(ask, *out))
            return false;
        *out = *out != NULL ? *out : ask;
    }
    return true;
}

/* Ends the stream of a subscription. On stdio a server has a message for that; over HTTP its stream ends. */
static bool end_subscription(struct pipe_child *child, struct span canonical, const struct line *line)
{
    struct ask *ask = line->cancels.end > 0 ? ask_find(child, line_text(canonical, line->cancels)) : NULL;
    struct talk *talk;

    if (ask == NULL || !ask->is_listen || !line_method_is(canonical, line, "notifications/cancelled"))
        return false;
    talk = ask->talk;
    ask_free(ask);
    if (talk != NULL)
        talk__fail(talk, 502, "the server has ended the subscription");
    return true;
}

static bool send_to_listeners(struct pipe_child *child, struct span line)
{
    struct list *link, *next;
    bool told = false;

    LIST_EACH(link, next, &child->desk->talks) {
        struct talk *talk = LIST_ENTRY(link, struct talk, of_desk);

        if (talk->child != child || talk->state != TALK_LISTENS)
            continue;
        talk__event(talk, line);
        told = true;
        if (!child->conf.is_shared)
            break;
    }
    return told;
}

static void keep(struct pipe_child *child, struct span line)
{
    if (buf_len(&child->kept) + line.len + 1 > KEPT_BYTES || buf_put(&child->kept, line) != CODE_OK)
        CHILD_LOG(child, LOG_WARN, "nobody listens to the command, and too much waits already: a message is dropped");
    else if (buf_add_byte(&child->kept, '\n') != CODE_OK)
        buf_clear(&child->kept);
}

static void answer_child(struct pipe_child *child, struct span id, const char *outcome)
{
    struct buf text;

    buf_init(&text, 65536);
    if (buf_addf(&text, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,%s}", SPAN_ARG(id), outcome) == CODE_OK)
        (void)child__say(child, buf_peek(&text));
    buf_fini(&text);
}

/* Refuses a child's question: a child that all share has nobody to ask, and where several wait, nobody knows whom it means. */
static void refuse_question(struct pipe_child *child, struct span canonical, const struct line *line)
{
    answer_child(child, line_text(canonical, line->id), line_method_is(canonical, line, "ping") ? "\"result\":{}" : NOBODY);
}

/* Takes a message that names no request. It goes to the ask that has waited longest, since it may be about that, else
 * to a listener; but to nobody where it may be meant for another who shares the child. */
static void take_message(struct pipe_child *child, struct span canonical, const struct line *line)
{
    struct span method = line_text(canonical, line->method);
    struct ask *ask;

    if (child->conf.is_shared && span_ends_with(method, SPAN_LIT("/list_changed\""))) {
        (void)send_to_listeners(child, canonical);
        return;
    }
    if (child->conf.refuses_questions || !find_waiting(child, &ask)) {
        if (line->kind == LINE_REQUEST)
            refuse_question(child, canonical, line);
        return;
    }
    if (ask != NULL)
        talk__event(ask->talk, canonical);
    else if (!send_to_listeners(child, canonical))
        keep(child, canonical);
}

void carry__line(struct pipe_child *child, struct span text)
{
    struct span canonical;
    struct line line;
    enum code code;

    if (span_trim(text).len == 0)
        return;
    buf_clear(&child->line);
    code = line_read(text, &child->line, &line);
    canonical = buf_peek(&child->line);
    if (code == CODE_NOMEM)
        CHILD_LOG(child, LOG_ERROR, "there is not enough memory for a line of the command; dropped");
    else if (code != CODE_OK)
        CHILD_LOG(child, LOG_WARN, "the command writes a line that is no JSON-RPC message; dropped. Only messages belong on "
                  "its stdout, one a line");
    else if (line.kind == LINE_BATCH) {
        struct span member;
        struct buf batch;
        size_t at = 0;

        buf_init(&batch, SIZE_MAX / 2);
        buf_move(&batch, &child->line);
        while (line_member(buf_peek(&batch), &at, &member) && member.at[0] == '{')
            carry__line(child, member);
        buf_fini(&batch);
    } else if (line.kind == LINE_RESPONSE)
        take_answer(child, canonical, &line);
    else if (line.kind == LINE_NOTIFICATION && line.token.end > 0)
        take_event(child, canonical, line.token);
    else if (line.kind == LINE_NOTIFICATION && line.subscription.end > 0)
        take_event(child, canonical, line.subscription);
    else if (!end_subscription(child, canonical, &line))
        take_message(child, canonical, &line);
    buf_fini(&child->line);
}

/* Puts an error in place of an answer that is too long; it goes the way of all answers. */
void carry__too_long(struct pipe_child *child, const struct skim *skim)
{
    char text[1024];

    (void)snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"error\":{\"code\":5030,\"message\":\"The server's "
                   "answer is too large.\"}}", SPAN_ARG(skim_id(skim)));
    if (!span_is_empty(skim_id(skim)) && skim->has_method)
        answer_child(child, skim_id(skim), "\"error\":{\"code\":-32600,\"message\":\"The request is too large.\"}");
    else if (!span_is_empty(skim_id(skim)))
        carry__line(child, span_text(text));
}

/* ---- streams and ends ---- */

/* Ends other listeners: only the last one may listen to a child that is not shared. */
static void end_other_listeners(const struct talk *talk)
{
    struct list *link, *next;

    LIST_EACH(link, next, &talk->desk->talks) {
        struct talk *other = LIST_ENTRY(link, struct talk, of_desk);

        if (other != talk && other->child == talk->child && other->state == TALK_LISTENS &&
            strcmp(other->session, talk->session) == 0)
            talk__fail(other, 409, "another stream took its place");
    }
}

void carry__get(struct talk *talk)
{
    const struct line none = {.kind = LINE_NONE};
    struct span kept, line;

    if (!choose(talk, SPAN_NONE, &none))
        return;
    if (talk->child->conf.kind == PIPE_ONCE) {
        talk__fail(talk, 405, "objects come by POST");
        return;
    }
    if (talk->reader.head.method == HTTP_METHOD_DELETE) {
        talk__accept(talk); /* `choose` has done the rest */
        return;
    }
    end_other_listeners(talk);
    talk__listen(talk);
    kept = buf_peek(&talk->child->kept);
    while (kept.len > 0) {
        line = span_cut(kept, '\n', &kept);
        talk__event(talk, line);
    }
    buf_fini(&talk->child->kept);
}

static void say_cancelled(struct pipe_child *child, const struct ask *ask)
{
    char text[160];

    (void)snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
                   "\"params\":{\"requestId\":%" PRIu64 "}}", ask->id);
    (void)child__say(child, span_text(text));
}

void carry__gone(struct talk *talk)
{
    struct pipe_child *child = talk->child;
    struct list *link, *next;
    size_t gone = 0;

    talk->waiting = 0;
    if (child == NULL)
        return;
    if (child->caller == talk) {
        child->caller = NULL;
        pipe_child_signal(child, SIGKILL);
    }
    LIST_EACH(link, next, &child->asks) {
        struct ask *ask = LIST_ENTRY(link, struct ask, of_child);

        if (ask->talk == talk && ask->is_modern)
            say_cancelled(child, ask);
        if (ask->talk == talk)
            ask->talk = NULL;
        gone += ask->talk == NULL;
    }
    LIST_EACH(link, next, &child->asks) {
        struct ask *ask = LIST_ENTRY(link, struct ask, of_child);

        if (gone > GONE_MOST && ask->talk == NULL && !ask->is_first) {
            ask_free(ask);
            gone--;
        }
    }
}

void carry__died(struct pipe_child *child)
{
    struct list *link, *next;

    while (!list_is_empty(&child->asks))
        ask_free(LIST_ENTRY(child->asks.next, struct ask, of_child));
    LIST_EACH(link, next, &child->desk->talks) {
        struct talk *talk = LIST_ENTRY(link, struct talk, of_desk);

        if (talk->child == child && (talk->state == TALK_ASKS || talk->state == TALK_LISTENS))
            talk__fail(talk, 502, "the server's process has ended");
    }
}
