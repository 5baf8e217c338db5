/* SPDX-License-Identifier: Apache-2.0 */
/* 5.8: what a slug may be, which path holds one, and whose names could be one another's. */
#include "fakes/cm.h"
#include "lane/slug.h"
#include "base/glob.h"

static const struct span globs[] = {{"search", 6}, {"shop-*", 6}, {"v?", 2}};
static const struct slug_list list = {globs, 3};

static bool matches(const char *template, const char *path, const char *wanted)
{
    struct span slug;

    return slug_matches(&list, span_text(template), span_text(path), &slug) && span_is(slug, wanted);
}

TEST_CASE(test_fit)
{
    static const char *const fit[] = {"a", "my-server", "0", "a.b_c-d", "a..b"};
    static const char *const unfit[] = {"", ".", "..", ".a", "-a", "_a", "a.", "A", "aB", "a/b", "a%2fb", "a;b", "a b", "a~",
                                        "\xc3\xa4", "a?", "a*", "{slug}", ".well-known"};
    char longest[66] = "";

    for (size_t i = 0; i < sizeof fit / sizeof *fit; i++)
        assert_true(slug_is_fit(span_text(fit[i])));
    for (size_t i = 0; i < sizeof unfit / sizeof *unfit; i++)
        assert_false(slug_is_fit(span_text(unfit[i])));
    memset(longest, 'a', 65);
    assert_true(slug_is_fit(span_of(longest, 64)));
    assert_false(slug_is_fit(span_of(longest, 65)));
    assert_true(slug_glob_is_fit(SPAN_LIT("*")) && slug_glob_is_fit(SPAN_LIT("a-?*")) && slug_glob_is_fit(SPAN_LIT("a.*")));
    assert_false(slug_glob_is_fit(SPAN_LIT("A*")) || slug_glob_is_fit(SPAN_LIT("a\\*")) || slug_glob_is_fit(SPAN_LIT("-*")));
}

TEST_CASE(test_matches)
{
    struct span slug, rest;

    assert_true(matches("/mcp/{slug}", "/mcp/search", "search"));
    assert_true(matches("/mcp/{slug}", "/mcp/shop-", "shop-") && matches("/{slug}/mcp", "/shop-9/mcp", "shop-9"));
    assert_true(matches("/{slug}/mcp", "/v1/mcp", "v1"));
    assert_true(matches("/plain", "/plain", ""));
    assert_false(matches("/mcp/{slug}", "/mcp/", "") || matches("/mcp/{slug}", "/mcp", ""));
    assert_false(matches("/mcp/{slug}", "/mcp/other", "other"));
    assert_false(matches("/mcp/{slug}", "/mcp/shop-A", "shop-A") || matches("/mcp/{slug}", "/MCP/search", "search"));
    assert_false(matches("/mcp/{slug}", "/mcp/search/", "search") || matches("/mcp/{slug}", "/mcp/shop-/x", "shop-"));
    assert_false(matches("/{slug}/mcp", "/shop-/x/mcp", "shop-/x") || matches("/{slug}/mcp", "/search/mcpx", "search"));
    assert_false(matches("/{slug}/mcp", "/shop-%2e/mcp", "shop-%2e") || matches("/{slug}/mcp", "/shop-./mcp", "shop-."));
    assert_true(slug_matches_below(&list, SPAN_LIT("/{slug}"), SPAN_LIT("/search/a/b"), &slug, &rest));
    assert_true(span_is(slug, "search") && span_is(rest, "/a/b"));
    assert_false(slug_matches_below(&list, SPAN_LIT("/{slug}/x"), SPAN_LIT("/search/xy"), &slug, &rest));
    assert_true(slug_is_named(&list, SPAN_LIT("search")) && !slug_is_named(&list, SPAN_LIT("shop-1")));
}

TEST_CASE(test_put)
{
    char out[16];

    assert_int_equal(slug_put(SPAN_LIT("/{slug}/mcp"), SPAN_LIT("shop"), out, sizeof out), 9);
    assert_memory_equal(out, "/shop/mcp", 9);
    assert_int_equal(slug_put(SPAN_LIT("dojo-{slug}"), SPAN_LIT("a"), out, sizeof out), 6);
    assert_memory_equal(out, "dojo-a", 6);
    assert_int_equal(slug_put(SPAN_LIT("plain"), SPAN_LIT("a"), out, sizeof out), 5);
    assert_int_equal(slug_put(SPAN_LIT("/{slug}/mcp"), SPAN_LIT("shop"), out, 8), SIZE_MAX);
}

TEST_CASE(test_resembles)
{
    assert_true(slug_resembles(SPAN_LIT("/mcp"), SPAN_LIT("/MCP//"), false));
    assert_true(slug_resembles(SPAN_LIT("/mcp/"), SPAN_LIT("/mcp"), false));
    assert_true(slug_resembles(SPAN_LIT("/mcp/{slug}"), SPAN_LIT("/mcp/Any%20thing/"), false));
    assert_true(slug_resembles(SPAN_LIT("/{slug}/mcp"), SPAN_LIT("/x/Mcp"), false));
    assert_true(slug_resembles(SPAN_LIT(""), SPAN_LIT("/x/y"), true));
    assert_true(slug_resembles(SPAN_LIT("/a"), SPAN_LIT("/a/y"), true) && !slug_resembles(SPAN_LIT("/a"), SPAN_LIT("/ab"), true));
    assert_false(slug_resembles(SPAN_LIT("/mcp"), SPAN_LIT("/mcp/register"), false));
    assert_false(slug_resembles(SPAN_LIT("/{slug}/mcp"), SPAN_LIT("/x/llms.txt"), false));
}

TEST_CASE(test_meet)
{
    static const struct {
        const char *a, *b;
        bool meet;
    } cases[] = {
        {"a", "a", true},       {"a", "b", false},      {"*", "", true},         {"*", "anything", true}, {"shop-*", "book-*", false},
        {"shop-*", "*-x", true}, {"a*b", "ab", true},   {"a*b", "a*c", false},   {"?", "a", true},       {"?", "", false},
        {"a\\*", "ab", true}, /* what cannot be told */
        {"a?c", "ab*", true},   {"a?c", "abb*", false}, {"*a*", "*b*", true},    {"dojo-*", "dojo", false}, {"a*", "?", true},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(glob_meets(span_text(cases[i].a), span_text(cases[i].b)), cases[i].meet);
        assert_int_equal(glob_meets(span_text(cases[i].b), span_text(cases[i].a)), cases[i].meet);
    }
}

TEST_MAIN(NULL, NULL)
