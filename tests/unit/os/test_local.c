/* SPDX-License-Identifier: Apache-2.0 */
/* The introduction of pipes, whole, in pieces and wrong, and the socket's place. 5.11, 5.23, 13.5 */
#include "fakes/cm.h"

#include "os/clock.h"
#include "os/local.h"
#include "os/sock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static int front[2], back[2];
static struct stream *stream;

static int setup(void **state)
{
    (void)state;
    if (local_pair(front) != CODE_OK || local_pair(back) != CODE_OK)
        return -1;
    return local_stream_new(front[1], false, &stream) == CODE_OK ? 0 : -1;
}

static const unsigned char digest[LOCAL_DIGEST_BYTES] = "what the pipe reads in 31 bytes";

static int teardown(void **state)
{
    (void)state;
    stream_close(&stream);
    sock_close(&front[0]);
    sock_close(&back[0]);
    sock_close(&back[1]);
    return 0;
}

/* In tests both ends of every pair are this process's own: what the gate refuses as a circle. */
TEST_CASE_WITH(an_introduction_is_whole_or_nothing, setup, teardown)
{
    assert_int_equal(stream_handshake(stream), IO_WANT_READ);
    assert_int_equal(local_introduce(front[0], SPAN_LIT("files"), digest, back[1]), CODE_OK);
    assert_int_equal(stream_handshake(stream), IO_FAIL);
    assert_string_equal(stream_fault(stream), "what was handed over is no end of a Unix stream socket");
}

TEST_CASE_WITH(pieces_are_waited_for, setup, teardown)
{
    for (int i = 0; i < LOCAL_INTRODUCTION_BYTES; i++) {
        assert_int_equal(stream_handshake(stream), IO_WANT_READ);
        assert_int_equal(write(front[0], "", 1), 1);
    }
    assert_int_equal(stream_handshake(stream), IO_FAIL);
    assert_string_equal(stream_fault(stream), "the introduction is not of this version");
}

TEST_CASE_WITH(an_end_within_it_is_an_end, setup, teardown)
{
    assert_int_equal(write(front[0], "callgate-pipe-2", 16), 16);
    sock_close(&front[0]);
    assert_int_equal(stream_handshake(stream), IO_EOF);
}

/* 10.8: with another process at the other ends all is well, and it tells what it reads. */
TEST_CASE_WITH(a_child_introduces_itself, setup, teardown)
{
    struct stream *handed;
    size_t done = 0;
    char got[8];
    uid_t uid;
    pid_t pid, child;

    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        int own[2];
        bool went = local_pair(own) == CODE_OK && local_introduce(front[0], SPAN_LIT("files"), digest, own[0]) == CODE_OK &&
                    write(front[0], "next", 4) == 4 && write(own[1], "way back", 8) == 8;

        (void)sleep(went ? 1 : 0);
        _exit(went ? 0 : 1);
    }
    while (stream_handshake(stream) == IO_WANT_READ)
        (void)usleep(1000);
    assert_int_equal(stream_handshake(stream), IO_OK);
    assert_true(span_is(local_name(stream), "files"));
    assert_true(span_equals(local_digest(stream), span_of((const char *)digest, sizeof digest)));
    local_peer(stream, &uid, &pid);
    assert_int_equal(uid, geteuid());
    assert_int_equal(local_take(stream, &handed), CODE_OK);
    while (stream_read(handed, got, sizeof got, &done) == IO_WANT_READ)
        (void)usleep(1000);
    assert_memory_equal(got, "way back", 8);
    stream_close(&handed);
    while (stream_read(stream, got, sizeof got, &done) == IO_WANT_READ)
        (void)usleep(1000);
    assert_memory_equal(got, "next", 4); /* what follows the introduction is the stream's */
}

TEST_CASE(a_place_is_taken_once)
{
    char folder[] = "/tmp/callgate-local-XXXXXX", path[64], far[200];
    struct why why = {""};
    struct stat status;
    int first, second;

    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/s", folder);
    assert_int_equal(local_connect(path, &first), CODE_NOT_FOUND);
    assert_int_equal(local_listen(path, "pipe", 0600, &first, &why), CODE_OK);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    assert_int_equal(local_listen(path, "pipe", 0600, &second, &why), CODE_BUSY);
    assert_int_equal(local_connect(path, &second), CODE_OK);
    sock_close(&second);
    sock_close(&first);
    assert_int_equal(local_connect(path, &second), CODE_NOT_FOUND); /* left behind */
    assert_int_equal(local_listen(path, "pipe", 0600, &first, &why), CODE_OK);
    sock_close(&first);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(close(open(path, O_CREAT | O_WRONLY, 0600)), 0);
    assert_int_equal(local_listen(path, "pipe", 0600, &first, &why), CODE_EXISTS); /* somebody's file */
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
    memset(far, 'x', sizeof far - 1);
    far[0] = '/';
    far[sizeof far - 1] = '\0';
    assert_int_equal(local_listen(far, "pipe", 0600, &first, &why), CODE_INVALID);
    assert_int_equal(local_connect(far, &first), CODE_IO);
}

TEST_CASE_WITH(descriptors_come_with_their_message_or_not_at_all, setup, teardown)
{
    uint64_t said = 7, heard = 0;
    int got[3] = {-1, -1, -1};
    size_t count = 3;

    assert_int_equal(local_take_handed(front[0], &heard, sizeof heard, got, &count), CODE_BUSY);
    assert_int_equal(count, 0);
    assert_int_equal(local_hand(front[1], span_of((const char *)&said, sizeof said), back, 2), CODE_OK);
    count = 3;
    assert_int_equal(local_take_handed(front[0], &heard, sizeof heard, got, &count), CODE_OK);
    assert_int_equal(heard, 7);
    assert_int_equal(count, 2);
    assert_true(fcntl(got[0], F_GETFD) & FD_CLOEXEC);
    sock_close(&got[0]);
    sock_close(&got[1]);
    assert_int_equal(local_hand(front[1], span_of((const char *)&said, sizeof said), back, 2), CODE_OK);
    count = 1; /* there is no room for all: none is kept */
    assert_int_equal(local_take_handed(front[0], &heard, sizeof heard, got, &count), CODE_INVALID);
    assert_int_equal(count, 0);
    assert_int_equal(got[0], -1);
    assert_int_equal(local_hand(front[1], SPAN_LIT("short"), back, 1), CODE_OK);
    count = 1;
    assert_int_equal(local_take_handed(front[0], &heard, sizeof heard, got, &count), CODE_INVALID);
    assert_int_equal(count, 0);
    assert_int_equal(write(front[1], &said, sizeof said), sizeof said); /* without any */
    count = 1;
    assert_int_equal(local_take_handed(front[0], &heard, sizeof heard, got, &count), CODE_INVALID);
    assert_int_equal(count, 0);
    stream_close(&stream);
    assert_ok(local_pair(front));
    assert_int_equal(local_stream_new(front[1], false, &stream), CODE_OK);
    while (local_hand(front[1], span_of((const char *)&said, sizeof said), back, 1) == CODE_OK)
        count++;
    assert_int_equal(errno, EAGAIN); /* and whoever hands over does not wait */
    sock_close(&front[0]);
    assert_int_equal(local_hand(front[1], SPAN_LIT("x"), back, 1), CODE_IO);
}

/* Datagrams: who sends keeps no place, and waits for room for as long as he wants. */
TEST_CASE_WITH(what_is_posted_comes_whole_or_not_at_all, setup, teardown)
{
    char folder[] = "/tmp/callgate-local-XXXXXX", path[64], heard[5] = "";
    const int64_t began_us = clock_monotonic_us();
    struct why why = {""};
    int place, got[2] = {-1, -1};
    size_t count = 2;

    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/s", folder);
    assert_int_equal(local_post(path, SPAN_LIT("word"), back, 2, 1000), CODE_NOT_FOUND);
    assert_int_equal(local_receive(path, "audit", 0600, &place, &why), CODE_OK);
    assert_int_equal(local_receive(path, "audit", 0600, &got[0], &why), CODE_BUSY);
    assert_int_equal(local_post(path, SPAN_LIT("word\0"), back, 2, 1000), CODE_OK);
    assert_int_equal(local_take_handed(place, heard, 5, got, &count), CODE_OK);
    assert_string_equal(heard, "word");
    assert_int_equal(count, 2);
    sock_close(&got[0]);
    sock_close(&got[1]);
    assert_int_equal(local_post(path, SPAN_LIT("word\0and more"), back, 2, 1000), CODE_OK);
    assert_int_equal(local_take_handed(place, heard, 5, got, &count), CODE_INVALID);
    assert_int_equal(count, 0);
    while (local_post(path, SPAN_LIT("x"), back, 1, 0) == CODE_OK)
        continue;
    assert_int_equal(local_post(path, SPAN_LIT("x"), back, 1, 50), CODE_BUSY);
    assert_true(clock_monotonic_us() - began_us >= 50000);
    sock_close(&place);
    assert_int_equal(local_post(path, SPAN_LIT("x"), back, 1, 1000), CODE_NOT_FOUND); /* left behind */
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
}

/* A connection that waits at its close until the other side has taken everything, and that one takes nothing. */
static void lingering(int *fd, int *other)
{
    struct sock_address address;
    const struct linger linger = {.l_onoff = 1, .l_linger = 60};
    static const char full[65536];
    struct why why;
    int listener;

    assert_int_equal(sock_parse_ip(SPAN_LIT("127.0.0.1"), 0, &address), CODE_OK);
    assert_int_equal(sock_listen(&address, &listener, &why), CODE_OK);
    assert_int_equal(sock_local(listener, &address), CODE_OK);
    *fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(*fd, &address.any, address.len), 0);
    *other = accept(listener, NULL, NULL);
    while (send(*fd, full, sizeof full, MSG_DONTWAIT) > 0)
        continue;
    assert_int_equal(setsockopt(*fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger), 0);
    sock_close(&listener);
}

TEST_CASE_WITH(a_strangers_connection_holds_nobody_up, setup, teardown)
{
    int64_t began_us = clock_monotonic_us();
    int fd, other, got = -1;
    size_t count = 0;

    lingering(&fd, &other);
    assert_int_equal(local_hand(front[1], SPAN_LIT("x"), &fd, 1), CODE_OK);
    (void)close(fd); /* waits for nothing yet, since the message has it, too */
    assert_int_equal(local_take_handed(front[0], (char[1]){0}, 1, &got, &count), CODE_INVALID); /* no room: it is closed */
    assert_true(clock_monotonic_us() - began_us < 30000000);
    sock_close(&other);
}

TEST_MAIN(NULL, NULL)
