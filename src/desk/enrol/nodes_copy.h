/* SPDX-License-Identifier: Apache-2.0 */
/* `fleet status` of who may not connect to the centre: asks the courier by a mark beside the store, and reads its copy.
 *
 * Threads: main.
 * Owns: the document is the caller's.
 * Lifetime: none.
 * Errors: enum code with a sentence. */
#ifndef ENROL_NODES_COPY_H
#define ENROL_NODES_COPY_H

#include "base/why.h"
#include "json/doc.h"

/* Waits two seconds at most. A copy that nobody made anew says so, as its `problem`. Takes: store: its path. CODE_NOT_FOUND:
 * there is none. */
enum code nodes_copy_ask(const char *store, struct doc **out, struct why *why) MUST_USE;

#endif
