/* SPDX-License-Identifier: Apache-2.0 */
#include "admin/disk.h"
#include "fakes/cm.h"

#define MINUTE INT64_C(60000000)
#define GIB (UINT64_C(1) << 30)

TEST_CASE(test_hours) /* 4.12 */
{
    struct disk_growth growth = {.room_bytes = {101 * GIB}, .at_us = {0}, .count = 1};
    struct disk_growth full = {.room_bytes = {UINT64_MAX}, .at_us = {0}, .count = 1};
    struct disk_growth still = {.room_bytes = {0}, .at_us = {0}, .count = 1};

    assert_int_equal(disk_hours_left(&growth, 100 * GIB, 60 * MINUTE), 100);
    growth.room_bytes[0] = GIB + GIB / 2;
    assert_int_equal(disk_hours_left(&growth, GIB / 2, 60 * MINUTE), 0);
    assert_int_equal(disk_hours_left(&full, UINT64_MAX - 1, 60 * MINUTE), DISK_HOURS_MAX);
    assert_int_equal(disk_hours_left(&still, 0, 60 * MINUTE), 0); /* 10.12: no room is no hours, whatever grew */
    assert_int_equal(disk_hours_left(&still, DISK_NONE_BYTES - 1, 0), 0);
}

TEST_CASE(test_growth) /* 4.12: the last ten minutes count, not what was before */
{
    struct disk_growth growth = {.count = 0};
    uint64_t room = 1000 * GIB;
    int64_t now_us = 5;

    assert_int_equal(disk_hours_left(&growth, room, now_us), DISK_HOURS_MAX);
    for (; now_us < 30 * MINUTE; now_us += MINUTE / 60)
        disk_note(&growth, room, now_us);
    assert_int_equal(disk_hours_left(&growth, room, now_us), DISK_HOURS_MAX);
    for (int i = 0; i < 660; i++, now_us += MINUTE / 60) {
        room -= GIB / 60; /* a GiB a minute */
        disk_note(&growth, room, now_us);
    }
    assert_in_range(disk_hours_left(&growth, room, now_us), room / GIB / 60 - 1, room / GIB / 60 + 1);
    room += 100 * GIB; /* somebody made room */
    assert_int_equal(disk_hours_left(&growth, room, now_us), DISK_HOURS_MAX);
    for (int i = 0; i < 180; i++, now_us += MINUTE / 60) {
        room -= GIB / 60;
        disk_note(&growth, room, now_us);
    }
    assert_in_range(disk_hours_left(&growth, room, now_us), room / GIB / 60 - 1, room / GIB / 60 + 1); /* and it fills on */
}

TEST_CASE(test_start) /* 4.12: what a start writes is no rate */
{
    struct disk_growth growth = {.count = 0};

    disk_note(&growth, GIB, 5);
    assert_int_equal(disk_hours_left(&growth, GIB - (GIB >> 8), 5 + MINUTE / 60), DISK_HOURS_MAX);
    assert_int_equal(disk_hours_left(&growth, GIB - (GIB >> 8), 5 + 60 * MINUTE), 255);
}

TEST_MAIN(NULL, NULL)
