/* SPDX-License-Identifier: Apache-2.0 */
/* The words of a person's command, as the process beside the gate reads them: exactly so many, each within what came. 7.9, 8.8 */
#include "people/control.h"
#include "base/bug.h"
#include "identity/token.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    static char words[4096], *argv[sizeof words + 1];
    size_t count = len > 0 ? bytes[0] : 0, used = 0;
    int found;

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
    if (count > 0 && strncmp(argv[0], CONTROL_LOGIN, strlen(CONTROL_LOGIN)) == 0) { /* as who gives it shows himself */
        struct span login = span_text(argv[0] + strlen(CONTROL_LOGIN));
        struct identity_token_hint hint;

        BUG_ON(identity_token_looks(login, &hint) && memchr(hint.issuer, '\0', sizeof hint.issuer) == NULL);
    }
    (void)command_find((int)count, argv, &found);
    return 0;
}
