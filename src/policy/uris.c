/* SPDX-License-Identifier: Apache-2.0 */
/* Templates of URIs against names: of a template what stands before its first expression and behind its last counts, and
 * any text may be between. So more URIs are assumed than the template has, which hides nothing that could be permitted. */
#include "policy/match.h"

struct uri_ends {
    struct span begin, end;
};

/* An expression's braces, and what a client may write in another way when it fills the template in. */
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

/* Where the text of a glob begins that stands behind its last `*`; 0: it has none. *first: where the first stands. */
static size_t after_last_star(struct span glob, size_t *first)
{
    size_t after = 0;

    *first = SIZE_MAX;
    for (size_t i = 0; i < glob.len; i++) {
        if (glob.at[i] == '\\' && i + 1 < glob.len) {
            i++;
        } else if (glob.at[i] == '*') {
            *first = *first == SIZE_MAX ? i : *first;
            after = i + 1;
        }
    }
    return after;
}

/* One character of a glob without `*`; each stands for one byte of ASCII text. Returns: what is behind it. */
static struct span next(struct span glob, bool *any, char *byte)
{
    size_t at = glob.at[0] == '\\' && glob.len > 1;

    *any = glob.at[0] == '?';
    *byte = glob.at[at];
    return span_part(glob, at + 1, SIZE_MAX);
}

static size_t length_of(struct span glob)
{
    size_t count = 0;
    bool any;
    char byte;

    for (; glob.len > 0; count++)
        glob = next(glob, &any, &byte);
    return count;
}

/* Whether they agree as far as both go. */
static bool begin_alike(struct span glob, struct span text)
{
    bool any;
    char byte;

    for (size_t i = 0; i < text.len && glob.len > 0; i++) {
        glob = next(glob, &any, &byte);
        if (!any && byte != text.at[i])
            return false;
    }
    return true;
}

/* The same from their ends on. */
static bool end_alike(struct span glob, struct span text)
{
    size_t length = length_of(glob);
    bool any;
    char byte;

    for (; length > text.len; length--)
        glob = next(glob, &any, &byte);
    return begin_alike(glob, span_part(text, text.len - length, SIZE_MAX));
}

static bool glob_meets(struct span glob, const struct uri_ends *ends, bool covers)
{
    size_t first, last = after_last_star(glob, &first);
    struct span head = span_part(glob, 0, first), tail = span_part(glob, last, SIZE_MAX);

    /* What the glob wants between two `*` need not be in every URI of the template. */
    for (size_t i = first; covers && i < last; i++)
        if (glob.at[i] != '*')
            return false;
    if (covers && (last == 0 || length_of(head) > ends->begin.len || length_of(tail) > ends->end.len))
        return false;
    if (last == 0 && length_of(glob) < ends->begin.len)
        return false;
    return begin_alike(head, ends->begin) && end_alike(tail, ends->end);
}

static bool is_among(const struct names *names, struct span uri_template, bool covers)
{
    struct uri_ends ends = ends_of(uri_template);

    for (uint32_t i = 0; i < names->count; i++)
        if (names->name[i].kind == NAME_REGEX ? !covers : glob_meets(names->name[i].text, &ends, covers))
            return true;
    return !names->given;
}

bool policy__names_meet(const struct names *names, struct span uri_template)
{
    return is_among(names, uri_template, false);
}

bool policy__names_cover(const struct names *names, struct span uri_template)
{
    return is_among(names, uri_template, true);
}
