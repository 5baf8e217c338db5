/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers and bytes of what a state is kept as, one behind the other, as this machine has them in memory.
 *
 * Threads: one.
 * Owns: nothing.
 * Lifetime: that of the bytes.
 * Errors: what reads beyond the end gets zeros, and `is_short` says so in the end. */
#ifndef STATE_KEEP_PRIV_H
#define STATE_KEEP_PRIV_H

#include "base/buf.h"

#include <stdint.h>
#include <string.h>

static inline void keep_number(struct buf *out, uint64_t number)
{
    (void)buf_add(out, &number, sizeof number); /* whoever appends looks at the buffer's code once, at the end */
}

struct keep_reader {
    struct span rest;
    bool is_short;
};

static inline void keep_read(struct keep_reader *reader, void *out, size_t len)
{
    reader->is_short = reader->is_short || reader->rest.len < len;
    if (reader->is_short) {
        memset(out, 0, len);
        return;
    }
    memcpy(out, reader->rest.at, len);
    reader->rest = span_part(reader->rest, len, SIZE_MAX);
}

static inline uint64_t keep_read_number(struct keep_reader *reader)
{
    uint64_t number;

    keep_read(reader, &number, sizeof number);
    return number;
}

#endif
