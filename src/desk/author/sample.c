/* SPDX-License-Identifier: Apache-2.0 */
#include "author/sample.h"

#include <ctype.h>
#include <string.h>

#define DEPTH_MAX 16

struct sampler {
    struct span pattern;
    size_t at;
    struct sample *out;
    bool is_any; /* what was written last stands for any character, a dot and a slash among them */
    unsigned depth;
};

static void take_alternatives(struct sampler *s);

static char peek(const struct sampler *s, size_t ahead)
{
    return s->at + ahead < s->pattern.len ? s->pattern.at[s->at + ahead] : '\0';
}

static void put(struct sampler *s, const char *bytes, size_t len)
{
    if (s->out->len + len > SAMPLE_MAX)
        return;
    memcpy(s->out->text + s->out->len, bytes, len);
    s->out->len += len;
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
    s->is_any = memchr(s->pattern.at + begin, '.', s->at - begin) != NULL;
    s->is_any = (memchr(s->pattern.at + begin, '/', s->at - begin) != NULL) == s->is_any && s->is_any != negated;
    s->at++;
    if (member != '\0')
        put(s, &member, 1);
}

static void take_group(struct sampler *s)
{
    if (peek(s, 0) == '?') {
        char kind = peek(s, 1);

        if (kind == '=' || kind == '!' || kind == '<') { /* looking around writes nothing */
            uint32_t any = s->out->any_count;
            size_t before = s->out->len;

            s->at += 2;
            take_alternatives(s);
            s->out->len = before;
            s->out->any_count = any;
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
    s->is_any = c == '.';
    if (c == '(') {
        take_group(s);
    } else if (c == '[') {
        take_class(s);
    } else if (c == '\\') {
        s->is_any = peek(s, 0) == 'S' || peek(s, 0) == 'D' || peek(s, 0) == 'W';
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
        for (s->at++; isdigit((unsigned char)peek(s, 0)) && count < SAMPLE_MAX; s->at++)
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

static void note_any(struct sampler *s, size_t at, bool is_run)
{
    struct sample *out = s->out;

    if (out->any_count < SAMPLE_ANY_MAX && at < out->len)
        out->any[out->any_count++] = (struct sample_any){at, is_run};
}

static void take_sequence(struct sampler *s)
{
    while (s->at < s->pattern.len && peek(s, 0) != '|' && peek(s, 0) != ')') {
        bool is_dot = peek(s, 0) == '.', is_run;
        size_t begin = s->out->len, end;

        take_item(s);
        end = s->out->len;
        is_run = peek(s, 0) == '*' || peek(s, 0) == '+' || peek(s, 0) == '{';
        if (s->is_any && (is_dot || is_run))
            note_any(s, begin, is_run);
        s->is_any = false;
        for (unsigned count = take_count(s); count > 1; count--)
            put(s, s->out->text + begin, end - begin);
    }
}

static void take_alternatives(struct sampler *s)
{
    uint32_t any;
    size_t kept;

    if (++s->depth > DEPTH_MAX)
        s->at = s->pattern.len;
    take_sequence(s);
    kept = s->out->len;
    any = s->out->any_count;
    while (peek(s, 0) == '|') {
        s->at++;
        take_sequence(s);
        s->out->len = kept;
        s->out->any_count = any;
    }
    s->depth--;
}

void sample_make(struct span pattern, struct sample *sample)
{
    struct sampler s = {.pattern = pattern, .out = sample};

    sample->len = sample->any_count = 0;
    take_alternatives(&s);
}
