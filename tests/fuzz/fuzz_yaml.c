/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes: read or refused with faults, never both; what was read prints as JSON, and that JSON reads as the same. Laid out
 * anew it says the same, and laid out again it stays. */
#include "base/buf.h"
#include "base/bug.h"
#include "yaml/layout.h"
#include "yaml/yaml.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static struct yaml_tree *read_text(struct span text)
{
    struct faults faults;
    struct yaml_tree *tree;
    enum code code;

    faults_init(&faults);
    code = yaml_read(text, "fuzz.yaml", &tree, &faults);
    BUG_ON((code == CODE_OK) != (tree != NULL) || (code == CODE_INVALID) != (faults.count > 0));
    for (size_t i = 0; i < faults.count && i < FAULTS_MAX; i++)
        BUG_ON(faults.fault[i].line < 1 || faults.fault[i].column < 1 || faults.fault[i].text[0] == '\0');
    return tree;
}

static void lay_out(struct span text, struct buf *out)
{
    struct layout *layout;

    BUG_ON(layout_read(text, &layout) != CODE_OK || layout_write(layout, out) != CODE_OK);
    layout_free(&layout);
}

static void check_layout(struct span text, const struct buf *json)
{
    struct buf written, again, said;
    struct yaml_tree *tree;

    buf_init(&written, 16 << 20);
    buf_init(&again, 16 << 20);
    buf_init(&said, 16 << 20);
    lay_out(text, &written);
    tree = read_text(buf_peek(&written));
    BUG_ON(tree == NULL || yaml_to_json(yaml_root(tree), &said) != CODE_OK);
    BUG_ON(!span_equals(buf_peek(json), buf_peek(&said)));
    lay_out(buf_peek(&written), &again);
    BUG_ON(!span_equals(buf_peek(&written), buf_peek(&again)));
    yaml_tree_free(&tree);
    buf_fini(&written);
    buf_fini(&again);
    buf_fini(&said);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct yaml_tree *tree = read_text(span_of(bytes, len)), *again;
    struct buf first, second;

    if (tree == NULL)
        return 0;
    buf_init(&first, 16 << 20);
    buf_init(&second, 16 << 20);
    if (yaml_to_json(yaml_root(tree), &first) == CODE_OK && len < 4096) {
        again = read_text(buf_peek(&first));
        if (yaml_root(tree)->type == YAML_MAP)
            check_layout(span_of(bytes, len), &first);
        /* JSON writes U+007F as it is, which libyaml does not read; nothing else is lost on the way. */
        if (again != NULL) {
            BUG_ON(yaml_to_json(yaml_root(again), &second) != CODE_OK);
            BUG_ON(!span_equals(buf_peek(&first), buf_peek(&second)));
        }
        yaml_tree_free(&again);
    }
    buf_fini(&first);
    buf_fini(&second);
    yaml_tree_free(&tree);
    return 0;
}
