/* SPDX-License-Identifier: Apache-2.0 */
/* The roster of a fleet: which nodes it has, and by which keys they sign, as the key that `fleet init` made has signed it.
 *
 * The centre keeps it and shows it, and is not believed: who can write there can neither put a node in nor take one out. An
 * old roster is a true one that was; so whoever has seen number n takes none below n. It says, too, which change was the
 * fleet's last when it was signed: a chain that does not come by that one is none of this fleet's (fleet/chain.h).
 *
 * Threads: one at a time; a finished one may be read by several.
 * Owns: itself.
 * Lifetime: roster_read or roster_new to roster_free.
 * Errors: CODE_DENIED: nobody signed it, or somebody else; CODE_INVALID: it is none, or another fleet's; CODE_LIMIT: too
 *   many nodes; CODE_NOMEM. */
#ifndef FLEET_ROSTER_H
#define FLEET_ROSTER_H

#include "base/buf.h"
#include "base/why.h"
#include "crypto/sign.h"
#include "store/store_fleet.h"

#define FLEET_ID_BYTES 32        /* of a fleet's id, in hexadecimal digits */
#define FLEET_NAME_BYTES 64      /* of a node's name, with its NUL */
#define ROSTER_NODES_MAX 4096
#define ROSTER_TEXT_BYTES ((size_t)2 << 20)

/* A node's name, which is a role of the centre, too: [a-z0-9][a-z0-9-]{0,62}. */
bool fleet_name_is_good(struct span name);

/* until: 0 of a node of the fleet; of one that has left the number of the last change that counts by its key, or
 * ROSTER_NONE. rows: of one that has left, up to which row its trail was at the centre then; 0: it had none there, or nobody
 * said. */
#define ROSTER_NONE (-1)
struct roster_node {
    char name[FLEET_NAME_BYTES];
    unsigned char key[SIGN_PUBLIC_BYTES];
    int64_t until, rows;
};

struct roster {
    char fleet[FLEET_ID_BYTES + 1];
    int64_t number; /* from 1 on, one more with each */
    struct store_fleet_end end; /* the fleet's last change when it was signed */
    size_t count, room;
    struct roster_node *nodes; /* by name, those with one name in the order in which they were members */
};

/* An empty one, of number 0. */
enum code roster_new(const char fleet[FLEET_ID_BYTES], struct roster **out) MUST_USE;
void roster_free(struct roster **roster); /* NULL is fine */

/* Reads a roster that this root has signed. Nothing of it is read before its signature. */
enum code roster_read(struct span text, struct span signature, const unsigned char root[SIGN_PUBLIC_BYTES],
                      const char *fleet, struct roster **out, struct why *why) MUST_USE;
/* Appends its text, which is signed as it is. */
enum code roster_write(const struct roster *roster, struct buf *text) MUST_USE;
enum code roster_sign(struct span text, const struct sign_key *root, unsigned char signature[SIGN_BYTES]) MUST_USE;

/* Puts a node in. CODE_EXISTS: there is one of that name. */
enum code roster_add(struct roster *roster, struct span name, const unsigned char key[SIGN_PUBLIC_BYTES]) MUST_USE;
/* It leaves; until, rows: as in struct roster_node, until not 0. CODE_NOT_FOUND: it is no node. */
enum code roster_leave(struct roster *roster, struct span name, int64_t until, int64_t rows) MUST_USE;

/* The node of that name that is one now, or NULL. */
const struct roster_node *roster_find(const struct roster *roster, struct span name);
/* Appends the names of all that are nodes now, but one, a line each. */
enum code roster_names(const struct roster *roster, struct span but, struct buf *names) MUST_USE;
/* The key by which that node signed the change of that number; false: it was none then. */
bool roster_key_of(const struct roster *roster, struct span name, int64_t number, unsigned char key[SIGN_PUBLIC_BYTES]);

#endif
