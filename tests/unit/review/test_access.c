/* SPDX-License-Identifier: Apache-2.0 */
/* P218 (15.9): what `policy access` says of a principal, a group or an agent and a tool is what their calls get: random policies,
 * and random calls through a gate's state, with limits, sequences, times and addresses. */
#include "base/mem.h"
#include "language/language.h"
#include "policy/match.h"
#include "policy/snapshot.h"
#include "review/access.h"
#include "state/state.h"
#include "fakes/cm.h"

#include <stdio.h>
#include <string.h>

#define POLICIES 500
#define CALLS 60
#define NOW_US INT64_C(1800000000000000)

static unsigned draw_state;

static unsigned draw(unsigned below)
{
    draw_state = draw_state * 1664525 + 1013904223;
    return (draw_state >> 8) % below;
}

#define ONE_OF(words) (words)[draw((unsigned)(sizeof(words) / sizeof(words)[0]))]

/* ---- policies ---- */

struct text {
    char at[16384];
    size_t len;
};

static void say(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(struct text *text, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    text->len += (size_t)vsnprintf(text->at + text->len, sizeof text->at - text->len, format, arguments);
    va_end(arguments);
    assert_true(text->len < sizeof text->at);
}

/* What such a rule asks of the call; rules that open and those that close are drawn from the same. */
static void say_rule(struct text *text, unsigned number)
{
    static const char *const effects[] = {"permit", "permit", "permit", "forbid", "require_approval"};
    static const char *const who[] = {"", "", "", ", principals: [ada]", ", principals: ['b*']", ", principals: [bob, eve]",
                                      ", groups: [staff]", ", groups: [ops, 'st*']", ", agents: [desk]", ", tenants: [acme]",
                                      ", scopes: [pay]", ", labels: [money]", ", principals: [ada], agents: [desk]"};
    static const char *const tools[] = {"[pay]", "[pay, read]", "['*']", "['r*']"};
    static const char *const conditions[] = {"{arg: n, max: 5}", "{arg: n, exists: false}", "{not: {arg: n, equals: 3}}",
                                             "{client: [10.0.0.0/8]}", "{during: {days: [mon, tue], hours: '08:00-18:00', zone: UTC}}",
                                             "{session: {called: [read], within: 1h, by: principal}}", "{claim: level, equals: high}",
                                             "{meta: trace, exists: true}"};
    const char *effect = effects[number == 0 ? 0 : draw(5)];
    const bool is_permit = strcmp(effect, "permit") == 0;

    say(text, "  - {id: r%u, effect: %s, match: {tools: %s%s}", number, effect, ONE_OF(tools), ONE_OF(who));
    if (draw(3) == 0)
        say(text, ", when: [%s]", ONE_OF(conditions));
    if (is_permit && draw(5) == 0)
        say(text, ", only_args: [n]");
    if (is_permit && draw(4) == 0)
        say(text, ", limit: {calls: %u, per: hour, by: [%s]%s}", 1 + draw(4), draw(2) ? "principal" : "tenant",
            draw(3) == 0 ? ", over: require_approval" : "");
    say(text, "}\n");
}

static struct policy *compile(const struct text *text)
{
    const struct policy_file file = {.path = SPAN_LIT("p.yaml"), .text = span_of(text->at, text->len)};
    struct policy *policy = NULL;
    struct faults faults;

    faults_init(&faults);
    if (policy_compile(&file, 1, 1, &policy, &faults, NULL) != CODE_OK)
        fail_msg("%d: %s\n%s", faults.fault[0].line, faults.fault[0].text, text->at);
    return policy;
}

static struct policy *draw_policy(struct text *text)
{
    text->len = 0;
    say(text, "policy: p\nlabels: {money: [{tools: [pay], upstreams: [shop]}]}\nrules:\n");
    for (unsigned i = 0, count = 1 + draw(5); i < count; i++)
        say_rule(text, i);
    return compile(text);
}

/* ---- calls ---- */

static const struct span groups[] = {SPAN_LIT("staff"), SPAN_LIT("ops")}, scopes[] = {SPAN_LIT("pay")};

struct court {
    struct policy *policy;
    struct policy_scratch *scratch;
    struct gate_state *state;
    struct arena arena;
    struct buf canonical;
    int64_t now_us;
    unsigned certain[3]; /* answers without a condition, by verdict */
};

static struct question draw_call(struct court *court)
{
    static const struct span tenants[] = {SPAN_LIT("acme"), SPAN_LIT("beta")}, agents[] = {SPAN_LIT("desk"), SPAN_LIT("")};
    static const struct span people[] = {SPAN_LIT("ada"), SPAN_LIT("bob"), SPAN_LIT("eve")};
    static const struct span tools[] = {SPAN_LIT("pay"), SPAN_LIT("read"), SPAN_LIT("other")};
    static const struct span clients[] = {SPAN_LIT("10.1.2.3"), SPAN_LIT("192.0.2.7")};
    static const struct span arguments[] = {SPAN_LIT("{}"), SPAN_LIT("{\"n\":3}"), SPAN_LIT("{\"n\":7}"), SPAN_LIT("{\"m\":1,\"n\":1}")};
    struct question question = {.tenant = ONE_OF(tenants), .principal = ONE_OF(people), .agent = ONE_OF(agents),
                                .groups = groups, .group_count = draw(3), .scopes = scopes, .scope_count = draw(2),
                                .upstream = SPAN_LIT("shop"), .method = SPAN_LIT("tools/call"), .tool = ONE_OF(tools),
                                .client = ONE_OF(clients), .is_agent_judged = draw(3) == 0};
    struct json_fault fault;

    court->now_us += (int64_t)draw(1200) * 1000000;
    question.time_us = court->now_us;
    arena_reset(&court->arena);
    buf_clear(&court->canonical);
    assert_int_equal(json_read(ONE_OF(arguments), &json_file_rules, &court->canonical, &court->arena, &question.root, &fault), CODE_OK);
    return question;
}

/* As a gate does it. */
static enum verdict_kind judge(struct court *court, struct question *question, struct span *rule)
{
    struct gate_moment moment = {.state = court->state, .now_us = court->now_us};
    static struct verdict verdict;
    struct gate_token token;
    struct policy_met met;

    gate_state_judge(&moment, court->policy, question, false, court->scratch, &verdict, &token);
    gate_token_spend(&token);
    *rule = verdict.rule;
    if (verdict.kind == VERDICT_PERMIT) {
        met = gate_met(&verdict);
        gate_state_note(&moment, court->policy, question, &met);
    }
    return verdict.kind;
}

static void hold_against(struct court *court, const struct text *policy, const struct access_who *who,
                         const struct question *question, enum verdict_kind real, struct span rule)
{
    struct access_answer answer;

    access_ask(court->policy, court->scratch, who, question->is_agent_judged ? ACCESS_AGENT_JUDGED : ACCESS_PERSON_JUDGED,
               question->upstream, question->tool, question->time_us, &answer);
    if ((answer.may >> real & 1) == 0)
        fail_msg("%s\n%s %.*s may call %.*s: %s, but a call of %.*s got %s by %.*s", policy->at, access_kind_text(who->kind),
                 SPAN_ARG(who->name), SPAN_ARG(question->tool), access_text(answer.may), SPAN_ARG(question->principal),
                 verdict_text(real), SPAN_ARG(rule));
    if ((answer.may & (answer.may - 1)) == 0)
        court->certain[real]++;
    else if (answer.count == 0)
        fail_msg("%s\nit depends on nothing", policy->at);
}

static void ask_all(struct court *court, const struct text *policy, const struct question *question, enum verdict_kind real,
                    struct span rule)
{
    struct access_who who = {.kind = ACCESS_PRINCIPAL, .tenant = question->tenant, .name = question->principal, .is_known = true,
                             .groups = question->groups, .group_count = question->group_count, .scopes = question->scopes,
                             .scope_count = question->scope_count};

    hold_against(court, policy, &who, question, real, rule);
    who = (struct access_who){.kind = ACCESS_PRINCIPAL, .tenant = question->tenant, .name = question->principal};
    hold_against(court, policy, &who, question, real, rule);
    who.tenant = SPAN_NONE;
    hold_against(court, policy, &who, question, real, rule);
    for (uint32_t i = 0; i < question->group_count; i++) {
        who = (struct access_who){.kind = ACCESS_GROUP, .tenant = question->tenant, .name = question->groups[i]};
        hold_against(court, policy, &who, question, real, rule);
    }
    if (question->agent.len > 0) {
        who = (struct access_who){.kind = ACCESS_AGENT, .tenant = question->tenant, .name = question->agent};
        hold_against(court, policy, &who, question, real, rule);
    }
}

TEST_CASE(test_access_is_what_calls_get)
{
    static struct text policy;
    struct court court = {.now_us = NOW_US};

    arena_init(&court.arena, 1 << 20);
    buf_init(&court.canonical, 1 << 16);
    assert_int_equal(policy_scratch_new(&court.scratch), CODE_OK);
    assert_int_equal(gate_state_new(GATE_STATE_BYTES, NULL, &court.state), CODE_OK);
    for (unsigned i = 0; i < POLICIES; i++) {
        draw_state = i * 7919 + 17;
        court.policy = draw_policy(&policy);
        gate_state_clear(court.state);
        for (unsigned call = 0; call < CALLS; call++) {
            struct question question = draw_call(&court);
            struct span rule;
            enum verdict_kind real = judge(&court, &question, &rule);

            ask_all(&court, &policy, &question, real, rule);
        }
        policy_unref(&court.policy);
    }
    for (enum verdict_kind kind = VERDICT_DENY; kind <= VERDICT_PERMIT; kind++)
        assert_true(court.certain[kind] > POLICIES); /* not all of it depends */
    gate_state_free(&court.state);
    policy_scratch_free(&court.scratch);
    buf_fini(&court.canonical);
    arena_fini(&court.arena);
}

/* What a condition is asked of is said: an argument's value, names in it, or links. */
TEST_CASE(test_conditions_in_words)
{
    static const char *const conditions[][2] = {
        {"{arg: n, max: 5}", "`n` max 5"},
        {"{arg: n, keys: true, in: [a]}", "a name in `n` in [a]"},
        {"{arg: n, links: true, contains: x}", "a link in `n` contains x"},
        {"{meta: n, keys: true, in: [a]}", "a name in meta `n` in [a]"},
        {"{not: {any: [{arg: n, equals: 3}, {claim: m, equals: 4}]}}", "not ((`n` equals 3 or claim `m` equals 4))"},
    };
    const struct access_who ada = {.kind = ACCESS_PRINCIPAL, .name = SPAN_LIT("ada")};
    static struct text policy;
    struct buf words;

    buf_init(&words, 1 << 12);
    for (size_t i = 0; i < sizeof conditions / sizeof conditions[0]; i++) {
        struct policy *compiled;

        policy.len = 0;
        say(&policy, "policy: p\nrules:\n  - {id: r, effect: forbid, match: {tools: [pay]}, when: [%s]}\n", conditions[i][0]);
        compiled = compile(&policy);
        buf_clear(&words);
        access_condition(&words, &ada, policy_rule_by_id(compiled, SPAN_LIT("r")));
        assert_true(buf_add_byte(&words, '\0') == CODE_OK);
        assert_string_equal(buf_peek(&words).at, conditions[i][1]);
        policy_unref(&compiled);
    }
    buf_fini(&words);
}

TEST_MAIN(NULL, NULL)
