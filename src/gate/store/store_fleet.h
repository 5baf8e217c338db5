/* SPDX-License-Identifier: Apache-2.0 */
/* What people decide for a whole fleet, as rows of the store's append-only tables: versions of policies and which is active,
 * keys and their revocations, words on definitions, holds, erasures. A command writes such rows without keeping them
 * (db_hold_back), they are read off as JSON into `fleet_outbox`, become a change that all nodes get (fleet/change.h), and are
 * put into each node's store here.
 *
 * Versions, keys and holds have the same numbers on every node, since other rows and people name them by it. All other rows
 * are numbered by each store for itself, as they come: so a revocation that was given at a node while the centre was away is
 * in nobody's way. A definition has no number of the fleet's, since each gate keeps what its servers tell: it is known by what
 * it says.
 *
 * Threads: a connection belongs to one thread at a time.
 * Owns: nothing.
 * Lifetime: none.
 * Errors: enum code with a sentence. */
#ifndef STORE_STORE_FLEET_H
#define STORE_STORE_FLEET_H

#include "base/buf.h"
#include "crypto/digest.h"
#include "crypto/sign.h"
#include "db/db.h"
#include "json/json.h"

#define STORE_FLEET_ROWS_BYTES ((size_t)15 << 20) /* of the rows of one change, as JSON */

/* ---- rows as JSON ---- */

/* What `db`, which holds back what it writes, has that is not committed. Takes: was: another connection to the same store.
 * Appends {table: [{column: value}]}; a blob is hexadecimal. *rows: how many; 0: nothing, and nothing was appended. */
enum code store_fleet_rows(struct db *db, struct db *was, struct buf *out, size_t *rows, struct why *why) MUST_USE;

/* All that the store has, piece by piece. Takes: from: zeros at first, moved on. *rows == 0: that was all. */
struct store_fleet_from {
    size_t table;
    int64_t row;
};
enum code store_fleet_piece(struct db *db, struct store_fleet_from *from, struct buf *out, size_t *rows,
                            struct why *why) MUST_USE;
/* Whether there is a row that a person of this node made: a version, a key, a hold, a word on a definition. */
enum code store_fleet_has_own(struct db *db, bool *has, struct why *why) MUST_USE;

/* Activations go in a change of their own, once all nodes have compiled what is to be active. */
enum store_fleet_part { STORE_FLEET_ALL = 0, STORE_FLEET_BUT_ACTIVE, STORE_FLEET_ACTIVE };

/* Appends the rows with the numbers that are next in this store; what refers to them follows. Takes: part: which of them; was,
 * is: a version that got another number already (0: none). *first: the number of the first thing that has one, or 0. *rows:
 * how many were appended; nothing is where that is 0. CODE_INVALID: these are no such rows. */
struct store_fleet_number {
    enum store_fleet_part part;
    int64_t was, is;
    int64_t first; /* out */
    size_t rows;   /* out */
};
enum code store_fleet_number(struct db *db, const struct json_node *rows, struct store_fleet_number *number, struct buf *out,
                             struct why *why) MUST_USE;
/* The version that the first activation, or else the first version, among the rows names; 0: none. */
int64_t store_fleet_version(const struct json_node *rows, enum store_fleet_part part);
/* The number of the first thing among the rows that has one; 0: none. */
int64_t store_fleet_first(const struct json_node *rows);

/* Puts rows into the store, within the caller's transaction. A row that is there already is passed over; CODE_EXISTS: another
 * one has its number; CODE_INVALID: these are no such rows, or what they refer to is not there. */
enum code store_fleet_put(struct db *db, const struct json_node *rows, struct why *why) MUST_USE;

/* ---- the chain that this store has taken ---- */

struct store_fleet_end {
    int64_t number; /* 0: none */
    unsigned char hash[DIGEST_BYTES];
};
enum code store_fleet_end(struct db *db, struct store_fleet_end *end, struct why *why) MUST_USE;

struct store_fleet_change {
    int64_t number, outbox, time_us;
    struct span text, signature, hash, node;
};
/* Keeps a change whose rows were put, within the caller's transaction. */
enum code store_fleet_keep(struct db *db, const struct store_fleet_change *change, int64_t now_us, struct why *why) MUST_USE;
/* One that was kept. Spans are valid during the call. CODE_NOT_FOUND. */
typedef enum code (*store_fleet_change_fn)(void *context, const struct store_fleet_change *change);
enum code store_fleet_change(struct db *db, int64_t number, store_fleet_change_fn each, void *context,
                             struct why *why) MUST_USE;
/* The numbers of what came of a node's command, in their order. Returns: how many, at most `room`, in *count. */
enum code store_fleet_changes_of(struct db *db, struct span node, int64_t outbox, int64_t *numbers, size_t room, size_t *count,
                                 struct why *why) MUST_USE;

/* Notes that something was refused behind that change, for the audit. */
enum code store_fleet_refuse(struct db *db, int64_t change, struct span reason, int64_t now_us, struct why *why) MUST_USE;

/* ---- commands that wait for the courier ---- */

struct store_fleet_command {
    int64_t id, asked_us, onto; /* onto: the version that was active */
    struct span kind, rows, without, asked_by; /* without: nodes, a line each; at == NULL: none */
};
enum code store_fleet_ask(struct db *db, const struct store_fleet_command *command, int64_t *id, struct why *why) MUST_USE;
/* The oldest that has no end, above `above`; CODE_NOT_FOUND: there is none. Spans are valid during the call. */
typedef enum code (*store_fleet_command_fn)(void *context, const struct store_fleet_command *command);
enum code store_fleet_next(struct db *db, int64_t above, store_fleet_command_fn each, void *context, struct why *why) MUST_USE;

struct store_fleet_answer {
    int64_t change, id;  /* change: 0: refused; id: of the first thing that was made, 0: none */
    struct span problem; /* why it was refused, or what is to be said all the same; at == NULL: nothing */
};
enum code store_fleet_answer(struct db *db, int64_t command, const struct store_fleet_answer *answer, int64_t now_us,
                             struct why *why) MUST_USE;
/* What of `problem` stands before the nodes that do not have it yet. */
#define STORE_FLEET_NOT_YET "; not yet: "
/* CODE_NOT_FOUND: it has none yet. Takes: problem: where its sentence goes. */
enum code store_fleet_answered(struct db *db, int64_t command, struct store_fleet_answer *answer, struct why *problem,
                               struct why *why) MUST_USE;

#endif
