/* SPDX-License-Identifier: Apache-2.0 */
/* Which person gives a command: the account, and the login behind it where the kernel remembers one.
 *
 * Threads: main; names are asked of the system's name service, so before a process is confined.
 * Owns: the groups of a struct person.
 * Lifetime: person_fini.
 * Errors: CODE_IO, CODE_NOMEM; CODE_NOT_FOUND: the process that connected has ended; what is not known stands as
 * PERSON_UNKNOWN. */
#ifndef OS_PERSON_H
#define OS_PERSON_H

#include "base/code.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define PERSON_UNKNOWN ((uid_t)-1)
#define PERSON_NOBODY 65534 /* of users and groups: the number of whoever has none here, so that it is nobody's own */
#define PERSON_BYTES 64

struct person {
    uid_t uid;
    uid_t login;         /* who logged in, whichever account he has taken since (the kernel's loginuid) */
    gid_t *groups;       /* the process's groups, its primary one among them */
    size_t group_count;
    bool is_kept;        /* it is no person, but a program in a cage (os/cage.h) below the process that started this one */
};

/* Says who is at the other end of a connected Unix socket, as the kernel has it from when the socket was connected. */
enum code person_of_peer(int fd, struct person *person) MUST_USE;
void person_fini(struct person *person);

bool person_is_in(const struct person *person, gid_t group);

/* The login behind this process. */
uid_t person_login(void);

/* The account's name, or "uid:1234". */
void person_account(uid_t uid, char out[PERSON_BYTES]);

/* "alice", or "alice (as root)" where the login is another account's; "uid:1234" without a name. PERSON_NOBODY is told by
 * its number, too, since its account is no person's. */
void person_name(uid_t uid, uid_t login, char out[PERSON_BYTES]);

#endif
