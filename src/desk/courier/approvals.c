/* SPDX-License-Identifier: Apache-2.0 */
#include "courier/approvals.h"

#include "base/log.h"
#include "os/clock.h"
#include "state/approvals.h"
#include "store/store.h"
#include "store/store_approvals.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define AT_ONCE 32
#define STUCK_US INT64_C(2000000) /* what stands in the place of a good word may be gone soon, since its node puts that there */
#define KNOWN_BYTES ((size_t)1 << 20)

/* ---- what this node has to say ---- */

/* Notes what nobody was told yet: asks of this node before answers and uses, which refer to them. */
static enum code gather(struct approvals_way *way, struct why *why)
{
    const struct db_value values[] = {db_of_text(span_text(way->self->name)), db_of_int(clock_wall_us() - APPROVAL_FORGET_US)};
    enum code code = store_begin(way->store, why);

    if (code != CODE_OK)
        return code;
    code = db_change(way->store, "INSERT INTO fleet_ask(ask, node, number) SELECT id, ?1, id FROM approval_ask WHERE id > "
                     "(SELECT coalesce(max(of), 0) FROM fleet_word WHERE kind = 'ask') AND asked_us > ?2 AND "
                     "id NOT IN (SELECT ask FROM fleet_ask)", values, 2);
    if (code == CODE_OK)
        code = db_change(way->store, "INSERT INTO fleet_word(kind, of) SELECT 'ask', ask FROM fleet_ask WHERE node = ?1 AND "
                         "ask > (SELECT coalesce(max(of), 0) FROM fleet_word WHERE kind = 'ask') ORDER BY ask", values, 1);
    if (code == CODE_OK)
        code = db_change(way->store, "INSERT INTO fleet_word(kind, of) SELECT 'answer', id FROM approval_answer WHERE id > "
                         "(SELECT coalesce(max(of), 0) FROM fleet_word WHERE kind = 'answer') AND ask IN (SELECT ask FROM "
                         "fleet_ask) AND id NOT IN (SELECT answer FROM fleet_answer) ORDER BY id", NULL, 0);
    return store_end(way->store, code, "noting what is held", why);
}

struct word {
    int64_t id, of;
    enum word_kind kind;
};

#define NEXT_WORD "SELECT id, kind, of FROM fleet_word WHERE ?1 IS ?1 AND number IS NULL ORDER BY id LIMIT 1"
/* A number whose commit was not answered is no word's here, and the centre had the one behind it there, too. */
#define WORD_OF_NUMBER "SELECT id, kind, of FROM fleet_word WHERE number >= ?1 ORDER BY number LIMIT 1"

/* word->id: 0: there is none. */
static enum code find_word(struct approvals_way *way, const char *sql, int64_t number, struct word *word, struct why *why)
{
    struct db_stmt *row = NULL;
    enum code code = db_find(way->store, sql, DB_VALUES(db_of_int(number)), &row);

    *word = (struct word){.kind = WORD_ASK};
    if (code == CODE_OK) {
        word->id = db_int(row, 0);
        word->of = db_int(row, 2);
        while (word->kind < WORD_USE && !span_is(db_text(row, 1), word_kinds[word->kind]))
            ++word->kind;
    }
    db_finalize(&row);
    return code == CODE_NOT_FOUND ? CODE_OK : db_why(why, code, way->store, "reading what is held");
}

/* A use goes up with its row, which a centre that was restored lacks: nobody else is to get it there. */
static enum code keep_use(struct approvals_way *way, struct pg *pg, int64_t ask, struct why *why)
{
    struct db_stmt *row = NULL;
    enum code code = db_find(way->store, "SELECT node, number FROM fleet_ask WHERE ask = ?1", DB_VALUES(db_of_int(ask)), &row);

    if (code == CODE_OK)
        code = pg_ask(pg, "SELECT callgate.approval_take($1, $2)",
                      PG_VALUES(pg_of_text(db_text(row, 0)), pg_of_int(db_int(row, 1))), NULL, why);
    else
        (void)db_why(why, code, way->store, "reading what was used");
    db_finalize(&row);
    return code;
}

static enum code put_word(struct approvals_way *way, struct pg *pg, const struct word *word, int64_t number, bool *is_said,
                          struct why *why)
{
    const struct word_place place = {span_text(way->self->name), number};
    unsigned char signature[SIGN_BYTES];
    int64_t said = 0;
    struct buf sealed;
    enum code code = word->kind == WORD_USE ? keep_use(way, pg, word->of, why) : CODE_OK;

    buf_init(&sealed, WORD_BYTES);
    if (code == CODE_OK)
        code = word_write(way->store, way->self, word->kind, word->of, &place, &sealed, signature, why);
    if (code == CODE_OK)
        code = pg_number(pg, "SELECT callgate.approval_say($1, $2, $3)",
                         PG_VALUES(pg_of_int(number), pg_of_bytes(buf_peek(&sealed)),
                                   pg_of_bytes(span_of(signature, sizeof signature))), &said, why);
    *is_said = said != 0;
    buf_fini(&sealed);
    return code;
}

static enum code last_told(struct approvals_way *way, int64_t *last, struct why *why)
{
    return db_why(why, db_number(way->store, "SELECT coalesce(max(number), 0) FROM fleet_word", NULL, 0, last), way->store,
                  "reading what was told");
}

/* Words there that this node has said and does not know of: the commit was not answered, or its store is an older copy. What
 * somebody else put there is none, and what is said next takes its place. */
static enum code pass_own(struct approvals_way *way, struct pg *pg, int64_t *last, struct why *why)
{
    unsigned char key[SIGN_PUBLIC_BYTES];
    size_t passed = AT_ONCE;
    enum code code = sign_key_public(way->self->key, key);

    while (code == CODE_OK && passed == AT_ONCE) {
        struct pg_rows *rows = NULL;

        passed = 0;
        code = pg_ask(pg, "SELECT number, sealed, signature FROM callgate.approval_own($1, $2)",
                      PG_VALUES(pg_of_int(*last), pg_of_int(AT_ONCE)), &rows, why);
        for (size_t i = 0; code == CODE_OK && i < pg_rows_count(rows) && passed == i; i++) {
            const struct word_heard heard = {.place = {span_text(way->self->name), pg_rows_int(rows, i, 0)}, .key = key,
                                             .sealed = pg_rows_bytes(rows, i, 1), .signature = pg_rows_bytes(rows, i, 2)};
            struct why fault;

            if (heard.place.number != *last + 1 || word_check(way->self, &heard, &fault) != CODE_OK)
                break;
            ++*last;
            ++passed;
        }
        pg_rows_free(&rows);
    }
    return code;
}

static enum code say_one(struct approvals_way *way, struct pg *pg, int64_t number, bool *is_said, struct why *why)
{
    struct word word;
    enum code code = find_word(way, NEXT_WORD, 0, &word, why);

    *is_said = false;
    if (code != CODE_OK || word.id == 0)
        return code;
    code = put_word(way, pg, &word, number, is_said, why);
    if (*is_said)
        code = db_why(why, db_change(way->store, "UPDATE fleet_word SET number = ?1 WHERE id = ?2",
                                     DB_VALUES(db_of_int(number), db_of_int(word.id))), way->store, "noting what was told");
    return code;
}

static enum code say_all(struct approvals_way *way, struct pg *pg, struct why *why)
{
    struct word word;
    int64_t last = 0;
    bool is_said = true;
    enum code code = find_word(way, NEXT_WORD, 0, &word, why);

    if (code != CODE_OK || word.id == 0)
        return code;
    code = last_told(way, &last, why);
    if (code == CODE_OK)
        code = pass_own(way, pg, &last, why);
    for (int i = 0; i < AT_ONCE && is_said && code == CODE_OK; i++)
        code = say_one(way, pg, ++last, &is_said, why);
    return code;
}

/* ---- what a centre that was restored lacks ---- */

/* Words that the centre had and has no more are put again, each under its number and before any new one: others take nothing
 * under a number that they have heard. */
static enum code say_again(struct approvals_way *way, struct pg *pg, struct why *why)
{
    int64_t ours = 0, there = 0, before;
    bool is_said = true;
    enum code code = last_told(way, &ours, why);

    if (code == CODE_OK)
        code = pg_number(pg, "SELECT callgate.approval_last($1)", PG_VALUES(pg_of_int(ours)), &there, why); /* up to ours */
    before = there;
    for (int i = 0; i < AT_ONCE && there < ours && is_said && code == CODE_OK; i++) {
        struct word word;

        code = find_word(way, WORD_OF_NUMBER, there + 1, &word, why);
        if (code == CODE_OK)
            code = put_word(way, pg, &word, there + 1, &is_said, why);
        there += is_said && code == CODE_OK;
    }
    if (there > before)
        log_warn("fleet", "the centre lacked this node's words %" PRId64 " to %" PRId64 " on held calls, which it had: they "
                 "are put again", before + 1, there);
    way->is_compared = code == CODE_OK && there >= ours;
    return code;
}

void approvals_anew(struct approvals_way *way)
{
    way->is_compared = false;
}

/* ---- what others say ---- */

static bool is_stuck(const struct approvals_way *way, struct span node, int64_t now_us)
{
    for (size_t i = 0; i < APPROVALS_STUCK; i++)
        if (way->stuck[i].until_us > now_us && span_is(node, way->stuck[i].node))
            return true;
    return false;
}

static void pass_over(struct approvals_way *way, struct span node, int64_t now_us)
{
    size_t oldest = 0;

    for (size_t i = 0; i < APPROVALS_STUCK; i++)
        if (way->stuck[i].until_us < way->stuck[oldest].until_us)
            oldest = i;
    (void)snprintf(way->stuck[oldest].node, sizeof way->stuck[oldest].node, "%.*s", SPAN_ARG(node));
    way->stuck[oldest].until_us = now_us + STUCK_US;
}

/* Who is a node now, each with the last word that was heard of it; but for those that are passed over. Both go by
 * name. */
static enum code list_heard(struct approvals_way *way, int64_t now_us, struct buf *known, struct why *why)
{
    const struct roster *roster = way->roster->now;
    struct db_stmt *row = NULL;
    enum code code = db_select(way->store, "SELECT node, number FROM fleet_heard ORDER BY node", NULL, 0, &row);
    bool is_row = db_next(&row, &code);

    for (size_t i = 0; i < roster->count; i++) {
        const struct span node = span_text(roster->nodes[i].name);

        if (roster->nodes[i].until != 0 || span_is(node, way->self->name) || is_stuck(way, node, now_us))
            continue;
        while (is_row && span_compare(db_text(row, 0), node) < 0)
            is_row = db_next(&row, &code);
        (void)buf_addf(known, "%s %" PRId64 "\n", roster->nodes[i].name,
                       is_row && span_equals(db_text(row, 0), node) ? db_int(row, 1) : 0);
    }
    if (is_row)
        db_finalize(&row);
    return code == CODE_OK ? buf_code(known) : db_why(why, code, way->store, "reading what was heard");
}

static enum code heard_before(struct approvals_way *way, struct span node, int64_t *number, struct why *why)
{
    enum code code = db_number(way->store, "SELECT number FROM fleet_heard WHERE node = ?1", DB_VALUES(db_of_text(node)),
                               number);

    return db_why(why, code, way->store, "reading what was heard");
}

/* One word, behind the last of its node without a gap. */
static enum code hear_one(struct approvals_way *way, struct word_heard *heard, struct why *why)
{
    const struct roster_node *node = roster_find(way->roster->now, heard->place.node);
    int64_t before;
    enum code code = heard_before(way, heard->place.node, &before, why);

    if (code != CODE_OK)
        return code;
    if (node == NULL)
        return why_set(why, CODE_DENIED, "somebody speaks at the centre as node %.*s, which is none of the fleet's",
                       SPAN_ARG(heard->place.node));
    if (heard->place.number != before + 1)
        return why_set(why, CODE_DENIED, "word %" PRId64 " of node %.*s on held calls is gone from the centre: nothing that it "
                       "says behind it is taken", before + 1, SPAN_ARG(heard->place.node));
    heard->key = node->key;
    code = store_begin(way->store, why);
    if (code != CODE_OK)
        return code;
    code = word_take(way->store, way->self, heard, why);
    if (code == CODE_OK)
        code = db_change(way->store, "INSERT INTO fleet_heard(node, number) VALUES (?1, ?2) ON CONFLICT (node) DO UPDATE SET "
                         "number = excluded.number", DB_VALUES(db_of_text(heard->place.node), db_of_int(heard->place.number)));
    return store_end(way->store, code, NULL, why);
}

/* A word about a call of which nothing was heard yet waits for that node's. */
static enum code hear_all(struct approvals_way *way, struct pg *pg, int64_t now_us, struct why *why)
{
    struct pg_rows *rows = NULL;
    struct buf known;
    enum code code;

    buf_init(&known, KNOWN_BYTES);
    code = list_heard(way, now_us, &known, why);
    if (code == CODE_OK)
        code = pg_ask(pg, "SELECT node, number, sealed, signature FROM callgate.approval_words($1, $2)",
                      PG_VALUES(pg_of_text(buf_peek(&known)), pg_of_int(AT_ONCE)), &rows, why);
    for (size_t i = 0; i < pg_rows_count(rows) && code == CODE_OK; i++) {
        struct word_heard heard = {.place = {pg_rows_bytes(rows, i, 0), pg_rows_int(rows, i, 1)}, .now_us = clock_wall_us(),
                                   .sealed = pg_rows_bytes(rows, i, 2), .signature = pg_rows_bytes(rows, i, 3)};
        struct why fault = {""};

        if (is_stuck(way, heard.place.node, now_us))
            continue;
        code = hear_one(way, &heard, &fault);
        if (code == CODE_BUSY || code == CODE_NOMEM)
            break;
        if (code == CODE_DENIED) {
            if (strcmp(fault.text, way->fault.text) != 0)
                log_error("fleet", "%s", fault.text);
            way->fault = fault;
            way->is_fault = true;
        }
        if (code != CODE_OK)
            pass_over(way, heard.place.node, code == CODE_NOT_FOUND ? now_us - STUCK_US + 1 : now_us);
        code = CODE_OK;
    }
    pg_rows_free(&rows);
    buf_fini(&known);
    return code;
}

/* ---- uses ---- */

struct wish {
    int64_t ask, number;
    char node[FLEET_NAME_BYTES];
};

static enum code list_wishes(struct approvals_way *way, struct wish wishes[AT_ONCE], size_t *count, struct why *why)
{
    struct db_stmt *row = NULL;
    enum code code = db_select(way->store, "SELECT w.ask, f.number, f.node FROM fleet_wish w JOIN fleet_ask f ON f.ask = w.ask "
                               "ORDER BY w.ask LIMIT 32", NULL, 0, &row);

    *count = 0;
    while (db_next(&row, &code)) {
        struct wish *wish = &wishes[(*count)++];

        *wish = (struct wish){.ask = db_int(row, 0), .number = db_int(row, 1)};
        (void)snprintf(wish->node, sizeof wish->node, "%.*s", SPAN_ARG(db_text(row, 2)));
    }
    return db_why(why, code, way->store, "reading which approvals are to be used");
}

/* It is this node's, and the gate may hand it to its workers; or another one's, and is used for us. */
static enum code settle(struct approvals_way *way, const struct wish *wish, struct span taken_by, struct why *why)
{
    const struct db_value ask = db_of_int(wish->ask);
    bool is_ours = span_is(taken_by, way->self->name);
    enum code code = store_begin(way->store, why);

    if (code != CODE_OK)
        return code;
    code = is_ours ? db_change(way->store, "INSERT INTO approval_claim(ask, gate, since_us, audit_seq) SELECT ask, gate, "
                               "since_us, audit_seq FROM fleet_wish WHERE ask = ?1 ON CONFLICT (ask) DO NOTHING", &ask, 1)
                   : store_approval_use(way->store, taken_by,
                                        &(struct approval_use){.number = wish->ask, .used_us = clock_wall_us()}, why);
    if (code == CODE_OK && is_ours)
        code = db_change(way->store, "INSERT INTO fleet_word(kind, of) VALUES ('use', ?1) ON CONFLICT DO NOTHING", &ask, 1);
    if (code == CODE_OK)
        code = db_change(way->store, "DELETE FROM fleet_wish WHERE ask = ?1", &ask, 1);
    return store_end(way->store, code, "claiming an approval", why);
}

/* Asking again is the same use, so a lost answer is asked for again. */
static enum code take_all(struct approvals_way *way, struct pg *pg, struct why *why)
{
    struct wish wishes[AT_ONCE];
    size_t count = 0;
    enum code code = list_wishes(way, wishes, &count, why);

    for (size_t i = 0; i < count && code == CODE_OK; i++) {
        struct pg_rows *rows = NULL;

        code = pg_ask(pg, "SELECT callgate.approval_take($1, $2)",
                      PG_VALUES(pg_of_text(span_text(wishes[i].node)), pg_of_int(wishes[i].number)), &rows, why);
        if (code == CODE_OK && !pg_rows_null(rows, 0, 0))
            code = settle(way, &wishes[i], pg_rows_bytes(rows, 0, 0), why);
        pg_rows_free(&rows);
    }
    return code;
}

enum code approvals_turn(struct approvals_way *way, struct pg *pg, int64_t now_us, bool may_use, struct why *why)
{
    enum code code = gather(way, why);

    way->is_fault = false;
    if (code == CODE_OK && !way->is_compared)
        code = say_again(way, pg, why);
    if (code == CODE_OK && way->is_compared)
        code = say_all(way, pg, why);
    if (code == CODE_OK)
        code = hear_all(way, pg, now_us, why);
    if (code == CODE_OK && may_use)
        code = take_all(way, pg, why);
    return code == CODE_BUSY ? CODE_OK : code; /* somebody else writes the store: at the next turn */
}
