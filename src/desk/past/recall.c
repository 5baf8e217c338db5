/* SPDX-License-Identifier: Apache-2.0 */
#include "past/recall.h"

enum code recall_make(struct recall *recall, const struct policy *policy, const struct definition_set *definitions,
                      const char *trail, const struct recorded *recorded, struct question *question, struct why *why)
{
    struct remembered remembered;
    enum code code = gate_state_new(GATE_STATE_BYTES, NULL, &recall->state);

    if (code != CODE_OK)
        return code;
    recall->moment = (struct gate_moment){
        .state = recall->state, .now_us = recorded->question.time_us, .is_recorded = true, .recorded = recorded,
        .definition = recorded_definition(recorded, definitions),
        .granted = recorded_granted};
    if (policy_memory_us(policy) > 0)
        code = gate_state_remember(recall->state, policy, trail, recall->moment.now_us, (int64_t)recorded->seq,
                                   &remembered, why);
    if (code == CODE_OK)
        question->state = gate_moment_view(&recall->moment);
    return code;
}

void recall_fini(struct recall *recall)
{
    gate_state_free(&recall->state);
}
