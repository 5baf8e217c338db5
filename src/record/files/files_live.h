/* SPDX-License-Identifier: Apache-2.0 */
/* Which of its files an audit goes on in, at a start.
 *
 * Threads: main.
 * Owns: nothing.
 * Lifetime: none.
 * Errors: enum code with a sentence. */
#ifndef FILES_FILES_LIVE_H
#define FILES_FILES_LIVE_H

#include "files/files.h"

/* Before the audit is opened: sets the link anew where it is missing, and removes what was left of a rotation that did not end.
 * live: the file to go on in; empty: there is none yet. */
enum code files_begin_live(const char *audit, char live[FILES_PATH_BYTES], struct why *why) MUST_USE;

#endif
