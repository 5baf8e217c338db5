/* SPDX-License-Identifier: Apache-2.0 */
/* The log: one JSON object a line on stderr, plain text on a terminal.
 *
 * Threads: any; a line is one write(2), so lines do not mix.
 * Owns: nothing.
 * Lifetime: log_init once at start, before threads.
 * Errors: a line that cannot be written at once is lost and counted; logging never fails its caller and never makes it wait.
 *   errno is preserved.
 *
 * Secrets never get in: credentials, header values and argument values are not parameters of any log call. */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include "base/code.h"

#include <stdbool.h>
#include <stdint.h>

enum log_level { LOG_ERROR = 0, LOG_WARN, LOG_INFO, LOG_DEBUG };

enum log_form { LOG_AUTO = 0, LOG_JSON, LOG_TEXT };

/* Takes: AUTO is text where stderr is a terminal, JSON elsewhere. */
void log_init(enum log_level level, enum log_form form);

bool log_wants(enum log_level level);

/* Lines that could not be written whole since the start. */
uint64_t log_lost(void);

/* What a line is about, where known; zero values are left out. */
struct log_about {
    const char *room;        /* "proxy", "audit" ... */
    uint64_t decision;       /* seq of the audit row */
    const char *correlation; /* at most 128 visible ASCII characters; may be NULL */
    const char *upstream;    /* route name; may be NULL */
    const char *reason;      /* a name of the reason table; may be NULL */
};

void log_line(enum log_level level, const struct log_about *about, const char *format, ...) PRINTF_LIKE(3, 4);

#define log_error(room_, ...) log_line(LOG_ERROR, &(struct log_about){.room = (room_)}, __VA_ARGS__)
#define log_warn(room_, ...) log_line(LOG_WARN, &(struct log_about){.room = (room_)}, __VA_ARGS__)
#define log_info(room_, ...) log_line(LOG_INFO, &(struct log_about){.room = (room_)}, __VA_ARGS__)
#define log_debug(room_, ...) \
    do { \
        if (log_wants(LOG_DEBUG)) \
            log_line(LOG_DEBUG, &(struct log_about){.room = (room_)}, __VA_ARGS__); \
    } while (0)

#endif
