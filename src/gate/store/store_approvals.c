/* SPDX-License-Identifier: Apache-2.0 */
#include "store/store_approvals.h"

#include "store/store.h"

const char *store_approval_state_text(enum store_approval_state state)
{
    switch (state) {
    case APPROVAL_IS_WAITING: return "waiting";
    case APPROVAL_IS_LAPSED: return "lapsed";
    case APPROVAL_IS_APPROVED: return "approved";
    case APPROVAL_IS_REFUSED: return "refused";
    case APPROVAL_IS_USED: return "used";
    case APPROVAL_IS_OVER: return "expired";
    }
    return "waiting";
}

enum store_approval_state store_approval_state(const struct store_approval *approval, int64_t now_us)
{
    if (approval->used_us != 0)
        return APPROVAL_IS_USED;
    if (!approval->is_answered)
        return approval->seen_us > now_us - APPROVAL_FORGET_US ? APPROVAL_IS_WAITING : APPROVAL_IS_LAPSED;
    if (approval->until_us <= now_us)
        return APPROVAL_IS_OVER;
    return approval->is_granted ? APPROVAL_IS_APPROVED : APPROVAL_IS_REFUSED;
}

/* ---- reading ---- */

static struct store_approval approval_of_row(struct db_stmt *row)
{
    return (struct store_approval){
        .id = db_int(row, 0), .digest = db_blob(row, 1), .rule_hash = db_blob(row, 2), .tenant = db_text(row, 3),
        .principal = db_text(row, 4), .upstream = db_text(row, 5), .method = db_text(row, 6), .tool = db_text(row, 7),
        .arguments = db_text(row, 8), .rule = db_text(row, 9), .rule_reason = db_text(row, 10), .client = db_text(row, 11),
        .correlation = db_text(row, 12), .arguments_bytes = (uint64_t)db_int(row, 13), .redacted = db_text(row, 14),
        .policy_version = db_int(row, 15), .gate = db_text(row, 16), .decision = db_int(row, 17), .asked_us = db_int(row, 18),
        .seen_gate = db_text(row, 19), .seen_decision = db_int(row, 20), .seen_us = db_int(row, 21), .times = db_int(row, 22),
        .is_answered = !db_is_null(row, 23), .is_granted = db_int(row, 23) != 0, .given_us = db_int(row, 24),
        .until_us = db_int(row, 25), .given_by = db_text(row, 26), .login = db_text(row, 27), .why = db_text(row, 28),
        .claimed_by = db_text(row, 29), .used_us = db_int(row, 30), .used_decision = db_int(row, 31),
        .target = db_text(row, 32), .query = db_text(row, 33), .params = db_text(row, 34), .authentication = db_text(row, 35),
        .needed = (uint32_t)db_int(row, 36), .approvers = db_text(row, 37), .agent = db_text(row, 38), .via = db_text(row, 39),
        .session = db_text(row, 40),
    };
}

#define COLUMNS(arguments, query, params) \
    "id, digest, rule_hash, tenant, principal, upstream, method, tool, " arguments ", rule, rule_reason, client, " \
    "correlation, arguments_bytes, redacted, policy_version, gate, decision, asked_us, seen_gate, seen_decision, " \
    "seen_us, times, granted, given_us, until_us, given_by, login, why, claimed_by, used_us, used_decision, " \
    "target, " query ", " params ", authentication, needed, approvers, agent, via, session "

#define SELECT_APPROVALS "SELECT " COLUMNS("arguments", "query", "params") "FROM approval WHERE "
#define IS_ASKED "id IN (SELECT ask FROM approval_seen WHERE seen_us > ?1) AND until_us IS NULL AND used_us IS NULL"

static enum code find_rows(struct db *db, enum store_approvals which, int64_t number, int64_t now_us, struct db_stmt **rows)
{
    const char *sql = SELECT_APPROVALS "id > ?1 ORDER BY id";
    int64_t first = 0, second = which == APPROVALS_WAITING ? number : now_us;

    switch (which) {
    case APPROVALS_WAITING:
        sql = SELECT_APPROVALS IS_ASKED " AND id > ?2 ORDER BY id";
        first = now_us - APPROVAL_FORGET_US;
        break;
    case APPROVALS_OPEN:
        sql = "SELECT " COLUMNS("NULL", "NULL", "NULL") "FROM approval WHERE " IS_ASKED " UNION ALL "
              "SELECT " COLUMNS("NULL", "NULL", "NULL") "FROM approval WHERE id IN "
              "(SELECT ask FROM approval_answer WHERE until_us > ?2) AND until_us > ?2 AND used_us IS NULL";
        first = now_us - APPROVAL_FORGET_US;
        break;
    case APPROVALS_AFTER:
        first = number;
        break;
    case APPROVALS_ONE:
        sql = SELECT_APPROVALS "id = ?1";
        first = number;
        break;
    case APPROVALS_OF_DECISION:
        sql = SELECT_APPROVALS "decision = ?1 OR seen_decision = ?1 ORDER BY id";
        first = number;
        break;
    }
    return db_select(db, sql, (const struct db_value[]){db_of_int(first), db_of_int(second)},
                     which == APPROVALS_OPEN || which == APPROVALS_WAITING ? 2 : 1, rows);
}

static bool (*is_shown)(const struct store_approval *approval); /* NULL: all are */

void store_approvals_show_only(bool (*to_be_shown)(const struct store_approval *approval))
{
    is_shown = to_be_shown;
}

enum code store_approvals_each(struct db *db, enum store_approvals which, int64_t number, int64_t now_us,
                               store_approval_fn each, void *context, struct why *why)
{
    struct db_stmt *rows = NULL;
    enum code code = find_rows(db, which, number, now_us, &rows);

    while (db_next(&rows, &code)) {
        struct store_approval approval = approval_of_row(rows);

        if (is_shown == NULL || is_shown(&approval))
            code = each(context, &approval);
    }
    return db_why(why, code, db, "reading the approvals");
}

static enum code count_one(void *context, const struct store_approval *approval)
{
    (void)approval;
    ++*(int64_t *)context;
    return CODE_OK;
}

enum code store_approvals_count(struct db *db, int64_t now_us, int64_t *waiting, struct why *why)
{
    *waiting = 0;
    return store_approvals_each(db, APPROVALS_WAITING, 0, now_us, count_one, waiting, why);
}
