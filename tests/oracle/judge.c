/* SPDX-License-Identifier: Apache-2.0 */
/* 2.9: the evaluator under test, for the harness in Python: many policy sets over one pipe.
 *
 * usage: judge [--timed] [--history] [--threads N]
 *
 * A set comes as `FILES\n` and, for each file, `BYTES\n` and that many bytes. It is answered by one line for each of its
 * `tests:`, in order, whose `call:` is judged and whose `expect:` is not looked at:
 *     verdict TAB reason TAB rule TAB undecided TAB monitored verdict TAB monitored rule TAB wait TAB redacted values TAB
 *     id,effect,mode TAB ... TAB redacted values of the answer, which is what the call was made with
 * or, of a test with an `answer:`,
 *     effect TAB rule TAB what is left, as JSON
 * with `-` for what is empty, or by `refused TAB file:line:column TAB text` where it does not compile; then by a blank line.
 *
 * Besides, each call is judged twice and explained, and with parts of it lost: `torn`, `explained otherwise` or `guessed wrongly
 * what is hidden` where these do not fit. What is permitted or held must be shown in lists, also by a template of its URI, and
 * be named in a client's capabilities: else `left out of a list`.
 *
 * --timed: as the gate judges, with the thread's CPU time as a bound besides work; what a test says of the past is not seen.
 * --history: the calls of a set come one after the other through one gate's state, each at its own time, and what they take
 *   and do is remembered: limits, tools called, approvals. `approved` then names the rules for which a person approves the call
 *   once it is held, for an hour; `annotations` is what the upstream says of the tool from then on. With --threads each
 *   thread makes its share of the calls, all in one state.
 * --threads N: N threads judge all of a set at once; where one of them says anything else than the first, the answer to
 *   that test is `torn`. A verdict too_costly differs from none, since time may bring it about. */
#include "base/bug.h"
#include "base/mem.h"
#include "judgement/judgement.h"
#include "language/language.h"
#include "state/state.h" /* and approvals */
#include "author/explain_priv.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define FILES_MAX 64
#define TEXT_MAX (64u << 20)
#define THREADS_MAX 64
#define ANSWER_MAX 32768

struct answer {
    bool costly;
    char text[ANSWER_MAX];
};

struct judging {
    const struct policy *policy;
    bool timed;
    struct gate_state *state; /* NULL: nothing is remembered */
    struct approvals *approvals;
    uint32_t first, step;     /* which of the tests */
    struct answer *answers;   /* one a test */
};

static void fail(const char *what)
{
    fprintf(stderr, "judge: %s\n", what);
    exit(2);
}

static size_t read_size(size_t max, bool *end)
{
    char line[32];
    char *after;
    unsigned long long size;

    *end = fgets(line, sizeof line, stdin) == NULL;
    if (*end)
        return 0;
    errno = 0;
    size = strtoull(line, &after, 10);
    if (errno != 0 || *after != '\n' || size > max)
        fail("a size was expected");
    return (size_t)size;
}

static char *read_text(size_t len)
{
    char *text = malloc(len + 1);

    if (text == NULL || fread(text, 1, len, stdin) != len)
        fail("a text is cut short");
    text[len] = '\0';
    return text;
}

static size_t add(char *out, size_t at, struct span text)
{
    int len = snprintf(out + at, ANSWER_MAX - at, "%s%.*s", at ? "\t" : "", SPAN_ARG(text.len ? text : SPAN_LIT("-")));

    if (len < 0 || at + (size_t)len >= ANSWER_MAX)
        fail("an answer is too long");
    return at + (size_t)len;
}

static size_t add_wait(char *out, size_t at, const struct verdict *verdict)
{
    char text[32];

    if (verdict->reason != REASON_RATE_LIMITED)
        return add(out, at, SPAN_NONE);
    snprintf(text, sizeof text, "%lld", (long long)verdict->wait_us);
    return add(out, at, span_text(text));
}

static size_t add_value(char *out, size_t at, struct span value)
{
    int len = snprintf(out + at, ANSWER_MAX - at, "%s%.*s", out[at - 1] != '[' ? "," : "", SPAN_ARG(value));

    if (len < 0 || at + (size_t)len + 2 >= ANSWER_MAX)
        fail("an answer is too long");
    return at + (size_t)len;
}

/* The values as a JSON array, those of params behind those of arguments, "?" for the query; or `all`. */
static size_t add_redacted(char *out, size_t at, const struct verdict *verdict)
{
    if (verdict->redact_all)
        return add(out, at, SPAN_LIT("all"));
    at = add(out, at, SPAN_LIT("["));
    for (uint32_t i = 0; i < verdict->redact_count; i++)
        at = add_value(out, at, verdict->redact[i]->raw);
    for (uint32_t i = 0; i < verdict->redact_param_count; i++)
        at = add_value(out, at, verdict->redact_params[i]->raw);
    if (verdict->redact_query)
        at = add_value(out, at, SPAN_LIT("\"?\""));
    out[at++] = ']';
    out[at] = '\0';
    return at;
}

static void write_answer(const struct verdict *verdict, struct answer *answer)
{
    size_t at = add(answer->text, 0, span_text(verdict_text(verdict->kind)));

    answer->costly = verdict->reason == REASON_TOO_COSTLY;
    at = add(answer->text, at, span_text(reason_name(verdict->reason)));
    at = add(answer->text, at, verdict->rule);
    at = add(answer->text, at, verdict->undecided);
    at = add(answer->text, at, verdict->has_monitor ? span_text(verdict_text(verdict->monitor_kind)) : SPAN_NONE);
    at = add(answer->text, at, verdict->has_monitor ? verdict->monitor_rule : SPAN_NONE);
    at = add_wait(answer->text, at, verdict);
    at = add(answer->text, at, verdict->agent_rule.at != NULL && verdict->agent_rule.len == 0 ? SPAN_LIT("none")
                                                                                             : verdict->agent_rule);
    at = add_redacted(answer->text, at, verdict);
    for (uint32_t i = 0; i < verdict->rule_count && i < VERDICT_RULES_MAX; i++) {
        const struct verdict_rule *rule = &verdict->rules[i];
        char text[256];

        snprintf(text, sizeof text, "%.*s,%s,%s%s", SPAN_ARG(rule->id), effect_text(rule->effect),
                 rule->monitor ? "monitor" : "enforce", rule->limited ? ",limited" : "");
        at = add(answer->text, at, span_text(text));
    }
}

static void compare(struct answer *answer, const struct verdict *verdict, const char *otherwise)
{
    struct answer again;

    write_answer(verdict, &again);
    if (!answer->costly && !again.costly && strcmp(answer->text, again.text) != 0)
        snprintf(answer->text, sizeof answer->text, "%s", otherwise);
}

/* What could be said of the call if these parts of it were lost must hold what is said of it. */
static void judge_hidden(const struct judging *judging, const struct policy_case *kase, struct question_hidden hidden,
                         enum verdict_kind real, struct policy_scratch *scratch, struct answer *answer)
{
    struct verdict *guess[2] = {calloc(1, sizeof **guess), calloc(1, sizeof **guess)};
    struct policy_case lossy = *kase;

    lossy.question.hidden = &hidden;
    for (int i = 0; i < 2; i++) {
        if (guess[i] == NULL)
            fail("out of memory");
        hidden.favours_permit = i == 1;
        policy_judge_case(judging->policy, &lossy, scratch, NULL, guess[i]);
    }
    /* Their ids are the snapshot's, so that a later evaluation leaves them. */
    if (!(policy_possible(guess[0], guess[1]) & 1U << real))
        snprintf(answer->text, sizeof answer->text, "guessed wrongly what is hidden");
    free(guess[0]);
    free(guess[1]);
}

#define MEMBERS_MAX 16

/* The arguments with something else at one member, or at two, and that hidden: as a record has them. An object may stand in for
 * anything, a text that was cut only for a scalar. */
static void judge_replaced(const struct judging *judging, const struct policy_case *kase, uint32_t which, bool two,
                           enum verdict_kind real, struct policy_scratch *scratch, struct answer *answer)
{
    static const struct span other = SPAN_LIT("something else");
    struct json_node root = *kase->question.root, members[MEMBERS_MAX];
    const struct json_node *hidden[2];
    struct policy_case lossy = *kase;
    uint32_t count = 0, at = 0;

    for (const struct json_node *child = root.child; child != NULL; child = child->next, at++) {
        members[at] = *child;
        if (at > 0)
            members[at - 1].next = &members[at];
        if (at != which && !(two && at == which + 1))
            continue;
        members[at].type = child->child != NULL || which % 2 == 0 ? JSON_OBJECT : JSON_STRING;
        members[at].text = other;
        members[at].child = NULL;
        members[at].count = 0;
        hidden[count++] = &members[at];
    }
    root.child = members;
    lossy.question.root = &root;
    judge_hidden(judging, &lossy, (struct question_hidden){.nodes = hidden, .count = count, .meta = two}, real, scratch, answer);
}

/* Claims as the audit keeps those that rules ask for, and read back: nothing of the verdict may change, and nothing is guessed. */
static void judge_recorded(const struct judging *judging, const struct policy_case *kase, enum verdict_kind real,
                           struct policy_scratch *scratch, struct verdict *verdict, struct answer *answer)
{
    struct question_hidden hidden = {.claims = true};
    struct policy_case recorded = *kase;
    struct json_fault fault;
    struct buf text, canonical;
    struct arena arena;

    buf_init(&text, TEXT_MAX);
    buf_init(&canonical, TEXT_MAX);
    arena_init(&arena, TEXT_MAX);
    if (policy_claims_write(judging->policy, kase->question.claims, &text) != CODE_OK ||
        json_read(buf_peek(&text), &json_file_rules, &canonical, &arena, &recorded.question.claims, &fault) != CODE_OK)
        fail("claims cannot be recorded");
    recorded.question.hidden = &hidden;
    policy_judge_case(judging->policy, &recorded, scratch, NULL, verdict);
    if (verdict->kind != real || verdict->guessed)
        snprintf(answer->text, sizeof answer->text, "recorded claims say otherwise");
    arena_fini(&arena);
    buf_fini(&canonical);
    buf_fini(&text);
}

/* Who asks, as a record tells it that had room for the first group and scope, and for no claim. */
static void judge_cut(const struct judging *judging, const struct policy_case *kase, enum verdict_kind real,
                      struct policy_scratch *scratch, struct answer *answer)
{
    const struct question *question = &kase->question;
    struct policy_case cut = *kase;

    cut.question.group_count = question->group_count > 0;
    cut.question.scope_count = question->scope_count > 0;
    cut.question.claims = NULL;
    judge_hidden(judging, &cut,
                 (struct question_hidden){.names = (uint32_t)(question->group_count > 1) << DIM_GROUP |
                                                   (uint32_t)(question->scope_count > 1) << DIM_SCOPE,
                                          .claims = question->claims != NULL}, real, scratch, answer);
}

/* Nothing but what is called of whom, as `policy access` asks. */
static void judge_access(const struct judging *judging, const struct policy_case *kase, enum verdict_kind real,
                         struct policy_scratch *scratch, struct answer *answer)
{
    static const struct json_node any = {.type = JSON_OBJECT};
    static const struct json_node *const hidden[] = {&any};
    const struct question *question = &kase->question;
    struct policy_case known = *kase;
    uint32_t names = 1U << DIM_PRINCIPAL | 1U << DIM_AGENT | 1U << DIM_PATH | 1U << DIM_QUERY | 1U << DIM_GROUP |
                     1U << DIM_SCOPE;

    known.question = (struct question){.tenant = question->tenant, .upstream = question->upstream, .method = question->method,
                                       .answers = question->answers, .tool = question->tool, .resource = question->resource,
                                       .prompt = question->prompt, .shown = question->shown, .time_us = question->time_us,
                                       .root = &any, .state = question->state,
                                       .is_agent_judged = question->is_agent_judged};
    judge_hidden(judging, &known,
                 (struct question_hidden){.nodes = hidden, .count = 1, .names = names, .around = true, .meta = true,
                                          .claims = true, .hints = true}, real, scratch, answer);
}

static void judge_all_hidden(const struct judging *judging, const struct policy_case *kase, enum verdict_kind real,
                             struct policy_scratch *scratch, struct answer *answer)
{
    const struct json_node *root = kase->question.root;

    judge_hidden(judging, kase, (struct question_hidden){.meta = true, .hints = true}, real, scratch, answer);
    judge_cut(judging, kase, real, scratch, answer);
    judge_access(judging, kase, real, scratch, answer);
    if (root == NULL)
        return;
    judge_hidden(judging, kase, (struct question_hidden){.nodes = &root, .count = 1}, real, scratch, answer);
    for (uint32_t i = 0; i < root->count && root->count <= MEMBERS_MAX; i++) {
        judge_replaced(judging, kase, i, false, real, scratch, answer);
        judge_replaced(judging, kase, i, true, real, scratch, answer);
    }
}

/* 5.6: what a list leaves out no call gets. Every text before some place and behind a later one makes a template; but where a
 * call waits for a person only since nobody can say which URI it means, no template need be shown for that. */
static void look_in_lists(const struct judging *judging, const struct policy_case *kase, bool is_doubtful,
                          struct policy_scratch *scratch, struct answer *answer)
{
    struct question question = kase->question;
    struct span uri = question.resource;
    bool is_listed = policy_could_permit(judging->policy, &question, scratch);
    char text[256];

    question.any_resource = true;
    for (size_t begin = 0; !is_doubtful && uri.len > 0 && uri.len < 200 && begin <= uri.len; begin++)
        for (size_t end = begin; end <= uri.len; end++) {
            snprintf(text, sizeof text, "%.*s{x}%.*s", (int)begin, uri.at, (int)(uri.len - end), uri.at + end);
            question.resource = span_text(text);
            is_listed &= policy_could_permit(judging->policy, &question, scratch);
        }
    if (!is_listed)
        snprintf(answer->text, sizeof answer->text, "left out of a list");
}

/* Judged twice and explained once: the three must say the same. */
static void judge_case(const struct judging *judging, const struct policy_case *kase, struct policy_scratch *scratch,
                       struct verdict *verdict, struct answer *answer)
{
    struct telling telling;
    struct buf words;

    buf_init(&words, 64 << 20);
    telling = telling_to(&words, NULL, NULL, NULL);
    policy_judge_case(judging->policy, kase, scratch, NULL, verdict);
    write_answer(verdict, answer);
    policy_judge_case(judging->policy, kase, scratch, &telling.heard, verdict);
    compare(answer, verdict, "explained otherwise");
    policy_judge_case(judging->policy, kase, scratch, NULL, verdict);
    compare(answer, verdict, "torn");
    if (verdict->kind != VERDICT_DENY)
        look_in_lists(judging, kase, verdict->undecided.len > 0, scratch, answer);
    if (!answer->costly) {
        enum verdict_kind real = verdict->kind;

        judge_all_hidden(judging, kase, real, scratch, answer);
        judge_recorded(judging, kase, real, scratch, verdict, answer);
    }
    buf_fini(&telling.text);
    buf_fini(&words);
}

static bool is_approved(const struct policy_case *kase, struct span rule)
{
    for (uint32_t i = 0; i < kase->approved_count; i++)
        if (span_equals(kase->approved[i].rule, rule))
            return true;
    return false;
}

/* The call is held; a person looks at it at once. */
static void hold(const struct judging *judging, const struct policy_case *kase, const struct verdict *verdict)
{
    static _Atomic int64_t numbers;
    const struct question *question = &kase->question;
    struct approval_mark mark[VERDICT_APPROVALS_MAX];
    struct approval_marks marks = {.mark = mark};

    if (approvals_note(judging->approvals, question, question->tenant, verdict, &marks) != REASON_UNSET)
        fail("no room for a held call");
    (void)approvals_held(&marks, 1);
    for (uint32_t i = 0; i < marks.count; i++) {
        struct approval_answer answer = {.tenant = question->tenant, .principal = question->principal, .is_granted = true,
                                         .time_us = question->time_us + INT64_C(3600000000), .decision = 1, .round = 1};

        if (verdict->approvals[i].is_granted || !is_approved(kase, verdict->approvals[i].rule))
            continue;
        answer.number = ++numbers;
        memcpy(answer.digest, marks.mark[i].digest, sizeof answer.digest);
        if (approvals_answer(judging->approvals, &answer) != CODE_OK)
            fail("out of memory");
    }
}

/* The call goes on; what it was due to is used up. */
static void pass(const struct judging *judging, const struct policy_case *kase, const struct verdict *verdict)
{
    struct approval_mark mark[VERDICT_APPROVALS_MAX];
    struct approval_marks marks = {.mark = mark};
    struct approval_use use;

    if (verdict->approval_count == 0)
        return;
    if (!approvals_take(judging->approvals, &kase->question, verdict, &marks))
        fail("an approval was there and is gone");
    approvals_use(&marks, 1, kase->question.time_us);
    while (approvals_next_use(judging->approvals, &use))
        approvals_use_stored(judging->approvals, use.number);
}

/* As a gate does it. Asking changes nothing, so that it is the same just before; beside other threads it may not be. */
static void judge_remembering(const struct judging *judging, const struct policy_case *kase, struct policy_scratch *scratch,
                              struct verdict *verdict, struct answer *answer)
{
    struct question question = kase->question;
    struct gate_moment moment = {.state = judging->state, .now_us = question.time_us, .approvals = judging->approvals};
    struct policy_met met;
    struct gate_token token;
    bool says = false;

    for (int i = 0; i < POLICY_HINT_COUNT; i++)
        says |= kase->hints[i] != POLICY_UNKNOWN;
    if (says)
        gate_state_learn(judging->state, question.tenant, question.upstream, false, question.tool, kase->hints);
    question.state = gate_moment_view(&moment);
    policy_eval(judging->policy, &question, judging->timed, scratch, verdict);
    write_answer(verdict, answer);
    gate_state_judge(&moment, judging->policy, &question, judging->timed, scratch, verdict, &token);
    if (judging->step == 1)
        compare(answer, verdict, "torn");
    if (judging->step > 1 || strcmp(answer->text, "torn") != 0)
        write_answer(verdict, answer);
    gate_token_spend(&token);
    if (verdict->kind == VERDICT_HOLD)
        hold(judging, kase, verdict);
    if (verdict->kind == VERDICT_PERMIT) {
        pass(judging, kase, verdict);
        met = gate_met(verdict);
        gate_state_note(&moment, judging->policy, &question, &met);
    }
}

/* What comes back; twice, which must be the same. */
static void judge_returned(const struct judging *judging, const struct policy_case *kase, struct policy_scratch *scratch,
                           struct answer *answer)
{
    struct answer_verdict verdict;
    char text[2][ANSWER_MAX];
    struct buf left;

    for (int i = 0; i < 2; i++) {
        size_t at;

        policy_judge_case_answer(judging->policy, kase, scratch, NULL, &verdict);
        buf_init(&left, TEXT_MAX);
        at = add(text[i], 0, span_text(answer_effect_text(verdict.effect)));
        at = add(text[i], at, verdict.rule);
        if (policy_answer_write(&verdict, kase->answer.root->raw, &left) != CODE_OK)
            fail("out of memory");
        (void)add(text[i], at, verdict.effect == ANSWER_WITHHOLD ? SPAN_NONE : buf_peek(&left));
        buf_fini(&left);
    }
    answer->costly = verdict.why == ANSWER_TOO_COSTLY;
    snprintf(answer->text, sizeof answer->text, "%s", strcmp(text[0], text[1]) == 0 ? text[0] : "torn");
}

static void judge_one(const struct judging *judging, const struct policy_case *kase, struct policy_scratch *scratch,
                      struct verdict *verdict, struct answer *answer)
{
    if (kase->has_answer) {
        judge_returned(judging, kase, scratch, answer);
        return;
    }
    if (judging->state != NULL) {
        judge_remembering(judging, kase, scratch, verdict, answer);
    } else if (judging->timed) {
        policy_eval(judging->policy, &kase->question, true, scratch, verdict);
        write_answer(verdict, answer);
    } else {
        judge_case(judging, kase, scratch, verdict, answer);
    }
    policy_redact_answer(judging->policy, &kase->question, kase->question.root, scratch, verdict);
    (void)add_redacted(answer->text, strlen(answer->text), verdict);
}

static void *judge_all(void *context)
{
    struct judging *judging = context;
    struct verdict *verdict = calloc(1, sizeof *verdict);
    struct policy_scratch *scratch;

    if (verdict == NULL || policy_scratch_new(&scratch) != CODE_OK)
        fail("out of memory");
    for (uint32_t i = judging->first; i < judging->policy->case_count; i += judging->step)
        judge_one(judging, &judging->policy->cases[i], scratch, verdict, &judging->answers[i]);
    policy_scratch_free(&scratch);
    free(verdict);
    return NULL;
}

/* What all threads say of one test; time may make any of them too costly. */
static const char *common_answer(const struct judging *judging, int threads, uint32_t at)
{
    const struct answer *first = &judging[0].answers[at];
    bool is_torn = false;

    for (int i = 1; i < threads; i++) {
        const struct answer *other = &judging[i].answers[at];

        if (first->costly)
            first = other;
        is_torn |= !first->costly && !other->costly && strcmp(first->text, other->text) != 0;
    }
    return is_torn ? "torn" : first->text;
}

static void judge_set(const struct policy *policy, bool timed, struct gate_state *state, int threads)
{
    struct judging judging[THREADS_MAX];
    pthread_t thread[THREADS_MAX];
    uint32_t step = state != NULL ? (uint32_t)threads : 1;
    static const unsigned char key[DIGEST_BYTES] = "a key of the tests";
    struct approvals *approvals = NULL;

    if (state != NULL && approvals_new(key, &approvals) != CODE_OK)
        fail("out of memory");

    for (int i = 0; i < threads; i++) {
        judging[i] = (struct judging){policy, timed, state, approvals, state != NULL ? (uint32_t)i : 0, step, NULL};
        judging[i].answers = calloc(policy->case_count + 1, sizeof *judging[i].answers);
        if (judging[i].answers == NULL)
            fail("out of memory");
    }
    for (int i = 1; i < threads; i++)
        if (pthread_create(&thread[i], NULL, judge_all, &judging[i]) != 0)
            fail("no thread");
    judge_all(&judging[0]);
    for (int i = 1; i < threads; i++)
        pthread_join(thread[i], NULL);
    for (uint32_t at = 0; at < policy->case_count; at++)
        puts(state != NULL ? judging[at % step].answers[at].text : common_answer(judging, threads, at));
    for (int i = 0; i < threads; i++)
        free(judging[i].answers);
    if (approvals != NULL)
        approvals_free(&approvals);
}

static void answer_set(const struct policy_file *files, size_t count, bool timed, struct gate_state *state, int threads)
{
    static struct faults faults;
    struct policy *policy;

    faults_init(&faults);
    /* As a stored version, so that regexes are not pumped. */
    if (policy_compile(files, count, 1, &policy, &faults, NULL) == CODE_OK) {
        if (state != NULL)
            gate_state_clear(state);
        judge_set(policy, timed, state, threads);
        policy_unref(&policy);
    }
    for (size_t i = 0; i < faults.count && i < FAULTS_MAX; i++)
        printf("refused\t%s:%d:%d\t%s\n", faults.fault[i].file, faults.fault[i].line, faults.fault[i].column,
               faults.fault[i].text);
    putchar('\n');
    fflush(stdout);
}

int main(int argc, char **argv)
{
    bool timed = false, end;
    struct gate_state *state = NULL;
    int threads = 1;

    for (int i = 1; i < argc; i++) {
        timed |= strcmp(argv[i], "--timed") == 0;
        if (strcmp(argv[i], "--history") == 0 && gate_state_new(GATE_STATE_BYTES, NULL, &state) != CODE_OK)
            fail("out of memory");
        if (strcmp(argv[i], "--threads") == 0 && i + 1 < argc)
            threads = (int)strtol(argv[++i], NULL, 10);
    }
    if (threads < 1 || threads > THREADS_MAX)
        fail("too many threads");
    for (;;) {
        struct policy_file files[FILES_MAX];
        char name[FILES_MAX][32];
        size_t count = read_size(FILES_MAX, &end);

        if (end) {
            gate_state_free(&state);
            return 0;
        }
        for (size_t i = 0; i < count; i++) {
            size_t len = read_size(TEXT_MAX, &end);

            snprintf(name[i], sizeof name[i], "file%zu.yaml", i);
            files[i] = (struct policy_file){span_text(name[i]), span_of(read_text(len), len)};
        }
        answer_set(files, count, timed, state, threads);
        for (size_t i = 0; i < count; i++)
            free((char *)(uintptr_t)files[i].text.at);
    }
}
