/* SPDX-License-Identifier: Apache-2.0 */
/* callgate fleet status: what each node of the roster last told the centre of itself, and what the centre has of it. */
#include "args/print.h"
#include "cli/commands.h"
#include "cli/told.h"
#include "enrol/enrol.h"
#include "enrol/nodes_copy.h"
#include "query/fleet_nodes.h"
#include "query/fleet_roster.h"

#include "base/mem.h"
#include "json/doc.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct asking {
    struct member *member;
    struct pg *pg;
    struct roster *roster;
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
    struct why refused;
    enum code code = fleet_roster_newest(asking->pg, member->root, member->fleet, &asking->roster, &refused, why);

    if (code == CODE_OK && refused.text[0] != '\0')
        print_safely(stderr, "%s; what roster %" PRId64 " says is told\n", refused.text, asking->roster->number);
    if (code == CODE_OK && !member->is_reader && asking->roster->number < member->roster->number)
        code = why_set(why, CODE_DENIED,
                       "the centre shows roster %" PRId64 ", and this node joined with %" PRId64 ": somebody put an "
                       "old one there, or restored a backup", asking->roster->number, member->roster->number);
    return code;
}

static enum code ask_all(const struct asked *asked, struct asking *asking, struct doc **out, struct why *why)
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
        code = fleet_nodes_ask(asking->pg, asking->roster, out, why);
    return code;
}

/* ---- telling ---- */

/* What a guest is told: nothing for which somebody connects. */
static enum code ask_copy(const struct asked *asked, struct doc **out, struct why *why)
{
    struct conf_fleet fleet = {.membership = NULL};
    struct faults faults;
    struct arena arena;
    char *store = NULL;
    enum code code;

    faults_init(&faults);
    arena_init(&arena, (size_t)1 << 20);
    code = conf_fleet(asked->file, &arena, &fleet, &faults);
    if (code == CODE_OK)
        code = conf_store_path(asked->file, &store, &faults);
    if (code != CODE_OK)
        code = why_of_faults(why, code, &faults);
    else if (fleet.membership == NULL)
        code = why_set(why, CODE_INVALID, "the configuration has no `fleet:`: this gate is by itself");
    else
        code = nodes_copy_ask(store, out, why);
    mem_free(store);
    arena_fini(&arena);
    return code;
}

static bool is_good(const struct doc *doc)
{
    struct told told;
    bool is = told_read(&told, doc) == CODE_OK && span_is(told_text(told.root, "good"), "true");

    told_end(&told);
    return is;
}

int cmd_fleet_status(const struct asked *asked)
{
    struct asking asking = {.member = NULL};
    struct doc *doc = NULL;
    struct why why = {0};
    enum code code = command_is_guests() ? ask_copy(asked, &doc, &why) : ask_all(asked, &asking, &doc, &why);
    bool is_well = code == CODE_OK && is_good(doc);
    int status;

    if (code != CODE_OK)
        status = complain_why(code, &why);
    else
        status = told_answer(&doc, asked->json,
                             "fleet {fleet}, roster {roster}, change {change}\n[{problem}\n]"
                             "[{!synchronous}The server has no synchronous standby: where it is lost, and a standby takes its "
                             "place, an approval of the last seconds may be used again.\n]"
                             "{*nodes}{node}: {state}[, heard {heard_s} s ago][, change {change}][, policy version {policy}]"
                             "[, {lag_rows} rows behind at the centre, the oldest of {lag_s} s]"
                             "[, checkpoint {checkpoint}][, cosigned {cosigned} by {cosigner}]"
                             "[{?clock_is_off}, its clock is off by {clock_off_s} s][\n  {problem}]\n{/}");
    pg_close(&asking.pg);
    roster_free(&asking.roster);
    member_free(&asking.member);
    return status == STATUS_DONE && !is_well ? STATUS_NEGATIVE : status;
}
