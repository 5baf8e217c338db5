/* SPDX-License-Identifier: Apache-2.0 */
/* callgate audit hold, release and holds: what no erasure may take. */
#include "trail/cmd_audit_priv.h"
#include "args/print.h"
#include "cli/fleet_words.h"
#include "cli/store_words.h"
#include "cli/told.h"

#include "base/num.h"
#include "json/doc.h"
#include "os/clock.h"
#include "unicode/unicode.h"

#include <stdio.h>

#define NAME_BYTES_MAX 512

/* ---- a hold told ------------------------------------------------------------------------------------------------------ */

struct telling {
    int64_t id; /* 0: all of them */
    bool as_json;
    const char *words;
};

static enum code tell_one(void *context, const struct store_hold *hold)
{
    const struct telling *telling = context;
    struct doc *doc;

    if (telling->id != 0 && hold->id != telling->id)
        return CODE_OK;
    doc = doc_object();
    doc_int(doc, "hold", hold->id);
    doc_text(doc, "state", hold->released_us == 0 ? SPAN_LIT("holds") : SPAN_LIT("released"));
    doc_text_or_null(doc, "tenant", hold->tenant);
    doc_text_or_null(doc, "principal", hold->principal);
    print_time(doc, "since", hold->since_us);
    print_time(doc, "until", hold->until_us);
    print_time(doc, "held", hold->held_us);
    doc_text(doc, "held_by", hold->held_by);
    doc_text(doc, "why", hold->why);
    print_time(doc, "released", hold->released_us);
    doc_text_or_null(doc, "released_by", hold->released_us != 0 ? hold->released_by : SPAN_NONE);
    doc_text_or_null(doc, "released_why", hold->released_us != 0 ? hold->released_why : SPAN_NONE);
    return told_answer(&doc, telling->as_json, telling->words) == STATUS_DONE ? CODE_OK : CODE_NOMEM;
}

/* ---- hold and release ------------------------------------------------------------------------------------------------- */

static int place_hold(const struct asked *asked, const struct store_hold *hold)
{
    struct telling telling = {.as_json = asked->json,
                              .words = "hold {hold} is placed; erasures of what it keeps are refused until "
                                       "`callgate audit release {hold} --why TEXT`\n"};
    struct why why = {0};
    struct fleet_words words;
    int64_t erasing = 0;
    enum code code = fleet_words_open(&words, asked, DB_WRITE, FLEET_WORDS_LOCKED, &why);

    if (code == CODE_OK)
        code = store_hold_add(words.db, hold, &telling.id, &why);
    code = fleet_words_end(&words, code, "hold", &telling.id, &why);
    if (code == CODE_OK)
        code = store_audit_erasing(words.db, hold->tenant, &erasing, &why);
    if (code == CODE_OK)
        code = store_holds_each(words.db, tell_one, &telling, &why);
    fleet_words_close(&words);
    if (code != CODE_OK)
        return complain_why(code, &why);
    if (erasing != 0)
        print_safely(stderr, "callgate: an erasure that was asked for before is not over: what it has begun is not kept; the "
                     "trail tells of it in an event `erased`\n");
    return STATUS_DONE;
}

static int check_name(const char *option, const char *name)
{
    struct span span = span_text(name);

    if (name == NULL || (span.len > 0 && span.len < NAME_BYTES_MAX && unicode_is_utf8(span)))
        return OPTIONS_GO;
    return complain(STATUS_USAGE, "--%s \"%s\" is no name", option, name);
}

int cmd_audit_hold(const struct asked *asked)
{
    struct store_hold hold = {.since_us = asked->since_us, .until_us = asked->until_us, .held_us = clock_wall_us(),
                              .tenant = span_text(asked->tenant), .principal = span_text(asked->principal),
                              .why = span_text(asked->why)};
    char actor[ACTOR_BYTES];
    int status;

    if (asked->tenant == NULL && asked->principal == NULL && hold.since_us == 0 && hold.until_us == 0)
        return complain(STATUS_USAGE, "say what to keep: --tenant, --principal, --since, --until, or several of them");
    status = check_name("tenant", asked->tenant);
    if (status == OPTIONS_GO)
        status = check_name("principal", asked->principal);
    if (status == OPTIONS_GO && hold.until_us != 0 && hold.until_us <= hold.since_us)
        status = complain(STATUS_USAGE, "--until is not behind --since");
    if (status != OPTIONS_GO)
        return status;
    actor_name(actor);
    hold.held_by = span_text(actor);
    return place_hold(asked, &hold);
}

int cmd_audit_release(const struct asked *asked)
{
    struct telling telling = {.id = (int64_t)asked_number(asked, 0), .as_json = asked->json,
                              .words = "hold {hold} is released\n"};
    struct why why = {0};
    struct fleet_words words;
    char actor[ACTOR_BYTES];
    enum code code;

    actor_name(actor);
    code = fleet_words_open(&words, asked, DB_WRITE, FLEET_WORDS_LOCKED, &why);
    if (code == CODE_OK)
        code = store_hold_release(words.db, telling.id, span_text(actor), span_text(asked->why), clock_wall_us(), &why);
    code = fleet_words_end(&words, code, "release", NULL, &why);
    if (code == CODE_OK)
        code = store_holds_each(words.db, tell_one, &telling, &why);
    fleet_words_close(&words);
    if (code == CODE_NOT_FOUND || code == CODE_EXISTS)
        return complain(STATUS_NEGATIVE, "%s", why.text);
    return code == CODE_OK ? STATUS_DONE : complain_why(code, &why);
}

/* ---- the list ---------------------------------------------------------------------------------------------------------- */

int cmd_audit_holds(const struct asked *asked)
{
    struct telling telling = {
        .as_json = asked->json,
        .words = "hold {hold}  {state}  tenant [{tenant}][{!tenant}any], principal [{principal}][{!principal}any], "
                 "[{since}][{!since}the beginning] to [{until}][{!until}the end]\n"
                 "      {held}, {held_by}: {why}\n[      {released}, {released_by}: {released_why}\n]"};
    struct why why = {0};
    struct db *db = NULL;
    enum code code = asked_store(asked, DB_READ, &db, &why);

    if (code == CODE_OK)
        code = store_holds_each(db, tell_one, &telling, &why);
    db_close(&db);
    return code == CODE_OK ? STATUS_DONE : complain_why(code, &why);
}
