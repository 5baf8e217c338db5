/* SPDX-License-Identifier: Apache-2.0 */
/* What was said in a run in which an append failed, beside a run without: nothing that was cut is taken for whole. */
#ifndef SIM_APPEND_CHECK_H
#define SIM_APPEND_CHECK_H

#include "sim/sim_check.h"

#include <stdio.h>

#define END "\001" /* of a connection */

/* What was said in one run: by the gate to all upstreams, and to all agents. */
struct said {
    char up[32768], down[32768];
    struct fake_decision decisions[16];
    struct fake_outcome outcomes[16];
    unsigned decision_count, outcome_count;
};

static struct said whole, now; /* without a fault; and with it */
static uint64_t failing;       /* the append that fails */
static bool fails_on;          /* and all after it */
static uint64_t appends;       /* of the run without a fault */

/* A line that is another in each run, or missing without memory, goes. */
static inline void leave_out(char *text, const char *name)
{
    for (char *at = strstr(text, name); at != NULL; at = strstr(at, name)) {
        char *end = strstr(at, "\r\n");

        memmove(at, end != NULL ? end + 2 : at + strlen(at), end != NULL ? strlen(end + 2) + 1 : 1);
    }
}

static inline void append(char *out, size_t size, const char *text)
{
    size_t len = strlen(out);

    assert_true(snprintf(out + len, size - len, "%s", text) < (int)(size - len));
    leave_out(out, "X-Correlation-Id: ");
    leave_out(out, "X-Callgate-Decision: ");
}

/* ---- what must hold ---- */

static inline bool is_in(const char *text, const char *part, size_t len)
{
    return len == 0 || memmem(text, strlen(text), part, len) != NULL;
}

static inline const char *next_message(const char *text, const char *const starts[])
{
    const char *first = text + strlen(text);

    for (size_t i = 0; starts[i] != NULL; i++) {
        const char *at = strstr(text, starts[i]);

        first = at != NULL && at < first ? at : first;
    }
    return first;
}

/* Where a message ends in what was said without a fault. */
static inline bool ends_there(const char *text, const char *part, size_t len, const char *const starts[])
{
    const char *at = memmem(text, strlen(text), part, len);

    return at != NULL && next_message(at + len, starts) == at + len;
}

/* An error; or a list in which nothing is left, since a tool that cannot be judged is not seen. */
static inline bool is_refusal(const char *at, size_t len)
{
    static const char *const marks[] = {"\"error\"", "\"isError\"", "\r\n\r\n[]", "\"tools\":[]", NULL};

    for (size_t i = 0; marks[i] != NULL; i++)
        if (memmem(at, len, marks[i], strlen(marks[i])) != NULL)
            return true;
    return strncmp(at, "HTTP/1.1 5", 10) == 0 || strncmp(at, "HTTP/1.1 4", 10) == 0;
}

/* Of a stream each event is as it was, or tells of an error: events may be missing, and then their senders know. */
static inline void check_events(const char *at, size_t len, const char *without)
{
    const char *end = at + len, *next;

    for (at = memmem(at, len, "\ndata: ", 7); at != NULL; at = memmem(next, (size_t)(end - next), "\ndata: ", 7)) {
        next = memchr(at + 1, '\n', (size_t)(end - at - 1));
        if (next == NULL)
            return;
        if (!is_in(without, at, (size_t)(next + 1 - at)) && !is_refusal(at, (size_t)(next - at)))
            fail_msg("append %llu: %.*s\nis not in\n%s", (unsigned long long)failing, (int)(next - at), at, without);
    }
}

/* Each message but the last is one that went without a fault, or tells of an error; the last may be cut by its connection. */
static inline void check_messages(const char *with, const char *without, bool is_up)
{
    static const char *const up[] = {"POST /", "GET /", END, NULL}, *const down[] = {"HTTP/1.1 ", END, NULL};
    const char *const *starts = is_up ? up : down;

    for (const char *at = next_message(with, starts); *at != '\0';) {
        const char *end = next_message(at + 1, starts);
        size_t len = (size_t)(end - at);

        bool may_be_cut = *end == '\0' || *end == *END;

        if (memmem(at, len, "event-stream", 12) != NULL && !is_up)
            check_events(at, len, without);
        else if (*at != *END && !is_refusal(at, len) && !ends_there(without, at, len, starts) &&
                 !(may_be_cut && is_in(without, at, len)))
            fail_msg("append %llu: %.*s\nis not in\n%s", (unsigned long long)failing, (int)len, at, without);
        at = end;
    }
}

/* Without memory more is left out than had to be, never less. */
static inline bool is_left_out(const char *text)
{
    return text[0] == '\0' || strncmp(text, "{\"dev.callgate/redacted\"", 24) == 0;
}

/* Of each row: what stands there stood in a row of the run without a fault. */
#define CHECK_TEXT(rows, count, text)                                                                         \
    for (unsigned i = 0; i < now.count; i++) {                                                                \
        bool is_known = is_left_out(now.rows[i].text);                                                        \
                                                                                                              \
        for (unsigned j = 0; j < whole.count && !is_known; j++)                                               \
            is_known = strcmp(now.rows[i].text, whole.rows[j].text) == 0;                                     \
        if (!is_known)                                                                                        \
            fail_msg("append %llu: recorded %s", (unsigned long long)failing, now.rows[i].text);              \
    }

static inline void check_records(void)
{
    CHECK_TEXT(decisions, decision_count, arguments)
    CHECK_TEXT(decisions, decision_count, params)
    CHECK_TEXT(outcomes, outcome_count, answer)
}

#endif
