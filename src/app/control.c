/* SPDX-License-Identifier: Apache-2.0 */
#include "app/control.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

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

/* Takes: name: the reader's copy, which ends with a NUL. */
static enum code add_account(struct control_people *people, const char *name, size_t member, struct why *why)
{
    const struct passwd *user = getpwnam(name);

    if (user == NULL || user->pw_uid == PERSON_NOBODY)
        return why_set(why, CODE_INVALID, "`people: {members: [{accounts: [%s]}]}`: there is no such account of a person "
                       "on this machine; leave it out, or make it", name);
    for (size_t i = 0; i < people->account_count; i++)
        if (people->accounts[i].account == user->pw_uid)
            return why_set(why, CODE_INVALID, "`people: {members: [{accounts: [%s]}]}`: this account is another member's "
                           "already; an account is one person's", name);
    if (people->account_count == sizeof people->accounts / sizeof people->accounts[0])
        return why_set(why, CODE_LIMIT, "`people: {members}` name more accounts than are taken (%zu)", people->account_count);
    people->accounts[people->account_count].account = user->pw_uid;
    people->accounts[people->account_count++].member = member;
    return CODE_OK;
}

enum code control_people_find(const struct conf_people *conf, struct control_people *people, struct why *why)
{
    static const char *const keys[PEOPLE_ROLES] = {"approvers", "authors", "auditors", "admins", "viewers"};

    people->count = people->account_count = 0;
    for (unsigned role = 0; role < PEOPLE_ROLES; role++)
        for (size_t i = 0; i < conf->groups[role].count; i++) {
            const char *name = conf->groups[role].names[i].at; /* the reader's copy ends with a NUL */
            const struct group *group = getgrnam(name);

            if (group == NULL)
                return why_set(why, CODE_INVALID, "`people: {%s: [%s]}`: there is no such group; `groupadd --system %s` makes "
                               "it", keys[role], name, name);
            if (group->gr_gid == PERSON_NOBODY)
                return why_set(why, CODE_INVALID, "`people: {%s: [%s]}`: this group stands for all that have no number here; "
                               "name another one", keys[role], name);
            people->all[people->count].group = group->gr_gid;
            people->all[people->count++].roles = PEOPLE_BIT(role);
        }
    for (size_t i = 0; i < conf->member_count; i++)
        for (size_t j = 0; j < conf->members[i].account_count; j++) {
            enum code code = add_account(people, conf->members[i].accounts[j].at, i, why);

            if (code != CODE_OK)
                return code;
        }
    return CODE_OK;
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
