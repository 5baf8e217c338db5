/* SPDX-License-Identifier: Apache-2.0 */
#include "http/authority.h"

#include "base/ascii.h"
#include "base/num.h"
#include "http/name_priv.h"

static bool port_is_good(struct span port)
{
    uint64_t number;

    return num_u64(port, &number) == CODE_OK && number >= 1 && number <= 65535;
}

/* Checks the characters alone: nobody connects to this name, it is only compared with configured ones. */
static bool name_is_good(struct span name)
{
    if (name.len > 2 && name.at[0] == '[' && name.at[name.len - 1] == ']')
        return ascii_is_all(span_part(name, 1, name.len - 2), "0-9a-fA-F:.");
    return name.len > 0 && name.len <= 255 && http__is_all(name, HTTP__HOST);
}

bool http_authority_read(struct span value, struct http_authority *out)
{
    struct http_authority found = {.name = value};
    size_t after = 0;

    if (value.len > 0 && value.at[0] == '[')
        after = span_find(value, ']');
    if (after < value.len) {
        size_t colon = after + span_find(span_part(value, after, SIZE_MAX), ':');

        if (colon < value.len) {
            found.name = span_part(value, 0, colon);
            found.port = span_part(value, colon + 1, SIZE_MAX);
            if (!port_is_good(found.port))
                return false;
        }
    }
    if (!name_is_good(found.name))
        return false;
    *out = found;
    return true;
}

bool http_origin_read(struct span value, struct http_origin *out)
{
    struct http_origin found;
    size_t colon = span_find(value, ':');

    found.scheme = span_part(value, 0, colon);
    if (found.scheme.len == 0 || !span_starts_with(span_part(value, colon, SIZE_MAX), SPAN_LIT("://")) ||
        !ascii_is_letter(found.scheme.at[0]) || !ascii_is_all(found.scheme, "a-zA-Z0-9+.-"))
        return false;
    if (!http_authority_read(span_part(value, colon + 3, SIZE_MAX), &found.authority))
        return false;
    *out = found;
    return true;
}
