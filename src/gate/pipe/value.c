/* SPDX-License-Identifier: Apache-2.0 */
/* A program whose one line on stdout is a secret: for a header of the gate's, or for a variable of a command that is about to
 * start. Its stdout is never logged, nor told but to who asks. */
#include "pipe/child_priv.h"

#include "base/log.h"
#include "base/mem.h"
#include "crypto/secret.h"
#include "http/writer.h"
#include "runner/runner_end.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define AT_WORK_MOST 256 /* a gate in other hands starts no more */
#define VALUE_MEMORY_BYTES ((uint64_t)1 << 30)

/* ---- what it says ---- */

/* Writes why it says none. Returns: false: it says one. */
static bool write_fault(const struct pipe_child *run, struct span value, char *out, size_t size)
{
    const char *what = NULL;

    if (run->is_out_of_time)
        (void)snprintf(out, size, "it did not end within %g s (`timeout`)", run->conf.wait_ms / 1000.0);
    else if (run->out.in.code != CODE_OK || buf_len(&run->out.in) > run->conf.line_bytes)
        (void)snprintf(out, size, "it prints more than %d bytes", RUNNER_VALUE_BYTES);
    else if (run->pid < 0 && run->status == CHILD_NOT_STARTED)
        (void)snprintf(out, size, "it cannot be started");
    else if (WIFSIGNALED(run->status))
        (void)snprintf(out, size, "it was ended by signal %d", WTERMSIG(run->status));
    else if (WEXITSTATUS(run->status) != 0)
        (void)snprintf(out, size, "it ended with status %d; what it wrote to stderr stands in the log",
                       WEXITSTATUS(run->status));
    else if (value.len == 0)
        what = "it prints nothing; the value is one line on its stdout";
    else if (span_find(value, '\n') < value.len)
        what = "it prints more than one line; the value is one line on its stdout";
    else if (!http_value_is_writable(value))
        what = "it prints what no header may hold; the value is visible ASCII, without blanks around it";
    else
        return false;
    if (what != NULL)
        (void)snprintf(out, size, "%s", what);
    return true;
}

void value__answer(struct pipe_child *run)
{
    value_fn valued = run->valued;
    char fault[160];
    struct span value = SPAN_NONE;
    bool is_faulty;

    if (valued == NULL)
        return;
    run->valued = NULL;
    if (run->out.in.code == CODE_OK)
        value = buf_peek(&run->out.in);
    if (span_ends_with(value, SPAN_LIT("\n")))
        value.len--;
    if (span_ends_with(value, SPAN_LIT("\r")))
        value.len--;
    is_faulty = write_fault(run, value, fault, sizeof fault);
    valued(run->valued_context, is_faulty ? SPAN_NONE : value, is_faulty ? fault : NULL);
}

/* Starts a program of PIPE_VALUE and has it told what it says. Takes: words: whose its texts are. Returns: NULL: `valued` was
 * called. */
static struct pipe_child *ask(struct desk *desk, const struct runner_command *program, struct runner_commands *words,
                              value_fn valued, void *context)
{
    const struct pipe_child_conf conf = {
        .loop = desk->loop, .kind = PIPE_VALUE, .name = program->of, .argv = program->argv, .environment = program->environment,
        .memory_bytes = VALUE_MEMORY_BYTES, .line_bytes = RUNNER_VALUE_BYTES + sizeof "\r\n" - 1, .wait_ms = program->wait_ms,
        .words = words,
    };
    struct pipe_child *run = child__make(desk, &conf);

    if (run == NULL) {
        valued(context, SPAN_NONE, "out of memory");
        return NULL;
    }
    run->valued = valued;
    run->valued_context = context;
    child__begin(run);
    return run;
}

/* ---- for a header ---- */

/* Takes: context: the descriptor. A stream's buffer holds all of it, so that nobody waits. */
static void answer_gate(void *context, struct span value, const char *fault)
{
    int fd = (int)(intptr_t)context;
    char sign = fault != NULL ? RUNNER_SAYS_FAULT : RUNNER_SAYS_VALUE;
    struct iovec parts[] = {{&sign, 1},
                            {(void *)(uintptr_t)(fault != NULL ? fault : value.at), fault != NULL ? strlen(fault) : value.len}};
    const struct msghdr all = {.msg_iov = parts, .msg_iovlen = 2};

    (void)!sendmsg(fd, &all, MSG_DONTWAIT | MSG_NOSIGNAL);
    (void)close(fd);
}

void value__serve(struct desk *desk, const struct runner_command *program, struct runner_commands *words, int fd_take)
{
    struct list *link, *next;
    size_t at_work = 0;

    LIST_EACH(link, next, &desk->children)
        at_work += LIST_ENTRY(link, struct pipe_child, of_desk)->conf.kind == PIPE_VALUE;
    if (at_work >= AT_WORK_MOST)
        answer_gate((void *)(intptr_t)fd_take, SPAN_NONE, "too many programs that say secrets are at work");
    else
        (void)ask(desk, program, words, answer_gate, (void *)(intptr_t)fd_take);
}

/* ---- for the environment of a command ---- */

static void take_variable(void *context, struct span value, const char *fault)
{
    struct pipe_child *child = context;
    const struct runner_value *of = &child->conf.values[child->known];
    const char *name = child->conf.environment[of->at];
    size_t len = strlen(name);
    char *text = fault == NULL ? secret_new(len + value.len + 1) : NULL;

    child->asks_value = NULL;
    if (text == NULL) {
        CHILD_LOG(child, LOG_ERROR, "the command is not started: its variable %.*s comes from %s, and %s", (int)len - 1, name,
                  of->program->argv[0], fault != NULL ? fault : "there is no room for one more secret");
        child__cannot(child);
        return;
    }
    memcpy(text, name, len);
    memcpy(text + len, value.at, value.len);
    child->variables[child->known++] = text;
    child__begin(child);
}

void value__next(struct pipe_child *child)
{
    const struct pipe_child_conf *conf = &child->conf;

    if (child->variables == NULL)
        child->variables = mem_zalloc(conf->value_count * sizeof *child->variables);
    if (child->variables == NULL) {
        child__cannot(child);
        return;
    }
    child->asks_value = ask(child->desk, conf->values[child->known].program, conf->words, take_variable, child);
}

/* The whole environment, with what was said in it. Returns: NULL: no memory. */
const char **value__environment(const struct pipe_child *child)
{
    const struct pipe_child_conf *conf = &child->conf;
    const char **all;
    size_t count = 0;

    while (conf->environment[count] != NULL)
        count++;
    all = mem_array(count + 1, sizeof *all);
    for (size_t i = 0; all != NULL && i < count; i++)
        all[i] = conf->environment[i];
    for (size_t i = 0; all != NULL && i < conf->value_count; i++)
        all[conf->values[i].at] = child->variables[i];
    return all;
}

void value__forget(struct pipe_child *child)
{
    for (size_t i = 0; child->variables != NULL && i < child->known; i++)
        secret_free(child->variables[i], strlen(child->variables[i]));
    mem_free(child->variables);
    child->variables = NULL;
    if (child->asks_value != NULL)
        child->asks_value->valued = NULL; /* nobody waits for it any more */
    child->asks_value = NULL;
}
