/* SPDX-License-Identifier: Apache-2.0 */
/* The membership file of a node, as `callgate fleet join` makes it: who the node is, how it signs, by which role it gets at the
 * centre, and the secrets that the nodes of a fleet share. They travel in this file alone, never through the centre.
 *
 * A reader's (`fleet join --reader`) has a role and its password, and the root's public key, so that he can verify what nodes
 * signed; neither keys nor secrets.
 *
 * Threads: one at a time; a finished one may be read by several.
 * Owns: all that it points to; secrets stand apart (crypto/secret.h).
 * Lifetime: member_read to member_free.
 * Errors: CODE_NOT_FOUND, CODE_DENIED: others may read it, or its roster is not signed; CODE_INVALID, with a sentence. */
#ifndef FLEET_MEMBER_H
#define FLEET_MEMBER_H

#include "fleet/roster.h"

#define FLEET_SCHEMA 200 /* of schema/fleet.sql: this version needs it at the centre, or a later one of the same hundred */
#define FLEET_SECRET_BYTES 32
#define MEMBER_FILE_BYTES ((size_t)3 << 20)

/* What all nodes of a fleet know, and nobody else: for the keys of sessions, of approvals, of redacted values, and to seal
 * what lies at the centre. Each is for one use. */
struct fleet_secrets {
    unsigned char session[FLEET_SECRET_BYTES], approval[FLEET_SECRET_BYTES];
    unsigned char redact[FLEET_SECRET_BYTES], seal[FLEET_SECRET_BYTES];
};

struct member {
    char fleet[FLEET_ID_BYTES + 1];
    char name[FLEET_NAME_BYTES];
    char *folder;                 /* of the file, in which a relative sslrootcert is */
    char *database;               /* the URL */
    char *role;                   /* at the centre */
    char *password;               /* wiped */
    unsigned char root[SIGN_PUBLIC_BYTES];
    bool is_reader;               /* then nothing of what follows is there */
    struct sign_key *key;         /* the node's */
    unsigned char seed[SIGN_SEED_BYTES]; /* of that; wiped */
    struct roster *roster;        /* as it was when the node joined: the centre may show a later one, and none before */
    struct buf roster_text;       /* as it is signed */
    unsigned char roster_signature[SIGN_BYTES];
    struct fleet_secrets *secrets;
};

enum code member_read(const char *path, struct member **out, struct why *why) MUST_USE;
void member_free(struct member **member); /* NULL is fine */

/* Reads its text. For member_read, and for tests. */
enum code member_read_text(struct span text, struct member *member, struct why *why) MUST_USE;
/* Appends the text of a membership file; the buffer should wipe. */
enum code member_write(const struct member *member, struct buf *text) MUST_USE;

/* Whether a node of this version goes on with the centre's schema of that number: its own, or a later one of the same hundred.
 * CODE_INVALID, with a sentence that says what to upgrade. */
enum code fleet_schema_fits(int64_t number, struct why *why) MUST_USE;

/* The key file that `fleet init` makes, and `join`, `leave` need: kept elsewhere than at a node. */
struct fleet_key {
    char fleet[FLEET_ID_BYTES + 1];
    char *database;
    struct sign_key *root;
    unsigned char seed[SIGN_SEED_BYTES];
    unsigned char root_public[SIGN_PUBLIC_BYTES];
    struct fleet_secrets *secrets;
    int64_t roster; /* number of the last roster that it has signed: whoever shows an older one as the newest keeps one back */
};

enum code fleet_key_read(const char *path, struct fleet_key **out, struct why *why) MUST_USE;
enum code fleet_key_read_text(struct span text, struct fleet_key *key, struct why *why) MUST_USE;
enum code fleet_key_write(const struct fleet_key *key, struct buf *text) MUST_USE;
void fleet_key_free(struct fleet_key **key); /* NULL is fine */

#endif
