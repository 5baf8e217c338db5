/* SPDX-License-Identifier: Apache-2.0 */
/* callgate policy explain: one call, judged as the gate would, with the walk in words. */
#include "app/cmd_policy_priv.h"
#include "app/commands.h"
#include "app/policy_files.h"
#include "app/print.h"
#include "app/store.h"

#include "base/mem.h"
#include "os/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CALL_MAX_BYTES ((size_t)16 << 20)
#define WORDS_MAX_BYTES ((size_t)64 << 20)

struct explaining {
    struct store_place place;
    const char *call, *seq, *tool, *tenant, *principal, *upstream, *method, *answers;
    struct option_values args, policies;
    bool as_json;
    /* what the call file or the arguments became */
    struct buf text, canonical;
    struct arena arena;
    struct question question;
};

/* ---- the question ---- */

static int read_json(struct explaining *e, struct span text, const char *what, const struct json_node **root)
{
    struct json_fault fault = {0};
    enum code code = json_read(text, &json_file_rules, &e->canonical, &e->arena, root, &fault);

    if (code == CODE_OK)
        return OPTIONS_GO;
    if (code == CODE_NOMEM)
        return complain(STATUS_CANNOT, "not enough memory");
    return complain(STATUS_USAGE, "%s is no JSON that would pass the gate: %s, at byte %zu", what, fault.text,
                    fault.offset + 1);
}

static bool is_json(struct span text)
{
    const struct json_node *root;
    struct json_fault fault;
    struct arena arena;
    struct buf out;
    bool valid;

    arena_init(&arena, CALL_MAX_BYTES);
    buf_init(&out, CALL_MAX_BYTES);
    valid = json_read(text, &json_file_rules, &out, &arena, &root, &fault) == CODE_OK;
    buf_fini(&out);
    arena_fini(&arena);
    return valid;
}

/* --arg KEY=VALUE: a value that is JSON is taken as such, anything else is a string. */
static int add_arg(struct explaining *e, const char *arg, bool first)
{
    struct span value, key = span_cut(span_text(arg), '=', &value);
    enum code code;

    if (strchr(arg, '=') == NULL)
        return complain(STATUS_USAGE, "--arg \"%s\" has no value; write --arg KEY=VALUE", arg);
    code = first ? CODE_OK : buf_add_byte(&e->text, ',');
    if (code == CODE_OK)
        code = json_write_string(&e->text, key);
    if (code == CODE_OK)
        code = buf_add_byte(&e->text, ':');
    if (code == CODE_OK)
        code = is_json(value) ? buf_add_span(&e->text, value) : json_write_string(&e->text, value);
    return code == CODE_OK ? OPTIONS_GO : complain(STATUS_CANNOT, "%s", code_text(code));
}

static int read_args(struct explaining *e)
{
    enum code code = buf_add_byte(&e->text, '{');
    int status = OPTIONS_GO;

    for (size_t i = 0; i < e->args.count && status == OPTIONS_GO; i++)
        status = add_arg(e, e->args.value[i], i == 0);
    if (status == OPTIONS_GO && code == CODE_OK)
        code = buf_add_byte(&e->text, '}');
    if (status == OPTIONS_GO && code != CODE_OK)
        return complain(STATUS_CANNOT, "%s", code_text(code));
    return status == OPTIONS_GO ? read_json(e, buf_peek(&e->text), "--arg", &e->question.root) : status;
}

static struct span text_of(const struct json_node *object, const char *key)
{
    const struct json_node *member = object ? json_member(object, span_text(key)) : NULL;

    return member != NULL && member->type == JSON_STRING ? member->text : SPAN_NONE;
}

static bool by_arguments(struct span method)
{
    return span_is(method, "tools/call") || span_is(method, "prompts/get");
}

/* A JSON-RPC message, or the members that `call:` has in a policy's tests. */
static void take_call(struct question *question, const struct json_node *call)
{
    const struct json_node *params = json_member(call, SPAN_LIT("params"));
    struct span method = text_of(call, "method");

    question->method = method.len > 0 ? method : SPAN_LIT("tools/call");
    question->tenant = text_of(call, "tenant");
    question->principal = text_of(call, "principal");
    question->upstream = text_of(call, "upstream");
    question->answers = text_of(call, "answers");
    question->tool = text_of(call, "tool");
    if (json_member(call, SPAN_LIT("jsonrpc")) == NULL) {
        question->root = by_arguments(question->method) ? json_member(call, SPAN_LIT("arguments")) : params;
        return;
    }
    if (span_is(question->method, "tools/call"))
        question->tool = text_of(params, "name");
    question->root = params;
    if (params != NULL && by_arguments(question->method))
        question->root = json_member(params, SPAN_LIT("arguments"));
}

static int read_call(struct explaining *e)
{
    const struct json_node *root = NULL;
    struct why why = {""};
    enum code code = file_read(e->call, FILE_ANY, CALL_MAX_BYTES, &e->text, &why);
    int status;

    if (code != CODE_OK)
        return complain(STATUS_CANNOT, "%s", why.text[0] ? why.text : code_text(code));
    status = read_json(e, buf_peek(&e->text), e->call, &root);
    if (status != OPTIONS_GO)
        return status;
    if (root->type != JSON_OBJECT)
        return complain(STATUS_USAGE, "%s holds no object; write {\"tool\": ..., \"arguments\": {...}} or a JSON-RPC request",
                        e->call);
    take_call(&e->question, root);
    return OPTIONS_GO;
}

static void prefer(struct span *text, const char *given, const char *usual)
{
    if (given != NULL)
        *text = span_text(given);
    else if (text->len == 0)
        *text = span_text(usual);
}

static int make_question(struct explaining *e)
{
    int status = OPTIONS_GO;

    if (e->seq != NULL)
        return complain(STATUS_USAGE, "--seq is not yet there; name the call with --call or --tool and --arg");
    if (e->call != NULL && e->args.count > 0)
        return complain(STATUS_USAGE, "--call and --arg exclude each other; put the arguments into the file");
    if (e->call != NULL)
        status = read_call(e);
    else
        status = read_args(e);
    prefer(&e->question.tenant, e->tenant, "test");
    prefer(&e->question.principal, e->principal, "test");
    prefer(&e->question.upstream, e->upstream, "test");
    prefer(&e->question.method, e->method, "tools/call");
    prefer(&e->question.tool, e->tool, "");
    prefer(&e->question.answers, e->answers, "");
    if (status == OPTIONS_GO && span_is(e->question.method, "tools/call") && e->question.tool.len == 0)
        return complain(STATUS_USAGE, "no tool is named; add --tool NAME, or --method for another method");
    return status;
}

/* ---- the answer ---- */

static int print_verdict_json(const struct verdict *verdict, struct span words, int status)
{
    struct doc *doc = doc_object(), *rules;
    int printed;

    doc_text(doc, "verdict", span_text(verdict_text(verdict->kind)));
    doc_text(doc, "reason", span_text(reason_name(verdict->reason)));
    if (verdict->rule.at != NULL)
        doc_text(doc, "rule", verdict->rule);
    else
        doc_null(doc, "rule");
    if (verdict->undecided.len > 0)
        doc_text(doc, "undecided", verdict->undecided);
    if (verdict->say.len > 0)
        doc_text(doc, "say", verdict->say);
    if (verdict->rule_reason.len > 0)
        doc_text(doc, "rule_reason", verdict->rule_reason);
    rules = doc_add_array(doc, "rules");
    for (uint32_t i = 0; i < verdict->rule_count && i < VERDICT_RULES_MAX; i++) {
        struct doc *one = doc_add_object(rules, NULL);

        doc_text(one, "id", verdict->rules[i].id);
        doc_text(one, "effect", span_text(effect_text(verdict->rules[i].effect)));
        doc_bool(one, "monitor", verdict->rules[i].monitor);
    }
    doc_int(doc, "policy_version", (int64_t)verdict->policy_version);
    doc_text(doc, "walk", words);
    printed = print_doc(&doc);
    return printed == STATUS_DONE ? status : printed;
}

static int explain(struct explaining *e, const struct policy *policy)
{
    struct policy_scratch *scratch = NULL;
    struct verdict *verdict = mem_zalloc(sizeof *verdict);
    enum code code = policy_scratch_new(&scratch);
    struct buf words;
    int status;

    buf_init(&words, WORDS_MAX_BYTES);
    if (verdict == NULL)
        code = CODE_NOMEM;
    if (code == CODE_OK)
        code = policy_explain(policy, &e->question, scratch, verdict, &words);
    if (code == CODE_OK) {
        status = verdict->kind == VERDICT_PERMIT ? STATUS_DONE : STATUS_NEGATIVE;
        if (e->as_json)
            status = print_verdict_json(verdict, buf_peek(&words), status);
        else
            printf("%.*s", SPAN_ARG(buf_peek(&words)));
    } else {
        status = complain(STATUS_CANNOT, "%s", code_text(code));
    }
    buf_fini(&words);
    mem_free(verdict);
    policy_scratch_free(&scratch);
    return status;
}

static int find_policy(struct explaining *e, struct policy **policy)
{
    struct policy_files files;
    struct why why = {""};
    struct db *db = NULL;
    uint64_t version = 0;
    enum code code;
    int status;

    if (e->policies.count > 0) {
        status = policy_files_read(&files, e->policies.value, e->policies.count);
        if (status == OPTIONS_GO)
            status = policy_files_compile(&files, policy);
        policy_files_fini(&files);
        return status;
    }
    code = store_find(&e->place, DB_READ, &db, &why);
    if (code == CODE_OK)
        code = policy_store_active(db, &version, &why);
    if (code == CODE_OK && version != 0)
        code = store_compile_policy(db, version, policy, &why);
    db_close(&db);
    return code == CODE_OK ? OPTIONS_GO : complain_why(code, &why);
}

int cmd_policy__explain(int argc, char **argv)
{
    struct explaining e = {.as_json = false};
    const struct option options[] = {
        {.name = "call", .takes = "FILE", .help = "a JSON-RPC request, or {tool, arguments, tenant, ...}", .value = &e.call},
        {.name = "tool", .takes = "NAME", .help = "the tool that is called", .value = &e.tool},
        {.name = "arg", .takes = "KEY=VALUE", .help = "an argument, JSON or text; may be repeated", .many = &e.args},
        {.name = "tenant", .takes = "NAME", .help = "test by default", .value = &e.tenant},
        {.name = "principal", .takes = "NAME", .help = "test by default", .value = &e.principal},
        {.name = "upstream", .takes = "NAME", .help = "the route; test by default", .value = &e.upstream},
        {.name = "method", .takes = "NAME", .help = "tools/call by default; --arg then gives its params", .value = &e.method},
        {.name = "answers", .takes = "NAME", .help = "with --method response: what it answers", .value = &e.answers},
        {.name = "policy", .takes = "FILE", .help = "judge by these files; may be repeated", .many = &e.policies},
        {.name = "seq", .takes = "N", .help = "a recorded call (not yet)", .value = &e.seq},
        {.name = "json", .help = "the answer as JSON", .flag = &e.as_json},
        STORE_OPTIONS(&e.place),
        {0},
    };
    const struct usage usage = {"callgate policy explain (--call FILE | --tool NAME [--arg KEY=VALUE]...) [OPTIONS]",
                                "Judges a call by the active version, or by --policy files, and says why. Exit status 0:\n"
                                "permit, 1: deny or hold. Nothing is sent or recorded.",
                                options, 0, 0};
    struct policy *policy = NULL;
    int operands, status = options_read(&usage, argc, argv, &operands);

    if (status != OPTIONS_GO)
        return status;
    arena_init(&e.arena, (size_t)256 << 20);
    buf_init(&e.text, CALL_MAX_BYTES);
    buf_init(&e.canonical, CALL_MAX_BYTES);
    status = make_question(&e);
    if (status == OPTIONS_GO)
        status = find_policy(&e, &policy);
    if (status == OPTIONS_GO)
        status = explain(&e, policy);
    policy_unref(&policy);
    buf_fini(&e.text);
    buf_fini(&e.canonical);
    arena_fini(&e.arena);
    return status;
}
