/* SPDX-License-Identifier: Apache-2.0 */
/* Which tools look as if rules did not see all of their calls. Numbers: 15.4 */
#include "tools/unseen.h"

#include "fakes/cm.h"
#include "json/text.h"

#include <stdio.h>

static enum unseen of(const char *tool, const char *what, const char *properties, struct buf *out)
{
    struct json_text text;
    char definition[2048];
    enum unseen found;

    (void)snprintf(definition, sizeof definition, "{\"name\":\"%s\",\"description\":\"%s\",\"inputSchema\":{\"type\":\"object\","
                   "\"properties\":%s}}", tool, what, properties);
    buf_clear(out);
    assert_ok(json_text_read(&text, span_text(definition), &json_reply_rules, sizeof definition));
    found = unseen_of(text.root, out);
    json_text_fini(&text);
    assert_int_equal(found == UNSEEN_NOTHING, buf_is_empty(out));
    assert_int_equal(found == UNSEEN_NOTHING, unseen_word(found) == NULL);
    return found;
}

TEST_CASE(are_named)
{
    static const struct {
        enum unseen unseen;
        const char *tool, *what, *properties;
    } tries[] = {
        {UNSEEN_CALLS, "call_tool", "Call a tool",
         "{\"name\":{\"type\":\"string\"},\"arguments\":{\"anyOf\":[{\"type\":\"object\"},{\"type\":\"null\"}]}}"},
        {UNSEEN_CALLS, "dispatch", "", "{\"tool_name\":{\"type\":\"string\"},\"parameters\":{\"type\":\"object\"}}"},
        {UNSEEN_CALLS, "dispatch", "", "{\"toolName\":{},\"args\":{\"type\":\"string\"},\"server\":{\"type\":\"string\"}}"},
        {UNSEEN_CALLS, "route", "", "{\"request\":{\"type\":\"object\",\"properties\":{\"tool\":{\"type\":\"string\"},\"arguments\":{}}}}"},
        {UNSEEN_CALLS_SEVERAL, "multi_execute", "",
         "{\"tools\":{\"type\":\"array\",\"items\":{\"properties\":{\"tool_slug\":{\"type\":\"string\"},\"arguments\":{}}}}}"},
        {UNSEEN_LISTS, "search_tools", "", "{\"query\":{\"type\":\"string\"}}"},
        {UNSEEN_LISTS, "ListTools", "", "{}"},
        {UNSEEN_PROGRAM, "execute", "Runs Python in a sandbox", "{\"code\":{\"type\":\"string\"}}"},
        {UNSEEN_PROGRAM, "browser", "", "{\"script\":{\"type\":\"string\"}}"},
        {UNSEEN_NOTHING, "redeem", "Redeems a voucher", "{\"code\":{\"type\":\"string\"}}"},
        {UNSEEN_NOTHING, "create_user", "", "{\"name\":{\"type\":\"string\"},\"parameters\":{\"type\":\"object\"}}"},
        {UNSEEN_NOTHING, "paint", "", "{\"tool\":{\"type\":\"string\"},\"color\":{\"type\":\"string\"}}"},
        {UNSEEN_NOTHING, "count", "", "{\"tool\":{\"type\":\"integer\"},\"args\":{\"type\":\"integer\"}}"},
        {UNSEEN_NOTHING, "search_files", "", "{\"query\":{\"type\":\"string\"}}"},
        {UNSEEN_NOTHING, "odd", "", "[1]"},
        {UNSEEN_NOTHING, "odd", "", "{\"request\":{\"properties\":[{\"tool\":1}]},\"items\":{\"items\":3}}"},
    };
    struct buf out;

    buf_init(&out, UNSEEN_MAX_BYTES);
    for (size_t i = 0; i < sizeof tries / sizeof tries[0]; i++) {
        enum unseen found = of(tries[i].tool, tries[i].what, tries[i].properties, &out);

        if (found != tries[i].unseen)
            fail_msg("%s with %s: %s", tries[i].tool, tries[i].properties, found == UNSEEN_NOTHING ? "nothing" : unseen_word(found));
    }
    (void)of("call_tool", "", "{\"name\":{},\"arguments\":{}}", &out);
    assert_true(span_find(buf_peek(&out), '`') < buf_len(&out));
    buf_fini(&out);
}

TEST_MAIN(NULL, NULL)
