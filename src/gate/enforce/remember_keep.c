/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps what was counted, so that a start need not count it again. It is made as a start makes it: from what was kept before
 * and the rows behind that. So it holds nothing that the trail does not say, and no call in part. */
#include "enforce/remember_priv.h"

#include "base/log.h"
#include "os/clock.h"

/* What is over is kept so much longer, so that a clock that is set back by less is no reason to count anew. */
#define SLACK_US (INT64_C(600) * 1000000)
#define WORTH_ROWS 65536 /* rows read by a start from which on it keeps its count for the next one */
#define STATE_BYTES_MAX ((size_t)1 << 28)

enum code remember__find_trail(const char *path, int64_t after, struct trail *trail, struct why *why)
{
    enum code code = trail_find(path, after == 0, trail, why);

    if (code != CODE_OK || after == 0 || trail->files[trail->count - 1].before_seq <= after)
        return code;
    trail_fini(trail);
    return trail_find(path, true, trail, why);
}

/* Finds the hash of a row, in whichever file it is. */
static enum code find_hash(const char *path, uint64_t seq, unsigned char hash[DIGEST_BYTES], struct why *why)
{
    struct trail trail;
    enum code code = remember__find_trail(path, (int64_t)seq, &trail, why);

    if (code != CODE_OK)
        return code;
    code = CODE_NOT_FOUND;
    for (size_t i = trail.count; i-- > 0 && code == CODE_NOT_FOUND;)
        if (trail.files[i].before_seq <= (int64_t)seq)
            code = trail_row_hash(&trail.files[i], (int64_t)seq, hash, why);
    trail_fini(&trail);
    return code;
}

static bool stands_in_trail(const struct past_file *file, const char *path)
{
    unsigned char hash[DIGEST_BYTES];
    struct why why = {""};

    return find_hash(path, file->seq, hash, &why) == CODE_OK && memcmp(hash, file->hash, DIGEST_BYTES) == 0;
}

/* Reads both files. One that is missing or broken gets turn 0. */
static void read_files(const struct past_place *place, struct past_file files[PAST_FILES])
{
    for (unsigned i = 0; i < PAST_FILES; i++) {
        struct why why = {""};

        files[i] = (struct past_file){.turn = 0};
        if (place->path != NULL && past_file_read(place, i, &files[i], &why) == CODE_INVALID)
            log_warn("app", "%s; a start counts from the audit in its place", why.text);
    }
}

/* Whether counting can go on from the file. What was left out of it as over must still be over by the clock
 * of now, which may have been set back. */
static bool is_of_use(const struct past_file *file, struct span asked, const struct remembering *remembering, int64_t now_us)
{
    return file->turn > 0 && file->over_us <= now_us && past_file_covers(file->memory, asked) &&
           stands_in_trail(file, remembering->path);
}

/* Reads a kept file into an empty state. *range: where counting goes on. Returns: whether there was a file of use. */
static bool take_kept(struct gate_state *state, struct past_file files[PAST_FILES], struct span asked,
                      const struct remembering *remembering, struct remember_range *range)
{
    unsigned first = files[0].turn < files[1].turn;

    for (unsigned i = 0; i < PAST_FILES; i++) {
        const struct past_file *file = &files[i ^ first];

        if (!is_of_use(file, asked, remembering, range->now_us))
            continue;
        if (gate_state_read(state, file->state, range->now_us - SLACK_US, range->latest_us) == CODE_OK) {
            range->after = (int64_t)file->seq;
            range->after_plans = file->has_plans && remembering->with_plans ? range->after : 0;
            if (range->after_plans == 0) /* who asks for plans later counts them all, so none of these may stay */
                plan_uses_clear(gate_state_plans(state));
            return true;
        }
        gate_state_clear(state);
    }
    return false;
}

/* Goes on from what was kept, and counts the rows behind it. */
static enum code count(struct gate_state *state, const struct policy *policy, const struct remembering *remembering,
                       struct remember_range *range, struct remembered *remembered, struct past_file files[PAST_FILES],
                       struct buf *asked, struct why *why)
{
    enum code code = past_file_memory(policy, asked);

    if (code != CODE_OK)
        return why_set(why, code, "what was called before cannot be counted: %s", code_text(code));
    read_files(&remembering->kept, files);
    if ((buf_len(asked) > 0 || remembering->with_plans) && take_kept(state, files, buf_peek(asked), remembering, range))
        remembered->from = (uint64_t)range->after;
    return remember__count(state, policy, remembering, range, remembered, why);
}

/* ---- keeping ---- */

static enum code keep(struct gate_state *state, const struct remembering *remembering, struct past_file files[PAST_FILES],
                      struct past_file *fresh, struct why *why)
{
    unsigned older = files[1].turn < files[0].turn;
    struct buf bytes;
    enum code code;

    fresh->turn = files[older ^ 1].turn + 1;
    buf_init(&bytes, STATE_BYTES_MAX);
    gate_state_keep(state, &bytes);
    fresh->state = buf_peek(&bytes);
    code = buf_code(&bytes);
    if (code != CODE_OK)
        (void)why_set(why, code, "what was counted cannot be kept: %s", code_text(code));
    else
        code = past_file_write(&remembering->kept, older, fresh, why);
    buf_fini(&bytes);
    return code;
}

/* Keeps what a start has counted. Nothing was judged yet, so the state is what the trail says. */
static void keep_start(struct gate_state *state, const struct remembering *remembering, int64_t now_us,
                       struct past_file files[PAST_FILES], struct span asked)
{
    struct past_file fresh = {.seq = remembering->last, .has_plans = remembering->with_plans, .over_us = now_us - SLACK_US,
                              .memory = asked};
    struct why why = {""};
    enum code code = find_hash(remembering->path, fresh.seq, fresh.hash, &why);

    if (code == CODE_OK)
        code = keep(state, remembering, files, &fresh, &why);
    if (code != CODE_OK)
        log_warn("app", "%s; the next start reads as much", why.text);
}

enum code gate_remember(struct gate_shared *shared, const struct remembering *remembering, struct remembered *remembered,
                        struct why *why)
{
    struct remember_range range = {.before = INT64_MAX, .now_us = remember__now(shared, remembering),
                                   .latest_us = remembering->now_us};
    struct policy *policy = gate_policy(shared);
    struct past_file files[PAST_FILES] = {{.turn = 0}};
    struct buf asked;
    enum code code;

    *remembered = (struct remembered){.rows = 0};
    gate_state_clear(shared->state);
    shared->knows_plans = false;
    buf_init(&asked, STATE_BYTES_MAX);
    code = count(shared->state, policy, remembering, &range, remembered, files, &asked, why);
    shared->knows_plans = code == CODE_OK && remembering->with_plans;
    if (code == CODE_OK && remembering->last > 0 && remembered->rows >= WORTH_ROWS && remembered->gap_us == 0)
        keep_start(shared->state, remembering, range.now_us, files, buf_peek(&asked));
    for (unsigned i = 0; i < PAST_FILES; i++)
        past_file_fini(&files[i]);
    buf_fini(&asked);
    policy_unref(&policy);
    return code;
}

/* Takes the time from the monotonic clock since the start, so that setting the clock meanwhile changes nothing. */
static enum code count_and_keep(struct gate_shared *shared, struct gate_state *state, const struct policy *policy,
                                const struct remembering *remembering, uint64_t last, struct why *why)
{
    struct remember_range range = {.before = (int64_t)last + 1, .now_us = clock_monotonic_us() + shared->clock_us,
                                   .latest_us = INT64_MAX};
    struct remembered remembered = {.rows = 0};
    struct past_file files[PAST_FILES] = {{.turn = 0}}, fresh = {.seq = last, .has_plans = remembering->with_plans,
                                                                 .over_us = range.now_us - SLACK_US};
    struct buf asked;
    enum code code;

    buf_init(&asked, STATE_BYTES_MAX);
    code = count(state, policy, remembering, &range, &remembered, files, &asked, why);
    if (code == CODE_OK)
        code = find_hash(remembering->path, last, fresh.hash, why);
    fresh.memory = buf_peek(&asked);
    /* with a gap nothing is kept, since a missing file may come back */
    if (code == CODE_OK && last > remembered.from && remembered.gap_us == 0)
        code = keep(state, remembering, files, &fresh, why);
    for (unsigned i = 0; i < PAST_FILES; i++)
        past_file_fini(&files[i]);
    buf_fini(&asked);
    return code;
}

enum code gate_remember_keep(struct gate_shared *shared, const struct remembering *remembering, uint64_t last, uint64_t *kept,
                             struct why *why)
{
    struct policy *policy = gate_policy(shared);
    bool asks = remembering->with_plans || (policy != NULL && policy_memory_us(policy) > 0);
    struct gate_state *state = NULL;
    enum code code = asks ? gate_state_new(GATE_STATE_BYTES, &shared->past_key, &state) : CODE_OK;

    *kept = 0;
    if (code == CODE_OK && asks)
        code = count_and_keep(shared, state, policy, remembering, last, why);
    if (code == CODE_OK && asks)
        *kept = last;
    gate_state_free(&state);
    policy_unref(&policy);
    return code;
}
