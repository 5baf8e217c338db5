/* SPDX-License-Identifier: Apache-2.0 */
/* The libraries that are linked, and whether this callgate was tried with their versions.
 *
 * Threads: main.
 * Owns: nothing.
 * Lifetime: static.
 * Errors: none. */
#ifndef LIBRARIES_LIBRARIES_H
#define LIBRARIES_LIBRARIES_H

#include <stdbool.h>
#include <stddef.h>

#define LIBRARIES 10

/* Each library and the version that is running, as it says itself; `with_web` loads that for requests of our own, too.
 * Returns: how many. */
size_t libraries_say(bool with_web, const char *texts[LIBRARIES]);

/* Whether a build with that version (its last part aside) reads tests/proven as it should and passes the tests of its room. */
bool library_is_tried(const char *text);

/* A line of the log for each that nobody tried: at best it reads tests/proven as the others do, and no more is known. */
void libraries_warn(bool with_web);

#endif
