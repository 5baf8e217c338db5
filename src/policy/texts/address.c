/* SPDX-License-Identifier: Apache-2.0 */
#include "texts/address.h"

#include "base/num.h"

#include <arpa/inet.h>

/* inet_pton takes no zone, no prefix, no leading zero and nothing but decimal in IPv4: what readers differ on. */
bool address_read(struct span text, struct address *address)
{
    char copy[INET6_ADDRSTRLEN];

    *address = (struct address){.family = 0};
    if (text.len == 0 || text.len >= sizeof copy || memchr(text.at, '\0', text.len) != NULL)
        return false;
    memcpy(copy, text.at, text.len);
    copy[text.len] = '\0';
    if (inet_pton(AF_INET, copy, address->bytes) == 1)
        address->family = 4;
    else if (inet_pton(AF_INET6, copy, address->bytes) == 1)
        address->family = 6;
    return address->family != 0;
}

static bool is_mapped(const struct address *address)
{
    static const unsigned char prefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

    return address->family == 6 && memcmp(address->bytes, prefix, sizeof prefix) == 0;
}

void address_unmap(struct address *address)
{
    struct address plain = {.family = 4};

    if (!is_mapped(address))
        return;
    memcpy(plain.bytes, address->bytes + 12, 4);
    *address = plain;
}

bool address_equals(const struct address *a, const struct address *b)
{
    return a->family == b->family && memcmp(a->bytes, b->bytes, a->family == 4 ? 4 : 16) == 0;
}

/* Whether the first `bits` bits are equal. */
static bool agree(const unsigned char *a, const unsigned char *b, unsigned bits)
{
    unsigned rest = bits % 8;

    return memcmp(a, b, bits / 8) == 0 && (rest == 0 || (a[bits / 8] ^ b[bits / 8]) >> (8 - rest) == 0);
}

static bool is_empty_behind(const struct address_range *range)
{
    unsigned all = range->first.family == 4 ? 32 : 128;

    for (unsigned bit = range->bits; bit < all; bit++)
        if ((range->first.bytes[bit / 8] >> (7 - bit % 8) & 1) != 0)
            return false;
    return true;
}

const char *address_range_read(struct span text, struct address_range *range)
{
    struct span bits, first = span_cut(text, '/', &bits);
    uint64_t count;

    *range = (struct address_range){.bits = 0};
    if (!address_read(first, &range->first))
        return "is no address; write 10.0.0.0/8, 192.0.2.1 or 2001:db8::/32";
    if (is_mapped(&range->first))
        return "is an IPv4 address in IPv6's clothes, which is asked as IPv4; write it as IPv4";
    range->bits = range->first.family == 4 ? 32 : 128;
    if (first.len == text.len)
        return NULL;
    if (num_u64(bits, &count) != CODE_OK || count > range->bits)
        return "has no prefix length behind its slash; write 0 to 32 for IPv4, 0 to 128 for IPv6";
    range->bits = (unsigned)count;
    return is_empty_behind(range) ? NULL : "has bits behind its prefix; write the range's first address, as in 10.0.0.0/8";
}

bool address_range_holds(const struct address_range *range, const struct address *address)
{
    return range->first.family == address->family && agree(range->first.bytes, address->bytes, range->bits);
}

enum truth address_in_ranges(const struct address_range *ranges, uint32_t count, struct span text)
{
    struct address address;

    if (!address_read(text, &address))
        return TRUTH_UNDECIDED;
    address_unmap(&address);
    for (uint32_t i = 0; i < count; i++)
        if (address_range_holds(&ranges[i], &address))
            return TRUTH_TRUE;
    return TRUTH_FALSE;
}
