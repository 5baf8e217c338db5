/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the chain as values, their canonical bytes and their hash: schema/audit-format.md in C.
 *
 * Threads: any.
 * Owns: nothing; values borrow their bytes.
 * Lifetime: that of what they borrow from.
 * Errors: none; a row is at most a few hundred KiB and is hashed piece by piece. */
#ifndef AUDIT_ROW_H
#define AUDIT_ROW_H

#include "base/buf.h"
#include "base/span.h"
#include "crypto/digest.h"
#include "db/db.h"

#include <stdbool.h>
#include <stdint.h>

enum row_table { ROW_FILE = 0, ROW_DECISION, ROW_OUTCOME, ROW_EVENT, ROW_TABLES };

/* The last number that a file holds. */
#define ROW_MAX_SEQ "SELECT max(coalesce((SELECT max(seq) FROM decision), 0), " \
                    "coalesce((SELECT max(seq) FROM outcome), 0), " \
                    "coalesce((SELECT max(seq) FROM event), 0))"

/* The chained columns, in the order in which they are hashed. In the table, columns of later
 * versions stand behind all others. */
#define ROW_FILE_COLUMNS(X) X(F, SEQ, seq) X(F, FORMAT, format) X(F, CREATED, created_us) X(F, ID, id) X(F, PREVIOUS, previous)

#define ROW_DECISION_COLUMNS(X) \
    X(D, SEQ, seq) X(D, TIME, time_us) X(D, TENANT_PREVIOUS, tenant_previous) \
    X(D, TENANT, tenant) X(D, PRINCIPAL, principal) X(D, AUTHENTICATION, authentication) X(D, CLIENT, client) \
    X(D, SESSION, session) X(D, NODE, node) \
    X(D, CORRELATION, correlation) X(D, CORRELATION_REPLACED, correlation_replaced) X(D, TRACE, trace) \
    X(D, UPSTREAM, upstream) X(D, DIALECT, dialect) X(D, PROTOCOL_VERSION, protocol_version) \
    X(D, DIRECTION, direction) X(D, METHOD, method) X(D, TOOL, tool) X(D, RPC_ID, rpc_id) \
    X(D, ARGUMENTS_BYTES, arguments_bytes) X(D, ARGUMENTS_DIGEST, arguments_digest) \
    X(D, ARGUMENTS_CUT, arguments_cut) X(D, ARGUMENTS_REDACTED, arguments_redacted) X(D, BEGIN_DIGEST, begin_digest) \
    X(D, BODY_BYTES, body_bytes) X(D, BODY_DIGEST, body_digest) \
    X(D, QUERY_BYTES, query_bytes) X(D, QUERY_DIGEST, query_digest) \
    X(D, VERDICT, verdict) X(D, REASON, reason) X(D, RULE, rule) X(D, RULE_REASON, rule_reason) X(D, RULES, rules) \
    X(D, UNDECIDED, undecided) X(D, MONITOR, monitor) X(D, POLICY_VERSION, policy_version) \
    X(D, POLICY_HASH, policy_hash) X(D, JUDGE, judge_us) X(D, STATUS, status) X(D, LATENCY, latency_us) \
    X(D, EXPECTS_OUTCOME, expects_outcome) X(D, TARGET, target) X(D, PARAMS_BYTES, params_bytes) \
    X(D, PARAMS_DIGEST, params_digest)

#define ROW_OUTCOME_COLUMNS(X) \
    X(O, SEQ, seq) X(O, TIME, time_us) X(O, TENANT_PREVIOUS, tenant_previous) X(O, TENANT, tenant) \
    X(O, DECISION, decision) X(O, OUTCOME, outcome) X(O, REASON, reason) X(O, STATUS, status) \
    X(O, ERROR_CODE, error_code) X(O, RESPONSE_BYTES, response_bytes) X(O, RESPONSE_DIGEST, response_digest) \
    X(O, SERVER_REQUESTS, server_requests) X(O, SERVER_NOTIFICATIONS, server_notifications) \
    X(O, SERVER_DENIED, server_denied) X(O, LATENCY, latency_us) X(O, UPSTREAM, upstream_us) \
    X(O, ANSWER_BYTES, answer_bytes) X(O, ANSWER_DIGEST, answer_digest)

#define ROW_EVENT_COLUMNS(X) \
    X(E, SEQ, seq) X(E, TIME, time_us) X(E, TENANT_PREVIOUS, tenant_previous) X(E, TENANT, tenant) \
    X(E, KIND, kind) X(E, ACTOR, actor) X(E, DETAIL, detail)

#define ROW_PLACE(letter, NAME, name) letter##_##NAME,
enum { ROW_FILE_COLUMNS(ROW_PLACE) F_COUNT };
enum { ROW_DECISION_COLUMNS(ROW_PLACE) D_COUNT };
enum { ROW_OUTCOME_COLUMNS(ROW_PLACE) O_COUNT };
enum { ROW_EVENT_COLUMNS(ROW_PLACE) E_COUNT };

/* Outside the chain: what can be erased. */
#define ROW_DECISION_OUTSIDE(X) \
    X(OUTSIDE, SALT, salt) X(OUTSIDE, ARGUMENTS, arguments) X(OUTSIDE, BEGIN, arguments_begin) X(OUTSIDE, PARAMS, params) \
    X(OUTSIDE, QUERY, query)
#define ROW_OUTCOME_OUTSIDE(X) X(ANSWER, SALT, answer_salt) X(ANSWER, TEXT, answer)

enum { ROW_DECISION_OUTSIDE(ROW_PLACE) OUTSIDE_COUNT };
enum { ROW_OUTCOME_OUTSIDE(ROW_PLACE) ANSWER_COUNT };

#define ROW_COLUMNS_MAX D_COUNT
#define ROW_OUTSIDE_MAX OUTSIDE_COUNT
#define ROW_SALT_BYTES 16

enum row_kind { ROW_NULL = 0, ROW_INT, ROW_TEXT, ROW_BLOB, ROW_FOREIGN /* a kind that no row of ours holds */ };

struct row_value {
    enum row_kind kind;
    int64_t number;
    struct span bytes;
};

static inline struct row_value row_null(void)
{
    return (struct row_value){.kind = ROW_NULL};
}

static inline struct row_value row_int(int64_t number)
{
    return (struct row_value){.kind = ROW_INT, .number = number};
}

static inline struct row_value row_text(struct span text) /* NULL where text.at is */
{
    return (struct row_value){.kind = text.at ? ROW_TEXT : ROW_NULL, .bytes = text};
}

static inline struct row_value row_blob(const void *at, size_t len) /* NULL where at is */
{
    return (struct row_value){.kind = at ? ROW_BLOB : ROW_NULL, .bytes = span_of(at, len)};
}

struct row_shape {
    const char *name;            /* of the table */
    char tag;                    /* first canonical byte */
    int count;                   /* chained columns */
    const char *const *columns;
    int outside;                 /* columns outside the chain */
    const char *const *outside_columns;
};

const struct row_shape *row__shape(enum row_table table);

/* SHA-256(previous || canonical bytes of the values). */
void row__hash(enum row_table table, const struct row_value *values, const unsigned char previous[DIGEST_BYTES],
               unsigned char hash[DIGEST_BYTES]);

/* Appends the canonical bytes themselves. */
enum code row__bytes(enum row_table table, const struct row_value *values, struct buf *out) MUST_USE;

/* "INSERT INTO decision (seq, ...) VALUES (?, ...)": the chained columns, the hash, what is outside. */
enum code row__prepare_insert(struct db *db, enum row_table table, struct db_stmt **stmt) MUST_USE;
void row__bind(struct db_stmt *stmt, int at, const struct row_value *value);

/* "SELECT seq, ... FROM decision ", with columns in the order of an insert. */
enum code row__add_select(struct buf *sql, enum row_table table) MUST_USE;

/* The value in a column of the current row. */
struct row_value row__read(struct db_stmt *stmt, int column);

#endif
