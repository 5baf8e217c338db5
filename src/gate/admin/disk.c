/* SPDX-License-Identifier: Apache-2.0 */
#include "admin/disk.h"

#define HOUR_US 3.6e9

static uint64_t hours_of(uint64_t room_bytes, uint64_t grown_bytes, int64_t within_us)
{
    double hours;

    if (room_bytes < DISK_NONE_BYTES)
        return 0;
    if (grown_bytes == 0 || within_us <= 0)
        return DISK_HOURS_MAX;
    hours = (double)room_bytes / (double)grown_bytes * (double)within_us / HOUR_US;
    return hours < DISK_HOURS_MAX ? (uint64_t)hours : DISK_HOURS_MAX;
}

void disk_note(struct disk_growth *growth, uint64_t room_bytes, int64_t now_us)
{
    unsigned last = (growth->count + DISK_NOTES - 1) % DISK_NOTES;

    if (growth->count > 0 && now_us - growth->at_us[last] < DISK_NOTE_EVERY_US)
        return;
    growth->room_bytes[growth->count % DISK_NOTES] = room_bytes;
    growth->at_us[growth->count % DISK_NOTES] = now_us;
    growth->count++;
}

uint64_t disk_hours_left(const struct disk_growth *growth, uint64_t room_bytes, int64_t now_us)
{
    unsigned oldest = growth->count > DISK_NOTES ? growth->count - DISK_NOTES : 0;
    uint64_t most = room_bytes;
    int64_t since_us = 0;

    /* The rate counts from the time of most room, since moving files away makes room. Less than a minute tells no rate. */
    for (unsigned i = oldest; i != growth->count; i++) {
        if (growth->room_bytes[i % DISK_NOTES] > most && now_us - growth->at_us[i % DISK_NOTES] >= DISK_RATE_US) {
            most = growth->room_bytes[i % DISK_NOTES];
            since_us = growth->at_us[i % DISK_NOTES];
        }
    }
    return hours_of(room_bytes, most - room_bytes, now_us - since_us);
}
