/* SPDX-License-Identifier: Apache-2.0 */
/* Approvals in the store: what was asked, what people answered, with which gate an approval is, what was used.
 *
 * Asks, answers and uses are append-only. An ask is answered by its newest answer and used once at most, whatever number of
 * gates there is: only the gate that has claimed it hands it to its workers. Arguments are kept as they are, also what the
 * audit does not show, as long as somebody may have to decide; then their bytes are overwritten.
 *
 * Threads: a connection belongs to one thread at a time.
 * Owns: nothing.
 * Lifetime: spans of a row are valid during the call.
 * Errors: enum code with a sentence. */
#ifndef STORE_STORE_APPROVALS_H
#define STORE_STORE_APPROVALS_H

#include "args/command.h"
#include "db/db.h"
#include "state/approvals.h"

enum store_approval_state { APPROVAL_IS_WAITING = 0, APPROVAL_IS_LAPSED, APPROVAL_IS_APPROVED, APPROVAL_IS_REFUSED,
                            APPROVAL_IS_USED, APPROVAL_IS_OVER };

struct store_approval {
    int64_t id;
    struct span digest, rule_hash;
    struct span tenant, principal, upstream, method, tool, arguments, rule, rule_reason, client, correlation;
    struct span target, query, params;
    struct span agent, via;           /* at == NULL: nothing says which; it stood in no other's call */
    struct span redacted;             /* a JSON array: what of all these the audit does not show; at == NULL: nothing */
    uint64_t arguments_bytes;
    int64_t policy_version;
    struct span gate;                 /* where it was held first */
    int64_t decision, asked_us;
    struct span session;              /* in which it was asked last, as the audit has it; at == NULL: in none */
    struct span seen_gate;            /* where last */
    int64_t seen_decision;            /* the first by which that gate held it */
    int64_t seen_us, times;
    struct span authentication;       /* how the principal was shown, as in struct approval_ask */
    uint32_t needed;                  /* how many people have to approve it */
    struct span approvers;            /* who may decide it, as in struct verdict_people */
    bool is_answered, is_granted;     /* by as many as are needed; a refusal needs one */
    int64_t given_us, until_us;
    struct span given_by, login, why;
    struct span claimed_by;           /* the gate that may use it; at == NULL: none yet */
    int64_t used_us, used_decision;   /* used_us 0: not; decision 0: which one is not known */
};

const char *store_approval_state_text(enum store_approval_state state); /* "waiting", "approved" ... */
enum store_approval_state store_approval_state(const struct store_approval *approval, int64_t now_us);

/* Which asks are wanted: those after a number that wait; those that wait or have an answer in force that is not used, without
 * their arguments; one; those that a decision made; all after a number. */
enum store_approvals { APPROVALS_WAITING = 0, APPROVALS_OPEN, APPROVALS_ONE, APPROVALS_OF_DECISION, APPROVALS_AFTER };

typedef enum code (*store_approval_fn)(void *context, const struct store_approval *approval);
/* By number. Takes: number: of the one, or before the first, or of the decision. */
enum code store_approvals_each(struct db *db, enum store_approvals which, int64_t number, int64_t now_us,
                               store_approval_fn each, void *context, struct why *why) MUST_USE;
enum code store_approvals_count(struct db *db, int64_t now_us, int64_t *waiting, struct why *why) MUST_USE;

/* From here on store_approvals_each shows this process only those of which to_be_shown says so. Takes: NULL: all. */
void store_approvals_show_only(bool (*to_be_shown)(const struct store_approval *approval));

/* Who gives a command, as far as people are told apart by it. */
struct store_person {
    struct span name;            /* of `people: {members:}`, or of a login; at == NULL: nobody but an account of the machine */
    int64_t account;             /* the number of the account that logged in, not of one that was taken since */
    const struct span *aliases;  /* all names that are known of this person */
    size_t alias_count;
    struct span known;           /* of these the ones that nobody else has, a line each */
    struct span names;           /* a line each: what `approvers` may name, as "group:treasury" */
    struct span tenant, principal, issuer; /* what a provider's login says; empty: there is none, or it does not say which
                                            * tenant */
};

/* ---- store_deciders.c: who sees a held call, and who decides it ---- */

/* From here on this process, which is of one command, sees only held calls of tenants for which this person has the role
 * approver:TENANT, and those that he asks himself under `approvers: self`. Takes: person: kept by its address. */
void store_approvals_restrict(const struct store_person *person);

/* People who approve a call, each once: what may be one person's counts as one. */
#define STORE_VOICES_MAX 16
struct store_voices {
    struct store_voice {
        char by[520], why[4004], login[ACTOR_BYTES], name[ACTOR_BYTES];
        int64_t given_us, until_us;
    } of[STORE_VOICES_MAX];
    size_t count;
};
/* People whose answer is in force at that time, in order. */
enum code store_approval_voices(struct db *db, int64_t ask, int64_t now_us, struct store_voices *voices,
                                struct why *why) MUST_USE;

struct store_answer {
    int64_t ask;
    bool is_granted;
    bool is_unseen;   /* the person who grants it knows that not all of its arguments can be seen */
    bool is_again;    /* the person knows that it was refused before */
    int64_t given_us, until_us;
    struct span by, login, why;
    struct store_person person;
    bool is_repeated;            /* set: that person's answer was in force already, and only its end moves */
    uint32_t counted, needed;    /* set: how many people approve it now, and how many have to */
    int64_t holds_us;            /* set: until when it is decided; 0: not yet */
};
/* Whether this person may give this answer, as the rule said when it asked. CODE_DENIED with a sentence. */
enum code store_approval_decides(const struct store_answer *answer, const struct store_approval *approval,
                                 struct why *why) MUST_USE;
/* Whether `params` is all that stands beside the arguments, and not its beginning. */
bool store_approval_shows_params(const struct store_approval *approval);

/* Within a transaction. CODE_NOT_FOUND, CODE_DENIED (used, lapsed, over, refused
 * before, granted without a look at all of it, or by whoever asks; the sentence says which). */
enum code store_approval_answer(struct db *db, struct store_answer *answer, struct why *why) MUST_USE;

/* Likewise of what somebody answered at another node, which has asked whether he may. *id: 0: it came too late. */
enum code store_approval_answer_of_node(struct db *db, struct store_answer *answer, bool is_whole, int64_t *id,
                                        struct why *why) MUST_USE;

/* Likewise: erases the arguments of what is decided or lapsed, since nobody has to look at them any more. */
/* The first ask that somebody has answered after *answer, which is moved on to that answer; 0 of *ask: there is none. Takes:
 * *answer: negative: nothing that is there by now is wanted. */
enum code store_approval_answered(struct db *db, int64_t *answer, int64_t *ask, struct why *why) MUST_USE;
enum code store_approvals_forget(struct db *db, int64_t now_us, struct why *why) MUST_USE;

/* Erases the arguments with which a tenant's calls were held, where the last of these calls came before a time. An ask that
 * waits without its arguments lapses, since nobody could see what it is about: the agent's next call asks anew. */
struct store_erasure {
    struct span tenant;
    int64_t before_us, now_us;
};
enum code store_approvals_erase(struct db *db, const struct store_erasure *erasure, struct why *why) MUST_USE;

/* ---- of the running gate; `gate` is its mark, `audit_seq` the last durable number of its audit ---- */

/* Stores an ask. One that waits or is answered already is only seen once more. */
enum code store_approval_ask(struct db *db, struct span gate, const struct approval_ask *ask, struct why *why) MUST_USE;
enum code store_approval_use(struct db *db, struct span gate, const struct approval_use *use, struct why *why) MUST_USE;
enum code store_approval_claim(struct db *db, struct span gate, int64_t ask, int64_t now_us, uint64_t audit_seq,
                               struct why *why) MUST_USE;
/* The same of a node of a fleet, which waits for the centre's word: the courier makes a claim of it, where no other node has
 * taken the approval. */
enum code store_approval_wish(struct db *db, struct span gate, int64_t ask, int64_t now_us, uint64_t audit_seq,
                              struct why *why) MUST_USE;
enum code store_approval_release(struct db *db, struct span gate, int64_t ask, struct why *why) MUST_USE;
/* For a gate that ends while no call has taken an approval: other gates may use what it did not. */
enum code store_approvals_release_all(struct db *db, struct span gate, struct why *why) MUST_USE;
/* Says that no decision up to this one used one of the gate's claims, but for uses that are stored. Claims of asks that
 * have been over for a day end. */
enum code store_approvals_confirm(struct db *db, struct span gate, uint64_t audit_seq, int64_t now_us,
                                  struct why *why) MUST_USE;
/* The claims of the gate that the store does not know as used; `audit_seq`: up to where its audit is known to hold no use. */
typedef enum code (*store_claim_fn)(void *context, int64_t ask, uint64_t audit_seq);
enum code store_claims_each(struct db *db, struct span gate, store_claim_fn each, void *context, struct why *why) MUST_USE;

#endif
