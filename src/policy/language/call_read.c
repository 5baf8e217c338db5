/* SPDX-License-Identifier: Apache-2.0 */
/* A call alone, as people explain one: written like `call:` of a test. */
#include "language/compile_priv.h"
#include "policy/index.h"

#include "unicode/unicode.h"

#define TREE_MAX_BYTES ((size_t)256 << 20)
#define CALL_MAX_BYTES ((size_t)1 << 30)

/* ---- a call that is JSON ---- */

static bool is_plain(struct span text)
{
    for (size_t i = 0; i < text.len; i++)
        if ((unsigned char)text.at[i] >= 0x7f || text.at[i] == '\\')
            return false;
    return true;
}

/* Escapes the characters that YAML does not take. Takes: canonical JSON, in which they stand in strings only. */
static enum code add_escaped(struct buf *out, struct span json)
{
    enum code code = CODE_OK;
    uint32_t point;
    size_t taken;

    while ((taken = unicode_next(json, &point)) > 0 && code == CODE_OK) {
        if (point < 0x7f || unicode_cells(point) >= 0)
            code = buf_add(out, json.at, taken);
        else
            code = buf_addf(out, point > 0xffff ? "\\U%08x" : "\\u%04x", (unsigned)point);
        json = span_part(json, taken, SIZE_MAX);
    }
    return code;
}

/* Appends a call's text so that the YAML reader takes it, if it is JSON. JSON takes characters that YAML does not, and writes
 * some as two surrogates; they are rewritten as escapes of YAML. */
static enum code add_text(struct span text, struct buf *out)
{
    const struct json_node *root;
    struct json_fault fault;
    struct arena arena;
    struct buf canonical;
    enum code code;

    if (is_plain(text))
        return buf_add_span(out, text);
    arena_init(&arena, TREE_MAX_BYTES);
    buf_init(&canonical, TREE_MAX_BYTES);
    code = json_read(text, &json_file_rules, &canonical, &arena, &root, &fault);
    if (code == CODE_OK)
        code = add_escaped(out, buf_peek(&canonical));
    else if (code != CODE_NOMEM)
        code = buf_add_span(out, text); /* perhaps it is YAML: its reader decides */
    buf_fini(&canonical);
    arena_fini(&arena);
    return code;
}

/* ---- the call ---- */

static void read_call(struct compiler *c, const struct policy_file *file)
{
    struct policy *policy = c->policy;
    struct policy_source source = {.path_text = NULL};
    struct yaml_tree *tree = NULL;

    policy->cases = compiler_alloc(c, 1, sizeof *policy->cases);
    compile__read_source(c, file, &source, &tree);
    if (!c->no_memory && tree != NULL) {
        policy->cases[0] = (struct policy_case){.name = SPAN_LIT("call")}; /* nobody asks where a call alone stands */
        policy->case_count = 1;
        c->source = &source;
        c->tree = tree;
        compile__case_call(c, yaml_root(tree), &policy->cases[0]);
    }
    yaml_tree_free(&tree);
}

enum code policy_call_read(const struct policy_file *file, struct policy **holder, struct faults *faults)
{
    struct faults mine;
    struct compiler c = {.policy = policy_new(0), .author = &policy_authoring, .faults = &mine};
    struct policy_file readable = *file;
    struct buf text;

    *holder = NULL;
    if (c.policy == NULL)
        return CODE_NOMEM;
    faults_init(&mine);
    buf_init(&text, CALL_MAX_BYTES);
    c.no_memory = add_text(file->text, &text) != CODE_OK || policy_index_build(c.policy) != CODE_OK;
    if (!c.no_memory) {
        readable.text = buf_peek(&text);
        read_call(&c, &readable);
    }
    buf_fini(&text);
    return compile__hand_over(&c, holder, faults);
}
