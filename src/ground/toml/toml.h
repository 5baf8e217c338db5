/* SPDX-License-Identifier: Apache-2.0 */
/* TOML as JSON text, of the part of TOML 1.0 that configurations use: tables and arrays of them, dotted keys, inline tables,
 * arrays, texts of one line and of several. Numbers and times become texts.
 *
 * Threads: any.
 * Owns: nothing.
 * Lifetime: none of its own.
 * Errors: CODE_INVALID with a fault for what else there is, and for a key that stands twice in one table. */
#ifndef TOML_TOML_H
#define TOML_TOML_H

#include "base/buf.h"
#include "base/why.h"

enum code toml_to_json(struct span text, const char *file, struct buf *json, struct faults *faults) MUST_USE;

#endif
