/* SPDX-License-Identifier: Apache-2.0 */
/* JSON Schema -> conditions: what a tool's accepted definition says of its arguments, so that a permit may ask for it with
 * `arguments: by_schema`. It takes the keywords that policies/LANGUAGE.md lists, in the spelling of 2020-12 or of an older
 * draft; any other is an error, since a keyword left out would open what the schema closes.
 *
 * Threads: a compiled schema is immutable and shared.
 * Owns: everything that it was compiled from, a copy of the text included.
 * Lifetime: policy_schema_ref / policy_schema_unref; atomic, from any thread.
 * Errors: CODE_INVALID with the keyword, its JSON pointer and what to do; CODE_LIMIT: too large; CODE_NOMEM. */
#ifndef SCHEMA_SCHEMA_COMPILE_H
#define SCHEMA_SCHEMA_COMPILE_H

#include "base/why.h"
#include "policy/schema.h"

#define POLICY_SCHEMA_MAX_BYTES ((size_t)256 << 10)

/* Takes: json: the schema's text, an `inputSchema`. Returns: CODE_OK with *schema holding one reference. */
enum code policy_schema_compile(struct span json, struct policy_schema **schema, struct why *why) MUST_USE;

#endif
