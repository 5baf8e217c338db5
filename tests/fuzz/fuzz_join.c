/* SPDX-License-Identifier: Apache-2.0 */
/* Messages behind a joined endpoint: whatever a server or an agent writes, it stays one message with the members that it had, in
 * which a server's name stands in front or is gone; what goes down comes up as it was; several answers are one that parses. 13.3 */
#include "base/bug.h"
#include "join/merge.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

#define TREE_BYTES ((size_t)32 << 20)

static const struct span servers[] = {{"shop", 4}, {"git", 3}};
static const struct join_names names = {servers, 2};

struct document {
    struct arena arena;
    struct buf text;
    const struct json_node *root;
};

static void document_fini(struct document *document)
{
    arena_fini(&document->arena);
    buf_fini(&document->text);
}

static bool document_read(struct document *document, struct span text)
{
    struct json_fault fault;

    arena_init(&document->arena, TREE_BYTES);
    buf_init(&document->text, TREE_BYTES);
    return json_read(text, &json_reply_rules, &document->text, &document->arena, &document->root, &fault) == CODE_OK;
}

static void check_same_members(const struct json_node *a, const struct json_node *b)
{
    const struct json_node *left = a->child, *right = b->child;

    for (; left != NULL && right != NULL; left = left->next, right = right->next)
        BUG_ON(!span_equals(left->key, right->key));
    BUG_ON(left != NULL || right != NULL);
}

/* What was made is canonical, and has the members of what it was made of. */
static void check(const struct json_node *from, const struct buf *made, struct document *again)
{
    BUG_ON(!document_read(again, buf_peek(made)));
    BUG_ON(!span_equals(buf_peek(&again->text), buf_peek(made)));
    if (from != NULL)
        check_same_members(from, again->root);
}

static void down_and_up(const struct json_node *root)
{
    static const char *const methods[] = {"tools/list", "resources/list", "tools/call", "tasks/list", ""};
    struct span method = json_member_text(root, "method");
    struct document down;
    struct buf text, back;

    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        buf_init(&text, TREE_BYTES);
        BUG_ON(join_name_down(servers[0], span_text(methods[i]), root, &text) != CODE_OK);
        check(root, &text, &down);
        document_fini(&down);
        buf_fini(&text);
    }
    if (json_member(root, SPAN_LIT("id")) == NULL || method.at == NULL)
        return;
    /* A server's request: the agent answers by its id, which is the server's own then. */
    buf_init(&text, TREE_BYTES);
    buf_init(&back, TREE_BYTES);
    BUG_ON(join_name_down(servers[0], SPAN_NONE, root, &text) != CODE_OK);
    check(root, &text, &down);
    BUG_ON(join_name_up(&names, 0, SPAN_NONE, down.root, &back) != CODE_OK);
    document_fini(&down);
    check(root, &back, &down);
    BUG_ON(!span_equals(json_member(down.root, SPAN_LIT("id"))->raw, json_member(root, SPAN_LIT("id"))->raw));
    document_fini(&down);
    buf_fini(&back);
    buf_fini(&text);
}

static void up(const struct json_node *root)
{
    struct span method = json_member_text(root, "method");
    struct buf text;
    size_t server;
    enum code code = join_name_of(&names, method, root, &server);

    BUG_ON(code == CODE_OK && server >= names.count);
    buf_init(&text, TREE_BYTES);
    /* An id or a token may come back as anything but JSON: the route's reader refuses that. */
    BUG_ON(join_name_up(&names, code == CODE_OK ? server : 0, method, root, &text) != CODE_OK);
    buf_fini(&text);
}

static void merge(const struct json_node *root)
{
    const struct json_node *result = json_member(root, SPAN_LIT("result"));
    const struct join_part parts[] = {{servers[0], result, true}, {servers[1], root, true}};
    const struct join_list list = {.list = "tools", .parts = parts, .count = 2, .budget = 16};
    struct document again;
    struct buf text;

    for (int i = 0; i < 4; i++) {
        buf_init(&text, TREE_BYTES);
        BUG_ON((i == 0   ? join_merge_list(&list, &text)
                : i == 1 ? join_merge_greeting(parts, 2, servers[0], SPAN_NONE, &text)
                : i == 2 ? join_merge_greeting(parts, 2, servers[0], SPAN_LIT("2025-11-25"), &text)
                         : join_merge_union(parts, 2, &text)) != CODE_OK);
        check(NULL, &text, &again);
        document_fini(&again);
        buf_fini(&text);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct document document;
    struct buf own;

    if (len > 1 << 16)
        return 0;
    buf_init(&own, TREE_BYTES);
    if (document_read(&document, span_of(bytes, len)) && document.root->type == JSON_OBJECT) {
        down_and_up(document.root);
        up(document.root);
        merge(document.root);
    }
    BUG_ON(join_cursor_of(span_of(bytes, len), servers[0], &own) == CODE_OK && buf_len(&own) > TREE_BYTES);
    buf_fini(&own);
    document_fini(&document);
    return 0;
}
