/* SPDX-License-Identifier: Apache-2.0 */
/* Points of time as people write them on a command line: how long ago, or a date of the calendar.
 *
 * Threads: any.
 * Owns: nothing.
 * Lifetime: none.
 * Errors: CODE_INVALID with a sentence that shows the forms. */
#ifndef CLI_WHEN_H
#define CLI_WHEN_H

#include "base/span.h"
#include "base/why.h"

#include <stdint.h>

#define WHEN_FORMS "2h, 7d, yesterday, 2026-11-20, 2026-11-20T15:04:05Z or seconds since 1970" /* for --help */

/* "30min", "2h", "7d": so long before now_us. "now". "2026-11-20": the first moment of that day.
 * "2026-11-20T15:04", with seconds, with up to six digits of them after a point, with Z or +02:00; UTC where none is given;
 * a blank may stand for the T.
 * Takes: now_us and *time_us: UTC microseconds since 1970. */
enum code when_parse(struct span text, int64_t now_us, int64_t *time_us, struct why *why) MUST_USE;

/* How long ago it was: "40 s", "5 min", "3 h", "2 d". */
#define WHEN_AGE_BYTES 32
const char *when_age(int64_t since_us, int64_t now_us, char text[WHEN_AGE_BYTES]);

/* What --since and its like say; NULL leaves *time_us alone. Returns: OPTIONS_GO, or the exit status after a sentence. */
int when_option(const char *option, const char *text, int64_t *time_us);

#endif
