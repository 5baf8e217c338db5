/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/told.h"

#include "args/command.h"
#include "args/print.h"
#include "base/bug.h"
#include "base/num.h"
#include "cli/told_priv.h"
#include "unicode/terminal.h"

#define TEXT_BYTES ((size_t)256 << 20)

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

struct span told__span(const struct json_node *value)
{
    if (value == NULL || value->type == JSON_NULL)
        return SPAN_NONE;
    return value->type == JSON_STRING ? value->text : value->raw;
}

struct span told_text(const struct json_node *object, const char *key)
{
    return told__span(json_member(object, span_text(key)));
}

/* ---- words ---- */

struct scope {
    const struct json_node *value, *before; /* before: it in its list */
    const struct scope *around;
    bool as_html;
};

/* What stands in braces. */
struct field {
    char kind; /* ? ! * / or, of a member that is told, a blank */
    struct span key, form, with, word;
    bool has_word;
};

/* Takes words from behind `{`. */
static struct field take_field(struct span *words)
{
    struct span inner = span_cut(*words, '}', words);
    struct field field = {.kind = ' '};

    BUG_ON(inner.len == 0);
    if (inner.at[0] == '?' || inner.at[0] == '!' || inner.at[0] == '*' || inner.at[0] == '/') {
        field.kind = inner.at[0];
        inner = span_part(inner, 1, SIZE_MAX);
    }
    if (field.kind == '/') {
        field.word = inner;
        return field;
    }
    field.has_word = span_find(inner, '=') < inner.len;
    inner = span_cut(inner, '=', &field.word);
    field.key = span_cut(inner, ':', &field.form);
    field.form = span_cut(field.form, ' ', &field.with);
    return field;
}

/* Takes words up to the end of what `[` or `{*key}` began. Returns: what stands between. Takes: between: NULL of a bracket. */
static struct span take_inner(struct span *words, struct span *between)
{
    const char *begin = words->at;
    unsigned brackets = 0, loops = 0;

    while (words->len > 0) {
        const char *here = words->at;
        char c = *here;

        *words = span_part(*words, c == '\\' ? 2 : 1, SIZE_MAX);
        if (c == '{') {
            struct field field = take_field(words);

            if (field.kind == '/' && loops-- == 0 && between != NULL) {
                *between = field.word;
                return span_of(begin, (size_t)(here - begin));
            }
            loops += field.kind == '*';
        } else if (c == ']' && brackets-- == 0 && between == NULL) {
            return span_of(begin, (size_t)(here - begin));
        }
        brackets += c == '[';
    }
    BUG_ON(true); /* it has no end */
    return SPAN_NONE;
}

static struct told_member find(const struct scope *scope, struct span key)
{
    struct told_member member = {.value = scope->value, .around = scope->value};
    struct span rest, first = span_cut(key, '.', &rest);

    if (span_is(key, "."))
        return member;
    member.value = NULL;
    for (; scope != NULL && member.value == NULL; scope = scope->around)
        member = (struct told_member){json_member(scope->value, first), scope->value, scope->before};
    while (member.value != NULL && rest.len > 0)
        member = (struct told_member){json_member(member.value, span_cut(rest, '.', &rest)), member.value, NULL};
    return member;
}

static bool says(const struct scope *scope, const struct field *field)
{
    const struct told_member member = find(scope, field->key);
    struct span text = span_is(field->key, "@") ? scope->value->key : told__span(member.value);
    bool is_formed = field->form.len > 0 && field->kind != '*', is_said;
    bool is_text = span_is(field->key, "@") || (member.value != NULL && member.value->type == JSON_STRING);
    struct buf formed;

    buf_init(&formed, TEXT_BYTES);
    if (is_formed)
        told__form(&formed, &member, field->form, field->with);
    if (is_formed && buf_code(&formed) == CODE_OK)
        text = buf_peek(&formed);
    if (field->has_word)
        is_said = span_equals(text, field->word);
    else
        is_said = text.len > 0 && (is_formed || is_text || (!span_is(text, "false") && !span_is(text, "0") &&
                                                            !span_is(text, "[]") && !span_is(text, "{}")));
    buf_fini(&formed);
    return is_said;
}

/* Whether all of it is said that is in no bracket of its own; where some of it is a question, whether all of these are so. */
static bool holds(const struct scope *scope, struct span words)
{
    bool asks = false, is_said = true, is_so = true;
    struct span between;

    while (words.len > 0) {
        char c = words.at[0];

        words = span_part(words, c == '\\' ? 2 : 1, SIZE_MAX);
        if (c == '[') {
            (void)take_inner(&words, NULL);
        } else if (c == '{') {
            struct field field = take_field(&words);
            bool is_question = field.kind == '?' || field.kind == '!';
            bool *is_right = is_question ? &is_so : &is_said;

            asks |= is_question;
            *is_right &= says(scope, &field) != (field.kind == '!');
            if (field.kind == '*')
                (void)take_inner(&words, &between);
        }
    }
    return asks ? is_so : is_said;
}

/* What could end a text or the quotes of an attribute, where that is no markup of the words' own. */
static void add_escaped(struct buf *out, struct span text)
{
    static const struct { char c; const char *reference; } references[] = {
        {'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&#39;"}, {'`', "&#96;"},
    };

    for (size_t i = 0; i < text.len; i++) {
        const char *reference = NULL;

        for (size_t at = 0; at < sizeof references / sizeof references[0]; at++)
            if (text.at[i] == references[at].c)
                reference = references[at].reference;
        if (reference != NULL)
            buf_add_text(out, reference);
        else
            buf_add_byte(out, text.at[i]);
    }
}

static void add_member(struct buf *out, const struct scope *scope, const struct field *field)
{
    const struct told_member member = find(scope, field->key);

    if (scope->as_html) {
        struct scope plain = *scope;
        struct buf text;

        plain.as_html = false;
        buf_init(&text, TEXT_BYTES);
        add_member(&text, &plain, field);
        if (buf_fail(out, buf_code(&text)) == CODE_OK)
            add_escaped(out, buf_peek(&text));
        buf_fini(&text);
    } else if (span_is(field->key, "@"))
        terminal_add(out, scope->value->key);
    else if (field->form.len > 0)
        told__form(out, &member, field->form, field->with);
    else
        terminal_add(out, told__span(member.value));
}

static void add(struct buf *out, const struct scope *scope, struct span words);

static void add_each(struct buf *out, const struct scope *scope, const struct field *field, struct span inner,
                     struct span between)
{
    const struct json_node *list = find(scope, field->key).value;
    struct scope within = {.value = list != NULL ? list->child : NULL, .around = scope, .as_html = scope->as_html};
    uint64_t most = UINT64_MAX;

    BUG_ON(field->form.len > 0 && (!span_is(field->form, "first") || num_u64(field->with, &most) != CODE_OK));
    for (uint64_t count = 0; within.value != NULL && count < most; count++) {
        buf_add_span(out, count > 0 ? between : SPAN_LIT(""));
        add(out, &within, inner);
        within.before = within.value;
        within.value = within.value->next;
    }
}

static void add(struct buf *out, const struct scope *scope, struct span words)
{
    while (words.len > 0) {
        char c = words.at[0];
        struct span inner, between;
        struct field field;

        words = span_part(words, 1, SIZE_MAX);
        if (c == '[') {
            inner = take_inner(&words, NULL);
            if (holds(scope, inner))
                add(out, scope, inner);
        } else if (c == '{') {
            field = take_field(&words);
            if (field.kind == '*') {
                inner = take_inner(&words, &between);
                add_each(out, scope, &field, inner, between);
            } else if (field.kind == ' ') {
                add_member(out, scope, &field);
            }
        } else {
            buf_add_byte(out, c == '\\' && words.len > 0 ? words.at[0] : c);
            words = span_part(words, c == '\\', SIZE_MAX);
        }
    }
}

enum code told_add(struct buf *out, const struct json_node *object, const char *words)
{
    add(out, &(struct scope){.value = object}, span_text(words));
    return buf_code(out);
}

enum code told_add_html(struct buf *out, const struct json_node *object, const char *words)
{
    add(out, &(struct scope){.value = object, .as_html = true}, span_text(words));
    return buf_code(out);
}

void told_print(FILE *out, const struct json_node *object, const char *words)
{
    struct buf text;

    buf_init(&text, TEXT_BYTES);
    if (told_add(&text, object, words) == CODE_OK)
        (void)print_block(out, buf_peek(&text));
    else
        fputs("(too long to be shown)\n", out);
    buf_fini(&text);
}

void told_say(const struct json_node *object, const char *words)
{
    told_print(stdout, object, words);
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
    return complain_code(code);
}
