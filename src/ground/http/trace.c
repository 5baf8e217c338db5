/* SPDX-License-Identifier: Apache-2.0 */
#include "http/trace.h"

#include "base/ascii.h"
#include "base/num.h"

#define TEXT_BYTES 55 /* of version 00; later ones may add "-..." */
#define SAMPLED 1

bool trace_is_id(struct span text, size_t digits)
{
    if (text.len != digits || !ascii_is_all(text, "0-9a-f"))
        return false;
    for (size_t i = 0; i < digits; i++)
        if (text.at[i] != '0')
            return true;
    return false;
}

bool trace_read(struct span text, struct trace *trace)
{
    struct span version = span_part(text, 0, 2), flags = span_part(text, 53, 2);
    const struct trace found = {.id = span_part(text, 3, TRACE_DIGITS), .parent = span_part(text, 36, PARENT_DIGITS)};
    unsigned char bits;

    *trace = (struct trace){.is_sampled = false};
    if (text.len < TEXT_BYTES || (text.len > TEXT_BYTES && (span_is(version, "00") || text.at[TEXT_BYTES] != '-')) ||
        text.at[2] != '-' || text.at[35] != '-' || text.at[52] != '-')
        return false;
    if (!ascii_is_all(version, "0-9a-f") || span_is(version, "ff") || !ascii_is_all(flags, "0-9a-f") ||
        !trace_is_id(found.id, TRACE_DIGITS) || !trace_is_id(found.parent, PARENT_DIGITS) ||
        num_unhex(flags, &bits, 1) != CODE_OK)
        return false;
    *trace = found;
    trace->is_sampled = (bits & SAMPLED) != 0;
    return true;
}
