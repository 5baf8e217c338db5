/* SPDX-License-Identifier: Apache-2.0 */
#include "texts/links.h"
#include "fakes/cm.h"

#include <stdio.h>
#include <stdlib.h>


/* All links of the text, `|` between them. */
static void check(const char *text, const char *wanted)
{
    struct links links = {.text = span_text(text)};
    struct span link;
    char found[1024] = "";
    size_t len = 0;

    while (links_next(&links, &link) && len < sizeof found - 1)
        len += (size_t)snprintf(found + len, sizeof found - len, "%s%.*s", len > 0 ? "|" : "", SPAN_ARG(link));
    if (strcmp(found, wanted) != 0)
        fail_msg("in `%s` were found `%s`, wanted `%s`", text, found, wanted);
}

/* 12.5: from the scheme to the next blank, control, quote, angle or backquote; what a sentence puts behind a host is the sentence's. */
TEST_CASE(test_in_sentences)
{
    check("", "");
    check("no link: none :// http https: a:b", "");
    check("https://a.example/x", "https://a.example/x");
    check("see https://a.example/x?y=z#w and ftp://b.example/ too", "https://a.example/x?y=z#w|ftp://b.example/");
    check("see https://a.example.", "https://a.example");
    check("(https://a.example), <https://b.example>; 'https://c.example' \"https://d.example\" `https://e.example`.",
          "https://a.example|https://b.example|https://c.example|https://d.example|https://e.example");
    check("[x](https://a.example/y) **https://b.example** _https://c.example_ | https://d.example |",
          "https://a.example/y)|https://b.example|https://c.example|https://d.example");
    check("a\nhttps://a.example\nb https://b.example\tc", "https://a.example|https://b.example");
    check("<a href=\"https://a.example\">https://b.example</a>", "https://a.example|https://b.example");
    check("{\"url\":\"https://a.example\",\"n\":1}", "https://a.example");
    check("{\"url\":\"https://a.example/x\",\"m\":\"a@b.example\"}", "https://a.example/x");
    check("http://[::1] and http://[::1]:80. x", "http://[::1]|http://[::1]:80");
    check("\xe2\x80\x9chttps://a.example\xe2\x80\x9d https://b.example\xc2\xa0x https://c.example\xe3\x80\x80y",
          "https://a.example|https://b.example|https://c.example");
    check("https://a.example/\xc3\xa4", "https://a.example/\xc3\xa4");
    check("HTTPS://A.example, Git+SSH://b.example/x", "HTTPS://A.example|Git+SSH://b.example/x");
}

/* 12.5: links in links, behind letters, and with the slashes that clients take for two. */
TEST_CASE(test_hidden_ones)
{
    check("https://a.example/?u=http://b.example/", "https://a.example/?u=http://b.example/|http://b.example/");
    check("jar:http://a.example!/x", "http://a.example!/x");
    check("view-source:https://a.example/", "https://a.example/");
    check("xhttp://a.example/", "xhttp://a.example/|http://a.example/");
    check("12https://a.example/", "https://a.example/");
    check("git+https://a.example/", "git+https://a.example/|https://a.example/");
    check("sftp://a.example/", "sftp://a.example/");
    check("http:/a.example http:\\\\a.example https:\\a.example", "http:/a.example|http:\\\\a.example|https:\\a.example");
    check("http:\t//a.example http:/\n/a.example", "http:\t//a.example|http:/\n/a.example");
    check("c:\\x d:/y note:/z", "");
    check("https:///a.example", "https:///a.example");
    check("https://", "https://");
    check("https:// x", "https://");
    check("://a.example", "");
    check("1://a.example", "");
}

/* 12.5: where readers end the host in different places the link holds the character at which they differ, so that `url` cannot tell. */
TEST_CASE(test_ended_otherwise)
{
    check("see https://a.example'@b.example/", "https://a.example'@");
    check("see https://a.example\"@b.example/ x", "https://a.example\"@");
    check("see https://a.example'.b.example/", "https://a.example'.b.example");
    check("see 'https://a.example'.", "https://a.example");
    check("see https://a.example <me@b.example>", "https://a.example");
    check("https://a.example@b.example/", "https://a.example@b.example/");
    check("https://a.example @b.example/", "https://a.example @");
    check("  https://a.example<@b.example/", "https://a.example<@");
    check("https://a.example\t.b.example/", "https://a.example\t.b.example");
    check("https://a.example\nb", "https://a.example\nb");
    check("https://a.example\nb and more", "https://a.example");
    check("https://a.example\n", "https://a.example");
    check("https://a.example/\n@b", "https://a.example/");
    check("https://a.example more /x@b", "https://a.example");
    check("https://a.example'.b.example more", "https://a.example'.b.example");
    check("\xc2\xa0https://a.example @b.example/", "https://a.example @");
    check("see https://a.example<@b.example/", "https://a.example<@");
}

/* 12.5: HTML, JSON and Markdown take all between their quotes or angles for one URL, blanks and tabs in it or not. */
TEST_CASE(test_in_quotes)
{
    check("<a href=\"https://a.example @b.example/\">", "https://a.example @");
    check("<a href='https://a.example<@b.example/'>", "https://a.example<@");
    check("<a href=\"https://a.example\t.b.example\">", "https://a.example\t.b.example");
    check("<a href = \"\n https://a.example\n.b.example\">", "https://a.example\n.b.example");
    check("{\"url\":\"https://a.example @b.example\"}", "https://a.example @");
    check("[x](<https://a.example @b.example>)", "https://a.example @");
    check("`https://a.example @b.example`", "https://a.example @");
    check("\"https://a.example\" or me@b.example", "https://a.example");
    check("<https://a.example> or me@b.example", "https://a.example");
    check("say \"x\" https://a.example or me@b.example", "https://a.example");
    check("it's https://a.example or me@b.example", "https://a.example");
}

/* 12.5: what stands in front of many links is not looked through for each. */
TEST_CASE(test_many_behind_blanks)
{
    enum { BLANKS = 1 << 20, LINKS = 1 << 16 };
    static char text[BLANKS + 10 * LINKS];
    struct links links = {.text = span_of(text, sizeof text)};
    struct span link;
    size_t count = 0;

    memset(text, ' ', BLANKS);
    for (size_t i = 0; i < LINKS; i++)
        memcpy(text + BLANKS + 10 * i, "http://ab ", 10);
    while (links_next(&links, &link))
        count++;
    assert_int_equal(count, LINKS);
}

TEST_MAIN(NULL, NULL)
