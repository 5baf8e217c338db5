/* SPDX-License-Identifier: Apache-2.0 */
/* An audit ring that a test holds in its hand: it says when a record is durable, that there is no room, or that the audit is
 * down. It stands in for rows/ring.h: a program that uses it must not link the real one. */
#ifndef FAKES_FAKE_AUDIT_H
#define FAKES_FAKE_AUDIT_H

#include "rows/ring.h"
#include "crypto/digest.h"

#define FAKE_ROWS 512
#define FAKE_TEXT 80
#define FAKE_LONG 256

struct fake_decision {
    enum audit_verdict verdict;
    enum reason reason;
    bool expects_outcome;
    bool from_server;
    int status;
    unsigned outcomes; /* how many came */
    enum audit_fate fate;
    char method[FAKE_TEXT];
    char tool[FAKE_TEXT];
    char tenant[FAKE_TEXT];
    char correlation[FAKE_TEXT];
    char arguments[FAKE_LONG]; /* their beginning */
    char params[FAKE_LONG];
    char rules[FAKE_LONG];
};

struct fake_outcome {
    uint64_t ticket;
    enum audit_outcome outcome;
    enum reason reason;
    int status;
    uint64_t response_bytes;
    unsigned char response_digest[DIGEST_BYTES];
    uint32_t server_requests, server_notifications, server_denied, server_withheld;
    char answer[FAKE_LONG];
    char answer_rule[FAKE_TEXT], answer_effect[FAKE_TEXT], answer_found[FAKE_TEXT], answer_rules[FAKE_LONG];
    bool has_digest_before;
    unsigned char digest_before[DIGEST_BYTES];
};

/* Tickets are places in `decisions` plus one; a ticket's seq is 100 more. */
struct audit_ring {
    struct fake_decision decisions[FAKE_ROWS];
    struct fake_outcome outcomes[FAKE_ROWS];
    unsigned decision_count;
    unsigned outcome_count;
    unsigned settled;
    unsigned fills_at; /* full with so many decisions; 0: never */
    unsigned said_room; /* reserved, and not given back yet */
    uint64_t forgotten; /* tickets up to here: whoever asks for one was asked too late */
    bool is_full;
    bool is_down;
    bool is_folding;  /* decisions get no ticket */
};

/* Everything that waits becomes durable, or fails. Returns: whether anything waited. */
bool fake_audit_settle(struct audit_ring *ring, enum audit_fate fate);

#endif
