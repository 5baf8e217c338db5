/* SPDX-License-Identifier: Apache-2.0 */
/* cJSON holds the structure only. Strings and numbers are written here and handed over as raw text, because cJSON ends
 * strings at NUL, leaves U+2028 as it is, and keeps numbers as doubles. */
#include "json/doc.h"

#include "base/bug.h"
#include "base/mem.h"
#include "json/json.h"

#include <cjson/cJSON.h>
#include <pthread.h>
#include <stdio.h>

struct doc {
    struct doc *root;  /* itself for a root */
    struct doc *below; /* of a root: all documents added below it */
    cJSON *item;       /* freed with the root's */
    bool failed;       /* of a root: something could not be allocated */
};

static pthread_once_t hooked = PTHREAD_ONCE_INIT;

static void *hook_alloc(size_t bytes)
{
    return mem_alloc(bytes);
}

static void hook_cjson(void)
{
    cJSON_Hooks hooks = {hook_alloc, mem_free};

    cJSON_InitHooks(&hooks);
}

static struct doc *make_root(cJSON *item)
{
    struct doc *doc = item != NULL ? mem_zalloc(sizeof *doc) : NULL;

    if (doc == NULL) {
        cJSON_Delete(item);
        return NULL;
    }
    doc->root = doc;
    doc->item = item;
    return doc;
}

struct doc *doc_object(void)
{
    BUG_ON(pthread_once(&hooked, hook_cjson) != 0);
    return make_root(cJSON_CreateObject());
}

void doc_free(struct doc **doc)
{
    struct doc *root = *doc;

    if (root == NULL)
        return;
    BUG_ON(root->root != root);
    while (root->below != NULL) {
        struct doc *below = root->below;

        root->below = below->below;
        mem_free(below);
    }
    cJSON_Delete(root->item);
    mem_free(root);
    *doc = NULL;
}

/* Takes: `item`, also when it fails. */
static bool add_item(struct doc *doc, const char *key, cJSON *item)
{
    cJSON_bool added = item == NULL  ? 0
                       : key == NULL ? cJSON_AddItemToArray(doc->item, item)
                                     : cJSON_AddItemToObject(doc->item, key, item);

    if (!added) {
        cJSON_Delete(item);
        doc->root->failed = true;
    }
    return added;
}

/* Takes: `text`, whose bytes end in a NUL, or the failure to make them. */
static void add_text(struct doc *doc, const char *key, struct buf *text, enum code code)
{
    if (code == CODE_OK)
        code = buf_add_byte(text, '\0');
    (void)add_item(doc, key, code == CODE_OK ? cJSON_CreateRaw(buf_peek(text).at) : NULL);
    buf_fini(text);
}

void doc_text(struct doc *object, const char *key, struct span value)
{
    struct buf text;

    if (object == NULL)
        return;
    buf_init(&text, SIZE_MAX / 2);
    add_text(object, key, &text, json_write_string(&text, value));
}

void doc_text_or_null(struct doc *object, const char *key, struct span value)
{
    if (value.at != NULL)
        doc_text(object, key, value);
    else
        doc_null(object, key);
}

void doc_lines(struct doc *object, const char *key, struct span lines)
{
    struct doc *list = doc_add_array(object, key);

    while (lines.len > 0)
        doc_text(list, NULL, span_cut(lines, '\n', &lines));
}

void doc_int(struct doc *object, const char *key, int64_t value)
{
    char text[24];

    if (object == NULL)
        return;
    (void)snprintf(text, sizeof text, "%lld", (long long)value);
    (void)add_item(object, key, cJSON_CreateRaw(text));
}

void doc_json(struct doc *object, const char *key, struct span json)
{
    struct buf text;

    if (object == NULL)
        return;
    buf_init(&text, SIZE_MAX / 2);
    add_text(object, key, &text, buf_add_span(&text, json.at != NULL ? json : SPAN_LIT("null")));
}

void doc_bool(struct doc *object, const char *key, bool value)
{
    if (object != NULL)
        (void)add_item(object, key, cJSON_CreateBool(value));
}

void doc_null(struct doc *object, const char *key)
{
    if (object != NULL)
        (void)add_item(object, key, cJSON_CreateNull());
}

static struct doc *add_below(struct doc *doc, const char *key, cJSON *item)
{
    struct doc *below;

    if (!add_item(doc, key, item))
        return NULL;
    below = mem_zalloc(sizeof *below);
    if (below == NULL) {
        doc->root->failed = true;
        return NULL;
    }
    *below = (struct doc){.root = doc->root, .below = doc->root->below, .item = item};
    doc->root->below = below;
    return below;
}

struct doc *doc_add_object(struct doc *object, const char *key)
{
    return object != NULL ? add_below(object, key, cJSON_CreateObject()) : NULL;
}

struct doc *doc_add_array(struct doc *object, const char *key)
{
    return object != NULL ? add_below(object, key, cJSON_CreateArray()) : NULL;
}

enum code doc_print(const struct doc *doc, struct buf *out)
{
    enum code code;
    char *text;

    if (doc == NULL || doc->root->failed)
        return CODE_NOMEM;
    text = cJSON_PrintUnformatted(doc->item);
    if (text == NULL)
        return CODE_NOMEM;
    code = buf_add_text(out, text);
    mem_free(text);
    return code;
}
