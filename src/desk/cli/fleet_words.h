/* SPDX-License-Identifier: Apache-2.0 */
/* What people say for a whole fleet: a command that makes policy, keys, words on definitions or holds writes its rows into the
 * store as ever, but does not keep them. They are read off and wait in the store's outbox for the courier, which makes a
 * signed change of them; they count here when that comes back from the centre, as on every node. Of a store that is of no
 * fleet this does nothing.
 *
 * Threads: main.
 * Owns: the connection.
 * Lifetime: fleet_words_open to fleet_words_close.
 * Errors: enum code with a sentence. */
#ifndef CLI_FLEET_WORDS_H
#define CLI_FLEET_WORDS_H

#include "cli/asked.h"

struct fleet_words {
    const struct asked *asked;
    struct db *db;
    bool is_fleets;    /* what is written goes to the fleet */
    bool only_closes;  /* it takes away, and gives nothing: it counts here at once, and needs no --fleet */
    int64_t onto;      /* the version that was active */
    bool some_lack;    /* behind fleet_words_end: it counts here, and not at all nodes yet; stderr names them */
};

/* FREE: until it writes, it locks nothing. */
enum fleet_words_kind { FLEET_WORDS_LOCKED = 0, FLEET_WORDS_FREE, FLEET_WORDS_CLOSING };

/* Opens the store that is meant. CODE_DENIED: it is a fleet's, and --fleet was not said; or it is none's, and it was. */
enum code fleet_words_open(struct fleet_words *words, const struct asked *asked, enum db_mode mode, enum fleet_words_kind kind,
                           struct why *why) MUST_USE;

/* Takes: code: of what was done meanwhile; kind: what it is about, a word; id: the number of the first thing that was made,
 * which becomes the fleet's, or NULL. With --fleet it waits until all of it counts here or was refused, and says on stderr
 * which nodes have it. Afterwards the store is as others see it. Returns: code; CODE_DENIED: refused, CODE_BUSY: not taken in
 * time. */
enum code fleet_words_end(struct fleet_words *words, enum code code, const char *kind, int64_t *id, struct why *why) MUST_USE;
void fleet_words_close(struct fleet_words *words);

#endif
