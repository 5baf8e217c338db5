/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/fleet_words.h"

#include "args/print.h"
#include "language/store.h"
#include "os/clock.h"
#include "store/store.h"
#include "store/store_fleet.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#define WAIT_US (INT64_C(75) * 1000000) /* a version has thirty seconds to be compiled by all */
#define LOOK_MS 50
#define WITHOUT_BYTES ((size_t)8192)

/* ---- whose the store is ---- */

static enum code find_fleet(struct db *db, struct why *name, struct why *why)
{
    struct db_stmt *stmt = NULL;
    enum code code = db_find(db, "SELECT value FROM fleet_state WHERE name = 'fleet'", NULL, 0, &stmt);

    name->text[0] = '\0';
    if (code == CODE_OK)
        (void)why_set(name, CODE_OK, "%.*s", SPAN_ARG(db_text(stmt, 0)));
    db_finalize(&stmt);
    return code == CODE_OK || code == CODE_NOT_FOUND ? CODE_OK : db_why(why, code, db, "reading the store");
}

static enum code check_whose(struct fleet_words *words, struct why *why)
{
    struct why name;
    enum code code = find_fleet(words->db, &name, why);

    if (code != CODE_OK)
        return code;
    if (name.text[0] == '\0' && words->asked->fleet)
        return why_set(why, CODE_DENIED, "this store is of no fleet yet: a gate with `fleet:` makes it one at its start; leave "
                       "--fleet out, or start that gate");
    if (name.text[0] != '\0' && !words->asked->fleet && !words->only_closes)
        return why_set(why, CODE_DENIED, "this gate is of fleet %s, whose nodes all have one policy and one set of keys; add "
                       "--fleet. What is to be closed here at once, also while the centre is away: `callgate stop`, `callgate "
                       "key revoke`", name.text);
    words->is_fleets = name.text[0] != '\0';
    return CODE_OK;
}

static enum code begin(struct fleet_words *words, bool locks, struct why *why)
{
    uint64_t onto = 0;
    enum code code = CODE_OK;

    db_hold_back(words->db, true);
    if (locks)
        code = store_begin(words->db, why);
    if (code == CODE_OK)
        code = policy_store_active(words->db, &onto, why);
    words->onto = (int64_t)onto;
    return code;
}

enum code fleet_words_open(struct fleet_words *words, const struct asked *asked, enum db_mode mode, enum fleet_words_kind kind,
                           struct why *why)
{
    enum code code;

    *words = (struct fleet_words){.asked = asked, .only_closes = kind == FLEET_WORDS_CLOSING};
    code = asked_store(asked, mode, &words->db, why);
    if (code == CODE_OK)
        code = check_whose(words, why);
    if (code == CODE_OK && words->is_fleets)
        code = begin(words, kind != FLEET_WORDS_FREE, why);
    return code;
}

void fleet_words_close(struct fleet_words *words)
{
    db_close(&words->db);
}

/* ---- into the outbox ---- */

static enum code read_off(const struct fleet_words *words, struct buf *rows, size_t *count, struct why *why)
{
    struct db *was = NULL;
    enum code code = asked_store(words->asked, DB_READ, &was, why);

    if (code == CODE_OK)
        code = store_fleet_rows(words->db, was, rows, count, why);
    db_close(&was);
    return code;
}

static enum code list_without(const struct option_values *nodes, struct buf *out, struct span *without, struct why *why)
{
    for (size_t i = 0; i < nodes->count; i++)
        (void)buf_addf(out, "%s%s", i > 0 ? "\n" : "", nodes->value[i]);
    if (buf_code(out) != CODE_OK)
        return why_set(why, CODE_LIMIT, "too many --without; a node that is gone for good leaves the fleet (`callgate fleet "
                                        "leave`)");
    *without = nodes->count > 0 ? buf_peek(out) : SPAN_NONE;
    return CODE_OK;
}

static enum code put(struct fleet_words *words, const char *kind, struct span rows, int64_t *command, struct why *why)
{
    struct store_fleet_command asked = {.kind = span_text(kind), .rows = rows, .asked_us = clock_wall_us(),
                                        .onto = words->onto};
    char actor[ACTOR_BYTES];
    struct buf without;
    enum code code;

    actor_name(actor);
    asked.asked_by = span_text(actor);
    buf_init(&without, WITHOUT_BYTES);
    code = list_without(&words->asked->without, &without, &asked.without, why);
    if (code == CODE_OK)
        code = store_fleet_ask(words->db, &asked, command, why);
    buf_fini(&without);
    return code;
}

/* What only closes is kept here as it is written, with what goes to the others. */
static enum code hand_on(struct fleet_words *words, const char *kind, int64_t *command, struct why *why)
{
    struct buf rows;
    size_t count;
    enum code code;

    *command = 0;
    buf_init(&rows, STORE_FLEET_ROWS_BYTES);
    code = read_off(words, &rows, &count, why);
    if (code == CODE_OK && !words->only_closes)
        db_rollback(words->db);
    db_hold_back(words->db, false);
    if (code == CODE_OK && count > 0)
        code = put(words, kind, buf_peek(&rows), command, why);
    if (words->only_closes)
        code = store_end(words->db, code, NULL, why);
    buf_fini(&rows);
    return code;
}

/* ---- and what became of it ---- */

static enum code give_up(struct fleet_words *words, int64_t command, struct why *why)
{
    const struct store_fleet_answer answer = {.problem = SPAN_LIT("whoever gave it did not wait longer")};
    enum code code = words->only_closes ? CODE_OK
                                        : store_fleet_answer(words->db, command, &answer, clock_wall_us(), why);

    if (code != CODE_OK)
        return code;
    return why_set(why, CODE_BUSY, "the fleet's centre has not taken it within %d s (`callgate fleet status` says how it is); "
                                   "%s",
                   (int)(WAIT_US / 1000000), words->only_closes ? "it counts at this node, and goes to the others once it is "
                                                                  "there"
                                                               : "it was taken back, but for the case that it was just under "
                                                                 "way");
}

static enum code wait_for(struct fleet_words *words, int64_t command, int64_t *id, struct why *why)
{
    const int64_t until_us = clock_monotonic_us() + WAIT_US;
    struct store_fleet_answer answer;
    struct why said;
    enum code code;

    for (;;) {
        code = store_fleet_answered(words->db, command, &answer, &said, why);
        if (code != CODE_NOT_FOUND && code != CODE_BUSY) /* whoever has the store for long only delays what is under way */
            break;
        if (clock_monotonic_us() >= until_us)
            return give_up(words, command, why);
        (void)poll(NULL, 0, LOOK_MS);
    }
    if (code != CODE_OK)
        return code;
    if (answer.change == 0)
        return why_set(why, CODE_DENIED, "the fleet did not take it: %s", said.text);
    if (id != NULL && answer.id != 0)
        *id = answer.id;
    words->some_lack = strstr(said.text, STORE_FLEET_NOT_YET) != NULL;
    print_safely(stderr, "change %" PRId64 " of the fleet%s%s\n", answer.change, said.text[0] != '\0' ? ": " : "", said.text);
    return CODE_OK;
}

enum code fleet_words_end(struct fleet_words *words, enum code code, const char *kind, int64_t *id, struct why *why)
{
    int64_t command;

    if (!words->is_fleets)
        return code;
    words->is_fleets = false;
    if (code != CODE_OK) {
        db_rollback(words->db);
        db_hold_back(words->db, false);
        return code;
    }
    code = hand_on(words, kind, &command, why);
    if (code != CODE_OK || command == 0 || !words->asked->fleet)
        return code;
    return wait_for(words, command, id, why);
}
