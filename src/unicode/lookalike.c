/* SPDX-License-Identifier: Apache-2.0 */
#include "unicode/lookalike.h"

#include "base/utf8.h"
#include "unicode/unicode.h"

enum script { /* bits */
    SCRIPT_NONE = 0, SCRIPT_LATIN = 1, SCRIPT_GREEK = 2, SCRIPT_CYRILLIC = 4, SCRIPT_ARMENIAN = 8, SCRIPT_CHEROKEE = 16
};

static const struct range {
    uint32_t first, last;
    enum script script;
} ranges[] = {
    {'A', 'Z', SCRIPT_LATIN},           {'a', 'z', SCRIPT_LATIN},           {0x00c0, 0x024f, SCRIPT_LATIN},
    {0x0250, 0x02af, SCRIPT_LATIN},     {0x0370, 0x03ff, SCRIPT_GREEK},     {0x0400, 0x052f, SCRIPT_CYRILLIC},
    {0x0530, 0x058f, SCRIPT_ARMENIAN},  {0x13a0, 0x13ff, SCRIPT_CHEROKEE},  {0x1c80, 0x1c8f, SCRIPT_CYRILLIC},
    {0x1e00, 0x1eff, SCRIPT_LATIN},     {0x1f00, 0x1fff, SCRIPT_GREEK},     {0x2de0, 0x2dff, SCRIPT_CYRILLIC},
    {0xa640, 0xa69f, SCRIPT_CYRILLIC},  {0xab70, 0xabbf, SCRIPT_CHEROKEE},  {0xff21, 0xff3a, SCRIPT_LATIN},
    {0xff41, 0xff5a, SCRIPT_LATIN},
};

/* Small letters first: a capital goes to its small letter before it is looked up. */
static const struct pair {
    uint32_t point;
    char seen;
} pairs[] = {
    {0x0131, 'i'}, {0x017f, 's'}, {0x0251, 'a'}, {0x0261, 'g'}, /* Latin: dotless i, long s, alpha, script g */
    {0x03b1, 'a'}, {0x03b9, 'i'}, {0x03ba, 'k'}, {0x03bd, 'v'}, {0x03bf, 'o'}, {0x03c1, 'p'}, {0x03c5, 'u'}, {0x03c7, 'x'},
    {0x0430, 'a'}, {0x0432, 'b'}, {0x0433, 'r'}, {0x0435, 'e'}, {0x043a, 'k'}, {0x043c, 'm'}, {0x043d, 'h'}, {0x043e, 'o'},
    {0x0440, 'p'}, {0x0441, 'c'}, {0x0442, 't'}, {0x0443, 'y'}, {0x0445, 'x'}, {0x0455, 's'}, {0x0456, 'i'}, {0x0458, 'j'},
    {0x04bb, 'h'}, {0x04cf, 'l'}, {0x0501, 'd'}, {0x051b, 'q'}, {0x051d, 'w'},
    {0x0391, 'a'}, {0x0392, 'b'}, {0x0395, 'e'}, {0x0396, 'z'}, {0x0397, 'h'}, {0x0399, 'i'}, {0x039a, 'k'}, {0x039c, 'm'},
    {0x039d, 'n'}, {0x039f, 'o'}, {0x03a1, 'p'}, {0x03a4, 't'}, {0x03a5, 'y'}, {0x03a7, 'x'},
    {0x0405, 's'}, {0x0406, 'i'}, {0x0408, 'j'}, {0x0410, 'a'}, {0x0412, 'b'}, {0x0415, 'e'}, {0x041a, 'k'}, {0x041c, 'm'},
    {0x041d, 'h'}, {0x041e, 'o'}, {0x0420, 'p'}, {0x0421, 'c'}, {0x0422, 't'}, {0x0423, 'y'}, {0x0425, 'x'}, {0x212a, 'k'},
};

static uint32_t seen(uint32_t point)
{
    if (point >= 0xff01 && point <= 0xff5e) /* full-width forms of ASCII */
        point -= 0xfee0;
    if (point >= 'A' && point <= 'Z')
        point |= 32;
    if (point == '0')
        return 'o';
    if (point == '1' || point == '|')
        return 'l';
    for (size_t i = 0; point >= 0x80 && i < sizeof pairs / sizeof *pairs; i++)
        if (pairs[i].point == point)
            return (uint32_t)pairs[i].seen;
    return point;
}

size_t lookalike_skeleton(struct span name, char *out, size_t size)
{
    size_t len = 0, taken;
    uint32_t point;

    while ((taken = unicode_next(name, &point)) > 0) {
        char bytes[4];
        size_t more = utf8_put(bytes, seen(point));

        if (more > size - len)
            return 0;
        memcpy(out + len, bytes, more);
        len += more;
        name = span_part(name, taken, SIZE_MAX);
    }
    return len;
}

bool lookalike_mixes_scripts(struct span name)
{
    unsigned scripts = 0;
    size_t taken;
    uint32_t point;

    while ((taken = unicode_next(name, &point)) > 0) {
        for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
            if (point >= ranges[i].first && point <= ranges[i].last)
                scripts |= ranges[i].script;
        name = span_part(name, taken, SIZE_MAX);
    }
    return (scripts & (scripts - 1)) != 0;
}
