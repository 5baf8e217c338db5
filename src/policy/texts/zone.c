/* SPDX-License-Identifier: Apache-2.0 */
#include "texts/zone.h"

#include "base/ascii.h"
#include "base/buf.h"
#include "os/file.h"
#include "texts/zone_priv.h"

#include <stdio.h>
#include <string.h>

#define FOLDER "/usr/share/zoneinfo/"
#define NAME_MAX_BYTES 64
#define FILE_MAX_BYTES ((size_t)256 << 10)
#define HEADER_BYTES 44
#define TIMES_MAX 8192
#define OFFSET_MIN (-89999) /* RFC 9636, 3.2 */
#define OFFSET_MAX 93599

struct zone {
    const int64_t *times; /* ascending: from each on, the offset beside it */
    const int32_t *offsets;
    uint32_t count;
    int32_t before; /* what holds before the first time */
    bool has_rule;
    struct zone__rule rule; /* from the last time on */
};

/* A cursor that never leaves the file. */
struct zone_reader {
    const unsigned char *at;
    size_t left;
    bool is_short;
};

static const unsigned char *take(struct zone_reader *reader, size_t bytes)
{
    const unsigned char *at = reader->at;

    if (bytes > reader->left) {
        reader->is_short = true;
        return NULL;
    }
    reader->at += bytes;
    reader->left -= bytes;
    return at;
}

static uint64_t big_endian(const unsigned char *at, int bytes)
{
    uint64_t value = 0;

    for (int i = 0; at != NULL && i < bytes; i++)
        value = value << 8 | at[i];
    return value;
}

struct counts {
    unsigned char version;
    uint32_t isut, isstd, leap, time, type, chars;
};

static bool read_header(struct zone_reader *reader, struct counts *counts)
{
    const unsigned char *at = take(reader, HEADER_BYTES);

    if (at == NULL || memcmp(at, "TZif", 4) != 0)
        return false;
    *counts = (struct counts){
        .version = at[4],
        .isut = (uint32_t)big_endian(at + 20, 4), .isstd = (uint32_t)big_endian(at + 24, 4),
        .leap = (uint32_t)big_endian(at + 28, 4), .time = (uint32_t)big_endian(at + 32, 4),
        .type = (uint32_t)big_endian(at + 36, 4), .chars = (uint32_t)big_endian(at + 40, 4),
    };
    return counts->time <= TIMES_MAX && counts->type >= 1 && counts->type <= 256 && counts->chars <= 4096 &&
           counts->isut <= 256 && counts->isstd <= 256 && counts->leap <= 256;
}

/* The first block holds times of 32 bits for old readers; the second says the same in 64. */
static bool skip_old_block(struct zone_reader *reader, const struct counts *counts)
{
    size_t bytes = counts->time * (size_t)5 + counts->type * (size_t)6 + counts->chars + counts->leap * (size_t)8 +
                   counts->isstd + counts->isut;

    return take(reader, bytes) != NULL;
}

static bool read_types(const unsigned char *types, uint32_t count, int32_t *offsets)
{
    for (uint32_t i = 0; i < count; i++) {
        offsets[i] = (int32_t)big_endian(types + 6 * i, 4);
        if (offsets[i] < OFFSET_MIN || offsets[i] > OFFSET_MAX)
            return false;
    }
    return true;
}

static enum code read_block(struct zone_reader *reader, const struct counts *counts, struct arena *arena, struct zone *zone)
{
    const unsigned char *times = take(reader, counts->time * (size_t)8), *indices = take(reader, counts->time);
    const unsigned char *types = take(reader, counts->type * (size_t)6);
    int64_t *time = arena_alloc(arena, counts->time * sizeof *time);
    int32_t *offset = arena_alloc(arena, counts->time * sizeof *offset), of_type[256];

    if (time == NULL || offset == NULL)
        return CODE_NOMEM;
    if (reader->is_short || !read_types(types, counts->type, of_type))
        return CODE_INVALID;
    for (uint32_t i = 0; i < counts->time; i++) {
        time[i] = (int64_t)big_endian(times + 8 * i, 8);
        if (indices[i] >= counts->type || (i > 0 && time[i] <= time[i - 1]))
            return CODE_INVALID;
        offset[i] = of_type[indices[i]];
    }
    zone->times = time;
    zone->offsets = offset;
    zone->count = counts->time;
    zone->before = of_type[0];
    /* A file that counts leap seconds counts other seconds than the clock does. */
    return counts->leap == 0 && take(reader, counts->chars + counts->isstd + counts->isut) != NULL ? CODE_OK : CODE_INVALID;
}

/* The rule stands between two newlines, and is empty where the last offset stays. */
static bool read_footer(struct zone_reader *reader, struct zone *zone)
{
    struct span text = span_of(reader->at, reader->left);

    if (text.len < 2 || text.at[0] != '\n' || text.at[text.len - 1] != '\n')
        return false;
    text = span_part(text, 1, text.len - 2);
    zone->has_rule = text.len > 0;
    return text.len == 0 || zone__rule_read(text, &zone->rule);
}

enum code zone_read(struct span bytes, struct arena *arena, const struct zone **out, const char **wrong)
{
    struct zone_reader reader = {(const unsigned char *)bytes.at, bytes.len, false};
    struct zone *zone = arena_zalloc(arena, sizeof *zone);
    struct counts old, counts;
    enum code code;

    if (zone == NULL)
        return CODE_NOMEM;
    *wrong = "this machine's file for the zone is not in order; reinstall its time zones (tzdata)";
    if (!read_header(&reader, &old) || old.version < '2' || !skip_old_block(&reader, &old) ||
        !read_header(&reader, &counts) || counts.version != old.version)
        return CODE_INVALID;
    code = read_block(&reader, &counts, arena, zone);
    if (code == CODE_OK && !read_footer(&reader, zone))
        code = CODE_INVALID;
    *out = zone;
    return code;
}

/* A name becomes a path: letters, digits, `_`, `+` and `-`, in parts between slashes. */
static bool is_name(struct span name)
{
    if (name.len == 0 || name.len > NAME_MAX_BYTES)
        return false;
    for (size_t i = 0; i < name.len; i++) {
        if (!ascii_is_of(name.at[i], "a-zA-Z0-9_+-") &&
            (name.at[i] != '/' || i == 0 || i == name.len - 1 || name.at[i - 1] == '/'))
            return false;
    }
    return true;
}

enum code zone_load(struct span name, struct arena *arena, const struct zone **zone, const char **wrong)
{
    char path[sizeof FOLDER + NAME_MAX_BYTES];
    struct why why = {""};
    struct buf bytes;
    enum code code;

    *wrong = "a time zone has a name such as Europe/Berlin or UTC";
    if (!is_name(name))
        return CODE_INVALID;
    if (span_is(name, "UTC")) {
        *zone = arena_zalloc(arena, sizeof **zone);
        return *zone != NULL ? CODE_OK : CODE_NOMEM;
    }
    snprintf(path, sizeof path, FOLDER "%.*s", SPAN_ARG(name));
    buf_init(&bytes, FILE_MAX_BYTES);
    code = file_read(path, FILE_ANY, FILE_MAX_BYTES, &bytes, &why);
    if (code == CODE_OK) {
        code = zone_read(buf_peek(&bytes), arena, zone, wrong);
    } else if (code != CODE_NOMEM) {
        *wrong = "this machine knows no time zone of that name; write one such as Europe/Berlin, or install tzdata";
        code = CODE_INVALID;
    }
    buf_fini(&bytes);
    return code;
}

int64_t zone_offset_s(const struct zone *zone, int64_t time_s)
{
    uint32_t from = 0, to = zone->count;

    if (zone->has_rule && (zone->count == 0 || time_s >= zone->times[zone->count - 1]))
        return zone__rule_offset_s(&zone->rule, time_s);
    while (from < to) { /* the first that is later */
        uint32_t middle = from + (to - from) / 2;

        if (zone->times[middle] <= time_s)
            from = middle + 1;
        else
            to = middle;
    }
    return from == 0 ? zone->before : zone->offsets[from - 1];
}

int64_t zone_moment(const struct zone *zone, int64_t local_s)
{
    int64_t before_s = zone_offset_s(zone, local_s - ZONE_DAY_S), behind_s = zone_offset_s(zone, local_s + ZONE_DAY_S);
    bool is_behind = zone_offset_s(zone, local_s - before_s) != before_s && zone_offset_s(zone, local_s - behind_s) == behind_s;

    return local_s - (is_behind ? behind_s : before_s);
}

void zone_clock(const struct zone *zone, int64_t time_s, int *weekday, int *minute)
{
    int64_t local_s = time_s + zone_offset_s(zone, time_s), days = zone__floor(local_s, ZONE_DAY_S);

    *weekday = (int)(((days + 4) % 7 + 7) % 7); /* 1970-01-01 was a Thursday */
    *minute = (int)((local_s - days * ZONE_DAY_S) / 60);
}
