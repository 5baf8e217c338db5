/* SPDX-License-Identifier: Apache-2.0 */
/* Dates and times as RFC 3339 writes them.
 *
 * Threads: any.
 * Owns: nothing.
 * Lifetime: none.
 * Errors: none. */
#ifndef TEXTS_DATE_H
#define TEXTS_DATE_H

#include "base/span.h"

#include <stdbool.h>
#include <stdint.h>

/* full-date, on days that exist; date-time, with a leap second only at the end of a day of UTC. */
bool date_is(struct span text);
bool date_time_is(struct span text);

/* Returns: false for anything else. */
bool date_read(struct span text, int64_t *days); /* since 1970-01-01 */
bool date_time_read(struct span text, int64_t *time_us);

#endif
