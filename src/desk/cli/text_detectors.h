/* SPDX-License-Identifier: Apache-2.0 */
/* The shipped detectors of texts that work on their reader (policies/detectors/text.yaml), for commands, whatever policy is
 * active.
 *
 * Threads: main.
 * Owns: the compiled policy and the set's arena.
 * Lifetime: text_detectors_open to text_detectors_close.
 * Errors: CODE_NOMEM. */
#ifndef CLI_TEXT_DETECTORS_H
#define CLI_TEXT_DETECTORS_H

#include "base/mem.h"
#include "texts/detector.h"
#include "policy/policy.h"

struct text_detectors {
    struct policy *policy;
    struct arena arena;
    const struct detector_set *set; /* all of policies/detectors/text.yaml */
};

enum code text_detectors_open(struct text_detectors *detectors) MUST_USE;
void text_detectors_close(struct text_detectors *detectors);

#endif
