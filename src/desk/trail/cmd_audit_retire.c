/* SPDX-License-Identifier: Apache-2.0 */
/* callgate audit retire: files of the trail are given away. The trail says so first, and then they may be moved. */
#include "trail/cmd_audit_priv.h"
#include "args/print.h"
#include "cli/store_words.h"
#include "cli/told.h"
#include "fleet/fleet_state.h"
#include "store/store.h"
#include "store/store_behind.h"
#include "store/store_holds.h"

#include "audit/writer.h"
#include "files/files.h"
#include "os/clock.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LOOK_MS 50
#define WAIT_MS 60000

/* The oldest files, so many, and what is missing of the trail before each of them; rows up to `before`
 * were given away already. */
struct retiring {
    const struct trail *trail;
    size_t count;
    int64_t before;
    bool despite_unshipped;
};

/* The last of the files that go. Returns: OPTIONS_GO with *at, or a status. */
static int find_last(const struct trail *trail, const char *named, size_t *at)
{
    for (*at = 0; *at + 1 < trail->count; ++*at)
        if (strcmp(files_base(trail->files[*at].path), files_base(named)) == 0)
            return OPTIONS_GO;
    if (trail->count > 0 && strcmp(files_base(trail->files[*at].path), files_base(named)) == 0)
        return complain(STATUS_USAGE, "%s is the file that is written, or the last one; `callgate audit archive` seals it "
                        "first", named);
    return complain(STATUS_USAGE, "%s is no sealed file of the trail; `callgate audit verify --all` names them", named);
}

/* A gate puts the store's rows into its audit within a second, and then remembers that. Returns: whether it did. */
static bool await_told(struct db *store, const char *mark, int64_t id, struct why *why)
{
    char name[64];
    int64_t told = 0;

    (void)snprintf(name, sizeof name, STORE_RETIREMENTS "@%s", mark);
    for (int waited_ms = 0; waited_ms < WAIT_MS && told < id; waited_ms += LOOK_MS) {
        enum code code = store_told(store, name, &told, why);

        if (code != CODE_OK && code != CODE_BUSY)
            return false;
        (void)nanosleep(&(struct timespec){.tv_nsec = LOOK_MS * 1000000L}, NULL);
    }
    return told >= id;
}

/* Whether a file has calls that a hold keeps, of those that the words behind `sql` leave. */
static enum code finds_held(const struct trail_file *file, struct db_stmt *hold, const char *sql, bool *has, struct why *why)
{
    const struct db_value keeps[] = {
        db_of_text(db_text(hold, 1)), db_of_text(db_text(hold, 2)),
        db_of_int(db_is_null(hold, 3) ? INT64_MIN : db_int(hold, 3)),
        db_of_int(db_is_null(hold, 4) ? INT64_MAX : db_int(hold, 4)),
    };
    struct db_stmt *row = NULL;
    struct db *db;
    enum code code = trail_open(file->path, &db, why);

    if (code != CODE_OK)
        return code;
    code = db_find(db, sql, keeps, sizeof keeps / sizeof keeps[0], &row);
    *has = code == CODE_OK;
    if (code != CODE_OK && code != CODE_NOT_FOUND)
        (void)why_set(why, code, "%s: %s", file->path, db_error(db));
    db_finalize(&row);
    db_close(&db);
    return code == CODE_NOT_FOUND ? CODE_OK : code;
}

static enum code has_held(const struct trail_file *file, struct db_stmt *hold, bool *has, struct why *why)
{
    return finds_held(file, hold, "SELECT 1 FROM decision WHERE (?1 IS NULL OR tenant = ?1) AND (?2 IS NULL OR principal = ?2) "
                      "AND time_us >= ?3 AND time_us < ?4 LIMIT 1", has, why);
}

/* Of rows that are not here nobody knows more than that they are older than the file behind them. */
static enum code may_keep_missing(const struct retiring *retiring, size_t at, struct db_stmt *hold, bool *may, struct why *why)
{
    int64_t first, last;

    *may = trail_gap(retiring->trail, at, &first, &last) && last >= first && last > retiring->before;
    if (!*may)
        return CODE_OK;
    return finds_held(&retiring->trail->files[at], hold, "SELECT 1 WHERE ?1 IS ?1 AND ?2 IS ?2 AND ?4 IS ?4 AND "
                      "coalesce((SELECT time_us FROM decision ORDER BY seq LIMIT 1), ?3 + 1) > ?3", may, why);
}

static enum code refuse_for(struct db_stmt *hold, const char *what, const char *path, struct why *why)
{
    return why_set(why, CODE_DENIED, "nothing was given away: hold %" PRId64 " %s %s (%.*s placed it; `callgate audit release "
                   "%" PRId64 " --why TEXT` ends it): %.*s", db_int(hold, 0), what, path, SPAN_ARG(db_text(hold, 5)),
                   db_int(hold, 0), SPAN_ARG(db_text(hold, 6)));
}

/* CODE_DENIED: who may have to show it may not give it away. */
static enum code refuse_held(struct db *store, const struct retiring *retiring, struct why *why)
{
    struct db_stmt *hold = NULL;
    enum code code = db_select(store, STORE_HOLDS_STANDING, NULL, 0, &hold);

    why->text[0] = '\0';
    while (db_next(&hold, &code))
        for (size_t i = 0; i < retiring->count && code == CODE_OK; i++) {
            const struct trail_file *file = &retiring->trail->files[i];
            bool has = false, may = false;

            code = has_held(file, hold, &has, why);
            if (code == CODE_OK && !has)
                code = may_keep_missing(retiring, i, hold, &may, why);
            if (code == CODE_OK && (has || may))
                code = refuse_for(hold, has ? "keeps calls in" : "may keep calls in rows that are not here, before", file->path,
                                  why);
        }
    if (code != CODE_OK && why->text[0] == '\0')
        (void)why_set(why, code, "%s", db_error(store));
    return code;
}

/* The event says how far the fleet's centre has the trail: what is missing there from then on was given away, and no other row.
 * CODE_DENIED: rows would be nowhere then, and nobody said that they may. */
static enum code look_shipped(const struct conf *conf, struct db *store, bool despite, struct store_retirement *retirement,
                              struct why *why)
{
    struct fleet_state state;
    enum code code;

    retirement->shipped = -1;
    if (conf->fleet.membership == NULL)
        return CODE_OK;
    code = fleet_state_load(store, &state, why);
    if (code == CODE_OK)
        retirement->shipped = state.shipped_seq;
    if (code != CODE_OK || despite || state.shipped_seq >= retirement->last)
        return code;
    return why_set(why, CODE_DENIED, "nothing was given away: the fleet's centre has the trail up to row %" PRId64 ", and "
                   "these files go to row %" PRId64 "; wait for it (`callgate status` shows how far it is), or say "
                   "--despite-unshipped", state.shipped_seq, retirement->last);
}

/* Takes: *runs: set where a gate is told, and has told its trail. */
static int record(const struct conf *conf, const struct retiring *retiring, struct store_retirement *retirement, bool *runs)
{
    char mark[STORE_MARK_BYTES];
    struct store_places places;
    struct db *store = NULL;
    struct why why = {""};
    int64_t id = 0;
    int lock_fd = -1, status = STATUS_DONE;
    enum code code;

    *runs = audit_hold(conf->audit.database, &lock_fd, &why) == CODE_BUSY;
    code = store_open(conf->store, DB_WRITE, &store, &why);
    if (lock_fd >= 0)
        (void)close(lock_fd);
    if (code == CODE_OK && !*runs) /* an older one may lack a hold */
        code = store_is_behind(store, conf->store, conf->audit.database, &places, &why);
    if (code == CODE_OK)
        code = look_shipped(conf, store, retiring->despite_unshipped, retirement, &why);
    if (code == CODE_OK)
        code = store_audit_mark(conf->audit.database, mark, &why);
    while (code == CODE_OK && id == 0) { /* whether a file has calls of a hold's may take long: another may come meanwhile */
        code = store_holds_newest(store, &retirement->newest_hold, &why);
        if (code == CODE_OK)
            code = refuse_held(store, retiring, &why);
        if (code == CODE_OK)
            code = store_audit_retire(store, mark, retirement, &id, &why);
    }
    if (code != CODE_OK)
        status = complain_why(code, &why);
    else if (*runs && !await_told(store, mark, id, &why))
        status = complain(STATUS_NEGATIVE, "the gate has not told the trail of it in a minute; leave the files until its event "
                          "`retired` is there");
    db_close(&store);
    return status;
}

static int tell(const struct store_retirement *retirement, const struct trail *trail, size_t last, bool is_told, bool as_json)
{
    struct doc *doc = doc_object(), *files;

    doc_int(doc, "first_seq", retirement->first);
    doc_int(doc, "last_seq", retirement->last);
    print_time(doc, "retired", retirement->retired_us);
    doc_text(doc, "retired_by", retirement->actor);
    doc_text(doc, "why", retirement->why);
    doc_bool(doc, "in_trail", is_told);
    files = doc_add_array(doc, "files");
    for (size_t i = 0; i <= last; i++)
        doc_text(files, NULL, span_text(trail->files[i].path));
    return told_answer(&doc, as_json, "[{!in_trail}no gate runs: the trail tells of it at the next start; move the files "
                       "then\n]{*files}{.}\n{/}");
}

static int retire(const struct conf *conf, const struct asked *asked)
{
    struct store_retirement retirement = {.retired_us = clock_wall_us(), .why = span_text(asked->why)};
    struct trail trail = {0};
    struct why why = {""};
    char actor[ACTOR_BYTES];
    size_t at = 0;
    int64_t before = 0;
    bool runs = false;
    int status = OPTIONS_GO;
    enum code code = trail_find(conf->audit.database, true, &trail, &why);

    if (code == CODE_OK)
        code = trail_place_retired_to(&trail, &before, &why);
    if (code != CODE_OK)
        status = complain_why(code, &why);
    if (status == OPTIONS_GO)
        status = find_last(&trail, asked_operand(asked, 0), &at);
    if (status == OPTIONS_GO && trail.files[0].before_seq > before)
        print_safely(stderr, "callgate: rows %" PRId64 " to %" PRId64 " are not here any more; this says that they were given "
                     "away, too\n", before + 1, trail.files[0].before_seq);
    if (status == OPTIONS_GO) {
        actor_name(actor);
        retirement.actor = span_text(actor);
        retirement.first = before + 1;
        retirement.last = trail.files[at].last_seq;
        status = record(conf, &(struct retiring){&trail, at + 1, before, asked->despite_unshipped}, &retirement, &runs);
    }
    if (status == STATUS_DONE)
        status = tell(&retirement, &trail, at, runs, asked->json);
    trail_fini(&trail);
    return status;
}

int cmd_audit_retire(const struct asked *asked)
{
    struct conf *conf = NULL;
    int status = asked_conf(asked, &conf);

    if (status == OPTIONS_GO)
        status = retire(conf, asked);
    conf_free(&conf);
    return status;
}
