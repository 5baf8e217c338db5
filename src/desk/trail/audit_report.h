/* SPDX-License-Identifier: Apache-2.0 */
/* What `audit verify` says of a file of the trail.
 *
 * Threads: main.
 * Owns: nothing.
 * Lifetime: none.
 * Errors: exit statuses. */
#ifndef TRAIL_AUDIT_REPORT_H
#define TRAIL_AUDIT_REPORT_H

#include "evidence/verify.h"

/* Takes: heads_path: where conf->heads are from. Returns: the exit status that the report means. */
int audit_report_tell(const struct verify_conf *conf, const char *heads_path, const struct verify_report *report, bool as_json);

#endif
