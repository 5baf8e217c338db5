/* SPDX-License-Identifier: Apache-2.0 */
/* Texts that a regex is likely to match: a guess for calls that are tried, never a judgement. Of alternatives the first is
 * taken, of repetitions the fewest but one, and what is not understood is left out. */
#include "diff/diff_priv.h"

#include <ctype.h>

#define DEPTH_MAX 16

struct sampler {
    struct span pattern;
    size_t at;
    char *out;
    size_t len;
    unsigned depth;
};

static void take_alternatives(struct sampler *s);

static char peek(const struct sampler *s, size_t ahead)
{
    return s->at + ahead < s->pattern.len ? s->pattern.at[s->at + ahead] : '\0';
}

static void put(struct sampler *s, const char *bytes, size_t len)
{
    if (s->len + len > DIFF_SAMPLE_MAX)
        return;
    memcpy(s->out + s->len, bytes, len);
    s->len += len;
}

/* What an escape stands for; '\0': nothing that can be written. */
static char escaped(char letter)
{
    switch (letter) {
    case 'd': return '5';
    case 'w': return 'w';
    case 's': return ' ';
    case 'D':
    case 'S': return 'x';
    case 'W': return '-';
    case 'n': return '\n';
    case 't': return '\t';
    case 'r': return '\r';
    default: return isalnum((unsigned char)letter) ? '\0' : letter;
    }
}

/* A class that begins behind its `[`: its first member, or for a negated one a letter that it does not name. */
static void take_class(struct sampler *s)
{
    static const char others[] = "xq7-Z ._";
    bool negated = peek(s, 0) == '^', first = true;
    char member = '\0';
    size_t begin;

    s->at += negated;
    begin = s->at;
    for (; s->at < s->pattern.len && (first || peek(s, 0) != ']'); first = false) {
        char c = peek(s, 0);

        if (c == '\\') {
            s->at++;
            c = escaped(peek(s, 0));
        } else if (c == '[' && peek(s, 1) == ':') { /* [:alpha:] */
            while (s->at < s->pattern.len && !(peek(s, 0) == ':' && peek(s, 1) == ']' && s->at > begin))
                s->at++;
            s->at++;
            c = 'a';
        }
        if (member == '\0')
            member = c;
        s->at++;
    }
    for (size_t i = 0; negated && i < sizeof others - 1; i++)
        if (memchr(s->pattern.at + begin, others[i], s->at - begin) == NULL) {
            member = others[i];
            break;
        }
    s->at++;
    if (member != '\0')
        put(s, &member, 1);
}

static void take_group(struct sampler *s)
{
    if (peek(s, 0) == '?') {
        char kind = peek(s, 1);

        if (kind == '=' || kind == '!' || kind == '<') { /* looking around writes nothing */
            size_t before = s->len;

            s->at += 2;
            take_alternatives(s);
            s->len = before;
            s->at++;
            return;
        }
        while (s->at < s->pattern.len && peek(s, 0) != ':' && peek(s, 0) != ')')
            s->at++;
        if (peek(s, 0) == ')') { /* (?i) */
            s->at++;
            return;
        }
        s->at++;
    }
    take_alternatives(s);
    s->at++;
}

static void take_item(struct sampler *s)
{
    char c = peek(s, 0);

    s->at++;
    if (c == '(') {
        take_group(s);
    } else if (c == '[') {
        take_class(s);
    } else if (c == '\\') {
        c = escaped(peek(s, 0));
        s->at++;
        if (c != '\0')
            put(s, &c, 1);
    } else if (c != '^' && c != '$') {
        c = c == '.' ? 'x' : c;
        put(s, &c, 1);
    }
}

/* Returns: how often what came before is wanted. */
static unsigned take_count(struct sampler *s)
{
    unsigned count = 0;
    char c = peek(s, 0);

    if (c == '*' || c == '+' || c == '?') {
        s->at++;
    } else if (c == '{' && isdigit((unsigned char)peek(s, 1))) {
        for (s->at++; isdigit((unsigned char)peek(s, 0)) && count < DIFF_SAMPLE_MAX; s->at++)
            count = count * 10 + (unsigned)(peek(s, 0) - '0');
        while (s->at < s->pattern.len && peek(s, 0) != '}')
            s->at++;
        s->at++;
    } else {
        return 1;
    }
    if (peek(s, 0) == '+' || peek(s, 0) == '?') /* possessive, lazy */
        s->at++;
    return count > 0 ? count : 1;
}

static void take_sequence(struct sampler *s)
{
    while (s->at < s->pattern.len && peek(s, 0) != '|' && peek(s, 0) != ')') {
        size_t begin = s->len, end;

        take_item(s);
        end = s->len;
        for (unsigned count = take_count(s); count > 1; count--)
            put(s, s->out + begin, end - begin);
    }
}

static void take_alternatives(struct sampler *s)
{
    size_t kept;

    if (++s->depth > DEPTH_MAX)
        s->at = s->pattern.len;
    take_sequence(s);
    kept = s->len;
    while (peek(s, 0) == '|') {
        s->at++;
        take_sequence(s);
        s->len = kept;
    }
    s->depth--;
}

size_t diff__sample(struct span pattern, char out[DIFF_SAMPLE_MAX])
{
    struct sampler s = {.pattern = pattern, .out = out};

    take_alternatives(&s);
    return s.len;
}
