/* SPDX-License-Identifier: Apache-2.0 */
/* A recorded call as a question that can be put to a policy again, and what the record no longer says of it. The one place
 * that reads rows of the audit's `decision` for this: replay, learn, explain and the auditors' stories stand on it.
 *
 * What a row holds, by method: `arguments` is what policies call `$`. For tools/call and prompts/get that is
 * params.arguments, and `params` is what else stood there, with _meta inside (rows of before 0.2.0 lack it); for every other
 * method it is params, with _meta inside. The session is there as the hexadecimal SHA-256 of what the agent sent: good for
 * telling sessions apart, no more.
 *
 * Threads: a struct recorded belongs to one thread.
 * Owns: everything that its spans and nodes point to.
 * Lifetime: until it is used for another row, or recorded_fini.
 * Errors: enum code for memory and the database; what a row does not say is told in `kind` and `lack`. */
#ifndef PAST_RECORDED_H
#define PAST_RECORDED_H

#include "base/mem.h"
#include "base/reason.h"
#include "db/db.h"
#include "state/definition_set.h"
#include "enforce/recorded_range.h"
#include "judgement/judgement.h"

enum recorded_kind {
    RECORDED_UNJUDGED = 0, /* permitted without asking a policy: `pass` */
    RECORDED_REFUSED,      /* refused before a policy was asked: malformed, unknown, over a limit of the gate */
    RECORDED_JUDGED        /* a policy was asked, or would have been had there been one */
};

/* What is missing of the arguments. Conditions that ask for what is missing can be guessed only: `question.hidden`. */
enum recorded_lack {
    RECORDED_WHOLE = 0,
    RECORDED_REDACTED, /* some values, or all of them, are digests */
    RECORDED_CUT,      /* too long to be kept; `beginning` is left */
    RECORDED_ERASED,   /* taken out since */
    RECORDED_DAMAGED,  /* no canonical JSON: the file was changed by somebody */
    RECORDED_NOT_KEPT, /* of answers: they are where a route says so */
    RECORDED_LACKS
};

struct recorded {
    uint64_t seq;
    enum recorded_kind kind;
    enum recorded_lack lack;
    bool query_unknown;         /* a query came, and was redacted, erased or not kept: rules that ask for it cannot be asked */
    bool unaskable;             /* set where it is judged again: what the policy asks for is one of these two */
    bool answers_unknown;       /* method `response`, and no question was found that it answers: its method cannot be told */
    bool from_server;
    /* what was decided then */
    enum verdict_kind verdict;
    enum reason reason;         /* UNSET: a reason that this build does not know */
    struct span reason_text;
    struct span rule;           /* at == NULL: none */
    struct span agent_rule;     /* as verdict.agent_rule */
    struct span rules;          /* all that applied, as the row has them */
    bool approved;              /* it passed because a person had said so */
    uint64_t policy_version;    /* 0: none was active */
    struct span policy_hash;    /* its SHA-256 in hexadecimal digits */
    bool has_definition;        /* it is known what the tool that was called said it was */
    unsigned char definition[DIGEST_BYTES];
    /* what was asked */
    struct question question;   /* root NULL: there were no arguments; its `hidden` points to the member below, or is NULL */
    struct question_hidden hidden;
    struct span target;         /* tool, prompt or resource */
    struct span arguments;      /* as recorded; at == NULL: none, cut or erased */
    struct span beginning;      /* of cut ones */
    int64_t arguments_bytes;    /* of the whole; -1: there were none */
    /* its own */
    struct arena arena;
    struct buf canonical, others, applied, who; /* others: the other members of params; applied: rules; who: groups ... */
};

/* The first words of a statement whose rows recorded_read takes; a WHERE on columns of `decision` may follow. */
#define RECORDED_SELECT \
    "SELECT seq, time_us, tenant, principal, client, session, correlation, upstream, direction, method, tool, verdict, " \
    "reason, rule, policy_version, arguments_bytes, arguments_cut, arguments_redacted, arguments, arguments_begin, " \
    "rpc_id, rules, target, query, params, params_bytes, query_bytes, " \
    "groups, scopes, issuer, claims, claims_bytes, plan, plan_step, definition, lower(hex(policy_hash)), agent, " \
    "agent_rule FROM decision "

void recorded_init(struct recorded *recorded);
void recorded_fini(struct recorded *recorded);

/* Takes: a statement that begins with RECORDED_SELECT and stands on a row; its database, which is asked for the question
 * where the row is an answer.
 * Returns: CODE_OK, also where the row says little; CODE_NOMEM; CODE_IO. */
enum code recorded_read(struct recorded *recorded, struct db *db, struct db_stmt *row) MUST_USE;

/* A statement for recorded_read: the range's rows from `first` to `last`, in the order of `seq`. */
enum code recorded_range_prepare(struct db *db, const struct recorded_range *range, struct db_stmt **stmt) MUST_USE;
void recorded_range_bind(struct db_stmt *stmt, const struct recorded_range *range, int64_t first, int64_t last);

/* One call by its number. CODE_NOT_FOUND with a sentence where there is no such decision. */
enum code recorded_find(struct recorded *recorded, struct db *db, uint64_t seq, struct why *why) MUST_USE;

/* The definition that the call meant, where it is accepted today; or NULL. Takes: set: may be NULL. */
const struct definition *recorded_definition(const struct recorded *recorded, const struct definition_set *set);

/* A person's word is in the record: what was permitted or denied by it then, under the same rule, is so again. A call passed
 * only with all of them granted. */
enum policy_known recorded_granted(const struct recorded *recorded, struct span rule);


/* Judges by a policy with both guesses about what the record lost; the one that fits the record stays set in `hidden`, and
 * gives the verdict.
 * Takes: the question, which may be the record's own or one that differs from it in who asks; *otherwise, the verdict of the
 * other guess.
 * Returns: whether the verdict hangs on what is lost. */
bool recorded_guess(struct recorded *recorded, const struct question *question, const struct policy *policy,
                    struct policy_scratch *scratch, struct verdict *verdict, enum verdict_kind *otherwise);

/* Whether a part of it was redacted. */
bool recorded_has_stand_in(const struct json_node *root);

const char *recorded_lack_text(enum recorded_lack lack); /* "whole", "redacted", "cut", "erased", "damaged", "not kept" */

#endif
