/* SPDX-License-Identifier: Apache-2.0 */
#include "state/plan.h"

#include "base/ascii.h"
#include "base/num.h"

#include <string.h>

#define SIGNED_BEFORE "callgate-plan/1\n"              /* what is signed begins with this: no other text of ours does */
#define DIGEST_BEFORE "callgate-plan-argument/1\n"
#define NAME_BYTES_MAX 512
#define ID_BYTES_MIN 22 /* 128 bits in base64url */
#define ID_BYTES_MAX 64
#define VALUE_BYTES_MAX ((size_t)256 << 20)

/* ---- members ---- */

static bool is_visible(struct span text, size_t least, size_t most)
{
    return text.len >= least && text.len <= most && ascii_is_all(text, ASCII_VISIBLE);
}

static bool is_text(struct span text)
{
    for (size_t i = 0; i < text.len; i++)
        if ((unsigned char)text.at[i] < ' ' || text.at[i] == 0x7f)
            return false;
    return text.len > 0 && text.len <= NAME_BYTES_MAX;
}

/* Whether it is an object with all of `needed` and nothing but these and `others`. Takes: lists of names, NULL at the end. */
static enum code check_members(const struct json_node *object, const char *what, const char *const *needed,
                               const char *const *others, struct why *why)
{
    if (object->type != JSON_OBJECT)
        return why_set(why, CODE_INVALID, "%s is no JSON object; write one", what);
    for (const struct json_node *member = object->child; member != NULL; member = member->next)
        if (!span_is_one_of(member->key, needed) && !span_is_one_of(member->key, others))
            return why_set(why, CODE_INVALID, "%s has a member `%.*s`, which plans do not have; leave it out", what,
                           (int)(member->key.len < 64 ? member->key.len : 64), member->key.at);
    for (; *needed != NULL; needed++)
        if (json_member(object, span_text(*needed)) == NULL)
            return why_set(why, CODE_INVALID, "%s has no member `%s`; add it", what, *needed);
    return CODE_OK;
}

static enum code read_text(const struct json_node *object, const char *name, struct span *text, struct why *why)
{
    const struct json_node *node = json_member(object, span_text(name));

    *text = node->text;
    if (node->type == JSON_STRING && is_text(*text))
        return CODE_OK;
    return why_set(why, CODE_INVALID, "`%s` is no text of 1 to %d bytes without control characters; write one", name,
                   NAME_BYTES_MAX);
}

static enum code read_number(const struct json_node *object, const char *name, uint64_t least, uint64_t most, uint64_t *number,
                             struct why *why)
{
    const struct json_node *node = json_member(object, span_text(name));

    if (node->type == JSON_NUMBER && json_number_scaled(node->raw, 0, number) == CODE_OK && *number >= least &&
        *number <= most)
        return CODE_OK;
    return why_set(why, CODE_INVALID, "`%s` is no whole number from %llu to %llu; write one", name, (unsigned long long)least,
                   (unsigned long long)most);
}

/* ---- steps ---- */

static bool is_digest(const struct json_node *node)
{
    unsigned char bytes[DIGEST_BYTES];

    for (size_t i = 0; i < node->text.len; i++)
        if (node->text.at[i] >= 'A' && node->text.at[i] <= 'F')
            return false;
    return node->type == JSON_STRING && num_unhex(node->text, bytes, sizeof bytes) == CODE_OK;
}

static enum code check_argument(const struct json_node *argument, struct why *why)
{
    static const char *const none[] = {NULL}, *const all[] = {"value", "digest", "open", "optional", NULL};
    const struct json_node *digest = json_member(argument, SPAN_LIT("digest")), *open = json_member(argument, SPAN_LIT("open"));
    const struct json_node *optional = json_member(argument, SPAN_LIT("optional"));

    if (check_members(argument, "", none, all, NULL) != CODE_OK || argument->count != 1U + (optional != NULL) ||
        (optional != NULL && optional->type != JSON_TRUE) || (open != NULL && open->type != JSON_TRUE) ||
        (digest != NULL && !is_digest(digest)))
        return why_set(why, CODE_INVALID, "argument `%.*s` is not exactly one of {\"value\": ...}, {\"digest\": 64 lower-case "
                       "hexadecimal digits} and {\"open\": true}, perhaps with \"optional\": true; write one of these",
                       (int)(argument->key.len < 64 ? argument->key.len : 64), argument->key.at);
    return CODE_OK;
}

static enum code read_step(const struct json_node *node, struct plan_step *step, struct why *why)
{
    static const char *const needed[] = {"upstream", "tool", "arguments", NULL}, *const others[] = {"times", NULL};
    enum code code = check_members(node, "it", needed, others, why);
    uint64_t times = 1;

    if (code == CODE_OK)
        code = read_text(node, "upstream", &step->upstream, why);
    if (code == CODE_OK)
        code = read_text(node, "tool", &step->tool, why);
    if (code == CODE_OK && json_member(node, SPAN_LIT("times")) != NULL)
        code = read_number(node, "times", 1, PLAN_TIMES_MAX, &times, why);
    if (code != CODE_OK)
        return code;
    step->times = (uint32_t)times;
    step->arguments = json_member(node, SPAN_LIT("arguments"));
    if (step->arguments->type == JSON_STRING && span_is(step->arguments->text, "any"))
        return CODE_OK;
    if (step->arguments->type != JSON_OBJECT)
        return why_set(why, CODE_INVALID, "`arguments` is neither an object nor \"any\"; write one of the two");
    for (const struct json_node *argument = step->arguments->child; argument != NULL && code == CODE_OK;
         argument = argument->next)
        code = check_argument(argument, why);
    return code;
}

static enum code read_steps(const struct json_node *list, struct arena *arena, struct plan *plan, struct why *why)
{
    enum code code = CODE_OK;

    if (list->type != JSON_ARRAY || list->count == 0 || list->count > PLAN_STEPS_MAX)
        return why_set(why, CODE_INVALID, "`steps` is no array of 1 to %d steps; write one", PLAN_STEPS_MAX);
    plan->step = arena_zalloc(arena, list->count * sizeof *plan->step);
    if (plan->step == NULL)
        return CODE_NOMEM;
    for (const struct json_node *node = list->child; node != NULL && code == CODE_OK; node = node->next)
        code = read_step(node, &plan->step[plan->step_count++], why);
    return code == CODE_OK ? code : why_before(why, code, "step %u: ", plan->step_count);
}

/* ---- the plan ---- */

static enum code read_times(const struct json_node *root, struct plan *plan, struct why *why)
{
    uint64_t from = 0, until = 0, most = UINT64_C(253402300799); /* 9999-12-31T23:59:59Z */
    enum code code = read_number(root, "not_before", 0, most, &from, why);

    if (code == CODE_OK)
        code = read_number(root, "expires", 0, most, &until, why);
    if (code != CODE_OK)
        return code;
    plan->not_before_us = (int64_t)from * 1000000;
    plan->expires_us = (int64_t)until * 1000000;
    if (plan->expires_us - plan->not_before_us < PLAN_LIFE_MIN_US || plan->expires_us - plan->not_before_us > PLAN_LIFE_MAX_US)
        return why_set(why, CODE_INVALID, "`expires` is not 60 seconds to a day behind `not_before`; write such a time");
    return CODE_OK;
}

static enum code read_root(const struct json_node *root, struct arena *arena, struct plan *plan, struct why *why)
{
    static const char *const needed[] = {"callgate_plan", "id", "issuer", "key", "principal", "tenant", "not_before", "expires",
                                         "order", "steps", NULL}, *const others[] = {NULL};
    const struct {
        const char *name;
        struct span *text;
    } texts[] = {{"id", &plan->id}, {"issuer", &plan->issuer}, {"key", &plan->key}, {"principal", &plan->principal},
                 {"tenant", &plan->tenant}};
    enum code code = check_members(root, "the plan", needed, others, why);
    struct span order = SPAN_NONE;
    uint64_t version = 0;

    if (code == CODE_OK)
        code = read_number(root, "callgate_plan", 1, 1, &version, why);
    for (size_t i = 0; i < sizeof texts / sizeof *texts && code == CODE_OK; i++)
        code = read_text(root, texts[i].name, texts[i].text, why);
    if (code == CODE_OK && (!is_visible(plan->id, ID_BYTES_MIN, ID_BYTES_MAX) || !is_visible(plan->key, 1, NAME_BYTES_MAX)))
        return why_set(why, CODE_INVALID, "`id` is not %d to %d visible ASCII characters, made at random, or `key` is no id of "
                       "a key; write such ones", ID_BYTES_MIN, ID_BYTES_MAX);
    if (code == CODE_OK)
        code = read_times(root, plan, why);
    if (code == CODE_OK)
        code = read_text(root, "order", &order, why);
    plan->is_strict = span_is(order, "strict");
    if (code == CODE_OK && !plan->is_strict && !span_is(order, "any"))
        return why_set(why, CODE_INVALID, "`order` is neither \"strict\" nor \"any\"; write one of the two");
    return code == CODE_OK ? read_steps(json_member(root, SPAN_LIT("steps")), arena, plan, why) : code;
}

/* What is signed is the canonical text and no other: one plan has one digest. */
static enum code check_canonical(const struct plan *plan, struct span text, struct why *why)
{
    struct buf canonical;
    enum code code;
    bool is_same;

    buf_init(&canonical, PLAN_TEXT_BYTES + 64);
    code = json_canonical(plan->root, &canonical);
    is_same = code == CODE_OK && span_equals(buf_peek(&canonical), text);
    buf_fini(&canonical);
    if (code == CODE_NOMEM || is_same)
        return code;
    return why_set(why, CODE_INVALID, "the plan's text is not in the canonical form of RFC 8785; sign that");
}

enum code plan_read_text(struct buf *text, struct arena *arena, struct plan *plan, struct why *why)
{
    static const struct json_rules rules = {.max_depth = 32, .max_nodes = 8192, .max_keys = 256};
    /* json_read writes its own canonical text into the buffer */
    char *kept = arena_dup(arena, buf_peek(text).at, buf_len(text));
    struct json_fault fault = {0};
    enum code code;

    *plan = (struct plan){.text = span_of(kept, buf_len(text))};
    if (kept == NULL)
        return CODE_NOMEM;
    buf_clear(text);
    code = json_read(plan->text, &rules, text, arena, &plan->root, &fault);
    if (code == CODE_NOMEM)
        return code;
    if (code != CODE_OK)
        return why_set(why, CODE_INVALID, "the plan cannot be read at offset %zu: %s", fault.offset,
                       fault.text != NULL ? fault.text : "no JSON");
    digest_of(plan->text, plan->digest);
    code = read_root(plan->root, arena, plan, why);
    return code == CODE_OK ? check_canonical(plan, plan->text, why) : code;
}

enum code plan_read(struct span shown, struct buf *text, struct arena *arena, struct plan *plan, struct why *why)
{
    struct span of_signature = SPAN_NONE, of_text = span_cut(shown, '.', &of_signature);
    unsigned char signature[SIGN_BYTES];
    enum code code = shown.len <= PLAN_SHOWN_BYTES ? base64url_decode(of_signature, text) : CODE_INVALID;

    if (code == CODE_OK && buf_len(text) != SIGN_BYTES)
        code = CODE_INVALID;
    if (code == CODE_OK) {
        memcpy(signature, buf_peek(text).at, SIGN_BYTES);
        buf_clear(text);
        code = base64url_decode(of_text, text);
    }
    if (code == CODE_NOMEM)
        return code;
    if (code != CODE_OK || buf_len(text) > PLAN_TEXT_BYTES)
        return why_set(why, CODE_INVALID, "a plan is shown as base64url of its text, `.` and base64url of its signature, "
                       "without padding and with at most %d bytes of text; write it as `callgate plan sign` does",
                       PLAN_TEXT_BYTES);
    code = plan_read_text(text, arena, plan, why);
    memcpy(plan->signature, signature, SIGN_BYTES);
    return code;
}

/* ---- signatures ---- */

const struct plan_key *plan_key_of(const struct plan *plan, const struct plan_keys *keys)
{
    for (size_t i = 0; i < keys->count; i++)
        if (span_equals(keys->key[i].id, plan->key))
            return &keys->key[i];
    return NULL;
}

/* Takes: signed_text: empty. */
static enum code write_signed(struct span text, struct buf *signed_text)
{
    buf_init(signed_text, PLAN_TEXT_BYTES + sizeof SIGNED_BEFORE);
    buf_add_text(signed_text, SIGNED_BEFORE);
    return buf_add_span(signed_text, text);
}

enum code plan_verify(const struct plan *plan, const struct plan_keys *keys)
{
    const struct plan_key *key = plan_key_of(plan, keys);
    struct buf signed_text;
    enum code code;

    if (key == NULL)
        return CODE_NOT_FOUND;
    code = write_signed(plan->text, &signed_text);
    if (code == CODE_OK && !sign_is_good(key->key, buf_peek(&signed_text), plan->signature))
        code = CODE_DENIED;
    buf_fini(&signed_text);
    return code;
}

enum code plan_sign(struct span text, const struct sign_key *key, unsigned char signature[SIGN_BYTES])
{
    struct buf signed_text;
    enum code code = write_signed(text, &signed_text);

    if (code == CODE_OK)
        code = sign_text(key, buf_peek(&signed_text), signature);
    buf_fini(&signed_text);
    return code;
}

enum code plan_write(struct span text, const unsigned char signature[SIGN_BYTES], struct buf *out)
{
    base64url_encode(text, out);
    buf_add_byte(out, '.');
    return base64url_encode(span_of(signature, SIGN_BYTES), out);
}

/* ---- calls ---- */

enum code plan_argument_digest(struct span plan_id, const struct json_node *value, unsigned char out[DIGEST_BYTES])
{
    struct buf canonical;
    struct digest digest;
    enum code code;

    buf_init(&canonical, VALUE_BYTES_MAX);
    code = json_canonical(value, &canonical);
    if (code == CODE_OK) {
        digest_init(&digest);
        digest_add(&digest, DIGEST_BEFORE, sizeof DIGEST_BEFORE - 1);
        digest_add(&digest, plan_id.at, plan_id.len);
        digest_add(&digest, "\n", 1);
        digest_add(&digest, buf_peek(&canonical).at, buf_len(&canonical));
        digest_final(&digest, out);
    }
    buf_fini(&canonical);
    return code;
}

#define DIGESTS_MAX 16 /* of one call's arguments, that are kept for the steps that follow */

/* A call, and the digests of its arguments that were worked out already. */
struct calling {
    const struct plan *plan;
    struct span upstream, tool;
    const struct json_node *arguments;
    const struct json_node *of[DIGESTS_MAX]; /* NULL: none yet */
    unsigned char digest[DIGESTS_MAX][DIGEST_BYTES];
    bool no_memory;
};

static bool has_digest(struct calling *calling, const struct json_node *value, struct span digest)
{
    size_t at = 0;
    char hex[2 * DIGEST_BYTES];
    enum code code = CODE_OK;

    while (at < DIGESTS_MAX - 1 && calling->of[at] != NULL && calling->of[at] != value)
        at++;
    if (calling->of[at] != value)
        code = plan_argument_digest(calling->plan->id, value, calling->digest[at]);
    calling->no_memory |= code == CODE_NOMEM;
    if (code != CODE_OK)
        return false;
    calling->of[at] = value;
    num_hex(calling->digest[at], DIGEST_BYTES, hex);
    return span_equals(span_of(hex, sizeof hex), digest);
}

static const char *argument_differs(struct calling *calling, const struct json_node *planned, const struct json_node *value)
{
    const struct json_node *exact = json_member(planned, SPAN_LIT("value")), *digest = json_member(planned, SPAN_LIT("digest"));

    if (value == NULL)
        return json_member(planned, SPAN_LIT("optional")) != NULL ? NULL : "an argument that it plans is missing";
    if (exact != NULL && !json_equal(exact, value))
        return "an argument has another value";
    if (digest != NULL && !has_digest(calling, value, digest->text))
        return "an argument's value has another digest";
    return NULL;
}

static const char *step_differs(struct calling *calling, const struct plan_step *step)
{
    const struct json_node *arguments = calling->arguments;
    const char *differs = NULL;
    uint32_t found = 0;

    if (!span_equals(step->upstream, calling->upstream))
        return "it is for another upstream";
    if (!span_equals(step->tool, calling->tool))
        return "it is for another tool";
    if (step->arguments->type == JSON_STRING)
        return NULL;
    for (const struct json_node *planned = step->arguments->child; planned != NULL && differs == NULL;
         planned = planned->next) {
        const struct json_node *value = json_member(arguments, planned->key);

        found += value != NULL;
        differs = argument_differs(calling, planned, value);
    }
    if (differs == NULL && found != (arguments != NULL ? arguments->count : 0))
        differs = "the call has an argument that it does not plan";
    return differs;
}

enum code plan_find(const struct plan *plan, struct span upstream, struct span tool, const struct json_node *arguments,
                    struct plan_fit *fit)
{
    struct calling calling = {.plan = plan, .upstream = upstream, .tool = tool, .arguments = arguments};

    *fit = (struct plan_fit){0};
    for (uint32_t i = 0; i < plan->step_count; i++)
        if (step_differs(&calling, &plan->step[i]) == NULL)
            fit->bits[i / 64] |= UINT64_C(1) << i % 64;
    return calling.no_memory ? CODE_NOMEM : CODE_OK;
}

const char *plan_step_differs(const struct plan *plan, const struct plan_step *step, struct span upstream, struct span tool,
                              const struct json_node *arguments)
{
    struct calling calling = {.plan = plan, .upstream = upstream, .tool = tool, .arguments = arguments};

    return step_differs(&calling, step);
}
