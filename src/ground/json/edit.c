/* SPDX-License-Identifier: Apache-2.0 */
/* Changes a canonical document where it stands, and lets the tree over it follow, so that nobody reads it a second time. */
#include "base/bug.h"
#include "json/json_priv.h"

struct json__piece {
    size_t begin, end;
    size_t text_at, text_len; /* in `texts` */
    bool is_left_out;         /* a member or an element, which takes a comma along */
};

void json_edits_init(struct json_edits *edits)
{
    *edits = (struct json_edits){.count = 0};
    buf_init(&edits->texts, SIZE_MAX / 2);
}

void json_edits_fini(struct json_edits *edits)
{
    mem_free(edits->piece);
    buf_fini(&edits->texts);
}

/* Adds a piece. The pieces stay in the document's order, in which nearly all come, and none lies in another. Takes: text_at:
 * where in `texts` the piece's new bytes begin. */
static enum code add(struct json_edits *edits, size_t begin, size_t end, size_t text_at, bool is_left_out)
{
    struct json__piece *all = mem_room(edits->piece, &edits->room, edits->count + 1, sizeof *all);
    size_t from = edits->count, to;

    edits->piece = all != NULL ? all : edits->piece;
    if (all == NULL || buf_code(&edits->texts) != CODE_OK)
        return CODE_NOMEM;
    while (from > 0 && all[from - 1].end > begin)
        from--;
    for (to = from; to < edits->count && all[to].begin < end; to++)
        BUG_ON(all[to].begin < begin || all[to].end > end);
    memmove(&all[from + 1], &all[to], (edits->count - to) * sizeof *all);
    all[from] = (struct json__piece){begin, end, text_at, buf_len(&edits->texts) - text_at, is_left_out};
    edits->count += 1 - (to - from);
    return CODE_OK;
}

enum code json_edits_cut(struct json_edits *edits, size_t begin, size_t end)
{
    return add(edits, begin, end, buf_len(&edits->texts), true);
}

/* Its key stands right before the value in canonical bytes. */
enum code json_edits_cut_member(struct json_edits *edits, struct span document, const struct json_node *member)
{
    size_t begin = (size_t)(member->raw.at - document.at), len;
    struct buf key;
    enum code code;

    buf_init(&key, SIZE_MAX / 2);
    code = json_write_string(&key, member->key);
    len = buf_len(&key) + 1; /* its colon */
    buf_fini(&key);
    return code == CODE_OK ? json_edits_cut(edits, begin - len, begin + member->raw.len) : code;
}

enum code json_edits_put(struct json_edits *edits, size_t begin, size_t end, struct span json)
{
    size_t at = buf_len(&edits->texts);

    buf_add_span(&edits->texts, json);
    return add(edits, begin, end, at, false);
}

enum code json_edits_say(struct json_edits *edits, size_t begin, size_t end, struct span text)
{
    size_t at = buf_len(&edits->texts);

    json_write_string(&edits->texts, text);
    return add(edits, begin, end, at, false);
}

/* A piece that is left out takes the comma behind it along. Behind the last sibling there is none, so that the run of pieces
 * that it ends takes the comma before it. */
static void take_commas(struct json_edits *edits, const char *bytes)
{
    for (size_t i = 0; i < edits->count; i++) {
        struct json__piece *piece = &edits->piece[i];

        if (!piece->is_left_out)
            continue;
        if (bytes[piece->end] == ',') {
            piece->end++;
            continue;
        }
        while (piece > edits->piece && piece[-1].is_left_out && piece[-1].end == piece->begin)
            piece--;
        piece->begin -= bytes[piece->begin - 1] == ',';
    }
}

/* Makes room for what grows, and moves the document to its end, so that writing never overtakes reading. */
static enum code make_room(const struct json_edits *edits, struct buf *document, size_t *more)
{
    size_t put = 0, taken = 0, len = buf_len(document);
    enum code code;
    char *end;

    *more = 0;
    for (size_t i = 0; i < edits->count; i++) {
        put += edits->piece[i].text_len;
        taken += edits->piece[i].end - edits->piece[i].begin;
        if (put > taken + *more)
            *more = put - taken;
    }
    if (*more == 0)
        return CODE_OK;
    code = buf_reserve(document, *more, &end);
    if (code != CODE_OK)
        return code;
    buf_commit(document, *more);
    memmove(end - len + *more, end - len, len);
    return CODE_OK;
}

static void write_anew(const struct json_edits *edits, struct buf *document, size_t more)
{
    char *bytes = document->block + document->head;
    const char *source = bytes + more;
    size_t len = buf_len(document) - more, from = 0, to = 0;

    for (size_t i = 0; i < edits->count; i++) {
        const struct json__piece *piece = &edits->piece[i];

        memmove(bytes + to, source + from, piece->begin - from);
        to += piece->begin - from;
        from = piece->end;
        if (piece->text_len > 0)
            memcpy(bytes + to, buf_peek(&edits->texts).at + piece->text_at, piece->text_len);
        to += piece->text_len;
    }
    memmove(bytes + to, source + from, len - from);
    buf_truncate(document, to + len - from);
}

/* ---- the tree ---- */

struct following {
    const struct json__piece *next, *end; /* pieces behind the place that was asked for last */
    size_t more, less;                    /* bytes that were put in, and taken out, before it */
    uintptr_t was;                        /* where the bytes began; they may have moved since */
    size_t len;
    char *now;
    struct arena *arena;
    bool no_memory;
};

/* Returns: where a place of the old document is in the new one. Takes: places in rising order. */
static size_t moved(struct following *following, size_t place)
{
    for (; following->next < following->end && following->next->end <= place; following->next++) {
        following->more += following->next->text_len;
        following->less += following->next->end - following->next->begin;
    }
    return place + following->more - following->less;
}

/* Lets a text follow that stands in the document; one that was decoded stands in an arena and stays. */
static void move_text(const struct following *following, struct span *text)
{
    size_t place = (uintptr_t)text->at - following->was;

    if (place < following->len)
        text->at = following->now + place + following->more - following->less;
}

static void decode_anew(struct following *following, struct json_node *node)
{
    struct span text = span_part(node->raw, 1, node->raw.len - 2);
    char *at;

    node->text = text;
    if (memchr(text.at, '\\', text.len) == NULL)
        return;
    at = arena_alloc(following->arena, text.len);
    following->no_memory |= at == NULL;
    node->text = at != NULL ? span_of(at, json__unescape(text, at)) : SPAN_NONE;
}

static void follow(struct following *following, const struct json_node *const_node)
{
    struct json_node *node = (struct json_node *)(uintptr_t)const_node; /* whoever edits a tree has it alone */
    size_t place = (uintptr_t)node->raw.at - following->was, end = place + node->raw.len, begin = moved(following, place);
    bool is_changed = node->type == JSON_STRING && following->next < following->end && following->next->begin < end;

    move_text(following, &node->key);
    move_text(following, &node->text);
    for (const struct json_node **link = &node->child; *link != NULL;) {
        const struct json_node *child = *link;
        size_t at = (uintptr_t)child->raw.at - following->was;

        (void)moved(following, at);
        if (following->next < following->end && following->next->is_left_out && following->next->begin <= at) {
            *link = child->next;
            node->count--;
        } else {
            follow(following, child);
            link = &((struct json_node *)(uintptr_t)child)->next;
        }
    }
    node->raw = span_of(following->now + begin, moved(following, end) - begin);
    if (is_changed)
        decode_anew(following, node);
}

enum code json_edits_apply(struct json_edits *edits, struct buf *document, struct arena *arena, const struct json_node *root)
{
    struct following following = {.was = (uintptr_t)buf_peek(document).at, .len = buf_len(document), .arena = arena};
    enum code code;
    size_t more;

    if (edits->count == 0)
        return CODE_OK;
    take_commas(edits, buf_peek(document).at);
    code = make_room(edits, document, &more);
    if (code != CODE_OK)
        return code;
    write_anew(edits, document, more);
    following.next = edits->piece;
    following.end = edits->piece + edits->count;
    following.now = document->block + document->head;
    if (root != NULL)
        follow(&following, root);
    return following.no_memory ? CODE_NOMEM : CODE_OK;
}
