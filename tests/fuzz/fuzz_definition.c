/* SPDX-License-Identifier: Apache-2.0 */
/* A tool's definition from a server: its canonical form reads back as itself, has one digest whatever the spelling, and is told
 * and compared without a fault; what tells it is remembered as told. 9.3 */
#include "tools/definition_words.h"
#include "base/bug.h"
#include "state/definitions.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void ignore_mark(void *context, enum definition_mark mark, struct span path)
{
    (void)context;
    BUG_ON(definition_mark_text(mark)[0] == '\0' || path.len > (1 << 20));
}

static void count_change(void *context, const struct definition_change *change)
{
    size_t *count = context;

    BUG_ON(change->what != '+' && change->what != '-' && change->what != '~');
    (*count)++;
}

static const struct json_node *read_tree(struct span text, struct buf *out, struct arena *arena)
{
    const struct json_node *root = NULL;
    struct json_fault fault;

    BUG_ON(json_read(text, &json_reply_rules, out, arena, &root, &fault) != CODE_OK);
    return root;
}

/* Against itself nothing differs; against an empty one everything does. */
static void put_into_words(struct span canonical)
{
    struct arena arena;
    struct buf text, empty, lines, diff;
    const struct json_node *root, *none;
    size_t changes = 0;

    arena_init(&arena, (size_t)64 << 20);
    buf_init(&text, SIZE_MAX / 2);
    buf_init(&empty, 64);
    buf_init(&lines, SIZE_MAX / 2);
    buf_init(&diff, SIZE_MAX / 2);
    root = read_tree(canonical, &text, &arena);
    none = read_tree(SPAN_LIT("{}"), &empty, &arena);
    BUG_ON(definition_lines(root, &lines) != CODE_OK);
    BUG_ON(definition_marks(root, NULL, ignore_mark, NULL) != CODE_OK);
    BUG_ON(definition_changes(root, root, count_change, &changes) != CODE_OK || changes > 0);
    BUG_ON(definition_changes(none, root, count_change, &changes) != CODE_OK || changes != root->count);
    BUG_ON(definition_diff(buf_peek(&lines), buf_peek(&lines), &diff) != CODE_OK || !buf_is_empty(&diff));
    BUG_ON(definition_diff(SPAN_NONE, buf_peek(&lines), &diff) != CODE_OK);
    buf_fini(&text);
    buf_fini(&empty);
    buf_fini(&lines);
    buf_fini(&diff);
    arena_fini(&arena);
}

static void tell(struct span text, const unsigned char digest[DIGEST_BYTES])
{
    struct definition_asker who = {.upstream = SPAN_LIT("up"), .session = SPAN_LIT("s")};
    struct definition_told told = {.share = SPAN_LIT("up"), .tool = SPAN_LIT("t"), .text = text, .begins = true, .now_us = 1};
    unsigned char meant[DIGEST_BYTES];
    struct definitions *definitions;

    if (definitions_new(&definitions) != CODE_OK)
        return;
    BUG_ON(definitions_learn(definitions, NULL, &who, &told));
    BUG_ON(!definitions_meant(definitions, NULL, &who, SPAN_LIT("t"), meant) || memcmp(meant, digest, DIGEST_BYTES) != 0);
    definitions_free(&definitions);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct span text = span_of(bytes, len);
    unsigned char digest[DIGEST_BYTES], again[DIGEST_BYTES];
    struct buf canonical, twice;

    buf_init(&canonical, SIZE_MAX / 2);
    buf_init(&twice, SIZE_MAX / 2);
    if (definition_canonical(text, &canonical, digest) == CODE_OK) {
        BUG_ON(definition_canonical(buf_peek(&canonical), &twice, again) != CODE_OK);
        BUG_ON(!span_equals(buf_peek(&canonical), buf_peek(&twice)) || memcmp(digest, again, DIGEST_BYTES) != 0);
        put_into_words(buf_peek(&canonical));
        tell(text, digest);
    }
    buf_fini(&canonical);
    buf_fini(&twice);
    return 0;
}
