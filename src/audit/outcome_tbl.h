/* SPDX-License-Identifier: Apache-2.0 */
/* The columns of `outcome`, as decision_tbl.h has those of a decision. NUMBER is a member of struct audit_result; OWN is a line of
 * ledger__outcome. */
#ifndef AUDIT_OUTCOME_TBL_H
#define AUDIT_OUTCOME_TBL_H

#define OUTCOME_TABLE(OWN, NUMBER) \
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
    OWN(ANSWER_DIGEST, answer_digest)

/* Outside the chain. */
#define OUTCOME_OUTSIDE_TABLE(OWN, KEPT) \
    OWN(SALT, answer_salt) \
    KEPT(TEXT, answer)

#endif
