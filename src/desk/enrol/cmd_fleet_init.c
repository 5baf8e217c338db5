/* SPDX-License-Identifier: Apache-2.0 */
/* callgate fleet init and upgrade: the centre's schema and roles, and the fleet's key. */
#include "args/print.h"
#include "cli/commands.h"
#include "cli/told.h"
#include "enrol/enrol.h"

#include "base/mem.h"
#include "base/num.h"
#include "crypto/digest.h"
#include "crypto/secret.h"
#include "json/doc.h"

#include <stdio.h>
#include <string.h>

#define DAY_MS UINT64_C(86400000)
#define SIX_MONTHS_MS (184 * DAY_MS)

static enum code make_key(const struct asked *asked, struct fleet_key **out, struct why *why)
{
    struct fleet_key *key = secret_new(sizeof *key);
    unsigned char id[FLEET_ID_BYTES / 2];
    enum code code;

    *out = key;
    if (key == NULL)
        return why_set(why, CODE_NOMEM, "not enough memory for a key");
    random_bytes(id, sizeof id);
    num_hex(id, sizeof id, key->fleet);
    random_bytes(key->seed, sizeof key->seed);
    key->secrets = secret_new(sizeof *key->secrets);
    code = enrol_database(asked, &key->database, why);
    if (code != CODE_OK)
        return code;
    if (key->secrets != NULL)
        random_bytes(key->secrets, sizeof *key->secrets);
    code = key->secrets != NULL ? sign_key_of_seed(key->seed, &key->root) : CODE_NOMEM;
    if (code == CODE_OK)
        code = sign_key_public(key->root, key->root_public);
    return code == CODE_OK ? code : why_set(why, code, "the fleet's key cannot be made: %s", code_text(code));
}

/* How long the centre keeps the trail is said here and by nobody else: no node may. */
static enum code put_keep(struct enrol *enrol, uint64_t keep_ms, struct why *why)
{
    if (keep_ms == 0)
        return CODE_OK;
    return pg_ask(enrol->pg, "UPDATE callgate.trail_keep SET keep_days = $1::int4",
                  PG_VALUES(pg_of_int((int64_t)((keep_ms + DAY_MS - 1) / DAY_MS))), NULL, why);
}

static enum code put_schema(struct enrol *enrol, struct why *why)
{
    const struct fleet_key *key = enrol->key;
    enum code code = pg_run(enrol->pg, enrol_schema, why);

    if (code == CODE_OK)
        code = pg_ask(enrol->pg, "INSERT INTO callgate.fleet (id, root) VALUES ($1, $2)",
                      PG_VALUES(pg_of_text(span_text(key->fleet)), pg_of_bytes(span_of(key->root_public, SIGN_PUBLIC_BYTES))),
                      NULL, why);
    return code;
}

static enum code make_fleet(const struct asked *asked, struct enrol *enrol, struct why *why)
{
    struct buf text;
    enum code code = pg_begin(enrol->pg, why);

    if (code == CODE_OK)
        code = put_schema(enrol, why);
    if (code == CODE_OK)
        code = put_keep(enrol, asked->keep_ms, why);
    if (code != CODE_OK)
        return code;
    buf_init(&text, MEMBER_FILE_BYTES);
    buf_wipes(&text);
    code = fleet_key_write(enrol->key, &text);
    return enrol_commit(enrol, asked->output, &text, code, why);
}

int cmd_fleet_init(const struct asked *asked)
{
    struct enrol enrol;
    struct why why = {0};
    enum code code = enrol_open(asked, &enrol, &why);

    if (code == CODE_OK && enrol.schema != 0)
        code = why_set(&why, CODE_EXISTS, "that database has a fleet already; `callgate fleet status` shows it");
    if (code == CODE_OK)
        code = make_key(asked, &enrol.key, &why);
    if (code == CODE_OK)
        code = make_fleet(asked, &enrol, &why);
    if (code == CODE_OK) {
        struct doc *doc = doc_object();

        doc_text(doc, "fleet", span_text(enrol.key->fleet));
        doc_text(doc, "key", span_text(asked->output));
        doc_text(doc, "database", span_text(enrol.key->database));
        doc_bool(doc, "synchronous", enrol.is_synchronous);
        doc_bool(doc, "keeps_six_months", asked->keep_ms == 0 || asked->keep_ms >= SIX_MONTHS_MS);
        (void)told_answer(&doc, asked->json,
                          "fleet {fleet} is at {database}.\nIts key is in {key}: keep it away from the nodes, and a copy "
                          "elsewhere. "
                          "Who has it says which nodes there are; without it no node can join or leave.\n"
                          "[{!synchronous}The server has no synchronous standby: where it is lost, and a standby takes its "
                          "place, an "
                          "approval of the last seconds may be used again, and the last changes come back from the nodes.\n]"
                          "[{!keeps_six_months}The centre keeps less than six months, which laws may ask for (EU AI Act, "
                          "Articles 19 and 26): keep the nodes' own files as long.\n]"
                          "Next: callgate fleet join NAME --key-file {key} --admin URL --output NAME.member\n");
    }
    enrol_close(&enrol);
    return code == CODE_OK ? STATUS_DONE : complain_why(code, &why);
}

/* There is one schema so far: what leads from one to a later one goes here. */
int cmd_fleet_upgrade(const struct asked *asked)
{
    struct enrol enrol;
    struct why why = {0};
    enum code code = enrol_open(asked, &enrol, &why);

    if (code == CODE_OK && enrol.schema != 0 && enrol.schema < FLEET_SCHEMA)
        code = why_set(&why, CODE_INVALID, "the schema there is number %lld, which no callgate that was released has made: "
                       "from that nothing leads to %d; restore the centre from a backup", (long long)enrol.schema,
                       FLEET_SCHEMA);
    if (code == CODE_OK)
        code = enrol_must_be_ready(&enrol, &why);
    if (code == CODE_OK) {
        struct doc *doc = doc_object();

        doc_int(doc, "schema", enrol.schema);
        (void)told_answer(&doc, asked->json,
                          "the schema is number {schema}, as this callgate needs it; nothing is to be done\n");
    }
    enrol_close(&enrol);
    return code == CODE_OK ? STATUS_DONE : complain_why(code, &why);
}
