/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/policy/rows.h"

#include "os/clock.h"
#include "texts/links.h"

#define OURS "links: true, url: {schemes: [https], hosts: [example.com]}"
#define OUT "links: true, url: {to: public}"

/* 12.5: where the condition opens every link must do, where it closes any; a text without one is no value. */
TEST_CASE(test_links)
{
    static const struct row rows[] = {
        {OURS, "\"see https://example.com/a, and https://example.com.\"", 'T', 'T'},
        {OURS, "\"see https://example.com/a and https://evil.com\"", 'T', 'F'},
        {OURS, "\"see https://evil.com\"", 'F', 'F'},
        {OURS, "\"see http://example.com\"", 'F', 'F'},
        {OURS, "\"see https://example.com.evil.com\"", 'F', 'F'},
        {OURS, "\"see https://example.com@evil.com\"", 'U', 'U'},
        {OURS, "\"see https://example.com'@evil.com/\"", 'U', 'U'},
        {OURS, "\"https://example.com @evil.com/\"", 'U', 'U'},
        {OURS, "\"https://example.com\\t.evil.com/\"", 'U', 'U'},
        {OURS, "\"see https:\\\\\\\\evil.com\"", 'U', 'U'},
        {OURS, "\"see https:/evil.com\"", 'U', 'U'},
        {OURS, "\"xhttps://example.com/\"", 'T', 'F'},
        {OURS, "\"see https://example.com/?u=https://evil.com/\"", 'T', 'F'},
        {OURS, "\"see https://example.com/\\u00e4\"", 'U', 'U'},
        {OURS, "\"no link\"", 'F', 'T'}, /* as of what selects nothing: the rule does not apply */
        {OURS, "[\"https://example.com/\"]", 'U', 'U'},
        {OURS, "5", 'F', 'T'},
        {OURS, "null", 'F', 'T'},
        {OUT, "\"see https://example.org/, (https://files.example.org) or http://[::1]/\"", 'T', 'F'},
        {OUT, "\"https%3A%2F%2Flocalhost\"", 'F', 'T'},
        {OUT ", decode: [percent]", "\"https%3A%2F%2Flocalhost\"", 'F', 'F'},
        {OUT ", decode: [percent]", "\"https://example.org/?u=http%3A%2F%2F10.0.0.1\"", 'T', 'F'},
        {OUT ", decode: [percent, html, unicode, base64]", "\"aHR0cDovL2xvY2FsaG9zdC8=\"", 'F', 'F'},
        {OUT ", decode: [unicode]", "\"\\uff48ttp\\uff1a//localhost/\"", 'F', 'F'},
        {"links: true, starts_with: 'https://'", "\"a https://b http://c\"", 'T', 'F'},
        {"links: true, equals: 'https://b'", "\"a https://b.\"", 'T', 'T'},
        {"links: true, url: {schemes: [https]}, max_length: 12", "\"a https://b.c https://b.cdefg/\"", 'T', 'F'},
        {"links: true, matches: 'b.c'", "\"a https://b.c\"", 'T', 'F'},
        {"keys: true, links: true, url: {hosts: [b.c]}", "{\"https://b.c/\":1}", 'T', 'T'},
        {"links: true, not_matches: '.*evil.*'", "\"a https://b.c https://evil.com\"", 'T', 'F'},
    };

    CHECK(rows);
}

/* 12.5: several texts, some without links; a permit of texts that may have none says `optional`. */
TEST_CASE(test_several)
{
    static const struct {
        const char *effect, *condition, *arguments;
        bool applies;
    } rows[] = {
        {"permit", "{arg: '$..*', " OURS "}", "{\"a\":\"https://example.com\",\"b\":\"x\",\"c\":[1]}", true},
        {"permit", "{arg: '$..*', " OURS "}", "{\"a\":\"https://example.com\",\"b\":\"https://evil.com\"}", false},
        {"permit", "{arg: '$..*', " OURS "}", "{\"b\":\"x\"}", false},
        {"permit", "{arg: '$..*', " OURS ", optional: true}", "{\"b\":\"x\"}", true},
        {"permit", "{arg: b, " OURS ", optional: true}", "{\"b\":7}", true},
        {"permit", "{arg: b, " OURS ", optional: true}", "{\"b\":[\"https://evil.com\"]}", false},
        {"permit", "{arg: b, " OURS ", optional: true}", "{\"b\":{\"a\":\"https://evil.com\"}}", false},
        {"require_approval", "{not: {arg: b, " OUT ", absent: ignored}}", "{\"b\":[\"http://10.0.0.1/\"]}", true},
        {"permit", "{arg: '$.l[*].t', " OURS "}", "{\"l\":[{\"t\":\"https://example.com\"},{\"t\":\"x\"}]}", false},
        {"permit", "{arg: '$.l[*].t', " OURS ", optional: true}", "{\"l\":[{\"t\":\"https://example.com\"},{\"t\":\"x\"}]}", true},
        {"require_approval", "{not: {arg: '$..*', " OUT ", absent: ignored}}", "{\"b\":\"x\"}", false},
        {"require_approval", "{not: {arg: '$..*', " OUT ", absent: ignored}}", "{\"b\":\"http://example.org/ http://db.internal\"}", true},
        {"require_approval", "{not: {arg: '$..*', " OUT ", absent: ignored}}", "{\"b\":\"http://example.org/\"}", false},
        {"require_approval", "{arg: '$..*', " OURS ", absent: applies}", "{\"b\":\"x\"}", true},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        bool applies = judge_condition(rows[i].effect, rows[i].condition, span_text(rows[i].arguments), NULL) != VERDICT_DENY;

        if (applies != rows[i].applies)
            fail_msg("a %s with %s %s for %s", rows[i].effect, rows[i].condition, applies ? "applies" : "does not apply",
                     rows[i].arguments);
    }
}

/* 12.5: a million links in each other cost the call its work, and are not permitted. */
TEST_CASE(test_many)
{
    size_t len = 1 << 20;
    char *json = malloc(len + 64);
    bool undecided;

    assert_non_null(json);
    memcpy(json, "{\"v\":\"", 6);
    for (size_t i = 6; i + 4 < len; i += 4)
        memcpy(json + i, "a://", 4);
    memcpy(json + len - 2, "\"}", 3);
    assert_int_equal(judge_condition("permit", "{arg: v, " OUT ", optional: true}", span_text(json), NULL), VERDICT_DENY);
    assert_int_equal(judge_condition("forbid", "{arg: v, links: true, url: {hosts: [evil.com]}}", span_text(json), &undecided),
                     VERDICT_DENY);
    free(json);
}

/* 12.5: nor do blanks in front of many links cost more than their bytes: each link once looked through them all. */
TEST_CASE(test_blanks)
{
    static const char link[] = "http://a ";
    size_t blanks = 1 << 20, count = 1 << 16, len = strlen(link);
    char *text = malloc(blanks + count * len);
    struct links links = {.text = span_of(text, blanks + count * len)};
    struct span found;
    int64_t work_us;
    size_t many = 0;

    assert_non_null(text);
    memset(text, ' ', blanks);
    for (size_t i = 0; i < count; i++)
        memcpy(text + blanks + i * len, link, len);
    work_us = clock_thread_cpu_us();
    while (links_next(&links, &found))
        many++;
    work_us = clock_thread_cpu_us() - work_us;
    free(text);
    assert_int_equal(many, count);
    if (work_us > 5000000) /* it was a minute, and is 10 ms */
        fail_msg("%.1f seconds of CPU", (double)work_us / 1e6);
}

TEST_MAIN(NULL, NULL)
