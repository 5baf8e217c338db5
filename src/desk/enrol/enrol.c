/* SPDX-License-Identifier: Apache-2.0 */
#include "enrol/enrol.h"

#include "base/mem.h"
#include "args/print.h"
#include "base/take_in.h"
#include "fleet/chain.h"
#include "os/file.h"
#include "query/fleet_nodes.h"
#include "query/fleet_roster.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PASSWORD_BYTES ((size_t)1024)
#define LEAST_SERVER 150000
#define CHANGES_AT_ONCE 32
#define STATEMENT_MS 120000 /* a schema is made while others use the server */

TAKE_IN(enrol_schema, "schema/fleet.sql");

/* ---- the connection ---- */

static enum code read_server(struct enrol *enrol, struct why *why)
{
    struct pg_rows *rows = NULL;
    enum code code = pg_ask(enrol->pg, "SELECT current_setting('server_version_num')::bigint, "
                                       "to_regclass('callgate.schema_version') IS NOT NULL",
                            NULL, 0, &rows, why);
    bool has_schema = code == CODE_OK && pg_rows_int(rows, 0, 1) != 0;

    if (code == CODE_OK && pg_rows_int(rows, 0, 0) < LEAST_SERVER)
        code = why_set(why, CODE_LIMIT, "the server is PostgreSQL %" PRId64 "; a fleet needs 15 or later",
                       pg_rows_int(rows, 0, 0) / 10000);
    pg_rows_free(&rows);
    if (code == CODE_OK)
        code = fleet_is_synchronous(enrol->pg, &enrol->is_synchronous, why);
    if (code != CODE_OK || !has_schema)
        return code;
    return pg_number(enrol->pg, "SELECT number FROM callgate.schema_version", NULL, 0, &enrol->schema, why);
}

enum code enrol_open(const struct asked *asked, struct enrol *enrol, struct why *why)
{
    struct pg_place place = {.database = asked->admin, .wait_ms = STATEMENT_MS};
    struct buf password;
    enum code code;

    memset(enrol, 0, sizeof *enrol);
    buf_init(&password, PASSWORD_BYTES);
    buf_wipes(&password);
    code = asked->password_file == NULL ? CODE_OK
           : command_secret(asked->password_file, FILE_SECRET, PASSWORD_BYTES, "password", &password, why);
    if (code == CODE_OK) {
        place.password = span_part(buf_peek(&password), 0, span_find(buf_peek(&password), '\n'));
        code = pg_open(&place, "callgate fleet", &enrol->pg, why);
    }
    buf_fini(&password);
    return code == CODE_OK ? read_server(enrol, why) : why_before(why, code, "--admin");
}

void enrol_close(struct enrol *enrol)
{
    pg_close(&enrol->pg);
    fleet_key_free(&enrol->key);
    roster_free(&enrol->roster);
}

enum code enrol_must_be_ready(const struct enrol *enrol, struct why *why)
{
    if (enrol->schema == 0)
        return why_set(why, CODE_NOT_FOUND, "that database has no fleet; make one by `callgate fleet init`");
    return fleet_schema_fits(enrol->schema, why);
}

/* ---- the roster ---- */

static enum code read_roster(struct enrol *enrol, struct why *why)
{
    struct fleet_key *key = enrol->key;
    struct pg_rows *rows = NULL;
    struct why refused = {""};
    enum code code = pg_ask(enrol->pg, "SELECT id FROM callgate.fleet", NULL, 0, &rows, why);

    if (code == CODE_OK && !span_is(pg_rows_bytes(rows, 0, 0), key->fleet))
        code = why_set(why, CODE_INVALID, "that database is fleet %.*s's, and the key is of fleet %s",
                       SPAN_ARG(pg_rows_bytes(rows, 0, 0)),
                       key->fleet);
    pg_rows_free(&rows);
    if (code == CODE_OK)
        code = fleet_roster_newest(enrol->pg, key->root_public, key->fleet, &enrol->roster, &refused, why);
    if (code == CODE_NOT_FOUND && refused.text[0] == '\0' && key->roster == 0)
        return roster_new(key->fleet, &enrol->roster);
    return code;
}

/* The centre alone could show the roster of before, in which a node that has left is one. */
static enum code must_be_last(const struct asked *asked, struct enrol *enrol, struct why *why)
{
    if (enrol->roster->number < enrol->key->roster && !asked->lost_roster)
        return why_set(why, CODE_DENIED, "the centre shows roster %" PRId64 ", and this key has signed %" PRId64 ": somebody "
                       "put an old one there, or restored a backup. A node that is connected brings it again; where none has "
                       "it, say --despite-lost-roster, and again who left and joined since", enrol->roster->number,
                       enrol->key->roster);
    if (enrol->roster->number < enrol->key->roster)
        enrol->roster->number = enrol->key->roster;
    return CODE_OK;
}

/* Which is the fleet's last change, as the key that signs the roster has seen it: along all that came since the one before, as
 * nodes signed them, and never by what the centre says of it. */
enum code enrol_see_chain(struct enrol *enrol, struct why *why)
{
    struct store_fleet_end end = enrol->roster->end;
    size_t count = 1;
    enum code code = CODE_OK;

    while (code == CODE_OK && count > 0) {
        struct pg_rows *rows = NULL;

        code = pg_ask(enrol->pg, "SELECT text, signature, signer FROM callgate.changes_after($1, $2)",
                      PG_VALUES(pg_of_int(end.number), pg_of_int(CHANGES_AT_ONCE)), &rows, why);
        count = pg_rows_count(rows);
        for (size_t i = 0; code == CODE_OK && i < count; i++) {
            const struct chain_shown shown = {pg_rows_bytes(rows, i, 0), pg_rows_bytes(rows, i, 1), pg_rows_bytes(rows, i, 2)};

            code = chain_pass(enrol->roster, &end, &shown, why);
            if (code != CODE_OK)
                code = why_before(why, code, "somebody has changed what the fleet decided at the centre, behind change %" PRId64
                                  "; see `callgate fleet status` at a node, and restore the centre first", end.number);
        }
        pg_rows_free(&rows);
    }
    enrol->roster->end = code == CODE_OK ? end : enrol->roster->end;
    return code;
}

/* Written before, too, so that a file that cannot be is found while nothing has happened. */
static enum code write_key(const struct enrol *enrol, const char *path, struct why *why)
{
    struct buf text;
    enum code code;

    buf_init(&text, MEMBER_FILE_BYTES);
    buf_wipes(&text);
    code = fleet_key_write(enrol->key, &text);
    if (code == CODE_OK)
        code = file_replace(path, 0600, buf_peek(&text), why);
    buf_fini(&text);
    return code;
}

enum code enrol_read_key(const struct asked *asked, struct enrol *enrol, struct why *why)
{
    enum code code = fleet_key_read(asked->key_file, &enrol->key, why);

    if (code == CODE_OK)
        code = read_roster(enrol, why);
    if (code == CODE_OK)
        code = must_be_last(asked, enrol, why);
    return code == CODE_OK && !asked->reader ? write_key(enrol, asked->key_file, why) : code;
}

void enrol_note_roster(const struct asked *asked, struct enrol *enrol)
{
    struct why why = {""};

    enrol->key->roster = enrol->roster->number;
    if (write_key(enrol, asked->key_file, &why) != CODE_OK)
        print_safely(stderr, "%s: it is done, and this file does not know: %s; write \"roster\": %" PRId64 " into it\n",
                     asked->key_file, why.text, enrol->key->roster);
}

enum code enrol_put_roster(struct enrol *enrol, const char *reason, struct buf *text, unsigned char signature[SIGN_BYTES],
                           struct why *why)
{
    enum code code = enrol_see_chain(enrol, why);

    if (code != CODE_OK)
        return code;
    enrol->roster->number++;
    code = roster_write(enrol->roster, text);
    if (code == CODE_OK)
        code = roster_sign(buf_peek(text), enrol->key->root, signature);
    if (code != CODE_OK)
        return why_set(why, code, "the roster cannot be written: %s", code_text(code));
    return pg_ask(enrol->pg, "INSERT INTO callgate.roster (number, text, signature, why) VALUES ($1, $2, $3, $4) ON CONFLICT "
                  "(number) DO UPDATE SET (text, signature, why, put_by, put_at) = (excluded.text, excluded.signature, "
                  "excluded.why, excluded.put_by, excluded.put_at)",
                  PG_VALUES(pg_of_int(enrol->roster->number), pg_of_bytes(buf_peek(text)),
                            pg_of_bytes(span_of(signature, SIGN_BYTES)), pg_of_text(span_text(reason))), NULL, why);
}

/* ---- files ---- */

enum code enrol_database(const struct asked *asked, char **url, struct why *why)
{
    const char *given = asked->database != NULL ? asked->database : asked->admin, *host = strstr(given, "://");
    const char *at = host != NULL ? strchr(host, '@') : NULL;
    struct pg_place place = {.user = SPAN_LIT("node")};
    struct buf text;
    enum code code;

    *url = NULL;
    buf_init(&text, 4096);
    if (asked->database == NULL && at != NULL)
        (void)buf_addf(&text, "%.*s%s", (int)(host + 3 - given), given, at + 1);
    else
        (void)buf_add_text(&text, given);
    code = buf_code(&text);
    if (code == CODE_OK)
        *url = mem_dup(buf_peek(&text).at, buf_len(&text));
    buf_fini(&text);
    if (*url == NULL)
        return why_set(why, CODE_NOMEM, "not enough memory for the database's URL");
    place.database = *url;
    code = pg_check(&place, why);
    return code == CODE_OK ? CODE_OK : why_before(why, code, "--database");
}

enum code enrol_commit(struct enrol *enrol, const char *path, struct buf *text, enum code code, struct why *why)
{
    bool unknown = false;

    if (code == CODE_OK)
        code = file_create(path, 0600, buf_peek(text), why);
    else
        code = why_set(why, code, "%s: cannot be made: %s", path, code_text(code));
    buf_fini(text);
    if (code != CODE_OK)
        return code;
    code = pg_commit(enrol->pg, &unknown, why);
    if (code != CODE_OK && !unknown)
        (void)unlink(path);
    return code;
}
