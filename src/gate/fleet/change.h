/* SPDX-License-Identifier: Apache-2.0 */
/* Changes of a fleet: what somebody decided at one node, numbered for all, signed by that node. This file writes, reads, signs
 * and verifies them; what their rows mean is the store's (store/store_fleet.h).
 *
 * A change is one JSON text in its canonical form (RFC 8785), with exactly these members: `by` who decided, `fleet`, `kind`
 * what it is about, `node` whose command it was, `number` (from 1, without a gap), `outbox` which command of that node's,
 * `previous` the SHA-256 of the text before (of the first: zeros), `rows` of the store's tables, `time_us`. Since no text but
 * the canonical one is taken, a database cannot give two nodes two readings of one change.
 *
 * Threads: any; a struct change belongs to one thread.
 * Owns: nothing; a change that was read lives in the arena and the buffer that were handed in.
 * Lifetime: theirs.
 * Errors: enum code with a sentence. */
#ifndef FLEET_CHANGE_H
#define FLEET_CHANGE_H

#include "base/why.h"
#include "crypto/digest.h"
#include "crypto/sign.h"
#include "json/json.h"

#define CHANGE_TEXT_BYTES ((size_t)16 << 20)
#define CHANGE_FLEET_DIGITS 32
#define CHANGE_NODE_BYTES 63 /* of a node's name */
#define CHANGE_NUMBER_MAX ((int64_t)1 << 53)
#define CHANGE_ADOPTION "adoption" /* the kind of what a first node's store had before there was a fleet */

struct change {
    struct span fleet;  /* its id, hexadecimal */
    struct span node, by, kind;
    int64_t number;     /* 1 to CHANGE_NUMBER_MAX */
    int64_t outbox;     /* 0: no command gave it */
    int64_t time_us;    /* when it was given, by the node's clock */
    unsigned char previous[DIGEST_BYTES];
    unsigned char hash[DIGEST_BYTES]; /* of `text` */
    struct span text;                 /* read: the canonical text */
    const struct json_node *rows;     /* read: an object of lists of objects */
};

/* Appends the canonical text. Takes: all of it but `hash`, `text` and `rows`; rows: JSON of the rows, as store_fleet_rows
 * writes them. CODE_INVALID: a number that no double holds, or a name that is none; CODE_LIMIT: over CHANGE_TEXT_BYTES. */
enum code change_write(const struct change *change, struct span rows, struct buf *out, struct why *why) MUST_USE;

/* Takes: text: what the centre gave, whose bytes stay; arena, bytes: what the change lives in, empty; room for
 * CHANGE_TEXT_BYTES. CODE_INVALID: it is no change, or not in its canonical form. */
enum code change_read(struct span text, struct arena *arena, struct buf *bytes, struct change *change,
                      struct why *why) MUST_USE;

enum code change_sign(struct span text, const struct sign_key *key, unsigned char signature[SIGN_BYTES]) MUST_USE;
/* Asked of a text before it is read. */
bool change_is_signed(struct span text, struct span signature, const unsigned char key[SIGN_PUBLIC_BYTES]);

/* Whether it goes on from a chain whose last change has this number and hash (0 and zeros: there is none).
 * CODE_INVALID, with a sentence: another number, another text before it, or another fleet's. */
enum code change_goes_on(const struct change *change, struct span fleet, int64_t number, const unsigned char hash[DIGEST_BYTES],
                         struct why *why) MUST_USE;

#endif
