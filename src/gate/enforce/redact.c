/* SPDX-License-Identifier: Apache-2.0 */
#include "enforce/answer.h"
#include "enforce/gate_priv.h"

#include "base/ascii.h"
#include "base/num.h"
#include "base/utf8.h"
#include "judgement/judgement.h"

#include <ctype.h>
#include <stdio.h>

#define NAMED_TEXT_BYTES 4096 /* where the names do not fit, only "$" is named */

enum code gate__record_text_init(struct record_text *text)
{
    char *at;

    buf_init(&text->rules, RULES_TEXT_BYTES);
    buf_init(&text->monitor, MONITOR_TEXT_BYTES);
    buf_init(&text->groups, HELD_TEXT_BYTES);
    buf_init(&text->scopes, HELD_TEXT_BYTES);
    buf_init(&text->client, 4 * (6 * CLIENT_SAYS_BYTES + 32));
    buf_init(&text->claims, SIZE_MAX / 2);
    buf_init(&text->arguments, SIZE_MAX / 2);
    buf_init(&text->params, SIZE_MAX / 2);
    buf_init(&text->bound, SIZE_MAX / 2);
    buf_init(&text->named, NAMED_TEXT_BYTES);
    if (buf_reserve(&text->rules, RULES_TEXT_BYTES, &at) != CODE_OK ||
        buf_reserve(&text->groups, HELD_TEXT_BYTES, &at) != CODE_OK ||
        buf_reserve(&text->scopes, HELD_TEXT_BYTES, &at) != CODE_OK ||
        buf_reserve(&text->monitor, MONITOR_TEXT_BYTES, &at) != CODE_OK)
        return CODE_NOMEM;
    return CODE_OK;
}

void gate__record_text_fini(struct record_text *text)
{
    buf_fini(&text->rules);
    buf_fini(&text->monitor);
    buf_fini(&text->groups);
    buf_fini(&text->scopes);
    buf_fini(&text->client);
    buf_fini(&text->claims);
    buf_fini(&text->arguments);
    buf_fini(&text->params);
    buf_fini(&text->bound);
    buf_fini(&text->named);
}

/* Writes what sums count of the call, each path once. A start reads it here, since arguments may be cut, redacted or erased. */
static void add_spent(struct buf *out, const struct verdict_spent *spent)
{
    const char *before = ",\"spent\":{";

    for (const struct policy_limit *limit = spent->limit; limit != NULL; limit = limit->next) {
        const struct policy_limit *first = spent->limit;

        while (first != limit && (first->kind != LIMIT_SUM || !span_equals(first->path_text, limit->path_text)))
            first = first->next;
        if (limit->kind != LIMIT_SUM || first != limit)
            continue;
        buf_add_text(out, before);
        json_write_string(out, limit->path_text);
        buf_add_byte(out, ':');
        policy_write_millionths(out, spent->amount[limit->at]);
        before = ",";
    }
    if (*before == ',' && before[1] == '\0')
        buf_add_byte(out, '}');
}

/* Takes: spent: what the rule's limits count; NULL: nothing. */
static enum code add_rule(struct buf *out, const struct verdict_rule *rule, int64_t approval, const struct verdict_spent *spent)
{
    buf_add_text(out, buf_len(out) > 1 ? ",{\"id\":" : "{\"id\":");
    json_write_string(out, rule->id);
    buf_add_text(out, ",\"effect\":\"");
    buf_add_text(out, effect_text(rule->effect));
    buf_add_text(out, rule->monitor ? "\",\"monitor\":true" : "\",\"monitor\":false");
    if (rule->limited)
        buf_add_text(out, ",\"limited\":true");
    if (approval != 0)
        buf_addf(out, ",\"approval\":%lld", (long long)approval);
    if (spent != NULL)
        add_spent(out, spent);
    return buf_add_byte(out, '}');
}

/* The approval that the call takes for this rule; 0: none. */
static int64_t approval_of(const struct verdict *verdict, const struct approval_marks *taken, struct span rule)
{
    if (verdict->kind != VERDICT_PERMIT)
        return 0;
    for (uint32_t i = 0; i < verdict->approval_count && i < taken->count; i++)
        if (span_equals(verdict->approvals[i].rule, rule))
            return taken->mark[i].number;
    return 0;
}

/* Whether the call takes of the rule's limits. */
static bool spends(const struct verdict *verdict, struct span rule)
{
    for (unsigned i = 0; i < HALF_COUNT && verdict->kind == VERDICT_PERMIT; i++)
        if (verdict->spent[i].limit != NULL && span_equals(verdict->spent[i].limit->rule, rule))
            return true;
    return false;
}

#define RULES_TAIL_BYTES 32 /* `,{"more":4294967295}]` */

/* Returns: whether it was written; where it does not fit, nothing of it is. */
static bool write_rule(struct buf *out, const struct verdict_rule *rule, int64_t approval, const struct verdict_spent *spent)
{
    struct buf_mark before = buf_mark(out);

    if (add_rule(out, rule, approval, spent) == CODE_OK && buf_room(out) >= RULES_TAIL_BYTES)
        return true;
    buf_rewind(out, before);
    return false;
}

/* Writes the rules first that a person approved or whose limits are taken. Should the gate die, this text alone says that
 * an approval is used up or an amount spent. */
static uint32_t write_taken(struct buf *out, const struct verdict *verdict, const struct approval_marks *taken)
{
    uint32_t written = 0;

    for (uint32_t i = 0; i < verdict->approval_count; i++) {
        struct verdict_rule rule = {.id = verdict->approvals[i].rule, .effect = EFFECT_REQUIRE_APPROVAL};
        int64_t approval = approval_of(verdict, taken, rule.id);

        if (approval != 0 && !spends(verdict, rule.id))
            written += write_rule(out, &rule, approval, NULL);
    }
    for (unsigned i = 0; i < HALF_COUNT && verdict->kind == VERDICT_PERMIT; i++) {
        const struct verdict_spent *spent = &verdict->spent[i];
        struct verdict_rule rule = {.effect = EFFECT_PERMIT, .limited = spent->beyond};

        if (spent->limit == NULL)
            continue;
        rule.id = spent->limit->rule;
        written += write_rule(out, &rule, approval_of(verdict, taken, rule.id), spent);
    }
    return written;
}

struct span gate__rules_text(struct record_text *text, const struct verdict *verdict, const struct approval_marks *taken)
{
    struct buf *out = &text->rules;
    uint32_t named = verdict->rule_count < VERDICT_RULES_MAX ? verdict->rule_count : VERDICT_RULES_MAX;
    uint32_t written;

    buf_clear(out);
    if (buf_add_byte(out, '[') != CODE_OK)
        return SPAN_LIT("[]");
    written = write_taken(out, verdict, taken);
    for (uint32_t i = 0; i < named; i++) {
        const struct verdict_rule *rule = &verdict->rules[i];

        if (approval_of(verdict, taken, rule->id) != 0 || spends(verdict, rule->id))
            continue;
        if (!write_rule(out, rule, 0, NULL))
            break;
        written++;
    }
    if (written < verdict->rule_count &&
        buf_addf(out, "%s{\"more\":%u}", written > 0 ? "," : "", verdict->rule_count - written) != CODE_OK)
        return SPAN_LIT("[]");
    return buf_add_byte(out, ']') == CODE_OK ? buf_peek(out) : SPAN_LIT("[]");
}

static enum code add_monitor(struct buf *out, const struct verdict *verdict)
{
    buf_addf(out, "{\"verdict\":\"%s\",\"rule\":", verdict_text(verdict->monitor_kind));
    if (verdict->monitor_rule.at == NULL)
        buf_add_text(out, "null");
    else
        json_write_string(out, verdict->monitor_rule);
    return buf_add_byte(out, '}');
}

struct span gate__monitor_text(struct record_text *text, const struct verdict *verdict)
{
    if (!verdict->has_monitor)
        return SPAN_NONE;
    buf_clear(&text->monitor);
    if (add_monitor(&text->monitor, verdict) != CODE_OK) /* the rule's id is too long */
        return SPAN_LIT("{}");
    return buf_peek(&text->monitor);
}

#define HELD_TAIL_BYTES 16 /* `,4294967295]` */

struct span gate__held_text(struct buf *out, const struct span *names, uint32_t count)
{
    uint32_t written = 0;

    if (count == 0)
        return SPAN_NONE;
    buf_clear(out);
    buf_add_byte(out, '[');
    for (; written < count; written++) {
        struct buf_mark before = buf_mark(out);

        buf_add_text(out, written > 0 ? "," : "");
        if (json_write_string(out, names[written]) == CODE_OK && buf_room(out) >= HELD_TAIL_BYTES)
            continue;
        buf_rewind(out, before);
        buf_addf(out, "%s%u", written > 0 ? "," : "", count - written);
        break;
    }
    return buf_add_byte(out, ']') == CODE_OK ? buf_peek(out) : SPAN_NONE;
}

struct span gate__claims_text(struct record_text *text, const struct policy *policy, const struct json_node *claims)
{
    if (claims == NULL || policy == NULL || !policy_asks_claims(policy))
        return SPAN_NONE;
    buf_clear(&text->claims);
    return policy_claims_write(policy, claims, &text->claims) == CODE_OK ? buf_peek(&text->claims) : SPAN_LIT("{}");
}

/* The name that initialize gives, or from 2026-07-28 on each request. */
static const struct json_node *client_info(const struct question *asked)
{
    return span_is(asked->method, "initialize") ? json_member(asked->root, SPAN_LIT("clientInfo"))
                                                : json_member(asked->meta, SPAN_LIT("io.modelcontextprotocol/clientInfo"));
}

static void add_said(struct buf *out, const char *name, struct span said)
{
    if (said.len == 0)
        return;
    buf_add_text(out, buf_len(out) > 1 ? ",\"" : "\"");
    buf_add_text(out, name);
    buf_add_text(out, "\":");
    (void)json_write_string(out, utf8_cut(said, CLIENT_SAYS_BYTES));
}

struct span gate__client_text(struct record_text *text, const struct call *call, bool is_redacted)
{
    static const char *const names[] = {"name", "title", "version"};
    const struct json_node *info = is_redacted ? NULL : client_info(&call->asked);

    if (info == NULL && call->user_agent.len == 0)
        return SPAN_NONE;
    buf_clear(&text->client);
    buf_add_byte(&text->client, '{');
    for (size_t i = 0; info != NULL && i < sizeof names / sizeof names[0]; i++)
        add_said(&text->client, names[i], json_member_text(info, names[i]));
    if (ascii_is_all(call->user_agent, " -~"))
        add_said(&text->client, "user_agent", call->user_agent);
    buf_add_byte(&text->client, '}');
    return buf_code(&text->client) == CODE_OK && buf_len(&text->client) > 2 ? buf_peek(&text->client) : SPAN_NONE;
}

/* Writes what stands for a redacted value. Only who holds the key can tell whether two values were equal. */
static struct span redacted_value(char out[REDACTED_TEXT_BYTES], const unsigned char key[DIGEST_BYTES], struct span value)
{
    unsigned char mac[DIGEST_BYTES];
    char hex[2 * DIGEST_BYTES];
    int len;

    hmac_of(span_of(key, DIGEST_BYTES), value, mac);
    num_hex(mac, sizeof mac, hex);
    len = snprintf(out, REDACTED_TEXT_BYTES, "{\"dev.callgate/redacted\":\"hmac-sha256:%.*s\"}",
                   (int)sizeof hex, hex);
    return span_of(out, (size_t)len);
}

struct stand_ins {
    struct record_text *text;
    const unsigned char *key;
    const struct json_node *const *values;
    uint32_t count, done;
};

/* Copies canonical bytes with each redacted value replaced. The values are in document order, those before `whole` are done,
 * and a value inside one that was replaced is passed over. */
static enum code replace_values(struct stand_ins *in, struct span whole, struct buf *out)
{
    const char *cursor = whole.at, *end = whole.at + whole.len;

    for (; in->done < in->count; in->done++) {
        struct span value = in->values[in->done]->raw;
        enum code code;

        if (value.at >= end)
            break;
        if (value.at < whole.at || value.at + value.len > end)
            return CODE_INVALID;
        if (value.at < cursor)
            continue;
        code = buf_add(out, cursor, (size_t)(value.at - cursor));
        if (code == CODE_OK)
            code = buf_add_span(out, redacted_value(in->text->redacted, in->key, value));
        if (code != CODE_OK)
            return code;
        cursor = value.at + value.len;
    }
    return buf_add(out, cursor, (size_t)(end - cursor));
}

struct span gate__arguments_text(struct record_text *text, const unsigned char key[DIGEST_BYTES],
                                 const struct json_node *root, const struct verdict *verdict, bool *redacted)
{
    struct stand_ins in = {.text = text, .key = key, .values = verdict->redact, .count = verdict->redact_count};

    if (root == NULL)
        return SPAN_NONE;
    if (!verdict->redact_all && verdict->redact_count == 0)
        return root->raw;
    *redacted = true;
    buf_clear(&text->arguments);
    /* Each stand-in costs a digest and a hundred bytes, so an agent may not choose how many there are. */
    if (!verdict->redact_all && in.count <= REDACTED_MAX && replace_values(&in, root->raw, &text->arguments) == CODE_OK &&
        in.done == in.count)
        return buf_peek(&text->arguments);
    return redacted_value(text->redacted, key, root->raw);
}

static enum code add_key(struct buf *out, const char *before, const struct json_node *member)
{
    buf_add_text(out, before);
    json_write_string(out, member->key);
    return buf_add_byte(out, ':');
}

/* Copies member by member: only members have bytes of the message; the object was made for the record. */
static enum code replace_members(struct stand_ins *in, const struct json_node *params, struct buf *out)
{
    enum code code = CODE_OK;

    for (const struct json_node *member = params->child; member != NULL && code == CODE_OK; member = member->next) {
        code = add_key(out, member == params->child ? "{" : ",", member);
        if (code == CODE_OK)
            code = replace_values(in, member->raw, out);
    }
    return code == CODE_OK ? buf_add_byte(out, '}') : code;
}

struct span gate__params_text(struct record_text *text, const unsigned char key[DIGEST_BYTES],
                              const struct json_node *params, const struct verdict *verdict, bool *redacted)
{
    struct stand_ins in = {.text = text, .key = key, .values = verdict->redact_params, .count = verdict->redact_param_count};

    if (params == NULL)
        return SPAN_NONE;
    if (!verdict->redact_all && in.count == 0)
        return params->raw;
    *redacted = true;
    buf_clear(&text->params);
    if (!verdict->redact_all && in.count <= REDACTED_MAX &&
        replace_members(&in, params, &text->params) == CODE_OK && in.done == in.count)
        return buf_peek(&text->params);
    return redacted_value(text->no_params, key, params->raw);
}

struct span gate__query_text(struct record_text *text, const unsigned char key[DIGEST_BYTES], struct span query,
                             const struct verdict *verdict, bool *redacted)
{
    if (query.len == 0 || (!verdict->redact_all && !verdict->redact_query))
        return query;
    *redacted = true;
    return redacted_value(text->no_query, key, query);
}

/* ---- the names of what is redacted ---- */

struct naming {
    const struct json_node *const *left; /* in document order */
    uint32_t count;
    struct buf path, *out;
};

static void add_name(struct buf *out, struct span path)
{
    buf_add_byte(out, buf_len(out) > 1 ? ',' : '[');
    json_write_string(out, path);
}

/* Adds a step as paths of a policy are written: a name that is no word stands in brackets. */
static void add_step(struct buf *path, struct span key, uint32_t index, bool is_member)
{
    bool is_word = key.len > 0;

    for (size_t i = 0; i < key.len; i++)
        is_word = is_word && (isalnum((unsigned char)key.at[i]) || key.at[i] == '_');
    if (is_word) {
        buf_add_byte(path, '.');
        buf_add_span(path, key);
    } else if (is_member) {
        buf_add_byte(path, '[');
        json_write_string(path, key);
        buf_add_byte(path, ']');
    } else {
        buf_addf(path, "[%u]", index);
    }
}

static void name_values(struct naming *naming, const struct json_node *node)
{
    const char *end = node->raw.at + node->raw.len;
    uint32_t index = 0;

    if (naming->count > 0 && (*naming->left)->raw.at == node->raw.at && (*naming->left)->raw.len == node->raw.len) {
        add_name(naming->out, buf_peek(&naming->path));
        for (; naming->count > 0 && (*naming->left)->raw.at < end; naming->left++)
            naming->count--; /* also skips the values inside it */
        return;
    }
    for (const struct json_node *member = node->child; member != NULL; member = member->next, index++) {
        struct buf_mark mark = buf_mark(&naming->path);

        if (naming->count == 0 || (*naming->left)->raw.at >= end)
            return;
        add_step(&naming->path, member->key, index, node->type == JSON_OBJECT);
        if (buf_code(&naming->path) == CODE_OK)
            name_values(naming, member);
        else
            buf_fail(naming->out, CODE_LIMIT);
        buf_rewind(&naming->path, mark);
    }
}

struct span gate__redacted_text(struct record_text *text, const struct call *call)
{
    const struct verdict *verdict = &call->verdict;
    struct naming naming = {.left = verdict->redact, .count = verdict->redact_count, .out = &text->named};
    bool all = verdict->redact_all || verdict->redact_count > REDACTED_MAX;

    buf_clear(&text->named);
    buf_init(&naming.path, NAMED_TEXT_BYTES / 4);
    buf_add_byte(&naming.path, '$');
    if (call->asked.root != NULL && all)
        add_name(&text->named, SPAN_LIT("$"));
    else if (call->asked.root != NULL && buf_code(&naming.path) == CODE_OK)
        name_values(&naming, call->asked.root);
    if (call->asked.query.len > 0 && (verdict->redact_all || verdict->redact_query))
        add_name(&text->named, SPAN_LIT("query"));
    if (call->asked.params != NULL && (verdict->redact_all || verdict->redact_param_count > 0))
        add_name(&text->named, SPAN_LIT("params"));
    buf_fini(&naming.path);
    if (buf_code(&text->named) == CODE_OK && buf_is_empty(&text->named))
        return SPAN_NONE;
    return buf_add_byte(&text->named, ']') == CODE_OK ? buf_peek(&text->named) : SPAN_LIT("[\"$\"]");
}

void gate__keep_redacted(struct gate *gate, struct call *call)
{
    const unsigned char *key = gate->shared->redact_key;
    struct verdict *verdict = &call->verdict;
    bool is_kept = true, redacted = false;

    if (!verdict->redact_all && verdict->kind == VERDICT_HOLD && verdict->redact_count + verdict->redact_param_count > 0) {
        call->redacted = gate__redacted_text(&gate->text, call);
        is_kept = gate_keep_text(call->arena, &call->redacted);
    }
    if (!verdict->redact_all && verdict->redact_count > 0) {
        call->arguments = gate__arguments_text(&gate->text, key, call->asked.root, verdict, &redacted);
        is_kept = gate_keep_text(call->arena, &call->arguments) && is_kept;
    }
    if (!verdict->redact_all && verdict->redact_param_count > 0) {
        call->params = gate__params_text(&gate->text, key, call->asked.params, verdict, &redacted);
        is_kept = gate_keep_text(call->arena, &call->params) && is_kept;
    }
    if (!is_kept) {
        verdict->redact_all = true;
        call->arguments = call->params = call->redacted = SPAN_NONE;
    }
    if (verdict->undecided.len > 0 && !gate_keep_text(call->arena, &verdict->undecided))
        verdict->undecided = SPAN_NONE;
    verdict->redact = verdict->redact_params = NULL;
}

static void add_bound(struct buf *out, const char *before, const struct json_node *member)
{
    add_key(out, before, member);
    buf_add_span(out, member->raw);
}

enum code gate__bound_text(struct record_text *text, const struct policy *policy, struct question *question)
{
    bool has_arguments = question_has_arguments(question);
    const struct json_node *params = has_arguments ? question->params : question->root;
    const struct json_node *meta = json_member(params, SPAN_LIT("_meta"));
    struct buf *out = &text->bound;

    buf_clear(out);
    if (question->via.len > 0) { /* what goes up is another call where another tool is to make it */
        buf_add_text(out, "within:");
        json_write_string(out, question->via);
    }
    if (params == NULL || params->type != JSON_OBJECT)
        params = NULL;
    if (meta != NULL && (meta->type != JSON_OBJECT || policy_asks_all_meta(policy, question)))
        meta = NULL; /* then `_meta` is bound as a whole, like any other member */
    for (const struct json_node *at = params != NULL ? params->child : NULL; at != NULL; at = at->next)
        if (at != meta)
            add_bound(out, ",", at);
    for (const struct json_node *at = meta != NULL ? meta->child : NULL; at != NULL; at = at->next)
        if (policy_asks_meta(policy, question, at->key))
            add_bound(out, ";", at);
    if (buf_code(out) != CODE_OK)
        return buf_code(out);
    question->bound = buf_is_empty(out) ? SPAN_NONE : buf_peek(out);
    question->bound_has_root = !has_arguments && params != NULL;
    return buf_code(out);
}

#define ANSWER_TREE_BYTES ((size_t)1 << 20) /* in a larger result nothing is looked for */

/* Takes: root: NULL: only whether the policy looks for anything is asked. */
static void find_redacted(struct gate *gate, const struct call *call, const struct json_node *root, struct verdict *found)
{
    struct question question = call->asked;

    question.root = NULL;
    policy_redact_answer(call->policy, &question, root, gate->scratch, found);
}

bool gate_redacts_answer(struct gate *gate, const struct call *call)
{
    struct verdict found;

    find_redacted(gate, call, NULL, &found);
    return found.redact_all && call->policy != NULL;
}

enum code gate_answer(struct gate *gate, const struct call *call, struct span result, const struct json_node *root,
                      size_t max_bytes, struct buf *out, uint64_t *answer_bytes)
{
    const struct json_node whole = {.raw = result};
    struct verdict found;
    bool redacted = false;

    find_redacted(gate, call, result.len > ANSWER_TREE_BYTES ? NULL : root, &found);
    result = gate__arguments_text(&gate->text, gate->shared->redact_key, &whole, &found, &redacted);
    *answer_bytes = result.len;
    return buf_add_span(out, utf8_cut(result, max_bytes));
}
