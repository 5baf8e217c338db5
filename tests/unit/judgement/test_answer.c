/* SPDX-License-Identifier: Apache-2.0 */
/* 9.2: the sentences of policies/LANGUAGE.md about rules for answers, one by one. */
#include "unit/policy/judge.h"

#include "policy/answer.h"
#include "judgement/judgement.h"

#define RULES(rules) "policy: p\nrules: [{id: a, effect: permit, match: {methods: ['*']}}]\nanswers:\n" rules
#define R(when) RULES("  - {id: r, effect: redact, slow_regex: allow, when: [" when "]}\n")
#define TEXT(text) "{\"content\":[{\"type\":\"text\",\"text\":" text "}]}"

static struct answer_verdict seen;

/* What becomes of it: "redact r {...}", "withhold r: why", "flag r", "none". */
static const char *answered(struct court *court, struct question question, struct policy_answer answer, const char *json)
{
    static char text[1024];
    struct buf left;
    int len;

    answer.root = court_tree(court, json != NULL ? span_text(json) : SPAN_NONE);
    policy_judge_answer(court->policy, &question, &answer, false, court->scratch, &seen);
    len = snprintf(text, sizeof text, "%s%s%.*s", answer_effect_text(seen.effect), seen.rule.at ? " " : "", SPAN_ARG(seen.rule));
    buf_init(&left, 8 << 20);
    if (seen.effect == ANSWER_REDACT) {
        assert_int_equal(policy_answer_write(&seen, buf_peek(&court->text), &left), CODE_OK);
        snprintf(text + len, sizeof text - (size_t)len, " %.*s", SPAN_ARG(buf_peek(&left)));
    } else if (seen.why != ANSWER_AS_WRITTEN) {
        snprintf(text + len, sizeof text - (size_t)len, ": %s", answer_why_text(seen.why));
    }
    buf_fini(&left);
    return text;
}

static const char *result(struct court *court, const char *json)
{
    return answered(court, plain_question(), (struct policy_answer){.root = NULL}, json);
}

/* One policy, one result. */
static void expect(const char *policy, const char *json, const char *wanted)
{
    struct court court;

    court_open(&court, policy);
    if (strcmp(result(&court, json), wanted) != 0)
        print_error("of %s:\n%s\n", json, policy);
    assert_string_equal(result(&court, json), wanted); /* twice: it is pure */
    court_close(&court);
}

#define NOT_IN_TEXT "withhold r: what was found is in no text that could be cut"
#define UNSURE "withhold r: what would have to be cut is undecided"

/* Parts of texts are cut, all of them; what overlaps is one cut, of what begins it. */
TEST_CASE(test_cuts)
{
    expect(R("{value: '$..*', matches: 'a+'}"), TEXT("\"xaay aa\""), "redact r " TEXT("\"x[left out: r]y [left out: r]\""));
    expect(R("{value: '$..*', matches: 'a+'}"), TEXT("\"xyz\""), "none");
    expect(R("{value: '$..*', contains: 'aa'}"), TEXT("\"aaaa\\u00e4aa\""), "redact r " TEXT("\"[left out: r]\xc3\xa4[left out: r]\""));
    expect(R("{value: '$.content[*].text', matches: '.*'}"), TEXT("\"all of it\""), "redact r " TEXT("\"[left out: r]\""));
    expect(R("{value: '$.content[*].text', matches: 'a', anchor: whole}"), TEXT("\"a\""), "redact r " TEXT("\"[left out: r]\""));
    expect(R("{value: '$.content[*].text', starts_with: a}"), TEXT("\"all of it\""), "redact r " TEXT("\"[left out: r]\""));
    expect(RULES("  - {id: b, effect: redact, when: [{value: '$..*', contains: bcd}]}\n"
                 "  - {id: a1, effect: redact, when: [{value: '$..*', contains: cde}]}\n"),
           TEXT("\"abcdef cde\""), "redact a1 " TEXT("\"a[left out: b]f [left out: a1]\""));
    /* Where something is to be found, the other conditions only say when. */
    expect(R("{value: '$.kind', equals: a}, {value: '$..*', contains: b}, {value: $, is: object}"), "{\"kind\":\"a\",\"t\":\"ab\"}",
           "redact r {\"kind\":\"a\",\"t\":\"a[left out: r]\"}");
    expect(R("{value: '$.kind', equals: a}, {value: '$.t', is: string}"), "{\"kind\":\"a\",\"t\":\"ab\"}",
           "redact r {\"kind\":\"[left out: r]\",\"t\":\"[left out: r]\"}");
    /* The rest of the document stays as it stands, number by number and escape by escape. */
    expect(R("{value: '$..*', contains: x}"), "{\"n\":1.50,\"t\":\"x\\u2028\",\"e\":{}}",
           "redact r {\"n\":1.50,\"t\":\"[left out: r]\\u2028\",\"e\":{}}");
}

/* A text that holds JSON stays JSON: what is found in it is cut in its strings. */
TEST_CASE(test_json_in_text)
{
    expect(R("{value: '$..*', contains: '12'}"), TEXT("\"{ \\\"a\\\": [\\\"x12\\\", \\\"\\\\u003112\\\"] }\""),
           "redact r " TEXT("\"{\\\"a\\\":[\\\"x[left out: r]\\\",\\\"1[left out: r]\\\"]}\""));
    expect(R("{value: '$.content[*].text', contains: '12'}"), TEXT("\"[\\\"x12\\\"]\""), "redact r " TEXT("\"[\\\"x[left out: r]\\\"]\""));
    expect(R("{value: '$.content[*].text.a.b', contains: '12'}"), TEXT("\"{\\\"a\\\":{\\\"b\\\":\\\"12\\\",\\\"c\\\":\\\"3\\\"}}\""),
           "redact r " TEXT("\"{\\\"a\\\":{\\\"b\\\":\\\"[left out: r]\\\",\\\"c\\\":\\\"3\\\"}}\""));
    /* What was written with escapes is found, too; a text in a text is only a text. */
    expect(R("{value: '$..*', equals: secret}"), TEXT("\"[\\\"s\\\\u0065cret\\\"]\""), "redact r " TEXT("\"[\\\"[left out: r]\\\"]\""));
    expect(R("{value: '$..*', equals: secret}"), TEXT("\"[\\\"[\\\\\\\"secret\\\\\\\"]\\\"]\""), "none");
    /* A number, a name, and what stands over several values cannot be cut. */
    expect(R("{value: '$..*', contains: '12'}"), TEXT("\"{\\\"a\\\":12}\""), NOT_IN_TEXT);
    expect(R("{value: '$..*', contains: '12'}"), TEXT("\"{\\\"12\\\":0}\""), NOT_IN_TEXT);
    expect(R("{value: '$..*', contains: '12'}"), TEXT("\"{\\\"12\\\":\\\"12\\\"}\""), NOT_IN_TEXT);
    expect(R("{value: '$..*', matches: 'a..b'}"), TEXT("\"[\\\"a\\\",\\\"b\\\"]\""), "none");
    expect(R("{value: '$..*', matches: 'a...b'}"), TEXT("\"[\\\"a\\\",\\\"b\\\"]\""), NOT_IN_TEXT);
    /* Two readers may read equal names differently: then it is a text like others. */
    expect(R("{value: '$..*', contains: '12'}"), TEXT("\"{\\\"a\\\":12,\\\"a\\\":1}\""),
           "redact r " TEXT("\"{\\\"a\\\":[left out: r],\\\"a\\\":1}\""));
}

/* What is in no string, or only in a decoded reading, is withheld. */
TEST_CASE(test_not_in_text)
{
    expect(R("{value: '$..*', contains: '12'}"), "{\"structuredContent\":{\"n\":8123}}", NOT_IN_TEXT);
    expect(R("{value: '$..*', keys: true, contains: '12'}"), "{\"structuredContent\":{\"x12\":8}}", NOT_IN_TEXT);
    expect(R("{value: '$..*', contains: secret, decode: [base64]}"), TEXT("\"c2VjcmV0\""), NOT_IN_TEXT);
    expect(R("{value: '$..*', contains: secret, decode: [percent]}"), TEXT("\"a secret\""), "redact r " TEXT("\"a [left out: r]\""));
    expect(R("{value: '$..*', contains: secret, decode: [percent]}"), TEXT("\"a secret, s%65cret\""), NOT_IN_TEXT);
    expect(R("{value: $.structuredContent, exists: true}"), "{\"structuredContent\":{\"x\":8}}", NOT_IN_TEXT);
    expect(R("{value: $.structuredContent.x, exists: true}"), "{\"structuredContent\":{\"x\":\"8\"}}",
           "redact r {\"structuredContent\":{\"x\":\"[left out: r]\"}}");
    expect(R("{not: {value: $.structuredContent.y, not_matches: a}}, {value: $.structuredContent.x, exists: true}"),
           "{\"structuredContent\":{\"x\":\"s\",\"y\":\"a\"}}", "redact r {\"structuredContent\":{\"x\":\"[left out: r]\",\"y\":\"a\"}}");
    expect(R("{not: {value: $.x, equals: 1}}"), "{\"x\":\"8\"}", NOT_IN_TEXT);
    expect(R("{size: result, max: 3}"), "{\"x\":\"8\"}", NOT_IN_TEXT);
}

/* What one half of a result says is cut in the other, too. */
TEST_CASE(test_in_step)
{
#define BOTH(text, data) "{\"content\":[{\"type\":\"text\",\"text\":" text "}],\"structuredContent\":" data "}"
    static const char *const one = R("{value: $.structuredContent.name, is: string}");
    static const char *const part = R("{value: '$.content[*].text', matches: '[0-9]{3}'}");

    expect(one, BOTH("\"Ann\"", "{\"name\":\"Ann\"}"), "redact r " BOTH("\"[left out: r]\"", "{\"name\":\"[left out: r]\"}"));
    expect(one, BOTH("\"{\\\"name\\\":\\\"Ann\\\"}\"", "{\"name\":\"Ann\"}"),
           "redact r " BOTH("\"{\\\"name\\\":\\\"[left out: r]\\\"}\"", "{\"name\":\"[left out: r]\"}"));
    expect(one, BOTH("\"Annual\"", "{\"name\":\"Ann\"}"), "redact r " BOTH("\"Annual\"", "{\"name\":\"[left out: r]\"}"));
    expect(part, BOTH("\"no 123.\"", "{\"no\":\"n123\"}"), "redact r " BOTH("\"no [left out: r].\"", "{\"no\":\"n[left out: r]\"}"));
    expect(part, BOTH("\"no 123.\"", "{\"no\":123}"), NOT_IN_TEXT);
    expect(part, BOTH("\"no 123.\"", "{\"123\":0}"), NOT_IN_TEXT);
    expect(part, BOTH("\"no 123.\"", "{\"a123\":1234}"), "redact r " BOTH("\"no [left out: r].\"", "{\"a123\":1234}"));
}

/* Withhold beats redact beats flag, undecided withholds, but for a flag, which flags. */
TEST_CASE(test_effects)
{
#define UNDECIDED "{value: '$.n', max: 5}"
    static const char *const big = "{\"n\":9007199254740993,\"t\":\"x\"}";
    static const char *const all = RULES("  - {id: c, effect: flag, when: [{value: '$..*', contains: x}]}\n"
                                         "  - {id: b, effect: redact, when: [{value: '$..*', contains: xy}]}\n"
                                         "  - {id: a2, effect: withhold, when: [{value: '$..*', contains: xyz}], say: No xyz.}\n"
                                         "  - {id: a1, effect: withhold, mode: monitor, when: [{value: '$..*', contains: y}]}\n");
    struct court court;

    expect(RULES("  - {id: r, effect: flag, when: [" UNDECIDED "]}\n"), big, "flag r");
    expect(RULES("  - {id: r, effect: redact, when: [" UNDECIDED "]}\n"), big, UNSURE);
    expect(RULES("  - {id: r, effect: withhold, when: [" UNDECIDED "]}\n"), big, "withhold r");
    expect(R("{any: [" UNDECIDED ", {value: $.t, contains: x}]}"), big, UNSURE);
    expect(R("{any: [{value: $.t, equals: y}, {value: $.t, contains: x}]}"), big,
           "redact r {\"n\":9007199254740993,\"t\":\"[left out: r]\"}");
    court_open(&court, all);
    assert_string_equal(result(&court, "[\"a\"]"), "none");
    assert_string_equal(result(&court, "[\"x\"]"), "flag c");
    assert_false(seen.has_monitor);
    assert_string_equal(result(&court, "[\"xy\"]"), "redact b [\"[left out: b]\"]");
    assert_int_equal(seen.rule_count, 3);
    assert_true(seen.has_monitor && seen.monitor_effect == ANSWER_WITHHOLD && span_is(seen.monitor_rule, "a1"));
    assert_true(span_is(seen.rules[0].id, "a1") && seen.rules[0].monitor && span_is(seen.rules[2].id, "c"));
    assert_string_equal(result(&court, "[\"xyz xyz\"]"), "withhold a2");
    assert_true(span_is(seen.say, "No xyz.") && seen.edit_count == 0);
    assert_int_equal(seen.found_count, 3); /* by name, those of the monitored rule left out */
    assert_true(span_is(seen.found[0].name, "a2") && seen.found[0].count == 2 && span_is(seen.found[2].name, "c"));
    court_close(&court);
    policy_judge_answer(NULL, &(struct question){.tool = SPAN_NONE}, &(struct policy_answer){.root = NULL}, true, NULL, &seen);
    assert_int_equal(seen.effect, ANSWER_WITHHOLD);
}

/* Which answers a rule concerns: those to the calls of its match, and messages of the methods that it names. */
TEST_CASE(test_match)
{
    static const struct { const char *match, *method, *tool, *message; bool unknown; const char *effect; } cases[] = {
        {"{}", "tools/call", "t", "", false, "flag r"}, {"{}", "resources/read", "", "", false, "flag r"},
        {"{}", "prompts/get", "", "", false, "flag r"}, {"{}", "tools/list", "", "", false, "none"},
        {"{tools: [t]}", "tools/call", "t", "", false, "flag r"}, {"{tools: [u]}", "tools/call", "t", "", false, "none"},
        {"{resources: ['*']}", "tools/call", "t", "", false, "none"},
        {"{methods: [tools/list]}", "tools/list", "", "", false, "flag r"},
        /* In a call's stream. */
        {"{tools: [t]}", "tools/call", "t", "notifications/progress", false, "flag r"},
        {"{tools: [u]}", "tools/call", "t", "notifications/progress", false, "none"},
        {"{methods: [notifications/progress]}", "tools/call", "t", "notifications/progress", false, "flag r"},
        {"{methods: [notifications/progress]}", "tools/call", "t", "notifications/message", false, "none"},
        {"{methods: [notifications/progress]}", "tools/call", "t", "", false, "none"},
        {"{methods: [notifications/progress], tools: [u]}", "tools/call", "t", "notifications/progress", false, "none"},
        {"{methods: ['notifications/*']}", "ping", "", "notifications/message", false, "flag r"},
        /* Of a call that is not known. */
        {"{tools: [u]}", "", "", "", true, "flag r"}, {"{resources: [x]}", "", "", "notifications/message", true, "flag r"},
        {"{methods: [notifications/progress]}", "", "", "notifications/message", true, "none"},
        {"{methods: [notifications/message]}", "", "", "notifications/message", true, "flag r"},
        {"{upstreams: [other]}", "", "", "", true, "none"}, {"{tenants: [acme]}", "", "", "", true, "flag r"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct policy_answer answer = {.method = span_text(cases[i].message), .of_unknown = cases[i].unknown};
        struct question question = plain_question();
        struct court court;
        char text[512];

        snprintf(text, sizeof text, RULES("  - {id: r, effect: flag, match: %s}\n"), cases[i].match);
        court_open(&court, text);
        question.method = span_text(cases[i].method);
        question.tool = span_text(cases[i].tool);
        if (strcmp(answered(&court, question, answer, "{}"), cases[i].effect) != 0)
            fail_msg("%zu: %s of %s is not %s", i, cases[i].match, cases[i].method, cases[i].effect);
        assert_int_equal(policy_has_answer_rules_for(court.policy, &question, &answer, court.scratch), seen.effect != ANSWER_NONE);
        court_close(&court);
    }
}

/* What is asked of the call beside its answer; of a call that is not known it is guessed, in favour of the rule. */
TEST_CASE(test_asks_the_call)
{
    static const char *const policy = RULES("  - id: r\n    effect: redact\n    when: [{arg: table, equals: people, absent: ignored},"
                                            " {value: '$..*', contains: x}]\n"
                                            "  - {id: n, effect: flag, when: [{not: {arg: table, equals: people, absent: ignored}}]}\n");
    struct question question = plain_question();
    struct json_node table = {.type = JSON_STRING, .text = SPAN_LIT("people"), .raw = SPAN_LIT("\"people\""), .key = SPAN_LIT("table")};
    struct json_node root = {.type = JSON_OBJECT, .count = 1, .child = &table};
    struct court court;

    court_open(&court, policy);
    question.root = &root;
    assert_string_equal(answered(&court, question, (struct policy_answer){.root = NULL}, "[\"x\"]"), "redact r [\"[left out: r]\"]");
    assert_int_equal(seen.rule_count, 1);
    table.text = SPAN_LIT("peoples");
    assert_string_equal(answered(&court, question, (struct policy_answer){.root = NULL}, "[\"x\"]"), "flag n");
    assert_string_equal(answered(&court, question, (struct policy_answer){.of_unknown = true}, "[\"x\"]"), "redact r [\"[left out: r]\"]");
    assert_int_equal(seen.rule_count, 2);
    assert_string_equal(answered(&court, question, (struct policy_answer){.of_unknown = true}, "[\"y\"]"), "flag n");
    court_close(&court);
}

/* An answer with a block whose media type has so many bytes. */
static const char *media_of(int bytes)
{
    static char text[512];

    (void)snprintf(text, sizeof text, "{\"content\":[{\"type\":\"audio\",\"data\":\"\",\"mimeType\":\"audio/%0*d\"}]}", bytes - 6, 0);
    return text;
}

/* Sizes, of the canonical text, and media types, of what blocks say that they are. */
TEST_CASE(test_size_and_media)
{
    static const char *const media = RULES("  - {id: m, effect: withhold, when: [{media: ['IMAGE/*', text/html]}]}\n");

    expect(RULES("  - {id: s, effect: withhold, when: [{size: result, max: 8}]}\n"), "{ \"a\": 12 }", "none");
    expect(RULES("  - {id: s, effect: withhold, when: [{size: result, max: 8}]}\n"), "{\"a\":123}", "withhold s");
    expect(RULES("  - {id: s, effect: withhold, when: [{not: {size: result, max: 8}}]}\n"), "{\"a\":1}", "withhold s");
    expect(media, "{\"content\":[{\"type\":\"text\",\"text\":\"a\"}]}", "none");
    expect(media, "{\"content\":[{\"type\":\"image\",\"data\":\"\",\"mimeType\":\"image/PNG; q=1\"}]}", "withhold m");
    expect(media, "{\"content\":[{\"type\":\"audio\",\"data\":\"\",\"mimeType\":\"audio/wav\"}]}", "none");
    expect(media, "{\"content\":[{\"type\":\"audio\",\"data\":\"\"}]}", "withhold m"); /* undecided */
    expect(media, "{\"content\":[{\"type\":\"resource\",\"resource\":{\"uri\":\"x\",\"mimeType\":\"text/html\",\"text\":\"\"}}]}",
           "withhold m");
    expect(media, "{\"contents\":[{\"uri\":\"x\",\"blob\":\"\"}]}", "withhold m");
    expect(media, "{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"image\",\"data\":\"\",\"mimeType\":\"image/gif\"}}]}",
           "withhold m");
    expect(media, media_of(256), "none");
    expect(media, media_of(257), "withhold m"); /* undecided: it is longer than any type */
    expect(media, "{\"structuredContent\":{\"mimeType\":\"image/png\"},\"_meta\":{\"mimeType\":\"image/png\"}}", "none");
}

/* Every rule for answers that costs too much withholds; what is monitored or flags cannot bring that about. */
TEST_CASE(test_too_costly)
{
#define HOSTILE "{value: '$..*', matches: '(a|b|ab)*[cd]'}"
    static const char *const hostile[] = {
        RULES("  - {id: r, effect: flag, slow_regex: allow, when: [" HOSTILE "]}\n"),
        RULES("  - {id: r, effect: withhold, mode: monitor, slow_regex: allow, when: [" HOSTILE "]}\n"),
        RULES("  - {id: r, effect: redact, slow_regex: allow, when: [" HOSTILE "]}\n"),
    };
    static const char *const effects[] = {"flag r", "none", UNSURE};
    char json[8192] = "[\"";

    for (size_t at = 2; at < sizeof json - 3; at++)
        json[at] = at % 2 == 0 ? 'a' : 'b';
    memcpy(json + sizeof json - 3, "\"]", 3);
    for (size_t i = 0; i < sizeof hostile / sizeof *hostile; i++)
        expect(hostile[i], json, effects[i]);
}

/* What one letter in a text brings about: more places than there is memory for. */
TEST_CASE(test_too_many)
{
#define TEXTS 1100
#define LETTERS 1024 /* the last place that there is room for is the last of a text */
    static const char *const whats[] = {
        RULES("  - {id: r, effect: redact, when: [{value: '$..*', contains: a}]}\n"),
        RULES("  - {id: r, effect: redact, when: [{value: '$.t[*]', contains: a}]}\n"),
        RULES("  - {id: r, effect: withhold, when: [{value: '$..*', contains: a}]}\n"),
        RULES("  - {id: f, effect: flag, when: [{value: '$..*', contains: a}]}\n"),
        RULES("  - {id: m, effect: redact, mode: monitor, when: [{value: '$..*', contains: a}]}\n"),
        RULES("  - {id: m, effect: withhold, mode: monitor, when: [{value: '$..*', contains: a}]}\n"
              "  - {id: f, effect: flag, when: [{value: '$..*', contains: a}]}\n"
              "  - {id: r, effect: redact, when: [{value: '$..*', contains: b}]}\n"),
    };
    static const char *const wanted[] = {
        "withhold: there was no memory to look through it", "withhold: there was no memory to look through it",
        "withhold: there was no memory to look through it", "flag f", "none", "redact r {\"s\":\"[left out: r]\",\"t\":[\"aaaaaaaa",
    };
    static char json[TEXTS * (LETTERS + 3) + 32] = "{\"s\":\"b\",\"t\":[";
    size_t len = strlen(json);

    for (int i = 0; i < TEXTS; i++, len += LETTERS + 3) {
        json[len] = json[len + LETTERS + 1] = '"';
        memset(json + len + 1, 'a', LETTERS);
        json[len + LETTERS + 2] = i + 1 < TEXTS ? ',' : ']';
    }
    json[len] = '}';
    for (size_t i = 0; i < sizeof whats / sizeof *whats; i++) {
        struct court court;
        const char *got;

        court_open(&court, whats[i]);
        got = result(&court, json);
        if (strncmp(got, wanted[i], strlen(wanted[i])) != 0)
            fail_msg("%s: %.100s", whats[i], got);
        if (i > 4) /* of what there is no memory for the rest is counted still */
            assert_true(seen.found_count == 2 && seen.found[1].count == 1);
        court_close(&court);
    }
}

/* What is too deep to be read may hold anything, for those who look at values. */
TEST_CASE(test_too_deep)
{
    char open[201], json[256];

    memset(open, '[', 200);
    open[200] = '\0';
    snprintf(json, sizeof json, "{\"a\":\"%s\"}", open);
    expect(RULES("  - {id: f, effect: flag, when: [{value: '$..*', contains: x}]}\n"), json, "none");
    expect(RULES("  - {id: f, effect: withhold, mode: monitor, when: [{value: '$..*', contains: x}]}\n"
                 "  - {id: s, effect: withhold, when: [{size: result, max: 1 KiB}]}\n"), json, "none");
    expect(R("{value: '$..*', contains: x}"), json, "withhold: looking through it took too long");
}

/* An answer that is one text, as plain tools have: `$..*` is all of it, too. */
TEST_CASE(test_one_value)
{
    expect(R("{value: '$..*', contains: x}"), "\"axb\"", "redact r \"a[left out: r]b\"");
    expect(R("{value: $, contains: x}"), "\"axb\"", "redact r \"a[left out: r]b\"");
    expect(R("{value: '$..*', contains: x}"), "\"{\\\"x\\\": \\\"ax\\\"}\"", NOT_IN_TEXT);
    expect(R("{value: '$..*', contains: x}"), "\"[\\\"ax\\\", 1]\"", "redact r \"[\\\"a[left out: r]\\\",1]\"");
    expect(R("{value: '$..*', contains: '12'}"), "3124", NOT_IN_TEXT);
    expect(R("{value: '$..*', keys: true, contains: x}"), "\"x\"", "none");
    expect(R("{value: '$..*', contains: x}"), "\"y\"", "none");
}

/* The cost of many matches grows with the text, not with its square. */
TEST_CASE(test_many)
{
    size_t len = (size_t)512 << 10;
    char *json = mem_alloc(len + 1);
    struct court court;

    assert_non_null(json);
    memset(json, '.', len);
    for (size_t i = 0; i < 3000; i++)
        json[2 + i * 170] = 'a';
    memcpy(json, "[\"", 2);
    memcpy(json + len - 2, "\"]", 3);
    court_open(&court, R("{value: '$..*', matches: 'a'}"));
    (void)result(&court, json);
    assert_int_equal(seen.effect, ANSWER_REDACT);
    assert_int_equal(seen.found[0].count, 3000);
    court_close(&court);
    mem_free(json);
}

static size_t failures;

/* 11.3: what a condition found is dropped with the condition around it. */
TEST_CASE(test_drops_what_does_not_hold)
{
    expect(R("{any: [{all: [{value: '$..*', contains: b}, {value: '$.kind', equals: no}]}, {value: '$..*', contains: c}]}"),
           "{\"kind\":\"yes\",\"t\":\"abc\"}", "redact r {\"kind\":\"yes\",\"t\":\"ab[left out: r]\"}");
    expect(R("{any: [{value: '$..*', contains: b}, {value: '$..*', contains: c}]}"), "{\"t\":\"abc\"}",
           "redact r {\"t\":\"a[left out: r]\"}");
    expect(R("{value: '$..*', contains: b}, {not: {value: '$..*', contains: c}}"), "{\"t\":\"ab\"}",
           "redact r {\"t\":\"a[left out: r]\"}");
    expect(R("{value: '$..*', contains: b}, {not: {value: '$..*', contains: c}}"), "{\"t\":\"abc\"}", "none");
}

static uint64_t work_of(const char *policy, const char *json)
{
    struct court court;

    court_open(&court, policy);
    (void)result(&court, json);
    court_close(&court);
    return seen.work;
}

/* 11.3: a rule is evaluated once, however deep a condition stands in it; beside that a text in which it found something is
 * searched for all of it, and what is left of the text once more. */
TEST_CASE(test_once)
{
    static char clean[200100], dirty[200100];
    uint64_t once, found;

    memset(clean, 'x', 200000);
    memcpy(clean, "{\"t\":\"", 6);
    memcpy(clean + 200000, "\"}", 3);
    memcpy(dirty, clean, sizeof clean);
    memcpy(dirty + 190000, "needle", 6);
    once = work_of(R("{value: '$..*', contains: needle}"), clean);
    found = work_of(R("{value: '$..*', contains: needle}"), dirty);
    assert_true(once > 1000 && found > once && found < 2 * once + 100);
    assert_int_equal(work_of(R("{any: [{any: [{all: [{value: '$..*', contains: needle}]}]}]}"), dirty), found);
}

static void report(void *context, const struct policy_test_result *result_of)
{
    (void)context;
    failures += !result_of->passed;
    if (!result_of->passed)
        print_message("%.*s: expected %.*s, got %.*s\n", SPAN_ARG(result_of->name), SPAN_ARG(result_of->expected),
                      SPAN_ARG(result_of->got));
    if (span_is(result_of->name, "wrong rest")) {
        assert_true(span_is(result_of->expected, "redact, left: {\"t\":\"axb\"}"));
        assert_true(span_is(result_of->got, "redact by r, left: {\"t\":\"a[left out: r]b\"}"));
    }
}

/* Tests of policies say what becomes of an answer, and what is left. */
TEST_CASE(test_tests)
{
    static const char *const policy =
        R("{value: '$..*', contains: x}")
        "tests:\n"
        "  - {name: a, call: {tool: t}, answer: {t: axb}, expect: redact}\n"
        "  - {name: b, call: {tool: t}, answer: {t: axb}, expect: {answer: redact, rule: r, left: {t: 'a[left out: r]b'}}}\n"
        "  - {name: c, call: {tool: t}, answer: {t: a}, expect: pass}\n"
        "  - {name: d, call: {tool: t}, message: notifications/progress, answer: {t: x},"
        " expect: {answer: redact, left: {t: '[left out: r]'}}}\n"
        "  - {name: wrong rule, call: {tool: t}, answer: {t: axb}, expect: {answer: redact, rule: s}}\n"
        "  - {name: wrong effect, call: {tool: t}, answer: {t: axb}, expect: withhold}\n"
        "  - {name: wrong rest, call: {tool: t}, answer: {t: axb}, expect: {answer: redact, left: {t: axb}}}\n";
    struct court court;
    size_t passed, failed;

    court_open(&court, policy);
    assert_int_equal(policy_test(court.policy, court.scratch, report, NULL, &passed, &failed), CODE_OK);
    assert_int_equal(passed, 4);
    assert_int_equal(failed, 3);
    court_close(&court);
}

/* What is wrong with a rule for answers is told with its repair. */
TEST_CASE(test_faults)
{
    static const struct { const char *rule, *said; } cases[] = {
        {"{id: r, effect: deny}", "did you mean `withhold`?"},
        {"{id: r}", "write redact, withhold or flag"},
        {"{id: a, effect: flag}", "the id `a` is taken"},
        {"{id: r, effect: flag, limit: {calls: 1, per: day}}", "a rule for answers knows no `limit`"},
        {"{id: r, effect: flag, size: result}", "write it under `when`"},
        {"{id: r, effect: flag, when: [{plan: required}]}", "`plan` asks about a call"},
        {"{id: r, effect: flag, when: [{size: result}]}", "which holds where the result is larger"},
        {"{id: r, effect: flag, when: [{size: result, max: much}]}", "write one such as 64 KiB"},
        {"{id: r, effect: flag, when: [{media: [png]}]}", "is no media type"},
        {"{id: r, effect: flag, when: [{media: []}]}", "nothing is in an empty list"},
        {"{id: r, effect: flag, when: [{value: x, optional: true, equals: 1}]}", "`absent: applies`"},
    };
    static struct faults faults;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct policy *policy;
        char text[512];

        snprintf(text, sizeof text, RULES("  - %s\n"), cases[i].rule);
        assert_int_equal(compile_text(text, &policy, &faults, NULL), CODE_INVALID);
        if (strstr(faults.fault[0].text, cases[i].said) == NULL)
            fail_msg("%s: %s", cases[i].rule, faults.fault[0].text);
    }
    assert_int_equal(compile_text("policy: p\nrules: [{id: a, effect: forbid, when: [{value: x, equals: 1}]}]\n",
                                  &(struct policy *){NULL}, &faults, NULL), CODE_INVALID);
    assert_non_null(strstr(faults.fault[0].text, "write it under `answers:`"));
}

/* A rule that names nothing is also about what a route declares to be about a resource; whether it does may change. */
TEST_CASE(test_declared)
{
    struct question question = plain_question();
    struct court court;

    court_open(&court, RULES("  - {id: r, effect: flag}\n"));
    question.method = SPAN_LIT("acme/read");
    question.tool = SPAN_NONE;
    assert_string_equal(answered(&court, question, (struct policy_answer){.root = NULL}, "{}"), "none");
    question.resource = SPAN_LIT("a:b");
    assert_string_equal(answered(&court, question, (struct policy_answer){.root = NULL}, "{}"), "flag r");
    question.method = SPAN_LIT("resources/subscribe"); /* which MCP knows, and which gives nothing */
    assert_string_equal(answered(&court, question, (struct policy_answer){.root = NULL}, "{}"), "none");
    court_close(&court);
}

TEST_MAIN(NULL, NULL)
