/* SPDX-License-Identifier: Apache-2.0 */
#include "json/json.h"

#include "base/num.h"

#include <stdarg.h>

const struct json_node *json_member(const struct json_node *object, struct span name)
{
    const struct json_node *child;

    if (object == NULL || object->type != JSON_OBJECT)
        return NULL;
    for (child = object->child; child != NULL; child = child->next)
        if (span_equals(child->key, name))
            return child;
    return NULL;
}

struct span json_member_text(const struct json_node *object, const char *name)
{
    const struct json_node *member = json_member(object, span_text(name));

    return member != NULL && member->type == JSON_STRING ? member->text : SPAN_NONE;
}

bool json_member_number(const struct json_node *object, const char *name, int64_t least, int64_t most, int64_t *number)
{
    const struct json_node *member = json_member(object, span_text(name));
    int64_t value;

    if (member == NULL || member->type != JSON_NUMBER || num_i64(member->raw, &value) != CODE_OK || value < least ||
        value > most)
        return false;
    *number = value;
    return true;
}

const struct json_node *json_at(const struct json_node *node, ...)
{
    const char *name;
    va_list path;

    va_start(path, node);
    while (node != NULL && (name = va_arg(path, const char *)) != NULL)
        node = json_member(node, span_text(name));
    va_end(path);
    return node;
}

static bool is_equal_array(const struct json_node *a, const struct json_node *b)
{
    const struct json_node *left = a->child, *right = b->child;

    for (; left != NULL && right != NULL; left = left->next, right = right->next)
        if (!json_equal(left, right))
            return false;
    return left == NULL && right == NULL;
}

/* Members in the same order are found at once; each one out of order costs a search. Keys are unique, so the sets are
 * equal where all are found and the counts agree. */
static bool is_equal_object(const struct json_node *a, const struct json_node *b)
{
    const struct json_node *guess = b->child;

    for (const struct json_node *left = a->child; left != NULL; left = left->next) {
        const struct json_node *right = guess != NULL && span_equals(guess->key, left->key) ? guess
                                                                                            : json_member(b, left->key);

        if (right == NULL || !json_equal(left, right))
            return false;
        guess = right->next;
    }
    return true;
}

/* Recursion goes no deeper than the reader's rules let a document be (128). */
bool json_equal(const struct json_node *a, const struct json_node *b)
{
    if (a->type != b->type || a->count != b->count)
        return false;
    switch (a->type) {
    case JSON_NONE:
    case JSON_NULL:
    case JSON_FALSE:
    case JSON_TRUE:
        return true;
    case JSON_NUMBER:
        return json_number_compare(a->raw, b->raw) == 0;
    case JSON_STRING:
        return span_equals(a->text, b->text);
    case JSON_ARRAY:
        return is_equal_array(a, b);
    case JSON_OBJECT:
        return is_equal_object(a, b);
    }
    return false;
}
