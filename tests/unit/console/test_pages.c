/* SPDX-License-Identifier: Apache-2.0 */
/* 13.1: nothing that others wrote is markup of the console's pages, wherever it stands in them; what a browser asks is read in one
 * way; and who is logged in stays so for eight hours at most. */
#include "console/pages.h"
#include "console/texts.h"

#include "cli/told.h"
#include "fakes/cm.h"

#include <stdio.h>
#include <string.h>

#define HOSTILE "<b a='\"`&\xe2\x80\xae\x1b>"
#define ESCAPED "&lt;b a=&#39;&quot;&#96;&amp;\\u202e\\u001b&gt;"

TEST_CASE(what_is_told_is_no_markup)
{
    static const char words[] = "<p title=\"{x}\">{x}</p>[<i>{x:cut 3}</i>]{*o}<b>{@}={.:json}</b>{/}";
    struct doc *doc = doc_object(), *object;
    struct told told;
    struct buf out;

    buf_init(&out, 4096);
    doc_text(doc, "x", SPAN_LIT(HOSTILE));
    object = doc_add_object(doc, "o");
    doc_text(object, "<k>", SPAN_LIT("</b>"));
    assert_int_equal(told_read(&told, doc), CODE_OK);
    assert_int_equal(told_add_html(&out, told.root, words), CODE_OK);
    assert_true(span_is(buf_peek(&out), "<p title=\"" ESCAPED "\">" ESCAPED "</p><i>&lt;b ...</i>"
                        "<b>&lt;k&gt;=&quot;&lt;/b&gt;&quot;</b>"));
    told_end(&told);
    doc_free(&doc);
    buf_fini(&out);
}

/* ---- where places stand ---- */

static const struct { const char *name, *text; } pages[] = {
    {"head", texts_head}, {"foot", texts_foot}, {"login", texts_login}, {"fault", texts_fault}, {"calls", texts_calls},
    {"call", texts_call}, {"approvals", texts_approvals}, {"approval", texts_approval}, {"now", texts_now},
    {"policies", texts_policies}, {"policy", texts_policy}, {"diff", texts_diff}, {"replay", texts_replay}, {"tools", texts_tools},
    {"tool", texts_tool}, {"evidence", texts_evidence}, {"fleet", texts_fleet}, {"stops", texts_stops},
    {"stop", texts_stop}, {"connect", texts_connect}, {"connecting", texts_connecting}, {"waits", texts_waits},
};

/* Takes: at: behind the quote that opens an attribute's value, tag: where its tag began. */
static void check_value(const char *page, const char *tag, const char *at)
{
    const char *name = at - 2, *end = strchr(at, '"'), *place = memchr(at, '{', (size_t)(end - at));

    while (name > tag && name[-1] != ' ' && name[-1] != '[' && name[-1] != '}' && name[-1] != ']')
        name--;
    if (strncmp(name, "on", 2) == 0 || strncmp(name, "style", 5) == 0)
        fail_msg("%s has an attribute that the browser runs: %.40s", page, name);
    if (strncmp(name, "href", 4) != 0 && strncmp(name, "action", 6) != 0 && strncmp(name, "src", 3) != 0)
        return;
    if ((*at != '/' && *at != '#') || at[1] == '/' || (place != NULL && place < at + 2))
        fail_msg("%s has a link that may lead elsewhere: %.40s", page, name);
}

/* Whether the brace begins a place where text is put. */
static bool puts_text(const char *brace)
{
    return brace[-1] != '\\' && strchr("?!*/", brace[1]) == NULL;
}

TEST_CASE(places_are_texts_or_in_quotes)
{
    for (size_t i = 0; i < sizeof pages / sizeof pages[0]; i++) {
        const char *tag = NULL;
        bool in_quotes = false, in_place = false;

        for (const char *at = pages[i].text; *at != '\0'; at++) {
            in_place = (in_place || *at == '{') && *at != '}';
            if (*at == '<' && tag == NULL)
                tag = at;
            else if (*at == '>' && !in_quotes)
                tag = NULL;
            else if (*at == '"' && tag != NULL && !in_place && !(in_quotes = !in_quotes))
                continue;
            else if (*at == '"' && tag != NULL && in_quotes)
                check_value(pages[i].name, tag, at + 1);
            else if (*at == '{' && tag != NULL && !in_quotes && puts_text(at))
                fail_msg("%s puts a text outside of quotes: %.40s", pages[i].name, at);
        }
        assert_true(tag == NULL && !in_quotes);
        assert_null(strstr(pages[i].text, "javascript:"));
    }
    assert_ptr_equal(strstr(texts_head, "<script"), strstr(texts_head, "<script type=\"module\" src=\"/console.mjs\"></script>"));
}

/* 13.1: under 100 KiB in all. */
TEST_CASE(all_of_it_is_small)
{
    size_t bytes = strlen(texts_css) + strlen(texts_js) + strlen(texts_icon);

    for (size_t i = 0; i < sizeof pages / sizeof pages[0]; i++)
        bytes += strlen(pages[i].text);
    assert_in_range(bytes, 10000, 100 * 1024);
}

/* ---- what a browser asks ---- */

static struct arena arena;
static struct http_reader reader;
static struct request request;

static bool ask(const char *target, const char *cookie, const char *form)
{
    char text[1024];
    struct span body;
    size_t used;

    http_reader_fini(&reader);
    http_reader_init_request(&reader, NULL);
    snprintf(text, sizeof text, "%s %s HTTP/1.1\r\nHost: a\r\n%s%s\r\n", form != NULL ? "POST" : "GET", target, cookie,
             form != NULL ? "Content-Length: 9\r\n" : "");
    assert_int_equal(http_reader_feed(&reader, span_text(text), &used, &body), HTTP_STEP_HEAD_DONE);
    return request_read(&reader.head, span_text(form), &arena, &request);
}

TEST_CASE(queries_and_forms_are_read_in_one_way)
{
    static const char *const wrong[] = {"/?a=%", "/?a=%4", "/?a=%zz", "/?a=%00", "/?a=%c0%80", "/?a=1&a=2", "/?%61=1&a=2", NULL};

    assert_true(ask("/calls?text=a+b%2Bc%C3%A4&tool=&x", "", NULL));
    assert_true(span_is(request_field(&request, "text"), "a b+c\xc3\xa4") && span_is(request.path, "/calls"));
    assert_true(request_field(&request, "tool").at != NULL && request_field(&request, "tool").len == 0);
    assert_true(request_field(&request, "absent").at == NULL);
    assert_true(ask("/x?word=approve", "", "why=known"));
    assert_true(span_is(request_field(&request, "why"), "known") && request_field(&request, "word").at == NULL);
    for (size_t i = 0; wrong[i] != NULL; i++)
        if (ask(wrong[i], "", NULL))
            fail_msg("%s is read", wrong[i]);
}

TEST_CASE(a_cookie_counts_once)
{
    assert_true(ask("/", "Cookie: a=1; callgate=xyz; callgate-1=u\r\n", NULL));
    assert_true(span_is(request_cookie(&request, "callgate"), "xyz") && span_is(request_cookie(&request, "callgate-1"), "u"));
    assert_true(request_cookie(&request, "b").len == 0);
    assert_true(ask("/", "Cookie: callgate=xyz; callgate=abc\r\n", NULL));
    assert_true(request_cookie(&request, "callgate").len == 0);
}

/* ---- commands ---- */

TEST_CASE(values_are_no_options)
{
    struct words words;

    words_begin(&words, &arena);
    words_add_all(&words, "audit query --json");
    words_add(&words, "tenant", SPAN_LIT("--config=/etc/passwd"));
    words_add(&words, NULL, SPAN_LIT("7"));
    assert_int_equal(words.count, 5);
    assert_string_equal(words.argv[3], "--tenant=--config=/etc/passwd");
    assert_string_equal(words.argv[4], "7");
    assert_null(words.argv[5]);
    for (int i = 0; i < ASKING_WORDS_MAX; i++)
        words_add(&words, "text", SPAN_LIT("x"));
    assert_true(words.is_short);
}

TEST_CASE(lines_become_a_list)
{
    struct answer answer = {.status = 0};

    buf_init(&answer.out, 1024);
    buf_init(&answer.said, 1024);
    assert_string_equal(answer_array(&answer, &arena), "[]");
    buf_add_text(&answer.out, "{\"a\":1}\n{\"a\":2}\n");
    assert_string_equal(answer_array(&answer, &arena), "[{\"a\":1},{\"a\":2}]");
    answer_fini(&answer);
}

/* ---- sessions ---- */

TEST_CASE(sessions_end_by_themselves)
{
    struct session session, found;
    char cookie[SESSIONS_SECRET_BYTES], once[SESSIONS_SECRET_BYTES];

    session_init(&session);
    session.has_login = buf_add(&session.login, "key", 4) == CODE_OK;
    session.roles = 1;
    assert_true(sessions_begin(&session, 1));
    snprintf(cookie, sizeof cookie, "%s", session.cookie);
    assert_string_not_equal(session.cookie, session.token);
    session_init(&found);
    assert_true(sessions_find(span_text(cookie), SESSIONS_LIFE_US, &found));
    assert_string_equal(session_login(&found), "key");
    assert_string_equal(found.token, session.token);
    assert_int_equal(found.roles, 1);
    session_fini(&found);
    session_init(&found);
    assert_false(sessions_find(span_text(cookie), SESSIONS_LIFE_US + 1, &found));
    assert_false(sessions_find(SPAN_LIT(""), 1, &found));
    sessions_end(span_text(cookie));
    assert_false(sessions_find(span_text(cookie), 2, &found));
    assert_null(session_login(&found));
    for (int i = 0; i < 256; i++) {
        snprintf(session.who, sizeof session.who, "%d", i / 16);
        assert_true(sessions_begin(&session, 5 + i));
        if (i == 0)
            snprintf(cookie, sizeof cookie, "%s", session.cookie);
    }
    snprintf(session.who, sizeof session.who, "another");
    assert_false(sessions_begin(&session, 300)); /* there is no room for more */
    session_fini(&found);
    session_init(&found);
    assert_true(sessions_find(span_text(cookie), 300, &found));
    snprintf(session.who, sizeof session.who, "0");
    assert_true(sessions_begin(&session, 300)); /* but one person's next ends his own oldest, so that nobody fills it */
    session_fini(&found);
    session_init(&found);
    assert_false(sessions_find(span_text(cookie), 300, &found));
    snprintf(session.who, sizeof session.who, "another");
    assert_true(sessions_begin(&session, 300 + SESSIONS_LIFE_US));
    sessions_offer_once(once, 1);
    assert_false(sessions_take_once(span_text(cookie), 2));
    assert_true(sessions_take_once(span_text(once), 2));
    assert_false(sessions_take_once(span_text(once), 3));
    sessions_offer_once(once, 1);
    assert_false(sessions_take_once(span_text(once), 1 + SESSIONS_ONCE_US));
    session_fini(&session);
    session_fini(&found);
}

static int setup(void **state)
{
    (void)state;
    arena_init(&arena, (size_t)1 << 20);
    http_reader_init_request(&reader, NULL);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    http_reader_fini(&reader);
    arena_fini(&arena);
    return 0;
}

TEST_MAIN(setup, teardown)
