/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the audit as other programs' formats: OCSF and CEF. What goes where is told in schema/export.md.
 *
 * Threads: any.
 * Owns: nothing.
 * Lifetime: one row.
 * Errors: enum code of the buffer. */
#ifndef QUERY_AUDIT_FORM_H
#define QUERY_AUDIT_FORM_H

#include "base/buf.h"
#include "query/entries.h"

/* One JSON object of OCSF 1.8.0. A decision, or an outcome with its decision (ENTRIES_WHOLE): API Activity (class 6003) with
 * the profile `security_control`. An event: Application Lifecycle (6002) or Entity Management (3004). */
enum code audit_form_ocsf(struct buf *out, enum entry_kind kind, const struct query_row *row);

/* "CEF:0|Callgate|Callgate|..." without a syslog head. */
enum code audit_form_cef(struct buf *out, enum entry_kind kind, const struct query_row *row);

#endif
