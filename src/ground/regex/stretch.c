/* SPDX-License-Identifier: Apache-2.0 */
#include "regex/regex_priv.h"

#define RATE_PROPERTY 4u
#define PROPERTIES_MOST 2u /* properties that count, in a class that is not negated */
#define RATE_CLUSTER 8u
#define RATE_MOST 255u

/* Whether PCRE2 takes as much of the subject as it can for this one item before the next callout. A lazy item does not,
 * because what follows it is tried at each step. */
static bool takes_all(struct span item)
{
    size_t first = item.len > 1 && item.at[0] == '\\' ? 2 : 1; /* `\+` is a plus */

    while (item.len > 0 && strchr(" \t\r\n", item.at[item.len - 1]) != NULL)
        item.len--; /* (?x) */
    if (item.len <= first)
        return false;
    item = span_part(item, first, SIZE_MAX);
    if (item.len > 1 && item.at[item.len - 1] == '+' && strchr("*+?}", item.at[item.len - 2]) != NULL)
        item.len--; /* possessive */
    if (item.at[item.len - 1] == '}')
        return item.len > 1 && item.at[item.len - 2] == ',';
    return item.at[item.len - 1] == '*' || item.at[item.len - 1] == '+';
}

/* The rates are measured. A property takes a look-up in a table for each character, and in a class a call before it. Code
 * points that the class's bitmap lacks are compared one by one. A cluster (\X) is two properties and their rule. A class
 * that is not negated knows most of ordinary text by its first properties: with all counted, `[\p{L}\p{N}\p{P}\p{Z}\s]*`
 * would not begin on 1 MiB, which it reads in 11 ms. Where only the last of five knows what is sent, that takes 30. */
static uint8_t rate_of(struct span item)
{
    size_t properties = 0, wide = 0, rate = REGEX__RATE_PLAIN;

    for (size_t i = 0; i < item.len; i++) {
        char next = i + 1 < item.len ? item.at[i + 1] : '\0';

        wide += (unsigned char)item.at[i] >= 0xc4; /* leads a code point from U+0100 on */
        if (item.at[i] != '\\')
            continue;
        properties += next == 'p' || next == 'P';
        wide += i + 2 < item.len && item.at[i + 2] == '{' && (next == 'x' || next == 'o' || next == 'N');
        i++;
    }
    if (item.at[0] == '[' && item.at[1] != '^' && properties > PROPERTIES_MOST)
        properties = PROPERTIES_MOST;
    if (item.at[0] == '[')
        rate += properties * RATE_PROPERTY + wide;
    else if (properties > 0)
        rate = RATE_PROPERTY;
    else if (span_starts_with(item, SPAN_LIT("\\X")))
        rate = RATE_CLUSTER;
    return (uint8_t)(rate < RATE_MOST ? rate : RATE_MOST);
}

/* Each item is read once, at the first callout before it: to enumerate all callouts beforehand is no way, because PCRE2 10.46
 * takes the lists of code points that stand before the code for code, and may go round in them for ever. Several threads may
 * do so at once, and find the same rate. */
uint8_t regex__rate(const struct regex *regex, size_t position, size_t length)
{
    _Atomic uint8_t *kept = &regex->rates[position];
    uint8_t rate = atomic_load_explicit(kept, memory_order_relaxed);

    if (rate == 0) {
        struct span item = span_part(regex->pattern, position, length);

        rate = takes_all(item) ? rate_of(item) : REGEX__RATE_ONE;
        atomic_store_explicit(kept, rate, memory_order_relaxed);
    }
    return rate;
}
