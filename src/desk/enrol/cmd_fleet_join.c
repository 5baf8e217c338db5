/* SPDX-License-Identifier: Apache-2.0 */
/* callgate fleet join and leave: a node's role at the centre, its place in the roster, its membership file. */
#include "args/print.h"
#include "centre/verify_centre.h"
#include "cli/commands.h"
#include "cli/told.h"
#include "enrol/enrol.h"

#include "base/mem.h"
#include "crypto/digest.h"
#include "crypto/secret.h"
#include "json/doc.h"

#include <stdio.h>
#include <string.h>

#define BAD_NAME "\"%.80s\" is no node's name; write small letters, digits and dashes, 63 at most"
#define SQL_BYTES 1024
#define PASSWORD_RANDOM_BYTES 32

/* ---- join ---- */

static enum code make_password(char **password)
{
    unsigned char bytes[PASSWORD_RANDOM_BYTES];
    struct buf text;
    enum code code;

    buf_init(&text, 4 * sizeof bytes);
    buf_wipes(&text);
    random_bytes(bytes, sizeof bytes);
    code = base64url_encode(span_of(bytes, sizeof bytes), &text);
    *password = code == CODE_OK ? mem_dup(buf_peek(&text).at, buf_len(&text)) : NULL;
    mem_wipe(bytes, sizeof bytes);
    buf_fini(&text);
    return *password != NULL ? CODE_OK : CODE_NOMEM;
}

/* Who nobody has been yet: name, role and password; of a node its keys and what all nodes know, too. */
static enum code make_member(const struct asked *asked, const struct enrol *enrol, struct member **out, struct why *why)
{
    struct member *member = secret_new(sizeof *member);
    const struct fleet_key *key = enrol->key;
    enum code code = CODE_NOMEM;

    *out = member;
    if (member == NULL)
        return why_set(why, CODE_NOMEM, "not enough memory for a membership");
    buf_init(&member->roster_text, ROSTER_TEXT_BYTES);
    memcpy(member->fleet, key->fleet, sizeof member->fleet);
    memcpy(member->name, enrol->name, sizeof member->name);
    member->is_reader = asked->reader;
    member->database = mem_dup(key->database, strlen(key->database));
    member->role = mem_dup(enrol->name, strlen(enrol->name));
    if (member->database != NULL && member->role != NULL)
        code = make_password(&member->password);
    memcpy(member->root, key->root_public, sizeof member->root);
    if (code == CODE_OK && !asked->reader) {
        random_bytes(member->seed, sizeof member->seed);
        code = sign_key_of_seed(member->seed, &member->key);
        member->secrets = secret_copy(key->secrets, sizeof *key->secrets);
        code = member->secrets == NULL ? CODE_NOMEM : code;
    }
    return code == CODE_OK ? code : why_set(why, code, "a membership cannot be made: %s", code_text(code));
}

/* Who asks with psql finds the views of schema/cookbook.md by their names, and days are UTC's, as in a gate's own file. What
 * counts a day has room to do so in memory, and is not compiled first, which takes longer than what it saves. */
static enum code set_how_it_reads(struct enrol *enrol, const char *role, struct why *why)
{
    char sql[SQL_BYTES];

    (void)snprintf(sql, sizeof sql, "ALTER ROLE \"%s\" SET search_path = callgate_audit, pg_temp; "
                   "ALTER ROLE \"%s\" SET timezone = 'UTC'; ALTER ROLE \"%s\" SET enable_partitionwise_join = on; "
                   "ALTER ROLE \"%s\" SET work_mem = '64MB'; ALTER ROLE \"%s\" SET jit = off", role, role, role, role, role);
    return pg_run(enrol->pg, sql, why);
}

/* Only what the password proves goes to the server. A name of [a-z0-9-] needs quotes, and no more. */
static enum code make_role(struct enrol *enrol, const struct member *member, struct why *why)
{
    char verifier[256], quoted[600], sql[SQL_BYTES];
    enum code code = pg_verifier(enrol->pg, member->role, member->password, verifier, sizeof verifier, why);

    if (code == CODE_OK)
        code = pg_quote_text(span_text(verifier), quoted, sizeof quoted);
    if (code != CODE_OK)
        return code;
    (void)snprintf(sql, sizeof sql, "CREATE ROLE \"%s\" LOGIN PASSWORD %s; GRANT %s TO \"%s\"", member->role, quoted,
                   member->is_reader ? "callgate_reader" : "callgate_node", member->role);
    code = pg_run(enrol->pg, sql, why);
    if (code == CODE_OK && member->is_reader)
        code = set_how_it_reads(enrol, member->role, why);
    return code == CODE_EXISTS ? why_set(why, code,
                                         "the server has a role %s already; take another name, or let it leave first",
                                         member->role)
                               : code;
}

static enum code put_into_roster(const struct asked *asked, struct enrol *enrol, struct member *member, struct why *why)
{
    unsigned char key[SIGN_PUBLIC_BYTES];
    enum code code = sign_key_public(member->key, key);

    if (code == CODE_OK)
        code = roster_add(enrol->roster, span_text(member->name), key);
    if (code != CODE_OK)
        return why_set(why, code, code == CODE_EXISTS ? "%s is a node already" : "%s cannot go into the roster", member->name);
    return enrol_put_roster(enrol, asked->why, &member->roster_text, member->roster_signature, why);
}

static enum code join(const struct asked *asked, struct enrol *enrol, struct member *member, struct why *why)
{
    struct buf text;
    enum code code = pg_begin(enrol->pg, why);

    if (code == CODE_OK && !member->is_reader)
        code = put_into_roster(asked, enrol, member, why);
    if (code == CODE_OK)
        code = make_role(enrol, member, why);
    if (code != CODE_OK)
        return code;
    buf_init(&text, MEMBER_FILE_BYTES);
    buf_wipes(&text);
    code = member_write(member, &text);
    code = enrol_commit(enrol, asked->output, &text, code, why);
    if (code == CODE_OK && !member->is_reader)
        enrol_note_roster(asked, enrol);
    return code;
}

/* What join and leave begin with. */
static enum code begin(const struct asked *asked, struct enrol *enrol, struct why *why)
{
    const char *name = asked_operand(asked, 0);
    enum code code;

    memset(enrol, 0, sizeof *enrol);
    if (!fleet_name_is_good(span_text(name)))
        return why_set(why, CODE_INVALID, BAD_NAME, name);
    code = enrol_open(asked, enrol, why);
    if (code == CODE_OK)
        code = enrol_must_be_ready(enrol, why);
    if (code == CODE_OK)
        code = enrol_read_key(asked, enrol, why);
    memcpy(enrol->name, name, strlen(name) + 1);
    return code;
}

int cmd_fleet_join(const struct asked *asked)
{
    struct enrol enrol;
    struct member *member = NULL;
    struct why why = {0};
    enum code code = begin(asked, &enrol, &why);

    if (code == CODE_OK)
        code = make_member(asked, &enrol, &member, &why);
    if (code == CODE_OK)
        code = join(asked, &enrol, member, &why);
    if (code == CODE_OK) {
        struct doc *doc = doc_object();

        doc_text(doc, "name", span_text(enrol.name));
        doc_text(doc, "membership", span_text(asked->output));
        doc_bool(doc, "reader", asked->reader);
        print_number(doc, "roster", asked->reader ? 0 : enrol.roster->number);
        (void)told_answer(&doc, asked->json,
                          "[{?reader}{name} may read the centre, by {membership}: callgate audit query --fleet --membership "
                          "{membership}\n]"
                          "[{!reader}{name} is a node; its membership is {membership}. Bring it there, readable by the gate's "
                          "user "
                          "alone, and write in callgate.yaml:\n  fleet: \\{membership: {membership}}\n]");
    }
    member_free(&member);
    enrol_close(&enrol);
    return code == CODE_OK ? STATUS_DONE : complain_why(code, &why);
}

/* ---- leave ---- */

/* Before its sessions end, or it comes back on another; they would outlive their role. A role that somebody has dropped is
 * none. Who may not end them hears of it. */
static enum code shut_out(struct enrol *enrol, bool *has_ended, struct why *why)
{
    char sql[SQL_BYTES];
    enum code code;

    (void)snprintf(sql, sizeof sql, "ALTER ROLE \"%s\" NOLOGIN", enrol->name);
    code = pg_run(enrol->pg, sql, why);
    if (code != CODE_OK && code != CODE_NOT_FOUND)
        return code;
    code = pg_ask(enrol->pg, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1",
                  PG_VALUES(pg_of_text(span_text(enrol->name))), NULL, why);
    *has_ended = code == CODE_OK;
    return code == CODE_DENIED ? CODE_OK : code;
}

/* Up to there its key counts. */
static int64_t last_of(const struct roster *roster)
{
    return roster->end.number > 0 ? roster->end.number : ROSTER_NONE;
}

/* What the centre has of its trail is all that there will be: the roster says up to which row, so that nobody takes an end of
 * it out unseen. */
static enum code leave_roster(struct enrol *enrol, struct why *why)
{
    int64_t last = 0;
    enum code code = enrol_see_chain(enrol, why);

    if (code == CODE_OK)
        code = pg_number(enrol->pg, "SELECT " CENTRE_LAST_ROW, PG_VALUES(pg_of_text(span_text(enrol->name))), &last, why);
    if (code == CODE_OK && roster_leave(enrol->roster, span_text(enrol->name), last_of(enrol->roster), last) != CODE_OK)
        code = why_set(why, CODE_NOT_FOUND, "%s is no node of the roster; a reader leaves by --reader", enrol->name);
    return code;
}

static enum code leave(const struct asked *asked, struct enrol *enrol, struct why *why)
{
    const bool is_reader = asked->reader;
    unsigned char signature[SIGN_BYTES];
    char sql[SQL_BYTES];
    struct buf text;
    enum code code = pg_begin(enrol->pg, why);

    buf_init(&text, ROSTER_TEXT_BYTES);
    if (code == CODE_OK && !is_reader)
        code = leave_roster(enrol, why);
    if (code == CODE_OK && !is_reader)
        code = enrol_put_roster(enrol, asked->why, &text, signature, why);
    (void)snprintf(sql, sizeof sql, "DROP ROLE IF EXISTS \"%s\"", enrol->name);
    if (code == CODE_OK)
        code = pg_run(enrol->pg, sql, why);
    if (code == CODE_OK && !is_reader) /* nobody waits for what it has used of limits */
        code = pg_ask(enrol->pg, "DELETE FROM callgate.limit_node WHERE node = $1",
                      PG_VALUES(pg_of_text(span_text(enrol->name))), NULL, why);
    if (code == CODE_OK)
        code = pg_commit(enrol->pg, NULL, why);
    if (code == CODE_OK && !is_reader)
        enrol_note_roster(asked, enrol);
    buf_fini(&text);
    return code;
}

int cmd_fleet_leave(const struct asked *asked)
{
    struct enrol enrol;
    struct why why = {0};
    bool has_ended = true;
    enum code code = begin(asked, &enrol, &why);

    if (code == CODE_OK && asked->reader && roster_find(enrol.roster, span_text(enrol.name)) != NULL)
        code = why_set(&why, CODE_INVALID, "%s is a node, and no reader", enrol.name);
    if (code == CODE_OK)
        code = shut_out(&enrol, &has_ended, &why);
    if (code == CODE_OK)
        code = leave(asked, &enrol, &why);
    if (code == CODE_OK) {
        struct doc *doc = doc_object();

        doc_text(doc, "name", span_text(enrol.name));
        doc_bool(doc, "ended", has_ended);
        (void)told_answer(&doc, asked->json,
                          "{name} has left: its role is gone, and its key signs nothing more; its rows stay\n"
                          "[{!ended}Its open sessions go on until they end by themselves: this role may not end them\n]");
    }
    enrol_close(&enrol);
    return code == CODE_OK ? STATUS_DONE : complain_why(code, &why);
}

/* ---- rejoin ---- */

static enum code must_be_forked(const struct enrol *enrol, struct why *why)
{
    int64_t is_forked;
    enum code code = pg_number(enrol->pg, "SELECT callgate.is_forked($1)", PG_VALUES(pg_of_text(span_text(enrol->name))),
                               &is_forked, why);

    if (code == CODE_OK && is_forked == 0)
        code = why_set(why, CODE_INVALID, "%s is not forked: there is one record of it, and nothing to come back from",
                       enrol->name);
    return code;
}

/* A name that was nobody's, so that no row of one stands among another's. */
static enum code take_name(const struct asked *asked, struct enrol *enrol, struct why *why)
{
    int64_t has_rows;
    enum code code;

    if (!fleet_name_is_good(span_text(asked->as)))
        return why_set(why, CODE_INVALID, BAD_NAME, asked->as);
    for (size_t i = 0; i < enrol->roster->count; i++)
        if (strcmp(enrol->roster->nodes[i].name, asked->as) == 0)
            return why_set(why, CODE_EXISTS, "%s is, or was, a node of the fleet; take a name that none had", asked->as);
    code = pg_number(enrol->pg, "SELECT 1 FROM callgate.trail_cursor WHERE node = $1",
                     PG_VALUES(pg_of_text(span_text(asked->as))), &has_rows, why);
    if (code == CODE_OK && has_rows != 0)
        code = why_set(why, CODE_EXISTS, "the centre has rows of %s; take a name that no node had", asked->as);
    return code;
}

static enum code rejoin(const struct asked *asked, struct enrol *enrol, struct why *why)
{
    struct member *member = NULL;
    bool has_ended = true;
    enum code code = must_be_forked(enrol, why);

    if (code == CODE_OK)
        code = take_name(asked, enrol, why);
    if (code == CODE_OK)
        code = shut_out(enrol, &has_ended, why);
    if (code == CODE_OK)
        code = leave(asked, enrol, why);
    if (code == CODE_OK) {
        memcpy(enrol->name, asked->as, strlen(asked->as) + 1);
        code = make_member(asked, enrol, &member, why);
    }
    if (code == CODE_OK)
        code = join(asked, enrol, member, why);
    member_free(&member);
    return code;
}

int cmd_fleet_rejoin(const struct asked *asked)
{
    struct enrol enrol;
    struct why why = {0};
    enum code code = begin(asked, &enrol, &why);

    if (code == CODE_OK)
        code = rejoin(asked, &enrol, &why);
    if (code == CODE_OK) {
        struct doc *doc = doc_object();

        doc_text(doc, "name", span_text(enrol.name));
        doc_text(doc, "before", span_text(asked_operand(asked, 0)));
        doc_text(doc, "membership", span_text(asked->output));
        doc_int(doc, "roster", enrol.roster->number);
        (void)told_answer(&doc, asked->json,
                          "{before} is a node no more, and its record stays; {name} is one, by {membership}\n"
                          "Put that file in the place of the old one, and restart the gate\n");
    }
    enrol_close(&enrol);
    return code == CODE_OK ? STATUS_DONE : complain_why(code, &why);
}
