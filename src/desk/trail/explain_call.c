/* SPDX-License-Identifier: Apache-2.0 */
#include "trail/explain_call.h"

#include "cli/policy_files.h"
#include "query/query.h"
#include "args/print.h"
#include "judgement/judgement.h"
#include "language/language.h"
#include "store/store.h"
#include "store/store_definitions.h"

#include "author/explain.h"
#include "base/mem.h"
#include "base/num.h"
#include "os/file.h"
#include "json/text.h"

#include <inttypes.h>
#include <string.h>

#define CALL_MAX_BYTES ((size_t)16 << 20)
#define TREE_MAX_BYTES ((size_t)256 << 20)
#define WORDS_MAX_BYTES ((size_t)64 << 20)

void explain_call_init(struct explain_call *call, const struct asked *asked)
{
    *call = (struct explain_call){.asked = asked};
    buf_init(&call->text, CALL_MAX_BYTES * 2);
    recorded_init(&call->recorded);
    arena_init(&call->answer_arena, TREE_MAX_BYTES);
    buf_init(&call->answer_text, CALL_MAX_BYTES * 2);
}

void explain_call_fini(struct explain_call *call)
{
    policy_unref(&call->holder);
    policy_scratch_free(&call->scratch);
    mem_free(call->verdict);
    recall_fini(&call->recall);
    buf_fini(&call->text);
    recorded_fini(&call->recorded);
    arena_fini(&call->answer_arena);
    buf_fini(&call->answer_text);
    mem_free(call->trail);
}

/* ---- one text, written like `call:` ---- */

static int read_text(struct explain_call *call, const char *place)
{
    const struct policy_file file = {.path = span_text(place), .text = buf_peek(&call->text)};
    struct faults faults;
    enum code code;

    faults_init(&faults);
    code = policy_call_read(&file, &call->holder, &faults);
    if (code == CODE_INVALID) {
        print_faults(&faults, "");
        return STATUS_USAGE;
    }
    if (code == CODE_OK)
        code = policy_case_question(call->holder, SPAN_NONE, &call->question);
    return code == CODE_OK ? OPTIONS_GO : complain(STATUS_CANNOT, "%s", code_text(code));
}

static void add_member(struct buf *out, const char *key, struct span json)
{
    if (json.at == NULL)
        return;
    buf_addf(out, "%s\"%s\":", buf_len(out) > 1 ? "," : "", key);
    buf_add_span(out, json);
}

static struct span raw_of(const struct json_node *object, const char *key)
{
    const struct json_node *member = object ? json_member(object, span_text(key)) : NULL;

    return member != NULL ? member->raw : SPAN_NONE;
}

/* `param` is, as at the gate, what stands beside the name and the arguments. */
static void add_others(struct buf *out, const struct json_node *params)
{
    const char *before = ",\"param\":{";

    for (const struct json_node *at = params != NULL ? params->child : NULL; at != NULL; at = at->next) {
        if (span_is(at->key, "name") || span_is(at->key, "arguments"))
            continue;
        buf_add_text(out, before);
        json_write_string(out, at->key);
        buf_add_byte(out, ':');
        buf_add_span(out, at->raw);
        before = ",";
    }
    if (before[1] == '\0')
        buf_add_byte(out, '}');
}

/* A JSON-RPC request becomes what a test would write. */
static enum code convert_message(struct buf *out, const struct json_node *message)
{
    const struct json_node *method = json_member(message, SPAN_LIT("method"));
    const struct json_node *params = json_member(message, SPAN_LIT("params"));
    struct span name = method ? method->text : SPAN_NONE;
    bool is_call = span_is(name, "tools/call"), by_arguments = is_call || span_is(name, "prompts/get");

    buf_add_byte(out, '{');
    add_member(out, "method", raw_of(message, "method"));
    if (by_arguments) {
        add_member(out, is_call ? "tool" : "prompt", raw_of(params, "name"));
        add_member(out, "arguments", raw_of(params, "arguments"));
    } else {
        add_member(out, "params", raw_of(message, "params"));
    }
    add_member(out, "meta", raw_of(params, "_meta"));
    if (by_arguments)
        add_others(out, params);
    return buf_add_byte(out, '}');
}

/* Returns: whether the text was a JSON-RPC message, with *code of its conversion. */
static bool take_message(struct explain_call *call, enum code *code)
{
    struct json_text read;
    struct buf converted;
    bool is_message = json_text_read(&read, buf_peek(&call->text), &json_file_rules, CALL_MAX_BYTES) == CODE_OK &&
                      json_member(read.root, SPAN_LIT("jsonrpc")) != NULL;

    buf_init(&converted, CALL_MAX_BYTES * 2);
    *code = CODE_OK;
    if (is_message) {
        *code = convert_message(&converted, read.root);
        buf_clear(&call->text);
        if (*code == CODE_OK)
            *code = buf_add_span(&call->text, buf_peek(&converted));
    }
    buf_fini(&converted);
    json_text_fini(&read);
    return is_message;
}

static int read_file(struct explain_call *call)
{
    struct why why = {""};
    enum code code = file_read(call->asked->call, FILE_ANY, CALL_MAX_BYTES, &call->text, &why);

    if (code != CODE_OK)
        return complain(STATUS_CANNOT, "%s", why.text[0] ? why.text : code_text(code));
    (void)take_message(call, &code);
    return code == CODE_OK ? read_text(call, call->asked->call) : complain(STATUS_CANNOT, "%s", code_text(code));
}

/* ---- what comes back ---- */

/* Of a message what rules for answers call `$`: a result, an error, or the params of what the server says besides. */
static void take_part(struct policy_answer *answer, const struct json_node *message)
{
    static const char *const parts[] = {"result", "error", "params"};
    const struct json_node *method = json_member(message, SPAN_LIT("method")), *part = NULL;

    for (size_t i = 0; i < sizeof parts / sizeof *parts && part == NULL; i++)
        part = json_member(message, span_text(parts[i]));
    answer->root = part;
    answer->method = method != NULL ? method->text : SPAN_NONE;
}

int explain_call_answer(struct explain_call *call)
{
    struct policy_answer *answer = &call->answered;
    struct json_fault fault = {0};
    struct why why = {""};
    struct buf text;
    enum code code;

    buf_init(&text, CALL_MAX_BYTES);
    code = file_read(call->asked->result, FILE_ANY, CALL_MAX_BYTES, &text, &why);
    if (code == CODE_OK)
        code = json_read(buf_peek(&text), &json_reply_rules, &call->answer_text, &call->answer_arena, &answer->root, &fault);
    buf_fini(&text);
    if (code == CODE_INVALID && why.text[0] == '\0')
        return complain(STATUS_USAGE, "%s: is no JSON, from byte %zu on: %s", call->asked->result, fault.offset, fault.text);
    if (code != CODE_OK)
        return complain(STATUS_CANNOT, "%s", why.text[0] != '\0' ? why.text : code_text(code));
    if (answer->root->type == JSON_OBJECT && json_member(answer->root, SPAN_LIT("jsonrpc")) != NULL)
        take_part(answer, answer->root);
    return OPTIONS_GO;
}

/* ---- options ---- */

/* --arg KEY=VALUE, --claim KEY=VALUE: a value that is JSON is taken as such, anything else is a string. */
static int add_members(struct explain_call *call, const char *option, const struct option_values *members)
{
    for (size_t i = 0; i < members->count; i++) {
        struct span value, key = span_cut(span_text(members->value[i]), '=', &value);

        if (strchr(members->value[i], '=') == NULL)
            return complain(STATUS_USAGE, "--%s \"%s\" has no value; write --%s KEY=VALUE", option, members->value[i], option);
        buf_add_text(&call->text, i > 0 ? "," : "");
        json_write_string(&call->text, key);
        buf_add_byte(&call->text, ':');
        if (json_text_is(value, CALL_MAX_BYTES))
            buf_add_span(&call->text, value);
        else
            json_write_string(&call->text, value);
    }
    return OPTIONS_GO;
}

static void add_option(struct buf *out, const char *key, const char *value)
{
    if (value == NULL)
        return;
    buf_addf(out, "\"%s\":", key);
    json_write_string(out, span_text(value));
    buf_add_byte(out, ',');
}

/* A list of names, for what a token says of who asks. */
static void add_held(struct buf *out, const char *key, const struct option_values *names)
{
    if (names->count == 0)
        return;
    buf_addf(out, "\"%s\":[", key);
    for (size_t i = 0; i < names->count; i++) {
        buf_add_text(out, i > 0 ? "," : "");
        json_write_string(out, span_text(names->value[i]));
    }
    buf_add_text(out, "],");
}

static int read_options(struct explain_call *call)
{
    const struct asked *asked = call->asked;
    struct span method = asked->method ? span_text(asked->method) : SPAN_LIT("tools/call");
    bool by_arguments = span_is(method, "tools/call") || span_is(method, "prompts/get");
    struct {
        const char *key, *value;
    } given[] = {{"method", asked->method}, {"tool", asked->tool}, {"prompt", asked->prompt},
                 {"client", asked->client}, {"answers", asked->answers}, {"path", asked->path}, {"query", asked->query}};
    int status = OPTIONS_GO;

    if (asked->tool == NULL && span_is(method, "tools/call"))
        return complain(STATUS_USAGE, "no tool is named; add --tool NAME, or --method for another method");
    buf_add_byte(&call->text, '{');
    for (size_t i = 0; i < sizeof given / sizeof *given; i++)
        add_option(&call->text, given[i].key, given[i].value);
    add_held(&call->text, "groups", &asked->groups);
    add_held(&call->text, "scopes", &asked->scopes);
    buf_add_text(&call->text, "\"claims\":{");
    status = add_members(call, "claim", &asked->claims);
    buf_add_text(&call->text, by_arguments ? "},\"arguments\":{" : "},\"params\":{");
    if (status == OPTIONS_GO)
        status = add_members(call, "arg", &asked->args);
    if (status == OPTIONS_GO && buf_add_text(&call->text, "}}") != CODE_OK)
        status = complain(STATUS_CANNOT, "%s", code_text(buf_code(&call->text)));
    return status == OPTIONS_GO ? read_text(call, "the call") : status;
}

/* Who asks whom may be said beside a file too. */
static void prefer(struct span *text, const char *given)
{
    if (given != NULL)
        *text = span_text(given);
}

static void apply_options(struct explain_call *call)
{
    prefer(&call->question.tenant, call->asked->tenant);
    prefer(&call->question.principal, call->asked->principal);
    prefer(&call->question.agent, call->asked->agent);
    call->question.is_agent_judged |= call->asked->agent_judged;
    prefer(&call->question.upstream, call->asked->upstream);
    if (call->asked->at_us != 0)
        call->question.time_us = call->asked->at_us;
}

/* ---- the audit ---- */

enum code explain_call_find(struct explain_call *call, const struct trail *trail, const char *path, uint64_t seq,
                            struct why *why)
{
    size_t file = trail->count - 1;
    struct db *db = NULL;
    enum code code;

    while (file > 0 && trail->files[file].before_seq >= (int64_t)seq)
        file--;
    code = trail_open(trail->files[file].path, &db, why);
    if (code == CODE_OK)
        code = recorded_find(&call->recorded, db, seq, why);
    db_close(&db);
    call->trail = code == CODE_OK ? mem_dup(path, strlen(path)) : NULL;
    if (code != CODE_OK || call->trail == NULL)
        return code != CODE_OK ? code : CODE_NOMEM;
    call->question = call->recorded.question;
    if (call->question.hidden != NULL)
        call->question.hidden = &call->recorded.hidden;
    call->is_recorded = true;
    return CODE_OK;
}

const char *explain_call_unasked(const struct recorded *recorded)
{
    if (recorded->kind == RECORDED_JUDGED)
        return NULL;
    return recorded->kind == RECORDED_UNJUDGED ? "the configuration lets it pass: no policy was asked"
                                               : "it was refused before a policy was asked";
}

static int read_recorded(struct explain_call *call)
{
    struct trail trail = {0};
    struct why why = {""};
    char *path = NULL;
    enum code code;
    int status = asked_trail(call->asked, call->asked->audit, &path);

    if (status != OPTIONS_GO)
        return status;
    code = audit_is_restricted() ? why_set(&why, CODE_NOT_FOUND, "recorded calls are explained to auditors of all tenants; "
                                           "describe a call with --tool") : trail_find(path, true, &trail, &why);
    if (code == CODE_OK)
        code = explain_call_find(call, &trail, path, call->asked->decision, &why);
    trail_fini(&trail);
    mem_free(path);
    if (code == CODE_NOT_FOUND && why.text[0] != '\0')
        return complain(STATUS_CANNOT, "%s", why.text);
    return code == CODE_OK ? OPTIONS_GO : complain_why(code, &why);
}

/* ---- all of them ---- */

static bool describes(const struct asked *asked)
{
    return asked->tool != NULL || asked->prompt != NULL || asked->method != NULL || asked->answers != NULL ||
           asked->path != NULL || asked->query != NULL || asked->client != NULL ||
           asked->args.count + asked->groups.count + asked->scopes.count + asked->claims.count > 0;
}

static bool names_caller(const struct asked *asked)
{
    return asked->tenant != NULL || asked->principal != NULL || asked->agent != NULL || asked->agent_judged ||
           asked->upstream != NULL || asked->at_us != 0;
}

int explain_call_make(struct explain_call *call)
{
    const struct asked *asked = call->asked;
    int ways = (asked->call != NULL) + (asked->test != NULL) + (asked->decision != 0) + describes(asked), status;

    if (ways > 1)
        return complain(STATUS_USAGE, "--call, --test, --decision and --tool or --method exclude each other; name one call");
    if (asked->decision != 0 && names_caller(asked))
        return complain(STATUS_USAGE, "the record says who asked, and when; leave --tenant, --principal, --agent, --upstream "
                        "and --at out");
    if (asked->test != NULL)
        return OPTIONS_GO;
    if (asked->decision != 0)
        return read_recorded(call);
    status = asked->call != NULL ? read_file(call) : read_options(call);
    if (status == OPTIONS_GO)
        apply_options(call);
    return status;
}

enum code explain_call_policy(const struct asked *asked, const struct recorded *recorded, struct policy **policy,
                              struct definition_set **definitions, struct why *why)
{
    struct db *db = NULL;
    enum code code = asked_store(asked, DB_READ, &db, why);

    if (code == CODE_OK && recorded->policy_version != 0)
        code = store_compile_policy(db, recorded->policy_version, &policy_authoring, policy, why);
    if (code == CODE_OK)
        code = store_definitions_load(db, NULL, definitions, why);
    db_close(&db);
    if (code == CODE_OK && *policy != NULL && !span_equals(policy_hash(*policy), recorded->policy_hash))
        return why_set(why, CODE_INVALID, "the store's version %" PRIu64 " is not the one that judged; name that gate's store "
                       "with --store", recorded->policy_version);
    return code;
}

int explain_call_of_test(struct explain_call *call, const struct policy *policy)
{
    enum code code = policy_case_question(policy, span_text(call->asked->test), &call->question);

    if (code == CODE_NOT_FOUND)
        return complain(STATUS_USAGE, "no test is named \"%s\"; `callgate policy test --json` lists them", call->asked->test);
    if (code == CODE_EXISTS)
        return complain(STATUS_USAGE, "several tests are named \"%s\"; give one of them another name", call->asked->test);
    apply_options(call);
    return OPTIONS_GO;
}

/* ---- the verdict ---- */

static void fill_rules(struct doc *list, const struct verdict *verdict)
{
    for (uint32_t i = 0; i < verdict->rule_count && i < VERDICT_RULES_MAX; i++) {
        struct doc *one = doc_add_object(list, NULL);

        doc_text(one, "rule", verdict->rules[i].id);
        doc_text(one, "effect", span_text(effect_text(verdict->rules[i].effect)));
        doc_bool(one, "monitor", verdict->rules[i].monitor);
        doc_bool(one, "limited", verdict->rules[i].limited);
    }
}

static struct span some(struct span text)
{
    return text.len > 0 ? text : SPAN_NONE;
}

/* Takes: otherwise: what it would be by the other guess; NULL: nothing is guessed. */
static void fill_verdict(struct doc *doc, const struct explain_call *call, const char *otherwise)
{
    const struct verdict *verdict = call->verdict;
    const struct recorded *recorded = &call->recorded;
    bool differs = call->is_recorded && otherwise == NULL && verdict->policy_version == recorded->policy_version &&
                   verdict->kind != recorded->verdict;

    doc_text(doc, "verdict", span_text(verdict_text(verdict->kind)));
    doc_text(doc, "reason", span_text(reason_name(verdict->reason)));
    doc_text_or_null(doc, "rule", verdict->rule);
    doc_text_or_null(doc, "agent_rule", verdict->agent_rule);
    doc_text_or_null(doc, "undecided", some(verdict->undecided));
    doc_text_or_null(doc, "say", some(verdict->say));
    doc_text_or_null(doc, "rule_reason", some(verdict->rule_reason));
    fill_rules(doc_add_array(doc, "rules"), verdict);
    doc_bool(doc, "guessed", otherwise != NULL);
    doc_text_or_null(doc, "otherwise", span_text(otherwise));
    doc_text_or_null(doc, "recorded_otherwise", differs ? span_text(verdict_text(recorded->verdict)) : SPAN_NONE);
    print_number(doc, "policy_version", (int64_t)verdict->policy_version);
}

enum code explain_call_judge(struct explain_call *call, const struct policy *policy, const struct definition_set *definitions,
                             struct doc *doc, struct why *why)
{
    enum verdict_kind otherwise;
    struct buf words, gist;
    struct explain_to to = {.words = &words, .gist = &gist};
    bool is_guessed = false;
    enum code code = policy_scratch_new(&call->scratch);

    call->verdict = mem_zalloc(sizeof *call->verdict);
    if (code != CODE_OK || call->verdict == NULL)
        return CODE_NOMEM;
    if (call->holder != NULL)
        policy_call_accept(call->holder, definition_set_schema(definitions, call->question.upstream, call->question.tool));
    if (call->is_recorded && policy != NULL)
        code = recall_make(&call->recall, policy, definitions, call->trail, &call->recorded, &call->question, why);
    if (code != CODE_OK)
        return code;
    if (call->is_recorded && call->question.hidden != NULL)
        is_guessed = recorded_guess(&call->recorded, &call->question, policy, call->scratch, call->verdict, &otherwise);
    buf_init(&words, WORDS_MAX_BYTES);
    buf_init(&gist, WORDS_MAX_BYTES);
    to.rules = doc_add_array(doc, "candidates");
    to.redacted = doc_add_array(doc, "answer_redacted");
    code = explain_verdict(policy, &call->question, call->scratch, call->verdict, &to);
    if (code == CODE_OK) {
        fill_verdict(doc, call, is_guessed ? verdict_text(otherwise) : NULL);
        doc_text(doc, "gist", buf_peek(&gist));
        doc_text(doc, "words", buf_peek(&words));
    }
    buf_fini(&gist);
    buf_fini(&words);
    return code;
}
