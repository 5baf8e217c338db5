/* SPDX-License-Identifier: Apache-2.0 */
#include "base/glob.h"

#include <string.h>

#define MEET_MAX 128

bool glob_is_literal(struct span pattern)
{
    for (size_t i = 0; i < pattern.len; i++)
        if (pattern.at[i] == '*' || pattern.at[i] == '?' || pattern.at[i] == '\\')
            return false;
    return true;
}

/* Returns: the place behind the code point that begins at `i`, with its continuation bytes. */
static size_t next_point(struct span text, size_t i)
{
    i++;
    while (i < text.len && ((unsigned char)text.at[i] & 0xC0) == 0x80)
        i++;
    return i;
}

bool glob_matches(struct span pattern, struct span text)
{
    size_t p = 0, t = 0;
    size_t star = SIZE_MAX, retry = 0; /* `star`: behind the last `*`; `retry`: up to where it has taken the text so far */

    while (t < text.len) {
        if (p < pattern.len && pattern.at[p] == '*') {
            star = ++p;
            retry = t;
            continue;
        }
        if (p < pattern.len && pattern.at[p] == '?') {
            p++;
            t = next_point(text, t);
            continue;
        }
        if (p < pattern.len) {
            size_t literal = pattern.at[p] == '\\' && p + 1 < pattern.len ? p + 1 : p;

            if (pattern.at[literal] == text.at[t]) {
                p = literal + 1;
                t++;
                continue;
            }
        }
        /* Only the last `*` takes more on a mismatch, since it can take whatever an earlier one could. */
        if (star == SIZE_MAX)
            return false;
        retry = next_point(text, retry);
        p = star;
        t = retry;
    }
    while (p < pattern.len && pattern.at[p] == '*')
        p++;
    return p == pattern.len;
}

/* From the ends backwards: meets[j] says whether some text matches both `a` from i on and `b` from j on; below[j] says so for
 * the next i. */
bool glob_meets(struct span a, struct span b)
{
    bool meets[MEET_MAX + 1] = {false}, below[MEET_MAX + 1];

    if (b.len > MEET_MAX || span_find(a, '\\') < a.len || span_find(b, '\\') < b.len)
        return true;
    for (size_t i = a.len + 1; i-- > 0;) {
        memcpy(below, meets, sizeof meets);
        for (size_t j = b.len + 1; j-- > 0;) {
            bool a_star = i < a.len && a.at[i] == '*', b_star = j < b.len && b.at[j] == '*';

            if (a_star || b_star)
                meets[j] = (a_star && (below[j] || (j < b.len && meets[j + 1]))) ||
                           (b_star && (meets[j + 1] || (i < a.len && below[j])));
            else if (i < a.len && j < b.len)
                meets[j] = below[j + 1] && (a.at[i] == '?' || b.at[j] == '?' || a.at[i] == b.at[j]);
            else
                meets[j] = i == a.len && j == b.len;
        }
    }
    return meets[0];
}
