/* SPDX-License-Identifier: Apache-2.0 */
/* 9.3: JSON Schema as conditions, and `arguments: by_schema`. The official suite is in test_schema_suite.c. */
#include "unit/policy/judge.h"
#include "judgement/judgement.h"
#include "schema/schema_priv.h"

#define TREE                                                                                                    \
    "{\"$ref\":\"#/$defs/node\",\"$defs\":{\"node\":{\"type\":\"object\",\"required\":[\"name\"],\"properties\":{"  \
    "\"name\":{\"type\":\"string\"},\"children\":{\"type\":\"array\",\"items\":{\"$ref\":\"#/$defs/node\"}}}}}}"

static struct policy_schema *compiled(const char *json)
{
    struct policy_schema *schema = NULL;
    struct why why = {""};

    if (policy_schema_compile(span_text(json), &schema, &why) != CODE_OK)
        fail_msg("%s: %s", json, why.text);
    return schema;
}

static enum truth holds_span(const struct policy_schema *schema, struct span text)
{
    const struct json_node *root;
    struct json_fault fault;
    struct arena arena;
    struct buf canonical;
    enum truth truth;

    arena_init(&arena, (size_t)256 << 20);
    buf_init(&canonical, 64 << 20);
    assert_int_equal(json_read(text, &json_file_rules, &canonical, &arena, &root, &fault), CODE_OK);
    truth = policy_schema_holds(schema, root);
    buf_fini(&canonical);
    arena_fini(&arena);
    return truth;
}

static void check(const char *json, const char *value, enum truth expected)
{
    struct policy_schema *schema = compiled(json);
    enum truth truth = holds_span(schema, span_text(value));

    if (truth != expected)
        fail_msg("%s says %s of %s", json, policy_truth_text(truth), value);
    policy_schema_unref(&schema);
}

TEST_CASE(test_holds)
{
    check("{\"type\":\"integer\",\"minimum\":1}", "1.0", TRUTH_TRUE);
    check("{\"const\":1}", "1.0", TRUTH_TRUE);
    check("{\"enum\":[\"{principal}\",1,null]}", "\"{principal}\"", TRUTH_TRUE); /* no variable of the language */
    check("{\"type\":[\"integer\",\"string\"]}", "\"1.5\"", TRUTH_TRUE);
    check("{\"type\":[\"integer\",\"string\"]}", "1.5", TRUTH_FALSE);
    check("{\"type\":[\"integer\",\"number\"]}", "1.5", TRUTH_TRUE);
    check("{\"minimum\":1}", "9007199254740993", TRUTH_UNDECIDED); /* readers differ */
    check("{\"exclusiveMinimum\":1}", "9007199254740993", TRUTH_UNDECIDED);
    check("{\"exclusiveMinimum\":1}", "1.0", TRUTH_FALSE);
    check("{\"multipleOf\":0.01}", "-19.99", TRUTH_TRUE);
    check("{\"multipleOf\":0.01}", "0.001", TRUTH_FALSE);
    check("{\"multipleOf\":1e-300}", "1", TRUTH_UNDECIDED);
    check("{\"properties\":{\"a/b\":false}}", "{\"a/b\":1}", TRUTH_FALSE);
    check("{\"items\":{\"type\":\"string\"}}", "{\"a\":1}", TRUTH_TRUE); /* of arrays alone */
    check("{\"additionalProperties\":false}", "[1]", TRUTH_TRUE);
    check("{\"properties\":{\"a\":{}},\"patternProperties\":{\"^x-\":true},\"additionalProperties\":false}",
          "{\"a\":1,\"x-b\":2}", TRUTH_TRUE);
    check("{\"properties\":{\"a\":{}},\"patternProperties\":{\"^x-\":true},\"additionalProperties\":false}",
          "{\"a\":1,\"b\":2}", TRUTH_FALSE);
    check("{\"type\":\"array\",\"contains\":true}", "[]", TRUTH_FALSE);
    check("{\"type\":\"array\",\"uniqueItems\":true}", "[{\"a\":1,\"b\":2},{\"b\":2.0,\"a\":1}]", TRUTH_FALSE);
    check("{\"oneOf\":[{\"type\":\"integer\"},{\"minimum\":2}]}", "3", TRUTH_FALSE);
    check("{\"oneOf\":[{\"type\":\"integer\"},{\"minimum\":2}]}", "2.5", TRUTH_TRUE);
    check("{\"not\":{\"required\":[\"a\"]}}", "{\"b\":1}", TRUTH_TRUE);
    check("{\"format\":\"email\"}", "\"no address\"", TRUTH_TRUE); /* an annotation */
    check("{\"pattern\":\"b\"}", "\"abc\"", TRUTH_TRUE);           /* found anywhere */
    check("{\"x-note\":1,\"title\":\"t\"}", "1", TRUTH_TRUE);
    check("{\"$schema\":\"https://json-schema.org/draft/2019-09/schema\",\"items\":[{}],\"additionalItems\":false}", "[1,2]", TRUTH_FALSE);
    check("{\"$schema\":\"http://json-schema.org/draft-06/schema\",\"dependencies\":{\"a\":[\"b\"]}}", "{\"a\":1}", TRUTH_FALSE);
    check(TREE, "{\"name\":\"a\",\"children\":[{\"name\":\"b\",\"children\":[]}]}", TRUTH_TRUE);
    check(TREE, "{\"name\":\"a\",\"children\":[{\"name\":\"b\",\"children\":[{}]}]}", TRUTH_FALSE);
}

static bool has_label(const struct condition *condition, const char *label)
{
    bool has = span_is(condition->label, label);

    for (uint32_t i = 0; i < condition->count; i++)
        has = has || has_label(&condition->members[i], label);
    return has;
}

/* What explain tells of a condition: where the schema asks it, and of what. */
TEST_CASE(test_labels)
{
    struct policy_schema *all = compiled("{\"properties\":{\"a\":{\"items\":{\"type\":\"string\"}}}}");
    struct policy_schema *rest = compiled("{\"prefixItems\":[true,true],\"items\":{\"minimum\":1}}");

    assert_true(has_label(policy_schema_condition(all), "by_schema #/properties/a/items $[*] is"));
    assert_true(has_label(policy_schema_condition(rest), "by_schema #/items $[2:]"));
    policy_schema_unref(&all);
    policy_schema_unref(&rest);
}

static void check_refused(const char *json, const char *words)
{
    struct policy_schema *schema;
    struct why why = {""};

    assert_int_not_equal(policy_schema_compile(span_text(json), &schema, &why), CODE_OK);
    assert_null(schema);
    if (strstr(why.text, words) == NULL)
        fail_msg("%s is refused with: %s", json, why.text);
}

#define DRAFT_07 "{\"$schema\":\"http://json-schema.org/draft-07/schema#\","

/* What only another dialect has would, under `not`, let through what this one's readers refuse. */
TEST_CASE(test_refused)
{
    check_refused("{\"properties\":{\"a\":{\"unevaluatedProperties\":false}}}",
                  "`unevaluatedProperties` of the schema at #/properties/a");
    check_refused("{\"maxLenght\":3}", "`maxLenght` of the schema at #");
    check_refused("{\"properties\":{\"a/b\":{\"nullable\":true}}}", "`nullable` of the schema at #/properties/a~1b");
    check_refused("{\"properties\":{\"\\u202e\":{\"nullable\":true}}}", "#/properties/(hidden characters)");
    check_refused("{\"\\u202eesle\":1}", "of the schema at #");
    check_refused("{\"$ref\":\"http://example.org/a\"}", "`$ref`");
    check_refused("{\"$ref\":\"#/$defs/a\"}", "`$ref`");
    check_refused("{\"$ref\":\"#\"}", "without end");
    check_refused("{\"allOf\":[{\"$ref\":\"#/$defs/a\"}],\"$defs\":{\"a\":{\"anyOf\":[{\"$ref\":\"#/$defs/a\"}]}}}", "without end");
    check_refused("{\"$schema\":\"http://json-schema.org/draft-04/schema#\"}", "`$schema`");
    check_refused("{\"$schema\":\"http://json-schema.org/draft-07/schema#\",\"properties\":{\"a\":{\"$ref\":\"#\",\"type\":"
                  "\"object\"}}}", "draft-07");
    check_refused("{\"not\":{\"dependencies\":{\"a\":[\"b\"]}}}", "`dependencies` of the schema at #/not");
    check_refused("{\"items\":[{\"type\":\"string\"}]}", "`items`");
    check_refused("{\"additionalItems\":false}", "`additionalItems`");
    check_refused(DRAFT_07 "\"contains\":{\"const\":1},\"minContains\":0}", "`minContains`");
    check_refused(DRAFT_07 "\"prefixItems\":[{}],\"items\":{\"type\":\"string\"}}", "`prefixItems`");
    check_refused(DRAFT_07 "\"not\":{\"dependentRequired\":{\"a\":[\"b\"]}}}", "`dependentRequired`");
    check_refused(DRAFT_07 "\"not\":{\"dependentSchemas\":{\"a\":false}}}", "`dependentSchemas`");
    check_refused("{\"$schema\":\"http://json-schema.org/draft-06/schema#\",\"if\":true,\"else\":{}}", "`if`");
    check_refused("{\"$schema\":\"https://json-schema.org/draft/2019-09/schema\",\"not\":{\"dependencies\":{}}}", "`dependencies`");
    check_refused("{\"not\":{\"type\":[]}}", "`type`");
    check_refused("{\"exclusiveMinimum\":true}", "`exclusiveMinimum`");
    check_refused("{\"type\":\"any\"}", "`type`");
    check_refused("{\"type\":3}", "`type`");
    check_refused("{\"minLength\":-1}", "`minLength`");
    check_refused("{\"multipleOf\":0}", "`multipleOf`");
    check_refused("{\"pattern\":\"(\"}", "`pattern`");
    check_refused("{\"pattern\":\"(a)\\\\1\"}", "back reference");
    check_refused("{\"maxContains\":3,\"contains\":true}", "`maxContains`");
    check_refused("[]", "no object");
    check_refused("{\"a\":", "byte");
}

/* Deep references, many conditions, a value as deep as one can be. */
TEST_CASE(test_bounded)
{
    struct policy_schema *schema;
    struct buf text;

    buf_init(&text, 4 << 20);
    buf_add_text(&text, "{\"$ref\":\"#/$defs/0\",\"$defs\":{");
    for (int i = 0; i < 300; i++)
        buf_addf(&text, "%s\"%d\":{\"$ref\":\"#/$defs/%d\"}", i > 0 ? "," : "", i, i + 1);
    buf_add_text(&text, ",\"300\":{}}}");
    buf_add_byte(&text, '\0');
    check_refused(buf_peek(&text).at, "128 deep");

    buf_clear(&text);
    buf_add_text(&text, "{\"properties\":{");
    for (int i = 0; i < 11000; i++)
        buf_addf(&text, "%s\"%d\":false", i > 0 ? "," : "", i);
    buf_add_text(&text, "}}");
    buf_add_byte(&text, '\0');
    check_refused(buf_peek(&text).at, "byte"); /* more members than JSON here has */

    buf_clear(&text);
    schema = compiled(TREE);
    for (int i = 0; i < 30; i++)
        buf_add_text(&text, "{\"name\":\"a\",\"children\":[");
    for (int i = 0; i < 30; i++)
        buf_add_text(&text, "]}");
    assert_int_equal(holds_span(schema, buf_peek(&text)), TRUTH_TRUE);
    policy_schema_unref(&schema);

    /* 16 ways down at each of 60 steps are never all gone. */
    schema = compiled("{\"anyOf\":[{\"properties\":{\"a\":{\"$ref\":\"#\"}},\"required\":[\"b\"]},{\"properties\":{\"a\":{\"$ref\":"
                      "\"#\"}},\"required\":[\"c\"]}]}");
    buf_clear(&text);
    for (int i = 0; i < 60; i++)
        buf_add_text(&text, "{\"a\":");
    buf_add_text(&text, "1");
    for (int i = 0; i < 60; i++)
        buf_add_text(&text, "}");
    assert_int_equal(holds_span(schema, buf_peek(&text)), TRUTH_UNDECIDED);
    policy_schema_unref(&schema);

    /* Large objects whose members stand in the other order cost what they cost. */
    buf_clear(&text);
    buf_add_byte(&text, '[');
    for (int i = 0; i < 40; i++) {
        buf_addf(&text, "%s{", i > 0 ? "," : "");
        for (int k = 0; k < 4000; k++)
            buf_addf(&text, "%s\"%d\":%d", k > 0 ? "," : "", i % 2 ? k : 3999 - k, k == 0 && i < 2 ? i : 7);
        buf_add_byte(&text, '}');
    }
    buf_add_byte(&text, ']');
    schema = compiled("{\"uniqueItems\":true}");
    assert_int_equal(holds_span(schema, buf_peek(&text)), TRUTH_UNDECIDED);
    policy_schema_unref(&schema);
    buf_fini(&text);
}

TEST_CASE(test_memory)
{
    struct policy_schema *schema;
    enum code code = CODE_NOMEM;

    for (uint64_t nth = 1; code != CODE_OK; nth++) {
        mem_fail_at(nth, 0);
        code = policy_schema_compile(SPAN_LIT("{\"$ref\":\"#/$defs/a\",\"$defs\":{\"a\":{\"type\":\"object\",\"required\":[\"b\"],"
                                              "\"properties\":{\"b\":{\"enum\":[1,\"x\"],\"pattern\":\"\\\\s\"}},\"oneOf\":[{},false],"
                                              "\"additionalProperties\":false,\"dependentRequired\":{\"b\":[\"c\"]}}}}"),
                                     &schema, NULL);
        mem_fail_at(0, 0);
        if (code != CODE_OK)
            assert_int_equal(code, CODE_NOMEM);
    }
    policy_schema_unref(&schema);
}

/* ---- ECMA-262 ---- */

static void check_pattern(const char *pattern, const char *text, enum regex_result expected)
{
    struct regex_budget budget;
    struct regex *regex;
    struct why why = {""};
    struct buf out;
    size_t offset;

    buf_init(&out, 1 << 16);
    regex_budget_init(&budget);
    if (schema__ecma_pattern(span_text(pattern), &out, &why) != CODE_OK ||
        regex_compile(buf_peek(&out), &regex, &offset, &why) != CODE_OK)
        fail_msg("%s: %s", pattern, why.text);
    if (regex_match(regex, span_text(text), false, &budget) != expected)
        fail_msg("%s (%.*s) on %s", pattern, SPAN_ARG(buf_peek(&out)), text);
    regex_free(&regex);
    buf_fini(&out);
}

TEST_CASE(test_patterns)
{
    static const char *const refused[] = {"(a)\\1", "\\k<a>", "a++", "*a", "(?i)a", "(?>a)", "\\A", "\\z", "\\Qa\\E", "[\\d-\\w]x[a-\\d]",
                                          "\\u{110000}", "\\ud800", "\\c1", "\\x4", "\\p{Greek}", "\\p{L", "[a", "\\", "\\07", "(?P<a>b)",
                                          "(*COMMIT)a", "[\\B]", "\\R", "\\h",
                                    /* no general category, no group's name, no quantifier of what looks behind */
                                    "\\p{l}", "\\P{LU}", "(?<>a)", "(?<1>a)", "(?<a b>a)", "(?<n)>a)", "(?<=a)?", "(?!a){2}",
                                    /* what means something else without `u`, which the rest is not read with */
                                    "}\\p{Lu}", "\\p{Lu}\\-", "[\\w-a]\\u{61}"};
    static const char *const not_repeated[] = {"(?<=a)?", "(?!a){2}", "\\b*", "\\B{2}", "^+"};
    struct why why;
    struct buf out;

    buf_init(&out, 1 << 16);
    for (size_t i = 0; i < sizeof not_repeated / sizeof *not_repeated; i++) {
        why.text[0] = '\0';
        if (schema__ecma_pattern(span_text(not_repeated[i]), &out, &why) != CODE_INVALID)
            fail_msg("%s is no pattern", not_repeated[i]);
    }
    buf_fini(&out);
    check_pattern("^.$", "\n", REGEX_NO_MATCH);
    check_pattern("^.$", "\xe2\x80\xa8", REGEX_NO_MATCH); /* U+2028 */
    check_pattern("^a$", "a\n", REGEX_NO_MATCH);
    check_pattern("^\\s$", "\xc2\xa0", REGEX_MATCH);
    check_pattern("^[\\s]$", "\xef\xbb\xbf", REGEX_MATCH);
    check_pattern("^\\S$", "\xc2\xa0", REGEX_NO_MATCH);
    check_pattern("^[\\S]$", "\xf0\x9f\x98\x80", REGEX_MATCH);
    check_pattern("^[^\\S]$", "x", REGEX_NO_MATCH);
    check_pattern("^\\d$", "\xd9\xa3", REGEX_NO_MATCH); /* an Arabic digit */
    check_pattern("^\\v$", "\n", REGEX_NO_MATCH);
    check_pattern("^\\v$", "\v", REGEX_MATCH);
    check_pattern("^[]$", "a", REGEX_NO_MATCH);
    check_pattern("^[^]$", "\n", REGEX_MATCH);
    check_pattern("^[[:alpha:]]$", ":]", REGEX_MATCH); /* a class of [, :, a, l, p, h, and a ] */
    check_pattern("^[\\w-.]+$", "a-b.c", REGEX_MATCH);
    check_pattern("^[a-z\\-_/]+$", "a-_/", REGEX_MATCH);
    check_pattern("^\\u{1f600}\\ud83d\\ude00$", "\xf0\x9f\x98\x80\xf0\x9f\x98\x80", REGEX_MATCH);
    check_pattern("^\\x41\\u0042\\cJ\\/$", "AB\n/", REGEX_MATCH);
    check_pattern("^a{,3}$", "a{,3}", REGEX_MATCH);
    check_pattern("^x{1}{$", "x{", REGEX_MATCH);
    check_pattern("^(?<year>\\d{4})-(?:0[1-9])$", "2026-09", REGEX_MATCH);
    check_pattern("(?<=a)b(?!c)", "abd", REGEX_MATCH);
    check_pattern("^\\p{Lu}\\P{Nd}$", "\xc3\x84x", REGEX_MATCH);
    check_pattern("^(?=a)(?<n_1>a|(?!b))*\\/[\\-\\p{L}]$", "aa/-", REGEX_MATCH);
    check_pattern("^a+?$", "aaa", REGEX_MATCH);
    check_pattern("#[^#]*$", "# no comment", REGEX_MATCH);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        struct regex *regex;
        size_t offset;

        buf_init(&out, 1 << 16);
        if (schema__ecma_pattern(span_text(refused[i]), &out, &why) == CODE_OK &&
            regex_compile(buf_peek(&out), &regex, &offset, &why) == CODE_OK)
            fail_msg("%s is taken as %.*s", refused[i], SPAN_ARG(buf_peek(&out)));
        buf_fini(&out);
    }
}

/* ---- rules ---- */

static const struct policy_schema *accepted[3];

static const struct policy_schema *schema_of(void *context, const struct question *question, uint32_t at)
{
    (void)context;
    (void)question;
    return at < 3 ? accepted[at] : NULL;
}

static enum verdict_kind judged(struct court *court, const char *arguments, const struct question_hidden *hidden)
{
    static const struct policy_past past = {.schema_of = schema_of};
    struct question question = plain_question();

    question.state.past = &past;
    question.hidden = hidden;
    return judge(court, question, arguments)->kind;
}

TEST_CASE(test_rules)
{
    const struct question_hidden lost = {.hints = true, .favours_permit = true};
    struct policy_schema *one = compiled("{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\"}},\"required\":[\"a\"]}");
    struct policy_schema *other = compiled("{\"type\":\"object\",\"additionalProperties\":false}");
    struct court court;

    court_open(&court, "policy: p\nrules: [{id: r, effect: permit, match: {tools: [t]}, arguments: by_schema}]\n");
    assert_int_equal(judged(&court, "{\"a\":1}", NULL), VERDICT_DENY); /* none is accepted */
    assert_int_equal(judged(&court, "{\"a\":1}", &lost), VERDICT_PERMIT);
    assert_true(court.verdict.guessed);
    accepted[0] = one;
    assert_int_equal(judged(&court, "{\"a\":1}", NULL), VERDICT_PERMIT);
    assert_int_equal(judged(&court, "{\"a\":\"1\"}", NULL), VERDICT_DENY);
    assert_int_equal(judged(&court, NULL, NULL), VERDICT_DENY); /* as {} */
    accepted[1] = other;
    assert_int_equal(judged(&court, NULL, NULL), VERDICT_PERMIT); /* any of several */
    assert_int_equal(judged(&court, "{\"b\":1}", NULL), VERDICT_DENY);
    assert_false(policy_permits_all(court.policy, &(struct question){.upstream = SPAN_LIT("shop"), .method = SPAN_LIT("tools/call"),
                                                                     .tool = SPAN_LIT("t")}, court.scratch));
    court_close(&court);

    court_open(&court, "policy: p\nrules: [{id: r, effect: require_approval, match: {tools: [t]}, arguments: by_schema}]\n");
    assert_int_equal(judged(&court, "{\"a\":1}", NULL), VERDICT_HOLD);
    assert_int_equal(judged(&court, "{\"b\":1}", NULL), VERDICT_DENY); /* nobody is asked */
    court_close(&court);
    accepted[0] = accepted[1] = NULL;
    policy_schema_unref(&one);
    policy_schema_unref(&other);
}

static void check_fault(const char *rule, const char *words)
{
    struct policy *policy;
    struct faults faults;
    char text[512];

    snprintf(text, sizeof text, "policy: p\nrules: [%s]\n", rule);
    assert_int_not_equal(compile_text(text, &policy, &faults, NULL), CODE_OK);
    if (strstr(faults.fault[0].text, words) == NULL)
        fail_msg("%s", faults.fault[0].text);
}

TEST_CASE(test_faults)
{
    check_fault("{id: r, effect: forbid, match: {tools: [t]}, arguments: by_schema}", "a forbid has no `arguments`");
    check_fault("{id: r, effect: permit, arguments: by_schema}", "name `tools`");
    check_fault("{id: r, effect: permit, match: {tools: [t]}, arguments: by_scheme}", "did you mean `by_schema`");
    check_fault("{id: r, effect: permit, match: {tools: [t]}}]\ntests: [{name: t, call: {tool: t, schema: {maxLenght: 3}}, "
                "expect: {verdict: permit}}", "`maxLenght`");
}

TEST_MAIN(NULL, NULL)
