/* SPDX-License-Identifier: Apache-2.0 */
/* Whether somebody may call a tool, as the policy's evaluator says where nothing else is known of the call: its arguments,
 * when, whence and after what it comes are hidden from it, and so is of who asks what the subject does not say.
 *
 * Threads: one, with a scratch of its own.
 * Owns: nothing.
 * Lifetime: an answer's texts live as long as the policy.
 * Errors: none; what cannot be judged leaves all open. */
#ifndef REVIEW_ACCESS_H
#define REVIEW_ACCESS_H

#include "judgement/judgement.h"

enum access_kind { ACCESS_PRINCIPAL = 0, ACCESS_GROUP, ACCESS_AGENT, ACCESS_KINDS };

/* A principal with whatever agent; whoever is of a group, or calls by an agent. */
struct access_who {
    enum access_kind kind;
    struct span tenant; /* at == NULL: of any */
    struct span name;
    /* Of a principal: what it has of them. */
    bool is_known;      /* false: there may be more */
    const struct span *groups, *scopes;
    uint32_t group_count, scope_count;
};

/* Bits of what the route of the calls says: whether it judges agents, too, and what of the tool hangs on more than rules. */
enum access_route {
    ACCESS_PERSON_JUDGED = 1,
    ACCESS_AGENT_JUDGED = 2,
    ACCESS_EITHER = 3,       /* nobody knows which route it is */
    ACCESS_CALLS_OTHERS = 4, /* `unwrap`: the call that stands in its arguments is judged in its place, or it is refused */
    ACCESS_HOLDS = 8         /* `definitions: hold` */
};

#define ACCESS_HANGS_MAX 64

struct access_answer {
    unsigned may;       /* bits, 1 << enum verdict_kind: what such calls may come to. One bit: all come to that */
    struct span rule;   /* that decides where rules leave one open; at == NULL: none does */
    uint32_t count;     /* of `hangs_on`: rules whose match or conditions such calls may meet, or not */
    const struct rule *hangs_on[ACCESS_HANGS_MAX];
    bool has_more;      /* there are more of these */
    const char *besides; /* what it hangs on beside rules, so that `may` has several bits also where `rule` is set; or NULL */
};

/* Takes: route: bits of enum access_route; now_us: when the calls come, for rules that end. */
void access_ask(const struct policy *policy, struct policy_scratch *scratch, const struct access_who *who,
                unsigned route, struct span upstream, struct span tool, int64_t now_us, struct access_answer *answer);

/* "permit", "forbid", "ask", or "depends" where several are possible. */
const char *access_text(unsigned may);
const char *access_kind_text(enum access_kind kind); /* "principal" ... */

/* What the rule asks of such calls that is not known: "principals [ada]; `amount` max 100; limit of 5 calls in 60 s". */
void access_condition(struct buf *out, const struct access_who *who, const struct rule *rule);

#endif
