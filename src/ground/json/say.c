/* SPDX-License-Identifier: Apache-2.0 */
/* A second, looser reader for JSON inside a string. Whoever reads that string may read it loosely, so nothing that
 * another reader takes is refused here. Documents themselves are read by read.c. */
#include "json/json.h"

#include "base/num.h"
#include "base/utf8.h"

#define LEVELS_MAX 1024

struct sayer {
    const char *at, *end;
    char *out;
    size_t depth;
    bool is_object[LEVELS_MAX];
};

static void skip_blanks(struct sayer *s)
{
    while (s->at < s->end && (*s->at == ' ' || *s->at == '\t' || *s->at == '\n' || *s->at == '\r'))
        s->at++;
}

static bool next_is(const struct sayer *s, char c)
{
    return s->at < s->end && *s->at == c;
}

static bool copy_if(struct sayer *s, char c)
{
    if (!next_is(s, c))
        return false;
    *s->out++ = *s->at++;
    return true;
}

/* ---- scalars ---- */

static bool read_hex4(struct sayer *s, uint32_t *value)
{
    *value = 0;
    for (int i = 0; i < 4; i++, s->at++) {
        int digit = s->at < s->end ? num_hex_digit(*s->at) : -1;

        if (digit < 0)
            return false;
        *value = *value << 4 | (uint32_t)digit;
    }
    return true;
}

/* Reads behind `\u`. Half a surrogate pair becomes U+FFFD, so that it does not hide the rest of the text from judgement. */
static bool say_point(struct sayer *s)
{
    uint32_t point, low;
    const char *behind;

    if (!read_hex4(s, &point))
        return false;
    behind = s->at;
    if (point >= 0xd800 && point <= 0xdbff && s->end - s->at >= 6 && s->at[0] == '\\' && s->at[1] == 'u') {
        s->at += 2;
        if (!read_hex4(s, &low))
            return false;
        if (low >= 0xdc00 && low <= 0xdfff)
            point = 0x10000 + ((point - 0xd800) << 10) + (low - 0xdc00);
        else
            s->at = behind; /* the second escape is no half of this pair and is read by itself */
    }
    s->out += utf8_put(s->out, point >= 0xd800 && point <= 0xdfff ? 0xfffd : point);
    return true;
}

static bool say_escape(struct sayer *s)
{
    static const char from[] = "bfnrt/\\\"", to[] = "\b\f\n\r\t/\\\"";
    const char *found;

    if (s->at == s->end)
        return false;
    if (*s->at == 'u') {
        s->at++;
        return say_point(s);
    }
    found = memchr(from, *s->at, sizeof from - 1);
    if (found == NULL)
        return false;
    *s->out++ = to[found - from];
    s->at++;
    return true;
}

static bool say_string(struct sayer *s, bool quotes)
{
    if (!next_is(s, '"'))
        return false;
    s->at++;
    if (quotes)
        *s->out++ = '"';
    while (s->at < s->end && *s->at != '"') {
        if ((unsigned char)*s->at < 0x20)
            return false;
        if (*s->at != '\\') {
            *s->out++ = *s->at++;
            continue;
        }
        s->at++;
        if (!say_escape(s))
            return false;
    }
    if (s->at == s->end)
        return false;
    s->at++;
    if (quotes)
        *s->out++ = '"';
    return true;
}

static bool say_digits(struct sayer *s)
{
    const char *begin = s->at;

    while (s->at < s->end && *s->at >= '0' && *s->at <= '9')
        *s->out++ = *s->at++;
    return s->at > begin;
}

static bool say_number(struct sayer *s)
{
    (void)copy_if(s, '-');
    if (!copy_if(s, '0') && !say_digits(s))
        return false;
    if (copy_if(s, '.') && !say_digits(s))
        return false;
    if (!copy_if(s, 'e') && !copy_if(s, 'E'))
        return true;
    if (!copy_if(s, '+'))
        (void)copy_if(s, '-');
    return say_digits(s);
}

static bool say_word(struct sayer *s)
{
    static const struct span words[] = {{"true", 4}, {"false", 5}, {"null", 4}};

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (span_starts_with(span_of(s->at, (size_t)(s->end - s->at)), words[i])) {
            memcpy(s->out, words[i].at, words[i].len);
            s->out += words[i].len;
            s->at += words[i].len;
            return true;
        }
    return false;
}

/* ---- arrays and objects, without recursion ---- */

static bool say_name(struct sayer *s)
{
    skip_blanks(s);
    if (!say_string(s, true))
        return false;
    skip_blanks(s);
    return copy_if(s, ':');
}

static char closing_of(const struct sayer *s)
{
    return s->is_object[s->depth - 1] ? '}' : ']';
}

/* At a value. *complete: it was a scalar or is empty; otherwise its first member is next. */
static enum code begin_value(struct sayer *s, bool *complete)
{
    skip_blanks(s);
    *complete = true;
    if (s->at == s->end)
        return CODE_INVALID;
    if (*s->at == '"')
        return say_string(s, s->depth > 0) ? CODE_OK : CODE_INVALID;
    if (*s->at != '{' && *s->at != '[')
        return say_word(s) || say_number(s) ? CODE_OK : CODE_INVALID;
    if (s->depth == LEVELS_MAX)
        return CODE_LIMIT;
    s->is_object[s->depth++] = *s->at == '{';
    *s->out++ = *s->at++;
    skip_blanks(s);
    if (copy_if(s, closing_of(s))) {
        s->depth--;
        return CODE_OK;
    }
    *complete = false;
    return !s->is_object[s->depth - 1] || say_name(s) ? CODE_OK : CODE_INVALID;
}

/* Behind a complete value: closes what it completes. *ended: that was the whole text. */
static bool end_value(struct sayer *s, bool *ended)
{
    for (;;) {
        skip_blanks(s);
        *ended = s->depth == 0;
        if (*ended)
            return s->at == s->end;
        if (copy_if(s, ','))
            return !s->is_object[s->depth - 1] || say_name(s);
        if (!copy_if(s, closing_of(s)))
            return false;
        s->depth--;
    }
}

enum code json_say(struct span text, struct buf *out)
{
    struct sayer s; /* not cleared: levels are written before they are read */
    bool ended = false;
    enum code code;
    char *start;

    code = buf_reserve(out, text.len, &start); /* no text becomes longer */
    if (code != CODE_OK)
        return code;
    s.at = text.len > 0 ? text.at : "";
    s.end = s.at + text.len;
    s.out = start;
    s.depth = 0;
    while (!ended) {
        bool complete;

        code = begin_value(&s, &complete);
        if (code != CODE_OK)
            return code;
        if (complete && !end_value(&s, &ended))
            return CODE_INVALID;
    }
    buf_commit(out, (size_t)(s.out - start));
    return CODE_OK;
}
