/* SPDX-License-Identifier: Apache-2.0 */
#include "fakes/cm.h"

#include "base/hash.h"

#include <stdio.h>

TEST_CASE(every_byte_counts)
{
    char text[41];

    memset(text, 'a', sizeof text);
    for (size_t len = 1; len <= sizeof text; len++)
        for (size_t i = 0; i < len; i++) {
            uint64_t hash = hash_bytes(text, len), mixed = hash_mix_span(1, span_of(text, len));

            assert_true(hash != hash_bytes(text, len - 1));
            assert_true(mixed != hash_mix_span(1, span_of(text, len - 1)));
            text[i] = 'b';
            assert_true(hash != hash_bytes(text, len));
            assert_true(mixed != hash_mix_span(1, span_of(text, len)));
            text[i] = 'a';
            assert_true(hash == hash_bytes(text, len));
            assert_true(mixed == hash_mix_span(1, span_of(text, len)));
        }
    assert_true(hash_mix_span(1, SPAN_NONE) != hash_mix_span(2, SPAN_NONE));
}

/* A thousand names in a thousand places: by chance 632 of them are taken. */
TEST_CASE(names_spread_over_the_upper_bits)
{
    bool taken[1000] = {false};
    unsigned places = 0;

    for (unsigned i = 0; i < 1000; i++) {
        char name[16];
        int len = snprintf(name, sizeof name, "tool_%03u", i);
        uint64_t place = (hash_mix_span(7, span_of(name, (size_t)len)) >> 32) * 1000 >> 32;

        places += !taken[place];
        taken[place] = true;
    }
    assert_true(places > 550);
}

TEST_MAIN(NULL, NULL)
