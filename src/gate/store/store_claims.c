/* SPDX-License-Identifier: Apache-2.0 */
/* The running gate's side of approvals in the store. */
#include "store/store.h"
#include "store/store_approvals.h"

/* Sets *id to the number of the open ask that this one repeats, or 0. */
static enum code find_open(struct db *db, const struct approval_ask *ask, int64_t *id)
{
    return db_number(db, "SELECT id FROM approval WHERE digest = ?1 AND used_us IS NULL AND "
                     "(until_us > ?2 OR until_us IS NULL AND seen_us > ?3) ORDER BY id DESC LIMIT 1",
                     DB_VALUES(db_of_blob(span_of(ask->digest, DIGEST_BYTES)), db_of_int(ask->asked_us),
                               db_of_int(ask->asked_us - APPROVAL_FORGET_US)), id);
}

static enum code add_ask(struct db *db, struct span gate, const struct approval_ask *ask, int64_t *id)
{
    enum code code = db_change(
        db, "INSERT INTO approval_ask(digest, tenant, principal, upstream, method, tool, arguments_bytes, "
        "rule, rule_hash, rule_reason, policy_version, client, correlation, gate, decision, asked_us, target, redacted, "
        "authentication, needed, approvers, agent, via) VALUES "
        "(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, nullif(?22, ''), "
        "nullif(?23, ''))",
        DB_VALUES(db_of_blob(span_of(ask->digest, DIGEST_BYTES)), db_of_text(ask->tenant), db_of_text(ask->principal),
                  db_of_text(ask->upstream), db_of_text(ask->method), db_of_text(ask->tool),
                  db_of_int((int64_t)ask->arguments_bytes), db_of_text(ask->rule),
                  db_of_blob(ask->rule_hash), db_of_text(ask->rule_reason), db_of_int((int64_t)ask->policy_version),
                  db_of_text(ask->client), db_of_text(ask->correlation), db_of_text(gate), db_of_int((int64_t)ask->decision),
                  db_of_int(ask->asked_us), db_of_text(ask->target), db_of_text(ask->redacted),
                  db_of_text(ask->authentication), db_of_int(ask->needed > 0 ? ask->needed : 1),
                  db_of_text(ask->approvers), db_of_text(ask->agent), db_of_text(ask->via)));

    *id = db_last_id(db);
    return code;
}

#define HELD_BYTES ((int64_t)32 << 20) /* of all arguments that are kept; what finds no room is approved --despite-unseen */

static enum code add_held(struct db *db, int64_t id, const struct approval_ask *ask)
{
    size_t bytes = ask->arguments.len + ask->query.len + ask->params.len;

    if (ask->arguments.at == NULL && ask->query.at == NULL && ask->params.at == NULL)
        return CODE_OK;
    /* An empty text in place of a query or params that find no room: somebody has to say --despite-unseen. */
    return db_change(db, "INSERT INTO approval_held(ask, bytes, arguments, query, params) SELECT ?1, iif(fits, ?2, 0), "
                     "iif(fits, ?3, NULL), iif(fits, ?4, NULL), iif(fits, ?5, '') FROM "
                     "(SELECT coalesce(sum(bytes), 0) + ?2 <= ?6 AS fits FROM approval_held) "
                     "WHERE fits OR ?4 IS NOT NULL OR ?5 IS NOT NULL",
                     DB_VALUES(db_of_int(id), db_of_int((int64_t)bytes), db_of_text(ask->arguments), db_of_text(ask->query),
                               db_of_text(ask->params), db_of_int(HELD_BYTES)));
}

static enum code see(struct db *db, struct span gate, int64_t id, const struct approval_ask *ask)
{
    return db_change(db, "INSERT INTO approval_seen(ask, gate, decision, session, seen_us, times) VALUES "
                     "(?1, ?2, ?3, ?5, ?4, 1) ON CONFLICT (ask) DO UPDATE SET gate = excluded.gate, "
                     "decision = excluded.decision, session = excluded.session, "
                     "seen_us = max(seen_us, excluded.seen_us), times = times + 1",
                     DB_VALUES(db_of_int(id), db_of_text(gate), db_of_int((int64_t)ask->decision), db_of_int(ask->asked_us),
                               db_of_text(ask->session)));
}

enum code store_approval_ask(struct db *db, struct span gate, const struct approval_ask *ask, struct why *why)
{
    int64_t id;
    enum code code = find_open(db, ask, &id);

    if (code == CODE_OK && id == 0 && ask->is_again)
        return CODE_OK; /* the ask has ended meanwhile, and the next one comes with its arguments */
    if (code == CODE_OK && id == 0) {
        code = add_ask(db, gate, ask, &id);
        if (code == CODE_OK)
            code = add_held(db, id, ask);
    }
    if (code == CODE_OK)
        code = see(db, gate, id, ask);
    return db_why(why, code, db, "storing what a person is asked");
}

enum code store_approval_use(struct db *db, struct span gate, const struct approval_use *use, struct why *why)
{
    enum code code = db_change(db, "INSERT INTO approval_use(ask, gate, decision, used_us) VALUES (?1, ?2, nullif(?3, 0), ?4) "
                               "ON CONFLICT (ask) DO NOTHING",
                               DB_VALUES(db_of_int(use->number), db_of_text(gate), db_of_int((int64_t)use->decision),
                                         db_of_int(use->used_us)));

    return db_why(why, code, db, "storing that an approval was used");
}

static enum code insert_claim(struct db *db, const char *sql, struct span gate, int64_t ask, int64_t now_us, uint64_t audit_seq,
                              struct why *why)
{
    enum code code = db_change(db, sql, DB_VALUES(db_of_int(ask), db_of_text(gate), db_of_int(now_us),
                                                  db_of_int((int64_t)audit_seq)));

    return db_why(why, code, db, "claiming an approval");
}

enum code store_approval_claim(struct db *db, struct span gate, int64_t ask, int64_t now_us, uint64_t audit_seq,
                               struct why *why)
{
    return insert_claim(db, "INSERT INTO approval_claim(ask, gate, since_us, audit_seq) VALUES (?1, ?2, ?3, ?4) "
                        "ON CONFLICT (ask) DO NOTHING", gate, ask, now_us, audit_seq, why);
}

enum code store_approval_wish(struct db *db, struct span gate, int64_t ask, int64_t now_us, uint64_t audit_seq,
                              struct why *why)
{
    return insert_claim(db, "INSERT INTO fleet_wish(ask, gate, since_us, audit_seq) VALUES (?1, ?2, ?3, ?4) "
                        "ON CONFLICT (ask) DO NOTHING", gate, ask, now_us, audit_seq, why);
}

#define UNUSED_CLAIMS "approval_claim WHERE gate = ?1 AND ask NOT IN (SELECT ask FROM approval_use)"

static enum code change_claims(struct db *db, const char *sql, struct span gate, int64_t number)
{
    return db_change(db, sql, DB_VALUES(db_of_text(gate), db_of_int(number)));
}

enum code store_approval_release(struct db *db, struct span gate, int64_t ask, struct why *why)
{
    enum code code = change_claims(db, "DELETE FROM approval_claim WHERE gate = ?1 AND ask = ?2", gate, ask);

    return db_why(why, code, db, "leaving an approval to another gate");
}

enum code store_approvals_release_all(struct db *db, struct span gate, struct why *why)
{
    enum code code = change_claims(db, "DELETE FROM " UNUSED_CLAIMS " AND ask > ?2", gate, 0);

    return db_why(why, code, db, "leaving approvals to other gates");
}

enum code store_approvals_confirm(struct db *db, struct span gate, uint64_t audit_seq, int64_t now_us, struct why *why)
{
    enum code code = change_claims(db, "DELETE FROM approval_claim WHERE gate = ?1 AND ask IN (SELECT c.ask "
                                     "FROM approval_claim c JOIN approval a ON a.id = c.ask "
                                     "WHERE a.used_us IS NULL AND a.until_us < ?2)",
                                 gate, now_us - APPROVAL_FORGET_US);

    if (code == CODE_OK)
        code = change_claims(db, "UPDATE approval_claim SET audit_seq = max(audit_seq, ?2) WHERE gate = ?1 AND "
                                 "ask NOT IN (SELECT ask FROM approval_use)", gate, (int64_t)audit_seq);
    return db_why(why, code, db, "writing the store");
}

/* secure_delete overwrites what is deleted, but not the copies that stay behind where SQLite has moved it to another page. So
 * what remains is written anew, in the order in which nothing is moved, and all pages that were used so far are cleared. */
static enum code rewrite_held(struct db *db)
{
    if (db_changes(db) == 0)
        return CODE_OK;
    return db_exec(db, "CREATE TEMP TABLE held AS SELECT * FROM main.approval_held; DELETE FROM main.approval_held;"
                       "INSERT INTO main.approval_held SELECT * FROM temp.held ORDER BY ask; DROP TABLE temp.held");
}

enum code store_approvals_forget(struct db *db, int64_t now_us, struct why *why)
{
    enum code code = db_change(db, "DELETE FROM approval_held WHERE ask IN (SELECT t.ask FROM approval_held t JOIN approval a "
                               "ON a.id = t.ask WHERE coalesce(a.used_us, a.until_us) IS NOT NULL OR a.seen_us < ?1)",
                               DB_VALUES(db_of_int(now_us - APPROVAL_FORGET_US)));

    if (code == CODE_OK)
        code = rewrite_held(db);
    return db_why(why, code, db, "erasing the arguments of held calls");
}

static enum code change_erased(struct db *db, const char *sql, const struct store_erasure *erasure)
{
    return db_change(db, sql, DB_VALUES(db_of_text(erasure->tenant), db_of_int(erasure->before_us),
                                        db_of_int(erasure->now_us - APPROVAL_FORGET_US)));
}

enum code store_approvals_erase(struct db *db, const struct store_erasure *erasure, struct why *why)
{
    enum code code = store_begin(db, why);

    if (code != CODE_OK)
        return code;
    code = change_erased(db, "UPDATE approval_seen SET seen_us = min(seen_us, ?3) WHERE ask IN (SELECT t.ask FROM "
                         "approval_held AS t JOIN approval AS a ON a.id = t.ask WHERE a.tenant = ?1 AND a.seen_us < ?2 "
                         "AND a.until_us IS NULL AND a.used_us IS NULL)", erasure);
    if (code == CODE_OK)
        code = change_erased(db, "DELETE FROM approval_held WHERE ask IN (SELECT id FROM approval WHERE tenant = ?1 AND "
                             "max(seen_us, coalesce(used_us, 0)) < ?2 AND ?3 IS NOT NULL)", erasure);
    if (code == CODE_OK)
        code = rewrite_held(db);
    return store_end(db, code, "erasing the arguments of held calls", why);
}

enum code store_claims_each(struct db *db, struct span gate, store_claim_fn each, void *context, struct why *why)
{
    struct db_stmt *rows = NULL;
    enum code code = db_select(db, "SELECT ask, audit_seq FROM " UNUSED_CLAIMS, DB_VALUES(db_of_text(gate)), &rows);

    while (db_next(&rows, &code))
        code = each(context, db_int(rows, 0), (uint64_t)db_int(rows, 1));
    return db_why(why, code, db, "reading the claims");
}
