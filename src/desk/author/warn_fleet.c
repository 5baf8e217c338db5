/* SPDX-License-Identifier: Apache-2.0 */
/* What a policy means where many gates have it: each call under a limit over the fleet waits for the centre's word, and what
 * `session` asks is known at the node alone to which the calls came. */
#include "author/warn_priv.h"
#include "policy/fact.h"

#define ASKED_A_SECOND 10 /* the centre answers hundreds of transactions a second, of all nodes and limits together */

static void warn_limits(const struct rule *rule, struct faults *warnings)
{
    for (const struct policy_limit *limit = rule->limit; limit != NULL; limit = limit->next) {
        uint64_t seconds = (uint64_t)limit->per_us / 1000000;

        if (limit->is_node || limit->kind != LIMIT_CALLS || limit->most <= ASKED_A_SECOND * (seconds > 0 ? seconds : 1))
            continue;
        faults_add(warnings, rule->source->path_text, rule->line, rule->column,
                   "`%.*s` permits more than %d calls a second, and each is asked at the fleet's centre; "
                   "write scope: node into a limit that protects one machine",
                   SPAN_ARG(rule->id), ASKED_A_SECOND);
    }
}

static bool asks_over_nodes(const struct policy *policy)
{
    const uint32_t of_session = UINT32_C(1) << POLICY_BY_SESSION;

    for (const struct watch *watch = policy->watches; watch != NULL; watch = watch->next)
        if ((watch->view.by & ~of_session) != 0)
            return true;
    return false;
}

void warn_fleet(const struct policy *policy, struct faults *warnings)
{
    for (uint32_t i = 0; i < policy->rule_count; i++)
        warn_limits(&policy->rules[i], warnings);
    if (policy->rule_count > 0 && asks_over_nodes(policy))
        faults_add(warnings, policy->rules[0].source->path_text, 1, 1,
                   "`session` by principal, tenant or correlation is asked of each gate's own calls: what was called at "
                   "another gate of the fleet it does not know; ask by: [session], and send a session's calls to one gate");
}
