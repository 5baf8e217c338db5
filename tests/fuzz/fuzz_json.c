/* SPDX-License-Identifier: Apache-2.0 */
/* What is accepted must be stable: the canonical bytes of canonical bytes are themselves, the tree, the walk and cJSON
 * agree, and what we write we accept. */
#include "base/bug.h"
#include "json/json.h"
#include "unit/json/second_opinion.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

struct counts {
    uint64_t values;
    size_t end;
};

static enum code count_event(void *context, const struct json_event *event)
{
    struct counts *counts = context;

    BUG_ON(event->begin > event->end || event->member > event->begin);
    counts->values += event->kind != JSON_EVENT_END;
    counts->end = event->end;
    return CODE_OK;
}

static uint64_t count_nodes(const struct json_node *node)
{
    uint64_t nodes = 1;

    for (const struct json_node *child = node->child; child != NULL; child = child->next)
        nodes += count_nodes(child);
    return nodes;
}

static void check_accepted(const struct json_node *root, const struct buf *canon, const struct json_rules *rules)
{
    struct json_fault fault;
    struct counts counts = {0};
    struct buf again;

    buf_init(&again, 16u << 20);
    BUG_ON(json_walk(buf_peek(canon), rules, &again, count_event, &counts, &fault) != CODE_OK);
    BUG_ON(!span_equals(buf_peek(canon), buf_peek(&again)));
    BUG_ON(counts.values != count_nodes(root) || counts.end != buf_len(canon));
    BUG_ON(!json_equal(root, root));
    BUG_ON(!second_opinion_agrees(buf_peek(canon), root));
    buf_fini(&again);
}

/* 6.8: where it stands all is the same as into another buffer. */
static void read_in_place(struct span in, const struct json_rules *rules, enum code wanted, const struct buf *canon)
{
    struct json_fault fault;
    struct buf text;

    buf_init(&text, 16u << 20);
    if (buf_add_span(&text, in) == CODE_OK) {
        BUG_ON(json_read(buf_peek(&text), rules, &text, NULL, NULL, &fault) != wanted);
        BUG_ON(!span_equals(buf_peek(&text), buf_peek(canon)));
    }
    buf_fini(&text);
}

static void read_with(struct span in, const struct json_rules *rules)
{
    const struct json_node *root;
    struct json_fault fault;
    struct arena arena;
    struct buf canon;
    enum code code;

    buf_init(&canon, 16u << 20);
    arena_init(&arena, 64u << 20);
    code = json_read(in, rules, &canon, &arena, &root, &fault);
    BUG_ON((code == CODE_OK) != (fault.kind == JSON_FAULT_NONE));
    BUG_ON(fault.offset > in.len);
    if (code == CODE_OK)
        check_accepted(root, &canon, rules);
    else
        BUG_ON(buf_len(&canon) != 0);
    read_in_place(in, rules, code, &canon);
    buf_fini(&canon);
    arena_fini(&arena);
}

/* Any bytes at all, written as a string, are a document. */
static void write_as_string(struct span in)
{
    struct json_fault fault;
    struct buf written, canon;

    buf_init(&written, 16u << 20);
    buf_init(&canon, 16u << 20);
    if (json_write_string(&written, in) == CODE_OK) {
        BUG_ON(json_read(buf_peek(&written), &json_file_rules, &canon, NULL, NULL, &fault) != CODE_OK);
        BUG_ON(!span_equals(buf_peek(&written), buf_peek(&canon)));
    }
    buf_fini(&written);
    buf_fini(&canon);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    static const struct json_rules root_rules = {64, 200000, 4096, JSON_FOLD_ROOT, 0};
    struct span in = span_of(bytes, len);

    if (len > 1u << 20)
        return 0;
    read_with(in, &json_request_rules);
    read_with(in, &json_reply_rules);
    read_with(in, &root_rules);
    write_as_string(in);
    return 0;
}
