/* SPDX-License-Identifier: Apache-2.0 */
/* The columns of `event`, as decision_tbl.h has those of a decision; the members are those of struct audit_event. */
#ifndef ROWS_EVENT_TBL_H
#define ROWS_EVENT_TBL_H

#define EVENT_TABLE(OWN, NUMBER, TEXT, JSON) \
    OWN(SEQ, seq) \
    NUMBER(TIME, time_us) \
    OWN(TENANT_PREVIOUS, tenant_previous) \
    TEXT(TENANT, tenant) \
    TEXT(KIND, kind) \
    TEXT(ACTOR, actor) \
    JSON(DETAIL, detail)

#endif
