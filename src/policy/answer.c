/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/answer.h"

#include "json/json.h"

const char *answer_effect_text(enum answer_effect effect)
{
    static const char *const words[ANSWER_EFFECTS] = {"none", "flag", "redact", "withhold"};

    return words[effect];
}

bool policy_has_answer_rules_for(const struct policy *policy, const struct question *question,
                                 const struct policy_answer *answer, struct policy_scratch *scratch)
{
    (void)policy;
    (void)question;
    (void)answer;
    (void)scratch;
    return false;
}

void policy_judge_answer(const struct policy *policy, const struct question *question, const struct policy_answer *answer,
                         bool timed, struct policy_scratch *scratch, struct answer_verdict *verdict)
{
    (void)question;
    (void)answer;
    (void)timed;
    (void)scratch;
    *verdict = (struct answer_verdict){.effect = policy == NULL ? ANSWER_WITHHOLD : ANSWER_NONE};
}

enum code policy_answer_write(const struct answer_verdict *verdict, struct span document, struct buf *out)
{
    const char *at = document.at, *end = at + document.len;

    for (uint32_t i = 0; i < verdict->edit_count; i++) {
        const struct answer_edit *edit = &verdict->edits[i];

        buf_add(out, at, (size_t)(edit->node->raw.at - at));
        json_write_string(out, edit->text);
        at = edit->node->raw.at + edit->node->raw.len;
    }
    return buf_add(out, at, (size_t)(end - at));
}
