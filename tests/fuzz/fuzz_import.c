/* SPDX-License-Identifier: Apache-2.0 */
/* 13.11: any file of each form: what is drafted out of it compiles. */
#include "base/bug.h"
#include "language/language.h"
#include "rules/import.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void draft(enum import_form form, struct span text)
{
    static struct faults faults;
    struct import import;
    struct policy *policy = NULL;
    struct buf out;

    import_init(&import);
    faults_init(&faults);
    buf_init(&out, 64 << 20);
    if (import_read(&import, form, text, "file", SPAN_LIT("up"), &faults) == CODE_OK && import.count > 0) {
        struct policy_file file = {.path = SPAN_LIT("draft")};

        BUG_ON(import_write(&import, "imported", "file", &out) != CODE_OK);
        file.text = buf_peek(&out);
        faults_init(&faults);
        BUG_ON(policy_compile(&file, 1, 0, &policy, &faults, NULL) == CODE_INVALID);
        policy_unref(&policy);
    }
    buf_fini(&out);
    import_fini(&import);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    if (len < 1 || len > 65536)
        return 0;
    draft((enum import_form)(bytes[0] % 5), span_of((const char *)bytes + 1, len - 1));
    return 0;
}
