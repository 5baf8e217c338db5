/* SPDX-License-Identifier: Apache-2.0 */
#include "texts/file_path.h"

#include "base/ascii.h"
#include "base/buf.h"
#include "unicode/unicode.h"

#define WORK_MAX ((size_t)4 << 20)

static struct span keep(struct arena *arena, struct span text, enum code *code)
{
    char *at = arena_dup(arena, text.at, text.len);

    if (at == NULL)
        *code = CODE_NOMEM;
    return span_of(at, at != NULL ? text.len : 0);
}

/* Appends the text without what deceives, as unicode_deceives says. */
static enum code add_seen(struct span text, struct buf *out)
{
    uint32_t before = 0, point;
    size_t taken;

    for (; text.len > 0; text = span_part(text, taken, SIZE_MAX)) {
        taken = unicode_next(text, &point);
        if (taken == 0)
            return CODE_INVALID;
        if (unicode_deceives(before, point, span_part(text, taken, SIZE_MAX)))
            continue;
        buf_add_span(out, span_part(text, 0, taken));
        before = point;
    }
    return buf_code(out);
}

static enum code read_others(struct span text, struct arena *arena, struct file_text *read)
{
    struct buf work, plain;
    enum code code;

    buf_init(&work, WORK_MAX);
    buf_init(&plain, WORK_MAX);
    code = add_seen(text, &work);
    if (code == CODE_OK)
        code = unicode_plain(buf_peek(&work), &plain);
    buf_clear(&work);
    if (code == CODE_OK)
        code = unicode_fold(buf_peek(&plain), &work);
    if (code == CODE_OK) {
        read->read[FILE_PLAIN] = keep(arena, buf_peek(&plain), &code);
        read->read[FILE_FOLDED] = keep(arena, buf_peek(&work), &code);
    }
    buf_fini(&work);
    buf_fini(&plain);
    return code;
}

enum code file_text_read(struct span text, struct arena *arena, struct file_text *read)
{
    enum code code = CODE_OK;

    read->read[FILE_WRITTEN] = text;
    if (!ascii_is_only(text))
        return read_others(text, arena, read);
    read->read[FILE_PLAIN] = text;
    read->read[FILE_FOLDED] = keep(arena, text, &code);
    if (code == CODE_OK)
        (void)ascii_lower_all(text, (char *)read->read[FILE_FOLDED].at);
    return code;
}

/* What is wrong with one reading of a step, or NULL. Sets: first: its first character. */
static const char *doubt_of(struct span step, uint32_t *first)
{
    uint32_t point = 0;
    size_t taken;

    if (step.len == 0)
        return "holds an empty step";
    if (span_is(step, ".") || span_is(step, ".."))
        return "holds a step `.` or `..`";
    (void)unicode_next(step, first);
    for (struct span rest = step; rest.len > 0; rest = span_part(rest, taken, SIZE_MAX)) {
        taken = unicode_next(rest, &point);
        if (taken == 0)
            return "is no UTF-8";
        if (point == '%' || point == '\\' || point == '`')
            return "holds `%`, a backslash or a backquote";
        if (point < 0x20 || (point >= 0x7f && point < 0xa0) || point == 0x2028 || point == 0x2029)
            return "holds a control character or a separator of lines";
    }
    if (unicode_is_blank(*first) || unicode_is_blank(point))
        return "holds a step that begins or ends with a blank";
    return point == '\'' || point == '"' ? "holds a step that ends with a quote" : NULL;
}

/* Parts all readings alike: a slash that only one of them has would be a step more. */
static bool part(struct file_text rest, struct file_text *steps, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        for (enum file_reading r = FILE_WRITTEN; r < FILE_READINGS; r++) {
            if ((span_find(rest.read[r], '/') == rest.read[r].len) != (i + 1 == count))
                return false;
            steps[i].read[r] = span_cut(rest.read[r], '/', &rest.read[r]);
        }
    return true;
}

static const char *doubt_of_steps(const struct file_path *path)
{
    for (uint32_t i = 0; i < path->count; i++)
        for (enum file_reading r = FILE_WRITTEN; r <= FILE_PLAIN; r++) {
            struct span step = path->steps[i].read[r];
            uint32_t first = 0;
            const char *doubt = doubt_of(step, &first);

            if (doubt != NULL)
                return doubt;
            if (i > 0 || path->is_absolute)
                continue;
            if (first < 0x80 && strchr("-~+@='\"", (int)first) != NULL)
                return "begins with one of `-`, `~`, `+`, `@`, `=` and quotes";
            if (span_find(step, ':') < step.len)
                return "holds `:` in its first step, as a URL, a host or a drive does";
        }
    return NULL;
}

enum code file_path_read(struct span text, struct arena *arena, struct file_path *path, const char **doubt)
{
    size_t count = text.len <= 4 * FILE_PATH_MAX ? unicode_count(text) : FILE_PATH_MAX + 1;
    struct span rest = text;
    struct file_text whole;
    struct file_text *steps;
    enum code code;

    *doubt = NULL;
    *path = (struct file_path){.is_absolute = span_starts_with(text, SPAN_LIT("/"))};
    if (count == SIZE_MAX) {
        *doubt = "is no UTF-8";
        return CODE_INVALID;
    }
    if (count > FILE_PATH_MAX)
        return CODE_LIMIT;
    if (path->is_absolute || span_starts_with(text, SPAN_LIT("./")))
        rest = span_part(text, path->is_absolute ? 1 : 2, SIZE_MAX);
    path->is_folder = span_is(text, "/") || span_is(text, ".");
    if (path->is_folder)
        return CODE_OK;
    if (span_ends_with(rest, SPAN_LIT("/"))) {
        path->is_folder = true;
        rest.len--;
    }
    for (size_t i = 0; i < rest.len; i++)
        path->count += rest.at[i] == '/';
    path->count++;
    path->steps = steps = arena_alloc(arena, (size_t)path->count * sizeof *steps);
    code = steps != NULL ? file_text_read(rest, arena, &whole) : CODE_NOMEM;
    if (code == CODE_OK)
        *doubt = part(whole, steps, path->count) ? doubt_of_steps(path) : "holds a character that stands for a slash";
    return *doubt != NULL ? CODE_INVALID : code;
}
