/* SPDX-License-Identifier: Apache-2.0 */
/* callgate plan: intent plans (schema/plan.md) signed, and checked offline. */
#include "cli/commands.h"
#include "trail/explain_call.h"
#include "args/print.h"
#include "cli/told.h"
#include "cli/when.h"

#include "base/mem.h"
#include "base/num.h"
#include "state/plan.h"
#include "os/clock.h"
#include "os/file.h"
#include "policy/case.h"
#include "yaml/yaml.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define DRAFT_BYTES ((size_t)1 << 20)
#define TREE_BYTES ((size_t)16 << 20)
#define ID_BYTES 18 /* 24 characters */

/* ---- sign ---- */

struct signing {
    const struct asked *asked;
    struct sign_key *key;
    struct span id;      /* the key's */
    struct buf draft, json, text, shown;
    struct arena arena;
    struct plan plan;
};

static void signing_init(struct signing *s)
{
    buf_init(&s->draft, DRAFT_BYTES);
    buf_init(&s->json, DRAFT_BYTES);
    buf_init(&s->text, DRAFT_BYTES);
    buf_init(&s->shown, PLAN_SHOWN_BYTES);
    arena_init(&s->arena, TREE_BYTES);
}

static void signing_fini(struct signing *s)
{
    sign_key_free(&s->key);
    buf_fini(&s->draft);
    buf_fini(&s->json);
    buf_fini(&s->text);
    buf_fini(&s->shown);
    arena_fini(&s->arena);
}

static enum code read_key(struct signing *s, struct why *why)
{
    unsigned char public[SIGN_PUBLIC_BYTES];
    char *own = arena_alloc(&s->arena, PLAN_KEY_ID_BYTES);
    struct buf pem;
    enum code code;

    buf_init(&pem, 65536);
    code = own != NULL ? file_read(s->asked->key_file, FILE_SECRET, 65536, &pem, why) : CODE_NOMEM;
    if (code == CODE_OK && sign_key_read(buf_peek(&pem), &s->key) != CODE_OK)
        code = why_set(why, CODE_INVALID, "%s holds no Ed25519 key; `openssl genpkey -algorithm ed25519` makes one",
                       s->asked->key_file);
    mem_wipe(pem.block, pem.size);
    buf_fini(&pem);
    if (code == CODE_OK)
        code = sign_key_public(s->key, public);
    if (code != CODE_OK)
        return code;
    plan_key_id(public, own);
    s->id = span_text(s->asked->key_id != NULL ? s->asked->key_id : own);
    return CODE_OK;
}

/* A number of seconds, or a time as people write it. */
static enum code draft_time(const struct yaml_node *node, int64_t now_us, int64_t *seconds, struct why *why)
{
    int64_t time_us = now_us;
    enum code code = node != NULL ? when_parse(node->text, now_us, &time_us, why) : CODE_OK;

    *seconds = time_us / 1000000;
    return code;
}

static enum code write_times(struct signing *s, const struct yaml_node *root, struct why *why)
{
    const struct yaml_node *valid = yaml_member(root, "valid"), *expires = yaml_member(root, "expires");
    int64_t now_us = clock_wall_us(), from = 0, until = 0;
    uint64_t ms = 0;
    enum code code = draft_time(yaml_member(root, "not_before"), now_us, &from, why);

    if ((valid == NULL) == (expires == NULL))
        return why_set(why, CODE_INVALID, "the draft says with exactly one of `valid: 1h` and `expires: 2026-11-23T18:00:00Z` "
                       "until when it holds; write one of the two");
    if (code == CODE_OK && expires != NULL)
        code = draft_time(expires, now_us, &until, why);
    if (valid != NULL && (num_duration(valid->text, &ms) != CODE_OK || ms > UINT32_MAX))
        return why_set(why, CODE_INVALID, "`valid: %.*s` is no time; write such as 1h", SPAN_ARG(valid->text));
    if (valid != NULL)
        until = from + (int64_t)(ms / 1000);
    buf_addf(&s->json, ",\"not_before\":%" PRId64 ",\"expires\":%" PRId64, from, until);
    return code;
}

/* `digest_of` becomes the digest; all else stands as it is written. */
static enum code write_argument(struct signing *s, const struct yaml_node *argument, struct span plan_id)
{
    const struct yaml_node *value = yaml_member(argument, "digest_of");
    const struct json_node *root;
    unsigned char digest[DIGEST_BYTES];
    char hex[2 * DIGEST_BYTES];
    struct json_fault fault;
    struct buf json, canonical;
    enum code code;

    if (value == NULL || argument->type != YAML_MAP)
        return yaml_to_json(argument, &s->json);
    buf_init(&json, DRAFT_BYTES);
    buf_init(&canonical, DRAFT_BYTES);
    code = yaml_to_json(value, &json);
    if (code == CODE_OK)
        code = json_read(buf_peek(&json), &json_file_rules, &canonical, &s->arena, &root, &fault);
    if (code == CODE_OK)
        code = plan_argument_digest(plan_id, root, digest);
    num_hex(digest, sizeof digest, hex);
    buf_addf(&s->json, "{\"digest\":\"%.*s\"", (int)sizeof hex, hex);
    for (const struct yaml_node *other = argument->child; other != NULL; other = other->next) {
        if (other == value)
            continue;
        buf_add_byte(&s->json, ',');
        json_write_string(&s->json, other->key);
        buf_add_byte(&s->json, ':');
        yaml_to_json(other, &s->json);
    }
    buf_add_byte(&s->json, '}');
    buf_fini(&json);
    buf_fini(&canonical);
    return code;
}

static enum code write_step(struct signing *s, const struct yaml_node *step, struct span plan_id)
{
    const char *before = "{";
    enum code code = CODE_OK;

    for (const struct yaml_node *member = step->child; member != NULL && code == CODE_OK; member = member->next) {
        const char *between = "{";

        buf_add_text(&s->json, before);
        before = ",";
        json_write_string(&s->json, member->key);
        buf_add_byte(&s->json, ':');
        if (!span_is(member->key, "arguments") || member->type != YAML_MAP || member->count == 0) {
            code = yaml_to_json(member, &s->json);
            continue;
        }
        for (const struct yaml_node *argument = member->child; argument != NULL && code == CODE_OK; argument = argument->next) {
            buf_add_text(&s->json, between);
            between = ",";
            json_write_string(&s->json, argument->key);
            buf_add_byte(&s->json, ':');
            code = write_argument(s, argument, plan_id);
        }
        buf_add_byte(&s->json, '}');
    }
    return code == CODE_OK ? buf_add_byte(&s->json, '}') : code;
}

static enum code write_steps(struct signing *s, const struct yaml_node *list, struct span plan_id)
{
    const char *before = "[";
    enum code code = CODE_OK;

    if (list->type != YAML_LIST || list->count == 0)
        return yaml_to_json(list, &s->json); /* what is wrong with it is said where plans are read */
    for (const struct yaml_node *step = list->child; step != NULL && code == CODE_OK; step = step->next) {
        buf_add_text(&s->json, before);
        before = ",";
        code = step->type == YAML_MAP && step->count > 0 ? write_step(s, step, plan_id) : yaml_to_json(step, &s->json);
    }
    return code == CODE_OK ? buf_add_byte(&s->json, ']') : code;
}

/* What a draft does not say: who signs it, an id, now, and that steps come in their order. */
static enum code write_plan(struct signing *s, const struct yaml_node *root, struct why *why)
{
    static const char *const texts[] = {"issuer", "principal", "tenant", NULL};
    const struct yaml_node *id = yaml_member(root, "id"), *order = yaml_member(root, "order");
    const struct yaml_node *steps = yaml_member(root, "steps");
    unsigned char random[ID_BYTES];
    struct buf made;
    struct span plan_id;
    enum code code;

    buf_init(&made, 64);
    random_bytes(random, sizeof random);
    base64url_encode(span_of(random, sizeof random), &made);
    plan_id = id != NULL ? id->text : buf_peek(&made);
    buf_add_text(&s->json, "{\"callgate_plan\":1,\"id\":");
    json_write_string(&s->json, plan_id);
    buf_add_text(&s->json, ",\"key\":");
    json_write_string(&s->json, s->id);
    buf_addf(&s->json, ",\"order\":");
    json_write_string(&s->json, order != NULL ? order->text : SPAN_LIT("strict"));
    for (size_t i = 0; texts[i] != NULL; i++) {
        const struct yaml_node *node = yaml_member(root, texts[i]);

        if (node == NULL)
            continue;
        buf_addf(&s->json, ",\"%s\":", texts[i]);
        yaml_to_json(node, &s->json);
    }
    code = write_times(s, root, why);
    if (code == CODE_OK && steps != NULL) {
        buf_add_text(&s->json, ",\"steps\":");
        code = write_steps(s, steps, plan_id);
    }
    buf_add_byte(&s->json, '}');
    buf_fini(&made);
    return code == CODE_OK ? buf_code(&s->json) : code;
}

static enum code sign_plan(struct signing *s, struct why *why)
{
    unsigned char signature[SIGN_BYTES];
    const struct json_node *root;
    struct json_fault fault = {0};
    struct buf canonical;
    enum code code;

    buf_init(&canonical, DRAFT_BYTES);
    code = json_read(buf_peek(&s->json), &json_file_rules, &canonical, &s->arena, &root, &fault);
    if (code != CODE_OK && code != CODE_NOMEM)
        code = why_set(why, code, "the draft cannot be written as JSON: %s",
                       fault.text != NULL ? fault.text : "it is too large");
    if (code == CODE_OK && (code = json_canonical(root, &s->text)) == CODE_INVALID)
        why_set(why, code, "a number of the draft is none that every reader of JSON reads alike; write it as a text");
    if (code == CODE_OK && buf_len(&s->text) > PLAN_TEXT_BYTES)
        code = why_set(why, CODE_INVALID, "the plan has %zu bytes and may have %d; name long arguments by `digest_of`",
                       buf_len(&s->text), PLAN_TEXT_BYTES);
    if (code == CODE_OK)
        code = plan_read_text(&s->text, &s->arena, &s->plan, why);
    if (code == CODE_OK)
        code = plan_sign(s->plan.text, s->key, signature);
    if (code == CODE_OK)
        code = plan_write(s->plan.text, signature, &s->shown);
    if (code == CODE_OK)
        code = buf_add_byte(&s->shown, '\n');
    buf_fini(&canonical);
    return code;
}

static int read_draft(struct signing *s, const char *path, struct yaml_tree **tree)
{
    static const char *const known[] = {"id", "issuer", "principal", "tenant", "not_before", "expires", "valid", "order",
                                        "steps", NULL};
    struct why why = {""};
    struct faults faults;
    enum code code = file_read(path, FILE_ANY, DRAFT_BYTES, &s->draft, &why);

    if (code != CODE_OK)
        return complain_why(code, &why);
    faults_init(&faults);
    code = yaml_read(buf_peek(&s->draft), path, tree, &faults);
    if (code == CODE_OK && yaml_root(*tree)->type != YAML_MAP)
        faults_add(&faults, path, 1, 1, "a draft of a plan is a map; write issuer, principal, tenant, valid and steps");
    else if (code == CODE_OK)
        yaml_check_keys(*tree, yaml_root(*tree), known, "a draft of a plan", &faults);
    if (code == CODE_NOMEM)
        return complain(STATUS_CANNOT, "%s", code_text(code));
    return faults.count > 0 ? complain_faults(&faults) : OPTIONS_GO;
}

int cmd_plan_sign(const struct asked *asked)
{
    struct signing s = {.asked = asked};
    char *draft = asked_operand(asked, 0);
    struct yaml_tree *tree = NULL;
    struct why why = {""};
    enum code code = CODE_OK;
    bool is_read;
    int status;

    signing_init(&s);
    status = read_draft(&s, draft, &tree);
    if (status == OPTIONS_GO) {
        code = read_key(&s, &why);
        is_read = code == CODE_OK;
        if (code == CODE_OK)
            code = write_plan(&s, yaml_root(tree), &why);
        if (code == CODE_OK)
            code = sign_plan(&s, &why);
        if (is_read && code != CODE_OK)
            why_before(&why, code, "%s: ", draft);
        if (code == CODE_OK && asked->output != NULL)
            code = file_replace(asked->output, 0600, buf_peek(&s.shown), &why);
        else if (code == CODE_OK)
            code = print_block(stdout, buf_peek(&s.shown));
        status = code == CODE_OK ? STATUS_DONE : complain_why(code, &why);
    }
    yaml_tree_free(&tree);
    signing_fini(&s);
    return status;
}

/* ---- check ---- */

struct checking {
    const struct asked *asked;
    struct explain_call call;
    int64_t time_us;
    struct plan plan;
    struct arena arena;
    struct buf file, text;
    struct doc *doc;
    int status;
};

/* A file that is not there says nothing about a plan: it is no negative answer. */
static enum code read_file(const char *path, struct buf *out, struct why *why)
{
    enum code code = file_read(path, FILE_ANY, DRAFT_BYTES, out, why);

    return code == CODE_OK || code == CODE_NOMEM ? code : CODE_IO;
}

/* As it is shown, or as the audit's event `plan` tells it. */
static enum code read_plan(struct checking *c, const char *path, struct why *why)
{
    const struct json_node *root = NULL, *plan, *signature;
    struct json_fault fault;
    struct buf canonical, shown;
    struct span rest;
    enum code code = read_file(path, &c->file, why);

    if (code != CODE_OK)
        return code;
    if (!span_starts_with(buf_peek(&c->file), SPAN_LIT("{")))
        return plan_read(span_cut(buf_peek(&c->file), '\n', &rest), &c->text, &c->arena, &c->plan, why);
    buf_init(&canonical, DRAFT_BYTES);
    buf_init(&shown, DRAFT_BYTES);
    code = json_read(buf_peek(&c->file), &json_file_rules, &canonical, &c->arena, &root, &fault);
    plan = json_member(root, SPAN_LIT("plan"));
    signature = json_member(root, SPAN_LIT("signature"));
    if (code != CODE_NOMEM && (plan == NULL || signature == NULL || json_canonical(plan, &c->text) == CODE_INVALID))
        code = why_set(why, CODE_INVALID, "%s holds no plan; write what `callgate plan sign` prints, or the detail of the "
                       "audit's event `plan`", path);
    if (code == CODE_OK) {
        base64url_encode(buf_peek(&c->text), &shown);
        buf_add_byte(&shown, '.');
        code = buf_add_span(&shown, signature->text);
        buf_clear(&c->text);
    }
    if (code == CODE_OK)
        code = plan_read(buf_peek(&shown), &c->text, &c->arena, &c->plan, why);
    buf_fini(&canonical);
    buf_fini(&shown);
    return code;
}

static enum code verify(struct checking *c, struct why *why)
{
    struct plan_keys keys;
    struct buf text;
    enum code code;

    buf_init(&text, DRAFT_BYTES);
    code = read_file(c->asked->keys, &text, why);
    if (code == CODE_OK) {
        code = plan_keys_read(buf_peek(&text), &c->arena, &keys, why);
        if (code == CODE_OK)
            code = plan_verify(&c->plan, &keys);
        if (code == CODE_NOT_FOUND)
            why_set(why, code, "none of the keys has the id `%.*s`; the gate would refuse the plan", SPAN_ARG(c->plan.key));
        if (code == CODE_DENIED)
            why_set(why, code, "the signature is not that of key `%.*s`; the gate would refuse the plan",
                    SPAN_ARG(c->plan.key));
    }
    buf_fini(&text);
    return code;
}

static const char *state_of(const struct checking *c)
{
    if (c->time_us >= c->plan.expires_us)
        return "ended";
    return c->time_us < c->plan.not_before_us - PLAN_LEEWAY_US ? "not begun" : "valid";
}

static void put_plan(struct checking *c)
{
    const struct plan *plan = &c->plan;
    char hex[2 * DIGEST_BYTES];
    struct doc *steps;

    num_hex(plan->digest, DIGEST_BYTES, hex);
    c->doc = doc_object();
    doc_text(c->doc, "plan", span_of(hex, sizeof hex));
    doc_text(c->doc, "plan_id", plan->id);
    doc_text(c->doc, "issuer", plan->issuer);
    doc_text(c->doc, "key", plan->key);
    doc_text(c->doc, "principal", plan->principal);
    doc_text(c->doc, "tenant", plan->tenant);
    print_time(c->doc, "not_before", plan->not_before_us);
    print_time(c->doc, "expires", plan->expires_us);
    doc_text(c->doc, "state", span_text(state_of(c)));
    doc_text(c->doc, "order", plan->is_strict ? SPAN_LIT("strict") : SPAN_LIT("any"));
    steps = doc_add_array(c->doc, "steps");
    for (uint32_t i = 0; i < plan->step_count; i++) {
        struct doc *step = doc_add_object(steps, NULL);

        doc_int(step, "step", i + 1);
        doc_text(step, "upstream", plan->step[i].upstream);
        doc_text(step, "tool", plan->step[i].tool);
        doc_json(step, "arguments", plan->step[i].arguments->raw);
        doc_int(step, "times", plan->step[i].times);
    }
}

/* What a test would not say of who calls is not compared. */
static bool is_other(struct span said, struct span planned)
{
    return said.at != policy_unsaid_name && !span_equals(said, planned);
}

static void check_call(struct checking *c)
{
    const struct question *question = &c->call.question;
    const struct plan *plan = &c->plan;
    struct doc *doc = doc_add_object(c->doc, "call"), *which = doc_add_array(doc, "steps");
    struct doc *all = doc_add_array(doc, "compared");
    bool is_foreign = is_other(question->principal, plan->principal) || is_other(question->tenant, plan->tenant);
    bool fits = false;

    for (uint32_t i = 0; i < plan->step_count; i++) {
        const char *differs = plan_step_differs(plan, &plan->step[i], question->upstream, question->tool, question->root);
        struct doc *one = doc_add_object(all, NULL);

        doc_int(one, "step", i + 1);
        doc_text_or_null(one, "differs", span_text(differs));
        if (differs == NULL)
            doc_int(which, NULL, i + 1);
        fits |= differs == NULL;
    }
    doc_bool(doc, "foreign", is_foreign);
    if (!fits || is_foreign)
        c->status = STATUS_NEGATIVE;
}

static const char words[] =
    "plan {plan} of {issuer}, signed by key {key}\n"
    "{state}: from {not_before:first 19} until {expires:first 19} UTC\n"
    "{principal} of tenant {tenant} may, in [{?order=strict}this][{!order=strict}any] order:\n"
    "{*steps}  {step}. call {tool} on {upstream}[{?arguments=any} with any arguments][{!arguments} without arguments]"
    "[{!arguments=any}{?arguments} with {*arguments}{@} [= {value:json}][{!value:json}{?open}of any value]"
    "[{!value:json}{!open}of one digest][{?optional:json} or left out]{/, }], "
    "[{?times=1}once][{!times=1}up to {times} times]\n{/}"
    "[{?call.foreign}the call is another principal's or tenant's\n]"
    "{*call.compared}the call is [{!differs}step {step}][{?differs}not step {step}: {differs}]\n{/}";

static int check(struct checking *c, const char *path)
{
    struct why why = {""};
    enum code code = read_plan(c, path, &why);

    if (code == CODE_OK)
        code = verify(c, &why);
    if (code == CODE_INVALID || code == CODE_NOT_FOUND || code == CODE_DENIED)
        return complain(STATUS_NEGATIVE, "%s", why.text);
    if (code != CODE_OK)
        return complain_why(code, &why);
    c->status = strcmp(state_of(c), "valid") == 0 ? STATUS_DONE : STATUS_NEGATIVE;
    put_plan(c);
    if (c->asked->call != NULL)
        check_call(c);
    else
        doc_null(c->doc, "call");
    return told_answer(&c->doc, c->asked->json, words) == STATUS_DONE ? c->status : STATUS_CANNOT;
}

int cmd_plan_check(const struct asked *asked)
{
    struct checking c = {.asked = asked, .time_us = asked->at_us != 0 ? asked->at_us : clock_wall_us()};
    int status = OPTIONS_GO;

    arena_init(&c.arena, TREE_BYTES);
    buf_init(&c.file, DRAFT_BYTES);
    buf_init(&c.text, DRAFT_BYTES);
    explain_call_init(&c.call, asked);
    if (asked->call != NULL)
        status = explain_call_make(&c.call);
    if (status == OPTIONS_GO)
        status = check(&c, asked_operand(asked, 0));
    explain_call_fini(&c.call);
    doc_free(&c.doc);
    buf_fini(&c.file);
    buf_fini(&c.text);
    arena_fini(&c.arena);
    return status;
}
