/* SPDX-License-Identifier: Apache-2.0 */
/* A token that is shown: looked up where it is known, else read by its provider's keys, or by what its provider says of it.
 *
 * Threads: workers.
 * Owns: nothing.
 * Lifetime: identity->token is a reference of the caller's.
 * Errors: enum reason; where identity->ticket is set it is not known yet. */
#ifndef IDENTITY_SHOWN_PRIV_H
#define IDENTITY_SHOWN_PRIV_H

#include "identity/identity.h"

bool identity__credential(struct span value, struct span scheme, struct span *token); /* `Scheme token` of Authorization */

/* Takes: value: of Authorization. Returns: PERMITTED with identity->token, and *by: the source that read it; else why not, or
 * identity->ticket. */
enum reason identity__token(struct span value, const struct identity_source *sources, size_t count,
                            const struct identity_request *request, struct identity *identity,
                            const struct identity_source **by);

#endif
