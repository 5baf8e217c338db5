/* SPDX-License-Identifier: Apache-2.0 */
/* libyaml tells where each value begins and ends, and nothing of comments: these stand in the gaps between. */
#include "yaml/layout_priv.h"

#include <yaml.h>

#define DEPTH_MAX 64 /* as yaml.c */
#define ARENA_MAX_BYTES ((size_t)1 << 30)

struct level {
    struct layout_node *node, *last;
    struct layout_node *entry; /* of a map: the key that was read, whose value comes */
};

struct reader {
    struct layout *layout;
    struct level levels[DEPTH_MAX];
    size_t depth;
    size_t characters, bytes; /* libyaml counts characters */
    /* the gap since the last value or bracket */
    size_t at;
    size_t line_ends;         /* with nothing but blanks behind */
    bool parted;              /* by a blank line from what was written last, a comment too */
    bool breaks;              /* whether a line ended in it */
    struct layout_comment *pending, **pending_end;
    struct layout_node *last; /* what was read last; NULL: nothing, or a bracket that opens */
    bool last_is_key;
    enum code code;
};

static size_t offset_of(struct reader *r, const yaml_mark_t *mark)
{
    struct span text = r->layout->text;

    if (mark->index < r->characters)
        r->characters = r->bytes = 0;
    for (; r->characters < mark->index && r->bytes < text.len; r->characters++)
        do
            r->bytes++;
        while (r->bytes < text.len && ((unsigned char)text.at[r->bytes] & 0xc0) == 0x80);
    return r->bytes;
}

static size_t column_of(struct span text, size_t at)
{
    size_t begin = at;

    while (begin > 0 && text.at[begin - 1] != '\n')
        begin--;
    return at - begin;
}

static struct layout_comment *comment_at(struct reader *r, size_t at)
{
    struct span text = r->layout->text, line = span_part(text, at, SIZE_MAX);
    struct layout_comment *comment = arena_zalloc(&r->layout->arena, sizeof *comment);

    if (comment == NULL) {
        r->code = CODE_NOMEM;
        return NULL;
    }
    line.len = span_find(line, '\n');
    while (line.len > 0 && memchr(" \t", line.at[line.len - 1], 2) != NULL)
        line.len--;
    comment->text = line;
    for (size_t i = at - column_of(text, at); i < at; i++) /* in characters, as they are written */
        comment->column += ((unsigned char)text.at[i] & 0xc0) != 0x80;
    comment->after_blank = r->parted;
    return comment;
}

static void add_comment(struct reader *r, size_t at)
{
    struct layout_comment *comment = comment_at(r, at), **place = NULL;

    if (comment == NULL)
        return;
    if (!r->breaks && r->last != NULL)
        place = r->last_is_key ? &r->last->behind_key : &r->last->behind;
    if (place != NULL && *place == NULL) {
        *place = comment;
    } else {
        *r->pending_end = comment;
        r->pending_end = &comment->next;
    }
    r->line_ends = 0;
    r->parted = false;
}

/* Reads on to where the next value begins. */
static void read_gap(struct reader *r, size_t to)
{
    struct span text = r->layout->text;

    while (r->at < to && r->code == CODE_OK) {
        char c = text.at[r->at];

        if (c == '#') {
            add_comment(r, r->at);
            while (r->at < to && text.at[r->at] != '\n')
                r->at++;
            continue;
        }
        r->line_ends = c == '\n' ? r->line_ends + 1 : c == ' ' || c == '\t' ? r->line_ends : 0;
        r->parted |= r->line_ends > 1;
        r->breaks |= c == '\n';
        r->at++;
    }
}

static void end_gap(struct reader *r, size_t at, struct layout_node *last)
{
    r->at = at;
    r->line_ends = 0;
    r->parted = false;
    r->breaks = false;
    r->last = last;
    r->last_is_key = false;
}

static void append(struct layout_comment **list, struct layout_comment *more)
{
    while (*list != NULL)
        list = &(*list)->next;
    *list = more;
}

static struct layout_comment *take_pending(struct reader *r)
{
    struct layout_comment *taken = r->pending;

    r->pending = NULL;
    r->pending_end = &r->pending;
    return taken;
}

/* A key, or a value of a list, or the root. */
static struct layout_node *new_node(struct reader *r, size_t at)
{
    struct layout_node *node = arena_zalloc(&r->layout->arena, sizeof *node);
    struct level *level = r->depth > 0 ? &r->levels[r->depth - 1] : NULL;

    if (node == NULL) {
        r->code = CODE_NOMEM;
        return NULL;
    }
    node->column = column_of(r->layout->text, at);
    node->breaks = r->breaks;
    node->after_blank = r->parted;
    if (level == NULL) {
        r->layout->root = node;
        return node;
    }
    node->before = take_pending(r);
    if (level->last == NULL)
        level->node->child = node;
    else
        level->last->next = node;
    level->last = node;
    return node;
}

static bool is_at_key(const struct reader *r)
{
    return r->depth > 0 && r->levels[r->depth - 1].node->kind == LAYOUT_MAP && r->levels[r->depth - 1].entry == NULL;
}

/* The node whose value begins here. Comments between it and its key move in front of the key, unless the value is a block,
 * whose members take them. */
static struct layout_node *value_node(struct reader *r, size_t at, bool is_block)
{
    struct level *level = r->depth > 0 ? &r->levels[r->depth - 1] : NULL;
    struct layout_node *node;

    if (level == NULL || level->node->kind == LAYOUT_LIST)
        return new_node(r, at);
    node = level->entry;
    level->entry = NULL;
    node->value_breaks = r->breaks;
    if (is_block)
        return node;
    append(&node->before, node->behind_key);
    node->behind_key = NULL;
    append(&node->before, take_pending(r));
    return node;
}

static struct span copy_of(struct reader *r, const yaml_event_t *event)
{
    struct span text = {arena_dup(&r->layout->arena, event->data.scalar.value, event->data.scalar.length),
                        event->data.scalar.length};

    if (text.at == NULL)
        r->code = CODE_NOMEM;
    return text;
}

static void take_key(struct reader *r, const yaml_event_t *event, struct span raw, size_t begin)
{
    struct layout_node *node = new_node(r, begin);

    if (node == NULL)
        return;
    node->has_key = true;
    node->key = copy_of(r, event);
    node->key_raw = raw;
    node->key_is_plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    r->levels[r->depth - 1].entry = node;
    end_gap(r, begin + raw.len, node);
    r->last_is_key = true;
}

static void take_scalar(struct reader *r, const yaml_event_t *event, size_t begin, size_t end)
{
    yaml_scalar_style_t style = event->data.scalar.style;
    bool has_bar = style == YAML_LITERAL_SCALAR_STYLE || style == YAML_FOLDED_SCALAR_STYLE;
    struct span raw = span_part(r->layout->text, begin, end - begin);
    struct layout_node *node;

    while (has_bar && raw.len > 0 && memchr(" \t\n", raw.at[raw.len - 1], 3) != NULL)
        raw.len--; /* blank lines in front of what follows are told with the text */
    if (is_at_key(r)) {
        take_key(r, event, raw, begin);
        return;
    }
    node = value_node(r, begin, false);
    if (node == NULL)
        return;
    node->text = copy_of(r, event);
    node->raw = raw;
    node->is_plain = style == YAML_PLAIN_SCALAR_STYLE;
    node->is_double = style == YAML_DOUBLE_QUOTED_SCALAR_STYLE;
    node->has_bar = has_bar;
    end_gap(r, begin + raw.len, node);
    if (has_bar)
        r->last = NULL; /* a comment behind its head is part of what was written */
}

static void open_level(struct reader *r, enum layout_kind kind, bool is_flow, size_t begin, size_t end)
{
    struct layout_node *node = value_node(r, begin, !is_flow);

    if (node == NULL)
        return;
    if (r->depth == DEPTH_MAX) {
        r->code = CODE_INVALID;
        return;
    }
    node->kind = kind;
    node->is_flow = is_flow;
    node->inner = column_of(r->layout->text, begin);
    r->levels[r->depth++] = (struct level){.node = node};
    if (is_flow)
        end_gap(r, end, NULL);
}

/* Of comments at the end of a block those are its own that stand as far right as its members. Where a list is indented no
 * further than its key, they rather belong to the next key. */
static void take_foot(struct reader *r, struct layout_node *node)
{
    bool takes_none = !node->is_flow && node->has_key && node->inner <= node->column;
    struct layout_comment **end = &r->pending;

    while (*end != NULL && !takes_none && (node->is_flow || (*end)->column >= node->inner))
        end = &(*end)->next;
    if (end == &r->pending)
        return;
    node->foot = r->pending;
    r->pending = *end;
    *end = NULL;
    for (r->pending_end = &r->pending; *r->pending_end != NULL;)
        r->pending_end = &(*r->pending_end)->next;
}

static void close_level(struct reader *r, size_t end)
{
    struct layout_node *node = r->levels[--r->depth].node;

    take_foot(r, node);
    if (node->is_flow)
        end_gap(r, end, node);
}

static void take_event(struct reader *r, const yaml_event_t *event)
{
    size_t begin = offset_of(r, &event->start_mark), end = offset_of(r, &event->end_mark);

    if (event->type == YAML_STREAM_START_EVENT || event->type == YAML_DOCUMENT_START_EVENT ||
        event->type == YAML_DOCUMENT_END_EVENT)
        return;
    read_gap(r, begin);
    if (r->code != CODE_OK)
        return;
    if (event->type == YAML_SCALAR_EVENT)
        take_scalar(r, event, begin, end);
    else if (event->type == YAML_SEQUENCE_START_EVENT)
        open_level(r, LAYOUT_LIST, event->data.sequence_start.style == YAML_FLOW_SEQUENCE_STYLE, begin, end);
    else if (event->type == YAML_MAPPING_START_EVENT)
        open_level(r, LAYOUT_MAP, event->data.mapping_start.style == YAML_FLOW_MAPPING_STYLE, begin, end);
    else if (event->type == YAML_SEQUENCE_END_EVENT || event->type == YAML_MAPPING_END_EVENT)
        close_level(r, end);
    else if (event->type != YAML_STREAM_END_EVENT)
        r->code = CODE_INVALID;
}

static void read_events(struct reader *r)
{
    struct span text = r->layout->text;
    yaml_event_type_t type = YAML_NO_EVENT;
    yaml_parser_t parser;

    if (!yaml_parser_initialize(&parser)) {
        r->code = CODE_NOMEM;
        return;
    }
    yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser, (const unsigned char *)(text.len ? text.at : ""), text.len);
    while (r->code == CODE_OK && type != YAML_STREAM_END_EVENT) {
        yaml_event_t event;

        if (!yaml_parser_parse(&parser, &event)) {
            r->code = parser.error == YAML_MEMORY_ERROR ? CODE_NOMEM : CODE_INVALID;
            break;
        }
        type = event.type;
        take_event(r, &event);
        yaml_event_delete(&event);
    }
    yaml_parser_delete(&parser);
    read_gap(r, r->code == CODE_OK ? text.len : 0);
}

/* What stands in front of the first key is the file's, whichever key comes first in the end. */
static void settle_ends(struct reader *r)
{
    struct layout *layout = r->layout;
    struct layout_node *first = layout->root != NULL && layout->root->child != NULL ? layout->root->child : layout->root;

    layout->foot = take_pending(r);
    if (first == NULL)
        return;
    layout->head = first->before;
    layout->gap = first->after_blank && layout->head != NULL;
    first->before = NULL;
    first->after_blank = false;
}

/* A copy whose lines all end with \n, as the reader takes \r and \r\n, too. */
static struct span with_line_ends(struct arena *arena, struct span text)
{
    char *copy = arena_dup(arena, text.at, text.len);
    size_t len = 0;

    for (size_t i = 0; copy != NULL && i < text.len; i++) {
        if (text.at[i] == '\r' && i + 1 < text.len && text.at[i + 1] == '\n')
            continue;
        copy[len++] = text.at[i] == '\r' ? '\n' : text.at[i];
    }
    return span_of(copy, len);
}

enum code layout_read(struct span text, struct layout **layout)
{
    struct reader *r = mem_zalloc(sizeof *r);
    struct layout *made = mem_zalloc(sizeof *made);
    enum code code = CODE_NOMEM;

    *layout = NULL;
    if (r != NULL && made != NULL) {
        arena_init(&made->arena, ARENA_MAX_BYTES);
        made->text = with_line_ends(&made->arena, text);
        r->layout = made;
        r->pending_end = &r->pending;
        if (made->text.at != NULL) {
            read_events(r);
            settle_ends(r);
            code = r->code;
        }
    }
    if (code == CODE_OK) {
        *layout = made;
        made = NULL;
    }
    mem_free(r);
    layout_free(&made);
    return code;
}

void layout_free(struct layout **layout)
{
    if (*layout != NULL)
        arena_fini(&(*layout)->arena);
    mem_free(*layout);
    *layout = NULL;
}

struct layout_node *layout_root(struct layout *layout)
{
    return layout->root;
}

struct layout_node *layout_member(struct layout_node *map, const char *key)
{
    struct layout_node *member = map != NULL && map->kind == LAYOUT_MAP ? map->child : NULL;

    while (member != NULL && !span_is(member->key, key))
        member = member->next;
    return member;
}

/* ---- order ---- */

#define PLACES_MAX 64

/* The flag that says whether a blank line parts the member, with its comments, from the one above. */
static bool *parted(struct layout_node *member)
{
    return member->before != NULL ? &member->before->after_blank : &member->after_blank;
}

/* Blank lines part places, and not members: whoever comes to stand there is parted. */
static void part_places(struct layout_node *map, uint64_t places)
{
    unsigned place = 0;

    for (struct layout_node *member = map->child; member != NULL && place < PLACES_MAX; member = member->next)
        *parted(member) = (places >> place++ & 1) != 0;
}

static uint64_t parted_places(struct layout_node *map)
{
    uint64_t places = 0;
    unsigned place = 0;

    for (struct layout_node *member = map->child; member != NULL && place < PLACES_MAX; member = member->next)
        places |= (uint64_t)*parted(member) << place++;
    return places;
}

static void sort_by(struct layout_node *map, const char *const *keys)
{
    struct layout_node *rest = map->child, **end = &map->child;

    for (; *keys != NULL; keys++) {
        struct layout_node **one = &rest;

        while (*one != NULL && !span_is((*one)->key, *keys))
            one = &(*one)->next;
        if (*one == NULL)
            continue;
        *end = *one;
        *one = (*one)->next;
        end = &(*end)->next;
    }
    *end = rest;
}

void layout_order(struct layout_node *map, const char *const *keys)
{
    uint64_t places;

    if (map == NULL || map->kind != LAYOUT_MAP)
        return;
    places = parted_places(map);
    sort_by(map, keys);
    part_places(map, places);
}
