/* SPDX-License-Identifier: Apache-2.0 */
#include "past/learn.h"

#include "files/trail.h"
#include "judgement/judgement.h"
#include "language/language.h"

#define STRETCH 4096 /* numbers between two words about progress */

/* ---- reading ---- */

struct reading {
    struct learn *learn;
    const struct recorded_range *range;
    void (*progress)(void *context, uint64_t done, uint64_t total);
    void *context;
    int64_t last; /* number that was there */
};

static enum code add_rows(struct learn *learn, struct recorded *recorded, struct db *db, struct db_stmt *stmt)
{
    enum code code;

    while ((code = db_step(stmt)) == CODE_OK) {
        code = recorded_read(recorded, db, stmt);
        if (code == CODE_OK)
            code = learn_add(learn, recorded);
        if (code != CODE_OK)
            break;
    }
    db_reset(stmt);
    return code == CODE_NOT_FOUND ? CODE_OK : code;
}

static enum code read_file(struct reading *reading, const char *path, struct recorded *recorded, struct why *why)
{
    struct db_stmt *stmt = NULL;
    struct db *db;
    int64_t first, last;
    enum code code = trail_open(path, &db, why);

    if (code != CODE_OK)
        return code;
    code = recorded_range_bounds(db, reading->range, &first, &last);
    if (code == CODE_OK)
        code = recorded_range_prepare(db, reading->range, &stmt);
    if (code == CODE_OK && last > reading->last)
        reading->last = last;
    for (int64_t from = first; from <= last && code == CODE_OK; from += STRETCH) {
        recorded_range_bind(stmt, reading->range, from, from + STRETCH - 1 < last ? from + STRETCH - 1 : last);
        code = add_rows(reading->learn, recorded, db, stmt);
        if (reading->progress != NULL)
            reading->progress(reading->context, (uint64_t)(from - first), (uint64_t)(last - first + 1));
    }
    if (code != CODE_OK)
        (void)why_set(why, code, "%s: %s", path, code == CODE_NOMEM ? "not enough memory" : db_error(db));
    db_finalize(&stmt);
    db_close(&db);
    return code;
}

enum code learn_read(struct learn *learn, const struct trail *trail, struct recorded_range *range,
                     void (*progress)(void *context, uint64_t done, uint64_t total), void *context, struct why *why)
{
    struct reading reading = {.learn = learn, .range = range, .progress = progress, .context = context, .last = 1};
    struct recorded recorded;
    enum code code = CODE_OK;

    recorded_init(&recorded);
    range->permitted = true;
    for (size_t i = 0; i < trail->count && code == CODE_OK; i++)
        code = read_file(&reading, trail->files[i].path, &recorded, why);
    recorded_fini(&recorded);
    range->last_seq = reading.last;
    return code;
}

/* ---- proving ---- */

struct proving {
    const struct learn *learn;
    struct learn_proof *proof;
};

static enum code judge_call(void *context, const struct replay_call *call)
{
    struct proving *proving = context;
    struct learn_proof *proof = proving->proof;

    if (call->fate == REPLAY_SAME || call->fate == REPLAY_OTHER_RULE) { /* told for what came back */
        proof->answers += call->answer.fate == REPLAY_FLIPS;
    } else if (call->fate == REPLAY_UNKNOWN && call->lack == RECORDED_WHOLE) {
        proof->unasked++;
    } else if (call->fate == REPLAY_UNKNOWN) {
        proof->unknown++;
    } else if (call->approved || !learn_drafted(proving->learn, call->upstream, call->method, call->target,
                                                  call->path)) {
        proof->left_out++;
    } else {
        if (proof->denied++ == 0)
            proof->first_denied = call->seq;
    }
    return CODE_OK;
}

static void note_test(void *context, const struct policy_test_result *result)
{
    (void)context;
    (void)result;
}

static enum code run_tests(const struct policy *policy, struct learn_proof *proof)
{
    struct policy_scratch *scratch;
    size_t passed = 0, failed = 0;
    enum code code = policy_scratch_new(&scratch);

    if (code == CODE_OK)
        code = policy_test(policy, scratch, note_test, NULL, &passed, &failed);
    proof->tests = passed + failed;
    proof->failed_tests = failed;
    policy_scratch_free(&scratch);
    return code;
}

enum code learn_prove(const struct learn *learn, struct span text, const struct replay_conf *conf, struct learn_proof *proof,
                      struct faults *faults, struct why *why)
{
    const struct policy_file file = {.path = SPAN_LIT("draft"), .text = text};
    struct proving proving = {.learn = learn, .proof = proof};
    struct replay_conf replay = *conf;
    struct replay_sum sum;
    struct policy *policy;
    enum code code = policy_compile(&file, 1, 0, &policy, faults, NULL);

    *proof = (struct learn_proof){0};
    if (code != CODE_OK)
        return code;
    replay.policy = policy;
    replay.tell = judge_call;
    replay.context = &proving;
    replay.progress = NULL;
    code = run_tests(policy, proof);
    if (code == CODE_OK)
        code = replay_run(&replay, &sum, why);
    if (code == CODE_OK)
        proof->permitted = sum.fates[REPLAY_SAME] + sum.fates[REPLAY_OTHER_RULE];
    policy_unref(&policy);
    return code;
}
