/* SPDX-License-Identifier: Apache-2.0 */
/* Definitions of tools in the store: what upstreams said that their tools are, and which of it people accepted.
 *
 * What was told is written once and never changed; what people say of it is append-only, and the newest word counts. Of what
 * nobody accepted the oldest gives way: a route has room for 8,192 and 32 MiB, and a day brings it 4,096 and 16 MiB at most.
 *
 * Threads: a connection belongs to one thread at a time.
 * Owns: nothing.
 * Lifetime: spans of a row are valid during the call.
 * Errors: enum code with a sentence. */
#ifndef STORE_STORE_DEFINITIONS_H
#define STORE_STORE_DEFINITIONS_H

#include "db/db.h"
#include "state/definitions.h"

/* ---- of the running gate, and of `tools fetch` ---- */

struct store_definitions_put {
    uint32_t notes;              /* that were taken from the front of what was given */
    uint32_t fresh, changed;     /* of these the ones that the store did not have, and where the tool had been another before */
    uint32_t dropped;            /* there was no room for them today */
    bool is_other;               /* something was told last that was not before, of a tool that people spoke of */
};

/* As many as do not take long, in one transaction. Takes: notes: as definitions_take has them; moved on. */
enum code store_definitions_put(struct db *db, struct span *notes, int64_t now_us, struct store_definitions_put *put,
                                struct why *why) MUST_USE;

/* What is accepted, for workers. *set NULL: nothing is.
 * Takes: before: an earlier one of this store, whose schemas are taken over where the definition is the same; or NULL. */
enum code store_definitions_load(struct db *db, const struct definition_set *before, struct definition_set **set,
                                 struct why *why) MUST_USE;

/* Changes with every word and every definition that another gate or command has written. */
enum code store_definitions_mark(struct db *db, int64_t *mark, struct why *why) MUST_USE;

/* ---- of people ---- */

struct store_definition {
    int64_t id;
    struct span upstream, tool, digest, text; /* digest: hexadecimal */
    struct span before;      /* the digest of what was told before it; at == NULL: the tool was new */
    int64_t told_us, seen_us;
    bool is_latest;          /* the upstream told it last */
    bool is_spoken, is_accepted, is_waiting;
    struct span given_by, login, why;
    int64_t given_us;
};

/* What is meant by a name: all members that are set. */
struct store_definitions_asked {
    struct span upstream, tool;
    struct span digest;      /* or its beginning */
    bool waiting;            /* those that wait: nobody spoke of them, and they were told last, or since one was accepted */
};

typedef enum code (*store_definition_fn)(void *context, const struct store_definition *definition);
/* By upstream and tool, the newest of a tool first. */
enum code store_definitions_each(struct db *db, const struct store_definitions_asked *asked, store_definition_fn each,
                                 void *context, struct why *why) MUST_USE;

/* How many wait, of tools that are pinned already and of new ones. */
enum code store_definitions_count(struct db *db, int64_t *waiting, struct why *why) MUST_USE;

/* One word of a person's on one definition. Within db_begin and db_commit. */
struct store_definition_word {
    int64_t definition, given_us;
    bool is_accepted;
    struct span by, login, why;
};
enum code store_definition_say(struct db *db, const struct store_definition_word *word, struct why *why) MUST_USE;

#endif
