/* SPDX-License-Identifier: Apache-2.0 */
/* callgate stop, resume and stops: whose calls do not go on, whatever the policy says. */
#include "people/stop_names.h"

#include "args/print.h"
#include "base/num.h"
#include "cli/commands.h"
#include "cli/fleet_words.h"
#include "cli/table.h"
#include "cli/told.h"
#include "json/doc.h"
#include "os/clock.h"
#include "store/store.h"
#include "store/store_stops.h"
#include "unicode/unicode.h"

#include <inttypes.h>
#include <string.h>

#define NAME_BYTES_MAX 512
#define NOTE_BYTES ((size_t)8192)

/* ---- a stop told ------------------------------------------------------------------------------------------------------- */

#define SELECT_STOPS \
    "SELECT s.id, s.tenant, s.principal, s.agent, s.upstream, s.tool, s.session, s.until_us, s.made_us, s.made_by, s.rule, " \
    "s.why, e.ended_us, e.ended_by, e.why FROM stop s LEFT JOIN stop_end e ON e.mark = s.mark "

static struct doc *doc_of(struct db_stmt *row)
{
    bool is_lifted = !db_is_null(row, 12), is_over = !db_is_null(row, 7) && db_int(row, 7) <= clock_wall_us();
    struct doc *doc = doc_object();
    char actor[ACTOR_BYTES];
    bool is_all = true;

    actor_name(actor);
    doc_int(doc, "stop", db_int(row, 0));
    doc_text(doc, "state", is_lifted ? SPAN_LIT("lifted") : is_over ? SPAN_LIT("over") : SPAN_LIT("stands"));
    /* by who asks */
    doc_bool(doc, "liftable", !is_lifted && !is_over && (!command_is_own() || span_is(db_text(row, 9), actor)));
    for (int by = 0; by < STOP_BY_COUNT; by++) {
        doc_text_or_null(doc, stop_by_text[by], db_text(row, by + 1));
        is_all = is_all && db_is_null(row, by + 1);
    }
    doc_bool(doc, "all", is_all);
    print_time(doc, "until", db_int(row, 7));
    print_time(doc, "made", db_int(row, 8));
    doc_text(doc, "made_by", db_text(row, 9));
    doc_text_or_null(doc, "rule", db_text(row, 10));
    doc_text(doc, "why", db_text(row, 11));
    print_time(doc, "lifted", db_int(row, 12));
    doc_text_or_null(doc, "lifted_by", db_text(row, 13));
    doc_text_or_null(doc, "lifted_why", db_text(row, 14));
    return doc;
}

#define NAMED \
    "[ tenant {tenant}][ principal {principal}][ agent {agent}][ upstream {upstream}][ tool {tool}][ session {session}]"
#define NAMES "[{?all} all]" NAMED

/* Takes: note: what is to be known besides; empty: nothing. */
static enum code tell(struct db *db, int64_t id, bool as_json, struct span note, const char *words, struct why *why)
{
    struct db_stmt *row = NULL;
    enum code code = db_find(db, SELECT_STOPS "WHERE s.id = ?1", DB_VALUES(db_of_int(id)), &row);
    struct doc *doc = code == CODE_OK ? doc_of(row) : NULL;

    db_finalize(&row);
    if (code == CODE_OK)
        doc_text_or_null(doc, "note", note.len > 0 ? note : SPAN_NONE);
    if (code == CODE_OK)
        return told_answer(&doc, as_json, words) == STATUS_DONE ? CODE_OK : CODE_NOMEM;
    return db_why(why, code, db, "reading the store");
}

/* ---- stop -------------------------------------------------------------------------------------------------------------- */

static int check_names(const struct stop *stop, bool is_all)
{
    bool names = false;

    for (int by = 0; by < STOP_BY_COUNT; by++) {
        struct span name = stop->by[by];

        names = names || name.at != NULL;
        if (name.at != NULL && (name.len == 0 || name.len > NAME_BYTES_MAX || !unicode_is_utf8(name)))
            return complain(STATUS_USAGE, "--%s \"%.*s\" is no name", stop_by_text[by], SPAN_ARG(name));
    }
    if (names == is_all)
        return complain(STATUS_USAGE, names ? "--all is of every call: leave it or the names out"
                                            : "say what to stop: --tenant, --principal, --agent, --upstream, --tool, "
                                              "--session, or several of them, whose calls have all; or --all");
    return OPTIONS_GO;
}

/* Says what is to be known of the names, and stops nothing. */
static int tell_note(const struct asked *asked, const struct stop *what)
{
    struct doc *doc = doc_object();
    struct buf note;
    int status;

    buf_init(&note, NOTE_BYTES);
    stop_names_note(asked, what, &note);
    doc_bool(doc, "all", asked->all);
    doc_text_or_null(doc, "note", buf_is_empty(&note) ? SPAN_NONE : buf_peek(&note));
    status = told_answer(&doc, asked->json,
                         "[{note}\n][{!note}{!all}each of these names was seen\n]nothing was stopped\n");
    buf_fini(&note);
    return status;
}

/* The stop stands before anybody looks for its names: that takes its time. */
static int place(const struct asked *asked, struct store_stop *stop)
{
    struct fleet_words words;
    struct why why = {0};
    struct buf note;
    int64_t id = 0;
    enum code code;

    buf_init(&note, NOTE_BYTES);
    code = fleet_words_open(&words, asked, DB_WRITE, FLEET_WORDS_CLOSING, &why);
    if (code == CODE_OK)
        code = store_stop_add(words.db, stop, &id, &why);
    code = fleet_words_end(&words, code, "stop", &id, &why);
    if (code == CODE_OK)
        stop_names_note(asked, &stop->what, &note);
    if (code == CODE_OK)
        code = tell(words.db, id, asked->json, buf_peek(&note),
                    "stop {stop} stands[ until {until}]: a running gate denies within a second [{?all}every call]"
                    "[{!all}each call of]" NAMED ", and cancels what is under way; what servers did of it is not undone\n"
                    "[{note}\n]`callgate resume {stop} --why TEXT` ends it\n", &why);
    fleet_words_close(&words);
    buf_fini(&note);
    return code == CODE_OK ? STATUS_DONE : complain_why(code, &why);
}

int cmd_stop(const struct asked *asked)
{
    struct store_stop stop = {.made_us = clock_wall_us(), .why = span_text(asked->why)};
    struct span *by = stop.what.by;
    unsigned char digest[DIGEST_BYTES];
    char actor[ACTOR_BYTES], session[2 * DIGEST_BYTES];
    int status;

    by[STOP_TENANT] = span_text(asked->tenant);
    by[STOP_PRINCIPAL] = span_text(asked->principal);
    by[STOP_AGENT] = span_text(asked->agent);
    by[STOP_UPSTREAM] = span_text(asked->upstream);
    by[STOP_TOOL] = span_text(asked->tool);
    if (asked->session != NULL) {
        asked_session(asked, digest);
        num_hex(digest, sizeof digest, session);
        by[STOP_SESSION] = span_of(session, sizeof session);
    }
    status = check_names(&stop.what, asked->all);
    if (status == OPTIONS_GO)
        status = stop_names_check(asked, &stop.what);
    if (status != OPTIONS_GO)
        return status;
    if (asked->check)
        return tell_note(asked, &stop.what);
    actor_name(actor);
    stop.made_by = span_text(actor);
    stop.what.until_us = asked->lasts_ms > 0 ? stop.made_us + (int64_t)asked->lasts_ms * 1000 : 0;
    return place(asked, &stop);
}

/* ---- resume ------------------------------------------------------------------------------------------------------------ */

static enum code end_one(struct db *db, int64_t id, struct span actor, struct span reason, struct why *why)
{
    struct db_stmt *stop;
    enum code code = db_find(db, "SELECT made_by FROM stop WHERE id = ?1", DB_VALUES(db_of_int(id)), &stop);
    bool is_others = code == CODE_OK && command_is_own() && !span_equals(db_text(stop, 0), actor);

    db_finalize(&stop);
    if (code == CODE_NOT_FOUND)
        return why_set(why, code, "there is no stop %" PRId64 "; `callgate stops` lists them", id);
    if (is_others)
        return why_set(why, CODE_DENIED, "stop %" PRId64 " is another's: a responder ends his own, an admin any", id);
    if (code == CODE_OK)
        code = db_change(db, "INSERT INTO stop_end(mark, ended_us, ended_by, why) SELECT mark, ?2, ?3, ?4 FROM stop "
                         "WHERE id = ?1",
                         DB_VALUES(db_of_int(id), db_of_int(clock_wall_us()), db_of_text(actor), db_of_text(reason)));
    if (code == CODE_EXISTS)
        return why_set(why, code, "stop %" PRId64 " was lifted already", id);
    return db_why(why, code, db, "writing the store");
}

int cmd_resume(const struct asked *asked)
{
    int64_t id = (int64_t)asked_number(asked, 0);
    struct fleet_words words;
    char actor[ACTOR_BYTES];
    struct why why = {0};
    enum code code;

    actor_name(actor);
    code = fleet_words_open(&words, asked, DB_WRITE, FLEET_WORDS_LOCKED, &why);
    if (code == CODE_OK)
        code = end_one(words.db, id, span_text(actor), span_text(asked->why), &why);
    code = fleet_words_end(&words, code, "resume", NULL, &why);
    if (code == CODE_OK)
        code = tell(words.db, id, asked->json, SPAN_NONE,
                    "stop {stop} is lifted; a running gate goes by it within a second\n", &why);
    fleet_words_close(&words);
    if (code == CODE_NOT_FOUND || code == CODE_EXISTS || code == CODE_DENIED)
        return complain(STATUS_NEGATIVE, "%s", why.text);
    return code == CODE_OK ? STATUS_DONE : complain_why(code, &why);
}

/* ---- the list ----------------------------------------------------------------------------------------------------------- */

int cmd_stops(const struct asked *asked)
{
    static const struct table_column columns[] = {
        {.title = "stop", .is_right = true, .least = TABLE_WHOLE}, {.title = "state", .least = TABLE_WHOLE},
        {.title = "of", .words = NAMES}, {.title = "until", .none = "it is lifted"}, {.title = "made by", .key = "made_by"},
        {.title = "why"},
    };
    struct table table;
    struct why why = {0};
    struct db_stmt *row = NULL;
    struct db *db = NULL;
    enum code code = asked_store(asked, DB_READ, &db, &why);

    TABLE_BEGIN(&table, columns, asked->json);
    if (code == CODE_OK)
        code = db_select(db, SELECT_STOPS "WHERE ?1 OR (e.id IS NULL AND (s.until_us IS NULL OR s.until_us > ?2)) "
                         "ORDER BY s.id",
                         DB_VALUES(db_of_int(asked->all), db_of_int(clock_wall_us())), &row);
    while (db_next(&row, &code)) {
        struct doc *doc = doc_of(row);

        code = table_add(&table, &doc);
    }
    code = db != NULL ? db_why(&why, code, db, "reading the store") : code;
    db_close(&db);
    table.nothing = code == CODE_OK ? "nothing is stopped" : NULL;
    (void)table_end(&table);
    return code == CODE_OK ? STATUS_DONE : complain_why(code, &why);
}
