/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of `callgate serve` call of each other.
 *
 * Threads: main.
 * Owns: nothing.
 * Lifetime: struct serve's.
 * Errors: logged; the old goes on. */
#ifndef APP_SERVE_PRIV_H
#define APP_SERVE_PRIV_H

#include "app/serve.h"

#define POLL_US 250000 /* so that a new version or a revoked key counts within a second */
#define NAMES_WAIT_MS 2000

/* The key of redactions: read from its file, which is made where may_make says so. */
enum code serve__redact_key(const char *path, bool may_make, unsigned char key[DIGEST_BYTES], struct why *why) MUST_USE;

/* Takes the active policy and the valid keys out of the store, if the store has changed. */
void serve__follow_store(struct serve *serve);

/* Puts what the store knows and the audit does not yet into the audit. */
void serve__tell_audit(struct serve *serve);

/* What was put is durable: the store remembers that. */
void serve__mark_told(struct serve *serve);

/* One event of the gate's own; detail is canonical JSON. */
void serve__event(struct serve *serve, const char *kind, const char *actor, struct span detail);

/* The admin port, where one is configured, and the counting of calls for it. After proxy_open, before proxy_run. */
enum code serve__open_admin(struct serve *serve, struct why *why) MUST_USE;

/* SIGHUP: configuration, certificates, credentials, policy, keys. */
void serve__reload(struct serve *serve);

#endif
