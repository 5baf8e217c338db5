/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes: read or refused with faults, never both; what was read prints as JSON, and that JSON reads as the same. */
#include "base/buf.h"
#include "base/bug.h"
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
