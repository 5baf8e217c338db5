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

/* Called before the audit is opened. Makes the link where it is missing, and removes what a rotation left that did not end.
 * Sets live: the file to go on in; empty: there is none yet. */
enum code files_begin_live(const char *audit, char live[FILES_PATH_BYTES], struct why *why) MUST_USE;

#endif
