/* SPDX-License-Identifier: Apache-2.0 */
/* Names and texts out of claims.
 *
 * Threads: any.
 * Owns: nothing.
 * Lifetime: names point into the claims or the rules.
 * Errors: enum identity_fault. */
#ifndef IDENTITY_CLAIM_PRIV_H
#define IDENTITY_CLAIM_PRIV_H

#include "identity/token.h"

/* Whether a person who reads the text sees all that is in it. */
bool identity__is_readable(struct span text, size_t max);

/* Takes: fault: what to return where the claim is not exactly one good name of at most `max` bytes. */
enum identity_fault identity__name(const struct identity_naming *naming, const struct json_node *claims, size_t max,
                                   enum identity_fault fault, struct span *name) MUST_USE;

#endif
