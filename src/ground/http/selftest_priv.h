/* SPDX-License-Identifier: Apache-2.0 */
/* The self-test with the parser handed in, so that tests can show that it fails with a loose one.
 *
 * Threads: any.
 * Owns: nothing.
 * Lifetime: none.
 * Errors: as http_selftest. */
#ifndef HTTP_SELFTEST_PRIV_H
#define HTTP_SELFTEST_PRIV_H

#include "base/span.h"
#include "base/why.h"

#include <stdbool.h>

typedef bool (*http__accepts_fn)(struct span message);

/* Takes: parser: its name for the sentence; subtle: whether it must refuse also what strict llhttp takes. */
enum code http__selftest_of(http__accepts_fn accepts, const char *parser, bool subtle, struct why *why) MUST_USE;

#endif
