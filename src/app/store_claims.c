/* SPDX-License-Identifier: Apache-2.0 */
/* The running gate's side of approvals in the store. */
#include "app/store.h"
#include "app/store_approvals.h"

enum code store_approvals_begin(struct db *db, struct why *why)
{
    enum code code = db_begin(db);

    return code == CODE_OK ? code : store_why(why, code, db, "locking the store");
}

void store_approvals_undo(struct db *db)
{
    db_rollback(db);
}

/* Returns: the number of the ask that this one is once more, or 0. */
static enum code find_open(struct db *db, const struct approval_ask *ask, int64_t *id)
{
    struct db_stmt *stmt = NULL;
    enum code code = db_prepare(db, "SELECT id FROM approval WHERE digest = ?1 AND used_us IS NULL AND "
                                    "(until_us > ?2 OR until_us IS NULL AND seen_us > ?3) ORDER BY id DESC LIMIT 1", &stmt);

    *id = 0;
    if (code == CODE_OK) {
        db_bind_blob(stmt, 1, span_of(ask->digest, DIGEST_BYTES));
        db_bind_int(stmt, 2, ask->asked_us);
        db_bind_int(stmt, 3, ask->asked_us - APPROVAL_FORGET_US);
        code = db_step(stmt);
        if (code == CODE_OK)
            *id = db_int(stmt, 0);
    }
    db_finalize(&stmt);
    return code == CODE_NOT_FOUND ? CODE_OK : code;
}

static enum code add_ask(struct db *db, struct span gate, const struct approval_ask *ask, int64_t *id)
{
    struct db_stmt *stmt = NULL;
    enum code code = db_prepare(db, "INSERT INTO approval_ask(digest, tenant, principal, upstream, method, tool, "
                                    "arguments_bytes, arguments_redacted, rule, rule_hash, rule_reason, policy_version, "
                                    "client, correlation, gate, decision, asked_us, target) VALUES "
                                    "(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)", &stmt);

    if (code != CODE_OK)
        return code;
    db_bind_blob(stmt, 1, span_of(ask->digest, DIGEST_BYTES));
    db_bind_text(stmt, 2, ask->tenant);
    db_bind_text(stmt, 3, ask->principal);
    db_bind_text(stmt, 4, ask->upstream);
    db_bind_text(stmt, 5, ask->method);
    db_bind_text(stmt, 6, ask->tool);
    db_bind_int(stmt, 7, (int64_t)ask->arguments_bytes);
    db_bind_int(stmt, 8, ask->arguments_redacted);
    db_bind_text(stmt, 9, ask->rule);
    db_bind_blob(stmt, 10, ask->rule_hash);
    db_bind_text(stmt, 11, ask->rule_reason);
    db_bind_int(stmt, 12, (int64_t)ask->policy_version);
    db_bind_text(stmt, 13, ask->client);
    db_bind_text(stmt, 14, ask->correlation);
    db_bind_text(stmt, 15, gate);
    db_bind_int(stmt, 16, (int64_t)ask->decision);
    db_bind_int(stmt, 17, ask->asked_us);
    db_bind_text(stmt, 18, ask->target);
    code = db_run(stmt);
    db_finalize(&stmt);
    *id = db_last_id(db);
    return code;
}

static enum code add_shown(struct db *db, int64_t id, const struct approval_ask *ask)
{
    struct db_stmt *stmt = NULL;
    enum code code;

    if (ask->arguments.at == NULL && ask->query.at == NULL && ask->params.at == NULL)
        return CODE_OK;
    code = db_prepare(db, "INSERT INTO approval_shown(ask, arguments, query, params) VALUES (?1, ?2, ?3, ?4)", &stmt);
    if (code == CODE_OK) {
        db_bind_int(stmt, 1, id);
        db_bind_text(stmt, 2, ask->arguments);
        db_bind_text(stmt, 3, ask->query);
        db_bind_text(stmt, 4, ask->params);
        code = db_run(stmt);
    }
    db_finalize(&stmt);
    return code;
}

static enum code see(struct db *db, struct span gate, int64_t id, const struct approval_ask *ask)
{
    struct db_stmt *stmt = NULL;
    enum code code = db_prepare(db, "INSERT INTO approval_seen(ask, gate, decision, seen_us, times) VALUES (?1, ?2, ?3, ?4, 1) "
                                    "ON CONFLICT (ask) DO UPDATE SET gate = excluded.gate, decision = excluded.decision, "
                                    "seen_us = max(seen_us, excluded.seen_us), times = times + 1", &stmt);

    if (code == CODE_OK) {
        db_bind_int(stmt, 1, id);
        db_bind_text(stmt, 2, gate);
        db_bind_int(stmt, 3, (int64_t)ask->decision);
        db_bind_int(stmt, 4, ask->asked_us);
        code = db_run(stmt);
    }
    db_finalize(&stmt);
    return code;
}

enum code store_approval_ask(struct db *db, struct span gate, const struct approval_ask *ask, struct why *why)
{
    int64_t id;
    enum code code = find_open(db, ask, &id);

    if (code == CODE_OK && id == 0 && ask->is_again)
        return CODE_OK; /* it is over meanwhile: the next one comes with its arguments */
    if (code == CODE_OK && id == 0) {
        code = add_ask(db, gate, ask, &id);
        if (code == CODE_OK)
            code = add_shown(db, id, ask);
    }
    if (code == CODE_OK)
        code = see(db, gate, id, ask);
    return code == CODE_OK ? code : store_why(why, code, db, "storing what a person is asked");
}

enum code store_approval_use(struct db *db, struct span gate, const struct approval_use *use, struct why *why)
{
    struct db_stmt *stmt = NULL;
    enum code code = db_prepare(db, "INSERT INTO approval_use(ask, gate, decision, used_us) VALUES (?1, ?2, nullif(?3, 0), ?4) "
                                    "ON CONFLICT (ask) DO NOTHING", &stmt);

    if (code == CODE_OK) {
        db_bind_int(stmt, 1, use->number);
        db_bind_text(stmt, 2, gate);
        db_bind_int(stmt, 3, (int64_t)use->decision);
        db_bind_int(stmt, 4, use->used_us);
        code = db_run(stmt);
    }
    db_finalize(&stmt);
    return code == CODE_OK ? code : store_why(why, code, db, "storing that an approval was used");
}

enum code store_approval_claim(struct db *db, struct span gate, int64_t ask, int64_t now_us, uint64_t audit_seq,
                               struct why *why)
{
    struct db_stmt *stmt = NULL;
    enum code code = db_prepare(db, "INSERT INTO approval_claim(ask, gate, since_us, audit_seq) VALUES (?1, ?2, ?3, ?4) "
                                    "ON CONFLICT (ask) DO NOTHING", &stmt);

    if (code == CODE_OK) {
        db_bind_int(stmt, 1, ask);
        db_bind_text(stmt, 2, gate);
        db_bind_int(stmt, 3, now_us);
        db_bind_int(stmt, 4, (int64_t)audit_seq);
        code = db_run(stmt);
    }
    db_finalize(&stmt);
    return code == CODE_OK ? code : store_why(why, code, db, "claiming an approval");
}

#define UNUSED_CLAIMS "approval_claim WHERE gate = ?1 AND ask NOT IN (SELECT ask FROM approval_use)"

static enum code change_claims(struct db *db, const char *sql, struct span gate, int64_t number)
{
    struct db_stmt *stmt = NULL;
    enum code code = db_prepare(db, sql, &stmt);

    if (code == CODE_OK) {
        db_bind_text(stmt, 1, gate);
        db_bind_int(stmt, 2, number);
        code = db_run(stmt);
    }
    db_finalize(&stmt);
    return code;
}

enum code store_approval_release(struct db *db, struct span gate, int64_t ask, struct why *why)
{
    enum code code = change_claims(db, "DELETE FROM approval_claim WHERE gate = ?1 AND ask = ?2", gate, ask);

    return code == CODE_OK ? code : store_why(why, code, db, "leaving an approval to another gate");
}

enum code store_approvals_release_all(struct db *db, struct span gate, struct why *why)
{
    enum code code = change_claims(db, "DELETE FROM " UNUSED_CLAIMS " AND ask > ?2", gate, 0);

    return code == CODE_OK ? code : store_why(why, code, db, "leaving approvals to other gates");
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
    return code == CODE_OK ? code : store_why(why, code, db, "writing the store");
}

/* Arguments may hold what an audit would have to erase. */
static enum code drop_arguments(struct db *db, int64_t now_us)
{
    struct db_stmt *stmt = NULL;
    enum code code = db_prepare(db, "DELETE FROM approval_shown WHERE ask IN (SELECT t.ask FROM approval_shown t "
                                    "JOIN approval a ON a.id = t.ask WHERE coalesce(a.used_us, a.until_us, a.seen_us) < ?1)",
                                &stmt);

    if (code == CODE_OK) {
        db_bind_int(stmt, 1, now_us - APPROVAL_FORGET_US);
        code = db_run(stmt);
    }
    db_finalize(&stmt);
    return code;
}

static enum code change_erased(struct db *db, const char *sql, const struct store_erasure *erasure)
{
    struct db_stmt *stmt = NULL;
    enum code code = db_prepare(db, sql, &stmt);

    if (code == CODE_OK) {
        db_bind_text(stmt, 1, erasure->tenant);
        db_bind_int(stmt, 2, erasure->before_us);
        db_bind_int(stmt, 3, erasure->now_us - APPROVAL_FORGET_US);
        code = db_run(stmt);
    }
    db_finalize(&stmt);
    return code;
}

enum code store_approvals_erase(struct db *db, const struct store_erasure *erasure, struct why *why)
{
    enum code code = store_approvals_begin(db, why);

    if (code != CODE_OK)
        return code;
    code = change_erased(db, "UPDATE approval_seen SET seen_us = min(seen_us, ?3) WHERE ask IN (SELECT t.ask FROM "
                         "approval_shown AS t JOIN approval AS a ON a.id = t.ask WHERE a.tenant = ?1 AND a.seen_us < ?2 "
                         "AND a.until_us IS NULL AND a.used_us IS NULL)", erasure);
    if (code == CODE_OK)
        code = change_erased(db, "DELETE FROM approval_shown WHERE ask IN (SELECT id FROM approval WHERE tenant = ?1 AND "
                             "max(seen_us, coalesce(used_us, 0)) < ?2 AND ?3 IS NOT NULL)", erasure);
    if (code == CODE_OK)
        code = db_commit(db);
    if (code == CODE_OK)
        return CODE_OK;
    store_why(why, code, db, "erasing the arguments of held calls");
    db_rollback(db);
    return code;
}

enum code store_approvals_commit(struct db *db, int64_t now_us, struct why *why)
{
    enum code code = drop_arguments(db, now_us);

    if (code == CODE_OK)
        code = db_commit(db);
    if (code == CODE_OK)
        return CODE_OK;
    store_why(why, code, db, "storing approvals");
    db_rollback(db);
    return code;
}

enum code store_claims_each(struct db *db, struct span gate, store_claim_fn each, void *context, struct why *why)
{
    struct db_stmt *rows = NULL;
    enum code code = db_prepare(db, "SELECT ask, audit_seq FROM " UNUSED_CLAIMS, &rows);

    if (code == CODE_OK) {
        db_bind_text(rows, 1, gate);
        while ((code = db_step(rows)) == CODE_OK)
            if ((code = each(context, db_int(rows, 0), (uint64_t)db_int(rows, 1))) != CODE_OK)
                break;
    }
    db_finalize(&rows);
    return code == CODE_OK || code == CODE_NOT_FOUND ? CODE_OK : store_why(why, code, db, "reading the claims");
}
