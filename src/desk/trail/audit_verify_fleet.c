/* SPDX-License-Identifier: Apache-2.0 */
#include "trail/audit_verify_fleet.h"

#include "args/print.h"
#include "cli/progress.h"
#include "cli/told.h"
#include "cli/trail_place.h"
#include "trail/audit_report.h"

#include "centre/verify_centre.h"
#include "fleet/member.h"
#include "pg/pg.h"
#include "query/fleet_roster.h"

#include <inttypes.h>
#include <stdio.h>

#define WAIT_MS (10 * 60 * 1000) /* for one question: a day of many rows is read through */

struct verifying {
    const struct asked *asked;
    struct member *member;
    struct roster *roster; /* the centre's last one, signed by the fleet's root key */
    struct pg *pg;
    struct trail against;
    struct progress progress;
    int worst;
};

static bool key_of(void *context, struct span node, size_t at, struct note_key *key)
{
    const struct verifying *all = context;
    const struct roster_node *end = all->roster->nodes + all->roster->count;

    for (const struct roster_node *one = all->roster->nodes; one < end; one++) {
        if (!span_is(node, one->name) || at-- > 0)
            continue;
        (void)snprintf(key->name, sizeof key->name, NOTE_ORIGIN "%s/%s", all->roster->fleet, one->name);
        memcpy(key->public, one->key, SIGN_PUBLIC_BYTES);
        return true;
    }
    return false;
}

/* Up to which row the roster's root has signed that the node's trail was there, when it left; 0: it has not, or had none. */
static int64_t rows_when_it_left(const struct verifying *all, struct span node)
{
    int64_t rows = 0;

    for (size_t i = 0; i < all->roster->count; i++)
        if (span_is(node, all->roster->nodes[i].name) && all->roster->nodes[i].rows > rows)
            rows = all->roster->nodes[i].rows;
    return rows;
}

static void tell_file(void *context, const struct verify_conf *conf, const struct verify_report *report)
{
    struct verifying *all = context;

    progress_clear(&all->progress);
    all->worst = trail_place_worse(audit_report_tell(conf, NULL, report, all->asked->json), all->worst);
}

static void show_progress(void *context, uint64_t done, uint64_t total)
{
    struct verifying *all = context;

    all->progress.total = total;
    progress_tell(&all->progress, done);
}

static const char words[] =
    "{node}: [{!last_seq}the centre has no row of it\n][{?last_seq}the centre has rows up to {last_seq}[{?cosigned_seq}, which "
    "{cosigner} has cosigned up to {cosigned_seq}][{!cosigned_seq}, and no other node has cosigned any\n]"
    "[{?cosigned_seq} ({cosignatures} cosignatures)\n]]"
    "[rows up to {dropped_seq} went with their days, as recorded\n]"
    "[rows that were given away before they came here, as recorded: {given_away}\n]"
    "[NOT VOUCHED FOR: of {hollow} rows the centre has number and hash alone; the node's files have the rest\n]"
    "[rows that the node's files have, too, as they are here: {same}\n]"
    "[{?waiting}rows that have not come to the centre yet: {waiting}\n]";

static int tell_node(const struct verifying *all, struct span node, const struct verify_centre_report *said)
{
    struct doc *doc = doc_object();
    int64_t waiting = said->here_seq > said->last_seq ? said->here_seq - said->last_seq : 0;

    doc_text(doc, "node", node);
    doc_int(doc, "last_seq", said->last_seq);
    doc_int(doc, "cosigned_seq", said->cosigned_seq);
    doc_text_or_null(doc, "cosigner", said->cosigned_seq > 0 ? span_text(said->cosigner) : SPAN_NONE);
    doc_int(doc, "cosignatures", (int64_t)said->cosignatures);
    doc_int(doc, "dropped_seq", said->dropped_seq);
    doc_int(doc, "given_away", said->given_away);
    doc_int(doc, "hollow", (int64_t)said->hollow);
    doc_int(doc, "same", (int64_t)said->same);
    doc_int(doc, "waiting", waiting);
    if (told_answer(&doc, all->asked->json, words) != STATUS_DONE)
        return STATUS_CANNOT;
    return said->hollow > 0 || said->last_seq == 0 ? STATUS_UNPROVEN : STATUS_DONE;
}

static enum code verify_node(struct verifying *all, struct span node, struct why *why)
{
    struct verify_centre_conf conf = {.node = node, .key_of = key_of, .tell = tell_file, .context = all,
                                      .against = all->against.count > 0 ? &all->against : NULL, .progress = show_progress};
    const int64_t left = rows_when_it_left(all, node);
    struct verify_centre_report said;
    struct note_key key;
    enum code code;

    progress_begin(&all->progress, "verifying", 0);
    code = verify_centre(all->pg, &conf, &said, why);
    progress_end(&all->progress);
    if (code != CODE_OK)
        return code;
    all->worst = trail_place_worse(tell_node(all, node, &said), all->worst);
    if (!key_of(all, node, 0, &key))
        all->worst = trail_place_worse(complain(STATUS_NEGATIVE, "%.*s has rows at the centre and is no node of the fleet",
                                                SPAN_ARG(node)), all->worst);
    if (said.last_seq < left)
        all->worst = trail_place_worse(complain(STATUS_NEGATIVE, "%.*s had rows up to %" PRId64 " at the centre when it left "
                                                "the fleet: somebody took the last ones out, or restored a backup of before",
                                                SPAN_ARG(node), left), all->worst);
    return CODE_OK;
}

/* ---- the centre ----------------------------------------------------------------------------------------------------- */

/* Each name once, by the index. */
#define NAMES(table) \
    "(WITH RECURSIVE n AS ((SELECT min(node) AS node FROM callgate." table ") UNION ALL SELECT (SELECT min(t.node) FROM " \
    "callgate." table " AS t WHERE t.node > n.node) FROM n WHERE n.node IS NOT NULL) SELECT node FROM n WHERE node IS NOT NULL)"

/* Those that the roster has, and those that have left and had rows. */
static enum code list_known(const struct verifying *all, struct buf *known)
{
    enum code code = roster_names(all->roster, SPAN_NONE, known);

    for (size_t i = 0; i < all->roster->count && code == CODE_OK; i++)
        if (all->roster->nodes[i].rows > 0)
            code = buf_addf(known, "\n%s", all->roster->nodes[i].name);
    return code;
}

/* Those of which anything is there, too: of one whose rows somebody took out there may be nothing. */
static enum code verify_nodes(struct verifying *all, struct why *why)
{
    struct span only = span_text(all->asked->node);
    struct pg_rows *rows = NULL;
    struct buf known;
    bool found = false;
    enum code code;

    buf_init(&known, ROSTER_TEXT_BYTES);
    code = list_known(all, &known);
    if (code == CODE_OK)
        code = pg_ask(all->pg, NAMES("decision") " UNION " NAMES("outcome") " UNION " NAMES("event") " UNION " NAMES("file")
                      " UNION " NAMES("checkpoint") " UNION " NAMES("trail_cursor") " UNION SELECT n FROM "
                      "regexp_split_to_table($1, E'\\n') AS n WHERE n <> '' ORDER BY node",
                      PG_VALUES(pg_of_text(buf_peek(&known))), &rows, why);

    for (size_t i = 0; i < pg_rows_count(rows) && code == CODE_OK; i++) {
        struct span node = pg_rows_bytes(rows, i, 0);

        if (only.len > 0 && !span_equals(only, node))
            continue;
        found = true;
        code = verify_node(all, node, why);
    }
    pg_rows_free(&rows);
    buf_fini(&known);
    if (code == CODE_OK && !found)
        code = why_set(why, CODE_NOT_FOUND, only.len > 0 ? "the centre has nothing of such a node; `callgate fleet status` "
                                                           "lists them"
                                                         : "the centre has no rows yet");
    return code;
}

static enum code read_roster(struct verifying *all, struct why *why)
{
    struct why refused;
    enum code code = fleet_roster_newest(all->pg, all->member->root, all->member->fleet, &all->roster, &refused, why);

    if (code == CODE_OK && refused.text[0] != '\0')
        print_safely(stderr, "%s; nodes are known by roster %" PRId64 "\n", refused.text, all->roster->number);
    return code;
}

static enum code connect_as(struct verifying *all, struct why *why)
{
    const struct member *member = all->member;
    const struct pg_place place = {.database = member->database, .folder = member->folder, .user = span_text(member->role),
                                   .password = span_text(member->password), .wait_ms = WAIT_MS, .is_any = true};

    if (!member->is_reader)
        return why_set(why, CODE_INVALID, "%s is a gate, and gates read nothing at the centre: `callgate fleet join --reader "
                                          "NAME` makes "
                       "a membership for readers", member->name);
    return pg_open(&place, "callgate audit verify", &all->pg, why);
}

static enum code verify_all(struct verifying *all, struct why *why)
{
    enum code code = member_read(all->asked->membership, &all->member, why);

    if (code == CODE_OK)
        code = connect_as(all, why);
    if (code == CODE_OK)
        code = pg_begin(all->pg, why);
    if (code == CODE_OK)
        code = pg_ask(all->pg, "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY", NULL, 0, NULL, why);
    if (code == CODE_OK)
        code = read_roster(all, why);
    if (code == CODE_OK && all->asked->against != NULL)
        code = trail_find(all->asked->against, true, &all->against, why);
    if (code == CODE_OK)
        code = verify_nodes(all, why);
    if (all->pg != NULL)
        pg_rollback(all->pg);
    return code;
}

int audit_verify_fleet(const struct asked *asked)
{
    struct verifying all = {.asked = asked, .worst = STATUS_DONE};
    struct why why = {""};
    enum code code;

    if (asked->membership == NULL)
        return complain(STATUS_USAGE, "--fleet asks the centre as a reader: say as whom, --membership FILE, which `callgate "
                                      "fleet join "
                        "--reader` made");
    if (asked->against != NULL && asked->node == NULL)
        return complain(STATUS_USAGE, "--against: say whose files they are, --node NAME");
    code = verify_all(&all, &why);
    trail_fini(&all.against);
    roster_free(&all.roster);
    pg_close(&all.pg);
    member_free(&all.member);
    return code == CODE_OK ? all.worst : trail_place_worse(trail_place_complain(code, &why), all.worst);
}
