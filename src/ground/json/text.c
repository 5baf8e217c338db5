/* SPDX-License-Identifier: Apache-2.0 */
#include "json/text.h"

#define TREE_TIMES 64 /* a value of two bytes, as in [1,1], takes a node */
#define TREE_LEAST 4096

_Static_assert(sizeof(struct json_node) <= 2 * TREE_TIMES, "a tree has room for its text");

enum code json_text_read(struct json_text *text, struct span in, const struct json_rules *rules, size_t most)
{
    enum code code;

    *text = (struct json_text){.root = NULL};
    arena_init(&text->arena, most < SIZE_MAX / 2 / TREE_TIMES ? TREE_LEAST + TREE_TIMES * most : SIZE_MAX / 2);
    buf_init(&text->bytes, most);
    buf_wipes(&text->bytes);
    code = json_read(in, rules, &text->bytes, &text->arena, &text->root, &text->fault);
    if (code != CODE_OK)
        text->root = NULL;
    return code;
}

bool json_text_is(struct span text, size_t most)
{
    struct json_fault fault;
    struct buf bytes;
    enum code code;

    buf_init(&bytes, most);
    code = json_read(text, &json_file_rules, &bytes, NULL, NULL, &fault);
    buf_fini(&bytes);
    return code == CODE_OK;
}

void json_text_fini(struct json_text *text)
{
    buf_fini(&text->bytes);
    arena_fini(&text->arena);
    text->root = NULL;
}
