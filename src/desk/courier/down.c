/* SPDX-License-Identifier: Apache-2.0 */
/* The chain of changes: taken, given again where the centre has lost it, and grown. */
#include "courier/down_priv.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/num.h"
#include "language/store.h"
#include "os/clock.h"
#include "store/store.h"

#include <inttypes.h>
#include <string.h>

#define AT_ONCE 32 /* changes of one look */
#define PINNED_BYTES ((size_t)64 << 20) /* two million changes */

/* ---- who this is ---- */

static enum code note(struct db *db, const char *name, struct span value)
{
    return db_change(db, "INSERT INTO fleet_state(name, value) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET "
                     "value = excluded.value WHERE value IS NOT excluded.value",
                     DB_VALUES(db_of_text(span_text(name)), db_of_text(value)));
}

static enum code find_noted(struct db *db, const char *name, char *out, size_t size)
{
    struct db_stmt *stmt = NULL;
    enum code code = db_find(db, "SELECT value FROM fleet_state WHERE name = ?1", DB_VALUES(db_of_text(span_text(name))),
                             &stmt);
    struct span value = code == CODE_OK ? db_text(stmt, 0) : SPAN_NONE;

    value = span_part(value, 0, size - 1);
    if (value.len > 0)
        memcpy(out, value.at, value.len);
    out[value.len] = '\0';
    db_finalize(&stmt);
    return code == CODE_NOT_FOUND ? CODE_OK : code;
}

/* A store is of one fleet for good: its numbers are that fleet's. */
static enum code note_fleet(const struct down_self *self, struct why *why)
{
    char known[CHANGE_FLEET_DIGITS + 1];
    enum code code = find_noted(self->store, "fleet", known, sizeof known);

    if (code == CODE_OK && known[0] != '\0' && !span_is(self->fleet, known))
        return why_set(why, CODE_DENIED, "this node's store is of fleet %s, and its membership of %.*s; name the store of this "
                       "fleet, or move it aside and begin with a new one", known, SPAN_ARG(self->fleet));
    if (code == CODE_OK)
        code = note(self->store, "fleet", self->fleet);
    if (code == CODE_OK)
        code = note(self->store, "node", self->node);
    return db_why(why, code, self->store, "noting whose the store is");
}

enum code down_new(const struct down_self *self, struct down **out, struct why *why)
{
    enum code code = note_fleet(self, why);

    *out = NULL;
    if (code != CODE_OK)
        return code;
    *out = mem_zalloc(sizeof **out);
    if (*out == NULL)
        return why_set(why, CODE_NOMEM, "not enough memory");
    (*out)->self = *self;
    (*out)->compiled = -1;
    buf_init(&(*out)->pinned, PINNED_BYTES);
    return CODE_OK;
}

void down_free(struct down **down)
{
    if (*down != NULL)
        buf_fini(&(*down)->pinned);
    mem_free(*down);
    *down = NULL;
}

/* ---- a change ---- */

static enum code put(struct db *store, const struct change *change, struct span signature, struct why *why)
{
    const struct store_fleet_change kept = {
        .number = change->number, .outbox = change->outbox, .time_us = change->time_us, .text = change->text,
        .signature = signature, .hash = span_of(change->hash, DIGEST_BYTES), .node = change->node};
    enum code code = store_begin(store, why);

    if (code != CODE_OK)
        return code;
    code = store_fleet_put(store, change->rows, why);
    if (code == CODE_OK)
        code = store_fleet_keep(store, &kept, clock_wall_us(), why);
    return store_end(store, code, NULL, why);
}

/* Up to the roster's last change only what is in the chain that comes by that one. */
static bool is_pinned(const struct down *down, const struct change *change)
{
    const struct span all = buf_peek(&down->pinned);
    const size_t at = (size_t)(change->number - down->pinned_behind - 1) * DIGEST_BYTES;

    return change->number > down->self.roster->now->end.number ||
           (change->number > down->pinned_behind && at + DIGEST_BYTES <= all.len &&
            memcmp(all.at + at, change->hash, DIGEST_BYTES) == 0);
}

/* Verifies a change and puts it into the store, all of it or nothing. */
static enum code take(struct down *down, const struct chain_shown *shown, struct why *why)
{
    struct store_fleet_end end;
    struct chain_read read;
    enum code code = store_fleet_end(down->self.store, &end, why);

    if (code != CODE_OK)
        return code;
    code = chain_verify(down->self.roster->now, &end, shown, &read, why);
    if (code == CODE_OK && !is_pinned(down, &read.change))
        code = why_set(why, CODE_DENIED, "the centre showed another change %" PRId64 " a moment ago", read.change.number);
    if (code == CODE_OK)
        code = put(down->self.store, &read.change, shown->signature, why);
    if (code == CODE_OK)
        log_info("app", "change %" PRId64 " of the fleet is taken: %.*s, by %.*s at node %.*s", read.change.number,
                 SPAN_ARG(read.change.kind), SPAN_ARG(read.change.by), SPAN_ARG(read.change.node));
    chain_done(&read);
    return code != CODE_OK ? why_before(why, code, "behind change %" PRId64, end.number) : code;
}

/* ---- what the centre has ---- */

struct last {
    int64_t number; /* 0: none */
    unsigned char hash[DIGEST_BYTES];
};

static enum code ask_last(struct pg *pg, struct last *last, struct why *why)
{
    struct pg_rows *rows = NULL;
    struct span hash;
    enum code code = pg_ask(pg, "SELECT number, hash FROM callgate.change_last()", NULL, 0, &rows, why);

    *last = (struct last){.number = pg_rows_int(rows, 0, 0)};
    hash = pg_rows_bytes(rows, 0, 1);
    if (hash.len == DIGEST_BYTES)
        memcpy(last->hash, hash.at, DIGEST_BYTES);
    else if (code == CODE_OK && last->number != 0)
        code = why_set(why, CODE_INVALID, "the centre does not say which its last change is");
    pg_rows_free(&rows);
    return code;
}

static enum code ask_some(struct pg *pg, int64_t after, struct pg_rows **rows, struct why *why)
{
    return pg_ask(pg, "SELECT text, signature, signer FROM callgate.changes_after($1, $2)",
                  PG_VALUES(pg_of_int(after), pg_of_int(AT_ONCE)), rows, why);
}

static struct chain_shown shown_at(const struct pg_rows *rows, size_t i)
{
    return (struct chain_shown){pg_rows_bytes(rows, i, 0), pg_rows_bytes(rows, i, 1), pg_rows_bytes(rows, i, 2)};
}

static enum code lacks(int64_t has, const struct roster *roster, struct why *why)
{
    return why_set(why, CODE_INVALID, "the centre shows no change behind %" PRId64 ", and had %" PRId64 " when the fleet's key "
                   "signed roster %" PRId64 ": nothing is taken until a node that has them brings them again", has,
                   roster->end.number, roster->number);
}

/* Looks along the chain up to the roster's last change, and uses nothing of it before it comes by that: the keys of nodes that
 * have left count up to there. */
static enum code pin(struct down *down, struct pg *pg, const struct store_fleet_end *from, struct why *why)
{
    const struct roster *roster = down->self.roster->now;
    struct store_fleet_end end = *from;
    enum code code = CODE_OK;

    buf_clear(&down->pinned);
    down->pinned_behind = from->number;
    while (code == CODE_OK && end.number < roster->end.number) {
        struct pg_rows *rows = NULL;
        const int64_t before = end.number;

        code = ask_some(pg, end.number, &rows, why);
        for (size_t i = 0; code == CODE_OK && i < pg_rows_count(rows) && end.number < roster->end.number; i++) {
            const struct chain_shown shown = shown_at(rows, i);

            code = chain_pass(roster, &end, &shown, why);
            if (code == CODE_OK && buf_add(&down->pinned, end.hash, DIGEST_BYTES) != CODE_OK)
                code = why_set(why, CODE_LIMIT, "there are more changes than a node looks along at once");
        }
        pg_rows_free(&rows);
        if (code == CODE_OK && end.number == before)
            code = lacks(before, roster, why);
    }
    return code == CODE_OK ? code : why_before(why, code, "behind change %" PRId64, end.number);
}

static enum code take_some(struct down *down, struct pg *pg, int64_t after, size_t *taken, struct why *why)
{
    struct pg_rows *rows = NULL;
    enum code code = ask_some(pg, after, &rows, why);

    for (*taken = 0; code == CODE_OK && *taken < pg_rows_count(rows); ++*taken) {
        const struct chain_shown shown = shown_at(rows, *taken);

        code = take(down, &shown, why);
    }
    pg_rows_free(&rows);
    return code;
}

static enum code take_all(struct down *down, struct pg *pg, struct store_fleet_end *end, int64_t until, struct why *why)
{
    size_t taken = 1;
    enum code code = end->number < down->self.roster->now->end.number ? pin(down, pg, end, why) : CODE_OK;

    while (code == CODE_OK && end->number < until && taken > 0) {
        code = take_some(down, pg, end->number, &taken, why);
        if (code == CODE_OK)
            code = store_fleet_end(down->self.store, end, why);
    }
    if (code == CODE_OK && end->number < until)
        return why_set(why, CODE_INVALID, "the centre says that there are %" PRId64 " changes, and shows none behind %" PRId64,
                       until, end->number);
    return code;
}

/* ---- what the centre has lost ---- */

struct giving {
    struct pg *pg;
    const unsigned char *previous;
    unsigned char hash[DIGEST_BYTES];
    bool is_put;
    struct why *why;
};

static enum code put_up(struct pg *pg, int64_t number, const unsigned char previous[DIGEST_BYTES],
                        const struct chain_shown *shown, bool *is_put, struct why *why)
{
    int64_t has_put;
    enum code code = pg_number(pg, "SELECT callgate.change_put($1, $2, $3, $4, $5)",
                               PG_VALUES(pg_of_int(number), pg_of_bytes(span_of(previous, DIGEST_BYTES)),
                                         pg_of_bytes(shown->text), pg_of_bytes(shown->signature), pg_of_text(shown->signer)),
                               &has_put, why);

    *is_put = has_put != 0;
    return code == CODE_EXISTS ? CODE_OK : code; /* somebody else was quicker by a moment */
}

static enum code give_one(void *context, const struct store_fleet_change *change)
{
    struct giving *giving = context;
    const struct chain_shown shown = {change->text, change->signature, change->node};

    memcpy(giving->hash, change->hash.at, DIGEST_BYTES);
    return put_up(giving->pg, change->number, giving->previous, &shown, &giving->is_put, giving->why);
}

static enum code keep_hash(void *context, const struct store_fleet_change *change)
{
    memcpy(context, change->hash.at, DIGEST_BYTES);
    return CODE_OK;
}

static enum code refuse_other(int64_t number, struct why *why)
{
    return why_set(why, CODE_INVALID, "the centre shows another change %" PRId64 " than this node has taken: one of the two is "
                   "not what was decided; nothing more is taken. Restore the centre from a backup of before, or let this node "
                   "begin with a new store", number);
}

/* Another node may give them at the same time: then the next turn goes on from there. */
static enum code give_again(struct down *down, struct pg *pg, const struct last *last, int64_t until, struct why *why)
{
    unsigned char hash[DIGEST_BYTES] = {0};
    struct giving giving = {.pg = pg, .is_put = true, .why = why};
    enum code code = CODE_OK;

    if (last->number != 0)
        code = store_fleet_change(down->self.store, last->number, keep_hash, hash, why);
    if (code == CODE_OK && memcmp(hash, last->hash, DIGEST_BYTES) != 0)
        return refuse_other(last->number, why);
    log_warn("app", "the centre has %" PRId64 " changes of the %" PRId64 " that this node has taken: it gets the others again",
             last->number, until);
    for (int64_t number = last->number + 1; number <= until && code == CODE_OK && giving.is_put; number++) {
        giving.previous = hash;
        code = store_fleet_change(down->self.store, number, give_one, &giving, why);
        memcpy(hash, giving.hash, DIGEST_BYTES);
    }
    return code;
}

/* ---- made here ---- */

static enum code sign_and_put(struct down *down, struct pg *pg, const struct change *change, struct span text,
                              struct down_making *making, struct why *why)
{
    unsigned char signature[SIGN_BYTES];
    const struct chain_shown shown = {text, span_of(signature, sizeof signature), down->self.node};
    bool is_put = false;
    enum code code = change_sign(text, down->self.key, signature);

    if (code != CODE_OK)
        return why_set(why, code, "a change could not be signed: %s", code_text(code));
    code = put_up(pg, change->number, change->previous, &shown, &is_put, why);
    if (code != CODE_OK || !is_put)
        return code;
    making->number = change->number;
    return take(down, &shown, why);
}

enum code down__make(struct down *down, struct pg *pg, struct down_making *making, struct why *why)
{
    struct change change = {.fleet = down->self.fleet, .node = down->self.node, .by = making->by, .kind = making->kind,
                            .outbox = making->outbox, .time_us = making->time_us};
    struct store_fleet_end end;
    struct buf text;
    enum code code = store_fleet_end(down->self.store, &end, why);

    making->number = 0;
    if (code != CODE_OK)
        return code;
    change.number = end.number + 1;
    memcpy(change.previous, end.hash, DIGEST_BYTES);
    buf_init(&text, CHANGE_TEXT_BYTES);
    code = change_write(&change, making->rows, &text, why);
    if (code == CODE_OK)
        code = sign_and_put(down, pg, &change, buf_peek(&text), making, why);
    buf_fini(&text);
    return code;
}

/* ---- a store that had rows before there was a fleet ---- */

/* Whether an adoption was begun that has not ended. */
static enum code adopting(struct down *down, bool *is, struct why *why)
{
    char noted[8];
    enum code code = find_noted(down->self.store, "adopting", noted, sizeof noted);

    *is = noted[0] == '1';
    return db_why(why, code, down->self.store, "reading the store");
}

/* All that the store has already, as the first changes. */
static enum code adopt(struct down *down, struct pg *pg, struct why *why)
{
    struct store_fleet_from from = {0};
    struct down_making making = {.kind = SPAN_LIT(CHANGE_ADOPTION), .by = down->self.node};
    size_t rows = 1;
    struct buf out;
    enum code code = db_why(why, note(down->self.store, "adopting", SPAN_LIT("1")), down->self.store, "writing the store");

    log_warn("app", "the centre has no changes, and this node's store has policies or keys: they become the fleet's");
    buf_init(&out, STORE_FLEET_ROWS_BYTES);
    while (code == CODE_OK && rows > 0) {
        buf_clear(&out);
        code = store_fleet_piece(down->self.store, &from, &out, &rows, why);
        if (code != CODE_OK || rows == 0)
            break;
        making.rows = buf_peek(&out);
        making.time_us = clock_wall_us();
        code = down__make(down, pg, &making, why);
        if (code == CODE_OK && making.number == 0)
            code = why_set(why, CODE_EXISTS, "another node has put changes while this one put what its store has; the next "
                                             "turn "
                           "goes on");
    }
    buf_fini(&out);
    if (code == CODE_OK)
        code = db_why(why, note(down->self.store, "adopting", SPAN_LIT("0")), down->self.store, "writing the store");
    return code;
}

/* ---- a turn ---- */

/* A store with rows of its own cannot take others': their numbers would be two things. */
static enum code begin_chain(struct down *down, const struct last *last, bool *adopts, struct why *why)
{
    bool has_own = false;
    enum code code = store_fleet_has_own(down->self.store, &has_own, why);

    if (code != CODE_OK || !has_own)
        return code;
    *adopts = last->number == 0;
    if (*adopts)
        return CODE_OK;
    return why_set(why, CODE_EXISTS, "this node's store has policies, keys or words of its own, and the fleet has others: "
                                     "nothing is "
                   "taken; move the store aside (its audit stays) and start again, and load here what of it the fleet is to "
                   "have "
                   "with --fleet");
}

/* Whether what this node has taken is what the fleet's key had seen. Once for each roster: a chain is never changed. */
static enum code compare(struct down *down, const struct store_fleet_end *end, struct why *why)
{
    const struct roster *roster = down->self.roster->now;
    struct store_fleet_end there = {.number = roster->end.number};
    enum code code;

    if (down->compared == roster->number || there.number == 0 || there.number > end->number)
        return CODE_OK;
    code = store_fleet_change(down->self.store, there.number, keep_hash, there.hash, why);
    if (code == CODE_OK)
        code = chain_is_rosters(roster, &there, why);
    if (code == CODE_OK)
        down->compared = roster->number;
    return code != CODE_DENIED ? code
           : why_set(why, code, "this node has taken another change %" PRId64 " than the fleet's key had seen: it was shown a "
                     "chain that is not the fleet's; move its store aside, and start it again", there.number);
}

static enum code follow(struct down *down, struct pg *pg, struct last *last, struct why *why)
{
    struct store_fleet_end end;
    bool is_adopting = false;
    enum code code = ask_last(pg, last, why);

    if (code == CODE_OK)
        code = store_fleet_end(down->self.store, &end, why);
    if (code == CODE_OK)
        code = compare(down, &end, why);
    if (code == CODE_OK)
        code = adopting(down, &is_adopting, why);
    if (code == CODE_OK && end.number == 0 && !is_adopting)
        code = begin_chain(down, last, &is_adopting, why);
    if (code != CODE_OK)
        return code;
    if (last->number > end.number)
        code = take_all(down, pg, &end, last->number, why);
    else if (last->number < end.number)
        code = give_again(down, pg, last, end.number, why);
    else if (last->number != 0 && memcmp(last->hash, end.hash, DIGEST_BYTES) != 0)
        code = refuse_other(last->number, why);
    else if (last->number < down->self.roster->now->end.number)
        code = lacks(last->number, down->self.roster->now, why);
    return code == CODE_OK && is_adopting ? adopt(down, pg, why) : code;
}

enum code down_turn(struct down *down, struct pg *pg, int64_t now_us, struct why *why)
{
    struct last last;
    enum code code = follow(down, pg, &last, why);

    if (code == CODE_OK)
        code = down__answer(down, pg, now_us, why);
    return code == CODE_OK ? down__outbox(down, pg, now_us, why) : code;
}

/* ---- where this node stands ---- */

enum code down_state(struct down *down, struct down_state *state, struct why *why)
{
    struct store_fleet_end end;
    struct policy *policy = NULL;
    uint64_t active = 0;
    struct why fault;
    enum code code = store_fleet_end(down->self.store, &end, why);

    *state = (struct down_state){.change = 0};
    if (code == CODE_OK)
        code = policy_store_active(down->self.store, &active, why);
    if (code != CODE_OK)
        return code;
    if ((int64_t)active != down->compiled) {
        down->is_behind = active != 0 && store_compile_policy(down->self.store, active, NULL, &policy, &fault) == CODE_INVALID;
        down->compiled = (int64_t)active;
        policy_unref(&policy);
        if (down->is_behind)
            log_error("app", "version %" PRIu64 " is active in the fleet and cannot be compiled here: %s", active, fault.text);
    }
    state->change = end.number;
    state->behind = down->is_behind ? (int64_t)active : 0;
    if (end.number != 0)
        num_hex(end.hash, DIGEST_BYTES, state->hash);
    return CODE_OK;
}
