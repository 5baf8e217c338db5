/* SPDX-License-Identifier: Apache-2.0 */
#include "os/person.h"

#include "base/mem.h"

#include <errno.h>
#include <poll.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

static uid_t read_login(const char *path)
{
    unsigned long uid = PERSON_UNKNOWN;
    FILE *file = fopen(path, "re");

    if (file != NULL && fscanf(file, "%lu", &uid) != 1)
        uid = PERSON_UNKNOWN;
    if (file != NULL)
        (void)fclose(file);
    return (uid_t)uid;
}

uid_t person_login(void)
{
    return read_login("/proc/self/loginuid");
}

/* Reads a process's parent, and whether it has given up for good what programs may gain by exec, as a program in a cage has. */
static bool read_status(pid_t pid, int *parent, int *is_bound)
{
    char path[64], line[128];
    FILE *file;
    int found = 0;

    (void)snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    file = fopen(path, "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        found += (sscanf(line, "PPid: %d", parent) == 1) + (sscanf(line, "NoNewPrivs: %d", is_bound) == 1);
    if (file != NULL)
        (void)fclose(file);
    return found == 2;
}

/* Whether the process is a program in a cage. Landlock keeps no program from a socket with a name, and a caged program runs
 * as the user who may do everything, so that it has to be recognised here: it is bound, and stands below the process that
 * started this one, which also adopts what a program leaves behind. A process that cannot be looked at counts as caged where
 * it has the gate's user. */
static bool is_kept(pid_t pid, uid_t uid)
{
    int at = pid, is_bound = 0, ignored;

    if (pid == 0) /* it is in a namespace that is not below this one */
        return false;
    if (!read_status(pid, &at, &is_bound))
        return uid == geteuid();
    while (is_bound && at > 1 && at != getppid())
        if (!read_status(at, &at, &ignored))
            return true;
    return is_bound && at == getppid();
}

/* Reads who logged in. The number of a process that has ended may be another's by now, so that the process must still live:
 * one that connected, ended and left its end to others would hide who logged in. Kernels before 6.5 cannot tell, and then the
 * login stays unknown. */
static enum code look_at_peer(int fd, pid_t pid, struct person *person)
{
    char path[64];
    struct pollfd process = {.fd = -1, .events = POLLIN};
    socklen_t len = sizeof process.fd;
    bool lives;

    person->is_kept = is_kept(pid, person->uid);
    if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &process.fd, &len) != 0)
        return errno == ENOPROTOOPT ? CODE_OK : CODE_IO;
    (void)snprintf(path, sizeof path, "/proc/%d/loginuid", (int)pid);
    person->login = read_login(path);
    lives = poll(&process, 1, 0) == 0;
    (void)close(process.fd);
    return lives ? CODE_OK : CODE_NOT_FOUND;
}

static enum code read_groups(int fd, gid_t own, struct person *person)
{
    socklen_t len = 0;

    if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, NULL, &len) != 0 && errno != ERANGE)
        return CODE_IO;
    person->groups = mem_array(len / sizeof(gid_t) + 1, sizeof(gid_t));
    if (person->groups == NULL)
        return CODE_NOMEM;
    if (len > 0 && getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, person->groups + 1, &len) != 0)
        return CODE_IO;
    person->groups[0] = own;
    person->group_count = len / sizeof(gid_t) + 1;
    return CODE_OK;
}

enum code person_of_peer(int fd, struct person *person)
{
    struct ucred peer;
    socklen_t len = sizeof peer;
    enum code code;

    *person = (struct person){.uid = PERSON_UNKNOWN, .login = PERSON_UNKNOWN};
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) != 0)
        return CODE_IO;
    person->uid = peer.uid;
    code = look_at_peer(fd, peer.pid, person);
    if (code == CODE_OK)
        code = read_groups(fd, peer.gid, person);
    if (code != CODE_OK)
        person_fini(person);
    return code;
}

void person_fini(struct person *person)
{
    mem_free(person->groups);
    person->groups = NULL;
    person->group_count = 0;
}

bool person_is_in(const struct person *person, gid_t group)
{
    for (size_t i = 0; i < person->group_count; i++)
        if (person->groups[i] == group)
            return true;
    return false;
}

void person_account(uid_t uid, char out[PERSON_BYTES])
{
    const struct passwd *user = uid != PERSON_NOBODY ? getpwuid(uid) : NULL;

    if (user != NULL)
        (void)snprintf(out, PERSON_BYTES, "%s", user->pw_name);
    else
        (void)snprintf(out, PERSON_BYTES, "uid:%lu", (unsigned long)uid);
}

void person_name(uid_t uid, uid_t login, char out[PERSON_BYTES])
{
    char account[PERSON_BYTES], person[PERSON_BYTES];

    person_account(uid, account);
    person_account(login != PERSON_UNKNOWN ? login : uid, person);
    if (login == PERSON_UNKNOWN || login == uid)
        (void)snprintf(out, PERSON_BYTES, "%s", account);
    else
        (void)snprintf(out, PERSON_BYTES, "%.40s (as %.16s)", person, account);
}
