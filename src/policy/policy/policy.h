/* SPDX-License-Identifier: Apache-2.0 */
/* Policies: text -> checked -> immutable compiled snapshot -> evaluation. The language is policies/LANGUAGE.md.
 *
 * Threads: compile and explain on any one thread; a snapshot is immutable and shared; a policy_scratch belongs to one.
 * Owns: a snapshot owns everything it was compiled from, copies of the texts included.
 * Lifetime: policy_ref / policy_unref; atomic, from any thread.
 * Errors: compile: struct faults (up to 20 with places) and warnings; eval: never fails, it denies. */
#ifndef POLICY_POLICY_H
#define POLICY_POLICY_H

#include "base/buf.h"
#include "base/why.h"
#include "policy/question.h"
#include "policy/verdict.h"

struct policy; /* a compiled snapshot */

struct policy_file {
    struct span path; /* as given; names the place in messages; stored */
    struct span text; /* YAML */
};

/* Compiles a complete set of files.
 * Takes: version (0 for one not stored yet); faults and warnings collect; warnings may be NULL.
 * Returns: CODE_OK with *policy holding one reference; CODE_INVALID with faults; CODE_NOMEM. */
enum code policy_compile(const struct policy_file *files, size_t count, uint64_t version, struct policy **policy,
                         struct faults *faults, struct faults *warnings) MUST_USE;
struct policy *policy_ref(struct policy *policy);
void policy_unref(struct policy **policy);

uint64_t policy_version(const struct policy *policy);
struct span policy_hash(const struct policy *policy); /* of the set: names and texts, length-prefixed, in byte order of names */
size_t policy_rule_count(const struct policy *policy);

/* What an approval under this require_approval, or over a limit of this permit, is bound to; at == NULL: there is none. */
struct span policy_approval_hash(const struct policy *policy, struct span rule_id);

/* Whether some rule names this tool letter by letter: of such names there are as many as the authors wrote, however many
 * agents make up. */
bool policy_names_tool(const struct policy *policy, struct span tool);

/* The limits of the rule with this id, the first; or NULL. */
const struct policy_limit *policy_limit_of(const struct policy *policy, struct span rule);

/* How far back limits and watches ask; 0: nothing of the past is asked. */
int64_t policy_memory_us(const struct policy *policy);

/* As a number, without zeros behind its last place. */
void policy_write_millionths(struct buf *out, uint64_t amount);
bool policy_sums(const struct policy *policy); /* whether some limit is a sum */

/* Whether `policy` watches all that `other` watches, by all of it and as long. */
bool policy_watches_all_of(const struct policy *policy, const struct policy *other);

/* Whether some rule or redaction asks for queries. */
bool policy_asks_query(const struct policy *policy);

/* Whether some rule asks for this member of params._meta in such a call; whether one may ask for any, or for _meta itself. */
bool policy_asks_meta(const struct policy *policy, const struct question *question, struct span key);
bool policy_asks_all_meta(const struct policy *policy, const struct question *question);

/* Whether some rule asks for claims, and these as they are recorded: by their normalised paths, each in a list that is empty
 * where it is absent. */
bool policy_asks_claims(const struct policy *policy);
enum code policy_claims_write(const struct policy *policy, const struct json_node *claims, struct buf *out) MUST_USE;

bool policy_watches(const struct policy *policy); /* whether there is any watch */
bool policy_watches_answers(const struct policy *policy); /* for a rule for answers */

/* Calls `told` for each watch (question.h) that a permitted call is one of, or may be (is_sure false): so many that a version
 * may have 1,024. */
void policy_each_watch(const struct policy *policy, const struct question *question, const struct policy_met *met,
                       void (*told)(void *context, const struct policy_watch *watch, bool is_sure), void *context);

/* The `policy:` name of one file's text, for load and remove. */
enum code policy_name_of(struct span text, const char *path, struct buf *name, struct faults *faults) MUST_USE;

/* Whether a file's patterns, lists or detectors are for all files of its version. */
bool policy_shares(struct span text);

/* The detector of this name that a file shares with all of the version; NULL: none. It lives as long as the policy. */
struct detector;
const struct detector *policy_detector(const struct policy *policy, struct span name);

/* Meaning 10: whether the word `protocol` in `methods` stands for this method. */
bool policy_is_protocol(struct span method);

/* Memory and budgets of one thread's evaluations. */
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

/* The verdicts that a call with hidden parts may really have had, as bits 1 << enum verdict_kind: two evaluations of it, with
 * question_hidden.favours_permit false and true. One bit: what is hidden does not matter. */
#define POLICY_ALL_POSSIBLE 7U
unsigned policy_possible(const struct verdict *against, const struct verdict *favouring);

/* Whether a list may show this tool, prompt or resource, or the server be told that it may ask: false where no rule could
 * permit it for this principal or a forbid without `when` covers it. Of a template (question.any_resource) it is asked
 * whether a rule could permit some URI that begins and ends as it does, and a forbid must cover all of these. */
bool policy_could_permit(const struct policy *policy, const struct question *question, struct policy_scratch *scratch);

/* Of a call that no rule permits: the scope for want of which it is denied, a name that stands in the permit that would
 * decide had the token such a scope; at == NULL: none is, or the rule names only patterns. It lives as long as the policy.
 * Nothing else about rules is told by it. */
struct span policy_lacking_scope(const struct policy *policy, const struct question *question, struct policy_scratch *scratch);

/* Whether rules permit the message by its names alone: none that could apply to it has a condition, a limit, another effect, or
 * is monitored. */
bool policy_permits_all(const struct policy *policy, const struct question *question, struct policy_scratch *scratch);

/* The call of one test, by its name (at == NULL: of the only test). It lives as long as the policy.
 * Returns: CODE_NOT_FOUND; CODE_EXISTS where several tests have the name. */
enum code policy_case_question(const struct policy *policy, struct span name, struct question *question) MUST_USE;

/* One call alone, written like `call:` of a test. Returns: CODE_OK with *holder, a policy without rules that holds the call as
 * its only test; CODE_INVALID with faults; CODE_NOMEM. */
enum code policy_call_read(const struct policy_file *file, struct policy **holder, struct faults *faults) MUST_USE;

/* Where that call says no schema: what people accepted of its tool. Takes: schema: NULL: nothing; else kept by a reference. */
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
struct trace;
enum code policy_test_some(const struct policy *policy, const char *filter, struct trace *trace,
                           struct policy_scratch *scratch, policy_test_fn report, void *context, size_t *passed,
                           size_t *failed) MUST_USE;

#endif
