/* SPDX-License-Identifier: Apache-2.0 */
/* What drafts out of recorded calls say (2.6): conditions, protocol methods, redactions, what is lost, what is too much. */
#include "learn_check.h"

TEST_CASE_WITH(test_what_is_written, open_house, close_house)
{
    struct house *house = *state;
    const struct question call = call_of("search");

    for (int i = 0; i < 30; i++) {
        char arguments[256];

        (void)snprintf(arguments, sizeof arguments,
                       "{\"query\":\"lamp %d\",\"limit\":%d,\"sort\":\"%s\"%s,\"file\":\"/srv/data/%d/x\",\"yes\":true}", i * 7, i,
                       i % 3 ? "price" : "name", i % 2 ? ",\"deep\":{\"a\":[1,2],\"b\":null}" : "", i);
        put_call(house, "search", arguments);
    }
    learn(house, 1);
    assert_draft(house, "{arg: query, is: string, starts_with: \"lamp \", min_length: 6, max_length: 8}  # in 30 of 30 calls");
    assert_draft(house, "{arg: limit, is: integer, min: 0, max: 29}");
    assert_draft(house, "{arg: sort, in: [name, price]}");
    assert_draft(house, "{arg: file, is: string, under: /srv/data, ");
    assert_draft(house, "{arg: deep, exists: false}");
    assert_draft(house, "{arg: deep, keys: true, in: [a, b], optional: true}");
    assert_draft(house, "only_args: [deep, file, limit, query, sort, \"yes\"]");
    assert_draft(house, "match: {tenants: [acme], principals: [shop-bot], upstreams: [shop], tools: [search]}");
    assert_permits(house, &call, "{\"query\":\"lamp 8\",\"limit\":3,\"sort\":\"name\",\"file\":\"/srv/data/7/x\",\"yes\":true}", true);
    assert_int_equal(house->proof.tests, 3);
}

/* Elements of lists that are empty at times, and texts that are paths at times. */
TEST_CASE_WITH(test_what_is_not_always_so, open_house, close_house)
{
    struct house *house = *state;
    const struct question call = call_of("order");

    put_call(house, "order", "{\"items\":[{\"id\":1,\"more\":true}],\"place\":\"/srv/data/a\"}");
    put_call(house, "order", "{\"items\":[],\"place\":\"/srv/data/b\"}");
    put_call(house, "order", "{\"items\":[{\"id\":2}],\"place\":\"/srv/data/../b\"}");
    learn(house, 1);
    assert_draft(house, "{arg: items, max_items: 0}");
    assert_permits(house, &call, "{\"items\":[],\"place\":\"/srv/data/a\"}", true);
    assert_permits(house, &call, "{\"items\":[{\"id\":1}],\"place\":\"/srv/data/a\"}", true);
    assert_permits(house, &call, "{\"items\":[{\"more\":true}],\"place\":\"/srv/data/a\"}", false);
    assert_draft(house, "{arg: place, is: string, starts_with: /srv/data/, ");
}

/* Elements that are texts or something else at times are bound by what all the texts begin with. */
TEST_CASE_WITH(test_texts_among_others, open_house, close_house)
{
    struct house *house = *state;
    const struct question call = call_of("order");

    put_call(house, "order", "{\"to\":[\"A-1/x\",null]}");
    put_call(house, "order", "{\"to\":[\"A-1/y z\",true]}");
    learn(house, 1);
    assert_draft(house, "matches: \"null|true|A\\\\-1\\\\/[\\\\s\\\\S]*\", max_length: 7");
    assert_permits(house, &call, "{\"to\":[\"A-1/z\",null]}", true);
    assert_permits(house, &call, "{\"to\":[\"A-2/x\",null]}", false);
}

TEST_CASE_WITH(test_no_arguments, open_house, close_house)
{
    struct house *house = *state;
    const struct question call = call_of("now");

    put_call(house, "now", NULL);
    put_call(house, "now", "{}");
    learn(house, 1);
    assert_draft(house, "only_args: []");
    assert_permits(house, &call, NULL, true);
    assert_permits(house, &call, "{}", true);
    assert_permits(house, &call, "{\"a\":1}", false);
}

TEST_CASE_WITH(test_protocol_and_methods, open_house, close_house)
{
    struct house *house = *state;
    struct audit_decision call = audit_call("acme", "c-1");
    struct question question = call_of("");

    call.tool = call.arguments = SPAN_NONE;
    call.method = SPAN_LIT("initialize");
    put(house, &call);
    call.method = SPAN_LIT("notifications/initialized");
    put(house, &call);
    call.method = SPAN_LIT("resources/read");
    call.tool = SPAN_LIT("file:///a");
    call.arguments = SPAN_LIT("{\"uri\":\"file:///a\",\"_meta\":{\"progressToken\":7}}");
    put(house, &call);
    call.method = SPAN_LIT("prompts/get");
    call.tool = SPAN_LIT("greet");
    call.arguments = SPAN_LIT("{\"who\":\"Ann\"}");
    put(house, &call);
    learn(house, 1);
    assert_int_equal(house->sum.rules, 3);
    assert_draft(house, "methods: [prompts/get], prompts: [greet]}");
    assert_draft(house, "- id: learned.shop.protocol");
    assert_draft(house, "methods: [initialize, notifications/initialized]");
    question.method = SPAN_LIT("initialize");
    assert_permits(house, &question, NULL, true);
    question.method = SPAN_LIT("ping");
    assert_permits(house, &question, NULL, false);
    question.method = SPAN_LIT("resources/read");
    assert_permits(house, &question, "{\"uri\":\"file:///a\",\"_meta\":{\"progressToken\":8}}", true);
    assert_permits(house, &question, "{\"uri\":\"file:///b\"}", false);
}

TEST_CASE_WITH(test_what_was_denied_teaches_nothing, open_house, close_house)
{
    struct house *house = *state;
    struct audit_decision call = audit_call("acme", "c-1");
    const struct question question = call_of("search_products");

    put(house, &call);
    call.verdict = AUDIT_DENY;
    call.reason = REASON_NO_RULE;
    call.arguments = SPAN_LIT("{\"query\":\"x\",\"evil\":1}");
    put(house, &call);
    learn(house, 1);
    assert_int_equal(house->sum.calls, 1);
    assert_permits(house, &question, "{\"query\":\"lamp\",\"limit\":10}", true);
    assert_permits(house, &question, "{\"query\":\"x\",\"evil\":1}", false);
}

TEST_CASE_WITH(test_lost_values_get_no_condition, open_house, close_house)
{
    static char big[70000];
    struct house *house = *state;
    struct audit_decision call = audit_call("acme", "c-1");
    const struct question question = call_of("login");

    call.tool = SPAN_LIT("login");
    call.arguments = SPAN_LIT("{\"user\":\"u\",\"password\":{\"dev.callgate/redacted\":\"hmac-sha256:00\"}}");
    call.arguments_redacted = true;
    put(house, &call);
    (void)snprintf(big, sizeof big, "{\"text\":\"%066000d\"}", 7);
    call.arguments = span_text(big);
    call.arguments_redacted = false;
    put(house, &call);
    call.tool = SPAN_LIT("write");
    put(house, &call);
    learn(house, 1);
    assert_int_equal(house->sum.rules, 1);
    assert_int_equal(house->sum.left_out, 1);
    assert_int_equal(house->proof.permitted, 1);
    assert_int_equal(house->proof.unknown, 1);
    assert_int_equal(house->proof.left_out, 1);
    assert_draft(house, "# redacted in 1 of 1");
    assert_draft(house, "# of 1 the arguments are not in the record (1 cut");
    assert_draft(house, "# no rule for \"write\" of \"shop\": 1 calls, whose arguments are not in the record");
    assert_draft(house, "redact:");
    assert_draft(house, "tools: [login]}, args: [password]}");
    assert_permits(house, &question, "{\"user\":\"u\",\"password\":\"anything\"}", true);
    assert_permits(house, &question, "{\"user\":\"u\"}", false);
}

TEST_CASE_WITH(test_what_a_person_approved_is_no_permit, open_house, close_house)
{
    struct house *house = *state;
    struct audit_decision call = audit_call("acme", "c-1");
    const struct question question = call_of("search_products");

    put(house, &call);
    call.rule = SPAN_LIT("ask");
    call.rules = SPAN_LIT("[{\"id\":\"ask\",\"effect\":\"require_approval\",\"monitor\":false,\"approval\":1}]");
    call.arguments = SPAN_LIT("{\"query\":\"everything\",\"limit\":10}");
    put(house, &call);
    call.tool = SPAN_LIT("delete_all");
    put(house, &call);
    call.tool = SPAN_LIT("search_products");
    call.rules = SPAN_LIT("[{\"id\":\"ask\",\"effect\":\"require_approval\",\"monitor\":true}]"); /* that held nothing */
    call.arguments = SPAN_LIT("{\"query\":\"lamps\",\"limit\":10}");
    put(house, &call);
    learn(house, 1);
    assert_int_equal(house->sum.rules, 1);
    assert_int_equal(house->sum.left_out, 2);
    assert_int_equal(house->proof.left_out, 2);
    assert_int_equal(house->proof.permitted, 2);
    assert_draft(house, "# 1 more passed because a person approved them");
    assert_draft(house, "# no rule for \"delete_all\" of \"shop\": a person approved each of its 1 calls");
    assert_permits(house, &question, "{\"query\":\"lamps\",\"limit\":10}", true);
    assert_permits(house, &question, "{\"query\":\"everything\",\"limit\":10}", false);
}

TEST_CASE_WITH(test_bounds, open_house, close_house)
{
    struct house *house = *state;
    const struct question few = call_of("rare");

    for (int i = 0; i < 100; i++) {
        char arguments[64];

        (void)snprintf(arguments, sizeof arguments, "{\"name%d\":1}", i);
        put_call(house, "wild", arguments);
        (void)snprintf(arguments, sizeof arguments, "{\"free\":{\"name%d\":1}}", i);
        put_call(house, "wilder", arguments);
    }
    for (int i = 0; i < 40; i++) {
        struct audit_decision call = audit_call("acme", "c-1");
        char tenant[16];

        (void)snprintf(tenant, sizeof tenant, "t-%02d", i);
        call.tenant = span_text(tenant);
        put(house, &call);
    }
    put_call(house, "rare", "{}");
    for (int i = 0; i < 2; i++) /* 4.21: there is no name left that none of them has */
        put_call(house, "others", "{\"another\":1,\"another_one\":1,\"yet_another_one\":1}");
    put_call(house, "deep", "{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{}}}}}}}}}}}");
    put_call(house, "deep", "{}");
    learn(house, 2);
    assert_int_equal(house->sum.left_out, 1);
    assert_int_equal(house->proof.left_out, 1);
    assert_draft(house, "# too many different arguments were seen");
    assert_draft(house, "# too deep or too many names");
    assert_draft(house, "# no rule for \"rare\" of \"shop\": 1 calls, too few");
    assert_permits(house, &few, "{}", false);
    assert_draft(house, "# more than 32 tenants: all are permitted\n    match: {principals: [shop-bot], upstreams");
}

/* 4.21: of more places than are learned the draft says so, and is one; what texts beside null begin with is asked. */
TEST_CASE_WITH(test_more_places_than_are_learned, open_house, close_house)
{
    const struct question call = call_of("wide"), mixed = call_of("mixed");
    struct house *house = *state;
    char arguments[1024];

    for (int i = 0; i < 32; i++) {
        int len = snprintf(arguments, sizeof arguments, "{\"outer%d\":{", i);

        for (int j = 0; j < 32; j++)
            len += snprintf(arguments + len, sizeof arguments - (size_t)len, "%s\"inner%d\":1", j > 0 ? "," : "", j);
        (void)snprintf(arguments + len, sizeof arguments - (size_t)len, "}}");
        put_call(house, "wide", arguments);
        (void)snprintf(arguments, sizeof arguments, "{\"v\":[{\"w\":\"order-%dx\"},{\"w\":null}]}", 100 + i);
        put_call(house, "mixed", arguments);
    }
    learn(house, 1);
    assert_draft(house, "# more than 1000 different places in the arguments: not all have conditions");
    assert_permits(house, &call, "{\"outer0\":{\"inner0\":1}}", true);
    assert_permits(house, &mixed, "{\"v\":[{\"w\":\"order-131x\"},{\"w\":null}]}", true);
    assert_permits(house, &mixed, "{\"v\":[{\"w\":\"drop-9131x\"},{\"w\":null}]}", false);
}

/* Names that a glob, YAML or an id would read otherwise. */
TEST_CASE_WITH(test_odd_names, open_house, close_house)
{
    static const char *const tools[] = {"a*", "a?", "a\\b", "null", "a b", "a-b", "a/b", "\"quoted\"", "'", "#x", "{}",
                                        "{tenant}", "a{upstream}b", "{{principal}}"};
    struct house *house = *state;

    for (size_t i = 0; i < sizeof tools / sizeof tools[0]; i++)
        put_call(house, tools[i], "{\"x\":1}");
    learn(house, 1);
    assert_int_equal(house->sum.rules, sizeof tools / sizeof tools[0]);
    for (size_t i = 0; i < sizeof tools / sizeof tools[0]; i++) {
        const struct question call = call_of(tools[i]);

        assert_permits(house, &call, "{\"x\":1}", true);
    }
    assert_permits(house, &(struct question){.tenant = SPAN_LIT("acme"), .principal = SPAN_LIT("shop-bot"),
                                             .upstream = SPAN_LIT("shop"), .method = SPAN_LIT("tools/call"),
                                             .tool = SPAN_LIT("abc")}, "{\"x\":1}", false);
}

TEST_CASE_WITH(test_the_same_calls_give_the_same_text, open_house, close_house)
{
    struct house *house = *state;
    struct buf first;

    for (int i = 0; i < 50; i++) {
        char arguments[64];

        (void)snprintf(arguments, sizeof arguments, "{\"b\":%d,\"a\":\"%c\"}", i * 37 % 50, 'a' + i % 3);
        put_call(house, i % 2 ? "one" : "two", arguments);
    }
    learn(house, 1);
    buf_init(&first, 1 << 20);
    assert_int_equal(buf_add_span(&first, buf_peek(&house->draft)), CODE_OK);
    learn(house, 1);
    assert_true(span_equals(buf_peek(&first), buf_peek(&house->draft)));
    buf_fini(&first);
}

/* Whichever allocation fails: the same draft, or none. */
TEST_CASE_WITH(test_learn_memory, open_house, close_house)
{
    struct house *house = *state;
    struct trail_file only = {.path = house->file.path};
    const struct trail trail = {.files = &only, .count = 1};
    bool done = false;
    struct buf many;
    size_t len = 0;

    put_call(house, "search", "{\"query\":\"lamp\",\"deep\":{\"a\":[1,\"x\",null],\"file\":\"/srv/a/b\"}}");
    put_call(house, "search", "{\"query\":\"lamps\",\"more\":[{\"a\":1}]}");
    buf_init(&many, 1 << 16);
    buf_add_text(&many, "{\"query\":\"lamp\"");
    for (int i = 0; i < 80; i++) /* several blocks of its memory, whichever part of a member begins the next */
        assert_int_equal(i % 20 == 0 ? buf_addf(&many, "%s,\"g%d\":{\"m\":1", i == 0 ? "" : "}", i)
                                     : buf_addf(&many, ",\"m%d\":1", i), CODE_OK);
    buf_add(&many, "}}", 3);
    put_call(house, "search", buf_peek(&many).at);
    buf_fini(&many);
    learn(house, 1);
    len = buf_len(&house->draft);
    for (uint64_t nth = 1; !done; nth++) {
        struct recorded_range range = {0};
        struct learn_sum sum;
        struct learn *made = NULL;
        struct why why = {""};
        enum code code;

        buf_clear(&house->draft);
        mem_fail_at(nth, 0);
        code = learn_new(&made);
        if (code == CODE_OK)
            code = learn_read(made, &trail, &range, NULL, NULL, &why);
        if (code == CODE_OK)
            code = learn_write(made, SPAN_LIT("learned"), 1, &house->draft, &sum);
        done = mem_fail_count() < nth;
        mem_fail_at(0, 0);
        if (code == CODE_OK)
            assert_int_equal(buf_len(&house->draft), len);
        else
            assert_false(done);
        learn_free(&made);
        assert_true(nth < 10000);
    }
}

TEST_MAIN(NULL, NULL)
