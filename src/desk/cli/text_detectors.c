/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/text_detectors.h"

#include "base/bug.h"
#include "base/take_in.h"
#include "language/language.h"
#include "policy/snapshot.h"

extern const char app__text_detectors[];

TAKE_IN(app__text_detectors, "policies/detectors/text.yaml");

enum code text_detectors_open(struct text_detectors *detectors)
{
    const struct policy_file file = {SPAN_LIT("text.yaml"), span_text(app__text_detectors)};
    const struct detector **list; /* the set's */
    uint32_t count = 0;
    struct faults faults;
    enum code code;

    *detectors = (struct text_detectors){.policy = NULL};
    arena_init(&detectors->arena, (size_t)16 << 20);
    faults_init(&faults);
    code = policy_compile(&file, 1, 0, &detectors->policy, &faults, NULL);
    if (code != CODE_OK)
        return code;
    list = arena_alloc(&detectors->arena, DETECTORS_MAX * sizeof *list);
    if (list == NULL)
        return CODE_NOMEM;
    for (const struct known_detector *one = detectors->policy->detectors; one != NULL; one = one->next) {
        BUG_ON(count == DETECTORS_MAX);
        list[count++] = &one->detector;
    }
    return detector_set_make(list, count, &detectors->arena, &detectors->set);
}

void text_detectors_close(struct text_detectors *detectors)
{
    policy_unref(&detectors->policy);
    arena_fini(&detectors->arena);
}
