/* SPDX-License-Identifier: Apache-2.0 */
/* What nodes tell each other of held calls: that one is held, what a person answered, that an approval was taken. At the centre
 * each word lies sealed and signed, at its number in its node's own order; so nobody there can read one, make one, show one for
 * another or leave one out of the middle.
 *
 * Threads: the courier's one.
 * Owns: nothing.
 * Lifetime: none.
 * Errors: CODE_DENIED: not this node's word, or not at its place; the rest as the store's. */
#ifndef COURIER_WORDS_H
#define COURIER_WORDS_H

#include "crypto/sign.h"
#include "db/db.h"
#include "fleet/member.h"

#define WORD_BYTES ((size_t)2 << 20) /* of a sealed word; arguments are kept up to 64 KiB */

enum word_kind { WORD_ASK = 0, WORD_ANSWER, WORD_USE, WORD_KINDS };
extern const char *const word_kinds[WORD_KINDS];

/* Appends this node's word of an ask, an answer or a use, as the store has it now, sealed, with its signature. */
struct word_place {
    struct span node;
    int64_t number; /* from 1 on */
};
enum code word_write(struct db *store, const struct member *self, enum word_kind kind, int64_t of,
                     const struct word_place *place, struct buf *sealed, unsigned char signature[SIGN_BYTES],
                     struct why *why) MUST_USE;

/* Opens a word, verifies it, and puts what it says into the store, within the caller's transaction. CODE_NOT_FOUND: it is of a
 * call that this node has not heard of yet. Takes: key: of the node that says it. */
struct word_heard {
    struct word_place place;
    struct span sealed, signature;
    const unsigned char *key;
    int64_t now_us;
};
/* Whether the node itself has said it. CODE_DENIED: somebody else has. Takes: as word_take. */
enum code word_check(const struct member *self, const struct word_heard *heard, struct why *why) MUST_USE;
enum code word_take(struct db *store, const struct member *self, const struct word_heard *heard, struct why *why) MUST_USE;

#endif
