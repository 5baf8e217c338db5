/* SPDX-License-Identifier: Apache-2.0 */
/* 3.1: the entry of a tenant's last row is hashed as the format says, so that other programs come to the same root. */
#include "proof/tenants.h"

#include "base/num.h"
#include "fakes/cm.h"

/* SHA-256 of 00 "T" 02 00000004 "acme" 01 0000000000000102 03 00000020 000102...1f, by Python's hashlib. */
TEST_CASE(test_leaf)
{
    static const char expected[] = "e7c321a8d87e67ace4bef4e4667475564e2b250f7cbe85f80e2864dc9a3eda96";
    unsigned char hash[DIGEST_BYTES], leaf[DIGEST_BYTES];
    char hex[2 * DIGEST_BYTES];

    for (unsigned i = 0; i < DIGEST_BYTES; i++)
        hash[i] = (unsigned char)i;
    tenants_leaf(SPAN_LIT("acme"), 0x102, hash, leaf);
    num_hex(leaf, sizeof leaf, hex);
    assert_memory_equal(hex, expected, sizeof hex);
}

TEST_MAIN(NULL, NULL)
