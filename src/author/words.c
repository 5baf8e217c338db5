/* SPDX-License-Identifier: Apache-2.0 */
#include "author/words.h"

#include "base/utf8.h"

#include <ctype.h>
#include <inttypes.h>

#define TEXT_SHOWN 80 /* bytes of an operand */
#define LIST_SHOWN 8  /* members of a list */

static bool is_bare(struct span text)
{
    for (size_t i = 0; i < text.len; i++)
        if (!isalnum((unsigned char)text.at[i]) && strchr("_-./@", text.at[i]) == NULL)
            return false;
    return text.len > 0;
}

static bool has_controls(struct span text)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned char byte = (unsigned char)text.at[i];

        if (byte < ' ' || byte == 0x7f || (byte == 0xc2 && i + 1 < text.len && (unsigned char)text.at[i + 1] < 0xa0))
            return true;
    }
    return false;
}

/* As YAML has it: regexes keep their backslashes in single quotes. */
enum code words_text(struct buf *out, struct span text)
{
    struct span shown = utf8_cut(text, TEXT_SHOWN);
    enum code code;

    if (is_bare(text) && shown.len == text.len)
        return buf_add_span(out, text);
    if (has_controls(shown)) {
        code = json_write_string(out, shown);
    } else {
        code = buf_add_byte(out, '\'');
        for (size_t i = 0; i < shown.len && code == CODE_OK; i++)
            code = shown.at[i] == '\'' ? buf_add_text(out, "''") : buf_add_byte(out, shown.at[i]);
        if (code == CODE_OK)
            code = buf_add_byte(out, '\'');
    }
    return code == CODE_OK && shown.len < text.len ? buf_add_text(out, "...") : code;
}

static enum code say_json(struct buf *out, const struct json_node *value)
{
    struct span shown;
    enum code code;

    if (value == NULL)
        return buf_add_byte(out, '?');
    if (value->type == JSON_STRING)
        return words_text(out, value->text);
    shown = utf8_cut(value->raw, TEXT_SHOWN);
    code = buf_add_span(out, shown);
    return code == CODE_OK && shown.len < value->raw.len ? buf_add_text(out, "...") : code;
}

static enum code say_in(struct buf *out, const struct op *op)
{
    enum code code = buf_add_text(out, "[");

    for (uint32_t i = 0; i < op->value_count && i < LIST_SHOWN && code == CODE_OK; i++) {
        code = i > 0 ? buf_add_text(out, ", ") : CODE_OK;
        if (code == CODE_OK)
            code = say_json(out, op->values[i]);
    }
    if (code == CODE_OK && op->value_count > LIST_SHOWN)
        code = buf_addf(out, ", %u more", op->value_count - LIST_SHOWN);
    return code == CODE_OK ? buf_add_byte(out, ']') : code;
}

static enum code say_written(struct buf *out, struct span written)
{
    struct span shown = utf8_cut(written, TEXT_SHOWN);
    enum code code = buf_add_span(out, shown);

    return code == CODE_OK && shown.len < written.len ? buf_add_text(out, "...") : code;
}

enum code words_op(struct buf *out, const struct op *op)
{
    enum code code = buf_addf(out, "%s ", op->operator->word);

    if (code != CODE_OK)
        return code;
    if (op->value != NULL)
        return say_json(out, op->value);
    if (op->values != NULL)
        return say_in(out, op);
    return op->written.at != NULL ? say_written(out, op->written) : words_text(out, op->text);
}

enum code words_fact(struct buf *out, const struct fact *fact)
{
    enum code code = buf_addf(out, "%s ", policy_fact_text[fact->kind]);

    return code == CODE_OK ? say_written(out, fact->written) : code;
}

enum code words_limit(struct buf *out, const struct policy_limit *limit)
{
    enum code code = buf_addf(out, "limit of %" PRIu64 " calls in %" PRId64 " s", limit->calls, limit->per_us / 1000000);
    bool any = false;

    for (enum policy_by by = POLICY_BY_TENANT; by < POLICY_BY_COUNT && code == CODE_OK; by++)
        if ((limit->by >> by & 1) != 0) {
            code = buf_addf(out, "%s%s", any ? ", " : " by ", policy_by_text[by]);
            any = true;
        }
    return code;
}

enum code words_ops(struct buf *out, const struct condition *leaf)
{
    enum code code = CODE_OK;

    for (uint32_t i = 0; i < leaf->op_count && code == CODE_OK; i++) {
        code = i > 0 ? buf_add_text(out, ", ") : CODE_OK;
        if (code == CODE_OK)
            code = words_op(out, &leaf->ops[i]);
    }
    return code;
}

static enum code say_name(struct buf *out, const struct match_name *name)
{
    enum code code;

    if (name->kind != NAME_REGEX)
        return words_text(out, name->text);
    code = buf_add_text(out, "{regex: ");
    if (code == CODE_OK)
        code = words_text(out, name->text);
    return code == CODE_OK ? buf_addf(out, ", anchor: %s}", name->whole ? "whole" : "anywhere") : code;
}

enum code words_names(struct buf *out, const struct names *names)
{
    enum code code = names->given ? buf_add_byte(out, '[') : buf_add_text(out, "all");

    for (uint32_t i = 0; i < names->count && i < LIST_SHOWN && code == CODE_OK; i++) {
        code = i > 0 ? buf_add_text(out, ", ") : CODE_OK;
        if (code == CODE_OK)
            code = say_name(out, &names->name[i]);
    }
    if (code == CODE_OK && names->count > LIST_SHOWN)
        code = buf_addf(out, ", %u more", names->count - LIST_SHOWN);
    return code == CODE_OK && names->given ? buf_add_byte(out, ']') : code;
}
