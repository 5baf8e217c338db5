/* SPDX-License-Identifier: Apache-2.0 */
#include "json/json_priv.h"

#include "base/ascii.h"

/* Exponents may have hundreds of digits, so differences of exponents are followed only this far; a lexeme is never
 * long enough for its digits to make up for more. */
#define FAR INT64_C(100000000000000000)

/* A lexeme, taken apart. Its value is 0.d1d2d3... * 10^(shift + exponent), where d1 is not 0. */
struct decimal {
    bool negative;
    bool zero;
    struct span digits;   /* from the first that is not 0, with the point among them */
    int64_t shift;        /* digits from there to the point; negative or 0 where the point stands before it */
    struct span exponent; /* digits only, without leading zeros */
    bool exponent_negative;
};

/* Most numbers are short and whole: up to 15 digits, no point, no exponent. A fifth of a small call's judging went into
 * taking them apart. */
static bool is_short_integer(struct span lexeme, int64_t *value)
{
    size_t i = lexeme.len > 0 && lexeme.at[0] == '-';
    bool negative = i > 0;

    if (lexeme.len == i || lexeme.len - i > 15)
        return false;
    for (*value = 0; i < lexeme.len; i++) {
        if (!ascii_is_digit(lexeme.at[i]))
            return false;
        *value = *value * 10 + (lexeme.at[i] - '0');
    }
    if (negative)
        *value = -*value;
    return true;
}

static struct decimal decimal_of(struct span lexeme)
{
    struct decimal d = {.negative = lexeme.len > 0 && lexeme.at[0] == '-'};
    size_t i = d.negative, point, first;

    while (i < lexeme.len && lexeme.at[i] != 'e' && lexeme.at[i] != 'E')
        i++;
    d.exponent = span_part(lexeme, i + 1, SIZE_MAX);
    d.digits = span_part(lexeme, d.negative, i - d.negative);
    if (d.exponent.len > 0 && !ascii_is_digit(d.exponent.at[0])) {
        d.exponent_negative = d.exponent.at[0] == '-';
        d.exponent = span_part(d.exponent, 1, SIZE_MAX);
    }
    while (d.exponent.len > 0 && d.exponent.at[0] == '0')
        d.exponent = span_part(d.exponent, 1, SIZE_MAX);
    point = span_find(d.digits, '.');
    for (first = 0; first < d.digits.len && (d.digits.at[first] == '0' || d.digits.at[first] == '.'); first++)
        ;
    d.zero = first == d.digits.len;
    d.shift = first < point ? (int64_t)(point - first) : (int64_t)point + 1 - (int64_t)first;
    d.digits = span_part(d.digits, first, SIZE_MAX);
    return d;
}

/* The digit that stands for 10^place in a whole number's digits. */
static int digit_at(struct span digits, size_t place)
{
    return place < digits.len ? digits.at[digits.len - 1 - place] - '0' : 0;
}

/* The difference of two exponents, cut at +-FAR: past it later digits cannot bring it back. */
static int64_t exponent_difference(const struct decimal *a, const struct decimal *b)
{
    size_t places = a->exponent.len > b->exponent.len ? a->exponent.len : b->exponent.len;
    int64_t difference = 0;

    while (places-- > 0) {
        int from_a = digit_at(a->exponent, places), from_b = digit_at(b->exponent, places);

        difference = difference * 10 + (a->exponent_negative ? -from_a : from_a) -
                     (b->exponent_negative ? -from_b : from_b);
        if (difference > FAR || difference < -FAR)
            return difference > 0 ? FAR : -FAR;
    }
    return difference;
}

/* The next digit, the point left out; 0 behind the last. */
static char next_digit(struct span *digits)
{
    char digit;

    if (digits->len > 0 && digits->at[0] == '.')
        *digits = span_part(*digits, 1, SIZE_MAX);
    digit = digits->len > 0 ? digits->at[0] : '0';
    *digits = span_part(*digits, 1, SIZE_MAX);
    return digit;
}

/* Compares without the signs; neither is 0. */
static int compare_magnitudes(const struct decimal *a, const struct decimal *b)
{
    int64_t difference = exponent_difference(a, b) + a->shift - b->shift;
    struct span left = a->digits, right = b->digits;

    if (difference != 0)
        return difference < 0 ? -1 : 1;
    while (left.len > 0 || right.len > 0) {
        char from_a = next_digit(&left), from_b = next_digit(&right);

        if (from_a != from_b)
            return from_a < from_b ? -1 : 1;
    }
    return 0;
}

int json_number_compare(struct span a, struct span b)
{
    struct decimal left, right;
    int64_t value_a, value_b;
    int sign_a, sign_b;

    if (is_short_integer(a, &value_a) && is_short_integer(b, &value_b))
        return (value_a > value_b) - (value_a < value_b);
    left = decimal_of(a);
    right = decimal_of(b);
    sign_a = left.zero ? 0 : left.negative ? -1 : 1;
    sign_b = right.zero ? 0 : right.negative ? -1 : 1;
    if (sign_a != sign_b)
        return sign_a < sign_b ? -1 : 1;
    return sign_a == 0 ? 0 : sign_a * compare_magnitudes(&left, &right);
}

enum code json_number_plain(struct span lexeme, struct buf *out)
{
    struct decimal d = decimal_of(lexeme);
    struct span digits = d.digits;
    int64_t exponent = 0;

    if (d.zero)
        return buf_add_text(out, "0");
    if (d.exponent.len > 17) /* nobody writes such an exponent, so the number is taken as equal to its own spelling alone */
        return buf_add_span(out, lexeme);
    for (size_t i = 0; i < d.exponent.len; i++)
        exponent = exponent * 10 + (d.exponent.at[i] - '0');
    while (span_ends_with(digits, SPAN_LIT("0")) || span_ends_with(digits, SPAN_LIT(".")))
        digits.len--;
    if (d.negative)
        buf_add_byte(out, '-');
    for (size_t i = 0; i < digits.len; i++)
        if (digits.at[i] != '.')
            buf_add_byte(out, digits.at[i]);
    return buf_addf(out, "e%lld", (long long)(d.shift + (d.exponent_negative ? -exponent : exponent)));
}

struct span json_number_next(struct span canonical, size_t at)
{
    size_t end;

    for (; at < canonical.len && canonical.at[at] != '-' && !ascii_is_digit(canonical.at[at]); at++)
        if (canonical.at[at] == '"')
            for (at++; at < canonical.len && canonical.at[at] != '"'; at++)
                at += canonical.at[at] == '\\';
    for (end = at; end < canonical.len && strchr(",;]}", canonical.at[end]) == NULL; end++)
        ;
    return at < canonical.len ? span_part(canonical, at, end - at) : SPAN_NONE;
}

bool json_number_is_integer(struct span lexeme)
{
    static const struct decimal none;
    struct decimal d;
    int64_t digits = 0, significant = 0, value;

    if (is_short_integer(lexeme, &value))
        return true;
    d = decimal_of(lexeme);
    if (d.zero)
        return true;
    while (d.digits.len > 0) {
        char digit = next_digit(&d.digits);

        digits++;
        if (digit != '0')
            significant = digits;
    }
    return d.shift + exponent_difference(&d, &none) >= significant;
}

enum code json_number_scaled(struct span lexeme, unsigned places, uint64_t *value)
{
    static const struct decimal none;
    struct decimal d = decimal_of(lexeme);
    int64_t point;
    uint64_t scaled = 0;

    *value = 0;
    if (d.zero)
        return CODE_OK;
    if (d.negative)
        return CODE_INVALID;
    point = d.shift + exponent_difference(&d, &none) + places; /* how many digits stand before the point */
    for (int64_t i = 0; i < point || d.digits.len > 0; i++) {
        int digit = next_digit(&d.digits) - '0';

        if (i >= point && digit != 0)
            return CODE_INVALID;
        if (i < point && (__builtin_mul_overflow(scaled, 10, &scaled) || __builtin_add_overflow(scaled, digit, &scaled)))
            return CODE_LIMIT;
    }
    *value = scaled;
    return CODE_OK;
}

bool json_number_is_unsafe(struct span lexeme)
{
    struct span magnitude = span_part(lexeme, lexeme.len > 0 && lexeme.at[0] == '-', SIZE_MAX);
    int64_t value;

    if (is_short_integer(lexeme, &value))
        return false;
    return json_number_is_integer(lexeme) && json_number_compare(magnitude, SPAN_LIT("9007199254740991")) > 0;
}

static const unsigned char *skip_digits(const unsigned char *at, const unsigned char *end)
{
    while (at < end && ascii_is_digit((char)*at))
        at++;
    return at;
}

/* A lexeme with a few digits and an exponent of at most two cannot come near the bound. */
static bool is_in_range(struct span lexeme, size_t whole, size_t exponent)
{
    if (whole <= 200 && exponent <= 2)
        return true;
    if (lexeme.at[0] == '-')
        lexeme = span_part(lexeme, 1, SIZE_MAX);
    return json_number_compare(lexeme, SPAN_LIT("1.7976931348623157e308")) <= 0;
}

bool json__read_number(struct json__reader *r)
{
    const unsigned char *at = r->at, *mark;
    size_t whole, fraction = 0, exponent = 0;
    struct span lexeme;

    at += *at == '-';
    mark = at;
    at = skip_digits(at, r->end);
    whole = (size_t)(at - mark);
    if (whole == 0 || (whole > 1 && *mark == '0'))
        return json__fail(r, JSON_FAULT_SYNTAX, mark, whole ? "a number with a leading zero" : "a sign without a digit");
    if (at < r->end && *at == '.') {
        mark = ++at;
        at = skip_digits(at, r->end);
        fraction = (size_t)(at - mark);
        if (fraction == 0)
            return json__fail(r, JSON_FAULT_SYNTAX, at, "a point without a digit behind it");
    }
    if (at < r->end && (*at == 'e' || *at == 'E')) {
        at++;
        at += at < r->end && (*at == '+' || *at == '-');
        mark = at;
        at = skip_digits(at, r->end);
        exponent = (size_t)(at - mark);
        if (exponent == 0)
            return json__fail(r, JSON_FAULT_SYNTAX, at, "an exponent without a digit");
    }
    lexeme = span_of(r->at, (size_t)(at - r->at));
    if (whole + fraction + exponent > JSON__DIGITS_MAX)
        return json__fail(r, JSON_FAULT_NUMBER, r->at, "a number of more than 400 digits");
    if (!is_in_range(lexeme, whole, exponent))
        return json__fail(r, JSON_FAULT_NUMBER, r->at, "a number beyond the range of a double");
    if (!json__emit(r, lexeme.at, lexeme.len))
        return false;
    r->at = at;
    return true;
}
