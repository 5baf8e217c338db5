/* SPDX-License-Identifier: Apache-2.0 */
#include "lane/slug.h"

#include "base/ascii.h"
#include "base/glob.h"

#include <string.h>

static bool consists(struct span text, bool takes_wild)
{
    return text.len > 0 && text.len <= SLUG_MAX_BYTES && ascii_is_of(text.at[0], takes_wild ? "a-z0-9*?" : "a-z0-9") &&
           ascii_is_all(text, takes_wild ? "a-z0-9*?_.-" : "a-z0-9_.-");
}

bool slug_is_fit(struct span slug)
{
    return consists(slug, false) && slug.at[slug.len - 1] != '.';
}

bool slug_glob_is_fit(struct span glob)
{
    return glob_is_literal(glob) ? slug_is_fit(glob) : consists(glob, true);
}

/* Returns: where the mark begins; the template's length: there is none. */
static size_t mark_of(struct span template)
{
    const char *mark = template.len > 0 ? memmem(template.at, template.len, SLUG_MARK, sizeof SLUG_MARK - 1) : NULL;

    return mark != NULL ? (size_t)(mark - template.at) : template.len;
}

bool slug_is_in(struct span text)
{
    return mark_of(text) < text.len;
}

static bool is_listed(const struct slug_list *list, struct span slug)
{
    if (!slug_is_fit(slug))
        return false;
    for (size_t i = 0; i < list->count; i++)
        if (glob_matches(list->globs[i], slug))
            return true;
    return false;
}

bool slug_matches_below(const struct slug_list *list, struct span template, struct span path, struct span *slug,
                        struct span *rest)
{
    /* searched only where there are slugs, since each request asks each route */
    size_t mark = list->count > 0 ? mark_of(template) : template.len;
    struct span behind = span_part(template, mark + sizeof SLUG_MARK - 1, SIZE_MAX);

    *slug = *rest = SPAN_NONE;
    if (!span_starts_with(path, span_part(template, 0, mark)))
        return false;
    path = span_part(path, mark, SIZE_MAX);
    if (mark < template.len) {
        *slug = span_part(path, 0, span_find(path, '/'));
        path = span_part(path, slug->len, SIZE_MAX);
        if (!is_listed(list, *slug) || !span_starts_with(path, behind))
            return false;
        path = span_part(path, behind.len, SIZE_MAX);
    }
    *rest = path;
    return span_is_empty(path) || path.at[0] == '/';
}

bool slug_matches(const struct slug_list *list, struct span template, struct span path, struct span *slug)
{
    struct span rest;

    return slug_matches_below(list, template, path, slug, &rest) && span_is_empty(rest);
}

bool slug_is_named(const struct slug_list *list, struct span slug)
{
    for (size_t i = 0; i < list->count; i++)
        if (span_equals(list->globs[i], slug))
            return true;
    return false;
}

/* Cuts a beginning off. */
static bool drop_start(struct span *text, struct span start)
{
    if (!span_equals_nocase(span_part(*text, 0, start.len), start))
        return false;
    *text = span_part(*text, start.len, SIZE_MAX);
    return true;
}

bool slug_resembles(struct span template, struct span path, bool below)
{
    size_t mark = mark_of(template);
    struct span behind = span_part(template, mark + sizeof SLUG_MARK - 1, SIZE_MAX);

    if (mark == template.len)
        while (mark > 0 && template.at[mark - 1] == '/')
            mark--;
    if (!drop_start(&path, span_part(template, 0, mark)))
        return false;
    if (slug_is_in(template)) {
        path = span_part(path, span_find(path, '/'), SIZE_MAX);
        if (!drop_start(&path, behind))
            return false;
    }
    while (span_ends_with(path, SPAN_LIT("/")))
        path.len--;
    return span_is_empty(path) || (below && path.at[0] == '/');
}

size_t slug_put(struct span template, struct span slug, char *out, size_t size)
{
    size_t mark = mark_of(template);
    struct span parts[] = {span_part(template, 0, mark), mark < template.len ? slug : SPAN_NONE,
                           span_part(template, mark + sizeof SLUG_MARK - 1, SIZE_MAX)};
    size_t len = 0;

    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (parts[i].len > size - len)
            return SIZE_MAX;
        if (parts[i].len > 0)
            memcpy(out + len, parts[i].at, parts[i].len);
        len += parts[i].len;
    }
    return len;
}

/* ---- paths of a configuration ---- */

/* It begins with '/', and has no `%`, `..`, `//`, `;`, `\`, query or fragment. */
static bool is_plain(struct span path)
{
    if (path.len == 0 || path.at[0] != '/')
        return false;
    for (size_t i = 0; i < path.len; i++) {
        struct span rest = span_part(path, i, SIZE_MAX);

        if (path.at[i] <= 0x20 || (unsigned char)path.at[i] >= 0x7f || strchr("%;\\?#\"<>^`{|}[]", path.at[i]) != NULL)
            return false;
        if (span_starts_with(rest, SPAN_LIT("//")) || span_starts_with(rest, SPAN_LIT("/../")) ||
            span_starts_with(rest, SPAN_LIT("/./")) || span_is(rest, "/..") || span_is(rest, "/."))
            return false;
    }
    return true;
}

bool slug_path_is_fit(struct span path)
{
    const char *mark = memmem(path.at, path.len, SLUG_MARK, sizeof SLUG_MARK - 1);
    struct span before, behind;

    if (path.len == 0 || mark == NULL)
        return is_plain(path);
    before = span_of(path.at, (size_t)(mark - path.at));
    behind = span_part(path, before.len + sizeof SLUG_MARK - 1, SIZE_MAX);
    return span_ends_with(before, SPAN_LIT("/")) &&
           (span_is(before, "/") || is_plain(span_part(before, 0, before.len - 1))) &&
           (span_is_empty(behind) || is_plain(behind));
}
