/* SPDX-License-Identifier: Apache-2.0 */
/* The columns of `decision`, each written once, in the order in which they are hashed; columns of later versions stand at the
 * end. These lines make the places in a row, the texts in a ring, the statements, and how a record's values get there.
 * tools/check-columns compares schema/audit.sql, schema/audit-format.md and tools/verify-audit with them. The second argument
 * is the column, and but for OWN a member: of struct audit_decision, but for sizes and digests, which the ring makes:
 *
 *   OWN     the ledger's own line in fill_decision
 *   FACT    a number here, which the row has as a text or may have as NULL: likewise
 *   NUMBER  a number or a truth value
 *   TEXT    a text, cut to AUDIT_TEXT_BYTES
 *   JSON    a text of JSON; one longer than AUDIT_JSON_BYTES becomes the string "too long"
 *   SIZE    the length of the record's text that is named third; NULL where there is none
 *   DIGEST  DIGEST_BYTES; NULL where the ring's member that is named third is false */
#ifndef ROWS_DECISION_TBL_H
#define ROWS_DECISION_TBL_H

#define DECISION_TABLE(OWN, FACT, NUMBER, TEXT, JSON, SIZE, DIGEST) \
    OWN(SEQ, seq) \
    NUMBER(TIME, time_us) \
    OWN(TENANT_PREVIOUS, tenant_previous) \
    TEXT(TENANT, tenant) \
    TEXT(PRINCIPAL, principal) \
    TEXT(AUTHENTICATION, authentication) \
    TEXT(CLIENT, client) \
    DIGEST(SESSION, session, has_session) \
    OWN(NODE, node) \
    TEXT(CORRELATION, correlation) \
    TEXT(CORRELATION_REPLACED, correlation_replaced) \
    TEXT(TRACE, trace) \
    TEXT(UPSTREAM, upstream) \
    TEXT(DIALECT, dialect) \
    TEXT(PROTOCOL_VERSION, protocol_version) \
    TEXT(DIRECTION, direction) \
    TEXT(METHOD, method) \
    TEXT(TOOL, tool) \
    TEXT(RPC_ID, rpc_id) \
    SIZE(ARGUMENTS_BYTES, arguments_bytes, arguments) \
    OWN(ARGUMENTS_DIGEST, arguments_digest) \
    OWN(ARGUMENTS_CUT, arguments_cut) \
    NUMBER(ARGUMENTS_REDACTED, arguments_redacted) \
    DIGEST(BEGIN_DIGEST, begin_digest, arguments_cut) \
    SIZE(BODY_BYTES, body_bytes, body) \
    DIGEST(BODY_DIGEST, body_digest, has_body) \
    SIZE(QUERY_BYTES, query_bytes, query) \
    DIGEST(QUERY_DIGEST, query_digest, has_query) \
    FACT(VERDICT, verdict) \
    FACT(REASON, reason) \
    TEXT(RULE, rule) \
    TEXT(RULE_REASON, rule_reason) \
    JSON(RULES, rules) \
    TEXT(UNDECIDED, undecided) \
    JSON(MONITOR, monitor) \
    FACT(POLICY_VERSION, policy_version) \
    DIGEST(POLICY_HASH, policy_hash, has_policy_hash) \
    NUMBER(JUDGE, judge_us) \
    FACT(STATUS, status) \
    FACT(LATENCY, latency_us) \
    NUMBER(EXPECTS_OUTCOME, expects_outcome) \
    TEXT(TARGET, target) \
    SIZE(PARAMS_BYTES, params_bytes, params) \
    DIGEST(PARAMS_DIGEST, params_digest, has_params) \
    JSON(GROUPS, groups) \
    JSON(SCOPES, scopes) \
    TEXT(ISSUER, issuer) \
    TEXT(TOKEN_KEY, token_key) \
    SIZE(CLAIMS_BYTES, claims_bytes, claims) \
    DIGEST(CLAIMS_DIGEST, claims_digest, has_claims) \
    TEXT(PLAN, plan) \
    TEXT(PLAN_STEP, plan_step) \
    TEXT(DEFINITION, definition) \
    FACT(API_KEY, api_key) \
    TEXT(AGENT, agent) \
    TEXT(AGENT_FROM, agent_from) \
    JSON(ACTORS, actors) \
    JSON(CLIENT_SAYS, client_says) \
    TEXT(VIA, via) \
    TEXT(AGENT_RULE, agent_rule)

/* Outside the chain, so that it can be erased: the salt of the digests, and texts that they vouch for. */
#define DECISION_OUTSIDE_TABLE(OWN, KEPT) \
    OWN(SALT, salt) \
    KEPT(ARGUMENTS, arguments) \
    KEPT(BEGIN, arguments_begin) \
    KEPT(PARAMS, params) \
    KEPT(QUERY, query) \
    KEPT(CLAIMS, claims)

#endif
