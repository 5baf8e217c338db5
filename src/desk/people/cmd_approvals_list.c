/* SPDX-License-Identifier: Apache-2.0 */
/* callgate approvals list: the calls that wait for a person, now and as they come. */
#include "people/cmd_approvals_priv.h"
#include "cli/table.h"
#include "store/store.h"

#include "os/clock.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>

#define LOOK_MS 500
#define NARROW 20 /* cells of the arguments at least */

static const struct table_column columns[] = {
    {.title = "approval", .is_right = true, .least = TABLE_WHOLE},
    {.title = "age", .words = "{asked:ago}", .least = TABLE_WHOLE},
    {.title = "state", .least = TABLE_WHOLE}, {.title = "tenant"}, {.title = "principal", .words = "{principal}[ by {agent}]"},
    {.title = "tool", .words = "[{tool}][{!tool}{method}]"}, {.title = "rule"},
    {.title = "people", .words = "[{people}][{?people}{*approvers} of {.}{/ or }][{!people}{*approvers}{.}{/ or }]"},
    {.title = "arguments", .least = NARROW},
};
#define STATE 2 /* among them; said where it is not the same of all */

struct listing {
    struct db *db;
    struct table table;
    const char *tenant;
    int64_t now_us;
    int64_t last; /* that was looked at */
};

static void begin_list(struct listing *listing, const struct asked *asked)
{
    *listing = (struct listing){.now_us = clock_wall_us(), .tenant = asked->tenant};
    TABLE_BEGIN(&listing->table, columns, asked->json);
    listing->table.hidden[STATE] = !asked->all;
}

static enum code list_one(struct listing *listing, const struct store_approval *approval)
{
    struct doc *row;

    if (listing->tenant != NULL && !span_is(approval->tenant, listing->tenant))
        return CODE_OK;
    row = cmd_approvals__doc(listing->db, approval, listing->now_us);
    return table_add(&listing->table, &row);
}

static void end_list(const struct table *table)
{
    if (!table->as_json && table->rows > 0)
        printf("\nlook at one:  callgate approvals show APPROVAL\n"
               "decide:       callgate approvals approve APPROVAL --why TEXT\n"
               "              callgate approvals refuse APPROVAL --why TEXT\n");
}

/* One at a time, since it is written when the store is not being read: whoever reads slowly locks nobody out. */
static enum code list_next(void *context, const struct store_approval *approval)
{
    struct listing *listing = context;
    size_t before = listing->table.rows;
    enum code code;

    listing->last = approval->id;
    code = list_one(listing, approval);
    return code == CODE_OK && listing->table.rows > before ? CODE_LIMIT : code;
}

/* CODE_DOWN: nobody reads it. */
static enum code list_each(struct db *db, enum store_approvals which, store_approval_fn next, struct listing *listing,
                           struct why *why)
{
    enum code code = CODE_LIMIT;

    listing->db = db;
    while (code == CODE_LIMIT) {
        code = store_approvals_each(db, which, listing->last, listing->now_us, next, listing, why);
        if (listing->table.waiting + 1 == TABLE_BATCH || listing->table.as_json)
            if (table_flush(&listing->table) != CODE_OK)
                return CODE_DOWN;
    }
    return code;
}

static int list_once(const struct asked *asked)
{
    struct listing listing;
    struct why why = {0};
    struct db *db = NULL;
    enum code code = asked_store(asked, DB_READ, &db, &why);

    begin_list(&listing, asked);
    if (code == CODE_OK)
        code = list_each(db, asked->all ? APPROVALS_AFTER : APPROVALS_WAITING, list_next, &listing, &why);
    db_close(&db);
    listing.table.nothing = code == CODE_OK ? "nothing waits for a person" : NULL;
    (void)table_end(&listing.table);
    if (code != CODE_OK && code != CODE_DOWN)
        return complain_why(code, &why);
    end_list(&listing.table);
    return STATUS_DONE;
}

/* ---- --follow ---- */

struct watching {
    struct listing listing; /* first */
    bool is_first;
    int64_t answer; /* that was looked at; negative: none yet */
};

static enum code watch_next(void *context, const struct store_approval *approval)
{
    struct watching *watching = context;

    if (!watching->is_first || store_approval_state(approval, watching->listing.now_us) == APPROVAL_IS_WAITING)
        return list_next(&watching->listing, approval);
    watching->listing.last = approval->id;
    return CODE_OK;
}

static volatile sig_atomic_t is_interrupted;

static void interrupt(int signo)
{
    (void)signo;
    is_interrupted = 1;
}

/* Blocks: some time. A reader that went away is noticed also while nothing is written. */
static bool is_wanted(void)
{
    struct pollfd reader = {.fd = 1, .events = 0};

    return !is_interrupted && (poll(&reader, 1, LOOK_MS) <= 0 || (reader.revents & (POLLERR | POLLHUP)) == 0) &&
           !is_interrupted;
}

static enum code list_answered(void *context, const struct store_approval *approval)
{
    return list_one(context, approval);
}

/* What people have decided since the last look, each as it is by now. */
static enum code look_for_answers(struct db *db, struct watching *watching, struct why *why)
{
    int64_t ask = 1;
    enum code code = CODE_OK;

    while (code == CODE_OK && ask != 0) {
        code = store_approval_answered(db, &watching->answer, &ask, why);
        if (code == CODE_OK && ask != 0)
            code = store_approvals_each(db, APPROVALS_ONE, ask, watching->listing.now_us, list_answered, &watching->listing,
                                        why);
        if (table_flush(&watching->listing.table) != CODE_OK)
            code = CODE_DOWN;
    }
    return code;
}

/* All that came since the last look. A store that somebody writes is read at the next. */
static enum code look(struct db *db, struct watching *watching, bool all, struct why *why)
{
    enum code code;

    watching->listing.now_us = clock_wall_us();
    code = all ? look_for_answers(db, watching, why) : CODE_OK; /* first, since what comes meanwhile is shown as it is then */
    if (code == CODE_OK)
        code = list_each(db, APPROVALS_AFTER, watch_next, &watching->listing, why);
    if (table_flush(&watching->listing.table) != CODE_OK)
        code = CODE_DOWN;
    watching->is_first = watching->is_first && code != CODE_OK;
    return code == CODE_BUSY ? CODE_OK : code;
}

static int list_and_follow(const struct asked *asked)
{
    struct watching watching = {.is_first = true, .answer = -1};
    struct why why = {0};
    struct db *db = NULL;
    enum code code;

    (void)sigaction(SIGINT, &(struct sigaction){.sa_handler = interrupt}, NULL);
    (void)sigaction(SIGTERM, &(struct sigaction){.sa_handler = interrupt}, NULL);
    (void)sigaction(SIGPIPE, &(struct sigaction){.sa_handler = SIG_IGN}, NULL);
    begin_list(&watching.listing, asked);
    code = asked_store(asked, DB_READ, &db, &why);
    while (code == CODE_OK && (code = look(db, &watching, asked->all, &why)) == CODE_OK && is_wanted())
        code = command_goes_on() ? CODE_OK : CODE_DENIED;
    db_close(&db);
    (void)table_end(&watching.listing.table);
    if (code == CODE_DENIED)
        return STATUS_CANNOT;
    return code == CODE_OK || code == CODE_DOWN ? STATUS_DONE : complain_why(code, &why);
}

int cmd_approvals_list(const struct asked *asked)
{
    return asked->follow ? list_and_follow(asked) : list_once(asked);
}
