/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions of upstreams, resumed. */
#include "unit/tls/ends.h"

#include <unistd.h>

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

TEST_CASE(test_resumption) /* 1.6 */
{
    struct ends ends;
    char byte;
    size_t done;

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
    assert_non_null(tls_peer_names(ends.front));
    end(&ends);
}

/* A session that is resumed is not verified again: one that was made with another host must never be. */
TEST_CASE(test_ticket_of_another_host) /* 4.20, 6.6 */
{
    static const char *const hosts[] = {"gate.test", "127.0.0.1"};
    struct ends ends;

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
TEST_CASE(test_many_sessions) /* 6.6 */
{
    struct ends ends;
    struct stream *back[4];

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
TEST_CASE(test_used_once) /* 6.6 */
{
    struct ends ends;

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
TEST_CASE(test_session_ends) /* 6.6 */
{
    struct ends ends;
    int64_t until_us, verified_us;

    contexts(&ends, &pki, false, false, false);
    join(&ends, "gate.test");
    verified_us = clock_wall_us();
    (void)usleep(20000);
    take_tickets(&ends); /* a server may send one hours after it was verified */
    until_us = ends.client->tickets[0]->until_us;
    assert_true(until_us > clock_wall_us() && until_us <= verified_us + TLS_SESSION_US);
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
TEST_CASE(test_changed_certificate) /* 6.6 */
{
    struct ends ends, stranger;

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

TEST_MAIN(make_pki, drop_pki)
