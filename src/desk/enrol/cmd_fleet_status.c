/* SPDX-License-Identifier: Apache-2.0 */
/* callgate fleet status: what each node of the roster last told the centre of itself, and what the centre has of it. */
#include "args/print.h"
#include "cli/commands.h"
#include "cli/told.h"
#include "enrol/enrol.h"

#include "base/mem.h"
#include "json/doc.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define HEARD_MOST_US INT64_C(10000000) /* who was heard within it counts as connected */
#define CLOCK_MOST_US INT64_C(2000000)

struct asking {
    struct member *member;
    struct pg *pg;
    struct roster *roster;
    struct pg_rows *rows;
    bool is_bad;
};

/* ---- asking ---- */

static enum code find_membership(const struct asked *asked, struct arena *arena, const char **path, const char **database,
                                 struct why *why)
{
    struct conf_fleet fleet = {.database = NULL};
    struct faults faults;
    enum code code;

    *path = asked->membership;
    if (*path != NULL)
        return CODE_OK;
    faults_init(&faults);
    code = conf_fleet(asked->file, arena, &fleet, &faults);
    if (code != CODE_OK)
        return why_of_faults(why, code, &faults);
    *path = fleet.membership;
    *database = fleet.database;
    return *path != NULL ? CODE_OK
                         : why_set(why, CODE_INVALID, "the configuration has no `fleet:`; name a membership by --membership");
}

static enum code connect_to(struct asking *asking, const char *database, struct why *why)
{
    const struct member *member = asking->member;
    const struct pg_place place = {.database = database != NULL ? database : member->database, .folder = member->folder,
                                   .user = span_text(member->role), .password = span_text(member->password), .is_any = true};

    return pg_open(&place, "callgate fleet status", &asking->pg, why);
}

static enum code ask_roster(struct asking *asking, struct why *why)
{
    const struct member *member = asking->member;
    struct pg_rows *rows = NULL;
    enum code code = pg_ask(asking->pg, "SELECT text, signature FROM callgate.roster ORDER BY number DESC LIMIT 1", NULL, 0,
                            &rows, why);

    if (code == CODE_OK)
        code = roster_read(pg_rows_bytes(rows, 0, 0), pg_rows_bytes(rows, 0, 1), member->root, member->fleet, &asking->roster,
                           why);
    pg_rows_free(&rows);
    if (code == CODE_OK && !member->is_reader && asking->roster->number < member->roster->number)
        code = why_set(why, CODE_DENIED,
                       "the centre shows roster %" PRId64 ", and this node joined with %" PRId64 ": somebody put an "
                       "old one there, or restored a backup", asking->roster->number, member->roster->number);
    return code;
}

static enum code ask_all(const struct asked *asked, struct asking *asking, struct why *why)
{
    struct arena arena;
    const char *path = NULL, *database = NULL;
    enum code code;

    arena_init(&arena, (size_t)1 << 20);
    code = find_membership(asked, &arena, &path, &database, why);
    if (code == CODE_OK)
        code = member_read(path, &asking->member, why);
    if (code == CODE_OK)
        code = connect_to(asking, database, why);
    arena_fini(&arena);
    if (code == CODE_OK)
        code = ask_roster(asking, why);
    if (code == CODE_OK)
        code = pg_ask(asking->pg, "SELECT * FROM callgate.fleet_status()", NULL, 0, &asking->rows, why);
    return code;
}

/* ---- telling ---- */

enum { NAME, HEARD, CLOCK, PROGRAM, CONFIGURATION, CHANGE, BEHIND, SHIPPED, LAG_ROWS, LAG, PROBLEM, CHECKPOINT, COSIGNED,
      COSIGNER,
       FORKED };

static size_t row_of(const struct asking *asking, const char *name)
{
    size_t row = 0;

    while (row < pg_rows_count(asking->rows) && !span_is(pg_rows_bytes(asking->rows, row, NAME), name))
        row++;
    return row;
}

static int64_t most(const struct asking *asking, int column)
{
    int64_t found = 0;

    for (size_t row = 0; row < pg_rows_count(asking->rows); row++)
        if (pg_rows_int(asking->rows, row, (size_t)column) > found)
            found = pg_rows_int(asking->rows, row, (size_t)column);
    return found;
}

static const char *state_of(const struct asking *asking, size_t row)
{
    const struct pg_rows *rows = asking->rows;

    if (row >= pg_rows_count(rows))
        return "never heard";
    if (pg_rows_int(rows, row, FORKED) != 0)
        return "forked";
    if (pg_rows_int(rows, row, HEARD) > HEARD_MOST_US)
        return "away";
    return pg_rows_int(rows, row, BEHIND) != 0 || pg_rows_int(rows, row, CHANGE) < most(asking, CHANGE) ? "behind" : "live";
}

/* Microseconds as seconds with one digit; what nobody knows is null. */
static void put_seconds(struct doc *doc, const char *key, int64_t us)
{
    char text[32];

    (void)snprintf(text, sizeof text, "%s%" PRId64 ".%" PRId64, us < 0 ? "-" : "", (us < 0 ? -us : us) / 1000000,
                   (us < 0 ? -us : us) / 100000 % 10);
    doc_json(doc, key, span_text(text));
}

static void tell_node(struct asking *asking, struct doc *list, const char *name)
{
    const struct pg_rows *rows = asking->rows;
    size_t row = row_of(asking, name);
    const char *state = state_of(asking, row);
    struct doc *doc = doc_add_object(list, NULL);
    int64_t clock_us = pg_rows_int(rows, row, CLOCK);

    doc_text(doc, "node", span_text(name));
    doc_text(doc, "state", span_text(state));
    if (strcmp(state, "live") != 0 || pg_rows_bytes(rows, row, PROBLEM).len > 0)
        asking->is_bad = true;
    if (row >= pg_rows_count(rows))
        return;
    put_seconds(doc, "heard_s", pg_rows_int(rows, row, HEARD));
    put_seconds(doc, "clock_off_s", clock_us);
    doc_bool(doc, "clock_is_off", clock_us > CLOCK_MOST_US || clock_us < -CLOCK_MOST_US);
    doc_text(doc, "program", pg_rows_bytes(rows, row, PROGRAM));
    doc_text(doc, "configuration", pg_rows_bytes(rows, row, CONFIGURATION));
    doc_int(doc, "change", pg_rows_int(rows, row, CHANGE));
    print_number(doc, "behind", pg_rows_int(rows, row, BEHIND));
    doc_int(doc, "shipped", pg_rows_int(rows, row, SHIPPED));
    doc_int(doc, "lag_rows", pg_rows_int(rows, row, LAG_ROWS));
    put_seconds(doc, "lag_s", pg_rows_int(rows, row, LAG));
    print_number(doc, "checkpoint", pg_rows_int(rows, row, CHECKPOINT));
    print_number(doc, "cosigned", pg_rows_int(rows, row, COSIGNED));
    doc_text_or_null(doc, "cosigner", pg_rows_bytes(rows, row, COSIGNER));
    doc_text(doc, "problem", pg_rows_bytes(rows, row, PROBLEM));
}

static int tell(const struct asked *asked, struct asking *asking)
{
    struct doc *doc = doc_object(), *list;

    doc_text(doc, "fleet", span_text(asking->member->fleet));
    doc_int(doc, "roster", asking->roster->number);
    doc_int(doc, "change", most(asking, CHANGE));
    list = doc_add_array(doc, "nodes");
    for (size_t i = 0; i < asking->roster->count; i++)
        if (asking->roster->nodes[i].until == 0)
            tell_node(asking, list, asking->roster->nodes[i].name);
    (void)told_answer(&doc, asked->json,
                      "fleet {fleet}, roster {roster}, change {change}\n"
                      "{*nodes}{node}: {state}[, heard {heard_s} s ago], change {change}[, cannot take version {behind}]"
                      "[, {lag_rows} rows behind at the centre, the oldest of {lag_s} s]"
                      "[, checkpoint {checkpoint}][, cosigned {cosigned} by {cosigner}]"
                      "[{?clock_is_off}, its clock is off by {clock_off_s} s][\n  {problem}]\n{/}");
    return asking->is_bad ? STATUS_NEGATIVE : STATUS_DONE;
}

int cmd_fleet_status(const struct asked *asked)
{
    struct asking asking = {.member = NULL};
    struct why why = {0};
    enum code code = ask_all(asked, &asking, &why);
    int status = code == CODE_OK ? tell(asked, &asking) : complain_why(code, &why);

    pg_rows_free(&asking.rows);
    pg_close(&asking.pg);
    roster_free(&asking.roster);
    member_free(&asking.member);
    return status;
}
