/* SPDX-License-Identifier: Apache-2.0 */
/* Notes permitted calls for later conditions that ask what was before, for every version of the policy that may ask. */
#include "enforce/gate_priv.h"

#include "base/lock.h"
#include "os/clock.h"

void gate_announce_policy(struct gate_shared *shared, struct policy *coming)
{
    struct policy *old;

    lock_take(&shared->lock);
    old = shared->coming;
    shared->coming = coming != NULL ? policy_ref(coming) : NULL;
    atomic_store(&shared->has_coming, coming != NULL);
    lock_give(&shared->lock);
    policy_unref(&old);
}

static struct policy *coming_policy(struct gate_shared *shared)
{
    struct policy *coming = NULL;

    if (!atomic_load(&shared->has_coming))
        return NULL;
    lock_take(&shared->lock);
    if (shared->coming != NULL)
        coming = policy_ref(shared->coming);
    lock_give(&shared->lock);
    return coming;
}

/* Takes: is_answer: the call itself was noted when it went up. */
static void note(const struct gate *gate, const struct call *call, const struct policy *policy, const struct policy_met *met,
                 bool is_answer)
{
    struct question question = call->asked;
    struct gate_moment moment = gate__moment_of(gate, call);

    if (is_answer) {
        question.tool = question.resource = question.prompt = SPAN_NONE;
        moment.now_us = clock_monotonic_us() + gate->shared->clock_us;
    }
    gate_state_note(&moment, policy, &question, met);
}

/* A newer version, published or about to be, may watch other tools than the one that judged. The coming version is read
 * before the published one: where it is gone by then, it has been published. */
void gate__note(struct gate *gate, const struct call *call, const struct policy *judged, const struct policy_met *met,
                bool is_answer)
{
    struct policy *coming = coming_policy(gate->shared);
    bool is_behind = !gate__is_current(gate);
    /* The gate does not follow here, since that takes memory and may fail. */
    struct policy *latest = is_behind ? gate_policy(gate->shared) : gate->policy;
    const struct policy *versions[] = {judged, latest != judged ? latest : NULL, coming};

    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++)
        if (versions[i] != NULL && policy_watches(versions[i]))
            note(gate, call, versions[i], met, is_answer);
    if (is_behind)
        policy_unref(&latest);
    policy_unref(&coming);
}
