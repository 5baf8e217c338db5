/* SPDX-License-Identifier: Apache-2.0 */
/* The first line is a pattern, the rest its subject: whatever they are, work stays inside the budget, and the code for ASCII
 * says what that for UTF-8 says. */
#include "base/bug.h"
#include "regex/regex_priv.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

#define WORK 300000u

static enum regex_result ask(const struct regex *regex, struct span subject, bool whole)
{
    struct regex_budget budget;
    enum regex_result result;

    regex_budget_init(&budget);
    budget.max_work = WORK;
    result = regex_match(regex, subject, whole, &budget);
    BUG_ON(budget.spent && result != REGEX_UNDECIDED);
    BUG_ON(budget.work > WORK + 16 + 4 * (regex->pattern.len + 1 + subject.len)); /* the last item may have looked at the subject */
    return result;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct span subject, pattern = span_cut(span_of(bytes, len), '\n', &subject);
    struct regex *regex;
    struct why why = {""};
    size_t offset;
    enum code code = regex_compile(pattern, &regex, &offset, &why);

    BUG_ON((code == CODE_OK) != (regex != NULL) || (code != CODE_OK && why.text[0] == '\0') || offset > pattern.len);
    if (regex == NULL)
        return 0;
    for (int whole = 0; whole < 2; whole++) {
        struct regex utf = *regex;
        enum regex_result result = ask(regex, subject, whole), other;

        utf.ascii_code = NULL;
        other = ask(&utf, subject, whole);
        BUG_ON(result != other && result != REGEX_UNDECIDED && other != REGEX_UNDECIDED);
    }
    regex_free(&regex);
    return 0;
}
