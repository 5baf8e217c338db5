/* SPDX-License-Identifier: Apache-2.0 */
/* The words of a person's command, as the process beside the gate reads them: exactly so many, each within what came. 7.9 */
#include "app/control.h"
#include "base/bug.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    static char words[4096], *argv[sizeof words + 1];
    size_t count = len > 0 ? bytes[0] : 0, used = 0;

    if (len == 0 || len > sizeof words)
        return 0;
    memcpy(words, bytes + 1, len - 1);
    if (!control_words(span_of(words, len - 1), count, argv))
        return 0;
    BUG_ON(argv[count] != NULL);
    for (size_t i = 0; i < count; i++) {
        BUG_ON(argv[i] != words + used);
        used += strlen(argv[i]) + 1;
    }
    BUG_ON(used != len - 1);
    (void)control_find((int)count, argv);
    return 0;
}
