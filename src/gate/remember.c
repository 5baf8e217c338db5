/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/remember.h"

#include "audit/trail.h"
#include "base/num.h"
#include "crypto/digest.h"
#include "db/db.h"
#include "gate/gate_priv.h"
#include "gate/recorded_range.h"

enum { C_TIME, C_TENANT, C_PRINCIPAL, C_CLIENT, C_SESSION, C_CORRELATION, C_UPSTREAM, C_METHOD, C_TOOL, C_RULE };

#define SELECT \
    "SELECT time_us, tenant, principal, client, session, correlation, upstream, method, tool, rule FROM decision " \
    "WHERE seq BETWEEN ?1 AND ?2 AND time_us >= ?3 AND verdict = 'permit' ORDER BY seq"

struct counting {
    struct gate_moment moment;
    const struct policy *policy;
    struct remembered *remembered;
    int64_t now_us;
    bool only_watches;
};

static void see(void *context, const struct policy_watch *watch)
{
    (void)watch;
    *(bool *)context = true;
}

static void count_row(struct counting *counting, struct db_stmt *row)
{
    struct span session = db_blob(row, C_SESSION);
    char hex[2 * DIGEST_BYTES];
    struct question question = {
        .tenant = db_text(row, C_TENANT), .principal = db_text(row, C_PRINCIPAL), .upstream = db_text(row, C_UPSTREAM),
        .method = db_text(row, C_METHOD), .client = db_text(row, C_CLIENT), .correlation = db_text(row, C_CORRELATION),
        .time_us = db_int(row, C_TIME),
    };
    const struct policy_limit *limit = counting->only_watches ? NULL : policy_limit_of(counting->policy, db_text(row, C_RULE));
    bool is_watched = false;

    if (session.len == DIGEST_BYTES) {
        num_hex(session.at, session.len, hex);
        question.session = span_of(hex, sizeof hex);
    }
    gate_aim(&question, db_text(row, C_TOOL));
    /* A clock that was set back since makes no calls of the future. */
    counting->moment.now_us = question.time_us < counting->now_us ? question.time_us : counting->now_us;
    policy_each_watch(counting->policy, &question, see, &is_watched);
    if (limit != NULL)
        gate_state_count(&counting->moment, &question, limit);
    if (is_watched)
        gate_state_note(&counting->moment, counting->policy, &question);
    counting->remembered->calls += limit != NULL || is_watched;
}

static enum code count_rows(struct counting *counting, struct db *db, int64_t first, int64_t last, int64_t since_us)
{
    struct db_stmt *row;
    enum code code = db_select(db, SELECT, DB_VALUES(db_of_int(first), db_of_int(last), db_of_int(since_us)), &row);

    while (code == CODE_OK && (code = db_step(row)) == CODE_OK)
        count_row(counting, row);
    db_finalize(&row);
    return code == CODE_NOT_FOUND ? CODE_OK : code;
}

/* The rows of one file from `first` to `last`, as far as they lie in the windows. */
static enum code count_file(struct counting *counting, const char *path, int64_t first, int64_t last, struct why *why)
{
    struct recorded_range range = {.since_us = counting->now_us - policy_memory_us(counting->policy)};
    int64_t from = 1, to = 0;
    struct db *db = NULL;
    enum code code = db_open(path, DB_READ, &db, why);

    if (code != CODE_OK)
        return code;
    code = recorded_range_bounds(db, &range, &from, &to);
    counting->remembered->is_cut |= from < first && first > 1 && to >= from;
    if (code == CODE_OK)
        code = count_rows(counting, db, from > first ? from : first, to < last ? to : last, range.since_us);
    if (code != CODE_OK)
        why_set(why, code, "%s cannot be read: %s", path, db_error(db));
    db_close(&db);
    return code;
}

static enum code count_trail(struct counting *counting, const char *path, int64_t before_seq, int64_t rows_max, struct why *why)
{
    struct trail trail;
    int64_t first, last;
    enum code code;

    *counting->remembered = (struct remembered){.calls = 0};
    if (policy_memory_us(counting->policy) == 0)
        return CODE_OK;
    code = trail_find(path, true, &trail, why);
    if (code != CODE_OK)
        return code;
    last = trail.count > 0 ? trail.files[trail.count - 1].last_seq : 0;
    last = last < before_seq ? last : before_seq - 1;
    first = last > rows_max ? last - rows_max + 1 : 1;
    for (size_t i = 0; i < trail.count && code == CODE_OK; i++)
        if (trail.files[i].last_seq >= first && trail.files[i].before_seq < last)
            code = count_file(counting, trail.files[i].path, first, last, why);
    trail_fini(&trail);
    return code;
}

enum code gate_state_remember(struct gate_state *state, const struct policy *policy, const char *path, int64_t now_us,
                              int64_t before_seq, struct remembered *remembered, struct why *why)
{
    struct counting counting = {
        .moment = {.state = state, .is_recorded = true}, .policy = policy, .remembered = remembered, .now_us = now_us};

    return count_trail(&counting, path, before_seq, REMEMBER_ROWS_MAX, why);
}

enum code gate_remember_watches(struct gate_shared *shared, const struct policy *coming, const char *path, int64_t now_us,
                                struct why *why)
{
    struct remembered remembered;
    struct counting counting = {.moment = {.state = shared->state, .is_recorded = true}, .policy = coming,
                                .remembered = &remembered, .now_us = now_us, .only_watches = true};

    if (shared->policy == NULL || policy_watches_all_of(shared->policy, coming))
        return CODE_OK;
    return count_trail(&counting, path, INT64_MAX, REMEMBER_NEW_ROWS_MAX, why);
}

enum code gate_remember(struct gate_shared *shared, const char *path, int64_t now_us, struct remembered *remembered,
                        struct why *why)
{
    *remembered = (struct remembered){.calls = 0};
    if (shared->policy == NULL)
        return CODE_OK;
    return gate_state_remember(shared->state, shared->policy, path, now_us, INT64_MAX, remembered, why);
}
