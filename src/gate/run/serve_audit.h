/* SPDX-License-Identifier: Apache-2.0 */
/* The audit as a configuration has it, opened for a gate, and for commands that write it while no gate runs.
 *
 * Threads: main.
 * Owns: nothing; the audit is the serve's.
 * Lifetime: struct serve's.
 * Errors: a sentence. CODE_BUSY: a gate runs, and has the audit's lock. */
#ifndef RUN_SERVE_AUDIT_H
#define RUN_SERVE_AUDIT_H

#include "base/why.h"
#include "crypto/digest.h"
#include "crypto/sign.h"

#include <stdbool.h>
#include <stdint.h>

struct serve;

/* Takes: serve: with a configuration, and with what `audit_conf` has from people (key_change, continue_actor). */
enum code serve_open_audit(struct serve *serve, struct why *why) MUST_USE;
void serve_close_audit(struct serve *serve);

/* The key of redactions: read from its file, which is made where may_make says so. */
enum code serve_redact_key(const char *path, bool may_make, unsigned char key[DIGEST_BYTES], struct why *why) MUST_USE;
/* Likewise the key that signs checkpoints, a PEM file. Takes: key: the caller's afterwards. */
enum code serve_checkpoint_key(const char *path, bool may_make, struct sign_key **key, struct why *why) MUST_USE;
/* Where its public half stands: audit-key.pem -> audit-key.pub. Returns: the caller's, or NULL without memory. */
char *serve_public_key_path(const char *path) MUST_USE;

#endif
