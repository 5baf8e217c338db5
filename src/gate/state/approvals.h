/* SPDX-License-Identifier: Apache-2.0 */
/* Held calls and what people answered, for all workers: asked for, granted, refused, taken by one call, used.
 *
 * A worker asks (approvals_known), takes the approvals that a permit needs (approvals_take), and once the record is durable
 * says that they were used. It notes a held call (approvals_note) and hands it to main, which keeps the store. Main hands in
 * what people answered. A call is recognised by an HMAC over all that an approval is bound to: tenant, principal, agent,
 * upstream, method, tool, the canonical arguments, what question.bound says, the rule's id and the hash of its text.
 *
 * Threads: any for the worker's verbs; main alone for its own. Sharded, one short lock a shard.
 * Owns: copies of everything.
 * Lifetime: approvals_new to approvals_free; marks and asks end before it.
 * Errors: no room and no memory close: the call is denied (REASON_APPROVAL_LIMIT, REASON_MEMORY). Bounded: 64 calls that wait a
 *   principal, 4,096 in all by shares (base/shares.h), 16 MiB of texts on their way to main; a call that waits and that nobody
 *   makes again for a day is forgotten. */
#ifndef STATE_APPROVALS_H
#define STATE_APPROVALS_H

#include "base/list.h"
#include "crypto/digest.h"
#include "policy/question.h"
#include "policy/verdict.h"

#define APPROVAL_FORGET_US (INT64_C(86400) * 1000000) /* a held call that nobody makes again for that long is forgotten */

struct approvals;

enum code approvals_new(const unsigned char key[DIGEST_BYTES], struct approvals **approvals) MUST_USE;
void approvals_free(struct approvals **approvals);

/* ---- workers ---- */

/* What a decision has to do with approvals: those that it took, or those that it waits for. */
struct approval_mark {
    unsigned char digest[DIGEST_BYTES];
    uint64_t scope;
    int64_t number;   /* taken: the store's; otherwise 0 */
    bool is_noted;
    bool tells;       /* noted: main is to be told of it */
    bool is_stored;   /* noted: the store has its texts already */
    uint64_t decision; /* the first that held it, by which people find it; 0: none is known */
};

struct approval_marks {
    struct approvals *of; /* NULL: none */
    struct approval_mark *mark; /* room for VERDICT_APPROVALS_MAX; of who asks, since few calls need it */
    uint32_t count;
};

/* For policy_past.is_granted. Judged at question->time_us. */
enum policy_known approvals_known(struct approvals *approvals, const struct question *question, struct span rule,
                                  struct span rule_hash);

/* Takes all that the permit names, or none (somebody was faster: judge again). */
bool approvals_take(struct approvals *approvals, const struct question *question, const struct verdict *verdict,
                    struct approval_marks *marks) MUST_USE;
/* Says that the decision of this number has used them up, or one of which nobody knows whether it is on disk (0). */
void approvals_use(struct approval_marks *marks, uint64_t decision, int64_t time_us);
void approvals_give_back(struct approval_marks *marks); /* the decision was never recorded */

/* For a gate of a fleet, whether a call that is made again is worth a little wait before it is held: people have approved it,
 * and which node may use that is asked; or main has not looked since whether they have. It is judged again then, and goes
 * on, is held, or asks anew since another node has used it. */
bool approvals_want(struct approvals *approvals, const struct question *question, const struct verdict *verdict);

/* Notes what a held call waits for. Takes: home: the credential's own tenant, who is charged. Returns: UNSET, or why it is
 * denied instead. */
enum reason approvals_note(struct approvals *approvals, const struct question *question, struct span home,
                           const struct verdict *verdict, struct approval_marks *marks) MUST_USE;

/* Says which number the decision has that holds the call. Returns: the number by which people find it: that of the first
 * such decision, since the store does not keep each. */
uint64_t approvals_held(struct approval_marks *marks, uint64_t decision);

/* Whether a page is to be offered to who asks: some of what the call waits for he decides himself (`approvers: self`), and
 * none was offered since it waits. After approvals_note. */
bool approvals_offer(struct approval_marks *marks, const struct verdict *verdict);

/* What a person needs in order to decide: the values themselves, also what the audit does not show. Wiped when it is freed. */
struct approval_ask {
    struct list by_age;
    unsigned char digest[DIGEST_BYTES];
    struct span tenant, principal, upstream, method, tool, client, correlation, arguments, rule, rule_reason, rule_hash;
    struct span target, query, params; /* `params` is their beginning where they are longer */
    struct span agent, via;    /* the program that asks for the principal; the tool in whose call it stood */
    struct span session;       /* in which it is asked, as the audit has it; at == NULL: none */
    uint64_t arguments_bytes;  /* the length of all arguments; `arguments` is their beginning where they are longer */
    struct span redacted;      /* a JSON array: what of them the audit does not show; at == NULL: nothing */
    struct span approvers;     /* who may decide it, as in struct verdict_people */
    struct span authentication; /* how the principal was shown; of a token who issued it; "none": the configuration says who
                                 * it is */
    uint32_t needed;           /* how many people have to approve it */
    uint64_t policy_version;
    uint64_t decision;         /* the first by which this gate held it */
    int64_t asked_us;
    bool is_again;             /* without arguments: the store has had them */
    size_t bytes;
    char texts[];
};

#define APPROVAL_ARGUMENTS_BYTES 65536

/* Copies `ask` once for each mark that tells, with its digest, rule and decision. After approvals_held. Without memory the next
 * held call tells. */
void approvals_put_asks(struct approval_marks *marks, const struct verdict *verdict, const struct approval_ask *ask);

/* ---- main ---- */

/* Before there are workers: people may decide at another node, and another may use what they gave. */
void approvals_be_of_fleet(struct approvals *approvals);

/* The oldest that is to be stored, or NULL. */
struct approval_ask *approvals_next_ask(struct approvals *approvals);
void approval_ask_free(struct approval_ask **ask);
/* Says that the store has the ask. Takes: round: the current one. */
void approvals_ask_stored(struct approvals *approvals, const struct approval_ask *ask, uint64_t round);

struct approval_use {
    int64_t number;
    uint64_t decision;
    int64_t used_us;
};
/* Finds a use that the store is to be told of; it is kept until approvals_use_stored. */
bool approvals_next_use(struct approvals *approvals, struct approval_use *use);
void approvals_use_stored(struct approvals *approvals, int64_t number);

/* Hands in an answer that is in force now, or an ask that waits in the store; one that is taken or used already is passed
 * over. CODE_NOMEM. */
struct approval_answer {
    int64_t number;
    unsigned char digest[DIGEST_BYTES];
    struct span tenant, principal;
    bool is_granted;    /* else refused */
    bool is_open;       /* waits for an answer; or is_granted and no gate has it yet */
    int64_t time_us;    /* is_open: when it was last asked for; else until when it holds */
    uint64_t decision;  /* is_open: by which people find it; 0: this gate has not held it yet */
    uint64_t round;
};
enum code approvals_answer(struct approvals *approvals, const struct approval_answer *answer) MUST_USE;
/* Whether a call waits for it: approvals_want said so. */
bool approvals_is_awaited(struct approvals *approvals, const struct approval_answer *answer);
/* Whether some call began to wait for one since this was asked last. */
bool approvals_has_wants(struct approvals *approvals);
/* Ends a round: answers that were not handed in in it are in force no more, and asks that were not do not wait any more. */
void approvals_sweep(struct approvals *approvals, uint64_t round);
/* Takes an answer back that no call has taken. Returns: whether no worker can use it now. */
bool approvals_withdraw(struct approvals *approvals, int64_t number);

/* Forgets what is over. Returns: whether answers must be handed in anew, since one was given back. */
bool approvals_tick(struct approvals *approvals, int64_t time_us);
/* Whether some call has taken an approval, or has used one that the store does not know as used. */
bool approvals_has_taken(struct approvals *approvals);
uint32_t approvals_waiting(const struct approvals *approvals);

#endif
