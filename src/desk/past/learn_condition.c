/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes as conditions. A place that was always there is asked for plainly; one that was not is optional, or, where something
 * below it was always there, stands in an `any` beside its absence. Below `[*]` conditions are asked of all elements at once,
 * so that there `optional` is all that can be said. */
#include "past/learn_priv.h"

#include "texts/reading.h"
#include "unicode/unicode.h"

#include <inttypes.h>
#include <stdlib.h>

#define GROUPS_DEEPEST 12 /* of any and all in each other; the language takes 16 */

struct spot {
    bool in_array;
    bool optional; /* nothing may be there, and that is fine */
    unsigned depth; /* of groups */
    unsigned *count;
};

static void write_value(struct draft *draft, const struct shape *shape, const struct spot *spot);

static unsigned types_of(const struct shape *shape)
{
    return (unsigned)((shape->nulls > 0) + (shape->trues + shape->falses > 0) + (shape->numbers > 0) + (shape->strings > 0) +
                      (shape->arrays > 0) + (shape->objects > 0));
}

static bool is_optional(const struct shape *member)
{
    return member->present < member->parent->objects;
}

/* ---- one leaf ---- */

static void begin_leaf(struct draft *draft, const struct shape *shape, const char *tail)
{
    draft__line(draft, "- {arg: ");
    draft__path(draft, shape, tail);
}

static void end_leaf(struct draft *draft, const struct shape *shape, const struct spot *spot)
{
    buf_addf(draft->out, spot->optional ? ", optional: true}" : "}");
    if (spot->in_array)
        buf_addf(draft->out, "  # %" PRIu64 " values\n", shape->present);
    else if (shape->parent->parent == NULL)
        buf_addf(draft->out, "  # in %" PRIu64 " of %" PRIu64 " calls\n", shape->present, shape->parent->objects);
    else
        buf_addf(draft->out, "  # in %" PRIu64 " of %" PRIu64 "\n", shape->present, shape->parent->objects);
    (*spot->count)++;
}

static int by_text(const void *a, const void *b)
{
    return span_compare(((const struct learn_value *)a)->text, ((const struct learn_value *)b)->text);
}

static int by_number(const void *a, const void *b)
{
    int order = json_number_compare(((const struct learn_value *)a)->text, ((const struct learn_value *)b)->text);

    return order != 0 ? order : by_text(a, b);
}

static void add_listed(struct draft *draft, const struct learn_values *values, bool as_text)
{
    for (uint32_t i = 0; i < values->count; i++) {
        buf_addf(draft->out, i > 0 ? ", " : "");
        if (as_text)
            draft__operand(draft, values->value[i].text);
        else
            buf_addf(draft->out, "%.*s", SPAN_ARG(values->value[i].text));
    }
}

static void add_values(struct draft *draft, const struct learn_values *values, bool as_text)
{
    buf_addf(draft->out, values->count == 1 ? ", equals: " : ", in: [");
    add_listed(draft, values, as_text);
    buf_addf(draft->out, values->count == 1 ? "" : "]");
}

/* Few, and each often enough to believe that there are no others. */
static bool are_few(const struct learn_values *values, uint64_t total)
{
    return values->count > 0 && !values->many && (values->count == 1 || total >= 3 * (uint64_t)values->count);
}

/* What `under` takes: values' paths are plain, but a folder of theirs may end in white space or hold what nobody sees. */
static bool is_plain_folder(struct span folder)
{
    return folder.len > 0 && (reading_of_steps(folder) & READING_ODD) == 0 && !unicode_is_deceptive(folder);
}

static void add_string(struct draft *draft, const struct shape *shape)
{
    if (are_few(&shape->texts, shape->strings)) {
        add_values(draft, &shape->texts, true);
        return;
    }
    buf_addf(draft->out, ", is: string");
    if (!shape->no_paths && is_plain_folder(shape->folder)) {
        buf_addf(draft->out, ", under: ");
        draft__operand(draft, shape->folder);
    } else if (shape->prefix.len > 0) {
        buf_addf(draft->out, ", starts_with: ");
        draft__operand(draft, shape->prefix);
    }
    if (shape->shortest > 0)
        buf_addf(draft->out, ", min_length: %zu", shape->shortest);
    buf_addf(draft->out, ", max_length: %zu", shape->longest);
}

/* Beyond +-(2^53-1) there is no order that all readers agree on, but equal digits are equal. */
static void add_number(struct draft *draft, const struct shape *shape)
{
    if (are_few(&shape->lexemes, shape->numbers) || (shape->unsafe > 0 && !shape->lexemes.many)) {
        add_values(draft, &shape->lexemes, false);
        return;
    }
    buf_addf(draft->out, shape->integers == shape->numbers ? ", is: integer" : ", is: number");
    if (shape->unsafe > 0)
        return;
    buf_addf(draft->out, ", min: %.*s", SPAN_ARG(shape->least));
    buf_addf(draft->out, ", max: %.*s", SPAN_ARG(shape->most));
}

/* The one type that is no array and no object. */
static void write_scalar(struct draft *draft, const struct shape *shape, const struct spot *spot)
{
    begin_leaf(draft, shape, "");
    if (shape->strings > 0)
        add_string(draft, shape);
    else if (shape->numbers > 0)
        add_number(draft, shape);
    else if (shape->nulls > 0)
        buf_addf(draft->out, ", is: 'null'");
    else if (shape->trues > 0 && shape->falses > 0)
        buf_addf(draft->out, ", is: boolean");
    else
        buf_addf(draft->out, ", equals: %s", shape->trues > 0 ? "true" : "false");
    end_leaf(draft, shape, spot);
}

/* ---- arrays and objects ---- */

/* Whether an absent value would have to be told apart from one that lacks what all have. */
static bool has_required(const struct shape *shape)
{
    if (shape->unbounded)
        return false;
    if (shape->arrays > 0 && shape->element != NULL && has_required(shape->element))
        return true;
    for (const struct shape *member = shape->members; member != NULL; member = member->next)
        if (!is_optional(member))
            return true;
    return false;
}

static struct spot inside(const struct spot *spot, unsigned groups)
{
    struct spot inner = *spot;

    inner.depth += groups;
    inner.optional = groups == 0 && spot->optional;
    return inner;
}

/* "- any:" with one way out; what follows stands in its `all`. */
static void open_guard(struct draft *draft, const struct shape *shape, const char *way_out)
{
    draft__line(draft, "- any:\n");
    draft->indent += 2;
    draft__line(draft, "- {arg: ");
    draft__path(draft, shape, "");
    buf_addf(draft->out, ", %s}\n", way_out);
    draft__line(draft, "- all:\n");
    draft->indent += 2;
}

static void close_guard(struct draft *draft, const struct spot *spot)
{
    draft->indent -= 4;
    (*spot->count)++;
}

static bool may_guard(const struct spot *spot)
{
    return !spot->in_array && spot->depth + 2 <= GROUPS_DEEPEST;
}

static void write_elements(struct draft *draft, const struct shape *array, const struct spot *spot)
{
    struct spot inner = inside(spot, 0);

    if (array->element == NULL || array->unbounded)
        return;
    if (array->fewest == 0 && has_required(array->element) && may_guard(spot)) {
        open_guard(draft, array, spot->optional ? "max_items: 0, optional: true" : "max_items: 0");
        inner = inside(spot, 2);
        inner.in_array = true;
        write_value(draft, array->element, &inner);
        close_guard(draft, spot);
        return;
    }
    inner.in_array = true;
    inner.optional |= array->fewest == 0;
    write_value(draft, array->element, &inner);
}

static void write_array(struct draft *draft, const struct shape *shape, const struct spot *spot)
{
    begin_leaf(draft, shape, "");
    buf_addf(draft->out, ", is: array");
    if (shape->fewest > 0)
        buf_addf(draft->out, ", min_items: %" PRIu64, shape->fewest);
    buf_addf(draft->out, ", max_items: %" PRIu64, shape->mostest);
    end_leaf(draft, shape, spot);
    if (shape->unbounded)
        draft__line(draft, "# too deep or too many places for conditions on its elements\n");
    write_elements(draft, shape, spot);
}

static void write_member(struct draft *draft, const struct shape *member, const struct spot *spot)
{
    struct spot inner = *spot;

    inner.optional |= is_optional(member);
    write_value(draft, member, &inner);
}

static void write_keys(struct draft *draft, const struct shape *shape, const struct spot *spot)
{
    bool is_element = shape->parent->element == shape;
    bool first = true;

    if (shape->members == NULL)
        return;
    begin_leaf(draft, shape, is_element ? ".*" : "");
    buf_addf(draft->out, ", keys: true, in: [");
    for (const struct shape *member = shape->members; member != NULL; member = member->next) {
        buf_addf(draft->out, first ? "" : ", ");
        draft__operand(draft, member->name);
        first = false;
    }
    buf_addf(draft->out, "], optional: true}\n");
    (*spot->count)++;
}

static void write_object(struct draft *draft, const struct shape *shape, const struct spot *spot)
{
    begin_leaf(draft, shape, "");
    buf_addf(draft->out, ", is: object");
    /* Where an optional element cannot be told from one that lacks something, at least their number can be. */
    if (spot->in_array && shape->thinnest > 0)
        buf_addf(draft->out, ", min_items: %" PRIu64, shape->thinnest);
    if (spot->in_array || shape->fattest == 0)
        buf_addf(draft->out, ", max_items: %" PRIu64, shape->fattest);
    end_leaf(draft, shape, spot);
    if (shape->unbounded) {
        draft__line(draft, "# too deep or too many names for conditions on its members\n");
        return;
    }
    write_keys(draft, shape, spot);
    for (const struct shape *member = shape->members; member != NULL; member = member->next)
        write_member(draft, member, spot);
}

static void write_container(struct draft *draft, const struct shape *shape, const struct spot *spot)
{
    struct spot inner;

    if (!(spot->optional && has_required(shape) && may_guard(spot))) {
        if (shape->arrays > 0)
            write_array(draft, shape, spot);
        else
            write_object(draft, shape, spot);
        return;
    }
    open_guard(draft, shape, "exists: false");
    inner = inside(spot, 2);
    if (shape->arrays > 0)
        write_array(draft, shape, &inner);
    else
        write_object(draft, shape, &inner);
    close_guard(draft, spot);
}

/* ---- several types at one place ---- */

/* The shape as if only one of its types had been seen. */
static struct shape only(const struct shape *shape, unsigned type)
{
    struct shape one = *shape;

    one.nulls = type == 0 ? shape->nulls : 0;
    one.trues = type == 1 ? shape->trues : 0;
    one.falses = type == 1 ? shape->falses : 0;
    one.numbers = type == 2 ? shape->numbers : 0;
    one.strings = type == 3 ? shape->strings : 0;
    one.arrays = type == 4 ? shape->arrays : 0;
    one.objects = type == 5 ? shape->objects : 0;
    one.element = type == 4 ? shape->element : NULL;
    one.members = type == 5 ? shape->members : NULL;
    one.present = one.nulls + one.trues + one.falses + one.numbers + one.strings + one.arrays + one.objects;
    return one;
}

static void write_one_of(struct draft *draft, const struct shape *shape, const struct spot *spot)
{
    struct spot inner = inside(spot, 2);

    draft__line(draft, "- any:\n");
    draft->indent += 2;
    if (spot->optional) {
        draft__line(draft, "- {arg: ");
        draft__path(draft, shape, "");
        buf_addf(draft->out, ", exists: false}\n");
    }
    for (unsigned type = 0; type < 6; type++) {
        struct shape one = only(shape, type);

        if (types_of(&one) == 0)
            continue;
        draft__line(draft, "- all:\n");
        draft->indent += 2;
        if (one.arrays > 0)
            write_array(draft, &one, &inner);
        else if (one.objects > 0)
            write_object(draft, &one, &inner);
        else
            write_scalar(draft, &one, &inner);
        draft->indent -= 2;
    }
    draft->indent -= 2;
    (*spot->count)++;
}

/* All that is asked of a value of which nothing is known. */
static void write_exists(struct draft *draft, const struct shape *shape, const struct spot *spot)
{
    if (spot->optional)
        return;
    begin_leaf(draft, shape, "");
    buf_addf(draft->out, ", exists: true}\n");
    (*spot->count)++;
}

/* Scalars of several types below `[*]`: string operators read all of them as the text that was sent. */
static void write_by_text(struct draft *draft, const struct shape *shape, const struct spot *spot)
{
    size_t longest = shape->longest > 5 ? shape->longest : 5; /* `false` */

    begin_leaf(draft, shape, "");
    buf_addf(draft->out, ", matches: ");
    draft__pattern(draft, shape);
    if (shape->numbers == 0 && shape->strings > 0)
        buf_addf(draft->out, ", max_length: %zu", longest);
    end_leaf(draft, shape, spot);
}

/* Elements: few values can be listed whatever their types. */
static void write_mixed(struct draft *draft, const struct shape *shape, const struct spot *spot)
{
    bool first = true;

    if (may_guard(spot)) {
        write_one_of(draft, shape, spot);
        return;
    }
    if (shape->arrays + shape->objects > 0) {
        draft__line(draft, "# arrays or objects and other types at one place: no condition on them\n");
        write_exists(draft, shape, spot);
        return;
    }
    if ((shape->strings > 0 && !are_few(&shape->texts, shape->strings)) ||
        (shape->numbers > 0 && !are_few(&shape->lexemes, shape->numbers))) {
        write_by_text(draft, shape, spot);
        return;
    }
    begin_leaf(draft, shape, "");
    buf_addf(draft->out, ", in: [");
    for (unsigned type = 0; type < 3; type++)
        if (type == 0 ? shape->nulls > 0 : type == 1 ? shape->falses > 0 : shape->trues > 0) {
            buf_addf(draft->out, "%s%s", first ? "" : ", ", type == 0 ? "null" : type == 1 ? "false" : "true");
            first = false;
        }
    buf_addf(draft->out, !first && shape->lexemes.count > 0 ? ", " : "");
    add_listed(draft, &shape->lexemes, false);
    buf_addf(draft->out, (!first || shape->lexemes.count > 0) && shape->texts.count > 0 ? ", " : "");
    add_listed(draft, &shape->texts, true);
    buf_addf(draft->out, "]");
    end_leaf(draft, shape, spot);
}

static void sort_values(const struct shape *shape)
{
    if (shape->texts.count > 0)
        qsort(shape->texts.value, shape->texts.count, sizeof *shape->texts.value, by_text);
    if (shape->lexemes.count > 0)
        qsort(shape->lexemes.value, shape->lexemes.count, sizeof *shape->lexemes.value, by_number);
}

static void write_value(struct draft *draft, const struct shape *shape, const struct spot *spot)
{
    sort_values(shape);
    if (shape->hidden > 0) {
        draft__line(draft, "# redacted in %" PRIu64 " of %" PRIu64 ", so that nothing is asked of its value: ",
                         shape->hidden, shape->present);
        draft__path(draft, shape, "");
        buf_addf(draft->out, "\n");
        write_exists(draft, shape, spot);
    } else if (types_of(shape) > 1) {
        write_mixed(draft, shape, spot);
    } else if (shape->arrays > 0 || shape->objects > 0) {
        write_container(draft, shape, spot);
    } else if (types_of(shape) == 1) {
        write_scalar(draft, shape, spot);
    }
}

unsigned draft__conditions(struct draft *draft, const struct learn_kind *kind)
{
    unsigned count = 0;
    const struct spot spot = {.count = &count};

    if (kind->root->unbounded)
        return 0;
    for (const struct shape *member = kind->root->members; member != NULL; member = member->next)
        if (kind->about != LEARN_PARAMS || !span_is(member->name, "_meta"))
            write_member(draft, member, &spot);
    return count;
}
