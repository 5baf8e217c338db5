/* SPDX-License-Identifier: Apache-2.0 */
/* Values to try for one condition: what its operators name, and what lies around that. */
#include "diff/diff_priv.h"
#include "author/sample.h"
#include "base/utf8.h"
#include "crypto/digest.h"
#include "policy/variable.h"

#include <stdlib.h>

static void add(struct samples *samples, struct span json)
{
    struct diff_values *v = (struct diff_values *)samples;

    if (v->varies != NULL && variable_say(v->varies, json, VARIABLE_TEXT, v->arena, &json) != CODE_OK)
        return;
    if (v->count == DIFF_VALUES_MAX || v->code != CODE_OK)
        return;
    for (size_t i = 0; i < v->count; i++)
        if (span_equals(v->json[i], json))
            return;
    v->json[v->count].at = arena_dup(v->arena, json.at, json.len);
    if (v->json[v->count].at == NULL)
        v->code = CODE_NOMEM;
    else
        v->json[v->count++].len = json.len;
}

/* What was written, unless it could not be: a value that is too long is not tried. */
static void add_buf(struct diff_values *v, struct buf *json)
{
    if (buf_code(json) == CODE_OK)
        add(&v->samples, buf_peek(json));
    else if (buf_code(json) == CODE_NOMEM)
        v->code = CODE_NOMEM;
    buf_fini(json);
}

void diff__add_text(struct samples *samples, const char *before, struct span text, const char *after)
{
    struct buf whole, json;

    buf_init(&whole, DIFF_VALUE_MAX_BYTES);
    buf_init(&json, DIFF_VALUE_MAX_BYTES);
    buf_add_text(&whole, before);
    buf_add_span(&whole, text);
    buf_add_text(&whole, after);
    if (buf_fail(&json, buf_code(&whole)) == CODE_OK)
        json_write_string(&json, buf_peek(&whole));
    add_buf((struct diff_values *)samples, &json);
    buf_fini(&whole);
}

static void add_around(struct samples *samples, uint64_t count, uint64_t most, const char *open, const char *one,
                       const char *close)
{
    for (uint64_t length = count > 0 ? count - 1 : 0; length <= count + 1 && length <= most; length++) {
        struct buf json;

        buf_init(&json, DIFF_VALUE_MAX_BYTES);
        buf_add_text(&json, open);
        for (uint64_t i = 0; i < length; i++)
            buf_addf(&json, "%s%s", i > 0 && *open == '[' ? "," : "", one);
        buf_add_text(&json, close);
        add_buf((struct diff_values *)samples, &json);
    }
}

const struct json_node *diff__read_json(struct span json, struct buf *canonical, struct arena *arena, enum code *sticks)
{
    const struct json_node *root = NULL;
    struct json_fault fault;
    enum code code;

    buf_init(canonical, DIFF_VALUE_MAX_BYTES);
    code = json_read(json, &json_file_rules, canonical, arena, &root, &fault);
    if (code == CODE_NOMEM)
        *sticks = code;
    return code == CODE_OK ? root : NULL;
}

/* What the strings of an operand that is kept as JSON say: hosts, directories, ranges. */
static void add_written(struct samples *samples, struct span written, const char *before, const char *after)
{
    struct diff_values *v = (struct diff_values *)samples;
    struct buf canonical;
    const struct json_node *root = diff__read_json(written, &canonical, v->arena, &v->code);
    const struct json_node *hosts = root != NULL && root->type == JSON_OBJECT ? json_member(root, SPAN_LIT("hosts")) : root;

    if (hosts != NULL && hosts->type == JSON_STRING)
        diff__add_text(samples, before, hosts->text, after);
    for (const struct json_node *host = hosts ? hosts->child : NULL; host != NULL; host = host->next)
        if (host->type == JSON_STRING && span_starts_with(host->text, SPAN_LIT("*")))
            diff__add_text(samples, "https://x", span_part(host->text, 1, SIZE_MAX), after);
        else if (host->type == JSON_STRING)
            diff__add_text(samples, before, host->text, after);
    buf_fini(&canonical);
}

static void add_addresses(struct samples *samples, struct span written)
{
    struct diff_values *v = (struct diff_values *)samples;
    struct buf canonical;
    const struct json_node *root = diff__read_json(written, &canonical, v->arena, &v->code);

    for (const struct json_node *range = root ? root->child : NULL; range != NULL; range = range->next)
        diff__add_text(samples, "", span_part(range->text, 0, span_find(range->text, '/')), "");
    buf_fini(&canonical);
}

void diff__add_sample(struct samples *samples, struct span pattern)
{
    struct sample sample;

    sample_make(pattern, &sample);
    diff__add_text(samples, "", span_of(sample.text, sample.len), "");
}

void diff__add_glob(struct samples *samples, struct span glob)
{
    char text[256];
    size_t len = 0;

    for (size_t i = 0; i < glob.len && len < sizeof text; i++) {
        if (glob.at[i] == '\\' && i + 1 < glob.len)
            i++;
        else if (glob.at[i] == '*' || glob.at[i] == '?') {
            text[len++] = 'x';
            continue;
        }
        text[len++] = glob.at[i];
    }
    diff__add_text(samples, "", span_of(text, len), "");
}

static void add_types(struct diff_values *v)
{
    static const char *const one_of_each[] = {"1", "\"x\"", "1.5", "true", "null", "[\"x\"]", "[]", "{}", "-1", "\"\""};

    for (size_t i = 0; i < sizeof one_of_each / sizeof *one_of_each; i++)
        add(&v->samples, span_text(one_of_each[i]));
}

static const struct samples into_values = {
    .json = add, .text = diff__add_text, .glob = diff__add_glob, .regex = diff__add_sample, .around = add_around,
    .written = add_written,
    .addresses = add_addresses,
};

/* A string cut in two: values one behind the other, for `joined`. */
static void add_halves(struct diff_values *v, struct span text)
{
    struct span first = utf8_cut(text, text.len / 2);
    struct buf json;

    buf_init(&json, DIFF_VALUE_MAX_BYTES);
    buf_add_byte(&json, '[');
    json_write_string(&json, first);
    buf_add_byte(&json, ',');
    json_write_string(&json, span_part(text, first.len, SIZE_MAX));
    buf_add_byte(&json, ']');
    add_buf(v, &json);
}

/* As decoders find them: what a rule that names them sees, and another does not. */
static void add_encoded(struct diff_values *v, struct span text)
{
    struct buf base64, hex;

    buf_init(&base64, DIFF_VALUE_MAX_BYTES);
    buf_init(&hex, DIFF_VALUE_MAX_BYTES);
    base64_encode(text, &base64);
    for (size_t i = 0; i < text.len; i++)
        buf_addf(&hex, "%02x", (unsigned char)text.at[i]);
    if (buf_code(&base64) == CODE_OK && buf_code(&hex) == CODE_OK) {
        diff__add_text(&v->samples, "", buf_peek(&base64), "");
        diff__add_text(&v->samples, "?d=", buf_peek(&base64), "");
        diff__add_text(&v->samples, "", buf_peek(&hex), "");
    }
    buf_fini(&base64);
    buf_fini(&hex);
}

static void add_disguised(struct diff_values *v, const struct condition *leaf)
{
    for (size_t i = 0, count = v->count; i < count && v->code == CODE_OK; i++) {
        struct buf canonical;
        const struct json_node *sample = diff__read_json(v->json[i], &canonical, v->arena, &v->code);

        if (sample != NULL && sample->type == JSON_STRING && sample->text.len > 1 && leaf->joined)
            add_halves(v, sample->text);
        if (sample != NULL && sample->type == JSON_STRING && sample->text.len > 1 && leaf->decoders != 0)
            add_encoded(v, sample->text);
        if (sample != NULL && sample->type == JSON_STRING && leaf->links)
            diff__add_text(&v->samples, "see ", sample->text, " there");
        buf_fini(&canonical);
    }
}

void diff__collect(struct diff_values *v, struct arena *arena, const struct question *base, const struct condition *leaf)
{
    *v = (struct diff_values){.samples = into_values, .arena = arena};
    add_types(v); /* first, being short */
    for (uint32_t i = 0; i < leaf->op_count; i++) {
        v->varies = leaf->ops[i].varies ? base : NULL;
        op_sample(&leaf->ops[i], &v->samples);
    }
    v->varies = NULL;
    if (leaf->joined || leaf->decoders != 0 || leaf->links)
        add_disguised(v, leaf);
}
