/* SPDX-License-Identifier: Apache-2.0 */
/* Templates of URIs against names: only what stands before a template's first expression and behind its last one counts, and
 * any text may be between. This assumes more URIs than the template has, so that nothing is hidden that could be permitted. */
#include "judgement/judge_priv.h"
#include "policy/match.h"

#include "base/glob.h"

#include <stdio.h>

struct uri_ends {
    struct span begin, end;
};

/* Whether it is a brace of an expression, or a character that a client may write in another way when it
 * fills the template in. */
static bool is_doubtful(char c)
{
    return c <= 0x20 || c >= 0x7f || strchr("\"'%<>\\^`{|}", c) != NULL;
}

static struct uri_ends ends_of(struct span text)
{
    size_t begin = 0, end = text.len;

    while (begin < text.len && !is_doubtful(text.at[begin]))
        begin++;
    while (end > 0 && !is_doubtful(text.at[end - 1]))
        end--;
    /* A text without an expression is all beginning; as an end it would be counted twice. */
    return (struct uri_ends){span_part(text, 0, begin), span_part(text, begin < text.len ? end : text.len, SIZE_MAX)};
}

#define PATTERN_MAX 128 /* base/glob.h takes longer ones to meet */

static bool glob_meets_uris(struct span glob, const struct uri_ends *ends)
{
    char pattern[PATTERN_MAX];
    int len = snprintf(pattern, sizeof pattern, "%.*s*%.*s", SPAN_ARG(ends->begin), SPAN_ARG(ends->end));

    return len >= PATTERN_MAX || glob_meets(glob, span_of(pattern, (size_t)len));
}

/* Whether what stands before the glob's `*` stands at the beginning of every URI, and what stands behind it at the end. */
static bool glob_covers(struct span glob, const struct uri_ends *ends)
{
    size_t first = 0, last;

    while (first < glob.len && glob.at[first] != '*')
        first += glob.at[first] == '\\' ? 2 : 1;
    for (last = first; last + 1 < glob.len && glob.at[last + 1] == '*';)
        last++;
    return first < glob.len && glob_matches(span_part(glob, 0, first + 1), ends->begin) &&
           span_find(span_part(glob, last + 1, SIZE_MAX), '*') == glob.len - last - 1 &&
           glob_matches(span_part(glob, last, SIZE_MAX), ends->end);
}

static bool is_among(const struct names *names, struct span uri_template, bool covers)
{
    struct uri_ends ends = ends_of(uri_template);

    for (uint32_t i = 0; i < names->count; i++)
        if (names->name[i].kind == NAME_REGEX ? !covers : (covers ? glob_covers : glob_meets_uris)(names->name[i].text, &ends))
            return true;
    return !names->given;
}

bool eval__names_meet(const struct names *names, struct span uri_template)
{
    return is_among(names, uri_template, false);
}

bool eval__names_cover(const struct names *names, struct span uri_template)
{
    return is_among(names, uri_template, true);
}
