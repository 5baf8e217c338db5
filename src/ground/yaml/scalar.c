/* SPDX-License-Identifier: Apache-2.0 */
#include "base/num.h"
#include "yaml/yaml_priv.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* As in json/: nobody needs longer numbers, and each comparison of one would cost more. */
#define MAX_NUMBER_DIGITS 400

static size_t digits_at(struct span text, size_t at)
{
    size_t count = 0;

    while (at + count < text.len && text.at[at + count] >= '0' && text.at[at + count] <= '9')
        count++;
    return count;
}

/* The parts of [-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)? */
struct number {
    bool negative;
    struct span whole, fraction, exponent; /* exponent with its e and sign */
    bool has_point;
};

static bool split_number(struct span text, struct number *number)
{
    size_t at = 0, count;

    *number = (struct number){.negative = text.len > 0 && text.at[0] == '-'};
    if (text.len > 0 && (text.at[0] == '-' || text.at[0] == '+'))
        at++;
    count = digits_at(text, at);
    number->whole = span_part(text, at, count);
    at += count;
    if (at < text.len && text.at[at] == '.') {
        number->has_point = true;
        count = digits_at(text, ++at);
        number->fraction = span_part(text, at, count);
        at += count;
    }
    if (number->whole.len == 0 && number->fraction.len == 0)
        return false;
    if (at < text.len && (text.at[at] == 'e' || text.at[at] == 'E')) {
        size_t begin = at++;

        if (at < text.len && (text.at[at] == '-' || text.at[at] == '+'))
            at++;
        count = digits_at(text, at);
        if (count == 0)
            return false;
        at += count;
        number->exponent = span_part(text, begin, at - begin);
    }
    return at == text.len;
}

static enum code decimal(struct arena *arena, const struct number *number, struct yaml_node *node, const char **fault)
{
    size_t room = number->whole.len + number->fraction.len + number->exponent.len + 8;
    char *json;
    int len;

    if (number->whole.len + number->fraction.len > MAX_NUMBER_DIGITS || number->exponent.len > MAX_NUMBER_DIGITS) {
        *fault = "a number of more than 400 digits; quote it if it is a text";
        return CODE_INVALID;
    }
    /* 010 is ten for YAML 1.2, eight for YAML 1.1, and no JSON at all. */
    if (number->whole.len > 1 && number->whole.at[0] == '0') {
        *fault = "a number with a leading zero, which readers disagree on; leave the zero out, or quote it if it is a text";
        return CODE_INVALID;
    }
    json = arena_alloc(arena, room);
    if (json == NULL)
        return CODE_NOMEM;
    len = snprintf(json, room, "%s%.*s%s%.*s%.*s", number->negative ? "-" : "",
                   number->whole.len ? (int)number->whole.len : 1, number->whole.len ? number->whole.at : "0",
                   number->has_point ? "." : "", number->fraction.len || !number->has_point ? (int)number->fraction.len : 1,
                   number->fraction.len ? number->fraction.at : number->has_point ? "0" : "", SPAN_ARG(number->exponent));
    node->json = span_of(json, (size_t)len);
    if (isinf(strtod(json, NULL))) {
        *fault = "a number that is too large for a JSON reader; quote it if it is a text";
        return CODE_INVALID;
    }
    node->type = number->has_point || number->exponent.len > 0 ? YAML_FLOAT : YAML_INT;
    return CODE_OK;
}

/* 0o17 and 0x1f, which JSON writes in decimal. Returns: CODE_NOT_FOUND for anything else. */
static enum code based(struct arena *arena, struct span text, struct yaml_node *node, const char **fault)
{
    unsigned bits = text.len > 2 && text.at[0] == '0' ? (text.at[1] == 'x' ? 4 : text.at[1] == 'o' ? 3 : 0) : 0;
    uint64_t value = 0;
    char *json;

    if (bits == 0)
        return CODE_NOT_FOUND;
    for (size_t i = 2; i < text.len; i++) {
        char c = text.at[i];

        if (!((c >= '0' && c <= '7') || (bits == 4 && (c == '8' || c == '9' || ((c | 32) >= 'a' && (c | 32) <= 'f')))))
            return CODE_NOT_FOUND;
    }
    for (size_t i = 2; i < text.len; i++) {
        char c = text.at[i];

        if (value >> (64 - bits) != 0) {
            *fault = "a number of more than 64 bits; quote it if it is a text";
            return CODE_INVALID;
        }
        value = value << bits | (uint64_t)(c <= '9' ? c - '0' : (c | 32) - 'a' + 10);
    }
    json = arena_alloc(arena, 24);
    if (json == NULL)
        return CODE_NOMEM;
    node->json = span_of(json, (size_t)snprintf(json, 24, "%llu", (unsigned long long)value));
    node->type = YAML_INT;
    return CODE_OK;
}

static enum code quoted(struct arena *arena, struct span text, struct span *json)
{
    char *begin = arena_alloc(arena, yaml__quoted_bytes(text));

    if (begin == NULL)
        return CODE_NOMEM;
    *json = span_of(begin, yaml__quote(text, begin));
    return CODE_OK;
}

enum code yaml__scalar(struct arena *arena, struct span text, bool plain, struct yaml_node *node, const char **fault)
{
    static const char *const nulls[] = {"", "~", "null", "Null", "NULL", NULL};
    static const char *const trues[] = {"true", "True", "TRUE", NULL};
    static const char *const falses[] = {"false", "False", "FALSE", NULL};
    static const char *const nowhere[] = {".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF", "-.inf", "-.Inf", "-.INF",
                                          ".nan", ".NaN", ".NAN", NULL};
    struct number number;
    enum code code;

    node->text = text;
    if (plain) {
        if (span_is_one_of(text, nulls)) {
            node->type = YAML_NULL;
            node->json = SPAN_LIT("null");
            return CODE_OK;
        }
        node->truth = span_is_one_of(text, trues);
        if (node->truth || span_is_one_of(text, falses)) {
            node->type = YAML_BOOL;
            node->json = node->truth ? SPAN_LIT("true") : SPAN_LIT("false");
            return CODE_OK;
        }
        if (span_is_one_of(text, nowhere)) {
            *fault = "infinity and not-a-number cannot be written in JSON; quote it if it is a text";
            return CODE_INVALID;
        }
        if (split_number(text, &number))
            return decimal(arena, &number, node, fault);
        code = based(arena, text, node, fault);
        if (code != CODE_NOT_FOUND)
            return code;
    }
    node->type = YAML_STRING;
    return quoted(arena, text, &node->json);
}
