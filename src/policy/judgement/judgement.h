/* SPDX-License-Identifier: Apache-2.0 */
/* The judgement: a policy and a question give a verdict; of an answer, what of it goes on. Pure: there is no clock,
 * no lock and no file in it.
 *
 * Threads: any one thread with a scratch of its own; a policy is immutable and shared.
 * Owns: nothing.
 * Lifetime: a verdict's: while the policy is held and the scratch is not used again.
 * Errors: judging never fails, it denies or withholds; memory where a code is returned. */
#ifndef JUDGEMENT_JUDGEMENT_H
#define JUDGEMENT_JUDGEMENT_H

#include "policy/case.h"
#include "policy/policy.h"
#include "policy/schema.h"

struct rule_walk;
struct trace; /* policy/trace.h: who listens to a walk */

/* ---- a call ---- */

/* Memory of one thread's judgements, and which rules concern which calls, as it remembers them. */
struct policy_scratch;
enum code policy_scratch_new(struct policy_scratch **scratch) MUST_USE;
void policy_scratch_free(struct policy_scratch **scratch);

/* Judges. Pure: the same question, snapshot and state give the same verdict; only too_costly may depend on speed.
 * Takes: policy NULL: denies with NO_POLICY; timed: also the thread's CPU time bounds regexes, not work alone as in tests,
 * replay and explain. */
void policy_eval(const struct policy *policy, const struct question *question, bool timed,
                 struct policy_scratch *scratch, struct verdict *verdict);

/* Which parts of the answer to a call are redacted, as verdict->redact and redact_all; what cannot be decided redacts all.
 * Takes: answer: the result's tree; NULL: redact_all says whether there is anything to look for in it. */
void policy_redact_answer(const struct policy *policy, const struct question *question, const struct json_node *answer,
                          struct policy_scratch *scratch, struct verdict *verdict);

/* The verdicts that a call with hidden parts may really have had, as bits 1 << enum verdict_kind. Takes: two judgements of it,
 * with question_hidden.favours_permit false and true. One bit: what is hidden does not matter. */
#define POLICY_ALL_POSSIBLE 7U
unsigned policy_possible(const struct verdict *against, const struct verdict *favouring);

/* Whether a list may show this tool, prompt or resource, or the server be told that it may ask: false where no rule could
 * permit it for this principal or a forbid without `when` covers it. For a template (question.any_resource) the question
 * is whether a rule could permit some URI that begins and ends like the template, and a forbid must cover all of these. */
bool policy_could_permit(const struct policy *policy, const struct question *question, struct policy_scratch *scratch);

/* Of a call that no rule permits: the scope for want of which it is denied, a name that stands in the permit that would
 * decide had the token such a scope; at == NULL: none is, or the rule names only patterns. It lives as long as the policy.
 * The caller learns nothing else about rules from it. */
struct span policy_lacking_scope(const struct policy *policy, const struct question *question, struct policy_scratch *scratch);

/* Whether rules permit the message by its names alone: none that could apply to it has a condition, a limit, another effect, or
 * is monitored. */
bool policy_permits_all(const struct policy *policy, const struct question *question, struct policy_scratch *scratch);

/* Of a limit of different values: the one that a recorded call had. Takes: root: its arguments, as far as the record has them.
 * Returns: FALSE: there is not one; UNDECIDED: too costly, or no memory. */
enum truth policy_recorded_value(const struct policy_limit *limit, const struct json_node *root, struct policy_value *value);

/* The call of one test, by its name (at == NULL: of the only test). It lives as long as the policy.
 * Returns: CODE_NOT_FOUND; CODE_EXISTS where several tests have the name. */
enum code policy_case_question(const struct policy *policy, struct span name, struct question *question) MUST_USE;

/* The walk behind policy_eval and explanations. Takes: trace: may be NULL. */
void policy_judge(const struct policy *policy, const struct question *question, struct regex_budget *budget,
                  struct policy_scratch *scratch, struct trace *trace, struct verdict *verdict);

/* ---- its answer ---- */

/* Whether any rule could have an effect on such an answer. Without `answers:` in the policy it is false at once; root is not
 * asked for. */
bool policy_has_answer_rules_for(const struct policy *policy, const struct question *question,
                                 const struct policy_answer *answer, struct policy_scratch *scratch);

/* Judges. Pure: the same question, answer, snapshot and state give the same verdict; only ANSWER_TOO_COSTLY may depend on
 * speed.
 * Takes: question: of the call that is answered, its arguments and state included; policy NULL: withholds; timed: as
 * policy_eval. */
void policy_judge_answer(const struct policy *policy, const struct question *question, const struct policy_answer *answer,
                         bool timed, struct policy_scratch *scratch, struct answer_verdict *verdict);

/* Adds the verdict's edits: each string is written anew, all else stays as it stands.
 * Takes: document: canonical, in which the raw spans of the answer's tree lie. */
enum code policy_answer_edits(const struct answer_verdict *verdict, struct span document, struct json_edits *edits) MUST_USE;
/* Appends the document with them made. Takes: out: empty. */
enum code policy_answer_write(const struct answer_verdict *verdict, struct span document, struct buf *out) MUST_USE;

/* The walk behind policy_judge_answer and explanations. Takes: trace: may be NULL. */
void policy_walk_answer(const struct policy *policy, const struct question *question, const struct policy_answer *answer,
                        bool timed, struct policy_scratch *scratch, struct trace *trace, struct answer_verdict *verdict);

/* ---- parts of it ---- */

/* What `when` says, and in a permit `only_args` and `arguments`.
 * *undecided: the label of the first undecided condition, where the result is undecided. */
enum truth policy_rule_conditions(struct rule_walk *walk, const struct rule *rule, struct span *undecided);

/* A walk of its own over one value: whether it makes all operators of the leaf true, in a call of these people. */
bool policy_fulfils(const struct condition *leaf, const struct question *question, const struct json_node *value);

/* In a walk that goes on: whether the value fits all of the schema; NULL stands for an object without members. */
enum truth policy_schema_fits(struct rule_walk *walk, const struct policy_schema *schema, const struct json_node *value);

/* Whether the arguments fit, in a judgement of their own that work alone bounds; undecided is no yes.
 * Takes: arguments: NULL: there are none. */
enum truth policy_schema_holds(const struct policy_schema *schema, const struct json_node *arguments);

/* ---- a policy's tests ---- */

/* The test's call, with what the test says of the past. */
struct question case_question(const struct policy_case *kase);

/* The gate's own judgement of the test's call by any policy, also one that it does not belong to. It is bounded by work alone,
 * so that a test says the same everywhere. Takes: trace: may be NULL. */
void policy_judge_case(const struct policy *policy, const struct policy_case *kase, struct policy_scratch *scratch,
                       struct trace *trace, struct verdict *verdict);

/* Judges the answer of the test in the same way. */
void policy_judge_case_answer(const struct policy *policy, const struct policy_case *kase, struct policy_scratch *scratch,
                              struct trace *trace, struct answer_verdict *verdict);

/* Gives a call that says no schema the one that people accepted for its tool. Takes: schema: NULL: there is none; else a
 * reference is kept. */
void policy_call_accept(struct policy *holder, const struct policy_schema *schema);

/* Runs the `tests:` of all files. `report` is called for each, in order. */
struct policy_test_result {
    struct span file;
    struct span name;
    int line;
    bool passed;
    struct span expected; /* in words */
    struct span got;
    struct span rule; /* that decided; at == NULL: none */
};
typedef void (*policy_test_fn)(void *context, const struct policy_test_result *result);
enum code policy_test(const struct policy *policy, struct policy_scratch *scratch, policy_test_fn report, void *context,
                      size_t *passed, size_t *failed) MUST_USE;

/* Takes: filter, a glob over names, or NULL: others are not run; trace: who listens (policy/trace.h), or NULL. */
enum code policy_test_some(const struct policy *policy, const char *filter, struct trace *trace,
                           struct policy_scratch *scratch, policy_test_fn report, void *context, size_t *passed,
                           size_t *failed) MUST_USE;

#endif
