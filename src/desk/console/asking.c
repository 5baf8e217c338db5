/* SPDX-License-Identifier: Apache-2.0 */
#include "console/asking.h"

#include "args/print.h"
#include "base/hash.h"
#include "console/places.h"
#include "os/clock.h"
#include "os/sock.h"
#include "people/control.h"
#include "json/text.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define SAID_BYTES ((size_t)64 << 10)
#define PLACE_WAIT_MS 10000
#define ASKING_WAITS 48 /* all visits */
#define GATE_WAIT_US INT64_C(30000000)
#define PIECE_BYTES 65536
#define LOOK_MS 100

static struct {
    const char *socket;
    struct places places;
} asking;

void asking_open(const char *socket)
{
    places_init(&asking.places, ASKING_PLACES, ASKING_WAITS);
    asking.socket = socket;
}

/* ---- words ---- */

void words_begin(struct words *words, struct arena *arena)
{
    *words = (struct words){.arena = arena};
}

void words_add(struct words *words, const char *option, struct span value)
{
    size_t size = value.len + (option != NULL ? strlen(option) + sizeof "--=" : 1);
    char *word = words->count < ASKING_WORDS_MAX ? arena_alloc(words->arena, size) : NULL;

    words->is_short |= word == NULL;
    if (word == NULL)
        return;
    (void)snprintf(word, size, "%s%s%s%.*s", option != NULL ? "--" : "", option != NULL ? option : "",
                   option != NULL ? "=" : "", SPAN_ARG(value));
    words->argv[words->count++] = word;
    words->argv[words->count] = NULL;
}

void words_add_flag(struct words *words, const char *option)
{
    char *word = arena_alloc(words->arena, strlen(option) + sizeof "--");

    words->is_short |= word == NULL;
    if (word == NULL)
        return;
    (void)snprintf(word, strlen(option) + sizeof "--", "--%s", option);
    words_add(words, NULL, span_text(word));
}

void words_add_all(struct words *words, const char *line)
{
    for (struct span rest = span_text(line); rest.len > 0;)
        words_add(words, NULL, span_cut(rest, ' ', &rest));
}

/* ---- answers ---- */

/* What the command prints, while it runs. */
struct taking {
    int from[2];       /* its output, its failures */
    struct buf *to[2];
    int64_t until_us;
    bool is_too_much, is_stopped;
    asking_goes_on_fn *goes_on;
    void *context;
    struct asking_progress progress;
};

static bool take(struct taking *taking, int at)
{
    ssize_t got = 1;
    char *room;

    while (got > 0) {
        if (buf_reserve(taking->to[at], PIECE_BYTES, &room) != CODE_OK) {
            taking->is_too_much = true;
            return false;
        }
        got = recv(taking->from[at], room, PIECE_BYTES, MSG_DONTWAIT);
        buf_commit(taking->to[at], got > 0 ? (size_t)got : 0);
    }
    return got == 0 || errno == EAGAIN || errno == EINTR;
}

/* ---- progress ---- */

static bool read_progress(struct taking *taking, struct span line)
{
    struct { const char *key; int64_t value; } said[] = {{"done", 0}, {"total", 0}, {"at", 0}};
    const struct json_node *root = NULL;
    struct json_fault fault;
    struct arena arena;
    struct buf text;
    bool is_progress = span_starts_with(line, SPAN_LIT("{\"progress\":"));

    arena_init(&arena, 16 * SAID_BYTES);
    buf_init(&text, SAID_BYTES);
    is_progress = is_progress && json_read(line, &json_file_rules, &text, &arena, &root, &fault) == CODE_OK;
    for (size_t i = 0; i < 3 && is_progress; i++)
        is_progress = json_member_number(root, said[i].key, 0, INT64_MAX, &said[i].value);
    if (is_progress)
        taking->progress = (struct asking_progress){.done = (uint64_t)said[0].value, .total = (uint64_t)said[1].value,
                                                     .at = said[2].value};
    buf_fini(&text);
    arena_fini(&arena);
    return is_progress;
}

/* Takes lines that say how far it is out of those that say what failed. */
static void sift(struct taking *taking)
{
    struct buf kept;

    buf_init(&kept, SAID_BYTES + PIECE_BYTES);
    for (struct span rest = buf_peek(taking->to[1]), line; rest.len > 0; rest = line) {
        size_t len = span_find(rest, '\n');

        if (len == rest.len || !read_progress(taking, span_part(rest, 0, len)))
            buf_add_span(&kept, span_part(rest, 0, len + 1));
        line = span_part(rest, len + 1, SIZE_MAX);
    }
    buf_clear(taking->to[1]);
    buf_add_span(taking->to[1], buf_peek(&kept));
    buf_fini(&kept);
}

static bool may_go_on(struct taking *taking)
{
    if (taking->goes_on == NULL)
        return clock_monotonic_us() < taking->until_us;
    sift(taking);
    taking->progress.bytes = buf_len(taking->to[0]);
    taking->is_stopped = !taking->goes_on(taking->context, &taking->progress);
    return !taking->is_stopped;
}

static bool wait_for(void *context, int fd)
{
    struct taking *taking = context;
    struct pollfd waits[] = {{.fd = fd, .events = POLLIN}, {.fd = taking->from[0], .events = POLLIN},
                             {.fd = taking->from[1], .events = POLLIN}};

    for (;;) {
        if (!may_go_on(taking) || (poll(waits, 3, LOOK_MS) < 0 && errno != EINTR) || !take(taking, 0) || !take(taking, 1))
            return false;
        if (waits[0].revents != 0)
            return true;
        for (int i = 1; i < 3; i++)
            if ((waits[i].revents & POLLHUP) != 0)
                waits[i].fd = -1;
    }
}

/* A failure is a line of JSON, since JSON was asked for. */
static void take_sentence(struct buf *said, struct span err)
{
    struct span line = span_cut(err, '\n', &err);
    struct json_text failure;

    if (json_text_read(&failure, line, &json_file_rules, SAID_BYTES) == CODE_OK)
        line = json_member_text(failure.root, "error");
    buf_add_span(said, line);
    json_text_fini(&failure);
}

/* What had come by then, as whole lines. */
static void tell_stopped(const struct taking *taking, struct answer *answer)
{
    struct span out = buf_peek(&answer->out);

    while (out.len > 0 && out.at[out.len - 1] != '\n')
        out.len--;
    buf_truncate(&answer->out, out.len);
    buf_clear(&answer->said);
    buf_add_text(&answer->said, "It was stopped: this is what was there by then.");
    answer->is_stopped = true;
    answer->at = taking->progress.at;
}

static void talk(const char *login, struct words *words, int ends[2][2], const struct taking *how, struct answer *answer)
{
    struct buf err;
    struct taking taking = {.from = {ends[0][0], ends[1][0]}, .to = {&answer->out, &err}, .goes_on = how->goes_on,
                            .context = how->context, .until_us = clock_monotonic_us() + GATE_WAIT_US};
    const struct asked asked = {.words = words->argv, .word_count = words->count};
    const struct control_talk talk = {.socket = asking.socket, .login = login, .asked = &asked, .out = ends[0][1],
                                      .err = ends[1][1], .wait = wait_for, .context = &taking, .said = &answer->said,
                                      .is_refused = &answer->is_refused};

    buf_init(&err, SAID_BYTES + PIECE_BYTES);
    answer->status = control_talk(&talk);
    (void)(take(&taking, 0) && take(&taking, 1)); /* what came with the end */
    if (taking.is_too_much) {
        buf_clear(&answer->said);
        buf_add_text(&answer->said, "what the gate answers is too much for the console; ask for less");
        answer->status = STATUS_CANNOT;
    } else if (taking.is_stopped) {
        tell_stopped(&taking, answer);
    } else if (answer->status != STATUS_DONE && buf_is_empty(&answer->said)) {
        sift(&taking);
        take_sentence(&answer->said, buf_peek(&err));
    }
    buf_fini(&err);
}

void asking_give(const struct session *session, struct words *words, struct answer *answer)
{
    asking_give_watched(session, words, NULL, NULL, answer);
}

void asking_give_watched(const struct session *session, struct words *words, asking_goes_on_fn *goes_on, void *context,
                         struct answer *answer)
{
    const struct taking how = {.goes_on = goes_on, .context = context};
    int ends[2][2] = {{-1, -1}, {-1, -1}};
    const char *why = words->is_short ? "the question is too long" : NULL;
    const uint64_t who = hash_span(span_text(session->who));
    bool is_taken = why == NULL && places_take(&asking.places, who, PLACE_WAIT_MS);

    *answer = (struct answer){.status = STATUS_CANNOT};
    buf_init(&answer->out, ASKING_OUT_BYTES);
    buf_init(&answer->said, 2 * SAID_BYTES);
    if (!is_taken && why == NULL)
        why = "too many questions are under way, yours or others'; try again soon";
    for (int i = 0; i < 2 && why == NULL; i++)
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends[i]) != 0)
            why = "the console is short of descriptors";
    if (why == NULL)
        talk(session_login(session), words, ends, &how, answer);
    else
        buf_add_text(&answer->said, why);
    for (int i = 0; i < 4; i++)
        sock_close(&ends[i / 2][i % 2]);
    if (is_taken)
        places_leave(&asking.places, who);
}

void answer_fini(struct answer *answer)
{
    buf_fini(&answer->out);
    buf_fini(&answer->said);
}

const char *answer_array(const struct answer *answer, struct arena *arena)
{
    struct span lines = buf_peek(&answer->out);
    char *text = arena_alloc(arena, lines.len + 3);
    size_t at = 0;

    if (text == NULL)
        return NULL;
    text[at++] = '[';
    while (lines.len > 0) {
        struct span line = span_cut(lines, '\n', &lines);

        if (at > 1 && line.len > 0)
            text[at++] = ',';
        memcpy(text + at, line.at, line.len);
        at += line.len;
    }
    text[at++] = ']';
    text[at] = '\0';
    return text;
}
