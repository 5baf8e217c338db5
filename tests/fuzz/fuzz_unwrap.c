/* SPDX-License-Identifier: Apache-2.0 */
/* A call that stands in another, and the answer of a search for tools. What is read of the arguments has one reading: the same
 * bytes, read again, are the same call, and nothing stands beside it. What is left of an answer is JSON, and names no tool that
 * may not be shown. What pages may reach is cut once for all. 15.4, 15.6 */
#include "base/bug.h"
#include "declared/declared.h"

#define PATH_OF(...) {.count = sizeof (struct span[]){__VA_ARGS__} / sizeof (struct span), .step = {__VA_ARGS__}}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static const struct span besides[] = {{"why", 3}};
static const struct declared_unwrap all[] = {
    {.tool = {"call_tool", 9}, .name = PATH_OF({"n", 1}), .arguments = PATH_OF({"a", 1}), .besides = besides, .beside_count = 1},
    {.tool = {"route", 5}, .name = PATH_OF({"r", 1}, {"n", 1}), .arguments = PATH_OF({"r", 1}, {"a", 1}), .server = PATH_OF({"s", 1})},
    {.tool = {"find", 4}, .lists = {{.path = PATH_OF({"t", 1}), .key = {"n", 1}}, {.key = {"n", 1}}}, .list_count = 2},
    {.tool = {"names", 5}, .lists = {{.path = PATH_OF({"t", 1})}}, .list_count = 1},
};
static const struct declared_unwraps unwraps = {all, sizeof all / sizeof all[0]};

static size_t hidden;

/* Nothing that begins with x is shown. */
static bool may_show(void *context, const struct declared_listed *listed)
{
    bool is_shown = !span_starts_with(listed->tool, SPAN_LIT("x"));

    (void)context;
    hidden += !is_shown;
    return is_shown;
}

static void try_call(const struct declared_unwrap *unwrap, const struct json_node *outer, struct arena *arena)
{
    struct declared_inner inner, again;
    struct buf canonical, twice;

    buf_init(&canonical, SIZE_MAX / 2);
    buf_init(&twice, SIZE_MAX / 2);
    if (declared_inner_read(&unwraps, unwrap, outer, false, &canonical, arena, &inner) == REASON_PERMITTED) {
        BUG_ON(inner.tool.len == 0 || declared_unwrap_is_like(&unwraps, inner.tool) || outer->count > 4);
        BUG_ON(inner.arguments != NULL && inner.arguments->type != JSON_OBJECT);
        BUG_ON(declared_inner_read(&unwraps, unwrap, outer, false, &twice, arena, &again) != REASON_PERMITTED);
        BUG_ON(!span_equals(inner.tool, again.tool) || !span_equals(buf_peek(&canonical), buf_peek(&twice)));
    }
    buf_fini(&canonical);
    buf_fini(&twice);
}

/* Returns: how many of its tools are hidden. Takes: body: the document, which is changed; root: its tree. */
static size_t try_list(const struct declared_unwrap *unwrap, struct buf *body, const struct json_node *root, struct arena *arena)
{
    struct json_edits edits;
    size_t before = hidden;

    json_edits_init(&edits);
    if (declared_list_filter(&unwraps, unwrap, buf_peek(body), root, may_show, NULL, arena, &edits) != CODE_OK)
        hidden = before;
    else if (edits.count > 0)
        BUG_ON(json_edits_apply(&edits, body, arena, root) == CODE_INVALID);
    json_edits_fini(&edits);
    return hidden - before;
}

/* A document of its own. Its tree lies over the body, in which edits are made. */
struct document {
    struct arena arena;
    struct buf body;
    const struct json_node *root;
};

/* document_close is due whatever it returns. */
static bool document_open(struct span text, const struct json_rules *rules, struct document *document)
{
    struct json_fault fault;

    arena_init(&document->arena, (size_t)64 << 20);
    buf_init(&document->body, SIZE_MAX / 2);
    return json_read(text, rules, &document->body, &document->arena, &document->root, &fault) == CODE_OK;
}

static void document_close(struct document *document)
{
    buf_fini(&document->body);
    arena_fini(&document->arena);
}

static void filter_twice(const struct declared_unwrap *unwrap, struct span text)
{
    struct document first, again;

    if (document_open(text, &json_reply_rules, &first) && first.root->type == JSON_OBJECT) {
        (void)try_list(unwrap, &first.body, first.root, &first.arena);
        BUG_ON(!document_open(buf_peek(&first.body), &json_reply_rules, &again));
        BUG_ON(hidden > 0 && try_list(unwrap, &again.body, again.root, &again.arena) > 0);
        document_close(&again);
    }
    document_close(&first);
}

/* Once cut, nothing is left to be cut. */
static void cut_twice(struct span text)
{
    static const struct span domains[] = {{"https://*.a.example", 19}, {"wss://b:1", 9}}, permissions[] = {{"camera", 6}};
    static const struct declared_apps apps = {true, domains, 2, permissions, 1};
    struct document document;
    bool is_read = document_open(text, &json_reply_rules, &document);

    for (int i = 0; is_read && i < 2; i++) {
        struct json_edits edits;

        json_edits_init(&edits);
        BUG_ON(declared_apps_cut(&apps, buf_peek(&document.body), document.root, &edits) != CODE_OK || (i > 0 && edits.count > 0));
        BUG_ON(edits.count > 0 && json_edits_apply(&edits, &document.body, &document.arena, document.root) != CODE_OK);
        json_edits_fini(&edits);
    }
    document_close(&document);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct span text = span_of(bytes, len);
    struct document document;

    hidden = 0;
    if (document_open(text, &json_request_rules, &document) && document.root->type == JSON_OBJECT)
        for (size_t i = 0; i < 2; i++)
            try_call(&all[i], document.root, &document.arena);
    document_close(&document);
    filter_twice(&all[2], text);
    filter_twice(&all[3], text);
    filter_twice(NULL, text);
    cut_twice(text);
    return 0;
}
