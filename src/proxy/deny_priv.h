/* SPDX-License-Identifier: Apache-2.0 */
/* DENY: the gate's own answers.
 *
 * Threads: its pair's worker.
 * Owns: nothing.
 * Lifetime: none of its own.
 * Errors: enum code where the answer goes into a buffer; other verbs that may fail end the pair or answer the agent by
 *   themselves, with a reason. */
#ifndef PROXY_DENY_PRIV_H
#define PROXY_DENY_PRIV_H

#include "mcp/denial.h"
#include "proxy/pair_priv.h"

bool deny__step(struct pair *pair);
int deny__status(struct pair *pair, enum reason reason);
enum code deny__write(struct pair *pair, enum reason reason, struct buf *out, enum mcp_form *form) MUST_USE; /* one call's */
void deny__answer(struct pair *pair, enum reason reason); /* writes our answer and enters DENY */
void deny__preflight(struct pair *pair);
enum code deny__common_headers(const struct pair *pair, struct buf *out);

#endif
