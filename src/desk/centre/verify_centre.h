/* SPDX-License-Identifier: Apache-2.0 */
/* Verifies a node's trail at the centre of its fleet, by nothing but what stands there: the verifier takes it file by file, in
 * pieces (pieces.h). Besides it looks whether rows lie in their days, what other nodes have cosigned, and, where it is asked,
 * whether the node's own files say the same.
 *
 * Threads: the connection's.
 * Owns: nothing; the conf is the caller's.
 * Lifetime: one call. The caller has begun a transaction in which all questions see the same.
 * Errors: enum code with a sentence; faults go into reports. */
#ifndef CENTRE_VERIFY_CENTRE_H
#define CENTRE_VERIFY_CENTRE_H

#include "centre/centre_words.h"

/* Of the node $1; NULL: there is none. */
#define CENTRE_LAST_ROW "greatest(" \
    "(SELECT max(seq) FROM callgate.decision WHERE node = $1), (SELECT max(seq) FROM callgate.outcome WHERE node = $1), " \
    "(SELECT max(seq) FROM callgate.event WHERE node = $1), (SELECT max(seq) FROM callgate.day_link WHERE node = $1))"

enum code verify_centre(struct pg *pg, const struct verify_centre_conf *conf, struct verify_centre_report *report,
                        struct why *why) MUST_USE;

#endif
