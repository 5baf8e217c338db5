/* SPDX-License-Identifier: Apache-2.0 */
/* Two ends of TLS over a socket pair, with certificates made for the test. */
#ifndef UNIT_TLS_ENDS_H
#define UNIT_TLS_ENDS_H

#include "fakes/cm.h"
#include "os/clock.h"
#include "tls/tls_priv.h"

#include "unit/tls/pki.h"

#include <signal.h>
#include <sys/socket.h>

static struct pki pki, other;

static inline int make_pki(void **state)
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

static inline int drop_pki(void **state)
{
    (void)state;
    pki_end(&pki);
    pki_end(&other);
    return 0;
}

/* ---- two ends over a socket pair ---- */

struct ends {
    struct tls_context *server, *client;
    struct stream *front, *back; /* the gate's in front of an agent; the gate's behind, at an upstream */
    enum io front_io, back_io;
};

static inline void contexts(struct ends *ends, struct pki *of_server, bool asks, bool required, bool shows)
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

static inline void join(struct ends *ends, const char *host)
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

static inline void part(struct ends *ends)
{
    stream_close(&ends->front);
    stream_close(&ends->back);
}

static inline void end(struct ends *ends)
{
    part(ends);
    tls_unref(&ends->server);
    tls_unref(&ends->client);
}

static inline void says(struct stream *from, struct stream *to, const char *text)
{
    char got[64];
    size_t done;

    assert_int_equal(stream_write(from, text, strlen(text), &done), IO_OK);
    assert_int_equal(done, strlen(text));
    assert_int_equal(stream_read(to, got, sizeof got, &done), IO_OK);
    assert_memory_equal(got, text, strlen(text));
    assert_int_equal(done, strlen(text));
}

#endif
