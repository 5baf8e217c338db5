/* SPDX-License-Identifier: Apache-2.0 */
#include "app/store.h"

#include "policy/store.h"

enum code store_active_policy(struct db *db, uint64_t *version, struct why *why)
{
    return policy_store_active(db, version, why);
}

enum code store_compile_policy(struct db *db, uint64_t version, struct policy **policy, struct why *why)
{
    struct faults faults;

    faults_init(&faults);
    return policy_store_compile(db, version, policy, &faults, why);
}
