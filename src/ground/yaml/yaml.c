/* SPDX-License-Identifier: Apache-2.0 */
#include "yaml/yaml.h"

#include "base/bug.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "yaml/yaml_priv.h"

#include <stdlib.h>
#include <yaml.h>

#define MAX_DEPTH 64
#define MAX_NODES 1000000
#define MAX_ARENA_BYTES ((size_t)1 << 30)
#define KNOWN_SHOWN_MAX 300 /* a longer list hides what is to be done */
#define KEY_SHOWN_MAX 60

struct yaml_tree {
    struct arena arena;
    const char *file;
    const struct yaml_node *root;
};

/* One open list or map. */
struct level {
    struct yaml_node *node;
    struct yaml_node *last;
    bool has_key;    /* a key was read, its value comes next */
    bool key_broken; /* its key was faulty and reported, so it is not compared with the others */
    struct span key;
    int key_line, key_column;
};

struct reader {
    struct yaml_tree *tree;
    struct span text;
    struct faults *faults;
    struct level levels[MAX_DEPTH];
    size_t depth;
    uint32_t nodes;
    /* libyaml counts characters; editors and the messages count bytes. Events come in order, so one cursor over the text
     * turns characters into bytes. Lines are counted here too, because at the end of the text libyaml names a line that
     * does not exist. */
    size_t characters, offset, line_begin;
    int lines_before;
    bool stop;
};

struct place {
    int line, column;
};

static bool is_line_end(struct span text, size_t at)
{
    return text.at[at] == '\n' || (text.at[at] == '\r' && (at + 1 == text.len || text.at[at + 1] != '\n'));
}

static struct place place_of(struct reader *reader, const yaml_mark_t *mark)
{
    if (mark->index < reader->characters) {
        reader->characters = reader->offset = reader->line_begin = 0;
        reader->lines_before = 0;
    }
    while (reader->characters < mark->index && reader->offset < reader->text.len) {
        if (is_line_end(reader->text, reader->offset)) {
            reader->line_begin = reader->offset + 1;
            reader->lines_before++;
        }
        do
            reader->offset++;
        while (reader->offset < reader->text.len && ((unsigned char)reader->text.at[reader->offset] & 0xc0) == 0x80);
        reader->characters++;
    }
    return (struct place){reader->lines_before + 1, (int)(reader->offset - reader->line_begin) + 1};
}

static struct place place_of_offset(struct span text, size_t offset)
{
    struct place place = {1, 1};

    for (size_t i = 0; i < offset && i < text.len; i++) {
        place.column++;
        if (is_line_end(text, i))
            place = (struct place){place.line + 1, 1};
    }
    return place;
}

#define fault_at(reader, place, ...) \
    faults_add((reader)->faults, (reader)->tree->file, (place).line, (place).column, __VA_ARGS__)

/* ---- before libyaml ---- */

struct trap {
    const char *bytes;
    const char *what;
};

/* Characters that readers of YAML 1.1 and 1.2 take differently, or that show a person another text than is read. In
 * valid UTF-8 none of these sequences can begin inside another character. */
static const struct trap traps[] = {
    {"\xef\xbb\xbf", "a byte order mark; save the file as UTF-8 without it"},
    {"\xc2\x85", "U+0085, a line end for some readers only; write \"\\N\" in double quotes"},
    {"\xe2\x80\xa8", "U+2028, a line end for some readers only; write \"\\L\" in double quotes"},
    {"\xe2\x80\xa9", "U+2029, a line end for some readers only; write \"\\P\" in double quotes"},
    {"\xe2\x80\xaa", "a bidi control, which shows another text than is read; write \"\\u202a\" in double quotes"},
    {"\xe2\x80\xab", "a bidi control, which shows another text than is read; write \"\\u202b\" in double quotes"},
    {"\xe2\x80\xac", "a bidi control, which shows another text than is read; write \"\\u202c\" in double quotes"},
    {"\xe2\x80\xad", "a bidi control, which shows another text than is read; write \"\\u202d\" in double quotes"},
    {"\xe2\x80\xae", "a bidi control, which shows another text than is read; write \"\\u202e\" in double quotes"},
    {"\xe2\x81\xa6", "a bidi control, which shows another text than is read; write \"\\u2066\" in double quotes"},
    {"\xe2\x81\xa7", "a bidi control, which shows another text than is read; write \"\\u2067\" in double quotes"},
    {"\xe2\x81\xa8", "a bidi control, which shows another text than is read; write \"\\u2068\" in double quotes"},
    {"\xe2\x81\xa9", "a bidi control, which shows another text than is read; write \"\\u2069\" in double quotes"},
    {NULL, NULL},
};

static void find_traps(struct reader *reader)
{
    struct span text = reader->text;

    for (size_t i = 0; i < text.len; i++) {
        if (text.at[i] == '\0') {
            fault_at(reader, place_of_offset(text, i), "a NUL byte; this is no text file");
            reader->stop = true;
            return;
        }
        if ((unsigned char)text.at[i] < 0xc2)
            continue;
        for (const struct trap *trap = traps; trap->bytes != NULL; trap++)
            if (span_starts_with(span_part(text, i, SIZE_MAX), span_text(trap->bytes))) {
                fault_at(reader, place_of_offset(text, i), "%s", trap->what);
                if (reader->faults->count >= FAULTS_MAX)
                    return;
            }
    }
}

/* ---- from events to nodes ---- */

static struct yaml_node *add_node(struct reader *reader, const yaml_event_t *event)
{
    struct place place = place_of(reader, &event->start_mark);
    struct level *level = reader->depth > 0 ? &reader->levels[reader->depth - 1] : NULL;
    struct yaml_node *node;

    if (++reader->nodes > MAX_NODES) {
        fault_at(reader, place, "more than 1,000,000 values; split the file");
        reader->stop = true;
        return NULL;
    }
    node = arena_zalloc(&reader->tree->arena, sizeof *node);
    if (node == NULL)
        return NULL;
    node->line = place.line;
    node->column = place.column;
    if (level == NULL) {
        reader->tree->root = node;
        return node;
    }
    if (level->node->type == YAML_MAP) {
        if (!level->has_key)
            return node; /* a key that is no scalar was reported; its node is built but belongs to no map */
        node->key = level->key_broken ? SPAN_NONE : level->key;
        node->key_line = level->key_line;
        node->key_column = level->key_column;
        level->has_key = false;
    }
    if (level->last == NULL)
        level->node->child = node;
    else
        level->last->next = node;
    level->last = node;
    level->node->count++;
    return node;
}

static void expect_value(struct level *level, struct span key, struct place place, bool broken)
{
    level->has_key = true;
    level->key = key;
    level->key_broken = broken;
    level->key_line = place.line;
    level->key_column = place.column;
}

static bool is_at_key(const struct reader *reader)
{
    const struct level *level = reader->depth > 0 ? &reader->levels[reader->depth - 1] : NULL;

    return level != NULL && level->node->type == YAML_MAP && !level->has_key;
}

static void check_decoration(struct reader *reader, const yaml_event_t *event, bool anchor, bool tag)
{
    struct place place = place_of(reader, &event->start_mark);

    if (anchor)
        fault_at(reader, place, "an anchor (&); write the value out where it is needed, or quote a text that begins with &");
    if (tag)
        fault_at(reader, place, "a tag (!); leave it out, or quote a text that begins with !");
}

static enum code take_scalar(struct reader *reader, const yaml_event_t *event)
{
    bool plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    struct place place = place_of(reader, &event->start_mark);
    /* libyaml drops the tag `!`; only the place where the value begins still shows it. */
    bool bang = reader->offset < reader->text.len && reader->text.at[reader->offset] == '!';
    struct span text = {NULL, event->data.scalar.length};
    struct yaml_node *node;
    const char *fault = NULL;
    enum code code;

    check_decoration(reader, event, event->data.scalar.anchor != NULL, event->data.scalar.tag != NULL || bang);
    text.at = arena_dup(&reader->tree->arena, event->data.scalar.value, text.len);
    if (text.at == NULL)
        return CODE_NOMEM;
    if (memchr(text.at, '\0', text.len) != NULL)
        fault_at(reader, place, "a NUL character; leave it out");
    if (is_at_key(reader)) {
        bool merge = plain && span_is(text, "<<");

        if (merge)
            fault_at(reader, place, "a merge key (<<); write the members out");
        if (plain && text.len == 0)
            fault_at(reader, place, "a key is missing before `:`; write one, or quote the value");
        expect_value(&reader->levels[reader->depth - 1], text, place, merge || (plain && text.len == 0));
        return CODE_OK;
    }
    node = add_node(reader, event);
    if (node == NULL)
        return reader->stop ? CODE_OK : CODE_NOMEM;
    code = yaml__scalar(&reader->tree->arena, text, plain, node, &fault);
    if (code == CODE_INVALID) {
        fault_at(reader, place, "%s", fault);
        return CODE_OK;
    }
    return code;
}

static enum code open_level(struct reader *reader, const yaml_event_t *event, enum yaml_type type)
{
    bool as_key = is_at_key(reader);
    struct place place = place_of(reader, &event->start_mark);
    struct yaml_node *node;

    if (reader->depth == MAX_DEPTH) {
        fault_at(reader, place, "more than 64 levels; nothing here needs that many");
        reader->stop = true;
        return CODE_OK;
    }
    node = add_node(reader, event);
    if (node == NULL)
        return reader->stop ? CODE_OK : CODE_NOMEM;
    node->type = type;
    if (as_key) {
        fault_at(reader, place, "a list or map as a key; keys are words");
        expect_value(&reader->levels[reader->depth - 1], SPAN_NONE, place, true);
    }
    reader->levels[reader->depth++] = (struct level){.node = node};
    return CODE_OK;
}

/* ---- duplicate keys: sorted, never pairwise ---- */

static int by_key(const void *a, const void *b)
{
    const struct yaml_node *left = *(const struct yaml_node *const *)a, *right = *(const struct yaml_node *const *)b;
    int order = span_compare(left->key, right->key);

    if (order != 0)
        return order;
    if (left->key_line != right->key_line)
        return left->key_line < right->key_line ? -1 : 1;
    return left->key_column < right->key_column ? -1 : left->key_column > right->key_column;
}

static enum code close_map(struct reader *reader, const struct yaml_node *map)
{
    const struct yaml_node **sorted;
    size_t count = 0;

    if (map->count < 2)
        return CODE_OK;
    sorted = mem_array(map->count, sizeof(struct yaml_node *));
    if (sorted == NULL)
        return CODE_NOMEM;
    for (const struct yaml_node *child = map->child; child != NULL; child = child->next)
        if (child->key.at != NULL)
            sorted[count++] = child;
    qsort(sorted, count, sizeof *sorted, by_key);
    for (size_t i = 1; i < count; i++)
        if (span_equals(sorted[i - 1]->key, sorted[i]->key))
            faults_add(reader->faults, reader->tree->file, sorted[i]->key_line, sorted[i]->key_column,
                       "key `%.*s` is written twice, first in line %d; leave one out", SPAN_ARG(sorted[i]->key),
                       sorted[i - 1]->key_line);
    mem_free(sorted);
    return CODE_OK;
}

static enum code close_level(struct reader *reader)
{
    const struct yaml_node *node;

    BUG_ON(reader->depth == 0);
    node = reader->levels[--reader->depth].node;
    return node->type == YAML_MAP ? close_map(reader, node) : CODE_OK;
}

static enum code take_alias(struct reader *reader, const yaml_event_t *event)
{
    struct place place = place_of(reader, &event->start_mark);

    fault_at(reader, place, "`*%s` is an alias in YAML; quote it where a text is meant: '*%s'", event->data.alias.anchor,
             event->data.alias.anchor);
    if (is_at_key(reader)) {
        expect_value(&reader->levels[reader->depth - 1], SPAN_NONE, place, true);
        return CODE_OK;
    }
    return add_node(reader, event) != NULL || reader->stop ? CODE_OK : CODE_NOMEM;
}

static enum code begin_document(struct reader *reader, const yaml_event_t *event)
{
    struct place place = place_of(reader, &event->start_mark);

    if (reader->tree->root != NULL) {
        fault_at(reader, place, "a second document; one file holds one");
        reader->stop = true;
    }
    if (event->data.document_start.version_directive != NULL ||
        event->data.document_start.tag_directives.start != event->data.document_start.tag_directives.end)
        fault_at(reader, place, "a directive (%%); leave it out");
    return CODE_OK;
}

static enum code take_event(struct reader *reader, const yaml_event_t *event)
{
    switch (event->type) {
    case YAML_NO_EVENT:
    case YAML_STREAM_START_EVENT:
    case YAML_DOCUMENT_END_EVENT:
        return CODE_OK;
    case YAML_STREAM_END_EVENT:
        reader->stop = true;
        return CODE_OK;
    case YAML_DOCUMENT_START_EVENT:
        return begin_document(reader, event);
    case YAML_ALIAS_EVENT:
        return take_alias(reader, event);
    case YAML_SCALAR_EVENT:
        return take_scalar(reader, event);
    case YAML_SEQUENCE_START_EVENT:
        check_decoration(reader, event, event->data.sequence_start.anchor != NULL,
                         event->data.sequence_start.tag != NULL);
        return open_level(reader, event, YAML_LIST);
    case YAML_MAPPING_START_EVENT:
        check_decoration(reader, event, event->data.mapping_start.anchor != NULL,
                         event->data.mapping_start.tag != NULL);
        return open_level(reader, event, YAML_MAP);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        return close_level(reader);
    }
    return CODE_INVALID;
}

/* ---- the whole ---- */

static void tell_slip(struct reader *reader, const yaml_parser_t *parser)
{
    struct yaml_slip slip = {.text = reader->text, .problem = parser->problem != NULL ? parser->problem : "not YAML",
                             .about = parser->context != NULL ? parser->context : "", .in_brackets = parser->flow_level > 0};
    struct place place;

    place_of(reader, &parser->context_mark);
    slip.context = reader->offset;
    place = place_of(reader, &parser->problem_mark);
    slip.at = reader->offset;
    if (!yaml__slip(&slip))
        fault_at(reader, place, "%s%s%s; check quotes, brackets and indentation here", slip.problem,
                 slip.about[0] != '\0' ? " " : "", slip.about);
    else
        fault_at(reader, slip.at == reader->offset ? place : place_of_offset(reader->text, slip.at), "%s", slip.words);
}

static enum code tell_problem(struct reader *reader, const yaml_parser_t *parser)
{
    if (parser->error == YAML_MEMORY_ERROR)
        return CODE_NOMEM;
    if (parser->error == YAML_READER_ERROR)
        fault_at(reader, place_of_offset(reader->text, parser->problem_offset),
                 "%s; save the file as plain UTF-8, and escape such characters in double quotes",
                 parser->problem != NULL ? parser->problem : "not YAML");
    else
        tell_slip(reader, parser);
    reader->stop = true;
    return CODE_OK;
}

static enum code read_events(struct reader *reader)
{
    yaml_parser_t parser;
    enum code code = CODE_OK;

    if (!yaml_parser_initialize(&parser))
        return CODE_NOMEM;
    yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser, (const unsigned char *)(reader->text.len ? reader->text.at : ""),
                                 reader->text.len);
    while (code == CODE_OK && !reader->stop) {
        yaml_event_t event;

        if (yaml_parser_parse(&parser, &event)) {
            code = take_event(reader, &event);
            yaml_event_delete(&event);
        } else {
            code = tell_problem(reader, &parser);
        }
    }
    yaml_parser_delete(&parser);
    return code;
}

static enum code read_tree(struct reader *reader)
{
    struct yaml_node *empty;
    enum code code;

    find_traps(reader);
    code = reader->stop ? CODE_OK : read_events(reader);
    if (code != CODE_OK || reader->tree->root != NULL)
        return code;
    empty = arena_zalloc(&reader->tree->arena, sizeof *empty);
    if (empty == NULL)
        return CODE_NOMEM;
    *empty = (struct yaml_node){.type = YAML_NULL, .line = 1, .column = 1, .json = SPAN_LIT("null")};
    reader->tree->root = empty;
    return CODE_OK;
}

enum code yaml_read(struct span text, const char *file, struct yaml_tree **tree, struct faults *faults)
{
    size_t before = faults->added;
    struct reader *reader = mem_zalloc(sizeof *reader);
    struct yaml_tree *made = mem_zalloc(sizeof *made);
    enum code code = CODE_NOMEM;

    *tree = NULL;
    if (reader == NULL || made == NULL)
        goto out;
    arena_init(&made->arena, MAX_ARENA_BYTES);
    made->file = arena_dup(&made->arena, file, strlen(file));
    if (made->file == NULL)
        goto out;
    reader->tree = made;
    reader->text = text;
    reader->faults = faults;
    code = read_tree(reader);
    if (code == CODE_OK && faults->added > before)
        code = CODE_INVALID;
    if (code == CODE_OK) {
        *tree = made;
        made = NULL;
    }
out:
    mem_free(reader);
    yaml_tree_free(&made);
    return code;
}

void yaml_tree_free(struct yaml_tree **tree)
{
    if (*tree != NULL)
        arena_fini(&(*tree)->arena);
    mem_free(*tree);
    *tree = NULL;
}

const struct yaml_node *yaml_root(const struct yaml_tree *tree)
{
    return tree->root;
}

const char *yaml_file(const struct yaml_tree *tree)
{
    return tree->file;
}

struct arena *yaml_arena(struct yaml_tree *tree)
{
    return &tree->arena;
}

enum code yaml_put_text(struct yaml_tree *tree, struct yaml_node *node, struct span text)
{
    struct span copy = {arena_dup(&tree->arena, text.at, text.len), text.len};
    const char *fault;

    return copy.at != NULL ? yaml__scalar(&tree->arena, copy, false, node, &fault) : CODE_NOMEM;
}

void yaml_put_root(struct yaml_tree *tree, const struct yaml_node *root)
{
    tree->root = root;
}

const struct yaml_node *yaml_member_named(const struct yaml_node *map, struct span key)
{
    if (map == NULL || map->type != YAML_MAP)
        return NULL;
    for (const struct yaml_node *child = map->child; child != NULL; child = child->next)
        if (span_equals(child->key, key))
            return child;
    return NULL;
}

const struct yaml_node *yaml_member(const struct yaml_node *map, const char *key)
{
    return yaml_member_named(map, span_text(key));
}

void yaml_chain_add(struct yaml_chain *chain, struct yaml_node *node)
{
    if (node == NULL)
        return;
    if (chain->last == NULL)
        chain->first = node;
    else
        chain->last->next = node;
    chain->last = node;
    chain->count++;
}

void yaml_chain_into(const struct yaml_chain *chain, struct yaml_node *node, enum yaml_type type)
{
    node->type = type;
    node->child = chain->first;
    node->count = chain->count;
    if (type == YAML_LIST) /* of what was a text or a map */
        node->text = node->json = SPAN_NONE;
}

void yaml_fault_key(const struct yaml_tree *tree, const struct yaml_node *key, const char *const *known, const char *what,
                    const char *nearest, struct faults *faults)
{
    bool spaced = memchr(key->key.at, ':', key->key.len) == NULL; /* {id:x} is one key without a value */
    char words[800];

    nearest = spaced ? nearest : NULL;
    why_list(known, "and", words, sizeof words);
    if (nearest != NULL && strlen(words) > KNOWN_SHOWN_MAX)
        faults_add(faults, tree->file, key->key_line, key->key_column, "%s knows no `%.*s`; did you mean `%s`?", what,
                   SPAN_ARG(utf8_cut(key->key, KEY_SHOWN_MAX)), nearest);
    else
        faults_add(faults, tree->file, key->key_line, key->key_column, "%s knows no `%.*s`; %s%s%s It knows %s.", what,
                   SPAN_ARG(utf8_cut(key->key, KEY_SHOWN_MAX)),
                   nearest  ? "did you mean `"
                   : spaced ? "say it in a word that it knows."
                            : "write a blank behind the `:`.",
                   nearest ? nearest : "", nearest ? "`?" : "", words);
}

void yaml_check_keys(const struct yaml_tree *tree, const struct yaml_node *map, const char *const *known,
                     const char *what, struct faults *faults)
{
    for (const struct yaml_node *child = map->child; child != NULL; child = child->next) {
        const char *const *word = known;

        while (*word != NULL && !span_is(child->key, *word))
            word++;
        if (*word == NULL)
            yaml_fault_key(tree, child, known, what, why_nearest(child->key.at, child->key.len, known), faults);
    }
}

const char *yaml_bool_words(const struct yaml_node *node)
{
    static const char *const yes[] = {"yes", "Yes", "YES", "on", "On", "ON", "y", "Y", NULL};
    static const char *const no[] = {"no", "No", "NO", "off", "Off", "OFF", "n", "N", NULL};

    for (size_t i = 0; yes[i] != NULL; i++)
        if (node->type == YAML_STRING && (span_is(node->text, yes[i]) || span_is(node->text, no[i])))
            return span_is(node->text, yes[i]) ? "; YAML 1.2 takes `yes` and `on` for texts: write true"
                                               : "; YAML 1.2 takes `no` and `off` for texts: write false";
    return "; write true or false";
}
