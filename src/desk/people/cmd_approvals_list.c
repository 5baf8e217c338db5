/* SPDX-License-Identifier: Apache-2.0 */
/* callgate approvals list and watch: the calls that wait for a person, now and as they come. */
#include "people/cmd_approvals_priv.h"
#include "cli/commands.h"
#include "args/print.h"
#include "store/store.h"
#include "unicode/terminal.h"

#include "os/clock.h"

#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>

#define TEXT_BYTES ((size_t)1 << 20)
#define LOOK_MS 500

enum { LIST_NUMBER = 0, LIST_AGE, LIST_STATE, LIST_TENANT, LIST_PRINCIPAL, LIST_TOOL, LIST_RULE, LIST_ARGUMENTS, LIST_COLUMNS };

#define LIST_TEXT_BYTES 1024 /* of a text, before it is fitted into its column */

struct listing {
    struct db *db;
    bool as_json, all;
    const char *tenant;
    int64_t now_us;
    size_t count;
    int64_t last; /* that was looked at */
    struct buf line, safe, arguments;
};

static enum code add_cell(struct listing *listing, struct span text, size_t cells)
{
    enum code code;

    buf_clear(&listing->safe);
    code = terminal_add(&listing->safe, text);
    if (code == CODE_OK)
        code = terminal_add_cell(&listing->line, buf_peek(&listing->safe), cells, true);
    return code == CODE_OK ? buf_add_text(&listing->line, "  ") : code;
}

#define NARROW 20 /* cells of the arguments at least */
#define WIDE 60   /* where nobody says how wide the terminal is */

/* One line, of names or of values; the arguments take what is left of the terminal. */
static enum code add_line(struct listing *listing, const struct span values[LIST_COLUMNS])
{
    static const size_t widths[LIST_COLUMNS] = {6, 7, 8, 12, 16, 20, 22, 0};
    size_t width = terminal_width(), left = WIDE;
    enum code code = CODE_OK;

    buf_clear(&listing->line);
    for (int i = 0; i < LIST_COLUMNS && code == CODE_OK; i++) {
        if (i == LIST_STATE && !listing->all)
            continue;
        if (i == LIST_ARGUMENTS && width > 0)
            left = width > terminal_cells(buf_peek(&listing->line)) + NARROW
                       ? width - terminal_cells(buf_peek(&listing->line))
                       : NARROW;
        code = add_cell(listing, span_part(values[i], 0, LIST_TEXT_BYTES), widths[i] > 0 ? widths[i] : left);
    }
    while (code == CODE_OK && span_ends_with(buf_peek(&listing->line), SPAN_LIT(" ")))
        buf_truncate(&listing->line, buf_len(&listing->line) - 1);
    if (code == CODE_OK)
        print_safely(stdout, "%.*s\n", SPAN_ARG(buf_peek(&listing->line)));
    return code;
}

/* Behind how many people approve it already, where it takes several. */
static enum code add_arguments(struct listing *listing, const struct store_approval *approval)
{
    enum code code;

    buf_clear(&listing->arguments);
    code = cmd_approvals__add_people(listing->db, approval, listing->now_us, &listing->arguments);
    if (code == CODE_OK && buf_len(&listing->arguments) > 0)
        code = buf_add_text(&listing->arguments, ": ");
    return code == CODE_OK ? buf_put(&listing->arguments, approval->arguments) : code;
}

static enum code list_line(struct listing *listing, const struct store_approval *approval)
{
    enum store_approval_state state = store_approval_state(approval, listing->now_us);
    char number[24], age[32];
    enum code code = add_arguments(listing, approval);
    const struct span values[LIST_COLUMNS] = {
        [LIST_NUMBER] = span_of(number, (size_t)snprintf(number, sizeof number, "%" PRId64, approval->id)),
        [LIST_AGE] = span_text(cmd_approvals__age(approval->asked_us, listing->now_us, age)),
        [LIST_STATE] = span_text(store_approval_state_text(state)), [LIST_TENANT] = approval->tenant,
        [LIST_PRINCIPAL] = approval->principal, [LIST_TOOL] = cmd_approvals__subject(approval), [LIST_RULE] = approval->rule,
        [LIST_ARGUMENTS] = buf_peek(&listing->arguments),
    };

    return code == CODE_OK ? add_line(listing, values) : code;
}

static enum code list_one(void *context, const struct store_approval *approval)
{
    static const struct span names[LIST_COLUMNS] = {
        {"number", 6}, {"age", 3}, {"state", 5}, {"tenant", 6}, {"principal", 9}, {"tool", 4}, {"rule", 4}, {"arguments", 9},
    };
    struct listing *listing = context;
    enum code code = CODE_OK;

    if (listing->tenant != NULL && !span_is(approval->tenant, listing->tenant))
        return CODE_OK;
    if (listing->count++ == 0 && !listing->as_json)
        code = add_line(listing, names);
    if (code != CODE_OK)
        return code;
    return listing->as_json ? cmd_approvals__print_json(listing->db, approval, listing->now_us) : list_line(listing, approval);
}

static void end_list(const struct listing *listing)
{
    if (listing->as_json)
        return;
    if (listing->count == 0)
        printf("nothing waits for a person\n");
    else
        printf("\nlook at one:  callgate approvals show NUMBER\n"
               "decide:       callgate approvals approve NUMBER --why TEXT\n"
               "              callgate approvals refuse NUMBER --why TEXT\n");
}

/* One at a time, since it is written when the store is not being read: whoever reads slowly locks nobody out. */
static enum code list_next(void *context, const struct store_approval *approval)
{
    struct listing *listing = context;
    size_t before = listing->count;
    enum code code;

    listing->last = approval->id;
    code = list_one(listing, approval);
    return code == CODE_OK && listing->count > before ? CODE_LIMIT : code;
}

/* CODE_DOWN: nobody reads it. */
static enum code list_each(struct db *db, enum store_approvals which, store_approval_fn next, struct listing *listing,
                           struct why *why)
{
    enum code code = CODE_LIMIT;

    listing->db = db;
    while (code == CODE_LIMIT) {
        code = store_approvals_each(db, which, listing->last, listing->now_us, next, listing, why);
        if (fflush(stdout) != 0)
            return CODE_DOWN;
    }
    return code;
}

int cmd_approvals_list(const struct asked *asked)
{
    struct listing listing = {.now_us = clock_wall_us(), .tenant = asked->tenant, .as_json = asked->json};
    struct why why = {0};
    struct db *db = NULL;
    enum code code;

    buf_init(&listing.line, TEXT_BYTES);
    buf_init(&listing.safe, TEXT_BYTES);
    buf_init(&listing.arguments, TEXT_BYTES);
    code = asked_store(asked, DB_READ, &db, &why);
    if (code == CODE_OK)
        code = list_each(db, asked->all ? APPROVALS_AFTER : APPROVALS_WAITING, list_next, &listing, &why);
    db_close(&db);
    buf_fini(&listing.line);
    buf_fini(&listing.safe);
    buf_fini(&listing.arguments);
    if (code != CODE_OK && code != CODE_DOWN)
        return complain_why(code, &why);
    end_list(&listing);
    return STATUS_DONE;
}

/* ---- watch ---- */

struct watching {
    struct listing listing; /* first */
    bool is_first;
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

/* All that came since the last look. A store that somebody writes is read at the next. */
static enum code look(struct db *db, struct watching *watching, struct why *why)
{
    enum code code;

    watching->listing.now_us = clock_wall_us();
    code = list_each(db, APPROVALS_AFTER, watch_next, &watching->listing, why);
    watching->is_first = watching->is_first && code != CODE_OK;
    return code == CODE_BUSY ? CODE_OK : code;
}

int cmd_approvals_watch(const struct asked *asked)
{
    struct watching watching = {.is_first = true, .listing = {.tenant = asked->tenant, .as_json = asked->json}};
    struct why why = {0};
    struct db *db = NULL;
    enum code code;

    (void)sigaction(SIGINT, &(struct sigaction){.sa_handler = interrupt}, NULL);
    (void)sigaction(SIGTERM, &(struct sigaction){.sa_handler = interrupt}, NULL);
    (void)sigaction(SIGPIPE, &(struct sigaction){.sa_handler = SIG_IGN}, NULL);
    buf_init(&watching.listing.line, TEXT_BYTES);
    buf_init(&watching.listing.safe, TEXT_BYTES);
    buf_init(&watching.listing.arguments, TEXT_BYTES);
    code = asked_store(asked, DB_READ, &db, &why);
    while (code == CODE_OK && (code = look(db, &watching, &why)) == CODE_OK && is_wanted())
        continue;
    db_close(&db);
    buf_fini(&watching.listing.line);
    buf_fini(&watching.listing.safe);
    buf_fini(&watching.listing.arguments);
    return code == CODE_OK || code == CODE_DOWN ? STATUS_DONE : complain_why(code, &why);
}
