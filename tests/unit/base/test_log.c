/* SPDX-License-Identifier: Apache-2.0 */
#include "fakes/cm.h"

#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static char text[8192];

/* Runs one log call with stderr in a pipe; what it wrote is in `text`. */
#define CAPTURE(call)                                                                          \
    do {                                                                                       \
        int ends[2], kept = dup(STDERR_FILENO);                                                \
        ssize_t got;                                                                           \
        assert_int_equal(pipe2(ends, O_NONBLOCK), 0);                                          \
        assert_true(dup2(ends[1], STDERR_FILENO) >= 0);                                        \
        errno = EPROTO;                                                                        \
        call;                                                                                  \
        got = errno == EPROTO ? read(ends[0], text, sizeof text - 1) : -2;                     \
        assert_true(dup2(kept, STDERR_FILENO) >= 0);                                           \
        (void)close(kept);                                                                     \
        (void)close(ends[0]);                                                                  \
        (void)close(ends[1]);                                                                  \
        assert_int_not_equal(got, -2); /* errno is preserved */                                \
        text[got > 0 ? got : 0] = '\0';                                                        \
    } while (0)

TEST_CASE(one_object_a_line)
{
    const struct log_about about = {
        .room = "proxy", .decision = 12, .correlation = "c-1", .upstream = "shop", .reason = "no_rule"};

    log_init(LOG_INFO, LOG_JSON);
    CAPTURE(log_line(LOG_WARN, &about, "hello %d", 5));
    assert_memory_equal(text, "{\"time\":\"20", 11);
    assert_non_null(strstr(text, "Z\",\"level\":\"warn\",\"message\":\"hello 5\",\"room\":\"proxy\",\"decision\":\"12\","
                                 "\"correlation\":\"c-1\",\"upstream\":\"shop\",\"reason\":\"no_rule\"}\n"));
    CAPTURE(log_error("audit", "x"));
    assert_non_null(strstr(text, "\"level\":\"error\",\"message\":\"x\",\"room\":\"audit\"}\n"));
    CAPTURE(log_debug("audit", "x"));
    assert_string_equal(text, "");
    log_init(LOG_DEBUG, LOG_JSON);
    CAPTURE(log_debug("audit", "x"));
    assert_non_null(strstr(text, "debug"));
    log_init(LOG_ERROR, LOG_JSON);
    CAPTURE(log_warn("audit", "x"));
    assert_string_equal(text, "");
}

TEST_CASE(plain_text)
{
    log_init(LOG_INFO, LOG_TEXT);
    CAPTURE(log_line(LOG_INFO, &(struct log_about){.room = "proxy", .decision = 7}, "hello"));
    assert_non_null(strstr(text, "Z info: hello room=proxy decision=7 \n"));
}

/* A peer's bytes neither end the string or the line nor drive a terminal. */
TEST_CASE(everything_odd_is_escaped)
{
    log_init(LOG_INFO, LOG_JSON);
    CAPTURE(log_line(LOG_INFO, &(struct log_about){.correlation = "\"}\x7f"}, "a\"b\\c\n\x1b[0m\xc3"));
    assert_non_null(strstr(text, "\"message\":\"a\\\"b\\\\c\\u000a\\u001b[0m\\u00c3\""));
    assert_non_null(strstr(text, "\"correlation\":\"\\\"}\\u007f\"}\n"));
    assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
    log_init(LOG_INFO, LOG_TEXT);
    CAPTURE(log_info("x", "a\n\x1b"));
    assert_non_null(strstr(text, "a\\u000a\\u001b"));
}

/* Quotes come in pairs and the brace at the end: what is too long is cut inside the string, and fields that do not fit
 * are left out whole. */
static void is_whole(void)
{
    size_t len = strlen(text), quotes = 0;

    assert_true(len > 2 && len <= 2048);
    assert_string_equal(text + len - 2, "}\n");
    for (size_t i = 0; i < len; i++) {
        if (text[i] == '\\')
            i++;
        else if (text[i] == '"')
            quotes++;
    }
    assert_int_equal(quotes % 4, 0);
}

TEST_CASE(long_lines_stay_json)
{
    char message[3000], field[1500];

    log_init(LOG_INFO, LOG_JSON);
    for (size_t len = 0; len < sizeof message; len += 61) {
        memset(message, len % 2 ? '\n' : 'm', len);
        message[len] = '\0';
        memset(field, '"', sizeof field);
        field[len < sizeof field ? len : sizeof field - 1] = '\0';
        CAPTURE(log_line(LOG_INFO, &(struct log_about){.room = "proxy", .correlation = field, .upstream = field, .reason = "r"},
                         "%s", message));
        is_whole();
        assert_non_null(strstr(text, ",\"room\":\"proxy\""));
        assert_true(strstr(text, "\"reason\":\"r\"") != NULL || len > 200);
    }
}

TEST_CASE(what_is_lost_is_counted)
{
    uint64_t before = log_lost();
    int kept = dup(STDERR_FILENO), full;

    log_init(LOG_INFO, LOG_JSON);
    full = open("/dev/full", O_WRONLY);
    assert_true(full >= 0 && dup2(full, STDERR_FILENO) >= 0);
    log_info("x", "lost");
    assert_true(dup2(kept, STDERR_FILENO) >= 0);
    (void)close(full);
    (void)close(kept);
    assert_int_equal(log_lost(), before + 1);
}

/* Whoever reads the log may stand still; who writes it must not. */
TEST_CASE(a_stuck_reader_holds_up_nobody)
{
    int ends[2], kept = dup(STDERR_FILENO);
    uint64_t before = log_lost();

    log_init(LOG_INFO, LOG_JSON);
    assert_int_equal(pipe(ends), 0); /* it would block */
    assert_true(dup2(ends[1], STDERR_FILENO) >= 0);
    (void)alarm(10);
    for (int i = 0; i < 2000; i++)
        log_info("test", "a line of some length, so that the pipe is full after a while: %d", i);
    (void)alarm(0);
    assert_true(dup2(kept, STDERR_FILENO) >= 0);
    (void)close(kept);
    (void)close(ends[0]);
    (void)close(ends[1]);
    assert_true(log_lost() > before);
}

TEST_MAIN(NULL, NULL)
