/* SPDX-License-Identifier: Apache-2.0 */
/* 1.30: the admin port over a real socket on a loop of the test's own. */
#include "admin/admin.h"
#include "fakes/cm.h"

#include <poll.h>
#include <unistd.h>

static struct loop *loop;
static struct admin *admin;
static const char *unready_text = "", *note_text = "";
static char reply[8192];

static enum code note(void *context, struct buf *out)
{
    (void)context;
    return buf_add_text(out, note_text);
}

static enum code unready(void *context, struct buf *out)
{
    (void)context;
    return buf_add_text(out, unready_text);
}

static enum code measure(void *context, struct buf *out)
{
    (void)context;
    return buf_add_text(out, "callgate_up 1\n");
}

static int start(void **state)
{
    static const struct service_sockets none;
    struct admin_conf conf = {.inherited = &none, .healthz = true, .readyz = true, .metrics = true, .unready = unready, .note = note,
                              .measure = measure};
    struct why why;

    (void)state;
    assert_int_equal(sock_parse(SPAN_LIT("127.0.0.1:0"), &conf.address, &why), CODE_OK);
    assert_int_equal(loop_new(&loop), CODE_OK);
    assert_int_equal(admin_open(&conf, loop, &admin, &why), CODE_OK);
    return 0;
}

static int stop_admin(void **state)
{
    (void)state;
    admin_close(&admin);
    loop_free(&loop);
    return 0;
}

static int dial(void)
{
    struct sock_address address;
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    admin_address(admin, &address);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, &address.any, address.len), 0);
    return fd;
}

/* Runs the loop until the peer has closed; what it said is in `reply`. */
static const char *hear(int fd)
{
    size_t len = 0;
    struct pollfd ready = {.fd = fd, .events = POLLIN};

    for (int turn = 0; turn < 2000; turn++) {
        ssize_t n;

        assert_int_equal(loop_turn(loop, 5000), CODE_OK);
        admin_settle(admin);
        if (poll(&ready, 1, 0) != 1)
            continue;
        n = read(fd, reply + len, sizeof reply - 1 - len);
        assert_true(n >= 0);
        len += (size_t)n;
        reply[len] = '\0';
        if (n == 0) {
            close(fd);
            return reply;
        }
    }
    fail_msg("the admin port did not close");
    return NULL;
}

static const char *ask(const char *request)
{
    int fd = dial();

    assert_int_equal(write(fd, request, strlen(request)), (ssize_t)strlen(request));
    return hear(fd);
}

#define STARTS(text, head) assert_memory_equal(text, head, strlen(head))

/* 1.30 */
TEST_CASE(test_paths)
{
    STARTS(ask("GET /healthz HTTP/1.1\r\nHost: anything.example\r\n\r\n"), "HTTP/1.1 200 OK\r\n");
    assert_non_null(strstr(reply, "alive\n"));
    STARTS(ask("GET /healthz HTTP/1.0\r\n\r\n"), "HTTP/1.1 200 OK\r\n");
    STARTS(ask("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"), "HTTP/1.1 200 OK\r\n");
    assert_non_null(strstr(reply, "callgate_up 1\n"));
    assert_non_null(strstr(reply, "version=0.0.4"));
    STARTS(ask("HEAD /metrics HTTP/1.1\r\nHost: x\r\n\r\n"), "HTTP/1.1 200 OK\r\n");
    assert_null(strstr(reply, "callgate_up"));
    STARTS(ask("GET /other HTTP/1.1\r\nHost: x\r\n\r\n"), "HTTP/1.1 404 ");
    STARTS(ask("POST /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"), "HTTP/1.1 405 ");
    STARTS(ask("nonsense\r\n\r\n"), "HTTP/1.1 400 ");
}

/* 1.30 */
TEST_CASE(test_ready_says_why_not)
{
    unready_text = "";
    STARTS(ask("GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n"), "HTTP/1.1 200 OK\r\n");
    assert_non_null(strstr(reply, "ready\n"));
    note_text = "the file holds something else than what runs\n"; /* 10.8 */
    STARTS(ask("GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n"), "HTTP/1.1 200 OK\r\n");
    assert_non_null(strstr(reply, "ready\nthe file holds"));
    note_text = "";
    unready_text = "no policy is active\n";
    STARTS(ask("GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n"), "HTTP/1.1 503 ");
    assert_non_null(strstr(reply, "no policy is active\n"));
    unready_text = "";
}

TEST_CASE(test_a_client_that_goes_away_costs_nothing)
{
    for (int i = 0; i < 200; i++) { /* more than may be there at once */
        int fd = dial();

        assert_int_equal(write(fd, "GET /hea", 8), 8);
        close(fd);
        assert_int_equal(loop_turn(loop, 1000), CODE_OK);
        admin_settle(admin);
        assert_int_equal(loop_turn(loop, 1000), CODE_OK);
        admin_settle(admin);
    }
    STARTS(ask("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"), "HTTP/1.1 200 OK\r\n");
}

TEST_CASE(test_closing_ends_what_is_open)
{
    int fd = dial();

    assert_int_equal(loop_turn(loop, 1000), CODE_OK);
    admin_settle(admin);
    close(fd); /* the group's teardown closes admin with the visit still there */
}

TEST_MAIN(start, stop_admin)
