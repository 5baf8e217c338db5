/* SPDX-License-Identifier: Apache-2.0 */
#include "base/glob.h"

bool glob_is_literal(struct span pattern)
{
    for (size_t i = 0; i < pattern.len; i++)
        if (pattern.at[i] == '*' || pattern.at[i] == '?' || pattern.at[i] == '\\')
            return false;
    return true;
}

/* Past the code point that begins at `i`: continuation bytes belong to it. */
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
    size_t star = SIZE_MAX, retry = 0; /* after the last `*`, and where its run ends so far */

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
        /* An earlier `*` never needs to give more: the last one can take whatever it would. */
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
