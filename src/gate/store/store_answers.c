/* SPDX-License-Identifier: Apache-2.0 */
/* What people answer, which a running gate only reads: its program has none of this. */
#include "store/store_approvals.h"

#include "store/store.h"
#include "store/store_stops.h"

#include "json/text.h"

#include <stdio.h>

bool store_approval_shows_params(const struct store_approval *approval)
{
    return approval->params.at == NULL || json_text_is(approval->params, 2 * APPROVAL_ARGUMENTS_BYTES);
}

struct found {
    const struct store_answer *answer;
    bool exists, is_whole, shows_params;
    enum code may; /* whether this person decides it */
    struct why *why;
    uint32_t needed;
    enum store_approval_state state;
    int64_t now_us;
    uint64_t kept_bytes, arguments_bytes;
};

static enum code find_state(void *context, const struct store_approval *approval)
{
    struct found *found = context;

    found->needed = approval->needed;
    found->may = store_approval_decides(found->answer, approval, found->why);
    found->exists = true;
    found->state = store_approval_state(approval, found->now_us);
    found->shows_params = store_approval_shows_params(approval);
    found->kept_bytes = approval->arguments.len;
    found->arguments_bytes = approval->arguments_bytes;
    found->is_whole = found->shows_params && found->kept_bytes >= found->arguments_bytes;
    return CODE_OK;
}

/* A call that nobody can see whole is approved only with --despite-unseen, since the harm could be behind the beginning
 * that is kept. */
static enum code check_seen(const struct found *found, const struct store_answer *answer, struct why *why)
{
    long long number = (long long)answer->ask;

    if (!answer->is_granted || answer->is_unseen || found->is_whole)
        return CODE_OK;
    if (!found->shows_params)
        return why_set(why, CODE_DENIED, "approval %lld: of its query, or what stands in `params` beside its arguments, only "
                       "the beginning is kept; let the agent send less, or say --despite-unseen to approve it all the same",
                       number);
    if (found->kept_bytes == 0)
        return why_set(why, CODE_DENIED, "approval %lld: its arguments of %llu bytes are not kept any longer, so that nobody "
                       "can see what would be approved; if the agent tries again they are, or say --despite-unseen", number,
                       (unsigned long long)found->arguments_bytes);
    return why_set(why, CODE_DENIED, "approval %lld: `callgate approvals show` shows the first %llu of %llu bytes of its "
                   "arguments, nobody the rest; let the agent split the call so that each can be seen whole, or say "
                   "--despite-unseen to approve it all the same", number, (unsigned long long)found->kept_bytes,
                   (unsigned long long)found->arguments_bytes);
}

/* A refusal erased the arguments. A call that could not be seen whole then needs --despite-unseen now too. */
static enum code check_again(struct db *db, const struct found *found, const struct store_answer *answer, struct why *why)
{
    int64_t unseen = 0; /* as its first answer says */
    struct db_stmt *first = NULL;
    enum code code;

    if (!answer->is_granted)
        return CODE_OK;
    if (!answer->is_again)
        return why_set(why, CODE_DENIED, "approval %lld was refused; read by whom and why (`callgate approvals show %lld`), "
                       "and say --despite-refusal to approve it all the same", (long long)answer->ask, (long long)answer->ask);
    code = db_find(db, "SELECT unseen FROM approval_answer WHERE ask = ?1 AND holds_us IS NOT NULL ORDER BY id LIMIT 1",
                   DB_VALUES(db_of_int(answer->ask)), &first);
    if (code == CODE_OK)
        unseen = db_int(first, 0);
    db_finalize(&first);
    if (code != CODE_OK)
        return db_why(why, code, db, "reading the approvals");
    if (answer->is_unseen || (unseen == 0 && found->arguments_bytes <= APPROVAL_ARGUMENTS_BYTES))
        return CODE_OK;
    return why_set(why, CODE_DENIED, "approval %lld: when it was refused nobody could see all of it (%llu bytes of arguments); "
                   "say --despite-unseen, too, to approve it all the same", (long long)answer->ask,
                   (unsigned long long)found->arguments_bytes);
}

/* Whether the ask may still be answered. One that is over stays over: the agent's next call asks anew. */
static enum code may_answer(struct db *db, const struct store_answer *answer, struct found *found, struct why *why)
{
    enum code code = store_approvals_each(db, APPROVALS_ONE, answer->ask, answer->given_us, find_state, found, why);
    long long number = (long long)answer->ask;

    if (code != CODE_OK)
        return code;
    if (!found->exists)
        return why_set(why, CODE_NOT_FOUND, "there is no approval %lld; `callgate approvals list` shows what waits", number);
    if (found->may != CODE_OK)
        return found->may;
    code = answer->is_granted ? store_stops_allow(db, answer->ask, answer->given_us, why) : CODE_OK;
    if (code != CODE_OK)
        return code;
    switch (found->state) {
    case APPROVAL_IS_WAITING:
        return check_seen(found, answer, why);
    case APPROVAL_IS_APPROVED: /* once more, or for longer: somebody has seen it */
        return CODE_OK;
    case APPROVAL_IS_REFUSED:
        return check_again(db, found, answer, why);
    case APPROVAL_IS_LAPSED:
        return why_set(why, CODE_DENIED, "approval %lld has not been asked for in a day; if the agent tries again, a new one "
                       "waits", number);
    case APPROVAL_IS_USED:
        return why_set(why, CODE_DENIED, "approval %lld is used already; another call asks anew", number);
    case APPROVAL_IS_OVER:
        return why_set(why, CODE_DENIED, "what was said of approval %lld is over; if the agent tries again, a new one waits",
                       number);
    }
    return CODE_INVALID;
}

/* ---- how many people ---- */

#define KNOWN_BYTES ((size_t)1 << 20)

/* The newest answer of each person, and `mine` behind them where there is one. People who have shown a name are told apart by
 * it, all others by their accounts. An account with which somebody has shown a name, in any answer to this ask, is no further
 * person. */
#define SELECT_VOICES \
    "WITH said(id, granted, by, login, person, account, given_us, until_us, known, why) AS " \
    "(SELECT id, granted, given_by, login, person, account, given_us, until_us, known, why FROM approval_answer " \
    "WHERE ask = ?1 UNION ALL SELECT 9223372036854775807, 1, '', '', ?3, ?4, ?2, ?5, ?6, '' WHERE ?5 > 0) " \
    "SELECT by, login, person, given_us, until_us, known, why FROM said WHERE id IN (SELECT max(id) FROM said v " \
    "WHERE granted AND until_us > ?2 AND id > (SELECT coalesce(max(id), 0) FROM said WHERE NOT granted) AND " \
    "(person IS NOT NULL OR NOT EXISTS (SELECT 1 FROM said n WHERE n.account = v.account AND n.person IS NOT NULL)) " \
    "GROUP BY coalesce(lower(person), account)) ORDER BY id"

static void copy_text(char *to, size_t room, struct span text)
{
    (void)snprintf(to, room, "%.*s", SPAN_ARG(text));
}

/* Takes: a, b: a name a line. */
static bool share_a_name(struct span a, struct span b)
{
    while (a.len > 0) {
        struct span name = span_cut(a, '\n', &a);

        for (struct span rest = b; rest.len > 0;)
            if (span_equals_nocase(span_cut(rest, '\n', &rest), name))
                return true;
    }
    return false;
}

/* Adds a voice. Voices that share a name are one person, whose newest answer counts. Takes: known: the names of each voice. */
static enum code add_voice(struct store_voices *voices, struct buf *known, struct db_stmt *row)
{
    struct store_voice *voice;
    size_t kept = 0;
    enum code code = CODE_OK;
    struct buf names;

    buf_init(&names, KNOWN_BYTES);
    if (db_text(row, 5).at != NULL)
        code = buf_put(&names, db_text(row, 5));
    for (size_t i = 0; i < voices->count; i++) {
        if (share_a_name(buf_peek(&known[i]), db_text(row, 5))) {
            code = code == CODE_OK ? buf_put(&names, buf_peek(&known[i])) : code;
            buf_fini(&known[i]);
        } else {
            known[kept] = known[i];
            voices->of[kept++] = voices->of[i];
        }
    }
    voices->count = kept;
    if (code != CODE_OK || kept == STORE_VOICES_MAX) {
        buf_fini(&names);
        return code;
    }
    known[kept] = names;
    voices->count = kept + 1;
    voice = &voices->of[kept];
    *voice = (struct store_voice){.given_us = db_int(row, 3), .until_us = db_int(row, 4)};
    copy_text(voice->by, sizeof voice->by, db_text(row, 0));
    copy_text(voice->login, sizeof voice->login, db_text(row, 1));
    copy_text(voice->name, sizeof voice->name, db_text(row, 2));
    copy_text(voice->why, sizeof voice->why, db_text(row, 6));
    return CODE_OK;
}

static enum code read_voices(struct db *db, const struct store_answer *mine, struct store_voices *voices, struct why *why)
{
    struct buf known[STORE_VOICES_MAX];
    struct db_stmt *rows = NULL;
    enum code code = db_select(db, SELECT_VOICES,
                               DB_VALUES(db_of_int(mine->ask), db_of_int(mine->given_us), db_of_text(mine->person.name),
                                         db_of_int(mine->person.account), db_of_int(mine->until_us),
                                         db_of_text(mine->person.known)), &rows);

    voices->count = 0;
    while (db_next(&rows, &code))
        code = add_voice(voices, known, rows);
    for (size_t i = 0; i < voices->count; i++)
        buf_fini(&known[i]);
    return db_why(why, code, db, "reading who has approved");
}

enum code store_approval_voices(struct db *db, int64_t ask, int64_t now_us, struct store_voices *voices, struct why *why)
{
    const struct store_answer nobody = {.ask = ask, .given_us = now_us};

    return read_voices(db, &nobody, voices, why);
}

/* Returns: until when enough people approve it; 0: they are not enough. */
static int64_t holds_until(const struct store_voices *voices, uint32_t needed)
{
    int64_t until_us = 0;

    for (size_t i = 0; i < voices->count; i++) {
        uint32_t longer = 0;

        for (size_t j = 0; j < voices->count; j++)
            longer += voices->of[j].until_us >= voices->of[i].until_us;
        if (longer >= needed && voices->of[i].until_us > until_us)
            until_us = voices->of[i].until_us;
    }
    return until_us;
}

static enum code count_people(struct db *db, struct store_answer *answer, struct why *why)
{
    struct store_voices voices, before;
    enum code code;

    answer->counted = answer->is_granted;
    answer->holds_us = answer->until_us;
    answer->is_repeated = false;
    if (!answer->is_granted)
        return CODE_OK;
    code = store_approval_voices(db, answer->ask, answer->given_us, &before, why);
    if (code == CODE_OK)
        code = read_voices(db, answer, &voices, why);
    if (code != CODE_OK)
        return code;
    answer->is_repeated = voices.count <= before.count; /* no further person has come */
    if (answer->needed <= 1)
        return CODE_OK;
    answer->counted = (uint32_t)voices.count;
    answer->holds_us = holds_until(&voices, answer->needed);
    return code;
}

/* The row says whether the whole could be seen now, not whether --despite-unseen was given. */
static enum code add_answer(struct db *db, const struct store_answer *answer, bool is_whole)
{
    return db_change(db, "INSERT INTO approval_answer(ask, granted, given_us, until_us, given_by, login, why, unseen, person, "
                     "account, counted, holds_us, known) "
                     "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, nullif(?12, 0), ?13)",
                     DB_VALUES(db_of_int(answer->ask), db_of_int(answer->is_granted), db_of_int(answer->given_us),
                               db_of_int(answer->until_us), db_of_text(answer->by), db_of_text(answer->login),
                               db_of_text(answer->why), db_of_int(!is_whole), db_of_text(answer->person.name),
                               db_of_int(answer->person.account), db_of_int(answer->counted), db_of_int(answer->holds_us),
                               db_of_text(answer->person.known)));
}

enum code store_approval_answer(struct db *db, struct store_answer *answer, struct why *why)
{
    struct found found = {.now_us = answer->given_us, .answer = answer, .why = why};
    enum code code = may_answer(db, answer, &found, why);

    answer->needed = found.needed;
    if (code == CODE_OK)
        code = count_people(db, answer, why);
    if (code != CODE_OK)
        return code;
    code = add_answer(db, answer, found.is_whole);
    return db_why(why, code, db, "storing the answer");
}

enum code store_approval_answer_of_node(struct db *db, struct store_answer *answer, bool is_whole, int64_t *id, struct why *why)
{
    struct found found = {.now_us = answer->given_us, .answer = answer, .why = NULL};
    enum code code = store_approvals_each(db, APPROVALS_ONE, answer->ask, answer->given_us, find_state, &found, why);

    *id = 0;
    if (code != CODE_OK || !found.exists || found.state == APPROVAL_IS_USED || found.state == APPROVAL_IS_OVER)
        return code;
    answer->needed = found.needed;
    code = count_people(db, answer, why);
    if (code == CODE_OK)
        code = db_why(why, add_answer(db, answer, is_whole), db, "storing the answer");
    *id = code == CODE_OK ? db_last_id(db) : 0;
    return code;
}

enum code store_approval_answered(struct db *db, int64_t *answer, int64_t *ask, struct why *why)
{
    struct db_stmt *stmt;
    const char *sql = *answer >= 0 ? "SELECT id, ask FROM approval_answer WHERE id > ?1 ORDER BY id LIMIT 1"
                                   : "SELECT coalesce(max(id), 0), 0 FROM approval_answer WHERE id > ?1";
    enum code code = db_find(db, sql, DB_VALUES(db_of_int(*answer)), &stmt);

    *ask = 0;
    if (code == CODE_OK) {
        *answer = db_int(stmt, 0);
        *ask = db_int(stmt, 1);
    }
    db_finalize(&stmt);
    return code == CODE_OK || code == CODE_NOT_FOUND ? CODE_OK : db_why(why, code, db, "reading the store");
}
