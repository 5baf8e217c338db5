/* SPDX-License-Identifier: Apache-2.0 */
#include "past/recorded.h"

#include "base/buf.h"
#include "base/num.h"
#include "enforce/call.h"
#include "mcp/method.h"
#include "judgement/judgement.h"
#include "policy/match.h"

#include <inttypes.h>

#define CANONICAL_MAX_BYTES ((size_t)256 << 20)
#define TREE_MAX_BYTES ((size_t)1 << 30)
#define ANSWER_DISTANCE 20000 /* rows back in which the question of an answer is looked for */
#define REDACTED_KEY "dev.callgate/redacted"

enum { C_SEQ, C_TIME, C_TENANT, C_PRINCIPAL, C_CLIENT, C_SESSION, C_CORRELATION, C_UPSTREAM, C_DIRECTION, C_METHOD, C_TOOL,
       C_VERDICT, C_REASON, C_RULE, C_VERSION, C_BYTES, C_CUT, C_REDACTED, C_ARGUMENTS, C_BEGIN, C_RPC_ID, C_RULES, C_TARGET,
       C_QUERY, C_PARAMS, C_PARAMS_BYTES, C_QUERY_BYTES, C_GROUPS, C_SCOPES, C_ISSUER, C_CLAIMS, C_CLAIMS_BYTES,
       C_PLAN, C_PLAN_STEP, C_DEFINITION, C_HASH, C_AGENT, C_AGENT_RULE };

/* The trees were read with a message around them, replies with more room. What passed then passes now: keys that differ by
 * case only were looked at with the whole message at hand. */
static const struct json_rules agent_rules = {.max_depth = 64, .max_nodes = 200000, .max_keys = 4096};
static const struct json_rules server_rules = {.max_depth = 128, .max_nodes = 0, .max_keys = 65536};

void recorded_init(struct recorded *recorded)
{
    memset(recorded, 0, sizeof *recorded);
    arena_init(&recorded->arena, TREE_MAX_BYTES);
    buf_init(&recorded->canonical, CANONICAL_MAX_BYTES);
    buf_init(&recorded->others, CANONICAL_MAX_BYTES);
    buf_init(&recorded->applied, CANONICAL_MAX_BYTES);
    buf_init(&recorded->who, CANONICAL_MAX_BYTES);
}

void recorded_fini(struct recorded *recorded)
{
    buf_fini(&recorded->canonical);
    buf_fini(&recorded->others);
    buf_fini(&recorded->applied);
    buf_fini(&recorded->who);
    arena_fini(&recorded->arena);
}

/* ---- what was decided ---- */

static enum verdict_kind verdict_of(struct span text)
{
    if (span_is(text, verdict_text(VERDICT_PERMIT)))
        return VERDICT_PERMIT;
    return span_is(text, verdict_text(VERDICT_HOLD)) ? VERDICT_HOLD : VERDICT_DENY;
}

/* A policy decides, or its place is empty; all else was refused on the way to it. A method that cannot come from its side is
 * refused under the same name as one that no rule knows. */
static enum recorded_kind kind_of(const struct recorded *recorded)
{
    const struct question *question = &recorded->question;
    bool is_pseudo = span_is(question->method, "stream/open") || span_is(question->method, "session/end") ||
                     span_is(question->method, "response") || span_is(question->method, "stream/message");

    if (span_is(question->method, "pass"))
        return recorded->verdict == VERDICT_PERMIT ? RECORDED_UNJUDGED : RECORDED_REFUSED;
    if (question->method.len == 0 || question->tenant.at == NULL)
        return RECORDED_REFUSED;
    if (recorded->reason == REASON_BATCH_DENIED || recorded->reason == REASON_BATCH_ORDER)
        return RECORDED_REFUSED; /* what was asked of the policy was another call, or how they come together */
    if (recorded->reason == REASON_DEFINITION_CHANGED || recorded->reason == REASON_INNER_CALL ||
        recorded->reason == REASON_STOPPED || recorded->reason == REASON_SERVER_UNKNOWN)
        return RECORDED_REFUSED; /* whatever the policy said of the call */
    if (recorded->reason == REASON_METHOD_UNKNOWN && !is_pseudo &&
        !mcp_method_may_come(mcp_method_find(question->method, NULL), recorded->from_server))
        return RECORDED_REFUSED;
    if (recorded->reason == REASON_PERMITTED || recorded->reason == REASON_NO_POLICY || recorded->reason == REASON_MEMORY ||
        recorded->reason == REASON_INTERNAL || reason_blame(recorded->reason) == BLAME_POLICY)
        return RECORDED_JUDGED;
    return RECORDED_REFUSED;
}

/* ---- what was asked ---- */

/* Behind the id of a permit that a person has let go beyond its limit. */
#define OVER_APPROVED "\",\"effect\":\"permit\",\"monitor\":false,\"limited\":true,\"approval\":"

static enum code copy_session(struct recorded *recorded, struct db_stmt *row)
{
    struct span digest = db_blob(row, C_SESSION);
    char *hex;

    if (digest.at == NULL)
        return CODE_OK;
    hex = arena_alloc(&recorded->arena, digest.len * 2);
    if (hex == NULL)
        return CODE_NOMEM;
    num_hex((const unsigned char *)digest.at, digest.len, hex);
    recorded->question.session = span_of(hex, digest.len * 2);
    return CODE_OK;
}

static enum code copy_texts(struct recorded *recorded, struct db_stmt *row)
{
    struct question *question = &recorded->question;
    const struct {
        int column;
        struct span *text;
    } texts[] = {
        {C_TENANT, &question->tenant}, {C_PRINCIPAL, &question->principal}, {C_AGENT, &question->agent},
        {C_CLIENT, &question->client},
        {C_CORRELATION, &question->correlation}, {C_UPSTREAM, &question->upstream}, {C_METHOD, &question->method},
        {C_TARGET, &question->path}, {C_QUERY, &question->query},
        {C_TOOL, &recorded->target}, {C_RULE, &recorded->rule}, {C_AGENT_RULE, &recorded->agent_rule},
        {C_REASON, &recorded->reason_text},
        {C_BEGIN, &recorded->beginning}, {C_HASH, &recorded->policy_hash},
    };
    enum code code = copy_session(recorded, row);

    for (size_t i = 0; i < sizeof texts / sizeof texts[0] && code == CODE_OK; i++)
        code = arena_keep(&recorded->arena, db_text(row, texts[i].column), texts[i].text);
    if (code == CODE_OK)
        code = arena_keep(&recorded->arena, db_text(row, C_RULES), &recorded->rules);
    recorded->approved = recorded->verdict == VERDICT_PERMIT &&
                         (span_holds(recorded->rules, SPAN_LIT("\"effect\":\"require_approval\",\"monitor\":false")) ||
                          span_holds(recorded->rules, SPAN_LIT(OVER_APPROVED)));
    question->is_agent_judged = recorded->agent_rule.at != NULL;
    call_aim(question, recorded->target);
    return code;
}

/* ---- what is hidden ---- */

static bool is_stand_in(const struct json_node *node)
{
    return node->type == JSON_OBJECT && node->count == 1 && node->child->type == JSON_STRING &&
           span_is(node->child->key, REDACTED_KEY);
}

/* In document order. Takes: nodes NULL: only counted. */
static uint32_t list_stand_ins(const struct json_node *node, const struct json_node **nodes, uint32_t count)
{
    if (is_stand_in(node)) {
        if (nodes != NULL)
            nodes[count] = node;
        return count + 1;
    }
    for (const struct json_node *child = node->child; child != NULL; child = child->next)
        count = list_stand_ins(child, nodes, count);
    return count;
}

bool recorded_has_stand_in(const struct json_node *root)
{
    return list_stand_ins(root, NULL, 0) > 0;
}

/* Behind what is hidden already. */
static enum code hide_stand_ins(struct recorded *recorded, const struct json_node *root)
{
    struct question_hidden *hidden = &recorded->hidden;
    uint32_t count = list_stand_ins(root, NULL, hidden->count);
    const struct json_node **nodes = arena_alloc(&recorded->arena, (count + 1) * sizeof *nodes);

    if (nodes == NULL)
        return CODE_NOMEM;
    if (hidden->count > 0)
        memcpy(nodes, hidden->nodes, hidden->count * sizeof *nodes);
    (void)list_stand_ins(root, nodes, hidden->count);
    if (count > hidden->count && recorded->lack == RECORDED_WHOLE)
        recorded->lack = RECORDED_REDACTED;
    hidden->nodes = nodes;
    hidden->count = count;
    return CODE_OK;
}

/* Nothing is known of it but that it was there. */
static void hide_all(struct recorded *recorded, enum recorded_lack lack)
{
    static const struct json_node nothing = {.type = JSON_NONE};
    static const struct json_node *const everything[] = {&nothing};

    recorded->question.root = &nothing;
    recorded->hidden.nodes = everything;
    recorded->hidden.count = 1;
    recorded->lack = lack;
}

static bool asks_arguments(struct span method)
{
    return span_is(method, "tools/call") || span_is(method, "prompts/get");
}

static enum code read_arguments(struct recorded *recorded, struct db_stmt *row)
{
    struct question *question = &recorded->question;
    struct json_fault fault = {0};
    enum code code;

    recorded->arguments_bytes = db_is_null(row, C_BYTES) ? -1 : db_int(row, C_BYTES);
    if (db_is_null(row, C_ARGUMENTS)) {
        if (db_int(row, C_CUT) != 0)
            hide_all(recorded, RECORDED_CUT);
        else if (recorded->arguments_bytes >= 0)
            hide_all(recorded, RECORDED_ERASED);
        return CODE_OK;
    }
    code = json_read(db_text(row, C_ARGUMENTS), recorded->from_server ? &server_rules : &agent_rules, &recorded->canonical,
                     &recorded->arena, &question->root, &fault);
    recorded->arguments = code == CODE_OK ? buf_peek(&recorded->canonical) : SPAN_NONE;
    if (code == CODE_NOMEM)
        return code;
    if (code != CODE_OK)
        hide_all(recorded, RECORDED_DAMAGED);
    return code == CODE_OK && db_int(row, C_REDACTED) != 0 ? hide_stand_ins(recorded, question->root) : CODE_OK;
}

/* What is cut, redacted whole or erased says nothing: conditions that ask for it are guessed. */
static enum code read_params(struct recorded *recorded, struct db_stmt *row)
{
    struct question *question = &recorded->question;
    struct json_fault fault = {0};
    struct span text = db_text(row, C_PARAMS);
    enum code code;

    recorded->hidden.meta = text.at != NULL || !db_is_null(row, C_PARAMS_BYTES);
    if (text.at == NULL || (int64_t)text.len < db_int(row, C_PARAMS_BYTES))
        return CODE_OK;
    code = json_read(text, &agent_rules, &recorded->others, &recorded->arena, &question->params, &fault);
    if (code == CODE_NOMEM)
        return code;
    if (code != CODE_OK || question->params->type != JSON_OBJECT || is_stand_in(question->params)) {
        question->params = NULL;
        return CODE_OK;
    }
    recorded->hidden.meta = false;
    return db_int(row, C_REDACTED) != 0 ? hide_stand_ins(recorded, question->params) : CODE_OK;
}

/* A list of names; what was cut off it is told by a number at its end. Returns: CODE_OK, also for what is damaged: nothing
 * is known of it then. */
static enum code read_held(struct recorded *recorded, struct span text, const struct span **names, uint32_t *count,
                           enum dimension dimension)
{
    const struct json_node *list = NULL;
    struct json_fault fault;
    struct span *own;
    enum code code;
    bool hidden;

    if (text.at == NULL)
        return CODE_OK;
    buf_clear(&recorded->who);
    code = json_read(text, &json_file_rules, &recorded->who, &recorded->arena, &list, &fault);
    if (code == CODE_NOMEM)
        return code;
    hidden = code != CODE_OK || list->type != JSON_ARRAY;
    own = hidden ? NULL : arena_alloc(&recorded->arena, (list->count + 1) * sizeof *own);
    if (!hidden && own == NULL)
        return CODE_NOMEM;
    *names = own;
    for (const struct json_node *one = own != NULL ? list->child : NULL; one != NULL; one = one->next) {
        const char *name = one->type == JSON_STRING ? arena_dup(&recorded->arena, one->text.at, one->text.len) : NULL;

        if (name == NULL && one->type == JSON_STRING)
            return CODE_NOMEM;
        if (name != NULL)
            own[(*count)++] = span_of(name, one->text.len);
        else
            hidden = true;
    }
    recorded->hidden.names |= (uint32_t)hidden << dimension;
    return CODE_OK;
}

/* A token's claims were recorded as far as the policy of then asked for them; who came without a token has none. */
static enum code read_who(struct recorded *recorded, struct db_stmt *row)
{
    struct question *question = &recorded->question;
    struct question_hidden *hidden = &recorded->hidden;
    struct span claims = db_text(row, C_CLAIMS);
    struct json_fault fault;
    enum code code = read_held(recorded, db_text(row, C_GROUPS), &question->groups, &question->group_count, DIM_GROUP);

    if (code == CODE_OK)
        code = read_held(recorded, db_text(row, C_SCOPES), &question->scopes, &question->scope_count, DIM_SCOPE);
    hidden->claims = !db_is_null(row, C_ISSUER) || !db_is_null(row, C_CLAIMS_BYTES);
    buf_clear(&recorded->who);
    if (code == CODE_OK && claims.at != NULL && (int64_t)claims.len >= db_int(row, C_CLAIMS_BYTES))
        code = json_read(claims, &json_file_rules, &recorded->who, &recorded->arena, &question->claims, &fault);
    return code == CODE_NOMEM ? code : CODE_OK;
}

static void read_query(struct recorded *recorded, struct db_stmt *row)
{
    struct question *question = &recorded->question;
    bool is_redacted = db_int(row, C_REDACTED) != 0 && span_starts_with(question->query, SPAN_LIT("{\"" REDACTED_KEY "\":"));

    recorded->query_unknown = is_redacted || (question->query.at == NULL && db_int(row, C_QUERY_BYTES) > 0);
    if (is_redacted)
        question->query = SPAN_NONE;
}

/* Which step of which plan it was was settled by a signature and by what was used before: that stands. */
static void read_plan(struct recorded *recorded, struct db_stmt *row)
{
    struct question_plan *plan = &recorded->question.plan;
    uint64_t step = 0;

    if (!db_is_null(row, C_PLAN_STEP) && num_u64(db_text(row, C_PLAN_STEP), &step) == CODE_OK && step <= UINT32_MAX)
        plan->step = (uint32_t)step;
    else if (recorded->reason >= REASON_PLAN_REQUIRED && recorded->reason <= REASON_PLAN_ORDER)
        plan->why = recorded->reason;
    else if (!db_is_null(row, C_PLAN))
        plan->why = REASON_PLAN_STEP;
}

const struct definition *recorded_definition(const struct recorded *recorded, const struct definition_set *set)
{
    const struct question *question = &recorded->question;

    if (!recorded->has_definition)
        return NULL;
    return definition_set_accepted(set, question->upstream, question->tool, recorded->definition);
}

/* What sums counted then, though the values may be lost. */
static enum code read_spent(struct recorded *recorded)
{
    struct json_fault fault;
    enum code code = CODE_OK;

    if (span_holds(recorded->rules, SPAN_LIT("\"spent\":")))
        code = json_read(recorded->rules, &json_file_rules, &recorded->applied, &recorded->arena, &recorded->hidden.rules,
                         &fault);
    return code == CODE_NOMEM ? code : CODE_OK;
}

static void settle_hidden(struct recorded *recorded)
{
    struct question *question = &recorded->question;

    recorded->hidden.hints = span_is(question->method, "tools/call");
    if (asks_arguments(question->method)) {
        question->meta = json_member(question->params, SPAN_LIT("_meta"));
    } else if (recorded->lack == RECORDED_WHOLE || recorded->lack == RECORDED_REDACTED) {
        question->meta = question->root != NULL ? json_member(question->root, SPAN_LIT("_meta")) : NULL;
        recorded->hidden.meta = question->root != NULL && is_stand_in(question->root) && recorded->hidden.count > 0;
    } else {
        recorded->hidden.meta = true;
    }
    if (recorded->hidden.count > 0 || recorded->hidden.meta || recorded->hidden.hints || recorded->hidden.claims ||
        recorded->hidden.names != 0)
        question->hidden = &recorded->hidden;
}

/* ---- the question of an answer ---- */

/* The gate recorded the server's request before it delivered it: same session, same id. */
static enum code find_answered(struct recorded *recorded, struct db *db, struct db_stmt *row)
{
    struct question *question = &recorded->question;
    struct db_stmt *stmt;
    int64_t seq = (int64_t)recorded->seq;
    enum code code = db_find(db, "SELECT method FROM decision WHERE seq < ?1 AND seq >= ?2 AND direction = 'server' "
                             "AND verdict = 'permit' AND method <> 'stream/message' AND rpc_id = ?3 AND tenant IS ?4 "
                             "AND principal IS ?5 AND upstream IS ?6 AND session IS ?7 ORDER BY seq DESC LIMIT 1",
                             DB_VALUES(db_of_int(seq), db_of_int(seq - ANSWER_DISTANCE), db_of_text(db_text(row, C_RPC_ID)),
                                       db_of_text(question->tenant), db_of_text(question->principal),
                                       db_of_text(question->upstream), db_of_blob(db_blob(row, C_SESSION))), &stmt);

    recorded->answers_unknown = code != CODE_OK;
    if (code == CODE_OK)
        code = arena_keep(&recorded->arena, db_text(stmt, 0), &question->answers);
    db_finalize(&stmt);
    return code == CODE_NOT_FOUND ? CODE_OK : code;
}

/* ---- a row ---- */

enum code recorded_read(struct recorded *recorded, struct db *db, struct db_stmt *row)
{
    struct arena arena = recorded->arena;
    struct buf canonical = recorded->canonical, others = recorded->others, applied = recorded->applied, who = recorded->who;
    enum code code;

    arena_reset(&arena);
    buf_clear(&canonical);
    buf_clear(&others);
    buf_clear(&applied);
    buf_clear(&who);
    *recorded = (struct recorded){
        .arena = arena, .canonical = canonical, .others = others, .applied = applied, .who = who,
        .arguments_bytes = -1};
    recorded->seq = recorded->hidden.number = (uint64_t)db_int(row, C_SEQ);
    recorded->question.time_us = db_int(row, C_TIME);
    recorded->from_server = span_is(db_text(row, C_DIRECTION), "server");
    recorded->verdict = verdict_of(db_text(row, C_VERDICT));
    recorded->reason = reason_named(db_text(row, C_REASON));
    recorded->policy_version = (uint64_t)db_int(row, C_VERSION);
    code = copy_texts(recorded, row);
    if (code == CODE_OK)
        code = read_arguments(recorded, row);
    if (code == CODE_OK)
        code = read_params(recorded, row);
    if (code == CODE_OK)
        code = read_who(recorded, row);
    if (code == CODE_OK)
        code = read_spent(recorded);
    if (code != CODE_OK)
        return code;
    read_query(recorded, row);
    recorded->has_definition = num_unhex(db_text(row, C_DEFINITION), recorded->definition, DIGEST_BYTES) == CODE_OK;
    read_plan(recorded, row);
    recorded->kind = kind_of(recorded);
    settle_hidden(recorded);
    if (recorded->kind == RECORDED_JUDGED && span_is(recorded->question.method, "response"))
        code = find_answered(recorded, db, row);
    return code;
}

enum code recorded_find(struct recorded *recorded, struct db *db, uint64_t seq, struct why *why)
{
    struct db_stmt *stmt;
    enum code code = db_find(db, RECORDED_SELECT "WHERE seq = ?1", DB_VALUES(db_of_int(seq <= INT64_MAX ? (int64_t)seq : -1)),
                             &stmt);

    if (code == CODE_OK)
        code = recorded_read(recorded, db, stmt);
    else if (code == CODE_NOT_FOUND)
        (void)why_set(why, code, "there is no decision %" PRIu64 "; `callgate audit query` shows the numbers", seq);
    db_finalize(&stmt);
    if (code != CODE_OK && code != CODE_NOT_FOUND)
        (void)why_set(why, code, "%s", code == CODE_NOMEM ? "not enough memory" : db_error(db));
    return code;
}

/* Whether the rule applied with these words behind its id, which needs no escape in JSON. */
static bool applied_as(const struct recorded *recorded, struct span rule, const char *after)
{
    static const char before[] = "{\"id\":\"";
    struct span rest = recorded->rules;
    const char *found;

    while (rest.len > 0 && (found = memmem(rest.at, rest.len, before, sizeof before - 1)) != NULL) {
        rest = span_part(rest, (size_t)(found - rest.at) + sizeof before - 1, SIZE_MAX);
        if (span_starts_with(rest, rule) && span_starts_with(span_part(rest, rule.len, SIZE_MAX), span_text(after)))
            return true;
    }
    return false;
}

/* A rule that permitted as a permit was approved by nobody, but for what was over its limit. */
static bool was_granted(const struct recorded *recorded, struct span rule)
{
    return applied_as(recorded, rule, "\",\"effect\":\"require_approval\",\"monitor\":false") ||
           applied_as(recorded, rule, OVER_APPROVED) ||
           (span_equals(recorded->rule, rule) && !applied_as(recorded, rule, "\",\"effect\":\"permit\""));
}

enum policy_known recorded_granted(const struct recorded *recorded, struct span rule)
{
    if (recorded->verdict == VERDICT_PERMIT)
        return was_granted(recorded, rule) ? POLICY_YES : POLICY_UNKNOWN;
    return recorded->reason == REASON_APPROVAL_REFUSED && span_equals(recorded->rule, rule) ? POLICY_NO : POLICY_UNKNOWN;
}

bool recorded_guess(struct recorded *recorded, const struct question *question, const struct policy *policy,
                    struct policy_scratch *scratch, struct verdict *verdict, enum verdict_kind *otherwise)
{
    recorded->hidden.favours_permit = recorded->verdict != VERDICT_PERMIT;
    policy_eval(policy, question, false, scratch, verdict);
    *otherwise = verdict->kind;
    recorded->hidden.favours_permit = !recorded->hidden.favours_permit;
    policy_eval(policy, question, false, scratch, verdict);
    return *otherwise != verdict->kind;
}

const char *recorded_lack_text(enum recorded_lack lack)
{
    switch (lack) {
    case RECORDED_WHOLE: return "whole";
    case RECORDED_REDACTED: return "redacted";
    case RECORDED_CUT: return "cut";
    case RECORDED_ERASED: return "erased";
    case RECORDED_NOT_KEPT: return "not kept";
    case RECORDED_DAMAGED:
    case RECORDED_LACKS: break;
    }
    return "damaged";
}

/* ---- rows of a range ---- */

enum code recorded_range_prepare(struct db *db, const struct recorded_range *range, struct db_stmt **stmt)
{
    struct buf sql;
    enum code code;

    buf_init(&sql, 2048);
    buf_add_text(&sql, RECORDED_SELECT "WHERE seq BETWEEN ?1 AND ?2 AND time_us >= ?3 AND time_us < ?4");
    if (range->tenant.at != NULL)
        buf_add_text(&sql, " AND tenant = ?5");
    if (range->upstream.at != NULL)
        buf_add_text(&sql, " AND upstream = ?6");
    if (range->tool.at != NULL)
        buf_add_text(&sql, " AND tool = ?7");
    if (range->permitted)
        buf_add_text(&sql, " AND verdict = 'permit'");
    code = buf_add(&sql, " ORDER BY seq", sizeof " ORDER BY seq"); /* with its NUL */
    if (code == CODE_OK)
        code = db_prepare(db, buf_peek(&sql).at, stmt);
    buf_fini(&sql);
    return code;
}

void recorded_range_bind(struct db_stmt *stmt, const struct recorded_range *range, int64_t first, int64_t last)
{
    db_bind_int(stmt, 1, first);
    db_bind_int(stmt, 2, last);
    db_bind_int(stmt, 3, range->since_us != 0 ? range->since_us : INT64_MIN);
    db_bind_int(stmt, 4, range->until_us != 0 ? range->until_us : INT64_MAX);
    if (range->tenant.at != NULL)
        db_bind_text(stmt, 5, range->tenant);
    if (range->upstream.at != NULL)
        db_bind_text(stmt, 6, range->upstream);
    if (range->tool.at != NULL)
        db_bind_text(stmt, 7, range->tool);
}
