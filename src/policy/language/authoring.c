/* SPDX-License-Identifier: Apache-2.0 */
/* The compiler as people who write policies have it. No program that enforces is linked with it. */
#include "language/compile_priv.h"
#include "forms/form_near.h"
#include "words/foreign.h"

const struct authoring policy_authoring = {
    .foreign = &foreign_words, .test = compile__case, .check_tests = compile__check_cases, .warn_file = compile__warn_file,
    .warn_rule = compile__warn_rule, .warn_name = compile__warn_name, .warn_leaf = compile__warn_leaf,
    .warn_text = compile__warn_text, .warn_form = form_warn, .forms = &form_guide,
};

enum code policy_compile(const struct policy_file *files, size_t count, uint64_t version, struct policy **policy,
                         struct faults *faults, struct faults *warnings)
{
    return policy_compile_for(&policy_authoring, files, count, version, policy, faults, warnings);
}
