/* SPDX-License-Identifier: Apache-2.0 */
#include "app/text_detectors.h"

#include "base/bug.h"

/* The file as it is shipped, so that there is one. */
__asm__(".pushsection .rodata\n"
        "text_detectors_begin: .incbin \"policies/detectors/text.yaml\"\n"
        "text_detectors_end: .byte 0\n"
        ".popsection\n");
extern const char text_detectors_begin[], text_detectors_end[];

enum code text_detectors_open(struct text_detectors *detectors)
{
    const struct policy_file file = {
        SPAN_LIT("text.yaml"), span_of(text_detectors_begin, (size_t)(text_detectors_end - text_detectors_begin))};
    const struct detector **list; /* the set's */
    struct faults faults;
    enum code code;

    *detectors = (struct text_detectors){.policy = NULL};
    arena_init(&detectors->arena, (size_t)16 << 20);
    faults_init(&faults);
    code = policy_compile(&file, 1, 0, &detectors->policy, &faults, NULL);
    if (code != CODE_OK)
        return code;
    list = arena_alloc(&detectors->arena, 2 * sizeof *list);
    if (list == NULL)
        return CODE_NOMEM;
    list[0] = policy_detector(detectors->policy, SPAN_LIT("hidden_text"));
    list[1] = policy_detector(detectors->policy, SPAN_LIT("instruction_like"));
    BUG_ON(list[0] == NULL || list[1] == NULL);
    return detector_set_make(list, 2, &detectors->arena, &detectors->set);
}

void text_detectors_close(struct text_detectors *detectors)
{
    policy_unref(&detectors->policy);
    arena_fini(&detectors->arena);
}
