/* SPDX-License-Identifier: Apache-2.0 */
#include "identity/people_role.h"

#include "identity/token.h"

const struct span people_role_names[PEOPLE_ROLES] = {
    [PEOPLE_APPROVERS] = {"approver", 8}, [PEOPLE_AUTHORS] = {"author", 6}, [PEOPLE_AUDITORS] = {"auditor", 7},
    [PEOPLE_ADMINS] = {"admin", 5}, [PEOPLE_VIEWERS] = {"viewer", 6},
    [PEOPLE_RESPONDERS] = {"responder", 9},
};

unsigned people_role_read(struct span text, struct span *tenant)
{
    struct span role = span_cut(text, ':', tenant);
    bool is_of_tenant = role.len < text.len;

    for (unsigned i = 0; i < PEOPLE_ROLES && !is_of_tenant; i++)
        if (span_equals(text, people_role_names[i]))
            return PEOPLE_BIT(i);
    if (!is_of_tenant || !identity_name_is_good(*tenant, 128))
        return 0;
    return span_equals(role, people_role_names[PEOPLE_AUDITORS])    ? PEOPLE_AUDITS_TENANTS
           : span_equals(role, people_role_names[PEOPLE_APPROVERS]) ? PEOPLE_DECIDES_TENANTS
                                                                    : 0;
}
