/* SPDX-License-Identifier: Apache-2.0 */
/* Hidden values (2.5): whatever a policy asks of a call, its verdict is one of those that two guesses at its hidden parts leave
 * open; and where nothing hidden was asked for, nothing was guessed. Random policies over random calls, of whose names and
 * circumstances some are hidden, too. */
#include "base/mem.h"
#include "judgement/judgement.h"
#include "language/language.h"
#include "policy/match.h"
#include "policy/policy.h"
#include "fakes/cm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define POLICIES 600
#define CALLS 40
#define STAND_IN "{\"dev.callgate/redacted\":\"hmac-sha256:00\"}"
#define HIDDEN_MAX 64

struct text {
    char at[16384];
    size_t len;
};

static unsigned draw_state;

static unsigned draw(unsigned below)
{
    draw_state = draw_state * 1664525 + 1013904223;
    return (draw_state >> 8) % below;
}

static const char *one_of(const char *const *words, size_t count)
{
    return words[draw((unsigned)count)];
}

#define ONE_OF(words) one_of(words, sizeof(words) / sizeof(words)[0])

static void say(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(struct text *text, const char *format, ...)
{
    va_list arguments;

    if (text == NULL)
        return;
    va_start(arguments, format);
    text->len += (size_t)vsnprintf(text->at + text->len, sizeof text->at - text->len, format, arguments);
    va_end(arguments);
    assert_true(text->len < sizeof text->at);
}

/* ---- calls: told twice, once with parts hidden ---- */

static const char *const names[] = {"a", "b", "c"};
static const char *const scalars[] = {"0", "1", "2.5", "9007199254740993", "\"\"", "\"x\"", "\"red\"", "\"/srv/a\"",
                                      "\"%78\"", "\"10.0.0.1\"", "null", "true", "false"};

static void say_call(struct text *whole, struct text *told, unsigned depth)
{
    unsigned count = draw(4), kind = depth > 2 ? 2 : draw(depth == 0 ? 1 : 4);
    bool hides = draw(7) == 0;
    struct text *inner = hides ? NULL : told;

    if (hides)
        say(told, STAND_IN);
    if (kind >= 2) {
        const char *value = ONE_OF(scalars);

        say(whole, "%s", value);
        say(inner, "%s", value);
        return;
    }
    say(whole, kind == 0 ? "{" : "[");
    say(inner, kind == 0 ? "{" : "[");
    for (unsigned i = 0; i < count && i < 3; i++) {
        if (kind == 0) {
            say(whole, "%s\"%s\":", i > 0 ? "," : "", names[i]);
            say(inner, "%s\"%s\":", i > 0 ? "," : "", names[i]);
        } else if (i > 0) {
            say(whole, ",");
            say(inner, ",");
        }
        say_call(whole, inner, depth + 1);
    }
    say(whole, kind == 0 ? "}" : "]");
    say(inner, kind == 0 ? "}" : "]");
}

/* ---- policies ---- */

static const char *const paths[] = {"a", "b", "c", "$.a.b", "$.a.a", "'$.*'", "'$..*'", "'$..a'", "'$.a[*]'", "'$.a[*].b'",
                                    "'$.b[0]'", "'$.b[-1]'", "'$.a[0:2]'", "$"};
static const char *const operators[] = {
    "equals: 1", "equals: x", "equals: {a: 1}", "equals: []", "in: [1, x, null]", "in: [red, {b: 1}]", "is: string", "is: integer",
    "is: object", "is: array", "is: 'null'", "is: boolean", "min: 1", "max: 1", "min_length: 1", "max_length: 2", "min_items: 1",
    "max_items: 1", "matches: 'x|red'", "not_matches: 'x|red'", "starts_with: r", "ends_with: d", "contains: x", "contains: 1",
    "glob: 'r*'", "under: /srv", "cidr: 10.0.0.0/8", "format: ipv4", "sql: {statements: [select]}", "matches: x, decode: [percent, json]",
    "equals: x, decode: [percent]", "is: string, min_length: 1", "keys: true, in: [a, b]", "keys: true, equals: c",
    "keys: true, matches: 'a|b'"};

static const char *const joinable[] = {"'$.*'", "'$..*'", "'$..a'", "'$.a[*]'", "'$.a[0:2]'"};
static const char *const of_text[] = {"contains: 1", "contains: xr", "max_length: 3", "matches: 'x?red'", "equals: x, decode: [percent]",
                                      "keys: true, contains: ab"};

static void say_condition(struct text *text, bool permit, unsigned depth)
{
    unsigned kind = depth > 2 ? 0 : draw(9);

    if (kind == 1) {
        say(text, "{not: ");
        say_condition(text, permit, depth + 1);
        say(text, "}");
        return;
    }
    if (kind == 2 || kind == 3) {
        say(text, kind == 2 ? "{any: [" : "{all: [");
        say_condition(text, permit, depth + 1);
        say(text, ", ");
        say_condition(text, permit, depth + 1);
        say(text, "]}");
        return;
    }
    if (kind == 4) {
        say(text, "{arg: %s, exists: %s}", ONE_OF(paths), draw(2) ? "true" : "false");
        return;
    }
    if (kind == 8) {
        say(text, "{client: [10.0.0.0/8]}");
        return;
    }
    if (kind == 5)
        say(text, "{arg: %s, joined: true, %s", ONE_OF(joinable), ONE_OF(of_text));
    else
        say(text, "{arg: %s, %s", ONE_OF(paths), ONE_OF(operators));
    if (draw(4) == 0)
        say(text, ", quantify: %s", draw(2) ? "every" : "any");
    if (draw(3) == 0)
        say(text, permit ? ", optional: true" : ", absent: applies");
    say(text, "}");
}

/* What a rule asks of who calls: exact names, by which rules are found, and others. */
static void say_who(struct text *text)
{
    static const char *const who[] = {"", "", ", principals: [ada]", ", principals: [bob, ada]", ", principals: ['a*']",
                                      ", agents: [desk]", ", agents: ['*']", ", tenants: [acme]", ", groups: [staff]",
                                      ", paths: ['/x/*']", ", principals: [bob], groups: [staff, ops]"};

    say(text, "%s", ONE_OF(who));
}

static void say_policy(struct text *text)
{
    static const char *const effects[] = {"permit", "permit", "permit", "forbid", "require_approval"};
    unsigned count = 1 + draw(4);

    say(text, "policy: p\nrules:\n");
    for (unsigned i = 0; i < count; i++) {
        const char *effect = effects[i == 0 ? 0 : draw(5)];
        bool permit = strcmp(effect, "permit") == 0;

        say(text, "  - {id: r%u, effect: %s, match: {tools: ['*']", i, effect);
        say_who(text);
        say(text, "}, when: [");
        say_condition(text, permit, 0);
        if (draw(2)) {
            say(text, ", ");
            say_condition(text, permit, 0);
        }
        say(text, "]%s}\n", permit && draw(4) == 0 ? ", only_args: [a, b]" : "");
    }
}

/* ---- judging ---- */

struct court {
    struct policy *policy;
    struct policy_scratch *scratch;
    struct arena arena;
    struct buf out;
    const struct json_node *nodes[HIDDEN_MAX];
    struct question_hidden hidden;
    struct verdict verdict;
    struct question who; /* its names */
    uint32_t names;      /* the hidden ones */
    bool around;
};

/* Somebody calls, from somewhere; of some of that nothing is known later. */
static void draw_who(struct court *court)
{
    static const struct span some[DIM_COUNT][3] = {
        [DIM_TENANT] = {SPAN_LIT("t"), SPAN_LIT("acme"), SPAN_LIT("t")},
        [DIM_PRINCIPAL] = {SPAN_LIT("ada"), SPAN_LIT("bob"), SPAN_LIT("eve")},
        [DIM_AGENT] = {SPAN_LIT("desk"), SPAN_LIT(""), SPAN_LIT("other")},
        [DIM_PATH] = {SPAN_LIT("/x/y"), SPAN_LIT(""), SPAN_LIT("/z")},
        [DIM_GROUP] = {SPAN_LIT("staff"), SPAN_LIT("ops"), SPAN_LIT("staff")},
    };

    court->who = (struct question){.upstream = SPAN_LIT("u"), .method = SPAN_LIT("tools/call"), .tool = SPAN_LIT("tool"),
                                   .client = draw(2) ? SPAN_LIT("10.1.2.3") : SPAN_LIT("192.0.2.1")};
    for (enum dimension d = DIM_TENANT; d < DIM_HELD; d++)
        if (some[d][0].at != NULL)
            *question_place(&court->who, d) = some[d][draw(3)];
    court->who.groups = some[DIM_GROUP];
    court->who.group_count = draw(3);
    court->names = 0;
    for (enum dimension d = DIM_TENANT; d < DIM_COUNT; d++)
        court->names |= (uint32_t)(some[d][0].at != NULL && draw(3) == 0) << d;
    court->around = draw(3) == 0;
}

static void hide_who(const struct court *court, struct question *question)
{
    for (enum dimension d = DIM_TENANT; d < DIM_HELD; d++)
        if ((court->names >> d & 1) != 0)
            *question_place(question, d) = SPAN_NONE;
    if ((court->names >> DIM_GROUP & 1) != 0 && question->group_count > 0)
        question->group_count--;
    if (court->around)
        question->client = SPAN_NONE;
}

static const struct json_node *read_call(struct court *court, const struct text *text)
{
    const struct json_node *root;
    struct json_fault fault;

    arena_reset(&court->arena);
    buf_clear(&court->out);
    if (json_read(span_of(text->at, text->len), &json_file_rules, &court->out, &court->arena, &root, &fault) != CODE_OK)
        fail_msg("%s: %s", text->at, fault.text);
    return root;
}

static void find_hidden(struct court *court, const struct json_node *node)
{
    if (node->count == 1 && node->type == JSON_OBJECT && span_is(node->child->key, "dev.callgate/redacted")) {
        assert_true(court->hidden.count < HIDDEN_MAX);
        court->nodes[court->hidden.count++] = node;
        return;
    }
    for (const struct json_node *child = node->child; child != NULL; child = child->next)
        find_hidden(court, child);
}

/* Of the held ones some were granted, some refused, of some nothing was said. */
static enum policy_known was_granted(void *context, const struct question *question, struct span rule, struct span rule_hash)
{
    static const enum policy_known said[] = {POLICY_UNKNOWN, POLICY_YES, POLICY_NO, POLICY_YES};

    (void)context;
    (void)question;
    (void)rule_hash;
    return said[(unsigned)rule.at[1] % 4];
}

static enum verdict_kind judge(struct court *court, const struct text *text, bool is_hidden, bool favours_permit)
{
    static const struct policy_past past = {.is_granted = was_granted};
    struct question question = court->who;

    question.root = read_call(court, text);
    question.state.past = &past;
    if (is_hidden) {
        court->hidden = (struct question_hidden){.nodes = court->nodes, .names = court->names, .around = court->around,
                                                 .favours_permit = favours_permit};
        hide_who(court, &question);
        find_hidden(court, question.root);
        question.hidden = &court->hidden;
    }
    policy_eval(court->policy, &question, false, court->scratch, &court->verdict);
    return court->verdict.kind;
}

/* Returns: whether the guesses came to one verdict. */
static bool compare(struct court *court, const struct text *policy, const struct text *whole, const struct text *told)
{
    static struct verdict low;
    enum verdict_kind real;
    unsigned possible;

    (void)judge(court, told, true, false);
    low = court->verdict;
    (void)judge(court, told, true, true);
    possible = policy_possible(&low, &court->verdict);
    if (!low.guessed && possible != 1U << low.kind)
        fail_msg("%s\n%s\nnothing was guessed, but %u verdicts are left open", policy->at, told->at, possible);
    real = judge(court, whole, false, false);
    if ((possible & 1U << real) == 0 || (possible & 1U << low.kind) == 0)
        fail_msg("%s\n%s\n%s\nis %s, which %x rules out", policy->at, whole->at, told->at, verdict_text(real), possible);
    return low.guessed && possible == 1U << low.kind;
}

TEST_CASE(test_guesses_bound_every_verdict)
{
    static struct text policy, whole, told;
    static struct court court;
    unsigned agreed = 0;

    arena_init(&court.arena, 1 << 24);
    buf_init(&court.out, 1 << 20);
    assert_int_equal(policy_scratch_new(&court.scratch), CODE_OK);
    for (unsigned i = 0; i < POLICIES; i++) {
        struct policy_file file = {.path = SPAN_LIT("p.yaml")};
        struct faults faults;

        draw_state = i * 7919 + 13;
        policy.len = 0;
        say_policy(&policy);
        file.text = span_of(policy.at, policy.len);
        faults_init(&faults);
        if (policy_compile(&file, 1, 1, &court.policy, &faults, NULL) != CODE_OK)
            fail_msg("%d: %s\n%s", faults.fault[0].line, faults.fault[0].text, policy.at);
        for (unsigned call = 0; call < CALLS; call++) {
            whole.len = told.len = 0;
            say_call(&whole, &told, 0);
            draw_who(&court);
            agreed += compare(&court, &policy, &whole, &told);
        }
        policy_unref(&court.policy);
    }
    assert_true(agreed > POLICIES); /* not all that is hidden matters */
    policy_scratch_free(&court.scratch);
    buf_fini(&court.out);
    arena_fini(&court.arena);
}

TEST_MAIN(NULL, NULL)
