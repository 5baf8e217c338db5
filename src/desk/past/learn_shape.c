/* SPDX-License-Identifier: Apache-2.0 */
#include "past/learn_priv.h"

#include "base/utf8.h"
#include "texts/reading.h"
#include "unicode/unicode.h"

struct shape *learn__new_shape(struct learn *learn, struct learn_kind *kind, struct shape *parent, struct span name)
{
    struct shape *shape;

    if (kind->shapes == LEARN_SHAPES_MAX) {
        kind->too_many_shapes = true;
        return NULL;
    }
    shape = arena_zalloc(&learn->arena, sizeof *shape);
    if (shape == NULL)
        return NULL;
    kind->shapes++;
    shape->parent = parent;
    shape->depth = parent != NULL ? parent->depth + 1 : 0;
    if (learn__copy(learn, name, &shape->name) != CODE_OK)
        return NULL;
    return shape;
}

/* ---- few distinct values ---- */

static enum code remember(struct learn *learn, struct learn_values *values, struct span text, bool as_number)
{
    if (values->many)
        return CODE_OK;
    for (uint32_t i = 0; i < values->count; i++)
        if (as_number ? json_number_compare(values->value[i].text, text) == 0 : span_equals(values->value[i].text, text)) {
            values->value[i].count++;
            return CODE_OK;
        }
    if (values->count == LEARN_VALUES_MAX || text.len > LEARN_VALUE_BYTES) {
        values->many = true;
        return CODE_OK;
    }
    if (values->value == NULL)
        values->value = arena_alloc(&learn->arena, LEARN_VALUES_MAX * sizeof *values->value);
    if (values->value == NULL)
        return CODE_NOMEM;
    values->value[values->count].count = 1;
    return learn__copy(learn, text, &values->value[values->count++].text);
}

/* ---- numbers ---- */

/* In place where it fits: a number that climbs all day takes no more memory than its digits. */
static enum code replace(struct learn *learn, struct span *old, struct span text)
{
    if (old->at == NULL || text.len > old->len)
        return learn__copy(learn, text, old);
    memcpy((char *)old->at, text.at, text.len);
    old->len = text.len;
    return CODE_OK;
}

static enum code add_number(struct learn *learn, struct shape *shape, struct span lexeme)
{
    enum code code = CODE_OK;

    shape->integers += json_number_is_integer(lexeme);
    shape->unsafe += json_number_is_unsafe(lexeme);
    if (shape->numbers++ == 0 || json_number_compare(lexeme, shape->least) < 0)
        code = replace(learn, &shape->least, lexeme);
    if (code == CODE_OK && (shape->numbers == 1 || json_number_compare(lexeme, shape->most) > 0))
        code = replace(learn, &shape->most, lexeme);
    return code == CODE_OK ? remember(learn, &shape->lexemes, lexeme, true) : code;
}

/* ---- strings ---- */

/* Cuts to what both begin with. */
static void shorten(struct span *prefix, struct span text)
{
    size_t len = 0;

    while (len < prefix->len && len < text.len && prefix->at[len] == text.at[len])
        len++;
    *prefix = utf8_cut(*prefix, len);
}

/* Absolute, already resolved, and nothing in it that `under` could be undecided on. */
static bool is_plain_path(struct span text)
{
    return text.len >= 2 && text.len <= LEARN_PREFIX_BYTES * 4 && text.at[0] == '/' && text.at[text.len - 1] != '/' &&
           (reading_of_steps(text) & ~(unsigned)READING_LOOSE) == 0;
}

/* The folder of a path without its last slash; the root is empty. */
static struct span folder_of(struct span path)
{
    while (path.len > 0 && path.at[path.len - 1] != '/')
        path.len--;
    path.len -= path.len > 0;
    return path;
}

static void shorten_folder(struct span *folder, struct span other)
{
    while (!(span_starts_with(other, *folder) && (other.len == folder->len || other.at[folder->len] == '/')))
        *folder = folder_of(*folder);
}

static enum code add_path(struct learn *learn, struct shape *shape, struct span text)
{
    if (shape->no_paths)
        return CODE_OK;
    if (!is_plain_path(text)) {
        shape->no_paths = true;
        return CODE_OK;
    }
    if (shape->strings == 0)
        return learn__copy(learn, folder_of(text), &shape->folder);
    shorten_folder(&shape->folder, folder_of(text));
    return CODE_OK;
}

static enum code add_string(struct learn *learn, struct shape *shape, struct span text)
{
    size_t points = unicode_count(text);
    enum code code = add_path(learn, shape, text);

    if (code == CODE_OK && shape->strings == 0)
        code = learn__copy(learn, utf8_cut(text, LEARN_PREFIX_BYTES), &shape->prefix);
    shorten(&shape->prefix, text);
    if (shape->strings == 0 || points < shape->shortest)
        shape->shortest = points;
    if (points > shape->longest)
        shape->longest = points;
    shape->strings++;
    return code == CODE_OK ? remember(learn, &shape->texts, text, false) : code;
}

/* ---- arrays and objects ---- */

static void note_count(bool first, uint64_t count, uint64_t *least, uint64_t *most)
{
    if (first || count < *least)
        *least = count;
    if (count > *most)
        *most = count;
}

static enum code add_array(struct learn *learn, struct learn_kind *kind, const struct recorded *recorded, struct shape *shape,
                           const struct json_node *array)
{
    enum code code = CODE_OK;

    shape->arrays++;
    note_count(shape->arrays == 1, array->count, &shape->fewest, &shape->mostest);
    if (array->count == 0 || shape->unbounded)
        return CODE_OK;
    if (shape->element == NULL)
        shape->element = learn__new_shape(learn, kind, shape, SPAN_NONE);
    if (shape->element == NULL) {
        shape->unbounded = true;
        return kind->too_many_shapes ? CODE_OK : CODE_NOMEM;
    }
    for (const struct json_node *item = array->child; item != NULL && code == CODE_OK; item = item->next)
        code = learn__shape(learn, kind, recorded, shape->element, item);
    return code;
}

/* The member of that name, made where it is new; NULL where there is no room for one more. */
static enum code find_member(struct learn *learn, struct learn_kind *kind, struct shape *shape, struct span name,
                             struct shape **member)
{
    struct shape **at = &shape->members;

    while (*at != NULL && span_compare((*at)->name, name) < 0)
        at = &(*at)->next;
    *member = *at;
    if (*at != NULL && span_equals((*at)->name, name))
        return CODE_OK;
    *member = NULL;
    if (shape->member_count == LEARN_MEMBERS_MAX || name.len > LEARN_VALUE_BYTES) {
        shape->unbounded = true;
        return CODE_OK;
    }
    *member = learn__new_shape(learn, kind, shape, name);
    if (*member == NULL) {
        shape->unbounded = true;
        return kind->too_many_shapes ? CODE_OK : CODE_NOMEM;
    }
    (*member)->next = *at;
    *at = *member;
    shape->member_count++;
    return CODE_OK;
}

static enum code add_object(struct learn *learn, struct learn_kind *kind, const struct recorded *recorded,
                            struct shape *shape, const struct json_node *object)
{
    shape->objects++;
    note_count(shape->objects == 1, object->count, &shape->thinnest, &shape->fattest);
    for (const struct json_node *child = object->child; child != NULL && !shape->unbounded; child = child->next) {
        struct shape *member;
        enum code code = find_member(learn, kind, shape, child->key, &member);

        if (code == CODE_OK && member != NULL)
            code = learn__shape(learn, kind, recorded, member, child);
        if (code != CODE_OK)
            return code;
    }
    return CODE_OK;
}

enum code learn__shape(struct learn *learn, struct learn_kind *kind, const struct recorded *recorded,
                            struct shape *shape, const struct json_node *value)
{
    const struct question_hidden *hidden = recorded->question.hidden;

    shape->present++;
    if (hidden != NULL && question_is_hidden(hidden, value)) {
        shape->hidden++;
        return CODE_OK;
    }
    if (shape->depth == LEARN_DEPTH_MAX && (value->type == JSON_ARRAY || value->type == JSON_OBJECT))
        shape->unbounded = true;
    switch (value->type) {
    case JSON_NULL: shape->nulls++; break;
    case JSON_TRUE: shape->trues++; break;
    case JSON_FALSE: shape->falses++; break;
    case JSON_NUMBER: return add_number(learn, shape, value->raw);
    case JSON_STRING: return add_string(learn, shape, value->text);
    case JSON_ARRAY: return add_array(learn, kind, recorded, shape, value);
    case JSON_OBJECT: return add_object(learn, kind, recorded, shape, value);
    case JSON_NONE: break;
    }
    return CODE_OK;
}
