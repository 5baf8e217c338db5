/* SPDX-License-Identifier: Apache-2.0 */
/* The auditor's schema/audit.sql is the one that the gate runs: taken in as it is, so that no second copy can differ. Those of
 * earlier versions are kept, since a sealed file stays as it was made. */
#include "audit/schema.h"

#include "audit/indices.h"
#include "base/take_in.h"

extern const char audit__schema_1[], audit__schema_2[], audit__schema_3[], audit__schema_4[], audit__schema_5[];

TAKE_IN(audit__schema, "schema/audit.sql");
TAKE_IN(audit__indices, "schema/indices.sql");
TAKE_IN(audit__schema_1, "schema/history/audit-1.sql");
TAKE_IN(audit__schema_2, "schema/history/audit-2.sql");
TAKE_IN(audit__schema_3, "schema/history/audit-3.sql");
TAKE_IN(audit__schema_4, "schema/history/audit-4.sql");
TAKE_IN(audit__schema_5, "schema/history/audit-5.sql");

const char *audit__schema_of(int64_t version)
{
    static const char *const texts[] = {audit__schema_1, audit__schema_2, audit__schema_3, audit__schema_4,
                                        audit__schema_5, audit__schema};

    _Static_assert(sizeof texts / sizeof texts[0] == AUDIT_SCHEMA_VERSION, "a text a version");
    return version >= 1 && version <= AUDIT_SCHEMA_VERSION ? texts[version - 1] : NULL;
}
