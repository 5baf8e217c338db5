/* SPDX-License-Identifier: Apache-2.0 */
/* How long the audit's disk lasts at the rate at which it filled lately.
 *
 * Threads: main.
 * Owns: nothing.
 * Lifetime: struct disk_growth is its holder's, zeroed at first.
 * Errors: none; what cannot be known is DISK_HOURS_MAX. */
#ifndef ADMIN_DISK_H
#define ADMIN_DISK_H

#include <stdint.h>

#define DISK_LATELY_US INT64_C(600000000) /* the ten minutes that count as the present rate */
#define DISK_HOURS_MAX 87600              /* ten years: no end in sight */
#define DISK_NONE_BYTES (UINT64_C(1) << 20) /* less than this is no room: the hours are 0 then, whatever the rate */
#define DISK_RATE_US INT64_C(60000000)    /* the least time that tells a rate */

#define DISK_NOTES 20
#define DISK_NOTE_EVERY_US (DISK_LATELY_US / DISK_NOTES)

/* The room on a disk, now and then. */
struct disk_growth {
    uint64_t room_bytes[DISK_NOTES];
    int64_t at_us[DISK_NOTES]; /* monotonic */
    unsigned count;            /* all notes since the start, of which the last DISK_NOTES are kept */
};

void disk_note(struct disk_growth *growth, uint64_t room_bytes, int64_t now_us); /* as often as wanted */
/* The value of callgate_disk_hours_left, which `callgate status` shows too. */
uint64_t disk_hours_left(const struct disk_growth *growth, uint64_t room_bytes, int64_t now_us);

#endif
