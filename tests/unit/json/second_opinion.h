/* SPDX-License-Identifier: Apache-2.0 */
/* Whether cJSON, reading canonical bytes, sees the tree that we built over them: types, keys, strings, counts, numbers.
 *
 * Threads: any.
 * Owns: nothing.
 * Lifetime: none.
 * Errors: false where the two differ. */
#ifndef TESTS_SECOND_OPINION_H
#define TESTS_SECOND_OPINION_H

#include "json/json.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static inline bool same_number(struct span raw, double value)
{
    char text[512];

    if (raw.len >= sizeof text)
        return false;
    snprintf(text, sizeof text, "%.*s", SPAN_ARG(raw));
    return fabs(strtod(text, NULL) - value) <= fabs(value) * 1e-12;
}

static inline bool same_tree(const struct json_node *ours, const cJSON *theirs)
{
    const struct json_node *child = ours->child;
    const cJSON *member = theirs->child;

    switch (ours->type) {
    case JSON_NONE:
        return false;
    case JSON_NULL:
        return cJSON_IsNull(theirs);
    case JSON_FALSE:
        return cJSON_IsFalse(theirs);
    case JSON_TRUE:
        return cJSON_IsTrue(theirs);
    case JSON_NUMBER:
        return cJSON_IsNumber(theirs) && same_number(ours->raw, theirs->valuedouble);
    case JSON_STRING:
        return cJSON_IsString(theirs) && strlen(theirs->valuestring) == ours->text.len &&
               span_is(ours->text, theirs->valuestring);
    case JSON_ARRAY:
        if (!cJSON_IsArray(theirs))
            return false;
        break;
    case JSON_OBJECT:
        if (!cJSON_IsObject(theirs))
            return false;
        break;
    }
    for (uint32_t i = 0; i < ours->count; i++, child = child->next, member = member->next) {
        if (child == NULL || member == NULL || !same_tree(child, member))
            return false;
        if (ours->type == JSON_OBJECT && !span_is(child->key, member->string))
            return false;
    }
    return child == NULL && member == NULL;
}

/* cJSON before 1.7.18 reads 63 bytes of a number, and so none of the document; Debian has mended it in 1.7.15. */
static inline bool has_long_number(const struct json_node *node)
{
    bool found = node->type == JSON_NUMBER && node->raw.len > 63;

    for (const struct json_node *child = node->child; child != NULL && !found; child = child->next)
        found = has_long_number(child);
    return found;
}

static inline bool second_opinion_agrees(struct span canonical, const struct json_node *root)
{
    const char *end = NULL;
    cJSON *theirs = cJSON_ParseWithLengthOpts(canonical.at, canonical.len, &end, 0);
    bool agrees = theirs == NULL ? has_long_number(root) : end == canonical.at + canonical.len && same_tree(root, theirs);

    cJSON_Delete(theirs);
    return agrees;
}

#endif
