/* SPDX-License-Identifier: Apache-2.0 */
#include "words/operators.h"

#include "words/operator_priv.h"

static const struct operator *const operators[] = {
#define X(word) &operator__##word,
    OPERATOR_TABLE(X)
#undef X
};

const struct operator *policy_operator(struct span word)
{
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
        if (span_is(word, operators[i]->word))
            return operators[i];
    return NULL;
}
