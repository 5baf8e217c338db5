/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/question.h"

#include "json/json.h"

bool question_is_hidden(const struct question_hidden *hidden, const struct json_node *value)
{
    for (uint32_t i = 0; i < hidden->count; i++)
        if (hidden->nodes[i] == value)
            return true;
    return false;
}

bool question_hides(const struct question_hidden *hidden, const struct json_node *value)
{
    const struct span *own = &value->raw; /* none where it was made and not read */

    for (uint32_t i = 0; i < hidden->count; i++) {
        const struct span *raw = &hidden->nodes[i]->raw;

        if (hidden->nodes[i] == value ||
            (raw->len > 0 && own->len > 0 && raw->at < own->at + own->len && own->at < raw->at + raw->len))
            return true;
    }
    return false;
}

const struct json_node *question_recorded_sum(const struct json_node *rules, struct span path)
{
    const struct json_node *sum = NULL;

    for (const struct json_node *rule = rules != NULL ? rules->child : NULL; rule != NULL && sum == NULL; rule = rule->next)
        sum = json_member(json_member(rule, SPAN_LIT("spent")), path);
    return sum;
}

bool question_is_of_skill(struct span method, struct span resource)
{
    const struct span scheme = SPAN_LIT("skill:"), file = SPAN_LIT("/SKILL.md");

    return span_starts_with(method, SPAN_LIT("skills/")) ||
           (question_has_uri(method) && (span_equals_nocase(span_part(resource, 0, scheme.len), scheme) ||
                                         span_ends_with(resource, file)));
}

struct span question_value(const struct question *question, enum policy_by by)
{
    static const size_t places[POLICY_BY_COUNT] = {
        [POLICY_BY_TENANT] = offsetof(struct question, tenant), [POLICY_BY_PRINCIPAL] = offsetof(struct question, principal),
        [POLICY_BY_UPSTREAM] = offsetof(struct question, upstream), [POLICY_BY_TOOL] = offsetof(struct question, tool),
        [POLICY_BY_SESSION] = offsetof(struct question, session), [POLICY_BY_CLIENT] = offsetof(struct question, client),
        [POLICY_BY_CORRELATION] = offsetof(struct question, correlation), [POLICY_BY_AGENT] = offsetof(struct question, agent),
    };

    return *(const struct span *)(const void *)((const char *)question + places[by]);
}
