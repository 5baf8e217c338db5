/* SPDX-License-Identifier: Apache-2.0 */
/* Which calls an audit command means: the options that query, tail, stats and export share.
 *
 * Threads: main.
 * Owns: the digest of a session.
 * Lifetime: the query borrows from it and from argv.
 * Errors: exit statuses, told on stderr. */
#ifndef TRAIL_AUDIT_FILTER_H
#define TRAIL_AUDIT_FILTER_H

#include "crypto/digest.h"
#include "query/query.h"

struct audit_filter {
    const char *tenant, *correlation, *principal, *tool, *method, *upstream, *verdict, *reason, *rule, *outcome, *group, *scope;
    const char *answer, *answer_rule, *detector;
    const char *session, *client, *since, *until, *text;
    uint64_t status, policy_version; /* 0: any */
    unsigned char session_digest[DIGEST_BYTES];
};

/* What an outcome says; a decision that waits for its own matches none. */
#define AUDIT_OUTCOME_OPTIONS(f)                                                                                       \
    {.name = "outcome", .takes = "WORD", .help = "result, tool_error, cancelled, unknown ...", .value = &(f)->outcome},  \
    {.name = "status", .takes = "N", .help = "the HTTP status that the agent got", .number = &(f)->status, .least = 100}, \
    {.name = "answer", .takes = "WORD", .help = "what came back was redacted, withheld or flagged: redact, withhold, flag",    \
     .value = &(f)->answer},                                                                                           \
    {.name = "answer-rule", .takes = "ID", .help = "this rule for answers applied", .value = &(f)->answer_rule},       \
    {.name = "detector", .takes = "NAME", .help = "this detector found something in the answer", .value = &(f)->detector}

#define AUDIT_DECISION_OPTIONS(f)                                                                                      \
    {.name = "tenant", .takes = "NAME", .help = "of this tenant; in texts * stands for anything", .value = &(f)->tenant},   \
    {.name = "correlation", .takes = "ID", .help = "that belong together", .value = &(f)->correlation},                \
    {.name = "principal", .takes = "NAME", .help = "of this agent", .value = &(f)->principal},                         \
    {.name = "group", .takes = "NAME", .help = "who asked is in this group", .value = &(f)->group},                     \
    {.name = "scope", .takes = "NAME", .help = "the token has this scope", .value = &(f)->scope},                       \
    {.name = "tool", .takes = "NAME", .help = "of this tool, prompt or resource", .value = &(f)->tool},                \
    {.name = "method", .takes = "NAME", .help = "tools/call, initialize ...", .value = &(f)->method},                  \
    {.name = "upstream", .takes = "ROUTE", .help = "of this route, or of this slug", .value = &(f)->upstream}, \
    {.name = "verdict", .takes = "WORD", .help = "permit, deny or hold", .value = &(f)->verdict},                      \
    {.name = "reason", .takes = "CODE", .help = "decided for this reason: forbidden, no_rule ...", .value = &(f)->reason},  \
    {.name = "rule", .takes = "ID", .help = "decided by this rule", .value = &(f)->rule},                              \
    {.name = "session", .takes = "ID", .help = "as the agent sent it, or its SHA-256", .value = &(f)->session},        \
    {.name = "client", .takes = "ADDRESS", .help = "from this address: 10.1.2.3, 10.1.*", .value = &(f)->client},      \
    {.name = "policy-version", .takes = "N", .help = "judged by this version", .number = &(f)->policy_version, .least = 1},  \
    {.name = "since", .takes = "TIME", .help = WHEN_FORMS, .value = &(f)->since},                                      \
    {.name = "until", .takes = "TIME", .help = "likewise; not including it", .value = &(f)->until},                    \
    {.name = "text", .takes = "TEXT", .help = "anywhere in the call, its arguments included", .value = &(f)->text}

/* After options_read. Returns: OPTIONS_GO with the query's filters set, or an exit status. */
int audit_filter_read(struct audit_filter *filter, struct query *query);

#endif
