/* SPDX-License-Identifier: Apache-2.0 */
#include "base/why.h"

#include "base/ascii.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum code why_set(struct why *why, enum code code, const char *format, ...)
{
    va_list args;

    if (why == NULL)
        return code;
    va_start(args, format);
    (void)vsnprintf(why->text, sizeof why->text, format, args);
    va_end(args);
    return code;
}

enum code why_before(struct why *why, enum code code, const char *format, ...)
{
    struct why said;
    va_list args;

    if (why == NULL || why->text[0] == '\0')
        return code;
    va_start(args, format);
    (void)vsnprintf(said.text, sizeof said.text, format, args);
    va_end(args);
    (void)snprintf(said.text + strlen(said.text), sizeof said.text - strlen(said.text), "%s", why->text);
    *why = said;
    return code;
}

void faults_init(struct faults *faults)
{
    faults->count = faults->added = 0;
}

static bool is_same(const struct fault *a, const struct fault *b)
{
    return a->line == b->line && a->column == b->column && strcmp(a->file, b->file) == 0 && strcmp(a->text, b->text) == 0;
}

void faults_add(struct faults *faults, const char *file, int line, int column, const char *format, ...)
{
    va_list args;

    faults->added++;
    if (faults->count < FAULTS_MAX) {
        struct fault *fault = &faults->fault[faults->count];

        (void)snprintf(fault->file, sizeof fault->file, "%s", file ? file : "");
        fault->line = line;
        fault->column = column;
        va_start(args, format);
        (void)vsnprintf(fault->text, sizeof fault->text, format, args);
        va_end(args);
        for (size_t i = 0; i < faults->count; i++) /* what two rules name is told once */
            if (is_same(&faults->fault[i], fault))
                return;
    }
    faults->count++;
}

#define WORD_MAX 64

/* Levenshtein's distance, whatever the case; two neighbours that changed places are one slip. */
static unsigned distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
    unsigned rows[3][WORD_MAX + 1];

    for (size_t i = 0; i <= a_len; i++) {
        unsigned *here = rows[i % 3], *above = rows[(i + 2) % 3];

        here[0] = (unsigned)i;
        for (size_t j = 1; j <= b_len; j++) {
            bool same = i > 0 && ascii_lower(a[i - 1]) == ascii_lower(b[j - 1]);
            bool turned = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];

            here[j] = here[j - 1] + 1;
            if (i > 0 && above[j] + 1 < here[j])
                here[j] = above[j] + 1;
            if (i > 0 && above[j - 1] + !same < here[j])
                here[j] = above[j - 1] + !same;
            if (turned && rows[(i + 1) % 3][j - 2] + 1 < here[j])
                here[j] = rows[(i + 1) % 3][j - 2] + 1;
        }
    }
    return rows[a_len % 3][b_len];
}

const char *why_nearest(const char *word, size_t len, const char *const *words)
{
    const char *nearest = NULL;
    unsigned best = 3;

    if (len == 0 || len > WORD_MAX)
        return NULL;
    for (; *words != NULL; words++) {
        size_t other = strlen(*words);
        unsigned d;

        if (other > WORD_MAX || len < 2 || other < 2)
            continue;
        d = distance(word, len, *words, other);
        if (d < best && 2 * d < (len > other ? len : other) + (len > 3 && *word == **words)) { /* else too little of it is
        left */
            best = d;
            nearest = *words;
        }
    }
    return nearest;
}

void why_list(const char *const *words, const char *last, char *out, size_t size)
{
    size_t len = 0, count = 0;

    while (words[count] != NULL && words[count][0] != '\0')
        count++;
    out[0] = '\0';
    for (size_t i = 0; i < count && len < size; i++) {
        const char *before = i == 0 ? "" : i + 1 < count ? ", " : " ";
        bool is_last = i > 0 && i + 1 == count;
        int more = snprintf(out + len, size - len, "%s%s%s`%s`", before, is_last ? last : "", is_last ? " " : "", words[i]);

        len += more > 0 ? (size_t)more : 0;
    }
}
