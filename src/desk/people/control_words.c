/* SPDX-License-Identifier: Apache-2.0 */
/* How a command's words travel: for both sides of the socket, and not for the gate. */
#include "people/control.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

struct frame {
    uint32_t kind, bytes;
};

bool control_write(int fd, struct span bytes)
{
    while (bytes.len > 0) {
        ssize_t sent = send(fd, bytes.at, bytes.len, MSG_NOSIGNAL);

        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return false;
        bytes = span_part(bytes, (size_t)sent, SIZE_MAX);
    }
    return true;
}

bool control_read(int fd, void *to, size_t len)
{
    for (char *at = to; len > 0;) {
        ssize_t got = recv(fd, at, len, 0);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        at += got;
        len -= (size_t)got;
    }
    return true;
}

enum code control_send(int fd, enum control_kind kind, struct span bytes)
{
    struct frame frame = {(uint32_t)kind, (uint32_t)bytes.len};

    return control_write(fd, span_of(&frame, sizeof frame)) && control_write(fd, bytes) ? CODE_OK : CODE_IO;
}

enum code control_receive(int fd, enum control_kind *kind, struct buf *out)
{
    struct frame frame;
    enum code code;
    char *at;

    buf_clear(out);
    if (!control_read(fd, &frame, sizeof frame))
        return CODE_IO;
    *kind = (enum control_kind)frame.kind;
    code = buf_reserve(out, frame.bytes, &at);
    if (code != CODE_OK)
        return code;
    if (!control_read(fd, at, frame.bytes))
        return CODE_IO;
    buf_commit(out, frame.bytes);
    return CODE_OK;
}

bool control_words(struct span bytes, size_t count, char **argv)
{
    char *at = (char *)(uintptr_t)bytes.at, *end = at + bytes.len;

    for (size_t i = 0; i < count; i++) {
        char *nul = at < end ? memchr(at, '\0', (size_t)(end - at)) : NULL;

        if (nul == NULL)
            return false;
        argv[i] = at;
        at = nul + 1;
    }
    argv[count] = NULL;
    return at == end;
}
