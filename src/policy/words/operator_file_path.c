/* SPDX-License-Identifier: Apache-2.0 */
/* path: where a file lies, and of which steps its path is made. A word that lets something be there holds of what is written, a
 * word that keeps something out of every reading (texts/file_path.h): where one reading says so and another not, it is
 * undecided. */
#include "words/file_place.h"
#include "words/operator_priv.h"

#include "base/ascii.h"
#include "base/glob.h"
#include "base/utf8.h"
#include "policy/trace.h"
#include "policy/variable.h"
#include "unicode/unicode.h"

#include <stdio.h>

#define STEP_SHOWN 60

/* Whoever listens hears of each word that does not hold. Returns: the truth. */
static enum truth told(struct rule_walk *walk, enum truth truth, const char *word, struct span step)
{
    char text[160];

    if (walk->trace == NULL || truth == TRUTH_TRUE)
        return truth;
    snprintf(text, sizeof text, "`%s` of the path is %s of `%.*s`", word, policy_truth_text(truth),
             SPAN_ARG(utf8_cut(step, STEP_SHOWN)));
    walk->trace->fact(walk->trace, span_text(text));
    return truth;
}

/* ---- folders ---- */

/* Whether the path lies in the folder, or is it. */
static enum truth lies_in(const struct file_path *path, const struct file_path *folder)
{
    enum truth truth = TRUTH_TRUE;

    if (path->is_absolute != folder->is_absolute || path->count < folder->count)
        return TRUTH_FALSE;
    for (uint32_t i = 0; i < folder->count; i++) {
        const struct file_text *step = &path->steps[i], *wanted = &folder->steps[i];

        if (span_equals(step->read[FILE_WRITTEN], wanted->read[FILE_WRITTEN]))
            continue;
        if (!span_equals(step->read[FILE_FOLDED], wanted->read[FILE_FOLDED]))
            return TRUTH_FALSE;
        truth = TRUTH_UNDECIDED;
    }
    return truth;
}

/* The folder in this call. Returns: false: nobody can say where it is. */
static bool say_folder(struct rule_walk *walk, const struct file_folder *folder, struct file_path *said)
{
    const char *doubt;
    struct span text;
    enum code code;

    *said = folder->path;
    if (!folder->varies)
        return true;
    if (!variable_said(walk, folder->text, VARIABLE_STEP, &text))
        return false;
    code = file_path_read(text, walk->arena, said, &doubt);
    walk->no_memory |= code == CODE_NOMEM;
    return code == CODE_OK;
}

static enum truth not_under(struct rule_walk *walk, const struct file_place *place, const struct file_path *path)
{
    enum truth truth = TRUTH_TRUE;
    struct file_path folder;

    for (uint32_t i = 0; i < place->not_under.count && truth != TRUTH_FALSE; i++) {
        bool is_said = say_folder(walk, &place->not_under.folder[i], &folder);

        truth = truth_and(truth, told(walk, is_said ? truth_not(lies_in(path, &folder)) : TRUTH_UNDECIDED, "not_under",
                                      place->not_under.folder[i].text));
    }
    return truth;
}

/* ---- steps ---- */

typedef bool (*fits_fn)(struct span pattern, struct span step);

static bool ends_so(struct span ending, struct span step)
{
    return span_ends_with(step, ending);
}

static bool holds(struct span character, struct span step)
{
    return character.len > 0 && step.len > 0 && memmem(step.at, step.len, character.at, character.len) != NULL;
}

/* Whether a pattern fits the step: true as both are written, undecided in another reading. */
static enum truth fits_any(const struct file_patterns *patterns, const struct file_text *step, fits_fn fits)
{
    enum truth truth = TRUTH_FALSE;

    for (uint32_t i = 0; i < patterns->count; i++) {
        const struct file_text *pattern = &patterns->pattern[i];

        if (fits(pattern->read[FILE_WRITTEN], step->read[FILE_WRITTEN]))
            return TRUTH_TRUE;
        for (enum file_reading r = FILE_PLAIN; r < FILE_READINGS && truth == TRUTH_FALSE; r++)
            if (fits(pattern->read[r], step->read[r]))
                truth = TRUTH_UNDECIDED;
    }
    return truth;
}

static enum truth detected(struct rule_walk *walk, const struct detector_set *set, const struct file_text *step)
{
    enum truth truth = set != NULL ? detector_find(set, step->read[FILE_WRITTEN], walk->budget, NULL) : TRUTH_FALSE;

    for (enum file_reading r = FILE_PLAIN; r < FILE_READINGS && truth == TRUTH_FALSE && set != NULL; r++)
        if (!span_equals(step->read[r], step->read[r - 1]) &&
            detector_find(set, step->read[r], walk->budget, NULL) != TRUTH_FALSE)
            truth = TRUTH_UNDECIDED;
    return truth;
}

static bool has_plain_letters(struct span step)
{
    uint32_t point;
    size_t taken;

    for (; step.len > 0; step = span_part(step, taken, SIZE_MAX)) {
        taken = unicode_next(step, &point);
        if (taken == 0 || (point < 0x80 && point != '\0' ? strchr("_.+@=,- ", (int)point) == NULL && !unicode_is_of_word(point)
                                                         : !unicode_is_of_word(point)))
            return false;
    }
    return true;
}

static enum truth letters(const struct file_text *step)
{
    if (has_plain_letters(step->read[FILE_WRITTEN]))
        return TRUTH_TRUE;
    return has_plain_letters(step->read[FILE_FOLDED]) ? TRUTH_UNDECIDED : TRUTH_FALSE;
}

/* A step that begins with a dot must be named; where nothing is said of such steps they are undecided, so that a condition that
 * closes is not evaded by one. */
static enum truth hidden(const struct file_place *place, const struct file_text *step)
{
    if (place->any_hidden || !span_starts_with(step->read[FILE_PLAIN], SPAN_LIT(".")))
        return TRUTH_TRUE;
    return place->says_hidden ? fits_any(&place->hidden, step, glob_matches) : TRUTH_UNDECIDED;
}

static enum truth step_truth(struct rule_walk *walk, const struct file_place *place, const struct file_text *step)
{
    struct span written = step->read[FILE_WRITTEN];
    bool is_named = !place->any_hidden && span_starts_with(written, SPAN_LIT("."));
    enum truth truth = told(walk, hidden(place, step), "hidden", written);

    if (place->is_plain)
        truth = truth_and(truth, told(walk, letters(step), "letters", written));
    truth = truth_and(truth, told(walk, truth_not(fits_any(&place->without, step, holds)), "without", written));
    if (is_named || truth == TRUTH_FALSE)
        return truth;
    truth = truth_and(truth, told(walk, truth_not(fits_any(&place->bad_names, step, glob_matches)), "none_of", written));
    return truth_and(truth, told(walk, truth_not(detected(walk, place->bad, step)), "none_of", written));
}

static enum truth last_truth(struct rule_walk *walk, const struct file_place *place, const struct file_path *path)
{
    const struct file_text *last;
    enum truth truth;

    if (path->is_folder)
        return told(walk, TRUTH_FALSE, "names or endings", SPAN_LIT("a folder"));
    last = &path->steps[path->count - 1];
    truth = truth_or(fits_any(&place->names, last, glob_matches), fits_any(&place->endings, last, ends_so));
    return told(walk, truth, "names or endings", last->read[FILE_WRITTEN]);
}

/* ---- a place ---- */

/* What is asked of the steps behind the folder's. */
static enum truth below_truth(struct rule_walk *walk, const struct file_place *place, const struct file_path *path,
                              uint32_t begin)
{
    uint32_t count = path->count - begin;
    bool asks_last = place->names.count + place->endings.count > 0;
    enum truth truth = told(walk, truth_of(count >= place->least && count <= place->most), "below",
                            count > 0 ? path->steps[begin].read[FILE_WRITTEN] : SPAN_LIT("the folder itself"));

    truth = truth_and(truth, not_under(walk, place, path));
    for (uint32_t i = begin; i < path->count && truth != TRUTH_FALSE; i++)
        truth = truth_and(truth, step_truth(walk, place, &path->steps[i]));
    if (truth == TRUTH_FALSE || !asks_last)
        return truth;
    return truth_and(truth, count > 0 ? last_truth(walk, place, path) : TRUTH_FALSE);
}

/* A relative path may lead into an absolute folder, from where the server stands: it opens none, and closes all. */
static enum truth folder_truth(struct rule_walk *walk, const struct file_place *place, const struct file_folder *under,
                               const struct file_path *path, bool opening)
{
    struct file_path folder;
    enum truth truth;

    if (!say_folder(walk, under, &folder))
        return TRUTH_UNDECIDED;
    if (path->is_absolute != folder.is_absolute)
        return told(walk, opening ? TRUTH_FALSE : TRUTH_UNDECIDED, "under", under->text);
    truth = told(walk, lies_in(path, &folder), "under", under->text);
    return truth == TRUTH_FALSE ? truth : truth_and(truth, below_truth(walk, place, path, folder.count));
}

enum truth file_places_truth(struct rule_walk *walk, const struct file_places *places, struct span text, bool opening)
{
    enum truth truth = TRUTH_FALSE;
    struct file_path path;
    const char *doubt;
    enum code code = file_path_read(text, walk->arena, &path, &doubt);
    char why[120];

    walk->no_memory |= code == CODE_NOMEM;
    if (code == CODE_LIMIT)
        return opening ? TRUTH_FALSE : TRUTH_UNDECIDED;
    if (code == CODE_INVALID && walk->trace != NULL) {
        snprintf(why, sizeof why, "the path is undecided: it %s", doubt);
        walk->trace->fact(walk->trace, span_text(why));
    }
    if (code != CODE_OK)
        return TRUTH_UNDECIDED;
    for (uint32_t i = 0; i < places->count; i++)
        for (uint32_t k = 0; k < places->place[i]->under.count && truth != TRUTH_TRUE; k++)
            truth = truth_or(truth, folder_truth(walk, places->place[i], &places->place[i]->under.folder[k], &path,
                                                 opening));
    return truth;
}

/* A byte takes 50 ns with three patterns, one beyond ASCII up to 250 ns, since such a text is normalised and folded. */
uint64_t file_places_cost(const struct file_places *places, struct span text)
{
    if (text.len > 4 * FILE_PATH_MAX) /* it is not read */
        return 1 + (uint64_t)text.len / 16;
    return (4 + (uint64_t)text.len) * (2 + places->weight) * (ascii_is_only(text) ? 1 : 4);
}

/* ---- the operator ---- */

static void compile(struct compiler *c, const struct yaml_node *node, struct op *op)
{
    const struct file_places *places = compiler_file_places(c, node);

    op->written = compiler_written(c, node);
    op->terms = places;
    op->varies = places != NULL && places->varies;
}

static enum truth path(struct rule_walk *walk, const struct op *op, struct span text)
{
    return file_places_truth(walk, op->terms, text, op->opening);
}

static uint64_t cost(const struct op *op, struct span text)
{
    return file_places_cost(op->terms, text);
}

/* A file below the folder. */
static void sample_below(struct samples *samples, struct span folder, const char *between, struct span step, const char *after)
{
    char text[512];
    int len = snprintf(text, sizeof text, "%.*s%s%.*s%s", SPAN_ARG(folder), between, SPAN_ARG(step), after);

    if (len > 0 && (size_t)len < sizeof text)
        samples->text(samples, "", span_of(text, (size_t)len), "");
}

static void sample_patterns(struct samples *samples, struct span folder, const struct file_patterns *patterns,
                            const char *between)
{
    for (uint32_t i = 0; i < patterns->count && i < 8; i++)
        sample_below(samples, folder, between, patterns->pattern[i].read[FILE_WRITTEN], "");
}

static void sample_places(const struct file_places *places, struct samples *samples)
{
    for (uint32_t i = 0; i < places->count; i++)
        for (uint32_t k = 0; k < places->place[i]->under.count; k++) {
            const struct file_place *place = places->place[i];
            struct span folder = place->under.folder[k].text;

            sample_below(samples, folder, "", SPAN_NONE, "");
            sample_below(samples, folder, "/x", SPAN_NONE, "");
            sample_below(samples, folder, "/x/y", SPAN_NONE, "");
            sample_below(samples, folder, "/x/y/z", SPAN_NONE, "");
            sample_below(samples, folder, "/.x", SPAN_NONE, "");
            sample_below(samples, folder, "/x:", SPAN_NONE, "");
            sample_patterns(samples, folder, &place->hidden, "/");
            sample_patterns(samples, folder, &place->names, "/");
            sample_patterns(samples, folder, &place->endings, "/x");
            sample_patterns(samples, folder, &place->bad_names, "/");
            sample_patterns(samples, folder, &place->without, "/x");
            for (uint32_t n = 0; n < place->not_under.count; n++)
                sample_below(samples, place->not_under.folder[n].text, "/x", SPAN_NONE, "");
        }
}

static void sample(const struct op *op, struct samples *samples)
{
    sample_places(op->terms, samples);
}

const struct operator operator__path = {
    .word = "path", .types = TYPE_BIT(JSON_STRING), .compile = compile, .of_text = path, .cost = cost, .sample = sample,
};
