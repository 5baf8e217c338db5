/* SPDX-License-Identifier: Apache-2.0 */
#include "texts/detector_priv.h"

#include "base/num.h"
#include "base/utf8.h"

#include <ctype.h>
#include <stdlib.h>

/* No match is longer, counting what stands before its literal: this bounds what one literal can cost. */
#define WINDOW_BYTES ((size_t)16 << 10)
#define PIECE_BYTES ((size_t)16 << 10) /* searched between two looks at the budget */
#define HIT_WORK 8u                    /* of a literal's comparison */

static bool is_of(char kind, unsigned char c)
{
    return ((kind == 'd' || kind == 'w') && c >= '0' && c <= '9') ||
           ((kind == 'l' || kind == 'w') && (c | 32) >= 'a' && (c | 32) <= 'z' && c < 0x80);
}

static unsigned char folded(unsigned char c)
{
    return c >= 'A' && c <= 'Z' ? c | 32 : c;
}

static bool may_be(const struct detector_literal *literal, size_t at, unsigned char c)
{
    return literal->is_class[at] ? is_of((char)literal->bytes[at], c) : literal->bytes[at] == folded(c);
}

/* ---- compiling ---- */

/* How much of ordinary text a byte is, roughly: prose and source. */
static unsigned commonness(const struct detector_literal *literal, size_t at)
{
    unsigned char c = literal->bytes[at];

    if (literal->is_class[at])
        return c == 'd' ? 6 : 12;
    if (strchr(" etaoinsrhld", c) != NULL)
        return 8;
    return islower(c) ? 5 : isdigit(c) || strchr("-./,\"", c) != NULL ? 3 : 1;
}

bool detector_literal_read(struct span text, struct detector_literal *literal)
{
    unsigned least = 100;

    *literal = (struct detector_literal){.len = 0};
    for (size_t i = 0; i < text.len; i++) {
        bool escapes = text.at[i] == '\\' && i + 1 < text.len;
        unsigned char c = (unsigned char)text.at[escapes ? ++i : i];
        bool is_byte = escapes && c == 'x' && num_unhex(span_part(text, i + 1, 2), &c, 1) == CODE_OK;

        if (escapes && c == 'b' && i == 1) {
            literal->begins_word = true;
            continue;
        }
        if (literal->len == DETECTOR_LITERAL_MAX || (escapes && !is_byte && strchr("dlw\\", c) == NULL))
            return false;
        i += is_byte ? 2 : 0;
        literal->is_class[literal->len] = escapes && !is_byte && c != '\\';
        literal->bytes[literal->len++] = folded(c);
    }
    for (unsigned char i = 0; i + 1 < literal->len; i++) {
        unsigned common = commonness(literal, i) + commonness(literal, i + 1u);

        if (common < least) {
            least = common;
            literal->pair = i;
        }
    }
    return literal->len >= 2;
}

static uint32_t count_pairs(const struct detector_literal *literal)
{
    uint32_t count[2] = {0, 0};

    for (unsigned side = 0; side < 2; side++)
        for (unsigned c = 0; c < 256; c++)
            count[side] += may_be(literal, literal->pair + side, (unsigned char)c);
    return count[0] * count[1];
}

static void give_kinds(struct detector_set *set, const struct detector_literal *literal, unsigned *kinds)
{
    for (unsigned c = 0; c < 256; c++)
        if (set->kind_of[c] == 0 && (may_be(literal, literal->pair, (unsigned char)c) ||
                                     may_be(literal, literal->pair + 1u, (unsigned char)c))) {
            unsigned char other = c >= 'A' && c <= 'Z' ? set->kind_of[c | 32] : 0;

            set->kind_of[c] = (unsigned char)(other != 0 ? other : 1 + (*kinds)++ % (DETECTOR_KINDS - 1));
            if (c >= 'A' && c <= 'Z')
                set->kind_of[c | 32] = set->kind_of[c];
        }
}

/* One entry for each pair of kinds: kinds that bytes share would list a literal twice. */
static void add_pairs(struct detector_set *set, const struct detector_literal *literal, uint16_t detector,
                      struct detector_entry *entries, uint32_t *used)
{
    for (unsigned a = 0; a < 256; a++)
        for (unsigned b = 0; may_be(literal, literal->pair, (unsigned char)a) && b < 256; b++) {
            uint16_t *first = &set->first[set->kind_of[a] * DETECTOR_KINDS + set->kind_of[b]];

            if (!may_be(literal, literal->pair + 1u, (unsigned char)b) ||
                (*first != 0 && entries[*first - 1].literal == literal))
                continue;
            entries[*used] = (struct detector_entry){.literal = literal, .detector = detector, .next = *first};
            *first = (uint16_t)++*used;
        }
}

enum code detector_set_make(const struct detector *const *detectors, uint32_t count, struct arena *arena,
                            const struct detector_set **made)
{
    struct detector_set *set = arena_zalloc(arena, sizeof *set);
    struct detector_entry *entries;
    uint32_t pairs = 0, used = 0;
    unsigned kinds = 0;

    *made = set;
    if (set == NULL)
        return CODE_NOMEM;
    set->detectors = detectors;
    set->count = count;
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = 0; k < detectors[i]->literal_count; k++) {
            give_kinds(set, &detectors[i]->literals[k], &kinds);
            pairs += count_pairs(&detectors[i]->literals[k]);
        }
    if (count > DETECTORS_MAX || pairs >= UINT16_MAX)
        return CODE_LIMIT;
    entries = arena_alloc(arena, pairs * sizeof *entries);
    if (entries == NULL)
        return CODE_NOMEM;
    set->entries = entries;
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = 0; k < detectors[i]->literal_count; k++)
            add_pairs(set, &detectors[i]->literals[k], (uint16_t)i, entries, &used);
    return CODE_OK;
}

const struct detector *const *detector_list(const struct detector_set *set, uint32_t *count)
{
    *count = set->count;
    return set->detectors;
}

/* ---- finding ---- */

struct search {
    const struct detector_set *set;
    struct span text;
    struct regex_budget *budget;
    struct buf *found; /* NULL: one is enough */
    bool is_checked, is_ascii;
    enum truth best;
    size_t first[DETECTORS_MAX], tried[DETECTORS_MAX]; /* of each detector: matches that begin from `first` on, and before
                                                        * `tried`, were looked for */
};

/* Whether a word goes on here. In JSON inside a text the letter of `\n` belongs to no word. */
static bool is_in_word(const unsigned char *text, size_t at)
{
    return at > 0 && is_of('w', text[at - 1]) && !(at > 1 && text[at - 2] == '\\' && strchr("nrt", text[at - 1]) != NULL);
}

static bool stands_at(const struct search *search, const struct detector_literal *literal, size_t at)
{
    const unsigned char *text = (const unsigned char *)search->text.at + at;

    if (literal->len > search->text.len - at || (literal->begins_word && is_in_word(text - at, at)))
        return false;
    for (size_t i = 0; i < literal->len; i++)
        if (!may_be(literal, i, text[i]))
            return false;
    return true;
}

/* Checks the text once, before its first match. */
static bool check_text(struct search *search)
{
    search->is_ascii = true;
    search->is_checked = regex_budget_spend(search->budget, search->text.len / 8) &&
                         utf8_check(search->text, 0, search->text.len, &search->is_ascii) != SIZE_MAX;
    return search->is_checked;
}

/* Looks for matches that begin from `from` up to `last`. Returns: false: the search is over. */
static bool try_starts(struct search *search, uint16_t which, size_t from, size_t last)
{
    const struct detector *detector = search->set->detectors[which];

    for (;;) {
        struct finding finding = {.detector = detector};
        struct span window, found;
        enum regex_result result;

        while (from < last && ((unsigned char)search->text.at[from] & 0xc0) == 0x80)
            from++;
        while (last > from && ((unsigned char)search->text.at[last] & 0xc0) == 0x80)
            last--;
        if (from > last)
            return true;
        if (!search->is_checked && !check_text(search)) {
            search->best = TRUTH_UNDECIDED;
            return false;
        }
        window = span_of(search->text.at, from);
        window.len += utf8_cut(span_part(search->text, from, SIZE_MAX), WINDOW_BYTES).len;
        result = regex_find(detector->regex, window, search->is_ascii, from, last, search->budget, &found);
        if (result == REGEX_UNDECIDED)
            search->best = TRUTH_UNDECIDED;
        if (result != REGEX_MATCH)
            return result == REGEX_NO_MATCH || (search->found == NULL && !search->budget->spent);
        finding.at = (size_t)(found.at - search->text.at);
        finding.len = detector->check != NULL ? detector->check(search->text, finding.at, found.len) : found.len;
        from = (finding.at > from ? finding.at : from) + (finding.len > 0 ? finding.len : 1);
        if (finding.len == 0)
            continue;
        if (search->tried[which] < from)
            search->tried[which] = from;
        if (search->found != NULL && buf_add(search->found, &finding, sizeof finding) != CODE_OK) {
            search->best = TRUTH_UNDECIDED;
            return false;
        }
        if (search->found == NULL || search->best != TRUTH_UNDECIDED)
            search->best = TRUTH_TRUE;
        if (search->found == NULL)
            return false;
    }
}

/* Looks for matches that the literal at `at` belongs to. Literals do not come in the order in which they begin, since each is
 * seen by a pair of its bytes, which may stand far behind its front: places before all that were looked at are looked at, too.
 * Returns: false: the search is over. */
static bool try_match(struct search *search, uint16_t which, size_t at)
{
    size_t before = search->set->detectors[which]->before, from = at > before ? at - before : 0, first = search->first[which];
    bool is_begun = search->tried[which] > 0;

    if (is_begun && from < first) {
        if (at + 1 >= first)
            search->first[which] = from;
        if (!try_starts(search, which, from, at < first ? at : first - 1))
            return false;
    }
    if (from < search->tried[which])
        from = search->tried[which];
    if (from > at)
        return true;
    if (!is_begun || from > search->tried[which])
        search->first[which] = from;
    search->tried[which] = at + 1;
    return try_starts(search, which, from, at);
}

/* Tries the literals that have this pair of bytes, which stands at `at`. Returns: false: the search is over. */
static bool try_pair(struct search *search, uint16_t entry, size_t at)
{
    for (const struct detector_entry *one; entry != 0; entry = one->next) {
        one = &search->set->entries[entry - 1];
        if (at >= one->literal->pair && stands_at(search, one->literal, at - one->literal->pair) &&
            !try_match(search, one->detector, at - one->literal->pair))
            return false;
    }
    return true;
}

/* Returns: false: the search is over. */
static bool search_piece(struct search *search, size_t from, size_t until)
{
    const unsigned char *text = (const unsigned char *)search->text.at;
    const struct detector_set *set = search->set;
    unsigned before = set->kind_of[text[from]], kind;

    for (size_t i = from + 1; i < until; i++, before = kind) {
        uint16_t entry;

        kind = set->kind_of[text[i]];
        entry = set->first[before * DETECTOR_KINDS + kind];
        if (entry == 0)
            continue;
        if (!regex_budget_spend(search->budget, HIT_WORK)) {
            search->best = TRUTH_UNDECIDED;
            return false;
        }
        if (!try_pair(search, entry, i - 1))
            return false;
    }
    return true;
}

static int by_place(const void *one, const void *other)
{
    const struct finding *a = one, *b = other;

    if (a->at != b->at)
        return a->at < b->at ? -1 : 1;
    return a->len != b->len ? (a->len > b->len ? -1 : 1) : 0;
}

/* Sorts findings by their places, and leaves one of those that several literals led to. Returns: how many are left. */
static size_t sort_findings(void *findings, size_t count)
{
    struct finding *all = findings;
    size_t left = 1;

    qsort(all, count, sizeof *all, by_place);
    for (size_t i = 1; i < count; i++)
        if (all[i].at != all[left - 1].at || all[i].len != all[left - 1].len || all[i].detector != all[left - 1].detector)
            all[left++] = all[i];
    return left;
}

enum truth detector_find(const struct detector_set *set, struct span text, struct regex_budget *budget, struct buf *found)
{
    struct search search = {.set = set, .text = text, .budget = budget, .found = found, .best = TRUTH_FALSE};
    size_t begin = found != NULL ? buf_len(found) : 0, count;

    for (size_t at = 0; at + 1 < text.len; at += PIECE_BYTES) {
        size_t until = text.len - at > PIECE_BYTES ? at + PIECE_BYTES + 1 : text.len;

        if (!regex_budget_spend(budget, (until - at) / 2)) {
            search.best = TRUTH_UNDECIDED;
            break;
        }
        if (!search_piece(&search, at, until))
            break;
    }
    if (found != NULL && buf_code(found) == CODE_OK) {
        count = (buf_len(found) - begin) / sizeof(struct finding);
        if (count > 1)
            buf_truncate(found, begin + sizeof(struct finding) *
                                            sort_findings((char *)(uintptr_t)buf_peek(found).at + begin, count));
    }
    return search.best;
}
