/* SPDX-License-Identifier: Apache-2.0 */
/* What makes detectors precise: digits that must add up, structure that a pattern cannot say. Each looks at what its
 * detector's pattern matched and says how much of it is found; digits may be parted as people part them. */
#include "texts/detector_priv.h"

#include "base/ascii.h"
#include "base/num.h"
#include "crypto/digest.h"
#include "unicode/unicode.h"

#define DIGITS_MAX 40

/* The letters and digits of a match without what parts them, and where each ends. */
struct written {
    unsigned count;
    char symbol[DIGITS_MAX]; /* letters as capitals */
    size_t end[DIGITS_MAX];  /* bytes of the match up to and with it */
};

static struct written read_symbols(struct span match)
{
    struct written w = {.count = 0};

    for (size_t i = 0; i < match.len && w.count < DIGITS_MAX; i++) {
        if (!ascii_is_word(match.at[i]))
            continue;
        w.symbol[w.count] = (char)(ascii_is_letter(match.at[i]) ? match.at[i] & ~32 : match.at[i]);
        w.end[w.count++] = i + 1;
    }
    return w;
}

static unsigned number(const char *digits, unsigned count)
{
    unsigned value = 0;

    for (unsigned i = 0; i < count; i++)
        value = value * 10 + (unsigned)(digits[i] - '0');
    return value;
}

static bool fits_luhn(const char *digits, unsigned count)
{
    unsigned sum = 0;

    for (unsigned i = 0; i < count; i++) {
        unsigned digit = (unsigned)(digits[count - 1 - i] - '0') * (1 + i % 2);

        sum += digit > 9 ? digit - 9 : digit;
    }
    return sum % 10 == 0;
}

/* ---- payment ---- */

/* Issuers' ranges by their first six digits, and how many digits their cards have. */
static const struct {
    unsigned first, last, lengths; /* 1 << length */
} issuers[] = {
    {400000, 499999, 1u << 13 | 1u << 16 | 1u << 19}, /* Visa */
    {510000, 559999, 1u << 16}, {222100, 272099, 1u << 16}, /* Mastercard */
    {340000, 349999, 1u << 15}, {370000, 379999, 1u << 15}, /* American Express */
    {300000, 305999, 1u << 14 | 1u << 16}, {309500, 309599, 1u << 14 | 1u << 16}, /* Diners Club */
    {360000, 369999, 1u << 14 | 1u << 16}, {380000, 399999, 1u << 14 | 1u << 16},
    {352800, 358999, 1u << 16 | 1u << 17 | 1u << 18 | 1u << 19}, /* JCB */
    {601100, 601199, 1u << 16 | 1u << 19}, {644000, 659999, 1u << 16 | 1u << 19}, /* Discover */
    {620000, 629999, 1u << 16 | 1u << 17 | 1u << 18 | 1u << 19}, {810000, 817199, 1u << 16}, /* UnionPay */
    {500000, 509999, 1u << 16 | 1u << 19}, {560000, 589999, 1u << 16 | 1u << 19}, /* Maestro */
    {670000, 679999, 1u << 16 | 1u << 19},
    {220000, 220499, 1u << 16 | 1u << 19}, /* Mir */
};

/* Whether two more groups of four digits follow: a table of numbers. */
static bool goes_on(struct span rest)
{
    for (size_t i = 0; i < 10; i++)
        if (i >= rest.len || (i % 5 == 0 ? rest.at[i] != ' ' : !ascii_is_digit(rest.at[i])))
            return false;
    return true;
}

static bool is_card(const char *digits, unsigned count)
{
    unsigned first = count >= 13 && count <= 19 ? number(digits, 6) : 0;

    for (size_t i = 0; i < sizeof issuers / sizeof *issuers; i++)
        if (first >= issuers[i].first && first <= issuers[i].last && (issuers[i].lengths >> count & 1) != 0)
            return fits_luhn(digits, count);
    return false;
}

/* A number with an exponent, whose value is the card's: 4.111111111111111e15. */
static bool is_card_with_exponent(struct span match, size_t e)
{
    bool is_negative = match.at[e + 1] == '-', is_behind_point = false;
    size_t begin = e + 1 + (is_negative || match.at[e + 1] == '+');
    unsigned exponent = number(match.at + begin, (unsigned)(match.len - begin)), count = 0, behind = 0;
    char digits[DIGITS_MAX];

    for (size_t i = 0; i < e && count < DIGITS_MAX; i++) {
        is_behind_point |= match.at[i] == '.';
        behind += is_behind_point && ascii_is_digit(match.at[i]);
        if (ascii_is_digit(match.at[i]))
            digits[count++] = match.at[i];
    }
    for (; !is_negative && behind < exponent && count < DIGITS_MAX; behind++)
        digits[count++] = '0';
    for (unsigned all = behind + (is_negative ? exponent : 0) - (is_negative ? 0 : exponent); all > 0; all--)
        if (count == 0 || digits[--count] != '0') /* what stands behind the point of the value */
            return false;
    return is_card(digits, count);
}

static bool is_parting(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r') || c == ',' || c == ';' || c == '|' || c == ':';
}

/* Digits, or groups of them, of which every two are parted by the same bytes: beside one more number it is a list. */
static size_t parted_card(struct span text, size_t at, size_t len, struct span parting)
{
    size_t before = at, behind = at + len, gap = parting.len;
    char digits[DIGITS_MAX];
    unsigned count = 0;

    while (before > 0 && is_parting(text.at[before - 1]))
        before--;
    while (behind < text.len && is_parting(text.at[behind]))
        behind++;
    if (memmem(text.at + before, at - before, parting.at, gap) == NULL)
        before = at > gap && memcmp(text.at + at - gap, parting.at, gap) == 0 ? at - gap : at;
    if (memmem(text.at + at + len, behind - at - len, parting.at, gap) == NULL)
        behind = at + len + gap < text.len && memcmp(text.at + at + len, parting.at, gap) == 0 ? at + len + gap : at + len;
    for (size_t i = at; i < at + len && count < DIGITS_MAX; i++)
        if (ascii_is_digit(text.at[i]))
            digits[count++] = text.at[i];
    if ((before < at && before > 0 && ascii_is_digit(text.at[before - 1])) ||
        (behind > at + len && behind < text.len && ascii_is_digit(text.at[behind])))
        return 0;
    return is_card(digits, count) ? len : 0;
}

/* What parts the first digits from the next, where people do not part cards so; empty: nothing, or what people write. */
static struct span odd_parting(struct span match)
{
    size_t from = 0, until;

    while (from < match.len && ascii_is_digit(match.at[from]))
        from++;
    for (until = from; until < match.len && !ascii_is_digit(match.at[until]);)
        until++;
    if (until == match.len)
        return SPAN_NONE;
    if (from > 1 && (until - from == 1 ? strchr(" -._/", match.at[from]) != NULL : (unsigned char)match.at[from] >= 0x80))
        return SPAN_NONE;
    return span_part(match, from, until - from);
}

/* The longest beginning that is a card: behind it people write the date and the code. */
static size_t payment_card(struct span text, size_t at, size_t len)
{
    struct span match = span_part(text, at, len), parting = odd_parting(match);
    struct written w = read_symbols(match);
    size_t e = 0;

    while (e < len && (match.at[e] | 32) != 'e')
        e++;
    if (e + 1 < len && ascii_is_digit(match.at[len - 1]))
        return is_card_with_exponent(match, e) ? len : 0;
    if (parting.len > 0)
        return parted_card(text, at, len, parting);

    for (unsigned count = w.count < 19 ? w.count : 19; count >= 13; count--) {
        size_t end = w.end[count - 1];

        if (at + end < text.len && (ascii_is_digit(text.at[at + end]) || goes_on(span_part(text, at + end, SIZE_MAX))))
            continue; /* a longer number */
        if (is_card(w.symbol, count))
            return end;
    }
    return 0;
}

/* Countries of the IBAN registry and how many characters theirs have. */
static const char ibans[] =
    "AD24AE23AL28AT20AZ28BA20BE16BG22BH22BI27BR29BY28CH21CR22CY28CZ24DE22DJ27DK18DO28EE20EG29ES24FI18"
    "FK18FO18FR27GB22GE22GI23GL18GR27GT28HN28HR21HU28IE22IL23IQ23IS26IT27JO30KW30KZ20LB28LC32LI21LT20"
    "LU20LV21LY25MC27MD24ME22MK19MN20MR27MT31MU30NI28NL18NO15OM23PK24PL28PS29PT25QA29RO24RS22RU33SA24"
    "SC31SD18SE24SI19SK24SM27SO23ST25SV28TL23TN24TR26UA29VA22VG24XK20YE30";

/* ISO 7064, modulo 97, of the rest and the first `moved` symbols behind it, letters as 10 to 35. */
static unsigned modulo_97(const char *symbols, unsigned count, unsigned moved)
{
    unsigned rest = 0;

    for (unsigned i = 0; i < count; i++) {
        char c = symbols[(i + moved) % count];

        rest = ascii_is_digit(c) ? (rest * 10 + (unsigned)(c - '0')) % 97 : (rest * 100 + (unsigned)(c - 'A') + 10) % 97;
    }
    return rest;
}

static size_t iban(struct span text, size_t at, size_t len)
{
    struct written w = read_symbols(span_part(text, at, len));

    for (size_t i = 0; i + 4 <= sizeof ibans && w.count >= 4; i += 4) {
        unsigned count = number(&ibans[i + 2], 2);
        size_t end = w.count >= count ? w.end[count - 1] : 0;

        if (memcmp(w.symbol, &ibans[i], 2) != 0)
            continue;
        if (end == 0 || (at + end < text.len && ascii_is_word(text.at[at + end])))
            return 0;
        return modulo_97(w.symbol, count, 4) == 1 ? end : 0;
    }
    return 0;
}

/* ---- people ---- */

/* Whether area, group and serial can have been given out: none is all zeros, and numbers printed in advertisements are
 * nobody's. */
static size_t us_ssn(struct span text, size_t at, size_t len)
{
    struct written w = read_symbols(span_part(text, at, len));
    unsigned area = number(w.symbol, 3), group = number(w.symbol + 3, 2), serial = number(w.symbol + 5, 4);

    if (w.count != 9 || area == 0 || area == 666 || area >= 900 || group == 0 || serial == 0)
        return 0;
    if ((area == 78 && group == 5 && serial == 1120) || (area == 219 && group == 9 && serial == 9999))
        return 0;
    return (area == 987 && group == 65) || (area == 123 && group == 45) ? 0 : len;
}

static size_t luhn(struct span text, size_t at, size_t len)
{
    struct written w = read_symbols(span_part(text, at, len));

    return fits_luhn(w.symbol, w.count) ? len : 0;
}

/* The last ten of yyyymmdd-nnnn. */
static size_t se_person(struct span text, size_t at, size_t len)
{
    struct written w = read_symbols(span_part(text, at, len));

    return w.count >= 10 && fits_luhn(w.symbol + w.count - 10, 10) ? len : 0;
}

/* Numbers whose digits, each times its weight, add up to a multiple, or leave the same rest. X is 10. */
static size_t weighted(struct span match, int modulus, int rest, const signed char *weights, unsigned count)
{
    struct written w = read_symbols(match);
    int sum = 0;

    if (w.count < count)
        return 0;
    for (unsigned i = 0; i < count; i++)
        sum += weights[i] * (w.symbol[i] == 'X' ? 10 : w.symbol[i] - '0');
    return sum % modulus == rest ? match.len : 0;
}

#define WEIGHTED(name, modulus, rest, ...) \
    static size_t name(struct span text, size_t at, size_t len) \
    { \
        static const signed char weights[] = {__VA_ARGS__}; \
        return weighted(span_part(text, at, len), modulus, rest, weights, sizeof weights); \
    }

WEIGHTED(uk_nhs, 11, 0, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1)
WEIGHTED(nl_bsn, 11, 0, 9, 8, 7, 6, 5, 4, 3, 2, -1)
WEIGHTED(pl_pesel, 10, 0, 1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1)
WEIGHTED(ch_ahv, 10, 0, 1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1)
WEIGHTED(au_tfn, 11, 0, 1, 4, 3, 7, 5, 8, 6, 9, 10)
WEIGHTED(cn_id, 11, 1, 7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2, 1)
WEIGHTED(us_routing, 10, 0, 3, 7, 1, 3, 7, 1, 3, 7, 1)
WEIGHTED(no_fnr_first, 11, 0, 3, 7, 6, 1, 8, 9, 4, 5, 2, 1)
WEIGHTED(no_fnr_second, 11, 0, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2, 1)

static size_t no_fnr(struct span text, size_t at, size_t len)
{
    return no_fnr_first(text, at, len) != 0 && no_fnr_second(text, at, len) != 0 ? len : 0;
}

/* CPF: of both check digits, 10 is written 0. */
static size_t br_cpf(struct span text, size_t at, size_t len)
{
    struct written w = read_symbols(span_part(text, at, len));
    bool differ = false;

    for (unsigned check = 9; check < 11 && w.count == 11; check++) {
        unsigned sum = 0;

        for (unsigned i = 0; i < check; i++) {
            sum += (unsigned)(w.symbol[i] - '0') * (check + 1 - i);
            differ |= w.symbol[i] != w.symbol[0];
        }
        if (sum * 10 % 11 % 10 != (unsigned)(w.symbol[check] - '0'))
            return 0;
    }
    return w.count == 11 && differ ? len : 0;
}

/* ISO 7064, modulo 11 and 10: Germany's tax number. */
static size_t de_tax(struct span text, size_t at, size_t len)
{
    struct written w = read_symbols(span_part(text, at, len));
    unsigned product = 10;

    for (unsigned i = 0; i < 10 && w.count == 11; i++) {
        unsigned sum = ((unsigned)(w.symbol[i] - '0') + product) % 10;

        product = (sum == 0 ? 10 : sum) * 2 % 11;
    }
    return w.count == 11 && (11 - product) % 10 == (unsigned)(w.symbol[10] - '0') ? len : 0;
}

/* A number and behind it the letter that its rest names. */
static size_t named_rest(struct span match, unsigned digits, const char *letters)
{
    struct written w = read_symbols(match);
    char all[DIGITS_MAX];
    unsigned used = 0;

    for (unsigned i = 0; i + 1 < w.count; i++)
        if (ascii_is_digit(w.symbol[i]))
            all[used++] = w.symbol[i];
        else if (i == 0) /* X, Y, Z of foreigners are 0, 1, 2 */
            all[used++] = (char)(w.symbol[0] - 'X' + '0');
    if (used != digits)
        return 0;
    return letters[number(all, digits) % strlen(letters)] == w.symbol[w.count - 1] ? match.len : 0;
}

static size_t es_dni(struct span text, size_t at, size_t len)
{
    return named_rest(span_part(text, at, len), 8, "TRWAGMYFPDXBNJZSQVHLCKE");
}

/* ddmmyy, a sign of the century, three digits, and what names the rest of nine. */
static size_t fi_hetu(struct span text, size_t at, size_t len)
{
    char packed[10];

    if (len != 11)
        return 0;
    memcpy(packed, text.at + at, 6);
    memcpy(packed + 6, text.at + at + 7, 4);
    return named_rest(span_of(packed, 10), 9, "0123456789ABCDEFHJKLMNPRSTUVWXY") != 0 ? len : 0;
}

static size_t fr_nir(struct span text, size_t at, size_t len)
{
    struct written w = read_symbols(span_part(text, at, len));
    uint64_t value = 0;

    for (unsigned i = 0; i < 13 && w.count == 15; i++) /* Corsica's 2A is 19 and 2B is 18 */
        if (ascii_is_digit(w.symbol[i]))
            value = value * 10 + (uint64_t)(w.symbol[i] - '0');
        else
            value = (value / 10 * 10 + 1) * 10 + (w.symbol[i] == 'A' ? 9 : 8);
    return w.count == 15 && 97 - value % 97 == number(w.symbol + 13, 2) ? len : 0;
}

static size_t be_rrn(struct span text, size_t at, size_t len)
{
    struct written w = read_symbols(span_part(text, at, len));
    unsigned value = number(w.symbol, 9), check = number(w.symbol + 9, 2);

    if (w.count != 11)
        return 0;
    return 97 - value % 97 == check || 97 - (value + UINT64_C(2000000000)) % 97 == check ? len : 0;
}

/* Odd places count by a table of their own, even ones by what stands there; the last letter names the sum. */
static size_t it_code(struct span text, size_t at, size_t len)
{
    static const char odd[] = {1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23};
    struct written w = read_symbols(span_part(text, at, len));
    unsigned sum = 0;

    for (unsigned i = 0; i < 15 && w.count == 16; i++) {
        unsigned value = (unsigned)(ascii_is_digit(w.symbol[i]) ? w.symbol[i] - '0' : w.symbol[i] - 'A');

        sum += i % 2 == 0 ? (unsigned)odd[value] : value;
    }
    return w.count == 16 && sum % 26 == (unsigned)(w.symbol[15] - 'A') ? len : 0;
}

/* Verhoeff's: products of the dihedral group of ten. */
static size_t in_aadhaar(struct span text, size_t at, size_t len)
{
    static const char shuffled[] = "1576283094";
    struct written w = read_symbols(span_part(text, at, len));
    unsigned c = 0;

    for (unsigned i = 0; i < w.count; i++) {
        unsigned d = (unsigned)(w.symbol[w.count - 1 - i] - '0');

        if (d > 9)
            return 0;
        for (unsigned turn = 0; turn < i % 8; turn++)
            d = (unsigned)(shuffled[d] - '0');
        c = c < 5 ? (d < 5 ? (c + d) % 5 : 5 + (c + d) % 5) : d < 5 ? 5 + (c + 5 - d) % 5 : (c + 5 - d) % 5;
    }
    return w.count == 12 && c == 0 ? len : 0;
}

/* ---- tokens ---- */

/* GitHub's and npm's: the last six are the CRC-32 of the thirty before them, in base 62. */
static size_t crc32(struct span text, size_t at, size_t len)
{
    static const char alphabet[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    const unsigned char *body;
    uint32_t crc = UINT32_MAX;

    if (len < 36)
        return 0;
    body = (const unsigned char *)text.at + at + len - 36;
    for (unsigned i = 0; i < 30; i++) {
        crc ^= body[i];
        for (unsigned bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? UINT32_C(0xedb88320) : 0);
    }
    crc = ~crc;
    for (unsigned i = 36; i-- > 30; crc /= 62)
        if (body[i] != (unsigned char)alphabet[crc % 62])
            return 0;
    return len;
}

/* Whether the first part, up to a dot, is base64url of an object of JSON that names an algorithm. */
static size_t jwt(struct span text, size_t at, size_t len)
{
    struct span head = span_part(text, at, len);
    bool names;
    struct buf json;
    enum code code;

    head.len = span_find(head, '.');
    buf_init(&json, len);
    code = base64url_decode(head, &json);
    names = code == CODE_NOMEM; /* for want of memory nobody has looked, which must hide nothing */
    if (code == CODE_OK) {
        struct span read = buf_peek(&json);

        names = read.len > 2 && read.at[0] == '{' && read.at[read.len - 1] == '}' && unicode_is_utf8(read) &&
                memmem(read.at, read.len, "\"alg\"", 5) != NULL;
    }
    buf_fini(&json);
    return names ? len : 0;
}

#define PEM_LINE 32 /* bytes of base64 without anything between */

/* A body of base64 between two lines of armour; or headers before it. What is only talked about has none. */
static size_t pem(struct span text, size_t at, size_t len)
{
    struct span body = span_part(text, at, len);
    size_t run = 0;

    for (size_t i = span_find(span_part(body, 11, SIZE_MAX), '-') + 16; i < len && run < PEM_LINE; i++)
        run = ascii_is_word(body.at[i]) || body.at[i] == '+' || body.at[i] == '/' ? run + 1 : 0;
    return run == PEM_LINE ? len : 0;
}

/* What a generator drew: letters and digits of many kinds, no run of one of them, and no word for a placeholder. */
static size_t random_text(struct span text, size_t at, size_t len)
{
    static const char *const words[] = {"example", "xxxx",        "0000",  "1234567", "abcdef",
                                        "your",    "placeholder", "test-", "dummy"};
    unsigned seen[256] = {0}, kinds = 0, digits = 0, most = 0;
    char folded[256];
    size_t count = len < sizeof folded ? len : sizeof folded;

    for (size_t i = 0; i < count; i++) {
        unsigned char c = (unsigned char)text.at[at + i];

        kinds += seen[c]++ == 0;
        most = seen[c] > most ? seen[c] : most;
        digits += ascii_is_digit((char)c);
        folded[i] = ascii_lower((char)c);
    }
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (memmem(folded, count, words[i], strlen(words[i])) != NULL)
            return 0;
    return digits > 0 && digits < count && kinds * 3 >= (count < 36 ? count : 36) && most * 4 <= count + 8 ? len : 0;
}

/* At least ten different characters, of two kinds among capitals, small letters and digits. */
static size_t mixed(struct span text, size_t at, size_t len)
{
    bool seen[256] = {false}, capitals = false, small = false, digits = false;
    unsigned kinds = 0;

    for (size_t i = at; i < at + len; i++) {
        char c = text.at[i];

        kinds += !seen[(unsigned char)c];
        seen[(unsigned char)c] = true;
        capitals |= c >= 'A' && c <= 'Z';
        small |= c >= 'a' && c <= 'z';
        digits |= ascii_is_digit(c);
    }
    return kinds >= 10 && capitals + small + digits >= 2 ? len : 0;
}

/* Base58 with the first four bytes of SHA-256, twice, behind it: keys of Bitcoin and its kind. */
static size_t base58check(struct span text, size_t at, size_t len)
{
    static const char alphabet[] = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
    unsigned char bytes[96] = {0}, hash[DIGEST_BYTES];
    size_t used = 0;

    for (size_t i = 0; i < len; i++) {
        const char *place = strchr(alphabet, text.at[at + i]);
        unsigned carry = place != NULL ? (unsigned)(place - alphabet) : 0;

        if (place == NULL || text.at[at + i] == '\0')
            return 0;
        for (size_t j = 0; j < used || carry > 0; j++) {
            if (j == sizeof bytes)
                return 0;
            used = j >= used ? j + 1 : used;
            carry += bytes[sizeof bytes - 1 - j] * 58u;
            bytes[sizeof bytes - 1 - j] = (unsigned char)carry;
            carry >>= 8;
        }
    }
    if (used < 5)
        return 0;
    digest_of(span_of((char *)bytes + sizeof bytes - used, used - 4), hash);
    digest_of(span_of((char *)hash, sizeof hash), hash);
    return memcmp(hash, bytes + sizeof bytes - 4, 4) == 0 ? len : 0;
}

/* ---- text ---- */

/* Where unicode/ says that the match deceives, as it stands among its neighbours. */
static size_t hidden(struct span text, size_t at, size_t len)
{
    size_t from = at;
    uint32_t before = 0, point;

    while (from > 0 && at - from < 4 && ((unsigned char)text.at[--from] & 0xc0) == 0x80)
        ;
    if (at > 0)
        (void)unicode_next(span_part(text, from, at - from), &before);
    for (size_t i = 0; i < len;) {
        size_t taken = unicode_next(span_part(text, at + i, SIZE_MAX), &point);

        if (taken == 0)
            return 0;
        i += taken;
        if (point == '\x1b' || (point >= 0xfe00 && point <= 0xfe0f) || point >= 0xe0100 ||
            unicode_deceives(before, point, span_part(text, at + i, SIZE_MAX)))
            return len;
        before = point;
    }
    return 0;
}

#define CHECKS(X) \
    X("payment_card", payment_card) X("iban", iban) X("luhn", luhn) X("us_ssn", us_ssn) X("us_routing", us_routing) \
    X("se_person", se_person) X("uk_nhs", uk_nhs) \
    X("nl_bsn", nl_bsn) X("pl_pesel", pl_pesel) X("ch_ahv", ch_ahv) X("au_tfn", au_tfn) X("cn_id", cn_id) \
    X("no_fnr", no_fnr) X("br_cpf", br_cpf) X("de_tax", de_tax) X("es_dni", es_dni) X("fi_hetu", fi_hetu) \
    X("fr_nir", fr_nir) X("be_rrn", be_rrn) X("it_code", it_code) X("in_aadhaar", in_aadhaar) X("crc32", crc32) \
    X("jwt", jwt) X("pem", pem) X("random", random_text) X("mixed", mixed) X("base58check", base58check) X("hidden", hidden)

#define X(word, check) word,
const char *const detector_check_names[] = {CHECKS(X) NULL};
#undef X
#define X(word, check) check,
const detector_check detector_checks[] = {CHECKS(X)};
#undef X
