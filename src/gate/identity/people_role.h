/* SPDX-License-Identifier: Apache-2.0 */
/* What people may do at a gate, as one role a word.
 *
 * Threads: any; nothing here has state.
 * Owns: nothing.
 * Lifetime: none.
 * Errors: what is no role is none. */
#ifndef IDENTITY_PEOPLE_ROLE_H
#define IDENTITY_PEOPLE_ROLE_H

#include "base/span.h"

/* What a person may do over the gate's control socket: by the groups of the machine that he is in, or by who he is. */
enum people_role { PEOPLE_APPROVERS = 0, PEOPLE_AUTHORS, PEOPLE_AUDITORS, PEOPLE_ADMINS, PEOPLE_VIEWERS, PEOPLE_RESPONDERS,
                   PEOPLE_ROLES };
#define PEOPLE_BIT(role) (1u << (role))
#define PEOPLE_AUDITS_TENANTS PEOPLE_BIT(PEOPLE_ROLES) /* `auditor:TENANT`, and no other's rows */
#define PEOPLE_DECIDES_TENANTS PEOPLE_BIT(PEOPLE_ROLES + 1) /* `approver:TENANT`, and no other's held calls */
#define PEOPLE_DECIDES_OWN PEOPLE_BIT(PEOPLE_ROLES + 2) /* no role: a login says which principal of which tenant this is */

#define PEOPLE_ROLES_TEXT "viewer, approver, 'approver:TENANT', author, auditor, 'auditor:TENANT', responder or admin"
extern const struct span people_role_names[PEOPLE_ROLES];
/* One role as it is written: "approver", "auditor:acme". Takes: tenant: set to what stands behind the colon, or to nothing.
 * Returns: its bit; 0: it is none. */
unsigned people_role_read(struct span text, struct span *tenant);

#endif
