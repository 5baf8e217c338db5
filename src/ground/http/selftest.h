/* SPDX-License-Identifier: Apache-2.0 */
/* The start-up self-test: llhttp must refuse what a loose build of it accepts.
 *
 * Threads: any; meant for the start, before anything listens.
 * Owns: nothing.
 * Lifetime: none.
 * Errors: CODE_DENIED with a sentence: the program must not run; CODE_NOMEM. */
#ifndef HTTP_SELFTEST_H
#define HTTP_SELFTEST_H

#include "base/why.h"

/* Feeds llhttp the payload of CVE-2023-30589 and its relatives, and the gate's reader also those that even strict
 * llhttp takes. */
enum code http_selftest(struct why *why) MUST_USE;

/* The library behind this room and its version, for people. Threads: main. */
const char *http_library(void);

#endif
