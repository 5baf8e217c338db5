/* SPDX-License-Identifier: Apache-2.0 */
/* Which commands people may give, and how their words travel: for both sides of the socket, and not for the gate. */
#include "people/control.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#define APPROVERS PEOPLE_BIT(PEOPLE_APPROVERS)
#define AUTHORS PEOPLE_BIT(PEOPLE_AUTHORS)
#define AUDITORS PEOPLE_BIT(PEOPLE_AUDITORS)
#define ADMINS PEOPLE_BIT(PEOPLE_ADMINS)
#define VIEWERS PEOPLE_BIT(PEOPLE_VIEWERS)
#define ANYBODY (APPROVERS | AUTHORS | AUDITORS | ADMINS | VIEWERS)
#define WHOSE PEOPLE_AUDITS_TENANTS /* of those tenants alone */

/* A key is a right to call and no text that others can read first: making one is no author's. */
static const struct control_command commands[] = {
    {.name = "approvals", .sub = "list", .roles = APPROVERS | ADMINS},
    {.name = "approvals", .sub = "show", .roles = APPROVERS | ADMINS, .operands_max = 1},
    {.name = "approvals", .sub = "watch", .roles = APPROVERS | ADMINS, .lasts = true},
    {.name = "approvals", .sub = "approve", .roles = APPROVERS | ADMINS, .operands_max = -1, .writes = true},
    {.name = "approvals", .sub = "refuse", .roles = APPROVERS | ADMINS, .operands_max = -1, .writes = true},
    {.name = "policy", .sub = "load", .roles = AUTHORS | ADMINS, .operands_max = -1, .writes = true},
    {.name = "policy", .sub = "remove", .roles = AUTHORS | ADMINS, .operands_max = 1, .writes = true},
    {.name = "policy", .sub = "activate", .roles = AUTHORS | ADMINS, .operands_max = 1, .writes = true},
    {.name = "policy", .sub = "diff", .roles = AUTHORS | ADMINS, .operands_max = -1},
    {.name = "policy", .sub = "list", .roles = ANYBODY},
    {.name = "policy", .sub = "show", .roles = ANYBODY, .operands_max = 1},
    {.name = "tools", .sub = "list", .roles = ANYBODY},
    {.name = "tools", .sub = "show", .roles = ANYBODY, .operands_max = -1},
    {.name = "tools", .sub = "diff", .roles = ANYBODY, .operands_max = -1},
    {.name = "tools", .sub = "accept", .roles = AUTHORS | ADMINS, .operands_max = -1, .writes = true},
    {.name = "tools", .sub = "withdraw", .roles = AUTHORS | ADMINS, .operands_max = -1, .writes = true},
    {.name = "key", .sub = "create", .roles = ADMINS, .writes = true},
    {.name = "key", .sub = "revoke", .roles = ADMINS, .operands_max = -1, .writes = true},
    {.name = "key", .sub = "list", .roles = AUDITORS | ADMINS},
    {.name = "audit", .sub = "query", .roles = AUDITORS | ADMINS | WHOSE, .is_of_audit = true, .lasts = true},
    {.name = "audit", .sub = "show", .roles = AUDITORS | ADMINS | WHOSE, .operands_max = 1, .is_of_audit = true},
    {.name = "audit", .sub = "stats", .roles = AUDITORS | ADMINS | WHOSE | VIEWERS, .is_of_audit = true, .lasts = true},
    {.name = "audit", .sub = "tail", .roles = AUDITORS | ADMINS | WHOSE, .is_of_audit = true, .lasts = true},
    {.name = "audit", .sub = "export", .roles = AUDITORS | ADMINS | WHOSE, .is_of_audit = true, .lasts = true},
};

const struct control_command *control_find(int argc, char *const *argv)
{
    for (size_t i = 0; argc >= 2 && i < sizeof commands / sizeof commands[0]; i++)
        if (strcmp(argv[0], commands[i].name) == 0 && strcmp(argv[1], commands[i].sub) == 0)
            return &commands[i];
    return NULL;
}

/* ---- frames ---- */

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
