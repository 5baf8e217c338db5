/* SPDX-License-Identifier: Apache-2.0 */
#include "fakes/cm.h"

#include "mcp/skim.h"

#include <stdio.h>
#include <stdlib.h>

/* Takes: text: fed `step` bytes at a time. Returns: each message as its id, `!` where it has a method, and `;`, with `$` for
 * each end. */
static const char *skimmed(const char *text, size_t step)
{
    static char told[4096];
    struct skim skim = {0};
    size_t len = 0;

    for (size_t at = 0; at < strlen(text); at += step) {
        struct span bytes = span_part(span_text(text), at, step);
        enum skim_step what;

        while ((what = skim_feed(&skim, &bytes)) != SKIM_MORE) {
            struct span id = skim_id(&skim);

            len += (size_t)snprintf(told + len, sizeof told - len, "%.*s%s%c", SPAN_ARG(id),
                                    what == SKIM_MESSAGE && skim.has_method ? "!" : "", what == SKIM_END ? '$' : ';');
            if (what == SKIM_END)
                skim = (struct skim){0};
        }
    }
    told[len] = '\0';
    return told;
}

/* 10.18, 10.21: the id of a message, wherever it stands and however the line is cut. */
TEST_CASE(test_ids)
{
    static const struct {
        const char *text, *wanted;
    } cases[] = {
        {"{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"id\":8,\"a\":[{\"id\":9}]}}\n", "7;7$"},
        {" { \"result\" : {\"id\":8} , \"id\" : \"a\\\"}b\" } \r\n", "\"a\\\"}b\";\"a\\\"}b\"$"},
        {"{\"x\":\"\\\",\\\"id\\\":5\",\"id\":-1.5e3,\"method\":\"m\"}", "-1.5e3!;"},
        {"{\"method\":\"m\",\"params\":{\"id\":1}}\n{\"id\":2,\"result\":{}}\n", "!;$2;2$"},
        {"[{\"id\":1,\"result\":{\"x\":[]}},{\"method\":\"m\"},{\"id\":\"2\",\"method\":\"m\"}]", "1;!;\"2\"!;"},
        {"{\"id\":null,\"id\":[1],\"id\":{},\"id\":tru,\"id\":01,\"id\":\"\\x\",\"id\":1 2}", "12;"},
        {"{\"id\":}", ";"},
        {"noise{\"id\":3,\"result\":\"\"}\n", "3;3$"},
        {"]]}},:\"{\n", "$"},
        {"[[{\"id\":4}]]", ""},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t step = 1; step < 9; step++)
            assert_string_equal(skimmed(cases[i].text, step), cases[i].wanted);
}

/* What is longer than an id may be is none, and takes no memory. */
TEST_CASE(test_long_id)
{
    char *text = calloc(1, 100000);

    assert_non_null(text);
    (void)snprintf(text, 100000, "{\"id\":\"%090000d\",\"method\":\"m\"}", 1);
    assert_string_equal(skimmed(text, 4096), "!;");
    (void)snprintf(text, 100000, "{\"id\":\"%0766d\"}", 1);
    assert_int_equal(strlen(skimmed(text, 4096)), 769);
    free(text);
}

TEST_MAIN(NULL, NULL)
