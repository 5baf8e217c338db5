/* SPDX-License-Identifier: Apache-2.0 */
#include "query/fleet_nodes.h"

#include "args/print.h"
#include "os/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define CLOCK_MOST_US INT64_C(2000000)
#define SENTENCE_BYTES 256

enum { NAME, HEARD, CLOCK, PROGRAM, CONFIGURATION, CHANGE, POLICY, BEHIND, STALE, SHIPPED, LAG_ROWS, LAG, PROBLEM, CHECKPOINT,
       COSIGNED, COSIGNER, FORKED };

enum state { NEVER, IS_FORKED, IS_STALE, AWAY, IS_BEHIND, LIVE };

static const char *const states[] = {"never heard", "forked", "stale", "away", "behind", "live"};

/* Returns: how many rows there are where it has none. */
static size_t row_of(const struct pg_rows *rows, const char *name)
{
    size_t row = 0;

    while (row < pg_rows_count(rows) && !span_is(pg_rows_bytes(rows, row, NAME), name))
        row++;
    return row;
}

static int64_t newest_change(const struct pg_rows *rows)
{
    int64_t found = 0;

    for (size_t row = 0; row < pg_rows_count(rows); row++)
        if (pg_rows_int(rows, row, CHANGE) > found)
            found = pg_rows_int(rows, row, CHANGE);
    return found;
}

static enum state state_of(const struct pg_rows *rows, size_t row, int64_t newest)
{
    int64_t heard_us = row < pg_rows_count(rows) ? pg_rows_int(rows, row, HEARD) : 0;

    if (row >= pg_rows_count(rows))
        return NEVER;
    if (pg_rows_int(rows, row, FORKED) != 0)
        return IS_FORKED;
    if (heard_us > FLEET_NODES_HEARD_US)
        return heard_us > pg_rows_int(rows, row, STALE) ? IS_STALE : AWAY;
    return pg_rows_int(rows, row, BEHIND) != 0 || pg_rows_int(rows, row, CHANGE) < newest ? IS_BEHIND : LIVE;
}

/* What follows from its state, where the node itself has told nothing. */
static void say(const struct pg_rows *rows, size_t row, enum state state, char out[SENTENCE_BYTES])
{
    int64_t heard_s = row < pg_rows_count(rows) ? pg_rows_int(rows, row, HEARD) / 1000000 : 0;

    *out = '\0';
    if (state == NEVER)
        (void)snprintf(out, SENTENCE_BYTES, "it has joined and was not heard of yet: its gate does not run, or does not "
                       "reach the centre");
    else if (state == IS_FORKED)
        (void)snprintf(out, SENTENCE_BYTES, "the centre has another record of it: it denies all calls; find out who has copied "
                       "it, then `callgate fleet rejoin`");
    else if (state == IS_STALE)
        (void)snprintf(out, SENTENCE_BYTES, "not heard of for %" PRId64 " s, longer than its `stale`: where it runs, it "
                       "denies all calls", heard_s);
    else if (state == AWAY)
        (void)snprintf(out, SENTENCE_BYTES, "not heard of for %" PRId64 " s: where it runs, it goes on with what it has, and "
                       "denies all calls after %" PRId64 " s", heard_s, pg_rows_int(rows, row, STALE) / 1000000);
    else if (state == IS_BEHIND && pg_rows_int(rows, row, BEHIND) != 0)
        (void)snprintf(out, SENTENCE_BYTES, "it cannot take version %" PRId64 " of the policy: it denies all calls; upgrade "
                       "it, or load one that it knows", pg_rows_int(rows, row, BEHIND));
    else if (state == IS_BEHIND)
        (void)snprintf(out, SENTENCE_BYTES, "it does not go by the newest change yet");
}

/* Microseconds as seconds with one digit. */
static void put_seconds(struct doc *doc, const char *key, int64_t us)
{
    char text[32];

    (void)snprintf(text, sizeof text, "%s%" PRId64 ".%" PRId64, us < 0 ? "-" : "", (us < 0 ? -us : us) / 1000000,
                   (us < 0 ? -us : us) / 100000 % 10);
    doc_json(doc, key, span_text(text));
}

static void put_nothing(struct doc *doc)
{
    static const char *const told[] = {"heard_s", "stale_s", "clock_off_s", "clock_is_off", "program", "policy",
                                       "configuration", "change", "behind", "shipped", "lag_rows", "lag_s", "checkpoint",
                                       "cosigned", "cosigner"};

    for (size_t i = 0; i < sizeof told / sizeof told[0]; i++)
        doc_null(doc, told[i]);
}

static void put_told(struct doc *doc, const struct pg_rows *rows, size_t row)
{
    int64_t clock_us = pg_rows_int(rows, row, CLOCK);

    put_seconds(doc, "heard_s", pg_rows_int(rows, row, HEARD));
    put_seconds(doc, "stale_s", pg_rows_int(rows, row, STALE));
    put_seconds(doc, "clock_off_s", clock_us);
    doc_bool(doc, "clock_is_off", clock_us > CLOCK_MOST_US || clock_us < -CLOCK_MOST_US);
    doc_text(doc, "program", pg_rows_bytes(rows, row, PROGRAM));
    print_number(doc, "policy", pg_rows_int(rows, row, POLICY));
    doc_text(doc, "configuration", pg_rows_bytes(rows, row, CONFIGURATION));
    doc_int(doc, "change", pg_rows_int(rows, row, CHANGE));
    print_number(doc, "behind", pg_rows_int(rows, row, BEHIND));
    doc_int(doc, "shipped", pg_rows_int(rows, row, SHIPPED));
    doc_int(doc, "lag_rows", pg_rows_int(rows, row, LAG_ROWS));
    put_seconds(doc, "lag_s", pg_rows_int(rows, row, LAG));
    print_number(doc, "checkpoint", pg_rows_int(rows, row, CHECKPOINT));
    print_number(doc, "cosigned", pg_rows_int(rows, row, COSIGNED));
    doc_text_or_null(doc, "cosigner", pg_rows_bytes(rows, row, COSIGNER));
}

/* What a node told of itself when it was connected last is no news of one that is away. Returns: whether nothing ails it. */
static bool put_node(struct doc *list, const struct pg_rows *rows, const char *name, int64_t newest)
{
    size_t row = row_of(rows, name);
    enum state state = state_of(rows, row, newest);
    struct span own = state == LIVE || state == IS_BEHIND ? pg_rows_bytes(rows, row, PROBLEM) : SPAN_NONE;
    struct doc *doc = doc_add_object(list, NULL);
    char sentence[SENTENCE_BYTES];

    say(rows, row, state, sentence);
    doc_text(doc, "node", span_text(name));
    doc_text(doc, "state", span_text(states[state]));
    if (state == NEVER)
        put_nothing(doc);
    else
        put_told(doc, rows, row);
    if (own.len > 0)
        doc_text(doc, "problem", own);
    else
        doc_text_or_null(doc, "problem", sentence[0] != '\0' ? span_text(sentence) : SPAN_NONE);
    return state == LIVE && own.len == 0;
}

enum code fleet_is_synchronous(struct pg *pg, bool *is, struct why *why)
{
    int64_t follows;
    enum code code = pg_number(pg, "SELECT current_setting('synchronous_standby_names') <> '' AND "
                               "current_setting('synchronous_commit') IN ('on', 'remote_write', 'remote_apply')", NULL, 0,
                               &follows, why);

    *is = follows != 0;
    return code;
}

enum code fleet_nodes_ask(struct pg *pg, const struct roster *roster, struct doc **out, struct why *why)
{
    struct pg_rows *rows = NULL;
    bool is_good = true, is_synchronous = false;
    enum code code = fleet_is_synchronous(pg, &is_synchronous, why);
    struct doc *list;

    if (code == CODE_OK)
        code = pg_ask(pg, "SELECT * FROM callgate.fleet_status()", NULL, 0, &rows, why);
    if (code != CODE_OK)
        return code;
    *out = doc_object();
    doc_text(*out, "fleet", span_text(roster->fleet));
    doc_int(*out, "roster", roster->number);
    doc_int(*out, "change", newest_change(rows));
    print_time(*out, "as_of", clock_wall_us());
    doc_bool(*out, "synchronous", is_synchronous);
    list = doc_add_array(*out, "nodes");
    for (size_t i = 0; i < roster->count; i++)
        if (roster->nodes[i].until == 0)
            is_good = put_node(list, rows, roster->nodes[i].name, newest_change(rows)) && is_good;
    doc_bool(*out, "good", is_good);
    doc_null(*out, "problem");
    pg_rows_free(&rows);
    return CODE_OK;
}
