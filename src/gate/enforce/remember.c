/* SPDX-License-Identifier: Apache-2.0 */
#include "enforce/remember_priv.h"

#include "files/trail.h"
#include "base/mem.h"
#include "base/num.h"
#include "crypto/digest.h"
#include "db/db.h"
#include "enforce/gate_priv.h"
#include "os/clock.h"

enum { C_TIME, C_TENANT, C_PRINCIPAL, C_CLIENT, C_SESSION, C_CORRELATION, C_UPSTREAM, C_METHOD, C_TOOL, C_RULE, C_RULES,
       C_AGENT, C_AGENT_RULE, C_SEQ, C_LACKS, C_ARGUMENTS };

#define COLUMNS "time_us, tenant, principal, client, session, correlation, upstream, method, tool, rule, rules, agent, " \
    "agent_rule"
#define PERMITS " FROM decision WHERE seq <= ?1 AND seq > ?3 AND time_us >= ?2 AND verdict = 'permit' ORDER BY seq"
#define CALLS "SELECT " COLUMNS PERMITS
/* Where different values are counted: they stand in the arguments, and nowhere else, so that erasing those leaves none to guess
 * at. The record may have lost some of them, or all. */
#define CALLS_AND_VALUES \
    "SELECT " COLUMNS ", seq, arguments_redacted <> 0 OR (arguments IS NULL AND (arguments_cut <> 0 OR " \
    "arguments_bytes IS NOT NULL)), arguments" PERMITS
/* Which rules answers met. Nobody knows it of outcomes that are 'unknown', because a gate was killed before it wrote them.
 * The decision may be in the file before. */
#define ANSWERS \
    "SELECT o.time_us, d.tenant, d.principal, d.client, d.session, d.correlation, d.upstream, d.method, NULL, NULL, " \
    "o.answer_rules, d.agent, NULL FROM outcome o LEFT JOIN decision d ON d.seq = o.decision WHERE o.seq <= ?1 " \
    "AND o.seq > ?3 AND o.time_us >= ?2 AND (o.answer_rules IS NOT NULL OR o.answer_effect IS NOT NULL " \
    "OR o.outcome = 'unknown') ORDER BY o.seq"
#define BEGINNING "SELECT time_us FROM decision ORDER BY seq LIMIT 1"

struct counting {
    struct gate_moment moment;
    const struct policy *policy;
    struct remembered *remembered;
    const atomic_bool *stop;
    int64_t now_us, since_us; /* `since_us`: where the longest window begins */
    int64_t after;            /* rows up to this one are counted already */
    int64_t latest_us;        /* later times count as this one: a clock that was set back leaves no calls in the future */
    bool only_watches, of_answers;
    bool has_values;  /* some limit counts different ones */
    bool reads_rules; /* some limit asks what a row says of its rules */
    struct arena arena; /* one row's arguments, and then its rules */
    struct buf canonical;
};

static void see(void *context, const struct policy_watch *watch, bool is_sure)
{
    (void)watch;
    (void)is_sure;
    *(bool *)context = true;
}

/* ---- what the row says of its rules ---- */

const struct json_node *gate_recorded_met(struct span text, struct arena *arena, struct buf *canonical,
                                          struct verdict_rule named[VERDICT_RULES_MAX], struct policy_met *met)
{
    const struct json_node *root = NULL;
    struct json_fault fault;

    met->rules = named;
    memset(named, 0, VERDICT_RULES_MAX * sizeof *named); /* where nobody knows which rules, none of them has a name */
    arena_reset(arena);
    buf_clear(canonical);
    if (json_read(text, &json_file_rules, canonical, arena, &root, &fault) != CODE_OK || root->type != JSON_ARRAY)
        met->count = VERDICT_RULES_MAX + 1; /* a count above the bound means that nobody knows which rules */
    for (const struct json_node *rule = root != NULL ? root->child : NULL; rule != NULL; rule = rule->next) {
        const struct json_node *id = json_member(rule, SPAN_LIT("id"));

        if (id == NULL || met->count >= VERDICT_RULES_MAX) {
            met->count = VERDICT_RULES_MAX + 1; /* there are more rules than have room */
            continue;
        }
        named[met->count++] =
            (struct verdict_rule){.id = id->text, .limited = json_member(rule, SPAN_LIT("limited")) != NULL};
    }
    return root;
}

static const struct json_node *read_rules(struct counting *counting, struct db_stmt *row,
                                          struct verdict_rule named[VERDICT_RULES_MAX], struct policy_met *met)
{
    struct span text = db_text(row, C_RULES);

    *met = (struct policy_met){.rules = named, .deciding = {db_text(row, C_RULE), db_text(row, C_AGENT_RULE)}};
    if (!counting->of_answers && (text.at == NULL || !(counting->reads_rules || policy_watches(counting->policy))))
        return NULL;
    return gate_recorded_met(text, &counting->arena, &counting->canonical, named, met);
}

static const struct policy_limit *first_of_values(const struct policy_limit *limit)
{
    while (limit != NULL && limit->kind != LIMIT_DISTINCT)
        limit = limit->next;
    return limit;
}

/* Finds the values that the row's limits of different ones counted. A value that the record has lost counts as one that no
 * other call had. Returns: as bits by the limits' places, which of them counted one. */
static uint32_t values_of(struct counting *counting, struct db_stmt *row, const struct policy_limit *limit,
                          struct policy_value values[POLICY_LIMITS_MAX])
{
    struct span text = db_text(row, C_ARGUMENTS);
    const struct json_node *root = NULL;
    struct json_fault fault;
    bool is_lossy = db_int(row, C_LACKS) != 0;
    uint32_t found = 0;

    arena_reset(&counting->arena);
    buf_clear(&counting->canonical);
    if (text.at != NULL &&
        json_read(text, &json_file_rules, &counting->canonical, &counting->arena, &root, &fault) != CODE_OK)
        is_lossy = true;
    for (limit = first_of_values(limit); limit != NULL; limit = first_of_values(limit->next)) {
        enum truth known = policy_recorded_value(limit, root, &values[limit->at]);

        if (known == TRUTH_UNDECIDED || (known == TRUTH_FALSE && is_lossy))
            policy_value_lost((uint64_t)db_int(row, C_SEQ), &values[limit->at]);
        else if (known == TRUTH_FALSE)
            continue;
        found |= UINT32_C(1) << limit->at;
    }
    return found;
}

/* Whether the limit counted the call. A sum that is not in the row was not asked for then, so it counts from now on; nor were
 * values where the call had not one. */
static bool has_counted(const struct policy_limit *limit, const struct json_node *recorded, uint32_t has_value,
                        uint64_t *amount)
{
    const struct json_node *sum = question_recorded_sum(recorded, limit->path_text);

    *amount = 1;
    switch (limit->kind) {
    case LIMIT_SUM:
        return sum != NULL && sum->type == JSON_NUMBER &&
               json_number_scaled(sum->raw, POLICY_SUM_PLACES, amount) == CODE_OK;
    case LIMIT_DISTINCT:
        return (has_value >> limit->at & 1) != 0;
    case LIMIT_CALLS:
    case LIMIT_KINDS:
        break;
    }
    return true;
}

/* What a permit of the row counted. */
struct counted {
    const struct policy_limit *limit; /* as the policy has them; NULL: none */
    struct policy_limit limits[POLICY_LIMITS_MAX]; /* those that counted the call */
    struct policy_value values[POLICY_LIMITS_MAX];
    uint32_t has_value; /* by the limits' places */
};

/* Finds what the row's limits counted. */
static void spent_of(struct counted *counted, const struct json_node *recorded, struct verdict_spent *spent)
{
    uint32_t count = 0;

    *spent = (struct verdict_spent){.limit = NULL, .values = counted->values};
    for (const struct policy_limit *limit = counted->limit; limit != NULL; limit = limit->next) {
        if (!has_counted(limit, recorded, counted->has_value, &spent->amount[count]))
            continue;
        counted->limits[count] = *limit;
        counted->limits[count].at = count;
        counted->limits[count].next = NULL;
        if (count > 0)
            counted->limits[count - 1].next = &counted->limits[count];
        counted->values[count++] = counted->values[limit->at];
    }
    spent->limit = count > 0 ? counted->limits : NULL;
}

/* Whether a person let the call by the one limit of the rule that asks: then it had no room, and its value took no place. */
static bool was_let_by(const struct policy_limit *limit, const struct policy_met *met)
{
    struct span rule = limit != NULL ? limit->rule : SPAN_NONE;
    uint32_t asking = 0;

    for (; limit != NULL; limit = limit->next)
        asking += limit->asks;
    for (uint32_t i = 0; i < met->count && met->count <= VERDICT_RULES_MAX; i++)
        if (met->rules[i].limited && span_equals(met->rules[i].id, rule))
            return asking == 1;
    return false;
}

/* What the permits of both halves counted; one that gave both counted once. */
static void find_spent(struct counting *counting, struct db_stmt *row, struct counted counted[HALF_COUNT])
{
    for (unsigned i = 0; i < HALF_COUNT && !counting->only_watches && !counting->of_answers; i++) {
        struct span rule = db_text(row, i == HALF_PERSON ? C_RULE : C_AGENT_RULE);

        if (i == HALF_AGENT && span_equals(rule, db_text(row, C_RULE)))
            return;
        counted[i].limit = policy_limit_of(counting->policy, rule);
        if (counting->has_values && first_of_values(counted[i].limit) != NULL)
            counted[i].has_value = values_of(counting, row, counted[i].limit, counted[i].values);
    }
}

static void count_row(struct counting *counting, struct db_stmt *row)
{
    struct span session = db_blob(row, C_SESSION);
    char hex[2 * DIGEST_BYTES];
    struct question question = {
        .tenant = db_text(row, C_TENANT), .principal = db_text(row, C_PRINCIPAL), .upstream = db_text(row, C_UPSTREAM),
        .method = db_text(row, C_METHOD), .client = db_text(row, C_CLIENT), .correlation = db_text(row, C_CORRELATION),
        .agent = db_text(row, C_AGENT), .time_us = db_int(row, C_TIME),
    };
    struct verdict_rule named[VERDICT_RULES_MAX];
    struct counted counted[HALF_COUNT] = {{.limit = NULL}};
    struct verdict_spent spent[HALF_COUNT];
    const struct json_node *recorded;
    struct policy_met met;
    bool is_watched = false, counts = false;

    find_spent(counting, row, counted); /* first, since this uses the arena, too */
    recorded = read_rules(counting, row, named, &met);
    for (unsigned i = 0; i < HALF_COUNT; i++) {
        spent_of(&counted[i], recorded, &spent[i]);
        spent[i].beyond = counted[i].has_value != 0 && was_let_by(counted[i].limit, &met);
        counts |= spent[i].limit != NULL;
    }
    if (session.len == DIGEST_BYTES) {
        num_hex(session.at, session.len, hex);
        question.session = span_of(hex, sizeof hex);
    }
    call_aim(&question, db_text(row, C_TOOL));
    counting->moment.now_us = question.time_us < counting->latest_us ? question.time_us : counting->latest_us;
    if (question.tenant.at == NULL) { /* an answer whose call is in no file here */
        gate_state_doubt(&counting->moment, policy_memory_us(counting->policy));
        return;
    }
    policy_each_watch(counting->policy, &question, &met, see, &is_watched);
    if (counts)
        gate_state_count(&counting->moment, &question, spent);
    if (is_watched)
        gate_state_note(&counting->moment, counting->policy, &question, &met);
    counting->remembered->calls += counts || is_watched;
}

static bool is_stopped(const struct counting *counting)
{
    return counting->stop != NULL && atomic_load(counting->stop);
}

static enum code count_rows(struct counting *counting, struct db *db, int64_t last)
{
    struct db_stmt *row;
    const char *calls = counting->has_values ? CALLS_AND_VALUES : CALLS;
    enum code code = db_select(db, counting->of_answers ? ANSWERS : calls,
                               DB_VALUES(db_of_int(last), db_of_int(counting->since_us), db_of_int(counting->after)), &row);

    while (code == CODE_OK && (code = db_step(row)) == CODE_OK) {
        counting->remembered->rows++;
        count_row(counting, row);
    }
    db_finalize(&row);
    return code == CODE_NOT_FOUND ? CODE_OK : code;
}

static enum code count_answers(struct counting *counting, struct db *db, int64_t last)
{
    enum code code;

    counting->of_answers = true;
    code = count_rows(counting, db, last);
    counting->of_answers = false;
    return code;
}

static enum code count_steps(struct counting *counting, struct db *db, int64_t last);

static enum code count_file(struct counting *counting, const char *path, int64_t last, struct why *why)
{
    struct db *db = NULL;
    enum code code = is_stopped(counting) ? CODE_BUSY : trail_open(path, &db, why);

    if (code != CODE_OK)
        return code;
    db_stop_when(db, counting->stop);
    if (counting->policy == NULL)
        code = count_steps(counting, db, last);
    else if (policy_watches_answers(counting->policy))
        code = count_answers(counting, db, last);
    if (code == CODE_OK && counting->policy != NULL)
        code = count_rows(counting, db, last);
    if (code != CODE_OK)
        why_set(why, code, "%s cannot be read: %s", path, db_error(db));
    db_close(&db);
    return code;
}

/* Files are missing in front of `next`. Their calls were made before it begins, and nobody knows which. So sequences are
 * undecided as long as a window reaches there. */
static enum code mind_gap(struct counting *counting, const struct trail_file *next, struct why *why)
{
    int64_t begins_us = 0;
    struct db *db = NULL;
    enum code code = trail_open(next->path, &db, why);

    if (code != CODE_OK)
        return code;
    code = db_number(db, "SELECT coalesce((" BEGINNING "), ?1)", DB_VALUES(db_of_int(counting->now_us)), &begins_us);
    counting->moment.now_us = begins_us < counting->now_us ? begins_us : counting->now_us;
    db_close(&db);
    if (code != CODE_OK)
        return why_set(why, code, "%s cannot be read", next->path);
    if (counting->moment.now_us < counting->since_us)
        return CODE_OK;
    counting->remembered->gap_us = counting->moment.now_us;
    if (counting->policy != NULL)
        gate_state_doubt(&counting->moment, policy_memory_us(counting->policy));
    else
        plan_uses_lose(gate_state_plans(counting->moment.state), counting->moment.now_us);
    return CODE_OK;
}

/* Whether a file has rows within the windows. Outcomes may come later than the last call of their file, but
 * not later than the calls of the next file. */
static bool reaches(const struct counting *counting, const struct trail *trail, size_t at)
{
    bool of_answers = counting->policy != NULL && policy_watches_answers(counting->policy);
    const struct trail_file *next = at + 1 < trail->count ? &trail->files[at + 1] : NULL;

    if (trail_file_reaches(&trail->files[at], counting->since_us, 0))
        return true;
    return of_answers && (next == NULL || next->last_us == 0 || trail_file_reaches(next, counting->since_us, 0));
}

static enum code count_trail(struct counting *counting, const char *path, int64_t before_seq, struct why *why)
{
    struct trail trail;
    enum code code = remember__find_trail(path, counting->after, &trail, why);

    if (code != CODE_OK)
        return code;
    arena_init(&counting->arena, (size_t)1 << 24);
    buf_init(&counting->canonical, (size_t)1 << 24);
    for (size_t i = 0; i < trail.count && code == CODE_OK && trail.files[i].before_seq < before_seq - 1; i++) {
        if (trail.files[i].last_seq < counting->after)
            continue;
        if (!trail.files[i].follows && trail.files[i].before_seq > counting->after)
            code = mind_gap(counting, &trail.files[i], why);
        if (code == CODE_OK && reaches(counting, &trail, i))
            code = count_file(counting, trail.files[i].path, before_seq - 1, why);
    }
    buf_fini(&counting->canonical);
    arena_fini(&counting->arena);
    trail_fini(&trail);
    return code;
}

/* Counts the rows within the windows. Where some are counted already, all rows behind them count, since
 * each entry of the state knows when it is over. */
static enum code count_windows(struct counting *counting, const char *path, int64_t before_seq, struct why *why)
{
    int64_t memory_us = counting->policy != NULL ? policy_memory_us(counting->policy) : 0;

    if (memory_us == 0)
        return CODE_OK;
    counting->since_us = counting->after > 0 ? INT64_MIN : counting->now_us - memory_us;
    counting->has_values = !counting->only_watches && policy_limits_by(counting->policy, LIMIT_DISTINCT);
    counting->reads_rules =
        counting->has_values || (!counting->only_watches && policy_limits_by(counting->policy, LIMIT_SUM));
    return count_trail(counting, path, before_seq, why);
}

enum code gate_state_remember(struct gate_state *state, const struct policy *policy, const char *path, int64_t now_us,
                              int64_t before_seq, struct remembered *remembered, struct why *why)
{
    struct counting counting = {
        .moment = {.state = state, .is_recorded = true}, .policy = policy, .remembered = remembered, .now_us = now_us,
        .latest_us = now_us};

    *remembered = (struct remembered){.rows = 0};
    return count_windows(&counting, path, before_seq, why);
}

enum code gate_remember_watches(struct gate_shared *shared, const struct policy *coming, const struct remembering *remembering,
                                struct remembered *remembered, struct why *why)
{
    struct counting counting = {.moment = {.state = shared->state, .is_recorded = true}, .policy = coming, .only_watches = true,
                                .remembered = remembered, .now_us = remembering->now_us, .stop = remembering->stop,
                                .latest_us = remembering->now_us};

    *remembered = (struct remembered){.rows = 0};
    return count_windows(&counting, remembering->path, INT64_MAX, why);
}

/* ---- plans ---- */

#define PLANS \
    "SELECT time_us, tenant, plan, plan_step FROM decision WHERE seq <= ?1 AND seq > ?3 AND time_us >= ?2 " \
    "AND verdict = 'permit' AND plan_step IS NOT NULL"

/* Counts a use by its own time, also where that lies in the future, because the clock was set back. Where there is no room, the
 * plans of that time cannot be used any more, but the gate starts. */
static void count_step(struct counting *counting, struct db_stmt *row)
{
    struct plan_uses *uses = gate_state_plans(counting->moment.state);
    unsigned char digest[DIGEST_BYTES];
    uint64_t step = 0;

    if (num_unhex(db_text(row, 2), digest, sizeof digest) != CODE_OK || num_u64(db_text(row, 3), &step) != CODE_OK ||
        step > PLAN_STEPS_MAX)
        return;
    counting->remembered->steps++;
    counting->remembered->lacks_room |= plan_uses_count(uses, digest, (uint32_t)step, db_text(row, 1), db_int(row, 0),
                                                    counting->now_us) != CODE_OK;
}

static enum code count_steps(struct counting *counting, struct db *db, int64_t last)
{
    struct db_stmt *row = NULL;
    enum code code = db_select(
        db, PLANS, DB_VALUES(db_of_int(last), db_of_int(counting->since_us), db_of_int(counting->after)), &row);

    while (code == CODE_OK && (code = db_step(row)) == CODE_OK)
        count_step(counting, row);
    db_finalize(&row);
    return code == CODE_NOT_FOUND ? CODE_OK : code;
}

static enum code count_plans(struct counting *counting, const char *path, int64_t before_seq, struct why *why)
{
    counting->policy = NULL;
    counting->since_us = counting->after > 0 ? INT64_MIN : counting->now_us - PLAN_LIFE_MAX_US - PLAN_LEEWAY_US;
    return count_trail(counting, path, before_seq, why);
}

/* The time from which windows reach back: the earlier of both clocks, so that setting one forwards forgets nothing. */
int64_t remember__now(const struct gate_shared *shared, const struct remembering *remembering)
{
    int64_t steady_us = clock_monotonic_us() + shared->clock_us;

    return remembering->now_us < steady_us ? remembering->now_us : steady_us;
}

enum code gate_remember_plans(struct gate_shared *shared, const struct remembering *remembering,
                              struct remembered *remembered, struct why *why)
{
    struct counting counting = {.moment = {.state = shared->state}, .remembered = remembered, .stop = remembering->stop,
                                .now_us = remember__now(shared, remembering)};
    enum code code = CODE_OK;

    if (!shared->knows_plans)
        code = count_plans(&counting, remembering->path, INT64_MAX, why);
    shared->knows_plans = code == CODE_OK;
    return code;
}

enum code remember__count(struct gate_state *state, const struct policy *policy, const struct remembering *remembering,
                          const struct remember_range *range, struct remembered *remembered, struct why *why)
{
    struct counting counting = {.moment = {.state = state, .is_recorded = true}, .policy = policy, .remembered = remembered,
                                .now_us = range->now_us, .latest_us = range->latest_us, .stop = remembering->stop,
                                .after = range->after};
    enum code code = count_windows(&counting, remembering->path, range->before, why);

    counting.after = range->after_plans;
    if (code == CODE_OK && remembering->with_plans)
        code = count_plans(&counting, remembering->path, range->before, why);
    return code;
}
