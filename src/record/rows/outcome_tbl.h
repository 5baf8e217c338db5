/* SPDX-License-Identifier: Apache-2.0 */
/* The columns of `outcome`, as decision_tbl.h has those of a decision. The second argument is the column, and but for OWN
 * the member of struct audit_result:
 *
 *   OWN     ledger_outcome's own line
 *   NUMBER  a number
 *   TEXT    a text, cut to AUDIT_SAID_TEXT_BYTES
 *   JSON    a text of JSON; one longer than AUDIT_SAID_JSON_BYTES becomes the string "too long" */
#ifndef ROWS_OUTCOME_TBL_H
#define ROWS_OUTCOME_TBL_H

#define OUTCOME_TABLE(OWN, NUMBER, TEXT, JSON) \
    OWN(SEQ, seq) \
    NUMBER(TIME, time_us) \
    OWN(TENANT_PREVIOUS, tenant_previous) \
    OWN(TENANT, tenant) \
    OWN(DECISION, decision) \
    OWN(OUTCOME, outcome) \
    OWN(REASON, reason) \
    OWN(STATUS, status) \
    OWN(ERROR_CODE, error_code) \
    NUMBER(RESPONSE_BYTES, response_bytes) \
    OWN(RESPONSE_DIGEST, response_digest) \
    NUMBER(SERVER_REQUESTS, server_requests) \
    NUMBER(SERVER_NOTIFICATIONS, server_notifications) \
    NUMBER(SERVER_DENIED, server_denied) \
    OWN(LATENCY, latency_us) \
    OWN(UPSTREAM, upstream_us) \
    OWN(ANSWER_BYTES, answer_bytes) \
    OWN(ANSWER_DIGEST, answer_digest) \
    TEXT(ANSWER_RULE, answer_rule) \
    TEXT(ANSWER_EFFECT, answer_effect) \
    JSON(ANSWER_FOUND, answer_found) \
    JSON(ANSWER_RULES, answer_rules) \
    TEXT(ANSWER_UNDECIDED, answer_undecided) \
    OWN(RESPONSE_DIGEST_BEFORE, response_digest_before) \
    OWN(SERVER_WITHHELD, server_withheld)

/* Outside the chain. */
#define OUTCOME_OUTSIDE_TABLE(OWN, KEPT) \
    OWN(SALT, answer_salt) \
    KEPT(TEXT, answer)

#endif
