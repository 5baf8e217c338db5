/* SPDX-License-Identifier: Apache-2.0 */
/* A span: borrowed bytes with a length, for no longer than the step that made it.
 *
 * Threads: any.
 * Owns: nothing.
 * Lifetime: that of the bytes it points into; what must live longer is an offset or a copy.
 * Errors: none. */
#ifndef BASE_SPAN_H
#define BASE_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct span {
    const char *at; /* not NUL-terminated; may be NULL when len is 0 */
    size_t len;
};

#define SPAN_NONE ((struct span){NULL, 0})
#define SPAN_LIT(text) ((struct span){"" text, sizeof(text) - 1})
#define SPAN_ARG(span) (int)(span).len, (span).len ? (span).at : "" /* for "%.*s" */

static inline struct span span_of(const void *at, size_t len)
{
    return (struct span){at, len};
}

static inline struct span span_text(const char *text) /* NULL gives the empty span */
{
    return (struct span){text, text ? strlen(text) : 0};
}

static inline bool span_is_empty(struct span span)
{
    return span.len == 0;
}

static inline bool span_equals(struct span a, struct span b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.at, b.at, a.len) == 0);
}

static inline bool span_is(struct span span, const char *text)
{
    return span_equals(span, span_text(text));
}

static inline bool span_starts_with(struct span span, struct span prefix)
{
    return span.len >= prefix.len && (prefix.len == 0 || memcmp(span.at, prefix.at, prefix.len) == 0);
}

static inline bool span_ends_with(struct span span, struct span suffix)
{
    return span.len >= suffix.len &&
           (suffix.len == 0 || memcmp(span.at + span.len - suffix.len, suffix.at, suffix.len) == 0);
}

/* From `begin` on, at most `len` bytes; both are clamped to the span. */
static inline struct span span_part(struct span span, size_t begin, size_t len)
{
    if (begin > span.len)
        begin = span.len;
    if (len > span.len - begin)
        len = span.len - begin;
    return (struct span){span.at ? span.at + begin : NULL, len};
}

bool span__equals_nocase(struct span a, struct span b);

/* Whether both are equal under ASCII case folding alone. Most names of headers differ in length or first byte, which is
 * compared inline. */
static inline bool span_equals_nocase(struct span a, struct span b)
{
    return a.len == b.len && (a.len == 0 || (((a.at[0] ^ b.at[0]) & ~0x20) == 0 && span__equals_nocase(a, b)));
}

/* Byte order, as memcmp and then by length: <0, 0, >0. */
int span_compare(struct span a, struct span b);

/* The same of two spans, for qsort and bsearch. */
int span_order(const void *a, const void *b);

/* Without SP and HTAB at both ends. */
static inline struct span span_trim(struct span span)
{
    while (span.len > 0 && (span.at[0] == ' ' || span.at[0] == '\t')) {
        span.at++;
        span.len--;
    }
    while (span.len > 0 && (span.at[span.len - 1] == ' ' || span.at[span.len - 1] == '\t'))
        span.len--;
    return span;
}

/* Returns: the index of the first `byte`, or span.len. */
static inline size_t span_find(struct span span, char byte)
{
    const char *hit = span.len ? memchr(span.at, byte, span.len) : NULL;

    return hit ? (size_t)(hit - span.at) : span.len;
}

/* Whether `part` stands somewhere in it. */
static inline bool span_holds(struct span span, struct span part)
{
    return span.len > 0 && memmem(span.at, span.len, part.at, part.len) != NULL;
}

/* Takes: words: up to NULL. */
static inline bool span_is_one_of(struct span span, const char *const *words)
{
    while (*words != NULL && !span_is(span, *words))
        words++;
    return *words != NULL;
}

/* Splits at the first `byte`: returns what is before it and leaves what is after it in *rest
 * (everything and the empty span where the byte does not occur). */
static inline struct span span_cut(struct span span, char byte, struct span *rest)
{
    size_t at = span_find(span, byte);

    *rest = span_part(span, at + 1, SIZE_MAX);
    return span_part(span, 0, at);
}

#endif
