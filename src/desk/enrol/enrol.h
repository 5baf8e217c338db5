/* SPDX-License-Identifier: Apache-2.0 */
/* What the commands of a fleet share: whoever owns the centre connects to it, with its schema, its roster and the fleet's key.
 *
 * Threads: main.
 * Owns: what it opens is the caller's.
 * Lifetime: enrol_open to enrol_close.
 * Errors: enum code with a sentence. */
#ifndef ENROL_ENROL_H
#define ENROL_ENROL_H

#include "cli/asked.h"
#include "fleet/member.h"
#include "pg/pg.h"

extern const char enrol_schema[]; /* its text */

struct enrol {
    struct pg *pg;
    struct fleet_key *key;  /* NULL: not read */
    struct roster *roster;  /* as the centre has it, verified by the key; NULL: not read */
    int64_t schema;         /* 0: there is none */
    bool is_synchronous;    /* a standby has each commit before it is answered */
    char name[FLEET_NAME_BYTES];
};

/* Connects by --admin, with the password of --password-file where the URL is no folder's. Reads the schema's number.
 * CODE_LIMIT: the server is older than PostgreSQL 15. */
enum code enrol_open(const struct asked *asked, struct enrol *enrol, struct why *why) MUST_USE;
void enrol_close(struct enrol *enrol);
/* The schema must be one that this version goes on with. */
enum code enrol_must_be_ready(const struct enrol *enrol, struct why *why) MUST_USE;

/* Reads --key-file, and the newest roster of the centre, which must be of that fleet, signed by it, and none that the key has
 * seen a later one than (unless --despite-lost-roster). CODE_IO: the key's file cannot be written. */
enum code enrol_read_key(const struct asked *asked, struct enrol *enrol, struct why *why) MUST_USE;
/* Has the roster say which change is the fleet's last. CODE_DENIED: what the centre shows is not what nodes signed. */
enum code enrol_see_chain(struct enrol *enrol, struct why *why) MUST_USE;
/* Signs the roster as one more, with that change, and puts it into the centre, in the caller's transaction. Takes: reason:
 * NULL: nobody said one. Appends what was signed. */
enum code enrol_put_roster(struct enrol *enrol, const char *reason, struct buf *text, unsigned char signature[SIGN_BYTES],
                           struct why *why) MUST_USE;

/* That is committed: notes its number in the key's file. */
void enrol_note_roster(const struct asked *asked, struct enrol *enrol);

/* Sets the fleet's URL as nodes have it: --database, or that of --admin without its user. *url is the caller's (mem_free). */
enum code enrol_database(const struct asked *asked, char **url, struct why *why) MUST_USE;
/* Writes a file that holds secrets, which must not be there yet, and commits the caller's transaction: the file before, since
 * it would be of no use without what is at the centre, and that of none without it. Takes: text: which wipes, and is ended
 * here; code: of the text's writer. */
enum code enrol_commit(struct enrol *enrol, const char *path, struct buf *text, enum code code, struct why *why) MUST_USE;

#endif
