/* SPDX-License-Identifier: Apache-2.0 */
/* 13.1: whatever a document says, a page has the tags that were written for it, with quotes that close, and nothing else;
 * whatever a form holds, what is read of it is text. The first line is a form, the rest a document. */
#include "base/ascii.h"
#include "base/bug.h"
#include "cli/told.h"
#include "console/request.h"
#include "console/texts.h"
#include "http/reader.h"
#include "unicode/unicode.h"

#include <string.h>

#define LIMIT ((size_t)1 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static const char *const pages[] = {texts_head, texts_login, texts_fault, texts_calls, texts_call, texts_approvals,
                                    texts_approval, texts_now, texts_policies, texts_policy, texts_diff, texts_replay,
                                    texts_tools, texts_tool, texts_evidence, texts_fleet, texts_stops, texts_stop, texts_waits};

static void read_form(struct span form)
{
    static const char head[] = "POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n";
    struct http_reader reader;
    struct request request;
    struct arena arena;
    struct span body;
    size_t used;

    http_reader_init_request(&reader, NULL);
    arena_init(&arena, LIMIT);
    BUG_ON(http_reader_feed(&reader, span_text(head), &used, &body) != HTTP_STEP_HEAD_DONE);
    if (request_read(&reader.head, form, &arena, &request))
        for (size_t i = 0; i < request.count; i++) {
            struct span value = request.fields[i].value;

            BUG_ON(!unicode_is_utf8(value) || span_find(value, 0) < value.len);
        }
    arena_fini(&arena);
    http_reader_fini(&reader);
}

/* Whether the page was written with this beginning of a tag. */
static bool is_written(const char *page, struct span tag)
{
    for (const char *at = page; (at = strstr(at, "<")) != NULL; at++)
        if (strncmp(at, tag.at, tag.len) == 0)
            return true;
    return false;
}

static void check_page(const char *page, struct span out)
{
    for (size_t at = span_find(out, '<'); at < out.len; at += span_find(span_part(out, at, SIZE_MAX), '<')) {
        size_t end = at + 1;
        bool in_quotes = false;

        while (end < out.len && (ascii_is_word(out.at[end]) || strchr("/!", out.at[end]) != NULL))
            end++;
        BUG_ON(!is_written(page, span_part(out, at, end - at)));
        for (; end < out.len && (in_quotes || out.at[end] != '>'); end++) {
            BUG_ON(out.at[end] == '<' || out.at[end] == '\'' || out.at[end] == '`');
            in_quotes = in_quotes != (out.at[end] == '"');
        }
        BUG_ON(end == out.len);
        at = end;
    }
}

static void show(const struct json_node *root)
{
    static const char *const names[] = {"story", "ask", "arguments", "who", "q", "calls", "later", "earlier", "title", "token",
                                        "fault", "next", "page", "sentence", "typed", "status", "stats", "chart", "denied",
                                        "policy", "counted", "diff", "trail", "waits"};
    static const char *const lists[] = {"rows", "filters", "held", "versions", "replay", "tools", "tool", "files", "verify",
                                        "faults"};
    struct doc *doc = doc_object(), *may = doc_add_object(doc, "may");
    struct told told;
    struct buf out;

    doc_bool(may, "calls", true);
    doc_bool(may, "approvals", true);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        doc_json(doc, names[i], root->raw);
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        doc_json(doc_add_array(doc, lists[i]), NULL, root->raw);
    buf_init(&out, 64 * LIMIT);
    if (told_read(&told, doc) == CODE_OK)
        for (size_t i = 0; i < sizeof pages / sizeof pages[0]; i++) {
            buf_clear(&out);
            if (told_add_html(&out, told.root, pages[i]) == CODE_OK)
                check_page(pages[i], buf_peek(&out));
        }
    told_end(&told);
    doc_free(&doc);
    buf_fini(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct span document, form = span_cut(span_of(bytes, len), '\n', &document);
    const struct json_node *root = NULL;
    struct json_fault fault;
    struct arena arena;
    struct buf text;

    read_form(form);
    arena_init(&arena, 16 * LIMIT);
    buf_init(&text, LIMIT);
    if (len < LIMIT / 4 && json_read(document, &json_file_rules, &text, &arena, &root, &fault) == CODE_OK)
        show(root);
    buf_fini(&text);
    arena_fini(&arena);
    return 0;
}
