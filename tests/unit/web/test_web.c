/* SPDX-License-Identifier: Apache-2.0 */
/* 8.6: requests of our own against servers that are slow, huge, away or lie. TLS and proxies: tests/integration/123-web. */
#include "fakes/cm.h"

#include "os/clock.h"
#include "os/sandbox.h"
#include "os/sock.h"
#include "os/thread.h"
#include "web/web_priv.h"

#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OK_HEAD "HTTP/1.1 200 OK\r\nContent-Type: application/json; charset=utf-8\r\n"

/* Answers each connection once, as the test says: what is said first, then a text again and again, then perhaps nothing more. */
struct server {
    int listener;
    uint16_t port;
    const char *says, *again;
    size_t times, said; /* how often, at most and so far */
    bool hangs;         /* after all that: says nothing, and does not close */
    atomic_bool quit;
    atomic_int connections;
    pthread_mutex_t lock;
    char heard[8192];   /* of the last question */
    struct thread thread;
};

static void say(int fd, const char *text, const struct server *server)
{
    struct span left = span_text(text);

    while (left.len > 0 && !atomic_load(&server->quit)) {
        struct pollfd ready = {.fd = fd, .events = POLLOUT};
        ssize_t sent = poll(&ready, 1, 20) > 0 ? send(fd, left.at, left.len, MSG_NOSIGNAL) : 0;

        if (sent < 0)
            return;
        left = span_part(left, (size_t)sent, SIZE_MAX);
    }
}

static bool hear(int fd, struct server *server)
{
    size_t heard = 0;

    while (!atomic_load(&server->quit) && heard < sizeof server->heard - 1) {
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        ssize_t got;
        bool is_whole;

        if (poll(&ready, 1, 20) <= 0)
            continue;
        pthread_mutex_lock(&server->lock);
        got = recv(fd, server->heard + heard, sizeof server->heard - 1 - heard, 0);
        heard += got > 0 ? (size_t)got : 0;
        server->heard[heard] = '\0';
        is_whole = strstr(server->heard, "\r\n\r\n") != NULL;
        pthread_mutex_unlock(&server->lock);
        if (got <= 0 || is_whole)
            return is_whole;
    }
    return false;
}

static void serve(void *argument)
{
    struct server *server = argument;

    while (!atomic_load(&server->quit)) {
        struct pollfd ready = {.fd = server->listener, .events = POLLIN};
        int fd = poll(&ready, 1, 20) > 0 ? accept(server->listener, NULL, NULL) : -1;

        if (fd < 0)
            continue;
        atomic_fetch_add(&server->connections, 1);
        while (hear(fd, server)) {
            say(fd, server->says, server);
            for (server->said = 0; server->said < server->times && !atomic_load(&server->quit); server->said++) {
                struct pollfd gone = {.fd = fd, .events = POLLRDHUP};

                say(fd, server->again, server);
                if (poll(&gone, 1, 0) > 0)
                    break;
            }
            if (!server->hangs && strstr(server->says, "Content-Length") == NULL)
                break;
        }
        close(fd);
    }
}

static void server_start(struct server *server)
{
    struct sock_address address;
    struct why why;

    pthread_mutex_init(&server->lock, NULL);
    assert_ok(sock_parse(SPAN_LIT("127.0.0.1:0"), &address, &why));
    assert_ok(sock_listen(&address, &server->listener, &why));
    assert_ok(sock_local(server->listener, &address));
    server->port = sock_port(&address);
    assert_ok(thread_start(&server->thread, "server", serve, server, &why));
}

static void server_stop(struct server *server)
{
    atomic_store(&server->quit, true);
    thread_join(&server->thread);
    sock_close(&server->listener);
}

static bool has_heard(struct server *server, const char *text)
{
    bool has;

    pthread_mutex_lock(&server->lock);
    has = strstr(server->heard, text) != NULL;
    pthread_mutex_unlock(&server->lock);
    return has;
}

static struct web *web_begun(void)
{
    struct web *web = NULL;
    struct why why;

    assert_ok(web_new(&web, &why));
    assert_ok(web_start(web, &why));
    return web;
}

static enum code fetch(struct web *web, const struct server *server, const struct web_request *like, struct web_answer *answer,
                       struct why *why)
{
    struct web_request request = like != NULL ? *like : (struct web_request){0};
    char url[128];

    snprintf(url, sizeof url, "http://127.0.0.1:%u/keys?a=b", server->port);
    request.url = span_text(url);
    *why = (struct why){""};
    return web_fetch(web, &request, answer, why);
}

/* One answer of a server that is like that. */
static enum code answer_of(struct server *server, int64_t wait_us, size_t body_max, struct web_answer *answer, struct why *why)
{
    const struct web_request request = {.wait_us = wait_us, .body_max_bytes = body_max};
    struct web *web = web_begun();
    enum code code;

    server_start(server);
    code = fetch(web, server, &request, answer, why);
    web_free(&web);
    server_stop(server);
    return code;
}

TEST_CASE(asks_and_is_answered)
{
    struct server server = {.says = OK_HEAD "Content-Length: 2\r\nCache-Control:  max-age=9 \r\n\r\n{}"};
    const struct web_header headers[] = {{SPAN_LIT("Authorization"), SPAN_LIT("Bearer secret")}, {SPAN_LIT("X-Empty"), SPAN_NONE}};
    const struct web_request post = {.body = SPAN_LIT("grant_type=x"), .headers = headers, .header_count = 2};
    struct web *web = web_begun();
    struct web_answer answer;
    struct why why;

    server_start(&server);
    for (int i = 0; i < 3; i++) {
        assert_ok(fetch(web, &server, i == 0 ? NULL : &post, &answer, &why));
        assert_int_equal(answer.status, 200);
        assert_true(span_is(buf_peek(&answer.body), "{}"));
        assert_true(span_is(web_answer_header(&answer, "cache-control"), "max-age=9"));
        assert_true(span_is_empty(web_answer_header(&answer, "X-Other")));
        assert_true(web_answer_is(&answer, "application/json") && !web_answer_is(&answer, "application/jwk-set+json"));
        assert_true(has_heard(&server, "Authorization: Bearer secret") == (i > 0));
        assert_true(has_heard(&server, "POST /keys?a=b HTTP/1.1\r\n") == (i > 0));
        assert_false(has_heard(&server, "Accept-Encoding"));
        assert_false(has_heard(&server, "Expect"));
        web_answer_fini(&answer);
    }
    assert_int_equal(atomic_load(&server.connections), 1); /* used again */
    web_free(&web);
    server_stop(&server);
}

TEST_CASE(refuses_what_is_no_question)
{
    static const struct {
        const char *url;
        const char *name, *value;
        bool insecure;
    } wrong[] = {
        {"http://shop.example/", "A", "b", false}, {"ftp://127.0.0.1/", "A", "b", true}, {"file:///etc/passwd", "A", "b", true},
        {"https://me:word@127.0.0.1/", "A", "b", true}, {"127.0.0.1/x\ny", "A", "b", true}, {"https:///x", "A", "b", true},
        {"http://127.0.0.1:0/", "A", "b", true}, {"http://127.0.0.1:1/", "A", "b\r\nC: d", true},
        {"http://127.0.0.1:1/", "A:", "b", true}, {"http://127.0.0.1:1/", "", "b", true}, {"gopher://127.0.0.1:1/", "A", "b", true},
    };
    struct web *web = web_begun();

    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        const struct web_header header = {span_text(wrong[i].name), span_text(wrong[i].value)};
        const struct web_request request = {.url = span_text(wrong[i].url), .headers = &header, .header_count = 1,
                                            .insecure = wrong[i].insecure};
        struct web_answer answer;
        struct why why = {""};

        assert_int_equal(web_fetch(web, &request, &answer, &why), CODE_INVALID);
        assert_null(strstr(why.text, "word"));
        web_answer_fini(&answer);
    }
    web_free(&web);
}

TEST_CASE(bounds_what_comes)
{
    static char line[60000], many[200];
    struct server huge_body = {.says = OK_HEAD "Connection: close\r\n\r\n", .again = line, .times = 100000},
                  said_huge = {.says = OK_HEAD "Content-Length: 1073741824\r\n\r\n", .again = line, .times = 100000},
                  long_line = {.says = "HTTP/1.1 200 OK\r\nX: ", .again = line, .times = 100000},
                  endless_head = {.says = "HTTP/1.1 200 OK\r\n", .again = many, .times = 10000000},
                  endless_100 = {.says = "", .again = "HTTP/1.1 100 Continue\r\n\r\n", .times = 10000000};
    struct server *servers[] = {&huge_body, &said_huge, &long_line, &endless_head, &endless_100};

    memset(line, 'x', sizeof line - 1);
    snprintf(many, sizeof many, "X-%0150d: y\r\n", 7);
    for (size_t i = 0; i < sizeof servers / sizeof servers[0]; i++) {
        struct web_answer answer;
        struct why why;
        enum code code = answer_of(servers[i], 60000000, 100000, &answer, &why);

        if (i < 2)
            assert_int_equal(code, CODE_LIMIT);
        assert_int_not_equal(code, CODE_OK);
        assert_true(buf_len(&answer.body) <= 100000);
        assert_null(strstr(why.text, "in time"));
        assert_true(servers[i]->said < servers[i]->times); /* who had enough has closed */
        web_answer_fini(&answer);
    }
}

static bool take_some(void *context, const struct web_answer *answer, struct span part)
{
    size_t *taken = context;

    assert_int_equal(answer->status, 200);
    assert_true(web_answer_is(answer, "application/json"));
    *taken += part.len;
    return *taken < 100000;
}

/* Who takes the parts says when it is enough, though the server would never end. */
TEST_CASE(gives_parts_as_they_come)
{
    static char line[1000];
    struct server server = {.says = OK_HEAD "Connection: close\r\n\r\n", .again = line, .times = 10000000};
    size_t taken = 0;
    const struct web_request request = {.part = take_some, .part_context = &taken, .body_max_bytes = 10};
    struct web *web = web_begun();
    struct web_answer answer;
    struct why why;

    memset(line, 'x', sizeof line - 1);
    server_start(&server);
    assert_ok(fetch(web, &server, &request, &answer, &why));
    assert_true(taken >= 100000 && taken < 200000 && buf_is_empty(&answer.body));
    web_answer_fini(&answer);
    web_free(&web);
    server_stop(&server);
}

TEST_CASE(is_not_held_up)
{
    struct server silent = {.says = "", .hangs = true}, half = {.says = "HTTP/1.1 200 OK\r\nX", .hangs = true},
                  body = {.says = OK_HEAD "Content-Length: 100\r\n\r\nabc", .hangs = true};
    struct server *servers[] = {&silent, &half, &body};

    for (size_t i = 0; i < 3; i++) {
        int64_t begun_us = clock_monotonic_us();
        struct web_answer answer;
        struct why why;

        assert_int_equal(answer_of(servers[i], 300000, 0, &answer, &why), CODE_IO);
        assert_non_null(strstr(why.text, "did not answer in time"));
        assert_null(strstr(why.text, "keys"));
        assert_true(clock_monotonic_us() - begun_us < 60000000);
        web_answer_fini(&answer);
    }
}

TEST_CASE(takes_nothing_encoded_and_follows_nothing)
{
    struct server gzip = {.says = OK_HEAD "Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}"},
                  on_the_way = {.says = OK_HEAD "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"},
                  redirect = {.says = "HTTP/1.1 302 Found\r\nLocation: file:///etc/passwd\r\nContent-Length: 0\r\n\r\n"},
                  old = {.says = "just text"}, short_one = {.says = OK_HEAD "Content-Length: 5\r\n\r\n{}", .hangs = false};
    struct server *servers[] = {&gzip, &on_the_way, &redirect, &old, &short_one};
    const enum code codes[] = {CODE_INVALID, CODE_INVALID, CODE_OK, CODE_IO, CODE_IO};

    for (size_t i = 0; i < sizeof servers / sizeof servers[0]; i++) {
        struct web_answer answer;
        struct why why;

        assert_int_equal(answer_of(servers[i], 1000000, 0, &answer, &why), codes[i]);
        if (codes[i] == CODE_OK)
            assert_int_equal(answer.status, 302);
        web_answer_fini(&answer);
    }
}

/* How often the secret of two halves stands in memory that this process can write to. */
static size_t count_in_memory(const char *first, const char *second)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    int memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
    size_t found = 0, len = strlen(first), more = strlen(second);
    static char part[65536 + 64];
    char line[512];

    while (fgets(line, sizeof line, maps) != NULL) {
        unsigned long from, to;
        char rights[5];

        if (sscanf(line, "%lx-%lx %4s", &from, &to, rights) != 3 || rights[1] != 'w' || to - from > (256ul << 20))
            continue;
        for (unsigned long at = from; at < to; at += 65536) {
            ssize_t got = pread(memory, part, sizeof part, (off_t)at);

            for (ssize_t i = 0; i + (ssize_t)(len + more) < got && i < 65536; i++)
                if (at + (unsigned long)i - (unsigned long)part >= sizeof part && memcmp(part + i, first, len) == 0)
                    found += memcmp(part + i + len, second, more) == 0;
        }
    }
    memset(part, 0, sizeof part);
    fclose(maps);
    close(memory);
    return found;
}

/* What went up and what came down stands nowhere any more. */
TEST_CASE(leaves_no_secret)
{
    struct server server = {.says = OK_HEAD "Content-Length: 33\r\n\r\n{\"access_token\":\"come-down-7351\"}"};
    struct web_header header = {.name = SPAN_LIT("Authorization")};
    struct web *web = web_begun();
    struct web_answer answer;
    struct why why;
    char secret[32];

    if (!SANDBOX_IS_BUILT)
        skip(); /* sanitizers keep what was given back, and copies of it */
    snprintf(secret, sizeof secret, "%s-%s", "gone-up", "8846");
    header.value = span_text(secret);
    server_start(&server);
    for (int i = 0; i < 3; i++) {
        const struct web_request post = {.body = span_text(secret), .headers = &header, .header_count = 1};

        assert_ok(fetch(web, &server, &post, &answer, &why));
        assert_true(has_heard(&server, "gone-up"));
        assert_int_not_equal(count_in_memory("gone-u", "p-8846"), 0);
        web_answer_fini(&answer);
    }
    pthread_mutex_lock(&server.lock);
    memset(server.heard, 0, sizeof server.heard);
    pthread_mutex_unlock(&server.lock);
    memset(secret, 0, sizeof secret);
    assert_int_equal(count_in_memory("gone-u", "p-8846"), 0);
    assert_int_equal(count_in_memory("come-d", "own-7351"), 0);
    web_free(&web);
    server_stop(&server);
}

TEST_CASE(passes_proxies_by)
{
    static const struct {
        const char *except, *host;
        bool by_proxy;
    } cases[] = {
        {NULL, "id.example", true}, {"", "id.example", true}, {"id.example", "id.example", false}, {"id.example", "ID.example", false},
        {".example", "id.example", false}, {"example", "id.example", false}, {"d.example", "id.example", true},
        {"other, id.example ", "id.example.", false}, {"*", "id.example", false}, {"*", "192.0.2.1", false},
        {"192.0.2.0/24", "192.0.2.1", false}, {"192.0.2.1", "192.0.2.1", false}, {"192.0.2.1", "192.0.2.12", true},
        {"2.1", "192.0.2.1", true}, {"2001:db8::/32", "2001:db8::1", false}, {",,", "id.example", true},
        {NULL, "localhost", false}, {NULL, "127.0.0.9", false}, {NULL, "::1", false}, {NULL, "localhost.example", true},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char url[] = "http://proxy:3128";
        const struct web_proxy proxy = {.url = url, .except = cases[i].except};

        if (web__proxy_serves(&proxy, cases[i].host) != cases[i].by_proxy)
            fail_msg("NO_PROXY=%s: %s", cases[i].except, cases[i].host);
    }
}

static void cancelled(void *context, struct web_answer *answer)
{
    assert_int_equal(answer->code, CODE_DOWN);
    atomic_fetch_add((atomic_int *)context, 1);
}

TEST_CASE(ends_what_is_under_way)
{
    struct server server = {.says = "", .hangs = true};
    struct web *web = web_begun();
    atomic_int ended = 0, others = 0;
    struct why why;
    int64_t begun_us;
    size_t begun = 0;
    char url[64];

    server_start(&server);
    snprintf(url, sizeof url, "http://127.0.0.1:%u/", server.port);
    for (size_t i = 0; i < 200; i++) {
        const struct web_request request = {.url = span_text(url), .done = cancelled, .context = i % 2 == 0 ? &ended : &others,
                                            .yields = i < 100, .pause_us = i % 3 == 0 ? 60000000 : 0};
        enum code code = web_begin(web, &request, &why);

        assert_true(code == CODE_OK || code == CODE_BUSY);
        begun += code == CODE_OK;
        if (i == 99)
            assert_int_equal(begun, 32); /* 8.1: what agents ask for leaves room for key sets */
    }
    assert_int_equal(begun, 64); /* one server has no more of them */
    web_cancel(web, &ended);
    begun_us = clock_monotonic_us();
    while (atomic_load(&ended) < 32 && clock_monotonic_us() - begun_us < 60000000)
        usleep(1000);
    assert_int_equal(atomic_load(&ended), 32);
    assert_int_equal(atomic_load(&others), 0);
    web_free(&web);
    assert_int_equal(atomic_load(&others), 32);
    server_stop(&server);
}

TEST_CASE(says_who_cannot_be_reached)
{
    static const char *const urls[] = {"http://127.0.0.1:1/secret", "https://nobody.invalid/secret"};
    struct web *web = web_begun();

    for (size_t i = 0; i < 2; i++) {
        const struct web_request request = {.url = span_text(urls[i])};
        struct web_answer answer;
        struct why why;

        assert_int_equal(web_fetch(web, &request, &answer, &why), CODE_IO);
        assert_non_null(strstr(why.text, i == 0 ? "127.0.0.1:1 cannot be reached" : "nobody.invalid cannot be resolved"));
        assert_null(strstr(why.text, "secret"));
        web_answer_fini(&answer);
    }
    web_free(&web);
}

int main(void)
{
    unsetenv("https_proxy");
    unsetenv("HTTPS_PROXY");
    return tests_run(NULL, NULL);
}
