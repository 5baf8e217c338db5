/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static enum log_level threshold = LOG_INFO;
static bool as_json = true;
static _Atomic uint64_t lost;

void log_init(enum log_level level, enum log_form form)
{
    threshold = level;
    as_json = form == LOG_JSON || (form == LOG_AUTO && !isatty(STDERR_FILENO));
}

bool log_wants(enum log_level level)
{
    return level <= threshold;
}

uint64_t log_lost(void)
{
    return atomic_load_explicit(&lost, memory_order_relaxed);
}

static const char *level_text(enum log_level level)
{
    switch (level) {
    case LOG_ERROR: return "error";
    case LOG_WARN: return "warn";
    case LOG_INFO: return "info";
    case LOG_DEBUG: return "debug";
    }
    return "?";
}

#define FIELDS_BYTES 640 /* room for the fields behind the message */

/* A line is built in a fixed array, because logging must work without memory. */
struct line {
    char text[2048];
    size_t len;
    bool is_cut;
};

/* Adds text to the line. What does not fit is left out whole, so that the line stays JSON; its end has two bytes. */
static void put(struct line *line, const char *text, size_t len)
{
    if (line->is_cut || len > sizeof line->text - 2 - line->len) {
        line->is_cut = true;
        return;
    }
    memcpy(line->text + line->len, text, len);
    line->len += len;
}

static void put_text(struct line *line, const char *text)
{
    put(line, text, strlen(text));
}

/* Everything outside printable ASCII is escaped, on a terminal too: a peer's bytes must not drive it.
 * Returns: whether all of it fitted. */
static bool put_escaped(struct line *line, const char *text, size_t reserve)
{
    for (; *text != '\0' && sizeof line->text - line->len > reserve + 8; text++) {
        unsigned char c = (unsigned char)*text;
        char escape[8];

        if (c >= 0x20 && c < 0x7f && c != '"' && c != '\\') {
            put(line, text, 1);
        } else {
            int n = snprintf(escape, sizeof escape, c == '"' || c == '\\' ? "\\%c" : "\\u%04x", c);

            put(line, escape, (size_t)n);
        }
    }
    return *text == '\0';
}

static void put_field(struct line *line, const char *name, const char *value)
{
    size_t before = line->len;

    if (value == NULL || value[0] == '\0')
        return;
    put_text(line, as_json ? ",\"" : " ");
    put_text(line, name);
    put_text(line, as_json ? "\":\"" : "=");
    if (!put_escaped(line, value, 0))
        line->is_cut = true;
    if (as_json)
        put_text(line, "\"");
    if (line->is_cut) {
        line->len = before;
        line->is_cut = false;
    }
}

static void put_time(struct line *line)
{
    struct timespec now;
    struct tm utc;
    char text[64];

    (void)clock_gettime(CLOCK_REALTIME, &now);
    (void)gmtime_r(&now.tv_sec, &utc);
    (void)snprintf(text, sizeof text, "%04d-%02d-%02dT%02d:%02d:%02d.%06ldZ", utc.tm_year + 1900, utc.tm_mon + 1,
                   utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec, now.tv_nsec / 1000);
    put_text(line, text);
}

/* Whether a line can be written without waiting. A pipe whose reader stands still must not hold up a worker, so a line that
 * would wait is left out and counted. The kernel calls a pipe writable as long as a whole line fits. */
static bool has_room(void)
{
    struct pollfd watch = {.fd = STDERR_FILENO, .events = POLLOUT};

    return poll(&watch, 1, 0) != 0;
}

void log_line(enum log_level level, const struct log_about *about, const char *format, ...)
{
    int saved = errno;
    struct line line = {.len = 0};
    char message[1024], number[32] = "";
    va_list args;

    if (!log_wants(level))
        return;
    va_start(args, format);
    (void)vsnprintf(message, sizeof message, format, args);
    va_end(args);
    if (about->decision != 0)
        (void)snprintf(number, sizeof number, "%llu", (unsigned long long)about->decision);
    put_text(&line, as_json ? "{\"time\":\"" : "");
    put_time(&line);
    put_text(&line, as_json ? "\",\"level\":\"" : " ");
    put_text(&line, level_text(level));
    put_text(&line, as_json ? "\",\"message\":\"" : ": ");
    (void)put_escaped(&line, message, FIELDS_BYTES);
    if (as_json)
        put_text(&line, "\"");
    put_field(&line, "room", about->room);
    put_field(&line, "decision", number);
    put_field(&line, "correlation", about->correlation);
    put_field(&line, "upstream", about->upstream);
    put_field(&line, "reason", about->reason);
    line.text[line.len++] = as_json ? '}' : ' ';
    line.text[line.len++] = '\n';
    if (!has_room() || write(STDERR_FILENO, line.text, line.len) != (ssize_t)line.len)
        (void)atomic_fetch_add_explicit(&lost, 1, memory_order_relaxed);
    errno = saved;
}
