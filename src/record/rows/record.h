/* SPDX-License-Identifier: Apache-2.0 */
/* Audit records as the gate hands them over: decision, outcome, event. The row format is schema/audit-format.md.
 *
 * Threads: filled by a worker (or main, for events); copied into a ring by value.
 * Owns: nothing; all spans are borrowed until the record has been put into the ring.
 * Lifetime: one call of audit_put_*.
 * Errors: none. A span with at == NULL is SQL NULL; an empty span with at != NULL is the empty text. Texts over
 * AUDIT_TEXT_BYTES (but arguments, claims and JSON) are cut at a character and end with U+2026; the body's digest
 * covers the whole. */
#ifndef ROWS_RECORD_H
#define ROWS_RECORD_H

#include "base/reason.h"
#include "base/span.h"

#include <stdbool.h>
#include <stdint.h>

#define AUDIT_TEXT_BYTES 4096
#define AUDIT_JSON_BYTES 65536 /* rules, monitor, groups, scopes, an event's detail; longer: the string "too long" */

#define AUDIT_ANSWER_BYTES 262144 /* more of an answer is not kept */
#define AUDIT_CLAIMS_BYTES 16384 /* more of claims is not kept */
/* Of what rules for answers did: texts are cut at this size, and longer JSON is the string "too long". */
#define AUDIT_SAID_TEXT_BYTES 512
#define AUDIT_SAID_JSON_BYTES 1024
#define AUDIT_QUERY_BYTES 16384 /* none is longer than an HTTP head */

enum audit_verdict { AUDIT_DENY = 0, AUDIT_HOLD, AUDIT_PERMIT };

enum audit_outcome {
    OUTCOME_UNKNOWN = 0,
    OUTCOME_RESULT, OUTCOME_TOOL_ERROR, OUTCOME_PROTOCOL_ERROR, OUTCOME_HTTP_ERROR, OUTCOME_ACCEPTED,
    OUTCOME_STREAM_ENDED, OUTCOME_DETACHED, OUTCOME_UPSTREAM_FAILURE, OUTCOME_TIMEOUT, OUTCOME_CANCELLED,
    OUTCOME_REFUSED, OUTCOME_NOT_SENT, OUTCOME_REPORTED
};

const char *audit_outcome_text(enum audit_outcome outcome); /* "result", "tool_error" ... */
const char *audit_verdict_text(enum audit_verdict verdict); /* "permit", "deny", "hold" */

struct audit_decision {
    int64_t time_us;            /* UTC */
    /* who */
    struct span tenant, principal;
    struct span authentication; /* "api_key", "bearer", "certificate", "none"; NULL before identity */
    struct span client;         /* address as text */
    struct span groups, scopes; /* JSON arrays of the names, the last member the number of those left out; or NULL */
    struct span issuer, token_key; /* of an access token, and its key's id; or NULL */
    struct span claims;         /* JSON object of those that the policy asks for, or NULL */
    int64_t api_key;            /* number of the key that called; 0: NULL */
    struct span agent, agent_from; /* the program that acts for the principal, and where that is known from; or NULL */
    struct span actors, client_says; /* JSON: the chain of RFC 8693's `act`, what the client says of itself; or NULL */
    struct span via;            /* the tool in whose call this one stood, which is the tool that goes up; or NULL */
    struct span session;        /* the agent's session id as sent; only its SHA-256 is stored */
    /* what */
    struct span correlation, correlation_replaced; /* the second: what an unfit one was, cut to 128 and escaped; else NULL */
    struct span trace;          /* W3C trace id, or NULL */
    struct span upstream, dialect, protocol_version;
    struct span direction;      /* "agent" or "server": who sent the message */
    struct span method, tool;   /* tool: or the resource's URI, the prompt's name */
    struct span rpc_id;         /* canonical JSON of the id, or NULL */
    struct span arguments;      /* canonical JSON, redactions applied; NULL: none */
    bool arguments_redacted;
    struct span body;           /* canonical body; only its size and salted digest are recorded */
    struct span query;          /* likewise; its text too where `target` is there */
    struct span target;         /* the path below the route; NULL: the route is exact and no query came */
    struct span params;         /* canonical JSON of what stands in params beside name and arguments, redactions
                                 * applied; or NULL */
    struct span plan, plan_step; /* hexadecimal digest of the intent plan, and its step; or NULL */
    struct span definition;     /* hexadecimal digest of the tool's definition that the call meant, or NULL */
    /* verdict */
    enum audit_verdict verdict;
    enum reason reason;
    struct span rule, rule_reason, undecided;
    struct span agent_rule;     /* that gives the agent's half; empty: none does; NULL: the call does not need it */
    struct span rules;          /* JSON array of all applying rules: [{"id","effect","monitor"}] */
    struct span monitor;        /* JSON object of what monitored rules would have done, or NULL */
    uint64_t policy_version;    /* 0: NULL */
    struct span policy_hash;    /* 64 hexadecimal digits; anything else is recorded as NULL */
    int64_t judge_us;
    int status;                 /* denials: the HTTP status that the agent gets; permits: 0 (the outcome says it) */
    int64_t latency_us;         /* denials only: head to verdict */
    bool expects_outcome;       /* permits that will be followed by exactly one outcome (server requests are not) */
    bool is_told_later;         /* of these: one that somebody else tells, long after or never: no room is kept for it */
};

struct audit_result { /* an outcome row */
    uint64_t decision;          /* seq; or 0 and */
    uint64_t ticket;            /* the decision's ticket in the same ring, not settled yet */
    int64_t time_us;
    enum audit_outcome outcome;
    enum reason reason;         /* the ending: COMPLETED, UPSTREAM_SILENT ... */
    int status;                 /* HTTP status that the agent got; 0: none */
    bool has_error_code;
    bool is_told;               /* of a permit that was put with is_told_later */
    int64_t error_code;         /* JSON-RPC */
    uint64_t response_bytes;    /* delivered to the agent, body only */
    bool has_digest;
    unsigned char response_digest[32]; /* SHA-256 of the delivered body; the writer salts it */
    uint32_t server_requests, server_notifications, server_denied; /* messages from the server in this exchange */
    int64_t latency_us;         /* head to last byte */
    int64_t upstream_us;        /* first byte up to first byte down; -1: none */
    struct span answer;         /* the result's beginning, redactions applied; at == NULL: it is not kept. Where the ring is
                                 * short of room, an empty text is kept */
    uint64_t answer_bytes;      /* of the whole */
    unsigned char answer_salt[16], answer_digest[32]; /* made by audit_put_result */
    /* What rules for answers did, or NULL: recorded where audit_reserve_said gave room, and only there. */
    bool has_said_room;
    struct span answer_rule, answer_effect; /* the deciding rule's id; "redact", "withhold" or "flag" */
    struct span answer_found;   /* JSON object of detectors, each with how often it found something */
    struct span answer_rules;   /* JSON array of all rules that applied: [{"id","effect"}], or "too long" */
    struct span answer_undecided; /* as a decision's */
    bool has_digest_before;     /* what came is not what was delivered */
    unsigned char response_digest_before[32]; /* SHA-256 of the body that came; the writer salts it */
    uint32_t server_withheld;   /* notifications of the server in this exchange */
};

struct audit_event {
    int64_t time_us;
    struct span kind;           /* "start", "stop", "crash", "reload", "policy_activated", "key_made", "key_revoked",
                                 * "audit_down", "audit_up", "folded" ... */
    struct span tenant;         /* NULL where it concerns none */
    struct span actor;          /* who: user name, principal, "gate" */
    struct span detail;         /* canonical JSON object */
};

#endif
