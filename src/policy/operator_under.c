/* SPDX-License-Identifier: Apache-2.0 */
/* under: where a file path leads, read as servers read it: as it is written, and decoded once; then step by step. */
#include "policy/compile_priv.h"
#include "policy/decode_priv.h"
#include "policy/reading.h"
#include "policy/variable.h"

#include "unicode/unicode.h"

struct directory {
    struct span text; /* without a slash at its end */
    bool varies;
};

/* Why a directory cannot stand in a policy, or NULL. What a value may have and what it means is for values only. */
static const char *wrong_with(struct span directory)
{
    unsigned doubts = reading_of_steps(directory);

    if (directory.len == 0 || directory.at[0] != '/')
        return "is not absolute; begin it with /";
    if ((doubts & READING_ESCAPE) != 0 || span_find(directory, '\\') < directory.len)
        return "holds `%` or a backslash, which no value keeps; write the plain name";
    if ((doubts & (READING_EMPTY | READING_DOT | READING_CLIMBS)) != 0)
        return "holds `//`, `.` or `..`; write where it leads";
    return unicode_is_deceptive(directory) ? "holds invisible or control characters; write the plain name" : NULL;
}

static void take_directory(struct compiler *c, const struct yaml_node *text, void *part)
{
    const char *wrong = wrong_with(text->text);
    struct directory *directory = part;

    if (wrong != NULL)
        FAULT(c, text, "the directory `%.*s` %s", SPAN_ARG(text->text), wrong);
    directory->text = policy__copy(c, text->text);
    if (span_ends_with(directory->text, SPAN_LIT("/")))
        directory->text.len--;
    directory->varies = policy__varies(c, text);
}

static void compile(struct compiler *c, const struct yaml_node *node, struct op *op)
{
    const struct directory *directories;

    op->written = policy__written(c, node);
    op->terms = directories = policy__texts(c, node, sizeof *directories, take_directory, &op->term_count);
    for (uint32_t i = 0; directories != NULL && i < op->term_count; i++)
        op->varies |= directories[i].varies;
}

/* Of `//` in front POSIX lets each system say what it means, and URLs name a host by it. */
static bool is_plain(struct span path, unsigned doubts)
{
    return span_starts_with(path, SPAN_LIT("/")) && !span_starts_with(path, SPAN_LIT("//")) && (doubts & READING_ODD) == 0;
}

/* Walks along the path and counts how many of the directory's steps stand at its front: nothing has to be built. */
static bool is_inside(struct span path, struct span directory)
{
    struct span wanted = span_part(directory, 1, SIZE_MAX); /* what has not been met yet */
    size_t depth = 0, met = 0;

    while (path.len > 0) {
        struct span step = span_cut(path, '/', &path), rest, next = span_cut(wanted, '/', &rest);

        if (step.len == 0 || span_is(step, "."))
            continue;
        if (!span_is(step, "..")) {
            if (depth == met && next.len > 0 && span_equals(step, next)) {
                wanted = rest;
                met++;
            }
            depth++;
        } else if (depth > 0) {
            depth--;
            if (met > depth) { /* the last step that was met is left again */
                size_t begin = wanted.len > 0 ? (size_t)(wanted.at - directory.at) - 1 : directory.len;

                while (directory.at[begin - 1] != '/')
                    begin--;
                wanted = span_part(directory, begin, SIZE_MAX);
                met--;
            }
        }
    }
    return wanted.len == 0;
}

/* Decoded once. Returns: false: there are more readings than these two. */
static bool read_path(struct rule_walk *walk, struct span text, struct span *decoded)
{
    unsigned doubts = reading_of_steps(text);
    char *at;

    *decoded = text;
    /* Which steps there are depends on who decodes, cuts and resolves in which order; so does what is left where some climb. */
    if (!is_plain(text, doubts) || ((doubts & READING_LOOSE) != 0 && (doubts & READING_CLIMBS) != 0))
        return false;
    if ((doubts & READING_ESCAPE) == 0)
        return true;
    at = arena_alloc(walk->arena, text.len);
    walk->no_memory |= at == NULL;
    if (at == NULL)
        return false;
    *decoded = span_of(at, policy__read_percent(text, at));
    doubts = reading_of_steps(*decoded);
    return is_plain(*decoded, doubts) && (doubts & READING_ESCAPE) == 0;
}

static enum truth under(struct rule_walk *walk, const struct op *op, struct span text)
{
    const struct directory *directories = op->terms;
    enum truth truth = TRUTH_FALSE;
    struct span decoded, cut;

    if (!read_path(walk, text, &decoded))
        return TRUTH_UNDECIDED;
    for (cut = span_part(decoded, 0, 0); cut.len < decoded.len && strchr("?#;", cut.at[cut.len]) == NULL; cut.len++)
        ;
    for (uint32_t i = 0; i < op->term_count && truth != TRUTH_TRUE; i++) {
        struct span directory = directories[i].text;

        if (directories[i].varies && !policy__said(walk, directories[i].text, VARIABLE_STEP, &directory))
            truth = TRUTH_UNDECIDED;
        else if (is_inside(text, directory) && is_inside(decoded, directory))
            truth = TRUTH_TRUE;
        else if (is_inside(text, directory) || is_inside(decoded, directory) || is_inside(cut, directory))
            truth = TRUTH_UNDECIDED; /* who cuts at `?` does not leave a permit's folder, as nothing climbs */
    }
    return truth;
}

/* A path is looked over, decoded, looked over again, and read for each directory in three ways. */
static uint64_t cost(const struct op *op, struct span text)
{
    return policy__text_cost(op, text) * (3 + 3 * (uint64_t)op->term_count);
}

static void sample(const struct op *op, struct samples *samples)
{
    samples->written(samples, op->written, "", "/x");
    samples->written(samples, op->written, "", "/../x");
}

const struct operator policy__op_under = {
    .word = "under", .types = TYPES_SCALAR, .compile = compile, .of_text = under, .cost = cost, .sample = sample,
};
