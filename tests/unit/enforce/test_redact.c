/* SPDX-License-Identifier: Apache-2.0 */
#include "enforce/gate_priv.h"

#include "base/mem.h"
#include "base/num.h"
#include "language/language.h"
#include "fakes/cm.h"

#include <stdio.h>
#include <string.h>

static const unsigned char key[DIGEST_BYTES] = "a key of thirty-two bytes .....";

struct bench {
    struct record_text text;
    struct arena arena;
    struct buf canonical;
    const struct json_node *root;
    const struct json_node *redact[16];
    struct verdict verdict;
};

static int make_bench(void **state)
{
    struct bench *bench = mem_zalloc(sizeof *bench);

    arena_init(&bench->arena, 1 << 24);
    buf_init(&bench->canonical, 1 << 24);
    assert_int_equal(gate__record_text_init(&bench->text), CODE_OK);
    bench->verdict.redact = bench->redact;
    *state = bench;
    return 0;
}

static int drop_bench(void **state)
{
    struct bench *bench = *state;

    gate__record_text_fini(&bench->text);
    buf_fini(&bench->canonical);
    arena_fini(&bench->arena);
    mem_free(bench);
    return 0;
}

static void read_arguments(struct bench *bench, const char *json)
{
    struct json_fault fault;

    assert_int_equal(json_read(span_text(json), &json_request_rules, &bench->canonical, &bench->arena, &bench->root, &fault),
                     CODE_OK);
}

/* What must stand for a value, worked out a second way. */
static void expect_for(const char *value, char out[128])
{
    unsigned char mac[DIGEST_BYTES];
    char hex[2 * DIGEST_BYTES];

    hmac_of(span_of(key, sizeof key), span_text(value), mac);
    num_hex(mac, sizeof mac, hex);
    snprintf(out, 128, "{\"dev.callgate/redacted\":\"hmac-sha256:%.64s\"}", hex);
}

static struct span recorded(struct bench *bench, bool *redacted)
{
    *redacted = false;
    return gate__arguments_text(&bench->text, key, bench->root, &bench->verdict, redacted);
}

TEST_CASE_WITH(without_redactions_the_canonical_bytes_are_recorded, make_bench, drop_bench)
{
    struct bench *bench = *state;
    bool redacted;

    read_arguments(bench, "{ \"a\" : 1.50 , \"b\":\"x\" }");
    assert_true(span_is(recorded(bench, &redacted), "{\"a\":1.50,\"b\":\"x\"}"));
    assert_false(redacted);
    bench->root = NULL;
    assert_null(recorded(bench, &redacted).at);
}

TEST_CASE_WITH(values_are_replaced_where_they_stand, make_bench, drop_bench)
{
    struct bench *bench = *state;
    char one[128], two[128], expected[512];
    bool redacted;

    read_arguments(bench, "{\"user\":\"u\",\"password\":\"hunter2\",\"auth\":{\"token\":[1,2]},\"z\":true}");
    bench->redact[0] = json_member(bench->root, SPAN_LIT("password"));
    bench->redact[1] = json_at(bench->root, "auth", "token", NULL);
    bench->verdict.redact_count = 2;
    expect_for("\"hunter2\"", one);
    expect_for("[1,2]", two);
    snprintf(expected, sizeof expected, "{\"user\":\"u\",\"password\":%s,\"auth\":{\"token\":%s},\"z\":true}", one, two);
    assert_true(span_is(recorded(bench, &redacted), expected));
    assert_true(redacted);
}

TEST_CASE_WITH(what_lies_inside_a_replaced_value_goes_with_it, make_bench, drop_bench)
{
    struct bench *bench = *state;
    char one[128], expected[256];
    bool redacted;

    read_arguments(bench, "{\"auth\":{\"token\":\"t\"}}");
    bench->redact[0] = json_member(bench->root, SPAN_LIT("auth"));
    bench->redact[1] = json_at(bench->root, "auth", "token", NULL);
    bench->verdict.redact_count = 2;
    expect_for("{\"token\":\"t\"}", one);
    snprintf(expected, sizeof expected, "{\"auth\":%s}", one);
    assert_true(span_is(recorded(bench, &redacted), expected));
}

TEST_CASE_WITH(a_redaction_that_cannot_be_decided_redacts_all, make_bench, drop_bench)
{
    struct bench *bench = *state;
    struct json_node elsewhere = {.raw = SPAN_LIT("\"not in these arguments\"")};
    char whole[128];
    bool redacted;

    read_arguments(bench, "{\"password\":\"hunter2\"}");
    expect_for("{\"password\":\"hunter2\"}", whole);
    bench->verdict.redact_all = true;
    assert_true(span_is(recorded(bench, &redacted), whole));
    assert_true(redacted);
    bench->verdict.redact_all = false;
    bench->redact[0] = &elsewhere;
    bench->verdict.redact_count = 1;
    assert_true(span_is(recorded(bench, &redacted), whole));
}

/* Each stand-in costs a digest and a hundred bytes: an agent does not choose how many. */
/* 4.10: other members of params are redacted where they stand, or as one; the query as a whole */
TEST_CASE_WITH(params_and_queries_are_replaced, make_bench, drop_bench)
{
    static const struct json_node elsewhere = {.raw = {"x", 1}};
    struct bench *bench = *state;
    struct verdict *verdict = &bench->verdict;
    struct json_node made;
    bool redacted = false;
    char stand_in[128], expected[512];

    read_arguments(bench, "{\"note\":{\"pin\":1,\"b\":[2]},\"_meta\":{\"t\":\"s\",\"u\":3}}");
    made = *bench->root;
    made.raw = SPAN_LIT("{made of members}");
    assert_true(span_is(gate__params_text(&bench->text, key, &made, verdict, &redacted), "{made of members}"));
    assert_true(span_is(gate__query_text(&bench->text, key, SPAN_LIT("q=1"), verdict, &redacted), "q=1"));
    assert_false(redacted);
    assert_null(gate__params_text(&bench->text, key, NULL, verdict, &redacted).at);
    verdict->redact_params = bench->redact;
    verdict->redact_param_count = 1;
    bench->redact[0] = json_at(bench->root, "_meta", "t", NULL);
    expect_for("\"s\"", stand_in);
    snprintf(expected, sizeof expected, "{\"note\":{\"pin\":1,\"b\":[2]},\"_meta\":{\"t\":%s,\"u\":3}}", stand_in);
    assert_true(span_is(gate__params_text(&bench->text, key, &made, verdict, &redacted), expected));
    assert_true(redacted);
    expect_for("{made of members}", stand_in);
    bench->redact[0] = &elsewhere;
    assert_true(span_is(gate__params_text(&bench->text, key, &made, verdict, &redacted), stand_in));
    bench->redact[0] = &made;
    assert_true(span_is(gate__params_text(&bench->text, key, &made, verdict, &redacted), stand_in));
    verdict->redact_param_count = 0;
    verdict->redact_all = true;
    assert_true(span_is(gate__params_text(&bench->text, key, &made, verdict, &redacted), stand_in));
    expect_for("q=1", stand_in);
    assert_true(span_is(gate__query_text(&bench->text, key, SPAN_LIT("q=1"), verdict, &redacted), stand_in));
    verdict->redact_all = redacted = false;
    verdict->redact_query = true;
    assert_true(span_is(gate__query_text(&bench->text, key, SPAN_LIT("q=1"), verdict, &redacted), stand_in));
    assert_true(redacted);
    assert_int_equal(gate__query_text(&bench->text, key, SPAN_LIT(""), verdict, &redacted).len, 0);
}

static void expect_named(struct bench *bench, struct span query, const char *expected)
{
    const struct call call = {.asked = {.root = bench->root, .params = bench->root, .query = query}, .verdict = bench->verdict};
    struct span named = gate__redacted_text(&bench->text, &call);

    if (!span_is(named, expected))
        fail_msg("%.*s in place of %s", SPAN_ARG(named), expected);
}

/* 7.8: whoever is asked learns which values the audit does not show. */
TEST_CASE_WITH(what_is_redacted_has_a_name, make_bench, drop_bench)
{
    struct bench *bench = *state;
    struct verdict *verdict = &bench->verdict;
    const struct json_node *list;

    read_arguments(bench, "{\"a b\":1,\"auth\":{\"token\":[1,{\"x\":2}],\"to\\\"ken\":3},\"z\":[\"u\",\"v\"]}");
    expect_named(bench, SPAN_LIT("q"), "");
    list = json_at(bench->root, "auth", "token", NULL);
    bench->redact[0] = json_member(bench->root, SPAN_LIT("a b"));
    bench->redact[1] = list;
    bench->redact[2] = json_member(list->child->next, SPAN_LIT("x")); /* inside of that one */
    bench->redact[3] = list->next;
    bench->redact[4] = json_member(bench->root, SPAN_LIT("z"))->child->next;
    verdict->redact_count = 5;
    verdict->redact_query = true;
    expect_named(bench, SPAN_NONE,
                 "[\"$[\\\"a b\\\"]\",\"$.auth.token\",\"$.auth[\\\"to\\\\\\\"ken\\\"]\",\"$.z[1]\"]");
    verdict->redact_count = 0;
    verdict->redact_param_count = 1;
    expect_named(bench, SPAN_LIT("q"), "[\"query\",\"params\"]");
    verdict->redact_all = true;
    expect_named(bench, SPAN_LIT("q"), "[\"$\",\"query\",\"params\"]");
}

/* 7.8: an agent chooses the names: where they are too long or too many, all counts as redacted, and none is left out. */
TEST_CASE_WITH(names_without_end_are_all, make_bench, drop_bench)
{
    struct bench *bench = *state;
    struct buf text;

    buf_init(&text, 1 << 20);
    buf_add_text(&text, "{\"");
    for (int i = 0; i < 5000; i++)
        buf_add_byte(&text, 'k');
    buf_add_text(&text, "\":{\"x\":1},\"y\":2}");
    buf_add_byte(&text, '\0');
    assert_int_equal(buf_code(&text), CODE_OK);
    read_arguments(bench, buf_peek(&text).at);
    bench->redact[0] = bench->root->child->child;
    bench->redact[1] = bench->root->child->next;
    bench->verdict.redact_count = 2;
    expect_named(bench, SPAN_NONE, "[\"$\"]");
    buf_fini(&text);
}

TEST_CASE_WITH(very_many_redactions_redact_all, make_bench, drop_bench)
{
    struct bench *bench = *state;
    const struct json_node *many[1001], *node;
    char json[2004] = "[", all[128];
    bool redacted;
    size_t count = 0;

    for (size_t i = 0; i < 1001; i++)
        memcpy(json + 1 + 2 * i, i < 1000 ? "1," : "1]", 2);
    json[2003] = '\0';
    read_arguments(bench, json);
    for (node = bench->root->child; node != NULL; node = node->next)
        many[count++] = node;
    bench->verdict.redact = many;
    bench->verdict.redact_count = 1000;
    assert_true(recorded(bench, &redacted).len > 100000);
    bench->verdict.redact_count = 1001;
    expect_for(json, all);
    assert_true(span_is(recorded(bench, &redacted), all));
    assert_true(redacted);
}

TEST_CASE_WITH(without_memory_nothing_secret_is_recorded, make_bench, drop_bench)
{
    struct bench *bench = *state;
    bool redacted;

    read_arguments(bench, "{\"password\":\"hunter2\",\"other\":\"plain\"}");
    bench->redact[0] = json_member(bench->root, SPAN_LIT("password"));
    bench->verdict.redact_count = 1;
    for (uint64_t n = 1; n <= 8; n++) {
        struct span text;

        buf_fini(&bench->text.arguments);
        mem_fail_at(n, 1);
        text = recorded(bench, &redacted);
        mem_fail_at(0, 0);
        assert_true(redacted);
        assert_true(span_starts_with(text, SPAN_LIT("{\"")));
        assert_null(memmem(text.at, text.len, "hunter2", 7));
    }
}

static const struct approval_marks no_marks;

TEST_CASE_WITH(rules_and_monitors_are_named, make_bench, drop_bench)
{
    struct bench *bench = *state;
    struct verdict *verdict = &bench->verdict;

    assert_true(span_is(gate__rules_text(&bench->text, verdict, &no_marks), "[]"));
    assert_null(gate__monitor_text(&bench->text, verdict).at);
    verdict->rules[0] = (struct verdict_rule){.id = SPAN_LIT("guard.\"sql\""), .effect = EFFECT_FORBID};
    verdict->rules[1] = (struct verdict_rule){.id = SPAN_LIT("open"), .effect = EFFECT_PERMIT, .monitor = true, .limited = true};
    verdict->rule_count = 2;
    verdict->has_monitor = true;
    verdict->monitor_kind = VERDICT_PERMIT;
    verdict->monitor_rule = SPAN_LIT("open");
    assert_true(span_is(gate__rules_text(&bench->text, verdict, &no_marks),
                        "[{\"id\":\"guard.\\\"sql\\\"\",\"effect\":\"forbid\",\"monitor\":false},"
                        "{\"id\":\"open\",\"effect\":\"permit\",\"monitor\":true,\"limited\":true}]"));
    assert_true(span_is(gate__monitor_text(&bench->text, verdict), "{\"verdict\":\"permit\",\"rule\":\"open\"}"));
    verdict->monitor_rule = SPAN_NONE;
    assert_true(span_is(gate__monitor_text(&bench->text, verdict), "{\"verdict\":\"permit\",\"rule\":null}"));
}

/* However many rules with however long names: it stays JSON, and the rest is counted. */
TEST_CASE_WITH(too_many_rules_are_counted, make_bench, drop_bench)
{
    struct bench *bench = *state;
    struct verdict *verdict = &bench->verdict;
    const struct json_node *root, *last;
    struct json_fault fault;
    static char name[2000];

    memset(name, 'n', sizeof name);
    for (int i = 0; i < VERDICT_RULES_MAX; i++)
        verdict->rules[i] = (struct verdict_rule){.id = span_of(name, sizeof name), .effect = EFFECT_FORBID};
    verdict->rule_count = 1000;
    assert_int_equal(json_read(gate__rules_text(&bench->text, verdict, &no_marks), &json_request_rules, &bench->canonical,
                               &bench->arena, &root, &fault), CODE_OK);
    last = root->child;
    while (last->next != NULL)
        last = last->next;
    assert_non_null(json_member(last, SPAN_LIT("more")));
    assert_true(span_is(json_member(last, SPAN_LIT("more"))->raw, "992"));
    verdict->has_monitor = true;
    verdict->monitor_rule = span_of(name, sizeof name);
    assert_true(span_is(gate__monitor_text(&bench->text, verdict), "{}"));
}

/* 8.4: what has no room is counted, whatever the names are; what is written is always JSON. */
TEST_CASE_WITH(groups_are_written_as_far_as_they_fit, make_bench, drop_bench)
{
    enum { MANY = 10000 };
    struct bench *bench = *state;
    const struct span odd[] = {SPAN_LIT("a,b"), SPAN_LIT("say \"x\""), SPAN_LIT(""), SPAN_LIT("\\")};
    static struct span many[MANY];
    static char names[MANY][16], huge[HELD_TEXT_BYTES * 2];
    const struct json_node *list, *last;
    struct json_fault fault;
    struct span text;

    assert_null(gate__held_text(&bench->text.groups, odd, 0).at);
    assert_true(span_is(gate__held_text(&bench->text.groups, odd, 4), "[\"a,b\",\"say \\\"x\\\"\",\"\",\"\\\\\"]"));
    for (int i = 0; i < MANY; i++)
        many[i] = span_of(names[i], (size_t)snprintf(names[i], sizeof names[i], "group-%d", i));
    text = gate__held_text(&bench->text.groups, many, MANY);
    assert_true(text.len <= HELD_TEXT_BYTES && text.len > HELD_TEXT_BYTES - 64);
    assert_int_equal(json_read(text, &json_request_rules, &bench->canonical, &bench->arena, &list, &fault), CODE_OK);
    for (last = list->child; last->next != NULL; last = last->next)
        assert_int_equal(last->type, JSON_STRING);
    snprintf(huge, sizeof huge, "%u", MANY - (list->count - 1));
    assert_true(span_is(last->raw, huge));
    memset(huge, 'x', sizeof huge);
    many[0] = span_of(huge, sizeof huge);
    assert_true(span_is(gate__held_text(&bench->text.scopes, many, 1), "[1]"));
    many[1] = many[0];
    many[0] = SPAN_LIT("first");
    assert_true(span_is(gate__held_text(&bench->text.scopes, many, 2), "[\"first\",1]"));
}

TEST_CASE_WITH(claims_are_written_where_rules_ask_for_some, make_bench, drop_bench)
{
    static const char asks[] = "policy: p\nrules:\n  - {id: r, effect: permit, match: {tools: [t]}, when: [{claim: a, exists: true}]}\n";
    static const char asks_none[] = "policy: p\nrules:\n  - {id: r, effect: permit, match: {tools: [t]}}\n";
    struct policy_file file = {SPAN_LIT("p.yaml"), span_text(asks)};
    struct bench *bench = *state;
    struct policy *policy, *other;
    static struct faults faults;

    assert_int_equal(policy_compile(&file, 1, 1, &policy, &faults, NULL), CODE_OK);
    file.text = span_text(asks_none);
    assert_int_equal(policy_compile(&file, 1, 1, &other, &faults, NULL), CODE_OK);
    read_arguments(bench, "{\"a\":{\"b\":\"x\"},\"secret\":1}");
    assert_true(span_is(gate__claims_text(&bench->text, policy, bench->root), "{\"$['a']\":[{\"b\":\"x\"}]}"));
    assert_null(gate__claims_text(&bench->text, policy, NULL).at);
    assert_null(gate__claims_text(&bench->text, other, bench->root).at);
    assert_null(gate__claims_text(&bench->text, NULL, bench->root).at);
    buf_fini(&bench->text.claims);
    buf_init(&bench->text.claims, SIZE_MAX / 2);
    mem_fail_at(1, 0);
    assert_true(span_is(gate__claims_text(&bench->text, policy, bench->root), "{}")); /* nothing is known of any */
    mem_fail_at(0, 0);
    policy_unref(&policy);
    policy_unref(&other);
}

TEST_MAIN(NULL, NULL)
