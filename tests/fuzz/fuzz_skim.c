/* SPDX-License-Identifier: Apache-2.0 */
/* A line that is too long to be kept: the same messages however it is cut, and of a line that is JSON, the id and method that a
 * reader of the whole finds. 10.18, 10.21 */
#include "base/bug.h"
#include "json/json.h"
#include "mcp/skim.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

#define TOLD_BYTES ((size_t)16 << 20)

static void tell(struct buf *out, struct span id, bool has_method)
{
    BUG_ON(buf_add_span(out, id) != CODE_OK || buf_add_text(out, has_method ? "!;" : ";") != CODE_OK);
}

static void skim_in_pieces(struct span in, size_t step, struct buf *out)
{
    struct skim skim = {0};

    buf_init(out, TOLD_BYTES);
    for (size_t at = 0; at < in.len; at += step) {
        struct span piece = span_part(in, at, step);
        enum skim_step what;

        while ((what = skim_feed(&skim, &piece)) != SKIM_MORE) {
            BUG_ON(skim.id.len > SKIM_TEXT_MAX);
            if (what == SKIM_MESSAGE)
                tell(out, skim_id(&skim), skim.has_method);
            else
                skim = (struct skim){0};
        }
        BUG_ON(piece.len != 0);
    }
}

/* An id as skim has it, against the one of the message. A key or a text with escapes may be one that skim does not know. */
static void compare(const struct json_node *message, const struct skim *skim, bool is_plain)
{
    const struct json_node *id = json_member(message, SPAN_LIT("id")), *found = NULL;
    bool is_id = id != NULL && (id->type == JSON_STRING || id->type == JSON_NUMBER);
    struct span written = skim_id(skim);
    struct json_fault fault;
    struct arena arena;
    struct buf out;

    arena_init(&arena, TOLD_BYTES);
    buf_init(&out, TOLD_BYTES);
    if (written.len > 0) {
        BUG_ON(json_read(written, &json_reply_rules, &out, &arena, &found, &fault) != CODE_OK);
        BUG_ON(!is_id || !span_equals(found->raw, id->raw));
    }
    BUG_ON(is_plain && written.len == 0 && is_id && id->raw.len < SKIM_TEXT_MAX / 6);
    BUG_ON(skim->has_method && json_member(message, SPAN_LIT("method")) == NULL);
    BUG_ON(is_plain && !skim->has_method && json_member(message, SPAN_LIT("method")) != NULL);
    buf_fini(&out);
    arena_fini(&arena);
}

static void compare_all(const struct json_node *root, struct span in)
{
    const struct json_node *message = root->type == JSON_OBJECT ? root : root->type == JSON_ARRAY ? root->child : NULL;
    bool is_plain = span_find(in, '\\') == in.len;
    struct skim skim = {0};

    for (; message != NULL; message = message->next) {
        if (message->type != JSON_OBJECT)
            continue;
        BUG_ON(skim_feed(&skim, &in) != SKIM_MESSAGE);
        compare(message, &skim, is_plain);
    }
    BUG_ON(skim_feed(&skim, &in) != SKIM_MORE);
}

static void read_whole(struct span in)
{
    const struct json_node *root;
    struct json_fault fault;
    struct arena arena;
    struct buf out;

    arena_init(&arena, TOLD_BYTES);
    buf_init(&out, TOLD_BYTES);
    if (span_find(in, '\n') == in.len && json_read(in, &json_reply_rules, &out, &arena, &root, &fault) == CODE_OK)
        compare_all(root, in);
    buf_fini(&out);
    arena_fini(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct span in = span_of(bytes, len);
    struct buf whole, cut;

    if (len > 1 << 16)
        return 0;
    skim_in_pieces(in, len + 1, &whole);
    for (size_t step = 1; step < 8; step += 2) {
        skim_in_pieces(in, step, &cut);
        BUG_ON(!span_equals(buf_peek(&whole), buf_peek(&cut)));
        buf_fini(&cut);
    }
    buf_fini(&whole);
    read_whole(in);
    return 0;
}
