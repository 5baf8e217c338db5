/* SPDX-License-Identifier: Apache-2.0 */
/* Internet addresses and ranges of them, from the one spelling that every reader takes alike.
 *
 * Threads: any.
 * Owns: nothing.
 * Lifetime: none.
 * Errors: false where the text is no address; a sentence where a range is not usable. */
#ifndef TEXTS_ADDRESS_H
#define TEXTS_ADDRESS_H

#include "base/span.h"
#include "texts/truth.h"

#include <stdbool.h>
#include <stdint.h>

struct address {
    unsigned family;         /* 4, 6, or 0: none */
    unsigned char bytes[16]; /* the first four of family 4 */
};

/* IPv4 as four plain decimal numbers, IPv6 as in RFC 4291; no zone, brackets, port or prefix. */
bool address_read(struct span text, struct address *address);

/* An IPv4-mapped IPv6 address (::ffff:10.0.0.1) becomes the IPv4 address that it reaches. */
void address_unmap(struct address *address);

bool address_equals(const struct address *a, const struct address *b);

struct address_range {
    struct address first;
    unsigned bits; /* of the prefix */
};

/* An address, or address/bits with nothing set behind the prefix. Returns: NULL, or what is wrong and what to write. */
const char *address_range_read(struct span text, struct address_range *range);

bool address_range_holds(const struct address_range *range, const struct address *address);

/* Whether the text is an address in one of the ranges; undecided where it is no address. */
enum truth address_in_ranges(const struct address_range *ranges, uint32_t count, struct span text);

#endif
