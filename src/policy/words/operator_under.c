/* SPDX-License-Identifier: Apache-2.0 */
/* under: where a file path leads, read as servers read it: as it is written, and decoded once; then step by step. */
#include "texts/decode_text.h"
#include "words/operator_priv.h"
#include "texts/reading.h"
#include "policy/variable.h"

#include "unicode/unicode.h"

struct directory {
    struct span text; /* without a slash at its end */
    bool varies;
};

/* Why a directory cannot stand in a policy, or NULL. Spellings that are resolved in a value are refused here. */
static const char *wrong_with(struct span directory)
{
    unsigned doubts = reading_of_steps(directory);

    if (directory.len == 0 || directory.at[0] != '/')
        return "is not absolute; begin it with /, or write path: {under: ...} where the server takes relative paths";
    if ((doubts & READING_ESCAPE) != 0 || span_find(directory, '\\') < directory.len)
        return "holds `%` or a backslash, which no value keeps; write the plain name";
    if ((doubts & (READING_EMPTY | READING_DOT | READING_CLIMBS)) != 0)
        return "holds `//`, `.` or `..`; write where it leads";
    return (doubts & READING_ODD) != 0 || unicode_is_deceptive(directory)
               ? "holds invisible or control characters, or ends in white space; write the plain name" : NULL;
}

static void take_directory(struct compiler *c, const struct yaml_node *text, void *part)
{
    const char *wrong = wrong_with(text->text);
    struct directory *directory = part;

    if (wrong != NULL)
        FAULT(c, text, "the directory `%.*s` %s", SPAN_ARG(text->text), wrong);
    directory->text = compiler_copy(c, text->text);
    if (span_ends_with(directory->text, SPAN_LIT("/")))
        directory->text.len--;
    directory->varies = compiler_varies(c, text);
}

static void compile(struct compiler *c, const struct yaml_node *node, struct op *op)
{
    const struct directory *directories;

    op->written = compiler_written(c, node);
    op->terms = directories = compiler_texts(c, node, sizeof *directories, take_directory, &op->term_count);
    for (uint32_t i = 0; directories != NULL && i < op->term_count; i++)
        op->varies |= directories[i].varies;
}

/* A path that begins with `//` is not plain: POSIX lets each system say what that means, and URLs name a host by it. */
static bool is_plain(struct span path, unsigned doubts)
{
    return span_starts_with(path, SPAN_LIT("/")) && !span_starts_with(path, SPAN_LIT("//")) && (doubts & READING_ODD) == 0;
}

/* Resolves the path step by step from the root; above the root is the root. Takes: out: room for path.len bytes. */
static struct span resolved(struct span path, char *out)
{
    size_t len = 0;

    while (path.len > 0) {
        struct span step = span_cut(path, '/', &path);

        if (span_is(step, "..")) {
            while (len > 0 && out[--len] != '/')
                ;
        } else if (step.len > 0 && !span_is(step, ".")) {
            out[len++] = '/';
            memcpy(out + len, step.at, step.len);
            len += step.len;
        }
    }
    return span_of(out, len);
}

static bool is_inside(struct span path, struct span directory)
{
    return span_starts_with(path, directory) && (path.len == directory.len || path.at[directory.len] == '/');
}

/* Sets: leads: where the path leads as it is written, decoded once, and decoded and cut where a URL's path may end.
 * Returns: false: there are more readings. */
static bool read_path(struct rule_walk *walk, struct span text, struct span leads[3])
{
    unsigned doubts = reading_of_steps(text);
    char *at = arena_alloc(walk->arena, 4 * text.len + 1);
    struct span decoded = at != NULL ? span_of(at, decode_percent(text, at)) : text;
    size_t cut = 0;

    walk->no_memory |= at == NULL;
    /* The steps depend on the order in which a reader decodes, cuts and resolves. So does where a climbing path leads. */
    if (at == NULL || !is_plain(text, doubts) || ((doubts & READING_LOOSE) != 0 && (doubts & READING_CLIMBS) != 0))
        return false;
    doubts = reading_of_steps(decoded);
    if (!is_plain(decoded, doubts) || (doubts & READING_ESCAPE) != 0)
        return false;
    while (cut < decoded.len && strchr("?#;", decoded.at[cut]) == NULL)
        cut++;
    leads[0] = resolved(text, at + text.len);
    leads[1] = resolved(decoded, at + 2 * text.len);
    leads[2] = resolved(span_part(decoded, 0, cut), at + 3 * text.len);
    return true;
}

static enum truth under(struct rule_walk *walk, const struct op *op, struct span text)
{
    const struct directory *directories = op->terms;
    enum truth truth = TRUTH_FALSE;
    struct span leads[3];

    if (!read_path(walk, text, leads))
        return TRUTH_UNDECIDED;
    for (uint32_t i = 0; i < op->term_count && truth != TRUTH_TRUE; i++) {
        struct span directory = directories[i].text;

        if (directories[i].varies && !variable_said(walk, directories[i].text, VARIABLE_STEP, &directory))
            truth = TRUTH_UNDECIDED;
        else if (is_inside(leads[0], directory) && is_inside(leads[1], directory))
            truth = TRUTH_TRUE; /* cut, it stays there, too, since nothing climbs */
        else if (is_inside(leads[0], directory) || is_inside(leads[1], directory) || is_inside(leads[2], directory))
            truth = TRUTH_UNDECIDED;
    }
    return truth;
}

/* A path is looked over, decoded, looked over again, and resolved in three ways. */
static uint64_t cost(const struct op *op, struct span text)
{
    return op_text_cost(op, text) * (6 + (uint64_t)op->term_count);
}

static void sample(const struct op *op, struct samples *samples)
{
    samples->written(samples, op->written, "", "/x");
    samples->written(samples, op->written, "", "/../x");
}

const struct operator operator__under = {
    .word = "under", .types = TYPES_SCALAR, .compile = compile, .of_text = under, .cost = cost, .sample = sample,
};
