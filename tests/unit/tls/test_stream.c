/* SPDX-License-Identifier: Apache-2.0 */
#include "fakes/cm.h"
#include "os/clock.h"
#include "tls/tls_priv.h"

#include "unit/tls/pki.h"

#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <sys/socket.h>

static struct pki pki, other;

static int make_pki(void **state)
{
    (void)state;
    (void)signal(SIGPIPE, SIG_IGN); /* as os/signal.h has it */
    pki_begin(&pki, "ca");
    pki_issue(&pki, "gate", "tests", "gate", "DNS:gate.test,IP:127.0.0.1");
    pki_issue(&pki, "bot", "acme", "bot, the \xc3\xa4lteste", "DNS:bot");
    pki_begin(&other, "ca");
    pki_issue(&other, "gate", "tests", "gate", "DNS:gate.test");
    pki_issue(&other, "eve", "acme", "eve", NULL);
    return 0;
}

static int drop_pki(void **state)
{
    static const char *const names[] = {"ca.pem", "gate.pem", "gate.key", "bot.pem", "bot.key", "eve.pem", "eve.key",
                                        "open.key", NULL};

    (void)state;
    pki_end(&pki, names);
    pki_end(&other, names);
    return 0;
}

/* ---- two ends over a socket pair ---- */

struct ends {
    struct tls_context *server, *client;
    struct stream *front, *back; /* the gate's in front of an agent; the gate's behind, at an upstream */
    enum io front_io, back_io;
};

static void contexts(struct ends *ends, struct pki *of_server, bool asks, bool required, bool shows)
{
    struct tls_server_conf server = {.certificate = pki_path(of_server, "gate.pem"), .key = pki_path(of_server, "gate.key"),
                                     .client_ca = asks ? pki_path(&pki, "ca.pem") : NULL, .client_required = required};
    struct tls_client_conf client = {.ca = pki_path(&pki, "ca.pem"), .certificate = shows ? pki_path(&pki, "bot.pem") : NULL,
                                     .key = shows ? pki_path(&pki, "bot.key") : NULL};
    struct why why = {""};

    *ends = (struct ends){0};
    if (tls_server_new(&server, &ends->server, &why) != CODE_OK || tls_client_new(&client, &ends->client, &why) != CODE_OK)
        fail_msg("%s", why.text);
}

static void join(struct ends *ends, const char *host)
{
    int fds[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
    assert_ok(tls_accept(ends->server, fds[0], &ends->front));
    assert_ok(tls_connect(ends->client, fds[1], host, &ends->back));
    ends->front_io = ends->back_io = IO_WANT_READ;
    for (int i = 0; i < 20; i++) {
        if (ends->back_io != IO_OK && ends->back_io != IO_FAIL)
            ends->back_io = stream_handshake(ends->back);
        if (ends->front_io != IO_OK && ends->front_io != IO_FAIL)
            ends->front_io = stream_handshake(ends->front);
    }
}

static void part(struct ends *ends)
{
    stream_close(&ends->front);
    stream_close(&ends->back);
}

static void end(struct ends *ends)
{
    part(ends);
    tls_unref(&ends->server);
    tls_unref(&ends->client);
}

static void says(struct stream *from, struct stream *to, const char *text)
{
    char got[64];
    size_t done;

    assert_int_equal(stream_write(from, text, strlen(text), &done), IO_OK);
    assert_int_equal(done, strlen(text));
    assert_int_equal(stream_read(to, got, sizeof got, &done), IO_OK);
    assert_memory_equal(got, text, strlen(text));
    assert_int_equal(done, strlen(text));
}

/* ---- */

static void test_handshake(void **state) /* 1.6 */
{
    struct ends ends;
    char byte;
    size_t done;

    (void)state;
    contexts(&ends, &pki, false, false, false);
    join(&ends, "gate.test");
    assert_int_equal(ends.front_io, IO_OK);
    assert_int_equal(ends.back_io, IO_OK);
    assert_true(span_is(tls_server_name(ends.front), "gate.test"));
    assert_null(tls_peer_subject(ends.front).at);
    says(ends.back, ends.front, "hello");
    says(ends.front, ends.back, "good day");
    assert_int_equal(stream_read(ends.front, &byte, 1, &done), IO_WANT_READ);
    assert_int_equal(stream_end(ends.back), IO_OK);
    assert_int_equal(stream_read(ends.front, &byte, 1, &done), IO_EOF);
    end(&ends);
}

static void test_stale_error(void **state) /* 1.6: an error that another connection left in the queue kills nobody */
{
    struct ends ends;
    char byte;
    size_t done;

    (void)state;
    contexts(&ends, &pki, false, false, false);
    join(&ends, "gate.test");
    ERR_raise(ERR_LIB_SSL, SSL_R_BAD_LENGTH);
    assert_int_equal(stream_read(ends.front, &byte, 1, &done), IO_WANT_READ);
    ERR_raise(ERR_LIB_SSL, SSL_R_BAD_LENGTH);
    says(ends.back, ends.front, "still there");
    end(&ends);
}

static void test_cut(void **state) /* 1.6: the end of the socket without close_notify is no clean end */
{
    struct ends ends;
    char byte;
    size_t done;

    (void)state;
    contexts(&ends, &pki, false, false, false);
    join(&ends, "gate.test");
    (void)shutdown(ends.front->fd, SHUT_RDWR);
    assert_int_equal(stream_read(ends.back, &byte, 1, &done), IO_FAIL);
    assert_true(strlen(stream_fault(ends.back)) > 0);
    end(&ends);
}

static void test_pending(void **state) /* 1.6: what TLS has decrypted already is told, since epoll never will */
{
    struct ends ends;
    char got[100];
    size_t done;

    (void)state;
    contexts(&ends, &pki, false, false, false);
    join(&ends, "gate.test");
    assert_int_equal(stream_write(ends.back, "0123456789", 10, &done), IO_OK);
    assert_int_equal(stream_read(ends.front, got, 3, &done), IO_OK);
    assert_int_equal(stream_pending(ends.front), 7);
    end(&ends);
}

static void test_blocked_write(void **state) /* 1.6: a write that waited is tried again, with more behind it */
{
    static char block[1 << 20];
    struct ends ends;
    size_t sent = 0, got = 0, done;
    static char into[65536];

    (void)state;
    contexts(&ends, &pki, false, false, false);
    join(&ends, "gate.test");
    for (size_t i = 0; i < sizeof block; i++)
        block[i] = (char)(i * 7);
    while (got < sizeof block) {
        /* A buffer grows meanwhile: the second try offers more than the first. */
        size_t offer = sizeof block - sent < 300000 ? sizeof block - sent : 300000;
        enum io io = offer ? stream_write(ends.back, block + sent, offer, &done) : IO_WANT_WRITE;

        if (io == IO_OK)
            sent += done;
        else
            assert_int_equal(io, IO_WANT_WRITE);
        if (io == IO_OK && sent < sizeof block)
            continue;
        while (stream_read(ends.front, into, sizeof into, &done) == IO_OK) {
            assert_memory_equal(into, block + got, done);
            got += done;
        }
    }
    end(&ends);
}

static void test_names(void **state) /* 1.6, 1.9 */
{
    static const struct {
        const char *host;
        bool good;
    } cases[] = {{"gate.test", true}, {"GATE.test", true}, {"127.0.0.1", true}, {"other.test", false}, {"127.0.0.2", false},
                 {"x.gate.test", false}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct ends ends;

        contexts(&ends, &pki, false, false, false);
        join(&ends, cases[i].host);
        assert_int_equal(ends.back_io, cases[i].good ? IO_OK : IO_FAIL);
        if (!cases[i].good)
            assert_non_null(strstr(stream_fault(ends.back), "mismatch"));
        assert_true(tls_is_connected(ends.back));
        end(&ends);
    }
}

static void test_stranger(void **state) /* 1.6, 1.9: an authority that nobody configured */
{
    struct ends ends;

    (void)state;
    contexts(&ends, &other, false, false, false);
    join(&ends, "gate.test");
    assert_int_equal(ends.back_io, IO_FAIL);
    assert_non_null(strstr(stream_fault(ends.back), "not acceptable"));
    end(&ends);
}

static void take_tickets(struct ends *ends)
{
    char byte;
    size_t done;

    assert_int_equal(stream_read(ends->back, &byte, 1, &done), IO_WANT_READ);
}

static struct tls_ticket *hidden[4];

static void hide(struct tls_context *context, unsigned i)
{
    hidden[i] = tls__ticket_take(context, "gate.test");
    assert_non_null(hidden[i]);
}

static void show(struct tls_context *context, unsigned i)
{
    (void)SSL_SESSION_up_ref(hidden[i]->session);
    tls__ticket_put(context, hidden[i]->host, hidden[i]->until_us, hidden[i]->session);
    tls__ticket_free(hidden[i]);
}

/* Joins, takes the ticket where there is one, joins again. */
static void join_twice(struct ends *ends)
{
    join(ends, "gate.test");
    assert_false(tls_is_resumed(ends->back));
    take_tickets(ends);
    part(ends);
    join(ends, "gate.test");
}

static void test_resumption(void **state) /* 1.6 */
{
    struct ends ends;
    char byte;
    size_t done;

    (void)state;
    contexts(&ends, &pki, false, false, false);
    join_twice(&ends);
    assert_true(tls_is_resumed(ends.back));
    assert_true(tls_is_resumed(ends.front));
    (void)stream_read(ends.back, &byte, 1, &done);
    part(&ends);
    join(&ends, "127.0.0.1"); /* another name: not that session */
    assert_false(tls_is_resumed(ends.back));
    end(&ends);
    contexts(&ends, &pki, true, false, true); /* 4.14: a certificate is shown and verified at each connection */
    join_twice(&ends);
    assert_false(tls_is_resumed(ends.front));
    assert_true(tls_peer_subject(ends.front).len > 0);
    end(&ends);
}

static void test_still_accepted(void **state) /* 4.14: asked of a newer context, an open connection is judged as a new one would be */
{
    struct ends ends, stricter, none;

    (void)state;
    contexts(&ends, &pki, true, false, true);
    contexts(&stricter, &pki, true, true, false);
    contexts(&none, &pki, false, false, false);
    join(&ends, "gate.test");
    assert_true(tls_peer_holds(ends.front, ends.server));
    assert_true(tls_peer_holds(ends.front, stricter.server));
    assert_false(tls_peer_holds(ends.front, none.server)); /* nobody is believed there any more */
    assert_non_null(strstr(stream_fault(ends.front), "not acceptable any more"));
    assert_true(tls_peer_holds(ends.front, ends.server));
    part(&ends);
    end(&ends);
    contexts(&ends, &pki, true, false, false);
    join(&ends, "gate.test");
    assert_true(tls_peer_holds(ends.front, ends.server));
    assert_false(tls_peer_holds(ends.front, stricter.server)); /* it has shown none, and one is required */
    end(&ends);
    end(&stricter);
    end(&none);
}

/* A session that is resumed is not verified again: one that was made with another host must never be. */
static void test_ticket_of_another_host(void **state) /* 4.20, 6.6 */
{
    static const char *const hosts[] = {"gate.test", "127.0.0.1"};
    struct ends ends;

    (void)state;
    for (size_t i = 0; i < sizeof hosts / sizeof hosts[0]; i++) {
        contexts(&ends, &pki, false, false, false);
        join(&ends, hosts[i]);
        take_tickets(&ends);
        part(&ends);
        join(&ends, "other.test");
        assert_false(tls_is_resumed(ends.back));
        assert_int_equal(ends.back_io, IO_FAIL); /* its certificate names somebody else */
        assert_non_null(strstr(stream_fault(ends.back), "mismatch"));
        end(&ends);
    }
}

static unsigned tickets_of(const struct tls_context *context)
{
    unsigned count = 0;

    for (unsigned i = 0; i < TLS_TICKETS; i++)
        count += context->tickets[i] != NULL;
    return count;
}

/* Each connection that is there at once brings the session of another; more than there are places push out others. */
static void test_many_sessions(void **state) /* 6.6 */
{
    struct ends ends;
    struct stream *back[4];

    (void)state;
    for (int version = TLS1_2_VERSION; version <= TLS1_3_VERSION; version++) {
        contexts(&ends, &pki, false, false, false);
        assert_int_equal(SSL_CTX_set_max_proto_version(ends.server->ctx, version), 1);
        for (unsigned round = 0; round < 3; round++) {
            for (unsigned i = 0; i < 4; i++) {
                join(&ends, "gate.test");
                assert_int_equal(ends.back_io, IO_OK);
                assert_int_equal(tls_is_resumed(ends.back), round > 0);
                if (version == TLS1_3_VERSION)
                    take_tickets(&ends);
                back[i] = ends.back;
                stream_close(&ends.front);
                if (round == 0 && i < 3) /* as if all began before one was there */
                    hide(ends.client, i);
            }
            if (round == 0)
                for (unsigned i = 0; i < 3; i++)
                    show(ends.client, i);
            for (unsigned i = 0; i < 4; i++)
                stream_close(&back[i]);
            assert_int_equal(tickets_of(ends.client), 4);
        }
        tls_unref(&ends.server);
        tls_unref(&ends.client);
    }
}

/* TLS 1.3: no ticket twice (RFC 8446, C.4). 1.2: a session goes on being good, in one connection after the other. */
static void test_used_once(void **state) /* 6.6 */
{
    struct ends ends;

    (void)state;
    contexts(&ends, &pki, false, false, false);
    join_twice(&ends);
    assert_int_equal(tickets_of(ends.client), 0); /* until the next one is read */
    take_tickets(&ends);
    assert_int_equal(tickets_of(ends.client), 1);
    end(&ends);
    contexts(&ends, &pki, false, false, false);
    assert_int_equal(SSL_CTX_set_max_proto_version(ends.server->ctx, TLS1_2_VERSION), 1);
    join(&ends, "gate.test");
    for (int i = 0; i < 3; i++) {
        part(&ends);
        join(&ends, "gate.test");
        assert_true(tls_is_resumed(ends.back));
        assert_int_equal(tickets_of(ends.client), 1);
    }
    end(&ends);
}

/* What was verified is verified again in time: within the hour, and when a certificate of the chain ends. */
static void test_session_ends(void **state) /* 6.6 */
{
    struct ends ends;
    int64_t until_us;

    (void)state;
    contexts(&ends, &pki, false, false, false);
    join(&ends, "gate.test");
    take_tickets(&ends);
    until_us = ends.client->tickets[0]->until_us;
    assert_true(until_us > clock_wall_us() && until_us <= clock_wall_us() + TLS_SESSION_US);
    part(&ends);
    join(&ends, "gate.test");
    take_tickets(&ends); /* the resumed one's own ticket is good no longer than that */
    assert_true(tls_is_resumed(ends.back));
    assert_int_equal(ends.client->tickets[1]->until_us, until_us);
    part(&ends);
    ends.client->tickets[1]->until_us = clock_wall_us();
    join(&ends, "gate.test");
    assert_int_equal(ends.back_io, IO_OK);
    assert_false(tls_is_resumed(ends.back));
    end(&ends);
}

/* A server that comes back with another certificate is asked for it; so is each after a reload, which makes a new context. */
static void test_changed_certificate(void **state) /* 6.6 */
{
    struct ends ends, stranger;

    (void)state;
    for (int version = TLS1_2_VERSION; version <= TLS1_3_VERSION; version++) {
        contexts(&ends, &pki, false, false, false);
        contexts(&stranger, &other, false, false, false);
        assert_int_equal(SSL_CTX_set_max_proto_version(ends.client->ctx, version), 1);
        join(&ends, "gate.test");
        take_tickets(&ends);
        part(&ends);
        tls_unref(&ends.server);
        ends.server = tls_ref(stranger.server);
        join(&ends, "gate.test");
        assert_false(tls_is_resumed(ends.back));
        assert_int_equal(ends.back_io, IO_FAIL);
        assert_non_null(strstr(stream_fault(ends.back), "not acceptable"));
        end(&ends);
        tls_unref(&stranger.server);
        tls_unref(&stranger.client);
    }
    contexts(&ends, &pki, false, false, false);
    contexts(&stranger, &pki, false, false, false);
    join(&ends, "gate.test");
    take_tickets(&ends);
    part(&ends);
    tls_unref(&ends.client);
    ends.client = tls_ref(stranger.client);
    join(&ends, "gate.test");
    assert_int_equal(ends.back_io, IO_OK);
    assert_false(tls_is_resumed(ends.back));
    end(&ends);
    tls_unref(&stranger.server);
    tls_unref(&stranger.client);
}

static void test_client_certificate(void **state) /* 1.6 */
{
    struct ends ends;

    (void)state;
    contexts(&ends, &pki, true, true, true);
    join(&ends, "gate.test");
    assert_int_equal(ends.front_io, IO_OK);
    assert_true(span_is(tls_peer_subject(ends.front), "CN=bot\\, the \xc3\xa4lteste,O=acme"));
    end(&ends);
    contexts(&ends, &pki, true, true, false);
    join(&ends, "gate.test");
    assert_int_equal(ends.front_io, IO_FAIL);
    end(&ends);
    contexts(&ends, &pki, true, false, false);
    join(&ends, "gate.test");
    assert_int_equal(ends.front_io, IO_OK);
    assert_null(tls_peer_subject(ends.front).at);
    end(&ends);
}

/* ---- against OpenSSL by itself ---- */

static enum io shake_with(SSL_CTX *ctx, const unsigned char *protocols, unsigned len)
{
    struct ends ends;
    struct stream *front;
    SSL *ssl = SSL_new(ctx);
    enum io io = IO_WANT_READ;
    int fds[2];

    contexts(&ends, &pki, false, false, false);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
    assert_ok(tls_accept(ends.server, fds[0], &front));
    SSL_set_fd(ssl, fds[1]);
    if (len)
        SSL_set_alpn_protos(ssl, protocols, len);
    for (int i = 0; i < 20 && io != IO_OK && io != IO_FAIL; i++) {
        ERR_clear_error();
        (void)SSL_connect(ssl);
        io = stream_handshake(front);
    }
    SSL_free(ssl);
    stream_close(&front);
    (void)close(fds[1]);
    end(&ends);
    return io;
}

static void test_alpn_and_versions(void **state) /* 1.6 */
{
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());

    (void)state;
    assert_int_equal(shake_with(ctx, NULL, 0), IO_OK);
    assert_int_equal(shake_with(ctx, (const unsigned char *)"\x02h2\x08http/1.1", 12), IO_OK);
    assert_int_equal(shake_with(ctx, (const unsigned char *)"\x02h2", 3), IO_FAIL);
    SSL_CTX_set_security_level(ctx, 0);
    SSL_CTX_set_max_proto_version(ctx, TLS1_1_VERSION);
    assert_int_equal(shake_with(ctx, NULL, 0), IO_FAIL);
    SSL_CTX_set_max_proto_version(ctx, TLS1_2_VERSION);
    assert_int_equal(shake_with(ctx, NULL, 0), IO_OK);
    SSL_CTX_free(ctx);
}

/* ---- files ---- */

static void test_files(void **state) /* 1.6 */
{
    struct tls_server_conf conf = {.certificate = pki_path(&pki, "gate.pem"), .key = pki_path(&pki, "bot.key")};
    struct tls_client_conf client = {.ca = pki_path(&pki, "gate.key")};
    struct tls_context *context;
    struct why why;

    (void)state;
    assert_int_equal(tls_server_new(&conf, &context, &why), CODE_INVALID); /* another's key */
    assert_null(context);
    assert_non_null(strstr(why.text, "bot.key"));
    conf.key = pki_path(&pki, "gate.key");
    conf.client_ca = pki_path(&pki, "nowhere.pem");
    assert_int_not_equal(tls_server_new(&conf, &context, &why), CODE_OK);
    assert_non_null(strstr(why.text, "nowhere.pem"));
    assert_int_equal(tls_client_new(&client, &context, &why), CODE_INVALID); /* no certificate in it */
    conf.client_ca = NULL;
    assert_int_equal(chmod(conf.key, 0644), 0);
    assert_int_equal(tls_server_new(&conf, &context, &why), CODE_DENIED); /* a key that others may read */
    assert_int_equal(chmod(conf.key, 0600), 0);
    assert_ok(tls_server_new(&conf, &context, &why));
    tls_unref(&context);
    assert_null(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_handshake),  cmocka_unit_test(test_stale_error),
        cmocka_unit_test(test_cut),        cmocka_unit_test(test_pending),
        cmocka_unit_test(test_blocked_write), cmocka_unit_test(test_names),
        cmocka_unit_test(test_stranger),   cmocka_unit_test(test_resumption),
        cmocka_unit_test(test_client_certificate), cmocka_unit_test(test_alpn_and_versions),
        cmocka_unit_test(test_files),      cmocka_unit_test(test_still_accepted),
        cmocka_unit_test(test_ticket_of_another_host), cmocka_unit_test(test_many_sessions), cmocka_unit_test(test_used_once),
        cmocka_unit_test(test_session_ends), cmocka_unit_test(test_changed_certificate),
    };

    return cmocka_run_group_tests(tests, make_pki, drop_pki);
}
