/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/told.h"

#include "args/command.h"
#include "args/print.h"
#include "base/bug.h"

#include <stdio.h>
#include <string.h>

#define TEXT_BYTES ((size_t)256 << 20)
#define KEY_BYTES 64

enum code told_read(struct told *told, const struct doc *doc)
{
    struct json_fault fault;
    enum code code;

    *told = (struct told){.root = NULL};
    arena_init(&told->arena, 4 * TEXT_BYTES);
    buf_init(&told->text, TEXT_BYTES);
    code = doc_print(doc, &told->text);
    return code == CODE_OK ? json_read(buf_peek(&told->text), &json_reply_rules, &told->text, &told->arena, &told->root, &fault)
                           : code;
}

void told_end(struct told *told)
{
    arena_fini(&told->arena);
    buf_fini(&told->text);
}

struct span told_text(const struct json_node *object, const char *key)
{
    const struct json_node *value = json_member(object, span_text(key));

    if (value == NULL || value->type == JSON_NULL)
        return SPAN_NONE;
    return value->type == JSON_STRING ? value->text : value->raw;
}

static bool says(const struct json_node *object, const char *key)
{
    struct span text = told_text(object, key);

    return text.len > 0 && !span_is(text, "false") && !span_is(text, "0") && !span_is(text, "[]") && !span_is(text, "{}");
}

/* Takes: words: at `{`. Returns: what stands behind `}`. */
static const char *read_key(const char *words, char *kind, char key[KEY_BYTES])
{
    const char *end = strchr(words, '}');

    BUG_ON(end == NULL || end - words >= KEY_BYTES);
    words++;
    *kind = *words == '?' || *words == '!' ? *words++ : ' ';
    memcpy(key, words, (size_t)(end - words));
    key[end - words] = '\0';
    return end + 1;
}

static bool holds(const struct json_node *object, const char *words, const char *end)
{
    char key[KEY_BYTES], kind;

    while ((words = memchr(words, '{', (size_t)(end - words))) != NULL) {
        words = read_key(words, &kind, key);
        if (says(object, key) == (kind == '!'))
            return false;
    }
    return true;
}

void told_say(const struct json_node *object, const char *words)
{
    char key[KEY_BYTES], kind;

    while (*words != '\0') {
        const char *end = *words == '[' ? strchr(words, ']') : NULL;

        if (end != NULL && !holds(object, words, end)) {
            words = end + 1;
        } else if (*words == '{') {
            words = read_key(words, &kind, key);
            if (kind == ' ')
                print_span(stdout, told_text(object, key));
        } else {
            if (*words != '[' && *words != ']')
                putchar(*words);
            words++;
        }
    }
}

int told_answer(struct doc **doc, bool as_json, const char *words)
{
    struct told told;
    enum code code;

    if (as_json)
        return print_doc(doc);
    code = told_read(&told, *doc);
    if (code == CODE_OK)
        told_say(told.root, words);
    told_end(&told);
    doc_free(doc);
    return code == CODE_OK ? STATUS_DONE : complain(STATUS_CANNOT, "%s", code_text(code));
}
