/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/tls/ends.h"

#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/ioctl.h>
#include <unistd.h>

TEST_CASE(test_handshake) /* 1.6 */
{
    struct ends ends;
    char byte;
    size_t done;

    contexts(&ends, &pki, false, false, false);
    join(&ends, "gate.test");
    assert_int_equal(ends.front_io, IO_OK);
    assert_int_equal(ends.back_io, IO_OK);
    assert_true(span_is(tls_server_name(ends.front), "gate.test"));
    assert_null(tls_peer_names(ends.front));
    says(ends.back, ends.front, "hello");
    says(ends.front, ends.back, "good day");
    assert_int_equal(stream_read(ends.front, &byte, 1, &done), IO_WANT_READ);
    assert_int_equal(stream_end(ends.back), IO_OK);
    assert_int_equal(stream_read(ends.front, &byte, 1, &done), IO_EOF);
    end(&ends);
}

TEST_CASE(test_stale_error) /* 1.6: an error that another connection left in the queue kills nobody */
{
    struct ends ends;
    char byte;
    size_t done;

    contexts(&ends, &pki, false, false, false);
    join(&ends, "gate.test");
    ERR_raise(ERR_LIB_SSL, SSL_R_BAD_LENGTH);
    assert_int_equal(stream_read(ends.front, &byte, 1, &done), IO_WANT_READ);
    ERR_raise(ERR_LIB_SSL, SSL_R_BAD_LENGTH);
    says(ends.back, ends.front, "still there");
    end(&ends);
}

TEST_CASE(test_cut) /* 1.6: the end of the socket without close_notify is no clean end */
{
    struct ends ends;
    char byte;
    size_t done;

    contexts(&ends, &pki, false, false, false);
    join(&ends, "gate.test");
    (void)shutdown(ends.front->fd, SHUT_RDWR);
    assert_int_equal(stream_read(ends.back, &byte, 1, &done), IO_FAIL);
    assert_true(strlen(stream_fault(ends.back)) > 0);
    end(&ends);
}

TEST_CASE(test_pending) /* 1.6: what TLS has decrypted already is told, since epoll never will */
{
    struct ends ends;
    char got[100];
    size_t done;

    contexts(&ends, &pki, false, false, false);
    join(&ends, "gate.test");
    assert_int_equal(stream_write(ends.back, "0123456789", 10, &done), IO_OK);
    assert_int_equal(stream_read(ends.front, got, 3, &done), IO_OK);
    assert_int_equal(stream_pending(ends.front), 7);
    end(&ends);
}

/* A peer may send what is no data without end: one read takes some of it, and others have their turn. */
TEST_CASE(test_chatter) /* 6.6 */
{
    enum { RECORDS = 100 };
    struct ends ends;
    int fds[2], left, before = 0, reads = 0;
    size_t done;
    char byte;
    SSL *peer;

    contexts(&ends, &pki, false, false, false);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
    peer = SSL_new(ends.server->ctx);
    assert_int_equal(SSL_set_fd(peer, fds[0]), 1);
    SSL_set_accept_state(peer);
    assert_ok(tls_connect(ends.client, fds[1], "gate.test", &ends.back));
    for (int i = 0; i < 3; i++) {
        (void)stream_handshake(ends.back);
        (void)SSL_do_handshake(peer);
    }
    for (int i = 0; i < RECORDS; i++) {
        assert_int_equal(SSL_key_update(peer, SSL_KEY_UPDATE_NOT_REQUESTED), 1);
        assert_int_equal(SSL_do_handshake(peer), 1);
    }
    assert_int_equal(SSL_write(peer, "x", 1), 1);
    assert_int_equal(ioctl(fds[1], FIONREAD, &before), 0);
    assert_int_equal(stream_read(ends.back, &byte, 1, &done), IO_WANT_READ);
    assert_int_equal(ioctl(fds[1], FIONREAD, &left), 0);
    assert_true(left > before / 2 && left < before);
    while (stream_read(ends.back, &byte, 1, &done) == IO_WANT_READ)
        assert_true(reads++ < RECORDS);
    assert_int_equal(done, 1);
    SSL_free(peer);
    (void)close(fds[0]);
    end(&ends);
}

TEST_CASE(test_blocked_write) /* 1.6: a write that waited is tried again, with more behind it */
{
    static char block[1 << 20];
    struct ends ends;
    size_t sent = 0, got = 0, done;
    static char into[65536];

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

TEST_CASE(test_names) /* 1.6, 1.9 */
{
    static const struct {
        const char *host;
        bool good;
    } cases[] = {{"gate.test", true}, {"GATE.test", true}, {"127.0.0.1", true}, {"other.test", false}, {"127.0.0.2", false},
                 {"x.gate.test", false}};

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

TEST_CASE(test_stranger) /* 1.6, 1.9: an authority that nobody configured */
{
    struct ends ends;

    contexts(&ends, &other, false, false, false);
    join(&ends, "gate.test");
    assert_int_equal(ends.back_io, IO_FAIL);
    assert_non_null(strstr(stream_fault(ends.back), "not acceptable"));
    end(&ends);
}

TEST_CASE(test_still_accepted) /* 4.14: asked of a newer context, an open connection is judged as a new one would be */
{
    struct ends ends, stricter, none;

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

TEST_CASE(test_client_certificate) /* 1.6 */
{
    struct ends ends;

    contexts(&ends, &pki, true, true, true);
    join(&ends, "gate.test");
    assert_int_equal(ends.front_io, IO_OK);
    assert_true(span_is(tls_peer_names(ends.front)->subject, "CN=bot\\, the \xc3\xa4lteste,O=acme"));
    end(&ends);
    contexts(&ends, &pki, true, true, false);
    join(&ends, "gate.test");
    assert_int_equal(ends.front_io, IO_FAIL);
    end(&ends);
    contexts(&ends, &pki, true, false, false);
    join(&ends, "gate.test");
    assert_int_equal(ends.front_io, IO_OK);
    assert_null(tls_peer_names(ends.front));
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

TEST_CASE(test_alpn_and_versions) /* 1.6 */
{
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());

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

TEST_CASE(test_files) /* 1.6 */
{
    struct tls_server_conf conf = {.certificate = pki_path(&pki, "gate.pem"), .key = pki_path(&pki, "bot.key")};
    struct tls_client_conf client = {.ca = pki_path(&pki, "gate.key")};
    struct tls_context *context;
    struct why why;

    assert_int_equal(tls_server_new(&conf, &context, &why), CODE_INVALID); /* another's key */
    assert_null(context);
    assert_non_null(strstr(why.text, "bot.key"));
    conf.key = pki_path(&pki, "gate.key");
    conf.client_ca = pki_path(&pki, "nowhere.pem");
    assert_int_not_equal(tls_server_new(&conf, &context, &why), CODE_OK);
    assert_non_null(strstr(why.text, "nowhere.pem"));
    assert_int_equal(tls_client_new(&client, &context, &why), CODE_INVALID); /* no certificate in it */
    conf.client_ca = NULL;
    conf.certificate = pki_path(&pki, "empty.pem");
    assert_int_equal(close(open(conf.certificate, O_CREAT | O_WRONLY, 0600)), 0);
    assert_int_equal(tls_server_new(&conf, &context, &why), CODE_INVALID); /* as who copies it there leaves it for a moment */
    assert_non_null(strstr(why.text, "empty.pem"));
    conf.certificate = pki_path(&pki, "gate.pem");
    assert_int_equal(chmod(conf.key, 0644), 0);
    assert_int_equal(tls_server_new(&conf, &context, &why), CODE_DENIED); /* a key that others may read */
    assert_int_equal(chmod(conf.key, 0600), 0);
    assert_ok(tls_server_new(&conf, &context, &why));
    tls_unref(&context);
    assert_null(context);
}

TEST_MAIN(make_pki, drop_pki)
