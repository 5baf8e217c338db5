/* SPDX-License-Identifier: Apache-2.0 */
#include "pipe/child_priv.h"

#include "base/log.h"
#include "base/mem.h"
#include "json/text.h"
#include "os/pause.h"
#include "os/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_US INT64_C(5000000)  /* from the end of its stdin to SIGTERM, and from there to SIGKILL */
#define LEFTOVER_US INT64_C(1000000)  /* so long its stdout may stay open after its end, because a process that it left holds
                                       * it */
#define STDERR_BYTES ((size_t)2048)   /* of a line, in the log */
#define LINES_A_SECOND 20             /* of a child, in the log */

bool child__may_log(struct pipe_child *child)
{
    int64_t second = loop_now_us(child->conf.loop) / 1000000;

    if (second != child->told_second)
        child->told_lines = 0;
    child->told_second = second;
    return child->told_lines++ < LINES_A_SECOND;
}

bool child__say(struct pipe_child *child, struct span line)
{
    struct buf *out = &child->in.out;

    if (child->state != CHILD_RUNS || child->stopped_reading || child->in.is_broken ||
        buf_len(out) > STDIN_WAITING_BYTES || buf_put(out, line) != CODE_OK)
        return false;
    if (buf_add_byte(out, '\n') != CODE_OK) {
        child->in.is_broken = true; /* half a line was written, so nothing more can be */
        return false;
    }
    desk__stir(child->desk);
    return true;
}

/* ---- the end ---- */

static void has_exited(void *context, unsigned ready)
{
    struct pipe_child *child = context;

    (void)ready;
    child->has_exited = true;
    loop_watch_remove(child->conf.loop, &child->exits);
    loop_timer_cancel(child->conf.loop, &child->patience);
    if (loop_timer_arm(child->conf.loop, &child->patience, LEFTOVER_US) != CODE_OK)
        child->is_late = true;
    desk__stir(child->desk);
}

void pipe_child_signal(struct pipe_child *child, int signo)
{
    if (child->pid > 0 && child->state != CHILD_DEAD && kill(-child->pid, signo) != 0)
        (void)kill(child->pid, signo);
}

static void lost_patience(void *context)
{
    struct pipe_child *child = context;

    if (child->has_exited) {
        child->is_late = true;
        desk__stir(child->desk);
        return;
    }
    if (child->conf.kind == PIPE_VALUE) {
        child->is_out_of_time = true;
        pipe_child_signal(child, SIGKILL);
        return;
    }
    pipe_child_signal(child, child->step++ == 0 ? SIGTERM : SIGKILL);
    if (child->step == 1 && loop_timer_arm(child->conf.loop, &child->patience, pause_us(PATIENCE_US)) != CODE_OK)
        pipe_child_signal(child, SIGKILL);
}

void pipe_child_end(struct pipe_child *child)
{
    if (child->state != CHILD_RUNS)
        return;
    child->state = CHILD_ENDS;
    if (child->pid > 0 && !child->has_exited &&
        loop_timer_arm(child->conf.loop, &child->patience, pause_us(PATIENCE_US)) != CODE_OK)
        pipe_child_signal(child, SIGKILL);
    desk__stir(child->desk);
}

bool pipe_child_is_over(const struct pipe_child *child)
{
    return child->state == CHILD_DEAD;
}

/* ---- its lines ---- */

/* Returns: whether the line is over. */
static bool skim_line(struct pipe_child *child)
{
    struct span all = buf_peek(&child->out.in), rest = all;
    enum skim_step step;

    while ((step = skim_feed(&child->skim, &rest)) == SKIM_MESSAGE)
        carry__too_long(child, &child->skim);
    buf_drop(&child->out.in, all.len - rest.len);
    child->skims = step != SKIM_END;
    return !child->skims;
}

/* Skips a line that is too long. Its asker gets an error, and the command goes on, since others may wait for it too. */
static void begin_skim(struct pipe_child *child)
{
    CHILD_LOG(child, LOG_WARN, "the command writes a line of more than %llu bytes; it is passed by, and who asked for it gets "
              "an error. `limits: {event:}` of the route allows longer ones", (unsigned long long)child->conf.line_bytes);
    child->skims = true;
    child->skim = (struct skim){0};
    child->scanned = 0;
}

static void take_lines(struct pipe_child *child)
{
    struct buf *in = &child->out.in;

    while (!child->skims || skim_line(child)) {
        struct span all = buf_peek(in), fresh = span_part(all, child->scanned, SIZE_MAX);
        size_t end = child->scanned + span_find(fresh, '\n');

        child->scanned = end < all.len ? 0 : all.len;
        if (end < all.len && end <= child->conf.line_bytes) {
            carry__line(child, span_part(all, 0, end));
            buf_drop(in, end + 1);
        } else if (all.len <= child->conf.line_bytes) {
            return;
        } else {
            begin_skim(child);
        }
    }
}

static void log_stderr(struct pipe_child *child, bool is_end)
{
    struct buf *in = &child->err.in;

    while (!buf_is_empty(in)) {
        struct span all = buf_peek(in), line = span_part(all, 0, span_find(all, '\n'));

        if (line.len == all.len && !is_end && line.len < STDERR_BYTES)
            return;
        if (line.len > 0)
            CHILD_LOG(child, LOG_INFO, "the command says: %.*s", SPAN_ARG(line));
        buf_drop(in, line.len < all.len ? line.len + 1 : line.len);
    }
}

static bool is_clogged(const struct pipe_child *child)
{
    struct list *link, *next;

    if (child->conf.refuses_questions)
        return false; /* a slow reader must not slow down others: who does not read is cut off (talk.c) */
    LIST_EACH(link, next, &child->desk->talks) {
        const struct talk *talk = LIST_ENTRY(link, struct talk, of_desk);

        if (talk->child == child && buf_len(&talk->tube.out) > CLOGGED_BYTES)
            return true;
    }
    return false;
}

static void be_dead(struct pipe_child *child)
{
    loop_timer_cancel(child->conf.loop, &child->patience);
    log_stderr(child, true);
    if (child->pid > 0)
        child->status = process_finish(child->pid);
    child->state = CHILD_DEAD;
    tube_close(&child->in);
    tube_close(&child->out);
    tube_close(&child->err);
    if (child->exits.fd >= 0)
        (void)close(child->exits.fd);
    child->exits.fd = -1;
    child->pid = -1;
}

/* ---- one process a request ---- */

/* A run that has failed answers with an error object or not at all. */
static bool is_error_object(struct span canonical)
{
    struct json_text text;
    bool is_error = json_text_read(&text, canonical, &json_reply_rules, SIZE_MAX / 2) == CODE_OK &&
                    span_is(json_member_text(text.root, "type"), "error");

    json_text_fini(&text);
    return is_error;
}

static void answer_run(struct pipe_child *run)
{
    struct talk *talk = run->caller;
    struct span text = buf_peek(&run->out.in);
    bool is_good = WIFEXITED(run->status) && WEXITSTATUS(run->status) == 0;
    bool is_whole = WIFEXITED(run->status) && text.len <= run->conf.line_bytes;
    struct buf canonical;
    struct line line;
    enum code code;

    run->caller = NULL;
    if (talk == NULL)
        return;
    if (run->conf.is_told && is_good) {
        talk__accept(talk);
        return;
    }
    buf_init(&canonical, SIZE_MAX / 2);
    code = line_read(text, &canonical, &line); /* CODE_INVALID also means good JSON that is no JSON-RPC */
    is_whole = is_whole && !buf_is_empty(&canonical) && (code == CODE_OK || code == CODE_INVALID);
    if (is_whole && (is_good || (!run->conf.is_told && is_error_object(buf_peek(&canonical))))) {
        talk__answer(talk, 200, buf_peek(&canonical));
    } else {
        CHILD_LOG(run, LOG_WARN, "the command %s", !is_good ? "has failed" : "writes no JSON, or too much of it");
        talk__fail(talk, 502, "the command has not answered");
    }
    buf_fini(&canonical);
}

/* Whether it is a process for one question. */
static bool is_run(const struct pipe_child *child)
{
    return child->runs_for != NULL || child->conf.kind == PIPE_VALUE;
}

static void run_ended(struct pipe_child *run)
{
    struct pipe_child *of = run->runs_for;

    if (of == NULL)
        value__answer(run);
    else
        answer_run(run);
    be_dead(run);
    run->desk->run_has_ended = true;
    if (of != NULL) {
        of->status = run->status;
        of->runs--;
        of->used_us = loop_now_us(of->conf.loop);
    }
    desk__stir(run->desk);
}

/* ---- a turn ---- */

static bool is_finished(const struct pipe_child *child)
{
    if (child->pid < 0)
        return child->state == CHILD_ENDS && child->runs == 0;
    return child->has_exited && (child->out.is_eof || child->is_late);
}

static void end_stdin(struct pipe_child *child)
{
    bool is_told = buf_is_empty(&child->in.out) || child->in.is_broken;

    if ((child->state == CHILD_ENDS || is_run(child)) && is_told && !child->stopped_reading) {
        child->stopped_reading = true;
        tube_close(&child->in);
    }
}

void child__step(struct pipe_child *child)
{
    if (child->state == CHILD_DEAD)
        return;
    end_stdin(child);
    if (child->pid > 0 && !is_run(child))
        take_lines(child);
    if (is_run(child) && buf_len(&child->out.in) > child->conf.line_bytes)
        pipe_child_signal(child, SIGKILL);
    if (child->pid > 0)
        log_stderr(child, child->err.is_eof);
    if (!is_finished(child))
        return;
    if (is_run(child)) {
        if (child->pid > 0)
            child->status = process_finish(child->pid);
        child->pid = -1;
        run_ended(child);
        return;
    }
    if (!buf_is_empty(&child->out.in))
        CHILD_LOG(child, LOG_WARN, "the command has ended within a line; dropped");
    if (child->pid > 0 && child->state == CHILD_RUNS)
        CHILD_LOG(child, LOG_WARN, "the command has ended by itself");
    be_dead(child);
    carry__died(child);
    if (child->conf.ended != NULL)
        child->conf.ended(child->conf.context, child->status);
}

void child__settle(struct pipe_child *child)
{
    if (child->state == CHILD_DEAD) {
        if (is_run(child))
            pipe_child_free(&child);
        return;
    }
    if (child->pid < 0)
        return;
    child->out.is_paused = is_clogged(child);
    tube_settle(&child->in);
    tube_settle(&child->out);
    tube_settle(&child->err);
    end_stdin(child);
}

/* ---- the start ---- */

struct ends {
    int in[2], out[2], err[2];
};

static void close_ends(struct ends *ends)
{
    int *all[] = {ends->in, ends->out, ends->err};

    for (size_t i = 0; i < 3; i++)
        for (size_t end = 0; end < 2; end++)
            if (all[i][end] >= 0)
                (void)close(all[i][end]);
}

/* Opens the tubes to a process. What it is to read may wait for it already. */
static enum code open_tubes(struct pipe_child *child, struct ends *ends, int exits, struct why *why)
{
    const struct pipe_child_conf *conf = &child->conf;
    struct buf waits = child->in.out;
    enum code code;

    (void)close(ends->in[0]);
    (void)close(ends->out[1]);
    tube_open(&child->in, conf->loop, ends->in[1], 0, &child->desk->stirs);
    child->in.out = waits;
    tube_open(&child->out, conf->loop, ends->out[0], conf->line_bytes + CLOGGED_BYTES, &child->desk->stirs);
    if (conf->kind == PIPE_VALUE)
        buf_wipes(&child->out.in);
    if (!conf->inherits_stderr) {
        (void)close(ends->err[1]);
        tube_open(&child->err, conf->loop, ends->err[0], 2 * STDERR_BYTES, &child->desk->stirs);
    }
    loop_watch_init(&child->exits, exits, has_exited, child);
    code = loop_watch_begin(conf->loop, &child->exits, LOOP_READ);
    if (code == CODE_OK && conf->wait_ms > 0)
        code = loop_timer_arm(conf->loop, &child->patience, (int64_t)conf->wait_ms * 1000);
    return code == CODE_OK ? code : why_set(why, code, "%s cannot be watched", conf->argv[0]);
}

static enum code start_process(struct pipe_child *child, struct why *why)
{
    struct ends ends = {{-1, -1}, {-1, -1}, {-1, -1}};
    const struct pipe_child_conf *conf = &child->conf;
    const char **whole = child->variables != NULL ? value__environment(child) : NULL;
    struct process_program program = {.argv = conf->argv, .environment = whole != NULL ? whole : conf->environment,
                                      .folder = conf->folder, .cage = conf->cage, .memory_bytes = conf->memory_bytes,
                                      .err = -1};
    enum code code = CODE_OK;
    int exits = -1;

    if (child->variables != NULL && whole == NULL)
        code = why_set(why, CODE_NOMEM, "%s cannot be started: out of memory", conf->argv[0]);
    else if (pipe2(ends.in, O_CLOEXEC) != 0 || pipe2(ends.out, O_CLOEXEC) != 0 ||
        (!conf->inherits_stderr && pipe2(ends.err, O_CLOEXEC) != 0))
        code = why_set(why, CODE_IO, "%s cannot be started: %s", conf->argv[0], strerror(errno));
    program.in = ends.in[0];
    program.out = conf->is_told ? ends.err[1] : ends.out[1];
    program.err = ends.err[1];
    if (code == CODE_OK)
        code = process_start(&program, &child->pid, &exits, why);
    mem_free(whole);
    value__forget(child);
    if (code == CODE_OK)
        return open_tubes(child, &ends, exits, why);
    child->pid = -1;
    close_ends(&ends);
    return code;
}

void child__cannot(struct pipe_child *child)
{
    value__forget(child);
    child->status = CHILD_NOT_STARTED;
    child->state = CHILD_ENDS;
    desk__stir(child->desk);
}

void child__begin(struct pipe_child *child)
{
    struct why why = {""};

    if (child->state != CHILD_RUNS || (child->runs_for != NULL && child->caller == NULL)) {
        child__cannot(child);
    } else if (child->known < child->conf.value_count) {
        value__next(child);
    } else if (start_process(child, &why) != CODE_OK) {
        CHILD_LOG(child, LOG_ERROR, "%s", why.text);
        child__cannot(child);
    } else {
        desk__stir(child->desk); /* its stdin ends with what waited for it */
    }
}

struct pipe_child *child__make(struct desk *desk, const struct pipe_child_conf *conf)
{
    struct pipe_child *child = mem_zalloc(sizeof *child);
    struct buf *bufs[] = {&child->kept, &child->first, &child->line, &child->edited};

    if (child == NULL)
        return NULL;
    child->conf = *conf;
    if (child->conf.line_bytes == 0)
        child->conf.line_bytes = PIPE_LINE_BYTES;
    child->desk = desk;
    child->pid = -1;
    child->in = (struct tube){.loop = conf->loop, .fd = -1};
    buf_init(&child->in.out, SIZE_MAX / 2);
    child->out.fd = child->err.fd = child->exits.fd = -1;
    if (conf->words != NULL)
        ref_take(&conf->words->ref);
    child->used_us = loop_now_us(conf->loop);
    list_init(&child->asks);
    for (size_t i = 0; i < sizeof bufs / sizeof *bufs; i++)
        buf_init(bufs[i], SIZE_MAX / 2);
    loop_timer_init(&child->patience, lost_patience, child);
    list_append(&desk->children, &child->of_desk);
    return child;
}

enum code child__start(struct desk *desk, const struct pipe_child_conf *conf, struct pipe_child **out, struct why *why)
{
    struct pipe_child *child = child__make(desk, conf);
    enum code code = CODE_OK;

    *out = NULL;
    if (child == NULL)
        return why_set(why, CODE_NOMEM, "%s cannot be started: out of memory", conf->argv[0]);
    if (conf->kind == PIPE_LINES && conf->value_count == 0)
        code = start_process(child, why);
    else if (conf->kind == PIPE_LINES)
        child__begin(child);
    if (code != CODE_OK) {
        pipe_child_free(&child);
        return code;
    }
    *out = child;
    return CODE_OK;
}

void child__run(struct talk *talk)
{
    struct pipe_child *of = talk->child, *run = of->state == CHILD_RUNS ? child__make(of->desk, &of->conf) : NULL;

    if (run == NULL || !child__say(run, buf_peek(&talk->body))) {
        CHILD_LOG(of, LOG_ERROR, "the command cannot be run");
        pipe_child_free(&run);
        talk__fail(talk, 502, "the command cannot be run");
        return;
    }
    run->runs_for = of;
    run->caller = talk;
    of->runs++;
    talk->state = TALK_ASKS;
    talk->child = run;
    talk->waiting = 1;
    child__begin(run);
}

void pipe_child_free(struct pipe_child **out)
{
    struct pipe_child *child = *out;

    *out = NULL;
    if (child == NULL)
        return;
    loop_watch_remove(child->conf.loop, &child->exits);
    value__forget(child);
    if (child->state != CHILD_DEAD) {
        if (child->pid > 0)
            pipe_child_signal(child, SIGKILL);
        be_dead(child);
        carry__died(child);
    }
    list_remove(&child->of_desk);
    if (child->own_desk != NULL) {
        struct list *link, *next;

        LIST_EACH(link, next, &child->own_desk->children) { /* ends the runs of this one */
            struct pipe_child *run = LIST_ENTRY(link, struct pipe_child, of_desk);

            pipe_child_free(&run);
        }
        desk__fini(child->own_desk);
        mem_free(child->own_desk);
    }
    buf_fini(&child->kept);
    buf_fini(&child->first);
    buf_fini(&child->line);
    buf_fini(&child->edited);
    runner_commands_unref(&child->conf.words);
    mem_free(child);
}
