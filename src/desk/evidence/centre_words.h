/* SPDX-License-Identifier: Apache-2.0 */
/* What else the centre says of a node's trail than its rows: where it ends, that it forked, who cosigned it, and what the node's own
 * files say.
 *
 * Threads: the connection's.
 * Owns: nothing.
 * Lifetime: one call.
 * Errors: enum code with a sentence; faults go into the report of the trail's last file. */
#ifndef EVIDENCE_CENTRE_WORDS_H
#define EVIDENCE_CENTRE_WORDS_H

#include "evidence/verify_centre.h"

enum code centre_words(struct pg *pg, const struct verify_centre_conf *conf, struct verify_centre_report *said,
                       struct verify_report *report, struct why *why) MUST_USE;

void centre_fault(struct verify_report *report, int64_t seq, const char *table, const char *field, const char *format, ...)
    PRINTF_LIKE(5, 6);

#endif
