/* SPDX-License-Identifier: Apache-2.0 */
/* Named time zones, read once from the system's time zone files (TZif, RFC 9636) and from then on a matter of arithmetic:
 * neither the machine's own zone nor a later change of the files is seen.
 *
 * Threads: a zone is immutable.
 * Owns: nothing; it lives in the arena that was handed in.
 * Lifetime: the arena's.
 * Errors: enum code; CODE_INVALID with a static sentence: what is wrong and what to write. */
#ifndef TEXTS_ZONE_H
#define TEXTS_ZONE_H

#include "base/mem.h"
#include "base/span.h"

#include <stdint.h>

struct zone;

/* Takes: name: as in Europe/Berlin. UTC needs no file. Blocks: reads a file of at most 256 KiB. */
enum code zone_load(struct span name, struct arena *arena, const struct zone **zone, const char **wrong) MUST_USE;

/* The same from a file's bytes. */
enum code zone_read(struct span bytes, struct arena *arena, const struct zone **zone, const char **wrong) MUST_USE;

/* Seconds east of Greenwich at this time: by the file's transitions, and after the last one by its rule. */
int64_t zone_offset_s(const struct zone *zone, int64_t time_s);

/* What a clock there shows: the day of the week, 0 is Sunday, and the minute of the day. */
void zone_clock(const struct zone *zone, int64_t time_s, int *weekday, int *minute);

/* When a clock there shows local_s, which counts seconds since 1970 as if the clock were UTC's. Of two moments it is the first;
 * a time that the clock skips is reckoned by the offset from before. */
int64_t zone_moment(const struct zone *zone, int64_t local_s);

/* Days since 1970-01-01 in the Gregorian calendar; month and day from 1. */
int64_t zone_days(int64_t year, int month, int day);
int zone_month_days(int64_t year, int month); /* how many the month has */

#endif
